"""The machine and the versions that a result belongs to, without naming the machine."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

#: Our own libraries whose versions matter for speed.
NAMED = ("tightrope", "numpy", "scipy", "highspy", "numba", "duckdb", "dask", "pyspark")


def describe() -> dict[str, str | int]:
    """Processor, cores, memory, system and Python."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        ),
        "system": f"{platform.system()} {platform.machine()}, {_distribution()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """Versions of Tightrope and of the libraries under it."""
    return {name: found for name in NAMED if (found := _version(name))}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        found = re.search(
            r"^model name\s*:\s*(.+)$", listed.read_text(encoding="utf-8"), re.M
        )
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.release()
