"""Routes for answers on a line: staircases, and windows.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tightrope.channels import ClampedChannel, UnboundedNoise
from tightrope.consumers import Consumer, Prior
from tightrope.errors import CheckFailed, TooLarge
from tightrope.graphs import AnswerGraph, PathPower
from tightrope.optimize.certificate import StretchedCertificate
from tightrope.optimize.closed_forms import geometric_route
from tightrope.optimize.columns import private_columns
from tightrope.optimize.cosets import cosets_route
from tightrope.optimize.interior import interior_effort
from tightrope.optimize.progress import Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.solvers import finished, rays_route, too_many
from tightrope.optimize.staircases import (
    end_prices,
    proved_prices,
    solve_staircases,
)
from tightrope.optimize.task import RoutePlan, Task
from tightrope.optimize.unbounded import best_noise

#: Largest step between neighbours, times ε below ε = 1, for which every answer near the ends is
#: priced; beyond it every so many-th answer is.
STRETCHED_WIDTH = 80
#: Longest prior without a name that a file lists for noise on a line.
LISTED_PRIOR = 130_000


def staircases_route(task: Task) -> RoutePlan | str:
    """Column generation over staircases, on a power of a path.

    Where edges are missing at its end, as when nobody can join a full table, staircases are private
    as well, and pricing says how far from the best they are.

    >>> task = Task.of(PathPower(51, 5), 1, prior="uniform", loss="absolute")
    >>> found = staircases_route(task).solve()
    >>> round(found.expected_loss, 6), found.certified
    (4.10191, True)
    """
    graph = task.graph
    consumer = task.consumer
    width = _width(graph)
    long = graph.size * (width or 0) > task.settings.staircase_entries
    if width is None or graph.has_lengths:
        return f"{graph.name} is not a power of a path"
    if consumer.risk_averse:
        return "staircases are for a consumer with a prior"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    if refused := too_many(task):
        return refused
    reason = "on a power of a path columns are staircases: one program over their cores"

    def solve() -> Design:
        costs = task.problem.costs
        gap = task.gap
        task.watch.say("searching for staircases")
        best = solve_staircases(
            costs, width, task.alpha, task.prior, gap=gap, watch=task.watch
        )
        prices = best.prices
        stopped = best.stopped
        # Prices far from the best take minimum cuts long, and prove little. Where edges are missing
        # only cuts prove them.
        quick = graph.power is not None and (long or stopped)
        if quick:
            task.watch.say("proving the prices by staircases")
            try:
                prices = proved_prices(
                    costs, prices, width, task.alpha, watch=task.watch
                )
            except Stopped:
                stopped = True
                prices = np.zeros(task.graph.size)  # the mechanism stays, without them
        design = finished(
            task,
            private_columns(task.problem, best.columns, task.watch),
            task.objective.first,
            prices,
            proved=quick,
            rounds=best.rounds,
            stopped=stopped,
        )
        # The next route starts from their faces; on long lines there is none.
        if design.certified or long:
            return design
        return replace(design, faces=best.faces(task.problem, width))

    return RoutePlan(reason, solve)


def _by_distance(task: Task) -> bool:
    """Whether a loss depends on the distance along the line alone."""
    loss = task.consumer.loss
    return loss.is_binary or loss.follows_graph or loss.step_rule is not None


def window_route(task: Task) -> RoutePlan | str:
    """Design on the window that holds the prior; answers outside count as the nearest inside.

    Clamping moves no two answers further apart, so it may stand before any mechanism. A private
    column restricted to the window is private there, and guesses outside it cost no less than the
    nearest inside: what bounds the loss on the window bounds it on all answers. Where columns are
    no staircases, cosets of the window have a bound within seconds, and a window of as many
    answers as the engine takes is a question for the engine.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("sum(500,3)").graph, 1, prior="binomial(.2)", loss="absolute")
    >>> plan = window_route(task)
    >>> plan.reason
    'the prior lies in 225 of 1501 answers: the others count as the nearest of them'
    """
    graph = task.graph
    consumer = task.consumer
    if consumer.risk_averse or not graph.is_line or graph.has_lengths:
        return "a window is for answers on a line and a consumer with a prior"
    if graph.size <= task.settings.window_least:
        return f"{graph.size} answers need no window"
    if consumer.prior.is_uniform:
        return "a uniform prior has no window"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    try:
        start, prior = _without_tails(*consumer.prior.window)
    except TooLarge as refused:
        return str(refused)
    inner = windowed(task, start, prior)
    if len(prior) > graph.size // 2:
        return (
            f"the prior lies in {len(prior)} of {graph.size} answers, no small window"
        )
    if inner is None:
        return "the window reaches answers between which edges are missing"
    if len(prior) > task.settings.proof_line:
        return f"a proof for the {len(prior)} answers of the window would be too long"
    # On a path there is a closed form; wider steps need cosets or staircases.
    is_path = inner.graph.power == 1
    routes = [geometric_route] if is_path else [cosets_route, staircases_route]
    planned = [route(inner) for route in routes]
    plans = [plan for plan in planned if isinstance(plan, RoutePlan)]
    if not plans:
        return f"in the window of {len(prior)} answers {planned[-1]}"
    reason = (
        f"the prior lies in {len(prior)} of {graph.size} answers: "
        "the others count as the nearest of them"
    )

    def solve() -> Design:
        best = _halves_of(plans)
        # Of many answers rounding is left alone: the engine is for columns that are no staircases.
        many = graph.size > task.settings.window_answers
        wanted = max(task.gap, 1e-6) if many else task.gap
        if best.gap > wanted and not best.stopped:
            try:
                best = _engine_on(inner, best, close=wanted)
            except KeyboardInterrupt:
                best = replace(best, stopped=True)
            except (CheckFailed, TooLarge):
                pass  # what was found stays, as it does where a route fails
        # Answers outside the window count as its ends.
        channel = ClampedChannel(best.channel, graph.size, start, graph.label)
        return replace(
            best,
            graph=graph,
            consumers=(consumer,),
            channel=channel,
            general=channel,
            guess=None,
            inner=best,
            start=start,
            faces=None,
        )

    return RoutePlan(reason, solve)


def _halves_of(plans: list[RoutePlan]) -> Design:
    """Return the best mechanism of some plans with the best bound, from the first on."""
    best = plans[0].solve()
    for plan in plans[1:]:
        if best.certified or best.stopped:
            break
        try:
            other = plan.solve()
        except KeyboardInterrupt:
            return replace(best, stopped=True)
        except (CheckFailed, TooLarge):
            continue  # the incumbent stays where a later plan fails
        # A bound holds for every mechanism, so the two may come from different plans.
        least = min(best, other, key=lambda design: design.expected_loss)
        proof = max(best, other, key=lambda design: design.bound)
        best = replace(least.proved_by(proof), stopped=other.stopped)
    return best


def _without_tails(
    start: int, prior: np.ndarray, *, outside: float = 2.0**-41
) -> tuple[int, np.ndarray]:
    """Return the window less its ends, which have less than 2^-41 together.

    A file accepts 2^-40 outside. Of binomial(.3) over a sum that saves a quarter of the answers,
    and half of the time.

    >>> _without_tails(7, np.array([1e-15, 0.5, 0.5, 1e-14]))
    (8, array([0.5, 0.5]))
    """
    # Half of what may be left out is cut off at each side.
    first = int(np.searchsorted(np.cumsum(prior), outside / 2))
    from_end = np.cumsum(prior[::-1])
    behind = int(np.searchsorted(from_end, outside / 2))
    inside = prior[first : len(prior) - behind]
    return start + first, inside / inside.sum()


def _engine_on(
    task: Task, best: Design, *, close: float, seconds: float = 30.0
) -> Design:
    """Return the better halves of a design and the engine's, where it takes so many answers.

    Of more than ``window_answers`` it takes those that it solves in about so many seconds. Where
    the prior is next to nothing, staircases make the better guesses: a mechanism that is ``close``
    to the bound is kept.
    """
    engine = rays_route(task)
    few = task.graph.size <= task.settings.window_answers
    if isinstance(engine, str) or not (
        few or interior_effort(task.problem, task.problem.guesses) <= seconds
    ):
        return best
    searched = engine.solve()
    both = best, searched
    proof = max(both, key=lambda design: design.bound)
    proved = best.proved_by(proof)
    if proved.gap > close:
        proved = min(both, key=lambda design: design.expected_loss).proved_by(proof)
    return replace(proved, stopped=searched.stopped)


def stretched_route(task: Task) -> RoutePlan | str:
    """Noise on the line without ends, guesses near the ends, and prices for both ends.

    Under a uniform prior prices, columns and their proofs are two ends of fixed length and a
    middle that repeats. Noise with the best guesses near the ends is almost the best mechanism.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("sum(1000000,5)").graph, 1, prior="uniform", loss="absolute")
    >>> found = stretched_route(task).solve()
    >>> round(found.expected_loss, 6), found.gap < 1e-6
    (4.786277, True)
    """
    graph = task.graph
    consumer = task.consumer
    lattice = graph.unbounded
    if lattice is None or lattice.form != "line":
        return f"{graph.name} is not a segment of a translation-invariant line"
    if consumer.risk_averse:
        return "stretched ends are for a consumer with a prior"
    power = {"absolute": 1, "squared": 2, "binary": 0, "distance": 0}.get(
        consumer.loss.name
    )
    if power is None:
        return f"the {consumer.loss.name} loss is not absolute, squared, binary or a distance"
    whole = graph.size - (lattice.width if lattice.ends else 0)
    reason = "under a uniform prior all is alike but at the ends: noise, and prices for both ends"
    heights = None
    if not consumer.prior.is_uniform:
        try:
            start, inside = consumer.prior.window
        except TooLarge as refused:
            return str(refused)
        if start + len(inside) > whole:
            return "the prior reaches answers between which edges are missing"
        if consumer.prior.named is None and len(inside) > LISTED_PRIOR:
            return f"a prior of {len(inside)} answers is too long for a file"
        heights = _highest(inside)
        reason = (
            "a prior is a mixture of uniform ones on intervals: "
            "noise, and prices for their ends"
        )
    noise = best_noise(graph, task.epsilon, consumer.loss.name)
    by_distance = consumer.loss.name == "distance"
    stride = (_dividing_stride if by_distance else _stride)(
        lattice.width, float(task.epsilon)
    )
    step = float(task.epsilon)
    wide = lattice.width // stride * stride
    # Two ends, and whole staircases on both sides of a guess in the middle between them: an
    # interval without room for that proves nothing.
    if heights is None:
        wanted = np.ceil([14 / step + 4, 10 / step + 2, 24 / step + 1])
        # A short line has less room: all depths shrink in proportion.
        room = whole - 5 * stride
        wanted *= min(1.0, room / (2 * wanted.sum() * wide))
    else:
        # Measured on sum(100000,5): layers up to t/ε lose about 6·exp(-0.8t) of the bound.
        t = np.linspace(3, 24, 43)
        shares = np.array([0.75, 0.1, 1.0]) / step
        beyond = 2 * wide * shares.sum() * t
        places = np.minimum(beyond, len(heights) - 1).astype(int)
        # What lies above the level set of this length: shorter ones prove nothing.
        lost = np.cumsum(heights)[places] - places * heights[places]
        lost += 6 * np.exp(-0.8 * t)
        # A prior that rises and falls often has little in intervals.
        lost += 1 - heights.sum()
        if lost.min() > 0.25:
            return (
                "the prior is too narrow beside the noise, or rises and falls too often"
            )
        wanted = np.ceil(shares * t[np.argmin(lost)])
    deep, spare, layers = (int(x) for x in wanted)
    if layers * step < 5:
        return f"the ends leave no middle of {graph.size} answers"
    depths = deep, spare, layers
    return RoutePlan(
        reason, lambda: _stretched(task, noise, stride, power, depths, heights)
    )


def _highest(inside: np.ndarray) -> np.ndarray:
    """Return a prior's values from the largest on, lowered until it rises once and falls once."""
    peak = int(inside.argmax())
    before = np.minimum.accumulate(inside[peak::-1])
    behind = np.minimum.accumulate(inside[peak:])[1:]
    return np.sort(np.concatenate([before, behind]))[::-1]


def _stride(
    width: int, epsilon: float, most: int = STRETCHED_WIDTH, lost: float = 1e-4
) -> int:
    """Return how far apart answers may be whose prices are proved: little is lost by it.

    Of ``v`` that is its rest by division, and about 1/12 of a squared step beside the noise.

    >>> _stride(5, 1.0), _stride(120, 1.0), _stride(3, 0.05)
    (1, 4, 1)
    """
    widest = max(1, int(most * min(1.0, epsilon)))
    worth = {
        s: (width % s) / width + (s / width * min(1.0, epsilon)) ** 2 / 12
        for s in range(-(-width // widest), min(width, 4 * most) + 1)
    } or {-(-width // widest): 0.0}
    cheap = [s for s, value in worth.items() if value <= lost]
    return max(cheap) if cheap else min(worth, key=lambda s: worth[s])


def _dividing_stride(
    width: int, epsilon: float, most: int = 2 * STRETCHED_WIDTH
) -> int:
    """Return the least divisor of the width that leaves few enough answers to price.

    Distances are rounded up to widths, which adds 1/2 to a loss of 1/ε and 1/2q less where there
    are q answers in a width: at most 1/320 of the loss with as many as this.

    >>> _dividing_stride(21, 0.1), _dividing_stride(88, 1.0)
    (3, 1)
    """
    widest = max(1, int(most * min(1.0, epsilon)))
    return next(
        s for s in range(1, width + 1) if width % s == 0 and width <= s * widest
    )


def _stretched(
    task: Task,
    noise: UnboundedNoise,
    stride: int,
    power: int,
    depths: tuple[int, int, int],
    heights: np.ndarray | None,
) -> Design:
    graph = task.graph
    name = task.consumer.loss.name
    lattice = noise.lattice
    size = graph.size
    width = lattice.width // stride

    def loss(far: np.ndarray, width: int) -> np.ndarray:
        if name == "distance":
            return np.ceil(far / width)
        return power_loss(far, power)

    task.watch.say("solving a short line for its ends")
    coarse = best_noise(PathPower(width * 4, width), task.epsilon, name)
    middle = coarse.expected(name)
    # By distance the prices of a short line are not unique: some in the middle are 5 % too high.
    rise = 0.0 if name == "distance" else math.inf
    prices, cores = end_prices(
        loss,
        width,
        task.alpha,
        coarse.core,
        middle,
        depths,
        rise=rise,
        watch=task.watch,
    )
    layers = depths[2]
    # Between listed guesses a squared loss is lower by at most 1/4 of a squared stride.
    between = 0.25 if stride > 1 and power == 2 else 0.0
    even = float(prices[-1]) - between
    # What both ends add to the sum of all prices, all being the last one else.
    excess = float((prices - prices[-1]).sum())
    lost = 2 * stride * excess
    answers = 2 * len(prices) + 2 * layers * width + 2
    least = answers * stride
    if heights is None:
        mass = (size - (lattice.width if lattice.ends else 0)) / size
        high = 1 / size
    else:
        # A prior that rises and falls once is a mixture of uniform ones on intervals; those
        # shorter than ``least`` prove nothing, or less than 0.
        least = min(max(least, math.ceil(-lost / even)), len(heights))
        high = float(heights[least - 1])
        mass = least * high + float(heights[least:].sum())
    bound = even * mass + lost * high
    unit = float(lattice.step) ** power
    guess = None
    # Above the cap of a sum distances are longer than on the line without ends.
    value = noise.worst(name)
    ended = heights is None and lattice.width <= 4 * STRETCHED_WIDTH
    if ended and name != "distance":
        listed = min(size // 2, 8 * lattice.width, len(prices))
        guess, value = _end_guesses(noise, power, listed)
        value *= unit
    return task.answered(
        loss=value,
        bound=min(max(bound, 0.0) * (stride**power) * unit, value),
        channel=noise,
        certificate=StretchedCertificate(prices, cores, layers, stride),
        guess=guess,
        # For a prior of one's own the noise is the same as for the worst answer.
        unbounded_bound=None if heights is None else value,
    )


def power_loss(far: np.ndarray, power: int) -> np.ndarray:
    """Return a power of a distance; for 0 whether there is any, the binary loss.

    >>> power_loss(np.array([0, 3]), 0).tolist(), power_loss(np.array([0, 3]), 2).tolist()
    ([0.0, 1.0], [0.0, 9.0])
    """
    return np.asarray(far, float) ** power if power else np.minimum(far, 1.0)


def _end_guesses(
    noise: UnboundedNoise, power: int, ends: int, together: int = 1 << 21
) -> tuple[np.ndarray, float]:
    """Return the best guesses for the first outputs, and the loss with them at both ends."""

    def loss(far: np.ndarray) -> np.ndarray:
        return power_loss(far, power)

    lattice = noise.lattice
    core = noise.core
    size = noise.shape[0]
    far = core + (len(noise.layers) - 1) * lattice.width
    away = np.arange(-far - ends, far + ends + 1)
    # The probability of one place in each layer of the noise.
    sizes = np.array(lattice.layers(len(noise.layers)), float)
    place_chance = noise.layers / sizes
    beyond_core = np.maximum(np.abs(away) - core, 0)
    layer = -(-beyond_core // lattice.width)
    last = len(place_chance) - 1
    inner = place_chance[np.minimum(layer, last)]
    chance = np.where(np.abs(away) <= far, inner, 0.0)
    reach = min(size, ends + far)
    answers = np.arange(reach)
    guess = np.zeros(ends, np.int64)
    lost = 0.0
    step = max(1, together // reach)
    # What falls below 0 is moved to output 0: all chances of noise from -x on downwards.
    below = np.cumsum(chance)[far + ends - answers]
    for o in np.split(np.arange(ends), range(step, ends, step)):
        errors = answers - o[:, None]
        seen = chance[errors + far + ends]
        if o[0] == 0:
            seen[0] = below
        sums = np.cumsum(seen, axis=1)
        # The median, the mean or the mode of the answers, given the output.
        if power == 1:
            guess[o] = (sums >= sums[:, -1:] / 2).argmax(axis=1)
        elif power == 2:
            means = seen @ answers / sums[:, -1]
            guess[o] = np.rint(means)
        else:
            guess[o] = seen.argmax(axis=1)
        losses = loss(np.abs(answers - guess[o][:, None]))
        lost += float((seen * losses).sum())
    rest = size - 2 * ends
    noise_loss = float(chance @ loss(np.abs(away)))
    # Outputs further in are guessed as they are, but lose what they cannot reach beyond the end.
    weighted = chance * loss(np.abs(away))
    outer = np.cumsum(weighted[: far + ends + 1])
    missing = sum(
        float(outer[far + ends - o - 1]) for o in range(ends, min(far, size - ends))
    )
    # Both ends, and the noise between them less what it cannot reach beyond the ends.
    total = 2 * lost + rest * noise_loss - 2 * missing
    return guess, total / size


def windowed(task: Task, start: int, prior: np.ndarray) -> Task | None:
    """Return the task on a window, or nothing where it is no power of a path."""
    graph = task.graph
    size = len(prior)
    whole = _whole_up_to(graph)
    if start + size > whole + 1:
        return None
    width = _width(graph)
    assert width is not None
    inner = PathPower(
        size,
        max(1, min(width, size - 1)),
        name=f"{graph.name} from {start} to {start + size - 1}",
        start=graph.start + start * graph.step,
        step=graph.step,
    )
    known = Prior(prior)
    # A prior that keeps its name need not be listed in a file.
    known.named = task.consumer.prior.named
    consumer = Consumer.of(inner, prior=known, loss=task.consumer.loss.name)
    return replace(task, graph=inner, consumer=consumer, faces=None)


def _width(graph: AnswerGraph) -> int | None:
    """Return how far apart neighbours are on a line, whose end may lack edges."""
    return graph.width if isinstance(graph, PathPower) else graph.power


def _whole_up_to(graph: AnswerGraph) -> int:
    """Return the last answer up to which all edges of the power of a path are there."""
    if graph.power is not None:
        return graph.size - 1
    return int(getattr(graph, "cap", -1))
