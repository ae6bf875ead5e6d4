"""Privacy definitions in general, their axioms, and universal optimality.

>>> from tightrope.axioms import ApproximateBound
>>> ApproximateBound("ln(2)")(0.25)
0.5
"""

from tightrope.axioms.bounds import (
    ApproximateBound as ApproximateBound,
    FunctionBound as FunctionBound,
    PrivacyBound as PrivacyBound,
    TableBound as TableBound,
)
from tightrope.axioms.cycles import cycle_labelling as cycle_labelling
from tightrope.axioms.generic import (
    PrivacyCurve as PrivacyCurve,
    is_generic_private as is_generic_private,
)
from tightrope.axioms.log_odds import log_odds as log_odds, log_odds_bound as log_odds_bound
from tightrope.axioms.measures import (
    determinant_utility as determinant_utility,
    dobrushin_optimum as dobrushin_optimum,
)
from tightrope.axioms.predicates import examine as examine
from tightrope.axioms.refutation import Refutation as Refutation
from tightrope.axioms.trees import (
    tree_certificate as tree_certificate,
    tree_weights as tree_weights,
)
from tightrope.axioms.universality import universality as universality
