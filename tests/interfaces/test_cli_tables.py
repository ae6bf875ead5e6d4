"""GROUPING SETS, CUBE and ROLLUP: one job, one plan, tables that add up."""

import itertools
import json
import math
import re
import zipfile
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest

import tightrope as tr
from tightrope.asking import plan
from tightrope.asking.answers import published_numbers
from tightrope.asking.cache import drawn_from
from tightrope.asking.jobs import QuestionSpec
from tightrope.certify import certify
from tightrope.channels import UnboundedNoise
from tightrope.errors import InputError, TooLarge
from tightrope.publish import Ledger, verify_receipt
from tightrope.publish.noise.lattice import LatticeNoise
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes.tables import JobNumbers
from tightrope.queries import query

FACTS = """
[tables.people]
source = "people.csv"
population = 600
neighbours = "{neighbours}"
budget = "10"
[tables.people.columns]
age = {{ bounds = [0, 3] }}
sex = {{ values = ["f", "m"]{complete} }}
region = {{ values = ["north", "south"]{complete} }}
"""
CUBE = "select sex, region, count(*) as n from people group by cube (sex, region)"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    rows = [
        f"{i % 4},{'fm'[i % 2]},{['north', 'south', 'south'][i % 3]}"
        for i in range(600)
    ]
    Path("people.csv").write_text("\n".join(["age,sex,region", *rows]) + "\n")
    write_facts("add-remove")


def write_facts(neighbours, complete=""):
    Path("tightrope.toml").write_text(
        FACTS.format(neighbours=neighbours, complete=complete)
    )


def test_a_cube_has_one_list_of_rows_with_nulls_and_the_place_of_its_set(run):
    told = run("ask", CUBE, "--epsilon", "1", "--json").data
    assert told["columns"] == ["table", "sex", "region", "n"]
    assert told["charged"] == "1"
    places = [(row["table"], row["sex"], row["region"]) for row in told["rows"]]
    assert places == [
        *((0, sex, region) for sex in "fm" for region in ("north", "south")),
        *((1, sex, None) for sex in "fm"),
        *((2, None, region) for region in ("north", "south")),
        (3, None, None),
    ]
    for row in told["rows"]:
        assert 0 <= row["n"]["low"] <= row["n"]["high"]
    assert told["plan"] == [{"table": ["sex", "region"], "share": 1.0, "epsilon": "1"}]
    assert verify_receipt(told["receipt"]).genuine
    assert not told[
        "certified"
    ]  # the noise of each cell is the best, the plan is not proved


@pytest.mark.parametrize(
    ("neighbours", "complete"),
    [("add-remove", ""), ("change-one", ""), ("change-one", ", complete = true")],
)
def test_tables_add_up_exactly(neighbours, complete):
    write_facts(neighbours, complete)
    sql = (
        "select sex, region, age, count(*) as n from people "
        "group by grouping sets ((sex, region), (age, sex), (region), ())"
    )
    answer = tr.ask(sql, epsilon="1/2", facts="tightrope.toml")
    numbers = {names: told[0].value for names, told in answer.rows}
    total = numbers[3, None, None, None]
    regions = {r: numbers[2, None, r, None] for r in ("north", "south")}
    assert sum(regions.values()) == total
    for region, count in regions.items():
        assert sum(numbers[0, sex, region, None] for sex in "fm") == count
    ages = (numbers[1, sex, None, age] for sex in "fm" for age in range(4))
    assert sum(ages) == total


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_cube_of_sums_is_paid_once_and_adds_up(run, neighbours):
    write_facts(neighbours, ", complete = true")
    sql = "select sex, region, sum(age) as s from people group by cube (sex, region)"
    told = run("ask", sql, "--epsilon", "2", "--json").data
    assert told["charged"] == "2"
    assert [table["epsilon"] for table in told["plan"]] == ["2"]
    sums = {(row["sex"], row["region"]): row["s"] for row in told["rows"]}
    total = sums[None, None]
    assert total["low"] < total["value"] < total["high"]  # under change-one as well
    assert sum(sums[sex, None]["value"] for sex in "fm") == total["value"]
    cells = (sums[sex, region] for sex in "fm" for region in ("north", "south"))
    assert sum(cell["value"] for cell in cells) == total["value"]
    assert verify_receipt(told["receipt"]).genuine


def test_a_public_total_is_published_as_it_is():
    write_facts("change-one", ", complete = true")
    answer = tr.ask(CUBE, epsilon="1/2", facts="tightrope.toml")
    (last,) = [told[0] for names, told in answer.rows if names[0] == 3]
    assert (last.value, last.low, last.high) == (600, 600, 600)


def test_planning_together_is_better_than_splitting():
    names = ("age", "sex", "region")
    sets = [
        f"({', '.join(s)})" for k in (1, 2) for s in itertools.combinations(names, k)
    ]
    job = plan(
        [
            "select age, sex, region, count(*) as n from people "
            f"group by grouping sets ({', '.join(sets)})"
        ],
        epsilon=1,
    )
    (question,) = job.questions
    errors = question.parts[0].errors
    assert len(errors) == 6
    assert all(2 * error < question.usual[0] for error in errors)
    assert "Measured: age × sex × region" in " ".join(question.notes)


def test_the_dry_run_shows_the_plan_and_the_error_of_each_table(run):
    told = run("ask", CUBE, "--epsilon", "1", "--dry-run", "--json").data
    assert told["plan"] == [{"table": ["sex", "region"], "share": 1.0, "epsilon": "1"}]
    assert [table["table"] for table in told["published"]] == [
        ["sex", "region"], ["sex"], ["region"], [],
    ]  # fmt: skip
    # Splitting measures each of the four tables at a quarter of ε.
    assert [table["margin"] for table in told["published"]] == [3, 4, 4, 5]
    assert {table["split"] for table in told["published"]} == {12}
    shown = run("ask", CUBE, "--epsilon", "1", "--dry-run").out
    assert re.search(r"published +margin \(95 %\) +if ε were split", shown)
    assert re.search(r"n by sex × region +± 3 +± 12", shown)
    assert re.search(r"n in all +± 5 +± 12", shown)
    assert re.search(r"sex × region +1 +100% +█{24}\n", shown)


def test_the_largest_margin_is_smaller_when_it_is_planned_for():
    sql = (
        "select age, sex, region, count(*) as n from people "
        "group by grouping sets ((age, sex), region)"
    )
    (mean,) = plan([sql], epsilon="1/10").questions
    (largest,) = plan([sql], epsilon="1/10", largest=True).questions
    assert max(largest.parts[0].errors) < max(mean.parts[0].errors)


@pytest.mark.parametrize("what", ["sum(age) as s", "count(*) as n, avg(age) as a"])
def test_the_largest_margin_of_sums_and_means_is_planned_for_too(what):
    sql = (
        f"select age, sex, region, {what} from people "
        "group by grouping sets ((age, sex), region)"
    )
    (mean,) = plan([sql], epsilon="1/10").questions
    (largest,) = plan([sql], epsilon="1/10", largest=True).questions
    assert [part.shape.titles for part in largest.parts] == [
        part.shape.titles for part in mean.parts
    ]
    # The tables of the first title count the same: the larger of their two errors shrinks.
    titles = len(mean.parts[0].shape.titles)
    first = [part.errors[::titles] for part in (largest.parts[0], mean.parts[0])]
    assert max(first[0]) < max(first[1])


def test_one_table_has_no_largest_margin_to_plan_for(run):
    sql = "select sex, count(*) as n from people group by sex"
    told = run("ask", sql, "--epsilon", "1", "--largest")
    assert told.code == 2
    assert "--largest is for several tables of counts" in told.err


def test_an_error_that_is_wanted_is_kept_by_every_table():
    rolled = "select sex, count(*) as n from people group by rollup (sex)"
    job = plan([QuestionSpec(rolled, error=Fraction(20))])
    (question,) = job.questions
    assert max(question.parts[0].errors) <= 20
    less = plan([rolled], epsilon=float(question.epsilon) * 0.9)
    assert max(less.questions[0].parts[0].errors) > 20


def test_an_error_of_a_cube_takes_less_epsilon_than_the_mean_square_would():
    # All tables shall keep it: what is measured is chosen for the largest error, not the mean.
    cube = "select sex, region, age, count(*) as n from people group by cube (sex, region, age)"
    (question,) = plan([QuestionSpec(cube, error=Fraction(30))]).questions
    assert max(question.parts[0].errors) <= 30
    (mean,) = plan([cube], epsilon=question.epsilon).questions
    assert max(mean.parts[0].errors) > 30 * 1.1


def test_asked_again_the_job_is_the_same_and_paid_once():
    first = tr.ask(CUBE, epsilon="1/2", key="monday", facts="tightrope.toml")
    second = tr.ask(CUBE, epsilon="1/2", key="monday", facts="tightrope.toml")
    assert second.rows == first.rows
    assert not second.fresh
    assert Ledger("ledger.db").account("table people").remaining == Fraction(19, 2)


def test_killed_before_its_answer_the_job_is_taken_up_and_paid_once(monkeypatch):
    draw = SealedQuery.draw

    def killed(self, noises):
        draw(self, noises)
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedQuery, "draw", killed)
    with pytest.raises(KeyboardInterrupt):
        tr.ask(CUBE, epsilon="1/2", key="monday", facts="tightrope.toml")
    monkeypatch.setattr(SealedQuery, "draw", draw)
    answer = tr.ask(CUBE, epsilon="1/2", key="monday", facts="tightrope.toml")
    assert len(answer.rows) == 9
    assert Ledger("ledger.db").account("table people").remaining == Fraction(19, 2)


def test_killed_between_two_of_its_draws_the_job_is_taken_up_and_paid_once(
    monkeypatch,
):
    sql = (
        "select age, sex, region, count(*) as n from people "
        "group by grouping sets ((age, sex), region)"
    )
    (question,) = plan([sql], epsilon="1/2").questions
    assert len(question.measured) == 2
    draw = LatticeNoise.draw_cells
    drawn = []

    def killed(self, answers):
        if drawn:
            raise KeyboardInterrupt
        drawn.append(answers)
        return draw(self, answers)

    monkeypatch.setattr(LatticeNoise, "draw_cells", killed)
    with pytest.raises(KeyboardInterrupt):
        tr.ask(sql, epsilon="1/2", key="monday", facts="tightrope.toml")
    monkeypatch.setattr(LatticeNoise, "draw_cells", draw)
    answer = tr.ask(sql, epsilon="1/2", key="monday", facts="tightrope.toml")
    again = tr.ask(sql, epsilon="1/2", key="monday", facts="tightrope.toml")
    assert again.rows == answer.rows
    book = Ledger("ledger.db")
    assert book.account("table people").remaining == Fraction(19, 2)
    kinds = [entry.body["kind"] for entry in book.entries()]
    assert kinds.count("charge") == kinds.count("answer") == 1
    assert book.verify().intact


def test_the_distance_from_the_floor_is_told(run):
    told = run("ask", CUBE, "--epsilon", "1", "--dry-run", "--json").data
    (one,) = told["questions"][0]["questions"]
    assert one["root_mean_square"] == pytest.approx(2.035, abs=0.001)
    assert one["floor"] == pytest.approx(1.776, abs=0.001)
    assert "is 2.035: at most 1.15 times the smallest possible" in told["statement"]
    write_facts("change-one")  # too far: nothing is said
    far = run("ask", CUBE, "--epsilon", "1", "--dry-run", "--json").data
    assert "times the smallest possible" not in far["statement"]


def test_a_receipt_tells_the_numbers_again():
    answer = tr.ask(CUBE, epsilon="1/2", facts="tightrope.toml")
    receipt = json.loads(json.dumps(answer.releases[0].receipt))
    told = str(published_numbers(receipt, drawn_from(receipt)))
    for _, numbers in answer.rows:
        assert str(numbers[0]) in told


def test_a_table_of_four_hundred_cells_is_one_job_of_one_table():
    pairs = [f"{i % 20},{i % 19}" for i in range(600)]
    Path("pairs.csv").write_text("\n".join(["a,b", *pairs]) + "\n")
    answer = tr.ask(
        "select a, b, count(*) as n from pairs group by a, b",
        epsilon=1, data="pairs.csv", population=30_000, neighbours="add-remove", budget=1,
        columns={"a": "0..19", "b": "0..19"}, ledger="pairs.db",
    )  # fmt: skip
    assert answer.keys == ("a", "b")
    assert len(answer.rows) == 400
    assert answer.certified
    widths = {
        told[0].high - told[0].value for _, told in answer.rows if told[0].value >= 0
    }
    assert widths == {3}  # P(|z| > 3) = 0.027 for noise at ε = 1


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "select sex, median(age) from people group by rollup (sex)",
            "counts of rows, sums and means",
        ),
        (
            "select count(*) from people group by grouping sets (())",
            "need a column",
        ),
        (
            "select sex, count(*) from people group by grouping sets ((sex), (sex))",
            "published once",
        ),
        (
            'select sex as table_, region as "table", count(*) from people '
            "group by cube (sex, region)",
            "name yours apart",
        ),
        (
            "select sex, count(*) from people group by cube (sex, region)",
            "SELECT must name it too",
        ),
    ],
)
def test_what_a_job_cannot_hold_is_refused(sql, message):
    with pytest.raises(InputError, match=message):
        plan([sql], epsilon=1)


def test_a_cube_of_too_many_columns_is_refused():
    columns = ", ".join(f"c{n}" for n in range(17))
    with pytest.raises(InputError, match="CUBE takes at most 16 columns, got 17"):
        plan(
            [f"select {columns}, count(*) from people group by cube ({columns})"],
            epsilon=1,
        )


@pytest.mark.parametrize("what", ["count(*) as n", "count(*) as n, sum(c0) as s"])
def test_more_numbers_than_can_be_published_are_refused_before_the_plan(
    what, monkeypatch
):
    # Planning eight such columns took minutes, and was for nothing.
    monkeypatch.setattr("tightrope.publish.shapes.tables.plan", None)
    columns = {f"c{n}": "0..99" for n in range(8)}
    names = ", ".join(columns)
    with pytest.raises(TooLarge, match="numbers, more than 1200000: leave out the"):
        plan(
            [f"select {names}, {what} from t group by cube ({names})"],
            epsilon=1, columns=columns, population=99, data="t.csv",
        )  # fmt: skip


def test_a_job_is_no_question_for_release(run):
    asked = query("count(600)", "add-remove")
    certify(UnboundedNoise(asked.graph, 1), asked, 1).save("count.tightrope")
    told = run("release", "count.tightrope", "--sql", CUBE, "--ledger", "ledger.db")
    assert told.code == 2
    assert "ask for them with 'tightrope ask'" in told.err


# -- differences and shares -----------------------------------------------------------------------

TRUE_CELLS = np.array([[100, 200], [100, 200]])  # sex × region
NORTH = {"sex": "f", "region": "north"}


def simulated_jobs(times):
    """Yield jobs whose noise is simulated, at ε = 1 under add-remove."""
    (question,) = plan([CUBE], epsilon=1).questions
    shape = question.parts[0].shape
    generator = np.random.default_rng(3)
    for _ in range(times):
        up, down = generator.geometric(1 - math.exp(-1), (2, 2, 2)) - 1
        yield JobNumbers(shape, [(TRUE_CELLS + up - down).ravel().tolist()])


def test_differences_are_covered_and_narrower_than_two_margins():
    cells = [({"sex": "f"}, Fraction(1)), ({"sex": "m"}, Fraction(-1))]
    level = Fraction(19, 20)
    found = [job.combination(cells, level) for job in simulated_jobs(500)]
    inside = np.mean([one.low <= 0 <= one.high for one in found])
    assert inside >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 500)
    # Two margins of ± 4 would be ± 8.
    assert {one.high - one.value for one in found} == {5}


def test_shares_contain_the_true_one_whenever_it_is_not_contradicted():
    level = Fraction(19, 20)
    true = Fraction(1, 3)
    held = []
    for job in simulated_jobs(10):
        one = job.share(NORTH, {"sex": "f"}, level)
        # a − p·b is noise alone at the true share p.
        cells = [(NORTH, Fraction(1)), ({"sex": "f"}, -true)]
        rest = job.combination(cells, level)
        held.append(one.low <= true <= one.high)
        assert held[-1] or abs(rest.value) > rest.high - rest.value
        assert one.high - one.low < Fraction(1, 20)
    assert sum(held) >= 9


def test_differences_and_shares_of_an_answer():
    answer = tr.ask(CUBE, epsilon=1, facts="tightrope.toml")
    women, men = (answer["sex"].rows[k][1][0].value for k in (0, 1))
    found = answer.difference({"sex": "f"}, {"sex": "m"})
    assert (found.value, found.high - found.value) == (women - men, 5)
    many = answer.difference({"sex": "f"}, {"sex": "m"}, among=100)
    assert many.high > found.high
    part = answer.share({"sex": "f"}, {})
    assert part.value == Fraction(women, answer[()].value)
    assert 0 < part.low < part.value < part.high < 1


@pytest.mark.parametrize(
    ("part", "of", "message"),
    [
        ({"sex": "x"}, {}, "sex has no class 'x'"),
        ({"age": 1}, {}, "the table by age is not published"),
        ({"sex": "f"}, {"sex": "m"}, "some of its classes"),
    ],
)
def test_shares_of_what_is_not_published_are_refused(part, of, message):
    answer = tr.ask(CUBE, epsilon=1, facts="tightrope.toml")
    with pytest.raises(InputError, match=message):
        answer.share(part, of)


def test_a_single_question_has_no_law_of_a_job():
    one = tr.ask("select count(*) as n from people", epsilon=1, facts="tightrope.toml")
    with pytest.raises(InputError, match="differences and shares are of tables"):
        one.difference({}, {})


# -- files, reports and the screen ----------------------------------------------------------------


def sheets(path):
    """Return the sheets of a spreadsheet as lists of rows."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        for part in package.namelist():
            ElementTree.fromstring(package.read(part))
        book = ElementTree.fromstring(package.read("xl/workbook.xml"))
        names = [sheet.get("name") for sheet in book.iter(f"{space}sheet")]
        found = {}
        for number, name in enumerate(names, 1):
            tree = ElementTree.fromstring(
                package.read(f"xl/worksheets/sheet{number}.xml")
            )
            found[name] = [
                ["".join(cell.itertext()) for cell in row]
                for row in tree.iter(f"{space}row")
            ]
    return found


def test_a_spreadsheet_has_one_sheet_a_table():
    answer = tr.ask(CUBE, epsilon=1, facts="tightrope.toml")
    assert answer.write("cube.xlsx") == [Path("cube.xlsx")]
    book = sheets("cube.xlsx")
    assert list(book) == ["sex-region", "sex", "region", "all"]
    for keys, table in answer.tables.items():
        titles, *rows = book["-".join(keys) or "all"]
        assert titles == [*keys, "n", "n low", "n high", "about"]
        numbers = [str(told[0].value) for _, told in table.rows]
        assert [row[len(keys)] for row in rows] == numbers


def test_the_sheets_of_a_file_have_the_names_of_its_selects(run):
    Path("job.sql").write_text(JOB)
    words = ("--epsilon", "1", "--tables", "job.xlsx")
    assert run("ask", "--file", "job.sql", *words).code == 0
    assert list(sheets("job.xlsx")) == [
        "sexes", "everybody", "adults", "regions", "ages",
    ]  # fmt: skip


def test_a_report_crosses_a_table_and_shows_its_margins_around_it(run):
    words = ("--epsilon", "1", "--report", "report.html", "--json")
    told = run("ask", CUBE, *words).data
    page = Path("report.html").read_text()
    values = [row["n"]["value"] for row in told["rows"]]
    head, *lines = re.findall(r"<tr>.*?</tr>", page[page.index("sex × region") :])
    assert re.findall(r"<th>(.*?)</th>", head) == ["sex", "north", "south", "(all)"]
    cells = [[int(n) for n in re.findall(r">(\d+) ±", line)] for line in lines[:3]]
    f_north, f_south, m_north, m_south, f, m, north, south, total = values
    assert cells == [
        [f_north, f_south, f],
        [m_north, m_south, m],
        [north, south, total],
    ]


def test_the_screen_shows_the_first_rows_of_a_large_table(run, monkeypatch):
    monkeypatch.setattr("tightrope.cli.tables.SCREEN_ROWS", 5)
    told = run("ask", CUBE, "--epsilon", "1", "--tables", "cube.csv")
    assert "… and 4 more rows: --tables FILE writes all of them." in told.out
    assert len(told.out.partition("…")[0].splitlines()) == 6
    assert len(list(Path().glob("cube-*.csv"))) == 4


# -- several SELECTs ------------------------------------------------------------------------------

JOB = """
-- name: sexes
select sex, count(*) as people from people group by sex;
-- name: everybody
select count(*) as n from people;
-- name: adults
select sex, count(*) as n from people where age > 1 group by sex;
-- name: regions
select region, sex, count(*) as n from people group by region, sex;
-- name: ages
select avg(age) as age from people;
"""


def numbers(told):
    """Return the numbers of an answer in JSON, by the names of its lines."""
    *keys, title = told["columns"]
    return {
        tuple(row[key] for key in keys): row[title]["value"] for row in told["rows"]
    }


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_selects_about_the_same_rows_are_one_job(run, neighbours):
    write_facts(neighbours)
    Path("job.sql").write_text(JOB)
    told = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data
    sexes, everybody, adults, regions, ages = told["answers"]
    assert [one["name"] for one in told["answers"]] == [
        "sexes", "everybody", "adults", "regions", "ages",
    ]  # fmt: skip
    # Three SELECTs share the ε of three; the others are paid for by themselves.
    assert [one["charged"] for one in told["answers"]] == [
        "3/5", "3/5", "1/5", "3/5", "1/5",
    ]  # fmt: skip
    assert Ledger("ledger.db").account("table people").remaining == 9
    assert told["plan"] == sexes["plan"] == regions["plan"]
    assert sexes["columns"] == ["sex", "people"]
    by_sex = numbers(sexes)
    by_region = numbers(regions)
    assert list(by_sex) == [("f",), ("m",), ("(other)",)]
    assert list(by_region)[:4] == [
        ("north", "f"), ("north", "m"), ("north", "(other)"), ("south", "f"),
    ]  # fmt: skip
    for (sex,), count in by_sex.items():
        assert count == sum(n for (_, s), n in by_region.items() if s == sex)
    assert sum(by_sex.values()) == numbers(everybody)[()]
    assert "plan" not in adults
    assert "plan" not in ages


@pytest.mark.parametrize(
    "where",
    ["age < 3 and 1 <= p.age", "p.age between 1 and 2", "not (age < 1 or age > 2)"],
)
def test_one_where_in_two_spellings_is_one_job(where):
    first = (
        "select sex, count(*) as n from people where age >= 1 and age <= 2 group by sex"
    )
    second = (
        f"select region, count(*) as n from people as p where {where} group by region"
    )
    (job,) = plan([first, second], epsilon=1).questions
    assert len(job.views) == 2


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one", "either"])
def test_counts_without_groups_are_a_job_too(neighbours, whole):
    write_facts(neighbours)
    where = "where age > 1"
    made = plan(
        [
            f"select count(*) as n from people {where}",
            f"select count(*) as m from people {where}",
        ],
        epsilon=1,
        whole=whole,
    )
    assert len(made.questions) == 1
    first, second = (answer.rows[0][1] for answer in tr.asking.ask_all(made))
    assert first[0].value == second[0].value
    assert abs(first[0].value - 300) < 60
    if whole:
        assert first[1].value == first[0].value


def test_counts_of_everybody_are_public_and_no_job():
    write_facts("change-one")
    everybody = "select count(*) as n from people"
    assert len(plan([everybody, everybody], epsilon=1).questions) == 2
    grouped = "select sex, count(*) as n from people group by sex"
    assert len(plan([everybody, grouped], epsilon=1).questions) == 1


def test_rows_in_no_declared_class_are_counted_in_every_table(run):
    with Path("people.csv").open("a") as file:
        file.write("1,x,north\n" * 1000)
    text = Path("tightrope.toml").read_text().replace("600", "1600")
    Path("tightrope.toml").write_text(text)
    Path("job.sql").write_text(
        "select count(*) as n from people;"
        "select sex, count(*) as n from people group by sex"
    )
    told = run("ask", "--file", "job.sql", "--epsilon", "8", "--json").data["answers"]
    assert abs(numbers(told[0])[()] - 1600) < 20
    assert abs(numbers(told[1])["(other)",] - 1000) < 20


def test_a_job_of_selects_is_paid_once_and_found_again(run):
    Path("job.sql").write_text(JOB)
    first = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    again = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    assert [one["rows"] for one in again] == [one["rows"] for one in first]
    assert not any(one["fresh"] for one in again)
    assert Ledger("ledger.db").account("table people").remaining == 9
    shown = run("ask", "--file", "job.sql", "--epsilon", "1", "--key", "new").out
    assert re.search(r"paid +ε = 1\n", shown)  # not three times the ε of the job


def test_a_weight_makes_the_numbers_of_its_table_nearer():
    tables = [
        "select age, count(*) as n from people group by age",
        "select sex, region, count(*) as n from people group by sex, region",
    ]

    def errors(weight):
        specs = [QuestionSpec(tables[0], weight=Fraction(weight)), *tables[1:]]
        (job,) = plan(specs, epsilon="1/10").questions
        return job.parts[0].errors

    assert errors(100)[0] < errors(1)[0]
    assert errors(100)[1] > errors(1)[1]


def test_each_select_of_a_job_keeps_the_error_that_is_wanted_of_it():
    specs = [
        QuestionSpec(
            "select sex, count(*) as n from people group by sex", error=Fraction(30)
        ),
        QuestionSpec(
            "select age, count(*) as n from people group by age", error=Fraction(60)
        ),
    ]
    (job,) = plan(specs).questions
    sex, age = job.parts[0].errors
    assert sex <= 30
    assert age <= 60
    less = plan(
        [
            "select sex, age, count(*) as n from people group by grouping sets (sex, age)"
        ],
        epsilon=float(job.epsilon) * 0.9,
    )
    (narrower,) = less.questions
    pairs = zip(narrower.parts[0].errors, (30, 60), strict=True)
    assert any(error > wanted for error, wanted in pairs)


@pytest.mark.parametrize(
    "second",
    [
        "select sex, count(*) as n from people where age > 1 group by sex",
        "select sex, sum(age) as n from people group by sex",
        "select sex, count(*) as n from people group by sex order by n desc limit 1",
    ],
)
def test_what_is_not_about_the_same_rows_is_no_part_of_a_job(second):
    first = "select region, count(*) as n from people group by region"
    assert len(plan([first, second], epsilon=1).questions) == 2


def test_of_people_with_several_rows_only_tables_of_the_same_rows_are_one_job():
    text = Path("tightrope.toml").read_text()
    several = 'budget = "10"\nperson = "id"\ncontributions = 2\n'
    Path("tightrope.toml").write_text(text.replace('budget = "10"\n', several))
    by_sex = "select sex, count(*) as n from people group by sex"
    by_both = "select region, sex, count(*) as n from people group by region, sex"
    # Which two rows of a person count depends on the columns that have no class for all.
    assert len(plan([by_sex, by_both], epsilon=1).questions) == 2
    assert len(plan([by_sex, by_sex], epsilon=1).questions) == 1


# -- whole numbers --------------------------------------------------------------------------------


def test_whole_numbers_agree_and_the_unbiased_ones_are_kept(run):
    write_facts("add-remove")
    words = ("--epsilon", "1/10", "--whole", "--synthetic", "made-up.csv")
    told = run("ask", CUBE, *words, "--json").data
    assert told["columns"] == ["table", "sex", "region", "n", "n whole"]
    numbers = {
        (row["table"], row["sex"], row["region"]): row["n whole"]["value"]
        for row in told["rows"]
    }
    assert all(isinstance(n, int) and n >= 0 for n in numbers.values())
    assert all(row["n"]["low"] is not None for row in told["rows"])
    cells = {names[1:]: n for names, n in numbers.items() if names[0] == 0}
    for (place, sex, region), n in numbers.items():
        inside = [
            cell
            for (s, r), cell in cells.items()
            if sex in (s, None) and region in (r, None)
        ]
        assert n == sum(inside), place
    assert "Whole numbers are margins of one table of people" in told["statement"]
    # One row for each person, who reproduce the finest table.
    header, *people = Path("made-up.csv").read_text().splitlines()
    assert header == '"sex","region"'
    for (sex, region), n in cells.items():
        assert people.count(f'"{sex}","{region}"') == n


def test_whole_numbers_of_several_selects_agree():
    made = plan(
        [
            "select sex, count(*) as n from people group by sex",
            "select region, count(*) as people from people group by region",
        ],
        epsilon="1/20",
        whole=True,
    )
    sexes, regions = tr.asking.ask_all(made)
    assert regions.titles == ("people", "people whole")
    totals = [
        sum(told[1].value for _, told in answer.rows) for answer in (sexes, regions)
    ]
    assert totals[0] == totals[1]
    assert len(sexes.people.to_pandas()) == totals[0]


def test_one_count_by_group_has_whole_numbers_too():
    sql = "select sex, count(*) as n from people group by sex"
    answer = tr.ask(sql, epsilon="1/50", whole=True, facts="tightrope.toml")
    assert all(told[1].value == max(told[0].value, 0) for _, told in answer.rows)


def test_whole_numbers_are_for_counts_that_fit(run):
    told = run("ask", "select avg(age) from people", "--epsilon", "1", "--whole")
    assert told.code == 2
    assert "--whole is for counts of rows" in told.err
    names = [f"c{k}" for k in range(5)]
    columns = dict.fromkeys(names, "0..99")
    each = ", ".join(f"({name})" for name in names)
    sql = f"select {', '.join(names)}, count(*) as n from t group by grouping sets ({each})"
    with pytest.raises(TooLarge, match="leave --whole out"):
        plan([sql], epsilon=1, columns=columns, population=99, data="t.csv", whole=True)


# -- each table by itself -------------------------------------------------------------------------


def test_each_table_of_an_answer_by_its_columns():
    answer = tr.ask(CUBE, epsilon=1, facts="tightrope.toml")
    frame = answer["region", "sex"].to_pandas()
    assert list(frame.columns)[:3] == ["sex", "region", "n"]
    assert len(frame) == 4
    assert len(answer["sex"].rows) == 2
    assert answer[()].value == sum(told[0].value for _, told in answer["sex"].rows)
    with pytest.raises(
        InputError, match=r"by age is not in this answer \(tables: sex × re"
    ):
        answer["age"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_each_table_is_a_file(run, ending):
    assert run("ask", CUBE, "--epsilon", "1", "--tables", f"out.{ending}").code == 0
    names = sorted(path.name for path in Path().glob("out*"))
    assert names == [
        f"out-0-sex-region.{ending}", f"out-1-sex.{ending}", f"out-2-region.{ending}",
        f"out-3-all.{ending}",
    ]  # fmt: skip
    read = pandas.read_csv if ending == "csv" else pandas.read_parquet
    frame = read(names[1])
    assert list(frame.columns) == ["sex", "n", "n low", "n high", "about"]
    assert list(frame["sex"]) == ["f", "m"]


def test_another_ending_is_refused_before_the_charge(run):
    told = run("ask", CUBE, "--epsilon", "1", "--tables", "out.xml")
    assert told.code == 2
    assert "tables are written as .csv, .parquet or .xlsx" in told.err
    assert not Path("ledger.db").exists()
