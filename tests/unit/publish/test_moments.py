"""Variances, covariances and slopes: what one person changes, and what is computed."""

import itertools
import math
import statistics
from fractions import Fraction

import pandas as pd
import pytest

from tightrope.asking.planning import plan
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish import parse_facts
from tightrope.publish.shapes import Moments, estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_reader import read_shapes
from tightrope.publish.sql_writer import Opened, compiled
from tightrope.queries import query

FACTS = """
[tables.people]
population = {people}
neighbours = "{near}"
[tables.people.columns]
x = {{ bounds = [0, 9]{complete} }}
y = {{ bounds = [-0.5, 1.5], step = 0.5{complete} }}
sex = {{ values = ["f", "m"] }}
wide = {{ bounds = [0, 1000000] }}
name = {{ type = "text" }}
"""
ALL = (
    "select var_pop(x), var_samp(x), stddev(x), covar_pop(x, y), covar_samp(x, y), corr(x, y), "
    "regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), avg(x) from people"
)


def shapes_of(sql, near, people=3, complete=False):
    facts = FACTS.format(
        near=near, people=people, complete=", complete = true" if complete else ""
    )
    return read_shapes(sql, parse_facts(facts))


def answers(shape, rows):
    frame = pd.DataFrame(rows, columns=["x", "y", "sex"])
    frame = frame.astype({"x": "Int64", "y": "float64", "sex": "object"})
    with open_source(frame, shape.table) as source:
        sql = compiled(
            shape,
            {shape.table.name: Opened(source, check_columns(source, shape.columns))},
        )
        source.prepare(shape.columns)
        return shape.answers(source.fetch(sql))


PEOPLE = [(0, 0.0, "f"), (9, 1.5, "m"), (40, -7.0, "f"), (4, None, "f"), (9, -0.5, "x")]


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize("end", ["", " where sex = 'f'", " group by sex"])
def test_one_person_makes_the_steps_that_are_paid_for(near, end):
    sex = "sex, " if "group" in end else ""
    (shape,) = shapes_of(f"select {sex}corr(x, y) as r from people{end}", near)
    assert isinstance(shape, Moments)
    graphs = [
        query(draw.query, neighbours=draw.neighbours).graph for draw in shape.draws
    ]
    tables = {
        table: answers(shape, table)
        for size in (1, 2)
        for table in itertools.combinations_with_replacement(PEOPLE, size)
    }

    def steps(here, there):
        for graph, mine, other in zip(graphs, here, there, strict=True):
            pairs = zip(mine, other, strict=True)
            nodes = ((graph.index(a), graph.index(b)) for a, b in pairs)
            yield sum(int(graph.distance(i, j)) for i, j in nodes)

    largest = [0] * len(graphs)
    for table, here in tables.items():
        for place in range(len(table)):
            rest = table[:place] + table[place + 1 :]
            near_tables = [rest] if rest and near != "change-one" else []
            if near != "add-remove":
                near_tables += [
                    tuple(sorted((*rest, person), key=PEOPLE.index))
                    for person in PEOPLE
                ]
            for other in near_tables:
                made = list(steps(here, tables[other]))
                largest = [max(pair) for pair in zip(largest, made, strict=True)]
    paid = [draw.width for draw in shape.draws]
    assert all(made <= width for made, width in zip(largest, paid, strict=True))
    # Half of what is paid for would not do.
    assert all(2 * made > width for made, width in zip(largest, paid, strict=True))


def test_every_row_of_a_person_may_add_the_most_to_a_sum():
    def widest(rows):
        facts = parse_facts(
            '[tables.visits]\npopulation = 9\nneighbours = "add-remove"\nperson = "id"\n'
            f"contributions = {rows}\n[tables.visits.columns]\n"
            'id = { type = "integer" }\nx = { bounds = [2, 9] }\n'
        )
        (shape,) = read_shapes("select var_pop(x) from visits", facts)
        return [shape.person_values(power) for power in shape.sums]

    one = widest(1)
    # Within the bounds and around the middle, and for squares from 0 up.
    assert one
    assert all(low <= 0 < high for low, high in one)
    for rows in (2, 5):
        assert widest(rows) == [(rows * low, rows * high) for low, high in one]


def without_noise(sql, rows, near="add-remove", complete=False):
    """Return what would be published without noise."""
    shapes = shapes_of(sql, near, len(rows), complete)
    lines = {}
    titles = []
    for shape in shapes:
        drawn = tuple(map(tuple, answers(shape, rows)))
        noises = (None,) * len(drawn)
        for name, line in estimates(
            shape.reading, noises, drawn, Fraction(1, 2)
        ).items():
            lines.setdefault(name, []).extend(line)
        titles += shape.titles
    shape = shapes[0]
    told = shape.after.rows(shape.keys, titles, lambda many: lines)
    return [[number.value for number in numbers] for _, numbers in told]


@pytest.mark.parametrize(
    ("near", "complete"), [("add-remove", False), ("change-one", True)]
)
def test_numbers_without_noise_are_those_of_sql(near, complete):
    rows = [(k % 10, (k * k % 5) / 2 - 0.5, "fm"[k % 2]) for k in range(40)]
    if not complete:
        rows += [(None, 1.0, "f")] * 3
    ((*found,),) = without_noise(ALL, rows, near, complete)
    both = [(x, y) for x, y, _ in rows if x is not None]
    x, y = zip(*both, strict=True)
    slope, intercept = statistics.linear_regression(x, y)
    covariance = statistics.covariance(x, y)
    r = statistics.correlation(x, y)
    expected = [
        statistics.pvariance(x), statistics.variance(x), statistics.stdev(x),
        covariance * (len(x) - 1) / len(x), covariance, r, slope, intercept, r * r,
        statistics.fmean(x),
    ]  # fmt: skip
    assert [float(value) for value in found] == pytest.approx(expected, abs=1e-9)


def test_groups_have_their_own_variance():
    rows = [(0, 0.0, "f"), (2, 0.0, "f"), (9, 0.0, "m"), (9, 0.0, "m"), (5, 0.0, "x")]
    told = without_noise(
        "select sex, var_pop(x), avg(x) as m from people group by sex", rows
    )
    assert told == [[1, 1], [0, 9]]


def test_a_mean_beside_a_variance_is_not_drawn_again():
    (shape,) = shapes_of("select avg(x), stddev(x) from people", "add-remove")
    assert shape.titles == ("number of x", "sum of x", "sum of x²")
    assert len(shapes_of("select avg(y), stddev(x) from people", "add-remove")) == 2


def test_products_that_are_too_large_are_refused():
    with pytest.raises(InputError, match="larger step"):
        shapes_of("select var_pop(wide) from people", "add-remove")
    with pytest.raises(InputError, match="needs its bounds"):
        shapes_of("select corr(x, name) from people", "add-remove")


def test_intervals_of_variances_hold_the_truth(tmp_path):
    """Of 300 releases; the suite of coverage draws 10,000."""
    rows = [(k % 10, (k * k % 5) / 2 - 0.5, "fm"[k % 2]) for k in range(300)]
    sql = "select var_pop(x) as v, stddev(x) as s from people"
    facts = parse_facts(FACTS.format(near="add-remove", people=400, complete=""))
    made = plan([sql], epsilon=1, facts=facts, ledger=tmp_path / "ledger.db")
    ((part,),) = (question.parts for question in made.questions)
    shape = part.shape
    truth = statistics.pvariance([x for x, *_ in rows])
    exact = answers(shape, rows)
    held = 0
    widths = []
    for _ in range(300):
        drawn = tuple(
            tuple(noise.draw(answer) for answer in mine)
            for noise, mine in zip(part.noises, exact, strict=True)
        )

        def numbers(many, drawn=drawn):
            level = 1 - Fraction(1, 20 * many)
            return estimates(shape.reading, part.noises, drawn, level)

        ((_, (variance, deviation)),) = shape.after.rows((), shape.titles, numbers)
        held += variance.low <= truth <= variance.high
        widths.append(variance.high - variance.low)
        assert deviation.low <= math.sqrt(variance.high) + 1e-9
    # With 95 % or more, fewer than 270 of 300 have a probability below 10⁻⁴.
    assert held >= 270
    assert statistics.median(widths) < truth


def test_the_level_of_each_draw_adds_up():
    (shape,) = shapes_of("select corr(x, y) from people", "add-remove")
    assert sum(shape.draw_shares) == 1
    assert len(shape.draw_shares) == len(shape.draws) == 6
    assert shape.planned(Epsilon.of(1)) is shape
