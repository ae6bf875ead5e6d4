"""``tightrope interval``: which true answers a released one is compatible with."""

from __future__ import annotations

from pathlib import Path

from tightrope.cli.output import tell
from tightrope.errors import InputError


def interval(
    file: Path,
    *,
    answer: str,
    confidence: str = "0.95",
    prior: str | None = None,
    simultaneous: bool = False,
    as_json: bool = False,
) -> None:
    """Show the error of a released answer: its confidence set, or with a prior the credible set.

    Whatever the true answer is, the set holds it with at least the wanted probability: it is
    computed from the mechanism's own rows, without a normal approximation.

    Parameters
    ----------
    file : FILE
        The mechanism file (.tightrope) that the answer was drawn from.
    answer : ANSWER
        The answer that was released, such as 17 or 3,5.
    confidence : C
        The probability with which the set holds the true answer.
    prior : P
        What is known of the true answer; the posterior decides then.
    simultaneous
        For several numbers: all of them at once, not each by itself.

    Examples:
      tightrope interval count.tightrope --answer 432
      tightrope interval count.tightrope --answer 432 --confidence 0.9 --prior "binomial(.3)"

    >>> interval(Path("no-such.tightrope"), answer="17")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.certify import ScoreMechanism, opened
    from tightrope.consumers import prior as read_prior
    from tightrope.consumers.numerals import find_answer
    from tightrope.publish.intervals import confidence_set, promised_error, score_error

    made = opened(file)
    if isinstance(made, ScoreMechanism):
        kept = score_error(made, confidence)
        said = {"query": made.query, "answer": answer, **kept.as_dict()}
        title = f"{made.query}, ε = {made.epsilon}"
        tell(as_json, said, title, {"answer": answer, "error": str(kept)})
        return
    graph = made.question.graph
    known = None if prior is None else read_prior(prior, graph).exact
    given = graph.label(find_answer(graph, answer))
    found = confidence_set(made, given, confidence, prior=known, simultaneous=simultaneous)
    what = "the chance that the answer is exact" + ("" if prior else ", at least")
    rows = {"answer": answer, "set": str(found), what: f"{float(found.exact):.4g}"}
    data = {"query": made.query, "answer": answer, **found.as_dict()}
    ends = [data.setdefault("low", None), data.setdefault("high", None)]
    data["set"] = data.get("members") or ends
    data["coverage"] = data["confidence"]
    try:
        errors = promised_error(made, confidence)
        told = ", ".join(f"{float(error):.10g}" for error in errors)
        data["error"] = [float(error) for error in errors]
        rows["error of every answer, at most"] = f"{told} ({float(found.confidence * 100):.10g} %)"
    except InputError:  # answers that are not numbers have no error
        pass
    tell(as_json, data, f"{made.query}, ε = {made.epsilon}", rows)
