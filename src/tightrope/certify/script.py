"""The checker as one file that a sceptic can read and run without this package."""

from __future__ import annotations

import re
from importlib.resources import files

#: The modules of the checker, in the order in which they stand in the script.
PARTS = (
    "container",
    "exponentials",
    "neighbours",
    "weights",
    "elimination",
    "optimality",
    "checker",
)

_IMPORTS = re.compile(r"^(?:from|import) .*?(?:\([^)]*\))?$", re.M)
_ONE_LINE = re.compile(r'("""[^"\n]+)\n *"""')
_EXAMPLE = re.compile(r"\n\n? *>>> .*?(?=\n *\"\"\"|\n\n)", re.S)


def checker_script() -> str:
    """Return the single-file checker: the checker's own modules, one after another.

    It needs Python and NumPy. ``scripts/verify_mechanism.py`` is this text.

    Examples
    --------
    >>> text = checker_script()
    >>> "tightrope." in text, text.count("def check(")
    (False, 1)
    """
    sources = [
        files("tightrope.certify").joinpath(f"{part}.py").read_text("utf-8") for part in PARTS
    ]
    imports: set[str] = set()
    bodies = []
    for source in sources:
        head, _, body = source.partition("\n# -- ")
        imports |= {line for line in _IMPORTS.findall(head) if "tightrope" not in line}
        plain = _ONE_LINE.sub(r'\1"""', _EXAMPLE.sub("", body))
        bodies.append("# -- " + plain.strip())
    doc = sources[-1].split('"""')[1]
    lines = sorted(imports - {"from __future__ import annotations", "import numpy as np"})
    whole = [line for line in lines if line.startswith("import")]
    named = [line for line in lines if line.startswith("from")]
    top = ["from __future__ import annotations\n", *_merged(whole + named), "\nimport numpy as np"]
    start = (
        '#!/usr/bin/env python3\nr"""'
        + doc
        + '\nRun it: ``python verify_mechanism.py FILE``.\n"""\n'
    )
    return start + "\n" + "\n".join(top) + "\n\n" + "\n\n\n".join(bodies) + "\n"


def _merged(lines: list[str]) -> list[str]:
    """Join imports of several names from one module."""
    names: dict[str, set[str]] = {}
    out = []
    for line in lines:
        found = re.fullmatch(r"from (\S+) import (.+)", line)
        if found is None:
            out.append(line)
        else:
            names.setdefault(found[1], set()).update(found[2].split(", "))
    order = {"collections.abc": 0}
    for module in sorted(names, key=lambda m: (order.get(m, 1), m)):
        out.append(f"from {module} import {', '.join(sorted(names[module], key=_isort))}")
    return out


def _isort(name: str) -> tuple[bool, str]:
    return (not name[0].isupper(), name)
