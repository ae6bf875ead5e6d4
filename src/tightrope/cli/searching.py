"""What the ways to ``design`` share: the bar of a search, the file of its proof, the doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.cli.output import paragraphs, progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.optimize import Progress
    from tightrope.queries import Query


@contextmanager
def searching(gap: float, as_json: bool) -> Iterator[Callable[[Progress], None]]:
    """Show how far a search has come towards a gap, in digits.

    >>> from types import SimpleNamespace as Plain
    >>> with searching(1e-9, True) as told:
    ...     told(Plain(gap=0.1))
    """
    with progress_bar("searching", as_json) as done:

        def told(now: Progress) -> None:
            reached = math.log(max(now.gap, gap)) / math.log(gap) if now.gap < 1 else 0.0
            done(min(1.0, reached))

        yield told


def written(found: Any, asked: Query, out: Path | None, as_json: bool) -> dict[str, str]:
    """Prove what was found and write the file, if one is asked for; say where and what it is.

    >>> written(None, None, None, True)
    {}
    """
    if out is None:
        return {}
    from tightrope.certify import write
    from tightrope.proofs import prove

    with progress_bar("proving", as_json) as done:
        proved = prove(found, asked, done)
    return {"out": str(write(proved, out)), "digest": proved.digest}


def doubt(console: Console, found: Any) -> None:
    """Say why a design is not proved best, where it is not.

    >>> from types import SimpleNamespace as Plain
    >>> doubt(None, Plain(certified=True))
    """
    if not found.certified:
        how = "stopped early" if found.stopped else "the proof did not close"
        paragraphs(console, [f"Not proved best: {how}; no mechanism is below the bound above."])
