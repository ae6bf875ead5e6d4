"""Mechanisms in closed form: a graph and a privacy level in, a channel out.

>>> from tightrope.graphs import Clique
>>> from tightrope.mechanisms import exponential
>>> exponential(Clique(6), "ln(2)").row(0).round(4).tolist()
[0.2857, 0.1429, 0.1429, 0.1429, 0.1429, 0.1429]
"""

from tightrope.mechanisms.exponential import ExponentialChannel, exponential
from tightrope.mechanisms.geometric import geometric, line_width
from tightrope.mechanisms.highest_leakage import highest_leakage
from tightrope.mechanisms.named import NamedMechanism, mechanism
from tightrope.mechanisms.response import randomized_response, ring
from tightrope.mechanisms.tight import NoTightConstraints, TightConstraints, tight_constraints

__all__ = [
    "ExponentialChannel",
    "NamedMechanism",
    "NoTightConstraints",
    "TightConstraints",
    "exponential",
    "geometric",
    "highest_leakage",
    "line_width",
    "mechanism",
    "randomized_response",
    "ring",
    "tight_constraints",
]
