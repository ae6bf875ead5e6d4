"""Privacy definitions in general, their axioms, and universal optimality.

>>> from tightrope.axioms import ApproximateBound
>>> ApproximateBound("ln(2)")(0.25)
0.5
"""

from tightrope.axioms.bounds import ApproximateBound, FunctionBound, PrivacyBound, TableBound
from tightrope.axioms.cycles import cycle_labelling, refute_by_cycle
from tightrope.axioms.generic import GenericCheck, PrivacyCurve, is_generic_private
from tightrope.axioms.log_odds import LogOdds, log_odds, log_odds_bound
from tightrope.axioms.measures import DobrushinOptimum, determinant_utility, dobrushin_optimum
from tightrope.axioms.predicate_text import read_predicate
from tightrope.axioms.predicates import Breach, Condition, PredicateReport, examine
from tightrope.axioms.refutation import Refutation, Universal
from tightrope.axioms.trees import (
    TreeCertificate,
    refute_by_star,
    tree_certificate,
    tree_mechanism,
    tree_weights,
)
from tightrope.axioms.universality import Verdict, universality

__all__ = [
    "ApproximateBound",
    "Breach",
    "Condition",
    "DobrushinOptimum",
    "FunctionBound",
    "GenericCheck",
    "LogOdds",
    "PredicateReport",
    "PrivacyBound",
    "PrivacyCurve",
    "Refutation",
    "TableBound",
    "TreeCertificate",
    "Universal",
    "Verdict",
    "cycle_labelling",
    "determinant_utility",
    "dobrushin_optimum",
    "examine",
    "is_generic_private",
    "log_odds",
    "log_odds_bound",
    "read_predicate",
    "refute_by_cycle",
    "refute_by_star",
    "tree_certificate",
    "tree_mechanism",
    "tree_weights",
    "universality",
]
