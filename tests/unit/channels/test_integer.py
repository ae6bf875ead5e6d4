"""Integer channels and functions as channels."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import DeterministicChannel, IntegerChannel, rational
from tightrope.errors import InputError


def test_probabilities_are_exact() -> None:
    channel = IntegerChannel([[1, 2], [2, 1]], 3, inputs="ab", outputs="xy")
    assert channel.fraction(0, 1) == Fraction(2, 3)
    assert channel.total == 3
    assert channel.weights.dtype == np.int64
    assert (channel.inputs, channel.outputs) == (["a", "b"], ["x", "y"])
    assert channel.matrix().tolist() == [[1 / 3, 2 / 3], [2 / 3, 1 / 3]]
    assert channel.column_maxima_sum() == 4 / 3
    assert str(channel).splitlines()[1] == "a 1/3  2/3"
    with pytest.raises(ValueError, match="read-only"):
        channel.weights[0, 0] = 5


@pytest.mark.parametrize("bits", [10, 53, 54, 61, 62, 63, 64, 80, 2000])
def test_floats_are_the_nearest_at_every_size(bits: int) -> None:
    total = 2**bits - 1
    weights = [[total // 3, total - total // 3], [1, total - 1]]
    channel = IntegerChannel(weights)
    exact = [[float(Fraction(w, total)) for w in row] for row in weights]
    assert channel.total == total
    assert channel.weights.tolist() == weights
    assert channel.weights.dtype == (np.int64 if bits <= 62 else object)
    assert channel.matrix().tolist() == exact
    assert channel.row(1).tolist() == exact[1]
    assert channel.column(0).tolist() == [exact[0][0], exact[1][0]]
    assert channel.entry(0, 1) == exact[0][1]
    assert channel.column_maxima().tolist() == [
        max(c) for c in zip(*exact, strict=True)
    ]


@pytest.mark.parametrize(
    ("weights", "total", "message"),
    [
        ([[1, 2], [2, 2]], None, "must sum to 3, but row 1 sums to 4"),
        ([[1, 2], [2, 1]], 4, "must sum to 4, but row 0 sums to 3"),
        ([[2, 2], [5, -1]], None, "non-negative, got -1 at row 1, column 1"),
        (
            [[1, 2], [1.5, 1.5]],
            None,
            "integers, got 1.0 at row 0, column 0|integers, got 1",
        ),
        ([[1, 2.0]], None, "must be integers"),
        ([[True, False]], None, "integers, got True at row 0, column 0"),
        ([[1, 2], [3]], None, "rectangular"),
        ([[]], None, "non-empty"),
        ([[0, 0]], None, "positive sum"),
        ([[1, 1]], 0, "at least 1, got 0"),
        ([[1, 1]], 2.0, "whole number of at least 1, got 2.0"),
        ([[10**30, -(10**30) + 1]], None, "non-negative"),
        ([["a", 1]], None, "must be integers, got 'a'"),
    ],
)
def test_bad_weights_are_refused_with_their_place(
    weights: object, total: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        IntegerChannel(weights, total)  # type: ignore[arg-type]


def test_rational_reads_fractions_texts_and_integers() -> None:
    channel = rational([["1/3", Fraction(2, 3)], [0, 1], ["0.25", "3/4"]])
    assert channel.total == 12
    assert channel.weights.tolist() == [[4, 8], [0, 12], [3, 9]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([["1/3", "1/3"]], "row 0 sums to 2/3"),
        ([[0.5, 0.5]], "got 0.5 at row 0, column 0"),
        ([["1/0", 1]], "got '1/0' at row 0, column 0"),
        ([["x", 1]], "got 'x'"),
        ([[True, 0]], "got True"),
        ([["3/2", "-1/2"]], "non-negative"),
        ([[1], [1, 0]], "rectangular"),
    ],
)
def test_rational_refuses(matrix: list[list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rational(matrix)  # type: ignore[arg-type]


def test_a_function_is_a_matrix_of_zeros_and_ones() -> None:
    channel = DeterministicChannel([2, 0, 2], 4, inputs="abc")
    assert channel.matrix().tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert channel.column(2).tolist() == [1, 0, 1]
    assert (channel.entry(0, 2), channel.entry(0, 3)) == (1, 0)
    assert channel.column_maxima().tolist() == [1, 0, 1, 0]
    assert channel.column_maxima_sum() == 2
    assert channel.inputs == list("abc")
    assert DeterministicChannel([0, 3]).shape == (2, 4)
    assert DeterministicChannel([0, 1], "xy").outputs == list("xy")


@pytest.mark.parametrize(
    ("targets", "outputs", "message"),
    [
        ([0, 4], 4, "0 … 3, got 4 at place 1"),
        ([0, -1], None, "got -1 at place 1"),
        ([0.5], None, "whole numbers"),
        ([], None, "non-empty"),
        ([[0]], None, "list"),
        ([0, 1], "aa", "2 different labels"),
    ],
)
def test_bad_targets_are_refused(
    targets: object, outputs: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        DeterministicChannel(targets, outputs)  # type: ignore[arg-type]
