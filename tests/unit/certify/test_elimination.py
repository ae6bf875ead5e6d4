"""Prices that prove themselves on trees and lines."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.forged import unpack as parts

from tightrope import proofs
from tightrope.certify import Mechanism, Proof, certify, make, verify
from tightrope.certify.expanders.tree import TreeElimination
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.make import encode
from tightrope.certify.theorems.levels import far_sums
from tightrope.certify.theorems.line import Side, line_rooms
from tightrope.channels import GeometricChannel, rational
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import Cycle, ExplicitGraph, PathPower
from tightrope.mechanisms import geometric
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

ONE = 1 << 62


def packed(header, sections):
    return encode(
        header, sections, len(sections["prices" if "prices" in sections else "prior"])
    )


def with_prices(made, change):
    """The same file with other prices, and with the bound that they would prove."""
    header, sections = parts(made)
    sections["prices"] = sections["prices"] + change
    total = sum(int(x) for x in sections["prices"])
    header["bound"] = str(Fraction(total, 1 << header["certificate"]["bits"]))
    return packed(header, sections)


# -- trees --------------------------------------------------------------------------------

SHAPES = {
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "fork": [(0, 1), (1, 2), (1, 3), (3, 4)],
}


def cheapest(edges, weights, root, alpha):
    """The least value of a ray with 1 at the root, from all signs of its steps."""
    near = {i: [] for i in range(5)}
    for i, h in edges:
        near[i].append(h)
        near[h].append(i)
    found = []
    for signs in itertools.product((-1, 1), repeat=4):
        height, stack, number = {root: 0}, [root], 0
        while stack:
            i = stack.pop()
            for h in near[i]:
                if h not in height:
                    height[h] = height[i] + signs[number]
                    number += 1
                    stack.append(h)
        found.append(sum(w * alpha ** height[i] for i, w in enumerate(weights)))
    return min(found)


@settings(max_examples=60)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    weights=st.lists(st.integers(-50, 100), min_size=5, max_size=5),
    root=st.integers(0, 4),
)
def test_what_arrives_at_the_root_is_the_cheapest_ray(shape, weights, root):
    edges = SHAPES[shape]
    graph = Graph("list", 5, (), np.array(edges), np.zeros(4, int))
    large = [w << 40 for w in weights]
    _, (_, found) = TreeElimination(graph).eliminate_to(root, large, [ONE // 2])
    wanted = cheapest(edges, weights, root, Fraction(1, 2)) * (1 << 40)
    if wanted >= 100:
        assert wanted - 100 <= found <= wanted
    elif wanted < 0:
        # Debts that no surplus can pay are not followed to the end.
        assert found < 0


def test_debts_that_no_surplus_can_pay_end_the_elimination():
    """A debt grows by 1/α at each step: without an end its number would have 200,000 digits."""
    path = Graph("box", 4000, ((4000, 1),))
    weights = [-1] + [1] * 3999
    _, (place, found) = TreeElimination(path).eliminate_to(3999, weights, [1])
    assert (place, found) == (0, -1)
    assert TreeElimination(path).eliminate_to(3999, [-1] + [0] * 3999, [0])[1] == (
        0,
        -1,
    )


@pytest.mark.parametrize(
    ("text", "loss"), [("tree(2,3)", "distance"), ("star(4)", "distance")]
)
def test_trees_carry_prices_and_roots_only(text, loss):
    asked = query(text)
    prior = (
        np.arange(1, asked.graph.size + 1) / np.arange(1, asked.graph.size + 1).sum()
    )
    made = prove(
        design(asked, 0.7, Consumer.of(asked.graph, prior=prior.tolist(), loss=loss)),
        asked,
    )
    assert made.header["certificate"]["kind"] == "tree"
    found = verify(made)
    assert found.reasons == ()
    assert found.optimal_within < 1e-9
    for node in range(asked.graph.size):
        raised = np.zeros(asked.graph.size, np.int64)
        raised[node] = 1 << 30  # about 1e-9 of the unit
        said = verify(with_prices(made, raised)).reasons
        assert said[0].startswith("certificate: guess"), node
        assert verify(with_prices(made, -raised)).reasons == ()


def test_lengths_of_edges_are_part_of_the_elimination():
    graph = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[1.0, 0.5, 2.0])
    consumer = Consumer.of(graph, prior=[0.1, 0.4, 0.3, 0.2], loss="distance")
    made = prove(design(graph, 1, consumer))
    assert made.header["certificate"]["kind"] == "tree"
    assert verify(made).optimal_within < 1e-9
    assert (
        verify(with_prices(made, 1 << 30)).reasons[0].startswith("certificate: guess")
    )


def test_a_tree_certificate_needs_a_tree_and_roots_in_it():
    asked = {"consumer": Consumer.of(Cycle(4))}
    uniform = rational([["1/4"] * 4] * 4)
    with pytest.raises(CheckFailed, match="no tree"):
        certify(
            uniform,
            Cycle(4),
            "ln(2)",
            certificate=Proof("tree", [0.1] * 4, places=range(4)),
            **asked,
        )
    made = prove(
        design("star(3)", 0.7, Consumer.of(query("star(3)").graph, loss="distance"))
    )
    header, sections = parts(made)
    for roots in ([0, 0, 0, 4], [0, 0, 0, -1], [0, 0, 0]):
        sections["places"] = np.array(roots)
        assert "the section 'places'" in verify(packed(header, sections)).reasons[0]


# -- lines --------------------------------------------------------------------------------


def exact(costs, alpha, power, j, k):
    return sum(
        c * abs(i - k) ** power * alpha ** (i - j)
        for i, c in enumerate(costs)
        if i >= j
    )


@settings(max_examples=40)
@given(
    costs=st.lists(st.integers(0, 20), min_size=2, max_size=7),
    alpha=st.sampled_from([1 << 58, 1 << 61, ONE // 3, ONE - (1 << 55), 0]),
    power=st.sampled_from([1, 2]),
)
def test_sums_from_one_side_are_bounds_and_close(costs, alpha, power):
    ratio, n = Fraction(alpha, ONE), len(costs)
    side = Side(costs, costs, alpha, power)
    for j, k in itertools.product(range(n), range(n)):
        wanted = exact(costs, ratio, power, j, k) * ONE
        assert wanted - 10**4 <= side.least(j, k) <= wanted
        assert side.owed[j] >= exact([1] * n, ratio, 0, j, 0) * 0
        if k:
            rise = wanted - exact(costs, ratio, power, j, k - 1) * ONE
            assert side.rise(j, k) >= rise
        least = (
            min(exact(costs, ratio, power, j, guess) for guess in range(k + 1)) * ONE
        )
        assert side.room(j, k) <= least - exact(costs, ratio, 0, j, -1) * ONE


def multipliers_exist(weights, alpha):
    """Whether no private column has a negative product with the weights, by dynamic programming."""
    left = Fraction(weights[0])
    for w in weights[1:]:
        left = w + (left * alpha if left >= 0 else left / alpha)
    return left >= 0


@settings(max_examples=80)
@given(
    costs=st.lists(st.integers(0, 9), min_size=2, max_size=6),
    prices=st.data(),
    power=st.sampled_from([1, 2]),
)
def test_rooms_on_a_line_never_claim_too_much(costs, prices, power):
    """Whatever the prices and the cuts: where every room is left, every guess is proved."""
    n, alpha = len(costs), Fraction(1, 2)
    owed = prices.draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    cuts = sorted(
        prices.draw(st.lists(st.integers(-1, n - 1), min_size=n - 1, max_size=n - 1))
    )
    rooms = line_rooms(costs, owed, ONE // 2, power, cuts)
    if min(map(min, rooms)) >= 0:
        for k in range(n):
            weights = [c * abs(i - k) ** power - owed[i] for i, c in enumerate(costs)]
            assert multipliers_exist(weights, alpha), k


PRIORS = [
    "uniform",
    "binomial(.3)",
    "geometric(.5)",
    "0.4,0,0,0.1,0,0,0,0.2,0.3",
    "random",
]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("level", ["0.1", "ln(2)", "2"])
def test_paths_prove_all_guesses_at_once(prior, loss, level):
    graph = PathPower(9)
    if prior == "random":
        prior = np.random.default_rng(len(loss)).dirichlet(np.full(9, 0.3)).tolist()
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    made = prove(design(graph, level, consumer))
    assert made.header["certificate"]["kind"] == "line"
    assert not {"loss", "arc_value"} & {s["name"] for s in made.header["sections"]}
    found = verify(made)
    assert found.reasons == ()
    assert found.optimal_within <= 1e-12 + 1e-9 * abs(float(made.expected_loss))
    for node in range(9):
        raised = np.zeros(9, np.int64)
        raised[node] = 1 << 34  # about 1e-8 of the unit
        said = verify(with_prices(made, raised)).reasons
        assert said[0].startswith("certificate: guess"), node
        assert verify(with_prices(made, -raised)).reasons == ()


def test_thousands_of_answers_fit_into_a_few_thousand_bytes():
    asked = query("count(2500)")
    made = prove(design(asked, 1, Consumer.of(asked.graph, loss="absolute")), asked)
    assert len(made.to_bytes()) < 3_000
    assert verify(made).optimal_within < 1e-9
    raised = np.zeros(2501, np.int64)
    raised[1234] = 1 << 32
    assert verify(with_prices(made, raised)).reasons[0].startswith("certificate: guess")


def test_labels_in_steps_other_than_one():
    graph = PathPower(5, start=2, step=Fraction(1, 3))
    made = prove(design(graph, 1, Consumer.of(graph, loss="squared")))
    assert made.header["consumer"]["loss"] == {"kind": "squared"}
    assert made.header["certificate"]["kind"] == "line"
    assert verify(made).optimal_within < 1e-12


def test_answers_in_uneven_steps_are_no_line():
    graph = ExplicitGraph([(0, 1), (1, 2), (2, 3)], labels=[0, 1, 4, 9])
    consumer = Consumer.of(graph, loss="absolute")
    made = prove(design(graph, 1, consumer))
    assert made.header["consumer"]["loss"] == {"kind": "absolute"}
    assert made.header["certificate"]["kind"] == "tree"
    assert verify(made).optimal_within < 1e-9


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_a_risk_averse_reader_of_a_count(loss):
    asked = query("count(6)")
    made = prove(
        design(asked, 1, Consumer.of(asked.graph, support="all", loss=loss)), asked
    )
    assert verify(made).reasons == ()
    assert verify(made).optimal_within < 1e-6


def test_cuts_and_powers_that_make_no_sense():
    made = prove(
        design("count(5)", 1, Consumer.of(query("count(5)").graph, loss="absolute"))
    )
    header, sections = parts(made)
    for steps in ([-1, 0, 0, 0, 0], [7, 0, 0, 0, 0], [1, 1, 1, 1], [3, 3, 1, 0, 0]):
        changed = {**sections, "places": np.array(steps)}
        said = verify(packed(header, changed)).reasons[0]
        assert said.startswith(("the section 'places'", "certificate: a cut")), said
    wide = {**sections, "prices": np.array([1 << 200] * 6, object)}
    assert "too wide" in verify(packed(header, wide)).reasons[0]
    told = {**header, "certificate": {**header["certificate"], "kind": "lines"}}
    assert verify(packed(told, sections)).reasons == (
        "header.certificate.kind is unknown",
    )


def test_a_line_is_for_losses_by_distance():
    with pytest.raises(CheckFailed, match="a line needs a path"):
        certify(
            GeometricChannel(4, 1),
            PathPower(4),
            1,
            consumer=Consumer.of(PathPower(4)),
            certificate=Proof("line", [0.1] * 4),
        )
    with pytest.raises(CheckFailed, match="a line needs a path"):
        certify(
            rational([["1/4"] * 4] * 4),
            PathPower(4, 2),
            1,
            consumer=Consumer.of(PathPower(4), loss="absolute"),
            certificate=Proof("line", [0.1] * 4),
        )
    with pytest.raises(InputError, match="4 prices"):
        certify(
            GeometricChannel(4, 1),
            PathPower(4),
            1,
            consumer=Consumer.of(PathPower(4), loss="absolute"),
            certificate=Proof("line", [0.1] * 3),
        )


@settings(max_examples=40)
@given(
    levels=st.lists(st.integers(1, 1 << 60), min_size=1, max_size=5),
    step=st.integers(1, 3),
    told=st.lists(
        st.tuples(st.integers(0, 1 << 90), st.integers(0, 7)), min_size=1, max_size=8
    ),
    power=st.sampled_from([1, 2]),
)
def test_losses_of_a_rule_are_added_up_exactly(levels, step, told, power):
    levels = sorted(levels, reverse=True)
    z, guess = [weight for weight, _ in told], [k % len(told) for _, k in told]
    shift = np.array(guess) - np.arange(len(z))
    found = far_sums(levels, step, np.array(z, object), shift, power).tolist()
    last = len(levels) - 1
    for i, value in enumerate(found):
        far = [abs(i - o) for o in range(len(z))]
        wanted = sum(
            levels[min(-(-t // step), last)] * abs(i - k) ** power * weight
            for t, weight, k in zip(far, z, guess, strict=True)
        )
        assert value == wanted


def test_a_rule_of_weights_has_the_loss_of_its_list():
    """By rule from 1,024 answers on; the list of the same weights gives the same loss."""
    asked = query("count(1100)")
    consumer = Consumer.of(asked.graph, loss="absolute")
    made = prove(design(asked, 1, consumer), asked)
    assert made.kind == "levels"
    channel = GeometricChannel(1101, 1)
    rows = [0, 1, 550, 1100]
    losses = [float(channel.row(i) @ consumer.loss.row(i)) for i in rows]
    weights = [made.row_weights(i).astype(object) / made.total for i in rows]
    again = [
        float((w * consumer.loss.row(i)).sum())
        for i, w in zip(rows, weights, strict=True)
    ]
    assert again == pytest.approx(losses, rel=1e-9)
    assert isinstance(Mechanism(made.to_bytes()), Mechanism)
    header, sections = parts(made)
    header["expected_loss"] = str(
        Fraction(header["expected_loss"]) + Fraction(1, 10**30)
    )
    assert verify(packed(header, sections)).reasons[0].startswith("loss")


@pytest.mark.parametrize("loss", ["absolute", "squared", "distance", "binary"])
def test_noise_too_large_to_remap_is_stored_with_what_the_reader_guesses(
    monkeypatch, loss
):
    """Files of large counts hold the noise by rule; at the ends the reader guesses otherwise."""
    monkeypatch.setattr(make, "RULE_FROM", 2)
    monkeypatch.setattr(make, "LISTED_WEIGHTS", 1)
    monkeypatch.setattr(proofs, "LISTED_WEIGHTS", 1)
    graph = PathPower(13)
    consumer = Consumer.of(graph, prior="binomial(.4)", loss=loss)
    found = design(graph, "0.3", consumer)
    made = prove(found)
    assert made.kind == "levels"
    assert float(made.expected_loss) == pytest.approx(found.expected_loss, rel=1e-8)
    assert 0 <= verify(made).optimal_within < 1e-12
    header, sections = parts(made)
    prior = [
        Fraction(int(w), header["consumer"]["prior"]["total"])
        for w in sections["prior"]
    ]
    guess = sections["guess_of"].tolist()
    power = {"binary": 0, "squared": 2}.get(loss, 1)
    assert guess != list(range(13))
    by_rows = sum(
        prior[i]
        * int(weight)
        * (abs(i - guess[o]) ** power if power else i != guess[o])
        for i in range(13)
        for o, weight in enumerate(made.row_weights(i))
    )
    assert made.expected_loss == by_rows / made.total
    for other in (np.arange(13), np.roll(guess, 1), np.full(13, guess[6])):
        sections["guess_of"] = other
        assert verify(packed(header, sections)).reasons[0].startswith("loss")


def test_an_answer_that_is_its_own_guess_is_not_written_in_another_way():
    """The outputs 0, 3/5, …, 1 of a mean are listed; its answers are all fractions."""
    asked = query("mean(5,3)")
    consumer = Consumer.of(
        asked.graph, prior=[1 / 12] * 12 + [0.0] * 4, loss="absolute"
    )
    made = prove(design(asked, "0.5", consumer), asked)
    labels = [made.output_label(o) for o in range(made.shape[1])]
    assert made.header["consumer"]["remapped"]
    assert int in map(type, labels)
    assert [(type(made.guess(x)), made.guess(x)) for x in labels] == [
        (type(x), x) for x in labels
    ]


@pytest.mark.parametrize("rule_from", [2, 1024], ids=["rule", "listed"])
@pytest.mark.parametrize("start", [None, 20], ids=["all", "window"])
def test_the_stated_loss_is_that_of_the_guesses_that_are_shown(
    monkeypatch, rule_from, start
):
    """Guesses of listed weights, and of a rule in a window, were the outputs themselves."""
    monkeypatch.setattr(make, "RULE_FROM", rule_from)
    monkeypatch.setattr(make, "LISTED_WEIGHTS", 1)
    first = start or 0
    graph, prior = PathPower(13, start=first), np.arange(1, 14) / 91
    made = certify(
        geometric(graph, "0.3"),
        "path(13)" if start is None else "count(40)",
        "0.3",
        consumer=Consumer.of(graph, prior=prior.tolist(), loss="absolute"),
        guess_of=[4, 4, 4, 5, 5, 6, 7, 8, 9, 10, 10, 10, 10],
        window=None if start is None else (start, graph),
    )
    assert made.kind == ("levels" if rule_from == 2 else "dense")
    shown = [made.guess(made.output_label(o)) for o in range(13)]
    assert shown[0] == 4 + first
    rows = np.array(
        [made.row_weights(first + i).astype(float) / made.total for i in range(13)]
    )
    away = np.abs(np.arange(first, first + 13)[:, None] - shown)
    assert prior @ (rows * away).sum(axis=1) == pytest.approx(float(made.expected_loss))


@pytest.mark.parametrize(
    ("loss", "kind"), [("squared", "line"), ("binary", "envelope")]
)
def test_ten_thousand_answers_and_any_prior_are_proved(loss, kind):
    """Most outputs are remapped here; nothing of the size of the matrix is ever looked at."""
    prior = np.random.default_rng(0).dirichlet(np.ones(10_000))
    graph = PathPower(10_000)
    made = prove(
        design(graph, "ln(2)", Consumer.of(graph, prior=prior.tolist(), loss=loss))
    )
    assert made.header["certificate"]["kind"] == kind
    assert len(made.to_bytes()) < 200_000
    found = verify(made)
    assert found.private
    assert 0 <= found.optimal_within < 1e-12
    row = made.row_weights(5_000)
    assert sum(row.tolist()) == made.total
    floats = made.channel().row(5_000)
    assert np.allclose(floats, (row / made.total).astype(float), rtol=1e-12, atol=0)
    assert np.array_equal(
        made.channel().column(7)[[0, 5_000]], [made.channel().row(0)[7], floats[7]]
    )
    header, sections = parts(made)
    place = int(np.flatnonzero(sections["guess_of"] != np.arange(10_000))[1_000])
    sections["guess_of"][place] += 1
    assert verify(packed(header, sections)).reasons[0].startswith("loss")
