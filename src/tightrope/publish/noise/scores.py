"""Mechanisms by score: a value from the counts of all values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightrope.certify import Bracket, JointQuantiles, ScoreMechanism, TupleMechanism
from tightrope.claims import file_sentence
from tightrope.errors import InputError, refusing
from tightrope.publish.intervals import Estimate, level_of
from tightrope.publish.noise.base import Noise
from tightrope.publish.sampler import BracketSampler, JointSampler, ScoreSampler


@dataclass(frozen=True)
class ScoreError:
    """How far the score of an answer by scores is from the best one.

    How likely the very best value was depends on the counts, which are confidential; this
    holds whatever they are.

    Attributes
    ----------
    mechanism
        The mechanism.
    confidence
        The probability with which it holds, at least.
    gap
        The most people that the count is below the largest one, or that lie between the answer
        and the quantile; ``None`` where the level cannot be promised.

    Examples
    --------
    >>> from tightrope.certify import by_score
    >>> str(ScoreNoise(by_score("quantile(1/2,121)", 1)).interval(60))
    'at most 14 people from the median (95 %)'
    """

    mechanism: ScoreMechanism | TupleMechanism
    confidence: Fraction
    gap: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the bound as JSON can say it."""
        kind = "rank" if self.mechanism.ranks else "count"
        level = float(self.confidence)
        return {"confidence": level, "kind": kind, "gap": self.gap, "text": str(self)}

    def __str__(self) -> str:
        share = f"{float(self.confidence * 100):.10g} %"
        if self.gap is None:
            return f"nothing can be promised at {share}"
        if not self.mechanism.ranks:
            return f"its count is within {self.gap:,} of the largest ({share})"
        (rank, *more) = self.mechanism.ranks
        what = "median" if 2 * rank == 1 else f"{float(rank * 100):.10g} % quantile"
        if more:
            return (
                f"at most {self.gap:,} people from their ranks, all at once ({share})"
            )
        return f"at most {self.gap:,} people from the {what} ({share})"


class ScoreNoise(Noise):
    """A value near the best one, by permute-and-flip on the counts."""

    file: ScoreMechanism | TupleMechanism
    sees_counts = True

    def __init__(self, file: ScoreMechanism | TupleMechanism) -> None:
        super().__init__(file)
        # The levels are the whole work of a draw: what is too large is refused before a charge.
        with refusing(
            f"ε = {file.epsilon} is too small for a draw by scores: they fall too slowly; give a "
            "larger ε",
            ValueError,
        ):
            _ = file.levels

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether the file holds scores."""
        return bool(file.kind == "scores")

    def is_for(self, question: str, neighbours: str) -> bool:
        """Compare the text and the relation."""
        return (self.query, self.neighbours) == (question, neighbours)

    def node(self, answer: Hashable) -> int:
        """Refuse: there is no answer graph."""
        raise InputError("a question with an answer graph of its own has no scores")

    def draw(self, answer: Any) -> Hashable:
        """Draw the place of one value from the counts of all."""
        assert isinstance(self.file, ScoreMechanism)
        return ScoreSampler(self.file, answer).draw_index()

    def interval(
        self,
        answer: Hashable,
        confidence: Fraction | float | str = "0.95",
        *,
        prior: Sequence[Any] | None = None,
        simultaneous: bool = False,
    ) -> ScoreError:
        """Return how far the score of any answer is from the best one."""
        if prior is not None or simultaneous:
            raise InputError(
                "an answer by scores takes no prior, and is one value: leave these out"
            )
        level = level_of(confidence)
        gap = self.file.promised_gap(level)
        return ScoreError(self.file, level, None if gap is None else math.ceil(gap))

    def estimates(self, answer: Hashable, confidence: Fraction) -> tuple[Estimate, ...]:
        """Return the value and how near it is."""
        return (Estimate(answer, note=self.note(confidence)),)

    def note(self, confidence: Fraction) -> str:
        """Say how near the score of an answer is to the best one."""
        return str(self.interval(None, confidence))

    def claim(self) -> str:
        """Say that it is proved private."""
        return file_sentence(self.file, self.verdict)


class TupleNoise(ScoreNoise):
    """Several values from one draw: quantiles together, or one and its interval."""

    file: TupleMechanism

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether the file holds the rule of tuples."""
        return bool(file.kind == "tuples")

    def draw(self, answer: Any) -> Hashable:
        """Draw the places of all values from the counts."""
        if isinstance(self.file, Bracket):
            return BracketSampler(self.file, answer).draw()
        assert isinstance(self.file, JointQuantiles)
        return JointSampler(self.file, answer).draw()
