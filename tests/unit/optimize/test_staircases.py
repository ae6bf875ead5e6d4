"""Staircases obey the clock: a proof that time cuts short proves nothing, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.graphs import PathPower
from tightrope.optimize import design
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.progress import Stopped, Watch
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.staircases import proved_prices, solve_staircases
from tightrope.optimize.sums import staircases_route
from tightrope.optimize.task import RoutePlan, Task
from tightrope.queries import query

SIZE = 51
FAR = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))) / SIZE
ALPHA = float(np.exp(-1.0))


def test_a_proof_ends_when_time_is_up() -> None:
    prices = solve_staircases(FAR, 5, ALPHA, np.full(SIZE, 1 / SIZE)).prices
    with pytest.raises(Stopped):
        proved_prices(FAR, prices, 5, ALPHA, watch=Watch(time_limit=0.0))
    # With time left a watch changes nothing.
    watched = proved_prices(FAR, prices, 5, ALPHA, watch=Watch(time_limit=60.0))
    assert np.array_equal(watched, proved_prices(FAR, prices, 5, ALPHA))


def test_a_long_proof_reports_that_it_goes_on() -> None:
    prices = solve_staircases(FAR, 5, ALPHA, np.full(SIZE, 1 / SIZE)).prices
    reports = []
    watch = Watch(reports.append)
    # As if nothing had been reported for some time.
    watch._began -= 10.0
    proved_prices(FAR, prices, 5, ALPHA, watch=watch)
    assert reports


def test_a_search_says_whether_time_ended_it() -> None:
    falling = 0.8 ** np.arange(SIZE)
    falling /= falling.sum()
    costs = falling[:, None] * (SIZE * FAR) ** 2
    whole = solve_staircases(costs, 5, ALPHA, falling)
    assert whole.rounds > 1
    assert not whole.stopped
    stopping = Watch(lambda _: True)
    stopping._began -= 10.0
    assert solve_staircases(costs, 5, ALPHA, falling, watch=stopping).stopped


def test_staircases_without_time_for_their_proof_keep_their_mechanism(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr("tightrope.optimize.sums.proved_prices", ends)
    graph = PathPower(1801, 5)
    reader = Consumer.of(graph, prior="uniform", loss="absolute")
    found = design(graph, 1, reader, route="staircases")
    assert found.stopped
    assert 0 <= found.bound < found.expected_loss


def test_a_long_line_without_its_last_edges_is_proved_by_cuts() -> None:
    graph = query("sum(8,6)", neighbours="add-remove").graph
    consumer = Consumer.of(graph, prior="uniform", loss="distance")
    # With this setting every line is a long one.
    settings = SolverSettings(staircase_entries=0)
    plan = staircases_route(Task(graph, Epsilon.of(1.2), consumer, settings=settings))
    assert isinstance(plan, RoutePlan)
    found = plan.solve()
    assert found.gap < 0.2
    # Every arc of the proof is an edge of this graph, which lacks some of the line's.
    assert isinstance(found.certificate, Certificate)
    assert found.certificate.checked_bound() >= found.bound - 1e-9
