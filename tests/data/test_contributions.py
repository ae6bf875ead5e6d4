"""Which rows of a person count: no group and no value is favoured, whatever the key."""

import sqlite3
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tightrope.publish import Ledger, parse_facts, sql_writer
from tightrope.publish.receipts import SigningKey
from tightrope.publish.relations import declared_tables
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import Source, open_source, open_sources
from tightrope.publish.sql_reader import read_shape, read_shapes

GROUPS = [f"g{k}" for k in range(10)]
FACTS = """
[tables.visits]
population = 100000
neighbours = "add-remove"
person = "id"
contributions = {rows}
budget = "9"

[tables.visits.columns]
id = {{ type = "integer" }}
place = {{ values = {groups} }}
spent = {{ bounds = [0, 9] }}
"""


def true_answer(table, sql, rows, secret="0123"):
    facts = parse_facts(FACTS.format(rows=rows, groups=str(GROUPS).replace("'", '"')))
    shape = read_shape(sql, facts)
    with open_source(table, shape.table) as source:
        return SealedQuery(source, shape, secret=secret).nodes()[0], shape


@pytest.fixture(scope="module")
def visits():
    """60,000 people, each in every one of ten groups with probability 1/2."""
    chance = np.random.default_rng(37)
    people, places = np.nonzero(chance.random((60_000, 10)) < 0.5)
    spent = chance.integers(0, 10, len(people))
    return pa.table({"id": people, "place": np.array(GROUPS)[places], "spent": spent})


def graph_label(shape, node):
    from tightrope.queries import query

    draw = shape.draws[0]
    return query(draw.query, neighbours=draw.neighbours).graph.label(node)


@pytest.mark.parametrize("what", ["count(*)", "count(distinct id)"])
def test_every_group_loses_the_same_share(visits, what):
    sql = f"select place, {what} from visits group by place"
    # Over six keys: the bias, not the luck of one of them.
    drawn = [true_answer(visits, sql, 2, secret) for secret in "abcdef"]
    kept = np.mean([graph_label(shape, node) for (node,), shape in drawn], axis=0)
    true = np.bincount([GROUPS.index(name) for name in visits["place"].to_pylist()])
    shares = kept / kept.sum() - true / true.sum()
    # The shares are a tenth each; a hundredth of that is the limit.
    assert abs(shares).max() < 0.1 * 0.01
    assert kept.sum() < 0.45 * true.sum()


def test_sums_are_not_of_the_smallest_values(visits):
    ((kept,), _) = true_answer(visits, "select sum(spent) from visits", 1)
    people = len(set(visits["id"].to_pylist()))
    assert abs(kept / people - 4.5) < 0.05


def test_rows_that_are_alike_count_as_often_as_others():
    """Five rows in one group and one in another: one row of six, not one group of two."""
    rows = [(k, place) for k in range(20_000) for place in ["g1"] * 5 + ["g0"]]
    table = pa.table(dict(zip(("id", "place"), zip(*rows, strict=True), strict=True)))
    table = table.append_column("spent", pa.array([1] * len(table)))
    sql = "select place, count(*) from visits group by place"
    (node,), shape = true_answer(table, sql, 1)
    kept = graph_label(shape, node)
    assert sum(kept) == 20_000
    assert abs(kept[0] / 20_000 - 1 / 6) < 6 * (5 / 36 / 20_000) ** 0.5


def test_another_secret_is_another_choice(visits):
    sql = "select place, count(*) from visits group by place"
    nodes = [true_answer(visits, sql, 2, secret)[0] for secret in ("a", "a", "b")]
    assert nodes[0] == nodes[1] != nodes[2]


def test_the_secret_of_a_ledger_is_its_own_and_is_not_told(tmp_path):
    """It follows from the private key; nothing that is printed or recorded holds it."""
    from tightrope import ask

    key = SigningKey(tmp_path / "ledger.db.key")
    assert key.secret("a") == SigningKey(tmp_path / "ledger.db.key").secret("a")
    secrets = [
        key.secret("a"),
        key.secret("b"),
        SigningKey(tmp_path / "other").secret("a"),
    ]
    assert Counter(map(len, secrets)) == {32: 3}
    assert len(set(secrets)) == 3
    (tmp_path / "ledger.db.key").unlink()
    ledger = Ledger.create(tmp_path / "ledger.db")
    key = SigningKey(tmp_path / "ledger.db.key")
    table = pa.table({"id": [1, 1, 2], "place": ["g1", "g2", "g1"], "spent": [1, 2, 3]})
    facts = parse_facts(FACTS.format(rows=1, groups='["g1", "g2"]'))
    sql = "select place, count(*) as n from visits group by place"
    answer = ask(sql, epsilon=1, data=table, facts=facts, ledger=ledger)
    told = f"{answer} {answer.as_dict()} {answer.notes} {answer.about}"
    assert key.secret(ledger.id) not in told
    assert key.secret(ledger.id) not in (tmp_path / "ledger.db").read_bytes().decode(
        "latin-1"
    )
    assert "whatever their values" in told


PLANS = """
[tables.people]
population = 90
neighbours = "either"
budget = "1"
key = "id"

[tables.people.columns]
id = { type = "integer" }
age = { bounds = [0, 90] }
sex = { values = ["f", "m"] }

[tables.visits]
people = "people"
person = "id"
contributions = 2

[tables.visits.columns]
id = { type = "integer" }
ward = { values = ["a", "b", "c"] }
cost = { bounds = [0, 9] }
"""
JOINED = "visits v join people p on v.id = p.id"
ASKED = [
    "select count(*) from visits where cost > 2",
    "select sum(cost) from visits",
    "select ward, sum(cost) from visits group by ward",
    "select var_pop(cost) from visits where ward = 'a'",
    "select median(cost) from visits",
    "select count(distinct cost) from visits",
    "select ward, count(distinct id) from visits group by ward",
    f"select p.sex, count(*) from {JOINED} where p.age > 30 and v.cost > 1 group by p.sex",
    f"select p.sex, sum(v.cost) from {JOINED} group by p.sex",
    f"select v.ward, count(*) from {JOINED} where v.cost < 3 or p.age > 50 group by v.ward",
    f"select sum(v.cost) from {JOINED} where v.cost < 3 or p.age > 50",
    f"select p.sex, count(distinct v.id) from {JOINED} where v.cost > 1 group by p.sex",
    f"select p.sex, v.ward, count(*) from {JOINED} where p.age < 80 group by p.sex, v.ward",
    "select avg(n) from (select id, count(*) as n from visits group by id) e",
]


def town(folder, kind):
    """Write both tables: people with no row, one, or many, two rows of a person, and nobody's."""
    chance = np.random.default_rng(7)
    owners = [None, *(int(k) for k in chance.zipf(1.6, 300) % 40)]
    visits = {
        "id": owners,
        "ward": chance.choice(["a", "b", "c", "x"], len(owners)).tolist(),
        "cost": [None, *chance.integers(-2, 12, len(owners) - 1).tolist()],
    }
    people = {
        "id": [*range(45), 3, None],
        "age": chance.integers(0, 99, 47).tolist(),
        "sex": chance.choice(["f", "m", "x"], 47).tolist(),
    }
    tables = {"visits": pa.table(visits), "people": pa.table(people)}
    if kind == "memory":
        return tables
    module = duckdb if kind == "duckdb" else sqlite3
    db = module.connect(folder / f"town.{kind}")
    for name, table in tables.items():
        types = (
            "integer",
            *("text" if x == "string" else "integer" for x in table.schema.types[1:]),
        )
        columns = zip(table.column_names, types, strict=True)
        db.execute(f"create table {name} ({', '.join(' '.join(x) for x in columns)})")
        db.executemany(
            f"insert into {name} values (?, ?, ?)",
            list(zip(*table.to_pydict().values(), strict=True)),
        )
    db.commit()
    db.close()
    return f"{kind}:///{folder}/town.{kind}"


#: Keys without large gaps, whose rows a database counts by their places.
DENSE = PLANS.replace('id = { type = "integer" }', "id = { bounds = [0, 99] }")


def all_nodes(data, secret="0123", plans=PLANS):
    shapes = [shape for sql in ASKED for shape in read_shapes(sql, parse_facts(plans))]
    nodes = []
    for shape in shapes:
        with open_sources(data, declared_tables(shape.table)) as sources:
            nodes.append(SealedQuery(sources, shape, secret=secret).nodes())
    return nodes


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """What numbers for the rows of everybody choose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source, "keeps_rows", False)
        return all_nodes(town(tmp_path_factory.mktemp("town"), "memory"))


@pytest.mark.parametrize("kind", ["memory", "duckdb", "sqlite"])
def test_numbers_for_few_people_choose_the_same_rows(kind, tmp_path, chosen):
    assert all_nodes(town(tmp_path, kind)) == chosen


def test_rows_that_are_counted_before_a_join_are_the_same(tmp_path, chosen):
    assert all_nodes(town(tmp_path, "duckdb"), plans=DENSE) == chosen


def test_a_file_may_be_open_elsewhere_in_the_process(tmp_path, chosen):
    place = town(tmp_path, "duckdb")
    with duckdb.connect(place.removeprefix("duckdb:///"), read_only=True):
        assert all_nodes(place) == chosen


def test_somebody_has_too_many_rows(tmp_path, chosen):
    assert all_nodes(town(tmp_path, "memory"), "4567") != chosen


LIMITS = ["COUNT(*) > 2", '_size" <= 2', '_row" <= 2', "LEAST(COUNT(*), 2"]


PLANNED = [("memory", PLANS, limit) for limit in LIMITS]
PLANNED += [("duckdb", DENSE, limit) for limit in LIMITS]
#: Events that are counted before they are joined.
COUNTED = 'tightrope_counted GROUP BY "tightrope_person" HAVING COUNT(*) > 2'
PLANNED += [("duckdb", DENSE, COUNTED)]


@pytest.mark.parametrize(("kind", "plans", "limit"), PLANNED)
def test_a_plan_that_forgets_a_limit_is_found(
    kind, plans, limit, tmp_path, monkeypatch, chosen
):
    data = town(tmp_path, kind)
    whole = sql_writer.compiled

    def forgetful(shape, opened, secret):
        return whole(shape, opened, secret).replace(limit, f"{limit[:-1]}9")

    monkeypatch.setattr(sql_writer, "compiled", forgetful)
    assert chosen != all_nodes(data, plans=plans)
