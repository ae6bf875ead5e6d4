r"""Make a proof-carrying mechanism out of a design."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tightrope
from tightrope.certify.certificates import Certificate, certificate_sections
from tightrope.certify.checker import check_ratios
from tightrope.certify.container import Container, Damaged
from tightrope.certify.encode import box_of, describe_labels, encode
from tightrope.certify.levels import Levels, levels_of
from tightrope.certify.limited import Limited, limited_sections
from tightrope.certify.mechanism import Mechanism
from tightrope.certify.neighbours import Graph, read_graph
from tightrope.certify.optimality import Reader
from tightrope.certify.radial import Radial, radial_of, symmetric_of
from tightrope.certify.readers import distance_rule, reader_data
from tightrope.certify.rounding import LISTED_WEIGHTS, round_channel
from tightrope.certify.verification import verify
from tightrope.certify.weights import Weights
from tightrope.channels import Channel
from tightrope.channels.privacy import allowed_ratio
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import AnswerGraph

#: From this number of answers on, a mechanism with a rule is stored as a rule.
RULE_FROM = 1024


def certify(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
    *,
    query: str | None = None,
    neighbours: str = "change-one",
    consumer: Any = None,
    guess_of: ArrayLike | None = None,
    certificate: Certificate | Limited | None = None,
    provenance: Mapping[str, str] | None = None,
) -> Mechanism:
    r"""Turn a channel into a mechanism whose privacy is proved in integers.

    The weights are rounded so that :math:`W[i,o]\,q \le W[h,o]\,p` holds exactly on every edge
    [A, Lemma 1]; a rounding that would move more than ``MOVED_LIMIT`` of the probability is
    refused with the pair of rows that needs it. The result has passed
    :func:`~tightrope.certify.verify`.

    Parameters
    ----------
    channel
        The design: floats, integers, or a rule.
    graph
        The answer graph.
    epsilon
        The privacy level.
    query, neighbours
        The question and the neighbour relation; the graph's name by default.
    consumer
        The reader, with a ``loss`` and a ``prior`` or a ``support``.
    guess_of
        For each column of the channel the guess the reader makes; the column itself by default.
    certificate
        The proof of optimality, in floats: :class:`Prices`, :class:`Cover` and the like, or a
        limit with the proof under it: :class:`Limited`. It is made exact.
    provenance
        What else to say about where the design comes from.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    >>> verify(made).private, made.total == 2**62
    (True, True)
    """
    level = Epsilon.of(epsilon)
    _check_sizes(channel, graph, consumer, certificate)
    box = box_of(graph)
    radial = _radial(channel, graph, level) if box is None and guess_of is None else None
    edges, which, lengths = _edges(graph, box is not None or radial is not None)
    ratios = [allowed_ratio(level, length) for length in lengths]
    judged = Graph(graph.size, box, edges, which)
    header: dict[str, Any] = {
        "format": "tightrope mechanism",
        "query": graph.name if query is None else query,
        "neighbours": neighbours,
        "epsilon": {
            "multiple": str(level.multiple),
            "base": None if level.base is None else str(level.base),
        },
        "ratios": [
            [_decimal(length), str(ratio.numerator), str(ratio.denominator)]
            for length, ratio in zip(lengths, ratios, strict=True)
        ],
        "graph": {"box": box} if box else {"nodes": graph.size, "edges": len(edges)},
        "inputs": describe_labels(
            graph.label, graph.size, _sizes(box) or (symmetric_of(graph) or ("", None))[1]
        ),
        "consumer": None,
        "expected_loss": None,
        "certificate": None,
        "bound": None,
    }
    sections: dict[str, NDArray[Any]] = {}
    if len(edges):
        sections["edges"] = edges
        if len(lengths) > 1:
            sections["edge_ratios"] = which
    rule = None
    listed = guess_of is not None and graph.size * channel.shape[1] <= LISTED_WEIGHTS
    if box is not None and graph.size >= RULE_FROM and not listed:
        by = None if consumer is None else distance_rule(consumer.loss, graph.size)
        rule = levels_of(channel, box, level, by[0] if by else 0)
    kept: NDArray[np.int64] | range
    if radial is not None:
        kept, moved = range(graph.size), radial.moved
        header["graph"] = dict([symmetric_of(graph) or ("", [])])
        header["weights"] = {
            "kind": "radial",
            "bits": radial.bits,
            "outputs": graph.size,
            "levels": list(radial.levels),
        }
    elif rule is not None:
        kept = np.arange(graph.size)
        moved = rule.moved
        header["weights"] = _rule_fields(rule)
        sections["factors"] = rule.factors
    else:
        rounded = round_channel(channel, judged, ratios)
        kept, moved = rounded.kept, rounded.moved
        header["weights"] = {"kind": "dense", "bits": rounded.bits, "outputs": len(kept)}
        sections["weights"] = rounded.weights.T
    sizes = _sizes(box) or (symmetric_of(graph) or ("", None))[1]
    header["outputs"] = describe_labels(
        lambda o: channel.output_label(int(kept[o])), len(kept), sizes
    )
    header["provenance"] = {
        "tool": f"tightrope {tightrope.__version__}",
        "moved": f"{moved:.3g}",
        **{str(key): str(value) for key, value in (provenance or {}).items()},
    }
    if consumer is not None:
        _add_consumer(header, sections, graph.size, consumer, guess_of, kept, certificate)
    made = Mechanism(encode(header, sections, graph.size))
    found = verify(made)
    if found.reasons:
        raise CheckFailed(found.reasons[0])
    return made


def _check_sizes(
    channel: Channel, graph: AnswerGraph, consumer: Any, certificate: Certificate | Limited | None
) -> None:
    if channel.shape[0] != graph.size:
        raise InputError(
            f"a mechanism needs one row for each of the {graph.size} answers of {graph.name}, "
            f"got {channel.shape[0]} rows"
        )
    if certificate is not None and consumer is None:
        raise InputError("a certificate of optimality needs its consumer")


def _edges(
    graph: AnswerGraph, by_rule: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[float]]:
    """Return edges in increasing order, the number of each one's length, and the lengths."""
    if by_rule:
        return np.zeros((0, 2), np.int64), np.zeros(0, np.int64), [1.0]
    edges = np.sort(graph.edge_array(), axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    lengths = graph.edge_lengths()[order]
    different = [1.0, *sorted(set(lengths.tolist()) - {1.0})]
    place = {length: number for number, length in enumerate(different)}
    which = np.array([place[length] for length in lengths.tolist()], np.int64)
    return edges[order], which, different


def _radial(channel: Channel, graph: AnswerGraph, level: Epsilon) -> Radial | None:
    """Return the rule of a large mechanism on a cycle or Hamming graph."""
    symmetric = symmetric_of(graph)
    if symmetric is None or graph.size < RULE_FROM:
        return None
    none = np.zeros((0, 2), np.int64)
    judged = Graph(graph.size, None, none, none[:, 0])
    judged.symmetric = symmetric
    return radial_of(channel, judged, level)


def _decimal(length: float) -> str:
    return str(Fraction(repr(float(length))))


def _sizes(box: list[list[int]] | None) -> list[int] | None:
    return None if box is None else [size for size, _ in box]


def _rule_fields(rule: Levels) -> dict[str, Any]:
    return {
        "kind": "levels",
        "bits": rule.bits,
        "outputs": len(rule.factors),
        "steps": list(rule.steps),
        "levels": list(rule.levels),
        "rest": rule.rest,
    }


def _add_consumer(
    header: dict[str, Any],
    sections: dict[str, NDArray[Any]],
    size: int,
    consumer: Any,
    guess_of: ArrayLike | None,
    kept: NDArray[np.int64] | range,
    certificate: Certificate | Limited | None,
) -> None:
    """Write the consumer, its exact loss and the certificate made exact."""
    kept = np.asarray(kept)
    guesses = np.asarray(guess_of, np.int64)[kept] if guess_of is not None else kept
    same = np.array_equal(guesses, np.arange(len(kept)))
    mix = getattr(certificate, "mix", None)
    data = reader_data(consumer, size, mix, None if same else guesses)
    header["consumer"] = data.fields
    sections |= data.sections
    # The checker's own reading of what was written so far decides about the rest.
    try:
        file = Container(encode(header, sections, size))
        graph = read_graph(file)
        ratios, alphas = check_ratios(file)
        weights = Weights(file, graph, ratios)
        reader = Reader(file, graph, weights.outputs)
        header["expected_loss"] = str(reader.expected(weights))
        if isinstance(certificate, Limited):
            limited_sections(certificate, header, sections, (graph, weights, reader), alphas)
        elif certificate is not None:
            fields, more, bound = certificate_sections(certificate, graph, reader, alphas)
            header["certificate"], header["bound"] = fields, str(bound)
            sections |= more
    except Damaged as damage:
        raise CheckFailed(str(damage)) from None
