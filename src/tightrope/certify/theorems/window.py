r"""A window: a mechanism for the answers start … start + size - 1 of a line.

*Theorem.* Let an answer before the window count as its first, one behind it as its last. What is
private on the window is then private. If the prior lies in the window, the bound of the window
is one for the question.

*Proof.* To count an answer as the nearest in the window increases no distance. A private column
restricted to the window is private there, and a guess outside costs no less than the nearest one
inside. ∎

Of a listed graph that needs two facts: neighbours are at most v apart, and in the window all who
are at most v apart are neighbours.

The prior may be a law with a name: ``π(k+1)/π(k)`` is a fraction that falls with k. From the
largest value outwards every one is computed to 2^-128; the window must hold all of the law but
2^-40.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.format import (
    OPTIONS,
    PRIORS,
    Array,
    Header,
    Option,
    fraction,
    need,
    need_work,
    record,
    registered,
    whole,
)
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.kernel.weights import AnyWeights, Weights

for law in ("binomial", "geometric", "poisson"):
    PRIORS[law] = {"number": fraction(0, 60)}


@registered(OPTIONS, "window")
class WindowOption(Option):
    """The answers from ``start`` on, so many."""

    rule: ClassVar = staticmethod(
        record(start=whole(0, 1 << 62), size=whole(1, 1 << 31))
    )

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop unless the window is for rows, or for the prior of noise on a line."""
        window = header["window"]
        consumer = header["consumer"]
        rows = header["weights"]["kind"] not in ("lattice", "scores", "tuples")
        stretched = (header["certificate"] or {}).get("kind") == "stretched"
        wanted = "weights of single answers, or for the prior of noise on a line"
        need(window is None or rows or stretched, f"a window is for {wanted}")
        named = window is None or header["query"] is not None
        need(named, "a window belongs to a question with a name")
        if consumer is None:
            return
        law = None if consumer["prior"] is None else consumer["prior"]["kind"]
        # Of answers outside a window nothing may be said but that they are impossible.
        alone = law not in (None, "uniform") and header["limit"] is None
        alone = alone and consumer["support"] is None
        sound = window is None or (alone and consumer["loss"]["kind"] != "listed")
        need(sound, "a window is for a prior of its own and a loss with a name")
        inside = window is not None or law in (None, "uniform", "listed")
        need(inside, "a prior by its name lies in a window")

    @classmethod
    def restrict(cls, header: Header, graph: Graph) -> Graph:
        """Return the part of the line that the weights are for."""
        return window_graph(graph, **header["window"])

    @classmethod
    def restriction_words(cls, header: Header, weights: AnyWeights) -> tuple[str, ...]:
        """Return in words which answers count as which."""
        if not isinstance(weights, Weights):
            return ()
        start = header["window"]["start"]
        last = start + header["window"]["size"] - 1
        return (f"answers count as the nearest of {start} … {last}",)

    @classmethod
    def named_prior(cls, header: Header, nodes: int) -> Array:
        """Return the law that a header names on its window."""
        law = header["consumer"]["prior"]
        window = header["window"]
        return named_prior(
            law["kind"], law["number"], nodes, window["start"], window["size"]
        )


def window_graph(graph: Graph, start: int, size: int) -> Graph:
    """Return the part of a line that a mechanism is made for.

    >>> window_graph(Graph("box", 9, ((9, 2),)), 4, 3).label(0)
    4
    """
    if graph.form == "list":
        graph = replace(
            graph, sides=((graph.nodes, _width_within(graph, start, size)),)
        )
    line = graph.form in ("box", "capped", "list") and len(graph.sides) == 1
    # The last answers of a capped line lack edges, so no window may reach them.
    last = graph.nodes - (graph.sides[0][1] if graph.form == "capped" else 0)
    inside = line and start + size <= last
    need(inside, "a window must be a part of a line of answers")
    wide = max(1, min(graph.sides[0][1], size - 1))
    name = graph.label
    part = Graph("box", size, ((size, wide),), label=lambda i: name(i + start))
    if graph.line is not None:
        part.line = graph.line[0] + start * graph.line[1], graph.line[1]
    return part


def _width_within(graph: Graph, start: int, size: int) -> int:
    """Return how far apart neighbours are on a listed line, all of whom are joined in a window."""
    width = int(np.diff(graph.edges).max(initial=1))
    inside = ((graph.edges >= start) & (graph.edges < start + size)).all(axis=1)
    # So many answers of the window are at most v behind each of its answers.
    wanted = np.minimum(np.arange(size), width).sum()
    whole = int(inside.sum()) == wanted and len(graph.lengths) == 1
    sound = whole and graph.line is not None
    need(sound, "a window of listed answers needs all edges of a line")
    return width


@lru_cache(maxsize=2)
def named_prior(
    kind: str, number: Fraction, nodes: int, start: int, size: int
) -> Array:
    """Return a law with a name on a window of the answers, in units of 2^-61.

    >>> [x >> 57 for x in named_prior("geometric", Fraction(1, 2), 1000, 0, 90)[:3]]
    [8, 4, 2]
    """
    p = number.numerator
    q = number.denominator
    end = start + size
    sound = kind == "poisson" or 0 < number < 1
    need(sound, f"the {kind} prior needs a number between 0 and 1")
    need(end <= nodes, "the prior reaches beyond the answers")
    need_work("the prior", size, 600, 200 * size)

    def ratio(k: int) -> tuple[int, int]:
        """Return π(k+1)/π(k) as numerator and denominator."""
        if kind == "binomial":
            # Binomial: (n - k)·p / ((k + 1)·(1 - p)).
            return (nodes - 1 - k) * p, (k + 1) * (q - p)
        return (q - p, q) if kind == "geometric" else (p, q * (k + 1))

    def falls(k: int) -> bool:
        up, down = ratio(k)
        return up < down

    def times(weight: int, part: tuple[int, int]) -> int:
        return weight * part[0] // part[1]

    # The ratio falls with k, so the mode is the first k where it is below 1.
    mode = bisect_left(range(start, end - 1), True, key=falls) + start
    below = (ratio(k)[::-1] for k in range(mode - 1, start - 1, -1))
    # Outwards from the mode each value is the one before times a ratio below 1.
    left = [*accumulate(below, times, initial=1 << 128)]
    right = accumulate(map(ratio, range(mode, end - 1)), times, initial=1 << 128)
    weights = [*left[:0:-1], *right]
    total = sum(weights)
    # What lies outside is at most the geometric series of the ratio at each end.
    rest = 0
    ends = (weights[0], start - 1, start > 0), (weights[-1], end - 1, end < nodes)
    for edge, k, outside in ends:
        up, down = sorted(ratio(k)) if outside else (0, 1)
        inwards = not outside or falls(k) == (k >= start)
        need(inwards and up < down, "the prior does not lie in the window")
        # x·r + x·r² + … = x·r/(1 - r), with one unit more for the rounding.
        rest += (edge + 1) * up // (down - up) + 1
    need(rest << 40 <= total, "the prior does not lie in the window")
    # Rounded down to multiples of 2^-61.
    units = [(x << 61) // total for x in weights]
    # The mode absorbs the rounding, so that the sum is exactly 1.
    units[mode - start] += (1 << 61) - sum(units)
    return np.array(units, object)
