r"""Published numbers from measured ones: one consistent estimate, in exact arithmetic.

On the residual space of a margin T the measured tables S ≥ T are averaged with the weights of the
plan. What the average says beyond the margins below T is its residual; a published table U is the
sum of the residuals of all T ≤ U, each spread evenly over the leaves of its cells:

.. math:: \hat y_U = \sum_{T \le U} \mathrm{spread}_{T \to U}
          \Bigl(\prod_i (\mathrm{id} - \mathrm{spread}\circ\mathrm{sum})_i\Bigr)
          \sum_{S \ge T} \mu_{S,T}\, \mathrm{sum}_{S \to T}\, y_S .

Each T is used for all U above it, so every two published tables agree on every margin they share,
whatever was drawn. Weights are multiples of 1/``GRAIN`` and the draws whole numbers, so each
published number is a whole number over a denominator known beforehand: agreement is equality of
integers, not of floats. No array is larger than a measured or a published table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.errors import InputError
from tightrope.tables.domain import Domain, Levels, Margin, MarginAxis
from tightrope.tables.planning import COUNT, GRAIN, JobPlan

#: Beyond this, whole numbers are Python's and not NumPy's.
_MOST = 1 << 62


@dataclass(frozen=True)
class Estimates:
    """The published tables of a job, as whole numbers over one denominator each.

    Attributes
    ----------
    plan
        The plan they were measured by.
    numerators
        For each measure and margin an array with one axis for each of its columns.
    denominators
        What the numerators are divided by.

    Examples
    --------
    >>> from tightrope.tables import Job, plan
    >>> job = Job.of({"sex": 2, "age": 3}, [["sex"], ["age"], ["sex", "age"]])
    >>> measured = [np.array([[5, 8, 2], [4, 9, 1]])]  # what was drawn for sex × age
    >>> published = estimate(plan(job, 1), measured)
    >>> published["age"].tolist(), published["sex", "age"].tolist()
    ([9.0, 17.0, 3.0], [[5.0, 8.0, 2.0], [4.0, 9.0, 1.0]])
    """

    plan: JobPlan
    numerators: Mapping[tuple[str, Margin], NDArray[Any]]
    denominators: Mapping[tuple[str, Margin], int]

    def __getitem__(self, names: str | Iterable[str]) -> NDArray[np.float64]:
        """Return the counts of a published table as floats."""
        return self.table([names] if isinstance(names, str) else names)

    def table(self, names: Iterable[str], measure: str = COUNT) -> NDArray[np.float64]:
        """Return a published table as floats, correctly rounded."""
        whole, below = self.whole_parts(names, measure)
        # Up to 2^53 both are floats exactly, and one division rounds once.
        largest = np.abs(whole).max(initial=0)
        if largest < 1 << 53 and below < 1 << 53:
            return whole.astype(np.float64) / below
        # Beyond it Python divides integers with correct rounding; NumPy would round twice.
        exact_quotients = [n / below for n in whole.flat]
        quotients = np.array(exact_quotients, np.float64)
        return quotients.reshape(whole.shape)

    def exact(
        self, names: Iterable[str], cell: Sequence[int], measure: str = COUNT
    ) -> Fraction:
        """Return the number of one cell exactly."""
        whole, below = self.whole_parts(names, measure)
        return Fraction(int(whole[tuple(cell)]), below)

    def whole_parts(
        self, names: Iterable[str], measure: str = COUNT
    ) -> tuple[NDArray[Any], int]:
        """Return the numerators of a published table, and their denominator."""
        key = (measure, self.plan.job.domain.margin(names))
        if key not in self.numerators:
            names = [" × ".join(margin) or "total" for _, margin in self.numerators]
            published = ", ".join(names)
            raise InputError(
                f"the {measure} by {' × '.join(key[1]) or 'nothing'} is not published "
                f"(published: {published})"
            )
        return self.numerators[key], self.denominators[key]


def estimate(
    plan: JobPlan, drawn: Sequence[ArrayLike], *, people: int | None = None
) -> Estimates:
    """Return the published tables from the measured ones.

    Parameters
    ----------
    plan
        The plan of the job.
    drawn
        For each measured table of the plan the whole numbers that were drawn, in the shape of its
        margin. One more axis behind holds several releases, for simulations.
    people
        The number of people, where the relation makes it public.
    """
    job = plan.job
    if len(drawn) != len(plan.measured):
        raise InputError(
            f"the plan measures {len(plan.measured)} tables, got {len(drawn)}"
        )
    if job.relation.total_known and COUNT in job.measures and people is None:
        raise InputError(f"under {job.relation.name} the number of people is needed")
    tables = [
        _whole(table, job.domain, measured.margin)
        for table, measured in zip(drawn, plan.measured, strict=True)
    ]
    averages = _averages(plan, tables, people)
    numerators: dict[tuple[str, Margin], NDArray[Any]] = {}
    denominators: dict[tuple[str, Margin], int] = {}
    for published in job.tables:
        key = (published.measure, published.margin)
        if key not in numerators:
            levels = job.domain.levels(published.margin)
            whole, below = _assemble(job.domain, averages[published.measure], levels)
            behind = whole.shape[len(levels) :]
            shape = (*job.domain.shape(published.margin), *behind)
            numerators[key] = whole.reshape(shape)
            numerators[key].setflags(write=False)
            denominators[key] = below * GRAIN
    return Estimates(plan, numerators, denominators)


def _whole(table: ArrayLike, domain: Domain, margin: Margin) -> NDArray[Any]:
    """Return drawn numbers as an array with all axes, after a check."""
    array = np.asarray(table)
    shape = domain.shape(margin)
    fits = array.shape[: len(shape)] == shape and array.ndim <= len(shape) + 1
    if not fits or array.dtype.kind not in "iuO":
        raise InputError(
            f"the table {' × '.join(margin) or 'total'} must hold whole numbers in the shape "
            f"{shape}, got {array.dtype} in {array.shape}"
        )
    sizes = domain.sizes(domain.levels(margin))
    behind = array.shape[len(shape) :]
    return array.reshape((*sizes, *behind))


def _averages(
    plan: JobPlan, tables: Sequence[NDArray[Any]], people: int | None
) -> dict[str, dict[Levels, NDArray[Any]]]:
    """Return ``GRAIN`` times the averaged measurements of every margin that is published."""
    job = plan.job
    domain = job.domain
    # The weights sum to GRAIN, so no sum of cells times weights is above this.
    bounds = [int(np.abs(table).max(initial=0)) * table.size for table in tables]
    largest = max(bounds)
    whole = np.int64 if largest * GRAIN < _MOST else object
    averages: dict[str, dict[Levels, NDArray[Any]]] = {m: {} for m in job.measures}
    if people is not None and COUNT in averages:
        one_cell = (1,) * tables[0].ndim
        total = np.full(one_cell, people * GRAIN, object)
        averages[COUNT][(0,) * len(domain.axes)] = total
    for (measure, levels), weights in plan.averages.items():
        # Σ_S μ_{S,T} sum_{S→T} y_S, times GRAIN
        terms = []
        for place, weight in weights.items():
            measured = domain.levels(plan.measured[place].margin)
            added = domain.add_up(tables[place].astype(whole), measured, levels)
            terms.append(weight * added)
        averages[measure][levels] = functools.reduce(np.add, terms)
    return averages


def _assemble(
    domain: Domain, averages: Mapping[Levels, NDArray[Any]], published: Levels
) -> tuple[NDArray[Any], int]:
    """Return a published table from the averages of all margins below it, and its denominator.

    One axis after the other: the averages of the levels of this axis become their residuals,
    spread to the published level, and are added up. Afterwards the axis has no levels any more.
    """
    below = math.prod(map(axis_denominator, domain.axes, published))
    coarser = [levels for levels in averages if all(map(int.__le__, levels, published))]
    parts = [averages[levels] for levels in coarser]
    largest = max(int(np.abs(part).max(initial=0)) for part in parts)
    # A residual at most doubles a number for each level, beside the scaling; then all are added.
    doublings = 2 ** sum(published)
    bound = len(coarser) * doublings * largest * below
    whole = object if bound >= _MOST else np.int64
    current = {levels: averages[levels].astype(whole) for levels in coarser}
    for dim, axis in enumerate(domain.axes):
        spread: dict[Levels, NDArray[Any]] = {}
        for levels, array in current.items():
            key = (*levels[:dim], published[dim], *levels[dim + 1 :])
            part = _residual(axis, dim, array, levels[dim], published[dim])
            spread[key] = spread[key] + part if key in spread else part
        current = spread
    (table,) = current.values()
    return table, below


@functools.cache
def axis_denominator(axis: MarginAxis, level: int) -> int:
    """Return a whole number that makes every share of leaves along an axis whole.

    >>> from tightrope.tables import Domain
    >>> axis = Domain.of({"region": 2, "county": ("region", [0, 0, 0, 1])}).axes[0]
    >>> axis_denominator(axis, 1), axis_denominator(axis, 2)
    (4, 12)
    """
    sizes = (k for above in range(level) for k in axis.leaves(above).tolist())
    return math.lcm(*sizes)


def _residual(
    axis: MarginAxis, dim: int, array: NDArray[Any], level: int, published: int
) -> NDArray[Any]:
    """Return the residuals of a level spread to the published one, times the denominator."""
    scale = axis_denominator(axis, published)
    leaves = axis.leaves(published)
    shape = [1] * array.ndim
    shape[dim] = len(leaves)

    def spread(table: NDArray[Any], above: int) -> NDArray[Any]:
        owner = axis.ancestors(published, above)
        # The part of the ancestor's leaves that lies in each class, times the denominator.
        shares = scale // axis.leaves(above)[owner] * leaves
        if above == published:
            shares = np.full(len(leaves), scale)
        factor = shares.astype(array.dtype).reshape(shape)
        moved: NDArray[Any] = np.take(table, owner, axis=dim) * factor
        return moved

    own = spread(array, level)
    if level == 0:
        return own
    shape_above = list(array.shape)
    shape_above[dim] = axis.sizes[level - 1]
    total = np.zeros(shape_above, array.dtype)
    # (id − spread∘sum): what the level above already says is taken away.
    owner = axis.ancestors(level, level - 1)
    into = np.moveaxis(total, dim, 0)
    np.add.at(into, owner, np.moveaxis(array, dim, 0))
    rest: NDArray[Any] = own - spread(total, level - 1)
    return rest
