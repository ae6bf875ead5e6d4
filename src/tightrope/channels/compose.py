r"""New channels from old: remap, cascade, selection of rows, random choice, both at once, reduced.

Where every part has integer weights (a function counts as one) so has the result, and nothing
is rounded. Otherwise the result is a matrix of floats; a cascade of more than ``LIMITS.block``
entries computes its rows on demand.
"""

from __future__ import annotations

import bisect
import itertools
import math
import numbers
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, Ints, Labels
from tightrope.channels.base import (
    MACHINE,
    ROW_SUM_TOLERANCE,
    Channel,
    DeterministicChannel,
    IntegerChannel,
    RuleChannel,
    as_integers,
    check_indices,
    check_same_inputs,
)
from tightrope.errors import InputError, blamed
from tightrope.exact import over_one
from tightrope.texts import to_exact


def cascade(first: Channel, second: Channel) -> Channel:
    r"""Send the output of one channel through another: the matrix product.

    Post-processing never makes a channel less private [D, Ax 2.1.1].

    Parameters
    ----------
    first, second
        Channels; the second has one row for each output of the first.

    Examples
    --------
    >>> once = IntegerChannel([[3, 1], [1, 3]])
    >>> cascade(once, once).fraction(0, 0)
    Fraction(5, 8)
    """
    if first.shape[1] != second.shape[0]:
        raise InputError(
            f"the second channel must have one row for each output of the first, "
            f"{first.shape[1]}, got {second.shape[0]}"
        )
    # After a function the product is a selection of rows.
    if isinstance(first, DeterministicChannel):
        return _select(second, first.targets, first.inputs)
    if isinstance(first, IntegerChannel) and isinstance(
        second, DeterministicChannel | IntegerChannel
    ):
        labels = {"inputs": first.inputs, "outputs": second.outputs}
        # A function only adds columns up: the total stays.
        if isinstance(second, DeterministicChannel):
            return IntegerChannel(_merged(first.weights, second), first.total, **labels)
        # Python integers where a sum of so many products could exceed 62 bits.
        left, right = _safe(first.weights, second.weights, first.shape[1])
        total = first.total * second.total
        return IntegerChannel(left @ right, total, **labels)
    product = CascadeChannel(first, second)
    if math.prod(product.shape) > LIMITS.block:
        return product
    return Channel(product.matrix(), inputs=product.inputs, outputs=product.outputs)


def remap(channel: Channel, guesses: Channel | ArrayLike) -> Channel:
    r"""Post-process the outputs: :math:`X R` [A, §2.2; C, §2.4].

    Parameters
    ----------
    channel
        The channel X.
    guesses
        The remap R as a channel from outputs to guesses, or for each output the index of its
        guess.

    Examples
    --------
    >>> remap(IntegerChannel([[2, 1, 1], [1, 1, 2]]), [0, 0, 1]).weights.tolist()
    [[3, 1], [2, 2]]
    """
    second = guesses if isinstance(guesses, Channel) else DeterministicChannel(guesses)
    return cascade(channel, second)


def of_databases(channel: Channel, answers: ArrayLike) -> Channel:
    r"""Return the channel from databases to outputs, :math:`K = f X` [B, §3; A, §3.1].

    Parameters
    ----------
    channel
        The channel X from answers to outputs.
    answers
        For each database the index of its answer under the query f.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> of_databases(GeometricChannel(3, "ln(2)"), [0, 1, 1, 2]).row(2).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    rows = check_indices(answers, channel.shape[0], "answers")
    return _select(channel, rows, None)


def hidden_choice(
    channels: Sequence[Channel], weights: Sequence[float | Fraction | str]
) -> Channel:
    r"""Choose a channel at random without looking: :math:`\sum_k p_k X_k` [D, Ax 2.1.2].

    The channels report the same outputs, and which one was used stays hidden: the hidden choice of
    Alvim et al., "The Science of Quantitative Information Flow" (2020), ch. 8. It is at least as
    private as the least private of its parts.

    Parameters
    ----------
    channels
        Channels of one shape.
    weights
        Probabilities; fractions or texts keep the choice of integer channels exact.

    Examples
    --------
    >>> truth, coin = IntegerChannel([[1, 0], [0, 1]]), IntegerChannel([[1, 1], [1, 1]])
    >>> hidden_choice([truth, coin], ["1/3", "2/3"]).weights.tolist()
    [[2, 1], [1, 2]]
    """
    chances, exact = _check_weights(channels, weights)
    for k, channel in enumerate(channels):
        if channel.shape != channels[0].shape:
            raise InputError(
                f"channels to mix must have one shape, got {channels[0].shape} and, at {k}, "
                f"{channel.shape}"
            )
    labels = {"inputs": channels[0].inputs, "outputs": channels[0].outputs}
    exact_channels = [c for c in map(as_integers, channels) if c is not None]
    # A single float among channels or weights makes the mixture one of floats.
    if len(exact_channels) < len(channels) or not exact:
        pairs = zip(chances, channels, strict=True)
        terms = [float(p) * c.matrix() for p, c in pairs]
        return Channel(np.sum(terms, axis=0), **labels)
    # Σ_k p_k W_k/T_k over one denominator: channel k is multiplied by p_k·total/T_k.
    shares, total = over_one(
        [p / c.total for p, c in zip(chances, exact_channels, strict=True)]
    )
    parts = [
        c.weights.astype(object) * share
        for c, share in zip(exact_channels, shares, strict=True)
    ]
    return IntegerChannel(np.sum(parts, axis=0), total, **labels)


def parallel(first: Channel, second: Channel) -> Channel:
    r"""Use two channels on the same answer, both outputs seen.

    .. math:: P[i,(o,p)] = X[i,o]\,Y[i,p]

    Its smallest ε is at most the sum of theirs, and may be less.

    Examples
    --------
    >>> response = IntegerChannel([[3, 1], [1, 3]])
    >>> parallel(response, response).weights.tolist()
    [[9, 3, 3, 1], [1, 3, 3, 9]]
    """
    check_same_inputs(first, second)
    rows = first.shape[0]
    columns = first.shape[1] * second.shape[1]
    first._check_entries(rows, columns)
    pairs: list[Hashable] = list(itertools.product(first.outputs, second.outputs))
    # P[i,(o,p)] = X[i,o]·Y[i,p], in integers where both have integer weights.
    labels = {"inputs": first.inputs, "outputs": pairs}
    exact_first = as_integers(first)
    exact_second = as_integers(second)
    if exact_first is None or exact_second is None:
        by_first = first.matrix()[:, :, None]
        by_second = second.matrix()[:, None, :]
        products = by_first * by_second
        return Channel(products.reshape(rows, columns), **labels)
    left, right = _safe(
        exact_first.weights[:, :, None], exact_second.weights[:, None, :]
    )
    weights = np.asarray(left * right).reshape(rows, columns)
    return IntegerChannel(weights, exact_first.total * exact_second.total, **labels)


Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reduction:
    """A channel without zero columns in which no two columns are proportional.

    Attributes
    ----------
    channel
        The reduced channel. A merged column has the label of the first of its group.
    groups
        For each column of it the original columns that were added up; a column of zeros is in
        none of them.

    Examples
    --------
    >>> reduced(Channel([[0.5, 0.25, 0.25], [0.25, 0.125, 0.625]])).groups
    ((0, 1), (2,))
    """

    channel: Channel
    groups: Groups


def reduced(channel: Channel, *, tolerance: float = 1e-10) -> Reduction:
    r"""Drop zero columns and add up proportional ones.

    Proportional columns give every prior the same posterior, so the reduced channel is
    equivalent: each can be derived from the other by a remap.

    Parameters
    ----------
    channel
        A channel whose matrix fits. Integer weights are decided exactly.
    tolerance
        For floats: how far two columns, each divided by its largest entry, may differ.

    Examples
    --------
    >>> small = reduced(IntegerChannel([[2, 1, 0, 3], [4, 2, 0, 0]]))
    >>> small.channel.weights.tolist(), small.groups
    ([[3, 3], [6, 0]], ((0, 1), (3,)))
    """
    kind: type[Channel] = Channel
    if isinstance(channel, IntegerChannel):
        kind = IntegerChannel
        source = channel.weights
        groups = _exact_groups(source)
    else:
        source = channel.matrix()
        groups = _float_groups(source, tolerance)
    # Adding proportional columns is a remap; the reverse splits an output by fixed shares.
    columns = [source[:, list(group)].sum(axis=1) for group in groups]
    summed = np.stack(columns, axis=1)
    labels = [channel.output_label(group[0]) for group in groups]
    return Reduction(kind(summed, inputs=channel.inputs, outputs=labels), groups)


def _exact_groups(weights: AnyArray) -> Groups:
    # Proportional columns are equal after division by their greatest common divisor.
    members: dict[tuple[int, ...], list[int]] = {}
    for o, column in enumerate(weights.T.tolist()):
        divisor = math.gcd(*column)
        if divisor:
            direction = tuple(w // divisor for w in column)
            members.setdefault(direction, []).append(o)
    return tuple(map(tuple, members.values()))


def _float_groups(matrix: Floats, tolerance: float) -> Groups:
    peaks = matrix.max(axis=0)
    live = np.flatnonzero(peaks > 0)
    scaled = (matrix[:, live] / peaks[live]).T
    # Columns within the tolerance have averages within it: only those are compared. Averages with
    # random weights separate more columns than means do.
    weights = np.random.default_rng(0).dirichlet(np.ones(len(matrix)))
    averages = scaled @ weights
    members: dict[int, list[int]] = {}
    leaders: list[int] = []
    for k in np.argsort(averages, kind="stable").tolist():
        first = bisect.bisect_left(
            leaders, averages[k] - tolerance, key=averages.__getitem__
        )
        # Compared with the leader of a group: chains of near columns do not merge.
        equal_leaders = (
            g
            for g in leaders[first:]
            if np.abs(scaled[g] - scaled[k]).max() <= tolerance
        )
        if (leader := next(equal_leaders, k)) == k:
            leaders.append(k)
        members.setdefault(leader, []).append(k)
    return tuple(
        sorted(tuple(sorted(live[group].tolist())) for group in members.values())
    )


# -- exact parts --------------------------------------------------------------------------


def _safe(left: AnyArray, right: AnyArray, terms: int = 1) -> tuple[AnyArray, ...]:
    """Return two arrays as Python integers when machine integers could overflow in a product."""
    # No entry of the product exceeds max · max · terms.
    largest = int(left.max()) * int(right.max())
    if largest * terms >= MACHINE:
        return left.astype(object), right.astype(object)
    return left, right


def _merged(rows: AnyArray, remap: DeterministicChannel) -> AnyArray:
    """Add up the columns of a matrix that a function joins."""
    shape = (remap.shape[1], len(rows))
    merged = np.zeros(shape, rows.dtype)
    np.add.at(merged, remap.targets, rows.T)
    return merged.T


def _check_weights(
    channels: Sequence[Channel], weights: Sequence[float | Fraction | str]
) -> tuple[list[Fraction], bool]:
    """Return the weights as fractions, and whether none of them was given as a float."""
    if not channels or len(channels) != len(weights):
        raise InputError(
            f"a random choice needs one weight for each channel, got {len(channels)} channels and "
            f"{len(weights)} weights"
        )
    chances: list[Fraction] = []
    for k, weight in enumerate(weights):
        with blamed(f"weight {k}"):
            chances.append(to_exact(weight))
        if chances[k] < 0:
            raise InputError(f"weights must be non-negative, got {weight} at {k}")
    exact = all(isinstance(weight, str | numbers.Rational) for weight in weights)
    total = sum(chances, Fraction(0))
    if abs(total - 1) > (0.0 if exact else ROW_SUM_TOLERANCE):
        raise InputError(f"weights must sum to 1, got {float(total):.12g}")
    return chances, exact


def _select(channel: Channel, rows: Ints, labels: Labels) -> Channel:
    if isinstance(channel, DeterministicChannel):
        return DeterministicChannel(
            channel.targets[rows], channel.outputs, inputs=labels
        )
    if isinstance(channel, IntegerChannel):
        return IntegerChannel(
            channel.weights[rows], channel.total, inputs=labels, outputs=channel.outputs
        )
    channel._check_entries(len(rows), channel.shape[1])
    # Databases are many and answers few: each different row is computed once.
    distinct, place = np.unique(rows, return_inverse=True)
    rows_used = [channel.row(int(i)) for i in distinct]
    matrix = np.stack(rows_used)
    return Channel(matrix[place], inputs=labels, outputs=channel.outputs)


class CascadeChannel(RuleChannel):
    r"""One channel after another, :math:`(XR)[i,k] = \sum_o X[i,o] R[o,k]`, a row at a time.

    Made by :func:`~tightrope.channels.cascade` when the product is too large for a matrix.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> halves = DeterministicChannel(np.arange(10) // 5)
    >>> CascadeChannel(GeometricChannel(10, "ln(2)"), halves).row(4).round(4).tolist()
    [0.6667, 0.3333]
    """

    #: A column of a matrix product costs as much as many.
    _held = LIMITS.entries

    def __init__(self, first: Channel, second: Channel) -> None:
        self.first = first
        self.second = second
        self.shape = (first.shape[0], second.shape[1])
        self._inputs = first.input_label
        self._outputs = second.output_label

    def _row(self, i: int) -> Floats:
        row = self.first.row(i)[None, :]
        return self._send(row).ravel()

    def _column(self, o: int) -> Floats:
        if isinstance(self.second, DeterministicChannel):
            total = np.zeros(self.shape[0])
            # Column o of X·R is the sum of the columns that the function joins.
            for middle in np.flatnonzero(self.second.targets == o):
                total += self.first.column(int(middle))
            return total
        onward = self.second.column(o)
        blocks = [block @ onward for _, block in self.first.row_blocks()]
        return np.concatenate(blocks)

    def row_blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield the matrix as consecutive blocks of rows."""
        for start, block in self.first.row_blocks():
            yield start, self._send(block)

    def _send(self, block: Floats) -> Floats:
        if isinstance(self.second, DeterministicChannel):
            return _merged(block, self.second)
        # Added up over blocks of rows of R, which is never held whole.
        product = np.zeros((len(block), self.shape[1]))
        for start, rows in self.second.row_blocks():
            stop = start + len(rows)
            product += block[:, start:stop] @ rows
        return product
