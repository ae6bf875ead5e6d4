r"""Two outputs on a path: the most powerful private test, and keep or drop for a group.

Let a mechanism say yes with probability :math:`\varphi(x)` when the answer is x = 0 … n. It is
:math:`(\varepsilon, \delta)`-private exactly when :math:`\varphi` nowhere rises by more than

.. math:: \varphi(x+1) = \min\{e^\varepsilon \varphi(x) + \delta,\;
          1 - e^{-\varepsilon}(1 - \varphi(x) - \delta),\; 1\}

and falls no faster. From a given start this recursion is the highest :math:`\varphi` at every x at
once. With the start that gives a test its size it is the most powerful test of a share against a
larger one [1]_; with the start 0, because a group of nobody has no name that could be released, it
is the best selection of groups that nobody declared [2]_.

References
----------
.. [1] J. Awan, A. Slavković, "Differentially private uniformly most powerful tests for binomial
   data", NeurIPS 2018.
.. [2] D. Desfontaines, J. Voss, B. Gipson, C. Mandayam, "Differentially private partition
   selection", PoPETs 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.accounting.curves import delta_of
from tightrope.channels import IntegerChannel
from tightrope.epsilon import Epsilon, Level, enclosed
from tightrope.errors import InputError, whole_number


def steepest_chances(
    n: int, epsilon: Level, delta: float | Fraction | str, *, bits: int = 160
) -> list[int]:
    r"""Return the highest :math:`\varphi(0) = 0, …, \varphi(n)` in multiples of :math:`2^{-bits}`.

    They are rounded down, step by step, so they are private as they stand. After the first that
    is certain there are no more: with :math:`\delta > 0` one comes.

    >>> chances = steepest_chances(12, "ln(2)", "1e-3")
    >>> [round(chances[x] / 2**160, 3) for x in (1, 9, 10)]
    [0.001, 0.511, 0.756]
    """
    ratio = Epsilon.of(epsilon).ratio
    one = 1 << bits
    p = ratio.numerator
    q = ratio.denominator
    spared = math.floor(delta_of(delta) * one)
    most = whole_number(n, "n")
    chances = [0]
    while len(chances) <= most and chances[-1] < one:
        last = chances[-1]
        # e^ε φ + δ and 1 - e^{-ε}(1 - φ - δ), both rounded down
        by_yes = p * last // q + spared
        left = one - last - spared
        by_no = one - -(-left * q // p)
        chances.append(min(by_yes, by_no, one))
    return chances


@dataclass(frozen=True, eq=False)
class PrivateTest:
    """A test that rejects with a probability that depends on the count.

    Attributes
    ----------
    chances
        The probability of rejecting when the count is 0, 1, …, n.
    size, power
        The probability of rejecting under the null hypothesis, and under the alternative.
    """

    chances: NDArray[np.float64]
    size: float
    power: float


def most_powerful_test(
    n: int,
    null: float,
    alternative: float,
    epsilon: Level,
    size: float,
    *,
    delta: float | Fraction | str = 0,
) -> PrivateTest:
    r"""Return the most powerful private test of a share against another one.

    Parameters
    ----------
    n
        The number of people, each of whom has the property or not.
    null, alternative
        The share under both hypotheses. The test depends on the alternative's side alone.
    epsilon, delta
        The privacy level.
    size
        The probability of rejecting when the null hypothesis holds.

    Examples
    --------
    >>> f"{most_powerful_test(30, 0.9, 0.95, 1, 0.05).power:.12f}"
    '0.135298673104'
    """
    from scipy.stats import binom

    n = whole_number(n, "n")
    level = Epsilon.of(epsilon)
    spared = float(delta_of(delta))
    are_shares = 0 < null < 1 and 0 < alternative < 1 and 0 < size < 1
    if not are_shares or null == alternative:
        raise InputError(
            "a test needs two different shares and a size between 0 and 1, got "
            f"{null}, {alternative} and {size}"
        )
    if alternative < null:
        mirrored = most_powerful_test(
            n, 1 - null, 1 - alternative, epsilon, size, delta=delta
        )
        return PrivateTest(mirrored.chances[::-1], mirrored.size, mirrored.power)
    counts = np.arange(n + 1)
    under = binom.pmf(counts, n, null)
    beside = binom.pmf(counts, n, alternative)
    # With δ > 0 the chances may have to stay at 0 for a while: from the first place where that is
    # enough they rise.
    for first in range(n + 1):
        chances, slopes = _climb(0.0, first, n, level, spared)
        if float(under @ chances) <= size:
            break
    start = 0.0
    # The size is concave and piecewise linear in the start: Newton's steps from the left stay on
    # the left and end after finitely many.
    while True:
        missing = size - float(under @ chances)
        slope = float(under @ slopes)
        better = start + missing / slope
        if not start < better:
            break
        start = better
        chances, slopes = _climb(start, first, n, level, spared)
    reached = float(under @ chances)
    power = float(beside @ chances)
    return PrivateTest(chances, reached, power)


def _climb(
    start: float, first: int, n: int, level: Epsilon, spared: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the steepest chances from a place and a start in floats, and their slopes in it."""
    chances = np.zeros(n + 1)
    slopes = np.zeros(n + 1)
    value = start
    slope = 1.0
    alpha = level.alpha
    for x in range(first, n + 1):
        chances[x] = value
        slopes[x] = slope
        value, slope = min(
            (value / alpha + spared, slope / alpha),
            (1 - alpha * (1 - value - spared), slope * alpha),
            (1.0, 0.0),
        )
    return chances, slopes


# -- groups that nobody declared ----------------------------------------------------------


def check_delta(delta: Fraction) -> None:
    """Refuse δ = 0 for groups that nobody declared."""
    if not delta:
        raise InputError(
            "a group that nobody declared cannot be released with δ = 0: the name alone would "
            "tell of its people; give δ > 0, or declare the values"
        )


@dataclass(frozen=True)
class Selection:
    r"""The best private choice between keeping and dropping a group, with the proof that it is.

    A consumer thinks every size 0 … n equally likely. Dropping a group of people costs 1, keeping
    a group of nobody ``price``, which is as much as it takes. With the prices :math:`\lambda_i`
    and the multipliers m on arcs, no :math:`(\varepsilon, \delta)`-private mechanism has a loss
    below :math:`\sum \lambda - \alpha\delta \sum_{arcs} \max_k m_k`.

    Attributes
    ----------
    channel
        Rows 0 … n, outputs ``drop`` and ``keep``; n is the first size that is always kept, if
        there is one, and stands for all larger ones.
    price
        What it costs to keep a group of nobody.
    prices
        :math:`\lambda_i`.
    multipliers
        Output, from, to, and the multiplier.
    """

    channel: IntegerChannel
    price: int
    prices: tuple[Fraction, ...]
    multipliers: tuple[tuple[int, int, int, Fraction], ...]

    def chance(self, people: int) -> Fraction:
        """Return the probability that a group of so many people is kept."""
        row = min(people, self.channel.shape[0] - 1)
        return self.channel.fraction(row, 1)


def partition_selection(
    n: int, epsilon: Level, delta: float | Fraction | str, *, bits: int = 160
) -> Selection:
    r"""Return the best :math:`(\varepsilon, \delta)`-private keep-or-drop for groups of 0 … n.

    Parameters
    ----------
    n
        The largest possible group.
    epsilon, delta
        The privacy level for one person in one group.
    bits
        Rows of the channel sum to :math:`2^{bits}`.

    Examples
    --------
    >>> chosen = partition_selection(20, "ln(2)", "1e-3")
    >>> round(float(chosen.chance(9)), 3), round(float(chosen.chance(10)), 3)
    (0.511, 0.756)
    """
    check_delta(delta_of(delta))
    keep = steepest_chances(n, epsilon, delta, bits=bits)
    n = len(keep) - 1
    total = 1 << bits
    rows = [[total - chance, chance] for chance in keep]
    weights = np.array(rows, object)
    channel = IntegerChannel(weights, total, outputs=["drop", "keep"])
    level = Epsilon.of(epsilon)
    weight = Fraction(1, n + 1)
    # The judge rounds α down to 62 binary places. The multipliers grow like 1/δ, so they must be
    # made with the very same α: with another one the bound would be off by its error times 1/δ.
    high = level.ratio
    if not level.exact:
        _, high = enclosed(level.multiple, level.base, power=True)
    alpha = Fraction(math.floor((1 << 62) / high), 1 << 62)
    # The step to i is held back by e^ε φ + δ up to the turn, with a multiplier (w + u + αv)/α; then
    # by 1 - α(1 - φ - δ), with a multiplier w + αv. Whole multiples of 2^-60, as a file has them.
    kept = (1 - delta_of(delta)) / (1 + level.ratio)
    turn = math.floor(kept * total)
    unit = 1 << 60
    lower = [Fraction(0)] * (n + 1)
    upper = [Fraction(0)] * (n + 1)
    for i in range(n, 0, -1):
        # Where keeping is certain no constraint binds, and no multiplier is needed.
        if keep[i] == total:
            continue
        passed = weight + upper[i] * alpha
        if keep[i - 1] <= turn:
            multiplier = (passed + lower[i]) / alpha
            rounded_down = math.floor(multiplier * unit)
            lower[i - 1] = Fraction(rounded_down, unit)
        else:
            rounded_down = math.floor(passed * unit)
            upper[i - 1] = Fraction(rounded_down, unit)
    prices = [
        upper[0] * alpha,
        *(lower[i - 1] * alpha - lower[i] for i in range(1, n + 1)),
    ]
    listed = [(0, i, i + 1, m) for i, m in enumerate(upper) if m]
    listed += [(1, i + 1, i, m) for i, m in enumerate(lower) if m]
    # A power of 2, because it also has to be a float.
    needed = (lower[0] + prices[0]) / weight
    least = math.ceil(needed)
    price = 1 << least.bit_length()
    return Selection(channel, price, tuple(prices), tuple(listed))
