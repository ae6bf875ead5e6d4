"""The verdict is computed from both values, never written down."""

from fractions import Fraction

import pytest

from tightrope.papers.claims import Book, Claim, Found, agrees, half_unit, printed, spoken


@pytest.mark.parametrize(
    ("claimed", "computed", "same"),
    [
        ("0.2243", 0.224337, True),
        ("0.2243", 0.22436, False),
        ("99.03", 99.0312, True),
        ("99.03", 99.04, False),
        ("0.8", 0.968133, False),
        ("0.48", 0.4849, True),
        ("751", 751, True),
        ("751", 752, False),
        ("4/9", 4 / 9, True),
        ("4/9", 0.4445, False),
        ("-1/4", Fraction(-1, 4), True),
        ("-0.97", -0.965304, True),
        (True, True, True),
        (True, False, False),
        (("0.4", "0.2"), [0.4, 0.2], True),
        (("0.4", "0.2"), [0.4, 0.3], False),
        (("0.4", "0.2"), [0.4], False),
        ("line", "line", True),
        ("line", "ring", False),
    ],
)
def test_agreement_is_to_the_printed_precision(claimed, computed, same) -> None:
    assert agrees(claimed, computed) is same


@pytest.mark.parametrize(("text", "value"), [("0.50", 0.005), ("12", 0.0), ("1/3", 0.0)])
def test_half_a_unit_of_the_last_digit(text, value) -> None:
    assert half_unit(text) == pytest.approx(value)


def test_numbers_are_read_exactly() -> None:
    assert printed("0.1") == Fraction(1, 10)
    with pytest.raises(ValueError, match="abc"):
        printed("abc")


def test_values_are_spoken() -> None:
    assert spoken(False) == "no"
    assert spoken(751) == "751"
    assert spoken([0.5, 0.25]) == "0.5, 0.25"


def claim(claimed, computed, correction="") -> Claim:
    return Claim("X", "Ex 1", "s", claimed, "f", "t", correction, lambda: Found(computed))


def test_verdicts() -> None:
    assert claim("0.5", 0.5).row().verdict == "match"
    assert claim("0.5", 0.7, "why").row().verdict == "corrected"
    assert claim("0.5", 0.7).row().verdict == "open"


def test_an_explanation_does_not_make_a_correction() -> None:
    """What agrees matches, whatever has been written about it."""
    row = claim("0.5", 0.5, "why").row()
    assert row.verdict == "match"
    assert row.explanation == ""


def test_a_row_shows_both_values() -> None:
    row = claim(True, False, "why").row()
    assert (row.claimed, row.computed, row.explanation) == ("yes", "no", "why")
    assert row.seconds >= 0


def test_a_book_keeps_order_and_names_a_test() -> None:
    book = Book("X")
    for name in ("1", "2"):
        book.claim(name, "s", name, function="f")(lambda: Found(1))
    assert [entry.result for entry in book.claims] == ["1", "2"]
    assert book.claims[0].test == "tests/unit/papers/test_rows.py::test_claim"
    assert [entry.row().verdict for entry in book.claims] == ["match", "open"]
