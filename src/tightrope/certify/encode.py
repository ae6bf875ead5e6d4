"""Write the bytes of a mechanism file, and put a consumer into integers.

The same design gives the same bytes: the header is canonical JSON, and nothing in it says when
or where it was written.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.judge import MAGIC, VERSION, Graph, section_chunk
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph

Sections = dict[str, NDArray[Any]]


def encode(header: Mapping[str, Any], sections: Mapping[str, NDArray[Any]], nodes: int) -> bytes:
    r"""Return the bytes of a file.

    Parameters
    ----------
    header
        Every field but ``sections``.
    sections
        Arrays of integers by name, flattened in their own order.
    nodes
        The number of answers; a chunk of the section ``weights`` holds whole columns.

    Examples
    --------
    >>> data = encode({"query": "path(2)"}, {"prior": np.array([1, 1])}, 2)
    >>> data[:10], len(data[-32:])
    (b'\x89tightrope', 32)
    """
    described, body = [], []
    for name, array in sections.items():
        flat = np.asarray(array).ravel()
        chunk = section_chunk(name, nodes)
        width = 8
        if flat.dtype == object:
            bits = max((abs(int(x)).bit_length() for x in flat), default=0)
            width = -(-(bits + 1) // 64) * 8
        packed = []
        for start in range(0, len(flat), chunk):
            some = flat[start : start + chunk]
            raw = (
                some.astype("<i8").tobytes()
                if width == 8
                else b"".join(int(x).to_bytes(width, "little", signed=True) for x in some)
            )
            packed.append(zlib.compress(raw, 6))
        sizes = [len(piece) for piece in packed]
        described.append({"name": name, "width": width, "count": len(flat), "bytes": sizes})
        body += packed
    text = json.dumps(
        {**header, "sections": described}, sort_keys=True, separators=(",", ":")
    ).encode()
    head = MAGIC + VERSION.to_bytes(2, "little") + len(text).to_bytes(4, "little") + text
    data = b"".join([head, *body])
    return data + hashlib.sha256(data).digest()


def plain_header(
    text: str | None, neighbours: str, level: Epsilon, ratios: Sequence[Fraction]
) -> dict[str, Any]:
    """Return every field of a header but ``weights``, with null for what does not apply."""
    absent = ("graph", "delta", "outputs", "window", "consumer", "expected_loss", "limit")
    return {
        "query": text,
        "neighbours": neighbours,
        "epsilon": {
            "multiple": str(level.multiple),
            "base": None if level.base is None else str(level.base),
        },
        "ratios": [str(ratio) for ratio in ratios],
        **dict.fromkeys((*absent, "certificate", "bound")),
    }


def encode_label(label: Hashable) -> Any:
    """Return a label as JSON can say it; the judge reads it back.

    >>> encode_label((1, Fraction(1, 2), "x", None))
    [1, {'fraction': '1/2'}, 'x', None]
    """
    if label is None or isinstance(label, str | bool):
        return label
    if isinstance(label, int | np.integer):
        return int(label)
    if isinstance(label, Fraction):
        return int(label) if label.denominator == 1 else {"fraction": str(label)}
    if isinstance(label, float | np.floating) and math.isfinite(label):
        return {"float": float(label).hex()}
    if isinstance(label, tuple):
        return [encode_label(part) for part in label]
    raise InputError(f"a label must be a number, a text or a tuple of them, got {label!r}")


def graph_fields(graph: Graph) -> tuple[dict[str, Any], Sections]:
    """Return a graph of one's own as it travels in a file.

    >>> graph_fields(Graph("list", 2, (), np.array([[0, 1]]), np.zeros(1, int)))[0]
    {'nodes': 2, 'labels': None, 'edges': 1, 'lengths': ['1']}
    """
    sections: Sections = {}
    labels = [graph.label(i) for i in range(graph.nodes)]
    plain = all(type(x) is int and x == i for i, x in enumerate(labels))
    if len(graph.edges):
        sections["edges"] = graph.edges
        if len(graph.lengths) > 1:
            sections["edge_lengths"] = graph.length
    fields = {
        "nodes": graph.nodes,
        "labels": None if plain else [encode_label(x) for x in labels],
        "edges": len(graph.edges),
        "lengths": [str(length) for length in graph.lengths],
    }
    return fields, sections


def consumer_fields(
    consumer: Any, graph: AnswerGraph, mix: Any, guess_of: NDArray[np.int64] | None, listed: bool
) -> tuple[dict[str, Any], Sections]:
    """Return a consumer in exact integers.

    A prior is stored as integers over one denominator: exactly where its fractions allow it
    within 62 bits, else as multiples of :math:`2^{-61}` with the largest one chosen so that they
    sum to 1. A loss that the judge knows by name needs no list.

    Parameters
    ----------
    consumer
        Anything with a ``loss``, and a ``prior`` or ``risk_averse`` and a ``support``.
    graph
        The answers.
    mix
        For a consumer with a support: the prior over it that proves a bound.
    guess_of
        For each output the guess that the consumer makes; the output itself by default.
    listed
        Whether a loss with a name is listed nevertheless.
    """
    sections: Sections = {}
    support = consumer.support if consumer.risk_averse else None
    fields: dict[str, Any] = {"prior": None, "support": None, "remapped": guess_of is not None}
    if support is not None:
        chosen = np.asarray(support, np.int64)
        every = np.array_equal(chosen, np.arange(graph.size))
        fields["support"] = {"kind": "all"} if every else {"kind": "listed", "count": len(chosen)}
        if not every:
            sections["support"] = chosen
        if mix is not None:
            weights = np.zeros(graph.size)
            weights[chosen] = np.maximum(np.asarray(mix, float), 0)[chosen]
            total, sections["prior"] = _dyadic((weights / weights.sum()).tolist())
            fields["prior"] = {"kind": "listed", "total": total}
    elif consumer.prior.size != graph.size:
        raise InputError(
            f"the consumer speaks of {consumer.prior.size} answers, the mechanism has {graph.size}"
        )
    elif consumer.prior.is_uniform:
        fields["prior"] = {"kind": "uniform"}
    else:
        total, sections["prior"] = _whole_prior(list(consumer.prior.exact))
        fields["prior"] = {"kind": "listed", "total": total}
    fields["loss"] = {"kind": "binary"} if consumer.loss.is_binary else {"kind": consumer.loss.name}
    if not consumer.loss.is_binary and (listed or not _has_name(consumer.loss, graph)):
        unit, sections["loss"] = _losses(consumer.loss, graph.size)
        guesses = int(consumer.loss.guess_count)
        fields["loss"] = {"kind": "listed", "denominator": unit, "guesses": guesses}
    if guess_of is not None:
        sections["guess_of"] = guess_of
    return fields, sections


def _has_name(loss: Any, graph: AnswerGraph) -> bool:
    """Whether the judge knows this loss by its name, on the same graph."""
    if loss.name not in ("absolute", "squared", "distance") or not hasattr(loss, "graph"):
        return False
    return loss.graph.difference(graph) is None


def _whole_prior(exact: list[Fraction]) -> tuple[int, NDArray[Any]]:
    unit = 1
    for value in exact:
        unit = math.lcm(unit, value.denominator)
        if unit >> 61:
            return _dyadic(exact)
    if sum(exact) != 1:
        return _dyadic(exact)
    return unit, np.array([int(value * unit) for value in exact], np.int64)


def _dyadic(values: list[Any]) -> tuple[int, NDArray[Any]]:
    one = 1 << 61
    ratios = (value.as_integer_ratio() for value in values)
    counts = np.array([(2 * p * one + q) // (2 * q) for p, q in ratios], object)
    counts[int(counts.argmax())] += one - sum(counts.tolist())
    return one, counts.astype(np.int64)


def _losses(loss: Any, size: int) -> tuple[int, NDArray[Any]]:
    if size * loss.guess_count > 1 << 24:
        raise TooLarge(
            f"{size} × {loss.guess_count} losses are more than a mechanism file can hold; "
            "binary loss needs no list"
        )
    floats = np.stack([loss.column(k) for k in range(loss.guess_count)])
    if (floats == np.rint(floats)).all() and abs(floats).max() < 2**53:
        return 1, floats.astype(np.int64)
    exact = [loss.exact(i, k) for k in range(loss.guess_count) for i in range(size)]
    unit = 1
    for value in exact:
        unit = math.lcm(unit, value.denominator)
        if unit.bit_length() > 400:
            raise InputError("the losses have no common denominator of less than 400 bits")
    whole = np.array([int(value * unit) for value in exact], object)
    return unit, narrow(whole)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers of any size in 64 bits where all of them fit.

    >>> narrow(np.array([1, 2], object)).dtype, narrow(np.array([1 << 70], object)).dtype
    (dtype('int64'), dtype('O'))
    """
    small = not len(values) or max(abs(int(values.max())), abs(int(values.min()))) < 1 << 62
    return values.astype(np.int64) if small else values
