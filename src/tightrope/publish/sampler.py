r"""Exact draws; from a table of weights with a fixed amount of work.

A row of integer weights with total :math:`2^b` is a table of running sums. A draw takes b bits
from the operating system's secure source and counts the sums that are not above them. There is
no floating point, no seed, no rejection and no early exit.

A single draw compares its bits with *every* sum: a search that stops at the right place would
touch memory that depends on the result, and the cache would tell (a binary search of the same
table correlates with the output by 0.1 to 0.2 in rank, this by nothing measurable). Many draws at
once do the same number of rounds each, on a table padded to :math:`2^k - 1` sums.

Noise on a lattice has one table of layers for all answers, however many there are. Layer t holds
:math:`N_t w_t` of the :math:`2^b` numbers: where the drawn number lies in it, divided by
:math:`w_t`, is the number of a point of the layer, each as likely as any other. The bits and the
comparisons of such a draw are fixed. To find the point by its number takes arithmetic on integers
as long as the number, and more of it further out: the time of a draw correlates with the size of
the noise (0.25 in rank for joint counts). Whoever can measure a single draw learns that much.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
import secrets
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import (
    Bracket,
    JointQuantiles,
    Mechanism,
    ScoreMechanism,
    verify,
)
from tightrope.certify.judge import SharpenedWeights
from tightrope.certify.theorems.sharpened import mirrored
from tightrope.certify.tuples import Ways
from tightrope.errors import CheckFailed, InputError, TooLarge, refusing, whole_number


class Sampler:
    """Draws outputs of a mechanism for one true answer.

    Parameters
    ----------
    mechanism
        The mechanism. Drawing does not check it: see :func:`~tightrope.certify.verify`.
    row
        The node of the true answer.

    Attributes
    ----------
    bits
        Random bits used by a draw, the same for every draw.
    comparisons
        Comparisons made by a single draw, the same for every draw.
    rounds
        Rounds made by many draws at once, the same for every draw.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> coin = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), PathPower(2), "ln(3)")
    >>> sampler = Sampler(coin, 0)
    >>> sampler.bits, sampler.comparisons, sampler.draw() in (0, 1)
    (2, 1, True)
    """

    def __init__(self, mechanism: Mechanism, row: int) -> None:
        self.mechanism = mechanism
        self.row = int(row)
        weights = mechanism.row_weights(self.row)
        # Weights must be exact probabilities w/2^b: a wrong sum would bias the last output.
        if int(weights.min()) < 0 or sum(weights.tolist()) != mechanism.total:
            raise InputError(
                f"row {row} does not sum to 2^{mechanism.bits}: verify the mechanism"
            )
        self._tabulate(weights.tolist())

    def _tabulate(self, weights: list[int]) -> None:
        """Make the tables of running sums of weights that add up to the mechanism's total."""
        mechanism = self.mechanism
        self.bits = mechanism.bits
        self.outputs = len(weights)
        self.comparisons = self.outputs - 1
        self.rounds = self.comparisons.bit_length()
        # The last sum is the total, which no draw reaches; padding with it changes nothing.
        sums = list(accumulate(weights))[:-1]
        # Padding to 2^k - 1 sums gives each draw exactly k rounds.
        padding = 2**self.rounds - 1 - len(sums)
        sums += [mechanism.total] * padding
        self._padded = tuple(
            # Limbs of 64 bits, the highest first, because totals may exceed 64 bits.
            np.array([s >> (64 * k) & (2**64 - 1) for s in sums], np.uint64)
            for k in range(self.bits // 64, -1, -1)
        )
        limbs = (limb[: self.comparisons] for limb in self._padded)
        self._sums = tuple(limb.copy() for limb in limbs)
        # The top limb holds b mod 64 bits: shifting keeps the high bits of the random word.
        self._shift = np.uint64(64 - self.bits % 64)

    def draw_index(self) -> int:
        """Draw the number of one output."""
        if len(self._sums) > 1:
            drawn = self._random(1, os.urandom)
            # Counting the sums ≤ u is inversion: output o has the numbers from sum_{o-1} to sum_o -
            # 1.
            return int(np.count_nonzero(_at_most(self._sums, drawn)))
        # Zero bits means one output with weight 1.
        if not self.bits:
            return 0
        drawn_word = np.frombuffer(os.urandom(8), np.uint64) >> self._shift
        return int(np.count_nonzero(self._sums[0] <= drawn_word))

    def draw(self) -> Hashable:
        """Draw one output and return its label."""
        return self.mechanism.output_label(self.draw_index())

    def draw_indices(self, count: int) -> NDArray[np.int64]:
        """Draw the numbers of many outputs at once.

        >>> from tightrope.certify import certify
        >>> from tightrope.channels import GeometricChannel
        >>> from tightrope.graphs import PathPower
        >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)")
        >>> len(Sampler(made, 3).draw_indices(1000))
        1000
        """
        return self._look_up(count, os.urandom)

    def draws(self, count: int, source: Any = os.urandom) -> list[Hashable]:
        """Draw many outputs and return their labels."""
        found = self._look_up(count, source).tolist()
        # Labels may be costly, so each is made once.
        labels = {o: self.mechanism.output_label(o) for o in set(found)}
        return [labels[o] for o in found]

    def _look_up(
        self, count: int, source: Any, block: int = 1 << 16
    ) -> NDArray[np.int64]:
        count = whole_number(count, "the number of draws", 0)
        if count > 50_000_000:
            raise TooLarge(
                f"{count} draws at once are more than 50000000: draw in parts"
            )
        out = np.empty(count, np.int64)
        for start in range(0, count, block):
            some = min(block, count - start)
            drawn = self._random(some, source)
            out[start : start + some] = self._search(drawn)
        return out

    def _random(self, count: int, source: Any) -> list[NDArray[np.uint64]]:
        """Return random numbers of ``bits`` bits as limbs of 64 bits, the highest first."""
        first = np.zeros(count, np.uint64)
        if self.bits % 64:
            # No draw of these bits for b divisible by 64: a shift by 64 is undefined.
            first = np.frombuffer(source(8 * count), np.uint64) >> self._shift
        whole = range(self.bits // 64)
        return [first, *(np.frombuffer(source(8 * count), np.uint64) for _ in whole)]

    def _search(self, drawn: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Find the interval of each number in rounds that all do the same work."""
        place = np.zeros(len(drawn[0]), np.int64)
        for round_ in range(self.rounds - 1, -1, -1):
            # Branchless binary search: the probe is the middle of 2^(round + 1) - 1 sums.
            probe = place + ((1 << round_) - 1)
            passed = _at_most([limb[probe] for limb in self._padded], drawn)
            # The addition replaces a branch: the same work whichever half the number lies in.
            place += passed.astype(np.int64) << round_
        return place


class LatticeSampler:
    """Draws outputs of noise on a lattice for one true answer.

    Parameters
    ----------
    mechanism
        A mechanism of the kind ``lattice``.
    answer
        The true answer itself.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import UnboundedNoise
    >>> from tightrope.queries import query
    >>> asked = query("histogram(6000,4)")
    >>> made = certify(UnboundedNoise(asked.graph, 1), asked, 1)
    >>> noisy = LatticeSampler(made, (1500, 0, 3000, 1500)).draw()
    >>> len(noisy), min(noisy) >= 0
    (4, True)
    """

    def __init__(self, mechanism: Mechanism, answer: Hashable) -> None:
        noise = mechanism.noise
        lattice = mechanism.question.graph.unbounded
        if noise is None or lattice is None:
            raise InputError(f"{mechanism!r} is no noise on a lattice")
        self.mechanism = mechanism
        self.lattice = replace(lattice, core=noise.lattice.core)
        self.bits = mechanism.bits
        self.centre = lattice.coordinates(answer)
        self._reach = noise.reach
        # Levels beyond the reach are equal, so the law is a flat part plus the excess of each
        # layer.
        last = noise.levels[-1]
        weights = [level - last for level in noise.levels[: noise.reach]]
        # Layer t has N_t points of weight w_t above the flat level: mass N_t w_t.
        pairs = zip(noise.sizes, weights, strict=True)
        masses = [n * w for n, w in pairs]
        # First what the middle has more than its layer, then the layers, then all that is flat.
        self._weights = np.array([1, *weights, last], object)
        starts = accumulate([noise.odd, *masses])
        self._starts = np.array([0, *starts], object)
        # Exact: odd + Σ N_t w_t + floor = 2^b, or the probabilities would not be what was proved.
        if self._starts[-1] + noise.floor != mechanism.total:
            raise InputError("the layers do not sum to the total: verify the mechanism")

    def draw(self) -> Hashable:
        """Draw one output: the answer plus noise, each number held between its ends."""
        return self.draws(1)[0]

    def draws(self, count: int) -> list[Hashable]:
        """Draw many outputs."""
        return [
            self.lattice.clamped(point) for point in self.draw_points(count).tolist()
        ]

    def flat_point(self, source: Any = os.urandom) -> int:
        """Draw one number from the flat part of the law alone."""
        first = int(self._starts[-1])
        while True:  # the bits above the part are drawn again: they depend on nothing
            size = self.mechanism.total - first
            # Whole bytes, then a shift: each of the 2^bits values is equally likely.
            width = -(-size.bit_length() // 8)
            drawn = int.from_bytes(source(width), "little") >> (
                8 * width - size.bit_length()
            )
            # Rejection leaves a uniform number below size; u // weight is then a uniform point.
            if drawn < size:
                number = drawn // int(self._weights[-1])
                (point,) = self.lattice.point_around(self._reach, number)
                return int(point)

    def draw_points(self, count: int, source: Any = os.urandom) -> NDArray[Any]:
        """Draw points of the lattice, before their numbers are held between the ends."""
        width = -(-self.bits // 8)
        raw = source(width * whole_number(count, "the number of draws", 0))
        starts = range(0, len(raw), width)
        cut = (raw[at : at + width] for at in starts)
        mask = (1 << self.bits) - 1
        drawn = np.array(
            [int.from_bytes(word, "little") & mask for word in cut], object
        )
        if (
            count == 1
        ):  # every start is compared: a search would touch memory by the noise
            place = np.array(
                [sum([start <= drawn[0] for start in self._starts[1:].tolist()])]
            )
        else:
            place = np.searchsorted(self._starts[1:], drawn, side="right")
        # The place within the layer divided by the weight is the number of a point of the layer.
        numbers = (drawn - self._starts[place]) // self._weights[place]
        # int64 only where centre plus noise cannot overflow.
        widest = self.lattice.people + 2 * (
            self.lattice.core + self._reach * self.lattice.width
        )
        found = np.empty(
            (len(drawn), self.lattice.parts), np.int64 if widest < 1 << 62 else object
        )
        for t in np.unique(place).tolist():
            mine = place == t
            middle = self.lattice.layer(0) // 2
            # The flat part does not depend on the true answer: the point is drawn around all of
            # them.
            if t > self._reach:
                flat = [
                    self.lattice.point_around(self._reach, n) for n in numbers[mine]
                ]
                found[mine] = flat
            else:
                layer, chosen = (
                    # Place 0 is the extra weight of the middle, which belongs to the middle point
                    # of layer 0.
                    (t - 1, numbers[mine]) if t else (0, np.full(mine.sum(), middle))
                )
                noise = self.lattice.points(layer, chosen)
                found[mine] = noise + np.array(self.centre, found.dtype)
        return found


class CellSampler(Sampler):
    """Draws the noise of many counts at once, each from the one mechanism of a count or a sum.

    One person changes one cell of a table by one, or two cells where values change. So noise that
    is proved for one count at ε is private for a table of any number of cells, at ε times the
    number of cells that one person changes. Outputs are not held between the ends: published
    tables are estimated from them, and that keeps the estimates unbiased.

    Parameters
    ----------
    mechanism
        A mechanism of the kind ``lattice`` for one number.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import UnboundedNoise
    >>> from tightrope.queries import query
    >>> asked = query("count(10000000)")
    >>> cells = CellSampler(certify(UnboundedNoise(asked.graph, 1), asked, 1))
    >>> noisy = cells.draw_cells(np.zeros((50, 1000), np.int64))
    >>> noisy.shape, bool(abs(noisy.mean()) < 0.1)
    ((50, 1000), True)
    """

    def __init__(self, mechanism: Mechanism) -> None:
        noise = mechanism.noise
        lattice = mechanism.question.graph.unbounded
        if noise is None or lattice is None or lattice.parts != 1:
            raise InputError(f"{mechanism!r} is no noise on one number")
        self.mechanism = mechanism
        last = noise.levels[-1]
        lattice = replace(lattice, core=noise.lattice.core)
        values = [0]
        weights = [noise.odd]
        for layer in range(noise.reach):
            size = lattice.layer(layer)
            points = lattice.points(layer, np.arange(size))
            values += points[:, 0].tolist()
            weights += [noise.levels[layer] - last] * size
        if sum(weights) + noise.floor != mechanism.total:
            raise InputError("the layers do not sum to the total: verify the mechanism")
        self._values = np.array([*values, 0], np.int64)
        self._flat = len(values)
        self._whole = LatticeSampler(mechanism, 0)
        self._tabulate([*weights, noise.floor])

    def draw_cells(
        self, counts: NDArray[np.int64], source: Any = os.urandom
    ) -> NDArray[np.int64]:
        """Draw an output for each count, in an array of the same shape."""
        place = self._look_up(counts.size, source)
        # Only noise is drawn, one table for all cells: the law is the same whatever the count.
        drawn = counts.ravel() + self._values[place]
        # The flat part of the law, of a probability below 1e-30: any answer, whatever the count.
        for cell in np.flatnonzero(place == self._flat).tolist():
            drawn[cell] = self._whole.flat_point(source)
        return drawn.reshape(counts.shape)


class ShownSampler(Sampler):
    """Draws counts that are shown if they are large enough, many at once.

    Parameters
    ----------
    mechanism
        A mechanism of the kind ``shown``.

    Examples
    --------
    >>> from tightrope.proofs import prove_shown_count
    >>> shown = ShownSampler(prove_shown_count(1000, 1, "1e-6"))
    >>> drawn = shown.draw_counts(np.array([0, 500]))
    >>> int(drawn[0]), abs(int(drawn[1]) - 500) <= 14
    (0, True)
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        rule = mechanism.weights
        if sum(rule.levels) != mechanism.total:
            raise InputError("the levels do not sum to the total: verify the mechanism")
        self._lowest = -rule.zero
        self._top = rule.top
        self._largest = mechanism.shape[1] - 1
        self._tabulate(rule.levels)

    def draw_counts(
        self, counts: NDArray[np.int64], source: Any = os.urandom
    ) -> NDArray[np.int64]:
        """Draw an output for each count: 0 where it is not shown."""
        # _lowest shifts the index of a level to its noise.
        noisy = counts + self._lowest + self._look_up(counts.size, source)
        shown = np.minimum(noisy, self._largest)
        # Privacy of the threshold rests on 0 for all noisy counts up to top, also for true zeros.
        return np.where(noisy > self._top, shown, 0)


class FinerSampler:
    r"""Draws a finer number after coarser ones that are published, by the law of the whole chain.

    The weights of a history :math:`h = (o_1, \dots, o_m)` are
    :math:`C_h(x) = a_h\,w_m(x-o_m) + l_h(x)`: a multiple of the last noise, and what was left over
    where outputs were repeated. The finer output o has the weights

    .. math:: a_h\,k(o_m-o)\,w(x-o) + [o = o_m]\,(a_h R(x-o_m) + S\,l_h(x)),

    which add up to :math:`S\,C_h(x)`; see :mod:`tightrope.certify.theorems.sharpened`. All weights
    are computed and compared in every draw. Random numbers are multiples of the weights' sum but
    for a share below :math:`2^{-64}`, and only there they are drawn again.

    Parameters
    ----------
    steps
        The weights of every step of the chain, that of the finer output last.

    Examples
    --------
    >>> from tightrope.certify import certify, certify_sharpened
    >>> from tightrope.channels import UnboundedNoise
    >>> from tightrope.queries import query
    >>> asked = query("count(1000)")
    >>> coarse = certify(UnboundedNoise(asked.graph, "0.1"), asked, "0.1")
    >>> finer = FinerSampler([certify_sharpened(coarse, 5).noise])
    >>> abs(finer.draw(400, [370]) - 400) < 20
    True
    """

    def __init__(self, steps: Sequence[SharpenedWeights]) -> None:
        self._steps = steps
        last = steps[-1]
        self._kernel = np.array(mirrored(last.kernel), object)
        self._levels = np.array(last.levels, object)
        self._around = np.arange(1 - len(last.kernel), len(last.kernel))

    def check(self, published: Sequence[int]) -> None:
        """Refuse numbers that no chain of this kind can have published."""
        # max over R: whether any true answer could have led here, without looking at the answer.
        factor, left = self._history(published, lambda rest, _: max(rest))
        if not factor and not left:
            raise InputError(
                "the published numbers are not those of this chain: they cannot follow each other"
            )

    def draw(
        self, answer: int, published: Sequence[int], source: Any = os.urandom
    ) -> int:
        """Draw the finer number of a true answer after the published ones, the first one first."""
        last = self._steps[-1]
        before = published[-1]
        # Beyond the table R is constant: its last entry is that of all larger distances.
        factor, left = self._history(
            published, lambda rest, at: rest[min(abs(answer - at), len(rest) - 1)]
        )
        apart = np.abs(before + self._around - answer)
        last_level = len(self._levels) - 1
        near = self._levels[np.minimum(apart, last_level)]
        # a_h k(o_m - o) w(x - o) for every o within the kernel.
        weights = self._kernel * near * factor
        last_rest = len(last.rest) - 1
        rest = last.rest[min(abs(answer - before), last_rest)]
        # [o = o_m] (a_h R(x - o_m) + S l_h(x)): the mass left over repeats the last output.
        weights[len(last.kernel) - 1] += factor * rest + last.scale * left
        most_factor, most_left = self._history(published, lambda rest, _: max(rest))
        # A bound on S C_h(x) over all x: the number of random bits must not depend on the answer.
        factor_most = most_factor * last.coarse.levels[0]
        most = last.scale * (factor_most + most_left)
        place = _draw_place(weights.tolist(), 64 + most.bit_length(), source)
        return int(before + self._around[place])

    def _history(
        self, published: Sequence[int], weigh: Callable[[list[int], int], int]
    ) -> tuple[int, int]:
        """Return a_h and l_h; what R weighs after an output is up to the caller."""
        factor = 1
        left = 0
        for step, (before, finer) in zip(
            self._steps, itertools.pairwise(published), strict=False
        ):
            # l' = a R + S l where the output was repeated, otherwise 0.
            rest = factor * weigh(step.rest, before) + step.scale * left
            left = rest if before == finer else 0
            apart = abs(before - finer)
            # a' = a k(o - o'): outside the kernel the history is impossible.
            factor *= step.kernel[apart] if apart < len(step.kernel) else 0
        return factor, left


def _draw_place(weights: list[int], bits: int, source: Any) -> int:
    """Draw a place with the probability of its weight, from so many random bits.

    >>> _draw_place([0, 3, 0], 70, os.urandom)
    1
    """
    sums = list(accumulate(weights))
    width = -(-bits // 8)
    # Numbers from times·sum on are rejected: a share below sum/2^bits, at most 2^-64.
    times = (1 << 8 * width) // sums[-1]
    while True:
        drawn = int.from_bytes(source(width), "little") // times
        if drawn < sums[-1]:
            # The list is built in full: a short-circuit would leak the place by the time it takes.
            return sum([start <= drawn for start in sums])


def _at_most(
    sums: Sequence[NDArray[np.uint64]], drawn: Sequence[NDArray[np.uint64]]
) -> NDArray[np.bool_]:
    """Whether sums are at most the numbers drawn, comparing every limb in every case."""
    most = sums[-1] <= drawn[-1]
    for there, number in zip(sums[-2::-1], drawn[-2::-1], strict=True):
        # Lexicographic on limbs without branches: (a < u) or (a = u and the rest is at most).
        most = (there < number) | ((there == number) & most)
    return most


class ScoreSampler:
    """Draws outputs of a mechanism by scores for the counts of one table.

    Every value is accepted or not by its own random bits, all values are put in a random order,
    and the first accepted one is the output. All of that is done for every value, whatever the
    counts are. Two values with the same random place would make the order less than uniform:
    then all places are drawn again, which depends on no count.

    Parameters
    ----------
    mechanism
        The mechanism.
    counts
        How many people have each value.

    Examples
    --------
    >>> from tightrope.certify import by_score
    >>> ScoreSampler(by_score("commonest(3)", 1), [900, 5, 3]).draw_index()
    0
    """

    def __init__(self, mechanism: ScoreMechanism, counts: Sequence[int]) -> None:
        self._weights = mechanism.weights(mechanism.gaps(counts)).astype(np.uint64)
        self._shift = np.uint64(64 - mechanism.bits)

    def draw_index(self) -> int:
        """Draw the number of one value."""
        count = len(self._weights)
        # Each value is accepted with probability w/2^bits, by its own bits.
        accepted = self._words(count) >> self._shift < self._weights
        places = self._words(count) >> np.uint64(1)
        while len(np.unique(places)) < count:
            places = self._words(count) >> np.uint64(1)
        # Rejected values get the largest place. A value of gap 0 is always accepted, so one
        # remains.
        refused = np.uint64(1 << 63)
        return int(np.where(accepted, places, refused).argmin())

    @staticmethod
    def _words(count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), np.uint64)


class BracketSampler:
    """Draws a quantile and both ends of its interval for the counts of one table.

    Every value is accepted or not by a random number of its own, and one of the accepted ones,
    each as likely as another, is the quantile: that is the first one in a random order. Then a
    level is drawn, and each end among all places that reach it. Every level and every value is
    looked at, whatever the counts are.

    Examples
    --------
    >>> from tightrope.certify import by_score
    >>> made = by_score("bracket(1/2,9,30,10)", 20)
    >>> BracketSampler(made, [0, 0, 300, 0, 900, 0, 300, 0, 0]).draw()
    (4, 4, 4)
    """

    def __init__(self, mechanism: Bracket, counts: Sequence[int]) -> None:
        lower, _, upper = mechanism.choices(counts)
        self._choices = (lower, upper)
        # A stable order by gap: the first many[level] places are those that reach the level.
        low, _, high = (
            places[np.argsort(gap[places], kind="stable")]
            for gap, places in zip(
                mechanism.gaps(counts), mechanism.places, strict=True
            )
        )
        self._orders = (low, high)
        self._levels = mechanism.level_weights(counts)
        self._weights = mechanism.gap_weights(counts)
        self._steps = mechanism.value_steps(counts)
        # The chance of being accepted in units of 2^-63, and what is left of a unit. W falls with
        # the gap, and some value has none: its chance is 1.
        units = [divmod(weight << 63, self._weights[0]) for weight in self._weights]
        whole = np.array([number for number, _ in units], np.uint64)
        self._whole = whole[self._steps]
        self._rest = [rest for _, rest in units]

    def _accepted(self) -> NDArray[np.int64]:
        """Accept each value with its exact chance, and return the accepted ones."""
        raw = os.urandom(8 * len(self._whole))
        words = np.frombuffer(raw, np.uint64)
        words = words >> np.uint64(1)
        accepted = words < self._whole
        # 63 bits decide but in the unit that the chance ends in: one case of 2^63.
        for value in np.flatnonzero(words == self._whole):
            rest = self._rest[self._steps[value]]
            accepted[value] = secrets.randbelow(self._weights[0]) < rest
        return np.flatnonzero(accepted)

    def draw(self) -> tuple[int, ...]:
        """Draw the places of the lower end, the quantile and the upper end."""
        accepted = self._accepted()
        value = int(accepted[secrets.randbelow(len(accepted))])
        steps = int(self._steps[value])
        # Ends of a quantile at gap g reach the levels from g on.
        from_gap = [0] * steps + self._levels[steps:]
        running = list(accumulate(from_gap))
        level = _drawn_place(running)
        low, high = (
            int(order[secrets.randbelow(int(many[level]))])
            for order, many in zip(self._orders, self._choices, strict=True)
        )
        return low, value, high


class JointSampler:
    """Draws several quantiles in one draw for the counts of one table.

    Examples
    --------
    >>> from tightrope.certify import by_score
    >>> made = by_score("quantiles(1/4,3/4,9,900)", 20)
    >>> JointSampler(made, [0, 0, 300, 0, 300, 0, 300, 0, 0]).draw()
    (2, 6)
    """

    def __init__(self, mechanism: JointQuantiles, counts: Sequence[int]) -> None:
        mechanism.check_counts(counts)
        self._mechanism = mechanism
        # More rows in a value than declared are as many as declared.
        self._counts = [min(int(count), mechanism.places) for count in counts]

    def draw(self) -> tuple[int, ...]:
        """Draw the places of all quantiles, from the last one down to the first."""
        random = secrets.SystemRandom()
        grid = range(self._mechanism.places)
        ends = self._mechanism.slot_ends(
            # Rows of one value get different random places on its grid: ties are broken uniformly.
            [random.sample(grid, count) for count in self._counts]
        )
        sizes = np.diff(ends).tolist()
        ways = self._drawn_ways(sizes)
        width = 2 * self._mechanism.places
        if ways is None:
            points = _multiset(width * len(self._counts), len(self._mechanism.ranks))
            return tuple(x // width for x in points)
        beyond = ways.cells[-1][::-1]  # the level of the cell above a slot
        found: list[int] = []
        left = len(self._mechanism.ranks)
        while left:
            # Weight of the last quantile's slot: ways to leave it, times the level of the cell
            # above.
            weights = map(operator.mul, ways.leave[left - 1], beyond)
            slot = _drawn_place(list(accumulate(weights)))
            block = 1 + _drawn_place(
                list(accumulate(self._block_weights(ways, slot, left)))
            )
            inside = _multiset(sizes[slot], block)
            found += [int(ends[slot]) + x for x in inside]
            left -= block
            # What is left lies below this slot, and ends in it.
            levels = ways.cells[left]
            empty = [0] * (len(sizes) - slot)
            beyond = levels[slot:0:-1] + empty
        return tuple(sorted(x // width for x in found))

    def _drawn_ways(self, sizes: list[int]) -> Ways | None:
        """Draw a total in proportion to the weight of all its tuples; none for the spare ones."""
        mechanism = self._mechanism
        totals = mechanism.totals(len(sizes) - 1)
        if not mechanism.counts_totals:
            return mechanism.ways(sizes, totals[0])
        # Sums of one total at a time are held: those of all would fill the memory.
        masses = [mechanism.ways(sizes, total).mass for total in totals]
        spare = mechanism.spare * mechanism.tuple_count
        drawn = _drawn_place(list(accumulate([*masses, spare])))
        return mechanism.ways(sizes, totals[drawn]) if drawn < len(totals) else None

    @staticmethod
    def _block_weights(ways: Ways, slot: int, left: int) -> Iterator[int]:
        """Yield the weight of each number of quantiles in a slot that holds the last one."""
        for block in range(1, left + 1):
            first = left - block
            # Cells between quantiles of one block are empty, hence level [0] of each.
            between = range(first + 1, left)
            empty = math.prod(ways.cells[k][0] for k in between)
            arrivals = ways.arrive[first][slot]
            yield empty * arrivals * ways.multisets[block][slot]


def _multiset(points: int, many: int) -> list[int]:
    """Draw a multiset of so many points, in order: a set of b of M + b - 1 for b of M."""
    bars = secrets.SystemRandom().sample(range(points + many - 1), many)
    return [x - k for k, x in enumerate(sorted(bars))]


def _drawn_place(running: Sequence[int]) -> int:
    """Draw a place by running sums of weights; the bits are compared with every one of them."""
    number = secrets.randbelow(running[-1])
    return sum(total <= number for total in running)


def simulate(
    mechanism: Mechanism, row: int, count: int, *, seed: int
) -> list[Hashable]:
    """Draw outputs with a seed: a simulation, never a release, as anybody can draw them again.

    Parameters
    ----------
    mechanism
        The mechanism.
    row
        The node of the true answer.
    count
        The number of draws.
    seed
        A whole number; the same seed gives the same draws.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> simulate(made, 3, 4, seed=1) == simulate(made, 3, 4, seed=1)
    True
    """
    # Every other draw takes its bits from the operating system.
    generator = np.random.default_rng(whole_number(seed, "a seed", 0))
    return Sampler(mechanism, row).draws(count, generator.bytes)


# -- for OpenDP ---------------------------------------------------------------------------------


def privacy_map(mechanism: Mechanism, distance: float) -> float:
    r"""Return the ε that answers at most a distance apart are distinguished by, never too small.

    On a line of whole answers with neighbours at most w apart it is
    :math:`\varepsilon \lceil d/w \rceil`; elsewhere any change may cross the whole graph.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(11, "0.5", 5), "sum(2,5)", "0.5")
    >>> privacy_map(made, 0), privacy_map(made, 6)
    (0.0, 1.0)
    """
    if not distance >= 0:
        raise InputError(f"a distance must be at least 0, got {distance}")
    # Zero before the form is checked: equal answers are indistinguishable in any graph.
    if distance == 0:
        return 0.0
    box = mechanism.graph.sides if mechanism.graph.form == "box" else None
    if box is None or len(box) > 1:
        raise InputError(
            f"{mechanism.query} has no distances on a line: only such mechanisms become OpenDP "
            "measurements"
        )
    size, width = box[0]
    # Group privacy: ⌈d/w⌉ steps between neighbours; floor first, as answers are whole.
    steps = -(-math.floor(min(distance, size)) // width)
    level = mechanism.epsilon
    if level.base is not None:
        # A logarithm in floats may lie a few units too low.
        return float(level) * steps * (1 + 2.0**-50)
    exact = level.multiple * steps
    found = float(exact)
    # Float conversion rounds to nearest: step up where that went below.
    return math.nextafter(found, math.inf) if found < exact else found


def opendp_measurement(mechanism: Mechanism) -> Any:
    """Return an OpenDP measurement that draws from the mechanism, with a checked privacy map.

    The mechanism is verified first. The input is the number of the true answer, the metric the
    absolute distance of answers, the measure pure ε. OpenDP must have the features ``contrib``
    and ``honest-but-curious`` enabled, because it cannot check a function; here the integers
    were checked instead.

    Parameters
    ----------
    mechanism
        A mechanism whose answers stand on a line.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.graphs import Clique, petersen
    >>> from tightrope.channels import ScaledPhi
    >>> made = certify(ScaledPhi(petersen(), "ln(2)", 1 / 4), petersen(), "ln(2)")
    >>> opendp_measurement(made)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: petersen has no distances on a line: ...
    """
    # Refuse early what has no distances, before the costly verification.
    privacy_map(mechanism, 1)
    found = verify(mechanism)
    if not found:
        raise CheckFailed(found.reasons[0])
    with refusing(
        "an OpenDP measurement needs OpenDP: pip install opendp", ImportError
    ):
        import opendp.prelude as dp
    samplers: dict[int, Sampler] = {}

    def function(answer: int) -> int:
        if answer not in samplers:
            samplers[answer] = Sampler(mechanism, answer)
        return samplers[answer].draw_index()

    return dp.m.make_user_measurement(
        dp.atom_domain(bounds=(0, mechanism.shape[0] - 1), T="i32"),
        dp.absolute_distance(T="i32"),
        dp.max_divergence(),
        function,
        lambda distance: privacy_map(mechanism, distance),
        TO="i32",
    )
