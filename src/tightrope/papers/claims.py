"""A claim of a paper as data: what is printed, what is computed, and whether the two agree.

The verdict is never written down. A number agrees when it lies within half a unit of the last
digit that the paper prints, a fraction when it is the same, a statement when the computation finds
the same answer. What does not agree is ``corrected`` if the claim carries an explanation, and
``open`` otherwise, which no claim of a released version may be.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.channels import Channel, remap

#: What a check returns: the value (a number, a fraction, a yes or no, a text, or a list of
#: these), and what to show beside it: how many cases, which witness.
Computed = tuple[Any, str]
Check = Callable[[], Computed]
#: What a check by cases yields: whether the claim holds in each of them.
Cases = Iterator[bool]


@dataclass(frozen=True)
class PaperClaim:
    """One result of a paper that can be computed.

    Parameters
    ----------
    paper, result
        Where it stands, such as ``"A"`` and ``"Thm 1"``.
    statement
        What it says, in our words.
    claimed
        The value as printed: ``"0.2243"``, ``"4/9"``, ``True`` for a statement, or a sequence.
    by
        The public function that does the work.
    correction
        Why the printed value is not right, where it is not.
    check
        Computes the value.

    Examples
    --------
    >>> half = PaperClaim("X", "Ex 1", "a half", "0.5", abs, "", lambda: (0.5004, ""))
    >>> half.row().verdict
    'match'
    """

    paper: str
    result: str
    statement: str
    claimed: Any
    by: Callable[..., Any]
    correction: str
    check: Check = field(repr=False)

    @property
    def key(self) -> str:
        """The paper and the result, such as ``A Thm 1``."""
        return f"{self.paper} {self.result}"

    @property
    def function(self) -> str:
        """The full name of the function that does the work, as short as its room exports it."""
        name = self.by.__name__
        room = ".".join(self.by.__module__.split(".")[:2])
        # The shortest public name: the room's, if the room exports the function.
        exported = getattr(importlib.import_module(room), name, None) is self.by
        return f"{room if exported else self.by.__module__}.{name}"

    def row(self) -> Row:
        """Compute the claim and compare."""
        start = time.perf_counter()
        value, detail = self.check()
        seconds = time.perf_counter() - start
        if agrees(self.claimed, value):
            verdict = "match"
        else:
            # A difference is only accepted with its explanation; otherwise it stays open.
            verdict = "corrected" if self.correction else "open"
        between = ": " if isinstance(value, bool) else " "
        return Row(
            self.paper,
            self.result,
            self.statement,
            spoken(self.claimed),
            spoken(value) + (between + detail if detail else ""),
            verdict,
            self.correction if verdict == "corrected" else "",
            seconds,
            self.function,
        )


@dataclass(frozen=True)
class Row:
    """A claim and what became of it."""

    paper: str
    result: str
    statement: str
    claimed: str
    computed: str
    verdict: str
    explanation: str
    seconds: float
    function: str


class Paper:
    """The claims of one paper, in the order in which they are written down.

    Examples
    --------
    >>> paper = Paper("X", "On addition")
    >>> @paper.claim("Ex 1", "4", by=sum)
    ... def _sum() -> Computed:
    ...     '''two and two'''
    ...     return sum([2, 2]), ""
    >>> [(claim.statement, claim.row().verdict) for claim in paper.claims]
    [('two and two', 'match')]
    """

    def __init__(self, letter: str, title: str) -> None:
        self.letter = letter
        self.title = title
        self.claims: list[PaperClaim] = []

    def claim(
        self, result: str, claimed: Any = True, *, by: Callable[..., Any]
    ) -> Callable[[Check], Check]:
        """Return a decorator that adds the check below it as a claim.

        The first paragraph of the check's docstring states the claim; a second one says why it is
        not right, where it is not.
        """

        def add(check: Check) -> Check:
            # The docstring is the only place where a claim is stated, so it cannot drift from its
            # check.
            paragraphs = (check.__doc__ or "").partition("\n\n")
            statement, correction = (" ".join(part.split()) for part in paragraphs[::2])
            added = PaperClaim(
                self.letter, result, statement, claimed, by, correction, check
            )
            self.claims.append(added)
            return check

        return add

    def every(
        self, result: str, cases: str, *, by: Callable[..., Any]
    ) -> Callable[[Callable[[], Cases]], Check]:
        """Return a decorator that adds the claim that all cases hold which a check yields.

        What the cases are is shown beside it, with ``{}`` for how many of them hold.

        >>> paper = Paper("X", "On addition")
        >>> @paper.every("Ex 2", "for {} of 3 pairs", by=sum)
        ... def _commutes() -> Cases:
        ...     '''the order does not matter'''
        ...     for a, b in ((1, 2), (2, 3), (0, 7)):
        ...         yield sum([a, b]) == sum([b, a])
        >>> paper.claims[0].row().computed
        'yes: for 3 of 3 pairs'
        """

        def add(check: Callable[[], Cases]) -> Check:
            @functools.wraps(check)
            def counted() -> Computed:
                # A generator that yields nothing proves nothing, hence bool(held).
                held = list(check())
                return bool(held) and all(held), cases.format(sum(held))

            return self.claim(result, by=by)(counted)

        return add


def near(one: ArrayLike, other: ArrayLike, within: float = 1e-12) -> bool:
    """Whether numbers differ by no more than rounding.

    >>> near([0.1 + 0.2, 0.3], 0.3), near(1, 1.1)
    (True, False)
    """
    return bool(np.allclose(one, other, rtol=0, atol=within))


def scrambled(
    noise: Channel, random: np.random.Generator, outputs: int, spread: float
) -> Channel:
    """Return a private channel that nobody designed: noise after a random remap."""
    # Post-processing keeps ε, so any stochastic remap of private noise is private.
    return remap(
        noise, Channel(random.dirichlet(np.full(outputs, spread), size=noise.shape[1]))
    )


def sharpened(noise: Channel, share: float, random: np.random.Generator) -> Channel:
    """Return a channel mixed with a random deterministic one, so that privacy may fail."""
    inputs, outputs = noise.shape
    # A deterministic row rules outputs out, which no ε allows.
    sharp = np.eye(outputs)[random.integers(outputs, size=inputs)]
    private = (1 - share) * noise.matrix()
    return Channel(private + share * sharp)


def agrees(claimed: Any, computed: Any, *, exact: float = 1e-9) -> bool:
    """Whether a computed value is what is claimed, to the precision that is printed.

    A float may lie ``exact`` away from a fraction or a formula that is claimed exactly.

    >>> agrees("0.2243", 0.22434), agrees("0.2243", 0.22436)
    (True, False)
    >>> agrees("4/9", Fraction(4, 9)), agrees("8", 8.01), agrees(True, False)
    (True, False, False)
    >>> agrees(("0.4", "0.2"), [0.4, 0.2])
    True
    """
    # bool first: in Python True == 1 would match a count.
    if isinstance(claimed, bool) or isinstance(computed, bool | str):
        return bool(claimed == computed)
    if isinstance(claimed, str):
        return (
            abs(float(computed) - float(Fraction(claimed)))
            # A printed decimal stands for all numbers that round to it.
            <= half_unit(claimed) + exact
        )
    if isinstance(claimed, Sequence):
        values = list(computed)
        same_length = len(values) == len(claimed)
        return same_length and all(map(agrees, claimed, values))
    return bool(claimed == computed)


def half_unit(text: str) -> float:
    """Return half a unit of the last printed digit; 0 for integers and fractions.

    >>> half_unit("0.2243"), half_unit("4/9"), half_unit("751")
    (5e-05, 0.0, 0.0)
    """
    if "." not in text:
        return 0.0
    # 5 in the place after the last digit.
    exponent = int(Decimal(text).as_tuple().exponent)
    return float(Decimal(5).scaleb(exponent - 1))


def spoken(value: Any) -> str:
    """Return a value as text: six digits for floats, yes and no for statements.

    >>> spoken(True), spoken(0.9681334847), spoken(("0.4", "0.2")), spoken(Fraction(4, 9))
    ('yes', '0.968133', '0.4, 0.2', '4/9')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(spoken, value))
    return str(value)
