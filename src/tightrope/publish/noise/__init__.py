"""Noise: one interface for every mechanism that is released from, and its kinds.

>>> from tightrope.certify import by_score
>>> noise_of(by_score("commonest(3)", 1)).draw([900, 5, 3])
0
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.errors import TooLarge
from tightrope.publish.noise.base import (
    Noise as Noise,
    checked_mechanism as checked_mechanism,
    noise_of as noise_of,
)
from tightrope.publish.noise.lattice import LatticeNoise as LatticeNoise
from tightrope.publish.noise.rows import RowNoise as RowNoise
from tightrope.publish.noise.scores import (
    ScoreError as ScoreError,
    ScoreNoise as ScoreNoise,
    TupleNoise as TupleNoise,
)
from tightrope.publish.noise.sharpened import (
    SharpenedNoise as SharpenedNoise,
    sharpened as sharpened,
)
from tightrope.publish.noise.shown import ShownNoise as ShownNoise

if TYPE_CHECKING:
    from tightrope.certify import Mechanism
    from tightrope.publish.intervals import ConfidenceSet, Number


def confidence_set(
    mechanism: Mechanism,
    answer: Hashable,
    confidence: Fraction | float | str = "0.95",
    *,
    prior: Sequence[Any] | None = None,
    simultaneous: bool = False,
) -> ConfidenceSet:
    """Return the confidence set of a released answer, or with a prior the credible set.

    Parameters
    ----------
    mechanism
        The mechanism that the answer was drawn from.
    answer
        The output that was drawn.
    confidence
        The level, above 0 and below 1.
    prior
        Exact probabilities of the answers, in the order of the rows.
    simultaneous
        For tuples: whether all numbers shall be in their intervals at once. Each then has the
        level 1 - a/k [Bonferroni].

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> mechanism = certify(GeometricChannel(101, "ln(2)"), "count(100)", "ln(2)")
    >>> interval = confidence_set(mechanism, 40)
    >>> str(interval), round(float(interval.exact), 3)
    ('40 ± 4 (95 %)', 0.333)
    >>> str(confidence_set(mechanism, 0))
    '0 (0 to 4, 95 %)'
    """
    interval: ConfidenceSet = noise_of(mechanism).interval(
        answer, confidence, prior=prior, simultaneous=simultaneous
    )
    return interval


def promised_error(
    mechanism: Mechanism, confidence: Fraction | float | str = "0.95"
) -> tuple[Number, ...]:
    """Return for each number of the answer the error that is kept with this probability.

    Whatever the true answer is, the output differs from it by at most this much with at least
    this probability; no smaller number has this property.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> mechanism = certify(GeometricChannel(101, "ln(2)"), "count(100)", "ln(2)")
    >>> promised_error(mechanism), promised_error(mechanism, 0.5)
    ((4,), (1,))
    """
    return noise_of(mechanism).error(confidence)


def interval_of(mechanism: Any, answer: Hashable) -> ConfidenceSet | ScoreError | None:
    """Return the error of a released answer, or ``None`` where that is too much work."""
    try:
        interval: ConfidenceSet | ScoreError = noise_of(mechanism).interval(answer)
    except TooLarge:
        return None
    return interval
