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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tightrope.optimize.faces import Face, joined
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import minimise


@dataclass(frozen=True, eq=False)
class StaircaseResult:
    """Columns by guess, prices, the value of the program, and what the columns are made of.

    ``cores`` are those of the staircases, each with its guess.

    >>> StaircaseResult({}, np.zeros(2), 0.0, 1).rounds
    1
    """

    columns: dict[int, Floats]
    prices: Floats
    value: float
    rounds: int
    cores: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    def faces(self, problem: Problem, width: int) -> dict[int, Face]:
        """Return for each guess the smallest face that contains its staircases."""
        answers, found = np.arange(problem.size), dict[int, Face]()
        for core in self.cores:
            k, (heights,) = int(core[2]), steps(core[None], answers, width)
            found[k] = joined(problem, found.get(k), heights)
        return found


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
    low, high = int(used[0]), int(used[-1]) + 1
    if high - low < len(scale):
        inner = slice(low, high)
        found = solve_staircases(
            costs[inner, inner], width, alpha, scale[inner], gap=gap, watch=watch
        )
        ends = low, len(scale) - high
        columns = {k + low: np.pad(x, ends, mode="edge") for k, x in found.columns.items()}
        # Columns with a core that ends there may do as they like beyond it.
        cores, wide = found.cores + low, found.cores + low
        wide[wide[:, 0] == low, 0], wide[wide[:, 1] == high - 1, 1] = 0, len(scale) - 1
        cores = np.unique(np.concatenate([cores, wide]), axis=0)
        prices = np.pad(found.prices, ends)
        return StaircaseResult(columns, prices, found.value, found.rounds, cores)
    program = _Program(np.ascontiguousarray(costs.T), width, alpha, np.maximum(scale, least))
    fresh, rounds = program.add(program.first_cores()), 0
    value, prices, weights = 0.0, np.zeros(len(scale)), np.zeros(0)
    while fresh and rounds < most_rounds:
        try:
            value, prices, weights = program.solve(watch)
        except KeyboardInterrupt:
            if not rounds:
                raise
            break
        rounds += 1
        gains, cores = program.price(prices)
        # All prices together may be off by what the guesses still gain.
        wanted = gap * abs(value)
        fresh = -np.minimum(gains, 0).sum() > wanted / 4 and program.add(
            cores[gains < -wanted / (8 * len(gains))]
        )
        if watch is not None and watch.still_at_it():
            break
    columns, cores = program.mixed(weights)
    return StaircaseResult(columns, prices, value, rounds, cores)


class _Program:
    """The program over the staircases found so far, each with its guess."""

    def __init__(self, costs: Floats, width: int, alpha: float, scale: Floats) -> None:
        self.costs, self.width, self.alpha, self.scale = costs, width, alpha, scale
        self.n, self.peak = costs.shape[1], int(scale.argmax())
        self.cores = np.zeros((0, 3), np.int64)
        self.cost = np.zeros(0)
        self.parts: list[tuple[Ints, Ints, Floats]] = []
        self.basis: tuple[Ints, Ints] | None = None

    def first_cores(self) -> Ints:
        """Return the cores of noise with the best radius, and of one less and more at one side."""
        n, v = self.n, self.width
        middle, radius = n // 2, np.arange(min(v, (n - 1) // 2) + 1)
        rays = self.staircases(np.stack([middle - radius, middle + radius], axis=1))
        r = int(np.argmin(rays @ self.costs[middle] / (rays @ self.scale)))
        starts = np.arange(-r, n + r)
        cores = [
            np.stack([starts - r, starts + r - shift], 1) for shift in (-1, 0, 1) if r or shift < 1
        ]
        # What noise puts beyond an end is a staircase whose core ends there.
        ends = np.arange(min(v, n))
        cores += [np.stack([0 * ends, ends], 1), np.stack([n - 1 - ends, 0 * ends + n - 1], 1)]
        every = np.clip(np.concatenate(cores), 0, n - 1)
        every = every[every[:, 0] <= every[:, 1]]
        return np.column_stack([every, every.sum(axis=1) // 2])

    def staircases(self, cores: Ints) -> Floats:
        """Return the staircases of cores, one row for each."""
        return staircases(cores, self.n, self.width, self.alpha)

    def add(self, cores: Ints) -> bool:
        """Add staircases, each with the best guess near its core; return whether any is new."""
        guess, cost = self._guessed(cores)
        keys = map(tuple, np.column_stack([cores[:, :2], guess]).tolist())
        known = {*map(tuple, self.cores.tolist())}
        fresh = {key: x for key, x in zip(keys, cost.tolist(), strict=True) if key not in known}
        if not fresh:
            return False
        self.parts += [
            self._entries(a, b, place) for place, (a, b, _) in enumerate(fresh, len(known))
        ]
        self.cost = np.append(self.cost, [*fresh.values()])
        self.cores = np.concatenate([self.cores, np.array([*fresh], np.int64)])
        return True

    def _guessed(self, cores: Ints, together: int = 256, coarse: int = 256) -> tuple[Ints, Floats]:
        """Return the best guess for each staircase and its cost: the given one, or near a grid's.

        The guesses between two of so many are looked at where those are the best, or the given.
        """
        guess, cost = cores[:, 2].copy(), np.full(len(cores), np.inf)
        grid = max(1, self.n // coarse)
        for fine in (False, True) if grid > 1 else (False,):
            order = np.argsort(guess, kind="stable")
            for at in range(0, len(order), together):
                some = order[at : at + together]
                rays, first = self.staircases(cores[some]), max(int(guess[some].min()) - grid, 0)
                near = slice(first, guess[some].max() + grid + 1) if fine else slice(0, None, grid)
                own = np.einsum("ij,ij->i", rays, self.costs[guess[some]])
                worth = rays @ self.costs[near].T
                best = worth.argmin(axis=1)
                found = worth[np.arange(len(some)), best]
                best = best + first if fine else best * grid
                guess[some] = np.where(own <= found, guess[some], best)
                cost[some] = np.minimum(own, found)
        return guess, cost

    def _entries(
        self, a: int, b: int, place: int, rounding: float = 1e-15
    ) -> tuple[Ints, Ints, Floats]:
        """Return the rows and entries of one staircase in the program."""
        v, n = self.width, self.n
        low, high = max(0, a - 3 * v), min(n, b + 3 * v + 1)
        i = np.arange(low, high)
        found = self.taken(staircases(np.array([[a, b]]) - low, len(i), v, self.alpha)[0], low)
        # Rows at a cut that is no end of the line were taken less nothing: they are 0 in truth.
        found[(i < (a - 2 * v if low else 0)) | (i > (b + 2 * v if high < n else n))] = 0.0
        found = self.outward(found, low)
        used = np.flatnonzero(np.abs(found) > rounding)
        return i[used], np.full(len(used), place), found[used]

    def taken(self, values: Floats, low: int = 0) -> Floats:
        """Return a column, from answer ``low`` on, less α times what is v before and v behind."""
        v, alpha = self.width, self.alpha
        ahead = values.copy()
        ahead[v:] -= alpha * values[:-v] if v < len(values) else 0
        if low == 0:
            ahead[:v] = (1 - alpha * alpha) * values[:v]
        found = ahead.copy()
        found[:-v] -= alpha * ahead[v:] if v < len(values) else 0
        return found

    def outward(self, rows: Floats, low: int = 0) -> Floats:
        """Take each row less the one before it, as seen from the answer that counts most."""
        peak = min(max(self.peak - low, 0), len(rows))
        found = rows.copy()
        found[peak + 1 :] -= rows[peak:-1]
        found[:peak] -= rows[1 : peak + 1] if peak < len(rows) else np.append(rows[1:], 0.0)
        return found

    def solve(
        self, watch: Watch | None, *, magnified: float = 1e3, even: float = 1e3
    ) -> tuple[float, Floats, Floats]:
        """Solve the program; return its value, the prices of the answers and the weights.

        By an interior-point method where no answer counts ``even`` times as much as another: the
        simplex method takes far more steps on long lines, and prices in the middle of all that are
        best ask for better columns. Else it loses digits, and a basis does not.
        """
        from scipy.sparse import csc_array

        many, rows = len(self.cost), self.scale
        unit = 1 / rows[self.cores[:, :2].sum(axis=1) // 2]
        place, column, entry = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        scaled = csc_array((entry * rows[place] * unit[column], (place, column)), (self.n, many))
        right = self.outward(self.taken(np.ones(self.n)))
        big = magnified / np.abs(right * rows).max()
        program = self.cost * unit, scaled, right * rows * big, right * rows * big
        if rows.max() <= even * rows.min():
            found = minimise(*program, watch=watch, interior=True)
        else:
            basis = self.basis
            if basis is not None:
                basis = np.append(basis[0], np.zeros(many - len(basis[0]), np.int64)), basis[1]
            found = minimise(*program, basis=basis, watch=watch)
            self.basis = found.basic_columns, found.basic_rows
        weights = np.maximum(found.values, 0.0) * unit / big
        return float(found.value / big), self._prices(found.duals * rows), weights

    def _prices(self, duals: Floats) -> Floats:
        """Return the prices of answers from the duals of the program's rows."""
        v, alpha, n, peak = self.width, self.alpha, self.n, self.peak
        behind = duals.copy()
        behind[peak:-1] -= duals[peak + 1 :]
        behind[1 : peak + 1] -= duals[:peak]
        duals = behind.copy()
        behind[v:] -= alpha * duals[:-v] if v < n else 0
        prices = behind.copy()
        prices[:v] *= 1 - alpha * alpha
        prices[:-v] -= alpha * behind[v:] if v < n else 0
        return prices

    def price(self, prices: Floats, together: int = 1 << 21) -> tuple[Floats, Ints]:
        """Return for each guess what its cheapest staircase costs less its prices, and its core."""
        step, guesses = max(1, together // self.n), np.arange(len(self.costs))
        parts = [
            cheapest_cores(self.costs[k] - prices, self.width, self.alpha, guesses=k)
            for k in np.split(guesses, range(step, len(guesses), step))
        ]
        value, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return value, np.stack([low, high, guesses], axis=1)

    def mixed(self, weights: Floats) -> tuple[dict[int, Floats], Ints]:
        """Return the columns that the weights make, by guess, and the cores with weight."""
        used = np.flatnonzero(weights > 0)
        found: dict[int, Floats] = {}
        for core, weight in zip(self.cores[used], weights[used], strict=True):
            column = found.setdefault(int(core[2]), np.zeros(self.n))
            column += weight * self.staircases(core[None])[0]
        return found, self.cores[used]


def cheapest_cores(
    weights: Floats, width: int, alpha: float, near: int | None = None, guesses: Ints | None = None
) -> tuple[Floats, Ints, Ints]:
    """Return for the weights of each guess what its cheapest staircase is worth, and its core.

    The guesses are the first ones, or the given.

    Cores end at most ``near`` widths from the guess, by default 3/ε, or with the line: a staircase
    far off is worth next to nothing there, whatever the weights are, and proves nothing.

    >>> value, low, high = cheapest_cores(np.array([[-1.0, -1, 3, 3], [3, -1, -1, 3]]), 1, 0.5)
    >>> value.tolist(), low.tolist(), high.tolist()
    ([-0.375, 0.75], [0, 1], [0, 1])
    """
    many, n = weights.shape
    near = int(np.ceil(3 / min(1.0, -np.log(alpha)))) if near is None else near
    guesses = np.arange(many) if guesses is None else guesses
    far = np.abs(np.arange(n) - guesses[:, None]) > near * width
    sums = np.zeros((many, n + 1))
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    behind, before = np.zeros((2, many, n + width))
    for at in range((n - 1) // width * width, -1, -width):
        b = np.arange(at, min(at + width, n))
        ends = np.minimum(b + 1 + width, n)
        behind[:, b] = alpha * (sums[:, ends] - sums[:, b + 1] + behind[:, b + width])
    for at in range(0, n, width):
        a = np.arange(at, min(at + width, n))
        starts = np.maximum(a - width, 0)
        # A column of ``before`` is shifted by the width, so that what lies ahead of 0 is 0.
        before[:, a + width] = alpha * (sums[:, a] - sums[:, starts] + before[:, a])
    opened = before[:, width:] - sums[:, :n]
    # Where the prior falls faster than α, a core may go on to the end of the line.
    opened[:, 1:][far[:, 1:]] = np.inf
    behind[:, : n - 1][far[:, :-1]] = np.inf
    total = np.minimum.accumulate(opened, axis=1) + sums[:, 1:] + behind[:, :n]
    high = total.argmin(axis=1)
    rows: Any = np.arange(many)
    low = np.where(np.arange(n) <= high[:, None], opened, np.inf).argmin(axis=1)
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
    staircase costs what they pay for it (Dinkelbach).

    >>> far = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> tightest_cores(far, np.ones(9), 2, 0.5, np.arange(9))[0][:3].tolist()
    [[0, 0], [0, 1], [1, 2]]
    """
    raised = np.ones((len(costs), 1))
    for _ in range(steps):
        found, low, high = cheapest_cores(costs - raised * prices, width, alpha, guesses=guesses)
        cores = np.stack([low, high], axis=1)
        paid = staircases(cores, len(prices), width, alpha) @ prices
        raised[:, 0] += np.where(paid > 0, found / np.where(paid > 0, paid, 1.0), 0.0)
        if (np.abs(found) <= close * paid).all():
            break
    return cores, raised[:, 0]


def staircases(cores: Ints, n: int, width: int, alpha: float) -> Floats:
    """Return the staircases of cores on a line of n answers, one row for each.

    >>> staircases(np.array([[1, 1]]), 4, 1, 0.5).tolist()
    [[0.5, 1.0, 0.5, 0.25]]
    """
    powers = alpha ** np.arange(-(-n // width) + 1.0)
    return np.asarray(powers[steps(cores, np.arange(n), width)])


def steps(cores: Ints, answers: Ints, width: int) -> Ints:
    """Return how many steps staircases have fallen at answers, one row for each core.

    >>> steps(np.array([[1, 2]]), np.arange(6), 2).tolist()
    [[1, 0, 0, 1, 1, 2]]
    """
    away = np.maximum(np.maximum(cores[:, :1] - answers, answers - cores[:, 1:2]), 0)
    return np.asarray(-(-away // width))


def end_prices(
    loss: Callable[[Ints], Floats],
    width: int,
    alpha: float,
    core: int,
    middle: float,
    depths: tuple[int, int, int],
    *,
    most_entries: int = 3000,
    widest: int = 8,
) -> tuple[Floats, Ints]:
    r"""Return prices for the ends of a long line, proved up to rounding, and the cores that do so.

    They are for the first answers under a uniform prior, times the number of all answers. A short
    line is solved with steps of at most ``widest``, its prices up to the middle are stretched to
    the width, and lowered where they are not paid for.

    Parameters
    ----------
    loss
        The loss at a distance.
    width
        The largest difference between neighbours.
    alpha
        :math:`\alpha`.
    core, middle
        Core and loss of the best noise on a line without ends.
    depths
        In widths: how far the ends reach, how much further prices may be lowered, and how much of
        a staircase is counted on each side.

    Examples
    --------
    >>> prices, cores = end_prices(np.abs, 5, np.exp(-1.0), 1, 4.786284299, (18, 6, 25))
    >>> round(float((prices - prices[-1]).sum()), 2), round(float(prices[-1]), 6)
    (-17.97, 4.786284)
    """
    deep, spare, layers = depths
    narrow = int(max(1, min(width, widest, (most_entries / (2 * deep)) ** 0.5)))
    size = 2 * deep * narrow + 1
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    found = solve_staircases(loss(away) / size, narrow, alpha, np.full(size, 1 / size), gap=1e-7)
    short = found.prices * size
    # From the middle of the short line on prices are even but for rounding.
    inner = deep * narrow - narrow
    even = float(short[inner : inner + 2 * narrow].mean())
    first = (short[: inner + 1] / even - 1) * np.linspace(1, 0, inner + 1) ** 0.25
    at = np.minimum(np.arange(deep * width) * narrow // width, inner)
    reach = layers * width
    prices = middle * (1 + np.append(first[at], np.zeros(spare * width + 1)))
    count = len(prices)
    cores: Ints = np.arange(count)[:, None] + np.array([-core, core])
    # Guesses near the end have cores of their own: the nearer, the larger ε.
    shift = int(np.ceil(3 / min(1.0, -np.log(alpha))))
    most = min(count, (shift + 1) * width, 4_000_000 // (2 * reach))
    near, columns = np.arange(most), np.arange(min(count, most + shift * width) + reach)
    weights = loss(np.abs(columns - near[:, None])) - prices[np.minimum(columns, count - 1)]
    _, low, high = cheapest_cores(weights, width, alpha, shift)
    cores[near] = np.stack([low, high], axis=1)
    cores = np.maximum(cores, 0)
    away = np.arange(-reach, reach + 1)

    def owed(k: Ints, prices: Floats) -> tuple[Ints, Floats]:
        i = k[:, None] + away
        at = np.clip(i, 0, count - 1)
        core = cores[np.minimum(k, count - 1)].T + np.maximum(k - count + 1, 0) - k + reach
        weights = np.where(i >= 0, loss(np.abs(away)) - prices[at], 0.0)
        return at, unpaid(weights, core[0], core[1], width, alpha)

    step = max(1, (1 << 20) // len(away))
    prices, _ = _paid(prices, owed, count + reach + 1, 1e-13 * middle, step=step, turns=100)
    return prices, cores


def unpaid(weights: Floats, low: Ints, high: Ints, width: int, alpha: float) -> Floats:
    r"""Return what answers owe when everything is sent towards the core of each guess.

    The weights of a guess, one row for each, are proved when nothing is owed: a piece t at an
    answer is worth :math:`\alpha t` at one up to v nearer. An answer outside the core is paid by
    the furthest that reach it, which reach the fewest others; what is left goes to the one v
    nearer. Every interval of the core must not owe more than those have who may pay for one of
    its answers (Hall); what is missing is shared by the answers of the core.

    >>> unpaid(np.array([[8.0, -2, -4, -1, 4]]), np.array([1]), np.array([2]), 1, 0.5).tolist()
    [[0.0, 1.75, 1.75, 0.0, 0.0]]
    """
    rows, n = np.arange(len(weights))[:, None], weights.shape[1]
    owed, reached = np.zeros_like(weights), []
    for start, out in ((high + 1, 1), (low - 1, -1)):
        spare = np.zeros((len(weights), width))
        far = int((n - start if out > 0 else start + 1).max())
        for t in range(-(-far // width) - 1, -1, -1):
            i = start[:, None] + out * np.arange(t * width, (t + 1) * width)
            inside, i = (i >= 0) & (i < n), np.clip(i, 0, n - 1)
            w = np.where(inside, weights[rows, i], 0.0)
            has, debt = alpha * spare, np.maximum(-w, 0)
            late = np.cumsum((debt - has)[:, ::-1], axis=1)
            late -= np.minimum(np.minimum.accumulate(late, axis=1), 0)
            rest = late[:, -1:]
            if rest.max(initial=0.0) > 0:
                short = np.clip(rest - np.cumsum(debt, axis=1) + debt, 0, debt)
                owed[np.broadcast_to(rows, i.shape)[inside], i[inside]] = short[inside]
            spare = np.maximum(w + has + np.diff(late, axis=1, prepend=0)[:, ::-1], 0)
        reached.append(np.cumsum(alpha * spare, axis=1))
    size = high - low + 1
    p = np.arange(int(size.max()))
    inside, i = p < size[:, None], np.minimum(low[:, None] + p, n - 1)
    debt = np.where(inside, np.maximum(-weights[rows, i], 0), 0)
    due, left = np.cumsum(debt, axis=1), np.maximum(size[:, None] - 1 - p, 0)
    right, before = (
        np.where(far < width, sums[rows, np.maximum(width - 1 - far, 0)], 0)
        for sums, far in zip(reached, (left, np.broadcast_to(p, inside.shape)), strict=True)
    )
    opened = np.minimum.accumulate(np.where(inside, due - debt + before, np.inf), axis=1)
    short = np.where(inside, due - right - opened, 0).max(axis=1, initial=0)
    share = np.broadcast_to((short / size)[:, None], i.shape)
    owed[np.broadcast_to(rows, i.shape)[inside], i[inside]] = share[inside]
    return owed


def proved_prices(
    costs: Floats,
    prices: Floats,
    width: int,
    alpha: float,
    *,
    together: int = 1 << 20,
    turns: int = 20,
) -> Floats:
    """Return prices lowered until nothing is owed for them by any guess; 0 where that fails.

    >>> far = np.abs(np.subtract.outer(np.arange(51), np.arange(51))) / 51
    >>> found = solve_staircases(far, 5, np.exp(-1.0), np.full(51, 1 / 51))
    >>> round(float(proved_prices(far, found.prices, 5, np.exp(-1.0)).sum()), 6)
    4.10191
    """
    step, guesses = max(1, together // len(prices)), np.arange(costs.shape[1])
    parts = [
        tightest_cores(costs[:, k].T, prices, width, alpha, k)
        for k in np.split(guesses, range(step, len(guesses), step))
    ]
    cores, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Where staircases cost less than their prices, all prices are too high by that part.
    prices = prices * min(1.0, float(share.min()))

    def owed(k: Ints, prices: Floats) -> tuple[Ints, Floats]:
        found = unpaid(costs[:, k].T - prices, cores[k, 0], cores[k, 1], width, alpha)
        return np.broadcast_to(np.arange(len(prices)), found.shape), found

    rounding = 1e-15 * float(np.abs(prices).max())
    found, done = _paid(prices, owed, costs.shape[1], rounding, step=step, turns=turns)
    return found if done else found * 0.0


def _paid(
    prices: Floats,
    owed: Callable[[Ints, Floats], tuple[Ints, Floats]],
    guesses: int,
    rounding: float,
    *,
    step: int,
    turns: int,
) -> tuple[Floats, bool]:
    """Lower prices by what is owed for them, until nothing is; return them and whether it is so.

    A lower price raises no debt of another guess: only those that owe are looked at again. What a
    core owes for a part of it shrinks slowly, so what is taken off grows.
    """
    owing = np.arange(guesses)
    for turn in range(turns):
        lower, still = np.zeros(len(prices)), [owing[:0]]
        for k in np.split(owing, range(step, len(owing), step)):
            at, found = owed(k, prices)
            np.maximum.at(lower, at[found > 0], found[found > 0])
            still.append(k[found.max(axis=1) > rounding])
        prices = prices - lower * (1 + turn / 2)
        owing = np.concatenate(still)
        if not len(owing):
            return prices, True
    return prices, False
