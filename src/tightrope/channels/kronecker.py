r"""Product channels: independent channels on the coordinates of a tuple."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import Channel
from tightrope.errors import InputError


class KroneckerChannel(Channel):
    r"""The product :math:`X_1 \otimes \dots \otimes X_u`: each coordinate goes its own way.

    .. math:: X[(i_1,\dots,i_u),(o_1,\dots,o_u)] = \prod_k X_k[i_k,o_k].

    Inputs and outputs are numbered in row-major order, the last coordinate fastest, as the
    nodes of :class:`~tightrope.graphs.CartesianProduct`. The exponential mechanism on a
    Hamming graph is the product of one response for each person [B, Prop 16].

    Parameters
    ----------
    factors
        The channels; one object may occur many times and is then computed with once.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> answer = Channel([[0.8, 0.2], [0.2, 0.8]])
    >>> two = KroneckerChannel([answer, answer])
    >>> two.row(1).round(2).tolist(), two.input_label(1)
    ([0.16, 0.64, 0.04, 0.16], (0, 1))
    >>> crowd = KroneckerChannel([answer] * 60)
    >>> crowd.shape[0] == 2**60, round(crowd.entry(0, 0) / 0.8**60, 9)
    (True, 1.0)
    """

    def __init__(self, factors: Sequence[Channel]) -> None:
        self.factors = tuple(factors)
        if not self.factors:
            raise InputError("a product needs at least one channel, got none")
        for k, factor in enumerate(self.factors):
            if not isinstance(factor, Channel):
                raise InputError(f"factor {k} must be a channel, got {type(factor).__name__}")
        self.shape = (
            math.prod(factor.shape[0] for factor in self.factors),
            math.prod(factor.shape[1] for factor in self.factors),
        )

    def input_digits(self, i: int) -> tuple[int, ...]:
        """Return the input of each factor that an input consists of."""
        self._check_input(i)
        return _digits(i, [factor.shape[0] for factor in self.factors])

    def output_digits(self, o: int) -> tuple[int, ...]:
        """Return the output of each factor that an output consists of."""
        self._check_output(o)
        return _digits(o, [factor.shape[1] for factor in self.factors])

    def input_index(self, digits: Sequence[int]) -> int:
        """Return the input from one input for each factor."""
        return _index(digits, [factor.shape[0] for factor in self.factors])

    def output_index(self, digits: Sequence[int]) -> int:
        """Return the output from one output for each factor."""
        return _index(digits, [factor.shape[1] for factor in self.factors])

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i, the outer product of the factors' rows."""
        digits = self.input_digits(i)
        self._check_row("a row", self.shape[1])
        known = {(id(f), d): f.row(d) for f, d in zip(self.factors, digits, strict=True)}
        return _outer([known[id(f), d] for f, d in zip(self.factors, digits, strict=True)])

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o, the outer product of the factors' columns."""
        digits = self.output_digits(o)
        self._check_row("a column", self.shape[0])
        known = {(id(f), d): f.column(d) for f, d in zip(self.factors, digits, strict=True)}
        return _outer([known[id(f), d] for f, d in zip(self.factors, digits, strict=True)])

    def entry(self, i: int, o: int) -> float:
        """Return one probability, the product of one entry of each factor."""
        places = zip(self.factors, self.input_digits(i), self.output_digits(o), strict=True)
        return math.prod(factor.entry(a, b) for factor, a, b in places)

    def diagonal(self) -> NDArray[np.float64]:
        """Return the outer product of the factors' diagonals."""
        self._check_square()
        self._check_row("the diagonal", self.shape[0])
        if any(factor.shape[0] != factor.shape[1] for factor in self.factors):
            return super().diagonal()
        known = {id(factor): factor.diagonal() for factor in self.factors}
        return _outer([known[id(factor)] for factor in self.factors])

    def column_maxima(self) -> NDArray[np.float64]:
        """Return the outer product of the factors' column maxima."""
        self._check_row("the column maxima", self.shape[1])
        known = {id(factor): factor.column_maxima() for factor in self.factors}
        return _outer([known[id(factor)] for factor in self.factors])

    def column_maxima_sum(self) -> float:
        """Return the product of the factors' sums of column maxima."""
        known = {id(factor): factor.column_maxima_sum() for factor in self.factors}
        return math.prod(known[id(factor)] for factor in self.factors)

    def input_label(self, i: int) -> Hashable:
        """Return the tuple of the factors' answers."""
        digits = self.input_digits(i)
        return tuple(f.input_label(d) for f, d in zip(self.factors, digits, strict=True))

    def output_label(self, o: int) -> Hashable:
        """Return the tuple of what the factors report."""
        digits = self.output_digits(o)
        return tuple(f.output_label(d) for f, d in zip(self.factors, digits, strict=True))

    def __repr__(self) -> str:
        shapes = [f"{factor.shape[0]}×{factor.shape[1]}" for factor in self.factors]
        inside = " ⊗ ".join(shapes if len(shapes) <= 4 else [*shapes[:2], "…", shapes[-1]])
        return f"<KroneckerChannel of {len(shapes)}: {inside}>"


def _outer(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return functools.reduce(lambda left, right: np.multiply.outer(left, right).ravel(), rows)


def _digits(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    rest, found = int(number), []
    for size in reversed(sizes):
        rest, digit = divmod(rest, size)
        found.append(digit)
    return tuple(reversed(found))


def _index(digits: Sequence[int], sizes: Sequence[int]) -> int:
    if len(digits) != len(sizes):
        raise InputError(f"one index for each of the {len(sizes)} factors, got {len(digits)}")
    number = 0
    for k, (digit, size) in enumerate(zip(digits, sizes, strict=True)):
        if not 0 <= digit < size:
            raise InputError(f"index {k} must be in 0 … {size - 1}, got {digit}")
        number = number * size + int(digit)
    return number
