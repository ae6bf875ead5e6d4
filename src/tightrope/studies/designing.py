"""The unit of work: the designs of one chunk, one after the other."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from tightrope.consumers import Consumer
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.optimize import Design, design
from tightrope.queries import query as read_query
from tightrope.studies.build import build
from tightrope.studies.study import Chunk

#: One design of a study; see ``tightrope.studies.COLUMNS`` for what stands in it.
Row = dict[str, Any]


def design_chunk(chunk: Chunk) -> tuple[str, list[Row]]:
    """Compute a chunk; return the version and code that did it, and the rows.

    >>> from tightrope.studies import Study
    >>> version, rows = design_chunk(next(Study.of("path(4)", "ln(2),ln(3)").chunks()))
    >>> [(row["route"], round(row["expected_loss"], 6)) for row in rows]
    [('geometric', 0.5), ('geometric', 0.375)]
    """
    return build(), list(rows_of(chunk))


def rows_of(chunk: Chunk) -> Iterator[Row]:
    """Yield the rows of a chunk; each design starts from the one before, the first from none.

    A design that is refused gives a row with an ``error`` and no numbers.

    >>> from tightrope.studies import Study
    >>> [row] = rows_of(next(Study.of("cycle(5)", "1", routes="tree").chunks()))
    >>> row["error"]
    "route 'tree' does not fit: cycle(5) is not a tree"
    """
    warm: Design | None = None
    for step, level in enumerate(chunk.epsilons):
        row: Row = {
            "place": chunk.place + step,
            "query": chunk.query,
            "neighbours": chunk.neighbours,
            "epsilon": float(level),
            "epsilon_text": str(level),
            "prior": chunk.prior,
            "loss": chunk.loss,
        }
        try:
            graph = _graph(chunk)
            consumer = _consumer(chunk, graph)
            warm = design(graph, level, consumer, chunk.route, chunk.gap, warm=warm)
        except TightropeError as refused:
            yield row | {"route": chunk.route, "error": " ".join(str(refused).split())}
            continue
        if warm.stopped:
            # The engine answers an interrupt with the best it has; a study wants all or nothing.
            raise KeyboardInterrupt
        found = warm.as_dict()
        del found["stopped"]
        yield row | found


def _graph(chunk: Chunk) -> AnswerGraph:
    if isinstance(chunk.question, AnswerGraph):
        return chunk.question
    return _listed(chunk.question, chunk.neighbours)


@functools.lru_cache(maxsize=4)
def _listed(text: str, neighbours: str) -> AnswerGraph:
    """Return the graph of a text; the next chunk mostly asks about the same one."""
    return read_query(text, neighbours=neighbours).graph


def _consumer(chunk: Chunk, graph: AnswerGraph) -> Consumer:
    for value in (chunk.known, chunk.cost):
        if isinstance(value, TightropeError):
            raise value
    return Consumer.of(graph, prior=chunk.known, loss=chunk.cost)
