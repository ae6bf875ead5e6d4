"""The built-in questions: their graphs, what they compute, and their page."""

import runpy
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tightrope.errors import InputError
from tightrope.graphs import Clique, Cycle, PathPower
from tightrope.graphs.registry import Family
from tightrope.queries import FAMILIES, Neighbours, query
from tightrope.queries.families import histogram_of, median_of, most_frequent


def test_the_questions_and_graphs_that_must_be_there() -> None:
    wanted = "count sum mean counts histogram count_mod choice median databases star"
    graphs = (
        "path cycle clique grid tree hypercube petersen chang truncated_tetrahedron"
    )
    assert {name for name, f in FAMILIES.items() if not f.is_graph} == set(
        wanted.split()
    )
    assert set(graphs.split()) <= {name for name, f in FAMILIES.items() if f.is_graph}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_each_row_is_complete(family: Family) -> None:
    assert family.meaning
    assert family.example.startswith(family.name)
    assert query(family.example).graph.size > 1
    assert family.build.__call__
    letters = [p.name for p in family.parameters]
    assert len(set(letters)) == len(letters)
    assert all(p.meaning for p in family.parameters)


def test_signatures() -> None:
    assert FAMILIES["sum"].signature == "sum(u,v)"
    assert FAMILIES["grid"].signature == "grid(a,…)"
    assert FAMILIES["chang"].signature == "chang[(k)]"
    assert FAMILIES["petersen"].signature == "petersen"
    assert FAMILIES["count"].expectation == "count(n) with n: number of people"


RELATIONS = [near.value for near in Neighbours]


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_are_paths(relation: str) -> None:
    assert query("count(5)", relation).graph.is_path


def test_sizes_and_diameters() -> None:
    assert (query("sum(150,5)").graph.size, query("sum(150,5)").graph.diameter) == (
        751,
        150,
    )
    pair = query("counts(30,2)").graph
    assert (pair.size, pair.diameter, pair.edge_count) == (961, 30, 3660)
    assert query("databases(5,4)").graph.constant_ball_sizes == (
        1,
        15,
        90,
        270,
        405,
        243,
    )
    assert query("sum(200000,5)").graph.size == 1_000_001
    assert query("databases(20,4)").graph.size == 4**20


@pytest.mark.parametrize(
    ("n", "m", "kind", "size"),
    [
        (9, 4, Cycle, 4),
        (4, 4, Cycle, 4),
        (3, 4, PathPower, 4),
        (2, 4, PathPower, 3),
        (5, 2, PathPower, 2),
    ],
)
def test_remainders(n: int, m: int, kind: type, size: int) -> None:
    """[C, fn. 5]."""
    graph = query(f"count_mod({n},{m})").graph
    assert isinstance(graph, kind)
    assert graph.size == size


def test_three_remainders_are_a_triangle() -> None:
    assert query("count_mod(3,3)").graph.is_clique
    assert query("count_mod(2,3)").graph.is_path
    assert query("count_mod(7,1)").graph.size == 1


def test_means_and_medians_are_fractions() -> None:
    assert query("mean(4,5)").graph.label(3) == Fraction(3, 4)
    assert query("mean(4,5)").graph.index(Fraction(3, 4)) == 3
    assert query("median(4,5)").graph.labels[:3] == [0, Fraction(1, 2), 1]
    assert isinstance(query("median(3,5)").graph, Clique)
    with pytest.raises(InputError, match="not an answer"):
        query("mean(4,5)").graph.index(Fraction(1, 3))
    with pytest.raises(InputError, match="not an answer"):
        query("mean(4,5)").graph.index("x")


@pytest.mark.parametrize("text", ["mean(1,3)", "median(1,3)"])
def test_one_person_who_may_only_leave_has_no_graph(text: str) -> None:
    with pytest.raises(InputError, match="the empty database has no answer"):
        query(text, "add-remove")
    assert query(text, "either").graph.is_clique
    assert query(text).graph.is_clique


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "text", ["petersen", "chang(2)", "truncated_tetrahedron", "grid(2,3)"]
)
def test_graphs_do_not_depend_on_the_relation(text: str, relation: str) -> None:
    same = query(text, relation)
    assert same.graph.edge_array().tolist() == query(text).graph.edge_array().tolist()
    assert same.individuals is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_median_is_the_statistical_one(database: list[int]) -> None:
    assert median_of(database) == Fraction(median(map(Fraction, database)))


@given(st.lists(st.integers(0, 4), max_size=8))
def test_most_frequent_has_the_highest_bar(database: list[int]) -> None:
    bars = histogram_of(database, 5)
    assert sum(bars) == len(database)
    assert most_frequent(database) == bars.index(max(bars))


ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "concepts" / "queries.md"


@pytest.fixture(scope="module")
def drawing() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "draw_queries.py"))


def test_the_tables_are_those_of_the_code(drawing: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert drawing["page"](text) == text, "run scripts/draw_queries.py"
    assert drawing["page"](text.replace("| `sum(u,v)`", "| `sum(u)`")) == text


def test_the_pictures_are_those_of_the_code(drawing: dict[str, Any]) -> None:
    pictures = drawing["pictures"]()
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (PAGE.parent / "img").iterdir()
    }
    assert pictures.items() <= kept.items(), "run scripts/draw_queries.py"
    for name in pictures:
        assert f"(img/{name})" in PAGE.read_text(encoding="utf-8")
