"""What the tests of faults share: one PostgreSQL server, and ledgers of both kinds."""

import itertools

import pytest
from tests.servers import Server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    running.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """The address of a ledger that does not exist yet, in each of the two databases."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    return request.getfixturevalue("server").new_database(f"ledger{next(_numbers)}")


@pytest.fixture(autouse=True)
def _keys_in_the_test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
