"""``tightrope design``, ``remap`` and ``sweep``: JSON equals the library, files verify."""

import itertools
import math
import re

import pytest

import tightrope as tr
from tightrope.optimize import design

KEYS = {
    "route", "expected_loss", "utility", "bound", "gap", "certified", "epsilon", "nodes",
    "seconds", "baselines",
}  # fmt: skip


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_three_cities(run, alpha):
    level = f"ln({1 / alpha})"
    for words in ([], ["--risk-averse", "all"]):
        data = run("design", "choice(3)", "--epsilon", level, *words, "--json").data
        assert data.keys() >= KEYS
        assert data["expected_loss"] == pytest.approx(
            2 * alpha / (1 + 2 * alpha), rel=1e-9
        )
        assert data["certified"] is True


def test_json_is_the_library_result(run):
    words = [
        "sum(4,3)",
        "--epsilon",
        "0.7",
        "--prior",
        "binomial(.3)",
        "--loss",
        "absolute",
    ]
    data = run("design", *words, "--json").data
    graph = tr.query("sum(4,3)").graph
    found = design(
        graph, 0.7, tr.Consumer.of(graph, prior="binomial(.3)", loss="absolute")
    )
    assert data["expected_loss"] == found.expected_loss
    assert data["bound"] == found.bound
    assert data["baselines"] == found.baselines


def test_a_written_mechanism_verifies(run, tmp_path):
    file = tmp_path / "cycle.tightrope"
    data = run(
        "design", "cycle(5)", "--epsilon", "ln(2)", "--out", str(file), "--json"
    ).data
    assert data["out"] == str(file)
    checked = run("verify", str(file), "--json").data
    assert checked["private"] is True
    assert float(checked["optimal_within"]) < 1e-9
    analysed = run("analyse", str(file), "--json").data
    assert analysed["utility"] == pytest.approx(data["utility"], rel=1e-8)
    assert analysed["epsilon"] == pytest.approx(math.log(2), rel=1e-8)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["choice(3)"], "--epsilon"),
        (["choice(3)", "--epsilon", "0"], "positive"),
        (["choice(3)", "--epsilon", "1", "--prior", "0.5,0.5"], "3"),
        (["choice(3)", "--epsilon", "1", "--loss", "cubic"], "binary"),
        (["choice(3)", "--epsilon", "1", "--route", "scenic"], "geometric"),
        (["cycle(5)", "--epsilon", "1", "--route", "tree"], "not a tree"),
        (["choice(3)", "--epsilon", "1", "--risk-averse", "9"], "9"),
        (["choice(3)", "--epsilon", "1", "--risk-averse", ""], "answer"),
        (["choice(3)", "--epsilon", "1", "--gap", "2"], "gap"),
        (
            [
                "choice(3)",
                "--epsilon",
                "1",
                "--risk-averse",
                "all",
                "--prior",
                "0.5,0.3,0.2",
            ],
            "prior",
        ),
    ],
)
def test_nonsense_is_refused(run, words, says):
    refused = run("design", *words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert says in refused.err


def test_remap(run):
    words = ["geometric:count(2)", "--epsilon", "ln(2)", "--prior", "0.1,0.8,0.1"]
    data = run("remap", *words, "--loss", "absolute", "--json").data
    assert data["remap"] == [1, 1, 1]
    assert data["expected_loss"] == pytest.approx(0.2)


def test_sweep_rows(run):
    words = [
        "cycle(5)",
        "--epsilons",
        "0.5:1.5:0.5",
        "--loss",
        "binary",
        "--loss",
        "distance",
    ]
    rows = run("sweep", *words, "--json").data["rows"]
    assert [(row["epsilon"], row["loss"]) for row in rows] == [
        (level, loss) for loss in ("binary", "distance") for level in (0.5, 1, 1.5)
    ]
    assert all(row["certified"] for row in rows)
    losses = [row["expected_loss"] for row in rows[:3]]
    assert losses == sorted(losses, reverse=True)


def test_sweep_keeps_what_is_refused(run):
    rows = run(
        "sweep", "cycle(5)", "--epsilons", "1", "--route", "tree", "--json"
    ).data["rows"]
    assert "not a tree" in rows[0]["error"]


def test_sweep_over_several_questions(run):
    words = ["path(4)", "cycle(5)", "--epsilons", "ln(2),1", "--json"]
    data = run("sweep", *words).data
    assert data["queries"] == ["path(4)", "cycle(5)"]
    assert [(row["place"], row["query"]) for row in data["rows"]] == [
        (0, "path(4)"),
        (1, "path(4)"),
        (2, "cycle(5)"),
        (3, "cycle(5)"),
    ]


def test_sweep_into_a_file_and_again(run, tmp_path):
    out = str(tmp_path / "study.parquet")
    words = ["cycle(5)", "--epsilons", "ln(2),1", "--route", "tree", "--out", out]
    first = run("sweep", *words)
    assert "2 designs in" in first.out
    assert "0 certified, 2 refused" in first.out
    again = run("sweep", *words)
    assert "found 2 of 2 designs" in again.err
    data = run("sweep", *words, "--json").data
    assert (data["designs"], data["found"], data["refused"]) == (2, 2, 2)
    assert all("not a tree" in row["error"] for row in data["rows"])
    other = run("sweep", *words, "--chunk", "3")
    assert other.code == 2
    assert "holds another study (other chunk)" in other.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "not both"),
        (["--scheduler", "here"], "must look like tcp://host:8786"),
        (["--workers", "0"], "workers must be between"),
        (["--out", "study.csv"], "must be a .parquet file"),
    ],
)
def test_sweep_refuses_places(run, words, says):
    refused = run("sweep", "cycle(5)", "--epsilons", "1", *words)
    assert refused.code == 2
    assert says in refused.err
    assert refused.err.count("\n") == 1


def test_sweep_says_how_long_it_will_take(run, monkeypatch):
    clock = itertools.count(0.0, 40.0)
    monkeypatch.setattr("tightrope.cli.designs.time.monotonic", lambda: next(clock))
    lines = run("sweep", "path(4)", "--epsilons", "1,2,3").err.splitlines()
    assert len(lines) == 3
    for count, line in enumerate(lines, 1):
        assert re.fullmatch(
            rf"tightrope: {count} of 3 designs, about \d+ (s|min) left", line
        )


@pytest.mark.parametrize(
    "levels", ["2:1:0.5", "1:2", "0:1:0.1", "1:2:0", "ln(2):2:0.1", "x"]
)
def test_sweep_refuses_ranges(run, levels):
    assert run("sweep", "cycle(5)", "--epsilons", levels).code == 2


def test_many_consumers(run, tmp_path):
    file = tmp_path / "readers.csv"
    file.write_text(
        'name,prior,loss\nring,uniform,binary\narc,"1/3,1/3,1/3,0,0",binary\n'
    )
    words = ["cycle(5)", "--epsilon", "ln(2)", "--consumers", str(file), "--json"]
    data = run("design", *words).data
    assert data.keys() >= KEYS
    assert data["worst_regret"] > 1e-4
    assert [reader["name"] for reader in data["consumers"]] == ["ring", "arc"]


def test_a_mechanism_for_many_consumers_becomes_a_private_file(run, tmp_path):
    readers, file = tmp_path / "readers.csv", str(tmp_path / "m.tightrope")
    readers.write_text(
        'name,prior,loss\nring,uniform,binary\narc,"1/3,1/3,1/3,0,0",binary\n'
    )
    words = [
        "cycle(5)",
        "--epsilon",
        "ln(2)",
        "--consumers",
        str(readers),
        "--out",
        file,
    ]
    assert "written to" in run("design", *words).out
    data = run("design", *words, "--json").data
    assert data["certified"]
    assert not data["stopped"]
    checked = run("verify", file, "--json").data
    assert checked["private"]
    assert checked["optimal_within"] is None


def test_a_limit_on_leakage(run):
    data = run("design", "clique(3)", "--max-vulnerability", "0.5", "--json").data
    assert data["expected_loss"] == pytest.approx(0.5, abs=1e-7)
    assert data["certified"]
    assert data["bound"] == pytest.approx(0.5, abs=1e-9)
    data = run("design", "clique(4)", "--max-loss", "0.4", "--json").data
    assert data.keys() >= KEYS
    assert data["vulnerability"] == pytest.approx(0.6, abs=1e-7)
    assert data["gap"] <= 1e-9
    text = run("design", "clique(4)", "--max-loss", "0.4").out
    assert "no vulnerability below" in text
    assert "Proved optimal: no mechanism for" in " ".join(text.split())
    assert "among those with loss at most 0.4" in " ".join(text.split())


def test_a_limited_mechanism_becomes_a_file_that_proves_it_best(run, tmp_path):
    file = str(tmp_path / "m.tightrope")
    words = [
        "cycle(6)",
        "--epsilon",
        "ln(2)",
        "--max-vulnerability",
        "0.25",
        "--loss",
        "distance",
    ]
    data = run("design", *words, "--out", file, "--json").data
    assert data["certified"]
    checked = run("verify", file, "--json").data
    assert checked["private"]
    assert 0 <= checked["optimal_within"] < 1e-10
    assert checked["under"] == "vulnerability at most 0.25"
    assert "with vulnerability at most 0.25" in run("verify", file).out


def test_an_infeasible_limit_names_the_least_that_works(run):
    words = ["cycle(6)", "--epsilon", "ln(2)", "--loss", "distance", "--max-loss"]
    refused = run("design", *words, "0.1")
    assert refused.code == 2
    least = refused.err.split("at least ")[1].split(",")[0]
    assert run("design", *words, least, "--json").data["certified"]


@pytest.mark.parametrize(
    "words",
    [
        ["--max-vulnerability", "0.1"],
        ["--max-vulnerability", "0.5", "--max-loss", "0.1"],
        ["--max-vulnerability", "0.5", "--out", "x.tightrope"],
        ["--max-loss", "0.1", "--epsilon", "0.5"],
        ["--max-vulnerability", "0.5", "--route", "rays"],
        ["--consumers", "no-such.csv", "--epsilon", "1"],
    ],
)
def test_limits_refused(run, words):
    refused = run("design", "clique(3)", *words)
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize("words", [[], ["--max-vulnerability", "0.2"], ["--consumers"]])
def test_a_time_limit_gives_the_best_so_far_with_a_proved_gap(run, tmp_path, words):
    file = tmp_path / "consumers.csv"
    file.write_text("name,prior,loss\none,binomial(.3),absolute\ntwo,uniform,binary\n")
    words = (
        [*words, str(file)]
        if words == ["--consumers"]
        else [*words, "--prior", "binomial(.3)"]
    )
    asked = ["sum(90,7)", "--epsilon", "1", *words, "--time-limit", "0.2"]
    data = run("design", *asked, "--json").data
    assert data["stopped"] is True
    assert data["certified"] is False
    assert data["gap"] > 0
    assert data["seconds"] < 10
    assert "Stopped early. " in run("design", *asked).out
    assert run("design", *asked[:-1], "-1").code == 2


def test_report(run, tmp_path):
    file = tmp_path / "design.html"
    data = run(
        "design", "cycle(5)", "--epsilon", "1", "--report", str(file), "--json"
    ).data
    page = file.read_text(encoding="utf-8")
    assert data["report"] == str(file)
    assert "<svg" in page
    assert "cycle(5)" in page
    assert (
        run("design", "cycle(5)", "--epsilon", "1", "--report", "none/x.html").code == 2
    )


@pytest.mark.parametrize(
    ("query", "loss"),
    [("count(5)", "absolute"), ("sum(4,2)", "absolute"), ("cycle(5)", "binary")],
)
def test_a_number_minds_the_size_of_an_error_unless_told_otherwise(run, query, loss):
    words = ("design", query, "--epsilon", "1", "--json")
    told = run(*words).data
    assert told["loss"] == loss
    assert told["expected_loss"] == run(*words, "--loss", loss).data["expected_loss"]


def test_a_sweep_over_unlike_questions_asks_for_the_loss(run):
    refused = run("sweep", "count(3)", "cycle(4)", "--epsilons", "1")
    assert refused.code == 2
    assert "--loss" in refused.err


@pytest.mark.parametrize("same", ["both.html", "./both.html"])
def test_a_report_does_not_replace_the_mechanism(run, tmp_path, monkeypatch, same):
    monkeypatch.chdir(tmp_path)
    refused = run(
        "design", "count(3)", "--epsilon", "1", "--out", "both.html", "--report", same
    )
    assert refused.code == 2
    assert "two results cannot be written into one file" in refused.err
    assert not list(tmp_path.iterdir())
