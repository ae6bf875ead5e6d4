"""The exceptions: who is whose kind, and how messages read."""

import pytest

from tightrope.errors import CheckFailed, InputError, TextError, TightropeError, TooLarge


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
