"""Priors of independent draws, by rule."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.priors import Prior
from tightrope.errors import InputError, whole_number


class ProductPrior(Prior):
    r"""Independent draws from one prior: :math:`\pi(x) = \prod_j \pi_1(x_j)`.

    The prior over ``databases(u,v)`` when every person draws a value alike. Nodes are numbered
    as in :class:`~tightrope.graphs.ProductGraph`: the last factor runs fastest.

    Parameters
    ----------
    factor
        The prior of one draw.
    power
        The number of draws.

    Examples
    --------
    >>> people = ProductPrior(Prior([0.3, 0.27, 0.23, 0.2]), 20)
    >>> people.size == 4**20, round(people.entropy, 3)
    (True, 39.663)
    """

    def __init__(self, factor: Prior, power: int) -> None:
        if not isinstance(factor, Prior):
            raise InputError(f"the factor must be a Prior, got {str(factor)[:40]!r}")
        self.factor, self.power = factor, whole_number(power, "the number of draws")
        self.size = factor.size**self.power

    @functools.cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """All probabilities in node order (read-only); refused when they would not fit."""
        self._check_row()
        rows = [self.factor.probabilities] * self.power
        out = functools.reduce(lambda left, right: np.multiply.outer(left, right).ravel(), rows)
        out = out.copy() if self.power == 1 else out
        out.flags.writeable = False
        return out

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions."""
        self._check_row()
        out: tuple[Fraction, ...] = (Fraction(1),)
        for _ in range(self.power):
            out = tuple(left * right for left in out for right in self.factor.exact)
        return out

    @property
    def maximum(self) -> float:
        """The largest probability, that of the likeliest value repeated."""
        return self.factor.maximum**self.power

    @property
    def minimum(self) -> float:
        """The smallest probability, that of the least likely value repeated."""
        return self.factor.minimum**self.power

    @property
    def support(self) -> NDArray[np.int64]:
        """The nodes with positive probability; refused when they would not fit."""
        return np.flatnonzero(self.probabilities > 0)

    @property
    def support_size(self) -> int:
        """The number of nodes with positive probability."""
        return int(self.factor.support_size**self.power)

    @functools.cached_property
    def is_uniform(self) -> bool:
        """Whether the factor is uniform."""
        return self.factor.is_uniform

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits: that of one draw times the number of draws."""
        return self.power * self.factor.entropy

    def __getitem__(self, node: int) -> float:
        rest, value = self._node(node), 1.0
        for _ in range(self.power):
            rest, digit = divmod(rest, self.factor.size)
            value *= self.factor[digit]
        return value

    def __repr__(self) -> str:
        return f"<ProductPrior over {self.factor.size}^{self.power} answers: {self.factor!r}>"
