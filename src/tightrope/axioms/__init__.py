"""Privacy definitions in general, their axioms, and universal optimality.

>>> from tightrope.axioms import ApproximateBound
>>> ApproximateBound("ln(2)")(0.25)
0.5
"""

from tightrope.axioms.bounds import ApproximateBound, FunctionBound, PrivacyBound, TableBound
from tightrope.axioms.generic import GenericCheck, PrivacyCurve, is_generic_private
from tightrope.axioms.log_odds import LogOdds, log_odds, log_odds_bound

__all__ = [
    "ApproximateBound",
    "FunctionBound",
    "GenericCheck",
    "LogOdds",
    "PrivacyBound",
    "PrivacyCurve",
    "TableBound",
    "is_generic_private",
    "log_odds",
    "log_odds_bound",
]
