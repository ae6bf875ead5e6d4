"""How a search tells how far it is, and when it must end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tightrope.errors import CheckFailed, InputError


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told: after each round, and between the steps of a design.

    Parameters
    ----------
    round, variables
        The round of the search, and the size of its master program.
    loss, bound, gap
        The best value so far, what is proved of every mechanism, and their relative distance.
    seconds
        Since the design began.
    step
        What is being done, in words.

    Examples
    --------
    >>> Progress(1, 0.5, 0.4, 0.2, 10, 0.1).gap
    0.2
    """

    round: int
    loss: float
    bound: float
    gap: float
    variables: int
    seconds: float
    step: str = "searching"


class OutOfSteps(CheckFailed):
    """A linear program, or a pricing, would take more steps than it may, or lost its digits."""


class Stopped(KeyboardInterrupt):
    """Time is up in the middle of a step.

    It ends a search as an interruption from the keyboard does: with the best found so far, where
    there is something.
    """


#: Returning ``True`` stops the search with the best found so far.
Callback = Callable[[Progress], bool | None]


class Watch:
    """The clock of one design: passes progress on and says when time is up.

    It is a :data:`Callback` itself, so whatever takes a callback can be given a watch; what may
    run long without a round asks ``left`` or ``over``.

    Parameters
    ----------
    progress
        Called with all progress; ``True`` stops.
    time_limit
        Seconds after which to stop, or ``None``.

    Examples
    --------
    >>> watch = Watch(time_limit=0.0)
    >>> watch.over, watch.left, watch.say("pricing")
    (True, 0.0, True)
    >>> Watch().left
    inf
    """

    def __init__(self, progress: Callback | None = None, time_limit: float | None = None) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise InputError(f"the time limit must be at least 0 seconds, got {time_limit}")
        self._progress = progress
        self._limit = math.inf if time_limit is None else time_limit
        self._began = time.perf_counter()
        self._stopped = False
        self._last = Progress(0, math.inf, -math.inf, math.inf, 0, 0.0)

    @classmethod
    def of(cls, progress: Callback | None, time_limit: float | None = None) -> Watch:
        """Return a watch; one that is given as the callback goes on when nothing is limited."""
        if isinstance(progress, Watch) and time_limit is None:
            return progress
        return cls(progress, time_limit)

    @property
    def seconds(self) -> float:
        """Seconds since the design began."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._limit - self.seconds)

    @property
    def over(self) -> bool:
        """Whether to stop: time is up, or the callback said so."""
        return self._stopped or self.left <= 0

    def __call__(self, now: Progress) -> bool:
        """Pass progress on, with the seconds since the design began; whether to stop."""
        self._last = replace(now, seconds=self.seconds)
        if self._progress is not None and not self._stopped:
            self._stopped = bool(self._progress(self._last))
        return self.over

    def say(self, step: str) -> bool:
        """Say what is being done now, with the numbers of the last round; whether to stop."""
        return self(replace(self._last, step=step))

    def still_at_it(self, every: float = 1.0) -> bool:
        """Repeat the last step when nothing was said for some time; whether to stop."""
        if self.seconds - self._last.seconds >= every:
            return self(self._last)
        return self.over


def relative_gap(loss: float, bound: float) -> float:
    """Return (loss - bound) / loss, and 0 when both vanish.

    >>> relative_gap(2.0, 1.0), relative_gap(0.0, 0.0)
    (0.5, 0.0)
    """
    if loss - bound <= 0:
        return 0.0
    return (loss - bound) / max(abs(loss), 1e-300)
