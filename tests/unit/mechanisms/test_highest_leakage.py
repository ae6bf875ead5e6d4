import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.graphs import Databases
from tightrope.leakage import database_bound, min_entropy_leakage
from tightrope.mechanisms import exponential, highest_leakage


def test_it_is_the_exponential_mechanism_of_the_databases() -> None:
    product = highest_leakage(3, 2, 0.8).matrix()
    assert product == pytest.approx(exponential(Databases(3, range(2)), 0.8).matrix())


def test_twenty_people_with_four_values_are_not_listed() -> None:
    crowd = highest_leakage(20, 4, 1)
    assert crowd.shape == (4**20, 4**20)
    assert min_entropy_leakage(crowd) == pytest.approx(database_bound(20, 4, 1).bits)


@pytest.mark.parametrize(("people", "values"), [(0, 2), (2, 1), (True, 2), (2.0, 2)])
def test_sizes_are_checked(people: int, values: int) -> None:
    with pytest.raises(InputError, match="number of"):
        highest_leakage(people, values, 1)


def test_a_different_level_leaks_differently() -> None:
    assert not np.allclose(
        highest_leakage(2, 2, 1).matrix(), highest_leakage(2, 2, 1.1).matrix()
    )
