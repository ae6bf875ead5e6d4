r"""The engine: one face of rays for each guess, enlarged by pricing until nothing is gained.

Dantzig-Wolfe over single rays needs very many of them when several rays share a guess (binary
loss). Here each guess owns the smallest face that contains the rays found for it so far, a
program with few variables; pricing says which faces must grow, and proves the bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightrope.optimize.faces import Face, label_all
from tightrope.optimize.master import MasterSolution, solve_master
from tightrope.optimize.objective import ExpectedLoss, Objective
from tightrope.optimize.pricing import Pricer, Prices, price, pricer_for
from tightrope.optimize.problem import Floats, Heights, Ints, Problem
from tightrope.optimize.progress import Callback, Progress, Watch, relative_gap

#: While the gap is larger than this, all faces are opened around their guess instead; on trees,
#: where that takes few variables and rounds are many, as long as it helps.
OPENING_GAP = 0.6
#: Part of a ray's gain that the ray must keep to be cut off to the neighbourhood of its guess.
LOCAL_SHARE = 0.9
#: A master program with so many times the variables of the last one starts anew.
WARM_GROWTH = 3
#: While the gap is larger than this, rays are looked for aside of the master's prices.
AIM_GAP = 0.01
#: How often the way to the master's prices is halved in the search for good rays.
HALVINGS = 4
#: Few guesses start with the whole cone when that takes at most so many variables.
FEW_VARIABLES = 1000
#: Most rounds before the engine stops with the gap it has.
MOST_ROUNDS = 200
#: Rounds without progress after which no guess is parked, and after which the engine stops once
#: only rounding can be in the way.
PATIENCE = 3
STUCK_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class EngineResult:
    """Columns for the guesses, prices that prove a bound, and how far apart they are.

    The prices are those of the problem with the costs that ``multipliers`` amount to.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> found = run_engine(problem)
    >>> round(found.value, 9), round(found.bound, 9), found.stopped
    (0.5, 0.5, False)
    """

    value: float
    bound: float
    prices: Floats
    multipliers: Floats
    columns: dict[int, Floats]
    rounds: int
    stopped: bool
    master: MasterSolution


def run_engine(
    aim: Problem | Objective,
    *,
    gap: float = 1e-9,
    progress: Callback | None = None,
    start: dict[int, Face] | None = None,
    proved: tuple[Floats, Floats] | None = None,
) -> EngineResult:
    r"""Minimise :math:`\sum_k c_k \cdot x^k` over private columns with sum 1.

    Parameters
    ----------
    aim
        The problem, or an objective other than the expected loss.
    gap
        Relative gap between loss and bound at which to stop.
    progress
        Called after each round; ``True`` stops.
    start
        Faces to start from, such as those of a neighbouring ε.
    proved
        Multipliers, and prices that are known to prove a bound with them.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> costs = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> found = run_engine(Problem(PathPower(9, 2), Epsilon.of("ln(2)"), costs))
    >>> found.value - found.bound < 1e-9
    True
    """
    clock = time.perf_counter()
    watch = progress if isinstance(progress, Watch) else None
    objective: Objective = ExpectedLoss(aim) if isinstance(aim, Problem) else aim
    problem, guesses = objective.problem, objective.guesses
    pricer = pricer_for(problem)
    faces = first_faces(problem, guesses) if start is None else dict(start)
    # Prices at which every ray of every guess is free: the least cost of each answer. Over all
    # guesses, not only one for each orbit: prices must treat the answers of an orbit alike.
    weighed = objective.weighed(objective.first)
    best = _Proof(weighed, objective.first, weighed.costs.min(axis=1))
    if proved is not None:
        best = _Proof(objective.weighed(proved[0]), *proved)
    master: MasterSolution | None = None
    basis: MasterSolution | None = None
    parked: dict[int, Face] = {}
    opening = 0.0 if problem.graph.is_tree else OPENING_GAP
    radius, idle, last, now, stopped = 0.0, 0, np.inf, np.inf, False
    rounds = 0
    for rounds in range(1, MOST_ROUNDS + 1):
        try:
            solved = solve_master(problem, faces, basis, objective, watch)
            aside = now > AIM_GAP and not idle
            aimed, found, tried = _separate(objective, pricer, solved, best, guesses, aside)
        except KeyboardInterrupt:
            if master is None:
                raise
            stopped = True
            break
        master = solved
        better = max(one.bound for one in tried) > best.bound or solved.value < last
        idle = 0 if better else idle + 1
        last = min(last, solved.value)
        best = max(best, *tried, key=lambda one: one.bound)
        now = relative_gap(last, best.bound)
        told = Progress(
            rounds, last, best.bound, now, solved.variables, time.perf_counter() - clock
        )
        if progress is not None and progress(told):
            stopped = True
            break
        if now <= gap / 2 or (idle >= PATIENCE and now < STUCK_GAP):
            break
        if now > opening and rounds > 1 and start is None and not idle:
            radius += 1
            grown = _opened(faces, problem, radius)
        else:
            grown = _grown(aimed, faces, parked, found, guesses, radius)
        changed = [k for k in grown if grown[k] is not faces.get(k)]
        if not changed:
            if idle:
                break
            idle = 1
            continue
        label_all(grown.values())
        variables = sum(face.dimension for face in grown.values())
        basis = master if variables <= WARM_GROWTH * solved.variables else None
        # Parking while nothing gets better may go round in circles.
        if objective.may_park and idle < PATIENCE:
            for k in set(faces).difference(changed):
                if faces[k].dimension > 1 and solved.is_idle(k):
                    parked[k] = grown.pop(k)
        faces = grown
    assert master is not None
    if len(guesses) < len(problem.guesses):
        best = _all_guesses(best, pricer)
    return EngineResult(
        master.value,
        best.bound,
        best.prices,
        best.multipliers,
        master.columns,
        rounds,
        stopped,
        master,
    )


@dataclass(frozen=True, eq=False)
class _Proof:
    """A point of the dual: multipliers, the problem they amount to, and prices for it."""

    problem: Problem
    multipliers: Floats
    prices: Floats

    @property
    def bound(self) -> float:
        return float(self.prices.sum())

    def priced(self, pricer: Pricer, guesses: Ints) -> tuple[Prices, _Proof]:
        """Return what pricing finds, and the point with prices lowered until they prove it."""
        found = price(self.problem, pricer, self.prices, guesses)
        return found, _Proof(self.problem, self.multipliers, found.lowered)


def _separate(
    objective: Objective,
    pricer: Pricer,
    solved: MasterSolution,
    centre: _Proof,
    guesses: Ints,
    aside: bool,
) -> tuple[_Proof, Prices, list[_Proof]]:
    """Look for rays between the master's prices and the best feasible ones.

    The master's prices are a corner and mostly far off; rays that are cheap half way to
    feasible prices cut off the corner too, and they are better ones. Where none is cheap, the
    half way is feasible and becomes the new centre.
    """
    tried = []
    corner = _Proof(
        objective.weighed(solved.multipliers), solved.multipliers, np.asarray(solved.prices)
    )
    for _ in range(HALVINGS if aside else 0):
        middle = (corner.multipliers + centre.multipliers) / 2
        prices = (corner.prices + centre.prices) / 2
        aimed = _Proof(objective.weighed(middle), middle, prices)
        found, proved = aimed.priced(pricer, guesses)
        tried.append(proved)
        if (found.values < -_noise(aimed.problem)).any():
            return aimed, found, tried
        centre = proved
    found, proved = corner.priced(pricer, guesses)
    tried.append(proved)
    return corner, found, tried


def _noise(problem: Problem) -> float:
    """Values of rays that rounding alone may produce."""
    return 1e-14 * float(np.abs(problem.costs).sum(axis=0).max())


def first_faces(problem: Problem, guesses: Ints) -> dict[int, Face]:
    """Return the steepest ray around the region of each guess, and a flat one.

    The regions cover all answers, and with the flat ray a mechanism always exists.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of(1), np.ones((3, 3)) - np.eye(3))
    >>> [face.dimension for face in first_faces(problem, problem.guesses).values()]
    [3, 1, 1]
    """
    faces = {}
    own = problem.regions
    if 4 * len(guesses) < problem.size and len(guesses) * problem.size <= FEW_VARIABLES:
        level = np.zeros(problem.size, problem.lengths.dtype)
        return {k: Face.of_ray(problem, level) for k in guesses.tolist()}
    for k in guesses.tolist():
        faces[k] = Face.of_ray(problem, problem.distances[own[k]].min(axis=0))
    flat = int(guesses[np.argmin(problem.costs[:, guesses].sum(axis=0))])
    faces[flat] = faces[flat].joined_with(np.zeros(problem.size, problem.lengths.dtype))
    return faces


def _opened(faces: dict[int, Face], problem: Problem, radius: float) -> dict[int, Face]:
    unit = float(problem.lengths.mean())
    return {k: face.opened(radius * unit) for k, face in faces.items()}


def _grown(
    aimed: _Proof,
    faces: dict[int, Face],
    parked: dict[int, Face],
    found: Prices,
    guesses: Ints,
    radius: float,
) -> dict[int, Face]:
    """Join the rays with a negative value to the faces of their guesses."""
    problem = aimed.problem
    grown = dict(faces)
    for q in np.flatnonzero(found.values < -_noise(problem)).tolist():
        k = int(guesses[q])
        weights = problem.costs[:, k] - aimed.prices
        heights = localised(problem, k, found.heights[q], weights, float(found.values[q]), radius)
        face = faces.get(k) or parked.pop(k, None)
        joined = Face.of_ray(problem, heights) if face is None else face.joined_with(heights)
        if face is None or k not in faces or (joined.tight != face.tight).any():
            grown[k] = joined
    return grown


def localised(
    problem: Problem,
    guess: int,
    heights: Heights,
    weights: Floats,
    value: float,
    radius: float = 0.0,
) -> Heights:
    """Return the ray, cut off to the smallest neighbourhood in which it keeps its gain.

    Outside the neighbourhood the column falls as fast as privacy allows. This keeps faces
    small: what a ray does far from its guess is mostly noise of prices that are still wrong.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(5), Epsilon.of("ln(2)"), np.ones((5, 5)))
    >>> weights = np.array([1, -4, 1, 1, 1.0])
    >>> localised(problem, 0, np.array([0, -1, 0, 0, 0]), weights, -4.0).tolist()
    [0, -1, 0, 1, 2]
    """
    distance = problem.distances
    anchor = problem.anchors[guess]
    unit = float(problem.lengths.mean())
    far = float(distance[anchor].max())
    step, reach = 1.0, (radius + 1) * unit
    while reach < far:
        ball = np.flatnonzero(distance[anchor] <= reach)
        cut = (heights[ball][:, None] + distance[ball]).min(axis=0)
        if weights @ (problem.alpha ** cut.astype(float)) <= LOCAL_SHARE * value:
            return np.asarray(cut.astype(heights.dtype))
        reach += step * unit
        step *= 1.5
    return heights


def _all_guesses(proof: _Proof, pricer: Pricer) -> _Proof:
    """Price the guesses that were set aside too: the bound must hold for all of them."""
    return proof.priced(pricer, proof.problem.guesses)[1]
