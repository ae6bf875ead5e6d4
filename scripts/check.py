"""Check what changed: style, types, import directions, and the tests of the changed rooms.

``make check`` compares with the last commit; ``make check BASE=main`` with a branch. Of a
changed file of the package the docstring examples are run, of a changed room its unit tests and
the property tests that import it; a changed test is run itself. ``make test`` runs everything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def main() -> int:
    """Run the checks one after the other; the first that fails ends them."""
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    files = changed_files(base)
    commands = [
        ["ruff", "check", "--quiet", "."],
        ["ruff", "format", "--check", "--quiet", "."],
        ["mypy", "--no-error-summary"],
        ["lint-imports", "--no-logo"],
    ]
    tests = tests_of(files)
    if tests:
        commands.append(["pytest", "-q", "-n", "auto", *tests])
    else:
        print(f"no file of the package or its tests differs from {base}")
    for program, *arguments in commands:
        status = subprocess.run([BIN / program, *arguments], cwd=ROOT, check=False)
        if status.returncode:
            print(f"make check: {program} failed", file=sys.stderr)
            return status.returncode
    return 0


def changed_files(base: str) -> list[Path]:
    """List the files that differ from a commit, new ones included, deleted ones not."""
    differ = ["git", "diff", "--name-only", "--diff-filter=d", base, "--", "*.py"]
    new = ["git", "ls-files", "--others", "--exclude-standard", "--", "*.py"]
    names: set[str] = set()
    for command in (differ, new):
        listing = subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True
        )
        names.update(listing.stdout.split())
    return [Path(name) for name in sorted(names)]


def tests_of(files: Iterable[Path]) -> list[str]:
    """Name the tests that a change of these files calls for, each once."""
    wanted: dict[str, None] = {}
    rooms: set[str] = set()
    for file in files:
        if file.parts[:2] == ("src", "tightrope"):
            wanted[str(file)] = None
            rooms.add(file.with_suffix("").parts[2])
        elif file.parts[0] == "tests" and file.name.startswith("test_"):
            wanted[str(file)] = None
    for room in sorted(rooms):
        for place in (f"tests/unit/{room}", f"tests/unit/test_{room}.py"):
            if (ROOT / place).exists():
                wanted[place] = None
    for path in sorted((ROOT / "tests" / "properties").glob("test_*.py")):
        imported = re.findall(r"tightrope\.(\w+)", path.read_text(encoding="utf-8"))
        if rooms.intersection(imported):
            wanted[str(path.relative_to(ROOT))] = None
    return list(wanted)


if __name__ == "__main__":
    sys.exit(main())
