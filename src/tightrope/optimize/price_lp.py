r"""Pricing by linear programming, for graphs without a structure to follow.

The columns are normalised to sum 1, so that every guess has the same feasible set and a
simplex basis of the last round starts the next. A vertex has a spanning tree of tight edges;
the heights are read off that tree and are exact, however small the numbers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.optimize.problem import Floats, Heights, Ints, Problem

#: Weights are scaled to this size, so that the solver's absolute tolerance is a small part.
WEIGHT_SCALE = 1.0


class LinearPricer:
    """Cheapest rays on any graph.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> pricer = LinearPricer(Problem(Cycle(4), Epsilon.of("ln(2)"), np.ones((4, 4))))
    >>> _, heights, _ = pricer.cheapest(np.array([[-1.0], [1], [1], [1]]), np.array([0]))
    >>> heights.tolist()
    [[0, 1, 2, 1]]
    """

    def __init__(self, problem: Problem) -> None:
        import highspy

        self._problem = problem
        edges = problem.edges
        self._from = np.concatenate([edges[:, 0], edges[:, 1]])
        self._to = np.concatenate([edges[:, 1], edges[:, 0]])
        self._length = np.tile(problem.lengths, 2)
        self._factor = problem.alpha ** self._length.astype(float)
        self._bases: dict[int, Any] = {}
        n, rows = problem.size, len(self._from)
        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("primal_feasibility_tolerance", 1e-10),
            ("dual_feasibility_tolerance", 1e-10),
        ):
            solver.setOptionValue(option, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n, rows + 1
        lp.col_cost_, lp.col_lower_ = np.zeros(n), np.zeros(n)
        lp.col_upper_ = np.full(n, highspy.kHighsInf)
        lp.row_lower_ = np.append(np.zeros(rows), 1.0)
        lp.row_upper_ = np.append(np.full(rows, highspy.kHighsInf), 1.0)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.append(np.arange(0, 2 * rows + 1, 2), 2 * rows + n)
        pairs = np.stack([self._from, self._to], axis=1).ravel()
        lp.a_matrix_.index_ = np.concatenate([pairs, np.arange(n)])
        factors = np.stack([-self._factor, np.ones(rows)], axis=1).ravel()
        lp.a_matrix_.value_ = np.concatenate([factors, np.ones(n)])
        solver.passModel(lp)
        self._solver = solver
        self._nonbasic = highspy.HighsBasisStatus.kLower

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Heights, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        n, count = weights.shape
        values, shortfall = np.empty(count), np.zeros(count)
        heights = np.zeros((count, n), self._length.dtype)
        for q, anchor in enumerate(anchors.tolist()):
            multipliers, tree = self._solve(weights[:, q], anchor)
            heights[q], way = self._tree_heights(tree, anchor)
            ray = self._problem.alpha ** heights[q].astype(float)
            values[q] = weights[:, q] @ ray
            shortfall[q] = self._shortfall(weights[:, q], multipliers)
            if shortfall[q] > 0 and len(way) == n - 1:
                exact = self._along_tree(weights[:, q], ray, way)
                shortfall[q] = min(shortfall[q], self._shortfall(weights[:, q], exact))
        return values, heights, shortfall

    def _shortfall(self, weights: Floats, multipliers: Floats) -> float:
        """Return the least s with w - Aᵀy ≥ -s·1: whatever y is, that proves w·r ≥ -s·Σr."""
        n = len(weights)
        covered = np.bincount(self._to, multipliers, n)
        covered -= np.bincount(self._from, multipliers * self._factor, n)
        return max(0.0, float((covered - weights).max()))

    def multipliers(self, weights: Floats, anchor: int) -> Floats:
        """Return edge multipliers y ≥ 0 with Aᵀy ≤ weights up to a multiple of 1."""
        found, tree = self._solve(weights, anchor)
        heights, way = self._tree_heights(tree, anchor)
        if len(way) < self._problem.size - 1:
            return found
        exact = self._along_tree(weights, self._problem.alpha ** heights.astype(float), way)
        return min(found, exact, key=lambda y: self._shortfall(weights, y))

    def _solve(self, weights: Floats, anchor: int) -> tuple[Floats, Ints]:
        n = self._problem.size
        solver = self._solver
        scale = WEIGHT_SCALE / max(float(np.abs(weights).max()), 1e-300)
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), weights * scale)
        basis = self._bases.get(anchor)
        if basis is not None:
            solver.setOptionValue("simplex_strategy", 4)
            solver.setBasis(basis)
        else:
            solver.setOptionValue("simplex_strategy", 1)
            solver.clearSolver()
        solver.run()
        self._bases[anchor] = solver.getBasis()
        dual = np.array(solver.getSolution().row_dual)[:-1] / scale
        status = np.array([int(s) for s in self._bases[anchor].row_status[:-1]])
        return np.maximum(dual, 0.0), np.flatnonzero(status == int(self._nonbasic))

    def _along_tree(self, weights: Floats, ray: Floats, way: list[tuple[int, int, int]]) -> Floats:
        """Multipliers from the tree alone: exact where the solver's are within its tolerance."""
        left = weights - min(float(weights @ ray / ray.sum()), 0.0)
        found = np.zeros(len(self._from))
        for i, j, e in reversed(way):
            # Node j hangs on i by the row x_to - αx_from ≥ 0; it takes up all that is left at j.
            if self._to[e] == j:
                found[e] = left[j]
                left[i] += self._factor[e] * left[j]
            else:
                found[e] = -left[j] / self._factor[e]
                left[i] += left[j] / self._factor[e]
        return np.maximum(found, 0.0)

    def _tree_heights(self, tight: Ints, anchor: int) -> tuple[Heights, list[tuple[int, int, int]]]:
        """Heights along the tight edges from 0 at the anchor, and the way they were reached."""
        n = self._problem.size
        beside: list[list[tuple[int, Any, int]]] = [[] for _ in range(n)]
        for e in tight.tolist():
            i, j, length = int(self._from[e]), int(self._to[e]), self._length[e]
            beside[i].append((j, length, e))
            beside[j].append((i, -length, e))
        heights = np.zeros(n, self._length.dtype)
        seen = np.zeros(n, bool)
        seen[anchor] = True
        stack = [anchor]
        way: list[tuple[int, int, int]] = []
        while stack:
            i = stack.pop()
            for j, step, e in beside[i]:
                if not seen[j]:
                    seen[j] = True
                    heights[j] = heights[i] + step
                    way.append((i, j, e))
                    stack.append(j)
        if not seen.all():
            # Entries too small for the solver: let them fall as fast as privacy allows.
            way_out = self._problem.distances[np.ix_(seen, ~seen)]
            heights[~seen] = (heights[seen][:, None] + way_out).min(axis=0)
        return heights, way
