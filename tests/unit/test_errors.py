"""The exceptions: who is whose kind, and how messages read."""

import numpy as np
import pytest

from tightrope.errors import (
    CheckFailed,
    InputError,
    TextError,
    TightropeError,
    TooLarge,
    whole_number,
)


def test_bad_input_is_also_a_value_error() -> None:
    for kind in (InputError, TextError, TooLarge):
        assert issubclass(kind, TightropeError)
        assert issubclass(kind, ValueError)


def test_a_failed_check_is_not_bad_input() -> None:
    assert issubclass(CheckFailed, TightropeError)
    assert not issubclass(CheckFailed, ValueError)


def test_a_text_error_points_at_the_character() -> None:
    error = TextError("expected a digit", "sum(a)", 4)
    assert (error.text, error.position) == ("sum(a)", 4)
    assert str(error) == "expected a digit at character 5 of 'sum(a)': sum(▸a)"


@pytest.mark.parametrize("position", [0, 500, 999, 1000])
def test_a_text_error_stays_short(position: int) -> None:
    message = str(TextError("expected a digit", "\n" * 500 + "x" * 500, position))
    assert "▸" in message
    assert len(message) < 400
    assert "\n" not in message


@pytest.mark.parametrize("value", [2, 9, np.int64(5), 10**40])
def test_whole_numbers_are_taken_from_anyone(value: object) -> None:
    assert whole_number(value, "the count", 2) == value


@pytest.mark.parametrize(
    "value", [1, -3, True, 2.0, "3", None, float("nan"), np.float64(4), [2]]
)
def test_anything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(
        InputError, match=r"^the count must be a whole number of at least 2, got "
    ):
        whole_number(value, "the count", 2)


def test_a_whole_number_may_have_a_largest_value() -> None:
    assert whole_number(9, "steps", 2, 9) == 9
    with pytest.raises(InputError, match="from 2 to 9, got 10"):
        whole_number(10, "steps", 2, 9)
