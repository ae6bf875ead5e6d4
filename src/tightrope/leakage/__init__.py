"""Leakage: what a channel tells about the secret that goes in, and how to choose ε.

>>> from tightrope.channels import Channel
>>> from tightrope.leakage import min_entropy_leakage
>>> round(min_entropy_leakage(Channel([[0.75, 0.25], [0.25, 0.75]])), 4)
0.585
"""

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
from tightrope.leakage.entropy import (
    g_vulnerability,
    guessing_entropy,
    min_entropy,
    shannon_entropy,
    vulnerability,
)
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

__all__ = [
    "Bound",
    "Capacity",
    "IndividualLeakage",
    "attacker_success",
    "database_bound",
    "epsilon_for_bits",
    "epsilon_for_success",
    "epsilon_for_utility",
    "few_outputs_bound",
    "g_leakage",
    "g_vulnerability",
    "graph_bound",
    "guessing_entropy",
    "individual_bound",
    "individual_leakage",
    "leakage_of_sets",
    "min_capacity",
    "min_entropy",
    "min_entropy_leakage",
    "mutual_information",
    "plain_individual_bound",
    "posterior_g_vulnerability",
    "posterior_guessing_entropy",
    "posterior_min_entropy",
    "posterior_shannon_entropy",
    "posterior_vulnerability",
    "regular_prior_bound",
    "shannon_capacity",
    "shannon_entropy",
    "utility_bound",
    "vulnerability",
]
