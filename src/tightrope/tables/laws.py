r"""The exact law of the error of a published number, and intervals that keep their confidence.

A published number is its true value plus :math:`X = \sum_S \sum_g a_g N_g`: for each measured table
S the noise of its cells, added up in groups of cells with the same rational coefficient. A group of
n cells of independent noise is a difference of two negative binomial numbers; joint noise is
independent noise conditioned on the sum zero of all its cells.

The law of X is computed by convolution, *tilted*: with
:math:`q(x) = p(x) e^{\theta x} / E e^{\theta X}`,

.. math:: P(X \ge t) = E e^{\theta X} \sum_{x \ge t} q(x) e^{-\theta x}
          \le E e^{\theta X} e^{-\theta t}\,(\text{computed sum} + \text{its error}),

so that the rounding errors of the convolution count relative to Chernoff's bound at t, and tails of
any size are as good as those of 5 %. Everything that is not exact is bounded and added: the mass
beyond the window, the errors of the Fourier transforms, and the rounding of :math:`a_g N_g` to the
grid where the lattice of X is too fine. A margin of error is therefore never too small.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats, Ints
from tightrope.errors import InputError
from tightrope.tables.domain import Levels, MarginAxis
from tightrope.tables.noise import ADD_REMOVE, CHANGE_ONE
from tightrope.tables.planning import COUNT, GRAIN, JobPlan

Complexes = NDArray[np.complex128]

#: Points of the grid: for independent noise, and where joint noise needs a transform for each of
#: its partial sums. The margin is at most (groups / 2) grid steps, some thousandths of the standard
#: deviation, wider than it must be.
GRID = 1 << 18
JOINT_GRID = 1 << 14
#: Probability that may lie outside each window.
OUTSIDE = 1e-13
#: A transform of size M has a relative error of at most this times log2 M in the 2-norm. (Higham,
#: Accuracy and Stability, Thm 24.2, has about 1e-15; pocketfft measures below 1e-16.)
FFT_ERROR = 1e-15


@dataclass(frozen=True)
class TableNoise:
    """The noise of one measured table in a published number.

    Attributes
    ----------
    rate
        A cell has noise z with probability proportional to exp(−rate·|z|).
    terms
        Each coefficient with the number of cells that have it.
    joint
        Whether the noise of all cells together has the sum zero.
    """

    rate: float
    terms: tuple[tuple[Fraction, int], ...]
    joint: bool = False


@dataclass(frozen=True)
class ErrorLaw:
    """The law of a sum of independent whole noises with rational coefficients.

    Examples
    --------
    >>> law = ErrorLaw((TableNoise(1.0, ((Fraction(1), 1),)),))
    >>> law.margin(0.95), round(law.variance, 4)  # P(|z| > 3) = 2α⁴/(1 + α) = 0.027
    (Fraction(3, 1), 1.8413)
    >>> law.margin(1 - 1e-12)
    Fraction(28, 1)
    """

    parts: tuple[TableNoise, ...]

    @functools.cached_property
    def variance(self) -> float:
        """The variance of the error."""
        variance = 0.0
        for part in self.parts:
            cells = 0
            total = Fraction(0)
            squares = Fraction(0)
            for coefficient, count in part.terms:
                cells += count
                total += coefficient * count
                squares += coefficient**2 * count
            noise = ADD_REMOVE.variance(part.rate, cells)
            if part.joint:
                # The covariance is v·(I − J/c): the variance is v·(Σa² − (Σa)²/c).
                squares -= total**2 / cells
                noise = CHANGE_ONE.variance(2 * part.rate, cells)
            variance += float(squares) * noise
        return variance

    def margin(self, confidence: Fraction | float) -> Fraction:
        """Return m such that the error is at most m either way, with at least this probability.

        Parameters
        ----------
        confidence
            A probability between 0 and 1, such as 0.95.
        """
        if not 0 < confidence < 1:
            raise InputError(
                f"a confidence must be between 0 and 1, got {confidence!r}"
            )
        if not any(a for part in self.parts for a, _ in part.terms):
            return Fraction(0)
        # Exactly, then rounded down: of a tail of 1e-8 a float confidence keeps eight digits.
        exact_tail = (1 - Fraction(confidence)) / 2
        tail = float(exact_tail) * (1 - 1e-12)
        return _Convolution(self, tail).margin()


@dataclass(frozen=True)
class _Group:
    """The sum N of n tilted noises: negative binomial (n, up) less negative binomial (n, down)."""

    coefficient: Fraction
    n: int
    up: float
    down: float

    def log_cf(self, angles: Floats) -> Complexes:
        """Return the logarithm of E exp(iψN), without loss where it is near 0."""
        # 1 − e^{iψ} = −2i sin(ψ/2) e^{iψ/2}, which keeps its digits near ψ = 0.
        turn = -2j * np.sin(angles / 2) * np.exp(0.5j * angles)
        # E e^{iψN} = ((1 − up)/(1 − up e^{iψ}))^n ((1 − down)/(1 − down e^{−iψ}))^n
        up = self.up * turn / (1 - self.up)
        down = self.down * turn.conj() / (1 - self.down)
        rises: Complexes = np.log1p(up)
        falls: Complexes = np.log1p(down)
        return -self.n * (rises + falls)

    def log_mgf(self, tilt: float) -> float:
        """Return log E exp(uN), infinite where it does not exist."""
        up = self.up * math.exp(tilt)
        down = self.down * math.exp(-tilt)
        if max(up, down) >= 1:
            return math.inf
        # E e^{uN} = ((1 − up)/(1 − up e^u))^n ((1 − down)/(1 − down e^{−u}))^n
        rises = math.log1p((self.up - up) / (1 - self.up))
        falls = math.log1p((self.down - down) / (1 - self.down))
        return -self.n * (rises + falls)

    @property
    def mean(self) -> float:
        """The mean of N."""
        rises = self.up / (1 - self.up)
        falls = self.down / (1 - self.down)
        return self.n * (rises - falls)

    def window(self) -> tuple[int, int]:
        """Return whole numbers beyond which N lies with probability ``OUTSIDE`` at most."""
        most = -math.log(self.up)
        least = -math.log(self.down)
        return _window(self.log_mgf, most, least)

    def law(self) -> tuple[Ints, Floats]:
        """Return whole numbers and their probabilities, wrapped around the window."""
        low, high = self.window()
        size = 1 << (high - low).bit_length()
        # P(N = x) = (1/M) Σ_ψ E e^{iψN} e^{−iψx} over the M-th roots of unity.
        angles = 2 * np.pi * np.arange(size) / size
        transform = np.fft.fft(np.exp(self.log_cf(angles)))
        masses = transform.real / size
        numbers = np.arange(low, low + size)
        return numbers, masses[numbers % size]


def _window(
    log_mgf: Callable[[float], float], most: float, least: float, tries: int = 20
) -> tuple[int, int]:
    """Return numbers that a law exceeds on either side with probability ``OUTSIDE`` at most.

    By Chernoff any u gives a valid end: (log E e^{uN} − log OUTSIDE)/u. The generating function
    exists for −least < u < most.
    """
    halvings = 0.7 * np.arange(tries)
    parts = 0.95 * 2.0 ** (-halvings)
    outside = math.log(OUTSIDE)
    positive = (parts * most).tolist()
    negative = (parts * least).tolist()
    above = min((log_mgf(u) - outside) / u for u in positive)
    below = max((log_mgf(-u) - outside) / -u for u in negative)
    return math.floor(below), math.ceil(above)


@dataclass(frozen=True)
class _Tilted:
    """One part under the law tilted by exp(θX): its groups, and log E exp(θX)."""

    groups: tuple[_Group, ...]
    log_mgf: float
    joint: bool


def _tilt(part: TableNoise, theta: float) -> _Tilted | None:
    """Return a part tilted by θ, or nothing where its generating function is infinite."""
    if not part.joint:
        groups = _groups(part, theta, 0.0)
        if groups is None:
            return None
        return _Tilted(groups, _from_plain(part, groups), False)
    # On Σz = 0 a constant may be added to all coefficients. The one that makes the mean of Σz zero
    # makes that event likely, so that its probability is computed well.
    values = [float(a) * theta for a, _ in part.terms]
    low = max(values) - part.rate
    high = min(values) + part.rate
    if low >= high:
        return None
    # The ends themselves have a tilt equal to the rate, where the law has no mean.
    inset = 1e-9 * (high - low)
    low += inset
    high -= inset
    for _ in range(30):
        shift = (low + high) / 2
        groups = _groups(part, theta, -shift)
        if groups is None or sum(group.mean for group in groups) < 0:
            high = shift
        else:
            low = shift
    groups = _groups(part, theta, -low)
    assert groups is not None  # low is inside the interval where it exists
    # E[e^{θX} | Σz = 0] = E e^{θX} · P_θ(Σz = 0) / P(Σz = 0)
    tilted = _from_plain(part, groups) + _log_zero(groups)
    log_mgf = tilted - _plain_log_zero(part)
    return _Tilted(groups, log_mgf, True)


@functools.lru_cache(64)
def _plain_log_zero(part: TableNoise) -> float:
    """Return the logarithm of the probability that noise without a tilt has the sum zero."""
    groups = _groups(part, 0.0, 0.0)
    assert groups is not None
    return _log_zero(groups)


def _groups(part: TableNoise, theta: float, shift: float) -> tuple[_Group, ...] | None:
    """Return the groups of a part whose cells are tilted by θ·coefficient + shift."""
    groups = []
    for a, n in part.terms:
        tilt = float(a) * theta + shift
        if abs(tilt) >= part.rate:
            return None
        up = math.exp(tilt - part.rate)
        down = math.exp(-tilt - part.rate)
        groups.append(_Group(a, n, up, down))
    return tuple(groups)


def _from_plain(part: TableNoise, groups: Iterable[_Group]) -> float:
    """Return the logarithm of the generating function at the tilts of the groups."""
    # log (1 − e^{−rate})² / ((1 − up)(1 − down)) for each cell
    one_less = -math.expm1(-part.rate)
    plain = 2 * math.log(one_less)
    gained = []
    for group in groups:
        cell = plain - math.log1p(-group.up) - math.log1p(-group.down)
        gained.append(group.n * cell)
    return sum(gained)


def _sum_window(groups: Sequence[_Group]) -> int:
    """Return a length that the sum of all groups wraps around with ``OUTSIDE`` at most."""
    most = min(-math.log(group.up) for group in groups)
    least = min(-math.log(group.down) for group in groups)

    def log_mgf(u: float) -> float:
        return sum(group.log_mgf(u) for group in groups)

    low, high = _window(log_mgf, most, least)
    return high - low + 1


def _log_zero(groups: Sequence[_Group]) -> float:
    """Return the logarithm of the probability that all groups together have the sum zero."""
    # P(Σz = 0) is the mean of E e^{iψΣz} over the roots of unity, but for what wraps around.
    size = _sum_window(groups)
    angles = 2 * np.pi * np.arange(size) / size
    log_cf = sum(group.log_cf(angles) for group in groups)
    cf = np.exp(log_cf)
    return math.log(float(cf.real.mean()))


class _Convolution:
    """The tilted law of an error on a grid, and the margin that it gives.

    Parameters
    ----------
    law
        The law.
    tail
        The probability that each of the two tails may have.
    """

    def __init__(self, law: ErrorLaw, tail: float) -> None:
        self.law = law
        self.tail = tail
        noisy = [part for part in law.parts if any(a for a, _ in part.terms)]
        self.limit = min(map(_most_tilt, noisy))
        self.theta = self._best_tilt()
        self.tilted = self._tilts(self.theta)
        assert self.tilted  # θ is below the limit of every part
        self.log_mgf = sum(part.log_mgf for part in self.tilted)

    def _tilts(self, theta: float) -> list[_Tilted]:
        """Return all parts tilted by θ, or nothing where one cannot be."""
        tilts = []
        for part in self.law.parts:
            tilted = _tilt(part, theta)
            if tilted is None:
                return []
            tilts.append(tilted)
        return tilts

    def _log_mgf(self, theta: float) -> float:
        tilts = self._tilts(theta)
        return sum(part.log_mgf for part in tilts) if tilts else math.inf

    def _best_tilt(self) -> float:
        """Return the θ of Chernoff's bound for the tail; any other one would be valid too."""
        halvings = np.arange(16) / 2
        thetas = 0.8 * self.limit * 2.0 ** (-halvings)
        log_tail = math.log(self.tail)
        # P(X ≥ t) ≤ E e^{θX} e^{−θt} is the tail at t = (log E e^{θX} − log tail) / θ.
        ends = [(self._log_mgf(theta) - log_tail) / theta for theta in thetas.tolist()]
        return float(thetas[int(np.argmin(ends))])

    def margin(self) -> Fraction:
        """Return the smallest margin that is proved."""
        terms: list[_Sum] = []
        hard: list[tuple[_Group, ...]] = []
        for part in self.tilted:
            independent, conditioned = _as_sums(part)
            terms += independent
            if conditioned:
                hard.append(conditioned)
        theta = self.theta

        def gained(u: float) -> float:
            return self._log_mgf(theta + u) - self.log_mgf

        least = self.limit - theta
        most = self.limit + theta
        low, high = _window(gained, least, most, 12)
        coefficients = [term.coefficient for term in terms]
        for groups in hard:
            coefficients += [g.coefficient for g in groups if g.coefficient]
        step, size = _grid(coefficients, high - low, bool(hard))
        rounded = sum((a / step).denominator > 1 for a in coefficients)
        # Laws are real: half of their spectrum says the other half.
        half = size // 2 + 1
        spectrum = np.ones(half, np.complex128)
        for term in terms:
            places = _on_grid(term.coefficient, term.numbers, step, size)
            spectrum *= np.fft.rfft(np.bincount(places, term.masses, size))
        for groups in hard:
            spectrum *= _joint_spectrum(groups, step, size)[:half]
        masses = np.fft.irfft(spectrum, size)
        first = math.floor(low / step)
        places = np.arange(first, first + size)
        masses = masses[places % size]
        # Transforms: each has an error of FFT_ERROR·log2 M in the 2-norm, relative to at most √M;
        # a product of numbers of modulus ≤ 1 adds these up; the 1-norm is at most √M times the
        # 2-norm.
        count = len(coefficients) + 1
        transform_error = FFT_ERROR * math.log2(size) * math.sqrt(size)
        slack = count * (transform_error + 2 * OUTSIDE)
        slack += 2 * OUTSIDE
        middle = float((low + high) / 2)
        values = places * float(step)
        # Σ_{x ≥ t} q(x) e^{−θ(x − middle)}, from the right; masses below 0 are rounding errors.
        decay = np.exp(-theta * (values - middle))
        tilted = np.maximum(masses, 0) * decay
        from_above = np.cumsum(tilted[::-1])
        sums = from_above[::-1]
        # Each of the rounded terms is at most half a step away from its place.
        error = rounded * float(step) / 2
        shift = math.exp(theta * error)
        bound = (sums + slack * decay) * shift * (1 + 1e-9)
        # log P(X ≥ t) ≤ log bound + log E e^{θX} − θ·middle
        log_tails = np.log(bound) + self.log_mgf - theta * middle
        fits = log_tails <= math.log(self.tail)
        # The last place from the right at which the tail is still small enough.
        start = 0
        if not fits.all():
            tail_length = int(np.argmin(fits[::-1]))
            start = len(fits) - tail_length
        last = int(places[min(start, size - 1)]) - 1
        rounding = rounded * step / 2
        return max(last * step + rounding, Fraction(0))


def _most_tilt(part: TableNoise) -> float:
    """Return the end of the interval of θ at which the generating function exists."""
    values = [float(a) for a, _ in part.terms]
    if part.joint:
        spread = max(values) - min(values)
        return 2 * part.rate / spread if spread else math.inf
    return part.rate / max(map(abs, values))


@dataclass(frozen=True)
class _Sum:
    """A number on the whole numbers with a coefficient."""

    coefficient: Fraction
    numbers: Ints
    masses: Floats


def _as_sums(part: _Tilted) -> tuple[list[_Sum], tuple[_Group, ...]]:
    """Return a part as independent sums where it is one; else the groups that sum to zero.

    Joint noise in two groups is one number: N₂ = −N₁.
    """
    if not part.joint:
        used = [group for group in part.groups if group.coefficient]
        return [_Sum(group.coefficient, *group.law()) for group in used], ()
    if len(part.groups) == 1:
        return [], ()  # a multiple of the public total
    if len(part.groups) > 2:
        # With the sum zero a constant may be taken from all coefficients: that of the largest
        # group, which then needs no transforms.
        most = max(part.groups, key=lambda group: group.n).coefficient
        moved = (replace(g, coefficient=g.coefficient - most) for g in part.groups)
        return [], tuple(moved)
    first, second = part.groups
    numbers, masses = first.law()
    others, weights = second.law()
    low = max(numbers[0], -others[-1])
    high = min(numbers[-1], -others[0])
    chosen = np.arange(low, high + 1)
    # P(N₁ = x | N₁ + N₂ = 0) ∝ P(N₁ = x) · P(N₂ = −x); products below 0 are round-off.
    here = masses[chosen - numbers[0]]
    opposite = weights[-chosen - others[0]]
    product = here * opposite
    product = np.maximum(product, 0)
    coefficient = first.coefficient - second.coefficient
    return [_Sum(coefficient, chosen, product / product.sum())], ()


def _grid(
    coefficients: Sequence[Fraction], width: int, joint: bool
) -> tuple[Fraction, int]:
    """Return the step of the grid and its size: the lattice of the sum, if that is small enough."""
    most = JOINT_GRID if joint else GRID
    # The sum lies on the multiples of the greatest common divisor of its coefficients.
    denominator = math.lcm(*(a.denominator for a in coefficients))
    numerators = (int(a * denominator) for a in coefficients)
    numerator = math.gcd(*numerators)
    lattice = Fraction(numerator, denominator)
    points = (width + 2) / lattice
    if points < most:
        return lattice, 1 << math.ceil(points).bit_length()
    return Fraction(width + 2, most), most


def _on_grid(coefficient: Fraction, numbers: Ints, step: Fraction, size: int) -> Ints:
    """Return the places on the grid of whole numbers times a coefficient."""
    scaled = coefficient / step
    exact = numbers.astype(object) * scaled.numerator
    # Rounded to the nearest place, in whole numbers: ⌊x/d + 1/2⌋ = ⌊(2x + d)/2d⌋.
    doubled = 2 * exact + scaled.denominator
    places = doubled // (2 * scaled.denominator)
    return np.asarray((places % size).astype(np.int64))


def _joint_spectrum(groups: Sequence[_Group], step: Fraction, size: int) -> Complexes:
    """Return the transform of Σ a_g N_g given Σ N_g = 0.

    The condition is an average over angles ψ of the transforms with exp(iψN): those of −ψ are the
    conjugates at the opposite frequencies, so that half of them suffice.
    """
    around = _sum_window(groups)
    turns = np.arange(around // 2 + 1)
    # Groups with the coefficient 0 stay at one place of the grid: only their angles matter.
    still = [group for group in groups if not group.coefficient]
    angles = 2 * np.pi * turns / around
    log_cf = sum(group.log_cf(angles) for group in still)
    factors = np.exp(log_cf)
    laws = []
    for group in groups:
        if group.coefficient:
            numbers, masses = group.law()
            places = _on_grid(group.coefficient, numbers, step, size)
            laws.append((places, numbers, masses))
    total = np.zeros(size, np.complex128)
    for turn, factor in zip(turns.tolist(), factors.tolist(), strict=True):
        product = np.full(size, factor)
        for places, numbers, masses in laws:
            # Reduced before it is multiplied by 2π: a large angle would lose digits.
            steps = turn * numbers % around
            waves = np.exp(2j * np.pi * steps / around)
            turned = masses * waves
            real = np.bincount(places, turned.real, size)
            imaginary = np.bincount(places, turned.imag, size)
            product *= np.fft.fft(real + 1j * imaginary)
        # The turns 0 and, where there is one, 1/2 are their own opposites.
        is_own_opposite = 2 * turn % around == 0
        total += (0.5 if is_own_opposite else 1.0) * product
    opposite = np.roll(total[::-1], 1).conj()
    whole: Complexes = (total + opposite) / around
    return whole / float(whole[0].real)


#: A published cell: its columns, and the number of its class in each of them.
Cell = tuple[Iterable[str], Sequence[int]]


def error_law(
    plan: JobPlan, cells: Mapping[Cell, int | Fraction] | Cell, measure: str = COUNT
) -> ErrorLaw:
    """Return the law of the error of a published cell, or of a combination of cells.

    Parameters
    ----------
    plan
        The plan that the cells are published by.
    cells
        A cell as (columns, classes), or several with their coefficients: a difference has 1 and −1.
        Classes are in the order of the domain's columns, as in published tables.
    measure
        What the table adds up.

    Examples
    --------
    >>> from tightrope.tables import Job, plan
    >>> best = plan(Job.of({"sex": 2, "age": 3}, ["", ["sex"], ["sex", "age"]]), 1)
    >>> [int(error_law(best, (names, cell)).margin(0.95))
    ...  for names, cell in [((), ()), (("sex",), (0,)), (("sex", "age"), (1, 2))]]
    [7, 5, 3]
    >>> women, men = (("sex",), (0,)), (("sex",), (1,))
    >>> int(error_law(best, {women: 1, men: -1}).margin(0.95))
    7
    """
    combination = cells if isinstance(cells, Mapping) else {cells: 1}
    domain = plan.job.domain
    relation = plan.job.relation
    wanted = []
    for (names, classes), weight in combination.items():
        places = _places(plan, names, classes)
        wanted.append(_Cell(domain.levels(names), places, Fraction(weight)))
    parts = []
    for number, table in enumerate(plan.measured):
        if table.measure != measure:
            continue
        terms = _terms(plan, number, wanted)
        if any(terms):  # some coefficient is not 0
            width = plan.job.widths[measure]
            joint = relation.is_joint(domain.cells(table.margin), width)
            # Noise ∝ exp(−(ε/reach)·|z|₁): one person moves the table by at most the reach.
            rate = float(table.epsilon) / (relation.touched * width)
            parts.append(TableNoise(rate, tuple(sorted(terms.items())), joint))
    return ErrorLaw(tuple(parts))


@dataclass(frozen=True)
class _Cell:
    """A published cell: its level and class on every axis, and its coefficient."""

    levels: Levels
    classes: tuple[int, ...]
    weight: Fraction


def _places(
    plan: JobPlan, names: Iterable[str], classes: Sequence[int]
) -> tuple[int, ...]:
    """Return the class of a cell on every axis, 0 where it is summed over."""
    domain = plan.job.domain
    shape = domain.shape(names)
    fits = len(classes) == len(shape)
    if not fits or any(
        not 0 <= k < size for k, size in zip(classes, shape, strict=True)
    ):
        raise InputError(
            f"a cell of {' × '.join(domain.margin(names)) or 'the total'} has one class below "
            f"{shape} for each column, got {tuple(classes)}"
        )
    remaining = iter(classes)
    return tuple(next(remaining) if level else 0 for level in domain.levels(names))


def _terms(plan: JobPlan, place: int, wanted: Sequence[_Cell]) -> Counter[Fraction]:
    """Return the coefficients of a measured table's cells, with the number of cells of each.

    A class of the measured table matters by how deep it shares the ancestors of each wanted class.
    So along each axis the classes fall into few groups, and coefficients are products over axes,
    summed over the residual spaces.
    """
    domain = plan.job.domain
    fine = domain.levels(plan.measured[place].margin)
    sizes = []
    groups = []
    for dim, axis in enumerate(domain.axes):
        depths = []
        for cell in wanted:
            shared = _shared(axis, fine[dim], cell.levels[dim], cell.classes[dim])
            depths.append(shared.tolist())
        # Classes that share equally many ancestors with every wanted class are one group.
        counts = Counter(zip(*depths, strict=True))
        groups.append(list(counts))
        sizes.append(list(counts.values()))
    total: NDArray[Any] = np.zeros(list(map(len, groups)), object)
    for number, cell in enumerate(wanted):
        common = tuple(map(min, cell.levels, fine))
        weights = plan.weights(place, common) * GRAIN
        tensor: NDArray[Any] = np.vectorize(int, otypes=[object])(weights)
        for dim, axis in enumerate(domain.axes):
            level = cell.levels[dim]
            own = cell.classes[dim]
            rows = [
                _shares(axis, level, own, common[dim], group[number])
                for group in groups[dim]
            ]
            # Σ_levels shares · tensor along this axis: levels become groups.
            moved = np.tensordot(np.array(rows, object), tensor, (1, dim))
            tensor = np.moveaxis(moved, 0, dim)
        # In place: without columns a sum of arrays would be no array.
        total[...] += tensor * (cell.weight / GRAIN)
    terms: Counter[Fraction] = Counter()
    for coefficient, cells in zip(total.flat, itertools.product(*sizes), strict=True):
        terms[Fraction(coefficient)] += math.prod(cells)
    return terms


def _shared(axis: MarginAxis, measured: int, level: int, own: int) -> Ints:
    """Return for each class of the measured level how deep it shares the ancestors of a class."""
    deep = np.zeros(axis.sizes[measured], np.int64)
    for depth in range(1, min(measured, level) + 1):
        mine = axis.ancestors(level, depth)[own]
        deep += axis.ancestors(measured, depth) == mine
    return deep


def _shares(
    axis: MarginAxis, level: int, own: int, common: int, shared: int
) -> list[Fraction]:
    """Return what a measured class adds to a published one on each residual space of an axis.

    That is k_u·(e_l − e_{l−1}), with e_l one over the leaves of the ancestor at level l where the
    two classes share it, and 0 where they do not.
    """
    leaves = int(axis.leaves(level)[own])
    parts = [Fraction(0)]
    for depth in range(common + 1):
        owners = axis.ancestors(level, depth)
        above = int(axis.leaves(depth)[owners[own]])
        parts.append(Fraction(leaves, above) if depth <= shared else Fraction(0))
    return [here - before for before, here in itertools.pairwise(parts)]
