r"""The consumer of a mechanism file as exact integers.

A prior is stored as integers over one denominator: exactly where its fractions allow it within
62 bits, else as multiples of :math:`2^{-61}` with the largest one chosen so that they sum to 1.
Losses are integers over one denominator; binary loss needs no list, and neither does a loss
that is a power of the distance between numbers in even steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, TooLarge

#: Denominator of a prior whose own would be too large.
DYADIC = 1 << 61
#: Largest number of losses in a mechanism file.
LOSS_LIMIT = 16_000_000


@dataclass(frozen=True)
class ReaderData:
    """What a mechanism file says about its reader.

    Attributes
    ----------
    fields
        Fields of the header.
    sections
        Integer arrays by name.

    Examples
    --------
    >>> ReaderData({"guesses": 2}, {}).fields
    {'guesses': 2}
    """

    fields: dict[str, Any]
    sections: dict[str, NDArray[Any]]


def reader_data(consumer: Any, size: int, mix: Any = None, guess_of: Any = None) -> ReaderData:
    """Return the integers of a consumer.

    Parameters
    ----------
    consumer
        Anything with a ``loss`` (``exact(i, k)``, ``guess_count``, ``is_binary``) and a
        ``prior`` (``exact`` or ``probabilities``) or a ``support``.
    size
        The number of answers.
    mix
        For a consumer with a support: the prior over it that proves the bound.
    guess_of
        For each output the guess that the consumer makes; the output itself by default.

    Examples
    --------
    >>> from types import SimpleNamespace as Plain
    >>> loss = Plain(is_binary=True, guess_count=2, name="binary")
    >>> prior = Plain(exact=(Fraction(1, 3), Fraction(2, 3)), is_uniform=False, size=2)
    >>> found = reader_data(Plain(loss=loss, prior=prior), 2)
    >>> found.fields["prior_total"], found.sections["prior"].tolist()
    (3, [1, 2])
    """
    loss = consumer.loss
    fields: dict[str, Any] = {"guesses": int(loss.guess_count), "loss_name": str(loss.name)}
    sections: dict[str, NDArray[Any]] = {}
    support = consumer.support if getattr(consumer, "risk_averse", False) else None
    if support is None:
        total, prior = _prior(consumer.prior)
        fields["kind"] = "Bayesian"
    else:
        sections["support"] = np.asarray(support, np.int64)
        weights = np.zeros(size) if mix is None else np.maximum(np.asarray(mix, float), 0)
        if mix is None:
            weights[sections["support"]] = 1
        weights = np.where(np.isin(np.arange(size), sections["support"]), weights, 0)
        total, prior = _dyadic((weights / weights.sum()).tolist())
        fields["kind"] = "risk-averse"
    if len(prior) != size:
        raise InputError(f"the consumer speaks of {len(prior)} answers, the mechanism has {size}")
    fields["prior_total"] = total
    sections["prior"] = prior
    if not loss.is_binary:
        rule = distance_rule(loss, size)
        if rule is None:
            fields["loss_denominator"], sections["loss"] = _losses(loss, size)
        else:
            fields["loss_power"], step = rule
            fields["loss_factor"], fields["loss_denominator"] = step.numerator, step.denominator
    if guess_of is not None:
        sections["guess_of"] = np.asarray(guess_of, np.int64)
    return ReaderData(fields, sections)


def _prior(prior: Any) -> tuple[int, NDArray[Any]]:
    if prior.is_uniform:
        return prior.size, np.ones(prior.size, np.int64)
    exact = list(prior.exact)
    unit = 1
    for value in exact:
        unit = math.lcm(unit, value.denominator)
        if unit > DYADIC:
            return _dyadic(exact)
    if sum(exact) != 1:
        return _dyadic(exact)
    return unit, np.array([int(value * unit) for value in exact], np.int64)


def _dyadic(values: list[Any]) -> tuple[int, NDArray[Any]]:
    ratios = (value.as_integer_ratio() for value in values)
    counts = np.array([(2 * p * DYADIC + q) // (2 * q) for p, q in ratios], object)
    counts[int(counts.argmax())] += DYADIC - sum(counts.tolist())
    return DYADIC, counts.astype(np.int64)


def distance_rule(loss: Any, size: int) -> tuple[int, Fraction] | None:
    """Return p and s when guess k costs s·|i - k|^p under answer i, for all of them."""
    found: tuple[int, Fraction] | None = loss.step_rule if loss.guess_count == size else None
    return found


def _losses(loss: Any, size: int) -> tuple[int, NDArray[Any]]:
    if size * loss.guess_count > LOSS_LIMIT:
        raise TooLarge(
            f"{size} × {loss.guess_count} losses are more than the {LOSS_LIMIT} that a mechanism "
            "file can hold; binary loss needs no list"
        )
    floats = np.stack([loss.column(k) for k in range(loss.guess_count)])
    if (floats == np.rint(floats)).all() and abs(floats).max() < 2**53:
        return 1, floats.astype(np.int64)
    columns = range(loss.guess_count)
    exact = [loss.exact(i, k) for k in columns for i in range(size)]
    unit = 1
    for value in exact:
        unit = math.lcm(unit, value.denominator)
        if unit.bit_length() > 1000:
            raise InputError("the losses have no common denominator of less than 1000 bits")
    whole = np.array([int(value * unit) for value in exact], object)
    return unit, whole.astype(np.int64) if abs(whole).max() < 2**62 else whole
