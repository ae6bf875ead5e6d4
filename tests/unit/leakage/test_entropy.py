import math

import pytest

from tightrope.consumers import Prior
from tightrope.errors import InputError
from tightrope.leakage.measures import (
    as_prior,
    g_vulnerability,
    gain_matrix,
)


def test_a_fair_die() -> None:
    die = Prior.uniform(6)
    assert die.maximum == pytest.approx(1 / 6)
    assert die.min_entropy == pytest.approx(math.log2(6))
    assert die.entropy == pytest.approx(math.log2(6))
    assert die.guessing_entropy == pytest.approx(3.5)


def test_a_known_secret_has_no_entropy() -> None:
    known = Prior([0.0, 1.0, 0.0])
    assert (known.min_entropy, known.entropy, known.guessing_entropy) == (0, 0, 1)


def test_guesses_are_columns_of_the_gain() -> None:
    assert g_vulnerability([0.5, 0.5], [[1, 0, 0.6], [0, 1, 0.6]]) == pytest.approx(0.6)


@pytest.mark.parametrize(
    "bad", [[0.5, 0.6], [-0.1, 1.1], [], "uniform", [[0.5], [0.5]]]
)
def test_what_is_not_a_prior_is_refused(bad: object) -> None:
    with pytest.raises(InputError):
        as_prior(bad)  # type: ignore[arg-type]


def test_a_uniform_prior_needs_a_size() -> None:
    with pytest.raises(InputError, match="number of secrets"):
        as_prior(None)


@pytest.mark.parametrize(
    "bad", [[[1.0]], [[1.0], [math.nan]], [1.0, 2.0], [["a"], ["b"]]]
)
def test_what_is_not_a_gain_is_refused(bad: object) -> None:
    with pytest.raises(InputError):
        gain_matrix(bad, 2)  # type: ignore[arg-type]
