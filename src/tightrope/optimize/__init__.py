"""The best mechanism for a consumer: planner, engine, certificates.

>>> from tightrope.optimize import design
>>> design("path(4)", "ln(2)").route
'geometric'
"""

from tightrope.optimize.certificate import Certificate, Multipliers
from tightrope.optimize.engine import Progress
from tightrope.optimize.minimax import MinimaxRemap, minimax_remap
from tightrope.optimize.planner import ROUTES, Route, design, explain_routes
from tightrope.optimize.problem import Problem
from tightrope.optimize.result import Design

__all__ = [
    "ROUTES",
    "Certificate",
    "Design",
    "MinimaxRemap",
    "Multipliers",
    "Problem",
    "Progress",
    "Route",
    "design",
    "explain_routes",
    "minimax_remap",
]
