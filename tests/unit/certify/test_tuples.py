"""Tuples of values: privacy by exact enumeration, the file, the promised gap and interval."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.unit.certify.test_scores import forged, neighbours, tables

from tightrope.certify import TupleMechanism, by_score, read, verify
from tightrope.certify.tuples import Bracket
from tightrope.errors import InputError
from tightrope.publish.noise import noise_of
from tightrope.publish.sampler import BracketSampler, JointSampler

RELATIONS = ("change-one", "add-remove", "either")


def grid_weights(made, taken):
    """Weigh every tuple of grid points by itself, with the definition of the theorem."""
    ends = made.slot_ends(taken)
    people = len(ends) - 2
    part = made.question.denominator
    tops = (0, *made.question.ranks, part)
    totals, spare = wanted_totals(made, people)
    weights = Counter()
    points = range(2 * made.places * made.values)
    for chosen in itertools.combinations_with_replacement(points, len(made.ranks)):
        below = [0, *(sum(x <= p for x in ends[1:-1]) for p in chosen), people]
        weight = spare
        for total in totals:
            product = 1
            for cell in range(len(tops) - 1):
                here = below[cell + 1] - below[cell]
                share = tops[cell + 1] - tops[cell]
                product *= made.level(int(abs(part * here - share * total)))
            weight += product
        weights[tuple(p // (2 * made.places) for p in chosen)] += weight
    return weights


def wanted_totals(made, people):
    """Return the totals of the theorem, and the spare weight."""
    if made.neighbours != "add-remove":
        return [people], 0
    part = made.question.denominator
    reach = math.ceil(Fraction(len(made.levels) - 1, part))
    step = max(1, reach // 12)
    near = range(people - reach, people + reach + 1)
    rest = math.ceil(1 / (1 - 1 / made.ratio))
    most = (made.levels[0] + rest) ** len(made.ranks) * (made.levels[-1] + rest)
    spare = math.ceil(most / (part * (made.ratio - 1)))
    return [total for total in near if total % step == 0], spare


def joint_chances(made, counts):
    """Return the exact law of all quantiles, over every choice of places."""
    own = range(made.places)
    choices = [list(itertools.combinations(own, min(k, made.places))) for k in counts]
    cases = list(itertools.product(*choices))
    law = Counter()
    for taken in cases:
        weights = grid_weights(made, taken)
        total = sum(weights.values())
        for values, weight in weights.items():
            law[values] += Fraction(weight, total * len(cases))
    return law


def chances(made, counts):
    known = isinstance(made, Bracket)
    return made.chances(counts) if known else joint_chances(made, counts)


def worst_ratio(made, most, rows):
    laws = {table: chances(made, table) for table in tables(made.values, most + rows)}
    return max(
        laws[table][values] / laws[other][values]
        for table in tables(made.values, most)
        for other in neighbours(table, made.neighbours, rows)
        for values in laws[table]
    )


def with_half_the_noise(made):
    other = read(made.to_bytes())
    other.ratio = made.ratio**2
    return other


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("question", "most", "rows"),
    [
        ("bracket(1/2,3,2,1)", 4, 1),
        ("bracket(1/4,3,1,1)", 3, 1),
        ("bracket(9/10,2,3,2)", 4, 1),
        ("bracket(1/2,3,2,1,2)", 2, 2),
        ("quantiles(1/3,2/3,2,3)", 3, 1),
        ("quantiles(1/10,1/2,3,2)", 2, 1),
        ("quantiles(1/4,1/2,3/4,2,2)", 2, 1),
    ],
)
def test_no_person_changes_a_chance_by_more_than_the_level(
    question, most, rows, relation
):
    steps = by_score(question, 1, relation).steps
    made = by_score(question, f"{steps}*ln(3/2)", relation)
    assert made.ratio == Fraction(3, 2)
    allowed = Fraction(3, 2) ** steps  # e^ε, exactly
    assert worst_ratio(made, most, rows) <= allowed


@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_half_the_noise_is_found_out(relation):
    """A person between two people moves past the median: half of all values catch up."""
    made = by_score("bracket(1/2,24,1,1)", "ln(4)", relation)
    before, after = [0] * 24, [0] * 24
    before[1] = after[1] = after[23] = 1
    before[0] += relation == "change-one"

    def ratio(mechanism):
        laws = [mechanism.chances(table) for table in (before, after)]
        return max(laws[0][x] / laws[1][x] for x in laws[0])

    assert 2 < ratio(made) <= 4
    assert ratio(with_half_the_noise(made)) > 4


def defined_law(made, counts):
    """Return the law of a bracket by its definition, over every order of the values."""
    part = made.question.denominator
    (rank,) = made.question.ranks
    offset, slack = made.question.sizes
    people = sum(counts)
    values = range(made.values)

    def gap(value, wanted):
        below = part * sum(counts[:value]) if value else -math.inf
        upto = sum(counts[: value + 1])
        above = part * upto if value < made.values - 1 else math.inf
        return max(0, below - wanted, wanted - above)

    def weight(low, value, high):
        middle = rank * people
        ends = gap(low, middle - offset), gap(high, middle + offset)
        steps = max(gap(value, middle), *(end - slack for end in ends))
        extremes = (low == 0) + (high == made.values - 1)
        return made.values**extremes * made.level(int(steps))

    ends = list(itertools.product(values, repeat=2))
    sums = [sum(weight(low, v, high) for low, high in ends) for v in values]
    drawn = [Fraction(0)] * made.values
    for order in itertools.permutations(values):
        reached = Fraction(1, math.factorial(made.values))
        for value in order:
            share = Fraction(sums[value], max(sums))
            drawn[value] += reached * share
            reached *= 1 - share
    return {
        (low, v, high): drawn[v] * Fraction(weight(low, v, high), sums[v])
        for v in values
        for low, high in ends
    }


@pytest.mark.parametrize(
    "question", ["bracket(1/2,3,2,1)", "bracket(1/4,4,5,2)", "bracket(9/10,3,7,3)"]
)
def test_chances_are_those_of_the_definition(question):
    made = by_score(question, 3)
    for counts in tables(made.values, 3):
        assert made.chances(counts) == defined_law(made, counts)
    # Extremes that count once are another law.
    counts = (1,) * made.values
    made.places = [np.arange(made.values)] * 3
    assert made.chances(counts) != defined_law(made, counts)


@pytest.mark.parametrize("counts", [(3, 1, 2, 0), (0, 0, 0, 0), (0, 9, 0, 1)])
def test_a_quantile_has_the_chance_of_all_its_triples(counts):
    made = by_score("bracket(1/4,4,9,2)", 2)
    law = Counter()
    for (_, value, _), chance in made.chances(counts).items():
        law[value] += chance
    assert [law[value] for value in range(4)] == made.value_chances(counts)


def test_the_ends_of_a_small_group_hardly_disturb_its_median():
    """Twenty people around 20 of 101 values; alone the median is 20 with the same chance."""
    counts = [0] * 101
    counts[19:22] = [4, 12, 4]
    room = by_score("bracket(1/2,101,1,1)", 1, "add-remove").promised_steps(
        Fraction(19, 20)
    )
    slack = room // 2 + 1
    text = f"bracket(1/2,101,{room + slack + 3},{slack})"
    made = by_score(text, 1, "add-remove")
    alone = by_score("quantile(1/2,101)", 1, "add-remove").chances(counts)[20]
    assert made.value_chances(counts)[20] > alone - Fraction(1, 10)
    # Extremes that count once leave the median to values that free the ends.
    made.places = [np.arange(101)] * 3
    assert made.value_chances(counts)[20] < alone - Fraction(1, 10)


@pytest.mark.parametrize(("relation", "steps"), [("change-one", 12), ("add-remove", 6)])
def test_less_noise_for_several_quantiles_is_found_out(relation, steps):
    question = "quantiles(1/3,2/3,2,3)"
    made = by_score(question, f"{steps}*ln(3/2)", relation)
    allowed = Fraction(3, 2) ** steps
    made.ratio = Fraction(3, 2) ** 4
    assert worst_ratio(made, 2, 1) > allowed


def test_the_spare_weight_covers_a_total_that_is_lost():
    """A total goes when a person comes; tuples may have no more weight for it than is spare."""
    made = by_score("quantiles(1/3,2/3,2,3)", "6*ln(3/2)", "add-remove")
    part = made.question.denominator
    reach = made.totals(0).stop - 1
    assert part * reach >= len(made.levels) - 1
    lost = [
        math.prod(made.level(abs(part * here - total)) for here in people)
        for total in (-reach, reach)
        for people in itertools.product(range(4), repeat=3)
        if abs(sum(people) - total) >= reach
    ]
    # The weight of a tuple may fall by this factor where one person comes.
    fall = made.ratio**part
    assert max(lost) <= made.spare * (fall - 1)
    assert max(lost) > made.spare // 10**3 * (fall - 1)


@pytest.mark.parametrize(
    ("question", "counts"),
    [
        ("quantiles(1/3,2/3,3,2)", (1, 0, 2)),
        ("quantiles(1/4,1/2,3/4,2,3)", (3, 1)),
        ("quantiles(1/2,9/10,2,3)", (0, 0)),
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_sums_over_slots_are_sums_over_all_tuples(question, counts, relation):
    made = by_score(question, 2, relation)
    taken = [range(count) for count in counts]
    sizes = np.diff(made.slot_ends(taken)).tolist()
    found = [made.ways(sizes, total).mass for total in made.totals(sum(counts))]
    known = sum(found) + made.spare * made.tuple_count
    assert known == sum(grid_weights(made, taken).values())


@pytest.mark.parametrize(
    ("question", "relation", "sampler", "counts"),
    [
        ("bracket(1/2,3,2,1)", "change-one", BracketSampler, (3, 1, 2)),
        ("quantiles(1/3,2/3,2,3)", "change-one", JointSampler, (2, 1)),
        ("quantiles(1/4,1/2,3/4,2,2)", "change-one", JointSampler, (1, 1)),
        ("quantiles(1/3,2/3,2,3)", "add-remove", JointSampler, (2, 1)),
        ("quantiles(1/4,1/2,3/4,2,2)", "add-remove", JointSampler, (1, 1)),
    ],
)
def test_draws_follow_the_law(question, relation, sampler, counts):
    made = by_score(question, 3, relation)
    law = chances(made, counts)
    assert sum(law.values()) == 1
    draws = sampler(made, counts)
    many = 1000 if relation == "add-remove" else 4000
    drawn = Counter(draws.draw() for _ in range(many))
    assert set(drawn) <= set(law)
    likely = [values for values, chance in law.items() if chance > Fraction(10, many)]
    rest = 1 - sum(law[values] for values in likely)
    seen = [*(drawn[values] for values in likely)]
    expected = [float(many * law[values]) for values in likely]
    if rest:
        seen.append(many - sum(seen))
        expected.append(float(many * rest))
    assert stats.chisquare(seen, expected).pvalue > 1e-6


def test_a_tuple_that_is_drawn_for_no_total_is_any_one():
    """The spare weight is next to nothing; a thousand times all others it decides alone."""
    made = by_score("quantiles(1/3,2/3,2,3)", 3, "add-remove")
    counts = (3, 0)
    usual = joint_chances(made, counts)
    assert usual[0, 0] > Fraction(2, 3)
    made.spare = made.levels[0] ** 3 * 1000
    # Of 12 points 78 pairs are in order, 21 of them in each value.
    drawn = Counter(JointSampler(made, counts).draw() for _ in range(600))
    places = [(0, 0), (0, 1), (1, 1)]
    assert set(drawn) == set(places)
    expected = [600 * share / 78 for share in (21, 36, 21)]
    assert stats.chisquare([drawn[x] for x in places], expected).pvalue > 1e-6


def test_a_value_is_accepted_with_its_chance_to_the_last_bit(monkeypatch):
    """Where 63 bits equal the chance rounded down, the rest of the chance decides."""
    made = by_score("bracket(1/2,3,2,1)", 3)
    counts = (3, 1, 2)
    weights = made.gap_weights(counts)
    steps = made.value_steps(counts).tolist()
    # The last value has a gap, so its chance is no whole number of units.
    whole, rest = divmod(weights[steps[2]] << 63, weights[0])
    assert rest
    sampler = BracketSampler(made, counts)

    def is_accepted(word, number):
        words = np.array([0, 0, word << 1], np.uint64).tobytes()
        monkeypatch.setattr("os.urandom", lambda size: words)
        monkeypatch.setattr("secrets.randbelow", lambda most: number)
        return 2 in sampler._accepted()

    assert is_accepted(whole - 1, rest)
    assert is_accepted(whole, rest - 1)
    assert not is_accepted(whole, rest)
    assert not is_accepted(whole + 1, 0)


def quantile_range(rank, counts):
    """Return every value that a database may take for a quantile, interpolation included."""
    rows = [value for value, number in enumerate(counts) for _ in range(number)]
    people = len(rows)
    place = rank * people
    first = min(math.ceil(place), math.floor(place + 1 - rank))
    last = max(math.floor(place) + 1, math.ceil(place + 1 - rank))
    return rows[max(first, 1) - 1], rows[min(last, people) - 1]


def least_coverage(made, most):
    """Return the least chance, over all tables of some people, that the interval holds it."""
    (rank,) = made.ranks
    return min(
        sum(
            chance
            for (low, value, high), chance in made.chances(counts).items()
            if min(low, value) <= ends[0] and ends[1] <= max(high, value)
        )
        for counts in tables(made.values, most)
        if sum(counts)
        for ends in [quantile_range(rank, counts)]
    )


@pytest.mark.parametrize("rank", ["1/2", "1/4", "9/10"])
def test_the_interval_holds_the_quantile_in_every_table(rank):
    level = Fraction(19, 20)
    gap = by_score(f"bracket({rank},3,1,1)", 9, "add-remove").promised_steps(level)
    part = Fraction(rank).denominator
    slack = gap // 2 + 1
    wide = by_score(
        f"bracket({rank},3,{gap + slack + part + 1},{slack})", 9, "add-remove"
    )
    assert least_coverage(wide, 9) >= level
    # With ends that are aimed at the quantile itself it does not.
    narrow = by_score(f"bracket({rank},3,1,{slack})", 9, "add-remove")
    assert least_coverage(narrow, 9) < level


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", ["bracket(1/2,3,2,1)", "quantiles(1/3,2/3,2,3)"])
def test_the_promised_gap_is_kept(question, relation):
    made = by_score(question, 16, relation)
    level = Fraction(4, 5)
    promised = made.promised_gap(level)
    at = {"bracket": [1], "quantiles": [0, 1]}[question.partition("(")[0]]
    for counts in tables(made.values, 3):
        people = sum(counts)
        upto = list(itertools.accumulate(counts))

        def is_kept(values, upto=upto, counts=counts, people=people):
            ranks = zip(made.ranks, at, strict=True)
            pairs = ((rank * people, values[place]) for rank, place in ranks)
            return all(
                upto[v] - counts[v] - promised <= wanted <= upto[v] + promised
                for wanted, v in pairs
            )

        law = chances(made, counts)
        assert sum(p for values, p in law.items() if is_kept(values)) >= level


def test_nothing_is_promised_where_levels_end_too_early():
    made = by_score("quantiles(1/4,3/4,1000,1000)", 1)
    assert made.promised_gap(Fraction(19, 20)) is not None
    assert made.promised_gap(1 - Fraction(1, 2**300)) is None
    assert (
        by_score("bracket(1/2,9,1,1)", 1).promised_steps(1 - Fraction(1, 2**300))
        is None
    )


def test_five_quantiles_at_once_beat_five_draws():
    """Mean rank errors over 2,000 people and 1,500 values, exactly, at ε = 1 and 0.2.

    Drawn one by one with a fifth of ε they are 8.9 and 54. A rank within a value is an error
    here, so this is more than how many people lie between the value and the quantile.
    """
    values = np.random.default_rng(3).permutation(np.arange(2000) * 3 // 4)
    counts = np.bincount(values, minlength=1500)
    taken = [range(1, 1 + int(count)) for count in counts]
    for level, most in (("1", 4.0), ("1/5", 20.4)):
        made = by_score("quantiles(1/10,1/4,1/2,3/4,9/10,1500,2000)", level)
        assert mean_rank_error(made, taken) < most


def mean_rank_error(made, taken):
    """Return the mean error of all ranks by the exact marginal laws, forwards and backwards."""
    sizes = np.diff(made.slot_ends(taken)).tolist()
    people = len(sizes) - 1
    ways = made.ways(sizes, people)
    there = mirrored(made).ways(sizes[::-1], people)
    many = len(made.ranks)
    errors = []
    for j, rank in enumerate(made.ranks):
        # Ways up to the j-th in a slot, times ways with all others above it; those with
        # another one in the very slot are left out, which are few.
        back = there.arrive[many - 1 - j][::-1]
        weights = [a * b for a, b in zip(ways.leave[j], back, strict=True)]
        total = sum(weights)
        shares = np.array([w / total for w in weights])
        errors.append(float(shares @ abs(np.arange(people + 1) - float(rank) * people)))
    return np.mean(errors)


def mirrored(made):
    ranks = ",".join(str(1 - rank) for rank in reversed(made.ranks))
    return by_score(f"quantiles({ranks},{made.values},{made.places})", made.epsilon)


def test_the_file_is_small_and_verified():
    made = by_score("quantiles(1/4,1/2,3/4,121,1000)", 1)
    assert len(made.to_bytes()) < 1000
    found = verify(made)
    assert found.private
    assert any("by at most 8 steps" in line for line in found.checked)
    again = read(made.to_bytes())
    assert isinstance(again, TupleMechanism)
    assert again.digest == made.digest
    assert "1000 people" not in str(noise_of(made).interval(None))


def test_a_file_that_promises_too_much_is_refused():
    made = by_score("quantiles(1/4,1/2,3/4,121,1000)", "16*ln(2)")
    assert verify(forged(made)).private
    for wrong in (
        {"ratios": ["2000001/1000000"]},
        {"neighbours": "sideways"},
        {"query": "quantiles(1/4,1/2,3/4,121,1000,2)"},
        {"query": "quantiles(1/4,1/2,7/8,121,1000)"},
        {"outputs": ["a", "b"]},
    ):
        assert not verify(forged(made, **wrong)).private, wrong
    bracket = by_score("bracket(1/2,9,5,2)", "4*ln(2)")
    assert not verify(forged(bracket, query="bracket(1/3,9,5,2)")).private
    assert not verify(forged(bracket, ratios=["3"])).private
    assert verify(forged(bracket, neighbours="add-remove", ratios=["4"])).private


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("quantiles(1/2,5,9)", "is not known"),
        ("quantiles(1/2,1/4,5,9)", "rising"),
        ("quantiles(2/4,3/4,5,9)", "in lowest terms"),
        ("quantiles(1/4,5/4,5,9)", "below 1"),
        ("quantiles(1/9973,1/9967,5,9)", "1/10000 or coarser"),
        ("quantiles(1/4,1/2,9999999,9)", "more than 2\\^20"),
        ("bracket(1/2,5,1)", "is not known"),
        ("bracket(1/2,5,1,1,1)", "one row each is not written out"),
        (
            "quantiles(" + ",".join(f"{k}/23" for k in range(1, 23)) + ",5,9)",
            "20 ranks",
        ),
    ],
)
def test_what_is_no_question_about_tuples_is_refused(wrong, reason):
    with pytest.raises(InputError, match=f"question: .*{reason}"):
        by_score(wrong, 1)


def test_counts_of_the_wrong_length_or_any_size_are_told():
    with pytest.raises(InputError, match="needs 3 counts"):
        by_score("bracket(1/2,3,1,1)", 1).gaps([1, 2])
    with pytest.raises(InputError, match="needs 3 counts"):
        JointSampler(by_score("quantiles(1/4,1/2,3,9)", 1), [1, 2])
    huge = by_score("bracket(99/100,3,1,1)", 1).gaps([2**62] * 3)
    assert huge[1].tolist()[2] == 0
    # More rows in a value than declared are as many as declared.
    assert JointSampler(
        by_score("quantiles(1/4,1/2,3,9)", 99), [10**9, 0, 0]
    ).draw() == (0, 0)
