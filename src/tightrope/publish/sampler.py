r"""Exact draws with a fixed amount of work.

A row of integer weights with total :math:`2^b` is a table of running sums. A draw takes b bits
from the operating system's secure source and counts the sums that are not above them. There is
no floating point, no seed, no rejection and no early exit.

A single draw compares its bits with *every* sum: a search that stops at the right place would
touch memory that depends on the result, and the cache would tell (a binary search of the same
table correlates with the output by 0.1 to 0.2 in rank, this by nothing measurable). Many draws at
once do the same number of rounds each, on a table padded to :math:`2^k - 1` sums.

Noise on a lattice has one table of layers for all answers, however many there are. Layer t holds
:math:`N_t w_t` of the :math:`2^b` numbers: where the drawn number lies in it, divided by
:math:`w_t`, is the number of a point of the layer, each as likely as any other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import Mechanism, ScoreMechanism, verify
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
        self.mechanism, self.row = mechanism, int(row)
        weights = mechanism.row_weights(self.row)
        if int(weights.min()) < 0 or sum(weights.tolist()) != mechanism.total:
            raise InputError(f"row {row} does not sum to 2^{mechanism.bits}: verify the mechanism")
        self.bits = mechanism.bits
        self.outputs = len(weights)
        self.comparisons = self.outputs - 1
        self.rounds = self.comparisons.bit_length()
        # The last sum is the total, which no draw reaches; padding with it changes nothing.
        sums = list(accumulate(weights.tolist()))[:-1]
        sums += [mechanism.total] * (2**self.rounds - 1 - len(sums))
        self._padded = tuple(
            np.array([s >> (64 * k) & (2**64 - 1) for s in sums], np.uint64)
            for k in range(self.bits // 64, -1, -1)
        )
        self._sums = tuple(limb[: self.comparisons].copy() for limb in self._padded)
        self._shift = np.uint64(64 - self.bits % 64)

    def draw_index(self) -> int:
        """Draw the number of one output."""
        if len(self._sums) > 1:
            drawn = self._random(1, os.urandom)
            return int(np.count_nonzero(_at_most(self._sums, drawn)))
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
        labels = {o: self.mechanism.output_label(o) for o in set(found)}
        return [labels[o] for o in found]

    def _look_up(self, count: int, source: Any, block: int = 1 << 16) -> NDArray[np.int64]:
        count = whole_number(count, "the number of draws", 0)
        if count > 50_000_000:
            raise TooLarge(f"{count} draws at once are more than 50000000: draw in parts")
        out = np.empty(count, np.int64)
        for start in range(0, count, block):
            some = min(block, count - start)
            out[start : start + some] = self._search(self._random(some, source))
        return out

    def _random(self, count: int, source: Any) -> list[NDArray[np.uint64]]:
        """Return random numbers of ``bits`` bits as limbs of 64 bits, the highest first."""
        first = np.zeros(count, np.uint64)
        if self.bits % 64:
            first = np.frombuffer(source(8 * count), np.uint64) >> self._shift
        whole = range(self.bits // 64)
        return [first, *(np.frombuffer(source(8 * count), np.uint64) for _ in whole)]

    def _search(self, drawn: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Find the interval of each number in rounds that all do the same work."""
        place = np.zeros(len(drawn[0]), np.int64)
        for round_ in range(self.rounds - 1, -1, -1):
            probe = place + ((1 << round_) - 1)
            passed = _at_most([limb[probe] for limb in self._padded], drawn)
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
        noise, lattice = mechanism.noise, mechanism.question.graph.unbounded
        if noise is None or lattice is None:
            raise InputError(f"{mechanism!r} is no noise on a lattice")
        self.mechanism, self.lattice, self.bits = mechanism, lattice, mechanism.bits
        self.centre = lattice.coordinates(answer)
        self._core, self._reach = noise.lattice.core, noise.reach
        last = noise.levels[-1]
        weights = [level - last for level in noise.levels[: noise.reach]]
        masses = [n * w for n, w in zip(noise.sizes, weights, strict=True)]
        # First what the middle has more than its layer, then the layers, then all that is flat.
        self._weights = np.array([1, *weights, last], object)
        self._starts = np.array([0, *accumulate([noise.odd, *masses])], object)
        if self._starts[-1] + noise.floor != mechanism.total:
            raise InputError("the layers do not sum to the total: verify the mechanism")

    def draw(self) -> Hashable:
        """Draw one output: the answer plus noise, each number held between its ends."""
        return self.draws(1)[0]

    def draws(self, count: int) -> list[Hashable]:
        """Draw many outputs."""
        return [self.lattice.clamped(point) for point in self.draw_points(count).tolist()]

    def draw_points(self, count: int, source: Any = os.urandom) -> NDArray[Any]:
        """Draw points of the lattice, before their numbers are held between the ends."""
        width = -(-self.bits // 8)
        raw = source(width * whole_number(count, "the number of draws", 0))
        cut = (raw[at : at + width] for at in range(0, len(raw), width))
        mask = (1 << self.bits) - 1
        drawn = np.array([int.from_bytes(word, "little") & mask for word in cut], object)
        if count == 1:  # every start is compared: a search would touch memory by the noise
            place = np.array([sum([start <= drawn[0] for start in self._starts[1:].tolist()])])
        else:
            place = np.searchsorted(self._starts[1:], drawn, side="right")
        numbers = (drawn - self._starts[place]) // self._weights[place]
        widest = self.lattice.people + 2 * (self._core + self._reach * self.lattice.width)
        found = np.empty((len(drawn), self.lattice.parts), np.int64 if widest < 1 << 62 else object)
        for t in np.unique(place).tolist():
            mine, middle = place == t, self.lattice.layer(0, self._core) // 2
            if t > self._reach:
                flat = [
                    self.lattice.point_around(self._reach, n, self._core) for n in numbers[mine]
                ]
                found[mine] = flat
            else:
                layer, chosen = (t - 1, numbers[mine]) if t else (0, np.full(mine.sum(), middle))
                noise = self.lattice.points(layer, chosen, self._core)
                found[mine] = noise + np.array(self.centre, found.dtype)
        return found


def draw_output(mechanism: Mechanism, row: int) -> Hashable:
    """Draw one output for the true answer of a row.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> draw_output(made, 3) in range(6)
    True
    """
    if mechanism.noise is None:
        return Sampler(mechanism, row).draw()
    return LatticeSampler(mechanism, mechanism.input_label(row)).draw()


def _at_most(
    sums: Sequence[NDArray[np.uint64]], drawn: Sequence[NDArray[np.uint64]]
) -> NDArray[np.bool_]:
    """Whether sums are at most the numbers drawn, comparing every limb in every case."""
    most = sums[-1] <= drawn[-1]
    for there, number in zip(sums[-2::-1], drawn[-2::-1], strict=True):
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
        accepted = self._words(count) >> self._shift < self._weights
        places = self._words(count) >> np.uint64(1)
        while len(np.unique(places)) < count:
            places = self._words(count) >> np.uint64(1)
        return int(np.where(accepted, places, np.uint64(1 << 63)).argmin())

    @staticmethod
    def _words(count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), np.uint64)


def simulate(mechanism: Mechanism, row: int, count: int, *, seed: int) -> list[Hashable]:
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
    generator = np.random.default_rng(whole_number(seed, "a seed", 0))
    return Sampler(mechanism, row).draws(count, generator.bytes)


# -- for OpenDP ---------------------------------------------------------------------------------


def privacy_map(mechanism: Mechanism, distance: float) -> float:
    r"""Return the ε that answers at most a distance apart are told apart by, never too small.

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
    if distance == 0:
        return 0.0
    box = mechanism.graph.sides if mechanism.graph.form == "box" else None
    if box is None or len(box) > 1:
        raise InputError(
            f"{mechanism.query} has no distances on a line: only such mechanisms become OpenDP "
            "measurements"
        )
    size, width = box[0]
    steps = -(-math.floor(min(distance, size)) // width)
    level = mechanism.epsilon
    if level.base is not None:
        # A logarithm in floats may lie a few units too low.
        return float(level) * steps * (1 + 2.0**-50)
    exact = level.multiple * steps
    found = float(exact)
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
    privacy_map(mechanism, 1)
    found = verify(mechanism)
    if not found:
        raise CheckFailed(found.reasons[0])
    with refusing("an OpenDP measurement needs OpenDP: pip install opendp", ImportError):
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
