import numpy as np
import pytest

from tightrope.arrays import Limits
from tightrope.channels import (
    Channel,
    DeterministicChannel,
    GeometricChannel,
    KroneckerChannel,
)
from tightrope.consumers import (
    Consumer,
    Loss,
    Prior,
    ProductPrior,
    best_remap,
    evaluate,
    expected_loss,
    losses,
    utility,
)
from tightrope.consumers.evaluate import worst_loss
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique, ExplicitGraph, PathPower

RESPONSE = Channel([[0.75, 0.25], [0.25, 0.75]])
THREE = Channel([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])


def random_channel(rows: int, columns: int, seed: int = 1) -> Channel:
    return Channel(np.random.default_rng(seed).dirichlet(np.ones(columns), size=rows))


def slow_remap(channel: Channel, consumer: Consumer) -> tuple[list[int], float]:
    """The definition, entry by entry."""
    guess, total = [], 0.0
    for o in range(channel.shape[1]):
        joint = consumer.prior.probabilities * channel.column(o)
        costs = [
            float(joint @ consumer.loss.column(k))
            for k in range(consumer.loss.guess_count)
        ]
        guess.append(int(np.argmin(costs)))
        total += min(costs)
    return guess, total


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(
    "graph", [PathPower(7), PathPower(7, 3), Clique(7)], ids=lambda g: g.name
)
def test_the_best_remap_is_the_definition(loss: str, graph: PathPower) -> None:
    channel = random_channel(7, 9)
    prior = np.random.default_rng(2).dirichlet(np.ones(7))
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    assert not consumer.risk_averse
    found = best_remap(channel, consumer)
    guess, total = slow_remap(channel, consumer)
    assert found.guess.tolist() == guess
    assert found.expected_loss == pytest.approx(total, abs=1e-12)
    assert expected_loss(channel, consumer) == pytest.approx(total, abs=1e-12)
    assert expected_loss(channel, consumer, found) == pytest.approx(total, abs=1e-12)
    assert found.channel.targets.tolist() == guess
    with pytest.raises(ValueError, match="read-only"):
        found.guess[0] = 0


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "matrix"])
def test_blocks_do_not_show(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = random_channel(8, 11)
    cost = np.random.default_rng(5).random((8, 4)) if loss == "matrix" else loss
    consumer = Consumer.of(PathPower(8), prior="binomial(.4)", loss=cost)
    whole = best_remap(channel, consumer)
    monkeypatch.setattr(evaluate, "LIMITS", Limits(block=20))
    monkeypatch.setattr(losses, "LIMITS", Limits(block=20))
    assert best_remap(channel, consumer).guess.tolist() == whole.guess.tolist()
    assert best_remap(channel, consumer).expected_loss == pytest.approx(
        whole.expected_loss
    )
    ruled = GeometricChannel(8, "ln(2)")
    parts = best_remap(ruled, consumer)
    monkeypatch.undo()
    assert parts.guess.tolist() == best_remap(ruled, consumer).guess.tolist()


def test_ties_go_to_the_smallest_guess() -> None:
    flat = Channel([[0.5, 0.5]] * 4)
    for loss in ("binary", "squared"):
        consumer = Consumer.of(PathPower(4), loss=loss)
        assert (
            best_remap(flat, consumer).guess.tolist()
            == [0 if loss == "binary" else 1] * 2
        )
    one_output_never_happens = Channel([[1.0, 0.0]] * 4)
    assert best_remap(
        one_output_never_happens, Consumer.of(PathPower(4))
    ).guess.tolist() == [0, 0]


def test_a_row_that_cannot_happen_does_not_count() -> None:
    consumer = Consumer(prior=[0, 1, 0], loss=Loss.binary(3))
    assert best_remap(THREE, consumer).guess.tolist() == [1, 1, 1]
    assert expected_loss(THREE, consumer) == 0


def test_utility_is_the_chance_of_a_right_guess() -> None:
    assert utility(RESPONSE, Consumer.of(Clique(2))) == 0.75
    assert utility(RESPONSE, Consumer.of(Clique(2), prior="0.9,0.1")) == pytest.approx(
        0.9
    )
    # The name of a loss does not matter, its numbers do.
    assert utility(
        RESPONSE, Consumer(prior=[0.9, 0.1], loss=1 - np.eye(2))
    ) == pytest.approx(0.9)


def test_utility_gives_back_a_gain() -> None:
    gain = [[2, 0], [0, 1]]
    consumer = Consumer(prior=[0.5, 0.5], loss=Loss.from_gain(gain))
    assert utility(RESPONSE, consumer) == pytest.approx(0.75 + 0.375)
    assert utility(RESPONSE, Consumer.of(PathPower(2), loss=[[0, 3], [3, 0]])) == -0.75


def test_other_guesses_than_answers() -> None:
    shy = Consumer(prior=[0.5, 0.5], loss=[[0, 1, 0.2], [1, 0, 0.2]])
    found = best_remap(RESPONSE, shy)
    assert found.guess.tolist() == [2, 2]
    assert found.expected_loss == pytest.approx(0.2)
    assert found.channel.shape == (2, 3)


def test_other_remaps() -> None:
    consumer = Consumer.of(Clique(3), prior="0.6,0.3,0.1")
    swapped = [1, 0, 2]
    expected = 1 - (0.6 * 0.25 + 0.3 * 0.25 + 0.1 * 0.5)
    assert expected_loss(THREE, consumer, swapped) == pytest.approx(expected)
    assert expected_loss(THREE, consumer, np.eye(3)[swapped]) == pytest.approx(expected)
    assert expected_loss(
        THREE, consumer, DeterministicChannel(swapped)
    ) == pytest.approx(expected)
    assert utility(THREE, consumer, range(3)) == pytest.approx(0.5)
    mixed = np.full((3, 3), 1 / 3)
    assert utility(THREE, consumer, mixed) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("remap", "message"),
    [
        ([0, 1], "from 3 outputs to 3 guesses, got 2 and 3"),
        ([0, 1, 3], "targets must be in 0 … 2, got 3"),
        ([0.5, 1, 2], "whole numbers"),
        (np.eye(2), "from 3 outputs to 3 guesses, got 2 and 2"),
        (np.ones((3, 3)), "every row must sum to 1"),
        ([[1], [1, 2], []], "a list of guesses or a matrix"),
    ],
)
def test_wrong_remaps(remap: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        expected_loss(THREE, Consumer.of(Clique(3)), remap)  # type: ignore[arg-type]


def test_channel_and_consumer_must_fit() -> None:
    for call in (best_remap, expected_loss, utility):
        with pytest.raises(InputError, match="got 2 inputs and 3 answers"):
            call(RESPONSE, Consumer.of(Clique(3)))
    with pytest.raises(InputError, match="got 2 inputs and 3 answers"):
        worst_loss(RESPONSE, Consumer.of(Clique(3), support="all"))


def test_risk_averse_consumers_look_at_the_worst() -> None:
    channel = Channel([[0.75, 0.25, 0], [0.5, 0.25, 0.25], [0, 0.5, 0.5]])
    consumer = Consumer.of(PathPower(3), support="all", loss="absolute")
    assert worst_loss(channel, consumer) == (0.75, 1)
    assert worst_loss(
        channel, Consumer.of(PathPower(3), support="0,2", loss="absolute")
    ) == (
        0.5,
        2,
    )
    assert worst_loss(channel, consumer, [1, 1, 1]) == (1, 0)
    assert worst_loss(channel, consumer, np.eye(3)[[1, 1, 1]]) == (1, 0)
    assert worst_loss(
        RESPONSE, Consumer(support=[0], loss=np.array([[0, 1, 5], [1, 0, 5]])), [0, 2]
    ) == (
        1.25,
        0,
    )


def test_each_kind_of_consumer_has_its_functions() -> None:
    averse = Consumer.of(Clique(2), support="all")
    for call in (best_remap, expected_loss, utility):
        with pytest.raises(
            InputError, match="judge a mechanism for it with worst_loss"
        ):
            call(RESPONSE, averse)
    with pytest.raises(InputError, match="needs a risk-averse consumer"):
        worst_loss(RESPONSE, Consumer.of(Clique(2)))
    with pytest.raises(
        InputError, match="must be the 3 guesses of the loss, got 2 outputs"
    ):
        worst_loss(RESPONSE, Consumer(support=[0], loss=np.zeros((2, 3))))


def test_many_databases_by_rule() -> None:
    graph = CartesianProduct([Clique(2)] * 40)
    crowd = KroneckerChannel([RESPONSE] * 40)
    assert utility(crowd, Consumer.of(graph)) == pytest.approx(0.75**40)
    skewed = Consumer.of(graph, prior="product(.9,.1)")
    assert utility(crowd, skewed) == pytest.approx(0.9**40)
    with pytest.raises(TooLarge, match="entries of the channel"):
        best_remap(crowd, skewed)


def test_the_rule_for_products_is_the_definition() -> None:
    other = Channel([[0.6, 0.4], [0.1, 0.9]])
    crowd = KroneckerChannel([RESPONSE, other, RESPONSE])
    prior = ProductPrior([Prior([0.6, 0.4])] * 3)
    by_rule = utility(crowd, Consumer(prior=prior, loss=Loss.binary(8)))
    listed = utility(
        Channel(crowd.matrix()),
        Consumer(prior=Prior(prior.probabilities), loss=Loss.binary(8)),
    )
    assert by_rule == pytest.approx(listed, abs=1e-14)


def test_edge_lengths_count_in_the_distance() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1.0, 10.0])
    consumer = Consumer.of(graph, prior="0.2,0.3,0.5", loss="distance")
    assert expected_loss(THREE, consumer, [1, 1, 1]) == pytest.approx(5.2)
    assert best_remap(THREE, consumer).guess.tolist() == [1, 1, 2]
    assert expected_loss(THREE, consumer) == pytest.approx(3.95)


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
@pytest.mark.parametrize("width", [1, 3])
def test_geometric_noise_is_remapped_by_rule_as_by_its_matrix(loss, width):
    prior = np.random.default_rng(1).dirichlet(np.full(40, 0.3))
    consumer = Consumer.of(PathPower(40), prior=prior, loss=loss)
    noise = GeometricChannel(40, "ln(2)", width)
    by_rule, listed = (
        best_remap(noise, consumer),
        best_remap(Channel(noise.matrix()), consumer),
    )
    assert by_rule.guess.tolist() == listed.guess.tolist()
    assert by_rule.expected_loss == pytest.approx(listed.expected_loss, rel=1e-12)
    other = best_remap(GeometricChannel(40, 1, width), consumer)
    assert other.expected_loss != pytest.approx(listed.expected_loss, rel=1e-6)


def test_a_million_answers_are_remapped_without_a_matrix():
    consumer = Consumer.of(PathPower(10**6), prior="uniform", loss="absolute")
    found = best_remap(GeometricChannel(10**6, "ln(2)"), consumer)
    # Σ d·2^-d noise on either side of an inner answer, (1/3)·2·2.
    assert found.expected_loss == pytest.approx(4 / 3, rel=1e-5)
