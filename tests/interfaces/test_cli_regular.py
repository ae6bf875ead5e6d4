"""``tightrope exists`` and ``tightrope regular``: published and corrected numbers, refusals."""

import math

import pytest

PEOPLE = "product(.3,.27,.23,.2)"


@pytest.mark.parametrize(
    ("words", "minimum"),
    [
        (["sum(150,5)"], 0.968133),
        (["sum(150,5)", "--tolerance", "1e-4"], 0.80),
        (["counts(2,2)"], -math.log(math.sqrt(5) - 2)),
        (["star(4)"], math.log(3)),
        (["path(9)"], 0),
        (["petersen"], 0),
    ],
)
def test_exists(run, words, minimum):
    data = run("exists", *words, "--json").data
    assert data["minimum"] == pytest.approx(minimum, abs=1e-6)
    assert data["intervals"][-1][1] is None
    assert data["intervals"][0][0] == data["minimum"]


def test_exists_refuses_a_negative_tolerance(run):
    refused = run("exists", "path(3)", "--tolerance", "-1")
    assert refused.code == 2
    assert "tolerance" in refused.err


def test_regular_corner(run):
    words = ["clique(4)", "--epsilon", "ln(2)", "--prior", "0.4,0.2,0.2,0.2", "--json"]
    data = run("regular", *words).data
    assert data["regular"] is True
    assert data["certain"] is True
    assert data["coordinates"] == [1, 0, 0, 0]
    assert data["utility_bound"] == pytest.approx(0.4)
    assert data["separating"] is None


def test_not_regular_has_a_proof(run):
    words = ["clique(4)", "--epsilon", "ln(2)", "--prior", "0.7,0.1,0.1,0.1", "--json"]
    data = run("regular", *words).data
    assert data["regular"] is False
    assert data["coordinates"] is None
    assert (
        sum(
            p * w for p, w in zip([0.7, 0.1, 0.1, 0.1], data["separating"], strict=True)
        )
        < 0
    )


@pytest.mark.parametrize(
    ("level", "regular"), [("ln(2)", True), ("0.693", False), ("0.7", True)]
)
def test_example_3_is_regular_from_ln_2(run, level, regular):
    words = ["databases(5,4)", "--epsilon", level, "--prior", PEOPLE, "--json"]
    assert run("regular", *words).data["regular"] is regular


def test_example_3_at_one_half(run):
    words = ["databases(5,4)", "--epsilon", "0.5", "--prior", PEOPLE, "--json"]
    data = run("regular", *words).data
    assert data["regular"] is False
    assert data["sum_of_y_bits"] == pytest.approx(1.2074, abs=5e-5)


@pytest.mark.parametrize(
    ("prior", "says"),
    [
        ("0.5,0.5", "4"),
        ("0.4,0.2,0.2,0.199", "0.999"),
        ("0.4,-0.2,0.4,0.4", "-0.2"),
        ("0.4,nan,0.2,0.2", "at character"),
        ("gaussian(2)", "at character"),
        ("file:none.csv", "none.csv"),
    ],
)
def test_bad_priors(run, prior, says):
    refused = run("regular", "clique(4)", "--epsilon", "1", "--prior", prior)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err
