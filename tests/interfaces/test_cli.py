"""The frame of the command line: help, JSON, errors, exit codes."""

import io
import re
import subprocess
import sys

import pytest
import typer.main

import tightrope
from tightrope.cli.app import COMMANDS, app
from tightrope.cli.output import json_wanted, progress_bar
from tightrope.progress import Progress


def is_one_line(run):
    return (
        run.out == "" and run.err.startswith("tightrope: ") and run.err.count("\n") == 1
    )


def test_version(run):
    assert run("--version") == (0, f"tightrope {tightrope.__version__}\n", "")


def test_no_words_show_the_help(run):
    shown = run()
    assert "graph" in shown.out + shown.err


@pytest.mark.parametrize("help_word", ["-h", "--help"])
def test_help_lists_the_commands(run, help_word):
    shown = run(help_word)
    assert shown.code == 0
    assert "graph" in shown.out
    assert "--version" in shown.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["graph"], "Missing argument"),
        (["graph", "path(3)", "--colour"], "No such option: --colour"),
        (["graph", "sum(150,)"], "at character"),
        (["graph", "smu(150,5)"], "sum"),
        (
            ["graph", "path(3)", "--neighbours", "cousins"],
            "'change-one', 'add-remove' or 'either'",
        ),
        (["graph", "path(3)", "--plot", "x.gif"], ".png"),
        (["graph", "graph:no-such-file.csv"], "no-such-file.csv"),
        (["graph", "path(0)"], "at least 1"),
    ],
)
def test_bad_input_is_one_line_and_code_2(run, words, says):
    refused = run(*words)
    assert refused.code == 2
    assert is_one_line(refused)
    assert says in refused.err


def test_a_defect_shows_no_traceback(run, monkeypatch):
    def broken(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("tightrope.graphs.symmetry.graph_facts", broken)
    failed = run("graph", "path(3)")
    assert failed.code == 70
    assert is_one_line(failed)
    assert "boom" in failed.err


def test_an_interrupt_is_one_line(run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tightrope.graphs.symmetry.graph_facts", stopped)
    assert run("graph", "path(3)") == (130, "", "tightrope: interrupted\n")
    monkeypatch.setattr(
        "tightrope.optimize.limits.run_engine", lambda *_, **__: stopped()
    )
    words = ["cycle(5)", "--epsilon", "1", "--max-vulnerability", "0.3"]
    assert run("design", *words) == (130, "", "tightrope: interrupted\n")


def test_an_interrupt_of_the_start_is_one_line(run, monkeypatch):
    class Slow:
        def find_spec(self, name, *_):
            if name == "tightrope.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tightrope.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Slow(), *sys.meta_path])
    assert run("graph", "path(3)") == (130, "", "tightrope: interrupted\n")


def test_long_work_shows_the_time_that_passes_before_any_share_is_known(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    with progress_bar("searching"):
        pass
    assert "searching" in shown.getvalue()
    assert "0:00:00" in shown.getvalue()
    with progress_bar("searching") as done:
        done(Progress("searching", 1, 2))
    assert "50%" in shown.getvalue()
    before = shown.getvalue()
    token = json_wanted.set(True)
    with progress_bar("searching") as done:
        done(Progress("searching", 1, 2))
    json_wanted.reset(token)
    assert shown.getvalue() == before


@pytest.mark.parametrize("words", [[], ["ledger"]])
def test_the_list_of_commands_says_whole_sentences(run, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*words, "--help").out
    listed = re.split(r"Commands:\n|Publish:\n", shown)[1].splitlines()
    titles = {"", "Check:", "Study:"}
    assert len(listed) > 6
    assert all(line.endswith(".") for line in listed if line not in titles)
    assert all(len(line) <= 80 and "..." not in line for line in listed)


def test_every_command_is_listed_under_its_purpose(run):
    titled = {command.__name__ for some in COMMANDS.values() for command in some}
    assert titled | {"ledger"} == set(typer.main.get_command(app).commands)
    usage = [run(name, "--help").out.splitlines()[0] for name in ("design", "sweep")]
    assert usage == [
        "Usage: tightrope design [OPTIONS] QUERY",
        "Usage: tightrope sweep [OPTIONS] QUERY...",
    ]


@pytest.mark.parametrize("name", typer.main.get_command(app).commands)
def test_help_fits_a_terminal(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    # Arguments have meanings, not types of Python.
    assert not re.search(r"^  [A-Z0-9]+ <", shown, re.MULTILINE)


def test_lines_end_where_their_words_end(run):
    """Whoever copies a result copies no blanks."""
    shown = run("graph", "count(5)").out
    assert "degrees" in shown
    assert not any(line.endswith(" ") for line in shown.splitlines())


@pytest.mark.parametrize("name", ["ask", "init", "release", "design"])
def test_help_breaks_no_word_at_a_hyphen(run, monkeypatch, name):
    """What is in one line can be copied: the name of an option, with the hyphens of a keyboard."""
    for width in range(50, 100, 5):
        monkeypatch.setenv("COLUMNS", str(width))
        text = run(name, "--help").out
        assert not re.search(r"\w-\n", text), width
        assert "\u2011" not in text


def test_a_closed_pipe_is_no_error():
    words = f"{sys.executable} -m tightrope graph 'sum(150,5)' | true"
    done = subprocess.run(
        ["bash", "-c", words], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_completion_is_offered():
    # The shell is recognised by the process that asks, so one must.
    words = ["bash", "-c", f"{sys.executable} -m tightrope --show-completion; true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "COMPLETE" in done.stdout, done.stderr
