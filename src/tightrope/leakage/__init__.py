"""Leakage: what a channel tells about the secret that goes in, and how to choose ε.

>>> from tightrope.channels import Channel
>>> from tightrope.leakage import min_entropy_leakage
>>> round(min_entropy_leakage(Channel([[0.75, 0.25], [0.25, 0.75]])), 4)
0.585
"""

from tightrope.leakage.bounds import (
    attacker_success as attacker_success,
    average_over_automorphisms as average_over_automorphisms,
    average_over_distances as average_over_distances,
    database_bound as database_bound,
    epsilon_for_utility as epsilon_for_utility,
    explain as explain,
    few_outputs_bound as few_outputs_bound,
    individual_bound as individual_bound,
    leakage_without_privacy as leakage_without_privacy,
    maxima_on_diagonal as maxima_on_diagonal,
    most_leakage as most_leakage,
    plain_individual_bound as plain_individual_bound,
    regular_prior_bound as regular_prior_bound,
    utility_bound as utility_bound,
)
from tightrope.leakage.capacity import (
    estimate_population as estimate_population,
    shannon_capacity as shannon_capacity,
)
from tightrope.leakage.measures import (
    analyse as analyse,
    individual_leakage as individual_leakage,
    min_capacity as min_capacity,
    min_entropy_leakage as min_entropy_leakage,
    mutual_information as mutual_information,
    posterior_min_entropy as posterior_min_entropy,
    posterior_vulnerability as posterior_vulnerability,
    repeated_composition as repeated_composition,
)
