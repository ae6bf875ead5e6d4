r"""The prior of somebody who knows how the people are, but not which people there are.

Each of u people independently has value j with probability :math:`p_j`. The law of the answer
follows from the question: a sum is the coefficient of :math:`x^s` in
:math:`(\sum_j p_j x^j)^u`, a histogram is multinomial, and so on. Where people may be absent, all
u are taken to be there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.priors import WINDOW_FROM, Prior, ProductPrior, WindowPrior
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph

Chances = Sequence[Fraction]


def people(graph: AnswerGraph, *numbers: str) -> Prior:
    """Return the law of the answer when people are independent and alike.

    Parameters
    ----------
    graph
        The answer graph of ``count``, ``sum``, ``mean``, ``count_mod``, ``median``,
        ``histogram``, ``databases`` or ``counts``, as its name says.
    numbers
        The probability of every value of a person, in order. For ``counts(n,k)``, whose k
        properties are independent: the probability of each property.

    Examples
    --------
    >>> from tightrope.graphs import Histograms, PathPower
    >>> people(PathPower(5, 2, name="sum(2,2)"), ".5", ".25", ".25").probabilities.tolist()
    [0.25, 0.25, 0.3125, 0.125, 0.0625]
    >>> people(Histograms(2, 2), "1/3", "2/3").exact
    (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
    """
    question = re.fullmatch(r"(\w+)\((\d+)(?:,(\d+))?\)", graph.name)
    if question is None or question[1] not in _LAWS:
        raise InputError(
            f"people(…) needs a question about people ({', '.join(_LAWS)}), got {graph.name}: "
            "give one number for each answer, or a file"
        )
    law, values = _LAWS[question[1]]
    first, second = int(question[2]), int(question[3] or 0)
    wanted = values(second)
    if len(numbers) != wanted:
        what = "property" if law is _properties else "value of a person"
        raise InputError(
            f"people(…) over {graph.name} needs {wanted} probabilities, one for each {what}, "
            f"got {len(numbers)}"
        )
    return law(graph, first, numbers)


def _total(graph: AnswerGraph, u: int, numbers: Sequence[str]) -> Prior:
    """Return the law of a sum, or of what it determines: a mean, a remainder."""
    one = Prior(numbers)
    last = u * (one.size - 1)
    kind = graph.name.partition("(")[0]
    if last > 2**15 and kind != "count_mod":
        return WindowPrior(graph.size, partial(_total_window, u, np.array(one.probabilities)))
    labels: list[Hashable] = list(range(last + 1))
    if kind == "mean":
        labels = [Fraction(s, u) for s in range(last + 1)]
    elif kind == "count_mod":
        labels = [s % graph.size for s in range(last + 1)]
    # Only sums of non-negative terms, so that small probabilities keep their digits.
    power, square, rest = np.ones(1), np.array(one.probabilities), u
    while rest:
        if rest % 2:
            power = np.convolve(power, square)
        rest //= 2
        square = np.convolve(square, square) if rest else square
    return _placed(graph, labels, power, partial(_total_exact, u, one.exact))


def _total_window(u: int, one: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """Return the window of a sum, by powers with fast Fourier transforms.

    Their errors are about 1e-16 of the largest probability: smaller ones are left out.
    """
    from scipy.signal import fftconvolve

    values = np.arange(len(one))
    spread = math.sqrt(u * max(float(one @ values**2 - (one @ values) ** 2), 0.0))
    if 20 * spread > WINDOW_FROM:
        raise TooLarge(f"this prior lies in more than {WINDOW_FROM} answers: too many")

    def times(
        left: tuple[int, NDArray[np.float64]], right: tuple[int, NDArray[np.float64]]
    ) -> tuple[int, NDArray[np.float64]]:
        small = min(len(left[1]), len(right[1])) < 256
        both = (np.convolve if small else fftconvolve)(left[1], right[1])
        used = np.flatnonzero(both > 1e-15 * both.max())
        kept = np.maximum(both[used[0] : used[-1] + 1], 0.0)
        return left[0] + right[0] + int(used[0]), kept / kept.sum()

    power, square = (0, np.ones(1)), (0, one)
    while u:
        if u % 2:
            power = times(power, square)
        u //= 2
        square = times(square, square) if u else square
    return power


def _total_exact(u: int, chances: Chances) -> list[Fraction]:
    from flint import fmpq, fmpq_poly

    power = fmpq_poly([fmpq(p.numerator, p.denominator) for p in chances]) ** u
    found = [power[s] for s in range(u * (len(chances) - 1) + 1)]
    return [Fraction(int(c.p), int(c.q)) for c in found]


def _median(graph: AnswerGraph, u: int, numbers: Sequence[str]) -> Prior:
    """Return the law of the median, exactly, from the two order statistics in the middle."""
    chances = Prior(numbers).exact
    if u * len(chances) > 10_000:
        raise TooLarge(f"people(…) over a median is computed up to u·v = 10000, got {graph.name}")
    below = [Fraction(0), *accumulate(chances)]
    half = u // 2
    # The (lower) middle value is at most j when at least half of the people, rounded up, are.
    reached = [
        sum(comb(u, k) * p**k * (1 - p) ** (u - k) for k in range((u + 1) // 2, u + 1))
        for p in below
    ]
    law = {Fraction(j): reached[j + 1] - reached[j] for j in range(len(chances))}
    # For even u the median lies between two middle values, a < b, where they differ.
    for a in range(len(chances)) if u % 2 == 0 else ():
        for b in range(a + 1, len(chances)):
            low, high = below[a + 1] ** half - below[a] ** half, 1 - below[b]
            apart = comb(u, half) * low * (high**half - (1 - below[b + 1]) ** half)
            law[Fraction(a)] -= apart
            middle = Fraction(a + b, 2)
            law[middle] = law.get(middle, Fraction(0)) + apart
    exact = list(law.values())
    return _placed(graph, list(law), np.array([float(p) for p in exact]), partial(list, exact))


def _classes(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    """Return the multinomial law; a long one is listed when somebody asks for it."""
    if graph.size <= WINDOW_FROM >> 4:
        return _listed_classes(graph, n, numbers)
    Prior(numbers)  # refused at once where they are no probabilities
    return WindowPrior(graph.size, partial(_late_classes, graph, n, numbers))


def _listed_classes(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    r"""Return :math:`n! \prod_j p_j^{c_j} / c_j!` over histograms of all n people."""
    from scipy.special import gammaln, xlogy

    one = Prior(numbers)
    graph._check_row("a multinomial prior")
    everyone: list[tuple[int, ...]] = graph.labels  # type: ignore[assignment]
    labels = [label for label in everyone if sum(label) == n]
    counts = np.array(labels, dtype=np.float64)
    logs = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1)
    logs += xlogy(counts, one.probabilities).sum(axis=1)
    return _placed(graph, labels, np.exp(logs), partial(_classes_exact, labels, one.exact))


def _late_classes(
    graph: AnswerGraph, n: int, numbers: Sequence[str]
) -> tuple[int, NDArray[np.float64]]:
    return 0, _listed_classes(graph, n, numbers).probabilities


def _classes_exact(labels: Sequence[tuple[int, ...]], chances: Chances) -> list[Fraction]:
    def chance(label: tuple[int, ...]) -> Fraction:
        ways = math.factorial(sum(label)) // math.prod(map(math.factorial, label))
        return ways * math.prod(
            (p**c for p, c in zip(chances, label, strict=True)), start=Fraction(1)
        )

    return [chance(label) for label in labels]


def _values(graph: AnswerGraph, u: int, numbers: Sequence[str]) -> Prior:
    """Return independent draws; where a person may be absent, that is the first value."""
    absent = graph.factors[0].size - len(numbers)
    return ProductPrior([Prior(["0"] * absent + list(numbers))] * u)


def _properties(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    """Return a binomial count of each property, which are independent."""
    return ProductPrior([Prior.binomial(n + 1, p) for p in numbers])


def _placed(
    graph: AnswerGraph,
    labels: Sequence[Hashable],
    chances: NDArray[np.float64],
    exact: Callable[[], list[Fraction]],
) -> Prior:
    """Return the prior with these probabilities of labels; equal labels add up."""
    nodes = [graph.index(label) for label in labels]
    values = np.zeros(graph.size)
    np.add.at(values, nodes, chances)
    return Prior.by_rule(values, partial(_placed_exact, graph.size, nodes, exact))


def _placed_exact(
    size: int, nodes: Sequence[int], exact: Callable[[], list[Fraction]]
) -> tuple[Fraction, ...]:
    found = [Fraction(0)] * size
    for node, chance in zip(nodes, exact(), strict=True):
        found[node] += chance
    return tuple(found)


#: By the name of the question: its law, and from its second parameter how many numbers it takes.
_LAWS: dict[
    str, tuple[Callable[[AnswerGraph, int, Sequence[str]], Prior], Callable[[int], int]]
] = {
    "count": (_total, lambda _: 2),
    "sum": (_total, lambda v: v + 1),
    "mean": (_total, lambda v: v + 1),
    "count_mod": (_total, lambda _: 2),
    "median": (_median, lambda v: v + 1),
    "histogram": (_classes, lambda c: c),
    "databases": (_values, lambda v: v),
    "counts": (_properties, lambda k: k),
}
