"""The clock of a search: it passes progress on, and says when the search must end."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from tightrope.errors import CheckFailed, InputError
from tightrope.progress import Progress, ProgressCallback


class OutOfSteps(CheckFailed):
    """A linear program, or a pricing, would take more steps than it may, or lost its digits."""


class Stopped(KeyboardInterrupt):
    """Time is up in the middle of a step.

    It ends a search as an interruption from the keyboard does: with the best found so far, where
    there is something.
    """


def digits_done(gap: float, target: float) -> tuple[float, float | None]:
    """Return how many digits of a gap are proved, and how many are wanted.

    >>> digits_done(1e-3, 1e-9), digits_done(math.inf, 1e-9)
    ((3.0, 9.0), (0.0, None))
    """
    if not gap < 1:
        return 0.0, None
    wanted = -math.log10(target)
    return min(-math.log10(max(gap, target)), wanted), wanted


class Watch:
    """The clock of one design: passes progress on and says when time is up.

    It is a :data:`ProgressCallback` itself, so whatever takes a callback can be given a watch; what
    may run long without a round asks ``left`` or ``over``.

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

    def __init__(
        self, progress: ProgressCallback | None = None, time_limit: float | None = None
    ) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise InputError(
                f"the time limit must be at least 0 seconds, got {time_limit}"
            )
        self._progress = progress
        self._limit = math.inf if time_limit is None else time_limit
        self._began = time.perf_counter()
        self._stopped = False
        self._last = Progress()

    @classmethod
    def of(
        cls, progress: ProgressCallback | None, time_limit: float | None = None
    ) -> Watch:
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

    def heartbeat(self, every: float = 1.0) -> bool:
        """Repeat the last report when nothing was reported for some time; whether to stop."""
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
