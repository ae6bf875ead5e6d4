"""Panels 5 and 6: the mechanism from all sides, its proof, and what is taken away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from tightrope.optimize import ROUTES
from tightrope.progress import Progress
from tightrope.report.drawings import COLOURS, GraphDrawing, HeatMap, HeatWindow
from tightrope.report.texts import design_rows, score_hint, verdict_rows
from tightrope.studio import work
from tightrope.studio.asking import FieldError
from tightrope.studio.jobs import Ended
from tightrope.studio.panels import Panel
from tightrope.studio.pictures import (
    bars_picture,
    graph_picture,
    heat_picture,
    noise_picture,
)
from tightrope.studio.state import PageState
from tightrope.studio.takeaway import MECHANISM_FILE


class MechanismPanel(Panel):
    """Design, with progress and cancel; then look at the result from all sides."""

    name = "mechanism"
    fields = frozenset(
        {"question", "graph", "neighbours", "epsilon", "consumers", "route"}
    )

    def build(self) -> None:
        """Create the elements."""
        self._heat: HeatMap | None = None
        self._exact: tuple[tuple[str, ...], ...] = ()
        with self.card(""):
            self._build_controls()
        with self.card("No mechanism yet") as self._empty:
            self._plan = ui.label().props("data-plan")
            self.note(
                "Then: its probabilities, how it compares with known mechanisms, why none is "
                "better, and whether it serves every consumer."
            )
        with self.div("tr-columns tr-even") as self._body:
            with self.card("Mechanism", "Rows are true answers; colour is the probability of the "
                           "reported output. Hover for exact values; drag to zoom."):  # fmt: skip
                self._plot = self.plot(
                    "max(300px, min(430px, 100vh - 330px))",
                    "The mechanism: the probability of each output for each true answer",
                    "data-heat",
                )
                self._plot.on("plotly_relayout", self._zoomed)
                with ui.row().classes("w-full items-center").style("gap: 14px"):
                    self._log = ui.switch(
                        "logarithmic colours", on_change=self._draw_heat
                    )
                    self.button("Whole mechanism", self._whole, "flat dense")
                    self._heat_note = self.note(mark="data-heat-note")
                self._noise = self.plot(
                    "210px", "The noise around one answer", "data-noise-around"
                )
                self._noise.set_visibility(False)
            with self.div("tr-stack"):
                with self.card("Comparison"):
                    self._bars = self.plot(
                        "220px", "The loss of this and of simple noise", "data-bars"
                    )
                    self._notes = ui.column().classes("w-full").style("gap: 2px")
                with self.card("Route", "How the mechanism was found: by a closed form, a "
                               "theorem or a search. Each ends with the same proof."):  # fmt: skip
                    self._facts = self.div("tr-facts w-full", "data-design")
                    others = ui.expansion(
                        "Why not the others?", on_value_change=self._others
                    )
                    with others.props("dense").classes("w-full"):
                        self._routes = self.div("w-full", "data-routes")
        with self.div("tr-columns tr-even") as self._more:
            with self.card("Does it tell as much as it may?", "For one output, the edges on "
                           "which privacy holds with equality. Where they connect all answers, "
                           "for every output, no mechanism with this ε tells every consumer as "
                           "much and some more: it is maximally general."):  # fmt: skip
                self._general = ui.label().props("data-general")
                self._output = self.select([], "Output", on_change=self._draw_column)
                self._output.style("max-width: 160px")
                self._column = self.plot(
                    "260px", "The answer graph with the tight edges of an output"
                )
            with self.card("One mechanism for everybody?"):
                self._verdict = ui.label().props("data-verdict")
                self._witness = self.plot(
                    "260px", "The answer graph with the consumers of the verdict"
                )
                self._supports = ui.column().classes("w-full").style("gap: 2px")
                self.error_label("universal")
        self._body.set_visibility(False)
        self._more.set_visibility(False)

    def _build_controls(self) -> None:
        with ui.row().classes("w-full items-center no-wrap tr-row").style("gap: 14px"):
            look = 'unelevated title="Ctrl+Enter"'
            self._button = self.button("Design", self.act, look, "architecture")
            names = {"": "planner's choice"} | {name: name for name in ROUTES}
            self._route = self.select(names, "Route", "route", value="")
            self._route.on_value_change(
                lambda event: self.tell(route=str(event.value or ""))
            )
            self._route.style("max-width: 200px")
            self._status = ui.label().classes("tr-note col").props("data-status")
            self._keep = self.button("Keep best so far", self._stop, "outline")
            end = partial(self.page.slots.end, "design")
            self._cancel = self.button("Cancel", end, "outline")
        self._bar = ui.linear_progress(show_value=False).props("indeterminate")
        self.error_label("design")
        self._busy(False)

    def _say(self, words: str, wrong: bool = False) -> None:
        self._status.set_text(words)
        self._status.classes(
            add="tr-error" if wrong else "tr-note",
            remove="tr-note" if wrong else "tr-error",
        )

    def _busy(self, busy: bool) -> None:
        for part in (self._keep, self._cancel, self._bar):
            part.set_visibility(busy)
        self._button.set_enabled(not busy)

    # -- events ---------------------------------------------------------------------------

    def act(self) -> None:
        """Design the mechanism."""
        if self._button.enabled:
            self.start(self._design(self.page.state))

    def _stop(self) -> None:
        self._status.set_text("stopping with the best found so far …")
        self.page.slots.stop("design")

    async def _design(self, state: PageState) -> None:
        self.page.forgive("design", "route", "universal", "page")
        self._busy(True)
        self._say("designing …")
        try:
            made: work.Outcome = await self.run(
                "design", work.make, state, progress=self._show_progress
            )
        except Ended:
            self._status.set_text("Cancelled.")
            return
        except FieldError as refused:
            self._say(f"No mechanism: {refused.message}", wrong=True)
            raise
        finally:
            self._busy(False)
        self.page.outcome = made
        self.page.results["mechanism"] = [made.json]
        self._show_outcome(made)
        # The proof panel shows the new file, or why there is none.
        self.start(self.page.panels["proof"].show(state, frozenset()))
        if made.mechanism:
            self.start(self._load_heat(None))
        # Universality is a question of its own and may take longer than the design.
        self.start(self._judge(state))

    def _show_progress(self, now: Progress) -> None:
        words = f"{now} …"
        if now.round:
            words = (
                f"round {now.round}: loss {now.loss:.6g}, bound {now.bound:.6g}, "
                f"gap {now.gap:.1e}, {now.seconds:.1f} s"
            )
        self._status.set_text(words)

    async def _judge(self, state: PageState) -> None:
        self._verdict.set_text("deciding …")
        self._supports.clear()
        found: work.Shown = await self.run("universal", work.universal, state)
        verdict = found.json
        self._verdict.set_text(
            f"{verdict['verdict']}: {verdict['reason']} [{verdict['theorem']}]"
        )
        supports = verdict.get("supports", [])
        with self._supports:
            for number, nodes in enumerate(supports):
                colour = COLOURS[number % len(COLOURS)]
                ringed = " ringed" * (len(nodes) <= 12)
                ui.label(
                    f"consumer {number + 1}: {len(nodes)} answers{ringed}, loses "
                    f"{verdict['losses'][number]:.6g} with an own mechanism"
                ).style(
                    f"border-left: 4px solid {colour}; padding-left: 8px; font-size: 13px"
                )
            if "mechanism" in verdict:
                self.note(f"It is the {verdict['mechanism']} mechanism.")
        if found.drawing is not None:
            _draw_graph(self._witness, found.drawing, groups=supports)

    async def _load_heat(self, window: HeatWindow | None) -> None:
        made = self.page.outcome
        if made is not None and made.mechanism:
            found = await self.run("heat", work.heat_of, made.mechanism, window)
            self._heat, self._exact, noise = found
            self._draw_heat()
            if window is None:
                self._noise.set_visibility(bool(noise))
                self._noise.update_figure(noise_picture(noise))

    def _whole(self) -> None:
        self.start(self._load_heat(None))

    def _zoomed(self, event: Any) -> None:
        heat = self._heat
        now = event.args
        # Only a reduced picture has more to show; others zoom in the browser.
        if heat is None or not heat.is_reduced or "xaxis.range[0]" not in now:
            return
        ends = [now.get(f"{a}.range[{k}]") for a in ("yaxis", "xaxis") for k in (0, 1)]
        if any(end is None for end in ends):
            return
        top, bottom, left, right = heat.window
        rows = _places(sorted(ends[:2]), len(heat.rows), top, bottom)
        outputs = _places(sorted(ends[2:]), len(heat.outputs), left, right)
        self.start(self._load_heat((*rows, *outputs)))

    async def _load_routes(self) -> None:
        found = await self.run("routes", work.routes, self.page.state)
        rows = [(name, "fits" if fits else "no", why) for name, fits, why in found]
        self.table(self._routes, ("route", "", "why"), rows)

    def _others(self, event: Any) -> None:
        if event.value:
            self.start(self._load_routes())

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        self._route.set_value(state.route if state.route in ROUTES else "")
        self.page.forgive("route", "design")
        self._routes.clear()
        made = self.page.outcome
        if made is None:
            self._say("")
            self._plan.set_text(
                f"Design finds the private mechanism that serves {state.consumer.name} best: "
                f"{state.asked} at ε = {state.epsilon}, {state.loss_of(state.consumer)} loss."
            )
            return
        # The picture stays until the next design, but is marked as that of another question.
        old = any(
            getattr(made.state, name) != getattr(state, name) for name in self.fields
        )
        # What can be taken away must belong to the present fields.
        self.page.results["mechanism"] = [] if old else [made.json]
        if old:
            self.page.results["proof"] = []
        shown = f"{made.state.asked}, ε = {made.state.epsilon}"
        self._say(
            f"Shown: {shown}. The fields have changed: design again." if old else ""
        )
        for box in (self._body, self._more):
            box.style("opacity: .55" if old else "opacity: 1")

    def _show_outcome(self, made: work.Outcome) -> None:
        design = made.json
        self._empty.set_visibility(False)
        for box in (self._body, self._more):
            box.style("opacity: 1").set_visibility(True)
        proved = "certified" if design["certified"] else (
            "stopped early, the file proves privacy" if design["stopped"]
            else "the proof did not close")  # fmt: skip
        self._status.set_text(f"Done in {design['seconds']:.3g} s: {proved}.")
        rows = {"quality": design["claim"], **design_rows(made.design)}
        hint = score_hint(design["query"])
        if hint:
            rows["but"] = f"{hint}."
        if made.unproved:
            rows["no mechanism file"] = made.unproved
        self.facts(self._facts, rows)
        self._bars.update_figure(bars_picture(made.compared, made.is_binary))
        self.lines(
            self._notes,
            [f"{bar.name}: {bar.note}" for bar in made.compared if bar.note],
        )
        few = "" if made.columns else " (too many answers to draw)"
        self._general.set_text(f"This mechanism is {made.general}{few}.")
        names = {k: name for k, (name, _) in enumerate(made.columns)}
        self._output.set_visibility(bool(names))
        self._column.set_visibility(bool(names))
        self._output.set_options(names, value=0 if names else None)
        self._draw_column()

    def _draw_column(self) -> None:
        made = self.page.outcome
        chosen = self._output.value
        if made is None or chosen is None or not made.columns:
            return
        _, column = made.columns[int(chosen)]
        edges = column.edges.tolist()
        parts = column.parts.tolist()
        _draw_graph(self._column, made.drawing, tight=edges, parts=parts)

    def _draw_heat(self) -> None:
        heat = self._heat
        if heat is None:
            return
        self._plot.update_figure(
            heat_picture(heat, self._exact, logarithmic=bool(self._log.value))
        )
        more = ", zoom in for values" if heat.is_reduced else ""
        self._heat_note.set_text(heat.size_text() + more)


def _draw_graph(plot: ui.plotly, drawing: GraphDrawing, **marks: Any) -> None:
    plot.style(f"height: {150 if drawing.is_flat else 260}px")
    plot.update_figure(graph_picture(drawing, most_names=20, **marks))


def _places(ends: list[float], count: int, first: int, last: int) -> tuple[int, int]:
    """Return the rows behind an interval of a reduced picture's axis."""
    # Rows per block of the picture, rounded up as when it was made.
    step = -(-(last - first + 1) // count)
    low, high = (max(round(end), 0) for end in ends)
    last_place = first + (high + 1) * step - 1
    return first + low * step, min(last_place, last)


class ProofPanel(Panel):
    """Check the mechanism in integers, and download it."""

    name = "proof"

    def build(self) -> None:
        """Create the elements."""
        with self.div("tr-columns tr-even"):
            with self.card(
                "Proof", "The checker knows no solver: it multiplies integers."
            ):
                with ui.row().classes("items-center").style("gap: 10px"):
                    self._verify = self.button(
                        "Verify", self.act, "unelevated", "verified"
                    )
                    self._state = self.note(mark="data-file")
                self._verdict = ui.label().props("data-verified")
                self._facts = self.div("tr-facts w-full")
                self._lines = ui.column().classes("w-full").style("gap: 2px")
                self.uploader("Verify another mechanism file", self._open, ".tightrope",
                              "mechanism")  # fmt: skip
                self.error_label("verify")
            with self.card("Take away", "Panel 1 publishes numbers with noise that is designed "
                           "for the question there. To draw an answer from this file instead: "
                           f"tightrope release {MECHANISM_FILE} --data people.csv --sql "
                           "'select …'"):  # fmt: skip
                with ui.row().style("gap: 8px"):
                    csv = work.matrix_csv
                    page = work.report_html
                    self._downloads = [
                        self.button(
                            words,
                            partial(self._save, name, make, part),
                            "outline",
                            icon,
                        )
                        for words, icon, name, make, part in (
                            (
                                "Mechanism file",
                                "download",
                                MECHANISM_FILE,
                                bytes,
                                "mechanism",
                            ),
                            (
                                "Matrix as CSV",
                                "table_view",
                                "matrix.csv",
                                csv,
                                "mechanism",
                            ),
                            ("Report", "description", "report.html", page, "design"),
                        )
                    ]
                self.error_label("csv")
        self._show_ready()

    def _show_ready(self) -> None:
        made = self.page.outcome
        ready = made is not None and bool(made.mechanism)
        for one in (self._verify, *self._downloads):
            one.set_enabled(ready)
        if made is None:
            self._state.set_text("Design a mechanism first (panel 5).")
        elif not made.mechanism:
            self._state.set_text(f"There is no mechanism file: {made.unproved}")
        else:
            size = len(made.mechanism)
            self._state.set_text(
                f"{made.state.asked}, ε = {made.state.epsilon}: {size:,} bytes"
            )

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a new design."""
        self._verdict.set_text("")
        self._facts.clear()
        self._lines.clear()
        self.page.forgive("verify", "csv")
        self.page.results.pop("proof", None)
        self._show_ready()

    # -- verifying ------------------------------------------------------------------------

    def act(self) -> None:
        """Verify the mechanism of the page."""
        self.start(self._check())

    async def _check(self) -> None:
        made = self.page.outcome
        if made is not None:
            self.page.forgive("verify")
            self._verdict.set_text("checking …")
            self._verdict.classes(replace="tr-note")
            found = await self.run("verify", work.judge, made.mechanism)
            self.page.results["proof"] = [made.json, found]
            self._show_verdict("this mechanism", found)

    async def _open(self, name: str, data: bytes) -> None:
        self.page.forgive("verify")
        found = await self.run("verify", work.judge, data)
        self._show_verdict(name[:80], found)
        # A refused file is an error of the upload, with the judge's first reason.
        if found["reasons"]:
            raise FieldError("verify", f"{name[:80]}: {found['reasons'][0]}")

    def _show_verdict(self, name: str, found: dict[str, Any]) -> None:
        # Private alone is not enough: a false claim of optimality is a reason too.
        good = found["private"] and not found["reasons"]
        self._verdict.set_text(
            f"{name}: {'everything holds' if good else 'NOT to be trusted'}"
        )
        self._verdict.classes(replace="tr-good" if good else "tr-bad")
        self.facts(self._facts, verdict_rows(found))
        self._lines.clear()
        with self._lines:
            for line in found["checked"]:
                self.note(f"✓ {line}")
            for line in found["reasons"]:
                ui.label(f"✗ {line}").classes("tr-error")

    # -- downloads ------------------------------------------------------------------------

    def _save(self, name: str, make: Callable[..., Any], part: str) -> None:
        if self.page.outcome is not None:
            self.page.forgive("csv")
            subject = getattr(self.page.outcome, part)
            self.start(self.page.download(name, make, subject))
