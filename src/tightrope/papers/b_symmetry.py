"""Paper B, sections 2 to 4: symmetry of graphs and the transformation of channels."""

from __future__ import annotations

import math

import numpy as np

from tightrope.channels import Channel, DenseChannel, is_private, remap
from tightrope.graphs import (
    AnswerGraph,
    Clique,
    Cycle,
    Databases,
    ExplicitGraph,
    automorphism_group,
    chang,
    hypercube,
    intersection_numbers,
    is_vertex_transitive,
    petersen,
    truncated_tetrahedron,
)
from tightrope.leakage import (
    average_over_automorphisms,
    average_over_distances,
    maxima_on_diagonal,
    min_capacity,
    min_entropy_leakage,
    posterior_min_entropy,
    posterior_vulnerability,
    utility_bound,
)
from tightrope.mechanisms import exponential
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("B")

_TESTS = "tests/papers/test_paper_b.py"
_LN2 = "ln(2)"


def _symmetric(graph: AnswerGraph) -> tuple[bool, bool]:
    return intersection_numbers(graph) is not None, is_vertex_transitive(graph)


def _noisy(graph: AnswerGraph, epsilon: str, seed: int, outputs: int) -> Channel:
    """Return a private channel nobody designed: exponential noise after a random remap."""
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.full(outputs, 0.5), size=graph.size)
    return remap(exponential(graph, epsilon), DenseChannel(rows))


@book.claim(
    "§2.1",
    "the min-capacity is log2 of the sum of the column maxima, reached by the uniform prior",
    function="tightrope.leakage.min_capacity",
    test=f"{_TESTS}::test_section_2_1_leakage_is_the_difference_of_entropies",
)
def _capacity() -> Found:
    channel = _noisy(Cycle(6), _LN2, 1, 7)
    capacity = math.log2(channel.matrix().max(axis=0).sum())
    random = np.random.default_rng(2)
    tried = [min_entropy_leakage(channel, random.dirichlet(np.ones(6))) for _ in range(50)]
    same = abs(min_capacity(channel) - capacity) < 1e-12
    top = abs(min_entropy_leakage(channel) - capacity) < 1e-12
    return Found(bool(same and top and max(tried) <= capacity), "against 50 other priors")


@book.claim(
    "Fig 1",
    "tetrahedron, cube, Petersen graph, a cycle, a cage and a clique have both symmetries",
    function="tightrope.graphs.intersection_numbers",
    test="tests/unit/graphs/test_symmetry.py",
)
def _figure_1() -> Found:
    # The Heawood graph, the cage of degree 3 and girth 6.
    ring = [(i, (i + 1) % 14) for i in range(14)]
    cage = ExplicitGraph(ring + [(i, (i + 5) % 14) for i in range(0, 14, 2)])
    graphs = (Clique(4), hypercube(3), petersen(), Cycle(8), cage, Clique(6))
    return Found(all(_symmetric(graph) == (True, True) for graph in graphs), "6 of 6 graphs")


@book.claim(
    "Fig 1(a), 1(b)",
    "two of them are the databases of 1 person with 4 values and of 3 with 2",
    function="tightrope.graphs.Databases",
    test=f"{_TESTS}::test_propositions_13_and_14_databases_have_both_symmetries",
)
def _hamming() -> Found:
    one, three = Databases(1, range(4)), Databases(3, range(2))
    cube = hypercube(3)
    same = bool((three.distance_matrix() == cube.distance_matrix()).all())
    return Found(one.is_clique and one.size == 4 and same)


@book.claim(
    "Fig 2(a)",
    "the Chang graph is distance-regular and not vertex-transitive",
    function="tightrope.graphs.is_vertex_transitive",
    test="tests/unit/graphs/test_symmetry.py",
)
def _chang() -> Found:
    return Found(_symmetric(chang()) == (True, False))


@book.claim(
    "Fig 2(b)",
    "the truncated tetrahedron is vertex-transitive and not distance-regular",
    function="tightrope.graphs.is_vertex_transitive",
    test="tests/unit/graphs/test_symmetry.py",
)
def _tetrahedron() -> Found:
    return Found(_symmetric(truncated_tetrahedron()) == (False, True))


@book.claim(
    "Prop 3, Prop 5",
    "either symmetry makes the ball sizes constant",
    function="tightrope.graphs.AnswerGraph",
    test=f"{_TESTS}::test_proposition_5_either_symmetry_makes_ball_sizes_constant",
)
def _balls() -> Found:
    graphs = (petersen(), chang(), truncated_tetrahedron(), Databases(3, range(3)))
    constant = all(graph.constant_ball_sizes is not None for graph in graphs)
    return Found(constant and query("path(6)").graph.constant_ball_sizes is None, "on 4 graphs")


@book.claim(
    "Lemma 7",
    "outputs can be joined until column maxima lie on the diagonal, with equal leakage",
    function="tightrope.leakage.maxima_on_diagonal",
    test="tests/unit/leakage/test_transform.py",
)
def _lemma_7() -> Found:
    graph = petersen()
    for seed in range(8):
        before = _noisy(graph, _LN2, seed, 14)
        after = maxima_on_diagonal(before)
        rows = after.matrix()
        diagonal = bool((rows.diagonal() >= rows.max(axis=0) - 1e-15).all())
        same = abs(posterior_min_entropy(after) - posterior_min_entropy(before)) < 1e-12
        if not (diagonal and same and is_private(after, graph, _LN2)):
            return Found(False, f"channel {seed}")
    return Found(True, "for 8 channels on the Petersen graph")


@book.claim(
    "Lemma 8",
    "on distance-regular graphs averaging makes the diagonal constant, with equal leakage",
    function="tightrope.leakage.average_over_distances",
    test="tests/unit/leakage/test_transform.py",
)
def _lemma_8() -> Found:
    graph = chang()
    before = maxima_on_diagonal(_noisy(graph, _LN2, 3, 40))
    return _equalised(graph, before, average_over_distances(before, graph))


@book.claim(
    "Lemma 9",
    "on vertex-transitive graphs so does averaging over automorphisms",
    function="tightrope.leakage.average_over_automorphisms",
    test="tests/unit/leakage/test_transform.py",
)
def _lemma_9() -> Found:
    graph = truncated_tetrahedron()
    before = maxima_on_diagonal(_noisy(graph, _LN2, 3, 20))
    return _equalised(graph, before, average_over_automorphisms(before, graph))


def _equalised(graph: AnswerGraph, before: Channel, after: Channel) -> Found:
    rows = after.matrix()
    constant = float(np.ptp(rows.diagonal())) < 1e-12 and rows.max() - rows[0, 0] < 1e-12
    same = abs(posterior_min_entropy(after) - posterior_min_entropy(before)) < 1e-12
    return Found(bool(constant and same and is_private(after, graph, _LN2)), f"on {graph.name}")


@book.claim(
    "Lemma 32",
    "automorphisms of the Petersen graph that take one node to a given one: |Γ|/n",
    "12",
    function="tightrope.graphs.automorphism_group",
    test="tests/unit/graphs/test_automorphisms.py",
)
def _lemma_32() -> Found:
    graph = petersen()
    fixing = automorphism_group(graph, [int(i == 0) for i in range(10)]).order
    total = automorphism_group(graph).order
    return Found(fixing, f"fix a node, of {total} in all")


@book.claim(
    "Prop 11, Thm 12",
    "1/Σ n_d e^{-εd} bounds the posterior vulnerability on symmetric graphs",
    function="tightrope.leakage.utility_bound",
    test=f"{_TESTS}::test_figure_5_and_theorem_12_on_a_noisy_channel",
)
def _theorem_12() -> Found:
    graphs = (petersen(), chang(), truncated_tetrahedron(), Cycle(7))
    gap = 1.0
    for graph in graphs:
        bound = utility_bound(graph, _LN2)
        for seed in range(5):
            found = posterior_vulnerability(_noisy(graph, _LN2, seed, graph.size + 3))
            gap = min(gap, bound - found)
    return Found(gap >= -1e-12, "for 20 channels on 4 graphs")


@book.claim(
    "Prop 13",
    "intersection numbers b_d of 3 people with 4 values: (u-d)(v-1)",
    ("9", "6", "3", "0"),
    function="tightrope.graphs.intersection_numbers",
    test=f"{_TESTS}::test_propositions_13_and_14_databases_have_both_symmetries",
)
def _b_numbers() -> Found:
    numbers = intersection_numbers(Databases(3, range(4)))
    return Found(list(numbers.b) if numbers else [])


@book.claim(
    "Prop 13, c_d",
    "intersection numbers c_d of 3 people with 4 values: d",
    ("0", "1", "2", "3"),
    function="tightrope.graphs.intersection_numbers",
    test=f"{_TESTS}::test_propositions_13_and_14_databases_have_both_symmetries",
)
def _c_numbers() -> Found:
    numbers = intersection_numbers(Databases(3, range(4)))
    return Found(list(numbers.c) if numbers else [])


@book.claim(
    "Prop 14",
    "databases are vertex-transitive",
    function="tightrope.graphs.automorphism_group",
    test=f"{_TESTS}::test_propositions_13_and_14_databases_have_both_symmetries",
)
def _transitive() -> Found:
    graph = Databases(3, range(4)).explicit()
    return Found(automorphism_group(graph).is_transitive, "3 people, 4 values, by search")


@book.claim(
    "(7)",
    "databases at distance d from one of 4 people with 3 values",
    ("1", "8", "24", "32", "16"),
    function="tightrope.graphs.Databases",
    test=f"{_TESTS}::test_propositions_13_and_14_databases_have_both_symmetries",
)
def _shells() -> Found:
    return Found(list(Databases(4, range(3)).constant_ball_sizes or ()))
