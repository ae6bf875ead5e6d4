"""Queries: a question about a table of people, and which two tables differ by one person.

>>> from tightrope.queries import query
>>> query("counts(30,2)").graph.edge_count
3660
"""

from tightrope.queries.derivation import derive as derive
from tightrope.queries.families import FAMILIES as FAMILIES
from tightrope.queries.query import Neighbours as Neighbours, Query as Query
from tightrope.queries.text import (
    by_score_instead as by_score_instead,
    query as query,
    usual_loss as usual_loss,
)
