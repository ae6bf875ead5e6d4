r"""Priors: what is known about the true answer before anything is reported.

A :class:`Prior` gives a probability :math:`\pi_i` to every node of an answer graph
[A, §2; C, §2.3]. Uniform and product priors compute their size, largest entry and support
without a list, so that :math:`4^{20}` databases are no problem. :mod:`tightrope.kinds` lists the
priors with a name.

A consumer who knows the population but not the people assumes that each of u people has value j
with probability :math:`p_j`, independently. The law of the answer follows from the question: the
probability of a sum s is the coefficient of :math:`x^s` in :math:`(\sum_j p_j x^j)^u`, a histogram
is multinomial, and so on. Where people may be absent, all u are assumed to be present.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import comb
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, Ints, Nodes, Pair
from tightrope.channels.structured import outer
from tightrope.consumers.numerals import comma_parts, find_answer, to_float
from tightrope.errors import InputError, TextError, TooLarge, blamed, whole_number
from tightrope.exact import power
from tightrope.files import FilePath, is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import finite_array, frozen
from tightrope.graphs.products import digits_of
from tightrope.kinds import PRIORS, forms
from tightrope.texts import NUMBER, read_call, read_list, to_exact

#: A first node, and the probabilities from there on.
PriorWindow = tuple[int, Floats]

#: How far the sum of the probabilities may lie from 1.
PRIOR_SUM_TOLERANCE = 1e-9


class Prior:
    """Probabilities over the nodes of an answer graph, in node order.

    Values never change. Subclasses compute their probabilities; other ways to make one:
    :meth:`uniform`, :meth:`point`, :meth:`binomial`, :meth:`geometric`, :meth:`poisson`, and
    :func:`~tightrope.consumers.prior` for texts and files.

    Parameters
    ----------
    probabilities
        Numbers, fractions or texts such as ``"1/3"``: finite, non-negative, with sum 1 within
        ``PRIOR_SUM_TOLERANCE``. Nothing is repaired.
    exact
        For a family: makes its fractions when they are asked for.

    Attributes
    ----------
    size
        The number of nodes.

    Examples
    --------
    >>> known = Prior(["1/2", "1/4", "1/4"])
    >>> known.maximum, known.exact[0], known.support.tolist()
    (0.5, Fraction(1, 2), [0, 1, 2])
    >>> Prior([0.5, 0.499])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: probabilities must sum to 1 (within 1e-09), got the sum 0.999
    """

    size: int
    #: The name of the law and its number, where it is one that has a name.
    named: tuple[str, Fraction] | None = None

    def __init__(
        self,
        probabilities: ArrayLike | Iterable[float | str | Fraction],
        *,
        exact: Callable[[], tuple[Fraction, ...]] | None = None,
    ) -> None:
        # Keep what was given: fractions and texts decide exact questions, floats everything else.
        self._given, values = _read(probabilities)
        self._values = _check_distribution(values)
        self._rule = exact
        self.size = len(self._values)

    @property
    def probabilities(self) -> Floats:
        """All probabilities in node order (read-only)."""
        return self._values

    @functools.cached_property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions: as given, floats as the decimals they print as."""
        # Fractions of a family have as many digits as it has answers: too slow for more.
        if self._rule is not None:
            if self.size > LIMITS.fractions:
                raise TooLarge(
                    f"fractions of a family are made for at most {LIMITS.fractions} answers, "
                    f"got {self.size}: list the probabilities instead"
                )
            return self._rule()
        source = self._values.tolist() if self._given is None else self._given
        return tuple(map(to_exact, source))

    @functools.cached_property
    def is_uniform(self) -> bool:
        """Whether all probabilities are equal, as the numbers they were given as."""
        # Equal floats may come from different fractions: these decide.
        if self.maximum != self.minimum:
            return False
        if self._given is None:
            return True
        return len(set(map(to_exact, self._given))) == 1

    # -- what subclasses compute without a list -------------------------------------------

    @property
    def _listed(self) -> PriorWindow:
        """A first node, and all probabilities from there on that are not 0."""
        return 0, self.probabilities

    def __getitem__(self, node: int) -> float:
        start, inside = self._listed
        place = self._node(node) - start
        # Outside the window the probability is 0 to double precision.
        if not 0 <= place < len(inside):
            return 0.0
        return float(inside[place])

    @property
    def maximum(self) -> float:
        """The largest probability: the vulnerability before any report [B, §2.1]."""
        return float(self._listed[1].max())

    @property
    def minimum(self) -> float:
        """The smallest probability."""
        inside = self._listed[1]
        return float(inside.min()) if len(inside) == self.size else 0.0

    @property
    def support(self) -> Ints:
        """The nodes with positive probability (as floats), in increasing order."""
        start, inside = self._listed
        return start + np.flatnonzero(inside > 0)

    @property
    def min_entropy(self) -> float:
        """Minus the logarithm of the largest probability, in bits [B, §2.1]."""
        # + 0.0 turns -0.0 of a point prior into 0.0.
        return -math.log2(self.maximum) + 0.0

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits."""
        inside = self._listed[1]
        # −Σ π log₂ π, with 0 log 0 = 0.
        positive = inside[inside > 0]
        bits = positive * np.log2(positive)
        return float(-bits.sum()) + 0.0

    @property
    def guessing_entropy(self) -> float:
        """The expected number of guesses until the right one, the likeliest first.

        >>> Prior([0.5, 0.25, 0.25]).guessing_entropy
        1.75
        """
        # Σ_k k·π_(k), in falling order.
        falling = np.sort(self.probabilities)[::-1]
        return float(falling @ np.arange(1, self.size + 1))

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[float]:
        return iter(self.probabilities.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Let NumPy take the probabilities."""
        return np.array(self.probabilities, dtype=dtype)

    @property
    def window(self) -> PriorWindow:
        """The first node, and the probabilities from there on, that do not round to 0.

        A mechanism file holds a prior in units of 2^-61.

        >>> Prior([0.0, 0.25, 0.75, 1e-30]).window
        (1, array([0.25, 0.75]))
        """
        return _not_negligible(*self._listed)

    def factors(self, sizes: Sequence[int]) -> list[Prior] | None:
        """Return independent priors over coordinates of these sizes, or ``None`` if there are none.

        Nodes number the tuples of coordinates, and the last coordinate runs fastest.

        >>> Prior.uniform(6).factors([2, 3])
        [<UniformPrior over 2 answers: 0.5 each>, <UniformPrior over 3 answers: 0.3333 each>]
        """
        # A plain list of probabilities is not tested for independence: only its one-factor split is
        # known.
        return [self] if list(sizes) == [self.size] else None

    def _repr_html_(self) -> str:
        """Show the first probabilities as bars."""
        shown = min(self.size, 20)
        rows = "".join(
            f'<tr><th>{i}</th><td>{self[i]:.4f}</td><td><span style="display:inline-block;'
            f'height:.8em;width:{8 * self[i] / self.maximum:.2f}em;background:#0f9d8a"></span>'
            "</td></tr>"
            for i in range(shown)
        )
        if shown < self.size:
            rows += f"<tr><th>…</th><td>{self.size - shown:,} more</td></tr>"
        return (
            f"<table><caption>prior over {self.size:,} answers</caption>{rows}</table>"
        )

    def __repr__(self) -> str:
        shown = [f"{self[i]:.4g}" for i in range(min(self.size, 4))]
        first = ", ".join(shown)
        more = ", …" if self.size > 4 else ""
        return f"<{type(self).__name__} over {self.size} answers: {first}{more}>"

    def _node(self, node: int) -> int:
        if not -self.size <= node < self.size:
            # A plain IndexError ends iteration over sequences as Python expects.
            raise IndexError(f"node must be in 0 … {self.size - 1}, got {node}")
        return int(node) % self.size

    def _check_row(self) -> None:
        if self.size > LIMITS.row:
            raise TooLarge(
                f"the probabilities of this prior would be {self.size} numbers, more than "
                f"{LIMITS.row}: ask for single nodes, maximum, minimum or entropy instead"
            )

    # -- families -------------------------------------------------------------------------

    @staticmethod
    def uniform(size: int) -> UniformPrior:
        """Return the uniform prior, which holds no list.

        >>> Prior.uniform(4**20).maximum == 4.0**-20
        True
        """
        return UniformPrior(size)

    @staticmethod
    def point(size: int, node: int) -> Prior:
        """Return the prior of a consumer who knows the answer.

        >>> Prior.point(3, 1).probabilities.tolist()
        [0.0, 1.0, 0.0]
        """
        whole_number(node, "node", 0, whole_number(size, "the number of answers") - 1)
        if size > LIMITS.window:
            # A window of one node instead of a long list of zeros.
            return WindowPrior(size, partial(_not_negligible, node, np.ones(1)))
        values = np.zeros(size)
        values[node] = 1
        return Prior(values)

    @staticmethod
    def binomial(size: int, p: float | str | Fraction) -> Prior:
        r"""Return the heads in :math:`n-1` tosses: :math:`\binom{n-1}{k} p^k (1-p)^{n-1-k}`.

        >>> Prior.binomial(3, "1/3").exact
        (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
        """
        # π_{k+1}/π_k = p/(1−p) · (n−1−k)/(k+1)
        chance = _parameter(p, "binomial(p)", 1)
        last = whole_number(size, "the number of answers") - 1
        # The ratio p/(1 - p) is infinite: all mass is on the last answer.
        if chance == 1:
            return Prior.point(size, last)
        return _by_ratios(
            ("binomial", chance), size, chance / (1 - chance), (last, -1), (1, 1)
        )

    @staticmethod
    def geometric(size: int, p: float | str | Fraction) -> Prior:
        r"""Return the failures before the first success, :math:`(1-p)^k p`, conditioned on k < n.

        >>> Prior.geometric(3, 0.5).exact
        (Fraction(4, 7), Fraction(2, 7), Fraction(1, 7))
        """
        # π_{k+1}/π_k = 1−p
        chance = _parameter(p, "geometric(p)", 1)
        if chance == 0:
            raise InputError(
                "geometric(p) needs p > 0, got 0; with no success in sight use uniform"
            )
        return _by_ratios(("geometric", chance), size, 1 - chance, (1, 0), (1, 0))

    @staticmethod
    def poisson(size: int, mean: float | str | Fraction) -> Prior:
        r"""Return :math:`e^{-λ} λ^k/k!`, conditioned on k < n; rational, as :math:`e^{-λ}` cancels.

        >>> Prior.poisson(3, 1).exact
        (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
        """
        # π_{k+1}/π_k = λ/(k+1)
        rate = _parameter(mean, "poisson(mean)", 10**12)
        return _by_ratios(("poisson", rate), size, rate, (1, 0), (1, 1))


def _parameter(value: float | str | Fraction, what: str, high: int) -> Fraction:
    number = to_float(value)
    if not 0 <= number <= high:
        name = what[what.index("(") + 1 : -1]
        raise InputError(f"{what} needs 0 ≤ {name} ≤ {high}, got {number:.12g}")
    return to_exact(value)


def _by_ratios(
    named: tuple[str, Fraction],
    size: int,
    scale: Fraction,
    above: Pair,
    below: Pair,
) -> Prior:
    r"""Return the prior with :math:`\pi_{k+1}/\pi_k = c\,(a_0 + a_1 k)/(b_0 + b_1 k)`, which fall.

    Binomial, geometric and Poisson laws are of this form: Panjer's class.
    """
    # Partials of module functions, since a prior is pickled with its rule for other processes.
    rule = whole_number(size, "the number of answers"), scale, above, below
    # Ratio 0: every answer after the first has probability 0.
    if scale == 0:
        return Prior.point(size, 0)
    if size > LIMITS.window:
        law: Prior = WindowPrior(size, partial(_window_by_ratios, *rule))
    else:
        # Unlimited depth: small priors are listed in full.
        chances = _window_by_ratios(*rule, depth=math.inf)[1]
        law = Prior(chances, exact=partial(_exact_by_ratios, *rule))
    law.named = named
    return law


def _window_by_ratios(
    size: int,
    scale: Fraction,
    above: Pair,
    below: Pair,
    depth: float = 80.0,
) -> PriorWindow:
    """Return the first node and the probabilities where they are above :math:`2^{-80}`.

    Logarithms are summed outwards from the mode, where the probability is: there the partial sums
    are small, so that a million answers lose no digits that count.
    """
    # π_{k+1} ≥ π_k while c(a₀ + a₁k) ≥ b₀ + b₁k: the mode is the first k where this fails.
    decrease = below[1] - scale * above[1]
    mode = (
        0 if decrease == 0 else math.floor((scale * above[0] - below[0]) / decrease) + 1
    )
    # Outside the range the law is monotone, so its mode is at an end.
    mode = min(max(mode, 0), size - 1)
    growth = math.log(scale.numerator) - math.log(scale.denominator)
    halves = []
    for direction, reach in ((1, size - 1 - mode), (-1, mode)):
        # Probabilities decrease from the mode, ever faster: enlarge the window until it reaches
        # far enough.
        log_ratios = np.zeros(1)
        count = 0
        while count < reach and log_ratios[-1] > -depth * math.log(2):
            if count > LIMITS.row // 4:
                raise TooLarge(
                    f"this prior lies in more than {LIMITS.row} answers: too many"
                )
            count = min(reach, max(4 * count, 1 << 10))
            node = (
                mode + np.arange(count)
                if direction > 0
                else mode - 1 - np.arange(count)
            )
            numerator = above[0] + above[1] * node
            ratios = numerator / (below[0] + below[1] * node)
            # ln π_k - ln π_mode = Σ ln(π_{j+1}/π_j), with the sign of the direction.
            log_ratios = np.concatenate(
                [[0.0], np.cumsum((np.log(ratios) + growth) * direction)]
            )
        halves.append(np.exp(log_ratios))
    # The left half is reversed, without the mode, which both halves hold.
    left_half = halves[1][:0:-1]
    weights = np.concatenate([left_half, halves[0]])
    first = mode - len(halves[1]) + 1
    return first, weights / weights.sum()


def _exact_by_ratios(
    size: int, scale: Fraction, above: Pair, below: Pair
) -> tuple[Fraction, ...]:
    # π_k ∝ Π_{j<k} numerator_j · Π_{j≥k} denominator_j: integers, divided once by their sum.
    terms = (above[0] + above[1] * k for k in range(size - 1))
    numerators = [scale.numerator * term for term in terms]
    denominators = [
        scale.denominator * (below[0] + below[1] * k) for k in range(size - 1)
    ]
    up_products = accumulate(numerators, mul, initial=1)
    from_right = accumulate(reversed(denominators), mul, initial=1)
    down_products = list(from_right)[::-1]
    pairs = zip(up_products, down_products, strict=True)
    weights = [up * down for up, down in pairs]
    total = sum(weights)
    return tuple(Fraction(weight, total) for weight in weights)


class UniformPrior(Prior):
    """Every answer equally likely, without a list.

    >>> UniformPrior(4)
    <UniformPrior over 4 answers: 0.25 each>
    """

    def __init__(self, size: int) -> None:
        self.size = whole_number(size, "the number of answers")

    @property
    def probabilities(self) -> Floats:
        """All probabilities in node order (read-only); refused when they would not fit."""
        self._check_row()
        # One number broadcast: no memory for n equal entries.
        return np.broadcast_to(np.float64(self.maximum), (self.size,))

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions."""
        self._check_row()
        return (Fraction(1, self.size),) * self.size

    @property
    def maximum(self) -> float:
        """The probability of every answer."""
        # 1 / n raises for n beyond the floats; a fraction rounds to 0.
        return float(Fraction(1, self.size))

    minimum = maximum
    is_uniform = True

    def factors(self, sizes: Sequence[int]) -> list[Prior] | None:
        """Return uniform priors, one object for each size."""
        if math.prod(sizes) != self.size:
            return None
        # One object per size, so that callers can evaluate equal factors once.
        of_size = {size: UniformPrior(size) for size in sizes}
        return [of_size[size] for size in sizes]

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits."""
        return math.log2(self.size)

    min_entropy = entropy

    def __getitem__(self, node: int) -> float:
        self._node(node)
        return self.maximum

    def __repr__(self) -> str:
        return f"<UniformPrior over {self.size} answers: {self.maximum:.4g} each>"


def _not_negligible(start: int, chances: Floats, *, bits: int = 61) -> PriorWindow:
    # A mechanism file holds probabilities in units of 2^-61: smaller ones round to 0.
    used = np.flatnonzero(np.rint(np.ldexp(chances, bits)))
    # Only the ends are cut: a zero inside keeps its place.
    inside = chances[used[0] : used[-1] + 1]
    # Renormalised: at most n·2^-62 was cut.
    return start + int(used[0]), inside / inside.sum()


class WindowPrior(Prior):
    """A prior over so many answers that only a window is listed: others have less than 2^-62.

    Parameters
    ----------
    size
        The number of nodes.
    find
        Returns the first node of the window and the probabilities in it; called when they are
        asked for. It refuses what would be too many numbers.

    Examples
    --------
    >>> known = Prior.binomial(5 * 10**9 + 1, 0.3)
    >>> start, inside = known.window
    >>> start, len(inside), round(known[1500000000] * 1e5, 6)
    (1499742114, 515781, 1.231163)
    """

    def __init__(self, size: int, find: Callable[[], PriorWindow]) -> None:
        self.size = size
        self._find = find

    @functools.cached_property
    def _listed(self) -> PriorWindow:
        return _not_negligible(*self._find())

    @functools.cached_property
    def probabilities(self) -> Floats:
        """All probabilities in node order (read-only); refused when they would not fit."""
        self._check_row()
        start, inside = self._listed
        return _check_distribution(
            np.pad(inside, (start, self.size - start - len(inside)))
        )

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """Refused: fractions are not made for so many answers."""
        raise TooLarge(
            f"fractions of a family are made for at most {LIMITS.fractions} answers"
        )

    is_uniform = False

    def __repr__(self) -> str:
        return f"<WindowPrior over {self.size} answers>"


def kron(factors: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of vectors, refused when it would not fit.

    >>> kron([np.array([1.0, 2.0]), np.array([1.0, 10.0])]).tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    size = math.prod(len(factor) for factor in factors)
    if size > LIMITS.row:
        raise TooLarge(f"this vector would hold {size} numbers, more than {LIMITS.row}")
    return frozen(outer([np.ones(1), *factors]))


class ProductPrior(Prior):
    r"""Independent draws, one from each prior: :math:`\pi(x) = \prod_j \pi_j(x_j)`.

    The prior over ``databases(u,v)`` when people draw from the same law. Nodes are numbered
    as in :class:`~tightrope.graphs.CartesianProduct`: the last factor runs fastest.

    Parameters
    ----------
    parts
        The prior of each draw; one object may occur many times.

    Examples
    --------
    >>> people = ProductPrior([Prior([0.3, 0.27, 0.23, 0.2])] * 20)
    >>> people.size == 4**20, round(people.entropy, 3)
    (True, 39.663)
    """

    def __init__(self, parts: Sequence[Prior]) -> None:
        for part in parts:
            if not isinstance(part, Prior):
                raise InputError(f"the factors must be priors, got {str(part)[:40]!r}")
        whole_number(len(parts), "the number of draws")
        self.parts = tuple(parts)
        self.size = math.prod(part.size for part in parts)

    @functools.cached_property
    def probabilities(self) -> Floats:
        """All probabilities in node order (read-only); refused when they would not fit."""
        return kron([part.probabilities for part in self.parts])

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions."""
        self._check_row()
        products: tuple[Fraction, ...] = (Fraction(1),)
        for part in self.parts:
            # The last factor runs fastest, as in the numbering of the nodes.
            products = tuple(left * right for left in products for right in part.exact)
        return products

    @property
    def maximum(self) -> float:
        """The largest probability: that of the likeliest values together."""
        # Independent coordinates: the maximum of a product is the product of maxima.
        return math.prod(part.maximum for part in self.parts)

    @property
    def minimum(self) -> float:
        """The smallest probability: that of the least likely values together."""
        return math.prod(part.minimum for part in self.parts)

    @functools.cached_property
    def is_uniform(self) -> bool:
        """Whether every factor is uniform."""
        return all(part.is_uniform for part in self.parts)

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits: those of the draws added up."""
        return math.fsum(part.entropy for part in self.parts)

    @property
    def min_entropy(self) -> float:
        """Minus the logarithm of the largest probability, in bits; without underflow."""
        return math.fsum(part.min_entropy for part in self.parts)

    def factors(self, sizes: Sequence[int]) -> list[Prior] | None:
        """Return the parts, if they have these sizes."""
        own = [part.size for part in self.parts]
        return list(self.parts) if own == list(sizes) else None

    def __getitem__(self, node: int) -> float:
        digits = digits_of(self._node(node), [part.size for part in self.parts])
        return math.prod(
            part[digit] for part, digit in zip(self.parts, digits, strict=True)
        )

    def __repr__(self) -> str:
        sizes = [part.size for part in self.parts]
        shape = "×".join(map(str, sizes))
        if len(set(sizes)) == 1:
            shape = f"{sizes[0]}^{len(sizes)}"
        return f"<ProductPrior over {shape} answers: {self.parts[0]!r}>"


def _read(source: Any) -> tuple[tuple[object, ...] | None, Floats]:
    """Return the exact values where floats do not suffice (or ``None``), and the floats."""
    if isinstance(source, Prior):
        return source.exact, source.probabilities
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InputError(
            f"probabilities must be a list of numbers, got {str(source)[:40]!r}; "
            "for a text use prior(text, graph)"
        )
    # Floats in an array need no exact copy: each is the decimal that it prints as.
    if isinstance(source, np.ndarray) and source.dtype.kind in "fiu":
        return None, source
    given = tuple(source)
    values = np.empty(len(given))
    for place, value in enumerate(given):
        try:
            values[place] = to_float(value)
        except InputError as wrong:
            raise InputError(f"{wrong} at position {place} (counting from 0)") from None
    # Whole numbers and texts are kept: 1/3 as a text is not the float.
    plain = all(type(value) is float for value in given)
    return (None if plain else given), values


def _check_distribution(values: Floats) -> Floats:
    must = "a prior needs at least one probability, in one row of numbers"
    chances = finite_array(values, must, (None,), "probabilities", "non-negative")
    total = float(chances.sum())
    if not abs(total - 1) <= PRIOR_SUM_TOLERANCE:
        raise InputError(
            f"probabilities must sum to 1 (within {PRIOR_SUM_TOLERANCE:g}), "
            f"got the sum {total:.12g}"
        )
    return frozen(chances)


def prior(value: Any, graph: AnswerGraph, *, folder: FilePath = ".") -> Prior:
    r"""Return the prior over the answers of a graph from a text or a value.

    Parameters
    ----------
    value
        - a text from :data:`tightrope.kinds.PRIORS`. ``uniform`` is never listed, however many
          answers there are. ``binomial``, ``geometric`` and ``poisson`` are over the number
          :math:`k = 0 … n-1` of the answer in its order, conditioned on :math:`k < n`: they are
          for answers on a line (counts, sums, means, paths), and refused elsewhere, where the
          numbering of the nodes means nothing;
        - ``"0.1,0.2,0.7"`` or ``"1/3,1/3,1/3"``: one number for each answer, in node order;
        - ``"yes:0.7,no:0.3"`` or ``"(0,1):1/2,(1,0):1/2"``: every answer with its number, in any
          order; an answer with a comma in it is written in brackets;
        - ``"file:FILE"``: JSON (by the ending ``.json``) with a list, an object from answers to
          probabilities, or a list of pairs; otherwise CSV with one number a line, or
          ``answer,probability`` lines in any order, with or without these words as a header;
        - an array, a mapping from every answer to its probability, or a :class:`Prior`.
    graph
        The answer graph.
    folder
        Where relative files are looked for.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique
    >>> prior("binomial(1/2)", PathPower(3)).exact
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    >>> prior({1: 0.75, 0: 0.25}, Clique(2)).probabilities.tolist()
    [0.25, 0.75]
    >>> prior("1:.75, 0:.25", Clique(2)).probabilities.tolist()
    [0.25, 0.75]
    >>> prior("product(.3,.27,.23,.2)", CartesianProduct([Clique(4)] * 20)).size == 4**20
    True
    >>> prior("binomial(.3", PathPower(3))
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected ',' or ')' at character 12 of 'binomial(.3': binomial(.3▸
    """
    if isinstance(value, str):
        known = _prior_from_text(value, graph, Path(folder))
    elif isinstance(value, Prior):
        known = value
    elif isinstance(value, Mapping):
        known = _prior_from_pairs(value.items(), graph, "the mapping")
    else:
        known = Prior(value)
    if known.size != graph.size:
        raise InputError(
            f"a prior over {graph.name} needs {graph.size} probabilities, got {known.size}"
        )
    return known


def _read_named(text: str) -> list[tuple[str, str]] | None:
    """Return answers and probabilities of a list such as ``yes:0.7,no:0.3``; ``None`` for others.

    It is one when its first entry is: ``file:…`` and the names of priors are none.
    """
    pairs: list[tuple[str, str]] = []
    for start, entry in comma_parts(text):
        label, _, number = entry.rpartition(":")
        # The first entry decides the form, so a typo later is an error and not another form.
        if not label.strip() or not NUMBER.fullmatch(number.strip()):
            if not pairs:
                return None
            raise TextError("expected answer:probability", text, start)
        pairs.append((label.strip(), number.strip()))
    return None if pairs[0][0] == "file" else pairs


def _prior_from_text(text: str, graph: AnswerGraph, folder: Path) -> Prior:
    named = _read_named(text)
    if named is not None:
        return _prior_from_pairs(named, graph, "the list")
    # A digit or a sign starts a list; every name starts with a letter.
    if text.strip()[:1] in tuple("+-.0123456789"):
        return Prior([number for number, _ in read_list(text)[0]])
    call = read_call(text, "prior", forms(PRIORS))
    if call.rest is not None:
        return _prior_from_file(folder / call.rest, graph)
    kind = PRIORS[call.name]
    if kind.numbers not in (None, len(call.args)):
        raise call.error(f"expected {kind.form}, got {len(call.args)} numbers")
    known: Prior = kind.make(graph, *call.args)
    return known


def uniform(graph: AnswerGraph) -> Prior:
    """Make ``uniform``."""
    return Prior.uniform(graph.size)


def _on_line(name: str, graph: AnswerGraph, number: str) -> Prior:
    """Make a family with a name over the answers of a line, in their order."""
    if not graph.is_line:
        raise InputError(
            f"{name} needs answers on a line, which {graph.name} does not have: "
            "give one number for each answer, or a file"
        )
    law: Prior = getattr(Prior, name)(graph.size, number)
    return law


binomial = partial(_on_line, "binomial")
geometric = partial(_on_line, "geometric")
poisson = partial(_on_line, "poisson")


def product(graph: AnswerGraph, *numbers: str) -> Prior:
    """Make ``product(p,…)`` on a product of equal graphs."""
    # One person's law for all: the factors must be alike.
    if not graph.product or len({f.size for f in graph.factors}) > 1:
        raise InputError(
            f"product(…) needs databases(u,v) or another product of equal graphs, got {graph.name}"
        )
    if len(numbers) != graph.factors[0].size:
        raise InputError(
            f"product(…) over {graph.name} needs {graph.factors[0].size} numbers, "
            f"got {len(numbers)}"
        )
    return ProductPrior([Prior(numbers)] * len(graph.factors))


def _prior_from_file(path: Path, graph: AnswerGraph) -> Prior:
    data = read_json(path) if is_json(path) else _csv_chances(path)
    if isinstance(data, dict):
        return _prior_from_pairs(data.items(), graph, str(path))
    if not isinstance(data, list):
        raise InputError(f"{path} must hold a list or an object of probabilities")
    if data and isinstance(data[0], list):
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in data):
            raise InputError(f"{path} must hold pairs [answer, probability] throughout")
        return _prior_from_pairs(data, graph, str(path))
    with blamed(path):
        return Prior(data)


def _csv_chances(path: Path) -> list[Any]:
    """Return the probabilities of a CSV file, or pairs of an answer and its probability."""
    rows = [fields for _, fields in read_rows(path)]
    if len(rows[0]) > 2:
        raise InputError(
            f"{path} must hold one number a line, or answer,probability on every line, "
            f"got {len(rows[0])} fields"
        )
    # A header is recognised by its last word, since the first column is an answer.
    if rows[0][-1].lower() == "probability":
        rows = rows[1:]
    return [fields if len(fields) == 2 else fields[0] for fields in rows]


def _prior_from_pairs(
    pairs: Iterable[Sequence[Any]], graph: AnswerGraph, where: str
) -> Prior:
    """Return the prior from answers and probabilities in any order, every answer once."""
    if graph.size > LIMITS.row:
        raise TooLarge(
            f"a listed prior has at most {LIMITS.row} answers, got {graph.size}"
        )
    chances: dict[int, Any] = {}
    for label, chance in pairs:
        with blamed(where):
            node = find_answer(graph, label)
            # Checked here, so that the message names the place in the file.
            to_float(chance)
        if node in chances:
            raise InputError(
                f"{where} must name each answer once, got {str(label)[:40]!r} again"
            )
        chances[node] = chance
    if len(chances) < graph.size:
        missing = next(i for i in range(graph.size) if i not in chances)
        raise InputError(
            f"{where} must name all {graph.size} answers of {graph.name}, got {len(chances)}: "
            f"{graph.label(missing)!r} is missing"
        )
    with blamed(where):
        return Prior([chances[node] for node in range(graph.size)])


# -- independent, identically distributed people ---------------------------------------------


def people(graph: AnswerGraph, *numbers: str) -> Prior:
    """Return the law of the answer when people are independent and identically distributed.

    Parameters
    ----------
    graph
        The answer graph of ``count``, ``sum``, ``mean``, ``count_mod``, ``median``,
        ``histogram``, ``databases`` or ``counts``, as its ``question`` says.
    numbers
        The probability of every value of a person, in order. For ``counts(n,k)``, whose k
        properties are independent: the probability of each property.

    Examples
    --------
    >>> from tightrope import query
    >>> people(query("sum(2,2)").graph, ".5", ".25", ".25").probabilities.tolist()
    [0.25, 0.25, 0.3125, 0.125, 0.0625]
    >>> people(query("histogram(2,2)").graph, "1/3", "2/3").exact
    (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
    """
    family, sizes = graph.question or ("", ())
    if family not in _LAWS:
        raise InputError(
            f"people(…) needs a question about people ({', '.join(_LAWS)}), got {graph.name}"
            f"{', a graph without a question' * (not family)}: "
            "give one number for each answer, or a file"
        )
    law, values = _LAWS[family]
    wanted = values(sizes[-1])
    if len(numbers) != wanted:
        what = "property" if law is _properties else "value of a person"
        raise InputError(
            f"people(…) over {graph.name} needs {wanted} probabilities, one for each {what}, "
            f"got {len(numbers)}"
        )
    return law(graph, sizes[0], numbers)


def _total(
    graph: AnswerGraph,
    u: int,
    numbers: Sequence[str],
    answer: Callable[[int, int, int], Hashable] = lambda total, u, size: total,
) -> Prior:
    """Return the law of a sum, or of the answer that it determines: a mean, a remainder."""
    person = Prior(numbers)
    # The largest sum: u people with the largest value each.
    last = u * (person.size - 1)
    window = partial(_total_window, u, np.array(person.probabilities))
    is_long = last > 2**15
    if is_long and graph.size == last + 1:  # the sums number the answers
        return WindowPrior(graph.size, window)
    # Plain convolutions add non-negative terms only, so that small probabilities keep their
    # digits; transforms do not, and are used for long sums alone.
    start, total = (
        window()
        if is_long
        else (0, power(np.array(person.probabilities), u, np.convolve))
    )
    sums = range(start, start + len(total))
    nodes = [graph.index(answer(s, u, graph.size)) for s in sums]
    return _placed(
        graph, nodes, total, None if is_long else partial(_total_exact, u, person.exact)
    )


def _total_window(u: int, person: Floats) -> PriorWindow:
    """Return the window of a sum, by powers with fast Fourier transforms.

    Their errors are about 1e-16 of the largest probability: smaller ones are left out.
    """
    from scipy.signal import fftconvolve

    values = np.arange(len(person))
    # Standard deviation of the sum; 10 of them to either side hold all that counts.
    mean = person @ values
    variance = max(float(person @ values**2 - mean**2), 0.0)
    spread = math.sqrt(u * variance)
    if 20 * spread > LIMITS.window:
        raise TooLarge(
            f"this prior lies in more than {LIMITS.window} answers: too many"
        )

    def times(left: PriorWindow, right: PriorWindow) -> PriorWindow:
        # Below 256 terms a plain convolution is as fast and more accurate.
        is_short = min(len(left[1]), len(right[1])) < 256
        convolved = np.convolve if is_short else fftconvolve
        product = convolved(left[1], right[1])
        # Below 1e-15 of the maximum a transform returns round-off, which may be negative.
        counted = np.flatnonzero(product > 1e-15 * product.max())
        inside = product[counted[0] : counted[-1] + 1]
        chances = np.maximum(inside, 0.0)
        first = left[0] + right[0] + int(counted[0])
        return first, chances / chances.sum()

    return power((0, person), u, times)


def _total_exact(u: int, chances: Sequence[Fraction]) -> list[Fraction]:
    from flint import fmpq, fmpq_poly

    # (Σ_j p_j x^j)^u in exact arithmetic.
    one_person = fmpq_poly([fmpq(p.numerator, p.denominator) for p in chances])
    polynomial = one_person**u
    largest = u * (len(chances) - 1)
    coefficients = [polynomial[s] for s in range(largest + 1)]
    return [Fraction(int(c.p), int(c.q)) for c in coefficients]


def _median(graph: AnswerGraph, u: int, numbers: Sequence[str]) -> Prior:
    """Return the law of the median, exactly, from the two order statistics in the middle."""
    chances = Prior(numbers).exact
    if u * len(chances) > 10_000:
        raise TooLarge(
            f"people(…) over a median is computed up to u·v = 10000, got {graph.name}"
        )
    # below[j] is F(j - 1), the probability of a value less than j.
    below = [Fraction(0), *accumulate(chances)]
    half = u // 2
    # The (lower) middle value is at most j when at least half of the people, rounded up, have
    # such a value: a binomial tail of F(j).
    reached = [
        sum(comb(u, k) * p**k * (1 - p) ** (u - k) for k in range((u + 1) // 2, u + 1))
        for p in below
    ]
    # P(median = j) = P(median ≤ j) - P(median ≤ j - 1).
    values = range(len(chances))
    law = {Fraction(j): reached[j + 1] - reached[j] for j in values}
    # For even u the middle values a < b differ with probability
    # C(u, u/2) (F(a)^{u/2} − F(a−1)^{u/2}) (G(b)^{u/2} − G(b+1)^{u/2}), G the upper tail: that
    # moves from a to the average.
    for a in range(len(chances)) if u % 2 == 0 else ():
        for b in range(a + 1, len(chances)):
            low = below[a + 1] ** half - below[a] ** half
            high = 1 - below[b]
            above = high**half - (1 - below[b + 1]) ** half
            chance = comb(u, half) * low * above
            law[Fraction(a)] -= chance
            middle = Fraction(a + b, 2)
            law[middle] = law.get(middle, Fraction(0)) + chance
    exact = list(law.values())
    nodes = list(map(graph.index, law))
    return _placed(
        graph, nodes, np.array([float(p) for p in exact]), partial(list, exact)
    )


def _classes(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    """Return the multinomial law; a long one is listed when somebody asks for it."""
    if graph.size <= LIMITS.window >> 4:
        return _listed_classes(graph, n, numbers)
    Prior(numbers)  # refuses at once what are no probabilities
    return WindowPrior(graph.size, partial(_late_classes, graph, n, numbers))


def _listed_classes(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    r"""Return :math:`n! \prod_j p_j^{c_j} / c_j!` over histograms of all n people."""
    from scipy.special import gammaln, xlogy

    person = Prior(numbers)
    graph._check_row("a multinomial prior")
    histograms: list[Nodes] = graph.labels  # type: ignore[assignment]
    # Histograms of fewer people are answers too, of probability 0 here.
    nodes = [i for i, label in enumerate(histograms) if sum(label) == n]
    labels = [histograms[i] for i in nodes]
    counts = np.array(labels, dtype=np.float64)
    # ln n! − Σ ln c_j! + Σ c_j ln p_j.
    log_factorials = gammaln(counts + 1).sum(axis=1)
    log_chances = gammaln(n + 1) - log_factorials
    log_chances += xlogy(counts, person.probabilities).sum(axis=1)
    return _placed(
        graph, nodes, np.exp(log_chances), partial(_classes_exact, labels, person.exact)
    )


def _late_classes(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> PriorWindow:
    return 0, _listed_classes(graph, n, numbers).probabilities


def _classes_exact(
    labels: Sequence[Nodes], chances: Sequence[Fraction]
) -> list[Fraction]:
    def chance(label: Nodes) -> Fraction:
        orders_within = math.prod(map(math.factorial, label))
        ways = math.factorial(sum(label)) // orders_within
        return ways * math.prod(
            (p**c for p, c in zip(chances, label, strict=True)), start=Fraction(1)
        )

    return [chance(label) for label in labels]


def _values(graph: AnswerGraph, u: int, numbers: Sequence[str]) -> Prior:
    """Return independent draws; where a person may be absent, that is the first value."""
    # Nobody is absent: that value gets probability 0.
    absent = graph.factors[0].size - len(numbers)
    person = Prior(["0"] * absent + list(numbers))
    return ProductPrior([person] * u)


def _properties(graph: AnswerGraph, n: int, numbers: Sequence[str]) -> Prior:
    """Return a binomial count of each property, which are independent."""
    return ProductPrior([Prior.binomial(n + 1, p) for p in numbers])


def _placed(
    graph: AnswerGraph,
    nodes: Sequence[int],
    chances: Floats,
    exact: Callable[[], list[Fraction]] | None,
) -> Prior:
    """Return the prior with these probabilities of nodes; those of one node add up."""
    graph._check_row("the list of probabilities")
    # Several sums may be one answer, such as a remainder.
    values = np.zeros(graph.size)
    np.add.at(values, nodes, chances)
    if exact is None:
        return Prior(values)
    return Prior(values, exact=partial(_placed_exact, graph.size, nodes, exact))


def _placed_exact(
    size: int, nodes: Sequence[int], exact: Callable[[], list[Fraction]]
) -> tuple[Fraction, ...]:
    totals = [Fraction(0)] * size
    for node, chance in zip(nodes, exact(), strict=True):
        totals[node] += chance
    return tuple(totals)


#: By the family of the question: its law, and from its last parameter how many numbers it takes.
_LAWS: dict[
    str, tuple[Callable[[AnswerGraph, int, Sequence[str]], Prior], Callable[[int], int]]
] = {
    "count": (_total, lambda _: 2),
    "sum": (_total, lambda v: v + 1),
    "mean": (
        partial(_total, answer=lambda total, u, size: Fraction(total, u)),
        lambda v: v + 1,
    ),
    "count_mod": (
        partial(_total, answer=lambda total, u, size: total % size),
        lambda _: 2,
    ),
    "median": (_median, lambda v: v + 1),
    "histogram": (_classes, lambda c: c),
    "databases": (_values, lambda v: v),
    "counts": (_properties, lambda k: k),
}
