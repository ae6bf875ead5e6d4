"""Answer graphs: who can be told apart, and how far.

>>> from tightrope.graphs import Band, ExplicitGraph
>>> Band(751, 5).diameter
150
"""

from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.lines import Band, Clique, Cycle, Star
from tightrope.graphs.products import CartesianProduct, ProductGraph, StrongProduct

__all__ = [
    "AnswerGraph",
    "Band",
    "CartesianProduct",
    "Clique",
    "Cycle",
    "ExplicitGraph",
    "ProductGraph",
    "Star",
    "StrongProduct",
]
