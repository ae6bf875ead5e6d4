r"""The route for questions too large to search: the best noise of the unbounded question.

Far from its ends a question is a lattice, and on the whole lattice noise that does not depend on
the answer loses no more in its worst case than any other mechanism: average it over all shifts.
So the least worst loss is

.. math:: \min_p \sum_z p(z)\,\ell(z) \quad\text{with}\quad \sum_z p(z) = 1,\;
   p(z') \ge \alpha\,p(z) \text{ on neighbours},

and its extreme rays are :math:`\alpha^h` with h integer and 1-Lipschitz. On a line this is a
staircase (Geng and Viswanath), whose core Dinkelbach's method finds; elsewhere
:math:`h(z) = d(z, 0)`. The judge states which of these are proved to be the best (its
``unbounded_bound``), and by how much the question itself can do better (``ended_bound``).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats, Ints
from tightrope.channels import UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.consumers.losses import CoordinateLoss
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.lattices import Lattice
from tightrope.optimize.certificate import UnboundedCertificate
from tightrope.optimize.result import Design
from tightrope.optimize.task import RoutePlan, Task

#: The part of a bound that the judge leaves for what lies beyond the ends, of squared losses.
_SPLIT = 2.0**-20


def unbounded_route(task: Task) -> RoutePlan | str:
    """Noise on the lattice of the question, for the worst answer.

    >>> from tightrope.queries import query
    >>> graph = query("histogram(6000,8)").graph
    >>> task = Task(graph, Epsilon.of(1), Consumer.of(graph, support="all", loss="distance"))
    >>> round(unbounded_route(task).solve().expected_loss, 6)
    6.650257
    """
    lattice = task.graph.unbounded
    if lattice is None:
        return f"{task.graph.name} is not a part of a translation-invariant lattice"
    reason = "the best noise of the unbounded question, held between the ends"
    if task.graph.size > task.settings.engine_answers and not task.consumer.risk_averse:
        task = worst_case(task)
        reason += ": for the worst answer, whatever the prior is"
    consumer = task.consumer
    if not (consumer.risk_averse and consumer.all_answers):
        return "noise without ends is for a risk-averse consumer who thinks all answers possible"
    if consumer.loss.name not in ("binary", "absolute", "squared", "distance"):
        return f"the {consumer.loss.name} loss does not follow from the distance of two answers"
    return RoutePlan(reason, lambda: _solved(task, lattice))


def worst_case(task: Task) -> Task:
    """Return the task of who thinks all answers possible: no prior loses more than its worst."""
    consumer = task.consumer
    if consumer.risk_averse:
        return task
    everyone = range(task.graph.size)
    return replace(task, consumer=Consumer(support=everyone, loss=consumer.loss))


def held_loss(noise: UnboundedNoise, consumer: Consumer) -> float:
    r"""Return what noise on a lattice loses under a prior, each number held between its ends.

    An absolute or squared loss is a sum over the numbers, each of which needs its own prior and
    the law of its own noise. On a cube noise is a mixture of even noise on the cubes
    :math:`|z_c| \le m`, under which the numbers are independent: so they are under a uniform
    prior, and the largest error is within s with the product of their probabilities. What has no
    such rule, the distance between histograms, is at most what the worst answer loses.

    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> two = StrongProduct([PathPower(11)] * 2)
    >>> noise = UnboundedNoise(two, 1)
    >>> held = held_loss(noise, Consumer.of(two, prior="uniform", loss="distance"))
    >>> round(held, 4), round(noise.worst("distance"), 4)
    (1.6677, 1.9053)
    """
    loss = consumer.loss
    lattice = noise.lattice
    worst = noise.worst(loss.name)
    if isinstance(loss, CoordinateLoss) and lattice.form != "line":
        prior = consumer.prior.probabilities
        numbers = loss.coordinates.T.astype(np.int64)
        parts = (_held_number(noise, line, prior, loss.power) for line in numbers)
        return min(sum(parts), worst)
    if lattice.form == "cube" and consumer.prior.is_uniform:
        return min(_held_cube(noise, loss.is_binary), worst)
    return worst


def _held_number(
    noise: UnboundedNoise, numbers: Ints, prior: Floats, power: int
) -> float:
    """Return the loss of one number, held between 0 and all people."""
    people = noise.lattice.people
    chances = np.bincount(numbers, prior, people + 1)
    sizes = np.arange(people + 1.0) ** power
    within = np.array([noise.within(a) for a in range(people + 1)])
    # With r left to an end, noise towards it loses a^p up to r, and r^p beyond.
    exactly = np.diff(within, prepend=0.0) / 2
    up_to_end = np.cumsum(exactly * sizes)
    lost = up_to_end + sizes * (1 - within) / 2
    return float(chances @ (lost + lost[::-1]))


def _held_cube(noise: UnboundedNoise, is_binary: bool) -> float:
    """Return the expected distance, or chance of an error, in a cube under a uniform prior."""
    lattice = noise.lattice
    people = lattice.people
    count = len(noise.layers)
    balls = np.array([float(lattice.ball(m)) for m in range(count)])
    # p(z) = Σ_{m ≥ |z|} q_m / |B_m|
    points = noise.layers / np.diff(balls, prepend=0.0)
    mixture = balls * -np.diff(points, append=0.0)
    m = np.arange(count)
    lost = 0.0
    for s in range(1 if is_binary else people):
        # From so many of people + 1 places one can go further than s upwards, or downwards.
        room = 2 * (people - s) / (people + 1)
        within = 1 - np.maximum(m - s, 0) / (2 * m + 1) * room
        lost += float(mixture @ (1 - within**lattice.parts))
    return lost


def usual_noise(graph: AnswerGraph, epsilon: Epsilon, loss: str) -> dict[str, float]:
    r"""Return the worst loss of independent geometric noise in each number, without ends.

    With a ratio g for each of k numbers the absolute loss is :math:`2kg/(1-g^2)` and the squared
    one :math:`2kg/(1-g)^2`; none of the numbers is moved with probability
    :math:`((1-g)/(1+g))^k`.

    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> two = StrongProduct([PathPower(1001)] * 2)
    >>> {name: round(x, 3) for name, x in usual_noise(two, Epsilon.of(1), "absolute").items()}
    {'independent': 3.838}
    """
    lattice = graph.unbounded
    assert lattice is not None
    numbers = lattice.parts - lattice.hidden
    shares = {"line": lattice.width, "cross": 1, "roots": 2}.get(lattice.form, numbers)
    # One person changes so many numbers, or steps of one: ε is divided among them.
    g = math.exp(-float(epsilon) / shares)
    step = float(lattice.step)
    known = {
        "binary": 1 - ((1 - g) / (1 + g)) ** numbers,
        "absolute": 2 * numbers * g / (1 - g * g) * step,
        "squared": 2 * numbers * g / (1 - g) ** 2 * step**2,
    }
    if lattice.form == "cross":
        known["distance"] = known["absolute"]
    elif (
        lattice.form == "cube"
    ):  # the largest of k numbers is above m with 1 - P(|z| ≤ m)^k
        last = int(40 * shares / float(epsilon))
        far = np.arange(last + 2)
        # E max = Σ_m P(max > m), with P(|z| > m) = 2·g^(m+1)/(1 + g).
        known["distance"] = float(
            (1 - (1 - 2 * g ** (far + 1) / (1 + g)) ** numbers).sum()
        )
    if loss not in known:
        return {}
    return {"geometric" if lattice.form == "line" else "independent": known[loss]}


def _solved(task: Task, lattice: Lattice) -> Design:
    graph = task.graph
    loss = task.consumer.loss.name
    noise = best_noise(graph, task.epsilon, loss)
    value = noise.worst(loss)
    best = min(_proved(graph, loss, task.epsilon), value)
    fall = _slope(lattice, loss, float(task.epsilon), best)
    slope: float | None = math.exp(-fall)
    # Columns times the prior β^d are private for γ = α·β only: ε grows by δ = -ln β.
    bound = _proved(graph, loss, Epsilon.of(float(task.epsilon) + fall))
    bound = (bound - _beyond(lattice, loss, fall)) * (1 - _SPLIT)
    alpha = Fraction(task.epsilon.alpha)
    by_lines = (
        float(lattice.lines_bound(loss, alpha) * lattice.units(loss)) if alpha else 0.0
    )
    if by_lines >= bound:
        slope = None
        bound = by_lines
    return task.answered(
        loss=value,
        bound=min(max(bound, 0.0), best),
        channel=noise,
        certificate=UnboundedCertificate(slope),
        unbounded_bound=best,
    )


def _proved(graph: AnswerGraph, loss: str, epsilon: Epsilon) -> float:
    """Return what the judge proves about the unbounded question, in floats.

    It is the loss of the noise itself where that is proved to be the best one; else a bound from
    the least loss of each layer, or from each coordinate alone.
    """
    noise = best_noise(graph, epsilon, loss)
    lattice = noise.lattice
    form = lattice.form
    k = lattice.parts
    # Where each layer has one loss the noise itself is proved optimal.
    by_layer = loss == "distance" or (
        loss == "absolute" and form == "roots" and not lattice.hidden
    )
    if loss == "binary" or form in ("line", "cross") or (by_layer and form != "range"):
        return noise.expected(loss)
    g = epsilon.alpha
    many = 1 if loss == "distance" else k
    # Along one coordinate: Σ γ^|z|·|z|^p over Σ γ^|z|, for p = 1 and 2.
    mean = 2 * g / (1 - g) ** 2 if loss == "squared" else 2 * g / (1 - g * g)
    alone = many * mean
    if form == "range":
        return alone
    t = least = np.arange(len(noise.layers), dtype=np.float64)
    if loss == "squared" and form == "cube":
        least = t * t
    elif loss == "squared":
        # Cauchy-Schwarz: Σ z² ≥ (Σ |z|)² / numbers, where Σ |z| is 2t, or t with a hidden class.
        split = 1 / (k - 1) if lattice.hidden else 4 / k
        spread_out = np.ceil(split * t * t)
        least = np.maximum(spread_out, t * (2 - lattice.hidden))
    if form == "cube" and loss == "absolute":
        alone = max(alone, _size_bound(k, g, len(noise.layers)))
    by_layers = float(noise.layers @ least)
    return max(alone if form == "cube" else 0.0, by_layers)


def _size_bound(k: int, g: float, count: int, parts: int = 64) -> float:
    """Return the judge's bound for the absolute loss of k counts by the sizes of sets.

    It is 0, no bound, where the sizes are beyond the floats.
    """
    # The largest set that is compared has fewer than (2·k·(count + 16) + 1)^k points.
    log_points = k * math.log(2 * k * (count + 16) + 1)
    if log_points > math.log(sys.float_info.max):
        return 0.0
    t = np.arange(count)
    best = math.inf
    start = parts
    most = k * (count + 8) + 8
    sizes = Lattice("cross", k, 1).layers(most)
    sums = np.cumsum(np.array(sizes, float))
    products = [r * n for r, n in enumerate(sizes)]
    losses = np.cumsum(np.array(products, float))
    while True:
        end = start + max(1, start // parts)
        radii = (x / parts + 2 * t for x in (start, end))
        low, high = (radius**k for radius in radii)
        r = np.minimum(np.searchsorted(sums, low), len(sums) - 1)
        far = losses[r] - r * (sums[r] - low)
        # The smallest set loses at least `best` per point, and larger ones more: done.
        if far[0] >= best * low[0]:
            return best
        # The loss at the start of an interval over the size at its end is a lower bound.
        best = min(best, float((g**t @ far) / (g**t @ high)))
        start = end


def _slope(lattice: Lattice, loss: str, epsilon: float, best: float) -> float:
    r"""Return how fast the logarithm of the prior around the middle shall fall, δ.

    A steep prior has little beyond the ends, but its bound is that for :math:`\varepsilon +
    \delta`, where losses are about in proportion to a power of :math:`1/\varepsilon`.
    """
    falls = np.geomspace(1e-9, 20, 400)
    power = {"squared": 2, "binary": 0}.get(loss, 1)
    values = [
        best * (epsilon / (epsilon + fall)) ** power * (1 - fall * (not power) * 1e-3)
        - _beyond(lattice, loss, float(fall))
        for fall in falls
    ]
    return float(falls[int(np.argmax(values))])


def _beyond(lattice: Lattice, loss: str, fall: float) -> float:
    r"""Bound what the prior :math:`e^{-\delta d}` around the middle loses beyond the ends.

    Beyond the M layers that are answers it has at most
    :math:`N_M e^{-\delta M} / \sum_t N_t e^{-\delta t}` times a geometric series.
    """
    inside, near, growth = _last_layer(lattice)
    if inside < 1 or fall <= growth:
        return math.inf
    # 1 - ρ, with ρ = N_(M+1)/N_M·e^-δ the ratio of successive terms.
    rest = -math.expm1(growth - fall)
    # The logarithm of N_M·e^(-δM) / Σ N_t·e^(-δt), times ρ.
    weight = near - fall * inside - _log_mass(lattice, fall) + growth - fall
    step = {"line": lattice.width, "cross": 1, "roots": 2}.get(
        lattice.form, lattice.parts
    )
    if loss == "binary":
        weight -= math.log(rest)
    elif loss == "squared":
        # ρ(1 + ρ)/(1 - ρ)³ = Σ j²·ρ^j, divided by the share left for it.
        weight += math.log1p(1 - rest) - 3 * math.log(rest) - math.log(_SPLIT)
        weight += 2 * math.log(2 * step * lattice.step)
    else:
        weight += math.log(2 if loss == "distance" else 2 * step * lattice.step)
        # ρ/(1 - ρ)² = Σ j·ρ^j
        weight -= 2 * math.log(rest)
    return math.exp(min(weight, 300.0))


@lru_cache(maxsize=64)
def _last_layer(lattice: Lattice) -> tuple[int, float, float]:
    """Return M, up to which layers are all answers, log N_M, and how much more the next has."""
    inside = lattice.inner // (1 if lattice.form == "roots" else 2 * lattice.width)
    near = math.log(lattice.layer(inside))
    return inside, near, math.log(lattice.layer(inside + 1)) - near


def best_noise(graph: AnswerGraph, epsilon: Epsilon, loss: str) -> UnboundedNoise:
    """Return the noise whose core has the least loss: the ratio has one minimum over the cores.

    >>> from tightrope.graphs import PathPower
    >>> best_noise(PathPower(1000, 5), Epsilon.of(1), "absolute").core
    1
    """

    def lost(core: int) -> float:
        return UnboundedNoise(graph, epsilon, core).expected(loss)

    lattice = graph.unbounded
    widest = lattice.width - 1 if lattice is not None and lattice.form == "line" else 0
    core = bisect_left(
        range(widest), True, key=lambda core: lost(core) <= lost(core + 1)
    )
    return UnboundedNoise(graph, epsilon, core)


def _log_mass(lattice: Lattice, fall: float) -> float:
    r"""Return the logarithm of :math:`\sum_t N_t \beta^t`, with β = e^-fall."""
    top = _numerator(lattice)
    powers = np.arange(len(top))  # the series is P(x)/(1-x)^m with m = len(P) - 1
    whole = float(np.logaddexp.reduce(top - fall * powers))
    return whole - float(powers[-1]) * math.log(-math.expm1(-fall))


@lru_cache(maxsize=64)
def _numerator(lattice: Lattice) -> NDArray[np.float64]:
    r"""Return the logarithms of the coefficients of P: :math:`\sum_t N_t x^t = P(x)/(1-x)^m`."""
    return np.array([math.log(coefficient) for coefficient in lattice.series()[0]])
