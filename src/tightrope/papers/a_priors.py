"""Paper A, sections 2 to 4: answer graphs, regular priors and their bounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel, DenseChannel, is_private, remap
from tightrope.consumers import Consumer, Prior, best_remap, utility
from tightrope.consumers.regular import corner_prior, regularity
from tightrope.consumers.regular_bounds import entry_bounds, ratio_bound, uniform_leakage_bits
from tightrope.consumers.regular_levels import leakage_curves, region_corners, regular_levels
from tightrope.graphs import AnswerGraph, Clique, Cycle, PathPower, petersen
from tightrope.leakage import min_entropy_leakage
from tightrope.mechanisms import exponential, geometric
from tightrope.papers.claims import Book, Found
from tightrope.phi import Phi
from tightrope.queries import query

book = Book("A")

_TESTS = "tests/papers/test_paper_a.py"
_EXAMPLE_3 = "product(.3,.27,.23,.2)"
_LEVEL_2, _LEVEL_5 = "ln(2)", "ln(5)"


def _people() -> AnswerGraph:
    return query("databases(5,4)").graph


def _random_private(graph: AnswerGraph, epsilon: str, random: np.random.Generator) -> Channel:
    """Return a private channel nobody designed: exponential noise after a random remap."""
    outputs = random.dirichlet(np.full(4, 0.4), size=graph.size)
    return remap(exponential(graph, epsilon), DenseChannel(outputs))


def _regular_priors(graph: AnswerGraph, epsilon: str, count: int) -> NDArray[np.float64]:
    random = np.random.default_rng(11)
    weights = random.dirichlet(np.full(graph.size, 0.3), size=count)
    priors = weights @ region_corners(graph, epsilon)
    return np.asarray(priors / priors.sum(axis=1, keepdims=True))


@book.claim(
    "Fig 1, f1 and f2",
    "a count has a line, a count modulo n+1 a ring",
    function="tightrope.query",
    test="tests/unit/queries/test_families.py",
)
def _line_and_ring() -> Found:
    line, ring = query("count(5)").graph, query("count_mod(6,6)").graph
    return Found(line.is_path and ring.is_cycle, "for n = 5")


@book.claim(
    "Fig 1, f3",
    "neighbours of an inner answer of two counts (4 in the figure)",
    "4",
    function="tightrope.query",
    correction="Figure 1 draws a grid with four neighbours, section 6 and Figure 5(b) compute with "
    "eight. Changing one person can move both counts at once, so under change-one eight is right.",
)
def _two_counts() -> Found:
    graph = query("counts(4,2)").graph
    return Found(len(graph.neighbours(graph.index((2, 2)))), "in counts(4,2)")


@book.claim(
    "Lemma 1, Prop 1",
    "privacy on adjacent answers is privacy at every distance",
    function="tightrope.channels.is_private",
    test="tests/properties/test_channels.py",
)
def _edges_and_pairs() -> Found:
    random = np.random.default_rng(1)
    graph = petersen()
    apart = np.exp(math.log(2) * graph.distance_matrix())
    agreed = private = 0
    for _ in range(40):
        # Mixing in a little of a deterministic channel breaks privacy now and then.
        sharp = np.eye(4)[random.integers(4, size=10)]
        share = random.choice([0.0, 0.01, 0.1])
        rows = (1 - share) * _random_private(graph, _LEVEL_2, random).matrix() + share * sharp
        pairs = bool((rows[:, None] <= apart[:, :, None] * rows[None] * (1 + 1e-9)).all())
        agreed += pairs == is_private(DenseChannel(rows), graph, _LEVEL_2).private
        private += pairs
    return Found(agreed == 40, f"both tests agree on {agreed} of 40 channels, {private} private")


@book.claim(
    "Def 4",
    "Φ is symmetric and tends to the identity",
    function="tightrope.phi.Phi",
    test=f"{_TESTS}::test_definition_4_phi",
)
def _phi() -> Found:
    near = Phi(query("counts(3,2)").graph, 40).matrix()
    far = Phi(query("counts(3,2)").graph, 0.3).matrix()
    same = bool((far == far.T).all())
    return Found(same and float(np.abs(near - np.eye(16)).max()) < 1e-17, "at ε = 0.3 and 40")


@book.claim(
    "Prop 2",
    "entries of a regular prior differ by at most e^{εd}",
    function="tightrope.consumers.regular_bounds.ratio_bound",
)
def _ratios() -> Found:
    graph = query("counts(2,2)").graph
    limit = np.array([[ratio_bound(graph, _LEVEL_2, i, j) for j in range(9)] for i in range(9)])
    priors = _regular_priors(graph, _LEVEL_2, 200)
    within = (priors[:, :, None] <= limit * priors[:, None, :] * (1 + 1e-12)).all()
    return Found(bool(within), "for 200 regular priors of counts(2,2)")


@book.claim(
    "after Prop 2",
    "that ratio alone does not make a prior regular",
    function="tightrope.consumers.regular.regularity",
    test=f"{_TESTS}::test_proposition_2_ratios_do_not_suffice",
)
def _ratios_do_not_suffice() -> Found:
    found = regularity([0.2, 0.4, 0.4], Clique(3), _LEVEL_2)
    return Found(not found.regular and found.certain, "(.2, .4, .4) on three adjacent answers")


@book.claim(
    "Prop 3",
    "largest entry of a regular prior, four adjacent answers, α = 0.2",
    "0.625",
    function="tightrope.consumers.regular_bounds.entry_bounds",
    test=f"{_TESTS}::test_proposition_3_is_reached_by_corners",
)
def _entries() -> Found:
    return Found(entry_bounds(Clique(4), _LEVEL_5, 0)[1], "reached by a corner prior")


@book.claim(
    "Def 6, Fig 3, α = 0.5",
    "corner prior of two counts of one person, from the formula",
    ("0.4", "0.2", "0.2", "0.2"),
    function="tightrope.consumers.regular.corner_prior",
    test=f"{_TESTS}::test_definition_6_corner_priors_of_example_2",
)
def _corners_half() -> Found:
    graph = query("counts(1,2)").graph
    return Found(corner_prior(graph, _LEVEL_2, 0).probabilities.tolist())


@book.claim(
    "Def 6, Fig 3, α = 0.2",
    "corner prior of two counts of one person, from the formula",
    ("0.625", "0.125", "0.125", "0.125"),
    function="tightrope.consumers.regular.corner_prior",
    test=f"{_TESTS}::test_definition_6_corner_priors_of_example_2",
)
def _corners_fifth() -> Found:
    graph = query("counts(1,2)").graph
    return Found(corner_prior(graph, _LEVEL_5, 0).probabilities.tolist())


@book.claim(
    "Prop 4",
    "regular priors are the mixtures of corner priors, with weights that sum to 1",
    function="tightrope.consumers.regular.regularity",
    test="tests/unit/consumers/test_regular.py",
)
def _convexity() -> Found:
    graph = query("sum(3,2)").graph
    worst = 0.0
    for prior in _regular_priors(graph, _LEVEL_2, 20):
        found = regularity(prior, graph, _LEVEL_2)
        if not found.regular:
            return Found(False, "a mixture that is not regular")
        made = found.coordinates @ region_corners(graph, _LEVEL_2)
        worst = max(worst, abs(found.coordinates.sum() - 1), float(np.abs(made - prior).max()))
    return Found(bool(worst < 1e-12), "for 20 mixtures on sum(3,2)")


@book.claim(
    "Fig 2",
    "the region grows from α = 0.5 to α = 0.2, on a line and on a ring of 3",
    function="tightrope.consumers.regular_levels.region_corners",
    test=f"{_TESTS}::test_figure_2_the_region_grows_with_epsilon",
)
def _regions_grow() -> Found:
    for graph in (PathPower(3), Cycle(3)):
        for corner in region_corners(graph, _LEVEL_2):
            if not regularity(corner / corner.sum(), graph, _LEVEL_5).regular:
                return Found(False, f"not on {graph.name}")
    return Found(True, "every corner of the smaller region lies in the larger")


@book.claim(
    "Lemma 2",
    "U = y·1 - y·s for every private mechanism and remap",
    function="tightrope.consumers.utility",
)
def _lemma_2() -> Found:
    random = np.random.default_rng(2)
    graph = query("sum(3,2)").graph
    prior = Prior(random.dirichlet(np.ones(graph.size)))
    y = np.linalg.solve(Phi(graph, _LEVEL_2).matrix(), prior.probabilities)
    worst = 0.0
    for _ in range(20):
        channel = _random_private(graph, _LEVEL_2, random)
        consumer = Consumer.of(graph, prior=prior, loss="binary")
        guessed = remap(channel, best_remap(channel, consumer).channel).matrix()
        slack = 1 - Phi(graph, _LEVEL_2).matrix() @ guessed.diagonal()
        worst = max(worst, abs(float(y.sum() - y @ slack) - utility(channel, consumer)))
    return Found(worst < 1e-12, "for 20 mechanisms on sum(3,2)")


@book.claim(
    "Thm 1",
    "Σy bounds the utility for a regular prior",
    function="tightrope.consumers.regular.regularity",
    test=f"{_TESTS}::test_theorem_1_is_met_by_the_tight_constraints_mechanism",
)
def _theorem_1() -> Found:
    random = np.random.default_rng(3)
    graph = query("sum(3,2)").graph
    for prior in _regular_priors(graph, _LEVEL_2, 10):
        bound = regularity(prior, graph, _LEVEL_2).utility_bound
        consumer = Consumer.of(graph, prior=Prior(prior), loss="binary")
        tried = [_random_private(graph, _LEVEL_2, random) for _ in range(5)]
        tried += [geometric(graph, _LEVEL_2), exponential(graph, _LEVEL_2)]
        if max(utility(channel, consumer) for channel in tried) > bound + 1e-12:
            return Found(False, "a mechanism above the bound")
    return Found(True, "for 10 priors and 7 mechanisms each")


@book.claim(
    "Prop 5",
    "the leakage is log2 of the utility over the largest prior entry",
    function="tightrope.leakage.min_entropy_leakage",
    test="tests/properties/test_leakage.py",
)
def _proposition_5() -> Found:
    random = np.random.default_rng(4)
    graph = query("sum(3,2)").graph
    worst = 0.0
    for _ in range(20):
        prior = Prior(random.dirichlet(np.ones(graph.size)))
        channel = _random_private(graph, _LEVEL_2, random)
        consumer = Consumer.of(graph, prior=prior, loss="binary")
        bits = math.log2(utility(channel, consumer) / prior.maximum)
        worst = max(worst, abs(bits - min_entropy_leakage(channel, prior)))
    return Found(worst < 1e-12, "for 20 channels")


@book.claim(
    "Prop 6, Cor 1",
    "log2 of Σy over the largest entry bounds the leakage; n·Σy does for all priors",
    function="tightrope.leakage.regular_prior_bound",
    test=f"{_TESTS}::test_theorem_2_and_corollary_1",
)
def _proposition_6() -> Found:
    random = np.random.default_rng(5)
    graph = query("count(6)").graph
    every = uniform_leakage_bits(graph, _LEVEL_2)
    for prior in _regular_priors(graph, _LEVEL_2, 10):
        bound = regularity(prior, graph, _LEVEL_2).leakage_bound_bits
        for channel in (_random_private(graph, _LEVEL_2, random), geometric(graph, _LEVEL_2)):
            bits = min_entropy_leakage(channel, Prior(prior))
            if bits > min(bound, every) + 1e-12:
                return Found(False, "a mechanism leaks more")
    return Found(True, "for 10 priors and 2 mechanisms each")


@book.claim(
    "Thm 2",
    "u·log2(v e^ε / (v-1+e^ε)) bounds the leakage of 5 people with 4 values, ε = 0.5",
    f"{5 * math.log2(4 * math.exp(0.5) / (3 + math.exp(0.5))):.9f}",
    function="tightrope.consumers.regular_bounds.uniform_leakage_bits",
    test=f"{_TESTS}::test_theorem_2_and_corollary_1",
)
def _theorem_2() -> Found:
    return Found(uniform_leakage_bits(_people(), 0.5), "from the y of the uniform prior")


@book.claim(
    "Ex 3, all priors",
    "bits that every mechanism may leak at ε = 0.5",
    "2.5",
    function="tightrope.consumers.regular_bounds.uniform_leakage_bits",
    test=f"{_TESTS}::test_example_3_values",
)
def _example_3_all() -> Found:
    return Found(uniform_leakage_bits(_people(), 0.5))


@book.claim(
    "Ex 3, published formula",
    "log2 of Σy over the largest entry at ε = 0.5",
    "1.2",
    function="tightrope.consumers.regular.regularity",
    test=f"{_TESTS}::test_example_3_values",
)
def _example_3_formula() -> Found:
    found = regularity(_EXAMPLE_3, _people(), 0.5)
    return Found(math.log2(found.y_sum / found.maximum), "with entries of y below 0")


@book.claim(
    "Ex 3, this prior",
    "a bound in bits for this prior at ε = 0.5",
    "1.2",
    function="tightrope.consumers.regular.regularity",
    test=f"{_TESTS}::test_example_3_values",
    correction="At ε = 0.5 the prior is not regular: y has negative entries, so its sum bounds "
    "nothing. The bound that holds for any prior, min Σy over yΦ ≥ π and y ≥ 0, is larger.",
)
def _example_3_bound() -> Found:
    return Found(regularity(_EXAMPLE_3, _people(), 0.5).leakage_bound_bits)


@book.claim(
    "Ex 3, least ε to 1e-4",
    "first ε, in steps of 0.01, with every entry of y above -1e-4",
    "0.48",
    function="tightrope.consumers.regular_levels.regular_levels",
    test=f"{_TESTS}::test_example_3_published_and_true_level",
)
def _example_3_published() -> Found:
    return Found(regular_levels(_EXAMPLE_3, _people(), tolerance=1e-4, high=1).minimum)


@book.claim(
    "Ex 3, least ε",
    "smallest ε for which the prior is regular",
    "0.48",
    function="tightrope.consumers.regular_levels.regular_levels",
    test=f"{_TESTS}::test_example_3_published_and_true_level",
    correction="0.48 is where the most negative entry of y passes -1e-4. y ≥ 0 holds from ln 2 on, "
    "decided with exact polynomials: the prior and Φ are products over the people.",
)
def _example_3_level() -> Found:
    return Found(regular_levels(_EXAMPLE_3, _people()).minimum, "= ln 2")


@book.claim(
    "Fig 4",
    "the bound for this prior lies below the one for all priors",
    function="tightrope.consumers.regular_levels.leakage_curves",
    test=f"{_TESTS}::test_figure_4",
)
def _figure_4() -> Found:
    levels = [0.7, 0.8, 0.9, 1.0]
    curves = leakage_curves(_EXAMPLE_3, _people(), levels)
    pairs = zip(curves.this_prior, curves.every_prior, strict=True)
    below = all(this is not None and this < every for this, every in pairs)
    return Found(below, "at ε = 0.7, 0.8, 0.9 and 1")
