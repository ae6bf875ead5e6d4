"""Two counts at once: recurrences along diagonals and short rows, against the matrix."""

import numpy as np
import pytest

from tightrope.graphs import PathPower, StrongProduct
from tightrope.phi import Phi
from tightrope.phi.lattice import LatticeStructure, PlaneStructure, ShortRows

SHAPES = [(8, 8), (9, 8), (8, 13), (21, 22)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
alphas = pytest.mark.parametrize("alpha", [0.05, 0.3, 0.44, 0.8])


def counts(shape: tuple[int, ...]) -> StrongProduct:
    return StrongProduct([PathPower(side) for side in shape])


def matrix(shape: tuple[int, ...], alpha: float) -> np.ndarray:
    return alpha ** counts(shape).distance_matrix().astype(float)


@shapes
@alphas
@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
def test_products_are_those_of_the_matrix(
    shape: tuple[int, int], alpha: float, kind: type[np.floating]
) -> None:
    x = np.random.default_rng(3).normal(size=(shape[0] * shape[1], 2)).astype(kind)
    rate = kind(1) / kind(3) if alpha == 0.3 else kind(alpha)
    whole = rate ** counts(shape).distance_matrix()
    found = PlaneStructure.of(counts(shape)).apply(rate, x)
    assert found.dtype == kind
    assert float(np.abs(found - whole @ x).max()) < 50 * np.finfo(kind).eps * float(
        whole.sum()
    )


@shapes
@alphas
def test_short_rows_are_combinations_of_rows_of_the_matrix(
    shape: tuple[int, int], alpha: float
) -> None:
    phi = matrix(shape, alpha)
    rows = ShortRows(shape)
    short, combined = (
        rows.at(alpha),
        np.stack([rows.combined(alpha, b) for b in phi.T], axis=1),
    )
    assert np.abs(short - combined).max() < 1e-12 / (1 - alpha) ** 2
    # Another α has other rows.
    assert np.abs(rows.at(alpha * 0.99) - combined).max() > 1e-4
    # No row is longer than the combination of a few.
    assert np.diff(short.indptr).max() <= 25


@shapes
@alphas
def test_solutions(shape: tuple[int, int], alpha: float) -> None:
    short, phi = PlaneStructure.of(counts(shape)), matrix(shape, alpha)
    for b in (np.ones(len(phi)), np.random.default_rng(4).normal(size=len(phi))):
        assert phi @ short.solve(alpha, b) == pytest.approx(b, abs=1e-10)
    assert not short.solve(alpha, np.zeros(len(phi))).any()


@shapes
def test_one_row_for_each_class_gives_the_whole(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(5).normal(size=shape)
    cells = PlaneStructure.of(counts(shape)).cells
    folded = ShortRows(shape, cells)
    alike = random.ravel()[cells.first][cells.label]
    whole = ShortRows(shape).solve(0.3, alike)
    assert folded.solve(0.3, alike) == pytest.approx(whole, abs=1e-11)
    # Folded nevertheless, a vector that is not alike has another solution.
    assert folded.solve(0.3, random.ravel()) != pytest.approx(
        ShortRows(shape).solve(0.3, random.ravel()), abs=1e-3
    )


@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_many_rows_are_solved_by_iterations(alpha: float, monkeypatch) -> None:
    b = np.random.default_rng(7).normal(size=21 * 22)
    eliminated = ShortRows((21, 22)).solve(alpha, b)
    monkeypatch.setattr(ShortRows, "eliminated", 0)
    assert ShortRows((21, 22)).solve(alpha, b) == pytest.approx(eliminated, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.86, 0.97, 0.999])
def test_where_iterations_take_too_long_rows_are_eliminated(
    alpha: float, monkeypatch
) -> None:
    graph, b = counts((40, 40)), np.ones(1600)
    found = PlaneStructure.of(graph).solve(alpha, b)
    assert found == pytest.approx(LatticeStructure.of(graph).solve(alpha, b), abs=1e-7)
    monkeypatch.setattr(ShortRows, "most_eliminated", 0)
    assert ShortRows((40, 40)).solve(alpha, b) is None
    assert PlaneStructure.of(graph).solve(alpha, b) == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize(
    "graph",
    [
        counts((7, 9)),
        counts((8, 33)),
        counts((8, 8, 8)),
        StrongProduct([PathPower(9, 2), PathPower(9)]),
        PathPower(81),
    ],
    ids=str,
)
def test_other_shapes_are_not_planes(graph: StrongProduct) -> None:
    assert PlaneStructure.of(graph) is None


def test_signs_are_proven() -> None:
    phi = Phi(counts((31, 31)), 1.2)
    assert isinstance(phi.structure, PlaneStructure)
    assert isinstance(phi.structure, LatticeStructure)
    found = phi.solve_ones()
    assert found.positive is True
    assert phi.matrix() @ found.values == pytest.approx(np.ones(961), abs=1e-11)
    assert Phi(counts((31, 31)), 1.1).solve_ones().positive is False
