"""Count the house: files, code proper, constants, imports and exported names of each room.

Code proper is what is left without docstrings, comments and blank lines. ``make lint`` prints
the table; the numbers are a compass, not a rule that fails.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "tightrope"
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def main() -> None:
    """Print one line for each room, and the total."""
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(PACKAGE.rglob("*.py")):
        first, *rest = path.relative_to(PACKAGE).parts
        counted = count(path)
        rooms[first if rest else "(top)"].update(counted)
        rooms["total"].update(counted)
    print(f"{'room':12}" + "".join(f"{name:>11}" for name in rooms["total"]))
    for room, counted in rooms.items():
        if room != "total":
            print(row(room, counted))
    print(row("total", rooms["total"]))


def row(room: str, counted: Counter[str]) -> str:
    return f"{room:12}" + "".join(f"{number:11,}" for number in counted.values())


def count(path: Path) -> Counter[str]:
    """Count one file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    return Counter(
        files=1,
        code=len(lines_with_tokens(source) - docstring_lines(tree)),
        constants=sum(1 for _ in constants(tree)),
        imports=import_lines(tree),
        exports=exported_names(tree) if is_front(path) else 0,
    )


def is_front(path: Path) -> bool:
    """Whether a file is the ``__init__`` of the package or of a room."""
    return path.name == "__init__.py" and PACKAGE in path.parents[:2]


def lines_with_tokens(source: str) -> set[int]:
    """Lines that hold more than layout and comments; a text of several lines counts them all."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = ((t.start[0], t.end[0]) for t in tokens if t.type not in LAYOUT)
    return {line for first, last in spans for line in range(first, last + 1)}


def docstring_lines(tree: ast.Module) -> set[int]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def constants(tree: ast.Module) -> list[str]:
    """Names in capitals that the module assigns at its top level."""
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if name.strip("_").isupper()]


def import_lines(tree: ast.Module) -> int:
    imports = (ast.Import, ast.ImportFrom)
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, imports)
    )


def exported_names(tree: ast.Module) -> int:
    """Names that an ``__init__`` hands on, as ``from m import name as name``, or defines itself."""
    handed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return len([name for name in handed | defined if not name.startswith("_")])


if __name__ == "__main__":
    main()
