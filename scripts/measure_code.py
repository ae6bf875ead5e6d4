"""Measure how the package reads: size, density, comments and names with several homes.

Size is counted in nodes of the syntax tree, which no formatting changes. A packed assignment
is ``a, b = x, y`` whose right sides are independent. ``make lint`` prints the table; the
numbers are a compass, not a rule that fails.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "tightrope"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PRAGMAS = ("#!", "# type", "# mypy", "# noqa")
HEADINGS = ("files", "code", "nodes", "nodes/line", "packed/1000", "comments %")


def main() -> None:
    """Print one line for each room, the total, and the names with several homes."""
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    homes: defaultdict[str, set[Path]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        first, *rest = path.relative_to(PACKAGE).parts
        size = measure(source, tree)
        rooms[first if rest else "(top)"].update(size)
        rooms["total"].update(size)
        for name in type_names(tree):
            homes[name].add(path)
    print(f"{'room':12}" + "".join(f"{heading:>13}" for heading in HEADINGS))
    for room in [*sorted(set(rooms) - {"total"}), "total"]:
        print(row(room, rooms[room]))
    repeated = sorted(name for name, places in homes.items() if len(places) > 1)
    print(f"type names with several homes: {len(repeated)}: {', '.join(repeated)}")


def row(room: str, size: Counter[str]) -> str:
    code = max(1, size["code"])
    return (
        f"{room:12}{size['files']:13,}{size['code']:13,}{size['nodes']:13,}"
        f"{size['nodes'] / code:13.1f}{1000 * size['packed'] / code:13.1f}"
        f"{100 * size['comments'] / code:13.1f}"
    )


def measure(source: str, tree: ast.Module) -> Counter[str]:
    """Count one file."""
    texts = docstring_lines(tree)
    lines = enumerate(source.splitlines(), 1)
    return Counter(
        files=1,
        code=sum(
            1
            for number, line in lines
            if line.strip() and not line.strip().startswith("#") and number not in texts
        ),
        nodes=sum(
            1 for node in ast.walk(tree) if not isinstance(node, ast.expr_context)
        ),
        packed=sum(1 for _ in packed_assignments(tree)),
        comments=comments(source),
    )


def docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, DOCUMENTED)
        if documented and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def comments(source: str) -> int:
    """Count comments, without instructions to tools."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(
        1
        for token in tokens
        if token.type == tokenize.COMMENT and not token.string.startswith(PRAGMAS)
    )


def packed_assignments(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that assign a tuple display to a tuple; a swap is one idea."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
            continue
        targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
        stored = {ast.unparse(part) for target in targets for part in target.elts}
        read = {ast.unparse(part) for part in node.value.elts}
        if targets and not stored & read:
            yield node.lineno


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the classes and type aliases that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                is_name = isinstance(target, ast.Name) and not target.id.isupper()
                if is_name and target.id[:1].isupper():
                    yield target.id


if __name__ == "__main__":
    main()
