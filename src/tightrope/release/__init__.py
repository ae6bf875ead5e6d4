"""Release: real data, exact draws, and a budget that cannot be overspent.

>>> from tightrope.certify import certify
>>> from tightrope.channels import GeometricChannel
>>> from tightrope.graphs import Band
>>> from tightrope.release import Sampler
>>> made = certify(GeometricChannel(6, "ln(2)"), Band(6), "ln(2)", query="count(5)")
>>> Sampler(made, 3).draw() in range(6)
True
"""

from tightrope.release.audit import Audit, RowAudit, audit
from tightrope.release.interchange import (
    log_probabilities,
    opendp_measurement,
    write_log_probabilities,
)
from tightrope.release.sampler import Sampler
from tightrope.release.simulate import Simulation, simulate

__all__ = [
    "Audit",
    "RowAudit",
    "Sampler",
    "Simulation",
    "audit",
    "log_probabilities",
    "opendp_measurement",
    "simulate",
    "write_log_probabilities",
]
