"""Φ, the matrix of privacy constraints, as an operator, and what follows from solving with it.

>>> from tightrope.graphs import PathPower
>>> from tightrope.phi import Phi
>>> Phi(PathPower(751, 5), 1).solve_ones().least
(5, 0.01135114916957...)
"""

from tightrope.phi.existence import (
    Existence as Existence,
    exists as exists,
    singular_epsilons as singular_epsilons,
)
from tightrope.phi.operator import Phi as Phi, Solution as Solution
