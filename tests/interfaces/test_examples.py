"""Every example runs as it stands, and says what it promises."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

SAYS = {
    "ask_fair.py": "paid 1, left 0",
    "demo.py": "margin with independent noise",
    "design_and_prove.py": "private: True",
    "leakage_of_noise.py": "geometric",
    "release_from_a_table.py": "refused: the budget of table people is too small",
    "thresholds.py": "0.968133 in truth",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert SAYS.get(path.name, "") in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_explains_itself(path) -> None:
    assert path.read_text(encoding="utf-8").startswith('"""')


def test_every_promise_has_its_example() -> None:
    assert set(SAYS) <= {path.name for path in EXAMPLES}


def test_the_page_and_the_file_of_a_design_are_written(
    monkeypatch, tmp_path, capsys
) -> None:
    monkeypatch.setattr(sys, "argv", ["x", str(tmp_path)])
    runpy.run_path(str(FOLDER / "design_and_prove.py"), run_name="__main__")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "sum.tightrope").exists()
    capsys.readouterr()
