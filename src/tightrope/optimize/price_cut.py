r"""Pricing by minimum cuts over whole heights, for graphs without a structure to follow.

Let x be the ray with heights h. An edge whose heights differ by 1 is *tight*, and a flow
:math:`\varphi \ge 0` along tight edges, from the lower height to the higher one, stands for
the multipliers :math:`y_{ij} = \varphi_{ij} / x_j`. They prove that x is the cheapest ray
exactly when every node but the anchor takes in :math:`w_i x_i` (negative weights send, positive
ones receive, the anchor does either). Where the largest flow leaves something behind, its
minimum cut says what is wrong with the heights:

- what can still be reached from a sender that is not rid of its flow should be higher on the
  ray: all these heights fall by 1;
- what still leads to a receiver that did not get its share should be lower: they rise by 1.

Either move makes the ray cheaper, and the flow on the edges that stay tight remains. All
guesses are worked on at once, as one graph with a copy of the nodes for each. Maximum flows are
in machine integers, so amounts are rounded down to a quantum; what is left is shipped in the
next step with a smaller quantum, down to the rounding of floats. Nothing depends on the flow
being largest: whatever it is, it proves a bound, and that is what is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.optimize.problem import Floats, Ints, Problem

#: Amounts of one guess are rounded to its total divided by this, so that all fits 32 bits.
QUANTA = float(2**29)
#: Capacity of an arc without a limit.
UNLIMITED = 2**30
#: Amounts below so many roundings of what passes a node are not shipped,
SLIGHT = 2
#: nor amounts below this part of the mean weight, at a node where the ray is 1.
NOTHING = 1e-17
#: Most steps, for each unit of the diameter, before a guess is left with the bound it has.
STEPS = 30
#: Largest ε times diameter: beyond it the numbers on a ray come near the end of the floats.
LARGEST_EXPONENT = 300.0
#: Flows that are kept at once; more guesses than fit are taken in turns.
PLACES = 5_000_000


@dataclass(frozen=True, eq=False)
class _Network:
    """The edges in both directions, and which flows go into and out of each node."""

    problem: Problem
    start: Ints
    end: Ints
    into: Any
    out_of: Any

    @classmethod
    def of(cls, problem: Problem) -> _Network:
        from scipy.sparse import csr_array

        start, end = np.concatenate([problem.edges, problem.edges[:, ::-1]]).T
        ones, each = np.ones(len(start)), np.arange(len(start))
        shape = len(start), problem.size
        return cls(
            problem,
            start,
            end,
            csr_array((ones, (each, end)), shape),
            csr_array((ones, (each, start)), shape),
        )


class CutPricer:
    """Cheapest rays on any graph without edge lengths.

    Values of rays that are proved to be non-negative need not be the least ones.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> pricer = CutPricer(Problem(Cycle(4), Epsilon.of("ln(2)"), np.ones((4, 4))))
    >>> values, heights, _ = pricer.cheapest(np.array([[-2.0], [1], [1], [1]]), np.array([0]))
    >>> values.round(9).tolist(), heights.tolist()
    ([-0.75], [[0, 1, 2, 1]])
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._network = _Network.of(problem)
        # The heights of the last round are a good start; its flows were not worth keeping.
        self._known: dict[int, Ints] = {}

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether heights are whole numbers and floats hold the numbers on every ray."""
        if problem.graph.has_lengths:
            return False
        return float(problem.epsilon) * int(problem.distances.max()) <= LARGEST_EXPONENT

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Ints, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        n, count = weights.shape
        values, heights, uniform = np.empty(count), np.empty((count, n), np.int64), np.empty(count)
        turn = max(1, PLACES // len(self._network.start))
        for first in range(0, count, turn):
            some = slice(first, first + turn)
            found = self._searched(weights[:, some].T, anchors[some])
            values[some], heights[some], uniform[some] = found
        return values, heights, uniform

    def _searched(self, weights: Floats, anchors: Ints) -> tuple[Floats, Ints, Floats]:
        start = self._problem.distances[anchors].astype(np.int64)
        for q, anchor in enumerate(anchors.tolist()):
            start[q] = self._known.get(anchor, start[q])
        state = _State(self._network, weights, anchors, start)
        for _ in range(STEPS * (2 + int(self._problem.distances.max()))):
            if not state.step():
                break
        self._known |= zip(anchors.tolist(), state.heights, strict=True)
        return self._proved(state)

    def _proved(self, state: _State) -> tuple[Floats, Ints, Floats]:
        """Turn flows into bounds, whatever they are.

        With weights short of the proof by s at the worst node, and v left at the anchor, every
        ray with 1 at the anchor has at least the value v - s·Σα^-d, as no entry is above α^-d.
        Or the weights are raised by s everywhere.
        """
        rays, left = state.rays, state.left
        each = np.arange(len(rays))
        values = np.einsum("qi,qi->q", state.weights, rays)
        at_anchor = (left - state.rounding)[each, state.anchors]
        short = np.where(left < state.rounding, state.rounding - left, 0.0) / rays
        short[each, state.anchors] = 0.0
        worst = np.maximum(short.max(axis=1), 0.0)
        with np.errstate(all="ignore"):
            largest = (1 / self._problem.rates[state.anchors]).sum(axis=1)
            spread = np.where(worst > 0, worst * largest, 0.0)
        uniform = np.maximum(worst, -at_anchor)
        below = spread - at_anchor
        local = below < self._problem.size * uniform
        free = (worst == 0) & (at_anchor >= 0)
        values = np.where(local & ~free, np.minimum(-below, values), values)
        return values, state.heights, np.where(local | free, 0.0, np.maximum(uniform, 0.0))


class _State:
    """Heights and flows of all guesses, one row for each."""

    def __init__(self, network: _Network, weights: Floats, anchors: Ints, heights: Ints) -> None:
        self.network = network
        self.weights = np.ascontiguousarray(weights)
        self.anchors = anchors
        self.heights = heights
        self.rays = network.problem.alpha ** heights.astype(float)
        self.flow = np.zeros((len(anchors), len(network.start)))
        self.left = np.zeros(weights.shape)
        self.rounding = np.zeros(weights.shape)
        self.slight = np.zeros(weights.shape)
        self.active = np.arange(len(anchors))
        self._measure(self.active)

    def _measure(self, rows: Ints) -> None:
        """Compute what is left at every node, and how much of it may be rounding."""
        into = self.flow[rows] @ self.network.into
        out = self.flow[rows] @ self.network.out_of
        own = self.weights[rows] * self.rays[rows]
        self.left[rows] = own - into + out
        scale = np.abs(self.weights[rows]).mean(axis=1, keepdims=True)
        self.rounding[rows] = np.finfo(float).eps * (np.abs(own) + into + out)
        self.slight[rows] = SLIGHT * self.rounding[rows] + NOTHING * scale * self.rays[rows]

    def step(self) -> bool:
        """Ship what can be shipped and move heights where something cannot; say if any is left."""
        rows = self._unfinished(self.active)
        self.active = rows
        if not len(rows):
            return False
        quantum = np.abs(self._amounts(rows)).sum(axis=1) / QUANTA
        behind = np.trunc(self._amounts(rows) / quantum[:, None])
        # Senders first, to receivers and the anchor; then the anchor, to receivers. At once the
        # anchor would send to itself.
        behind = self._ship(rows, quantum, behind, True)
        kept = np.isin(rows, self._unfinished(rows))
        rows, quantum = rows[kept], quantum[kept]
        behind = self._ship(rows, quantum, behind[kept], False)
        amounts = self._amounts(rows)
        stuck = behind.any(axis=1)
        if stuck.any():
            moved = self._move(rows[stuck], quantum[stuck], behind[stuck])
            # Neither shipped nor worth a move: what is left behind is rounding.
            much = np.abs(amounts[stuck]).sum(axis=1) > quantum[stuck] * QUANTA / 2
            self.active = np.setdiff1d(self.active, rows[stuck][much & ~moved])
        return True

    def _ship(self, rows: Ints, quantum: Floats, whole: Floats, send: bool) -> Floats:
        """Send as many quanta as possible along tight arcs; return those that are left."""
        some = ((whole < 0) if send else (whole > 0)).any(axis=1)
        if not some.any():
            return whole
        chosen, unit = rows[some], quantum[some]
        block, arc = np.nonzero(self._tight(chosen))
        flow = self.flow[chosen[block], arc]
        back = np.trunc(np.minimum(flow / unit[block], UNLIMITED))
        moved = self._largest_flow(chosen, block, arc, back, whole[some], send)
        self.flow[chosen[block], arc] = np.maximum(flow + moved * unit[block], 0.0)
        self._measure(chosen)
        # In whole numbers, so that rounding does not pass for something left behind.
        n = whole.shape[1]
        sent = np.bincount(block * n + self.network.start[arc], moved, len(chosen) * n)
        got = np.bincount(block * n + self.network.end[arc], moved, len(chosen) * n)
        left = whole.copy()
        left[some] += (sent - got).reshape(-1, n)
        left[np.arange(len(rows)), self.anchors[rows]] = 0.0
        return left

    def _amounts(self, rows: Ints) -> Floats:
        """Return what is left at nodes other than the anchor, without rounding errors."""
        left = self.left[rows]
        amounts = np.where(np.abs(left) > self.slight[rows], left, 0.0)
        amounts[np.arange(len(rows)), self.anchors[rows]] = 0.0
        return amounts

    def _unfinished(self, rows: Ints) -> Ints:
        """Return the guesses whose flow neither fits nor proves that no ray has a gain."""
        amounts = self._amounts(rows)
        proved = (amounts >= 0).all(axis=1) & (self.left[rows, self.anchors[rows]] >= 0)
        return np.asarray(rows[amounts.any(axis=1) & ~proved])

    def _tight(self, rows: Ints) -> NDArray[np.bool_]:
        heights = self.heights[rows]
        return np.asarray(heights[:, self.network.end] - heights[:, self.network.start] == 1)

    def _ends(self, rows: Ints, block: Ints, arc: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the ends of arcs and of the arcs back.

        The anchor is two nodes, as it sends and receives without a limit: n+1 nodes a block.
        """
        n = self.network.problem.size
        first = block * (n + 1)
        start, end = self.network.start[arc], self.network.end[arc]
        anchor = self.anchors[rows[block]]
        sends, receives = start == anchor, end == anchor
        return (
            first + start,
            first + np.where(receives, n, end),
            first + end,
            first + np.where(sends, n, start),
        )

    def _largest_flow(
        self, rows: Ints, block: Ints, arc: Ints, back: Floats, whole: Floats, send: bool
    ) -> Floats:
        """Return how much more goes along each tight arc at the largest flow, in quanta.

        It goes from senders to receivers and the anchor, or from the anchor to receivers.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        n = self.network.problem.size
        size = len(rows) * (n + 1)
        source, sink = size, size + 1
        start, end, back_start, back_end = self._ends(rows, block, arc)
        r, j = np.nonzero(whole > 0)
        first = np.arange(len(rows)) * (n + 1)
        if send:
            q, i = np.nonzero(whole < 0)
            senders, most = q * (n + 1) + i, -whole[q, i]
            takers = first + n
        else:
            senders, most = first + self.anchors[rows], np.full(len(rows), UNLIMITED)
            takers = first[:0]
        out_of = [start, back_start, np.full(len(senders), source), r * (n + 1) + j, takers]
        into = [end, back_end, senders, np.full(len(r) + len(takers), sink)]
        free = np.full(len(arc), UNLIMITED), np.full(len(takers), UNLIMITED)
        limit = np.concatenate([free[0], back, most, whole[r, j], free[1]]).astype(np.int32)
        ends = np.concatenate(out_of), np.concatenate(into)
        graph = coo_array((limit, ends), (size + 2, size + 2)).tocsr()
        found: Any = maximum_flow(graph, source, sink, method="dinic").flow
        found.sort_indices()
        key = np.repeat(np.arange(size + 2), np.diff(found.indptr)) * (size + 2) + found.indices
        forward = found.data[np.searchsorted(key, start * (size + 2) + end)]
        # An arc of the anchor and the arc back have different ends: no net flow between them.
        apart = (start != back_end) | (end != back_start)
        place = np.searchsorted(key, back_start * (size + 2) + back_end)
        backward = np.where(apart, found.data[np.minimum(place, len(key) - 1)], 0)
        return np.asarray(forward - backward, float)

    def _move(self, rows: Ints, quantum: Floats, behind: Floats) -> NDArray[np.bool_]:
        """Move the heights on the cut, scale the flow that moves along; say which ones moved."""
        block, arc = np.nonzero(self._tight(rows))
        carried = self.flow[rows[block], arc] > 1.5 * quantum[block]
        start, end, back_start, back_end = self._ends(rows, block, arc)
        out_of = np.concatenate([start, back_start[carried]])
        into = np.concatenate([end, back_end[carried]])
        up, done = _reached(out_of, into, behind < 0)
        down, _ = _reached(into, out_of, behind > 0)
        own = self.weights[rows] * self.rays[rows]
        gain_up, gain_down = -(own * up).sum(axis=1), (own * down).sum(axis=1)
        # The anchor stays: where it is reached, what is left behind is rounding.
        each, anchor = np.arange(len(rows)), self.anchors[rows]
        up &= ((gain_up > 0) & ~done & ~up[each, anchor])[:, None]
        down &= ((gain_down > 0) & ~down[each, anchor])[:, None]
        step = down.astype(np.int64) - up
        heights = self.heights[rows] + step
        slope = heights[:, self.network.end] - heights[:, self.network.start]
        # Level neighbours that would part both ways: only the better of the two moves.
        clash = (np.abs(slope) > 1).any(axis=1)
        rise = clash & (gain_up < gain_down)
        step[clash] = -up[clash].astype(np.int64)
        step[rise] = down[rise]
        alpha = self.network.problem.alpha
        self.heights[rows] += step
        self.rays[rows] = alpha ** self.heights[rows].astype(float)
        together = step[block, self.network.start[arc]] == step[block, self.network.end[arc]]
        factor = np.where(together, alpha ** step[block, self.network.end[arc]].astype(float), 0.0)
        self.flow[rows[block], arc] *= factor
        self._measure(rows)
        return np.asarray(step.any(axis=1))


def _reached(
    out_of: Ints, into: Ints, first: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which nodes can be reached from the first ones, and whether the extra node is."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    count, n = first.shape
    size = count * (n + 1)
    q, i = np.nonzero(first)
    roots = q * (n + 1) + i
    row = np.concatenate([out_of, np.full(len(roots), size)])
    col = np.concatenate([into, roots])
    graph = coo_array((np.ones(len(row), np.int8), (row, col)), (size + 1, size + 1)).tocsr()
    order = breadth_first_order(graph, size, directed=True, return_predecessors=False)
    found = np.zeros(size + 1, bool)
    found[order] = True
    nodes = found[:size].reshape(count, n + 1)
    return nodes[:, :n], nodes[:, n]
