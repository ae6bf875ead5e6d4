"""Where entries are kept: SQLite or PostgreSQL, through SQLAlchemy Core.

One writer at a time. SQLite takes its write lock when a transaction begins; in PostgreSQL
writers wait for one lock. Every commit is on disk before it returns. Databases are asked to refuse
changes and removals of entries, against accidents; against intent there are the hashes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tightrope.errors import InputError
from tightrope.publish.addresses import (
    PATIENCE,
    LedgerError,
    TryAgain,
    advice,
    one_line,
    read_address,
)
from tightrope.publish.chain import Entry, canonical

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.engine import Connection, Engine

#: How often a transaction is begun anew when the database asks for it.
ATTEMPTS = 8
#: The number of the lock that writers of a ledger in PostgreSQL wait for.
LOCK_NUMBER = 7_821_002_553
#: Largest number of entries that are held in memory at once.
BATCH = 1000

_Result = TypeVar("_Result")

_LOOK = "nothing more is written; 'tightrope ledger verify' says what is wrong"
#: What the objects of the state hold, by the first word of their names.
_PARTS = {
    "ledger": {"id", "version"},
    "head": {"position", "hash"},
    "account": {"budget", "whole", "partitions"},
    "request": {"phase", "request", "charges", "reserve"},
}

_GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER ledger_no_{verb} BEFORE {verb} ON ledger_entries "
        "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed or removed'); END"
        for verb in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'entries of a ledger are never changed or removed'; END $$",
        "CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "
        "ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only()",
    ],
}


class Store:
    """The two tables of a ledger, entries and state, in one database.

    Parameters
    ----------
    url
        ``sqlite:///FILE``, the name of a file, or ``postgresql://…``.

    Examples
    --------
    >>> Store("ledger.db").file.name, Store("postgresql://host/db").file
    ('ledger.db', None)
    """

    def __init__(self, url: str | Path) -> None:
        self.text = str(url)
        self._url, self.file = read_address(self.text)

    @property
    def name(self) -> str:
        """The address without its password."""
        return str(self.file) if self.file else str(self._url.render_as_string(hide_password=True))

    @property
    def exists(self) -> bool:
        """Whether a ledger is there."""
        if self.file is not None and not self.file.exists():
            return False
        import sqlalchemy as sa

        with self.reading() as connection:
            return bool(sa.inspect(connection).has_table("ledger_entries"))

    def create(self, first: Callable[[Connection], None]) -> None:
        """Make the tables and write the first entry, all or nothing."""
        import sqlalchemy as sa

        if self.file is not None and not self.file.parent.is_dir():
            raise LedgerError(f"{self.name}: there is no folder for the ledger: make it first")

        def make(connection: Connection) -> None:
            # Somebody else may have made it while this transaction waited.
            if sa.inspect(connection).has_table("ledger_entries"):
                raise InputError(f"{self.name}: there is a ledger already")
            self._metadata.create_all(connection)
            for statement in _GUARDS[connection.dialect.name]:
                connection.exec_driver_sql(statement)
            first(connection)

        self.write(make)

    # -- transactions ---------------------------------------------------------------------

    def write(self, work: Callable[[Connection], _Result]) -> _Result:
        """Run work in a transaction of its own, alone, and make it last."""
        for attempt in range(ATTEMPTS):
            try:
                with (
                    self._translated(),
                    self._engine.connect() as connection,
                    connection.begin(),
                ):
                    self._lock(connection)
                    return work(connection)
            except TryAgain as again:
                if attempt == ATTEMPTS - 1:
                    raise LedgerError(
                        f"{self.name}: the database kept asking to try again: {again}"
                    ) from None
                time.sleep(0.01 * 2**attempt)
        raise AssertionError("unreachable")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the ledger and changes nothing."""
        with self._translated(), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            else:
                connection.info["plain_begin"] = True
            with connection.begin():
                yield connection

    def _lock(self, connection: Connection) -> None:
        if connection.dialect.name != "postgresql":
            return
        # Under READ COMMITTED each statement sees what was committed before it: after the
        # lock is granted, that is everything. A lock by number needs no right on the tables.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK_NUMBER})")

    # -- entries and state ----------------------------------------------------------------

    def append(self, connection: Connection, entry: Entry) -> None:
        """Add an entry at the end."""
        connection.execute(
            self._entries.insert().values(
                position=entry.position,
                previous=entry.previous,
                time=entry.time,
                body=canonical(dict(entry.body)),
                hash=entry.hash,
            )
        )

    def last(self, connection: Connection) -> Entry | None:
        """Return the last entry."""
        query = self._entries.select().order_by(self._entries.c.position.desc()).limit(1)
        row = connection.execute(query).first()
        return None if row is None else _entry(row)

    def entry(self, connection: Connection, position: int) -> Entry:
        """Return the entry at a position."""
        query = self._entries.select().where(self._entries.c.position == position)
        row = connection.execute(query).first()
        if row is None:
            raise LedgerError(f"{self.name}: entry {position} is missing: {_LOOK}")
        found = _entry(row)
        if not found.is_whole:
            raise LedgerError(f"{self.name}: entry {position} was altered: {_LOOK}")
        return found

    def entries(self, connection: Connection) -> Iterator[Entry]:
        """Walk through all entries in the order of their positions."""
        query = self._entries.select().order_by(self._entries.c.position)
        for row in connection.execution_options(yield_per=BATCH).execute(query):
            yield _entry(row)

    def state(self, connection: Connection) -> StoredState:
        """Return the state as a mapping; :meth:`StoredState.save` writes what was changed."""
        return StoredState(connection, self._state)

    # -- engine ---------------------------------------------------------------------------

    @cached_property
    def _metadata(self) -> sa.MetaData:
        import sqlalchemy as sa

        metadata = sa.MetaData()
        sa.Table(
            "ledger_entries",
            metadata,
            sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("previous", sa.Text, nullable=False, unique=True),
            sa.Column("time", sa.Text, nullable=False),
            sa.Column("body", sa.Text, nullable=False),
            sa.Column("hash", sa.Text, nullable=False, unique=True),
        )
        sa.Table(
            "ledger_state",
            metadata,
            sa.Column("name", sa.Text, primary_key=True),
            sa.Column("value", sa.Text, nullable=False),
        )
        return metadata

    @property
    def _entries(self) -> sa.Table:
        return self._metadata.tables["ledger_entries"]

    @property
    def _state(self) -> sa.Table:
        return self._metadata.tables["ledger_state"]

    @cached_property
    def _engine(self) -> Engine:
        import sqlalchemy as sa

        # No pool: a connection must not travel into a forked process.
        if self.file is None:
            return sa.create_engine(
                self._url, poolclass=sa.pool.NullPool, isolation_level="READ COMMITTED"
            )
        engine = sa.create_engine(
            self._url, poolclass=sa.pool.NullPool, connect_args={"timeout": PATIENCE}
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(raw: Any, record: Any) -> None:
            raw.isolation_level = None  # the transactions are ours, not the driver's
            # One file at rest, and a commit is on the disk, its folder entry included.
            raw.execute("PRAGMA synchronous = EXTRA")

        @sa.event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            plain = connection.info.pop("plain_begin", False)
            connection.exec_driver_sql("BEGIN" if plain else "BEGIN IMMEDIATE")

        return engine

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what a driver raises into one clear line."""
        try:
            from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
        except ImportError:
            raise InputError(
                "a ledger needs SQLAlchemy: install tightrope with the extra 'data'"
            ) from None
        try:
            yield
        except DBAPIError as refused:
            problem = refused.orig or refused
            if getattr(problem, "sqlstate", None) in ("40001", "40P01"):
                raise TryAgain(one_line(problem)) from None
            raise LedgerError(f"{self.name}: {advice(problem)}") from None
        except (ArgumentError, NoSuchModuleError) as wrong:
            raise InputError(f"{self.name}: {one_line(wrong)}") from None


class StoredState(MutableMapping[str, dict[str, Any]]):
    """The state of a ledger inside one transaction; reads are fresh, writes wait for ``save``.

    >>> issubclass(StoredState, MutableMapping)
    True
    """

    def __init__(self, connection: Connection, table: sa.Table) -> None:
        self._connection = connection
        self._table = table
        self._seen: dict[str, dict[str, Any] | None] = {}
        self._changed: set[str] = set()

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._seen:
            query = self._table.select().where(self._table.c.name == name)
            row = self._connection.execute(query).first()
            self._seen[name] = None if row is None else _stored(name, row.value)
        found = self._seen[name]
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: dict[str, Any]) -> None:
        self._changed.add(name)
        self._seen[name] = value

    def __delitem__(self, name: str) -> None:
        raise InputError("nothing is removed from a ledger")

    def __iter__(self) -> Iterator[str]:
        rows = self._connection.execute(self._table.select().order_by(self._table.c.name))
        return iter([row.name for row in rows])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def save(self) -> None:
        """Write what was changed."""
        for name in sorted(self._changed):
            text = canonical(self._seen[name])
            match = self._table.c.name == name
            done = self._connection.execute(self._table.update().where(match).values(value=text))
            if done.rowcount == 0:
                self._connection.execute(self._table.insert().values(name=name, value=text))
        self._changed.clear()


def _stored(name: str, text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)
        if _PARTS[name.partition(":")[0]] <= value.keys():
            return value
    except (ValueError, KeyError, AttributeError):
        pass
    raise LedgerError(f"the stored {name} is damaged: {_LOOK}")


def _entry(row: Any) -> Entry:
    try:
        body = json.loads(row.body)
    except ValueError:
        body = {"kind": "unreadable", "text": row.body}
    if not isinstance(body, dict):
        body = {"kind": "unreadable", "text": row.body}
    return Entry(row.position, row.previous, row.time, body, row.hash)
