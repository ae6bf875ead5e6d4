r"""How uncertain a secret is before anything is observed.

A secret has a prior :math:`\pi`. Its *vulnerability* is the chance of guessing it in one try,
its min-entropy the same in bits, its Shannon entropy the bits needed to write it down, its
guessing entropy the expected number of guesses until the right one [B, §2.1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.consumers import Prior
from tightrope.errors import InputError

#: What every measure takes as a prior; ``None`` stands for the uniform one.
PriorLike = Prior | ArrayLike | None


def as_prior(prior: PriorLike, count: int | None = None) -> Prior:
    r"""Return what was given as a prior, or refuse it.

    Parameters
    ----------
    prior
        A :class:`~tightrope.consumers.Prior`, a list of probabilities, or ``None`` for the
        uniform prior (then ``count`` must be given).
    count
        How many secrets there must be.

    Examples
    --------
    >>> as_prior(None, 4).probabilities.tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> as_prior([0.5, 0.5], 3)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the prior must have 3 probabilities, got 2
    """
    if prior is None:
        if count is None:
            raise InputError("a uniform prior needs the number of secrets")
        return Prior.uniform(count)
    found = prior if isinstance(prior, Prior) else Prior(prior)
    if count is not None and found.size != count:
        raise InputError(f"the prior must have {count} probabilities, got {found.size}")
    return found


def vulnerability(prior: PriorLike) -> float:
    r"""Return :math:`V(\pi) = \max_i \pi_i`: the chance of a right guess in one try [B, §2.1].

    >>> vulnerability([0.5, 0.25, 0.25])
    0.5
    """
    return as_prior(prior).maximum


def min_entropy(prior: PriorLike) -> float:
    r"""Return :math:`H_\infty(\pi) = -\log_2 \max_i \pi_i` in bits [B, §2.1].

    >>> min_entropy([0.5, 0.25, 0.25])
    1.0
    """
    return as_prior(prior).min_entropy


def shannon_entropy(prior: PriorLike) -> float:
    r"""Return :math:`H(\pi) = -\sum_i \pi_i \log_2 \pi_i` in bits.

    >>> shannon_entropy([0.5, 0.25, 0.25])
    1.5
    """
    return as_prior(prior).entropy


def guessing_entropy(prior: PriorLike) -> float:
    r"""Return the expected number of guesses when the likeliest secrets are tried first.

    :math:`G(\pi) = \sum_k k\,\pi_{(k)}` with :math:`\pi_{(1)} \ge \pi_{(2)} \ge \dots`

    >>> guessing_entropy([0.5, 0.25, 0.25])
    1.75
    """
    falling = np.sort(as_prior(prior).probabilities)[::-1]
    return float(falling @ np.arange(1, len(falling) + 1))


def gain_matrix(gain: ArrayLike, secrets: int) -> NDArray[np.float64]:
    r"""Return a gain matrix as an array: one row for each secret, one column for each guess.

    >>> gain_matrix([[1, 0], [0, 1]], 2).shape
    (2, 2)
    """
    try:
        values = np.asarray(gain, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("a gain must be a matrix of numbers, secrets × guesses") from None
    if values.ndim != 2 or values.shape[0] != secrets or not values.shape[1]:
        raise InputError(f"a gain must have {secrets} rows (secrets), got shape {values.shape}")
    if not np.isfinite(values).all():
        raise InputError("gains must be finite numbers")
    return values


def g_vulnerability(prior: PriorLike, gain: ArrayLike) -> float:
    r"""Return :math:`V_g(\pi) = \max_k \sum_i \pi_i\,g(i,k)`: the best expected gain.

    Parameters
    ----------
    prior
        The prior over secrets.
    gain
        :math:`g(i,k)`, what guess k earns when the secret is i (rows are secrets).

    Examples
    --------
    >>> g_vulnerability([0.5, 0.25, 0.25], [[1, 0], [0, 1], [0, 1]])
    0.5
    """
    pi = as_prior(prior).probabilities
    return float((pi @ gain_matrix(gain, len(pi))).max())


def bits_of(p: NDArray[np.float64]) -> float:
    """Return the Shannon entropy in bits of an array of probabilities; 0 log 0 is 0.

    >>> bits_of(np.array([0.5, 0.5, 0.0]))
    1.0
    """
    seen = p[p > 0]
    return -float(seen @ np.log2(seen)) + 0.0
