"""``tightrope sharpen``: one mechanism for a coarse answer and a finer one."""

import json

import pytest

from tightrope.certify import Mechanism
from tightrope.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    """Two counts at ε = 0.5 and 1, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, level in (("half", "0.5"), ("one", "1")):
        words = ["geometric:count(4)", "--epsilon", level, "--out", f"{name}.tightrope"]
        assert main(["certify", *words]) == 0
    capsys.readouterr()
    return tmp_path


def test_the_pair_is_a_mechanism_that_verifies(files, capsys) -> None:
    words = ["half.tightrope", "one.tightrope", "--out", "both.tightrope"]
    assert main(["sharpen", *words]) == 0
    shown = capsys.readouterr().out
    assert "half.tightrope derives from one.tightrope (decided in integers)" in shown
    assert "exactly as in half.tightrope" in shown
    assert "Written to both.tightrope." in shown
    assert main(["verify", "both.tightrope"]) == 0
    assert "yes, for the question" in capsys.readouterr().out
    pair = Mechanism(files / "both.tightrope")
    assert pair.shape == (5, 25)
    assert pair.output_label(7) == (1, 2)


def test_json(files, capsys) -> None:
    assert main(["sharpen", "half.tightrope", "one.tightrope", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["derivable"]
    assert data["proved"]
    assert not data["up_to_rounding"]
    assert data["distance"] < 1e-18
    assert (data["query"], data["epsilon"], data["outputs"]) == ("count(4)", "1", 25)
    assert data["file"] is None
    assert data["witness"] is None


def test_the_wrong_way_round_is_refused(files, capsys) -> None:
    words = ["one.tightrope", "half.tightrope", "--out", "both.tightrope"]
    assert main(["sharpen", *words]) == 1
    assert "does not derive" in capsys.readouterr().out
    assert not (files / "both.tightrope").exists()
    assert main(["sharpen", "one.tightrope", "half.tightrope", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert not data["proved"]
    assert data["witness"]["prior"]
    assert data["nearest_level"] == "0.49"


def test_the_best_finer_answer(files, capsys) -> None:
    words = ["half.tightrope", "one.tightrope", "--best", "--out", "best.tightrope"]
    assert main(["sharpen", *words]) == 0
    shown = capsys.readouterr().out
    assert (
        "finer answer to count(4), designed for answers that are equally likely"
        in shown
    )
    assert "Written to best.tightrope." in shown
    assert main(["verify", "best.tightrope"]) == 0
    capsys.readouterr()
    assert main(["sharpen", *words[:3], "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["loss"] == pytest.approx(data["single_loss"], abs=1e-7)
    assert (data["loss_name"], data["epsilon"]) == ("absolute", "1")


def test_two_questions_do_not_go_together(files, capsys) -> None:
    words = ["geometric:count(3)", "--epsilon", "1", "--out", "other.tightrope"]
    assert main(["certify", *words]) == 0
    capsys.readouterr()
    assert main(["sharpen", "half.tightrope", "other.tightrope"]) == 2
    assert "the same question" in capsys.readouterr().err
