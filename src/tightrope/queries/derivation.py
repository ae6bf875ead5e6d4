r"""The answer graph of a function, derived from what neighbouring databases can give.

[A, Def 3; C, Def 4.1]: two different answers are adjacent when some two neighbouring databases
give them. In general all :math:`v^u` databases are looked at; a function of a sum of
contributions, or of the multiset of values, needs far fewer states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs import ExplicitGraph
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours
from tightrope.queries.states import EXACT_DIGITS, Amount, amounts, multiset_rests, plus, sum_states

#: Number of databases (or states) that a derivation looks at unless told otherwise.
DERIVE_LIMIT = 1_000_000
#: A callable that is told how much is done, and out of how much.
Progress = Callable[[int, int], None]

#: How many states pass between two reports of progress.
_REPORT_EVERY = 4096


def derive(
    function: Callable[[Any], Hashable],
    individuals: int,
    values: Sequence[Hashable],
    *,
    neighbours: str | Neighbours = Neighbours.CHANGE_ONE,
    kind: Literal["exhaustive", "sum", "multiset"] = "exhaustive",
    contribution: Callable[[Any], int | tuple[int, ...]] | None = None,
    fewest: int = 0,
    sees_absent: bool = False,
    limit: int = DERIVE_LIMIT,
    progress: Progress | None = None,
    name: str | None = None,
) -> Query:
    r"""Derive the answer graph of a function over :math:`Val^u` [A, Def 3; C, Def 4.1].

    Parameters
    ----------
    function
        From a database, the tuple of the values of the people in it, to an answer; with
        ``kind="sum"`` from the sum of the contributions, with ``kind="multiset"`` from the
        values in the order in which ``values`` lists them.
    individuals
        The number u of people (at most u when people may be absent).
    values
        One person's possible values.
    neighbours
        Which two databases differ by one person.
    kind
        ``exhaustive`` looks at every database; ``sum`` and ``multiset`` at every state, see
        :func:`derive_from_sum` and :func:`derive_from_multiset`.
    contribution
        With ``kind="sum"``: from a value to a whole number or a tuple of them.
    fewest
        The smallest number of people that has an answer, when people may be absent.
    sees_absent
        Whether the function gets ``None`` in the place of an absent person.
    limit
        The largest number of databases or states to look at.
    progress
        Called with the number of databases looked at and their total.
    name
        Text that describes the query.

    Examples
    --------
    >>> from tightrope.queries import derive
    >>> majority = derive(lambda votes: sum(votes) > len(votes) / 2, 5, [0, 1], name="majority")
    >>> majority, majority.graph.edge_count
    (Query('majority', change-one, 2 answers), 1)
    >>> derive(sum, 30, range(4))
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: sum over 1152921504606846976 databases is more than limit=1000000...
    """
    near = Neighbours.of(neighbours)
    _check_inputs(individuals, values, near, fewest, limit)
    if kind not in ("exhaustive", "sum", "multiset"):
        raise InputError(f"kind must be 'exhaustive', 'sum' or 'multiset', got {kind!r}")
    if contribution is not None and kind != "sum":
        raise InputError(f"contribution needs kind='sum', got kind={kind!r}")
    if sees_absent and kind != "exhaustive":
        raise InputError(f"sees_absent needs kind='exhaustive', got kind={kind!r}")
    fewest = fewest if near.allows_absent else 0
    text = name or getattr(function, "__name__", "function").strip("<>")
    answers = _Answers(function, progress)
    if kind == "exhaustive":
        _all_databases(answers, individuals, values, near, fewest, sees_absent, limit, text)
    elif kind == "sum":
        _all_sums(answers, individuals, values, near, fewest, contribution, limit)
    else:
        _all_multisets(answers, individuals, values, near, fewest, limit)
    graph = answers.graph(text)
    apply = _on_databases(function, kind, values, contribution)
    return Query(text, graph, near, individuals, tuple(values), apply, fewest, sees_absent)


def derive_from_sum(
    function: Callable[[Any], Hashable],
    individuals: int,
    values: Sequence[Hashable],
    *,
    contribution: Callable[[Any], int | tuple[int, ...]] | None = None,
    neighbours: str | Neighbours = Neighbours.CHANGE_ONE,
    fewest: int = 0,
    limit: int = DERIVE_LIMIT,
    progress: Progress | None = None,
    name: str | None = None,
) -> Query:
    r"""Derive the graph of a function of a sum of contributions, one for each person.

    Only the sums that can occur are looked at, never the :math:`v^u` databases. A contribution
    may be a tuple, so that a mean is a function of the sum of the pairs (value, 1).

    Examples
    --------
    >>> derive_from_sum(lambda total: total // 100, 1000, range(6), name="hundreds").graph.is_path
    True
    """
    return derive(
        function,
        individuals,
        values,
        neighbours=neighbours,
        kind="sum",
        contribution=contribution,
        fewest=fewest,
        limit=limit,
        progress=progress,
        name=name,
    )


def derive_from_multiset(
    function: Callable[[Any], Hashable],
    individuals: int,
    values: Sequence[Hashable],
    *,
    neighbours: str | Neighbours = Neighbours.CHANGE_ONE,
    fewest: int = 0,
    limit: int = DERIVE_LIMIT,
    progress: Progress | None = None,
    name: str | None = None,
) -> Query:
    r"""Derive the graph of a function that does not see who has which value.

    Only the :math:`\binom{u+v-1}{u}` multisets of values are looked at.

    Examples
    --------
    >>> derive_from_multiset(max, 20, range(5)).graph.is_clique
    True
    """
    return derive(
        function,
        individuals,
        values,
        neighbours=neighbours,
        kind="multiset",
        fewest=fewest,
        limit=limit,
        progress=progress,
        name=name,
    )


class _Answers:
    """Collects answers and the pairs of them that are adjacent."""

    def __init__(self, function: Callable[[Any], Hashable], progress: Progress | None) -> None:
        self.function = function
        self.progress = progress
        self.places: dict[Hashable, int] = {}
        self.pairs: set[tuple[int, int]] = set()

    def place(self, database: Any) -> int:
        """Return the number of the answer to a database, a new one for a new answer."""
        try:
            answer = self.function(database)
        except Exception as problem:
            raise InputError(
                f"the function must answer every database, but {database!r} raised "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        try:
            return self.places.setdefault(answer, len(self.places))
        except TypeError:
            raise InputError(
                f"answers must be hashable, got {type(answer).__name__} for {database!r}"
            ) from None

    def join(self, found: Iterable[int], own: int | None, change: bool) -> None:
        """Note the answers that one rest leads to as adjacent to each other or to its own."""
        around = set(found)
        if change:
            around |= set() if own is None else {own}
            self.pairs.update(itertools.combinations(sorted(around), 2))
        elif own is not None:
            self.pairs.update((min(own, o), max(own, o)) for o in around if o != own)

    def report(self, done: int, total: int) -> None:
        """Tell how far the derivation is."""
        if self.progress is not None and (done % _REPORT_EVERY == 0 or done == total):
            self.progress(done, total)

    def graph(self, name: str) -> ExplicitGraph:
        """Return the answer graph, its answers in increasing order where they have one."""
        found: list[Any] = list(self.places)
        try:
            labels = sorted(found)
        except TypeError:
            labels = found
        moved = np.empty(len(labels), np.int64)
        moved[[self.places[label] for label in labels]] = np.arange(len(labels))
        edges = moved[np.array(sorted(self.pairs), np.int64).reshape(-1, 2)]
        return ExplicitGraph(edges, labels=labels, name=name)


def _all_databases(
    answers: _Answers,
    individuals: int,
    values: Sequence[Hashable],
    near: Neighbours,
    fewest: int,
    sees_absent: bool,
    limit: int,
    text: str,
) -> None:
    slots = [None, *values] if near.allows_absent else list(values)
    power = individuals * math.log10(len(slots))
    total = len(slots) ** individuals if power <= EXACT_DIGITS else 0
    if total > limit or not total:
        raise TooLarge(
            f"{text} over {total or f'10^{power:.0f}'} databases is more than limit={limit}: raise "
            "limit, or use derive_from_sum or derive_from_multiset if the function allows it"
        )
    found = np.full(total, -1, np.int64)
    for number, database in enumerate(itertools.product(slots, repeat=individuals)):
        present = tuple(v for v in database if v is not None) if near.allows_absent else database
        if len(present) >= fewest:
            found[number] = answers.place(database if sees_absent else present)
        answers.report(number + 1, total)
    table = found.reshape((len(slots),) * individuals)
    for person in range(individuals):
        # One line for each rest: the answers as this person runs through the slots.
        lines = np.moveaxis(table, person, -1).reshape(-1, len(slots)).copy()
        lines[:, 1:].sort(axis=1)
        for line in np.unique(lines, axis=0).tolist():
            own = line[0] if line[0] >= 0 else None
            answers.join(line[1:], own, near.allows_change)


def _all_sums(
    answers: _Answers,
    individuals: int,
    values: Sequence[Hashable],
    near: Neighbours,
    fewest: int,
    contribution: Callable[[Any], Any] | None,
    limit: int,
) -> None:
    steps, zero = amounts(values, contribution)
    rests, total = sum_states(steps, zero, individuals, fewest, near.allows_absent, limit)
    if total * len(steps) > limit:
        raise TooLarge(
            f"the derivation would look at {total * len(steps)} moves between sums, more than "
            f"{limit}: raise limit to go on"
        )
    known: dict[Amount, int] = {}

    def place(amount: Amount) -> int:
        if amount not in known:
            known[amount] = answers.place(amount)
        return known[amount]

    for done, (rest, has_own) in enumerate(rests, 1):
        own = place(rest) if has_own else None
        answers.join([place(plus(rest, step)) for step in steps], own, near.allows_change)
        answers.report(done, total)


def _all_multisets(
    answers: _Answers,
    individuals: int,
    values: Sequence[Hashable],
    near: Neighbours,
    fewest: int,
    limit: int,
) -> None:
    order = {value: k for k, value in enumerate(values)}
    rests, total = multiset_rests(values, individuals, fewest, near.allows_absent, limit)
    known: dict[tuple[Hashable, ...], int] = {}

    def place(people: tuple[Hashable, ...]) -> int:
        if people not in known:
            known[people] = answers.place(people)
        return known[people]

    for done, (rest, has_own) in enumerate(rests, 1):
        own = place(rest) if has_own else None
        larger = (tuple(sorted((*rest, value), key=order.__getitem__)) for value in values)
        answers.join([place(people) for people in larger], own, near.allows_change)
        answers.report(done, total)


def _on_databases(
    function: Callable[[Any], Hashable],
    kind: str,
    values: Sequence[Hashable],
    contribution: Callable[[Any], Any] | None,
) -> Callable[[tuple[Any, ...]], Hashable]:
    """Return the function on databases that a function on states stands for."""
    if kind == "exhaustive":
        return function
    if kind == "multiset":
        order = {value: k for k, value in enumerate(values)}
        return lambda database: function(tuple(sorted(database, key=order.__getitem__)))
    zero = amounts(values, contribution)[1]

    def on_sum(database: tuple[Any, ...]) -> Hashable:
        total = zero
        for value in database:
            total = plus(total, amounts([value], contribution)[0][0])
        return function(total)

    return on_sum


def _check_inputs(
    individuals: int, values: Sequence[Hashable], near: Neighbours, fewest: int, limit: int
) -> None:
    for what, given, least in (
        ("individuals", individuals, 1),
        ("fewest", fewest, 0),
        ("limit", limit, 1),
    ):
        whole_number(given, what, least)
    if fewest > individuals:
        raise InputError(f"fewest must be at most individuals={individuals}, got {fewest}")
    if len(values) == 0 or len(set(values)) != len(values):
        raise InputError(f"values must be different and at least one, got {list(values)[:10]!r}")
    if near.allows_absent and None in values:
        raise InputError("None stands for an absent person and cannot be a value")
