"""Φ, the matrix of privacy constraints, as an operator, and what follows from solving with it.

>>> from tightrope.graphs import PathPower
>>> from tightrope.phi import Phi
>>> Phi(PathPower(751, 5), 1).solve_ones().least
(5, 0.01135114916957...)
"""

from tightrope.phi.existence import always_above, certified_at, exists
from tightrope.phi.operator import Phi
from tightrope.phi.sampling import Existence
from tightrope.phi.singular_levels import SingularLevels, singular_epsilons
from tightrope.phi.solution import Solution

__all__ = [
    "Existence",
    "Phi",
    "SingularLevels",
    "Solution",
    "always_above",
    "certified_at",
    "exists",
    "singular_epsilons",
]
