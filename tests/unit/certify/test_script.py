"""The checker as one file."""

import subprocess
import sys
from pathlib import Path

from tightrope.certify import certify, checker_script, write
from tightrope.channels import GeometricChannel
from tightrope.graphs import Band

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "verify_mechanism.py"


def test_the_shipped_script_is_the_checker():
    remedy = "write it anew: tightrope verify --script > scripts/verify_mechanism.py"
    assert SCRIPT.read_text(encoding="utf-8") == checker_script(), remedy


def test_it_runs_without_the_package(tmp_path):
    made = certify(GeometricChannel(6, "ln(2)"), Band(6), "ln(2)", query="count(5)")
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
