"""Functions as channels."""

import pytest

from tightrope.channels import DeterministicChannel
from tightrope.errors import InputError


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
        ([0, 4], 4, "0 … 3, got 4 for input 1"),
        ([0, -1], None, "got -1 for input 1"),
        ([0.5], None, "whole numbers"),
        ([], None, "non-empty"),
        ([[0]], None, "list"),
        ([0, 1], "aa", "2 different labels"),
    ],
)
def test_bad_targets_are_refused(targets: object, outputs: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DeterministicChannel(targets, outputs)  # type: ignore[arg-type]
