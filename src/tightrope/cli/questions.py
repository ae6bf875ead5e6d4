"""Commands about a question: ``graph``, ``exists``, ``regular`` and ``universal``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import tightrope as tr
from tightrope.cli.output import progress_bar, tell
from tightrope.errors import TooLarge
from tightrope.report.texts import about_query, existence_data, interval_text, regularity_rows


def graph(
    question: str,
    *,
    neighbours: str = "change-one",
    plot: Path | None = None,
    as_json: bool = False,
) -> None:
    """Show the answer graph of a question: size, distances, shape and symmetry.

    Parameters
    ----------
    plot : FILE
        Draw the graph into a PNG, SVG or PDF file.

    Examples:
      tightrope graph "sum(150,5)"
      tightrope graph "histogram(10,3)" --neighbours add-remove
      tightrope graph petersen --plot petersen.svg

    >>> graph("cycle(5)", as_json=True)
    {"query": "cycle(5)", "neighbours": "change-one", "nodes": 5, "edges": 5, ...}
    """
    from tightrope.graphs.symmetry import graph_facts

    asked = tr.query(question, neighbours=neighbours)
    facts = graph_facts(asked.graph)
    if plot is not None:
        from tightrope.report.plots import plot_graph, save_plot

        save_plot(plot_graph, asked.graph, plot)
    data = {**about_query(asked), **facts.as_dict()}
    tell(as_json, data, f"{asked.text}  ({asked.neighbours.value})", facts.sentences())


def exists(
    question: str,
    *,
    tolerance: float = 0.0,
    neighbours: str = "change-one",
    as_json: bool = False,
) -> None:
    """Show for which ε the tight-constraints mechanism exists, as a union of intervals.

    Parameters
    ----------
    tolerance : T
        Allow entries of y down to -T, as the published thresholds do with 1e-4.

    Examples:
      tightrope exists "sum(150,5)"
      tightrope exists "counts(30,2)" --tolerance 1e-4
      tightrope exists "tree(3,2)"

    >>> exists("star(3)", as_json=True)
    {"query": "star(3)", "intervals": [[0.6931471805599453, null]], ...}
    """
    from tightrope.phi import exists as existence

    asked = tr.query(question, neighbours=neighbours)
    with progress_bar("looking", as_json) as done:
        found = existence(asked.graph, tolerance=tolerance, progress=done)
    data = existence_data(asked, found)
    sure = "nothing is missed" if found.exact else f"samples {found.resolution:.2g} apart"
    rows = {
        "exists for ε in": interval_text(found.intervals),
        "smallest ε": "none" if data["minimum"] is None else f"{found.minimum:.10g}",
        "accuracy": f"{found.accuracy:.2g} ({sure})",
        "decided by": found.method,
    }
    if found.tolerance:
        rows["mind"] = f"entries of y down to -{found.tolerance:g} were allowed: not a mechanism"
    tell(as_json, data, f"tight-constraints mechanism of {asked.text}", rows)


def regular(
    question: str,
    *,
    epsilon: str,
    prior: str = "uniform",
    neighbours: str = "change-one",
    as_json: bool = False,
) -> None:
    """Decide whether a prior is ε-regular and bound the utility and leakage of every mechanism.

    Examples:
      tightrope regular "clique(4)" --epsilon "ln(2)" --prior 0.4,0.2,0.2,0.2
      tightrope regular "databases(5,4)" --epsilon 0.7 --prior "product(.3,.27,.23,.2)"

    >>> regular("clique(4)", epsilon="ln(2)", prior="0.4,0.2,0.2,0.2", as_json=True)
    {"query": "clique(4)", "epsilon": 0.693147..., "epsilon_text": "ln(2)", "regular": true, ...}
    """
    from tightrope.consumers.regular import regularity

    asked = tr.query(question, neighbours=neighbours)
    level = tr.Epsilon.of(epsilon)
    found = regularity(prior, asked.graph, level)
    sum_bits = math.log2(found.y_sum / found.maximum) if found.y_sum > 0 else None
    data: dict[str, Any] = {
        "query": asked.text,
        "epsilon": float(level),
        "epsilon_text": str(level),
        "regular": found.regular,
        "certain": found.certain,
        "margin": found.margin,
        "unique": found.unique,
        "utility_bound": found.utility_bound,
        "leakage_bound_bits": found.leakage_bound_bits,
        "sum_of_y": found.y_sum,
        "sum_of_y_bits": sum_bits,
        "any_prior_bound": found.any_prior_bound,
        "coordinates": _listed(found, "coordinates") if found.regular else None,
        "separating": _listed(found, "separating"),
    }

    rows = regularity_rows(found)
    vector = data["coordinates" if found.regular else "separating"]
    if vector is not None and len(vector) <= 12:
        title = "weights of corner priors" if found.regular else "proof w (Φw ≥ 0 > π·w)"
        rows[title] = "  ".join(f"{entry:.4g}" for entry in vector)
    tell(as_json, data, f"{asked.text}, ε = {epsilon}, prior {prior}", rows)


def _listed(found: Any, name: str) -> Any:
    """Return a vector of the result, or nothing when it is too long to list."""
    try:
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
    as_json: bool = False,
) -> None:
    """Decide whether one mechanism serves every consumer at once, with proof.

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

    >>> universal("cycle(4)", epsilon="ln(2)", as_json=True)
    {"query": "cycle(4)", ..., "verdict": "no", "reason": "the answers contain a shortest cycle...
    """
    from tightrope.axioms import universality

    asked = tr.query(question, neighbours=neighbours)
    kind = "risk-averse" if risk_averse else "bayesian"
    found = universality(asked, epsilon, loss, kind=kind)
    data = {**about_query(asked), "epsilon": epsilon, "loss": loss, "kind": kind, **found.as_dict()}
    told = found.witness.as_dict() if found.witness is not None else {}
    lines = [
        f"{asked.text}, ε = {epsilon}, {kind} consumers, {loss} loss",
        f"{found}.",
        f"Shown by: {found.theorem}.",
    ]
    for number, consumer in enumerate(told.get("consumers", []), 1):
        possible = ", ".join(map(str, consumer["support"][:12]))
        lost = float(consumer["optimal_loss"])
        lines.append(f"  consumer {number}: possible answers {possible}; loses {lost:.6g} at best")
    tell(as_json, data, lines=lines)
