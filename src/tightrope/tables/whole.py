r"""One whole, non-negative table near the estimates, whose margins are published together.

Estimates agree and are unbiased, but they are fractions and some are negative. From them one table
of whole numbers of at least 0 is made, and every published table is a margin of it; so its margins
agree too. Written as rows, one for each person, it is synthetic microdata that reproduces every
published number.

The table minimises the squared distances of its margins from the estimates, each divided by the
variance of its table, over x ≥ 0. Then one cell after the other is rounded up or down, whichever
leaves the margins nearer to the estimates, given what was rounded before. (Rounding each cell by
itself, or by running totals, moves a margin of 1,000 cells by 9; this moves it by less than 1.)

This is post-processing and costs no ε, but it is no longer unbiased: numbers that would be negative
are raised to 0, and others are lowered for it. Keep the estimates beside the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats
from tightrope.errors import TooLarge
from tightrope.tables.domain import Domain
from tightrope.tables.estimates import Estimates
from tightrope.tables.planning import COUNT

#: The largest full table that is made.
MOST_CELLS = 10_000_000
#: Steps of the descent; the first hundred bring the margins within a tenth of their noise.
STEPS = 300


@dataclass(frozen=True)
class WholeTable:
    """A table of whole numbers over all columns of a domain, at their finest.

    Attributes
    ----------
    domain
        The columns.
    counts
        An array with one axis for each axis of the domain.

    Examples
    --------
    >>> from tightrope.tables import Job, estimate, plan
    >>> job = Job.of({"sex": 2, "age": 3}, ["", ["sex"], ["sex", "age"]])
    >>> drawn = [np.array([[5, -2, 4], [1, 3, 0]])]
    >>> table = whole_table(estimate(plan(job, 1), drawn))
    >>> table["sex", "age"].tolist(), table["sex"].tolist()
    ([[4, 0, 3], [1, 3, 0]], [7, 4])
    >>> table.rows().tolist()[:5]
    [[0, 0], [0, 0], [0, 0], [0, 0], [0, 2]]
    """

    domain: Domain
    counts: NDArray[np.int64]

    def __getitem__(self, names: str | Iterable[str]) -> NDArray[np.int64]:
        """Return a margin of the table."""
        full = self.domain.names(self.domain.finest)
        wanted = [names] if isinstance(names, str) else names
        table = self.counts.reshape(self.domain.shape(full))
        return self.domain.project(table, full, wanted)

    def rows(self) -> NDArray[np.int64]:
        """Return one row for each person: the class in every column of the domain."""
        domain = self.domain
        names = [column.name for column in domain.columns]
        cells = domain.combinations(names)
        # The counts lie along the axes: in the order of the columns that say the others.
        margin = domain.margin(names)
        order = [margin.index(name) for name in domain.in_order(names)]
        counts = self.counts.reshape(domain.shape(names)).transpose(order)
        return np.repeat(cells, counts.ravel(), axis=0)


def whole_table(estimates: Estimates, *, steps: int = STEPS) -> WholeTable:
    """Return one table of whole numbers near the estimates of all published counts.

    Parameters
    ----------
    estimates
        The published tables.
    steps
        Most steps of the descent.
    """
    domain = estimates.plan.job.domain
    check_cells(domain)
    targets = []
    squares = estimates.plan.mean_squares
    for published, square in zip(estimates.plan.job.tables, squares, strict=True):
        if published.measure == COUNT:
            levels = domain.levels(published.margin)
            table = estimates.table(published.margin).reshape(domain.sizes(levels))
            # What is known exactly, such as a public total, gets a weight well above all others.
            targets.append((levels, table, 1 / max(square, 1.0)))
    near = _nearest(domain, targets, steps)
    cells = _rounded(domain, near, targets)
    if (COUNT, ()) in estimates.numerators:
        _add_people(domain, cells, targets, round(estimates.exact((), ())))
    return WholeTable(domain, cells)


def check_cells(domain: Domain) -> None:
    """Refuse columns whose full table would be too large.

    >>> check_cells(Domain.of({"a": 10_000, "b": 10_000}))
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: a whole table over all columns would have 100000000 cells, ...
    """
    cells = math.prod(domain.sizes(domain.finest))
    if cells > MOST_CELLS:
        raise TooLarge(
            f"a whole table over all columns would have {cells} cells, more than "
            f"{MOST_CELLS}: publish fewer columns in one job, or leave --whole out"
        )


def _nearest(domain: Domain, targets: list[Any], steps: int) -> Floats:
    """Return the table x ≥ 0 whose margins are nearest to the targets."""
    from scipy.optimize import minimize

    finest = domain.finest
    shape = domain.sizes(finest)
    largest = max(float(table.sum()) for _, table, _ in targets)
    size = math.prod(shape)
    start = np.full(size, max(largest, 1.0) / size)

    def objective(cells: Floats) -> tuple[float, Floats]:
        full = cells.reshape(shape)
        value = 0.0
        slope = np.zeros(shape)
        for levels, table, weight in targets:
            # Σ weight·|margin − target|²/2, whose gradient is weight·(margin − target), lifted
            rest = domain.add_up(full, finest, levels) - table
            square = float((rest**2).sum())
            value += weight * square / 2
            slope += weight * _lifted(domain, rest, levels)
        return value, slope.ravel()

    reached = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-9},
    )
    nearest: Floats = np.maximum(reached.x, 0).reshape(shape)
    return nearest


def _lifted(domain: Domain, table: Floats, levels: tuple[int, ...]) -> Floats:
    """Return for each cell of the full table the number of the margin's cell that it is in."""
    for dim, axis in enumerate(domain.axes):
        owner = axis.ancestors(axis.depth, levels[dim])
        table = np.take(table, owner, axis=dim)
    return table


def _rounded(domain: Domain, near: Floats, targets: list[Any]) -> NDArray[np.int64]:
    """Round every cell up or down, so that the margins stay near to the targets."""
    finest = domain.finest
    lower = np.floor(near)
    cells = lower.astype(np.int64).ravel()
    parts = (near - lower).ravel()
    open_cells = np.flatnonzero(parts > 0)
    owners = []  # for each target, the cell of its margin that each open cell is in
    rests = []  # how far each margin is above its target, open cells counted as they are
    for levels, table, _ in targets:
        places = np.arange(table.size).reshape(table.shape)
        lifted = _lifted(domain, places, levels).ravel()
        owners.append(lifted[open_cells].tolist())
        difference = domain.add_up(near, finest, levels) - table
        rests.append(difference.ravel().tolist())
    weights = [weight for _, _, weight in targets]
    middle = sum(weights) / 2
    up = np.zeros(len(open_cells), np.int64)
    for number, part in enumerate(parts[open_cells].tolist()):
        # Up changes the weighted squares by slope + middle more than down, with r − part left.
        slope = sum(
            weight * (rest[owner[number]] - part)
            for weight, rest, owner in zip(weights, rests, owners, strict=True)
        )
        change = -part
        if slope + middle < 0:
            up[number] = 1
            change = 1 - part
        for rest, owner in zip(rests, owners, strict=True):
            rest[owner[number]] += change
    cells[open_cells] += up
    return cells.reshape(near.shape)


def _add_people(
    domain: Domain, cells: NDArray[np.int64], targets: list[Any], total: int
) -> None:
    """Add people to the best cells, or take them away, until there are as many as published."""
    while (missing := max(total, 0) - int(cells.sum())) != 0:
        step = 1 if missing > 0 else -1
        slope = np.zeros(cells.shape)
        for levels, table, weight in targets:
            rest = domain.add_up(cells, domain.finest, levels) - table
            slope += weight * _lifted(domain, rest, levels)
        allowed = (cells > 0) | (step > 0)
        slope = np.where(allowed, step * slope, np.inf)
        # Many at once where many are missing: the best cells, one step each.
        share = max(abs(missing) // 8, 1)
        many = min(share, cells.size)
        best = np.argpartition(slope.ravel(), many - 1)[:many]
        best = best[np.isfinite(slope.ravel()[best])]
        cells.ravel()[best] += step
