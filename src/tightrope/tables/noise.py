r"""What the noise in a measured table varies by, for each neighbour relation.

Under ``add-remove`` one person changes one cell by one: independent two-sided geometric noise at ε
in every cell, of variance

.. math:: v = \frac{2\alpha}{(1-\alpha)^2} = \frac{1}{2\sinh^2(\varepsilon/2)},
          \qquad \alpha = e^{-\varepsilon}.

Under ``change-one`` one person changes two cells by one and the total is public. The noise
:math:`\alpha^{|z|_1/2}` on :math:`\sum z = 0` is independent noise at ε/2 conditioned on its total.
Write it as :math:`z = a - b` with geometric a and b: given :math:`\sum a = \sum b = N` both are
uniform compositions of N into c parts, so the covariance is :math:`v(I - J/c)` with

.. math:: v = \frac{2\,E[N(N+c)]}{c(c+1)},
          \qquad P(N) \propto \binom{N+c-1}{c-1}^2 \alpha^N.

By :math:`\sum_N \binom{N+n}{n}^2 \alpha^N = (1-\alpha)^{-2n-1} \sum_k \binom{n}{k}^2 \alpha^k` (the
growth series of the root lattice :math:`A_n`), N is a sum of two independent numbers whose
cumulants are known. For many cells independent noise at ε/2 takes its place, which has no largest
size. How much more variance it has is bounded:

**Statement.** With :math:`a = e^{-\varepsilon/2}` and :math:`\kappa = (1+a^2)/(2a(1+a))`,
independent noise at ε/2 has at most

.. math:: \frac{c(c+1)}{(c-1)(c-\kappa)}

times the variance of joint noise in a cell, if :math:`c > \kappa`: about 2.5/c more where ε is
small.

**Proof.** The weights of N obey :math:`(N+1)^2 p_{N+1} = \alpha (N+c)^2 p_N`, so
:math:`E[N^2] = \alpha E[(N+c)^2]`. With :math:`m = E[N]` this is
:math:`E[N^2] = \alpha(2cm + c^2)/(1-\alpha)`, hence
:math:`v = 2((1+\alpha)m + \alpha c)/((c+1)(1-\alpha))`, and

.. math:: \mathrm{Var}\,N = (\mu - m)\Bigl(m + \frac{ca}{1+a}\Bigr), \qquad
          \mu = \frac{ca}{1-a},

as :math:`\alpha = a^2`; so m is at most :math:`\mu`. N is a negative binomial number, whose
variance is its mean over :math:`1-\alpha`, and one with weights :math:`\binom{n}{k}^2\alpha^k`.
That polynomial is :math:`(1-\alpha)^n P_n(\frac{1+\alpha}{1-\alpha})` with Legendre's
:math:`P_n`: all its roots are real and negative, so that number is a sum of independent 0s and 1s,
of a variance of at most its mean. So :math:`\mathrm{Var}\,N \le m/(1-\alpha)`, and

.. math:: \mu - m \le \frac{1}{1-\alpha} \cdot \frac{m}{m + ca/(1+a)}
          \le \frac{1}{1-\alpha} \cdot \frac{1+a}{2} = \frac{1}{2(1-a)},

as the quotient rises in m up to :math:`\mu`. Put into v, and with
:math:`v_{\text{ind}} = 2a/(1-a)^2`, this is
:math:`v \ge v_{\text{ind}}\,(c-\kappa)/(c+1)`; a cell of joint noise has the variance
:math:`v(1-1/c)`. ∎

This compares two kinds of noise. How far either is from the best of all private mechanisms for many
cells is not proved: the floor of :mod:`tightrope.tables.floors` is :math:`2\cosh(\varepsilon/4)`
times below independent noise, in root mean square. In the limit of small ε and many cells the
volume of the root polytope allows no more than a factor :math:`\sqrt{\pi/e} = 1.075`, but that
argument is for sets without a grain.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import InputError


@dataclass(frozen=True)
class Relation:
    """How tables of neighbouring databases differ, and the noise that is drawn for it.

    Attributes
    ----------
    name
        The neighbour relation.
    touched
        How many cells of a table one person changes by one.
    total_known
        Whether the number of people is public: no ε is needed for it.
    joint_cells
        The largest table that gets the joint noise; beyond it the noise is independent.

    Examples
    --------
    >>> f"{ADD_REMOVE.variance(1.0, 18):.4f} {CHANGE_ONE.variance(1.0, 2):.4f}"
    '1.8413 3.6827'
    >>> round(CHANGE_ONE.variance(1.0, 101) / CHANGE_ONE.variance(1.0, 100), 3)
    1.016
    """

    name: str
    touched: int
    total_known: bool
    joint_cells: int

    def is_joint(self, cells: int, width: int = 1) -> bool:
        """Return whether the noise of a table is drawn for all its cells together."""
        return 2 <= cells <= self.joint_cells and width == 1

    def variance(self, epsilon: float, cells: int, width: int = 1) -> float:
        """Return v: the covariance of the noise is v·I, or v·(I − J/c) where it is joint.

        Parameters
        ----------
        epsilon
            The share of ε that the table is measured with.
        cells
            The number of cells of the table.
        width
            By how much one person can change a cell: 1 for counts, the range for sums.
        """
        precision, _ = self.precisions(
            np.array([epsilon]), np.array([cells]), np.array([width])
        )
        return float(1 / precision[0])

    def precisions(
        self, epsilons: Floats, cells: Ints, widths: Ints
    ) -> tuple[Floats, Floats]:
        """Return 1/v of many tables, and the derivatives by their ε."""
        scales = self.touched * widths
        halves = epsilons / scales / 2
        precision = 2 * np.sinh(halves) ** 2
        slope = np.sinh(epsilons / scales) / scales
        is_joint_size = (cells >= 2) & (cells <= self.joint_cells)
        joint = is_joint_size & (widths == 1)
        if joint.any():
            precision[joint], slope[joint] = _joint_precisions(
                epsilons[joint], tuple(cells[joint].tolist())
            )
        return precision, slope


#: One person more or less.
ADD_REMOVE = Relation("add-remove", 1, False, 0)
#: One person's values change; everybody is in the table. Beyond 100 cells the joint noise has at
#: most 1.4 % less root mean square error for ε ≤ 1, and its mechanism files grow.
CHANGE_ONE = Relation("change-one", 2, True, 100)

#: One person may come, go or change: two cells, and nobody knows the total.
EITHER = Relation("either", 2, False, 0)


def independent_excess(epsilon: float, cells: int) -> float:
    """Return how much more error independent noise has than joint noise, at most.

    In root mean square, as a share of the error of joint noise, under ``change-one``.

    >>> f"{independent_excess(1, 400):.5f}"
    '0.00338'
    """
    a = math.exp(-epsilon / 2)
    kappa = (1 + a * a) / (2 * a * (1 + a))
    if cells <= max(kappa, 1):
        return math.inf
    numerator = cells * (cells + 1)
    ratio = numerator / ((cells - 1) * (cells - kappa))
    return math.sqrt(ratio) - 1


RELATIONS = {relation.name: relation for relation in (ADD_REMOVE, CHANGE_ONE, EITHER)}


def relation_of(name: str | Relation) -> Relation:
    """Return the relation of this name."""
    if isinstance(name, Relation):
        return name
    if name not in RELATIONS:
        raise InputError(
            f"tables are planned for the relations {', '.join(RELATIONS)}, got {name!r}"
        )
    return RELATIONS[name]


@functools.lru_cache(64)
def _log_squares(cells: tuple[int, ...]) -> Floats:
    """Logarithms of the squared binomial coefficients C(c−1, k)², a row for each table."""
    logs = np.full((len(cells), max(cells)), -np.inf)
    for row, c in zip(logs, cells, strict=True):
        row[:c] = [2 * math.log(math.comb(c - 1, k)) for k in range(c)]
    scaled: Floats = logs - logs.max(axis=1, keepdims=True)
    return scaled


def _joint_precisions(
    epsilons: Floats, cells: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Return 1/v and its derivative by ε for noise α^(|z|₁/2) on Σz = 0."""
    c = np.array(cells)
    odds = np.exp(-epsilons) / -np.expm1(-epsilons)
    # The first three cumulants of N: those of its negative binomial part, and those of k.
    parts = 2 * c - 1
    mean = parts * odds
    variance = mean * (1 + odds)
    skew = variance * (1 + 2 * odds)
    k = np.arange(max(cells))
    log_weights = _log_squares(cells) - epsilons[:, None] * k
    weights = np.exp(log_weights)
    weights /= weights.sum(axis=1, keepdims=True)
    first = weights @ k
    from_first = k - first[:, None]
    mean = mean + first
    variance = variance + (weights * from_first**2).sum(axis=1)
    skew = skew + (weights * from_first**3).sum(axis=1)
    scale = 2 / (c * (c + 1))
    v = scale * (variance + mean**2 + c * mean)
    # d/dε E[N² + cN] = −Cov(N² + cN, N), as ε tilts the law of N.
    slope = -scale * (skew + (2 * mean + c) * variance)
    return 1 / v, -slope / v**2
