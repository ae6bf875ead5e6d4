"""Paper C, sections 2 and 3: single consumers, sums, histograms, bundles of counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tightrope.axioms import universality
from tightrope.axioms.refutation import Refutation
from tightrope.channels import DenseChannel, IntegerChannel, equal, is_private, rational
from tightrope.channels.column_graphs import maximally_general
from tightrope.channels.derive import derivable
from tightrope.consumers import Consumer, Loss, expected_loss
from tightrope.consumers import loss as read_loss
from tightrope.graphs import AnswerGraph, Clique
from tightrope.mechanisms import geometric, randomized_response
from tightrope.optimize import design, minimax_remap
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("C")

_TESTS = "tests/papers/test_paper_c.py"
_OPTIMAL = "tests/papers/test_paper_c_optimal.py"
_LN2 = "ln(2)"
_HALF = Fraction(1, 2)


def uniform_on(graph: AnswerGraph, nodes: range) -> Consumer:
    """Return the consumer with binary loss who finds some answers equally likely.

    >>> uniform_on(Clique(3), range(2)).prior.probabilities.tolist()
    [0.5, 0.5, 0.0]
    """
    prior = [Fraction(1, len(nodes)) if i in nodes else Fraction(0) for i in range(graph.size)]
    return Consumer(prior=prior, loss=Loss.binary(graph.size))


def _second(q: Fraction, alpha: Fraction = _HALF) -> IntegerChannel:
    """Return Y of Observation 3.1 for one q in [α, 1]."""
    whole = 1 + alpha
    return rational(
        [
            [1 / whole, alpha / whole, Fraction(0)],
            [alpha / whole, 1 / whole, Fraction(0)],
            [q / whole, 1 - q / whole, Fraction(0)],
        ]
    )


def _first(size: int, alpha: Fraction = _HALF) -> IntegerChannel:
    """Return X of (11) for ``size`` mutually adjacent answers."""
    whole = 1 + (size - 1) * alpha
    return rational([[(1 if i == o else alpha) / whole for o in range(size)] for i in range(size)])


@book.claim(
    "Obs 3.1, X",
    "least loss of the uniform consumer on three adjacent answers: 2α/(1+2α), α = 1/2",
    "1/2",
    function="tightrope.optimize.design",
    test=f"{_OPTIMAL}::test_observation_3_1_bayesian_on_the_triangle",
)
def _observation_x() -> Found:
    return Found(design(Clique(3), _LN2, route="plain").expected_loss, "by a linear program")


@book.claim(
    "Obs 3.1, matrix",
    "the optimal mechanism has 1 on the diagonal and α elsewhere, over 1+2α",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_observations_3_1_and_3_2",
)
def _observation_matrix() -> Found:
    found = design(Clique(3), _LN2, route="plain").channel
    return Found(equal(found, DenseChannel(_first(3).matrix()), tolerance=1e-7).equal, "at α = 1/2")


@book.claim(
    "Obs 3.1, Y",
    "least loss of the consumer who excludes the third answer: α/(1+α), α = 1/2",
    "1/3",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_observations_3_1_and_3_2",
)
def _observation_y() -> Found:
    graph = Clique(3)
    found = design(graph, _LN2, uniform_on(graph, range(2)), route="plain")
    return Found(found.expected_loss, "by a linear program")


@book.claim(
    "Obs 3.1, q",
    "every Y with q in [α, 1] is private and optimal, and no other q is",
    function="tightrope.consumers.expected_loss",
    test=f"{_TESTS}::test_observations_3_1_and_3_2",
)
def _observation_q() -> Found:
    graph = Clique(3)
    consumer = uniform_on(graph, range(2))
    inside = [_second(Fraction(k, 8)) for k in range(4, 9)]
    good = all(
        is_private(channel, graph, _LN2) and abs(expected_loss(channel, consumer) - 1 / 3) < 1e-12
        for channel in inside
    )
    outside = [is_private(_second(Fraction(k, 8)), graph, _LN2).private for k in (3, 9)]
    return Found(bool(good and not any(outside)), "5 values inside, 2 outside, in integers")


@book.claim(
    "Obs 3.2, X",
    "least worst loss of the risk-averse consumer on three adjacent answers, α = 1/2",
    "1/2",
    function="tightrope.optimize.design",
    test=f"{_OPTIMAL}::test_observation_3_2_risk_averse_on_the_triangle",
)
def _risk_x() -> Found:
    consumer = Consumer(support=range(3), loss=Loss.binary(3))
    return Found(design(Clique(3), _LN2, consumer).expected_loss)


@book.claim(
    "Obs 3.2, Y",
    "least worst loss of the risk-averse consumer who excludes the third answer, α = 1/2",
    "1/3",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_observations_3_1_and_3_2",
)
def _risk_y() -> Found:
    consumer = Consumer(support=range(2), loss=Loss.binary(3))
    return Found(design(Clique(3), _LN2, consumer).expected_loss)


@book.claim(
    "Claim 3.3",
    "nothing derives both X and some Y",
    function="tightrope.channels.derive.derivable",
    test=f"{_TESTS}::test_claim_3_3",
)
def _claim_33() -> Found:
    first = _first(3)
    # X is maximally general, so whatever derives it is derived from it.
    general = maximally_general(first, Clique(3), _LN2).maximal
    derived = [derivable(_second(Fraction(k, 8)), first) for k in range(4, 9)]
    witnessed = all(not found and found.exact and found.witness is not None for found in derived)
    return Found(general and witnessed, "X is maximally general; 5 values of q, each with a reader")


@book.claim(
    "§3.2.1",
    "least loss on m+1 adjacent answers: mα/(1+mα), for m = 5 and α = 1/2",
    "5/7",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_equation_11_for_more_values",
)
def _larger_cliques() -> Found:
    return Found(design(Clique(6), _LN2, route="plain").expected_loss, "by a linear program")


@book.claim(
    "§3.2.2",
    "for more records the consumer who believes in sums up to m loses the same 2α/(1+2α)",
    "1/2",
    function="tightrope.optimize.design",
)
def _more_records() -> Found:
    graph = query("sum(4,2)").graph
    found = design(graph, _LN2, uniform_on(graph, range(3)), route="plain")
    return Found(found.expected_loss, "on sum(4,2)")


def impossible(texts: tuple[str, ...], kinds: tuple[str, ...]) -> Found:
    """Return whether all of some queries are proved to have no universally optimal mechanism.

    >>> impossible(("cycle(4)",), ("bayesian",)).text()
    'yes: 1 of 1 cases refuted in exact arithmetic'
    """
    proved = 0
    for text in texts:
        for kind in kinds:
            found = universality(text, _LN2, kind=kind)
            proof = found.witness
            proved += found.verdict == "no" and isinstance(proof, Refutation) and proof.exact
    cases = len(texts) * len(kinds)
    return Found(proved == cases, f"{proved} of {cases} cases refuted in exact arithmetic")


_BOTH = ("bayesian", "risk-averse")


@book.claim(
    "Thm 3.4",
    "no universally optimal mechanism for sums of values up to m ≥ 2",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_thm_3_4_to_3_6",
)
def _theorem_34() -> Found:
    return impossible(("sum(1,2)", "sum(3,2)", "sum(4,5)"), _BOTH)


@book.claim(
    "Thm 3.5",
    "none for histograms of three or more categories",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_thm_3_4_to_3_6",
)
def _theorem_35() -> Found:
    return impossible(("histogram(1,3)", "histogram(3,3)", "histogram(2,4)"), _BOTH)


@book.claim(
    "Thm 3.6",
    "none for bundles of two or more counts",
    function="tightrope.axioms.universality",
    test=f"{_TESTS}::test_thm_3_4_to_3_6",
)
def _theorem_36() -> Found:
    return impossible(("counts(1,2)", "counts(3,2)", "counts(2,3)"), _BOTH)


@book.claim(
    "Thm 2.6",
    "maximally general iff every column graph is connected",
    function="tightrope.channels.column_graphs.maximally_general",
    test=f"{_TESTS}::test_thm_2_6_examples",
)
def _theorem_26() -> Found:
    path = query("path(6)").graph
    made = geometric(path, _LN2)
    joined = DenseChannel(np.column_stack([made.matrix()[:, :2].sum(axis=1), made.matrix()[:, 2:]]))
    connected = maximally_general(made, path, _LN2).maximal
    apart = maximally_general(joined, path, _LN2).maximal
    derives = bool(derivable(joined, made)) and not derivable(made, joined)
    return Found(connected and not apart and derives, "geometric noise, and two outputs joined")


@book.claim(
    "Thm 2.7",
    "on a count the geometric mechanism serves every prior and monotone loss",
    function="tightrope.optimize.design",
    test=f"{_TESTS}::test_thm_2_7_geometric_noise_serves_every_bayesian_consumer",
)
def _theorem_27() -> Found:
    random = np.random.default_rng(9)
    graph, worst = query("count(6)").graph, 0.0
    noise = geometric(graph, _LN2)
    for loss in ("binary", "absolute", "squared"):
        for _ in range(3):
            consumer = Consumer.of(graph, prior=random.dirichlet(np.full(7, 0.5)), loss=loss)
            best = design(graph, _LN2, consumer, route="plain").expected_loss
            worst = max(worst, abs(expected_loss(noise, consumer) - best))
    return Found(worst < 1e-7, "9 consumers, against a linear program")


@book.claim(
    "Thm 2.8",
    "and every risk-averse consumer, by a random remap",
    function="tightrope.optimize.minimax_remap",
    test=f"{_TESTS}::test_thm_2_8_and_every_risk_averse_one",
)
def _theorem_28() -> Found:
    graph, worst = query("count(5)").graph, 0.0
    noise = geometric(graph, _LN2)
    for loss in ("binary", "absolute", "squared"):
        for support in ((0, 1, 2), (1, 4), range(6)):
            consumer = Consumer(support=support, loss=read_loss(loss, graph))
            best = design(graph, _LN2, consumer).expected_loss
            worst = max(worst, abs(minimax_remap(noise, consumer).worst_loss - best))
    return Found(worst < 1e-7, "9 consumers, against a linear program")


@book.claim(
    "§2.2.1",
    "(2) to (5) describe the private mechanisms of a count",
    function="tightrope.channels.is_private",
    test="tests/properties/test_channels.py",
)
def _constraints() -> Found:
    graph, random, agreed = query("count(4)").graph, np.random.default_rng(10), 0
    for _ in range(30):
        share = random.choice([0.0, 0.02, 0.2])
        rows = (1 - share) * geometric(graph, _LN2).matrix()
        rows = rows + share * np.eye(5)[random.integers(5, size=5)]
        direct = bool(
            (rows[:-1] >= rows[1:] / 2 - 1e-12).all() and (rows[:-1] / 2 <= rows[1:] + 1e-12).all()
        )
        agreed += direct == is_private(DenseChannel(rows), graph, _LN2).private
    return Found(agreed == 30, f"both tests agree on {agreed} of 30 channels")


@book.claim(
    "Obs 3.1, response",
    "X is k-ary randomised response",
    function="tightrope.mechanisms.randomized_response",
    test="tests/unit/mechanisms/test_response.py",
)
def _response() -> Found:
    made = randomized_response(Clique(5), _LN2)
    return Found(equal(made, DenseChannel(_first(5).matrix()), tolerance=1e-12).equal)
