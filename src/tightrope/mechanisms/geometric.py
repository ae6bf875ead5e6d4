r"""The truncated geometric mechanism, and its adaptation to any order of the answers."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel
from tightrope.channels.base import LIMITS
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph


def geometric(graph: AnswerGraph, epsilon: Level) -> Channel:
    r"""Return two-sided geometric noise on the answers, truncated at both ends, ε-private.

    The answers are taken in node order along a line. One step along it changes a probability
    by :math:`e^{ε/w}`, where w is how far apart two neighbouring answers can lie: 1 for a
    count, v for ``sum(u,v)``, and n-1 when all answers are neighbours, the adapted version of
    [B, Table 1]. It is optimal for counts [A, §6; C, Def 2.5]; on other graphs it is the
    baseline to beat.

    On a product of graphs the coordinates get independent noise: with ε each when one person
    moves one coordinate (Cartesian), with ε shared among them when one person moves all of
    them at once (strong product).

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Clique
    >>> geometric(PathPower(6), "ln(2)").row(0).round(4).tolist()
    [0.6667, 0.1667, 0.0833, 0.0417, 0.0208, 0.0208]
    >>> geometric(Clique(6), "ln(2)").row(0).round(3).tolist()
    [0.535, 0.06, 0.052, 0.046, 0.04, 0.267]
    """
    level = Epsilon.of(epsilon)
    if graph.product:
        shared = graph.product == "strong"
        each = level.scaled(Fraction(1, len(graph.factors))) if shared else level
        made = {id(factor): geometric(factor, each) for factor in graph.factors}
        return KroneckerChannel([made[id(factor)] for factor in graph.factors])
    if graph.has_lengths:
        raise InputError(
            f"geometric noise needs edges of length 1, but {graph.name} has edge lengths: use the "
            "exponential mechanism or a design"
        )
    # How far apart two neighbouring answers lie in node order, at most.
    i, j = graph.longest_edge()[:2] if graph.size > 1 else (0, 1)
    return GeometricChannel(graph.size, level, j - i, label=graph.label)


def independent(graph: AnswerGraph, epsilon: Level) -> Channel:
    r"""Return what is done without a design: independent geometric noise for each number.

    Where one person can change several of the numbers of an answer, each gets its share of ε:
    :math:`ε/k` for k counts, :math:`ε/2` for the classes of a histogram between which one person
    moves, and ε for each class where one person only comes or goes. Outputs are all tuples of
    numbers from 0 to n, answers or not.

    Parameters
    ----------
    graph
        A product of graphs, a bundle of counts or a histogram.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import Histograms
    >>> independent(Histograms(2, 3), 1).shape
    (6, 27)
    """
    lattice, level = graph.unbounded, Epsilon.of(epsilon)
    if graph.product:
        return geometric(graph, level)
    if lattice is None or lattice.form == "line":
        raise InputError(f"the answers of {graph.name} are no tuples of counts")
    numbers = lattice.parts - lattice.hidden
    shares = {"cross": 1, "roots": 2}.get(lattice.form, numbers)
    each = GeometricChannel(lattice.people + 1, level.scaled(Fraction(1, shares)))
    outputs = (lattice.people + 1) ** numbers
    if graph.size * outputs > LIMITS.matrix // 10:
        raise TooLarge(f"independent noise on {graph.name} has {outputs} outputs")
    rows, found = each.matrix(), np.ones((graph.size, 1))
    for counts in np.array(graph.labels).T:
        found = np.einsum("ij,ik->ijk", found, rows[counts]).reshape(graph.size, -1)
    labels = list(itertools.product(range(lattice.people + 1), repeat=numbers))
    return Channel(found, inputs=graph.labels, outputs=labels)
