"""One linear program, left alone or watched."""

import highspy
import numpy as np
import pytest
from scipy.sparse import csc_array

from tightrope.errors import CheckFailed
from tightrope.optimize import simplex
from tightrope.optimize.progress import Watch


def program(size):
    """Rows of random numbers that ask for at least 1 each."""
    rows = np.random.default_rng(3).random((size, size)) + np.eye(size)
    return np.ones(size), csc_array(rows), np.ones(size), np.full(size, np.inf)


def test_a_watched_program_has_the_same_optimum() -> None:
    alone, watched = (
        simplex.minimise(*program(30), watch=w, watched_from=0) for w in (None, Watch())
    )
    assert watched.value == pytest.approx(alone.value, rel=1e-12)
    assert watched.values == pytest.approx(alone.values, abs=1e-12)


def test_a_watched_program_without_a_solution_is_refused() -> None:
    nothing = (np.ones(1), csc_array([[1.0]]), np.array([2.0]), np.array([1.0]))
    with pytest.raises(CheckFailed, match="not solved"):
        simplex.minimise(*nothing, watch=Watch(), watched_from=0)


def test_an_interruption_ends_the_search_of_a_watched_program(monkeypatch) -> None:
    made = []

    class Interrupted(highspy.Highs):
        """A solver during whose first wait somebody presses Ctrl-C."""

        def __init__(self):
            super().__init__()
            self.waits, self.cancelled = 0, False
            made.append(self)

        def wait(self, timeout=-1.0):
            self.waits += 1
            if self.waits == 1:
                raise KeyboardInterrupt
            return super().wait(timeout)

        def cancelSolve(self):
            self.cancelled = True
            super().cancelSolve()

    monkeypatch.setattr(highspy, "Highs", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        simplex.minimise(*program(200), watch=Watch(), watched_from=0)
    assert made[0].cancelled
    assert not made[0].is_solver_running()
    # Left alone nobody waits: the program is solved in the thread that asks.
    assert simplex.minimise(*program(5)).value > 0
    assert made[1].waits == 0
