"""Paper D, section 2: axioms of privacy, predicates, generic differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightrope.axioms import (
    ApproximateBound,
    FunctionBound,
    TableBound,
    examine,
    is_generic_private,
    log_odds,
    log_odds_bound,
)
from tightrope.channels import Channel, DenseChannel, IntegerChannel, is_private, mixture, remap
from tightrope.graphs import Clique, PathPower
from tightrope.mechanisms import exponential, geometric
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("D")

_TESTS = "tests/papers/test_paper_d.py"
_LN2 = "ln(2)"


def _tried(seed: int, share: float) -> Channel:
    """Return geometric noise on five answers, sharpened so that privacy may fail."""
    random = np.random.default_rng(seed)
    rows = (1 - share) * geometric(PathPower(5), _LN2).matrix()
    return DenseChannel(rows + share * np.eye(5)[random.integers(5, size=5)])


@book.claim(
    "Axiom 2.1.1",
    "ε-privacy survives post-processing",
    function="tightrope.channels.remap",
    test="tests/properties/test_channels.py",
)
def _postprocessing() -> Found:
    random = np.random.default_rng(12)
    graph = query("sum(3,2)").graph
    kept = sum(
        is_private(
            remap(exponential(graph, _LN2), DenseChannel(random.dirichlet(np.ones(4) / 3, size=7))),
            graph,
            _LN2,
        ).private
        for _ in range(30)
    )
    return Found(kept == 30, f"{kept} of 30 remaps")


@book.claim(
    "Axiom 2.1.2",
    "ε-privacy survives a random choice between mechanisms",
    function="tightrope.channels.mixture",
    test="tests/properties/test_channels.py",
)
def _choice() -> Found:
    graph = query("path(6)").graph
    first, second = geometric(graph, _LN2), exponential(graph, _LN2)
    kept = [
        is_private(mixture([first, second], [p, 1 - p]), graph, _LN2).private
        for p in (0.0, 0.3, 0.5, 1.0)
    ]
    return Found(all(kept), "for 4 weights")


@book.claim(
    "Def 2.1.3, ε",
    "with M(a) = min(e^ε a, 1-e^{-ε}(1-a)) it is ε-privacy",
    function="tightrope.axioms.is_generic_private",
    test=f"{_TESTS}::test_section_2_1_bounds",
)
def _generic() -> Found:
    bound = FunctionBound(lambda a: min(2 * a, 1 - (1 - a) / 2), "ε-privacy at ln 2")
    agreed, private = 0, 0
    for seed in range(20):
        channel = _tried(seed, (0.0, 0.01, 0.2)[seed % 3])
        plain = is_private(channel, PathPower(5), _LN2).private
        agreed += plain == is_generic_private(channel, PathPower(5), bound).private
        private += plain
    return Found(agreed == 20, f"both tests agree on {agreed} of 20 channels, {private} private")


@book.claim(
    "Def 2.1.3, (ε, δ)",
    "with M(a) = min(1, e^ε a+δ, 1-e^{-ε}(1-a-δ)) it is (ε, δ)-privacy, over all sets",
    function="tightrope.axioms.is_generic_private",
    test=f"{_TESTS}::test_section_2_1_bounds",
)
def _approximate() -> Found:
    delta, agreed = 0.05, 0
    sets = np.array([[set_ >> o & 1 for o in range(5)] for set_ in range(32)], dtype=float)
    for seed in range(20):
        channel = _tried(seed, (0.01, 0.06, 0.2)[seed % 3])
        chance = channel.matrix() @ sets.T
        direct = (chance[:-1] <= 2 * chance[1:] + delta + 1e-12).all()
        direct &= (chance[1:] <= 2 * chance[:-1] + delta + 1e-12).all()
        found = is_generic_private(channel, PathPower(5), ApproximateBound(_LN2, delta)).private
        agreed += bool(direct) == found
    return Found(agreed == 20, f"as by all 32 sets of outputs, {agreed} of 20 channels")


@book.claim(
    "§2.1, M = 1",
    "M = 1 allows the identity",
    function="tightrope.axioms.is_generic_private",
    test=f"{_TESTS}::test_identity_is_allowed_by_the_laxest_definition_only",
)
def _identity() -> Found:
    lax = TableBound([(0, 1), (1, 1)])
    return Found(bool(is_generic_private(DenseChannel(np.eye(4)), Clique(4), lax)))


@book.claim(
    "Prop 2.1.4",
    "a' and a'' bound the probability that the log-odds move by at least t",
    function="tightrope.axioms.log_odds_bound",
    test=f"{_TESTS}::test_prop_2_1_4",
)
def _log_odds() -> Found:
    gap = math.inf
    for t in (0.2, 0.4, math.log(2) - 1e-9, 0.7):
        bound = log_odds_bound(ApproximateBound(_LN2), t)
        channel = geometric(PathPower(5), _LN2)
        for i in range(4):
            moved = log_odds(channel, i, i + 1, t)
            gap = min(gap, bound.towards - moved.towards, bound.away - moved.away)
    return Found(gap >= -1e-9, "for 4 shifts and 4 pairs")


@book.claim(
    "Prop 2.2.2, a ≥ 1/2",
    "for a ≥ 1/2 all b' from b to (1-b)a/(1-a) are allowed; that end is a probability",
    function="tightrope.axioms.examine",
    correction="The two cases are exchanged: at a = 3/4, b = 1/2 the end is 3/2. The proof derives "
    "(1-b)a/(1-a) for a ≤ 1/2 and 1-b(1-a)/a for a ≥ 1/2, and so it must read.",
)
def _exchanged() -> Found:
    a, b = Fraction(3, 4), Fraction(1, 2)
    printed, proved = (1 - b) * a / (1 - a), 1 - b * (1 - a) / a
    return Found(
        0 <= printed <= 1, f"at a = 3/4, b = 1/2: {printed} as printed, {proved} as proved"
    )


@book.claim(
    "Prop 2.2.2",
    "by post-processing, all b' between the two ends are allowed with a",
    function="tightrope.channels.remap",
    test=f"{_TESTS}::test_prop_2_2_2_moves_towards_the_diagonal",
)
def _interval() -> Found:
    worst = Fraction(0)
    for a, b in ((Fraction(1, 4), Fraction(1, 2)), (Fraction(2, 5), Fraction(1, 10))):
        end = (1 - b) * a / (1 - a)
        for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
            other = (1 - share) * a / (1 - a)
            low = share * a + other * (1 - a)
            made = share * b + other * (1 - b)
            expected = share * b + (1 - share) * end
            worst = max(worst, abs(low - a), abs(made - expected))
    return Found(worst == 0, "for a ≤ 1/2, in fractions")


@book.claim(
    "Prop 2.2.3, Thm 2.2.5",
    "the predicate of ε-privacy satisfies every condition",
    function="tightrope.axioms.examine",
)
def _conditions() -> Found:
    report = examine(lambda a, b: b <= 2 * a and 1 - a <= 2 * (1 - b), steps=24)
    return Found(bool(report), f"{len(report.conditions)} conditions on a grid of 24 steps")


@book.claim(
    "Thm 2.2.5 (iii)",
    "m(a) = 1 - M(1-a)",
    function="tightrope.axioms.examine",
)
def _lower() -> Found:
    report = examine(lambda a, b: b <= 2 * a and 1 - a <= 2 * (1 - b), steps=24)
    upper = dict(report.upper)
    return Found(all(low == 1 - upper[1 - a] for a, low in report.lower), "at 25 points")


@book.claim(
    "Thm 2.2.5 (iv)",
    "a predicate whose M is not concave breaks the axiom of choice",
    function="tightrope.axioms.examine",
)
def _concave() -> Found:
    report = examine(
        lambda a, b: abs(a - b) <= Fraction(1, 4) or (b <= 4 * a and 1 - a <= 4 * (1 - b)),
        steps=24,
    )
    breach = report.breach
    return Found(breach is not None and breach.axiom == "random choice", "shown by two mechanisms")


@book.claim(
    "Thm 2.2.5 (v)",
    "m is nonincreasing",
    function="tightrope.axioms.examine",
    test=f"{_TESTS}::test_thm_2_2_5_item_v_for_m",
    correction="m(a) = 1 - M(1-a) with M nondecreasing is nondecreasing; it increases strictly "
    "wherever m(a) > 0. Two signs are exchanged.",
)
def _monotone() -> Found:
    bound = ApproximateBound(_LN2)
    low, high = bound.lower(0.25), bound.lower(0.75)
    return Found(high <= low, f"for ε = ln 2: m(1/4) = {low:.4g}, m(3/4) = {high:.4g}")


@book.claim(
    "Thm 2.3.1",
    "a concave M makes a definition that keeps both axioms",
    function="tightrope.axioms.is_generic_private",
    test=f"{_TESTS}::test_thm_2_3_1_any_concave_function_will_do",
)
def _sufficient() -> Found:
    bound = TableBound([(0, "1/20"), ("1/4", "1/2"), (1, 1)])
    rows = [[4, 3, 2], [3, 4, 2], [3, 3, 3]]
    first, second = IntegerChannel(rows), IntegerChannel([row[::-1] for row in rows])
    graph, random = Clique(3), np.random.default_rng(13)
    start = is_generic_private(first, graph, bound) and is_generic_private(second, graph, bound)
    kept = 0
    for _ in range(20):
        share = float(random.uniform())
        mixed = mixture([first, second], [share, 1 - share])
        made = remap(mixed, DenseChannel(random.dirichlet(np.ones(3), size=3)))
        kept += is_generic_private(made, graph, bound).private
    return Found(bool(start) and kept == 20, f"{kept} of 20 mixtures and remaps")
