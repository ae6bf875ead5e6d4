r"""Whether a privacy predicate satisfies the axioms [D, Thm 2.2.5, 2.3.1].

A predicate q(a, b) says whether a set of outputs may have probability a under one answer and b
under its neighbour. Post-processing and random choice must keep what it allows. Both axioms
force it to be :math:`m(a) \le b \le M(a)` with a concave M.

The predicate is asked on a grid. Every violation reported is a pair of concrete mechanisms with
two outputs: the predicate allows the first and forbids what the axiom makes of it.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tightrope.axioms.generic import PrivacyBound
from tightrope.channels import IntegerChannel, rational
from tightrope.errors import InputError, TextError, whole_number

Predicate = Callable[[Fraction, Fraction], bool]
BoundPoint = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Breach:
    """Mechanisms with two outputs that show how an axiom is broken.

    Attributes
    ----------
    axiom
        ``"post-processing"`` [D, Ax 2.1.1] or ``"random choice"`` [D, Ax 2.1.2].
    allowed
        One or two mechanisms that the predicate allows. Row 0 is the true answer.
    remap
        The post-processing, or ``None``.
    weight
        The probability of the first mechanism in the random choice, or ``None``.
    forbidden
        The mechanism that results, which the predicate forbids.

    Examples
    --------
    >>> report = check_axioms(lambda a, b: abs(a - b) in (0, Fraction(1, 4)), steps=4)
    >>> report.breach.axiom, report.breach.allowed[0].matrix().tolist()
    ('post-processing', [[0.0, 1.0], [0.25, 0.75]])
    """

    axiom: str
    allowed: tuple[IntegerChannel, ...]
    remap: IntegerChannel | None
    weight: Fraction | None
    forbidden: IntegerChannel


@dataclass(frozen=True)
class Condition:
    """One condition of [D, Thm 2.2.5] on the grid.

    Examples
    --------
    >>> Condition("q(a, a) holds", True, None).holds
    True
    """

    name: str
    holds: bool
    breach: Breach | None


@dataclass(frozen=True)
class PredicateReport:
    """What the axioms say about a predicate.

    Attributes
    ----------
    conditions
        Each condition, with the breach that shows a violation.
    upper, lower
        The functions M and m at the points of the grid, as pairs (a, value).
    nearest
        The smallest bound above M that satisfies the axioms, at the points of the grid.
    symmetric
        Whether q(a, b) and q(1-a, 1-b) agree; if not they are read together, which changes no
        mechanism [D, Asm 2.2.1].

    Examples
    --------
    >>> bool(check_axioms(lambda a, b: b <= 2 * a and 1 - a <= 2 * (1 - b)))
    True
    """

    conditions: tuple[Condition, ...]
    upper: tuple[BoundPoint, ...]
    lower: tuple[BoundPoint, ...]
    nearest: PrivacyBound
    symmetric: bool

    @property
    def breach(self) -> Breach | None:
        """The first violation, or ``None``."""
        breaches = (c.breach for c in self.conditions if not c.holds)
        return next(breaches, None)

    def __bool__(self) -> bool:
        return all(condition.holds for condition in self.conditions)


def check_axioms(predicate: Predicate, *, steps: int = 64) -> PredicateReport:
    """Test each condition of [D, Thm 2.2.5] on a grid and show what is violated.

    A report without violation speaks of the grid only; a violation is proved by its mechanisms.

    Parameters
    ----------
    predicate
        Called with fractions a and b in [0, 1].
    steps
        The grid has this many steps in a and in b.

    Examples
    --------
    >>> either = lambda a, b: abs(a - b) <= Fraction(1, 4) or b <= 4 * a and 1 - a <= 4 * (1 - b)
    >>> report = check_axioms(either)
    >>> [c.name for c in report.conditions if not c.holds], report.breach.axiom
    (['M is concave'], 'random choice')
    """
    grid = _Grid(predicate, whole_number(steps, "the number of steps", 2, 4096))
    contains_diagonal = all(top >= a for a, top in grid.border)
    violations = {
        "q(a, a) holds": grid.diagonal(),
        "the b allowed for an a form an interval": grid.intervals(),
        "M grows towards (1, 1) at least as post-processing does": grid.growth(),
        "M is concave": grid.concavity(),
    }
    conditions = [
        Condition(name, breach is None, breach) for name, breach in violations.items()
    ]
    # q is read in both directions at once, so that of this condition only M(a) ≥ a remains.
    conditions.insert(
        2, Condition("M(a) ≥ a ≥ m(a) and m(a) = 1 - M(1-a)", contains_diagonal, None)
    )
    mirrored = ((1 - a, 1 - b) for a, b in reversed(grid.border))
    lower = tuple(mirrored)
    return PredicateReport(
        tuple(conditions), grid.border, lower, _hull(grid.border), grid.symmetric
    )


class _Grid:
    """A predicate on a grid; each method returns the first breach of one condition, if any."""

    def __init__(self, predicate: Predicate, steps: int) -> None:
        self.raw = predicate
        self.grid = [Fraction(k, steps) for k in range(steps + 1)]
        pairs = [(a, b) for a in self.grid for b in self.grid]
        self.symmetric = all(
            bool(predicate(a, b)) == bool(predicate(1 - a, 1 - b)) for a, b in pairs
        )
        # Read in both directions: O and its complement must both be allowed.
        self.allowed = {
            a: [b for b in self.grid if self._both(a, b)] for a in self.grid
        }
        #: The points (a, M(a)).
        self.border = tuple((a, max(self.allowed[a], default=a)) for a in self.grid)

    def _both(self, a: Fraction, b: Fraction) -> bool:
        return bool(self.raw(a, b)) and bool(self.raw(1 - a, 1 - b))

    def _forbids(self, a: Fraction, b: Fraction) -> bool:
        # A point slightly closer to the diagonal must be forbidden too: round-off inside the
        # predicate breaks no axiom.
        if self._both(a, b):
            return False
        return not self._both(a, b - (b - a) / 10**9)

    def _processed(
        self, point: BoundPoint, kept: Fraction, moved: Fraction
    ) -> Breach | None:
        """Report output 0 as 0 with probability ``kept`` and output 1 as 0 with ``moved``."""
        a, b = (p * kept + (1 - p) * moved for p in point)
        if not self._forbids(a, b):
            return None
        rows = [[kept, 1 - kept], [moved, 1 - moved]]
        remap = rational(rows)
        return Breach("post-processing", (_pair(*point),), remap, None, _pair(a, b))

    def diagonal(self) -> Breach | None:
        """Ask for q(a, a): a report that ignores the answer must be allowed."""
        certain = Fraction(1)
        start = next(
            ((a, row[0]) for a, row in self.allowed.items() if row), (certain, certain)
        )
        # A constant report must be allowed: it does not depend on the answer.
        missing = (a for a in self.grid if a not in self.allowed[a])
        breaches = (self._processed(start, a, a) for a in missing)
        return next(filter(None, breaches), None)

    def intervals(self) -> Breach | None:
        """Ask for all between an allowed b and a: mixing in a coin that shows 0 with chance a."""
        for a, row in self.allowed.items():
            ends = row[:1] + row[-1:]
            for b in {b for b in ends if b != a}:
                between = [c for c in self.grid if min(a, b) < c < max(a, b)]
                # c = share·b + (1 − share)·a: output 0 kept with the share, else a coin of bias a.
                for wanted in [*between, (a + b) / 2]:
                    # The share that puts b at the wanted place, by linear interpolation.
                    share = (wanted - a) / (b - a)
                    coin = (1 - share) * a
                    breach = self._processed((a, b), share + coin, coin)
                    if breach is not None:
                        return breach
        return None

    def growth(self) -> Breach | None:
        """Ask for what moving some of one output to the other makes of the border."""
        tries = (
            self._processed(point, kept, moved)
            for point in self.border
            for c in self.grid[1:-1]
            # Move part of output 1 to 0, or part of 0 to 1: the elementary remaps of two outputs.
            for kept, moved in ((Fraction(1), c), (c, Fraction(0)))
        )
        return next(filter(None, tries), None)

    def concavity(self) -> Breach | None:
        """Ask for random choices between two allowed mechanisms on the border."""
        corners = _corners(list(self.border))
        for (a1, b1), (a2, b2) in pairwise(corners):
            # Between neighbouring grid points the middle is tested: a peak may lie there.
            between = [a for a in self.grid if a1 < a < a2]
            for a in between or [(a1 + a2) / 2]:
                # Weight of the left corner, so that the mixture lands at a.
                weight = (a2 - a) / (a2 - a1)
                b = weight * b1 + (1 - weight) * b2
                if self._forbids(a, b):
                    pairs = (_pair(a1, b1), _pair(a2, b2))
                    return Breach("random choice", pairs, None, weight, _pair(a, b))
        return None


def _pair(a: Fraction, b: Fraction) -> IntegerChannel:
    rows = [[a, 1 - a], [b, 1 - b]]
    return rational(rows, inputs=["truth", "neighbour"])


def _corners(points: list[BoundPoint]) -> list[BoundPoint]:
    """Return the corners of the smallest concave function above the points."""
    hull: list[BoundPoint] = []
    for a, b in points:
        while len(hull) >= 2:
            (a1, b1), (a2, b2) = hull[-2:]
            # Slopes must fall: compare them without division.
            rise = (b2 - b1) * (a - a2)
            next_rise = (b - b2) * (a2 - a1)
            if rise > next_rise:
                break
            hull.pop()
        hull.append((a, b))
    return hull


def _hull(points: tuple[BoundPoint, ...]) -> PrivacyBound:
    above_diagonal = [(a, max(a, b)) for a, b in points]
    # Above the diagonal, where the identity is allowed, and through (1, 1).
    above_diagonal[-1] = (Fraction(1), Fraction(1))
    return PrivacyBound.table(_corners(above_diagonal))


#: The operators between two terms of a predicate.
_BETWEEN: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "exp": math.exp,
}
#: What a term makes of a and b.
Term = Callable[[Fraction, Fraction], Any]


def read_predicate(text: str, *, longest: int = 500) -> Predicate:
    """Read a predicate of a and b: numbers, ``+ - * /``, comparisons, ``and or not``, functions.

    Decimals are exact fractions; the functions are ``abs min max exp``.

    Parameters
    ----------
    text
        The predicate, such as ``b <= 2*a and 1-a <= 2*(1-b)``.
    longest
        Largest number of characters.

    Examples
    --------
    >>> holds = read_predicate("abs(a - b) <= 0.25")
    >>> holds(Fraction(1, 2), Fraction(3, 4)), holds(Fraction(1, 2), Fraction(4, 5))
    (True, False)
    >>> read_predicate("a.real <= b")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected numbers, a, b, ... at character 1 of 'a.real <= b': ...
    """
    if len(text) > longest:
        raise TextError(f"expected at most {longest} characters", text, longest)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as problem:
        place = getattr(problem, "offset", 1) or 1
        raise TextError(
            "expected a condition on a and b", text, max(0, place - 1)
        ) from None
    term = _term(tree, text)

    def predicate(a: Fraction, b: Fraction) -> bool:
        try:
            return bool(term(a, b))
        except ZeroDivisionError:
            # A quotient by 0 has no truth value; such a point is not allowed.
            return False
        except OverflowError:
            raise InputError(
                f"numbers must not exceed floats, got more in {text!r}"
            ) from None

    return predicate


# An allow-list of syntax nodes: no attribute, no subscript, no call but those named.
def _term(node: ast.expr, text: str) -> Term:
    """Return the function of a and b that a node denotes; nodes not listed here are refused."""
    match node:
        case ast.BoolOp(op=op, values=values):
            fold = all if isinstance(op, ast.And) else any
            parts = [_term(value, text) for value in values]
            return lambda a, b: fold(part(a, b) for part in parts)
        case ast.UnaryOp(op=ast.Not() | ast.USub() as op, operand=operand):
            inside = _term(operand, text)
            apply = operator.not_ if isinstance(op, ast.Not) else operator.neg
            return lambda a, b: apply(inside(a, b))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BETWEEN:
            first = _term(left, text)
            second = _term(right, text)
            combine = _BETWEEN[type(op)]
            return lambda a, b: combine(first(a, b), second(a, b))
        case ast.Compare(left=left, ops=ops, comparators=more) if {*map(type, ops)} <= {
            *_BETWEEN
        }:
            terms = (_term(side, text) for side in (left, *more))
            sides = list(pairwise(terms))
            tests = [_BETWEEN[type(op)] for op in ops]
            return lambda a, b: all(
                test(low(a, b), high(a, b))
                for test, (low, high) in zip(tests, sides, strict=True)
            )
        case ast.Call(func=ast.Name(id=name), args=[_, *_], keywords=[]) if (
            name in _CALLS
        ):
            inner = [_term(value, text) for value in node.args]
            return lambda a, b: _CALLS[name](*(value(a, b) for value in inner))
        case ast.Name(id="a"):
            return lambda a, b: a
        case ast.Name(id="b"):
            return lambda a, b: b
        case ast.Constant(value=int() | float() as number) if (
            not isinstance(number, bool) and abs(number) < math.inf
        ):
            # A decimal is the number that it prints as.
            return lambda a, b: Fraction(str(number))
    raise TextError(
        "expected numbers, a, b, + - * /, comparisons, and, or, not, abs, min, max or exp",
        text,
        node.col_offset,
    )
