"""Queries: a question about a table of people, and which two tables differ by one person.

>>> from tightrope.queries import query
>>> query("counts(30,2)").graph.edge_count
3660
"""

from tightrope.queries.derivation import derive
from tightrope.queries.families import FAMILIES
from tightrope.queries.query import Neighbours, Query
from tightrope.queries.text import named, query

__all__ = ["FAMILIES", "Neighbours", "Query", "derive", "named", "query"]
