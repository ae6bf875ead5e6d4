r"""Randomized response, and the optimal matrices of cliques and rings."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from tightrope.channels import Channel
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, Clique, Cycle
from tightrope.mechanisms.exponential import exponential


def randomized_response(
    answers: int | AnswerGraph, epsilon: Epsilon | float | Fraction | str
) -> Channel:
    r"""Return randomized response: the truth :math:`e^ε` times likelier than any other answer.

    .. math:: X_{ii} = \frac{e^ε}{k-1+e^ε}, \qquad X_{io} = \frac{1}{k-1+e^ε}.

    It is the optimal matrix of a clique [B, Ex 30]. On any other graph with k answers it is
    ε-private too, as if all answers were neighbours [B, Rem 29].

    Parameters
    ----------
    answers
        How many answers there are, or an answer graph.
    epsilon
        The privacy level.

    Examples
    --------
    >>> (randomized_response(6, "ln(2)").row(0) * 7).round(9).tolist()
    [2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if not isinstance(answers, AnswerGraph):
        return exponential(Clique(answers), epsilon)
    if answers.has_lengths and answers.edge_lengths().min() < 1:
        raise InputError(
            f"randomized response treats all answers as neighbours at distance 1, but "
            f"{answers.name} has shorter edges: use the exponential mechanism"
        )
    return exponential(
        answers if answers.is_clique and not answers.has_lengths else _LabelledClique(answers),
        epsilon,
    )


def ring(answers: int | AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> Channel:
    r"""Return the optimal matrix of a ring, :math:`X_{io} ∝ α^{\text{way round}}` [B, Ex 31].

    A path becomes a ring by an artificial adjacency between its ends, which keeps privacy and
    costs utility [B, Rem 29].

    Parameters
    ----------
    answers
        How many answers lie on the ring, or an answer graph that is a path or a cycle in node
        order.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> (ring(PathPower(6), "ln(2)").row(1) * 21).round(9).tolist()
    [4.0, 8.0, 4.0, 2.0, 1.0, 2.0]
    """
    if not isinstance(answers, AnswerGraph):
        return exponential(Cycle(answers), epsilon)
    cycle = answers if answers.is_ring else _LabelledCycle(answers)
    if answers.has_lengths or any(cycle.distance(i, j) > 1 for i, j in answers.edges()):
        raise InputError(
            f"a ring needs answers whose neighbours follow each other in node order, which those "
            f"of {answers.name} do not: use the exponential mechanism"
        )
    return exponential(cycle, epsilon)


class _LabelledClique(Clique):
    """A clique on the answers of another graph."""

    def __init__(self, source: AnswerGraph) -> None:
        super().__init__(source.size, name=f"{source.name} as a clique")
        self._source = source

    def label(self, i: int) -> Hashable:
        return self._source.label(i)

    def index(self, label: Hashable) -> int:
        return self._source.index(label)


class _LabelledCycle(Cycle):
    """A ring of the answers of another graph, in node order."""

    def __init__(self, source: AnswerGraph) -> None:
        super().__init__(source.size, name=f"{source.name} as a ring")
        self._source = source

    def label(self, i: int) -> Hashable:
        return self._source.label(i)

    def index(self, label: Hashable) -> int:
        return self._source.index(label)
