r"""Stairs: prices on a power of a path, where neighbours differ by at most v.

*Theorem.* For each guess k let a core of answers be such that, from both ends towards it, what
an answer has left over of ``w_i = π_i·loss(i,k) - λ_i`` covers deficits of answers up to v
nearer to the core, a piece t of it with α·t, and that no answer remains short. Then no private
mechanism loses less than Σ λ_i.

*Proof.* A private column has ``x_j >= α·x_i`` for neighbours, so a piece t of the coefficient of
x_j is worth α·t at i: the pieces are multipliers. Outside the core, layers of v answers cover
the next layer, those furthest out first, which reach the fewest others; what is left goes to the
answer v nearer. By Hall's theorem multipliers into the core exist when every interval of it
lacks no more than all have who may cover one of its answers. ∎
"""

from __future__ import annotations

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import CertificateKind, Shortfalls
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    MASK,
    Array,
    Contents,
    Header,
    Sizes,
    need,
    need_work,
    registered,
)


@registered(CERTIFICATES, "stairs")
class Stairs(CertificateKind):
    """Prices, and first and last answer of the core of each guess."""

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return prices and cores."""
        places = {"places": (2 * guesses, 0, nodes)}
        return super().sections(header, nodes, guesses) | places

    @classmethod
    def shortfalls(
        cls, consumer: StatedConsumer, prices: Array, digits: int = 48
    ) -> Shortfalls:
        """Send everything towards the core of each guess, in units that fit machine integers.

        Answers so far from the core that a piece of them counts less than 2^-digits there cover
        nothing, and must not be short.
        """
        graph = consumer.graph
        alpha = consumer.alphas[0]
        n = consumer.n
        line = graph.form == "box" and len(graph.sides) == 1
        sound = line and 0 < alpha < 1 << 62
        need(sound, "certificate: stairs are for answers on a line")
        width = graph.sides[0][1]
        layers = 1
        power = alpha
        # Layers until α^layers < 2^-digits: pieces from further out no longer matter.
        while power >> (62 - digits) and layers * width < n:
            power = power * alpha >> 62
            layers += 1
        reach = layers * width
        work = consumer.guesses * (min(n, 2 * reach) + n // 3) * consumer.effort
        need_work("the conditions of all guesses", work, 1000)
        low, high = read_cores(consumer.file)
        sound = bool(((low >= 0) & (low <= high) & (high < n)).all())
        need(sound, "certificate: a core has no answers")
        owed = prices * consumer.scale
        share = consumer.prior * (1 << consumer.bits)
        added = added_up(width, layers, alpha, high - low)
        # Blocks of guesses, so that arrays have about 2^20 entries.
        step = max(16, (1 << 20) // min(n, 3 * reach))
        for at in range(0, consumer.guesses, step):
            k = np.arange(at, min(at + step, consumer.guesses))
            first = max(0, int(low[k].min()) - reach)
            # All guesses of this block see only these answers.
            some = slice(first, min(n, int(high[k].max()) + reach + 1))
            rows = []
            for guess in k.tolist():
                room = share * consumer.losses(guess) - owed
                rows.append(room[some].copy())
                room[some] = 0
                out = np.flatnonzero(room < 0)  # out of reach nothing covers a deficit
                if len(out):
                    yield guess, out, -(room[out] // consumer.scale)
            rooms = np.array(rows)
            # Rounded down to units in which what is added up stays below 2^61.
            shift = max(0, (int(abs(rooms).max()) * added).bit_length() - 61)
            units = (rooms >> shift).astype(np.int64)
            short = dual_shortfall(units, low[k] - first, high[k] - first, width, alpha)
            for row in np.flatnonzero(short.any(axis=1)).tolist():
                places = np.flatnonzero(short[row])
                lack = short[row, places].astype(object) << shift
                yield int(k[row]), places + first, -(-lack // consumer.scale)


def read_cores(file: Contents) -> Array:
    """Return first and last answer of the core of each guess."""
    return file.section("places").astype(np.int64).reshape(-1, 2).T


def added_up(width: int, layers: int, alpha: int, cores: Array) -> int:
    """Return how many times the largest room sums of rooms can be."""
    # Σ_t α^t ≤ 1/(1 - α): what is passed on from layer to layer adds up to this at most.
    grown = min(layers, (1 << 62) // ((1 << 62) - alpha) + 1)
    return max((2 * width + 2) * grown, int(cores.max()) + 1)


def dual_shortfall(
    rooms: Array, low: Array, high: Array, width: int, alpha: int
) -> Array:
    """Return what answers lack when everything is sent towards the core of each guess.

    One row for each guess, with cores from ``low`` to ``high``.

    >>> row = np.array([[8, -2, -4, -1, 4]])
    >>> dual_shortfall(row, np.array([1]), np.array([2]), 1, 1 << 61).tolist()
    [[0, 0, 4, 0, 0]]
    """
    lacks = np.zeros_like(rooms)
    behind = _outer_layers(rooms, high + 1, 1, width, alpha, lacks)
    before = _outer_layers(rooms, low - 1, -1, width, alpha, lacks)
    _core(rooms, low, high, width, (before, behind), lacks)
    return lacks


def _outer_layers(
    rooms: Array, start: Array, out: int, width: int, alpha: int, lacks: Array
) -> Array:
    """Send everything on one side of the cores towards them, layer by layer.

    Return what reaches the core from the first 1, 2, … answers outside; note what is lacking.
    """
    rows = np.arange(len(rooms))[:, None]
    n = rooms.shape[1]
    spare = np.zeros((len(rooms), width), np.int64)
    far = int((n - start if out > 0 else start + 1).max())
    # From the outermost layer inwards: each covers the next and passes on what is left.
    for t in range(-(-far // width) - 1, -1, -1):
        i = start[:, None] + out * np.arange(t * width, (t + 1) * width)
        inside = (i >= 0) & (i < n)
        i = np.clip(i, 0, n - 1)
        own = np.where(inside, rooms[rows, i], 0)
        reaching = _times_alpha(spare, alpha)
        deficit = np.maximum(-own, 0)
        # From the far end of the layer on: deficits that those further out do not cover.
        late = np.cumsum((deficit - reaching)[:, ::-1], axis=1)
        # The recursion c = max(0, c + deficit - reaching), as a sum less its running minimum.
        late -= np.minimum(np.minimum.accumulate(late, axis=1), 0)
        rest = late[:, -1:]  # of the deficits up to each answer, those before it
        if rest.any():
            short = np.clip(rest - np.cumsum(deficit, axis=1) + deficit, 0, deficit)
            lacks[np.broadcast_to(rows, i.shape)[inside], i[inside]] = short[inside]
        left = np.diff(late, axis=1, prepend=0)[:, ::-1]
        spare = np.maximum(own + reaching + left, 0)
    return np.cumsum(_times_alpha(spare, alpha), axis=1)


def _core(
    rooms: Array,
    low: Array,
    high: Array,
    width: int,
    reached: tuple[Array, Array],
    lacks: Array,
) -> None:
    """Note what the answers of the cores lack, by Hall's theorem on their intervals."""
    rows = np.arange(len(rooms))[:, None]
    size = high - low + 1
    p = np.broadcast_to(np.arange(int(size.max())), (len(rooms), int(size.max())))
    inside = p < size[:, None]
    i = np.minimum(low[:, None] + p, rooms.shape[1] - 1)
    deficit = np.where(inside, np.maximum(-rooms[rows, i], 0), 0)
    due = np.cumsum(deficit, axis=1)

    def reaching(sums: Array, far: Array) -> Array:
        """Return what comes from one side to the answers within a distance of its end."""
        # An answer at distance `far` from the end is a neighbour of the first width - far outside.
        return np.where(far < width, sums[rows, np.maximum(width - 1 - far, 0)], 0)

    before = reaching(reached[0], p)
    behind = reaching(reached[1], np.maximum(size[:, None] - 1 - p, 0))
    # Σ deficits of first … last - before(first) - behind(last) for the worst first
    opened = np.where(inside, due - deficit + before, 1 << 62)
    worst = np.minimum.accumulate(opened, axis=1)
    short = np.where(inside, due - behind - worst, 0)
    # What the worst interval of a core lacks is shared by its answers with a deficit.
    for at in np.flatnonzero((short > 0).any(axis=1)).tolist():
        last = int(short[at].argmax())
        first = int(opened[at, : last + 1].argmin())
        some = first + np.flatnonzero(deficit[at, first : last + 1])
        lacks[at, low[at] + some] = -(-short[at, last] // len(some))


def _times_alpha(x: Array, alpha: int) -> Array:
    """Return at most α·x where x is positive, else 0, for integers below 2^61."""
    positive = np.maximum(x, 0)
    alpha_high = alpha >> 31
    alpha_low = alpha & MASK
    high = positive >> 31
    low = positive & MASK
    # Cross terms rounded down, the lowest product dropped: the result is at most α·x.
    carried = (high * alpha_low >> 31) + (low * alpha_high >> 31)
    return np.asarray(high * alpha_high + carried)
