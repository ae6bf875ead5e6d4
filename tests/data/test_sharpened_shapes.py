"""Every shape of a frozen table: it sharpens at its stated price, or is refused before a charge."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.data.conftest import least_held

from tightrope.asking import ask
from tightrope.asking.planning import plan
from tightrope.certify import verify
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish import Ledger, parse_facts
from tightrope.publish.shapes import SHAPES, Mean, estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_writer import Opened, compiled

FACTS = """
[tables.people]
population = 120
neighbours = "{near}"
budget = "10"
delta = "1e-5"
frozen = true
[tables.people.columns]
age = {{ bounds = [0, 3], complete = true }}
debt = {{ bounds = [-2, 2] }}
sex = {{ values = ["f", "m"], complete = true }}
region = {{ values = ["north", "south", "west"] }}
town = {{ type = "text" }}
"""
ROWS = pd.DataFrame(
    {
        "age": [7 * i % 4 for i in range(120)],
        "debt": [None if i % 11 == 0 else i % 5 - 2 for i in range(120)],
        "sex": ["f" if i % 3 else "m" for i in range(120)],
        # A large and an empty class, and people in none.
        "region": ["north" if i % 20 else "east" for i in range(120)],
        "town": [f"t{i % 2}" for i in range(120)],
    }
)
SHARPENED = {
    "count": "select count(*) as n from people where age > 1",
    "two counts": "select count(*) as n, count(*) filter (where sex = 'f') as f from people",
    "sum": "select sum(age) as s from people",
    "sum of some": "select sum(debt) as s from people where sex = 'f'",
    "mean": "select avg(debt) as m from people",
    "sums": "select sex, sum(debt) as s from people group by sex",
    "means": "select region, avg(debt) as m, count(debt) as n, sum(debt) as s from people "
    "group by region",
    "table": "select region, count(*) as n from people group by region",
    "cube": "select sex, region, count(*) as n from people group by cube (sex, region)",
    "crossed": "select sex, count(*) as n, count(*) filter (where age > 1) as k from people "
    "group by sex",
}
REFUSED = {
    "quantile": "select median(age) as m from people",
    "quantiles": "select sex, median(age) as m from people group by sex",
    "most": "select region from people group by region order by count(*) desc limit 1",
    "distinct": "select count(distinct region) as n from people",
    "variance": "select variance(debt) as v from people",
    "variances": "select sex, stddev(debt) as v from people group by sex",
    "cube of sums": "select sex, region, sum(debt) as s from people group by cube (sex, region)",
    "modulo": "select count(*) % 7 as n from people where age > 1",
    "running": "select age, sum(count(*)) over (order by age) as n from people group by age",
    "found": "select town, count(*) as n from people group by town",
    "found means": "select town, avg(debt) as m from people group by town",
}
RELATIONS = ["change-one", "add-remove", "either"]
LEVELS = ["0.5", "1", "2"]
CHAINS = 10_000


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))


def chain_of(sql, near, folder, levels=LEVELS):
    facts = parse_facts(FACTS.format(near=near))
    more = {"delta": "1e-6"} if "town" in sql else {}
    return plan(
        [sql],
        levels=levels,
        data=ROWS,
        facts=facts,
        ledger=folder / "ledger.db",
        key="k",
        **more,
    )


def price(part) -> Fraction:
    """What all steps of one person cost, by the files alone."""
    steps = zip(part.shape.draws, part.noises, strict=True)
    return sum(draw.width * Fraction(str(noise.epsilon)) for draw, noise in steps)


@pytest.mark.parametrize("near", RELATIONS)
@pytest.mark.parametrize("name", SHARPENED)
def test_a_sharpened_shape_costs_its_level_by_its_files(name, near, tmp_path):
    """Every file is verified, follows the file before it, and all steps cost the level."""
    made = chain_of(SHARPENED[name], near, tmp_path)
    assert [str(question.epsilon) for question in made.questions] == LEVELS
    for before, question in itertools.pairwise(made.questions):
        total = Fraction(0)
        for coarse, fine in zip(before.parts, question.parts, strict=True):
            assert coarse.shape.draws == fine.shape.draws
            for first, second in zip(coarse.noises, fine.noises, strict=True):
                verdict = verify(second.file)
                assert verdict.private
                assert second.file.kind == "sharpened"
                # Where the coarse one is the first, its weights are those of its own file.
                assert second.earlier is first
                assert largest_ratio(second) <= Epsilon.of(second.epsilon).ratio
            total += price(fine)
        assert total == Fraction(str(question.epsilon))


def largest_ratio(noise) -> Fraction:
    """The largest ratio of the pair's weights between answers one apart, listed near both."""
    step = noise.file.noise
    reach = 6

    def weight(x, first, second):
        coupled = step.levels[abs(x - second)] * step.kernel[abs(first - second)]
        return coupled + (step.rest[abs(x - first)] if first == second else 0)

    pairs = itertools.product(range(-reach, reach + 1), repeat=2)
    ratios = []
    for first, second in pairs:
        for x in range(-reach, reach):
            here = weight(x, first, second)
            there = weight(x + 1, first, second)
            ratios += [Fraction(here, there), Fraction(there, here)]
    return max(ratios)


@pytest.mark.parametrize("near", ["change-one", "add-remove"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_sharpen_is_refused_before_a_charge(name, near, tmp_path):
    with pytest.raises(InputError, match="does not derive from finer noise") as refused:
        chain_of(REFUSED[name], near, tmp_path)
    assert "with a new key the answer costs the ordinary ε = 2" in str(refused.value)
    assert not (tmp_path / "ledger.db").exists()


def test_every_shape_is_sharpened_or_refused():
    """Nobody adds a shape without deciding which of the two it is."""
    facts = parse_facts(FACTS.format(near="change-one"))
    kinds = set()
    for sql in (*SHARPENED.values(), *REFUSED.values()):
        more = {"delta": "1e-6"} if "town" in sql else {}
        made = plan([sql], epsilon=1, data=ROWS, facts=facts, **more)
        kinds |= {
            part.shape.kind for question in made.questions for part in question.parts
        }
    # Counts of a table that is not frozen; people with rows of their own; graphs of one's own.
    elsewhere = {"counts", "people by group", "declared"}
    assert kinds | elsewhere >= set(SHAPES)


def fetched(shape):
    with open_source(ROWS, shape.table) as source:
        columns = check_columns(source, shape.columns)
        sql = compiled(shape, {shape.table.name: Opened(source, columns)})
        source.prepare(shape.columns)
        return source.fetch(sql)


def true_means(shape, rows):
    """Return the means, counts and sums themselves, of each group that has any."""
    lines = {}
    for name, (total, present, _) in zip(
        shape.cells, shape.cell_numbers(rows), strict=True
    ):
        mean = Fraction(total, present) if present else None
        known = {"mean": mean, "count": present, "sum": total}
        lines[name] = [known[kind] for kind in shape.shows]
    return lines


@pytest.mark.parametrize("near", ["change-one", "add-remove"])
def test_intervals_of_sharpened_means_by_group_hold(near, tmp_path):
    """At every level of 10,000 chains, for every group and number, by a one-sided bound."""
    made = chain_of(SHARPENED["means"], near, tmp_path, ["1", "2"])
    parts = [question.parts[0] for question in made.questions]
    shape = parts[0].shape
    assert isinstance(shape, Mean)
    rows = fetched(shape)
    truth = true_means(shape, rows)
    answers = shape.answers(rows)
    published = [[[] for _ in range(CHAINS * len(mine))] for mine in answers]
    for part in parts:
        drawn = []
        for noise, mine, before in zip(part.noises, answers, published, strict=True):
            law = noise.after(before) if noise.needs_earlier else noise
            outputs = law.draw_cells(list(mine) * CHAINS)
            for numbers, output in zip(before, outputs, strict=True):
                numbers.append(output)
            drawn.append(np.reshape(outputs, (CHAINS, len(mine))).tolist())
        held = dict.fromkeys(truth, 0)
        for answer in zip(*drawn, strict=True):
            told = estimates(
                shape.reading, part.noises, tuple(map(tuple, answer)), made.confidence
            )
            for name, numbers in told.items():
                inside = [
                    value is None or number.low <= value <= number.high
                    for number, value in zip(numbers, truth[name], strict=True)
                ]
                held[name] = np.add(held[name], inside)
        assert set(told) == set(truth)
        assert min(map(min, held.values())) >= least_held(CHAINS), held


def test_found_groups_are_paid_once_and_not_sharpened(tmp_path):
    """A larger ε under the key of an answer is refused with the ordinary price; nothing is paid."""
    facts = parse_facts(FACTS.format(near="change-one"))
    where = {"data": ROWS, "facts": facts, "ledger": tmp_path / "ledger.db", "key": "k"}
    ask(REFUSED["found"], epsilon=1, delta="1e-6", **where)
    with pytest.raises(InputError, match=r"ordinary ε = 2"):
        ask(REFUSED["found"], epsilon=2, delta="1e-6", **where)
    assert Ledger(tmp_path / "ledger.db").remaining("table people") == 9
