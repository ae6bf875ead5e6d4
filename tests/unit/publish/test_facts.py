"""Public facts: what is read, and the key that every refusal names."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from tightrope.cli import main
from tightrope.errors import InputError
from tightrope.publish import parse_facts, read_facts
from tightrope.publish.facts import Column, Table, facts_text, read_column, write_facts
from tightrope.queries import Neighbours

WHOLE = """
[tables.people]
source = "people.parquet"
relation = "hr.people"
population = 5000
neighbours = "add-remove"
budget = "3*ln(2)"
person = "id"
contributions = 2
[tables.people.columns]
age = { bounds = [0, 120] }
region = { values = ["north", "south"], other = "south" }
[tables.people.partitions.region]
column = "region"
fixed = true
parts = { north = ["north"], south = ["south"] }
[users.alice]
budget = 0.1
"""


def test_everything_is_read():
    facts = parse_facts(WHOLE)
    people = facts.table("PEOPLE")
    assert people.population == 5000
    assert people.neighbours is Neighbours.ADD_REMOVE
    assert people.column("Age").bounds == (0, 120)
    assert people.column("region").other == "south"
    assert people.contributions == 2
    assert people.relation == "hr.people"
    assert people.partition("region", "north").width(Neighbours.CHANGE_ONE) == 1
    assert facts.user_budget("alice") == Fraction(1, 10)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("population = 5000", "population = 0"), "tables.people.population"),
        (("population = 5000", "population = 1.5"), "tables.people.population"),
        (("population = 5000", "population = true"), "tables.people.population"),
        (('"add-remove"', '"cousins"'), "tables.people.neighbours"),
        (('"3*ln(2)"', '"much"'), "tables.people.budget"),
        (('"3*ln(2)"', "-1"), "tables.people.budget"),
        (('person = "id"', "person = 3"), "tables.people.person"),
        (('person = "id"\n', ""), "tables.people.person must name"),
        (("contributions = 2", "contributions = 0"), "tables.people.contributions"),
        (("[0, 120]", "[120, 0]"), "tables.people.columns.age.bounds"),
        (("[0, 120]", "[0, 1, 2]"), "tables.people.columns.age.bounds"),
        (("[0, 120]", '["a", "b"]'), "tables.people.columns.age.bounds"),
        (
            ('["north", "south"], other', "[], other"),
            "tables.people.columns.region.values",
        ),
        (('["north", "south"], other', '["a", 3], other'), "columns.region.values"),
        (('["north", "south"], other', '["a", "a"], other'), "columns.region.values"),
        (('other = "south"', 'other = "west"'), "columns.region.other"),
        (
            ("bounds = [0, 120]", "bond = 3"),
            "tables.people.columns.age.bond is not a key",
        ),
        (("bounds = [0, 120]", 'type = "colour"'), "tables.people.columns.age.type"),
        (
            ('south = ["south"]', 'south = ["north"]'),
            "partitions.region.parts must be disjoint",
        ),
        (('south = ["south"]', "south = [3]"), "partitions.region.parts.south"),
        (('column = "region"', 'column = "county"'), "partitions.region.column"),
        (("fixed = true", "fixed = 1"), "partitions.region.fixed"),
        (("budget = 0.1", ""), "users.alice.budget is missing"),
        (("[users.alice]", "[user.alice]"), "user is not a key"),
        (("[users.alice]", "[users."), "not TOML"),
    ],
)
def test_refusals_name_the_key(change, says):
    text = WHOLE.replace(*change)
    assert text != WHOLE
    with pytest.raises(InputError) as refused:
        parse_facts(text)
    assert says in str(refused.value)
    assert str(refused.value).startswith("tightrope.toml: ")


def test_parts_of_people_with_several_rows_must_be_fixed():
    facts = parse_facts(WHOLE.replace("fixed = true", "fixed = false"))
    with pytest.raises(InputError, match="set fixed = true"):
        facts.table("people").partition("region", "north")


def test_written_facts_are_read_again(tmp_path):
    age = Column("age", "integer", bounds=(0, 120))
    odd = Column("où est-il", "text", values=("ici", 'l"à'))
    table = Table(
        "people",
        9,
        Neighbours.EITHER,
        {"age": age, odd.name: odd, "born": Column("born", "date")},
        budget=Fraction(1, 3),
        source="a.csv",
    )
    path = tmp_path / "tightrope.toml"
    write_facts(table, path)
    found = read_facts(path).table("people")
    assert found == replace(table, source=str(tmp_path / "a.csv"))
    with pytest.raises(InputError, match="already"):
        write_facts(table, path)
    assert "contributions" not in facts_text(table)


@pytest.mark.parametrize("text", ["age", "age:", ":3", "age:9..1", "g:a,a"])
def test_columns_in_one_word(text):
    with pytest.raises(InputError):
        read_column(text)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("age:0-120", "age:0..120"),
        ("age:0 to 120", "age:0..120"),
        ("age:0...120", "age:0..120"),
        ("born:dates", "born:date"),
        ("n:numbr", "n:number"),
    ],
)
def test_a_slip_in_one_word_is_not_the_only_value(text, cure):
    """It would count everybody as (other), and cost budget."""
    with pytest.raises(InputError, match=cure):
        read_column(text)
    assert read_column("year:2020-2021,2021-2022").values == ("2020-2021", "2021-2022")


def test_init_without_anybody_to_ask(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "init",
        "--table",
        "people",
        "--population",
        "50",
        "--column",
        "age:0..90",
        "--json",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == (
        '{"file": "tightrope.toml", "table": "people", "columns": ["age"], "undeclared": []}\n'
    )
    assert read_facts("tightrope.toml").table("people").column("age").bounds == (0, 90)
    assert main(words) == 2
    assert main(["init", "--table", "people", "--replace", "--json"]) == 2
    assert "give --population" in capsys.readouterr().err


def test_init_looks_at_data_only_when_it_is_public(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    duckdb.sql("copy (select 3 as lanes, 'a' as kind) to 'roads.parquet'")
    words = ["init", "roads.parquet", "--table", "roads", "--population", "5"]
    assert main([*words, "--json"]) == 0
    assert not read_facts("tightrope.toml").table("roads").columns
    assert main([*words, "--json", "--replace", "--data-is-public"]) == 0
    assert read_facts("tightrope.toml").table("roads").column("lanes").bounds == (3, 3)
    capsys.readouterr()


def test_init_takes_types_from_the_catalogue(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("d.duckdb") as db:
        db.execute(
            "create table people (age integer, height double, sex varchar, born date)"
        )
    words = ["init", "d.duckdb", "--table", "people", "--population", "9"]
    assert main([*words, "--column", "age:0..90", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["undeclared"] == ["height", "sex", "born"]
    found = read_facts("tightrope.toml").table("people").columns
    types = {name: column.type for name, column in found.items()}
    assert types == {
        "age": "integer",
        "height": "number",
        "sex": "text",
        "born": "date",
    }


def test_public_data_tells_whole_numbers_from_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("fair.csv").write_text("age,educ,job\n17.5,9.0,a\n22.0,12.0,\n27.0,20.0,b\n")
    assert main(["init", "fair.csv", "--data-is-public", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table"] == "fair"
    fair = read_facts("tightrope.toml").table("fair")
    assert fair.population == 3
    age = fair.column("age")
    assert (age.type, age.bounds, age.step) == ("number", (17, 27), 1)
    assert fair.column("educ").bounds == (9, 20)
    assert fair.column("educ").complete
    assert not fair.column("job").complete


def test_public_data_has_dates_and_other_letters(tmp_path, monkeypatch, capsys):
    """As JSON writes it, a sign beyond 16 bits is two, which TOML refuses."""
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(
        "geboren,größe,laune\n2001-02-03,1.8,\U0001f600\n2001-02-04,1.7,ü\n"
    )
    assert main(["init", "p.csv", "--data-is-public"]) == 0
    capsys.readouterr()
    assert "größe = " in Path("tightrope.toml").read_text().replace('"', "")
    found = read_facts("tightrope.toml").table("p").columns
    assert [column.type for column in found.values()] == ["date", "number", "text"]
    assert found["laune"].values == ("ü", "\U0001f600")


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("{ bounds = [17.5, 42], step = 0.5 }", ("number", (35, 84), Fraction(1, 2))),
        ('{ type = "number", bounds = [0, 9] }', ("number", (0, 9), 1)),
        ("{ bounds = [-200, 500], step = 100 }", ("number", (-2, 5), 100)),
        ("{ bounds = [17.5, 42] }", "multiples of the step 1: set step"),
        ("{ bounds = [0, 9], step = 0 }", "multiples of the step"),
        ("{ bounds = [0, 9], step = -1 }", "multiples of the step"),
        ("{ bounds = [0, 9], step = true }", "must be numbers"),
        ("{ bounds = [0, 9], step = inf }", "must be numbers"),
        ("{ bounds = [0, 9], step = 1e-999999999 }", "must be numbers"),
        (
            '{ type = "integer", bounds = [0, 9], step = 3 }',
            "of type number, not integer",
        ),
        ("{ step = 3 }", "add tables.people.columns.x.bounds"),
        ("{ bounds = [0, 9], step = 1e-9 }", "from -1000000000 to"),
    ],
)
def test_numbers_with_bounds_are_rounded_to_a_step(entry, found):
    text = f"[tables.people]\npopulation = 5\n[tables.people.columns]\nx = {entry}\n"
    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            parse_facts(text)
        return
    table = parse_facts(text).table("people")
    x = table.column("x")
    assert (x.type, x.bounds, x.step) == found
    assert parse_facts(facts_text(table)).table("people") == table


def test_init_asks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,sex,born\n")
    typed = iter(
        ["peple.csv", "people.csv", "many", "50", "both", "either", "two", "2", "age",
         "age:0..90", "born:date", ""]
    )  # fmt: skip
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(typed))
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    # Each wrong answer is asked for again at once.
    assert said.count("Try again:") == 5
    for wrong in ("peple.csv", "got 'many'", "got 'both'", "got 'two'", "got 'age'"):
        assert wrong in said
    assert "written: tightrope.toml" in said
    people = read_facts("tightrope.toml").table("people")
    assert people.neighbours is Neighbours.EITHER
    assert list(people.columns) == ["age", "born"]
    assert people.budget == 2
    assert "# sex = { }" in Path("tightrope.toml").read_text()
    typed = iter([])
    assert main(["init"]) == 2
    assert "use --replace to overwrite it" in capsys.readouterr().err


def test_init_writes_no_facts_about_a_table_that_cannot_be_read(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("later.duckdb").write_bytes(b"a file of a newer version")
    for source in ("missing.csv", "later.duckdb"):
        words = ["init", source, "--table", "people", "--population", "5", "--json"]
        assert main(words) == 2
        assert source in capsys.readouterr().err
        assert not Path("tightrope.toml").exists()
    assert main(["init", "--table", "people", "--population", "5", "--json"]) == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ["--column", "agee:0..90"],
            "people.csv has no column 'agee' (it has id, age)",
        ),
        (["--person", "name"], "people.csv has no column 'name'"),
        (["--contributions", "3"], "must name the column that tells people apart"),
    ],
)
def test_init_refuses_what_cannot_be_meant(tmp_path, monkeypatch, capsys, more, says):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("id,age\n1,31\n")
    assert main(["init", "people.csv", "--population", "5", *more, "--json"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("tightrope.toml").exists()


@pytest.mark.parametrize("number", ["9" * 5000, "1e99999999999999999999"])
def test_a_number_that_is_too_long_is_refused_in_a_line(number):
    with pytest.raises(InputError, match="too long to be read"):
        parse_facts(f"[tables.people]\npopulation = {number}")
