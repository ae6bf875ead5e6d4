r"""Choosing ε: the level that a limit allows or a utility needs, and what it means in words.

The inverses of :mod:`tightrope.leakage.bounds`, by bisection among the levels with ``DECIMALS``
decimals: the bound itself decides, so that nothing is rounded to the wrong side.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightrope.epsilon import LARGEST, Epsilon, Level
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.leakage.bounds import database_bound, individual_bound, utility_bound

#: Decimals of a privacy level that was computed from a limit.
DECIMALS = 6


def epsilon_for_bits(max_bits: float, *, values: int, individuals: int = 1) -> Epsilon:
    r"""Return the largest ε whose leakage about the database is surely at most ``max_bits``.

    With :math:`b = 2^{\text{bits}/u}` it is :math:`\ln\frac{b(v-1)}{v-b}` [B, Thm 15], rounded
    down.

    Parameters
    ----------
    max_bits
        The limit in bits.
    values
        How many values v one person can have, "absent" included.
    individuals
        How many people u; 1 limits the leakage about one person who stands alone [B, Prop 21].

    Examples
    --------
    >>> str(epsilon_for_bits(0.5, values=3))
    '0.57864'
    """
    if not (max_bits > 0 and math.isfinite(max_bits)):
        raise InputError(f"a limit in bits must be positive and finite, got {max_bits}")
    database_bound(individuals, values, 1)
    each = max_bits / individuals
    if each >= math.log2(values):
        raise InputError(
            f"every ε keeps the leakage below {max_bits:g} bits: {individuals} × {values} values "
            f"are only {individuals * math.log2(values):.6g} bits; ask for a smaller limit"
        )
    kept = bisect_right(
        range(1, LARGEST * 10**DECIMALS + 1),
        max_bits,
        key=lambda steps: database_bound(individuals, values, _level(steps)).bits,
    )
    if not kept:
        raise InputError(f"only an ε below {_level(1)} would keep this limit; ask for a larger one")
    return _level(kept)


def epsilon_for_success(max_success: float, *, values: int) -> Epsilon:
    r"""Return the largest ε at which a person's value is guessed with at most this chance.

    The attacker knows everybody else and finds this person's v values equally likely before
    the release: :math:`\ln\frac{p(v-1)}{1-p}` [B, Prop 21], rounded down.

    Parameters
    ----------
    max_success
        The limit p on the chance of a right guess, above :math:`1/v`.
    values
        How many values v one person can have, "absent" included.

    Examples
    --------
    >>> str(epsilon_for_success(0.75, values=2))
    '1.098612'
    >>> epsilon_for_success(0.3, values=3)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: without any release the guess is already right with
    probability 0.333333 (1 of 3 values): the limit must be above that and below 1, got 0.3
    """
    attacker_success(values, 1)
    if not 1 / values < max_success < 1:
        raise InputError(
            f"without any release the guess is already right with probability {1 / values:.6g} "
            f"(1 of {values} values): the limit must be above that and below 1, got {max_success}"
        )
    return epsilon_for_bits(math.log2(max_success * values), values=values)


def attacker_success(values: int, epsilon: Level, *, before: float | None = None) -> float:
    r"""Return how often somebody who knows everyone else guesses a person's value, at most.

    :math:`p\,\frac{v e^ε}{v-1+e^ε}` and at most 1 where p is the chance before the release
    [B, Prop 21]; for :math:`p = 1/v` that is :math:`\frac{e^ε}{v-1+e^ε}`.

    >>> attacker_success(2, "ln(3)"), attacker_success(2, "ln(3)", before=0.6)
    (0.75, 0.9)
    """
    e = Epsilon.of(epsilon)
    database_bound(1, values, e)
    if before is None:
        return 1 / (1 + (values - 1) * e.alpha)
    if not 1 / values <= before <= 1:
        raise InputError(
            f"the chance of a right guess among {values} values is at least {1 / values:.6g} and "
            f"at most 1, got {before}"
        )
    return min(1.0, before * values / (1 + (values - 1) * e.alpha))


def epsilon_for_utility(
    utility: float, graph: AnswerGraph, *, best: Callable[[Epsilon], float] | None = None
) -> Epsilon:
    r"""Return the smallest ε at which the true answer can be reported this often.

    Utility here is the chance that the remapped output is the true answer, for the uniform
    prior. On graphs where every answer sees the same ball sizes it is
    :math:`1/\sum_d n_d e^{-εd}` [B, Thm 27, 28], on a path
    :math:`\frac{2 + (n-2)(1-α)}{n(1+α)}`: both are reached, and grow with ε. The result is
    rounded up.

    Parameters
    ----------
    utility
        The wanted chance, below 1.
    graph
        The answer graph.
    best
        The utility that can be reached at an ε, for other graphs; it must not fall as ε grows.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Clique
    >>> str(epsilon_for_utility(4 / 9, PathPower(6)))
    '0.693148'
    >>> str(epsilon_for_utility(2 / 7, Clique(6)))
    '0.693148'
    """
    reached = best_utility(graph) or best
    if reached is None:
        raise InputError(
            f"the best utility has a closed form on paths and where all ball sizes are equal, not "
            f"on {graph.name}: pass best=, for instance the utility of designs at an ε"
        )
    if not 1 / graph.size < utility < 1:
        raise InputError(
            f"a utility must be above 1/{graph.size} (reached without any release) and below 1, "
            f"got {utility}"
        )
    high = 1
    while reached(Epsilon.of(high)) < utility:
        if high == LARGEST:
            raise InputError(f"no ε up to {LARGEST} reaches the utility {utility}")
        high = min(2 * high, LARGEST)
    below = range(1, high * 10**DECIMALS)
    return _level(bisect_left(below, utility, key=lambda steps: reached(_level(steps))) + 1)


def best_utility(graph: AnswerGraph) -> Callable[[Epsilon], float] | None:
    """Return the best utility at an ε as a closed form, or ``None`` where there is none.

    >>> from tightrope.graphs import PathPower, Star
    >>> best_utility(PathPower(6))(Epsilon.of("ln(2)")).__round__(6), best_utility(Star(3))
    (0.444444, None)
    """
    if graph.constant_ball_sizes is not None:
        return lambda epsilon: utility_bound(graph, epsilon)
    if not graph.is_path:
        return None
    n = graph.size
    return lambda level: (2 + (n - 2) * (1 - level.alpha)) / (n * (1 + level.alpha))


def _level(steps: int) -> Epsilon:
    """Return the level that is so many units in the last decimal."""
    return Epsilon.of(Fraction(steps, 10**DECIMALS))


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
            f"{math.log2(self.values):.6g} bits.",
        ]
        if self.individuals > 1:
            lines.append(
                f"About all {self.individuals} people together it tells at most "
                f"{_up(self.leakage_bound_bits)} of {secret:.6g} bits."
            )
        if self.chosen_by:
            lines.insert(0, self.chosen_by)
        return tuple(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the result under its public names, ready for JSON."""
        level = {"epsilon": float(self.epsilon), "epsilon_text": str(self.epsilon)}
        return {**level, **vars(self), **level, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain(
    *,
    epsilon: Level | None = None,
    individuals: int = 1,
    values: int = 2,
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
    tightrope.errors.InputError: give one of: an ε (--epsilon); a limit (--max-bits, ...
    """
    limited = max_bits is not None or max_success is not None
    ways = (epsilon is not None) + limited + (min_utility is not None)
    if ways != 1:
        raise InputError(
            "give one of: an ε (--epsilon); a limit (--max-bits, --max-success); a wanted utility "
            f"with a question (--min-utility, --query); got {ways or 'none'}"
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
        kept: dict[str, Epsilon] = {}
        if max_bits is not None:
            kept["bits"] = epsilon_for_bits(max_bits, values=values, individuals=individuals)
        if max_success is not None:
            kept["success"] = epsilon_for_success(max_success, values=values)
        level = min(kept.values(), key=float)
        chosen_by = f"The largest ε that keeps the limit on {' and '.join(kept)} is {level}."
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


def _up(number: float, accuracy: float = 1e-12) -> str:
    """Write a bound with six digits, rounded up: a bound must not shrink by being printed."""
    if number == 0:
        return "0"
    text = f"{number:.6g}"
    # 0.75 computed with an error in the last place is still 0.75.
    if float(text) >= number * (1 - accuracy):
        return text
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 5)
    return f"{number + unit / 2:.6g}"
