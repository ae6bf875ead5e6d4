"""Targets are judged from results: reached, not reached, not decided, not measured."""

from typing import Any

import pytest
from benchmarks.targets import MISSED, OPEN, REACHED, TARGETS, UNKNOWN, Target, judge


def results(
    ours: dict[str, Any], theirs: dict[str, Any] | None = None
) -> dict[str, Any]:
    of = {"tightrope": ours} | ({} if theirs is None else {"qif": theirs})
    return {"c": {"by": "cpu", "rows": [{"name": "r", "results": of}]}}


def ok(seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "status": "ok",
        "cpu": [seconds],
        "wall": [9.0],
        "memory_mib": 100.0,
        **more,
    }


OVER = {"status": "over", "limit": 60.0}


def target(measure: str, **bounds: float) -> Target:
    return Target("Subject", "what", "c", ("r",), measure, **bounds)


@pytest.mark.parametrize(
    ("theirs", "least", "verdict"),
    [
        (ok(50.0), 50, REACHED),
        (ok(49.9), 50, MISSED),
        (OVER, 50, REACHED),
        (OVER, 70, OPEN),
        ({"status": "no", "why": "x"}, 50, UNKNOWN),
    ],
)
def test_ratios(theirs: dict[str, Any], least: float, verdict: str) -> None:
    assert (
        judge(target("ratio:qif", least=least), results(ok(1.0), theirs)).verdict
        == verdict
    )


@pytest.mark.parametrize(("least", "verdict"), [(5, MISSED), (0.4, OPEN)])
def test_a_ratio_with_ours_stopped_is_at_most_what_it_shows(
    least: float, verdict: str
) -> None:
    found = judge(target("ratio:qif", least=least), results(OVER, ok(30.0)))
    assert (found.verdict, found.measured) == (verdict, "< 0.5× as long")


@pytest.mark.parametrize(
    ("ours", "most", "verdict"),
    [
        (ok(1.9), 2, REACHED),
        (ok(2.1), 2, MISSED),
        (OVER, 50, MISSED),
        (OVER, 300, OPEN),
    ],
)
def test_seconds(ours: dict[str, Any], most: float, verdict: str) -> None:
    assert judge(target("seconds", most=most), results(ours)).verdict == verdict


@pytest.mark.parametrize(("most", "verdict"), [(100, REACHED), (99, MISSED)])
def test_memory(most: float, verdict: str) -> None:
    assert judge(target("memory", most=most), results(ok(1.0))).verdict == verdict


@pytest.mark.parametrize(("holds", "verdict"), [(True, REACHED), (False, MISSED)])
def test_facts(holds: bool, verdict: str) -> None:
    found = judge(
        target("fact:private", least=1), results(ok(1.0, facts={"private": holds}))
    )
    assert (found.verdict, found.asked) == (verdict, "yes")
    assert found.measured == ("yes" if holds else "no")


def test_a_fact_that_is_not_there_is_not_measured() -> None:
    assert judge(target("fact:private", least=1), results(ok(1.0))).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("seconds", "verdict"), [((1, 10, 100), REACHED), ((1, 100, 10**4), MISSED)]
)
def test_growth(seconds: tuple[float, ...], verdict: str) -> None:
    rows = [
        {"name": str(k), "size": 10**k, "results": {"tightrope": ok(float(one))}}
        for k, one in enumerate(seconds)
    ]
    asked = Target("Subject", "what", "c", ("0", "1", "2"), "growth", most=1.1)
    assert judge(asked, {"c": {"by": "cpu", "rows": rows}}).verdict == verdict


def test_of_several_rows_the_worst_counts() -> None:
    rows = [
        {"name": n, "results": {"tightrope": ok(s)}}
        for n, s in (("a", 1.0), ("b", 3.0))
    ]
    found = judge(
        Target("Subject", "what", "c", ("a", "b"), "seconds", most=2),
        {"c": {"by": "cpu", "rows": rows}},
    )
    assert (found.verdict, found.measured) == (MISSED, "3.00 s")


def test_every_target_names_rows_that_are_run() -> None:
    for one in TARGETS:
        module = __import__(f"benchmarks.{one.comparison}", fromlist=["COMPARISON"])
        known = {row.name: row for row in module.COMPARISON.rows}
        assert set(one.rows) <= set(known), one
        assert (one.least is None) != (one.most is None), one
        if one.measure.startswith("ratio:"):
            assert all(one.measure[6:] in known[name].ways for name in one.rows), one


def test_a_row_that_was_not_run_is_not_measured() -> None:
    assert judge(target("seconds", most=2), {}).verdict == UNKNOWN
