"""The verdict is computed from both values, never written down."""

from fractions import Fraction

import pytest

from tightrope.papers import all_claims
from tightrope.papers.claims import Paper, PaperClaim, agrees, half_unit, spoken


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


@pytest.mark.parametrize(
    ("text", "value"), [("0.50", 0.005), ("12", 0.0), ("1/3", 0.0)]
)
def test_half_a_unit_of_the_last_digit(text, value) -> None:
    assert half_unit(text) == pytest.approx(value)


def test_a_number_that_cannot_be_read_is_no_match() -> None:
    with pytest.raises(ValueError, match="abc"):
        agrees("abc", 0.1)


def test_values_are_spoken() -> None:
    assert spoken(False) == "no"
    assert spoken(751) == "751"
    assert spoken([0.5, 0.25]) == "0.5, 0.25"


def claim(claimed, computed, correction="") -> PaperClaim:
    return PaperClaim(
        "X", "Ex 1", "s", claimed, sum, correction, lambda: (computed, "")
    )


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


def test_a_paper_keeps_the_order_of_its_claims() -> None:
    paper = Paper("X", "On addition")
    for name in ("1", "2"):
        paper.claim(name, name, by=sum)(lambda: (1, ""))
    assert [entry.result for entry in paper.claims] == ["1", "2"]
    assert [entry.row().verdict for entry in paper.claims] == ["match", "open"]


def test_the_function_is_named_as_its_room_exports_it() -> None:
    exported = PaperClaim("X", "1", "s", "1", agrees, "", lambda: (1, ""))
    assert exported.function == "tightrope.papers.claims.agrees"
    assert claim("1", 1).function == "builtins.sum"
    room = PaperClaim("X", "1", "s", "1", all_claims, "", lambda: (1, ""))
    assert room.function == "tightrope.papers.all_claims"


@pytest.mark.parametrize(
    ("cases", "verdict", "computed"),
    [
        ([True, True], "match", "yes: in 2 cases"),
        ([True, False, True], "open", "no: in 2 cases"),
        ([], "open", "no: in 0 cases"),  # nothing tried is nothing shown
    ],
)
def test_a_claim_by_cases_holds_if_there_are_some_and_all_hold(
    cases, verdict, computed
) -> None:
    paper = Paper("X", "On addition")
    paper.every("1", "in {} cases", by=sum)(lambda: iter(cases))
    row = paper.claims[0].row()
    assert (row.verdict, row.computed) == (verdict, computed)
