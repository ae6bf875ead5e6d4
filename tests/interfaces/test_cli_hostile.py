"""What strangers type: wrong, huge and half-finished requests end in one clear line."""

import json
import os
import subprocess
import sys

import pytest


def is_one_line(run):
    return (
        run.out == "" and run.err.startswith("tightrope: ") and run.err.count("\n") == 1
    )


@pytest.mark.parametrize("words", [[], ["ledger"]], ids=["tightrope", "ledger"])
def test_no_words_are_a_request_for_help(run, words):
    shown = run(*words)
    assert shown == run(*words, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Usage: tightrope")
    assert shown.out.count("\n") > 5


def test_half_a_command_is_a_mistake(run):
    refused = run("graph")
    assert refused.code == 2
    assert is_one_line(refused)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["design", "count(3)", "--epsilon", "٣"], "ε must look like"),
        (["design", "count(3)", "--epsilon", "ln(０.５)"], "ε must look like"),
        (["design", "databases(20,4)", "--epsilon", "1"], "has 1099511627776"),
        (["design", "cycle(1000000000000)", "--epsilon", "1"], "has 1000000000000"),
        (["explain", "--min-utility", ".5"], "go together"),
        (["explain", "--epsilon", "1", "--query", "count(3)"], "go together"),
        (["explain", "--epsilon", "1", "--min-utility", ".5", "--query", "count(3)"], "got 2"),
        (["explain"], "give one of: an ε (--epsilon)"),
        (["analyse", "count(5)", "--epsilon", "1"], "Write geometric:count(5)"),
        (["curve", "geometric:count(5)", "--epsilon", "1", "--times", "0"], "--times must be"),
        (["design", "commonest(5)", "--epsilon", "1", "--report", "x.html"],
         "--report does not go together with commonest(5)"),
        (["design", "cycle(5)", "--epsilon", "1", "--consumers", "c.json", "--loss", "binary"],
         "--loss does not go together with --consumers"),
        (["analyse", "geometric:count(5)", "--epsilon", "1", "--query", "choice(3)"],
         "--query does not go together with a named mechanism"),
        (["verify", "a.tightrope", "--script"], "--script prints the judge"),
        (["ledger", "series", "l.db", "table t", "s", "--step", "9y0.1", "--delta", "1e-6"],
         "ε must look like 0.5, 1/2, ln(2) or 2*ln(3), got '9y0.1'"),
    ],
)  # fmt: skip
def test_refused_in_one_line(run, words, says):
    refused = run(*words)
    assert refused.code == 2
    assert is_one_line(refused)
    assert says in refused.err


def test_a_file_says_its_level_and_its_question(run, tmp_path):
    """A level that was given beside a file was ignored, and so was a question."""
    file = str(tmp_path / "count.tightrope")
    named = "geometric:count(5)"
    assert run("certify", named, "--epsilon", "1", "--out", file).code == 0
    for words in (["--epsilon", "9"], ["--query", "choice(6)"]):
        refused = run("analyse", file, *words)
        assert refused.code == 2
        assert is_one_line(refused)
        assert "does not go together with a mechanism file" in refused.err
    # The level of the other mechanism is no level of the file.
    assert run("derive", file, named, "--from-epsilon", "1").code == 0
    assert run("derive", file, named, "--epsilon", "1").code == 0


def test_a_wanted_utility_on_a_graph_without_a_closed_form(run):
    right = ("--loss", "binary", "--json")
    found = run("explain", "--min-utility", "0.3", "--query", "sum(6,2)", "--json").data
    reached = run("design", "sum(6,2)", "--epsilon", found["epsilon_text"], *right).data
    below = run(
        "design", "sum(6,2)", "--epsilon", str(found["epsilon"] - 1e-5), *right
    ).data
    assert below["utility"] < 0.3 <= reached["utility"]


def test_a_bound_of_zero_is_shown_as_zero(run):
    known = run("design", "count(3)", "--epsilon", "1", "--prior", "1,0,0,0").out
    open_ = run("design", "count(3)", "--epsilon", "1", "--loss", "binary").out
    assert "no mechanism below  0  (gap" in known
    assert "no mechanism below  0.4034" in open_


@pytest.mark.parametrize("command", ["analyse", "remap", "verify"])
def test_a_pipe_is_not_waited_for(tmp_path, command):
    pipe = tmp_path / "matrix.csv"
    os.mkfifo(pipe)
    question = [] if command == "verify" else ["--query", "count(3)"]
    refused = subprocess.run(
        [sys.executable, "-m", "tightrope", command, str(pipe), *question],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert refused.returncode == 2
    assert refused.stderr == f"tightrope: {pipe}: this is not a regular file\n"


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("", "this is a folder"),
        (".", "this is a folder"),
        ("no/such/x", "does not exist"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ["design", "count(3)", "--epsilon", "1", "--out"],
        ["design", "count(3)", "--epsilon", "1", "--report"],
        ["certify", "geometric:count(3)", "--epsilon", "1", "--out"],
        ["generalise", "geometric:count(3)", "--epsilon", "1", "--out"],
        ["graph", "count(3)", "--plot"],
        ["curve", "geometric:count(3)", "--epsilon", "1", "--plot"],
    ],
    ids=["out", "report", "certify", "generalise", "graph", "curve"],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    run, monkeypatch, tmp_path, words, goal, says
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "tightrope.queries.query", lambda *_, **__: pytest.fail("too late")
    )
    refused = run(*words, goal)
    assert refused.code == 2
    assert is_one_line(refused)
    assert says in refused.err
    assert list(tmp_path.iterdir()) == []


def in_a_shell(line, **settings):
    words = f"{sys.executable} -m tightrope {line}"
    return subprocess.run(
        ["/bin/sh", "-c", words],
        check=False,
        capture_output=True,
        timeout=120,
        env={**os.environ, **settings},
    )


@pytest.mark.parametrize("form", ["", "--json"])
def test_letters_that_the_terminal_cannot_write_are_spelled_out(form):
    found = in_a_shell(f"explain --epsilon 1 {form}", PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stderr) == (0, b"")
    text = found.stdout.decode("ascii")
    assert "\\u03b5 = 1: any result" in text
    if form:
        assert json.loads(text)["sentences"][0].startswith("ε = 1")


@pytest.mark.parametrize("form", ["", "--json"])
@pytest.mark.parametrize(
    ("goal", "code", "says"),
    [
        (">&-", 0, b""),
        ("> /dev/full", 2, b"tightrope: output: No space left on device\n"),
    ],
    ids=["closed", "full"],
)
def test_output_that_goes_nowhere(form, goal, code, says):
    found = in_a_shell(f"graph petersen {form} {goal}")
    assert (found.returncode, found.stderr) == (code, says)
