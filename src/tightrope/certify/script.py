"""The checker as one file that a sceptic can read and run without this package.

The whole checker knows every kind of mechanism, which makes it long. Cut to one file it holds
only the functions that the check of that file enters, about two thirds of the lines.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from importlib.resources import files
from types import FrameType
from typing import Any

#: The modules of the checker, in the order in which they stand in the script.
PARTS = (
    "container",
    "exponentials",
    "neighbours",
    "weights",
    "elimination",
    "optimality",
    "limit",
    "checker",
)

#: What a file that passes does not enter, but one that fails does.
KEPT = {"main", "_breach_text"}

_IMPORTS = re.compile(r"^(?:from|import) .*?(?:\([^)]*\))?$", re.M)
_ONE_LINE = re.compile(r'("""[^"\n]+)\n *"""')
_EXAMPLE = re.compile(r"\n\n? *>>> .*?(?=\n *\"\"\"|\n\n)", re.S)


def checker_script(mechanism: str | os.PathLike[str] | bytes | None = None) -> str:
    """Return the single-file checker: the checker's own modules, one after another.

    It needs Python and NumPy. ``scripts/verify_mechanism.py`` is this text.

    Parameters
    ----------
    mechanism
        A mechanism file, or its bytes: only the functions that its check enters are kept.

    Examples
    --------
    >>> text = checker_script()
    >>> "tightrope." in text, text.count("def check(")
    (False, 1)
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> made = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), PathPower(2), "ln(3)")
    >>> short = checker_script(made.to_bytes())
    >>> len(short) < 0.6 * len(text), "class Side" in text, "class Side" in short
    (True, True, False)
    """
    whole = _whole()
    return whole if mechanism is None else _cut(whole, _entered(mechanism) | KEPT)


def _entered(mechanism: str | os.PathLike[str] | bytes) -> set[str]:
    """Return the names of the checker's functions that the check of a file enters."""
    from tightrope.certify import checker, exponentials

    folder = os.path.dirname(checker.__file__)
    ours = {os.path.join(folder, f"{part}.py") for part in PARTS}
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename in ours:
            found.add(frame.f_code.co_qualname)

    exponentials.ln_bounds.cache_clear()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        checker.check(mechanism)
    finally:
        sys.setprofile(before)
    return found


def _cut(text: str, used: set[str]) -> str:
    """Leave out the functions, methods and classes that are not used."""
    lines = text.split("\n")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name not in used:
            _blank(lines, node)
        elif isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            idle = [part for part in methods if f"{node.name}.{part.name}" not in used]
            for part in [node] if methods and len(idle) == len(methods) else idle:
                _blank(lines, part)
    short = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines))
    short = re.sub(r"\n\n\n(?=    )", "\n\n", short)
    short = short.replace(_RUN, _RUN_CUT).replace(_END, _END_CUT)
    return short.rstrip("\n") + "\n"


def _blank(lines: list[str], node: ast.FunctionDef | ast.ClassDef) -> None:
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    for line in range(first - 1, node.end_lineno or node.lineno):
        lines[line] = ""


_RUN = "Run it: ``python verify_mechanism.py FILE``."
_RUN_CUT = (
    _RUN
    + """ This copy holds the checks that files of one
kind need; it does not judge others."""
)
_END = """    sys.exit(main(sys.argv[1:]))"""
_END_CUT = """    try:
        sys.exit(main(sys.argv[1:]))
    except (AttributeError, NameError) as missing:
        sys.exit(f"this copy of the checker is for files of another kind: {missing}")"""


def _whole() -> str:
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
