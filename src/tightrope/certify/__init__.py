"""Proof-carrying mechanisms: integer weights, a certificate, and the judge that checks them.

>>> from tightrope.certify import verify
>>> verify(b"nothing").reasons
('not a mechanism file: it is only 7 bytes long',)
"""

from tightrope.certify.certificates import (
    Envelope,
    Limited,
    LinePrices,
    PhiBound,
    Prices,
    TreePrices,
)
from tightrope.certify.make import certify
from tightrope.certify.mechanism import Mechanism, read, write
from tightrope.certify.verification import Verification, judge_script, verify

__all__ = [
    "Envelope",
    "Limited",
    "LinePrices",
    "Mechanism",
    "PhiBound",
    "Prices",
    "TreePrices",
    "Verification",
    "certify",
    "judge_script",
    "read",
    "verify",
    "write",
]
