r"""Priors: what is known about the true answer before anything is reported.

A :class:`Prior` gives a probability :math:`\pi_i` to every node of an answer graph
[A, §2; C, §2.3]. Uniform and product priors know their size, largest entry and support by
rule, so that :math:`4^{20}` databases need no list.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.consumers.numerals import to_exact, to_float
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs.base import ROW_LIMIT

#: How far the sum of the probabilities may lie from 1.
PRIOR_SUM_TOLERANCE = 1e-9
#: Largest number of nodes for which the probabilities of a family are made as fractions.
EXACT_LIMIT = 2048


class Prior:
    """Probabilities over the nodes of an answer graph, in node order.

    Values never change. Subclasses know their probabilities by rule; other ways to make one:
    :meth:`uniform`, :meth:`point`, :meth:`binomial`, :meth:`geometric`, :meth:`poisson`, and
    :func:`~tightrope.consumers.prior` for texts and files.

    Parameters
    ----------
    probabilities
        Numbers, fractions or texts such as ``"1/3"``: finite, non-negative, with sum 1 within
        ``PRIOR_SUM_TOLERANCE``. Nothing is repaired.

    Attributes
    ----------
    size
        The number of nodes.

    Examples
    --------
    >>> known = Prior(["1/2", "1/4", "1/4"])
    >>> known.maximum, known.exact[0], known.support.tolist()
    (0.5, Fraction(1, 2), [0, 1, 2])
    >>> Prior([0.5, 0.499])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: probabilities must sum to 1 (within 1e-09), got the sum 0.999
    """

    size: int

    def __init__(self, probabilities: ArrayLike | Iterable[float | str | Fraction]) -> None:
        given, values = _read(probabilities)
        self._values = _check_distribution(values)
        self._given = given
        self._rule: Callable[[], tuple[Fraction, ...]] | None = None
        self.size = len(values)

    @classmethod
    def by_rule(
        cls, values: NDArray[np.float64], exact: Callable[[], tuple[Fraction, ...]]
    ) -> Prior:
        """Return a prior whose fractions come from a rule, called when they are asked for."""
        prior = cls(values)
        prior._rule = exact
        return prior

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """All probabilities in node order (read-only)."""
        return self._values

    @functools.cached_property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions: as given, floats as the decimals they print as."""
        if self._rule is not None:
            if self.size > EXACT_LIMIT:
                raise TooLarge(
                    f"fractions of a family are made for at most {EXACT_LIMIT} answers, "
                    f"got {self.size}: list the probabilities instead"
                )
            return self._rule()
        source = self._values.tolist() if self._given is None else self._given
        return tuple(map(to_exact, source))

    @functools.cached_property
    def is_uniform(self) -> bool:
        """Whether all probabilities are equal, as the numbers they were given as."""
        if self.maximum != self.minimum:
            return False
        return self._given is None or len(set(map(to_exact, self._given))) == 1

    def __getitem__(self, node: int) -> float:
        return float(self._values[self._node(node)])

    # -- what a kind may say better by rule -----------------------------------------------

    @property
    def maximum(self) -> float:
        """The largest probability: the vulnerability before any report [B, §2.1]."""
        return float(self.probabilities.max())

    @property
    def minimum(self) -> float:
        """The smallest probability."""
        return float(self.probabilities.min())

    @property
    def support(self) -> NDArray[np.int64]:
        """The nodes with positive probability (as floats), in increasing order."""
        return np.flatnonzero(self.probabilities > 0)

    @property
    def support_size(self) -> int:
        """The number of nodes with positive probability."""
        return len(self.support)

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits."""
        positive = self.probabilities[self.probabilities > 0]
        return float(-(positive * np.log2(positive)).sum()) + 0.0

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[float]:
        return iter(self.probabilities.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Let NumPy take the probabilities."""
        return np.array(self.probabilities, dtype=dtype)

    def _repr_html_(self) -> str:
        from tightrope.consumers.display import prior_html

        return prior_html(self)

    def __repr__(self) -> str:
        first = ", ".join(f"{self[i]:.4g}" for i in range(min(self.size, 4)))
        more = ", …" if self.size > 4 else ""
        return f"<{type(self).__name__} over {self.size} answers: {first}{more}>"

    def _node(self, node: int) -> int:
        if not -self.size <= node < self.size:
            # A plain IndexError ends iteration over sequences as Python expects.
            raise IndexError(f"node must be in 0 … {self.size - 1}, got {node}")
        return int(node) % self.size

    def _check_row(self) -> None:
        if self.size > ROW_LIMIT:
            raise TooLarge(
                f"the probabilities of this prior would be {self.size} numbers, more than "
                f"{ROW_LIMIT}: ask for single nodes, maximum, minimum or entropy instead"
            )

    # -- families -------------------------------------------------------------------------

    @staticmethod
    def uniform(size: int) -> UniformPrior:
        """Return the uniform prior, which holds no list.

        >>> Prior.uniform(4**20).maximum == 4.0**-20
        True
        """
        return UniformPrior(size)

    @staticmethod
    def point(size: int, node: int) -> Prior:
        """Return the prior of somebody who knows the answer.

        >>> Prior.point(3, 1).probabilities.tolist()
        [0.0, 1.0, 0.0]
        """
        values = np.zeros(whole_number(size, "the number of answers"))
        values[whole_number(node, "node", 0, size - 1)] = 1
        return Prior(values)

    @staticmethod
    def binomial(size: int, p: float | str | Fraction) -> Prior:
        r"""Return :math:`\binom{n-1}{k} p^k (1-p)^{n-1-k}` over :math:`k = 0 … n-1`.

        >>> Prior.binomial(3, 0.5).probabilities.tolist()
        [0.25, 0.5, 0.25]
        """
        from tightrope.consumers.families import binomial

        return binomial(size, p)

    @staticmethod
    def geometric(size: int, p: float | str | Fraction) -> Prior:
        r"""Return :math:`(1-p)^k p`, conditioned on :math:`k < n`: weights :math:`(1-p)^k`.

        >>> Prior.geometric(2, "1/2").exact
        (Fraction(2, 3), Fraction(1, 3))
        """
        from tightrope.consumers.families import geometric

        return geometric(size, p)

    @staticmethod
    def poisson(size: int, mean: float | str | Fraction) -> Prior:
        r"""Return :math:`e^{-λ} λ^k / k!`, conditioned on :math:`k < n`: weights :math:`λ^k/k!`.

        >>> Prior.poisson(3, 2).exact
        (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
        """
        from tightrope.consumers.families import poisson

        return poisson(size, mean)


class UniformPrior(Prior):
    """Every answer equally likely, by rule.

    >>> UniformPrior(4)
    <UniformPrior over 4 answers: 0.25 each>
    """

    def __init__(self, size: int) -> None:
        self.size = whole_number(size, "the number of answers")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """All probabilities in node order (read-only); refused when they would not fit."""
        self._check_row()
        return np.broadcast_to(np.float64(self.maximum), (self.size,))

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """All probabilities as fractions."""
        self._check_row()
        return (Fraction(1, self.size),) * self.size

    @property
    def maximum(self) -> float:
        """The probability of every answer."""
        return float(Fraction(1, self.size))

    minimum = maximum

    @functools.cached_property
    def is_uniform(self) -> bool:
        """Yes."""
        return True

    @property
    def support(self) -> NDArray[np.int64]:
        """All nodes."""
        self._check_row()
        return np.arange(self.size)

    @property
    def support_size(self) -> int:
        """The number of nodes."""
        return self.size

    @property
    def entropy(self) -> float:
        """The Shannon entropy in bits."""
        return math.log2(self.size)

    def __getitem__(self, node: int) -> float:
        self._node(node)
        return self.maximum

    def __repr__(self) -> str:
        return f"<UniformPrior over {self.size} answers: {self.maximum:.4g} each>"


def _read(source: Any) -> tuple[tuple[object, ...] | None, NDArray[np.float64]]:
    """Return what must be kept to be exact (or ``None``), and the numbers as floats."""
    if isinstance(source, Prior):
        return source.exact, np.array(source.probabilities)
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InputError(
            f"probabilities must be a list of numbers, got {str(source)[:40]!r}; "
            "for a text use prior(text, graph)"
        )
    if isinstance(source, np.ndarray) and source.dtype.kind in "fiu":
        if source.ndim != 1:
            raise InputError(f"probabilities must be one row of numbers, got shape {source.shape}")
        return None, source.astype(np.float64)
    given = tuple(source)
    values = np.empty(len(given))
    for place, value in enumerate(given):
        try:
            values[place] = to_float(value)
        except InputError as wrong:
            raise InputError(f"{wrong} at position {place} (counting from 0)") from None
    plain = all(type(value) is float for value in given)
    return (None if plain else given), values


def _check_distribution(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) == 0:
        raise InputError("a prior needs at least one probability, got none")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise InputError(
            f"probabilities must be finite and non-negative, got {values[bad[0]]:.12g} "
            f"at position {bad[0]} (counting from 0)"
        )
    total = float(values.sum())
    if not abs(total - 1) <= PRIOR_SUM_TOLERANCE:
        raise InputError(
            f"probabilities must sum to 1 (within {PRIOR_SUM_TOLERANCE:g}), "
            f"got the sum {total:.12g}"
        )
    values.flags.writeable = False
    return values
