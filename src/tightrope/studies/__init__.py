"""Studies: many designs, on one machine or on many, that survive being broken off.

>>> from tightrope.studies import Study, run_study
>>> [row["route"] for row in run_study(Study.of(["path(4)", "choice(3)"], "ln(2)")).rows()]
['geometric', 'regular']
"""

from tightrope.studies.running import (
    StudyOutcome as StudyOutcome,
    run_study as run_study,
)
from tightrope.studies.store import described_in as described_in, read_rows as read_rows
from tightrope.studies.study import Study as Study
