"""Where tables are: files, DuckDB, SQLite, PostgreSQL, Polars and Spark, through Ibis.

A source is opened to read, its columns are compared with the declared ones, and one SQL text
that Tightrope built is run on it. Looking at the columns reads the catalogue, not the rows.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.errors import InputError, TightropeError
from tightrope.publish.facts import Column, Table
from tightrope.publish.text_files import TEXT_FILES, text_file_query

PARQUET_FILES = (".parquet", ".pq")
_KNOWN = (
    "a CSV or Parquet file, duckdb:///FILE, sqlite:///FILE, postgresql://…, polars:FILE, "
    "spark:FILE, spark:TABLE or spark+remote://HOST"
)


class SourceFailed(TightropeError):
    """A source that broke off while it answered; the reason is not shown, as it may tell of rows.

    >>> str(SourceFailed("the source failed"))
    'the source failed'
    """

    @classmethod
    def while_answering(cls, name: str) -> SourceFailed:
        """Return the one sentence that is said of every failure after the charge."""
        return cls(
            f"{name} failed while it answered; what was charged stays charged and no answer was "
            "drawn: mend the source and ask again with the same key"
        )


@dataclass
class Source:
    """An open source with one table of interest.

    Attributes
    ----------
    name
        The address without a password.
    dialect
        The SQL dialect, by sqlglot's name.
    relation
        The name of the table there.
    backend
        The Ibis backend.

    Examples
    --------
    >>> import pyarrow
    >>> people = pyarrow.table({"age": [31, 44]})
    >>> with open_source(people, Table("people", 2)) as source:
    ...     source.run('SELECT COUNT(*) FROM "people"')
    [(2,)]
    """

    name: str
    dialect: str
    relation: str
    backend: Any
    _fetch: Callable[[str], Sequence[Any]]
    _close: Callable[[], None]

    def check_columns(self, columns: Sequence[Column]) -> None:
        """Refuse a table whose columns are not those that were declared."""
        *schema, name = self.relation.split(".")
        try:
            with _quietly():
                database = ".".join(schema) or None
                found = self.backend.table(name, database=database).schema()
        except Exception as problem:
            raise InputError(
                f"{self.name} has no table {self.relation!r} that can be read: {_line(problem)}"
            ) from None
        for column in columns:
            if column.name not in found:
                raise InputError(
                    f"table {self.relation!r} has no column {column.name!r} (it has "
                    f"{', '.join(found.names)})"
                )
            if not _fits(found[column.name], column.type, self.dialect):
                raise InputError(
                    f"column {column.name!r} is declared as {column.type}; at the source it is "
                    f"{found[column.name]}"
                )

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run SQL that Tightrope built."""
        try:
            with _quietly():
                return [tuple(row) for row in self._fetch(sql)]
        except Exception:
            raise SourceFailed.while_answering(self.name) from None


@contextmanager
def open_source(data: Any, table: Table) -> Iterator[Source]:
    """Open a source for reading one table, and close it afterwards.

    Parameters
    ----------
    data
        An address, a path, an Ibis backend, an Ibis or Polars or Arrow table, or a Spark
        session.
    table
        The table that will be read.

    Examples
    --------
    >>> with open_source("people.xls", Table("people", 2)):
    ...     pass
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: data must be a CSV or Parquet file, duckdb:///FILE, ...
    """
    try:
        with _quietly():
            source = _connect(data, table)
    except TightropeError:
        raise
    except ImportError as missing:
        if missing.name is None:  # Spark Connect says in its own words what it misses
            raise InputError(f"{_name(data)} cannot be opened: {_line(missing)}") from None
        raise InputError(
            f"this source needs {missing.name}: install tightrope with the extra 'data'"
        ) from None
    except Exception as problem:
        raise InputError(f"{_name(data)} cannot be opened: {_line(problem)}") from None
    try:
        yield source
    finally:
        with _quietly():
            source._close()


def dialect_of(data: Any) -> str:
    """Return the SQL dialect that a source speaks, without opening it.

    >>> dialect_of("people.csv"), dialect_of("postgresql://host/db"), dialect_of("spark:people")
    ('duckdb', 'postgres', 'spark')
    """
    if isinstance(data, str | Path):
        text = str(data)
        for start, dialect in _DIALECTS:
            if text.lower().startswith(start):
                return dialect
        return "sqlite" if text.lower().endswith((".sqlite", ".sqlite3", ".db")) else "duckdb"
    if type(data).__name__ == "SparkSession":
        return "spark"
    return _backend_dialect(data) if _is_backend(data) else "duckdb"


_POSTGRES, _SPARK = ("postgresql://", "postgres://"), ("spark:", "spark+remote:")
_DIALECTS = (
    (_POSTGRES, "postgres"),
    ("sqlite:", "sqlite"),
    (_SPARK, "spark"),
    ("polars:", "duckdb"),
)


def _connect(data: Any, table: Table) -> Source:
    import ibis

    relation = table.relation or table.name
    if isinstance(data, str | Path):
        return _by_address(str(data), table, relation)
    if type(data).__name__ == "SparkSession":
        return _spark(data, relation, "spark", lambda: None)
    if _is_backend(data):
        return _from_backend(data, relation)
    backend = ibis.duckdb.connect()
    frame = data.to_pyarrow() if hasattr(data, "to_pyarrow") else data
    frame = frame.collect() if hasattr(frame, "collect") else frame
    frame = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    if not hasattr(frame, "to_reader") and not hasattr(frame, "columns"):
        raise InputError(f"data must be {_KNOWN}, or a table; got {type(data).__name__}")
    backend.con.register(relation, frame)
    return _duckdb(backend, relation, "the given table")


def _by_address(text: str, table: Table, relation: str) -> Source:
    import ibis

    lower = text.lower()
    if lower.startswith(_POSTGRES):
        return _postgres(text, relation)
    if lower.startswith(_SPARK):
        return _spark_address(text, relation)
    if lower.startswith("polars:"):
        return _polars(_file(text.partition(":")[2]), relation)
    if lower.startswith("sqlite:") or lower.endswith((".sqlite", ".sqlite3", ".db")):
        path = _file(text.partition("://")[2].removeprefix("/") if "://" in text else text)
        backend = ibis.sqlite.connect(path)
        backend.con.execute("PRAGMA query_only = ON")
        # A text that is no UTF-8 is somebody's; it must not end the question.
        backend.con.text_factory = lambda raw: raw.decode(errors="replace")
        return _sqlite(backend, relation, text)
    if lower.startswith("duckdb:") or lower.endswith((".duckdb", ".ddb")):
        path = _file(text.partition("://")[2].removeprefix("/") if "://" in text else text)
        return _duckdb(ibis.duckdb.connect(path, read_only=True), relation, text)
    if lower.endswith(TEXT_FILES + PARQUET_FILES):
        return _file_in_duckdb(_file(text, several=True), table, relation)
    raise InputError(f"data must be {_KNOWN}; got {text[:80]!r}")


def _file_in_duckdb(path: str, table: Table, relation: str) -> Source:
    import ibis
    from sqlglot import exp

    backend = ibis.duckdb.connect()
    view = exp.to_identifier(relation.rsplit(".", maxsplit=1)[-1], quoted=True).sql("duckdb")
    if path.lower().endswith(PARQUET_FILES):
        query = f"SELECT * FROM read_parquet({exp.Literal.string(path).sql('duckdb')})"
    else:
        query = text_file_query(path, table)
    backend.raw_sql(f"CREATE TEMP VIEW {view} AS {query}")
    return _duckdb(backend, relation.rsplit(".", maxsplit=1)[-1], path)


def _duckdb(backend: Any, relation: str, name: str) -> Source:
    return Source(
        name,
        "duckdb",
        relation,
        backend,
        lambda sql: backend.con.execute(sql).fetchall(),
        backend.disconnect,
    )


def _sqlite(backend: Any, relation: str, name: str) -> Source:
    return Source(
        name,
        "sqlite",
        relation,
        backend,
        lambda sql: backend.con.execute(sql).fetchall(),
        backend.disconnect,
    )


def _postgres(text: str, relation: str) -> Source:
    import ibis
    import psycopg

    connection = psycopg.connect(text.replace("postgres://", "postgresql://", 1), autocommit=True)
    connection.execute("SET default_transaction_read_only = on")
    connection.execute("SET standard_conforming_strings = on")  # as the SQL is written
    backend = ibis.postgres.from_connection(connection)
    name = psycopg.conninfo.make_conninfo(text, password=None)
    return Source(
        name,
        "postgres",
        relation,
        backend,
        lambda sql: connection.execute(sql.encode()).fetchall(),
        connection.close,
    )


def _polars(path: str, relation: str) -> Source:
    import ibis

    if not path.lower().endswith(PARQUET_FILES):
        # Polars would guess the types of a text file from its rows.
        raise InputError(f"polars: reads Parquet files; give {path!r} without polars:")
    backend = ibis.polars.connect()
    backend.read_parquet(path, table_name=relation)
    return Source(
        path,
        "duckdb",
        relation,
        backend,
        lambda sql: backend.sql(sql).to_polars().rows(),
        lambda: None,
    )


def _spark_address(text: str, relation: str) -> Source:
    from pyspark.sql import SparkSession

    kind, _, rest = text.partition(":")
    if kind.lower() == "spark+remote":
        # Without it Spark Connect may end the whole process instead of raising an error.
        if importlib.util.find_spec("grpc") is None:
            raise InputError(f"{_name(text)} cannot be opened: Spark Connect needs grpcio")
        # A session of its own: one that is there already may be at another server.
        session = SparkSession.builder.remote(f"sc:{rest}").create()
        _check_answers(session, _name(text))
        return _spark(session, relation, _name(text), session.stop)
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    if rest.lower().endswith(PARQUET_FILES):
        session.read.parquet(_file(rest)).createOrReplaceTempView(relation)
    elif rest:
        relation = rest
    return _spark(session, relation, text, lambda: None)


def _check_answers(session: Any, name: str) -> None:
    """Ask a Spark Connect server for its version, once: it would be asked for minutes."""
    client = session.client
    patience = client.get_retry_policies()
    client.set_retry_policies([])
    try:
        _ = session.version
    except Exception:
        raise InputError(
            f"{name}: no Spark Connect server answers there (with a token it must speak TLS)"
        ) from None
    client.set_retry_policies(patience)


def _spark(session: Any, relation: str, name: str, close: Callable[[], None]) -> Source:
    import ibis

    backend = ibis.pyspark.connect(session)
    return Source(name, "spark", relation, backend, lambda sql: session.sql(sql).collect(), close)


def _is_backend(data: Any) -> bool:
    return hasattr(data, "raw_sql") or type(data).__module__.startswith("ibis.backends.")


def _backend_dialect(backend: Any) -> str:
    known = {"duckdb": "duckdb", "sqlite": "sqlite", "postgres": "postgres", "pyspark": "spark"}
    if backend.name not in known:
        raise InputError(f"an Ibis backend must be one of {', '.join(known)}, got {backend.name!r}")
    return known[backend.name]


def _from_backend(backend: Any, relation: str) -> Source:
    dialect = _backend_dialect(backend)
    fetch: Callable[[str], Sequence[Any]]
    if dialect == "spark":

        def fetch(sql: str) -> Sequence[Any]:
            return list(backend._session.sql(sql).collect())

    else:

        def fetch(sql: str) -> Sequence[Any]:
            return list(backend.con.execute(sql).fetchall())

    return Source(backend.name, dialect, relation, backend, fetch, lambda: None)


def _file(path: str, several: bool = False) -> str:
    if not Path(path).exists() and not (several and "*" in path):
        raise InputError(f"{path}: there is no such file")
    return path


def _fits(found: Any, wanted: str, dialect: str) -> bool:
    if wanted == "integer":
        return bool(found.is_integer())
    if wanted == "number":
        return bool(found.is_numeric() and not found.is_boolean())
    if wanted == "boolean":
        return bool(found.is_boolean() or (dialect == "sqlite" and found.is_integer()))
    if wanted == "date":
        return bool(found.is_date() or (dialect == "sqlite" and found.is_string()))
    return bool(found.is_string())


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the warnings of the libraries below (deprecations among themselves) to them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _name(data: Any) -> str:
    if not isinstance(data, str | Path):
        return type(data).__name__
    text = str(data)
    scheme, separator, rest = text.partition("://")
    # What may hold a password or a token is left out.
    return f"{scheme}://{re.split('[;?]', rest.rpartition('@')[2])[0]}" if separator else text


def _line(problem: BaseException) -> str:
    return " ".join(str(problem).split())[:200]
