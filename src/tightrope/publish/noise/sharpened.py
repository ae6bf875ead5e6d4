"""The noise of a finer answer that follows coarser ones which are published."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

from tightrope.certify import certify_sharpened
from tightrope.certify.judge import SharpenedWeights
from tightrope.claims import sharpened_sentence
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.accounts import charge_of
from tightrope.publish.noise.base import Noise, checked_mechanism
from tightrope.publish.noise.lattice import LatticeNoise
from tightrope.publish.sampler import FinerSampler


class SharpenedNoise(LatticeNoise):
    """Noise of one number after coarser ones: it is drawn by what was published before."""

    needs_earlier = True

    def __init__(
        self,
        file: Any,
        earlier: Noise | None = None,
        published: Sequence[Sequence[int]] = (),
    ) -> None:
        super().__init__(file)
        self.earlier = earlier
        self._published = published

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether the file holds finer noise and the coarser noise before it."""
        return bool(file.kind == "sharpened")

    @property
    def steps(self) -> tuple[SharpenedWeights, ...]:
        """The weights of every step of the chain, this one last."""
        before = self.earlier.steps if self.earlier is not None else ()
        return (*before, self.file.noise)

    @property
    def charge(self) -> Fraction:
        """What one step costs beside the earlier answer: the difference."""
        paid = self.earlier.epsilon if self.earlier is not None else None
        return super().charge - (Fraction(0) if paid is None else charge_of(paid))

    def after(self, published: Sequence[Sequence[int]]) -> SharpenedNoise:
        """Return the noise that follows published numbers: those of each cell, the first first."""
        sampler = FinerSampler(self.steps)
        for numbers in published:
            if len(numbers) != len(self.steps):
                raise InputError(
                    f"a chain of {len(self.steps)} steps follows as many numbers, got "
                    f"{len(numbers)}"
                )
            sampler.check(numbers)
        return SharpenedNoise(self.file, self.earlier, published)

    def draw_cells(self, answers: Sequence[Any]) -> list[int]:
        """Draw the finer number of each cell."""
        sampler = FinerSampler(self.steps)
        pairs = zip(answers, self._published, strict=True)
        return [sampler.draw(int(answer), numbers) for answer, numbers in pairs]

    def draw(self, answer: Any) -> Hashable:
        """Draw the finer number of a single cell."""
        (finer,) = self.draw_cells([answer])
        return finer

    def check_output(self, answer: Hashable) -> None:
        """Accept any whole number: how far a chain goes beyond the ends depends on its steps."""
        if not isinstance(answer, int):
            super().check_output(answer)

    def claim(self) -> str:
        """Say what the number has beside the earlier ones, and what both cost together."""
        assert self.file.noise is not None
        return sharpened_sentence(1 - self.file.noise.described)


def sharpened(earlier: Noise, level: Epsilon) -> SharpenedNoise:
    """Return verified noise at a larger level that follows earlier noise.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import UnboundedNoise
    >>> from tightrope.queries import query
    >>> asked = query("count(1000)")
    >>> half = checked_mechanism(certify(UnboundedNoise(asked.graph, "0.5"), asked, "0.5"))
    >>> one = sharpened(half, Epsilon.of(1))
    >>> one.error("0.95"), one.after([[400]]).draw_cells([403])[0] in range(200, 600)
    ((3,), True)
    """
    made = checked_mechanism(certify_sharpened(earlier.file, level))
    return SharpenedNoise(made.file, earlier)
