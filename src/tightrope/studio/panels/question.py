"""Panel 1: the question, picked, drawn or uploaded, and the facts of its answer graph."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from nicegui import ui

from tightrope.kinds import RELATIONS
from tightrope.studio.asking import Refused, graph_from_upload
from tightrope.studio.panels import Panel, card, facts, plot
from tightrope.studio.pictures import SKETCH_SIZE, Sketch, blank_graph, graph_picture, sketch_of
from tightrope.studio.state import State
from tightrope.studio.work import Shown, question_facts


class QuestionPanel(Panel):
    """Pick, draw or upload; see the answer graph and what is known about it."""

    name = "question"

    def build(self) -> None:
        """Create the elements."""
        self._sketch = Sketch()
        self._blank = False
        with ui.element("div").classes("tr-columns tr-two"):
            with ui.element("div").classes("tr-stack"):
                self._build_form()
                with card("Facts"):
                    self._facts = ui.element("div").classes("tr-facts w-full").props("data-facts")
            with card("Answer graph", "Nodes are answers; an edge joins two answers that "
                      "neighbouring tables can give."):  # fmt: skip
                self._waiting = ui.linear_progress(show_value=False).props("indeterminate")
                self._plot = plot("320px")
                self._note = ui.label().classes("tr-note")

    def _build_form(self) -> None:
        from tightrope.queries import FAMILIES

        with card("Question"):
            ways = {"pick": "Pick a query", "draw": "Draw a graph", "upload": "Upload"}
            self._way = self.toggle(ways, value="pick", on_change=self._turn)
            with ui.column().classes("w-full q-gutter-none").style("gap: 6px") as self._pick:
                self._text = self.input("query", "Query", "sum(150,5)", on_change=self._typed)
                examples = {f.example: f"{f.signature}  {f.meaning}" for f in FAMILIES.values()}
                self._family = self.select(examples, "Examples", on_change=self._picked)
            with ui.column().classes("w-full").style("gap: 6px") as self._draw:
                self._build_drawing()
            with ui.column().classes("w-full").style("gap: 6px") as self._upload:
                self._kind = ui.radio({"graph": "edges", "points": "points"}, value="graph")
                self._kind.props("inline dense")
                self.uploader("Graph as CSV, GraphML or JSON", self._take, ".csv,.graphml,.json",
                              "graph")  # fmt: skip
            self.error_label("question")
            near = {name: f"{name}: {about}" for name, about in RELATIONS.items()}
            self._near = self.select(near, "Neighbouring tables", on_change=self._neighbours)
        self._turn()

    def _build_drawing(self) -> None:
        ui.label(
            "Click on free space for a new answer, on two answers one after the other for an edge "
            "(again to remove it), Shift+click to remove an answer."
        ).classes("tr-note")
        self._canvas = ui.interactive_image(
            size=SKETCH_SIZE, on_mouse=self._clicked, events=["click"], sanitize=False
        ).classes("tr-draw")
        self._canvas.props("data-canvas")
        self._edges = self.input("edges", "Edges", "0-1, 1-2, 2-0", on_change=self._listed)
        with ui.row().style("gap: 6px"):
            ui.button("Clear", on_click=self._cleared).props("flat dense no-caps")
            ui.label("or type the edges above").classes("tr-note self-center")

    # -- events ---------------------------------------------------------------------------

    def _turn(self) -> None:
        for name, box in (("pick", self._pick), ("draw", self._draw), ("upload", self._upload)):
            box.set_visibility(self._way.value == name)
        self._canvas.set_content(self._sketch.svg())

    def _typed(self) -> None:
        text = str(self._text.value or "").strip()
        state = self.page.state
        if not text and not state.graph:
            self._blank = True
            self.page.complain("question", "Write a query such as sum(150,5), or pick an example.")
        elif text and (text != state.question or state.graph):
            self.page.change(replace(state, question=text, graph=""))
        elif text and self._blank:
            self.page.start(self.show(state, frozenset({"question"})))

    def _picked(self) -> None:
        if self._family.value:
            self._text.set_value(self._family.value)
            self._typed()

    def _neighbours(self) -> None:
        self.page.change(replace(self.page.state, neighbours=str(self._near.value)))

    def _clicked(self, event: Any) -> None:
        self._drawn(self._sketch.click(event.image_x, event.image_y, remove=event.shift))

    def _listed(self) -> None:
        text = str(self._edges.value or "")
        if text == self._sketch.edge_text():
            return
        try:
            self._drawn(self._sketch.with_edges(text))
        except Refused as refused:
            self.page.complain("question", refused.message)

    def _cleared(self) -> None:
        self._drawn(Sketch())

    def _drawn(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self._canvas.set_content(sketch.svg())
        self._edges.set_value(sketch.edge_text())
        if sketch.edges:
            self.page.change(replace(self.page.state, graph=sketch.json()))

    async def _take(self, name: str, data: bytes) -> None:
        kind = str(self._kind.value)
        text = await self.page.slots.run("upload", graph_from_upload, name, data, kind)
        self.page.change(replace(self.page.state, graph=text))

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: State, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        if not changed & {"question", "graph", "neighbours"}:
            return
        self._text.set_value("" if state.graph else state.question)
        self._near.set_value(state.neighbours)
        if state.graph and state.graph != self._sketch.json():
            self._sketch = sketch_of(state.graph, self._sketch.places)
            self._edges.set_value(self._sketch.edge_text())
            self._canvas.set_content(self._sketch.svg())
        if state.graph and self._way.value == "pick":
            self._way.set_value("draw" if self._sketch.edges else "upload")
        elif not state.graph and "neighbours" not in changed:
            self._way.set_value("pick")
        self.page.forgive("question")
        self._blank = False
        self._waiting.set_visibility(True)
        try:
            found: Shown = await self.page.slots.run("facts", question_facts, state)
        except Refused:
            self._facts.clear()
            self._note.set_text("")
            self._plot.update_figure(blank_graph())
            raise
        finally:
            self._waiting.set_visibility(False)
        self.page.results["question"] = [found.json]
        facts(self._facts, found.rows)
        drawing = found.drawing
        if drawing is not None:
            tall = "height: min(540px, calc(100vh - 200px)); min-height: 320px"
            self._plot.style("height: 240px; min-height: 0" if drawing.is_flat else tall)
            self._plot.update_figure(graph_picture(drawing))
            shown = len(drawing.nodes)
            some = f"the {shown} nearest to {drawing.names[0]} of {drawing.total:,} answers"
            title = json.loads(state.graph).get("name", "graph") if state.graph else state.question
            whole = f"{title}: {drawing.total:,} answers"
            self._note.set_text(whole if shown == drawing.total else f"{title}: {some}")
