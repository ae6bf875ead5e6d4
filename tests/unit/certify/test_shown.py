"""Counts that are shown if they are large enough: privacy, the largest chances, forgeries."""

import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.forged import forged

from tightrope.accounting.powerful import steepest_chances
from tightrope.certify import judge_script, verify
from tightrope.epsilon import Epsilon, enclosed
from tightrope.errors import InputError, TooLarge
from tightrope.proofs import prove_shown_count

CASES = [
    ("ln(2)", "1e-3"),
    ("1", "1e-6"),
    ("0.1", "1e-9"),
    ("3", "0.4"),
    ("0.5", "1e-30"),
]


@pytest.fixture(scope="module")
def made():
    return prove_shown_count(40, "ln(2)", "1e-3")


def levels_of(made):
    return list(made.header["weights"]["levels"])


def with_levels(made, levels, **fields):
    return forged(
        made, {"weights": {**made.header["weights"], "levels": levels}, **fields}
    )


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_every_row_is_private_and_no_count_is_shown_more_often(epsilon, delta):
    """By all outputs of all pairs of rows, and by the recursion of the largest chances."""
    made = prove_shown_count(90, epsilon, delta)
    verdict = verify(made)
    assert verdict.private
    assert verdict.question["delta"] == str(Fraction(delta))
    assert 0 <= verdict.optimal_within < Fraction(1, 10**11)
    level = Epsilon.of(epsilon)
    high = enclosed(level.multiple, level.base, power=True)[1]
    rows = [made.row_weights(i).tolist() for i in range(91)]
    assert all(sum(row) == made.total for row in rows)
    for one, other in (*pairwise(rows), *pairwise(rows[::-1])):
        over = sum(max(0, a - high * b) for a, b in zip(one, other, strict=True))
        assert over <= Fraction(delta) * made.total
    best = steepest_chances(90, epsilon, delta)
    for x, row in enumerate(rows):
        shown = 1 - Fraction(row[0], made.total)
        assert abs(shown - Fraction(best[min(x, len(best) - 1)], 1 << 160)) < 1e-11
    assert rows[0][0] == made.total


@pytest.mark.parametrize("people", [1, 7, 40])
def test_columns_and_rows_are_the_same_weights(people):
    """Fewer people than the noise reaches too: then the last output is all that is above."""
    weights = prove_shown_count(people, "ln(2)", "1e-3").weights
    rows = np.array([weights.row(i) for i in range(people + 1)])
    columns = [weights.column(o) for o in range(weights.outputs)]
    assert (rows == np.array(columns).T).all()
    assert set(rows.sum(axis=1)) == {weights.total}


def test_counts_of_any_size_have_the_same_file(made):
    large = prove_shown_count(10**12, "ln(2)", "1e-3")
    assert verify(large).private
    assert levels_of(large) == levels_of(made)


def test_every_unit_counts(made):
    """Every chance is as high as it can be: none is raised by a trillionth."""
    levels = levels_of(made)
    for place in range(len(levels)):
        moved = [*levels]
        moved[place] += 1
        assert "total" in verify(with_levels(made, moved)).reasons[0]
    unit = made.total >> 40
    for place in range(1, len(levels)):
        moved = [*levels]
        moved[place] += unit
        moved[place - 1] -= unit
        assert "beyond δ" in verify(with_levels(made, moved)).reasons[0]


def test_less_delta_is_not_enough(made):
    for delta in ("999/1000000", "1/1001"):
        assert "beyond δ" in verify(forged(made, {"delta": delta})).reasons[0]


def test_what_is_shown_less_often_is_said(made):
    """With twice the δ it is private, and far from the largest chances."""
    verdict = verify(forged(made, {"delta": "1/500"}))
    assert verdict.private
    assert verdict.optimal_within > Fraction(1, 10)


def test_the_script_agrees(made, tmp_path):
    script = tmp_path / "judge.py"
    script.write_text(judge_script())
    worse = with_levels(made, levels_of(made)[::-1][1:])
    for name, data, code in (("good", made.to_bytes(), 0), ("bad", worse, 1)):
        (tmp_path / name).write_bytes(data)
        call = [sys.executable, script, tmp_path / name]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr


def test_what_cannot_be_made():
    with pytest.raises(InputError, match="δ = 0"):
        prove_shown_count(10, 1, 0)
    with pytest.raises(TooLarge, match="take a larger ε"):
        prove_shown_count(10, "1e-6", "1e-6")
