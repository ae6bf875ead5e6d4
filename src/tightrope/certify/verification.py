"""``verify``: whether a mechanism is what it says it is, decided in integers."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.certify.checker import check
from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.certify.mechanism import Mechanism


@dataclass(frozen=True)
class Verification:
    """What the checks of a mechanism found.

    Attributes
    ----------
    private
        Whether the weights are private for ε, the rows are sound and the bytes untouched.
    optimal_within
        The expected loss (or the vulnerability, where loss is limited) less the proved bound,
        exactly; ``None`` without a sound certificate.
    ratio
        The p/q that probabilities of neighbours may differ by.
    reasons
        What fails, where and by how much; empty when everything holds.
    checked
        What was found to hold.
    digest
        The SHA-256 digest of the bytes.
    under
        The limit that the mechanism keeps, in words; no mechanism that keeps it is below the bound.

    Examples
    --------
    >>> bool(Verification(True, None, "2/1", (), (), None))
    True
    """

    private: bool
    optimal_within: Fraction | None
    ratio: str | None
    reasons: tuple[str, ...]
    checked: tuple[str, ...]
    digest: str | None
    under: str | None = None

    def __bool__(self) -> bool:
        return not self.reasons

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope verify --json`` prints; the gap as a float not below it."""
        gap = None
        if self.optimal_within is not None:
            gap = float(self.optimal_within)
            if Fraction(gap) < self.optimal_within:
                gap = math.nextafter(gap, math.inf)
        return {
            "private": self.private,
            "optimal_within": gap,
            "ratio": self.ratio,
            "reasons": list(self.reasons),
            "checked": list(self.checked),
            "digest": self.digest,
            "under": self.under,
        }

    def __str__(self) -> str:
        lines = [f"private: {'yes' if self.private else 'no'}"]
        if self.optimal_within is not None:
            under = f" with {self.under}" if self.under else ""
            lines.append(f"optimal within {float(self.optimal_within):.3g}{under}")
        lines += [f"holds: {line}" for line in self.checked]
        lines += [f"fails: {line}" for line in self.reasons]
        return "\n".join(lines)


def verify(mechanism: str | os.PathLike[str] | bytes | Mechanism) -> Verification:
    r"""Check a mechanism: privacy, row totals, labels, digest, loss and optimality.

    Every decision is made in integers, by code that knows no solver and no planner and needs
    nothing but NumPy. A weight is a witness: :math:`W[i,o]\,q \le W[h,o]\,p` on every edge
    [A, Lemma 1] with :math:`p/q \le e^\varepsilon`.

    Parameters
    ----------
    mechanism
        The path of a ``.tightrope`` file, its bytes, or a mechanism.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> made = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), PathPower(2), "ln(3)")
    >>> verify(made).private
    True
    >>> verify(made.to_bytes()[:-1]).reasons
    ('the file is truncated: 1 bytes are missing',)
    """
    source: str | os.PathLike[str] | bytes
    if isinstance(mechanism, bytes | bytearray):
        source = bytes(mechanism)
    elif isinstance(mechanism, str | os.PathLike):
        source = Path(mechanism)
    elif hasattr(mechanism, "column_blocks"):
        source = mechanism.to_bytes()
    else:
        raise InputError(
            f"verify takes the path of a mechanism file or a mechanism, got {mechanism!r}"
        )
    try:
        report = check(source)
    except OSError as problem:
        raise InputError(f"{source!s}: {problem.strerror}") from None
    return Verification(
        report.private,
        report.optimal_within,
        report.ratio,
        tuple(report.reasons),
        tuple(report.checked),
        report.digest,
        report.under,
    )
