r"""Pricing by linear programming, for graphs without a structure to follow.

The columns are normalised to sum 1, so that every guess has the same feasible set and a
simplex basis of the last round starts the next. A vertex has a spanning tree of tight edges;
the heights are read off that tree and are exact, however small the numbers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.optimize.problem import Floats, Heights, Ints, Problem


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
            heights[q] = self._tree_heights(tree, anchor)
            ray = self._problem.alpha ** heights[q].astype(float)
            values[q] = weights[:, q] @ ray
            # Whatever the solver's tolerances were: w - Aᵀy ≥ -s·1 proves w·r ≥ -s·Σr.
            covered = np.bincount(self._to, multipliers, n)
            covered -= np.bincount(self._from, multipliers * self._factor, n)
            shortfall[q] = max(0.0, float((covered - weights[:, q]).max()))
        return values, heights, shortfall

    def multipliers(self, weights: Floats, anchor: int) -> Floats:
        """Return edge multipliers y ≥ 0 with Aᵀy ≤ weights up to a multiple of 1."""
        return self._solve(weights, anchor)[0]

    def _solve(self, weights: Floats, anchor: int) -> tuple[Floats, Ints]:
        n = self._problem.size
        solver = self._solver
        scale = 1.0 / max(float(np.abs(weights).max()), 1e-300)
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

    def _tree_heights(self, tight: Ints, anchor: int) -> Heights:
        """Heights along the tight edges, starting with 0 at the anchor."""
        n = self._problem.size
        beside: list[list[tuple[int, Any]]] = [[] for _ in range(n)]
        for e in tight.tolist():
            i, j, length = int(self._from[e]), int(self._to[e]), self._length[e]
            beside[i].append((j, length))
            beside[j].append((i, -length))
        heights = np.zeros(n, self._length.dtype)
        seen = np.zeros(n, bool)
        seen[anchor] = True
        stack = [anchor]
        while stack:
            i = stack.pop()
            for j, step in beside[i]:
                if not seen[j]:
                    seen[j] = True
                    heights[j] = heights[i] + step
                    stack.append(j)
        return heights
