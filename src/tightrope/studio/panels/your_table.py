"""Panel 1: your table, a question by clicking, its error and price, and the published numbers.

The price is named before it is paid, and what was paid for stays: answers with their receipts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from nicegui import ui

from tightrope.publish.accounts import shown
from tightrope.publish.facts import FACTS_FILE
from tightrope.studio import tables
from tightrope.studio.asking import Refused, safe_name
from tightrope.studio.jobs import Ended
from tightrope.studio.panels import Panel
from tightrope.studio.pictures import error_picture, noise_picture
from tightrope.studio.tables import KINDS, MEASURES, TEXTS, TableAsked


class TablePanel(Panel):
    """From a table to a published number with its error: form, question, price, one click."""

    name = "table"

    def build(self) -> None:
        """Create the elements."""
        self._boxes: dict[str, Any] = {}
        self._kinds: dict[str, tuple[ui.select, ui.input]] = {}
        self._last: TableAsked | None = None
        with self.div("tr-columns tr-two", "data-table"):
            with self.div("tr-stack"):
                self._build_source()
                with self.card("Columns", "What everybody may know about them. The rows are "
                               "not looked at; a column that no question uses can stay as it "
                               "is."):  # fmt: skip
                    self._columns = self.div("tr-columns-form w-full")
                    self.error_label("table columns")
                    self.button("Facts as tightrope.toml", self._save, "flat dense", "download")
            with self.div("tr-stack"):
                self._build_question()
                self._build_price()
                self._build_ledger()
        self._build_confirmation()
        self._show_columns({})
        start = self.page.settings
        self._boxes["ledger"].set_value(start.ledger or "ledger.db")
        # As for the command ask, the file of this folder holds unless something else is named.
        usual = FACTS_FILE if Path(FACTS_FILE).is_file() and not start.data else ""
        self._boxes["facts"].set_value(start.facts or usual)
        self._boxes["data"].set_value(start.data)

    def _ask_for(
        self, *names: str, then: Callable[[], None] | None = None, value: str = ""
    ) -> None:
        """Make fields for texts of the form; a change means another forecast, or something else."""
        for name in names:
            label, hint = TEXTS[name]
            self._boxes[name] = self.input(
                f"table {name}", label, hint, value=value, on_change=then or self._asked
            )

    def _build_source(self) -> None:
        with self.card("Your table", "It stays where it is. Each person is one row."):
            self._ask_for("data", then=self._named)
            self.uploader("or upload one (CSV, Parquet)", self._take, ".csv,.tsv,.parquet",
                          "people")  # fmt: skip
            with self.div("tr-fields w-full"):
                self._ask_for("table", then=self._renamed)
                self._ask_for("population", "budget", "budget_delta")
                self._ask_for("ledger", then=self._opened)
                self._ask_for("facts", then=self._chosen)
            words = "Who is protected: tables that must look alike"
            self._boxes["neighbours"] = self.relations(
                words, value="add-remove", on_change=self._asked
            )

    def _build_question(self) -> None:
        with self.card("Question"):
            with self.div("tr-fields w-full"):
                words = {name: said for name, (said, _, _) in MEASURES.items()}
                self._measure = self.select(words, "Publish", value="count")
                self._of = self.select([], "of the column")
                self._by = self.select([], "for each", multiple=True, value=[])
            with self.div("tr-fields w-full"):
                self._column = self.select([], "only where", clearable=True)
                self._sign = self.select(["=", "<", "<=", ">", ">="], "is", value="=")
                self._value = self.input("table value", "value", "30")
            for box in (self._measure, self._of, self._by, self._column, self._sign, self._value):
                box.on_value_change(self._clicked)
            self.error_label("table of")
            self._ask_for("sql")

    def _build_price(self) -> None:
        with self.card("How exact it will be, and what it costs"):
            with self.div("tr-fields w-full"):
                self._ask_for("epsilon", value="0.5")
                self._ask_for("delta", "key")
            with ui.row().classes("w-full items-center no-wrap tr-row").style("gap: 12px"):
                self._publish = self.button("Publish …", self.act, "unelevated", "outbox")
                self._status = ui.label().classes("tr-note col").props("data-ask-status")
            self.error_label("table publish")
            self._answer = self.div("w-full tr-scroll", "data-published")
            self._told = self.div("tr-facts w-full")
            self._error = ui.label().classes("tr-big").props("data-forecast")
            self._notes = ui.column().classes("w-full").style("gap: 2px")
            with self.div("tr-columns tr-even") as self._plots:
                self._curve = self.plot("230px", "data-errors")
                self._noise = self.plot("230px", "data-noise")
            self._plots.set_visibility(False)

    def _build_ledger(self) -> None:
        with self.card("Answers of this ledger", "Every answer that was paid for, with its "
                       "receipt: a signed statement that anybody can check."):  # fmt: skip
            self._answers = self.div("w-full tr-scroll", "data-answers")
            self._accounts = self.div("w-full", "data-ledger")

    def _build_confirmation(self) -> None:
        """Make the dialog that names the price before anything is paid."""
        with ui.dialog() as self._confirm, ui.card().classes("tr-card tr-confirm"):
            ui.label("Pay for this answer?").classes("tr-title").props("role=heading aria-level=2")
            self._price = self.div("tr-facts w-full", "data-price")
            self.note("What is paid is spent for good, and the answer stays on this page.")
            with ui.row().classes("self-end").style("gap: 8px"):
                no, yes = (partial(self._confirm.submit, agreed) for agreed in (False, True))
                self.button("Not now", no, "flat")
                self.button("Pay and release", yes, "unelevated")

    # -- what the fields say --------------------------------------------------------------

    def _text(self, box: Any) -> str:
        return str(box.value or "").strip()

    def _said(self, name: str) -> str:
        return self._text(self._boxes[name])

    def _form(self) -> TableAsked:
        """Return what the panel was told."""
        columns = []
        for name, (kind, text) in self._kinds.items():
            what = self._text(text if KINDS[str(kind.value or "")][1] else kind)
            columns += [f"{name}:{what}"] if what else []
        texts = {name: self._text(box) for name, box in self._boxes.items()}
        return TableAsked(columns=tuple(columns), **texts)

    def released(self) -> TableAsked | None:
        """Return the request as it can be taken away, with the key of its answer if it has one."""
        now, last = self._form(), self._last
        if last is not None and replace(now, key=now.key or last.key) == last:
            return last
        return now if now.sql and now.data else None

    # -- events ---------------------------------------------------------------------------

    async def _take(self, name: str, data: bytes) -> None:
        # In the folder of the studio, where it stays: an account belongs to a place.
        path = Path("tables", safe_name(name, "table.csv"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        self._boxes["data"].set_value(str(path))
        await self._look()

    def _opened(self) -> None:
        self.start(self._show_ledger(self._said("ledger")))
        self._asked()

    def _named(self) -> None:
        if not self.is_filling:
            self.start(self._look())

    def _chosen(self) -> None:
        self.start(self._fill(self._said("facts")))

    def _renamed(self) -> None:
        """Ask about another table; the facts may know several."""
        if self._said("facts") and not self.is_filling:
            self._chosen()
        else:
            self._asked()

    async def _look(self) -> None:
        """Read the names of the columns, and offer a form for them."""
        place = self._said("data")
        if self._said("facts") or not place:
            self._asked()
            return
        self.page.forgive("table data")
        name, found = await self.run("columns", tables.columns_of, place)
        with self.filling():
            self._boxes["table"].set_value(name or self._said("table"))
        self._show_columns(found)
        self._asked()

    async def _fill(self, path: str) -> None:
        """Fill the form from a file of facts, which alone says what it says; or free the form."""
        columns = {n: (str(k.value or ""), self._text(t)) for n, (k, t) in self._kinds.items()}
        fixed = ("population", "budget", "budget_delta", "neighbours")
        if path:
            chosen = self._said("table")
            form, columns = await self.run("facts", tables.facts_form, path, chosen)
            form = replace(form, data=self.page.settings.data or form.data)
            with self.filling():
                for name in (*fixed, "table", "data"):
                    self._boxes[name].set_value(getattr(form, name))
        for name in fixed:
            self._boxes[name].props("readonly" if path else "", remove="" if path else "readonly")
        self._show_columns(columns, fixed=bool(path))
        self._asked()

    def _show_columns(self, found: Mapping[str, tuple[str, str]], fixed: bool = False) -> None:
        self._kinds = {}
        self._columns.clear()
        with self._columns:
            if not found:
                self.note("Name a table or upload one: its columns appear here.")
            for name, (said, what) in found.items():
                ui.label(name).classes("tr-column-name")
                words = {kind: about for kind, (about, _) in KINDS.items()}
                kind = ui.select(words, value=said).props("outlined dense options-dense")
                text = ui.input(value=what).props("outlined dense debounce=350")
                # Not by a text of props: a header may hold any characters.
                kind.props["aria-label"] = f"what is public about {name}"
                text.props["aria-label"] = f"values of {name}"
                self._kinds[name] = kind, text
                self._hint(name)
                for box in (kind, text):
                    box.props("readonly" if fixed else "")
                kind.on_value_change(lambda _, name=name: self._kinded(name))
                text.on_value_change(self._asked)
        self._offer_columns()

    def _hint(self, name: str) -> None:
        kind, text = self._kinds[name]
        hint = KINDS[str(kind.value or "")][1]
        text.set_visibility(bool(hint))
        text.props(f'placeholder="{hint}"')

    def _kinded(self, name: str) -> None:
        self._hint(name)
        self._offer_columns()
        self._asked()

    def _offer_columns(self) -> None:
        """Offer the declared columns where the question may use them."""
        used = {name: str(kind.value) for name, (kind, _) in self._kinds.items() if kind.value}
        kinds = MEASURES[str(self._measure.value)][2]
        of = {name: name for name, kind in used.items() if kind in kinds}
        by = {name: name for name, kind in used.items() if kind in ("range", "values", "boolean")}
        if not kinds:  # groups that nobody declared can be counted, at the price of a δ
            by |= {name: f"{name}, as found" for name in used if name not in by}
        self._of.set_visibility(bool(kinds))
        with self.filling():
            self._by.set_options(by, value=[name for name in self._by.value or () if name in by])
            for box, names in ((self._of, of), (self._column, {name: name for name in used})):
                box.set_options(names, value=box.value if box.value in names else None)

    def _clicked(self) -> None:
        self.page.forgive("table of")
        if self.is_filling:
            return
        self._offer_columns()
        if not self._said("table"):
            return
        where = (self._text(self._column), str(self._sign.value), self._text(self._value))
        asked = tables.Clicked(str(self._measure.value), self._text(self._of),
                        tuple(self._by.value or ()), where)  # fmt: skip
        try:
            self._boxes["sql"].set_value(asked.sql(self._said("table")))
        except Refused as refused:
            self.page.complain(refused.field, refused.message)

    def _asked(self) -> None:
        """Forget what belongs to another question, and look what this one would cost."""
        if self.is_filling:
            return
        form = self._form()
        self.page.forgive_all(self.name)
        self._error.set_text("")
        self._notes.clear()
        self._plots.set_visibility(False)
        if form.sql and form.data:
            self.start(self._forecast(form))

    async def _forecast(
        self, form: TableAsked, levels: tuple[str, ...] = ("0.1", "0.2", "0.5", "1", "2")
    ) -> None:
        """Show the error at the chosen level, then at these."""
        self._status.set_text("looking how exact it will be …")
        try:
            found: tables.Forecast = await self.run(
                "forecast", tables.forecast, form, progress=self._say
            )
        except Ended:
            return
        except Refused:
            self._status.set_text("")
            raise
        self._status.set_text("Nothing is paid yet.")
        self._error.set_text(found.error)
        self.lines(self._notes, found.notes)
        self._plots.set_visibility(True)
        self._curve.set_visibility(False)
        self._noise.set_visibility(bool(found.noise))
        if found.noise:
            self._noise.update_figure(noise_picture(found.noise))
        points: list[tuple[float, float, float]] = []
        for level in dict.fromkeys((form.epsilon, *levels)):
            one = await self.run("errors", tables.error_at, form, level)
            points += [] if one is None else [one]
            self._curve.set_visibility(bool(points))
            if points:
                self._curve.update_figure(error_picture(sorted(points), points[0][0]))

    def _say(self, words: Any) -> None:
        self._status.set_text(f"{words} …")

    # -- publishing -----------------------------------------------------------------------

    def act(self) -> None:
        """Offer to publish."""
        self.start(self._offer())

    async def _offer(self) -> None:
        """Ask what the answer would cost, then ask whether to pay that."""
        self.page.forgive_all(self.name)
        form = self._form()
        # The key is fixed before the question: whatever is clicked, the ledger charges it once.
        form = replace(form, key=form.key or secrets.token_hex(16))
        found: tables.Forecast = await self.run("price", tables.forecast, form)
        if not found.affordable:
            raise Refused(
                "table publish", f"the budget is too small: {found.price['left now']} is left"
            )
        self.facts(self._price, found.price)
        # One opening pays at most once: nobody waits for the second click of a double click.
        if await self._confirm:
            await self._give(form)

    async def _give(self, asked: TableAsked) -> None:
        self._publish.set_enabled(False)
        self._status.set_text("the ledger is charged, then the table is read …")
        try:
            found = await self.run("release", tables.publish_answer, asked, progress=self._say)
        finally:
            self._publish.set_enabled(True)
            self._status.set_text("")
            self.start(self._show_ledger(asked.ledger))
        self._last = asked
        self.page.results["table"] = [found["json"]]
        self.table(self._answer, found["head"], found["rows"])
        self.facts(self._told, found["facts"])
        what = "" if found["rows"] else ": no group was large enough to be shown"
        self._status.set_text(f"Published{what}. It stays below, with its receipt.")

    def _save(self) -> None:
        self.start(self.page.download("tightrope.toml", tables.facts_file, self._form()))

    # -- what was paid for ----------------------------------------------------------------

    async def _show_ledger(self, name: str) -> None:
        """Show a ledger, or say that there is none.

        The list is read from the ledger: nothing that happens on the page takes an answer away.
        """
        found = tables.LedgerView()
        if name:
            found = await self.run("ledger", tables.ledger_view, name)
        heads = ("answer", "question", "ε", "when", "")
        marks = [f'data-paid="{receipt["position"]}"' for _, receipt in found.answers]
        self.table(self._answers, heads if marks else (), starmap(self._paid, found.answers), marks)
        with self._answers:
            for key in found.unanswered:
                self.note(
                    f"Paid and not answered yet: request key {key}. Ask the same question with "
                    "this key: it costs nothing more."
                )
        if found.accounts:
            rows = [(one.name, *map(_amount, (one.budget, one.spent, one.remaining),
                                    (one.delta, one.spent_delta, one.delta - one.spent_delta)))
                    for one in found.accounts]  # fmt: skip
            self.table(self._accounts, ("account", "budget", "spent", "left"), rows)
        else:
            words = "There is no ledger here yet: it is made with the first answer."
            self.lines(self._accounts, [words if name else "Name a ledger above."])

    def _paid(self, said: str, receipt: dict[str, Any]) -> tuple[str | Callable[[], object], ...]:
        """Return the row of an answer, with a button that saves its receipt."""
        text, when = json.dumps(receipt, ensure_ascii=False, indent=1), receipt["time"]
        number, price = receipt["position"], Fraction(receipt["charges"][0]["amount"])

        save = partial(ui.download.content, text, f"receipt-{number}.json")
        made = partial(self.icon_button, "download", f"Receipt {number}", save)
        sql = str(receipt.get("sql", ""))
        return said, sql, shown(price), f"{when[:10]} {when[11:16]}", made


def _amount(epsilon: Fraction, delta: Fraction) -> str:
    return shown(epsilon) + (f", δ = {float(delta):g}" if delta else "")
