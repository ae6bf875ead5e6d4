"""``verify``: whether a mechanism is what it says it is, decided in integers."""

from __future__ import annotations

import contextlib
import os
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.certify.judge import Verification, check
from tightrope.certify.question import derived_graph
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.certify.scores import AnyMechanism


def verify(mechanism: str | os.PathLike[str] | bytes | AnyMechanism) -> Verification:
    r"""Check a mechanism: question, privacy, row totals, digest, loss and optimality.

    Every decision is made in integers, by code that knows no solver and no planner. A weight is a
    witness: :math:`W[i,o]\,q \le W[h,o]\,p` on every edge [A, Lemma 1] with
    :math:`p/q \le e^\varepsilon`. The edges are those of the question that the file names.

    Parameters
    ----------
    mechanism
        The path of a ``.tightrope`` file, its bytes, or a mechanism.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> made = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), "path(2)", "ln(3)")
    >>> found = verify(made)
    >>> found.private, found.private_for_question, found.question["query"]
    (True, True, 'path(2)')
    >>> verify(made.to_bytes()[:-1]).reasons
    ('the file is truncated: 1 bytes are missing',)
    """
    source: str | os.PathLike[str] | bytes
    if isinstance(mechanism, bytes | bytearray):
        source = bytes(mechanism)
    elif isinstance(mechanism, str | os.PathLike):
        source = Path(mechanism)
    elif hasattr(mechanism, "to_bytes") and not isinstance(mechanism, int):
        source = mechanism.to_bytes()
    else:
        raise InputError(
            f"verify takes the path of a mechanism file or a mechanism, got {mechanism!r}"
        )
    try:
        report = check(source, derived_graph)
    except OSError as problem:
        raise InputError(f"{source!s}: {problem.strerror}") from None
    if report.question:
        multiple, base = report.question["epsilon"]["multiple"], report.question["epsilon"]["base"]
        level = multiple if base is None else f"{multiple}*ln({base})"
        # A level that is written in an odd way stays as it is.
        with contextlib.suppress(InputError):
            level = str(Epsilon(Fraction(multiple), None if base is None else Fraction(base)))
        report.question["epsilon"] = level
    return report


def judge_script() -> str:
    """Return the judge as one file that a sceptic can read and run without this package.

    It needs Python and NumPy, and derives the graphs of the common questions itself.

    >>> "import tightrope" in judge_script(), judge_script().count("def main(")
    (False, 1)
    """
    return files("tightrope.certify").joinpath("judge.py").read_text("utf-8")
