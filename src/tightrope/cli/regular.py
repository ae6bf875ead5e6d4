"""``tightrope regular``: whether a prior is ε-regular, and the bounds that follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tightrope.cli.output import (
    AsJson,
    EpsilonText,
    NeighbourText,
    PriorText,
    QueryText,
    facts_table,
    show,
)
from tightrope.errors import TooLarge

if TYPE_CHECKING:
    from rich.console import Console

#: Longest vector that is printed for a person.
SHOWN = 12


def regular(
    question: QueryText,
    epsilon: EpsilonText,
    prior: PriorText = "uniform",
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Decide whether a prior is ε-regular and bound the utility and leakage of every mechanism.

    Examples:
      tightrope regular "clique(4)" --epsilon "ln(2)" --prior 0.4,0.2,0.2,0.2
      tightrope regular "databases(5,4)" --epsilon 0.7 --prior "product(.3,.27,.23,.2)"

    >>> regular("clique(4)", "ln(2)", "0.4,0.2,0.2,0.2", as_json=True)
    {"query": "clique(4)", "epsilon": 0.693147..., "epsilon_text": "ln(2)", "regular": true, ...}
    """
    from tightrope.consumers.regular import regularity
    from tightrope.epsilon import Epsilon
    from tightrope.queries import query

    asked = query(question, neighbours=neighbours)
    level = Epsilon.of(epsilon)
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

    def draw(console: Console) -> None:
        verdict = "yes" if found.regular else "no"
        rows = {
            "ε-regular": verdict + ("" if found.certain else " (not proven: see the margin)"),
            "smallest entry of y": f"{found.margin:.6g}",
            "utility of any mechanism": f"≤ {found.utility_bound:.9g}",
            "leakage of any mechanism": f"≤ {found.leakage_bound_bits:.9g} bits",
        }
        name = "coordinates" if found.regular else "separating"
        vector = data[name]
        if vector is not None and len(vector) <= SHOWN:
            title = "weights of corner priors" if found.regular else "proof w (Φw ≥ 0 > π·w)"
            rows[title] = "  ".join(f"{entry:.4g}" for entry in vector)
        facts_table(console, f"{asked.text}, ε = {epsilon}, prior {prior}", rows)

    show(as_json, data, draw)


def _listed(found: Any, name: str) -> Any:
    """Return a vector of the result, or nothing when it is too long to list."""
    try:
        return getattr(found, name)
    except TooLarge:
        return None
