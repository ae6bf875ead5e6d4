r"""Answers on a line: when the order of the nodes means something, and what is easy there.

The best remap of geometric noise needs no matrix. For output o the guesses are weighed by
:math:`q_o(i) = \pi_i \alpha^{|i-o|}`. One-sided sums

.. math:: L_o = \sum_{i \le o} \pi_i \alpha^{o-i}, \qquad R_o = \sum_{i > o} \pi_i \alpha^{i-o}

and their moments come from a recursion each, and everything that is needed of :math:`q_o`
follows: the weight beyond :math:`k \ge o` is :math:`\alpha^{k-o} R_k`. So the best guess for
absolute loss, the weighted median, takes one binary search for all outputs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, path_order

if TYPE_CHECKING:
    from tightrope.consumers.consumer import Consumer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def line_order(graph: AnswerGraph) -> NDArray[np.int64]:
    """Return the nodes in their order along the line: a path may be numbered in any way.

    >>> from tightrope.graphs import ExplicitGraph
    >>> line_order(ExplicitGraph([(0, 2), (2, 1)])).tolist()
    [0, 2, 1]
    """
    if graph.is_line:
        return np.arange(graph.size)
    if not graph.is_path:
        raise InputError(
            f"this needs answers on a line, such as a count, a sum or a path, got {graph.name}"
        )
    return path_order(graph)


@dataclass(frozen=True, eq=False)
class LineRemap:
    r"""The best guess for each output of geometric noise, and what it costs.

    Parameters
    ----------
    guess
        The guess for each output.
    values
        :math:`v_o = \min_k \sum_i \pi_i \alpha^{|i-o|} \ell(i,k)`.

    Examples
    --------
    >>> LineRemap(np.array([0]), np.array([0.0])).guess.tolist()
    [0]
    """

    guess: Ints
    values: Floats


def line_remap(consumer: Consumer, alpha: float) -> LineRemap | None:
    """Return the best remap on a line in order, or ``None`` if the loss has no rule here.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> consumer = Consumer.of(PathPower(3), prior="0.1,0.8,0.1", loss="absolute")
    >>> line_remap(consumer, 0.5).guess.tolist()
    [1, 1, 1]
    """
    prior, loss = consumer.prior.probabilities, consumer.loss
    if loss.is_binary and loss.guess_count == loss.size:
        return _likeliest(prior, alpha)
    if loss.step_rule is None:
        return None
    power, step = loss.step_rule
    return (_mean if power == 2 else _median)(prior, alpha, float(step))


def _one_sided(prior: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
    r"""Return sums over :math:`j \ge 0` of :math:`\pi_{i-j} \alpha^j j^p` for p = 0, 1, 2."""
    from scipy.linalg import solve_banded

    bands = np.ones((2, len(prior)))
    bands[1] = -alpha

    def running(values: Floats) -> Floats:
        """Solve y_i = α y_{i-1} + x_i."""
        return np.asarray(solve_banded((1, 0), bands, values))

    def shifted(values: Floats) -> Floats:
        return np.concatenate([[0.0], alpha * values[:-1]])

    zeroth = running(prior)
    # Σ j α^j and Σ j² α^j are sums of the sums before them: no powers of n appear.
    first = running(shifted(zeroth))
    second = running(shifted(zeroth + 2 * first))
    return zeroth, first, second


def _sides(prior: Floats, alpha: float) -> tuple[list[Floats], list[Floats]]:
    """Left sums including the place itself, right sums without it."""
    left = list(_one_sided(prior, alpha))
    right = [side[::-1] for side in _one_sided(prior[::-1], alpha)]
    right[0] = right[0] - prior
    return left, right


def _median(prior: Floats, alpha: float, step: float) -> LineRemap:
    (left, left1, _), (right, right1, _) = _sides(prior, alpha)
    n = len(prior)
    here = np.arange(n)
    total = left + right
    low, high = np.zeros(n, np.int64), np.full(n, n - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reach = alpha ** np.abs(middle - here).astype(float)
        # Weight up to the middle: α^{o-k} L_k below o, and all but α^{k-o} R_k from o on.
        enough = np.where(
            middle >= here, reach * right[middle] <= total / 2, reach * left[middle] >= total / 2
        )
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
    guess = low
    gap = np.abs(guess - here).astype(float)
    reach = alpha**gap
    lean = right1 - left1
    above = gap * total - lean + 2 * reach * right1[guess]
    below = gap * total + lean + 2 * reach * left1[guess]
    return LineRemap(guess, step * np.maximum(np.where(guess >= here, above, below), 0.0))


def _mean(prior: Floats, alpha: float, step: float) -> LineRemap:
    (left, left1, left2), (right, right1, right2) = _sides(prior, alpha)
    here = np.arange(len(prior))
    total, lean, spread = left + right, right1 - left1, left2 + right2
    offset = np.divide(lean, total, out=np.zeros_like(total), where=total > 0)
    guess = np.clip(np.ceil(here + offset - 0.5), 0, len(prior) - 1).astype(np.int64)
    move = (guess - here).astype(float)
    values = spread - 2 * move * lean + move**2 * total
    return LineRemap(guess, step * np.maximum(values, 0.0))


def _likeliest(prior: Floats, alpha: float) -> LineRemap:
    n = len(prior)
    guess, best = np.zeros(n, np.int64), np.zeros(n)
    weights = prior.tolist()
    # Of equal weights the smallest guess is taken: the first from the left, the last from the
    # right, and the left one of the two.
    value, place = 0.0, 0
    for i in range(n):
        value *= alpha
        if weights[i] > value:
            value, place = weights[i], i
        best[i], guess[i] = value, place
    value = 0.0
    for i in range(n - 1, -1, -1):
        value *= alpha
        if weights[i] >= value:
            value, place = weights[i], i
        if value > best[i]:
            best[i], guess[i] = value, place
    total = np.add(*(side[0] for side in _sides(prior, alpha)))
    return LineRemap(guess, total - best)
