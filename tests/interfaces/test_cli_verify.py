"""``certify``, ``verify`` and ``audit``: JSON equals the library's result, exit codes tell."""

import pytest

from tightrope.certify import certify, judge_script, read, verify
from tightrope.channels import GeometricChannel
from tightrope.publish.sampler import Sampler


@pytest.fixture
def file(run, tmp_path):
    path = tmp_path / "count.tightrope"
    done = run(
        "certify",
        "geometric:count(5)",
        "--epsilon",
        "ln(2)",
        "--out",
        str(path),
        "--json",
    )
    assert done.data["answers"] == 6
    return path


def test_certify_writes_what_the_library_makes(run, file):
    made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    assert read(file).digest == made.digest


def test_verify_says_what_the_library_says(run, file):
    data = run("verify", str(file), "--json").data
    assert data.pop("claim").startswith("Proved private")
    assert data == verify(file).as_dict()
    assert (data["private"], data["ratio"], data["reasons"]) == (True, "2/1", [])
    assert data["optimal_within"] is None
    shown = run("verify", str(file))
    assert shown.code == 0
    assert "private" in shown.out
    assert "Holds" in shown.out


def test_a_failed_check_is_code_1(run, file):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    failed = run("verify", str(file), "--json")
    assert failed.code == 1
    assert '"private": false' in failed.out
    assert "digest" in failed.out
    assert "FAILS: digest" in run("verify", str(file)).out


def test_bad_input_is_code_2(run, tmp_path):
    for words in (["verify"], ["verify", str(tmp_path / "none")], ["audit", "none"]):
        refused = run(*words)
        assert refused.code == 2
        assert refused.err.count("\n") == 1


def test_the_script_is_printed(run):
    assert run("verify", "--script").out == judge_script()


def test_a_matrix_is_certified_or_the_pair_is_named(run, tmp_path):
    matrix, out = tmp_path / "m.csv", tmp_path / "m.tightrope"
    matrix.write_text("3/4,1/4\n1/4,3/4\n")
    words = ["certify", str(matrix), "--query", "choice(2)", "--out", str(out)]
    assert "add --epsilon" in run(*words).err
    failed = run(*words, "--epsilon", "1")
    assert failed.code == 1
    assert "row 0" in failed.err
    assert "row 1" in failed.err
    assert not out.exists()
    assert run(*words, "--epsilon", "ln(3)").code == 0
    assert run("verify", str(out)).code == 0


@pytest.mark.parametrize("name", ["count.tightrope", "count.json", "count"])
def test_analyse_reads_mechanism_files_whatever_their_name(run, file, name):
    data = run("analyse", str(file.rename(file.with_name(name))), "--json").data
    assert data["utility"] == pytest.approx(4 / 9, abs=1e-9)
    assert data["epsilon"] == pytest.approx(0.6931471805599453, abs=1e-9)


def test_another_file_is_no_mechanism(run, tmp_path):
    other = tmp_path / "notes.json"
    other.write_text("{}")
    refused = run("analyse", str(other))
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_audit_and_its_alarm(run, file, monkeypatch):
    words = ["audit", str(file), "--draws", "2000", "--timed", "100", "--json"]
    data = run(*words).data
    assert data["passed"] is True
    assert len(data["rows"]) == 6
    monkeypatch.setattr(Sampler, "draw_indices", lambda self, count: [0] * count)
    assert run(*words).code == 1
    assert "ALARM" in run(*words[:-1]).out


def test_json_that_is_no_receipt_says_only_that(run, tmp_path):
    file = tmp_path / "other.json"
    file.write_text("{}")
    found = run("verify", str(file))
    assert found.code == 1
    assert "this is not a receipt" in found.out
    assert "None" not in found.out


def test_both_judges_are_shown(run, tmp_path):
    path = tmp_path / "sum.tightrope"
    run("design", "sum(3,2)", "--epsilon", "1", "--out", str(path))
    found = run("verify", str(path), "--second-judge", "--json").data
    assert found["second_judge"] == {"verdict": "holds", "reason": ""}
    assert "Second judge: holds." in run("verify", str(path), "--second-judge").out


def test_a_refusal_of_the_second_judge_alone_fails(run, file, monkeypatch, tmp_path):
    program = tmp_path / "judge"
    program.write_text("#!/bin/sh\necho 'refused: a row does not sum to 2^bits'\n")
    program.chmod(0o755)
    monkeypatch.setenv("TIGHTROPE_SECOND_JUDGE", str(program))
    done = run("verify", str(file), "--second-judge")
    assert done.code == 1
    assert "Second judge: refused: a row does not sum to 2^bits." in done.out


def test_a_second_judge_that_is_not_built(run, file, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_SECOND_JUDGE", "nowhere")
    done = run("verify", str(file), "--second-judge")
    assert done.code == 2
    assert "the second judge is not built" in done.err
