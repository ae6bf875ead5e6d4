"""Release: real data, exact draws, and a budget that cannot be overspent.

The room is also the function: ``tr.release(mechanism, data=…, sql=…, ledger=…)``.

>>> from tightrope.certify import certify
>>> from tightrope.channels import GeometricChannel
>>> from tightrope.graphs import PathPower
>>> from tightrope.release import Sampler
>>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
>>> Sampler(made, 3).draw() in range(6)
True
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tightrope.release.accounts import Account, Charge, OverBudget
    from tightrope.release.addresses import LedgerError
    from tightrope.release.audit import Audit, RowAudit, audit
    from tightrope.release.fact_files import parse_facts, read_facts
    from tightrope.release.facts import Column, Facts, Partition, Table
    from tightrope.release.interchange import (
        log_probabilities,
        opendp_measurement,
        write_log_probabilities,
    )
    from tightrope.release.ledger import Ledger
    from tightrope.release.ledger_check import LedgerReport, check_ledger
    from tightrope.release.receipts import read_receipt, verify_receipt, write_receipt
    from tightrope.release.releasing import DeclaredQuestion, Release, release
    from tightrope.release.remaps import apply_remap
    from tightrope.release.sampler import Sampler
    from tightrope.release.simulate import Simulation, simulate
    from tightrope.release.sources import SourceFailed

_PUBLIC = {
    "Account": "accounts",
    "Audit": "audit",
    "Charge": "accounts",
    "Column": "facts",
    "DeclaredQuestion": "releasing",
    "Facts": "facts",
    "Ledger": "ledger",
    "LedgerError": "addresses",
    "LedgerReport": "ledger_check",
    "OverBudget": "accounts",
    "Partition": "facts",
    "Release": "releasing",
    "RowAudit": "audit",
    "Sampler": "sampler",
    "Simulation": "simulate",
    "SourceFailed": "sources",
    "Table": "facts",
    "apply_remap": "remaps",
    "audit": "audit",
    "check_ledger": "ledger_check",
    "log_probabilities": "interchange",
    "opendp_measurement": "interchange",
    "parse_facts": "fact_files",
    "read_facts": "fact_files",
    "read_receipt": "receipts",
    "release": "releasing",
    "simulate": "simulate",
    "verify_receipt": "receipts",
    "write_log_probabilities": "interchange",
    "write_receipt": "receipts",
}

__all__ = [
    "Account",
    "Audit",
    "Charge",
    "Column",
    "DeclaredQuestion",
    "Facts",
    "Ledger",
    "LedgerError",
    "LedgerReport",
    "OverBudget",
    "Partition",
    "Release",
    "RowAudit",
    "Sampler",
    "Simulation",
    "SourceFailed",
    "Table",
    "apply_remap",
    "audit",
    "check_ledger",
    "log_probabilities",
    "opendp_measurement",
    "parse_facts",
    "read_facts",
    "read_receipt",
    "release",
    "simulate",
    "verify_receipt",
    "write_log_probabilities",
    "write_receipt",
]


def __getattr__(name: str) -> Any:
    """Load a public name the first time it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tightrope.release' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tightrope.release.{_PUBLIC[name]}"), name)


class _Room(types.ModuleType):
    """The room, which can be called: ``tr.release`` is both a place and a function.

    A module of the same name as a function in it (audit, simulate) must not hide the function.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        from tightrope.release.releasing import release

        return release(*args, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PUBLIC and isinstance(value, types.ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
