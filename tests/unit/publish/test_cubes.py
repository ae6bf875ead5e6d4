"""Sums in several tables of one job: who counts, what one person changes, what is published."""

from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

from tightrope.asking import ask, plan
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish import parse_facts
from tightrope.publish.scopes import scope_of
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import estimates
from tightrope.publish.sources import open_source
from tightrope.publish.sql_reader import read_shapes
from tightrope.tables import ADD_REMOVE, CHANGE_ONE, EITHER

FACTS = """
[tables.people]
population = {people}
neighbours = "{near}"
budget = "400"
{rows}
[tables.people.columns]
id = {{ type = "integer" }}
region = {{ values = ["north", "south"] }}
sex = {{ values = ["f", "m"] }}
visits = {{ bounds = [{low}, {high}] }}
height = {{ bounds = [0, 2.5], step = 0.5 }}
income = {{ bounds = [0, 1001] }}
"""
CUBE = "select region, sex, sum(visits) as s from people group by cube (region, sex)"
NAMES = ["id", "region", "sex", "visits", "height"]


def facts(near, low=-1, high=3, people=3, rows=""):
    text = FACTS.format(near=near, low=low, high=high, people=people, rows=rows)
    return parse_facts(text)


def planned(near, sql=CUBE, **more):
    (shape,) = read_shapes(sql, facts(near, **more))
    return shape.as_asked().planned(Epsilon.of(1))


@pytest.mark.parametrize("of", ["count(*)", "sum(visits)"])
def test_a_plan_for_several_tables_is_a_stand_in_and_for_one_it_is_none(of):
    for sets, many in (
        ("region", 1),
        ("rollup (region)", 2),
        ("cube (region, sex)", 4),
    ):
        names = sets.removeprefix("cube ").removeprefix("rollup ").strip("()")
        sql = f"select {names}, {of} as n from people group by {sets}"
        said = [
            reason
            for reason in planned("add-remove", sql).stand_in_reasons()
            if "tables are estimated" in reason
        ]
        expected = [f"{many} tables are estimated from what is drawn"]
        assert said == (expected if many > 1 else [])


@pytest.mark.parametrize(("near", "cells"), [("add-remove", 1), ("change-one", 2)])
def test_one_person_moves_a_cell_or_two_in_every_table(near, cells):
    """The usual noise is named with what is moved in all."""
    for sets, many in (("rollup (region)", 2), ("cube (region, sex)", 4)):
        names = sets.partition("(")[2].strip(")")
        sql = f"select {names}, count(*) as n from people group by {sets}"
        assert planned(near, sql).sensitivity == cells * many


def frame_of(rows):
    frame = pd.DataFrame(rows, columns=NAMES)
    return frame.astype({"visits": "Int64", "height": "Float64"})


def answers(shape, rows):
    with open_source(frame_of(rows), shape.table) as source:
        # The number of a node of count(n) is the count itself.
        return SealedQuery(source, shape).nodes()


def moved(here, there):
    """Return how many steps of 1 two answers are apart, in all cells of each draw together."""
    return [
        sum(abs(x - y) for x, y in zip(mine, theirs, strict=True))
        for mine, theirs in zip(here, there, strict=True)
    ]


def neighbouring(near, people):
    """Return all pairs of tables of one or two people that differ by one."""
    for rest in ([], *([person] for person in people)):
        for person in people:
            if near != "change-one":
                yield rest, [*rest, person]
            if near != "add-remove":
                yield from (
                    ([*rest, person], [*rest, other])
                    for other in people
                    if other != person
                )


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize("bounds", [(-1, 3), (-4, 2), (2, 3), (0, 1)])
def test_one_person_makes_the_steps_that_are_paid_for_and_no_fewer(near, bounds):
    low, high = bounds
    shape = planned(near, low=low, high=high)
    people = [
        (1, region, sex, visits, 1.0)
        for region, sex in (("north", "f"), ("south", "f"), ("elsewhere", "m"))
        for visits in (None, low - 5, high + 5)
    ]
    known = {}

    def answer(rows):
        # The order of rows is not seen.
        key = tuple(sorted(map(people.index, rows)))
        if key not in known:
            known[key] = answers(shape, rows)
        return known[key]

    largest = [0] * len(shape.draws)
    for before, after in neighbouring(near, people):
        steps = moved(answer(before), answer(after))
        largest = list(map(max, largest, steps))
    # Equal, not only at most: fewer steps would not be private, more would waste ε.
    assert largest == [draw.width for draw in shape.draws]


def test_noise_of_sum_zero_would_publish_a_sum_of_zeros_and_ones():
    # One person moves a 0/1 sum by 1, as a count; but changes its total, as no count does.
    shape = planned("change-one", low=0, high=1)
    assert shape.relation is EITHER
    assert CHANGE_ONE.is_joint(4, width=1)  # what the width alone would lead to
    rows = [(1, "north", "f", 0, 1.0), (2, "south", "m", 1, 1.0)]
    changed = [(1, "north", "f", 1, 1.0), rows[1]]
    totals = [sum(answers(shape, table)[0]) for table in (rows, changed)]
    assert totals == [1, 2]
    assert not any(draw.query.startswith("histogram") for draw in shape.draws)
    assert all(draw.width == 2 for draw in shape.draws)


def test_rows_of_one_person_are_paid_for():
    shape = planned("add-remove", rows='person = "id"\ncontributions = 2')
    one = [(1, "north", "f", 3, 1.0), (1, "south", "f", 3, 1.0)]
    assert moved(answers(shape, []), answers(shape, one)) == [6]
    assert [draw.width for draw in shape.draws] == [6]


def test_numbers_without_noise_are_the_sums_of_sql_and_add_up():
    rows = [
        (k, ["north", "south"][k % 2], "fm"[k % 3 == 0], k % 7 - 2, 1.0)
        for k in range(40)
    ]
    rows += [(41, "elsewhere", "f", 3, 1.0), (42, "north", "f", None, 1.0)]
    shape = planned("change-one", people=50)
    drawn = tuple(tuple(mine) for mine in answers(shape, rows))
    lines = estimates(shape.reading, (None,) * len(drawn), drawn, Fraction(19, 20))
    frame = frame_of(rows).query("region != 'elsewhere'")
    frame["visits"] = frame["visits"].clip(-1, 3)
    cells = frame.groupby(["region", "sex"])["visits"].sum().to_dict()
    regions = frame.groupby("region")["visits"].sum().to_dict()
    values = {names: line[0].value for names, line in lines.items()}
    assert {n[1:]: v for n, v in values.items() if n[0] == 0} == cells
    assert {n[1]: v for n, v in values.items() if n[0] == 1} == regions
    assert values[3, None, None] == frame["visits"].sum()


def test_more_rows_than_declared_are_still_an_answer():
    shape = planned("add-remove", people=3)
    rows = [(k, "north", "f", 3, 1.0) for k in range(20)]
    (cells,) = answers(shape, rows)
    assert max(cells) == shape.draws[0].most


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
@pytest.mark.parametrize("bounds", [(0, 3), (-1, 3)])
def test_intervals_contain_the_sums(near, bounds):
    shape = planned(near, low=bounds[0], high=bounds[1], people=60)
    # No cell is empty: of sums that are 0, intervals cut at 0 contain more.
    rows = [(k, ["north", "south"][k % 2], "fm"[k % 4 > 1], 3, 1.0) for k in range(60)]
    exact = answers(shape, rows)
    truth = {
        names: line[0].value
        for names, line in estimates(
            shape.reading, (None,) * len(exact), exact, Fraction(19, 20)
        ).items()
    }
    generator = np.random.default_rng(5)
    level = Epsilon.of(1)
    releases = 1500
    inside = dict.fromkeys(truth, 0)
    for _ in range(releases):
        drawn = []
        pairs = zip(exact, shape.draws, shape.draw_shares, strict=True)
        for cells, draw, share in pairs:
            # Two-sided geometric noise at the ε of one step.
            p = -np.expm1(-float(level.scaled(share)) / draw.width)
            noise = generator.geometric(p, len(cells)) - generator.geometric(
                p, len(cells)
            )
            drawn.append([int(x) for x in np.array(cells) + noise])
        published = estimates(shape.reading, (None,) * 9, drawn, Fraction(19, 20))
        for names, (number,) in published.items():
            inside[names] += number.low <= truth[names] <= number.high
    # Three standard deviations of 1,500 draws at 95 % are 1.7 %.
    assert min(inside.values()) >= (0.95 - 0.017) * releases
    # Not far above either: the law is exact, but for the rounding of whole numbers.
    assert max(inside.values()) <= 0.97 * releases


def test_sums_of_numbers_are_counted_in_their_step(tmp_path):
    rows = [(k, "north", "fm"[k % 2], 1, 1.5) for k in range(50)]
    answer = ask(
        "select region, sex, sum(height) as s from people group by rollup (region, sex)",
        epsilon=100,
        data=frame_of(rows),
        facts=facts("add-remove", people=60),
        ledger=tmp_path / "ledger.db",
    )
    values = {names: number.value for names, (number,) in answer.rows}
    assert values[2, None, None] == pytest.approx(75, abs=2)
    assert values[0, "north", "f"] + values[0, "north", "m"] == values[1, "north", None]
    assert all(2 * value == int(2 * value) for value in values.values())


def test_the_scope_names_the_clipping():
    text = str(scope_of(planned("add-remove")))
    assert "visits clipped to -1..3, missing values left out" in text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("sum(income)", "more than 1000: declare income as a number with a larger"),
        ("median(visits), count(*)", "counts of rows, sums and means of a column"),
        ("sum(region)", "only numbers are added up"),
    ],
)
def test_other_numbers_in_a_cube_are_refused(asked, message):
    sql = f"select region, sex, {asked} from people group by cube (region, sex)"
    with pytest.raises(InputError, match=message):
        planned("add-remove", sql)


SEVERAL = (
    "select region, sex, count(*) as n, sum(visits) as s, avg(visits) as mean, "
    "grouping(region, sex) as g, coalesce(sex, 'all') as who, "
    "count(*) * 1.0 / sum(count(*)) over (partition by grouping(region), grouping(sex)) as share "
    "from people group by cube (region, sex)"
)


def test_counts_sums_and_means_stand_beside_each_other(tmp_path):
    people = [(k, "north", "fm"[k % 2], k % 4 - 1, 1.5) for k in range(60)]
    people += [(k, "south", "f", None if k % 3 else 3, 1.5) for k in range(60, 90)]
    frame = frame_of(people)
    answer = ask(
        SEVERAL, data=frame, facts=facts("add-remove", people=100), epsilon=100,
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    true = duckdb.sql(SEVERAL.replace("from people", "from frame"))
    expected = {line[:2]: line[2:] for line in true.fetchall()}
    # A group of nobody has a line here, and none in SQL.
    empty = {(region, sex) for _, region, sex in dict(answer.rows)} - {*expected}
    assert empty == {("south", "m")}
    for (_, *names), numbers in answer.rows:
        if tuple(names) in expected:
            found = [x.value for x in numbers]
            assert found == pytest.approx(expected[tuple(names)])
            mean = numbers[2]
            # What the quotient of two intervals may be, within the bounds of the column.
            assert -1 <= mean.low <= mean.value <= mean.high <= 3


def planned_numbers_of(what, near="add-remove", **more):
    sql = f"select region, sex, {what} from people group by cube (region, sex)"
    (question,) = plan(
        [sql], facts=facts(near, people=60), epsilon=1, ledger="unused.db", **more
    ).questions
    return question


def test_numbers_of_one_select_share_epsilon_as_their_columns_need():
    question = planned_numbers_of("avg(visits) as mean")
    count, total = question.parts
    # From the centre a value of -1 to 3 is 2 steps at most, and the mean at a distance of 1.
    assert [part.shape.draws[0].width for part in question.parts] == [1, 2]
    assert [float(part.epsilon) for part in question.parts] == [0.376, 0.624]

    def objective(share):
        # (S/N)' has a step of 2 in S, and in N one times the distance.
        of_total = ADD_REMOVE.variance(share / 2, 1)
        of_count = ADD_REMOVE.variance(1 - share, 1)
        return of_total + of_count

    best = objective(float(total.epsilon))
    assert best <= min(map(objective, (0.5, 0.6, 0.65))) * (1 + 1e-6)
    assert count.cost + total.cost == 1


def test_equal_numbers_share_epsilon_evenly_and_wanted_errors_are_kept():
    question = planned_numbers_of("count(*) as n, sum(visits) as s")
    assert [float(part.epsilon) for part in question.parts] == [0.5, 0.5]
    assert [table["share"] for table in question.measured] == [0.5, 0.5]
    assert [table["number"] for table in question.measured] == ["n", "s"]


def test_a_sum_beside_its_mean_is_made_of_what_the_mean_is_made_of():
    question = planned_numbers_of("avg(visits) as mean, sum(visits) as s")
    assert [part.shape.titles for part in question.parts] == [
        ("count(visits)",),
        ("sum(visits - 1)",),
    ]
    # Alone it is drawn as it is.
    (alone,) = planned_numbers_of("sum(visits) as s").parts
    assert (alone.shape.centre, alone.shape.titles) == (0, ("s",))
