"""Seeded draws, for tests and pictures: a simulation, never a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import Mechanism
from tightrope.errors import InputError, whole_number
from tightrope.publish.sampler import Sampler


@dataclass(frozen=True, eq=False)
class Simulation:
    """Outputs drawn with a seed.

    Attributes
    ----------
    mechanism
        The mechanism.
    row
        The node of the true answer.
    seed
        The seed.
    indices
        The numbers of the outputs drawn (read-only).

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    >>> simulate(made, 3, 4, seed=1).receipt()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a simulation is drawn with a seed and is no release: ...
    """

    mechanism: Mechanism
    row: int
    seed: int
    indices: NDArray[np.int64]

    @property
    def outputs(self) -> list[Hashable]:
        """The labels of the outputs drawn."""
        return [self.mechanism.output_label(o) for o in self.indices.tolist()]

    @property
    def counts(self) -> dict[Hashable, int]:
        """How often each output was drawn."""
        found = Counter(self.indices.tolist())
        return {self.mechanism.output_label(o): n for o, n in sorted(found.items())}

    def receipt(self) -> NoReturn:
        """Refuse: what was drawn with a seed can be drawn again by anybody."""
        raise InputError(
            "a simulation is drawn with a seed and is no release: use Sampler, which takes its "
            "bits from the operating system"
        )


def simulate(mechanism: Mechanism, row: int, count: int, *, seed: int) -> Simulation:
    """Draw outputs with a seed; the result cannot become a receipt.

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
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    >>> simulate(made, 3, 4, seed=1).outputs == simulate(made, 3, 4, seed=1).outputs
    True
    """
    seed = whole_number(seed, "a seed", 0)
    generator = np.random.default_rng(seed)
    found = Sampler(mechanism, row)._look_up(count, generator.bytes)
    found.flags.writeable = False
    return Simulation(mechanism, int(row), seed, found)
