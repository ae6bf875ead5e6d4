r"""No private mechanism has a smaller error than this, for all tables of a job together.

**Statement.** Let x be the full table of N cells without ends, and let each published table U have
the weight w_U, where the weights sum to 1. The mean over the cells of U of the squared errors,
averaged by the weights, is :math:`\zeta^T G \zeta` for an error :math:`\zeta` of x, with

.. math:: G = \sum_U \frac{w_U}{c_U} M_U^T M_U = \sum_T g_T E_T, \qquad
          g_T = \sum_{U \ge T} w_U \frac{N}{c_U^2},

:math:`M_U` adding up the cells of U and :math:`E_T` projecting on the residual space of T. For
whatever numbers :math:`0 \le r_T \le \sqrt{g_T}` let :math:`B = \sum_T r_T E_T` and let a be the
largest step that one person makes in a row of B. Every ε-private mechanism has a table x at which
the expected weighted mean square is at least

.. math:: N a^2 \, \frac{2\alpha}{(1-\alpha)^2}, \qquad \alpha = e^{-\varepsilon}.

**Proof.** *One row.* Let :math:`\varphi` be a row of B, and :math:`X_x = \hat\varphi - \varphi(x)`
the error of what a mechanism says of it at x. A person who is counted in cell i moves
:math:`\varphi(x)` by :math:`\varphi_i`, so privacy says
:math:`P(X_{x+i} \in A) \le e^\varepsilon P(X_x \in A + \varphi_i)`. Averaged over a growing box of
tables, both sides are about the same mean law X of errors, so that
:math:`P(X \in A) \le e^\varepsilon P(X \in A \pm a)` for the largest step a, and some table has at
least the mean square of X. (Under ``change-one`` steps are :math:`\varphi_i - \varphi_k`.)

*One number.* Take a = 1, and let :math:`H(t) = P(|X| > t)`. Shifting both tails by one step,
:math:`H(t) \ge \alpha H(t-1)` for t ≥ 1; and for 0 < t < 1, as the shifted tails overlap around 0,
:math:`H(t) \ge \alpha(2 - H(1-t))` for almost all t. Hence

.. math:: E X^2 = \int_0^\infty 2t H(t)\,dt \ge \int_0^1 u(t) H(t)\,dt, \qquad
          u(t) = \sum_{k \ge 0} 2(t+k)\alpha^k = \frac{2t}{1-\alpha} + \frac{2\alpha}{(1-\alpha)^2}.

For t < 1/2 consider :math:`p = H(t)` and :math:`q = H(1-t)` together: :math:`p + \alpha q \ge
2\alpha` and :math:`q + \alpha p \ge 2\alpha`. Their least :math:`u(t)p + u(1-t)q` is at
:math:`p = q = 2\alpha/(1+\alpha)`: u(1−t) is not below u(t), and along :math:`q = 2\alpha - \alpha
p` the objective rises by :math:`u(t) - \alpha u(1-t) = 2t(1+\alpha)/(1-\alpha) \ge 0`. So
:math:`E X^2 \ge \frac{2\alpha}{1+\alpha} \int_0^1 u = 2\alpha/(1-\alpha)^2`, the variance of
two-sided geometric noise.

*All rows.* :math:`\zeta^T G \zeta \ge \zeta^T B^T B \zeta`, the sum of the squares of all N rows,
as :math:`r_T^2 \le g_T`. All rows are alike: permuting the classes of a column takes one into
another. ∎

For one table under ``add-remove`` the floor is what independent geometric noise has: it is
attained. With :math:`r_T = \sqrt{g_T}` and ``add-remove`` it is
:math:`(\mathrm{tr}\,G^{1/2})^2 / N` times the variance of one count: the shape of the singular
value bound of Li and Miklau, which is for estimates by least squares from given noise; here it
holds for all mechanisms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.epsilon import Epsilon, Level
from tightrope.errors import CheckFailed
from tightrope.tables.domain import Levels
from tightrope.tables.noise import Relation
from tightrope.tables.planning import COUNT, Job

#: Roots are multiples of one over this: the floor is below the best one by less than 1e-9 of it.
_ROOT_GRAIN = 1 << 60


@dataclass(frozen=True)
class JobFloor:
    """A floor for the weighted mean square error of all tables of a job.

    Attributes
    ----------
    job
        The job: counts in columns that are not nested.
    epsilon
        Its privacy level.
    roots
        The numbers r_T of the theorem, by the levels of T.

    Examples
    --------
    >>> from tightrope.tables import plan
    >>> job = Job.of({"sex": 2, "region": 9}, [["sex"], ["region"], ["sex", "region"]])
    >>> least = job_floor(job, 1)
    >>> f"{least.error:.3f} {plan(job, 1).error:.3f}"
    '1.925 2.714'
    >>> one = Job.of({"region": 9}, [["region"]])
    >>> f"{job_floor(one, 1).error:.6f} {plan(one, 1).error:.6f}"  # attained
    '1.356962 1.356962'
    """

    job: Job
    epsilon: Epsilon
    roots: Mapping[Levels, Fraction]

    @functools.cached_property
    def mean_square(self) -> Fraction:
        """The floor, after the conditions of the theorem have been checked exactly."""
        squares = residual_weights(self.job)
        for levels, root in self.roots.items():
            # 0 ≤ r_T and r_T² ≤ g_T
            if not (root >= 0 and root * root <= squares[levels]):
                raise CheckFailed(
                    f"the floor needs 0 ≤ r² ≤ g on the space {levels}: r = {root}"
                )
        cells = math.prod(self.job.domain.sizes(self.job.domain.finest))
        step = _largest_step(self.job, self.roots)
        # 2α/(1 − α)² = 2x/(x − 1)² falls in x = e^ε: an x above e^ε is on the safe side.
        ratio = self.epsilon.ratio_above
        variance = 2 * ratio / (ratio - 1) ** 2
        return cells * step**2 * variance

    @property
    def error(self) -> float:
        """The root of the floor, rounded down."""
        return math.nextafter(math.sqrt(self.mean_square), 0)


def job_floor(job: Job, epsilon: Level) -> JobFloor | None:
    """Return the floor of a job, or nothing where the theorem does not apply.

    It is for counts in columns that are not nested: there all rows of B are alike.
    """
    is_nested = any(axis.depth > 1 for axis in job.domain.axes)
    if is_nested or job.measures != (COUNT,):
        return None
    squares = residual_weights(job)
    roots = {}
    for levels in np.ndindex(squares.shape):
        square = squares[levels]
        # Under change-one the total is public: no error of it counts.
        if square and not job.is_public(COUNT, levels):
            scaled = square * _ROOT_GRAIN**2
            roots[levels] = Fraction(math.isqrt(math.floor(scaled)), _ROOT_GRAIN)
    return JobFloor(job, Epsilon.of(epsilon), roots)


def residual_weights(job: Job) -> NDArray[Any]:
    """Return g_T for every margin T: what a squared error on its residual space weighs."""
    domain = job.domain
    full = math.prod(domain.sizes(domain.finest))
    total = sum(Fraction(table.weight) for table in job.tables)
    squares: NDArray[Any] = np.full(job.lattice, Fraction(0), object)
    for table in job.tables:
        cells = domain.cells(table.margin)
        weight = Fraction(table.weight) / total
        levels = domain.levels(table.margin)
        squares[levels] += weight * Fraction(full, cells**2)
    # g_T = Σ_{U ≥ T}: cumulative sums from the finest level down
    for dim in range(squares.ndim):
        flipped = np.cumsum(np.flip(squares, dim), dim)
        squares = np.flip(flipped, dim)
    return squares


def _largest_step(job: Job, roots: Mapping[Levels, Fraction]) -> Fraction:
    r"""Return the largest step of one person in a row of B.

    The entry of B at the cells i and j depends on which columns they agree in: it is
    :math:`\sum_T r_T \prod_{k \in T} ([i_k = j_k] - 1/c_k) \prod_{k \notin T} 1/c_k`.
    """
    entries: NDArray[Any] = np.full(job.lattice, Fraction(0), object)
    for levels, root in roots.items():
        entries[levels] = root
    for dim, axis in enumerate(job.domain.axes):
        classes = axis.sizes[-1]
        without, within = np.moveaxis(entries, dim, 0)
        agree = (without + (classes - 1) * within) / classes
        # Two different classes exist only where there are two.
        differ = [(without - within) / classes] if classes > 1 else []
        entries = np.stack([agree, *differ], axis=dim)
    return _step(job.relation, list(entries.flat))


def _step(relation: Relation, entries: list[Fraction]) -> Fraction:
    """Return the largest move between entries, or to one where people come and go."""
    moves = []
    if relation.touched == 2:  # somebody changes: from one cell to another
        moves.append(max(entries) - min(entries))
    if not relation.total_known:  # somebody comes or goes
        moves.append(max(map(abs, entries)))
    return max(moves)
