"""One mechanism for many consumers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from tightrope.certify import verify
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import Cycle, ExplicitGraph, PathPower
from tightrope.optimize import Design, design, design_many, regret
from tightrope.optimize.problem import Problem
from tightrope.optimize.regret import ConsumerCosts, RegretSearch
from tightrope.progress import Progress
from tightrope.proofs import prove
from tightrope.queries import query


def claim_4_4(graph: Cycle) -> list[Consumer]:
    """The two consumers of [C, Claim 4.4]: uniform on the cycle, uniform on three in a row."""
    three = [1 / 3] * 3 + [0.0] * (graph.size - 3)
    return [
        Consumer.of(graph, prior="uniform", loss="binary"),
        Consumer.of(graph, prior=three, loss="binary"),
    ]


@pytest.mark.parametrize("level", ["ln(2)", "1/2"])
def test_claim_4_4_has_a_positive_regret_on_the_cycle(level: str) -> None:
    graph = Cycle(5)
    found = design_many(graph, level, claim_4_4(graph))
    assert found.certified
    assert found.worst_regret > 1e-4
    assert found.bound == pytest.approx(found.worst_regret, abs=1e-8)
    assert found.regrets.max() == found.worst_regret
    assert is_private(found.channel, graph, level)


def test_regret_vanishes_on_a_path() -> None:
    rng = np.random.default_rng(0)
    graph = PathPower(6)
    consumers = [
        Consumer.of(graph, prior=rng.dirichlet(np.ones(6)).tolist(), loss=loss)
        for loss in ["binary", "absolute", "squared", "binary", "absolute"] * 2
    ]
    found = design_many(graph, "ln(2)", consumers)
    assert found.worst_regret <= 1e-12
    assert found.certified
    assert len(found.as_dict()["consumers"]) == 10


def test_one_consumer_has_no_regret() -> None:
    graph = PathPower(5, 2)
    found = design_many(
        graph, 1, [Consumer.of(graph, prior="0.1,0.3,0.2,0.3,0.1", loss="binary")]
    )
    assert found.worst_regret <= 1e-9


def test_requests_without_sense_are_refused() -> None:
    graph = PathPower(4)
    with pytest.raises(InputError, match="at least one consumer"):
        design_many(graph, 1, [])
    with pytest.raises(InputError, match="consumers with priors"):
        design_many(graph, 1, [Consumer.of(graph, support="all", loss="binary")])
    with pytest.raises(InputError, match="4 answers"):
        design_many(
            graph, 1, [Consumer.of(PathPower(5), prior="uniform", loss="binary")]
        )


def all_rays(graph) -> np.ndarray:
    """Every height function with steps of at most 1 and its lowest place at 0."""
    most = graph.diameter
    found = []
    edges = graph.edge_array()
    stack = [[]]
    before = [[i for i, j in edges.tolist() if j == node] for node in range(graph.size)]
    before = [
        near + [j for i, j in edges.tolist() if i == node and j < node]
        for node, near in enumerate(before)
    ]
    while stack:
        heights = stack.pop()
        if len(heights) == graph.size:
            if min(heights) == 0:
                found.append(heights)
            continue
        near = [heights[i] for i in before[len(heights)] if i < len(heights)]
        stack += [
            [*heights, h]
            for h in range(most + 1)
            if all(abs(h - other) <= 1 for other in near)
        ]
    return np.array(found)


def least_regret(graph, level: str, consumers, optima) -> float:
    """The program over all rays at once: the same for any number of consumers."""
    rays = Epsilon.of(level).alpha ** all_rays(graph).astype(float)
    costs = [c.prior.probabilities[:, None] * c.loss.matrix() for c in consumers]
    worth = np.stack([(rays @ cost).min(axis=1) for cost in costs])
    solved = linprog(
        np.append(np.zeros(len(rays)), 1.0),
        A_ub=np.hstack([worth, -np.ones((len(worth), 1))]),
        b_ub=optima,
        A_eq=np.hstack([rays.T, np.zeros((graph.size, 1))]),
        b_eq=np.ones(graph.size),
        bounds=[(0, None)] * len(rays) + [(None, None)],
    )
    return float(solved.fun)


def crowd_of(
    graph, count: int, seed: int, losses=("binary", "distance")
) -> list[Consumer]:
    rng = np.random.default_rng(seed)
    return [
        Consumer.of(
            graph,
            prior=rng.dirichlet(np.full(graph.size, 0.7)).tolist(),
            loss=losses[number % len(losses)],
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("text", "level", "losses"),
    [
        ("cycle(5)", "ln(2)", ("binary",)),
        ("cycle(6)", "1/2", ("binary", "distance")),
        ("counts(2,2)", "1/2", ("binary", "distance")),
        ("star(4)", "1", ("binary", "distance")),
        ("sum(2,3)", "1/2", ("absolute", "binary")),
        ("choice(5)", "1", ("binary",)),
    ],
)
def test_twelve_consumers_get_what_all_rays_together_give(text, level, losses) -> None:
    """Millions of tuples of guesses; the program over all rays needs none of them."""
    graph = query(text).graph
    consumers = crowd_of(graph, 12, len(text), losses)
    found = design_many(graph, level, consumers)
    wanted = least_regret(graph, level, consumers, found.optima)
    assert found.certified
    assert wanted > 1e-4
    assert found.worst_regret == pytest.approx(wanted, abs=1e-8)
    assert found.bound == pytest.approx(wanted, abs=1e-8)
    proved = verify(prove(found))
    assert proved.private
    assert proved.optimal_within is None


def test_fewer_consumers_have_less_regret() -> None:
    graph = Cycle(5)
    consumers = crowd_of(graph, 12, 0, ("binary",))
    whole = design_many(graph, "ln(2)", consumers)
    worst = int(whole.regrets.argmax())
    rest = design_many(
        graph, "ln(2)", [c for k, c in enumerate(consumers) if k != worst]
    )
    assert rest.worst_regret < whole.worst_regret - 1e-4


@pytest.fixture(scope="module")
def twelve() -> Design:
    """Twelve consumers of a sum, with the mechanism that is best for them together."""
    graph = query("sum(4,3)").graph
    found = design_many(graph, "1/2", crowd_of(graph, 12, 6, ("absolute", "binary")))
    assert found.certified
    return found


@pytest.mark.parametrize("calls", [1, 3, 6])
def test_a_search_that_is_stopped_keeps_a_bound_that_holds(twelve, calls: int) -> None:
    told = []

    def stop(now: Progress) -> bool:
        told.append(now)
        return len(told) >= calls

    found = design_many(twelve.graph, "1/2", twelve.consumers, progress=stop)
    assert found.stopped
    assert not found.certified
    assert 0 <= found.bound <= twelve.worst_regret + 1e-9
    assert found.worst_regret >= twelve.worst_regret - 1e-9
    assert is_private(found.channel, twelve.graph, "1/2")
    assert told[0].loss >= told[-1].loss


def test_an_interruption_ends_the_search_with_the_best_so_far(twelve) -> None:
    told = []

    def interrupt(now: Progress) -> None:
        told.append(now)
        if "regret" in now.step and now.bound > 0 and now.round > 1:
            raise KeyboardInterrupt

    found = design_many(twelve.graph, "1/2", twelve.consumers, progress=interrupt)
    assert found.stopped
    assert found.worst_regret > twelve.worst_regret > found.bound > 0
    assert verify(prove(found)).private


def test_branches_left_open_are_part_of_the_bound(twelve, monkeypatch) -> None:
    monkeypatch.setattr(regret, "MOST_BRANCHES", 5)
    cut = design_many(twelve.graph, "1/2", twelve.consumers)
    assert not cut.certified
    assert "stayed open" in cut.reason
    assert 0 <= cut.bound < twelve.worst_regret
    assert cut.worst_regret >= twelve.worst_regret - 1e-9


def test_floors_that_are_no_certificates_would_prove_too_much() -> None:
    """The twin: the bound rests on the floors, and a false floor shows."""
    graph, level = Cycle(5), Epsilon.of("ln(2)")
    consumers = crowd_of(graph, 12, 0, ("binary",))
    problems = [Problem.of(graph, level, c) for c in consumers]
    own = [design(graph, level, c) for c in consumers]
    floors = np.array([one.certificate.prices for one in own])
    crowd = ConsumerCosts(tuple(p.costs for p in problems), floors, level.alpha)
    optima = np.array([one.expected_loss for one in own])
    few = np.concatenate([graph.distance_matrix(), np.zeros((1, 5))]).astype(int)
    found = RegretSearch(problems[0], crowd, optima, few, 1e-9)
    found.run()
    truth = least_regret(graph, "ln(2)", consumers, optima)
    assert found.bound == pytest.approx(truth, abs=1e-8)
    # With floors that are too high no ray seems to be missing.
    false = RegretSearch(
        problems[0], replace(crowd, floors=floors + 0.05), optima, few, 1e-9
    )
    false.run()
    assert false.bound > truth + 0.001


def test_edges_with_lengths_and_graphs_without_a_rule() -> None:
    lengths = ExplicitGraph(
        [(0, 1), (1, 2), (2, 3), (0, 3)], lengths=[1.0, 0.5, 2.0, 0.7]
    )
    rng = np.random.default_rng(1)
    consumers = [
        Consumer.of(lengths, prior=rng.dirichlet(np.ones(4)).tolist(), loss="binary")
        for _ in range(12)
    ]
    found = design_many(lengths, 1, consumers)
    assert found.certified
    assert verify(prove(found)).private
