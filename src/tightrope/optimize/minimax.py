r"""The best remap of a given channel X for a risk-averse consumer [C, §2.4].

.. math:: \min_T \max_{i \in S} \sum_o X_{io} \sum_k T_{ok}\,\ell(i,k), \qquad T \text{ stochastic},

whose dual is :math:`\max_\pi \sum_o \min_k \sum_i \pi_i X_{io} \ell(i,k)` over the priors on S.
An optimal remap uses few pairs of output and guess, those that are best for priors near the worst
one. So column generation solves it over few pairs; the best pairs for its multipliers, and for
the prior half way to the best one known (dual stabilisation), join until value and bound agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.consumers.evaluate import check_inputs
from tightrope.errors import InputError, TooLarge
from tightrope.optimize.objective import TOTAL, shares
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import Watch
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.simplex import Solved, minimise


@dataclass(frozen=True, eq=False)
class MinimaxRemap:
    """The best remap of a channel for a risk-averse consumer.

    Parameters
    ----------
    matrix
        From outputs to guesses, row-stochastic.
    worst_loss
        The largest expected loss over the support.
    bound
        What no remap of this channel is below.
    prior
        The worst prior, over all answers: it proves the bound.
    """

    matrix: Channel
    worst_loss: float
    bound: float
    prior: Floats


def minimax_remap(
    channel: Channel, consumer: Consumer, settings: SolverSettings | None = None
) -> MinimaxRemap:
    """Return the remap with the least worst loss: a linear program [C, §2.4].

    >>> from tightrope.consumers import Consumer, Loss
    >>> noisy = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> round(minimax_remap(noisy, Consumer(support=[0, 1], loss=Loss.binary(2))).worst_loss, 9)
    0.25
    """
    most = (settings or SolverSettings()).remap_entries
    if not consumer.risk_averse:
        raise InputError(
            "this remap is for a risk-averse consumer; use best_remap with a prior"
        )
    check_inputs(channel, consumer.loss.size)
    inputs, outputs = channel.shape
    guesses = consumer.loss.guess_count
    pairs = max(inputs, outputs) * max(guesses, outputs)
    if pairs > most:
        raise TooLarge(
            f"the best remap of {outputs} outputs to {guesses} guesses would look at {pairs} "
            f"pairs, more than {most}: use fewer answers"
        )
    # Only the rows of possible answers enter the program.
    search = _RemapSearch(
        channel.matrix()[consumer.support], consumer.loss.matrix()[consumer.support]
    )
    search.run()
    prior = np.zeros(inputs)
    prior[consumer.support] = search.prior
    remapped = Channel(
        search.chances, inputs=channel.outputs, outputs=consumer.loss.guesses
    )
    return MinimaxRemap(remapped, search.value, min(search.bound, search.value), prior)


class _RemapSearch:
    """Column generation over the pairs of outputs and guesses."""

    def __init__(self, noise: Floats, losses: Floats) -> None:
        self.noise = noise
        self.losses = losses
        self.pairs = np.zeros((noise.shape[1], losses.shape[1]), bool)
        self.value = np.inf
        self.bound = -np.inf
        self.prior = np.full(len(noise), 1 / len(noise))
        self.chances = np.zeros(self.pairs.shape)
        self._priced(self.prior)
        # The worst loss is counted in units of its size, which keeps the entries that matter.
        usual = float(np.abs(losses).mean())
        self.unit = max(self.bound, 1e-6 * usual, 1e-300)

    def run(self, gap: float = 1e-11, rounds: int = 60, patience: int = 3) -> None:
        """Add pairs until the gap is closed, or nothing got better for some rounds."""
        idle = 0
        for _ in range(rounds):
            value = self.value
            bound = self.bound
            multipliers = self._solved()
            known = int(self.pairs.sum())
            if self.value - self.bound > gap * abs(self.value):
                # First half way to the best prior known, which damps oscillations.
                self._priced((multipliers + self.prior) / 2)
                self._priced(multipliers)
            if self.value - self.bound <= gap * abs(self.value):
                break
            improves = self.value < value or self.bound > bound
            idle = 0 if improves else idle + 1
            if self.pairs.sum() == known or idle >= patience:
                break

    def _priced(self, prior: Floats) -> None:
        """Add the best guess for each output with this prior, and those beside it."""
        # Σ_i π_i X_io ℓ(i,k), for every output o and guess k
        worth = (self.noise * prior[:, None]).T @ self.losses
        best = worth.argmin(axis=1)
        outputs = np.arange(len(best))
        # Guesses beside the best one are often next: they come in early.
        for step in (-1, 0, 1):
            last = worth.shape[1] - 1
            self.pairs[outputs, np.clip(best + step, 0, last)] = True
        # Σ_o min_k: a dual value, whatever the prior
        bound = float(worth[outputs, best].sum())
        if bound > self.bound:
            self.bound = bound
            self.prior = prior

    def _solved(self, smallest: float = 1e-14) -> Floats:
        """Solve the program over the pairs; keep the remap if it is better; return the prior."""
        from scipy.sparse import coo_array

        output, guess = np.nonzero(self.pairs)
        outputs = len(self.pairs)
        count = len(output)
        lost = self.noise[:, output] * self.losses[:, guess]
        losses = lost / self.unit
        losses[np.abs(losses) < smallest] = 0.0
        places = (output, np.arange(count))
        sums = coo_array((np.ones(count), places), (outputs, count))
        solved = least_worst(sums, losses, np.zeros(len(losses)), total=TOTAL)
        chances = np.zeros(self.pairs.shape)
        chances[output, guess] = np.maximum(solved.values[:-1], 0.0)
        chances /= chances.sum(axis=1, keepdims=True)
        # max_i Σ_k (X T)_ik ℓ(i,k), of the remap as it will be used
        lost = (self.noise @ chances) * self.losses
        value = float(lost.sum(axis=1).max())
        if value < self.value:
            self.value = value
            self.chances = chances
        return shares(solved.duals[outputs:])


def least_worst(
    sums: Any,
    losses: Floats,
    right: Floats,
    *,
    total: float = 1.0,
    basis: tuple[Ints, Ints] | None = None,
    watch: Watch | None = None,
) -> Solved:
    r"""Minimise t over weights :math:`w \ge 0` with :math:`A w = s` and :math:`L w \le b + t`.

    The last value is t; the duals are those of the sums, and then the shares of the worst. It may
    start from the basis of such a program with fewer weights: the new ones are 0 there.

    >>> solved = least_worst(np.ones((1, 2)), np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros(2))
    >>> solved.value, solved.duals.tolist()
    (0.75, [0.75, 0.25, 0.75])
    """
    from scipy.sparse import block_array, csc_array

    rows, count = losses.shape
    totals = np.full(sums.shape[0], total)
    if basis is not None:
        # The new weights stand before t, which is the last variable.
        columns, basic_rows = basis
        new = np.zeros(count + 1 - len(columns), np.int64)
        basis = (np.insert(columns, -1, new), basic_rows)
    # [A 0; -L 1] (w, t): the sums are s, and t - L w is at least -b.
    worst = [csc_array(-losses), np.ones((rows, 1))]
    return minimise(
        np.append(np.zeros(count), 1.0),
        block_array([[sums, None], worst], format="csc"),
        np.append(totals, -right),
        np.append(totals, np.full(rows, np.inf)),
        free=1,
        basis=basis,
        watch=watch,
    )
