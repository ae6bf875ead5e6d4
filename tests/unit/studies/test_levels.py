"""Lists of levels."""

import pytest

from tightrope import Epsilon, InputError
from tightrope.studies.study import levels


def test_a_range_has_both_ends_exactly() -> None:
    found = levels("0.1:0.3:0.1")
    assert [str(level) for level in found] == ["0.1", "0.2", "0.3"]
    assert found[2] == Epsilon.of("0.3")


def test_a_range_stops_before_an_end_it_does_not_meet() -> None:
    assert [str(level) for level in levels("1:2:0.4")] == ["1", "1.4", "1.8"]


@pytest.mark.parametrize(
    "text",
    [
        "2:1:0.5",
        "1:2",
        "1:2:3:4",
        "0:1:0.1",
        "1:2:0",
        "ln(2):2:0.1",
        "1:500:0.0001",
        "x",
    ],
)
def test_what_is_no_list_of_levels(text: str) -> None:
    with pytest.raises(InputError):
        levels(text)
