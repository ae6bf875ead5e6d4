r"""The truncated geometric channel on a line of answers, by rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import Channel
from tightrope.channels.powers import alpha_powers
from tightrope.epsilon import Epsilon
from tightrope.errors import whole_number


class GeometricChannel(Channel):
    r"""Two-sided geometric noise on 0 … n-1, what falls outside moved to the ends.

    With the ratio :math:`a = \alpha^{1/w} = e^{-\varepsilon/w}` for one step along the line,

    .. math::
        X[i,o] = a^{|i-o|} \cdot
        \begin{cases} 1/(1+a) & o \in \{0, n-1\} \\ (1-a)/(1+a) & \text{otherwise.} \end{cases}

    It is :math:`\varepsilon`-private where neighbouring answers differ by at most w: a
    counting query with w = 1 [A, §6; C, Def 2.5], ``sum(u,v)`` with w = v, and the adapted
    version in which all answers are neighbours with w = n-1 [B, Table 1].

    Parameters
    ----------
    size
        The number n of answers.
    epsilon
        The privacy level.
    width
        How far one person can move the answer, w.
    label
        Rule from an index to the answer it stands for; the index itself by default.

    Attributes
    ----------
    step
        :math:`\varepsilon/w`, the level for one step.
    ratio
        :math:`a = e^{-\varepsilon/w}`.

    Examples
    --------
    >>> GeometricChannel(3, "ln(2)").matrix().round(4).tolist()
    [[0.6667, 0.1667, 0.1667], [0.3333, 0.3333, 0.3333], [0.1667, 0.1667, 0.6667]]
    >>> cities = GeometricChannel(6, "ln(2)", width=5)
    >>> round(float(cities.diagonal().mean()), 4)
    0.2243
    """

    def __init__(
        self,
        size: int,
        epsilon: Epsilon | float | Fraction | str,
        width: int = 1,
        *,
        label: Callable[[int], Hashable] | None = None,
    ) -> None:
        self.size = whole_number(size, "the number of answers")
        self.width = whole_number(width, "the width")
        self.shape = (self.size, self.size)
        self.epsilon = Epsilon.of(epsilon)
        self.step = float(self.epsilon) / self.width
        self.ratio = float(alpha_powers(self.epsilon, 1, parts=self.width))
        # 1-a loses digits when a is close to 1.
        rest = 1 - self.ratio if self.ratio <= 0.5 else -math.expm1(-self.step)
        self._inner = rest / (1 + self.ratio)
        self._outer = 1 / (1 + self.ratio) if self.size > 1 else 1.0
        self._label = label

    def _line(self, i: int) -> NDArray[np.float64]:
        return alpha_powers(self.epsilon, np.abs(np.arange(self.size) - i), parts=self.width)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i in O(n)."""
        self._check_input(i)
        self._check_row("a row", self.size)
        return self._line(i) * self.column_maxima()

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o in O(n)."""
        self._check_output(o)
        self._check_row("a column", self.size)
        return self._line(o) * self._top(o)

    def entry(self, i: int, o: int) -> float:
        """Return one probability in O(1)."""
        self._check_input(i)
        self._check_output(o)
        power = alpha_powers(self.epsilon, abs(int(i) - int(o)), parts=self.width)
        return float(power) * self._top(o)

    def _top(self, o: int) -> float:
        return self._outer if o in (0, self.size - 1) else self._inner

    def column_maxima(self) -> NDArray[np.float64]:
        """Return the largest entry of each column, which is the one on the diagonal."""
        self._check_row("the column maxima", self.size)
        tops = np.full(self.size, self._inner)
        tops[0] = tops[-1] = self._outer
        return tops

    def diagonal(self) -> NDArray[np.float64]:
        """Return the probabilities of reporting the true answer."""
        return self.column_maxima()

    def column_maxima_sum(self) -> float:
        r"""Return :math:`\sum_o \max_i X[i,o] = (2 + (n-2)(1-a)) / (1+a)`."""
        if self.size == 1:
            return 1.0
        return 2 * self._outer + (self.size - 2) * self._inner

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        self._check_input(i)
        return int(i) if self._label is None else self._label(int(i))

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.input_label(o)

    def __repr__(self) -> str:
        width = "" if self.width == 1 else f", width {self.width}"
        return f"<GeometricChannel {self.size} answers, ε = {self.epsilon}{width}>"
