"""Answer graphs: who can be told apart, and how far.

>>> from tightrope.graphs import PathPower, ExplicitGraph
>>> PathPower(751, 5).diameter
150
"""

from tightrope.graphs.automorphisms import AutomorphismGroup, automorphism_group, pair_orbits
from tightrope.graphs.averages import AddRemoveMedians, EitherMedians, mean_graph
from tightrope.graphs.base import LIMITS, AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.facts import graph_facts
from tightrope.graphs.files import read_graph, read_points, write_graph
from tightrope.graphs.histograms import AddRemoveHistograms, Histograms
from tightrope.graphs.lines import BalancedTree, CappedPathPower, Clique, Cycle, PathPower, Star
from tightrope.graphs.named import chang, petersen, truncated_tetrahedron
from tightrope.graphs.points import PointsGraph
from tightrope.graphs.products import (
    CappedCounts,
    CartesianProduct,
    Databases,
    FoldedCube,
    StrongProduct,
    grid,
    hypercube,
)
from tightrope.graphs.registry import FAMILIES as GRAPH_FAMILIES
from tightrope.graphs.registry import Family, Parameter
from tightrope.graphs.shapes import (
    add_adjacencies,
    close_ring,
    cycle_order,
    girth,
    path_order,
    shortest_cycle,
    tree_order,
)
from tightrope.graphs.symmetry import intersection_numbers, is_vertex_transitive

__all__ = [
    "GRAPH_FAMILIES",
    "LIMITS",
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
    "Family",
    "FoldedCube",
    "Histograms",
    "Parameter",
    "PathPower",
    "PointsGraph",
    "Star",
    "StrongProduct",
    "add_adjacencies",
    "automorphism_group",
    "chang",
    "close_ring",
    "cycle_order",
    "girth",
    "graph_facts",
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
