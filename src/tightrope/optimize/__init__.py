"""The best mechanism for a consumer: planner, engine, certificates.

>>> from tightrope.optimize import design
>>> design("path(4)", "ln(2)").route
'geometric'
"""

from tightrope.optimize.certificate import Certificate, LimitCertificate, Multipliers
from tightrope.optimize.limits import design_limited, trade_off
from tightrope.optimize.minimax import MinimaxRemap, minimax_remap
from tightrope.optimize.planner import ROUTES, design, explain_routes
from tightrope.optimize.points import (
    Spanner,
    design_on_spanner,
    planar_geometric,
    planar_laplace,
    spanner,
)
from tightrope.optimize.problem import Problem
from tightrope.optimize.progress import Progress, Watch
from tightrope.optimize.regret import design_many
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings

__all__ = [
    "ROUTES",
    "Certificate",
    "Design",
    "LimitCertificate",
    "MinimaxRemap",
    "Multipliers",
    "Problem",
    "Progress",
    "SolverSettings",
    "Spanner",
    "Watch",
    "design",
    "design_limited",
    "design_many",
    "design_on_spanner",
    "explain_routes",
    "minimax_remap",
    "planar_geometric",
    "planar_laplace",
    "spanner",
    "trade_off",
]
