"""The table of a study: types, round trips, and the page that describes it."""

import re
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from tightrope.cli import main
from tightrope.studies import Study, run_study, store
from tightrope.studies.store import COLUMNS

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "sweep.md"


def test_the_page_lists_the_columns() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M
    )
    assert rows == [(column.name, column.type, column.meaning) for column in COLUMNS]


def test_the_types_do_not_depend_on_the_rows() -> None:
    refused = Study.of("cycle(5)", "1", routes="tree")
    found = Study.of("path(4)", "1")
    assert (
        store.table(run_study(refused).rows()).schema
        == store.table(run_study(found).rows()).schema
    )
    assert store.table([]).schema.names == [column.name for column in COLUMNS] + [
        "seconds"
    ]


def test_every_number_of_a_design_has_a_column() -> None:
    [row] = run_study(Study.of("path(4)", "1")).rows()
    known = {column.name for column in (*COLUMNS, store.SECONDS)}
    assert set(row) - known == {"baselines"}
    assert {f"baseline_{name}" for name in row["baselines"]} <= known


def test_a_row_without_its_question_is_not_written(tmp_path: Path) -> None:
    [row] = run_study(Study.of("path(4)", "1")).rows()
    del row["query"]
    with pytest.raises(pyarrow.ArrowInvalid, match="query"):
        parquet.write_table(store.table([row]), tmp_path / "study.parquet")


def test_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    asked = ["sweep", "path(4)", "--epsilons", "1", "--scheduler", "tcp://127.0.0.1:1"]
    assert main(asked) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line == (
        "tightrope: this needs distributed, of the extra 'cluster': in a clone of the sources, "
        "pip install '.[cluster]'"
    )
