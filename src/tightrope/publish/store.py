"""Where a ledger is kept: SQLite or PostgreSQL, through SQLAlchemy Core.

One writer at a time. SQLite takes its write lock when a transaction begins; in PostgreSQL
writers wait for one lock. Every commit is on disk before it returns. Databases are asked to refuse
changes and removals of entries, against accidents; against intent there are the hashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tightrope.errors import InputError
from tightrope.files import parse_json
from tightrope.publish.entries import (
    Entry,
    LedgerError,
    apply_entry,
    canonical,
    is_sound,
)

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.engine import Connection, Engine

#: Seconds that a writer waits for the others.
PATIENCE = 60

_Result = TypeVar("_Result")

_LOOK = "nothing more is written; 'tightrope ledger verify' says what is wrong"
#: What may be shown of the options of an address.
_PUBLIC = ("host", "port", "user", "dbname")
#: The time of the database, as text: one clock for all processes, read inside the transaction.
_CLOCKS = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', "
    '\'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')',
}

_GUARDS = {
    "sqlite": [
        # SQLite has no TRUNCATE and no statement triggers, so two row triggers suffice.
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
        ``sqlite:///FILE``, the name of a file, or ``postgresql://…``. Links are followed, so that
        a ledger is the same one whatever way leads to it.

    Examples
    --------
    >>> Store("ledger.db").file.name, Store("postgresql://host/db").file
    ('ledger.db', None)
    """

    def __init__(self, url: str | Path) -> None:
        if not isinstance(url, str | Path):
            raise InputError(
                f"a ledger is a file or an address, got {type(url).__name__}"
            )
        # The password is separated from what is shown before anything can fail.
        self._url, file = read_address(str(url))
        self.file = None
        if file is None:
            # A password may also stand behind the question mark.
            shown = {
                word: value
                for word, value in self._url.query.items()
                if word in _PUBLIC
            }
            self.name = self._url.set(query=shown).render_as_string(hide_password=True)
            hidden = [
                value for word, value in self._url.query.items() if word not in _PUBLIC
            ]
            # Drivers repeat options in their errors; these texts are removed there.
            self._secrets = [*map(str, hidden), *filter(None, [self._url.password])]
        else:
            self.name = str(file)
            self._secrets = []
            # Resolve links, so that two paths to one ledger are one ledger and share the lock.
            self.file = Path(file).resolve()
            self._url = self._url.set(database=str(self.file))

    @property
    def exists(self) -> bool:
        """Whether a ledger is there."""
        # Connecting would create an empty SQLite file.
        if self.file is not None and not self.file.exists():
            return False
        self._check_one_name()
        import sqlalchemy as sa

        with self.reading() as transaction:
            return bool(sa.inspect(transaction.connection).has_table("ledger_entries"))

    def _check_one_name(self) -> None:
        """Refuse a file with several hard links.

        SQLite finds the journal of an interrupted step by the name of the file. Under another name
        the step would stay half done, and be undone later together with all that followed.
        """
        if self.file is None:
            return
        names = self.file.stat().st_nlink
        if names > 1:
            raise LedgerError(
                f"{self.name}: this file has {names} names (hard links), and a ledger must have "
                "one: keep the name it was made under and remove the others; copy a ledger with cp"
            )

    def create(self, first: Callable[[Transaction], object]) -> None:
        """Make the tables and write the first entry, all or nothing."""
        import sqlalchemy as sa

        if self.file is not None and not self.file.parent.is_dir():
            raise LedgerError(
                f"{self.name}: there is no folder for the ledger: make it first"
            )

        def make(transaction: Transaction) -> None:
            connection = transaction.connection
            # Somebody else may have made it while this transaction waited.
            if sa.inspect(connection).has_table("ledger_entries"):
                raise InputError(f"{self.name}: there is a ledger already")
            self._metadata.create_all(connection)
            for statement in _GUARDS[connection.dialect.name]:
                connection.exec_driver_sql(statement)
            first(transaction)

        self.write(make)

    def write(self, work: Callable[[Transaction], _Result]) -> _Result:
        """Run work in a transaction of its own, alone, and make it last."""
        with (
            self._translated(),
            self._engine.connect() as connection,
            # The lock is taken when the transaction begins, before anything is read.
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                # Under READ COMMITTED each statement sees what was committed before it: after the
                # lock is granted, that is everything, and no transaction must be tried again. A
                # lock by number, the same for all ledgers, needs no right on the tables.
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7821002553)")
            return work(Transaction(self.name, connection, self._metadata))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that sees one state of the ledger and changes nothing."""
        with self._translated(), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                # One snapshot: verification must not see entries of a writer between two queries.
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            else:
                # Readers begin deferred: they take no write lock and do not block a charge.
                connection.info["plain_begin"] = True
            with connection.begin():
                yield Transaction(self.name, connection, self._metadata)

    @cached_property
    def _metadata(self) -> sa.MetaData:
        import sqlalchemy as sa

        metadata = sa.MetaData()
        sa.Table(
            "ledger_entries",
            metadata,
            sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
            # Each entry has one successor: a fork of the chain violates this constraint.
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
            # IMMEDIATE takes the write lock at once: a deferred reader cannot become a writer
            # safely.
            connection.exec_driver_sql("BEGIN" if plain else "BEGIN IMMEDIATE")

        return engine

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what a driver raises into one clear line."""
        from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

        try:
            yield
        # "from None": the chained driver error would show statement and parameters.
        except DBAPIError as refused:
            line = self._line(refused.orig or refused)
            raise LedgerError(f"{self.name}: {_advice(line)}") from None
        except (ArgumentError, NoSuchModuleError) as wrong:
            raise InputError(f"{self.name}: {self._line(wrong)}") from None

    def _line(self, problem: BaseException) -> str:
        """Return what went wrong as one line, without what is secret."""
        text = " ".join(str(problem).split()) or type(problem).__name__
        # Error texts may quote the connection string.
        for secret in self._secrets:
            text = text.replace(str(secret), "***")
        return text[:300]


class Transaction:
    """One look at a ledger, or one change of it."""

    def __init__(self, name: str, connection: Connection, tables: sa.MetaData) -> None:
        self.name = name
        self.connection = connection
        self._entries = tables.tables["ledger_entries"]
        # Balances are stored beside the entries, so that a charge needs no replay of the whole
        # chain.
        self.state = StoredState(connection, tables.tables["ledger_state"])

    def now(self) -> str:
        """Return the time of the database, if its clock can be right.

        Times are compared as texts, and reservations end later than they begin: neither holds
        from the year 10000 on.
        """
        clock = _CLOCKS[self.connection.dialect.name]
        now = str(self.connection.exec_driver_sql(clock).scalar())
        # Fixed width and years 2000 to 8999: the range in which texts order like times.
        if not re.fullmatch(r"[2-8]\d{3}-.{18}Z", now):
            raise LedgerError(
                f"{self.name}: the clock of the ledger's database says {now}: set it; nothing "
                "was written"
            )
        return now

    def last(self) -> Entry | None:
        """Return the last entry."""
        query = (
            self._entries.select().order_by(self._entries.c.position.desc()).limit(1)
        )
        row = self.connection.execute(query).first()
        return None if row is None else _entry(row)

    def entry(self, position: int) -> Entry:
        """Return the entry at a position, if its hash is right."""
        query = self._entries.select().where(self._entries.c.position == position)
        is_one = 0 < position < 2**63  # other numbers are no keys of a database
        row = self.connection.execute(query).first() if is_one else None
        if row is None:
            raise LedgerError(f"{self.name}: entry {position} is missing: {_LOOK}")
        found = _entry(row)
        # Recompute the hash at every read: answers are returned from here.
        if not found.is_whole:
            raise LedgerError(f"{self.name}: entry {position} was altered: {_LOOK}")
        return found

    def entries(self) -> Iterator[Entry]:
        """Walk through all entries in the order of their positions, a thousand at a time."""
        query = self._entries.select().order_by(self._entries.c.position)
        # Streamed, because a ledger grows without limit.
        for row in self.connection.execution_options(yield_per=1000).execute(query):
            yield _entry(row)

    def append(self, body: Mapping[str, Any]) -> Entry:
        """Add an entry at the end, if the end is whole and the machine allows the entry."""
        last = self.last()
        end = None if last is None else {"position": last.position, "hash": last.hash}
        # Extending a broken chain would make the break look like history.
        if self.state.get("head") != end or not (last is None or last.is_whole):
            raise LedgerError(
                f"{self.name}: the end of the ledger was altered, so nothing is added to it: "
                "'tightrope ledger verify' says what is wrong"
            )
        entry = Entry.after(last, body, self.now())
        # The state machine is the only judge: if it raises, the transaction rolls back whole.
        apply_entry(self.state, entry)
        self._insert(entry)
        # Head and entry are written in one transaction, so they can only differ by tampering.
        self.state["head"] = {"position": entry.position, "hash": entry.hash}
        self.state.save()
        return entry

    def _insert(self, entry: Entry) -> None:
        row = {**entry.as_dict(), "body": canonical(dict(entry.body))}
        self.connection.execute(self._entries.insert().values(row))


class StoredState(MutableMapping[str, dict[str, Any]]):
    """The state of a ledger inside one transaction; reads are fresh, writes wait for ``save``."""

    def __init__(self, connection: Connection, table: sa.Table) -> None:
        self._connection = connection
        self._table = table
        self._seen: dict[str, dict[str, Any] | None] = {}
        self._changed: set[str] = set()

    def __getitem__(self, name: str) -> dict[str, Any]:
        # Cached within the transaction: the writer is alone, so nothing changes underneath.
        if name not in self._seen:
            query = self._table.select().where(self._table.c.name == name)
            row = self._connection.execute(query).first()
            self._seen[name] = None if row is None else _read(name, row.value)
            # Damaged is not absent: treating it as absent would reset a balance.
            if row is not None and self._seen[name] is None:
                raise LedgerError(f"the stored {name} is damaged: {_LOOK}")
        found = self._seen[name]
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: dict[str, Any]) -> None:
        self._changed.add(name)
        self._seen[name] = value

    def __delitem__(self, name: str) -> None:
        # Deleting a state would forget what was spent.
        raise InputError("nothing is removed from a ledger")

    def __iter__(self) -> Iterator[str]:
        names = self._table.select().with_only_columns(self._table.c.name)
        return iter(self._connection.scalars(names.order_by(self._table.c.name)).all())

    def __len__(self) -> int:
        return len(list(iter(self)))

    def kept(self) -> dict[str, Any]:
        """Return the whole state as it is stored, with nothing for what is damaged."""
        rows = self._connection.execute(self._table.select())
        return {row.name: _read(row.name, row.value) for row in rows}

    def save(self) -> None:
        """Write what was changed."""
        # Sorted, so that the same change issues the same statements.
        for name in sorted(self._changed):
            text = canonical(self._seen[name])
            match = self._table.c.name == name
            done = self._connection.execute(
                self._table.update().where(match).values(value=text)
            )
            # Update, then insert: the portable upsert; safe because there is one writer.
            if done.rowcount == 0:
                self._connection.execute(
                    self._table.insert().values(name=name, value=text)
                )
        self._changed.clear()


def _read(name: str, text: str) -> dict[str, Any] | None:
    """Return a stored object, or nothing if it is not what its name says."""
    try:
        value: dict[str, Any] = parse_json(text, name)
    except InputError:
        return None
    # Valid JSON is not enough: an amount of the wrong type would break the arithmetic later.
    return value if is_sound(name, value) else None


def _entry(row: Any) -> Entry:
    """Return an entry as it is stored; a body that is not the one text of its content is none."""
    try:
        body = parse_json(row.body, "body")
    except InputError:
        body = None
    # Canonical form is required: two texts of one content would have two hashes.
    if not isinstance(body, dict) or canonical(body) != row.body:
        body = {"kind": "unreadable", "text": row.body}
    return Entry(row.position, row.previous, row.time, body, row.hash)


def read_address(text: str) -> tuple[Any, Path | None]:
    """Read where a ledger is: the address for SQLAlchemy, and the file if it is one.

    >>> read_address("sqlite:///ledger.db")[1].name
    'ledger.db'
    >>> read_address("mysql://host/db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a ledger is kept in SQLite or PostgreSQL, got 'mysql': use ...
    """
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if "://" not in text:
        if not text:
            raise InputError(
                "a ledger needs an address: a file, sqlite:///FILE or postgresql://…"
            )
        return URL.create("sqlite", database=text), Path(text)
    # Threat: part of a password with an @ would be printed as the host.
    if text.partition("://")[2].partition("?")[0].count("@") > 1:
        # The first one would end the password, and the rest be shown as a host.
        raise InputError(
            "the address of a ledger must have one @, between password and host: write each of "
            "the others as %40"
        )
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InputError(
            "a ledger needs an address: a file, sqlite:///FILE or postgresql://HOST/DATABASE; "
            f"what follows {text.partition('://')[0][:20]}:// is not an address"
        ) from None
    if url.get_backend_name() == "sqlite":
        # An in-memory ledger would forget what was spent with the process.
        if not url.database or url.database == ":memory:":
            raise InputError(
                "a ledger must outlive the process: name a file, sqlite:///FILE"
            )
        return url.set(drivername="sqlite"), Path(url.database)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg"), None
    raise InputError(
        f"a ledger is kept in SQLite or PostgreSQL, got {url.drivername!r}: use a file, "
        "sqlite:///FILE or postgresql://…"
    )


def _advice(text: str) -> str:
    """Say what a driver's error means for the ledger, and what to do."""
    # Order matters: the first sign that matches decides.
    for signs, meaning in _MEANINGS.items():
        if any(sign in text.lower() for sign in signs.split("|")):
            return f"{meaning} ({text})"
    return f"the ledger could not be used ({text})"


_MEANINGS = {
    "readonly|read-only": "the ledger is read-only: nothing was charged and nothing was released",
    "disk is full|no space left": "the disk is full: this step was not written; make room and ask "
    "again",
    "disk i/o error": "the disk refused: this step was not written; ask again with the same key",
    "locked|lock timeout": f"other writers held the ledger for {PATIENCE} seconds: ask again",
    "not a database": "this file is not a ledger",
    "malformed": "the database file is damaged: restore it from a copy",
    "unable to open": "the ledger cannot be opened",
    "connect|terminat": "the server is not there or went away: ask again with the same key",
}
