"""``tightrope axioms``: does a privacy definition satisfy the axioms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.output import AsJson, paragraphs, show

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.channels import IntegerChannel


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
    from tightrope.axioms import examine
    from tightrope.axioms.predicate_text import read_predicate

    report = examine(read_predicate(predicate), steps=steps)
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

    def draw(console: Console) -> None:
        lines = [f"{'holds ' if c.holds else 'BROKEN'}  {c.name}" for c in report.conditions]
        if breach is not None:
            lines += [
                f"Allowed: {'; '.join(str(_rows(channel)) for channel in breach.allowed)}",
                f"After {breach.axiom}, forbidden: {_rows(breach.forbidden)}",
            ]
        paragraphs(console, lines)

    show(as_json, data, draw)


def _rows(channel: IntegerChannel) -> list[list[str]]:
    return [[str(channel.fraction(i, o)) for o in range(2)] for i in range(2)]
