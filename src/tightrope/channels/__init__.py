"""Channels: from true answers to reported outputs.

>>> from tightrope.channels import Channel
>>> Channel([[0.75, 0.25], [0.25, 0.75]]).column(0).tolist()
[0.75, 0.25]
"""

from tightrope.channels.base import (
    Channel as Channel,
    DeterministicChannel as DeterministicChannel,
    IntegerChannel as IntegerChannel,
    RuleChannel as RuleChannel,
    equal as equal,
    rational as rational,
)
from tightrope.channels.compose import (
    cascade as cascade,
    hidden_choice as hidden_choice,
    of_databases as of_databases,
    parallel as parallel,
    remap as remap,
)
from tightrope.channels.derive import derivable as derivable
from tightrope.channels.files import read_channel as read_channel
from tightrope.channels.generality import (
    column_graph as column_graph,
    make_maximally_general as make_maximally_general,
    maximally_general as maximally_general,
)
from tightrope.channels.guessed import GuessedNoise as GuessedNoise
from tightrope.channels.privacy import (
    is_private as is_private,
    smallest_epsilon as smallest_epsilon,
)
from tightrope.channels.structured import (
    ClampedChannel as ClampedChannel,
    GeometricChannel as GeometricChannel,
    KroneckerChannel as KroneckerChannel,
    ScaledPhi as ScaledPhi,
    UnboundedNoise as UnboundedNoise,
)
