"""Hypothesis strategies for the objects of the package, for every property test to use.

from tests.properties.strategies import connected_graphs, epsilons, priors, private_channels
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tightrope import Epsilon
from tightrope.graphs import AnswerGraph, ExplicitGraph

Draw = Callable[[st.SearchStrategy[Any]], Any]

#: Lengths that are short decimals, so that sums of them are told apart.
LENGTHS = st.integers(1, 40).map(lambda k: k / 8)


@st.composite
def connected_graphs(
    draw: Draw, min_size: int = 1, max_size: int = 7, lengths: bool = False
) -> ExplicitGraph:
    """Small connected graphs: a random tree and some more edges, shuffled."""
    size = draw(st.integers(min_size, max_size))
    tree = [(draw(st.integers(0, k - 1)), k) for k in range(1, size)]
    others = [(i, j) for j in range(size) for i in range(j) if (i, j) not in tree]
    more = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    places = draw(st.permutations(range(size)))
    edges = [(places[i], places[j]) for i, j in [*tree, *more]]
    values = [draw(LENGTHS) for _ in edges] if lengths else None
    return ExplicitGraph(edges, lengths=values, size=size)


@st.composite
def trees(draw: Draw, min_size: int = 1, max_size: int = 12) -> ExplicitGraph:
    """Small trees."""
    size = draw(st.integers(min_size, max_size))
    return ExplicitGraph(
        [(draw(st.integers(0, k - 1)), k) for k in range(1, size)], size=size
    )


@st.composite
def relabelled(
    draw: Draw, graph: AnswerGraph
) -> tuple[ExplicitGraph, NDArray[np.int64]]:
    """The same graph with its nodes shuffled, and where each node went."""
    places = np.array(draw(st.permutations(range(graph.size))))
    lengths = graph.edge_lengths() if graph.has_lengths else None
    shuffled = ExplicitGraph(
        places[graph.edge_array()], lengths=lengths, size=graph.size
    )
    return shuffled, places


def epsilons(
    smallest: float = 0.05, largest: float = 4.0
) -> st.SearchStrategy[Epsilon]:
    """Privacy levels: decimals, fractions and logarithms."""
    decimals = st.floats(smallest, largest).map(
        lambda x: Epsilon.of(max(smallest, round(x, 3)))
    )
    fractions = st.fractions(
        Fraction(str(smallest)), Fraction(str(largest)), max_denominator=20
    )
    logarithms = st.sampled_from(["ln(2)", "ln(3)", "ln(3/2)", "ln(2)/2"]).map(
        Epsilon.of
    )
    fitting = logarithms.filter(lambda e: smallest <= float(e) <= largest)
    return decimals | fractions.map(Epsilon.of) | fitting


@st.composite
def priors(draw: Draw, size: int, zeros: bool = True) -> NDArray[np.float64]:
    """Distributions over ``size`` answers: small whole weights divided by their sum."""
    least = 0 if zeros else 1
    weights = np.array(
        draw(st.lists(st.integers(least, 20), min_size=size, max_size=size))
    )
    if not weights.any():
        weights[draw(st.integers(0, size - 1))] = 1
    return weights / weights.sum()


@st.composite
def private_channels(
    draw: Draw, graph: AnswerGraph, epsilon: Epsilon, max_outputs: int = 5
) -> NDArray[np.float64]:
    r"""Channels that are ε-private on a graph, as arrays, each row with sum 1.

    Each column before scaling is :math:`e^{-ε f/2}` for a function f that changes by no more
    than the distance; dividing a row by its sum costs at most the same factor again.
    """
    outputs = draw(st.integers(1, max_outputs))
    distances = graph.distance_matrix()
    columns = []
    for _ in range(outputs):
        anchors = draw(st.lists(st.integers(0, graph.size - 1), min_size=1, max_size=3))
        heights = [draw(st.integers(0, 4)) for _ in anchors]
        columns.append(
            np.min(
                [distances[a] + h for a, h in zip(anchors, heights, strict=True)],
                axis=0,
            )
        )
    weights = np.exp(-float(epsilon) / 2 * np.array(columns, float).T)
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def stochastic_matrices(draw: Draw, rows: int, columns: int) -> NDArray[np.float64]:
    """Any row-stochastic matrix (zeros allowed), such as a remap or a channel."""
    return np.stack([draw(priors(columns)) for _ in range(rows)])
