r"""Where the tight-constraints mechanism exists on a small graph, exactly.

By Cramer's rule the solution of :math:`\Phi z = 1` on cells is :math:`\zeta_A = N_A(\alpha) /
D(\alpha)` with integer polynomials. They are read off one elimination in integers at
:math:`\alpha = 2^b` with b bits for each coefficient. Their roots in (0, 1) cut the range of α
into pieces on which every sign is constant, so one rational point decides each piece, and none
can be missed.

Every non-negative solution has :math:`z_i \le (\Phi z)_i = 1`, so the set of α is closed and
stays away from poles: only at a root of D itself must a system be looked at numerically.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightrope.phi.cells import Cells
from tightrope.phi.polynomials import (
    Polynomial,
    Root,
    divided,
    gcd,
    isolate,
    squarefree,
    trimmed,
    value,
)

#: Largest degree of the polynomials.
DEGREE_LIMIT = 160
#: Largest number of cells.
CELLS_LIMIT = 24
#: Width to which roots are narrowed.
ROOT_WIDTH = Fraction(1, 2**60)


def fits_exactly(cells: Cells) -> bool:
    """Whether the polynomials are small enough.

    >>> from tightrope.graphs import PathPower
    >>> from tightrope.phi.cells import cells_of
    >>> fits_exactly(cells_of(PathPower(9, 2))), fits_exactly(cells_of(PathPower(90)))
    (True, False)
    """
    whole = bool((cells.lengths == np.floor(cells.lengths)).all())
    degree = cells.size * int(cells.lengths.max())
    return whole and cells.size <= CELLS_LIMIT and degree <= DEGREE_LIMIT


def cramer(
    counts: Sequence[Sequence[Sequence[int]]],
    lengths: Sequence[int],
    rhs: Sequence[int],
) -> tuple[Polynomial, list[Polynomial]]:
    r"""Return D and all :math:`N_A` of :math:`Q(\alpha)\zeta = b`, not yet reduced.

    Parameters
    ----------
    counts
        ``counts[k][A][B]``: the coefficient of :math:`\alpha^{l_k}` in :math:`Q_{AB}`.
    lengths
        The exponents :math:`l_k`.
    rhs
        The right-hand side b.

    Examples
    --------
    >>> cramer([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [0, 1], [1, 1])     # an edge
    ((1, 0, -1), [(1, -1), (1, -1)])
    """
    size = len(counts[0])
    total = sum(sum(row) for layer in counts for row in [layer[0]])
    # No coefficient of a determinant exceeds the product of the rows' sums, sign included.
    bits = size * max(total, 2).bit_length() + max(abs(b) for b in rhs).bit_length() + 2
    layers = list(zip(counts, lengths, strict=True))
    rows = [
        [*(sum(c[a][b] << (bits * k) for c, k in layers) for b in range(size)), int(rhs[a])]
        for a in range(size)
    ]
    pivot = 1
    for k in range(size):
        # At α = 2^bits leading minors are non-zero: as polynomials they are 1 at α = 0.
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [
                    (rows[k][k] * x - factor * y) // pivot
                    for x, y in zip(rows[i], rows[k], strict=True)
                ]
        pivot = rows[k][k]
    return _digits(pivot, bits), [_digits(row[-1], bits) for row in rows]


def _digits(number: int, bits: int) -> Polynomial:
    """Read the coefficients of a polynomial off its value at 2^bits."""
    out, half, full = [], 1 << (bits - 1), 1 << bits
    while number:
        digit = number & (full - 1)
        if digit >= half:
            digit -= full
        out.append(digit)
        number = (number - digit) >> bits
    return tuple(out)


@dataclass(frozen=True)
class Piece:
    """A closed interval of α on which the mechanism exists; an end is a root, 0 or 1.

    >>> Piece(Fraction(0), Fraction(1)).is_point
    False
    """

    low: Root | Fraction
    high: Root | Fraction

    @property
    def is_point(self) -> bool:
        """Whether it is a single α."""
        return self.low is self.high


def determinant(cells: Cells) -> Polynomial:
    r"""Return :math:`\det Q(\alpha)` as an integer polynomial.

    >>> from tightrope.graphs import PathPower
    >>> from tightrope.phi.cells import cells_of
    >>> determinant(cells_of(PathPower(2)))
    (1, 1)
    """
    exponents = [int(x) for x in cells.lengths]
    return cramer(cells.counts.tolist(), exponents, [1] * cells.size)[0]


def pieces(cells: Cells, rhs: Sequence[int] | None = None) -> list[Piece]:
    r"""Return the closed intervals of :math:`\alpha \in (0,1)` with :math:`Q\zeta = b`, ζ ≥ 0.

    The right-hand side is 1 unless given; a non-negative one keeps the set closed.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.phi.cells import cells_of
    >>> [float(piece.high) for piece in pieces(cells_of(Star(4)))]
    [0.3333333333333333]
    """
    right = [1] * cells.size if rhs is None else list(rhs)
    bottom, tops = cramer(cells.counts.tolist(), [int(x) for x in cells.lengths], right)
    bottom, tops = _reduced(bottom, sorted(top for top in set(tops) if top))
    clusters = _clusters({squarefree(p) for p in [bottom, *tops]})
    cuts: list[Root | Fraction] = [Fraction(0), *clusters, Fraction(1)]
    holds = [
        _exists_at(bottom, tops, (_end(a, 1) + _end(b, 0)) / 2) for a, b in itertools.pairwise(cuts)
    ]
    found: list[Piece] = []
    start: Root | Fraction | None = Fraction(0)
    for k, cut in enumerate(clusters):
        before, after = holds[k], holds[k + 1]
        if before and not after:
            found.append(Piece(start if start is not None else cut, cut))
            start = None
        elif after and not before:
            start = cut
        elif not before and _exists_on(cut, bottom, tops, cells, right):
            found.append(Piece(cut, cut))
    if holds[-1]:
        found.append(Piece(start if start is not None else Fraction(0), Fraction(1)))
    return found


def _reduced(bottom: Polynomial, tops: list[Polynomial]) -> tuple[Polynomial, list[Polynomial]]:
    """Divide out what all polynomials share: powers of 1-α at least. Quotients keep their sign."""
    common = bottom
    for top in tops:
        common = gcd(common, top)
    if len(common) > 1:
        bottom = divided(bottom, common) or bottom
        tops = [divided(top, common) or top for top in tops]
    return trimmed(bottom), [trimmed(top) for top in tops]


def _clusters(polynomials: set[Polynomial]) -> list[Root]:
    """Return the different roots of some polynomials, in order, in disjoint intervals."""
    roots = [root.narrowed(ROOT_WIDTH) for p in polynomials for root in isolate(p)]
    roots.sort(key=lambda root: root.low)
    kept: list[Root] = []
    for root in roots:
        if kept and not kept[-1].high < root.low:
            last = kept[-1]
            if _same(last, root):
                continue
            width, here = ROOT_WIDTH, root
            while not (last.high < here.low or here.high < last.low):
                width /= 16
                last, here = last.narrowed(width), here.narrowed(width)
            kept[-1:] = sorted([last, here], key=lambda r: r.low)
        else:
            kept.append(root)
    return kept


def _same(a: Root, b: Root) -> bool:
    """Whether two overlapping intervals hold the same root."""
    common = squarefree(gcd(a.polynomial, b.polynomial))
    low, high = max(a.low, b.low), min(a.high, b.high)
    if low == high:
        return value(common, low) == 0
    return any(not (root.high < low or high < root.low) for root in _near(common, low, high))


def _near(p: Polynomial, low: Fraction, high: Fraction) -> list[Root]:
    return [root.narrowed((high - low) / 4) for root in isolate(p)] if len(p) > 1 else []


def _end(cut: Root | Fraction, right: int) -> Fraction:
    if isinstance(cut, Fraction):
        return cut
    return cut.high if right else cut.low


def _exists_at(bottom: Polynomial, tops: list[Polynomial], alpha: Fraction) -> bool:
    below = value(bottom, alpha)
    return all(value(top, alpha) * below >= 0 for top in tops)


def _exists_on(
    cut: Root, bottom: Polynomial, tops: list[Polynomial], cells: Cells, right: list[int]
) -> bool:
    """Whether the mechanism exists at a root although on neither side of it."""
    if _vanishes(bottom, cut):
        from scipy.optimize import nnls

        matrix = cells.quotient(float(cut))
        return bool(nnls(matrix, np.asarray(right, float) / max(right))[1] < 1e-11)
    below = value(bottom, cut.low)
    return all(_vanishes(top, cut) or value(top, cut.low) * below > 0 for top in tops)


def _vanishes(p: Polynomial, cut: Root) -> bool:
    """Whether a polynomial is zero at the root: it has no other root in that interval."""
    if cut.low == cut.high:
        return value(p, cut.low) == 0
    return len(gcd(p, cut.polynomial)) > 1 and any(
        not (root.high < cut.low or cut.high < root.low)
        for root in _near(squarefree(gcd(p, cut.polynomial)), cut.low, cut.high)
    )
