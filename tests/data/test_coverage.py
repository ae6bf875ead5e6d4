"""The published intervals hold the truth: 10,000 releases of every shape, drawn and counted."""

import functools
import itertools
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from scipy.stats import binom
from tests.data.conftest import least_held

from tightrope.asking.planning import plan
from tightrope.certify import Bracket
from tightrope.publish import parse_facts
from tightrope.publish.sampler import (
    BracketSampler,
    LatticeSampler,
    Sampler,
    ScoreSampler,
)
from tightrope.publish.shapes import Count, Counts, Mean, Mode, Quantile, Sum, estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_writer import Opened, compiled

RELEASES = 10_000

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
height = {{ bounds = [1.2, 2.2], step = 0.05 }}
"""
ROWS = pd.DataFrame(
    {
        "age": [20 + 7 * i % 41 for i in range(300)],
        "height": [1.2 + 13 * i % 100 / 100 for i in range(300)],
        "debt": [None if i % 11 == 0 else i % 11 - 5 for i in range(300)],
        "sex": ["f" if i % 3 else "m" for i in range(300)],
        # A large, a small and an empty class: noise is held at the ends.
        "region": ["north" if i % 50 else "south" for i in range(300)],
    }
)
QUESTIONS = [
    "select count(*) from people where age > 30",
    "select count(*) from people where age > 59",
    "select count(*) filter (where age > 30), count(*) filter (where sex = 'f') from people",
    "select region, sex, count(*) from people group by region, sex",
    "select floor(age / 10) * 10 as decade, count(*) from people group by decade",
    "select sum(age) from people",
    "select sum(debt) from people where sex = 'm'",
    "select avg(age) from people",
    "select avg(debt) from people",
    "select sex, sum(debt) from people group by sex",
    "select region, avg(age) from people group by region",
    "select sex, avg(debt) from people group by sex",
    "select sum(debt), avg(debt), count(debt) from people",
    "select sum(height), avg(height) from people where sex = 'f'",
    "select median(height) from people",
    "select region, avg(age), count(*), sum(age) from people group by region",
    "select median(age) from people",
    "select max(debt) from people where sex = 'm'",
    "select sex, quantile(age, 0.9) from people group by sex",
    "select region from people group by region order by count(*) desc limit 1",
]


def drawer(mechanism, answer, shape):
    """Return a function that draws one output for a true answer."""
    if isinstance(mechanism.file, Bracket):
        triples = BracketSampler(mechanism.file, answer)
        return lambda: shape.output(triples.draw())
    if mechanism.sees_counts:
        low = shape.output(0)
        sampler = ScoreSampler(mechanism.file, answer)
        return lambda: low + sampler.draw_index()
    mechanism = mechanism.file
    if mechanism.noise is not None:
        draws = LatticeSampler(mechanism, answer).draws(RELEASES)
        return functools.partial(next, iter(draws))
    outputs = iter(Sampler(mechanism, mechanism.input_index(answer)).draws(RELEASES))
    return functools.partial(next, outputs)


def fetched(shape):
    with open_source(ROWS, shape.table) as source:
        sql = compiled(
            shape,
            {shape.table.name: Opened(source, check_columns(source, shape.columns))},
        )
        source.prepare(shape.columns)
        return source.fetch(sql)


def true_answers(shape):
    return shape.answers(fetched(shape))


def true_pair_numbers(shape):
    """Return the means, sums and counts themselves: a drawn pair has a rounded sum."""
    told = []
    for total, n, _ in shape.cell_numbers(fetched(shape)):
        mean = Fraction(total, n) if n else None
        known = {Sum.kind: total * shape.step, Mean.kind: mean and mean * shape.step}
        told += [known.get(kind, n) for kind in shape.shows]
    return told


def true_numbers(shape, answers):
    """Return what is published without noise; nothing for the mean of nobody."""
    if isinstance(shape, Mean) and shape.is_pair:
        return true_pair_numbers(shape)
    if shape.step != 1:
        whole = replace(shape, column=replace(shape.column, step=Fraction(1)))
        return [x * shape.step for x in true_numbers(whole, answers)]
    first = answers[0]
    if isinstance(shape, Count | Counts):
        return list(first[0]) if isinstance(first[0], tuple) else first
    if isinstance(shape, Quantile):
        return [quantile(shape, counts) for counts in first]
    sums = [x + shape.draws[0].offset for x in first]
    if shape.kind == Sum.kind:
        return sums
    if not shape.is_divided:
        return [Fraction(x, shape.table.population) for x in sums]
    counts = answers[1][0] if shape.axes else answers[1]
    missing = (
        shape.missing * (shape.table.population - counts[0]) if shape.is_fixed else 0
    )
    told = []
    for place, n in enumerate(counts):
        if place < len(sums):
            total = sums[place] + shape.centre * n + missing
            mean = shape.centre + Fraction(sums[place], n) if n else None
            told.append({Sum.kind: total, Mean.kind: mean})
        elif Count.kind in shape.shows:
            told.append({Sum.kind: None, Mean.kind: None})
    return [
        one.get(k, n) for one, n in zip(told, counts, strict=False) for k in shape.shows
    ]


def quantile(shape, counts):
    """Return the quantile of the rows."""
    (rank,) = shape.ranks
    reached = [x >= rank * sum(counts) for x in itertools.accumulate(counts)]
    return shape.bounds[0] + reached.index(True)


def test_intervals_of_92_percent_would_be_noticed():
    assert binom.sf(least_held(RELEASES) - 1, RELEASES, 0.92) < 1e-6


@pytest.mark.parametrize("near", ["change-one", "add-remove"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_intervals_hold_the_truth(sql, near, tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    facts = parse_facts(FACTS.format(near=near))
    made = plan([sql], epsilon=1, data=ROWS, facts=facts, ledger=tmp_path / "ledger.db")
    ((part,),) = (question.parts for question in made.questions)
    shape, mechanisms = part.shape, part.noises
    answers = true_answers(shape)
    draw = [
        [drawer(mechanism, answer, shape) for answer in mine]
        for mechanism, mine in zip(mechanisms, answers, strict=True)
    ]

    def published(outputs):
        one = len(outputs) == len(outputs[0]) == 1
        answer = outputs[0][0] if one else outputs
        return estimates(shape.reading, mechanisms, answer, made.confidence)

    if isinstance(shape, Mode):
        gap, (counts,), (one,) = (
            mechanisms[0].file.promised_gap(Fraction(19, 20)),
            answers[0],
            draw[0],
        )
        held = sum(max(counts) - counts[one()] <= gap for _ in range(RELEASES))
        assert held >= least_held(RELEASES)
        return
    truth = true_numbers(shape, answers)
    held = [0] * len(truth)
    for _ in range(RELEASES):
        outputs = tuple(tuple(one() for one in mine) for mine in draw)
        told = itertools.chain(*published(outputs).values())
        for place, one in enumerate(told):
            held[place] += truth[place] is None or one.low <= truth[place] <= one.high
    assert min(held) >= least_held(RELEASES), (truth, held)
