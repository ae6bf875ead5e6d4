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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import minimise


@dataclass(frozen=True, eq=False)
class StaircaseResult:
    """Columns by guess, prices, and the value of the program.

    >>> StaircaseResult({}, np.zeros(2), 0.0, 1).rounds
    1
    """

    columns: dict[int, Floats]
    prices: Floats
    value: float
    rounds: int


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
        return StaircaseResult(columns, np.pad(found.prices, ends), found.value, found.rounds)
    program = _Program(np.ascontiguousarray(costs.T), width, alpha, np.maximum(scale, least))
    fresh, rounds = program.add(program.first_cores()), 0
    value, prices, weights = 0.0, np.zeros(len(scale)), np.zeros(0)
    while fresh and rounds < most_rounds:
        rounds += 1
        value, prices, weights = program.solve(watch)
        gains, cores = program.price(prices)
        # All prices together may be off by what the guesses still gain.
        wanted = gap * abs(value)
        fresh = -np.minimum(gains, 0).sum() > wanted / 4 and program.add(
            cores[gains < -wanted / (8 * len(gains))]
        )
        if watch is not None and watch.still_at_it():
            break
    return StaircaseResult(program.columns(weights), prices, value, rounds)


class _Program:
    """The program over the staircases found so far."""

    def __init__(self, costs: Floats, width: int, alpha: float, scale: Floats) -> None:
        self.costs, self.width, self.alpha, self.scale = costs, width, alpha, scale
        self.n = costs.shape[1]
        self.known: dict[tuple[int, int], int] = {}
        self.cores = np.zeros((0, 2), np.int64)
        self.guess = np.zeros(0, np.int64)
        self.cost = np.zeros(0)
        self.parts: list[tuple[Ints, Ints, Floats]] = []
        self.basis: tuple[Ints, Ints] | None = None

    def first_cores(self) -> Ints:
        """Return the cores of noise with the best radius, and of one less and more at one side."""
        n, v = self.n, self.width
        middle, found = n // 2, [(np.inf, 0)]
        for r in range(min(v, (n - 1) // 2) + 1):
            ray = self.staircases(np.array([[middle - r, middle + r]]))[0]
            found.append((float(ray @ self.costs[middle] / (ray @ self.scale)), r))
        r = min(found)[1]
        starts = np.arange(-r, n + r)
        cores = [
            np.stack([starts - r, starts + r - shift], 1) for shift in (-1, 0, 1) if r or shift < 1
        ]
        # What noise puts beyond an end is a staircase whose core ends there.
        ends = np.arange(min(v, n))
        cores += [np.stack([0 * ends, ends], 1), np.stack([n - 1 - ends, 0 * ends + n - 1], 1)]
        every = np.clip(np.concatenate(cores), 0, n - 1)
        return np.unique(every[every[:, 0] <= every[:, 1]], axis=0)

    def staircases(self, cores: Ints) -> Floats:
        """Return the staircases of cores, one row for each."""
        i = np.arange(self.n)
        away = np.maximum(np.maximum(cores[:, :1] - i, i - cores[:, 1:]), 0)
        powers = self.alpha ** np.arange(-(-self.n // self.width) + 1.0)
        return np.asarray(powers[-(-away // self.width)])

    def add(self, cores: Ints, together: int = 1 << 22) -> bool:
        """Add staircases, each with its best guess; return whether any is new."""
        fresh = [core for core in map(tuple, cores.tolist()) if core not in self.known]
        fresh = list(dict.fromkeys(fresh))
        if not fresh:
            return False
        first = len(self.known)
        self.known |= {core: first + place for place, core in enumerate(fresh)}
        new = np.array(fresh, np.int64)
        step = max(1, together // self.n)
        for at in range(0, len(new), step):
            some = new[at : at + step]
            worth = self.staircases(some) @ self.costs.T
            best = worth.argmin(axis=1)
            self.guess = np.append(self.guess, best)
            self.cost = np.append(self.cost, worth[np.arange(len(some)), best])
        self.parts += [self._entries(a, b, first + place) for place, (a, b) in enumerate(fresh)]
        self.cores = np.concatenate([self.cores, new])
        return True

    def _entries(self, a: int, b: int, place: int) -> tuple[Ints, Ints, Floats]:
        """Return the rows and entries of one staircase in the program."""
        v, alpha, n = self.width, self.alpha, self.n
        low, high = max(0, a - 3 * v), min(n, b + 3 * v + 1)
        i = np.arange(low, high)
        away = np.maximum(np.maximum(a - i, i - b), 0)
        found = self.taken(alpha ** -(-away // v).astype(float), low)
        # Rows at a cut that is no end of the line were taken less nothing: they are 0 in truth.
        inside = (i >= (a - 2 * v if low else 0)) & (i < (b + 2 * v + 1 if high < n else n))
        used = np.flatnonzero(inside & (np.abs(found) > 1e-15))
        return i[used], np.full(len(used), place), found[used]

    def taken(self, values: Floats, low: int = 0) -> Floats:
        """Return a column, from answer ``low`` on, in the rows of the program."""
        v, alpha = self.width, self.alpha
        ahead = values.copy()
        ahead[v:] -= alpha * values[:-v] if v < len(values) else 0
        if low == 0:
            ahead[:v] = (1 - alpha * alpha) * values[:v]
        found = ahead.copy()
        found[:-v] -= alpha * ahead[v:] if v < len(values) else 0
        return found

    def solve(self, watch: Watch | None, magnified: float = 1e3) -> tuple[float, Floats, Floats]:
        """Solve the program; return its value, the prices of the answers and the weights."""
        from scipy.sparse import csc_array

        n, many = self.n, len(self.cost)
        rows, columns, entries = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        unit = 1 / self.scale[self.cores.sum(axis=1) // 2]
        data = entries * self.scale[rows] * unit[columns]
        matrix = csc_array((data, (rows, columns)), shape=(n, many))
        right = self.taken(np.ones(n)) * self.scale
        big = magnified / right.max()
        basis = self.basis
        if basis is not None:
            basis = np.append(basis[0], np.zeros(many - len(basis[0]), np.int64)), basis[1]
        program = self.cost * unit, matrix, right * big, right * big
        found = minimise(*program, basis=basis, watch=watch)
        plain = csc_array((entries, (rows, columns)), shape=(n, many))
        weights = self._basic(found.basic_columns, plain)
        if weights is None:
            last = found.basic_columns, found.basic_rows
            found = minimise(*program, basis=last, watch=watch, refine=True)
            weights = self._basic(found.basic_columns, plain)
        self.basis = found.basic_columns, found.basic_rows
        if weights is None:
            weights = found.values * unit / big
        return float(found.value / big), self._prices(found.duals * self.scale), weights

    def _basic(self, chosen: Ints, matrix: Any, negative: float = 1e-9) -> Floats | None:
        """Return the weights that a basis has, or nothing where some of them are negative.

        The solver keeps rows to an absolute tolerance and answers at the ends count little, so the
        rows are solved again as they are.
        """
        from scipy.sparse.linalg import splu

        basic = np.flatnonzero(chosen)
        if len(basic) != self.n:
            return None
        found = np.zeros(len(chosen))
        found[basic] = splu(matrix[:, basic].tocsc()).solve(self.taken(np.ones(self.n)))
        return np.maximum(found, 0.0) if found.min() > -negative * found.max() else None

    def _prices(self, duals: Floats) -> Floats:
        """Return the prices of answers from the duals of the program's rows."""
        v, alpha, n = self.width, self.alpha, self.n
        behind = duals.copy()
        behind[v:] -= alpha * duals[:-v] if v < n else 0
        prices = behind.copy()
        prices[:v] *= 1 - alpha * alpha
        prices[:-v] -= alpha * behind[v:] if v < n else 0
        return prices

    def price(self, prices: Floats) -> tuple[Floats, Ints]:
        """Return for each guess what its cheapest staircase costs less its prices, and its core."""
        weights = self.costs - prices
        value, low, high = cheapest_cores(weights, self.width, self.alpha)
        return value, np.stack([low, high], axis=1)

    def columns(self, weights: Floats) -> dict[int, Floats]:
        """Return the columns that the weights make, by guess."""
        used = np.flatnonzero(weights > 0)
        rays = self.staircases(self.cores[used]) * weights[used, None]
        found = {int(k): np.zeros(self.n) for k in np.unique(self.guess[used])}
        for ray, k in zip(rays, self.guess[used].tolist(), strict=True):
            found[k] += ray
        return found


def cheapest_cores(
    weights: Floats, width: int, alpha: float, near: int = 3
) -> tuple[Floats, Ints, Ints]:
    """Return for the weights of each guess what its cheapest staircase is worth, and its core.

    Cores end at most ``near`` widths from the guess, or with the line: a staircase far off is worth
    next to nothing there, whatever the weights are, and proves nothing.

    >>> value, low, high = cheapest_cores(np.array([[-1.0, -1, 3, 3], [3, -1, -1, 3]]), 1, 0.5)
    >>> value.tolist(), low.tolist(), high.tolist()
    ([-0.375, 0.75], [0, 1], [0, 1])
    """
    many, n = weights.shape
    far = np.abs(np.arange(n) - np.arange(many)[:, None]) > near * width
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


@dataclass(frozen=True, eq=False)
class Ends:
    """Prices for the first answers of a line that has a uniform prior, times the answers.

    >>> Ends(np.ones(3), np.zeros((3, 2), int), 4, -1.0).layers
    4
    """

    prices: Floats
    cores: Ints
    layers: int
    gained: float  # what one end adds to the sum of all prices, all being the last one else


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
) -> Ends:
    r"""Return prices for the ends of a long line, proved up to rounding.

    A short line is solved with steps of at most ``widest``, its prices up to the middle are
    stretched to the width, and lowered where they are not paid for.

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
    >>> found = end_prices(np.abs, 5, np.exp(-1.0), 1, 4.786284299, (18, 6, 25))
    >>> round(found.gained, 2), round(float(found.prices[-1]), 6)
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
    # A lower price raises no debt of another guess: only those that owe are looked at again. What a
    # core owes for a part of it shrinks slowly, so what is taken off grows.
    owing: Ints = np.arange(count + reach + 1)
    for turn in range(100):
        lower, still = np.zeros(count), [owing[:0]]
        for k, owed in _end_debts(loss, width, alpha, layers, prices, cores, owing):
            i = np.clip(k[:, None] + np.arange(-reach, reach + 1), 0, count - 1)
            np.maximum.at(lower, i[owed > 0], owed[owed > 0])
            still.append(k[owed.max(axis=1) > 1e-13 * middle])
        prices = np.maximum(prices - lower * (1 + turn / 2), 0.0)
        owing = np.concatenate(still)
        if not len(owing):
            break
    return Ends(prices, cores, layers, float((prices - prices[-1]).sum()))


def _end_debts(
    loss: Callable[[Ints], Floats],
    width: int,
    alpha: float,
    layers: int,
    prices: Floats,
    cores: Ints,
    guesses: Ints,
    together: int = 1 << 20,
) -> Iterator[tuple[Ints, Floats]]:
    """Yield some of the guesses, and what each answer within reach owes to each of them.

    Further answers pay for the one v nearer to the core; what every interval of the core owes must
    not be more than those have who may pay for one of its answers (Hall). What is missing is
    shared by the answers of the core.
    """
    v, ends = width, len(prices)
    reach = layers * v
    away = np.arange(-reach, reach + 1)
    cost = loss(np.abs(away))
    low, high = (np.append(side, side[-1] + np.arange(1, reach + 2)) for side in cores.T)
    step = max(1, together // len(away))
    for first in range(0, len(guesses), step):
        k = guesses[first : first + step]
        i = k[:, None] + away
        w = np.where(i >= 0, cost - prices[np.clip(i, 0, ends - 1)], 0.0)
        behind, before = w.copy(), w[:, ::-1].copy()
        for side in (behind, before):
            for at in range(len(away) - 2 * v, -v, -v):
                one, other = slice(max(at, 0), at + v), slice(max(at, 0) + v, at + 2 * v)
                side[:, one] += alpha * np.maximum(side[:, other], 0)
        before = before[:, ::-1]
        a, b = low[k][:, None], high[k][:, None]
        core, left, right = (i >= a) & (i <= b), (i < a) & (i >= 0), i > b
        owed = np.where(left, np.maximum(-before, 0), np.where(right, np.maximum(-behind, 0), 0))
        has = np.cumsum(np.where(right & (i <= b + v), alpha * np.maximum(behind, 0), 0), axis=1)
        had = np.cumsum(np.where(left & (i >= a - v), alpha * np.maximum(before, 0), 0), axis=1)
        debts = np.cumsum(np.where(core, np.maximum(-w, 0), 0), axis=1)
        reached = np.concatenate([has[:, v:], np.repeat(has[:, -1:], v, axis=1)], axis=1)
        lost = np.concatenate([np.zeros((len(k), v + 1)), had[:, : -v - 1]], axis=1)
        opened = np.where(core, np.roll(debts, 1, axis=1) + had[:, -1:] - lost, np.inf)
        opened = np.minimum.accumulate(opened, axis=1)
        short = np.where(core, debts - reached - opened, -np.inf).max(axis=1)
        short = np.maximum(short, 0) / (high[k] - low[k] + 1)
        yield k, np.where(core, short[:, None], owed)
