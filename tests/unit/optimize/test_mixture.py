"""Columns taken apart into rays: nothing is lost, also where a solver left noise."""

import numpy as np
import pytest

import tightrope as tr
from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.graphs import Cycle, PathPower
from tightrope.optimize import design
from tightrope.optimize.mixture import peeled
from tightrope.optimize.problem import Problem


def put_together(problem, rays):
    return sum(weight * problem.alpha ** heights.astype(float) for heights, weight in rays)


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.7])
def test_noise_far_from_the_anchor_does_not_stop_the_peeling(noise) -> None:
    graph = Cycle(60)
    problem = Problem(graph, Epsilon.of("ln(2)"), np.ones((60, 60)) - np.eye(60))
    column = 0.4 * problem.rates[0] + 0.2 * problem.rates[2] + 0.1 * problem.rates[57]
    rough = column.copy()
    rough[28:33] *= 1 - noise * np.array([1, 0, 1, 0, 1])
    rays = peeled(problem, rough)
    assert put_together(problem, rays) == pytest.approx(column, abs=1e-8)
    assert len(rays) <= 60
    for heights, weight in rays:
        assert weight >= 0
        assert np.abs(heights - np.roll(heights, 1)).max() <= 1


def test_noise_in_a_large_entry_is_not_hidden() -> None:
    problem = Problem(Cycle(60), Epsilon.of("ln(2)"), np.ones((60, 60)) - np.eye(60))
    rough = 0.4 * problem.rates[0]
    rough[1] *= 0.5
    assert put_together(problem, peeled(problem, rough))[1] > rough[1] + 0.05


def test_a_column_that_grows_away_from_its_guess_is_taken_apart() -> None:
    """What is left to 1 when others are used near the middle only: large at both ends."""
    n = 321
    problem = Problem(PathPower(n, 3), Epsilon.of("0.7"), np.ones((n, n)) - np.eye(n))
    column = 1 - 0.2 * problem.rates[[150, 155, 160, 166]].sum(axis=0)
    rays = peeled(problem, column, 1e-12)
    assert put_together(problem, rays) == pytest.approx(column, abs=1e-10)
    for heights, weight in rays:
        assert weight >= 0
        assert all(np.abs(heights[d:] - heights[:-d]).max() <= 1 for d in (1, 2, 3))


def test_rays_of_tiny_weight_are_found_by_a_sharper_look(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tr.query("sum(90,4)").graph
    reader = Consumer.of(graph, prior="binomial(.3)", loss="binary")
    assert design(graph, 0.5, reader).certified
    # Taken for noise, they leave a rest that costs more than the gap that was asked for.
    monkeypatch.setattr("tightrope.optimize.mixture.SLACK_TOLERANCES", (1e-7,))
    assert not design(graph, 0.5, reader, route="rays").certified
