"""Losses and bounds that are known in closed form."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope import proofs
from tightrope.certify import Proof, certify, verify
from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.format import Refused
from tightrope.certify.theorems.levels import convolved, far_sums
from tightrope.certify.theorems.phi import phi_room
from tightrope.channels import (
    Channel,
    GeometricChannel,
    IntegerChannel,
    ScaledPhi,
    rational,
)
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import Clique, ExplicitGraph, PathPower, petersen
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

RESPONSE = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]


def arcs(size, value):
    """On a clique, with the same multiplier from k to every other answer, for every guess k."""
    pairs = [(k, k, i) for k in range(size) for i in range(size) if i != k]
    guess, start, end = (list(column) for column in zip(*pairs, strict=True))
    return guess, start, end, [value] * len(pairs)


def test_the_clique_of_three_is_optimal_exactly():
    """Loss 2α/(1+2α) = 1/2 at α = 1/2 [C, Obs 3.1]; the certificate has no gap."""
    made = certify(
        rational(RESPONSE),
        "choice(3)",
        "ln(2)",
        consumer=Consumer.of(Clique(3)),
        certificate=Proof("multipliers", [1 / 6] * 3, arcs(3, 1 / 6)),
    )
    found = verify(made)
    assert found.reasons == ()
    assert made.expected_loss == Fraction(1, 2)
    # 1/6 is no dyadic number: the bound is as close as 60 binary places allow.
    assert 0 <= found.optimal_within < Fraction(1, 2**54)


def test_the_risk_averse_reader_has_the_same_value_there():
    """[C, Obs 3.2]; the prior that proves it is the uniform one."""
    made = certify(
        rational(RESPONSE),
        Clique(3),
        "ln(2)",
        consumer=Consumer.of(Clique(3), support=[0, 1, 2]),
        certificate=Proof("multipliers", [1 / 6] * 3, arcs(3, 1 / 6), mix=[1 / 3] * 3),
    )
    assert made.expected_loss == Fraction(1, 2)
    assert verify(made).optimal_within < Fraction(1, 10**15)


@pytest.mark.parametrize("graph", [Clique(4), petersen()], ids=lambda g: g.name)
def test_phi_proves_the_exponential_mechanism_of_symmetric_graphs(graph):
    sizes = np.array(graph.ball_sizes(0))
    z = 1 / (sizes * 0.5 ** np.arange(len(sizes))).sum()
    made = certify(
        ScaledPhi(graph, "ln(2)", z),
        graph,
        "ln(2)",
        consumer=Consumer.of(graph),
        certificate=Proof("phi", np.full(graph.size, z / graph.size)),
    )
    found = verify(made)
    assert found.reasons == ()
    assert float(made.expected_loss) == pytest.approx(1 - z)
    assert found.optimal_within < 1e-12


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared"])
@pytest.mark.parametrize(
    "prior", ["uniform", "binomial(.3)", "0.1,0.2,0.2,0.2,0.2,0.1"]
)
def test_the_stated_loss_is_the_loss_of_the_design(loss, prior):
    graph = PathPower(6)
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    channel = GeometricChannel(6, "0.7")
    made = certify(channel, "count(5)", "0.7", consumer=consumer)
    losses = np.stack([consumer.loss.row(i) for i in range(6)])
    wanted = consumer.prior.probabilities @ (channel.matrix() * losses).sum(axis=1)
    assert float(made.expected_loss) == pytest.approx(wanted, abs=1e-9)


def test_guesses_other_than_the_outputs():
    consumer = Consumer.of(PathPower(2), loss=[[0, 1, 0.25], [1, 0, 0.25]])
    three = IntegerChannel([[4, 2, 2], [2, 4, 2]])
    made = certify(three, PathPower(2), "ln(2)", consumer=consumer, guess_of=[1, 0, 2])
    # Half the time the wrong way round, a quarter of the time a pass.
    assert made.expected_loss == Fraction(1, 2) + Fraction(1, 4) * Fraction(1, 4)


def test_a_certificate_that_proves_less_states_less():
    made = certify(
        rational(RESPONSE),
        Clique(3),
        "ln(2)",
        consumer=Consumer.of(Clique(3)),
        certificate=Proof("multipliers", [0.1] * 3),
    )
    # Without multipliers a price can be no more than the least cost, which is 0 at the guess.
    assert made.bound == 0
    assert verify(made).optimal_within == Fraction(1, 2)


def test_what_makes_no_certificate():
    def made(kind, prices, **asked):
        proof = Proof(kind, prices)
        return certify(
            rational(RESPONSE), Clique(3), "ln(2)", certificate=proof, **asked
        )

    asked = {"consumer": Consumer.of(Clique(3))}
    with pytest.raises(InputError, match="needs its consumer"):
        made("multipliers", [0.1] * 3)
    with pytest.raises(InputError, match="3 prices"):
        made("multipliers", [0.1], **asked)
    with pytest.raises(InputError, match="finite"):
        made("multipliers", [np.nan] * 3, **asked)
    with pytest.raises(CheckFailed, match="not only by rounding"):
        made("phi", [0.01] * 3, **asked)
    line = Consumer.of(PathPower(4))
    with pytest.raises(CheckFailed, match="joins answers that are no neighbours"):
        certify(
            GeometricChannel(4, 1),
            PathPower(4),
            1,
            consumer=line,
            certificate=Proof("multipliers", [0.1] * 4, ([0], [0], [2], [0.1])),
        )


def test_the_certificate_is_needed_for_a_claim_of_optimality():
    made = certify(
        rational(RESPONSE), Clique(3), "ln(2)", consumer=Consumer.of(Clique(3))
    )
    assert verify(made).optimal_within is None
    assert verify(made).reasons == ()


def test_convolutions_of_any_width_are_exact():
    wide = np.array([1 << 500, -7, 3], object)
    assert convolved(wide, wide).tolist() == [-14 << 500, 49 + (6 << 500), -42]


def test_a_work_too_large_is_refused_before_it_is_begun():
    levels = list(range(1 << 17, 0, -1))
    with pytest.raises(Refused, match="too large"):
        far_sums(levels, 1, np.ones(1 << 18, np.int64), np.zeros(1 << 18, np.int64), 1)
    levels = [1 << 60 >> d // 100 for d in range(6001)]
    with pytest.raises(Refused, match="away from their outputs"):
        far_sums(levels, 1, np.ones(12_000, int), np.repeat([5999, -5999], 6000), 1)


# -- envelopes ---------------------------------------------------------------------------------


def under(text, prior, level="ln(3)"):
    """A tree, its best mechanism for binary loss and the file that proves it."""
    graph = query(text).graph
    consumer = Consumer.of(graph, prior=prior)
    found = design(graph, level, consumer)
    return found, prove(found)


@pytest.mark.parametrize("text", ["path(7)", "tree(2,2)", "star(4)"])
def test_an_envelope_proves_trees_of_few_branches_and_needs_no_prices(text):
    size = query(text).graph.size
    prior = np.where(np.arange(size) % 2, 1.0, 0.01)
    found, made = under(text, (prior / prior.sum()).tolist())
    assert made.header["certificate"]["kind"] == "envelope"
    assert 0 <= verify(made).optimal_within < 1e-12
    assert float(made.bound) == pytest.approx(found.bound, abs=1e-12)


def test_an_envelope_is_for_binary_loss_and_trees_with_edges_of_one_length():
    with pytest.raises(CheckFailed, match="for binary loss"):
        certify(
            GeometricChannel(4, 1),
            PathPower(4),
            1,
            consumer=Consumer.of(PathPower(4), loss="absolute"),
            certificate=Proof("envelope"),
        )
    with pytest.raises(CheckFailed, match="no tree"):
        certify(
            rational(RESPONSE),
            Clique(3),
            "ln(2)",
            consumer=Consumer.of(Clique(3)),
            certificate=Proof("envelope"),
        )
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1.0, 2.0])
    response = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    with pytest.raises(CheckFailed, match="length 1"):
        certify(
            rational(response),
            graph,
            "ln(2)",
            consumer=Consumer.of(graph),
            certificate=Proof("envelope"),
        )


def test_a_tree_of_many_branches_keeps_its_prices():
    """There the envelope is a bound, but no mechanism reaches it."""
    _, made = under("star(4)", [0.2] * 5, "0.5")
    assert made.header["certificate"]["kind"] != "envelope"
    assert verify(made).optimal_within < 1e-9


# -- sums of phi ----------------------------------------------------------------------------


LINES = [
    "path(7)",
    "sum(4,3)",
    "counts(3,2)",
    "cycle(7)",
    "cycle(8)",
    "grid(3,4)",
    "grid(2,3,3)",
]
OTHERS = [
    "hypercube(3)",
    "databases(2,3)",
    "clique(5)",
    "petersen",
    "tree(2,2)",
    "histogram(3,3)",
]


@pytest.mark.parametrize("text", [*LINES, *OTHERS])
def test_sums_of_phi_are_close_and_never_too_large(text):
    """Σ_i y_i·α^d(i,k) by the rule of each form, against all distances in exact numbers."""
    asked = query(text)
    graph, rng = asked.graph, np.random.default_rng(1)
    made = certify(
        Channel(np.full((graph.size, graph.size), 1 / graph.size)),
        asked,
        "0.7",
        consumer=Consumer.of(graph),
        certificate=Proof("phi", np.full(graph.size, 1 / graph.size)),
    )
    judged = StatedConsumer(made.weights)
    alpha = Fraction(judged.alphas[0], 1 << 62)
    far = np.asarray(graph.distance_matrix())
    for y in (rng.integers(0, 1 << 54, graph.size), np.array([12345 << 30])):
        room, needed = (
            phi_room(judged, y),
            1 << (62 + judged.bits),
        )  # of a uniform prior
        # Where all answers look alike and y is constant, one answer stands for all.
        found = np.broadcast_to(room + needed, graph.size)
        full = np.broadcast_to(y, graph.size).tolist()
        for k in range(graph.size):
            wanted = sum(
                weight * alpha ** int(d) for weight, d in zip(full, far[k], strict=True)
            )
            reached = Fraction(int(found[k]), judged.prior_total << 62)
            assert 0 <= wanted - reached <= wanted / 10**12


@pytest.mark.parametrize(
    ("prior", "kind"), [("uniform", "stairs"), ("random", "multipliers")]
)
def test_a_line_without_a_name_is_proved_by_stairs_where_these_do(
    prior, kind, monkeypatch
):
    monkeypatch.setattr(proofs, "LISTED_ARCS", 10_000)
    graph = PathPower(120, 3)
    known = (
        np.random.default_rng(5).dirichlet(np.ones(120)) if prior == "random" else prior
    )
    found = design(graph, "ln(2)", Consumer.of(graph, prior=known, loss="absolute"))
    made = prove(found)
    assert made.header["certificate"]["kind"] == kind
    assert verify(made).optimal_within < Fraction(1, 10**9)
