"""The commands derive and universal."""

from fractions import Fraction

import pytest

from tightrope.axioms import universality
from tightrope.channels import derivable, rational


@pytest.fixture
def matrices(tmp_path):
    fine, coarse = tmp_path / "fine.csv", tmp_path / "coarse.csv"
    fine.write_text("3/4,1/4\n1/4,3/4\n")
    coarse.write_text("2/3,1/3\n1/3,2/3\n")
    return str(fine), str(coarse)


def test_derive_a_remap(run, matrices):
    fine, coarse = matrices
    data = run("derive", coarse, fine, "--json").data
    assert data["derivable"] is True
    assert data["exact"] is True
    assert "witness" not in data
    remap = [[Fraction(x) for x in row] for row in data["remap"]]
    made = derivable(
        rational([["2/3", "1/3"], ["1/3", "2/3"]]),
        rational([["3/4", "1/4"], ["1/4", "3/4"]]),
    )
    assert remap == [[made.remap.fraction(i, o) for o in range(2)] for i in range(2)]


def test_derive_a_witness(run, matrices):
    fine, coarse = matrices
    data = run("derive", fine, coarse, "--json").data
    assert data["derivable"] is False
    assert "remap" not in data
    assert Fraction(data["witness"]["gain_first"]) > Fraction(
        data["witness"]["gain_second"]
    )
    assert sum(map(Fraction, data["witness"]["prior"])) == 1


def test_derive_named_mechanisms(run):
    words = ["derive", "geometric:count(6)", "geometric:count(6)", "--epsilon", "0.5"]
    yes = run(*words, "--from-epsilon", "1", "--json").data
    assert (yes["derivable"], yes["exact"]) == (True, False)
    no = run(*words, "--from-epsilon", "0.25", "--json").data
    assert no["derivable"] is False
    assert no["witness"]["gain_first"] > no["witness"]["gain_second"]


def test_derive_for_people(run, matrices):
    fine, coarse = matrices
    assert "is derivable from" in " ".join(run("derive", coarse, fine).out.split())
    told = run("derive", fine, coarse)
    assert "is not derivable from" in " ".join(told.out.split())
    assert told.code == 0


def test_derive_tells_rounding_from_a_difference(run, tmp_path):
    """A remap of geometric noise, written to a file, is one only up to the last bits."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    words = ["design", "path(5)", "--epsilon", "ln(2)", "--loss", "absolute", "--prior"]
    run(*words, "0.5,0.5,0,0,0", "--out", first)
    run(*words, "uniform", "--out", second)
    data = run("derive", first, second, "--json").data
    assert (data["derivable"], data["exact"], data["up_to_rounding"]) == (
        False,
        True,
        True,
    )
    assert 0 < data["distance_at_least"] <= data["distance"] < 1e-14
    assert data["nearest_remap"] == [["1", "0"], *[["0", "1"]] * 4]
    told = " ".join(run("derive", first, second).out.split())
    assert "derivable from" in told
    assert "up to rounding (1e-15)" in told
    back = run("derive", second, first, "--json").data
    assert (back["derivable"], back["up_to_rounding"]) == (False, False)
    assert back["distance"] >= back["distance_at_least"] > 0.01


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such.csv", "no-such.csv"], "no-such.csv"),
        (["geometric:count(5)", "geometric:count(5)"], "--epsilon"),
        (["geometric:count(5)", "geometric:count(6)", "--epsilon", "1"], "6 and 7"),
    ],
)
def test_derive_refuses(run, words, says):
    refused = run("derive", *words)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["count(20)", "--epsilon", "0.5"], "yes"),
        (
            ["count(20)", "--epsilon", "0.5", "--loss", "squared", "--risk-averse"],
            "yes",
        ),
        (["sum(3,2)", "--epsilon", "1"], "no"),
        (["sum(3,2)", "--epsilon", "1", "--risk-averse"], "no"),
        (["star(3)", "--epsilon", "ln(2)"], "yes"),
        (["star(3)", "--epsilon", "ln(3/2)"], "no"),
        (["cycle(6)", "--epsilon", "1"], "no"),
        (["histogram(3,3)", "--epsilon", "1", "--neighbours", "add-remove"], "no"),
    ],
)
def test_universal(run, words, verdict):
    data = run("universal", *words, "--json").data
    assert data["verdict"] == verdict
    assert data["reason"]
    if verdict == "no":
        assert len(data["witness"]["consumers"]) >= 2
    else:
        assert data["witness"]["mechanism"]


def test_universal_agrees_with_the_library(run):
    data = run("universal", "cycle(5)", "--epsilon", "ln(2)", "--json").data
    found = universality("cycle(5)", "ln(2)")
    assert data["reason"] == found.reason
    losses = [Fraction(c["optimal_loss"]) for c in data["witness"]["consumers"]]
    assert losses == list(found.witness.optimal_losses)


def test_universal_for_people(run):
    told = run("universal", "sum(3,2)", "--epsilon", "1")
    assert told.out.startswith("sum(3,2)")
    assert "consumer 2" in told.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["count(5"], "character"),
        (["count(5)", "--epsilon", "0"], "positive"),
        (["count(5)", "--epsilon", "1", "--loss", "nonsense"], "unknown loss"),
    ],
)
def test_universal_refuses(run, words, says):
    given = words if "--epsilon" in words else [*words, "--epsilon", "1"]
    refused = run("universal", *given)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


def test_generalise_and_derive_back(run, tmp_path):
    coarse, fine = tmp_path / "coarse.csv", tmp_path / "fine.csv"
    coarse.write_text("3/5,2/5\n2/5,3/5\n1/2,1/2\n")
    words = ["generalise", str(coarse), "--query", "choice(3)", "--epsilon", "ln(2)"]
    data = run(*words, "--out", str(fine), "--json").data
    assert data["exact"] is True
    assert data["new_outputs"] > data["outputs"] == 2
    assert len(data["remap"]) == data["new_outputs"]
    assert data["steps"]
    assert run("derive", str(coarse), str(fine), "--json").data["derivable"] is True
    assert run("derive", str(fine), str(coarse), "--json").data["derivable"] is False
    assert "splits" in run(*words).out
    again = run("generalise", "geometric:count(4)", "--epsilon", "ln(2)")
    assert "already" in again.out


def test_generalise_refuses(run, tmp_path):
    file = tmp_path / "sharp.csv"
    file.write_text("9/10,1/10\n1/10,9/10\n")
    refused = run("generalise", str(file), "--query", "choice(2)", "--epsilon", "ln(2)")
    assert refused.code == 2
    assert "private" in refused.err
    assert "--epsilon" in run("generalise", str(file), "--query", "choice(2)").err


def test_curve(run):
    words = ["curve", "geometric:count(5)", "--epsilon", "ln(2)"]
    data = run(*words, "--json").data
    assert data["epsilon"] == pytest.approx(0.693147, abs=1e-6)
    assert data["rows"][0]["epsilon"] == 0
    assert data["rows"][-1]["delta"] == pytest.approx(0, abs=1e-12)
    smaller = run(*words, "--delta", "0.1", "--json").data
    assert smaller["epsilon"] < data["epsilon"]
    assert "δ for ε" in run(*words).out
    assert run(*words, "--delta", "2").code == 2


def test_axioms(run):
    good = run("axioms", "b <= 2*a and 1-a <= 2*(1-b)", "--steps", "16", "--json").data
    assert good["satisfied"] is True
    assert good["violation"] is None
    bad = run("axioms", "a == b or abs(a-b) == 0.25", "--steps", "16", "--json").data
    assert bad["satisfied"] is False
    assert bad["violation"]["axiom"] == "post-processing"
    assert "BROKEN" in run("axioms", "a == b or abs(a-b) == 0.25", "--steps", "16").out


@pytest.mark.parametrize(
    "text",
    ["", "a <", "__import__('os')", "a.real < b", "c < a", "'x' < a", "a ** 99 < b", "a" * 600,
     "(lambda: a)() < b", "exp(x=a) < b", "[a][0] < b", "a if b else a"],
)  # fmt: skip
def test_axioms_refuses(run, text):
    refused = run("axioms", text, "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "expected" in refused.err


def test_rounding_is_not_taken_for_something_to_split(run, tmp_path):
    file = str(tmp_path / "count.json")
    run("certify", "geometric:count(5)", "--epsilon", "1", "--out", file, "--json")
    assert run("generalise", file, "--json").data["steps"] == []
    run("certify", "response:count(3)", "--epsilon", "1", "--out", file, "--json")
    assert run("generalise", file, "--json").data["new_outputs"] > 4
