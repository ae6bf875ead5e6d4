"""What a study asks: every combination of queries, priors, losses, routes and levels.

The description is all there is to know: its fingerprint names the study, and the chunks that it is
cut into are the same wherever and however often they are computed.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tightrope.consumers import loss as read_loss
from tightrope.consumers import prior as read_prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.optimize import ROUTES
from tightrope.queries import Neighbours
from tightrope.queries import query as read_query
from tightrope.studies.build import build
from tightrope.studies.levels import levels

#: Levels in one chunk: within it each design starts from its neighbour, so more is faster on one
#: machine, and fewer are lost by a kill or shared among more workers.
CHUNK = 10
#: Most designs of one study.
MOST_DESIGNS = 10_000_000
#: Changes whenever the columns or their meaning do: an older store is then another study.
FORMAT = 1

_FILES = ("graph:", "points:", "file:")


@dataclass(frozen=True)
class Chunk:
    """A piece of a study that is computed in one go: neighbouring levels, the rest the same.

    A chunk is all that a worker is told. What stands in a file is carried along as a value, so
    that workers need not see the file.

    Attributes
    ----------
    number
        Its place among the chunks.
    place
        The place of its first design among the designs.
    query, prior, loss
        The texts of the study.
    question, known, cost
        What they stand for: the same texts, or the graph, prior and loss read from files.
    neighbours, route, gap, epsilons
        As in the study.

    Examples
    --------
    >>> study = Study.of("path(4)", "0.5:3:0.5", chunk=4)
    >>> [(chunk.place, len(chunk.epsilons)) for chunk in study.chunks()]
    [(0, 4), (4, 2)]
    """

    number: int
    place: int
    query: str
    prior: str
    loss: str
    question: str | AnswerGraph
    known: Any
    cost: Any
    neighbours: str
    route: str | None
    gap: float
    epsilons: tuple[Epsilon, ...]


@dataclass(frozen=True)
class Study:
    """Many designs: every query with every prior, loss and route, at every level.

    Build one with :meth:`of`.

    Parameters
    ----------
    queries, priors, losses
        Texts, as the command line takes them.
    epsilons
        The privacy levels.
    routes
        Routes to force; ``None`` leaves the choice to the planner.
    neighbours
        The neighbour relation of the queries.
    gap
        Relative gap at which each search stops.
    chunk
        How many neighbouring levels are computed in one go.
    files
        The texts that name files, each with the SHA-256 of its file.

    Examples
    --------
    >>> study = Study.of(["path(4)", "cycle(5)"], "ln(2),1", losses=["binary", "distance"])
    >>> study.size, study.chunk_count
    (8, 4)
    >>> study.fingerprint == Study.of("path(4)", "1").fingerprint
    False
    """

    queries: tuple[str, ...]
    epsilons: tuple[Epsilon, ...]
    priors: tuple[str, ...]
    losses: tuple[str, ...]
    routes: tuple[str | None, ...]
    neighbours: str
    gap: float
    chunk: int
    files: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        queries: str | Sequence[str],
        epsilons: str | Sequence[Epsilon | float | Fraction | str],
        *,
        priors: str | Sequence[str] = "uniform",
        losses: str | Sequence[str] = "binary",
        routes: str | Sequence[str | None] | None = None,
        neighbours: str = "change-one",
        gap: float = 1e-9,
        chunk: int = CHUNK,
    ) -> Study:
        """Describe a study, and refuse what cannot be asked.

        A prior or a loss must fit at least one of the queries; where it does not fit another,
        those designs are refused one by one.

        Parameters
        ----------
        queries, priors, losses
            One text or several.
        epsilons
            A text for :func:`levels`, or the levels.
        routes
            Routes to force, or ``None``.
        neighbours, gap, chunk
            As above.

        Examples
        --------
        >>> Study.of("cycle(5)", "1", priors="binomial(.3)")
        Traceback (most recent call last):
        ...
        tightrope.errors.InputError: binomial needs answers on a line, which cycle(5) does not ...
        """
        near = Neighbours.of(neighbours)
        asked, known, costs = _several(queries), _several(priors), _several(losses)
        at = levels(epsilons) if isinstance(epsilons, str) else [Epsilon.of(e) for e in epsilons]
        forced = (routes,) if routes is None or isinstance(routes, str) else tuple(routes)
        if not (asked and at and known and costs and forced):
            raise InputError("a study needs at least one query, level, prior, loss and route")
        if not 0 < gap < 1:
            raise InputError(f"the gap must be between 0 and 1, got {gap}")
        if chunk < 1:
            raise InputError(f"a chunk must hold at least one design, got {chunk}")
        for route in forced:
            if route is not None and route not in ROUTES:
                raise InputError(f"route must be one of {', '.join(ROUTES)}, got {route!r}")
        questions = [read_query(text, neighbours=near) for text in asked]
        asked = tuple(question.text for question in questions)
        graphs = [question.graph for question in questions]
        for text in known:
            _fits_one(text, graphs, read_prior)
        for text in costs:
            _fits_one(text, graphs, read_loss)
        named = {text for text in (*asked, *known, *costs) if _names_a_file(text)}
        digests = tuple((text, _digest(text)) for text in sorted(named))
        study = cls(asked, tuple(at), known, costs, forced, near.value, gap, chunk, digests)
        if study.size > MOST_DESIGNS:
            raise InputError(
                f"a study has at most {MOST_DESIGNS:,} designs, got {study.size:,}: split it"
            )
        return study

    @property
    def size(self) -> int:
        """The number of designs."""
        return self._kinds * len(self.epsilons)

    @property
    def chunk_count(self) -> int:
        """The number of chunks."""
        return self._kinds * self._pieces

    @functools.cached_property
    def fingerprint(self) -> str:
        """A name that changes with anything that could change a row."""
        text = json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return the description as a dictionary that JSON can hold."""
        return {
            "format": FORMAT,
            "tightrope": build(),
            "queries": list(self.queries),
            "neighbours": self.neighbours,
            "epsilons": [str(level) for level in self.epsilons],
            "priors": list(self.priors),
            "losses": list(self.losses),
            "routes": list(self.routes),
            "gap": self.gap,
            "chunk": self.chunk,
            "files": dict(self.files),
        }

    def rows_in(self, number: int) -> int:
        """Return how many designs one chunk holds.

        >>> study = Study.of("path(4)", "0.5:3:0.5", chunk=4)
        >>> study.rows_in(0), study.rows_in(1)
        (4, 2)
        """
        first = number % self._pieces * self.chunk
        return min(self.chunk, len(self.epsilons) - first)

    def chunks(self, without: Iterable[int] = ()) -> Iterator[Chunk]:
        """Yield the chunks in their order, but for those that are there already.

        >>> study = Study.of(["path(4)", "cycle(5)"], "ln(2),1")
        >>> [chunk.query for chunk in study.chunks(without=[0])]
        ['cycle(5)']
        """
        done = frozenset(without)
        read = _Reader(self)
        number = 0
        for query in self.queries:
            for prior in self.priors:
                for loss in self.losses:
                    for route in self.routes:
                        for first in range(0, len(self.epsilons), self.chunk):
                            if number not in done:
                                yield Chunk(
                                    number,
                                    number // self._pieces * len(self.epsilons) + first,
                                    query,
                                    prior,
                                    loss,
                                    *read.values(query, prior, loss),
                                    self.neighbours,
                                    route,
                                    self.gap,
                                    self.epsilons[first : first + self.chunk],
                                )
                            number += 1

    @property
    def _kinds(self) -> int:
        return len(self.queries) * len(self.priors) * len(self.losses) * len(self.routes)

    @property
    def _pieces(self) -> int:
        return -(-len(self.epsilons) // self.chunk)


class _Reader:
    """Turns texts that name files into values, once each, and leaves the other texts alone."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.known: dict[tuple[str, ...], Any] = {}
        self._check_files()

    def _check_files(self) -> None:
        for text, digest in self.study.files:
            if _digest(text) != digest:
                raise InputError(f"the file of {text} has changed since the study was described")

    def values(self, query: str, prior: str, loss: str) -> tuple[Any, Any, Any]:
        before = len(self.known)
        question = self._graph(query) if _names_a_file(query) else query
        found = (
            question,
            self._value(prior, query, read_prior),
            self._value(loss, query, read_loss),
        )
        if len(self.known) > before:
            # Hours may lie between the first question and this one.
            self._check_files()
        return found

    def _graph(self, text: str) -> AnswerGraph:
        if (text,) not in self.known:
            self.known[text,] = read_query(text, neighbours=self.study.neighbours).graph
        graph: AnswerGraph = self.known[text,]
        return graph

    def _value(self, text: str, query: str, read: Callable[..., Any]) -> Any:
        if not _names_a_file(text):
            return text
        if (text, query) not in self.known:
            try:
                self.known[text, query] = read(text, self._graph(query))
            except TightropeError as refused:
                # The refusal travels instead of the value: it becomes the row's error.
                self.known[text, query] = refused
        return self.known[text, query]


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                f"a study takes texts, such as 'cycle(5)' or 'file:prior.csv', got {text!r}"
            )
    return texts


def _fits_one(text: str, graphs: Sequence[AnswerGraph], read: Callable[..., Any]) -> None:
    first: TightropeError | None = None
    for graph in graphs:
        try:
            read(text, graph)
        except TightropeError as refused:
            first = first or refused
        else:
            return
    if first is not None:
        raise first


def _names_a_file(text: str) -> bool:
    return text.strip().startswith(_FILES)


def _digest(text: str) -> str:
    path = Path(text.partition(":")[2].strip())
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as refused:
        raise InputError(f"{str(path)[:80]!r} cannot be read: {refused.strerror}") from None
