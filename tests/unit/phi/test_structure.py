"""Every structure against the matrix that it stands for."""

import numpy as np
import pytest

from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
    folded_cube,
    petersen,
)
from tightrope.graphs.lines import BalancedTree
from tightrope.phi import Phi
from tightrope.phi.lattice import (
    LatticeStructure,
    PathPowerStructure,
    recurrence,
    symbol_floor,
)
from tightrope.phi.structure import DenseStructure, structure_of

KITE = ExplicitGraph([(0, 1), (1, 2), (2, 0), (2, 3)], name="kite")
ROADS = ExplicitGraph([(0, 1), (1, 2), (2, 0)], lengths=[0.5, 1.25, 1.5], name="roads")
GRAPHS = [
    PathPower(1),
    PathPower(2),
    PathPower(9),
    PathPower(20, 3),
    PathPower(6, 3),
    PathPower(7, 3),
    PathPower(10, 8),
    Cycle(7),
    Cycle(8),
    Clique(5),
    Star(4),
    BalancedTree(3, 2),
    CartesianProduct([PathPower(4, 2), Clique(3), Star(2)]),
    StrongProduct([PathPower(5), PathPower(4)]),
    StrongProduct([PathPower(5, 2), PathPower(4), PathPower(3)]),
    StrongProduct([PathPower(3), Cycle(4)]),
    Histograms(5, 3),
    Histograms(3, 2, absent=True),
    folded_cube(4),
    petersen(),
    KITE,
    ROADS,
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
@pytest.mark.parametrize("epsilon", [0.4, "ln(5)"])
def test_products_and_solutions(graph: AnswerGraph, epsilon: float | str) -> None:
    phi = Phi(graph, epsilon)
    matrix = np.exp(-float(phi.epsilon) * graph.distance_matrix())
    random = np.random.default_rng(3)
    x, several = random.random(graph.size), random.random((graph.size, 2))
    assert np.allclose(phi.matvec(x), matrix @ x, atol=1e-12)
    wide = phi.structure.apply(phi.precise_alpha, several.astype(np.longdouble))
    assert wide.dtype == np.longdouble
    assert np.allclose(wide.astype(float), matrix @ several, atol=1e-12)
    assert np.allclose(phi.row_sums, matrix.sum(axis=1), atol=1e-12)
    solution = phi.solve(x)
    truth = np.linalg.solve(matrix, x)
    assert np.allclose(solution.values, truth, atol=1e-9)
    assert solution.error is not None
    assert np.abs(solution.values - truth).max() <= solution.error + 1e-9
    assert np.allclose(
        matrix @ phi.structure.solve(phi.alpha, several), several, atol=1e-9
    )


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_the_inverse_is_bounded_from_above(graph: AnswerGraph) -> None:
    for epsilon in (0.4, 1.0, 2.5):
        phi = Phi(graph, epsilon)
        bound = phi.structure.inverse_norm(phi.alpha)
        assert bound is not None
        assert bound >= np.linalg.norm(np.linalg.inv(phi.matrix()), 2) * (1 - 1e-9)


def test_a_symbol_bounds_every_finite_band() -> None:
    for width in (1, 2, 5):
        floor = symbol_floor(0.3, (width,))
        smallest = np.linalg.eigvalsh(Phi(PathPower(300, width), "ln(10/3)").matrix())[
            0
        ]
        assert floor is not None
        assert 0 < floor <= smallest
        # Long bands come close: the bound is not idle.
        assert width == 1 or floor > 0.9 * smallest


def test_no_symbol_where_sums_are_indefinite() -> None:
    assert symbol_floor(0.6, (5,)) is None
    # At a tiny level the series is too long to be added up.
    assert symbol_floor(1 - 1e-9, (5,)) is None
    assert np.linalg.eigvalsh(0.6 ** PathPower(60, 5).distance_matrix())[0] < 0


def test_kinds_of_band_with_other_distances_are_not_taken_for_bands() -> None:
    graph = _capped()
    assert not isinstance(structure_of(graph), PathPowerStructure | LatticeStructure)
    x = np.arange(graph.size, dtype=float)
    expected = 0.5 ** graph.distance_matrix() @ x
    assert np.allclose(Phi(graph, "ln(2)").matvec(x), expected)


def _capped() -> AnswerGraph:
    import tightrope as tr

    graph = tr.query("sum(4,3)", neighbours="add-remove").graph
    assert isinstance(graph, PathPower)
    return graph


def test_large_graphs_without_a_rule_are_refused() -> None:
    from tightrope.errors import TooLarge

    wheel = ExplicitGraph(
        [(0, i) for i in range(1, 6002)] + [(i, i + 1) for i in range(1, 6001)],
        name="fan",
    )
    with pytest.raises(TooLarge, match="fan has no rule and 6002 answers"):
        Phi(wheel, 1).solve_ones()
    assert isinstance(structure_of(KITE), DenseStructure)


def test_a_million_sums() -> None:
    solution = Phi(PathPower(1_000_000, 5), 1).solve_ones()
    assert solution.positive is True
    assert solution.residual < 1e-14
    assert solution.values[500_000] == pytest.approx(
        (1 - np.exp(-1)) / (1 + 9 * np.exp(-1))
    )


@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
@pytest.mark.parametrize("rate", [0.4, 0.999])
@pytest.mark.parametrize("few", [0, 2000])
def test_a_recurrence_is_taken_step_by_step(kind: type, rate: float, few: int) -> None:
    steps = np.random.default_rng(4).random((1000, 2)).astype(kind)
    plain = steps.copy()
    for t in range(1, len(plain)):
        plain[t] += kind(rate) * plain[t - 1]
    found = recurrence(kind(rate), steps, few)
    assert found.dtype == kind
    unit = np.finfo(kind).eps
    assert (np.abs(found - plain) <= 2 * len(steps) * unit * plain).all()
    # One step left out would be seen.
    assert (np.abs(plain - steps) > 2 * len(steps) * unit * plain)[1:].all()


@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
def test_a_product_keeps_the_kind_of_its_numbers(kind: type) -> None:
    x = np.random.default_rng(4).normal(size=50).astype(kind)
    short = PathPowerStructure.of(PathPower(50, 3)).apply(0.4, x)
    assert short.dtype == kind
    assert not np.array_equal(
        short, PathPowerStructure.of(PathPower(50, 3)).apply(0.41, x)
    )
