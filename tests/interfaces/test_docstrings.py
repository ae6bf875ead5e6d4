"""Every public name says what it is."""

import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from functools import cached_property

import tightrope


def modules() -> Iterator[types.ModuleType]:
    """Every public module of the package."""
    yield tightrope
    for found in pkgutil.walk_packages(tightrope.__path__, "tightrope."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def complaints(module: types.ModuleType) -> Iterator[str]:
    """Say which docstrings are missing in one module."""
    if not module.__doc__:
        yield f"{module.__name__}: no docstring"
    for name, thing in sorted(vars(module).items()):
        thing = inspect.unwrap(thing) if callable(thing) else thing
        defined_here = getattr(thing, "__module__", None) == module.__name__
        if name.startswith("_") or not defined_here or is_made(thing):
            continue
        if inspect.isclass(thing):
            yield from about_class(thing)
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and not thing.__doc__:
            yield f"{module.__name__}.{name}: no docstring"


def is_made(thing: object) -> bool:
    """Whether another function made a thing: a value of its module or class, no definition."""
    return "<locals>" in getattr(thing, "__qualname__", "")


def about_class(cls: type) -> Iterator[str]:
    """Say which public methods and properties of a class have no docstring, not even inherited."""
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        described = isinstance(member, property | cached_property) or callable(member)
        # Asked only of classes that have the name: None has a docstring since Python 3.13.
        inherited = any(
            vars(base)[name].__doc__ for base in cls.__mro__ if name in vars(base)
        )
        if (
            described
            and not inspect.isclass(member)
            and not is_made(member)
            and not (member.__doc__ or inherited)
        ):
            yield f"{cls.__module__}.{cls.__qualname__}.{name}: no docstring"


def test_every_public_name_is_documented() -> None:
    missing = [line for module in modules() for line in complaints(module)]
    assert not missing, "\n".join(missing)


def test_the_walk_reaches_the_rooms() -> None:
    names = {module.__name__ for module in modules()}
    assert {
        "tightrope",
        "tightrope.epsilon",
        "tightrope.graphs",
        "tightrope.graphs.base",
    } <= names


BAD = '''
def silent(): pass

def says():
    """Say."""

def _private(): pass

class Thing:
    """A thing."""

    def method(self): pass

    @property
    def size(self): return 1

    @classmethod
    def of(cls): return cls()

    def _inner(self): pass
'''


def test_complaints_are_made() -> None:
    module = types.ModuleType("bad")
    exec(BAD, module.__dict__)
    assert list(complaints(module)) == [
        "bad: no docstring",
        "bad.Thing.method: no docstring",
        "bad.Thing.of: no docstring",
        "bad.Thing.size: no docstring",
        "bad.silent: no docstring",
    ]
