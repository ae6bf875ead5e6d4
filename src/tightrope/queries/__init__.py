"""Queries: a question about a table of people, and which two tables differ by one person.

>>> from tightrope.queries import query
>>> query("counts(30,2)").graph.edge_count
3660
"""

from tightrope.queries.derivation import derive, derive_from_multiset, derive_from_sum
from tightrope.queries.families import FAMILIES, Family, Parameter
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours
from tightrope.queries.text import parse, query

__all__ = [
    "FAMILIES",
    "Family",
    "Neighbours",
    "Parameter",
    "Query",
    "derive",
    "derive_from_multiset",
    "derive_from_sum",
    "parse",
    "query",
]
