r"""The channel :math:`\Phi\,\mathrm{diag}(z)`, by rule from the distances of a graph."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels.base import ROW_SUM_TOLERANCE, Channel
from tightrope.channels.powers import alpha_powers, log_alpha_sum
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph

#: Up to this many answers every row sum is checked when a channel is made.
ALL_ROWS_UP_TO = 1_000
#: Above it, this many rows are checked, spread evenly and with both ends.
CHECKED_ROWS = 16


class ScaledPhi(Channel):
    r"""The channel :math:`X[i,o] = \alpha^{d(i,o)} z_o` with :math:`z \ge 0`.

    Every such channel is :math:`\varepsilon`-private on its graph, because
    :math:`d(i,o) \le d(h,o) + d(i,h)`. The tight-constraints mechanism is the one with
    :math:`\Phi z = 1` [A, Def 7]; the exponential mechanism of a symmetric graph is the one
    with a single number for z [B, (17)].

    Parameters
    ----------
    graph
        The answer graph; rows come from its distances, no matrix is held.
    epsilon
        The privacy level.
    scale
        z: one number for each answer, or one number for all of them. The rows must sum to 1
        within ``ROW_SUM_TOLERANCE``: all of them are checked up to ``ALL_ROWS_UP_TO`` answers,
        ``CHECKED_ROWS`` of them above, and one suffices where every ball has the same size.

    Attributes
    ----------
    checked_rows
        How many row sums were looked at; equal to the number of answers when the ball sizes
        settle all rows at once.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> ScaledPhi(Clique(6), "ln(2)", 2 / 7).row(0).round(4).tolist()
    [0.2857, 0.1429, 0.1429, 0.1429, 0.1429, 0.1429]
    >>> from tightrope.graphs import CartesianProduct
    >>> people = CartesianProduct([Clique(4)] * 20)
    >>> people.size, ScaledPhi(people, "ln(2)", 0.4**20).entry(5, 7)
    (1099511627776, 5.49755813888...e-09)
    """

    def __init__(
        self,
        graph: AnswerGraph,
        epsilon: Epsilon | float | Fraction | str,
        scale: ArrayLike,
    ) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self.shape = (graph.size, graph.size)
        self._scale = _check_scale(scale, graph.size)
        self.checked_rows = self._check_rows()

    @property
    def scale(self) -> NDArray[np.float64]:
        """The vector z (read-only)."""
        if self._scale.ndim:
            return self._scale
        self._check_row("the scale", self.graph.size)
        return np.broadcast_to(self._scale, self.graph.size)

    @property
    def constant_scale(self) -> float | None:
        """The one number z when the channel was made with one, otherwise ``None``."""
        return None if self._scale.ndim else float(self._scale)

    def _powers(self, i: int) -> NDArray[np.float64]:
        distances = self.graph.distances_from(i)
        if self.graph.has_lengths:
            return alpha_powers(self.epsilon, distances)
        # Few different distances: take each power once.
        powers = alpha_powers(self.epsilon, np.arange(int(distances.max()) + 1))
        return powers.take(distances)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i from one row of distances."""
        self._check_input(i)
        self._check_row("a row", self.graph.size)
        return self._powers(i) * self._scale

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o from one row of distances."""
        self._check_output(o)
        self._check_row("a column", self.graph.size)
        return self._powers(o) * self._z(o)

    def entry(self, i: int, o: int) -> float:
        """Return one probability from one distance."""
        self._check_input(i)
        self._check_output(o)
        return float(alpha_powers(self.epsilon, self.graph.distance(i, o))) * self._z(o)

    def _z(self, o: int) -> float:
        return float(self._scale[o]) if self._scale.ndim else float(self._scale)

    def diagonal(self) -> NDArray[np.float64]:
        """Return z."""
        return self.scale

    def column_maxima(self) -> NDArray[np.float64]:
        """Return the largest entry of each column, which is z."""
        return self.scale

    def column_maxima_sum(self) -> float:
        """Return the sum of z."""
        if self._scale.ndim:
            return math.fsum(self._scale)
        return self.graph.size * float(self._scale)

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self.graph.label(i)

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.graph.label(o)

    def _check_rows(self) -> int:
        n, z = self.graph.size, self.constant_scale
        if z is not None and n > ALL_ROWS_UP_TO:
            sizes = self.graph.constant_ball_sizes
            if sizes is not None:
                self._check_sum(0, math.exp(math.log(z) + log_alpha_sum(self.epsilon, sizes)))
                return n
        count = n if n <= ALL_ROWS_UP_TO else CHECKED_ROWS
        try:
            for i in np.unique(np.linspace(0, n - 1, count).round().astype(np.int64)):
                self._check_sum(int(i), float(self._powers(int(i)) @ self.scale))
        except TooLarge:
            raise TooLarge(
                f"the row sums of a scaled Φ on {self.graph.name} cannot be checked: a row would "
                f"hold {n} numbers, and its balls do not all have one size"
            ) from None
        return count

    def _check_sum(self, i: int, total: float) -> None:
        if not abs(total - 1) <= ROW_SUM_TOLERANCE:
            raise InputError(
                f"every row of Φ·diag(z) must sum to 1, but row {i} sums to {total:.12g}"
            )

    def __repr__(self) -> str:
        return f"<ScaledPhi {self.graph.name}, ε = {self.epsilon}>"


def _check_scale(scale: ArrayLike, size: int) -> NDArray[np.float64]:
    try:
        values = np.array(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the scale z must be one number, or one for each answer") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != size):
        raise InputError(
            f"the scale z must be one number, or one for each of the {size} answers, "
            f"got shape {values.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        place = f" at answer {bad[0]}" if values.ndim else ""
        raise InputError(
            f"the scale z must be finite and non-negative, got {values.ravel()[bad[0]]}{place}"
        )
    if values.ndim == 0 and values == 0:
        raise InputError("the scale z must be positive when it is one number, got 0")
    values.flags.writeable = False
    return values
