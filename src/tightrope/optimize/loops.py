"""Loops over arcs: interpreted for small questions, compiled for the others.

Importing Numba and loading its compiled loops takes half a second, and compiling them for the
first time takes ten. Most small questions need less than that in the interpreter. So loops are
interpreted until the process has spent as long in them as loading would take: by this rule of
*ski rental* [Karlin et al., "Competitive snoopy caching", 1988] nobody waits more than twice as
long as necessary. Both ways run the same functions and return the same floats, bit by bit: loops
contain no reductions of NumPy, whose order of summation differs.

:func:`compile_all` compiles them ahead; ``make install`` does this.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

#: Seconds in the interpreter after which loops are compiled: loading them takes about as long.
PATIENCE = 0.4
#: Seconds in the interpreter for one visit of an arc, measured.
VISIT_SECONDS = 1e-6
_LOOPS: set[Callable[..., Any]] = set()


class _Interpreter:
    """The seconds that this process has spent on interpreted loops."""

    seconds = 0.0


def loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that can be compiled: loops over arrays and calls of other such loops.

    >>> @loop
    ... def total(values):
    ...     total = 0.0
    ...     for value in values:
    ...         total += value
    ...     return total
    >>> float(total(np.ones(3)))
    3.0
    """
    _LOOPS.add(function)
    return function


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine code of a loop; Numba keeps it on disk for the next process."""
    from numba import njit

    assert isinstance(function, FunctionType)
    # A copy of the function sees the compiled versions of the loops that it calls.
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if names.get(name) in _LOOPS:
            names[name] = compiled(names[name])
    twin = FunctionType(function.__code__, names, function.__name__)
    # No loop needs Python's exception for a division by zero.
    return njit(cache=True, nogil=True, error_model="numpy")(twin)


def affordable(visits: float) -> bool:
    """Return whether so many visits of arcs are still cheaper to interpret than to compile.

    >>> affordable(1e9)
    False
    """
    return _Interpreter.seconds + VISIT_SECONDS * visits < PATIENCE


def run(function: Callable[..., Any], visits: float, *arrays: Any) -> Any:
    """Run a loop that visits about so many arcs, interpreted where that is affordable."""
    if not affordable(visits):
        return compiled(function)(*arrays)
    begin = time.thread_time()
    # As in machine code, a division by zero is a number.
    with np.errstate(all="ignore"):
        result = function(*arrays)
    _Interpreter.seconds += time.thread_time() - begin
    return result


def compile_all() -> None:
    """Compile every loop of the solvers for the types of arrays that they are called with."""
    from tightrope.epsilon import Epsilon
    from tightrope.graphs import PathPower
    from tightrope.optimize.engine import run_engine
    from tightrope.optimize.pricing import Pricer
    from tightrope.optimize.problem import Problem
    from tightrope.optimize.settings import SolverSettings

    _Interpreter.seconds = PATIENCE
    apart = np.subtract.outer(np.arange(19), np.arange(19))
    problem = Problem(PathPower(19, 3), Epsilon.of(1), np.abs(apart) / 19)
    # Column generation alone, then the interior-point method from the first round on.
    for wait in (np.inf, 0.0):
        run_engine(problem, settings=SolverSettings(interior_wait=wait))
    # Loops are compiled for a memory layout: weights are contiguous, as in a certificate.
    Pricer(problem).multipliers(problem.costs[:, 0].copy(), 0)
