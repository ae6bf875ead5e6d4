r"""The Dobrushin coefficient: how alike the two least alike rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.channels.base import Channel
from tightrope.channels.structured import GeometricChannel
from tightrope.errors import TooLarge

#: Largest number of single comparisons (pairs of rows times outputs) that is made.
COMPARISON_LIMIT = 4_000_000_000
#: Entries that are compared at once: small enough to stay in the cache.
_CACHED_ENTRIES = 1 << 16


@dataclass(frozen=True)
class Dobrushin:
    """The coefficient and the two inputs that show it.

    Examples
    --------
    >>> Dobrushin(-0.5, (0, 1)).value
    -0.5
    """

    value: float
    rows: tuple[int, int]

    def __float__(self) -> float:
        return self.value


def dobrushin(channel: Channel) -> Dobrushin:
    r"""Return :math:`μ = -\min_{i,h} \sum_o \min(X_{io}, X_{ho})`, a utility between -1 and 0.

    It is the negative of Dobrushin's coefficient of ergodicity: -1 when two rows are alike
    whatever one does, 0 when two inputs are told apart for certain. Post-processing never
    raises it [D, Ex 3.2.3, App A]. Equivalently :math:`μ = \max_{i,h} TV(X_i, X_h) - 1`.

    Parameters
    ----------
    channel
        Any channel; all pairs of rows are compared unless a rule names the worst pair.

    Examples
    --------
    >>> from tightrope.channels import Channel, GeometricChannel
    >>> dobrushin(Channel([[0.75, 0.25], [0.25, 0.75]])).value
    -0.5
    >>> round(dobrushin(GeometricChannel(5, "ln(2)")).value, 12)    # diameter 4: -exp(-2ε)
    -0.25
    """
    rows, columns = channel.shape
    if rows == 1:
        return Dobrushin(-1.0, (0, 0))
    if isinstance(channel, GeometricChannel):
        # Rows are ordered by likelihood ratio, so the two ends are told apart best.
        first, last = channel.row(0), channel.row(rows - 1)
        return Dobrushin(-float(np.minimum(first, last).sum()), (0, rows - 1))
    if rows * rows * columns > 2 * COMPARISON_LIMIT:
        raise TooLarge(
            f"the Dobrushin coefficient compares all pairs of {rows} rows with {columns} outputs, "
            f"more than {COMPARISON_LIMIT} comparisons"
        )
    matrix = channel.matrix()
    best, pair = np.inf, (0, 0)
    step = max(1, _CACHED_ENTRIES // columns)
    for i in range(rows - 1):
        for low in range(i + 1, rows, step):
            shared = np.minimum(matrix[low : low + step], matrix[i]).sum(axis=1)
            place = int(shared.argmin())
            if shared[place] < best:
                best, pair = float(shared[place]), (i, low + place)
    return Dobrushin(-best, pair)
