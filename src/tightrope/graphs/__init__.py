"""Answer graphs: who can be told apart, and how far.

>>> from tightrope.graphs import Band, ExplicitGraph
>>> Band(751, 5).diameter
150
"""

from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.capped import CappedBand, CappedCounts
from tightrope.graphs.databases import Databases
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.histograms import AddRemoveHistograms, HistogramGraph, Histograms
from tightrope.graphs.lines import Band, Clique, Cycle, Star
from tightrope.graphs.means import mean_graph
from tightrope.graphs.medians import AddRemoveMedians, EitherMedians, MedianGraph
from tightrope.graphs.named import (
    BalancedTree,
    FoldedCube,
    chang,
    grid,
    hypercube,
    petersen,
    truncated_tetrahedron,
)
from tightrope.graphs.products import CartesianProduct, ProductGraph, StrongProduct

__all__ = [
    "AddRemoveHistograms",
    "AddRemoveMedians",
    "AnswerGraph",
    "BalancedTree",
    "Band",
    "CappedBand",
    "CappedCounts",
    "CartesianProduct",
    "Clique",
    "Cycle",
    "Databases",
    "EitherMedians",
    "ExplicitGraph",
    "FoldedCube",
    "HistogramGraph",
    "Histograms",
    "MedianGraph",
    "ProductGraph",
    "Star",
    "StrongProduct",
    "chang",
    "grid",
    "hypercube",
    "mean_graph",
    "petersen",
    "truncated_tetrahedron",
]
