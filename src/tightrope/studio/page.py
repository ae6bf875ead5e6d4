"""One page of the studio: a state, its history, the panels that show it, and their work."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import app, background_tasks, ui

from tightrope.errors import TightropeError
from tightrope.studio.asking import FieldError
from tightrope.studio.jobs import Ended, RunningReleases, Slots
from tightrope.studio.panels import Panel
from tightrope.studio.panels.consumers import ConsumersPanel
from tightrope.studio.panels.mechanism import MechanismPanel, ProofPanel
from tightrope.studio.panels.question import PrivacyPanel, QuestionPanel
from tightrope.studio.panels.your_table import TablePanel
from tightrope.studio.state import History, PageState, decode, differences, encode
from tightrope.studio.takeaway import PANELS, PUBLISH, as_command, as_python

if TYPE_CHECKING:
    from tightrope.studio.server import StudioSettings
    from tightrope.studio.work import Outcome


def register(settings: StudioSettings) -> None:
    """Let NiceGUI serve the page at ``/``."""
    releases = RunningReleases()

    @ui.page("/", title="Tightrope studio")
    async def index(state: str = "") -> None:
        Page(settings, releases, state).build()


class Page:
    """What one browser tab shows. Nothing in it is shared with another tab.

    Parameters
    ----------
    settings
        What the studio was started with.
    releases
        What is being released, shared by all pages.
    link
        The state in the address, or nothing.
    """

    #: Changes of the same field within this many seconds are one step of undo.
    one_step = 1.0

    def __init__(
        self, settings: StudioSettings, releases: RunningReleases, link: str
    ) -> None:
        self.settings = settings
        self.releases = releases
        self.slots = Slots()
        self.outcome: Outcome | None = None
        self.results: dict[str, list[dict[str, Any]]] = {}
        # Work that ends later has no client of its own: it must name the one to show it in.
        self.client = ui.context.client
        self.panels: dict[str, Panel] = {}
        self._fields: dict[str, tuple[Callable[[str | None], None], str]] = {}
        self.wrong: set[str] = set()
        self._last = ("", 0.0)
        self._wrong_link = ""
        #: The panel of Study that was open last.
        self._studied = "question"
        try:
            self.history = History(decode(link))
        # A bad link still opens the page: the message says what is wrong with it.
        except TightropeError as refused:
            self.history = History()
            self._wrong_link = str(refused)

    @property
    def state(self) -> PageState:
        """The present values of the fields."""
        return self.history.present

    # -- building -------------------------------------------------------------------------

    def build(self) -> None:
        """Create the elements."""
        ui.add_css(_beside("style.css"))
        ui.add_head_html(f"<script>{_beside('page.js')}</script>")
        ui.colors(primary="#0f766e", secondary="#0072B2", negative="#b42318")
        self._dark = ui.dark_mode(None)
        with ui.header().classes("items-center q-px-md no-wrap tr-header"):
            self._build_header()
        shown = ui.tab_panels(self._tabs, value=PUBLISH).classes("w-full tr-panels")
        with shown.props(
            "transition-prev=fade transition-next=fade transition-duration=80"
        ):
            for kind in (TablePanel, QuestionPanel, PrivacyPanel, ConsumersPanel, MechanismPanel,
                         ProofPanel):  # fmt: skip
                # Panels reach each other through the page, by name.
                made = self.panels[kind.name] = kind(self)
                with ui.tab_panel(made.name):
                    made.build()
        self._build_dialog()
        self._tabs.on_value_change(self._turned)
        self._show_place()
        # The keys stand in page.js: only those that mean something are sent here.
        ui.on("panel", self._turn)
        ui.on("went", self._went)
        ui.on("takeaway", self._open_dialog)
        ui.on("design", self._design)
        ui.on("undo", self.undo)
        ui.on("redo", self.redo)
        ui.on("seen", self._reread)
        self.client.on_connect(self._connected)
        self.client.on_delete(self._left)
        if self._wrong_link:
            ui.notify(self._wrong_link, type="warning")
        self._show(frozenset(PageState.__dataclass_fields__))

    def _build_header(self) -> None:
        self._marks: dict[str, ui.tab] = {}
        with ui.element("h1").classes("tr-name"):
            ui.label("Tightrope")
        self._place = ui.toggle(
            {"publish": "Publish", "study": "Study"},
            value="publish",
            on_change=self._change_place,
        )
        self._place.props(
            'no-caps unelevated dense role=group aria-label="Publish or study"'
        )
        self._place.classes("tr-place")
        tabs = ui.tabs().props('dense no-caps inline-label aria-label="Study"')
        with tabs.classes("col-auto") as self._tabs:
            for number, (name, title) in enumerate(PANELS.items(), 1):
                if name == PUBLISH:
                    continue
                self._marks[name] = ui.tab(name, label=title)
                self._marks[name].props(f'title="Alt+{number}"')
        with ui.element("div").classes("col tr-summary"):
            self._summary = ui.label()
        self._undo = self._button("undo", "Undo (Ctrl+Z)", self.undo)
        self._redo = self._button("redo", "Redo (Ctrl+Y)", self.redo)
        with ui.button("Copy as", on_click=self._open_dialog).props(
            "flat dense no-caps no-wrap color=white icon=content_copy"
        ):
            ui.tooltip("This panel as a command or as Python (Alt+C)")
        self._button("link", "Copy a link to this state", self._copy_link)
        self._button("contrast", "Dark or light", self._turn_lights)

    def _button(self, icon: str, words: str, action: Callable[[], Any]) -> ui.button:
        made = ui.button(icon=icon, on_click=action).props(
            f'flat dense round color=white aria-label="{words}"'
        )
        with made:
            ui.tooltip(words)
        return made

    def _connected(self) -> None:
        """Fill the form once the browser has said which of its tabs this is."""
        # A reconnection is no new page: the form must not be filled again.
        if self._reread not in self.releases.watchers:
            self.releases.watchers.append(self._reread)
            for panel in self.panels.values():
                panel.restore(app.storage.tab)
            # A reload stays where it was: the address names the panel.
            self.run_script("tellPanel()")

    def _left(self) -> None:
        if self._reread in self.releases.watchers:
            self.releases.watchers.remove(self._reread)
        # Everything but a release, which was paid for.
        self.slots.end_all()

    def _reread(self) -> None:
        for panel in self.panels.values():
            panel.reread()

    def _turn_lights(self) -> None:
        self._dark.set_value(not self._dark.value)

    # -- changing the state ---------------------------------------------------------------

    def change(self, state: PageState) -> None:
        """Take over a new state, as a step of undo, and show what differs."""
        changed = differences(self.state, state)
        if changed & {"question", "graph", "neighbours"}:
            # The numbers of people and of their values follow the question.
            state = replace(state, individuals=0, values=0)
            changed = differences(self.state, state)
        if not changed:
            return
        kind = ",".join(sorted(changed))
        now = time.monotonic()
        # Typing in one field is one step of undo, not one for each key.
        merged = (
            self._last[0] == kind
            and now - self._last[1] < self.one_step
            and self.history.past
        )
        self._last = (kind, now)
        if merged:
            self.history = History(state, self.history.past, ())
        else:
            self.history = self.history.change(state)
        self._show(changed)

    def undo(self) -> None:
        """Go one step back."""
        self._move(self.history.undo())

    def redo(self) -> None:
        """Do the last undone step again."""
        self._move(self.history.redo())

    def _move(self, history: History) -> None:
        changed = differences(self.state, history.present)
        self.history = history
        # After an undo the next change is a step of its own.
        self._last = ("", 0.0)
        if changed:
            self._show(changed)

    def _show(self, changed: frozenset[str]) -> None:
        state = self.state
        self._summary.set_text(
            f"{state.asked} · ε = {state.epsilon} · {state.loss_of(state.consumer)} loss"
        )
        self._undo.set_enabled(bool(self.history.past))
        self._redo.set_enabled(bool(self.history.future))
        # The usual state needs no link: the address stays short.
        link = "" if state == PageState() else encode(state)
        self.run_script(f"showState({json.dumps(link)})")
        for panel in self.panels.values():
            # Panels recompute only if one of their fields changed.
            if changed & panel.fields:
                self.start(panel.show(state, changed))

    # -- work -----------------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine of a panel; its refusals appear beside their fields."""

        async def guarded() -> None:
            try:
                await work
            # Ended by a newer question: there is nothing to say.
            except Ended:
                pass
            except FieldError as refused:
                self.complain(refused.field, refused.message)
            # A refusal without a field belongs to the page.
            except TightropeError as refused:
                self.complain("page", str(refused))

        background_tasks.create(guarded(), name="studio")

    def run_script(self, code: str) -> None:
        """Run JavaScript in the page."""
        self.client.run_javascript(code)

    # -- errors beside their fields -------------------------------------------------------

    def field(self, panel: str, name: str, show: Callable[[str | None], None]) -> None:
        """Say how an error of a field of a panel is shown; ``None`` takes it away."""
        self._fields[name] = show, panel

    def complain(self, name: str, message: str) -> None:
        """Show an error beside its field, and a mark on the tab of the field's panel."""
        # Errors go to the field that can correct them; the rest is shown as a message.
        if name in self._fields:
            self._fields[name][0](message)
            self.wrong.add(name)
            self._mark()
        else:
            with self.client:
                ui.notify(message, type="negative", multi_line=True, close_button=True)

    def forgive(self, *names: str) -> None:
        """Take away the errors of fields."""
        for name in names:
            if name in self._fields:
                self._fields[name][0](None)
        self.wrong.difference_update(names)
        self._mark()

    def forgive_all(self, panel: str) -> None:
        """Take away the errors of all fields of a panel."""
        self.forgive(
            *(name for name, (_, owner) in self._fields.items() if owner == panel)
        )

    def _mark(self) -> None:
        wrong = {self._fields[name][1] for name in self.wrong}
        for panel, tab in self._marks.items():
            # The mark on the tab tells of an error in a panel that is not open.
            tab.classes(**{"add" if panel in wrong else "remove": "tr-wrong"})

    # -- taking things away ---------------------------------------------------------------

    async def download(
        self, name: str, make: Callable[..., Any], *subject: Any
    ) -> None:
        """Let the browser save what a function makes, under a name."""
        content = await self.slots.run("download", make, *subject)
        with self.client:
            ui.download.content(content, name)

    def _build_dialog(self) -> None:
        with (
            ui.dialog() as self._dialog,
            ui.card().classes("tr-card").style("width: 760px; max-width: 92vw"),
        ):
            names = ("command", "Python", "JSON")
            with ui.tabs().props("dense no-caps align=left").classes("w-full") as kinds:
                for name in names:
                    ui.tab(name)
            shown = ui.tab_panels(kinds, value="command").classes("w-full")
            with shown.style("background: transparent"):
                self._texts = {name: self._build_text(name) for name in names}
            close = ui.button("Close", on_click=self._dialog.close)
            close.props("flat no-caps").classes("self-end")

    def _build_text(self, name: str) -> ui.label:
        with ui.tab_panel(name).style("padding: 8px 0"):
            text = ui.label().classes("tr-code").mark(f"takeaway-{name}")
            text.props(f'data-kind="{name}" tabindex=0')

            def copy() -> None:
                ui.clipboard.write(text.text)
                ui.notify("copied", position="bottom", timeout=900)

            words = f"Copy {'as ' if name != 'JSON' else ''}{name}"
            ui.button(words, icon="content_copy", on_click=copy).props(
                "no-caps unelevated dense"
            )
        return text

    def _open_dialog(self) -> None:
        panel = str(self._tabs.value)
        asked = self.panels[panel].released()
        for kind, write in (("command", as_command), ("Python", as_python)):
            try:
                self._texts[kind].set_text(write(self.state, panel, asked))
            # What cannot be written yet says why, in the place of the command.
            except FieldError as refused:
                self._texts[kind].set_text(refused.message)
        lines = [
            json.dumps(line, ensure_ascii=False) for line in self.results.get(panel, [])
        ]
        self._texts["JSON"].set_text("\n".join(lines) or "nothing computed yet")
        self._dialog.open()

    def _copy_link(self) -> None:
        if self.state != PageState() and not encode(self.state):
            ui.notify(
                "the graph is too large for a link: share its file", type="warning"
            )
            return
        self.run_script("navigator.clipboard.writeText(window.location.href)")
        ui.notify("link copied; whoever opens it needs this studio", timeout=1500)

    # -- places: Publish, and the panels of Study -----------------------------------------

    def study(self, state: PageState) -> None:
        """Show a question in Study, as a step of undo."""
        self.change(state)
        self._tabs.set_value("question")

    def _turn(self, event: Any) -> None:
        self._tabs.set_value(list(PANELS)[int(event.args) - 1])

    def _went(self, event: Any) -> None:
        """Go where the address says: after a reload, or back and forth in the browser."""
        self._tabs.set_value(event.args if event.args in PANELS else PUBLISH)

    def _change_place(self) -> None:
        is_studying = self._place.value == "study"
        # Only if it differs: setting the toggle fires this event as well.
        if is_studying == (self._tabs.value == PUBLISH):
            self._tabs.set_value(self._studied if is_studying else PUBLISH)

    def _turned(self) -> None:
        self._show_place()
        self.run_script(f"showPanel({json.dumps(self._tabs.value)})")

    def _show_place(self) -> None:
        """Show which place the open panel is in."""
        panel = str(self._tabs.value)
        is_studying = panel != PUBLISH
        if is_studying:
            self._studied = panel
        self._place.set_value("study" if is_studying else "publish")
        for part in (self._tabs, self._summary):
            part.set_visibility(is_studying)

    def _design(self) -> None:
        self._tabs.set_value("mechanism")
        self.panels["mechanism"].act()


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
