"""The page about queries shows every built-in query, as the table in the code has it."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "concepts" / "queries.md"


@pytest.fixture(scope="module")
def drawing() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "draw_queries.py"))


def test_the_tables_are_those_of_the_code(drawing: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert drawing["page"](text) == text, "run scripts/draw_queries.py"
    assert drawing["page"](text.replace("| `sum(u,v)`", "| `sum(u)`")) == text


def test_the_pictures_are_those_of_the_code(drawing: dict[str, Any]) -> None:
    pictures = drawing["pictures"]()
    kept = {path.name: path.read_text(encoding="utf-8") for path in (PAGE.parent / "img").iterdir()}
    assert pictures.items() <= kept.items(), "run scripts/draw_queries.py"
    for name in pictures:
        assert f"(img/{name})" in PAGE.read_text(encoding="utf-8")
