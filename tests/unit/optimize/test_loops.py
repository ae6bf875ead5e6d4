"""Loops: the interpreter and the machine code agree, and the rule that chooses between them."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from tightrope import Consumer, Epsilon, design, query
from tightrope.graphs import CartesianProduct, Clique, Cycle, ExplicitGraph, PathPower
from tightrope.optimize import interior, loops, pricing
from tightrope.optimize.pricing import Pricer
from tightrope.optimize.problem import Problem

GRAPHS = [
    PathPower(12, 3),
    Cycle(9),
    CartesianProduct([Clique(3), PathPower(4)]),
    ExplicitGraph([(0, 1), (1, 2), (2, 3), (0, 3)], lengths=[0.5, 1.0, 1.5, 2.0]),
]


def _priced(graph, weights):
    problem = Problem(graph, Epsilon.of("0.7"), np.ones((graph.size, graph.size)))
    pricer = Pricer(problem)
    rays = pricer.cheapest(weights, np.arange(graph.size))
    columns = np.abs(weights.T.copy())
    pricer.raise_to_private(columns)
    flows = pricer.multipliers(weights[:, 0], 0)
    return [
        rays.values, rays.heights, rays.places, rays.noise, rays.short, columns,
        pricer.parts(columns), *flows,
    ]  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize("seed", range(3))
def test_both_ways_return_the_same_floats(graph, seed, monkeypatch):
    weights = np.random.default_rng(seed).normal(size=(graph.size, graph.size))
    weights[np.diag_indices(graph.size)] -= 1
    monkeypatch.setattr(loops, "PATIENCE", np.inf)
    interpreted = _priced(graph, weights)
    monkeypatch.setattr(loops, "PATIENCE", 0.0)
    compiled = _priced(graph, weights)
    for one, other in zip(interpreted, compiled, strict=True):
        np.testing.assert_array_equal(one, other)


def test_long_loops_are_compiled_and_short_ones_are_not(monkeypatch):
    monkeypatch.setattr(loops._Interpreter, "seconds", 0.0)
    assert loops.affordable(loops.PATIENCE / loops.VISIT_SECONDS / 2)
    assert not loops.affordable(2 * loops.PATIENCE / loops.VISIT_SECONDS)
    monkeypatch.setattr(loops._Interpreter, "seconds", loops.PATIENCE)
    assert not loops.affordable(1)


def test_time_in_the_interpreter_is_counted(monkeypatch):
    monkeypatch.setattr(loops._Interpreter, "seconds", 0.0)
    ticks = iter([1.0, 1.25])
    monkeypatch.setattr(loops.time, "thread_time", lambda: next(ticks))
    assert loops.run(lambda value: value + 1, 1, 2) == 3
    assert loops._Interpreter.seconds == 0.25


def test_a_small_design_loads_neither_numba_nor_scipy():
    """Importing them took two thirds of the time of the command."""
    code = (
        "import sys, tightrope as tr; assert tr.design('count(9)', 1).certified; "
        "print([name for name in ('numba', 'scipy.linalg') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_what_is_compiled_ahead_is_what_designs_run(monkeypatch):
    """Loops are compiled for types and layouts of arrays: others would be compiled again."""
    ran = {}

    def record(function, visits, *arrays):
        ran.setdefault(function.__name__, set()).add(numba.typeof(arrays))
        # Interpreted: only the types of the arrays are looked at.
        return function(*arrays)

    monkeypatch.setattr(pricing, "run", record)
    monkeypatch.setattr(interior, "compiled", lambda function: function)
    monkeypatch.setattr(loops._Interpreter, "seconds", 0.0)
    loops.compile_all()
    ahead, ran = ran, {}
    graph = query("counts(2,2)").graph
    consumer = Consumer.of(graph, prior="uniform", loss="binary")
    design(graph, 1, consumer, route="dual").certificate.multipliers(0)
    assert {"cheapest_ray", "cheapest_rays", "raise_to_private"} <= ran.keys()
    assert all(types <= ahead[name] for name, types in ran.items())
