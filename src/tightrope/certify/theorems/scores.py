r"""Weights by scores: the most common value, and quantiles, from the counts of c values.

A file for ``commonest(c)`` or ``quantile(t/D,c)`` holds no matrix. Of a value at gap g (its
score is g below the best) the weight is w_g, with ``w_0 = 2^bits`` and ``w_{g+1} = ⌈w_g·q/p⌉``.
Each value is accepted with probability f = w/2^bits, and the first accepted one in a random
order is the output (permute-and-flip, McKenna and Sheldon 2020). So ``P(r) = f_r·∫_0^1 Π_{s≠r}
(1 - v·f_s) dv``.

*Theorem.* Let one person move two scores apart by at most T steps, and ``(p/q)^T <= exp(ε)``.
Then this is ε-private.

*Proof.* If the gap of r grows by t >= 0, f_r falls to no less than ``(q/p)^t`` of it, and the
gaps of the others fall by at most T - t, so their f grow to at most c = (p/q)^(T-t) times:
``∫_0^1 Π(1 - v·f'_s) dv >= ∫_0^(1/c) Π(1 - v·c·f_s) dv = 1/c·∫_0^1 Π(1 - u·f_s) du``. If it
shrinks, f_r grows, and the same holds for t = 0. So P falls by at most ``(p/q)^T <= exp(ε)``. ∎
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from tightrope.certify.kernel.exponentials import short_number
from tightrope.certify.kernel.format import (
    WEIGHTS,
    File,
    Header,
    Refused,
    need,
    registered,
    whole,
)
from tightrope.certify.kernel.weights import AnyWeights, Derive


class ScoreQuestion(NamedTuple):
    """A question by scores: which quantile, if it is one, of how many values, and T."""

    rank: Fraction | None
    values: int
    steps: int


class SteppedWeights(AnyWeights):
    """Weights that follow from the ratio alone: one person is worth some steps of p/q each."""

    #: Reads the text of a question under a relation; the result has ``steps``.
    parse: ClassVar[Any]

    def __init__(self, file: File) -> None:
        self.file = file
        self.bits = file.header["weights"]["bits"]
        self.question = self.question_of(file.header)

    @classmethod
    def question_of(cls, header: Header) -> Any:
        """Return the question of a header."""
        return cls.parse(header["query"], header["neighbours"])

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop unless there is a question, and neither lists nor a consumer."""
        absent = (header[name] for name in ("consumer", "outputs", "graph"))
        bare = all(part is None for part in absent) and not header["sections"]
        need(bare, f"{cls.kind} have a question, and neither lists nor a consumer")

    @classmethod
    def read(cls, file: File, derive: Derive) -> SteppedWeights:
        """Read the question of a file."""
        return cls(file)

    @classmethod
    def edge_lengths(cls, header: Header) -> list[Fraction]:
        """Return the part of ε that one step is worth."""
        return [Fraction(1, cls.question_of(header).steps)]

    @classmethod
    def ratio_words(cls, header: Header) -> str:
        """Return in words that the ratio is allowed."""
        steps = cls.question_of(header).steps
        ratio = short_number(header["ratios"][0])
        return f"p/q = {ratio}, and (p/q)^{steps} is at most exp(ε)"

    def faults(self) -> Iterator[str]:
        """Yield nothing: the weights follow from the ratio, which was checked."""
        return iter(())


def score_question(question: str, relation: str) -> ScoreQuestion:
    """Read a question by scores.

    T is how far one person, with k rows, can move two scores apart. Counts: who comes or goes
    moves one of them by k; who changes moves one up and another down. Quantiles of rank t/D: value
    v has the gap ``max(0, D·L - t·n, t·n - D·U)`` with L people below v, U not above, n in all.
    A row that comes moves ``D·L - t·n`` and ``D·U - t·n`` by -t or D - t, one that changes by D.

    >>> score_question("commonest(5)", "add-remove")
    ScoreQuestion(rank=None, values=5, steps=1)
    >>> score_question("quantile(1/2,121)", "add-remove")
    ScoreQuestion(rank=Fraction(1, 2), values=121, steps=2)
    """
    size = r"([1-9][0-9]{0,6})"
    form = rf"(?:commonest\(|quantile\({size}/{size},){size}(?:,{size})?\)"
    call = re.fullmatch(form, question)
    if call is None:
        shown = f"question: {question[:60]!r}"
        raise Refused(f"{shown} is not known as a question by scores")
    values = int(call[3])
    rows = int(call[4] or 1)
    change = relation != "add-remove"
    need(call[4] != "1", "question: one row each is not written out")
    need(values <= 1 << 20, f"question: {values} values are more than 2^20")
    if call[1] is None:
        return ScoreQuestion(None, values, rows * (2 if change else 1))
    rank = Fraction(int(call[1]), int(call[2]))
    lowest = rank.denominator == int(call[2]) and rank < 1
    need(lowest, "question: the rank of a quantile is below 1 and in lowest terms")
    # t or D - t: how far one row that comes moves D·L - t·n and D·U - t·n.
    most = max(rank.numerator, rank.denominator - rank.numerator)
    # Two scores move apart by at most twice what each of them moves.
    steps = 2 * rows * (rank.denominator if change else most)
    return ScoreQuestion(rank, values, steps)


@registered(WEIGHTS, "scores")
class ScoreWeights(SteppedWeights):
    """The weights of gaps."""

    kind = "scores"
    fields: ClassVar = {"bits": whole(40, 63)}
    parse = staticmethod(score_question)

    def proved_for(self, whose: str) -> str:
        """Return how far one person moves two scores apart."""
        moves = f"one person moves two of the {self.question.values} scores of {whose} apart"
        return f"{moves} by at most {self.question.steps} steps, each worth p/q"
