"""``tightrope design`` for many readers at once, and under a limit on leakage."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.output import facts_table, show
from tightrope.cli.searching import doubt, searching, written

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.queries import Query


def under_consumers(
    asked: Query, epsilon: str, file: Path, gap: float, as_json: bool, out: Path | None = None
) -> None:
    """Show the mechanism with the least worst regret over the readers of a file.

    An interruption (Ctrl-C) ends the search; what it has found and proved by then is shown.

    >>> import tempfile
    >>> from tightrope import query
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("name,loss" + chr(10) + "press,binary" + chr(10)), file.flush()
    ...     under_consumers(query("path(3)"), "1", Path(file.name), 1e-9, True)
    {"query": "path(3)", "route": "regret", ...}
    """
    from tightrope.consumers import read_consumers
    from tightrope.optimize.regret import design_many

    readers = read_consumers(file, asked.graph)
    start = time.perf_counter()
    with searching(gap, as_json) as told:
        found = design_many(asked, epsilon, readers, gap, told)
    facts = found.as_dict()
    worst = float(found.losses.max())
    data = {
        "query": asked.text,
        "route": "regret",
        "expected_loss": worst,
        "utility": -worst,
        "gap": found.worst_regret - found.bound,
        "seconds": time.perf_counter() - start,
        "baselines": {},
        **facts,
    }
    data |= written(found, asked, out, as_json)

    def draw(console: Console) -> None:
        rows = {
            "worst regret": f"{found.worst_regret:.9g}",
            "no mechanism below": f"{found.bound:.9g}",
            "how": found.reason,
        }
        for reader in facts["consumers"]:
            rows[f"reader {reader['name']}"] = (
                f"loses {reader['expected_loss']:.6g}, at best {reader['optimum']:.6g}: "
                f"regret {reader['regret']:.3g}"
            )
        if out is not None:
            rows["written to"] = f"{out}  (check its privacy: tightrope verify {out})"
        facts_table(console, f"one mechanism for {len(readers)} readers of {asked.text}", rows)
        doubt(console, found)

    show(as_json, data, draw)


def under_limit(
    asked: Query,
    epsilon: str | None,
    prior: str,
    loss: str,
    max_vulnerability: float | None,
    max_loss: float | None,
    gap: float,
    as_json: bool,
    out: Path | None = None,
) -> None:
    """Show the best mechanism under a limit on leakage or on loss.

    >>> from tightrope import query
    >>> under_limit(query("clique(3)"), None, "uniform", "binary", 0.5, None, 1e-9, True)
    {"query": "clique(3)", "route": "limited", ...}
    """
    from tightrope.consumers import Consumer
    from tightrope.optimize.limits import design_limited

    who = Consumer.of(asked.graph, prior=prior, loss=loss)
    start = time.perf_counter()
    with searching(gap, as_json) as told:
        found = design_limited(
            asked,
            who,
            epsilon=epsilon,
            max_vulnerability=max_vulnerability,
            max_loss=max_loss,
            gap=gap,
            progress=told,
        )
    lost = found.expected_loss
    data = {
        "query": asked.text,
        "route": "limited",
        "utility": 1 - lost if who.loss.is_binary else -lost,
        "seconds": time.perf_counter() - start,
        "baselines": {},
        **found.as_dict(),
    }
    data |= written(found, asked, out, as_json)

    def draw(console: Console) -> None:
        rows = {
            "expected loss": f"{lost:.9g}",
            "an attacker guesses": f"with probability {found.vulnerability:.9g}",
            f"no {found.minimised} below": f"{found.bound:.9g}  (gap {found.gap:.2g})",
        }
        if out is not None:
            rows["written to"] = f"{out}  (check it: tightrope verify {out})"
        facts_table(console, f"{asked.text} with the least {found.minimised}", rows)
        doubt(console, found)

    show(as_json, data, draw)
