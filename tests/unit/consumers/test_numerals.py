from fractions import Fraction

import pytest

from tightrope.consumers.numerals import find_answer, to_float
from tightrope.errors import InputError
from tightrope.graphs import ExplicitGraph, PathPower, StrongProduct
from tightrope.texts import read_exact, to_exact

MIXED = ExplicitGraph(
    [(0, 1), (1, 2), (2, 3)], labels=[7, "3", (1, "a"), 0.25], name="mixed"
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("-.5", Fraction(-1, 2)),
        ("+2.", 2),
        ("3 / 4", Fraction(3, 4)),
        ("1e2/4", 25),
    ],
)
def test_numbers(text: str, number: Fraction) -> None:
    assert read_exact(text) == to_exact(text) == number
    assert to_float(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1_0", "0x1", "inf", "nan", "1e1000", "1/0", "1//2", "１"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(InputError):
        read_exact(text)
    with pytest.raises(InputError):
        to_float(text)


@pytest.mark.parametrize(
    ("label", "node"),
    [
        (7, 0),
        ("7", 0),
        (7.0, 0),
        ("3", 1),
        (" 3 ", 1),
        ((1, "a"), 2),
        (0.25, 3),
        ("1/4", 3),
    ],
)
def test_answers_of_any_kind(label: object, node: int) -> None:
    assert find_answer(MIXED, label) == node


def test_tuples() -> None:
    grid = StrongProduct([PathPower(3), PathPower(4)])
    for label in ((2, 1), [2, 1], "2,1", "(2, 1)", "[2,1]", ("2", "1")):
        assert find_answer(grid, label) == 9


@pytest.mark.parametrize(
    "label", [3, "8", "", None, (1,), "x" * 1000, float("nan"), [[1]], {}]
)
def test_what_is_no_answer(label: object) -> None:
    with pytest.raises(
        InputError, match="is not an answer of mixed; its answers look like 7"
    ):
        find_answer(MIXED, label)
