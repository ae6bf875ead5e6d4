"""What MkDocs does to our pages besides rendering them.

Docstrings are written for readers of the code: numpydoc, with ``:math:`` and ``:class:`` roles.
The pages must work without a network, so formulas become MathML, which browsers draw by
themselves.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

RUN = re.compile(r"^( *```+ *python) run *$", re.MULTILINE)
#: A formula in a docstring, and in a page as GitHub shows it too: $`x`$.
MATH = re.compile(r":math:<code>(.*?)</code>|\$<code>(.*?)</code>\$", re.DOTALL)
DISPLAY = re.compile(
    r"<p>\.\. math::</p>\s*<div class=\"highlight\"><pre>(?:<span></span>)?<code>(.*?)</code>"
    r"</pre></div>",
    re.DOTALL,
)
#: A formula on lines of its own in a page.
FENCED = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r":(?:class|meth|func|mod|attr|exc|data):<code>(~?)([\w.]+)</code>")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop the mark of the blocks that the tests run, and draw formulas on their own lines."""
    drawn = FENCED.sub(lambda found: formula(found[1], "block"), markdown)
    return RUN.sub(r"\1", drawn)


def on_page_content(text: str, **_: Any) -> str:
    """Draw the formulas and shorten the roles that came from docstrings."""
    text = MATH.sub(lambda found: formula(found[1] or found[2], "inline"), text)
    text = DISPLAY.sub(lambda found: formula(re.sub(r"<.*?>", "", found[1]), "block"), text)
    return ROLE.sub(lambda found: f"<code>{short(*found.groups())}</code>", text)


def formula(escaped: str, display: str) -> str:
    return convert(html.unescape(escaped).strip(), display=display)


def short(tilde: str, name: str) -> str:
    return name.rpartition(".")[2] if tilde else name
