"""The dual program: the same optimum as the engine, and prices that pricing proves."""

from dataclasses import replace

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import (
    CartesianProduct,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
)
from tightrope.optimize import design, dual
from tightrope.optimize.dual import dual_variables, solve_dual_program
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Problem

LONG = ExplicitGraph(
    [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], lengths=[1.0, 2.0, 1.5, 0.5, 1.0]
)
GRAPHS = [
    PathPower(12, 3),
    Cycle(11),
    Star(5),
    StrongProduct([PathPower(3)] * 2),
    CartesianProduct([PathPower(2), Cycle(5)]),
    LONG,
]


def reader(graph, prior, loss):
    if prior == "random":
        prior = np.random.default_rng(3).dirichlet(np.ones(graph.size)).tolist()
    return Consumer.of(graph, prior=prior, loss=loss)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize("loss", ["binary", "absolute", "distance"])
@pytest.mark.parametrize(("prior", "level"), [("uniform", "1/10"), ("random", "ln(2)")])
def test_it_is_private_certified_and_as_good_as_the_engine(
    graph, loss, prior, level
) -> None:
    who = reader(graph, prior, loss)
    found = design(graph, level, who, route="dual")
    assert found.certified
    assert is_private(found.channel, graph, level)
    assert found.certificate.checked_bound() == pytest.approx(
        found.expected_loss, rel=1e-9
    )
    engine = design(graph, level, who, route="rays")
    assert found.expected_loss == pytest.approx(engine.expected_loss, rel=1e-9)


def test_more_and_fewer_guesses_than_answers() -> None:
    rng = np.random.default_rng(5)
    for guesses in (2, 9):
        problem = Problem(
            PathPower(5, 2), Epsilon.of("ln(2)"), rng.uniform(size=(5, guesses))
        )
        columns, prices = solve_dual_program(problem)
        assert sum(columns.values()) == pytest.approx(np.ones(5), abs=1e-9)
        lost = sum(problem.costs[:, k] @ x for k, x in columns.items())
        assert prices.sum() == pytest.approx(lost, rel=1e-9)


def test_guesses_that_are_set_aside_are_proved_too() -> None:
    graph = Cycle(12)
    problem = Problem.of(graph, Epsilon.of("ln(2)"), reader(graph, "random", "binary"))
    columns, prices = solve_dual_program(problem)
    assert len(columns) < 12
    priced = price(problem, Pricer(problem), prices, problem.guesses)
    assert priced.bound == pytest.approx(prices.sum(), rel=1e-12)


def test_prices_that_are_too_high_are_lowered_until_they_prove_a_bound(
    monkeypatch,
) -> None:
    graph = PathPower(8, 2)
    who, real = reader(graph, "random", "absolute"), dual.minimise
    best = design(graph, 1, who, route="dual")

    def dear(*args, **kwargs):
        solved = real(*args, **kwargs)
        values = solved.values.copy()
        values[-8:] += 0.01
        return replace(solved, values=values)

    monkeypatch.setattr(dual, "minimise", dear)
    found = design(graph, 1, who, route="dual")
    assert found.expected_loss == pytest.approx(best.expected_loss, rel=1e-9)
    assert best.bound * 0.9 < found.bound <= best.bound


def test_large_and_risk_averse_ones_are_refused() -> None:
    graph = PathPower(60, 3)
    with pytest.raises(InputError, match="multipliers, more than"):
        design(graph, 1, reader(graph, "random", "absolute"), route="dual")
    with pytest.raises(InputError, match="a consumer with a prior"):
        design(
            "cycle(5)",
            1,
            Consumer.of(Cycle(5), support="all", loss="binary"),
            route="dual",
        )
    assert dual_variables(Problem(PathPower(4), Epsilon.of(1), np.ones((4, 2)))) == 12
