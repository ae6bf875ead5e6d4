r"""Leakage about one person, when everybody else's value is known to the attacker."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel
from tightrope.channels.privacy import check_sizes
from tightrope.errors import TooLarge
from tightrope.leakage.measures import min_capacity
from tightrope.queries import Query

#: Largest number of databases that are gone through when a query has no rule.
DATABASE_LIMIT = 300_000


@dataclass(frozen=True)
class IndividualLeakage:
    """How much one person's value leaks, with the others' values that make it worst.

    Attributes
    ----------
    bits
        The largest min-entropy leakage about one person over everybody else's values and
        over all priors for this person (the uniform one reaches it).
    answers
        The answers that this person can bring about there, as nodes.
    exact
        Whether these answers are known to be reachable. For a query given by its graph alone,
        and where there are too many databases, any set of pairwise adjacent answers is taken
        as reachable: an upper bound.

    Examples
    --------
    >>> IndividualLeakage(0.5, (0, 1), True).bits
    0.5
    """

    bits: float
    answers: tuple[int, ...]
    exact: bool


def individual_leakage(channel: Channel, query: Query) -> IndividualLeakage:
    r"""Return :math:`\max_{x^-} I_\infty(X_i; Z | X^- = x^-)`, one person's leakage [B, §5.3].

    With the others fixed, one person's v values lead to at most v answers, and the channel
    from the person to the output has just those rows: its min-capacity is the leakage for the
    worst prior. When a person's value may change in one step, an ε-private channel keeps it
    below :func:`~tightrope.leakage.individual_bound` [B, Prop 21]. Where people may be absent,
    "absent" is one of the values.

    Sums and counts only need the windows of consecutive answers, databases through a Kronecker
    product only their factors; other functions are gone through database by database while
    there are at most ``DATABASE_LIMIT``.

    Parameters
    ----------
    channel
        From the query's answers to outputs.
    query
        The query.

    Examples
    --------
    >>> from tightrope import query
    >>> from tightrope.mechanisms import geometric
    >>> ages = query("sum(150,5)")
    >>> round(individual_leakage(geometric(ages.graph, 1), ages).bits, 6)
    0.583365
    >>> from tightrope.leakage import individual_bound
    >>> round(individual_bound(6, 1).bits, 6)
    1.079378
    """
    check_sizes(channel, query.graph)
    if query.function is tuple and isinstance(channel, KroneckerChannel):
        return _of_databases(channel, query)
    width = _window(query)
    if width is not None:
        return _of_windows(channel, width)
    exact = _work(query) <= DATABASE_LIMIT
    return leakage_of_sets(channel, reachable(query) if exact else _cliques(query), exact=exact)


def leakage_of_sets(
    channel: Channel, sets: Iterable[Sequence[int]], *, exact: bool = True
) -> IndividualLeakage:
    """Return the largest min-capacity of the channel restricted to one of the sets of rows.

    >>> from tightrope.channels import Channel
    >>> leakage_of_sets(Channel([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), [(0, 2), (0, 1)]).answers
    (0, 1)
    """
    best = 0.0
    where: tuple[int, ...] = (0,)
    rows: dict[int, NDArray[np.float64]] = {}
    for chosen in sets:
        for i in chosen:
            if i not in rows:
                rows[i] = channel.row(i)
        total = float(np.max([rows[i] for i in chosen], axis=0).sum())
        if total > best:
            best, where = total, tuple(int(i) for i in chosen)
    return IndividualLeakage(max(0.0, math.log2(best)) if best else 0.0, where, exact)


def reachable(query: Query) -> Iterator[tuple[int, ...]]:
    """Yield, for every way to fix everybody else, the answers that one person can bring about.

    >>> from tightrope import query
    >>> sorted(reachable(query("count_mod(4,3)")))
    [(0, 1), (0, 2), (1, 2)]
    """
    if query.individuals is None or _work(query) > DATABASE_LIMIT:
        raise TooLarge(
            f"the answers one person can bring about in {query.text} are found by going through at "
            f"most {DATABASE_LIMIT} databases of a function: use fewer people, or leakage_of_sets"
        )
    people, values = query.individuals, _person_values(query)
    seen: set[tuple[int, ...]] = set()
    for rest in itertools.product(values, repeat=people - 1):
        for place in range(people):
            databases = [(*rest[:place], value, *rest[place:]) for value in values]
            nodes = {
                query.graph.index(query.answer(database))
                for database in databases
                if people - database.count(None) >= query.fewest
            }
            found = tuple(sorted(nodes))
            if found and found not in seen:
                seen.add(found)
                yield found


def _cliques(query: Query) -> Iterator[tuple[int, ...]]:
    """Yield maximal sets of pairwise adjacent answers: no person brings about more than one."""
    if not query.neighbours.allows_change:
        raise TooLarge(
            f"under a relation in which people only come and go, the answers one person can bring "
            f"about in {query.text} need not be adjacent, and there are too many databases to go "
            "through: use fewer people, or leakage_of_sets"
        )
    if query.graph.is_clique:
        yield tuple(range(query.graph.size))
        return
    import networkx

    for clique in networkx.find_cliques(networkx.Graph(list(query.graph.edges()))):
        yield tuple(sorted(clique))


def _person_values(query: Query) -> list[Hashable]:
    """Return one person's values, with ``None`` for absence where that is possible."""
    absent = [None] if query.neighbours.allows_absent else []
    return [*(query.values or ()), *absent]


def _work(query: Query) -> float:
    """Return how many answers must be computed to go through all databases."""
    if query.function is None or query.individuals is None or query.values is None:
        return math.inf
    log_work = query.individuals * math.log(len(_person_values(query)))
    return query.individuals * math.exp(log_work) if log_work < 100 else math.inf


def _window(query: Query) -> int | None:
    """Return how far one person moves a sum of values 0 … v; ``None`` for other functions."""
    values = query.values
    is_range = isinstance(values, range) and values.start == 0 and values.step == 1
    return len(values) - 1 if query.function is sum and is_range and values is not None else None


def _of_windows(channel: Channel, width: int) -> IndividualLeakage:
    first = tuple(range(width + 1))
    if isinstance(channel, GeometricChannel):
        # Inside the window every output keeps its diagonal, outside a tail of a/(1+a) is left
        # on each side: the total is the same wherever the window lies.
        a = channel.ratio
        return IndividualLeakage(math.log2(1 + width * (1 - a) / (1 + a)), first, True)
    from scipy.ndimage import maximum_filter1d

    matrix = channel.matrix()
    # The filter puts at each row the maximum of the rows around it; shift it to start there.
    tops = maximum_filter1d(matrix, width + 1, axis=0, origin=-((width + 1) // 2), mode="nearest")
    totals = tops[: len(matrix) - width].sum(axis=1)
    place = int(totals.argmax())
    bits = max(0.0, math.log2(totals[place]))
    return IndividualLeakage(bits, tuple(range(place, place + width + 1)), True)


def _of_databases(channel: KroneckerChannel, query: Query) -> IndividualLeakage:
    """Others' outputs are independent of this person: only the own factor tells about them."""
    different = {id(factor): (k, factor) for k, factor in enumerate(channel.factors)}
    found = [(min_capacity(factor), k) for k, factor in different.values()]
    bits, place = max(found)
    step = math.prod(factor.shape[0] for factor in channel.factors[place + 1 :])
    answers = tuple(value * step for value in range(channel.factors[place].shape[0]))
    return IndividualLeakage(bits, answers, True)
