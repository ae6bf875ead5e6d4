"""Panel 2: the privacy level, what it means in bits and in words, and what exists there."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

from nicegui import ui

from tightrope.report.texts import interval_text
from tightrope.studio.asking import Refused, people_of
from tightrope.studio.panels import Panel, card, lines, plot
from tightrope.studio.pictures import LAST_LEVEL, level_picture
from tightrope.studio.state import State
from tightrope.studio.work import Shown, existence, level_words


class PrivacyPanel(Panel):
    """Move ε; leakage, the attacker's success and the tight-constraints range move with it."""

    name = "privacy"

    def build(self) -> None:
        """Create the elements."""
        self._exists: dict[str, Any] | None = None
        self._level: dict[str, Any] | None = None
        self._slider_text = ""
        self._setting = False
        self._blank = False
        with ui.element("div").classes("tr-columns tr-two"):
            with card("Privacy level"):
                self._text = self.input("epsilon", "ε", "0.5 or ln(2)", on_change=self._typed)
                self._slider = ui.slider(min=0.01, max=LAST_LEVEL, step=0.01, on_change=self._slid)
                self._slider.props('label aria-label="ε" throttle=40').classes("q-px-sm")
                with ui.row().classes("w-full no-wrap").style("gap: 10px"):
                    self._people = ui.number("people in the table", min=1, precision=0)
                    self._values = ui.number("values of one person", min=2, precision=0)
                for box in (self._people, self._values):
                    box.props("outlined dense debounce=350").classes("col")
                    box.on_value_change(self._counted)
                self.error_label("people")
                ui.label(
                    'As the question says, until you say otherwise. "Absent" counts as a value '
                    "where people may be missing."
                ).classes("tr-note")
            with card("What it means"):
                with ui.row().classes("w-full").style("gap: 28px"):
                    self._numbers = [self._number(*words) for words in (
                        ("attacker's success", "success"),
                        ("bits about one person", "one"),
                        ("bits about everybody", "all"),
                    )]  # fmt: skip
                self._words = ui.column().classes("w-full").style("gap: 6px")
        with (
            ui.element("div").classes("w-full"),
            card(
                "Where the tight-constraints mechanism exists",
                "The mechanism whose privacy holds "
                "with equality towards every reported answer. Where it exists it is the best one "
                "for many priors; elsewhere a search finds the best.",
            ),
        ):
            self._waiting = ui.linear_progress(show_value=False).props("indeterminate")
            self._plot = plot("150px")
            self._note = ui.label().classes("tr-note").props("data-exists")

    def _number(self, title: str, name: str) -> ui.label:
        with ui.column().style("gap: 0"):
            made = ui.label("…").classes("tr-big").props(f'data-number="{name}"')
            ui.label(title).classes("tr-note")
        return made

    # -- events ---------------------------------------------------------------------------

    def _typed(self) -> None:
        text = str(self._text.value or "").strip()
        if not text:
            self._blank = True
            self.page.start(self._refuse_blank())
        elif text != self.page.state.epsilon:
            self.page.change(replace(self.page.state, epsilon=text))
        elif self._blank:
            self.page.start(self.show(self.page.state, frozenset({"epsilon"})))

    async def _refuse_blank(self) -> None:
        # Runs after the change event, which clears the error of the field.
        raise Refused("epsilon", "Write a level such as 0.5 or ln(2).")

    def _slid(self, event: Any) -> None:
        # Setting the text moves the slider too: only moves by the user may set the text.
        if event.value is not None and f"{event.value:g}" != self._slider_text:
            self._slider_text = f"{event.value:g}"
            self.page.change(replace(self.page.state, epsilon=self._slider_text))

    def _counted(self) -> None:
        people, values = self._people.value, self._values.value
        if self._setting:
            return
        if people is None or values is None:
            self.page.complain("people", "Both numbers are needed.")
        else:
            self.page.change(replace(self.page.state, individuals=int(people), values=int(values)))

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: State, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        if changed & {"epsilon", "individuals", "values", "question", "graph", "neighbours"}:
            # Reading the question is quick, and done once; building a large graph is not.
            people = await asyncio.to_thread(people_of, state)
            if state == self.page.state:
                self._show_level(state, people)
        if changed & {"question", "graph", "neighbours"}:
            self._waiting.set_visibility(True)
            try:
                self._exists = None
                self._exists = await self.page.slots.run("exists", existence, state)
                self._draw()
            except Refused as refused:
                self._draw()
                self._note.set_text(f"Not known for this question: {refused.message}")
                raise
            finally:
                self._waiting.set_visibility(False)

    def _show_level(self, state: State, people: tuple[int, int]) -> None:
        self._text.set_value(state.epsilon)
        self._setting = True
        self._people.set_value(people[0])
        self._values.set_value(people[1])
        self._setting = False
        self.page.forgive("epsilon", "people")
        self._blank = False
        try:
            found: Shown = level_words(state)
        except Refused as refused:
            self.page.complain(refused.field, refused.message)
            # Clear the numbers: those of the last valid level would be mistaken for these.
            self._words.clear()
            for label in self._numbers:
                label.set_text("–")
            self._level = None
            self._draw()
            return
        self._level = found.json
        value = min(max(round(float(found.json["epsilon"]), 2), 0.01), LAST_LEVEL)
        self._slider_text = f"{value:g}"
        self._slider.set_value(value)
        names = ("attacker_success", "individual_bits", "leakage_bound_bits")
        for label, name in zip(self._numbers, names, strict=True):
            label.set_text(f"{found.json[name]:.4g}")
        lines(self._words, found.rows.values(), "tr-words")
        self._draw()

    def _draw(self) -> None:
        found = self._exists
        level = None if self._level is None else float(self._level["epsilon"])
        self._plot.update_figure(level_picture(found["intervals"] if found else [], level))
        self.page.results["privacy"] = [told for told in (found, self._level) if told]
        if found is None:
            self._note.set_text("")
            return
        sure = "nothing is missed" if found["exact"] else f"samples {found['resolution']:.2g} apart"
        here = "" if level is None else f"{_words_at(found['intervals'], level)} "
        where = interval_text(found["intervals"], 6)
        self._note.set_text(f"{here}Shaded: {where}. Decided by {found['method']} ({sure}).")


def _words_at(intervals: list[list[float | None]], level: float, near: float = 1e-6) -> str:
    """Say whether a level lies in one of the intervals, or as near to an end as ``near``."""
    ends = [(low or 0.0, math.inf if high is None else high) for low, high in intervals]
    if any(abs(level - end) < near for pair in ends for end in pair):
        return "The chosen ε is an end of the range."
    inside = any(low < level < high for low, high in ends)
    return f"It {'exists' if inside else 'does not exist'} at the chosen ε."
