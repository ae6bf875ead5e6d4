r"""Powers :math:`\alpha^{d}` of :math:`\alpha = e^{-\varepsilon}`, as accurate as floats allow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.epsilon import Epsilon


def alpha_powers(epsilon: Epsilon, distances: ArrayLike, *, parts: int = 1) -> NDArray[np.float64]:
    r"""Return :math:`\alpha^{d/k}` for an array of distances d, where k is ``parts``.

    When :math:`\varepsilon` is written as a logarithm the base itself is raised, so that
    powers of ``ln(2)`` are exact; otherwise the exponential is taken once, because a product
    of rounded factors would lose a digit every ten steps.

    Examples
    --------
    >>> alpha_powers(Epsilon.of("ln(2)"), [0, 1, 10]).tolist()
    [1.0, 0.5, 0.0009765625]
    >>> float(alpha_powers(Epsilon.of("ln(2)"), 5, parts=5))
    0.5
    """
    steps: NDArray[Any] = np.asarray(distances, dtype=np.float64)
    multiple = epsilon.multiple / parts
    # One division after an exact product keeps whole exponents whole.
    exponents = steps * multiple.numerator / multiple.denominator
    if epsilon.base is None:
        return np.exp(-exponents)
    return np.power(float(1 / epsilon.base), exponents)


def log_alpha_sum(epsilon: Epsilon, counts: tuple[int, ...]) -> float:
    r"""Return :math:`\ln \sum_d n_d \alpha^d` for ball sizes n of any size.

    Examples
    --------
    >>> round(math.exp(log_alpha_sum(Epsilon.of("ln(2)"), (1, 2, 1))), 12)
    2.25
    """
    step = float(epsilon)
    logs = [math.log(count) - step * d for d, count in enumerate(counts) if count]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))


def compare_levels(first: Epsilon, second: Epsilon, *, times: Fraction = Fraction(1)) -> float:
    """Return second minus times·first, with the exact sign when both are of one kind.

    Examples
    --------
    >>> compare_levels(Epsilon.of("ln(2)"), Epsilon.of("ln(2)"))
    0.0
    >>> compare_levels(Epsilon.of("0.1"), Epsilon.of("0.3"), times=Fraction(3))
    0.0
    """
    if first.base == second.base:
        difference = second.multiple - times * first.multiple
        unit = 1.0 if first.base is None else math.log(first.base)
        return float(difference) * unit
    return float(second) - float(times) * float(first)
