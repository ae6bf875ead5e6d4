"""``tightrope papers``: every claim of the four papers, computed again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.output import grid, paragraphs, progress_bar, show

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.papers.claims import Row


def papers(*, out: Path | None = None, only: str = "ABCD") -> None:
    """Compute every claim of the four papers again.

    Parameters
    ----------
    out : DIR
        Draw the figures and tables into this folder.
    only : LETTERS
        Only these papers, such as 'AC'.

    Examples:
      tightrope papers
      tightrope papers --only B --out figures

    >>> from tightrope.cli import main
    >>> main(["papers", "--only", "D", "--json"])
    {"rows": [{"paper": "D", "result": "Axiom 2.1.1", ...
    0
    """
    from tightrope.errors import CheckFailed
    from tightrope.papers import reproduce

    drawn: list[Path] = []
    with progress_bar("computing") as done:
        rows = reproduce(only, done)
    if out is not None:
        from tightrope.report.paper_figures import draw_figures

        with progress_bar("drawing") as done:
            drawn = draw_figures(out, only, done)
    verdicts = [row.verdict for row in rows]
    data = {
        "rows": [asdict(row) for row in rows],
        "match": verdicts.count("match"),
        "corrected": verdicts.count("corrected"),
        "open": verdicts.count("open"),
        "seconds": sum(row.seconds for row in rows),
        "figures": [str(path) for path in drawn],
    }
    show(data, lambda console: _draw(console, rows, drawn))
    # After everything was shown: the exit code says that something is unexplained.
    if "open" in verdicts:
        wrong = ", ".join(
            f"{row.paper} {row.result}" for row in rows if row.verdict == "open"
        )
        raise CheckFailed(
            f"computed values differ from the papers without explanation: {wrong}"
        )


def _draw(console: Console, rows: tuple[Row, ...], drawn: list[Path]) -> None:
    names = ("paper", "result", "statement", "claimed", "computed", "verdict")
    grid(
        console,
        ("", *names[1:]),
        [[getattr(row, name) for name in names] for row in rows],
    )
    corrected = [row for row in rows if row.verdict == "corrected"]
    if corrected:
        console.print("\nCorrected", style="bold")
    paragraphs(
        console, [f"{row.paper} {row.result}: {row.explanation}" for row in corrected]
    )
    seconds = sum(row.seconds for row in rows)
    matched = sum(row.verdict == "match" for row in rows)
    console.print(
        f"\n{len(rows)} claims: {matched} match, {len(corrected)} corrected, "
        f"computed in {seconds:.0f} s"
    )
    if drawn:
        console.print(f"{len(drawn)} figures in {drawn[0].parent}")
