"""The page of floors is what its results say, and the results are what the laws give."""

import copy
import json
from pathlib import Path

import pytest
from benchmarks import floor

ROOT = Path(__file__).parents[2]
FOUND = json.loads(floor.RESULTS.read_text(encoding="utf-8"))
BELOW = floor.PAGE.read_text(encoding="utf-8").partition(floor.MARK)[2]


def test_the_page_is_what_the_results_say() -> None:
    assert floor.page(FOUND) == BELOW, 'run make bench ARGS="--only floor"'


def test_other_results_give_another_page() -> None:
    for table in ("jobs", "mirrored", "beside"):
        other = copy.deepcopy(FOUND)
        other[table][0]["ours"] *= 1.02
        assert floor.page(other) != BELOW


def test_the_page_is_in_the_navigation() -> None:
    assert "floor.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_job_has_a_row() -> None:
    keys = ("kind", "words", "measure", "relation", "epsilon")
    asked = [tuple(getattr(job, key) for key in keys) for job in floor.JOBS]
    names = ("kind", "job", "measure", "relation", "epsilon")
    assert [tuple(row[name] for name in names) for row in FOUND["jobs"]] == asked
    assert len(asked) == len(set(asked)) == 40
    other = [row[3] for row in asked]
    assert [row["relation"] for row in FOUND["mirrored"]] == [
        {"add-remove": "change-one", "change-one": "add-remove"}[x] for x in other
    ]
    for relation in ("add-remove", "change-one"):
        assert {row[4] for row in asked if row[3] == relation} == {
            "0.1",
            "0.5",
            "1",
            "3",
        }


def below_their_floor(rows: list[dict]) -> list[str]:
    """Return the rows in which somebody has less than the least possible error."""
    return [
        f"{row['kind']} {row['relation']} {row['epsilon']}"
        for row in rows
        for error in (row["ours"], *row["others"].values())
        if error < row["floor"] * (1 - 1e-9)
    ]


def test_nobody_is_below_a_floor() -> None:
    assert not below_their_floor(FOUND["jobs"] + FOUND["mirrored"])
    higher = copy.deepcopy(FOUND["jobs"])
    higher[0]["floor"] *= 1.001
    assert below_their_floor(higher)[0] == "count add-remove 0.1"


def test_ours_is_near_the_floor_and_says_where_not() -> None:
    above = [row for row in FOUND["jobs"] if row["ours"] > floor.CLOSE * row["floor"]]
    assert len(above) <= 5
    far = [row for row in FOUND["mirrored"] if row["ours"] > floor.CLOSE * row["floor"]]
    assert {row["kind"] for row in above + far} == set(floor.ABOVE)
    rows = FOUND["jobs"] + FOUND["mirrored"]
    assert {row["theorem"] for row in rows} == set(floor.THEOREMS)


@pytest.mark.parametrize(
    "place",
    [0, 5, 11, 15, 19, 22, 26, 31, 32, 35, 37],
    ids=lambda n: floor.JOBS[n].kind,
)
def test_rows_are_computed_again(place, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    row = floor.JOBS[place].row()
    known = FOUND["jobs"][place]
    assert row["floor"] == pytest.approx(known["floor"], rel=1e-6)
    assert row["ours"] == pytest.approx(known["ours"])
    assert row["others"] == pytest.approx(known["others"])


def test_rows_beside_others_are_computed_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    known = {
        (row["job"], row["relation"], row["measure"]): row for row in FOUND["beside"]
    }
    for row in (*floor.people_beside(), *floor.mean_beside()):
        recorded = known[row.job, row.relation, row.measure]
        assert row.ours == pytest.approx(recorded["ours"])
        assert row.reachable == pytest.approx(recorded["reachable"])
