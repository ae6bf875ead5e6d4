r"""Noise on a lattice, and bounds on the worst loss of every private mechanism.

*Theorem 1.* Noise whose weight falls by at most p/q from layer to layer is private, and all rows
have one sum. *Theorem 2.* Held between the ends, its worst loss is at most the largest of the
sums of :meth:`tightrope.lattices.Lattice.worst_sums`; at the ends of a sum or of counts under
add-remove these count distances in the graph, which are longer than in the lattice. *Theorem 3.*
No private mechanism on the unbounded question has a worst loss below :func:`unbounded_bound`.
*Theorem 4.* None on the question itself has one below :func:`ended_bound`. *Theorem 5.* Nor below
:meth:`tightrope.lattices.Lattice.lines_bound`.

The proofs are in :class:`LatticeWeights`, in ``worst_sums`` and in the functions named.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import inf, log2
from operator import mul
from typing import Any, ClassVar

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import CertificateKind
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    WEIGHTS,
    Contents,
    File,
    Header,
    Refused,
    Sizes,
    fraction,
    maybe,
    need,
    need_work,
    registered,
    whole,
)
from tightrope.certify.kernel.weights import AnyWeights, Derive
from tightrope.certify.theorems.levels import falling_levels
from tightrope.lattices import Lattice, LineFlow, evaluated


@registered(WEIGHTS, "lattice")
class LatticeWeights(AnyWeights):
    r"""Noise on a lattice: ``W[x,y] = w[min(t, T)]`` for points y at distance t from the answer x.

    The outputs are the points of a box (for roots a simplex) that holds all within distance T of
    an answer. What is reported of y depends on y alone: each number is held between its ends,
    which brings it further from no answer. One step changes t by at most 1, so W is private when
    ``w_t >= w_(t+1)`` and ``w_t·q <= w_(t+1)·p``. Every row has the same sum ``Σ N_t·(w_t - w_T) +
    w_T·(points of the box)``: the balls up to T-1 lie in the box. The file names w_1; then every
    level is ⌈w·q/p⌉, T is the first that stays as it is, and w_0 is what is left to 2^bits.
    """

    kind = "lattice"

    on_lattice: ClassVar = True
    #: Which share of all draws the layers describe, up to a distance from the answer.
    described: Fraction = Fraction(1)
    described_reach: float = inf
    fields: ClassVar = {
        "bits": whole(1, 4001),
        "start": whole(1, 1 << 4000),
        "core": whole(0, 1 << 60),
    }

    def __init__(self, file: Contents) -> None:
        header = file.header
        given = header["weights"]
        need(header["query"] is not None, "a lattice belongs to a named question")
        plain = header["outputs"] is None and header["delta"] is None
        need(plain, "the outputs of a lattice are the answers, and it has no δ")
        named = question_lattice(header["query"], header["neighbours"])
        need(named.form == "line" or not given["core"], "only a line has a core")
        self.lattice = replace(named, core=given["core"])
        narrow = self.lattice.core < self.lattice.width
        need(narrow, "the core must be less than the largest step")
        self.file = file
        self.bits = given["bits"]
        self.total = 1 << self.bits
        self.outputs = self.lattice.nodes
        self.ratio = header["ratios"][0]
        layers = Layers(self.lattice, self.ratio, self.bits, given["start"])
        self.levels = layers.levels
        self.reach = layers.reach  # T
        self.sizes = layers.sizes
        self.floor = layers.floor
        self.odd = layers.odd

    @classmethod
    def read(cls, file: File, derive: Derive) -> LatticeWeights:
        """Read the noise of a file."""
        noise = cls(file)
        file.expect(noise.outputs)
        return noise

    def consumer(self) -> LatticeConsumer:
        """Return the consumer whose loss this noise has."""
        proof = self.file.header["certificate"] or {"kind": "unbounded"}
        consumer: LatticeConsumer = CERTIFICATES[proof["kind"]].consumer(self)
        return consumer

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with privacy."""
        p = self.ratio.numerator
        q = self.ratio.denominator
        first, second = self.levels[:2]
        # Later levels are ⌈w·q/p⌉ by construction, so only the first pair can fail.
        if not second <= first or (first + self.odd) * q > second * p:
            yield f"privacy: the first layers weigh {first} and {second}, not within {p}/{q}"

    def proved_for(self, whose: str) -> str:
        """Return what was checked, and for which question."""
        many = str(self.lattice.nodes)
        many = many if len(many) < 16 else f"10^{len(many) - 1}"
        layers = f"the {self.reach} layers around each of {many} answers of {whose}"
        return f"w_t·q <= w_(t+1)·p over {layers}; rows sum to 2^{self.bits}"

    def worst(self, loss: str) -> Fraction:
        """Bound the worst loss: what lies beyond the ends is moved towards every answer."""
        lattice = self.lattice
        last = self.levels[-1]
        excess = [level - last for level in self.levels[: self.reach]]
        k = lattice.parts
        # Powers of k numbers are taken for each number of counts at the end.
        each = 600 + (2000 + 40 * k if lattice.ends else 0)
        steps = (self.reach + k) * (k + 1)
        need_work("the losses of a lattice", steps, each, self.reach * (k + 20) * 16)
        sums = lattice.worst_sums(loss, self.reach)
        most = max(sum(map(mul, each, excess)) for each in sums)
        flat = self.floor * lattice.largest(loss, self.reach)
        return Fraction(most + flat, self.total) * lattice.units(loss)


class Layers:
    """The layers of noise on a lattice, from the level of the second one outwards.

    Attributes
    ----------
    levels, reach
        w_0 … w_T, and T.
    sizes
        How many points the layers before T have.
    floor
        What all points of the box weigh together, each w_T.
    odd
        What the point in the middle has more than its layer.
    """

    def __init__(
        self, lattice: Lattice, ratio: Fraction, bits: int, start: int
    ) -> None:
        levels = falling_levels([start], ratio)
        self.reach = len(levels)
        self.sizes = bounded_layers(lattice, self.reach)
        # Every point of the box weighs w_T, and the layers what they have above it.
        self.floor = levels[-1] * lattice.around(self.reach)
        need_work("the weights of the layers", self.reach, 3000)
        pairs = zip(self.sizes[1:], levels, strict=False)
        # Σ N_t·(w_t - w_T) over the layers beyond the first.
        rest = sum(n * (w - levels[-1]) for n, w in pairs)
        left = (1 << bits) - self.floor - rest
        need(left > 0, f"total: the layers weigh more than 2^{bits}")
        # What does not divide by the points of the first layer goes to the one in its middle.
        first, self.odd = divmod(left, self.sizes[0])
        self.levels = [first + levels[-1], *levels]


def bounded_layers(lattice: Lattice, count: int) -> list[int]:
    """Return how many points lie at distance 0, 1, …, up to a count."""
    k = lattice.parts
    steps = (count + k) * (k + 1)
    need_work("the layers of a lattice", steps, 400, count * (k + 20) * 8)
    return lattice.layers(count)


class LatticeConsumer(StatedConsumer):
    """Who thinks all answers possible, and the worst loss of noise on a lattice."""

    about = "at most "

    def __init__(self, weights: LatticeWeights) -> None:
        header = weights.file.header
        self.file = weights.file
        self.noise = weights
        self.alphas = weights.alphas
        self.lattice = weights.lattice
        self.given = header["consumer"]
        self.proof = header["certificate"]
        self.kind = str(self.given["loss"]["kind"])
        self.guesses = self.lattice.nodes
        self.bits = int((self.proof or {}).get("bits", 0))
        self.averse = self.given["support"] is not None
        self.uniform = self.given["prior"] == {"kind": "uniform"}
        sound = self.fits() and self.kind != "listed" and header["limit"] is None
        wanted = "a worst loss, or one for a prior with prices"
        need(sound, f"noise on a lattice has {wanted}")

    def fits(self) -> bool:
        """Whether all answers are possible, and outputs are their own guesses."""
        everyone = self.averse and self.given["support"]["kind"] == "all"
        return everyone and not self.given["remapped"]

    @cached_property
    def unbounded(self) -> Fraction | None:  # type: ignore[override]
        """The worst loss of no private mechanism on the unbounded question is below this."""
        if self.uniform or self.proof is None:
            return None
        whole_lattice = replace(self.lattice, core=0)
        best = unbounded_bound(whole_lattice, self.kind, self.alphas[0])
        return rounded_down(best * self.lattice.units(self.kind))

    def expected(self) -> Fraction:
        """Bound the worst loss."""
        return self.noise.worst(self.kind)


@registered(CERTIFICATES, "unbounded")
class UnboundedKind(CertificateKind):
    """The bound in closed form, without a list: by lines, or by a prior of slope β."""

    fields: ClassVar = {"slope": maybe(fraction(0, 30))}
    needs_prior: ClassVar = False
    on_lattice: ClassVar = True
    consumer: ClassVar[Any] = LatticeConsumer

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return no section."""
        return {}

    @classmethod
    def lower_bound(cls, consumer: LatticeConsumer) -> Fraction:
        """Return the bound on the worst loss on the question itself."""
        lattice = consumer.lattice
        slope = consumer.proof["slope"]
        need(slope is None or slope < 1, "certificate: the slope must be below 1")
        if slope is None:
            # α' is rounded down to 0 at a large ε, and then nothing is proved.
            alpha = Fraction(consumer.alphas[0], 1 << 62)
            own = lattice.lines_bound(consumer.kind, alpha) if alpha else Fraction(0)
        else:
            own = ended_bound(lattice, consumer.kind, consumer.alphas[0], slope)
        own = rounded_down(max(Fraction(0), own) * lattice.units(consumer.kind))
        assert consumer.unbounded is not None
        return min(consumer.unbounded, own)


def parse_call(question: str) -> tuple[str, list[int]]:
    """Read the name of a question and its numbers, of which only the height of a tree may be 0.

    >>> parse_call("sum(150,5)")
    ('sum', [150, 5])
    """
    number = "(?:0|[1-9][0-9]{0,14})"
    call = re.fullmatch(rf"([a-z_]+)(?:\(({number}(?:,{number})*)\))?", question)
    sizes = [int(x) for x in ((call and call[2]) or "").split(",") if x]
    if call is None or (0 in sizes and call[1] != "tree"):
        raise Refused(f"question: {question!r} is not the text of a question")
    return call[1], sizes


def named_lattice(name: str, sizes: list[int], relation: str) -> Lattice | None:
    """Return the lattice that the answers of a question are a part of, if there is one."""
    change = relation != "add-remove"
    absent = relation != "change-one"
    match name, sizes:
        case "count", [n]:
            return Lattice("line", 1, n)
        # A path of n answers is a count of n - 1 people.
        case "path", [n]:
            return Lattice("line", 1, n - 1)
        case "sum", [n, k]:
            return Lattice("line", 1, n * k, k, ends=not change and k > 1)
        case "mean", [n, k] if not absent:
            return Lattice("line", 1, n * k, k, step=Fraction(1, n))
        case "counts", [n, k]:
            return Lattice("cube" if change else "range", k, n, ends=not change)
        case "histogram", [n, k]:
            # Who changes class moves the counts by e_i - e_j, who comes or goes by ±e_i.
            form = "roots" if change else "cross"
            parts = k + absent if change else k
            return Lattice(form, parts, n, hidden=absent and change)
    return None


def question_lattice(question: str, relation: str) -> Lattice:
    """Derive the lattice of a question from its text.

    >>> question_lattice("histogram(6000,8)", "change-one").form
    'roots'
    """
    found = named_lattice(*parse_call(question), relation)
    known = found is not None and found.people > 0 and found.parts <= 1000
    if found is None or not known or (found.form, found.parts) == ("roots", 1):
        raise Refused(
            f"question: {question} under {relation} has no lattice that is known here"
        )
    return found


def unbounded_bound(lattice: Lattice, loss: str, gamma: int) -> Fraction:
    r"""Bound ``Σ p·loss / Σ p`` from below for all p >= 0 with ``p(z') >= γ·p(z)`` on neighbours.

    γ is in units of 2^-62. On the unbounded question noise that does not depend on the answer is
    as good as any: averaged over shifts, a mechanism loses no more than in its worst case.

    *Lines.* See :class:`tightrope.lattices.LineFlow`.

    *Crosses.* Along each coordinate p is private on a line, and the losses are sums over them.
    On cubes and ranges this is a bound as well.

    *Sizes.* On a cube the sizes have ``a_(t+1)^(1/k) >= a_t^(1/k) + 2`` (Brunn and Minkowski, for
    the unit cells around the points), and a set of a size has at least the absolute loss of as
    many points next to 0. What a set loses less μ times its size is convex in the size, so
    the worst sizes are (r + 2t)^k, r >= 1; bounded over intervals of r.

    *Layers.* Let weights g_t have ``g_(t+1) <= γ·g_t``, let N_t be the layer sizes, φ_t rising, and
    μ = Σ g·N·φ / Σ g·N. If a point of layer t, uniformly drawn, can be moved by one step to
    a uniform point of layer t+1, then a flow of T_t/(γ·g_t), T_t = Σ_(s<=t) g_s·N_s·(μ - φ_s) >= 0,
    from each layer to the next proves Σ p·φ >= μ·Σ p. *Cubes*: stretch the shell of unit cells
    of layer t radially to the shell of layer t+1 such that volume stays in proportion. The k-th
    power of the new radius is linear in that of the old one, the k-th power of (radius + 1)
    concave, and both ends meet: no coordinate moves by more than 1.
    *Roots*: p may be taken to fall with spread (put the points of {p > s} on each line e_i - e_j
    into its middle: sets grow by steps at least as before and lose no more). Let z with positive
    parts a and negative parts b send ``a·(b+1) + (a+1)·b`` to z + e_i - e_j, where only one of
    the two places may have been 0. What arrives at a point with s coordinates other than 0 is
    t·(2t - s), what leaves it t·(2t + 2k - s). With u_t as the flow over the sum of these,
    loss less flow rises with s in a layer if ``u_(t-1) >= γ·u_t``, which is checked. And points
    with s+1 such coordinates are, on average, weighed at least as those with s: joining two
    neighbouring parts of one sign leads from uniform ones to uniform ones, since the number of
    positive parts grows with s by 0 or 1 (its likelihood ratios are monotone).
    """
    # γ is rounded down to 0 at a large ε: weights may then be 0, and a guess alone loses nothing.
    if not gamma:
        return Fraction(0)
    if lattice.form == "line":
        return LineFlow(lattice.width, loss, Fraction(gamma, 1 << 62)).bound
    k = lattice.parts
    one = 1 << 62
    side = Fraction(gamma, one)
    # Σ over a line of γ^|z|·|z|^p over Σ γ^|z|, for p = 1 and 2.
    alone = 2 * side / (1 - side * side), 2 * side / (1 - side) ** 2
    found = Fraction(0)
    if lattice.form != "roots" and loss != "binary":
        many = 1 if loss == "distance" and lattice.form != "cross" else k
        # Losses add up over coordinates; on cubes and ranges the distance is at least that of one.
        found = many * alone[loss == "squared"]
        if lattice.form != "cube":
            return found

    roots = lattice.form == "roots"
    shown = k - lattice.hidden
    # The numbers that are shown of a root at distance t have absolute values of this sum.
    each = 2 - lattice.hidden if roots and loss != "distance" else 1

    def least(t: int) -> int:
        """Bound the loss of the points at distance t from below."""
        if loss == "binary":
            return int(t > 0)
        if loss == "squared":
            # On roots Σ z² ≥ (Σ |z|)²/k (Cauchy-Schwarz) and ≥ Σ |z|; else one number is t.
            return max(-(-((each * t) ** 2) // (shown if roots else 1)), each * t)
        return each * t

    powers, sizes = _powers(lattice, gamma)
    mass = [g * n for g, n in zip(powers, sizes, strict=True)]
    lost = sum(m * least(t) for t, m in enumerate(mass))
    if lattice.form == "roots" and loss != "binary":
        _check_flow(
            lattice, gamma, powers, sizes, [least(t) for t in range(len(sizes))]
        )
    if lattice.form == "cube" and loss == "absolute":
        found = max(found, _size_bound(k, powers))
    # μ = Σ g·N·φ / Σ g·N.
    return max(found, Fraction(lost, sum(mass)))


def _size_bound(k: int, powers: list[int], parts: int = 64) -> Fraction:
    """Return the least loss over size of sets with (r + 2t)^k points, over intervals of r."""
    best: Fraction | None = None
    # points up to each absolute loss, and their losses
    sums = [1]
    losses = [0]
    start = parts
    doublings = 0
    unit = parts**k
    while True:
        if start.bit_length() > doublings:  # there are ``parts`` rounds to a doubling
            doublings = start.bit_length()
            steps = len(powers) * doublings * parts
            need_work("the sizes of a bound", steps, 100 * k + 3000)
        end = start + max(1, start // parts)
        lost = size = 0
        for t, g in enumerate(powers):
            low = (start + 2 * parts * t) ** k  # sizes in units of parts^-k
            while sums[-1] * unit < low:
                layers = Lattice("cross", k, 1).layers(2 * len(sums))
                sums = [*accumulate(layers)]
                losses = [*accumulate(r * many for r, many in enumerate(layers))]
            r = bisect_left(sums, -(-low // unit))
            # The last layer is cut off at the wanted size: subtract r for each point too many.
            far = losses[r] * unit - r * (sums[r] * unit - low)
            # The smallest set loses at least `best` per point, and larger ones more: done.
            if (
                not t
                and best is not None
                and far * best.denominator >= best.numerator * low
            ):
                return best
            lost = lost + g * far
            # Loss at the start of the interval, size at its end: a lower bound on all of it.
            size = size + g * (end + 2 * parts * t) ** k
        found = Fraction(lost, size)
        best = found if best is None else min(best, found)
        start = end


def _powers(lattice: Lattice, gamma: int) -> tuple[list[int], list[int]]:
    """Return γ^t as integers, rounded down, and the layers, up to where both are negligible."""
    fall = -log2(gamma / 2**62)
    far = 8
    while True:
        need_work("the layers of a bound", far * lattice.parts, 2000)
        sizes = lattice.layers(far)
        # Stop where N_t·γ^t < 2^-80.
        if log2(sizes[-1]) - (far - 1) * fall < -80:
            break
        far *= 2
    powers = [1 << int(far * fall) + 128]
    for _ in range(far - 1):
        powers.append(powers[-1] * gamma >> 62)
    return powers, sizes


def _check_flow(
    lattice: Lattice, gamma: int, powers: list[int], sizes: list[int], least: list[int]
) -> None:
    """Check that the loss of roots less the flow rises with spread in every layer."""
    k, count = lattice.parts, len(sizes)
    fewer = (
        replace(lattice, parts=k - 1).layers(count)
        if k > 2
        else [1, *[0] * (count - 1)]
    )
    # All that leaves a layer: a point has as many coordinates other than 0 as others have one 0.
    pairs = enumerate(zip(sizes, fewer, strict=True))
    leaves = [t * (n * (2 * t + 2 * k) - k * (n - m)) for t, (n, m) in pairs]
    mass = sum(g * n for g, n in zip(powers, sizes, strict=True))
    lost = sum(g * n * x for g, n, x in zip(powers, sizes, least, strict=True))
    owed = 0
    for t in range(count - 1):
        # T_t = Σ_(s ≤ t) g_s·N_s·(μ - φ_s), times the total mass.
        before, owed = owed, owed + powers[t] * sizes[t] * (lost - least[t] * mass)
        need(owed >= 0, f"certificate: layer {t} is short by more than there is")
        if t > 1:
            # u_(t-1) ≥ γ·u_t with u_t = T_t / (g_t·leaves_t), cross-multiplied.
            there = before * powers[t] * leaves[t] << 62
            sound = there >= owed * powers[t - 1] * leaves[t - 1] * gamma
            need(sound, f"certificate: the flow out of layer {t} is too large")


def ended_bound(lattice: Lattice, loss: str, alpha: int, slope: Fraction) -> Fraction:
    r"""Bound the worst loss of every private mechanism on the question itself.

    Let the prior be β^d(z,c), c in the middle, on the whole lattice, and let a mechanism for the
    answers be asked for the answer next to z: a map r that moves no two points further apart
    (the nearest point of a box; for roots 0 for numbers below 0, and what is too much then taken
    from the first classes). Its columns times the prior are private for γ = α·β, so it loses at
    least ``unbounded_bound(γ)``. At answers it loses at most its worst loss V; elsewhere at
    most what z is away from r(z) more. All points within M of c are answers, so that is at most
    twice what d(z,c) is above M, and weighs Σ_(t>M) N_t·β^t·(t-M) / Σ N_t·β^t: the ratios of
    N_t fall, so from M on this is less than a geometric series. For squared loss
    ``μ <= (1+s)·V + (1+1/s)·Σ(z-r(z))²``.
    """
    beta, lattice, form = slope, replace(lattice, core=0), lattice.form
    need_work("the last layer of answers", lattice.parts**2, 6000)
    inside = lattice.inner // (1 if form == "roots" else 2 * lattice.width)
    near = lattice.layer(inside)
    far = lattice.layer(inside + 1)
    # Ratio of successive terms N_t·β^t at t = M; it falls from there on.
    rho = beta * far / near
    if not inside or rho >= 1:
        return Fraction(0)
    top, power = lattice.series()
    whole = evaluated(top, beta) / (1 - beta) ** power
    places = near.bit_length() + 128
    # N_M·β^M over the whole sum: the weight of the last full layer.
    share = _power_above(beta, inside, places) * near / whole
    per_step = {"line": lattice.width, "cross": 1, "roots": 2}.get(form, lattice.parts)
    best = unbounded_bound(lattice, loss, int(alpha * beta))
    if loss == "binary":
        # Σ_(t>M) at most a geometric series: share·ρ/(1 - ρ).
        return best - share * rho / (1 - rho)
    if loss == "squared":
        # Σ_j j²·ρ^j = ρ(1 + ρ)/(1 - ρ)³.
        away = share * rho * (1 + rho) / (1 - rho) ** 3 * (2 * per_step) ** 2
        split = 1 << 20
        return (best - (1 + split) * away) / (1 + Fraction(1, split))
    # Σ_j j·ρ^j = ρ/(1 - ρ)².
    return best - share * rho / (1 - rho) ** 2 * 2 * (
        1 if loss == "distance" else per_step
    )


def _power_above(base: Fraction, power: int, places: int) -> Fraction:
    """Return base^power, rounded up to so many binary places at each step."""
    found = 1 << places
    square = -(-(base.numerator << places) // base.denominator)
    while power:
        if power & 1:
            found = -(-found * square >> places)
        square = -(-square * square >> places)
        power = power >> 1
    return Fraction(found, 1 << places)


def rounded_down(bound: Fraction) -> Fraction:
    """Round a bound down to 80 binary places."""
    return Fraction(int(bound * (1 << 80)), 1 << 80)
