"""What the question of derivability returns: a remap, or a reader who shows that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightrope.channels.base import Channel


@dataclass(frozen=True)
class Witness:
    r"""A reader to whom X is worth strictly more than Y, whatever is done with Y's outputs.

    The reader has the prior π, makes one of several guesses w and gains g(i, w) in [0, 1] when
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
    first: Fraction | float
    second: Fraction | float

    @property
    def margin(self) -> Fraction | float:
        """How much more X is worth."""
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
        A reader who gains strictly more from X, or ``None``.
    exact
        Whether the answer was decided and checked in integers.
    distance
        The largest total variation between a row of X and of Y·T for the remap found; 0 when
        derivable exactly, and for an exact no the margin of the witness.
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
