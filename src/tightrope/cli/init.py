"""``tightrope init``: write the public facts of a table by asking for them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tightrope.cli.output import show
from tightrope.errors import InputError
from tightrope.files import read_text
from tightrope.kinds import RELATIONS, listed

if TYPE_CHECKING:
    from rich.console import Console


def init(
    file: str | None = None,
    *,
    table: str | None = None,
    population: int | None = None,
    neighbours: str | None = None,
    budget: str | None = None,
    person: str | None = None,
    contributions: int = 1,
    column: list[str] | None = None,
    data_is_public: bool = False,
    out: Path = Path("tightrope.toml"),
    replace: bool = False,
    as_json: bool = False,
) -> None:
    """Write tightrope.toml, the public facts of a table, by asking for what is not given.

    Names and types of columns come from the catalogue of the source, or the first line of a text
    file. No row is looked at, unless --data-is-public says that everybody may know them.

    Parameters
    ----------
    file : FILE
        Where the table is: a file or an address.
    table : NAME
        The name of the table in SQL; that of a file by default.
    population : N
        The number of people: public knowledge. With --data-is-public, the rows by default.
    budget : E
        The budget of the table: 2, 1/3 or 3*ln(2).
    person : COLUMN
        Whose row it is, if people may have several.
    contributions : K
        With --person: how many rows of one person count.
    column : NAME:WHAT
        A column and its public facts, such as age:0..120, region:north,south or born:date; with
        ':complete' behind it, everybody has such a value. May be given several times.
    data_is_public
        Read columns, bounds and values from the source. Only for data that is public.
    out : FILE
        The file to write.
    replace
        Replace a file.

    Examples:
      tightrope init
      tightrope init people.csv --population 5000 --budget 2
      tightrope init people.csv --population 5000 --budget 2 \\
          --column age:0..120 --column region:north,south

    >>> init(population=5, as_json=True)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: nobody is here to ask: give --table
    """
    from tightrope.publish.accounts import budget_of
    from tightrope.publish.facts import (
        Column,
        Table,
        columns_of_catalogue,
        columns_of_public_data,
        read_column,
        write_facts,
    )
    from tightrope.publish.sources import own_name
    from tightrope.queries import Neighbours

    source, talk = file, not as_json and sys.stdin.isatty()
    if talk and source is None:
        source = _ask("Where the table is (a file or an address; empty: said later)", "", talk)
    name = table or own_name(source) or _ask("The name of the table in SQL", "--table", talk)
    public: Mapping[str, Column] = {}
    rows: int | None = None
    if data_is_public:
        if not source:
            raise InputError("--data-is-public needs the FILE of the table")
        public, rows = columns_of_public_data(source, name)
    population = rows if population is None else population
    if population is None:
        given = _ask("How many people it is about (public knowledge)", "--population", talk)
        if not given.isdigit():
            raise InputError(f"the population must be a whole number, got {given[:40]!r}")
        population = int(given)
    if talk and neighbours is None:
        neighbours = _ask(f"Neighbours: {listed(RELATIONS)} [change-one]", "", talk)
    if talk and budget is None:
        budget = _ask("The budget of the table, an ε (empty: said later)", "", talk)
    catalogue: dict[str, str] = {}
    if source and not data_is_public:
        with contextlib.suppress(InputError):  # the table may come later
            catalogue = columns_of_catalogue(source, name)
    words = list(column or [])
    while talk and column is None and not data_is_public:
        there = f" (there are {', '.join(catalogue)})" if catalogue else ""
        word = _ask(f"A column, such as age:0..120 or region:a,b{there}; empty: no more", "", talk)
        if not word:
            break
        words.append(word)
    declared = {one.name: one for one in map(read_column, words)}
    typed = {one: Column(one, kind) for one, kind in catalogue.items() if kind}
    columns = {**public, **typed, **declared}
    undeclared = [one for one in catalogue if one not in declared and one != person]
    facts = Table(
        name=name,
        population=population,
        neighbours=Neighbours.of(neighbours or "change-one"),
        columns=columns,
        person=person,
        contributions=contributions,
        budget=budget_of(budget) if budget else None,
        source=source or None,
    )
    write_facts(facts, out, [one for one in undeclared if one not in columns], replace=replace)

    def draw(console: Console) -> None:
        console.print(read_text(out), markup=False, end="", soft_wrap=True)
        console.print(f"written: {out}", markup=False, soft_wrap=True)
        if undeclared:
            console.print(
                f"Add what is public about {', '.join(undeclared)} there before you sum, group or "
                "compare them.",
                markup=False,
            )

    data = {"file": str(out), "table": name, "columns": list(columns), "undeclared": undeclared}
    show(as_json, data, draw)


def _ask(question: str, option: str, talk: bool) -> str:
    if not talk:
        raise InputError(f"nobody is here to ask: give {option}")
    return str(typer.prompt(question, default="", show_default=False)).strip()
