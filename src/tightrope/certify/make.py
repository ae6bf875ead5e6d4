r"""Make a proof-carrying mechanism out of a design: bytes, consumer, proof of optimality.

The same design gives the same bytes: the header is canonical JSON, and nothing in it says when
or where it was written.

A solver proposes prices :math:`\lambda` and multipliers, or a vector y; they miss the exact
conditions by rounding. Here they become dyadic numbers that satisfy the conditions exactly: a
price is lowered by what the judge finds owed for it, or y raised, by the largest violation. That
costs about as much of the bound as the floats were wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.judge import (
    MAGIC,
    VERSION,
    Consumer,
    Contents,
    Debts,
    Graph,
    Lattice,
    LatticeWeights,
    LimitedCosts,
    Refused,
    Side,
    Weights,
    debts,
    distances,
    envelope_bound,
    every_answer,
    lattice_bounds,
    line_numbers,
    phi_bound,
    phi_room,
    price_bound,
    section_chunk,
    stretched_bound,
    stretched_debts,
    stretched_loss,
    window_graph,
)
from tightrope.certify.mechanism import Mechanism, canonical_text, checked, judged_graph
from tightrope.certify.weights import LISTED_WEIGHTS, lattice_weights, round_channel, rule_weights
from tightrope.channels import Channel, IntegerChannel, UnboundedNoise
from tightrope.channels.privacy import allowed_ratio
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.queries import Query, query

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
    consumer: Any,
    graph: AnswerGraph,
    mix: Any,
    guess_of: NDArray[np.int64] | None,
    listed: bool,
    *,
    window: bool = False,
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
    window
        Whether the answers are a window of those of the question.
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
    elif window:
        fields["prior"], more = windowed_prior(consumer.prior, consumer.prior.probabilities)
        sections |= more
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


def windowed_prior(prior: Any, inside: NDArray[np.float64]) -> tuple[dict[str, Any], Sections]:
    """Return a prior in a window: by its name, where the judge knows its law, else listed."""
    named = getattr(prior, "named", None)
    if named is not None and len(str(named[1])) <= 60:
        return {"kind": named[0], "number": str(named[1])}, {}
    total, numbers = _dyadic(inside.tolist())
    return {"kind": "listed", "total": total}, {"prior": numbers}


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


#: Binary places of prices, multipliers and the like.
PRICE_BITS = 60


@dataclass(frozen=True)
class Proof:
    r"""Why no private mechanism loses less, as a solver found it: in floats.

    Attributes
    ----------
    kind
        Which of the certificates of a mechanism file it becomes:

        * ``multipliers``: for every guess k :math:`\pi_i \ell(i,k) - \lambda_i \ge
          \sum_h m_k(h{\to}i) - \alpha \sum_h m_k(i{\to}h)`; the bound is :math:`\sum_i \lambda_i`.
        * ``tree``: what each guess leaves is sent to its root, so nothing more is listed.
        * ``line``: on a path, with a power of the distance as loss, for all guesses at once.
        * ``stairs``: on a power of a path answers on both sides of a core pay for those nearer.
        * ``phi``: a vector :math:`y \ge 0` with :math:`y\Phi \ge \pi`: binary utility is at most
          its sum [A, Thm 1; P2 for any prior].
        * ``envelope``: on a tree, the least v with :math:`v \ge \pi` and :math:`v_h \ge \alpha v_i`
          on edges bounds binary utility by the sum of :math:`\Phi^{-1}v`; the judge computes it.
        * ``stretched``: prices for the ends of a line with a uniform prior, times the number of
          answers, in units of a step; in between the last one goes on.
        * ``unbounded``: the bounds by rule of noise on a lattice.
    prices
        :math:`\lambda`, or y: one number for each answer.
    arcs
        The multipliers that are not 0: guesses, starts and ends of their arcs, and values.
    places
        For each guess its root, or first and last answer of the core of its cheapest staircase.
    layers, stride
        How many layers of a staircase are counted on each side; the prices of stretched ends are
        those of every so many-th answer.
    slope
        β of the prior β^d around the middle, for which an unbounded question's own bound is proved.
    mix
        For a risk-averse consumer, the prior over the support that the proof belongs to.

    Examples
    --------
    >>> Proof("tree", [0.1, 0.1], places=[0, 1]).mix is None
    True
    """

    kind: str
    prices: ArrayLike = ()
    arcs: Sequence[ArrayLike] = ((), (), (), ())
    places: ArrayLike = ()
    layers: int = 0
    stride: int = 1
    slope: float = 0.0
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class Limited:
    r"""A limit on vulnerability or loss, and the proof that nothing under it is better.

    Attributes
    ----------
    limited
        What is limited; the other is least.
    most
        The limit. Where the integer weights pass it, by a rounding error, what they have is
        stated in its place.
    weight
        :math:`\theta`, what the limit counts.
    choices
        For each guess a distribution over the attacker's actions.
    proof
        Prices for the costs with the limit counted in, or ``None``.
    attack
        :math:`a_w(i)`, one row for each action; by default the attacker knows the consumer's prior
        and gains 1 by a right guess.

    Examples
    --------
    >>> Limited("vulnerability", Fraction(1, 2), 0.0, [[1, 0], [0, 1]]).proof is None
    True
    """

    limited: Literal["loss", "vulnerability"]
    most: Fraction
    weight: float
    choices: ArrayLike
    proof: Proof | None = None
    attack: ArrayLike | None = None


def proposed(given: Proof, graph: Graph) -> tuple[dict[str, Any], Sections]:
    """Return header fields and sections of a proof as it is proposed, in dyadic numbers."""
    fields: dict[str, Any] = {"kind": given.kind, "bits": PRICE_BITS}
    if given.kind == "envelope":
        return fields, {}
    prices = dyadic(given.prices, "prices")
    if len(prices) != graph.nodes:
        raise InputError(f"there must be {graph.nodes} prices, got {len(prices)}")
    places = np.asarray(given.places, np.int64).ravel()
    if given.kind == "phi":
        y = np.maximum(prices, 0)
        # Where all answers look alike y is constant, but for the rounding of floats.
        constant = bool(y.max() - y.min() <= y.max() >> 30) and graph.looks_alike
        return fields | {"constant": constant}, {"phi": y[[y.argmax()]] if constant else y}
    if given.kind == "tree":
        return fields | {"weight": None}, {"prices": prices, "roots": places}
    if given.kind == "stairs":
        return fields, {"prices": prices, "cores": places}
    if given.kind == "line":
        return fields, {"prices": prices}
    value = dyadic(given.arcs[3], "multipliers")
    guess, start, end = (np.asarray(part, np.int64).ravel() for part in given.arcs[:3])
    if not len(value) == len(guess) == len(start) == len(end):
        raise InputError("multipliers need a guess, a start, an end and a value each")
    keep = np.flatnonzero(value > 0)
    keep = keep[np.lexsort((end[keep], start[keep], guess[keep]))]
    for a in keep[graph.ratio_of(start[keep], end[keep]) < 0][:1].tolist():
        raise InputError(f"multipliers join neighbours, got {start[a]} and {end[a]}")
    # Each condition has one price in it: from far above, every price falls to the least of its
    # conditions, whether the solver had it too high or too low.
    sections = {"prices": prices + (1 << 400)}
    if len(keep):
        named = zip(("guess", "from", "to", "value"), (guess, start, end, value), strict=True)
        sections |= {f"arc_{name}": narrow(part[keep]) for name, part in named}
    return fields | {"arcs": len(keep), "weight": None}, sections


def settled(consumer: Consumer, sections: Sections) -> Fraction:
    """Make the proposed numbers exact, where they stand; return the bound that they prove."""
    kind = consumer.file.header["certificate"]["kind"]
    if kind == "envelope":
        return envelope_bound(consumer)
    if kind == "phi":
        y = sections["phi"] = narrow(_raised(consumer, sections["phi"]))
        return phi_bound(consumer, y)
    prices = sections["prices"]
    if kind == "line":
        sections["cut_steps"] = _cut_steps(consumer, prices)
    # On a line and with multipliers one pass is enough, and the judge has the last word.
    rounds = {"stairs": 8, "tree": 64}.get(kind, 1)
    prices = paid(prices, lambda some: debts(consumer, some), rounds)
    sections["prices"] = narrow(prices)
    return price_bound(consumer, prices)


def paid(prices: NDArray[Any], owed: Callable[[NDArray[Any]], Debts], rounds: int) -> NDArray[Any]:
    """Lower prices by what is owed for them, until nothing is."""
    for _ in range(rounds):
        short = prices * 0
        for _, places, debt in owed(prices):
            np.maximum.at(short, places, debt)
        if not short.any():
            return prices
        prices = prices - short
    if rounds > 1:
        raise CheckFailed("the prices are not paid for, and not only by rounding")
    return prices


def _cut_steps(consumer: Consumer, prices: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each edge of a path the last guess with its root before it, as differences."""
    costs, owed = line_numbers(consumer, prices)
    right, n = Side(costs, owed, consumer.file.alphas[0], consumer.power), consumer.n
    cuts = [-1]
    for j in range(1, n):
        cut = cuts[-1]
        while cut < n - 1 and not right.rise(j, cut + 1):
            if right.least(j, cut + 1) < right.owed[j]:
                break
            cut += 1
        cuts.append(cut)
    return np.array([b - a for a, b in pairwise(cuts)], np.int64)


def _raised(consumer: Consumer, y: NDArray[Any]) -> NDArray[Any]:
    """Raise y where it does not reach the prior: an answer is reached by itself first of all."""
    for _ in range(4):
        room = phi_room(consumer, y)
        if not (room < 0).any():
            return y
        short = -(np.minimum(room, 0) // (((1 << 62) - 1) * consumer.prior_total))
        if 10 * short.max() > y.max():
            break
        y = y + (short.max() if len(y) == 1 else short)
    raise CheckFailed("y does not reach the prior, and not only by rounding")


def stretched(
    given: Proof, lattice: Lattice, loss: str, alpha: float
) -> tuple[dict[str, Any], Sections]:
    """Return header fields and sections of prices for the ends as they are proposed."""
    row, floats = every_answer(lattice, given.stride), np.asarray(given.prices, np.float64)
    reach, cores = np.array([given.layers * row.width], object), np.asarray(given.places, np.int64)
    most = int(distances(loss, reach)[0]) + int(abs(floats).max()) + 2
    # What the judge adds up has 61 bits: see its ``stretched_debts``.
    grown = min(given.layers, int(1 / (1 - alpha)) + 2)
    added = max((2 * row.width + 2) * grown, int((cores[:, 1] - cores[:, 0]).max()) + 1)
    bits = min(60, 61 - (most * added).bit_length())
    # Payments are rounded down in every layer: a few units less save most of the turns to come.
    spare = 16 + int(16 / (1 - alpha))
    prices = np.floor(np.ldexp(floats, bits)).astype(np.int64) - spare
    fields = {"kind": "stretched", "bits": bits, "ends": len(prices)}
    sections = {"prices": prices, "cores": cores.ravel()}
    return fields | {"layers": given.layers, "stride": given.stride}, sections


def dyadic(values: ArrayLike, what: str) -> NDArray[Any]:
    """Round floats or fractions down to whole multiples of 2^-PRICE_BITS.

    >>> dyadic([0.5], "prices").tolist() == [1 << 59]
    True
    """
    exact = np.asarray(values)
    if exact.dtype == object:
        return np.array([x * (1 << PRICE_BITS) // 1 for x in exact.ravel()], object)
    floats = np.asarray(values, np.float64).ravel()
    if not np.isfinite(floats).all():
        raise InputError(f"{what} must be finite")
    scaled = np.ldexp(floats, PRICE_BITS)
    if not len(scaled) or abs(scaled).max() < 2**62:
        return np.floor(scaled).astype(np.int64).astype(object)
    return np.array([int(x) for x in np.floor(scaled)], object)


def limit_fields(given: Limited) -> tuple[dict[str, Any], int | None, Sections]:
    """Return a limit as a header has it, the weight of its proof, and the sections of both."""
    sections: Sections = {}
    attacker: dict[str, Any] = {"kind": "guesser"}
    if given.attack is not None:
        bits = 80  # binary places of what a listed attacker gains
        attack = np.ldexp(np.asarray(given.attack, np.float64), bits)
        attacker = {"kind": "listed", "actions": len(attack), "denominator": 1 << bits}
        sections["attack"] = np.array([round(x) for x in attack.ravel().tolist()], object)
    fields = {"limited": given.limited, "most": "0", "vulnerability": "0", "attacker": attacker}
    if given.proof is None:
        return fields, None, sections
    weight = int(dyadic(given.weight, "the weight of a limit")[0])
    share = weight if given.limited == "vulnerability" else 1 << PRICE_BITS
    choices = dyadic(given.choices, "choices").reshape(len(np.asarray(given.choices)), -1)
    choices = choices * share // choices.sum(axis=1, keepdims=True)
    choices[np.arange(len(choices)), choices.argmax(axis=1)] += share - choices.sum(axis=1)
    sections["choices"] = narrow(choices.ravel())
    return fields, weight, sections


def stated_limit(given: Limited, consumer: Consumer, loss: Fraction) -> LimitedCosts:
    """Return the costs with the limit counted in, and what the weights have of it stated."""
    costs = LimitedCosts(consumer)
    has = costs.vulnerability if given.limited == "vulnerability" else loss
    costs.limit |= {"vulnerability": costs.vulnerability, "most": max(given.most, has)}
    return costs


#: From this number of answers on, a mechanism with a rule is stored as a rule.
RULE_FROM = 1024


def certify(
    channel: Channel,
    question: Any,
    epsilon: Epsilon | float | Fraction | str,
    *,
    neighbours: str | None = None,
    consumer: Any = None,
    guess_of: ArrayLike | None = None,
    certificate: Proof | Limited | None = None,
    delta: Fraction | None = None,
    window: tuple[int, AnswerGraph] | None = None,
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
    question
        A text such as ``count(5)``, a query or a graph. The file names the question where its
        text owns the graph; a graph of one's own travels in the file.
    epsilon
        The privacy level.
    neighbours
        The neighbour relation; ``change-one`` by default.
    consumer
        The consumer, with a ``loss`` and a ``prior`` or a ``support``.
    guess_of
        For each column of the channel the guess of the consumer; the column itself by default.
    certificate
        The proof of optimality, in floats, or a limit with the proof under it. It is made exact.
    delta
        For answers in a row: what all outputs together may exceed the ratio by. The channel is
        then an :class:`~tightrope.channels.IntegerChannel` whose weights stay as they are.
    window
        Where channel and consumer are for a part of a line of answers: its first node, and its
        graph. Answers outside count as the nearest inside.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> verify(made).private_for_question, made.total == 2**62
    (True, True)
    """
    level, asked = Epsilon.of(epsilon), query(question, neighbours)
    answers = asked.graph if window is None else window[1]
    if channel.shape[0] != answers.size:
        raise InputError(
            f"a mechanism needs one row for each of the {answers.size} answers of "
            f"{asked.text}, got {channel.shape[0]} rows"
        )
    if certificate is not None and consumer is None:
        raise InputError("a certificate of optimality needs its consumer")
    kind = getattr(certificate, "kind", None)
    if isinstance(channel, UnboundedNoise) or kind in ("stretched", "unbounded"):
        return _without_ends(channel, asked, level, consumer, certificate, guess_of)
    try:
        graph = judged_graph(asked.graph, by_rule=canonical_text(asked) is not None)
        if window is not None:
            graph = window_graph(graph, window[0], answers.size)
    except Refused as refused:
        raise TooLarge(str(refused)) from None
    header, sections = _question(asked, level, graph)
    if window is not None:
        header["window"] = {"start": window[0], "size": answers.size}
    kept: NDArray[np.int64] | range
    if delta is None:
        kept, moved = _add_weights(header, sections, channel, graph, level, consumer, guess_of)
    else:
        kept, moved = _add_exact(header, sections, channel, delta), 0.0
    if not (len(kept) == graph.nodes and _answers(channel, kept, graph)):
        if len(kept) >= 1 << 20:
            raise TooLarge(f"{len(kept)} outputs that are not the answers do not fit into a file")
        header["outputs"] = [encode_label(channel.output_label(int(o))) for o in kept]
    if consumer is not None:
        chosen = np.arange(len(kept)) if isinstance(kept, range) else kept
        guesses = chosen if guess_of is None else np.asarray(guess_of, np.int64)[chosen]
        same = np.array_equal(guesses, np.arange(len(chosen)))
        guessed = None if same else guesses
        _add_consumer(
            header, sections, answers, graph, consumer, guessed, certificate, asked.graph.size
        )
    return checked(Mechanism(encode(header, sections, graph.nodes), moved=moved))


def _without_ends(
    channel: Channel,
    asked: Query,
    level: Epsilon,
    consumer: Any,
    certificate: Proof | Limited | None,
    guess_of: ArrayLike | None,
) -> Mechanism:
    """Return noise on a lattice as integers, with its worst loss and bounds by rule.

    For a prior on a line: with its expected loss and prices for the ends of its intervals.
    """
    named = canonical_text(asked) is not None
    if not (isinstance(channel, UnboundedNoise) and channel.epsilon == level and named):
        raise InputError("bounds without ends are for such noise, at its ε, on a named question")
    header, sections = _question(asked, level, None)
    try:
        header["weights"] = lattice_weights(asked, level.ratio, channel.core)
        if consumer is not None:
            _add_lattice(header, sections, consumer, certificate, guess_of)
    except Refused as refused:
        raise TooLarge(str(refused)) from None
    return checked(Mechanism(encode(header, sections, 1)))


def _add_lattice(
    header: dict[str, Any],
    sections: Sections,
    consumer: Any,
    certificate: Any,
    guess_of: ArrayLike | None,
) -> None:
    """Write the loss of noise on a lattice, and its bounds by rule or prices for its ends."""
    ends, loss = getattr(certificate, "kind", None) == "stretched", consumer.loss.name
    if not ends and not (consumer.risk_averse and consumer.all_answers):
        raise InputError("noise without ends is proved for a risk-averse consumer of all")
    noise, prior = LatticeWeights(Contents(header, sections)), {"kind": "uniform"}
    if ends and not consumer.prior.is_uniform:
        start, inside = consumer.prior.window
        header["window"] = {"start": start, "size": len(inside)}
        prior, more = windowed_prior(consumer.prior, inside)
        sections |= more
    header["consumer"] = {
        "prior": prior if ends else None,
        "support": None if ends else {"kind": "all"},
        "loss": {"kind": loss},
        "remapped": ends and guess_of is not None,
    }
    if ends:
        fields, more = stretched(certificate, noise.lattice, loss, noise.file.alphas[0] / 2**62)
        sections |= more
        if guess_of is not None:
            sections["guess_of"] = np.arange(fields["ends"])
            sections["guess_of"][: len(np.asarray(guess_of))] = guess_of
        header |= {"certificate": fields, "bound": "0", "expected_loss": "0"}
        noise = LatticeWeights(Contents(header, sections))
        prices = paid(sections["prices"], lambda some: stretched_debts(noise, loss, some), 16)
        sections["prices"] = prices
        header["bound"] = str(stretched_bound(noise, loss, prices))
        header["expected_loss"] = str(stretched_loss(noise, loss))
        return
    header["expected_loss"] = str(noise.expected(loss))
    if certificate is not None:
        slope = Fraction(round(certificate.slope * 2**40), 2**40)
        header["certificate"] = {"kind": "unbounded", "slope": str(slope)}
        bounds = lattice_bounds(noise.lattice, loss, noise.file.alphas[0], slope)
        header["bound"] = str(bounds[1])


def _question(asked: Query, level: Epsilon, graph: Graph | None) -> tuple[dict[str, Any], Sections]:
    """Return the header as far as the question goes, and the sections of its graph."""
    text = canonical_text(asked)
    own, sections = (None, Sections())
    if text is None and graph is not None:
        own, sections = graph_fields(graph)
    lengths = [Fraction(1)] if graph is None else graph.lengths
    ratios = [allowed_ratio(level, float(length)) for length in lengths]
    return plain_header(text, asked.neighbours.value, level, ratios) | {"graph": own}, sections


def _add_weights(
    header: dict[str, Any],
    sections: Sections,
    channel: Channel,
    graph: Graph,
    level: Epsilon,
    consumer: Any,
    guess_of: ArrayLike | None,
) -> tuple[NDArray[np.int64] | range, float]:
    """Write the weights; return the columns that are outputs, and how much rounding moved."""
    rule = None
    listed = guess_of is not None and (
        graph.form != "box" or graph.nodes * channel.shape[1] <= LISTED_WEIGHTS
    )
    if graph.form != "list" and graph.nodes >= RULE_FROM and not listed:
        power = {"absolute": 1, "squared": 2}.get("" if consumer is None else consumer.loss.name, 0)
        rule = rule_weights(channel, graph, level, power if graph.line is not None else 0)
    if rule is None:
        rounded = round_channel(channel, graph, [Fraction(told) for told in header["ratios"]])
        sections["weights"] = rounded.weights.T
        header["weights"] = {"kind": "dense", "bits": rounded.bits, "outputs": len(rounded.kept)}
        return rounded.kept, rounded.moved
    header["weights"] = rule.fields
    if rule.factors is not None:
        sections["factors"] = rule.factors
    return range(graph.nodes), rule.moved


def _add_exact(
    header: dict[str, Any], sections: Sections, channel: Channel, delta: Fraction
) -> range:
    """Write weights that are private with a δ as they stand."""
    if not isinstance(channel, IntegerChannel) or channel.total & (channel.total - 1):
        raise InputError("with δ the weights are taken as they are: integers with rows of sum 2^b")
    sections["weights"] = channel.weights.T
    bits, outputs = channel.total.bit_length() - 1, channel.shape[1]
    header["weights"] = {"kind": "dense", "bits": bits, "outputs": outputs}
    header["delta"] = str(delta)
    return range(outputs)


def _answers(channel: Channel, kept: NDArray[np.int64] | range, graph: Graph) -> bool:
    """Whether output o is answer o; a rule of more than 2^20 answers has no other outputs."""
    if graph.nodes > 1 << 20:
        return isinstance(kept, range)
    return all(channel.output_label(int(o)) == graph.label(i) for i, o in enumerate(kept))


def _add_consumer(
    header: dict[str, Any],
    sections: Sections,
    answers: AnswerGraph,
    graph: Graph,
    consumer: Any,
    guess_of: NDArray[np.int64] | None,
    certificate: Proof | Limited | None,
    whole: int,
) -> None:
    """Write the consumer, its exact loss and the certificate made exact."""
    limit = certificate if isinstance(certificate, Limited) else None
    proof = certificate.proof if isinstance(certificate, Limited) else certificate
    header["expected_loss"] = "0"
    if proof is not None:
        header["certificate"], more = proposed(proof, graph)
        header["bound"] = "0"
        sections |= more
    if limit is not None:
        header["limit"], weight, more = limit_fields(limit)
        sections |= more
        if proof is not None:
            header["certificate"]["weight"] = weight
    try:
        for listed in (False, True):
            mix = None if proof is None else proof.mix
            inside = header["window"] is not None
            fields, more = consumer_fields(consumer, answers, mix, guess_of, listed, window=inside)
            header["consumer"] = fields
            sections |= more
            try:
                costs = read = Consumer(Weights(Contents(header, sections), graph, whole))
                loss = read.expected()
                break
            except Refused:  # a loss too dear to derive from its name may still be listed
                if listed or fields["loss"]["kind"] in ("binary", "listed"):
                    raise
        header["expected_loss"], counted = str(loss), Fraction(0)
        if limit is not None:
            costs = limited = stated_limit(limit, read, loss)
            header["limit"] |= {k: str(limited.limit[k]) for k in ("most", "vulnerability")}
            counted = Fraction(0) if proof is None else limited.weigh()
        if proof is not None:
            header["bound"] = str(settled(costs, sections) - counted)
    except Refused as refused:
        raise CheckFailed(str(refused)) from None
