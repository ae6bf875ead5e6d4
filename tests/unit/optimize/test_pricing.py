"""Pricing: minimum cuts find the rays and the bounds of the linear program, on every graph."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import tightrope as tr
from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.optimize import design
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Problem


def explicit(graph: nx.Graph) -> ExplicitGraph:
    plain = nx.convert_node_labels_to_integers(graph)
    return ExplicitGraph(sorted(tuple(sorted(edge)) for edge in plain.edges))


PETERSEN = explicit(nx.petersen_graph())
CUBE = explicit(nx.hypercube_graph(3))
REGULAR = explicit(nx.random_regular_graph(3, 14, seed=2))
TREE = ExplicitGraph([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)])
RING = ExplicitGraph([(0, 3), (3, 1), (1, 5), (5, 2), (2, 4), (4, 0)])
LONG_RING = ExplicitGraph(
    [(0, 1), (1, 2), (2, 3), (3, 0)], lengths=[0.5, 2.0, 1.25, 1.0]
)
LONG = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[0.5, 2.0, 1.25])
GRAPHS = [
    PathPower(9), PathPower(9, 2), PathPower(10, 3), Clique(6), Star(5), TREE, LONG, Cycle(7),
    Cycle(10), RING, LONG_RING, PETERSEN, CUBE, REGULAR,
]  # fmt: skip


def problem_on(graph, level: str = "ln(2)") -> Problem:
    n = graph.size
    return Problem(graph, Epsilon.of(level), np.ones((n, n)) - np.eye(n))


def least_value(problem: Problem, weights: np.ndarray, anchor: int) -> float:
    """The cheapest private column with 1 at the anchor, as anybody would compute it."""
    rows, n = [], problem.size
    for (i, j), length in zip(
        problem.edges.tolist(), problem.lengths.tolist(), strict=True
    ):
        for a, b in ((i, j), (j, i)):
            row = np.zeros(n)
            row[a], row[b] = problem.alpha**length, -1.0
            rows.append(row)
    one = np.zeros((1, n))
    one[0, anchor] = 1.0
    found = linprog(
        weights, np.array(rows), np.zeros(len(rows)), one, [1.0], bounds=(0, None)
    )
    assert found.status == 0
    return float(found.fun)


@st.composite
def connected_graphs(draw: st.DrawFn) -> ExplicitGraph:
    n = draw(st.integers(3, 9))
    tree = {(draw(st.integers(0, j - 1)), j) for j in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges = sorted(tree | draw(st.sets(st.sampled_from(pairs))))
    if draw(st.booleans()):
        return ExplicitGraph(edges)
    lengths = draw(st.lists(st.sampled_from([0.5, 1.0, 1.25]), min_size=len(edges),
                            max_size=len(edges)))  # fmt: skip
    return ExplicitGraph(edges, lengths=lengths)


def check_against_the_linear_program(problem: Problem, weights: np.ndarray) -> None:
    """Rays, values, and what the proof lacks are those of the linear program."""
    n = problem.size
    found = Pricer(problem).cheapest(weights, np.arange(n))
    each = np.arange(n)
    steps = (
        found.heights[:, problem.edges[:, 1]] - found.heights[:, problem.edges[:, 0]]
    )
    assert (np.abs(steps) <= problem.lengths + 1e-9).all()
    assert found.heights[each, found.places] == pytest.approx(0, abs=1e-12)
    rays = problem.alpha ** found.heights.astype(float)
    values = np.einsum("ki,ik->k", rays, weights)
    for k in range(n):
        scale = np.abs(weights[:, k]) @ rays[k]
        least = least_value(problem, weights[:, k], int(found.places[k]))
        assert (least < -1e-9 * scale) <= bool(found.negative[k])
        if found.negative[k]:
            assert values[k] == pytest.approx(
                found.values[k], rel=1e-9, abs=1e-12 * scale
            )
            assert values[k] == pytest.approx(least, rel=1e-9, abs=1e-9 * scale)
    # Prices that are lower by what the proofs lack leave no ray with a gain.
    raised = weights + np.maximum(found.short, 0)[:, None]
    assert all(least_value(problem, raised[:, k], k) >= -1e-9 for k in range(n))


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
@pytest.mark.parametrize("level", ["1/5", "ln(2)", "2"])
def test_every_structure_finds_the_value_of_the_linear_program(graph, level) -> None:
    problem = problem_on(graph, level)
    rng = np.random.default_rng(graph.size)
    for scale in (0.2, 1.0):
        weights = problem.costs - scale * rng.random(graph.size)[:, None]
        check_against_the_linear_program(problem, weights)


@settings(max_examples=60, deadline=None)
@given(
    connected_graphs(), st.integers(0, 10**6), st.sampled_from(["1/5", "ln(2)", "2"])
)
def test_any_graph_and_any_weights(graph, seed, level) -> None:
    rng = np.random.default_rng(seed)
    n = graph.size
    weights = rng.normal(size=(n, n)) * 10 ** rng.uniform(-3, 0, size=(n, 1))
    check_against_the_linear_program(problem_on(graph, level), weights)


def all_walks(n: int) -> np.ndarray:
    """All heights on a ring that start at 0 and change by at most 1, also at the last step."""
    steps = np.array(
        [s for s in itertools.product((-1, 0, 1), repeat=n) if sum(s) == 0]
    )
    return np.cumsum(np.insert(steps, 0, 0, axis=1), axis=1)[:, :n]


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("level", ["0.1", "1.2"])
def test_rays_on_a_cycle_are_the_cheapest_of_all_heights(n, level) -> None:
    problem = problem_on(Cycle(n), level)
    rng = np.random.default_rng(n)
    weights, anchors = rng.normal(size=(n, 8)), rng.integers(0, n, 8)
    found = Pricer(problem).cheapest(weights, anchors)
    walks = problem.alpha ** all_walks(n).astype(float)
    for q, place in enumerate(found.places.tolist()):
        least = (walks @ np.roll(weights[:, q], -place)).min()
        assert (least < 0) == bool(found.negative[q])
        if least < 0:
            assert found.values[q] == pytest.approx(least, rel=1e-12)


def test_a_second_search_starts_from_the_first_and_finds_the_same() -> None:
    problem = problem_on(CUBE)
    rng = np.random.default_rng(5)
    pricer, names = Pricer(problem), list(range(8))
    for _ in range(4):
        weights = problem.costs - 2 * rng.random(8)[:, None]
        warm = pricer.cheapest(weights, np.arange(8), names)
        cold = Pricer(problem).cheapest(weights, np.arange(8))
        assert warm.negative.tolist() == cold.negative.tolist()


def test_a_search_that_is_cut_short_proves_less_but_nothing_wrong(monkeypatch) -> None:
    problem = problem_on(REGULAR)
    n = problem.size
    weights = np.random.default_rng(3).normal(size=(n, n))
    monkeypatch.setattr(Pricer, "_most_moves", 1)
    found = Pricer(problem).cheapest(weights, np.arange(n))
    raised = weights + np.maximum(found.short, 0)[:, None]
    assert all(least_value(problem, raised[:, k], k) >= -1e-9 for k in range(n))
    assert not all(least_value(problem, weights[:, k], k) >= -1e-9 for k in range(n))


def test_levels_beyond_the_range_of_floats_are_priced() -> None:
    graph = PathPower(400)
    problem = Problem(graph, Epsilon.of(20), np.ones((400, 400)) - np.eye(400))
    weights = np.ones((400, 2))
    weights[399, 0], weights[0, 1] = -2.0, 3.0
    found = Pricer(problem).cheapest(weights, np.array([0, 200]))
    assert found.negative.tolist() == [True, False]
    assert found.places[0] == 399
    assert found.values[0] == pytest.approx(-2 + 1 / (np.exp(20) - 1), rel=1e-9)


def test_round_off_of_large_weights_far_away_does_not_lower_a_bound() -> None:
    # Squared losses of 40,000 beside a bound of 0.01: a proof uses them up to the last digit, and
    # what it may lack there is next to nothing where the ray is high.
    graph = PathPower(215)
    prior = 1 / np.sqrt(np.arange(1, 216))
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="squared")
    assert design(graph, 4.89, consumer, route="geometric").gap < 2e-10


def test_a_bound_never_passes_the_optimum() -> None:
    problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    for height in (0.1, 1 / 6, 0.2, 1.0):
        found = price(problem, Pricer(problem), np.full(3, height), problem.guesses)
        assert found.bound <= 0.5 + 1e-12
    exact = price(problem, Pricer(problem), np.full(3, 1 / 6), problem.guesses)
    assert exact.bound == pytest.approx(0.5, abs=1e-12)


def test_prices_that_are_round_off_do_not_spoil_a_bound() -> None:
    """Where the prior is tiny, steep rays magnify any price that is too high."""
    graph = PathPower(40, 2)
    prior = np.full(40, 1e-30)
    prior[:3] = 1 / 3
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="absolute")
    found = design(graph, 3, consumer, route="rays")
    assert found.certified
    problem = Problem.of(graph, Epsilon.of(3), consumer)
    rough = found.certificate.prices + 1e-12 * np.random.default_rng(0).random(40)
    lowered = rough - 1e-9 * np.abs(rough).mean()
    kept = price(problem, Pricer(problem), lowered, problem.guesses).bound
    assert kept >= found.bound - 1e-9
    assert price(problem, Pricer(problem), rough, problem.guesses).bound < kept
    assert kept <= found.expected_loss


@pytest.mark.parametrize(
    ("n", "loss", "level"),
    [
        (5, "binary", "ln(2)"),
        (12, "absolute", "1/5"),
        (23, "binary", "2"),
        (36, "distance", "1/2"),
        (44, "binary", "ln(2)"),
        (60, "distance", "ln(3)"),
    ],
)
def test_designs_on_cycles_are_certified(n, loss, level) -> None:
    graph = Cycle(n)
    prior = np.random.default_rng(n).dirichlet(np.ones(n)).tolist()
    found = design(graph, level, Consumer.of(graph, prior=prior, loss=loss))
    assert found.certified
    assert found.gap <= 1e-9


@pytest.mark.parametrize("loss", ["binary", "distance", "absolute"])
@pytest.mark.parametrize(
    "graph", [PETERSEN, CUBE, REGULAR], ids=["petersen", "cube", "regular"]
)
def test_designs_equal_the_plain_program(graph, loss) -> None:
    prior = np.random.default_rng(7).dirichlet(np.ones(graph.size)).tolist()
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    found = design(graph, "ln(2)", consumer, route="rays")
    assert found.certified
    assert found.expected_loss == pytest.approx(
        design(graph, "ln(2)", consumer, route="plain").expected_loss, rel=1e-9
    )


def test_a_graph_from_a_file(tmp_path) -> None:
    path = tmp_path / "wheel.graphml"
    nx.write_graphml(nx.wheel_graph(7), path)
    graph = tr.query(f"graph:{path}").graph
    prior = np.random.default_rng(1).dirichlet(np.ones(7)).tolist()
    consumer = Consumer.of(graph, prior=prior, loss="binary")
    found = design(graph, 1, consumer, route="rays")
    assert found.certified
    assert found.expected_loss == pytest.approx(
        design(graph, 1, consumer, route="plain").expected_loss, rel=1e-9
    )
