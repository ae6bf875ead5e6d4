"""Channels: from true answers to reported outputs.

>>> from tightrope.channels import Channel
>>> Channel([[0.75, 0.25], [0.25, 0.75]]).column(0).tolist()
[0.75, 0.25]
"""

from tightrope.channels.base import Channel, RuleChannel
from tightrope.channels.compare import dobrushin, equal, reduced
from tightrope.channels.compose import (
    cascade,
    hidden_choice,
    of_databases,
    parallel,
    remap,
    restrict,
    visible_choice,
)
from tightrope.channels.derive import Derivation, derivable, equivalent, nearest_remap
from tightrope.channels.files import read_channel, write_channel
from tightrope.channels.generality import column_graph, make_maximally_general, maximally_general
from tightrope.channels.integer import DeterministicChannel, IntegerChannel, rational
from tightrope.channels.privacy import is_private, smallest_epsilon
from tightrope.channels.structured import GeometricChannel, KroneckerChannel, ScaledPhi

__all__ = [
    "Channel",
    "Derivation",
    "DeterministicChannel",
    "GeometricChannel",
    "IntegerChannel",
    "KroneckerChannel",
    "RuleChannel",
    "ScaledPhi",
    "cascade",
    "column_graph",
    "derivable",
    "dobrushin",
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
