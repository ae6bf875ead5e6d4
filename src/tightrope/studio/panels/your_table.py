"""Panel 1: your table, a question by clicking, its error and price, and the published numbers."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from nicegui import ui

from tightrope.kinds import RELATIONS
from tightrope.studio.asking import Refused, safe_name
from tightrope.studio.jobs import Ended
from tightrope.studio.panels import Panel, card, facts, table, uploader
from tightrope.studio.panels.ledger import Confirm, LedgerCard
from tightrope.studio.pictures import error_picture, noise_picture
from tightrope.studio.tables import (
    KINDS,
    MEASURES,
    Clicked,
    Forecast,
    TableAsked,
    columns_of,
    error_at,
    facts_file,
    forecast,
    publish_answer,
    table_name,
)

#: Uploaded tables are kept here, in the folder of the studio: an account belongs to a place.
UPLOADS = "tables"
#: The levels at which the error is drawn.
LEVELS = ("0.1", "0.2", "0.5", "1", "2")
FIELDS = tuple(
    f"table {name}"
    for name in ("data", "table", "population", "budget", "ledger", "columns", "of", "sql", "level",
                 "publish")
)  # fmt: skip


class TablePanel(Panel):
    """From a table to a published number with its error: form, question, price, one click."""

    name = "table"

    def build(self) -> None:
        """Create the elements."""
        self._kinds: dict[str, tuple[ui.select, ui.input]] = {}
        self._wanted: TableAsked | None = None
        self._last: TableAsked | None = None
        self._filling = False
        self._ledger_card = LedgerCard(self)
        with ui.element("div").classes("tr-columns tr-two").props("data-table"):
            with ui.element("div").classes("tr-stack"):
                self._build_source()
                with card("Columns", "What everybody may know about them. The rows are not looked "
                          "at; a column that no question uses can stay as it is."):  # fmt: skip
                    self._columns = ui.element("div").classes("tr-columns-form w-full")
                    self.error_label("table columns")
                    ui.button("Facts as tightrope.toml", icon="download",
                              on_click=self._save).props("flat dense no-caps")  # fmt: skip
            with ui.element("div").classes("tr-stack"):
                self._build_question()
                self._build_price()
                self._ledger_card.build()
        self._confirm = Confirm(self._pay)
        self._show_columns({})
        start = self.page.settings
        self._ledger.set_value(start.ledger or "ledger.db")
        if start.data:
            self._data.set_value(start.data)

    def _input(self, name: str, label: str, hint: str, **more: Any) -> ui.input:
        made = ui.input(label, placeholder=hint, **more)
        made.props("outlined dense debounce=350 stack-label spellcheck=false").classes("w-full")
        self.page.field(name, lambda message: setattr(made, "error", message))
        return made

    def _build_source(self) -> None:
        with card("Your table", "It stays where it is. Each person is one row."):
            self._data = self._input("table data", "Table", "people.csv, duckdb:///FILE, postgresql://…",
                                     on_change=self._found)  # fmt: skip
            uploader("or upload one (CSV, Parquet)", self._uploaded, ".csv,.tsv,.parquet", "people")
            with ui.element("div").classes("tr-fields w-full"):
                self._table = self._input(
                    "table table", "Name in SQL", "people", on_change=self._asked
                )
                self._population = self._input("table population", "People, at most", "5000",
                                               on_change=self._asked)  # fmt: skip
                self._budget = self._input("table budget", "Budget (sum of all ε)", "2",
                                           on_change=self._asked)  # fmt: skip
                self._ledger = self._input(
                    "table ledger", "Ledger", "ledger.db", on_change=self._opened
                )
            near = {name: f"{name}: {about}" for name, about in RELATIONS.items()}
            self._near = ui.select(near, value="add-remove", label="Who is protected: tables that "
                                   "must look alike", on_change=self._asked)  # fmt: skip
            self._near.props("outlined dense options-dense").classes("w-full")

    def _build_question(self) -> None:
        with card("Question"):
            with ui.element("div").classes("tr-fields w-full"):
                words = {name: said for name, (said, _, _) in MEASURES.items()}
                self._measure = ui.select(words, value="count", label="Publish")
                self._of = ui.select([], label="of the column")
                self._by = ui.select([], label="for each", multiple=True, value=[])
            with ui.element("div").classes("tr-fields w-full"):
                self._column = ui.select([], label="only where", clearable=True)
                self._sign = ui.select(["=", "<", "<=", ">", ">="], value="=", label="is")
                self._value = ui.input("value", placeholder="30")
            for box in (self._measure, self._of, self._by, self._column, self._sign, self._value):
                box.props("outlined dense options-dense debounce=350 stack-label").classes("w-full")
                box.on_value_change(self._clicked)
            self.error_label("table of")
            self._sql = self._input("table sql", "The question as SQL", "select count(*) from t",
                                    on_change=self._asked)  # fmt: skip

    def _build_price(self) -> None:
        with card("How exact it will be, and what it costs"):
            with ui.row().classes("w-full items-center no-wrap tr-row").style("gap: 12px"):
                self._level = self._input("table level", "ε of this answer", "0.5", value="0.5",
                                          on_change=self._asked)  # fmt: skip
                self._level.style("max-width: 150px")
                self._publish = ui.button("Publish …", icon="outbox", on_click=self._offer)
                self._publish.props("unelevated no-caps")
                self._status = ui.label().classes("tr-note col").props("data-ask-status")
            self._error = ui.label().classes("tr-big").props("data-forecast")
            self._notes = ui.column().classes("w-full").style("gap: 2px")
            with ui.element("div").classes("tr-columns tr-even") as self._plots:
                self._curve = ui.plotly({"data": [], "layout": {}}).classes("w-full")
                self._noise = ui.plotly({"data": [], "layout": {}}).classes("w-full")
            self._curve.style("height: 230px").props("data-errors")
            self._noise.style("height: 230px").props("data-noise")
            self._plots.set_visibility(False)
            self.error_label("table publish")
            self._answer = ui.element("div").classes("w-full").props("data-published")
            self._told = ui.element("div").classes("tr-facts w-full")

    # -- what the fields say --------------------------------------------------------------

    def _text(self, box: Any) -> str:
        return str(box.value or "").strip()

    def _form(self) -> TableAsked:
        """Return what the panel was told."""
        columns = []
        for name, (kind, text) in self._kinds.items():
            if kind.value in ("range", "values"):
                if self._text(text):
                    columns.append(f"{name}:{self._text(text)}")
            elif kind.value:
                columns.append(f"{name}:{kind.value}")
        return TableAsked(
            data=self._text(self._data),
            table=self._text(self._table),
            columns=tuple(columns),
            population=self._text(self._population),
            neighbours=str(self._near.value),
            budget=self._text(self._budget),
            ledger=self._text(self._ledger),
            sql=self._text(self._sql),
            epsilon=self._text(self._level),
        )

    def released(self) -> TableAsked | None:
        """Return the request as it can be taken away, with the key of its answer if it has one."""
        now, last = self._form(), self._last
        if last is not None and replace(now, key=last.key) == last:
            return last
        return now if now.sql and now.data else None

    # -- events ---------------------------------------------------------------------------

    async def _uploaded(self, event: Any) -> None:
        data = await event.file.read()
        event.sender.reset()
        path = Path(UPLOADS, safe_name(event.file.name, "table.csv"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        self._data.set_value(str(path))
        self._found()

    def _opened(self) -> None:
        self.page.start(self._ledger_card.show(self._text(self._ledger)))
        self._asked()

    def _found(self) -> None:
        self.page.start(self._look())

    async def _look(self) -> None:
        """Read the names of the columns, and offer a form for them."""
        self.page.forgive("table data")
        place = self._text(self._data)
        if not place:
            return
        name = await self.page.slots.run("name", table_name, place)
        if name:
            self._table.set_value(name)
        self._show_columns(await self.page.slots.run("columns", columns_of, place, name))
        self._asked()

    def _show_columns(self, found: dict[str, str]) -> None:
        self._kinds = {}
        self._columns.clear()
        with self._columns:
            if not found:
                ui.label("Name a table or upload one: its columns appear here.").classes("tr-note")
            for name in found:
                ui.label(name).classes("tr-column-name")
                words = {kind: said for kind, (said, _) in KINDS.items()}
                kind = ui.select(words, value="").props("outlined dense options-dense")
                text = ui.input().props("outlined dense debounce=350")
                # Not by a text of props: a header may hold any characters.
                kind.props["aria-label"] = f"what is public about {name}"
                text.props["aria-label"] = f"values of {name}"
                text.set_visibility(False)
                self._kinds[name] = kind, text
                kind.on_value_change(lambda _, name=name: self._kinded(name))
                text.on_value_change(self._asked)
        self._offer_columns()

    def _kinded(self, name: str) -> None:
        kind, text = self._kinds[name]
        hint = KINDS[str(kind.value or "")][1]
        text.set_visibility(bool(hint))
        text.props(f'placeholder="{hint}"')
        self._offer_columns()
        self._asked()

    def _offer_columns(self) -> None:
        """Offer the declared columns where the question may use them."""
        used = {name: str(kind.value) for name, (kind, _) in self._kinds.items() if kind.value}
        numbers = [name for name, kind in used.items() if kind in ("range", "integer", "number")]
        groups = [name for name, kind in used.items() if kind in ("range", "values", "boolean")]
        self._filling = True
        for box, names in ((self._of, numbers), (self._by, groups), (self._column, list(used))):
            kept = box.value
            if isinstance(kept, list):
                kept = [name for name in kept if name in names]
            box.set_options(names, value=kept if isinstance(kept, list) or kept in names else None)
        self._filling = False

    def _clicked(self) -> None:
        self.page.forgive("table of")
        if self._filling or not self._text(self._table):
            return
        where = (self._text(self._column), str(self._sign.value), self._text(self._value))
        asked = Clicked(str(self._measure.value), self._text(self._of),
                        tuple(self._by.value or ()), where)  # fmt: skip
        try:
            self._sql.set_value(asked.sql(self._text(self._table)))
        except Refused as refused:
            self.page.complain(refused.field, refused.message)

    def _asked(self) -> None:
        """Forget what belongs to another question, and look what this one would cost."""
        form = self._form()
        self.page.forgive(*FIELDS)
        self._error.set_text("")
        self._notes.clear()
        self._plots.set_visibility(False)
        if form.sql and form.data:
            self.page.start(self._forecast(form))

    async def _forecast(self, form: TableAsked) -> None:
        self._status.set_text("looking how exact it will be …")
        try:
            found: Forecast = await self.page.slots.run(
                "forecast", forecast, form, progress=self._say
            )
        except Ended:
            return
        except Refused:
            self._status.set_text("")
            raise
        self._status.set_text("Nothing is paid yet.")
        self._error.set_text(found.error)
        self._notes.clear()
        with self._notes:
            for note in found.notes:
                ui.label(note).classes("tr-note")
        self._plots.set_visibility(True)
        self._curve.set_visibility(False)
        self._noise.set_visibility(bool(found.noise))
        if found.noise:
            self._noise.update_figure(noise_picture(found.noise))
        points: list[tuple[float, float, float]] = []
        for level in dict.fromkeys((form.epsilon, *LEVELS)):
            one = await self.page.slots.run("errors", error_at, form, level)
            points += [] if one is None else [one]
            self._curve.set_visibility(bool(points))
            if points:
                self._curve.update_figure(error_picture(sorted(points), points[0][0]))

    def _say(self, words: Any) -> None:
        self._status.set_text(f"{words} …")

    # -- publishing -----------------------------------------------------------------------

    def act(self) -> None:
        """Offer to publish."""
        self._offer()

    def _offer(self) -> None:
        self.page.start(self._ask_first())

    async def _ask_first(self) -> None:
        self.page.forgive(*FIELDS)
        # The key is fixed before the question: whatever is clicked, the ledger charges it once.
        form = replace(self._form(), key=secrets.token_hex(16))
        found: Forecast = await self.page.slots.run("price", forecast, form)
        if not found.affordable:
            raise Refused(
                "table publish", f"the budget is too small: {found.price['left now']} is left"
            )
        self._wanted = form
        self._confirm.ask(found.price)

    def _pay(self) -> None:
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self.page.start(self._give(wanted))

    async def _give(self, asked: TableAsked) -> None:
        self._publish.set_enabled(False)
        self._status.set_text("the ledger is charged, then the table is read …")
        try:
            found = await self.page.slots.run("release", publish_answer, asked, progress=self._say)
        finally:
            self._publish.set_enabled(True)
            self._status.set_text("")
            self.page.start(self._ledger_card.show(asked.ledger))
        self._last = asked
        self.page.results["table"] = [found["json"]]
        table(self._answer, found["head"], found["rows"])
        facts(self._told, found["facts"])
        self._status.set_text("Published. It stays below, with its receipt.")

    async def _send(self) -> None:
        text = await self.page.slots.run("download", facts_file, self._form())
        if self.page.client is not None:
            with self.page.client:
                ui.download.content(text, "tightrope.toml")

    def _save(self) -> None:
        self.page.start(self._send())
