"""Column generation whose prices stay in a box around the best ones."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.optimize.boxstep import Boxstep, Orbits, boxstep_route
from tightrope.optimize.progress import Watch
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import RoutePlan, Task
from tightrope.progress import Progress


def task_of(
    text: str,
    loss: str,
    level: float,
    neighbours: str = "change-one",
    watch: Watch | None = None,
) -> Task:
    graph = tr.query(text, neighbours=neighbours).graph
    consumer = Consumer.of(graph, prior="uniform", loss=loss)
    small = SolverSettings(window_answers=0)
    return Task(
        graph,
        tr.Epsilon.of(level),
        consumer,
        watch=watch or Watch(),
        settings=small,
    )


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(
    ("text", "neighbours"),
    [
        ("counts(4,3)", "change-one"),
        ("counts(6,2)", "add-remove"),
        ("histogram(6,4)", "change-one"),
        ("histogram(5,3)", "either"),
    ],
)
def test_it_finds_what_the_engine_finds(text, neighbours, loss):
    task = task_of(text, loss, 0.7, neighbours)
    plan = boxstep_route(task)
    assert isinstance(plan, RoutePlan)
    found = plan.solve()
    assert found.certified
    assert is_private(found.channel, task.graph, task.epsilon)
    assert np.allclose(found.channel.matrix().sum(axis=1), 1, rtol=0, atol=1e-9)
    best = tr.design(task.graph, 0.7, task.consumer, route="orbits")
    assert found.expected_loss == pytest.approx(best.expected_loss, rel=1e-8)


def test_its_prices_are_dual_feasible_and_higher_ones_are_not():
    task = task_of("counts(4,3)", "absolute", 1)
    market = Orbits(task.on_orbits)
    search = Boxstep(market, 1e-9)
    search.run()
    prices = market.by_answer(search.prices)
    proof = tr.optimize.Certificate(task.graph, task.epsilon, task.consumer, prices)
    # Minimum cuts price every guess again, on the whole graph.
    assert proof.checked_bound() >= proof.bound - 1e-9
    higher = tr.optimize.Certificate(
        task.graph, task.epsilon, task.consumer, 1.01 * prices
    )
    assert higher.checked_bound() < higher.bound


def test_it_starts_from_prices_that_are_proved():
    task = task_of("counts(4,3)", "absolute", 1)
    market = Orbits(task.on_orbits)
    cold = Boxstep(market, 1e-9)
    cold.run()
    proved = market.by_answer(cold.prices)
    warm = Boxstep(Orbits(task.on_orbits, known=proved), 1e-9)
    assert warm.bound == pytest.approx(cold.bound, rel=1e-12)
    warm.run()
    assert warm.rounds < cold.rounds


def test_prices_below_the_trivial_ones_are_no_centre():
    task = task_of("counts(4,2)", "absolute", 1)
    known = np.zeros(task.graph.size)
    search = Boxstep(Orbits(task.on_orbits, known=known), 1e-9)
    assert search.centre.min() > 0
    search.run()
    assert search.bound > 0


def test_a_search_that_is_stopped_has_a_mechanism():
    rounds = []

    def stop(now: Progress) -> bool:
        rounds.append(now)
        return len(rounds) > 4

    task = task_of("counts(5,3)", "absolute", 0.7, watch=Watch(stop))
    plan = boxstep_route(task)
    assert isinstance(plan, RoutePlan)
    found = plan.solve()
    assert found.stopped
    assert not found.certified
    assert 0 <= found.bound <= found.expected_loss
    assert is_private(found.channel, task.graph, task.epsilon)


def test_a_route_hands_its_prices_to_the_next():
    task = task_of("counts(4,3)", "absolute", 1)
    plan = boxstep_route(task)
    assert isinstance(plan, RoutePlan)
    found = plan.solve()
    after = task.starting_from(found)
    assert after.prices is not None
    assert after.prices.sum() == pytest.approx(found.bound)
    assert task.prices is None


@pytest.mark.parametrize(
    ("text", "neighbours", "why"),
    [
        ("counts(16,3)", "change-one", "4913 answers are more than 4000"),
        ("counts(30,2)", "change-one", "961 answers are few enough"),
        ("counts(62,2)", "add-remove", "orbits of answers are more than 1000"),
        ("sum(300,4)", "change-one", "answers on a line have staircases"),
    ],
)
def test_a_refusal_names_the_condition(text, neighbours, why):
    graph = tr.query(text, neighbours=neighbours).graph
    consumer = Consumer.of(graph, prior="uniform", loss="absolute")
    assert why in boxstep_route(Task(graph, tr.Epsilon.of(0.5), consumer))


def test_without_symmetry_or_prior_it_does_not_fit():
    graph = tr.query("counts(32,2)").graph
    prior = np.arange(1.0, graph.size + 1)
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="absolute")
    refused = boxstep_route(Task(graph, tr.Epsilon.of(0.5), consumer))
    assert refused == "no symmetry of the graph keeps prior and loss"
    consumer = Consumer.of(graph, support="all", loss="absolute")
    refused = boxstep_route(Task(graph, tr.Epsilon.of(0.5), consumer))
    assert refused == "boxes around prices are for a consumer with a prior"
