r"""What is minimised: a sum of costs, the worst loss, or a loss under a limit on leakage.

All of them are linear programs over private columns that sum to 1,

.. math:: \min \sum_k c_k \cdot x^k + d \cdot u \quad\text{with}\quad
   \sum_k x^k = 1,\; x^k \text{ private},\; \sum_k A_k x^k + B u \ge b,

with a few *side rows* and free variables u besides. Multipliers :math:`\mu \ge 0` of the side
rows with :math:`B^T \mu = d` turn the problem into the plain one with costs
:math:`c_k - A_k^T \mu` and the constant :math:`\mu \cdot b`: what its prices prove is a bound
for the whole problem. The columns sum to 1, so the constant can be spread over the answers and
added to the costs. Hence an engine needs to know two things of an objective: the side rows of
its master program, and the costs that multipliers amount to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.optimize.faces import Face
from tightrope.optimize.problem import Floats, Ints, Problem

#: What the columns sum to in programs with side rows: the larger, the less of it is the
#: absolute tolerance of the solver. Without side rows the final polish does the same.
TOTAL = 1e3


@dataclass(frozen=True, eq=False)
class SideRows:
    """What an objective adds to a master program.

    Parameters
    ----------
    costs
        What the columns cost by themselves, one column for each guess.
    extra
        The costs of the free variables.
    rows
        The side rows over the variables of the faces and the free ones, or ``None``.
    lower
        What each side row is at least.
    read
        Makes multipliers out of the duals of the side rows, and the constant that they bring,
        spread over the answers.
    total
        What the columns sum to in the program, whose solution is scaled back.

    Examples
    --------
    >>> side = SideRows(np.ones((2, 2)), np.zeros(0), None, np.zeros(0), lambda duals: (duals, 0.0))
    >>> side.lower.tolist(), side.total
    ([], 1.0)
    """

    costs: Floats
    extra: Floats
    rows: Any
    lower: Floats
    read: Callable[[Floats], tuple[Floats, Floats | float]]
    total: float = 1.0


@dataclass(frozen=True, eq=False)
class Objective:
    """What an engine minimises over private columns that sum to 1.

    As it stands it is the expected loss; a kind with side rows says what is different.

    Parameters
    ----------
    problem
        The graph, the level and the anchors; costs that choose the first faces.
    """

    problem: Problem

    @property
    def guesses(self) -> Ints:
        """The guesses that are worth a face: no other replaces them at no cost."""
        return self.problem.useful

    @property
    def first(self) -> Floats:
        """Multipliers that are valid, if not good."""
        return np.zeros(0)

    @property
    def loss_rows(self) -> tuple[Floats, Ints] | None:
        """Losses, and the answers at which their multipliers are a prior that is sought.

        Nothing where side rows are not of this kind.
        """
        return self.problem.costs, np.zeros(0, np.int64)

    def weighed(self, multipliers: Floats) -> Problem:
        """Return the problem with the costs that multipliers amount to."""
        return self.problem

    def worth(self, columns: dict[int, Floats]) -> float:
        """Return what is minimised, of columns for some of the problem's guesses."""
        costs = self.problem.costs
        copies = self.problem.copies
        losses = (copies[k] * (costs[:, k] @ x) for k, x in columns.items())
        return float(sum(losses))

    def side(self, faces: dict[int, Face], start: Ints) -> SideRows:
        """Return the side rows over the variables of the faces, which begin at ``start``."""
        return SideRows(
            self.problem.costs,
            np.zeros(0),
            None,
            np.zeros(0),
            lambda duals: (duals, 0.0),
        )


class ExpectedLoss(Objective):
    """The expected loss of a Bayesian consumer: the costs of the problem, no side rows.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> aim = ExpectedLoss(Problem(PathPower(2), Epsilon.of(1), np.ones((2, 2))))
    >>> aim.weighed(aim.first) is aim.problem
    True
    """


@dataclass(frozen=True, eq=False)
class MinimaxLoss(Objective):
    r"""The worst loss over a support: one side row for each class of possible answers.

    .. math:: \min t \quad\text{with}\quad t - \sum_k \ell(i,k)\,x^k_i \ge 0 \;\; (i \in S).

    The multipliers are a prior on S, and the costs are those of a Bayesian consumer with it.

    Parameters
    ----------
    problem
        The problem of a consumer with a uniform prior on the support.
    losses
        :math:`\ell`, one row for each answer.
    support
        S; a class of answers lies in it or outside. Guesses that are useless with a uniform prior
        on S are so with every prior on S.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> losses, prior = 1 - np.eye(3), np.array([0.5, 0.5, 0.0])
    >>> problem = Problem(PathPower(3), Epsilon.of(1), prior[:, None] * losses)
    >>> aim = MinimaxLoss(problem, losses, support=np.array([0, 1]))
    >>> aim.weighed(np.array([0.5, 0.25, 0.25])).costs[1].tolist()
    [0.25, 0.0, 0.25]
    """

    losses: Floats
    support: Ints

    @property
    def first(self) -> Floats:
        """A uniform prior on the support."""
        return even_on(self.support, self.problem.size)

    @property
    def loss_rows(self) -> tuple[Floats, Ints]:
        """The prior is sought on the support."""
        return self.losses, self.support

    def weighed(self, multipliers: Floats) -> Problem:
        """Return the problem of the Bayesian consumer with this prior."""
        return self.problem.weighed(multipliers[:, None] * self.losses)

    def worth(self, columns: dict[int, Floats]) -> float:
        """Return the worst loss."""
        copies = self.problem.copies
        lost = sum(
            (copies[k] * self.losses[:, k] * x for k, x in columns.items()), np.zeros(1)
        )
        return float(self.problem.class_means(lost)[self.support].max())

    def side(self, faces: dict[int, Face], start: Ints) -> SideRows:
        """Return one row for each class, the mean loss in it, against the worst loss t."""
        problem = self.problem
        losses = self.losses
        support = self.support
        classes, row = np.unique(problem.classes[support], return_inverse=True)
        size = problem.class_sizes[classes].astype(float)
        unit = self._unit
        worst = np.full(len(classes), start[-1])
        every_row = np.arange(len(classes))
        parts = [(every_row, worst, np.ones(len(classes)))]
        for (k, face), begin in zip(faces.items(), start.tolist(), strict=False):
            # ℓ(i,k)·x_i with x_i = shape_i·u, as a mean over the class and in units of the loss
            weight = problem.copies[k] / unit
            support_losses = weight * losses[support, k]
            lost = support_losses * face.shape[support] / size[row]
            parts.append((row, begin + face.component[support], -lost))
        column_count = int(start[-1]) + 1
        rows = side_rows(parts, (len(classes), column_count))

        def read(duals: Floats) -> tuple[Floats, float]:
            prior = np.zeros(problem.size)
            # The multiplier of a class is shared evenly by its answers.
            prior[support] = (shares(duals) / size)[row]
            return prior, 0.0

        none = np.zeros(len(classes))
        return SideRows(
            np.zeros_like(losses), np.array([unit]), rows, none, read, TOTAL
        )

    @functools.cached_property
    def _unit(self) -> float:
        """About the size of the worst loss; counted in it, entries that matter are near 1."""
        problem = self.problem
        losses = self.losses
        noise = problem.rates[self.support]
        # The loss of geometric noise whose outputs are read as the guess that suits them best.
        guessed = losses[np.ix_(self.support, losses.argmin(axis=1))]
        lost = (noise * guessed).sum(axis=1)
        by_answer = lost / noise.sum(axis=1)
        usual = float(by_answer.mean())
        smallest = 1e-6 * float(np.abs(losses).mean())
        return max(abs(usual), smallest, 1e-300)


def side_rows(parts: list[tuple[Ints, Ints, Floats]], shape: tuple[int, int]) -> Any:
    """Return side rows of a program from parts: rows, columns and entries.

    >>> side_rows([(np.array([1]), np.array([0]), np.array([2.0]))], (2, 1)).toarray().tolist()
    [[0.0], [2.0]]
    """
    from scipy.sparse import coo_array

    row, column, entry = map(np.concatenate, zip(*parts, strict=True))
    return coo_array((entry, (row, column)), shape).tocsr()


def even_on(support: Ints, size: int) -> Floats:
    """Return the uniform prior on a support.

    >>> even_on(np.array([0, 2]), 3).tolist()
    [0.5, 0.0, 0.5]
    """
    prior = np.zeros(size)
    prior[support] = 1 / len(support)
    return prior


def shares(weights: Floats) -> Floats:
    """Return rows of what is positive, divided by their sums; even ones where nothing is.

    >>> shares(np.array([[3.0, 1.0], [0.0, -1e-12]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    weights = np.maximum(weights, 0.0)
    sums = weights.sum(axis=-1, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[-1])
    return np.asarray(np.divide(weights, sums, out=even, where=sums > 0))
