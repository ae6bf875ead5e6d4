"""One interface for every mechanism that is released from, whatever its file holds.

Drawing, the error that is promised, the interval of an answer, what the consumer takes an answer
for, and the worst trade-off curve: a kind of mechanism is one class here, and nobody else asks
which it has.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tightrope.certify import read
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.accounts import charge_of

if TYPE_CHECKING:
    from tightrope.accounting import TradeOff
    from tightrope.certify.judge import Verification
    from tightrope.epsilon import Epsilon
    from tightrope.publish.intervals import Estimate, Number
    from tightrope.publish.noise.laws import NoiseLaw, PairLaw


class Noise:
    """A mechanism as releases use it.

    Parameters
    ----------
    file
        The mechanism, as its file holds it.
    """

    #: The kinds, those that fit less first; a class is registered where it is written.
    kinds: ClassVar[list[type[Noise]]] = []

    #: Whether a draw sees the counts of all values, not one true answer.
    sees_counts: ClassVar[bool] = False
    #: Whether it is drawn by what was published before, and never alone.
    needs_earlier: ClassVar[bool] = False

    def __init__(self, file: Any) -> None:
        self.file = file
        self.digest: str = file.digest
        self.query: str = file.query
        self.neighbours: str = file.neighbours
        self.epsilon: Epsilon = file.epsilon
        self.delta: Fraction = file.delta

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        Noise.kinds.insert(0, cls)

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether a mechanism is of this kind."""
        raise NotImplementedError

    @property
    def verdict(self) -> Verification:
        """What the judge finds about the mechanism, once in a process."""
        verdict: Verification = self.file.verdict
        return verdict

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps of a chain that lead here; of a first answer none."""
        return ()

    @property
    def charge(self) -> Fraction:
        """What one step of it costs."""
        return charge_of(self.epsilon)

    @property
    def last_answer(self) -> int:
        """The number of the last true answer."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return bytes(self.file.to_bytes())

    def is_for(self, question: str, neighbours: str) -> bool:
        """Whether this is a mechanism for a question under a relation."""
        raise NotImplementedError

    def node(self, answer: Hashable) -> int:
        """Return the number of a true answer in its graph."""
        raise NotImplementedError

    def draw(self, answer: Any) -> Hashable:
        """Draw one output for a true answer, or for the counts that a score is read off."""
        raise NotImplementedError

    def draw_cells(self, answers: Sequence[Any]) -> list[int]:
        """Draw the cells of a table, not held between the ends."""
        raise NotImplementedError

    def draw_node(self, node: int) -> Hashable:
        """Draw one output for the true answer of a node."""
        raise NotImplementedError

    def after(self, published: Sequence[Sequence[int]]) -> Noise:
        """Return the noise that follows numbers published before; a first answer follows none."""
        return self

    def error(self, confidence: Fraction | float | str) -> tuple[Number, ...]:
        """Return the error of each number that is kept with a probability; none without numbers."""
        return ()

    def interval(
        self,
        answer: Hashable,
        confidence: Fraction | float | str = "0.95",
        *,
        prior: Sequence[Any] | None = None,
        simultaneous: bool = False,
    ) -> Any:
        """Return the confidence set of an answer, or how far its score is from the best."""
        raise NotImplementedError

    def estimates(self, answer: Hashable, confidence: Fraction) -> tuple[Estimate, ...]:
        """Return each number of an answer, as the consumer takes it, with its interval."""
        raise NotImplementedError

    def guess(self, answer: Hashable) -> Hashable:
        """Return what the mechanism's consumer takes an answer for."""
        return answer

    def differences(self, most: int = 81) -> tuple[tuple[float, float], ...]:
        """Return how far numbers are from a truth in the middle, each with its probability.

        Nothing for answers that are not numbers.
        """
        return ()

    def note(self, confidence: Fraction) -> str:
        """Say how near an answer is, where that is no number."""
        return ""

    @property
    def law(self) -> NoiseLaw | None:
        """The law of each number's noise, where it is the same for all answers."""
        return None

    @property
    def pair_law(self) -> PairLaw | None:
        """The law of a pair of numbers' noise, where it falls with the larger one of both."""
        return None

    def claim(self) -> str:
        """Say what is proved of its quality."""
        raise NotImplementedError

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved to be optimal, in the sense of its claim."""
        return False

    @property
    def is_bounded(self) -> bool:
        """Whether its claim compares it with the smallest possible loss."""
        return False

    def curve(self, most: int = 1_000_000) -> TradeOff | None:
        """Return the worst trade-off curve; ``None`` where it counts by its level."""
        return None


def noise_of(mechanism: Any) -> Noise:
    """Return a mechanism, the path of its file or its noise, as noise."""
    if isinstance(mechanism, Noise):
        return mechanism
    file = read(mechanism) if isinstance(mechanism, str | Path) else mechanism
    return next(kind for kind in Noise.kinds if kind.fits(file))(file)


def checked_mechanism(mechanism: Any) -> Noise:
    """Return the noise of a mechanism whose privacy was verified in exact arithmetic.

    >>> checked_mechanism("no-such-file.tightrope")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.tightrope: No such file or directory
    """
    if not hasattr(mechanism, "to_bytes") and not isinstance(mechanism, str | Path):
        raise InputError(
            "a release needs a mechanism or the path of its file (a design becomes one with "
            f"tightrope.prove), got {type(mechanism).__name__}"
        )
    # A file is read once: the bytes that are verified are the bytes that are drawn from.
    noise = noise_of(mechanism)
    if not noise.verdict.private:
        reason = next(iter(noise.verdict.reasons), "its privacy is not proved")
        raise CheckFailed(f"the mechanism is not released from: {reason}")
    return noise
