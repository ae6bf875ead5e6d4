r"""The answer graph of a function, derived from what neighbouring databases can give.

[A, Def 3; C, Def 4.1]: two different answers are adjacent when some two neighbouring databases
give them. In general all :math:`v^u` databases are looked at; a function of a sum of
contributions, or of the multiset of values, needs far fewer states.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs import ExplicitGraph
from tightrope.progress import Progress, ProgressCallback
from tightrope.queries.query import Neighbours, Query

#: Called with how much is done, and out of how much.
#: A contribution, or a sum of contributions; a number alone is a tuple of one.
Amount = tuple[int, ...]


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
    limit: int = 1_000_000,
    progress: ProgressCallback | None = None,
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
        ``exhaustive`` looks at every database; ``sum``, for functions of a sum of one
        contribution for each person, at the sums that can occur; ``multiset``, for functions that
        do not see who has which value, at the :math:`\binom{u+v-1}{u}` multisets.
    contribution
        With ``kind="sum"``: from a value to a whole number or a tuple of them, so that a mean is
        a function of the sum of the pairs (value, 1).
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
    >>> hundreds = derive(lambda total: total // 100, 1000, range(6), kind="sum")
    >>> hundreds.graph.is_path
    True
    >>> derive(max, 20, range(5), kind="multiset").graph.is_clique
    True
    >>> derive(sum, 30, range(4))
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: sum over 1152921504606846976 databases is more than limit=1000000...
    """
    near = Neighbours.of(neighbours)
    _check_inputs(individuals, values, near, fewest, limit)
    if kind not in ("exhaustive", "sum", "multiset"):
        raise InputError(
            f"kind must be 'exhaustive', 'sum' or 'multiset', got {kind!r}"
        )
    if contribution is not None and kind != "sum":
        raise InputError(f"contribution needs kind='sum', got kind={kind!r}")
    if sees_absent and kind != "exhaustive":
        raise InputError(f"sees_absent needs kind='exhaustive', got kind={kind!r}")
    # Without absence everybody is present, so a minimum has no effect.
    fewest = fewest if near.allows_absent else 0
    text = name or getattr(function, "__name__", "function").strip("<>")
    apply = function  # of a database
    if kind == "exhaustive":
        answers = _Answers(function, near.allows_change, progress)
        _all_databases(
            answers, individuals, values, near, fewest, sees_absent, limit, text
        )
    elif kind == "sum":
        steps, is_number = amounts(values, contribution)

        def of_sum(total: Amount) -> Hashable:
            return function(total[0] if is_number else total)

        def apply(database: Sequence[Any]) -> Hashable:
            given = (amounts([value], contribution)[0][0] for value in database)
            # The function sees only the sum, so databases are folded to it first.
            return of_sum(functools.reduce(plus, given, (0,) * len(steps[0])))

        answers = _Answers(of_sum, near.allows_change, progress)
        # Sums of one person less; one more contribution leads back to full states.
        sums_left = sum_states(steps, individuals, fewest, near.allows_absent, limit)
        answers.from_rests(*sums_left, steps, plus)
    else:
        order = {value: k for k, value in enumerate(values)}
        left = multiset_rests(values, individuals, fewest, near.allows_absent, limit)

        def arranged(database: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(sorted(database, key=order.__getitem__))

        def apply(database: Sequence[Any]) -> Hashable:
            return function(arranged(database))

        answers = _Answers(function, near.allows_change, progress)
        # Sorted: two databases with the same values are one state.
        answers.from_rests(*left, values, lambda rest, value: arranged((*rest, value)))
    graph = answers.graph(text)
    return Query(
        text, graph, near, individuals, tuple(values), apply, fewest, sees_absent
    )


class _Answers:
    """Collects answers and the pairs of them that are adjacent."""

    def __init__(
        self,
        function: Callable[[Any], Hashable],
        change: bool,
        progress: ProgressCallback | None,
    ) -> None:
        self.function = function
        self.change = change
        self.progress = progress
        self.places: dict[Hashable, int] = {}
        self.pairs: set[tuple[int, int]] = set()

    def place(self, database: Any) -> int:
        """Return the number of the answer to a database, a new one for a new answer."""
        try:
            # The function is the user's: whatever it raises is reported with its input.
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

    def join(self, answers: Iterable[int], own: int | None) -> None:
        """Join the answers that one rest leads to with each other, or with its own."""
        around = set(answers)
        if self.change:
            around |= set() if own is None else {own}
            # All answers of one rest are within one change of each other: a clique.
            self.pairs.update(itertools.combinations(sorted(around), 2))
        # Without changes only coming and going joins two answers.
        elif own is not None:
            self.pairs.update((min(own, o), max(own, o)) for o in around if o != own)

    def from_rests(
        self,
        rests: Iterable[tuple[Any, bool]],
        total: int,
        steps: Sequence[Any],
        grow: Callable[[Any, Any], Hashable],
    ) -> None:
        """Look at every rest and at the states that one person more makes of it."""
        # Different rests lead to the same state: ask the function once.
        place = functools.cache(self.place)
        for done, (rest, has_own) in enumerate(rests, 1):
            own = place(rest) if has_own else None
            self.join([place(grow(rest, step)) for step in steps], own)
            self.report(done, total)

    def report(self, done: int, total: int, every: int = 4096) -> None:
        """Report how far the derivation is, not at every state."""
        if self.progress is not None and (done % every == 0 or done == total):
            self.progress(Progress("deriving the graph", done, total))

    def graph(self, name: str) -> ExplicitGraph:
        """Return the answer graph, its answers in increasing order where they have one."""
        seen: list[Any] = list(self.places)
        try:
            labels = sorted(seen)
        except TypeError:
            labels = seen
        # Renumber from the order of discovery to the order of the labels.
        node_of = np.empty(len(labels), np.int64)
        node_of[[self.places[label] for label in labels]] = np.arange(len(labels))
        edges = node_of[np.array(sorted(self.pairs), np.int64).reshape(-1, 2)]
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
    # In logarithms first: the number itself may have millions of digits.
    power = individuals * math.log10(len(slots))
    # Beyond 40 digits only the size of the number is computed, for the message.
    total = len(slots) ** individuals if power <= 40 else 0
    if total > limit or not total:
        raise TooLarge(
            f"{text} over {total or f'10^{power:.0f}'} databases is more than limit={limit}: raise "
            "limit, or use kind='sum' or kind='multiset' if the function allows it"
        )
    # -1 marks databases with too few people for an answer.
    answer_of = np.full(total, -1, np.int64)
    for number, database in enumerate(itertools.product(slots, repeat=individuals)):
        present = database
        if near.allows_absent:
            present = tuple(value for value in database if value is not None)
        if len(present) >= fewest:
            answer_of[number] = answers.place(database if sees_absent else present)
        answers.report(number + 1, total)
    table = answer_of.reshape((len(slots),) * individuals)
    for person in range(individuals):
        # One line for each rest: the answers as this person takes each value, absence first.
        lines = np.moveaxis(table, person, -1).reshape(-1, len(slots)).copy()
        lines[:, 1:].sort(axis=1)
        # Sorted and unique: many rests lead to the same set of answers.
        for line in np.unique(lines, axis=0).tolist():
            own = line[0] if line[0] >= 0 else None
            answers.join(line[1:], own)


def _check_inputs(
    individuals: int,
    values: Sequence[Hashable],
    near: Neighbours,
    fewest: int,
    limit: int,
) -> None:
    whole_number(individuals, "individuals")
    whole_number(fewest, "fewest", 0)
    whole_number(limit, "limit")
    if fewest > individuals:
        raise InputError(
            f"fewest must be at most individuals={individuals}, got {fewest}"
        )
    if len(values) == 0 or len(set(values)) != len(values):
        raise InputError(
            f"values must be different and at least one, got {list(values)[:10]!r}"
        )
    if near.allows_absent and None in values:
        raise InputError("None stands for an absent person and cannot be a value")


# -- states: all that the function needs to know of a database -------------------------------
#
# A database with one person left out is a *rest*; one person more leads from it to a state. Two
# databases are neighbours when they come from the same rest, so the answers that one rest can lead
# to are adjacent to each other (a value changes), or to the rest's own answer (a person comes).


def plus(left: Amount, right: Amount, times: int = 1) -> Amount:
    """Return left + times · right.

    >>> plus((1, 2), (3, 4)), plus((5,), (2,), -1)
    ((4, 6), (3,))
    """
    return tuple(a + times * b for a, b in zip(left, right, strict=True))


def amounts(
    values: Sequence[Hashable], contribution: Callable[[Any], Any] | None
) -> tuple[list[Amount], bool]:
    """Return the different contributions of the values, and whether they are numbers alone.

    >>> amounts(range(4), lambda value: value % 3)
    ([(0,), (1,), (2,)], True)
    """
    given = [value if contribution is None else contribution(value) for value in values]
    forms = {
        len(amount) if isinstance(amount, tuple) else None: amount for amount in given
    }
    # One form for all: a number beside tuples could not be added.
    if len(forms) > 1:
        raise InputError(
            "contributions must be all whole numbers or all tuples of one length, got "
            f"{' and '.join(map(repr, forms.values()))}"
        )
    tuples = (
        (x if isinstance(x, tuple) else (x,), value)
        for x, value in zip(given, values, strict=True)
    )
    checked = [tuple(_whole(part, value) for part in parts) for parts, value in tuples]
    return list(dict.fromkeys(checked)), None in forms


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


def sums(steps: Sequence[Amount], fewest: int, most: int, limit: int) -> set[Amount]:
    """Return all sums of at least ``fewest`` and at most ``most`` contributions.

    Each sum is visited once: exactly k contributions are at most k contributions after the first
    one is taken off all of them.

    >>> sorted(sums([(1,), (3,)], 2, 3, 100))
    [(2,), (3,), (4,), (5,), (6,), (7,), (9,)]
    """
    # k·s₀ + (at most k steps of s − s₀): every sum of exactly k contributions.
    base = steps[0]
    shifted = [plus(step, base, -1) for step in steps]
    start = _reach({tuple(fewest * x for x in base)}, shifted, fewest, limit)
    return _reach(start, steps, most - fewest, limit)


def _reach(
    start: set[Amount], steps: Sequence[Amount], most: int, limit: int
) -> set[Amount]:
    """Return everything within a number of steps."""
    seen = set(start)
    edge = set(start)
    for _ in range(most):
        # Breadth first: each sum is met with the fewest steps, so none is missed.
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
    steps: Sequence[Amount], people: int, fewest: int, absent: bool, limit: int
) -> tuple[Iterator[tuple[Amount, bool]], int]:
    """Return the rests of at most ``people``-1 people as sums, and how many there are.

    The mark says whether the rest has enough people for an answer of its own.

    >>> list(sum_states([(0,), (1,)], 2, 0, False, 100)[0])
    [((0,), False), ((1,), False)]
    """
    # With absence a rest may be as small as one person less than the minimum.
    least = max(fewest, 1) - 1 if absent else people - 1
    rests = sums(steps, least, people - 1, limit)
    if len(rests) * len(steps) > limit:
        raise TooLarge(
            f"the derivation would look at {len(rests) * len(steps)} moves between sums, more than "
            f"{limit}: raise limit to go on"
        )
    has_own = absent and fewest < people
    own = sums(steps, fewest, people - 1, limit) if has_own else set()
    return ((rest, rest in own) for rest in sorted(rests)), len(rests)


def multiset_rests(
    values: Sequence[Hashable], people: int, fewest: int, absent: bool, limit: int
) -> tuple[Iterator[tuple[tuple[Hashable, ...], bool]], int]:
    """Return the rests of at most ``people``-1 people as sorted tuples, and how many there are.

    >>> list(multiset_rests("ab", 2, 0, True, 100)[0])
    [((), True), (('a',), True), (('b',), True)]
    """
    sizes = range(max(fewest, 1) - 1, people) if absent else range(people - 1, people)
    # All sizes up to s together are the multisets of size s with one more value: "nobody".
    spare = len(values) - 1 + int(absent)
    largest = people - 1
    # Digits of C(largest + spare, spare) first: beyond 40 the number itself is not computed.
    # Counted before listing, so that the refusal is immediate.
    nats = math.lgamma(largest + spare + 1)
    nats -= math.lgamma(largest + 1) + math.lgamma(spare + 1)
    power = nats / math.log(10)
    total = 0
    if power <= 40:
        total = math.comb(largest + spare, spare)
        if absent and sizes.start:
            # C(largest + spare, spare) counts all sizes; those below the smallest are taken off.
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
