"""``tightrope explain`` and ``tightrope analyse``: JSON equals the library, errors are kind."""

import math

import pytest

from tightrope.leakage.bounds import explain


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            ["--epsilon", "1", "--individuals", "50"],
            {"epsilon": "1", "individuals": 50},
        ),
        (["--max-bits", "3", "--individuals", "9"], {"max_bits": 3, "individuals": 9}),
        (["--max-success", ".6", "--values", "3"], {"max_success": 0.6, "values": 3}),
    ],
)
def test_explain_json_is_the_library_result(run, words, arguments):
    data = run("explain", *words, "--json").data
    assert {
        "epsilon",
        "leakage_bound_bits",
        "individual_bits",
        "attacker_success",
    } <= data.keys()
    assert data == explain(**arguments).as_dict()


def test_explain_the_published_bound(run):
    data = run("explain", "--epsilon", "5", "--individuals", "100", "--json").data
    assert data["leakage_bound_bits"] == pytest.approx(99.03, abs=0.005)


def test_explain_by_utility(run):
    data = run("explain", "--min-utility", "0.5", "--query", "count(5)", "--json").data
    assert data["epsilon"] > 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--epsilon", "-1"],
        ["--epsilon", "nan"],
        ["--epsilon", "1", "--max-bits", "1"],
        ["--max-success", "0.4"],
        ["--max-bits", "-3"],
        ["--min-utility", "0.5"],
        ["--epsilon", "1", "--individuals", "0"],
        ["--epsilon", "1", "--values", "1"],
    ],
)
def test_explain_refuses(run, words):
    refused = run("explain", *words, "--json")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1


def test_analyse_a_named_mechanism(run):
    data = run("analyse", "geometric:count(5)", "--epsilon", "ln(2)", "--json").data
    assert data["utility"] == pytest.approx(4 / 9, abs=1e-12)
    assert data["min_entropy_leakage_bits"] == pytest.approx(
        math.log2(6 * 4 / 9), abs=1e-12
    )
    assert data["epsilon"] == pytest.approx(math.log(2), abs=1e-12)
    assert data["maximally_general"] is True
    assert {"min_capacity_bits", "shannon_leakage_bits", "dobrushin"} <= data.keys()


def test_analyse_with_a_prior(run):
    prior = "0.1,0.2,0.2,0.2,0.2,0.1"
    words = ["response:choice(6)", "--epsilon", "ln(2)", "--prior", prior, "--json"]
    assert run("analyse", *words).data["utility"] == pytest.approx(2 / 7, abs=1e-12)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["geometric:count(5)"], "--epsilon"),
        (["laplace:count(5)", "--epsilon", "1"], "unknown mechanism"),
        (["geometric:count(5", "--epsilon", "1"], "at character"),
        (["geometric:count(5)", "--epsilon", "1", "--prior", "0.5,0.5"], "6"),
        (["no-such.csv"], "--query"),
        (["no-such.csv", "--query", "count(2)"], "no-such.csv"),
    ],
)
def test_analyse_refuses(run, words, says):
    refused = run("analyse", *words)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


def test_analyse_a_matrix(run, tmp_path):
    file = tmp_path / "matrix.csv"
    file.write_text("0.75,0.25\n0.25,0.75\n")
    data = run("analyse", str(file), "--query", "choice(2)", "--json").data
    assert data["epsilon"] == pytest.approx(math.log(3), abs=1e-12)
    assert data["utility"] == 0.75
