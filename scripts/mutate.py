"""Draw mutants of the rooms that decide, and print those that no test notices.

A mutant is the package with one small change: a comparison, a sign, a number, a condition, a
check that is left out. A test that fails kills it; one that survives shows a line that no test
depends on. The first run records which test executes which line (``.mutation/``); a mutant is
then tried on the tests that execute its line, the quickest first.

    make mutate                        300 mutants of certify, publish, accounting and asking
    make mutate ARGS="--rooms certify --count 50 --seed 7"

Survivors that are equivalent to the original are listed with the reason in
``scripts/equivalent_mutants.toml``; any other survivor ends the run with status 1 when more than
one in twenty survived.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tightrope"
STATE = ROOT / ".mutation"
ROOMS = ("certify", "publish", "accounting", "asking")
SUITES = ("tests/unit", "tests/faults", "tests/interfaces", "tests/properties")
MOST_TESTS = 60  # tried on one mutant, the quickest first
PATIENCE = 120.0  # seconds for the tests of one mutant; one that hangs is noticed

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CHECKS = {"need", "need_work"}
TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One change: the file, the line it is on, what it does, and which node it replaces."""

    path: Path
    line: int
    change: str
    place: int

    @property
    def name(self) -> str:
        """The mutant as the list of equivalent ones names it: without the line, which moves."""
        return f"{self.path.relative_to(PACKAGE)}: {self.change}"

    @property
    def source(self) -> str:
        """The changed file."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        old = list(ast.walk(tree))[self.place]
        replaced = replacement(old)
        assert replaced is not None
        new = ast.copy_location(replaced[1], old)

        class Replace(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                return new if node is old else self.generic_visit(node)

        return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


def main() -> int:
    """Draw, try and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="record the coverage anew")
    options = parser.parse_args()
    tests = tests_by_line(fresh=options.fresh)
    mutants = [
        mutant
        for room in options.rooms
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for mutant in mutants_of(path)
    ]
    drawn = random.Random(options.seed).sample(
        mutants, min(options.count, len(mutants))
    )
    listed = tomllib.loads(
        (ROOT / "scripts" / "equivalent_mutants.toml").read_text("utf-8")
    )
    survivors: list[Mutant] = []
    began = time.monotonic()
    with ThreadPoolExecutor(options.workers) as pool:
        outcomes = pool.map(lambda mutant: is_killed(mutant, tests), drawn)
        for tried, (mutant, killed) in enumerate(zip(drawn, outcomes, strict=True), 1):
            if not killed and mutant.name not in listed:
                survivors.append(mutant)
                print(
                    f"survives: {mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.change}"
                )
            if tried % 25 == 0:
                seconds = time.monotonic() - began
                print(
                    f"{tried} of {len(drawn)}, {len(survivors)} survive, {seconds:.0f} s"
                )
    share = 1 - len(survivors) / max(1, len(drawn))
    print(f"{len(drawn)} mutants of {len(mutants)}: {share:.1%} killed or equivalent")
    return int(share < 0.95)


# -- mutants ---------------------------------------------------------------------------------


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for place, node in enumerate(ast.walk(tree)):
        if hasattr(node, "lineno") and not is_text(node, parents):
            replaced = replacement(node)
            if replaced is not None:
                yield Mutant(path, node.lineno, replaced[0], place)


def is_text(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node only shapes messages, annotations or an import."""
    while node in parents:
        parent = parents[node]
        if isinstance(parent, ast.JoinedStr | ast.ImportFrom | ast.Import | ast.Raise):
            return True
        if isinstance(parent, ast.arg | ast.AnnAssign) and parent.annotation is node:
            return True
        if isinstance(parent, ast.FunctionDef) and parent.returns is node:
            return True
        node = parent
    return False


def replacement(node: ast.AST) -> tuple[str, ast.AST] | None:
    """Return the small change of a node, with words for it, or None where there is none."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            changed.ops = [SWAPS[type(op)]()]  # type: ignore[list-item]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in SWAPS:
            changed.op = SWAPS[type(op)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            changed = inner
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value)):
            changed.value = value + 1
        case ast.Call(func=ast.Name(id=name)) if name in TWINS:
            changed.func = ast.Name(TWINS[name], ast.Load())
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in CHECKS:
            changed = ast.Pass()
        case ast.If(test=test):
            changed.test = ast.Constant(False)
            return f"never: if {ast.unparse(test)[:80]}", changed
        case _:
            return None
    before = ast.unparse(node).replace("\n", " ")[:100]
    return f"{before}  →  {ast.unparse(changed)[:100]}", changed


# -- tests -----------------------------------------------------------------------------------


def tests_by_line(fresh: bool) -> dict[tuple[str, int], list[str]]:
    """Return for each line of the package the tests that execute it, the quickest first."""
    import coverage

    data_file = STATE / "coverage"
    if fresh or not data_file.exists():
        shutil.rmtree(STATE, ignore_errors=True)
        STATE.mkdir()
        settings = STATE / "coveragerc"
        settings.write_text(
            f"[run]\nsource = {PACKAGE}\ndata_file = {data_file}\ncore = ctrace\n",
            encoding="utf-8",
        )
        print("recording which test executes which line (some minutes, once)")
        command = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            f"--rcfile={settings}",
            "-m",
            "pytest",
        ]
        options = ["-q", "-p", "no:cacheprovider", "-p", "scripts.mutate"]
        subprocess.run(
            [*command, *options, *SUITES],
            cwd=ROOT,
            env=environment(PACKAGE.parent),
            check=False,
        )
    lines = (STATE / "durations").read_text("utf-8").splitlines()
    durations = dict(line.rsplit(" ", 1) for line in lines)
    recorded = coverage.CoverageData(basename=str(data_file))
    recorded.read()
    by_line: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for file in recorded.measured_files():
        for line, contexts in recorded.contexts_by_lineno(file).items():
            by_line[file, line] = [
                context for context in contexts if context in durations
            ]
    for contexts in by_line.values():
        contexts.sort(key=lambda context: float(durations[context]))
    return by_line


def pytest_runtest_setup(item: Any) -> None:
    """Record from here on under the name of this test (a hook, while coverage is recorded)."""
    import coverage

    recorder = coverage.Coverage.current()
    if recorder is not None:
        recorder.switch_context(item.nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Record how long a test took (a hook, while coverage is recorded)."""
    if report.when == "call" and report.passed:
        with (STATE / "durations").open("a", encoding="utf-8") as durations:
            durations.write(f"{report.nodeid} {report.duration:.4f}\n")


def is_killed(mutant: Mutant, tests: dict[tuple[str, int], list[str]]) -> bool:
    """Whether one of the tests that execute the changed line fails."""
    contexts = tests.get((str(mutant.path), mutant.line), [])[:MOST_TESTS]
    if not contexts:
        return False
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(
            PACKAGE.parent, source, ignore=shutil.ignore_patterns("__pycache__")
        )
        changed = source / mutant.path.relative_to(PACKAGE.parent)
        changed.write_text(mutant.source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        try:
            ended = subprocess.run(
                [*command, *contexts],
                cwd=ROOT,
                env=environment(source),
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return ended.returncode == 1  # 1: a test failed; anything else is no verdict


def environment(source: Path) -> dict[str, str]:
    """Return the environment in which the package is taken from a folder."""
    return {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


if __name__ == "__main__":
    sys.exit(main())
