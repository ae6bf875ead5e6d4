"""Proof-carrying mechanisms: integer weights, a certificate, and the checker that judges them.

The names are loaded on first use: checking a file imports nothing but NumPy.

>>> from tightrope.certify import verify
>>> verify(b"nothing").reasons
('not a mechanism file: it is only 7 bytes long',)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tightrope.certify.certificates import Cover, LinePrices, Prices, Roof, TreePrices
    from tightrope.certify.limited import Limited
    from tightrope.certify.make import certify
    from tightrope.certify.mechanism import Mechanism, read, write
    from tightrope.certify.script import checker_script
    from tightrope.certify.verification import Verification, verify

_PUBLIC = {
    "Cover": "certificates",
    "Limited": "limited",
    "LinePrices": "certificates",
    "Mechanism": "mechanism",
    "Prices": "certificates",
    "Roof": "certificates",
    "TreePrices": "certificates",
    "Verification": "verification",
    "certify": "make",
    "checker_script": "script",
    "read": "mechanism",
    "verify": "verification",
    "write": "mechanism",
}

__all__ = [
    "Cover",
    "Limited",
    "LinePrices",
    "Mechanism",
    "Prices",
    "Roof",
    "TreePrices",
    "Verification",
    "certify",
    "checker_script",
    "read",
    "verify",
    "write",
]


def __getattr__(name: str) -> Any:
    """Load a public name the first time it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tightrope.certify' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tightrope.certify.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value
