"""The variance of joint noise, and how much more independent noise has."""

import math
from fractions import Fraction

import pytest

from tightrope.claims import percent_above
from tightrope.epsilon import Epsilon
from tightrope.publish.facts import Column, Facts, Table
from tightrope.publish.sql_reader import read_shapes
from tightrope.queries import Neighbours
from tightrope.tables.noise import ADD_REMOVE, CHANGE_ONE, independent_excess


def listed_variance(epsilon: float, cells: int) -> float:
    """Return the variance of a cell of joint noise, from a sum over N in exact binomials."""
    alpha = Fraction(math.exp(-epsilon))
    total = Fraction(0)
    squares = Fraction(0)
    for number in range(400):
        weight = math.comb(number + cells - 1, cells - 1) ** 2 * alpha**number
        total += weight
        squares += weight * number * (number + cells)
    return float(2 * squares / total / (cells * (cells + 1)) * (1 - Fraction(1, cells)))


@pytest.mark.parametrize("cells", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_variance_of_joint_noise_is_that_of_its_law(
    epsilon: float, cells: int
) -> None:
    own = CHANGE_ONE.variance(epsilon, cells) * (1 - 1 / cells)
    assert own == pytest.approx(listed_variance(epsilon, cells), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("cells", [2, 3, 10, 50, 100])
def test_independent_noise_has_no_more_error_than_is_proved(
    epsilon: float, cells: int
) -> None:
    joint = CHANGE_ONE.variance(epsilon, cells) * (1 - 1 / cells)
    independent = ADD_REMOVE.variance(epsilon / 2, cells)
    actual = math.sqrt(independent / joint) - 1
    proved = independent_excess(epsilon, cells)
    assert actual <= proved
    # The bound is near, so that half of it would be false.
    if epsilon <= 1 and cells >= 10:
        assert proved <= 1.1 * actual


def test_too_few_cells_have_no_bound() -> None:
    assert independent_excess(1.0, 1) == math.inf
    assert independent_excess(12.0, 3) == math.inf


@pytest.mark.parametrize(
    ("near", "sizes", "is_told"),
    [
        ("change-one", (11, 10), True),
        ("change-one", (10, 10), False),
        ("add-remove", (11, 10), False),
    ],
)
def test_an_answer_tells_what_cells_of_their_own_cost(
    near: str, sizes: tuple[int, int], is_told: bool
) -> None:
    columns = {
        name: Column(name, "integer", values=tuple(range(size)), complete=True)
        for name, size in zip("ab", sizes, strict=True)
    }
    table = Table("people", 1000, Neighbours.of(near), columns)
    sql = "select a, b, count(*) from people group by cube (a, b)"
    (shape,) = read_shapes(sql, Facts({"people": table}))
    notes = " ".join(shape.as_asked().planned(Epsilon.of(1)).notes())
    excess = percent_above(Fraction(independent_excess(1.0, 110)))
    sentence = "Each of the 110 cells of a × b has noise of its own"
    assert (sentence in notes) is is_told
    assert (f"at most {excess} % above" in notes) is is_told
