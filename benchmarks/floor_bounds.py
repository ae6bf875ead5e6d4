r"""Floors: the least error that any private mechanism can have, each with its proof.

Far from its ends a question is a lattice, and noise of one law is as good there as any mechanism:
average it over all shifts (``certify/theorems/unbounded.py``). So a floor is a bound on the loss of
every law p with :math:`p(z') \ge \alpha p(z)` on neighbours.

*Window.* Let W be a finite set of points and let every point outside lose at least L. If numbers
:math:`y \ge 0` on the edges inside W satisfy, at every point z of W,

.. math:: \ell(z) - \mu \ge \sum_{e \to z} y_e - \alpha \sum_{z \to e} y_e, \qquad \mu \le L,

then every private law loses at least :math:`\mu`: multiply by p(z), add up over W, and use
:math:`\sum_e y_e (p(z') - \alpha p(z)) \ge 0`. A solver of linear programs finds y; the conditions
are checked in fractions, and :math:`\mu` is the largest number for which they hold. Points that
symmetries exchange are one: a law may be averaged over them.

*Sizes.* On the lattice of k counts under ``change-one`` the sets {p > s} have sizes with
:math:`a_{t+1}^{1/k} \ge a_t^{1/k} + 2` (Brunn and Minkowski, for the unit cells around the points),
and a set of a points has at least the squared loss :math:`\lambda(a)` of the a points next to 0.
With :math:`h(a) = \lambda(a) - \mu a`, convex and least at a*, let t be the last index with
:math:`a_t \le a^*`. There is an r >= 1 with :math:`(r + 2s)^k` between :math:`a_s` and a* for all
s, so :math:`\sum \alpha^s h(a_s) \ge \sum \alpha^s h((r+2s)^k)`: such sizes are the worst, and the
least ratio of loss to size over all r is a floor. (Let :math:`(r_t+2t)^k = a_t`. An r between
:math:`r_t` and :math:`r_{t+1}` with :math:`(r+2t)^k \le a^* \le (r+2t+2)^k` exists, as
:math:`a_t \le a^* \le a_{t+1}`.)

*Coarser.* Let the loss be a quadratic form on a lattice with a basis :math:`b_i`. With whole
numbers :math:`u_i` drawn uniformly from 0 … m - 1, round :math:`z = \sum x_i b_i` to
:math:`Z = \sum \lfloor (x_i + u_i) / m \rfloor b_i`. A step w taken m times moves z by mw and Z by
w: the law of Z is private at mε and loses at least L(mε). Each coordinate of Z has the mean
:math:`x_i / m` and, with the rest r of :math:`x_i`, the variance :math:`r(m - r) / m^2`, so that
:math:`L(m\varepsilon) \le E\,\ell(Z) \le E\,\ell(z) / m^2 + \lfloor m^2/4 \rfloor / m^2 \sum
\ell(b_i)`.

*Packing.* Of n people let s have one value j, and half of the others the least, half the largest
value. Whatever is not j is s/2 ranks from the median. Let :math:`x = e^{s\varepsilon}`. Under
``change-one`` two such tables are s steps apart, so for one of the c values at least the chance of
j is at most :math:`x/(c - 1 + x)`; under ``add-remove`` they are s steps from the table without the
s people, and it is at most x/c.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.theorems.unbounded import question_lattice, unbounded_bound
from tightrope.epsilon import Epsilon

Ints = NDArray[np.int64]

#: What a floor in floating point is lowered by, far above its round-off.
SAFE = 1 - 1e-9


def lattice_floor(
    question: str, relation: str, loss: str, epsilon: Fraction
) -> Fraction:
    """Return the judge's floor for a question without ends.

    >>> round(float(lattice_floor("count(100)", "add-remove", "absolute", Fraction(1))), 6)
    0.850918
    """
    lattice = question_lattice(question, relation)
    # A smaller α allows more mechanisms, so its bound is on the safe side.
    gamma = math.floor((1 << 62) / Epsilon.of(epsilon).ratio_above)
    least: Fraction = unbounded_bound(lattice, loss, gamma) * lattice.units(loss)
    return least


@dataclass(frozen=True)
class Window:
    """The points of a lattice up to a distance from 0, those that symmetries exchange as one.

    Attributes
    ----------
    points
        One point of each kind.
    sizes
        How many points are of the kind.
    edges
        Pairs of kinds that are neighbours, in both directions.
    """

    points: Ints
    sizes: Ints
    edges: Ints

    @classmethod
    def of(cls, steps: Ints, symmetries: Ints, reach: int) -> Window:
        """Gather the points layer by layer; a symmetry is a matrix that maps steps to steps."""
        names: dict[tuple[int, ...], int] = {(0,) * steps.shape[1]: 0}
        frontier = np.zeros((1, steps.shape[1]), np.int64)
        edges = set()
        for distance in range(reach + 1):
            around = (frontier[:, None] + steps).reshape(-1, steps.shape[1])
            reached = _representatives(around, symmetries)
            sources = np.repeat(frontier, len(steps), axis=0)
            outer = []
            for source, point in zip(sources.tolist(), reached.tolist(), strict=True):
                key = tuple(point)
                if key not in names and distance < reach:
                    names[key] = len(names)
                    outer.append(point)
                if key in names and key != tuple(source):
                    edges.add((names[tuple(source)], names[key]))
                    edges.add((names[key], names[tuple(source)]))
            frontier = np.array(outer, np.int64).reshape(-1, steps.shape[1])
        points = np.array(list(names), np.int64)
        images = np.moveaxis(points @ symmetries, 0, 1)
        sizes = [len(np.unique(mine, axis=0)) for mine in images]
        return cls(points, np.array(sizes), np.array(sorted(edges)))

    def multipliers(self, losses: Sequence[int], far: int, alpha: float) -> list[float]:
        """Search for the numbers y of the edges by a linear program, in floating point."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        many, nodes = len(self.edges), len(self.points)
        rows = np.concatenate([np.arange(many)] * 2)
        columns = self.edges.T.ravel()
        entries = np.repeat([alpha, -1.0], many)
        tolerances = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
        # The last variable is all that lies outside the window.
        private = coo_array((entries, (rows, columns)), shape=(many, nodes + 1))
        found = linprog(
            np.append(np.array(losses, float) * self.sizes, float(far)),
            A_ub=private.tocsr(),
            b_ub=np.zeros(many),
            A_eq=np.append(self.sizes, 1.0)[None],
            b_eq=[1e6],
            method="highs",
            # A law of mass 10^6, so that the tolerance does not cut off its tail.
            options=dict.fromkeys(tolerances, 1e-10),
        )
        return [max(-float(y), 0.0) for y in found.ineqlin.marginals]

    def floor(
        self,
        losses: Sequence[int],
        far: int,
        multipliers: Sequence[float],
        alpha: Fraction,
    ) -> Fraction:
        """Return the largest μ for which the conditions of the theorem hold, in fractions."""
        balance = [Fraction(0)] * len(self.points)
        for (source, target), y in zip(self.edges.tolist(), multipliers, strict=True):
            if y < 0:
                raise ValueError("a multiplier must not be negative")
            flow = Fraction(y)
            balance[source] += alpha * flow
            balance[target] -= flow
        inside = zip(losses, balance, self.sizes.tolist(), strict=True)
        bounds = [loss + own / size for loss, own, size in inside]
        least: Fraction = min(Fraction(far), *bounds)
        return least


def _representatives(points: Ints, symmetries: Ints) -> Ints:
    """Return of each point the largest one that symmetries exchange it with."""
    best = points
    for symmetry in symmetries:
        image = points @ symmetry
        differ = image != best
        first = np.argmax(differ, axis=1)
        rows = np.arange(len(points))
        larger = differ.any(axis=1) & (image[rows, first] > best[rows, first])
        best = np.where(larger[:, None], image, best)
    return best


def window_floor(
    steps: Ints,
    symmetries: Ints,
    loss: Callable[[Ints], Ints],
    far: Callable[[int], int],
    epsilon: Fraction,
    reach: int,
) -> Fraction:
    """Return the floor of a lattice by a window; beyond a reach points lose at least ``far``.

    >>> ways = np.array([[[1]], [[-1]]])
    >>> line = np.array([[1], [-1]]), ways, lambda z: abs(z[:, 0]), lambda reach: reach + 1
    >>> round(float(window_floor(*line, Fraction(1), 30)), 6)
    0.850918
    """
    window = Window.of(steps, symmetries, reach)
    losses: list[int] = loss(window.points).tolist()
    alpha = 1 / Epsilon.of(epsilon).ratio_above
    found = window.multipliers(losses, far(reach), float(alpha))
    return window.floor(losses, far(reach), found, alpha)


def coming_and_going(k: int) -> tuple[Ints, Ints]:
    """Return the steps of k counts under add-remove, and their symmetries."""
    up = np.array([z for z in itertools.product((0, 1), repeat=k) if any(z)])
    places = itertools.permutations(range(k))
    orders = np.array([np.eye(k, dtype=np.int64)[list(place)] for place in places])
    return np.concatenate([up, -up]), np.concatenate([orders, -orders])


def counts_window_floor(k: int, epsilon: Fraction, reach: int) -> Fraction:
    """Return the floor for the squared error of k counts under add-remove, all of them together.

    At distance t the largest number above 0 and the largest below it are t together: the sum of
    squares is at least t²/2.
    """
    steps, symmetries = coming_and_going(k)
    return window_floor(
        steps, symmetries, _squares, lambda t: (t + 1) ** 2 // 2, epsilon, reach
    )


def coarser_floor(
    floor: Callable[[Fraction], Fraction],
    basis_loss: Fraction,
    epsilon: Fraction,
    times: int,
) -> Fraction:
    """Return the floor at ε that follows from a floor at a multiple of ε.

    The loss is a quadratic form, and the vectors of a basis lose so much together.

    >>> line = lambda level: lattice_floor("count(9)", "change-one", "squared", level)
    >>> own = coarser_floor(line, Fraction(1), Fraction(1, 10), 10)
    >>> round(float(own), 2), round(float(line(Fraction(1, 10))), 2)
    (159.13, 199.83)
    """
    return times**2 * floor(times * epsilon) - times**2 // 4 * basis_loss


def _squares(points: Ints) -> Ints:
    return np.asarray((points**2).sum(axis=1))


#: Which cells of a table of two columns with two classes each, in the order 00, 01, 10, 11.
_CELLS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def margins_window_floor(epsilon: Fraction, reach: int) -> Fraction:
    r"""Return the floor for a 2 × 2 table and its margins under change-one, mean squared.

    With the errors z of the cells, the mean over the three tables of the mean square of their
    cells is a quadratic form. It is at least that of the table itself, a third of the mean of
    :math:`z^2`, and :math:`\sum |z| = 2t` at distance t: :math:`\sum z^2 \ge t^2`.
    """
    moves = [(i, k) for i, k in itertools.product(range(4), repeat=2) if i != k]
    unit = np.eye(4, dtype=np.int64)
    steps = np.array([unit[i] - unit[k] for i, k in moves])
    # Exchange the classes of a column, or the columns; and change all signs.
    maps = [(a, b, swapped) for a, b, swapped in itertools.product((0, 1), repeat=3)]
    symmetries = []
    for a, b, swapped in maps:
        cells = (_CELLS ^ [a, b])[:, :: -1 if swapped else 1]
        order = unit[cells[:, 0] * 2 + cells[:, 1]]
        symmetries += [order, -order]

    def loss(points: Ints) -> Ints:
        # In units of 1/12: 2·(margin of two cells) twice, and the four cells once.
        table = points.reshape(-1, 2, 2)
        rows, columns = table.sum(axis=2), table.sum(axis=1)
        return 2 * _squares(rows) + 2 * _squares(columns) + _squares(points)

    both = np.array(symmetries)
    whole = window_floor(steps, both, loss, lambda t: (t + 1) ** 2, epsilon, reach)
    return whole / 12


def cube_floor(k: int, epsilon: float, parts: int = 64) -> float:
    """Return the floor for the squared error of k counts under change-one, by sizes of sets.

    >>> [round(x, 3) for x in (cube_floor(1, 1.0), 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2)]
    [1.828, 1.841]
    """
    alpha = math.exp(-epsilon)
    # Beyond this many steps the terms are below 1e-16 of the sum.
    steps = np.arange(math.ceil((40 + 4 * k * math.log(2 + k / epsilon)) / epsilon))
    weights = alpha**steps
    sums, losses = _nearest_points(k, float(steps[-1] * 2 + 3))
    best = math.inf
    start = parts
    while True:
        end = start + max(1, start // parts)
        low, high = ((edge / parts + 2 * steps) ** k for edge in (start, end))
        place = np.searchsorted(sums, low)
        assert place[-1] < len(sums), "the shells reach beyond the sizes"
        norms = np.arange(len(sums))
        # The last shell is cut off at the wanted size.
        far = losses[place] - norms[place] * (sums[place] - low)
        # The smallest set loses at least `best` a point, and larger ones more: done.
        if far[0] >= best * low[0]:
            return best * SAFE
        best = min(best, float(weights @ far / (weights @ high)))
        start = end


def _nearest_points(k: int, side: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many points have at most a squared norm, and their squared norms together."""
    # A ball of the volume of the largest set, and as much again for larger first sets.
    ball = math.pi ** (k / 2) / math.gamma(k / 2 + 1)
    longest = math.ceil((2 * side / ball ** (1 / k)) ** 2) + 4 * k
    shells = np.zeros(longest + 1)
    shells[0] = 1
    for _ in range(k):
        more = shells.copy()
        for z in range(1, math.isqrt(longest) + 1):
            more[z * z :] += 2 * shells[: longest + 1 - z * z]
        shells = more
    return np.cumsum(shells), np.cumsum(shells * np.arange(longest + 1))


def median_floor(values: int, relation: str, epsilon: float) -> float:
    """Return the floor for the mean rank error of a median, in people.

    >>> round(median_floor(2, "change-one", 1.0), 3)
    0.134
    """
    best = 0.0
    for people in itertools.count(1):
        x = math.exp(min(people * epsilon, 700.0))
        change = relation == "change-one"
        right = x / (values - 1 + x) if change else x / values
        best = max(best, people / 2 * (1 - right))
        if right >= 1 or people * epsilon > 700:
            return best * SAFE
    raise AssertionError("chances grow with the number of people")


def shown_floor(epsilon: float, delta: float) -> int:
    """Return the least count that some private mechanism shows at least as likely as not.

    Nobody is never shown, so the chance of a count i is at most F(i) of
    ``certify/theorems/shown.py``, for whichever ε and δ one step has.

    >>> shown_floor(1.0, 1e-6)
    14
    """
    chance = 0.0
    ratio = math.exp(epsilon)
    for count in itertools.count(1):
        upward = ratio * chance + delta
        chance = min(upward, 1 - (1 - chance - delta) / ratio, 1.0)
        if chance >= 0.5:
            return count
    raise AssertionError("the chances grow with the count")
