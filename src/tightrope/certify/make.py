r"""Make a proof-carrying mechanism out of a design."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.certificates import (
    Limited,
    Proof,
    limit_fields,
    paid,
    proposed,
    settled,
    stated_limit,
    stretched,
)
from tightrope.certify.encode import (
    Sections,
    consumer_fields,
    encode,
    encode_label,
    graph_fields,
    plain_header,
)
from tightrope.certify.judge import (
    Consumer,
    Contents,
    Graph,
    LatticeWeights,
    Refused,
    Weights,
    lattice_bounds,
    stretched_bound,
    stretched_debts,
    stretched_loss,
    window_graph,
)
from tightrope.certify.mechanism import Mechanism, checked
from tightrope.certify.question import canonical_text, judged_graph
from tightrope.certify.rounding import LISTED_WEIGHTS, round_channel
from tightrope.certify.rules import lattice_weights, rule_weights
from tightrope.channels import Channel, IntegerChannel, UnboundedNoise
from tightrope.channels.privacy import allowed_ratio
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.queries import Query, query

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
        _add_consumer(header, sections, answers, graph, consumer, guessed, certificate)
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

    For a uniform prior on a line: with its expected loss and prices for the ends.
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
    noise = LatticeWeights(Contents(header, sections))
    header["consumer"] = {
        "prior": {"kind": "uniform"} if ends else None,
        "support": None if ends else {"kind": "all"},
        "loss": {"kind": loss},
        "remapped": ends and guess_of is not None,
    }
    if ends:
        fields, more = stretched(certificate, noise.lattice, loss)
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
            fields, more = consumer_fields(consumer, answers, mix, guess_of, listed)
            header["consumer"] = fields
            sections |= more
            try:
                costs = read = Consumer(Weights(Contents(header, sections), graph))
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
