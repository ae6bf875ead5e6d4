"""A claim of a paper as data: what is printed, what is computed, and whether the two agree.

The verdict is never written down. A number agrees when it lies within half a unit of the last
digit that the paper prints, a fraction when it is the same, a statement when the computation finds
the same answer. What does not agree is ``corrected`` if the claim carries an explanation, and
``open`` otherwise, which no claim of a released version may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

#: How far a computed number may lie from a fraction or a formula that is claimed exactly.
EXACT_TOLERANCE = 1e-9

MATCH, CORRECTED, OPEN = "match", "corrected", "open"


@dataclass(frozen=True)
class Found:
    """What a computation found.

    Parameters
    ----------
    value
        A number, a fraction, a yes or no, a text, or a sequence of these.
    detail
        What to show beside the value: how many cases, which witness.

    Examples
    --------
    >>> Found(0.968133484, "where every entry is positive").text()
    '0.968133 where every entry is positive'
    """

    value: Any
    detail: str = ""

    def text(self) -> str:
        """Return the value and the detail as one text."""
        between = ": " if isinstance(self.value, bool) else " "
        return f"{spoken(self.value)}{between}{self.detail}" if self.detail else spoken(self.value)


@dataclass(frozen=True)
class Claim:
    """One result of a paper that can be computed.

    Parameters
    ----------
    paper, result
        Where it stands, such as ``"A"`` and ``"Thm 1"``.
    statement
        What it says, in our words.
    claimed
        The value as printed: ``"0.2243"``, ``"4/9"``, ``True`` for a statement, or a sequence.
    function
        The public function that does the work.
    test
        The test that covers it, as ``file::name``.
    correction
        Why the printed value is not right, where it is not.
    compute
        Computes the value.

    Examples
    --------
    >>> half = Claim("X", "Ex 1", "a half", "0.5", "f", "t", "", lambda: Found(0.5004))
    >>> half.row().verdict
    'match'
    """

    paper: str
    result: str
    statement: str
    claimed: Any
    function: str
    test: str
    correction: str
    compute: Callable[[], Found] = field(repr=False)

    @property
    def key(self) -> str:
        """The paper and the result, such as ``A Thm 1``."""
        return f"{self.paper} {self.result}"

    def row(self) -> Row:
        """Compute the claim and compare."""
        start = time.perf_counter()
        found = self.compute()
        seconds = time.perf_counter() - start
        if agrees(self.claimed, found.value):
            verdict = MATCH
        else:
            verdict = CORRECTED if self.correction else OPEN
        return Row(
            self.paper,
            self.result,
            self.statement,
            spoken(self.claimed),
            found.text(),
            verdict,
            self.correction if verdict == CORRECTED else "",
            seconds,
            self.function,
            self.test,
        )


@dataclass(frozen=True)
class Row:
    """A claim and what became of it.

    Examples
    --------
    >>> Row("X", "Ex 1", "a half", "0.5", "0.5", "match", "", 0.0, "f", "t").verdict
    'match'
    """

    paper: str
    result: str
    statement: str
    claimed: str
    computed: str
    verdict: str
    explanation: str
    seconds: float
    function: str
    test: str


class Book:
    """The claims of one paper, in the order in which they are written down.

    Examples
    --------
    >>> book = Book("X")
    >>> @book.claim("Ex 1", "two and two", "4", function="int", test="t")
    ... def _sum() -> Found:
    ...     return Found(2 + 2)
    >>> [claim.row().verdict for claim in book.claims]
    ['match']
    """

    def __init__(self, paper: str) -> None:
        self.paper = paper
        self.claims: list[Claim] = []

    def claim(
        self,
        result: str,
        statement: str,
        claimed: Any = True,
        *,
        function: str,
        test: str = "",
        correction: str = "",
    ) -> Callable[[Callable[[], Found]], Callable[[], Found]]:
        """Return a decorator that adds the function below it as a claim."""

        def add(compute: Callable[[], Found]) -> Callable[[], Found]:
            covered = test or "tests/unit/papers/test_rows.py::test_claim"
            self.claims.append(
                Claim(
                    self.paper, result, statement, claimed, function, covered, correction, compute
                )
            )
            return compute

        return add


def agrees(claimed: Any, computed: Any) -> bool:
    """Whether a computed value is what is claimed, to the precision that is printed.

    >>> agrees("0.2243", 0.22434), agrees("0.2243", 0.22436)
    (True, False)
    >>> agrees("4/9", Fraction(4, 9)), agrees("8", 8.01), agrees(True, False)
    (True, False, False)
    >>> agrees(("0.4", "0.2"), [0.4, 0.2])
    True
    """
    if isinstance(claimed, bool) or isinstance(computed, bool | str):
        return bool(claimed == computed)
    if isinstance(claimed, str):
        number = printed(claimed)
        return abs(float(computed) - float(number)) <= half_unit(claimed) + EXACT_TOLERANCE
    if isinstance(claimed, Sequence):
        values = list(computed)
        return len(values) == len(claimed) and all(map(agrees, claimed, values))
    return bool(claimed == computed)


def printed(text: str) -> Fraction:
    """Read a number as a paper prints it: decimals, fractions, with a sign.

    >>> printed("0.2243"), printed("-0.97"), printed("4/9")
    (Fraction(2243, 10000), Fraction(-97, 100), Fraction(4, 9))
    """
    return Fraction(text)


def half_unit(text: str) -> float:
    """Return half a unit of the last printed digit; 0 for integers and fractions.

    >>> half_unit("0.2243"), half_unit("4/9"), half_unit("751")
    (5e-05, 0.0, 0.0)
    """
    if "." not in text:
        return 0.0
    return float(Decimal(5).scaleb(int(Decimal(text).as_tuple().exponent) - 1))


def spoken(value: Any) -> str:
    """Return a value as text: six digits for floats, yes and no for statements.

    >>> spoken(True), spoken(0.9681334847), spoken(("0.4", "0.2")), spoken(Fraction(4, 9))
    ('yes', '0.968133', '0.4, 0.2', '4/9')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | Fraction):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence):
        return ", ".join(map(spoken, value))
    return str(value)
