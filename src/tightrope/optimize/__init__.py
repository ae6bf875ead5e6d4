"""The best mechanism for a consumer: planner, engine, certificates.

>>> from tightrope.optimize import design
>>> design("path(4)", "ln(2)").route
'geometric'
"""

from tightrope.optimize.certificate import (
    Certificate as Certificate,
    LimitCertificate as LimitCertificate,
)
from tightrope.optimize.limits import (
    design_limited as design_limited,
    trade_off as trade_off,
)
from tightrope.optimize.minimax import minimax_remap as minimax_remap
from tightrope.optimize.planner import (
    ROUTES as ROUTES,
    design as design,
    explain_routes as explain_routes,
)
from tightrope.optimize.regret import design_many as design_many
from tightrope.optimize.result import Design as Design
from tightrope.optimize.settings import SolverSettings as SolverSettings
