r"""Answers that sharpen earlier ones: which levels a chain has, and when an answer is near enough.

On a frozen table an answer at :math:`\varepsilon_1` can be followed by a finer one at
:math:`\varepsilon_2`, and the two cost :math:`\varepsilon_2` together. A chain is one answer after
the other, each with its own key, entry and receipt. What a key has answered is in the ledger; what
is asked for now is either there, or finer than all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.publish.entries import STEP_WORDS, Entry, digest, next_key
from tightrope.publish.intervals import Estimate
from tightrope.publish.ledger import Ledger
from tightrope.publish.releasing import Request
from tightrope.publish.store import Store
from tightrope.texts import to_exact

#: How often a limit is halved for the first step towards a relative error. A chain costs its last
#: level however many steps lead there; each step takes its share of what intervals may miss.
HALVINGS = 6


def recorded_answers(ledger: Ledger | str | Path, key: str | None) -> list[Entry]:
    """Return the answers of the chain that a key has begun, the first one first."""
    found: list[Entry] = []
    # Without a ledger nothing was answered.
    if key is None or not (isinstance(ledger, Ledger) or Store(ledger).exists):
        return found
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    ticket = book.ticket(key)
    # Released answers only: a gap ends the chain.
    while ticket is not None and ticket.is_released:
        found.append(ticket.entry)
        key = next_key(key)
        ticket = book.ticket(key)
    return found


@dataclass(frozen=True)
class Chain:
    """The levels of a chain: what is recorded, and what is asked for.

    Attributes
    ----------
    levels
        All levels, increasing.
    asked
        The places of those that are asked for.

    Examples
    --------
    >>> chain = Chain.of([Epsilon.of("0.25")], [Epsilon.of(1)])
    >>> [str(level) for level in chain.levels], chain.asked
    (['0.25', '1'], (1,))
    """

    levels: tuple[Epsilon, ...]
    asked: tuple[int, ...]

    @classmethod
    def of(cls, recorded: Sequence[Epsilon], asked: Sequence[Epsilon]) -> Chain:
        """Return the chain of recorded levels and those that are asked for, increasing.

        >>> Chain.of([Epsilon.of(1)], [Epsilon.of("0.5")])
        Traceback (most recent call last):
        ...
        tightrope.errors.InputError: this answer is published at ε = 1 already, which tells ...
        """
        levels = list(recorded)
        for level in asked:
            if level in levels:
                continue
            # Compared by e^ε, which numbers and logarithms have in common.
            if levels and level.ratio <= levels[-1].ratio:
                raise InputError(
                    f"this answer is published at ε = {levels[-1]} already, which tells more than "
                    f"ε = {level} would: levels of a chain increase; ask for a larger one, or with "
                    f"a new key for ε = {level} more"
                )
            levels.append(level)
        return cls(tuple(levels), tuple(levels.index(level) for level in asked))


def read_levels(levels: Iterable[Level]) -> list[Epsilon]:
    """Read the levels of a chain; they increase.

    >>> [float(level) for level in read_levels(["0.25", "1"])]
    [0.25, 1.0]
    >>> read_levels(["1", "0.5"])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: levels must increase, got 1, 0.5
    """
    known = [Epsilon.of(level) for level in levels]
    ratios = [level.ratio for level in known]
    # Strictly increasing: a repeated level would be a second draw of the same noise.
    if ratios != sorted(set(ratios)):
        raise InputError(f"levels must increase, got {', '.join(map(str, known))}")
    return known


def steps_to(limit: Level, recorded: Sequence[Epsilon]) -> list[Epsilon]:
    """Return the levels that are tried one after the other, the limit last.

    >>> [str(level) for level in steps_to(1, [])]
    ['0.015625', '0.03125', '0.0625', '0.125', '0.25', '0.5', '1']
    """
    last = Epsilon.of(limit)
    steps = [last.scaled(Fraction(1, 2**k)) for k in range(HALVINGS, -1, -1)]
    least = recorded[-1].ratio if recorded else Fraction(0)
    # Recorded levels come back free; new ones must be above the last of them.
    return [level for level in steps if level in recorded or level.ratio > least]


def read_share(text: Any) -> Fraction:
    """Read a relative error.

    >>> read_share("5%"), read_share("0.1")
    (Fraction(1, 20), Fraction(1, 10))
    """
    words = str(text).strip()
    share = to_exact(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    if not 0 < share < 1:
        raise InputError(
            f"a relative error is above 0 and below 1, such as 5%, got {words}"
        )
    return share


def are_near(numbers: Iterable[Estimate], share: Fraction) -> bool:
    """Whether the ends of all intervals are within a share of their published numbers.

    >>> are_near([Estimate(100, 96, 104)], Fraction(1, 20)), are_near([Estimate(9, 5, 13)], 1 / 20)
    (True, False)
    """
    return all(
        one.low is not None
        # Relative to the published number: the true one is not known.
        and max(one.value - one.low, one.high - one.value) <= share * abs(one.value)
        for one in numbers
    )


def check_recorded(request: Request, entry: Entry) -> None:
    """Refuse to sharpen an answer to another question, or one from another mechanism."""
    before = {
        name: value
        for name, value in entry.body.items()
        # What the ledger adds to an entry is no part of the request.
        if name not in STEP_WORDS and name != "follows"
    }
    ours = request.body
    # One digest for the whole request: SQL, mechanism, level and relation.
    if digest(ours) == digest(before):
        return
    differ = sorted(
        name for name in {*ours, *before} if ours.get(name) != before.get(name)
    )
    raise InputError(
        f"the key {entry.body['key']!r} belongs to another request (entry {entry.position}; "
        f"another {', '.join(differ)}): use a new key for a new request"
    )


def check_can_sharpen(
    shapes: Sequence[Any], recorded: Sequence[Mapping[str, Any]], price: Epsilon
) -> None:
    """Refuse a finer answer where there is none, with the price of a new one."""
    instead = f"with a new key the answer costs the ordinary ε = {price}"
    for shape in shapes:
        if not shape.table.frozen:
            raise InputError(
                "a finer answer follows an earlier one only if the table stays as it is: set "
                f"tables.{shape.table.name}.frozen = true in the public facts if that is so; "
                f"{instead}"
            )
        if not shape.can_sharpen:
            raise InputError(
                f"the noise of {', '.join(shape.titles)} ({shape.kind}) does not derive from "
                "finer noise: counts, sums, means and tables of counts can be sharpened, of values "
                "that are at most 1,000 steps apart; "
                f"{instead}"
            )
    # Only answers of frozen tables record their level, and only these have finer noise.
    if any("level" not in body for body in recorded):
        raise InputError(
            "the earlier answer was drawn before the table was declared frozen, from noise that "
            f"has no finer one: {instead}"
        )
