"""Publish: real data, exact draws, and a budget that cannot be overspent.

The whole way of an answer is one function: ``tr.release(mechanism, data=…, sql=…, ledger=…)``.

>>> from tightrope.certify import certify
>>> from tightrope.channels import GeometricChannel
>>> from tightrope.graphs import PathPower
>>> from tightrope.publish import Sampler
>>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
>>> Sampler(made, 3).draw() in range(6)
True
"""

from tightrope.publish.accounts import Account, Charge, OverBudget, SourceIdentity
from tightrope.publish.auditing import Audit, RowAudit, audit
from tightrope.publish.entries import LedgerError
from tightrope.publish.facts import Column, Facts, Partition, Table, parse_facts, read_facts
from tightrope.publish.interchange import (
    apply_remap,
    log_probabilities,
    opendp_measurement,
    write_log_probabilities,
)
from tightrope.publish.ledger import Ledger, LedgerReport, check_ledger
from tightrope.publish.receipts import read_receipt, verify_receipt, write_receipt
from tightrope.publish.releasing import DeclaredQuestion, Release, release
from tightrope.publish.sampler import Sampler, Simulation, simulate
from tightrope.publish.sealed import SourceFailed

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
    "SourceIdentity",
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
