"""Tightrope: the best differentially private mechanism for a question, with proofs.

The public names are loaded on first use, so that importing the package stays fast.

>>> import tightrope as tr
>>> tr.query("sum(150,5)").graph.diameter
150
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; the table below is what runs
    from tightrope.asking import ask as ask
    from tightrope.certify import verify as verify
    from tightrope.chains import sharpening as sharpening
    from tightrope.channels import Channel as Channel
    from tightrope.consumers import Consumer as Consumer, Loss as Loss, Prior as Prior
    from tightrope.epsilon import Epsilon as Epsilon
    from tightrope.errors import (
        InputError as InputError,
        TightropeError as TightropeError,
    )
    from tightrope.graphs import AnswerGraph as AnswerGraph
    from tightrope.optimize import Design as Design, design as design
    from tightrope.proofs import prove as prove
    from tightrope.publish import Ledger as Ledger, release as release
    from tightrope.queries import Query as Query, query as query

__version__ = "0.2.0"

#: Room -> the names that a user may write as ``tr.name``.
_PUBLIC = {
    "asking": "ask",
    "certify": "verify",
    "chains": "sharpening",
    "channels": "Channel",
    "consumers": "Consumer Loss Prior",
    "epsilon": "Epsilon",
    "errors": "InputError TightropeError",
    "graphs": "AnswerGraph",
    "optimize": "Design design",
    "proofs": "prove",
    "publish": "Ledger release",
    "queries": "Query query",
}
_HOME = {name: room for room, names in _PUBLIC.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name, or a room of the package, the first time it is asked for."""
    if name in _HOME:
        value = getattr(importlib.import_module(f"tightrope.{_HOME[name]}"), name)
    else:
        try:
            value = importlib.import_module(f"tightrope.{name}")
        except ModuleNotFoundError as missing:
            if missing.name != f"tightrope.{name}":
                raise
            raise AttributeError(
                f"module 'tightrope' has no attribute {name!r}"
            ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    hidden = {"annotations", "importlib", "Any", "TYPE_CHECKING"}
    return sorted({*globals(), *_HOME} - hidden)
