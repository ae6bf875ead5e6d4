"""Reading what a measuring process says, and one measurement from end to end."""

import json
import signal

import pytest
from benchmarks import child
from benchmarks.child import Work, measure
from benchmarks.harness import Comparison, Result, Row, read_result, run_comparison
from benchmarks.page import ORDER
from benchmarks.peers import AT_HOME, PACKAGES, entries


def test_the_last_line_of_a_process_is_its_result() -> None:
    said = "noise\n" + json.dumps(
        {"cpu": [1.0], "wall": [2.0], "memory_mib": 3.0, "facts": {}}
    )
    found = read_result(0, said, "", 60, 99.0)
    assert (found.status, found.cpu, found.wall, found.memory_mib) == (
        "ok",
        (1.0,),
        (2.0,),
        3.0,
    )


@pytest.mark.parametrize("ended", [signal.SIGXCPU, signal.SIGKILL])
def test_a_process_that_was_stopped_is_over_its_limit(ended: signal.Signals) -> None:
    found = read_result(-ended, "", "", 60, 99.0)
    assert (found.status, found.limit, found.memory_mib) == ("over", 60, 99.0)
    assert found.times("cpu").text == "> 60 s"


def test_a_process_that_failed_says_why_and_not_where() -> None:
    found = read_result(
        1, "", "Traceback\nImportError: no x in /usr/lib/x.so\n", 60, 1.0
    )
    assert (found.status, found.why) == ("no", "ImportError: no x in x.so")
    assert read_result(3, "", "", 60, 1.0).why == "ended with status 3"


def test_results_survive_their_file() -> None:
    found = Result(
        "ok", cpu=(1.0, 2.0), wall=(3.0,), memory_mib=4.0, facts={"gap": 0.0}
    )
    assert Result.read(json.loads(json.dumps(found.as_dict()))) == found
    assert Result("no", why="x").as_dict() == {"status": "no", "why": "x"}


def test_short_work_is_timed_in_batches_and_the_first_call_does_not_count() -> None:
    calls = []
    times, value = measure(Work(lambda: calls.append(0) or len(calls)))
    assert len(times) >= 3
    assert value == len(calls) > len(times) + 1


@pytest.mark.parametrize(("warming", "calls"), [(5.0, 2), (0.0, 1)])
def test_longer_work_is_timed_once_and_warmed_up_unless_it_is_long(
    monkeypatch: pytest.MonkeyPatch, warming: float, calls: int
) -> None:
    monkeypatch.setattr(child, "SHORT", 0.0)
    monkeypatch.setattr(child, "WARMING", warming)
    seconds = iter((2.0, 1.0))
    monkeypatch.setattr(
        child, "timed", lambda call, _: ((t := next(seconds), t), call())
    )
    done: list[int] = []
    times, _ = measure(Work(lambda: done.append(0)))
    assert (times, len(done)) == ([(3.0 - calls, 3.0 - calls)], calls)


def test_work_that_knows_its_times_is_called_once() -> None:
    calls = []
    times, _ = measure(Work(lambda: calls.append(0), times=lambda _: [(1.0, 2.0)]))
    assert (times, len(calls)) == ([(1.0, 2.0)], 1)


def test_one_row_from_end_to_end() -> None:
    row = Row(
        "r", "a row", {"task": "python"}, {"tightrope": 30, "qif": "cannot do it"}
    )
    said: list[str] = []
    comparison = Comparison("c", "Title", "", (row,), by="wall")
    found = run_comparison(
        comparison, "benchmarks.cold_start", alone=True, say=said.append
    )
    ours = Result.read(found["rows"][0]["results"]["tightrope"])
    assert ours.status == "ok"
    assert min(ours.wall) > 0
    assert set(found["rows"][0]["results"]) == {"tightrope"}
    assert any("tightrope" in one for one in said)


def test_a_way_that_fails_does_not_end_the_run() -> None:
    row = Row(
        "r", "a row", {"task": "no such"}, {"tightrope": 30, "nobody": "cannot do it"}
    )
    comparison = Comparison("c", "Title", "", (row,))
    found = run_comparison(
        comparison, "benchmarks.leakage", alone=True, say=lambda _: None
    )
    result = found["rows"][0]["results"]["tightrope"]
    assert result["status"] == "no"
    assert "unexpected keyword" in result["why"]


def test_lock_entries_keep_their_hashes() -> None:
    first = "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n    # via b\n"
    lock = f"# made by\n{first}b==2 \\\n    --hash=sha256:3\n"
    assert [entry.split()[0] for entry in entries(lock)] == ["a==1", "b==2"]
    assert entries(lock)[0].count("--hash") == 2


@pytest.mark.parametrize("name", ORDER)
def test_rows_have_names_of_their_own_and_ways_that_exist(name: str) -> None:
    module = __import__(f"benchmarks.{name}", fromlist=["COMPARISON"])
    rows = module.COMPARISON.rows
    assert module.COMPARISON.name == name
    assert len({row.name for row in rows}) == len(rows)
    assert any(row.quick for row in rows)
    for row in rows:
        for way, limit in row.ways.items():
            assert way in AT_HOME or way in PACKAGES
            assert isinstance(limit, str) or callable(getattr(module, way))
