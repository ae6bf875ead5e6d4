r"""Which tables of a job are measured, and with which share of ε.

All tables of a job are margins of one full table x. Measure some margins S with noise of variance
:math:`v_S(\varepsilon_S)` a cell, :math:`\sum_S \varepsilon_S = \varepsilon`, and estimate x by
least squares. Averaging over a column commutes with averaging over another one, so the full table
falls into orthogonal *residual spaces*, one for each margin T: what T says beyond the margins below
it. On the space of T the precision of the estimate is

.. math:: \lambda_T = \sum_{S \ge T} m_S / v_S, \qquad m_S = \text{full cells in one cell of } S,

and a published margin U has total variance :math:`m_U \sum_{T \le U} \dim T / \lambda_T`, where
:math:`\dim T = \prod (c_T - c_{T-1})` over its axes. All sums over margins are cumulative sums
along the axes of an array with one number for each margin; nothing is as large as the full table
(McKenna et al., HDMM; Xiao et al., ResidualPlanner, both for other noise).

The shares minimise a smooth function that is not convex: precision grows with the square of a
share, so measuring one larger table can be better than measuring several small ones. The search
descends from several starts, from all margins of k columns at once to single tables.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge
from tightrope.tables.domain import Domain, Levels, Margin, MarginAxis
from tightrope.tables.noise import Relation, relation_of

#: Shares of ε are multiples of one over this: the error is flat around the best shares, so that
#: rounding costs less than 1e-5 of it, and equal tables get equal mechanisms.
SHARES = 1000
#: Averages of measurements have weights that are multiples of one over this, for the same reason:
#: every published number is then a fraction with a small denominator.
GRAIN = 1024
#: The name of the measure that counts people.
COUNT = "count"


@dataclass(frozen=True)
class Settings:
    """How hard the planner searches.

    Attributes
    ----------
    most_cells
        The largest table that may be measured without being published.
    random_starts, hops
        Descents from random shares, then from the best shares mixed with random ones. On all 1-
        and 2-way tables of 2 × 5 × 6 × 4 × 3 the regular starts reach an error of 11.79, forty
        random ones 10.3 to 10.5, the hops bring every seed to within 1 % of the best known.
    steps
        Most steps of a descent.
    largest_power
        The mean of the powers of the tables' errors that stands for the largest of them.
    """

    most_cells: int = 1_000_000
    random_starts: int = 40
    hops: int = 80
    steps: int = 200
    largest_power: int = 24


DEFAULT = Settings()


@dataclass(frozen=True)
class PublishedTable:
    """A table that a job publishes.

    Attributes
    ----------
    margin
        Its columns.
    weight
        What its mean square error counts in the plan.
    measure
        What is added up over the rows of a cell: people, or a column.
    """

    margin: Margin
    weight: float = 1.0
    measure: str = COUNT


@dataclass(frozen=True)
class Job:
    """All tables of one publication about the same rows.

    Parameters
    ----------
    domain
        The columns.
    tables
        The published tables.
    relation
        The neighbour relation.
    widths
        For each measure by how much one person can change it: 1 for counts, the width of the
        bounds for the sum of a column.

    Examples
    --------
    >>> job = Job.of({"sex": 2, "region": 9}, [["sex"], ["region"], ["sex", "region"]])
    >>> best = plan(job, 1)
    >>> [(table.margin, str(table.epsilon)) for table in best.measured]
    [(('sex', 'region'), '1')]
    >>> f"{split_error(job, 1):.3f} {best.error:.3f}"
    '4.223 2.714'
    """

    domain: Domain
    tables: tuple[PublishedTable, ...]
    relation: Relation
    widths: Mapping[str, int] = field(default_factory=lambda: {COUNT: 1})

    def __post_init__(self) -> None:
        if not self.tables:
            raise InputError("a job publishes at least one table, got none")
        for table in self.tables:
            if table.measure not in self.widths:
                raise InputError(
                    f"a table is about {table.measure!r}, whose width is not declared "
                    f"(declared: {', '.join(self.widths)})"
                )
            if not (table.weight > 0 and math.isfinite(table.weight)):
                raise InputError(
                    f"the weight of a table must be positive, got {table.weight}"
                )
        if math.prod(self.lattice) > 1 << 16:
            raise TooLarge(
                f"{len(self.domain.columns)} columns have {math.prod(self.lattice)} margins, "
                f"more than {1 << 16}: publish fewer columns in one job"
            )

    @classmethod
    def of(
        cls,
        domain: Domain | Mapping[str, Any],
        tables: Iterable[Iterable[str] | PublishedTable],
        relation: str | Relation = "add-remove",
        widths: Mapping[str, int] | None = None,
    ) -> Job:
        """Make a job from columns and published margins."""
        known = domain if isinstance(domain, Domain) else Domain.of(domain)
        published = []
        for given in tables:
            table = (
                given
                if isinstance(given, PublishedTable)
                else PublishedTable(tuple(given))
            )
            published.append(replace(table, margin=known.margin(table.margin)))
        all_widths = {COUNT: 1, **(widths or {})}
        return cls(known, tuple(published), relation_of(relation), all_widths)

    @property
    def lattice(self) -> tuple[int, ...]:
        """The number of levels of each axis: the shape of an array over all margins."""
        return tuple(level + 1 for level in self.domain.finest)

    @functools.cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures that some table is about."""
        return tuple(dict.fromkeys(table.measure for table in self.tables))

    def is_public(self, measure: str, levels: Levels) -> bool:
        """Return whether a margin is known without ε: the number of people under change-one."""
        return self.relation.total_known and measure == COUNT and not any(levels)


@dataclass(frozen=True)
class MeasuredTable:
    """A table that is measured: drawn once with its share of ε.

    Attributes
    ----------
    margin
        Its columns.
    epsilon
        Its privacy level.
    share
        The part of the job's ε.
    variance
        The variance v of the noise in a cell.
    measure
        What is added up.
    """

    margin: Margin
    epsilon: Epsilon
    share: Fraction
    variance: float
    measure: str = COUNT


@dataclass(frozen=True)
class JobPlan:
    """What is measured for a job, and how the published numbers come from it.

    Attributes
    ----------
    job
        The job.
    epsilon
        The privacy level of the whole job.
    measured
        The measured tables; their shares add up to one.
    """

    job: Job
    epsilon: Epsilon
    measured: tuple[MeasuredTable, ...]

    @classmethod
    def of(
        cls,
        job: Job,
        epsilon: Level,
        shares: Mapping[Margin, int | Fraction],
        measure: str = COUNT,
    ) -> JobPlan:
        """Return the plan that measures tables of one measure in given proportions.

        >>> job = Job.of({"a": 2, "b": 3}, ["a", "ab"])
        >>> [str(t.epsilon) for t in JobPlan.of(job, 1, {("a",): 1, ("a", "b"): 3}).measured]
        ['0.25', '0.75']
        """
        level = Epsilon.of(epsilon)
        total = Fraction(sum(shares.values()))
        measured = []
        for names, share in shares.items():
            margin = job.domain.margin(names)
            measured.append(_measured(job, level, share / total, measure, margin))
        return cls(job, level, tuple(measured))

    @functools.cached_property
    def averages(self) -> dict[tuple[str, Levels], dict[int, int]]:
        r"""How measurements are averaged on each residual space that is published.

        On the space of T the measured S ≥ T have the weights :math:`(m_S/v_S)/\lambda_T`, rounded
        to whole numbers that sum to ``GRAIN``: any weights of sum 1 give unbiased numbers that
        agree, and rounding costs less than 1e-5 of their variance.
        """
        domain = self.job.domain
        full = math.prod(domain.sizes(domain.finest))
        averages: dict[tuple[str, Levels], dict[int, int]] = {}
        for measure in self.job.measures:
            published = [t.margin for t in self.job.tables if t.measure == measure]
            for margin in domain.closure(published):
                levels = domain.levels(margin)
                # A column of one class says nothing beyond its total: its space is empty.
                empty = any(
                    level and axis.sizes[level] == axis.sizes[level - 1]
                    for axis, level in zip(domain.axes, levels, strict=True)
                )
                if empty or self.job.is_public(measure, levels):
                    continue
                precisions = {}
                for place, table in enumerate(self.measured):
                    is_above = domain.contains(table.margin, margin)
                    if is_above and table.measure == measure:
                        # m_S / v_S
                        inside = full / domain.cells(table.margin)
                        precisions[place] = inside / table.variance
                if not precisions:
                    raise InputError(
                        f"no measured table contains the published one over {margin}"
                    )
                averages[measure, levels] = _in_whole_parts(precisions, GRAIN)
        return averages

    def weights(self, place: int, levels: Levels) -> Floats:
        """Return the weights of a measured table on the residual spaces up to some levels."""
        weights = np.zeros([level + 1 for level in levels])
        measure = self.measured[place].measure
        for below in np.ndindex(weights.shape):
            of_table = self.averages.get((measure, below), {})
            weights[below] = of_table.get(place, 0)
        return weights / GRAIN

    @functools.cached_property
    def mean_squares(self) -> tuple[float, ...]:
        """The mean variance of the cells of each published table, exact up to rounding."""
        return tuple(
            _mean_square(self, table.margin, table.measure) for table in self.job.tables
        )

    @property
    def error(self) -> float:
        """The root of the weighted mean of the published tables' mean squares."""
        weights = np.array([table.weight for table in self.job.tables])
        total = weights @ self.mean_squares
        return float(np.sqrt(total / weights.sum()))

    @property
    def largest(self) -> float:
        """The largest weighted root mean square among the published tables."""
        weights = np.array([table.weight for table in self.job.tables])
        return float(np.sqrt((weights * self.mean_squares).max()))


def plan(
    job: Job,
    epsilon: Level,
    *,
    largest: bool = False,
    settings: Settings = DEFAULT,
) -> JobPlan:
    """Return the plan with the smallest error that was found.

    Parameters
    ----------
    job
        The job.
    epsilon
        The privacy level of the whole job.
    largest
        Minimise the largest weighted error of a table instead of the weighted mean square.
    settings
        How hard to search.

    Examples
    --------
    >>> job = Job.of({"a": 2, "b": 9, "c": 5}, ["a", "b", "c", "ab", "ac", "bc"])
    >>> ["".join(table.margin) + f" {float(table.share)}" for table in plan(job, 1).measured]
    ['ab 0.343', 'ac 0.419', 'bc 0.238']
    """
    import scipy.optimize  # noqa: F401  # loads the BLAS that is limited below
    from threadpoolctl import threadpool_limits

    level = Epsilon.of(epsilon)
    if all(job.is_public(t.measure, job.domain.levels(t.margin)) for t in job.tables):
        raise InputError(
            "all that this job publishes is public: there is nothing to plan"
        )
    search = _ShareSearch(job, float(level), largest, settings)
    # Shares are short vectors: with two threads a plan of four tables took 0.7 CPU seconds
    # instead of 0.06.
    with threadpool_limits(1, "blas"):
        plans = [search.plan(parts, level) for parts in search.best()]
    return min(plans, key=lambda p: p.largest if largest else p.error)


def split_plans(job: Job, epsilon: Level) -> tuple[JobPlan | None, ...]:
    """Return what splitting ε evenly would measure: each published table by itself.

    Nothing is measured for a table that is public.

    >>> job = Job.of({"a": 2, "b": 9}, ["a", "ab"], "change-one")
    >>> [str(alone.epsilon) for alone in split_plans(job, 1)]
    ['0.5', '0.5']
    """
    level = Epsilon.of(epsilon)
    is_public = [
        job.is_public(table.measure, job.domain.levels(table.margin))
        for table in job.tables
    ]
    share = level.scaled(Fraction(1, max(is_public.count(False), 1)))
    return tuple(
        None
        if public
        else JobPlan.of(
            replace(job, tables=(table,)), share, {table.margin: 1}, table.measure
        )
        for table, public in zip(job.tables, is_public, strict=True)
    )


def split_error(job: Job, epsilon: Level) -> float:
    """Return the error of splitting ε evenly: each published table as it is measured alone.

    >>> f"{split_error(Job.of({'a': 2, 'b': 9}, [['a'], ['b'], ['a', 'b']]), 1):.3f}"
    '4.223'
    """
    total = 0.0
    for table, alone in zip(job.tables, split_plans(job, epsilon), strict=True):
        if alone is not None:
            total += table.weight * alone.mean_squares[0]
    weight = sum(table.weight for table in job.tables)
    return math.sqrt(total / weight)


def least_epsilon(
    job: Job, wanted: Iterable[float], *, settings: Settings = DEFAULT
) -> JobPlan:
    """Return the plan with the least ε whose tables have at most the wanted errors.

    Parameters
    ----------
    job
        The job; its weights are not used.
    wanted
        For each published table the largest root mean square error of its cells.

    Examples
    --------
    >>> job = Job.of({"a": 2, "b": 3}, [["a"], ["b"], ["a", "b"]])
    >>> cheapest = least_epsilon(job, [8, 8, 4])
    >>> all(m <= w * w for m, w in zip(cheapest.mean_squares, [8, 8, 4]))
    True
    >>> f"{float(cheapest.epsilon):.3f}"
    '0.352'
    """
    errors = [float(error) for error in wanted]
    if len(errors) != len(job.tables) or not all(0 < e < math.inf for e in errors):
        raise InputError(
            f"each of the {len(job.tables)} tables needs a positive error, got {errors}"
        )
    tables = tuple(
        replace(table, weight=error**-2)
        for table, error in zip(job.tables, errors, strict=True)
    )
    scaled = replace(job, tables=tables)
    # The error falls almost as 1/ε, so a few rounds of scaling reach it; the plan's shares hardly
    # change. The last rounds keep the shares and only enlarge ε until every error is kept.
    level = Fraction(1)
    for _ in range(4):
        best = plan(scaled, Epsilon(level), largest=True, settings=settings)
        if best.largest < 1e-6:
            break
        level = _three_digits_up(float(level) * best.largest)
    while True:
        enlarged = _again(best, Epsilon(level), job)
        squares = zip(enlarged.mean_squares, errors, strict=True)
        if all(mean_square <= error * error for mean_square, error in squares):
            return enlarged
        level = _three_digits_up(float(level) * 1.0005)


def _three_digits_up(number: float) -> Fraction:
    """Return a decimal of four digits that is at least a positive number."""
    place = 3 - math.floor(math.log10(number))
    rounded_up = math.ceil(number * 10.0**place)
    return Fraction(rounded_up) / Fraction(10) ** place


def _again(best: JobPlan, level: Epsilon, job: Job) -> JobPlan:
    """Return a plan with the same shares at another ε."""
    measured = tuple(
        _measured(job, level, t.share, t.measure, t.margin) for t in best.measured
    )
    return JobPlan(job, level, measured)


def _measured(
    job: Job, level: Epsilon, share: Fraction, measure: str, margin: Margin
) -> MeasuredTable:
    epsilon = Epsilon(level.multiple * share, level.base)
    cells = job.domain.cells(margin)
    variance = job.relation.variance(float(epsilon), cells, job.widths[measure])
    return MeasuredTable(margin, epsilon, share, variance, measure)


def _in_whole_parts(parts: Mapping[int, float], total: int) -> dict[int, int]:
    """Round positive numbers to whole parts of a total, by largest remainders; none is zero.

    >>> _in_whole_parts({3: 1.0, 5: 2.0}, 10)
    {3: 3, 5: 7}
    """
    scale = total / sum(parts.values())
    whole = {key: math.floor(part * scale) for key, part in parts.items()}
    by_rest = sorted(parts, key=lambda key: whole[key] - parts[key] * scale)
    for key in by_rest[: total - sum(whole.values())]:
        whole[key] += 1
    return {key: part for key, part in whole.items() if part}


def _mean_square(plan_: JobPlan, margin: Margin, measure: str) -> float:
    """Return the mean variance of a published table's cells under the plan's averages."""
    domain = plan_.job.domain
    levels = domain.levels(margin)
    total = 0.0
    for place, table in enumerate(plan_.measured):
        if table.measure != measure:
            continue
        fine = domain.levels(table.margin)
        weights = plan_.weights(place, tuple(map(min, levels, fine)))
        squares = weights
        sums = weights
        for dim, axis in enumerate(domain.axes):
            gram, outer = axis_products(axis, levels[dim], fine[dim])
            squares = _along(gram, squares, dim)
            sums = _along(outer, sums, dim)
        cells = domain.cells(table.margin)
        # Coefficients a with covariance v·I have the variance v·Σa².
        variance = float((weights * squares).sum())
        if plan_.job.relation.is_joint(cells, plan_.job.widths[measure]):
            # With covariance v·(I − J/c) it is v·(Σa² − (Σa)²/c).
            variance -= float((weights * sums).sum()) / cells
        total += table.variance * variance
    return total


def _along(matrix: Floats, array: Floats, dim: int) -> Floats:
    """Apply a matrix along one axis of an array."""
    return np.moveaxis(np.tensordot(matrix, array, (1, dim)), 0, dim)


def axis_products(
    axis: MarginAxis, published: int, measured: int
) -> tuple[Floats, Floats]:
    r"""Return for one axis what squares and sums of coefficients are made of.

    A measured class s adds :math:`q_l(s,u) = k_u (e_l - e_{l-1})` to the published class u on the
    residual space of level l, with :math:`e_l = 1/k_{u^l}` where s and u share the ancestor
    :math:`u^l`, else 0, and k the numbers of leaves. The first matrix has the means over u of
    :math:`\sum_s q_l q_{l'}`, the second those of :math:`\sum_s q_l \sum_s q_{l'}`.
    """
    shared = min(published, measured)
    leaves = axis.leaves(published).astype(np.float64)
    inside = np.zeros((shared + 1, len(leaves)))
    within = np.zeros((shared + 1, len(leaves)))
    for level in range(shared + 1):
        owner = axis.ancestors(published, level)
        owner_of_measured = axis.ancestors(measured, level)
        members = np.bincount(owner_of_measured, minlength=axis.sizes[level])
        inside[level] = members[owner]
        within[level] = axis.leaves(level)[owner]
    # Σ_s e_l e_l' = (measured classes below the finer ancestor) / (k_l k_l').
    order = np.arange(shared + 1)
    finer = np.maximum.outer(order, order)
    products = inside[finer] / (within[:, None] * within[None])
    sums = inside / within
    steps = np.eye(shared + 1) - np.eye(shared + 1, k=-1)  # e_l − e_{l−1}
    moments = (products * leaves**2).mean(axis=2)
    gram = steps @ moments @ steps.T
    totals = steps @ (sums * leaves)
    return gram, totals @ totals.T / len(leaves)


class _Curves:
    """The precision of each candidate as a function of its share, by interpolation.

    The logarithm of 1/v is almost a straight line in that of the share. Cubic pieces between exact
    values and slopes are within 1e-6 of it, and a descent takes a quarter of the time.
    """

    NODES = 64
    LOWEST = math.log(1e-9)  # less of ε than this is as good as none

    def __init__(
        self,
        relation: Relation,
        epsilon: float,
        cells: NDArray[Any],
        widths: NDArray[Any],
    ) -> None:
        self.step = -self.LOWEST / (self.NODES - 1)
        logs = np.linspace(self.LOWEST, 0, self.NODES)
        levels = epsilon * np.exp(logs)
        values = []
        for level in levels:
            everywhere = np.full(len(cells), level)
            values.append(relation.precisions(everywhere, cells, widths))
        precision, slope = np.moveaxis(np.array(values), 0, -1)
        self.logs = np.log(precision)
        # d log(1/v) / d place = (d(1/v)/dε · ε / (1/v)) · (d log ε / d place)
        self.slopes = slope / precision * levels * self.step

    def __call__(self, shares: Floats, chosen: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return 1/v of the chosen candidates, and its derivatives by their shares."""
        shares = np.maximum(shares, 1e-9)
        place = (np.log(shares) - self.LOWEST) / self.step
        left = np.clip(place.astype(np.int64), 0, self.NODES - 2)
        t = place - left
        start = self.logs[chosen, left]
        rise = self.logs[chosen, left + 1] - start
        first = self.slopes[chosen, left]
        last = self.slopes[chosen, left + 1]
        # Hermite: the cubic with these two values and slopes.
        square = 3 * rise - 2 * first - last
        cube = first + last - 2 * rise
        # h(t) = start + first·t + square·t² + cube·t³, and its derivative by log share
        logarithm = start + t * (first + t * (square + t * cube))
        derivative = first + t * (2 * square + 3 * t * cube)
        precision = np.exp(logarithm)
        slope = derivative / self.step
        return precision, precision * slope / shares


def _sums_above(array: Floats) -> Floats:
    """Return for each measure and margin the sum over the margins that contain it."""
    for dim in range(1, array.ndim):
        reversed_ = np.flip(array, dim)
        array = np.flip(np.cumsum(reversed_, dim), dim)
    return array


def _sums_below(array: Floats) -> Floats:
    """Return for each measure and margin the sum over the margins that it contains."""
    for dim in range(1, array.ndim):
        array = np.cumsum(array, dim)
    return array


class _ShareSearch:
    """The descent in the shares of all candidates.

    Attributes
    ----------
    candidates
        The measure and the levels of every table that may be measured.
    """

    def __init__(
        self, job: Job, epsilon: float, largest: bool, settings: Settings
    ) -> None:
        domain = job.domain
        self.job = job
        self.epsilon = epsilon
        self.power = settings.largest_power if largest else 1
        self.settings = settings
        shape = (len(job.measures), *job.lattice)
        # dim T, and one over the number of cells: arrays over all margins.
        self.dims = np.ones(job.lattice)
        self.cells = np.ones(job.lattice)
        for dim, axis in enumerate(domain.axes):
            sizes = np.array(axis.sizes, np.float64)
            along = [1] * len(job.lattice)
            along[dim] = len(sizes)
            added = np.diff(sizes, prepend=0).reshape(along)
            self.dims = self.dims * added
            self.cells = self.cells * sizes.reshape(along)
        self.dims = np.broadcast_to(self.dims, shape).copy()
        for row, measure in enumerate(job.measures):
            if job.is_public(measure, (0,) * len(job.lattice)):
                self.dims[row].flat[0] = 0.0
        self.inside = self.cells.flat[-1] / self.cells
        tables = []
        for table in job.tables:
            row = job.measures.index(table.measure)
            tables.append((row, *domain.levels(table.margin)))
        self.tables = tuple(np.array(tables).T)
        self.weights = np.array([table.weight for table in job.tables])
        self.weights /= self.weights.sum()
        self.candidates = self._candidates()
        self.places = tuple(np.array(self.candidates).T)
        # Not by one index array: a job of totals alone has no columns, and no arrays of levels.
        cells = [self.cells[tuple(levels)] for _, *levels in self.candidates]
        self.sizes = np.array(cells).astype(np.int64)
        measures = [job.measures[row] for row in self.places[0]]
        widths = np.array([job.widths[measure] for measure in measures])
        self.curves = _Curves(job.relation, epsilon, self.sizes, widths)

    def _candidates(self) -> list[tuple[int, ...]]:
        """Return every margin that some published table lies below, and all of theirs."""
        job = self.job
        candidates = []
        for row, measure in enumerate(job.measures):
            tables = [table for table in job.tables if table.measure == measure]
            published = [job.domain.levels(table.margin) for table in tables]
            top = np.max(published, axis=0)
            for levels in np.ndindex(*(top + 1)):
                small = self.cells[levels] <= self.settings.most_cells
                is_allowed = small or levels in published
                if is_allowed and not job.is_public(measure, levels):
                    candidates.append((row, *levels))
        return candidates

    def starts(self) -> list[Floats]:
        """Return shares to start from: all margins of k levels, the published ones, all alike."""
        heights = np.array(self.candidates)[:, 1:].sum(axis=1)
        places = zip(*(part.tolist() for part in self.tables), strict=True)
        published = set(places)
        is_published = [place in published for place in self.candidates]
        cover = np.array(is_published, np.float64)
        # A share of exactly 0 has no logarithm to descend in.
        starts = [(heights == height) + 1e-3 for height in np.unique(heights)]
        starts += [cover + 1e-3, np.ones(len(cover))]
        return [start / start.sum() for start in starts]

    def value(self, shares: Floats, chosen: NDArray[Any]) -> tuple[float, Floats]:
        """Return what is minimised, and its derivatives by the shares of the chosen tables."""
        precision, slope = self.curves(shares, chosen)
        places = tuple(part[chosen] for part in self.places)
        inside = self.inside[places[1:]]
        # λ_T = Σ_{S ≥ T} m_S / v_S, as cumulative sums from the finest level down
        lambdas = np.zeros(self.dims.shape)
        lambdas[places] = precision * inside
        lambdas = np.maximum(_sums_above(lambdas), 1e-30)
        # Σ_{T ≤ U} dim T / λ_T for every margin U
        variances = _sums_below(self.dims / lambdas)
        per_cell = self.inside / self.cells
        scale = self.weights * per_cell[self.tables[1:]]
        errors = scale * variances[self.tables]
        # The mean of powers: its derivatives are those of a mean with other weights.
        # In parts of the largest: a table that is hardly measured has 1e30, to the 24th too much.
        largest = float(errors.max())
        relative = errors / largest
        parts = np.sum(relative**self.power)
        value = largest * float(parts ** (1 / self.power))
        # Backward: ∂value/∂variance_U goes to all T ≤ U, ∂λ_T to all S ≥ T.
        costs = np.zeros(self.dims.shape)
        powers = (errors / value) ** (self.power - 1)
        np.add.at(costs, self.tables, scale * powers)
        costs = _sums_above(costs)
        # ∂(dim T / λ_T)/∂λ_T = −dim T / λ_T²
        costs = _sums_below(-costs * self.dims / lambdas**2)
        return value, costs[places] * inside * slope

    def descend(self, start: Floats, chosen: NDArray[Any]) -> tuple[float, Floats]:
        """Minimise over the shares of the chosen tables, as a softmax, from a start."""
        from scipy.optimize import minimize

        def objective(logits: Floats) -> tuple[float, Floats]:
            shares = np.exp(logits - logits.max())
            shares /= shares.sum()
            value, slopes = self.value(shares, chosen)
            # By the softmax, ∂f/∂logit_j = share_j (f_j − Σ share_i f_i).
            # The logarithm keeps steps alike at every size of the error.
            gradient = shares * (slopes - shares @ slopes)
            return math.log(value), gradient / value

        reached = minimize(
            objective,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.settings.steps, "ftol": 1e-10, "gtol": 1e-7},
        )
        shares = np.exp(reached.x - reached.x.max())
        return float(reached.fun), shares / shares.sum()

    def descents(self) -> list[tuple[float, Floats]]:
        """Return what the descents from all starts reached, the best first."""
        everything = np.arange(len(self.candidates))
        generator = np.random.default_rng(0)  # a job has one plan
        starts = self.starts()
        for _ in range(min(self.settings.random_starts, 2 * len(everything))):
            start = generator.exponential(size=len(everything))
            starts.append(start / start.sum())
        results = [self.descend(start, everything) for start in starts]
        best = min(results, key=lambda pair: pair[0])
        for _ in range(min(self.settings.hops, 4 * len(everything))):
            other = generator.dirichlet(np.ones(len(everything)))
            known = best[1] * generator.exponential(size=len(everything))
            part = generator.uniform(0.2, 0.8)
            # A random mixture of the best shares, perturbed, and of others drawn uniformly.
            start = part * known / known.sum() + (1 - part) * other
            results.append(self.descend(np.maximum(start, 1e-9), everything))
            best = min(best, results[-1], key=lambda pair: pair[0])
        return sorted(results, key=lambda pair: pair[0])

    def best(self) -> list[dict[int, int]]:
        """Return the shares of the best descents, as whole parts of ``SHARES``."""
        rounded: list[dict[int, int]] = []
        for _, reached in self.descents()[:3]:
            chosen = np.arange(len(self.candidates))
            shares = reached
            # What has almost no share is dropped, and the rest descends again.
            for least in (0.002, 0.01):
                kept = shares >= least
                rest = shares[kept] / shares[kept].sum()
                if not self._covers(chosen[kept]):
                    break
                chosen = chosen[kept]
                _, shares = self.descend(rest, chosen)
                parts = dict(zip(chosen.tolist(), shares.tolist(), strict=True))
                rounded.append(_in_whole_parts(parts, SHARES))
        # Rounding may have dropped a share that a published table needs.
        return [parts for parts in rounded if self._covers(np.array(list(parts)))]

    def _covers(self, chosen: NDArray[Any]) -> bool:
        """Return whether every published table lies below a chosen one."""
        measured = np.array(self.candidates)[chosen]
        published = np.array(self.tables).T
        below = (measured[None, :, 1:] >= published[:, None, 1:]).all(axis=2)
        same = measured[None, :, 0] == published[:, None, 0]
        public = self.dims[self.tables] == 0
        covered = (below & same).any(axis=1)
        return bool((covered | public).all())

    def plan(self, parts: Mapping[int, int], level: Epsilon) -> JobPlan:
        """Return the plan with these shares."""
        measured = []
        for place, part in sorted(parts.items(), reverse=True):
            row, *levels = self.candidates[place]
            margin = self.job.domain.names(tuple(levels))
            measure = self.job.measures[row]
            share = Fraction(part, SHARES)
            measured.append(_measured(self.job, level, share, measure, margin))
        return JobPlan(self.job, level, tuple(measured))
