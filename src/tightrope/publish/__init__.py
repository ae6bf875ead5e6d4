"""Publish: real data, exact draws, and a budget that cannot be overspent.

The whole way of an answer is one function: ``tr.release(mechanism, data=…, sql=…, ledger=…)``.

>>> from tightrope.certify import certify
>>> from tightrope.channels import GeometricChannel
>>> from tightrope.graphs import PathPower
>>> from tightrope.publish import Sampler
>>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
>>> Sampler(made, 3).draw() in range(6)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tightrope.publish.accounts import Account, Charge, OverBudget
    from tightrope.publish.addresses import LedgerError
    from tightrope.publish.auditing import Audit, RowAudit, audit
    from tightrope.publish.fact_files import parse_facts, read_facts
    from tightrope.publish.facts import Column, Facts, Partition, Table
    from tightrope.publish.interchange import (
        log_probabilities,
        opendp_measurement,
        write_log_probabilities,
    )
    from tightrope.publish.ledger import Ledger
    from tightrope.publish.ledger_check import LedgerReport, check_ledger
    from tightrope.publish.receipts import read_receipt, verify_receipt, write_receipt
    from tightrope.publish.releasing import DeclaredQuestion, Release, release
    from tightrope.publish.remaps import apply_remap
    from tightrope.publish.sampler import Sampler
    from tightrope.publish.simulation import Simulation, simulate
    from tightrope.publish.sources import SourceFailed

_PUBLIC = {
    "Account": "accounts",
    "Audit": "auditing",
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
    "RowAudit": "auditing",
    "Sampler": "sampler",
    "Simulation": "simulation",
    "SourceFailed": "sources",
    "Table": "facts",
    "apply_remap": "remaps",
    "audit": "auditing",
    "check_ledger": "ledger_check",
    "log_probabilities": "interchange",
    "opendp_measurement": "interchange",
    "parse_facts": "fact_files",
    "read_facts": "fact_files",
    "read_receipt": "receipts",
    "release": "releasing",
    "simulate": "simulation",
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
        raise AttributeError(f"module 'tightrope.publish' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tightrope.publish.{_PUBLIC[name]}"), name)
