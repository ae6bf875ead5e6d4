"""Commands about privacy itself: ``explain`` a level, test a definition against the ``axioms``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.output import AsJson, progress_bar, tell

if TYPE_CHECKING:
    from tightrope.channels import IntegerChannel
    from tightrope.epsilon import Epsilon
    from tightrope.graphs import AnswerGraph


def explain(
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="The privacy level: 0.5, 1/2 or 'ln(2)'.")
    ] = None,
    individuals: Annotated[
        int, typer.Option(metavar="U", help="How many people the table holds.")
    ] = 1,
    values: Annotated[
        int, typer.Option(metavar="V", help='How many values one person can have ("absent" too).')
    ] = 2,
    max_bits: Annotated[
        float | None, typer.Option(metavar="B", help="Most bits about the whole table: finds ε.")
    ] = None,
    max_success: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Largest chance that one person's value is guessed rightly: finds ε.",
        ),
    ] = None,
    min_utility: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Chance wanted that the true answer of --query is reported: finds ε.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--query", metavar="QUERY", help="The question of --min-utility.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a privacy level means, or find the level that a limit allows.

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
    from tightrope.queries import query

    graph = None if question is None else query(question).graph
    with progress_bar("designing", as_json):
        found = explain_level(
            epsilon=epsilon,
            individuals=individuals,
            values=values,
            max_bits=max_bits,
            max_success=max_success,
            min_utility=min_utility,
            graph=graph,
            best=None if graph is None else _designed(graph),
        )
    tell(as_json, found.as_dict(), lines=found.sentences)


def _designed(graph: AnswerGraph) -> Callable[[Epsilon], float] | None:
    """Return how to find the best utility at an ε where no closed form gives it."""
    from tightrope.leakage.choose import best_utility

    if best_utility(graph) is not None:
        return None
    from tightrope.optimize import design

    return lambda level: design(graph, level).utility


def axioms(
    predicate: Annotated[
        str,
        typer.Argument(
            metavar="PREDICATE",
            help="What is allowed when a set of outputs has probability a under one answer and b "
            "under its neighbour, such as 'b <= 2*a and 1-a <= 2*(1-b)'.",
        ),
    ],
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", help="Steps of the grid on which it is asked.")
    ] = 64,
    as_json: AsJson = False,
) -> None:
    """Test a privacy definition against the axioms: post-processing and random choice keep it.

    A violation comes with mechanisms of two outputs, and with the smallest definition above
    that satisfies the axioms.

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
