"""Where tables are: one class for each kind of source, registered by being defined.

What every source keeps to:

- Connecting, :meth:`Source.columns` and :meth:`Source.identity` read the catalogue. No row is run.
- A file is opened once, as an :class:`OpenedFile`: its identity is that of the descriptor that is
  read, whatever becomes of the path.
- Types are the declared ones. Each column is read through :meth:`Source.cell`, an expression that
  has the declared type and that no row can make fail: a value that is not of the type is missing.
  Texts are compared byte by byte, whatever the collation.
- All spellings of a value are read alike, whatever type the column has at the source: 1, 1.0,
  "1", "1.0" and true are one whole number. Programs that write tables choose the type of a column
  by all its values, so that one missing value turns the 1 of everybody else into 1.0. They choose
  one time zone for a column too: the day of a time with a zone is its day in UTC.
- :meth:`Source.fetch` runs rows. Only :class:`~tightrope.publish.sealed.SealedQuery` calls it.

A view, a LazyFrame or an Ibis expression is a computation of the source's own: it is run as it
is, after the charge, and should not fail on a row.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import hashlib
import importlib.util
import logging
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from tightrope.errors import InputError, TightropeError, refusing
from tightrope.publish.accounts import (
    MIDNIGHT_TEXT,
    PADDED_TEXT,
    SourceIdentity,
    folded_name,
)
from tightrope.publish.facts import Column, Table


class OpenedFile:
    """A file that was opened once: what is identified is what is read.

    Parameters
    ----------
    path
        Any path that leads to the file.

    Attributes
    ----------
    address
        A path that leads to the open file itself, wherever the first one leads by now.
    names
        Its resolved path, and its device and inode.
    """

    #: The descriptors that are held here; all others of the process belong to somebody else.
    held: ClassVar[set[int]] = set()

    def __init__(self, path: str) -> None:
        checked_path(path)
        # A pipe would keep us waiting for its writer.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.held.add(self._descriptor)
        self._about = os.fstat(self._descriptor)
        there = Path(path).resolve()
        is_file = stat.S_ISREG(self._about.st_mode)
        # Threat: a link exchanged between open and resolve would charge one file and read another.
        if not is_file or not os.path.samestat(there.stat(), self._about):
            self.close()
            raise InputError(f"{path}: the file was exchanged while it was opened")
        about = self._about
        # Path and inode both name the account, so neither a rename nor a hard link opens a fresh
        # budget.
        file_name = f"file:{there}"
        inode_name = f"inode:{about.st_dev}:{about.st_ino}"
        self.names = (file_name, inode_name)
        # A reader that opens this path gets the descriptor, whatever the path leads to by then.
        self.address = f"/dev/fd/{self._descriptor}"

    def address_for_others(self) -> str:
        """Return the address for other processes of the same user."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def is_open_elsewhere(self) -> bool:
        """Whether a library holds this very file open, by a descriptor of its own."""
        for number in map(int, os.listdir("/dev/fd")):
            # One of them was that of the folder itself, and is closed by now.
            with suppress(OSError):
                is_same = os.path.samestat(os.fstat(number), self._about)
                if is_same and number not in self.held:
                    return True
        return False

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor in self.held:
            self.held.discard(self._descriptor)
            os.close(self._descriptor)


class Source:
    """One table at one place.

    A subclass registers itself by its ``example``. Addresses are known by their scheme, then by
    their ending; objects by :meth:`holds`.

    Parameters
    ----------
    data
        The address or the object.
    table
        The table of interest.

    Attributes
    ----------
    example
        How an address looks, for messages and help.
    schemes, endings
        What an address begins and ends with.
    dialect
        The SQL dialect, by sqlglot's name.
    extra
        The extra of the package that provides what it needs.
    backend
        The name of the Ibis backend of the same kind.
    is_one
        Whether the place holds one table, which is called like it.
    quote
        What stands around names.
    cells
        For each declared type, where need be "from" a kind of type at the source, the SQL of a
        value of the declared type that no row can make fail. Numbers beyond 1e100 are missing: up
        to there no sum of squares of them overflows a double. A cast to whole numbers rounds or
        cuts, and 17.5 is missing.
    whole_types
        Types of whole numbers of at most 64 bits, which tell people apart as their texts do.
    keeps_rows
        Whether a subquery that is to be materialized is run once.
    counts_by_place
        How many whole numbers without large gaps are counted by their places, in tables whose rows
        are alike however often a query reads them.
    parts
        The name of the table at the source: itself, behind its schema and catalogue if need be.
    file, inside
        The file that it is in, if it is, and what it is called there.
    connection, is_own
        The open connection, and whether to close it.
    is_computed
        Whether the rows are what a view or a plan computes, which may fail on one of them.
    beside
        The source whose query reads these rows too, where two tables are joined.
    """

    registered: ClassVar[list[type[Source]]] = []
    example: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]] = ()
    endings: ClassVar[tuple[str, ...]] = ()
    dialect: ClassVar[str] = "duckdb"
    extra: ClassVar[str] = "all"
    backend: ClassVar[str | None] = None
    is_one: ClassVar[bool] = False
    quote: ClassVar[str] = '"'
    cells: ClassVar[dict[str, str]] = {}
    whole_types: ClassVar[tuple[str, ...]] = ()
    keeps_rows: ClassVar[bool] = True
    counts_by_place: ClassVar[int] = 0

    file: OpenedFile | None = None
    inside = ""
    connection: Any = None
    is_own = True
    is_computed = False
    beside: Source | None = None

    def __init_subclass__(cls) -> None:
        if cls.__dict__.get("example"):
            # An abstract parent has no example of its own and must not be chosen for any address.
            Source.registered.append(cls)

    def __init__(self, data: Any, table: Table) -> None:
        self.data = data
        self.table = table
        self.shown = shown_address(data)
        self.parts = (table.relation or table.name).split(".")

    @property
    def relation(self) -> str:
        """The name of the table at the source."""
        return ".".join(self.parts)

    # -- before the charge ----------------------------------------------------------------

    @classmethod
    def holds(cls, data: Any) -> bool:
        """Whether an object is of this kind."""
        return _is_backend(data) and data.name == cls.backend

    def connect(self) -> None:
        """Open the place to read."""

    def columns(self) -> Mapping[str, str]:
        """Return the columns and their types, or no type where none is declared there."""
        raise NotImplementedError

    def identity(self) -> SourceIdentity:
        """Return which data this is, whatever it is called."""
        if self.file is None:
            # Tables in memory have no lasting identity: the account goes by the name alone.
            return SourceIdentity((f"memory:{folded_name(self.relation)}",))
        return SourceIdentity(name + self.inside for name in self.file.names)

    def is_inexact(self, column: Column, found: str) -> bool:
        """Whether the source keeps a column as binary fractions: large numbers become one."""
        return found.lower() in ("double", "float", "real", "double precision")

    def no_table(self) -> InputError:
        """Return the error of a place without the table.

        What a database keeps about itself is no table of people: the number of rows of one is a
        value of another, which would be published as somebody's.
        """
        return InputError(
            f"{self.shown} has no table {self.relation!r} of people that can be read"
        )

    def _open(self, opener: Callable[[str], Any]) -> None:
        """Open a database file, or take the connection of an Ibis backend."""
        self.is_own = isinstance(self.data, str | Path)
        if self.is_own:
            # Both sqlite:///FILE and sqlite:FILE name the same file, hence the same account.
            place = re.sub(
                r"^(duckdb|sqlite):(///?)?", "", str(self.data), flags=re.IGNORECASE
            )
            self.connection = opener(checked_path(place))
        else:
            self.connection = self.data.con

    def _locate(self, database: str, *inside: str) -> None:
        """Find the file that a table lies in: to one connection several may be attached."""
        files = self.connection.execute("PRAGMA database_list").fetchall()
        # Engines fold the letter case of database names, so must the lookup.
        known = {name.lower(): file for _, name, file in files}
        path = known.get(database.lower()) or ""
        self.inside = "#" + folded_name(".".join(inside))
        if not path:
            return
        if not Path(path).is_file():
            raise InputError(
                f"{self.shown}: the table is at another place: give that as the data"
            )
        # A database is opened by its path, and has files beside it. So what the engine has open
        # is compared with what the path leads to: a link that was exchanged leads elsewhere.
        self.file = OpenedFile(path)
        if not self.file.is_open_elsewhere():
            raise InputError(
                f"{self.shown}: the file was exchanged while it was opened: ask again"
            )

    def is_with(self, other: Source) -> bool:
        """Whether one query can read this table and that of another source."""
        if self.connection is other.connection:
            return True
        files = (self.file, other.file)
        names = {None if file is None else file.names for file in files}
        return type(self) is type(other) and len(names) == 1 and None not in names

    def check(self, sql: str) -> None:
        """Refuse SQL that this source cannot run whatever the rows."""

    def rows(self) -> str:
        """Return what stands behind FROM."""
        return ".".join(map(self.name, self.parts))

    def name(self, text: str) -> str:
        """Return a name as SQL."""
        doubled = text.replace(self.quote, 2 * self.quote)
        return self.quote + doubled + self.quote

    def cell(self, column: Column, found: str) -> str:
        """Return the value of a column: of the declared type, and never a failure.

        Parameters
        ----------
        column
            The declared column.
        found
            Its type at the source.
        """
        # The most specific cell wins: this very type, then its family, then the declared type
        # alone.
        word = found.partition("(")[0]
        names = [f"{column.type} from {kind}" for kind in (word, family(found))]
        cell = next(
            self.cells[name] for name in [*names, column.type] if name in self.cells
        )
        return cell.format(raw=self.name(column.name))

    def text(self, value: str) -> str:
        """Return a constant to compare texts with."""
        # Hexadecimal leaves nothing to escape, and no collation or encoding applies to bytes.
        return f"X'{value.encode().hex()}'"

    def day(self, day: str) -> str:
        """Return a constant to compare dates with."""
        return f"DATE '{day}'"

    def days(self, cell: str, since: str = "0001-01-01") -> str:
        """Return the number of days from a constant to a date that is read through a cell."""
        return f"({cell} - {self.day(since)})"

    def keyed_hash(self, secret: str, parts: Sequence[tuple[str, bool]]) -> str:
        """Return a hash that is the same in all sources, and never a failure.

        It is MD5 of the bytes of the secret and of the parts, each behind a slash: nobody's
        privacy rests on it, but that no row is favoured for its value.

        Parameters
        ----------
        secret
            What nobody else knows.
        parts
            Whole numbers and texts, as SQL, and whether each is a text.
        """
        pieces = [self.text(secret)]
        for sql, is_text in parts:
            # Missing is hashed as the empty text: NULL would make the whole hash NULL.
            piece = sql if is_text else self.digits(sql)
            pieces += [self.text("/"), f"COALESCE({piece}, {self.text('')})"]
        return self.hashed(pieces)

    def digits(self, sql: str) -> str:
        """Return a whole number as a text, of the type that texts have."""
        raise NotImplementedError

    def hashed(self, pieces: Sequence[str]) -> str:
        """Return the MD5 of several texts, one behind the other."""
        return f"md5({' || '.join(pieces)})"

    # -- after the charge -----------------------------------------------------------------

    def prepare(self, columns: Sequence[Column]) -> None:
        """Make the rows ready for :meth:`fetch`."""

    def fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        """Run SQL that was built here."""
        found: Sequence[Sequence[Any]] = self.connection.execute(sql).fetchall()
        return found

    def close(self) -> None:
        """Let go of the place."""
        if self.connection is not None and self.is_own:
            # A connection that was handed in belongs to the caller.
            self.connection.close()
        # Last: closing a descriptor of a file ends the locks of SQLite on it.
        if self.file is not None:
            self.file.close()


def shown_address(data: object) -> str:
    """Return how messages call a place: without user, password, token and options.

    >>> shown_address("postgresql://me:hush@host:5432/db?sslpassword=hush")
    'postgresql://host:5432/db'
    >>> shown_address("people.csv")
    'people.csv'
    """
    if not isinstance(data, str | Path):
        return f"the given {type(data).__name__}"
    text = str(data)
    scheme, mark, rest = text.partition("://")
    if not mark:
        # The other way to write an address of PostgreSQL: "host=… password=…".
        return "…" if "=" in text else text[:200]
    before, _, place = rest.rpartition("@")
    place = re.split("[?;]", place)[0]
    # What is not plainly a host, a port and a path may be a piece of a secret.
    plain = re.fullmatch(r"(\[[\da-fA-F:.]+\]|[\w.\-]*)(:\d+)?(/.*)?", place)
    # An @ after the options could belong to a password that contains one.
    is_sure = plain is not None and not re.search("[?;]", before)
    return f"{scheme}://{place}" if is_sure else f"{scheme}://…"


def place_of(data: Any, table: Table) -> Any:
    """Return where a table is: in the data that was given, or where the facts say.

    >>> place_of({"people": "people.csv"}, Table("people"))
    'people.csv'
    """
    if isinstance(data, Mapping):
        if table.name not in data:
            raise InputError(
                f"data has no table {table.name!r} (it has {', '.join(map(str, data))})"
            )
        return data[table.name]
    if data is None and table.source is None:
        raise InputError(
            f"the data of table {table.name!r} must be named: give data, or set "
            f"tables.{table.name}.source in the public facts"
        )
    return table.source if data is None else data


@contextmanager
def open_sources(data: Any, tables: Sequence[Table]) -> Iterator[dict[str, Source]]:
    """Open tables that one query may read together, by their names; the first one runs it.

    Parameters
    ----------
    data
        Where they are: one place that holds all of them, a mapping from names to places, or
        ``None`` where the facts say it.
    tables
        The tables.
    """
    opened: dict[str, Source] = {}
    with ExitStack() as stack:
        for table in tables:
            first = next(iter(opened.values()), None)
            place = place_of(data, table)
            opened[table.name] = stack.enter_context(open_source(place, table, first))
        yield opened


@contextmanager
def open_source(
    data: Any, table: Table, beside: Source | None = None
) -> Iterator[Source]:
    """Open a source for reading one table, and close it afterwards.

    Parameters
    ----------
    data
        An address, a path, an Ibis backend, an Ibis, Polars, Arrow or pandas table, or a Spark
        session.
    table
        The table that will be read.
    beside
        A source that is open already, whose query may read the table too.

    Examples
    --------
    >>> with open_source("people.xls", Table("people", 2)):
    ...     pass
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: data must be a CSV or TSV file, a Parquet file, ...
    """
    # A plain table in Ibis is read at its backend: executing the expression would load all rows.
    place = _table_of_expression(data)
    if place is not None:
        data = place[0]
        table = replace(table, relation=place[1])
    source = source_class(data)(data, table)
    source.beside = beside
    try:
        _connect(source)
        if beside is not None and not source.is_with(beside):
            raise InputError(
                f"tables {beside.table.name} and {table.name} have the same people and must be at "
                "one place: in one database, or both in files or in memory"
            )
        yield source
    finally:
        with quietly():
            source.close()


def _connect(source: Source) -> None:
    try:
        with quietly():
            source.connect()
    except TightropeError:
        raise
    except ImportError as missing:
        needed = missing.name or "a package that is not installed"
        raise InputError(
            f"{source.shown} needs {needed}: install tightrope with the extra '{source.extra}'"
        ) from None
    except Exception:  # what a driver says may hold a secret, or a row
        raise InputError(
            f"{source.shown} cannot be opened as {source.example}: is it there, and may it be read?"
        ) from None


def source_class(data: Any) -> type[Source]:
    """Return the kind of source that an address or an object is.

    >>> source_class("people.csv").__name__, source_class("postgresql://host/db").__name__
    ('TextFile', 'PostgreSQL')
    """
    if isinstance(data, str | Path):
        text = str(data).lower()
        scheme, colon, _ = text.partition(":")
        by_scheme = [
            kind for kind in Source.registered if colon and scheme in kind.schemes
        ]
        by_ending = [kind for kind in Source.registered if text.endswith(kind.endings)]
        if not (by_scheme or by_ending):
            raise InputError(
                f"data must be {known_addresses()}; got {shown_address(data)}"
            )
        # The scheme is explicit; an ending may belong to several kinds of source.
        return (by_scheme or by_ending)[0]
    # Order of definition decides: Frame comes last, because it accepts nearly any table.
    for kind in Source.registered:
        if kind.holds(data):
            return kind
    if _is_backend(data):
        known = ", ".join(kind.backend for kind in Source.registered if kind.backend)
        raise InputError(f"an Ibis backend must be one of {known}, got {data.name!r}")
    raise InputError(f"data must be {known_addresses()}; got {type(data).__name__}")


def known_addresses() -> str:
    """Return what data may be, for messages and help.

    >>> known_addresses()
    'a CSV or TSV file, a Parquet file, duckdb:///FILE, ... or a table in memory'
    """
    *most, last = dict.fromkeys(kind.example for kind in Source.registered)
    return f"{', '.join(most)} or {last}"


def dialect_of(data: Any) -> str:
    """Return the SQL dialect that a source speaks, without opening it.

    >>> dialect_of("people.csv"), dialect_of("postgresql://host/db"), dialect_of("spark:people")
    ('duckdb', 'postgres', 'spark')
    """
    if isinstance(data, Mapping):
        data = next(iter(data.values()), None)
    return "duckdb" if data is None else source_class(data).dialect


def own_name(data: Any) -> str | None:
    """Return the name of the only table that an address holds, or nothing where SQL chooses.

    >>> own_name("data/people.csv.gz"), own_name("spark:lake.people"), own_name("a.duckdb")
    ('people', 'people', None)
    """
    if not isinstance(data, str | Path):
        return None
    held = re.sub("^spark:", "", str(data), flags=re.IGNORECASE)
    endings = [
        ending for kind in Source.registered if kind.is_one for ending in kind.endings
    ]
    # Longest ending first, in case one is the tail of another.
    for ending in sorted(endings, key=len, reverse=True):
        if held.lower().endswith(ending):
            return Path(held).name[: -len(ending)]
    if held == str(data):
        return None
    return held.rpartition(".")[2] or None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the warnings of the libraries below (deprecations among themselves) to them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -- what several sources share ---------------------------------------------------------------


def family(found: str) -> str:
    """Return the kind of a column from the name of its type in any database, or nothing.

    >>> family("DECIMAL(38,0)"), family("character varying"), family("uinteger"), family("json")
    ('number', 'text', 'integer', '')
    """
    # Cut the parameters: DECIMAL(38,0) and struct<…> are known by their first word.
    word = re.split(r"[(<]", found.lower())[0].strip()
    return next(
        (kind for kind, words in _FAMILIES.items() if word in words.split(",")), ""
    )


_FAMILIES = {
    "integer": "tinyint,smallint,integer,int,bigint,hugeint,utinyint,usmallint,uinteger,ubigint,"
    "uhugeint,long,short,byte",
    "number": "double,float,real,decimal,numeric,double precision",
    "text": "varchar,character varying,character,char,text,string,enum,uuid,citext,name",
    "boolean": "boolean,bool",
    "date": "date",
    "time": "timestamp,timestamp_s,timestamp_ms,timestamp_ns,timestamp with time zone",
}


def check_columns(source: Source, columns: Sequence[Column]) -> Mapping[str, str]:
    """Refuse a table whose columns are not those that were declared; return the types there."""
    # A driver's message may quote a row, so every failure of the lookup is one fixed sentence.
    with refusing(str(source.no_table()), Exception), quietly():
        found = source.columns()
    for column in columns:
        if column.name not in found:
            raise InputError(
                f"table {source.relation!r} has no column {column.name!r} (it has "
                f"{', '.join(found) or 'none'})"
            )
        kind = found[column.name]
        # A column of numbers may be declared as integer: what is no whole number is missing.
        # Types are compared before the charge: a mismatch found while reading would cost budget.
        numbers = ("integer", "number")
        fits = numbers if column.type in numbers else (column.type,)
        # Whose row it is, any column can say: it is read as text.
        whose = (source.table.person, source.table.key)
        is_person = column.name in whose and column.type == "text"
        if is_person and source.is_inexact(column, kind):
            raise InputError(
                f"column {column.name!r} says whose row it is, and is kept as floating-point "
                "numbers, which cannot tell large numbers apart: keep it as whole numbers (a "
                "nullable integer type) or as text"
            )
        if kind and not is_person and family(kind) not in fits:
            raise InputError(
                f"column {column.name!r} is declared as {column.type}; at the source it is {kind}"
            )
    return found


def checked_path(path: str) -> str:
    """Return the path of a file; refuse one that leads to none."""
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file")
    if not path.isprintable():
        # In SQL it would fail, after the charge.
        raise InputError(
            f"{path!a}: a path must be plain text: give the file another name"
        )
    return path


def _is_backend(data: Any) -> bool:
    return type(data).__module__.startswith("ibis.backends.") and hasattr(data, "name")


def _table_of_expression(data: Any) -> tuple[Any, str] | None:
    """Return the backend and the name of an Ibis expression that is a table and no more."""
    if not type(data).__module__.startswith("ibis."):
        return None
    operation: Any = data.op() if hasattr(data, "op") else None
    if type(operation).__name__ != "DatabaseTable":
        return None
    space = operation.namespace
    parts = (space.catalog, space.database, operation.name)
    return operation.source, ".".join(part for part in parts if part)


# -- sources that DuckDB runs -----------------------------------------------------------------


_NARROW = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
)  # fmt: skip


def _unpadded(text: str, groups: str = r"\1\2", day: str = r"\1") -> str:
    """Return SQL for a text without the zeros that say nothing, where patterns can be replaced."""
    number = f"regexp_replace({text}, '{PADDED_TEXT}', '{groups}')"
    return f"regexp_replace({number}, '{MIDNIGHT_TEXT}', '{day}')"


def _spelled_cells() -> dict[str, str]:
    """Return the cells of DuckDB: how a value is read from a text, and from every other type.

    The usual spelling is tried first: of a CASE, the other branches run for what is left.
    """
    text = "CAST({raw} AS VARCHAR)"
    true = "('true', 'True', 'TRUE')"
    false = "('false', 'False', 'FALSE')"
    # What programs write for the values of a column of truth values.
    bit = f"CASE WHEN {text} IN {true} THEN 1 WHEN {text} IN {false} THEN 0 END"
    # To DuckDB 1_000 is a number, to others it is not.
    number = f"CASE WHEN NOT contains({text}, '_') THEN TRY_CAST({text} AS DOUBLE) END"
    whole = f"TRY_CAST({text} AS BIGINT)"
    limits = "BETWEEN -1e100 AND 1e100"  # not a number is greater than every number
    # Invariant: 1, 1.0, "1" and true become the same text, so group keys do not depend on the type.
    one = (
        f"CASE WHEN ends_with({text}, '0') THEN {_unpadded(text)} "
        f"WHEN {text} IN {true} THEN '1' WHEN {text} IN {false} THEN '0' ELSE {text} END"
    )
    days = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    # Through numbers: a cast of a time with a zone goes by the zone of the session.
    in_utc = "make_timestamp(epoch_us({moment}))"
    utc = in_utc.format(moment="{raw}")
    zoned = in_utc.format(moment=f"TRY_CAST({text} AS TIMESTAMPTZ)")
    has_zone = (
        f"regexp_matches({text}, ':[0-9.]+ ?(Z|UTC|[+-][0-9][0-9](:?[0-9][0-9])?)$')"
    )
    text_of_utc = "CAST(" + utc + " AS VARCHAR)"
    cells = {
        "number": f"COALESCE(CASE WHEN {number} {limits} THEN TRY_CAST({text} AS DOUBLE) END, "
        f"{bit})",
        # The round trip through text proves that nothing was rounded; otherwise try 1.0 and 1e3.
        "integer": f"CASE WHEN CAST({whole} AS VARCHAR) = {text} THEN {whole} "
        f"WHEN {whole} = {number} THEN {whole} ELSE {bit} END",
        "boolean": f"CASE WHEN {text} IN {true} THEN TRUE WHEN {text} IN {false} THEN FALSE "
        f"WHEN lower({text}) IN ('true', 't', 'yes', 'y') THEN TRUE "
        f"WHEN lower({text}) IN ('false', 'f', 'no', 'n') THEN FALSE "
        f"WHEN {number} = 1 THEN TRUE WHEN {number} = 0 THEN FALSE END",
        # Before the year 1 texts sort like dates no longer, and engines disagree about them.
        "date": f"CASE WHEN {text} < '0001' THEN NULL "
        f"WHEN {text} LIKE '____-__-__' THEN TRY_CAST({text} AS DATE) "
        f"WHEN {text} NOT LIKE '____-__-__%' THEN NULL "
        f"WHEN {has_zone} THEN CASE WHEN TRY_CAST({zoned} AS DATE) {days} "
        f"THEN TRY_CAST({zoned} AS DATE) END ELSE TRY_CAST(left({text}, 10) AS DATE) END",
        "date from date": f"CASE WHEN {{raw}} {days} THEN {{raw}} END",
        "date from time": f"CASE WHEN TRY_CAST({{raw}} AS DATE) {days} "
        "THEN TRY_CAST({raw} AS DATE) END",
        "date from TIMESTAMP WITH TIME ZONE": f"CASE WHEN TRY_CAST({utc} AS DATE) {days} "
        f"THEN TRY_CAST({utc} AS DATE) END",
        "boolean from boolean": "{raw}",
        "integer from integer": "TRY_CAST({raw} AS BIGINT)",
        "integer from boolean": "CAST({raw} AS BIGINT)",
        "text": f"encode({one})",
        "text from integer": f"encode({text})",
        "text from boolean": "encode(CAST(CAST({raw} AS INTEGER) AS VARCHAR))",
        # Whether a decimal is 1.5 or 1.5000 is a matter of the others in its column.
        "text from DECIMAL": f"encode(CASE WHEN contains({text}, '.') THEN "
        f"rtrim(rtrim({text}, '0'), '.') ELSE {text} END)",
        "text from number": f"encode(NULLIF({one}, 'nan'))",
        # As a text a byte that is no character is written in four, and matches nothing here.
        "text from BLOB": f"CASE WHEN ends_with({text}, '0') AND "
        f"regexp_matches({text}, '{PADDED_TEXT}|{MIDNIGHT_TEXT}') "
        f"OR {text} IN {true} OR {text} IN {false} "
        f"THEN encode({one}) ELSE {{raw}} END",
        "text from TIMESTAMP WITH TIME ZONE": f"encode({_unpadded(text_of_utc)})",
    }
    for kind in ("integer", "number", "boolean"):
        cells[f"number from {kind}"] = (
            f"CASE WHEN TRY_CAST({{raw}} AS DOUBLE) {limits} "
            "THEN TRY_CAST({raw} AS DOUBLE) END"
        )
    for kind in ("integer", "number"):
        cells[f"boolean from {kind}"] = (
            "CASE WHEN {raw} = 1 THEN TRUE WHEN {raw} = 0 THEN FALSE END"
        )
    # Equality of both casts is the test for a whole number: a cast alone would round 17.5.
    cells["integer from number"] = (
        "CASE WHEN TRY_CAST({raw} AS BIGINT) = TRY_CAST({raw} AS DOUBLE) "
        "THEN TRY_CAST({raw} AS BIGINT) END"
    )
    # Whole numbers of at most 64 bits are taken as they are, and added up in 128: a condition on
    # a cast is not held against the smallest and the largest value of a block, nor tried first.
    return cells | {f"integer from {kind}": "{raw}" for kind in _NARROW}


class _InDuckDB(Source):
    """A source whose rows DuckDB reads."""

    cells: ClassVar = _spelled_cells()
    whole_types: ClassVar = _NARROW

    def connect(self) -> None:
        import duckdb

        if isinstance(self.beside, _InDuckDB) and not isinstance(self.beside, DuckDB):
            self.connection = self.beside.connection
            self.is_own = False
        else:
            self.connection = duckdb.connect()

    @property
    def _suffix(self) -> str:
        """What tells the names of two sources of one connection apart."""
        return "" if self.is_own else f"_{id(self)}"

    def text(self, value: str) -> str:
        return f"from_hex('{value.encode().hex()}')"

    def digits(self, sql: str) -> str:
        return f"encode(CAST({sql} AS VARCHAR))"


class TextFile(_InDuckDB):
    """A text file: nothing about it is guessed from its rows.

    The first line names the columns and is public. No row can make reading fail: a field that is
    missing or does not fit its type is missing, a line that cannot be read is skipped. A line
    ends with a line feed; a carriage return alone is a character like any other.
    """

    example = "a CSV or TSV file"
    endings = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
    is_one = True
    #: Stands for a carriage return before a 1, and for itself before a 0.
    mark = "\uf8ff"
    _copy: Any = None

    def connect(self) -> None:
        self.file = OpenedFile(str(self.data))
        name = str(self.data).lower()
        self.is_packed = name.endswith(".gz")
        self.tabs = name.endswith((".tsv", ".tsv.gz"))
        self.header = self._header()
        declared = list(self.table.columns)
        # Without a header the first row would be taken for names, and one person would be lost.
        if declared and not set(declared) & set(self.header):
            # What is there instead is not shown: it may be somebody's row.
            names = ", ".join(declared)
            raise InputError(
                f"{self.data}: the first line names none of the declared columns ({names})"
            )
        super().connect()

    def columns(self) -> Mapping[str, str]:
        return dict.fromkeys(self.header, "")

    def rows(self) -> str:
        return f"tightrope_source{self._suffix}"

    def prepare(self, columns: Sequence[Column]) -> None:
        """Let DuckDB read the file: as it is, or a copy without carriage returns that stand alone.

        DuckDB ends a line at each of them, and writers put no quotes around them.
        """
        assert self.file is not None
        place = self.file.address
        is_packed = self.is_packed
        cells = "*"
        # Done after the charge: this looks at every row.
        if self._copy is None and self._has_returns():
            self._copy = self._without_returns()
        if self._copy is not None:
            place = f"/dev/fd/{self._copy.fileno()}"
            is_packed = False
            # Undo the marks in reverse order, so that a mark in the data is restored as itself.
            back = f"replace(replace(COLUMNS(*), '{self.mark}1', chr(13)), '{self.mark}0', "
            cells = f"{back}'{self.mark}')"
        # Every column is VARCHAR: types sniffed from rows would depend on a single person's value.
        types = ", ".join(f"{_string(name)}: 'VARCHAR'" for name in self.header)
        delimiter = "chr(9)" if self.tabs else "','"
        packed = "gzip" if is_packed else "none"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {self.rows()} AS SELECT {cells} FROM "
            f"read_csv('{place}', auto_detect = false, columns = {{{types}}}, "
            f"header = true, delim = {delimiter}, quote = '\"', escape = '\"', "
            # A bad line is skipped, not an error: an error that depends on rows would leak one bit.
            "null_padding = true, ignore_errors = true, strict_mode = false, parallel = false, "
            f"max_line_size = 10000000, compression = '{packed}')"
        )

    def _bytes(self) -> Any:
        assert self.file is not None
        opener = gzip.open if self.is_packed else open
        return opener(self.file.address, "rb")

    def _blocks(self, size: int = 1 << 20) -> Iterator[bytes]:
        """Return the file in blocks that end where lines do."""
        with self._bytes() as file:
            while block := file.read(size) + file.readline():
                yield block

    def _has_returns(self) -> bool:
        return any(
            b"\r" in block and block.count(b"\r") > block.count(b"\r\n")
            for block in self._blocks()
        )

    def _without_returns(self) -> Any:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the source)
        mark = self.mark.encode()
        for block in self._blocks():
            # Escape the mark first, or one in the data would come back as a carriage return.
            marked = block.replace(mark, mark + b"0")
            copy.write(re.sub(rb"\r(?!\n)", mark + b"1", marked))
        copy.flush()
        return copy

    def _header(self, longest: int = 1_000_000) -> list[str]:
        unreadable = (OSError, EOFError, csv.Error)
        advice = (
            "the first line is not text in UTF-8: save the table as UTF-8 or Parquet"
        )
        with refusing(f"{self.data}: the first line cannot be read", *unreadable):
            # As bytes: a reader of text would decode rows ahead of the first line's end.
            with self._bytes() as file:
                # Bounded: a file without line feeds would be read as a whole.
                line = bytes(file.readline(longest))
            with refusing(f"{self.data}: {advice}", UnicodeDecodeError):
                text = line.decode("utf-8-sig")
            names = next(csv.reader([text], delimiter="\t" if self.tabs else ","), [])
        self._check_delimiter(names)
        # Unprintable or empty names mean that the first line is data, which is confidential.
        named = names and all(name and name.isprintable() for name in names)
        # A link may lead to the key of a ledger, which would be shown as the name of a column.
        named = named and not re.fullmatch("[A-Za-z0-9+/]{43}=", names[0])
        distinct = {name.lower() for name in names}
        if not named or len(distinct) < len(names):
            raise InputError(
                f"{self.data}: the first line must name the columns, each once"
            )
        return names

    def _check_delimiter(self, names: Sequence[str]) -> None:
        """Refuse one name that holds the names of several columns."""
        if len(names) != 1 or names[0] in self.table.columns:
            return
        for mark, marks in {";": "semicolons", "\t": "tabs", ",": "commas"}.items():
            if mark in names[0]:
                raise InputError(
                    f"{self.data}: {marks} separate the columns of the first line. A .csv file "
                    "needs commas (and decimal points), a .tsv file tabs"
                )

    def close(self) -> None:
        super().close()
        if self._copy is not None:
            self._copy.close()


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class _ThroughArrow(_InDuckDB):
    """Rows of any types, from a file or from Arrow, that a view gives the declared types."""

    def rows(self) -> str:
        return f"tightrope_source{self._suffix}"

    def cell(self, column: Column, found: str) -> str:
        return self.name(_cell_name(column))

    def _read(
        self, raw: str, columns: Sequence[Column], names: Mapping[str, str]
    ) -> None:
        """Make the view of the declared columns over rows that have them by other names."""
        described = self.connection.execute(f"DESCRIBE FROM {raw}").fetchall()
        types = {row[0]: row[1] for row in described}
        # A constant column keeps the number of rows when no column is wanted.
        cells = ["1 AS one"]
        for column in columns:
            name = names[column.name]
            # The cell is chosen by the type DuckDB sees, not by the type that the file declares.
            cell = super().cell(replace(column, name=name), types[name])
            cells.append(f"{cell} AS {self.name(_cell_name(column))}")
        self.connection.execute(f"DROP VIEW IF EXISTS {self.rows()}")
        self.connection.execute(
            f"CREATE TEMP VIEW {self.rows()} AS SELECT {', '.join(cells)} FROM {raw}"
        )

    def _read_arrow(
        self, rows: Any, columns: Sequence[Column], names: Mapping[str, str]
    ) -> None:
        raw = f"tightrope_raw{self._suffix}"
        self.connection.register(raw, rows)
        self._read(raw, columns, names)


def _cell_name(column: Column) -> str:
    # One column may be read in two ways; to DuckDB names that differ in letter case are one.
    return f"{column.type} {column.name.encode().hex()}"


def _numbered(columns: Sequence[Column]) -> dict[str, str]:
    """Return a name for each column that no other one is like, in whatever letter case."""
    names = dict.fromkeys(column.name for column in columns)
    return {name: f"c{number}" for number, name in enumerate(names)}


class ParquetFile(_ThroughArrow):
    """A Parquet file, read by DuckDB, or by Arrow where DuckDB stops: at text that is not UTF-8.

    Both must read alike, or such a text in one row would change what the others count. So DuckDB
    gets only columns whose types say the same to both.
    """

    example = "a Parquet file"
    endings = (".parquet", ".pq")
    is_one = True
    parquet: Any = None

    def connect(self) -> None:
        import pyarrow.parquet

        self.file = OpenedFile(str(self.data))
        self.parquet = pyarrow.parquet.ParquetFile(self.file.address)
        super().connect()

    def columns(self) -> Mapping[str, str]:
        return dict.fromkeys(self.parquet.schema_arrow.names, "")

    def is_inexact(self, column: Column, found: str) -> bool:
        return _is_float(self.parquet.schema_arrow.field(column.name).type)

    def prepare(self, columns: Sequence[Column]) -> None:
        self._wanted = columns
        if not self.is_own:  # the other source runs the query
            self._stream()

    def fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        import duckdb

        # DuckDB stops at text that is not UTF-8; then Arrow reads the whole file again.
        with suppress(duckdb.Error):
            if self._view():
                return super().fetch(sql)
        self._stream()
        return super().fetch(sql)

    def _view(self) -> bool:
        """Let DuckDB read the file, if it reads all that is wanted as Arrow does."""
        assert self.file is not None
        # The largest value that a file states is one of numbers. Without can_have_nan, what is not
        # a number would be large or missing by whether that is beyond the limit of a cell.
        file = (
            f"read_parquet('{self.file.address}', can_have_nan = true, "
            "hive_partitioning = false, binary_as_string = false)"
        )
        described = self.connection.execute(f"DESCRIBE FROM {file}").fetchall()
        found = {row[0]: row[1].partition("(")[0] for row in described}
        schema = self.parquet.schema_arrow
        # Names that the two readers see differently, as they do duplicates: Arrow decides.
        if list(found) != schema.names:
            return False
        for column in self._wanted:
            kind = schema.field(column.name).type
            kind = getattr(kind, "value_type", kind)  # of a dictionary
            name = str(kind).partition("(")[0].removeprefix("large_")
            # Both readers must give the same values, or one bad row would change all the others'
            # reading.
            if name not in _ALIKE.get(found[column.name], "").split():
                return False
        names = {column.name: column.name for column in self._wanted}
        self._read(file, self._wanted, names)
        return True

    def _stream(self) -> None:
        """Let Arrow read the file, texts as bytes."""
        import pyarrow as pa

        names = _numbered(self._wanted)
        if not names:  # Arrow loses the number of rows of a batch without columns
            rows: Any = pa.table({"one": pa.nulls(self.parquet.metadata.num_rows)})
            self._read_arrow(rows, (), {})
            return
        fields = self.parquet.schema_arrow
        # The schema comes from the declared types alone: an empty array has the type a full one
        # gets.
        schema = pa.schema(
            [
                (c, _plain(pa.array([], fields.field(name).type)).type)
                for name, c in names.items()
            ]
        )

        def batches() -> Iterator[Any]:
            for batch in self.parquet.iter_batches(columns=list(names)):
                parts = [_plain(batch.column(name)) for name in names]
                yield pa.record_batch(parts, schema=schema)

        rows = pa.RecordBatchReader.from_batches(schema, batches())
        # A query may read its rows twice, and a stream ends.
        self._read_arrow(rows.read_all(), self._wanted, names)

    def close(self) -> None:
        if self.parquet is not None:
            self.parquet.close()
        super().close()


#: The types of DuckDB whose values Arrow reads as the same, by its names.
_ALIKE = {
    "TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINTEGER": "uint32", "UBIGINT": "uint64",
    "FLOAT": "float", "DOUBLE": "double", "VARCHAR": "string", "BLOB": "binary",
    "BOOLEAN": "bool", "DATE": "date32[day]", "DECIMAL": "decimal128",
    "TIMESTAMP": "timestamp[us] timestamp[ms]", "TIMESTAMP_NS": "timestamp[ns]",
}  # fmt: skip


def _is_float(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(getattr(kind, "value_type", kind)))


def _plain(values: Any) -> Any:
    """Return an Arrow column as DuckDB takes it; its type depends on that of the column alone.

    Texts become bytes: they need not be UTF-8.
    """
    import pyarrow as pa

    check = pa.types
    # A dictionary's values are enumerated by the rows; the type below must not depend on them.
    if check.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    is_text = check.is_string(kind) or check.is_large_string(kind)
    if is_text or check.is_string_view(kind) or check.is_binary_view(kind):
        return values.cast(pa.large_binary())
    if check.is_float16(kind):
        return values.cast(pa.float64())
    # Whatever has no cell, by the words that Python has for it.
    taken = "integer floating boolean decimal128 date32 date64 binary large_binary null"
    if any(getattr(check, f"is_{word}")(kind) for word in taken.split()):
        return values
    if check.is_timestamp(kind):
        return values.cast(pa.timestamp(kind.unit))  # in UTC
    return _spelled(values.to_pylist())


def _spelled(values: Sequence[Any]) -> Any:
    """Return values of any kind as a column of texts, which are read like those of a file."""
    import pyarrow as pa

    return pa.array([spelled(value) for value in values], pa.large_binary())


def spelled(value: Any) -> bytes | None:
    """Return the text of a value, or nothing: a total function, and never a long one.

    >>> spelled(1.0), spelled(True), spelled(float("nan")), spelled(Decimal("1.50"))
    (b'1.0', b'true', None, b'1.5')
    """
    try:
        for word in ("as_py", "item"):  # of Arrow and of NumPy
            value = getattr(value, word)() if hasattr(value, word) else value
        # NaN is the value that differs from itself; it is read as missing, like NULL.
        if value is None or value != value:
            return None
        if isinstance(value, bytes):
            return value
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            # A column of times has one zone, of whoever came first: no day may depend on it.
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        elif isinstance(value, complex) and not value.imag:
            # Beside a complex number pandas makes all others complex.
            value = value.real
        text = str(value)
        if isinstance(value, bool):
            text = text.lower()
        elif isinstance(value, Decimal):
            # Written out, 1E+1000000 would have a million digits.
            near = abs(value.adjusted()) < 40
            text = f"{value:f}" if near else text
            text = text.rstrip("0").rstrip(".") if near and "." in text else text
        # A lone surrogate is encoded too: a failure here would depend on a row.
        return text.encode("utf-8", "surrogatepass")
    except Exception:  # objects may be anything, and so may what they raise
        return None


def _room(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _arrow_column(data: Any, name: str, room: str) -> Any:
    """Return a column of a table in memory as Arrow, values of different kinds as texts."""
    import pyarrow as pa

    column = data.column(name) if room == "pyarrow" else data[name]
    is_list = room == "polars" and column.dtype.is_object()
    try:
        # One value of another kind must not decide about the others: then all are texts. Of its
        # own types Polars has more than Arrow.
        if room == "pandas":
            has_objects = column.dtype == object
            values = pa.array(column, from_pandas=True)
            # Beside a day Arrow takes the 31 of somebody else for a number of days.
            is_list = has_objects and pa.types.is_temporal(values.type)
            column = column if is_list else values
        elif room == "polars" and not is_list:
            column = column.to_arrow()
    except Exception:
        # Whether a column converts depends on one person's value: no error, all become texts.
        is_list = True
    if is_list:
        return _spelled(list(column))
    kind = column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_text:
        with suppress(pa.ArrowInvalid):
            column.validate(full=True)  # whether it is UTF-8
            return column
    return _plain(column)


class DuckDB(_InDuckDB):
    """A table of a DuckDB file, or of an Ibis connection to DuckDB."""

    example = "duckdb:///FILE"
    schemes = ("duckdb",)
    endings = (".duckdb", ".ddb")
    backend = "duckdb"
    counts_by_place = 2**20

    def connect(self) -> None:
        import duckdb

        # Read-only: DuckDB would otherwise take the file's lock and write its log.
        self._open(lambda path: duckdb.connect(path, read_only=True))
        if self.is_own:
            # People who are numbered without large gaps are grouped by their place: 0.06 s instead
            # of 0.45 for 10⁷ rows of 10⁶ people. Not as the file is opened: two connections of one
            # process to a file must be opened alike.
            bits = self.counts_by_place.bit_length()
            self.connection.execute(f"SET SESSION perfect_ht_threshold = {bits}")
        *space, name = self.parts
        found = self.connection.execute(
            "SELECT database_name, schema_name, table_name, column_name, data_type "
            # The catalogue resolves the name as SELECT would: current schema, temporary tables
            # first.
            "FROM duckdb_columns() WHERE NOT internal AND lower(table_name) = lower(?) "
            "AND lower(schema_name) = lower(coalesce(?, current_schema())) "
            "AND (lower(database_name) = lower(coalesce(?, current_database())) "
            "OR (? IS NULL AND database_name = 'temp')) "
            # A temporary table hides the one that is kept.
            "ORDER BY database_name = 'temp' DESC, column_index",
            [
                name,
                space[-1] if space else None,
                *2 * [space[-2] if len(space) > 1 else None],
            ],
        ).fetchall()
        if not found:
            raise self.no_table()
        self.parts = found[0][:3]
        self._locate(*self.parts)
        self.is_computed = bool(
            self.connection.execute(
                "SELECT 1 FROM duckdb_views() WHERE database_name = ? AND schema_name = ? "
                "AND view_name = ?",
                self.parts,
            ).fetchall()
        )
        # Two tables may differ in letter case only; keep the columns of the one that was resolved.
        self._columns = {row[3]: row[4] for row in found if row[:3] == self.parts}

    def columns(self) -> Mapping[str, str]:
        return self._columns


class SQLite(Source):
    """A table of a SQLite file. Its columns hold anything, so no type of theirs is looked at."""

    example = "sqlite:///FILE"
    schemes = ("sqlite",)
    endings = (".sqlite", ".sqlite3", ".db")
    dialect = "sqlite"
    backend = "sqlite"
    # Of a text only a number that is well formed equals what a cast to NUMERIC makes of it.
    numeric: ClassVar[str] = (
        "CASE WHEN typeof({raw}) IN ('integer', 'real') THEN {raw} "
        "WHEN typeof({raw}) = 'text' AND CAST({raw} AS NUMERIC) = {raw} || '' "
        "THEN CAST({raw} AS NUMERIC) "
        "WHEN LOWER({raw}) = 'true' THEN 1 WHEN LOWER({raw}) = 'false' THEN 0 END"
    )
    ended: ClassVar[str] = "RTRIM(CAST({raw} AS TEXT), '0')"
    # A time as SQL says it, or as texts that a zone follows: to SQLite +0200 is none.
    day_of: ClassVar[str] = (
        "CASE WHEN substr({raw}, 17) GLOB '*[-+][0-9][0-9]:[0-9][0-9]' THEN date({raw}) "
        "ELSE date(substr({raw}, 1, 10), '+0 days') END"
    )
    cells: ClassVar = {
        "integer": f"CASE WHEN typeof({{raw}}) = 'integer' THEN {{raw}} "
        f"WHEN typeof({numeric}) = 'integer' THEN ({numeric}) "
        f"WHEN ({numeric}) BETWEEN -9e18 AND 9e18 AND ({numeric}) = ROUND({numeric}) "
        f"THEN CAST(({numeric}) AS INTEGER) END",
        "number": f"CASE WHEN ({numeric}) BETWEEN -1e100 AND 1e100 THEN CAST(({numeric}) AS REAL) "
        "END",
        "boolean": "CASE WHEN LOWER({raw}) IN ('true', 't', 'yes', 'y') THEN 1 WHEN LOWER({raw}) "
        f"IN ('false', 'f', 'no', 'n') THEN 0 WHEN ({numeric}) = 1 THEN 1 WHEN ({numeric}) = 0 "
        "THEN 0 END",
        # Other texts are times to SQLite too: 'now' is one. The 30th of February is the 2nd of
        # March to it.
        "date": "CASE WHEN {raw} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' AND "
        "{raw} >= '0001' AND date(substr({raw}, 1, 10), '+0 days') = substr({raw}, 1, 10) "
        f"THEN {day_of} END",
        # As a text SQLite gives a number 15 digits.
        "text": "CAST(CASE WHEN typeof({raw}) = 'blob' THEN {raw} "
        "WHEN typeof({raw}) = 'real' AND {raw} = ROUND({raw}) AND ABS({raw}) < 9007199254740993 "
        "THEN CAST(CAST({raw} AS INTEGER) AS TEXT) "
        "WHEN substr(CAST({raw} AS TEXT), -1) = '0' THEN CASE "
        f"WHEN {ended} GLOB '[-+0-9]*' AND {ended} GLOB '*[0-9].*' AND NOT "
        f"substr({ended}, 2) GLOB '*[^0-9.]*' AND NOT {ended} GLOB '*.*.*' "
        f"THEN RTRIM({ended}, '.') "
        "WHEN {raw} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][ T]00:00:00*' AND "
        "substr({raw}, 20, 1) IN ('', '.') AND RTRIM(substr({raw}, 20), '0') IN ('', '.') "
        "THEN substr({raw}, 1, 10) "
        "WHEN {raw} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][ T][0-9][0-9]:[0-9][0-9]:"
        f"[0-9][0-9].*' AND NOT substr({ended}, 21) GLOB '*[^0-9]*' "
        f"THEN RTRIM({ended}, '.') ELSE {{raw}} END "
        "WHEN {raw} IN ('true', 'True', 'TRUE') THEN '1' "
        "WHEN {raw} IN ('false', 'False', 'FALSE') THEN '0' ELSE {raw} END AS BLOB)",
    }

    def connect(self) -> None:
        import sqlite3

        self._open(sqlite3.connect)
        if self.is_own:
            # SQLite opens for writing by default: refuse writes on this connection.
            self.connection.execute("PRAGMA query_only = ON")
        self.connection.create_function("tightrope_md5", -1, _md5, deterministic=True)
        *space, name = self.parts
        # A plain name means main here; a temporary table of the same name cannot hide it.
        self.parts = [*(space or ["main"]), name]
        found = self.connection.execute(
            "SELECT type FROM pragma_table_list(?) WHERE lower(schema) = lower(?) "
            "AND type IN ('table', 'view') AND NOT lower(name) GLOB 'sqlite_*'",
            [name, self.parts[0]],
        ).fetchall()
        if not found:
            raise self.no_table()
        self.is_computed = found[0][0] == "view"
        self._locate(self.parts[0], "main", name)

    def columns(self) -> Mapping[str, str]:
        return dict.fromkeys(self._types(), "")

    def is_inexact(self, column: Column, found: str) -> bool:
        return super().is_inexact(column, self._types()[column.name])

    def _types(self) -> dict[str, str]:
        """Return the types that the columns were declared with, which bind no value."""
        found = self.connection.execute(
            "SELECT name, type FROM pragma_table_xinfo(?, ?)",
            [self.parts[-1], *self.parts[:-1]],
        )
        return dict(found.fetchall())

    def day(self, day: str) -> str:
        return f"'{day}'"

    def days(self, cell: str, since: str = "0001-01-01") -> str:
        # Both are midnights, whose halves cancel.
        return f"CAST(julianday({cell}) - julianday('{since}') AS INTEGER)"

    def digits(self, sql: str) -> str:
        return f"CAST(CAST({sql} AS TEXT) AS BLOB)"

    def hashed(self, pieces: Sequence[str]) -> str:
        return f"tightrope_md5({', '.join(pieces)})"


def _md5(*pieces: bytes) -> str:
    """Return the hash that SQLite does not have."""
    return hashlib.md5(b"".join(pieces), usedforsecurity=False).hexdigest()


class PostgreSQL(Source):
    """A table of a PostgreSQL server."""

    example = "postgresql://…"
    schemes = ("postgresql", "postgres")
    extra = "postgresql"
    dialect = "postgres"
    backend = "postgres"
    whole_types = ("smallint", "integer", "bigint")
    cells: ClassVar = {
        "integer": "{raw}::bigint",
        "integer from number": "CASE WHEN abs({raw}) < 9e18 AND {raw} = floor({raw}) "
        # floor(x) = x is the test for a whole number; the limit keeps the cast from overflowing.
        "THEN {raw}::bigint END",
        "number": "{raw}::double precision",
        # A numeric beyond the doubles, either way, would end the query.
        "number from number": "CASE WHEN abs({raw}) < 1e-100 THEN 0 WHEN abs({raw}) <= 1e100 "
        "THEN {raw}::double precision END",
        "boolean": "{raw}::boolean",
        "date": "{raw}::date",
        "text": "(CASE WHEN right({raw}::text, 1) = '0' THEN "
        f"{_unpadded('{raw}::text')} "
        "WHEN {raw}::text IN ('true', 'True', 'TRUE') THEN '1' "
        "WHEN {raw}::text IN ('false', 'False', 'FALSE') THEN '0' "
        "ELSE NULLIF({raw}::text, 'NaN') END) COLLATE \"C\"",
    }

    def connect(self) -> None:
        if isinstance(self.data, str | Path):
            self.connection = self._connected(str(self.data))
        else:  # a session of its own: the other one keeps its settings
            import psycopg

            # The caller's session may be in a transaction, or have a search path that hides tables.
            about = self.data.con.info
            self.connection = psycopg.connect(
                about.dsn, password=about.password, autocommit=True
            )
        # Not the whole server's settings: this session's, and so that SQL means what it says.
        for setting in (
            "default_transaction_read_only = on",
            "standard_conforming_strings = on",
            "datestyle = ISO",
        ):
            self._run(f"SET {setting}")
        self._resolve()

    def is_with(self, other: Source) -> bool:
        places = [
            source.identity()[0].rpartition("/")[0]
            for source in (self, other)
            if isinstance(source, PostgreSQL)
        ]
        return len(places) == 2 and places[0] == places[1]

    def _connected(self, address: str) -> Any:
        import psycopg

        # What libpq says of an address that it cannot read quotes it, passwords and all.
        # libpq knows only this scheme, in lower case.
        text = "postgresql:" + address.partition(":")[2]
        with refusing(f"{self.shown} is no address of PostgreSQL", psycopg.Error):
            psycopg.conninfo.conninfo_to_dict(text)
        try:
            return psycopg.connect(text, autocommit=True)
        except psycopg.Error as failed:
            # SQLSTATE classes: 28 is authorization, 3D an unknown database. Messages would quote
            # secrets.
            reason = {
                "28": "it refuses this user",
                "3D": "it has no such database",
            }.get((failed.sqlstate or "")[:2], "no server answers there")
            raise InputError(f"{self.shown} cannot be opened: {reason}") from None

    def _run(self, sql: str, *values: Any) -> list[Any]:
        with self.connection.cursor() as cursor:
            # Parameters are bound by the driver: names from the user are never pasted into SQL.
            cursor.execute(sql, values)
            return list(cursor.fetchall()) if cursor.description else []

    def _resolve(self) -> None:
        """Follow the search path to the one table that the name means, and take leave of it."""
        found = self._run(
            "SELECT s.nspname, t.relname, t.oid, t.relkind = 'v' FROM pg_catalog.pg_class t "
            "JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace "
            "WHERE t.oid = pg_catalog.to_regclass(%s) "
            # Catalogues and statistics, sequences and indexes, and what extensions keep.
            "AND s.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') "
            "AND t.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS ("
            "SELECT FROM pg_catalog.pg_depend d WHERE d.objid = t.oid AND d.deptype = 'e' "
            "AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass)",
            self.rows(),
        )
        if not found:
            raise self.no_table()
        *self.parts, self._number, self.is_computed = found[0]
        # From here no name can be captured by an object of the same name in another schema.
        self._run("SET search_path = pg_catalog")

    def columns(self) -> Mapping[str, str]:
        return dict(
            self._run(
                "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE "
                # Follow domains to the base type, and call every enumeration by one word.
                "pg_catalog.format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid "
                "END, NULL) END FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t "
                "ON t.oid = a.atttypid WHERE a.attrelid = %s AND a.attnum > 0 "
                "AND NOT a.attisdropped",
                self._number,
            )
        )

    def identity(self) -> SourceIdentity:
        import psycopg

        # By name, so that a table that is made anew keeps its account; by number, so that one
        # that is renamed does.
        database, number = self._run(
            "SELECT datname, oid FROM pg_catalog.pg_database WHERE datname = current_database()"
        )[0]
        # Not everybody may ask.
        with refusing(
            f"{self.shown}: the server does not show its identity to this role, so that its tables "
            "have no account: GRANT EXECUTE ON FUNCTION pg_control_system() to it",
            psycopg.Error,
        ):
            system = self._run("SELECT system_identifier FROM pg_control_system()")[0][
                0
            ]
        return SourceIdentity(
            (
                f"postgresql:{system}/{database}/{self.relation}",
                f"postgresql:{system}/{number}/{self._number}",
            )
        )

    def check(self, sql: str) -> None:
        """Have the server read the SQL: a constant may have signs that its encoding lacks."""
        import psycopg

        with refusing(
            f"{self.shown} cannot run this question, whatever its rows", psycopg.Error
        ):
            # PREPARE parses and types the statement without running it on any row.
            self._run(f"PREPARE tightrope AS {sql}".replace("%", "%%"))
            self._run("DEALLOCATE tightrope")

    def text(self, value: str) -> str:
        return _string(value)

    def days(self, cell: str, since: str = "0001-01-01") -> str:
        # Infinite dates have no number of days: subtraction would fail on that row.
        return f"CASE WHEN isfinite({cell}) THEN {super().days(cell, since)} END"

    def digits(self, sql: str) -> str:
        return f"({sql})::text"

    def hashed(self, pieces: Sequence[str]) -> str:
        return f'{super().hashed(pieces)} COLLATE "C"'


class Spark(Source):
    """A table that Spark reads: a Parquet file, a table of its catalogue, or a Connect server."""

    example = "spark:FILE, spark:TABLE, spark+remote://HOST"
    schemes = ("spark", "spark+remote")
    extra = "spark"
    dialect = "spark"
    backend = "pyspark"
    quote = "`"
    whole_types = ("tinyint", "smallint", "int", "bigint")
    keeps_rows = False
    cells: ClassVar = {
        # Not a number is greater than every number.
        "number": "CASE WHEN TRY_CAST({raw} AS DOUBLE) BETWEEN -1e100 AND 1e100 "
        "THEN TRY_CAST({raw} AS DOUBLE) END",
        "integer": "CASE WHEN TRY_CAST({raw} AS BIGINT) = TRY_CAST({raw} AS DOUBLE) "
        "THEN TRY_CAST({raw} AS BIGINT) END",
        "integer from integer": "TRY_CAST({raw} AS BIGINT)",
        "boolean": "TRY_CAST({raw} AS BOOLEAN)",
        "date": "TRY_CAST({raw} AS DATE)",
        "text": "CAST(CASE WHEN endswith(CAST({raw} AS STRING), '0') THEN "
        f"{_unpadded('CAST({raw} AS STRING)', '$1$2', '$1')} "
        "WHEN CAST({raw} AS STRING) IN ('true', 'True', 'TRUE') THEN '1' "
        "WHEN CAST({raw} AS STRING) IN ('false', 'False', 'FALSE') THEN '0' "
        "ELSE NULLIF(CAST({raw} AS STRING), 'NaN') END AS BINARY)",
    }
    is_own = False

    @classmethod
    def holds(cls, data: Any) -> bool:
        return type(data).__name__ == "SparkSession" or super().holds(data)

    def connect(self) -> None:
        if not isinstance(self.data, str | Path):
            # Both a session and an Ibis backend are accepted; the backend keeps its session inside.
            self.session = getattr(self.data, "_session", self.data)
            return
        from pyspark.sql import SparkSession

        scheme, _, rest = str(self.data).partition(":")
        if scheme.lower() == "spark+remote":
            # Without it Spark Connect may end the whole process instead of raising an error.
            if importlib.util.find_spec("grpc") is None:
                raise InputError(
                    f"{self.shown} cannot be opened: Spark Connect needs grpcio"
                )
            # A session of its own: one that is there already may be at another server.
            self.session = SparkSession.builder.remote(f"sc:{rest}").create()
            self.is_own = True
            self._check_answers()
            return
        builder = SparkSession.builder.master("local[*]").config(
            "spark.ui.enabled", "false"
        )
        # The default of 200 partitions is made for clusters.
        self.session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        if rest.lower().endswith(ParquetFile.endings):
            if set(rest) & set("*?[{"):
                raise InputError(
                    f"{rest}: Spark takes this for a pattern: rename the file"
                )
            self.file = OpenedFile(rest)
            self.parts = [f"tightrope_{id(self)}"]
            # The path by which the process of Spark reaches the file that is open in this one.
            rows = self.session.read.parquet(self.file.address_for_others())
            rows.createOrReplaceTempView(self.relation)
        elif rest:
            self.parts = rest.split(".")

    def is_with(self, other: Source) -> bool:
        return isinstance(other, Spark) and other.session is self.session

    def _check_answers(self) -> None:
        """Ask a Spark Connect server for its version, once: it would be asked for minutes."""
        client = self.session.client
        patience = client.get_retry_policies()
        # Retries with growing waits would keep an unreachable address busy for minutes.
        client.set_retry_policies([])
        with refusing(
            f"{self.shown}: no Spark Connect server answers there (with a token it must speak TLS)",
            Exception,
        ):
            _ = self.session.version
        client.set_retry_policies(patience)

    def columns(self) -> Mapping[str, str]:
        # Metadata tables count rows of other tables: they are not tables of people.
        if {"information_schema", "system"} & set(map(str.lower, self.parts[:-1])):
            raise self.no_table()
        if self.file is None:
            # For files the view is ours; otherwise a view may fail on a row, which must be known.
            about = self.session.catalog.getTable(self.rows())
            self.is_computed = about.tableType not in ("MANAGED", "EXTERNAL")
        fields = self.session.table(self.rows()).schema.fields
        return {field.name: field.dataType.simpleString() for field in fields}

    def identity(self) -> SourceIdentity:
        if self.file is not None:
            return super().identity()
        known = self.session.catalog
        about = known.getTable(self.rows())
        if about.isTemporary:
            return super().identity()
        space = ".".join(about.namespace or [known.currentDatabase()])
        catalog = about.catalog or known.currentCatalog()
        table = f"{catalog}/{space}.{about.name}"
        places = [""]
        if (
            self.is_own
        ):  # a server has several addresses, and a number until it is started anew
            # Either name may be known from an earlier session, so both lead to the account.
            places = [shown_address(self.data), self.session.conf.get("spark.app.id")]
        return SourceIdentity(f"spark:{place}/{table}" for place in places)

    def days(self, cell: str, since: str = "0001-01-01") -> str:
        return f"datediff({cell}, {self.day(since)})"

    def digits(self, sql: str) -> str:
        return f"CAST(CAST({sql} AS STRING) AS BINARY)"

    def fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        with self._without_log():
            found: Sequence[Sequence[Any]] = self.session.sql(sql).collect()
        return found

    @contextmanager
    def _without_log(self) -> Iterator[None]:
        """Keep Spark in this process from writing a row that fails to standard error."""
        jvm = getattr(self.session, "_jvm", None)
        if jvm is None:  # a server writes its own log
            yield
            return
        logs = jvm.org.apache.logging.log4j
        root = logs.LogManager.getRootLogger()
        before = root.getLevel()
        # Remember both levels: the caller's own logging settings come back afterwards.
        was_disabled = logging.root.manager.disable
        logs.core.config.Configurator.setRootLevel(logs.Level.OFF)
        logging.disable()  # PySpark repeats the failure in a log of its own
        try:
            yield
        finally:
            logging.disable(was_disabled)
            logs.core.config.Configurator.setRootLevel(before)

    def close(self) -> None:
        if self.file is not None:
            self.session.catalog.dropTempView(self.relation)
            self.file.close()
        if self.is_own:
            self.session.stop()


class Frame(_ThroughArrow):
    """A table in memory: Arrow, pandas, Polars, or what Ibis or Polars computes when asked."""

    example = "a table in memory"

    @classmethod
    def holds(cls, data: Any) -> bool:
        return _room(data) in ("pandas", "polars", "pyarrow", "ibis") or hasattr(
            data, "__arrow_c_stream__"
        )

    def columns(self) -> Mapping[str, str]:
        """Return the names. Types are not looked at: in memory they come from the values."""
        room = _room(self.data)
        try:
            has_names = room in ("pandas", "polars", "ibis")
            names = list(self.data.columns if has_names else self.data.schema.names)
        except Exception:
            if room != "polars":
                raise
            names = list(
                self.table.columns
            )  # a plan may look at rows for it; they must not decide
        if len(set(names)) < len(names):
            raise InputError(f"{self.shown}: the columns must have different names")
        return dict.fromkeys(names, "")

    def connect(self) -> None:
        # A plan, or a stream that is read once: what has no number of rows yet.
        has_rows = _room(self.data) != "ibis" and hasattr(self.data, "shape")
        self.is_computed = not has_rows
        super().connect()

    def is_inexact(self, column: Column, found: str) -> bool:
        if self.is_computed:
            return False  # a plan is asked nothing before the charge
        try:
            # No row is looked at: the type of an empty slice is that of the column.
            first = self.data[:0]
            return _is_float(_arrow_column(first, column.name, _room(first)).type)
        except Exception:
            return False

    def prepare(self, columns: Sequence[Column]) -> None:
        import pyarrow as pa

        names = _numbered(columns)
        data = self.data
        room = _room(self.data)
        if room == "polars" and hasattr(data, "collect"):
            data = data.collect()
        elif room == "ibis":
            data = data.to_pyarrow()
            room = "pyarrow"
        elif room not in ("pandas", "polars") and not isinstance(data, pa.Table):
            is_dataset = hasattr(data, "to_table")
            data = data.to_table(columns=list(names)) if is_dataset else pa.table(data)
            room = "pyarrow"
        found = {number: _arrow_column(data, c, room) for c, number in names.items()}
        # Without columns the number of rows is all that is left to count.
        rows = pa.table(found or {"one": pa.nulls(len(data), pa.int8())})
        self._read_arrow(rows, columns, names)
