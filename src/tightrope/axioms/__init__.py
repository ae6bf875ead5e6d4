"""Privacy definitions in general, their axioms, and universal optimality.

>>> from tightrope.axioms import PrivacyBound
>>> PrivacyBound.approximate("ln(2)")(0.25)
0.5
"""

from tightrope.axioms.generic import (
    PrivacyBound as PrivacyBound,
    is_generic_private as is_generic_private,
    log_odds as log_odds,
    log_odds_bound as log_odds_bound,
)
from tightrope.axioms.measures import (
    determinant_utility as determinant_utility,
    dobrushin_optimum as dobrushin_optimum,
)
from tightrope.axioms.predicates import check_axioms as check_axioms
from tightrope.axioms.universality import (
    Refutation as Refutation,
    cycle_labelling as cycle_labelling,
    universality as universality,
)
