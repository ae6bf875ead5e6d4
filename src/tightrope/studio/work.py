"""What the page asks of the library, one function for each thing it shows.

They run in a process of their own: they take a state or a mechanism file, and return values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from tightrope.axioms import Refutation, universality
from tightrope.certify import Mechanism, verify
from tightrope.channels import Channel, column_graph, maximally_general
from tightrope.channels.files import channel_text
from tightrope.channels.generality import ColumnGraph
from tightrope.claims import file_sentence
from tightrope.consumers import expected_loss, regularity
from tightrope.consumers.regular import region_corners
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.symmetry import graph_facts
from tightrope.leakage.bounds import explain
from tightrope.mechanisms import tight_constraints
from tightrope.optimize import Design, design, design_many, explain_routes
from tightrope.phi import exists
from tightrope.progress import Progress, ProgressCallback
from tightrope.proofs import prove
from tightrope.publish.noise import noise_of
from tightrope.queries import Query
from tightrope.report import texts
from tightrope.report.drawings import (
    GraphDrawing,
    HeatMap,
    HeatWindow,
    graph_drawing,
    heat_map,
)
from tightrope.report.texts import label_text, plain
from tightrope.studio.asking import (
    FieldError,
    blame,
    consumer_of,
    level_in,
    people_of,
    query_in,
)
from tightrope.studio.state import PageState


@dataclass(frozen=True)
class Shown:
    """A result: what a command prints as JSON, rows for a person, and a drawing.

    >>> question_facts(PageState(question="cycle(3)")).rows["answers"]
    '3'
    """

    json: dict[str, Any]
    rows: dict[str, str]
    drawing: GraphDrawing | None = None


def drawing_of(graph: AnswerGraph) -> GraphDrawing:
    """Place the answers of a graph: all of a small one, a few of a large one."""
    # Force layouts of more nodes are slow and unreadable: show a neighbourhood instead.
    return graph_drawing(graph, limit=120 if graph.size <= 120 else 40, spread=True)


def question_facts(state: PageState) -> Shown:
    """Return the facts of the answer graph, as ``tightrope graph`` does, and its drawing.

    >>> question_facts(PageState(question="cycle(5)")).json["diameter"]
    2
    """
    asked = query_in(state)
    with blame("question"):
        facts = graph_facts(asked.graph)
        data = {**texts.about_query(asked), **facts.as_dict()}
        return Shown(plain(data), facts.sentences(), drawing_of(asked.graph))


def existence(state: PageState) -> dict[str, Any]:
    """Return for which ε the tight-constraints mechanism exists, as ``tightrope exists`` does.

    >>> existence(PageState(question="star(3)"))["intervals"]
    [[0.6931471805599453, None]]
    """
    asked = query_in(state)
    with blame("question"):
        found = exists(asked.graph)
    return cast(dict[str, Any], plain(texts.existence_data(asked, found)))


def level_words(state: PageState) -> dict[str, Any]:
    """Say what ε means, as ``tightrope explain`` does.

    >>> level_words(PageState())["attacker_success"]
    0.6666666666666666
    """
    level = level_in(state)
    individuals, values = people_of(state)
    with blame("people"):
        found = explain(epsilon=level, individuals=individuals, values=values)
    return cast(dict[str, Any], plain(found.as_dict()))


def prior_facts(state: PageState) -> Shown:
    """Say whether the consumer's prior is regular and what follows, as ``tightrope regular`` does.

    >>> prior_facts(PageState(question="clique(4)")).json["regular"]
    True
    """
    asked = query_in(state)
    level = level_in(state)
    known = consumer_of(state.consumer, asked).prior
    with blame("prior"):
        found = regularity(known, asked.graph, level)
        # Long lists are not sent to the browser.
        shares = known.probabilities if asked.graph.size <= 2_000 else ()
    data = {**texts.regularity_data(found), "probabilities": shares}
    return Shown(plain(data), texts.regularity_rows(found))


def check_consumer(state: PageState) -> None:
    """Refuse a consumer that does not fit the question, naming the field.

    >>> from tightrope.studio.state import ConsumerText
    >>> check_consumer(PageState(consumers=(ConsumerText(support="0..9"),)))
    Traceback (most recent call last):
    ...
    tightrope.studio.asking.FieldError: ...
    """
    consumer_of(state.consumer, query_in(state))


def corners(state: PageState) -> list[list[float]]:
    """Return the corner priors, whose convex combinations are the regular ones.

    >>> corners(PageState(question="clique(3)"))[0]
    [0.5, 0.25, 0.25]
    """
    found = region_corners(query_in(state).graph, level_in(state)).tolist()
    return cast(list[list[float]], found)


def regrets(state: PageState) -> dict[str, Any]:
    """Return what each consumer loses with the first consumer's mechanism and with a common one.

    >>> from tightrope.studio.state import ConsumerText
    >>> two = (ConsumerText("a"), ConsumerText("b", loss="absolute"))
    >>> regrets(PageState(question="path(3)", consumers=two))["common"]["worst_regret"]
    0.0
    """
    asked = query_in(state)
    level = level_in(state)
    consumers = [consumer_of(consumer, asked) for consumer in state.consumers]
    with blame("regret"):
        # min max regret over all mechanisms, and the mechanism of the first consumer beside it.
        common = design_many(asked, level, consumers)
        first = design(asked, level, consumers[0]).general
        losses = [float(expected_loss(first, consumer)) for consumer in consumers]
    answer = {"common": common.as_dict(), "first": losses}
    return cast(dict[str, Any], plain(answer))


# -- the mechanism -----------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """One bar of the comparison: a loss, or why there is none."""

    name: str
    loss: float | None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """A design and everything that the page draws of it.

    Attributes
    ----------
    state
        What was asked.
    json
        What ``tightrope design --json`` prints.
    mechanism
        The mechanism file, or nothing.
    unproved
        Why there is no file, or nothing.
    compared
        The bars.
    general
        Whether the mechanism is maximally general, in words.
    columns
        The names and column graphs of the outputs, where there are few answers.
    drawing
        The answer graph.
    design
        The design itself, for the report.

    Examples
    --------
    >>> make(PageState(question="choice(3)")).json["route"]
    'regular'
    """

    state: PageState
    json: dict[str, Any]
    mechanism: bytes
    unproved: str
    compared: tuple[Compared, ...]
    general: str
    columns: tuple[tuple[str, ColumnGraph], ...]
    drawing: GraphDrawing
    design: Design

    @property
    def is_binary(self) -> bool:
        """Whether the loss counts wrong guesses."""
        return self.design.consumer.loss.is_binary


def make(state: PageState, progress: ProgressCallback | None = None) -> Outcome:
    """Design the mechanism, compare it with others, and prove it.

    >>> made = make(PageState())
    >>> [bar.name for bar in made.compared]
    ['bound', 'optimum', 'tight constraints', 'geometric', 'exponential']
    """
    asked = query_in(state)
    level = level_in(state)
    consumer = consumer_of(state.consumer, asked)
    # A forced route that does not fit is the route's fault, not the question's.
    with blame("route" if state.route else "design"):
        found = design(asked, level, consumer, state.route or None, progress=progress)
    if progress is not None:
        progress(Progress("proving"))
    mechanism = b""
    unproved = ""
    try:
        mechanism = _proved(found, asked, progress)
    # A design without a file is still shown: the loss is known, the proof is not.
    except TightropeError as refused:
        unproved = str(refused)
    bars = [Compared("bound", found.bound), Compared("optimum", found.expected_loss)]
    bars.append(_tight(asked.graph, level, consumer))
    for name in ("geometric", "exponential"):
        value = found.baselines.get(name)
        bars.append(
            Compared(name, value, "" if value is not None else "not for this question")
        )
    try:
        # Generality is judged of the mechanism before its remap, which every consumer gets.
        general = maximally_general(found.general, asked.graph, level).maximal
        words = "maximally general" if general else "not maximally general"
    except TightropeError as refused:
        words = str(refused)
    data = found.as_dict()
    columns = _columns(found.general, asked.graph, level)
    return Outcome(
        state, plain({**texts.about_query(asked), **data}), mechanism, unproved, tuple(bars), words,
        columns, drawing_of(asked.graph), found,
    )  # fmt: skip


class _Stopped(Exception):
    """The proof of optimality is not waited for."""


def _proved(found: Design, asked: Query, progress: ProgressCallback | None) -> bytes:
    """Return the mechanism file; one whose work was stopped proves privacy, which is quick."""

    def report(now: Progress) -> None:
        if progress is not None and progress(now):
            raise _Stopped

    # A stopped design has no certificate to prove; privacy is proved all the same.
    if not found.stopped:
        try:
            return prove(found, asked, report).to_bytes()
        except _Stopped:
            pass
    # Without certificate: only feasibility in integers is checked, which takes no solver.
    return prove(replace(found, certificate=None), asked).to_bytes()


def _tight(graph: AnswerGraph, level: Any, consumer: Any) -> Compared:
    if consumer.risk_averse:
        return Compared(
            "tight constraints", None, "not compared for a risk-averse consumer"
        )
    try:
        made = tight_constraints(graph, level)
        return Compared("tight constraints", float(expected_loss(made, consumer)))
    except TightropeError as refused:
        return Compared("tight constraints", None, str(refused))


def _columns(
    channel: Channel, graph: AnswerGraph, level: Any, most: int = 40
) -> tuple[tuple[str, ColumnGraph], ...]:
    """Return every column graph, where there are few."""
    # A drawing for each output is only readable for a few.
    drawn = channel.shape[1] if max(channel.shape) <= most else 0
    outputs = range(drawn)
    return tuple(
        (label_text(channel.output_label(o)), column_graph(channel, graph, level, o))
        for o in outputs
    )


def routes(state: PageState) -> list[tuple[str, bool, str]]:
    """Return every route, whether it fits, and why.

    >>> routes(PageState())[0][:2]
    ('geometric', True)
    """
    asked = query_in(state)
    level = level_in(state)
    with blame("design"):
        return explain_routes(asked, level, consumer_of(state.consumer, asked))


def universal(state: PageState) -> Shown:
    """Decide whether one mechanism serves everybody, as ``tightrope universal`` does.

    >>> universal(PageState(question="cycle(4)")).json["verdict"]
    'no'
    """
    asked = query_in(state)
    level = level_in(state)
    consumer = state.consumer
    kind = "risk-averse" if consumer.is_risk_averse else "bayesian"
    with blame("universal"):
        # For all consumers of this kind and loss, not just the one on the page.
        found = universality(asked, level, state.loss_of(consumer), kind=kind)
    data = {"verdict": found.verdict, "reason": found.reason, "theorem": found.theorem}
    if isinstance(found.witness, Refutation):
        data["supports"] = [list(nodes) for nodes in found.witness.supports]  # type: ignore[assignment]
        data["losses"] = [float(lost) for lost in found.witness.optimal_losses]  # type: ignore[assignment]
    elif found.witness is not None:
        data["mechanism"] = found.witness.name
    return Shown(plain(data), {}, drawing_of(asked.graph))


def judge(mechanism: bytes) -> dict[str, Any]:
    """Verify a mechanism file in integers, as ``tightrope verify`` does.

    >>> judge(make(PageState()).mechanism)["private"]
    True
    """
    found = verify(mechanism)
    data = found.as_dict()
    if found.private:
        data["claim"] = file_sentence(Mechanism(mechanism), found)
    return cast(dict[str, Any], plain(data))


def heat_of(
    mechanism: bytes, window: HeatWindow | None = None
) -> tuple[HeatMap, tuple[tuple[str, ...], ...], tuple[tuple[float, float], ...]]:
    """Return the picture of a mechanism file, or of a window of it, and the fractions behind it.

    There are no fractions behind a reduced picture, whose numbers are the largest of their
    blocks: there is the noise around an answer in the middle instead.

    >>> asked = PageState(question="choice(2)", epsilon="ln(3)")
    >>> heat, exact, noise = heat_of(make(asked).mechanism)
    >>> heat.rows, exact[0][0].partition("/2^")[1], noise
    (('0', '1'), '/2^', ())
    """
    opened = Mechanism(mechanism)
    heat = heat_map(opened.channel(), window)
    # A block shows its largest entry, for which there is no single fraction.
    if heat.is_reduced:
        return heat, (), noise_of(opened).differences()
    top, bottom, left, right = heat.window
    rows = (
        opened.row_weights(i)[left : right + 1].tolist() for i in range(top, bottom + 1)
    )
    # Weights over a power of two are the exact probabilities.
    return (
        heat,
        tuple(tuple(f"{weight}/2^{opened.bits}" for weight in row) for row in rows),
        (),
    )


def matrix_csv(mechanism: bytes, most: int = 4_000_000) -> str:
    """Return the probabilities of a mechanism as CSV, as exact fractions.

    >>> print(matrix_csv(make(PageState(question="choice(2)", epsilon="ln(3)")).mechanism)[:7])
    ,0,1
    0,
    """
    opened = Mechanism(mechanism)
    rows, outputs = opened.shape
    if rows * outputs > most:
        raise FieldError(
            "csv", f"a table of {rows} by {outputs} numbers is too large for a CSV file"
        )
    return channel_text(opened.channel())


def report_html(design: Design) -> str:
    """Return one page about a design that needs nothing but itself.

    >>> report_html(make(PageState(question="choice(3)")).design)[:15]
    '<!doctype html>'
    """
    from tightrope.report.page import html_report

    with blame("csv"):
        return html_report(design)
