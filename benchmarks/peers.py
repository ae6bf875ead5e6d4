"""The peers' own environment: made from peers.lock, never touching the project's.

A peer that cannot be installed or imported is left out with the reason, and the run goes on.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE / "peers.lock"
FOLDER = HERE / ".peers"
PYTHON = FOLDER / "bin" / "python"
STAMP = FOLDER / ".installed"

#: Ways that run in the project's environment.
AT_HOME = ("tightrope", "numpy")
#: Every other way: its package, and the import that must work.
PACKAGES = {
    "linprog": ("scipy", "scipy.optimize"),
    "glop": ("ortools", "ortools.linear_solver.python.model_builder"),
    "pdlp": ("ortools", "ortools.linear_solver.python.model_builder"),
    "qif": ("qif", "qif"),
    "opendp": ("opendp", "opendp.prelude"),
    "diffprivlib": ("diffprivlib", "diffprivlib.mechanisms"),
}


def install() -> None:
    """Make the environment unless it is there and as new as the lock file."""
    if STAMP.exists() and STAMP.stat().st_mtime >= LOCK.stat().st_mtime:
        return
    print(f"installing the peers into {FOLDER.name} (some minutes the first time)", flush=True)
    if not PYTHON.exists():
        _run([sys.executable, "-m", "venv", str(FOLDER)])
    if _pip(LOCK):
        # One at a time: what cannot be had must not keep out the others.
        for entry in entries(LOCK.read_text(encoding="utf-8")):
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as one:
                one.write(entry)
                one.flush()
                reason = _pip(Path(one.name), "--no-deps")
            if reason:
                print(f"not installed: {entry.split()[0]} ({reason})", flush=True)
    if PYTHON.exists():
        STAMP.touch()


def entries(lock: str) -> list[str]:
    """Split a lock file into its requirements, each with its hashes."""
    plain = "\n".join(line for line in lock.splitlines() if not line.lstrip().startswith("#"))
    return [entry.strip() + "\n" for entry in re.split(r"\n(?=\S)", plain) if entry.strip()]


def missing(ways: Iterable[str]) -> dict[str, str]:
    """Return the ways that cannot be used here, each with the reason."""
    found = {}
    for way in sorted(set(ways) - set(AT_HOME)):
        reason = _run([str(PYTHON), "-W", "ignore", "-c", f"import {PACKAGES[way][1]}"])
        if reason:
            found[way] = f"not usable here: {reason}"
    return found


def versions(ways: Iterable[str]) -> dict[str, str]:
    """Return the versions of the peers behind some ways, where they are installed."""
    names = sorted({PACKAGES[way][0] for way in ways if way in PACKAGES})
    code = (
        "import sys\nfrom importlib import metadata as m\n"
        "for n in sys.argv[1:]:\n try: print(n, m.version(n))\n"
        " except m.PackageNotFoundError: pass"
    )
    if not names or not PYTHON.exists():
        return {}
    called = subprocess.run(
        [str(PYTHON), "-c", code, *names], capture_output=True, text=True, check=False
    )
    pairs = (line.split() for line in called.stdout.splitlines())
    # SciPy is also a library of ours, perhaps of another version.
    return {f"{name} (peer)": version for name, version in pairs}


def _pip(requirements: Path, *more: str) -> str:
    return _run(
        [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
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
    return (called.stderr.strip().splitlines() or [f"exit status {called.returncode}"])[-1]
