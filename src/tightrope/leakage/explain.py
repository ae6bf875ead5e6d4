r"""What an ε means, in words, and which ε a limit in words allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.leakage.bounds import database_bound, individual_bound
from tightrope.leakage.choose import (
    attacker_success,
    epsilon_for_bits,
    epsilon_for_success,
    epsilon_for_utility,
)

#: People and values that are assumed when nothing is said: one person, yes or no.
INDIVIDUALS, VALUES = 1, 2
#: Relative rounding of computed numbers that printing may ignore.
PRINTED_ACCURACY = 1e-12


@dataclass(frozen=True)
class Explanation:
    """An ε with what an attacker gains by it at most.

    Attributes
    ----------
    epsilon
        The privacy level.
    individuals, values
        How many people, and how many values each of them can have.
    leakage_bound_bits
        Most bits that any ε-private release leaks about the whole table [B, Thm 15].
    individual_bits
        Most bits that it leaks about one person [B, Prop 21].
    success_before, attacker_success
        The chance that somebody who knows everyone else, and finds this person's values
        equally likely, guesses this person's value before the release, and at most after it.
    chosen_by
        Which limit ε was computed from; empty when ε was given.

    Examples
    --------
    >>> found = explain(epsilon="ln(3)", individuals=1000)
    >>> found.attacker_success, round(found.individual_bits, 6)
    (0.75, 0.584963)
    >>> print(found.sentences[1])
    Somebody who knows everyone else in the table, and would guess one person's value rightly with
    probability 0.5 (1 of 2), guesses it rightly with probability at most 0.75 after seeing the
    release.
    """

    epsilon: Epsilon
    individuals: int
    values: int
    leakage_bound_bits: float
    individual_bits: float
    success_before: float
    attacker_success: float
    chosen_by: str = ""

    @property
    def ratio(self) -> float:
        r""":math:`e^ε`: how much likelier any output can become when one person changes."""
        return float(self.epsilon.ratio)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The explanation for a person who never saw an ε before."""
        factor = self.ratio
        times = f"{_up(factor)} times" if factor < 1e6 else f"{factor:.3g} times"
        secret = self.individuals * math.log2(self.values)
        lines = [
            f"ε = {self.epsilon}: whatever is released, it is at most {times} as likely with one "
            "person's true value as with any other value in its place.",
            f"Somebody who knows everyone else in the table, and would guess one person's value "
            f"rightly with probability {self.success_before:.6g} (1 of {self.values}), guesses it "
            f"rightly with probability at most {_up(self.attacker_success)} after seeing the "
            "release.",
            f"About one person the release tells at most {_up(self.individual_bits)} of "
            f"{_plain(math.log2(self.values))} bits.",
        ]
        if self.individuals > 1:
            lines.append(
                f"About all {self.individuals} people together it tells at most "
                f"{_up(self.leakage_bound_bits)} of {_plain(secret)} bits."
            )
        if self.chosen_by:
            lines.insert(0, self.chosen_by)
        return tuple(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the result under its public names, ready for JSON."""
        return {
            "epsilon": float(self.epsilon),
            "epsilon_text": str(self.epsilon),
            "individuals": self.individuals,
            "values": self.values,
            "leakage_bound_bits": self.leakage_bound_bits,
            "individual_bits": self.individual_bits,
            "success_before": self.success_before,
            "attacker_success": self.attacker_success,
            "sentences": list(self.sentences),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain(
    *,
    epsilon: Epsilon | float | str | None = None,
    individuals: int = INDIVIDUALS,
    values: int = VALUES,
    max_bits: float | None = None,
    max_success: float | None = None,
    min_utility: float | None = None,
    graph: AnswerGraph | None = None,
    best: Callable[[Epsilon], float] | None = None,
) -> Explanation:
    r"""Say what an ε means, or find the ε that limits allow and say what it means.

    Exactly one way to fix ε must be given: ``epsilon`` itself; or limits ``max_bits`` and
    ``max_success``, of which the stricter one counts and ε is the largest that keeps both; or
    ``min_utility`` with an answer graph, where ε is the smallest that reaches it.

    Parameters
    ----------
    epsilon
        The privacy level to explain.
    individuals
        How many people the table holds.
    values
        How many values one person can have, "absent" included.
    max_bits
        Most bits about the whole table.
    max_success
        Largest chance that one person's value is guessed by somebody who knows the others.
    min_utility
        Chance wanted that the true answer is reported, for the uniform prior.
    graph
        The answer graph for ``min_utility``.
    best
        The utility that can be reached at an ε, where a graph has no closed form for it.

    Examples
    --------
    >>> str(explain(max_success=0.75).epsilon)
    '1.098612'
    >>> print(explain(epsilon=1.35, values=3).sentences[-1])
    About one person the release tells at most 0.982335 of 1.58496 bits.
    >>> explain()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: give one of: an ε; a limit on bits or on success; a wanted
    utility with a question (got none)
    """
    limits = [
        name for name, value in (("bits", max_bits), ("success", max_success)) if value is not None
    ]
    ways = [epsilon is not None, max_bits is not None or max_success is not None]
    ways.append(min_utility is not None)
    if sum(ways) != 1:
        raise InputError(
            "give one of: an ε; a limit on bits or on success; a wanted utility with a question "
            f"(got {sum(ways) or 'none'})"
        )
    if (min_utility is None) != (graph is None):
        raise InputError(
            "a wanted utility and the question that it is wanted for go together: give both or none"
        )
    chosen_by = ""
    if epsilon is not None:
        level = Epsilon.of(epsilon)
    elif min_utility is not None and graph is not None:
        level = epsilon_for_utility(min_utility, graph, best=best)
        chosen_by = (
            f"The smallest ε at which the true answer of {graph.name} can be reported with "
            f"probability {min_utility:.6g} is {level}."
        )
    else:
        level = _strictest(max_bits, max_success, individuals, values)
        chosen_by = f"The largest ε that keeps the limit on {' and '.join(limits)} is {level}."
    return Explanation(
        level,
        individuals,
        values,
        database_bound(individuals, values, level).bits,
        individual_bound(values, level).bits,
        1 / values,
        attacker_success(values, level),
        chosen_by,
    )


def _strictest(
    max_bits: float | None, max_success: float | None, individuals: int, values: int
) -> Epsilon:
    found = []
    if max_bits is not None:
        found.append(epsilon_for_bits(max_bits, values=values, individuals=individuals))
    if max_success is not None:
        found.append(epsilon_for_success(max_success, values=values))
    return min(found, key=float)


def _plain(number: float) -> str:
    return f"{number:.6g}"


def _up(number: float) -> str:
    """Write a bound with six digits, rounded up: a bound must not shrink by being printed."""
    if number == 0:
        return "0"
    text = f"{number:.6g}"
    # 0.75 computed with an error in the last place is still 0.75.
    if float(text) >= number * (1 - PRINTED_ACCURACY):
        return text
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 5)
    return f"{number + unit / 2:.6g}"
