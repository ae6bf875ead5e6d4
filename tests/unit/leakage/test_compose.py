import math

import numpy as np
import pytest

from tightrope.channels import (
    Channel,
    GeometricChannel,
    KroneckerChannel,
    parallel,
    smallest_epsilon,
)
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import Clique, Databases, PathPower
from tightrope.leakage import repeated_composition
from tightrope.mechanisms import highest_leakage, randomized_response


def test_levels_do_not_simply_add_up() -> None:
    # One mechanism is worst towards answer 0, the other towards answer 1.
    up, down = Channel([[0.5, 0.5], [0.1, 0.9]]), Channel([[0.5, 0.5], [0.5, 0.5]])
    assert smallest_epsilon(parallel(up, down), PathPower(2)).value == pytest.approx(
        math.log(5)
    )
    path = PathPower(3)
    left = Channel([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]])
    right = Channel([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    both = smallest_epsilon(parallel(left, right), path).value
    assert both == pytest.approx(math.log(4))
    assert both < 2 * math.log(4)


def test_many_repetitions_of_a_response() -> None:
    response = randomized_response(3, 1)
    found = repeated_composition(response, 30, graph=Clique(3))
    assert found.epsilon == pytest.approx(30)
    assert 0.98 < found.vulnerability < 1
    assert found.leakage_bits == pytest.approx(math.log2(3), abs=0.03)


def test_repetition_of_a_crowd_needs_no_list() -> None:
    crowd = highest_leakage(50, 2, 1)
    person = repeated_composition(randomized_response(2, 1), 4)
    found = repeated_composition(crowd, 4, graph=Databases(50, range(2)))
    assert found.leakage_bits == pytest.approx(50 * person.leakage_bits)
    assert found.epsilon == pytest.approx(4)


def test_outputs_that_tell_the_same_are_one() -> None:
    doubled = Channel([[0.375, 0.375, 0.25], [0.125, 0.125, 0.75]])
    plain = Channel([[0.75, 0.25], [0.25, 0.75]])
    for times in (2, 25):
        assert repeated_composition(doubled, times).vulnerability == pytest.approx(
            repeated_composition(plain, times).vulnerability
        )


def test_zeros_rule_answers_out() -> None:
    found = repeated_composition(Channel([[1, 0], [0.5, 0.5]]), 3, graph=PathPower(2))
    assert found.vulnerability == pytest.approx(0.5 + 0.5 * (1 - 1 / 8))
    assert found.epsilon == math.inf


def test_what_is_too_large_or_wrong_is_refused() -> None:
    with pytest.raises(TooLarge, match="repeat less often"):
        repeated_composition(GeometricChannel(40, 1), 10)
    with pytest.raises(InputError, match="at least 1"):
        repeated_composition(GeometricChannel(4, 1), 0)
    with pytest.raises(InputError, match="same inputs"):
        parallel(GeometricChannel(4, 1), GeometricChannel(5, 1))


def test_a_product_of_different_parts() -> None:
    parts = [Channel([[0.9, 0.1], [0.2, 0.8]]), Channel(np.eye(3) * 0.7 + 0.1)]
    product = KroneckerChannel(parts)
    dense = Channel(product.matrix())
    assert repeated_composition(product, 2).vulnerability == pytest.approx(
        repeated_composition(dense, 2).vulnerability
    )
