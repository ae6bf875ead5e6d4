"""Which code computes: a version alone does not tell two states of a checkout apart."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import tightrope

#: What the rows of a study are computed by.
_ROOMS = ("graphs", "queries", "phi", "channels", "consumers", "mechanisms", "optimize", "studies")


@functools.cache
def build() -> str:
    """Return the version and the first digits of the SHA-256 of the code that designs.

    >>> build().startswith(tightrope.__version__ + "+")
    True
    """
    package = Path(tightrope.__file__).parent
    files = set(package.glob("*.py"))
    files.update(*((package / room).rglob("*.py") for room in _ROOMS))
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return f"{tightrope.__version__}+{total.hexdigest()[:12]}"
