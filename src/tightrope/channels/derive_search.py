r"""Search in floats for a remap between two channels, or for what forbids it.

.. math::
    \min \sum e^+ + e^- \quad\text{s.t.}\quad Y t_w + e^+_w - e^-_w = x_w,\;
    \sum_w g_w t_w = c,\; t, e^\pm \ge 0,

one block for each output w of X, joined only by the row sums of the remap. The optimum is 0 iff
X is derivable from Y; the multipliers a of the blocks are the gains of a witness otherwise. An
predictor-corrector interior-point method [1]_ factors one small matrix for each block and one for
the row sums, so it never sees the large matrix of the whole program.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal
   on Optimization 2 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SearchResult:
    """What the search proposes; nothing here is proved.

    Attributes
    ----------
    remap
        The remap T.
    slack
        How far each entry of the remap is from being worth using; where it exceeds the entry
        the entry is 0 in every remap.
    gains
        The matrix A of gains times prior, one column for each output of X.
    value
        The optimum; above 0 when X cannot be derived.
    room
        How far the large entries of a remap may fall in a correction, in its units.
    """

    remap: Floats
    slack: Floats
    gains: Floats
    value: float
    room: float = 0.0


def search_remap(first: Floats, second: Floats) -> SearchResult:
    """Look for T with ``first ≈ second @ T``, rows of T summing to 1.

    Parameters
    ----------
    first, second
        The matrices X and Y without zero columns.

    Examples
    --------
    >>> y = np.array([[0.6, 0.4], [0.4, 0.6]])
    >>> search_remap(np.eye(2), y).value > 0.1
    True
    """
    tops_x, tops_y = first.max(axis=0), second.max(axis=0)
    program = _Program(first / tops_x, second / tops_y, tops_x, tops_y)
    program.solve()
    return SearchResult(
        program.t / tops_y[:, None] * tops_x,
        program.slack_t * tops_y[:, None] / tops_x,
        program.a / tops_x,
        program.value,
    )


def search_correction(
    rest: Floats, second: Floats, big: NDArray[np.bool_], room: float = 1024.0
) -> SearchResult:
    """Look for D with ``rest ≈ second @ D``, rows summing to 0, at most negative where ``big``.

    The rescaled residual problem of iterative refinement: ``rest`` is what an almost right remap
    leaves, divided by its size, and its large entries are free to move.

    Parameters
    ----------
    rest
        What is left, with entries of order 1.
    second
        The matrix Y without zero columns.
    big
        Which entries of the remap may become smaller.
    room
        By how much at most.

    Examples
    --------
    >>> y = np.array([[0.6, 0.4], [0.4, 0.6]])
    >>> found = search_correction(np.array([[-0.2, 0.2], [0.2, -0.2]]), y, np.eye(2) > 0)
    >>> found.remap.round(6).tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """
    lifted = rest + second @ (room * big)
    tops_x, tops_y = np.abs(lifted).max(axis=0), second.max(axis=0)
    sums = room * big.sum(axis=1)
    program = _Program(lifted / tops_x, second / tops_y, tops_x, tops_y * sums)
    program.solve()
    moved = program.t / tops_y[:, None] * tops_x
    return SearchResult(
        moved - room * big,
        np.where(big, -np.inf, program.slack_t * tops_y[:, None] / tops_x),
        program.a / tops_x,
        program.value,
        room,
    )


class _Program:
    """The blocks, the point reached and its Newton steps."""

    def __init__(self, x: Floats, y: Floats, weights: Floats, sums: Floats) -> None:
        self.x, self.y, self.g, self.c = x, y, weights, sums
        (n, k), m = x.shape, y.shape[1]
        t = np.repeat((sums / weights.sum())[:, None], k, axis=1)
        rest = x - y @ t
        #: The remap, what Y·T lacks of X and what it has too much, one below the other.
        self.z = np.vstack([t, np.maximum(rest, 0) + 1 / n, np.maximum(-rest, 0) + 1 / n])
        self.slack = np.vstack([np.repeat(weights[None, :], m, axis=0), np.ones((2 * n, k))])
        self.a, self.s = np.zeros((n, k)), -np.ones(m)
        self.value = float("inf")

    @property
    def t(self) -> Floats:
        """The remap."""
        return self._parts(self.z)[0]

    @property
    def slack_t(self) -> Floats:
        """The dual slacks of the remap's entries."""
        return self._parts(self.slack)[0]

    def _parts(self, stacked: Floats) -> list[Floats]:
        m = self.y.shape[1]
        return np.split(stacked, [m, m + len(self.x)])

    def solve(
        self, gap: float = 1e-12, share: float = 0.05, residual: float = 1e-5, steps: int = 80
    ) -> None:
        """Step until the duality gap is closed.

        Parameters
        ----------
        gap
            The gap at which to stop.
        share
            Once no remap exists, a witness within this share of the best one is good enough.
        residual
            A step that leaves the equations by more than this is undone: round-off dominates.
        steps
            Most steps.
        """
        from threadpoolctl import threadpool_limits

        # Matrices are small: threads of linear algebra cost more than they save.
        with threadpool_limits(1, "blas"):
            for _ in range(steps):
                self.value = float((self.a * self.x).sum() + self.c @ self.s)
                before = dict(vars(self))
                if self._gap() <= max(gap, share * self.value) or not self._step():
                    break
                if self._gap() < residual < self._residual():
                    vars(self).update(before)
                    break

    def _rests(self) -> tuple[Floats, Floats]:
        """Return what the two kinds of equations leave over."""
        t, up, down = self._parts(self.z)
        return self.x - self.y @ t - up + down, self.c - t @ self.g

    def _residual(self) -> float:
        return max(float(np.abs(rest).max()) for rest in self._rests())

    def _gap(self) -> float:
        return self._total(self.z * self.slack)

    def _total(self, products: Floats) -> float:
        # Part by part: near the border the last digits of this sum decide when to stop.
        return sum(float(part.sum()) for part in self._parts(products))

    def _step(self, share: float = 0.9995, short: float = 1e-8) -> bool:
        """Go that share of the way to the border; ``False`` when steps are too short."""
        products = self.z * self.slack
        mu = self._total(products) / products.size
        try:
            self._factor()
        except np.linalg.LinAlgError:
            return False
        guess = self._direction(-products)
        primal, dual = self._reach(guess)
        after = self._total((self.z + primal * guess.z) * (self.slack + dual * guess.slack))
        centre = mu * min(1.0, after / products.size / mu) ** 3
        move = self._direction(centre - products - guess.z * guess.slack)
        reach = self._reach(move, 1 / share)
        if min(reach) < 0.1:
            # Close to a border the correction may block the way; then walk towards the centre.
            other = self._direction(0.3 * mu - products)
            wider = self._reach(other, 1 / share)
            if min(wider) > min(reach):
                move, reach = other, wider
        primal, dual = (min(1.0, share * r) for r in reach)
        if not np.isfinite(primal * dual) or max(primal, dual) < short:
            return False
        self.z, self.slack = self.z + primal * move.z, self.slack + dual * move.slack
        self.a, self.s = self.a + dual * move.da, self.s + dual * move.ds
        return True

    def _factor(self, regular: float = 1e-14) -> None:
        """Factor every block by QR, which keeps twice the digits of a product of matrices."""
        (n, k), m = self.x.shape, self.y.shape[1]
        d_t, d_up, d_down = self._parts(self.z / self.slack)
        self._flow, self._spread = d_t, d_up + d_down
        root = np.sqrt(d_t).T
        tall = np.zeros((k, m + n, n))
        tall[:, :m] = root[:, :, None] * self.y.T
        diagonal = np.arange(n)
        tall[:, m + diagonal, diagonal] = np.sqrt(self._spread).T
        q, r = np.linalg.qr(tall)
        self._inverse = np.linalg.inv(r)
        self._upper = q[:, :m] * (root * self.g[:, None])[:, :, None]
        flat = self._upper.transpose(0, 2, 1).reshape(-1, m)
        coupling = -(flat.T @ flat)
        coupling[np.arange(m), np.arange(m)] += d_t @ self.g**2
        top = np.abs(np.diag(coupling)).max()
        # Regularised: near the end the coupling is singular to working accuracy.
        coupling[np.arange(m), np.arange(m)] += regular * top
        self._coupling = np.linalg.inv(coupling)

    def _direction(self, target: Floats, refinements: int = 3) -> _Move:
        """Solve the Newton system for given right-hand sides of the products z·s."""
        scaled = target / self.slack
        r_t, r_up, r_down = self._parts(scaled)
        rest_x, rest_c = self._rests()
        # dz = target/s - d·ds and ds = -(Mᵀ dy): the primal residual closes the system.
        right = rest_x - self.y @ r_t - r_up + r_down
        sums = rest_c - r_t @ self.g
        da, ds = self._solve(right, sums)
        for _ in range(refinements):
            flow = self._flow * (self.y.T @ da + np.outer(ds, self.g))
            more = self._solve(right - self.y @ flow - self._spread * da, sums - flow @ self.g)
            da, ds = da + more[0], ds + more[1]
        slack = np.vstack([-(self.y.T @ da + np.outer(ds, self.g)), -da, da])
        return _Move(scaled - self.z / self.slack * slack, slack, da, ds)

    def _solve(self, right: Floats, sums: Floats) -> tuple[Floats, Floats]:
        half = np.einsum("kpn,pk->nk", self._inverse, right)
        part = np.einsum("knp,pk->nk", self._inverse, half)
        ds = self._coupling @ (sums - (self._flow * (self.y.T @ part)) @ self.g)
        moved = np.einsum("kop,o->kp", self._upper, ds)
        return part - np.einsum("knp,kp->nk", self._inverse, moved), ds

    def _reach(self, move: _Move, cap: float = 1.0) -> tuple[float, float]:
        with np.errstate(divide="ignore", invalid="ignore"):
            primal = np.where(move.z < 0, -self.z / move.z, np.inf).min()
            dual = np.where(move.slack < 0, -self.slack / move.slack, np.inf).min()
        return min(cap, float(primal)), min(cap, float(dual))


@dataclass(frozen=True)
class _Move:
    z: Floats
    slack: Floats
    da: Floats
    ds: Floats
