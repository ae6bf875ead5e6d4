"""Paper C, section 4: which graphs have one mechanism for all consumers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tightrope.axioms import cycle_labelling, tree_weights, universality
from tightrope.graphs import Cycle, ExplicitGraph, Star, petersen
from tightrope.graphs.shapes import shortest_cycle
from tightrope.mechanisms import exponential
from tightrope.optimize import design
from tightrope.papers.c_consumers import impossible, uniform_on
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("C")

_TESTS = "tests/papers/test_paper_c.py"
_LN2 = "ln(2)"


@book.claim(
    "fn. 5",
    "a sum of bits modulo m ≤ n has a cycle of m answers",
    function="tightrope.query",
    test=f"{_TESTS}::test_footnotes_5_and_7",
)
def _footnote_5() -> Found:
    return Found(all(query(f"count_mod({m + 1},{m})").graph.is_cycle for m in (3, 4, 7)))


@book.claim(
    "fn. 7",
    "which value do all records share, if any: a star",
    function="tightrope.query",
    test=f"{_TESTS}::test_footnotes_5_and_7",
)
def _footnote_7() -> Found:
    graph = query("star(3)").graph
    return Found(graph.is_tree and graph.max_degree == 3 and graph.size == 4)


@book.claim(
    "(13)",
    "on a cycle the rows of X are shifts of δ(1, α, α², …, α², α)",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_claim_4_4",
)
def _cycle_rows() -> Found:
    worst = 0.0
    for m in (4, 5, 6, 7):
        found = design(Cycle(m), _LN2, route="plain").channel
        rows = found.matrix() - exponential(Cycle(m), _LN2).matrix()
        worst = max(worst, float(np.abs(rows).max()))
    return Found(worst < 1e-7, "m = 4, 5, 6, 7, by linear programs")


@book.claim(
    "(14)",
    "loss of the consumer on three neighbours of a cycle: that of a line of three, α = 1/2",
    "4/9",
    function="tightrope.optimize.design",
)
def _cycle_second() -> Found:
    graph = Cycle(5)
    found = design(graph, _LN2, uniform_on(graph, range(3)), route="plain")
    return Found(found.expected_loss, "on cycle(5)")


@book.claim(
    "Claim 4.4",
    "no universally optimal mechanism on a cycle",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_claim_4_4",
)
def _claim_44() -> Found:
    return impossible(("cycle(3)", "cycle(4)", "cycle(5)", "cycle(8)"), ("bayesian",))


@book.claim(
    "Claim 4.5",
    "the labelling changes by at most 1 modulo m along every edge",
    function="tightrope.axioms.cycle_labelling",
    test=f"{_TESTS}::test_thm_4_2_and_claim_4_5",
)
def _claim_45() -> Found:
    spiked = ExplicitGraph([*pairwise(range(6)), (5, 0), (2, 6), (6, 7), (7, 8), (4, 8)])
    graphs = (petersen(), query("grid(4,5)").graph, spiked, query("truncated_tetrahedron").graph)
    for graph in graphs:
        cycle = shortest_cycle(graph)
        if cycle is None:
            return Found(False, f"{graph.name} has no cycle")
        labels, m = np.array(cycle_labelling(graph, cycle)), len(cycle)
        steps = np.abs(labels[graph.edge_array()[:, 0]] - labels[graph.edge_array()[:, 1]])
        if (np.minimum(steps, m - steps) > 1).any():
            return Found(False, graph.name)
    return Found(True, "on 4 graphs")


@book.claim(
    "Thm 4.2",
    "none on any graph with a cycle",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_thm_4_2_and_claim_4_5",
)
def _theorem_42() -> Found:
    return impossible(("petersen", "grid(3,3)", "hypercube(3)", "chang"), ("bayesian",))


@book.claim(
    "Thm 4.3",
    "none on a tree with α > 1/(Δ-1)",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_thm_4_3_on_both_sides",
)
def _theorem_43() -> Found:
    refuted = all(
        universality(f"star({k})", epsilon).verdict == "no"
        for k, epsilon in ((3, "ln(1.99)"), (4, "ln(2.99)"), (6, "1"))
    )
    served = all(universality(f"star({k})", f"ln({k - 1})").verdict == "yes" for k in (3, 4, 6))
    return Found(refuted and served, "stars with 3, 4 and 6 rays; at α = 1/(Δ-1) there is one")


@book.claim(
    "Thm 4.3, c_0",
    "weight of the centre of a star with 4 rays: (1-(k-1)α)/(1+α), α = 1/4",
    "1/5",
    function="tightrope.axioms.tree_weights",
    test=f"{_TESTS}::test_thm_4_3_on_both_sides",
)
def _star_centre() -> Found:
    return Found(float(tree_weights(Star(4), "ln(4)")[0]))


@book.claim(
    "Thm 4.3, c_i",
    "weight of a leaf: 1/(1+α), α = 1/4",
    "4/5",
    function="tightrope.axioms.tree_weights",
    test=f"{_TESTS}::test_thm_4_3_on_both_sides",
)
def _star_leaf() -> Found:
    return Found(float(tree_weights(Star(4), "ln(4)")[1]))


@book.claim(
    "abstract",
    "essentially only a single count has a universally optimal mechanism",
    function="tightrope.axioms.universality",
    correction="True for α > 1/2. Below, under binary loss, every tree of degree up to 1 + 1/α has "
    "one as well: Theorem 4.3 is sharp. A tree that is not a line is no count.",
)
def _only_counts() -> Found:
    verdict = universality("tree(2,3)", "ln(4)").verdict
    return Found(verdict != "yes", "the balanced binary tree of height 3 has one at α = 1/4")
