"""The judge: the kernel with every expander and theorem registered.

``verify --script`` writes these modules as one file, in this order: :data:`MODULES`. A sceptic
reads the kernel; of the rest only the theorem behind the file that is checked.
"""

from __future__ import annotations

import ast
from importlib.resources import files
from typing import Any

from tightrope.certify.expanders import tree as tree
from tightrope.certify.kernel.consumer import StatedConsumer as StatedConsumer
from tightrope.certify.kernel.duals import (
    CertificateKind as CertificateKind,
    Shortfalls as Shortfalls,
)
from tightrope.certify.kernel.exponentials import level_bounds as level_bounds
from tightrope.certify.kernel.format import (
    CERTIFICATES as CERTIFICATES,
    MAGIC as MAGIC,
    MASK as MASK,
    VERSION as VERSION,
    WEIGHTS as WEIGHTS,
    Array as Array,
    Contents as Contents,
    File as File,
    Refused as Refused,
    label as label,
    need as need,
    need_work as need_work,
    section_chunk as section_chunk,
)
from tightrope.certify.kernel.graphs import (
    Graph as Graph,
    common_unit as common_unit,
    even_line as even_line,
    simplest as simplest,
)
from tightrope.certify.kernel.verdict import Verification as Verification
from tightrope.certify.kernel.weights import (
    Weights as Weights,
    compared as compared,
    exceeds as exceeds,
)
from tightrope.certify.standalone import (
    check as check,
    question_graph as question_graph,
)
from tightrope.certify.theorems import (
    cosets as cosets,
    envelope as envelope,
    phi as phi,
)
from tightrope.certify.theorems.levels import (
    box_sums as box_sums,
    falling_levels as falling_levels,
)
from tightrope.certify.theorems.limits import LimitedCosts as LimitedCosts
from tightrope.certify.theorems.line import Side as Side, line_numbers as line_numbers
from tightrope.certify.theorems.radial import (
    is_transitive as is_transitive,
    sphere_sizes as sphere_sizes,
)
from tightrope.certify.theorems.scores import score_question as score_question
from tightrope.certify.theorems.sharpened import SharpenedWeights as SharpenedWeights
from tightrope.certify.theorems.shown import ShownWeights as ShownWeights
from tightrope.certify.theorems.slack import Slack as Slack
from tightrope.certify.theorems.stairs import added_up as added_up
from tightrope.certify.theorems.stretched import line_loss as line_loss
from tightrope.certify.theorems.tuples import (
    TupleQuestion as TupleQuestion,
    tuple_question as tuple_question,
)
from tightrope.certify.theorems.unbounded import (
    LatticeConsumer as LatticeConsumer,
    LatticeWeights as LatticeWeights,
    question_lattice as question_lattice,
)
from tightrope.certify.theorems.window import window_graph as window_graph


def proof_of(consumer: StatedConsumer) -> type[CertificateKind]:
    """Return the kind of certificate that a consumer's file has."""
    kind: type[CertificateKind] = CERTIFICATES[
        consumer.file.header["certificate"]["kind"]
    ]
    return kind


def repairs(consumer: StatedConsumer, prices: Array) -> Shortfalls:
    """Yield by how much which prices shall be decreased; nothing of this is believed."""
    proof: Any = proof_of(consumer)
    proposed = getattr(proof, "repairs", proof.shortfalls)
    shortfalls: Shortfalls = proposed(consumer, prices)
    return shortfalls


_KERNEL = "format exponentials graphs consumer weights duals verdict"
_THEOREMS = (
    "levels radial scores tuples slack shown window limits line phi envelope stairs "
    "cosets unbounded sharpened stretched"
)
#: The files of the judge, each before those that need it.
MODULES = (
    "lattices.py",
    *(f"certify/kernel/{name}.py" for name in _KERNEL.split()),
    "certify/expanders/tree.py",
    *(f"certify/theorems/{name}.py" for name in _THEOREMS.split()),
    "certify/standalone.py",
)


def judge_script() -> str:
    """Return the judge as one file that a sceptic can read and run without this package.

    It needs Python and NumPy, and derives the graphs of the common questions itself.

    >>> "import tightrope" in judge_script(), judge_script().count("def main(")
    (False, 1)
    """
    plain = set[str]()
    named = dict[str, set[str]]()
    parts = []
    for name in MODULES:
        source = files("tightrope").joinpath(name).read_text("utf-8")
        lines = source.splitlines()
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import):
                plain.add(ast.unparse(node))
            elif isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names} - {"TYPE_CHECKING"}
                named.setdefault(str(node.module), set()).update(names)
            elif not isinstance(node, ast.If):  # which imports for type checkers
                continue
            # Blank lines instead of deleting them, so that later line numbers stay valid.
            dropped = slice(node.lineno - 1, node.end_lineno)
            lines[dropped] = [""] * len(lines[dropped])
        text = "\n".join(lines)
        while "\n\n\n\n" in text:
            text = text.replace("\n\n\n\n", "\n\n\n")
        parts.append(f"# == {name} ==\n\n{text.strip()}\n")
    del named["__future__"]
    imports = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(named.items())
        if not module.startswith("tightrope")
    ]
    head = [_SCRIPT_HEAD, *sorted(plain), *imports]
    end = 'if __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n'
    return "\n".join(head) + "\n\n\n" + "\n\n".join(parts) + "\n\n" + end


_SCRIPT_HEAD = '''#!/usr/bin/env python3
"""Check a mechanism file in integers: whose question it answers, privacy, loss, optimality.

This file needs Python 3.11 and NumPy, nothing else: ``python verify_mechanism.py FILE``.
"""

from __future__ import annotations

'''
