"""Series and δ on the command line."""

import json
from fractions import Fraction

import pytest

from tightrope.certify import certify
from tightrope.channels import GeometricChannel


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ledger(run):
    assert (
        run("ledger", "budget", "ledger.db", "table people", "5", "--delta", "1e-6")[0]
        == 0
    )
    return "ledger.db"


def declare(run, *more):
    return run("ledger", "series", "ledger.db", "table people", "daily", *more)


def test_what_a_series_would_cost_needs_no_ledger(run):
    code, out, err = declare(
        run, "--step", "100x0.1", "--delta", "1e-6", "--dry-run", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    assert f"{float(Fraction(told['epsilon'])):.9f}" == "4.774567588"
    assert (told["sum"], told["remaining"]) == ("10", None)


def test_as_many_as_a_budget_holds(run):
    code, out, err = declare(
        run, "--step", "0.01", "--epsilon", "1", "--delta", "1e-6", "--dry-run"
    )
    assert code == 0, err
    assert "the sum of 562 releases" in out


def test_declare_release_show_and_verify(run, ledger, tmp_path):
    certify(GeometricChannel(6, "0.1"), "count(5)", "0.1").save(
        tmp_path / "count.tightrope"
    )
    (tmp_path / "people.csv").write_text("age\n" + "31\n" * 5)
    assert (
        declare(
            run, "--step", "2xcount.tightrope", "--step", "3x0.2", "--delta", "1e-6"
        )[0]
        == 0
    )
    asked = (
        "release", "count.tightrope", "--data", "people.csv", "--ledger", ledger,
        "--sql", "select count(*) from people", "--series", "daily",
    )  # fmt: skip
    code, out, err = run(*asked, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["series"], told["left"]) == ("daily", 4)
    assert told["receipt"]["charges"][0]["step"] == 0
    assert "daily: 3 releases left" in run(*asked)[1]
    code, _, err = run(*asked)
    assert code == 2
    assert "all 2 are used" in err
    series = json.loads(run("ledger", "show", ledger, "--json")[1])["accounts"][
        "table people"
    ]
    assert [step["used"] for step in series["series"]["daily"]["steps"]] == [2, 0]
    assert "1 composed again" in run("ledger", "verify", ledger)[1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--step", "0.1", "--delta", "1e-6"), "say how many releases"),
        (("--step", "9x0.1", "--delta", "2"), "δ must be"),
        (("--step", "9x0.1", "--delta", "1e-5"), "δ of table people is too small"),
        (
            ("--step", "900x0.1", "--delta", "1e-6"),
            "budget of table people is too small",
        ),
        (("--step", "99x0.1", "--epsilon", "1", "--delta", "1e-6"), "needs δ"),
        (("--step", "9xno.tightrope", "--delta", "1e-6"), "No such file"),
    ],
)
def test_refusals(run, ledger, given, says):
    code, _, err = declare(run, *given)
    assert code != 0
    assert says in err
    assert json.loads(run("ledger", "show", ledger, "--json")[1])["entries"] == 2


def test_the_curve_of_a_mechanism_composed_and_drawn(run, tmp_path):
    told = run(
        "curve", "geometric:count(5)", "--epsilon", "0.1", "--times", "100", "--delta", "1e-6",
        "--plot", "curve.svg", "--json",
    )  # fmt: skip
    assert told.data["together"] == pytest.approx(4.774567588, abs=1e-9)
    assert "<svg" in (tmp_path / "curve.svg").read_text()


def test_asking_in_a_series(run, ledger, tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "people.csv").write_text("age\n" + "31\n" * 5)
    assert declare(run, "--step", "2x0.2", "--delta", "1e-6")[0] == 0
    asked = (
        "ask", "select count(*) from people", "--data", "people.csv", "--population", "5",
        "--ledger", ledger, "--series", "daily",
    )  # fmt: skip
    assert run(*asked, "--epsilon", "0.2", "--json").data["releases"][0]["left"] == 1
    assert (
        "by the series daily, in which 0 releases"
        in run(*asked, "--epsilon", "0.1").out
    )
    refused = run(*asked, "--epsilon", "0.3")
    assert refused.code == 2
    assert "no place for this mechanism" in refused.err
