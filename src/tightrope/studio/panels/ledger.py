"""The price before it is paid, and what stays afterwards: budgets, answers and receipts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from nicegui import ui

from tightrope.publish.accounts import shown
from tightrope.studio.panels import Panel, card, facts, table
from tightrope.studio.tables import LedgerView, ledger_view


class LedgerCard:
    """The accounts of a ledger and every answer that it paid for, each with its receipt.

    The list is read from the ledger: nothing that happens on the page takes an answer away.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel

    def build(self) -> None:
        """Create the elements."""
        with card("Answers of this ledger", "Every answer that was paid for, with its receipt: a "
                  "signed statement that anybody can check."):  # fmt: skip
            self._answers = ui.element("div").classes("w-full tr-scroll").props("data-answers")
            self._accounts = ui.element("div").classes("w-full").props("data-ledger")

    async def show(self, name: str) -> None:
        """Show a ledger, or say that there is none."""
        found = LedgerView()
        if name:
            found = await self.panel.page.slots.run("ledger", ledger_view, name)
        self._answers.clear()
        self._accounts.clear()
        with self._answers:
            if found.answers:
                self._list(found.answers)
            for key in found.unanswered:
                ui.label(
                    f"Paid and not answered yet: request key {key}. Ask the same question with "
                    "this key: it costs nothing more."
                ).classes("tr-note")
        if found.accounts:
            rows = [(one.name, *map(_amount, (one.budget, one.spent, one.remaining),
                                    (one.delta, one.spent_delta, one.delta - one.spent_delta)))
                    for one in found.accounts]  # fmt: skip
            table(self._accounts, ("account", "budget", "spent", "left"), rows)
            return
        with self._accounts:
            words = "There is no ledger here yet: it is made with the first answer."
            ui.label(words if name else "Name a ledger above.").classes("tr-note")

    def _list(self, answers: tuple[tuple[str, dict[str, Any]], ...]) -> None:
        with ui.element("table").classes("tr-table tr-answers"):
            with ui.element("tr"):
                for head in ("answer", "question", "ε", "when", ""):
                    with ui.element("th"):
                        ui.label(head)
            for said, receipt in answers:
                with ui.element("tr").props(f'data-paid="{receipt["position"]}"'):
                    self._row(said, receipt)

    def _row(self, said: str, receipt: dict[str, Any]) -> None:
        paid = Fraction(receipt["charges"][0]["amount"])
        for text in (said, receipt.get("sql", ""), shown(paid),
                     f"{receipt['time'][:10]} {receipt['time'][11:16]}"):  # fmt: skip
            with ui.element("td"):
                ui.label(str(text))
        with ui.element("td"):
            ui.button(icon="download", on_click=lambda: _save(receipt)).props(
                f'flat dense round size=11px aria-label="Receipt {receipt["position"]}"'
            )


def _amount(epsilon: Fraction, delta: Fraction) -> str:
    return shown(epsilon) + (f", δ = {float(delta):g}" if delta else "")


def _save(receipt: dict[str, Any]) -> None:
    text = json.dumps(receipt, ensure_ascii=False, indent=1)
    ui.download.content(text, f"receipt-{receipt['position']}.json")


class Confirm:
    """A dialog that names the price before anything is paid. One opening pays at most once."""

    def __init__(self, pay: Callable[[], None]) -> None:
        self._pay = pay
        self._open = False
        with ui.dialog() as self._dialog, ui.card().classes("tr-card tr-confirm"):
            ui.label("Pay for this answer?").classes("tr-title").props("role=heading aria-level=2")
            self._told = ui.element("div").classes("tr-facts w-full").props("data-price")
            ui.label("What is paid is spent for good, and the answer stays on this page.").classes(
                "tr-note"
            )
            with ui.row().classes("self-end").style("gap: 8px"):
                ui.button("Not now", on_click=self._close).props("flat no-caps")
                ui.button("Pay and release", on_click=self._agreed).props("unelevated no-caps")
        self._dialog.on_value_change(self._turned)

    def ask(self, told: Mapping[str, str]) -> None:
        """Open the dialog with a price."""
        facts(self._told, told)
        self._open = True
        self._dialog.open()

    def _turned(self) -> None:
        self._open = bool(self._dialog.value) and self._open

    def _close(self) -> None:
        self._open = False
        self._dialog.close()

    def _agreed(self) -> None:
        # The second click of a double click finds the dialog closed.
        if self._open:
            self._close()
            self._pay()
