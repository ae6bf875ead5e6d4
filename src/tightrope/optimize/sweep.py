"""Many designs in a row: several ε, priors, losses and routes for one question."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TightropeError
from tightrope.optimize.planner import design, graph_of
from tightrope.optimize.result import Design

#: Most levels in one range.
MOST_LEVELS = 100_000


def sweep(
    query: Any,
    epsilons: Sequence[Epsilon | float | Fraction | str],
    *,
    priors: Sequence[Any] = ("uniform",),
    losses: Sequence[Any] = ("binary",),
    routes: Sequence[str | None] = (None,),
    gap: float = 1e-9,
    progress: Callable[[float], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield one row for each combination; neighbouring ε start from each other's results.

    A combination that is refused gives a row with an ``error`` and no numbers.

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    epsilons
        The privacy levels; see :func:`levels` for ranges.
    priors, losses, routes
        What the consumers know, what their guesses cost, and which routes to force.
    gap
        Relative gap at which each search stops.
    progress
        Told the share of rows that are done.

    Examples
    --------
    >>> for row in sweep("path(4)", ["ln(2)", "ln(3)"]):
    ...     print(row["epsilon_text"], row["route"], round(row["expected_loss"], 6))
    ln(2) geometric 0.5
    ln(3) geometric 0.375
    """
    graph = graph_of(query)
    kinds = list(itertools.product(priors, losses, routes))
    warm: Design | None
    for number, (prior, loss, route) in enumerate(kinds):
        consumer = Consumer.of(graph, prior=prior, loss=loss)
        warm = None
        for place, epsilon in enumerate(epsilons):
            level = Epsilon.of(epsilon)
            row: dict[str, Any] = {"epsilon": float(level), "epsilon_text": str(level)}
            row |= {"prior": str(prior), "loss": str(loss)}
            try:
                warm = design(graph, level, consumer, route, gap, warm=warm)
                row |= warm.as_dict()
            except TightropeError as refused:
                row |= {"route": route, "error": str(refused)}
            if progress is not None:
                progress((number * len(epsilons) + place + 1) / (len(kinds) * len(epsilons)))
            yield row


def levels(text: str) -> list[Epsilon]:
    """Read a range ``LO:HI:STEP``, both ends included, or levels separated by commas.

    >>> [str(level) for level in levels("0.5:1:0.25")]
    ['0.5', '0.75', '1']
    >>> [str(level) for level in levels("ln(2),1")]
    ['ln(2)', '1']
    """
    if ":" not in text:
        return [Epsilon.of(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError(f"a range of ε must look like 0.5:2:0.1, got {text!r}")
    low, high, step = (Epsilon.of(part) for part in parts)
    if low.base or high.base or step.base:
        raise InputError(f"a range of ε needs plain numbers; list levels instead, got {text!r}")
    count = (high.multiple - low.multiple) / step.multiple
    if count < 0 or count > MOST_LEVELS:
        raise InputError(f"a range must rise and have at most {MOST_LEVELS} levels, got {text!r}")
    return [Epsilon(low.multiple + k * step.multiple) for k in range(int(count) + 1)]
