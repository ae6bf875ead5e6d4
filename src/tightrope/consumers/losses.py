r"""Losses: what it costs to guess k when the truth is i.

A :class:`Loss` gives :math:`\ell(i,k)` for every answer i and guess k [C, §2.3]. It may be any
finite number: a gain g is the loss :math:`-g`. The losses with a name have closed forms and
never hold :math:`n^2` numbers; :mod:`tightrope.kinds` lists them.
"""

from __future__ import annotations

import functools
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, Ints, Labels
from tightrope.channels.base import label_rule
from tightrope.consumers.numerals import to_float
from tightrope.errors import InputError, TooLarge, blamed
from tightrope.files import FilePath, is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph, Clique, path_order
from tightrope.graphs.base import finite_array, frozen
from tightrope.kinds import LOSSES, forms
from tightrope.texts import read_call, to_exact

Triple = tuple[int, int, int]


class Monotone(NamedTuple):
    r"""Whether a loss is monotone, with the triple that shows it is not.

    Attributes
    ----------
    result
        Whether :math:`\ell(i,k) \le \ell(i,k')` whenever k lies between i and k', or is i.
    witness
        ``(i, k, k')`` as nodes, with k between i and k' and :math:`\ell(i,k) > \ell(i,k')`;
        ``None`` when monotone.
    """

    result: bool
    witness: Triple | None


def _first_fall(order: Ints, losses: Callable[[int], AnyArray]) -> Triple | None:
    """Compare the losses of guesses in order, truth by truth; stop at the first that falls."""
    for place, i in enumerate(order.tolist()):
        row = losses(i)
        # From the truth outwards on both sides: a monotone loss never falls on the way.
        sides = ((1, row[place:]), (-1, row[place::-1]))
        for direction, side in sides:
            falls = np.flatnonzero(side[1:] < side[:-1])
            if len(falls):
                near = place + direction * int(falls[0])
                far = int(order[near + direction])
                return i, int(order[near]), far
    return None


class Loss(ABC):
    r"""The loss :math:`\ell(i,k)` of guess k at truth i.

    :class:`MatrixLoss` holds a matrix; losses with a name come from
    :func:`~tightrope.consumers.loss`.

    Attributes
    ----------
    size
        The number of true answers.
    guess_count
        The number of guesses.
    name
        Text that describes the loss.

    Examples
    --------
    >>> shy = MatrixLoss([[0, 1, 0.4], [1, 0, 0.4]], guesses=["no", "yes", "pass"])
    >>> shy.column(2).tolist(), shy.guesses
    ([0.4, 0.4], ['no', 'yes', 'pass'])
    """

    size: int
    guess_count: int
    name: str
    #: Whether every automorphism of the answer graph keeps the loss.
    follows_graph: bool = False

    @staticmethod
    def from_gain(gain: ArrayLike, **labels: Any) -> MatrixLoss:
        r"""Return the loss :math:`\ell = -g` of a gain matrix.

        >>> Loss.from_gain([[2, 0], [0, 1]]).row(0).tolist()
        [-2.0, 0.0]
        """
        loss = MatrixLoss(gain, **{"name": "gain", **labels})
        # 0.0 - x instead of -x: no negative zeros.
        return MatrixLoss(0.0 - loss.matrix(), **{"name": "gain", **labels})

    @staticmethod
    def binary(size: int) -> BinaryLoss:
        """Return the loss of 1 for every wrong guess, over a number of answers.

        >>> Loss.binary(3).row(1).tolist()
        [1.0, 0.0, 1.0]
        """
        return BinaryLoss(Clique(size))

    # -- what every kind must say ---------------------------------------------------------

    @abstractmethod
    def row(self, i: int) -> Floats:
        """Return the losses of every guess when the truth is node i."""

    @abstractmethod
    def column(self, k: int) -> Floats:
        """Return the losses of guess k under every truth."""

    @abstractmethod
    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction; a float is the decimal that prints as it."""

    @abstractmethod
    def guess_label(self, k: int) -> Hashable:
        """Return what guess k says."""

    # -- what a kind may compute faster ---------------------------------------------------

    @property
    def is_binary(self) -> bool:
        """Whether every right guess costs 0 and every wrong one 1, whatever the loss is called."""
        return False

    @property
    def step_rule(self) -> tuple[int, Fraction] | None:
        r"""(p, s) with :math:`\ell(i,k) = s\,|i-k|^p` for all nodes, p = 1 or 2, or ``None``."""
        return None

    def falls_along(self, order: Ints) -> Triple | None:
        """Return nodes (i, k, k') in this order of which k' costs less than k, or ``None``.

        By comparing the numbers that the loss holds, without a tolerance.
        """
        # The generic test reads all n² entries; named losses know better.
        self._check_matrix("deciding whether this loss is monotone")
        return _first_fall(order, lambda i: self.row(i)[order])

    @property
    def guesses(self) -> list[Hashable]:
        """All guesses in order."""
        return [self.guess_label(k) for k in range(self.guess_count)]

    def at(self, i: int, k: int) -> float:
        """Return the loss of guess k when the truth is node i."""
        self._check_guess(k)
        return float(self.row(i)[k])

    def columns(self, guesses: Ints) -> Floats:
        """Return the columns of several guesses side by side, one row for each truth."""
        columns = [self.column(int(k)) for k in guesses]
        return np.stack(columns, axis=1)

    def matrix(self) -> Floats:
        """Return all losses; refused with the size when they would not fit."""
        self._check_matrix("the matrix of this loss")
        return np.stack([self.row(i) for i in range(self.size)])

    def expected(self, weights: Floats) -> Floats:
        r"""Return :math:`\sum_i w_{io}\,\ell(i,k)` for every guess k and every column o.

        Parameters
        ----------
        weights
            One row for each truth, one column for each case.
        """
        costs = np.empty((self.guess_count, weights.shape[1]))
        # Blocks of guesses: the product is the same, and memory stays bounded.
        step = max(1, LIMITS.block // self.size)
        for start in range(0, self.guess_count, step):
            guesses = np.arange(start, min(self.guess_count, start + step))
            costs[guesses] = self.columns(guesses).T @ weights
        return costs

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.name}: {self.size} answers, {self.guess_count} guesses>"

    # -- guards ---------------------------------------------------------------------------

    def _check_answer(self, i: int) -> None:
        if not 0 <= i < self.size:
            raise InputError(f"node must be in 0 … {self.size - 1}, got {i}")

    def _check_guess(self, k: int) -> None:
        if not 0 <= k < self.guess_count:
            raise InputError(f"guess must be in 0 … {self.guess_count - 1}, got {k}")

    def _check_matrix(self, what: str) -> None:
        if self.size * self.guess_count > LIMITS.entries:
            raise TooLarge(
                f"{what} needs {self.size} × {self.guess_count} numbers, more than "
                f"{LIMITS.entries}: use row(node) or column(guess)"
            )


class MatrixLoss(Loss):
    """A loss that holds its matrix: one row for each answer, one column for each guess.

    Parameters
    ----------
    matrix
        Finite numbers of any sign.
    guesses
        What the guesses say; their indices by default.
    name
        Text that describes the loss.

    Examples
    --------
    >>> MatrixLoss([[0, 1], [float("nan"), 0]])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: losses must be finite, got nan at row 1, column 0
    """

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        guesses: Labels = None,
        name: str = "matrix",
    ) -> None:
        self._matrix = _check_losses(matrix)
        self.size, self.guess_count = self._matrix.shape
        self.name = name
        self._label = label_rule(guesses, self.guess_count, "guesses")

    def row(self, i: int) -> Floats:
        """Return row i (read-only)."""
        self._check_answer(i)
        return np.asarray(self._matrix[i])

    def column(self, k: int) -> Floats:
        """Return column k (read-only)."""
        self._check_guess(k)
        return np.asarray(self._matrix[:, k])

    def columns(self, guesses: Ints) -> Floats:
        """Return the columns of several guesses side by side."""
        return np.asarray(self._matrix[:, guesses])

    def matrix(self) -> Floats:
        """Return the matrix (read-only)."""
        return self._matrix

    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction: the decimal that prints as the float."""
        return to_exact(self.at(i, k))

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether the matrix is 0 on the diagonal and 1 elsewhere."""
        if self.size != self.guess_count or self._matrix.diagonal().any():
            return False
        # 0 on the diagonal and n(n−1) ones leave no other entry.
        ones = int(np.count_nonzero(self._matrix == 1))
        return ones == self.size * (self.size - 1)

    def guess_label(self, k: int) -> Hashable:
        """Return what guess k says."""
        self._check_guess(k)
        return self._label(int(k))


def _check_losses(matrix: ArrayLike) -> Floats:
    try:
        # The fast way first; texts such as "1/3" fail and are read one by one.
        given = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        given = _from_texts(matrix)
    must = "a loss must be a non-empty, rectangular matrix of numbers"
    return frozen(finite_array(given, must, (None, None), "losses"))


def _from_texts(matrix: Any) -> Floats:
    """Return a matrix some of whose entries are texts such as ``"1/3"``."""
    must = "a loss must be a non-empty, rectangular matrix of numbers"
    if isinstance(matrix, str | Mapping):
        raise InputError(f"{must}, got {str(matrix)[:40]!r}")
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise InputError(must) from None
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{must}, got {len(rows[0])} in row 0 and {len(row)} in row {i}"
            )
    losses = np.empty((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            with blamed(f"row {i}, column {k}"):
                losses[i, k] = to_float(value)
    return losses


class _GraphLoss(Loss):
    """A loss whose guesses are the answers of a graph."""

    def __init__(self, graph: AnswerGraph) -> None:
        self.graph = graph
        self.size = self.guess_count = graph.size

    def guess_label(self, k: int) -> Hashable:
        """Return the answer that is guessed."""
        self._check_guess(k)
        return self.graph.label(k)

    def at(self, i: int, k: int) -> float:
        """Return the loss of guess k when the truth is node i."""
        return float(self.exact(i, k))

    def column(self, k: int) -> Floats:
        """Return the losses of guess k, which are those of truth k: these losses are symmetric."""
        self._check_guess(k)
        # Symmetric: ℓ(i,k) = ℓ(k,i).
        return self.row(k)


class BinaryLoss(_GraphLoss):
    r"""Any wrong guess costs 1: :math:`\ell(i,k) = [i \ne k]` [C, §2.3].

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> BinaryLoss(PathPower(4)).row(2).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """

    name = "binary"
    is_binary = follows_graph = True

    def row(self, i: int) -> Floats:
        """Return 0 for the truth and 1 elsewhere."""
        self._check_answer(i)
        self.graph._check_row("a row of losses")
        losses = np.ones(self.size)
        losses[i] = 0
        return losses

    def exact(self, i: int, k: int) -> Fraction:
        """Return 0 or 1."""
        self._check_answer(i)
        self._check_guess(k)
        return Fraction(int(i != k))

    def falls_along(self, order: Ints) -> Triple | None:
        """Return ``None``: every wrong guess costs 1."""
        return None

    def columns(self, guesses: Ints) -> Floats:
        """Return the columns of several guesses side by side."""
        # An outer comparison instead of n columns.
        wrong = np.not_equal.outer(np.arange(self.size), guesses)
        return np.asarray(wrong, np.float64)

    def expected(self, weights: Floats) -> Floats:
        """Return the total weight less the weight of the guess."""
        # Σ_{i≠k} w_i
        return np.asarray(weights.sum(axis=0) - weights)


class DistanceLoss(_GraphLoss):
    r"""A guess costs its distance in the answer graph: :math:`\ell(i,k) = d(i,k)`.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> DistanceLoss(PathPower(6, 2)).row(0).tolist()
    [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]
    """

    name = "distance"
    follows_graph = True

    def row(self, i: int) -> Floats:
        """Return the distances from the truth."""
        return self.graph.distances_from(i).astype(np.float64)

    def exact(self, i: int, k: int) -> Fraction:
        """Return the distance as a fraction."""
        return to_exact(self.graph.distance(i, k))

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether the graph is a clique with edges of length 1."""
        return not self.graph.has_lengths and self.graph.is_clique

    @property
    def step_rule(self) -> tuple[int, Fraction] | None:
        """|i-k| on a path in node order."""
        # On a path with power 1 the distance is |i - k| in node order.
        return (1, Fraction(1)) if self.graph.power == 1 else None

    def falls_along(self, order: Ints) -> Triple | None:
        """Return a triple that shows it to fall; none on a power of a path in its own order."""
        # ⌈|i - k|/w⌉ never falls with |i - k|.
        if self.graph.power is not None and (np.diff(order) == 1).all():
            return None
        return super().falls_along(order)

    def expected(self, weights: Floats) -> Floats:
        r"""Return :math:`\sum_i w_{io}\,d(i,k)`; on a power of a path from sums."""
        width = self.graph.power
        if width is None:
            return super().expected(weights)
        # ⌈|i - k|/w⌉ from the left, and the same on the reversed line from the right.
        from_right = _one_sided(weights[::-1], width)[::-1]
        return _one_sided(weights, width) + from_right


class CoordinateLoss(_GraphLoss):
    r"""A guess costs :math:`\sum_c |x_{ic} - x_{kc}|^p` for the numbers that the labels are.

    A label is a number (one coordinate) or a tuple of numbers, whose coordinates are added up.

    Parameters
    ----------
    graph
        The answer graph; its labels must be numbers or tuples of numbers, all of one length.
    """

    #: p, which is 1 or 2.
    power: int

    def __init__(self, graph: AnswerGraph) -> None:
        super().__init__(graph)
        # Labels that are no numbers are refused here, not after a long computation.
        self._numbers(0)
        self._numbers(graph.size - 1)

    def _numbers(self, i: int) -> tuple[object, ...]:
        label = self.graph.label(i)
        parts = label if isinstance(label, tuple) else (label,)
        if not all(
            isinstance(x, numbers.Real) and not isinstance(x, bool) for x in parts
        ):
            raise InputError(
                f"{self.name} loss needs answers that are numbers or tuples of numbers, got "
                f"{label!r} in {self.graph.name}: use binary, distance or a matrix"
            )
        return parts

    @functools.cached_property
    def coordinates(self) -> Floats:
        """The labels as numbers: one row for each answer (read-only)."""
        self.graph._check_row("the coordinates")
        rows = [self._numbers(i) for i in range(self.size)]
        must = f"answers of {self.graph.name} must be numbers, or tuples of one length"
        return frozen(finite_array(rows, must, (self.size, None), "answers"))

    def row(self, i: int) -> Floats:
        """Return the losses of every guess when the truth is node i."""
        self._check_answer(i)
        gaps = np.abs(self.coordinates - self.coordinates[i])
        return np.asarray((gaps**self.power).sum(axis=1))

    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction."""
        pairs = zip(self._numbers(i), self._numbers(k), strict=True)
        return sum(
            (abs(to_exact(a) - to_exact(b)) ** self.power for a, b in pairs),
            Fraction(0),
        )

    def columns(self, guesses: Ints) -> Floats:
        """Return the columns of several guesses side by side."""
        losses = np.zeros((self.size, len(guesses)))
        for line in self.coordinates.T:
            differences = np.subtract.outer(line, line[guesses])
            losses += np.abs(differences) ** self.power
        return losses

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether there are at most two answers, one apart."""
        return self.size == 1 or (self.size == 2 and self.exact(0, 1) == 1)

    @functools.cached_property
    def _line(self) -> AnyArray:
        """The only coordinate, exactly: floats where they hold whole numbers, else fractions."""
        line: AnyArray = self.coordinates[:, 0]
        # Doubles hold integers below 2^53 exactly, and their differences too.
        is_whole = (line == np.rint(line)).all()
        if is_whole and np.abs(line).max() < 2**52:
            return line
        return np.array(
            [to_exact(self._numbers(i)[0]) for i in range(self.size)], dtype=object
        )

    @functools.cached_property
    def step_rule(self) -> tuple[int, Fraction] | None:
        """p, and the p-th power of the step where the answers go up or down in even steps."""
        rule = self.graph.label_rule
        if rule is not None and rule[0] == "steps" and self.size > 1:
            # |a i + b - (a k + b)|^p = |a|^p |i - k|^p.
            return self.power, Fraction(abs(rule[2])) ** self.power
        if self.size < 2 or self.coordinates.shape[1] != 1:
            return None
        # Even steps decided exactly: in floats 0.1, 0.2, 0.3 would not be.
        steps = np.diff(self._line)
        if (steps != steps[0]).any():
            return None
        return self.power, self.exact(0, 1)

    def falls_along(self, order: Ints) -> Triple | None:
        """Return a triple that shows it to fall: on a line, where the numbers turn."""
        if self.coordinates.shape[1] != 1:
            # Round-off must not decide: the fractions themselves are compared.
            return _first_fall(
                order,
                lambda i: np.array(
                    [self.exact(i, int(k)) for k in order], dtype=object
                ),
            )
        if self.step_rule is not None and (np.diff(order) == 1).all():
            return None
        # |x_i − x_k| falls beside a turning point of the numbers: one triple is witness enough.
        steps = np.diff(self._line[order])
        turns = (steps[:-1] > 0) != (steps[1:] > 0)
        for place in np.flatnonzero(turns)[:1]:
            before, here, after = map(int, order[place : place + 3])
            closer = abs(steps[place]) > abs(steps[place + 1])
            return (before, here, after) if closer else (after, here, before)
        return None

    def expected(self, weights: Floats) -> Floats:
        r"""Return :math:`\sum_i w_{io}\,\ell(i,k)` from sums and partial sums of the weights."""
        if self.power == 2:
            return self._expected_squared(weights)
        if self.coordinates.shape[1] == 1:
            return self._expected_absolute(weights)
        return super().expected(weights)

    def _expected_squared(self, weights: Floats) -> Floats:
        # Σ w (x_i − x_k)² = x_k² Σw − 2 x_k·Σ w x_i + Σ w x_i². Around the middle the squares
        # stay small, and so does what cancels.
        highest = self.coordinates.max(axis=0)
        lowest = self.coordinates.min(axis=0)
        middle = (highest + lowest) / 2
        x = self.coordinates - middle
        squares = (x**2).sum(axis=1)
        products = x @ (x.T @ weights)
        own = np.outer(squares, weights.sum(axis=0))
        return np.asarray(own - 2 * products + squares @ weights)

    def _expected_absolute(self, weights: Floats) -> Floats:
        order = np.argsort(self.coordinates[:, 0], kind="stable")
        x = self.coordinates[order]
        steps = np.diff(x, axis=0)
        below = np.cumsum(weights[order], axis=0)
        above = below[-1] - below
        # The cost from either side grows by (weight passed) × (step): no term is negative, so
        # nothing cancels.
        costs = np.zeros_like(below)
        # From the left: all weight below a guess pays one more step.
        paid_below = below[:-1] * steps
        paid_above = above[:-1] * steps
        costs[1:] = np.cumsum(paid_below, axis=0)
        costs[:-1] += np.cumsum(paid_above[::-1], axis=0)[::-1]
        in_node_order = np.empty_like(costs)
        in_node_order[order] = costs
        return in_node_order


class AbsoluteLoss(CoordinateLoss):
    r"""A guess costs the difference of the answers, :math:`\sum_c |x_{ic} - x_{kc}|` [C, §2.3].

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> counts = StrongProduct([PathPower(3), PathPower(3)])
    >>> AbsoluteLoss(counts).at(counts.index((0, 0)), counts.index((2, 1)))
    3.0
    """

    name = "absolute"
    power = 1


class SquaredLoss(CoordinateLoss):
    r"""A guess costs the squared difference, :math:`\sum_c (x_{ic} - x_{kc})^2` [C, §2.3].

    >>> from tightrope.graphs import PathPower
    >>> SquaredLoss(PathPower(4)).row(1).tolist()
    [1.0, 0.0, 1.0, 4.0]
    """

    name = "squared"
    power = 2


def _one_sided(weights: Floats, width: int) -> Floats:
    r"""Return :math:`L_k = \sum_{i<k} w_i \lceil (k-i)/w \rceil = L_{k-w} + \sum_{i<k} w_i`."""
    # Rows k, k − w, k − 2w, … are one stride: sums along it, of partial sums.
    rows, columns = weights.shape
    width = min(width, rows)
    strides = -(-rows // width)
    partial_sums = np.zeros((strides * width, columns))
    np.cumsum(weights[:-1], axis=0, out=partial_sums[1:rows])
    sums: Floats = partial_sums.reshape(strides, width, columns).cumsum(axis=0)
    return sums.reshape(-1, columns)[:rows]


def is_monotone(loss: Loss, graph: AnswerGraph) -> Monotone:
    r"""Decide whether a loss never falls with :math:`|i-k|`, on either side of the truth i.

    On a path the geometric mechanism, remapped, is optimal for every monotone loss
    [C, Thm 2.7, 2.8]; without monotonicity this fails. Distances are counted along the line of
    the answers.

    Parameters
    ----------
    loss
        A loss whose guesses are the answers.
    graph
        An answer graph on a line: a count, a sum, a path.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> is_monotone(loss("squared", PathPower(5)), PathPower(5)).result
    True
    >>> is_monotone(MatrixLoss([[0, 2, 1], [1, 0, 1], [2, 1, 0]]), PathPower(3)).witness
    (0, 1, 2)
    """
    if not (graph.is_line or graph.is_path):
        raise InputError(
            f"this needs answers on a line, such as a count, a sum or a path, got {graph.name}"
        )
    if loss.size != graph.size or loss.guess_count != graph.size:
        raise InputError(
            f"a monotone loss has the {graph.size} answers of {graph.name} as truths and as "
            f"guesses, got {loss.size} and {loss.guess_count}"
        )
    witness = loss.falls_along(
        np.arange(graph.size) if graph.is_line else path_order(graph)
    )
    return Monotone(witness is None, witness)


def loss(value: Any, graph: AnswerGraph, *, folder: FilePath = ".") -> Loss:
    r"""Return the loss over the answers of a graph from a text or a value.

    Parameters
    ----------
    value
        - a name from :data:`tightrope.kinds.LOSSES`;
        - ``"file:FILE"``: a matrix as CSV rows, or as JSON (by the ending ``.json``);
        - a matrix with one row for each answer and one column for each guess, a function of the
          true answer and the guessed answer, or a :class:`Loss`.
    graph
        The answer graph.
    folder
        Where relative files are looked for.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> loss("squared", PathPower(4)).row(0).tolist()
    [0.0, 1.0, 4.0, 9.0]
    >>> loss(lambda truth, guess: max(0, truth - guess), PathPower(3)).row(2).tolist()
    [2.0, 1.0, 0.0]
    >>> loss("cubic", PathPower(4))
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown loss 'cubic' (known: binary, absolute, ...,
    file:FILE) at character 1 of 'cubic': ▸cubic
    """
    if isinstance(value, str):
        cost = _loss_from_text(value, graph, Path(folder))
    elif isinstance(value, Loss):
        cost = value
    elif callable(value):
        cost = _loss_from_function(value, graph)
    else:
        cost = _matrix_loss(value, graph, "matrix")
    if cost.size != graph.size:
        raise InputError(
            f"a loss over {graph.name} needs {graph.size} rows, one for each answer, "
            f"got {cost.size}"
        )
    return cost


def _loss_from_text(text: str, graph: AnswerGraph, folder: Path) -> Loss:
    call = read_call(text, "loss", forms(LOSSES))
    if call.args:
        raise call.error(f"{call.name} takes no numbers", 0)
    if call.rest is None:
        cost: Loss = LOSSES[call.name].make(graph)
        return cost
    path = folder / call.rest
    rows = (
        read_json(path) if is_json(path) else [fields for _, fields in read_rows(path)]
    )
    with blamed(path):
        return _matrix_loss(rows, graph, str(call))


def _matrix_loss(matrix: Any, graph: AnswerGraph, name: str) -> MatrixLoss:
    cost = MatrixLoss(matrix, name=name)
    # Square over the answers: guesses are answers and get their labels.
    if cost.size == cost.guess_count == graph.size:
        cost._label = graph.label
    return cost


def _loss_from_function(
    function: Callable[[Any, Any], Any], graph: AnswerGraph, calls: int = 10_000_000
) -> Loss:
    if graph.size**2 > calls:
        raise TooLarge(
            f"a loss function would be called {graph.size}² times, more than {calls}: "
            "give a named loss or a matrix"
        )
    labels = graph.labels
    values = np.empty((graph.size, graph.size))
    for i, truth in enumerate(labels):
        for k, guess in enumerate(labels):
            try:
                cost = function(truth, guess)
                # A function may return a truth value: wrong guesses then cost 1.
                values[i, k] = to_float(
                    int(cost) if isinstance(cost, bool | np.bool_) else cost
                )
            except InputError as wrong:
                raise InputError(f"the loss at {truth!r}, {guess!r}: {wrong}") from None
    return _matrix_loss(values, graph, getattr(function, "__name__", "function"))
