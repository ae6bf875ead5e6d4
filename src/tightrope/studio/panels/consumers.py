"""Panel 4: who reads the answer: priors, losses, the regular region, and regret."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import ui

from tightrope.kinds import LOSSES, PRIORS
from tightrope.queries import usual_loss
from tightrope.report.texts import label_text
from tightrope.studio import pictures
from tightrope.studio.asking import FieldError, prior_from_upload, query_in
from tightrope.studio.panels import Panel
from tightrope.studio.state import MOST_CONSUMERS, ConsumerText, PageState
from tightrope.studio.work import Shown, check_consumer, corners, prior_facts, regrets


class ConsumersPanel(Panel):
    """Several consumers; the mechanism is designed for the first."""

    name = "consumers"
    fields = frozenset({"question", "graph", "neighbours", "epsilon", "consumers"})

    def build(self) -> None:
        """Create the elements."""
        self._place = 0
        self._weights: list[tuple[str, ui.slider, ui.label]] = []
        self._chips: tuple[Any, ...] = ()
        with self.div("tr-columns tr-two"):
            with self.div("tr-stack"):
                self._build_form()
            with self.div("tr-stack"):
                with (
                    self.card("What this consumer knows"),
                    self.div("tr-columns tr-even"),
                ):
                    self._list = self.note(
                        "No prior: any of the answers thought possible may be true, and the worst "
                        "of them counts."
                    )
                    with (
                        ui.column().classes("w-full").style("gap: 4px") as self._picture
                    ):
                        self._simplex = ui.interactive_image(
                            size=pictures.SIMPLEX_SIZE, on_mouse=self._dragged,
                            events=["mousedown", "mousemove", "mouseup"], sanitize=False,
                        ).classes("tr-simplex").props("data-simplex")  # fmt: skip
                        self._plot = self.plot(
                            "250px", "The prior: each answer with its probability"
                        )
                        self._hint = self.note(
                            "Drag the point. Shaded: the regular priors at this ε, those "
                            "not too uneven for it; for them the best mechanism has a closed form."
                        )
                    with ui.column().classes("w-full").style("gap: 8px"):
                        self._facts = self.div("tr-facts", "data-regular")
                        self._sliders = ui.column().classes("w-full").style("gap: 0")
                about = (
                    "What each consumer loses beyond an own optimal mechanism: with that of the "
                    "first, and with the best common one."
                )
                with self.card("Regret", about):
                    self._regret = self.div("w-full", "data-regret")
                    self.error_label("regret")

    def _build_form(self) -> None:
        with self.card("Consumers", "The mechanism is designed for the first."):
            self._tabs = ui.row().classes("w-full items-center").style("gap: 6px")
            self._texts = {"name": self.input("name", "Name")}
            kinds = {"bayesian": "has a prior", "risk-averse": "fears the worst"}
            self._kind = self.toggle(kinds, on_change=self._kinded)
            hint = "uniform, binomial(.3), 0.2,0.8"
            self._texts["prior"] = self.input("prior", "Prior", hint)
            with ui.row().style("gap: 6px") as self._presets:
                for text in (kind.example or kind.form for kind in PRIORS.values()):
                    self.button(
                        text, partial(self._set, prior=text), "outline dense size=12px"
                    )
            self._file = self.uploader("Prior from a file (CSV or JSON)", self._take, ".csv,.json",
                                       "prior")  # fmt: skip
            words = "Answers thought possible"
            self._texts["support"] = self.input("support", words, "all or 0,3..5")
            for name, box in self._texts.items():
                box.on_value_change(
                    lambda event, name=name: self._typed(name, event.value)
                )
            self._loss = self.select({"": ""}, "Loss of a wrong guess", "loss",
                                     on_change=self._lost)  # fmt: skip

    # -- events ---------------------------------------------------------------------------

    @property
    def _consumer(self) -> ConsumerText:
        return self.page.state.consumers[self._place]

    def _set(self, **changes: str) -> None:
        self.page.change(self.page.state.with_consumer(self._place, **changes))

    def _kinded(self) -> None:
        # The toggle fires when it is set as well: only a real change resets prior and support.
        if (self._kind.value == "risk-averse") != self._consumer.is_risk_averse:
            averse = self._kind.value == "risk-averse"
            self._set(support="all" if averse else "", prior="uniform")

    def _lost(self) -> None:
        self._set(loss=str(self._loss.value or ""))

    def _typed(self, name: str, value: str | None) -> None:
        text = (value or "").strip()[: 40 if name == "name" else None]
        # An empty support would turn a risk-averse consumer into a Bayesian one.
        if text and (name != "support" or self._consumer.is_risk_averse):
            self._set(**{name: text})

    def _choose(self, place: int) -> None:
        self._place = place
        self.start(self.show(self.page.state, frozenset({"consumers"})))

    def _add(self) -> None:
        state = self.page.state
        if len(state.consumers) < MOST_CONSUMERS:
            taken = {consumer.name for consumer in state.consumers}
            # One more candidate than consumers: some name is always free.
            free = (f"consumer {k}" for k in range(1, MOST_CONSUMERS + 2))
            new = ConsumerText(
                next(name for name in free if name not in taken), loss="absolute"
            )
            self._place = len(state.consumers)
            self.tell(consumers=(*state.consumers, new))

    def _remove(self, first: bool = False) -> None:
        """Take the consumer away, or make it the first."""
        consumers = list(self.page.state.consumers)
        taken = consumers.pop(self._place)
        self._place = 0
        kept = (taken, *consumers) if first else tuple(consumers)
        self.tell(consumers=kept)

    def _dragged(self, event: Any) -> None:
        pressed = event.type == "mousedown" or (
            # Bit 1 is the left button.
            event.type == "mousemove" and event.buttons & 1
        )
        if pressed:
            self._set(prior=pictures.prior_at(event.image_x, event.image_y), support="")

    def _weighted(self) -> None:
        if self.is_filling:
            return
        # Whole weights become exact fractions.
        text = pictures.weights_text([int(s.value or 0) for _, s, _ in self._weights])
        if not text:
            self.page.complain("prior", "at least one weight must be above 0")
        else:
            self._set(prior=text, support="")

    async def _take(self, name: str, data: bytes) -> None:
        state = self.page.state
        text = await self.run("upload", prior_from_upload, state, name, data)
        self._set(prior=text, support="")

    # -- showing --------------------------------------------------------------------------

    async def show(self, state: PageState, changed: frozenset[str]) -> None:
        """Show a state of which these fields changed."""
        # A consumer may have been removed by undo, or by a link.
        self._place = min(self._place, len(state.consumers) - 1)
        if changed & {"consumers", "question", "graph"}:
            self._show_form(state)
        self.page.forgive("prior", "support", "loss", "regret")
        self._show_kind()
        self.page.results.pop("consumers", None)
        results = []
        consumer = self._consumer
        alone = replace(state, consumers=(consumer,))
        try:
            if consumer.is_risk_averse:
                await self.run("prior", check_consumer, alone)
            else:
                results.append(await self._show_prior(alone))
        except FieldError as refused:
            self._show_nothing(refused)
            raise
        # Taken away is what belongs to the first consumer, whichever one is shown.
        if consumer != state.consumer:
            results = []
            first = replace(state, consumers=state.consumers[:1])
            if not state.consumer.is_risk_averse:
                results.append((await self.run("first", prior_facts, first)).json)
        self.page.results["consumers"] = results
        if len(state.consumers) > 1:
            found = await self.run("regret", regrets, state)
            results.append(found["common"])
            self._show_regret(state, found)
        else:
            self.lines(self._regret, ["Add a second consumer to compare."])

    def _show_nothing(self, refused: FieldError) -> None:
        """Take away what belongs to another prior, and say why there is nothing."""
        self._picture.set_visibility(False)
        self._regret.clear()
        self._show_sliders([], [])
        self.facts(self._facts, {"not known": refused.message})

    def _show_form(self, state: PageState) -> None:
        consumer = self._consumer
        chips = (self._place, *(one.name for one in state.consumers))
        # Rebuilt only when they change: replacing a button during a click loses the click.
        if chips != self._chips:
            self._chips = chips
            self._show_chips(state)
        for name, box in self._texts.items():
            box.set_value(getattr(consumer, name))
        names = {"": f"as usual for this question: {usual_loss(state.asked)}"}
        names |= {name: f"{name}: {kind.about}" for name, kind in LOSSES.items()}
        self._loss.set_options({**names, consumer.loss: names.get(consumer.loss, consumer.loss)},
                               value=consumer.loss)  # fmt: skip
        self._kind.set_value("risk-averse" if consumer.is_risk_averse else "bayesian")

    def _show_chips(self, state: PageState) -> None:
        self._tabs.clear()
        with self._tabs:
            for place, one in enumerate(state.consumers):
                look = "unelevated" if place == self._place else "outline"
                self.button(
                    one.name, partial(self._choose, place), f"{look} dense size=12px"
                )
            self.icon_button("add", "Add a consumer", self._add)
            if len(state.consumers) > 1:
                self.icon_button("delete", "Remove this consumer", self._remove)
            if self._place:
                first = partial(self._remove, first=True)
                self.button("design for this one", first, "flat dense size=12px")

    def _show_kind(self) -> None:
        averse = self._consumer.is_risk_averse
        for box in (self._texts["prior"], self._presets, self._file, self._facts, self._sliders,
                    self._picture):  # fmt: skip
            box.set_visibility(not averse)
        for box in (self._texts["support"], self._list):
            box.set_visibility(averse)

    async def _show_prior(self, alone: PageState) -> dict[str, Any]:
        graph = await asyncio.to_thread(lambda: query_in(alone).graph)
        three = graph.size == 3
        if three:
            # Takes a millisecond: computed here, so that it follows the dragged point.
            found: Shown = prior_facts(alone)
            region = corners(alone)
        else:
            found = await self.run("prior", prior_facts, alone)
        self.facts(self._facts, found.rows)
        shares = found.json["probabilities"]
        names = [label_text(graph.label(i)) for i in range(len(shares))]
        self._simplex.set_visibility(three)
        self._hint.set_visibility(three)
        self._plot.set_visibility(not three and bool(shares))
        if three:
            self._simplex.set_content(pictures.simplex_svg(shares, region, names))
        elif shares:
            self._plot.update_figure(pictures.prior_picture(shares, names))
        self._show_sliders(shares if len(shares) <= 8 else [], names)
        return found.json

    def _show_sliders(self, shares: list[float], names: list[str]) -> None:
        if [name for name, _, _ in self._weights] != (names if shares else []):
            self._make_sliders(names if shares else [])
        rows = list(zip(self._weights, shares, strict=True))
        for (_, _, label), share in rows:
            label.set_text(f"{100 * share:.3g} %")
        if (
            pictures.weights_text([int(s.value) for (_, s, _), _ in rows])
            == self._consumer.prior
        ):
            # Writing the sliders again would round what was typed.
            return  # this change came from the sliders
        with self.filling():
            for (_, slider, _), share in rows:
                slider.set_value(round(100 * share))

    def _make_sliders(self, names: list[str]) -> None:
        self._weights = []
        self._sliders.clear()
        with self._sliders:
            for number, name in enumerate(names):
                with ui.row().classes("w-full items-center no-wrap").style("gap: 10px"):
                    self.note(name).style("width: 48px; overflow: hidden")
                    slider = ui.slider(min=0, max=100, step=1, value=0).classes("col")
                    slider.props(f'dense aria-label="weight {number}" throttle=60')
                    slider.on_value_change(self._weighted)
                    share = self.note().style("width: 52px; text-align: right")
                    self._weights.append((name, slider, share))

    def _show_regret(self, state: PageState, found: dict[str, Any]) -> None:
        common = found["common"]
        rows = [
            (entry["name"], f"{entry['optimum']:.6g}", _small(first - entry["optimum"]),
             _small(entry["regret"]))
            for entry, first in zip(common["consumers"], found["first"], strict=True)
        ]  # fmt: skip
        heads = (
            "consumer",
            "own optimum",
            f"with {state.consumer.name}'s",
            "with the common one",
        )
        self.table(self._regret, heads, rows)
        with self._regret:
            ui.label(
                f"No mechanism keeps the worst regret below {_small(common['bound'])}. "
                f"{common['reason'][:1].upper()}{common['reason'][1:]}."
            ).classes("tr-note q-mt-sm")
            # An open gap is said, not hidden: both numbers are true bounds.
            if not common["certified"]:
                raise FieldError(
                    "regret", "the bound and the regret found are still apart"
                )


def _small(value: float, rounding: float = 1e-12) -> str:
    """Write a difference; what is below round-off is written as 0."""
    return "0" if abs(value) < rounding else f"{value:.3g}"
