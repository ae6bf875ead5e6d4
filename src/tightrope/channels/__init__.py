"""Channels: from true answers to reported outputs.

>>> from tightrope.channels import Channel
>>> Channel([[0.75, 0.25], [0.25, 0.75]]).column(0).tolist()
[0.75, 0.25]
"""

from tightrope.channels.base import Channel, RuleChannel
from tightrope.channels.compare import (
    EQUALITY_TOLERANCE,
    PROPORTION_TOLERANCE,
    Comparison,
    Reduction,
    equal,
    reduced,
)
from tightrope.channels.compose import (
    cascade,
    hidden_choice,
    of_databases,
    parallel,
    remap,
    restrict,
    visible_choice,
)
from tightrope.channels.derive import (
    DERIVATION_TOLERANCE,
    Derivation,
    Equivalence,
    Nearest,
    Witness,
    derivable,
    equivalent,
    nearest_remap,
)
from tightrope.channels.files import read_channel, write_channel
from tightrope.channels.generality import (
    ColumnGraph,
    Generalised,
    Generality,
    Split,
    column_graph,
    make_maximally_general,
    maximally_general,
)
from tightrope.channels.integer import DeterministicChannel, IntegerChannel, rational
from tightrope.channels.privacy import (
    PRIVACY_TOLERANCE,
    PrivacyCheck,
    SmallestEpsilon,
    is_private,
    smallest_epsilon,
)
from tightrope.channels.structured import GeometricChannel, KroneckerChannel, ScaledPhi

__all__ = [
    "DERIVATION_TOLERANCE",
    "EQUALITY_TOLERANCE",
    "PRIVACY_TOLERANCE",
    "PROPORTION_TOLERANCE",
    "Channel",
    "ColumnGraph",
    "Comparison",
    "Derivation",
    "DeterministicChannel",
    "Equivalence",
    "Generalised",
    "Generality",
    "GeometricChannel",
    "IntegerChannel",
    "KroneckerChannel",
    "Nearest",
    "PrivacyCheck",
    "Reduction",
    "RuleChannel",
    "ScaledPhi",
    "SmallestEpsilon",
    "Split",
    "Witness",
    "cascade",
    "column_graph",
    "derivable",
    "equal",
    "equivalent",
    "hidden_choice",
    "is_private",
    "make_maximally_general",
    "maximally_general",
    "nearest_remap",
    "of_databases",
    "parallel",
    "rational",
    "read_channel",
    "reduced",
    "remap",
    "restrict",
    "smallest_epsilon",
    "visible_choice",
    "write_channel",
]
