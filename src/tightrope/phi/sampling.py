"""Sets of ε as intervals, and how they are found by samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.errors import InputError, TooLarge

#: Accuracy of the ends of intervals found by bisection.
END_ACCURACY = 1e-10
#: The step at which the published thresholds were looked for [A, §6].
PUBLISHED_STEP = 0.01
#: Most samples that a step may ask for.
SAMPLE_LIMIT = 100_000

#: An interval of ε; ``None`` as its end means that it has none.
Interval = tuple[float, float | None]


@dataclass(frozen=True)
class Existence:
    r"""A set of ε: where the mechanism exists, or where a prior is regular.

    Parameters
    ----------
    intervals
        Closed intervals of ε, increasing; an open start at 0 is written 0.
    accuracy
        How far an end may lie from the true one.
    exact
        Whether the intervals are proven to be all of them, single points where Φ is singular
        excepted. Otherwise ``resolution`` says how far apart the samples were.
    resolution
        Largest gap between samples, in ε; 0 when ``exact``.
    searched
        The range of ε looked at.
    tolerance
        How negative an entry of y was allowed to be; 0 for the true set.
    method
        How it was decided, in words.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.phi import exists
    >>> exists(Star(3)).intervals
    ((0.6931471805599453, None),)
    """

    intervals: tuple[Interval, ...]
    accuracy: float
    exact: bool
    resolution: float
    searched: Interval
    tolerance: float
    method: str

    @property
    def minimum(self) -> float:
        """The smallest ε (0 when every ε works)."""
        return self.intervals[0][0] if self.intervals else math.inf

    @property
    def is_up_set(self) -> bool:
        """Whether every ε above the minimum works too."""
        return len(self.intervals) == 1 and self.intervals[0][1] is None

    def contains(self, epsilon: float) -> bool:
        """Whether an ε lies in one of the intervals."""
        return any(a <= epsilon and (b is None or epsilon <= b) for a, b in self.intervals)

    def nearest(self, epsilon: float) -> float:
        """Return the nearest ε that works."""
        if self.contains(epsilon):
            return epsilon
        ends = [end for pair in self.intervals for end in pair if end is not None and end > 0]
        return min(ends, key=lambda end: abs(end - epsilon))


def intersection(sets: list[tuple[Interval, ...]]) -> tuple[Interval, ...]:
    """Return the ε that lie in all of some sets of intervals.

    >>> intersection([((0.0, 2.0), (3.0, None)), ((1.0, None),)])
    ((1.0, 2.0), (3.0, None))
    """
    out: list[tuple[float, float]] = [(0.0, math.inf)]
    for intervals in sets:
        pairs = [(a, math.inf if b is None else b) for a, b in intervals]
        out = [(max(a, c), min(b, d)) for a, b in out for c, d in pairs if max(a, c) <= min(b, d)]
    return tuple((a, None if b == math.inf else b) for a, b in sorted(out))


def on_every_factor(parts: Sequence[Existence]) -> Existence:
    """Return where all of some sets hold, as a product needs of its factors.

    >>> from tightrope.graphs import Star
    >>> from tightrope.phi import exists
    >>> on_every_factor([exists(Star(3)), exists(Star(5))]).minimum == math.log(4)
    True
    """
    return Existence(
        intersection([part.intervals for part in parts]),
        max(part.accuracy for part in parts),
        all(part.exact for part in parts),
        max(part.resolution for part in parts),
        (max(part.searched[0] for part in parts), None),
        0.0,
        "every factor of the product: " + "; ".join(sorted({part.method for part in parts})),
    )


def check_range(
    low: float | None, high: float | None, tolerance: float, step: float | None
) -> None:
    """Refuse a range, tolerance or step that makes no sense.

    >>> check_range(2, 1, 0, None)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: low must be below high, got 2 and 1
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"the tolerance must be at least 0, got {tolerance}")
    for name, bound in (("low", low), ("high", high), ("step", step)):
        if bound is not None and not (math.isfinite(bound) and bound > 0):
            raise InputError(f"{name} must be a positive number, got {bound}")
    if low is not None and high is not None and low >= high:
        raise InputError(f"low must be below high, got {low} and {high}")


def sampled(
    least: Callable[[float], float], start: float, high: float | None, sure: float, count: int
) -> Existence:
    """Return where a function of ε is at least 0, from samples and bisection.

    Parameters
    ----------
    least
        The function, known to be at least 0 from ``sure`` on.
    start, high
        The range; without an upper end it goes to ``sure``.
    sure
        See above.
    count
        The number of samples.

    Examples
    --------
    >>> found = sampled(lambda e: (e - 1) * (e - 2) * (e - 3), 0.5, None, 4, 50)
    >>> [(round(a, 6), b and round(b, 6)) for a, b in found.intervals]
    [(1.0, 2.0), (3.0, None)]
    """
    stop = sure if high is None else min(high, sure)
    points = np.geomspace(start, max(stop, start * 1.01), count).tolist()
    points, values = _with_turning_points(least, points, [least(point) for point in points])
    ends: list[float] = [start] if values[0] >= 0 else []
    for k in range(len(points) - 1):
        if (values[k] >= 0) != (values[k + 1] >= 0):
            ends.append(_change(least, points[k], points[k + 1]))
    limit = None if high is None or high >= sure else high
    pairs = tuple(zip(ends[::2], [*ends[1::2], limit], strict=False))
    gap = max(b - a for a, b in itertools.pairwise(points))
    words = f"{len(points)} samples of the smallest entry, changes of sign narrowed down"
    return Existence(pairs, END_ACCURACY, False, gap, (start, limit), 0.0, words)


def _with_turning_points(
    least: Callable[[float], float], points: list[float], values: list[float]
) -> tuple[list[float], list[float]]:
    """Add the turning points between samples where the curve bends towards zero."""
    from scipy.optimize import minimize_scalar

    extra: list[tuple[float, float]] = []
    for k in range(1, len(points) - 1):
        a, b, c = values[k - 1], values[k], values[k + 1]
        sign = 1 if b >= 0 else -1
        turns = sign * b < sign * a and sign * b < sign * c and a * sign > 0 and c * sign > 0
        if turns and abs(b) < 4 * abs(a - 2 * b + c):
            found = minimize_scalar(
                lambda e, s=sign: s * least(e),
                bounds=(points[k - 1], points[k + 1]),
                method="bounded",
                options={"maxiter": 30},
            )
            extra.append((float(found.x), sign * float(found.fun)))
    merged = sorted({**dict(zip(points, values, strict=True)), **dict(extra)}.items())
    return [p for p, _ in merged], [v for _, v in merged]


def _change(least: Callable[[float], float], a: float, b: float) -> float:
    """Return where the sign changes between two samples, on the side where it is right."""
    from scipy.optimize import brentq

    near = float(brentq(least, a, b, xtol=END_ACCURACY / 4, rtol=1e-14))
    towards = -1 if least(a) >= 0 else 1
    while least(near) < 0:
        near += towards * END_ACCURACY / 4
    return near


def stepped(
    least: Callable[[float], float],
    low: float | None,
    high: float | None,
    sure: float,
    tolerance: float,
    step: float | None,
) -> Existence:
    """Return the multiples of a step where a function of ε is at least minus a tolerance.

    >>> stepped(lambda e: e - 1, None, None, 3, 0.105, None).intervals
    ((0.9, None),)
    """
    step = step or PUBLISHED_STEP
    start = step if low is None else low
    stop = sure if high is None else high
    if (stop - start) / step > SAMPLE_LIMIT:
        raise TooLarge(
            f"steps of {step:g} from {start:g} to {stop:g} are more than {SAMPLE_LIMIT} samples: "
            "take a larger step or a shorter range"
        )
    first, last = math.ceil(start / step - 1e-9), math.ceil(stop / step - 1e-9)
    points = [round(k * step, 12) for k in range(max(first, 1), max(last, first) + 1)]
    holds = [least(point) >= -tolerance for point in points]
    found: list[Interval] = []
    for k, point in enumerate(points):
        if holds[k] and (k == 0 or not holds[k - 1]):
            found.append((point, None))
        elif not holds[k] and k and holds[k - 1]:
            found[-1] = (found[-1][0], points[k - 1])
    if found and found[-1][1] is None and points[-1] < sure:
        found[-1] = (found[-1][0], points[-1])
    words = f"multiples of {step:g} with every entry of y at least {-tolerance:g}"
    return Existence(tuple(found), step, False, step, (points[0], high), tolerance, words)
