"""``tightrope design``: the best mechanism for a question, with its proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tightrope as tr
from tightrope.cli.output import progress_bar, tell
from tightrope.errors import InputError
from tightrope.files import check_goals, write_text
from tightrope.report.texts import about_query, design_rows, score_hint

if TYPE_CHECKING:
    from tightrope.optimize import Progress
    from tightrope.optimize.progress import Callback


def design(
    question: str,
    *,
    epsilon: str | None = None,
    prior: str = "uniform",
    loss: str | None = None,
    risk_averse: str | None = None,
    consumers: Path | None = None,
    max_vulnerability: float | None = None,
    max_loss: float | None = None,
    route: str | None = None,
    gap: float = 1e-9,
    time_limit: float | None = None,
    out: Path | None = None,
    report: Path | None = None,
    neighbours: str = "change-one",
    as_json: bool = False,
) -> None:
    """Find the best private mechanism for a question and prove how good it is.

    An interruption (Ctrl-C) ends a search like the time limit does.

    Parameters
    ----------
    risk_averse : S
        The answers that the consumer thinks possible ('all', '0,3..5'): the worst loss over them
        counts, and no prior.
    consumers : FILE
        One mechanism for all consumers in a JSON or CSV file: least worst regret.
    max_vulnerability : V
        Least loss with this chance, at most, of guessing the true answer; ε optional.
    max_loss : L
        Least chance of guessing the true answer with this loss, at most; ε optional.
    route : R
        Force a route, such as 'rays' or 'plain'; any other word lists them all.
    out : FILE
        Write the mechanism with its proofs into a file.
    report : FILE
        Write one self-contained HTML page about the design.

    Examples:
      tightrope design "count(20)" --epsilon 0.5 --loss absolute
      tightrope design "sum(20,3)" --epsilon "ln(2)" --prior "binomial(.3)" --out sum.tightrope
      tightrope design "sum(20,3)" --epsilon "ln(2)" --report sum.html
      tightrope design "sum(99,9)" --epsilon "ln(2)" --time-limit 30
      tightrope design "choice(6)" --epsilon 1 --risk-averse all
      tightrope design "cycle(5)" --epsilon 1 --consumers consumers.json
      tightrope design "count(5)" --max-vulnerability 0.5 --loss absolute
      tightrope design "commonest(5)" --epsilon 0.2 --out regions.tightrope
      tightrope design "quantile(1/2,121)" --epsilon 0.2 --out ages.tightrope

    >>> design("choice(3)", epsilon="ln(2)", as_json=True)
    {"query": "choice(3)", "neighbours": "change-one", "route": "regular", ...}
    """
    from tightrope.certify import is_by_score, write
    from tightrope.consumers import read_consumers
    from tightrope.optimize import design_limited, design_many
    from tightrope.queries import usual_loss

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
    level = epsilon or ""
    if not level and not limited:
        raise InputError("a design needs a privacy level: add --epsilon (or a limit on leakage)")
    check_goals(out, report)
    if is_by_score(question):
        _by_score(question, level, neighbours, out, as_json)
        return
    asked = tr.query(question, neighbours=neighbours)
    loss = loss or usual_loss(asked)
    with _searching(gap, as_json) as told:
        options: dict[str, Any] = {"gap": gap, "progress": told, "time_limit": time_limit}
        if limited:
            limits: dict[str, Any] = {"max_vulnerability": max_vulnerability, "max_loss": max_loss}
            consumer = tr.Consumer.of(asked.graph, prior=prior, loss=loss)
            found = design_limited(asked, consumer, epsilon=epsilon, **limits, **options)
        elif consumers is not None:
            everybody = read_consumers(consumers, asked.graph)
            found = design_many(asked, level, everybody, **options)
        else:
            known = {"prior": prior} if risk_averse is None else {"support": risk_averse}
            consumer = tr.Consumer.of(asked.graph, loss=loss, **known)
            found = tr.design(asked, level, consumer, route=route, **options)
    data: dict[str, Any] = {**about_query(asked), **found.as_dict()}
    rows = {**design_rows(found), "time": f"{found.seconds:.3g} s"}
    if out is not None:
        with progress_bar("proving", as_json) as done:
            made = tr.prove(found, asked, done)
        data |= {"out": str(write(made, out)), "digest": made.digest}
        rows["written to"] = _checked_by(out)
    if report is not None:
        from tightrope.report.page import html_report

        write_text(report, html_report(found))
        data["report"] = rows["report"] = str(report)
    level = "" if found.epsilon is None else f" at ε = {found.epsilon}"
    whose = f" for {len(found.consumers)} consumers of" if found.many else " for"
    kind = f"least {found.minimised}" if found.limit is not None else "best mechanism"
    hint = score_hint(asked.text)
    kind += " that sees only the true answer" if hint else ""
    proved = [] if found.certified else [f"Proved: {found.claim}."]
    if found.stopped:
        proved = [f"Stopped early. {proved[0]}"]
    title = f"{kind}{whose} {asked.text}{level}"
    tell(as_json, data, title, rows, [*proved, *([f"{hint}."] if hint else [])])


def _by_score(question: str, level: str, near: str, out: Path | None, as_json: bool) -> None:
    """Make a mechanism by scores, which needs no search; say what it promises."""
    from tightrope.certify import by_score, write
    from tightrope.publish.intervals import score_error

    made = by_score(question, level, near)
    kept = score_error(made)
    data = {"query": made.query, "neighbours": made.neighbours, "route": "scores",
            "epsilon": str(made.epsilon), "steps": made.steps, "error": kept.as_dict()}  # fmt: skip
    rows = {
        "route": "permute-and-flip on the counts of all values",
        "one person": f"moves two scores apart by at most {made.steps} steps",
        "error": str(kept),
    }
    if out is not None:
        data |= {"out": str(write(made, out)), "digest": made.digest}
        rows["written to"] = _checked_by(out)
    tell(as_json, data, f"mechanism by scores for {made.query} at ε = {made.epsilon}", rows)


def _checked_by(out: Path) -> str:
    return f"{out}  (check it: tightrope verify {out})"


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
