r"""Transformations that make a channel regular and keep its privacy and its leakage.

First the column maxima are brought to the diagonal [B, Lemma 7], then they are averaged until
all are equal: over pairs at equal distance where the graph is distance-regular [B, Lemma 8],
over pairs that an automorphism maps to each other where it is vertex-transitive [B, Lemma 9].
The vulnerability for the uniform prior stays the same throughout, and so does any ε that the
channel had.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph

Array = NDArray[np.float64]


def maxima_on_diagonal(channel: Channel) -> Channel:
    r"""Return the square channel whose column maxima lie on the diagonal [B, Lemma 7].

    Columns that have their maximum in row k (the first such row) are added up and become
    column k. It is a remap of the outputs, so every ε of the channel still holds; the sum of
    the column maxima, and with it the vulnerability for the uniform prior, is unchanged.

    Parameters
    ----------
    channel
        Any channel whose matrix fits, with any number of outputs.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> maxima_on_diagonal(Channel([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])).matrix().round(9).tolist()
    [[0.8, 0.2], [0.4, 0.6]]
    """
    matrix = channel.matrix()
    rows = matrix.shape[0]
    out = np.zeros((rows, rows))
    np.add.at(out.T, matrix.argmax(axis=0), matrix.T)
    return Channel(out)


def average_over_distances(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel that depends on the distance only, by averaging [B, Lemma 8].

    :math:`M''_{ij}` is the mean of :math:`M'_{hk}` over all pairs with
    :math:`d(h,k) = d(i,j)`. On a distance-regular graph every ε of the channel still holds.

    Parameters
    ----------
    channel
        A square channel whose column maxima lie on the diagonal.
    graph
        A distance-regular graph.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import Clique
    >>> square = Channel([[0.8, 0.2], [0.4, 0.6]])
    >>> average_over_distances(square, Clique(2)).matrix().round(9).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """
    from tightrope.graphs import intersection_numbers

    matrix = _diagonal_form(channel, graph)
    if intersection_numbers(graph) is None:
        raise InputError(
            f"averaging over distances keeps privacy on distance-regular graphs, which "
            f"{graph.name} is not: average over automorphisms if it is vertex-transitive"
        )
    return Channel(_averaged(matrix, np.asarray(graph.distance_matrix(), dtype=np.int64)))


def average_over_automorphisms(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel that all automorphisms of the graph leave as it is [B, Lemma 9].

    :math:`M''_{ij} = \frac{1}{|Γ|}\sum_{σ ∈ Γ} M'_{σ(i)σ(j)}` is the mean over the orbit of the
    pair (i, j), so the group itself is never listed. On a vertex-transitive graph the diagonal
    becomes constant.

    Parameters
    ----------
    channel
        A square channel whose column maxima lie on the diagonal.
    graph
        A vertex-transitive graph.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import Cycle
    >>> noisy = Channel([[.5, .25, .25], [.3, .4, .3], [.2, .2, .6]])
    >>> average_over_automorphisms(noisy, Cycle(3)).matrix().round(9).tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    """
    from tightrope.graphs.automorphisms import automorphism_group, pair_orbits

    matrix = _diagonal_form(channel, graph)
    group = automorphism_group(graph)
    if not group.is_transitive:
        raise InputError(
            f"averaging over automorphisms makes the diagonal equal on vertex-transitive graphs, "
            f"which {graph.name} is not ({group.orbit_count} orbits of answers)"
        )
    return Channel(_averaged(matrix, pair_orbits(group)))


def equal_diagonal(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel of equal leakage with one number all along the diagonal [B, Fig 5].

    Lemma 7, then Lemma 8 or Lemma 9, whichever the graph allows. The vulnerability for the
    uniform prior is that number.

    Parameters
    ----------
    channel
        Any channel with one row for each node.
    graph
        A distance-regular or vertex-transitive graph.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import Cycle
    >>> from tightrope.leakage import posterior_vulnerability
    >>> before = GeometricChannel(6, "ln(2)")
    >>> after = equal_diagonal(before, Cycle(6))
    >>> [round(posterior_vulnerability(c), 9) for c in (before, after)], round(after.entry(3, 3), 9)
    ([0.444444444, 0.444444444], 0.444444444)
    """
    from tightrope.graphs import intersection_numbers

    square = maxima_on_diagonal(channel)
    if intersection_numbers(graph) is not None:
        return average_over_distances(square, graph)
    return average_over_automorphisms(square, graph)


def _diagonal_form(channel: Channel, graph: AnswerGraph, rounding: float = 1e-12) -> Array:
    n = graph.size
    if channel.shape != (n, n):
        raise InputError(
            f"the channel must be {n} × {n} for {graph.name}, got {channel.shape[0]} × "
            f"{channel.shape[1]}: bring its maxima to the diagonal first"
        )
    matrix = channel.matrix()
    short = matrix.max(axis=0) - matrix.diagonal()
    worst = int(short.argmax())
    if short[worst] > rounding:
        raise InputError(
            f"every column maximum must lie on the diagonal, but column {worst} exceeds it by "
            f"{short[worst]:.3g}: bring the maxima to the diagonal first"
        )
    return matrix


def _averaged(matrix: Array, classes: NDArray[np.int64]) -> Array:
    """Replace every entry by the mean of its class."""
    flat = classes.ravel()
    means = np.bincount(flat, weights=matrix.ravel()) / np.maximum(np.bincount(flat), 1)
    return np.asarray(means[classes])
