r"""Weights of tuples of values: several quantiles, or a quantile and both ends of an interval.

A file holds no matrix, but a rule: ``w_0 = 2^bits`` and ``w_{g+1} = ⌈w_g·q/p⌉``. Every tuple of
values has a weight that is a product of such levels. With L(v) people below a value, U(v) not
above it and n in all:

``bracket(t/D,c,A,S)``
    A triple (l, v, u). The gap of a value from a rank r/D is ``max(0, D·L - r, r - D·U)``; below
    the least value and above the largest one there is always room. The weight is w_g with
    ``g = max(gap of v from t·n, gap of l from t·n - A, less S, gap of u from t·n + A, less S)``,
    times c where l is the least value, and times c where u is the largest one. With W_v, the sum
    of the weights over all (l, u), value v is accepted with probability ``W_v / max W``; the first
    accepted one in a random order is drawn (permute-and-flip, McKenna and Sheldon 2020), and then
    its ends, in proportion to the weights.
``quantiles(t_1/D,…,t_m/D,c,R)``
    Points p_1 <= … <= p_m of a grid with 2R points in each value, on which the people of a value
    have different random places, R of them at most. With r_j people not above p_j, the weight for
    a total N is the product of w_d over the m + 1 cells,
    ``d_j = |D·(r_j - r_{j-1}) - (t_j - t_{j-1})·N|`` with ``r_0 = t_0 = 0``, ``r_{m+1} = n`` and
    ``t_{m+1} = D``. Unless people only come and go, the total is n (Gillenwater, Joseph and
    Kulesza 2021). If they do, nobody knows n: with w_L the last level, ``G = ⌈L/D⌉`` and
    ``S = max(1, ⌊G/12⌋)``, the weight is the sum over the multiples N of S within G of n, plus
    a spare one, the least integer that is at least
    ``(w_0 + s)^m·(w_L + s)·q / (D·(p - q))`` with ``s = ⌈p/(p - q)⌉``. Tuples are drawn in
    proportion to their weights (the exponential mechanism, McSherry and Talwar 2007).

*Theorem.* Let one person move the levels of every tuple by at most M steps in all, and
``(p/q)^(2M) <= exp(ε)``. Then the draw is ε-private.

*Proof.* A level falls by at most p/q a step. So with ``a = (p/q)^M`` no weight w falls below
``w/a``, none grows above ``a·w``, and the same holds for sums of weights. In proportion to weights
a chance falls by at most a² then. Places of people in a value are drawn without looking at anybody
else, so two neighbouring tables keep them alike.

A triple of weight w has the chance ``w·∫_0^(1/max W) Π_{s≠v} (1 - x·W_s) dx``: value v is the
first accepted one with probability ``W_v/max W·∫_0^1 Π_{s≠v} (1 - y·W_s/max W) dy``, its ends
follow with w/W_v, and ``y = x·max W``. In a neighbouring table this is at least
``w/a·∫_0^(1/(a·max W)) Π (1 - x·a·W_s) dx = w/a²·∫_0^(1/max W) Π (1 - x·W_s) dx``. ∎

*M of a bracket.* A row that comes moves ``D·L - t·n`` and ``D·U - t·n`` by -t or D - t, one that
changes by D. A largest one of distances, of which some have something subtracted and none is
below 0, moves no further than they do.

*M of quantiles.* A row that changes leaves n alone and moves two cells by D each. With the total n
a row that comes in cell a moves its d by at most ``D - T_a``, with ``T_j = t_j - t_{j-1}``, and
those of all others by T_j, which are together ``D - T_a``: so by less than 2D.

Where people only come and go M is D for each row. A row that comes, in cell a, moves for each
total N only d_a, by D at most: with ``a = (p/q)^D`` the weight for N falls by at most a. One total
may be lost, with ``|N - n| = G``, where all d are together at least ``D·|N - n| >= L``. There the
weight is at most ``(w_0 + s)^m·(w_L + s)``, as ``w_d <= 2^bits·(q/p)^d + s <= w_d + s``, and of
products of such numbers, log-convex in d, those are largest whose d are 0 but for one. So it is at
most a - 1 spare ones, as ``a - 1 >= D·(p - q)/q``. What falls to a part 1/a and loses no more than
a - 1 parts 1/a of the spare weight, which itself stays, falls to no less than 1/a in all. A row
that leaves is the same read backwards.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, NamedTuple

from tightrope.certify.kernel.format import WEIGHTS, Refused, need, registered, whole
from tightrope.certify.theorems.scores import SteppedWeights

#: More quantiles than this in one draw would take weights of more than 4,000 bits.
MOST_RANKS = 20


class TupleQuestion(NamedTuple):
    """What is drawn together: the ranks t_j over their denominator D, c values, and 2M."""

    is_bracket: bool
    ranks: tuple[int, ...]
    denominator: int
    values: int
    sizes: tuple[int, ...]
    steps: int


def tuple_question(question: str, relation: str) -> TupleQuestion:
    """Read a question about a tuple of values, and how far one person, with k rows, moves it.

    >>> tuple_question("bracket(1/2,121,40,10)", "add-remove").steps
    2
    >>> tuple_question("quantiles(1/4,1/2,3/4,121,999)", "change-one").steps
    16
    >>> tuple_question("quantiles(1/4,1/2,3/4,121,999,2)", "add-remove")
    TupleQuestion(is_bracket=False, ranks=(1, 2, 3), denominator=4, values=121, sizes=(999,),
                  steps=16)
    """
    size = r"([1-9][0-9]{0,8})"
    rank = r"[1-9][0-9]{0,4}/[1-9][0-9]{0,4}"
    bracket = rf"bracket\(({rank}),{size},{size},{size}(?:,{size})?\)"
    several = rf"quantiles\(({rank}(?:,{rank})+),{size},{size}(?:,{size})?\)"
    call = re.fullmatch(f"{bracket}|{several}", question)
    if call is None:
        shown = f"question: {question[:60]!r}"
        raise Refused(f"{shown} is not known as a question about a tuple of values")
    is_bracket = call[1] is not None
    given = call[1] or call[6]
    last = call[5] if is_bracket else call[9]
    sizes = (int(call[3]), int(call[4])) if is_bracket else (int(call[8]),)
    values = int(call[2] if is_bracket else call[7])
    need(values <= 1 << 20, f"question: {values} values are more than 2^20")
    need(last != "1", "question: one row each is not written out")
    rows = int(last or 1)

    shares = [Fraction(part) for part in given.split(",")]
    # One spelling per question: ranks must be written in lowest terms.
    lowest = given == ",".join(f"{x.numerator}/{x.denominator}" for x in shares)
    ends = [Fraction(0), *shares, Fraction(1)]
    rising = all(below < above for below, above in pairwise(ends))
    need(lowest and rising, "question: ranks are in lowest terms, rising and below 1")
    need(len(shares) <= MOST_RANKS, f"question: more than {MOST_RANKS} ranks")
    # D, the common denominator of all ranks.
    whole_part = math.lcm(*(share.denominator for share in shares))
    need(whole_part <= 10_000, "question: ranks are multiples of 1/10000 or coarser")

    # M as in the docstring above; the steps are 2M.
    tops = [int(share * whole_part) for share in ends]
    if relation != "add-remove":
        moves = whole_part if is_bracket else 2 * whole_part
    elif is_bracket:
        moves = max(high - low for low, high in pairwise(tops))
    else:
        moves = whole_part
    return TupleQuestion(
        is_bracket, tuple(tops[1:-1]), whole_part, values, sizes, 2 * moves * rows
    )


@registered(WEIGHTS, "tuples")
class TupleWeights(SteppedWeights):
    """The levels that weights of tuples are made of."""

    kind = "tuples"
    fields: ClassVar = {"bits": whole(40, 1200)}
    parse = staticmethod(tuple_question)

    def proved_for(self, whose: str) -> str:
        """Return how far one person moves the levels of a tuple."""
        moves = f"one person moves the levels of every tuple of {whose}"
        return f"{moves} by at most {self.question.steps // 2} steps, each worth p/q"
