r"""From columns back to rays: a mixture that is private by construction.

A numerical solution is only nearly private. Its columns are taken apart into rays, whose
heights are whole numbers (or sums of edge lengths) and therefore exact; then the weights are
computed afresh from :math:`\sum_r w_r r = 1`. Whatever non-negative weights come out, every
column is private, because every ray is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.optimize.faces import TIGHT_TOLERANCE, Tight
from tightrope.optimize.problem import Floats, Heights, Ints, Problem

#: Edges whose slack is below this part of the entry count as tight in a numerical column. The
#: next is tried where the rays that come out do not span what is needed.
SLACK_TOLERANCES = (1e-7, 1e-10, 1e-12)
#: Part of a rest (see :class:`Mixture`) that is worth another try.
LARGE_REST = 1e-11
#: Columns whose largest entry is below this are left out.
SMALLEST_COLUMN = 1e-11
#: Sums of rows that are this close to 1 are left as they are.
SUM_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Mixture:
    """Rays with weights, each serving a guess; together their entries sum to 1 in every row.

    Parameters
    ----------
    heights
        One row for each ray.
    guesses
        The guess each ray serves.
    weights
        The weight of each ray.
    rest
        What is left to 1 in every row, itself a private column (mostly zero).
    rest_guess
        The guess that the rest serves.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> mixed = mixture(problem, {0: np.array([2, 1]) / 3, 1: np.array([1, 2]) / 3})
    >>> mixed.heights.tolist(), mixed.weights.round(9).tolist()
    ([[0, 1], [1, 0]], [0.666666667, 0.666666667])
    """

    heights: Heights
    guesses: Ints
    weights: Floats
    rest: Floats
    rest_guess: int

    def loss(self, problem: Problem) -> float:
        """Return the expected loss, weighted by how many guesses each one stands for."""
        many = dict(zip(problem.guesses.tolist(), problem.multiplicity.tolist(), strict=True))
        rays = problem.alpha ** self.heights.astype(float)
        costs = np.einsum("ri,ir->r", rays, problem.costs[:, self.guesses])
        times = np.array([many[int(k)] for k in self.guesses], float)
        flat = float(problem.costs[:, self.rest_guess] @ self.rest)
        return float((self.weights * times) @ costs) + flat


def mixture(problem: Problem, columns: dict[int, Floats], *, sharp: bool = False) -> Mixture:
    """Write the columns as a mixture of rays.

    The sharpest tolerance comes first where rays of tiny weight matter as such, as they do close
    to a limit; else it is tried last, as it takes noise for rays.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of("ln(2)"), np.ones((3, 2)))
    >>> mixed = mixture(problem, {0: np.array([0.5, 0.25, 0.2]), 1: np.array([0.5, 0.75, 0.8])})
    >>> mixed.loss(problem).__round__(9)
    3.0
    """
    best: Mixture | None = None
    for tolerance in reversed(SLACK_TOLERANCES) if sharp else SLACK_TOLERANCES:
        mixed = _mixed(problem, columns, tolerance)
        if best is None or mixed.rest.max() < best.rest.max():
            best = mixed
        if best.rest.max() <= LARGE_REST:
            break
    assert best is not None
    return best


def private_above(problem: Problem, columns: dict[int, Floats]) -> dict[int, Floats]:
    """Return the least private column above each numerical one, which may hold zeros and worse.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of("ln(2)"), np.ones((3, 2)))
    >>> private_above(problem, {0: np.array([0.8, 0.5, -1e-9]), 1: np.zeros(3)})[0].tolist()
    [0.8, 0.5, 0.25]
    """
    return {
        k: (problem.rates * np.maximum(column, 0.0)).max(axis=1)
        for k, column in columns.items()
        if column.max() > SMALLEST_COLUMN
    }


def _mixed(problem: Problem, columns: dict[int, Floats], tolerance: float) -> Mixture:
    heights, guesses, first = [], [], []
    for k, column in columns.items():
        if column.max() > SMALLEST_COLUMN:
            for ray, weight in peeled(problem, column, tolerance):
                heights.append(ray)
                guesses.append(k)
                first.append(weight)
    return weighed(problem, np.array(heights), np.array(guesses), np.array(first))


def weighed(problem: Problem, heights: Heights, guesses: Ints, first: Floats) -> Mixture:
    """Give rays weights near the first ones, so that their entries sum to 1 in every row.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.zeros((2, 1)))
    >>> rays = np.array([[0, 1], [1, 0]])
    >>> weighed(problem, rays, np.zeros(2, int), np.full(2, 0.667)).weights.round(9).tolist()
    [0.666666667, 0.666666667]
    """
    weights = _weights(problem, heights, guesses, first)
    used = weights > 0
    return _completed(problem, heights[used], guesses[used], weights[used])


def peeled(
    problem: Problem, column: Floats, tolerance: float = SLACK_TOLERANCES[0]
) -> list[tuple[Heights, float]]:
    """Take a column apart into rays of its face, one after the other.

    Each ray is subtracted as often as the cone allows; that makes another edge tight, so
    there are at most as many rays as the face has dimensions. A ray falls from where most is
    left: elsewhere it would take what rounding errors are made of.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(2), Epsilon.of("ln(2)"), np.ones((2, 2)))
    >>> [(h.tolist(), w) for h, w in peeled(problem, np.array([1.0, 1.0]))]
    [([0, 1], 0.666...), ([1, 0], 0.666...)]
    """
    edges = problem.edges
    i = np.concatenate([edges[:, 0], edges[:, 1]])
    j = np.concatenate([edges[:, 1], edges[:, 0]])
    factor = problem.alpha ** np.tile(problem.lengths, 2).astype(float)
    left = column.copy()
    if (left[j] < (1 - tolerance) * factor * left[i]).any():
        # Tiny entries are noise to the solver: the least private column above has none.
        left = (problem.rates * left).max(axis=1)
    found: list[tuple[Heights, float]] = []
    tight = np.zeros(len(edges), np.int8)
    for _ in range(problem.size):
        slack = (left[j] - factor * left[i]) / np.maximum(left[j], 1e-300)
        # What was tight stays so: where little is left, rounding errors would hide it.
        tight[(tight == 0) & (slack[: len(edges)] <= tolerance)] = 1
        tight[(tight == 0) & (slack[len(edges) :] <= tolerance)] = -1
        heights = _steepest_in_face(problem, tight, int(left.argmax()))
        step = np.abs(heights[edges[:, 1]] - heights[edges[:, 0]])
        if (step > problem.lengths + TIGHT_TOLERANCE).any():
            # Noise made edges look tight that cannot all be: take the nearest column below.
            heights = (heights[:, None] + problem.distances).min(axis=0)
        ray = problem.alpha ** heights.astype(float)
        ray_slack = ray[j] - factor * ray[i]
        room = left[j] - factor * left[i]
        moving = np.flatnonzero(ray_slack > 1e-12 * ray[j])
        ratios = room[moving] / ray_slack[moving]
        most = float(ratios.min(initial=np.inf))
        if not np.isfinite(most) or most >= (1 - 1e-9) * float((left / ray).min()):
            found.append((heights, float((left / ray).min())))
            break
        most = max(most, 0.0)
        found.append((heights, most))
        left = left - most * ray
        if left.max() <= SMALLEST_COLUMN or left.min() <= 0:
            break
        way, edge = divmod(int(moving[ratios.argmin()]), len(edges))
        if tight[edge]:
            break
        tight[edge] = -1 if way else 1
    return found


def _steepest_in_face(problem: Problem, tight: Tight, anchor: int) -> Heights:
    """Return the ray of a face that falls as fast as it can from the anchor.

    Shortest paths between the components of the face: every component hangs on the one
    before it by a tight edge.
    """
    base, component, count = _heights_along(problem, tight)
    if count == 1:
        return np.asarray(base - base[anchor])
    edges, lengths = problem.edges, problem.lengths
    i = np.concatenate([edges[:, 0], edges[:, 1]])
    j = np.concatenate([edges[:, 1], edges[:, 0]])
    a, b = component[i], component[j]
    between = a != b
    # u_b ≥ α^e u_a: component b may lie at most e above a, in heights relative to `base`.
    exponent = (np.tile(lengths, 2) + base[i] - base[j])[between].astype(float)
    a, b = a[between], b[between]
    # Exponents may be negative, as components are placed freely: Bellman-Ford.
    level = np.full(count, np.inf)
    level[component[anchor]] = 0.0
    for _ in range(count):
        before = level.copy()
        np.minimum.at(level, b, level[a] + exponent)
        if np.array_equal(level, before):
            break
    heights = base + level[component].astype(base.dtype)
    return np.asarray(heights - heights[anchor])


def _heights_along(problem: Problem, tight: Tight) -> tuple[Heights, Ints, int]:
    """Return heights that satisfy every tight edge, and the components of these edges."""
    signs, lengths, beside = tight.tolist(), problem.lengths.tolist(), problem.beside
    heights: list[float] = [0] * problem.size
    component = [-1] * problem.size
    count = 0
    for root in range(problem.size):
        if component[root] >= 0:
            continue
        component[root] = count
        stack = [root]
        while stack:
            i = stack.pop()
            for j, e, way in beside[i]:
                if signs[e] and component[j] < 0:
                    component[j] = count
                    heights[j] = heights[i] + way * signs[e] * lengths[e]
                    stack.append(j)
        count += 1
    return np.array(heights, problem.lengths.dtype), np.array(component), count


def _weights(problem: Problem, heights: Heights, guesses: Ints, first: Floats) -> Floats:
    """Weights that make the rows sum to 1, starting from those that peeling gave."""
    many = dict(zip(problem.guesses.tolist(), problem.multiplicity.tolist(), strict=True))
    rays = problem.alpha ** heights.astype(float)
    sums = np.zeros((len(problem.class_sizes), len(rays)))
    np.add.at(sums, problem.classes, rays.T)
    sums *= np.array([many[int(k)] for k in guesses], float) / problem.class_sizes[:, None]
    weights = first
    for _ in range(3):
        missing = 1 - sums @ weights
        if np.abs(missing).max() <= SUM_TOLERANCE / 4:
            break
        used = np.flatnonzero(weights > 0)
        # Scaling by the weights prefers small relative changes, which keep them positive.
        step = np.linalg.lstsq(sums[:, used] * weights[used], missing, rcond=1e-13)[0]
        weights = weights.copy()
        weights[used] = np.maximum(weights[used] * (1 + step), 0.0)
    return weights


def polished(problem: Problem, mixed: Mixture, prices: Floats) -> Floats:
    """Return prices at which the rays in use are exactly free, near the given ones.

    The rays of an optimal mixture determine the prices; solving for them removes the error
    that the solver's tolerance leaves. Whether the new prices prove more is for pricing to say.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> mixed = mixture(problem, {0: np.array([2, 1]) / 3, 1: np.array([1, 2]) / 3})
    >>> polished(problem, mixed, np.array([0.16, 0.17])).round(6).tolist()
    [0.166667, 0.166667]
    """
    rays = problem.alpha ** mixed.heights.astype(float)
    costs = np.einsum("ri,ir->r", rays, problem.costs[:, mixed.guesses])
    change = np.linalg.lstsq(rays, costs - rays @ prices, rcond=1e-12)[0]
    return np.asarray(prices + change)


def _completed(problem: Problem, heights: Heights, guesses: Ints, weights: Floats) -> Mixture:
    """Make the rows sum to exactly 1 by a private rest, if they do not already."""
    many = dict(zip(problem.guesses.tolist(), problem.multiplicity.tolist(), strict=True))
    times = np.array([many[int(k)] for k in guesses], float)
    rays = problem.alpha ** heights.astype(float)
    by_class = np.bincount(problem.classes, (weights * times) @ rays) / problem.class_sizes
    off = float(np.abs(by_class - 1).max())
    flat = int(np.argmin(problem.costs.sum(axis=0)))
    if off <= SUM_TOLERANCE:
        return Mixture(heights, guesses, weights, np.zeros(problem.size), flat)
    # The rest must be private itself: η ≥ off·(1+α)/(1-α) makes it so. Some more of it keeps
    # rounding errors, which are of the size of 1e-16, far from that border.
    least = float(problem.alpha ** float(problem.lengths.min()))
    share = min(2 * (off + SUM_TOLERANCE) * (1 + least) / (1 - least), 1.0)
    rest = (1 - (1 - share) * by_class)[problem.classes]
    return Mixture(heights, guesses, weights * (1 - share), rest, flat)
