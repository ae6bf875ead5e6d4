"""What every channel does, on dense ones."""

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel
from tightrope.errors import InputError, TooLarge
from tightrope.graphs.base import check_labels

MATRIX = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]]


def test_a_matrix_makes_a_dense_channel() -> None:
    channel = Channel(MATRIX, inputs="ab", outputs="xyz")
    assert type(channel) is Channel
    assert channel.shape == (2, 3)
    assert channel.row(1).tolist() == MATRIX[1]
    assert channel.column(2).tolist() == [0.25, 0.375]
    assert channel.entry(1, 0) == 0.125
    assert (channel.inputs, channel.outputs) == (list("ab"), list("xyz"))
    assert channel.column_maxima().tolist() == [0.5, 0.5, 0.375]
    assert channel.column_maxima_sum() == 1.375


def test_the_matrix_is_a_read_only_copy() -> None:
    given = np.array(MATRIX)
    channel = Channel(given)
    given[0, 0] = 9
    assert channel.entry(0, 0) == 0.5
    for view in (channel.matrix(), channel.row(0), channel.column(0)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.4]], "row 0 sums to 0.9"),
        ([[1, 0], [1.5, -0.5]], "got -0.5 at row 1, column 1"),
        ([[float("nan"), 1]], "got nan at row 0, column 0"),
        ([[1, 0], [1]], "rectangular"),
        ([[10**400, 0]], "matrix of numbers"),
        ([], "non-empty"),
        ([1, 0], "non-empty"),
        ([["a"]], "matrix of numbers"),
    ],
)
def test_what_is_not_stochastic_is_refused(matrix: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Channel(matrix)


def test_rows_within_the_tolerance_are_kept_as_they_are() -> None:
    assert Channel([[0.5, 0.5 + 5e-10]]).entry(0, 1) == 0.5 + 5e-10
    with pytest.raises(InputError):
        Channel([[0.5, 0.5 + 5e-9]])


@pytest.mark.parametrize("labels", ["a", "aa", "abc"])
def test_labels_are_as_many_and_different(labels: str) -> None:
    with pytest.raises(InputError, match="2 different labels"):
        check_labels(labels, 2, "inputs")


@pytest.mark.parametrize(("i", "o"), [(-1, 0), (2, 0), (0, 3), (0, -1)])
def test_places_outside_are_refused(i: int, o: int) -> None:
    channel = Channel(MATRIX)
    with pytest.raises(InputError, match="must be in 0 …"):
        channel.entry(i, o)


def test_a_huge_matrix_is_refused_with_its_size() -> None:
    with pytest.raises(TooLarge, match="1000000 × 1000000"):
        GeometricChannel(10**6, 1).matrix()
    with pytest.raises(TooLarge, match="1000000000 numbers"):
        GeometricChannel(10**9, 1).row(0)


def test_small_channels_print_as_a_table_and_large_ones_as_a_line() -> None:
    assert str(
        Channel([[0.75, 0.25], [0.5, 0.5]], inputs=["no", "yes"])
    ).splitlines() == [
        "         0       1",
        " no 0.7500  0.2500",
        "yes 0.5000  0.5000",
    ]
    assert str(GeometricChannel(100, "ln(2)", 5)) == (
        "<GeometricChannel 100 answers, ε = ln(2), width 5>"
    )
    assert repr(Channel(MATRIX)) == "<Channel 2 inputs, 3 outputs>"
