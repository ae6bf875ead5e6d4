"""``tightrope design``: the best mechanism for a question, with its proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.design_under import under_consumers, under_limit
from tightrope.cli.output import (
    AsJson,
    EpsilonOption,
    LossText,
    NeighbourText,
    PriorText,
    QueryText,
    facts_table,
    paragraphs,
    show,
)
from tightrope.cli.searching import searching, written
from tightrope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.optimize import Design


def design(
    question: QueryText,
    epsilon: EpsilonOption = None,
    prior: PriorText = "uniform",
    loss: LossText = "binary",
    risk_averse: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="The answers that the reader thinks possible ('all', '0,3..5'): the worst loss "
            "over them counts, and no prior.",
        ),
    ] = None,
    consumers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One mechanism for all readers listed in a JSON or CSV file: least worst regret.",
        ),
    ] = None,
    max_vulnerability: Annotated[
        float | None,
        typer.Option(
            metavar="V",
            help="Least loss with this chance, at most, of guessing the true answer; ε optional.",
        ),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option(
            metavar="L",
            help="Least chance of guessing the true answer with this loss, at most; ε optional.",
        ),
    ] = None,
    route: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="Force a route: geometric, tree, regular, symmetric, candidate, dual, "
            "orbits, rays, plain.",
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Relative gap to the bound at which to stop.")
    ] = 1e-9,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the mechanism with its proofs into a file."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one self-contained HTML page about the design."),
    ] = None,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Find the best private mechanism for a question and prove how good it is.

    Examples:
      tightrope design "count(20)" --epsilon 0.5 --loss absolute
      tightrope design "sum(20,3)" --epsilon "ln(2)" --prior "binomial(.3)" --out sum.tightrope
      tightrope design "sum(20,3)" --epsilon "ln(2)" --report sum.html
      tightrope design "choice(6)" --epsilon 1 --risk-averse all
      tightrope design "cycle(5)" --epsilon 1 --consumers readers.json
      tightrope design "count(5)" --max-vulnerability 0.5 --loss absolute

    >>> design("choice(3)", "ln(2)", as_json=True)
    {"query": "choice(3)", "neighbours": "change-one", "route": "regular", ...}
    """
    from tightrope.consumers import Consumer
    from tightrope.files import check_goals, write_text
    from tightrope.optimize import design as find
    from tightrope.queries import query

    if risk_averse is not None and prior != "uniform":
        raise InputError("a risk-averse reader has no prior: leave out --prior or --risk-averse")
    check_goals(out, report)
    asked = query(question, neighbours=neighbours)
    limited = max_vulnerability is not None or max_loss is not None
    if consumers is not None or limited:
        _refuse_with(consumers is not None and limited, "--consumers", "a limit")
        _refuse_with(route is not None, "a route", "--consumers or a limit")
        _refuse_with(out is not None and epsilon is None, "--out", "a limit without --epsilon")
        _refuse_with(report is not None, "--report", "--consumers or a limit")
        _refuse_with(risk_averse is not None, "--risk-averse", "--consumers or a limit")
    if consumers is not None:
        under_consumers(asked, _needed(epsilon), consumers, gap, as_json, out)
        return
    if limited:
        under_limit(asked, epsilon, prior, loss, max_vulnerability, max_loss, gap, as_json, out)
        return
    level = _needed(epsilon)
    who = (
        Consumer.of(asked.graph, prior=prior, loss=loss)
        if risk_averse is None
        else Consumer.of(asked.graph, support=risk_averse, loss=loss)
    )
    with searching(gap, as_json) as told:
        found = find(asked, level, who, route, gap, told)
    data: dict[str, Any] = {
        "query": asked.text,
        "neighbours": asked.neighbours.value,
        **found.as_dict(),
    }
    data |= written(found, asked, out, as_json)
    if report is not None:
        from tightrope.report.page import html_report

        write_text(report, html_report(found))
        data["report"] = str(report)
    show(as_json, data, lambda console: _draw(console, asked.text, level, found, data))


def _needed(epsilon: str | None) -> str:
    if epsilon is None:
        raise InputError("a design needs a privacy level: add --epsilon (or a limit on leakage)")
    return epsilon


def _refuse_with(both: bool, first: str, second: str) -> None:
    if both:
        raise InputError(f"{first} does not go together with {second}")


def _draw(console: Console, title: str, epsilon: str, found: Design, data: dict[str, Any]) -> None:
    binary = found.consumer.loss.is_binary
    rows = {"expected loss": f"{found.expected_loss:.9g}"}
    if binary:
        rows["right answer"] = f"with probability {found.utility:.9g}"
    # No loss is negative but a listed one; what rounding takes off a bound of 0 is in the gap.
    bound = 0.0 if -1e-12 < found.bound < 0 <= found.expected_loss else found.bound
    rows["no mechanism below"] = f"{bound:.9g}  (gap {found.gap:.2g})"
    rows |= {f"{name} noise": _compared(value, found) for name, value in found.baselines.items()}
    rows["route"] = f"{found.route}: {found.reason}"
    rows["time"] = f"{found.seconds:.3g} s"
    if "out" in data:
        rows["written to"] = f"{data['out']}  (check it: tightrope verify {data['out']})"
    if "report" in data:
        rows["report"] = data["report"]
    facts_table(console, f"best mechanism for {title} at ε = {epsilon}", rows)
    if not found.certified:
        stopped = "stopped early" if found.stopped else "the proof did not close"
        paragraphs(console, [f"Not proved optimal: {stopped}; the gap above is what is proved."])


def _compared(value: float, found: Design) -> str:
    lost = value - found.expected_loss
    if abs(lost) <= 1e-9 * max(abs(value), 1e-300):
        return f"{value:.9g}  (as good)"
    if found.expected_loss <= 0:
        return f"{value:.9g}"
    share = 100 * abs(lost) / found.expected_loss
    return f"{value:.9g}  ({share:.3g} % {'worse' if lost > 0 else 'better'})"
