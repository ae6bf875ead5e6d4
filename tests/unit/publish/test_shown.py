"""Groups that nobody declared: privacy of whole answers, over all neighbouring small tables."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from tightrope.asking.cache import proved
from tightrope.epsilon import Epsilon, enclosed
from tightrope.errors import InputError
from tightrope.proofs import prove_shown_count
from tightrope.publish.facts import Column, Table
from tightrope.publish.noise import noise_of
from tightrope.publish.releasing import charges_of
from tightrope.publish.shapes import FoundGroups, FoundMeans
from tightrope.queries import Neighbours, query

GROUPS = "ab"
LEVEL = Epsilon.of("2*ln(2)")
DELTA = Fraction(1, 5)


def shape_of(near, rows, people):
    columns = {name: Column(name, "text") for name in ("city", "id")}
    table = Table(
        "visits", 3, Neighbours.of(near), columns, person="id", contributions=rows
    )
    shape = FoundGroups(table, column=columns["city"], people=people)
    return shape.with_delta(DELTA).planned(LEVEL)


def law(made, counts):
    """Return the probabilities of all answers: groups are drawn independently."""
    rows = [made.row_weights(counts[name]).tolist() for name in GROUPS]
    return [a * b for a in rows[0] for b in rows[1]]


def largest_excess(shape, made):
    """Return what one person can exceed e^ε by: two people with their rows in two groups."""
    near = shape.table.neighbours
    most = range(shape.rows_per_person + 1)
    own_rows = [
        own for many in most for own in combinations_with_replacement(GROUPS, many)
    ]
    high = enclosed(LEVEL.multiple, LEVEL.base, power=True)[1]
    worst = 0
    for other, one, changed in product(own_rows, repeat=3):
        stays = bool(one) == bool(changed)
        if near is not Neighbours.EITHER and stays != near.allows_change:
            continue
        other, one, changed = (
            Counter(set(own) if shape.people else own) for own in (other, one, changed)
        )
        pairs = zip(law(made, other + one), law(made, other + changed), strict=True)
        worst = max(worst, sum(max(0, p - high * q) for p, q in pairs))
    return Fraction(worst, made.total**2)


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize(("rows", "people"), [(1, False), (2, False), (2, True)])
def test_every_pair_of_neighbouring_tables(near, rows, people):
    shape = shape_of(near, rows, people)
    (draw,) = shape.draws
    each = LEVEL.scaled(Fraction(1, draw.width))
    made = prove_shown_count(shape.most, each, draw.delta)
    (charge,) = charges_of([noise_of(made)], shape)
    assert charge.delta == DELTA
    assert charge.amount == LEVEL.above
    assert 0 < largest_excess(shape, made) <= DELTA


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
@pytest.mark.parametrize(("rows", "people"), [(1, False), (2, False), (2, True)])
def test_undivided_levels_are_found_out(near, rows, people):
    """The negative twin: with all of ε and δ in each step, some pair needs more."""
    shape = shape_of(near, rows, people)
    made = prove_shown_count(shape.most, LEVEL, DELTA)
    is_private = rows == 1 and near == "add-remove"
    assert (largest_excess(shape, made) <= DELTA) is is_private


def test_an_interval_contains_what_is_shown_whatever_the_size():
    """Exactly, for every count: given that it is shown, its interval misses with at most a."""
    made = prove_shown_count(60, "ln(2)", "1e-3")
    noise = noise_of(made)
    level = Fraction(19, 20)
    intervals = {}
    for output in range(made.weights.top + 1, 61):
        (intervals[output],) = noise.estimates(output, level)
    for count in range(1, 61):
        row = made.row_weights(count).tolist()
        held = [
            weight
            for output, weight in enumerate(row)
            if output
            and weight
            and intervals[output].low <= count <= intervals[output].high
        ]
        assert sum(held) >= level * (made.total - row[0])
    # Where every count is shown the margin is that of the noise, near the threshold it is wider.
    (error,) = noise.error(level)
    assert (intervals[40].low, intervals[40].high) == (40 - error, 40 + error)
    assert intervals[made.weights.top + 1].low == 1
    assert noise.interval(0).bounds == ((0, noise.certain_size - 1),)


@pytest.mark.parametrize("answer", [1, 8, 61, -1, "keep"])
def test_what_was_not_released_has_no_interval(answer):
    with pytest.raises(InputError, match="not an output"):
        noise_of(prove_shown_count(60, "ln(2)", "1e-3")).interval(answer)


@pytest.mark.parametrize(
    ("near", "delta", "margin", "even"),
    [("add-remove", "1e-6", 3, 14), ("change-one", "1e-5", 6, 23)],
)
def test_margins_and_thresholds(near, delta, margin, even):
    """No more than other libraries have at ε = 1: ± 3.4 and 14, ± 6.4 and 25."""
    columns = {"city": Column("city", "text")}
    table = Table("people", 1000, Neighbours.of(near), columns)
    shape = FoundGroups(table, column=columns["city"]).with_delta(Fraction(delta))
    (draw,) = shape.planned(Epsilon.of(1)).draws
    each = Epsilon.of(Fraction(1, draw.width))
    noise = noise_of(prove_shown_count(1000, each, draw.delta))
    assert (noise.error("0.95"), noise.even_size) == ((margin,), even)
    assert noise.is_optimal


def means_of(near, rows):
    city = Column("city", "text")
    paid = Column("paid", "integer", bounds=(0, 2))
    table = Table(
        "visits",
        2,
        Neighbours.of(near),
        {"paid": paid},
        person="id",
        contributions=rows,
    )
    shape = FoundMeans(table, column=paid, grouped=city)
    return shape.with_delta(DELTA).planned(LEVEL)


def group_law(shape, count, total, own):
    """Return the weights of all outputs of one group from the values of its rows."""
    shown = count.row_weights(len(own)).tolist()
    centred = sum(own) - shape.centre * len(own) - shape.draws[1].offset
    sums = total.row_weights(centred).tolist()
    return [shown[0] * total.total, *(a * b for a in shown[1:] for b in sums)]


def largest_joint_excess(shape, count, total):
    """Return what one person can exceed e^ε by, beside another one, in counts and sums."""
    near = shape.table.neighbours
    cells = [*product(GROUPS, (0, 2))]
    own_rows = [
        own
        for many in range(shape.rows_per_person + 1)
        for own in combinations_with_replacement(cells, many)
    ]
    high = enclosed(LEVEL.multiple, LEVEL.base, power=True)[1]
    known = {}

    def law_of(rows):
        """The law of both groups: they are drawn independently."""
        key = tuple(sorted(rows))
        if key not in known:
            laws = [
                group_law(
                    shape, count, total, [paid for city, paid in key if city == g]
                )
                for g in GROUPS
            ]
            known[key] = [a * b for a in laws[0] for b in laws[1]]
        return known[key]

    worst = 0
    for other, one, changed in product(own_rows, repeat=3):
        # Any change of a person is one of all rows; fewer are less.
        full = max(len(one), len(changed)) == shape.rows_per_person
        if bool(one and changed) != near.allows_change or not full or len(other) > 1:
            continue
        pairs = zip(law_of(other + one), law_of(other + changed), strict=True)
        worst = max(worst, sum(max(0, p - high * q) for p, q in pairs))
    return Fraction(worst, (count.total * total.total) ** 2)


@pytest.mark.parametrize(
    ("near", "rows"), [("add-remove", 1), ("add-remove", 2), ("change-one", 1)]
)
def test_counts_and_sums_together(near, rows):
    shape = means_of(near, rows)
    count, total = shape.draws
    each = LEVEL.scaled(Fraction(1, 2 * count.width))
    noises = [
        noise_of(prove_shown_count(shape.most, each, count.delta)),
        proved(query(total.query, neighbours=total.neighbours), each),
    ]
    (charge,) = charges_of(noises, shape)
    assert charge.delta == DELTA
    assert charge.amount == LEVEL.above
    files = [noise.file for noise in noises]
    assert 0 < largest_joint_excess(shape, *files) <= DELTA
    # The negative twin: with a level for the sum that was not paid for, some pair needs more.
    unpaid = LEVEL.scaled(Fraction(4))
    files[1] = proved(query(total.query, neighbours=total.neighbours), unpaid).file
    assert largest_joint_excess(shape, *files) > DELTA
