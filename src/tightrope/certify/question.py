"""The graph that a question owns, as the judge reads it.

A mechanism file for a named question holds no graph. Its text must be canonical, the one
spelling that ``query(text).text`` gives back; answers, labels and neighbours follow from it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.certify.judge import Graph, Refused, even_line, listed_graph, need
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.lines import CappedPathPower
from tightrope.queries import Query
from tightrope.queries.text import named


def named_query(text: str, relation: str) -> Query:
    """Return the query of a canonical text; no file is ever opened.

    >>> named_query("sum(10, 5)", "change-one")
    Traceback (most recent call last):
    ...
    tightrope.certify.judge.Refused: question: 'sum(10, 5)' is not the canonical text of a question
    """
    try:
        found = named(text, relation)
    except InputError as wrong:
        raise Refused(f"question: {wrong}") from None
    need(found.text == text, f"question: {text[:60]!r} is not the canonical text of a question")
    return found


def derived_graph(text: str, relation: str) -> Graph:
    """Derive answers, labels and neighbours from the text of a question.

    >>> derived_graph("counts(30,2)", "change-one").sides
    ((31, 1), (31, 1))
    """
    return judged_graph(named_query(text, relation).graph)


def canonical_text(asked: Query) -> str | None:
    """Return the text of a question if it owns the graph of this query, else ``None``.

    >>> from tightrope.graphs import ExplicitGraph, PathPower
    >>> from tightrope.queries import query
    >>> canonical_text(query(PathPower(6))), canonical_text(query(ExplicitGraph([(0, 1)])))
    ('path(6)', None)
    """
    try:
        owner = named_query(asked.text, asked.neighbours.value)
    except Refused:
        return None
    return asked.text if owner.graph.difference(asked.graph) is None else None


def judged_graph(graph: AnswerGraph, by_rule: bool = True) -> Graph:
    """Return an answer graph as the judge reads it: by rule where it may and has one, else listed.

    >>> from tightrope.graphs import CartesianProduct, Clique, Cycle
    >>> judged_graph(Cycle(7)).form, judged_graph(CartesianProduct([Clique(4)] * 2)).form
    ('ring', 'product')
    """
    label: Any = graph.label
    shape = graph_sides(graph) if by_rule else None
    if shape is not None:
        form, sides = shape
        found = Graph(form, graph.size, sides, label=label)
        rule = graph.label_rule
        if rule is not None and rule[0] == "steps":
            found.line = Fraction(rule[1]), Fraction(rule[2])
        elif rule is None:
            found.line = even_line(found)
        return found
    # More answers than that no solver lists: there a mechanism is for a window.
    if (
        by_rule
        and graph.power is None
        and isinstance(graph, CappedPathPower)
        and graph.size > 1 << 12
    ):
        found = Graph("capped", graph.size, ((graph.size, graph.longest_edge()[1]),), label=label)
        found.line = Fraction(0), Fraction(1)
        return found
    large = graph.size >= 1 << 20 or graph.edge_count >= 1 << 22
    need(
        not large,
        f"too large: {graph.name} has {graph.size} answers that no rule of the judge describes",
    )
    edges = np.sort(graph.edge_array(), axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    measured = graph.edge_lengths()[order].tolist()
    different = [1.0, *sorted(set(measured) - {1.0})]
    place = {length: number for number, length in enumerate(different)}
    which = np.array([place[length] for length in measured], np.int64)
    lengths = [Fraction(repr(float(length))) for length in different]
    return listed_graph(graph.size, edges[order], which, lengths, label)


def graph_sides(graph: AnswerGraph) -> tuple[str, tuple[tuple[int, int], ...]] | None:
    """Return form and sides of a graph that the judge knows by rule, else ``None``.

    >>> from tightrope.graphs import Clique, PathPower
    >>> graph_sides(PathPower(751, 5)), graph_sides(Clique(4))
    (('box', ((751, 5),)), ('box', ((4, 3),)))
    """
    if graph.box is not None:
        return "box", tuple(
            (size, max(1, min(wide, size - 1))) for size, wide in graph.box or ((1, 1),)
        )
    if graph.is_ring:
        return "ring", ((graph.size, 1),)
    if graph.product == "cartesian" and len(graph.factors) <= 64:
        boxes = [factor.box for factor in graph.factors]
        # The judge sums Φ up along paths and cliques; sides of one answer say nothing.
        if all(box is not None and len(box) <= 1 for box in boxes):
            sides = tuple(box[0] for box in boxes if box)
            if all(wide == 1 or wide >= size - 1 for size, wide in sides):
                return ("product", sides) if len(sides) > 1 else ("box", sides or ((1, 1),))
    return None
