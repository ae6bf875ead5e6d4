"""``tightrope design``: the best mechanism for a question, with its proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.cli.output import progress_bar, tell
from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.optimize import Design, Progress
    from tightrope.optimize.progress import Callback
    from tightrope.queries import Query


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
    from tightrope.certify import is_by_score
    from tightrope.consumers import Consumer, read_consumers
    from tightrope.files import check_goals, write_text
    from tightrope.optimize import design as design_one, design_limited, design_many
    from tightrope.queries import query, usual_loss
    from tightrope.report.texts import about_query, score_hint

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
    asked = query(question, neighbours=neighbours)
    loss = loss or usual_loss(asked)
    with _searching(gap, as_json) as told:
        options: dict[str, Any] = {"gap": gap, "progress": told, "time_limit": time_limit}
        if limited:
            limits: dict[str, Any] = {"max_vulnerability": max_vulnerability, "max_loss": max_loss}
            consumer = Consumer.of(asked.graph, prior=prior, loss=loss)
            found = design_limited(asked, consumer, epsilon=epsilon, **limits, **options)
        elif consumers is not None:
            everybody = read_consumers(consumers, asked.graph)
            found = design_many(asked, level, everybody, **options)
        else:
            known = {"prior": prior} if risk_averse is None else {"support": risk_averse}
            consumer = Consumer.of(asked.graph, loss=loss, **known)
            found = design_one(asked, level, consumer, route=route, **options)
    data: dict[str, Any] = {**about_query(asked), **found.as_dict()}
    if out is not None:
        data |= _written(found, asked, out, as_json)
    if report is not None:
        from tightrope.report.page import html_report

        write_text(report, html_report(found))
        data["report"] = str(report)
    level = "" if found.epsilon is None else f" at ε = {found.epsilon}"
    whose = f" for {len(found.consumers)} consumers of" if found.many else " for"
    kind = f"least {found.minimised}" if found.limit is not None else "best mechanism"
    hint = score_hint(asked.text)
    kind += " that sees only the true answer" if hint else ""
    proved = [] if found.certified else [f"Proved: {found.claim}."]
    if found.stopped:
        proved = [f"Stopped early. {proved[0]}"]
    title = f"{kind}{whose} {asked.text}{level}"
    said = [*proved, *([f"{hint}."] if hint else [])]
    tell(as_json, data, title, _rows(found, data), said)


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
        rows["written to"] = f"{out}  (check it: tightrope verify {out})"
    tell(as_json, data, f"mechanism by scores for {made.query} at ε = {made.epsilon}", rows)


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


def _rows(found: Design, data: dict[str, Any]) -> dict[str, str]:
    """Return what was found for a person to read."""
    rows = {}
    if found.many:
        rows["worst regret"] = f"{found.worst_regret:.9g}"
        for one in data["consumers"]:
            rows[f"consumer {one['name']}"] = (
                f"loses {one['expected_loss']:.6g}, at best {one['optimum']:.6g}: "
                f"regret {one['regret']:.3g}"
            )
    else:
        whose = "loss, worst answer" if found.consumer.risk_averse else "expected loss"
        rows[whose] = f"{found.expected_loss:.9g}"
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
    return rows


def _compared(value: float, found: Design) -> str:
    """Say by how much simple noise is worse."""
    lost, rounding = value - found.value, 1e-9
    if abs(lost) <= rounding * max(abs(value), 1e-300):
        return f"{value:.9g}  (as good)"
    if found.value <= 0:
        return f"{value:.9g}"
    share = 100 * abs(lost) / found.value
    return f"{value:.9g}  ({share:.3g} % {'worse' if lost > 0 else 'better'})"
