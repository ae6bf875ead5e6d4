"""What a study asks: every combination of queries, priors, losses, routes and levels.

The description is all there is to know: its fingerprint names the study, and the chunks that it is
cut into are the same wherever and however often they are computed.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tightrope
from tightrope.consumers import Consumer, loss as read_loss, prior as read_prior
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.optimize import ROUTES, Design, design
from tightrope.queries import Neighbours, query as read_query

#: One design of a study; see ``tightrope.studies.COLUMNS`` for its columns.
StudyRow = dict[str, Any]


@dataclass(frozen=True)
class Chunk:
    """A piece of a study that is computed in one go: neighbouring levels, the rest the same.

    A chunk is all that a worker receives. The contents of files travel as values, so
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
    neighbours, route, gap, time_limit, epsilons
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
    time_limit: float | None
    epsilons: tuple[Epsilon, ...]

    def rows(self) -> Iterator[StudyRow]:
        """Yield the rows; each design starts from the one before, the first from none.

        A design that is refused gives a row with an ``error`` and no numbers.

        >>> [row] = next(Study.of("cycle(5)", "1", routes="tree").chunks()).rows()
        >>> row["error"]
        "route 'tree' does not fit: cycle(5) is not a tree"
        """
        warm: Design | None = None
        for step, level in enumerate(self.epsilons):
            row: StudyRow = {
                "place": self.place + step,
                "query": self.query,
                "neighbours": self.neighbours,
                "epsilon": float(level),
                "epsilon_text": str(level),
                "prior": self.prior,
                "loss": self.loss,
            }
            try:
                graph = self._graph
                # A neighbouring level is a good warm start; the first of a chunk has none.
                warm = design(
                    graph, level, self._consumer(graph), self.route, self.gap,
                    time_limit=self.time_limit, warm=warm,
                )  # fmt: skip
            # A refusal is a row: one impossible combination must not end the study.
            except TightropeError as refused:
                yield row | {
                    "route": self.route,
                    "error": " ".join(str(refused).split()),
                }
                continue
            if warm.stopped and (
                self.time_limit is None or warm.seconds < self.time_limit
            ):
                # The engine answers an interrupt with the best it has; a study goes on with
                # another run.
                raise KeyboardInterrupt
            result = warm.as_dict()
            # Rows of a study always minimise the loss, so the column would be constant.
            del result["minimised"]
            yield row | result

    @property
    def _graph(self) -> AnswerGraph:
        if isinstance(self.question, AnswerGraph):
            return self.question
        return _listed(self.question, self.neighbours)

    def _consumer(self, graph: AnswerGraph) -> Consumer:
        for value in (self.known, self.cost):
            # A file that did not fit this query: its refusal becomes the row's error.
            if isinstance(value, TightropeError):
                raise value
        return Consumer.of(graph, prior=self.known, loss=self.cost)


@functools.lru_cache(maxsize=4)
def _listed(text: str, neighbours: str) -> AnswerGraph:
    """Return the graph of a text; the next chunk mostly asks about the same one."""
    return read_query(text, neighbours=neighbours).graph


def design_chunk(chunk: Chunk) -> tuple[str, list[StudyRow]]:
    """Compute a chunk; return the version and code that did it, and the rows.

    >>> version, rows = design_chunk(next(Study.of("path(4)", "ln(2),ln(3)").chunks()))
    >>> [(row["route"], round(row["expected_loss"], 6)) for row in rows]
    [('geometric', 0.5), ('geometric', 0.375)]
    """
    return build(), list(chunk.rows())


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
        How many neighbouring levels are computed in one go: within it each design starts from
        its neighbour, so more is faster on one machine, and fewer are lost by a kill or shared
        among more workers.
    time_limit
        Seconds for each design; those that take longer are kept with the gap that is proved.
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
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        queries: str | Sequence[str],
        epsilons: str | Sequence[Level],
        *,
        priors: str | Sequence[str] = "uniform",
        losses: str | Sequence[str] = "binary",
        routes: str | Sequence[str | None] | None = None,
        neighbours: str = "change-one",
        gap: float = 1e-9,
        chunk: int = 10,
        time_limit: float | None = None,
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
        neighbours, gap, chunk, time_limit
            As above.

        Examples
        --------
        >>> Study.of("cycle(5)", "1", priors="binomial(.3)")
        Traceback (most recent call last):
        ...
        tightrope.errors.InputError: binomial needs answers on a line, which cycle(5) does not ...
        """
        near = Neighbours.of(neighbours)
        asked = _several(queries)
        known = _several(priors)
        costs = _several(losses)
        at = (
            levels(epsilons)
            if isinstance(epsilons, str)
            else [Epsilon.of(e) for e in epsilons]
        )
        forced = (
            (routes,) if routes is None or isinstance(routes, str) else tuple(routes)
        )
        if not (asked and at and known and costs and forced):
            raise InputError(
                "a study needs at least one query, level, prior, loss and route"
            )
        if not 0 < gap < 1:
            raise InputError(f"the gap must be between 0 and 1, got {gap}")
        if chunk < 1:
            raise InputError(f"a chunk must hold at least one design, got {chunk}")
        for route in forced:
            if route is not None and route not in ROUTES:
                raise InputError(
                    f"route must be one of {', '.join(ROUTES)}, got {route!r}"
                )
        # Read before anything runs: a typo in the last query must not cost hours.
        questions = [read_query(text, neighbours=near) for text in asked]
        asked = tuple(question.text for question in questions)
        graphs = [question.graph for question in questions]
        for text in known:
            _fits_one(text, graphs, read_prior)
        for text in costs:
            _fits_one(text, graphs, read_loss)
        # Content, not name, identifies a file: its digest is part of the fingerprint.
        named = {text for text in (*asked, *known, *costs) if _names_a_file(text)}
        digests = tuple((text, _digest(text)) for text in sorted(named))
        if time_limit is not None and not time_limit > 0:
            raise InputError(
                f"the time limit must be above 0 seconds, got {time_limit}"
            )
        study = cls(
            asked,
            tuple(at),
            known,
            costs,
            forced,
            near.value,
            gap,
            chunk,
            digests,
            time_limit,
        )
        if study.size > (most := 10_000_000):
            raise InputError(
                f"a study has at most {most:,} designs, got {study.size:,}: split it"
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
            # Changes with the columns and their meaning: an older store is then another study.
            "format": 3,
            "tightrope": build(),
            "queries": list(self.queries),
            "neighbours": self.neighbours,
            "epsilons": [str(level) for level in self.epsilons],
            "priors": list(self.priors),
            "losses": list(self.losses),
            "routes": list(self.routes),
            "gap": self.gap,
            "chunk": self.chunk,
            "time_limit": self.time_limit,
            "files": dict(self.files),
        }

    def rows_in(self, number: int) -> int:
        """Return how many designs one chunk holds.

        >>> study = Study.of("path(4)", "0.5:3:0.5", chunk=4)
        >>> study.rows_in(0), study.rows_in(1)
        (4, 2)
        """
        # Pieces of one kind follow each other; only the last may be shorter.
        first = number % self._pieces * self.chunk
        return min(self.chunk, len(self.epsilons) - first)

    def chunks(self, without: Iterable[int] = ()) -> Iterator[Chunk]:
        """Yield the chunks in their order, but for those that are there already.

        >>> study = Study.of(["path(4)", "cycle(5)"], "ln(2),1")
        >>> [chunk.query for chunk in study.chunks(without=[0])]
        ['cycle(5)']
        """
        done = frozenset(without)
        self._check_files()

        # Hours may lie between one file and the next: whenever one is read, all are checked again.
        @functools.cache
        def graph_of(query: str) -> AnswerGraph:
            graph = read_query(query, neighbours=self.neighbours).graph
            self._check_files()
            return graph

        @functools.cache
        def value_of(text: str, query: str, read: Callable[..., Any]) -> Any:
            if not _names_a_file(text):
                return text
            try:
                found = read(text, graph_of(query))
            except TightropeError as refused:
                # The refusal travels instead of the value: it becomes the row's error.
                found = refused
            self._check_files()
            return found

        firsts = range(0, len(self.epsilons), self.chunk)
        cases = itertools.product(
            self.queries, self.priors, self.losses, self.routes, firsts
        )
        # The number of a chunk depends on the study alone, so a later run finds the same.
        for number, (query, prior, loss, route, first) in enumerate(cases):
            if number not in done:
                # Rows of one kind are contiguous: the levels run fastest.
                place = number // self._pieces * len(self.epsilons) + first
                yield Chunk(
                    number, place, query, prior, loss,
                    graph_of(query) if _names_a_file(query) else query,
                    value_of(prior, query, read_prior), value_of(loss, query, read_loss),
                    self.neighbours, route, self.gap, self.time_limit,
                    self.epsilons[first : first + self.chunk],
                )  # fmt: skip

    def _check_files(self) -> None:
        for text, digest in self.files:
            if _digest(text) != digest:
                raise InputError(
                    f"the file of {text} has changed since the study was described"
                )

    @property
    def _kinds(self) -> int:
        return (
            len(self.queries) * len(self.priors) * len(self.losses) * len(self.routes)
        )

    @property
    def _pieces(self) -> int:
        return -(-len(self.epsilons) // self.chunk)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                f"a study takes texts, such as 'cycle(5)' or 'file:prior.csv', got {text!r}"
            )
    return texts


def _fits_one(
    text: str, graphs: Sequence[AnswerGraph], read: Callable[..., Any]
) -> None:
    refusals = []
    for graph in graphs:
        try:
            read(text, graph)
            return
        except TightropeError as refused:
            # The first refusal explains most; all of them would be a page.
            refusals.append(refused)
    raise refusals[0]


def _names_a_file(text: str) -> bool:
    return text.strip().startswith(("graph:", "points:", "file:"))


def _digest(text: str) -> str:
    path = Path(text.partition(":")[2].strip())
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as refused:
        raise InputError(
            f"{str(path)[:80]!r} cannot be read: {refused.strerror}"
        ) from None


def levels(text: str, most: int = 100_000) -> list[Epsilon]:
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
        raise InputError(
            f"a range of ε needs plain numbers; list levels instead, got {text!r}"
        )
    # Exact fractions: 0.1:3:0.1 must end at 3.
    count = (high.multiple - low.multiple) / step.multiple
    if count < 0 or count > most:
        raise InputError(
            f"a range must rise and have at most {most} levels, got {text!r}"
        )
    return [Epsilon(low.multiple + k * step.multiple) for k in range(int(count) + 1)]


@functools.cache
def build() -> str:
    """Return the version and the first digits of the SHA-256 of the code that designs.

    >>> build().startswith(tightrope.__version__ + "+")
    True
    """
    package = Path(tightrope.__file__).parent
    files = set(package.glob("*.py"))
    # Rooms that a row depends on; a change elsewhere keeps the fingerprint.
    rooms = "graphs queries phi channels consumers mechanisms optimize studies"
    files.update(*((package / room).rglob("*.py") for room in rooms.split()))
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(
            # The name is hashed as well, and a zero byte separates it from the content.
            file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes()
        )
    return f"{tightrope.__version__}+{total.hexdigest()[:12]}"
