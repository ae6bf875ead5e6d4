"""What the page asks of the library for the mechanism: design, compare, prove, verify.

Like :mod:`tightrope.studio.work`, these run in a process of their own and return plain values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tightrope.cli.output import plain
from tightrope.errors import InputError, TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.optimize import Design, design, explain_routes
from tightrope.proofs import prove
from tightrope.queries import Query
from tightrope.studio.asking import consumer_of, level_in, query_in
from tightrope.studio.refusal import Refused, blame
from tightrope.studio.state import State
from tightrope.studio.work import Drawing, Shown, drawing_of, name_of

#: Most answers for which every column graph is drawn.
COLUMN_GRAPHS = 40
#: Most numbers in a CSV file.
CSV_NUMBERS = 4_000_000

#: Told how far long work is; returns whether to stop with the best found so far.
Told = Callable[[Any], bool]


@dataclass(frozen=True)
class Compared:
    """One bar of the comparison: a loss, or why there is none.

    >>> Compared("geometric", 0.5).note
    ''
    """

    name: str
    loss: float | None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """The tight edges of one output, as places in the drawing, and the part of every node.

    >>> Column("0", ((0, 1),), (0, 0)).connected
    True
    """

    output: str
    edges: tuple[tuple[int, int], ...]
    parts: tuple[int, ...]

    @property
    def connected(self) -> bool:
        """Whether the tight edges reach every node."""
        return not any(self.parts)


@dataclass(frozen=True)
class Outcome:
    """A design and everything that the page draws of it.

    Attributes
    ----------
    state
        What was asked.
    json
        What ``tightrope design --json`` prints.
    is_binary
        Whether the loss counts wrong guesses.
    mechanism
        The mechanism file, or nothing.
    unproved
        Why there is no file, or nothing.
    compared
        The bars.
    general
        Whether the mechanism is maximally general, in words.
    columns
        The column graphs, where there are few answers.
    drawing
        The answer graph.
    design
        The design itself, for the report.

    Examples
    --------
    >>> make(State(question="choice(3)")).json["route"]
    'regular'
    """

    state: State
    json: dict[str, Any]
    is_binary: bool
    mechanism: bytes
    unproved: str
    compared: tuple[Compared, ...]
    general: str
    columns: tuple[Column, ...]
    drawing: Drawing
    design: Design


def make(state: State, told: Told | None = None) -> Outcome:
    """Design the mechanism, compare it with others, and prove it.

    >>> made = make(State())
    >>> [bar.name for bar in made.compared]
    ['bound', 'optimum', 'tight constraints', 'geometric', 'exponential']
    """
    from tightrope.channels import maximally_general

    asked, level = query_in(state), level_in(state)
    reader = consumer_of(state.reader, asked)
    with blame("route" if state.route else "design"):
        found = design(asked, level, reader, state.route or None, progress=told)
    if told is not None:
        told("proving")
    mechanism, unproved = b"", ""
    try:
        mechanism = _proved(found, asked, told)
    except TightropeError as refused:
        unproved = str(refused)
    bars = [Compared("bound", found.bound), Compared("optimum", found.expected_loss)]
    bars.append(_tight(asked.graph, level, reader))
    for name in ("geometric", "exponential"):
        value = found.baselines.get(name)
        bars.append(Compared(name, value, "" if value is not None else "not for this question"))
    try:
        general = maximally_general(found.general, asked.graph, level).maximal
        words = "maximally general" if general else "not maximally general"
    except TightropeError as refused:
        words = str(refused)
    drawing = drawing_of(asked.graph)
    data = {"query": asked.text, "neighbours": asked.neighbours.value, **found.as_dict()}
    return Outcome(
        state,
        plain(data),
        found.consumer.loss.is_binary,
        mechanism,
        unproved,
        tuple(bars),
        words,
        _columns(found.general, asked.graph, level),
        drawing,
        found,
    )


class _Stopped(Exception):
    """The proof of optimality is not waited for."""


def _proved(found: Design, asked: Query, told: Told | None) -> bytes:
    """Return the mechanism file; one whose work was stopped proves privacy, which is quick."""

    def tell(share: float) -> None:
        if told is not None and told(share):
            raise _Stopped

    if not found.stopped:
        try:
            return prove(found, asked, tell).to_bytes()
        except _Stopped:
            pass
    return prove(replace(found, certificate=None), asked).to_bytes()


def _tight(graph: AnswerGraph, level: Any, reader: Any) -> Compared:
    from tightrope.consumers import expected_loss
    from tightrope.mechanisms import tight_constraints

    if reader.risk_averse:
        return Compared("tight constraints", None, "not compared for a risk-averse reader")
    try:
        made = tight_constraints(graph, level)
        return Compared("tight constraints", float(expected_loss(made, reader)))
    except TightropeError as refused:
        return Compared("tight constraints", None, str(refused))


def _columns(channel: Any, graph: AnswerGraph, level: Any) -> tuple[Column, ...]:
    from tightrope.channels import column_graph

    if max(channel.shape) > COLUMN_GRAPHS:
        return ()
    made = []
    for output in range(channel.shape[1]):
        found = column_graph(channel, graph, level, output)
        ends = tuple((int(i), int(j)) for i, j in found.edges)
        made.append(
            Column(name_of(channel.output_label(output)), ends, tuple(found.parts.tolist()))
        )
    return tuple(made)


def routes(state: State) -> list[tuple[str, bool, str]]:
    """Return every route, whether it fits, and why.

    >>> routes(State())[0][:2]
    ('geometric', True)
    """
    asked, level = query_in(state), level_in(state)
    with blame("design"):
        return explain_routes(asked, level, consumer_of(state.reader, asked))


def universal(state: State) -> Shown:
    """Decide whether one mechanism serves everybody, as ``tightrope universal`` does.

    >>> universal(State(question="cycle(4)")).json["verdict"]
    'no'
    """
    from tightrope.axioms import Refutation, universality

    asked, level, reader = query_in(state), level_in(state), state.reader
    kind = "risk-averse" if reader.is_risk_averse else "bayesian"
    with blame("universal"):
        found = universality(asked, level, reader.loss, kind=kind)
    data = {"verdict": found.verdict, "reason": found.reason, "theorem": found.theorem}
    if isinstance(found.witness, Refutation):
        data["supports"] = [list(nodes) for nodes in found.witness.supports]  # type: ignore[assignment]
        data["losses"] = [float(lost) for lost in found.witness.optimal_losses]  # type: ignore[assignment]
    elif found.witness is not None:
        data["mechanism"] = found.witness.name
    return Shown(plain(data), {}, drawing_of(asked.graph))


def judge(mechanism: bytes) -> dict[str, Any]:
    """Verify a mechanism file in integers, as ``tightrope verify`` does.

    >>> judge(make(State()).mechanism)["private"]
    True
    """
    from tightrope.certify import verify

    told: dict[str, Any] = plain(verify(mechanism).as_dict())
    return told


def matrix_csv(mechanism: bytes) -> str:
    """Return the probabilities of a mechanism as CSV, as exact fractions.

    >>> print(matrix_csv(make(State(question="choice(2)", epsilon="ln(3)")).mechanism)[:7])
    ,0,1
    0,
    """
    import csv
    import io

    from tightrope.certify import Mechanism

    opened = Mechanism(mechanism)
    rows, outputs = opened.shape
    if rows * outputs > CSV_NUMBERS:
        raise Refused("csv", f"a table of {rows} by {outputs} numbers is too large for a CSV file")
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["", *(name_of(opened.output_label(o)) for o in range(outputs))])
    for i in range(rows):
        weights = opened.row_weights(i).tolist()
        table.writerow([name_of(opened.input_label(i)), *(f"{w}/{opened.total}" for w in weights)])
    return out.getvalue()


def report_html(design: Design) -> str:
    """Return one page about a design that needs nothing but itself.

    >>> report_html(make(State(question="choice(3)")).design)[:15]
    '<!doctype html>'
    """
    from tightrope.report import html_report

    with blame("csv"):
        return html_report(design)


def opened(data: bytes, name: str) -> dict[str, Any]:
    """Return what an uploaded mechanism file says of itself, and whether that holds.

    >>> opened(make(State()).mechanism, "m.tightrope")["query"]
    'count(5)'
    """
    from tightrope.certify import Mechanism

    found = judge(data)
    if found["private"]:
        try:
            made = Mechanism(data)
            found["query"], found["epsilon"] = made.query, str(made.epsilon)
        except InputError as wrong:
            raise Refused("verify", str(wrong)) from None
    return {"name": name, **found}
