"""Leakage: what a channel tells about the secret that goes in, and how to choose ε.

>>> from tightrope.channels import Channel
>>> from tightrope.leakage import min_entropy_leakage
>>> round(min_entropy_leakage(Channel([[0.75, 0.25], [0.25, 0.75]])), 4)
0.585
"""

from tightrope.leakage.analyse import Analysis, analyse
from tightrope.leakage.bounds import (
    Bound,
    database_bound,
    few_outputs_bound,
    graph_bound,
    individual_bound,
    plain_individual_bound,
    regular_prior_bound,
    utility_bound,
)
from tightrope.leakage.capacity import Capacity, shannon_capacity
from tightrope.leakage.choose import (
    attacker_success,
    epsilon_for_bits,
    epsilon_for_success,
    epsilon_for_utility,
)
from tightrope.leakage.compose import (
    Composition,
    cascade_composition,
    parallel_composition,
    repeated_composition,
)
from tightrope.leakage.entropy import (
    g_vulnerability,
    guessing_entropy,
    min_entropy,
    shannon_entropy,
    vulnerability,
)
from tightrope.leakage.estimate import PopulationEstimate, estimate_population
from tightrope.leakage.explain import Explanation, explain
from tightrope.leakage.few_outputs import FewOutputs, most_leakage
from tightrope.leakage.individual import IndividualLeakage, individual_leakage, leakage_of_sets
from tightrope.leakage.measures import (
    g_leakage,
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    posterior_g_vulnerability,
    posterior_guessing_entropy,
    posterior_min_entropy,
    posterior_shannon_entropy,
    posterior_vulnerability,
)
from tightrope.leakage.no_converse import Demonstration, leakage_without_privacy
from tightrope.leakage.posterior import Hyper, hyper, posterior
from tightrope.leakage.predicate import (
    PredicateCapacity,
    PredicateLeakage,
    predicate_capacity,
    predicate_leakage,
)
from tightrope.leakage.transform import (
    average_over_automorphisms,
    average_over_distances,
    equalised,
    maxima_on_diagonal,
)

__all__ = [
    "Analysis",
    "Bound",
    "Capacity",
    "Composition",
    "Demonstration",
    "Explanation",
    "FewOutputs",
    "Hyper",
    "IndividualLeakage",
    "PopulationEstimate",
    "PredicateCapacity",
    "PredicateLeakage",
    "analyse",
    "attacker_success",
    "average_over_automorphisms",
    "average_over_distances",
    "cascade_composition",
    "database_bound",
    "epsilon_for_bits",
    "epsilon_for_success",
    "epsilon_for_utility",
    "equalised",
    "estimate_population",
    "explain",
    "few_outputs_bound",
    "g_leakage",
    "g_vulnerability",
    "graph_bound",
    "guessing_entropy",
    "hyper",
    "individual_bound",
    "individual_leakage",
    "leakage_of_sets",
    "leakage_without_privacy",
    "maxima_on_diagonal",
    "min_capacity",
    "min_entropy",
    "min_entropy_leakage",
    "most_leakage",
    "mutual_information",
    "parallel_composition",
    "plain_individual_bound",
    "posterior",
    "posterior_g_vulnerability",
    "posterior_guessing_entropy",
    "posterior_min_entropy",
    "posterior_shannon_entropy",
    "posterior_vulnerability",
    "predicate_capacity",
    "predicate_leakage",
    "regular_prior_bound",
    "repeated_composition",
    "shannon_capacity",
    "shannon_entropy",
    "utility_bound",
    "vulnerability",
]
