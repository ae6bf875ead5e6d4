r"""All columns at once, by an interior-point method that knows the shape of the program.

The program has one block for each guess, and few rows that join them:

.. math:: \min \sum_k c_k \cdot x^k \quad\text{with}\quad \sum_k x^k = 1,\; z^k = G x^k \ge 0,

where G has a row :math:`x_j - \alpha^{|ij|} x_i` for each direction of each edge. With the
multipliers :math:`y^k \ge 0` of these rows a Newton step needs, for each guess, to solve with

.. math:: H_k = G^T \operatorname{diag}(y^k / z^k)\, G,

a matrix with the pattern of the graph, and one dense system, with :math:`\sum_k H_k^{-1}`, for
the prices. For the worst loss :math:`c_k = w\,\ell_k` with a prior w that is sought as well: the
multipliers of rows :math:`s = t - \sum_k \ell_k x^k \ge 0`, in the same dense system. The nodes are
ordered to make the factor of :math:`H_k` small (:mod:`tightrope.optimize.elimination`).
The steps are those of [S. Mehrotra, "On the implementation of a primal-dual interior point
method", 1992] with the centrality correctors of [J. Gondzio, 1996].

Where privacy is strong the cheapest rays say little and the faces of column generation grow wide;
here the work does not depend on how wide they are. Normal equations are known to lose the last
digits, as edges that get tight make :math:`H_k` huge beside what matters in it. These do not:
:math:`H_k` has no positive entries beside its diagonal, and what it makes of a column that falls
exactly along all tight edges is small, so that pivots are found without subtracting huge numbers
[W. Grassmann, M. Taksar and D. Heyman, 1985; for matrices of this kind A. S. Alfa, J. Xue and
Q. Ye, 2002]. Such columns are also split off from directions, as slacks of tight edges change by
far less than columns do, and from the dense system, where what few of them bring is huge beside
the rest (see :func:`_factor` and :func:`_solver`).
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

from tightrope.optimize.cuts import join_tight
from tightrope.optimize.elimination import elimination
from tightrope.optimize.objective import Objective
from tightrope.optimize.pricing import arcs, processors
from tightrope.optimize.problem import Floats, Ints, Problem

#: Round-off of a sum of flows, as part of them.
ROUND_OFF = 2.0**-50
#: Part of the way to the boundary that a step goes.
STEP = 0.95
#: Least and most of the mean product that a step aims at. With at most a tenth steps get short
#: where losses differ much: sum(36,9) under a Zipf prior made no progress.
CENTRE = 1e-6, 0.3
#: Most centrality correctors of a step; products within these parts of the mean are left alone.
CORRECTORS, CENTRAL = 6, (0.1, 10.0)
#: So many times the answers are the largest parts, which are kept apart near the end. Where they
#: were chosen by their size, or slacks of 1e-3 were tight, sum(36,7) stayed at gaps of 1e-8.
LARGE_PARTS = 4
#: Most steps, and most of them without progress by a tenth; the method mostly takes fifty.
MOST_STEPS, PATIENCE = 200, 8


@dataclass(frozen=True, eq=False)
class Interior:
    """A point on the way to the optimum: the columns of some guesses, prices and multipliers.

    Parameters
    ----------
    columns
        The columns of the guesses, as rows; all are strictly private, and they sum nearly to 1.
    prices
        The prices of the answers; they prove nothing yet.
    multipliers
        For the worst loss the prior of the costs that these prices are for.
    value
        What the columns lose.
    gap
        The part of it that slacks times multipliers are.
    """

    columns: Floats
    prices: Floats
    multipliers: Floats
    value: float
    gap: float


def interior_points(objective: Objective) -> Iterator[Interior]:
    """Yield point after point, as near to the optimum as doubles allow.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> from tightrope.optimize.objective import ExpectedLoss
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> *_, found = interior_points(ExpectedLoss(problem))
    >>> found.columns[0].round(9).tolist(), found.prices.sum().round(9)
    ([0.5, 0.25, 0.25], np.float64(0.5))
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    with ThreadPoolExecutor(processors()) as pool:
        path, best, idle = _Path(objective, pool), np.inf, 0
        for _ in range(MOST_STEPS):
            try:
                # The threads of the guesses are busy: more of them would only be in their way.
                with np.errstate(all="ignore"), controller.limit(limits=1, user_api="blas"):
                    path.advance()
            except ValueError:  # no numbers any more
                return
            found = path.point()
            if not np.isfinite(found.gap):
                return
            yield found
            # Products, not their part of the value: that stays while both fall.
            left = path.products
            best, idle = (left, 0) if left < 0.9 * best else (best, idle + 1)
            if found.gap < ROUND_OFF or idle >= PATIENCE:
                return


def interior_effort(problem: Problem, guesses: Ints) -> float:
    """Return about how many seconds of one processor the method takes.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(200, 5), Epsilon.of(1), np.ones((200, 200)))
    >>> 1 < interior_effort(problem, problem.guesses) < 10
    True
    """
    n, ends, work = problem.size, 2 * len(problem.edges), elimination(problem).work
    own = 8e-10 * n * n + 1.6e-10 * n * work + 2.2e-8 * work + 8e-8 * ends
    return 50 * (0.005 + len(guesses) * own)


class _Path:
    """The iterates: columns x, slacks z and multipliers y for each guess, and prices of classes.

    Of slacks and multipliers the inverses w = 1/z and the products p = zy are kept: every loop over
    the edges works with these. They and aims have two parts: those of all guesses, and those of the
    loss rows.
    """

    def __init__(self, objective: Objective, pool: ThreadPoolExecutor) -> None:
        r"""Start where both programs are feasible and products of slack and multiplier alike.

        All columns are equal. With :math:`y = \beta + G (G^T G)^{-1} r` for a high :math:`\beta`
        the multipliers prove low prices exactly, r being what is left of the costs.
        """
        assert objective.loss_rows is not None
        losses, support = objective.loss_rows
        problem, guesses = objective.problem, objective.guesses
        self.problem, self.pool = problem, pool
        ways = elimination(problem)
        self.order, self.fill = ways.order, ways.fill
        self.net: Any = arcs(problem, np.argsort(self.order))[1]
        self.unit = float(np.abs(problem.costs).mean()) or 1.0
        self.costs, self.losses = (
            np.ascontiguousarray(each[np.ix_(self.order, guesses)].T) / self.unit
            for each in (problem.costs, losses)
        )
        self.shares = np.array([problem.copies[k] for k in guesses.tolist()], float)
        # The classes of answers that have a loss row.
        self.rows = np.unique(problem.classes[support])
        first, end, _, _, fall = self.net
        count, n = len(guesses), problem.size
        start = np.repeat(np.arange(n), np.diff(first))
        self.x = np.full((count, n), 1 / self.shares.sum())
        z = np.tile((1 - fall) * self.x[0, 0], (count, 1))
        #: Of each guess the parts with tight edges, which edges these are, and the factor of H_k.
        self.parts = (
            np.empty((count, n)),
            np.empty((count, n), np.int64),
            np.empty(z.shape, np.bool_),
        )
        size, _, begins = self.fill[:3]
        self.factor = np.empty((count, n, size)), np.empty((count, size * begins[-1]))
        self.rough = False
        self.blocks: Any = self._split()
        one = [part[:1] if np.ndim(part) > 1 else part for part in self.blocks[1:]]
        _factor(
            self.net, self.shares[:1], 1 / z[:1], z[:1] ** 2, self.losses[:1, :0], self.fill, *one
        )
        self.prices = self._by_class(self.costs) * problem.class_sizes / self.shares.sum()
        rest = self.costs - self._by_node(self.prices)
        for row in rest:
            _solved(self.fill, self.factor[0][0], self.factor[1][0], row)
        # By rows, as the loops go: columns that are chosen come by columns.
        y = np.ascontiguousarray(rest[:, end] - fall * rest[:, start])
        high = 2 * float(np.abs(y).max()) or 1.0
        y += high
        push = np.bincount(end, minlength=n) - np.bincount(start, fall, n)
        self.prices -= high * np.bincount(problem.classes[self.order], push)
        y *= z
        lost = self._lost(self.x)
        room = lost.max(initial=0.0) - lost + float(y.mean()) * lost.size
        self.w = 1 / z, 1 / room
        self.p = y, room * problem.class_sizes[self.rows] / max(len(support), 1)
        # What a unit of a row's sum is worth (see :func:`private_columns`).
        self.blind = float(np.abs(self.costs).sum(axis=1).min()) / (1 - float(fall.max(initial=0)))
        self.products = float(self.shares @ y.sum(axis=1)) + float(self.p[1].sum())
        each: Any = np.arange(len(self.rows))
        #: A loss row is like an edge whose slack is a variable.
        self.row_net = np.arange(len(each) + 1), each, each, 0.0 * each, 0.0 * each
        self.tight = self.parts[2], np.zeros((1, len(each)), np.bool_)
        # What a step works with is kept: fresh memory would cost as much as the numbers in it.
        self.side = np.empty_like(self.x)
        self.aims = [tuple(np.empty_like(part) for part in self.p) for _ in range(2)]
        self.still, *self.moves = (
            [tuple(np.zeros_like(part) for part in (self.x, self.p[1])) for _ in "ar"]
            for _ in range(3)
        )

    def point(self) -> Interior:
        columns = np.empty_like(self.x)
        columns[:, self.order] = self.x
        problem, prior = self.problem, np.zeros(0)
        prices = self.unit * (self.prices / problem.class_sizes)[problem.classes]
        value = float(self.shares @ (self.costs * self.x).sum(axis=1))
        if len(self.rows):
            by_class = self._on_rows(self.prior / self.prior.sum())
            prior = (by_class / problem.class_sizes)[problem.classes]
            value = float(self._lost(self.x).max())
        gap = self.products / max(abs(value), 1e-300)
        return Interior(columns, prices, prior, self.unit * value, gap)

    def _each(self, kernel: Callable[..., Any], *arrays: Any) -> list[Any]:
        """Run a compiled loop on the guesses, so many at a time as there are processors."""
        size = -(-len(self.x) // processors())

        def run(begin: int) -> Any:
            part = slice(begin, begin + size)
            given = (a[part] if isinstance(a, np.ndarray) and a.ndim > 1 else a for a in arrays)
            return kernel(self.net, self.shares[part], *given)

        # This thread takes the first of them: a short loop is over before another has begun.
        others = [self.pool.submit(run, begin) for begin in range(size, len(self.x), size)]
        return [run(0), *(one.result() for one in others)]

    def _pairs(self, kernel: Callable[..., Any], aim: Any, move: Any, *arrays: Any) -> list[Any]:
        """Run a compiled loop along a direction, on the guesses and on the loss rows."""
        given = self.w, self.p, aim, *move, self.tight, *arrays
        guesses, rows = ([a[part] if isinstance(a, tuple) else a for a in given] for part in (0, 1))
        return [*self._each(kernel, *guesses), kernel(self.row_net, np.ones(1), *rows)]

    def _carried(self, aim: Any, move: Any) -> Floats:
        """Return what changes of multipliers carry to the nodes."""
        spread, (along, rest) = np.empty_like(self.x), move
        self._each(_carried, self.w[0], self.p[0], aim[0], along[0], rest[0], self.tight[0], spread)
        return spread

    def _by_node(self, by_class: Floats) -> Floats:
        problem = self.problem
        return np.asarray((by_class / problem.class_sizes)[problem.classes[self.order]])

    def _by_class(self, columns: Floats) -> Floats:
        problem = self.problem
        total = np.bincount(problem.classes[self.order], self.shares @ columns)
        return np.asarray(total / problem.class_sizes)

    def _on_rows(self, values: Floats) -> Floats:
        """Return what loss rows have for all classes; the others have 0."""
        by_class = np.zeros(len(self.problem.class_sizes))
        by_class[self.rows] = values
        return by_class

    @property
    def prior(self) -> Floats:
        """The multipliers of the loss rows."""
        return np.asarray(self.p[1] * self.w[1])

    def _lost(self, columns: Floats) -> Floats:
        """Return what columns lose at the answers of each loss row."""
        return self._by_class(self.losses * columns)[None, self.rows]

    def _off(self) -> Floats:
        """Return by how much losses and slacks miss their mean, the worst loss."""
        level = self._lost(self.x) + 1 / self.w[1]
        return np.asarray((self.prior @ level.T) / max(self.prior.sum(), 1e-300) - level)

    def _split(self) -> Any:
        """Join the nodes of each guess by its tight edges; make room for the largest parts.

        They are kept apart from the first time that a direction has to be refined.
        """
        n = self.problem.size
        number, sizes = self.parts[1], np.zeros_like(self.x)
        self._each(lambda net, _, *given: join_tight(net, *given), self.x, sizes, *self.parts)
        most = min(LARGE_PARTS * n, sizes.size) if self.rough else 0
        large = sizes >= max(np.partition(sizes, -most, None)[-most], 1e-300) if most else sizes < 0
        counts = large.sum(axis=1)
        # The number of each node's part where that is kept apart.
        names = np.where(large, np.cumsum(large, axis=1) - 1, -1)
        number[:] = np.take_along_axis(names, number, axis=1)
        place = np.stack([np.cumsum(counts) - counts, counts, np.cumsum(counts**2) - counts**2], 1)
        rows, squares = int(counts.sum()), int((counts**2).sum())
        room = np.empty(rows * n), np.empty(rows * n), np.empty(squares)
        return self.fill, *self.factor, *self.parts, large, place, *room

    def _system(self) -> Callable[[Floats], list[Floats]]:
        """Factor the matrices of all guesses; return what solves for prices, prior and loss."""
        from scipy.sparse import csr_array

        n, problem, many = self.problem.size, self.problem, len(self.rows)
        classes, count = problem.classes[self.order], len(problem.class_sizes)
        mean = csr_array((1 / problem.class_sizes[classes], (classes, np.arange(n))), (count, n))
        losses = self.losses if many else self.losses[:, :0]
        self.blocks = self._split()
        sums = sum(self._each(_factor, self.w[0], self.p[0], losses, *self.blocks))
        sums[0] = np.triu(sums[0]) + np.triu(sums[0], 1).T
        whole, *others = (mean @ (mean @ part.T).T for part in sums)
        place, tall = self.blocks[7], self.blocks[9].reshape(-1, n)
        large = (mean @ tall.T).T
        if others:
            cross, both = others[0][:, self.rows], others[1][np.ix_(self.rows, self.rows)]
            both[np.diag_indices(many)] += 1 / (self.p[1] * self.w[1] ** 2)[0]
            whole = np.block([[whole, -cross], [-cross.T, both]])
            lost = np.repeat(self.losses, place[:, 1], axis=0) * tall
            large = np.hstack([large, -(mean @ lost.T).T[:, self.rows]])
        solve = _solver(whole, large)
        if not others:
            return lambda side: [solve(side), side[:0], side[:0]]
        # The prior sums to 1; the multiplier of that is the worst loss.
        total = np.append(np.zeros(count), np.ones(many))
        level = solve(total)

        def bordered(side: Floats) -> list[Floats]:
            found = solve(side[:-1])
            worst = (total @ found - side[-1:]) / (total @ level)
            return [*np.split(found - worst * level, [count]), worst]

        return bordered

    def advance(self) -> None:
        """Take one step."""
        w, p, prior = self.w, self.p, self.prior
        (aim, other), (move, trial) = self.aims, self.moves
        solve = self._system()
        unspent = np.full(min(1, len(self.rows)), 1 - prior.sum())
        for part in aim:
            part.fill(-1.0)
        # What is missing of feasibility: in costs, in the sums of rows, and in losses. Without a
        # move all multipliers are aimed away.
        errors = (
            self.costs - self._by_node(self.prices) + self._carried(aim, self.still),
            1 - self._by_class(self.x),
            self._off(),
        )

        def direction(move: Any, aim: Any, *errors: Any) -> tuple[Floats, Floats, Floats]:
            along, rest = move
            lack, missing, off, unspent = errors
            self._each(_sides, aim[0], w[0], p[0], lack, *self.blocks, self.side, rest[0])
            lost = self._lost(rest[0]) + aim[1] / w[1] - off
            side = np.concatenate([missing - self._by_class(rest[0]), lost[0], unspent])
            dp, dw, dt = solve(side)
            changes = self._by_node(dp), self._by_node(self._on_rows(dw))
            self._each(_moved, self.side, *self.blocks, self.losses, *changes, along[0], rest[0])
            rest[1][:] = (aim[1] - dw / prior) / w[1]
            return dp, dw, dt

        def reach(move: Any, aim: Any) -> Any:
            return 1 / np.maximum(np.max(self._pairs(_reach, aim, move), axis=0), 1e-300)

        def left(move: Any, aim: Any, dp: Floats, dw: Floats, dt: Floats) -> list[Floats]:
            (along, _), (rest, ds) = move
            lack, missing, off = errors
            lack = lack - self._by_node(dp) - self._carried(aim, move)
            lack += self.losses * self._by_node(self._on_rows(dw))
            dx = along + rest
            return [lack, missing - self._by_class(dx), off + dt.sum() - self._lost(dx) - ds]

        weights = self._weights()
        mean = self.products / float(
            self.shares @ weights[0] @ np.diff(self.net[0]) + weights[1].sum()
        )
        direction(move, aim, *errors, unspent)
        a, b = np.minimum(1.0, reach(move, aim))
        ahead = sum(self._pairs(_ahead, aim, move, a, b)) / self.products
        centre = mean * min(max(min(ahead, 1.0) ** 3, CENTRE[0]), CENTRE[1])
        # Mehrotra corrects products that grow as well, which costs a third more steps.
        self._pairs(_aimed, aim, move, weights, centre, mean)
        found: Any = direction(move, aim, *errors, unspent)
        ends = reach(move, aim)
        for _ in range(CORRECTORS):
            a, b = np.minimum(1.0, 1.5 * ends + 0.1)
            self._pairs(_centred, aim, move, weights, a, b, centre, other)
            tried = direction(trial, other, *errors, unspent)
            further = reach(trial, other)
            if np.minimum(1.0, further).sum() - np.minimum(1.0, ends).sum() < 0.01:
                break
            found, ends = tried, further
            aim, other, move, trial = other, aim, trial, move
        for part in other:
            part.fill(0.0)
        rest, before = left(move, aim, *found), np.inf
        while 0.01 * self.products < (now := self._harm(rest)) < before / 2:
            more = direction(trial, other, *rest, 0 * unspent)
            found = tuple(one + another for one, another in zip(found, more, strict=True))
            for parts, others in zip(move, trial, strict=True):
                for one, another in zip(parts, others, strict=True):
                    np.add(one, another, out=one)
            ends = reach(move, aim)
            rest, before, self.rough = left(move, aim, *found), now, True
        a, b = np.minimum(1.0, STEP * ends)
        self.x += a * (move[0][0] + move[1][0])
        self.prices += b * found[0]
        self.products = float(sum(self._pairs(_stepped, aim, move, a, b)))
        if len(self.rows):
            self.costs = self.losses * self._by_node(self._on_rows(self.prior))

    def _weights(self) -> tuple[Floats, Floats]:
        """Return how large products should be beside one another, at each node of each guess.

        Where all are alike, the few columns that are large get tight long before the others, and
        steps are short: sum(74,5) under a Zipf prior took 130 steps, and takes 48. A weight is the
        geometric mean of an entry and the largest of its column, neither taken below the mean.
        """
        size = np.maximum(self.x * self.shares.sum(), 1)
        return np.sqrt(size * size.max(axis=1)[:, None]), np.ones_like(self.p[1])

    def _harm(self, rest: list[Floats]) -> float:
        """Return what the sum of all prices is lowered by errors, and what they add to the loss."""
        lack, missing, off = (np.abs(part) for part in rest)
        return float(lack.max(axis=0).sum() + self.blind * missing.max() + off.max(initial=0.0))


def _solver(small: Floats, large: Floats) -> Callable[[Floats], Floats]:
    """Return what solves with a small matrix plus a large one, given as A' A by its rows.

    Near the optimum columns that are free to move make a matrix of low rank that is huge beside
    all others. In their sum the small one would drown; the triangle T of a QR factorisation, with
    T' T the sum, has both.
    """
    from scipy.linalg import cholesky, qr, solve_triangular

    total = np.diag(small) + (large**2).sum(axis=0)
    # Where the optimum is degenerate it tends to a singular matrix. As much as its round-off is
    # added, which refining takes out again [M. Friedlander and D. Orban, 2012].
    size = np.maximum(np.diag(small), ROUND_OFF**1.5 * total)
    own, root = 1 / np.sqrt(size), 1 / np.sqrt(total)
    scaled = small * own * own[:, None] + len(own) * 2.0**-52 * np.eye(len(own))
    triangle = cholesky(scaled) * (root / own)
    if len(large):
        rows = np.vstack([large * root, triangle])
        rows = rows[np.argsort(-np.abs(rows).max(axis=1))]
        triangle = qr(rows, mode="r", overwrite_a=True)[0][: len(own)]

    def solve(side: Floats) -> Floats:
        return np.asarray(
            root * solve_triangular(triangle, solve_triangular(triangle, root * side, trans=1))
        )

    return solve


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(
    net, shares, w, p, losses, fill, near, far, rays, numbers, tight, held, place, bends, tall,
    cores,
):  # fmt: skip
    r"""Factor each H_k; return the sum of the inverses without their large parts.

    Where losses are given, with them from the right and from both sides as well.

    A column is a multiple of r on each of the large parts that tight edges join nodes to, P u, and
    what differs from that, w, which is 0 at the first node of such a part (``held``). With F what
    H_k is for w alone, and J = F^{-1} H_k P,

    .. math:: H_k^{-1} = F^{-1} + (P - J) E^{-1} (P - J)^T, \qquad E = P^T H_k (P - J).

    F is huge, E is not as tight edges have no part in H_k P. ``bends`` are the rows of J',
    ``cores`` the factors of E = L L', ``tall`` the rows of L^{-1} (P - J)', times the roots of
    the shares; ``place`` says where those of a guess begin, and how many they are.

    F = L D L', as rows of L' in blocks (see :class:`Elimination`): ``near`` has the entries inside
    a block, with D on the diagonal, ``far`` those behind it. Of the sum the upper half is set. As F
    has no positive entries beside its diagonal, neither has L, and nothing cancels in the
    recursion for the inverse. A pivot is what is left of F r, where tight edges have a part
    only if they end at a first node, not what is left of the huge diagonal. It is raised by what
    may be round-off: with pivots that are too large refining converges, with small ones it does
    not.
    """
    first, end, _, _, fall = net
    size, (ends, tails), begins, reached = fill[0], fill[1], fill[2], fill[3]
    count, n = rays.shape
    whole = np.zeros((3 if losses.size else 1, n, n))
    inverse, work = np.zeros((n, n)), np.zeros((n, n))
    left, noise = np.empty(n), np.empty(n)
    most = np.diff(begins).max()
    both = np.zeros((most, most))
    for k in range(count):
        left[:], noise[:] = 0.0, 0.0
        ray, fixed = rays[k], held[k]
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                j, d = end[e], p[k, e] * w[k, e] * w[k, e]
                if fixed[i] or fixed[j]:
                    left[i] += d * fall[e] * ray[j] * fixed[j]
                    left[j] += d * fall[e] * ray[i] * fixed[i]
                else:
                    work[min(i, j), max(i, j)] -= d * fall[e]
                if not tight[k, e]:
                    push = d * (ray[j] - fall[e] * ray[i])
                    left[j] += push
                    left[i] -= fall[e] * push
                    noise[j] += ROUND_OFF * abs(push)
                    noise[i] += ROUND_OFF * fall[e] * abs(push)
        for block in range(len(begins) - 1):
            begin = block * size
            stop = min(begin + size, n)
            behind = reached[begins[block] : begins[block + 1]]
            panel = far[k, size * begins[block] : size * begins[block + 1]].reshape(size, -1)
            panel[stop - begin :] = 0.0
            for i in range(begin, stop):
                near[k, i, : stop - begin], work[i, begin:stop] = work[i, begin:stop], 0.0
                for c in range(len(behind)):
                    panel[i - begin, c], work[i, behind[c]] = work[i, behind[c]], 0.0
            for i in range(begin, stop):
                row, tail = near[k, i], panel[i - begin]
                pivot = left[i]
                for j in range(i + 1, ends[i]):
                    pivot -= row[j - begin] * ray[j]
                for c in range(tails[i]):
                    pivot -= tail[c] * ray[behind[c]]
                pivot = (max(pivot, 0.0) + noise[i]) / ray[i]
                if fixed[i]:
                    pivot = np.inf
                row[i - begin] = pivot
                for j in range(i + 1, ends[i]):
                    factor = row[j - begin] / pivot
                    if factor != 0.0:
                        left[j] -= factor * left[i]
                        noise[j] -= factor * noise[i]
                        for t in range(j + 1 - begin, ends[i] - begin):
                            near[k, j, t] -= factor * row[t]
                        for c in range(tails[i]):
                            panel[j - begin, c] -= factor * tail[c]
                    row[j - begin] = factor
                for c in range(tails[i]):
                    factor = tail[c] / pivot
                    if factor != 0.0:
                        left[behind[c]] -= factor * left[i]
                        noise[behind[c]] -= factor * noise[i]
                        for t in range(c + 1, tails[i]):
                            both[c, t] -= factor * tail[t]
                    tail[c] = factor
            for c in range(len(behind)):
                for t in range(c + 1, len(behind)):
                    work[behind[c], behind[t]] += both[c, t]
                    both[c, t] = 0.0
        if place[k, 1]:
            arrays = near[k], far[k], ray, numbers[k], tight[k], place[k], bends, tall, cores
            _core(net, fill, shares[k], w[k], p[k], *arrays)
        _invert(fill, near[k], far[k], inverse)
        for i in range(n):
            for j in range(i, n):
                whole[0, i, j] += shares[k] * inverse[i, j]
            for j in range(losses.shape[1]):
                lost = shares[k] * inverse[min(i, j), max(i, j)] * losses[k, j]
                whole[1, i, j] += lost
                whole[2, i, j] += losses[k, i] * lost
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def _invert(fill, near, far, inverse):
    """Compute the upper half of the inverse of L D L', from below, block by block.

    All rows of a block are the same few rows behind it times what L makes of them: a product of
    matrices, which takes a fraction of the time of as many sums of rows.
    """
    size, (ends, tails), begins, reached, starts, mirrored = fill
    n = len(near)
    for block in range(len(begins) - 2, -1, -1):
        begin = block * size
        stop = min(begin + size, n)
        behind = reached[begins[block] : begins[block + 1]]
        if len(behind):
            factors = -far[size * begins[block] : size * begins[block + 1]].reshape(size, -1)
            for i in range(stop - 2, begin - 1, -1):
                own = factors[i - begin]
                for j in range(i + 1, ends[i]):
                    factor, other = near[i, j - begin], factors[j - begin]
                    for c in range(len(own)):
                        own[c] -= factor * other[c]
            known = np.empty((len(behind), n - stop))
            for c in range(len(behind)):
                known[c] = inverse[behind[c], stop:]
            rows = factors @ known
            inverse[begin:stop, stop:] = rows[: stop - begin]
        else:
            inverse[begin:stop, stop:] = 0.0
        for j in mirrored[starts[block] : starts[block + 1]]:
            for i in range(begin, stop):
                inverse[j, i] = inverse[i, j]
        for i in range(stop - 1, begin - 1, -1):
            row = inverse[i]
            row[i:stop] = 0.0
            for j in range(i + 1, ends[i]):
                factor, other = near[i, j - begin], inverse[j]
                for t in range(i + 1, stop):
                    row[t] -= factor * other[t]
            tail = far[size * begins[block] + (i - begin) * len(behind) :]
            for c in range(tails[i]):
                factor, other = tail[c], inverse[behind[c]]
                for t in range(i + 1, stop):
                    row[t] -= factor * other[t]
            row[i] = 1.0 / near[i, i - begin]
            for j in range(i + 1, ends[i]):
                row[i] -= near[i, j - begin] * row[j]
            for c in range(tails[i]):
                row[i] -= tail[c] * row[behind[c]]
            for j in range(i + 1, stop):
                inverse[j, i] = row[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _core(net, fill, share, w, p, near, far, ray, number, tight, place, bends, tall, cores):
    """Compute J, the factor of E, and the large part of the inverse of one H_k.

    E too has next to no positive entries beside its diagonal: as in F, pivots are what is left of
    E 1, without the diagonal.
    """
    first, end, _, _, fall = net
    n, parts = len(ray), place[1]
    bend = bends[place[0] * n : (place[0] + parts) * n].reshape(parts, n)
    rows = tall[place[0] * n : (place[0] + parts) * n].reshape(parts, n)
    core = cores[place[2] : place[2] + parts * parts].reshape(parts, parts)
    rows[:], core[:] = 0.0, 0.0
    # H_k P 1, and its round-off.
    whole, doubt = np.zeros(n), np.zeros(n)
    for i in range(n):
        a = number[i]
        for e in range(first[i], first[i + 1]):
            if tight[e]:
                continue
            j, d = end[e], p[e] * w[e] * w[e]
            b = number[j]
            up = ray[j] if b >= 0 else 0.0
            down = fall[e] * ray[i] if a >= 0 else 0.0
            push = d * (up - down)
            whole[j] += push
            whole[i] -= fall[e] * push
            doubt[j] += ROUND_OFF * abs(push)
            doubt[i] += ROUND_OFF * fall[e] * abs(push)
            if a == b:
                up, down = up - down, 0.0
            if b >= 0:
                rows[b, j] += d * up
                rows[b, i] -= fall[e] * d * up
            if a >= 0:
                rows[a, j] -= d * down
                rows[a, i] += fall[e] * d * down
            if a >= 0 and b >= 0:
                core[max(a, b), min(a, b)] -= d * up * down
    for c in range(parts):
        bend[c] = rows[c]
        _solved(fill, near, far, bend[c])
        for b in range(c):
            core[c, b] -= rows[b] @ bend[c]
    rows[:] = -bend
    for i in range(n):
        if number[i] >= 0:
            rows[number[i], i] += ray[i]
    left, noise = rows @ whole, np.abs(rows) @ doubt
    rows *= np.sqrt(share)
    for c in range(parts):
        pivot = max(left[c] - core[c + 1 :, c].sum(), 0.0) + noise[c]
        core[c, c] = np.sqrt(pivot)
        rows[c] /= core[c, c]
        for b in range(c + 1, parts):
            factor = core[b, c] / pivot
            left[b] -= factor * left[c]
            noise[b] += abs(factor) * noise[c]
            core[b, c] /= core[c, c]
            for s in range(c + 1, b + 1):
                core[b, s] -= core[b, c] * core[s, c]
            rows[b] -= core[b, c] * rows[c]


@njit(cache=True, nogil=True, error_model="numpy")
def _solved(fill, near, far, v):
    """Solve L D L' v = v in place."""
    size, (ends, tails), begins, reached = fill[0], fill[1], fill[2], fill[3]
    n = len(v)
    room = np.empty(np.diff(begins).max())
    for block in range(len(begins) - 1):
        begin, at = block * size, size * begins[block]
        behind = reached[begins[block] : begins[block + 1]]
        room[: len(behind)] = 0.0
        for i in range(begin, min(begin + size, n)):
            for j in range(i + 1, ends[i]):
                v[j] -= near[i, j - begin] * v[i]
            for c in range(tails[i]):
                room[c] += far[at + c] * v[i]
            at += len(behind)
        for c in range(len(behind)):
            v[behind[c]] -= room[c]
    for block in range(len(begins) - 2, -1, -1):
        begin, stop = block * size, min((block + 1) * size, n)
        behind = reached[begins[block] : begins[block + 1]]
        at = size * begins[block] + (stop - begin) * len(behind)
        for c in range(len(behind)):
            room[c] = v[behind[c]]
        for i in range(stop - 1, begin - 1, -1):
            at -= len(behind)
            found = v[i] / near[i, i - begin]
            for j in range(i + 1, ends[i]):
                found -= near[i, j - begin] * v[j]
            for c in range(tails[i]):
                found -= far[at + c] * room[c]
            v[i] = found


@njit(cache=True, nogil=True, error_model="numpy")
def _change(net, w, along, rest, tight, change):
    """Find by which part of them the slacks of one guess change in a direction.

    Those of tight edges change by what differs from multiples of r alone, too little to be seen in
    the sum. A multiplier changes by the part that is left of the aim.
    """
    first, end, _, _, fall = net
    split = along.any()
    for i in range(len(rest)):
        for e in range(first[i], first[i + 1]):
            found = rest[end[e]] - fall[e] * rest[i]
            if split and not tight[e]:
                found += along[end[e]] - fall[e] * along[i]
            change[e] = found * w[e]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _reach(net, shares, w, p, aim, along, rest, tight):
    """Return by which part of them slacks and multipliers fall at most."""
    change = np.empty(w.shape[1])
    lower, less = 0.0, 0.0
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            lower = max(lower, -change[e])
            less = max(less, change[e] - aim[k, e])
    return lower, less


@njit(cache=True, nogil=True, error_model="numpy")
def _ahead(net, shares, w, p, aim, along, rest, tight, a, b):
    """Return the sum of the products of slacks and multipliers along a direction."""
    change = np.empty(w.shape[1])
    products = 0.0
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            grown = (1 + a * change[e]) * (1 + b * (aim[k, e] - change[e]))
            products += shares[k] * p[k, e] * grown
    return products


@njit(cache=True, nogil=True, error_model="numpy")
def _aimed(net, shares, w, p, aim, along, rest, tight, weights, centre, most):
    """Aim at products like the weights, less what a direction gains in them, up to ``most``."""
    first, change = net[0], np.empty(w.shape[1])
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for i in range(len(rest[k])):
            for e in range(first[i], first[i + 1]):
                share = weights[k, i] / p[k, e]
                gained = change[e] * (aim[k, e] - change[e])
                aim[k, e] = centre * share - 1 - min(gained, most * share)


@njit(cache=True, nogil=True, error_model="numpy")
def _centred(net, shares, w, p, aim, along, rest, tight, weights, a, b, centre, other):
    """Aim at products that are not far from the weights, further along a direction."""
    first, change = net[0], np.empty(w.shape[1])
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for i in range(len(rest[k])):
            least, most = CENTRAL[0] * centre * weights[k, i], CENTRAL[1] * centre * weights[k, i]
            for e in range(first[i], first[i + 1]):
                product = p[k, e] * (1 + a * change[e]) * (1 + b * (aim[k, e] - change[e]))
                off = max(min(max(product, least), most) - product, -most)
                other[k, e] = aim[k, e] + off / p[k, e]


@njit(cache=True, nogil=True, error_model="numpy")
def _carried(net, shares, w, p, aim, along, rest, tight, spread):
    """Compute G' times the changes of multipliers for each guess."""
    change = np.empty(w.shape[1])
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            change[e] = p[k, e] * w[k, e] * (aim[k, e] - change[e])
        spread[k] = 0.0
        _spread(net, change, spread[k])


@njit(cache=True, nogil=True, error_model="numpy")
def _stepped(net, shares, w, p, aim, along, rest, tight, a, b):
    """Go along a direction; return the products of slacks and multipliers there."""
    change = np.empty(w.shape[1])
    products = 0.0
    for k in range(len(w)):
        _change(net, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            wider = 1 + a * change[e]
            w[k, e] /= wider
            p[k, e] *= wider * (1 + b * (aim[k, e] - change[e]))
            products += shares[k] * p[k, e]
    return products


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(net, flow, into):
    """Add G' times a flow."""
    first, _, back, _, fall = net
    for i in range(len(into)):
        for e in range(first[i], first[i + 1]):
            into[i] += flow[back[e]] - fall[e] * flow[e]


@njit(cache=True, nogil=True, error_model="numpy")
def _free(fill, near, far, ray, number, place, bends, cores, along, rest):
    """Solve H_k v = ``rest``: v is ``along`` tight edges, and what differs, left in ``rest``."""
    n, parts = len(ray), place[1]
    bend = bends[place[0] * n : (place[0] + parts) * n].reshape(parts, n)
    core = cores[place[2] : place[2] + parts * parts].reshape(parts, parts)
    share = np.zeros(parts)
    for i in range(n):
        if number[i] >= 0:
            share[number[i]] += ray[i] * rest[i]
    for c in range(parts):
        share[c] -= bend[c] @ rest
        for s in range(c):
            share[c] -= core[c, s] * share[s]
        share[c] /= core[c, c]
    for c in range(parts - 1, -1, -1):
        for s in range(c + 1, parts):
            share[c] -= core[s, c] * share[s]
        share[c] /= core[c, c]
    _solved(fill, near, far, rest)
    for c in range(parts):
        rest -= share[c] * bend[c]
    for i in range(n):
        along[i] = ray[i] * share[number[i]] if number[i] >= 0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _sides(
    net, shares, aim, w, p, lack, fill, near, far, rays, numbers, tight, held, place, bends, tall,
    cores, side, v,
):  # fmt: skip
    """Solve H_k v = G' (aim w p) - lack for each guess; keep the right side too."""
    along, flow = np.empty(v.shape[1]), np.empty(w.shape[1])
    for k in range(len(aim)):
        for e in range(len(flow)):
            flow[e] = aim[k, e] * w[k, e] * p[k, e]
        side[k] = -lack[k]
        _spread(net, flow, side[k])
        v[k] = side[k]
        _free(fill, near[k], far[k], rays[k], numbers[k], place[k], bends, cores, along, v[k])
        v[k] += along


@njit(cache=True, nogil=True, error_model="numpy")
def _moved(
    net, shares, side, fill, near, far, rays, numbers, tight, held, place, bends, tall, cores,
    losses, price, prior, along, rest,
):  # fmt: skip
    """Find the direction of columns for prices and prior."""
    for k in range(len(side)):
        rest[k] = side[k] + price - losses[k] * prior
        _free(fill, near[k], far[k], rays[k], numbers[k], place[k], bends, cores, along[k], rest[k])
