"""Risk-averse consumers: routes, worst priors and remaps."""

import numpy as np
import pytest

from tightrope.channels import Channel, is_private
from tightrope.consumers import Consumer, Loss
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import Clique, Cycle, PathPower, Star
from tightrope.mechanisms import geometric
from tightrope.optimize import SolverSettings, design, engine, minimax_remap
from tightrope.queries import query


def averse(graph, support="all", loss="binary"):
    return Consumer.of(graph, support=support, loss=loss)


@pytest.mark.parametrize(
    ("graph", "level", "support", "loss", "route"),
    [
        (PathPower(30), 1, "all", "absolute", "geometric"),
        (PathPower(30), 1, "2..5", "squared", "geometric"),
        (Star(4), "ln(4)", "1..3", "binary", "tree"),
        (Cycle(6), 1, "all", "binary", "symmetric"),
        (Cycle(7), 1, "all", "distance", "orbits"),
        (Cycle(7), 1, "0,1,3", "distance", "rays"),
        (PathPower(20, 3), 1, "all", "absolute", "orbits"),
        (PathPower(20, 3), 1, "0..12", "absolute", "rays"),
    ],
)
def test_the_cheapest_route_is_taken(graph, level, support, loss, route) -> None:
    found = design(graph, level, averse(graph, support, loss))
    assert found.route == route
    assert found.certified
    assert is_private(found.channel, graph, level)
    assert found.expected_loss <= min(found.baselines.values()) + 1e-9


def test_all_answers_of_a_ring_are_alike() -> None:
    ring = Cycle(9)
    worst = design(ring, "ln(2)", averse(ring, loss="distance"))
    mean = design(ring, "ln(2)", Consumer.of(ring, prior="uniform", loss="distance"))
    assert worst.expected_loss == pytest.approx(mean.expected_loss, abs=1e-12)
    assert worst.certificate.consumer.prior.probabilities == pytest.approx(
        np.full(9, 1 / 9)
    )


def test_the_worst_prior_is_on_the_support() -> None:
    graph = PathPower(12, 2)
    found = design(graph, 1, averse(graph, "3,4,9", "absolute"))
    prior = found.certificate.consumer.prior.probabilities
    assert set(np.flatnonzero(prior)) <= {3, 4, 9}
    assert prior.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("support", "route", "why"),
    [
        ("all", "regular", "has no prior"),
        ("all", "candidate", "has no prior"),
        ("0,1", "symmetric", "not all answers are possible"),
        ("all", "geometric", "is not a path"),
        ("all", "minimax", "must be one of"),
    ],
)
def test_refusals(support, route, why) -> None:
    ring = Cycle(5)
    with pytest.raises(InputError, match=why):
        design(ring, 1, averse(ring, support), route=route)


def test_a_search_can_be_stopped() -> None:
    graph, patient = PathPower(20, 3), SolverSettings(interior_wait=10)
    for rounds in (1, 2):
        seen = []

        def stop(progress, seen=seen, rounds=rounds):
            if progress.step == "searching":
                seen.append(progress)
            return len(seen) == rounds

        consumer = averse(graph, "0..14", "absolute")
        found = design(graph, 1, consumer, progress=stop, settings=patient)
        assert [told.round for told in seen] == list(range(1, rounds + 1))
        assert found.stopped
        assert not found.certified
        assert found.bound < found.expected_loss
        assert is_private(found.channel, graph, 1)


def test_an_interrupt_returns_the_best_so_far(monkeypatch) -> None:

    graph = PathPower(20, 3)
    real, calls = engine.solve_master, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(engine, "solve_master", interrupted)
    found = design(graph, 1, averse(graph, "0..14", "absolute"), route="rays")
    assert found.stopped
    assert is_private(found.channel, graph, 1)


def test_the_best_remap_has_a_worst_prior() -> None:
    noise = geometric(PathPower(40), 0.5)
    consumer = averse(PathPower(40), "0,5..20,39", "absolute")
    found = minimax_remap(noise, consumer)
    assert found.worst_loss - found.bound <= 1e-10 * found.worst_loss
    reader = Consumer(prior=found.prior, loss=consumer.loss)
    best = (noise.matrix() * found.prior[:, None]).T @ reader.loss.matrix()
    assert best.min(axis=1).sum() == pytest.approx(found.bound, abs=1e-12)
    assert found.matrix.matrix().sum(axis=1) == pytest.approx(np.ones(40), abs=1e-12)


def test_remaps_without_sense_are_refused() -> None:
    two = Channel([[0.75, 0.25], [0.25, 0.75]])
    with pytest.raises(InputError, match="use best_remap"):
        minimax_remap(two, Consumer(prior=[0.5, 0.5], loss=Loss.binary(2)))
    with pytest.raises(InputError, match="same answers"):
        minimax_remap(two, averse(Clique(3)))
    with pytest.raises(TooLarge, match="fewer answers"):
        minimax_remap(geometric(PathPower(3000), 1), averse(PathPower(3000)))


def test_two_guesses_for_five_answers_find_the_steepest_columns() -> None:
    # Pricing cuts prices off at the steepest columns; a search that did not add them stopped at
    # six times the least loss.
    losses = [[abs(i - k) % 3 / 7 for k in range(2)] for i in range(5)]
    graph = query("count(4)", neighbours="add-remove").graph
    consumer = Consumer.of(graph, loss=losses, support=[graph.label(0), graph.label(4)])
    found = design(graph, "ln(4)", consumer, "rays")
    assert found.certified
    assert found.expected_loss == pytest.approx(1 / 224, rel=1e-9)
