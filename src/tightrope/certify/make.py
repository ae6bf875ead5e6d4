r"""Make a proof-carrying mechanism out of a design: bytes, consumer, proof of optimality.

The same design gives the same bytes: the header is canonical JSON, and nothing in it says when
or where it was written.

A solver proposes prices :math:`\lambda` and multipliers, or a vector y; they miss the exact
conditions by rounding. Here they become dyadic numbers that satisfy the conditions exactly: a
price is lowered by what the judge finds owed for it (y is a price of -y). That costs about as much
of the bound as the floats were wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify import judge
from tightrope.certify.mechanism import Mechanism, canonical_text, checked, judged_graph
from tightrope.certify.weights import (
    LISTED_WEIGHTS,
    exact_weights,
    lattice_weights,
    round_channel,
    rule_weights,
    sharpened_weights,
)
from tightrope.channels import Channel, UnboundedNoise
from tightrope.channels.privacy import allowed_ratio, is_private
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.queries import Query, query

Sections = dict[str, NDArray[Any]]
Guesses = NDArray[np.int64] | None


def encode(
    header: Mapping[str, Any], sections: Mapping[str, NDArray[Any]], nodes: int
) -> bytes:
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
    described = []
    body = []
    for name, array in sections.items():
        flat = np.asarray(array).ravel()
        chunk = judge.section_chunk(name, nodes)
        width = 8
        if flat.dtype == object:
            # Two's complement: a sign bit above the largest magnitude, in whole 64-bit limbs.
            bits = max(int(flat.max(initial=0)), -int(flat.min(initial=0))).bit_length()
            width = -(-(bits + 1) // 64) * 8
        packed = []
        for start in range(0, len(flat), chunk):
            some = flat[start : start + chunk]
            raw = some.astype("<i8").tobytes() if width == 8 else b""
            if width > 8:
                raw = b"".join(
                    int(x).to_bytes(width, "little", signed=True) for x in some
                )
            packed.append(zlib.compress(raw, 6))
        sizes = [len(piece) for piece in packed]
        described.append(
            {"name": name, "width": width, "count": len(flat), "bytes": sizes}
        )
        body += packed
    complete = {**header, "sections": described}
    # Canonical JSON (sorted keys, no spaces): equal designs have equal digests.
    text = json.dumps(complete, sort_keys=True, separators=(",", ":")).encode()
    numbers = judge.VERSION.to_bytes(2, "little") + len(text).to_bytes(4, "little")
    data = b"".join([judge.MAGIC, numbers, text, *body])
    return data + hashlib.sha256(data).digest()


def plain_header(
    text: str | None, neighbours: str, level: Epsilon, ratios: Sequence[Fraction]
) -> dict[str, Any]:
    """Return every field of a header but ``weights``, with null for what does not apply."""
    absent = (
        "graph",
        "delta",
        "outputs",
        "window",
        "consumer",
        "expected_loss",
        "limit",
    )
    return {
        "query": text,
        "neighbours": neighbours,
        "epsilon": {
            "multiple": str(level.multiple),
            "base": level.base and str(level.base),
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
    raise InputError(
        f"a label must be a number, a text or a tuple of them, got {label!r}"
    )


def graph_fields(graph: judge.Graph) -> tuple[dict[str, Any], Sections]:
    """Return a graph of one's own as it travels in a file.

    >>> graph_fields(judge.Graph("list", 2, (), np.array([[0, 1]]), np.zeros(1, int)))[0]
    {'nodes': 2, 'labels': None, 'edges': 1, 'lengths': ['1']}
    """
    sections: Sections = {}
    labels = [graph.label(i) for i in range(graph.nodes)]
    # Labels 0 … n-1 are the default and are not listed.
    plain = all(type(x) is int and x == i for i, x in enumerate(labels))
    if len(graph.edges):
        sections["edges"] = graph.edges
        if len(graph.lengths) > 1:
            sections["edge_lengths"] = graph.length
    encoded = None if plain else [encode_label(x) for x in labels]
    fields = {"nodes": graph.nodes, "labels": encoded, "edges": len(graph.edges)}
    return fields | {"lengths": [str(length) for length in graph.lengths]}, sections


def _has_name(loss: Any, graph: AnswerGraph) -> bool:
    """Whether the judge knows this loss by its name, on the same graph."""
    if loss.name not in ("absolute", "squared", "distance") or not hasattr(
        loss, "graph"
    ):
        return False
    return graph.agrees_with(loss.graph)


def _whole_prior(exact: list[Fraction]) -> tuple[dict[str, Any], NDArray[Any]]:
    unit = judge.common_unit(exact, 61)
    if not unit or sum(exact) != 1:
        return _dyadic(exact)
    found = np.array([int(value * unit) for value in exact], np.int64)
    return {"kind": "listed", "total": unit}, found


def _dyadic(values: list[Any]) -> tuple[dict[str, Any], NDArray[Any]]:
    one = 1 << 61
    ratios = (value.as_integer_ratio() for value in values)
    # Round v = p/q to a multiple of 2^-61 in integers: ⌊(2p·2^61 + q) / (2q)⌋.
    counts = np.array([(2 * p * one + q) // (2 * q) for p, q in ratios], object)
    # The largest count absorbs the rounding, where its relative effect is smallest.
    counts[int(counts.argmax())] += one - sum(counts.tolist())
    return {"kind": "listed", "total": one}, counts.astype(np.int64)


def _losses(loss: Any, size: int) -> tuple[int, NDArray[Any]]:
    if size * loss.guess_count > 1 << 24:
        raise TooLarge(
            f"{size} × {loss.guess_count} losses are more than a mechanism file can hold; "
            "binary loss needs no list"
        )
    floats = np.stack([loss.column(k) for k in range(loss.guess_count)])
    # Floats below 2^53 represent integers exactly, so no fractions are needed.
    if (floats == np.rint(floats)).all() and abs(floats).max() < 2**53:
        return 1, floats.astype(np.int64)
    exact = [loss.exact(i, k) for k in range(loss.guess_count) for i in range(size)]
    unit = judge.common_unit(exact, 400)
    if not unit:
        raise InputError("the losses have no common denominator of less than 400 bits")
    return unit, np.array([int(value * unit) for value in exact], object)


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
        * ``cosets``: on a power of a path multipliers for each guess inside its own coset, every
          so many-th answer.
        * ``phi``: a vector :math:`y \ge 0` with :math:`y\Phi \ge \pi`: binary utility is at most
          its sum [A, Thm 1; P2 for any prior].
        * ``envelope``: on a tree, the least v with :math:`v \ge \pi` and :math:`v_h \ge \alpha v_i`
          on edges bounds binary utility by the sum of :math:`\Phi^{-1}v`; the judge computes it.
        * ``stretched``: prices for the ends of a line with a uniform prior, times the number of
          answers, in units of a step; in between the last one goes on.
        * ``unbounded``: the bounds in closed form of noise on a lattice.
    prices
        :math:`\lambda`, or y for ``phi``: one number for each answer.
    arcs
        The multipliers that are not 0: guesses, starts and ends of their arcs, and values.
    places
        For each guess its root, or first and last answer of the core of its cheapest staircase.
    layers, stride
        How many layers of a staircase are counted on each side; the prices of stretched ends are
        those of every so many-th answer, and a coset holds every so many-th.
    slope
        β of the prior β^d around the middle, for which an unbounded question's own bound is proved;
        none if that is proved by lines.
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
    slope: float | None = 0.0
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


def make_dual_feasible(consumer: judge.StatedConsumer, sections: Sections) -> Fraction:
    """Make the proposed numbers exact, where they stand; return the bound that they prove."""
    kind = consumer.file.header["certificate"]["kind"]
    proof = judge.proof_of(consumer)
    if "prices" not in sections:
        return proof.lower_bound(consumer)
    prices = sections["prices"]
    if kind == "line":
        sections["places"] = _cut_steps(consumer, prices)
    # On a line and with multipliers one pass is enough, and the judge has the last word.
    rounds = {"phi": 4, "stairs": 8, "stretched": 16, "tree": 64}.get(kind, 1)
    for _ in range(rounds):
        short = prices * 0
        for _, places, debt in judge.repairs(consumer, prices):
            # A price occurs in many conditions: decrease it by the largest shortfall among them.
            np.maximum.at(short, places, debt)
        # A shortfall above a tenth of y is no round-off: further rounds would not repair it.
        far = kind == "phi" and 10 * short.max() > abs(prices).max()
        prices = prices - short
        if far or not short.any():
            break
    if rounds > 1 and short.any():
        raise CheckFailed("the prices are not paid for, and not only by rounding")
    sections["prices"] = prices
    return proof.price_bound(consumer, prices)


def _cut_steps(
    consumer: judge.StatedConsumer, prices: NDArray[Any]
) -> NDArray[np.int64]:
    """Return for each edge of a path the last guess with its root before it, as differences."""
    costs, owed = judge.line_numbers(consumer, prices)
    right = judge.Side(costs, owed, consumer.alphas[0], consumer.power)
    n = consumer.n
    cuts = [-1]
    # Cuts never decrease along the path, so all searches together take O(n) steps.
    for j in range(1, n):
        cut = cuts[-1]
        while cut < n - 1 and not right.rise(j, cut + 1):
            if right.least(j, cut + 1) < right.owed[j]:
                break
            cut += 1
        cuts.append(cut)
    return np.array([b - a for a, b in pairwise(cuts)], np.int64)


def dyadic(values: ArrayLike, what: str) -> NDArray[Any]:
    """Round floats or fractions down to whole multiples of 2^-PRICE_BITS.

    >>> dyadic([0.5], "prices").tolist() == [1 << 59]
    True
    """
    numbers = np.asarray(values).ravel().tolist()
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"{what} must be finite")
    # Floor division rounds down for negative numbers too, where int() rounds towards 0.
    return np.array([int(x * 2**PRICE_BITS // 1) for x in numbers], object)


def limit_fields(given: Limited) -> tuple[dict[str, Any], int | None, Sections]:
    """Return a limit as a header has it, the weight of its proof, and the sections of both."""
    sections: Sections = {}
    attacker: dict[str, Any] = {"kind": "guesser"}
    if given.attack is not None:
        bits = 80  # binary places of what a listed attacker gains
        attack = np.ldexp(np.asarray(given.attack, np.float64), bits)
        attacker = {"kind": "listed", "actions": len(attack), "denominator": 1 << bits}
        sections["attack"] = np.array(
            [round(x) for x in attack.ravel().tolist()], object
        )
    fields = {
        "limited": given.limited,
        "most": "0",
        "vulnerability": "0",
        "attacker": attacker,
    }
    if given.proof is None:
        return fields, None, sections
    weight = int(dyadic(given.weight, "the weight of a limit")[0])
    # A limited vulnerability has multiplier θ, so each row of choices sums to θ; else to 1.
    share = weight if given.limited == "vulnerability" else 1 << PRICE_BITS
    choices = dyadic(given.choices, "choices").reshape(
        len(np.asarray(given.choices)), -1
    )
    choices = choices * share // choices.sum(axis=1, keepdims=True)
    # The largest choice of a row absorbs the rounding, so that the sum is exact.
    choices[np.arange(len(choices)), choices.argmax(axis=1)] += share - choices.sum(
        axis=1
    )
    sections["choices"] = choices.ravel()
    return fields, weight, sections


#: From this number of answers on, a mechanism with a rule is stored as a rule.
RULE_FROM = 1024
#: The largest ε for which noise without ends is proved best: the judge holds α in steps of 2^-62.
LARGEST_UNBOUNDED = 42


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
    level = Epsilon.of(epsilon)
    asked = query(question, neighbours)
    text = canonical_text(asked)
    answers = asked.graph if window is None else window[1]
    if channel.shape[0] != answers.size:
        raise InputError(
            f"a mechanism needs one row for each of the {answers.size} answers of "
            f"{asked.text}, got {channel.shape[0]} rows"
        )
    if certificate is not None and consumer is None:
        raise InputError("a certificate of optimality needs its consumer")
    noise = channel if isinstance(channel, UnboundedNoise) else None
    by_rule = noise is not None and noise.epsilon == level and text is not None
    ends = getattr(certificate, "kind", None) in ("stretched", "unbounded")
    if (ends or noise is not None) and not by_rule:
        raise InputError(
            "bounds without ends are for noise at its ε, on a named question"
        )
    if ends and float(level) > LARGEST_UNBOUNDED:
        raise InputError(
            f"noise of this kind is proved best for ε up to {LARGEST_UNBOUNDED}, got {level}"
        )
    try:
        graph = None
        moved = None
        if noise is None:
            graph = judged_graph(asked.graph, by_rule=text is not None)
            if window is not None:
                graph = judge.window_graph(graph, window[0], answers.size)
        lengths = [Fraction(1)] if graph is None else graph.lengths
        # One p/q ≤ e^(ε·length) for each length of an edge.
        ratios = [allowed_ratio(level, float(length)) for length in lengths]
        header = plain_header(text, asked.neighbours.value, level, ratios)
        draft = Draft(asked, level, answers, graph, header, {})
        if graph is not None and text is None:
            draft.add("graph", graph_fields(graph))
        if window is not None:
            header["window"] = {"start": window[0], "size": answers.size}
        guesses = None if guess_of is None else np.asarray(guess_of, np.int64)
        if noise is not None:
            header["weights"] = lattice_weights(asked, level.ratio, noise.core)
        else:
            guesses, moved = draft.add_weights(channel, consumer, guesses, delta)
        if consumer is not None:
            draft.add_consumer(consumer, guesses, certificate)
    except judge.Refused as refused:
        # The judge begins every message about its size limits with these words.
        large = str(refused).startswith("too large")
        raise (TooLarge if large else CheckFailed)(str(refused)) from None
    # Without rows there is no section of weights whose chunks must hold whole columns.
    nodes = 1 if graph is None else graph.nodes
    made = checked(Mechanism(encode(draft.header, draft.sections, nodes)))
    made.moved = moved
    return made


def certify_sharpened(coarse: Mechanism, epsilon: Level) -> Mechanism:
    """Return the mechanism of a finer number that follows a coarse one already published.

    Both numbers together are private at the finer level; the judge checks that, at any size.

    Parameters
    ----------
    coarse
        Noise on a line with steps of 1 (counts), or a mechanism that was made here.
    epsilon
        The finer level, for both numbers together.

    Examples
    --------
    >>> from tightrope.channels import UnboundedNoise
    >>> asked = query("count(1000000)")
    >>> coarse = certify(UnboundedNoise(asked.graph, "0.5"), asked, "0.5")
    >>> both = certify_sharpened(coarse, 1)
    >>> both.verdict.private, both.kind, len(both.to_bytes()) < 1000
    (True, 'sharpened', True)
    >>> certify_sharpened(both, "0.7")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the finer level must be above ε = 1, which is paid already, got 0.7
    """
    level = Epsilon.of(epsilon)
    noise = coarse.noise
    # The theorem of the pair is about a line with steps of 1, where layers are the weights.
    if noise is None or noise.lattice.form != "line" or noise.lattice.width != 1:
        raise InputError(
            "a finer number is proved in closed form after noise without ends on one count, not "
            f"after {coarse.kind} weights for {coarse.query}"
        )
    if level.ratio <= coarse.ratio:
        raise InputError(
            f"the finer level must be above ε = {coarse.epsilon}, which is paid already, got "
            f"{level}"
        )
    asked = coarse.question
    header = plain_header(asked.text, coarse.neighbours, level, [level.ratio])
    try:
        header["weights"] = sharpened_weights(asked, level.ratio, noise)
        return checked(Mechanism(encode(header, {}, 1)))
    except (judge.Refused, InputError) as refused:
        large = "too large" in str(refused)
        raise (TooLarge if large else CheckFailed)(str(refused)) from None


@dataclass(frozen=True)
class Draft:
    """A mechanism file in the making.

    Attributes
    ----------
    asked, level
        The question and ε.
    answers
        Those that have rows: all of the question, or a window.
    graph
        These as the judge reads them; ``None`` for noise on a lattice, which has no rows.
    header, sections
        What the file says so far.
    """

    asked: Query
    level: Epsilon
    answers: AnswerGraph
    graph: judge.Graph | None
    header: dict[str, Any]
    sections: Sections

    def add(self, name: str, part: tuple[dict[str, Any], Sections]) -> None:
        """Write a part of the header, and the sections that belong to it."""
        self.header[name] = part[0]
        self.sections.update(part[1])

    def consumer(self) -> judge.StatedConsumer:
        """Return the consumer as the judge reads it."""
        contents = judge.Contents(self.header, self.sections)
        kind = judge.WEIGHTS[self.header["weights"]["kind"]]
        place = () if self.graph is None else (self.graph, self.asked.graph.size)
        consumer: judge.StatedConsumer = kind(contents, *place).consumer()
        return consumer

    def add_weights(
        self, channel: Channel, consumer: Any, guess_of: Guesses, delta: Fraction | None
    ) -> tuple[Guesses, float]:
        """Write the weights; return the guesses, unless outputs are their own, and what moved."""
        graph = self.graph
        header = self.header
        assert graph is not None
        found = None
        many = graph.nodes * channel.shape[1]
        # Remapped outputs are listed, except on boxes too large for a list.
        listed = guess_of is not None and (
            graph.form != "box" or many <= LISTED_WEIGHTS
        )
        if delta is not None:
            found = exact_weights(channel)
            header["delta"] = str(delta)
        elif graph.form != "list" and graph.nodes >= RULE_FROM and not listed:
            name = "" if consumer is None or graph.line is None else consumer.loss.name
            power = {"absolute": 1, "squared": 2}.get(name, 0)
            found = rule_weights(channel, graph, self.level, power)
        if found is None:
            ratios = [Fraction(ratio) for ratio in header["ratios"]]
            try:
                found = round_channel(channel, graph, ratios)
            except CheckFailed as failed:
                # If the design itself is not private, report its worst pair of rows.
                proof = is_private(channel, self.answers, self.level, tolerance=0)
                raise CheckFailed(str(failed if proof else proof)) from None
        self.add("weights", (found.fields, found.sections))
        if (
            found.kept is None and graph.nodes > 1 << 20
        ):  # such a rule has no other outputs
            return guess_of, found.moved
        kept = np.arange(graph.nodes) if found.kept is None else found.kept
        pairs = zip(range(graph.nodes), kept.tolist(), strict=False)
        # Outputs that are named like the answers need no list of names.
        alike = all(graph.label(i) == channel.output_label(o) for i, o in pairs)
        if not alike or len(kept) != graph.nodes:
            if len(kept) >= 1 << 20:
                raise TooLarge(
                    f"{len(kept)} outputs other than the answers do not fit into a file"
                )
            header["outputs"] = [
                encode_label(channel.output_label(o)) for o in kept.tolist()
            ]
        guess_of = kept if guess_of is None else guess_of[kept]
        # An output is its own guess where it has the name of that answer.
        own = np.array_equal(guess_of, np.arange(len(kept)))
        return None if own and (
            alike or len(kept) > graph.nodes
        ) else guess_of, found.moved

    def add_consumer(
        self, consumer: Any, guess_of: Guesses, certificate: Proof | Limited | None
    ) -> None:
        """Write the consumer, its exact loss and the certificate made exact."""
        header = self.header
        sections = self.sections
        limit = certificate if isinstance(certificate, Limited) else None
        proof = certificate.proof if isinstance(certificate, Limited) else certificate
        header["expected_loss"] = "0"
        if proof is not None:
            self.add("certificate", self.proposed(proof, consumer.loss.name))
            header["bound"] = "0"
        if limit is not None:
            header["limit"], weight, more = limit_fields(limit)
            sections |= more
            if proof is not None:
                header["certificate"]["weight"] = weight
        if self.graph is None:
            # Guesses are said for the outputs that have prices; the others are their own.
            ends = (header["certificate"] or {}).get("ends", 0)
            if guess_of is not None:
                guess_of = (
                    np.append(guess_of, np.arange(len(guess_of), ends))
                    if ends
                    else None
                )
            if not consumer.risk_averse and not consumer.prior.is_uniform:
                start, inside = consumer.prior.window
                header["window"] = {"start": start, "size": len(inside)}
        mix = None if proof is None else proof.mix
        # Try the loss by its name first: a list takes space, but deriving it may cost too much.
        for listed in (False, True):
            self.add(
                "consumer", self.consumer_fields(consumer, mix, guess_of, listed=listed)
            )
            try:
                costs = read = self.consumer()
                loss = read.expected()
                break
            except (
                judge.Refused
            ):  # a loss too dear to derive from its name may still be listed
                known = header["consumer"]["loss"]["kind"] in ("binary", "listed")
                if listed or known or self.graph is None:
                    raise
        header["expected_loss"] = str(loss)
        counted = Fraction(0)
        if limit is not None:
            costs = limited = judge.LimitedCosts(read)
            gained = limited.vulnerability
            # Integer weights may pass the limit by round-off: then state their value as the limit.
            most = max(limit.most, gained if limit.limited == "vulnerability" else loss)
            limited.limit |= {"vulnerability": gained, "most": most}
            header["limit"] |= {"vulnerability": str(gained), "most": str(most)}
            # θ·limit, which the Lagrangian bound loses again.
            counted = Fraction(0) if proof is None else limited.weigh()
        if proof is not None:
            header["bound"] = str(make_dual_feasible(costs, sections) - counted)

    def proposed(self, given: Proof, loss: str) -> tuple[dict[str, Any], Sections]:
        """Return header fields and sections of a proof as it is proposed, in dyadic numbers."""
        graph = self.graph
        fields = {"kind": given.kind, "bits": PRICE_BITS}
        if given.kind == "unbounded":
            slope = None
            if given.slope is not None:
                slope = str(Fraction(round(given.slope * 2**40), 2**40))
            return {"kind": given.kind, "slope": slope}, {}
        if given.kind == "envelope":
            return fields, {}
        if graph is None:
            return self._stretched(given, loss)
        prices = dyadic(given.prices, "prices")
        if len(prices) != graph.nodes:
            raise InputError(f"there must be {graph.nodes} prices, got {len(prices)}")
        places = np.asarray(given.places, np.int64).ravel()
        if given.kind == "phi":
            # y ≥ 0 is a condition of its own; it is stored as the price -y, to be decreased.
            y = np.maximum(prices, 0)
            # Where all answers are equivalent by symmetry y is constant up to round-off.
            constant = bool(y.max() - y.min() <= y.max() >> 30) and judge.is_transitive(
                graph
            )
            cover = y[[y.argmax()]] if constant else y
            return fields | {"constant": constant}, {"prices": -cover}
        if given.kind not in ("multipliers", "cosets"):
            fields |= {"weight": None} if given.kind == "tree" else {}
            return fields, {"prices": prices, "places": places}
        value = dyadic(given.arcs[3], "multipliers")
        guess, start, end = (
            np.asarray(part, np.int64).ravel() for part in given.arcs[:3]
        )
        if not len(value) == len(guess) == len(start) == len(end):
            raise InputError(
                "multipliers need a guess, a start, an end and a value each"
            )
        keep = np.flatnonzero(value > 0)
        keep = keep[np.lexsort((end[keep], start[keep], guess[keep]))]
        # Each condition has one price in it: from far above, every price falls to the least of its
        # conditions, whether the solver had it too high or too low.
        sections = {"prices": prices + (1 << 400)}
        if len(keep):
            named = zip(
                ("guess", "from", "to", "value"),
                (guess, start, end, value),
                strict=True,
            )
            sections |= {f"arc_{name}": part[keep] for name, part in named}
        own = {"stride": given.stride} if given.kind == "cosets" else {"weight": None}
        return fields | own | {"arcs": len(keep)}, sections

    def _stretched(self, given: Proof, loss: str) -> tuple[dict[str, Any], Sections]:
        """Return header fields and sections of prices for the ends as they are proposed."""
        asked = self.asked
        alpha = self.level.alpha
        width = (
            judge.question_lattice(asked.text, asked.neighbours.value).width
            // given.stride
        )
        floats = np.asarray(given.prices, np.float64)
        cores = np.asarray(given.places, np.int64)
        furthest = np.array([given.layers * width], object)
        most = int(judge.line_loss(loss, furthest, width)[0])
        # Bounds every |loss - price| that enters a sum, in units of a step.
        most += int(abs(floats).max()) + 2
        # What the judge adds up has 61 bits: see its ``_end_debts``.
        added = judge.added_up(
            width, given.layers, int(alpha * 2**62), cores[:, 1] - cores[:, 0]
        )
        bits = min(60, 61 - (most * added).bit_length())
        # Payments are rounded down in every layer: a few units less save most of the turns to come.
        spare = 16 + int(16 / (1 - alpha))
        prices = np.floor(np.ldexp(floats, bits)).astype(np.int64) - spare
        fields = {"kind": "stretched", "bits": bits, "ends": len(prices)}
        sections = {"prices": prices, "places": cores.ravel()}
        return fields | {"layers": given.layers, "stride": given.stride}, sections

    def consumer_fields(
        self, consumer: Any, mix: Any, guess_of: Guesses, *, listed: bool
    ) -> tuple[dict[str, Any], Sections]:
        """Return a consumer in exact integers.

        A prior is stored as integers over one denominator: exactly where its fractions allow it
        within 62 bits, else as multiples of :math:`2^{-61}` with the largest one chosen so that
        they sum to 1. A loss that the judge knows by name needs no list.

        Parameters
        ----------
        consumer
            Anything with a ``loss``, and a ``prior`` or ``risk_averse`` and a ``support``.
        mix
            For a consumer with a support: the prior over it that proves a bound.
        guess_of
            For each output the guess that the consumer makes; the output itself by default.
        listed
            Whether a loss with a name is listed nevertheless.
        """
        graph = self.answers
        sections = Sections()
        fields: dict[str, Any] = {
            "prior": None,
            "support": None,
            "remapped": guess_of is not None,
        }
        # A risk-averse consumer has a support, and a prior only where it proves a bound.
        if consumer.risk_averse:
            fields["support"] = {"kind": "all"}
            if not consumer.all_answers:
                sections["support"] = np.asarray(consumer.support, np.int64)
                fields["support"] = {
                    "kind": "listed",
                    "count": len(sections["support"]),
                }
            if mix is not None:
                chosen = np.asarray(consumer.support, np.int64)
                weights = np.zeros(graph.size)
                # Negative probabilities of a solver are round-off: clip them, then renormalise.
                weights[chosen] = np.maximum(np.asarray(mix, float), 0)[chosen]
                fields["prior"], sections["prior"] = _dyadic(
                    (weights / weights.sum()).tolist()
                )
        elif consumer.prior.size != graph.size:
            speaks = f"the consumer speaks of {consumer.prior.size} answers"
            raise InputError(f"{speaks}, the mechanism has {graph.size}")
        elif consumer.prior.is_uniform:
            fields["prior"] = {"kind": "uniform"}
        elif self.header["window"] is None:
            fields["prior"], sections["prior"] = _whole_prior(
                list(consumer.prior.exact)
            )
        else:
            prior = consumer.prior
            named = getattr(consumer.prior, "named", None)
            # A header takes numbers of at most 60 digits.
            if named is not None and len(str(named[1])) <= 60:
                fields["prior"] = {"kind": named[0], "number": str(named[1])}
            else:  # of rows in a window the prior is that of the window alone
                inside = prior.window[1] if self.graph is None else prior.probabilities
                fields["prior"], sections["prior"] = _dyadic(inside.tolist())
        fields["loss"] = {
            "kind": "binary" if consumer.loss.is_binary else consumer.loss.name
        }
        if not consumer.loss.is_binary and (
            listed or not _has_name(consumer.loss, graph)
        ):
            unit, sections["loss"] = _losses(consumer.loss, graph.size)
            guesses = int(consumer.loss.guess_count)
            fields["loss"] = {"kind": "listed", "denominator": unit, "guesses": guesses}
        if guess_of is not None:
            sections["guess_of"] = guess_of
        return fields, sections
