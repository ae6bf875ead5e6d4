"""The judge as one file: it runs alone, and judges as the package does."""

import ast
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import pytest
from tests.forged import forged

from tightrope.certify import certify, judge_script, verify
from tightrope.certify.judge import MODULES
from tightrope.certify.kernel.format import Refused
from tightrope.certify.mechanism import derived_graph
from tightrope.certify.standalone import question_graph
from tightrope.channels import GeometricChannel
from tightrope.consumers import Consumer
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("sceptic") / "verify_mechanism.py"
    path.write_text(judge_script(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run_alone(script):
    def run(path):
        words = [sys.executable, "-I", str(script), str(path)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    return run


def test_every_definition_of_the_judge_is_in_the_script_once():
    """In one file no name of a module may hide that of another."""
    room = files("tightrope")
    parts = [ast.parse(room.joinpath(name).read_text("utf-8")) for name in MODULES]
    named = Counter(
        node.name for part in parts for node in part.body if hasattr(node, "name")
    )
    assert named.most_common(1)[0][1] == 1
    alone = ast.parse(judge_script()).body
    assert {node.name for node in alone if hasattr(node, "name")} == set(named)


def test_every_module_of_the_judge_is_in_the_script():
    room = files("tightrope").joinpath("certify")
    held = {
        f"certify/{part}/{path.name}"
        for part in ("kernel", "expanders", "theorems")
        for path in room.joinpath(part).iterdir()
        if path.name.endswith(".py") and path.name != "__init__.py"
    }
    alone = {"lattices.py", "certify/standalone.py"}
    assert held | alone == set(MODULES)


def test_it_needs_nothing_but_numpy(tmp_path, script):
    """The judge does not know the accused: no solver, no planner, no room of the package."""
    path = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)").save(
        tmp_path / "good"
    )
    code = (
        "import runpy, sys\n"
        f"sys.argv = ['judge', {str(path)!r}]\n"
        "try:\n"
        f"    runpy.run_path({str(script)!r}, run_name='__main__')\n"
        "except SystemExit as done:\n"
        "    assert done.code == 0\n"
        "others = {'tightrope', 'scipy', 'networkx', 'highspy', 'typer'} & set(sys.modules)\n"
        "assert not others, others\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("count(5)", "absolute"),
        ("star(3)", "distance"),
        ("cycle(5)", "binary"),
        ("counts(3,2)", "squared"),
        ("histogram(3,2)", "distance"),
        ("databases(2,3)", "distance"),
    ],
)
def test_it_judges_as_the_package_does(tmp_path, run_alone, text, loss):
    asked = query(text)
    made = prove(design(asked, "ln(2)", Consumer.of(asked.graph, loss=loss)), asked)
    path = made.save(tmp_path / "good.tightrope")
    done = run_alone(path)
    assert done.returncode == 0, done.stderr
    assert all(f"holds: {line}" in done.stdout for line in verify(path).checked)
    # The weights, the certificate and the stated numbers, changed one after another.
    for name in ("weights", "prices", "prior"):
        if name in made._file.places:
            wrong = (
                made._file.section(name) if name != "weights" else made.row_weights(0)
            )
            if name == "weights":
                wrong = next(made._file.columns(made.shape[0])).T.copy().ravel()
            wrong[0] += 1
            path.write_bytes(forged(made, **{name: wrong}))
            found = run_alone(path)
            assert found.returncode == 1, name
            assert f"FAILS: {verify(path).reasons[0]}" in found.stdout


def test_a_question_it_does_not_know_is_refused(tmp_path, run_alone):
    asked = query("petersen")
    path = prove(design(asked, "ln(2)"), asked).save(tmp_path / "petersen.tightrope")
    assert verify(path).private_for_question
    done = run_alone(path)
    assert done.returncode == 1
    assert "petersen under change-one is not known here" in done.stdout


KNOWN = [
    *(
        f"{name}({n})"
        for name in ("count", "path", "clique", "choice")
        for n in (1, 2, 7)
    ),
    *(f"count_mod({n},{m})" for n, m in ((3, 5), (5, 2), (7, 3), (9, 1))),
    *("cycle(3)", "cycle(8)", "hypercube(1)", "hypercube(4)", "star(1)", "star(5)"),
    *(
        "tree(2,3)",
        "tree(3,1)",
        "tree(1,4)",
        "tree(2,0)",
        "grid(4)",
        "grid(3,4)",
        "grid(2,1,3)",
    ),
    *("sum(1,3)", "sum(4,5)", "sum(3,1)", "counts(3,1)", "counts(2,3)", "mean(4,5)"),
    *(
        "databases(1,3)",
        "databases(3,2)",
        "databases(2,1)",
        "histogram(3,1)",
        "histogram(4,3)",
    ),
]


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize("text", KNOWN)
def test_two_derivations_of_a_graph_agree(text, relation):
    """What the script derives from a text on its own is what the questions' room makes of it."""
    theirs = derived_graph(text, relation)
    try:
        mine = question_graph(text, relation)
    except Refused:
        assert relation != "change-one"
        return
    assert (mine.form, mine.sides, mine.nodes) == (
        theirs.form,
        theirs.sides,
        theirs.nodes,
    )
    if mine.form == "list":
        assert mine.edges.tolist() == theirs.edges.tolist()
    labels = [theirs.label(i) for i in range(theirs.nodes)]
    assert [mine.label(i) for i in range(mine.nodes)] == labels
    assert mine.line == theirs.line or mine.nodes == 1
