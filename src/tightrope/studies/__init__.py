"""Studies: many designs, on one machine or on many, that survive being broken off.

>>> from tightrope.studies import Study, sweep
>>> [row["route"] for row in sweep(Study.of(["path(4)", "choice(3)"], "ln(2)"))]
['geometric', 'regular']
"""

from tightrope.studies.running import Outcome, run_study, sweep
from tightrope.studies.store import COLUMNS, Column, Store, described_in, read_rows
from tightrope.studies.study import Chunk, Row, Study, design_chunk, levels

__all__ = [
    "COLUMNS",
    "Chunk",
    "Column",
    "Outcome",
    "Row",
    "Store",
    "Study",
    "described_in",
    "design_chunk",
    "levels",
    "read_rows",
    "run_study",
    "sweep",
]
