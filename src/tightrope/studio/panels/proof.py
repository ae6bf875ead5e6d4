"""Panel 5: verify, take away, and release from a real table."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from nicegui import ui

from tightrope.report.texts import verdict_rows
from tightrope.studio.asking import Refused, safe_name
from tightrope.studio.panels import Panel, card, facts, uploader
from tightrope.studio.panels.ledger import Confirm, LedgerCard
from tightrope.studio.state import State
from tightrope.studio.takeaway import MECHANISM_FILE
from tightrope.studio.work import Asked, give, judge, matrix_csv, price, report_html


class ProofPanel(Panel):
    """Check the mechanism in integers, download it, and release answers with it."""

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


#: The fields of the card, as a release names them.
FIELDS = ("data", "sql", "ledger", "budget", "columns", "facts", "key")


class ReleaseCard:
    """Fields of a release, and the ledger in view. None of them is part of a shared link."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self._uploads: dict[str, str] = {}
        self._last: Asked | None = None
        self._wanted: tuple[bytes, dict[str, Any], Asked] | None = None
        self._ready = False
        self._ledger_card = LedgerCard(panel)

    def build(self) -> None:
        """Create the elements."""
        page = self.panel.page
        start = page.settings
        with card("Release", "One private answer from a real table, with the mechanism of this "
                  "page. The ledger is charged before a row is read."):  # fmt: skip
            self._data = self._input("data", "Table", "people.csv, duckdb:///FILE, postgresql://…")
            uploader(
                "or upload a table (CSV, Parquet)", self._uploaded, ".csv,.tsv,.parquet", "table"
            )
            self._sql = self._input("sql", "Question", "select count(*) from people where age > 65")
            self._columns = self._input("columns", "Columns used", "age:0..120; region:north,south")
            with ui.element("div").classes("tr-fields w-full"):
                self._ledger = self._input("ledger", "Ledger", "ledger.db")
                self._budget = self._input("budget", "Budget, for a new table", "2")
                self._key = self._input("key", "Request key", "new")
            self._facts = self._input("facts", "Public facts (file)", "tightrope.toml")
            for box, value in ((self._data, start.data), (self._facts, start.facts),
                               (self._ledger, start.ledger)):  # fmt: skip
                box.set_value(value)
            self._button = ui.button("Release one answer", icon="outbox", on_click=self._ask)
            self._button.props("unelevated no-caps")
            self.panel.error_label("release")
            self._answer = ui.label().classes("tr-big").props("data-answer")
            self._told = ui.element("div").classes("tr-facts w-full")
        self._confirm = Confirm(self._pay)
        self._ledger_card.build()
        self._ledger.on_value_change(self._look)
        if page.client is not None:
            page.client.on_delete(self._clean)
        self._look()

    def _input(self, name: str, label: str, hint: str) -> ui.input:
        made = ui.input(label, placeholder=hint).props("outlined dense debounce=350 stack-label")
        self.panel.page.field(name, lambda message: setattr(made, "error", message))
        return made.classes("w-full")

    def ready(self, ready: bool) -> None:
        """Say whether there is a mechanism to release with."""
        self._ready = ready
        self._button.set_enabled(ready)

    def _clean(self) -> None:
        # A release that is under way reads its table to the end; then the end of the studio
        # removes it.
        if self.folder is not None and not self.panel.page.slots.running("release"):
            self.folder.cleanup()

    async def _uploaded(self, event: Any) -> None:
        data = await event.file.read()
        event.sender.reset()
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="tightrope-")
        path = Path(self.folder.name, safe_name(event.file.name, "table.csv"))
        path.write_bytes(data)
        self._uploads[path.name] = str(path)
        self._data.set_value(path.name)

    def _look(self) -> None:
        self.panel.page.forgive("ledger")
        name = str(self._ledger.value or "").strip()
        self.panel.page.start(self._ledger_card.show(name))

    def _ask(self) -> None:
        self.panel.page.start(self._offer())

    async def _offer(self) -> None:
        """Ask what the answer would cost, then ask whether to pay that."""
        page = self.panel.page
        made = page.outcome
        if made is None:
            return
        page.forgive(*FIELDS, "release")
        given = self._fields()
        # The key is fixed before the question: whatever is clicked, the ledger charges it once.
        key = given.key or secrets.token_hex(16)
        self._wanted = made.mechanism, made.json, replace(given, key=key)
        self._confirm.ask(await page.slots.run("price", price, made.mechanism, self._real(given)))

    def _real(self, given: Asked) -> Asked:
        return replace(given, data=self._uploads.get(given.data, given.data))

    def _pay(self) -> None:
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self.panel.page.start(self._give(*wanted))

    async def _give(self, mechanism: bytes, design: dict[str, Any], asked: Asked) -> None:
        page = self.panel.page
        self._button.set_enabled(False)
        self._answer.set_text("")
        facts(self._told, {"asking": "the ledger is charged, then the table is read …"})
        try:
            found = await page.slots.run("release", give, mechanism, self._real(asked))
        finally:
            self._button.set_enabled(self._ready)
            self._told.clear()
            self._look()
        self._last = asked
        page.results["proof"] = [*page.results.get("proof", [design])[:2], found.pop("json")]
        self._answer.set_text(found["answer"])
        again = "" if found["fresh"] else " (answered before: nothing charged)"
        facts(self._told, {"charged": found["charged"], "left": found["remaining"],
                           "key": found["key"] + again})  # fmt: skip

    def _fields(self) -> Asked:
        return Asked(**{n: str(getattr(self, f"_{n}").value or "").strip() for n in FIELDS})

    def asked(self) -> Asked | None:
        """Return what is asked for, with the key of its answer if it was given one already."""
        now, last = self._fields(), self._last
        if last is not None and replace(now, key=last.key) == last and now.key in ("", last.key):
            return last
        return now if now.sql and now.ledger else None

    def forget(self) -> None:
        """There is another mechanism: the last answer does not belong to it."""
        self._last = None
