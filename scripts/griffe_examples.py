"""What the reference needs beyond Griffe: examples in texts, and what a room exports.

A docstring may hold ``>>>`` lines without the heading "Examples". Markdown would take them for
quotations, so they are put into fences before the pages are made.
"""

import re
from typing import Any

from griffe import Extension, Module, Object

EXAMPLE = re.compile(r"(?:^>>> .*\n(?:.+\n)*\n*)+", re.MULTILINE)
HEADING = re.compile(r"^Examples\n-+$", re.MULTILINE)


class FencedExamples(Extension):
    """Put fences round the examples above the section "Examples"."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is None:
            return
        text = obj.docstring.value
        heading = HEADING.search(text)
        end = heading.start() if heading else len(text)
        before = EXAMPLE.sub(
            lambda found: f"```pycon\n{found[0].rstrip()}\n```\n\n",
            text[:end].rstrip() + "\n",
        )
        obj.docstring.value = f"{before.rstrip()}\n\n{text[end:]}".rstrip()


class Exports(Extension):
    """Take ``from m import name as name`` in an ``__init__`` for an export."""

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Say which names a room exports."""
        if mod.is_init_module and mod.path.count(".") == 1:
            mod.exports = [name for name in mod.imports if not name.startswith("_")]
