"""Several SELECTs: which of them are about the same rows, and are planned as one job.

Counts of the same rows are margins of one table. Planned together they need less ε than each by
itself, and they add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.shapes import Shape, Tables


@dataclass(frozen=True)
class QuestionSpec:
    """One SELECT and the share of ε that it shall have.

    Attributes
    ----------
    sql
        The SELECT.
    name
        What it is called.
    weight
        Its weight among the questions that share ε.
    error
        The error that it shall keep; its share is then as small as that allows.
    """

    sql: Any
    name: str = ""
    weight: Fraction = Fraction(1)
    error: Fraction | None = None


@dataclass(frozen=True)
class View:
    """What one SELECT shows of what is drawn.

    Attributes
    ----------
    place
        Which SELECT it is.
    spec
        The SELECT.
    shape
        How its lines are named and sorted.
    titles
        What its numbers are called.
    """

    place: int
    spec: QuestionSpec
    shape: Shape
    titles: tuple[str, ...]


@dataclass(frozen=True)
class Unplanned:
    """What is planned together: one SELECT, or several about the same rows.

    Attributes
    ----------
    views
        The SELECTs.
    shapes
        What is drawn for them.
    errors
        The errors that are wanted, one for all numbers or one for each table; none where ε is
        shared by weight.
    """

    views: tuple[View, ...]
    shapes: tuple[Shape, ...]
    errors: tuple[Fraction, ...] = ()

    @property
    def weight(self) -> Fraction:
        """Its weight among what shares ε."""
        return sum((view.spec.weight for view in self.views), Fraction(0))

    @property
    def titles(self) -> tuple[str, ...]:
        """What the numbers that are drawn are called."""
        (first, *more) = self.views
        return self.shapes[0].titles if more else first.titles


def planned_numbers(job: Unplanned, level: Epsilon) -> list[tuple[Shape, Fraction]]:
    """Return what is drawn for a job, each with its share of ε.

    Several numbers in the tables of one SELECT are planned as one job, for the columns that are
    shown. Others have equal shares, and so have those that shall keep an error each.
    """
    even = Fraction(1, len(job.shapes))
    tables = [shape for mine in job.shapes if (shape := mine.as_number()) is not None]
    numbers = sum(len(shape.titles) for shape in job.shapes)
    # What has an error to keep cannot give anything up for the others.
    if len(tables) < len(job.shapes) or numbers == 1 or job.errors:
        return [(shape.among(even, numbers), even) for shape in job.shapes]
    (view,) = job.views
    typical = {title: x for shape in tables for title, x in shape.typical.items()}
    weights = view.shape.after.weights(view.shape.keys, typical)
    together = Tables.share(tables, weights, level)
    return [(shape, shape.number_share) for shape in together]


def in_jobs(
    views: Sequence[View],
    shapes: Sequence[Sequence[Shape]],
    whole: bool = False,
    largest: bool = False,
) -> list[Unplanned]:
    """Return what is planned together, by the first SELECT of each.

    Parameters
    ----------
    views
        The SELECTs.
    shapes
        What is drawn for each, if it is asked by itself.
    whole
        Whether whole numbers are wanted, so that a single table is a job too.
    largest
        Whether jobs are planned for the largest margin among their tables.
    """
    jobs: list[list[tuple[View, Tables]]] = []
    alone: list[Unplanned] = []
    for view, mine in zip(views, shapes, strict=True):
        # Only a SELECT of one shape can be a table of a job.
        tables = mine[0].as_job() if len(mine) == 1 else None
        if whole and (tables is None or tables.after.selects or tables.after.columns):
            raise InputError(
                "--whole is for counts of rows, without HAVING, LIMIT and arithmetic: ask for "
                "other numbers by themselves"
            )
        if tables is None:
            alone.append(_alone(view, mine))
            continue
        # An error is wanted of every number of a SELECT, so those without one are apart.
        fitting = (
            job
            for job in jobs
            if (job[0][0].spec.error is None) == (view.spec.error is None)
            and tables.fits([member for _, member in job])
        )
        place = next(fitting, None)
        if place is None:
            jobs.append([(view, tables)])
        else:
            place.append((view, tables))
    planned = []
    for job in jobs:
        all_public = all(member.is_public for _, member in job)
        # A single table needs no joint plan, and there is none for what is public.
        if whole or (len(job) > 1 and not all_public):
            planned.append(_joined(job, whole))
        else:
            planned += [_alone(view, shapes[view.place]) for view, _ in job]
    # In the order in which they were asked, whatever was planned together.
    in_order = sorted([*alone, *planned], key=lambda one: one.views[0].place)
    return _for_largest(in_order) if largest else in_order


def _for_largest(jobs: Sequence[Unplanned]) -> list[Unplanned]:
    """Return the jobs planned for their largest margin, where they have several tables."""
    changed = [
        tuple(shape.for_largest() or shape for shape in job.shapes) for job in jobs
    ]
    if changed == [job.shapes for job in jobs]:
        raise InputError(
            "--largest is for several tables of counts or sums: GROUPING SETS, CUBE, ROLLUP, or "
            "several SELECTs about the same rows"
        )
    return [
        replace(job, shapes=shapes) for job, shapes in zip(jobs, changed, strict=True)
    ]


def _alone(view: View, shapes: Sequence[Shape]) -> Unplanned:
    error = view.spec.error
    if error is None:
        return Unplanned((view,), tuple(shapes))
    keeping = tuple(shape.keeping(error) for shape in shapes)
    return Unplanned((view,), keeping, (error,))


def _joined(job: Sequence[tuple[View, Tables]], whole: bool) -> Unplanned:
    """Return several SELECTs as one job, with the weight or the error of each table."""
    tables, members = Tables.joined([member for _, member in job])
    if whole:
        tables.check_whole()
    views = tuple(
        replace(view, shape=member)
        for (view, _), member in zip(job, members, strict=True)
    )
    asking: list[list[QuestionSpec]] = [[] for _ in tables.sets]
    for view, member in zip(views, members, strict=True):
        for place in member.places_in(tables):
            # One table may be asked for by several SELECTs: their weights add up.
            asking[place].append(view.spec)
    errors = tuple(
        # The strictest error decides where several SELECTs ask for one table.
        min(spec.error for spec in specs if spec.error is not None)
        for specs in asking
        if specs[0].error is not None
    )
    weights = [sum((s.weight for s in specs), Fraction(0)) for specs in asking]
    if errors:  # the table that is furthest from its wanted error decides
        # Weight 1/error²: equal weighted variances keep all errors in proportion.
        weights = [1 / error**2 for error in errors]
    shape = replace(tables, weights=tuple(weights), evenly=bool(errors))
    return Unplanned(views, (shape,), errors)
