"""Study: the question with its answer graph, and the privacy level."""

from __future__ import annotations

import asyncio
import json
import math
from functools import partial
from typing import Any

from nicegui import ui

from tightrope.leakage.bounds import rounded_up
from tightrope.queries import FAMILIES
from tightrope.report.texts import interval_text
from tightrope.studio import pictures
from tightrope.studio.asking import FieldError, graph_from_upload, people_of
from tightrope.studio.panels import Panel
from tightrope.studio.state import PageState
from tightrope.studio.work import Shown, existence, level_words, question_facts


class QuestionPanel(Panel):
    """Pick, draw or upload; see the answer graph and what is known about it."""

    name = "question"
    fields = frozenset({"question", "graph", "neighbours"})

    def build(self) -> None:
        """Create the elements."""
        self._sketch = pictures.Sketch()
        with self.div("tr-columns tr-two"):
            with self.div("tr-stack"):
                self._build_form()
                with self.card("Facts"):
                    self._facts = self.div("tr-facts w-full", "data-facts")
            with self.card("Answer graph", "Nodes are answers; an edge joins two answers that "
                           "neighbouring tables can give."):  # fmt: skip
                self._waiting = ui.linear_progress(show_value=False).props(
                    "indeterminate"
                )
                self._plot = self.plot("320px", "The answer graph")
                self._note = self.note()

    def _build_form(self) -> None:
        with self.card("Question"):
            ways = {"pick": "Pick a query", "draw": "Draw a graph", "upload": "Upload"}
            self._way = self.toggle(ways, value="pick", on_change=self._turn)
            with (
                ui.column()
                .classes("w-full q-gutter-none")
                .style("gap: 6px") as self._pick
            ):
                self._text = self.input(
                    "query", "Query", "sum(150,5)", on_change=self._typed
                )
                examples = {
                    f.example: f"{f.signature}  {f.meaning}" for f in FAMILIES.values()
                }
                self._family = self.select(examples, "Examples", on_change=self._picked)
            with ui.column().classes("w-full").style("gap: 6px") as self._draw:
                self._build_drawing()
            with ui.column().classes("w-full").style("gap: 6px") as self._upload:
                self._kind = ui.radio(
                    {"graph": "edges", "points": "points"}, value="graph"
                )
                self._kind.props("inline dense")
                self.uploader("Graph as CSV, GraphML or JSON", self._take, ".csv,.graphml,.json",
                              "graph")  # fmt: skip
            self.error_label("question")
            self._near = self.relations()
            self._near.on_value_change(
                lambda event: self.tell(neighbours=str(event.value))
            )
        self._turn()

    def _build_drawing(self) -> None:
        self.note(
            "Click on free space for a new answer, on two answers one after the other for an edge "
            "(again to remove it), Shift+click to remove an answer."
        )
        self._canvas = ui.interactive_image(
            size=pictures.SKETCH_SIZE,
            on_mouse=self._clicked,
            events=["click"],
            sanitize=False,
        ).classes("tr-draw")
        self._canvas.props("data-canvas")
        self._edges = self.input(
            "edges", "Edges", "0-1, 1-2, 2-0", on_change=self._listed
        )
        with ui.row().style("gap: 6px"):
            self.button("Clear", partial(self._drawn, pictures.Sketch()), "flat dense")
            self.note("or type the edges above").classes("self-center")

    # -- events ---------------------------------------------------------------------------

    def _turn(self) -> None:
        for name, box in (
            ("pick", self._pick),
            ("draw", self._draw),
            ("upload", self._upload),
        ):
            box.set_visibility(self._way.value == name)
        self._canvas.set_content(self._sketch.svg())

    def _typed(self) -> None:
        text = str(self._text.value or "").strip()
        if text:
            self.tell(question=text, graph="")
        elif not self.page.state.graph:
            self.page.complain(
                "question", "Write a query such as sum(150,5), or pick an example."
            )

    def _picked(self) -> None:
        if self._family.value:
            self._text.set_value(self._family.value)
            self._typed()

    def _clicked(self, event: Any) -> None:
        self._drawn(
            self._sketch.click(event.image_x, event.image_y, remove=event.shift)
        )

    def _listed(self) -> None:
        text = str(self._edges.value or "")
        # The field was set by the drawing itself: nothing new.
        if text == self._sketch.edge_text():
            return
        try:
            self._drawn(self._sketch.with_edges(text))
        except FieldError as refused:
            self.page.complain("question", refused.message)

    def _drawn(self, sketch: pictures.Sketch) -> None:
        self._sketch = sketch
        self._canvas.set_content(sketch.svg())
        self._edges.set_value(sketch.edge_text())
        # A graph without edges is no question yet.
        if sketch.edges:
            self.tell(graph=sketch.json())

    async def _take(self, name: str, data: bytes) -> None:
        kind = str(self._kind.value)
        text = await self.run("upload", graph_from_upload, name, data, kind)
        self.tell(graph=text)

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        self.page.forgive("question")
        self._text.set_value("" if state.graph else state.question)
        self._near.set_value(state.neighbours)
        # The same drawing is not rebuilt: its nodes would jump.
        if state.graph and state.graph != self._sketch.json():
            self._sketch = pictures.sketch_of(state.graph, self._sketch.places)
            self._edges.set_value(self._sketch.edge_text())
            self._canvas.set_content(self._sketch.svg())
        if state.graph and self._way.value == "pick":
            self._way.set_value("draw" if self._sketch.edges else "upload")
        elif not state.graph and "neighbours" not in changed:
            self._way.set_value("pick")
        self._waiting.set_visibility(True)
        try:
            found: Shown = await self.run("facts", question_facts, state)
        except FieldError:
            self._facts.clear()
            self.page.results.pop("question", None)
            self._note.set_text("")
            self._plot.update_figure(pictures.blank_graph())
            raise
        finally:
            self._waiting.set_visibility(False)
        self.page.results["question"] = [found.json]
        self.facts(self._facts, found.rows)
        drawing = found.drawing
        if drawing is not None:
            tall = "height: min(540px, calc(100vh - 200px)); min-height: 320px"
            self._plot.style(
                "height: 240px; min-height: 0" if drawing.is_flat else tall
            )
            self._plot.update_figure(pictures.graph_picture(drawing))
            shown = len(drawing.nodes)
            some = f"the {shown} nearest to {drawing.names[0]} of {drawing.total:,} answers"
            title = (
                json.loads(state.graph).get("name", "graph")
                if state.graph
                else state.question
            )
            whole = f"{title}: {drawing.total:,} answers"
            self._note.set_text(whole if shown == drawing.total else f"{title}: {some}")


class PrivacyPanel(Panel):
    """Move ε; leakage, the attacker's success and the tight-constraints range move with it."""

    name = "privacy"
    fields = frozenset(
        {"epsilon", "individuals", "values", "question", "graph", "neighbours"}
    )

    def build(self) -> None:
        """Create the elements."""
        self._exists: dict[str, Any] | None = None
        self._level: dict[str, Any] | None = None
        self._slider_text = ""
        with self.div("tr-columns tr-two"):
            with self.card("Privacy level"):
                self._text = self.input(
                    "epsilon", "ε", "0.5 or ln(2)", on_change=self._typed
                )
                self._slider = ui.slider(
                    min=0.01, max=pictures.LAST_LEVEL, step=0.01, on_change=self._slid
                )
                self._slider.props('label aria-label="ε" throttle=40').classes(
                    "q-px-sm"
                )
                with ui.row().classes("w-full no-wrap").style("gap: 10px"):
                    self._people = ui.number("people in the table", min=1, precision=0)
                    self._values = ui.number("values of one person", min=2, precision=0)
                for box in (self._people, self._values):
                    box.props("outlined dense debounce=350").classes("col")
                    box.on_value_change(self._counted)
                self.error_label("people")
                self.note(
                    'As the question says, until you say otherwise. "Absent" counts as a value '
                    "where people may be missing."
                )
            with self.card("What it means"):
                with ui.row().classes("w-full").style("gap: 28px"):
                    self._numbers = [self._number(*words) for words in (
                        ("attacker's success", "success"),
                        ("bits about one person", "one"),
                        ("bits about everybody", "all"),
                    )]  # fmt: skip
                self._words = ui.column().classes("w-full").style("gap: 6px")
        with self.div("w-full"), self.card(
            "Where the tight-constraints mechanism exists",
            "The mechanism whose privacy holds with equality towards every reported answer. Where "
            "it exists it is the best one for many priors; elsewhere a search finds the best.",
        ):  # fmt: skip
            self._waiting = ui.linear_progress(show_value=False).props("indeterminate")
            self._plot = self.plot(
                "150px", "The levels at which the tight-constraints mechanism exists"
            )
            self._note = self.note(mark="data-exists")

    def _number(self, title: str, name: str) -> ui.label:
        with ui.column().style("gap: 0"):
            made = ui.label("…").classes("tr-big").props(f'data-number="{name}"')
            self.note(title)
        return made

    # -- events ---------------------------------------------------------------------------

    def _typed(self) -> None:
        text = str(self._text.value or "").strip()
        if text:
            self.tell(epsilon=text)
        else:
            self.start(self._refuse_blank())

    async def _refuse_blank(self) -> None:
        # Runs after the change event, which clears the error of the field.
        raise FieldError("epsilon", "Write a level such as 0.5 or ln(2).")

    def _slid(self, event: Any) -> None:
        # Setting the text moves the slider too: only moves by the user may set the text.
        if event.value is not None and f"{event.value:g}" != self._slider_text:
            self._slider_text = f"{event.value:g}"
            self.tell(epsilon=self._slider_text)

    def _counted(self) -> None:
        people = self._people.value
        values = self._values.value
        if self.is_filling:
            return
        if people is None or values is None:
            self.page.complain("people", "Both numbers are needed.")
        else:
            self.tell(individuals=int(people), values=int(values))

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        # Reading the question is quick, and done once; building a large graph is not.
        people = await asyncio.to_thread(people_of, state)
        # Another state may have come while the question was read.
        if state == self.page.state:
            self._show_level(state, people)
        if changed & {"question", "graph", "neighbours"}:
            self._waiting.set_visibility(True)
            try:
                self._exists = None
                self._exists = await self.run("exists", existence, state)
                self._draw()
            except FieldError as refused:
                self._draw()
                self._note.set_text(f"Not known for this question: {refused.message}")
                raise
            finally:
                self._waiting.set_visibility(False)

    def _show_level(self, state: PageState, people: tuple[int, int]) -> None:
        self.page.forgive("epsilon", "people")
        self._text.set_value(state.epsilon)
        with self.filling():
            self._people.set_value(people[0])
            self._values.set_value(people[1])
        try:
            found = level_words(state)
        except FieldError as refused:
            self.page.complain(refused.field, refused.message)
            # Clear the numbers: those of the last valid level would be mistaken for these.
            self._words.clear()
            for label in self._numbers:
                label.set_text("–")
            self._level = None
            self._draw()
            return
        self._level = found
        # The slider has two digits and ends; the text keeps the exact level.
        level = round(float(found["epsilon"]), 2)
        value = min(max(level, 0.01), pictures.LAST_LEVEL)
        self._slider_text = f"{value:g}"
        self._slider.set_value(value)
        texts = (
            f"{rounded_up(100 * found['attacker_success'])} %",
            rounded_up(found["individual_bits"]),
            rounded_up(found["leakage_bound_bits"]),
        )
        for label, text in zip(self._numbers, texts, strict=True):
            label.set_text(text)
        self.lines(self._words, found["sentences"], "tr-words")
        self._draw()

    def _draw(self) -> None:
        found = self._exists
        level = None if self._level is None else float(self._level["epsilon"])
        self._plot.update_figure(
            pictures.level_picture(found["intervals"] if found else [], level)
        )
        self.page.results["privacy"] = list(filter(None, (found, self._level)))
        if found is None:
            self._note.set_text("")
            return
        sure = (
            "nothing is missed"
            if found["exact"]
            else f"samples {found['resolution']:.2g} apart"
        )
        here = "" if level is None else f"{_words_at(found['intervals'], level)} "
        where = interval_text(found["intervals"], 6)
        self._note.set_text(
            f"{here}Shaded: {where}. Decided by {found['method']} ({sure})."
        )


def _words_at(
    intervals: list[list[float | None]], level: float, near: float = 1e-6
) -> str:
    """Say whether a level lies in one of the intervals, or as near to an end as ``near``."""
    # An open interval has no upper end in JSON.
    ends = [(low or 0.0, math.inf if high is None else high) for low, high in intervals]
    # At an end the mechanism exists or not by the last digit: say neither.
    if any(abs(level - end) < near for pair in ends for end in pair):
        return "The chosen ε is an end of the range."
    inside = any(low < level < high for low, high in ends)
    return f"It {'exists' if inside else 'does not exist'} at the chosen ε."
