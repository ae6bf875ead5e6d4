r"""All columns at once, by an interior-point method that knows the shape of the program.

The program has one block for each guess, and few rows that join them:

.. math:: \min \sum_k c_k \cdot x^k \quad\text{with}\quad \sum_k x^k = 1,\; z^k = G x^k \ge 0,

where G has a row :math:`x_j - \alpha^{|ij|} x_i` for each direction of each edge. With the
multipliers :math:`y^k \ge 0` of these rows a Newton step needs, for each guess, to solve with

.. math:: H_k = G^T \operatorname{diag}(y^k / z^k)\, G,

a matrix with the pattern of the graph, and one dense system, with :math:`\sum_k H_k^{-1}`, for
the prices. The nodes are ordered to make the band of :math:`H_k` narrow [Cuthill and McKee, 1969].
The steps are those of [S. Mehrotra, "On the implementation of a primal-dual interior point
method", 1992] with the centrality correctors of [J. Gondzio, 1996].

Where privacy is strong the cheapest rays say little and the faces of column generation grow wide;
here the work does not depend on how wide they are. Near the optimum the slacks show which edges
are tight, and so small faces: the simplex method finds the last digits there.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disallow-untyped-decorators=False
from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tightrope.optimize.faces import TIGHT_TOLERANCE, Face
from tightrope.optimize.pricing import arcs, processors
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Stopped, Watch

#: Part of its diagonal that is added to a matrix before it is factored, against round-off.
REGULAR = 1e-13
#: Part of the way to the boundary that a step goes.
STEP = 0.95
#: Most centrality correctors of a step; products within these parts of the mean are left alone.
CORRECTORS = 3
CENTRAL = 0.1, 10.0
#: Most steps; the method mostly takes thirty.
MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class Interior:
    """A point near the optimum: the columns of some guesses, and prices.

    Parameters
    ----------
    guesses, columns
        The guesses, and their columns as rows; all are strictly private.
    prices
        The prices of the answers; they prove nothing yet.
    """

    guesses: Ints
    columns: Floats
    prices: Floats


def interior_points(
    problem: Problem, guesses: Ints, gap: float, watch: Watch | None = None
) -> Iterator[Interior]:
    """Yield a point with this relative gap between loss and prices, then with a tenth of it.

    So it goes on; the last one is as near as doubles allow.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> found = next(interior_points(problem, problem.guesses, 1e-6))
    >>> found.columns[0].round(4).tolist(), found.prices.sum().round(4)
    ([0.5, 0.25, 0.25], np.float64(0.5))
    """
    from scipy.linalg import LinAlgError

    with ThreadPoolExecutor(processors()) as pool:
        path = _Path.of(problem, guesses, pool)
        for _ in range(MOST_STEPS):
            best = path.point()
            if path.gap < gap:
                yield best
                gap /= 10
            if watch is not None and watch.still_at_it():
                raise Stopped
            try:
                with np.errstate(all="ignore"):
                    path.advance()
            except (LinAlgError, ValueError):
                break
            if not np.isfinite(path.gap):
                break
        yield best


def interior_effort(problem: Problem, guesses: Ints) -> float:
    """Return about how many seconds of one processor the method takes.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(200, 5), Epsilon.of(1), np.ones((200, 200)))
    >>> 1 < interior_effort(problem, problem.guesses) < 10
    True
    """
    n, ends = problem.size, 2 * len(problem.edges)
    return 35 * len(guesses) * (2.2e-10 * n * n * _ordered(problem)[2] + 1e-7 * ends)


def faces_of(
    problem: Problem, found: Interior, sharp: float, small: float, share: float
) -> dict[int, Face]:
    """Return the faces that the columns lie near: edges with a small slack are tight.

    Parameters
    ----------
    problem, found
        The problem and its columns.
    sharp
        Slacks below this part of the largest possible one count as none.
    small
        Probabilities below this get no number of their own: what the slacks there are costs
        next to nothing, so they say nothing.
    share
        The lightest columns, which together have this part of all probability, are left out.
    """
    weight = found.columns.sum(axis=1)
    lightest = np.argsort(weight)
    gone = np.cumsum(weight[lightest]) <= share * weight.sum()
    kept = np.sort(lightest[~gone])
    columns = found.columns[kept]
    _, net = arcs(problem.size, problem.edges, problem.lengths, problem.alpha)
    heights, parts = np.zeros(columns.shape), np.empty(columns.shape, np.int64)
    _joined(net, columns, sharp, small, heights, parts)
    i, j = problem.edges.T
    step = heights[:, j] - heights[:, i]
    tight = (parts[:, i] == parts[:, j]) & (problem.lengths - np.abs(step) <= TIGHT_TOLERANCE)
    signs = np.where(tight, np.sign(step), 0).astype(np.int8)
    whole = heights if problem.graph.has_lengths else heights.astype(np.int64)
    return {
        int(k): Face(problem, whole[q], signs[q])
        for q, k in enumerate(found.guesses[kept].tolist())
    }


def _ordered(problem: Problem) -> tuple[Ints, Ints, int]:
    """Return the nodes in an order with a narrow band, the place of each, and the width."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = problem.size
    i, j = np.concatenate([problem.edges, problem.edges[:, ::-1]]).T
    order = reverse_cuthill_mckee(csr_array((np.ones(len(i)), (i, j)), (n, n)), True)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    width = int(np.abs(place[i] - place[j]).max(initial=0)) + 1
    return order.astype(np.int64), place, width


@dataclass(eq=False)
class _Path:
    """The iterates: columns x, slacks z and multipliers y for each guess, and prices of classes."""

    problem: Problem
    guesses: Ints
    order: Ints
    net: Any
    costs: Floats
    shares: Floats
    pool: ThreadPoolExecutor
    x: Floats
    z: Floats
    y: Floats
    prices: Floats
    band: Floats
    unit: float

    @classmethod
    def of(cls, problem: Problem, guesses: Ints, pool: ThreadPoolExecutor) -> _Path:
        """Start where all columns are equal, and all products of slack and multiplier too."""
        order, place, width = _ordered(problem)
        net = arcs(problem.size, place[problem.edges], problem.lengths, problem.alpha)[1]
        unit = float(np.abs(problem.costs).mean()) or 1.0
        costs = np.ascontiguousarray(problem.costs[np.ix_(order, guesses)].T) / unit
        weight = dict(zip(problem.guesses.tolist(), problem.multiplicity.tolist(), strict=True))
        shares = np.array([weight[k] for k in guesses.tolist()], float)
        count, n, fall = len(guesses), problem.size, net[4]
        x = np.full((count, n), 1 / shares.sum())
        z = np.tile((1 - fall) * x[0, 0], (count, 1))
        push = np.bincount(net[1], 1 - fall, n).mean()
        y = (float(np.abs(costs).mean()) / push) / z * z.mean()
        prices = np.zeros(len(problem.class_sizes))
        band = np.empty((count, n, width))
        return cls(problem, guesses, order, net, costs, shares, pool, x, z, y, prices, band, unit)

    def point(self) -> Interior:
        columns = np.empty_like(self.x)
        columns[:, self.order] = self.x
        prices = self.unit * (self.prices / self.problem.class_sizes)[self.problem.classes]
        return Interior(self.guesses, columns, prices)

    @property
    def complementarity(self) -> float:
        return float(np.einsum("ke,ke,k->", self.z, self.y, self.shares))

    @property
    def gap(self) -> float:
        """The larger of the relative complementarity and what the dual rows lack."""
        value = float(self.shares @ (self.costs * self.x).sum(axis=1))
        lack = float(np.abs(self.lack()).max())
        return max(self.complementarity, lack) / abs(value)

    def lack(self) -> Floats:
        """Return what the multipliers do not prove of the costs of each guess, less the prices."""
        spread = np.empty_like(self.x)
        _carried(self.net, self.y, spread)
        return self.costs - self._by_node(self.prices) - spread

    def _by_node(self, by_class: Floats) -> Floats:
        problem = self.problem
        return np.asarray((by_class / problem.class_sizes)[problem.classes[self.order]])

    def _by_class(self, columns: Floats) -> Floats:
        problem = self.problem
        total = np.bincount(problem.classes[self.order], self.shares @ columns)
        return np.asarray(total / problem.class_sizes)

    def _split(self) -> Iterator[slice]:
        size = -(-len(self.x) // processors())
        return (slice(begin, begin + size) for begin in range(0, len(self.x), size))

    def _system(self) -> Callable[[Floats], Floats]:
        """Factor the matrices of all guesses; return what solves for the prices."""
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import csr_array

        n, problem = self.problem.size, self.problem

        def factor(part: slice) -> Floats:
            whole = np.zeros((n, n))
            _factor(self.net, self.y[part], self.z[part], self.shares[part], self.band[part], whole)
            return whole

        upper = sum(self.pool.map(factor, self._split()))
        whole = np.triu(upper) + np.triu(upper, 1).T
        classes, count = problem.classes[self.order], len(problem.class_sizes)
        mean = csr_array((1 / problem.class_sizes[classes], (classes, np.arange(n))), (count, n))
        whole = mean @ (mean @ whole).T
        root = 1 / np.sqrt(np.diag(whole))
        factored = cho_factor(whole * root * root[:, None] + REGULAR * np.eye(count))
        return lambda side: np.asarray(root * cho_solve(factored, root * side))

    def advance(self) -> None:
        """Take one step."""
        lack, missing = self.lack(), 1 - self._by_class(self.x)
        solve = self._system()
        z, y = self.z, self.y
        count = float(self.shares.sum()) * z.shape[1]

        def direction(aim: Floats) -> tuple[Floats, Floats, Floats, Floats, float, float]:
            dx, dz, dy = np.empty_like(self.x), np.empty_like(z), np.empty_like(y)

            def first(part: slice) -> None:
                _sides(self.net, aim[part], z[part], lack[part], self.band[part], dx[part])

            list(self.pool.map(first, self._split()))
            dp = solve(missing - self._by_class(dx))
            node = self._by_node(dp)

            def second(part: slice) -> tuple[float, float]:
                return _moved(  # type: ignore[no-any-return]
                    self.net, aim[part], y[part], z[part], self.band[part], node, dx[part],
                    dz[part], dy[part],
                )  # fmt: skip

            falls = np.array(list(self.pool.map(second, self._split()))).max(axis=0)
            ends = 1 / np.maximum(falls, 1e-300)
            return dx, dz, dy, dp, float(ends[0]), float(ends[1])

        mean = self.complementarity / count
        _, dz, dy, _, primal, dual = direction(-y * z)
        a, b = min(1.0, primal), min(1.0, dual)
        ahead = np.einsum("ke,ke,k->", z + a * dz, y + b * dy, self.shares) / count
        centre = mean * max((ahead / mean) ** 3, 1e-6)
        aim = centre - y * z - dz * dy
        dx, dz, dy, dp, primal, dual = direction(aim)
        for _ in range(CORRECTORS):
            a, b = (min(1.0, 1.08 * end + 0.08) for end in (primal, dual))
            product = (z + a * dz) * (y + b * dy)
            wanted = np.clip(product, CENTRAL[0] * centre, CENTRAL[1] * centre) - product
            corrected = aim + np.maximum(wanted, -CENTRAL[1] * centre)
            other = direction(corrected)
            if min(1.0, other[4]) + min(1.0, other[5]) < min(1.0, primal) + min(1.0, dual) + 0.01:
                break
            aim = corrected
            dx, dz, dy, dp, primal, dual = other
        a, b = (min(1.0, STEP * end) for end in (primal, dual))
        self.x, self.z = self.x + a * dx, z + a * dz
        self.y, self.prices = y + b * dy, self.prices + b * dp


@njit(cache=True, nogil=True)
def _factor(net, y, z, shares, band, whole):
    """Factor each H_k = L D L' and add its inverse, times the share of the guess, to ``whole``.

    ``band[k, i, t]`` is L[i + t, i], for t = 0 it is D[i]; of ``whole`` the upper half is set. As
    H_k has no positive entries beside its diagonal, neither has L, and nothing cancels in the
    recursion for the inverse.
    """
    first, end, _, _, fall = net
    count, n, width = band.shape
    inverse = np.zeros((n, n))
    for k in range(count):
        low = band[k]
        low[:] = 0.0
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                j, d = end[e], y[k, e] / z[k, e]
                low[j, 0] += d
                low[i, 0] += d * fall[e] * fall[e]
                low[min(i, j), abs(i - j)] -= d * fall[e]
        for i in range(n):
            low[i, 0] *= 1 + REGULAR
        for i in range(n):
            most = min(width, n - i)
            pivot = low[i, 0]
            for t in range(1, most):
                factor = low[i, t] / pivot
                if factor != 0.0:
                    for s in range(t, most):
                        low[i + t, s - t] -= factor * low[i, s]
            for t in range(1, most):
                low[i, t] /= pivot
        for i in range(n - 1, -1, -1):
            row = inverse[i]
            most = min(width, n - i)
            row[i:] = 0.0
            for t in range(1, most):
                factor = low[i, t]
                if factor != 0.0:
                    other = inverse[i + t]
                    for j in range(i + 1, n):
                        row[j] -= factor * other[j]
            row[i] = 1.0 / low[i, 0]
            for t in range(1, most):
                row[i] -= low[i, t] * row[i + t]
            for j in range(i + 1, n):
                inverse[j, i] = row[j]
        for i in range(n):
            for j in range(i, n):
                whole[i, j] += shares[k] * inverse[i, j]


@njit(cache=True, nogil=True)
def _solved(low, v):
    """Solve L D L' v = v in place."""
    n, width = low.shape
    for i in range(n):
        for t in range(1, min(width, n - i)):
            v[i + t] -= low[i, t] * v[i]
    for i in range(n - 1, -1, -1):
        v[i] /= low[i, 0]
        for t in range(1, min(width, n - i)):
            v[i] -= low[i, t] * v[i + t]


@njit(cache=True, nogil=True)
def _carried(net, y, spread):
    """Compute G' y for each guess."""
    first, end, _, _, fall = net
    spread[:] = 0.0
    for k in range(len(y)):
        for i in range(len(first) - 1):
            for e in range(first[i], first[i + 1]):
                spread[k, end[e]] += y[k, e]
                spread[k, i] -= fall[e] * y[k, e]


@njit(cache=True, nogil=True)
def _sides(net, aim, z, lack, band, side):
    """Solve H_k v = G' (aim / z) - lack for each guess."""
    first, end, _, _, fall = net
    for k in range(len(aim)):
        v = side[k]
        v[:] = -lack[k]
        for i in range(len(v)):
            for e in range(first[i], first[i + 1]):
                part = aim[k, e] / z[k, e]
                v[end[e]] += part
                v[i] -= fall[e] * part
        _solved(band[k], v)


@njit(cache=True, nogil=True)
def _moved(net, aim, y, z, band, price, dx, dz, dy):
    """Finish the direction by that of the prices; return by how much slack and y fall at most."""
    first, end, _, _, fall = net
    lower, less = 0.0, 0.0
    more = np.empty(len(price))
    for k in range(len(aim)):
        more[:] = price
        _solved(band[k], more)
        d = dx[k]
        d += more
        for i in range(len(d)):
            for e in range(first[i], first[i + 1]):
                step = d[end[e]] - fall[e] * d[i]
                other = (aim[k, e] - y[k, e] * step) / z[k, e]
                dz[k, e] = step
                dy[k, e] = other
                lower = max(lower, -step / z[k, e])
                less = max(less, -other / y[k, e])
    return lower, less


@njit(cache=True, nogil=True)
def _joined(net, columns, sharp, small, heights, parts):
    """Join the nodes of each column by tight arcs, the sharpest first, as far as privacy allows."""
    first, end, _, length, fall = net
    n = columns.shape[1]
    start = np.empty(len(end), np.int64)
    for i in range(n):
        start[first[i] : first[i + 1]] = i
    slack = np.empty(len(end))
    for k in range(len(columns)):
        x, high, part = columns[k], heights[k], parts[k]
        for i in range(n):
            part[i] = i
        for e in range(len(end)):
            slack[e] = (1 - fall[e] * x[start[e]] / x[end[e]]) / (1 - fall[e])
        for e in np.argsort(slack):
            i, j = start[e], end[e]
            if part[i] == part[j] or (slack[e] > sharp and max(x[i], x[j]) > small):
                continue
            shift = high[i] + length[e] - high[j]
            gone, kept, fits = part[j], part[i], True
            for h in range(n):
                if part[h] == gone:
                    for a in range(first[h], first[h + 1]):
                        if part[end[a]] == kept:
                            far = abs(high[end[a]] - high[h] - shift)
                            fits = fits and far <= length[a] + TIGHT_TOLERANCE
            if fits:
                for h in range(n):
                    if part[h] == gone:
                        part[h] = kept
                        high[h] += shift
