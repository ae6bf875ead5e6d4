"""Every public name stands in the reference: rooms, errors, and what the papers page names."""

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
    return any(name in getattr(importlib.import_module(d), "__all__", ()) for d in packages())


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
    things = {name: getattr(package, name) for name in getattr(package, "__all__", ())}
    missing = [
        name
        for name, thing in things.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and not covered(thing, name)
    ]
    assert not missing, f"add to docs/reference: {missing}"


def test_every_error_is_in_the_reference() -> None:
    assert "tightrope.errors" in DIRECTIVES


@pytest.mark.parametrize("name", sorted({claim.function for claim in all_claims()}))
def test_functions_of_the_papers_page_are_in_the_reference(name) -> None:
    room, _, last = name.rpartition(".")
    assert covered(getattr(importlib.import_module(room), last), last)


def test_front_names_are_in_the_reference() -> None:
    front = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    missing = [name for name in tightrope.__all__ if f"tr.{name}" not in front]
    assert missing == ["__version__"], f"add to docs/reference/index.md: {missing}"


def test_what_is_missing_is_noticed() -> None:
    def stranger() -> None:
        """Nobody knows it."""

    stranger.__module__ = "tightrope.nowhere"
    assert not covered(stranger, "stranger")
