"""What MkDocs does to our pages besides rendering them.

Docstrings are written for readers of the code: numpydoc, with ``:math:`` and ``:class:`` roles.
The pages must work without a network, so formulas become MathML, which browsers draw by
themselves.
"""

import functools
import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"
#: Words that are explained where they first appear on a page.
WORDS = ("answer graph", "remap", "route", "regular prior", "tight constraints",
         "maximally general", "prices", "Dobrushin utility")  # fmt: skip
#: What is left as it is: links, code, formulas, headings and tags.
KEPT = re.compile(
    r"(<(?:a|code|pre|math|h[1-6])\b.*?</(?:a|code|pre|math|h[1-6])>|<[^>]*>)",
    re.DOTALL,
)
ROW = re.compile(r"^\| ([^|]+) \| (.+?) \| `[^`]+` \|$", re.MULTILINE)
RUN = re.compile(r"^( *```+ *python) run(?: on)? *$", re.MULTILINE)
#: A session: its results are not coloured as if they were code.
SESSION = re.compile(r"^( *```+ *)python(?= *\n *>>>)", re.MULTILINE)
#: A formula in a docstring, and in a page as GitHub shows it too: $`x`$.
MATH = re.compile(r":math:<code>(.*?)</code>|\$<code>(.*?)</code>\$", re.DOTALL)
DISPLAY = re.compile(
    r"<p>\.\. math::</p>\s*<div class=\"highlight\"><pre>(?:<span></span>)?<code>(.*?)</code>"
    r"</pre></div>",
    re.DOTALL,
)
#: A formula on lines of its own in a page.
FENCED = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
#: The title of a part of the navigation.
PART = re.compile(
    r'<label class="md-nav__title" for="(__nav_\w+)">.*?</span>\s*(.*?)\s*</label>',
    re.DOTALL,
)
#: Code within a sentence, and in it an option with its value: a line may not end in ``--``.
INLINE = re.compile(r"<code>[^<]*</code>")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*(?: [A-Z]+\b)?")
#: A cell of a table with a sentence in it, not a number or a name.
CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
SENTENCE = 24
#: A list of titles below another title, in a table of contents.
LISTED = re.compile(r'<nav class="md-nav" aria-label="[^"]*">')
ROLE = re.compile(r":(?:class|meth|func|mod|attr|exc|data):<code>(~?)([\w.]+)</code>")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop the mark of the blocks that the tests run, and draw formulas on their own lines."""
    drawn = FENCED.sub(lambda found: formula(found[1], "block"), markdown)
    return SESSION.sub(r"\1pycon", RUN.sub(r"\1", drawn))


def on_page_content(text: str, page: Any = None, **_: Any) -> str:
    """Draw the formulas, shorten the roles that came from docstrings, and explain first words."""
    text = MATH.sub(lambda found: formula(found[1] or found[2], "inline"), text)
    text = DISPLAY.sub(
        lambda found: formula(re.sub(r"<.*?>", "", found[1]), "block"), text
    )
    text = ROLE.sub(lambda found: f"<code>{short(*found.groups())}</code>", text)
    text = INLINE.sub(
        lambda found: OPTION.sub(r'<span class="whole">\g<0></span>', found[0]), text
    )
    text = CELL.sub(lambda found: cell(found[1]), text)
    # A corner without words is no heading.
    text = text.replace("<th></th>", "<td></td>")
    place = "" if page is None else page.file.src_uri
    return text if place in ("", "glossary.md") else explained(text, place.count("/"))


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name for screen readers."""
    search = '<div class="md-search" data-md-component="search" role="dialog"'
    output = output.replace(search, f'{search} aria-label="Search"')
    # The lists below a title are no landmarks of their own: several would have the same name.
    output = LISTED.sub('<nav class="md-nav" role="none">', output)
    # The theme names a part's list of pages by a label that is empty where the part has a page.
    titles = dict(PART.findall(output))
    return re.sub(
        r'aria-labelledby="(__nav_\w+)_label"',
        lambda found: f'aria-label="{titles[found[1]]}"',
        output,
    )


def cell(content: str) -> str:
    """Give a cell that holds a sentence the room of one."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", content))
    words = "" if len(plain) < SENTENCE else ' class="words"'
    return f"<td{words}>{content}</td>"


def explained(text: str, depth: int) -> str:
    """Link the first place of each word of the papers to the glossary, with its meaning."""
    parts = KEPT.split(text)
    for word, meaning in terms().items():
        pattern = re.compile(rf"\b{word}\b", re.IGNORECASE)
        for k in range(0, len(parts), 2):
            found = pattern.search(parts[k])
            if found is None:
                continue
            link = f'<a href="{"../" * depth}glossary.html" title="{html.escape(meaning)}">'
            marked = f"{link}{found[0]}</a>"
            rest = parts[k][found.end() :]
            parts[k : k + 1] = [parts[k][: found.start()], marked, rest]
            break
    return "".join(parts)


@functools.cache
def terms() -> dict[str, str]:
    """Return the words that are not everyday English, with their meaning in the glossary."""
    known = dict(ROW.findall(GLOSSARY.read_text(encoding="utf-8")))
    plain = {word: re.sub(r"[`*\\]", "", known[word]) for word in WORDS}
    spelled = {
        "tight constraints": "tight.constraints",
        "regular prior": "regular priors?",
    }
    spelled |= {
        "remap": "remaps?",
        "route": "routes?",
        "answer graph": "answer graphs?",
    }
    return {spelled.get(word, word): meaning for word, meaning in plain.items()}


def formula(escaped: str, display: str) -> str:
    drawn = str(convert(html.unescape(escaped).strip(), display=display))
    # The bars of a norm grow in MathML, and in TeX only after \left.
    drawn = drawn.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')
    # A wide formula scrolls by itself, not the page. A short one stays in its line.
    if display == "block":
        return f'<div class="scrolls" tabindex="0">{drawn}</div>'
    # What scrolls can have the focus: the keyboard reaches all of it.
    return (
        f'<span class="wide" tabindex="0">{drawn}</span>'
        if len(escaped) > 48
        else drawn
    )


def short(tilde: str, name: str) -> str:
    return name.rpartition(".")[2] if tilde else name
