"""Show examples that stand in the text of a docstring as code.

A docstring may hold ``>>>`` lines without the heading "Examples". Markdown would take them for
quotations, so they are put into fences before the pages are made.
"""

import re
from typing import Any

from griffe import Extension, Object

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
            lambda found: f"```pycon\n{found[0].rstrip()}\n```\n\n", text[:end].rstrip() + "\n"
        )
        obj.docstring.value = f"{before.rstrip()}\n\n{text[end:]}".rstrip()
