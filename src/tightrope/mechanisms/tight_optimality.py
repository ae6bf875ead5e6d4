r"""Whether the tight-constraints mechanism is optimal for one prior, regular or not.

A vector λ is a *dual certificate* for a prior π under binary loss when
:math:`\lambda \cdot r \ge \pi_i r_i` for every answer i and every privacy column r (that is,
:math:`r \ge 0` and :math:`\alpha r_a \le r_b` on every edge): then no private mechanism has a
utility above :math:`\sum\lambda`. The mechanism :math:`\Phi\,\mathrm{diag}(z)` reaches
:math:`\sum_j z_j v_j` with :math:`v_j = \max_i \pi_i \alpha^{d(i,j)}`, so
:math:`\lambda = \Phi^{-1}v` proves it optimal if it is a certificate.

Where every :math:`z_j > 0` the converse holds too: by complementary slackness an optimal λ has
:math:`(\Phi\lambda)_j = v_j` wherever :math:`z_j > 0`, so there is no other candidate. On a tree
λ always is a certificate: both v and r satisfy :math:`x_c \ge \alpha x_p`, and

.. math::

   v^\top\Phi^{-1}r = v_i r_i
       + \sum_{p \to c} \frac{(v_c-\alpha v_p)(r_c-\alpha r_p)}{1-\alpha^2}

for any root i, with :math:`v_i \ge \pi_i`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.phi import Phi

#: How far below zero the least value of λ·r - π_i r_i may be, over columns with sum 1.
CERTIFICATE_TOLERANCE = 1e-9
#: Largest number of answers times edges for which the certificate is tested by linear programs.
TEST_WORK = 400_000
#: Largest number of answers for which v is taken from all distances.
DENSE_ANSWERS = 6000


@dataclass(frozen=True)
class Optimality:
    r"""Whether the tight-constraints mechanism is optimal for a prior under binary loss.

    Parameters
    ----------
    verdict
        ``"yes"``, ``"no"``, or ``"undecided"`` when the candidate fails but, some z being zero,
        another certificate may exist.
    certificate
        The candidate :math:`\lambda = \Phi^{-1}v`.
    utility
        :math:`\sum\lambda`, the mechanism's utility with its best remap.
    margin
        The least :math:`\lambda \cdot r - \pi_i r_i` over privacy columns with sum 1 (0 on
        trees, where it cannot be negative).
    witness
        Where the candidate fails: the answer i and the column r, or ``None``.
    reason
        Why, in words.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.mechanisms.tight import tight_constraints
    >>> found = tight_constraints(Star(3), "ln(4)").is_optimal_for([0.7, 0.1, 0.1, 0.1])
    >>> found.verdict, found.reason
    ('yes', 'on a tree the candidate is a certificate for every prior')
    """

    verdict: str
    certificate: NDArray[np.float64]
    utility: float
    margin: float
    witness: tuple[int, NDArray[np.float64]] | None
    reason: str


def candidate_test(
    graph: AnswerGraph, epsilon: Epsilon, z: NDArray[np.float64], prior: ArrayLike
) -> Optimality:
    r"""Test the candidate certificate of a prior.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Clique
    >>> candidate_test(Clique(3), Epsilon.of(1), np.full(3, 0.5761168847658291), [1/3] * 3).verdict
    'yes'
    """
    phi = Phi(graph, epsilon)
    pi = phi.check_vector(prior, "the prior")
    bad = np.flatnonzero(pi < 0)
    if len(bad) or abs(pi.sum() - 1) > 1e-9:
        place = f"{pi[bad[0]]} at position {bad[0]}" if len(bad) else f"the sum {pi.sum():.12g}"
        raise InputError(f"a prior must be non-negative with sum 1, got {place}")
    tree = not graph.has_lengths and graph.is_tree
    if not tree and graph.size * graph.edge_count > TEST_WORK:
        raise TooLarge(
            f"the certificate on {graph.name} would need {graph.size} linear programs with "
            f"{2 * graph.edge_count} constraints each; {TEST_WORK} answers × edges are the limit"
        )
    v = reach(phi, pi)
    certificate = phi.solve(v).values
    utility = float(z @ v)
    if tree:
        reason = "on a tree the candidate is a certificate for every prior"
        return Optimality("yes", certificate, utility, 0.0, None, reason)
    margin, witness = _worst(graph, phi.alpha, certificate, pi)
    if margin >= -CERTIFICATE_TOLERANCE:
        reason = "the candidate is a certificate"
        return Optimality("yes", certificate, utility, margin, None, reason)
    if z.min() > CERTIFICATE_TOLERANCE:
        reason = "the only candidate fails: with every z positive no other certificate fits"
        return Optimality("no", certificate, utility, margin, witness, reason)
    reason = "the candidate fails, but some z is zero and leaves room for others"
    return Optimality("undecided", certificate, utility, margin, witness, reason)


def reach(phi: Phi, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return :math:`v_j = \max_i \pi_i \alpha^{d(i,j)}`.

    >>> from tightrope.graphs import PathPower
    >>> reach(Phi(PathPower(4), "ln(2)"), np.array([0.8, 0.1, 0.1, 0.0])).tolist()
    [0.8, 0.4, 0.2, 0.1]
    """
    from tightrope.phi.structure import TreeStructure

    graph = phi.graph
    if not graph.has_lengths and graph.is_tree:
        structure = phi.structure
        if not isinstance(structure, TreeStructure):
            structure = TreeStructure(graph)
        return structure.reach(phi.alpha, prior)
    if graph.size > DENSE_ANSWERS:
        raise TooLarge(f"v on {graph.name} needs all distances: at most {DENSE_ANSWERS} answers")
    return np.array([(phi.row(j) * prior).max() for j in range(graph.size)])


def _worst(
    graph: AnswerGraph, alpha: float, certificate: NDArray[np.float64], prior: NDArray[np.float64]
) -> tuple[float, tuple[int, NDArray[np.float64]] | None]:
    """Return the least λ·r - π_i r_i over privacy columns with sum 1, and where it is reached."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    ends = graph.edge_array()
    rate = alpha ** graph.edge_lengths()
    count = len(ends)
    rows = np.concatenate([np.arange(2 * count)] * 2)
    columns = np.concatenate([ends[:, 0], ends[:, 1], ends[:, 1], ends[:, 0]])
    values = np.concatenate([np.tile(rate, 2), -np.ones(2 * count)])
    private = csr_array((values, (rows, columns)), shape=(2 * count, graph.size))
    least, where = np.inf, None
    for i in np.flatnonzero(prior > 0):
        cost = certificate.copy()
        cost[i] -= prior[i]
        found = linprog(
            cost,
            A_ub=private,
            b_ub=np.zeros(2 * count),
            A_eq=np.ones((1, graph.size)),
            b_eq=[1.0],
            method="highs",
        )
        if found.fun < least:
            least, where = float(found.fun), (int(i), np.asarray(found.x))
    return least, where
