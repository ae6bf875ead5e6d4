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

from tightrope.optimize.cuts import join_tight
from tightrope.optimize.elimination import elimination
from tightrope.optimize.loops import compiled, loop
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
CORRECTORS = 6
CENTRAL = (0.1, 10.0)
#: So many times the answers are the largest parts, which are kept apart near the end. Where they
#: were chosen by their size, or slacks of 1e-3 were tight, sum(36,7) stayed at gaps of 1e-8.
LARGE_PARTS = 4
#: Most steps, and most of them without progress by a tenth; the method mostly takes fifty.
MOST_STEPS = 200
PATIENCE = 8


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
    >>> *_, last = interior_points(ExpectedLoss(problem))
    >>> last.columns[0].round(9).tolist(), last.prices.sum().round(9)
    ([0.5, 0.25, 0.25], np.float64(0.5))
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    with ThreadPoolExecutor(processors()) as pool:
        path = _Path(objective, pool)
        least_products = np.inf
        idle = 0
        for _ in range(MOST_STEPS):
            try:
                # The threads of the guesses are busy: more of them would only be in their way.
                with (
                    np.errstate(all="ignore"),
                    controller.limit(limits=1, user_api="blas"),
                ):
                    path.advance()
            except (
                ValueError
            ):  # SciPy refuses a matrix with entries that are not finite
                return
            point = path.point()
            if not np.isfinite(point.gap):
                return
            yield point
            # Products, not their part of the value: that stays while both fall.
            idle += 1
            if path.products < 0.9 * least_products:
                least_products = path.products
                idle = 0
            if point.gap < ROUND_OFF or idle >= PATIENCE:
                return


def interior_effort(problem: Problem, guesses: Ints) -> float:
    """Return about how many seconds of one processor the method takes.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(200, 5), Epsilon.of(1), np.ones((200, 200)))
    >>> 1 < interior_effort(problem, problem.guesses) < 10
    True
    """
    n = problem.size
    ends = 2 * len(problem.edges)
    work = elimination(problem).work
    # Seconds per guess and step, measured: inverses, products with the fill, loops over edges.
    own = 8e-10 * n * n + 1.6e-10 * n * work + 2.2e-8 * work + 8e-8 * ends
    return 50 * (0.005 + len(guesses) * own)


@dataclass(frozen=True, eq=False)
class _Direction:
    """A direction of the iterates.

    Everything has two parts: of all guesses, one row each, and of the loss rows, one row in all.

    Parameters
    ----------
    aim
        By which part of itself each product of slack and multiplier shall change.
    along, rest
        How variables change: by multiples of what falls along tight edges, and by the rest.
    """

    aim: tuple[Floats, Floats]
    along: tuple[Floats, Floats]
    rest: tuple[Floats, Floats]

    def part(self, kind: int) -> tuple[Floats, Floats, Floats]:
        return self.aim[kind], self.along[kind], self.rest[kind]


class _Path:
    """The iterates: columns x, slacks z and multipliers y for each guess, and prices of classes.

    Of slacks and multipliers the inverses w = 1/z and the products p = zy are kept: every loop over
    the edges works with these. They have two parts: those of all guesses, and those of the loss
    rows.
    """

    def __init__(self, objective: Objective, pool: ThreadPoolExecutor) -> None:
        r"""Start where both programs are feasible and products of slack and multiplier alike.

        All columns are equal. With :math:`y = \beta + G (G^T G)^{-1} r` for a high :math:`\beta`
        the multipliers prove low prices exactly, r being what is left of the costs.
        """
        assert objective.loss_rows is not None
        losses, support = objective.loss_rows
        problem = objective.problem
        guesses = objective.guesses
        self.problem = problem
        self.pool = pool
        elimination_order = elimination(problem)
        self.order = elimination_order.order
        self.fill = elimination_order.fill
        self.network: Any = arcs(problem, np.argsort(self.order))[1]
        # Costs of order 1: steps and tolerances have no unit.
        self.unit = float(np.abs(problem.costs).mean()) or 1.0
        self.costs, self.losses = (
            np.ascontiguousarray(matrix[np.ix_(self.order, guesses)].T) / self.unit
            for matrix in (problem.costs, losses)
        )
        self.shares = np.array([problem.copies[k] for k in guesses.tolist()], float)
        # The classes of answers that have a loss row.
        self.rows = np.unique(problem.classes[support])
        first, end, _, _, fall = self.network
        count = len(guesses)
        n = problem.size
        start = np.repeat(np.arange(n), np.diff(first))
        # Equal columns are strictly private: every slack is (1 - α^|e|)·x.
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
        self.is_refined = False
        self.blocks: Any = self._split()
        # With p w² = 1 the first of the H_k is G' G, the same for all.
        unit_weights = 1 / z[:1], z[:1] ** 2, self.parts[2]
        no_losses = self.losses[:, :0]
        compiled(_factor)(
            self.network, self.shares, 0, 1, unit_weights, no_losses, self.blocks
        )
        self.prices = (
            self._by_class(self.costs) * problem.class_sizes / self.shares.sum()
        )
        rest = self.costs - self._by_node(self.prices)
        for row in rest:
            compiled(_solve)(self.fill, self.factor[0][0], self.factor[1][0], row)
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
        self.sum_worth = float(np.abs(self.costs).sum(axis=1).min()) / (
            1 - float(fall.max(initial=0))
        )
        self.products = float(self.shares @ y.sum(axis=1)) + float(self.p[1].sum())
        own: Any = np.arange(len(self.rows))
        #: A loss row is like an edge whose slack is a variable.
        self.row_network = np.arange(len(own) + 1), own, own, 0.0 * own, 0.0 * own
        self.tight = self.parts[2], np.zeros((1, len(own)), np.bool_)
        # What a step works with is kept: fresh memory would cost as much as the numbers in it.
        self.side = np.empty_like(self.x)
        still = np.zeros_like(self.x), np.zeros_like(self.p[1])
        self.directions = [self._direction() for _ in range(2)]
        self.still = _Direction(self.directions[0].aim, still, still)

    def _direction(self) -> _Direction:
        """Make room for a direction."""
        aim, *moves = (
            (np.zeros_like(of_guesses), np.zeros_like(self.p[1]))
            for of_guesses in (self.p[0], self.x, self.x)
        )
        return _Direction(aim, *moves)

    def point(self) -> Interior:
        """Return the present iterate, in the order of the answers."""
        columns = np.empty_like(self.x)
        columns[:, self.order] = self.x
        problem = self.problem
        prior = np.zeros(0)
        prices = self.unit * (self.prices / problem.class_sizes)[problem.classes]
        value = float(self.shares @ (self.costs * self.x).sum(axis=1))
        if len(self.rows):
            # The multipliers of the loss rows are a prior, up to their sum.
            by_class = self._on_rows(self.prior / self.prior.sum())
            prior = (by_class / problem.class_sizes)[problem.classes]
            value = float(self._lost(self.x).max())
        gap = self.products / max(abs(value), 1e-300)
        return Interior(columns, prices, prior, self.unit * value, gap)

    def _each(self, kernel: Callable[..., Any], *given: Any) -> list[Any]:
        """Run a compiled loop on the guesses, so many at a time as there are processors."""
        count = len(self.x)
        size = -(-count // processors())

        def run(begin: int) -> Any:
            stop = min(begin + size, count)
            return compiled(kernel)(self.network, self.shares, begin, stop, *given)

        # This thread takes the first of them: a short loop is over before another has begun.
        others = [self.pool.submit(run, begin) for begin in range(size, count, size)]
        return [run(0), *(other.result() for other in others)]

    def _pairs(
        self, kernel: Callable[..., Any], direction: _Direction, *given: Any
    ) -> list[Any]:
        """Run a compiled loop along a direction, on the guesses and on the loss rows."""
        guesses, rows = (
            [
                (self.w[kind], self.p[kind], self.tight[kind]),
                direction.part(kind),
                *(part[kind] if isinstance(part, tuple) else part for part in given),
            ]
            for kind in (0, 1)
        )
        of_rows = compiled(kernel)(self.row_network, np.ones(1), 0, 1, *rows)
        return [*self._each(kernel, *guesses), of_rows]

    def _carried(self, direction: _Direction) -> Floats:
        """Return what changes of multipliers carry to the nodes."""
        spread = np.empty_like(self.x)
        point = self.w[0], self.p[0], self.tight[0]
        self._each(_carried, point, direction.part(0), spread)
        return spread

    def _by_node(self, by_class: Floats) -> Floats:
        problem = self.problem
        return (by_class / problem.class_sizes)[problem.classes[self.order]]

    def _by_class(self, columns: Floats) -> Floats:
        problem = self.problem
        total = np.bincount(problem.classes[self.order], self.shares @ columns)
        return total / problem.class_sizes

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

    def _loss_residual(self) -> Floats:
        """Return by how much losses and slacks miss their mean, the worst loss."""
        level = self._lost(self.x) + 1 / self.w[1]
        return np.asarray(
            (self.prior @ level.T) / max(self.prior.sum(), 1e-300) - level
        )

    def _split(self) -> Any:
        """Join the nodes of each guess by its tight edges; make room for the largest parts.

        They are kept apart from the first time that a direction has to be refined.
        """
        n = self.problem.size
        number = self.parts[1]
        sizes = np.zeros_like(self.x)
        self._each(_join_tight, self.x, sizes, self.parts)
        most = min(LARGE_PARTS * n, sizes.size) if self.is_refined else 0
        large = sizes < 0
        if most:
            large = sizes >= max(np.partition(sizes, -most, None)[-most], 1e-300)
        counts = large.sum(axis=1)
        # The number of each node's part where that is kept apart.
        names = np.where(large, np.cumsum(large, axis=1) - 1, -1)
        number[:] = np.take_along_axis(names, number, axis=1)
        squares = counts**2
        place = np.stack(
            [np.cumsum(counts) - counts, counts, np.cumsum(squares) - squares], 1
        )
        entries = int(counts.sum()) * n
        room = np.empty(entries), np.empty(entries), np.empty(int(squares.sum()))
        return self.fill, self.factor, self.parts, (large, place, *room)

    def _system(self) -> Callable[[Floats], list[Floats]]:
        """Factor the matrices of all guesses; return what solves for prices, prior and loss."""
        from scipy.sparse import csr_array

        n = self.problem.size
        problem = self.problem
        row_count = len(self.rows)
        classes = problem.classes[self.order]
        class_count = len(problem.class_sizes)
        weights = 1 / problem.class_sizes[classes]
        mean = csr_array((weights, (classes, np.arange(n))), (class_count, n))
        losses = self.losses if row_count else self.losses[:, :0]
        self.blocks = self._split()
        point = self.w[0], self.p[0], self.tight[0]
        sums = sum(self._each(_factor, point, losses, self.blocks))
        # Only the upper half was summed over the guesses.
        sums[0] = np.triu(sums[0]) + np.triu(sums[0], 1).T
        whole, *others = (mean @ (mean @ part.T).T for part in sums)
        _, place, _, tall, _ = self.blocks[3]
        tall = tall.reshape(-1, n)
        large = (mean @ tall.T).T
        if others:
            # The loss rows border the system: [[Σ H⁻¹, -Σ H⁻¹ L], [-Σ L H⁻¹, Σ L H⁻¹ L + D]].
            cross = others[0][:, self.rows]
            both = others[1][np.ix_(self.rows, self.rows)]
            both[np.diag_indices(row_count)] += 1 / (self.p[1] * self.w[1] ** 2)[0]
            whole = np.block([[whole, -cross], [-cross.T, both]])
            lost = np.repeat(self.losses, place[:, 1], axis=0) * tall
            large = np.hstack([large, -(mean @ lost.T).T[:, self.rows]])
        solve = _solver(whole, large)
        if not others:
            return lambda side: [solve(side), side[:0], side[:0]]
        # The prior sums to 1; the multiplier of that is the worst loss.
        total = np.append(np.zeros(class_count), np.ones(row_count))
        level = solve(total)

        def bordered(side: Floats) -> list[Floats]:
            unbordered = solve(side[:-1])
            # Eliminate the one bordering row by its Schur complement, a scalar.
            worst = (total @ unbordered - side[-1:]) / (total @ level)
            return [*np.split(unbordered - worst * level, [class_count]), worst]

        return bordered

    def advance(self) -> None:
        """Take one step."""
        prior = self.prior
        best, trial = self.directions
        solve = self._system()
        prior_residual = np.full(min(1, len(self.rows)), 1 - prior.sum())
        for part in best.aim:
            part.fill(-1.0)
        # What is missing of feasibility: in costs, in the sums of rows, and in losses. Without a
        # move all multipliers are aimed away.
        residuals = (
            self.costs - self._by_node(self.prices) + self._carried(self.still),
            1 - self._by_class(self.x),
            self._loss_residual(),
        )

        def find(direction: _Direction, *residuals: Any) -> list[Floats]:
            """Find the direction that meets its aim; return the changes of the multipliers."""
            dual_residual, sum_residual, loss_residual, prior_residual = residuals
            aim = direction.aim
            rest = direction.rest
            point = self.w[0], self.p[0], self.tight[0]
            # Block elimination: columns at fixed prices, then the prices, then the columns again.
            self._each(
                _sides, aim[0], point, dual_residual, self.blocks, self.side, rest[0]
            )
            lost = self._lost(rest[0]) + aim[1] / self.w[1] - loss_residual
            sums = sum_residual - self._by_class(rest[0])
            changes = solve(np.concatenate([sums, lost[0], prior_residual]))
            price = self._by_node(changes[0])
            weight = self._by_node(self._on_rows(changes[1]))
            self._each(
                _move,
                self.side,
                self.blocks,
                self.losses,
                price,
                weight,
                direction.part(0),
            )
            # The relative changes of a slack and of its multiplier add up to the aim.
            rest[1][:] = (aim[1] - changes[1] / prior) / self.w[1]
            return changes

        def reach(direction: _Direction) -> Any:
            """Return the steps to the boundary, of slacks and of multipliers."""
            falls = np.max(self._pairs(_reach, direction), axis=0)
            # The step to the boundary is the inverse of the largest relative fall.
            return 1 / np.maximum(falls, 1e-300)

        def left(direction: _Direction, changes: list[Floats]) -> list[Floats]:
            """Return what a direction leaves of the residuals."""
            price, weight, worst = changes
            dual_residual, sum_residual, loss_residual = residuals
            dual_residual = (
                dual_residual - self._by_node(price) - self._carried(direction)
            )
            dual_residual += self.losses * self._by_node(self._on_rows(weight))
            move = direction.along[0] + direction.rest[0]
            return [
                dual_residual,
                sum_residual - self._by_class(move),
                loss_residual + worst.sum() - self._lost(move) - direction.rest[1],
            ]

        weights = self._weights()
        degrees = np.diff(self.network[0])
        mean = self.products / float(
            self.shares @ weights[0] @ degrees + weights[1].sum()
        )
        # The predictor: straight to the optimum. How far it gets says where to aim.
        find(best, *residuals, prior_residual)
        a, b = np.minimum(1.0, reach(best))
        ahead = sum(self._pairs(_ahead, best, a, b)) / self.products
        # Mehrotra's rule: the cube of the predicted reduction, within limits.
        centre = mean * min(max(min(ahead, 1.0) ** 3, CENTRE[0]), CENTRE[1])
        # Mehrotra corrects products that grow as well, which costs a third more steps.
        self._pairs(_correct, best, weights, centre, mean)
        changes = find(best, *residuals, prior_residual)
        ends = reach(best)
        for _ in range(CORRECTORS):
            # Gondzio's correctors aim at a longer step: half as long again, and a tenth.
            a, b = np.minimum(1.0, 1.5 * ends + 0.1)
            self._pairs(_centre, best, weights, a, b, centre, trial.aim)
            tried = find(trial, *residuals, prior_residual)
            further = reach(trial)
            # A corrector that gains less than 0.01 in the steps is not worth its solve.
            if np.minimum(1.0, further).sum() - np.minimum(1.0, ends).sum() < 0.01:
                break
            changes = tried
            ends = further
            best, trial = trial, best
        # Refine the direction while its residuals would harm the bound by 1 % of the products.
        for part in trial.aim:
            part.fill(0.0)
        rest = left(best, changes)
        before = np.inf
        while 0.01 * self.products < (harm := self._harm(rest)) < before / 2:
            more = find(trial, *rest, 0 * prior_residual)
            changes = [
                change + another for change, another in zip(changes, more, strict=True)
            ]
            for kind in (0, 1):
                best.along[kind][:] += trial.along[kind]
                best.rest[kind][:] += trial.rest[kind]
            ends = reach(best)
            rest = left(best, changes)
            before = harm
            self.is_refined = True
        # Slacks and multipliers stay positive: go 95 % of the way to the boundary.
        a, b = np.minimum(1.0, STEP * ends)
        self.x += a * (best.along[0] + best.rest[0])
        self.prices += b * changes[0]
        self.products = float(sum(self._pairs(_step, best, a, b)))
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

    def _harm(self, residuals: list[Floats]) -> float:
        """Return by what residuals lower the sum of all prices, and add to the loss."""
        dual, sums, losses = map(np.abs, residuals)
        return float(
            dual.max(axis=0).sum()
            + self.sum_worth * sums.max()
            + losses.max(initial=0.0)
        )


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
    own = 1 / np.sqrt(size)
    root = 1 / np.sqrt(total)
    scaled = small * own * own[:, None] + len(own) * 2.0**-52 * np.eye(len(own))
    triangle = cholesky(scaled) * (root / own)
    if len(large):
        rows = np.vstack([large * root, triangle])
        # Rows in falling order of size keep the small ones accurate in a QR factorisation.
        rows = rows[np.argsort(-np.abs(rows).max(axis=1))]
        triangle = qr(rows, mode="r", overwrite_a=True)[0][: len(own)]

    def solve(side: Floats) -> Floats:
        return np.asarray(
            root
            * solve_triangular(
                triangle, solve_triangular(triangle, root * side, trans=1)
            )
        )

    return solve


# -- compiled loops -----------------------------------------------------------------------
#
# They get the network, the shares of the guesses, and the range of guesses to go through. The
# blocks of all guesses are the fill, the factors (near, far), the parts (rays, numbers, tight)
# and the large parts (held, place, bends, tall, cores); see _factor.


@loop
def _join_tight(network, shares, begin, stop, x, sizes, parts):
    """Join the nodes of some guesses by tight edges."""
    rays, numbers, tight = parts
    join_tight(
        network, x[begin:stop], sizes[begin:stop], rays[begin:stop], numbers[begin:stop],
        tight[begin:stop],
    )  # fmt: skip


@loop
def _factor(network, shares, begin, stop, point, losses, blocks):
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
    first, end, _, _, fall = network
    fill, (near, far), (rays, _, tight), (held, place, _, _, _) = blocks
    size, (ends, tails), begins, reached = fill[0], fill[1], fill[2], fill[3]
    w, p, _ = point
    n = rays.shape[1]
    whole = np.zeros((3 if losses.size else 1, n, n))
    inverse = np.zeros((n, n))
    work = np.zeros((n, n))
    left = np.empty(n)
    noise = np.empty(n)
    most = 0
    for block in range(len(begins) - 1):
        most = max(most, begins[block + 1] - begins[block])
    both = np.zeros((most, most))
    for k in range(begin, stop):
        left[:] = 0.0
        noise[:] = 0.0
        ray = rays[k]
        fixed = held[k]
        # The entries of F above its diagonal, and F r with its round-off.
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                j = end[e]
                # The entry of diag(y/z), as p = zy and w = 1/z.
                d = p[k, e] * w[k, e] * w[k, e]
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
            top = block * size
            bottom = min(top + size, n)
            behind = reached[begins[block] : begins[block + 1]]
            panel = far[k, size * begins[block] : size * begins[block + 1]].reshape(
                size, -1
            )
            panel[bottom - top :] = 0.0
            # Take the rows of the block out of the matrix that is worked on.
            for i in range(top, bottom):
                for j in range(top, bottom):
                    near[k, i, j - top] = work[i, j]
                    work[i, j] = 0.0
                for c in range(len(behind)):
                    panel[i - top, c] = work[i, behind[c]]
                    work[i, behind[c]] = 0.0
            for i in range(top, bottom):
                row = near[k, i]
                tail = panel[i - top]
                pivot = left[i]
                for j in range(i + 1, ends[i]):
                    pivot -= row[j - top] * ray[j]
                for c in range(tails[i]):
                    pivot -= tail[c] * ray[behind[c]]
                # Without the entries right of the diagonal, what is left of (F r)_i is pivot·r_i.
                pivot = (max(pivot, 0.0) + noise[i]) / ray[i]
                if fixed[i]:
                    # w is 0 at a held node: an infinite pivot eliminates it.
                    pivot = np.inf
                row[i - top] = pivot
                # Subtract the row from those below it in the block …
                for j in range(i + 1, ends[i]):
                    factor = row[j - top] / pivot
                    if factor != 0.0:
                        left[j] -= factor * left[i]
                        noise[j] -= factor * noise[i]
                        for t in range(j + 1 - top, ends[i] - top):
                            near[k, j, t] -= factor * row[t]
                        for c in range(tails[i]):
                            panel[j - top, c] -= factor * tail[c]
                    row[j - top] = factor
                # … and, together with the other rows of the block, from those behind it.
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
            _core(network, shares[k], w[k], p[k], blocks, k)
        _invert(fill, near[k], far[k], inverse)
        for i in range(n):
            for j in range(i, n):
                whole[0, i, j] += shares[k] * inverse[i, j]
            for j in range(losses.shape[1]):
                lost = shares[k] * inverse[min(i, j), max(i, j)] * losses[k, j]
                whole[1, i, j] += lost
                whole[2, i, j] += losses[k, i] * lost
    return whole


@loop
def _invert(fill, near, far, inverse):
    """Compute the upper half of the inverse of L D L', from below, block by block.

    All rows of a block are the same few rows behind it times what L makes of them: a product of
    matrices, which takes a fraction of the time of as many sums of rows.
    """
    size, (ends, tails), begins, reached, starts, mirrored = fill
    n = len(near)
    for block in range(len(begins) - 2, -1, -1):
        top = block * size
        bottom = min(top + size, n)
        behind = reached[begins[block] : begins[block + 1]]
        if len(behind):
            factors = -far[size * begins[block] : size * begins[block + 1]].reshape(
                size, -1
            )
            # Substitute inside the block, so that all its rows refer to rows behind it only.
            for i in range(bottom - 2, top - 1, -1):
                own = factors[i - top]
                for j in range(i + 1, ends[i]):
                    factor = near[i, j - top]
                    other = factors[j - top]
                    for c in range(len(own)):
                        own[c] -= factor * other[c]
            # The rows of the inverse behind the block, gathered for one product of matrices.
            known = np.empty((len(behind), n - bottom))
            for c in range(len(behind)):
                for j in range(bottom, n):
                    known[c, j - bottom] = inverse[behind[c], j]
            rows = factors @ known
            for i in range(top, bottom):
                for j in range(bottom, n):
                    inverse[i, j] = rows[i - top, j - bottom]
        else:
            inverse[top:bottom, bottom:] = 0.0
        # Rows further up read these entries below the diagonal.
        for j in mirrored[starts[block] : starts[block + 1]]:
            for i in range(top, bottom):
                inverse[j, i] = inverse[i, j]
        for i in range(bottom - 1, top - 1, -1):
            row = inverse[i]
            row[i:bottom] = 0.0
            for j in range(i + 1, ends[i]):
                factor = near[i, j - top]
                other = inverse[j]
                for t in range(i + 1, bottom):
                    row[t] -= factor * other[t]
            tail = far[size * begins[block] + (i - top) * len(behind) :]
            for c in range(tails[i]):
                factor = tail[c]
                other = inverse[behind[c]]
                for t in range(i + 1, bottom):
                    row[t] -= factor * other[t]
            row[i] = 1.0 / near[i, i - top]
            # The diagonal comes last: Z_ii = 1/D_i - Σ_j L_ji·Z_ji.
            for j in range(i + 1, ends[i]):
                row[i] -= near[i, j - top] * row[j]
            for c in range(tails[i]):
                row[i] -= tail[c] * row[behind[c]]
            for j in range(i + 1, bottom):
                inverse[j, i] = row[j]


@loop
def _of_parts(rows, place, n):
    """Return the rows of one guess's large parts."""
    return rows[place[0] * n : (place[0] + place[1]) * n].reshape(place[1], n)


@loop
def _core(network, share, w, p, blocks, k):
    """Compute J, the factor of E, and the large part of the inverse of one H_k.

    E too has next to no positive entries beside its diagonal: as in F, pivots are what is left of
    E 1, without the diagonal.
    """
    first, end, _, _, fall = network
    fill, (near, far), (rays, numbers, all_tight), (_, places, bends, tall, cores) = (
        blocks
    )
    ray = rays[k]
    number = numbers[k]
    tight = all_tight[k]
    place = places[k]
    n = len(ray)
    parts = place[1]
    bend = _of_parts(bends, place, n)
    rows = _of_parts(tall, place, n)
    core = cores[place[2] : place[2] + parts * parts].reshape(parts, parts)
    rows[:] = 0.0
    core[:] = 0.0
    # H_k P 1, and its round-off.
    whole = np.zeros(n)
    doubt = np.zeros(n)
    for i in range(n):
        a = number[i]
        for e in range(first[i], first[i + 1]):
            if tight[e]:
                continue
            j = end[e]
            d = p[e] * w[e] * w[e]
            b = number[j]
            up = ray[j] if b >= 0 else 0.0
            down = fall[e] * ray[i] if a >= 0 else 0.0
            push = d * (up - down)
            whole[j] += push
            whole[i] -= fall[e] * push
            doubt[j] += ROUND_OFF * abs(push)
            doubt[i] += ROUND_OFF * fall[e] * abs(push)
            # Inside a part only the difference matters: the two would cancel.
            if a == b:
                up = up - down
                down = 0.0
            if b >= 0:
                rows[b, j] += d * up
                rows[b, i] -= fall[e] * d * up
            if a >= 0:
                rows[a, j] -= d * down
                rows[a, i] += fall[e] * d * down
            if a >= 0 and b >= 0:
                core[max(a, b), min(a, b)] -= d * up * down
    # J' = (H_k P)' F^{-1}, and E below its diagonal.
    for c in range(parts):
        for i in range(n):
            bend[c, i] = rows[c, i]
        _solve(fill, near[k], far[k], bend[c])
        for b in range(c):
            core[c, b] -= rows[b] @ bend[c]
    # (P - J)'
    for c in range(parts):
        for i in range(n):
            rows[c, i] = -bend[c, i]
    for i in range(n):
        if number[i] >= 0:
            rows[number[i], i] += ray[i]
    left = rows @ whole
    noise = np.abs(rows) @ doubt
    # E = L L', and L^{-1} (P - J)'
    rows *= np.sqrt(share)
    for c in range(parts):
        # A pivot is what is left of E 1, less the entries below the diagonal: nothing cancels.
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
            for i in range(n):
                rows[b, i] -= core[b, c] * rows[c, i]


@loop
def _solve(fill, near, far, v):
    """Solve L D L' v = v in place."""
    size, (ends, tails), begins, reached = fill[0], fill[1], fill[2], fill[3]
    n = len(v)
    room = np.empty(n)
    # Forward substitution; what a block sends behind it is gathered and subtracted once.
    for block in range(len(begins) - 1):
        top = block * size
        at = size * begins[block]
        behind = reached[begins[block] : begins[block + 1]]
        room[: len(behind)] = 0.0
        for i in range(top, min(top + size, n)):
            for j in range(i + 1, ends[i]):
                v[j] -= near[i, j - top] * v[i]
            for c in range(tails[i]):
                room[c] += far[at + c] * v[i]
            at += len(behind)
        for c in range(len(behind)):
            v[behind[c]] -= room[c]
    # Backward substitution, with D divided out on the way.
    for block in range(len(begins) - 2, -1, -1):
        top = block * size
        bottom = min(top + size, n)
        behind = reached[begins[block] : begins[block + 1]]
        at = size * begins[block] + (bottom - top) * len(behind)
        for c in range(len(behind)):
            room[c] = v[behind[c]]
        for i in range(bottom - 1, top - 1, -1):
            at -= len(behind)
            value = v[i] / near[i, i - top]
            for j in range(i + 1, ends[i]):
                value -= near[i, j - top] * v[j]
            for c in range(tails[i]):
                value -= far[at + c] * room[c]
            v[i] = value


@loop
def _change(network, w, along, rest, tight, change):
    """Find by which part of them the slacks of one guess change in a direction.

    Those of tight edges change by what differs from multiples of r alone, too little to be seen in
    the sum. A multiplier changes by the part that is left of the aim.
    """
    first, end, _, _, fall = network
    split = False
    for i in range(len(along)):
        split = split or along[i] != 0.0
    for i in range(len(rest)):
        for e in range(first[i], first[i + 1]):
            wider = rest[end[e]] - fall[e] * rest[i]
            if split and not tight[e]:
                wider += along[end[e]] - fall[e] * along[i]
            change[e] = wider * w[e]


@loop
def _reach(network, shares, begin, stop, point, direction):
    """Return by which part of them slacks and multipliers fall at most."""
    w, _, tight = point
    aim, along, rest = direction
    change = np.empty(w.shape[1])
    slack_fall = 0.0
    multiplier_fall = 0.0
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            slack_fall = max(slack_fall, -change[e])
            multiplier_fall = max(multiplier_fall, change[e] - aim[k, e])
    return slack_fall, multiplier_fall


@loop
def _ahead(network, shares, begin, stop, point, direction, a, b):
    """Return the sum of the products of slacks and multipliers along a direction."""
    w, p, tight = point
    aim, along, rest = direction
    change = np.empty(w.shape[1])
    products = 0.0
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            # (1 + a ż/z)(1 + b ẏ/y), where ẏ/y is what ż/z leaves of the aim
            growth = (1 + a * change[e]) * (1 + b * (aim[k, e] - change[e]))
            products += shares[k] * p[k, e] * growth
    return products


@loop
def _correct(network, shares, begin, stop, point, direction, weights, centre, most):
    """Aim at products like the weights, less what a direction gains in them, up to ``most``."""
    w, p, tight = point
    aim, along, rest = direction
    first = network[0]
    change = np.empty(w.shape[1])
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for i in range(len(rest[k])):
            for e in range(first[i], first[i + 1]):
                share = weights[k, i] / p[k, e]
                # ż·ẏ/(zy), the second-order term that Newton's method neglects.
                gained = change[e] * (aim[k, e] - change[e])
                aim[k, e] = centre * share - 1 - min(gained, most * share)


@loop
def _centre(
    network, shares, begin, stop, point, direction, weights, a, b, centre, new_aim
):
    """Aim at products that are not far from the weights, further along a direction."""
    w, p, tight = point
    aim, along, rest = direction
    first = network[0]
    change = np.empty(w.shape[1])
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for i in range(len(rest[k])):
            least = CENTRAL[0] * centre * weights[k, i]
            most = CENTRAL[1] * centre * weights[k, i]
            for e in range(first[i], first[i + 1]):
                growth = (1 + a * change[e]) * (1 + b * (aim[k, e] - change[e]))
                product = p[k, e] * growth
                # Project the product onto [least, most]; a single correction is bounded (Gondzio).
                off = max(min(max(product, least), most) - product, -most)
                new_aim[k, e] = aim[k, e] + off / p[k, e]


@loop
def _carried(network, shares, begin, stop, point, direction, spread):
    """Compute G' times the changes of multipliers for each guess."""
    w, p, tight = point
    aim, along, rest = direction
    change = np.empty(w.shape[1])
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            change[e] = p[k, e] * w[k, e] * (aim[k, e] - change[e])
        spread[k] = 0.0
        _spread(network, change, spread[k])


@loop
def _step(network, shares, begin, stop, point, direction, a, b):
    """Go along a direction; return the products of slacks and multipliers there."""
    w, p, tight = point
    aim, along, rest = direction
    change = np.empty(w.shape[1])
    products = 0.0
    for k in range(begin, stop):
        _change(network, w[k], along[k], rest[k], tight[k], change)
        for e in range(len(change)):
            # Slacks grow by this factor, so w = 1/z is divided by it.
            wider = 1 + a * change[e]
            w[k, e] /= wider
            p[k, e] *= wider * (1 + b * (aim[k, e] - change[e]))
            products += shares[k] * p[k, e]
    return products


@loop
def _spread(network, flow, into):
    """Add G' times a flow."""
    first, _, back, _, fall = network
    for i in range(len(into)):
        for e in range(first[i], first[i + 1]):
            # (G'y)_i = Σ_h y(h→i) - Σ_h α^|ih|·y(i→h)
            into[i] += flow[back[e]] - fall[e] * flow[e]


@loop
def _split_solve(blocks, k, along, rest):
    """Solve H_k v = ``rest``: v is ``along`` tight edges, and what differs, left in ``rest``."""
    fill, (near, far), (rays, numbers, _), (_, places, bends, _, cores) = blocks
    ray = rays[k]
    number = numbers[k]
    place = places[k]
    n = len(ray)
    parts = place[1]
    bend = _of_parts(bends, place, n)
    core = cores[place[2] : place[2] + parts * parts].reshape(parts, parts)
    # u = E^{-1} (P - J)' rest
    share = np.zeros(parts)
    for i in range(n):
        if number[i] >= 0:
            share[number[i]] += ray[i] * rest[i]
    # Forward, then backward substitution with E = L L'.
    for c in range(parts):
        share[c] -= bend[c] @ rest
        for s in range(c):
            share[c] -= core[c, s] * share[s]
        share[c] /= core[c, c]
    for c in range(parts - 1, -1, -1):
        for s in range(c + 1, parts):
            share[c] -= core[s, c] * share[s]
        share[c] /= core[c, c]
    # v = P u + (F^{-1} rest - J u)
    _solve(fill, near[k], far[k], rest)
    for c in range(parts):
        for i in range(n):
            rest[i] -= share[c] * bend[c, i]
    for i in range(n):
        along[i] = ray[i] * share[number[i]] if number[i] >= 0 else 0.0


@loop
def _sides(network, shares, begin, stop, aim, point, residual, blocks, side, v):
    """Solve H_k v = G' (aim w p) - residual for each guess; keep the right side too."""
    w, p, _ = point
    along = np.empty(v.shape[1])
    flow = np.empty(w.shape[1])
    for k in range(begin, stop):
        for e in range(len(flow)):
            flow[e] = aim[k, e] * w[k, e] * p[k, e]
        for i in range(len(along)):
            side[k, i] = -residual[k, i]
        _spread(network, flow, side[k])
        for i in range(len(along)):
            v[k, i] = side[k, i]
        _split_solve(blocks, k, along, v[k])
        for i in range(len(along)):
            v[k, i] += along[i]


@loop
def _move(network, shares, begin, stop, side, blocks, losses, price, weight, direction):
    """Find the direction of columns for changes of prices and prior."""
    _, along, rest = direction
    for k in range(begin, stop):
        for i in range(len(price)):
            rest[k, i] = side[k, i] + price[i] - losses[k, i] * weight[i]
        _split_solve(blocks, k, along[k], rest[k])
