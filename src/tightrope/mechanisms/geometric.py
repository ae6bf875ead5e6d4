r"""The truncated geometric mechanism, and its adaptation to any order of the answers."""

from __future__ import annotations

from fractions import Fraction

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
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
