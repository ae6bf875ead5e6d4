"""Draw mutants of the rooms that decide, and print those that no test notices.

A mutant is the package with one small change: a comparison, a sign, a number, a condition, a
check that is left out. A test that fails kills it; one that survives shows a line that no test
depends on. The first run records which test executes which line (``.mutation/``), later ones
what tests were added; ``--fresh`` records anew, which pays after larger changes of the package.
A mutant is then tried, in a copy of the whole checkout, on the tests that execute its line:
those of the changed file first, then those of its room, then the others, the quickest first; then
on others that execute its file. Trials are forked from a process that has imported the libraries.
One on which they take far longer than recorded hangs: it is noticed, but counted apart.

    make mutate                        300 mutants of certify, publish, accounting and asking
    make mutate ARGS="--rooms certify --count 50 --seed 7"
    make mutate ARGS="--minutes 20"             as many as are tried in this time
    make mutate ARGS="--retry survivors.log"    those that an earlier run printed

Survivors that are equivalent to the original are listed with the reason in
``scripts/equivalent_mutants.toml``; any other survivor ends the run with status 1 when more than
one in twenty survived.
"""

from __future__ import annotations

import argparse
import ast
import copy
import enum
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tightrope"
STATE = ROOT / ".mutation"
ROOMS = ("certify", "publish", "accounting", "asking")
# Only what runs these rooms and is quick: the rooms of mathematics, browsers, Spark, killed
# processes and simulated coverage take hours, and notice few mutants that nothing else does.
SUITES = (
    *(f"src/tightrope/{room}" for room in ROOMS),
    *(f"tests/unit/{room}" for room in ROOMS),
    "tests/unit/test_chains.py",
    "tests/unit/test_claims.py",
    "tests/unit/test_exact.py",
    "tests/unit/test_kinds.py",
    *(
        f"tests/faults/test_{name}.py"
        for name in (
            "attack_files",
            "every_refusal",
            "hostile_mechanism_files",
            "ledger_faults",
            "ledger_interleavings",
        )
    ),
    *(
        f"tests/interfaces/test_{name}.py"
        for name in (
            "ask_sharpen",
            "budget_attacks",
            "check_facts",
            "cli_ask",
            "cli_hostile",
            "cli_release",
            "cli_series",
            "cli_sharpen",
            "cli_tables",
            "cli_verify",
            "notebook",
            "once",
            "questions",
            "require_second_judge",
        )
    ),
    *(
        f"tests/data/test_{name}.py"
        for name in (
            "contributions",
            "found_groups",
            "hostile_rows",
            "identities",
            "people_across_tables",
            "readings",
            "scores",
            "sealed_room",
            "sharpened_shapes",
            "sources",
        )
    ),
    *(f"tests/properties/test_{name}.py" for name in ("certify", "prove", "scores")),
)
# A folder of tests that belong to a room without bearing its name.
FURTHER_TESTS = {"publish": "data"}
MOST_SECONDS = 60.0  # recorded for the tests of one mutant; the farthest are left out
HEAD_START = (
    60.0  # processor seconds beyond twice the recorded ones, before a mutant hangs
)
WAITING = 10  # a trial that waits may take so many times that, by the clock
MOST_MEMORY = 8 << 30  # bytes of addresses for a trial
NO_TESTS = 5  # pytest's status when it collected nothing
UNCOPIED = (".git", ".venv", ".mutation", ".hypothesis", "site", "node_modules")

# Every trial is forked from a process that has imported what the tests import, except the package.
FORKS = multiprocessing.get_context("forkserver")
IMPORTED = (
    "pytest",
    "pytest_benchmark.session",
    "hypothesis.strategies",
    "ibis",
    "duckdb",
    "pandas",
    "polars",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "sqlalchemy",
    "sqlglot.optimizer",
    "typer.testing",
)

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


class Outcome(enum.Enum):
    """What the tests say of a mutant."""

    KILLED = "killed"
    HANGS = "hang"
    EQUIVALENT = "are listed as equivalent"
    SURVIVES = "survive"


@dataclass(frozen=True)
class Mutant:
    """One change: the file, the line it is on, what it does, and which node it replaces."""

    path: Path
    line: int
    change: str
    place: int
    statement: int  # the first line of the statement around it

    @property
    def name(self) -> str:
        """The mutant in the list of equivalent ones: by its line's text, not its number."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        words = lines[self.line - 1].strip()
        return f"{self.path.relative_to(PACKAGE)}: {words}: {self.change}"

    @property
    def shown(self) -> str:
        """The mutant as it is printed."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.change}"

    @property
    def source(self) -> str:
        """The changed file; comments and line numbers stay, because some tests read them."""
        text = self.path.read_bytes()
        node = list(ast.walk(ast.parse(text)))[self.place]
        replaced = replacement(node)
        assert replaced is not None
        old: Any = node.test if isinstance(node, ast.If) else node
        new = replaced[1].test if isinstance(replaced[1], ast.If) else replaced[1]
        words = ast.unparse(new)
        if isinstance(new, ast.expr):
            words = f"({words}" + "\n" * (old.end_lineno - old.lineno) + ")"
        starts = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
        start = starts[old.lineno - 1] + old.col_offset
        end = starts[old.end_lineno - 1] + old.end_col_offset
        return (text[:start] + words.encode() + text[end:]).decode()


def main() -> int:
    """Draw, try and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="record the coverage anew")
    parser.add_argument("--retry", type=Path, help="what an earlier run printed")
    options = parser.parse_args()
    tests = RecordedTests.read(options.fresh, options.workers)
    os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # a process with threads must not be forked
    )
    FORKS.set_forkserver_preload(list(IMPORTED))
    check_trials(tests)
    mutants = [
        mutant
        for room in options.rooms
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for mutant in mutants_of(path)
    ]
    if options.retry is not None:
        printed = set(options.retry.read_text("utf-8").splitlines())
        mutants = [
            mutant
            for mutant in mutants
            if printed & {f"survives: {mutant.shown}", f"hangs: {mutant.shown}"}
        ]
    drawn = random.Random(options.seed).sample(
        mutants, min(options.count, len(mutants))
    )
    listed = tomllib.loads(
        (ROOT / "scripts" / "equivalent_mutants.toml").read_text("utf-8")
    )
    began = time.monotonic()

    def try_in_time(mutant: Mutant) -> Outcome | None:
        if time.monotonic() - began > 60 * options.minutes:
            return None
        outcome = try_mutant(mutant, tests)
        is_listed = outcome is Outcome.SURVIVES and mutant.name in listed
        return Outcome.EQUIVALENT if is_listed else outcome

    counts: Counter[Outcome] = Counter()
    with ThreadPoolExecutor(options.workers) as pool:
        outcomes = pool.map(try_in_time, drawn)
        for mutant, outcome in zip(drawn, outcomes, strict=True):
            if outcome is None:
                continue
            counts[outcome] += 1
            if outcome is Outcome.SURVIVES:
                print(f"survives: {mutant.shown}", flush=True)
            if outcome is Outcome.HANGS:
                print(f"hangs: {mutant.shown}", flush=True)
            if counts.total() % 25 == 0:
                seconds = time.monotonic() - began
                print(
                    f"{counts.total()} of {len(drawn)}, {counts[Outcome.SURVIVES]} survive, "
                    f"{seconds:.0f} s",
                    flush=True,
                )
    share = 1 - counts[Outcome.SURVIVES] / max(1, counts.total())
    figures = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome)
    print(
        f"{counts.total()} mutants of {len(mutants)}, seed {options.seed}: {figures}; "
        f"{share:.1%} do not survive"
    )
    return int(share < 0.95)


# -- mutants ---------------------------------------------------------------------------------


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    statement: dict[ast.AST, int] = {}
    for place, node in enumerate(ast.walk(tree)):
        around = statement.get(parents.get(node, node), 1)
        statement[node] = node.lineno if isinstance(node, ast.stmt) else around
        if hasattr(node, "lineno") and not is_text(node, parents):
            replaced = replacement(node)
            if replaced is not None:
                yield Mutant(path, node.lineno, replaced[0], place, statement[node])


def is_text(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node only shapes messages, annotations or an import, or repeats an invariant.

    ``zip(…, strict=True)`` asserts that lengths agree, which holds for every input.
    """
    while node in parents:
        parent = parents[node]
        if isinstance(parent, ast.JoinedStr | ast.ImportFrom | ast.Import | ast.Raise):
            return True
        if isinstance(parent, ast.keyword) and parent.arg == "strict":
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


@dataclass(frozen=True)
class RecordedTests:
    """Which tests execute which line, and how long each takes."""

    by_line: dict[tuple[str, int], list[str]]
    by_file: dict[str, list[str]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, fresh: bool, workers: int) -> RecordedTests:
        """Read what was recorded, after recording what is not there yet."""
        import coverage

        data_file = STATE / "coverage"
        durations = STATE / "durations"
        if fresh:
            shutil.rmtree(STATE, ignore_errors=True)
        STATE.mkdir(exist_ok=True)
        durations.touch()
        # A name that pytest no longer knows would make it fail, which is no verdict on a mutant.
        present = collected()
        added = present - set(read_durations(durations))
        if added:
            record(data_file, added, workers)
        seconds = {
            name: duration
            for name, duration in read_durations(durations).items()
            if name in present and duration < float("inf")
        }
        recorded = coverage.CoverageData(basename=str(data_file))
        recorded.read()
        by_line: dict[tuple[str, int], list[str]] = {}
        by_file: dict[str, list[str]] = {}
        for file in recorded.measured_files():
            contexts_by_line = recorded.contexts_by_lineno(file)
            for line, contexts in contexts_by_line.items():
                by_line[file, line] = contexts
            by_file[file] = sorted(set().union(*contexts_by_line.values()))
        return cls(by_line, by_file, seconds)

    def near(self, mutant: Mutant) -> list[str]:
        """Return the tests for a mutant, the nearest first, as many as its time allows."""
        file = str(mutant.path.relative_to(ROOT))
        # A decorator is above the first line of its statement.
        first = min(mutant.line, mutant.statement)
        lines = range(mutant.line, first - 1, -1)
        recorded = (self.by_line.get((file, line)) for line in lines)
        contexts = next(filter(None, recorded), [])
        if not contexts:
            return []
        # What is executed on import runs outside any test, and what is in a cached function in the
        # first one that comes: both decide in others too, which are tried afterwards.
        on_line = set(contexts)
        own_tests = {f"test_{mutant.path.stem}.py", mutant.path.name}
        room = mutant.path.relative_to(PACKAGE).parts[0]
        folders = {room, FURTHER_TESTS.get(room, room)}

        def distance(test: str) -> tuple[bool, int, float]:
            test_file = Path(test.partition("::")[0])
            is_elsewhere = test not in on_line
            if test_file.name in own_tests and room in test_file.parts:
                return is_elsewhere, 0, self.seconds[test]
            is_of_room = not folders.isdisjoint(test_file.parts)
            return is_elsewhere, 1 if is_of_room else 2, self.seconds[test]

        ordered = sorted(
            (test for test in self.by_file[file] if test in self.seconds), key=distance
        )
        total = itertools.accumulate(self.seconds[test] for test in ordered)
        return [
            test
            for test, spent in zip(ordered, total, strict=True)
            if spent <= MOST_SECONDS or test == ordered[0]
        ]


def record(data_file: Path, tests: Iterable[str], workers: int) -> None:
    """Run tests once and add to the record which of them executes which line."""
    import coverage

    print("recording which test executes which line (some minutes, once)", flush=True)
    # Tests of one file share what it sets up.
    files = itertools.groupby(sorted(tests), lambda test: test.partition("::")[0])
    parts: list[list[str]] = [[] for _ in range(workers)]
    for number, (_, of_file) in enumerate(files):
        parts[number % workers].extend(of_file)
    with ThreadPoolExecutor(workers) as pool:
        written = list(pool.map(record_part, range(workers), parts))
    whole = coverage.CoverageData(basename=str(data_file))
    for part_file in filter(Path.exists, written):
        part = coverage.CoverageData(basename=str(part_file))
        part.read()
        whole.update(part)
        part_file.unlink()
    whole.write()


def record_part(number: int, tests: list[str]) -> Path:
    """Record some of the tests in a process of its own; return the file that it writes."""
    written = STATE / f"coverage-{number}"
    settings = STATE / f"coveragerc-{number}"
    # Relative names, so that a record may be taken along into another checkout.
    settings.write_text(
        f"[run]\nsource = {','.join(str(PACKAGE / room) for room in ROOMS)}\n"
        f"data_file = {written}\ncore = ctrace\n"
        "relative_files = true\n",
        encoding="utf-8",
    )
    names = STATE / f"names-{number}"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "scripts.mutate"]
    subprocess.run(
        [*command, *options, f"@{names}"],
        cwd=ROOT,
        env=environment(ROOT),
        check=False,
    )
    return written


def read_durations(path: Path) -> dict[str, float]:
    """Return how long each recorded test took; infinitely long if it did not pass."""
    lines = path.read_text("utf-8").splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines)
    return {name: float(duration) for name, duration in pairs}


def collected() -> set[str]:
    """Return the names of the tests that pytest finds."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    ended = subprocess.run(
        [*command, "-p", "no:cacheprovider", *SUITES],
        cwd=ROOT,
        env=environment(ROOT),
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in ended.stdout.splitlines() if "::" in line}


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def pytest_runtest_setup(item: Any) -> None:
    """Record from here on under the name of this test (a hook, while coverage is recorded)."""
    import coverage

    item.user_properties.append(("began", processor_seconds()))
    recorder = coverage.Coverage.current()
    if recorder is not None:
        recorder.switch_context(item.nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Record how long a test took (a hook, while coverage is recorded).

    The time is that of processors: on a busy machine a test waits for long.
    """
    if report.when == "call" or not report.passed:
        began = dict(report.user_properties)["began"]
        seconds = processor_seconds() - began if report.passed else float("inf")
        with (STATE / "durations").open("a", encoding="utf-8") as durations:
            durations.write(f"{report.nodeid} {seconds:.4f}\n")


def try_mutant(mutant: Mutant, tests: RecordedTests) -> Outcome:
    """Return whether a test that executes the changed line fails, or hangs."""
    near = tests.near(mutant)
    if not near:
        return Outcome.SURVIVES
    seconds = sum(tests.seconds[test] for test in near)
    return outcome_of(mutant.path, mutant.source, near, seconds)


def outcome_of(path: Path, source: str, tests: list[str], seconds: float) -> Outcome:
    """Run tests in a copy of the checkout in which one file has another text."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        # The copies keep their times, so that compiled files stay valid for all but the mutant.
        checkout = Path(folder) / "checkout"
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(*UNCOPIED))
        (checkout / path.relative_to(ROOT)).write_text(source, encoding="utf-8")
        limit = HEAD_START + 2 * seconds
        trial = FORKS.Process(target=run_tests, args=(checkout, tests, limit))
        trial.start()
        trial.join(WAITING * limit)
        if trial.exitcode is None:
            assert trial.pid is not None
            os.killpg(trial.pid, signal.SIGKILL)  # with what its tests have started
            trial.join()
            return Outcome.HANGS
        if trial.exitcode == -signal.SIGXCPU:
            return Outcome.HANGS
        is_noticed = trial.exitcode not in (0, NO_TESTS)
        return Outcome.KILLED if is_noticed else Outcome.SURVIVES


def check_trials(tests: RecordedTests) -> None:
    """Refuse to go on where tests fail on a copy of the package as it is."""
    path = PACKAGE / "certify" / "judge.py"
    passing = [
        test
        for test in tests.by_file[str(path.relative_to(ROOT))]
        if test in tests.seconds
    ]
    quick = sorted(passing, key=tests.seconds.__getitem__)[:10]
    if outcome_of(path, path.read_text("utf-8"), quick, 60.0) is not Outcome.SURVIVES:
        sys.exit("tests fail in a copy of the package without any change")


def run_tests(checkout: Path, tests: list[str], limit: float) -> None:
    """Run tests on a checkout until one fails; the status says whether one did."""
    import pytest

    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    temporary = str(checkout.parent)
    tempfile.tempdir = temporary
    os.environ.update(environment(checkout), TMPDIR=temporary)
    sys.path[:0] = [str(checkout / "src"), str(checkout)]
    os.chdir(checkout)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.dup2(nothing, sys.stderr.fileno())
    options = ["-q", "-x", "-p", "no:cacheprovider"]
    # Pytest would like to import some of its plugins itself, to rewrite their assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    sys.exit(int(pytest.main([*options, *tests])))


def environment(checkout: Path) -> dict[str, str]:
    """Return the environment in which the package is taken from a checkout."""
    return {
        **os.environ,
        "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


if __name__ == "__main__":
    sys.exit(main())
