"""Layers of lattices against all points of a box."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tightrope.graphs import AnswerGraph, Cycle, Histograms, PathPower, StrongProduct
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.products import CappedCounts
from tightrope.graphs.unbounded import NoiseLattice
from tightrope.queries import query

Point = tuple[int, ...]
LATTICES = [
    NoiseLattice("line", 1, 4, 5),
    NoiseLattice("line", 1, 4, 5, core=2),
    NoiseLattice("cube", 2, 4),
    NoiseLattice("cube", 3, 4),
    NoiseLattice("range", 2, 4),
    NoiseLattice("range", 3, 4),
    NoiseLattice("cross", 2, 4),
    NoiseLattice("cross", 3, 4),
    NoiseLattice("roots", 2, 4),
    NoiseLattice("roots", 3, 4),
    NoiseLattice("roots", 4, 4, hidden=True),
]


def distance(lattice: NoiseLattice, z: Point) -> int | None:
    if lattice.form == "roots" and sum(z):
        return None
    size = sum(map(abs, z))
    return {
        "line": -(-abs(z[0]) // lattice.width),
        "cube": max(map(abs, z)),
        "range": max(0, *z) - min(0, *z),
        "cross": size,
        "roots": size // 2,
    }[lattice.form]


def layer(lattice: NoiseLattice, t: int) -> set[Point]:
    core = lattice.core
    reach = core + lattice.width * t + 1
    box = itertools.product(range(-reach, reach + 1), repeat=lattice.parts)
    if lattice.form == "line":
        return {z for z in box if -(-max(0, abs(z[0]) - core) // lattice.width) == t}
    return {z for z in box if distance(lattice, z) == t}


@pytest.mark.parametrize("lattice", LATTICES)
def test_layers_are_the_points_at_a_distance(lattice: NoiseLattice) -> None:
    shown = lattice.parts - lattice.hidden
    losses: dict[str, Callable[[Point], int | None]] = {
        "binary": lambda z: int(any(z)),
        "absolute": lambda z: sum(map(abs, z[:shown])),
        "squared": lambda z: sum(x * x for x in z[:shown]),
        "distance": lambda z: distance(lattice, z),
    }
    for t in range(4):
        there = layer(lattice, t)
        numbers = range(lattice.layer(t))
        assert set(map(tuple, lattice.points(t, numbers).tolist())) == there
        assert len(there) == lattice.layer(t)
        for loss, cost in losses.items():
            assert sum(cost(z) or 0 for z in there) == lattice.loss_sums(loss, 4)[t]
        for a in range(6):
            assert sum(abs(z[0]) <= a for z in there) == lattice.within(t, a)


@pytest.mark.parametrize("lattice", LATTICES)
def test_sizes_of_many_layers_follow_by_differences(
    lattice: NoiseLattice,
) -> None:
    assert lattice.layers(40) == [lattice.layer(t) for t in range(40)]


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(9, 2),
        StrongProduct([PathPower(4)] * 2),
        CappedCounts(3, 2),
        Histograms(4, 3),
        Histograms(3, 2, absent=True),
        AddRemoveHistograms(3, 3),
    ],
    ids=lambda graph: graph.name,
)
def test_numbers_are_held_between_the_ends_and_no_further_from_an_answer(
    graph: AnswerGraph,
) -> None:
    lattice = graph.unbounded
    assert lattice is not None
    answers = [lattice.coordinates(label) for label in graph.labels]
    assert [lattice.clamped(point) for point in answers] == graph.labels
    points = [lattice.point_around(2, n) for n in range(lattice.around(2))]
    assert len(set(points)) == len(points)
    reachable = {
        tuple(x + z for x, z in zip(answer, noise, strict=True))
        for answer in answers
        for t in range(3)
        for noise in lattice.points(t, range(lattice.layer(t))).tolist()
    }
    assert reachable <= set(points)
    for point in points:
        reported = lattice.clamped(point)
        there = reported if isinstance(reported, tuple) else (reported,)
        for answer in answers:
            for x, before, after in zip(answer, point, there, strict=False):
                assert abs(x - after) <= abs(x - before)
                assert 0 <= after <= lattice.people


def test_graphs_without_a_lattice_say_so() -> None:
    assert Cycle(8).unbounded is None
    assert StrongProduct([PathPower(3), PathPower(4)]).unbounded is None
    assert query("mean(5,2)", "add-remove").graph.unbounded is None
