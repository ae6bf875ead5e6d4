"""Solutions, their errors, and singular Φ."""

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.graphs import (
    Clique,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
    folded_cube,
)
from tightrope.phi import Phi, singular_epsilons
from tightrope.phi.cells import rational_ones, rational_solve


def test_signs_are_proven_on_both_sides_of_the_threshold() -> None:
    assert Phi(PathPower(751, 5), 0.96814).solve_ones().positive is True
    assert Phi(PathPower(751, 5), 0.96813).solve_ones().positive is False
    counts = StrongProduct([PathPower(31), PathPower(31)])
    assert Phi(counts, 1.13609).solve_ones().positive is True
    assert Phi(counts, 1.13607).solve_ones().positive is False


def test_a_zero_is_undecided_in_floats_and_zero_in_fractions() -> None:
    solution = Phi(Star(3), "ln(2)").solve_ones()
    assert solution.positive is None
    assert solution.error is not None
    assert abs(solution.least[1]) <= solution.error
    exact = rational_ones(Star(3), Phi(Star(3), "ln(2)").epsilon)
    assert exact is not None
    assert exact[0] == 0
    assert rational_ones(Star(3), Phi(Star(3), 1).epsilon) is None


def test_fractions_agree_with_floats() -> None:
    graph = StrongProduct([PathPower(3), PathPower(4)])
    phi = Phi(graph, "ln(3)")
    exact = rational_ones(graph, phi.epsilon)
    assert exact is not None
    assert np.allclose([float(z) for z in exact], phi.solve_ones().values)
    assert rational_solve(PathPower(100), phi.epsilon, [1] * 100) is None


def test_a_singular_system_with_many_solutions() -> None:
    solution = Phi(folded_cube(4), "ln(3)").solve_ones()
    assert solution.consistent
    assert not solution.unique
    matrix = Phi(folded_cube(4), "ln(3)").matrix()
    assert np.allclose(matrix @ solution.kernel, 0, atol=1e-12)
    assert np.allclose(matrix @ (solution.values + 0.1 * solution.kernel[:, 0]), 1)
    assert np.allclose(np.abs(solution.kernel[:, 0]), 8**-0.5)


def test_a_singular_system_without_solution() -> None:
    solution = Phi(folded_cube(4), "ln(3)").solve([1, 0, 0, 0, 0, 0, 0, 0])
    assert not solution.consistent
    assert not solution.unique
    assert solution.residual > 0.01


def test_singular_levels() -> None:
    found = singular_epsilons(folded_cube(4))
    assert found.exact
    assert found.alphas == pytest.approx((1 / 3,))
    assert singular_epsilons(Clique(4)).epsilons == ()
    wide = singular_epsilons(PathPower(31, 3))
    for epsilon in wide.epsilons:
        values = np.linalg.eigvalsh(Phi(PathPower(31, 3), epsilon).matrix())
        assert np.abs(values).min() < 1e-9
    assert wide.epsilons


def test_exact_and_sampled_singular_levels_agree() -> None:
    from tightrope.phi.existence import _by_inertia
    from tightrope.phi.structure import DenseStructure

    k23 = ExplicitGraph([(a, b) for a in (0, 1) for b in (2, 3, 4)])
    exact = singular_epsilons(k23)
    assert exact.exact
    assert exact.epsilons == pytest.approx(
        _by_inertia(DenseStructure(k23)).epsilons, abs=1e-8
    )


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1, 2], "one number for each of the 3"),
        ([1, np.nan, 0], "nan at position 1"),
        ("x", "list"),
    ],
)
def test_bad_vectors_are_refused(vector: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Phi(PathPower(3), 1).solve(vector)  # type: ignore[arg-type]


@pytest.mark.parametrize("apart", [1e-9, 1e-7])
def test_next_to_a_singular_level_solutions_are_huge_and_proven(apart: float) -> None:
    """In doubles entries of 3e8 leave a residual of 1e-7; it is no sign that there is none."""
    k23 = ExplicitGraph([(a, b) for a in (0, 1) for b in (2, 3, 4)])
    (level,) = singular_epsilons(k23).epsilons
    found = Phi(k23, level * (1 + apart)).solve([1, 0, 0, 0, 0])
    assert found.unique
    assert found.positive is False
    assert found.error < 1e-5 * np.abs(found.values).max()
    assert not Phi(k23, level).solve([1, 0, 0, 0, 0]).consistent
