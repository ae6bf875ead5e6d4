"""Which SQL is understood, and which is refused before anything is read."""

from fractions import Fraction

import pytest
import sqlglot

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish import parse_facts
from tightrope.publish.facts import Facts, read_column
from tightrope.publish.shapes import SHAPES, estimates
from tightrope.publish.sources import PostgreSQL, Spark
from tightrope.publish.sql_reader import read_shape, read_shapes
from tightrope.publish.sql_writer import Opened, compiled, question_text

FACTS = parse_facts(
    """
[tables.people]
population = 100
[tables.people.columns]
age = { bounds = [0, 90] }
height = { type = "number" }
region = { values = ["north", "south"] }
smoker = { type = "boolean" }
born = { type = "date" }
debt = { bounds = [-5, 5] }
name = { type = "text" }
sex = { values = ["f", "m"], complete = true }
[tables.people.partitions.adult]
column = "age"
parts = { no = "0..17", yes = "18..90" }
[tables.staff]
population = 10
[tables.visits]
population = 50
person = "id"
contributions = 3
[tables.visits.columns]
age = { bounds = [0, 90] }
region = { values = ["north", "south"] }
"""
)


@pytest.mark.parametrize(
    ("sql", "question"),
    [
        ("select count(*) from people", "count(100)"),
        ("SELECT COUNT(1) AS n FROM People AS p WHERE p.Age >= 18;", "count(100)"),
        ('select count(*) from "people" where "age" = 3', "count(100)"),
        (
            "select count(*) from (select * from people where age > 3) t where smoker",
            "count(100)",
        ),
        ("select sum(age) from people", "sum(100,90)"),
        ("select count(*) from visits", "sum(50,3)"),
        ("select sum(age) from visits", "sum(50,270)"),
        ("select count(distinct id) from visits", "count(50)"),
        ("select region, count(*) from people group by region", "histogram(100,3)"),
        ("select count_if(smoker), count(*) from people", "counts(100,2)"),
        (
            "select region from people group by region order by count(*) desc, region limit 1",
            "choice(2)",
        ),
        (
            "select region from visits group by region order by count(*) desc limit 1",
            "choice(2)",
        ),
        ("select mod(count(*), 4) from people", "count_mod(100,4)"),
        ("select sum(debt) from people", "sum(100,10)"),
        ("select sum(age) filter (where smoker) from people", "sum(100,90)"),
        ("select count(distinct id) filter (where age > 3) from visits", "count(50)"),
        ("select count(distinct name) from people where smoker", "count(100)"),
        ("select count(distinct region) from visits", "sum(50,3)"),
        ("select age, count(*) from people group by age", "histogram(100,92)"),
        (
            "select smoker, region, count(*) from people group by 1, 2",
            "histogram(100,5)",
        ),
        ("select sex, count(*) from people group by sex", "histogram(100,2)"),
        (
            "select sex, count(*) from people where age > 3 group by sex",
            "histogram(100,3)",
        ),
        (
            "select floor(age/10)*10 as d, count(*) from people group by d",
            "histogram(100,11)",
        ),
        (
            "select age - age % 30 as d, count(*) from people group by 1 order by d",
            "histogram(100,5)",
        ),
        (
            "select case when age < 18 then 'a' else 'b' end a, count(*) from people group by a",
            "histogram(100,2)",
        ),
        (
            "select case region when 'north' then 1 end a, count(*) from people group by a",
            "histogram(100,2)",
        ),
        (
            "select width_bucket(age, 0, 90, 3) as w, count(*) from people group by w",
            "histogram(100,5)",
        ),
        ("select adult, count(*) from people group by adult", "histogram(100,3)"),
        ("select region, sum(age) from people group by region", "sum(100,90)"),
        ("select count(*) from people; -- all of them", "count(100)"),
        (
            "select if(age < 18, 'a', 'b') as a, count(*) from people group by a",
            "histogram(100,2)",
        ),
        (
            "select ceil(age / 10.0) as d, count(*) from people group by d",
            "histogram(100,11)",
        ),
    ],
)
def test_known_shapes(sql, question):
    assert read_shape(sql, FACTS).question == question


WRITES = [
    "drop table people",
    "delete from people",
    "update people set age = 0",
    "insert into people values (1)",
    "create table x as select * from people",
    "copy people to 'people.csv'",
    "copy (select * from people) to 'people.csv'",
    "attach 'other.db' as other",
    "pragma database_list",
    "install httpfs",
    "set threads = 1",
    "explain select count(*) from people",
    "select count(*) into copy from people",
    "with gone as (delete from people returning *) select count(*) from gone",
    "vacuum",
    "call pragma_version()",
]
READS_ELSEWHERE = [
    "select count(*) from people, staff",
    "select count(*) from people join staff on true",
    "select count(*) from staff2",
    "select count(*) from secret.people",
    "select count(*) from read_csv('people.csv')",
    "select count(*) from 'people.csv'",
    "select count(*) from people where age in (select age from staff)",
    "select count(*) from people where exists (select 1 from staff)",
    "select (select count(*) from staff) from people",
    "select count(*) from people union all select count(*) from staff",
    "select count(*) from people where staff.age = 3",
    "select count(*) from information_schema.tables",
    "select count(*) from people, lateral (select 1)",
    "select count(*)",
]
OUTSIDE_THE_FACTS = [
    "select count(*) from people where income > 3",
    "select sum(height) from people",
    "select count(*) % 3 from visits",
    "select sex, count(distinct age) from people group by sex",
    "select count(*) from people where age = 'old'",
    "select count(*) from people where region = 3",
    "select count(*) from people where region > 'm'",
    "select count(*) from people where region = smoker",
    "select count(*) from people where born > 'someday'",
    "select count(*) from people where smoker > false",
    "select count(*) from people where region = 'nroth'",
    "select count(*) from people where region in ('north', 'east')",
    "select height, count(*) from people group by height",
    "select floor(height) as h, count(*) from people group by h",
    'select count(*) from people where "AGE" = 3',
]
NOT_TOTAL = [
    "select count(*) from people where age / 0 > 1",
    "select count(*) from people where cast(region as int) > 1",
    "select count(*) from people where sqrt(age) > 1",
    "select count(*) from people where random() < 0.5",
    "select count(*) from people where pg_sleep(10) is null",
    "select count(*) from people where now() > born",
    "select count(*) from people where region like '%n'",
    "select count(*) from people where region = 'north' collate nocase",
    "select count(*) from people where age = null",
    "select count(*) from people where age is distinct from 3",
    "select count(*) from people where smoker = 1",
]
NO_SHAPE = [
    "select age / (age - 7) as a, count(*) from people group by a",
    "select age + debt as a, count(*) from people group by a",
    "select sqrt(age) as a, count(*) from people group by a",
    "select random() * age as a, count(*) from people group by a",
    "select region, count(*) from people group by region order by 2",
    "select region, count(*) from people group by region, region",
    "select count(*) from people group by region",
    "select region, stddev(age) from people group by region",
    "select count(*), sum(age) from people",
    "select * from people",
    "select age from people",
    "select stddev(age) from people",
    "select count(*) + 1 from people",
    "select sum(age) + sum(age) from people",
    "select sum(distinct age) from people",
    "select sum(age * age) from people",
    "select distinct count(*) from people",
    "select count(*) from people limit 1",
    "select count(*) from people tablesample 10 percent",
    "select count(*) from people having count(*) > 3",
    "select count(*) over () from people",
    "select region, count(*) from people group by region having count(*) > 5",
    "select region, count(*) from people group by rollup (region)",
    "select region from people group by region order by count(*) limit 1",
    "select region from people group by region order by count(*) desc limit 2",
    "select region, count(*) from people group by region order by 2 desc limit 1",
    "select region from people group by region order by count(*) desc limit 1 offset 1",
    "select count(*) % 1 from people",
    "select count(*) % -3 from people",
    "select region from (select * from (select region, count(*) as n from people group by region) "
    "where n > 3 order by n desc limit 1)",
    "select sex, count(*) % 3 from people group by sex",
    "select sex, count(*), count(age) from people group by sex",
    "select count(*) from (select * from people limit 3)",
    "select count(*) from (select distinct region from people)",
    "select count(*) from people; select count(*) from people",
    "",
    "select count(*) from people where",
    "sélect",
    "(" * 3000,
]


@pytest.mark.parametrize(
    "sql", WRITES + READS_ELSEWHERE + OUTSIDE_THE_FACTS + NOT_TOTAL + NO_SHAPE
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite", "spark"])
def test_everything_else_is_refused(sql, dialect):
    if dialect == "spark" and '"AGE"' in sql:
        sql = sql.replace('"', "`")
    with pytest.raises(InputError) as refused:
        _ = read_shape(sql, FACTS, dialect).question
    assert "\n" not in str(refused.value)


def test_several_questions_in_one_select():
    sql = "select region, count(*) as n, avg(age) from people where smoker group by region"
    groups, mean = read_shapes(sql, FACTS)
    assert [groups.titles, mean.titles] == [("n",), ("avg(age)",)]
    assert [d.query for d in mean.draws] == ["sum(200,45)", "histogram(100,3)"]
    assert [d.times for d in mean.draws] == [2, 1]
    with pytest.raises(InputError, match="tightrope ask"):
        read_shape(sql, FACTS)


def test_several_counts_by_group_are_one_table():
    sql = "select sex, count(*), count(age) from people group by sex"
    (shape,) = read_shapes(sql, FACTS)
    assert (shape.titles, shape.sets) == (("count(*)", "count(age)"), ((0,), (0, 1)))
    planned = shape.planned(Epsilon.of(1))
    assert [draw.query for draw in planned.draws] == ["histogram(100,4)"]


def test_a_syntax_error_is_told_in_plain_words():
    with pytest.raises(InputError) as refused:
        read_shape("select count(* from people", FACTS)
    assert str(refused.value).isprintable()
    assert "line 1, column" in str(refused.value)


@pytest.mark.parametrize(
    "sql", ["select max(age) from people", "select avg(age) from people"]
)
def test_a_declared_answer_graph_allows_more(sql):
    shape = read_shape(sql, FACTS, declared=True)
    assert shape.kind == "declared"
    with pytest.raises(InputError, match="must be named"):
        _ = shape.question


# Of several groups, the one that the database returns first would be the answer.
NO_ONE_VALUE = [
    f"select sex, {what} from people group by sex"
    for what in ("max(age)", "sum(age)", "mode(sex)")
]


@pytest.mark.parametrize(
    "sql", [*WRITES, *READS_ELSEWHERE, *NO_ONE_VALUE, "select pg_sleep(3) from people"]
)
def test_a_declared_answer_graph_does_not_allow_everything(sql):
    with pytest.raises(InputError):
        read_shape(sql, FACTS, declared=True)


def test_what_is_run_is_built_anew():
    sql = "select /* hint */ count(*) from people -- ' ; drop table people\n where name = 'a''b'"
    built = question_text(read_shape(sql, FACTS))
    assert built == (
        'SELECT COUNT(*) AS "a0", COUNT(*) AS "a1" FROM "people" WHERE "name" = \'a\'\'b\''
    )


def test_the_contributions_rule_is_part_of_the_query():
    built = question_text(
        read_shape("select sum(age) from visits where age > 1", FACTS)
    )
    assert 'ROW_NUMBER() OVER (PARTITION BY "id"' in built
    assert '"tightrope_row" <= 3' in built
    people = question_text(read_shape("select count(distinct id) from visits", FACTS))
    assert 'SELECT DISTINCT "id"' in people


def test_names_are_quoted_in_the_dialect():
    shape = read_shape("select count(*) from people where age > 1", FACTS)
    for kind, quote in ((Spark, "`"), (PostgreSQL, '"')):
        built = compiled(
            shape, {"people": Opened(kind("", shape.table), {"age": "bigint"})}
        )
        assert f"FROM {quote}people{quote}" in built
        assert f"{quote}age{quote}" in built
        assert f"{quote}tightrope_0{quote} > 1" in built


@pytest.mark.parametrize(
    "sql",
    [
        "select count(* exclude (age)) from people",
        "select count(*) from people where age between symmetric 3 and 1",
        "select count(*) from people as p(x, y)",
        "select count(*) from a.b.people",
    ],
)
def test_a_property_that_is_not_listed_is_refused(sql):
    with pytest.raises(InputError):
        read_shapes(sql, FACTS)


@pytest.mark.parametrize(
    ("end", "order", "limit"),
    [
        ("order by count(*) desc limit 3", (("n", True),), 3),
        ("order by 2, region", (("n", False), ("region", False)), None),
        ("order by n desc", (("n", True),), None),
        ("limit 1", (), 1),
    ],
)
def test_published_numbers_may_be_sorted(end, order, limit):
    sql = f"select region, count(*) as n from people group by region {end}"
    (shape,) = read_shapes(sql, FACTS)
    assert (shape.after.order, shape.after.limit) == (order, limit)
    with pytest.raises(InputError, match="tightrope ask"):
        read_shape(sql, FACTS)


@pytest.mark.parametrize("end", ["order by age", "order by smoker", "limit age"])
def test_only_what_is_published_sorts(end):
    with pytest.raises(InputError):
        read_shapes(
            f"select region, count(*) as n from people group by region {end}", FACTS
        )


@pytest.mark.parametrize(
    ("sql", "keys", "order"),
    [
        ("select Region, count(*) from people group by region", ("region",), ()),
        ("select region, count(*) from people group by people.REGION", ("region",), ()),
        ('select p."region", count(*) from people p group by region', ("region",), ()),
        (
            "select floor(AGE/9) as d, count(*) from people group by floor(age/9)",
            ("d",),
            (),
        ),
        (
            "select region as R, count(*) as N from people group by r order by n desc, R desc",
            ("R",),
            (("N", True), ("R", True)),
        ),
    ],
)
def test_a_name_is_the_same_in_any_case_and_with_its_table(sql, keys, order):
    (shape,) = read_shapes(sql, FACTS)
    assert (shape.keys, shape.after.order) == (keys, order)


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*), count(*) from people",
        "select region, count(*) as region from people group by region",
        "select count(*) as n, sum(age) as n from people",
    ],
)
def test_two_columns_of_an_answer_have_two_names(sql):
    with pytest.raises(InputError, match="name them apart with AS"):
        read_shapes(sql, FACTS)


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "'3'"])
def test_an_answer_is_not_cut_to_nothing(limit):
    sql = f"select region, count(*) from people group by region limit {limit}"
    with pytest.raises(InputError, match="LIMIT takes a whole number above 0"):
        read_shapes(sql, FACTS)


def test_a_comment_is_no_part_of_a_name():
    (shape,) = read_shapes("select count(*) /* of all */ from people -- end", FACTS)
    assert shape.titles == ("count(*)",)


@pytest.mark.parametrize(
    "sql",
    [
        f"select age{'+1' * 5000} as a, count(*) from people group by a",
        f"select count(*) from people where age > 1{' or age > 1' * 5000}",
        f"select count(*){'+1' * 5000} from people",
        f"select count(*) from people where {'not ' * 5000} smoker",
    ],
)
def test_what_is_nested_too_deeply_is_refused_in_a_line(sql):
    with pytest.raises(InputError) as refused:
        read_shapes(sql, FACTS)
    assert len(str(refused.value)) < 500


def test_a_quantile_of_too_many_values_names_the_step():
    facts = parse_facts(
        "[tables.t]\npopulation = 9\n[tables.t.columns]\npay = { bounds = [0, 9000000] }\n"
        "age = { bounds = [0, 99] }\ntax = { bounds = [0, 900000] }"
    )
    _ = read_shape("select median(tax) from t", facts).draws
    for sql in (
        "select median(pay) from t",
        "select age, median(tax) from t group by age",
    ):
        with pytest.raises(InputError, match="declare it with a larger step"):
            _ = read_shape(sql, facts).draws


def test_the_mode_as_postgresql_writes_it():
    (shape,) = read_shapes(
        "select mode() within group (order by sex) from people", FACTS
    )
    assert (shape.kind, shape.axes[0].classes) == ("most", ("f", "m"))


@pytest.mark.parametrize("what", ["max(born)", "median(name)", "sum(smoker)"])
def test_only_numbers_have_bounds(what):
    with pytest.raises(InputError, match="only numbers are added up or ranked"):
        _ = read_shape(f"select {what} from people", FACTS).draws


@pytest.mark.parametrize("end", ["where name = E'a'", "for update", "tablesample (10)"])
def test_a_refusal_says_nothing_beside_it(end, caplog):
    with pytest.raises(InputError):
        read_shapes(f"select count(*) from people {end}", FACTS)
    assert not caplog.records


def test_a_second_column_is_not_dropped():
    """The pairs were asked for, and the values of the first column were counted."""
    with pytest.raises(InputError, match="computes COUNT"):
        read_shape("select count(distinct age, debt) from people", FACTS, declared=True)
    with pytest.raises(InputError, match=r"aggregate MODE.* is not offered"):
        read_shape(
            "select mode() within group (order by sex, region) from people", FACTS
        )


def test_bins_that_have_no_name_are_refused():
    large = " * 1000000000000000000000000000000000000000" * 9
    for sql in (f"age{large} / 7", f"age{large * 20}", "width_bucket(age)"):
        with pytest.raises(InputError, match="a function of a column"):
            read_shapes(f"select {sql} as a, count(*) from people group by a", FACTS)


def test_a_text_that_cannot_be_written_is_refused():
    """The bytes of a command line may be no UTF-8; a database would be asked with them."""
    with pytest.raises(InputError, match="UTF-8 can hold"):
        read_shapes("select count(*) from people where name = '\udcff'", FACTS)
    with pytest.raises(InputError, match="UTF-8 can hold"):
        read_column("region:north,\udcff")


def test_a_day_that_is_none_is_refused():
    for day in (
        "make_date(99999999999999999999, 1, 1)",
        "make_date(2020, 13, 1)",
        "'2020-02-30'",
    ):
        with pytest.raises(InputError, match="cannot be compared with"):
            read_shapes(f"select count(*) from people where born > {day}", FACTS)


def test_sql_is_parsed_once(monkeypatch):
    """Facts, plans and releases read one tree; what it says does not change by being read."""
    parsed = []
    parse = sqlglot.parse

    def counting(*words, **more):
        parsed.append(words)
        return parse(*words, **more)

    monkeypatch.setattr("sqlglot.parse", counting)
    facts = parse_facts("[tables.people]\npopulation = 123\n")
    sql = "select count(*) as once from people"
    first = read_shapes(sql, facts)
    again = read_shapes(sql, facts)
    assert len(parsed) == 1
    assert first == again
    read_shapes(sql, facts, "postgres")
    assert len(parsed) == 2


QUANTILES = """
[tables.t]
population = {people}
neighbours = "{near}"
[tables.t.columns]
age = {{ bounds = [0, 9] }}
sex = {{ values = ["f", "m"] }}
"""


def asked_shapes(sql, near="add-remove", people=50):
    from tightrope.asking.planning import _merged

    facts = parse_facts(QUANTILES.format(people=people, near=near))
    return _merged(read_shapes(sql, facts, "duckdb"))


def test_quantiles_of_the_same_rows_are_one_draw():
    sql = "select quantile(age, .9) as high, median(age) as m from t"
    (shape,) = asked_shapes(sql)
    assert shape.question == "quantiles(1/2,9/10,10,50)"
    assert shape.reading.places == (1, 0)
    told = estimates(shape.reading, [None], (4, 8), "0.95")[()]
    assert [number.value for number in told] == [8, 4]


@pytest.mark.parametrize(
    ("sql", "people"),
    [
        ("select median(age) from t where sex = 'f'; ", 50),
        ("select quantile(age, 0.142857), quantile(age, 0.0001) from t", 50),
        ("select quantile(age, 0.9), median(age) from t", 2_000_000),
    ],
)
def test_what_is_no_joint_draw_is_drawn_with_intervals(sql, people):
    shapes = asked_shapes(sql, people=people)
    assert {shape.question.partition("(")[0] for shape in shapes} == {"bracket"}


def test_groups_of_people_who_change_are_two_steps_of_add_remove():
    for near, width in (("add-remove", 1), ("change-one", 2), ("either", 2)):
        sql = "select sex, median(age) from t group by sex"
        (draw,) = asked_shapes(sql, near)[0].draws
        assert (draw.neighbours.value, draw.width) == ("add-remove", width)


def test_what_stands_for_an_extreme_is_said():
    (shape,) = asked_shapes("select min(age), max(age) as oldest from t")
    assert shape.titles == ("min(age) (1 % quantile)", "oldest")
    assert any("the 1 % and the 99 % quantile" in note for note in shape.notes())
    (plain,) = asked_shapes("select quantile(age, 0.01) as low from t")
    assert not any("MIN" in note for note in plain.notes())


#: What people asked in SQL and what its draws are called.
CALLED = {
    "select count(*) from people where smoker": ["the count"],
    "select count(distinct id) from visits": ["the count of people"],
    "select region, count(*) from people group by region": ["the count by region"],
    "select count_if(smoker), count(*) from people": ["the 2 counts together"],
    "select sum(debt) from people": ["the sum of debt"],
    "select region, sum(debt) from people group by region": [
        "the sum of debt in each group of region"
    ],
    "select sum(debt) from frozen": ["the sum of debt (counted in steps)"],
    "select avg(age) from people": ["the sum of age", "the count of values of age"],
    "select avg(debt) from guests": [
        "the sum and the count of values of debt (counted in steps)"
    ],
    "select region, avg(debt) from frozen group by region": [
        "the sum of debt in each group of region (counted in steps)",
        "the count of values of debt in each group of region",
    ],
    "select var_samp(debt) from people": [
        "the centred sum of debt",
        "the centred sum of debt · debt",
        "the count of rows with all values",
    ],
    "select count(*) % 7 from people": ["the count modulo 7"],
    "select count(distinct name) from people": [
        "the count of different values of name"
    ],
    "select mode(region) from people": ["the most common region"],
    "select sex, median(debt) from people group by sex": [
        "the quantile of debt in each group of sex"
    ],
    "select sex, region, count(*) from people group by cube (sex, region)": [
        "the count in each cell of sex × region"
    ],
    "select sex, region, sum(debt) from people group by cube (sex, region)": [
        "the sum of debt in each cell of sex × region (counted in steps)"
    ],
    "select sex, count(*), count(*) filter (where smoker) from people group by sex": [
        "the count by sex × smoker"
    ],
    "select debt, sum(count(*)) over (order by debt) from people group by debt": [
        "the count in each group of debt"
    ],
    "select name, count(*) from people group by name": [
        "the count in each group of name"
    ],
    "select name, avg(debt) from people group by name": [
        "the count in each group of name",
        "the sum of debt in each group of name",
    ],
}
OTHERS = """
[tables.frozen]
population = 100
frozen = true
[tables.frozen.columns]
debt = { bounds = [-5, 5] }
region = { values = ["north", "south"] }
[tables.guests]
population = 100
neighbours = "add-remove"
[tables.guests.columns]
debt = { bounds = [-5, 5] }
region = { values = ["north", "south"] }
"""


def test_what_is_drawn_is_called_in_the_words_of_the_question():
    """Whoever asked in SQL never saw the query that noise is made for."""
    facts = {**FACTS.tables, **parse_facts(OTHERS).tables}
    found = {}
    kinds = set()
    for sql in CALLED:
        (shape,) = read_shapes(sql, Facts(facts))
        if shape.needs_delta:
            shape = shape.with_delta(Fraction(1, 10**6))
        drawn = shape.as_asked().planned(Epsilon.of(1))
        found[sql] = [draw.words for draw in drawn.draws]
        kinds.add(drawn.kind)
    assert found == CALLED
    # A graph of the user's own has no draws here; people by group are one way to draw counts.
    assert kinds == {*SHAPES} - {"declared", "people by group"}


def test_a_quantile_has_as_many_values_as_can_be_counted():
    def draws(values):
        facts = parse_facts(
            f"[tables.people]\npopulation = 9\n"
            f"[tables.people.columns]\nage = {{ bounds = [0, {values - 1}] }}\n"
        )
        return read_shape("select quantile(age, 0.5) from people", facts).draws

    assert len(draws(1 << 20)) == 1
    with pytest.raises(InputError, match="at most 1048576 possible values"):
        draws((1 << 20) + 1)
