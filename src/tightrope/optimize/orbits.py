r"""Symmetry: the problem on orbits.

An automorphism of the graph that keeps prior and loss moves an optimal mechanism to an optimal
mechanism, and so does averaging over all of them. So one guess for each orbit of guesses is
enough, and one sum for each orbit of answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tightrope.consumers import Loss
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.symmetry import AutomorphismGroup, automorphism_group, pair_orbits
from tightrope.optimize.problem import Floats, Problem

#: Largest number of answers for which symmetries are looked for.
SYMMETRY_ANSWERS = 4000


def symmetries(
    graph: AnswerGraph, prior: Floats, loss: Loss
) -> AutomorphismGroup | None:
    """Return the automorphisms that keep prior and loss, or ``None`` if only the identity does.

    A risk-averse consumer has an even prior on the support: the worst one can be averaged too.

    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> loss = Consumer.of(PathPower(5), loss="absolute").loss
    >>> symmetries(PathPower(5), np.full(5, 0.2), loss).order
    2
    """
    size = graph.size
    if size > SYMMETRY_ANSWERS or loss.guess_count != size:
        return None
    # If all probabilities differ, only the identity keeps them.
    if len(np.unique(prior)) == size:
        return None
    colours: Any = prior
    pairs = None if loss.follows_graph else loss.matrix()
    if pairs is not None:
        # What keeps losses keeps their sums: mostly no pair needs a colour then.
        sums = np.sort(pairs, axis=1).sum(axis=1)
        both = np.column_stack([colours, sums])
        colours = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    try:
        group = automorphism_group(graph, node_colours=colours)
        if pairs is not None:
            # Colours of nodes mostly suffice: look before the costly search with coloured pairs.
            moved = (pairs[np.ix_(g, g)] for g in group.generators)
            if not all(np.array_equal(losses, pairs) for losses in moved):
                group = automorphism_group(
                    graph, node_colours=colours, pair_colours=pairs
                )
    except TightropeError:
        return None
    return group if group.order > 1 else None


def reduced(problem: Problem, group: AutomorphismGroup) -> Problem:
    """Return the problem with one guess for each orbit, and answers summed by orbit.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> from tightrope.graphs.symmetry import automorphism_group
    >>> problem = Problem(Cycle(5), Epsilon.of(1), np.ones((5, 5)) - np.eye(5))
    >>> reduced(problem, automorphism_group(Cycle(5))).guesses.tolist()
    [0]
    """
    return replace(problem, classes=np.asarray(group.orbits))


def expanded(columns: dict[int, Floats], group: AutomorphismGroup) -> dict[int, Floats]:
    """Return columns for all guesses from those of the representatives, averaged.

    >>> from tightrope.graphs import Cycle
    >>> from tightrope.graphs.symmetry import automorphism_group
    >>> full = expanded({0: np.array([0.5, 0.3, 0.0, 0.2])}, automorphism_group(Cycle(4)))
    >>> full[1].tolist()
    [0.25, 0.5, 0.25, 0.0]
    """
    orbits = np.asarray(group.orbits)
    full: dict[int, Floats] = {}
    for k, column in columns.items():
        others = np.flatnonzero(orbits == orbits[k])
        pairs = pair_orbits(group, others)
        own = pairs[:, np.searchsorted(others, k)]
        # x^{gk}_{gi} = x^k_i for every symmetry g: the mean over each orbit of pairs (i, k)
        counts = np.bincount(own)
        mean = np.bincount(own, column) / np.maximum(counts, 1)
        full |= dict(zip(others.tolist(), mean[pairs].T, strict=True))
    return full
