"""Same SQL, same true answer, same release path, in every kind of source."""

import datetime
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace

import ibis
import polars as pl
import psycopg
import pytest
from tests.data.conftest import FACTS, PAIRS, ROWS, VISITS, rows_that_count, truth_of

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.publish import Ledger, parse_facts, release
from tightrope.publish.facts import Table
from tightrope.publish.sealed import SealedQuery, SourceFailed
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape, read_shapes
from tightrope.queries import query

PEOPLE = parse_facts(FACTS)
KNOWN_REGIONS = ("north", "south", "west")
KNOWN = {"people": PEOPLE, "pairs": parse_facts(PAIRS), "visits": parse_facts(VISITS)}


def clamp(age):
    return 0 if age is None else min(max(age, 0), 90)


def expected():
    """Each question, its query, and its answer computed in plain Python."""
    known = ("north", "south", "west")
    sizes = Counter(row[2] for row in ROWS)
    smokers = [row for row in ROWS if row[3]]
    old = datetime.date(1980, 6, 1)
    named = [row for row in ROWS if row[0] is not None]
    single = rows_that_count(
        [row for row in named if row[2] in known], 1, lambda row: known.index(row[2])
    )
    regions = Counter(row[2] for row in single)
    vector = tuple(regions[name] for name in known)
    return {
        "select count(*) from people": ("count(150)", len(ROWS)),
        "select count(*) from people p where p.smoker": ("count(150)", len(smokers)),
        "select count(age) as n from people where not smoker": (
            "count(150)",
            sum(row[1] is not None and not row[3] for row in ROWS),
        ),
        "select count(*) from people where age between 18 and 65 or region in ('north')": (
            "count(150)",
            sum(
                (row[1] is not None and 18 <= row[1] <= 65) or row[2] == "north"
                for row in ROWS
            ),
        ),
        "select count(*) from people where born >= '1980-06-01' and age is not null": (
            "count(150)",
            sum(row[4] >= old and row[1] is not None for row in ROWS),
        ),
        "select count(*) from people where not (smoker is not true or age not in (14, 21))": (
            "count(150)",
            sum(row[3] and row[1] in (14, 21) for row in ROWS),
        ),
        "select count(*) from people where region <> 'north'": (
            "count(150)",
            sum(row[2] is not None and row[2] != "north" for row in ROWS),
        ),
        # Functions are worked out on declared values, and rows are looked up among them.
        "select count(*) from people where year(born) in (1960, 1961, 1962) "
        "and region like '%th'": (
            "count(150)",
            sum(
                row[4].year in (1960, 1961, 1962) and row[2] in ("north", "south")
                for row in ROWS
            ),
        ),
        "select date_part('dow', born) as d, count(*) from people group by d": (
            "histogram(150,7)",
            tuple(
                sum(row[4].isoweekday() % 7 == day for row in ROWS) for day in range(7)
            ),
        ),
        "select sum(age) from people": (
            "sum(150,90)",
            sum(clamp(row[1]) for row in ROWS),
        ),
        "select coalesce(sum(age), 0) from people where smoker is true": (
            "sum(150,90)",
            sum(clamp(row[1]) for row in smokers),
        ),
        "select region, count(*) from people group by region": (
            "histogram(150,3)",
            tuple(sizes[name] for name in known),
        ),
        "select count(*) as n, region from people where smoker group by 2": (
            "histogram(150,3)",
            tuple(Counter(row[2] for row in smokers)[name] for name in known),
        ),
        "select count(*) filter (where smoker), sum(case when age > 40 then 1 else 0 end) "
        "from people": (
            "counts(150,2)",
            (len(smokers), sum(row[1] is not None and row[1] > 40 for row in ROWS)),
        ),
        "select region from people group by region order by count(*) desc limit 1": (
            "choice(3)",
            max(range(3), key=lambda place: sizes[known[place]]),
        ),
        "select count(*) % 7 from people where smoker": (
            "count_mod(150,7)",
            len(smokers) % 7,
        ),
        # One row for each person, chosen among those that the question is about.
        "select count(*) from pairs": (
            "count(80)",
            len({row[0] for row in named}),
        ),
        "select count(distinct id) from pairs where smoker": (
            "count(80)",
            len({row[0] for row in smokers} - {None}),
        ),
        "select region, count(*) from pairs group by region": (
            "histogram(80,4)",
            (*vector, 80 - sum(vector)),
        ),
        # Rows of nobody in particular are left out.
        "select count(*) from visits": (
            "sum(80,2)",
            len(named),
        ),
        "select sum(age) from visits": (
            "sum(80,180)",
            sum(clamp(row[1]) for row in named),
        ),
        "select count(distinct id) filter (where age > 40), count(distinct id) from visits": (
            "counts(80,2)",
            (
                len({row[0] for row in named if row[1] is not None and row[1] > 40}),
                len({row[0] for row in named}),
            ),
        ),
        "select count(distinct id) from visits": (
            "count(80)",
            len({row[0] for row in ROWS} - {None}),
        ),
    }


EXPECTED = expected()


def test_every_shape_has_its_true_answer(source):
    for sql, (question, answer) in EXPECTED.items():
        facts = KNOWN[sql.partition("from ")[2].split()[0]]
        shape = read_shape(sql, facts, dialect_of(source))
        assert shape.question == question, sql
        assert truth_of(source, shape, facts) == answer, sql


def test_people_count_once_in_every_group(source):
    """With 8 rows each none of their groups is left out; with 1 a hash chooses it."""
    facts = KNOWN["pairs"]
    table = replace(facts.table("pairs"), contributions=8)
    facts = replace(facts, tables={"pairs": table})
    sql = "select region, count(distinct id) from pairs group by region"
    (shape,) = read_shape(sql, facts, dialect_of(source)).ways()
    assert shape.question == "counts(80,3)"
    people = {name: set() for name in ("north", "south", "west")}
    for person, _, region, *_ in ROWS:
        if person is not None and region in people:
            people[region].add(person)
    sizes = tuple(map(len, people.values()))
    assert truth_of(source, shape, facts) == sizes


def test_the_wrong_answer_would_be_noticed():
    """The negative twin: the questions differ in their answers, so a mix-up shows."""
    answers = [
        answer for question, answer in EXPECTED.values() if question == "count(150)"
    ]
    assert len(set(answers)) == len(answers)


def test_one_release_path(source, counting, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ask = {
        "data": source,
        "sql": "select count(*) from people where smoker",
        "ledger": ledger,
        "facts": PEOPLE,
        "key": "once",
    }
    done = release(counting, **ask)
    assert 0 <= done.answer <= 150
    assert abs(done.answer - sum(row[3] for row in ROWS)) < 60  # 2^-60 against it
    again = release(counting, **ask)
    assert (again.answer, again.receipt, again.fresh) == (
        done.answer,
        done.receipt,
        False,
    )
    assert ledger.account("table people").spent == done.charged
    assert ledger.verify([(done.receipt["position"], done.receipt["hash"])]).intact


def test_a_release_loads_only_what_it_uses(parquet, tmp_path):
    """Half of SciPy for one convolution, or pandas for a view, would double its time."""
    noise = GeometricChannel(9001, "ln(2)")
    made = certify(noise, "count(9000)", "ln(2)", neighbours="add-remove")
    file = made.save(tmp_path / "count.tightrope")
    code = (
        "import sys, tightrope\n"
        f"done = tightrope.release({str(file)!r}, data={str(parquet)!r}, budget=1,\n"
        "    sql='select count(*) from people where age > 30', columns={'age': 'integer'},\n"
        f"    ledger={str(tmp_path / 'ledger.db')!r})\n"
        "assert done.interval.bounds\n"
        "others = {'pandas', 'pyarrow.dataset', 'scipy.signal', 'scipy.stats'} & set(sys.modules)\n"
        "assert not others, others\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_part_is_a_condition(source):
    for part, names in {"north": ["north"], "rest": ["south", "west"]}.items():
        found = truth_of(source, "select count(*) from people", PEOPLE, part)
        assert found == sum(row[2] in names for row in ROWS)


def test_wrong_columns_are_refused_before_anything_is_charged(
    source, counting, tmp_path
):
    ledger = Ledger.create(tmp_path / "ledger.db")
    facts = parse_facts(
        FACTS.replace(
            "smoker = { type", "height = { type = 'integer' }\nsmoker = { type"
        )
    )
    # A text file has the columns that are declared; every other source has its own.
    with pytest.raises(InputError, match="height"):
        release(
            counting,
            data=source,
            sql="select count(*) from people where height > 3",
            ledger=ledger,
            facts=facts,
        )
    assert ledger.accounts() == {}
    assert ledger.verify().intact


def test_a_source_that_breaks_off_tells_nothing(
    parquet, counting, tmp_path, monkeypatch
):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ask = {
        "data": str(parquet),
        "sql": "select count(*) from people",
        "ledger": ledger,
        "facts": PEOPLE,
        "key": "k",
    }
    with monkeypatch.context() as broken:
        broken.setattr(
            "tightrope.publish.sql_writer.compiled",
            lambda *_: "SELECT CAST('secret of Ann' AS INTEGER)",
        )
        with pytest.raises(SourceFailed) as failed:
            release(counting, **ask)
    assert "Ann" not in str(failed.value)
    assert failed.value.__suppress_context__
    assert ledger.ticket("k").phase == "charged"


# -- Ibis expressions -----------------------------------------------------------------------


def expressions(people):
    smokers = people.filter(people.smoker)
    return {
        "count(150)": people.count(),
        "count(150) of smokers": smokers.count(),
        "sum(150,90)": smokers.age.sum(),
        "histogram(150,3)": people.group_by("region").agg(n=people.count()),
        "choice(3)": (
            people.group_by("region")
            .agg(n=people.count())
            .order_by(ibis.desc("n"))
            .limit(1)
            .select("region")
        ),
        "counts(150,2)": people.aggregate(
            a=people.smoker.sum(), b=people.count(where=people.age > 40)
        ),
        "count_mod(150,7)": smokers.count() % 7,
        "count(150) by date": people.filter(
            people.born >= ibis.date("1980-06-01"), people.age.notnull()
        ).count(),
    }


SAME_SQL = {
    "count(150)": "select count(*) from people",
    "count(150) of smokers": "select count(*) from people p where p.smoker",
    "sum(150,90)": "select coalesce(sum(age), 0) from people where smoker is true",
    "histogram(150,3)": "select region, count(*) from people group by region",
    "choice(3)": "select region from people group by region order by count(*) desc limit 1",
    "counts(150,2)": "select count(*) filter (where smoker), "
    "sum(case when age > 40 then 1 else 0 end) from people",
    "count_mod(150,7)": "select count(*) % 7 from people where smoker",
    "count(150) by date": "select count(*) from people where born >= '1980-06-01' and "
    "age is not null",
}


@pytest.mark.parametrize("name", SAME_SQL)
def test_ibis_expressions_ask_the_same(parquet, sqlite, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = ibis.duckdb.connect().read_parquet(parquet, table_name="people")
        expression = expressions(people)[name]
        shape = read_shape(expression, PEOPLE)
    question, answer = EXPECTED[SAME_SQL[name]]
    assert shape.question == question
    # Built once, asked in two databases.
    for place in (str(parquet), sqlite):
        assert truth_of(place, shape, PEOPLE) == answer


# -- text files -----------------------------------------------------------------------------

MESSY = {
    "plain": (b"id,age\n1,5\n2,6\n", 11),
    "short line": (b"id,age\n1\n2,6\n", 6),
    "long line": (b"id,age\n1,2,3,4\n2,6\n", 8),
    "open quote": (b'id,age\n2,6\n3,"abc\n', 6),
    "quote inside": (b'id,age\n1,a"b"c\n2,6\n', 6),
    "no rows": (b"id,age\n", 0),
    "blank lines": (b"id,age\n\n\n1,2\n", 2),
    "two line ends": (b"id,age\r\n1,2\n3,4\r\n", 6),
    "not UTF-8": (b"id,age\n1,\xff\xfe\n2,3\n", 3),
    "NUL": (b"id,age\n1,\x00\n2,3\n", 3),
    "not a number": (b"id,age\n1,old\n2,3\n", 3),
    "huge number": (b"id,age\n1,1e400\n2,3\n", 3),
    "beyond the bounds": (b"id,age\n1,5000\n2,3\n", 93),
}


@pytest.mark.parametrize("name", MESSY)
def test_no_row_of_a_text_file_makes_reading_fail(tmp_path, name):
    raw, total = MESSY[name]
    path = tmp_path / "people.csv"
    path.write_bytes(raw)
    assert truth_of(path, "select sum(age) from people", PEOPLE) == total


@pytest.mark.parametrize("header", ["", "age,age", "age,,id"])
def test_the_first_line_must_name_the_columns(tmp_path, header):
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n1,2\n")
    with (
        pytest.raises(InputError, match="must name the columns"),
        open_source(path, PEOPLE.table("people")),
    ):
        pass


# -- tables of Ibis -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "postgresql"])
@pytest.mark.parametrize("as_table", [True, False])
def test_ibis_backends_and_their_tables(request, parquet, kind, as_table):
    sql, answer = (
        "select count(*) from people where smoker",
        sum(row[3] for row in ROWS),
    )
    if kind == "duckdb":
        backend = ibis.duckdb.connect(parquet.with_suffix(".duckdb"), read_only=True)
    elif kind == "sqlite":
        backend = ibis.sqlite.connect(
            request.getfixturevalue("sqlite").removeprefix("sqlite:///")
        )
    else:
        address = request.getfixturevalue("server").new_database("backend")
        with psycopg.connect(address) as db:
            db.execute("create table people (smoker boolean)")
            db.cursor().executemany(
                "insert into people values (%s)", [(row[3],) for row in ROWS]
            )
        backend = ibis.postgres.from_connection(psycopg.connect(address))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = backend.table("people") if as_table else backend
        assert truth_of(place, sql, PEOPLE) == answer
        if kind == "duckdb":  # it opens a file once in a process
            assert str(identity(place)).endswith("people.duckdb#main.people")
        else:  # the same data as by its address
            there = request.getfixturevalue("sqlite") if kind == "sqlite" else address
            assert identity(place).is_same(identity(there))
        # The connection is still its owner's, with its settings.
        assert backend.table("people").count().execute() == len(ROWS)
        backend.disconnect()


# -- which data it is -----------------------------------------------------------------------


def identity(place, table=None):
    with open_source(place, table or PEOPLE.table("people")) as opened:
        return opened.identity()


def test_one_file_is_one_source_whatever_leads_to_it(parquet, tmp_path):
    (tmp_path / "link.parquet").symlink_to(parquet)
    (tmp_path / "hard.parquet").hardlink_to(parquet)
    here = identity(str(parquet))
    for other in (
        f"{parquet.parent}/../{parquet.parent.name}/people.parquet",
        tmp_path / "link.parquet",
        tmp_path / "hard.parquet",
    ):
        assert identity(other).is_same(here)
    assert not identity(str(parquet.with_suffix(".csv"))).is_same(here)


def test_one_table_is_one_source_whatever_leads_to_it(server):
    address = server.new_database("identities")
    with psycopg.connect(address) as db:
        db.execute("create table people (id integer)")
        db.execute("create table others (id integer)")
    people = Table("people")
    here = identity(address, people)
    assert identity(address, replace(people, relation="public.people")).is_same(here)
    scheme, _, rest = address.partition(":")
    assert identity(f"postgres:{rest}&application_name=x", people).is_same(here)
    assert scheme == "postgresql"
    assert not identity(address, Table("others")).is_same(here)


# -- groups, bins, sums and means ------------------------------------------------------------


def pair(ages):
    """Return a sum and a count as they are drawn: in units of 45, and far from the ends."""
    most = PEOPLE.tables["people"].population
    units = (2 * (sum(ages) - 45 * len(ages)) + 45) // 90
    return most + units, most // 2 + len(ages)


def grouped():
    """Questions with several answers, and the numbers that they publish without noise."""
    ages = [(row, row[1]) for row in ROWS if row[1] is not None]
    decades = Counter(min(max(age, 0), 90) // 30 * 30 for _, age in ages)
    crossed = Counter((row[3], row[2]) for row in ROWS)
    old = sum(age > 40 for _, age in ages)
    by_region = {
        name: [clamp(row[1]) for row in ROWS if row[2] == name]
        for name in KNOWN_REGIONS
    }
    known = {
        name: [min(max(age, 0), 90) for row, age in ages if row[2] == name]
        for name in KNOWN_REGIONS
    }
    everybody = [min(max(age, 0), 90) for _, age in ages]
    return {
        "select floor(age / 30) * 30 as bin, count(*) from people group by bin": [
            [tuple(decades[low] for low in (0, 30, 60, 90))]
        ],
        "select smoker, region, count(*) from people group by smoker, region": [
            [tuple(crossed[s, r] for s in (False, True) for r in KNOWN_REGIONS)]
        ],
        "select case when age > 40 then 'o' else 'y' end as a, count(*) from people group by a": [
            [(old, len(ROWS) - old)]
        ],
        "select region, sum(age) from people group by region": [
            [sum(mine) for mine in by_region.values()]
        ],
        "select avg(age) from people": [[pair(everybody)]],
        "select region, avg(age) from people group by region": [
            [pair(mine) for mine in known.values()]
        ],
    }  # fmt: skip


@pytest.mark.parametrize("sql", grouped())
def test_groups_sums_and_means_have_their_true_answers(source, sql):
    (shape,) = read_shapes(sql, PEOPLE, dialect_of(source))
    with open_source(source, shape.table) as opened:
        nodes = SealedQuery(opened, shape).nodes()
    for draw, mine, wanted in zip(shape.draws, nodes, grouped()[sql], strict=True):
        graph = query(draw.query, neighbours=draw.neighbours).graph
        found = [graph.label(node) for node in mine]
        if draw.most:
            found = [label + draw.offset for label in found]
        assert found == wanted, draw


# -- the number of people, where it is public -----------------------------------------------------


def exactly(number, more=""):
    return parse_facts(
        f"[tables.people]\npopulation = {number}\nneighbours = 'change-one'\nbudget = '9'\n"
        f"{more}\n[tables.people.columns]\nage = {{ bounds = [0, 90] }}\n"
    )


def change_one(number):
    return certify(GeometricChannel(number + 1, "ln(2)"), f"count({number})", "ln(2)")


def test_a_table_that_grew_is_refused_with_both_numbers(source, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    asked = {"data": source, "sql": "select count(*) from people", "ledger": ledger}
    told = r"holds 120 people and is declared with population = 119"
    with pytest.raises(InputError, match=told):
        release(change_one(119), facts=exactly(119), **asked)
    assert ledger.account("table people") is None
    assert release(change_one(120), facts=exactly(120), **asked).answer in range(121)


def test_people_with_several_rows_are_counted_once(source, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    asked = {
        "data": source,
        "sql": "select count(distinct id) from people",
        "ledger": ledger,
    }
    there = len({row[0] for row in ROWS} - {None})
    for number in (there - 1, there + 1):
        with pytest.raises(InputError, match=f"holds {there} people"):
            release(change_one(number), facts=exactly(number, "person = 'id'"), **asked)
    release(change_one(there), facts=exactly(there, "person = 'id'"), **asked)


def test_what_is_no_public_number_is_not_counted(source, counting, tmp_path):
    """Under add-remove the population is a limit, and a table may hold fewer people."""
    facts = parse_facts(FACTS)
    asked = {"data": source, "facts": facts, "ledger": tmp_path / "ledger.db"}
    release(counting, sql="select count(*) from people", **asked)


def test_a_plan_is_not_run_to_be_counted(tmp_path):
    ran = []

    def note(frame):
        ran.append(len(frame))
        return frame

    plan = pl.DataFrame({"age": [31, 44]}).lazy().map_batches(note)
    shape = read_shape("select count(*) from people", exactly(7), "duckdb")
    with open_source(plan, shape.table) as opened:
        SealedQuery(opened, shape).check_people()
    assert ran == []
    with (
        open_source(plan.collect(), shape.table) as opened,
        pytest.raises(InputError, match="holds 2 people"),
    ):
        SealedQuery(opened, shape).check_people()
