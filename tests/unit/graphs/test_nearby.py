"""Largest values in neighbourhoods."""

import numpy as np
import pytest

from tightrope.graphs import (
    AnswerGraph,
    CappedPathPower,
    CartesianProduct,
    Clique,
    Cycle,
    PathPower,
    Star,
    StrongProduct,
)

GRAPHS = [
    *[PathPower(n, w) for n in (1, 2, 7, 8) for w in (1, 2, 3, 5, 9)],
    *[CappedPathPower(u, v) for u in (1, 2, 3) for v in (1, 2, 4)],
    Clique(5),
    Cycle(3),
    Cycle(6),
    Star(4),
    CartesianProduct([PathPower(3), Clique(3), Cycle(4)]),
    StrongProduct([PathPower(4), PathPower(3, 2)]),
    StrongProduct([PathPower(3), CartesianProduct([PathPower(2), PathPower(3)])]),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
@pytest.mark.parametrize("kind", [float, np.int64, object])
def test_maxima_equal_those_over_listed_neighbours(graph: AnswerGraph, kind: type) -> None:
    values = np.random.default_rng(5).integers(0, 50, (graph.size, 3)).astype(kind)
    before = values.copy()
    expected = [values[[i, *graph.neighbours(i)]].max(axis=0) for i in range(graph.size)]
    assert graph.knows_maxima
    assert graph.nearby_maxima(values).tolist() == np.array(expected).tolist()
    assert (values == before).all()


def test_other_graphs_have_no_rule() -> None:
    listed = PathPower(4).explicit()
    assert not listed.knows_maxima
    assert not StrongProduct([listed, PathPower(2)]).knows_maxima
    with pytest.raises(NotImplementedError):
        listed.nearby_maxima(np.ones(4))
