r"""Mechanisms by score: the most common value, and quantiles, from the counts of a whole table.

A mechanism that sees only the true answer is poor where every answer is a neighbour of every
other: one person may decide which category is most common. One that sees the counts knows by
how much. Each value gets a score, which one person can move by a little only, and
*permute-and-flip* [McKenna and Sheldon, 2020] takes a value whose score is near the best: in a
random order, the first one that is accepted, with a probability that falls by p/q for each step
that the score is below the best.

The judge proves privacy by a theorem: see *Scores* in :mod:`tightrope.certify.judge`.
"""

from __future__ import annotations

import functools
import os
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import judge
from tightrope.certify.flips import first_accepted
from tightrope.certify.make import encode, plain_header
from tightrope.certify.mechanism import Mechanism, MechanismFile, checked, verify
from tightrope.certify.tuples import Bracket, JointQuantiles, TupleMechanism
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.queries import Neighbours

#: A mechanism that sees the counts of all values, and one of any kind.
BySight: TypeAlias = "ScoreMechanism | TupleMechanism"
AnyMechanism: TypeAlias = "Mechanism | ScoreMechanism | TupleMechanism"
#: How questions of each kind of weights begin.
_FORMS = {
    "scores": ("commonest(", "quantile("),
    "tuples": ("bracket(", "quantiles("),
}


class ScoreMechanism(MechanismFile):
    """A mechanism that is read off the counts of all values.

    Parameters
    ----------
    source
        The path of a file, or its bytes. See :func:`by_score`.

    Attributes
    ----------
    values
        The number of values.
    rank
        Which quantile; ``None`` for the most common value.
    steps
        How many steps one person can move two scores apart.

    Examples
    --------
    >>> made = by_score("commonest(3)", "ln(4)")
    >>> made.steps, made.ratio, made.weights(made.gaps([5, 4, 0])).tolist()[:2] == [2**62, 2**61]
    (2, Fraction(2, 1), True)
    """

    route = "permute-and-flip on the counts of all values"

    def _read(self, header: dict[str, Any]) -> None:
        judge.need(self.kind == "scores", "this is not a mechanism by scores")
        self.query = str(header["query"])
        self.rank, self.values, self.steps = judge.score_question(
            self.query, self.neighbours
        )

    @property
    def ranks(self) -> tuple[Fraction, ...]:
        """The quantile that is drawn; none for the most common value."""
        return () if self.rank is None else (self.rank,)

    def guess(self, answer: Hashable) -> Hashable:
        """Return the answer: there is no remap."""
        return answer

    @functools.cached_property
    def levels(self) -> NDArray[np.int64]:
        """The weight at each gap; the last one goes on for ever."""
        return np.array(judge.falling_levels([1 << self.bits], self.ratio), np.int64)

    def gaps(self, counts: Sequence[int]) -> NDArray[Any]:
        """Return by how many steps each value's score is below the best."""
        if len(counts) != self.values:
            raise InputError(
                f"{self.query} needs {self.values} counts, got {len(counts)}"
            )
        part = 1 if self.rank is None else self.rank.denominator
        # Products of counts and ranks must not overflow, however many rows there are.
        large = part * sum(map(int, counts)) >= 1 << 62
        found: NDArray[Any] = np.array(counts, object if large else np.int64)
        if self.rank is None:
            return np.asarray(found.max() - found)
        upto = np.cumsum(found)
        wanted = self.rank.numerator * upto[-1]
        # Distance of t·n from [D·#{<v}, D·#{≤v}]: 0 iff v is a quantile of rank t/D.
        distance = np.maximum(part * (upto - found) - wanted, wanted - part * upto)
        distance = np.maximum(distance, 0)
        return np.asarray(distance - distance.min())

    def weights(self, gaps: NDArray[Any]) -> NDArray[np.int64]:
        """Return the weight with which each value is accepted, of :math:`2^{bits}`."""
        last = len(self.levels) - 1
        return np.asarray(self.levels[np.minimum(gaps, last).astype(np.int64)])

    def chances(self, counts: Sequence[int]) -> list[Fraction]:
        """Return the exact probability of each output: for small numbers of values.

        >>> [float(round(p, 3)) for p in by_score("commonest(3)", 1).chances([9, 5, 0])]
        [0.927, 0.067, 0.005]
        """
        weights = self.weights(self.gaps(counts)).tolist()
        return first_accepted([Fraction(weight, self.total) for weight in weights])

    def promised_gap(self, confidence: Fraction) -> Fraction | None:
        r"""Return the least gap that is kept with this probability, in people.

        The chance of a larger gap is largest when one value is best and all others are just
        beyond it, with weight f: then it is :math:`1 - (1-(1-f)^c)/(cf)`. For a quantile the gap
        is the number of people between the output and the quantile.

        >>> by_score("commonest(5)", 0.2).promised_gap(Fraction(19, 20))
        Fraction(36, 1)
        """
        from flint import arb, ctx, fmpq

        def kept(gap: int) -> bool:
            with ctx.workprec(256):
                share = arb(fmpq(int(self.levels[min(gap + 1, last)]), 1 << self.bits))
                # The likely outcome from below: a bound that is proved, not a rounded number.
                right = (1 - (1 - share) ** self.values) / (self.values * share)
                return bool(
                    right >= arb(fmpq(confidence.numerator, confidence.denominator))
                )

        last = len(self.levels) - 1
        if not kept(last):
            return None
        # Levels fall with the gap, so the condition is monotone and bisection applies.
        least = bisect_left(range(last), True, key=kept)
        return Fraction(least, 1 if self.rank is None else self.rank.denominator)

    def __repr__(self) -> str:
        return f"<ScoreMechanism {self.query} ({self.neighbours}), ε = {self.epsilon}>"


def by_score(
    question: str, epsilon: Level, neighbours: str | Neighbours = "change-one"
) -> BySight:
    """Make a mechanism by scores, and have it verified.

    Parameters
    ----------
    question
        ``commonest(c)``: which of c values most people have. ``quantile(t/D,c)``: the quantile of
        rank t/D among c values in order; ``quantile(1/2,121)`` is a median.
        ``quantiles(1/4,3/4,c,R)``: several of them in one draw, with R rows at most.
        ``bracket(t/D,c,A,S)``: a quantile with both ends of an interval. A last number k says
        that each person has up to k rows: ``commonest(5,3)``.
    epsilon
        The privacy level.
    neighbours
        The neighbour relation.

    Examples
    --------
    >>> by_score("quantile(1/2,121)", 1, "add-remove")
    <ScoreMechanism quantile(1/2,121) (add-remove), ε = 1>
    >>> by_score("quantiles(1/4,1/2,3/4,121,1000)", 1)
    <TupleMechanism quantiles(1/4,1/2,3/4,121,1000) (change-one), ε = 1>
    """
    level = Epsilon.of(epsilon)
    near = Neighbours.of(neighbours)
    # The canonical text of a question has no spaces.
    text = "".join(question.split())
    is_tuple = text.startswith(_FORMS["tuples"])
    read_question = judge.tuple_question if is_tuple else judge.score_question
    try:
        asked = read_question(text, near.value)
    except judge.Refused as refused:
        raise InputError(
            f"{refused}: write commonest(5), quantile(1/2,121) or "
            "quantiles(1/4,3/4,121,5000)"
        ) from None
    # One person changes a gap by at most `steps`, so one step costs ε/steps.
    ratio = level.scaled(Fraction(1, asked.steps)).ratio
    header = plain_header(text, near.value, level, [ratio])
    if isinstance(asked, judge.TupleQuestion):
        bits = _tuple_bits(asked, near, ratio)
        header["weights"] = {"kind": "tuples", "bits": bits}
    else:
        header["weights"] = {"kind": "scores", "bits": 62}
    data = encode(header, {}, 1)
    return checked(_opened(data, judge.File(data)))


def _tuple_bits(asked: judge.TupleQuestion, near: Neighbours, ratio: Fraction) -> int:
    """Return the bits of the first level: tuples at the last one shall weigh next to nothing.

    The level of a triple is one number, of a tuple of quantiles that is far from all others it
    is the square of one, and one number for a total that is far from all: 64 bits more than there
    are tuples keep an error of 2^-64.
    """
    if asked.is_bracket:
        # The extremes count as often as all values together: below 4c³ triples.
        return 64 + (4 * asked.values**3).bit_length()
    points = 2 * asked.sizes[0] * asked.values
    tuples = len(asked.ranks) * points.bit_length()
    if near is not Neighbours.ADD_REMOVE:
        return 64 + tuples // 2
    # Every tuple has the spare weight, about 2/(1 - q/p)² for 2^bits of the best one.
    last = int(1 / (1 - 1 / ratio)) + 1
    return 65 + tuples + 2 * last.bit_length()


def is_by_score(question: object) -> bool:
    """Whether a text names a question that is answered from the counts of all values.

    >>> is_by_score("commonest(5)"), is_by_score("choice(5)")
    (True, False)
    """
    forms = (*_FORMS["scores"], *_FORMS["tuples"])
    return isinstance(question, str) and question.strip().startswith(forms)


def read(source: str | os.PathLike[str] | bytes) -> AnyMechanism:
    """Open a mechanism file of any kind, or its bytes.

    >>> import tempfile
    >>> made = by_score("commonest(3)", 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read(made.save(f"{folder}/most.tightrope")).digest == made.digest
    True
    """
    try:
        file = judge.File(source)
    except (judge.Refused, OSError):
        return Mechanism(source)  # which says what is wrong
    return _parsed(source, file)


def read_verified(
    source: str | os.PathLike[str] | bytes,
) -> tuple[judge.Verification, AnyMechanism | None]:
    """Judge a file, and open it if it is private: the bytes that were judged, parsed once.

    >>> read_verified(by_score("commonest(3)", 1).to_bytes())[1]
    <ScoreMechanism commonest(3) (change-one), ε = 1>
    >>> read_verified(b"nothing")[1] is None
    True
    """
    try:
        file = judge.File(source)
    except (judge.Refused, OSError, OverflowError, MemoryError):
        return verify(source), None  # which says what is wrong
    verdict = verify(file)
    return verdict, _parsed(source, file) if verdict.private else None


def _parsed(source: str | os.PathLike[str] | bytes, file: judge.File) -> AnyMechanism:
    """Return what was read as a mechanism of the kind that its header names."""
    by_sight = file.header["weights"]["kind"] in _FORMS
    return (_opened if by_sight else Mechanism)(source, file)


def _opened(source: str | os.PathLike[str] | bytes, parsed: judge.File) -> BySight:
    """Open the file of a mechanism that sees the counts of all values."""
    header = parsed.header
    if header["weights"]["kind"] == "scores":
        return ScoreMechanism(source, parsed)
    is_bracket = str(header["query"]).startswith("bracket(")
    return (Bracket if is_bracket else JointQuantiles)(source, parsed)
