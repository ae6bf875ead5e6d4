"""Commands about a question, a privacy level, or a definition of privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import tightrope as tr
from tightrope.cli.output import progress_bar, tell
from tightrope.errors import TooLarge
from tightrope.report import texts

if TYPE_CHECKING:
    from tightrope.channels import IntegerChannel


def graph(
    question: str, *, neighbours: str = "change-one", plot: Path | None = None
) -> None:
    """Show the answer graph of a question and its symmetry.

    Parameters
    ----------
    plot : FILE
        Draw the graph into a PNG, SVG or PDF file.

    Examples:
      tightrope graph "sum(150,5)"
      tightrope graph "histogram(10,3)" --neighbours add-remove
      tightrope graph petersen --plot petersen.svg

    >>> from tightrope.cli import main
    >>> main(["graph", "cycle(5)", "--json"])
    {"query": "cycle(5)", "neighbours": "change-one", "nodes": 5, "edges": 5, ...}
    0
    """
    from tightrope.graphs.symmetry import graph_facts

    if plot is not None:
        from tightrope.report.plots import check_picture, plot_graph, save_plot

        # A wrong ending is refused before the work.
        check_picture(plot)
    asked = tr.query(question, neighbours=neighbours)
    with progress_bar("looking"):
        facts = graph_facts(asked.graph)
    data = {**texts.about_query(asked), **facts.as_dict()}
    if plot is not None:
        data["plot"] = str(save_plot(plot_graph, asked.graph, plot))
    rows = facts.sentences() | texts.answer_order(asked.graph)
    tell(data, f"{asked.text}  ({asked.neighbours.value})", rows)


def exists(
    question: str, *, tolerance: float = 0.0, neighbours: str = "change-one"
) -> None:
    """Show for which ε the tight-constraints mechanism exists.

    Parameters
    ----------
    tolerance : T
        Allow entries of y down to -T, as the published thresholds do with 1e-4.

    Examples:
      tightrope exists "sum(150,5)"
      tightrope exists "counts(30,2)" --tolerance 1e-4
      tightrope exists "tree(3,2)"

    >>> from tightrope.cli import main
    >>> main(["exists", "star(3)", "--json"])
    {"query": "star(3)", "intervals": [[0.6931471805599453, null]], ...}
    0
    """
    from tightrope.phi import exists as existence

    asked = tr.query(question, neighbours=neighbours)
    with progress_bar("looking") as done:
        found = existence(asked.graph, tolerance=tolerance, progress=done)
    data = texts.existence_data(asked, found)
    # Decided exactly, or sampled with a stated distance between the samples.
    sure = (
        "nothing is missed" if found.exact else f"samples {found.resolution:.2g} apart"
    )
    rows = {
        "exists for ε in": texts.interval_text(found.intervals),
        "smallest ε": "none" if data["minimum"] is None else f"{found.minimum:.10g}",
        "accuracy": f"{found.accuracy:.2g} ({sure})",
        "decided by": found.method,
    }
    if found.tolerance:
        rows["mind"] = (
            f"entries of y down to -{found.tolerance:g} were allowed: not a mechanism"
        )
    tell(data, f"tight-constraints mechanism of {asked.text}", rows)


def regular(
    question: str,
    *,
    epsilon: str,
    prior: str = "uniform",
    neighbours: str = "change-one",
) -> None:
    """Decide whether a prior is ε-regular.

    Also bounds the utility and the leakage of every mechanism.

    Examples:
      tightrope regular "clique(4)" --epsilon "ln(2)" --prior 0.4,0.2,0.2,0.2
      tightrope regular "databases(5,4)" --epsilon 0.7 \\
          --prior "product(.3,.27,.23,.2)"

    >>> from tightrope.cli import main
    >>> words = ["clique(4)", "--epsilon", "ln(2)", "--prior", "0.4,0.2,0.2,0.2"]
    >>> main(["regular", *words, "--json"])
    {"query": "clique(4)", "epsilon": 0.693147..., "epsilon_text": "ln(2)", "regular": true, ...}
    0
    """
    from tightrope.consumers.regular import regularity

    asked = tr.query(question, neighbours=neighbours)
    level = tr.Epsilon.of(epsilon)
    found = regularity(prior, asked.graph, level)
    data: dict[str, Any] = {
        "query": asked.text,
        "epsilon": float(level),
        "epsilon_text": str(level),
        **texts.regularity_data(found),
        "unique": found.unique,
        "sum_of_y": found.y_sum,
        "sum_of_y_bits": found.y_bits,
        "any_prior_bound": found.utility_bound,
        "coordinates": _listed(found, "coordinates") if found.regular else None,
        "separating": _listed(found, "separating"),
    }

    rows = texts.regularity_rows(found) | texts.answer_order(asked.graph)
    # Either way the vector proves the verdict.
    vector = data["coordinates" if found.regular else "separating"]
    if vector is not None and len(vector) <= 12:
        title = (
            "weights of corner priors" if found.regular else "proof w (Φw ≥ 0 > π·w)"
        )
        rows[title] = "  ".join(f"{entry:.4g}" for entry in vector)
    tell(data, f"{asked.text}, ε = {epsilon}, prior {prior}", rows)


def _listed(found: Any, name: str) -> Any:
    """Return a vector of the result, or nothing when it is too long to list."""
    try:
        # Vectors over a product of many people would not fit.
        return getattr(found, name)
    except TooLarge:
        return None


def universal(
    question: str,
    *,
    epsilon: str,
    loss: str = "binary",
    risk_averse: bool = False,
    neighbours: str = "change-one",
) -> None:
    """Decide whether one mechanism serves every consumer at once.

    "yes" comes with the mechanism, "no" with consumers whose optimal mechanisms no single
    mechanism yields.

    Parameters
    ----------
    loss : L
        The loss of all consumers, as for 'design'; or 'monotone' for all monotone losses.
    risk_averse
        Consumers fear the worst case instead of averaging.

    Examples:
      tightrope universal "count(20)" --epsilon 0.5
      tightrope universal "sum(3,2)" --epsilon 1 --risk-averse
      tightrope universal "star(3)" --epsilon "ln(3/2)"

    >>> from tightrope.cli import main
    >>> main(["universal", "cycle(4)", "--epsilon", "ln(2)", "--json"])
    {"query": "cycle(4)", ..., "verdict": "no", "reason": "the answers contain a shortest cycle...
    0
    """
    from tightrope.axioms import universality

    asked = tr.query(question, neighbours=neighbours)
    kind = "risk-averse" if risk_averse else "bayesian"
    whose = kind if risk_averse else "Bayesian"
    with progress_bar("deciding"):
        found = universality(asked, epsilon, loss, kind=kind)
    about = {**texts.about_query(asked), "epsilon": epsilon, "loss": loss, "kind": kind}
    witness = found.witness.as_dict() if found.witness is not None else {}
    lines = [
        f"{asked.text}, ε = {epsilon}, {whose} consumers, {loss} loss",
        f"{found}.",
        f"Shown by: {found.theorem}.",
    ]
    for number, consumer in enumerate(witness.get("consumers", []), 1):
        possible = ", ".join(map(str, consumer["support"][:12]))
        lost = float(consumer["optimal_loss"])
        lines.append(
            f"  consumer {number}: possible answers {possible}; loses {lost:.6g} at best"
        )
    tell({**about, **found.as_dict()}, lines=lines)


def explain(
    *,
    epsilon: str | None = None,
    individuals: int = 1,
    values: int = 2,
    max_bits: float | None = None,
    max_success: float | None = None,
    min_utility: float | None = None,
    query: str | None = None,
) -> None:
    """Say what an ε means, or find the ε that a limit allows.

    Parameters
    ----------
    individuals : U
        How many people the table holds.
    values : V
        How many values one person can have ("absent" too).
    max_bits : B
        Most bits about the whole table: finds ε.
    max_success : P
        Largest probability of guessing one person's value correctly: finds ε.
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
    ε = ln(3): any result is at most 3 times as likely with one person's true value as with any
    other value in its place.
    ...
    """
    from tightrope.leakage.bounds import explain as explain_level

    graph: Any = None if query is None else tr.query(query).graph
    with progress_bar("designing"):
        found = explain_level(
            epsilon=epsilon, individuals=individuals, values=values, max_bits=max_bits,
            max_success=max_success, min_utility=min_utility, graph=graph,
            # Used only where the best utility has no closed form.
            best=lambda level: tr.design(graph, level).utility,
        )  # fmt: skip
    tell(found.as_dict(), lines=found.sentences)


def axioms(predicate: str, *, steps: int = 64) -> None:
    """Test a privacy definition against the axioms.

    Post-processing and random choice must keep it. A violation comes with mechanisms of two
    outputs, and with the smallest definition above that satisfies the axioms.

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

    >>> from tightrope.cli import main
    >>> main(["axioms", "b <= 2*a and 1-a <= 2*(1-b)", "--steps", "8", "--json"])
    {"satisfied": true, "conditions": [{"name": "q(a, a) holds", "holds": true}, ...
    0
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

    lines = [
        f"{'holds ' if c.holds else 'BROKEN'}  {c.name}" for c in report.conditions
    ]
    if breach is not None:
        lines += [
            f"Allowed: {'; '.join(str(_rows(channel)) for channel in breach.allowed)}",
            f"After {breach.axiom}, forbidden: {_rows(breach.forbidden)}",
        ]
    tell(data, lines=lines)


def _rows(channel: IntegerChannel) -> list[list[str]]:
    return [[str(channel.fraction(i, o)) for o in range(2)] for i in range(2)]
