"""Product channels."""

import numpy as np
import pytest

from tightrope.channels import Channel, KroneckerChannel, ScaledPhi
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique

X = Channel([[0.5, 0.5], [0.25, 0.75]], inputs="ab")
Y = Channel([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], outputs="xyz")


def test_it_is_the_kronecker_product() -> None:
    channel = KroneckerChannel([X, Y, X])
    expected = np.kron(np.kron(X.matrix(), Y.matrix()), X.matrix())
    assert channel.shape == (8, 12)
    np.testing.assert_array_equal(channel.matrix(), expected)
    for o in range(12):
        np.testing.assert_array_equal(channel.column(o), expected[:, o])
    assert channel.entry(5, 7) == expected[5, 7]
    np.testing.assert_array_equal(channel.column_maxima(), expected.max(axis=0))
    assert channel.column_maxima_sum() == pytest.approx(expected.max(axis=0).sum())
    assert channel.input_label(5) == ("b", 0, "b")
    assert channel.output_label(7) == (1, "x", 1)
    assert channel.input_index(channel.input_digits(6)) == 6
    assert channel.output_index(channel.output_digits(11)) == 11


def test_diagonals_multiply_also_when_only_the_product_is_square() -> None:
    np.testing.assert_array_equal(
        KroneckerChannel([X, X]).diagonal(), np.diag(KroneckerChannel([X, X]).matrix())
    )
    tall = Channel([[1.0, 0], [0, 1], [0.5, 0.5]])
    odd = KroneckerChannel([Y, tall])
    np.testing.assert_array_equal(odd.diagonal(), np.diag(odd.matrix()))


def test_numbering_is_that_of_graphs() -> None:
    people = CartesianProduct([Clique(3)] * 3)
    one = ScaledPhi(Clique(3), "ln(2)", 0.5)
    whole = ScaledPhi(people, "ln(2)", 0.125)
    np.testing.assert_allclose(KroneckerChannel([one] * 3).matrix(), whole.matrix(), rtol=1e-15)


def test_sixty_people() -> None:
    channel = KroneckerChannel([X] * 60)
    assert channel.shape == (2**60, 2**60)
    assert channel.entry(0, 2**60 - 1) == pytest.approx(0.5**60)
    with pytest.raises(TooLarge):
        channel.row(0)
    with pytest.raises(TooLarge):
        channel.diagonal()
    assert "of 60" in repr(channel)


def test_what_is_not_a_product_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        KroneckerChannel([])
    with pytest.raises(InputError, match="factor 1 must be a channel"):
        KroneckerChannel([X, [[1.0]]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="index 1 must be in 0 … 1"):
        KroneckerChannel([X, X]).input_index([0, 2])
    with pytest.raises(InputError, match="2 factors"):
        KroneckerChannel([X, X]).input_index([0])
