"""Files with a δ: the judge adds up what exceeds the ratio, and what that costs of the bound."""

from fractions import Fraction

import pytest
from tests.forged import forged, unpack

from tightrope.certify import certify, verify
from tightrope.channels import IntegerChannel
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import Cycle
from tightrope.proofs import prove_selection


@pytest.fixture(scope="module")
def selection():
    return prove_selection(1000, "ln(2)", "1e-3")


def test_partition_selection_is_proved(selection):
    found = verify(selection)
    assert found.private_for_question
    assert found.question["delta"] == "1/1000"
    assert 0 <= found.optimal_within < Fraction(1, 10**15)
    keep = [selection.channel().fraction(k, 1) for k in (0, 9, 10)]
    assert [f"{float(chance):.3f}" for chance in keep] == ["0.000", "0.511", "0.756"]


def test_without_its_delta_or_with_less_it_is_not_private(selection):
    for delta in (None, "1/1001", "999999/1000000000"):
        found = verify(forged(selection, {"delta": delta}))
        assert not found.private
        assert found.reasons
    assert "beyond δ" in verify(forged(selection, {"delta": "1/1001"})).reasons[0]


@pytest.mark.parametrize("row", [1, 5, 9, 12])
def test_one_more_unit_anywhere_breaks_privacy(selection, row):
    """Every chance is as high as it can be: the judge notices the last unit."""
    weights = unpack(selection)[1]["weights"].reshape(2, -1)
    raised = weights.copy()
    raised[0, row] -= 4
    raised[1, row] += 4
    assert "beyond δ" in verify(forged(selection, weights=raised.ravel())).reasons[0]


def test_a_bound_without_the_price_of_delta_is_refused(selection):
    header, sections = unpack(selection)
    plain = Fraction(
        sum(sections["prices"].tolist()), 1 << header["certificate"]["bits"]
    )
    assert plain > selection.bound
    assert "bound" in verify(forged(selection, {"bound": str(plain)})).reasons[0]


def test_every_loss_with_less_delta_is_above_the_bound(selection):
    """The bound falls with δ: a smaller δ has a larger least loss."""
    smaller = prove_selection(18, "ln(2)", "5e-4")
    assert smaller.shape == selection.shape
    assert smaller.bound > selection.bound


def test_what_a_file_with_delta_may_be():
    weights = IntegerChannel([[3, 1], [1, 3]])
    with pytest.raises(InputError, match="taken as they are"):
        certify(
            IntegerChannel([[2, 1], [1, 2]]), "count(1)", "ln(2)", delta=Fraction(1, 9)
        )
    assert verify(certify(weights, "count(1)", "ln(2)", delta=Fraction(1, 4))).private
    with pytest.raises(CheckFailed, match="beyond δ"):
        certify(weights, "count(1)", "ln(2)", delta=Fraction(1, 5))
    with pytest.raises(CheckFailed, match="answers in a row"):
        certify(IntegerChannel([[1, 1]] * 4), Cycle(4), "ln(2)", delta=Fraction(1, 5))
