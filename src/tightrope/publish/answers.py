r"""From the numbers that a database returns to one answer of the query, whatever the numbers.

The mechanism knows the declared answers and no others. A table that holds more people than
declared, or values outside the declared ones, must still lead to a declared answer, because an
error that depends on the data says something about the people in it. So each rule here is a
total function, and (but for the two cases below) it moves no pair of neighbouring tables further
apart than one step in the answer graph: privacy then holds for every table, declared facts true
or false.

The exceptions are several counts and groups under ``add-remove`` when the table holds *more*
people than declared. There a step may become two, so such a table gets :math:`2\varepsilon`; for
three groups no rule could do better.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tightrope.publish.shapes import OTHER, Kind, Shape


def answer_of(shape: Shape, rows: Sequence[Sequence[Any]]) -> Hashable:
    """Return the true answer as the query's label.

    Parameters
    ----------
    shape
        The question.
    rows
        What its SQL returned.

    Examples
    --------
    >>> from tightrope.publish.facts import Table
    >>> crowd = Shape(Kind.COUNT, Table("people", 100))
    >>> answer_of(crowd, [(42, 42)]), answer_of(crowd, [(4200, 4200)])
    (42, 100)
    """
    if shape.kind is Kind.GROUPS:
        return groups_answer(shape, rows)
    if shape.kind is Kind.MOST:
        found = _by_group(shape, rows)
        sizes = [found.get(value, 0) for value in shape.groups]
        return sizes.index(max(sizes))
    people = shape.table.needed_population()
    if shape.kind is Kind.COUNTS:
        return tuple(min(int(number), people) for number in rows[0])
    if shape.kind is Kind.MODULO:
        return min(int(rows[0][0]), people) % int(shape.modulus or 1)
    total, present = int(rows[0][0]), int(rows[0][1])
    return sum_answer(
        total, present, people, shape.largest_share, shape.table.neighbours.allows_change
    )


def sum_answer(total: int, present: int, people: int, share: int, change: bool) -> int:
    r"""Return a sum as an answer of ``sum(people,share)``.

    Under ``add-remove`` the answers above :math:`(u-1)v` need all u people, and no two of them
    are neighbours. A table of more than u people is therefore held to :math:`(u-1)v`.

    >>> sum_answer(48, 10, 10, 5, change=False), sum_answer(48, 11, 10, 5, change=False)
    (48, 45)
    """
    total = max(total, 0)
    if not change and present > people:
        return min(total, (people - 1) * share)
    return min(total, people * share)


def groups_answer(shape: Shape, rows: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """Return group sizes as an answer of ``histogram(n,c)``.

    Groups are filled in the declared order until the population is used up. With a fixed number
    of people, whoever is missing from the declared groups is put into the class of the others.

    >>> from tightrope.publish.facts import Column, Table
    >>> region = Column("region", "text", values=("N", "S"))
    >>> groups_answer(Shape(Kind.GROUPS, Table("people", 10), column=region), [(1, 4), (0, 3)])
    (3, 4, 3)
    """
    left = shape.table.needed_population()
    found = _by_group(shape, rows)
    filled = []
    for value in shape.groups:
        if value == OTHER:
            break
        taken = min(found.get(value, 0), left)
        filled.append(taken)
        left -= taken
    if not shape.table.neighbours.allows_absent:
        other = shape.column.other if shape.column else None
        if other is None:
            filled.append(left)
        else:
            filled[shape.groups.index(other)] += left
    return tuple(filled)


def _by_group(shape: Shape, rows: Sequence[Sequence[Any]]) -> dict[Any, int]:
    names = shape._values(shape._grouped())
    found: dict[Any, int] = {}
    for place, number in rows:
        if place >= 0:
            found[names[place]] = int(number)
    return found


def mapped_answer(value: Any, answers: Mapping[str, Hashable], otherwise: Hashable) -> Hashable:
    """Return the answer that a user's table gives to a value, or the one for all others.

    >>> mapped_answer(3.0, {"3": "three"}, "many"), mapped_answer(None, {"3": "three"}, "many")
    ('three', 'many')
    """
    if isinstance(value, float | Decimal) and Decimal(value).is_finite() and value == int(value):
        value = int(value)
    return answers.get(str(value), otherwise)
