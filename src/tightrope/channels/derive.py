r"""Is one channel derivable from another? A remap, or a consumer who shows that it is not.

X is derivable from Y, :math:`X \preceq_G Y`, iff :math:`X = Y T` for a remap T [C, Def 2.3;
D, Def 3.1.2]. By linear programming duality the contrary has a witness too: a prior and a gain
function under which a consumer gains strictly more from X than from Y.

Channels with integer weights are decided exactly. A search in floats proposes; a remap is
completed to fractions by solving for what is missing, a witness is rounded and then measured, and
both are believed only after they have been checked in integers. Small programs that lie too close
to the border for floats are decided by the simplex method in integers.

The search in floats solves

.. math::
    \min \sum e^+ + e^- \quad\text{s.t.}\quad Y t_w + e^+_w - e^-_w = x_w,\;
    \sum_w g_w t_w = c,\; t, e^\pm \ge 0,

one block for each output w of X, joined only by the row sums of the remap. The optimum is 0 iff
X is derivable from Y; the multipliers a of the blocks are the gains of a witness otherwise. A
predictor-corrector interior-point method [1]_ factors one small matrix for each block and one for
the row sums, so it never sees the large matrix of the whole program.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal
   on Optimization 2 (1992).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope import exact
from tightrope.arrays import AnyArray, Floats, Integers, Ints, Real
from tightrope.channels.base import (
    Channel,
    IntegerChannel,
    as_integers,
    check_same_inputs,
)
from tightrope.channels.compose import Groups, reduced
from tightrope.errors import CheckFailed, InputError, TooLarge


@dataclass(frozen=True)
class SearchResult:
    """What the search proposes; nothing here is proved.

    Attributes
    ----------
    remap
        The remap T, from the step with the smallest gap and residual together.
    used
        Which entries of a remap need not be 0, from the last step, where either an entry or its
        slack vanishes.
    gains
        The matrix A of gains times prior, one column for each output of X.
    value
        The optimum; above 0 when X cannot be derived.
    """

    remap: Floats
    used: NDArray[np.bool_]
    gains: Floats
    value: float


def search_remap(
    first: Floats, second: Floats, sums: Floats | float = 1.0
) -> SearchResult:
    """Look for T with ``first ≈ second @ T`` and given sums of rows.

    Parameters
    ----------
    first, second
        The matrices X and Y without zero columns.
    sums
        The sums of the rows of T.

    Examples
    --------
    >>> y = np.array([[0.6, 0.4], [0.4, 0.6]])
    >>> search_remap(np.eye(2), y).value > 0.1
    True
    """
    # Columns are scaled to a maximum of 1: outputs of tiny probability would otherwise vanish
    # beside the tolerance on the residual.
    peaks_x = np.abs(first).max(axis=0)
    peaks_y = second.max(axis=0)
    program = _InteriorProgram(
        first / peaks_x, second / peaks_y, peaks_x, peaks_y * sums
    )
    end, best, value = program.solve()
    # Undo the scaling of both matrices: T = T'·peak_x/peak_y.
    scale = peaks_x / peaks_y[:, None]
    m = second.shape[1]
    # Complementarity: of an entry and its slack only the larger one stays positive.
    used = end.z[:m] * scale > end.slack[:m] / scale
    return SearchResult(best[:m] * scale, used, end.a / peaks_x, value)


class _Point(NamedTuple):
    """A point of the search, or a direction from one."""

    #: The remap, what Y·T lacks of X and what it has too much, one below the other; their slacks.
    z: Floats
    slack: Floats
    #: The multipliers of the blocks and of the row sums.
    a: Floats
    s: Floats


class _InteriorProgram:
    """The blocks, and Newton steps from a point."""

    def __init__(self, x: Floats, y: Floats, weights: Floats, sums: Floats) -> None:
        self.x = x
        self.y = y
        self.g = weights
        self.c = sums
        # One block of the equations: [Y, I, -I] z_w = x_w with z_w = (t_w, e⁺_w, e⁻_w).
        errors = np.eye(len(x))
        self.block = np.hstack([y, errors, -errors])

    def start(self) -> _Point:
        """Return a point inside the bounds."""
        n, k = self.x.shape
        m = self.y.shape[1]
        # The same remap row for every output, and both errors positive.
        row = self.c / self.g.sum()
        t = np.repeat(row[:, None], k, axis=1)
        rest = self.x - self.y @ t
        above = np.maximum(rest, 0) + 1 / n
        below = np.maximum(-rest, 0) + 1 / n
        z = np.vstack([t, above, below])
        of_remap = np.repeat(self.g[None, :], m, axis=0)
        slack = np.vstack([of_remap, np.ones((2 * n, k))])
        return _Point(z, slack, np.zeros((n, k)), -np.ones(m))

    def solve(
        self,
        gap: float = 1e-12,
        share: float = 0.05,
        residual: float = 1e-5,
        steps: int = 80,
    ) -> tuple[_Point, Floats, float]:
        """Step until the duality gap is closed, or so many times.

        Once no remap exists, a witness within a ``share`` of the best one is good enough. A step
        that violates the equations by more than ``residual`` is undone: round-off dominates.

        Returns
        -------
        The last point, z at the point of smallest gap and residual together, and the value of the
        last.
        """
        from threadpoolctl import threadpool_limits

        at = self.start()
        least_error = np.inf
        best = at.z
        # Matrices are small: threads of linear algebra cost more than they save.
        with threadpool_limits(1, "blas"):
            for _ in range(steps):
                # Dual objective ⟨a, x⟩ + ⟨c, s⟩, and complementarity ⟨z, slack⟩.
                value = float((at.a * self.x).sum() + self.c @ at.s)
                gap_now = float((at.z * at.slack).sum())
                if gap_now + self._residual(at) < least_error:
                    least_error = gap_now + self._residual(at)
                    best = at.z
                following = (
                    self._step(at) if gap_now > max(gap, share * value) else None
                )
                if following is None:
                    break
                if (
                    (following.z * following.slack).sum()
                    < residual
                    < self._residual(following)
                ):
                    break
                at = following
        return at, best, value

    def _rests(self, z: Floats) -> tuple[Floats, Floats]:
        """Return the residuals of the blocks and of the row sums."""
        row_sums = z[: len(self.c)] @ self.g
        return self.x - self.block @ z, self.c - row_sums

    def _turned(self, a: Floats, s: Floats) -> Floats:
        """Return Mᵀ(a, s), the multipliers times the transposed equations."""
        turned = self.block.T @ a
        turned[: len(s)] += np.outer(s, self.g)
        return turned

    def _residual(self, at: _Point) -> float:
        rests = self._rests(at.z)
        return max(float(np.abs(rest).max()) for rest in rests)

    def _step(
        self, at: _Point, share: float = 0.9995, short: float = 1e-8
    ) -> _Point | None:
        """Go that share of the way to the border; ``None`` when steps are too short."""
        # Mehrotra's predictor-corrector: an affine step first, whose progress sets how far the
        # second one aims back at the central path, z · slack = σμ with σ = (μ_aff / μ)³.
        products = at.z * at.slack
        mu = float(products.mean())
        try:
            self._factor(at)
        except np.linalg.LinAlgError:
            return None
        predictor = self._direction(at, -products)
        primal, dual = _reach(at, predictor)
        predicted_mu = (
            (at.z + primal * predictor.z) * (at.slack + dual * predictor.slack)
        ).mean()
        share_left = float(predicted_mu) / mu
        target_mu = mu * min(1.0, share_left) ** 3
        corrector = self._direction(
            at, target_mu - products - predictor.z * predictor.slack
        )
        reach = _reach(at, corrector, 1 / share)
        primal, dual = (min(1.0, share * r) for r in reach)
        # NaN, or a step that leads nowhere: the factors have lost their digits.
        if not np.isfinite(primal * dual) or max(primal, dual) < short:
            return None
        lengths = (primal, dual, dual, dual)
        return _Point(
            *(a + size * b for a, b, size in zip(at, corrector, lengths, strict=True))
        )

    def _factor(self, at: _Point, regular: float = 1e-13) -> None:
        """Factor every block by QR, which keeps twice the digits of a product of matrices."""
        n, k = self.x.shape
        m = self.y.shape[1]
        # Newton's matrix of a block is Y D Yᵀ + E with D = z/slack of the remap and E diagonal
        # from both errors: R of the QR decomposition of [√D Yᵀ; √E] is its Cholesky factor.
        ratios = at.z / at.slack
        self._flow = ratios[:m]
        spread = ratios[m : m + n] + ratios[m + n :]
        root = np.sqrt(self._flow).T
        tall = np.zeros((k, m + n, n))
        tall[:, :m] = root[:, :, None] * self.y.T
        tall[:, m + np.arange(n), np.arange(n)] = np.sqrt(spread).T
        q, r = np.linalg.qr(tall)
        self._inverse = np.linalg.inv(r)
        weighted = root * self.g[:, None]
        self._upper = q[:, :m] * weighted[:, :, None]
        flat = self._upper.transpose(0, 2, 1).reshape(-1, m)
        # Near the end the coupling is singular to working accuracy, and its diagonal spans many
        # orders: every row is regularised beside its own entry.
        diagonal = self._flow @ self.g**2
        # The Schur complement: what is left for the row sums after the blocks are eliminated.
        coupling = np.diag(diagonal * (1 + regular)) - flat.T @ flat
        scale = 1 / np.sqrt(diagonal)
        self._coupling = (
            scale[:, None] * np.linalg.inv(scale[:, None] * coupling * scale) * scale
        )

    def _direction(self, at: _Point, target: Floats, refinements: int = 3) -> _Point:
        """Solve the Newton system for given right-hand sides of the products z·s."""
        scaled = target / at.slack
        ratios = at.z / at.slack
        # dz = target/slack - (z/slack)·dslack and dslack = -Mᵀ(da, ds): the primal residual
        # closes the system.
        block_residual, sum_residual = self._rests(at.z + scaled)
        da, ds = self._solve(block_residual, sum_residual)
        for _ in range(refinements):
            # Iterative refinement, with the residual of the equations themselves.
            change = ratios * self._turned(da, ds)
            correction = self._solve(
                block_residual - self.block @ change,
                sum_residual - change[: len(ds)] @ self.g,
            )
            da = da + correction[0]
            ds = ds + correction[1]
        slack = -self._turned(da, ds)
        return _Point(scaled - ratios * slack, slack, da, ds)

    def _solve(
        self, block_residual: Floats, sum_residual: Floats
    ) -> tuple[Floats, Floats]:
        # A block gives da = (RᵀR)⁻¹ residual; eliminating it leaves one system for the sums.
        half = np.einsum("kpn,pk->nk", self._inverse, block_residual)
        da = np.einsum("knp,pk->nk", self._inverse, half)
        changed = self._flow * (self.y.T @ da)
        ds = self._coupling @ (sum_residual - changed @ self.g)
        coupled = np.einsum("kop,o->kp", self._upper, ds)
        return da - np.einsum("knp,kp->nk", self._inverse, coupled), ds


def _reach(at: _Point, move: _Point, cap: float = 1.0) -> list[float]:
    """Return the step lengths at which z and its slack meet 0, at most the cap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            float(np.where(d < 0, -v / d, cap).min(initial=cap))
            for v, d in zip(at[:2], move[:2], strict=True)
        ]


@dataclass(frozen=True)
class Witness:
    r"""A consumer to whom X is worth strictly more than Y, whatever is done with Y's outputs.

    The consumer has the prior π, makes one of several guesses w and gains g(i, w) in [0, 1] when
    the truth is i. With two guesses and gains 0 and 1 it is a yes-or-no question about the
    answer.

    Attributes
    ----------
    prior
        π, fractions when exact.
    gain
        The rows g(i, ·), fractions when exact.
    first, second
        The best expected gain from X and from Y: ``first > second``.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel, derivable
    >>> found = derivable(IntegerChannel([[3, 1], [1, 3]]), IntegerChannel([[2, 1], [1, 2]]))
    >>> found.witness.prior, found.witness.first, found.witness.second
    ((Fraction(2, 3), Fraction(1, 3)), Fraction(3, 4), Fraction(2, 3))
    """

    prior: tuple[Any, ...]
    gain: tuple[tuple[Any, ...], ...]
    first: Real
    second: Real

    @property
    def margin(self) -> Real:
        """How much more X is worth: no remap of Y is nearer to X, in total variation."""
        return self.first - self.second

    def as_dict(self) -> dict[str, Any]:
        """Return the witness under its public names, ready for JSON."""
        return {
            "prior": list(self.prior),
            "gain": [list(row) for row in self.gain],
            "gain_first": self.first,
            "gain_second": self.second,
        }


@dataclass(frozen=True)
class Derivation:
    """Whether X is derivable from Y, with the remap or the witness.

    Attributes
    ----------
    derivable
        The answer; also the truth value.
    remap
        A remap T with X = Y·T, or ``None``.
    witness
        A consumer who gains strictly more from X, or ``None``.
    exact
        Whether the answer was decided and checked in integers.
    distance
        The largest total variation between a row of X and of Y·T for the remap found; 0 when
        derivable exactly, and for an exact no the margin of the witness, below which no remap
        comes. :func:`nearest_remap` says how near one comes.
    tolerance
        The largest distance that counted as derivable; 0 when exact.
    route
        How the answer was found.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel, derivable
    >>> bool(derivable(IntegerChannel([[1, 1], [1, 1]]), IntegerChannel([[3, 1], [1, 3]])))
    True
    """

    derivable: bool
    remap: Channel | None
    witness: Witness | None
    exact: bool
    distance: float
    tolerance: float
    route: str

    def __bool__(self) -> bool:
        return self.derivable


def derivable(
    first: Channel, second: Channel, *, tolerance: float = 1e-8
) -> Derivation:
    r"""Decide whether :math:`X = Y T` for some remap T [C, Def 2.3; D, Def 3.1.2].

    Channels with integer weights are decided exactly, however close to the border. Where the
    columns of Y are independent T is unique and solved for; otherwise a search in floats
    proposes and integers decide.

    Parameters
    ----------
    first, second
        The channels X and Y, with the same inputs.
    tolerance
        For floats: how far X may lie from Y·T in total variation.

    Examples
    --------
    >>> near, far = IntegerChannel([[2, 1], [1, 2]]), IntegerChannel([[3, 1], [1, 3]])
    >>> derivable(near, far).remap.matrix().round(4).tolist()
    [[0.8333, 0.1667], [0.1667, 0.8333]]
    >>> derivable(far, near).witness.margin
    Fraction(1, 12)
    """
    _check_sizes(first, second)
    x = as_integers(first)
    y = as_integers(second)
    if x is not None and y is not None:
        return _in_integers(x, y)
    return _in_floats(first, second, tolerance)


def _check_sizes(first: Channel, second: Channel, limit: int = 1_000_000) -> None:
    """Refuse channels with different inputs, and remaps with more entries than the limit."""
    check_same_inputs(first, second)
    if first.shape[1] * second.shape[1] > limit:
        raise TooLarge(
            f"a remap from {second.shape[1]} to {first.shape[1]} outputs would hold more than "
            f"{limit} entries"
        )


# -- integers: what decides ---------------------------------------------------------------


def _in_integers(x: IntegerChannel, y: IntegerChannel) -> Derivation:
    # Merging proportional columns changes nothing, and makes the search smaller.
    x_small = reduced(x)
    y_small = reduced(y)
    decided, route = _decide(_Pair(x_small.channel, y_small.channel))
    if isinstance(decided, tuple):
        remap = _expanded(decided, x, y, x_small.groups, y_small.groups)
        # Verified on the given channels, not on the reduced ones.
        if _Pair(x, y).distance(remap.weights, remap.total):
            raise CheckFailed(
                "the remap found does not pass its own check: please report this"
            )
        return Derivation(True, remap, None, True, 0.0, 0.0, route)
    first, second = ((c.weights.astype(object), c.total) for c in (x, y))
    witness = _witness(decided, first, second, Fraction)
    if witness.margin <= 0:
        raise CheckFailed(
            "the witness found does not pass its own check: please report this"
        )
    return Derivation(False, None, witness, True, float(witness.margin), 0.0, route)


#: A remap as numerators over one denominator.
ExactRemap = tuple[Integers, int]


class _Pair:
    """The integer weights of X and Y, reduced, and what can be computed with them exactly."""

    def __init__(self, x: Channel, y: Channel) -> None:
        assert isinstance(x, IntegerChannel)
        assert isinstance(y, IntegerChannel)
        self.x = x.weights.astype(object)
        self.y = y.weights.astype(object)
        self.total_x = x.total
        self.total_y = y.total
        self.float_x = x.matrix()
        self.float_y = y.matrix()

    def distance(self, remap: Integers, total: int) -> Fraction:
        r"""Return the largest total variation between a row of X and of Y·T, exactly."""
        # TV = ½ Σ |X/total_x − Y·T/(total_y·total)|, over the common denominator.
        reached = exact.product(self.y, remap) * self.total_x
        numerators = self.x * (self.total_y * total)
        differences = np.abs(numerators - reached)
        denominator = 2 * self.total_x * self.total_y * total
        return Fraction(max(differences.sum(axis=1)), denominator)

    def exceeds(self, gains: Integers) -> bool:
        r"""Whether :math:`\sum_w A_w x_w > \sum_o \max_w A_w y_o`: then X is not derivable."""
        # Outputs of X are the guesses themselves; those of Y get the best guess each.
        from_x = (gains * self.x).sum()
        from_y = (gains.T @ self.y).max(axis=0).sum()
        return bool(from_x * self.total_y > from_y * self.total_x)


def _decide(
    pair: _Pair, small: int = 2_500, large: int = 30_000
) -> tuple[ExactRemap | Integers, str]:
    """Return a remap with its total, or the gains of a witness, and the route taken.

    Tableaus of up to ``small`` entries are worked through in integers before anything else is
    tried, and those of up to ``large`` entries where nothing else decides.
    """
    outputs = pair.y.shape[1]
    if pair.x.shape[1] == 1:
        return (np.ones((outputs, 1), dtype=object), 1), "a single output"
    rows = exact.independent_rows(pair.y)
    if len(rows) == pair.y.shape[1]:
        return _unique_remap(pair, rows), "independent columns: one remap at most"
    decision = tableau_decision(pair, small)
    if decision is not None:
        return decision, "simplex method in integers"
    # Floats only propose from here on; integers decide.
    result = search_remap(pair.float_x, pair.float_y)
    route = "interior-point search, completed in integers"
    for proposal in proposals(pair, result):
        # Exact gains prove a no, an exact remap a yes: either ends the search.
        if pair.exceeds(proposal.gains):
            return proposal.gains, route
        remap = completed_remap(pair, proposal)
        if remap is not None:
            return remap, route
    decision = tableau_decision(pair, large)
    if decision is not None:
        return decision, "simplex method in integers"
    raise CheckFailed(
        f"these channels lie within {abs(result.value):.1g} of the border and are too large to be "
        "decided in integers: reduce the number of outputs"
    )


def _unique_remap(pair: _Pair, rows: list[int], few: int = 12) -> ExactRemap | Integers:
    """Return the remap, or the gains that forbid it, where the columns of Y are independent.

    The given rows of Y form a regular matrix. With more than a few answers a witness that floats
    see plainly is preferred: the digits of an exact one grow with the size.
    """
    if min(pair.x.shape) > few:
        float_gains = _solved_remap(pair.float_x, pair.float_y)[1]
        if float_gains is not None and pair.exceeds(
            gains := _rounded_gains(float_gains)
        ):
            return gains
    # Y·s = X·total_y on these rows, so T = s/total_x if that is true on the others too.
    every_row = set(range(len(pair.y)))
    others = sorted(every_row - set(rows))
    right = pair.x[rows] * pair.total_y
    solution = exact.solve(pair.y[rows], right)
    assert solution is not None
    missing = (
        pair.x[others] * (pair.total_y * solution[1]) - pair.y[others] @ solution[0]
    )
    if not missing.any() and (solution[0] >= 0).all():
        return solution[0], solution[1] * pair.total_x
    gains = np.zeros(pair.x.shape, dtype=object)
    if missing.any():
        # v is 1 at a row that the remap misses, and v·Y = 0.
        largest = int(np.abs(missing).argmax())
        place, w = divmod(largest, missing.shape[1])
        gains[others[place], w] = sign = 1 if missing[place, w] > 0 else -1
        target = sign * pair.y[others[place]]
    else:
        # v·Y is the o-th unit vector, so v·x_w is the most negative entry of the remap.
        o, w = divmod(int(solution[0].argmin()), missing.shape[1])
        target = np.eye(len(rows), dtype=int)[o]
    # v on the basis rows, from Y_rᵀ·v = target.
    combination = exact.solve(pair.y[rows].T, target[:, None])
    assert combination is not None
    gains *= combination[1]
    gains[rows, w] = -combination[0][:, 0]
    return gains


def _rounded_gains(gains: Floats, bits: int = 50) -> Integers:
    """Return proposed gains as integers, scaled to use all bits that are kept."""
    top = float(np.abs(gains).max()) or 1.0
    return _whole(gains / top, 1 << bits)


def _whole(values: Floats, scale: int | Fraction) -> Integers:
    """Return floats times a scale, rounded to integers."""
    scaled = [
        [round(Fraction(value) * scale) for value in row] for row in values.tolist()
    ]
    return np.array(scaled, dtype=object)


def _expanded(
    grouped: ExactRemap,
    x: IntegerChannel,
    y: IntegerChannel,
    x_groups: Groups,
    y_groups: Groups,
) -> IntegerChannel:
    """Return the remap of all outputs from that of the groups that tell the same."""
    # Outputs of a group have proportional columns: each takes its share of the group's entries.
    # An output that never occurs may be mapped anywhere, and nothing to it.
    group_of = np.zeros(x.shape[1], np.int64)
    source_group = np.zeros(y.shape[1], np.int64)
    for g, members in enumerate(y_groups):
        source_group[list(members)] = g
    shares = [Fraction(0)] * x.shape[1]
    for g, members in enumerate(x_groups):
        weights = next(
            line for line in x.weights[:, list(members)].tolist() if any(line)
        )
        for o, weight in zip(members, weights, strict=True):
            group_of[o] = g
            shares[o] = Fraction(weight, sum(weights))
    parts, below = exact.over_one(shares)
    weights = grouped[0][np.ix_(source_group, group_of)] * parts
    return IntegerChannel(
        weights, grouped[1] * below, inputs=y.outputs, outputs=x.outputs
    )


def _witness(
    gains: AnyArray,
    x: tuple[AnyArray, Any],
    y: tuple[AnyArray, Any],
    ratio: Callable[[Any, Any], Any],
) -> Witness:
    """Return the consumer of these gains times prior; channels are weights over a total."""
    # Adding a constant to all gains of a row changes no comparison; equal guesses count once.
    # Then π_i = peak_i / Σ peaks and g(i, w) = A_iw / peak_i.
    above_least = gains - gains.min(axis=1, keepdims=True)
    shifted = above_least.T.tolist()
    guesses = list(dict.fromkeys(map(tuple, shifted)))
    peaks = [max(row) for row in zip(*guesses, strict=True)]
    total_peak = sum(peaks)
    gain = tuple(
        tuple(ratio(value, peak) if peak else ratio(0, 1) for value in row)
        for peak, row in zip(peaks, zip(*guesses, strict=True), strict=True)
    )
    table = np.array(guesses, dtype=gains.dtype)
    first, second = (
        ratio((table @ weights).max(axis=0).sum(), total_peak * total)
        for weights, total in (x, y)
    )
    return Witness(
        tuple(ratio(peak, total_peak) for peak in peaks), gain, first, second
    )


# -- integers: from a proposal in floats to an exact remap --------------------------------


@dataclass(frozen=True)
class Proposal:
    """A remap in binary digits, which of its entries are in use, and gains if it does not exist."""

    used: NDArray[np.bool_]
    remap: ExactRemap
    gains: Integers


def proposals(
    pair: _Pair, result: SearchResult, big: float = 2.0**-12, room: float = 1024.0
) -> Iterator[Proposal]:
    """Yield what a search found, in 60 bits, then one of 220 bits by iterative refinement.

    Small entries of the first may be lost in rounding. So the entries from ``big`` on are rounded
    to 40 bits and the small ones set to 0; what is then left of X, computed exactly, is small,
    and a second search in its units finds the correction [1]_.

    References
    ----------
    .. [1] A. M. Gleixner, D. E. Steffy, K. Wolter, "Iterative refinement for linear
       programming", INFORMS Journal on Computing 28 (2016).
    """
    remap = (_whole(result.remap, 1 << 60), 1 << 60)
    yield Proposal(result.used, remap, _rounded_gains(result.gains))
    is_large = result.remap >= big
    # Every row needs a large entry, which can absorb the rounding.
    if not is_large.any(axis=1).all():
        return
    large = np.where(is_large, result.remap, 0.0)
    rounded, denominator = _in_bits(large, 40)
    wanted = pair.x * (pair.total_y * denominator)
    remainder = wanted - pair.y @ rounded * pair.total_x
    size = np.abs(remainder).max()
    unit = Fraction(size, pair.total_x * pair.total_y * denominator)
    # The correction must not exceed what a large entry can lose.
    if size == 0 or unit * Fraction(room) > Fraction(big) / 2:
        return
    # The large entries are free to move, and may become smaller by ``room`` units.
    rest = np.array(remainder / size, dtype=np.float64)
    free = room * is_large
    correction = search_remap(
        rest + pair.float_y @ free, pair.float_y, free.sum(axis=1)
    )
    digits = rounded * (1 << 180) + _whole(
        correction.remap - free, unit * (denominator << 180)
    )
    yield Proposal(
        is_large | correction.used,
        (digits, denominator << 180),
        _rounded_gains(correction.gains),
    )


def completed_remap(pair: _Pair, proposal: Proposal) -> ExactRemap | None:
    """Complete a proposed remap to an exact one, or return ``None`` when that fails.

    Columns of the remap that use enough outputs of Y are *free*: some outputs that all of them
    use form a basis and take up what rounding the others leaves. Columns that use independent
    outputs have a single solution. Other patterns are left to the simplex method.
    """
    used = proposal.used
    scaled = pair.float_y / pair.float_y.max(axis=0)
    rank = int(np.linalg.matrix_rank(scaled))
    free = []
    for w in range(pair.x.shape[1]):
        # More columns than the rank, and spanning it: there is freedom to correct a solution.
        used_columns = scaled[:, used[:, w]]
        if used_columns.shape[1] > rank and np.linalg.matrix_rank(used_columns) == rank:
            free.append(w)
    # Entries are held in units of 1/(total_x · below).
    remap = np.zeros(used.shape, dtype=object)
    below = 1
    others = set(range(pair.x.shape[1])) - set(free)
    for w in sorted(others):
        places = np.flatnonzero(used[:, w])
        # Independent columns have one solution, or none.
        right = pair.x[:, [w]] * pair.total_y
        solution = exact.solve(pair.y[:, places], right)
        if solution is None:
            return None
        common_denominator = math.lcm(below, solution[1])
        remap = remap * (common_denominator // below)
        below = common_denominator
        remap[places, w] = solution[0][:, 0] * (below // solution[1])
    if free:
        common = np.flatnonzero(used[:, free].all(axis=1))
        if len(common) < rank:
            return None
        independent = exact.independent_rows(pair.y[:, common].T)
        basis = common[independent].tolist()
        corrected = _corrected(pair, proposal, free, basis, remap, below)
        if corrected is None:
            return None
        remap, below = corrected
    below *= pair.total_x
    # All conditions are checked in integers: signs, row sums, and X = Y·T.
    if (
        (remap < 0).any()
        or (remap.sum(axis=1) != below).any()
        or pair.distance(remap, below)
    ):
        return None
    return remap, below


def _corrected(
    pair: _Pair,
    proposal: Proposal,
    free: list[int],
    basis: list[int],
    remap: Integers,
    below: int,
) -> ExactRemap | None:
    """Round the free columns outside the basis and solve for what is left inside it."""
    digits, shift = proposal.remap
    unit = shift * below
    # Entries are held in units of 1/(total_x · below · shift).
    rounded = np.where(proposal.used, digits, 0)[:, free]
    entries = rounded * (below * pair.total_x)
    entries[basis] = 0
    outputs = set(range(pair.y.shape[1]))
    others = sorted(outputs - set(basis))
    given = remap.sum(axis=1) * shift
    missing = pair.total_x * unit - given - entries.sum(axis=1)
    # What a row lacks goes to its largest entry, which stays positive.
    for o in others:
        largest = int(rounded[o].argmax())
        entries[o, largest] += missing[o]
    # What the outputs of the basis must still reach of X.
    right = (
        pair.x[:, free] * (pair.total_y * unit) - pair.y[:, others] @ entries[others]
    )
    solution = exact.solve(pair.y[:, basis], right)
    if solution is None:
        return None
    # The denominator of the solution joins that of the rounded entries.
    entries = entries * solution[1]
    entries[basis] = solution[0]
    full = remap * (shift * solution[1])
    full[:, free] = entries
    return full, unit * solution[1]


def tableau_decision(pair: _Pair, limit: int) -> ExactRemap | Integers | None:
    """Decide by the simplex method in integers: a remap or gains, or ``None`` when too large.

    All entries stay integers over one denominator, as in the elimination of Bareiss; the rule of
    least index (Bland) ends every cycle.
    """
    n, k = pair.x.shape
    m = pair.y.shape[1]
    rows = n * k + m
    columns = m * k
    if rows * (columns + rows) > limit:
        return None
    # Phase 1 of the simplex method on Y t_w = x_w, Σ_w t_w = 1. Entry (o, w) of total_x·T is
    # variable w·m + o; every row has an artificial variable.
    blocks = np.kron(np.eye(k, dtype=int), pair.y)
    ones = np.ones((1, k), dtype=int)
    sums = np.kron(ones, np.eye(m, dtype=object))
    wanted = (pair.x * pair.total_y).T
    right = np.append(wanted, [pair.total_x] * m)
    table = np.hstack(
        [np.vstack([blocks, sums]), np.eye(rows, dtype=object), right[:, None]]
    )
    # Phase 1 minimises the sum of the artificial variables: costs are minus the column sums.
    costs = -table.sum(axis=0)
    costs[columns:-1] = 0
    table = np.vstack([table, costs])
    basis = np.arange(columns, columns + rows)
    scale = _simplex(table, basis, columns)
    # The artificial variables sum to 0 exactly when a remap exists.
    if table[-1, -1] == 0:
        values = np.zeros(columns + rows, dtype=object)
        values[basis] = table[:-1, -1]
        remap = values[:columns].reshape(k, m).T
        return remap, scale * pair.total_x
    # The reduced cost of an artificial variable is the scale less the dual of its row.
    duals = table[-1, columns : columns + n * k]
    gains = scale - duals
    return np.asarray(gains.reshape(k, n).T)


def _simplex(table: Integers, basis: Ints, columns: int) -> int:
    """Bring the last row to non-negative entries; the entries stay integers over one scale."""
    scale = 1
    stalled = 0
    while True:
        costs = table[-1, :columns].tolist()
        negative = [j for j, cost in enumerate(costs) if cost < 0]
        if not negative:
            return scale
        # The rule of least index ends every cycle; the steepest column is faster before.
        enter = negative[0] if stalled > 8 else min(negative, key=costs.__getitem__)
        # The row with the least quotient leaves, of several that of least index.
        ratios = zip(
            table[:-1, -1].tolist(), table[:-1, enter].tolist(), basis, strict=True
        )
        # Only rows that fall with the entering variable limit it.
        quotients = (
            (Fraction(a, b), variable, r)
            for r, (a, b, variable) in enumerate(ratios)
            if b > 0
        )
        quotient, _, leave = min(quotients)
        stalled = stalled + 1 if quotient == 0 else 0
        # Bareiss: (table · pivot − column ⊗ row) is divisible by the previous pivot.
        pivot = table[leave, enter]
        pivot_row = table[leave].copy()
        table[:] = (
            table * pivot - np.multiply.outer(table[:, enter].copy(), pivot_row)
        ) // scale
        table[leave] = pivot_row
        scale = pivot
        basis[leave] = enter


# -- floats -------------------------------------------------------------------------------


def _in_floats(first: Channel, second: Channel, tolerance: float) -> Derivation:
    x_all = first.matrix()
    y_all = second.matrix()
    # Outputs that never occur would divide by zero.
    x_live = x_all.max(axis=0) > 0
    y_live = y_all.max(axis=0) > 0
    x = x_all[:, x_live]
    y = y_all[:, y_live]

    def witness(gains: Floats) -> Witness:
        return _witness(gains, (x, 1.0), (y, 1.0), operator.truediv)

    # Where columns are independent there is one candidate: no search is needed.
    remap, gains = _solved_remap(x, y)
    route = "independent columns: one remap at most"
    is_near = remap is not None and _distance(x, y, remap) <= tolerance
    # No remap is nearer to X than the margin of a witness.
    if remap is None or not (
        is_near or (gains is not None and witness(gains).margin > tolerance)
    ):
        result = search_remap(x, y)
        remap = result.remap / result.remap.sum(axis=1, keepdims=True)
        gains = result.gains
        route = "interior-point search in floats"
    distance = _distance(x, y, remap)
    # With the same gain for all guesses no consumer distinguishes X from Y·T.
    if distance > tolerance and gains is not None and np.ptp(gains, axis=1).any():
        counterexample = witness(gains)
        if counterexample.margin <= 0:
            raise CheckFailed(
                f"these channels lie within {distance:.1g} of the border, too close for floats: "
                f"allow more than {tolerance:g}, or write them in fractions"
            )
        return Derivation(
            False, None, counterexample, False, distance, tolerance, route
        )
    full_remap = np.zeros((y_all.shape[1], x_all.shape[1]))
    # Outputs of Y that never occur may be mapped anywhere.
    full_remap[:, np.flatnonzero(x_live)[0]] = 1.0
    full_remap[np.ix_(y_live, x_live)] = remap
    channel = Channel(full_remap, inputs=second.outputs, outputs=first.outputs)
    return Derivation(True, channel, None, False, distance, tolerance, route)


def _solved_remap(x: Floats, y: Floats) -> tuple[Floats | None, Floats | None]:
    """Return the only candidate when the columns of y are independent in floats.

    And the gains that forbid it, where it has negative entries: a guess for the worst of them.
    """
    peaks_x = x.max(axis=0)
    peaks_y = y.max(axis=0)
    solution, _, rank, _ = np.linalg.lstsq(y / peaks_y, x / peaks_x, rcond=None)
    if rank < y.shape[1]:
        return None, None
    entries = solution * peaks_x / peaks_y[:, None]
    gains = None
    if entries.min() < 0:
        # v·y is the o-th unit vector, so v·x_w is the entry of the remap.
        inverse = np.linalg.pinv(y / peaks_y) / peaks_y[:, None]
        # Relative to the size of its witness: the most significant negative entry.
        sizes = np.abs(inverse).sum(axis=1, keepdims=True)
        share = entries / sizes
        o, w = np.unravel_index(share.argmin(), share.shape)
        gains = np.zeros_like(x)
        gains[:, w] = -inverse[o]
    return _stochastic(entries), gains


def _stochastic(entries: AnyArray) -> Floats:
    """Clip negative entries and scale rows to sum 1; rows of zeros become uniform."""
    clipped = np.maximum(np.asarray(entries, dtype=np.float64), 0.0)
    clipped[clipped.sum(axis=1) == 0] = 1.0
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _distance(x: Floats, y: Floats, remap: Floats) -> float:
    differences = np.abs(x - y @ remap).sum(axis=1)
    return float(differences.max()) / 2


# -- how near a remap comes ---------------------------------------------------------------


@dataclass(frozen=True)
class Nearest:
    r"""How near the remaps of Y come to X.

    Attributes
    ----------
    remap
        The nearest remap T found, or one in few digits that is as near up to rounding.
    distance
        :math:`\max_i \mathrm{TV}(X_i, (Y T)_i)`, computed without rounding.
    is_rounding
        Whether X differs from Y·T by no more than numbers that were rounded do.
    """

    remap: IntegerChannel
    distance: Fraction
    is_rounding: bool


def nearest_remap(
    first: Channel, second: Channel, *, rounding: float = 1e-12
) -> Nearest:
    r"""Return a remap of Y as near to X as can be found, where X is not derivable.

    Weights in a file are rounded to integers, so a mechanism that is a remap of another is one
    only up to the last bits. The distance tells that from a real difference. No remap is nearer
    than the margin of a witness.

    Parameters
    ----------
    first, second
        The channels X and Y, with integer weights and the same inputs.
    rounding
        The distance up to which a difference is put down to rounding. Files round probabilities
        to about :math:`10^{-16}`, once for every output.

    Examples
    --------
    >>> y = IntegerChannel([[3 * 10**18, 10**18], [10**18, 3 * 10**18]])
    >>> x = IntegerChannel([[3 * 10**18 + 1, 10**18 - 1], [10**18, 3 * 10**18]])
    >>> near = nearest_remap(x, y)
    >>> derivable(x, y).derivable, near.is_rounding, float(near.distance)
    (False, True, 2.5e-19)
    """
    _check_sizes(first, second)
    x = as_integers(first)
    y = as_integers(second)
    if x is None or y is None:
        raise InputError(
            "the nearest remap is computed for channels with integer weights only"
        )
    x_small = reduced(x)
    y_small = reduced(y)
    pair = _Pair(x_small.channel, y_small.channel)
    measured: list[tuple[Fraction, ExactRemap]] = []
    # Few bits first: they are easier to read where rounding explains the rest.
    for candidate in (
        _in_bits(near, bits) for near in _candidates(pair) for bits in (20, 52)
    ):
        measured.append((pair.distance(*candidate), candidate))
        if measured[-1][0] <= rounding:
            break
    distance, best = min(measured, key=operator.itemgetter(0))
    remap = _expanded(best, x, y, x_small.groups, y_small.groups)
    return Nearest(remap, distance, distance <= rounding)


def _in_bits(remap: Floats, bits: int) -> ExactRemap:
    """Round a stochastic matrix to multiples of 2^-bits; the largest entry of a row gives way."""
    weights = _whole(np.asarray(remap, dtype=np.float64), 1 << bits)
    rows = np.arange(len(weights))
    missing = (1 << bits) - weights.sum(axis=1)
    weights[rows, weights.argmax(axis=1)] += missing
    return weights, 1 << bits


def _candidates(pair: _Pair, limit: int = 250_000) -> Iterator[Floats]:
    """Yield remaps that come near, the cheapest first.

    The solution of least squares without its negative entries; what a search finds and a second
    one refines; and the best one of a linear program. Above the limit of inputs times outputs
    times outputs, where these take seconds, only the first.
    """
    solution, *_ = np.linalg.lstsq(pair.float_y, pair.float_x, rcond=None)
    yield _stochastic(solution)
    if pair.x.size * pair.y.shape[1] > limit:
        return
    result = search_remap(pair.float_x, pair.float_y)
    for proposal in proposals(pair, result):
        yield _stochastic(np.divide(*proposal.remap))
    yield from _least_distance(pair)


def _least_distance(pair: _Pair, limit: int = 20_000) -> list[Floats]:
    r"""Return the remap of least distance by linear programming, where it has few entries.

    Minimise s subject to :math:`Y t_w + e_w \ge x_w`, :math:`\sum_w e_{iw} \le s`, rows of T with
    sum 1: rows of X and of Y·T have one sum, so what is missing is half of what differs.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, k = pair.x.shape
    m = pair.y.shape[1]
    if n * m * k > limit:
        return []
    # Variables: T row by row, what is missing of each entry of X, and the largest sum s.
    reached = sparse.kron(sparse.coo_array(pair.float_y), sparse.eye_array(k))
    missing = sparse.eye_array(n * k)
    per_row = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    worst = sparse.coo_array(np.ones((n, 1)))
    sums = sparse.kron(sparse.eye_array(m), np.ones((1, k)))
    program = linprog(
        np.r_[np.zeros(m * k + n * k), 1.0],
        A_ub=sparse.block_array([[-reached, -missing, None], [None, per_row, -worst]]),
        b_ub=np.r_[-pair.float_x.ravel(), np.zeros(n)],
        A_eq=sparse.hstack([sums, sparse.coo_array((m, n * k + 1))]),
        b_eq=np.ones(m),
    )
    if not program.success:
        return []
    remap = program.x[: m * k].reshape(m, k)
    return [_stochastic(remap)]
