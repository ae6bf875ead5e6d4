"""The table of built-in queries."""

import pytest

from tightrope.graphs import Family
from tightrope.queries import FAMILIES, query


def test_the_questions_and_graphs_that_must_be_there() -> None:
    wanted = "count sum mean counts histogram count_mod choice median databases star"
    graphs = "path cycle clique grid tree hypercube petersen chang truncated_tetrahedron"
    assert {name for name, f in FAMILIES.items() if not f.is_graph} == set(wanted.split())
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
