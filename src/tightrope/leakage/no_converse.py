r"""A small leakage does not mean privacy: a channel to show it [B, Ex 18]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Prior
from tightrope.errors import InputError
from tightrope.leakage.measures import min_entropy_leakage


@dataclass(frozen=True)
class Demonstration:
    """A channel and a prior with their leakage and their smallest ε.

    Examples
    --------
    >>> found = leakage_without_privacy(0.001, 1e-6)
    >>> found.leakage_bits, round(found.epsilon, 2)
    (0.0, 12.21)
    """

    channel: Channel
    prior: Prior
    leakage_bits: float
    epsilon: float


def leakage_without_privacy(
    rare: float, beta: float, *, inputs: int = 5, outputs: int = 5
) -> Demonstration:
    r"""Return Example 18: hardly any leakage, and as little privacy as one likes [B, Ex 18].

    The first input has probability α and a row of its own,
    :math:`(β, \frac{1-β}{m-1}, …)`; all others share the rest and have uniform rows. As α goes
    to 0 so does the leakage, whatever β is, while the smallest ε is
    :math:`\max\{|\ln mβ|, |\ln \frac{m(1-β)}{m-1}|\}` and grows without limit as β goes to 0.

    Parameters
    ----------
    rare
        The probability α of the first input.
    beta
        The probability β of the first output for the first input.
    inputs, outputs
        How many inputs n and outputs m there are; all inputs are neighbours.

    Examples
    --------
    >>> [round(leakage_without_privacy(0.01, b).epsilon, 3) for b in (0.2, 0.02, 0.002)]
    [0.0, 2.303, 4.605]
    """
    if not (0 < rare < 1 and 0 < beta < 1):
        raise InputError(f"both probabilities must lie between 0 and 1, got {rare} and {beta}")
    if inputs < 2 or outputs < 2:
        raise InputError(f"at least 2 inputs and outputs are needed, got {inputs} and {outputs}")
    matrix = np.full((inputs, outputs), 1 / outputs)
    matrix[0] = (1 - beta) / (outputs - 1)
    matrix[0, 0] = beta
    weights = np.full(inputs, (1 - rare) / (inputs - 1))
    weights[0] = rare
    channel, prior = Channel(matrix), Prior(weights)
    first = abs(math.log(outputs * beta))
    rest = abs(math.log(outputs * (1 - beta) / (outputs - 1)))
    return Demonstration(channel, prior, min_entropy_leakage(channel, prior), max(first, rest))
