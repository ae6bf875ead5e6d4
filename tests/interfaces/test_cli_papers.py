"""``tightrope papers``: every claim again, as a table, as JSON and as figures."""

import pytest

from tightrope.papers import all_claims
from tightrope.papers.claims import PaperClaim
from tightrope.report.paper_figures import FIGURES

KEYS = {"paper", "result", "claimed", "computed", "verdict"}


def test_json_has_a_row_for_every_claim(run) -> None:
    data = run("papers", "--only", "AB", "--json").data
    assert len(data["rows"]) == len(all_claims("AB"))
    assert all(row.keys() >= KEYS for row in data["rows"])
    assert {row["verdict"] for row in data["rows"]} == {"match", "corrected"}
    assert data["match"] + data["corrected"] == len(data["rows"])
    thresholds = {row["result"]: row for row in data["rows"] if row["paper"] == "A"}
    for result, printed, true in (
        ("§6, sum, least ε", "0.8", "0.968133"),
        ("§6, 2-count, least ε", "0.9", "1.13608"),
        ("Ex 3, least ε", "0.48", "0.693147"),
    ):
        assert thresholds[result]["verdict"] == "corrected"
        assert thresholds[result]["claimed"] == printed
        assert thresholds[result]["computed"].startswith(true)
        assert thresholds[result]["explanation"]


def test_the_table_shows_corrections(run) -> None:
    shown = run("papers", "--only", "D")
    assert shown.code == 0
    assert "Corrected" in shown.out
    assert "Lemma 3.3.8" in shown.out
    assert f"{len(all_claims('D'))} claims" in shown.out


def test_figures_are_drawn(run, tmp_path) -> None:
    folder = tmp_path / "new" / "figures"
    data = run("papers", "--only", "cd", "--out", str(folder), "--json").data
    wanted = {f"{name}.png" for name in FIGURES if name[0] in "CD"}
    assert {path.name for path in folder.iterdir()} == wanted
    assert all(path.stat().st_size > 5000 for path in folder.iterdir())
    assert len(data["figures"]) == len(wanted)


def test_other_letters_are_refused(run) -> None:
    refused = run("papers", "--only", "Z")
    assert refused.code == 2
    assert "some of A, B, C and D" in refused.err
    assert refused.err.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_refused(run, tmp_path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file", encoding="utf-8")
    refused = run("papers", "--only", "D", "--out", str(taken))
    assert refused.code == 2
    assert "cannot be made" in refused.err


def test_an_unexplained_difference_fails(run, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = PaperClaim("D", "Ex 0", "one and one", "3", sum, "", lambda: (2, ""))
    monkeypatch.setattr("tightrope.papers.all_claims", lambda papers=None: (wrong,))
    failed = run("papers", "--only", "D")
    assert failed.code == 1
    assert "D Ex 0" in failed.err
