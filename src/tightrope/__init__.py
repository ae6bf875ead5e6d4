"""Tightrope: the best differentially private mechanism for a question, with proofs.

The public names are loaded on first use, so that importing the package stays fast.

>>> import tightrope as tr
>>> tr.query("sum(150,5)").graph.diameter
150
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public name -> module that defines it. One line for each name a user may write as ``tr.name``.
_PUBLIC = {
    "AnswerGraph": "tightrope.graphs",
    "Channel": "tightrope.channels",
    "Consumer": "tightrope.consumers",
    "Epsilon": "tightrope.epsilon",
    "Design": "tightrope.optimize",
    "InputError": "tightrope.errors",
    "Ledger": "tightrope.publish",
    "Loss": "tightrope.consumers",
    "Prior": "tightrope.consumers",
    "Query": "tightrope.queries",
    "TightropeError": "tightrope.errors",
    "design": "tightrope.optimize",
    "prove": "tightrope.proofs",
    "query": "tightrope.queries",
    "release": "tightrope.publish",
    "verify": "tightrope.certify",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    """Load a public name, or a room of the package, the first time it is asked for."""
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    else:
        try:
            value = importlib.import_module(f"tightrope.{name}")
        except ModuleNotFoundError as missing:
            if missing.name != f"tightrope.{name}":
                raise
            raise AttributeError(f"module 'tightrope' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
