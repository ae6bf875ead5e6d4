"""Nested columns: declared in the facts, read row by row, published as a roll-up."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

import tightrope as tr
from tightrope.asking.planning import ask_all, plan as plan_questions
from tightrope.epsilon import Epsilon
from tightrope.publish.facts import (
    Column,
    Facts,
    Table,
    declared_columns,
    fact_checks,
    facts_text,
    parse_facts,
)
from tightrope.publish.scopes import scope_of
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Tables
from tightrope.publish.sources import open_source
from tightrope.publish.sql_reader import read_shape, read_shapes
from tightrope.tables import Domain, Job, error_law, plan

FACTS = """
[tables.people]
population = 40
neighbours = "{near}"
budget = "10"

[tables.people.columns]
town = {{ within = "county", values = {{ Ash = [1, 2], Birch = [3], Cedar = [4] }}{more} }}
county = {{ within = "region", values = {{ south = ["Cedar"], north = ["Ash", "Birch"] }}{more} }}
region = {{ values = ["north", "south"]{more} }}
sex = {{ values = ["f", "m"]{more} }}
"""
ROLLUP = (
    "select region, county, count(*) as n from people group by rollup (region, county)"
)


def nested_facts(near: str = "add-remove", *, complete: bool = False) -> Facts:
    return parse_facts(
        FACTS.format(near=near, more=", complete = true" if complete else "")
    )


def test_the_facts_say_what_lies_in_what_in_any_order() -> None:
    columns = nested_facts().table("people").columns
    town = columns["town"]
    assert (town.values, town.parents) == ((1, 2, 3, 4), (1, 1, 2, 0))
    assert town.within == columns["county"]
    assert columns["county"].within == columns["region"]
    assert columns["county"].values == ("Cedar", "Ash", "Birch")
    assert columns["county"].parents == (1, 0, 0)


def test_written_facts_are_read_back() -> None:
    table = nested_facts().table("people")
    assert parse_facts(facts_text(table)).table("people").columns == table.columns


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ('b = { within = "a", values = { x = [1] } }', "b.within must name a declared"),
        (
            'a = { bounds = [0, 3] }\nb = { within = "a", values = { x = [1] } }',
            "b.within",
        ),
        ('b = { within = "b", values = { x = [1] } }', "b.within must name a declared"),
        (
            'a = { values = ["x"] }\nb = { within = "a", values = [1] }',
            "a list for each",
        ),
        ('a = { values = ["x"] }\nb = { values = { x = [1] } }', "must be a list"),
        (
            'a = { values = ["x", "y"] }\nb = { within = "a", values = { x = [1] } }',
            "x, y",
        ),
        ('a = { values = ["x"] }\nb = { within = "a", values = { z = [1] } }', "got z"),
        (
            'a = { values = ["x"] }\nb = { within = "a", values = { x = [] } }',
            "b.values.x",
        ),
        (
            'a = { values = ["x", "y"] }\nb = { within = "a", values = { x = [1], y = [1] } }',
            "names 1 twice",
        ),
        (
            'a = { within = "b", values = { 1 = ["x"] } }\n'
            'b = { within = "a", values = { x = [1] } }',
            "within must name a declared",
        ),
    ],
)
def test_wrong_facts_are_refused(columns: str, message: str) -> None:
    with pytest.raises(tr.InputError, match=message):
        parse_facts(f"[tables.t]\n[tables.t.columns]\n{columns}\n")


def planned(sql: str, facts: Facts) -> Any:
    (shape,) = read_shapes(sql, facts)
    return shape.as_asked().planned(Epsilon.of(1))


def test_no_cell_is_an_impossible_pair() -> None:
    tables = planned(ROLLUP, nested_facts())
    assert tables.answered == 3 + 2 + 1
    (grouped,) = read_shapes(
        "select region, county, sum(town) as s from people group by region, county",
        nested_facts(),
    )
    assert grouped.cells == (("south", "Cedar"), ("north", "Ash"), ("north", "Birch"))
    # What the facts do not nest is crossed.
    free = Facts(
        {
            "people": Table(
                "people",
                40,
                columns={
                    "region": Column("region", "text", values=("north", "south")),
                    "county": Column(
                        "county", "text", values=("Ash", "Birch", "Cedar")
                    ),
                },
            )
        }
    )
    assert planned(ROLLUP, free).answered == 6 + 2 + 1


def test_a_town_is_nested_in_a_region_without_its_county() -> None:
    shape = read_shape(
        "select region, town, count(*) from people group by region, town",
        nested_facts(),
    )
    assert shape.cells == (("north", 1), ("north", 2), ("north", 3), ("south", 4))


def test_two_columns_within_one_are_crossed_but_one_of_them() -> None:
    facts = parse_facts(
        "[tables.t]\npopulation = 9\n[tables.t.columns]\n"
        'a = { values = ["x", "y"] }\n'
        'b = { within = "a", values = { x = [1, 2], y = [3] } }\n'
        'c = { within = "a", values = { x = [1], y = [2] } }\n'
    )
    shape = read_shape("select a, b, c, count(*) from t group by a, b, c", facts)
    assert len(shape.cells) == 3 * 2


def test_a_month_lies_within_its_year() -> None:
    joined = Column("joined", "date", bounds=(735599, 735599 + 3 * 365))
    table = Table("people", 10, columns={"joined": joined})
    tables = planned(
        "select extract(year from joined) as y, date_trunc('month', joined) as m, count(*) "
        "from people group by rollup (y, m)",
        Facts({"people": table}),
    )
    assert tables.answered == 36 + 3 + 1


def test_a_function_of_a_column_nests_by_itself() -> None:
    # A CASE of any conditions is no function of one column: it is crossed.
    case = "case when county = 'Ash' then 3 else 5 end"
    for length, cells in (("length(county)", 3 + 2 + 1), (case, 3 * 2 + 2 + 1)):
        tables = planned(
            f"select {length} as r, county, count(*) from people group by rollup (r, county)",
            nested_facts(),
        )
        assert tables.answered == cells


# -- rows -----------------------------------------------------------------------------------

#: A place, or something that the facts do not know, in both columns.
REGIONS = ("north", "south", "elsewhere", None)
COUNTIES = ("Ash", "Birch", "Cedar", "Dale", None)


def answers_of(shape: Any, rows: list[tuple[Any, Any]]) -> list[list[Any]]:
    region = pyarrow.array([row[0] for row in rows], pyarrow.string())
    county = pyarrow.array([row[1] for row in rows], pyarrow.string())
    data = pyarrow.table({"region": region, "county": county})
    with open_source(data, shape.table) as source:
        sealed = SealedQuery(source, shape)
        return shape.answers(sealed._rows())


def in_plan(shape: Tables, measured: tuple[tuple[int, ...], ...]) -> Tables:
    share = Fraction(1, len(measured))
    return Tables(
        shape.table, axes=shape.axes, used=shape.used, keys=shape.keys, titles=shape.titles,
        sets=shape.sets, level="1", measured=measured, shares=(share,) * len(measured),
    )  # fmt: skip


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("near", ["add-remove", "either", "change-one"])
def test_each_row_is_in_the_cell_that_it_says_itself(near: str, complete: bool) -> None:
    """Tables are sums over rows, and a row is in one cell at most: so neighbours are near.

    Both tables are measured here: that of regions and that of counties.
    """
    facts = nested_facts(near, complete=complete)
    asked = planned(ROLLUP, facts)
    shape = in_plan(asked, ((0,), (1,)))
    filler = [("south", "Cedar")] * 39
    others = answers_of(shape, [*filler, ("south", "Cedar")])
    everything = list(itertools.product(REGIONS, COUNTIES))
    for row in everything:
        regions, counties = answers_of(shape, [*filler, row])
        moved = [
            sum(abs(new - old) for new, old in zip(mine, theirs, strict=True))
            for mine, theirs in zip(
                map(flat, (regions, counties)), map(flat, others), strict=True
            )
        ]
        # Somebody leaves one cell, and enters another one or none.
        assert max(moved) <= 2
        south, (cedar, ash, birch) = flat(regions)[1], flat(counties)
        assert (cedar, ash + birch) == (south, flat(regions)[0])
        # The county decides, whatever region the row has.
        in_county = {"Ash": ash, "Birch": birch}.get(row[1])
        assert in_county in (None, 1)


def test_a_region_is_crossed_with_another_function_of_its_counties() -> None:
    asked = planned(
        "select region, length(county) as l, county, count(*) from people "
        "group by cube (region, l, county)",
        nested_facts("change-one", complete=True),
    )
    shape = in_plan(asked, ((0, 1), (2,)))
    rows = (
        [("north", "Ash")] * 20 + [("north", "Birch")] * 8 + [("south", "Cedar")] * 12
    )
    crossed, counties = answers_of(shape, rows)
    # Lengths 5 and 3, in the order of the counties; no southern county has the second.
    assert flat(crossed) == [8, 20, 12, 0]
    assert flat(counties) == [12, 20, 8]


def flat(answers: list[Any]) -> list[int]:
    """Return cells that are drawn one by one or together."""
    (first, *_) = answers
    return list(first) if isinstance(first, tuple) else answers


def test_the_answer_says_whose_word_counts() -> None:
    tables = planned(ROLLUP, nested_facts())
    assert (
        "region taken from county, whatever region a row has" in scope_of(tables).rules
    )
    alone = planned(
        "select region, count(*) from people group by grouping sets ((region), ())",
        nested_facts(),
    )
    assert not any("taken from" in rule for rule in scope_of(alone).rules)


def test_the_facts_are_checked_by_a_question() -> None:
    sql = fact_checks(nested_facts().table("people"))
    assert (
        "COUNT(*) FILTER (WHERE \"region\" <> 'north' AND \"county\" IN ('Ash', 'Birch') OR "
        '"region" <> \'south\' AND "county" IN (\'Cedar\')) AS "county: not in its region"'
    ) in sql
    assert read_shapes(sql, nested_facts())


# -- answers --------------------------------------------------------------------------------


def people() -> Any:
    counties = ["Ash"] * 20 + ["Birch"] * 8 + ["Cedar"] * 12
    regions = ["north"] * 28 + ["south"] * 12
    return pyarrow.table(
        {"county": counties, "region": regions, "sex": ["f", "m"] * 20}
    )


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
def test_regions_are_the_sums_of_their_counties(near: str, tmp_path: Any) -> None:
    answer = tr.ask(
        "select sex, region, county, count(*) as n from people "
        "group by sex, rollup (region, county)",
        epsilon=1, facts=nested_facts(near, complete=True), data=people(),
        ledger=tmp_path / "l.db", whole=True,
    )  # fmt: skip
    numbers = dict(answer.rows)
    for sex in "fm":
        for kind in (0, 1):
            counties = {
                region: sum(
                    Fraction(own[kind].value)
                    for (table, s, r, c), own in numbers.items()
                    if table == 0 and (s, r) == (sex, region)
                )
                for region in ("north", "south")
            }
            regions = {
                r: own[kind].value
                for (table, s, r, c), own in numbers.items()
                if table == 1 and s == sex
            }
            assert counties == regions
    made_up = answer.people.columns()
    lies_in = {"Ash": "north", "Birch": "north", "Cedar": "south"}
    assert [lies_in[county] for county in made_up["county"]] == made_up["region"]
    north = answer.difference(
        {"sex": "f", "region": "north"}, {"sex": "m", "region": "north"}
    )
    assert north.low <= north.value <= north.high
    with pytest.raises(tr.InputError, match="no row is in f, south, Ash at once"):
        answer.difference(
            {"sex": "f", "region": "south", "county": "Ash"},
            {"sex": "f", "region": "north", "county": "Ash"},
        )


def test_several_selects_are_one_roll_up(tmp_path: Any) -> None:
    made = plan_questions(
        [
            "select region, count(*) as n from people group by region",
            "select county, count(*) as n from people group by county",
        ],
        epsilon=1, facts=nested_facts("either"), data=people(), ledger=tmp_path / "l.db",
    )  # fmt: skip
    regions, counties = (
        {name: number.value for (name,), (number,) in answer.rows}
        for answer in ask_all(made)
    )
    assert regions["north"] == counties["Ash"] + counties["Birch"]
    assert regions["south"] == counties["Cedar"]
    assert regions["(other)"] == counties["(other)"]


# -- laws -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_cells_of_one_kind_have_one_law(relation: str) -> None:
    domain = Domain.of(
        {
            "sex": 2,
            "region": 4,
            "county": ("region", [0, 0, 0, 1, 1, 2, 3, 3]),
            "town": ("county", [0, 1, 1, 2, 3, 4, 5, 6, 7]),
        }
    )
    tables = [["region"], ["county", "sex"], ["town"], ["region", "sex"]]
    best = plan(Job.of(domain, tables, relation), 1)
    unlike = []
    for names in tables:
        margin = domain.margin(names)
        kinds = domain.kinds(margin)
        laws: dict[int, Any] = {}
        for cell in itertools.product(*map(range, kinds.shape)):
            law = error_law(best, (margin, cell))
            assert laws.setdefault(int(kinds[cell]), law) == law
        unlike.append(len(set(laws.values())))
    # Branches of unequal sizes: one law would not do.
    assert max(unlike) > 1


COLUMNS = {
    "region": "north,south:complete",
    "county": "within region:north=Ash,Birch;south=Cedar:complete",
}


def test_columns_are_nested_in_one_line_each(tmp_path):
    rows = pyarrow.table(
        {"county": ["Ash", "Birch", "Cedar"] * 10, "region": ["north"] * 30}
    )
    answer = tr.ask(
        "select region, county, count(*) as n from people group by rollup (region, county)",
        data=rows, columns=COLUMNS, population=30, budget=20, epsilon=20,
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip
    numbers = {names[1:]: int(number.value) for names, (number,) in answer.rows}
    assert numbers == {
        ("north", "Ash"): 10,
        ("north", "Birch"): 10,
        ("south", "Cedar"): 10,
        ("north", None): 20,
        ("south", None): 10,
        (None, None): 30,
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"county": "within region:north=Ash"}, "must name a declared column"),
        ({**COLUMNS, "county": "within region:north=Ash"}, "a list for each value"),
        ({**COLUMNS, "county": "within region:Ash,Birch"}, "looks like county:within"),
        ({**COLUMNS, "county": "within region:north=;south=Cedar"}, "looks like"),
    ],
)
def test_columns_that_are_not_nested_are_refused(columns, message):
    with pytest.raises(tr.InputError, match=message):
        declared_columns(columns)
