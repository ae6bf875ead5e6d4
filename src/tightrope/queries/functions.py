"""What the built-in queries compute from the values of the people in a database."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction


def count_modulo(database: Sequence[int], modulus: int) -> int:
    """Return the remainder of a count.

    >>> count_modulo([1, 1, 0, 1], 2)
    1
    """
    return sum(database) % modulus


def counts_of(database: Sequence[Sequence[int]], counts: int) -> tuple[int, ...]:
    """Return how many people have each of several properties.

    >>> counts_of([(1, 0), (1, 1)], 2)
    (2, 1)
    """
    return tuple(sum(person[k] for person in database) for k in range(counts))


def histogram_of(database: Sequence[int], classes: int) -> tuple[int, ...]:
    """Return how many people fall into each of the classes 0 … c-1.

    >>> histogram_of([2, 0, 2], 3)
    (1, 0, 2)
    """
    table = [0] * classes
    for value in database:
        table[value] += 1
    return tuple(table)


def mean_of(database: Sequence[int]) -> Fraction:
    """Return the exact mean.

    >>> mean_of([1, 2, 2])
    Fraction(5, 3)
    """
    return Fraction(sum(database), len(database))


def median_of(database: Sequence[int]) -> Fraction:
    """Return the exact median: the middle value, or the average of the middle two.

    >>> median_of([5, 0, 2, 1])
    Fraction(3, 2)
    """
    ordered = sorted(database)
    half = len(ordered) // 2
    return Fraction(ordered[half] + ordered[~half], 2)


def most_frequent(database: Sequence[int]) -> int:
    """Return the value that most people have; the smallest of several, 0 for nobody.

    >>> most_frequent([2, 1, 2, 1, 0])
    1
    """
    return min(database, key=lambda value: (-database.count(value), value), default=0)


def agreed_value(database: Sequence[Hashable], people: int) -> Hashable:
    """Return the value that all people have, 0 when they differ or somebody is absent [C, fn. 7].

    >>> agreed_value([3, 3, 3], 3), agreed_value([3, 3, 1], 3), agreed_value([3, 3], 3)
    (3, 0, 0)
    """
    agreed = len(database) == people and len(set(database)) == 1
    return database[0] if agreed else 0
