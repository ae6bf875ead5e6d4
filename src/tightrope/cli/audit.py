"""``tightrope audit``: draw from a mechanism file and test what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.output import AsJson, facts_table, show

if TYPE_CHECKING:
    from rich.console import Console


def audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A mechanism file (.tightrope).")],
    draws: Annotated[int, typer.Option(metavar="N", help="Draws for each row.")] = 100_000,
    timed: Annotated[int, typer.Option(metavar="N", help="Single draws to time.")] = 100_000,
    false_alarm: Annotated[
        float, typer.Option(metavar="P", help="Chance that a sound sampler raises an alarm.")
    ] = 1e-6,
    as_json: AsJson = False,
) -> None:
    """Draw many times; test the frequencies, and whether the time tells anything.

    The exit code is 1 when a test fails.

    Examples:
      tightrope audit cities.tightrope
      tightrope audit cities.tightrope --draws 1000000 --false-alarm 1e-9

    >>> audit(Path("none.tightrope"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: none.tightrope: No such file or directory
    """
    from tightrope.certify import read
    from tightrope.publish.auditing import audit as examine

    found = examine(read(file), draws=draws, timed=timed, false_alarm=false_alarm)

    def draw(console: Console) -> None:
        worst = min(found.rows, key=lambda row: row.p_value)
        rows = {
            "verdict": "no alarm" if found.passed else "ALARM",
            "false-alarm rate": f"{found.false_alarm:g}",
            "rows drawn": f"{len(found.rows)}, {draws} times each",
            "worst row": f"row {worst.row}: χ² = {worst.chi_square:.4g} with {worst.freedom} "
            f"degrees of freedom, p = {worst.p_value:.3g}",
            "time against output": f"ρ = {found.correlation:+.4f}",
            "time against rarity": f"ρ = {found.rarity_correlation:+.4f} (alarm beyond "
            f"{found.correlation_limit:.3g})",
            "one draw": f"{found.nanoseconds:.0f} ns",
        }
        facts_table(console, file.name, rows)

    show(as_json, found.as_dict(), draw)
    if not found.passed:
        raise typer.Exit(1)
