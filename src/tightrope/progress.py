"""Progress: what a long call reports while it works, in one shape for the whole package."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report of a long call.

    Parameters
    ----------
    step
        What is being done, in words.
    done, total
        How much of it is done; ``total`` is ``None`` where nobody knows.
    round, variables
        Of a search: its round, and the size of its master program.
    loss, bound, gap
        Of a search: the best value so far, what is proved of every mechanism, and their relative
        distance.
    seconds
        Of a search: the time since it began.

    Examples
    --------
    >>> print(Progress("proving", 1, 4))
    proving: 25%
    >>> print(Progress("looking for a closed form"))
    looking for a closed form
    """

    step: str = ""
    done: float = 0.0
    total: float | None = None
    round: int = 0
    variables: int = 0
    loss: float = math.inf
    bound: float = -math.inf
    gap: float = math.inf
    seconds: float = 0.0

    @property
    def share(self) -> float | None:
        """The part that is done, at most 1, or ``None`` where nobody knows."""
        if self.total is None:
            return None
        return min(1.0, self.done / self.total)

    def __str__(self) -> str:
        if self.share is None:
            return self.step
        return f"{self.step}: {self.share:.0%}"


#: Called with each report. A search that is answered ``True`` returns its incumbent.
ProgressCallback = Callable[[Progress], bool | None]
