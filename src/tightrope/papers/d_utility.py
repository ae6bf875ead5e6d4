"""Paper D, section 3 and appendices: generality, row graphs, the Dobrushin coefficient."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightrope.axioms import determinant_utility, dobrushin_optimum
from tightrope.channels import (
    DenseChannel,
    GeometricChannel,
    IntegerChannel,
    cascade,
    equal,
    is_private,
    rational,
    remap,
)
from tightrope.channels.column_graphs import maximally_general
from tightrope.channels.derive import derivable
from tightrope.channels.dobrushin import dobrushin
from tightrope.channels.generality import make_maximally_general
from tightrope.consumers import Consumer, expected_loss
from tightrope.graphs import Clique, PathPower, petersen
from tightrope.mechanisms import exponential, geometric
from tightrope.optimize import design
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("D")

_TESTS = "tests/papers/test_paper_d.py"
_LN2, _LN3 = "ln(2)", "ln(3)"


@book.claim(
    "Ex 3.2.1",
    "negative expected loss without a remap can grow by post-processing",
    function="tightrope.consumers.expected_loss",
    test=f"{_TESTS}::test_example_3_2_1_expected_loss_ignores_generality",
)
def _expected_loss() -> Found:
    graph = query("count(3)").graph
    noise = geometric(graph, _LN2)
    consumer = Consumer.of(graph, prior=[0.01, 0.49, 0.49, 0.01], loss="absolute")
    plain = expected_loss(noise, consumer, np.eye(4))
    best = expected_loss(noise, consumer)
    return Found(best < plain, f"loss {plain:.4f} as reported, {best:.4f} after a remap")


@book.claim(
    "§3, optimal from geometric",
    "an optimal mechanism for one consumer is derived from the geometric one, not the reverse",
    function="tightrope.channels.derive.derivable",
)
def _lossy() -> Found:
    graph = query("count(3)").graph
    consumer = Consumer.of(graph, prior=[0.01, 0.49, 0.49, 0.01], loss="absolute")
    found = design(graph, _LN2, consumer).channel
    noise = geometric(graph, _LN2)
    forth, back = derivable(found, noise), derivable(noise, found)
    return Found(bool(forth) and not back, "count(3), absolute loss")


@book.claim(
    "Ex 3.2.2",
    "|det| never grows by a square remap",
    function="tightrope.axioms.determinant_utility",
)
def _determinant() -> Found:
    random = np.random.default_rng(14)
    noise = geometric(PathPower(4), _LN2)
    start = float(determinant_utility(noise))
    after = [
        float(
            determinant_utility(
                remap(noise, DenseChannel(random.dirichlet(np.ones(4) / 4, size=4)))
            )
        )
        for _ in range(50)
    ]
    return Found(max(after) <= start, f"50 remaps, from {start:.4f}")


@book.claim(
    "Ex 3.2.3, App A",
    "nor does the negative Dobrushin coefficient by any remap",
    function="tightrope.channels.dobrushin.dobrushin",
    test="tests/unit/channels/test_dobrushin.py",
)
def _dobrushin_monotone() -> Found:
    random = np.random.default_rng(15)
    noise = geometric(PathPower(4), _LN2)
    start = dobrushin(noise).value
    after = [
        dobrushin(remap(noise, DenseChannel(random.dirichlet(np.ones(6) / 4, size=4)))).value
        for _ in range(50)
    ]
    return Found(max(after) <= start + 1e-12, f"50 remaps, from {start:.4f}")


@book.claim(
    "Def 3.3.1",
    "noise proportional to e^{-ε|i-z|}, cut at both ends, is the truncated geometric mechanism",
    function="tightrope.mechanisms.geometric",
    test=f"{_TESTS}::test_definition_3_3_1_geometric_is_truncated",
)
def _geometric() -> Found:
    n, far = 5, 80
    reach = np.arange(-far, n + far)
    rows = np.exp(-math.log(2) * np.abs(np.arange(n)[:, None] - reach))
    rows /= rows.sum(axis=1, keepdims=True)
    cut = np.zeros((n, n))
    np.add.at(cut.T, np.clip(reach, 0, n - 1), rows.T)
    return Found(
        equal(DenseChannel(cut), GeometricChannel(n, _LN2), tolerance=1e-12).equal, "n = 5"
    )


@book.claim(
    "Thm 3.3.3, App B",
    "splitting outputs ends in a maximally general mechanism that derives the first",
    function="tightrope.channels.generality.make_maximally_general",
)
def _generalise() -> Found:
    graph = petersen()
    flat = remap(exponential(graph, _LN2), DenseChannel(np.eye(3)[np.arange(10) % 3]))
    made = make_maximally_general(flat, graph, _LN2)
    general = maximally_general(made.channel, graph, _LN2).maximal
    derived = equal(cascade(made.channel, made.remap), flat, tolerance=1e-9).equal
    private = is_private(made.channel, graph, _LN2).private
    shape = f"3 outputs become {made.channel.shape[1]}"
    return Found(general and derived and private, f"{shape} on the Petersen graph")


@book.claim(
    "after Def 3.3.2",
    "a maximally general mechanism on two answers has at most as many outputs as R has trees",
    "1",
    function="tightrope.channels.column_graphs.maximally_general",
    test=f"{_TESTS}::test_appendix_b_outputs_stay_below_the_number_of_spanning_trees",
    correction="The direction of each tight edge counts: a tree with n-1 edges carries up to "
    "2^(n-1) different outputs. Two answers have one spanning tree; randomised response has two "
    "outputs that are not proportional, and is maximally general.",
)
def _trees() -> Found:
    response = IntegerChannel([[2, 1], [1, 2]])
    general = maximally_general(response, PathPower(2), _LN2).maximal
    return Found(response.shape[1] if general else 0, "outputs of randomised response at ln 2")


@book.claim(
    "App B, share a",
    "with ρ over all pairs between the components, the share a of the split is a probability",
    function="tightrope.channels.generality.make_maximally_general",
    test=f"{_TESTS}::test_appendix_b_maxima_over_all_pairs_give_negative_probabilities",
    correction="ρ1 and ρ2 must range over adjacent pairs only. On a line of three with e^ε = 2 the "
    "column (1, 2, 3)/6 has the components {0, 1} and {2}. All pairs give ρ2 = 3, above e^ε, and a "
    "negative a; adjacent ones give ρ2 = 3/2.",
)
def _ratios() -> Found:
    column = [Fraction(k, 6) for k in (1, 2, 3)]

    def share(pairs: list[tuple[int, int]]) -> Fraction:
        up = max(column[s] / column[t] for s, t in pairs)
        down = max(column[t] / column[s] for s, t in pairs)
        return (2 / down - 1) / (2 / up * 2 / down - 1)

    everywhere, adjacent = share([(0, 2), (1, 2)]), share([(1, 2)])
    channel = rational([[x, 1 - x] for x in column])
    split = make_maximally_general(channel, PathPower(3), _LN2).steps[0].shares
    detail = f"{everywhere} over all pairs, {adjacent} over adjacent ones"
    return Found(0 <= everywhere <= 1 or adjacent not in split, detail)


@book.claim(
    "Lemma 3.3.4, 3.3.5, n odd",
    "least Dobrushin value for 5 inputs in a row: -e^{-ε(n-1)/2}, ε = ln 2",
    "-1/4",
    function="tightrope.axioms.dobrushin_optimum",
    test=f"{_TESTS}::test_lemma_3_3_5_values",
)
def _odd() -> Found:
    return Found(dobrushin_optimum(PathPower(5), _LN2).exact)


@book.claim(
    "Lemma 3.3.5, n even",
    "for 6 inputs in a row: -2e^{-ε(n/2-1)}/(1+e^ε), ε = ln 2",
    "-1/6",
    function="tightrope.axioms.dobrushin_optimum",
    test=f"{_TESTS}::test_lemma_3_3_5_values",
)
def _even() -> Found:
    return Found(dobrushin_optimum(PathPower(6), _LN2).exact)


@book.claim(
    "§3.3, geometric",
    "the geometric mechanism is optimal under the Dobrushin coefficient",
    function="tightrope.channels.dobrushin.dobrushin",
    test=f"{_TESTS}::test_the_geometric_mechanism_is_dobrushin_optimal",
)
def _geometric_optimal() -> Found:
    worst = max(
        abs(
            dobrushin(geometric(PathPower(n), _LN2)).value
            - dobrushin_optimum(PathPower(n), _LN2).value
        )
        for n in range(2, 9)
    )
    return Found(worst < 1e-12, "for 2 to 8 answers")


@book.claim(
    "Lemma 3.3.7",
    "the two inputs that are told apart best are as far apart as possible",
    function="tightrope.axioms.dobrushin_optimum",
    test=f"{_TESTS}::test_lemma_3_3_7_only_the_diameter_counts",
)
def _far_apart() -> Found:
    graphs = [query(text).graph for text in ("petersen", "sum(4,2)", "star(3)", "cycle(7)")]
    pairs = ((graph, dobrushin_optimum(graph, _LN2).pair) for graph in graphs)
    return Found(all(graph.distance(i, j) == graph.diameter for graph, (i, j) in pairs), "4 graphs")


@book.claim(
    "Lemma 3.3.8, even d",
    "least value at diameter d = 2 when its conditions are read as in Lemma 3.3.5, ε = ln 2",
    "-2/3",
    function="tightrope.axioms.dobrushin_optimum",
    test=f"{_TESTS}::test_lemma_3_3_8_counts_nodes_as_length",
    correction="Lemma 3.3.5 counts the n = d+1 nodes of a path, Lemma 3.3.8 puts the length d into "
    "the same conditions. With lengths, even d gives -e^{-εd/2} and odd d gives "
    "-2e^{-ε(d-1)/2}/(1+e^ε).",
)
def _length_and_nodes() -> Found:
    return Found(dobrushin_optimum(PathPower(3), _LN2).exact, "reached by geometric noise")


@book.claim(
    "Lemma 3.3.8, odd d",
    "at d = 1 its conditions are empty, so that every mechanism on two answers is optimal",
    function="tightrope.channels.dobrushin.dobrushin",
    correction="Read with lengths, the conditions for d = 1 demand a tight edge. A mechanism that "
    "ignores its input meets the printed ones.",
)
def _empty_conditions() -> Found:
    useless = dobrushin(DenseChannel([[0.5, 0.5], [0.5, 0.5]])).value
    best = dobrushin_optimum(Clique(2), _LN3).value
    return Found(useless >= best, f"ignoring the input {useless:g}, randomised response {best:g}")


@book.claim(
    "§3.3, after general",
    "making a mechanism maximally general leaves its Dobrushin value where it is optimal",
    function="tightrope.channels.generality.make_maximally_general",
)
def _still_optimal() -> Found:
    graph = query("sum(3,2)").graph
    best = dobrushin_optimum(graph, _LN2)
    made = make_maximally_general(best.channel, graph, _LN2)
    value = dobrushin(made.channel).value
    return Found(
        abs(value - best.value) < 1e-12, f"{value:.6f} with {made.channel.shape[1]} outputs"
    )
