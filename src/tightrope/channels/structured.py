r"""Channels in closed form: geometric noise, scaled Φ, products, and noise on a lattice.

All but the last know rows, columns and single entries at any size, from powers
:math:`\alpha^d` of :math:`\alpha = e^{-\varepsilon}`.

Noise on a lattice has no ends, and each number of it is held between the ends of the answers.
The output is the answer plus a point z of the lattice with a probability that depends on the
layer of z alone, :math:`p(z) \propto \alpha^{t(z)}`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import AnyArray, Floats
from tightrope.channels.base import ROW_SUM_TOLERANCE, Channel, RuleChannel
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import finite_array, frozen
from tightrope.graphs.products import digits_of


def alpha_powers(epsilon: Epsilon, distances: ArrayLike, *, parts: int = 1) -> Floats:
    r"""Return :math:`\alpha^{d/k}` for an array of distances d, where k is ``parts``.

    Where :math:`\varepsilon` is the logarithm of a power of 2 that is raised itself, so that powers
    of ``ln(2)`` are exact; otherwise the exponential is taken once, because a power of a rounded
    number loses digits.

    Examples
    --------
    >>> alpha_powers(Epsilon.of("ln(2)"), [0, 1, 10]).tolist()
    [1.0, 0.5, 0.0009765625]
    >>> float(alpha_powers(Epsilon.of("ln(2)"), 5, parts=5))
    0.5
    """
    steps: AnyArray = np.asarray(distances, dtype=np.float64)
    multiple = epsilon.multiple
    # One division after an exact product keeps whole exponents whole.
    exponents = steps * multiple.numerator / (multiple.denominator * parts)
    if epsilon.binary_rate is not None:
        return np.power(epsilon.binary_rate, exponents)
    return np.exp(-epsilon.unit * exponents)


def log_alpha_sum(epsilon: Epsilon, counts: tuple[int, ...]) -> float:
    r"""Return :math:`\ln \sum_d n_d \alpha^d` for ball sizes n of any size.

    Examples
    --------
    >>> round(math.exp(log_alpha_sum(Epsilon.of("ln(2)"), (1, 2, 1))), 12)
    2.25
    """
    step = float(epsilon)
    logs = [math.log(count) - step * d for d, count in enumerate(counts) if count]
    # ln Σ e^l = top + ln Σ e^{l − top}: ball sizes of 10^300 do not fit a float.
    top = max(logs)
    scaled = (math.exp(value - top) for value in logs)
    return top + math.log(math.fsum(scaled))


def compare_levels(
    first: Epsilon, second: Epsilon, *, times: Fraction = Fraction(1)
) -> float:
    """Return second minus times·first, with the exact sign when both are of one kind.

    Examples
    --------
    >>> compare_levels(Epsilon.of("ln(2)"), Epsilon.of("ln(2)"))
    0.0
    >>> compare_levels(Epsilon.of("0.1"), Epsilon.of("0.3"), times=Fraction(3))
    0.0
    """
    # Levels written in the same unit (1, or ln b) are compared as fractions of it.
    if first.base == second.base:
        difference = second.multiple - times * first.multiple
        return float(difference) * first.unit
    return float(second) - float(times) * float(first)


class GeometricChannel(RuleChannel):
    r"""Two-sided geometric noise on 0 … n-1, what falls outside moved to the ends.

    With the ratio :math:`a = \alpha^{1/w} = e^{-\varepsilon/w}` for one step along the line,

    .. math::
        X[i,o] = a^{|i-o|} \cdot
        \begin{cases} 1/(1+a) & o \in \{0, n-1\} \\ (1-a)/(1+a) & \text{otherwise.} \end{cases}

    It is :math:`\varepsilon`-private where neighbouring answers differ by at most w: a
    counting query with w = 1 [A, §6; C, Def 2.5], ``sum(u,v)`` with w = v, and the adapted
    version in which all answers are neighbours with w = n-1 [B, Table 1].

    Parameters
    ----------
    size
        The number n of answers.
    epsilon
        The privacy level.
    width
        How far one person can move the answer, w.
    label
        From an index to its answer; the index itself by default.

    Attributes
    ----------
    step
        :math:`\varepsilon/w`, the level for one step.
    ratio
        :math:`a = e^{-\varepsilon/w}`.

    Examples
    --------
    >>> GeometricChannel(3, "ln(2)").matrix().round(4).tolist()
    [[0.6667, 0.1667, 0.1667], [0.3333, 0.3333, 0.3333], [0.1667, 0.1667, 0.6667]]
    >>> cities = GeometricChannel(6, "ln(2)", width=5)
    >>> round(float(cities.column_maxima().mean()), 4)
    0.2243
    """

    def __init__(
        self,
        size: int,
        epsilon: Level,
        width: int = 1,
        *,
        label: Callable[[int], Hashable] | None = None,
    ) -> None:
        self.size = whole_number(size, "the number of answers")
        self.width = whole_number(width, "the width")
        self.shape = (self.size, self.size)
        self.epsilon = Epsilon.of(epsilon)
        self.step = float(self.epsilon) / self.width
        self.ratio = float(alpha_powers(self.epsilon, 1, parts=self.width))
        # 1 − a loses digits when a is close to 1: −expm1(−ε/w) keeps them.
        complement = 1 - self.ratio if self.ratio <= 0.5 else -math.expm1(-self.step)
        self._inner = complement / (1 + self.ratio)
        self._outer = 1 / (1 + self.ratio) if self.size > 1 else 1.0
        self._inputs = self._outputs = label or int

    def _line(self, i: int) -> Floats:
        return alpha_powers(
            self.epsilon, np.abs(np.arange(self.size) - i), parts=self.width
        )

    def _row(self, i: int) -> Floats:
        return self._line(i) * self.column_maxima()

    def _column(self, o: int) -> Floats:
        return self._line(o) * self._top(o)

    def _entry(self, i: int, o: int) -> float:
        power = alpha_powers(self.epsilon, abs(i - o), parts=self.width)
        return float(power) * self._top(o)

    def _top(self, o: int) -> float:
        is_end = o in (0, self.size - 1)
        return self._outer if is_end else self._inner

    def column_maxima(self) -> Floats:
        """Return the largest entry of each column, which is the one on the diagonal."""
        self._check_row("the column maxima", self.size)
        maxima = np.full(self.size, self._inner)
        maxima[0] = maxima[-1] = self._outer
        return maxima

    def column_maxima_sum(self) -> float:
        r"""Return :math:`\sum_o \max_i X[i,o] = (2 + (n-2)(1-a)) / (1+a)`."""
        if self.size == 1:
            return 1.0
        # Column maxima lie on the diagonal: two ends and n − 2 inner answers.
        inner = (self.size - 2) * self._inner
        return 2 * self._outer + inner

    def __repr__(self) -> str:
        width = "" if self.width == 1 else f", width {self.width}"
        return f"<GeometricChannel {self.size} answers, ε = {self.epsilon}{width}>"


class ScaledPhi(RuleChannel):
    r"""The channel :math:`X[i,o] = \alpha^{d(i,o)} z_o` with :math:`z \ge 0`.

    Every such channel is :math:`\varepsilon`-private on its graph, because
    :math:`d(i,o) \le d(h,o) + d(i,h)`. The tight-constraints mechanism is the one with
    :math:`\Phi z = 1` [A, Def 7]; the exponential mechanism of a symmetric graph is the one
    with a single number for z [B, (17)].

    Parameters
    ----------
    graph
        The answer graph; rows come from its distances, no matrix is held.
    epsilon
        The privacy level.
    scale
        z: one number for each answer, or one number for all of them. The rows must sum to 1
        within ``ROW_SUM_TOLERANCE``: all of them are checked up to 1,000 answers, 16 of them
        above, spread evenly and with both ends, and one where every ball has the same size.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> ScaledPhi(Clique(6), "ln(2)", 2 / 7).row(0).round(4).tolist()
    [0.2857, 0.1429, 0.1429, 0.1429, 0.1429, 0.1429]
    >>> from tightrope.graphs import CartesianProduct
    >>> people = CartesianProduct([Clique(4)] * 20)
    >>> people.size, ScaledPhi(people, "ln(2)", 0.4**20).entry(5, 7)
    (1099511627776, 5.49755813888...e-09)
    """

    def __init__(self, graph: AnswerGraph, epsilon: Level, scale: ArrayLike) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self.shape = (graph.size, graph.size)
        self._inputs = self._outputs = graph.label
        self._scale = _check_scale(scale, graph.size)
        self._check_rows()

    @property
    def scale(self) -> Floats:
        """The vector z (read-only)."""
        if self._scale.ndim:
            return self._scale
        self._check_row("the scale", self.graph.size)
        return np.broadcast_to(self._scale, self.graph.size)

    @property
    def constant_scale(self) -> float | None:
        """The one number z when the channel was made with one, otherwise ``None``."""
        return None if self._scale.ndim else float(self._scale)

    def _powers(self, i: int) -> Floats:
        distances = self.graph.distances_from(i)
        if self.graph.has_lengths:
            return alpha_powers(self.epsilon, distances)
        # Few different distances: take each power once.
        lengths = np.arange(int(distances.max()) + 1)
        powers = alpha_powers(self.epsilon, lengths)
        return powers.take(distances)

    def _row(self, i: int) -> Floats:
        # α^{d(i,o)} z_o
        return self._powers(i) * self._scale

    def _column(self, o: int) -> Floats:
        return self._powers(o) * self._z(o)

    def _entry(self, i: int, o: int) -> float:
        distance = self.graph.distance(i, o)
        power = float(alpha_powers(self.epsilon, distance))
        return power * self._z(o)

    def _z(self, o: int) -> float:
        if not self._scale.ndim:
            return float(self._scale)
        return float(self._scale[o])

    def column_maxima(self) -> Floats:
        """Return the largest entry of each column, which is z."""
        return self.scale

    def column_maxima_sum(self) -> float:
        """Return the sum of z."""
        if self._scale.ndim:
            return math.fsum(self._scale)
        return self.graph.size * float(self._scale)

    def _check_rows(self, all_up_to: int = 1_000, some: int = 16) -> None:
        n = self.graph.size
        z = self.constant_scale
        if z is not None and n > all_up_to:
            # Equal balls make all rows alike: z Σ_d n_d α^d = 1, by logarithms.
            sizes = self.graph.constant_ball_sizes
            if sizes is not None:
                log_sum = math.log(z) + log_alpha_sum(self.epsilon, sizes)
                self._check_sum(0, math.exp(log_sum))
                return
        count = n if n <= all_up_to else some
        try:
            places = np.linspace(0, n - 1, count).round()
            for i in np.unique(places.astype(np.int64)):
                row_sum = self._powers(int(i)) @ self.scale
                self._check_sum(int(i), float(row_sum))
        except TooLarge:
            raise TooLarge(
                f"the row sums of a scaled Φ on {self.graph.name} cannot be checked: a row would "
                f"hold {n} numbers, and its balls do not all have one size"
            ) from None

    def _check_sum(self, i: int, total: float) -> None:
        if not abs(total - 1) <= ROW_SUM_TOLERANCE:
            raise InputError(
                f"every row of Φ·diag(z) must sum to 1, but row {i} sums to {total:.12g}"
            )

    def __repr__(self) -> str:
        return f"<ScaledPhi {self.graph.name}, ε = {self.epsilon}>"


def _check_scale(scale: ArrayLike, size: int) -> Floats:
    must = f"the scale z must be one number, or one for each of the {size} answers"
    shape = () if np.isscalar(scale) else (size,)
    values = finite_array(scale, must, shape, "the scale z", "non-negative")
    if values.ndim == 0 and values == 0:
        raise InputError("the scale z must be positive when it is one number, got 0")
    return frozen(values)


class ClampedChannel(RuleChannel):
    """A channel for a part of a line of answers; the others count as the nearest of them.

    Clamping moves no two answers further apart, so the channel is as private as the inner one.

    Parameters
    ----------
    inner
        The channel of the answers start, start + 1, …
    size
        The number of all answers.
    start
        The first answer of the part.
    label
        From an index to its answer; the index itself by default.

    Examples
    --------
    >>> narrow = ClampedChannel(GeometricChannel(3, "ln(2)"), 100, 50)
    >>> narrow.row(7).tolist() == narrow.row(50).tolist(), narrow.column(2)[[50, 51, 99]].round(4)
    (True, array([0.1667, 0.3333, 0.6667]))
    """

    def __init__(
        self,
        inner: Channel,
        size: int,
        start: int,
        label: Callable[[int], Hashable] | None = None,
    ) -> None:
        self.inner = inner
        self.start = start
        self.shape = (size, inner.shape[1])
        self._inputs = label or int
        self._outputs = inner.output_label

    def _row(self, i: int) -> Floats:
        # Clamp the answer to the part that has rows.
        last = self.inner.shape[0] - 1
        return self.inner.row(min(max(i - self.start, 0), last))

    def _column(self, o: int) -> Floats:
        # Answers outside the part have the row of the nearest answer in it.
        behind = self.shape[0] - self.start - self.inner.shape[0]
        margins = (self.start, behind)
        return np.pad(self.inner.column(o), margins, mode="edge")

    def __repr__(self) -> str:
        last = self.start + self.inner.shape[0] - 1
        return f"<ClampedChannel {self.shape[0]} answers, those of {self.start} … {last} alone>"


class KroneckerChannel(RuleChannel):
    r"""The product :math:`X_1 \otimes \dots \otimes X_u`: independent coordinates.

    .. math:: X[(i_1,\dots,i_u),(o_1,\dots,o_u)] = \prod_k X_k[i_k,o_k].

    Inputs and outputs are numbered in row-major order, the last coordinate fastest, as the
    nodes of :class:`~tightrope.graphs.CartesianProduct`. The exponential mechanism on a
    Hamming graph is the product of one response for each person [B, Prop 16].

    Parameters
    ----------
    factors
        The channels; one object may occur many times and is then computed with once.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> answer = Channel([[0.8, 0.2], [0.2, 0.8]])
    >>> two = KroneckerChannel([answer, answer])
    >>> two.row(1).round(2).tolist(), two.input_label(1)
    ([0.16, 0.64, 0.04, 0.16], (0, 1))
    >>> crowd = KroneckerChannel([answer] * 60)
    >>> crowd.shape[0] == 2**60, round(crowd.entry(0, 0) / 0.8**60, 9)
    (True, 1.0)
    """

    def __init__(self, factors: Sequence[Channel]) -> None:
        self.factors = tuple(factors)
        if not self.factors:
            raise InputError("a product needs at least one channel, got none")
        for k, factor in enumerate(self.factors):
            if not isinstance(factor, Channel):
                raise InputError(
                    f"factor {k} must be a channel, got {type(factor).__name__}"
                )
        #: How many inputs, and how many outputs, the factors have.
        shapes = (factor.shape for factor in self.factors)
        self.sides = tuple(zip(*shapes, strict=True))
        rows, columns = map(math.prod, self.sides)
        self.shape = (rows, columns)

    def _of_each(
        self, method: Callable[..., Any], side: int, place: int
    ) -> Iterator[Any]:
        """Call a method of every factor with its part of a place, once where both are the same."""
        return map(
            functools.cache(method), self.factors, digits_of(place, self.sides[side])
        )

    def _row(self, i: int) -> Floats:
        return outer(self._of_each(Channel.row, 0, i))

    def _column(self, o: int) -> Floats:
        return outer(self._of_each(Channel.column, 1, o))

    def _entry(self, i: int, o: int) -> float:
        inputs = digits_of(i, self.sides[0])
        outputs = digits_of(o, self.sides[1])
        return math.prod(map(Channel.entry, self.factors, inputs, outputs))

    def _inputs(self, i: int) -> Hashable:
        return tuple(self._of_each(Channel.input_label, 0, i))

    def _outputs(self, o: int) -> Hashable:
        return tuple(self._of_each(Channel.output_label, 1, o))

    def column_maxima(self) -> Floats:
        """Return the outer product of the factors' column maxima."""
        self._check_row("the column maxima", self.shape[1])
        return outer(map(functools.cache(lambda f: f.column_maxima()), self.factors))

    def column_maxima_sum(self) -> float:
        """Return the product of the factors' sums of column maxima."""
        sums = map(functools.cache(lambda f: f.column_maxima_sum()), self.factors)
        return float(math.prod(sums))

    def __repr__(self) -> str:
        shapes = [f"{factor.shape[0]}×{factor.shape[1]}" for factor in self.factors]
        count = len(shapes)
        if count > 4:
            shapes[2:-1] = ["…"]
        return f"<KroneckerChannel of {count}: {' ⊗ '.join(shapes)}>"


def outer(rows: Iterable[Floats]) -> Floats:
    """Return the Kronecker product of vectors."""
    return functools.reduce(
        lambda left, right: np.multiply.outer(left, right).ravel(), rows
    )


class UnboundedNoise(RuleChannel):
    r"""The answer plus noise :math:`p(z) \propto \alpha^{t(z)}` on the graph's lattice.

    Parameters
    ----------
    graph
        An answer graph with a lattice (:attr:`~tightrope.graphs.AnswerGraph.unbounded`).
    epsilon
        The privacy level.
    core
        On a line: layer 0 is -core … core, so that noise is a staircase.

    Examples
    --------
    >>> from tightrope.graphs import Histograms
    >>> noise = UnboundedNoise(Histograms(6000, 8), 1)
    >>> round(noise.expected("distance"), 6), round(noise.within(10), 4)
    (6.650257, 0.9988)
    """

    def __init__(self, graph: AnswerGraph, epsilon: Level, core: int = 0) -> None:
        lattice = graph.unbounded
        if lattice is None:
            raise InputError(
                f"{graph.name} is not part of a translation-invariant lattice"
            )
        if core and not (lattice.form == "line" and 0 <= core < lattice.width):
            raise InputError(f"a core must be below the width of a line, got {core}")
        self.graph = graph
        self.lattice = replace(lattice, core=core)
        self.core = core
        self.epsilon = Epsilon.of(epsilon)
        self.shape = (graph.size, graph.size)
        self._inputs = self._outputs = graph.label

    @functools.cached_property
    def layers(self) -> Floats:
        """The probabilities of the layers, up to where they are negligible."""
        step = float(self.epsilon)
        count = 32
        lattice = self.lattice
        # Twice as many layers, until the last one is negligible.
        while True:
            if count * lattice.parts > 50_000_000:
                raise TooLarge(
                    f"noise on {self.graph.name} at ε = {self.epsilon} has more layers"
                )
            sizes = lattice.layers(count)
            # ln(n_t α^t) for layers of n_t points; the rest is below e^−60 of the largest.
            logs_of_layers = [math.log(n) - step * t for t, n in enumerate(sizes)]
            logs = np.array(logs_of_layers)
            if logs[-1] < logs.max() - 60:
                break
            count *= 2
        # Less the largest logarithm, so that nothing overflows.
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def expected(self, loss: str) -> float:
        """Return the mean of a loss with a name on the whole lattice."""
        return self._mean(loss, self.lattice.loss_sums(loss, len(self.layers)))

    def worst(self, loss: str) -> float:
        """Return a bound of the worst expected loss over the answers, held between the ends.

        >>> from tightrope.graphs.lines import CappedPathPower
        >>> noise = UnboundedNoise(CappedPathPower(10001, 5), 2)
        >>> round(noise.expected("distance"), 5), round(noise.worst("distance"), 5)
        (0.70566, 1.12127)
        """
        sums = self.lattice.worst_sums(loss, len(self.layers))
        return max(self._mean(loss, each) for each in sums)

    def _mean(self, loss: str, sums: Sequence[int]) -> float:
        """Return the mean of a loss by its sums over the layers."""
        sizes = self.lattice.layers(len(self.layers))
        pairs = zip(sums, sizes, strict=True)
        means = np.array([x / n for x, n in pairs])
        unit = float(self.lattice.units(loss))
        return float(self.layers @ means) * unit

    def coordinate(self, a: int) -> float:
        """Return the probability that one coordinate of the noise is a."""
        a = abs(a)
        # Noise is symmetric: a and -a share what the interval gains.
        if not a:
            return self.within(0)
        return (self.within(a) - self.within(a - 1)) / 2

    def within(self, a: int) -> float:
        """Return the probability that one coordinate of the noise is at most a from 0.

        >>> from tightrope.graphs import Histograms, PathPower
        >>> [round(UnboundedNoise(Histograms(99, 2), 1).within(a), 4) for a in (0, 1)]
        [0.4621, 0.8021]
        >>> round(UnboundedNoise(PathPower(10**9, 10**6), 1).within(3 * 10**6), 4)
        0.9502
        """
        if self.lattice.form == "line":
            if a < self.core:
                # All places of one layer are equally likely.
                return float(self.layers[0]) * (2 * a + 1) / (2 * self.core + 1)
            # Full layers, and the share of the next one that is within reach.
            full_layers, partial_layer = divmod(a - self.core, self.lattice.width)
            next_layer = (
                self.layers[full_layers + 1]
                if full_layers + 1 < len(self.layers)
                else 0.0
            )
            within_next = float(next_layer) * partial_layer / self.lattice.width
            within_full = float(self.layers[: full_layers + 1].sum())
            return within_full + within_next
        if self.lattice.form in ("cube", "range"):
            sizes = self.lattice.layers(len(self.layers))
            shares = [self.lattice.within(t, a) / n for t, n in enumerate(sizes)]
            return float(self.layers @ np.array(shares))
        return float(self._coordinate[: a + 1].sum())

    @functools.cached_property
    def _coordinate(self) -> Floats:
        r"""The probabilities that one coordinate is 0, ±1, ±2, ….

        Where distances are sums of |z|, coordinates are independent and two-sided geometric,
        conditioned on their sum being 0 if people only change.
        """
        lattice = self.lattice
        # α^{|z|}, or α^{|z|/2} where a move changes two coordinates.
        a = np.arange(len(self.layers))
        geometric = np.exp(
            -float(self.epsilon) / (1 if lattice.form == "cross" else 2) * a
        )
        # z and -z share an entry, but 0 stands alone.
        law = np.where(a > 0, 2, 1) * geometric
        if lattice.form == "roots":
            # P(z₁ = a | Σ z = 0) ∝ P(z₁ = a)·P(the others sum to -a)
            law = (
                law
                * _sum_of_many(
                    geometric / (2 * geometric.sum() - 1), lattice.parts - 1
                )[: len(a)]
            )
        return np.asarray(law / law.sum())

    def row(self, i: int) -> Floats:
        """Refuse: noise is clamped to the answers, so rows have no closed form."""
        raise TooLarge(
            "noise without ends is known by its layers and not by rows: ask for expected(loss) or "
            "within(a)"
        )

    def column(self, o: int) -> Floats:
        """Refuse: see :meth:`row`."""
        return self.row(o)

    _row = row
    _column = column


def _sum_of_many(law: Floats, count: int) -> Floats:
    """Return the law of a sum of independent symmetric numbers, at 0, 1, 2, …."""
    # Eight times the support: what wraps around the circle is negligible.
    bits = (2 * len(law) - 1).bit_length()
    size = 1 << bits + 3
    circle = np.zeros(size)
    circle[: len(law)] = law
    circle[-len(law) + 1 :] = law[:0:-1]
    # The transform of a sum of independent numbers is the power of the transform.
    transform = np.fft.rfft(circle) ** count
    total_law = np.fft.irfft(transform, size)
    # Round-off of the transform may leave tiny negative numbers.
    return np.maximum(total_law[: size // 2], 0.0)
