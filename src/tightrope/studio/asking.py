"""From the fields of a page to what the library takes, and errors that know their field."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from tightrope.consumers import Consumer, loss, prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TightropeError
from tightrope.graphs import read_graph, read_points, write_graph
from tightrope.queries import Neighbours, Query, query, usual_loss
from tightrope.studio.state import GRAPH_FILE, ConsumerText, PageState


class FieldError(TightropeError):
    """What a field holds cannot be used.

    Parameters
    ----------
    field
        The name of the field, such as ``"question"``.
    message
        Why, in one line.

    Examples
    --------
    >>> FieldError("epsilon", "ε must be positive, got -1").field
    'epsilon'
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return self.message


@contextmanager
def blame(field: str) -> Iterator[None]:
    """Say of every refusal inside which field it belongs to.

    >>> from tightrope import Epsilon
    >>> with blame("epsilon"):
    ...     Epsilon.of(-1)
    Traceback (most recent call last):
    ...
    tightrope.studio.asking.FieldError: ε must be positive, got -1
    """
    try:
        yield
    # The innermost field is the right one: do not blame the outer one instead.
    except FieldError:
        raise
    except TightropeError as refused:
        raise FieldError(field, str(refused)) from None


#: Most answers of a graph or prior that is uploaded.
UPLOADED_ANSWERS = 5_000


def refuse_files(field: str, text: str) -> None:
    """Refuse a text that names a file: links come from anybody, and must not open files here.

    >>> refuse_files("prior", "file:secret.csv")
    Traceback (most recent call last):
    ...
    tightrope.studio.asking.FieldError: files come in by upload here, got 'file:secret.csv'
    """
    # Threat: a link with file:/etc/passwd would show the content in an error message.
    if re.match(r"\s*(graph|points|file)\s*:", text, re.I):
        raise FieldError(
            field, f"files come in by upload here, got {text.strip()[:60]!r}"
        )


@functools.lru_cache(maxsize=16)
def query_of(question: str, graph: str, neighbours: str) -> Query:
    """Return the query that three fields of a state stand for.

    >>> query_of("cycle(5)", "", "change-one").graph.size
    5
    >>> query_of("", '{"edges": [[0, 1], [1, 2]]}', "change-one").text
    'graph:answers.json'
    """
    if not graph:
        refuse_files("question", question)
        with blame("question"):
            return query(question, neighbours=neighbours)
    # The readers take paths: the text goes through a private folder, removed afterwards.
    with _as_file("question", GRAPH_FILE, graph.encode()) as path:
        return Query(f"graph:{GRAPH_FILE}", read_graph(path), Neighbours.of(neighbours))


@contextmanager
def _as_file(field: str, name: str, data: bytes) -> Iterator[Path]:
    """Put content into a file for a while; errors about it name the file alone, not its folder."""
    with tempfile.TemporaryDirectory() as folder, blame(field):
        path = Path(folder, name)
        path.write_bytes(data)
        try:
            yield path
        except InputError as wrong:
            # The name of the temporary folder means nothing to the user.
            raise InputError(str(wrong).replace(f"{folder}/", "")) from None


def query_in(state: PageState) -> Query:
    """Return the query of a state.

    >>> query_in(PageState(question="sum(3,2)")).text
    'sum(3,2)'
    """
    return query_of(state.question, state.graph, state.neighbours)


def people_of(state: PageState) -> tuple[int, int]:
    """Return how many people there are, and how many values one may have.

    What the state does not say, the question does; where that does not say either, there are 100
    people with two values.

    >>> people_of(PageState(question="sum(20,3)")), people_of(PageState(individuals=7, values=4))
    ((20, 4), (7, 4))
    """
    if state.individuals and state.values:
        return state.individuals, state.values
    try:
        asked = query_in(state)
    except FieldError:
        return state.individuals or 100, state.values or 2
    known = 2 if asked.values is None else len(asked.values)
    absent = asked.neighbours.allows_absent and asked.values is not None
    # Absence is one more value an attacker has to guess among.
    return state.individuals or asked.individuals or 100, state.values or known + absent


def level_in(state: PageState) -> Epsilon:
    """Return the privacy level of a state.

    >>> str(level_in(PageState()))
    'ln(2)'
    """
    with blame("epsilon"):
        return Epsilon.of(state.epsilon)


def consumer_of(consumer: ConsumerText, query: Query) -> Consumer:
    """Return a consumer as the library's consumer.

    >>> consumer_of(ConsumerText("mayor", prior="binomial(.3)"), query_in(PageState()))
    <Bayesian consumer mayor: Prior over 6 answers, absolute loss>
    """
    refuse_files("prior", consumer.prior)
    refuse_files("loss", consumer.loss)
    with blame("loss"):
        cost = loss(consumer.loss or usual_loss(query), query.graph)
    known = "support" if consumer.is_risk_averse else "prior"
    belief: Any = {known: getattr(consumer, known)}
    with blame(known):
        return Consumer.of(query.graph, loss=cost, name=consumer.name, **belief)


def safe_name(name: str, fallback: str) -> str:
    r"""Return the last part of a file name without anything that a path could be made of.

    >>> safe_name("../../etc/passwd.csv", "x"), safe_name("C:\\a b.csv", "x")
    ('passwd.csv', 'a_b.csv')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    # The end of the name is kept, because it holds the ending; leading dots would hide the file.
    kept = re.sub(r"[^A-Za-z0-9._-]", "_", last)[-80:].lstrip(".")
    return kept or fallback


def graph_from_upload(name: str, data: bytes, kind: str) -> str:
    r"""Return an uploaded graph, or points with their distances, as the text of a JSON file.

    Parameters
    ----------
    name
        The name that the file had; its ending chooses the format.
    data
        What it holds.
    kind
        ``"graph"`` or ``"points"``.

    Examples
    --------
    >>> graph_from_upload("ring.csv", b"from,to\n0,1\n1,2\n2,0\n", "graph")
    '{"name": "ring", "nodes": [0, 1, 2], "edges": [[0, 1], [0, 2], [1, 2]]}'
    """
    with _as_file("question", safe_name(name, "graph.csv"), data) as path:
        found = read_graph(path) if kind == "graph" else read_points(path)
        if found.size > UPLOADED_ANSWERS:
            raise InputError(
                f"{path.name}: the page takes graphs of at most {UPLOADED_ANSWERS} answers, got "
                f"{found.size}: use the command line"
            )
        goal = path.with_name(GRAPH_FILE)
        write_graph(found, goal)
        return goal.read_text(encoding="utf-8")


def prior_from_upload(state: PageState, name: str, data: bytes) -> str:
    r"""Return an uploaded prior as a list of numbers.

    >>> prior_from_upload(PageState(question="path(2)"), "p.csv", b"0.25\n0.75\n")
    '1/4,3/4'
    """
    asked = query_in(state)
    with _as_file("prior", safe_name(name, "prior.csv"), data) as path:
        if asked.graph.size > UPLOADED_ANSWERS:
            raise InputError(
                f"the page takes priors over at most {UPLOADED_ANSWERS} answers"
            )
        found = prior(f"file:{path.name}", asked.graph, folder=str(path.parent))
        # Exact fractions, so that a uniform prior stays exactly uniform.
        return ",".join(str(share) for share in found.exact)
