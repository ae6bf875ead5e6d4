"""FROM is read through: WITH, subqueries, UNION ALL of disjoint parts, public lookup tables."""

import pyarrow
import pytest
import sqlglot
from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish import parse_facts, read_facts
from tightrope.publish.scopes import scope_of
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import open_source
from tightrope.publish.sql_from import without_layer
from tightrope.publish.sql_reader import read_shapes
from tightrope.publish.sql_spelling import spelled_alike

TEXT = """
[tables.people]
population = 100
neighbours = "add-remove"

[tables.people.columns]
age = { bounds = [0, 99] }
sex = { values = ["f", "m"] }
area = { type = "text" }
smokes = { type = "boolean" }

[tables.people.partitions.stage]
column = "age"
parts = { young = "0..29", old = "30..99" }
"""
FACTS = parse_facts(TEXT)

#: What is written through something, and the same question without it.
ALIKE = [
    (
        "with a as (select * from people where age > 17) select sex, count(*) from a group by sex",
        "select sex, count(*) from people where age > 17 group by sex",
    ),
    (
        "with a as (select age as years, sex from people where smokes), "
        "b as (select years, sex as gender from a where years < 65) "
        "select gender, avg(years) as m from b group by gender",
        "select sex as gender, avg(age) as m from people where smokes and age < 65 group by sex",
    ),
    (
        "select decade, count(*) as n from (select floor(age / 10) as decade, sex from people) t "
        "where t.sex = 'f' group by decade",
        "select floor(age / 10) as decade, count(*) as n from people where sex = 'f' "
        "group by decade",
    ),
    (
        "select count(*) from (select age from (select * from people where smokes) where age > 3)",
        "select count(*) from people where smokes and age > 3",
    ),
    (
        "select stage, count(*) from (select * from people) p group by p.stage",
        "select stage, count(*) from people group by stage",
    ),
    (
        "with people as (select * from people where smokes) select count(*) from people",
        "select count(*) from people where smokes",
    ),
    (
        "select count(*) from (select sex from people where sex = 'f' and age > 3 "
        "union all select sex from people where sex = 'm') u",
        "select count(*) from people where (sex = 'f' and age > 3) or sex = 'm'",
    ),
    (
        "select avg(age) from (select * from people where age < 20 union all "
        "select * from people where age between 20 and 29 union all "
        "select * from people where age >= 80) u",
        "select avg(age) from people where age < 20 or age between 20 and 29 or age >= 80",
    ),
]


@pytest.mark.parametrize(("through", "plain"), ALIKE)
def test_what_is_written_through_something_is_the_same_question(through, plain):
    (one,) = read_shapes(through, FACTS)
    (other,) = read_shapes(plain, FACTS)
    assert (one.keys, one.titles, one.axes) == (other.keys, other.titles, other.axes)
    data = pyarrow.table(
        {
            "age": [1, 19, 20, 35, 70, 85, None],
            "sex": ["f", "m", "m", "f", "x", "f", None],
            "area": ["a"] * 7,
            "smokes": [True, True, None, False, True, True, True],
        }
    )
    found = []
    for shape in (one, other):
        with open_source(data, shape.table) as source:
            found.append(SealedQuery(source, shape).nodes())
    assert found[0] == found[1]


REFUSED = {
    "with a as (select sex from people) select count(*) from a where age > 3": "not chosen by",
    "with a as (select sex, count(*) from people group by sex) select count(*) from a": "GROUP",
    "with recursive a as (select * from people) select count(*) from a": "RECURSIVE computes",
    "select count(*) from (select * from people limit 3)": "LIMIT",
    "select count(*) from (select age + 1 from people)": "with AS",
    "select count(*) from (select * from people where age < 30 union all "
    "select * from people where age > 20) u": "must exclude each other",
    "select count(*) from (select * from people where area = 'a' union all "
    "select * from people where area = 'b') u": "must exclude each other",
    "select count(*) from (select * from people where smokes union all "
    "select * from people) u": "must exclude each other",
    "select count(*) from (select * from people where sex = 'f' union "
    "select * from people where sex = 'm') u": "write UNION ALL",
    "select count(*) from (select sex from people where sex = 'f' union all "
    "select area from people where sex = 'm') u": "the same columns",
    "select count(*) from people a join people b on a.age = b.age": "joined with itself",
    "select count(*) from people, people b": "joined with itself",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_other_subqueries_are_refused(sql):
    with pytest.raises(InputError, match=REFUSED[sql]):
        read_shapes(sql, FACTS)


# -- public lookup tables ------------------------------------------------------------------------

AREAS = "code,county,coast,size\nA1,Kent,true,3\nA2,Kent,false,4\nB1,Essex,true,\n,nobody,,\n"


@pytest.fixture
def town(tmp_path):
    """Facts with a public table beside the people."""
    (tmp_path / "areas.csv").write_text(AREAS)
    more = """
[tables.areas]
source = "areas.csv"
public = true
key = "code"

[tables.areas.columns]
coast = { type = "boolean" }
size = { type = "integer" }
"""
    (tmp_path / "tightrope.toml").write_text(TEXT + more)
    return read_facts(tmp_path / "tightrope.toml")


PEOPLE = pyarrow.table(
    {
        "age": [1, 19, 20, 35, 70, 85],
        "sex": ["f", "m", "m", "f", "f", "f"],
        "area": ["A1", "A2", "B1", "C9", None, "A1"],
        "smokes": [True] * 6,
    }
)


@pytest.mark.parametrize(
    ("sql", "classes", "answer"),
    [
        (
            "select county, count(*) from people p join areas a on p.area = a.code group by county",
            ("Kent", "Essex"),
            (3, 1),
        ),
        (
            "select a.code, count(*) from people p left join areas a on a.code = p.area "
            "where a.coast group by a.code",
            ("A1", "A2", "B1"),
            (2, 0, 1),
        ),
        (
            "select size + 1 as s, count(*) from people join areas on area = areas.code group by s",
            (4, 5),
            (2, 1),
        ),
        (
            "with p as (select area as code from people where sex = 'f') "
            "select upper(county) as c, count(*) from p join areas using (code) group by c",
            ("KENT", "ESSEX"),
            (2, 0),
        ),
    ],
)
def test_a_public_table_is_joined(town, sql, classes, answer):
    (shape,) = read_shapes(sql, town)
    assert shape.axes[0].classes == classes
    with open_source(PEOPLE, shape.table) as source:
        assert shape.answer(SealedQuery(source, shape)._rows()) == answer
    assert "rows without a partner in areas" in str(scope_of(shape))


def test_rows_without_a_partner(town):
    counts = {}
    for word in ("join", "left join"):
        sql = f"select count(*) from people {word} areas on area = areas.code"
        (shape,) = read_shapes(sql, town)
        with open_source(PEOPLE, shape.table) as source:
            counts[word] = shape.answer(SealedQuery(source, shape)._rows())
    assert counts == {"join": 4, "left join": 6}


def test_joins_that_are_not_many_to_one_are_refused(town, tmp_path):
    def refused(sql, words):
        with pytest.raises(InputError, match=words):
            read_shapes(sql, town)

    refused("select count(*) from areas", "is public")
    refused(
        "select count(*) from people join areas on area = areas.county",
        "by its key alone",
    )
    refused(
        "select count(*) from people right join areas on area = areas.code", "LEFT JOIN"
    )
    refused("select count(*) from people cross join areas", "LEFT JOIN")
    (tmp_path / "areas.csv").write_text(AREAS + "A1,Surrey,true,1\n")
    refused("select count(*) from people join areas on area = areas.code", "twice")
    (tmp_path / "areas.csv").unlink()
    refused(
        "select count(*) from people join areas on area = areas.code", "no such file"
    )


def test_a_public_table_has_a_key_and_a_source():
    with pytest.raises(InputError, match="must have a source, and the key"):
        parse_facts("[tables.areas]\npublic = true")


def test_a_layer_around_groups_is_the_question_that_it_is_about():
    inner = "select region, count(*) as n from people group by region"
    layered = (
        f"with t as ({inner}) select region, n * 2 as m from t where n > 9 order by m"
    )
    plain = (
        "select region, count(*) * 2 as m from people group by region having count(*) > 9 "
        "order by m"
    )
    merged = without_layer(sqlglot.parse_one(layered)).sql()
    merged = merged.replace("(COUNT(*))", "COUNT(*)").replace(
        "region AS region", "region"
    )
    assert merged == sqlglot.parse_one(plain).sql()


@pytest.mark.parametrize(
    ("layered", "plain"),
    [
        (
            "select * from (select a as b, count(*) as n from t group by a having n > 3) g",
            "select a as b, count(*) as n from t group by a having count(*) > 3",
        ),
        (
            "select b from (select a as b, rank() over (order by count(*)) as place from t "
            "group by a) g where place = 1",
            "select a as b from t group by a qualify rank() over (order by count(*)) = 1",
        ),
    ],
)
def test_a_layer_chooses_lines_behind_the_windows_inside(layered, plain):
    merged = without_layer(sqlglot.parse_one(layered))
    # Without the brackets that keep the precedence.
    flat = merged.transform(
        lambda node: node.this if isinstance(node, exp.Paren) else node
    )
    for inner in list(flat.find_all(exp.Paren)):
        inner.replace(inner.this)
    assert flat.sql() == sqlglot.parse_one(plain).sql()


@pytest.mark.parametrize(
    "sql",
    [
        # An aggregate of published numbers, another choice of lines, and windows on chosen lines.
        "select max(n) from (select a, count(*) as n from t group by a) g",
        "select a, n from (select a, count(*) as n from t group by a limit 2) g",
        "select n / sum(n) over () from (select a, count(*) as n from t group by a) g where n > 1",
        "select a, n from (select a, count(*) as n from t group by rollup(a)) g",
    ],
)
def test_other_layers_stay(sql):
    tree = sqlglot.parse_one(sql)
    assert without_layer(tree) is tree


SPELLED = {
    "select 1 from t where d < date '2024-01-31' + interval 1 month": "'2024-02-29'",
    "select 1 from t where d < date '2024-03-31' - interval '1 quarter'": "'2023-12-31'",
    "select 1 from t where d < date '2024-02-29' - interval 1 year": "'2023-02-28'",
    "select 1 from t where d < date '2024-01-01' - interval 2 weeks": "'2023-12-18'",
    "select 1 from t where a in (values (1), (2))": "a IN (1, 2)",
    "select a, sum(b) from t group by all": "GROUP BY a",
    "select 1 from t, u where t.a = u.b and t.c > 1": "JOIN u ON t.a = u.b WHERE t.c > 1",
    "select 1 from t, u where t.a = u.b": "JOIN u ON t.a = u.b",
    "select round(if(a > 1, iff(b, 2, 3), 4))": "ROUND(CASE WHEN a > 1 THEN CASE WHEN b THEN 2",
    "select safe_divide(a, b), div0(a, b)": "a / NULLIF(b, 0), COALESCE(a / NULLIF(b, 0), 0)",
    "select 1 from t where (a, b) in ((1, 2), (3, 4))": "((a = 1 AND b = 2) OR (a = 3 AND b = 4))",
    "select to_char(d, 'YYYY-MM')": "TIME_TO_STR(d, '%Y-%m')",
    "select 1.5e3 + 2e-2": "1500.0 + 0.02",
    "select a from t fetch first 2 rows only": "LIMIT 2",
    "select sum_if(a, b > 1) from t": "SUM(a) FILTER(WHERE b > 1)",
    "select 1 from (select distinct a from t) x": "(SELECT a FROM t GROUP BY a)",
    "select 1 from t where a in (select b from u where c > 1) and d > 2": (
        'JOIN (SELECT b AS "key 1", COUNT(*) AS "rows 1" FROM u WHERE c > 1 GROUP BY b) AS '
        '"members 1" ON a = "members 1"."key 1" WHERE d > 2'
    ),
    "select 1 from t where not exists (select 1 from u where u.b = t.a and c > 1)": (
        'LEFT JOIN (SELECT u.b AS "key 1", COUNT(*) AS "rows 1" FROM u WHERE c > 1 GROUP BY u.b) '
        'AS "members 1" ON t.a = "members 1"."key 1" WHERE NOT (NOT "members 1"."rows 1" IS NULL)'
    ),
}
AS_WRITTEN = [
    "SELECT 1 FROM t WHERE d < CAST('9999-12-31' AS DATE) + INTERVAL '1' DAY",
    "SELECT 1 FROM t WHERE d < CAST('2024-01-01' AS DATE) + INTERVAL '1' HOUR",
    "SELECT 1 FROM t WHERE d < CAST('soon' AS DATE) + INTERVAL '1' DAY",
    "SELECT 1 FROM t WHERE a IN (SELECT b FROM u LIMIT 3)",
    "SELECT 1 FROM t WHERE a + 1 IN (SELECT b FROM u)",
    "SELECT 1 FROM t WHERE EXISTS(SELECT 1 FROM u WHERE b > 1)",
    "SELECT 1 FROM t WHERE (a, b) IN ((1, 2), 3)",
    "SELECT DISTINCT a FROM t",
    "SELECT CASE WHEN a THEN 1 ELSE 0 END FROM t",
    "SELECT 1e99 FROM t",
    "SELECT a FROM t FETCH FIRST 2 PERCENT ROWS ONLY",
    "SELECT 1 FROM t WHERE a IN (VALUES (1, 2))",
    "SELECT 1 FROM t, u WHERE t.a > u.b",
    "SELECT 1 FROM t, u WHERE a = b",
]


@pytest.mark.parametrize("sql", SPELLED)
def test_spellings_of_one_thing_are_one(sql):
    assert SPELLED[sql] in spelled_alike(sqlglot.parse_one(sql)).sql()


@pytest.mark.parametrize("sql", AS_WRITTEN)
def test_what_is_something_else_stays(sql):
    assert spelled_alike(sqlglot.parse_one(sql)).sql() == sql
