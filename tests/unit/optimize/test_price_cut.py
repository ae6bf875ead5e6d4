"""Minimum cuts find the rays and bounds of the linear program, on graphs without any structure."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import tightrope as tr
from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.graphs import Cycle, ExplicitGraph, PathPower
from tightrope.optimize import design, price_cut, pricing
from tightrope.optimize.price_cut import CutPricer
from tightrope.optimize.price_lp import LinearPricer
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Problem


def explicit(graph: nx.Graph) -> ExplicitGraph:
    plain = nx.convert_node_labels_to_integers(graph)
    return ExplicitGraph(sorted(tuple(sorted(edge)) for edge in plain.edges))


PETERSEN = explicit(nx.petersen_graph())
CUBE = explicit(nx.hypercube_graph(3))
REGULAR = explicit(nx.random_regular_graph(3, 14, seed=2))


def problem_on(graph: ExplicitGraph | PathPower, level: str = "ln(2)") -> Problem:
    n = graph.size
    return Problem(graph, Epsilon.of(level), np.ones((n, n)) - np.eye(n))


def least_value(problem: Problem, weights: np.ndarray, anchor: int) -> float:
    """The cheapest private column with 1 at the anchor, as anybody would compute it."""
    rows, n = [], problem.size
    for i, j in problem.edges.tolist():
        for a, b in ((i, j), (j, i)):
            row = np.zeros(n)
            row[a], row[b] = problem.alpha, -1.0
            rows.append(row)
    one = np.zeros((1, n))
    one[0, anchor] = 1.0
    found = linprog(weights, np.array(rows), np.zeros(len(rows)), one, [1.0], bounds=(0, None))
    assert found.status == 0
    return float(found.fun)


@st.composite
def connected_graphs(draw: st.DrawFn) -> ExplicitGraph:
    n = draw(st.integers(3, 9))
    tree = {(draw(st.integers(0, j - 1)), j) for j in range(1, n)}
    pairs = [(i, j) for j in range(n) for i in range(j)]
    return ExplicitGraph(sorted(tree | draw(st.sets(st.sampled_from(pairs)))))


@settings(max_examples=60, deadline=None)
@given(connected_graphs(), st.integers(0, 10**6), st.sampled_from(["1/5", "ln(2)", "2"]))
def test_cuts_find_the_value_of_the_linear_program(graph, seed, level) -> None:
    problem = problem_on(graph, level)
    rng = np.random.default_rng(seed)
    n = graph.size
    weights = rng.normal(size=(n, n)) * 10 ** rng.uniform(-3, 0, size=(n, 1))
    values, heights, uniform = CutPricer(problem).cheapest(weights, np.arange(n))
    for k in range(n):
        least = least_value(problem, weights[:, k], k)
        ray = problem.alpha ** heights[k].astype(float)
        tolerance = 1e-9 * (np.abs(weights[:, k]) @ ray)
        assert ray[k] == 1
        assert (np.abs(np.diff(heights[k][problem.edges], axis=1)) <= 1).all()
        if least < -tolerance:
            assert weights[:, k] @ ray == pytest.approx(least, rel=1e-9, abs=tolerance)
        else:
            assert weights[:, k] @ ray >= -tolerance
        if uniform[k] == 0:
            assert min(values[k], 0) <= least + tolerance
        assert uniform[k] <= 1e-9


def test_a_search_that_is_cut_short_proves_less_but_nothing_wrong(monkeypatch) -> None:
    problem = problem_on(REGULAR)
    n = problem.size
    weights = np.random.default_rng(3).normal(size=(n, n))
    least = np.array([least_value(problem, weights[:, k], k) for k in range(n)])
    monkeypatch.setattr(price_cut, "STEPS", 0)
    values, heights, uniform = CutPricer(problem).cheapest(weights, np.arange(n))
    rays = problem.alpha ** heights.astype(float)
    assert (np.einsum("ki,ik->k", rays, weights) > least + 0.1).any()
    # Lowered by what is returned, the prices leave no ray with a gain.
    raised = weights + uniform - np.where(uniform == 0, np.minimum(values, 0), 0) * np.eye(n)
    assert all(least_value(problem, raised[:, k], k) >= -1e-9 for k in range(n))
    assert not all(least_value(problem, weights[:, k], k) >= -1e-9 for k in range(n))


@pytest.mark.parametrize("graph", [PETERSEN, CUBE, REGULAR, PathPower(9, 2)])
def test_cuts_agree_with_other_pricers(graph) -> None:
    problem = problem_on(graph)
    rng = np.random.default_rng(graph.size)
    cuts, linear = CutPricer(problem), LinearPricer(problem)
    for scale in (0.2, 1.0, 3.0, 1.0):
        prices = scale * rng.random(graph.size)
        one = price(problem, cuts, prices, problem.guesses)
        other = price(problem, linear, prices, problem.guesses)
        assert ((one.values < -1e-9) == (other.values < -1e-9)).all()
        assert (one.values <= other.values + 1e-9)[one.values < 0].all()


def test_guesses_are_taken_in_turns(monkeypatch) -> None:
    problem = problem_on(CUBE)
    weights = np.random.default_rng(5).normal(size=(8, 8))
    together = CutPricer(problem).cheapest(weights, np.arange(8))
    monkeypatch.setattr(price_cut, "PLACES", 60)
    in_turns = CutPricer(problem).cheapest(weights, np.arange(8))
    assert together[1].tolist() == in_turns[1].tolist()
    assert together[0] == pytest.approx(in_turns[0], rel=1e-12)


@pytest.fixture(autouse=True)
def _cuts_on_small_graphs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "FEW_ANSWERS", 0)


def test_few_answers_take_the_linear_program_while_rays_fall_gently(monkeypatch) -> None:
    monkeypatch.undo()
    costs = np.ones((10, 10))
    assert isinstance(pricer_for(Problem(PETERSEN, Epsilon.of(1), costs)), LinearPricer)
    assert isinstance(pricer_for(Problem(PETERSEN, Epsilon.of(4), costs)), CutPricer)


def test_lengths_and_numbers_beyond_floats_take_the_linear_program() -> None:
    kite = [(0, 1), (1, 2), (2, 0), (2, 3)]
    costs = np.ones((4, 4))
    assert isinstance(pricer_for(Problem(ExplicitGraph(kite), Epsilon.of(1), costs)), CutPricer)
    long = ExplicitGraph(kite, lengths=[1.0, 2.0, 1.0, 0.5])
    assert isinstance(pricer_for(Problem(long, Epsilon.of(1), costs)), LinearPricer)
    steep = Problem(ExplicitGraph(kite), Epsilon.of(200), costs)
    assert isinstance(pricer_for(steep), LinearPricer)


@pytest.mark.parametrize("loss", ["binary", "distance", "absolute"])
@pytest.mark.parametrize("graph", [PETERSEN, CUBE, REGULAR], ids=["petersen", "cube", "regular"])
def test_designs_equal_the_plain_program(graph, loss) -> None:
    prior = np.random.default_rng(7).dirichlet(np.ones(graph.size)).tolist()
    reader = Consumer.of(graph, prior=prior, loss=loss)
    found = design(graph, "ln(2)", reader, route="rays")
    assert found.certified
    assert found.expected_loss == pytest.approx(
        design(graph, "ln(2)", reader, route="plain").expected_loss, rel=1e-9
    )


def test_a_graph_from_a_file(tmp_path) -> None:
    path = tmp_path / "wheel.graphml"
    nx.write_graphml(nx.wheel_graph(7), path)
    graph = tr.query(f"graph:{path}").graph
    prior = np.random.default_rng(1).dirichlet(np.ones(7)).tolist()
    reader = Consumer.of(graph, prior=prior, loss="binary")
    assert isinstance(pricer_for(Problem.of(graph, Epsilon.of(1), reader)), CutPricer)
    found = design(graph, 1, reader, route="rays")
    assert found.certified
    assert found.expected_loss == pytest.approx(
        design(graph, 1, reader, route="plain").expected_loss, rel=1e-9
    )


def test_a_cycle_by_cuts_is_a_cycle_by_walks() -> None:
    problem = problem_on(Cycle(11), "1/3")
    weights = np.random.default_rng(0).normal(size=(11, 11))
    walks = pricer_for(problem).cheapest(weights, np.arange(11))[0]
    cuts = CutPricer(problem).cheapest(weights, np.arange(11))[0]
    assert cuts[walks < 0] == pytest.approx(walks[walks < 0], rel=1e-9)
    assert (cuts[walks >= 0] >= -1e-12).all()
