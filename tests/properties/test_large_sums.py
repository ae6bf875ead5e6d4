"""Sums of any size: windows, stretched ends and staircases beside the engine and the judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tightrope as tr
from tightrope.certify import Mechanism, Proof, certify, verify
from tightrope.certify.make import encode
from tightrope.certify.theorems.stairs import dual_shortfall
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.graphs import PathPower
from tightrope.optimize import SolverSettings, design, staircases
from tightrope.optimize.staircases import cheapest_cores
from tightrope.proofs import prove
from tightrope.publish.noise import confidence_set, promised_error

#: Every question is large: what windows and ends do can be compared with the engine.
SMALL = SolverSettings(window_least=40, window_answers=20, staircase_entries=100_000)


@settings(max_examples=12, deadline=None)
@given(
    size=st.integers(12, 40),
    width=st.integers(2, 5),
    level=st.sampled_from(["0.5", "1", "ln(3)", "2"]),
    loss=st.sampled_from(["absolute", "squared", "binary", "distance"]),
    chance=st.sampled_from(["uniform", "binomial(.3)", "poisson(4)"]),
)
def test_staircases_bracket_the_optimum_of_the_engine(
    size, width, level, loss, chance
) -> None:
    graph = PathPower(size, width)
    consumer = Consumer.of(graph, prior=chance, loss=loss)
    best = design(graph, level, consumer, route="rays")
    found = design(graph, level, consumer, route="staircases")
    slack = 1e-8 * max(1.0, best.expected_loss)
    assert found.bound <= best.expected_loss + slack
    assert found.expected_loss >= best.bound - slack
    assert is_private(found.channel, graph, level)


@pytest.mark.parametrize("relation", ["change-one", "either"])
@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
def test_a_window_brackets_the_optimum_on_all_answers(relation, loss) -> None:
    asked = tr.query("sum(70,2)", relation)
    prior = np.zeros(asked.graph.size)
    prior[60:90] = np.exp(-(((np.arange(30) - 14) / 6) ** 2))
    consumer = Consumer.of(asked.graph, prior=prior / prior.sum(), loss=loss)
    best = design(asked, 1, consumer, route="rays")
    found = design(asked, 1, consumer, route="window", settings=SMALL)
    assert found.bound <= best.expected_loss * (1 + 1e-9)
    assert best.bound <= found.expected_loss * (1 + 1e-9)
    assert found.certified
    assert is_private(found.channel, asked.graph, 1)
    proof = verify(prove(found, asked))
    assert proof.private_for_question
    assert float(proof.optimal_within) == pytest.approx(
        found.value - found.bound, abs=1e-8
    )


@pytest.mark.parametrize(
    ("people", "loss"), [(50, 4.647205), (100, 4.716606), (150, 4.739799)]
)
def test_sums_of_five_have_the_known_losses(people, loss) -> None:
    graph = tr.query(f"sum({people},5)").graph
    consumer = Consumer.of(graph, prior="uniform", loss="absolute")
    exact = design(graph, 1, consumer, route="staircases")
    assert exact.expected_loss == pytest.approx(loss, abs=1e-6)
    assert exact.certified
    long = design(graph, 1, consumer, route="stretched")
    assert long.bound <= exact.expected_loss <= long.expected_loss
    assert long.gap < 0.2 / people


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
@pytest.mark.parametrize(("people", "width"), [(60, 2), (120, 3), (90, 7)])
def test_stretched_ends_bracket_the_optimum(people, width, loss, relation) -> None:
    asked = tr.query(f"sum({people},{width})", relation)
    consumer = Consumer.of(asked.graph, prior="uniform", loss=loss)
    found = design(asked, "ln(3)", consumer, route="stretched")
    proof = verify(prove(found, asked))
    assert proof.private_for_question
    assert proof.optimal_within == pytest.approx(
        found.expected_loss - found.bound, rel=1e-6
    )
    if relation != "add-remove":
        best = design(asked, "ln(3)", consumer, route="staircases", settings=SMALL)
        assert found.bound <= best.expected_loss * (1 + 1e-9)
        assert best.bound <= found.expected_loss * (1 + 1e-9)


@pytest.mark.parametrize("place", [0, 1, 4, 30])
@pytest.mark.parametrize("change", [-60.0, -1e-3, 0.5])
def test_prices_of_ends_may_be_negative_and_are_lowered_where_they_are_owed(
    place, change
) -> None:
    asked = tr.query("sum(2000,3)")
    consumer = Consumer.of(asked.graph, prior="uniform", loss="absolute")
    found = design(asked, 1, consumer)
    told, prices = found.certificate, found.certificate.prices.copy()
    prices[place] += change
    proof = Proof(
        "stretched", prices, places=told.cores, layers=told.layers, stride=told.stride
    )
    made = certify(
        found.channel,
        asked,
        1,
        consumer=consumer,
        guess_of=found.guess,
        certificate=proof,
    )
    proved = verify(made)
    assert not proved.reasons
    assert found.bound - 200 / 6001 < made.bound <= found.bound + 1e-9
    assert (made._file.section("prices") < 0).any() == (change == -60)


def test_sums_of_ends_that_would_not_fit_into_a_machine_integer_are_refused() -> None:
    """At α near 1 what further answers pay adds up to many times the largest price."""
    asked = tr.query("count(100000)")
    made = prove(design(asked, "0.1", Consumer.of(asked.graph, loss="absolute")), asked)
    assert made.header["certificate"]["kind"] == "stretched"
    wider = {
        "certificate": lambda told: told | {"bits": told["bits"] + 2},
        "prices": lambda prices: prices << 2,
    }
    assert verify(damaged(made, **wider)).reasons == (
        "certificate: the prices are too wide",
    )


def damaged(made: Mechanism, **changes) -> bytes:
    """Return the bytes of a mechanism with some sections or header fields put in others' place."""
    header = {**made.header}
    held = {
        part["name"]: made._file.section(part["name"])
        for part in header.pop("sections")
    }
    for name, value in changes.items():
        if name in held:
            held[name] = value(held[name].copy())
        else:
            header[name] = value(header[name])
    nodes = made.graph.nodes if made.noise is None else 1
    return encode(header, held, nodes)


def raised(prices: np.ndarray) -> np.ndarray:
    prices[len(prices) // 2] += max(1, int(prices.max()) // 100)
    return prices


def test_damaged_proofs_of_ends_are_refused() -> None:
    asked = tr.query("sum(2000,3)")
    consumer = Consumer.of(asked.graph, prior="uniform", loss="absolute")
    made = prove(design(asked, 1, consumer), asked)
    assert not verify(damaged(made)).reasons
    for change in (
        {"prices": raised},
        {"places": lambda cores: cores[::-1].copy()},
        {"guess_of": lambda guesses: guesses[::-1].copy()},
        {"bound": lambda told: "5"},
        {"expected_loss": lambda told: "1"},
        {"certificate": lambda told: told | {"stride": 2}},
        {"certificate": lambda told: told | {"layers": 1}},
        {"weights": lambda told: told | {"core": 1 - told["core"]}},
    ):
        found = verify(damaged(made, **change))
        assert found.reasons, change
        assert found.optimal_within is None


def test_damaged_windows_are_refused() -> None:
    asked = tr.query("sum(2000,3)")
    consumer = Consumer.of(asked.graph, prior="binomial(.01)", loss="absolute")
    found = design(asked, 1, consumer)
    assert found.route == "window"
    made = prove(found, asked)
    assert made.shape[0] == asked.graph.size
    # Answers outside count as the nearest inside.
    inside = made.window
    assert made.row_weights(inside[-1]).tolist() == made.row_weights(6000).tolist()

    # An interval that holds an end of the window holds all answers that count as it.
    outputs = [made.output_label(o) for o in range(made.shape[1])]
    assert confidence_set(made, min(outputs)).bounds[0][0] == 0
    low, high = confidence_set(made, sorted(outputs)[len(outputs) // 2]).bounds[0]
    assert inside[0] < low < high < inside[-1]
    assert promised_error(made)[0] >= 6000 - inside[-1]

    def steeper(weights: np.ndarray) -> np.ndarray:
        # The answers beside the end of the window keep privacy, but the end itself does not.
        table = weights.reshape(-1, len(inside))
        table[0, 0] += table[0, 0] // 2
        return table.ravel()

    for change in (
        {"weights": steeper},
        {"prices": raised},
        {"window": lambda told: {"start": 5990, "size": told["size"]}},
        {"window": lambda told: told | {"size": told["size"] - 1}},
        {"bound": lambda told: "5"},
    ):
        refused = verify(damaged(made, **change))
        assert refused.reasons, change
        assert refused.optimal_within is None


def test_the_cheapest_core_is_the_cheapest_of_all() -> None:
    rng = np.random.default_rng(5)
    n, width, alpha = 14, 3, 0.4
    weights = rng.normal(size=(n, n))
    value, low, high = cheapest_cores(weights, width, alpha, near=n)
    i = np.arange(n)
    for row in range(n):
        found = {
            (a, b): weights[row]
            @ alpha ** -(-np.maximum(np.maximum(a - i, i - b), 0) // width)
            for a in range(n)
            for b in range(a, n)
        }
        assert value[row] == pytest.approx(min(found.values()))
        assert found[low[row], high[row]] == pytest.approx(value[row])


def test_no_sum_is_too_large() -> None:
    for text in ("count(1000000000)", "sum(1000000000,7)", "mean(1000000000,3)"):
        asked = tr.query(text)
        found = design(
            asked, 1, Consumer.of(asked.graph, prior="uniform", loss="absolute")
        )
        assert found.route == "stretched"
        assert found.gap < 1e-6
        assert (
            float(verify(prove(found, asked)).optimal_within)
            < 1e-6 * found.expected_loss
        )


@pytest.mark.parametrize(
    ("text", "relation", "chance", "loss", "gap"),
    [
        ("sum(1000000000,5)", "change-one", "binomial(.3)", "absolute", 2e-4),
        ("sum(100000,5)", "either", "binomial(.3)", "squared", 0.04),
        ("mean(10000000,3)", "change-one", "poisson(1000000)", "binary", 0.02),
        ("sum(100000000,2)", "add-remove", "geometric(.001)", "absolute", 0.02),
        ("count(100000000)", "add-remove", "poisson(100)", "absolute", 1e-9),
        ("sum(100000,5)", "change-one", "people(.5,.1,.1,.1,.1,.1)", "absolute", 0.03),
    ],
)
def test_priors_of_any_size_have_a_proved_gap(
    text, relation, chance, loss, gap
) -> None:
    asked = tr.query(text, relation)
    found = design(asked, 1, Consumer.of(asked.graph, prior=chance, loss=loss))
    made = prove(found, asked)
    proof = verify(made)
    assert proof.private_for_question
    assert not proof.reasons
    assert float(proof.optimal_within) <= gap * found.expected_loss
    if not chance.startswith("people"):
        assert proof.consumer["prior"].startswith(chance.partition("(")[0])


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
@pytest.mark.parametrize("width", [1, 3])
def test_intervals_bracket_the_optimum_of_a_wide_prior(width, loss) -> None:
    """A window that staircases solve, against the mixture of uniform priors on intervals."""
    asked = tr.query(f"sum({600 // width},{width})")
    prior = np.exp(-(((np.arange(601) - 300) / 110.0) ** 2))
    consumer = Consumer.of(asked.graph, prior=prior / prior.sum(), loss=loss)
    found = design(asked, 2, consumer, route="stretched")
    best = design(asked, 2, consumer, route="geometric" if width == 1 else "staircases")
    assert found.bound <= best.expected_loss * (1 + 1e-9)
    assert best.bound <= found.expected_loss * (1 + 1e-9)
    assert found.gap < 0.1
    proof = verify(prove(found, asked))
    assert proof.optimal_within == pytest.approx(
        found.expected_loss - found.bound, rel=1e-6
    )


def test_damaged_priors_by_name_are_refused() -> None:
    asked = tr.query("sum(100000,5)")
    consumer = Consumer.of(asked.graph, prior="binomial(.3)", loss="absolute")
    made = prove(design(asked, 1, consumer), asked)
    assert not verify(damaged(made)).reasons

    def with_prior(**fields):
        return lambda told: told | {"prior": fields}

    for change in (
        {"consumer": with_prior(kind="binomial", number="31/100")},
        {"consumer": with_prior(kind="geometric", number="3/10")},
        {"consumer": with_prior(kind="poisson", number="3/10")},
        {"consumer": with_prior(kind="uniform")},
        {"window": lambda told: told | {"start": told["start"] + 3000}},
        {"window": lambda told: told | {"size": told["size"] // 2}},
        {"window": lambda told: None},
        {"bound": lambda told: "5"},
    ):
        refused = verify(damaged(made, **change))
        assert refused.reasons, change
        assert refused.optimal_within is None


@pytest.mark.parametrize("chance", ["uniform", "binomial(.4)"])
@pytest.mark.parametrize("loss", ["absolute", "squared", "binary", "distance"])
def test_long_lines_are_bracketed_by_staircases(chance, loss) -> None:
    graph = PathPower(62, 8)
    consumer = Consumer.of(graph, prior=chance, loss=loss)
    long = SolverSettings(staircase_entries=200)
    found = design(graph, "0.5", consumer, route="staircases", settings=long)
    best = design(graph, "0.5", consumer, route="rays")
    assert found.bound <= best.expected_loss * (1 + 1e-9)
    assert best.bound <= found.expected_loss * (1 + 1e-9)
    assert found.bound >= 0
    assert is_private(found.channel, graph, "0.5")
    assert found.certificate.checked_bound() >= found.bound * (1 - 1e-9)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(2, 14), width=st.integers(1, 5))
def test_weights_for_which_nothing_is_owed_are_proved(data, n, width) -> None:
    """Whatever the core: what is sent along edges is never more than a private column has."""
    from scipy.optimize import linprog

    weights = np.array(
        [data.draw(st.lists(st.integers(-4, 9), min_size=n, max_size=n))]
    )
    low = np.array([data.draw(st.integers(0, n - 1))])
    high = np.array([data.draw(st.integers(int(low[0]), n - 1))])
    owed = dual_shortfall(weights << 20, low, high, width, 1 << 61)
    near = staircases.dual_shortfall(weights.astype(float), low, high, width, 0.5)
    assert (owed > 1 << 10).any() == (near > 1e-3).any()
    i, j = np.nonzero(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width)
    rows = np.zeros((len(i), n))
    rows[np.arange(len(i)), i] += 0.5
    rows[np.arange(len(i)), j] -= 1
    least = linprog(weights[0], rows, np.zeros(len(i)), np.ones((1, n)), [1]).fun
    assert owed.any() or least >= -1e-9
    # Lowered by what is owed the same weights are proved.
    left = linprog(
        weights[0] + near[0], rows, np.zeros(len(i)), np.ones((1, n)), [1]
    ).fun
    assert near[0][low[0] : high[0] + 1].any() or left >= -1e-9


def test_a_sum_of_a_thousand_answers_is_certified_and_its_file_is_short() -> None:
    asked = tr.query("sum(60,20)")
    found = design(asked, 1, Consumer.of(asked.graph, prior="uniform", loss="absolute"))
    assert found.certified
    made = prove(found, asked)
    assert len(made.to_bytes()) < 1_000_000
    assert float(verify(made).optimal_within) < 1e-8


def test_a_window_whose_best_columns_are_no_staircases_has_the_bound_of_the_engine() -> (
    None
):
    asked = tr.query("sum(2000,3)")
    found = design(
        asked, 1, Consumer.of(asked.graph, prior="binomial(.01)", loss="absolute")
    )
    assert found.route == "window"
    assert found.gap < 1e-6
    assert (
        float(verify(prove(found, asked)).optimal_within) < 1e-6 * found.expected_loss
    )
