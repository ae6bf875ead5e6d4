"""Mechanisms by score: privacy by exact enumeration, the file, the promised error."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tightrope.certify import Mechanism, ScoreMechanism, by_score, read, verify
from tightrope.certify.make import encode
from tightrope.errors import InputError
from tightrope.publish.sampler import ScoreSampler

RELATIONS = ("change-one", "add-remove", "either")


def tables(values, most):
    return [
        t for t in itertools.product(range(most + 1), repeat=values) if sum(t) <= most
    ]


def neighbours(table, relation, rows=1):
    """Yield the counts of all tables in which one person, with up to some rows, differs."""
    values = range(len(table))
    gone = [
        g
        for k in range(rows + 1)
        for g in itertools.combinations_with_replacement(values, k)
    ]
    for out, come in itertools.product(gone, repeat=2):
        if relation == "add-remove" and out and come:
            continue
        moved = Counter(dict(enumerate(table)))
        moved.subtract(Counter(out))
        if min(moved.values()) >= 0:
            moved.update(Counter(come))
            yield tuple(moved[v] for v in values)


def worst_ratio(made, most, rows=1):
    chances = {}

    def of(table):
        if table not in chances:
            chances[table] = made.chances(table)
        return chances[table]

    worst = Fraction(0)
    for table in tables(made.values, most):
        for other in neighbours(table, made.neighbours, rows):
            worst = max(
                [worst, *(a / b for a, b in zip(of(table), of(other), strict=True))]
            )
    return worst


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("question", "most", "rows"),
    [
        ("commonest(2)", 6, 1),
        ("commonest(3)", 4, 1),
        ("commonest(4)", 3, 1),
        ("commonest(3,2)", 3, 2),
        ("quantile(1/2,3)", 4, 1),
        ("quantile(1/2,4)", 3, 1),
        ("quantile(1/4,3)", 4, 1),
        ("quantile(9/10,3)", 4, 1),
        ("quantile(1/2,3,2)", 3, 2),
    ],
)
def test_no_person_changes_a_chance_by_more_than_the_level(
    question, most, rows, relation
):
    steps = by_score(question, 1, relation).steps
    made = by_score(question, f"{steps}*ln(3/2)", relation)
    allowed = Fraction(3, 2) ** steps  # e^ε, exactly
    assert made.ratio == Fraction(3, 2)
    assert worst_ratio(made, most, rows) <= allowed
    if made.rank is None:  # few tables with few values are enough for the worst case
        assert worst_ratio(with_half_the_noise(made), most, rows) > allowed


@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_a_quantile_of_many_values_comes_close_to_the_level(relation):
    """One person moves past the median: one value falls back, and all beyond it catch up."""
    made = by_score("quantile(1/2,90)", "ln(4)", relation)
    low, near, last = (1, 2, 89) if relation == "change-one" else (0, 1, 89)
    before, after = [0] * 90, [0] * 90
    before[near] = after[near] = after[last] = 1
    before[0] += relation == "change-one"
    pair = [tuple(before), tuple(after)]
    assert pair[1] in neighbours(pair[0], relation)

    def ratio(mechanism):
        return mechanism.chances(before)[low] / mechanism.chances(after)[low]

    assert Fraction("3.6") < ratio(made) <= 4
    assert ratio(with_half_the_noise(made)) > 4


def with_half_the_noise(made):
    other = read(made.to_bytes())
    other.ratio = made.ratio**2
    return other


@pytest.mark.parametrize(
    "question", ["commonest(4)", "quantile(1/2,4)", "quantile(1/4,4)"]
)
def test_chances_sum_to_one_and_draws_follow_them(question):
    made = by_score(question, 1)
    counts = [3, 5, 0, 4]
    chances = made.chances(counts)
    assert sum(chances) == 1
    sampler = ScoreSampler(made, counts)
    drawn = np.bincount([sampler.draw_index() for _ in range(20_000)], minlength=4)
    assert stats.chisquare(drawn, 20_000 * np.array(chances, float)).pvalue > 1e-6


def test_the_commonest_of_real_counts_is_found():
    """At ε = 0.2 a mechanism that sees only the true answer is right in 23 % of cases."""
    counts = (311, 351, 659, 126, 182)
    made = by_score("commonest(5)", 0.2, "add-remove")
    assert made.chances(counts)[2] > 1 - Fraction(1, 10**15)
    sampler = ScoreSampler(by_score("commonest(5)", 0.2), counts)
    assert {sampler.draw_index() for _ in range(20_000)} == {2}


def test_the_median_of_ages_is_found():
    """The expected error of a median of 1,629 ages at ε = 0.2 is below half a year."""
    ages = np.random.default_rng(7).gamma(6, 6.5, 1629).astype(int).clip(0, 120)
    counts = np.bincount(ages, minlength=121)
    made = by_score("quantile(1/2,121)", 0.2, "add-remove")
    weights = made.weights(made.gaps(counts)) / 2**made.bits
    chances = np.array([
        weights[r] * np.mean(np.prod(1 - np.outer((np.arange(400) + 0.5) / 400,
                                                  np.delete(weights, r)), axis=1))
        for r in range(121)
    ])  # fmt: skip
    assert chances.sum() == pytest.approx(1, abs=1e-4)
    error = float(chances @ abs(np.arange(121) - np.median(ages)))
    assert error < 0.5
    sampler = ScoreSampler(made, counts.tolist())
    drawn = np.array([sampler.draw_index() for _ in range(2000)])
    assert abs(drawn - np.median(ages)).mean() == pytest.approx(error, abs=0.1)


@pytest.mark.parametrize("question", ["commonest(3)", "quantile(1/2,3)"])
def test_the_promised_gap_is_kept_and_no_smaller_one_is(question):
    made, level = by_score(question, 2), Fraction(4, 5)
    part = 1 if made.rank is None else made.rank.denominator
    promised = made.promised_gap(level)
    worst = Fraction(0)
    for table in tables(3, 9):
        gaps, chances = made.gaps(table), made.chances(table)
        missed = sum(
            p for g, p in zip(gaps, chances, strict=True) if g > promised * part
        )
        assert missed <= 1 - level, table
        worst = max(
            worst,
            sum(p for g, p in zip(gaps, chances, strict=True) if g >= promised * part),
        )
    if (
        question == "commonest(3)"
    ):  # all others just below the best is among these tables
        assert worst > 1 - level


def test_the_file_is_small_and_verified():
    made = by_score("quantile(1/2,121)", 1)
    assert len(made.to_bytes()) < 1000
    found = verify(made)
    assert found.private
    assert found.private_for_question
    assert any("apart by at most 4 steps" in line for line in found.checked)
    again = read(made.to_bytes())
    assert isinstance(again, ScoreMechanism)
    assert again.digest == made.digest
    with pytest.raises(InputError, match="it has no rows"):
        Mechanism(made.to_bytes())


def forged(made, **changes):
    header = {
        key: value for key, value in made._file.raw_header.items() if key != "sections"
    }
    return encode(header | changes, {}, 1)


def test_a_file_that_promises_too_much_is_refused():
    made = by_score("commonest(5)", "ln(4)")
    assert verify(forged(made)).private
    for wrong in (
        {"ratios": ["2000001/1000000"]},
        {"neighbours": "sideways"},
        {"query": "commonest(5,1)"},
        {"query": "commonest(5,2)"},  # two rows each ask for twice the noise
        {"query": "commonest(0)"},
        {"query": "quantile(1/2,5)"},
        {"query": "quantile(2/4,5)"},
        {"query": "quantile(3/2,5)"},
        {"query": "choice(5)"},
        {"weights": {"kind": "scores", "bits": 63}},
        {"outputs": ["a", "b", "c", "d", "e"]},
    ):
        assert not verify(forged(made, **wrong)).private, wrong
    # Half the noise is enough where people only come and go.
    assert verify(forged(made, neighbours="add-remove", ratios=["4"])).private


def test_the_judge_alone_knows_scores(tmp_path):
    from tightrope.certify.standalone import check

    path = tmp_path / "most.tightrope"
    path.write_bytes(by_score("commonest(5)", 1).to_bytes())
    assert check(path).private


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        *(
            (text, "is not known")
            for text in ("commonest", "quantile(5)", "commonest(1/2,5)")
        ),
        ("quantile(1/2)", "is not known"),
        ("quantile(2/4,5)", "in lowest terms"),
        ("commonest(5,1)", "one row each is not written out"),
        ("commonest(9999999)", "9999999 values are more than 2\\^20"),
    ],
)
def test_what_is_no_question_by_scores_is_refused(wrong, reason):
    with pytest.raises(InputError, match=f"question: .*{reason}"):
        by_score(wrong, 1)


def test_counts_of_the_wrong_length_are_refused():
    with pytest.raises(InputError, match="needs 3 counts"):
        by_score("commonest(3)", 1).gaps([1, 2])


def test_counts_of_any_size_do_not_overflow():
    made = by_score("quantile(99/100,3)", 1)
    assert made.gaps([2**62, 2**62, 2**62]).tolist()[2] == 0
    assert json.dumps(made.gaps([0, 0, 0]).tolist()) == "[0, 0, 0]"
