r"""The tight-constraints mechanism, :math:`X = \Phi\,\mathrm{diag}(z)`, and all mechanisms by name.

The first is optimal for every ε-regular prior under binary loss [A, Thm 3], and on a tree for every
prior. It exists iff :math:`\Phi z = 1` has a solution :math:`z \ge 0` [A, Lemma 3].

It may be optimal for a prior that is not regular: a vector λ is a *dual certificate* for a
prior π under binary loss when :math:`\lambda \cdot r \ge \pi_i r_i` for every answer i and every
privacy column r (that is, :math:`r \ge 0` and :math:`\alpha r_a \le r_b` on every edge): then no
private mechanism has a utility above :math:`\sum\lambda`. The mechanism reaches
:math:`\sum_j z_j v_j` with :math:`v_j = \max_i \pi_i \alpha^{d(i,j)}`, so
:math:`\lambda = \Phi^{-1}v` proves it optimal if it is a certificate.

Where every :math:`z_j > 0` the converse holds too: by complementary slackness an optimal λ has
:math:`(\Phi\lambda)_j = v_j` wherever :math:`z_j > 0`, so there is no other candidate. On a tree
λ always is a certificate, whether the mechanism exists or not: both v and r satisfy
:math:`x_c \ge \alpha x_p`, and

.. math::

   v^\top\Phi^{-1}r = v_i r_i
       + \sum_{p \to c} \frac{(v_c-\alpha v_p)(r_c-\alpha r_p)}{1-\alpha^2}

for any root i, with :math:`v_i \ge \pi_i`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import Floats
from tightrope.channels import Channel, ScaledPhi
from tightrope.channels.structured import log_alpha_sum
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.mechanisms.closed_forms import (
    exponential,
    geometric,
    randomized_response,
    ring,
)
from tightrope.phi import Phi, Solution
from tightrope.phi.cells import rational_ones
from tightrope.phi.existence import nearest_level
from tightrope.phi.operator import CONSISTENT_TOLERANCE
from tightrope.texts import Call, read_call


class NoTightConstraints(InputError):
    """There is no tight-constraints mechanism at this ε.

    Attributes
    ----------
    nearest
        An ε near the one asked for at which the mechanism exists.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> tight_constraints(Star(4), 1)
    Traceback (most recent call last):
    ...
    tightrope.mechanisms.tight.NoTightConstraints: no tight-constraints mechanism on star(4) at
    ε = 1: answer 0 would get the weight z = -0.0757657; the nearest ε that works is 1.098612
    """

    def __init__(self, problem: str, graph: AnswerGraph, epsilon: Epsilon) -> None:
        super().__init__(problem, graph, epsilon)
        self._problem = problem
        self._graph = graph
        self._epsilon = epsilon

    @functools.cached_property
    def nearest(self) -> float:
        """Looked for when it is asked for: it may take longer than a design."""
        return nearest_level(self._graph, float(self._epsilon))

    def __str__(self) -> str:
        return (
            f"no tight-constraints mechanism on {self._graph.name} at ε = {self._epsilon}: "
            f"{self._problem}; the nearest ε that works is {self.nearest:.6f}"
        )


class TightConstraints(ScaledPhi):
    r"""The tight-constraints mechanism of a graph, as a channel.

    Make one with :func:`tight_constraints`.

    Attributes
    ----------
    unique
        Whether no other tight-constraints mechanism exists at this ε (Φ may be singular).
    certain
        Whether :math:`z \ge 0` is proven rather than only computed.
    solution
        How z was found, how exactly, and in which directions it may be changed.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> counting = tight_constraints(PathPower(6), "ln(2)")      # the geometric mechanism
    >>> counting.row(0).round(4).tolist()
    [0.6667, 0.1667, 0.0833, 0.0417, 0.0208, 0.0208]
    """

    def __init__(
        self,
        graph: AnswerGraph,
        epsilon: Epsilon,
        z: ArrayLike,
        solution: Solution,
        certain: bool,
    ) -> None:
        super().__init__(graph, epsilon, z)
        self.solution = solution
        self.unique = solution.unique
        self.certain = certain

    @property
    def z(self) -> Floats:
        r"""The diagonal: :math:`\Phi z = 1`."""
        return self.scale

    @property
    def uniform_utility(self) -> float:
        """The probability of a right guess under the uniform prior: the mean of z [A, Cor 2]."""
        return self.column_maxima_sum() / self.graph.size

    def __repr__(self) -> str:
        kind = "the only one" if self.unique else "one of many"
        return f"<TightConstraints {self.graph.name}, ε = {self.epsilon}: {kind}>"


def tight_constraints(
    graph: AnswerGraph, epsilon: Level, phi: Phi | None = None
) -> TightConstraints:
    r"""Return the tight-constraints mechanism [A, Def 7].

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level.
    phi
        Φ of the same graph and level, where it is there already: its structure takes time.

    Raises
    ------
    NoTightConstraints
        When some entry of z is negative: with the nearest ε that works.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Clique, CartesianProduct
    >>> round(tight_constraints(PathPower(751, 5), 1).uniform_utility, 6)
    0.148323
    >>> people = tight_constraints(CartesianProduct([Clique(4)] * 20), "ln(2)")
    >>> round(people.constant_scale / 0.4**20, 12)
    1.0
    """
    level = Epsilon.of(epsilon)
    sizes = graph.constant_ball_sizes
    if sizes is not None:
        method = "closed form (constant ball sizes)"
        constant = exp(-log_alpha_sum(level, sizes))
        solution = Solution(np.zeros(0), 0.0, 0.0, method)
        if graph.size <= 64:
            solution = replace(Phi(graph, level).solve_ones(), method=method)
        return TightConstraints(graph, level, constant, solution, True)
    solution = (phi or Phi(graph, level)).solve_ones()
    z, certain = _decided(graph, level, solution)
    return TightConstraints(graph, level, z, solution, certain)


def _decided(
    graph: AnswerGraph, epsilon: Epsilon, solution: Solution
) -> tuple[Floats, bool]:
    """Return z and whether its sign is proven, or refuse."""
    where, smallest = solution.least
    if not solution.consistent:
        problem = "Φ is singular and Φz = 1 has no solution"
        raise NoTightConstraints(problem, graph, epsilon)
    positive = solution.positive
    # Where the error bound does not decide the sign, fractions do, if ε has a rational ratio.
    if positive is None:
        exact = rational_ones(graph, epsilon) if solution.unique else None
        if exact is not None:
            where = min(range(len(exact)), key=exact.__getitem__)
            if exact[where] >= 0:
                return np.array([float(z) for z in exact]), True
            positive = False
            smallest = float(exact[where])
        elif smallest >= 0:
            return solution.values, False
        elif not solution.unique and smallest > -CONSISTENT_TOLERANCE:
            return np.maximum(solution.values, 0), False
    if positive:
        return solution.values, True
    problem = f"answer {graph.label(where)!r} would get the weight z = {smallest:.6g}"
    if positive is None and solution.error is not None:
        problem += f" (undecided: the error is {solution.error:.2g})"
    raise NoTightConstraints(problem, graph, epsilon)


def candidate_prices(phi: Phi, prior: Floats) -> tuple[Floats, Floats]:
    r"""Return :math:`v_j = \max_i \pi_i \alpha^{d(i,j)}` and :math:`\lambda = \Phi^{-1}v`.

    On a tree λ is a certificate, so :math:`\sum\lambda` bounds the utility of every mechanism:

    >>> from tightrope.graphs import PathPower
    >>> v, prices = candidate_prices(Phi(PathPower(3), "ln(2)"), np.array([0.25, 0.5, 0.25]))
    >>> round(float(prices.sum()), 12)
    0.5
    """
    v = phi.reach(prior)
    return v, phi.solve(v).values


@dataclass(frozen=True)
class UtilityCurve:
    """Utility under the uniform prior over ε [A, Fig 6].

    Parameters
    ----------
    epsilons
        The levels, only those where the tight-constraints mechanism exists.
    tight
        The utility of the tight-constraints mechanism.
    geometric
        The utility of the geometric mechanism (one for each coordinate of a bundle).

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> curve = utility_curve(PathPower(751, 5), [0.8, 1, 1.3])
    >>> curve.epsilons, [round(u, 6) for u in curve.tight]
    ((1, 1.3), [0.148323, 0.212412])
    """

    epsilons: tuple[float, ...]
    tight: tuple[float, ...]
    geometric: tuple[float, ...]


def utility_curve(graph: AnswerGraph, epsilons: list[float]) -> UtilityCurve:
    r"""Return the two curves of Figure 6 at the given levels, skipping those without z ≥ 0.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> curve = utility_curve(StrongProduct([PathPower(31), PathPower(31)]), [1.2])
    >>> round(curve.tight[0], 6), round(curve.geometric[0], 6)
    (0.189963, 0.098705)
    """
    existing = []
    tight = []
    baseline = []
    for epsilon in epsilons:
        solution = Phi(graph, epsilon).solve_ones()
        if solution.values.min() >= 0:
            existing.append(epsilon)
            tight.append(float(solution.values.mean()))
            baseline.append(geometric(graph, epsilon).column_maxima_sum() / graph.size)
    return UtilityCurve(tuple(existing), tuple(tight), tuple(baseline))


# -- mechanisms by name -------------------------------------------------------------------

#: The mechanisms that can be named, each from a graph and a level to a channel.
KINDS: dict[str, Callable[[AnswerGraph, Level], Channel]] = {
    "exponential": exponential,
    "geometric": geometric,
    "response": randomized_response,
    "ring": ring,
    "tight": tight_constraints,
}


def mechanism(text: str) -> Call:
    """Read a text such as ``geometric:count(5)``: a mechanism, a colon, a query.

    Parameters
    ----------
    text
        The kind before the first colon is one of :data:`KINDS`; what follows is the text of a
        query.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> call = mechanism("geometric: count(5)")
    >>> str(call), KINDS[call.name](PathPower(6), "ln(2)").shape
    ('geometric:count(5)', (6, 6))
    >>> mechanism("laplace:count(5)")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown mechanism 'laplace' (known: exponential:QUERY, ...)
    at character 1 of 'laplace:count(5)': ▸laplace:count(5)
    """
    return read_call(text, "mechanism", [f"{kind}:QUERY" for kind in KINDS])
