"""Derivation without databases: states that are all the function needs to know.

A database with one person left out is a *rest*; one person more leads from it to a state. Two
databases are neighbours when they come from the same rest, so the answers that one rest can lead
to are adjacent to each other (a value changes), or to the rest's own answer (a person comes).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from tightrope.errors import InputError, TooLarge

#: Numbers with more digits are not worked out, only their size is.
EXACT_DIGITS = 40

#: A contribution, or a sum of contributions: a whole number or a tuple of them.
Amount = int | tuple[int, ...]


def plus(left: Amount, right: Amount, times: int = 1) -> Amount:
    """Return left + times · right, member by member for tuples.

    >>> plus((1, 2), (3, 4)), plus(5, 2, -1)
    ((4, 6), 3)
    """
    if isinstance(left, tuple) and isinstance(right, tuple):
        return tuple(a + times * b for a, b in zip(left, right, strict=True))
    if isinstance(left, int) and isinstance(right, int):
        return left + times * right
    raise InputError("contributions must be all whole numbers or all tuples of one length")


def amounts(
    values: Sequence[Hashable], contribution: Callable[[Any], Any] | None
) -> tuple[list[Amount], Amount]:
    """Return the different contributions of the values, and the sum of nobody.

    >>> amounts(range(4), lambda value: value % 3)
    ([0, 1, 2], 0)
    """
    found: dict[Amount, None] = {}
    for value in values:
        given = value if contribution is None else contribution(value)
        found[_amount(given, value)] = None
    first = next(iter(found))
    length = len(first) if isinstance(first, tuple) else None
    for other in found:
        if (len(other) if isinstance(other, tuple) else None) != length:
            raise InputError(
                "contributions must be all whole numbers or all tuples of one length, got "
                f"{first!r} and {other!r}"
            )
    return list(found), (0 if length is None else (0,) * length)


def _amount(given: Any, value: Hashable) -> Amount:
    if isinstance(given, tuple):
        return tuple(_whole(part, value) for part in given)
    return _whole(given, value)


def _whole(given: Any, value: Hashable) -> int:
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != given:
        raise InputError(
            f"the contribution of a person must be a whole number or a tuple of them, got "
            f"{given!r} for the value {value!r}"
        )
    return number


def sums(steps: Sequence[Amount], zero: Amount, fewest: int, most: int, limit: int) -> set[Amount]:
    """Return all sums of at least ``fewest`` and at most ``most`` contributions.

    Each sum is visited once: exactly k contributions are at most k contributions after the first
    one is taken off all of them.

    >>> sorted(sums([1, 3], 0, 2, 3, 100))
    [2, 3, 4, 5, 6, 7, 9]
    """
    base, shifted = steps[0], [plus(step, steps[0], -1) for step in steps]
    start = _reach({plus(zero, base, fewest)}, shifted, fewest, limit)
    return _reach(start, steps, most - fewest, limit)


def _reach(start: set[Amount], steps: Sequence[Amount], most: int, limit: int) -> set[Amount]:
    """Return everything within a number of steps."""
    seen, edge = set(start), set(start)
    for _ in range(most):
        edge = {plus(old, step) for old in edge for step in steps} - seen
        if not edge:
            break
        seen |= edge
        if len(seen) > limit:
            raise TooLarge(
                f"the derivation has met more than {limit} different sums: raise limit to go on"
            )
    return seen


def sum_states(
    steps: Sequence[Amount], zero: Amount, people: int, fewest: int, absent: bool, limit: int
) -> tuple[Iterator[tuple[Amount, bool]], int]:
    """Return the rests of at most ``people``-1 people as sums, and how many there are.

    The mark says whether the rest has enough people for an answer of its own.

    >>> list(sum_states([0, 1], 0, 2, 0, False, 100)[0])
    [(0, False), (1, False)]
    """
    if not absent:
        rests = sums(steps, zero, people - 1, people - 1, limit)
        return ((rest, False) for rest in _ordered(rests)), len(rests)
    least = max(fewest, 1) - 1
    every = sums(steps, zero, least, people - 1, limit)
    own = sums(steps, zero, fewest, people - 1, limit) if fewest < people else set()
    return ((rest, rest in own) for rest in _ordered(every)), len(every)


def _ordered(found: Iterable[Amount]) -> list[Amount]:
    listed: list[Any] = list(found)
    return sorted(listed)


def multiset_rests(
    values: Sequence[Hashable], people: int, fewest: int, absent: bool, limit: int
) -> tuple[Iterator[tuple[tuple[Hashable, ...], bool]], int]:
    """Return the rests of at most ``people``-1 people as sorted tuples, and how many there are.

    >>> list(multiset_rests("ab", 2, 0, True, 100)[0])
    [((), True), (('a',), True), (('b',), True)]
    """
    sizes = range(max(fewest, 1) - 1, people) if absent else range(people - 1, people)
    # All sizes up to s together are the multisets of size s with one more value: "nobody".
    spare, largest = len(values) - 1 + int(absent), people - 1
    power = (
        math.lgamma(largest + spare + 1) - math.lgamma(largest + 1) - math.lgamma(spare + 1)
    ) / math.log(10)
    total = 0
    if power <= EXACT_DIGITS:
        total = math.comb(largest + spare, spare)
        if absent and sizes.start:
            total -= math.comb(sizes.start - 1 + spare, spare)
    if total * len(values) > limit or not total:
        number = total * len(values) or f"10^{power + math.log10(len(values)):.0f}"
        raise TooLarge(
            f"the derivation would look at {number} multisets, more than {limit}: "
            "raise limit to go on"
        )
    rests = (
        (rest, absent and size >= fewest)
        for size in sizes
        for rest in itertools.combinations_with_replacement(values, size)
    )
    return rests, total
