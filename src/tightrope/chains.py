r"""Two mechanisms as one chain: a coarse answer now, a finer one later, and one proof for both.

The mathematics is in :mod:`tightrope.channels.sharpen`. Here a pair becomes a mechanism file, whose
outputs are pairs :math:`(o_1, o_2)` and which the judge checks as any other.

**What must hold exactly.** The coarse output is published before the fine one is drawn. The law of
both together is then that of the file only if the file's coarse marginal *is* the published
mechanism, without a rounding error: the fine output is drawn with the file's law given the coarse
one. The fine marginal may be rounded, for no proof uses it. So with the integers :math:`W_1` and
:math:`W_2` of the two files and a remap :math:`T' \ge 0` in units of :math:`2^{-b}`, rounded down,
the weights of the pair are

.. math:: W_2[x, o_2]\, T'[o_2, o_1], \qquad
          R[x, o_1] = 2^c\, W_1[x, o_1] - (W_2 T')[x, o_1],

and what is left over, R, goes to one fine output of each :math:`o_1`. The marginal is exactly
:math:`W_1`. Where :math:`W_1 = W_2 T` exactly, :math:`R = W_2 (T - T')` is a sum of private columns
with non-negative factors, so it is private too. Where the files derive up to rounding only, T' is
made smaller by a share until R is private: :math:`W_1` keeps to a smaller level than is asked for,
and its share pays for the rounding errors.

Noise without ends on a count has no list of weights, and its pair is proved in closed form at any
size: :mod:`tightrope.certify.theorems.sharpened`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope import exact
from tightrope.arrays import Integers
from tightrope.certify import Mechanism, certify, certify_sharpened
from tightrope.channels import Channel, GeometricChannel, IntegerChannel
from tightrope.channels.derive import nearest_remap
from tightrope.channels.privacy import allowed_ratio
from tightrope.channels.sharpen import LISTED_ENTRIES, Sharpening, sharpen
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.optimize import design
from tightrope.optimize.finer import best_finer

MechanismSource = Mechanism | Channel | str | os.PathLike[str]

#: Binary places of the remap in a file: rounding it down moves less than 2^-64 for each output.
REMAP_BITS = 64
#: Which shares of a remap, as powers of 1/2, are given up to rounding errors, the smallest first.
SHARES = (56, 48, 40, 32)
#: The same for the columns of a linear program, which are private up to 1e-9 only.
PROGRAM_SHARES = (28, 24, 20, 16)


@dataclass(frozen=True)
class PairProof:
    r"""A mechanism for both outputs, or why there is none at the fine price.

    Attributes
    ----------
    sharpening
        The decision in integers, with its remap or its witness.
    mechanism
        Its outputs are pairs, the coarse output first; private at the fine level. Its coarse
        marginal is exactly the coarse mechanism. ``None`` where there is no such pair.
    fine_distance
        The largest total variation between a row of the fine marginal and of the fine mechanism,
        exact (in closed form: at most that, but for the rounding of the fine file); for a refused
        pair that of the nearest remap and the coarse mechanism.
    reason
        Why there is no such pair; empty where there is one.
    """

    sharpening: Sharpening
    mechanism: Mechanism | None
    fine_distance: Fraction
    reason: str = ""

    def __bool__(self) -> bool:
        return self.mechanism is not None

    @property
    def up_to_rounding(self) -> bool:
        """Whether the mechanisms derive up to rounding only, which the fine marginal pays for."""
        return bool(self) and not self.sharpening

    def as_dict(self) -> dict[str, Any]:
        """Return the decision and the proof under their public names, ready for JSON."""
        data = self.sharpening.as_dict()
        data |= {"proved": bool(self), "up_to_rounding": self.up_to_rounding}
        data["distance"] = float(self.fine_distance)
        if self.mechanism is not None:
            names = ("query", "neighbours", "epsilon", "digest")
            data |= {name: getattr(self.mechanism, name) for name in names}
            by_rule = self.mechanism.noise is not None
            data["outputs"] = None if by_rule else self.mechanism.shape[1]
        return data


def sharpening(
    coarse: MechanismSource, fine: MechanismSource, graph: AnswerGraph | None = None
) -> Sharpening:
    r"""Decide whether a coarse output can be sharpened later at the price of the fine one.

    That is so if the coarse mechanism derives from the fine one, :math:`X_1 = X_2 T` [C, Def 2.3;
    D, Def 3.1.2]. Then the pair of outputs costs :math:`\varepsilon_2`, not
    :math:`\varepsilon_1 + \varepsilon_2`. Decided in integers; for geometric noise and its products
    in closed form, at any size.

    Parameters
    ----------
    coarse, fine
        Mechanisms, paths of mechanism files, or channels for the same question.
    graph
        The answer graph of two channels; mechanisms bring their own.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.mechanisms import geometric
    >>> line = PathPower(101)
    >>> found = sharpening(geometric(line, 0.5), geometric(line, 1), line)
    >>> bool(found), round(found.epsilon, 6)
    (True, 1.0)
    >>> bool(sharpening(geometric(line, 1), geometric(line, 0.5), line))
    False
    """
    first = _read(coarse)
    second = _read(fine)
    if isinstance(first, Mechanism) and isinstance(second, Mechanism):
        check_same_question(first, second)
    for mechanism in (first, second):
        if isinstance(mechanism, Mechanism) and graph is None:
            graph = mechanism.question.graph
    if graph is None:
        raise InputError(
            "two channels do not say who is whose neighbour: give the graph"
        )
    return sharpen(_channel(first), _channel(second), graph)


def prove_pair(coarse: Mechanism, fine: Mechanism) -> PairProof:
    """Make one mechanism for both outputs, private at the fine level, proved in integers.

    Parameters
    ----------
    coarse
        What is published first; the coarse marginal of the pair is exactly this mechanism. It may
        be a pair itself.
    fine
        What it is sharpened to.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> from tightrope.channels import GeometricChannel
    >>> coarse, fine = (
    ...     certify(GeometricChannel(4, f"ln({k})"), "count(3)", f"ln({k})") for k in (2, 3)
    ... )
    >>> made = prove_pair(coarse, fine)
    >>> verify(made.mechanism).private, made.mechanism.ratio, made.up_to_rounding
    (True, Fraction(3, 1), False)
    >>> bool(prove_pair(fine, coarse))
    False
    """
    if coarse.delta or fine.delta:
        raise InputError("a pair is proved for mechanisms without δ")
    check_same_question(coarse, fine)
    if coarse.noise is not None and fine.noise is not None:
        return _prove_by_rule(coarse, fine)
    first = _listed(coarse)
    second = _listed(fine)
    rows, columns = first.shape
    # Checked before the decision: exact elimination takes a quarter of a minute beyond it.
    if rows * columns * second.shape[1] > LISTED_ENTRIES:
        raise TooLarge(
            f"{columns} × {second.shape[1]} pairs for {rows} answers are more than "
            f"{LISTED_ENTRIES} weights; tr.sharpening decides geometric noise in closed form"
        )
    found = sharpen(first, second, fine.question.graph)
    shares: tuple[int, ...] = (0,)
    remap = found.remap
    distance = Fraction(0)
    if remap is None:
        near = nearest_remap(first, second)
        if not near.is_rounding:
            return PairProof(found, None, near.distance, _refusal(found))
        distance = near.distance
        remap = near.remap
        shares = SHARES
    for share in shares:
        pair = _pair_weights(first, second, remap, share)
        # What an exact remap leaves over is private by the theorem, if the fine file is.
        if pair is not None and (
            found or _is_private(pair.rest, fine.question.graph, fine.epsilon)
        ):
            made = certify(pair.channel, fine.question, fine.epsilon)
            return PairProof(found, made, pair.fine_distance)
    # Files add a constant of about 2^-50 to every probability. Where the coarse noise is smaller
    # than that far from the truth, its share there is too small to cover the rounding errors.
    reason = (
        "the coarse mechanism derives from the fine one up to rounding only, and its smallest "
        "probabilities are too small to cover the rounding errors: take a smaller coarse ε or "
        "fewer answers"
    )
    return PairProof(found, None, distance, reason)


@dataclass(frozen=True)
class BestPair:
    """The finer answer with the smallest loss after one that is published.

    Attributes
    ----------
    mechanism
        Its outputs are pairs: the published output, and the guess. Private at the finer level;
        its first part is exactly the published mechanism.
    loss
        The expected loss of the guess in the file, exact.
    bound
        The value of the linear programs, in floats: no such pair has a smaller loss.
    single
        The smallest loss of a single answer at the finer level, in floats.
    """

    mechanism: Mechanism
    loss: Fraction
    bound: float
    single: float

    def as_dict(self) -> dict[str, Any]:
        """Return the losses under their public names, ready for JSON."""
        return {
            "loss": float(self.loss),
            "bound": self.bound,
            "single_loss": self.single,
            "query": self.mechanism.query,
            "epsilon": str(self.mechanism.epsilon),
            "digest": self.mechanism.digest,
            "outputs": self.mechanism.shape[1],
        }


def best_pair(coarse: Mechanism, epsilon: Level, consumer: Consumer) -> BestPair:
    """Design the finer answer with the smallest loss after one that is published.

    Where the published mechanism derives from an optimal one at the finer level, the loss is that
    of a single answer. Elsewhere it is larger: what the published answer tells cannot be taken
    back.

    Parameters
    ----------
    coarse
        What is published, with listed weights and without δ.
    epsilon
        The level of both answers together.
    consumer
        Whose loss is least: one with a prior on the answers.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> half = certify(GeometricChannel(4, "ln(2)"), "count(3)", "ln(2)")
    >>> consumer = Consumer.of(half.question.graph, prior="uniform", loss="absolute")
    >>> best = best_pair(half, "ln(4)", consumer)
    >>> best.mechanism.verdict.private, round(float(best.loss) / best.single, 6)
    (True, 1.0)
    """
    if coarse.delta:
        raise InputError("a pair is proved for mechanisms without δ")
    level = Epsilon.of(epsilon)
    graph = coarse.question.graph
    first = _listed(coarse)
    if consumer.loss.guess_count != graph.size:
        raise InputError(
            f"the finer output is a guess at the answer: {graph.size} guesses are needed, got "
            f"{consumer.loss.guess_count}"
        )
    if level.ratio <= coarse.ratio:
        raise InputError(
            f"the finer level must be above ε = {coarse.epsilon}, which is paid already, got "
            f"{level}"
        )
    proposed, bound = best_finer(first.matrix(), graph, level, consumer)
    single = design(coarse.question, level, consumer)
    published = first.weights.astype(object) * (1 << REMAP_BITS)
    total = first.total << REMAP_BITS
    for share in PROGRAM_SHARES:
        weights = _closed(proposed, total - (total >> share), graph, level)
        rest = published - weights.sum(axis=2)
        if (rest >= 0).all() and _is_private(rest, graph, level):
            break
    else:
        raise CheckFailed(
            "the published mechanism has probabilities that are too small to cover the rounding "
            "errors of the best pair: take a smaller coarse ε or fewer answers"
        )
    # What is left over goes to the guess that this published output most often leads to.
    likeliest = weights.sum(axis=0).argmax(axis=1)
    weights[:, np.arange(len(likeliest)), likeliest] += rest
    answers, outputs, guesses = weights.shape
    flat = weights.reshape(answers, outputs * guesses)
    used = np.flatnonzero(flat.sum(axis=0))
    labels = [
        (first.output_label(int(o) // guesses), graph.label(int(o) % guesses))
        for o in used
    ]
    channel = IntegerChannel(flat[:, used], total, inputs=first.inputs, outputs=labels)
    made = certify(channel, coarse.question, level)
    loss = _expected_loss(weights, total, consumer)
    return BestPair(made, loss, bound, float(single.value))


def _closed(proposed: Any, total: int, graph: AnswerGraph, level: Epsilon) -> Integers:
    """Return integers near probabilities, raised until every column is private."""
    # A float has 53 bits; rounded down, so that what is left over is not negative.
    in_units = np.floor(proposed * 2.0**52)
    weights = in_units.astype(np.int64).astype(object)
    weights = weights * total >> 52
    lengths = graph.edge_lengths().tolist()
    arcs = [
        (a, b, allowed_ratio(level, length))
        for (i, h), length in zip(graph.edge_array().tolist(), lengths, strict=True)
        for a, b in ((i, h), (h, i))
    ]
    # Each round is one edge of a path, so what an answer demands has arrived after n rounds.
    for _ in range(graph.size):
        before = weights.copy()
        for a, b, ratio in arcs:
            least = -(-weights[a] * ratio.denominator // ratio.numerator)
            weights[b] = np.maximum(weights[b], least)
        if (weights == before).all():
            break
    return np.asarray(weights)


def _expected_loss(weights: Integers, total: int, consumer: Consumer) -> Fraction:
    """Return the expected loss of the guesses of a pair, exactly."""
    by_guess = weights.sum(axis=1)
    prior = consumer.prior.exact
    places = np.argwhere(by_guess).tolist()
    losses = (
        prior[i] * consumer.loss.exact(i, k) * int(by_guess[i, k]) for i, k in places
    )
    return sum(losses, Fraction(0)) / total


def _prove_by_rule(coarse: Mechanism, fine: Mechanism) -> PairProof:
    """Make the pair of two mechanisms with noise without ends on a count."""
    made = None
    distance = Fraction(0)
    size = fine.question.graph.size
    # Held between its ends, noise without ends on a count is geometric noise.
    found = sharpen(
        GeometricChannel(size, coarse.epsilon),
        GeometricChannel(size, fine.epsilon),
        fine.question.graph,
    )
    if found:
        made = certify_sharpened(coarse, fine.epsilon)
        assert made.noise is not None
        distance = 1 - made.noise.described
    return PairProof(found, made, distance, "" if found else _refusal(found))


def _refusal(found: Sharpening) -> str:
    """Say how much the coarse mechanism tells that the fine one does not, and which level does."""
    assert found.witness is not None
    refusal = (
        "the coarse mechanism does not derive from the fine one: a consumer gains "
        f"{float(found.witness.margin):.3g} more from it, so the two are paid separately"
    )
    if found.nearest is not None:
        refusal += (
            "; the nearest level whose noise derives from the fine one is "
            f"ε = {found.nearest}"
        )
    refusal += "; --best designs the finer answer with the smallest loss after this one"
    return refusal


@dataclass(frozen=True)
class _PairWeights:
    """The weights of a pair, what is left over in them, and what rounding cost."""

    channel: IntegerChannel
    rest: Integers
    fine_distance: Fraction


def _pair_weights(
    coarse: IntegerChannel, fine: IntegerChannel, remap: Any, share: int
) -> _PairWeights | None:
    """Return the weights of the pair for a remap less a share; ``None`` if one is negative."""
    first = coarse.weights.astype(object)
    second = fine.weights.astype(object)
    # Weights sum to powers of 2 in a file, so both totals divide the one of the pair.
    total = max(coarse.total, fine.total << REMAP_BITS)
    unit = total // fine.total
    kept = unit - (unit >> share if share else 0)
    rounded = remap.weights.astype(object) * kept // remap.total
    scaled = first * (total // coarse.total)
    rest = scaled - exact.product(second, rounded)
    if (rest < 0).any():
        return None
    weights = second[:, None, :] * rounded.T[None, :, :]
    # What is left over goes to the fine output that most often leads to this coarse one.
    likeliest = rounded.argmax(axis=0)
    weights[:, np.arange(len(likeliest)), likeliest] += rest
    differences = np.abs(weights.sum(axis=1) - second * unit)
    misplaced = differences.sum(axis=1)
    outputs = [(a, b) for a in coarse.outputs for b in fine.outputs]
    channel = IntegerChannel(
        weights.reshape(len(weights), -1), total, inputs=fine.inputs, outputs=outputs
    )
    most_misplaced = Fraction(int(max(misplaced)), 2 * total)
    return _PairWeights(channel, rest, most_misplaced)


def _is_private(columns: Integers, graph: AnswerGraph, level: Epsilon) -> bool:
    """Whether columns of integers keep the ratio of a level on every edge of a graph."""
    lengths = graph.edge_lengths().tolist()
    for (i, h), length in zip(graph.edge_array().tolist(), lengths, strict=True):
        ratio = allowed_ratio(level, length)
        larger = np.maximum(columns[i], columns[h])
        smaller = np.minimum(columns[i], columns[h])
        if (larger * ratio.denominator > smaller * ratio.numerator).any():
            return False
    return True


def _read(source: MechanismSource) -> Mechanism | Channel:
    return Mechanism(source) if isinstance(source, str | os.PathLike) else source


def _channel(source: Mechanism | Channel) -> Channel:
    return _listed(source) if isinstance(source, Mechanism) else source


def _listed(mechanism: Mechanism) -> IntegerChannel:
    """Return the integer weights of a mechanism, one row for each answer."""
    channel = mechanism.channel()
    if not isinstance(channel, IntegerChannel):
        raise TooLarge(
            f"{mechanism.query} has a mechanism without a list of weights: a pair is proved for "
            "listed weights, and tr.sharpening decides geometric noise in closed form"
        )
    return channel


def check_same_question(coarse: Mechanism, fine: Mechanism) -> None:
    """Refuse two mechanisms that answer different questions."""
    if not fine.answers(coarse.question):
        raise InputError(
            "both mechanisms must answer the same question about the same neighbours, got "
            f"{coarse.query} ({coarse.neighbours}) and {fine.query} ({fine.neighbours})"
        )
