"""Every two answers adjacent, with and without lengths."""

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, Clique, PointsGraph
from tightrope.graphs.lines import CompleteGraph

FIVE = [Clique(5), PointsGraph(np.arange(5.0)[:, None] ** 2)]


@pytest.mark.parametrize("graph", FIVE, ids=lambda graph: graph.name)
def test_counts_by_rule_are_those_of_the_listed_edges(graph: AnswerGraph) -> None:
    assert isinstance(graph, CompleteGraph)
    listed = graph.explicit()
    assert not isinstance(listed, CompleteGraph)
    for node in range(5):
        assert graph.neighbours(node).tolist() == listed.neighbours(node).tolist()
        assert graph.degree(node) == listed.degree(node) == 4
    assert graph.degrees.tolist() == listed.degrees.tolist()
    assert (graph.min_degree, graph.max_degree) == (4, 4)
    assert graph.edge_count == listed.edge_count == 10
    assert graph.is_clique


@pytest.mark.parametrize("graph", FIVE, ids=lambda graph: graph.name)
def test_a_sixth_node_is_refused(graph: AnswerGraph) -> None:
    for ask in (graph.neighbours, graph.degree):
        with pytest.raises(InputError, match="node must be in 0 … 4"):
            ask(5)
