"""The glossary names things that are there, and the words it gives up stay away."""

import ast
import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
NAMES = re.findall(
    r"\| `(tightrope[\w.]*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def test_every_row_says_where_the_word_lives():
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line[:1] == "|"
    ]
    heads = [row for row in rows if row.startswith(("| word", "|---"))]
    assert len(NAMES) == len(rows) - len(heads) > 40


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_the_names_of_the_glossary_exist(name):
    module, attributes = name, []
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            attributes.insert(0, last)
    for attribute in attributes:
        listed = getattr(found, "__dataclass_fields__", {})
        found = listed[attribute] if attribute in listed else getattr(found, attribute)


def test_names_that_were_given_up_stay_away():
    given_up = {
        "Band",
        "Cover",
        "Crowd",
        "Roof",
        "always_above",
        "equalised",
        "examine",
    }
    given_up |= {"line_width", "Reader"}
    for path in (PAGE.parents[1] / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {getattr(node, "name", "") for node in ast.walk(tree)}
        assert not defined & given_up, path
