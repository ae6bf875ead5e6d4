"""``tightrope design``: the best mechanism for a question, with its proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.output import (
    AsJson,
    EpsilonOption,
    LossText,
    NeighbourText,
    PriorText,
    QueryText,
    facts_table,
    paragraphs,
    progress_bar,
    show,
)
from tightrope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.optimize import Design, Progress
    from tightrope.optimize.progress import Callback
    from tightrope.queries import Query

TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop then with the best mechanism found so far, and the gap that is proved.",
    ),
]


def design(
    question: QueryText,
    epsilon: EpsilonOption = None,
    prior: PriorText = "uniform",
    loss: LossText = "binary",
    risk_averse: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="The answers that the consumer thinks possible ('all', '0,3..5'): the worst loss "
            "over them counts, and no prior.",
        ),
    ] = None,
    consumers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One mechanism for all consumers in a JSON or CSV file: least worst regret.",
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
            help="Force a route, such as 'rays' or 'plain'; any other word lists them all.",
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Relative gap to the bound at which to stop.")
    ] = 1e-9,
    time_limit: TimeLimit = None,
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

    An interruption (Ctrl-C) ends a search like the time limit does.

    Examples:
      tightrope design "count(20)" --epsilon 0.5 --loss absolute
      tightrope design "sum(20,3)" --epsilon "ln(2)" --prior "binomial(.3)" --out sum.tightrope
      tightrope design "sum(20,3)" --epsilon "ln(2)" --report sum.html
      tightrope design "sum(99,9)" --epsilon "ln(2)" --time-limit 30
      tightrope design "choice(6)" --epsilon 1 --risk-averse all
      tightrope design "cycle(5)" --epsilon 1 --consumers consumers.json
      tightrope design "count(5)" --max-vulnerability 0.5 --loss absolute

    >>> design("choice(3)", "ln(2)", as_json=True)
    {"query": "choice(3)", "neighbours": "change-one", "route": "regular", ...}
    """
    from tightrope.files import check_goals, write_text
    from tightrope.queries import query

    if risk_averse is not None and prior != "uniform":
        raise InputError("a risk-averse consumer has no prior: leave out --prior or --risk-averse")
    limited = max_vulnerability is not None or max_loss is not None
    other = "--consumers or a limit"
    for both, first, second in (
        (consumers is not None and limited, "--consumers", "a limit"),
        (out is not None and epsilon is None and limited, "--out", "a limit without --epsilon"),
        (route is not None and (consumers is not None or limited), "a route", other),
        (report is not None and (consumers is not None or limited), "--report", other),
        (risk_averse is not None and (consumers is not None or limited), "--risk-averse", other),
    ):
        if both:
            raise InputError(f"{first} does not go together with {second}")
    if epsilon is None and not limited:
        raise InputError("a design needs a privacy level: add --epsilon (or a limit on leakage)")
    check_goals(out, report)
    asked = query(question, neighbours=neighbours)
    with _searching(gap, as_json) as told:
        options = {"gap": gap, "progress": told, "time_limit": time_limit}
        if consumers is not None:
            found = _for_many(asked, epsilon, consumers, options)
        elif limited:
            options |= {"max_vulnerability": max_vulnerability, "max_loss": max_loss}
            found = _under_limit(asked, epsilon, prior, loss, options)
        else:
            options["route"] = route
            found = _for_one(asked, epsilon, prior, risk_averse, loss, options)
    data: dict[str, Any] = {
        "query": asked.text,
        "neighbours": asked.neighbours.value,
        **found.as_dict(),
    }
    if out is not None:
        data |= _written(found, asked, out, as_json)
    if report is not None:
        from tightrope.report.page import html_report

        write_text(report, html_report(found))
        data["report"] = str(report)
    show(as_json, data, lambda console: _draw(console, asked.text, found, data))


def _for_one(
    asked: Query,
    epsilon: str | None,
    prior: str,
    support: str | None,
    loss: str,
    options: dict[str, Any],
) -> Design:
    from tightrope.consumers import Consumer
    from tightrope.optimize import design

    known = {"prior": prior} if support is None else {"support": support}
    assert epsilon is not None
    return design(asked, epsilon, Consumer.of(asked.graph, loss=loss, **known), **options)


def _for_many(asked: Query, epsilon: str | None, file: Path, options: dict[str, Any]) -> Design:
    from tightrope.consumers import read_consumers
    from tightrope.optimize import design_many

    assert epsilon is not None
    return design_many(asked, epsilon, read_consumers(file, asked.graph), **options)


def _under_limit(
    asked: Query, epsilon: str | None, prior: str, loss: str, options: dict[str, Any]
) -> Design:
    from tightrope.consumers import Consumer
    from tightrope.optimize import design_limited

    consumer = Consumer.of(asked.graph, prior=prior, loss=loss)
    return design_limited(asked, consumer, epsilon=epsilon, **options)


@contextmanager
def _searching(gap: float, as_json: bool) -> Iterator[Callback]:
    """Show what a search is doing, and how far it has come towards a gap, in digits."""
    with progress_bar("searching", as_json) as done:

        def told(now: Progress) -> None:
            if not 0 < gap < 1 or not now.gap < 1:
                done(None, now.step)
                return
            done(min(1.0, math.log(max(now.gap, gap)) / math.log(gap)), now.step)

        yield told


def _written(found: Design, asked: Query, out: Path, as_json: bool) -> dict[str, str]:
    """Prove what was found and write the file; say where and what it is."""
    from tightrope.certify import write
    from tightrope.proofs import prove

    with progress_bar("proving", as_json) as done:
        proved = prove(found, asked, done)
    return {"out": str(write(proved, out)), "digest": proved.digest}


def _draw(console: Console, title: str, found: Design, data: dict[str, Any]) -> None:
    rows = {}
    if found.many:
        rows["worst regret"] = f"{found.worst_regret:.9g}"
        for one in data["consumers"]:
            rows[f"consumer {one['name']}"] = (
                f"loses {one['expected_loss']:.6g}, at best {one['optimum']:.6g}: "
                f"regret {one['regret']:.3g}"
            )
    else:
        rows["expected loss"] = f"{found.expected_loss:.9g}"
        if found.limit is not None:
            rows["an attacker guesses"] = f"with probability {found.vulnerability:.9g}"
        elif found.consumer.loss.is_binary:
            rows["right answer"] = f"with probability {found.utility:.9g}"
    # No loss is negative but a listed one; what rounding takes off a bound of 0 is in the gap.
    rounding = 1e-12
    bound = 0.0 if -rounding < found.bound < 0 <= found.value else found.bound
    what = "mechanism" if found.limit is None else found.minimised
    rows[f"no {what} below"] = f"{bound:.9g}  (gap {found.gap:.2g})"
    rows |= {f"{name} noise": _compared(value, found) for name, value in found.baselines.items()}
    rows["route"] = f"{found.route}: {found.reason}"
    rows["time"] = f"{found.seconds:.3g} s"
    if "out" in data:
        rows["written to"] = f"{data['out']}  (check it: tightrope verify {data['out']})"
    if "report" in data:
        rows["report"] = data["report"]
    level = "" if found.epsilon is None else f" at ε = {found.epsilon}"
    whose = f" for {len(found.consumers)} consumers of" if found.many else " for"
    kind = f"least {found.minimised}" if found.limit is not None else "best mechanism"
    facts_table(console, f"{kind}{whose} {title}{level}", rows)
    if not found.certified:
        stopped = "stopped early" if found.stopped else "the proof did not close"
        paragraphs(console, [f"Not certified: {stopped}; the gap above is what is proved."])


def _compared(value: float, found: Design) -> str:
    """Say by how much simple noise is worse."""
    lost, rounding = value - found.value, 1e-9
    if abs(lost) <= rounding * max(abs(value), 1e-300):
        return f"{value:.9g}  (as good)"
    if found.value <= 0:
        return f"{value:.9g}"
    share = 100 * abs(lost) / found.value
    return f"{value:.9g}  ({share:.3g} % {'worse' if lost > 0 else 'better'})"
