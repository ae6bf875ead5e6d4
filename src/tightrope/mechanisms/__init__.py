"""Mechanisms in closed form: a graph and a privacy level in, a channel out.

>>> from tightrope.graphs import Clique
>>> from tightrope.mechanisms import exponential
>>> exponential(Clique(6), "ln(2)").row(0).round(4).tolist()
[0.2857, 0.1429, 0.1429, 0.1429, 0.1429, 0.1429]
"""

from tightrope.mechanisms.closed_forms import (
    exponential as exponential,
    geometric as geometric,
    highest_leakage as highest_leakage,
    independent as independent,
    randomized_response as randomized_response,
    ring as ring,
)
from tightrope.mechanisms.tight import (
    NoTightConstraints as NoTightConstraints,
    tight_constraints as tight_constraints,
)
