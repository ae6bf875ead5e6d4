"""Answer graphs: which answers neighbouring databases can give, and their distances.

>>> from tightrope.graphs import PathPower, ExplicitGraph
>>> PathPower(751, 5).diameter
150
"""

from tightrope.graphs.base import AnswerGraph as AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph as ExplicitGraph
from tightrope.graphs.files import (
    read_graph as read_graph,
    read_points as read_points,
    write_graph as write_graph,
)
from tightrope.graphs.histograms import Histograms as Histograms
from tightrope.graphs.lines import (
    Clique as Clique,
    Cycle as Cycle,
    PathPower as PathPower,
    Star as Star,
)
from tightrope.graphs.named import (
    chang as chang,
    folded_cube as folded_cube,
    petersen as petersen,
    truncated_tetrahedron as truncated_tetrahedron,
)
from tightrope.graphs.products import (
    CartesianProduct as CartesianProduct,
    Databases as Databases,
    StrongProduct as StrongProduct,
    hypercube as hypercube,
)
from tightrope.graphs.shapes import (
    close_ring as close_ring,
    path_order as path_order,
    shortest_cycle as shortest_cycle,
)
from tightrope.graphs.symmetry import (
    automorphism_group as automorphism_group,
    intersection_numbers as intersection_numbers,
    is_vertex_transitive as is_vertex_transitive,
)
