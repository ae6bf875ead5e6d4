"""The intervals of what is computed from published numbers contain the truth, as DuckDB has it."""

import os
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.data.conftest import least_held

from tightrope.asking.planning import plan
from tightrope.publish import parse_facts
from tightrope.publish.sampler import CellSampler, LatticeSampler, Sampler
from tightrope.publish.shapes import estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_writer import Opened, compiled

#: How many releases; CI draws 400, and TIGHTROPE_RELEASES=10000 as many as the other intervals.
RELEASES = int(os.environ.get("TIGHTROPE_RELEASES", "400"))

FACTS = """
[tables.people]
population = 300
neighbours = "{near}"
budget = "1"
[tables.people.columns]
age = {{ bounds = [20, 60], complete = true }}
debt = {{ bounds = [-5, 5] }}
sex = {{ values = ["f", "m"], complete = true }}
region = {{ values = ["north", "south", "west"] }}
employed = {{ values = [0, 1] }}
"""
ROWS = pd.DataFrame(
    {
        "age": [20 + 7 * i % 41 for i in range(300)],
        "debt": [None if i % 11 == 0 else i % 11 - 5 for i in range(300)],
        "sex": ["f" if i % 3 else "m" for i in range(300)],
        # A large and a small class, and one without rows.
        "region": ["north" if i % 50 else "south" for i in range(300)],
        "employed": [int(i % 7 < 3) for i in range(300)],
    }
)
QUESTIONS = {
    "ratio": "select 100.0 * count(*) filter (where sex = 'f') / count(*) as share, "
    "sum(age) / nullif(count(debt), 0) as ratio from people",
    "difference": "select count(*) filter (where sex = 'f') - count(*) filter (where sex = 'm') "
    "as gap, abs(avg(debt) - avg(age)) as far from people",
    "shares": "select region, count(*) * 1.0 / sum(count(*)) over () as share, "
    "1.0 * count(*) filter (where sex = 'f') / count(*) as women from people group by region",
    "means of 0 and 1": "select region, avg(employed) as rate from people group by region",
    # Of several counts by group the law of a linear form is known, and no box is needed.
    "differences": "select region, count(*) filter (where sex = 'f') - count(*) filter (where "
    "sex = 'm') as gap, round(2.5 * count(*) filter (where sex = 'f') + count(*)) as mixed, "
    "count(*) - 0.5 * sum(count(*)) over () as above from people group by region",
    "variance": "select var_pop(age) as v, stddev(age) as s, avg(age) as m from people",
    "windows": "select sex, count(*) - lag(count(*)) over (order by sex) as step, "
    "sum(count(*)) over (order by sex) as upto, "
    "case when count(*) > 100 then 2 * count(*) - 10 else 0 end as often "
    "from people group by sex",
    "slope": "select regr_slope(debt, age) as b, covar_pop(debt, age) as c from people",
}


def drawn_often(noise, answers, freely):
    """Return the outputs of many releases of one draw, one list for each."""
    if freely and isinstance(answers[0], tuple):
        return LatticeSampler(noise.file, answers[0]).draw_points(RELEASES).tolist()
    if freely:
        cells = np.tile(np.array(answers, np.int64), RELEASES)
        drawn = CellSampler(noise.file).draw_cells(cells)
        return drawn.reshape(RELEASES, -1).tolist()
    columns = []
    for answer in answers:
        file = noise.file
        is_lattice = file.noise is not None
        sampler = (
            LatticeSampler(file, answer)
            if is_lattice
            else Sampler(file, file.input_index(answer))
        )
        columns.append(list(sampler.draws(RELEASES)))
    return [list(outputs) for outputs in zip(*columns, strict=True)]


def true_answers(shape):
    with open_source(ROWS, shape.table) as source:
        opened = Opened(source, check_columns(source, shape.columns))
        sql = compiled(shape, {shape.table.name: opened})
        source.prepare(shape.columns)
        return shape.answers(source.fetch(sql))


def truth_of(sql, keys):
    """Return what SQL says of the rows themselves, by the names of the groups."""
    people = ROWS  # found by its name  # noqa: F841
    lines = duckdb.sql(sql).fetchall()
    return {line[:keys]: line[keys:] for line in lines}


@pytest.mark.parametrize("near", ["change-one", "add-remove"])
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_computed_intervals_hold_the_truth(sql, near, tmp_path):
    facts = parse_facts(FACTS.format(near=near))
    made = plan([sql], epsilon=1, data=ROWS, facts=facts, ledger=tmp_path / "ledger.db")
    (question,) = made.questions
    (view,) = question.views
    after = view.shape.after
    outputs = []
    for part in question.parts:
        exact = true_answers(part.shape)
        draws = [
            drawn_often(noise, answers, part.shape.draws_freely)
            for noise, answers in zip(part.noises, exact, strict=True)
        ]
        outputs.append(list(zip(*draws, strict=True)))
    truth = truth_of(sql, len(view.shape.keys))
    held = {
        (name, place): 0
        for name, line in truth.items()
        for place, true in enumerate(line)
        if true is not None
    }
    for release in range(RELEASES):

        def numbers(many, release=release):
            level = 1 - Fraction(1, 20 * many)
            lines = {}
            for part, drawn in zip(question.parts, outputs, strict=True):
                answer = tuple(tuple(mine) for mine in drawn[release])
                if not part.shape.draws_freely and len(answer) == len(answer[0]) == 1:
                    answer = answer[0][0]
                told = estimates(part.shape.reading, part.noises, answer, level)
                for name, found in told.items():
                    lines.setdefault(name, {}).update(
                        zip(part.shape.titles, found, strict=True)
                    )
            return {
                name: tuple(known.get(title) for title in view.titles)
                for name, known in lines.items()
                if len(known) == len(view.titles)
            }

        def margin_of(terms):
            law = question.error_law(terms)
            return None if law is None else law.margin(Fraction(19, 20))

        shown = after.rows(view.shape.keys, view.titles, numbers, margin_of=margin_of)
        for name, line in shown:
            for place, number in enumerate(line):
                true = truth.get(name, (None,) * len(line))[place]
                if true is None:
                    continue
                # What is NULL on published numbers, or has no interval, claims nothing.
                inside = number.low is None or (
                    float(number.low) - 1e-9 <= true <= float(number.high) + 1e-9
                )
                held[name, place] += inside
    assert min(held.values()) >= least_held(RELEASES), held
