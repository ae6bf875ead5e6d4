"""Where a ledger can be, and what it means when a database refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightrope.errors import InputError, TightropeError

#: Seconds that a writer waits for the others.
PATIENCE = 60


class LedgerError(TightropeError):
    """The ledger could not be reached, read or written; nothing was half done.

    >>> from tightrope.publish.ledger import Ledger
    >>> Ledger("no-such-folder/ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.publish.addresses.LedgerError: no-such-folder/ledger.db: there is no ledger here; ...
    """


class TryAgain(Exception):
    """The database asks for the same transaction once more.

    >>> issubclass(TryAgain, Exception)
    True
    """


def read_address(text: str) -> tuple[Any, Path | None]:
    """Read where a ledger is: the address for SQLAlchemy, and the file if it is one.

    >>> read_address("sqlite:///ledger.db")[1].name
    'ledger.db'
    >>> read_address("mysql://host/db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a ledger is kept in SQLite or PostgreSQL, got 'mysql': use ...
    """
    try:
        from sqlalchemy.engine import URL, make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise InputError(
            "a ledger needs SQLAlchemy: install tightrope with the extra 'data'"
        ) from None
    if "://" not in text:
        if not text:
            raise InputError("a ledger needs an address: a file, sqlite:///FILE or postgresql://…")
        return URL.create("sqlite", database=text), Path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InputError(f"{text[:80]!r} is not the address of a database") from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InputError("a ledger must outlive the process: name a file, sqlite:///FILE")
        return url.set(drivername="sqlite"), Path(url.database)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg"), None
    raise InputError(
        f"a ledger is kept in SQLite or PostgreSQL, got {url.drivername!r}: use a file, "
        "sqlite:///FILE or postgresql://…"
    )


def one_line(problem: BaseException) -> str:
    """Return what went wrong as one line.

    >>> one_line(OSError("no" + chr(10) + "room"))
    'no room'
    """
    return " ".join(str(problem).split())[:300] or type(problem).__name__


def advice(problem: BaseException) -> str:
    """Say what a driver's error means for the ledger, and what to do.

    >>> advice(OSError("database or disk is full"))
    'the disk is full: this step was not written; make room and ask again (database or disk ...'
    """
    text = one_line(problem)
    for sign, meaning in _MEANINGS:
        if sign in text.lower():
            return f"{meaning} ({text})"
    return f"the ledger could not be used ({text})"


_MEANINGS = (
    ("readonly", "the ledger is read-only: nothing was charged and nothing was released"),
    ("read-only", "the ledger is read-only: nothing was charged and nothing was released"),
    ("disk is full", "the disk is full: this step was not written; make room and ask again"),
    ("disk i/o error", "the disk refused: this step was not written; ask again with the same key"),
    ("no space left", "the disk is full: this step was not written; make room and ask again"),
    ("locked", f"other writers held the ledger for {PATIENCE} seconds: ask again"),
    ("lock timeout", f"other writers held the ledger for {PATIENCE} seconds: ask again"),
    ("not a database", "this file is not a ledger"),
    ("malformed", "the database file is damaged: restore it from a copy"),
    ("unable to open", "the ledger cannot be opened"),
    ("connect", "the server is not there or went away: ask again with the same key"),
    ("terminat", "the server is not there or went away: ask again with the same key"),
)
