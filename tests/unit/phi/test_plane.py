"""Two counts at once: recurrences along diagonals and short rows, against the matrix."""

import numpy as np
import pytest

from tightrope.graphs import PathPower, StrongProduct
from tightrope.phi import Phi
from tightrope.phi.lattice import LatticeStructure
from tightrope.phi.plane import PlaneStructure, ShortRows

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
    assert float(np.abs(found - whole @ x).max()) < 50 * np.finfo(kind).eps * float(whole.sum())


@shapes
@alphas
def test_short_rows_are_combinations_of_rows_of_the_matrix(
    shape: tuple[int, int], alpha: float
) -> None:
    rows, phi = ShortRows(shape, alpha), matrix(shape, alpha)
    for column in (0, 1, shape[1] + 1, phi.shape[0] // 2, phi.shape[0] - 3):
        unit = np.eye(phi.shape[0])[column].reshape(shape)
        wanted = rows.combined(phi[:, column].reshape(shape))
        assert np.abs(rows.product(unit) - wanted).max() < 1e-12 / (1 - alpha) ** 2
        # Another α has other rows.
        assert np.abs(ShortRows(shape, alpha * 0.99).product(unit) - wanted).max() > 1e-4


@shapes
@alphas
def test_solutions(shape: tuple[int, int], alpha: float) -> None:
    short, phi = PlaneStructure.of(counts(shape)), matrix(shape, alpha)
    for b in (np.ones(len(phi)), np.random.default_rng(4).normal(size=len(phi))):
        assert phi @ short.solve(alpha, b) == pytest.approx(b, abs=1e-10)
    assert not short.solve(alpha, np.zeros(len(phi))).any()


@shapes
def test_a_quarter_gives_the_whole(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(5).normal(size=shape)
    alike = random + random[::-1] + random[:, ::-1] + random[::-1, ::-1]
    whole = ShortRows(shape, 0.3).solve(alike)
    assert ShortRows(shape, 0.3, mirrored=True).solve(alike) == pytest.approx(whole, abs=1e-11)
    assert ShortRows(shape, 0.3, mirrored=True).solve(random) != pytest.approx(whole, abs=1e-3)


def test_coordinates_that_may_change_places_halve_the_rows() -> None:
    random = np.random.default_rng(6).normal(size=(12, 12))
    rows = ShortRows((12, 12), 0.4)
    assert matrix((12, 12), 0.4) @ rows.solve(random + random.T).ravel() == pytest.approx(
        (random + random.T).ravel(), abs=1e-11
    )
    # Halved nevertheless, a vector that is not alike has another solution.
    wrong = matrix((12, 12), 0.4) @ rows._eliminated(random, exchanged=True).ravel()
    assert np.abs(wrong - random.ravel()).max() > 1e-3


@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_many_rows_are_solved_by_iterations(alpha: float, monkeypatch) -> None:
    b = np.random.default_rng(7).normal(size=(21, 22))
    eliminated = ShortRows((21, 22), alpha).solve(b)
    monkeypatch.setattr(ShortRows, "eliminated", 0)
    assert ShortRows((21, 22), alpha).solve(b) == pytest.approx(eliminated, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.86, 0.97, 0.999])
def test_where_iterations_take_too_long_rows_are_eliminated(alpha: float, monkeypatch) -> None:
    graph, b = counts((40, 40)), np.ones(1600)
    found = PlaneStructure.of(graph).solve(alpha, b)
    assert found == pytest.approx(LatticeStructure.of(graph).solve(alpha, b), abs=1e-7)
    monkeypatch.setattr(ShortRows, "most_eliminated", 0)
    assert ShortRows((40, 40), alpha).solve(np.ones((40, 40))) is None
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
