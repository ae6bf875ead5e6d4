r"""Monotone losses: no guess is better than one that lies closer to the truth on the same side.

On a path the geometric mechanism, remapped, is optimal for every monotone loss
[C, Thm 2.7, 2.8]; without monotonicity this fails.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.line import line_order
from tightrope.consumers.losses import Loss
from tightrope.consumers.named_losses import BinaryLoss, CoordinateLoss, DistanceLoss
from tightrope.consumers.numerals import to_exact
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph


class Monotone(NamedTuple):
    r"""Whether a loss is monotone, with the triple that shows it is not.

    Attributes
    ----------
    result
        Whether :math:`\ell(i,k) \le \ell(i,k')` whenever k lies between i and k', or is i.
    witness
        ``(i, k, k')`` as nodes, with k between i and k' and :math:`\ell(i,k) > \ell(i,k')`;
        ``None`` when monotone.
    symmetric
        Whether it also depends on i and :math:`|i-k|` alone, as [C, §2.3] asks: guesses equally
        far on either side cost the same.
    unequal
        ``(i, k, k')`` equally far from i on either side with different losses, or ``None``.

    Examples
    --------
    >>> Monotone(True, None, True, None).result
    True
    """

    result: bool
    witness: tuple[int, int, int] | None
    symmetric: bool
    unequal: tuple[int, int, int] | None


def is_monotone(loss: Loss, graph: AnswerGraph) -> Monotone:
    r"""Decide whether a loss never falls with :math:`|i-k|`, on either side of the truth i.

    Distances are counted along the line of the answers. Named losses are decided by rule, all
    others by comparing the numbers they hold, without a tolerance.

    Parameters
    ----------
    loss
        A loss whose guesses are the answers.
    graph
        An answer graph on a line: a count, a sum, a path.

    Examples
    --------
    >>> from tightrope.consumers import MatrixLoss, loss
    >>> from tightrope.graphs import PathPower
    >>> is_monotone(loss("squared", PathPower(5)), PathPower(5)).result
    True
    >>> is_monotone(MatrixLoss([[0, 2, 1], [1, 0, 1], [2, 1, 0]]), PathPower(3)).witness
    (0, 1, 2)
    """
    order = line_order(graph)
    if loss.size != graph.size or loss.guess_count != graph.size:
        raise InputError(
            f"a monotone loss has the {graph.size} answers of {graph.name} as truths and as "
            f"guesses, got {loss.size} and {loss.guess_count}"
        )
    if isinstance(loss, BinaryLoss) or loss.size == 1:
        return Monotone(True, None, True, None)
    in_order = bool((np.diff(order) == 1).all())
    if isinstance(loss, DistanceLoss) and loss.graph.power is not None and in_order:
        return Monotone(True, None, True, None)
    if isinstance(loss, CoordinateLoss) and loss.coordinates.shape[1] == 1:
        return _by_coordinates(loss, order)
    return _by_comparing(loss, order)


def _by_coordinates(loss: CoordinateLoss, order: NDArray[np.int64]) -> Monotone:
    """Decide absolute and squared loss from the numbers along the line.

    Where the numbers turn at k, one of the two beside k is closer to the other than to k: that
    is a witness. Where the steps to the two sides differ, so do the losses.
    """
    labels = [loss.graph.label(int(i)) for i in order]
    values = [to_exact(x[0] if isinstance(x, tuple) else x) for x in labels]
    steps = [b - a for a, b in pairwise(values)]
    witness = unequal = None
    for place, (left, right) in enumerate(pairwise(steps)):
        before, here, after = map(int, order[place : place + 3])
        if witness is None and (left > 0) != (right > 0):
            closer = abs(left) > abs(right)
            witness = (before, here, after) if closer else (after, here, before)
        if unequal is None and abs(left) != abs(right):
            unequal = (here, before, after)
        if witness is not None and unequal is not None:
            break
    return Monotone(witness is None, witness, unequal is None, unequal)


def _by_comparing(loss: Loss, order: NDArray[np.int64]) -> Monotone:
    loss._check_matrix("deciding whether this loss is monotone")
    witness = unequal = None
    ruled = isinstance(loss, CoordinateLoss)
    for place, i in enumerate(order.tolist()):
        # Rounding in a rule must not decide: there the fractions themselves are compared.
        numbers = [loss.exact(i, int(k)) for k in order] if ruled else loss.row(i)[order]
        line = np.array(numbers, dtype=object if ruled else np.float64)
        right, left = line[place:], line[place::-1]
        for way, side in ((1, right), (-1, left)):
            falls = np.flatnonzero(side[1:] < side[:-1])
            if witness is None and len(falls):
                step = int(falls[0])
                near, far = place + way * step, place + way * (step + 1)
                witness = (i, int(order[near]), int(order[far]))
        both = min(len(right), len(left))
        differ = np.flatnonzero(right[:both] != left[:both])
        if unequal is None and len(differ):
            step = int(differ[0])
            unequal = (i, int(order[place - step]), int(order[place + step]))
        if witness is not None and unequal is not None:
            break
    return Monotone(witness is None, witness, unequal is None, unequal)
