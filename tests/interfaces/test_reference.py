"""Every public name stands in the reference: rooms, errors, and what the papers page names."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import tightrope
from tightrope.papers import all_claims

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
DIRECTIVES = {
    name
    for page in PAGES
    for name in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M)
}
ROOMS = sorted(
    path.parent.name
    for path in (ROOT / "src" / "tightrope").glob("*/__init__.py")
    if path.parent.name not in {"cli", "studio"}
)


def covered(thing, name: str) -> bool:
    """Whether a page documents a name: itself, its module, or a package that exports it."""
    home = inspect.getmodule(thing)
    module = home.__name__ if home else ""
    if {f"{module}.{name}", module} & DIRECTIVES:
        return True
    return any(name in exported(importlib.import_module(d)) for d in packages())


def exported(package) -> dict[str, object]:
    """The names that a room hands on: those of its own files."""
    return {
        name: thing
        for name, thing in vars(package).items()
        if not name.startswith("_")
        and str(getattr(thing, "__module__", "")).startswith(f"{package.__name__}.")
    }


def packages() -> list[str]:
    return [name for name in sorted(DIRECTIVES) if name.count(".") == 1]


def test_every_directive_names_something() -> None:
    for name in DIRECTIVES:
        room, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(room), last), name


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_in_the_reference(room) -> None:
    package = importlib.import_module(f"tightrope.{room}")
    things = exported(package)
    missing = [
        name
        for name, thing in things.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and not covered(thing, name)
    ]
    assert not missing, f"add to docs/reference: {missing}"


def test_every_error_is_in_the_reference() -> None:
    assert "tightrope.errors" in DIRECTIVES


@pytest.mark.parametrize("name", sorted({claim.function for claim in all_claims()}))
def test_functions_of_the_papers_page_are_in_the_reference(name) -> None:
    room, _, last = name.rpartition(".")
    assert covered(getattr(importlib.import_module(room), last), last)


def test_the_front_lists_every_page() -> None:
    front = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"({page.name})" not in front] == [
        "index.md"
    ]


def test_front_names_are_in_the_reference() -> None:
    front = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    missing = [name for name in tightrope._HOME if f"tr.{name}" not in front]
    assert not missing, f"add to docs/reference/index.md: {missing}"


def test_front_names_are_seen_by_type_checkers() -> None:
    source = ast.parse(Path(tightrope.__file__).read_text(encoding="utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))
    typed = {
        alias.asname: node.module.removeprefix("tightrope.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert typed == tightrope._HOME
    assert set(tightrope._HOME) <= set(dir(tightrope))


def test_what_is_missing_is_noticed() -> None:
    def stranger() -> None:
        """Nobody knows it."""

    stranger.__module__ = "tightrope.nowhere"
    assert not covered(stranger, "stranger")
