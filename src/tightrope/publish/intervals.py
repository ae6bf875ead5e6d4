r"""The error with the answer: confidence sets by inverting a mechanism's own rows.

For every true answer x the outputs are put in an order, and the first of them that together have
probability :math:`1-a` are the *acceptance region* :math:`A(x)`. The confidence set of an output
y is :math:`C(y) = \{x : y \in A(x)\}` [Neyman, 1937], so

.. math:: P_x(x \in C(Y)) = P_x(Y \in A(x)) \ge 1-a \quad\text{for every } x,

whatever the prior. Outputs come in the order of :math:`X[x,y] / \max_h X[h,y]` [Feldman and
Cousins, 1998]: for noise that falls with the distance this is the nearest output first, and the
set is as narrow as the noise allows; for a channel that is biased towards a prior it follows the
bias. Where answers are tuples, each number has its own set from the marginal law of its output,
the union over all true answers with that number; where they are numbers, a set is stated by its
smallest and largest member.

Listed weights are added up in integers. Of a rule, floats are added up, and a region is closed
only when their sum is above :math:`1-a` by more than the sum of :math:`2^{23}` positive floats
can be wrong: coverage is never lost, and nothing that can be seen is added.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import ScoreMechanism
from tightrope.certify.make import encode_label
from tightrope.errors import InputError, TooLarge
from tightrope.texts import to_exact

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism, Mechanism

Number = int | Fraction
#: Questions whose answers are numbers, or tuples of them, that may be put in order.
_NUMBERS = {"count", "counts", "grid", "histogram", "mean", "median", "path", "sum"}
#: A sum of at most 2^23 positive floats is within this share of the exact one.
_ROUND_OFF = 2.0**-29
#: Weights that are looked at together.
_MOST_WEIGHTS = 1 << 26


@dataclass(frozen=True)
class ConfidenceSet:
    """Which true answers an output is compatible with.

    Attributes
    ----------
    answer
        The output.
    confidence
        Whatever the true answer is, the set holds it with at least this probability. With a
        prior: the posterior probability of the set is at least this.
    bounds
        The smallest and the largest number of the set, for each number of the answer; empty where
        answers are not numbers.
    members
        The answers in the set, where they are not numbers.
    exact
        The probability with which an output is the true answer, at least. With a prior: the
        posterior probability that this one is.
    credible
        Whether a prior was used.
    simultaneous
        Whether all numbers are in their intervals at once with this confidence, not each.
    """

    answer: Hashable
    confidence: Fraction
    bounds: tuple[tuple[Number, Number], ...]
    members: tuple[Hashable, ...]
    exact: Fraction
    credible: bool = False
    simultaneous: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the set as JSON can say it; ``low`` and ``high`` are lists for tuples."""
        lows, highs = ([encode_label(x[side]) for x in self.bounds] for side in (0, 1))
        one = not isinstance(self.answer, tuple)
        ends: dict[str, Any] = {"members": [encode_label(x) for x in self.members]}
        if self.bounds:
            ends = {"low": lows[0] if one else lows, "high": highs[0] if one else highs}
        return {
            "confidence": float(self.confidence),
            "kind": "credible" if self.credible else "confidence",
            **ends,
            "simultaneous": self.simultaneous,
            "exact": float(self.exact),
            "text": str(self),
        }

    def texts(self) -> list[str]:
        """Return each number with its margin, without the confidence.

        >>> ConfidenceSet((3, 9), Fraction(1, 2), ((1, 5), (8, 14)), (), Fraction(0)).texts()
        ['3 ± 2', '9 (8 to 14)']
        """
        numbers = self.answer if isinstance(self.answer, tuple) else (self.answer,)
        return [margin_text(x, *ends) for x, ends in zip(numbers, self.bounds, strict=True)]

    def __str__(self) -> str:
        share = f"{float(self.confidence * 100):.10g} %"
        if not self.bounds:
            return f"one of {', '.join(map(str, self.members))} ({share})"
        if len(self.bounds) == 1 and self.texts()[0].endswith(")"):
            return f"{self.texts()[0][:-1]}, {share})"
        return f"{', '.join(self.texts())} ({share}{', all at once' * self.simultaneous})"


def margin_text(answer: Hashable, low: Number, high: Number) -> str:
    """Return a number with its margin: ± where it is about as far to both ends, else the ends.

    Whole numbers stand as they are. Others are rounded to two digits of the margin, which then
    still covers the ends.

    >>> margin_text(432, 402, 461), margin_text(3, 0, 31)
    ('432 ± 30', '3 (0 to 31)')
    >>> margin_text(Fraction(43218, 1000), Fraction(42871, 1000), Fraction(43565, 1000))
    '43.22 ± 0.35'
    """
    (value,), low, high = _parts(answer), Fraction(low), Fraction(high)
    far = max(high - value, value - low)
    even = low <= value <= high and 10 * abs(high + low - 2 * value) <= far
    if all(x.denominator == 1 for x in (value, low, high)):
        ends = f"± {int(far):,}" if even else f"({int(low):,} to {int(high):,})"
        return f"{int(value):,} {ends}"
    places = 1 - math.floor(math.log10(far)) if far else 6
    unit = Fraction(10) ** -places
    told = round(value / unit) * unit
    outer = (told, math.floor(low / unit) * unit, math.ceil(high / unit) * unit)
    shown = [_decimal(x, places) for x in outer]
    if not even:
        return f"{shown[0]} ({shown[1]} to {shown[2]})"
    margin = math.ceil(max(high - told, told - low) / unit) * unit
    return f"{shown[0]} ± {_decimal(margin, places)}"


def _decimal(number: Fraction, places: int) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):,.{max(places, 0)}f}"


def confidence_set(
    mechanism: Mechanism,
    answer: Hashable,
    confidence: Fraction | float | str = "0.95",
    *,
    prior: Sequence[Any] | None = None,
    simultaneous: bool = False,
) -> ConfidenceSet:
    """Return the confidence set of a released answer, or with a prior the credible set.

    Parameters
    ----------
    mechanism
        The mechanism that the answer was drawn from.
    answer
        The output that was drawn.
    confidence
        The level, above 0 and below 1.
    prior
        Exact probabilities of the answers, in the order of the rows.
    simultaneous
        For tuples: whether all numbers shall be in their intervals at once. Each then has the
        level 1 - a/k [Bonferroni].

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(101, "ln(2)"), "count(100)", "ln(2)")
    >>> found = confidence_set(made, 40)
    >>> str(found), round(float(found.exact), 3)
    ('40 ± 4 (95 %)', 0.333)
    >>> str(confidence_set(made, 0))
    '0 (0 to 4, 95 %)'
    """
    level = level_of(confidence)
    numbers = len(answer) if isinstance(answer, tuple) else 1
    each = 1 - (1 - level) / numbers if simultaneous else level
    place = _output_index(mechanism, answer)
    if prior is not None:
        bounds, members, exact = _credible(mechanism, answer, place, each, prior)
    else:
        exact = exact_chance(mechanism)
        if mechanism.noise is not None:
            bounds, members = _lattice_bounds(mechanism, answer, each), ()
        elif _by_window(mechanism):
            bounds, members = (_window_bounds(mechanism, place, each),), ()
        else:
            bounds, members = _inverted(mechanism, answer, place, each)
    return ConfidenceSet(answer, level, bounds, members, exact, prior is not None, simultaneous)


@dataclass(frozen=True)
class ScoreError:
    """How far the score of an answer by scores is from the best one.

    How likely the very best value was depends on the counts, which are nobody's business; this
    holds whatever they are.

    Attributes
    ----------
    mechanism
        The mechanism.
    confidence
        The probability with which it holds, at least.
    gap
        The most people that the count is below the largest one, or that lie between the answer
        and the quantile; ``None`` where the level cannot be promised.

    Examples
    --------
    >>> from tightrope.certify import by_score
    >>> str(score_error(by_score("quantile(1/2,121)", 1)))
    'at most 14 people from the median (95 %)'
    """

    mechanism: ScoreMechanism
    confidence: Fraction
    gap: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the bound as JSON can say it."""
        kind = "count" if self.mechanism.rank is None else "rank"
        level = float(self.confidence)
        return {"confidence": level, "kind": kind, "gap": self.gap, "text": str(self)}

    def __str__(self) -> str:
        share = f"{float(self.confidence * 100):.10g} %"
        if self.gap is None:
            return f"nothing can be promised at {share}"
        if self.mechanism.rank is None:
            return f"its count is within {self.gap:,} of the largest ({share})"
        rank = self.mechanism.rank
        what = "median" if 2 * rank == 1 else f"{float(rank * 100):.10g} % quantile"
        return f"at most {self.gap:,} people from the {what} ({share})"


def score_error(
    mechanism: ScoreMechanism, confidence: Fraction | float | str = "0.95"
) -> ScoreError:
    """Return the error that a mechanism by scores keeps with a probability."""
    level = level_of(confidence)
    gap = mechanism.promised_gap(level)
    return ScoreError(mechanism, level, None if gap is None else math.ceil(gap))


def quantile_ends(mechanism: ScoreMechanism, confidence: Fraction) -> tuple[int, int]:
    r"""Return the rows to add at the lowest and at the highest value to draw an interval's ends.

    Where the values of a quantile lie closely is nobody's business, so an interval of values must
    be drawn: its lower end is the quantile of the table with m people more at the lowest value, its
    upper end that of the table with more at the highest. Both tables are as near to those of the
    neighbours as before, so both draws are private. With probability :math:`1-a/2` the output
    L has at most g people between it and the quantile of rank q of its table, that is, if it is
    not the lowest value, :math:`\#(<L) + m - q(N+m) \le g`. For :math:`m(1-q) > g + 1` this is
    :math:`\#(<L) < qN - 1`: whatever a database takes for the quantile of N values is at least L.
    The same holds for the upper end with :math:`mq > g + 1`.

    >>> from tightrope.certify import by_score
    >>> quantile_ends(by_score("quantile(1/2,121)", "1/2"), Fraction(19, 20))
    (65, 65)
    """
    gap, rank = mechanism.promised_gap(1 - (1 - confidence) / 2), mechanism.rank
    if gap is None or rank is None:
        raise InputError(f"{mechanism.query} has no interval at this confidence: give a larger ε")
    return math.floor((gap + 1) / (1 - rank)) + 1, math.floor((gap + 1) / rank) + 1


def interval_of(mechanism: AnyMechanism, answer: Hashable) -> ConfidenceSet | ScoreError | None:
    """Return the error of a released answer, or ``None`` where that is too much work."""
    if isinstance(mechanism, ScoreMechanism):
        return score_error(mechanism)
    try:
        return confidence_set(mechanism, answer)
    except TooLarge:
        return None


def promised_error(
    mechanism: Mechanism, confidence: Fraction | float | str = "0.95"
) -> tuple[Number, ...]:
    """Return for each number of the answer the error that is kept with this probability.

    Whatever the true answer is, the output differs from it by at most this much with at least
    this probability; no smaller number has this property.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(101, "ln(2)"), "count(100)", "ln(2)")
    >>> promised_error(made), promised_error(made, 0.5)
    ((4,), (1,))
    """
    level = level_of(confidence)
    if not _are_numbers(mechanism):
        raise InputError(f"the answers of {mechanism.query} are not numbers: they have no error")
    if mechanism.noise is not None:
        lattice = mechanism.question.graph.unbounded
        assert lattice is not None
        shown = lattice.parts - lattice.hidden
        return (whole(_noise_width(mechanism, level) * Fraction(lattice.step)),) * shown
    if _by_window(mechanism):
        step = mechanism.graph.line[1] if mechanism.graph.line else Fraction(1)
        return (whole(_widest(mechanism, level, *_rule_floats(mechanism)) * step),)
    rows, total, slack = _weights(mechanism)
    found: list[Number] = []
    for mine, values, marginal in _marginals(mechanism, rows):
        unit = math.lcm(*(x.denominator for x in {*mine, *values}))
        there = np.array([int(x * unit) for x in values], object)
        here = np.array([int(x * unit) for x in mine], object)
        worst = 0
        rows_of = [(mark, marginal[i]) for i, mark in enumerate(here)]
        if mechanism.window is not None:  # answers outside it count as the nearest inside
            ends = (_ends(mechanism)[0], marginal[0]), (_ends(mechanism)[1], marginal[-1])
            rows_of += [(int(label * unit), row) for label, row in ends]
        for mark, row in rows_of:
            order = np.argsort(abs(there - mark), kind="stable")
            # All outputs together have probability 1, whatever the sum of floats says.
            reached = _enough(np.cumsum(row[order])[:-1], level, total, slack).astype(bool)
            worst = max(worst, int(abs(there - mark)[order[np.count_nonzero(~reached)]]))
        found.append(whole(Fraction(worst, unit)))
    return tuple(found)


def exact_chance(mechanism: Mechanism) -> Fraction:
    """Return the least probability, over all true answers, with which it is the output."""
    if mechanism.noise is not None:
        return Fraction(mechanism.noise.levels[0] + mechanism.noise.odd, mechanism.total)
    weights = mechanism.weights
    if weights.kind == "radial":
        return Fraction(weights.levels[0], mechanism.total)
    if weights.kind == "levels":
        return Fraction(int(weights.factors.min()) * weights.levels[0], mechanism.total)
    inputs, outputs = mechanism.graph.nodes, mechanism.shape[1]
    places = {mechanism.output_label(o): o for o in range(outputs)}
    at = np.array([places.get(mechanism.graph.label(i), -1) for i in range(inputs)])
    least = 0 if (at < 0).any() or mechanism.window is not None else mechanism.total
    for first, block in mechanism.weights.columns():
        some = np.flatnonzero((first <= at) & (at < first + block.shape[1]))
        least = min([least, *block[some, at[some] - first].tolist()])
    return Fraction(least, mechanism.total)


def level_of(confidence: Fraction | float | str) -> Fraction:
    """Read a confidence level.

    >>> level_of(0.95), level_of("90%")
    (Fraction(19, 20), Fraction(9, 10))
    """
    text = str(confidence).strip()
    with contextlib.suppress(InputError):
        level = to_exact(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if 0 < level < 1:
            return level
    raise InputError(f"a confidence is above 0 and below 1, such as 0.95 or 95%, got {text[:40]!r}")


# -- inverting the rows -----------------------------------------------------------------------


def _are_numbers(mechanism: Mechanism) -> bool:
    """Whether answers are numbers and outputs are too, as many: keep and drop are not."""
    named = mechanism.is_named and mechanism.query.partition("(")[0] in _NUMBERS
    output, answer = mechanism.output_label(0), mechanism.graph.label(0)
    if not named or isinstance(output, str):
        return False
    return len(_parts(output)) == len(_parts(answer))


def _by_window(mechanism: Mechanism) -> bool:
    """Whether this is a rule on a line, of which a window around the output suffices."""
    large = mechanism.shape[0] ** 2 > _MOST_WEIGHTS // 64 and mechanism.window is None
    line = mechanism.kind == "levels" and len(mechanism.graph.sides) == 1
    return large and line and _are_numbers(mechanism)


def _weights(mechanism: Mechanism) -> tuple[NDArray[Any], Any, float]:
    """Return all rows, what each sums to, and the share that a sum in them may be wrong by."""
    inputs, outputs = mechanism.graph.nodes, mechanism.shape[1]
    if inputs * outputs > _MOST_WEIGHTS:
        raise TooLarge(
            f"{inputs} × {outputs} weights are more than a confidence set is computed from"
        )
    if mechanism.kind == "dense":
        blocks = [block for _, block in mechanism.weights.columns()]
        return np.concatenate(blocks, axis=1), mechanism.total, 0.0
    channel, start = mechanism.channel(), (mechanism.window or range(1))[0]
    return np.stack([channel.row(start + i) for i in range(inputs)]), 1.0, _ROUND_OFF


def _enough(sums: Any, level: Fraction, total: Any, slack: float) -> Any:
    """Whether sums of weights have reached a share of the total for certain."""
    if slack:
        return sums * (1 - slack) >= float(level) * (1 + slack)
    return sums >= -(-level.numerator * total // level.denominator)


def _marginals(
    mechanism: Mechanism, rows: NDArray[Any]
) -> list[tuple[list[Fraction], list[Fraction], NDArray[Any]]]:
    """Return for each number of the answer its true values, its outputs and their weights."""
    inputs = [_parts(mechanism.graph.label(i)) for i in range(mechanism.graph.nodes)]
    outputs = [_parts(mechanism.output_label(o)) for o in range(mechanism.shape[1])]
    found = []
    for place in range(len(inputs[0])):
        values = sorted({parts[place] for parts in outputs})
        number = {value: k for k, value in enumerate(values)}
        column = np.array([number[parts[place]] for parts in outputs])
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(len(values)))
        sorted_already = np.array_equal(column, np.arange(len(outputs)))
        marginal = rows if sorted_already else np.add.reduceat(rows[:, order], starts, axis=1)
        found.append(([parts[place] for parts in inputs], values, marginal))
    return found


def _accepted(marginal: NDArray[Any], y: int, level: Fraction, total: Any, slack: float) -> Any:
    """Return the rows whose acceptance region holds output y; at least the likeliest one.

    An output is in the region of a row when those that come before it there have less than the
    wanted probability. Ties come together: the noise to both sides is then treated alike.
    """
    most = marginal.max(axis=0).astype(float)
    accepted = np.zeros(len(marginal), bool)
    likeliest = np.zeros(len(marginal))
    step = max(1, (1 << 21) // marginal.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(marginal), step):
            some = marginal[start : start + step]
            share = np.nan_to_num(some.astype(float) / most)
            order = np.rint(np.log(share) * 1e6)
            before = np.where(order > order[:, [y]], some, 0).sum(axis=1)
            accepted[start : start + step] = ~_enough(before, level, total, slack).astype(bool)
            likeliest[start : start + step] = share[:, y]
    accepted[likeliest.argmax()] = True
    return np.flatnonzero(accepted)


def _inverted(
    mechanism: Mechanism, answer: Hashable, place: int, level: Fraction
) -> tuple[tuple[tuple[Number, Number], ...], tuple[Hashable, ...]]:
    rows, total, slack = _weights(mechanism)
    if not _are_numbers(mechanism):
        found = _accepted(rows, place, level, total, slack)
        return (), tuple(mechanism.graph.label(int(i)) for i in found)
    bounds = []
    for (mine, values, marginal), y in zip(
        _marginals(mechanism, rows), _parts(answer), strict=True
    ):
        rows_in = _accepted(marginal, values.index(y), level, total, slack)
        found = [mine[i] for i in rows_in]
        if mechanism.window is not None:
            found += [_ends(mechanism)[0]] * (0 in rows_in)
            found += [_ends(mechanism)[1]] * (len(mine) - 1 in rows_in)
        bounds.append((whole(min(found)), whole(max(found))))
    return tuple(bounds), ()


def _ends(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest answer of a question on a line."""
    graph = mechanism.question.graph
    return _parts(graph.label(0))[0], _parts(graph.label(graph.size - 1))[0]


def _window_bounds(mechanism: Mechanism, y: int, level: Fraction) -> tuple[Number, Number]:
    """Invert a rule on a line: row x accepts y when what is nearer to x has less than the level."""
    rule, count = mechanism.weights, mechanism.shape[0]
    levels, factors = _rule_floats(mechanism)
    widest = _widest(mechanism, level, levels, factors)
    near = levels[np.minimum(-(-np.arange(widest + 1) // rule.steps[0]), len(levels) - 1)]

    def accepts(x: int) -> bool:
        far = abs(x - y)
        right, left = factors[x : x + far], factors[max(0, x - far + 1) : x][::-1]
        before = right @ near[: len(right)] + left @ near[1 : len(left) + 1]
        return not _enough(before, level, 1.0, _ROUND_OFF)

    low = next(filter(accepts, range(max(0, y - widest), y)), y)
    high = next(filter(accepts, range(min(count - 1, y + widest), y, -1)), y)
    start, step = mechanism.graph.line or (Fraction(0), Fraction(1))
    return whole(start + low * step), whole(start + high * step)


def _widest(
    mechanism: Mechanism,
    level: Fraction,
    levels: NDArray[np.float64],
    factors: NDArray[np.float64],
) -> int:
    """Return the least number of steps within which every row has the wanted probability."""
    rule, count = mechanism.weights, mechanism.shape[0]

    def suffices(steps: int) -> bool:
        near = levels[np.minimum(-(-np.arange(steps + 1) // rule.steps[0]), len(levels) - 1)]
        # A convolution in overlapping blocks. That of SciPy loads half of it: most of the time of
        # the first release of a process.
        length = max(4096, 1 << (4 * steps).bit_length())
        padded = np.pad(factors, (steps, length))
        blocks = np.lib.stride_tricks.sliding_window_view(padded, length)[:: length - 2 * steps]
        spectrum = np.fft.rfft(np.concatenate([near[:0:-1], near]), length)
        mass = np.fft.irfft(np.fft.rfft(blocks) * spectrum, length)[:, 2 * steps :].ravel()[:count]
        # Fourier transforms are less accurate than a sum.
        return bool(_enough(mass.min(), level, 1.0, 8 * _ROUND_OFF))

    return least_that(suffices, count - 1)


def least_that(suffices: Callable[[int], bool], most: int, start: int = 1) -> int:
    """Return the least number that suffices, or the largest: looked for around a first guess.

    >>> least_that(lambda n: n >= 37, 100), least_that(lambda n: n >= 37, 100, start=60)
    (37, 37)
    """
    known = cache(suffices)
    low = high = min(start, most)
    step = 1
    while high < most and not known(high):
        low, high, step = high, high + step, 2 * step
    while low == high > 0:
        low, step = max(low - step, 0), 2 * step
        if known(low):
            high = low
    return low + bisect.bisect_left(range(low, min(high, most)), True, key=known)


def _rule_floats(mechanism: Mechanism) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Levels and factors of a rule so that their products are probabilities, but for the rest."""
    rule = mechanism.weights
    levels = np.array([level / rule.levels[0] for level in rule.levels])
    factors = rule.factors.astype(object) * rule.levels[0] / mechanism.total
    return levels, factors.astype(float)


# -- noise on a lattice -------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _noise_width(mechanism: Mechanism, level: Fraction) -> int:
    """Return how far one coordinate of noise on a lattice lies from 0 with a probability.

    Points are counted layer by layer, in integers. The flat part of the law is spread over so
    many points that it is left out; so are layers beyond a millionth of what may lie outside.
    """
    noise, lattice = mechanism.noise, mechanism.question.graph.unbounded
    assert noise is not None
    assert lattice is not None
    last, outside = noise.levels[-1], (1 - level) * mechanism.total
    layers, held = 0, noise.odd
    while (mechanism.total - held) * 10**6 > outside and layers < noise.reach:
        held += noise.sizes[layers] * (noise.levels[layers] - last)
        layers += 1

    def suffices(r: int) -> bool:
        inside = sum(
            (noise.levels[t] - last) * lattice.within(t, r, noise.lattice.core)
            for t in range(layers)
        )
        return bool(mechanism.total - inside - noise.odd <= outside)

    # Answers are no further apart than this, whatever the noise.
    return least_that(suffices, lattice.people)


def _lattice_bounds(
    mechanism: Mechanism, answer: Hashable, level: Fraction
) -> tuple[tuple[Number, Number], ...]:
    """Invert noise on a lattice, number by number, whatever the others are.

    A number that is held within its ends is moved no further than the true one lies.
    """
    lattice = mechanism.question.graph.unbounded
    assert lattice is not None
    step = Fraction(lattice.step)
    width, most = _noise_width(mechanism, level) * step, lattice.people * step
    return tuple(
        (whole(max(x - width, Fraction(0))), whole(min(x + width, most))) for x in _parts(answer)
    )


# -- with a prior -----------------------------------------------------------------------------


def _credible(
    mechanism: Mechanism, answer: Hashable, place: int, level: Fraction, prior: Sequence[Any]
) -> tuple[tuple[tuple[Number, Number], ...], tuple[Hashable, ...], Fraction]:
    """Return the smallest sets of posterior probability, in exact fractions."""
    chances = [Fraction(value) for value in prior]
    if len(chances) != mechanism.shape[0]:
        raise InputError(
            f"a prior needs one probability for each of {mechanism.shape[0]} answers, got "
            f"{len(chances)}"
        )
    unit = math.lcm(*(chance.denominator for chance in chances))
    column = mechanism.weights.column(place).tolist()
    if mechanism.window is not None:
        start, last = mechanism.window[0], len(column) - 1
        column = [column[min(max(i - start, 0), last)] for i in range(len(chances))]
    joint = [int(p * unit) * int(w) for p, w in zip(chances, column, strict=True)]
    total = sum(joint)
    if not total:
        raise InputError("under this prior the answer is impossible: give another prior")
    labels = [mechanism.input_label(i) for i in range(len(joint))]
    right = sum(mass for label, mass in zip(labels, joint, strict=True) if label == answer)
    wanted = level * total
    if not _are_numbers(mechanism):
        order = sorted(range(len(joint)), key=lambda i: (-joint[i], i))
        held = list(itertools.accumulate(joint[i] for i in order))
        chosen = order[: bisect.bisect_left(held, wanted) + 1]
        return (), tuple(labels[i] for i in sorted(chosen)), Fraction(right, total)
    bounds = []
    for number in range(len(_parts(labels[0]))):
        masses: Counter[Fraction] = Counter()
        for label, mass in zip(labels, joint, strict=True):
            masses[_parts(label)[number]] += mass
        low, high = _shortest_run(sorted(masses.items()), wanted)
        bounds.append((whole(low), whole(high)))
    return tuple(bounds), (), Fraction(right, total)


def _shortest_run(masses: list[tuple[Fraction, int]], wanted: Fraction) -> tuple[Number, Number]:
    """Return the ends of the shortest interval with a mass; the heaviest of several."""
    best, held, start = None, 0, 0
    for value, mass in masses:
        held += mass
        while held - masses[start][1] >= wanted:
            held -= masses[start][1]
            start += 1
        if held >= wanted:
            this = (value - masses[start][0], -held, masses[start][0], value)
            best = this if best is None else min(best, this)
    assert best is not None
    return best[2], best[3]


# -- labels -----------------------------------------------------------------------------------


def _output_index(mechanism: Mechanism, answer: Hashable) -> int:
    """Return the number of an output; noise on a lattice has none, its outputs are only checked."""
    lattice = mechanism.question.graph.unbounded
    if mechanism.noise is not None and lattice is not None:
        with contextlib.suppress(ValueError, TypeError):
            steps = [x / Fraction(lattice.step) for x in _parts(answer)]
            is_whole = all(x.denominator == 1 and 0 <= x <= lattice.people for x in steps)
            if is_whole and len(steps) == lattice.parts - lattice.hidden:
                return 0
    elif mechanism.header["outputs"] is None and mechanism.window is None:
        return mechanism.input_index(answer)
    else:
        for o in range(mechanism.shape[1]):
            if mechanism.output_label(o) == answer:
                return o
    raise InputError(
        f"{answer} is not an output of this mechanism: give an answer that it released"
    )


def _parts(label: Hashable) -> tuple[Fraction, ...]:
    parts = label if isinstance(label, tuple) else (label,)
    return tuple(Fraction(repr(x) if isinstance(x, float) else x) for x in parts)


def whole(number: Fraction | int) -> Number:
    """Return a number as an integer where it is one."""
    return int(number) if Fraction(number).denominator == 1 else Fraction(number)
