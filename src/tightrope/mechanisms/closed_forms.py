"""The truncated geometric mechanism, and the exponential one with quality :math:`-d`.

On a clique the exponential mechanism is randomized response, on a ring the noise goes both ways
round, and on databases it leaks as much as ε-privacy allows.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from tightrope.arrays import LIMITS, Floats
from tightrope.channels import (
    Channel,
    GeometricChannel,
    KroneckerChannel,
    RuleChannel,
    ScaledPhi,
)
from tightrope.channels.structured import alpha_powers, log_alpha_sum
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs import AnswerGraph, Clique, Cycle


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
        # Ratios of coordinates that move at once multiply, so they share ε.
        factor_level = level
        if graph.product == "strong":
            factor_level = level.scaled(Fraction(1, len(graph.factors)))
        channel_of = {
            factor: geometric(factor, factor_level)
            for factor in dict.fromkeys(graph.factors)
        }
        return KroneckerChannel([channel_of[factor] for factor in graph.factors])
    if graph.has_lengths:
        raise InputError(
            f"geometric noise needs edges of length 1, but {graph.name} has edge lengths: use the "
            "exponential mechanism or a design"
        )
    # How far apart two neighbouring answers lie in node order, at most.
    i, j = graph.longest_edge()[:2] if graph.size > 1 else (0, 1)
    return GeometricChannel(graph.size, level, j - i, label=graph.label)


def independent(graph: AnswerGraph, epsilon: Level) -> Channel:
    r"""Return the baseline without a design: independent geometric noise for each number.

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
    lattice = graph.unbounded
    level = Epsilon.of(epsilon)
    if graph.product:
        return geometric(graph, level)
    if lattice is None or lattice.form == "line":
        raise InputError(f"the answers of {graph.name} are no tuples of counts")
    numbers = lattice.parts - lattice.hidden
    # How many numbers one person can change: one class, two classes, or all counts.
    shares = {"cross": 1, "roots": 2}.get(lattice.form, numbers)
    noise = GeometricChannel(lattice.people + 1, level.scaled(Fraction(1, shares)))
    outputs = (lattice.people + 1) ** numbers
    if graph.size * outputs > LIMITS.entries // 10:
        raise TooLarge(f"independent noise on {graph.name} has {outputs} outputs")
    rows = noise.matrix()
    product = np.ones((graph.size, 1))
    for counts in np.array(graph.labels).T:
        product = np.einsum("ij,ik->ijk", product, rows[counts]).reshape(graph.size, -1)
    labels = list(itertools.product(range(lattice.people + 1), repeat=numbers))
    return Channel(product, inputs=graph.labels, outputs=labels)


class ExponentialChannel(RuleChannel):
    r"""The channel :math:`X_{io} = \alpha^{d(i,o)/2} / \sum_j \alpha^{d(i,j)/2}`.

    The numerators of neighbouring rows differ by a factor of at most :math:`e^{ε/2}`, and so
    do the sums below: together ε-private on every graph. Rows are made from distances; only
    the n sums are kept.

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> ExponentialChannel(PathPower(3), "ln(4)").row(0).round(4).tolist()
    [0.5714, 0.2857, 0.1429]
    """

    def __init__(self, graph: AnswerGraph, epsilon: Level) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self._inputs = self._outputs = graph.label
        self.shape = (graph.size, graph.size)

    def _powers(self, i: int) -> Floats:
        return alpha_powers(self.epsilon, self.graph.distances_from(i), parts=2)

    @functools.cached_property
    def _sums(self) -> Floats:
        self._check_row("the row sums", self.graph.size)
        return np.array([self._row_sum(i) for i in range(self.graph.size)])

    def _row_sum(self, i: int) -> float:
        if self.graph.has_lengths:
            return math.fsum(self._powers(i))
        # Σ_d n_d(i) α^{d/2}
        sizes = self.graph.ball_sizes(i)
        powers = alpha_powers(self.epsilon, np.arange(len(sizes)), parts=2)
        return math.fsum(powers * sizes)

    def _row(self, i: int) -> Floats:
        powers = self._powers(i)
        return np.asarray(powers / powers.sum())

    def _column(self, o: int) -> Floats:
        return np.asarray(self._powers(o) / self._sums)

    def _entry(self, i: int, o: int) -> float:
        power = alpha_powers(self.epsilon, self.graph.distance(i, o), parts=2)
        return float(power) / self._row_sum(i)

    def __repr__(self) -> str:
        return f"<ExponentialChannel {self.graph.name}, ε = {self.epsilon}>"


def exponential(graph: AnswerGraph, epsilon: Level) -> Channel:
    r"""Return the exponential mechanism: near answers likelier than far ones, ε-private.

    Where every answer sees the same ball sizes :math:`n_d` all rows have one sum, the noise
    can use the whole ε, and the channel is :math:`X_{io} = γ α^{d(i,o)}` with
    :math:`γ = 1/\sum_d n_d α^d` [B, (17)]; for the uniform prior and binary loss no ε-private
    channel is better [B, Thm 28]. On other graphs the sums differ and take half of ε
    (:class:`ExponentialChannel`).

    Parameters
    ----------
    graph
        The answer graph; edge lengths are respected.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> (exponential(Cycle(6), "ln(2)").row(0) * 21).round(9).tolist()
    [8.0, 4.0, 2.0, 1.0, 2.0, 4.0]
    """
    level = Epsilon.of(epsilon)
    sizes = graph.constant_ball_sizes
    if sizes is None:
        return ExponentialChannel(graph, level)
    # γ = 1/Σ_d n_d α^d, by logarithms: the sum overflows for many people.
    return ScaledPhi(graph, level, math.exp(-log_alpha_sum(level, sizes)))


def randomized_response(answers: int | AnswerGraph, epsilon: Level) -> Channel:
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
    if answers.is_clique and not answers.has_lengths:
        return exponential(answers, epsilon)
    return _relabelled(exponential(Clique(answers.size), epsilon), answers)


def ring(answers: int | AnswerGraph, epsilon: Level) -> Channel:
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
    cycle = Cycle(answers.size)
    if answers.has_lengths or any(cycle.distance(i, j) > 1 for i, j in answers.edges()):
        raise InputError(
            f"a ring needs answers whose neighbours follow each other in node order, which those "
            f"of {answers.name} do not: use the exponential mechanism"
        )
    return _relabelled(exponential(cycle, epsilon), answers)


def _relabelled(noise: Channel, answers: AnswerGraph) -> Channel:
    """Label a new channel on a clique or a ring with these answers."""
    noise._inputs = noise._outputs = answers.label
    return noise


def highest_leakage(individuals: int, values: int, epsilon: Level) -> KroneckerChannel:
    r"""Return the mechanism on databases whose min-entropy leakage reaches the bound.

    :math:`K_{xz} = 2^{\mathrm{Bnd}(u,v,ε)} / (v^u e^{ε\,d(x,z)})` [B, Prop 16]: every person
    answers by randomized response. It is a Kronecker power, so neither its rows nor its
    leakage need the :math:`v^u` databases listed.

    Parameters
    ----------
    individuals
        How many people u the database holds.
    values
        How many values v each of them can have, "absent" included.
    epsilon
        The privacy level.

    Examples
    --------
    >>> two = highest_leakage(2, 3, "ln(2)")          # largest entry e^2ε/(2+e^ε)² = 1/4
    >>> two.shape, round(float(two.column_maxima().max()), 9)
    ((9, 9), 0.25)
    >>> highest_leakage(20, 4, 1).shape[0] == 4**20
    True
    """
    people = whole_number(individuals, "the number of individuals")
    choices = whole_number(values, "the number of values", 2)
    person = randomized_response(choices, epsilon)
    return KroneckerChannel([person] * people)
