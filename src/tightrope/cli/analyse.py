"""``tightrope analyse``: what a mechanism gives to its readers and what it gives away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tightrope.cli.mechanisms import EpsilonOption, MechanismText, QuestionOption, load
from tightrope.cli.output import AsJson, NeighbourText, PriorText, facts_table, paragraphs, show

if TYPE_CHECKING:
    from rich.console import Console


def analyse(
    mechanism: MechanismText,
    epsilon: EpsilonOption = None,
    prior_text: PriorText = "uniform",
    question: QuestionOption = None,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Measure a mechanism: utility, leakage in bits, generality and its smallest ε.

    Examples:
      tightrope analyse "geometric:count(5)" --epsilon "ln(2)"
      tightrope analyse "exponential:cycle(8)" --epsilon 1 --prior "binomial(.3)"
      tightrope analyse matrix.csv --query "choice(6)"

    >>> analyse("geometric:count(5)", epsilon="ln(2)", as_json=True)
    {"mechanism": "geometric:count(5)", "query": "count(5)", "utility": 0.4444444...}
    """
    from tightrope.consumers import prior
    from tightrope.leakage.analyse import analyse as measure

    loaded = load(mechanism, epsilon, question, neighbours)
    found = measure(
        loaded.channel,
        loaded.query.graph,
        prior(prior_text, loaded.query.graph),
        epsilon=loaded.epsilon,
    )
    data = {"mechanism": loaded.name, "query": loaded.query.text, **found.as_dict()}

    def draw(console: Console) -> None:
        rows = {
            "utility": f"{found.utility:.9g}",
            "min-entropy leakage": f"{found.min_entropy_leakage_bits:.9g} bits",
            "min-capacity": f"{found.min_capacity_bits:.9g} bits",
            "Shannon leakage": f"{found.shannon_leakage_bits:.9g} bits",
            "smallest ε": f"{found.epsilon:.9g}",
            "maximally general": {True: "yes", False: "no", None: "not defined"}[
                found.maximally_general
            ],
            "Dobrushin utility": "too large to compute"
            if found.dobrushin is None
            else f"{found.dobrushin:.9g}",
        }
        facts_table(console, f"{loaded.name}, prior {prior_text}", rows)
        console.print()
        paragraphs(console, found.sentences)

    show(as_json, data, draw)
