"""Publish: your table, a question by clicking, its error and price, and the published numbers.

The price is named before it is paid, and what was paid for stays: answers with their receipts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from nicegui import ui

from tightrope.asking.answers import PublishedNumbers
from tightrope.kinds import protected
from tightrope.progress import Progress
from tightrope.publish.accounts import shown
from tightrope.publish.facts import FACTS_FILE
from tightrope.report.texts import share_bar
from tightrope.studio import tables
from tightrope.studio.asking import FieldError, safe_name
from tightrope.studio.panels import Panel
from tightrope.studio.pictures import error_picture, error_words, noise_picture
from tightrope.studio.state import PageState
from tightrope.studio.tables import KINDS, MEASURES, TEXTS, TableAsked

#: The fields that a file of public facts fills.
FROM_FACTS = ("population", "budget", "budget_delta", "neighbours")


class TablePanel(Panel):
    """From a table to a published number with its error: form, question, price, one click."""

    name = "table"

    def build(self) -> None:
        """Create the elements."""
        self._boxes: dict[str, Any] = {}
        self._kinds: dict[str, tuple[ui.select, ui.input]] = {}
        self._last: TableAsked | None = None
        self._kept: MutableMapping[str, Any] = {}
        self._suggested_for = ""
        self._theory: PageState | None = None
        with self.div("tr-columns tr-two", "data-table"):
            with self.div("tr-stack"):
                self._build_source()
                with self.card("Columns", "What everybody may know about them. The rows are "
                               "not looked at; a column that no question uses can stay as it "
                               "is."):  # fmt: skip
                    self._columns = self.div("tr-columns-form w-full")
                    self.error_label("table columns")
                    self.button(
                        "Facts as tightrope.toml", self._save, "flat dense", "download"
                    )
            with self.div("tr-stack"):
                self._build_question()
                self._build_price()
                self._build_ledger()
        self._build_confirmation()
        self._show_columns({})

    def restore(self, kept: MutableMapping[str, Any]) -> None:
        """Fill the form as this browser tab left it, or as the studio was started.

        A reload must lose nothing that was typed: the server remembers the form of each tab.
        """
        self._kept = kept
        form = kept.get(self.name)
        if form is None:
            start = self.page.settings
            # As for the command ask, the file of this folder holds unless something else is named.
            usual = FACTS_FILE if Path(FACTS_FILE).is_file() and not start.data else ""
            self._boxes["ledger"].set_value(start.ledger or "ledger.db")
            self._boxes["facts"].set_value(start.facts or usual)
            self._boxes["data"].set_value(start.data)
            return
        with self.filling():
            # Values are set before the columns exist; the clicks refer to columns and come last.
            for name, text in form["texts"].items():
                self._boxes[name].set_value(text)
            self._measure.set_value(form["clicks"]["measure"])
        self._suggested_for = form["texts"]["table"]
        self._fix(bool(form["texts"]["facts"]))
        self._show_columns(form["columns"], fixed=bool(form["texts"]["facts"]))
        with self.filling():
            for name, box in self._clicks.items():
                box.set_value(form["clicks"][name])
        self._offer_columns()
        self._opened()

    def _keep(self) -> None:
        self._kept[self.name] = {
            "texts": {name: box.value for name, box in self._boxes.items()},
            "columns": {
                name: (str(kind.value or ""), self._text(text))
                for name, (kind, text) in self._kinds.items()
            },
            "clicks": {name: box.value for name, box in self._clicks.items()},
        }

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
            self._boxes["neighbours"] = self.relations(
                value=TableAsked.neighbours, on_change=self._asked
            )
            self._relation_costs = self.note(mark="data-relation-costs")

    def _build_question(self) -> None:
        with self.card("Question"):
            with self.div("tr-fields w-full"):
                words = {name: said for name, (said, _, _) in MEASURES.items()}
                self._measure = self.select(words, "Publish", value="count")
                self._of = self.select([], "of the column")
                self._by = self.select([], "for each", multiple=True, value=[])
            self._margins = ui.checkbox("and all totals, as tables that add up")
            with self.div("tr-fields w-full"):
                self._column = self.select([], "only where", clearable=True)
                self._sign = self.select(["=", "<", "<=", ">", ">="], "is", value="=")
                self._value = self.input("table value", "value", "30")
            self._clicks: dict[str, Any] = {
                "measure": self._measure,
                "of": self._of,
                "by": self._by,
                "margins": self._margins,
                "column": self._column,
                "sign": self._sign,
                "value": self._value,
            }
            for box in self._clicks.values():
                box.on_value_change(self._clicked)
            self.error_label("table of")
            self._ask_for("sql")

    def _build_price(self) -> None:
        with self.card("How exact it will be, and what it costs"):
            with self.div("tr-fields w-full"):
                self._ask_for("epsilon", value="0.5")
                self._ask_for("delta", "key")
            with (
                ui.row()
                .classes("w-full items-center no-wrap tr-row")
                .style("gap: 12px")
            ):
                self._publish = self.button(
                    "Publish …", self.act, "unelevated", "outbox"
                )
                self._status = (
                    ui.label().classes("tr-note col").props("data-ask-status")
                )
            self.error_label("table publish")
            self._answer = self.div("w-full tr-scroll tr-published", "data-published")
            self._costs = self.div("tr-facts w-full")
            self._error = ui.label().classes("tr-margin").props("data-forecast")
            self._protects = self.note(mark="data-protects")
            self._plan = self.div("w-full tr-scroll", "data-job")
            self._earlier = self.note(mark="data-earlier")
            self._notes = ui.column().classes("w-full").style("gap: 2px")
            with self.div("tr-columns tr-even") as self._plots:
                self._curve = self.plot("230px", "The error at each ε", "data-errors")
                self._noise = self.plot(
                    "230px", "The published number less the true one", "data-noise"
                )
            self._plots.set_visibility(False)
            self._study = self.button(
                "Open this question in theory", self._open, "flat dense", "school"
            )
            self._study.set_visibility(False)

    def _build_ledger(self) -> None:
        with self.card("Answers of this ledger", "Every answer that was paid for, with its "
                       "receipt: a signed statement that anybody can check."):  # fmt: skip
            self._answers = self.div("w-full tr-scroll", "data-answers")
            self._accounts = self.div("w-full", "data-ledger")

    def _build_confirmation(self) -> None:
        """Make the dialog that names the price before anything is paid."""
        with ui.dialog() as self._confirm, ui.card().classes("tr-card tr-confirm"):
            ui.label("Pay for this answer?").classes("tr-title").props(
                "role=heading aria-level=2"
            )
            self._price = self.div("tr-facts w-full", "data-price")
            self.note(
                "What is paid is spent for good, even if the question was a mistake. The answer "
                "stays in the ledger."
            )
            with ui.row().classes("self-end").style("gap: 8px"):
                submit = partial(partial, self._confirm.submit)
                self.button("Not now", submit(""), "flat")
                self._reuse = self.button(
                    "Show the earlier answer, free", submit("reuse"), "unelevated"
                )
                self._pay = self.button("Pay and release", submit("pay"), "unelevated")

    # -- what the fields say --------------------------------------------------------------

    def _text(self, box: Any) -> str:
        return str(box.value or "").strip()

    def _said(self, name: str) -> str:
        return self._text(self._boxes[name])

    def _form(self) -> TableAsked:
        """Return the values of the form."""
        columns = []
        for name, (kind, text) in self._kinds.items():
            # A kind with an example has a text; the others are the declaration themselves.
            what = self._text(text if KINDS[str(kind.value or "")][1] else kind)
            columns += [f"{name}:{what}"] if what else []
        texts = {name: self._text(box) for name, box in self._boxes.items()}
        return TableAsked(columns=tuple(columns), **texts)

    def released(self) -> TableAsked | None:
        """Return the request as it can be taken away, with the key of its answer if it has one."""
        form = self._form()
        if self._is_answered(form):
            return self._last
        return form if form.sql and form.data else None

    # -- events ---------------------------------------------------------------------------

    async def _take(self, name: str, data: bytes) -> None:
        # In the folder of the studio, where it stays: an account belongs to a place.
        # safe_name: an uploaded name must not leave the folder.
        path = Path("tables", safe_name(name, "table.csv"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        self._boxes["data"].set_value(str(path))
        await self._look()

    def _opened(self) -> None:
        if not self.is_filling:
            self.reread()
            self._asked()

    def reread(self) -> None:
        """Show the ledger as it is now: another tab or the command line may have paid from it."""
        self.start(self._show_ledger(self._said("ledger")))

    def _named(self) -> None:
        if not self.is_filling:
            self.start(self._look())

    def _chosen(self) -> None:
        if not self.is_filling:
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
        columns = {
            n: (str(k.value or ""), self._text(t)) for n, (k, t) in self._kinds.items()
        }
        if path:
            chosen = self._said("table")
            form, columns = await self.run("facts", tables.facts_form, path, chosen)
            # The command line's data wins over the source in the facts.
            form = replace(form, data=self.page.settings.data or form.data)
            with self.filling():
                for name in (*FROM_FACTS, "table", "data"):
                    self._boxes[name].set_value(getattr(form, name))
        self._fix(bool(path))
        self._show_columns(columns, fixed=bool(path))
        self._asked()

    def _fix(self, fixed: bool) -> None:
        """Lock the fields that a file of facts fills, or free them."""
        for name in FROM_FACTS:
            self._boxes[name].props(
                "readonly" if fixed else "", remove="" if fixed else "readonly"
            )

    def _show_columns(
        self, found: Mapping[str, tuple[str, str]], fixed: bool = False
    ) -> None:
        self._kinds = {}
        self._columns.clear()
        with self._columns:
            if not found:
                self.note("Name a table or upload one: its columns appear here.")
            for name, (said, what) in found.items():
                ui.label(name).classes("tr-column-name")
                words = {kind: about for kind, (about, _) in KINDS.items()}
                kind = ui.select(words, value=said).props(
                    "outlined dense options-dense"
                )
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
        used = {
            name: str(kind.value)
            for name, (kind, _) in self._kinds.items()
            if kind.value
        }
        kinds = MEASURES[str(self._measure.value)][2]
        of = {name: name for name, kind in used.items() if kind in kinds}
        by = {
            name: name
            for name, kind in used.items()
            if kind in ("range", "values", "boolean")
        }
        if not kinds:  # groups that nobody declared can be counted, at the price of a δ
            by |= {name: f"{name}, as found" for name in used if name not in by}
        self._of.set_visibility(bool(kinds))
        with self.filling():
            self._by.set_options(
                by, value=[name for name in self._by.value or () if name in by]
            )
            for box, names in (
                (self._of, of),
                (self._column, {name: name for name in used}),
            ):
                box.set_options(names, value=box.value if box.value in names else None)
        self._margins.set_visibility(not kinds and len(self._by.value or ()) > 1)

    def _clicked(self) -> None:
        self.page.forgive("table of")
        if self.is_filling:
            return
        self._keep()
        self._offer_columns()
        if not self._said("table"):
            return
        where = (
            self._text(self._column),
            str(self._sign.value),
            self._text(self._value),
        )
        by = tuple(self._by.value or ())
        # Only counts of several columns have totals that are tables of the same job.
        margins = self._margins.value and self._margins.visible
        asked = tables.Clicked(
            str(self._measure.value), self._text(self._of), by, where, margins
        )
        try:
            self._boxes["sql"].set_value(asked.sql(self._said("table")))
        except FieldError as refused:
            self.page.complain(refused.field, refused.message)

    def _asked(self) -> None:
        """Forget what belongs to another question, and forecast this one."""
        if self.is_filling:
            return
        self._keep()
        form = self._form()
        self._forget(form)
        if form.sql and form.data:
            self.start(self._forecast(form))
        elif form.data and form.population and self._suggested_for != form.table:
            # The first question of a table is there as soon as it can be asked.
            self._suggested_for = form.table
            self._clicked()

    def _forget(self, form: TableAsked) -> None:
        """Take away errors, forecast and answer, and end the work for another question."""
        # Forecasts of the old question would overwrite those of the new one.
        for slot in ("forecast", "errors", "relations", "price"):
            self.page.slots.end(slot)
        self.page.forgive_all(self.name)
        for label in (
            self._error, self._protects, self._earlier, self._status, self._relation_costs
        ):  # fmt: skip
            label.set_text("")
        self._notes.clear()
        self._plan.clear()
        self._plots.set_visibility(False)
        self._study.set_visibility(False)
        if not self._is_answered(form):
            self._answer.clear()
            self._costs.clear()
            self.page.results.pop(self.name, None)

    def _is_answered(self, form: TableAsked) -> bool:
        """Whether the answer on the page belongs to this form."""
        last = self._last
        # An empty key in the form means the key that was made for the last answer.
        return last is not None and replace(form, key=form.key or last.key) == last

    async def _forecast(
        self,
        form: TableAsked,
        levels: tuple[str, ...] = ("0.1", "0.2", "0.5", "1", "2"),
    ) -> None:
        """Show the error at the chosen level, then the curve over these."""
        self._status.set_text("computing the error …")
        try:
            forecast: tables.Forecast = await self.run(
                "forecast", tables.forecast, form, progress=self._show_progress
            )
        except FieldError:
            self._status.set_text("")
            raise
        answered = self._is_answered(form)
        self._status.set_text(
            "This answer is paid for." if answered else "Nothing is paid yet."
        )
        # An answer has its own margins, and says what it protects.
        if not answered:
            self._error.set_text(forecast.error)
            self._protects.set_text(f"Protects {forecast.protects}.")
        if forecast.shares:
            head, *rows = forecast.margins.lines
            self.table(self._plan, head, rows)
            with self._plan:
                self.note("Measured, with their shares of ε:")
                ui.html(share_bar(forecast.shares), sanitize=False)
        earlier = forecast.earlier
        if earlier is not None and not answered:
            self._earlier.set_text(
                f"Answered before: {earlier.text}, {earlier.time}. That answer is free with the "
                "request key " + earlier.key + "."
            )
        if forecast.shortfall:
            self.page.complain(
                "table epsilon", f"more than the {forecast.price['left now']} left"
            )
        self.lines(self._notes, forecast.notes)
        self._theory = forecast.theory
        self._study.set_visibility(forecast.theory is not None)
        self._plots.set_visibility(True)
        self._curve.set_visibility(False)
        self._noise.set_visibility(bool(forecast.noise))
        if forecast.noise:
            self._noise.update_figure(noise_picture(forecast.noise))
        # Drawn once, when every level is there: a line through some of them would be wrong, and
        # its axes would jump.
        # The chosen level is part of the curve, so that its mark lies on it.
        every = tuple(dict.fromkeys((form.epsilon, *levels)))
        points = await self.run("errors", tables.error_curve, form, every)
        self._curve.set_visibility(bool(points))
        if points:
            self._curve.props["aria-label"] = error_words(points)
            self._curve.update_figure(error_picture(points, forecast.cost))
        costs = await self.run("relations", tables.relation_costs, form)
        self._relation_costs.set_text(
            "The margin of this question: "
            + ", or ".join(
                f"{error} to protect {protected(name)}" for name, error in costs.items()
            )
            + "."
            if len(costs) > 1
            else ""
        )

    def _show_progress(self, now: Progress) -> None:
        if not self.page.client.is_deleted:
            self._status.set_text(f"{now} …")

    # -- publishing -----------------------------------------------------------------------

    def act(self) -> None:
        """Offer to publish."""
        self.start(self._offer())

    def _open(self) -> None:
        """Show the mathematics behind the question: its graph, level, reader and noise."""
        if self._theory is not None:
            self.page.study(self._theory)

    async def _offer(self) -> None:
        """Compute the price, then ask whether to pay it."""
        self.page.forgive_all(self.name)
        form = self._form()
        # The key is fixed before the question: whatever is clicked, the ledger charges it once.
        form = replace(form, key=form.key or secrets.token_hex(16))
        forecast: tables.Forecast = await self.run("price", tables.forecast, form)
        earlier = forecast.earlier
        reusable = earlier is not None and earlier.key != form.key
        # Too little budget is no obstacle to an answer that is free.
        if forecast.shortfall and not reusable:
            raise FieldError(
                "table publish",
                f"the budget is too small: {forecast.price['left now']} is left",
            )
        self.facts(self._price, forecast.price)
        self._reuse.set_visibility(reusable)
        self._pay.set_text("Pay again and release" if reusable else "Pay and release")
        self._pay.set_enabled(not forecast.shortfall)
        # One opening pays at most once: nobody waits for the second click of a double click.
        choice = await self._confirm
        if choice == "reuse" and earlier is not None:
            form = replace(form, key=earlier.key)
        if choice:
            await self._release(form)

    async def _release(self, asked: TableAsked) -> None:
        """Pay and show the answer. A reload of the page ends neither."""
        self._publish.set_enabled(False)
        self._status.set_text("the ledger is charged, then the table is read …")
        try:
            with self.page.releases.running(asked):
                published = await self.run(
                    "release",
                    tables.publish_answer,
                    asked,
                    progress=self._show_progress,
                )
        finally:
            # The page may have been closed while the release ran.
            if not self.page.client.is_deleted:
                self._publish.set_enabled(True)
                self._status.set_text("")
        if self.page.client.is_deleted:
            return
        self._last = asked
        words = "Published. It stays below, with its receipt."
        if not self._is_answered(self._form()):
            # The fields have changed meanwhile: the answer belongs to the list alone.
            self._last = None
            self._status.set_text(words)
            return
        self.page.results[self.name] = [published["json"]]
        # The answer takes the place of what was forecast.
        for label in (self._earlier, self._error, self._protects):
            label.set_text("")
        self._answer.clear()
        with self._answer:
            for title, table in published["tables"]:
                if title:
                    self.note(title)
                # The library has escaped every text of a table.
                ui.html(table, sanitize=False)
        self.facts(self._costs, published["facts"])
        none = "" if published["rows"] else "No group was large enough to be shown. "
        self._status.set_text(none + words)

    def _save(self) -> None:
        self.start(
            self.page.download("tightrope.toml", tables.facts_file, self._form())
        )

    # -- what was paid for ----------------------------------------------------------------

    async def _show_ledger(self, name: str) -> None:
        """Show a ledger, or say that there is none.

        The list is read from the ledger: nothing that happens on the page takes an answer away.
        """
        view = tables.LedgerView()
        if name:
            view = await self.run("ledger", tables.ledger_view, name)
        running = {asked.key: asked for asked in self.page.releases.of_ledger(name)}
        heads = ("answer", "question", "ε", "when", "")
        marks = [f'data-paid="{receipt["position"]}"' for _, receipt in view.answers]
        self.table(
            self._answers,
            heads if marks else (),
            starmap(self._paid, view.answers),
            marks,
        )
        with self._answers:
            for asked in running.values():
                self.note(
                    f"Being released: {asked.sql} at ε = {asked.epsilon}, request key {asked.key}.",
                    "data-running",
                )
            for key in view.unanswered:
                # An answer of several parts has a key for each.
                if key.partition(".")[0] in running:
                    continue
                self.note(
                    f"Paid and not answered yet: request key {key}. Ask the same question with "
                    "this key: it costs nothing more."
                )
        if view.accounts:
            rows = [(one.name, *map(_amount, (one.budget, one.spent, one.remaining),
                                    (one.delta, one.spent_delta, one.delta - one.spent_delta)))
                    for one in view.accounts]  # fmt: skip
            self.table(self._accounts, ("account", "budget", "spent", "left"), rows)
        else:
            words = "There is no ledger here yet: it is made with the first answer."
            self.lines(self._accounts, [words if name else "Name a ledger above."])

    def _paid(
        self, published: PublishedNumbers, receipt: dict[str, Any]
    ) -> tuple[str | Callable[[], object], ...]:
        """Return the row of an answer, with a button that saves its receipt."""
        text = json.dumps(receipt, ensure_ascii=False, indent=1)
        number = receipt["position"]
        price = Fraction(receipt["charges"][0]["amount"])

        save = partial(ui.download.content, text, f"receipt-{number}.json")
        made = partial(self.icon_button, "download", f"Receipt {number}", save)
        # A receipt without the wording has the compiled SQL.
        asked = str(receipt.get("asked") or receipt.get("sql", ""))
        when = tables.to_the_minute(receipt["time"])
        return partial(self._numbers, published), asked, shown(price), when, made

    def _numbers(self, published: PublishedNumbers) -> None:
        """Show the numbers of a receipt: one as a text, several as a table for each grouping."""
        if sum(map(len, published.tables)) == 1:
            ui.label(str(published))
            return
        heads = published.heads or ((),) * len(published.tables)
        for head, lines in zip(heads, published.tables, strict=True):
            self.table(self.div("tr-groups"), head, lines)
        if published.level:
            self.note(f"margins at {published.level}")


def _amount(epsilon: Fraction, delta: Fraction) -> str:
    return shown(epsilon) + (f", δ = {float(delta):g}" if delta else "")
