"""Panel 5: verify, take away, and release from a real table."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tightrope.studio.making import judge, matrix_csv, opened, report_html
from tightrope.studio.panels.panel import Panel, card, facts, uploader
from tightrope.studio.panels.release import ReleaseCard
from tightrope.studio.refusal import Refused
from tightrope.studio.releasing import Asked
from tightrope.studio.state import State
from tightrope.studio.takeaway import MECHANISM_FILE


class ProofPanel(Panel):
    """Check the mechanism in integers, download it, and release answers with it.

    >>> ProofPanel(None).name
    'proof'
    """

    name = "proof"

    def build(self) -> None:
        """Create the elements."""
        self._release = ReleaseCard(self)
        with ui.element("div").classes("tr-columns tr-even"):
            with ui.element("div").classes("tr-stack"):
                with card("Proof", "The checker knows no solver: it multiplies integers."):
                    with ui.row().classes("items-center").style("gap: 10px"):
                        self._verify = ui.button("Verify", icon="verified", on_click=self.act)
                        self._verify.props("unelevated no-caps")
                        self._state = ui.label().classes("tr-note").props("data-file")
                    self._verdict = ui.label().props("data-verified")
                    self._facts = ui.element("div").classes("tr-facts w-full")
                    self._lines = ui.column().classes("w-full").style("gap: 2px")
                    uploader("Verify another mechanism file", self._uploaded, ".tightrope",
                             "mechanism")  # fmt: skip
                    self.error_label("verify")
                with card("Take away"):
                    with ui.row().style("gap: 8px"):
                        self._downloads = [
                            ui.button("Mechanism file", icon="download", on_click=self._save_file),
                            ui.button("Matrix as CSV", icon="table_view", on_click=self._save_csv),
                            ui.button("Report", icon="description", on_click=self._save_report),
                        ]
                        for button in self._downloads:
                            button.props("outline no-caps")
                    self.error_label("csv")
            with ui.element("div").classes("tr-stack"):
                self._release.build()
        self._show_ready()

    def _show_ready(self) -> None:
        made = self.page.outcome
        ready = made is not None and bool(made.mechanism)
        for button in (self._verify, *self._downloads):
            button.set_enabled(ready)
        if made is None:
            self._state.set_text("Design a mechanism first (panel 4).")
        elif not made.mechanism:
            self._state.set_text(f"There is no mechanism file: {made.unproved}")
        else:
            size = len(made.mechanism)
            self._state.set_text(f"{made.state.asked}, ε = {made.state.epsilon}: {size:,} bytes")
        self._release.ready(ready)

    async def show(self, state: State, changed: frozenset[str]) -> None:
        """Show a new design."""
        if "outcome" in changed:
            self._verdict.set_text("")
            self._facts.clear()
            self._lines.clear()
            self.page.forgive("verify", "csv")
            self.page.results.pop("proof", None)
            self._release.forget()
            self._show_ready()

    def released(self) -> Asked | None:
        """Return what the release card asks for, once it asks for something."""
        return self._release.asked()

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
            given = self.page.results.get("proof", [])[2:]
            self.page.results["proof"] = [made.json, found, *given]
            self._show_verdict("this mechanism", found)

    async def _uploaded(self, event: Any) -> None:
        data = await event.file.read()
        event.sender.reset()
        self.page.start(self._open(event.file.name, data))

    async def _open(self, name: str, data: bytes) -> None:
        self.page.forgive("verify")
        found = await self.page.slots.run("verify", opened, data, name[:80])
        self._show_verdict(name[:80], found)
        if found["reasons"]:
            raise Refused("verify", f"{name[:80]}: {found['reasons'][0]}")

    def _show_verdict(self, name: str, found: dict[str, Any]) -> None:
        good = found["private"] and not found["reasons"]
        self._verdict.set_text(f"{name}: {'everything holds' if good else 'NOT to be trusted'}")
        self._verdict.classes(replace="tr-good" if good else "tr-bad")
        within = found["optimal_within"]
        under = f" with {found['under']}" if found["under"] else ""
        rows = {
            "private": "yes" if found["private"] else "no",
            "optimal within": ("not proved" if within is None else f"{within:.3g}") + under,
            "ratio": str(found["ratio"] or "not known"),
            "digest": str(found["digest"] or "not known"),
        }
        if "query" in found:
            rows = {"question": f"{found['query']}, ε = {found['epsilon']}", **rows}
        facts(self._facts, rows)
        self._lines.clear()
        with self._lines:
            for line in found["checked"]:
                ui.label(f"✓ {line}").classes("tr-note")
            for line in found["reasons"]:
                ui.label(f"✗ {line}").classes("tr-error")

    # -- downloads ------------------------------------------------------------------------

    def _save_file(self) -> None:
        made = self.page.outcome
        if made is not None:
            ui.download.content(made.mechanism, MECHANISM_FILE)

    def _save_csv(self) -> None:
        made = self.page.outcome
        if made is not None:
            self.page.start(self._send("mechanism.csv", matrix_csv, made.mechanism))

    def _save_report(self) -> None:
        made = self.page.outcome
        if made is not None:
            self.page.start(self._send("report.html", report_html, made.design))

    async def _send(self, name: str, make: Any, subject: Any) -> None:
        self.page.forgive("csv")
        text = await self.page.slots.run("download", make, subject)
        if self.page.client is not None:
            with self.page.client:
                ui.download.content(text, name)
