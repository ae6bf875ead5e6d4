"""Distinct people by group: what one person can do, over all neighbouring small tables."""

from dataclasses import replace
from itertools import chain, combinations, product

import numpy as np
import pytest

from tightrope.asking import plan
from tightrope.certify import certify
from tightrope.channels import Channel
from tightrope.publish import parse_facts
from tightrope.publish.noise import noise_of
from tightrope.publish.shapes import Count, PeopleByGroup
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query

SQL = "select place, count(distinct id) as n from visits group by place"
GROUPS = ("a", "b", "c")


def facts_of(near, rows, groups=GROUPS, people=3):
    values = ", ".join(f'"{name}"' for name in groups)
    return parse_facts(
        f'[tables.visits]\npopulation = {people}\nneighbours = "{near}"\nperson = "id"\n'
        f'contributions = {rows}\nbudget = "9"\nsource = "visits.csv"\n[tables.visits.columns]\n'
        f'id = {{ type = "integer" }}\nplace = {{ values = [{values}] }}\n'
    )


def moves(shape, near):
    """Return the largest distance of two answers that one of two people can lead to."""
    draw = shape.draws[0]
    graph = query(draw.query, neighbours=draw.neighbours).graph
    every = range(len(GROUPS) + 1)
    sets = list(chain(*(combinations(range(3), many) for many in every)))
    largest = 0
    for other, one, changed in product(sets, repeat=3):
        stays = bool(one) == bool(changed)
        if near != "either" and stays != (near == "change-one"):
            continue
        answers = []
        for mine in (one, changed):
            sizes = [(k, (k in other) + (k in mine)) for k in range(3)]
            rows = [(place, size) for place, size in sizes if size]
            answers.append(graph.index(shape.answer(rows)))
        largest = max(largest, int(graph.distance(*answers)))
    return largest


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
def test_one_person_is_one_step_of_all_counts(near):
    (shape,) = read_shape(SQL, facts_of(near, 8)).ways()
    assert isinstance(shape, PeopleByGroup)
    assert (shape.question, shape.draws[0].width) == ("counts(3,3)", 1)
    assert moves(shape, near) == 1


@pytest.mark.parametrize(
    ("near", "rows", "most"),
    [
        ("add-remove", 2, 2),
        ("change-one", 1, 2),
        ("change-one", 2, 3),
        ("either", 1, 2),
    ],
)
def test_the_sensitivity_is_what_one_person_moves_all_counts_by(near, rows, most):
    """The usual noise is named with it."""
    (shape,) = read_shape(SQL, facts_of(near, 8)).ways()
    table = replace(shape.table, contributions=rows)
    assert replace(shape, table=table).sensitivity == most


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
def test_a_histogram_with_one_step_would_not_do(near):
    """The negative twin: who is in three groups moves a table of groups by three steps."""
    table = replace(facts_of(near, 1).table("visits"), population=9)
    shape = read_shape(SQL, facts_of(near, 1))
    assert moves(replace(shape, table=table), near) >= 2


@pytest.mark.parametrize(
    ("near", "groups", "rows", "margin"),
    [
        ("change-one", 4, 8, 6),
        ("add-remove", 4, 8, 5),
        ("add-remove", 10, 5, 10),
        ("change-one", 10, 5, 12),
        ("add-remove", 20, 10, 18),
        ("add-remove", 20, 2, 6),
        ("add-remove", 4, 1, 3),
    ],
)
def test_the_way_with_the_least_error_is_taken(
    near, groups, rows, margin, tmp_path, monkeypatch
):
    """Steps have ± 37, 24, 15, 27, 30, 6 and 3 in this order."""
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    known = facts_of(near, rows, [f"g{k}" for k in range(groups)], 1000)
    made = plan([SQL], epsilon=1, facts=known, ledger=tmp_path / "ledger.db")
    (part,) = made.questions[0].parts
    assert max(part.errors) == margin
    assert isinstance(part.shape, PeopleByGroup) == (groups <= 3 * rows)


def test_a_given_mechanism_decides_the_way():
    shape = read_shape(SQL, facts_of("change-one", 2))
    assert [way.question for way in shape.ways()] == ["counts(3,3)", "histogram(6,3)"]
    for text, near, kind in (
        ("counts(3,3)", "change-one", PeopleByGroup),
        ("histogram(6,3)", "either", Count),
    ):
        asked = query(text, near)
        flat = Channel(np.full((asked.graph.size,) * 2, 1 / asked.graph.size))
        noise = noise_of(certify(flat, asked, 1))
        assert type(shape.drawn_by(noise)) is kind
