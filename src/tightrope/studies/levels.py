"""Lists of privacy levels, from a text."""

from __future__ import annotations

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

#: Most levels in one range.
MOST_LEVELS = 100_000


def levels(text: str) -> list[Epsilon]:
    """Read a range ``LO:HI:STEP``, both ends included, or levels separated by commas.

    >>> [str(level) for level in levels("0.5:1:0.25")]
    ['0.5', '0.75', '1']
    >>> [str(level) for level in levels("ln(2),1")]
    ['ln(2)', '1']
    """
    if ":" not in text:
        return [Epsilon.of(part) for part in text.split(",")]
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError(f"a range of ε must look like 0.5:2:0.1, got {text!r}")
    low, high, step = (Epsilon.of(part) for part in parts)
    if low.base or high.base or step.base:
        raise InputError(f"a range of ε needs plain numbers; list levels instead, got {text!r}")
    count = (high.multiple - low.multiple) / step.multiple
    if count < 0 or count > MOST_LEVELS:
        raise InputError(f"a range must rise and have at most {MOST_LEVELS} levels, got {text!r}")
    return [Epsilon(low.multiple + k * step.multiple) for k in range(int(count) + 1)]
