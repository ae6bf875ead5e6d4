"""Whether the facts hold and what bounds cut off, told by private numbers."""

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv
from tests.data.conftest import truth_of

from tightrope.asking import ask, plan
from tightrope.errors import InputError
from tightrope.publish import Ledger, parse_facts
from tightrope.publish.facts import bound_checks, fact_checks
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import open_source
from tightrope.publish.sql_reader import read_shapes
from tightrope.queries import query

FACTS = """
[tables.people]
source = "people.csv"
population = 300
neighbours = "add-remove"
budget = "30"
[tables.people.columns]
age = { bounds = [0, 90], complete = true }
height = { bounds = [0.5, 2.5], step = 0.1 }
region = { values = ["north", "so'uth"] }
party = { values = ["red", "other"], other = "other" }
smoker = { type = "boolean" }
"""
#: 40 ages are missing and 30 too high, 25 heights too low, 20 regions unknown.
ROWS = [
    (
        "" if i < 40 else 99 if i < 70 else 31,
        0.25 if i < 25 else 1.5,
        "atlantis" if i < 20 else "so'uth",
        "blue",
        "",
    )
    for i in range(300)
]
TRUTH = {
    "age: missing": 40,
    "age: outside 0..90": 30,
    "height: outside 0.5..2.5": 25,
    "region: not a declared value": 20,
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    lines = [",".join(map(str, row)) for row in ROWS]
    text = "\n".join(["age,height,region,party,smoker", *lines]) + "\n"
    Path("people.csv").write_text(text)
    Path("tightrope.toml").write_text(FACTS)


def test_every_fact_has_its_count():
    facts = parse_facts(FACTS)
    sql = fact_checks(facts.table("people"))
    assert truth_of("people.csv", sql, facts) == tuple(TRUTH.values())


def test_the_counts_are_asked_for_like_any_other(run):
    words = ("ask", "--check-facts", "people", "--epsilon", "10")
    price = run(*words, "--dry-run", "--json").data
    assert not Path("ledger.db").exists()
    assert price["questions"][0]["cost"] == "10"
    told = run(*words, "--json").data
    (row,) = told["rows"]
    assert list(row) == list(TRUTH)
    for title, number in TRUTH.items():
        assert abs(row[title]["value"] - number) < 15
        assert row[title]["low"] <= row[title]["value"] <= row[title]["high"]
    assert Ledger("ledger.db").account("table people").spent == 10


def test_there_is_one_question(run):
    for words in (("--check-facts", "people", "select count(*) from people"), ()):
        refused = run("ask", *words, "--epsilon", "1")
        assert refused.code == 2
        assert "--check-facts TABLE or --check-bounds TABLE" in refused.err
    assert "'folk' is not declared" in run("ask", "--check-facts", "folk").err


def test_facts_without_a_limit_have_nothing_to_check():
    bare = parse_facts("[tables.people]\n[tables.people.columns]\nx = {type = 'date'}")
    with pytest.raises(InputError, match="state nothing that a row could violate"):
        fact_checks(bare.table("people"))


def test_facts_without_bounds_cut_nothing_off():
    bare = parse_facts("[tables.people]\n[tables.people.columns]\nx = {type = 'date'}")
    with pytest.raises(InputError, match="bound nothing"):
        bound_checks(bare.table("people"))


def test_bounds_of_columns_alone_are_checked_as_facts():
    facts = parse_facts(FACTS)
    sql = bound_checks(facts.table("people"))
    assert truth_of("people.csv", sql, facts) == (30, 25)


VISITS = """
[tables.visits]
source = "visits.csv"
population = {population}
neighbours = "{neighbours}"
person = "id"
contributions = {rows}
budget = "50"
[tables.visits.columns]
cost = {{ type = "integer", bounds = [0, 9] }}
paid = {{ type = "integer", bounds = [0, 9] }}
"""


def visits_of(people):
    """A table from the costs of each person; 50 is outside the bounds."""
    rows = [(k, cost, 1) for k, costs in enumerate(people) for cost in costs]
    return pa.table(
        {
            name: pa.array([row[place] for row in rows], pa.int64())
            for place, name in enumerate(("id", "cost", "paid"))
        }
    )


def test_what_bounds_cut_off_is_asked_like_anything_else(run):
    # 60 people have five rows, two of which do not count; 90 have eight, of which three are seen.
    people = [[5]] * 100 + [[5] * 5] * 60 + [[5, 50] * 4] * 90
    csv.write_csv(visits_of(people), "visits.csv")
    text = VISITS.format(population=300, neighbours="add-remove", rows=3)
    Path("tightrope.toml").write_text(text)
    words = ("ask", "--check-bounds", "visits", "--epsilon", "20")
    price = run(*words, "--dry-run", "--json").data
    assert price["cost"] == "20"
    assert not Path("ledger.db").exists()
    (row,) = run(*words, "--json").data["rows"]
    true = {
        "people with more than 3 rows": 150,
        "rows not counted, at most 3 of a person": 60 * 2 + 90 * 3,
        "rows not counted of each of them": (60 * 2 + 90 * 3) / 150,
        "people with cost: outside 0..9": 90,
        "people with paid: outside 0..9": 0,
    }
    assert list(row) == list(true)
    for title, number in true.items():
        assert abs(row[title]["value"] - number) < 8
        assert row[title]["low"] <= row[title]["value"] <= row[title]["high"]
    assert Ledger("ledger.db").account("table visits").spent == 20
    assert "'folk' is not declared" in run("ask", "--check-bounds", "folk").err


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_what_bounds_cut_off_moves_by_one_step_when_a_person_does(relation):
    """All tables of two people with none to three rows, and their neighbours."""
    text = VISITS.format(population=2, neighbours=relation, rows=1)
    facts = parse_facts(text)
    (asked,) = plan(
        [bound_checks(facts.table("visits"))], facts=facts, epsilon=1, data="visits.csv"
    ).questions
    # Rows and people beyond are one shape, both counts of values outside another.
    drawn = [part.shape for part in asked.parts]
    assert [shape.kind for shape in drawn] == ["mean", "counts"]
    graphs = [
        query(draw.query, neighbours=draw.neighbours).graph
        for shape in drawn
        for draw in shape.draws
    ]
    own = [(), (5,), (50,), (5, 5), (5, 50, 5)]
    nodes = {}
    for pair in itertools.combinations_with_replacement(own, 2):
        with open_source(visits_of(pair), drawn[0].table) as source:
            answers = [SealedQuery(source, shape).nodes() for shape in drawn]
        nodes[pair] = [node for some in answers for (node,) in some]
    far = set()
    for stays, before, after in itertools.product(own, repeat=3):
        if relation == "add-remove" and after:
            continue
        pairs = [sorted((stays, rows), key=own.index) for rows in (before, after)]
        first, second = (nodes[tuple(pair)] for pair in pairs)
        far |= {
            graph.distance(x, y)
            for graph, x, y in zip(graphs, first, second, strict=True)
        }
    assert far == {0, 1}


def test_rows_beyond_would_move_further_without_their_bound():
    """The negative twin: eleven rows of one person are ten steps of an unbounded number."""
    facts = parse_facts(VISITS.format(population=2, neighbours="add-remove", rows=1))
    bounded = bound_checks(facts.table("visits"))
    without = bounded.replace("LEAST(COUNT(*) - 1, 1)", "LEAST(COUNT(*) - 1, 99)")
    _, shape, *_ = read_shapes(without, facts)
    assert shape.titles == ("rows not counted, at most 1 of a person",)
    assert shape.question == "sum(2,99)"
    (_, shape, *_) = read_shapes(bounded, facts)
    assert shape.question == "sum(2,1)"


@pytest.mark.parametrize("near", ["add-remove", "either"])
def test_a_table_of_more_people_than_declared_is_cut_and_says_so(near, tmp_path):
    """Its groups come out as if there were no more: one was printed 76 ± 3 where it has 108."""
    facts = parse_facts(
        f'[tables.people]\npopulation = 40\nneighbours = "{near}"\nbudget = "20"\n'
        '[tables.people.columns]\nsex = { values = ["f", "m"] }\n'
    )
    answer = ask(
        "select sex, count(*) as n from people group by sex",
        data=pa.table({"sex": ["f", "m"] * 30}),
        facts=facts, epsilon=20, ledger=tmp_path / "ledger.db",
    )  # fmt: skip
    assert [number.value for _, (number,) in answer.rows] == [30, 10]
    assert "at most 40 people, numbers cut to what so many can have" in str(
        answer.about[0]
    )
