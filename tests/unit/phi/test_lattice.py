"""Lattices folded along their symmetry."""

import numpy as np
import pytest

from tightrope.graphs import PathPower, StrongProduct
from tightrope.phi import Phi
from tightrope.phi.cells import Cells, cells_of
from tightrope.phi.lattice import LatticeStructure

BOXES = [
    StrongProduct([PathPower(5)] * 3),
    StrongProduct([PathPower(6), PathPower(4), PathPower(6)]),
    StrongProduct([PathPower(7, 2), PathPower(7, 3)]),
    StrongProduct([PathPower(7, 2), PathPower(7, 2)]),
]
boxes = pytest.mark.parametrize("graph", BOXES, ids=str)


@boxes
@pytest.mark.parametrize("alpha", [0.2, 0.7, 0.98])
def test_sums_and_solutions_are_those_of_the_matrix(
    graph: StrongProduct, alpha: float
) -> None:
    cells = LatticeStructure.of(graph).cells
    label = cells.label
    phi = alpha ** graph.distance_matrix().astype(float)
    sums = np.stack([phi[:, label == k].sum(axis=1) for k in range(cells.size)], axis=1)
    assert cells.quotient(alpha)[label] == pytest.approx(sums)
    assert cells.quotient(alpha, block=1)[label] == pytest.approx(sums)
    b = np.random.default_rng(1).normal(size=cells.size)[label]
    assert cells.holds(b)
    assert phi @ cells.solve(alpha, b) == pytest.approx(b, abs=1e-8)


@boxes
def test_the_coarsest_partition_is_no_finer_than_the_classes(
    graph: StrongProduct,
) -> None:
    cells = LatticeStructure.of(graph).cells
    assert cells_of(graph).size <= cells.size == cells.label.max() + 1


def test_axes_of_other_widths_do_not_change_places() -> None:
    assert LatticeStructure.of(BOXES[2]).cells.size == 16
    assert LatticeStructure.of(BOXES[3]).cells.size == 10


def test_a_vector_that_is_not_alike_is_not_folded() -> None:
    lattice = LatticeStructure.of(BOXES[0])
    b = np.ones(125)
    assert lattice._by_cells(0.9, b) is not None
    b[0] += 1e-9
    assert lattice._by_cells(0.9, b) is None


@pytest.mark.parametrize(
    ("bundle", "epsilon"), [((16, 3), 0.02), ((16, 3), 0.5), ((9, 4), 0.1)]
)
def test_small_levels_of_many_counts_are_solved(
    bundle: tuple[int, int], epsilon: float
) -> None:
    """Φ is indefinite here, and iterations wander."""
    graph = StrongProduct([PathPower(bundle[0])] * bundle[1])
    found = Phi(graph, epsilon).solve_ones()
    assert found.residual < 1e-9
    assert found.least[1] < -0.1
    assert found.positive is None


def test_too_many_classes_are_left_to_iterations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Cells, "eliminated_cells", 9)
    assert LatticeStructure.of(BOXES[0])._by_cells(0.9, np.ones(125)) is None
    monkeypatch.setattr(Cells, "eliminated_cells", 10)
    assert LatticeStructure.of(BOXES[0])._by_cells(0.9, np.ones(125)) is not None


def test_two_counts_at_a_tiny_level_are_refined_and_proven() -> None:
    """Conjugate gradients need thousands of steps here, and doubles leave a residual of 1e-8."""
    graph = StrongProduct([PathPower(60)] * 2)
    found = Phi(graph, 0.01).solve_ones()
    assert found.residual < 1e-15
    assert found.least[1] < -0.1
    assert found.positive is False
