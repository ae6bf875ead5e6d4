"""The built-in questions: what each asks, and its answer graph under each relation."""

from __future__ import annotations

import inspect
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from tightrope.errors import InputError
from tightrope.graphs import (
    AnswerGraph,
    Clique,
    Cycle,
    Databases,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
)
from tightrope.graphs.averages import AddRemoveMedians, EitherMedians, Means
from tightrope.graphs.base import check_written
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.lines import CappedPathPower
from tightrope.graphs.products import CappedCounts
from tightrope.graphs.registry import FAMILIES as GRAPH_FAMILIES, Family, Parameter
from tightrope.queries.query import Neighbours, Query

Build = Callable[..., Query]

_PEOPLE = Parameter("u", "number of people")
_MANY = Parameter("n", "number of people")
_TOP = Parameter("v", "largest value (values are 0 … v)")

#: Every question and every graph by its name.
FAMILIES: dict[str, Family] = {}


def question(
    name: str, *parameters: Parameter, example: str, **more: Any
) -> Callable[[Build], Build]:
    """Register what follows, a function to the query, as a question about people.

    The function takes the text, the neighbour relation and the parameters. Its docstring says what
    is asked and, in a second paragraph, how far apart two answers are. Further keywords are fields
    of :class:`~tightrope.graphs.registry.Family`.
    """

    def register(build: Build) -> Build:
        # The docstring is the documentation: meaning and distance come from one place.
        meaning, distance = (inspect.getdoc(build) or "").split("\n\n")
        more.update(is_graph=False, distance=distance)
        FAMILIES[name] = Family(name, parameters, meaning, example, build, **more)
        return build

    return register


def build(family: Family, near: Neighbours, sizes: Sequence[int]) -> Query:
    """Return the query of a family with these parameters.

    >>> build(FAMILIES["sum"], Neighbours.CHANGE_ONE, [2, 3]).graph.size
    7
    """
    text = family.text(*sizes)
    if family.is_graph:
        return Query(text, family.build(*sizes), near)
    query: Query = family.build(text, near, *sizes)
    # The graph remembers its question, so that priors about people can be derived.
    query.graph.question = (family.name, tuple(sizes))
    return query


@question("count", _MANY, example="count(5)", drawn="count(4)", usual_loss="absolute")
def _count(text: str, near: Neighbours, n: int) -> Query:
    """how many of n people are marked

    path
    """
    return Query(text, PathPower(n + 1, name=text), near, n, range(2), sum)


@question(
    "sum", _PEOPLE, _TOP, example="sum(150,5)", drawn="sum(3,2)", usual_loss="absolute"
)
def _sum(text: str, near: Neighbours, u: int, v: int) -> Query:
    r"""sum of u values

    d = ⌈\|i−j\| / v⌉; under add-remove 2 between the v largest sums
    """
    graph: AnswerGraph = PathPower(u * v + 1, v, name=text)
    # Nobody can change, only leave: between the largest sums it takes two steps.
    if not near.allows_change and v > 1:
        graph = CappedPathPower(u, v, name=text)
    return Query(text, graph, near, u, range(v + 1), sum)


@question(
    "mean", _PEOPLE, _TOP, example="mean(4,5)", drawn="mean(2,2)", usual_loss="absolute"
)
def _mean(text: str, near: Neighbours, u: int, v: int) -> Query:
    """mean of u values

    a sum divided by u; otherwise the fractions s/k, 1 ≤ k ≤ u
    """
    _check_company(near, u, text)
    graph: AnswerGraph
    if near.allows_absent and u > 1:
        graph = Means(u, v, change=near.allows_change, name=text)
    else:
        # With everybody present a mean is a sum over u: the same path, other labels.
        graph = PathPower(u * v + 1, v, name=text, step=Fraction(1, u))
    return Query(text, graph, near, u, range(v + 1), mean_of, fewest=1)


@question(
    "median",
    _PEOPLE,
    _TOP,
    example="median(4,5)",
    drawn="median(4,2)",
    usual_loss="absolute",
)
def _median(text: str, near: Neighbours, u: int, v: int) -> Query:
    """median of u values (average of the middle two)

    odd u: clique; even u: half-integers, adjacent within v/2; otherwise see below
    """
    graph: AnswerGraph
    # With an odd number one person can move the middle value anywhere.
    if u == 1 or (u % 2 and not near.allows_absent):
        _check_company(near, u, text)
        graph = Clique(v + 1, name=text)
    elif not near.allows_absent:
        # With an even number one of the two middle values moves: half of v at most.
        graph = PathPower(2 * v + 1, v, name=text, step=Fraction(1, 2))
    else:
        graph = (EitherMedians if near.allows_change else AddRemoveMedians)(
            v, name=text
        )
    return Query(text, graph, near, u, range(v + 1), median_of, fewest=1)


@question(
    "counts",
    _MANY,
    Parameter("k", "number of properties"),
    example="counts(30,2)",
    drawn="counts(2,2)",
    usual_loss="distance",
)
def _counts(text: str, near: Neighbours, n: int, k: int, *, listed: int = 16) -> Query:
    r"""how many of n people have each of k independent properties

    d = max \|Δ\|; under add-remove max Δ⁺ + max Δ⁻ (see below)
    """
    # (n + 1)^k answers: refuse before the graph is built.
    check_written(k * math.log10(n + 1), k, text)
    graph: AnswerGraph = (
        StrongProduct([PathPower(n + 1)] * k, name=text)
        if near.allows_change
        else CappedCounts(n, k, name=text)
    )
    # With more properties one person's possible values are too many to list.
    values = tuple(itertools.product(range(2), repeat=k)) if k <= listed else None
    return Query(text, graph, near, n, values, partial(counts_of, counts=k))


@question(
    "histogram",
    _MANY,
    Parameter("c", "number of classes"),
    example="histogram(10,3)",
    drawn="histogram(2,3)",
    usual_loss="distance",
)
def _histogram(text: str, near: Neighbours, n: int, c: int) -> Query:
    """how many of n people fall into each of c classes

    d = ½‖Δ‖₁; under add-remove ‖Δ‖₁; under either max(ΣΔ⁺, ΣΔ⁻)
    """
    check_written(0, c, text)
    graph: AnswerGraph = (
        Histograms(n, c, absent=near.allows_absent, name=text)
        if near.allows_change
        else AddRemoveHistograms(n, c, name=text)
    )
    return Query(text, graph, near, n, range(c), partial(histogram_of, classes=c))


@question(
    "count_mod",
    _MANY,
    Parameter("m", "modulus"),
    example="count_mod(9,4)",
    drawn="count_mod(6,6)",
    usual_loss="distance",
)
def _count_mod(text: str, near: Neighbours, n: int, m: int) -> Query:
    """a count of n people, modulo m

    n ≥ m: cycle of m; n < m: path of n+1
    """
    # A cycle once all remainders meet [C, fn. 5].
    closed = n >= m > 2
    graph: AnswerGraph = (
        Cycle(m, name=text) if closed else PathPower(min(n + 1, m), name=text)
    )
    return Query(text, graph, near, n, range(2), partial(count_modulo, modulus=m))


@question(
    "choice",
    Parameter("c", "number of possible winners"),
    example="choice(6)",
    drawn="choice(5)",
)
def _choice(text: str, near: Neighbours, c: int) -> Query:
    """what most people chose, out of c

    clique
    """
    return Query(text, Clique(c, name=text), near, None, range(c), most_frequent)


@question(
    "star", Parameter("k", "number of values"), example="star(3)", drawn="star(5)"
)
def _star(text: str, near: Neighbours, k: int) -> Query:
    """the value (1 … k) on which all people agree, 0 when they do not

    star
    """
    return Query(text, Star(k), near)  # [C, fn. 7]


@question(
    "databases",
    _PEOPLE,
    Parameter("v", "number of values"),
    example="databases(2,3)",
    drawn="databases(2,2)",
)
def _databases(text: str, near: Neighbours, u: int, v: int) -> Query:
    """the whole database: the values of u people

    sum over the people: clique of v; star of v around “absent”; clique of v+1
    """
    graph = Databases(
        u, range(v), change=near.allows_change, absent=near.allows_absent, name=text
    )
    return Query(text, graph, near, u, range(v), tuple, sees_absent=near.allows_absent)


FAMILIES.update(GRAPH_FAMILIES)


def _check_company(near: Neighbours, u: int, text: str) -> None:
    """Refuse one person who may only leave: nobody is left to give an answer."""
    if u == 1 and near is Neighbours.ADD_REMOVE:
        raise InputError(
            f"{text} under add-remove has no edges, because the empty database has no answer: "
            "use at least 2 people or another relation"
        )


# -- what the questions compute from the values of the people in a database ------------------


def count_modulo(database: Sequence[int], modulus: int) -> int:
    """Return the remainder of a count."""
    return sum(database) % modulus


def counts_of(database: Sequence[Sequence[int]], counts: int) -> tuple[int, ...]:
    """Return how many people have each of several properties."""
    return tuple(sum(person[k] for person in database) for k in range(counts))


def histogram_of(database: Sequence[int], classes: int) -> tuple[int, ...]:
    """Return how many people fall into each of the classes 0 … c-1."""
    sizes = Counter(database)
    return tuple(sizes[value] for value in range(classes))


def mean_of(database: Sequence[int]) -> Fraction:
    """Return the exact mean."""
    return Fraction(sum(database), len(database))


def median_of(database: Sequence[int]) -> Fraction:
    """Return the exact median: the middle value, or the average of the middle two."""
    return Fraction(statistics.median(map(Fraction, database)))


def most_frequent(database: Sequence[int]) -> int:
    """Return the value that most people have; the smallest of several, 0 for nobody."""
    return min(database, key=lambda value: (-database.count(value), value), default=0)
