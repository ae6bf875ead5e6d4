"""From the parameters of a built-in query to its answer graph, under each relation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AddRemoveHistograms,
    AddRemoveMedians,
    AnswerGraph,
    BalancedTree,
    CappedCounts,
    CappedPathPower,
    Clique,
    Cycle,
    Databases,
    EitherMedians,
    FoldedCube,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
    mean_graph,
    named,
)
from tightrope.queries import functions
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours

#: Largest number of decimal digits of a number of answers.
DIGIT_LIMIT = 1000
#: Largest number of levels of a tree, and of factors of a product.
LEVEL_LIMIT = 100_000
#: Largest number of properties for which one person's possible values are listed.
PROPERTY_LIMIT = 16


def count(near: Neighbours, n: int) -> Query:
    """Build ``count(n)``: a path, under every relation.

    >>> count(Neighbours.EITHER, 5).graph.is_path
    True
    """
    text = f"count({n})"
    return Query(text, PathPower(n + 1, name=text), near, n, range(2), sum)


def total(near: Neighbours, u: int, v: int) -> Query:
    """Build ``sum(u,v)``: a band, without the edges at the top when people come or go.

    >>> total(Neighbours.CHANGE_ONE, 150, 5).graph.diameter
    150
    """
    text = f"sum({u},{v})"
    graph: AnswerGraph = PathPower(u * v + 1, v, name=text)
    if not near.allows_change and v > 1:
        graph = CappedPathPower(u, v, name=text)
    return Query(text, graph, near, u, range(v + 1), sum)


def mean(near: Neighbours, u: int, v: int) -> Query:
    """Build ``mean(u,v)``: a band for a fixed number of people, otherwise fractions s/k.

    >>> mean(Neighbours.CHANGE_ONE, 4, 5).graph.label(3)
    Fraction(3, 4)
    """
    text = f"mean({u},{v})"
    graph: AnswerGraph
    if near.allows_absent:
        _check_fleeting(near, u, text)
        graph = mean_graph(u, v, change=near.allows_change, name=text)
    else:
        graph = _fractions(u * v + 1, v, u, text)
    return Query(text, graph, near, u, range(v + 1), functions.mean_of, fewest=1)


def median(near: Neighbours, u: int, v: int) -> Query:
    """Build ``median(u,v)``: a clique for odd u, a band of half-integers for even u.

    >>> median(Neighbours.CHANGE_ONE, 3, 5).graph.is_clique
    True
    """
    text = f"median({u},{v})"
    graph: AnswerGraph
    if u == 1 or (u % 2 and not near.allows_absent):
        _check_fleeting(near, u, text)
        graph = Clique(v + 1, name=text)
    elif not near.allows_absent:
        graph = _fractions(2 * v + 1, v, 2, text)
    else:
        graph = (EitherMedians if near.allows_change else AddRemoveMedians)(v, name=text)
    return Query(text, graph, near, u, range(v + 1), functions.median_of, fewest=1)


def counts(near: Neighbours, n: int, k: int) -> Query:
    """Build ``counts(n,k)``: a strong product of paths; capped when people come or go.

    >>> counts(Neighbours.CHANGE_ONE, 30, 2).graph.edge_count
    3660
    """
    text = f"counts({n},{k})"
    _check_digits(k * math.log10(n + 1), text, k)
    graph: AnswerGraph = (
        StrongProduct([PathPower(n + 1)] * k, name=text)
        if near.allows_change
        else CappedCounts(n, k, name=text)
    )
    values = tuple(itertools.product(range(2), repeat=k)) if k <= PROPERTY_LIMIT else None
    return Query(text, graph, near, n, values, partial(functions.counts_of, counts=k))


def histogram(near: Neighbours, n: int, c: int) -> Query:
    """Build ``histogram(n,c)``: vectors of counts.

    >>> histogram(Neighbours.ADD_REMOVE, 10, 3).graph.size
    286
    """
    text = f"histogram({n},{c})"
    small, large = sorted((n, c))
    _check_digits(small * math.log10((large + small) / small * math.e), text, c)
    graph: AnswerGraph = (
        Histograms(n, c, absent=near.allows_absent, name=text)
        if near.allows_change
        else AddRemoveHistograms(n, c, name=text)
    )
    return Query(text, graph, near, n, range(c), partial(functions.histogram_of, classes=c))


def count_mod(near: Neighbours, n: int, m: int) -> Query:
    """Build ``count_mod(n,m)``: a cycle once all remainders meet, before that a path [C, fn. 5].

    >>> count_mod(Neighbours.CHANGE_ONE, 9, 4).graph.is_cycle
    True
    """
    text = f"count_mod({n},{m})"
    closed = n >= m > 2
    graph: AnswerGraph = Cycle(m, name=text) if closed else PathPower(min(n + 1, m), name=text)
    return Query(text, graph, near, n, range(2), partial(functions.count_modulo, modulus=m))


def choice(near: Neighbours, c: int) -> Query:
    """Build ``choice(c)``: one vote can turn any winner into any other.

    >>> choice(Neighbours.CHANGE_ONE, 6).graph.is_clique
    True
    """
    text = f"choice({c})"
    return Query(text, Clique(c, name=text), near, None, range(c), functions.most_frequent)


def databases(near: Neighbours, u: int, v: int) -> Query:
    """Build ``databases(u,v)``: the database itself is the answer.

    >>> databases(Neighbours.CHANGE_ONE, 20, 4).graph.diameter
    20
    """
    text = f"databases({u},{v})"
    _check_digits(u * math.log10(v + 1), text, u)
    graph = Databases(u, range(v), change=near.allows_change, absent=near.allows_absent, name=text)
    return Query(text, graph, near, u, range(v), tuple, sees_absent=near.allows_absent)


def star(near: Neighbours, k: int) -> Query:
    """Build ``star(k)``: the value on which all agree, the middle when they do not [C, fn. 7].

    >>> star(Neighbours.CHANGE_ONE, 3).graph.is_tree
    True
    """
    return Query(f"star({k})", Star(k), near)


def plain(near: Neighbours, family: str, *sizes: int) -> Query:
    """Build a query that is given by a named graph alone.

    >>> plain(Neighbours.CHANGE_ONE, "petersen").graph.size
    10
    """
    text = f"{family}({','.join(map(str, sizes))})" if sizes else family
    if family in ("hypercube", "folded_cube"):
        _check_digits(sizes[0] * math.log10(2), text, sizes[0])
    if family == "tree":
        _check_digits(sizes[1] * math.log10(sizes[0]), text, sizes[1])
    if family == "grid":
        _check_digits(sum(map(math.log10, sizes)), text, len(sizes))
    makers: dict[str, Any] = {
        "path": PathPower,
        "cycle": Cycle,
        "clique": Clique,
        "tree": BalancedTree,
        "folded_cube": FoldedCube,
    }
    graph = (makers.get(family) or getattr(named, family))(*sizes)
    return Query(text, graph, near)


def _fractions(size: int, width: int, below: int, text: str) -> PathPower:
    """Return a band whose node s stands for the fraction s/below."""
    return PathPower(size, width, name=text, step=Fraction(1, below))


def _check_fleeting(near: Neighbours, u: int, text: str) -> None:
    """Refuse one person who may only leave: nobody is left to give an answer."""
    if u == 1 and near is Neighbours.ADD_REMOVE:
        raise InputError(
            f"{text} under add-remove has no edges, because the empty database has no answer: "
            "use at least 2 people or another relation"
        )


def _check_digits(digits: float, text: str, factors: int) -> None:
    """Refuse numbers of answers that cannot even be written down."""
    if digits > DIGIT_LIMIT or factors > LEVEL_LIMIT:
        raise TooLarge(
            f"{text} would have more than 10^{DIGIT_LIMIT} answers or {LEVEL_LIMIT} parts: "
            "use smaller parameters"
        )
