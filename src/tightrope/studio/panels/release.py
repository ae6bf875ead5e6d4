"""The release card of panel 5: a table, a question in SQL, a ledger, one answer."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import ui

from tightrope.studio.asking import safe_name
from tightrope.studio.panels.panel import card, facts, table, uploader
from tightrope.studio.releasing import Asked, accounts, give

if TYPE_CHECKING:
    from tightrope.studio.panels.panel import Panel


#: The fields of the card, as a release names them.
FIELDS = ("data", "sql", "ledger", "budget", "columns", "facts", "key")


class ReleaseCard:
    """Fields of a release, and the ledger in view. None of them is part of a shared link.

    >>> ReleaseCard(None).folder is None
    True
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self._receipt: dict[str, Any] | None = None
        self._uploads: dict[str, str] = {}
        self._last: Asked | None = None

    def build(self) -> None:
        """Create the elements."""
        page = self.panel.page
        start = page.settings
        with card("Release", "One private answer from a real table. The ledger is charged before a "
                  "row is read."):  # fmt: skip
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
            with ui.row().classes("items-center").style("gap: 10px"):
                self._button = ui.button("Release one answer", icon="outbox", on_click=self._ask)
                self._button.props("unelevated no-caps")
                self._save = ui.button("Receipt", icon="download", on_click=self._save_receipt)
                self._save.props("outline no-caps")
                self._save.set_visibility(False)
            self.panel.error_label("release")
            self._answer = ui.label().classes("tr-big").props("data-answer")
            self._told = ui.element("div").classes("tr-facts w-full")
        with card("Ledger"):
            self._accounts = ui.element("div").classes("w-full").props("data-ledger")
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
        self._button.set_enabled(ready)

    def _clean(self) -> None:
        if self.folder is not None:
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
        self.panel.page.start(self._show_accounts())

    async def _show_accounts(self) -> None:
        page = self.panel.page
        name = str(self._ledger.value or "").strip()
        rows = await page.slots.run("accounts", accounts, name) if name else []
        self._accounts.clear()
        if rows:
            table(self._accounts, ("account", "budget", "spent", "left"), rows)
            return
        with self._accounts:
            words = "There is no ledger here yet: it is made with the first release."
            ui.label(words if name else "Name a ledger above.").classes("tr-note")

    def _ask(self) -> None:
        self.panel.page.start(self._give())

    async def _give(self) -> None:
        page = self.panel.page
        made = page.outcome
        if made is None:
            return
        page.forgive(*FIELDS, "release")
        given = self._fields()
        asked = replace(given, data=self._uploads.get(given.data, given.data))
        self._button.set_enabled(False)
        self._answer.set_text("")
        facts(self._told, {"asking": "the ledger is charged, then the table is read …"})
        try:
            found = await page.slots.run("release", give, made.mechanism, asked)
        finally:
            self._button.set_enabled(True)
            self._told.clear()
            page.start(self._show_accounts())
        self._receipt = found.pop("receipt")
        self._last = replace(given, key=found["key"])
        page.results["proof"] = [*page.results.get("proof", [made.json])[:2], found.pop("json")]
        self._save.set_visibility(True)
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

    def _save_receipt(self) -> None:
        text = json.dumps(self._receipt, ensure_ascii=False, indent=1)
        ui.download.content(text, "receipt.json")
