"""Public facts: what is known about a table without looking at it.

They live in a small TOML file, ``tightrope.toml``::

    [tables.people]
    source = "people.parquet"
    population = 5000
    neighbours = "add-remove"
    budget = "2"
    person = "id"
    contributions = 1
    frozen = true

    [tables.people.columns]
    age = { bounds = [0, 120] }
    region = { values = ["north", "south"] }
    county = { within = "region", values = { north = ["Ash", "Birch"], south = ["Cedar"] } }
    born = { type = "date" }
    joined = { bounds = [2010-01-01, 2023-12-31] }

    [tables.people.partitions.region]
    column = "region"
    parts = { north = ["north"], south = ["south"] }

    [users.alice]
    budget = "1/2"

Nothing here is ever read from the data.
"""

from __future__ import annotations

import datetime
import difflib
import itertools
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from tightrope.accounting.curves import delta_of
from tightrope.errors import InputError, blamed, refusing, whole_number
from tightrope.files import read_text, write_text
from tightrope.publish.accounts import (
    budget_of,
    canonical_text,
    collation_key,
    folded_name,
    shown,
)
from tightrope.publish.entries import digest
from tightrope.queries import Neighbours

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism

#: The usual name of the file.
FACTS_FILE = "tightrope.toml"
#: What a column may hold. As a text every value can be read, and so can "no" or "f".
TYPES = ("integer", "number", "date", "text", "boolean")

Value = str | int | bool
ReadValue = Callable[[Any, str], Any]
_Named = TypeVar("_Named")
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Column:
    """A column: what it may hold, as far as that is public.

    Attributes
    ----------
    name
        The name in the table.
    type
        ``integer``, ``number``, ``text``, ``boolean`` or ``date``.
    bounds
        The smallest and largest value, for columns that are summed, ranked or put into bins:
        numbers in steps, dates by their ordinals.
    values
        The possible values, for columns that are grouped by.
    other
        The one of the values that also stands for whatever is not declared.
    complete
        Whether everybody has one of the values, or a value within the bounds. Then groups by the
        column need no class of everybody else, and a mean no count.
    step
        Of numbers with bounds: what they are rounded to.
    difference
        Of the days between two dates: the later and the earlier column.
    within, parents
        The coarser column that its values divide, such as the region of a county, and for each
        value the place of the one there that it belongs to.

    Examples
    --------
    >>> Column("age", "integer", bounds=(0, 120)).bounds
    (0, 120)
    """

    name: str
    type: str
    bounds: tuple[int, int] | None = None
    values: tuple[Value, ...] | None = None
    other: Value | None = None
    complete: bool = False
    step: Fraction = Fraction(1)
    difference: tuple[Column, Column] | None = None
    within: Column | None = None
    parents: tuple[int, ...] = ()

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of the table that its values come from: itself, or two dates."""
        return (self,) if self.difference is None else self.difference

    @property
    def ends(self) -> tuple[str, str] | None:
        """The smallest and largest value as they are written.

        >>> Column("joined", "date", bounds=(735234, 735599)).ends
        ('2014-01-01', '2015-01-01')
        """
        if self.bounds is None:
            return None
        low, high = self.bounds
        if self.type == "date":
            first, last = map(datetime.date.fromordinal, self.bounds)
            return first.isoformat(), last.isoformat()
        return shown(low * self.step), shown(high * self.step)

    def __post_init__(self) -> None:
        # The compiled query adds columns of its own under this prefix.
        if self.name.startswith("tightrope_"):
            raise InputError(
                f"column {self.name!r} has a name that the query itself may use: rename it"
            )

    @property
    def value_range(self) -> tuple[int, int] | None:
        """The bounds, or the least and the largest of the values if they are whole numbers.

        >>> Column("employed", "integer", values=(0, 1)).value_range
        (0, 1)
        """
        if self.bounds is not None or self.values is None or self.type != "integer":
            return self.bounds
        numbers = [int(value) for value in self.values]
        return min(numbers), max(numbers)

    @property
    def is_binary(self) -> bool:
        """Whether the values are 0 and 1: then a sum is a count, and a mean a share."""
        # Exactly {0, 1}: a column with a third value would lose rows if it were counted.
        return self.type == "integer" and set(self.values or ()) == {0, 1}


@dataclass(frozen=True)
class Partition:
    """Disjoint parts of a table, by the values of a column.

    Attributes
    ----------
    name
        The name of the partition.
    column
        The column that says in which part a row is.
    parts
        The values that make up each part: a list, or a range of whole numbers.
    fixed
        Whether it is public, and beyond anybody's change, in which part each person is.

    Examples
    --------
    >>> Partition("region", "region", {"north": ("N",)}, False).width(Neighbours.CHANGE_ONE)
    2
    """

    name: str
    column: str
    parts: Mapping[str, tuple[Value, ...] | range]
    fixed: bool = False

    @property
    def account(self) -> str:
        """The name in a ledger: parts that are drawn anew are another partition there.

        >>> Partition("region", "region", {"north": ("N",)}).account
        'region e0ebda1b...'
        """
        parts = {
            part: f"{v[0]}..{v[-1]}" if isinstance(v, range) else list(v)
            for part, v in self.parts.items()
        }
        # Redrawn parts are not disjoint from the old ones, so they must not compose in parallel.
        return f"{self.name} {digest([self.column, parts, self.fixed])}"

    def width(self, neighbours: Neighbours) -> int:
        """Return how many parts one person's step can touch.

        Somebody who comes or goes touches one part. Somebody whose value changes may leave one
        part and enter another.
        """
        # fixed: a person's change cannot move them to another part, so it stays in one.
        return 1 if self.fixed or not neighbours.allows_change else 2


class UndeclaredColumn(InputError):
    """A question uses a column of which nothing is declared.

    Attributes
    ----------
    name
        The name in the question.
    known
        The declared columns.
    """

    def __init__(self, name: str, table: Table) -> None:
        self.name = name
        self.known = ", ".join(table.columns) or "none"
        super().__init__(
            f"column {name!r} is not declared (declared: {self.known}). If the table has it, add "
            f"tables.{table.name}.columns.{name} to the public facts, such as "
            '{ bounds = [0, 120] }, { values = ["a", "b"] } or { type = "number" }, or --column '
            f"{name}:0..120 where there are none"
        )


@dataclass(frozen=True)
class Table:
    """A table of people and what is public about it.

    Attributes
    ----------
    name
        The name that SQL uses.
    population
        The number of people: exactly under ``change-one``, at most otherwise.
    neighbours
        Which two tables differ by one person.
    columns
        The columns that questions may use.
    person
        The column that says whose row it is, when one person may have several rows.
    contributions
        The largest number of rows of one person that count.
    partitions
        Declared disjoint parts.
    budget
        The budget of the table, where the facts name one.
    delta
        The δ of the budget, where the facts name one: for series, and for groups that nobody
        declared.
    source
        Where the table is, where the facts name it.
    relation
        The name of the table at its source, if it is another one.
    second_judge
        Whether nothing is drawn unless the second judge, too, finds the mechanism private.
    public
        Whether everybody may know all of the table, as a list of region codes: it may be joined,
        and is not asked about.
    key
        The column that tells the rows of a public table, or of a table of people, apart.
    people
        The table of the people whose rows these are, where there is one: both have one budget.
    rows
        How the rows are made of those of other tables, where a question makes them.
    frozen
        Whether the table stays as it is, so that published answers can be sharpened later.

    Examples
    --------
    >>> Table("people", 100).column("age")
    Traceback (most recent call last):
    ...
    tightrope.publish.facts.UndeclaredColumn: column 'age' is not declared (declared: none). ...
    """

    name: str
    population: int | None = None
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    columns: Mapping[str, Column] = field(default_factory=lambda: _EMPTY)
    person: str | None = None
    contributions: int = 1
    partitions: Mapping[str, Partition] = field(default_factory=lambda: _EMPTY)
    budget: Fraction | None = None
    delta: Fraction | None = None
    source: str | None = None
    relation: str | None = None
    second_judge: bool = False
    public: bool = False
    key: str | None = None
    frozen: bool = False
    people: Table | None = None
    rows: Any = None

    @property
    def account(self) -> str:
        """The account that pays for questions about the table: that of its people."""
        # The same people, the same budget: events are paid from the account of their people.
        return f"table {self.name if self.people is None else self.people.name}"

    def __post_init__(self) -> None:
        if self.public and (self.key is None or self.source is None):
            raise InputError(
                f"tables.{self.name} is public: it is read when it is joined, so it must have a "
                "source, and the key by which"
            )
        # Without a person column rows cannot be limited per person, and ε would be per row.
        if self.contributions > 1 and self.person is None:
            raise InputError(
                f"tables.{self.name}.contributions says that one person may have "
                f"{self.contributions} rows: tables.{self.name}.person must name the column that "
                "tells people apart"
            )

    def find(self, name: str, *, quoted: bool = False) -> Column | None:
        """Return a declared column, if there is one; letter case matters only in quoted names."""
        return _named(name, self.columns, quoted)

    def column(self, name: str, *, quoted: bool = False) -> Column:
        """Return a declared column, or refuse its name."""
        found = self.find(name, quoted=quoted)
        if found is not None:
            return found
        raise UndeclaredColumn(name, self)

    def needed_population(self) -> int:
        """Return the population, or ask for it."""
        if self.population is None:
            raise InputError(
                f"this question needs the number of people: add tables.{self.name}.population to "
                "the public facts, or --population N where there are none"
            )
        return self.population

    def partition(self, name: str, part: str) -> Partition:
        """Return a declared partition that has a part."""
        found = self.partitions.get(name)
        if found is None:
            raise InputError(
                f"partition {name!r} is not declared: add tables.{self.name}.partitions.{name} "
                f"(declared: {', '.join(self.partitions) or 'none'})"
            )
        if part not in found.parts:
            raise InputError(
                f"partition {name!r} has the parts {', '.join(found.parts)}, got {part!r}"
            )
        # One person's rows may lie in several parts, so spending on the parts would add up.
        if self.person is not None and not found.fixed:
            raise InputError(
                f"partition {name!r}: where one person may have several rows, parts are disjoint "
                "people only if the part of each person is public: set fixed = true if it is"
            )
        return found


@dataclass(frozen=True)
class Publisher:
    """Who publishes what for whom: what a registry of publications asks for.

    Attributes
    ----------
    curators
        Who publishes the numbers.
    use
        What they are meant to be used for.
    region
        Which region they describe.
    dynamic
        Whether the table changes between publications.
    sector
        The domain, such as ``Government`` or ``Healthcare``.
    authors
        Who writes the entry; the curators where nobody is named.
    reasons
        Why this level and this unit were chosen.
    sources
        Where to read more.

    Examples
    --------
    >>> Publisher(("Statistics office",), "Planning of schools", "Northland", True).authors
    ()
    """

    curators: tuple[str, ...]
    use: str
    region: str
    dynamic: bool
    sector: str | None = None
    authors: tuple[str, ...] = ()
    reasons: str = ""
    sources: str = ""


#: The sectors that the registry of deployments knows.
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


@dataclass(frozen=True)
class Facts:
    """All public facts: tables, users with budgets, and who publishes.

    >>> Facts({"people": Table("people", 100)}).table("People").population
    100
    """

    tables: Mapping[str, Table]
    users: Mapping[str, Fraction] = field(default_factory=lambda: _EMPTY)
    publisher: Publisher | None = None

    def table(self, name: str, *, quoted: bool = False) -> Table:
        """Return a declared table; letter case matters only in quoted names."""
        found = _named(name, self.tables, quoted)
        if found is not None:
            return found
        raise InputError(
            f"table {name!r} is not declared: add [tables.{name}] to the public facts "
            f"(declared: {', '.join(self.tables) or 'none'})"
            f"{did_you_mean(name.lower(), self.tables)}"
        )

    def user_budget(self, name: str) -> Fraction:
        """Return the budget of a user."""
        if name not in self.users:
            raise InputError(
                f"user {name!r} has no budget: add [users.{name}] with a budget to the public "
                f"facts (declared: {', '.join(self.users) or 'none'})"
            )
        return self.users[name]


def _named(name: str, known: Mapping[str, _Named], quoted: bool) -> _Named | None:
    """Return what has a name, in whatever letter case unless the name is quoted."""
    close = [own for own in known if own.lower() == name.lower()] if not quoted else []
    # Ambiguous letter case is not guessed: then only the exact name is found.
    if len(close) == 1 and name not in known:
        return known.get(close[0])
    return known.get(name)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known name that is nearest to one, if one is near."""
    close = difflib.get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""


def check_text(text: str, what: str) -> None:
    """Refuse a text that cannot be written; bytes of a command line that are no UTF-8 make one."""
    # Surrogates from undecodable command-line bytes cannot be sent to a database.
    if text != text.encode(errors="ignore").decode():
        raise InputError(f"{what} must be text that UTF-8 can hold, got {text!a:.60}")


def fact_checks(table: Table) -> str:
    """Return the SQL that counts the rows which violate each fact about the columns of a table.

    Facts are declared, not read from the data, so nobody knows whether they hold. Asked like any
    other question, the counts are private, have margins and a price.

    >>> age = Column("age", "integer", bounds=(0, 120), complete=True)
    >>> print(fact_checks(Table("people", 100, columns={"age": age})))
    SELECT COUNT(*) FILTER (WHERE "age" IS NULL) AS "age: missing",
      COUNT(*) FILTER (WHERE "age" < 0 OR "age" > 120) AS "age: outside 0..120"
    FROM "people"
    """
    counts = [
        f"COUNT(*) FILTER (WHERE {condition}) AS {_identifier(title)}"
        for column in table.columns.values()
        for title, condition in _violations(column)
    ]
    if not counts:
        raise InputError(
            f"the facts about table {table.name!r} state nothing that a row could violate: only "
            "bounds, values and complete do"
        )
    return _select_text(counts, _identifier(table.name))


def bound_checks(table: Table) -> str:
    """Return the SQL that estimates how much the bounds of a table cut off.

    Without a column that says whose row it is these are counts of values outside the bounds of
    their columns. Else people are counted, each once whatever the number of their rows: those with
    such a value, and those with more rows than ``contributions`` allows. How many rows of them do
    not count has no bound, so of each person as many are counted again as are allowed: what twice
    as many contributions would add.

    >>> cost = Column("cost", "integer", bounds=(0, 500))
    >>> visits = Table("visits", 9, columns={"cost": cost}, person="who", contributions=3)
    >>> print(bound_checks(visits))
    SELECT COUNT("beyond") FILTER (WHERE "beyond" > 0) AS "people with more than 3 rows",
      SUM("beyond") FILTER (WHERE "beyond" > 0) AS "rows not counted, at most 3 of a person",
      AVG("beyond") FILTER (WHERE "beyond" > 0) AS "rows not counted of each of them",
      COUNT(*) FILTER (WHERE "outside 0") AS "people with cost: outside 0..500"
    FROM (SELECT "who", GREATEST(LEAST(COUNT(*) - 3, 3), 0) AS "beyond",
      BOOL_OR("cost" < 0 OR "cost" > 500) AS "outside 0"
    FROM "visits" GROUP BY "who")
    """
    outside = [found for column in table.columns.values() for found in _outside(column)]
    if table.person is None:
        if not outside:
            raise InputError(
                f"the facts about table {table.name!r} bound nothing: only bounds of columns, and "
                "contributions of a person, do"
            )
        counts = [
            f"COUNT(*) FILTER (WHERE {condition}) AS {_identifier(title)}"
            for title, condition in outside
        ]
        return _select_text(counts, _identifier(table.name))
    most = table.contributions
    # Not counted are the rows beyond: people with none of them are left out of all three.
    titles = {
        "COUNT": f"people with more than {most} row{'s' * (most > 1)}",
        "SUM": f"rows not counted, at most {most} of a person",
        "AVG": "rows not counted of each of them",
    }
    counts = [
        f'{aggregate}("beyond") FILTER (WHERE "beyond" > 0) AS {_identifier(title)}'
        for aggregate, title in titles.items()
    ]
    numbers = [
        _identifier(table.person),
        f'GREATEST(LEAST(COUNT(*) - {most}, {most}), 0) AS "beyond"',
    ]
    for place, (title, condition) in enumerate(outside):
        numbers.append(f'BOOL_OR({condition}) AS "outside {place}"')
        name = _identifier(f"people with {title}")
        counts.append(f'COUNT(*) FILTER (WHERE "outside {place}") AS {name}')
    person = _identifier(table.person)
    rows = _select_text(numbers, f"{_identifier(table.name)} GROUP BY {person}")
    return _select_text(counts, f"({rows})")


def _select_text(targets: Sequence[str], rows: str) -> str:
    return f"SELECT {f',{chr(10)}  '.join(targets)}\nFROM {rows}"


def _violations(column: Column) -> Iterator[tuple[str, str]]:
    """Return what a value may be that the facts about its column exclude, each as a condition."""
    name = _identifier(column.name)
    if column.complete:
        yield f"{column.name}: missing", f"{name} IS NULL"
    yield from _outside(column)
    # With a declared "other", every value belongs to some class: nothing can be violated.
    if column.values is not None and column.other is None and column.type != "boolean":
        known = _listed(column.values)
        yield f"{column.name}: not a declared value", f"NOT {name} IN ({known})"
    if column.within is not None:
        outer = column.within
        elsewhere = [
            f"{_identifier(outer.name)} <> {_literal(value)} AND {name} IN ({_listed(own)})"
            for value, own in zip(outer.values or (), _families(column), strict=True)
        ]
        yield f"{column.name}: not in its {outer.name}", " OR ".join(elsewhere)


def _families(column: Column) -> list[list[Value]]:
    """Return the values that belong to each value of the column that they are within."""
    outer = column.within
    families: list[list[Value]] = [[] for _ in (outer and outer.values) or ()]
    for value, place in zip(column.values or (), column.parents, strict=True):
        families[place].append(value)
    return families


def _listed(values: Iterable[Value]) -> str:
    return ", ".join(map(_literal, values))


def _literal(value: Value) -> str:
    """Return a value as a constant of SQL."""
    return (
        "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    )


def _outside(column: Column) -> Iterator[tuple[str, str]]:
    """Return what it is to be outside the bounds of a column, if it has some."""
    # Facts are public, so they may be written into SQL as constants.
    if column.ends is not None:
        name = _identifier(column.name)
        low, high = column.ends
        title = f"{column.name}: outside {low}..{high}"
        if column.type == "date":
            low, high = f"'{low}'", f"'{high}'"
        yield title, f"{name} < {low} OR {name} > {high}"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- reading tightrope.toml: every error names the key ------------------------------------------


def read_facts(path: str | Path) -> Facts:
    """Read a file of public facts; a source that is a file is looked for beside it.

    >>> read_facts("no-such-file.toml")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.toml: there is no such file
    """
    if not isinstance(path, str | Path):
        raise InputError(f"public facts are the path of a TOML file, got {path!r:.60}")
    facts = parse_facts(read_text(path), str(path))
    folder = Path(path).parent
    tables = {
        name: replace(table, source=_beside(folder, table.source))
        for name, table in facts.tables.items()
    }
    return replace(facts, tables=tables)


def _beside(folder: Path, source: str | None) -> str | None:
    # Anything with a colon is an address, not a path beside the file.
    is_file = source is not None and ":" not in source
    return str(folder / source) if is_file and source is not None else source


def parse_facts(text: str, name: str = FACTS_FILE) -> Facts:
    """Read public facts from a text.

    >>> facts = parse_facts('[tables.people]' + chr(10) + 'population = 100')
    >>> facts.table("people").population
    100
    >>> parse_facts('[tables.people]' + chr(10) + 'population = -1')
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: tightrope.toml: tables.people.population must be a whole number
    from 1 to 1000000000000, got -1
    """
    try:
        # Decimal, not float: a bound of 0.1 must be exactly 1/10.
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as wrong:
        raise InputError(f"{name}: this is not TOML: {wrong}") from None
    except RecursionError:
        raise InputError(f"{name}: the TOML is nested too deeply") from None
    except (ValueError, ArithmeticError):
        raise InputError(f"{name}: a number in it is too long to be read") from None
    with blamed(name):
        return facts_from(data)


def facts_from(data: Mapping[str, Any]) -> Facts:
    """Read public facts from nested mappings, as TOML gives them.

    >>> facts_from({"tables": {"people": {"populaton": 5}}})
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: tables.people.populaton is not a key here (known: source, ...
    """
    found = _read(
        data,
        "",
        {"tables": _each(_table), "users": _each(_user), "publisher": _publisher},
    )
    if not found.get("tables"):
        raise InputError("tables must name at least one table: add [tables.NAME]")
    tables = found["tables"]
    for name, table in tables.items():
        # Resolved after all tables are read: a table may name one that is declared later.
        if table.people is not None:
            tables[name] = _of_people(table, tables, data["tables"][name])
    return Facts(**found)


def _of_people(
    table: Table, tables: Mapping[str, Table], entry: Mapping[str, Any]
) -> Table:
    """Return a table of events with the table of its people, whose facts it shares."""
    place = f"tables.{table.name}"
    people = tables.get(str(table.people))
    # One level only: people of people would make the unit of privacy ambiguous.
    if people is None or people.people is not None or people.public:
        raise InputError(
            f"{place}.people must name the declared table of people, got {table.people!r}"
        )
    if table.person is None or people.key is None or people.person is not None:
        raise InputError(
            f"{place}.people: {place}.person must name the column that says whose row it is, and "
            f"tables.{people.name}.key the column that tells people apart, one row each"
        )
    # Population, relation and budget belong to the people, so two declarations could disagree.
    shared = ("population", "neighbours", "budget", "delta", "second_judge")
    twice = next((word for word in shared if word in entry), None)
    if twice is not None:
        raise InputError(
            f"{place}.{twice} is that of its people: leave it to tables.{people.name}"
        )
    return replace(
        table, people=people, **{word: getattr(people, word) for word in shared}
    )


def _publisher(entry: Any, place: str) -> Publisher:
    readers: dict[str, ReadValue] = {
        "curators": _names,
        "use": _text,
        "region": _text,
        "sector": _sector,
        "authors": _names,
        "dynamic": _truth,
        "reasons": _text,
        "sources": _text,
    }
    found = _read(entry, place, readers)
    for key in ("curators", "use", "region", "dynamic"):
        if key not in found:
            raise InputError(f"{place}.{key} is missing")
    return Publisher(**found)


def _names(value: Any, place: str) -> tuple[str, ...]:
    """Read a name or a list of names."""
    listed = value if isinstance(value, list) and value else [value]
    return tuple(_text(name, place) for name in listed)


def _user(name: str, entry: Any, place: str) -> Fraction:
    found = _read(entry, place, {"budget": _told(budget_of)})
    if not found:
        raise InputError(f"{place}.budget is missing")
    return Fraction(found["budget"])


def _table(name: str, entry: Any, place: str) -> Table:
    readers: dict[str, ReadValue] = {
        "source": _text,
        "relation": _text,
        "population": _people,
        "neighbours": _told(Neighbours.of),
        "budget": _told(budget_of),
        "delta": _told(delta_of),
        "person": _text,
        "contributions": partial(whole_number, most=10**6),
        "public": _truth,
        "key": _text,
        "frozen": _truth,
        "people": _text,
        "columns": _each(column_from),
        "partitions": _any,  # read when the columns are known
        "second_judge": _truth,
    }
    found = _read(entry, place, readers)
    columns = found.setdefault("columns", {})
    for word in ("person", "key"):
        if found.get(word) is not None and not found.get("public"):
            # A key column needs no declaration of its own: it is read as text and only compared.
            columns.setdefault(found[word], Column(found[word], "text"))
    inside = f"{place}.columns"
    found["columns"] = columns = nested_columns(columns, inside)
    parts = _each(partial(_partition, columns=columns))
    found["partitions"] = parts(found.get("partitions", {}), f"{place}.partitions")
    return Table(name, **found)


def nested_columns(columns: Mapping[str, Column], place: str) -> dict[str, Column]:
    """Return columns with the declared ones that they are within, which were names before."""
    return {own: _with_outer(one, columns, place) for own, one in columns.items()}


def _with_outer(column: Column, columns: Mapping[str, Column], place: str) -> Column:
    """Return a column with the declared one that it is within, and that one's, and so on."""
    if column.within is None:
        return column
    named = column.within
    outer = columns.get(named.name)
    where = f"{place}.{column.name}"
    if outer is None or not outer.values or outer.type == "boolean":
        raise InputError(
            f"{where}.within must name a declared column with values, got {named.name!r}"
        )
    inner = {name: other for name, other in columns.items() if name != column.name}
    # What lies within itself is not found among the others.
    outer = _with_outer(outer, inner, place)
    texts = list(map(str, outer.values or ()))
    if set(texts) != set(named.values or ()):
        given = ", ".join(map(str, named.values or ()))
        raise InputError(
            f"{where}.values must have a list for each value of {outer.name!r} "
            f"({', '.join(texts)}), got {given}"
        )
    known = [texts.index(str(value)) for value in named.values or ()]
    parents = tuple(known[place] for place in column.parents)
    return replace(column, within=outer, parents=parents)


def column_from(name: str, entry: Any, place: str) -> Column:
    """Read the declaration of one column.

    >>> column_from("age", {"bounds": [0, 120]}, "age").type
    'integer'
    """
    readers = {
        "type": _type,
        "bounds": _pair,
        "step": _any,
        "values": _any,
        "within": _text,
        "other": _any,
    }
    data = _read(entry, place, {**readers, "complete": _truth})
    values, outer, parents = _listed_values(data, place)
    other = data.get("other")
    step = Fraction(1)
    ends = data.get("bounds", ())
    # type(), not isinstance: a datetime is a date too, and has no ordinal bounds.
    is_dates = bool(ends) and all(type(bound) is datetime.date for bound in ends)
    if is_dates:
        ends = [bound.toordinal() for bound in ends]
    rounded = "step" in data or data.get("type") == "number"
    rounded = rounded or any(isinstance(bound, float | Decimal) for bound in ends)
    if "step" in data and not ends:
        raise InputError(f"{place}.step is for numbers with bounds: add {place}.bounds")
    if rounded and ends:
        ends, step = _in_steps(ends, data.get("step", 1), place)
    bounds = None
    if ends:
        # Bounded, so that a billion such values add up within 64 bits.
        low, high = (
            whole_number(bound, f"{place}.bounds", -(10**9), 10**9) for bound in ends
        )
        if low > high:
            given = ", ".join(map(str, data["bounds"]))
            raise InputError(
                f"{place}.bounds must be [smallest, largest], got [{given}]"
            )
        bounds = (low, high)
    # A default class must be declared, or the lookup of other values would have no place.
    if other is not None and other not in (values or ()):
        raise InputError(f"{place}.other must be one of {place}.values, got {other!r}")
    bounded = "number" if rounded else "date" if is_dates else "integer"
    kind = data.get("type", bounded if bounds or rounded else _guess(values))
    if kind is None:
        raise InputError(f"{place}.type must be one of {', '.join(TYPES)}, got none")
    if (bounds or rounded) and kind != bounded:
        raise InputError(
            f"{place}.bounds are of type {bounded}, not {kind}: numbers have bounds such as "
            "[0, 120], dates such as [2010-01-01, 2023-12-31]"
        )
    if values is not None and kind != _guess(values):
        raise InputError(f"{place}.values are of type {_guess(values)}, not {kind}")
    is_complete = data.get("complete", False)
    return Column(
        name, kind, bounds, values, other, is_complete, step, None, outer, parents
    )


def _listed_values(
    data: Mapping[str, Any], place: str
) -> tuple[tuple[Value, ...] | None, Column | None, tuple[int, ...]]:
    """Return the values of a column, and the column that they are within as far as it is named.

    >>> values, outer, parents = _listed_values({"within": "a", "values": {"x": [1, 2]}}, "b")
    >>> values, outer.name, outer.values, parents
    ((1, 2), 'a', ('x',), (0, 0))
    """
    given = data.get("values")
    listed = f"{place}.values"
    if "within" not in data:
        return (None if given is None else _values(given, listed)), None, ()
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            f"{listed} must have a list for each value of {data['within']!r}, such as "
            '{ north = ["A", "B"], south = ["C"] }'
        )
    listings = given.items()
    families = [_values(own, f"{listed}.{key}") for key, own in listings]
    flat = itertools.chain(*families)
    values = _values(list(flat), listed)
    parents = [number for number, own in enumerate(families) for _ in own]
    column = Column(data["within"], "text", values=tuple(given))
    return values, column, tuple(parents)


def _in_steps(
    bounds: Sequence[Any], step: Any, place: str
) -> tuple[list[int], Fraction]:
    """Return bounds as multiples of a step, and the step.

    >>> _in_steps([Decimal("17.5"), 42], Decimal("0.5"), "age")
    ([35, 84], Fraction(1, 2))
    """
    numbers = []
    for value in (*bounds, step):
        plain = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        number = Decimal(str(value)) if plain else Decimal("nan")
        # Exponents beyond 30 would make fractions of millions of digits.
        if not number.is_finite() or abs(number.adjusted()) > 30:
            raise InputError(
                f"{place}.bounds and step must be numbers, got {value!r:.40}"
            )
        numbers.append(Fraction(number))
    low, high, unit = numbers
    # Bounds off the grid would round to values outside of them.
    if unit <= 0 or any((x / unit).denominator != 1 for x in (low, high)):
        raise InputError(
            f"{place}.bounds must be multiples of the step {step}: set step, such as 0.1"
        )
    return [int(low / unit), int(high / unit)], unit


def _guess(values: Sequence[Value] | None) -> str | None:
    """Return the type of declared values."""
    kinds = {bool: "boolean", str: "text", int: "integer"}
    return kinds[type(values[0])] if values else None


def _values(values: Any, place: str) -> tuple[Value, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= 10_000:
        raise InputError(f"{place} must be a list of 1 to 10000 values")
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        raise InputError(
            f"{place} must be all texts, all whole numbers or all true/false"
        )
    known: dict[Any, Value] = {}
    for value in values:
        check_text(str(value), place)
        # All spellings of a text are read as one.
        text = canonical_text(value) if isinstance(value, str) else value
        if text in known:
            also = "" if known[text] == value else f" ({value!r} is the same text)"
            raise InputError(f"{place} names {known[text]!r} twice{also}")
        known[text] = value
    return tuple(values)


def _part(name: str, values: Any, place: str) -> tuple[Value, ...] | range:
    """Read the values of a part: a list, or a range such as "18..39"."""
    if not isinstance(values, str):
        return _values(values, place)
    found = re.fullmatch(r"(-?\d{1,15})\.\.(-?\d{1,15})", values.strip())
    if not found or int(found[1]) > int(found[2]):
        raise InputError(
            f'{place} must be a list of values or a range "18..39", got {values!r}'
        )
    first = int(found[1])
    last = int(found[2])
    return range(first, last + 1)


def _partition(
    name: str, entry: Any, place: str, columns: Mapping[str, Column]
) -> Partition:
    data = _read(
        entry, place, {"column": _text, "parts": _each(_part), "fixed": _truth}
    )
    column, parts = data.get("column", name), data.get("parts", {})
    if column not in columns:
        raise InputError(f"{place}.column must be a declared column, got {column!r}")
    if not parts:
        raise InputError(f"{place}.parts must name at least one part")
    kind = columns[column].type
    spans = []
    for part, values in parts.items():
        if isinstance(values, range):
            if kind != "integer":
                raise InputError(
                    f"{place}.parts.{part}: a range is for a column of whole numbers"
                )
            spans.append((values[0], values[-1], values[0], part))
            continue
        for value in values:
            if kind != _guess((value,)):
                raise InputError(
                    f"{place}.parts.{part}: {value!r} is not of the type of column {column!r}"
                )
            # Two spellings that a collation equates would put one person into two parts.
            key: Any = collation_key(value) if isinstance(value, str) else value
            spans.append((key, key, value, part))
    spans.sort(key=lambda span: span[0])
    for (_, last, alike, owner), (first, _, value, part) in itertools.pairwise(spans):
        # After sorting by the first value only neighbours can overlap.
        if first <= last and owner != part:
            is_alike = kind == "text" and alike != value
            also = f", and {alike!r} is the same to some databases" if is_alike else ""
            raise InputError(
                f"{place}.parts must be disjoint: {value!r} is in {owner!r} and {part!r}{also}"
            )
    return Partition(name, column, parts, data.get("fixed", False))


# A reader gets a value and its place, and names the place in what it refuses.


def _read(data: Any, place: str, readers: Mapping[str, ReadValue]) -> dict[str, Any]:
    """Read a table of known keys, each by its reader."""
    inside = f"{place}." if place else ""
    for key in _mapping(data, place):
        # An unknown key is an error: a misspelt "contributions" would weaken privacy silently.
        if key not in readers:
            raise InputError(
                f"{inside}{key} is not a key here (known: {', '.join(readers)})"
            )
    return {key: readers[key](value, f"{inside}{key}") for key, value in data.items()}


def _each(reader: Callable[[str, Any, str], Any]) -> ReadValue:
    """Return the reader of a table of names, which are passed to the reader of each."""
    return lambda data, place: {
        name: reader(name, value, f"{place}.{name}")
        for name, value in _mapping(data, place).items()
    }


def _told(function: Callable[[Any], Any]) -> ReadValue:
    """Return the reader that adds the place to what a function refuses."""

    def reader(value: Any, place: str) -> Any:
        with blamed(place):
            return function(value)

    return reader


def _must(fits: Callable[[Any], bool], what: str) -> ReadValue:
    """Return the reader of values that fit; the message says what they must be."""

    def reader(value: Any, place: str) -> Any:
        if not fits(value):
            raise InputError(f"{place} must be {what}, got {value!r:.60}")
        return value

    return reader


_any = _must(lambda value: True, "anything")
_mapping = _must(lambda value: isinstance(value, Mapping), "a table of keys")
_pair = _must(
    lambda value: isinstance(value, list) and len(value) == 2, "[smallest, largest]"
)
_text = _must(lambda value: isinstance(value, str) and bool(value.strip()), "a text")
_truth = _must(lambda value: isinstance(value, bool), "true or false")
_sector = _must(lambda value: value in SECTORS, f"one of {', '.join(SECTORS)}")
_type = _must(lambda value: value in TYPES, f"one of {', '.join(TYPES)}")


def _people(value: Any, place: str) -> int:
    return whole_number(
        value, place, most=10**12
    )  # twice as many are within the judge's digits


# -- writing it ---------------------------------------------------------------------------------


def facts_text(table: Table, undeclared: Sequence[str] = ()) -> str:
    """Return the public facts of one table as TOML, with columns to be declared as comments.

    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(facts_text(Table("people", 100, columns={"age": age}), ["sex"]))
    # Public facts: what is known without looking at the data.
    [tables.people]
    population = 100
    neighbours = "change-one"
    <BLANKLINE>
    [tables.people.columns]
    age = { bounds = [0, 120] }
    # What is public about these columns goes here, for questions that use them:
    #   { bounds = [0, 120] } whole numbers, to be summed, averaged or put into bins
    #   { bounds = [0, 2.5], step = 0.01 } other numbers, rounded to that
    #   { bounds = [2010-01-01, 2023-12-31] } dates, to be put into years or months
    #   { values = ["north", "south"] } what is grouped by
    #   { within = "region", values = { north = ["A", "B"], south = ["C"] } } in groups
    #   { type = "integer" }, or number, text, boolean, date: what is compared in WHERE
    #   complete = true beside bounds or values, if everybody has such a value
    # sex = { }
    <BLANKLINE>
    """
    name = _key(table.name)
    lines = [
        "# Public facts: what is known without looking at the data.",
        f"[tables.{name}]",
    ]
    words = "source relation population neighbours budget delta person"
    contributions = ["contributions"] if table.person is not None else []
    written = [*words.split(), *contributions]
    written += ["frozen"] if table.frozen else []
    settings = {word: getattr(table, word) for word in written}
    lines += [
        f"{key} = {_value(value)}"
        for key, value in settings.items()
        if value is not None
    ]
    if table.columns or undeclared:
        lines += ["", f"[tables.{name}.columns]"]
        columns = table.columns.values()
        lines += [f"{_key(c.name)} = {_column(c)}" for c in columns]
    if undeclared:
        lines += [
            "# What is public about these columns goes here, for questions that use them:",
            "#   { bounds = [0, 120] } whole numbers, to be summed, averaged or put into bins",
            "#   { bounds = [0, 2.5], step = 0.01 } other numbers, rounded to that",
            "#   { bounds = [2010-01-01, 2023-12-31] } dates, to be put into years or months",
            '#   { values = ["north", "south"] } what is grouped by',
            '#   { within = "region", values = { north = ["A", "B"], south = ["C"] } } in groups',
            '#   { type = "integer" }, or number, text, boolean, date: what is compared in WHERE',
            "#   complete = true beside bounds or values, if everybody has such a value",
            *(f"# {_key(column)} = {{ }}" for column in undeclared),
        ]
    return "\n".join(lines) + "\n"


def write_facts(
    table: Table,
    path: str | Path,
    undeclared: Sequence[str] = (),
    *,
    replace: bool = False,
) -> None:
    """Write the public facts of one table; a file that exists is kept unless ``replace`` is given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_facts(Table("people", 100), f"{folder}/tightrope.toml")
    ...     read_facts(f"{folder}/tightrope.toml").table("people").population
    100
    """
    check_free(path, replace=replace)
    text = facts_text(table, undeclared)
    # Read back what was written, so that a broken file is never left behind.
    parse_facts(text, str(path))
    write_text(path, text)


def check_free(path: str | Path, *, replace: bool = False) -> None:
    """Refuse to write where a file is already, unless it may be replaced."""
    if Path(path).exists() and not replace:
        raise InputError(f"{path} already exists; use --replace to overwrite it")


def source_beside(source: str, facts: Path) -> str:
    """Return a source as a file of facts names it: a path is relative to the file's folder.

    >>> source_beside("postgresql://host/base", Path("facts/tightrope.toml"))
    'postgresql://host/base'
    """
    path = Path(source)
    is_path = path.exists() and not path.is_absolute()
    return os.path.relpath(source, facts.parent) if is_path else source


def columns_of_catalogue(data: Any, table: str) -> dict[str, str]:
    """Return the columns of a table with their types, or no type, without looking at a row.

    >>> import pyarrow
    >>> columns_of_catalogue(pyarrow.table({"age": [31]}), "people")
    {'age': ''}
    """
    from tightrope.publish.sources import family, open_source

    with open_source(data, Table(table)) as source:
        return {name: family(there) for name, there in source.columns().items()}


def columns_of_public_data(
    data: Any, table: str, listed: int = 50
) -> tuple[Mapping[str, Column], int]:
    """Look at data that is public: its columns, bounds and values (up to 50), and its rows.

    Never call this on data about people who are to be protected: what it writes down is exact.

    >>> import pyarrow
    >>> roads = pyarrow.table({"lanes": [2, 3, 2], "kind": ["a", "b", "a"]})
    >>> found, rows = columns_of_public_data(roads, "roads")
    >>> found["lanes"].bounds, found["kind"].values, found["kind"].complete, rows
    ((2, 3), ('a', 'b'), True, 3)
    """
    from tightrope.publish.sources import family, open_source

    found: dict[str, Column] = {}
    rows = 0
    with open_source(data, Table(table)) as source:
        types = source.columns()

        def ask(name: str, kind: str, what: str) -> Any:
            column = Column(name, kind)
            source.prepare([column])
            cell = source.cell(column, types[name])
            return source.fetch(
                f"SELECT {what} FROM (SELECT {cell} AS c FROM {source.rows()}) t"
            )

        for name, there in types.items():
            kind = family(there)
            # Read as text every value counts, so the difference to COUNT(*) is the missing ones.
            rows, count = ask(name, "text", "COUNT(*), COUNT(c)")[0]
            whole = rows == count
            if not there:  # what all of its values can be read as
                # TYPES is in order of preference: the first that all values can be read as.
                fits = (
                    kind for kind in TYPES if ask(name, kind, "COUNT(c)")[0][0] == count
                )
                kind = next(fits) if count else "text"
            elif kind == "number" and ask(name, "integer", "COUNT(c)")[0][0] == count:
                kind = "integer"
            bounds = None
            values: tuple[Value, ...] | None = (
                (False, True) if kind == "boolean" else None
            )
            if kind in ("integer", "number") and count:
                low, high = ask(name, kind, "MIN(c), MAX(c)")[0]
                # Outward to whole numbers, so that the bounds contain all values.
                ends = (math.floor(low), math.ceil(high))
                bounds = (
                    ends if kind == "integer" or max(map(abs, ends)) <= 10**9 else None
                )
            elif kind == "text":
                texts = {
                    t if isinstance(t, str) else bytes(t).decode(errors="replace")
                    for (t,) in ask(name, kind, "DISTINCT c")
                    if t is not None
                }
                values = tuple(sorted(texts)) if 0 < len(texts) <= listed else None
            if kind:
                is_told = bounds is not None or values is not None
                found[name] = Column(
                    name, kind, bounds, values, complete=whole and is_told
                )
    return found, int(rows)


def _column(column: Column) -> str:
    parts: dict[str, Any] = {"bounds": column.bounds, "values": column.values}
    shown = {key: list(value) for key, value in parts.items() if value is not None}
    if not shown:
        return f"{{ type = {_value(column.type)} }}"
    inner = [f"{key} = {_value(value)}" for key, value in shown.items()]
    if column.type == "date":
        inner = [f"bounds = [{', '.join(column.ends or ())}]"]
    if column.type == "number":
        bounds = column.bounds or ()
        ends = [_value(float(bound * column.step)) for bound in bounds]
        inner = [
            f"bounds = [{', '.join(ends)}]",
            f"step = {_value(float(column.step))}",
        ]
    if column.within is not None:
        outer = column.within.values or ()
        families = _families(column)
        listed = [
            f"{_key(str(outer[place]))} = {_value(families[place])}"
            for place in dict.fromkeys(column.parents)  # in the declared order
        ]
        inner = [
            f"within = {_value(column.within.name)}",
            f"values = {{ {', '.join(listed)} }}",
        ]
    if column.other is not None:
        inner.append(f"other = {_value(column.other)}")
    if column.complete:
        inner.append("complete = true")
    return f"{{ {', '.join(inner)} }}"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _value(name)


def _value(value: Any) -> str:
    # For texts, whole numbers, truth values and lists of them TOML and JSON agree.
    return json.dumps(value, default=str, ensure_ascii=False)


# -- without a file: what the mechanism itself says ---------------------------------------------


def given_facts(
    facts: Facts | str | Path | None,
    sql: Any,
    data: Any,
    columns: Mapping[str, Column | str] | None,
    population: int | None = None,
    neighbours: str | None = None,
    mechanism: AnyMechanism | None = None,
) -> Facts:
    """Return the public facts, or what is said of one table instead of them.

    Where there is a mechanism, its query says how many people there are, and its relation.

    >>> given_facts(None, "select count(*) from visits", "visits.csv", {}, 5).tables["visits"]
    Table(name='visits', population=5, ...)
    >>> given_facts(None, "select count(*) from others", "visits.csv", {})
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: without public facts the table in visits.csv is called visits, ...
    """
    from tightrope.publish.sources import dialect_of, own_name, shown_address

    if facts is None:
        if mechanism is not None:
            number = re.match(
                r"(?:count|sum|histogram|counts|count_mod)\((\d+)", mechanism.query
            )
            population = int(number[1]) if number else None
            neighbours = mechanism.neighbours
        name, own = _table_name(sql, dialect_of(data)), own_name(data)
        # One table, one name, one budget: another name would open a second account.
        if own is not None and folded_name(name) != folded_name(own):
            raise InputError(
                f"without public facts the table in {shown_address(data)} is called {own}, so that "
                f"it has one budget; got {name}: write FROM {own}, or name the table in facts"
            )
        people = None if population is None else _people(population, "population")
        known = declared_columns(columns or {})
        near = Neighbours.of(neighbours or Neighbours.CHANGE_ONE)
        return Facts({name: Table(name, people, near, known)})
    if columns or population is not None or neighbours is not None:
        raise InputError(
            "the public facts declare columns, people and which tables are neighbours: leave "
            "--column, --population and --neighbours out, or change the facts"
        )
    return facts if isinstance(facts, Facts) else read_facts(facts)


def declared_columns(columns: Mapping[str, Column | str]) -> dict[str, Column]:
    """Return columns that are declared in Python: as columns, or as on the command line.

    >>> declared_columns({"age": "0..120"})["age"].bounds
    (0, 120)
    """
    if not isinstance(columns, Mapping):
        raise InputError(
            "columns must map names to what is public about them, such as {'age': '0..120'}, got "
            f"{columns!r:.60}"
        )
    found = {}
    for name, what in columns.items():
        if not isinstance(what, Column | str):
            raise InputError(
                f"column {name!r} must be a Column or a text, got {what!r:.60}"
            )
        found[name] = (
            what if isinstance(what, Column) else read_column(f"{name}:{what}")
        )
    return nested_columns(found, "columns")


def read_column(text: str) -> Column:
    """Read a column declared in one word, as the command line takes it.

    >>> read_column("age:0..120").bounds, read_column("region:north,south").values
    ((0, 120), ('north', 'south'))
    >>> read_column("born:date").type, read_column("height:1.2..2.3:0.01").bounds
    ('date', (120, 230))
    >>> read_column("joined:2010-01-01..2023-12-31").type
    'date'
    >>> county = read_column("county:within region:north=Ash,Birch;south=Cedar")
    >>> county.within.name, county.values, county.parents
    ('region', ('Ash', 'Birch', 'Cedar'), (0, 0, 1))
    """
    name, colon, rest = text.partition(":")
    if not colon or not name.strip() or not rest.strip():
        raise InputError(
            "a column looks like age:0..120, region:north,south, born:date or "
            f"joined:2010-01-01..2023-12-31, got {text[:60]!r}"
        )
    name, rest = name.strip(), rest.strip()
    entry: dict[str, Any] = {}
    if rest.endswith(":complete"):
        rest = rest.removesuffix(":complete").strip()
        entry = {"complete": True}
    number = r"(-?\d+(?:\.\d+)?)"
    bounds = re.fullmatch(rf"{number}\.\.{number}(?::{number})?", rest)
    if bounds:
        ends: list[Any] = [
            Decimal(end) if "." in end else int(end) for end in bounds.group(1, 2)
        ]
        entry |= {"step": Decimal(bounds[3])} if bounds[3] else {}
        return column_from(name, {"bounds": ends, **entry}, name)
    days = re.fullmatch(r"(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)", rest)
    if days:
        with refusing(f"column {name!r}: {rest} are no two dates", ValueError):
            ends = [datetime.date.fromisoformat(day) for day in days.groups()]
        return column_from(name, {"bounds": ends, **entry}, name)
    if rest in TYPES:
        return column_from(name, {"type": rest}, name)
    # One value alone is rare; more often it is a slip, which would count everybody as (other).
    if re.fullmatch(r"-?[\d.]+\s*(?:-|–|to|\.{2,3})\s*-?[\d.]+", rest):
        raise InputError(
            f"column {name!r}: bounds are written with two full stops, {name}:0..120, got {rest!r}"
        )
    if near := difflib.get_close_matches(rest, TYPES, 1, 0.75):
        raise InputError(
            f"column {name!r}: did you mean {name}:{near[0]}, got {rest!r}"
        )
    nested = re.fullmatch(r"within\s+([^:]+):(.+)", rest)
    if nested is None:
        return column_from(name, {"values": _words(rest), **entry}, name)
    families = {}
    for family in nested[2].split(";"):
        outer, equals, own = family.partition("=")
        if not equals or not outer.strip() or not own.strip():
            raise InputError(
                "a column within another one looks like county:within "
                f"region:north=Ash,Birch;south=Cedar, got {text[:60]!r}"
            )
        families[outer.strip()] = _words(own)
    known = {"within": nested[1].strip(), "values": families, **entry}
    return column_from(name, known, name)


def _words(text: str) -> list[Any]:
    """Return a list in one text: whole numbers, or texts if one of them is none."""
    values = [value.strip() for value in text.split(",")]
    is_whole = all(re.fullmatch(r"-?\d+", value) for value in values)
    return [int(value) for value in values] if is_whole else values


def _table_name(sql: Any, dialect: str) -> str:
    from sqlglot import exp

    from tightrope.publish.sql_reader import one_select

    select = one_select(sql, dialect)
    named = {cte.alias for cte in select.find_all(exp.CTE)}
    named_here = {table.name for table in select.find_all(exp.Table)}
    tables = named_here - named - {""}
    if len(tables) != 1:
        raise InputError(
            f"the question must read one table, got {', '.join(sorted(tables)) or 'none'}"
        )
    return str(tables.pop())
