r"""Privacy losses on a grid: long compositions in integers, rounded outward.

Let P and Q be the two rows of a symmetric trade-off curve. The *privacy loss* of an output o is
:math:`\ell = \ln P(o)/Q(o)`, and under P it has a distribution [1]_ from which

.. math:: \delta(\varepsilon) = \Pr[\ell = \infty]
          + \sum_{\ell > \varepsilon} \Pr[\ell]\,(1 - e^{\varepsilon - \ell}).

Losses of independent releases add up, so their distributions are convolved. Here losses stand on
a grid and probabilities are whole multiples of :math:`2^{-192}`. Three roundings happen, and all
make :math:`\delta` larger: an output between two places of the grid is split into two that keep
both its probabilities, which only tells more [2]_; probabilities are rounded up; a tail of less
than :math:`2^{-100}` moves up, the upper one to infinity. The arithmetic is that of whole numbers,
the same on every machine, so a statement can be computed again to the last digit.

Mechanisms of which nothing is known but their levels cost at most as much as randomized responses
of these levels, whose losses are :math:`\pm\varepsilon`: that is the optimal composition of
Kairouz, Oh and Viswanath [3]_, and here just one more distribution.

References
----------
.. [1] D. Sommer, S. Meiser, E. Mohammadi, "Privacy loss classes", PoPETs 2019.
.. [2] V. Doroshenko, B. Ghazi, P. Kamath, R. Kumar, P. Manurangsi, "Connect the dots: tighter
   discrete approximations of privacy loss distributions", PoPETs 2022.
.. [3] P. Kairouz, S. Oh, P. Viswanath, "The composition theorem for differential privacy",
   ICML 2015.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from tightrope.accounting.curves import TradeOff, delta_of
from tightrope.epsilon import Epsilon, Level, enclosed
from tightrope.errors import InputError, whole_number
from tightrope.exact import power

#: Binary places of a probability, and of the tails that are moved outward.
PLACES = 192
TAIL = 100
ONE = 1 << PLACES

#: A kind of release: its level or its curve, and how many there are.
Releases = tuple[Level | TradeOff, int]


@dataclass(frozen=True)
class PrivacyLoss:
    r"""A distribution of privacy losses, never too good.

    Attributes
    ----------
    unit, low
        Losses are ``low + k·unit``.
    masses
        Probabilities at k = 0, 1, …, in units of :math:`2^{-192}`.
    infinite
        The probability of an infinite loss, in the same units.

    Examples
    --------
    >>> coin = PrivacyLoss.of(TradeOff((3, 1), (1, 3)), Fraction(1, 64))
    >>> twice = coin.compose(coin)
    >>> f"{float(twice.delta('ln(2)')):.5f}", TradeOff((3, 1), (1, 3)).times(2).delta("ln(2)")
    ('0.43750', Fraction(7, 16))
    """

    unit: Fraction
    low: Fraction
    masses: tuple[int, ...]
    infinite: int = 0

    @classmethod
    def of(cls, curve: TradeOff, unit: Fraction) -> PrivacyLoss:
        """Return the losses of a curve, made symmetric, on a grid."""
        rows = curve.symmetric()
        pairs = list(zip(rows.null, rows.other, strict=True))
        # Outputs that are impossible under the other row have an infinite loss.
        sure = sum(p for p, q in pairs if not q)
        atoms = [
            (Fraction(p, rows.total), _logarithm(Fraction(p, q)))
            for p, q in pairs
            if p and q
        ]
        return cls._placed(atoms, unit, _up(Fraction(sure, rows.total)))

    @classmethod
    def randomized_response(
        cls, level: Level, unit: Fraction | None = None
    ) -> PrivacyLoss:
        r"""Return the losses :math:`\pm\varepsilon`, the worst of this level.

        >>> PrivacyLoss.randomized_response(1).low
        Fraction(-1, 1)
        """
        loss = Epsilon.of(level).above
        # e^ε / (1 + e^ε), never too small
        _, ratio = enclosed(loss, None, power=True)
        likely = 1 - 1 / (1 + ratio)
        atoms = [(1 - likely, -loss), (likely, loss)]
        if unit is None or (2 * loss / unit).denominator == 1:
            width = 2 * loss if unit is None else unit
            width_count = int(2 * loss / width)
            gap = [0] * (width_count - 1)
            return cls(width, -loss, (_up(1 - likely), *gap, _up(likely)))
        return cls._placed(atoms, unit)

    @classmethod
    def _placed(
        cls,
        atoms: Iterable[tuple[Fraction, Fraction]],
        unit: Fraction,
        infinite: int = 0,
    ) -> PrivacyLoss:
        """Put probabilities at losses on a grid; what lies between two places is split."""
        places: dict[int, int] = defaultdict(int, {0: 0})  # all losses may be infinite
        step = 1 - _decay(unit)[1]
        for chance, loss in atoms:
            place = math.floor(loss / unit)
            mass = _up(chance)
            beyond = loss - place * unit
            # The share (1 - e^-beyond) / (1 - e^-unit) goes up: the mean of e^-loss stays, so the
            # other row still sums to 1, and by convexity no δ gets smaller.
            upper = 0
            if beyond:
                lower_decay, _ = _decay(beyond)
                upper = min(mass, _up(chance * (1 - lower_decay) / step))
            places[place] += mass - upper
            places[place + 1] += upper
        first = min(places)
        last = max(places)
        span = range(first, last + 1)
        masses = tuple(places[k] for k in span)
        return cls(unit, first * unit, masses, infinite)._trimmed()

    def compose(self, other: PrivacyLoss, *, most: int = 1 << 17) -> PrivacyLoss:
        """Return the losses of two releases together.

        Parameters
        ----------
        other
            The other losses. Their unit is this one's times a power of 2.
        most
            Most places of the grid; beyond, every second one goes.
        """
        from flint import fmpz_poly

        left = self
        right = other
        while left.unit < right.unit:
            left = left._coarser()
        while right.unit < left.unit:
            right = right._coarser()
        if left.unit != right.unit:
            raise InputError(
                f"losses compose on one grid, got units {self.unit} and {other.unit}"
            )
        # Losses add up: probabilities are convolved, exactly, and rounded up.
        left_masses = fmpz_poly(list(left.masses))
        right_masses = fmpz_poly(list(right.masses))
        product = left_masses * right_masses
        masses = tuple(
            -(-int(product[k]) >> PLACES) for k in range(max(product.degree(), 0) + 1)
        )
        # 1 - (1 - p)(1 - q)
        neither = left.infinite * right.infinite >> PLACES
        infinite = left.infinite + right.infinite - neither
        low = left.low + right.low
        both = PrivacyLoss(left.unit, low, masses, infinite)._trimmed()
        while len(both.masses) > most:
            both = both._coarser()
        return both

    def times(self, count: int) -> PrivacyLoss:
        """Return the losses of so many releases, by repeated squaring."""
        return power(
            self, whole_number(count, "the number of releases"), PrivacyLoss.compose
        )

    def delta(self, epsilon: Level) -> Fraction:
        r"""Return a :math:`\delta` at which the composition is private for a level."""
        limit = Fraction(0)
        if epsilon != 0:
            level = Epsilon.of(epsilon)
            limit = level.multiple
            if level.base is not None:
                limit = enclosed(level.multiple, level.base, power=False)[0]
        # Only losses above ε contribute to δ.
        below = math.floor((limit - self.low) / self.unit)
        first = max(0, below + 1)
        if first >= len(self.masses):
            return Fraction(min(ONE, self.infinite), ONE)
        # e^(ε-ℓ) at the first loss above ε, then from place to place, rounded down
        excess = self.low + first * self.unit - limit
        decay, _ = _decay(excess)
        share = _down(decay)
        step = _down(_decay(self.unit)[0])
        total = self.infinite
        for mass in self.masses[first:]:
            total += mass - (mass * share >> PLACES)
            share = share * step >> PLACES
        return Fraction(min(ONE, total), ONE)

    def epsilon(self, delta: float | Fraction | str) -> Fraction | None:
        r"""Return the least level for a :math:`\delta`, rounded up; ``None`` where there is none.

        Between two places of the grid, :math:`\delta(\varepsilon) = A - e^{\varepsilon-\ell} C`
        with A the probability from :math:`\ell` on and C the same under the other row.
        """
        spared = delta_of(delta)
        allowed = math.floor(spared * ONE)
        if self.infinite > allowed:
            return None
        step = _down(_decay(self.unit)[0])
        # A and C, from the largest loss down.
        above = self.infinite
        beside = 0
        for k in range(len(self.masses) - 1, -1, -1):
            above += self.masses[k]
            beside = self.masses[k] + (beside * step >> PLACES)
            # δ is exceeded at ε = ℓ - unit: the level lies between these two places.
            if (above - allowed) << PLACES > beside * step:
                # A - e^{ε-ℓ} C = δ at ε = ℓ - ln(C / (A - δ))
                ratio = Fraction(beside, above - allowed)
                level = self.low + k * self.unit
                inverse = max(ratio, Fraction(1))
                level -= enclosed(Fraction(1), inverse, power=False)[0]
                # Rounded up to thirty digits behind the point.
                rounded = Fraction(math.ceil(level * 10**30), 10**30)
                return max(Fraction(0), rounded)
        return Fraction(0)

    def _trimmed(self) -> PrivacyLoss:
        """Move tails that do not count outward, and forget places where nothing is."""
        limit = ONE >> TAIL
        from_below = list(accumulate(self.masses))
        first = next(
            (k for k, mass in enumerate(from_below) if mass > limit),
            len(from_below) - 1,
        )
        from_above = list(accumulate(reversed(self.masses)))
        crossed = (k for k, mass in enumerate(from_above) if mass > limit)
        cut = next(crossed, 0)
        last = max(first + 1, len(self.masses) - cut)
        inner = self.masses[first + 1 : last]
        kept = [from_below[first], *inner]
        return replace(
            self,
            low=self.low + first * self.unit,
            masses=tuple(kept),
            infinite=self.infinite + sum(self.masses[last:]),
        )

    def _coarser(self) -> PrivacyLoss:
        """Return the same on every second place: what is between goes to both sides of it."""
        # (1 - e^-u) / (1 - e^-2u) = 1 / (1 + e^-u), as in _placed
        decay, _ = _decay(self.unit)
        upper = _up(1 / (1 + decay))
        masses = [0] * (len(self.masses) // 2 + 1)
        for k, mass in enumerate(self.masses):
            if k % 2:
                moved = -(-mass * upper >> PLACES)
                masses[k // 2] += mass - moved
                masses[k // 2 + 1] += moved
            else:
                masses[k // 2] += mass
        return replace(self, unit=2 * self.unit, masses=tuple(masses))


def optimal_composition(
    steps: Iterable[Releases], *, fineness: int = 240
) -> PrivacyLoss:
    r"""Return the losses of a series of releases: levels, or curves of mechanisms, and how often.

    For levels alone this is the optimal composition of Kairouz, Oh and Viswanath, to the rounding
    of probabilities, wherever the levels have a common measure. Curves cost at most as much as
    their levels.

    Parameters
    ----------
    steps
        Pairs of a level, or of a symmetric curve, and a number of releases.
    fineness
        Places of the grid for the largest level where there are curves, or levels without a
        common measure. Splitting between places costs about 1e-6 of δ in 40 releases; 240 has
        many divisors, so geometric noise on wider steps needs none.

    Examples
    --------
    >>> f"{float(optimal_composition([('0.1', 60), ('0.2', 10)]).epsilon('1e-6')):.6f}"
    '4.652548'
    """
    known = list(steps)
    if not known:
        raise InputError("a series has at least one release, got none")
    spans = [2 * _widest(what) for what, _ in known]
    over = math.lcm(*(span.denominator for span in spans))
    numerators = (int(span * over) for span in spans)
    unit = Fraction(math.gcd(*numerators), over)
    curved = any(isinstance(what, TradeOff) for what, _ in known)
    # The common measure of all spans is a grid on which no level is split; where it is too fine,
    # or curves need a finer one, the grid is chosen by the fineness.
    if max(spans) > 4096 * unit:
        widest = max(min(spans) / fineness, max(spans) / 4096)
        unit = Fraction(1, math.ceil(1 / widest))
    elif curved:
        unit /= math.ceil(2 * fineness * unit / max(spans))
    losses = (
        PrivacyLoss.of(what, unit).times(count)
        if isinstance(what, TradeOff)
        else PrivacyLoss.randomized_response(what, unit).times(count)
        for what, count in known
    )
    return functools.reduce(PrivacyLoss.compose, losses)


def longest_series(level: Level, epsilon: Level, delta: float | Fraction | str) -> int:
    r"""Return how many releases of one level a budget :math:`(\varepsilon, \delta)` holds.

    >>> longest_series("0.01", 1, "1e-6"), longest_series("0.1", 1, "1e-6")
    (562, 10)
    """
    release = PrivacyLoss.randomized_response(level)
    allowed = delta_of(delta)
    wanted = Epsilon.of(epsilon)
    low = int(wanted.above / Epsilon.of(level).above)  # δ = 0: the levels add up
    high = max(1, 2 * low)

    def exceeds(count: int) -> bool:
        return release.times(count).delta(wanted) > allowed

    while not exceeds(high):
        low, high = high, 2 * high
    above = range(low + 1, high)
    return low + bisect_left(above, True, key=exceeds)


def _widest(what: Level | TradeOff) -> Fraction:
    """Return the largest loss of a step, at or above it."""
    if not isinstance(what, TradeOff):
        return Epsilon.of(what).above
    finite = [
        Fraction(p, q) for p, q in zip(what.null, what.other, strict=True) if p and q
    ]
    # Rows that are nearly equal, or share no output, still need a grid.
    return max([Fraction(1, 10**6), *map(_logarithm, finite)])


def _logarithm(ratio: Fraction) -> Fraction:
    """Return ln of a ratio, or a little above it."""
    return enclosed(Fraction(1), ratio, power=False)[1]


def _decay(loss: Fraction) -> tuple[Fraction, Fraction]:
    """Return fractions around e^-loss."""
    low, high = enclosed(loss, None, power=True)
    return 1 / high, 1 / low


def _up(chance: Fraction) -> int:
    return math.ceil(chance * ONE)


def _down(chance: Fraction) -> int:
    return math.floor(chance * ONE)
