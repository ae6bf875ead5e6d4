"""Where tables are: one class for each kind of source, registered by being defined.

What every source keeps to:

- Connecting, :meth:`Source.columns` and :meth:`Source.identity` read the catalogue. No row is run.
- Types are the declared ones. Each column is read through :meth:`Source.cell`, an expression that
  has the declared type and that no row can make fail: a value that is not of the type is missing.
  Texts are compared byte by byte, whatever the collation.
- :meth:`Source.fetch` runs rows. Only :class:`~tightrope.publish.sealed.SealedQuery` calls it.

A view, a LazyFrame or an Ibis expression is a computation of the source's own: it is run as it
is, after the charge, and should not fail on a row.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import importlib.util
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from tightrope.errors import InputError, TightropeError, refusing
from tightrope.publish.accounts import SourceIdentity, folded_name
from tightrope.publish.facts import Column, Table


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
    parts
        The name of the table at the source: itself, behind its schema and catalogue if need be.
    path, inside
        The file that it is in, if it is, and what it is called there.
    connection, is_own
        The open connection, and whether to close it.
    """

    registered: ClassVar[list[type[Source]]] = []
    example: ClassVar[str] = ""
    schemes: ClassVar[tuple[str, ...]] = ()
    endings: ClassVar[tuple[str, ...]] = ()
    dialect: ClassVar[str] = "duckdb"
    extra: ClassVar[str] = "data"
    backend: ClassVar[str | None] = None
    is_one: ClassVar[bool] = False
    quote: ClassVar[str] = '"'
    cells: ClassVar[dict[str, str]] = {
        # Not a number is greater than every number in DuckDB and Spark.
        "number": "CASE WHEN TRY_CAST({raw} AS DOUBLE) BETWEEN -1e100 AND 1e100 "
        "THEN TRY_CAST({raw} AS DOUBLE) END",
        "integer": "CASE WHEN TRY_CAST({raw} AS BIGINT) = TRY_CAST({raw} AS DOUBLE) "
        "THEN TRY_CAST({raw} AS BIGINT) END",
        "integer from integer": "TRY_CAST({raw} AS BIGINT)",
        "boolean": "TRY_CAST({raw} AS BOOLEAN)",
        "date": "TRY_CAST({raw} AS DATE)",
        "text": "encode(CAST({raw} AS VARCHAR))",
        "text from number": "encode(NULLIF(CAST({raw} AS VARCHAR), 'nan'))",
        "text from BLOB": "{raw}",
    }

    path = inside = ""
    connection: Any = None
    is_own = True

    def __init_subclass__(cls) -> None:
        if cls.__dict__.get("example"):
            Source.registered.append(cls)

    def __init__(self, data: Any, table: Table) -> None:
        self.data, self.table = data, table
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
        if not self.path:
            return SourceIdentity((f"memory:{folded_name(self.relation)}",))
        there, about = Path(self.path).resolve(), Path(self.path).stat()
        names = f"file:{there}", f"inode:{about.st_dev}:{about.st_ino}"
        return SourceIdentity(name + self.inside for name in names)

    def no_table(self) -> InputError:
        """Return the error of a place without the table."""
        return InputError(f"{self.shown} has no table {self.relation!r} that can be read")

    def _open(self, opener: Callable[[str], Any]) -> None:
        """Open a database file, or take the connection of an Ibis backend."""
        self.is_own = isinstance(self.data, str | Path)
        if self.is_own:
            place = re.sub(r"^(duckdb|sqlite):(///?)?", "", str(self.data), flags=re.IGNORECASE)
            self.connection = opener(_file(place))
        else:
            self.connection = self.data.con

    def _locate(self, database: str, *inside: str) -> None:
        """Find the file that a table lies in: to one connection several may be attached."""
        files = self.connection.execute("PRAGMA database_list").fetchall()
        known = {name.lower(): file for _, name, file in files}
        self.path = known.get(database.lower()) or ""
        self.inside = "#" + folded_name(".".join(inside))
        if self.path and not Path(self.path).is_file():
            raise InputError(f"{self.shown}: the table is at another place: give that as the data")

    def check(self, sql: str) -> None:
        """Refuse SQL that this source cannot run whatever the rows."""

    def rows(self) -> str:
        """Return what stands behind FROM."""
        return ".".join(map(self.name, self.parts))

    def name(self, text: str) -> str:
        """Return a name as SQL."""
        return self.quote + text.replace(self.quote, 2 * self.quote) + self.quote

    def cell(self, column: Column, found: str) -> str:
        """Return the value of a column: of the declared type, and never a failure.

        Parameters
        ----------
        column
            The declared column.
        found
            Its type at the source.
        """
        names = [f"{column.type} from {kind}" for kind in (found, family(found))]
        cell = next(self.cells[name] for name in [*names, column.type] if name in self.cells)
        return cell.format(raw=self.name(column.name))

    def text(self, value: str) -> str:
        """Return a constant to compare texts with."""
        return f"X'{value.encode().hex()}'"

    def day(self, day: str) -> str:
        """Return a constant to compare dates with."""
        return f"DATE '{day}'"

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
            self.connection.close()


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
    is_sure = plain is not None and not re.search("[?;]", before)
    return f"{scheme}://{place}" if is_sure else f"{scheme}://…"


@contextmanager
def open_source(data: Any, table: Table) -> Iterator[Source]:
    """Open a source for reading one table, and close it afterwards.

    Parameters
    ----------
    data
        An address, a path, an Ibis backend, an Ibis, Polars, Arrow or pandas table, or a Spark
        session.
    table
        The table that will be read.

    Examples
    --------
    >>> with open_source("people.xls", Table("people", 2)):
    ...     pass
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: data must be a CSV or TSV file, a Parquet file, ...
    """
    place = _table_of_expression(data)
    if place is not None:
        data, table = place[0], replace(table, relation=place[1])
    source = source_class(data)(data, table)
    try:
        _connect(source)
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
        by_scheme = [kind for kind in Source.registered if colon and scheme in kind.schemes]
        by_ending = [kind for kind in Source.registered if text.endswith(kind.endings)]
        if not (by_scheme or by_ending):
            raise InputError(f"data must be {known_addresses()}; got {shown_address(data)}")
        return (by_scheme or by_ending)[0]
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
    return "duckdb" if data is None else source_class(data).dialect


def own_name(data: Any) -> str | None:
    """Return the name of the only table that an address holds, or nothing where SQL chooses.

    >>> own_name("data/people.csv.gz"), own_name("spark:lake.people"), own_name("a.duckdb")
    ('people', 'people', None)
    """
    if not isinstance(data, str | Path):
        return None
    held = re.sub("^spark:", "", str(data), flags=re.IGNORECASE)
    endings = [ending for kind in Source.registered if kind.is_one for ending in kind.endings]
    for ending in sorted(endings, key=len, reverse=True):
        if held.lower().endswith(ending):
            return Path(held).name[: -len(ending)]
    return held.rpartition(".")[2] or None if held != str(data) else None


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
    word = re.split(r"[(<]", found.lower())[0].strip()
    return next((kind for kind, words in _FAMILIES.items() if word in words.split(",")), "")


_FAMILIES = {
    "integer": "tinyint,smallint,integer,int,bigint,hugeint,utinyint,usmallint,uinteger,ubigint,"
    "uhugeint,long,short,byte",
    "number": "double,float,real,decimal,numeric,double precision",
    "text": "varchar,character varying,character,char,text,string,enum,uuid,citext,name",
    "boolean": "boolean,bool",
    "date": "date",
}


def check_columns(source: Source, columns: Sequence[Column]) -> Mapping[str, str]:
    """Refuse a table whose columns are not those that were declared; return the types there."""
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
        numbers = ("integer", "number")
        fits = numbers if column.type in numbers else (column.type,)
        # Whose row it is, any column can say: it is read as text.
        is_person = column.name == source.table.person and column.type == "text"
        if kind and not is_person and family(kind) not in fits:
            raise InputError(
                f"column {column.name!r} is declared as {column.type}; at the source it is {kind}"
            )
    return found


def _file(path: str) -> str:
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file")
    if not path.isprintable():
        # It would stand in SQL, and fail there after the charge.
        raise InputError(f"{path!a}: a path must be plain text: give the file another name")
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


class _InDuckDB(Source):
    """A source whose rows DuckDB reads.

    Whole numbers of at most 64 bits are taken as they are, and added up in 128: a condition on a
    cast is not held against the smallest and the largest value of a block, nor tried first.
    """

    cells: ClassVar = Source.cells | {
        f"integer from {kind}": "{raw}"
        for kind in (
            "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
        )
    }  # fmt: skip

    def connect(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def text(self, value: str) -> str:
        return f"from_hex('{value.encode().hex()}')"


class TextFile(_InDuckDB):
    """A text file: nothing about it is guessed from its rows.

    The first line names the columns and is public. No row can make reading fail: a field that is
    missing or does not fit its type is missing, a line that cannot be read is skipped.
    """

    example = "a CSV or TSV file"
    endings = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
    is_one = True

    def connect(self) -> None:
        self.path = _file(str(self.data))
        name = str(self.data).lower()
        self.is_packed, self.tabs = name.endswith(".gz"), name.endswith((".tsv", ".tsv.gz"))
        self.header = self._header()
        declared = list(self.table.columns)
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
        columns = ", ".join(f"{_string(name)}: 'VARCHAR'" for name in self.header)
        delimiter = "chr(9)" if self.tabs else "','"
        packed = "gzip" if self.is_packed else "none"
        return (
            f"read_csv({_path(self.path)}, auto_detect = false, columns = {{{columns}}}, "
            f"header = true, delim = {delimiter}, quote = '\"', escape = '\"', "
            "null_padding = true, ignore_errors = true, strict_mode = false, parallel = false, "
            f"max_line_size = 10000000, compression = '{packed}')"
        )

    def _header(self, longest: int = 1_000_000) -> list[str]:
        opener = gzip.open if self.is_packed else open
        unreadable = (OSError, EOFError, UnicodeDecodeError, csv.Error)
        with refusing(f"{self.data}: the first line cannot be read", *unreadable):
            # As bytes: a reader of text would decode rows ahead of the first line's end.
            with opener(self.path, "rb") as file:
                line = bytes(file.readline(longest)).decode("utf-8-sig")
            names = next(csv.reader([line], delimiter="\t" if self.tabs else ","), [])
        named = names and all(name and name.isprintable() for name in names)
        if not named or len({name.lower() for name in names}) < len(names):
            raise InputError(f"{self.data}: the first line must name the columns, each once")
        return names


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: str) -> str:
    """Return a path as SQL of DuckDB, which would take it for a pattern, of other files too."""
    return _string(re.sub(r"([*?[])", r"[\1]", path))


class _ThroughArrow(_InDuckDB):
    """Rows that become Arrow columns of the declared types, by total functions."""

    def rows(self) -> str:
        return "tightrope_source"

    def cell(self, column: Column, found: str) -> str:
        found = "BLOB" if column.type == "text" else "BIGINT"
        return super().cell(replace(column, name=_arrow_name(column)), found)


class ParquetFile(_ThroughArrow):
    """A Parquet file, read by DuckDB, or by Arrow where DuckDB stops: at text that is not UTF-8.

    Both must read alike, or such a text in one row would change what the others count. So DuckDB
    gets only columns whose types say the same to both, as the types that Arrow would hand over.
    """

    example = "a Parquet file"
    endings = (".parquet", ".pq")
    is_one = True
    file: Any = None

    def connect(self) -> None:
        import pyarrow.parquet

        self.path = _file(str(self.data))
        self.file = pyarrow.parquet.ParquetFile(self.path)
        super().connect()

    def columns(self) -> Mapping[str, str]:
        return dict.fromkeys(self.file.schema_arrow.names, "")

    def prepare(self, columns: Sequence[Column]) -> None:
        self._wanted = columns

    def fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        import duckdb

        with suppress(duckdb.Error):
            if self._view():
                return super().fetch(sql)
        self._stream()
        return super().fetch(sql)

    def _view(self) -> bool:
        """Let DuckDB read the file, if it reads all that is wanted as Arrow does."""
        # The largest value that a file states is one of numbers. Without can_have_nan, what is not
        # a number would be large or missing by whether that is beyond the limit of a cell.
        file = (
            f"read_parquet({_path(self.path)}, can_have_nan = true, hive_partitioning = false, "
            "binary_as_string = false)"
        )
        described = self.connection.execute(f"DESCRIBE FROM {file}").fetchall()
        found, schema = {row[0]: row[1] for row in described}, self.file.schema_arrow
        cells = ["1 AS one"]
        for column in self._wanted:
            kind = schema.field(column.name).type
            kind = getattr(kind, "value_type", kind)  # of a dictionary
            is_alike = _ALIKE.get(found.get(column.name, "")) == str(kind).removeprefix("large_")
            if not is_alike or list(found) != schema.names or not _is_castable(kind, column.type):
                return False
            cell = Source.cell(self, column, found[column.name])
            if column.type == "number":  # as it is: the question has a cell of its own
                cell = f"CAST({self.name(column.name)} AS DOUBLE)"
            cells.append(f"{cell} AS {self.name(_arrow_name(column))}")
        view = f"CREATE OR REPLACE TEMP VIEW {self.rows()} AS SELECT {', '.join(cells)} FROM {file}"
        self.connection.execute(view)
        return True

    def _stream(self) -> None:
        """Let Arrow read the file."""
        import pyarrow as pa

        columns = self._wanted
        schema = pa.schema([(_arrow_name(c), _arrow_type(c.type)) for c in columns])

        def batches() -> Iterator[Any]:
            for batch in self.file.iter_batches(columns=sorted({c.name for c in columns})):
                parts = [_arrow_column(batch.column(c.name), c.type) for c in columns]
                yield pa.record_batch(parts, schema=schema)

        if columns:
            rows: Any = pa.RecordBatchReader.from_batches(schema, batches())
        else:  # Arrow loses the number of rows of a batch without columns
            rows = pa.table({"one": pa.nulls(self.file.metadata.num_rows, pa.int8())})
        self.connection.execute(f"DROP VIEW IF EXISTS {self.rows()}")
        self.connection.register(self.rows(), rows)

    def close(self) -> None:
        super().close()
        if self.file is not None:
            self.file.close()


def _room(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _raw_column(data: Any, name: str, room: str) -> Any:
    """Return a column as Arrow, or as a list where it may hold anything."""
    import pyarrow as pa

    if room == "pyarrow":
        return data.column(name)
    column = data[name]
    if room == "polars":
        return column.to_list() if column.dtype.is_object() else column.to_arrow()
    if getattr(column.dtype, "kind", "O") in "iufb" and hasattr(column.dtype, "byteorder"):
        return pa.array(column.to_numpy())
    return column.tolist()


def _arrow_name(column: Column) -> str:
    # One column may be read in two ways; to DuckDB names that differ in letter case are one.
    return f"{column.type} {column.name.encode().hex()}"


def _arrow_type(wanted: str) -> Any:
    import pyarrow as pa

    return pa.type_for_alias(_TYPED[wanted][0])


def _arrow_column(values: Any, wanted: str) -> Any:
    """Return a column of the declared type; what is not of that type is missing."""
    import pyarrow as pa

    if not isinstance(values, list):
        try:
            fast = _cast(values, wanted)
            if fast is not None:
                return fast
        except pa.ArrowException:
            pass  # one by one, then: a value must not decide about the others
    return pa.array([typed(value, wanted) for value in values], _arrow_type(wanted))


def _cast(values: Any, wanted: str) -> Any:
    """Cast a column as a whole, where Arrow has a cast that takes every value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, check = values.type, pa.types
    if check.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if not _is_castable(kind, wanted):
        return None
    if wanted == "integer" and check.is_uint64(kind):
        small = pc.less_equal(values, pa.scalar(2**63 - 1, pa.uint64()))
        values = pc.if_else(small, values, None)
    if wanted == "text" and check.is_integer(kind):
        values = values.cast(pa.string())
    if check.is_string(values.type):  # without a look at the bytes: they need not be UTF-8
        values = values.cast(pa.binary())
    return values.cast(_arrow_type(wanted), safe=wanted != "number")


def _is_castable(kind: Any, wanted: str) -> bool:
    import pyarrow as pa

    return any(getattr(pa.types, f"is_{word}")(kind) for word in _TYPED[wanted][2].split())


#: The types of DuckDB whose values Arrow reads as the same, by its names.
_ALIKE = {
    "TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINTEGER": "uint32", "UBIGINT": "uint64",
    "FLOAT": "float", "DOUBLE": "double", "VARCHAR": "string", "BLOB": "binary",
    "BOOLEAN": "bool", "DATE": "date32[day]",
}  # fmt: skip


def typed(value: Any, wanted: str) -> Any:
    """Return a value as one of the declared type, or nothing: a total function.

    >>> typed("31", "integer"), typed(float("nan"), "integer"), typed("2020-02-30", "date")
    (31, None, None)
    """
    try:
        for word in ("as_py", "item"):  # of Arrow and of NumPy
            value = getattr(value, word)() if hasattr(value, word) else value
        if value is None or value != value:
            return None
        return _TYPED[wanted][1](value)
    except Exception:  # objects may be anything, and so may what they raise
        return None


def _whole(value: Any) -> int | None:
    number = int(value)
    is_whole = number == value or isinstance(value, str)
    return number if is_whole and -(2**63) <= number < 2**63 else None


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def _truth(value: Any) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).strip().lower())


def _day(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    return datetime.date.fromisoformat(str(value)[:10])


#: For each declared type what Arrow calls it, how a value becomes one, and from which of Arrow's
#: types a column is cast as a whole.
_TYPED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "integer": ("int64", _whole, "integer"),
    "number": ("double", _number, "integer floating decimal"),
    "text": ("large_binary", _bytes, "integer string large_string binary large_binary"),
    "boolean": ("bool", _truth, "boolean"),
    "date": ("date32", _day, "date"),
}


class DuckDB(_InDuckDB):
    """A table of a DuckDB file, or of an Ibis connection to DuckDB."""

    example = "duckdb:///FILE"
    schemes = ("duckdb",)
    endings = (".duckdb", ".ddb")
    backend = "duckdb"

    def connect(self) -> None:
        import duckdb

        self._open(lambda path: duckdb.connect(path, read_only=True))
        *space, name = self.parts
        found = self.connection.execute(
            "SELECT database_name, schema_name, table_name, column_name, data_type "
            "FROM duckdb_columns() WHERE lower(table_name) = lower(?) "
            "AND lower(schema_name) = lower(coalesce(?, current_schema())) "
            "AND (lower(database_name) = lower(coalesce(?, current_database())) "
            "OR (? IS NULL AND database_name = 'temp')) "
            # A temporary table hides the one that is kept.
            "ORDER BY database_name = 'temp' DESC, column_index",
            [name, space[-1] if space else None, *2 * [space[-2] if len(space) > 1 else None]],
        ).fetchall()
        if not found:
            raise self.no_table()
        self.parts = found[0][:3]
        self._locate(*self.parts)
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
    cells: ClassVar = {
        "integer": "CASE typeof({raw}) WHEN 'integer' THEN {raw} WHEN 'real' THEN CASE WHEN {raw} "
        "BETWEEN -9e18 AND 9e18 AND {raw} = ROUND({raw}) THEN CAST({raw} AS INTEGER) END "
        "WHEN 'text' THEN CASE WHEN CAST(CAST({raw} AS INTEGER) AS TEXT) = {raw} THEN "
        "CAST({raw} AS INTEGER) END END",
        "number": "CASE WHEN typeof({raw}) IN ('integer', 'real') OR (typeof({raw}) = 'text' AND "
        "{raw} GLOB '*[0-9]*' AND NOT {raw} GLOB '*[^0-9.eE+-]*') THEN CASE WHEN "
        "CAST({raw} AS REAL) BETWEEN -1e100 AND 1e100 THEN CAST({raw} AS REAL) END END",
        "boolean": "CASE LOWER({raw}) WHEN '1' THEN 1 WHEN 'true' THEN 1 WHEN '0' THEN 0 "
        "WHEN 'false' THEN 0 END",
        # Other texts are times to SQLite too: 'now' is one.
        "date": "CASE WHEN {raw} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
        "THEN date(substr({raw}, 1, 10)) END",
        "text": "CAST({raw} AS BLOB)",
    }

    def connect(self) -> None:
        import sqlite3

        self._open(sqlite3.connect)
        if self.is_own:
            self.connection.execute("PRAGMA query_only = ON")
        *space, name = self.parts
        self.parts = [*(space or ["main"]), name]
        self._locate(self.parts[0], "main", name)

    def columns(self) -> Mapping[str, str]:
        found = self.connection.execute(
            "SELECT name FROM pragma_table_xinfo(?, ?)", [self.parts[-1], *self.parts[:-1]]
        ).fetchall()
        if not found:
            raise self.no_table()
        return {row[0]: "" for row in found}

    def day(self, day: str) -> str:
        return f"'{day}'"


class PostgreSQL(Source):
    """A table of a PostgreSQL server."""

    example = "postgresql://…"
    schemes = ("postgresql", "postgres")
    dialect = "postgres"
    backend = "postgres"
    cells: ClassVar = {
        "integer": "{raw}::bigint",
        "integer from number": "CASE WHEN abs({raw}) < 9e18 AND {raw} = floor({raw}) "
        "THEN {raw}::bigint END",
        "number": "{raw}::double precision",
        # A numeric beyond the doubles, either way, would end the query.
        "number from number": "CASE WHEN abs({raw}) < 1e-100 THEN 0 WHEN abs({raw}) <= 1e100 "
        "THEN {raw}::double precision END",
        "boolean": "{raw}::boolean",
        "date": "{raw}::date",
        "text": '{raw}::text COLLATE "C"',
        "text from number": "NULLIF({raw}::text, 'NaN') COLLATE \"C\"",
    }

    def connect(self) -> None:
        if isinstance(self.data, str | Path):
            self.connection = self._connected(str(self.data))
        else:  # a session of its own: the other one keeps its settings
            import psycopg

            about = self.data.con.info
            self.connection = psycopg.connect(about.dsn, password=about.password, autocommit=True)
        # Not the whole server's settings: this session's, and so that SQL means what it says.
        for setting in (
            "default_transaction_read_only = on",
            "standard_conforming_strings = on",
            "datestyle = ISO",
        ):
            self._run(f"SET {setting}")
        self._resolve()

    def _connected(self, address: str) -> Any:
        import psycopg

        # What libpq says of an address that it cannot read quotes it, passwords and all.
        text = "postgresql:" + address.partition(":")[2]
        with refusing(f"{self.shown} is no address of PostgreSQL", psycopg.Error):
            psycopg.conninfo.conninfo_to_dict(text)
        try:
            return psycopg.connect(text, autocommit=True)
        except psycopg.Error as failed:
            reason = {"28": "it refuses this user", "3D": "it has no such database"}.get(
                (failed.sqlstate or "")[:2], "no server answers there"
            )
            raise InputError(f"{self.shown} cannot be opened: {reason}") from None

    def _run(self, sql: str, *values: Any) -> list[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall()) if cursor.description else []

    def _resolve(self) -> None:
        """Follow the search path to the one table that the name means, and take leave of it."""
        found = self._run(
            "SELECT s.nspname, t.relname, t.oid FROM pg_catalog.pg_class t "
            "JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace "
            "WHERE t.oid = pg_catalog.to_regclass(%s)",
            self.rows(),
        )
        if not found:
            raise self.no_table()
        *self.parts, self._number = found[0]
        self._run("SET search_path = pg_catalog")

    def columns(self) -> Mapping[str, str]:
        return dict(
            self._run(
                "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE "
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
            f"{self.shown}: the server's identity is not told to this role, so that its tables "
            "have no account: GRANT EXECUTE ON FUNCTION pg_control_system() to it",
            psycopg.Error,
        ):
            system = self._run("SELECT system_identifier FROM pg_control_system()")[0][0]
        return SourceIdentity(
            (
                f"postgresql:{system}/{database}/{self.relation}",
                f"postgresql:{system}/{number}/{self._number}",
            )
        )

    def check(self, sql: str) -> None:
        """Have the server read the SQL: a constant may have signs that its encoding lacks."""
        import psycopg

        with refusing(f"{self.shown} cannot run this question, whatever its rows", psycopg.Error):
            self._run(f"PREPARE tightrope AS {sql}".replace("%", "%%"))
            self._run("DEALLOCATE tightrope")

    def text(self, value: str) -> str:
        return _string(value)


class Spark(Source):
    """A table that Spark reads: a Parquet file, a table of its catalogue, or a Connect server."""

    example = "spark:FILE, spark:TABLE, spark+remote://HOST"
    schemes = ("spark", "spark+remote")
    dialect = "spark"
    backend = "pyspark"
    quote = "`"
    cells: ClassVar = Source.cells | {
        "text": "CAST(CAST({raw} AS STRING) AS BINARY)",
        "text from number": "CAST(NULLIF(CAST({raw} AS STRING), 'NaN') AS BINARY)",
    }
    is_own = False

    @classmethod
    def holds(cls, data: Any) -> bool:
        return type(data).__name__ == "SparkSession" or super().holds(data)

    def connect(self) -> None:
        if not isinstance(self.data, str | Path):
            self.session = getattr(self.data, "_session", self.data)
            return
        from pyspark.sql import SparkSession

        scheme, _, rest = str(self.data).partition(":")
        if scheme.lower() == "spark+remote":
            # Without it Spark Connect may end the whole process instead of raising an error.
            if importlib.util.find_spec("grpc") is None:
                raise InputError(f"{self.shown} cannot be opened: Spark Connect needs grpcio")
            # A session of its own: one that is there already may be at another server.
            self.session = SparkSession.builder.remote(f"sc:{rest}").create()
            self.is_own = True
            self._check_answers()
            return
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        self.session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        if rest.lower().endswith(ParquetFile.endings):
            if set(rest) & set("*?[{"):
                raise InputError(f"{rest}: Spark takes this for a pattern: rename the file")
            self.path = _file(rest)
            self.parts = [f"tightrope_{id(self)}"]
            self.session.read.parquet(self.path).createOrReplaceTempView(self.relation)
        elif rest:
            self.parts = rest.split(".")

    def _check_answers(self) -> None:
        """Ask a Spark Connect server for its version, once: it would be asked for minutes."""
        client = self.session.client
        patience = client.get_retry_policies()
        client.set_retry_policies([])
        with refusing(
            f"{self.shown}: no Spark Connect server answers there (with a token it must speak TLS)",
            Exception,
        ):
            _ = self.session.version
        client.set_retry_policies(patience)

    def columns(self) -> Mapping[str, str]:
        fields = self.session.table(self.rows()).schema.fields
        return {field.name: field.dataType.simpleString() for field in fields}

    def identity(self) -> SourceIdentity:
        if self.path:
            return super().identity()
        known = self.session.catalog
        about = known.getTable(self.rows())
        if about.isTemporary:
            return super().identity()
        space = ".".join(about.namespace or [known.currentDatabase()])
        table = f"{about.catalog or known.currentCatalog()}/{space}.{about.name}"
        places = [""]
        if self.is_own:  # a server has several addresses, and a number until it is started anew
            places = [shown_address(self.data), self.session.conf.get("spark.app.id")]
        return SourceIdentity(f"spark:{place}/{table}" for place in places)

    def fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        found: Sequence[Sequence[Any]] = self.session.sql(sql).collect()
        return found

    def close(self) -> None:
        if self.path:
            self.session.catalog.dropTempView(self.relation)
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
            names = list(self.table.columns)  # a plan may look at rows for it; they must not decide
        if len(set(names)) < len(names):
            raise InputError(f"{self.shown}: the columns must have different names")
        return dict.fromkeys(names, "")

    def prepare(self, columns: Sequence[Column]) -> None:
        import pyarrow as pa

        names = [column.name for column in columns]
        data, room = self.data, _room(self.data)
        if room == "polars" and hasattr(data, "collect"):
            data = data.collect()
        elif room == "ibis":
            data, room = data.to_pyarrow(), "pyarrow"
        elif room not in ("pandas", "polars") and not isinstance(data, pa.Table):
            is_dataset = hasattr(data, "to_table")
            data, room = data.to_table(columns=names) if is_dataset else pa.table(data), "pyarrow"
        made = {
            _arrow_name(c): _arrow_column(_raw_column(data, c.name, room), c.type) for c in columns
        }
        self.connection.register(
            self.rows(), pa.table(made or {"one": pa.nulls(len(data), pa.int8())})
        )
