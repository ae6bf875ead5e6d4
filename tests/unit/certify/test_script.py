"""The checker as one file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tightrope.certify import certify, checker_script, write
from tightrope.certify.container import Container
from tightrope.certify.encode import encode
from tightrope.channels import GeometricChannel
from tightrope.consumers import Consumer
from tightrope.graphs import PathPower
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "verify_mechanism.py"


def test_the_shipped_script_is_the_checker():
    remedy = "write it anew: tightrope verify --script > scripts/verify_mechanism.py"
    assert SCRIPT.read_text(encoding="utf-8") == checker_script(), remedy


def test_it_runs_without_the_package(tmp_path):
    made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    good = write(made, tmp_path / "good.tightrope")
    bad = tmp_path / "bad.tightrope"
    data = bytearray(good.read_bytes())
    data[-40] ^= 1
    bad.write_bytes(data)
    script = tmp_path / "alone.py"
    script.write_text(checker_script(), encoding="utf-8")
    for path, code, word in ((good, 0, "private: yes"), (bad, 1, "FAILS: digest")):
        words = [sys.executable, "-I", str(script), str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert word in done.stdout
    assert "tightrope." not in script.read_text(encoding="utf-8")


def run_alone(script, path):
    words = [sys.executable, "-I", str(script), str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "loss"), [("count(5)", "absolute"), ("star(3)", "distance"), ("cycle(5)", "binary")]
)
def test_a_copy_cut_to_one_file_judges_as_the_whole_does(tmp_path, text, loss):
    asked = query(text)
    made = prove(design(asked, "ln(2)", Consumer.of(asked.graph, loss=loss)), asked)
    path = write(made, tmp_path / "good.tightrope")
    cut, whole = checker_script(path), checker_script()
    assert cut.count("\n") < 0.75 * whole.count("\n")
    script = tmp_path / "cut.py"
    script.write_text(cut, encoding="utf-8")
    done = run_alone(script, path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run_alone(SCRIPT, path).stdout
    # The weights, the certificate and the stated numbers, changed one after another.
    file = Container(made.to_bytes())
    header = {name: value for name, value in file.header.items() if name != "sections"}
    sections = {name: np.concatenate(list(file.chunks(name))) for name in file.places}
    for name in ("weights", "prices", "cover", "prior"):
        if name in sections:
            changed = {**sections, name: sections[name].copy()}
            changed[name][0] += 1
            path.write_bytes(encode(header, changed, made.shape[0]))
            found = run_alone(script, path)
            assert found.returncode == 1, name
            assert "FAILS" in found.stdout


def test_a_cut_copy_refuses_files_of_another_kind(tmp_path):
    asked = query("count(5)")
    private = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    proved = prove(design(asked, "ln(2)", Consumer.of(asked.graph, loss="absolute")), asked)
    script = tmp_path / "cut.py"
    script.write_text(checker_script(private.to_bytes()), encoding="utf-8")
    done = run_alone(script, write(proved, tmp_path / "other.tightrope"))
    assert done.returncode == 1
    assert "for files of another kind" in done.stderr
    assert "private: yes" not in done.stdout
