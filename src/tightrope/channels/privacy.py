r"""Whether a channel is private, and how private.

A channel is :math:`\varepsilon`-private on a graph iff :math:`X[i,o] \le e^{\varepsilon\ell}
X[h,o]` on every edge i ~ h of length :math:`\ell` [A, Lemma 1]; unit lengths are the usual case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tightrope.channels.base import Channel
from tightrope.channels.rules import worst_places
from tightrope.channels.structured import compare_levels
from tightrope.channels.worst import Worst, check_sizes, log_ratio
from tightrope.epsilon import LARGEST, SMALLEST, Epsilon
from tightrope.graphs import AnswerGraph

#: How far the smallest ε of a channel of floats may lie above the level asked for.
PRIVACY_TOLERANCE = 1e-9


@dataclass(frozen=True)
class PrivacyCheck:
    r"""Whether a channel is private, and where it comes closest to not being.

    Attributes
    ----------
    private
        The answer; also the truth value of the check.
    edge
        The worst edge (i, h), the node with the larger probability first; ``None`` when the
        graph has a single node.
    output
        The output at which it is worst.
    ratio
        :math:`X[i,o]/X[h,o]` there; ``inf`` for a zero beside a non-zero.
    allowed
        What the edge allows: the exact p/q for integers, :math:`e^{\varepsilon\ell}` for floats.
    margin
        ε less what the worst place needs; negative where the channel breaks the bound.
    exact
        Whether the answer was decided in integers or by a rule, without rounding.
    tolerance
        How far below 0 the margin may be; 0 when exact.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> bool(is_private(Channel([[1.0, 0.0], [0.5, 0.5]]), PathPower(2), 1))
    False
    """

    private: bool
    edge: tuple[int, int] | None
    output: int | None
    ratio: Fraction | float
    allowed: Fraction | float
    margin: float
    exact: bool
    tolerance: float

    def __bool__(self) -> bool:
        return self.private

    def __str__(self) -> str:
        word = "private" if self.private else "not private"
        how = "exact" if self.exact else f"within {self.tolerance:g}"
        if self.edge is None:
            return f"{word} ({how}): there is only one answer"
        return (
            f"{word} ({how}): at worst output {self.output} is {float(self.ratio):.9g} times as "
            f"likely for row {self.edge[0]} as for row {self.edge[1]}, margin {self.margin:.3g}"
        )


@dataclass(frozen=True)
class SmallestEpsilon:
    r"""The smallest ε for which a channel is private, and the place that needs it.

    Attributes
    ----------
    value
        The level; ``inf`` when a zero stands beside a non-zero.
    edge, output, ratio
        The place, the larger probability first, and the ratio found there.

    Examples
    --------
    >>> float(SmallestEpsilon(0.5, (0, 1), 0, math.exp(0.5)))
    0.5
    """

    value: float
    edge: tuple[int, int] | None
    output: int | None
    ratio: Fraction | float

    def __float__(self) -> float:
        return self.value


def is_private(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
    *,
    tolerance: float = PRIVACY_TOLERANCE,
) -> PrivacyCheck:
    r"""Check :math:`X[i,o] \le e^{\varepsilon\ell} X[h,o]` on every edge [A, Lemma 1].

    Integer weights are decided exactly against the rational ratio of ε, which is never above
    :math:`e^\varepsilon`. Channels with a rule (geometric; scaled Φ on its own graph; products
    on products) are decided by the rule, whatever their size: that speaks of the channel as
    defined, not of its entries after rounding to floats. All others are looked through.

    Parameters
    ----------
    channel
        One row for each node.
    graph
        The answer graph, with or without edge lengths.
    epsilon
        The privacy level.
    tolerance
        How far above ε a channel of floats may be.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel, rational
    >>> from tightrope.graphs import PathPower
    >>> check = is_private(rational([["2/3", "1/3"], ["1/3", "2/3"]]), PathPower(2), "ln(2)")
    >>> check.private, check.ratio, check.allowed, check.margin, check.exact
    (True, Fraction(2, 1), Fraction(2, 1), 0.0, True)
    >>> million = PathPower(1_000_001, 5)
    >>> bool(is_private(GeometricChannel(1_000_001, "0.2", width=5), million, "0.2"))
    True
    """
    level = Epsilon.of(epsilon)
    check_sizes(channel, graph)
    checks = [_judge(worst, level, tolerance) for worst in worst_places(channel, graph)]
    # Exact breaches first: a margin in floats may round to 0.
    return min(checks, key=lambda check: (check.private, check.margin))


def smallest_epsilon(channel: Channel, graph: AnswerGraph) -> SmallestEpsilon:
    r"""Return the least :math:`\varepsilon` with :math:`X[i,o] \le e^{\varepsilon\ell} X[h,o]`.

    That is :math:`\max \ln(X[i,o]/X[h,o])/\ell` over edges and outputs, exactly or by rule as
    in :func:`is_private`.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel
    >>> from tightrope.graphs import Clique
    >>> found = smallest_epsilon(IntegerChannel([[3, 1, 1], [1, 3, 1], [1, 1, 3]]), Clique(3))
    >>> found.ratio, found.edge, round(found.value, 6)
    (Fraction(3, 1), (1, 0), 1.098612)
    """
    check_sizes(channel, graph)
    worst = max(worst_places(channel, graph), key=lambda place: place.level)
    return SmallestEpsilon(worst.level, worst.edge, worst.output, worst.ratio)


def allowed_ratio(epsilon: Epsilon, length: float) -> Fraction:
    r"""Return a rational p/q at most :math:`e^{\varepsilon\ell}`, tight where ε can be written.

    Beyond the range of :class:`~tightrope.Epsilon` the bound is the nearest one within it that
    is lower, which can only make a check stricter.

    Examples
    --------
    >>> allowed_ratio(Epsilon.of("ln(2)"), 3.0), allowed_ratio(Epsilon.of(1), 1e-14)
    (Fraction(8, 1), Fraction(1, 1))
    """
    if length == 1:
        return epsilon.ratio
    reach = float(epsilon) * length
    if reach < 2 * SMALLEST:
        return Fraction(1)
    if reach > LARGEST:
        return Epsilon(Fraction(LARGEST)).ratio
    return Epsilon(epsilon.multiple * Fraction(repr(float(length))), epsilon.base).ratio


def _judge(worst: Worst, epsilon: Epsilon, tolerance: float) -> PrivacyCheck:
    place = (worst.edge, worst.output, worst.ratio)
    if worst.rule is None and isinstance(worst.ratio, Fraction):
        bound = allowed_ratio(epsilon, worst.length)
        margin = log_ratio(bound / worst.ratio) / worst.length
        return PrivacyCheck(worst.ratio <= bound, *place, bound, margin, True, 0.0)
    if worst.rule is not None:
        times, level = worst.rule
        exact = level.base == epsilon.base
        margin = compare_levels(level, epsilon, times=times)
    else:
        exact = worst.ratio == math.inf
        margin = float(epsilon) - worst.level
    slack = 0.0 if exact else tolerance
    allowed = _exp(float(epsilon) * worst.length)
    return PrivacyCheck(margin >= -slack, *place, allowed, margin, exact, slack)


def _exp(level: float) -> float:
    return math.exp(level) if level < 709 else math.inf
