r"""Lattices: how many points lie at each distance, and what they lose, exactly.

Far from the ends a question looks the same everywhere: answers are points of a lattice, and
neighbours differ by a fixed set of steps.

============  ===========================  ================================================
form          steps                        distance of z from 0
============  ===========================  ================================================
``line``      ±1 … ±v                      :math:`\lceil |z| / v \rceil`
``cube``      any coordinates by ±1        :math:`\max |z_i|`
``range``     any coordinates by 1, or -1  :math:`\max z_i^+ + \max z_i^-`
``cross``     one coordinate by ±1         :math:`\sum |z_i|`
``roots``     one up, another one down     :math:`\frac12 \sum |z_i|`, where :math:`\sum z_i = 0`
============  ===========================  ================================================

Sums are lines, counts cubes, and under add-remove ranges; histograms are roots, under add-remove
crosses. On a line there is a bound for every private mechanism, in closed form: :class:`LineFlow`.
The judge and the solvers share this file; it needs Python alone.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil, comb


@dataclass(frozen=True)
class Lattice:
    r"""A lattice with the part of it that the answers of a question are.

    Attributes
    ----------
    form, parts
        ``line``, ``cube``, ``range``, ``cross`` or ``roots``, and the number of coordinates.
    people
        The largest coordinate of an answer. The coordinates of roots have this sum, those of a
        cross at most this one.
    width, core
        The largest step on a line. With a core r the first layer is -r … r, and every other has v
        points more on either side.
    hidden
        Whether answers do not show their last coordinate (people who are absent).
    step
        What neighbouring numbers of a line are apart.
    ends
        Whether edges are missing at the largest answers: nobody can join all people.

    Examples
    --------
    >>> Lattice("cube", 2, 9).layers(3), Lattice("roots", 3, 9).layers(3)
    ([1, 8, 16], [1, 6, 12])
    """

    form: str
    parts: int
    people: int
    width: int = 1
    hidden: bool = False
    step: int | Fraction = 1
    ends: bool = False
    core: int = 0

    @property
    def nodes(self) -> int:
        """The number of answers."""
        if self.form == "roots":
            return comb(self.people + self.parts - 1, self.parts - 1)
        if self.form == "cross":
            return comb(self.people + self.parts, self.parts)
        return int((self.people + 1) ** self.parts)

    @property
    def inner(self) -> int:
        """Answers up to this one are as far apart as in the lattice.

        Of roots and a cross, all points so near to the answer in the middle are answers.
        """
        if self.form in ("cross", "roots"):
            return self.people // self.parts
        return self.people - (self.width if self.ends else 0)

    # -- layers ---------------------------------------------------------------------------

    def ball(self, t: int) -> int:
        """Return how many points lie up to distance t."""
        k = self.parts
        if t < 0:
            return 0
        if self.form == "range":
            return int((t + 1) ** (k + 1) - t ** (k + 1))
        if self.form in ("cross", "roots"):
            top, m = self.series()
            return sum(c * comb(t - j + m, m) for j, c in enumerate(top[: t + 1]))
        return int((2 * (self.core + t * self.width) + 1) ** k)

    def series(self) -> tuple[list[int], int]:
        """Return P and m: the sizes of the layers are the coefficients of P(x)/(1-x)^m."""
        k = self.parts
        if self.form == "cross":
            return [comb(k, j) for j in range(k + 1)], k
        if self.form == "roots":
            return [comb(k - 1, j) ** 2 for j in range(k)], k - 1
        return numerator([self.ball(t) for t in range(k + 1)]), k

    def layer(self, t: int) -> int:
        """Return how many points lie at distance t, for one t."""
        if self.form not in ("cross", "roots"):
            return self.ball(t) - self.ball(t - 1)
        top, m = self.series()
        return sum(c * comb(t - j + m - 1, m - 1) for j, c in enumerate(top[: t + 1]))

    def layers(self, count: int) -> list[int]:
        """Return how many points lie at distance 0, 1, …, up to a count."""
        return power_series(*self.series(), count)

    # -- losses ---------------------------------------------------------------------------

    def units(self, loss: str) -> Fraction:
        """Return what a loss by steps counts in units of the answers."""
        return Fraction(self.step) ** {"absolute": 1, "squared": 2}.get(loss, 0)

    def loss_sums(self, loss: str, count: int) -> list[int]:
        """Return the sums of a loss over the layers, in units of the step (or its square).

        >>> Lattice("roots", 3, 9).loss_sums("squared", 4)
        [0, 12, 84, 276]
        """
        k = self.parts
        shown = k - self.hidden
        sizes = self.layers(count)
        if loss == "binary":
            return [sizes[0] - 1, *sizes[1:]]
        if loss == "distance" and self.form != "line":
            return [t * n for t, n in enumerate(sizes)]
        if self.form in ("line", "cube", "range"):
            balls = [0, *(self.ball_loss(loss, t) for t in range(count))]
            return [b - a for a, b in pairwise(balls)]
        if loss == "absolute":
            # Σ|z_i| is t on a cross and 2t on roots; by symmetry each coordinate has 1/k of it.
            moved = 1 if self.form == "cross" else 2
            return [shown * (moved * t * n // k) for t, n in enumerate(sizes)]
        if self.form == "cross":  # the coefficients of 2kx(1+x)^k / (1-x)^(k+2)
            top = [0, *(2 * k * comb(k, j) for j in range(k + 1))]
            return power_series(top, k + 2, count)
        return [shown * total for total in _square_sums(k, count)]

    def ball_loss(self, loss: str, t: int) -> int:
        """Return the sum of a loss over all points of a line, cube or range up to distance t."""
        k = self.parts
        r = self.core + t * self.width
        if loss == "binary":
            return self.ball(t) - 1
        if self.form == "range":
            # Points are tuples of k+1 numbers from 0 … t, one of them 0, less the first of them.
            # Over all tuples from 0 … m-1, Σ|z_i| is k·m^k·(m²-1)/3 and Σz_i² k·m^(k+1)·(m²-1)/6.
            sums = []
            for m in (t, t + 1):
                times = 2 if loss == "absolute" else m
                sums.append(k * m**k * (m * m - 1) * times // 6)
            return int(sums[1] - sums[0])
        if loss == "distance":  # ⌈|z| / v⌉ on a line
            whole, rest = divmod(r, self.width)
            return (self.width * whole + 2 * rest) * (whole + 1)
        # Σ|z| = r(r+1) and Σz² = r(r+1)(2r+1)/3 over -r … r, for each of k coordinates
        side = r * (r + 1)
        if loss != "absolute":
            side = side * (2 * r + 1) // 3
        return int(k * (2 * r + 1) ** (k - 1) * side)

    def worst_sums(self, loss: str, count: int) -> list[list[int]]:
        r"""Return sums over the layers of which the worst expected loss is the largest.

        Held between the ends, a point is no further in the lattice from any answer, so the loss of
        an answer is at most the first list. Without ends, and for a loss of the labels alone, that
        is all. But the *distance* in a graph with ends is longer than in the lattice where nobody
        can join either answer: one person has to leave, and one has to come.

        *Line.* Two answers above ``inner`` are 2 apart. From the answer inner + s, 1 <= s <= v,
        noise downwards by less than s leads to such an answer, and so does all noise upwards,
        which is held at inner + v; if s = v it stays there. Noise downwards by s or more costs
        what it costs in the lattice. The loss grows with s up to v - 1, so there are two answers
        more to look at.

        *Range.* Let x have all people in m coordinates, the set I, and let y have all people in one
        of them. They are ``max(1, a) + max(1, b)`` apart, where a and b are how far y is below x
        and above it. Noise z_i > 0 is held at the end for i in I. So the distance exceeds that of z
        in the lattice, by 1, only if z >= 0 and its maximum is attained outside I, or z <= 0 and
        z_i = 0 for some i in I. There is a list for each m.

        >>> Lattice("range", 2, 10, ends=True).worst_sums("distance", 3)
        [[0, 9, 28], [0, 8, 26]]
        """
        sums = self.loss_sums(loss, count)
        if loss != "distance" or not self.ends:
            return [sums]
        sizes = self.layers(count)
        if self.form == "line":
            v = self.width
            if v == 1:
                return [sums]
            # Half of the noise goes downwards; at s = v - 1 all noise upwards costs 2.
            last = [total // 2 for total in sums]
            inside = [half + n // 2 * 2 for half, n in zip(last, sizes, strict=True)]
            # Less than s downwards costs 1 more. Points 1 … m, m < v, lie in the core and in the
            # layer after it.
            for totals, m in ((inside, v - 2), (last, v - 1)):
                near = (min(m, self.core), max(0, m - self.core))
                for t, points in enumerate(near[:count]):
                    totals[t] += points
            return [sums, inside, last]
        k = self.parts
        lists = []
        for m in range(1, k + 1):
            longer = sums.copy()
            for t in range(1, count):
                # z in [0, t]^k with the maximum t outside I
                upwards = (t + 1) ** k - (t + 1) ** m * t ** (k - m)
                # z in [-t, 0]^k with the minimum -t, less those whose m coordinates are below 0
                downwards = (t + 1) ** k - t**k
                below = t**m * (t + 1) ** (k - m) - (t - 1) ** m * t ** (k - m)
                longer[t] += upwards + downwards - below
            lists.append(longer)
        return lists

    def lines_bound(self, loss: str, alpha: Fraction) -> Fraction:
        r"""Bound the worst loss of every private mechanism by what each number loses alone.

        On a line this is :meth:`LineFlow.ended_bound`. Several numbers are on a line each, with
        steps of one, whatever the others are: all tuples of numbers up to ``inner`` are answers.
        :class:`LineFlow` proves Σ w_i·L_i >= B·Σ w_i with weights w_i >= 0 for the loss L_i of one
        number under the answer i. Under the prior that is the product of these weights each number
        has at least the loss B, and a worst loss is at least an expected one. The losses of
        the numbers add up, or the loss is at least that of one of them: for ``binary``, and for
        ``distance`` but on a cross. Numbers of roots have one sum, so none can change alone.

        >>> half = Fraction(1, 2)
        >>> Lattice("cross", 2, 300).lines_bound("distance", half) / 2
        Fraction(200, 153)
        >>> Lattice("roots", 3, 300).lines_bound("distance", half)
        Fraction(0, 1)
        """
        if self.form == "roots":
            return Fraction(0)
        one = loss == "binary" or (loss == "distance" and self.form != "cross")
        flow = LineFlow(self.width, loss, alpha)
        return (1 if one else self.parts) * flow.ended_bound(self.inner)

    # -- a part of the lattice around the answers -----------------------------------------

    def around(self, reach: int) -> int:
        """Return how many points a box (for roots a simplex) has that holds all within reach."""
        if self.form == "roots":
            return comb(self.people + self.parts * (reach + 1) - 1, self.parts - 1)
        wide = self.core + reach * self.width
        return int((self.people + 1 + 2 * wide) ** self.parts)

    def largest(self, loss: str, reach: int) -> int:
        """Bound the loss between an answer and a point around the answers."""
        if loss == "binary":
            return 1
        far = self.people + self.core + reach * self.width
        if self.form == "roots":
            far = self.people + self.parts * reach
        most = 2 * self.parts * far
        return most**2 if loss == "squared" else most


@dataclass(frozen=True)
class LineFlow:
    r"""A flow towards a guess on a line, and the bound that it proves for private mechanisms.

    Let x be a private column: x_(t+v) >= α·x_t and x_t >= α·x_(t+v). Let φ(t) be the loss at
    distance t from a guess, and let G(t) = φ(t) - P + α·G(t+v) for t >= 1, which is a polynomial
    in t (in ⌈t/v⌉ for the losses ``binary`` and ``distance``). Where G is positive the answer v
    nearer to the guess receives G(t), for α times which it pays. Answers up to the distance c,
    the last one with G <= 0, have a deficit left. Each of them is near each of those from c+1 to v,
    which pay the deficits, and that of the guess, in proportion. With the largest P for which
    that is enough,

    .. math:: P - 2 \sum_{t \le c} G(t) = 2 α \sum_{c < t \le v} G(t),

    Σ x_t·(φ(t) - P) >= 0 on the line without ends: no noise loses less than P. Between the ends
    0 … n only the last v answers at either end pay somebody who is not there. If α·G(t+v) is at
    most α·(C + K·φ(t)), that costs at most α·(C + K·φ) times their probability. Summed over the
    outputs of a mechanism whose worst loss is V:

    .. math:: (n+1) P - 2 v α C \le ((n+1) + 2 v α K) \, V.

    ``proofs/Lines.v`` has the same proof for Coq.

    Attributes
    ----------
    width
        The largest step v.
    loss
        ``binary``, ``absolute``, ``squared`` or ``distance``.
    alpha
        At most :math:`e^{-ε}`, and above 0.

    Examples
    --------
    >>> flow = LineFlow(1, "absolute", Fraction(1, 2))
    >>> flow.bound, flow.ended_bound(150)
    (Fraction(4, 3), Fraction(200, 153))
    """

    width: int
    loss: str
    alpha: Fraction

    @property
    def _stride(self) -> int:
        """Return what the variable of G grows by from one layer to the next."""
        return 1 if self.loss in ("binary", "distance") else self.width

    @cached_property
    def _terms(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the coefficients of G for P = 0, from G(t) - α·G(t+v) = φ(t)."""
        alpha = self.alpha
        rest = 1 - alpha
        w = self._stride
        if self.loss == "binary":
            return 1 / rest, Fraction(0), Fraction(0)
        if self.loss != "squared":
            return alpha * w / rest**2, 1 / rest, Fraction(0)
        linear = 2 * alpha * w / rest**2
        return alpha * (linear * w + w * w / rest) / rest, linear, 1 / rest

    def _free(self, q: int) -> Fraction:
        """Return G for P = 0; a price P takes P/(1 - α) from it."""
        constant, linear, square = self._terms
        return constant + linear * q + square * q * q

    def _sum(self, m: int) -> Fraction:
        """Return the sum of G(1) … G(m) for P = 0 and m <= v."""
        if self.loss in ("binary", "distance"):
            return m * self._free(1)
        constant, linear, square = self._terms
        ends = m * (m + 1)
        return m * constant + linear * ends / 2 + square * ends * (2 * m + 1) / 6

    def _price(self, core: int) -> Fraction:
        """Return the P with which the answers from core + 1 to v pay for those up to the core."""
        alpha = self.alpha
        rest = 1 - alpha
        paid = self._sum(core) + alpha * (self._sum(self.width) - self._sum(core))
        return 2 * rest * paid / (rest + 2 * core + 2 * alpha * (self.width - core))

    @cached_property
    def bound(self) -> Fraction:
        """The largest P: no noise on the whole line has a smaller loss."""
        if self._stride == 1:
            return self._price(0)
        rest = 1 - self.alpha
        # The core is the least behind which G is not negative. P of c + 1 is a mean of P of c
        # and (1 - α)·(G for P = 0) at c + 1, so that G <= 0 in the core, and c is found by halving.
        core = bisect_left(
            range(self.width - 1),
            True,
            key=lambda c: rest * self._free(c + 1) >= self._price(c),
        )
        return self._price(core)

    def ended_bound(self, last: int) -> Fraction:
        """Bound the worst loss of every private mechanism for the answers 0 … last."""
        v = self.width
        alpha = self.alpha
        if v > last + 1:
            return Fraction(0)
        taken = self.bound / (1 - alpha)
        constant = self.bound / (2 * alpha)  # what the guess itself is paid
        if self.loss == "binary":
            # G is the same everywhere.
            rate = self._free(1) - taken - constant
        else:
            _, linear, square = self._terms
            next_layer = self._free(self._stride) - taken
            rate = linear
            if self.loss == "squared":
                # G(t+v) = G(v) + slope·t + square·t², with 2·split·t <= split² + t².
                slope = linear + 2 * square * v
                split = max(1, min(last // 2, v * ceil(1 / (1 - alpha))))
                part = slope / (2 * split)
                next_layer += part * split * split
                rate = square + part
            constant = max(constant, next_layer, (self.bound - 1) / alpha - rate)
        cut = 2 * v * alpha
        paid = (last + 1) * self.bound - cut * constant
        return max(Fraction(0), paid / (last + 1 + cut * rate))


def numerator(values: list[int]) -> list[int]:
    """Return P with ``Σ_t f(t)·x^t = P(x)/(1-x)^n`` by n values of an f of degree less than n.

    >>> numerator([1, 9, 25])
    [1, 6, 1]
    """
    # Multiplying by (1-x) takes differences; n times it cancels the denominator.
    for _ in values:
        values = [b - a for a, b in pairwise([0, *values])]
    return values


def evaluated(top: list[int], x: Fraction) -> Fraction:
    """Return a polynomial at x, by Horner's rule in integers.

    >>> evaluated([1, 6, 1], Fraction(1, 2))
    Fraction(17, 4)
    """
    value = 0
    scale = 1
    for coefficient in reversed(top):
        value = value * x.numerator + coefficient * scale
        scale *= x.denominator
    return Fraction(value * x.denominator, scale)


def power_series(top: list[int], power: int, count: int) -> list[int]:
    """Return the first coefficients of a polynomial over (1-x)^power.

    >>> power_series([1, 1], 2, 4)
    [1, 3, 5, 7]
    """
    coefficients = [*top[:count], *[0] * (count - len(top))]
    for _ in range(power):
        coefficients = list(accumulate(coefficients))
    return coefficients


def _square_sums(k: int, count: int) -> list[int]:
    """Return Σ z_1² over the roots of k coordinates at distance 0, 1, ….

    If z_1 = a, the others have sum t - a upwards and t downwards: the coefficient of x^t·y^t in
    2·x(1+x)/(1-x)³ times ((1-xy)/((1-x)(1-y)))^(k-1). The factor (1-xy)^(k-1) takes k - 1
    differences of ``2·(C(t+k,k+1) + C(t+k-1,k+1))·C(t+k-2,k-2)``.
    """
    values = [0]
    squares = 0  # C(t+k-1, k+1)
    spread = 1  # C(t+k-2, k-2)
    for t in range(1, count):
        before = squares
        squares = squares * (t + k) // (t - 1) if t > 1 else 1
        spread = spread * (t + k - 2) // t
        values.append(2 * (squares + before) * spread)
    for _ in range(k - 1):
        values = [b - a for a, b in pairwise([0, *values])]
    return values[:count]
