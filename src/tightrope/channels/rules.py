r"""Channels that know their worst place, whatever their size.

* *Geometric.* :math:`|\ln X[i,o] - \ln X[h,o]| = s\,\bigl||i-o|-|h-o|\bigr| \le s|i-h|` for the
  step level s, with equality at o = i. So the smallest ε is s times the longest reach of an
  edge along the line (divided by its length).
* *Scaled Φ on its own graph.* The ratio is :math:`e^{\varepsilon(d(h,o)-d(i,o))} \le
  e^{\varepsilon d(i,h)}`, with equality at o = i. Where :math:`z_i > 0`, the shortest edge at i
  is a shortest path, so the smallest ε is exactly the channel's own.
* *Product on a Cartesian product.* An edge moves one coordinate and the other factors cancel:
  the worst factor decides. On a *strong* product all coordinates may move at once: the
  ratios multiply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tightrope.channels.base import Channel
from tightrope.channels.structured import GeometricChannel, KroneckerChannel, ScaledPhi
from tightrope.channels.worst import NOWHERE, Worst, search
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph


def worst_places(channel: Channel, graph: AnswerGraph) -> list[Worst]:
    """Return the worst places of a channel, by rule where there is one.

    One place for each length of edge or factor; the largest level is the smallest ε.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> band = PathPower(1_000_001, 5)
    >>> worst_places(GeometricChannel(1_000_001, "1", width=5), band)[0].edge
    (0, 5)
    """
    if graph.size == 1:
        return [NOWHERE]
    if isinstance(channel, GeometricChannel):
        return [_geometric(channel, graph)]
    if isinstance(channel, ScaledPhi) and _is_own(channel, graph):
        return [_scaled_phi(channel)]
    if isinstance(channel, KroneckerChannel) and _factors_match(channel, graph):
        return (
            _cartesian(channel, graph)
            if graph.product == "cartesian"
            else [_strong(channel, graph)]
        )
    return search(channel, graph)


def _is_own(channel: ScaledPhi, graph: AnswerGraph) -> bool:
    """Whether a graph is the channel's own, as far as that is easily seen."""
    own = channel.graph
    return own.rule == graph.rule and own.same_as(graph)


def _geometric(channel: GeometricChannel, graph: AnswerGraph) -> Worst:
    i, h, length = graph.longest_edge()
    times = Fraction(h - i, channel.width) / Fraction(repr(length))
    ratio = _exp(channel.step * (h - i))
    return Worst((i, h), i, ratio, length, (times, channel.epsilon))


def _scaled_phi(channel: ScaledPhi) -> Worst:
    graph = channel.graph
    i = 0 if channel.constant_scale is not None else int((channel.scale > 0).argmax())
    near = graph.neighbours(i)
    lengths = [graph.distance(i, int(h)) for h in near] if graph.has_lengths else [1.0]
    k = int(np.argmin(lengths))
    ratio = _exp(float(channel.epsilon) * lengths[k])
    rule = (Fraction(1), channel.epsilon)
    return Worst((i, int(near[k])), i, ratio, float(lengths[k]), rule)


def _factors_match(channel: KroneckerChannel, graph: AnswerGraph) -> bool:
    return (
        bool(graph.product)
        and len(graph.factors) == len(channel.factors)
        and all(
            part.shape[0] == factor.size
            for part, factor in zip(channel.factors, graph.factors, strict=True)
        )
    )


def _factor_places(channel: KroneckerChannel, graph: AnswerGraph) -> list[list[Worst]]:
    """Worst places of each factor, those of one pair of objects found once."""
    known: dict[tuple[int, int], list[Worst]] = {}
    for part, factor in zip(channel.factors, graph.factors, strict=True):
        if (id(part), id(factor)) not in known:
            known[id(part), id(factor)] = worst_places(part, factor)
    pairs = zip(channel.factors, graph.factors, strict=True)
    return [known[id(part), id(factor)] for part, factor in pairs]


def _likely_output(channel: Channel) -> int:
    return int(channel.row(0).argmax())


def _cartesian(channel: KroneckerChannel, graph: AnswerGraph) -> list[Worst]:
    places = _factor_places(channel, graph)
    others = [_likely_output(part) for part in channel.factors]
    found: list[Worst] = []
    seen: set[int] = set()
    for k, mine in enumerate(places):
        if id(mine) in seen:
            continue
        seen.add(id(mine))
        for worst in mine:
            if worst.edge is None or worst.output is None:
                continue
            put = _replace(k, len(places))
            zeros = [0] * len(places)
            i, h = (channel.input_index(put(zeros, end)) for end in worst.edge)
            o = channel.output_index(put(others, worst.output))
            found.append(Worst((i, h), o, worst.ratio, worst.length, worst.rule))
    return found or [NOWHERE]


def _replace(k: int, count: int) -> Callable[[list[int], int], list[int]]:
    return lambda digits, value: [value if j == k else digits[j] for j in range(count)]


def _strong(channel: KroneckerChannel, graph: AnswerGraph) -> Worst:
    chosen = [max(mine, key=lambda w: w.level) for mine in _factor_places(channel, graph)]
    ends = [worst.edge or (0, 0) for worst in chosen]
    outputs = [
        _likely_output(part) if worst.output is None else worst.output
        for part, worst in zip(channel.factors, chosen, strict=True)
    ]
    edge = (
        channel.input_index([end[0] for end in ends]),
        channel.input_index([end[1] for end in ends]),
    )
    ratios = [worst.ratio for worst in chosen]
    if all(isinstance(ratio, Fraction) for ratio in ratios):
        ratio: Fraction | float = math.prod(ratios, start=Fraction(1))
    else:
        ratio = _exp(math.fsum(worst.level for worst in chosen))
    return Worst(edge, channel.output_index(outputs), ratio, 1.0, _sum_rule(chosen))


def _sum_rule(chosen: list[Worst]) -> tuple[Fraction, Epsilon] | None:
    """Add levels that are all known by rule and written in the same kind of ε."""
    rules = [worst.rule for worst in chosen if worst.edge is not None]
    known = [rule for rule in rules if rule is not None]
    if len(known) < len(rules) or len({epsilon.base for _, epsilon in known}) != 1:
        return None
    one = known[0][1]
    times = sum((t * epsilon.multiple for t, epsilon in known), Fraction(0)) / one.multiple
    return times, one


def _exp(level: float) -> float:
    return math.exp(level) if level < 709 else math.inf
