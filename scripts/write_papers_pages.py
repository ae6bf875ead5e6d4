"""Write docs/papers.md and docs/corrections.md from the claims and what they compute.

    python scripts/write_papers_pages.py

The part of each page below the mark is made here; the text above it is written by hand.
"""

from pathlib import Path

from tightrope.papers import PAPERS, reproduce
from tightrope.papers.claims import Row

DOCS = Path(__file__).parent.parent / "docs"
MARK = "<!-- below: written by scripts/write_papers_pages.py -->\n"


def papers_line(row: Row) -> str:
    """Return one line of the table of claims."""
    said = f"**{_cell(row.result)}**: {_cell(row.statement)}"
    cells = (
        said,
        _cell(row.claimed),
        _cell(row.computed),
        _verdict(row),
        f"`{row.function}`",
    )
    return f"| {' | '.join(cells)} |\n"


def corrections_section(row: Row) -> str:
    """Return what is said about one correction."""
    return (
        f"\n## {row.paper}, {row.result}\n\n{_text(row.explanation)}\n\n"
        f"| statement | {_cell(row.statement)} |\n|---|---|\n"
        f"| printed | {_cell(row.claimed)} |\n"
        f"| computed | {_cell(row.computed)} |\n"
        f"| by | `{row.function}` |\n"
    )


def papers_page(rows: tuple[Row, ...]) -> str:
    """Return everything below the mark of docs/papers.md."""
    matched = sum(row.verdict == "match" for row in rows)
    text = (
        f"\n{len(rows)} claims: {matched} match, {len(rows) - matched} are corrected.\n"
    )
    for letter in PAPERS:
        text += f"\n## Paper {letter}\n\n"
        text += "| claim | printed | computed | verdict | function |\n|---|---|---|---|---|\n"
        text += "".join(papers_line(row) for row in rows if row.paper == letter)
    return text


def corrections_page(rows: tuple[Row, ...]) -> str:
    """Return everything below the mark of docs/corrections.md."""
    return "".join(
        corrections_section(row) for row in rows if row.verdict == "corrected"
    )


def rewritten(page: str, below: str) -> str:
    """Return the page with the part below the mark replaced."""
    above, mark, _ = page.partition(MARK)
    if not mark:
        raise SystemExit(f"the page must hold the line {MARK!r}")
    return above + mark + below


def _verdict(row: Row) -> str:
    return "[corrected](corrections.md)" if row.verdict == "corrected" else row.verdict


def _text(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_")


def _cell(text: str) -> str:
    return _text(text).replace("<", "&lt;").replace("|", "\\|")


def main() -> None:
    rows = reproduce()
    for name, below in (
        ("papers", papers_page(rows)),
        ("corrections", corrections_page(rows)),
    ):
        path = DOCS / f"{name}.md"
        path.write_text(
            rewritten(path.read_text(encoding="utf-8"), below), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
