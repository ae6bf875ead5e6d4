"""What the page asks of the library before there is a mechanism, one function for each thing.

These run in a process of their own: they take a state and return plain values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tightrope.cli.output import plain
from tightrope.graphs import AnswerGraph
from tightrope.studio.asking import consumer_of, level_in, query_in
from tightrope.studio.refusal import blame
from tightrope.studio.state import State

#: Most answers that are drawn whole, and how many are drawn of a larger graph.
DRAWN, DRAWN_OF_MANY = 120, 40


@dataclass(frozen=True)
class Drawing:
    """A graph on paper: names, places and edges; ``total`` counts what is not drawn too.

    >>> drawing_of(query_in(State(question="cycle(3)")).graph).names
    ('0', '1', '2')
    """

    nodes: tuple[int, ...]
    names: tuple[str, ...]
    points: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int], ...]
    total: int


@dataclass(frozen=True)
class Shown:
    """A result: what a command prints as JSON, rows for a person, and a drawing.

    >>> question_facts(State(question="cycle(3)")).rows["answers"]
    '3'
    """

    json: dict[str, Any]
    rows: dict[str, str]
    drawing: Drawing | None = None


def drawing_of(graph: AnswerGraph) -> Drawing:
    """Place the answers of a graph.

    >>> drawing_of(query_in(State(question="path(2)")).graph).edges
    ((0, 1),)
    """
    from tightrope.report.layouts import layout, nearest_part

    limit = DRAWN if graph.size <= DRAWN else DRAWN_OF_MANY
    nodes, edges = nearest_part(graph, 0, limit)
    points = layout(graph, nodes, edges, spread=True)
    return Drawing(
        tuple(nodes),
        tuple(name_of(graph.label(node)) for node in nodes),
        tuple((float(x), float(y)) for x, y in points),
        tuple(edges),
        graph.size,
    )


def name_of(label: Any) -> str:
    """Return an answer as text.

    >>> name_of((1, 2)), name_of("a")
    ('1,2', 'a')
    """
    return ",".join(map(str, label)) if isinstance(label, tuple) else str(label)


def question_facts(state: State) -> Shown:
    """Return the facts of the answer graph, as ``tightrope graph`` does, and its drawing.

    >>> question_facts(State(question="cycle(5)")).json["diameter"]
    2
    """
    from tightrope.graphs.facts import graph_facts

    asked = query_in(state)
    with blame("question"):
        facts = graph_facts(asked.graph)
        data = {"query": asked.text, "neighbours": asked.neighbours.value, **facts.as_dict()}
        return Shown(plain(data), facts.sentences(), drawing_of(asked.graph))


def existence(state: State) -> dict[str, Any]:
    """Return for which ε the tight-constraints mechanism exists, as ``tightrope exists`` does.

    >>> existence(State(question="star(3)"))["intervals"]
    [[0.6931471805599453, None]]
    """
    from tightrope.phi import exists

    asked = query_in(state)
    with blame("question"):
        found = exists(asked.graph)
    data = {"query": asked.text, **vars(found), "minimum": found.minimum}
    told: dict[str, Any] = plain({**data, "up_set": found.is_up_set})
    return told


def level_words(state: State) -> Shown:
    """Say what ε means, as ``tightrope explain`` does.

    >>> level_words(State()).json["attacker_success"]
    0.6666666666666666
    """
    from tightrope.leakage.explain import explain

    level = level_in(state)
    with blame("people"):
        found = explain(epsilon=level, individuals=state.individuals, values=state.values)
    return Shown(plain(found.as_dict()), dict(enumerate(found.sentences)))  # type: ignore[arg-type]


def prior_facts(state: State) -> Shown:
    """Say whether the reader's prior is regular and what follows, as ``tightrope regular`` does.

    >>> prior_facts(State(question="clique(4)")).json["regular"]
    True
    """
    from tightrope.consumers import prior, regularity

    asked, level = query_in(state), level_in(state)
    consumer_of(state.reader, asked)
    with blame("prior"):
        known = prior(state.reader.prior, asked.graph)
        found = regularity(known, asked.graph, level)
        shares = known.probabilities if asked.graph.size <= 2_000 else ()
    data = {
        "regular": found.regular,
        "certain": found.certain,
        "margin": found.margin,
        "utility_bound": found.utility_bound,
        "leakage_bound_bits": found.leakage_bound_bits,
        "probabilities": shares,
    }
    sure = "" if found.certain else " (not proven: see the margin)"
    rows = {
        "ε-regular": ("yes" if found.regular else "no") + sure,
        "smallest entry of y": f"{found.margin:.6g}",
        "no mechanism is right more often than": f"{found.utility_bound:.6g}",
        "no mechanism leaks more than": f"{found.leakage_bound_bits:.6g} bits",
    }
    return Shown(plain(data), rows)


def check_reader(state: State) -> None:
    """Refuse a reader that does not fit the question, naming the field.

    >>> from tightrope.studio.state import Reader
    >>> check_reader(State(readers=(Reader(support="0..9"),)))
    Traceback (most recent call last):
    ...
    tightrope.studio.refusal.Refused: ...
    """
    consumer_of(state.reader, query_in(state))


def corners(state: State) -> list[list[float]]:
    """Return the corner priors, whose convex combinations are the regular ones.

    >>> corners(State(question="clique(3)"))[0]
    [0.5, 0.25, 0.25]
    """
    from tightrope.consumers import corner_prior

    graph, level = query_in(state).graph, level_in(state)
    made = (corner_prior(graph, level, i) for i in range(graph.size))
    return [prior.probabilities.tolist() for prior in made]


def regrets(state: State) -> dict[str, Any]:
    """Return what each reader loses with the first reader's mechanism and with a common one.

    >>> from tightrope.studio.state import Reader
    >>> two = (Reader("a"), Reader("b", loss="absolute"))
    >>> regrets(State(question="path(3)", readers=two))["common"]["worst_regret"]
    0.0
    """
    from tightrope.consumers import expected_loss
    from tightrope.optimize import design, design_many

    asked, level = query_in(state), level_in(state)
    readers = [consumer_of(reader, asked) for reader in state.readers]
    with blame("regret"):
        common = design_many(asked, level, readers)
        first = design(asked, level, readers[0]).general
        losses = [float(expected_loss(first, reader)) for reader in readers]
    told: dict[str, Any] = plain({"common": common.as_dict(), "first": losses})
    return told
