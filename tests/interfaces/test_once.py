"""What one command does, it does once: questions are read, files parsed and judged."""

import pytest

from tightrope.certify import judge, mechanism
from tightrope.certify.kernel import verdict
from tightrope.publish import sql_reader

FACTS = """
[tables.people]
source = "people.csv"
population = 40
budget = "10"
[tables.people.columns]
age = { bounds = [20, 60], complete = true }
sex = { values = ["f", "m"], complete = true }
"""


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """Count the texts of questions, files and judgements, in a process that knows no verdict."""
    counts = {"questions": [], "files": [], "judged": []}
    read_sql = sql_reader.sqlglot.parse
    read_file = judge.File.__init__
    judged = verdict._check_privacy

    def counted_sql(text, **options):
        counts["questions"].append(text)
        return read_sql(text, **options)

    def counted_file(self, source):
        read_file(self, source)
        counts["files"].append(self.digest()[0])

    def counted_judgement(file, *more):
        counts["judged"].append(file.digest()[0])
        judged(file, *more)

    # Texts that another test asked in this process are read by now.
    sql_reader._parsed.cache_clear()
    monkeypatch.setattr(sql_reader.sqlglot, "parse", counted_sql)
    monkeypatch.setattr(judge.File, "__init__", counted_file)
    monkeypatch.setattr(verdict, "_check_privacy", counted_judgement)
    monkeypatch.setattr(mechanism, "_VERDICTS", {})
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i},{'fm'[i % 2]}" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    (tmp_path / "tightrope.toml").write_text(FACTS)
    return counts


def test_a_design_is_parsed_and_judged_once(run, counted):
    assert run("design", "histogram(7,3)", "--epsilon", "1", "--out", "a.dp").code == 0
    assert len(counted["files"]) == len(counted["judged"]) == 1


@pytest.mark.parametrize("question", ["histogram(7,3)", "commonest(3)"])
def test_a_file_that_is_verified_is_parsed_and_judged_once(question, run, counted):
    run("design", question, "--epsilon", "1", "--out", "a.dp")
    files = len(counted["files"])
    judged = len(counted["judged"])
    assert run("verify", "a.dp").code == 0
    assert len(counted["files"]) == files + 1
    assert len(counted["judged"]) == judged + 1


@pytest.mark.parametrize(
    "target", ["count(*)", "avg(age)", "median(age)", "sex, count(*)"]
)
def test_an_answer_reads_its_question_and_judges_its_mechanisms_once(
    target, run, counted
):
    sql = f"select {target} from people" + " group by sex" * target.startswith("sex")
    assert run("ask", sql, "--epsilon", "1").code == 0
    assert counted["questions"] == [sql]
    assert len(counted["judged"]) == len(set(counted["judged"]))
    assert set(counted["files"]) == set(counted["judged"])
