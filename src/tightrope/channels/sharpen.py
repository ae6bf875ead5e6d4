r"""Publish now, sharpen later: a coarse output today and a finer one tomorrow, at the finer price.

**Theorem.** If the coarse channel derives from the fine one, :math:`X_1 = X_2 T`, then the pair
:math:`(o_1, o_2)` with the weights

.. math:: P[x, (o_1, o_2)] = X_2[x, o_2]\, T[o_2, o_1]

has the coarse marginal :math:`X_1` and the fine marginal :math:`X_2`, and each of its columns is a
multiple of a column of :math:`X_2`. So the pair is exactly as private as the fine output alone:
what both cost together is :math:`\varepsilon_2`, not :math:`\varepsilon_1 + \varepsilon_2`. Whoever
has published :math:`o_1` draws :math:`o_2` with the weights :math:`P[x, (o_1, \cdot)]`. The pair is
a channel itself, so it may be the coarse one of the next step: a chain of any length.

**Converse.** Where the fine channel is maximally general [D, Thm 3.3.3], no other pair will do. Its
columns for one :math:`o_2` add up to the column of :math:`X_2`, whose tight edges are connected.
Each of them is then tight on the same edges, hence a multiple of that column, and the multiples
are T.

**Geometric noise.** Let :math:`a_1 \ge a_2` be the factors of one step of truncated geometric noise
on a path, and :math:`D_1[k]` the largest entry of column k of the coarse one. Then
:math:`T = X_2^{-1} X_1` has the entries

.. math::
    T[j,k] = D_1[k]\, s_j \Bigl( r_j\, a_1^{|j-k|}
             + [j = k]\, \tfrac{a_2}{a_1} (1 - a_1^2) \Bigr)

with :math:`s = 1/(1-a_2)^2`, :math:`r = (1 - a_2/a_1)(1 - a_1 a_2)` between the ends and
:math:`s = 1/(1-a_2)`, :math:`r = 1 - a_2/a_1` at them. They follow from the inverse of
:math:`a^{|i-j|}`, which has three diagonals, and are non-negative iff :math:`a_1 \ge a_2`. A
product of channels derives from another one factor by factor, and only so: fix the other answers
and forget the other outputs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from tightrope import exact
from tightrope.arrays import Floats
from tightrope.channels.base import (
    Channel,
    DeterministicChannel,
    IntegerChannel,
    RuleChannel,
    as_integers,
    check_same_inputs,
    rational,
)
from tightrope.channels.derive import Witness, derivable
from tightrope.channels.privacy import check_sizes, smallest_epsilon
from tightrope.channels.structured import GeometricChannel, KroneckerChannel
from tightrope.epsilon import Epsilon, log_ratio
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.products import digits_of

#: Largest number of entries of a channel, or of a pair, that is listed in fractions.
LISTED_ENTRIES = 1 << 20


# -- channels whose entries are fractions -------------------------------------------------


class ExactRule(RuleChannel):
    """A channel that computes its entries as fractions."""

    @abstractmethod
    def fraction(self, i: int, o: int) -> Fraction:
        """Return the exact probability of output o when the true answer is node i."""

    def exact_rows(self) -> Iterator[list[Fraction]]:
        """Yield the rows in fractions."""
        for i in range(self.shape[0]):
            yield [self.fraction(i, o) for o in range(self.shape[1])]

    def integers(self) -> IntegerChannel:
        """Return the channel with its entries listed as integers over one total."""
        rows, columns = self.shape
        if rows * columns > LISTED_ENTRIES:
            raise TooLarge(
                f"{rows} × {columns} fractions are more than {LISTED_ENTRIES}: use fraction(i, o)"
            )
        return rational(
            list(self.exact_rows()), inputs=self.inputs, outputs=self.outputs
        )

    def _entry(self, i: int, o: int) -> float:
        return float(self.fraction(i, o))

    def _row(self, i: int) -> Floats:
        entries = [self._entry(i, o) for o in range(self.shape[1])]
        return np.array(entries)

    def _column(self, o: int) -> Floats:
        entries = [self._entry(i, o) for i in range(self.shape[0])]
        return np.array(entries)


class RationalGeometric(ExactRule):
    """Truncated geometric noise whose factor of one step is a fraction.

    Parameters
    ----------
    size
        The number of answers.
    alpha
        The factor of one step along the line, between 0 and 1.
    label
        From an index to its answer; the index itself by default.

    Examples
    --------
    >>> RationalGeometric(3, Fraction(1, 2)).integers().weights.tolist()
    [[4, 1, 1], [2, 2, 2], [1, 1, 4]]
    """

    def __init__(
        self,
        size: int,
        alpha: Fraction,
        label: Callable[[int], Hashable] | None = None,
    ) -> None:
        if size < 2 or not 0 < alpha < 1:
            raise InputError(
                "geometric noise needs two answers and a factor between 0 and 1, got "
                f"{size} and {alpha}"
            )
        self.size = size
        self.alpha = alpha
        self.shape = (size, size)
        self._inputs = self._outputs = label or int

    def top(self, o: int) -> Fraction:
        """Return the largest entry of a column, the one on the diagonal."""
        is_end = o in (0, self.size - 1)
        share = 1 if is_end else 1 - self.alpha
        return share / (1 + self.alpha)

    def fraction(self, i: int, o: int) -> Fraction:
        """Return the exact probability of output o when the true answer is node i."""
        return self.alpha ** abs(i - o) * self.top(o)


class GeometricRemap(ExactRule):
    """The remap from fine to coarse geometric noise on a path, at any size.

    Parameters
    ----------
    coarse, fine
        Geometric noise on as many answers; the coarse factor is not below the fine one.

    Examples
    --------
    >>> coarse, fine = (RationalGeometric(3, Fraction(1, k)) for k in (2, 3))
    >>> [str(entry) for entry in next(GeometricRemap(coarse, fine).exact_rows())]
    ['5/6', '1/12', '1/12']
    """

    def __init__(self, coarse: RationalGeometric, fine: RationalGeometric) -> None:
        if coarse.size != fine.size or coarse.alpha < fine.alpha:
            raise InputError(
                "coarse geometric noise derives from fine noise on as many answers whose factor "
                f"is not larger, got {fine.alpha} for {coarse.alpha}"
            )
        self.coarse = coarse
        self.fine = fine
        self.shape = coarse.shape
        self._inputs = fine._outputs
        self._outputs = coarse._outputs

    def fraction(self, i: int, o: int) -> Fraction:
        """Return the exact probability of the coarse output o where the fine one is i."""
        a = self.coarse.alpha
        b = self.fine.alpha
        if i in (0, self.coarse.size - 1):
            scale = 1 / (1 - b)
            spread = 1 - b / a
        else:
            scale = 1 / (1 - b) ** 2
            spread = (1 - b / a) * (1 - a * b)
        # T[j,k] = D₁[k]·s·(r·a₁^|j-k| + [j = k]·(a₂/a₁)·(1 - a₁²))
        stay = b / a * (1 - a * a) if i == o else 0
        shape = spread * a ** abs(i - o) + stay
        return self.coarse.top(o) * scale * shape


class ExactProduct(ExactRule, KroneckerChannel):
    """A product of channels whose entries are fractions.

    Parameters
    ----------
    factors
        Channels that know their entries as fractions.

    Examples
    --------
    >>> half = RationalGeometric(2, Fraction(1, 2))
    >>> ExactProduct([half, half]).fraction(0, 3)
    Fraction(1, 9)
    """

    def fraction(self, i: int, o: int) -> Fraction:
        """Return the product of the factors' probabilities."""
        rows = digits_of(i, self.sides[0])
        columns = digits_of(o, self.sides[1])
        places = zip(self.factors, rows, columns, strict=True)
        return math.prod(
            (factor.fraction(int(x), int(y)) for factor, x, y in places),  # type: ignore[attr-defined]
            start=Fraction(1),
        )


@singledispatch
def exact_form(channel: Channel) -> Any:
    r"""Return a channel with entries in fractions: as it is, or as its rule says.

    Noise at a level whose :math:`e^\varepsilon` is irrational is taken at the ratio of the level,
    which is never above it.

    >>> from tightrope.channels import GeometricChannel
    >>> exact_form(GeometricChannel(4, "ln(4)", width=2)).alpha
    Fraction(1, 2)
    """
    raise InputError(
        f"sharpening is decided in integers: {type(channel).__name__} has floats; use fractions, "
        "geometric noise or a mechanism file"
    )


@exact_form.register(IntegerChannel)
@exact_form.register(ExactRule)
def _as_it_is(channel: Any) -> Any:
    return channel


@exact_form.register
def _function(channel: DeterministicChannel) -> Any:
    return as_integers(channel)


@exact_form.register
def _geometric(channel: GeometricChannel) -> Any:
    # One step along the line is worth ε/w.
    step = channel.epsilon.scaled(Fraction(1, channel.width))
    return RationalGeometric(channel.size, 1 / step.ratio, channel.output_label)


@exact_form.register
def _product(channel: KroneckerChannel) -> Any:
    return ExactProduct([exact_form(factor) for factor in channel.factors])


def _listed(channel: Any) -> IntegerChannel:
    """Return the integers of an exact channel."""
    return channel if isinstance(channel, IntegerChannel) else channel.integers()


def distance_noise(graph: AnswerGraph, ratio: Fraction) -> IntegerChannel | None:
    r"""Return :math:`X[i,o] = \alpha^{d(i,o)} z_o` with :math:`\Phi z = 1` in integers [A, Def 7].

    ``None`` where z would have a negative entry, so that there is no such mechanism.

    Parameters
    ----------
    graph
        A small graph with edges of length 1.
    ratio
        One over α.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> distance_noise(Cycle(4), Fraction(2)).weights[0].tolist()
    [4, 2, 1, 2]
    """
    rows = [graph.distances_from(i) for i in range(graph.size)]
    distances = np.array(rows)
    top = int(distances.max())
    # p^(D−d)·q^d in place of α^d, over p^D: integers.
    powers = [
        ratio.numerator ** (top - d) * ratio.denominator**d for d in range(top + 1)
    ]
    phi = np.array(powers, dtype=object)[distances]
    ones = np.ones((graph.size, 1), dtype=object)
    solution = exact.solve(phi, ones)
    if solution is None:
        return None
    # The solution may have a negative denominator.
    sign = 1 if solution[1] > 0 else -1
    weights = phi * (solution[0][:, 0] * sign)
    if (weights < 0).any():
        return None
    return IntegerChannel(
        weights, abs(solution[1]), inputs=graph.labels, outputs=graph.labels
    )


# -- the decision -------------------------------------------------------------------------


@dataclass(frozen=True)
class Sharpening:
    r"""Whether a coarse output can be sharpened at the price of the fine one, and how.

    Attributes
    ----------
    coarse, fine
        The channels :math:`X_1` and :math:`X_2`, their entries fractions.
    remap
        T with :math:`X_1 = X_2 T` exactly, or ``None``.
    witness
        A consumer to whom the coarse output is worth strictly more than the fine one, or ``None``.
        For a product: of the first factor that does not derive; for geometric noise: on two
        neighbouring answers.
    ratio
        The largest ratio of the pair's probabilities over neighbours, exact. It is that of the
        fine channel.
    graph
        The answer graph.
    route
        How it was decided.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> coarse, fine = IntegerChannel([[2, 1], [1, 2]]), IntegerChannel([[3, 1], [1, 3]])
    >>> found = sharpen(coarse, fine, PathPower(2))
    >>> bool(found), found.ratio, [str(share) for share in found.law(0, 1)]
    (True, Fraction(3, 1), ['3/8', '5/8'])
    """

    coarse: Any
    fine: Any
    remap: Any
    witness: Witness | None
    ratio: Fraction
    graph: AnswerGraph
    route: str

    def __bool__(self) -> bool:
        return self.remap is not None

    @property
    def epsilon(self) -> float:
        """What the pair costs: the logarithm of the ratio, for edges of length 1."""
        return log_ratio(self.ratio)

    @cached_property
    def nearest(self) -> Epsilon | None:
        """The largest level, in hundredths, at which noise by distance derives from the fine one.

        Beyond lines it is not above the level of the coarse channel. ``None`` where the pair
        derives, where there is no such level, and on graphs that are too large to try levels on.
        """
        if self:
            return None
        return _nearest_level(self.coarse, self.fine, self.ratio, self.graph)

    def law(self, answer: int, output: int) -> list[Fraction]:
        """Return the law of the fine output, given the true answer and the coarse output.

        Parameters
        ----------
        answer
            The row of the true answer.
        output
            The column of the coarse output that is published.
        """
        self._check_derivable()
        # By Bayes' rule P(o₂ | x, o₁) ∝ X₂[x,o₂]·T[o₂,o₁].
        weights = [
            self.fine.fraction(answer, o) * self.remap.fraction(o, output)
            for o in range(self.fine.shape[1])
        ]
        total = sum(weights)
        if not total:
            raise InputError("this coarse output cannot occur for this answer")
        return [weight / total for weight in weights]

    def pair(self) -> IntegerChannel:
        """Return the channel of both outputs, :math:`P[x,(o_1,o_2)]`; coarse outputs first."""
        self._check_derivable()
        rows, fine_count = self.fine.shape
        coarse_count = self.coarse.shape[1]
        if rows * fine_count * coarse_count > LISTED_ENTRIES:
            raise TooLarge(
                f"{coarse_count} × {fine_count} pairs for {rows} answers are more than "
                f"{LISTED_ENTRIES} numbers: law(answer, output) needs no list"
            )
        fine = _listed(self.fine)
        remap = _listed(self.remap)
        # P[x,(o₁,o₂)] = X₂[x,o₂]·T[o₂,o₁]
        weights = (
            fine.weights.astype(object)[:, None, :]
            * remap.weights.astype(object).T[None, :, :]
        )
        outputs = [(a, b) for a in self.coarse.outputs for b in self.fine.outputs]
        return IntegerChannel(
            weights.reshape(rows, -1),
            fine.total * remap.total,
            inputs=self.fine.inputs,
            outputs=outputs,
        )

    def _check_derivable(self) -> None:
        if self.remap is None:
            raise InputError(
                "the coarse channel does not derive from the fine one, so there is no pair at the "
                "fine price: the witness says why"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the decision under its public names, ready for JSON."""
        return {
            "derivable": bool(self),
            "ratio": self.ratio,
            "route": self.route,
            "witness": None if self.witness is None else self.witness.as_dict(),
            "nearest_level": None if self.nearest is None else str(self.nearest),
        }


def sharpen(coarse: Channel, fine: Channel, graph: AnswerGraph) -> Sharpening:
    r"""Decide in integers whether :math:`X_1 = X_2 T`, and what the pair costs.

    Parameters
    ----------
    coarse, fine
        The channels :math:`X_1` and :math:`X_2` with the same inputs: integer weights, geometric
        noise, or products of them.
    graph
        The answer graph, for the ratio over neighbours.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> at = {k: GeometricChannel(1000, f"ln({k})") for k in (2, 3)}
    >>> found = sharpen(at[2], at[3], PathPower(1000))
    >>> bool(found), found.ratio, found.remap.fraction(500, 500)
    (True, Fraction(3, 1), Fraction(7, 12))
    >>> refused = sharpen(at[3], at[2], PathPower(1000))
    >>> bool(refused), refused.witness.margin, float(refused.nearest)
    (False, Fraction(1, 12), 0.69)
    """
    check_same_inputs(coarse, fine)
    check_sizes(fine, graph)
    first = exact_form(coarse)
    second = exact_form(fine)
    remap, witness, route = _decided(first, second)
    ratio = _worst_ratio(second, graph)
    return Sharpening(first, second, remap, witness, ratio, graph, route)


def _decided(first: Any, second: Any) -> tuple[Any, Witness | None, str]:
    """Return the remap or a witness, and the route."""
    if isinstance(first, RationalGeometric) and isinstance(second, RationalGeometric):
        if first.alpha >= second.alpha:
            return (
                GeometricRemap(first, second),
                None,
                "geometric noise, in closed form",
            )
        # Rows 0 and 1 have two kinds of columns: together they are the noise on two answers.
        ends = (RationalGeometric(2, noise.alpha) for noise in (first, second))
        witness = derivable(*(noise.integers() for noise in ends)).witness
        return None, witness, "geometric noise, in closed form"
    # A product derives from another one factor by factor, and only so.
    if (
        isinstance(first, ExactProduct)
        and isinstance(second, ExactProduct)
        and first.sides[0] == second.sides[0]
    ):
        decided = [
            _decided(*pair) for pair in zip(first.factors, second.factors, strict=True)
        ]
        for remap, witness, route in decided:
            if remap is None:
                return None, witness, f"a factor of the product: {route}"
        product = ExactProduct([remap for remap, _, _ in decided])
        return product, None, "a product, factor by factor"
    # Without a rule both channels are listed and decided in integers.
    found = derivable(_listed(first), _listed(second))
    return found.remap, found.witness, found.route


def _worst_ratio(channel: Any, graph: AnswerGraph) -> Fraction:
    """Return the largest ratio over neighbours, in closed form where there is one."""
    if isinstance(channel, RationalGeometric) and not graph.has_lengths:
        # An edge that reaches w steps along the line changes a column by α^−w at most.
        i, j = graph.longest_edge()[:2]
        return channel.alpha ** (i - j)
    if (
        isinstance(channel, ExactProduct)
        and graph.product in ("cartesian", "strong")
        and tuple(factor.size for factor in graph.factors) == channel.sides[0]
    ):
        pairs = zip(channel.factors, graph.factors, strict=True)
        ratios = [_worst_ratio(factor, side) for factor, side in pairs]
        # An edge moves one coordinate of a Cartesian product, and all of a strong one.
        together = math.prod(ratios, start=Fraction(1))
        return max(ratios) if graph.product == "cartesian" else together
    worst = smallest_epsilon(_listed(channel), graph).ratio
    if not isinstance(worst, Fraction):
        raise InputError(
            "the fine channel has a zero beside a non-zero: it is not private"
        )
    return worst


def _noise_at(level: Epsilon, graph: AnswerGraph) -> Any:
    """Return the noise that falls with the distance in a graph, or ``None`` if there is none."""
    if graph.power == 1:
        return RationalGeometric(graph.size, 1 / level.ratio)
    return distance_noise(graph, level.ratio)


def _nearest_level(
    coarse: Any,
    fine: Any,
    ratio: Fraction,
    graph: AnswerGraph,
    most: int = 40,
    tried: int = 8,
) -> Epsilon | None:
    """Return the largest level in hundredths whose noise derives from the fine channel.

    On lines of at most ``most`` answers, or of any size in closed form; on other graphs of at most
    ``tried`` answers, where each of some hundred levels takes half a millisecond.
    """
    is_line = graph.power == 1
    in_closed_form = is_line and isinstance(fine, RationalGeometric)
    largest = most if is_line else tried
    too_large = graph.size > largest and not in_closed_form
    if graph.size < 2 or graph.has_lengths or too_large:
        return None

    def derives(hundredths: int) -> bool:
        noise = _noise_at(Epsilon.of(Fraction(hundredths, 100)), graph)
        if noise is None:
            return False
        remap, *_ = _decided(noise, fine)
        return remap is not None

    # What derives is as private as the fine channel. Ratios are rounded down, hence one more.
    high = int(100 * log_ratio(ratio)) + 2
    low = 0
    if is_line:
        # Noise at a smaller level derives from noise at a larger one, so the answers are monotone.
        while high - low > 1:
            middle = (low + high) // 2
            if derives(middle):
                low = middle
            else:
                high = middle
    else:
        # Close levels may not derive where distant ones do, so every level is tried. Those above
        # the coarse one are of no use: the fine channel derives from itself.
        own = smallest_epsilon(_listed(coarse), graph).ratio
        if isinstance(own, Fraction):
            bound = int(100 * log_ratio(own)) + 1
            high = min(high, bound)
        candidates = range(high - 1, 0, -1)
        low = next((k for k in candidates if derives(k)), 0)
    if not low:
        return None
    return Epsilon.of(Fraction(low, 100))
