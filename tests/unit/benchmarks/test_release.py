"""The measurement of a release: it releases, and says what that adds to DuckDB's own time."""

import pytest
from benchmarks import release


def test_a_small_table_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    monkeypatch.setattr(
        release, "bound", limits.append
    )  # a limit would end this process too
    work = release.tightrope(rows=1000)
    pairs = work.call()
    assert len(pairs) == release.ROUNDS
    assert len(limits) == 1 + 2 * release.ROUNDS
    facts = work.facts(pairs)
    assert facts["duckdb_seconds"] > 0
    assert facts["ratio"] > 1
