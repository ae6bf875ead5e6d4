"""Several counts by group as one table: who counts, what one person changes, what is published."""

import itertools
import math
from fractions import Fraction

import pandas as pd
import pytest

from tightrope.asking import ask
from tightrope.asking.answers import published_numbers
from tightrope.asking.planning import plan
from tightrope.epsilon import Epsilon
from tightrope.publish import parse_facts
from tightrope.publish.shapes import Crossed, estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_reader import read_shapes
from tightrope.publish.sql_writer import Opened, compiled

FACTS = """
[tables.people]
population = {people}
neighbours = "{near}"
[tables.people.columns]
region = {{ values = ["north", "south"] }}
smoker = {{ type = "boolean" }}
sex = {{ values = ["f", "m"], complete = true }}
"""
SQL = (
    "select region, count(*) as n, count(*) filter (where smoker) as s, "
    "count(*) filter (where sex = 'f') as f, count(*) filter (where sex = 'm') as m, "
    "sum(count(*)) over () as total from people group by region"
)


def crossed(near, people=3, sql=SQL):
    facts = parse_facts(FACTS.format(near=near, people=people))
    (shape,) = read_shapes(sql, facts)
    return shape.planned(Epsilon.of(1))


def answers(shape, rows):
    frame = pd.DataFrame(rows, columns=["region", "smoker", "sex"], dtype=object)
    frame = frame.astype({"smoker": "boolean"})
    with open_source(frame, shape.table) as source:
        sql = compiled(
            shape,
            {shape.table.name: Opened(source, check_columns(source, shape.columns))},
        )
        source.prepare(shape.columns)
        return shape.answers(source.fetch(sql))


def steps(shape, before, after):
    """Return how many steps two answers are apart, for each draw, and how many are paid for."""
    found = []
    for draw, here, there in zip(shape.draws, before, after, strict=True):
        joint = isinstance(here[0], tuple)
        cells = (
            zip(here[0], there[0], strict=True)
            if joint
            else zip(here, there, strict=True)
        )
        moved = sum(abs(x - y) for x, y in cells)
        found.append((Fraction(moved, 2) if joint else moved, draw.width))
    return found


PEOPLE = [
    (region, smoker, sex)
    for region in ("north", "south", "elsewhere")
    for smoker in (True, False, None)
    for sex in ("f", "m")
]


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
def test_one_person_makes_the_steps_that_are_paid_for(near):
    shape = crossed(near)
    assert isinstance(shape, Crossed)
    tables = {
        table: answers(shape, table)
        for size in (1, 2)
        for table in itertools.combinations_with_replacement(PEOPLE[::2], size)
    }
    largest = 0
    for table, here in tables.items():
        for place in range(len(table)):
            rest = table[:place] + table[place + 1 :]
            changed = [] if near == "add-remove" else [
                tuple(sorted((*rest, person), key=PEOPLE.index)) for person in PEOPLE[::2]
            ]  # fmt: skip
            gone = [rest] if rest and near != "change-one" else []
            for other in changed + gone:
                for moved, paid in steps(shape, here, tables[other]):
                    assert moved <= paid, (table, other)
                    largest = max(largest, moved)
    # The steps are made: half as many would not be private.
    assert largest == max(draw.width for draw in shape.draws)


def test_numbers_without_noise_are_the_counts_of_sql():
    rows = [("north", k % 2 == 0, "fm"[k % 3 == 0]) for k in range(30)]
    rows += [("south", None, "f")] * 4 + [("elsewhere", True, "m")] * 5
    shape = crossed("add-remove", people=50)
    drawn = tuple(tuple(mine) for mine in answers(shape, rows))
    lines = estimates(shape.reading, (None,) * len(drawn), drawn, Fraction(19, 20))
    values = {names: [number.value for number in line] for names, line in lines.items()}
    assert values == {("north",): [30, 15, 20, 10, 34], ("south",): [4, 0, 4, 0, 34]}


def test_values_of_a_complete_column_are_classes_of_one_axis():
    shape = crossed("add-remove")
    assert [axis.classes for axis in shape.axes[1:]] == [
        ("class 0", "(other)"),
        ("class 0", "class 1"),
    ]


def test_many_conditions_are_several_tables():
    tests = [f"age > {k}" for k in range(9)]
    counts = ", ".join(
        f"count(*) filter (where {test}) as n{test[-1]}" for test in tests
    )
    facts = FACTS.format(people=50, near="add-remove") + "age = { bounds = [0, 90] }\n"
    sql = f"select region, {counts} from people group by region"
    shapes = read_shapes(sql, parse_facts(facts))
    assert [len(shape.axes) for shape in shapes] == [8, 3]


def test_a_filtered_count_beside_all_does_not_halve_epsilon(tmp_path):
    facts = parse_facts(FACTS.format(people=500, near="add-remove"))

    def error(sql):
        planned = plan([sql], epsilon=1, facts=facts, ledger=tmp_path / "ledger.db")
        ((part,),) = (question.parts for question in planned.questions)
        return part.errors

    both = "select region, count(*) filter (where smoker), count(*) from people group by region"
    alone = "select region, count(*) filter (where smoker) from people group by region"
    assert error(both)[0] == error(alone)[0] == 3


BINARY = """
[tables.people]
population = 400
neighbours = "add-remove"
[tables.people.columns]
region = { values = ["north", "south"], complete = true }
employed = { values = [0, 1] }
smoker = { type = "boolean" }
"""


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("avg(employed)", [Fraction(3, 5), Fraction(1, 3)]),
        ("sum(employed)", [6, 1]),
        ("avg(case when smoker then 1.0 else 0 end)", [Fraction(1, 4), 0]),
        ("avg(smoker::int)", [Fraction(3, 10), 0]),
        ("avg(employed) filter (where smoker)", [1, None]),
    ],
)
def test_means_of_0_and_1_by_group_are_shares_of_counts(what, shown, tmp_path):
    # North: 3 of 10 smoke and 2 say nothing; 6 of 10 are employed, all smokers among them.
    rows = [("north", k < 6, k < 3) for k in range(10)] + [("north", None, None)] * 2
    rows += [("south", k < 1, False) for k in range(3)]
    frame = pd.DataFrame(rows, columns=["region", "employed", "smoker"], dtype=object)
    frame = frame.astype({"employed": "Int64", "smoker": "boolean"})
    sql = f"select region, {what} as x from people group by region"
    (shape,) = read_shapes(sql, parse_facts(BINARY))
    shape = shape.as_asked().planned(Epsilon.of(1))
    with open_source(frame, shape.table) as source:
        compiled_sql = compiled(
            shape,
            {shape.table.name: Opened(source, check_columns(source, shape.columns))},
        )
        source.prepare(shape.columns)
        drawn = tuple(map(tuple, shape.answers(source.fetch(compiled_sql))))
    noises = (None,) * len(drawn)
    if not isinstance(shape, Crossed):
        drawn = drawn[0][0]
    lines = estimates(shape.reading, noises, drawn, Fraction(19, 20))
    answer = shape.after.rows(shape.keys, shape.titles, lambda many: lines)
    values = [numbers[0].value for _, numbers in answer]
    assert values == [x if x is not None else "–" for x in shown]


def test_a_mean_of_0_and_1_by_group_has_half_the_error_of_a_sum_and_a_count(tmp_path):
    def widths(facts):
        sql = "select region, avg(employed) as x from people group by region"
        frame = pd.DataFrame(
            {"region": ["north", "south"] * 200, "employed": [0, 0, 1, 1] * 100}
        )
        answer = ask(sql, epsilon=1, data=frame, facts=parse_facts(facts),
                     ledger=tmp_path / f"{len(facts)}.db", budget=9)  # fmt: skip
        return [numbers[0].high - numbers[0].low for _, numbers in answer.rows]

    # Where people only come and go, a sum and a count are one draw: that is as exact.
    changing = BINARY.replace("add-remove", "either")
    bounded = changing.replace("values = [0, 1]", "bounds = [0, 1]")
    assert max(widths(changing)) < Fraction(2, 3) * min(widths(bounded))


def test_people_who_are_missing_are_in_one_cell_of_groups_and_conditions():
    facts = FACTS.replace('["north", "south"]', '["north", "south"], complete = true')
    assert facts != FACTS
    sql = (
        "select region, count(*) filter (where smoker) as s, count(*) as n from people"
    )
    sql += " group by region"
    (shape,) = read_shapes(sql, parse_facts(facts.format(near="change-one", people=5)))
    rows = [("north", True, "f"), ("south", True, "m"), ("south", None, "m")]
    (full,) = answers(shape.planned(Epsilon.of(1)), rows)[0]
    # Two of five people are missing: they are in the first group, where no condition holds.
    assert full == (1, 2, 1, 1)


DIFFERENCE = (
    "select region, count(*) filter (where sex = 'f') as f, "
    "count(*) filter (where sex = 'm') as m, "
    "count(*) filter (where sex = 'f') - count(*) filter (where sex = 'm') as gap, "
    "round(count(*) filter (where sex = 'f') + count(*) filter (where sex = 'm')) as both, "
    "1.0 * count(*) filter (where sex = 'f') / count(*) filter (where sex = 'm') as ratio "
    "from people group by region"
)


def exact_margin(alpha, weights, level):
    """Return the least m that holds a combination of two-sided geometric noise at a level."""
    law = {0: 1.0}
    for weight in weights:
        terms = [(weight * z, alpha ** abs(z)) for z in range(-200, 201)]
        scale = (1 - alpha) / (1 + alpha)
        mixed = {}
        for here, p in law.items():
            for step, q in terms:
                mixed[here + step] = mixed.get(here + step, 0) + p * q * scale
        law = mixed
    return next(
        m for m in range(1000) if sum(p for z, p in law.items() if abs(z) <= m) >= level
    )


@pytest.mark.parametrize("weights", [(1, -1), (1, 1), (3, -2)])
def test_a_linear_form_has_the_margin_of_its_law(weights):
    shape = crossed("add-remove", people=60, sql=DIFFERENCE)
    assert shape.measured == ((0, 1),)  # region by sex alone, at the whole ε
    titles = shape.titles[:2]
    terms = {
        (("north",), title): Fraction(weight)
        for title, weight in zip(titles, weights, strict=True)
    }
    level = Fraction(19, 20)
    margin = shape.error_law(terms).margin(level)
    assert margin == exact_margin(math.exp(-1), weights, float(level))
    # The box of two intervals of 97.5 % is wider.
    one = shape.error_law({(("north",), titles[0]): Fraction(1)})
    own = one.margin(Fraction(39, 40))
    assert margin < own * sum(map(abs, weights))


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
def test_linear_forms_are_shown_with_the_margin_of_their_law(near, tmp_path):
    facts = parse_facts(FACTS.format(near=near, people=600))
    people = pd.DataFrame(
        {
            "region": ["north", "south"] * 300,
            "sex": ["f"] * 100 + ["m"] * 500,
            "smoker": True,
        }
    )

    def asked(**more):
        return ask(
            DIFFERENCE, data=people, facts=facts, epsilon="0.5", budget=9,
            ledger=tmp_path / "ledger.db", **more,
        )  # fmt: skip

    for _, (f, m, gap, both, ratio) in asked().rows:
        own = f.high - f.value
        assert gap.value == f.value - m.value
        assert gap.high - gap.value == gap.value - gap.low < 2 * own
        assert both.low <= both.value <= both.high
        # Of a quotient no law is known: the box is what it may be.
        assert ratio.low is not None
    # Where all intervals hold at once, so do those of what is computed from them.
    for _, (f, m, gap, *_) in asked(simultaneous=True).rows:
        assert (gap.low, gap.high) == (f.low - m.high, f.high - m.low)


def test_shapes_whose_outputs_are_held_have_no_law_of_linear_forms():
    shape = crossed(
        "add-remove",
        people=60,
        sql="select region, count(*) as n from people group by 1",
    )
    terms = {(("north",), "n"): Fraction(1), (("south",), "n"): Fraction(-1)}
    assert shape.error_law(terms) is None


def test_lines_of_several_tables_have_the_law_of_their_job():
    sql = "select region, sex, count(*) as n from people group by rollup (region, sex)"
    facts = parse_facts(FACTS.format(near="add-remove", people=60))
    (shape,) = read_shapes(sql, facts)
    shape = shape.as_asked().planned(Epsilon.of(1))
    # A total less its cells is 0 whatever is drawn: tables add up.
    terms = {
        ((1, "north", None), "n"): Fraction(1),
        ((0, "north", "f"), "n"): Fraction(-1),
        ((0, "north", "m"), "n"): Fraction(-1),
    }
    assert shape.error_law(terms).margin(Fraction(19, 20)) == 0


# -- in several tables ----------------------------------------------------------------------------

CUBE = (
    "select region, sex, count(*) as n, count(*) filter (where smoker) as s, "
    "count(smoker) as known from people group by cube (region, sex)"
)


def cube_lines(shape, rows):
    """Return the numbers of a cube without noise, by the names of its lines."""
    drawn = tuple(tuple(mine) for mine in answers(shape, rows))
    lines = estimates(shape.reading, (None,) * len(drawn), drawn, Fraction(19, 20))
    return {names: [number.value for number in line] for names, line in lines.items()}


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
def test_counts_with_conditions_in_a_cube_are_the_counts_of_sql(near):
    rows = [("north", k % 2 == 0, "fm"[k % 3 == 0]) for k in range(30)]
    rows += [("south", None, "f")] * 4 + [("elsewhere", True, "m")] * 5
    (shape,) = read_shapes(CUBE, parse_facts(FACTS.format(near=near, people=39)))
    found = cube_lines(shape.as_asked().planned(Epsilon.of(1)), rows)
    frame = pd.DataFrame(rows, columns=["region", "smoker", "sex"])
    inside = frame[frame["region"] != "elsewhere"]
    for (_, region, sex), numbers in found.items():
        own = inside[
            inside["region"].eq(region or inside["region"])
            & inside["sex"].eq(sex or inside["sex"])
        ]
        smokers = (own["smoker"] == True).sum()  # noqa: E712  missing is not true
        assert numbers == [len(own), smokers, own["smoker"].notna().sum()]
    assert [names[0] for names in found] == [0] * 4 + [1] * 2 + [2] * 2 + [3]


@pytest.mark.parametrize(("near", "paid"), [("add-remove", 1), ("either", 2)])
def test_one_person_makes_the_steps_of_a_cube_with_conditions(near, paid):
    (shape,) = read_shapes(CUBE, parse_facts(FACTS.format(near=near, people=3)))
    shape = shape.as_asked().planned(Epsilon.of(1))
    assert {draw.width for draw in shape.draws} == {paid}
    before = answers(shape, [PEOPLE[0]])
    changed = answers(shape, [PEOPLE[6]])
    assert {moved for moved, _ in steps(shape, before, changed)} == {2}
    gone = answers(shape, PEOPLE[:2])
    assert {moved for moved, _ in steps(shape, before, gone)} == {1}


def test_a_filtered_count_in_a_cube_does_not_halve_epsilon_and_adds_up(tmp_path):
    facts = parse_facts(FACTS.format(people=500, near="add-remove"))
    sql = CUBE.replace(", count(smoker) as known", "")

    def margins(sql):
        (question,) = plan([sql], epsilon=1, facts=facts, ledger="l.db").questions
        return {table.title: table.margin for table in question.published}

    both = margins(sql)
    alone = margins(sql.replace("count(*) as n, ", ""))
    smokers = [title for title in both if title.startswith("s by")]
    assert [both[title] for title in smokers] == [alone[title] for title in smokers]
    frame = pd.DataFrame({
        "region": ["north", "south"] * 100,
        "smoker": [True, False, None, True] * 50,
        "sex": list("ffmm") * 50,
    }).astype({"smoker": "boolean"})  # fmt: skip
    answer = ask(
        sql, epsilon=1, data=frame, facts=facts, ledger=tmp_path / "l.db", budget=2
    )
    assert answer.charged == 1
    numbers = {names[1:]: [x.value for x in line] for names, line in answer.rows}
    for number in (0, 1):
        cells = [v[number] for names, v in numbers.items() if None not in names]
        assert sum(cells) == numbers[None, None][number]
    read = published_numbers(answer.releases[0].receipt, ())
    assert len(read.tables) == 4
    law = answer.difference({"region": "north"}, {"region": "south"})
    assert law.value == numbers["north", None][0] - numbers["south", None][0]


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize(
    "what",
    [
        "avg(case when smoker then 1 else 0 end) as share",
        "avg(smoker::int) as share, count(*) as n",
        "count(smoker) as known, count(*) as n",
    ],
)
def test_shares_in_a_cube_are_planned_with_their_counts(near, what):
    facts = FACTS.replace('"south"] }}', '"south"], complete = true }}')
    sql = f"select region, sex, {what} from people group by rollup (region, sex)"
    (question,) = plan(
        [sql], epsilon=1, facts=parse_facts(facts.format(near=near, people=60)),
        ledger="l.db",
    ).questions  # fmt: skip
    (part,) = question.parts
    assert isinstance(part.shape, Crossed)
    for table in question.published:
        # What holds for some rows only is not public, though the number of all is.
        is_all = table.title in ("n in all", "count(*) in all")
        is_public = near == "change-one" and is_all
        assert (table.margin == 0) == is_public
        assert table.split >= table.margin


def test_shares_in_a_cube_contain_the_true_ones(tmp_path):
    rows = [
        (region, k % 3 == 0, "fm"[k % 2])
        for region in ("north", "south")
        for k in range(60)
    ]
    frame = pd.DataFrame(rows, columns=["region", "smoker", "sex"])
    facts = parse_facts(FACTS.format(people=150, near="add-remove"))
    sql = (
        "select region, avg(case when smoker then 1 else 0 end) as share "
        "from people group by rollup (region)"
    )
    held = 0
    for k in range(60):
        answer = ask(
            sql, epsilon=1, data=frame, facts=facts, ledger=tmp_path / "l.db",
            budget=99, key=f"{k}",
        )  # fmt: skip
        held += sum(one.low <= Fraction(1, 3) <= one.high for _, (one,) in answer.rows)
    assert held >= 180 * (0.95 - 3 * math.sqrt(0.05 * 0.95 / 180))
