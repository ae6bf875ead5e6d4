"""The panels of the page: what each has, and small pieces to build from."""

from __future__ import annotations

import html
import itertools
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nicegui import ui

from tightrope.kinds import RELATIONS, protected

if TYPE_CHECKING:
    from tightrope.studio.page import Page
    from tightrope.studio.state import PageState
    from tightrope.studio.tables import TableAsked


class Panel:
    """One panel of a page.

    Parameters
    ----------
    page
        The page.
    """

    name = ""
    #: The fields of a state that the panel shows.
    fields: frozenset[str] = frozenset()

    def __init__(self, page: Page) -> None:
        self.page = page
        self.run = page.slots.run
        self.start = page.start
        self.is_filling = False

    def build(self) -> None:
        """Create the elements."""

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""

    def act(self) -> None:
        """Do what the panel is for (Ctrl+Enter)."""

    def restore(self, kept: MutableMapping[str, Any]) -> None:
        """Fill the panel with what the server remembers of this browser tab, and keep it there."""

    def reread(self) -> None:
        """Show anew what may have changed outside the page."""

    def released(self) -> TableAsked | None:
        """Return what the panel would pay for, if it asks for something."""
        return None

    def tell(self, **changes: Any) -> None:
        """Change fields of the state; a refused value is checked again when it is given again."""
        state = replace(self.page.state, **changes)
        wrong = changes.keys() & self.page.wrong
        # Only real changes start work: fields report a value also when it is set by the program.
        if state != self.page.state:
            self.page.change(state)
        elif wrong:
            self.start(self.show(state, frozenset(wrong)))

    @contextmanager
    def filling(self) -> Iterator[None]:
        """Set fields; their events must not be taken for changes by the user."""
        # Setting a value fires the same event as typing it.
        self.is_filling = True
        try:
            yield
        finally:
            self.is_filling = False

    def input(self, field: str, label: str, hint: str = "", **more: Any) -> ui.input:
        """Make a field for a text, with its errors below it."""
        made = ui.input(label, placeholder=hint, **more).classes("w-full")
        made.props("outlined dense debounce=350 stack-label spellcheck=false")
        self.page.field(
            self.name, field, lambda message: setattr(made, "error", message)
        )
        return made

    def select(
        self, options: Any, label: str, field: str = "", **more: Any
    ) -> ui.select:
        """Make a list to choose from, with the errors of a field below it."""
        made = ui.select(options, label=label, **more).classes("w-full")
        if field:
            self.page.field(
                self.name, field, lambda message: setattr(made, "error", message)
            )
        return made.props("outlined dense options-dense stack-label")

    def relations(self, **more: Any) -> ui.select:
        """Make the list of neighbour relations, by what they protect."""
        options = {name: protected(name) for name in RELATIONS}
        return self.select(options, "What is protected", **more)

    def toggle(self, options: dict[str, str], **more: Any) -> ui.toggle:
        """Make buttons of which one is pressed."""
        return (
            ui.toggle(options, **more).props("no-caps unelevated").classes("tr-toggle")
        )

    def uploader(
        self,
        label: str,
        take: Callable[[str, bytes], Coroutine[Any, Any, None]],
        accept: str,
        name: str,
    ) -> ui.upload:
        """Make a place to drop a file on; its name and content are taken as work of the page."""

        async def uploaded(event: Any) -> None:
            data = await event.file.read()
            # Reset first: the same file can then be dropped again.
            event.sender.reset()
            self.start(take(event.file.name, data))

        made = ui.upload(auto_upload=True, max_file_size=50_000_000, on_upload=uploaded)
        # One labelled button instead of Quasar's unlabelled icon: it has a name for screen readers.
        made.add_slot(
            "header",
            '<q-btn type="a" flat dense no-caps align="left" icon="upload_file" class="tr-upload" '
            # The label is put into a template of the browser, hence escaped.
            f'label="{html.escape(label)}" @click="props.pickFiles"><q-uploader-add-trigger />'
            "</q-btn>",
        )
        return made.props(f'accept="{accept}" flat data-upload="{name}"')

    def error_label(self, field: str) -> ui.label:
        """Make a line below an element that shows the errors of a field."""
        line = ui.label().classes("tr-error").props(f'role=alert data-error="{field}"')
        line.set_visibility(False)

        def tell(message: str | None) -> None:
            line.set_text(message or "")
            line.set_visibility(bool(message))

        self.page.field(self.name, field, tell)
        return line

    # -- small pieces to build from -------------------------------------------------------

    @contextmanager
    def card(self, title: str, about: str = "") -> Iterator[ui.card]:
        """Make a card with a title."""
        with ui.card().classes("tr-card w-full") as made:
            if title:
                ui.label(title).classes("tr-title").props("role=heading aria-level=2")
            if about:
                self.note(about)
            yield made

    def div(self, look: str, mark: str = "") -> ui.element:
        """Make an empty box, found by its mark."""
        return ui.element("div").classes(look).props(mark)

    def note(self, text: str = "", mark: str = "") -> ui.label:
        """Make a line of small text, found by its mark."""
        return ui.label(text).classes("tr-note").props(mark)

    def button(
        self,
        words: str,
        action: Callable[[], object],
        look: str,
        icon: str | None = None,
    ) -> ui.button:
        """Make a button."""
        return ui.button(words, icon=icon, on_click=action).props(f"{look} no-caps")

    def icon_button(
        self, icon: str, words: str, action: Callable[[], object]
    ) -> ui.button:
        """Make a small round button; the words are its name for screen readers."""
        made = ui.button(icon=icon, on_click=action)
        return made.props(f'flat dense round size=12px aria-label="{words}"')

    def facts(self, box: ui.element, rows: Mapping[str, str]) -> None:
        """Fill a box with names and values."""
        box.clear()
        with box:
            for name, value in rows.items():
                ui.label(name)
                ui.label(value)

    def lines(
        self, box: ui.element, texts: Iterable[str], look: str = "tr-note"
    ) -> None:
        """Fill a box with lines of text."""
        box.clear()
        with box:
            for text in texts:
                ui.label(text).classes(look)

    def table(
        self,
        box: ui.element,
        heads: Sequence[str],
        rows: Iterable[Sequence[str | Callable[[], object]]],
        marks: Iterable[str] = (),
    ) -> None:
        """Fill a box with a table of texts, or of what functions make; rows may be marked."""
        box.clear()
        with box, ui.element("table").classes("tr-table"):
            body = itertools.zip_longest(rows, marks, fillvalue="")
            for number, (row, mark) in enumerate([(heads, ""), *body]):
                with ui.element("tr").props(mark):
                    for cell in row:
                        with ui.element("td" if number else "th"):
                            ui.label(cell) if isinstance(cell, str) else cell()

    def plot(self, height: str, words: str, mark: str = "") -> ui.plotly:
        """Make a place for a picture, so high, with a name in words, found by its mark."""
        # Nothing is drawn yet: no empty axes, and no white ground in the dark.
        axis = {"visible": False}
        clear = "rgba(0, 0, 0, 0)"
        empty = {
            "xaxis": axis,
            "yaxis": axis,
            "paper_bgcolor": clear,
            "plot_bgcolor": clear,
        }
        made = ui.plotly({"data": [], "layout": empty}).classes("w-full").props(mark)
        made.props["role"] = "img"
        made.props["aria-label"] = words
        return made.style(f"height: {height}")
