"""``verify``: whether a mechanism is what it says it is, decided in integers."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.certify.judge import check
from tightrope.certify.question import derived_graph
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.certify.scores import AnyMechanism


@dataclass(frozen=True)
class Verification:
    """What the checks of a mechanism found, and what it was that they checked.

    Attributes
    ----------
    private
        Whether the weights are private for ε on their graph, the rows are sound and the bytes
        untouched.
    private_for_question
        Whether they are private for the question and the neighbour relation that the file names;
        ``None`` for a file that holds a graph of its own.
    optimal_within
        The expected loss (or the vulnerability, where loss is limited) less the proved bound,
        exactly; ``None`` without a sound certificate.
    unbounded_within
        For noise on a lattice the same among all private mechanisms on the unbounded question.
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
    question
        The question, the neighbour relation and ε that the file names.
    consumer
        Whose loss was checked: kind, prior or support, loss, and the attacker of a limit.

    Examples
    --------
    >>> bool(Verification(True, True, None, "2/1", (), (), None))
    True
    """

    private: bool
    private_for_question: bool | None
    optimal_within: Fraction | None
    ratio: str | None
    reasons: tuple[str, ...]
    checked: tuple[str, ...]
    digest: str | None
    under: str | None = None
    question: dict[str, Any] = field(default_factory=dict)
    consumer: dict[str, Any] | None = None
    unbounded_within: Fraction | None = None

    def __bool__(self) -> bool:
        return not self.reasons

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope verify --json`` prints; the gap as a float not below it."""
        return {
            "private": self.private,
            "private_for_question": self.private_for_question,
            "optimal_within": _above(self.optimal_within),
            "unbounded_within": _above(self.unbounded_within),
            "consumer": self.consumer,
            "ratio": self.ratio,
            "reasons": list(self.reasons),
            "checked": list(self.checked),
            "digest": self.digest,
            "under": self.under,
            "question": self.question,
        }

    def __str__(self) -> str:
        lines = [f"private: {'yes' if self.private else 'no'}"]
        if self.optimal_within is not None:
            under = f" with {self.under}" if self.under else ""
            only = " among mechanisms that see only the true answer"
            lines.append(f"optimal within {float(self.optimal_within):.3g}{only}{under}")
        if self.unbounded_within is not None:
            gap = float(self.unbounded_within)
            lines.append(f"optimal within {gap:.3g} in the worst case of the unbounded question")
        lines += [f"holds: {line}" for line in self.checked]
        lines += [f"fails: {line}" for line in self.reasons]
        return "\n".join(lines)


def _above(gap: Fraction | None) -> float | None:
    """Return a float that is not below a gap."""
    if gap is None:
        return None
    found = float(gap)
    return math.nextafter(found, math.inf) if Fraction(found) < gap else found


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
    question = report.question
    if question:
        multiple, base = question["epsilon"]["multiple"], question["epsilon"]["base"]
        level = multiple if base is None else f"{multiple}*ln({base})"
        with contextlib.suppress(
            InputError
        ):  # a level that is written in an odd way stays as it is
            level = str(Epsilon(Fraction(multiple), None if base is None else Fraction(base)))
        question = {**question, "epsilon": level}
    return Verification(
        report.private,
        report.private if report.named is not False else None,
        report.optimal_within,
        report.ratio,
        tuple(report.reasons),
        tuple(report.checked),
        report.digest,
        report.under,
        question,
        report.consumer,
        report.unbounded_within,
    )


def judge_script() -> str:
    """Return the judge as one file that a sceptic can read and run without this package.

    It needs Python and NumPy, and derives the graphs of the common questions itself.

    >>> "import tightrope" in judge_script(), judge_script().count("def main(")
    (False, 1)
    """
    return files("tightrope.certify").joinpath("judge.py").read_text("utf-8")
