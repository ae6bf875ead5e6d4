"""Running counts: what a person moves, the band of all lines at once, and which blocks it has."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow
import pytest

import tightrope as tr
from tightrope.asking.answers import told_costs
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish import Ledger, parse_facts
from tightrope.publish.axes import Axis
from tightrope.publish.facts import Table
from tightrope.publish.shapes import RunningCount
from tightrope.publish.shapes.running import band, in_order, running_sums
from tightrope.queries import Neighbours

LEVEL = Fraction(19, 20)
FACTS = """
[tables.people]
population = 300
neighbours = "add-remove"
budget = "99"
[tables.people.columns]
age = { type = "integer", bounds = [0, 29] }
wide = { type = "integer", bounds = [0, 999] }
sex = { values = ["m", "f"] }
"""
RUNNING = "select age, sum(count(*)) over (order by age) as n from people group by age"


def shape_of(cells, near="add-remove", rows=1, **more):
    person = {"person": "id", "contributions": rows} if rows > 1 else {}
    table = Table("people", 4, Neighbours.of(near), **person)
    axis = Axis("age", tuple(range(cells)), ())
    return RunningCount(table, axes=(axis,), titles=("n",), **more)


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("block", [0, 2])
def test_a_person_makes_as_many_steps_as_are_paid_for(near, rows, block):
    """All tables of two people with so many rows in five cells, and all of their neighbours."""
    shape = shape_of(5, near, rows, block=block)
    own = [
        places
        for many in range(rows + 1)
        for places in combinations_with_replacement(range(5), many)
    ]
    largest = [0] * len(shape.draws)
    for other, one, changed in product(own, repeat=3):
        if bool(one and changed) != shape.table.neighbours.allows_change:
            continue
        before, after = (
            shape.answers([(k, x.count(k)) for k in range(5)])
            for x in (other + one, other + changed)
        )
        for place, (first, second) in enumerate(zip(before, after, strict=True)):
            moved = sum(abs(x - y) for x, y in zip(first, second, strict=True))
            largest[place] = max(largest[place], moved)
    # No less: a width that is one smaller would not be paid for.
    assert largest == [draw.width for draw in shape.draws]
    assert sum(shape.draw_shares) == 1


def errors_of(cells, block, rates, times):
    """Return the largest error of a line in each of many draws."""
    chance = np.random.default_rng(37)

    def noise(many, rate):
        stop = 1 - np.exp(-rate)
        up = chance.geometric(stop, (times, many))
        return up - chance.geometric(stop, (times, many))

    own = noise(cells, rates[0])
    blocks = noise(-(-cells // block), rates[1]) if block else None
    largest = []
    for place in range(times):
        totals = [] if blocks is None else blocks[place].tolist()
        numbers = running_sums(own[place].tolist(), totals, block)
        largest.append(max(map(abs, numbers)))
    return largest


@pytest.mark.parametrize(
    ("cells", "block", "rates"), [(1, 0, (1,)), (40, 0, (1,)), (200, 16, (0.5, 0.5))]
)
def test_all_lines_are_within_the_band_at_once(cells, block, rates):
    """With noise of the stated law in every cell; of a third of the ε it is not kept."""
    width = band(rates, cells, block, LEVEL)
    times = 600
    held = np.mean([x <= width for x in errors_of(cells, block, rates, times)])
    slack = 6 * (0.05 * 0.95 / times) ** 0.5
    assert held > 0.95 - slack
    less = tuple(rate / 3 for rate in rates)
    wrong = np.mean([x <= width for x in errors_of(cells, block, less, times)])
    assert wrong < 0.95 - slack


def test_rising_numbers_are_as_near_as_the_drawn_ones():
    chance = np.random.default_rng(2)
    for _ in range(50):
        true = np.cumsum(chance.integers(0, 4, 12))
        drawn = true + chance.integers(-5, 6, 12)
        rising = np.array(in_order(drawn.tolist()))
        assert (np.diff(rising) >= 0).all()
        assert abs(rising - true).max() <= abs(drawn - true).max()


@pytest.mark.parametrize(("cells", "block"), [(2, 0), (73, 0), (400, 32), (1000, 64)])
def test_many_cells_have_blocks(cells, block):
    level = Epsilon.of(1)
    shape = shape_of(cells)
    planned = shape.planned(level, LEVEL)
    assert planned.block == block
    flat = band((1.0,), cells, 0, LEVEL)
    rates = tuple(float(share) for share in planned.draw_shares)
    width = band(rates, cells, block, LEVEL)
    assert width < flat if block else width == flat


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    rows = {
        "age": [k % 20 for k in range(200)],
        "wide": [k * 4 for k in range(200)],
        "sex": ["m", "f"] * 100,
    }
    return {
        "data": pyarrow.table(rows),
        "facts": parse_facts(FACTS),
        "ledger": Ledger.create(tmp_path / "ledger.db"),
        "epsilon": 20,
    }


@pytest.mark.parametrize("titles", [("n", "upto"), ("upto", "n")])
def test_columns_stay_in_the_order_of_the_question(given, titles):
    asked = {"n": "count(*)", "upto": "sum(count(*)) over (order by age)"}
    columns = ", ".join(f"{asked[title]} as {title}" for title in titles)
    answer = tr.ask(f"select age, {columns} from people group by age", **given)
    assert answer.titles == titles
    (_, first), *_, (_, last) = answer.rows
    place = titles.index("upto")
    assert first[place].value == first[1 - place].value
    assert last[place].value > last[1 - place].value


def test_a_distribution_function_is_asked_for(given):
    shares = (
        "select age, count(*) as n, sum(count(*)) over (order by age) as upto, "
        "sum(count(*)) over (order by age) * 1.0 / sum(count(*)) over () as share "
        "from people group by age"
    )
    answer = tr.ask(shares, **given)
    assert answer.titles == ("n", "upto", "share")
    # One draw of 20 cells for all three.
    assert len(answer.releases) == 1
    for (age,), (count, upto, share) in answer.rows:
        below = min(10 * (age + 1), 200)
        assert count.low <= 10 * (age < 20) <= count.high
        assert upto.low <= below <= upto.high
        assert share.low <= Fraction(below, 200) <= share.high
        assert abs(share.value - below / 200) < 0.05
    assert told_costs([answer])["intervals"] == "95 % each; upto for all lines at once"
    assert not answer.certified
    assert any("sums of such counts" in note for note in answer.notes)
    # A line of the picture for each line of the answer; a curve is flat.
    points = answer.plot(answer.titles[0])
    assert points.get_figheight() == pytest.approx(0.32 * len(answer.rows) + 0.8)
    (axes, *_) = answer.plot("upto").axes
    assert len(axes.lines) == len(axes.collections) == 1
    # The band goes from the lower ends to the upper ones.
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    bands = [upto for _, (_, upto, _) in answer.rows]
    assert heights.min() == min(float(upto.low) for upto in bands)
    assert heights.max() == max(float(upto.high) for upto in bands)
    assert set(heights) == {float(x) for upto in bands for x in (upto.low, upto.high)}
    assert given["ledger"].account("table people").spent == 20


def test_blocks_are_drawn_and_read(given):
    wide = RUNNING.replace("age", "wide")
    given |= {"epsilon": 1, "confidence": "0.999999999"}
    answer = tr.ask(f"{wide} order by wide", **given)
    assert answer.releases[0].receipt["reading"]["block"] == 64
    assert told_costs([answer])["intervals"].endswith(" % for all lines at once")
    values = [number.value for _, (number,) in answer.rows]
    assert values == sorted(values)
    for (wide,), (number,) in answer.rows:
        assert number.low <= min(wide // 4 + 1, 200) <= number.high


@pytest.mark.parametrize(
    "sql",
    [
        RUNNING.replace("order by age", "order by age desc"),
        RUNNING.replace("order by age", "order by count(*)"),
        RUNNING.replace("sum(count", "max(count"),
        RUNNING.replace("age", "sex"),
        RUNNING.replace("(order", "(partition by age order"),
        "select age, sum(age) over (order by age) as n from people group by age",
        "select age, sex, sum(count(*)) over (order by age) as n from people group by age, sex",
    ],
)
def test_other_orders_are_refused(given, sql):
    with pytest.raises(InputError, match="windows are over groups"):
        tr.ask(sql, **given)
