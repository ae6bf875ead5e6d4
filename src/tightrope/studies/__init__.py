"""Studies: many designs, on one machine or on many, that survive being broken off.

>>> from tightrope.studies import Study, sweep
>>> [row["route"] for row in sweep(Study.of(["path(4)", "choice(3)"], "ln(2)"))]
['geometric', 'regular']
"""

from tightrope.studies.running import Outcome as Outcome, run_study as run_study, sweep as sweep
from tightrope.studies.store import described_in as described_in, read_rows as read_rows
from tightrope.studies.study import Study as Study
