"""Panel 6: verify the mechanism, and take it away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tightrope.report.texts import verdict_rows
from tightrope.studio.asking import Refused
from tightrope.studio.panels import Panel, card, facts
from tightrope.studio.state import State
from tightrope.studio.takeaway import MECHANISM_FILE
from tightrope.studio.work import judge, matrix_csv, report_html


class ProofPanel(Panel):
    """Check the mechanism in integers, and download it."""

    name = "proof"

    def build(self) -> None:
        """Create the elements."""
        with ui.element("div").classes("tr-columns tr-even"):
            with card("Proof", "The checker knows no solver: it multiplies integers."):
                with ui.row().classes("items-center").style("gap: 10px"):
                    self._verify = ui.button("Verify", icon="verified", on_click=self.act)
                    self._verify.props("unelevated no-caps")
                    self._state = ui.label().classes("tr-note").props("data-file")
                self._verdict = ui.label().props("data-verified")
                self._facts = ui.element("div").classes("tr-facts w-full")
                self._lines = ui.column().classes("w-full").style("gap: 2px")
                self.uploader("Verify another mechanism file", self._open, ".tightrope",
                              "mechanism")  # fmt: skip
                self.error_label("verify")
            with card("Take away", "Panel 1 publishes numbers with noise that is designed for the "
                      "question there. To draw an answer from this file instead: tightrope "
                      f"release {MECHANISM_FILE} --data people.csv --sql 'select …'"):  # fmt: skip
                with ui.row().style("gap: 8px"):
                    self._downloads = [
                        ui.button(words, icon=icon, on_click=lambda some=some: self._save(*some))
                        for words, icon, *some in (
                            ("Mechanism file", "download", MECHANISM_FILE, bytes, "mechanism"),
                            ("Matrix as CSV", "table_view", "matrix.csv", matrix_csv, "mechanism"),
                            ("Report", "description", "report.html", report_html, "design"),
                        )
                    ]
                    for button in self._downloads:
                        button.props("outline no-caps")
                self.error_label("csv")
        self._show_ready()

    def _show_ready(self) -> None:
        made = self.page.outcome
        ready = made is not None and bool(made.mechanism)
        for button in (self._verify, *self._downloads):
            button.set_enabled(ready)
        if made is None:
            self._state.set_text("Design a mechanism first (panel 5).")
        elif not made.mechanism:
            self._state.set_text(f"There is no mechanism file: {made.unproved}")
        else:
            size = len(made.mechanism)
            self._state.set_text(f"{made.state.asked}, ε = {made.state.epsilon}: {size:,} bytes")

    async def show(self, state: State, changed: frozenset[str]) -> None:
        """Show a new design."""
        if "outcome" in changed:
            self._verdict.set_text("")
            self._facts.clear()
            self._lines.clear()
            self.page.forgive("verify", "csv")
            self.page.results.pop("proof", None)
            self._show_ready()

    # -- verifying ------------------------------------------------------------------------

    def act(self) -> None:
        """Verify the mechanism of the page."""
        self.page.start(self._check())

    async def _check(self) -> None:
        made = self.page.outcome
        if made is not None:
            self.page.forgive("verify")
            self._verdict.set_text("checking …")
            self._verdict.classes(replace="tr-note")
            found = await self.page.slots.run("verify", judge, made.mechanism)
            self.page.results["proof"] = [made.json, found]
            self._show_verdict("this mechanism", found)

    async def _open(self, name: str, data: bytes) -> None:
        self.page.forgive("verify")
        found = await self.page.slots.run("verify", judge, data)
        self._show_verdict(name[:80], found)
        if found["reasons"]:
            raise Refused("verify", f"{name[:80]}: {found['reasons'][0]}")

    def _show_verdict(self, name: str, found: dict[str, Any]) -> None:
        good = found["private"] and not found["reasons"]
        self._verdict.set_text(f"{name}: {'everything holds' if good else 'NOT to be trusted'}")
        self._verdict.classes(replace="tr-good" if good else "tr-bad")
        facts(self._facts, verdict_rows(found))
        self._lines.clear()
        with self._lines:
            for line in found["checked"]:
                ui.label(f"✓ {line}").classes("tr-note")
            for line in found["reasons"]:
                ui.label(f"✗ {line}").classes("tr-error")

    # -- downloads ------------------------------------------------------------------------

    def _save(self, name: str, make: Callable[..., Any], part: str) -> None:
        if self.page.outcome is not None:
            self.page.forgive("csv")
            subject = getattr(self.page.outcome, part)
            self.page.start(self.page.download(name, make, subject))
