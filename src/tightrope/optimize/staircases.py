r"""Sums: the linear program over staircases.

On a power of a path, where neighbours differ by at most v, the cheapest private column for a
guess falls from an interval, its *core* [a, b], by α for every v answers:

.. math:: S_{ab}(i) = \alpha^{\lceil \max(a - i,\, i - b,\, 0) / v \rceil}

wherever answers further off the guess cost more than their prices. For given weights the best
core is found by sums alone: with P for the sums of the weights up to an answer, and L and R for
what lies before and behind a core,

.. math::
   w \cdot S_{ab} = (L_a - P_{a-1}) + (P_b + R_b), \qquad R_b = \alpha (P_{b+v} - P_b + R_{b+v}),

and the two brackets are minimised one after the other. So column generation prices all guesses
in a few passes over the costs. In the program each row is taken less α times the row v before it,
then less α times the row v behind it: that leaves about 5v entries of a staircase. The result is
priced over all private columns before it is believed (:func:`~.solvers.finished`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tightrope.optimize.faces import Face, joined
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Stopped, Watch
from tightrope.optimize.simplex import minimise

#: How many times as long as one pricing of all guesses a proof of their prices takes, at most: four
#: searches for cores, each a pricing, and two turns over all guesses that pass both sides of a core
#: (further turns are for few of them). Measured: 5.4 on 600 answers under a uniform prior, 4.2 on
#: 1,200 under a geometric one.
PROOF_PASSES = 8


@dataclass(frozen=True, eq=False)
class StaircaseResult:
    """Columns by guess, prices, the value of the program, and what the columns are made of.

    ``cores`` are those of the staircases, each with its guess; ``stopped`` says that the search
    ended for want of time.

    >>> StaircaseResult({}, np.zeros(2), 0.0, 1).rounds
    1
    """

    columns: dict[int, Floats]
    prices: Floats
    value: float
    rounds: int
    cores: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    stopped: bool = False

    def faces(self, problem: Problem, width: int) -> dict[int, Face]:
        """Return for each guess the smallest face that contains its staircases."""
        faces = dict[int, Face]()
        heights = steps(self.cores, np.arange(problem.size), width)
        for k, ray in zip(self.cores[:, 2].tolist(), heights, strict=True):
            faces[k] = joined(problem, faces.get(k), ray)
        return faces


def solve_staircases(
    costs: Floats,
    width: int,
    alpha: float,
    scale: Floats,
    *,
    gap: float = 1e-9,
    watch: Watch | None = None,
    most_rounds: int = 60,
    negligible: float = 1e-10,
) -> StaircaseResult:
    r"""Minimise :math:`\sum_k c_k \cdot x^k` over mixtures of staircases that sum to 1.

    Parameters
    ----------
    costs
        :math:`c_k(i)`, one row for each answer and one column for each guess.
    width
        v, the largest difference between neighbours.
    alpha
        :math:`\alpha`.
    scale
        How much each answer counts, such as the prior: rows and columns are scaled by it, so that
        answers that hardly matter do not drown in the solver's tolerance. Answers towards the
        ends that count less than ``negligible`` times the most are left out of the program: they
        count as the nearest that is in it, and have the price 0.
    gap
        Part of the value by which prices may be off when the search ends.
    watch
        Says when time is up.

    Examples
    --------
    >>> far = np.abs(np.subtract.outer(np.arange(51), np.arange(51))) / 51
    >>> found = solve_staircases(far, 5, np.exp(-1.0), np.full(51, 1 / 51))
    >>> round(found.value, 6), round(float(found.prices.sum()), 6)
    (4.10191, 4.10191)
    """
    least = negligible * scale.max()
    used = np.flatnonzero(scale >= least)
    low = int(used[0])
    high = int(used[-1]) + 1
    if high - low < len(scale):
        inner = slice(low, high)
        result = solve_staircases(
            costs[inner, inner],
            width,
            alpha,
            scale[inner],
            gap=gap,
            watch=watch,
            negligible=negligible,
        )
        ends = low, len(scale) - high
        # An answer outside counts as the nearest inside, so no two move apart.
        columns = {
            k + low: np.pad(x, ends, mode="edge") for k, x in result.columns.items()
        }
        # A core that ends at a cut may as well go on to the end of the line.
        cores = result.cores + low
        wide = cores.copy()
        wide[wide[:, 0] == low, 0] = 0
        wide[wide[:, 1] == high - 1, 1] = len(scale) - 1
        cores = np.unique(np.concatenate([cores, wide]), axis=0)
        prices = np.pad(result.prices, ends)
        return replace(result, columns=columns, prices=prices, cores=cores)
    program = _StaircaseProgram(
        np.ascontiguousarray(costs.T), width, alpha, np.maximum(scale, least)
    )
    fresh = program.add(program.first_cores())
    rounds = 0
    value = 0.0
    prices = np.zeros(len(scale))
    weights = np.zeros(0)
    watch = Watch() if watch is None else watch
    reserve = 0.0
    stopped = False
    while fresh and rounds < most_rounds:
        # The program may take what is left less the time that the proof of its prices needs.
        search = Watch(watch, max(0.0, watch.left - reserve))
        try:
            value, prices, weights = program.solve(search)
        except KeyboardInterrupt:
            if not rounds:
                raise
            stopped = True
            break
        rounds += 1
        began = watch.seconds
        gains, cores = program.price(prices)
        reserve = PROOF_PASSES * (watch.seconds - began)
        # Prices lowered by -Σ min(gain, 0) in all are feasible: the bound is off by no more.
        tolerance = gap * abs(value)
        shortfall = -np.minimum(gains, 0).sum()
        is_off = shortfall > tolerance / 4
        cheap = gains < -tolerance / (8 * len(gains))
        fresh = is_off and program.add(cores[cheap])
        if watch.heartbeat() or watch.left <= reserve:
            stopped = bool(fresh)
            break
    columns, cores = program.mixed(weights)
    return StaircaseResult(columns, prices, value, rounds, cores, stopped)


class _StaircaseProgram:
    """The program over the staircases found so far, each with its guess."""

    def __init__(self, costs: Floats, width: int, alpha: float, scale: Floats) -> None:
        self.costs = costs
        self.width = width
        self.alpha = alpha
        self.scale = scale
        self.n = costs.shape[1]
        self.peak = int(scale.argmax())
        self.cores = np.zeros((0, 3), np.int64)
        self.cost = np.zeros(0)
        self.parts: list[tuple[Ints, Ints, Floats]] = []
        self.basis: tuple[Ints, Ints] | None = None

    def first_cores(self) -> Ints:
        """Return the cores of noise with the best radius, and of one less and more at one side."""
        n = self.n
        v = self.width
        middle = n // 2
        widest = min(v, (n - 1) // 2)
        radius = np.arange(widest + 1)
        around = np.stack([middle - radius, middle + radius], axis=1)
        rays = self.staircases(around)
        # The radius with the least loss per unit of probability, in the middle of the line.
        losses = rays @ self.costs[middle]
        r = int(np.argmin(losses / (rays @ self.scale)))
        starts = np.arange(-r, n + r)
        cores = [
            np.stack([starts - r, starts + r - shift], 1)
            for shift in (-1, 0, 1)
            if r or shift < 1
        ]
        # What noise puts beyond an end is a staircase whose core ends there.
        ends = np.arange(min(v, n))
        cores += [
            np.stack([0 * ends, ends], 1),
            np.stack([n - 1 - ends, 0 * ends + n - 1], 1),
        ]
        clipped = np.clip(np.concatenate(cores), 0, n - 1)
        clipped = clipped[clipped[:, 0] <= clipped[:, 1]]
        return np.column_stack([clipped, clipped.sum(axis=1) // 2])

    def staircases(self, cores: Ints) -> Floats:
        """Return the staircases of cores, one row for each."""
        return staircases(cores, self.n, self.width, self.alpha)

    def add(self, cores: Ints) -> bool:
        """Add staircases, each with the best guess near its core; return whether any is new."""
        guess, cost = self._best_guesses(cores)
        triples = np.column_stack([cores[:, :2], guess]).tolist()
        keys = map(tuple, triples)
        known = {*map(tuple, self.cores.tolist())}
        fresh = {
            key: x
            for key, x in zip(keys, cost.tolist(), strict=True)
            if key not in known
        }
        if not fresh:
            return False
        self.parts += [
            self._entries(a, b, place)
            for place, (a, b, _) in enumerate(fresh, len(known))
        ]
        self.cost = np.append(self.cost, [*fresh.values()])
        new_cores = np.array([*fresh], np.int64)
        self.cores = np.concatenate([self.cores, new_cores])
        return True

    def _best_guesses(
        self, cores: Ints, together: int = 256, coarse: int = 256
    ) -> tuple[Ints, Floats]:
        """Return the best guess for each staircase and its cost: the given one, or near a grid's.

        The guesses between two of so many are looked at where those are the best, or the given.
        """
        guess = cores[:, 2].copy()
        cost = np.full(len(cores), np.inf)
        grid = max(1, self.n // coarse)
        # First every so many-th guess, then all of them near the best of those.
        for fine in (False, True) if grid > 1 else (False,):
            order = np.argsort(guess, kind="stable")
            for at in range(0, len(order), together):
                some = order[at : at + together]
                rays = self.staircases(cores[some])
                first = max(int(guess[some].min()) - grid, 0)
                near = slice(0, None, grid)
                if fine:
                    near = slice(first, guess[some].max() + grid + 1)
                own = np.einsum("ij,ij->i", rays, self.costs[guess[some]])
                worth = rays @ self.costs[near].T
                best = worth.argmin(axis=1)
                least = worth[np.arange(len(some)), best]
                best = best + first if fine else best * grid
                guess[some] = np.where(own <= least, guess[some], best)
                cost[some] = np.minimum(own, least)
        return guess, cost

    def _entries(
        self, a: int, b: int, place: int, rounding: float = 1e-15
    ) -> tuple[Ints, Ints, Floats]:
        """Return the rows and entries of one staircase in the program."""
        v = self.width
        n = self.n
        # The combined rows of a staircase vanish beyond 2v from its core.
        low = max(0, a - 3 * v)
        high = min(n, b + 3 * v + 1)
        i = np.arange(low, high)
        core = np.array([[a, b]]) - low
        ray = staircases(core, len(i), v, self.alpha)[0]
        rows = self.combined(ray, low)
        # At a cut that is no end of the line there was nothing to subtract: these rows are 0.
        first = a - 2 * v if low else 0
        last = b + 2 * v if high < n else n
        is_cut = (i < first) | (i > last)
        rows[is_cut] = 0.0
        rows = self.outward(rows, low)
        used = np.flatnonzero(np.abs(rows) > rounding)
        return i[used], np.full(len(used), place), rows[used]

    def combined(self, values: Floats, low: int = 0) -> Floats:
        """Return a column, from answer ``low`` on, less α times what is v before and v behind.

        Outside its core and beside it a staircase leaves nothing.
        """
        v = self.width
        alpha = self.alpha
        # r_i = x_i - α x_{i-v}
        ahead = values.copy()
        ahead[v:] -= alpha * values[:-v] if v < len(values) else 0
        if low == 0:
            # As if the column fell by α beyond the end, x_{i-v} = α·x_i.
            ahead[:v] = (1 - alpha * alpha) * values[:v]
        # r_i - α r_{i+v}
        both = ahead.copy()
        both[:-v] -= alpha * ahead[v:] if v < len(values) else 0
        return both

    def outward(self, rows: Floats, low: int = 0) -> Floats:
        """Take each row less the one before it, as seen from the answer that counts most.

        Inside its core a staircase is constant: that leaves nothing of it either.
        """
        peak = min(max(self.peak - low, 0), len(rows))
        differences = rows.copy()
        differences[peak + 1 :] -= rows[peak:-1]
        differences[:peak] -= (
            rows[1 : peak + 1] if peak < len(rows) else np.append(rows[1:], 0.0)
        )
        return differences

    def solve(
        self, watch: Watch | None, *, largest: float = 1e3, even: float = 1e3
    ) -> tuple[float, Floats, Floats]:
        """Solve the program; return its value, the prices of the answers and the weights.

        By an interior-point method where no answer counts ``even`` times as much as another: the
        simplex method takes far more steps on long lines, and prices in the middle of all that are
        best ask for better columns. Else it loses digits, and a basis does not. The right side is
        scaled to ``largest``, far above the solver's tolerance.
        """
        from scipy.sparse import csc_array

        count = len(self.cost)
        rows = self.scale
        # Each column is scaled by the answer in the middle of its core, each row by its own.
        middles = self.cores[:, :2].sum(axis=1) // 2
        unit = 1 / rows[middles]
        place, column, entry = (
            np.concatenate(part) for part in zip(*self.parts, strict=True)
        )
        scaled = csc_array(
            (entry * rows[place] * unit[column], (place, column)), (self.n, count)
        )
        right = self.outward(self.combined(np.ones(self.n))) * rows
        factor = largest / np.abs(right).max()
        right_scaled = right * factor
        program = self.cost * unit, scaled, right_scaled, right_scaled
        if rows.max() <= even * rows.min():
            solution = minimise(*program, watch=watch, interior=True)
        else:
            basis = self.basis
            if basis is not None:
                # A warm start: new columns are not in the basis.
                new = np.zeros(count - len(basis[0]), np.int64)
                basis = np.append(basis[0], new), basis[1]
            solution = minimise(*program, basis=basis, watch=watch)
            self.basis = solution.basic_columns, solution.basic_rows
        weights = np.maximum(solution.values, 0.0) * unit / factor
        prices = self._prices(solution.duals * rows)
        return float(solution.value / factor), prices, weights

    def _prices(self, duals: Floats) -> Floats:
        """Return the prices of answers from the duals of the program's rows.

        The rows are the transposes of ``combined`` and ``outward``, so both are undone in turn.
        """
        v = self.width
        alpha = self.alpha
        n = self.n
        peak = self.peak
        # The transpose of `outward`.
        behind = duals.copy()
        behind[peak:-1] -= duals[peak + 1 :]
        behind[1 : peak + 1] -= duals[:peak]
        duals = behind.copy()
        # The transposes of both steps of `combined`, in reverse order.
        behind[v:] -= alpha * duals[:-v] if v < n else 0
        prices = behind.copy()
        prices[:v] *= 1 - alpha * alpha
        prices[:-v] -= alpha * behind[v:] if v < n else 0
        return prices

    def price(self, prices: Floats, together: int = 1 << 21) -> tuple[Floats, Ints]:
        """Return for each guess what its cheapest staircase costs less its prices, and its core."""
        step = max(1, together // self.n)
        guesses = np.arange(len(self.costs))
        parts = [
            cheapest_cores(self.costs[k] - prices, self.width, self.alpha, guesses=k)
            for k in np.split(guesses, range(step, len(guesses), step))
        ]
        columns = zip(*parts, strict=True)
        value, low, high = (np.concatenate(part) for part in columns)
        return value, np.stack([low, high, guesses], axis=1)

    def mixed(self, weights: Floats) -> tuple[dict[int, Floats], Ints]:
        """Return the columns that the weights make, by guess, and the cores with weight."""
        used = np.flatnonzero(weights > 0)
        columns: dict[int, Floats] = {}
        for core, weight in zip(self.cores[used], weights[used], strict=True):
            column = columns.setdefault(int(core[2]), np.zeros(self.n))
            column += weight * self.staircases(core[None])[0]
        return columns, self.cores[used]


def cheapest_cores(
    weights: Floats,
    width: int,
    alpha: float,
    near: int | None = None,
    guesses: Ints | None = None,
) -> tuple[Floats, Ints, Ints]:
    """Return for the weights of each guess what its cheapest staircase is worth, and its core.

    The guesses are the first ones, or the given.

    Cores end at most ``near`` widths from the guess, by default 3/ε, or with the line: a staircase
    far off is worth next to nothing there, whatever the weights are, and proves nothing.

    >>> value, low, high = cheapest_cores(np.array([[-1.0, -1, 3, 3], [3, -1, -1, 3]]), 1, 0.5)
    >>> value.tolist(), low.tolist(), high.tolist()
    ([-0.375, 0.75], [0, 1], [0, 1])
    """
    count, n = weights.shape
    near = int(np.ceil(3 / min(1.0, -np.log(alpha)))) if near is None else near
    guesses = np.arange(count) if guesses is None else guesses
    distance = np.abs(np.arange(n) - guesses[:, None])
    far = distance > near * width
    # P_i is sums[:, i + 1]
    sums = np.zeros((count, n + 1))
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    behind, before = np.zeros((2, count, n + width))
    # R_b = α (P_{b+v} - P_b + R_{b+v}), v answers at a time
    for at in range((n - 1) // width * width, -1, -width):
        b = np.arange(at, min(at + width, n))
        ends = np.minimum(b + 1 + width, n)
        passed = sums[:, ends] - sums[:, b + 1]
        behind[:, b] = alpha * (passed + behind[:, b + width])
    # L_a = α (P_{a-1} - P_{a-1-v} + L_{a-v})
    for at in range(0, n, width):
        a = np.arange(at, min(at + width, n))
        starts = np.maximum(a - width, 0)
        # A column of ``before`` is shifted by the width, so that what lies ahead of 0 is 0.
        passed = sums[:, a] - sums[:, starts]
        before[:, a + width] = alpha * (passed + before[:, a])
    opened = before[:, width:] - sums[:, :n]
    # Where the prior falls faster than α, a core may go on to the end of the line.
    opened[:, 1:][far[:, 1:]] = np.inf
    behind[:, : n - 1][far[:, :-1]] = np.inf
    # The least of L_a - P_{a-1} over a ≤ b, plus P_b + R_b.
    least_opened = np.minimum.accumulate(opened, axis=1)
    total = least_opened + sums[:, 1:] + behind[:, :n]
    high = total.argmin(axis=1)
    rows: Any = np.arange(count)
    # The first answer of the core is where the running minimum up to its last is attained.
    possible = np.arange(n) <= high[:, None]
    low = np.where(possible, opened, np.inf).argmin(axis=1)
    return total[rows, high], low, high


def tightest_cores(
    costs: Floats,
    prices: Floats,
    width: int,
    alpha: float,
    guesses: Ints,
    *,
    steps: int = 4,
    close: float = 1e-9,
) -> tuple[Ints, Floats]:
    """Return for each guess the core whose staircase leaves the least of its costs unpriced.

    With them comes what part of the prices the costs of these staircases are.

    Where all prices are lower than they might be, a staircase that is nearly 0 wherever prices
    count costs least and proves nothing. So prices are raised for each guess until its cheapest
    staircase costs as much as its prices (the method of Dinkelbach).

    >>> far = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> tightest_cores(far, np.ones(9), 2, 0.5, np.arange(9))[0][:3].tolist()
    [[0, 0], [0, 1], [1, 2]]
    """
    raised = np.ones((len(costs), 1))
    for _ in range(steps):
        values, low, high = cheapest_cores(
            costs - raised * prices, width, alpha, guesses=guesses
        )
        cores = np.stack([low, high], axis=1)
        priced = staircases(cores, len(prices), width, alpha) @ prices
        # The root of the linear function that touches the minimum: t + w(t)·S / (λ·S)
        positive = np.where(priced > 0, priced, 1.0)
        ratios = values / positive
        raised[:, 0] += np.where(priced > 0, ratios, 0.0)
        if (np.abs(values) <= close * priced).all():
            break
    return cores, raised[:, 0]


def staircases(cores: Ints, n: int, width: int, alpha: float) -> Floats:
    """Return the staircases of cores on a line of n answers, one row for each.

    >>> staircases(np.array([[1, 1]]), 4, 1, 0.5).tolist()
    [[0.5, 1.0, 0.5, 0.25]]
    """
    most_steps = -(-n // width)
    powers = alpha ** np.arange(most_steps + 1.0)
    return powers[steps(cores, np.arange(n), width)]


def steps(cores: Ints, answers: Ints, width: int) -> Ints:
    """Return how many steps staircases have fallen at answers, one row for each core.

    >>> steps(np.array([[1, 2]]), np.arange(6), 2).tolist()
    [[1, 0, 0, 1, 1, 2]]
    """
    outside = np.maximum(cores[:, :1] - answers, answers - cores[:, 1:2])
    away = np.maximum(outside, 0)
    return np.asarray(-(-away // width))


def end_prices(
    loss: Callable[[Ints, int], Floats],
    width: int,
    alpha: float,
    core: int,
    middle: float,
    depths: tuple[int, int, int],
    *,
    rise: float = np.inf,
    watch: Watch | None = None,
    most_entries: int = 3000,
    widest: int = 8,
) -> tuple[Floats, Ints]:
    r"""Return prices for the ends of a long line, proved up to rounding, and the cores that do so.

    They are for the first answers under a uniform prior, times the number of all answers. A short
    line is solved with steps of at most ``widest``, its prices up to the middle are stretched to
    the width, and decreased until dual feasible.

    Parameters
    ----------
    loss
        The loss at a distance, where neighbours differ by up to a width.
    width
        The largest difference between neighbours.
    alpha
        :math:`\alpha`.
    core, middle
        Core and loss of the best noise on a line without ends.
    depths
        In widths: how far the ends reach, how much further prices may be lowered, and how much of
        a staircase is counted on each side.
    rise
        By what part of the middle prices of the short line may be above it.
    watch
        Hears that work goes on. It does not end it: ends are what is had when time is up.

    Examples
    --------
    >>> prices, cores = end_prices(lambda far, _: far, 5, np.exp(-1.0), 1, 4.786284299, (18, 6, 25))
    >>> round(float((prices - prices[-1]).sum()), 2), round(float(prices[-1]), 6)
    (-17.97, 4.786284)
    """
    deep, spare, layers = depths
    # The program of the short line has about 2·deep·narrow² entries.
    affordable = (most_entries / (2 * deep)) ** 0.5
    narrow = int(max(1, min(width, widest, affordable)))
    size = 2 * deep * narrow + 1
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    short_line = solve_staircases(
        loss(away, narrow) / size, narrow, alpha, np.full(size, 1 / size), gap=1e-7
    )
    short = short_line.prices * size
    # From the middle of the short line on prices are even but for rounding.
    inner = deep * narrow - narrow
    middle_prices = short[inner : inner + 2 * narrow]
    even = float(middle_prices.mean())
    excess = short[: inner + 1] / even - 1
    first = np.minimum(excess, rise)
    first *= np.linspace(1, 0, inner + 1) ** 0.25
    # Stretched: narrow steps of the short line are width steps of the long one.
    on_short = np.arange(deep * width) * narrow // width
    at = np.minimum(on_short, inner)
    reach = layers * width
    excesses = np.append(first[at], np.zeros(spare * width + 1))
    prices = middle * (1 + excesses)
    count = len(prices)
    cores: Ints = np.arange(count)[:, None] + np.array([-core, core])
    # Guesses near the end have cores of their own: the nearer, the larger ε.
    shift = int(np.ceil(3 / min(1.0, -np.log(alpha))))
    most = min(count, (shift + 1) * width, 4_000_000 // (2 * reach))
    near = np.arange(most)
    last = min(count, most + shift * width)
    columns = np.arange(last + reach)
    weights = (
        loss(np.abs(columns - near[:, None]), width)
        - prices[np.minimum(columns, count - 1)]
    )
    _, low, high = cheapest_cores(weights, width, alpha, shift)
    cores[near] = np.stack([low, high], axis=1)
    cores = np.maximum(cores, 0)
    away = np.arange(-reach, reach + 1)

    def shortfall(k: Ints, prices: Floats) -> tuple[Ints, Floats]:
        if watch is not None:
            watch.heartbeat()
        # Guesses beyond the listed prices have the last price and the last core, moved along.
        i = k[:, None] + away
        at = np.clip(i, 0, count - 1)
        core = (
            cores[np.minimum(k, count - 1)].T + np.maximum(k - count + 1, 0) - k + reach
        )
        losses = loss(np.abs(away), width) - prices[at]
        weights = np.where(i >= 0, losses, 0.0)
        return at, dual_shortfall(weights, core[0], core[1], width, alpha)

    step = max(1, (1 << 20) // len(away))
    prices, _ = _make_dual_feasible(
        prices, shortfall, count + reach + 1, 1e-13 * middle, step=step, turns=100
    )
    return prices, cores


def dual_shortfall(
    weights: Floats, low: Ints, high: Ints, width: int, alpha: float
) -> Floats:
    r"""Return the dual infeasibility per answer when surpluses are sent towards the core.

    The weights of a guess, one row for each, are proved when no answer is short: a surplus t at an
    answer is worth :math:`\alpha t` at one up to v nearer. A deficit outside the core is covered by
    the furthest answers that reach it, which reach the fewest others; what is left goes to the
    answer v nearer. Inside the core the deficit of every interval must not exceed the surplus that
    reaches one of its answers (Hall); what is missing is shared by the answers of the core.

    >>> weights = np.array([[8.0, -2, -4, -1, 4]])
    >>> dual_shortfall(weights, np.array([1]), np.array([2]), 1, 0.5).tolist()
    [[0.0, 1.75, 1.75, 0.0, 0.0]]
    """
    rows = np.arange(len(weights))[:, None]
    n = weights.shape[1]
    shortfall = np.zeros_like(weights)
    reached = []
    # From either end towards the core, v answers at a time.
    for start, out in ((high + 1, 1), (low - 1, -1)):
        surplus = np.zeros((len(weights), width))
        outside = n - start if out > 0 else start + 1
        far = int(outside.max())
        for t in range(-(-far // width) - 1, -1, -1):
            distance = np.arange(t * width, (t + 1) * width)
            i = start[:, None] + out * distance
            inside = (i >= 0) & (i < n)
            i = np.clip(i, 0, n - 1)
            w = np.where(inside, weights[rows, i], 0.0)
            arriving = alpha * surplus
            deficit = np.maximum(-w, 0)
            # What deficits further in leave uncovered, summed from the inside out: a queue whose
            # length is the running sum less its running minimum.
            uncovered = np.cumsum((deficit - arriving)[:, ::-1], axis=1)
            uncovered -= np.minimum(np.minimum.accumulate(uncovered, axis=1), 0)
            rest = uncovered[:, -1:]
            if rest.max(initial=0.0) > 0:
                short = np.clip(rest - np.cumsum(deficit, axis=1) + deficit, 0, deficit)
                places = np.broadcast_to(rows, i.shape)[inside], i[inside]
                shortfall[places] = short[inside]
            changes = np.diff(uncovered, axis=1, prepend=0)
            covered = changes[:, ::-1]
            surplus = np.maximum(w + arriving + covered, 0)
        reached.append(np.cumsum(alpha * surplus, axis=1))
    # Hall's condition for every interval [a, b] of the core: the deficits in it are at most what
    # reaches a from before plus what reaches b from behind. The worst a is a running minimum.
    size = high - low + 1
    p = np.arange(int(size.max()))
    inside = p < size[:, None]
    i = np.minimum(low[:, None] + p, n - 1)
    lacking = np.maximum(-weights[rows, i], 0)
    deficit = np.where(inside, lacking, 0)
    due = np.cumsum(deficit, axis=1)
    to_end = np.maximum(size[:, None] - 1 - p, 0)
    from_start = np.broadcast_to(p, inside.shape)
    behind, before = (
        np.where(far < width, sums[rows, np.maximum(width - 1 - far, 0)], 0)
        for sums, far in zip(reached, (to_end, from_start), strict=True)
    )
    opened = np.where(inside, due - deficit + before, np.inf)
    opened = np.minimum.accumulate(opened, axis=1)
    lack = np.where(inside, due - behind - opened, 0)
    missing = lack.max(axis=1, initial=0)
    share = np.broadcast_to((missing / size)[:, None], i.shape)
    own_rows = np.broadcast_to(rows, i.shape)[inside]
    shortfall[own_rows, i[inside]] = share[inside]
    return shortfall


def proved_prices(
    costs: Floats,
    prices: Floats,
    width: int,
    alpha: float,
    *,
    watch: Watch | None = None,
    together: int = 1 << 20,
    turns: int = 100,
) -> Floats:
    """Return prices decreased until dual feasible for every guess; 0 where that fails.

    Prices on their way prove nothing: when time is up before they are feasible,
    :class:`~.progress.Stopped` is raised.

    >>> far = np.abs(np.subtract.outer(np.arange(51), np.arange(51))) / 51
    >>> found = solve_staircases(far, 5, np.exp(-1.0), np.full(51, 1 / 51))
    >>> round(float(proved_prices(far, found.prices, 5, np.exp(-1.0)).sum()), 6)
    4.10191
    """
    step = max(1, together // len(prices))
    guesses = np.arange(costs.shape[1])
    watch = Watch() if watch is None else watch
    parts = []
    for k in np.split(guesses, range(step, len(guesses), step)):
        _go_on(watch)
        parts.append(tightest_cores(costs[:, k].T, prices, width, alpha, k))
    columns = zip(*parts, strict=True)
    cores, share = (np.concatenate(part) for part in columns)
    # Where staircases cost less than their prices, all prices are too high by that part.
    prices = prices * min(1.0, float(share.min()))

    def shortfall(k: Ints, prices: Floats) -> tuple[Ints, Floats]:
        _go_on(watch)
        weights = costs[:, k].T - prices
        short = dual_shortfall(weights, cores[k, 0], cores[k, 1], width, alpha)
        return np.broadcast_to(np.arange(len(prices)), short.shape), short

    rounding = 1e-15 * float(np.abs(prices).max())
    lowered, feasible = _make_dual_feasible(
        prices, shortfall, costs.shape[1], rounding, step=step, turns=turns
    )
    return lowered if feasible else lowered * 0.0


def _go_on(watch: Watch) -> None:
    """Report that work goes on; stop when time is up."""
    if watch.heartbeat():
        raise Stopped


def _make_dual_feasible(
    prices: Floats,
    shortfall: Callable[[Ints, Floats], tuple[Ints, Floats]],
    guesses: int,
    rounding: float,
    *,
    step: int,
    turns: int,
) -> tuple[Floats, bool]:
    """Decrease prices by their dual infeasibility; return them, and whether none is left.

    A lower price makes no other guess infeasible: only those that were are looked at again. What a
    core lacks for a part of it shrinks slowly, so what is taken off grows.
    """
    infeasible = np.arange(guesses)
    for turn in range(turns):
        lower = np.zeros(len(prices))
        still = [infeasible[:0]]
        for k in np.split(infeasible, range(step, len(infeasible), step)):
            at, short = shortfall(k, prices)
            # Several guesses may need a price lowered: the largest shortfall decides.
            is_short = short > 0
            np.maximum.at(lower, at[is_short], short[is_short])
            still.append(k[short.max(axis=1) > rounding])
        prices = prices - lower * (1 + turn / 2)
        infeasible = np.concatenate(still)
        if not len(infeasible):
            return prices, True
    return prices, False
