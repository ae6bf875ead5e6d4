"""Commands about privacy itself: ``explain`` a level, test a definition against the ``axioms``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tightrope as tr
from tightrope.cli.output import progress_bar, tell

if TYPE_CHECKING:
    from tightrope.channels import IntegerChannel


def explain(
    *,
    epsilon: str | None = None,
    individuals: int = 1,
    values: int = 2,
    max_bits: float | None = None,
    max_success: float | None = None,
    min_utility: float | None = None,
    query: str | None = None,
    as_json: bool = False,
) -> None:
    """Say what a privacy level means, or find the level that a limit allows.

    Parameters
    ----------
    individuals : U
        How many people the table holds.
    values : V
        How many values one person can have ("absent" too).
    max_bits : B
        Most bits about the whole table: finds ε.
    max_success : P
        Largest chance that one person's value is guessed rightly: finds ε.
    min_utility : P
        Chance wanted that the true answer of --query is reported: finds ε.
    query : QUERY
        The question of --min-utility.

    Examples:
      tightrope explain --epsilon 1 --individuals 1000 --values 2
      tightrope explain --max-success 0.6
      tightrope explain --max-bits 3 --individuals 100 --values 4
      tightrope explain --min-utility 0.5 --query "count(20)"

    >>> explain(epsilon="ln(3)")
    ε = ln(3): whatever is released, it is at most 3 times as likely with one person's true value
    as with any other value in its place.
    ...
    """
    from tightrope.leakage.choose import explain as explain_level

    graph = None if query is None else tr.query(query).graph
    with progress_bar("designing", as_json):
        found = explain_level(
            epsilon=epsilon, individuals=individuals, values=values, max_bits=max_bits,
            max_success=max_success, min_utility=min_utility, graph=graph,
            best=None if graph is None else _designed(graph),
        )  # fmt: skip
    tell(as_json, found.as_dict(), lines=found.sentences)


def _designed(graph: tr.AnswerGraph) -> Callable[[tr.Epsilon], float] | None:
    """Return how to find the best utility at an ε where no closed form gives it."""
    from tightrope.leakage.choose import best_utility

    if best_utility(graph) is not None:
        return None
    return lambda level: tr.design(graph, level).utility


def axioms(predicate: str, *, steps: int = 64, as_json: bool = False) -> None:
    """Test a privacy definition against the axioms: post-processing and random choice keep it.

    A violation comes with mechanisms of two outputs, and with the smallest definition above
    that satisfies the axioms.

    Parameters
    ----------
    predicate : PREDICATE
        What is allowed when a set of outputs has probability a under one answer and b under its
        neighbour, such as 'b <= 2*a and 1-a <= 2*(1-b)'.
    steps : N
        Steps of the grid on which it is asked.

    Examples:
      tightrope axioms "b <= 2*a and 1-a <= 2*(1-b)"
      tightrope axioms "abs(a-b) <= 0.25 or b <= 4*a"

    >>> axioms("b <= 2*a and 1-a <= 2*(1-b)", steps=8, as_json=True)
    {"satisfied": true, "conditions": [{"name": "q(a, a) holds", "holds": true}, ...
    """
    from tightrope.axioms import check_axioms
    from tightrope.axioms.predicates import read_predicate

    report = check_axioms(read_predicate(predicate), steps=steps)
    breach = report.breach
    data: dict[str, Any] = {
        "satisfied": bool(report),
        "conditions": [{"name": c.name, "holds": c.holds} for c in report.conditions],
        "violation": None,
        "nearest": [list(point) for point in report.nearest.points],
    }
    if breach is not None:
        data["violation"] = {
            "axiom": breach.axiom,
            "allowed": [_rows(channel) for channel in breach.allowed],
            "remap": None if breach.remap is None else _rows(breach.remap),
            "weight": breach.weight,
            "forbidden": _rows(breach.forbidden),
        }

    lines = [f"{'holds ' if c.holds else 'BROKEN'}  {c.name}" for c in report.conditions]
    if breach is not None:
        lines += [
            f"Allowed: {'; '.join(str(_rows(channel)) for channel in breach.allowed)}",
            f"After {breach.axiom}, forbidden: {_rows(breach.forbidden)}",
        ]
    tell(as_json, data, lines=lines)


def _rows(channel: IntegerChannel) -> list[list[str]]:
    return [[str(channel.fraction(i, o)) for o in range(2)] for i in range(2)]
