"""Proof-carrying mechanisms: integer weights, a certificate, and the judge that checks them.

>>> from tightrope.certify import verify
>>> verify(b"nothing").reasons
('not a mechanism file: it is only 7 bytes long',)
"""

from tightrope.certify.judge import judge_script as judge_script
from tightrope.certify.make import (
    Limited as Limited,
    Proof as Proof,
    certify as certify,
    certify_sharpened as certify_sharpened,
)
from tightrope.certify.mechanism import (
    Mechanism as Mechanism,
    verify as verify,
)
from tightrope.certify.scores import (
    AnyMechanism as AnyMechanism,
    ScoreMechanism as ScoreMechanism,
    by_score as by_score,
    is_by_score as is_by_score,
    read as read,
    read_verified as read_verified,
)
from tightrope.certify.tuples import (
    Bracket as Bracket,
    JointQuantiles as JointQuantiles,
    TupleMechanism as TupleMechanism,
)
