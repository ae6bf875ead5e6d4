r"""Families of priors on answers that lie on a line, exactly and in floating point.

Each is given by the ratios :math:`\pi_{k+1}/\pi_k` of consecutive probabilities, which are
rational and fall with k. A family that goes on beyond the last answer is *conditioned* on the
answers: its weights are divided by their sum over :math:`k = 0 … n-1`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.numerals import to_exact, to_float
from tightrope.consumers.priors import Prior
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs.base import ROW_LIMIT

#: Numerators and denominators of the ratios.
Terms = Callable[[], tuple[list[int], list[int]]]


def binomial(size: int, p: float | str | Fraction) -> Prior:
    r"""Return the number of heads in :math:`n-1` tosses: :math:`\binom{n-1}{k} p^k (1-p)^{n-1-k}`.

    >>> binomial(3, "1/3").exact
    (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
    """
    chance, last = _parameter(p, "binomial(p)", 0, 1), _size(size) - 1
    if chance in (0, 1):
        return Prior.point(size, last if chance == 1 else 0)
    a, b = chance.numerator, chance.denominator
    k = np.arange(last)
    return _from_ratios(
        (last - k) / (k + 1) * float(chance / (1 - chance)),
        partial(_heads, last, a, b - a),
    )


def geometric(size: int, p: float | str | Fraction) -> Prior:
    r"""Return the failures before the first success, :math:`(1-p)^k p`, conditioned on k < n.

    >>> geometric(3, 0.5).exact
    (Fraction(4, 7), Fraction(2, 7), Fraction(1, 7))
    """
    chance, last = _parameter(p, "geometric(p)", 0, 1), _size(size) - 1
    if chance == 0:
        raise InputError("geometric(p) needs p > 0, got 0; with no success in sight use uniform")
    if chance == 1:
        return Prior.point(size, 0)
    miss = 1 - chance
    return _from_ratios(
        np.full(last, float(miss)),
        partial(_misses, last, miss.numerator, miss.denominator),
    )


def poisson(size: int, mean: float | str | Fraction) -> Prior:
    r"""Return :math:`e^{-λ} λ^k/k!`, conditioned on k < n; rational, since :math:`e^{-λ}` cancels.

    >>> poisson(3, 1).exact
    (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
    """
    rate, last = _parameter(mean, "poisson(mean)", 0, 10**12), _size(size) - 1
    if rate == 0:
        return Prior.point(size, 0)
    a, b = rate.numerator, rate.denominator
    k = np.arange(last)
    return _from_ratios(
        float(rate) / (k + 1),
        partial(_arrivals, last, a, b),
    )


# Named functions, since a prior is sent from one process to another and takes its rule along.


def _heads(last: int, a: int, b: int) -> tuple[list[int], list[int]]:
    return [(last - j) * a for j in range(last)], [(j + 1) * b for j in range(last)]


def _misses(last: int, a: int, b: int) -> tuple[list[int], list[int]]:
    return [a] * last, [b] * last


def _arrivals(last: int, a: int, b: int) -> tuple[list[int], list[int]]:
    return [a] * last, [(j + 1) * b for j in range(last)]


def _size(size: int) -> int:
    if whole_number(size, "the number of answers") > ROW_LIMIT:
        raise TooLarge(f"a family is made for at most {ROW_LIMIT} answers, got {size}")
    return size


def _parameter(value: float | str | Fraction, what: str, low: int, high: int) -> Fraction:
    number = to_float(value)
    if not low <= number <= high:
        name = what[what.index("(") + 1 : -1]
        raise InputError(f"{what} needs {low} ≤ {name} ≤ {high}, got {number:.12g}")
    return to_exact(value)


def _from_ratios(ratios: NDArray[np.float64], terms: Terms) -> Prior:
    """Return the prior with falling ratios ``above[k] / below[k]`` of consecutive entries."""
    # Logarithms are summed outwards from the mode, where the probability is: there the partial
    # sums are small, so that a million answers lose no digits that count.
    mode = int(np.count_nonzero(ratios >= 1))
    logs = np.log(ratios)
    right = np.cumsum(logs[mode:])
    left = np.cumsum(-logs[:mode][::-1])[::-1]
    weights = np.exp(np.concatenate([left, [0.0], right]))
    return Prior.by_rule(weights / weights.sum(), partial(_exactly, terms))


def _exactly(terms: Terms) -> tuple[Fraction, ...]:
    above, below = terms()
    rising = list(accumulate(above, mul, initial=1))
    falling = list(accumulate(reversed(below), mul, initial=1))[::-1]
    whole = [up * down for up, down in zip(rising, falling, strict=True)]
    total = sum(whole)
    return tuple(Fraction(weight, total) for weight in whole)
