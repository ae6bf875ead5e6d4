"""Answer graphs: who can be told apart, and how far.

>>> from tightrope.graphs import PathPower, ExplicitGraph
>>> PathPower(751, 5).diameter
150
"""

from tightrope.graphs.adjacencies import add_adjacencies, close_ring
from tightrope.graphs.automorphisms import AutomorphismGroup, automorphism_group, pair_orbits
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.capped import CappedCounts, CappedPathPower
from tightrope.graphs.complete import Clique
from tightrope.graphs.databases import Databases
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.files import read_graph, write_graph
from tightrope.graphs.histograms import AddRemoveHistograms, HistogramGraph, Histograms
from tightrope.graphs.lines import Cycle, PathPower, Star
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
from tightrope.graphs.point_files import read_points
from tightrope.graphs.points import PointsGraph
from tightrope.graphs.products import CartesianProduct, ProductGraph, StrongProduct
from tightrope.graphs.regularity import IntersectionNumbers, intersection_numbers
from tightrope.graphs.shapes import (
    TreeOrder,
    cycle_order,
    girth,
    path_order,
    shortest_cycle,
    tree_order,
)
from tightrope.graphs.symmetry import Symmetry, is_vertex_transitive

__all__ = [
    "AddRemoveHistograms",
    "AddRemoveMedians",
    "AnswerGraph",
    "AutomorphismGroup",
    "BalancedTree",
    "CappedCounts",
    "CappedPathPower",
    "CartesianProduct",
    "Clique",
    "Cycle",
    "Databases",
    "EitherMedians",
    "ExplicitGraph",
    "FoldedCube",
    "HistogramGraph",
    "Histograms",
    "IntersectionNumbers",
    "MedianGraph",
    "PathPower",
    "PointsGraph",
    "ProductGraph",
    "Star",
    "StrongProduct",
    "Symmetry",
    "TreeOrder",
    "add_adjacencies",
    "automorphism_group",
    "chang",
    "close_ring",
    "cycle_order",
    "girth",
    "grid",
    "hypercube",
    "intersection_numbers",
    "is_vertex_transitive",
    "mean_graph",
    "pair_orbits",
    "path_order",
    "petersen",
    "read_graph",
    "read_points",
    "shortest_cycle",
    "tree_order",
    "truncated_tetrahedron",
    "write_graph",
]
