"""Keep the words of this project plain: a list of what not to write, with what to write instead.

python scripts/check_words.py [FILE ...]

Looks at the pages, at the README and its neighbours, and at comments, docstrings and messages of
the package. Names of the code (in backticks, or followed by a bracket) may be what they are.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What not to write, as patterns, with what to write instead.
WORDS = {
    r"\bat hand\b": "available; the incumbent",
    r"\brightly\b": "correctly",
    r"\bcommonest\b": "most common",
    r"\berrs\b": "has an error",
    r"\bnobody'?s business\b": "confidential",
    r"\bnobody can tell\b": "say what ε bounds",
    r"\bbeyond doubt\b": "above the error bound",
    r"\bthe shelf\b|\ba shelf\b": "the cache",
    r"\bowes?\b": "is short by",
    r"\bstands (?:in|on|at)\b": "is in; means",
    r"\bwith (?:at least )?9[59] %(?! (?:interval|margin|confidence))": "with probability 95 %",
    r"\bnothing comes out\b|\bnothing more comes out\b": "is refused",
    r"\bmay go\b(?! on)": "may be removed",
    r"\bthe best there is\b": "optimal",
    r"\bclock on the wall\b": "wall-clock time",
    r"\bminds? (?:a|an|the) \w+ (?:more|less)\b": "prefers",
    r"\bworked out on\b": "evaluated on",
    r"\bhand(?:s|ed|ing)? on (?:its|the|a) file\b": "pass on",
    r"\bbelongs? into\b": "belongs in",
    r"\bdrawn apart\b": "drawn separately",
}
PATTERN = re.compile("|".join(f"({pattern})" for pattern in WORDS))
#: Code in a page: fenced, between backticks, or a call.
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\b\w+\\?\(", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that people read, with their numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                lines = CODE.sub(_blank, token.string).splitlines()
                yield from enumerate(lines, token.start[0])
        return
    yield from enumerate(CODE.sub(_blank, text).splitlines(), 1)


def _blank(code: re.Match[str]) -> str:
    """Keep the lines of a piece of code, but not its words."""
    return "\n" * code[0].count("\n")


def findings(path: Path) -> Iterator[str]:
    """Yield a line for each word that should be another."""
    for number, line in prose(path):
        for word in PATTERN.finditer(line):
            better = list(WORDS.values())[word.lastindex - 1 if word.lastindex else 0]
            yield f"{path}:{number}: write {better!r}, not {word[0]!r}"


def main(names: list[str]) -> int:
    """Print every finding; 1 if there is one."""
    pages = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {ROOT / "CHANGELOG.md"}
    paths = [Path(name) for name in names] or [*pages, *ROOT.glob("src/**/*.py")]
    lines = [line for path in sorted(paths) for line in findings(path)]
    print("\n".join(lines) or "words: plain")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
