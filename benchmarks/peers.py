"""The peers' own environments: made from lock files, never touching the project's.

Most live together; one that needs older libraries than the others has a lock of its own. A peer
that cannot be installed or imported is left out with the reason, and the run goes on.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".peers"

#: Ways that run in the project's environment.
AT_HOME = ("tightrope", "numpy")
#: Ways that need libraries older than those of the others, and live alone.
ALONE = ("smartnoise", "tumult")
#: Every other way: its package, and the import that must work.
PACKAGES = {
    "linprog": ("scipy", "scipy.optimize"),
    "glop": ("ortools", "ortools.linear_solver.python.model_builder"),
    "pdlp": ("ortools", "ortools.linear_solver.python.model_builder"),
    "qif": ("qif", "qif"),
    "opendp": ("opendp", "opendp.prelude"),
    "diffprivlib": ("diffprivlib", "diffprivlib.mechanisms"),
    "smartnoise": ("smartnoise-sql", "snsql"),
    "tumult": ("tmlt-analytics", "tmlt.analytics"),
}


def home_of(way: str) -> str:
    """Return the name of the environment of a way, which is that of its lock file."""
    return way if way in ALONE else "peers"


def python_of(way: str) -> Path:
    """Return the Python of a way."""
    return FOLDER / home_of(way) / "bin" / "python"


def install() -> None:
    """Make the environments unless they are there and as new as their lock files."""
    for way in ("opendp", *ALONE):
        _install(HERE / f"{home_of(way)}.lock", python_of(way))


def _install(lock: Path, python: Path) -> None:
    stamp = python.parents[1] / ".installed"
    if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    print(f"installing {lock.stem} (some minutes the first time)", flush=True)
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(python.parents[1])])
    if _pip(python, lock):
        # One at a time: what cannot be had must not keep out the others.
        for entry in entries(lock.read_text(encoding="utf-8")):
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as one:
                one.write(entry)
                one.flush()
                reason = _pip(python, Path(one.name), "--no-deps")
            if reason:
                print(f"not installed: {entry.split()[0]} ({reason})", flush=True)
    if python.exists():
        stamp.touch()


def entries(lock: str) -> list[str]:
    """Split a lock file into its requirements, each with its hashes."""
    plain = "\n".join(
        line for line in lock.splitlines() if not line.lstrip().startswith("#")
    )
    return [
        entry.strip() + "\n" for entry in re.split(r"\n(?=\S)", plain) if entry.strip()
    ]


def missing(ways: Iterable[str]) -> dict[str, str]:
    """Return the ways that cannot be used here, each with the reason."""
    found = {}
    for way in sorted(set(ways) - set(AT_HOME)):
        reason = _run(
            [str(python_of(way)), "-W", "ignore", "-c", f"import {PACKAGES[way][1]}"]
        )
        if reason:
            found[way] = f"not usable here: {reason}"
    return found


def versions(ways: Iterable[str]) -> dict[str, str]:
    """Return the versions of the peers behind some ways, where they are installed."""
    code = (
        "import sys\nfrom importlib import metadata as m\n"
        "for n in sys.argv[1:]:\n try: print(n, m.version(n))\n"
        " except m.PackageNotFoundError: pass"
    )
    found: dict[str, str] = {}
    for way in sorted(set(ways) & PACKAGES.keys()):
        if python_of(way).exists():
            called = subprocess.run(
                [str(python_of(way)), "-c", code, PACKAGES[way][0]],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            pairs = (line.split() for line in called.stdout.splitlines())
            # SciPy is also a library of ours, perhaps of another version.
            found |= {f"{name} (peer)": version for name, version in pairs}
    return found


def _pip(python: Path, requirements: Path, *more: str) -> str:
    return _run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--require-hashes", *more, "-r", str(requirements)]
    )  # fmt: skip


def _run(words: list[str]) -> str:
    """Run a command; return the last line of its errors, or nothing when it went well."""
    try:
        called = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as failed:
        return str(failed.strerror)
    if called.returncode == 0:
        return ""
    return (called.stderr.strip().splitlines() or [f"exit status {called.returncode}"])[
        -1
    ]
