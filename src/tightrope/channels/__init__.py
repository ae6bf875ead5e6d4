"""Channels: from true answers to reported outputs.

>>> from tightrope.channels import Channel
>>> Channel([[0.75, 0.25], [0.25, 0.75]]).column(0).tolist()
[0.75, 0.25]
"""

from tightrope.channels.base import Channel, DenseChannel
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
    mixture,
    of_databases,
    parallel,
    remap,
    restrict,
    tagged_mixture,
)
from tightrope.channels.deterministic import DeterministicChannel
from tightrope.channels.files import read_channel
from tightrope.channels.geometric import GeometricChannel
from tightrope.channels.integer import IntegerChannel, rational
from tightrope.channels.kronecker import KroneckerChannel
from tightrope.channels.privacy import (
    PRIVACY_TOLERANCE,
    PrivacyCheck,
    SmallestEpsilon,
    is_private,
    smallest_epsilon,
)
from tightrope.channels.scaled_phi import ScaledPhi

__all__ = [
    "EQUALITY_TOLERANCE",
    "PRIVACY_TOLERANCE",
    "PROPORTION_TOLERANCE",
    "Channel",
    "Comparison",
    "DenseChannel",
    "DeterministicChannel",
    "GeometricChannel",
    "IntegerChannel",
    "KroneckerChannel",
    "PrivacyCheck",
    "Reduction",
    "ScaledPhi",
    "SmallestEpsilon",
    "cascade",
    "equal",
    "is_private",
    "mixture",
    "of_databases",
    "parallel",
    "rational",
    "read_channel",
    "reduced",
    "remap",
    "restrict",
    "smallest_epsilon",
    "tagged_mixture",
]
