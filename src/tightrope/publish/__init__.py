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

from tightrope.publish.accounts import OverBudget as OverBudget
from tightrope.publish.auditing import audit as audit
from tightrope.publish.entries import LedgerError as LedgerError
from tightrope.publish.facts import (
    Column as Column,
    parse_facts as parse_facts,
    read_facts as read_facts,
)
from tightrope.publish.ledger import Ledger as Ledger
from tightrope.publish.noise import (
    confidence_set as confidence_set,
    promised_error as promised_error,
)
from tightrope.publish.receipts import verify_receipt as verify_receipt
from tightrope.publish.releasing import (
    DeclaredQuestion as DeclaredQuestion,
    Release as Release,
    release as release,
)
from tightrope.publish.sampler import (
    Sampler as Sampler,
    opendp_measurement as opendp_measurement,
    simulate as simulate,
)
from tightrope.publish.sealed import SourceFailed as SourceFailed
