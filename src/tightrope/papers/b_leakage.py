"""Paper B, section 5: bounds on leakage."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tightrope.channels import DenseChannel, is_private, smallest_epsilon
from tightrope.graphs import (
    Clique,
    Databases,
)
from tightrope.leakage import (
    database_bound,
    few_outputs_bound,
    individual_bound,
    individual_leakage,
    leakage_without_privacy,
    min_entropy_leakage,
    most_leakage,
    plain_individual_bound,
)
from tightrope.mechanisms import exponential, highest_leakage
from tightrope.papers.claims import Book, Found
from tightrope.queries import query

book = Book("B")

_TESTS = "tests/papers/test_paper_b.py"
_LN2 = "ln(2)"


@book.claim(
    "Thm 15, bits",
    "leakage bound for 100 people, 2 values, ε = 5",
    "99.03",
    function="tightrope.leakage.database_bound",
    test=f"{_TESTS}::test_theorem_15_and_figure_8",
)
def _theorem_15() -> Found:
    return Found(database_bound(100, 2, 5).bits, "bits")


@book.claim(
    "Thm 15, success",
    "there the whole database is guessed with probability above 1/2",
    function="tightrope.leakage.database_bound",
    test=f"{_TESTS}::test_theorem_15_and_figure_8",
)
def _success() -> Found:
    chance = 2 ** (database_bound(100, 2, 5).bits - 100)
    return Found(chance > 0.5, f"{chance:.4f}")


@book.claim(
    "Fig 8",
    "the bound grows from 0 to u·log2 v",
    function="tightrope.leakage.database_bound",
    test=f"{_TESTS}::test_theorem_15_and_figure_8",
)
def _figure_8() -> Found:
    for u, v in [(1, 2), (10, 2), (10, 10), (100, 2), (100, 10)]:
        bits = [database_bound(u, v, e).bits for e in (1e-9, 0.5, 1, 2, 5, 10, 40)]
        grows = all(low < high for low, high in pairwise(bits))
        if not (grows and bits[0] < 1e-6 and abs(bits[-1] - u * math.log2(v)) < 1e-6):
            return Found(False, f"u = {u}, v = {v}")
    return Found(True, "for 5 pairs u, v")


@book.claim(
    "Prop 16",
    "a private mechanism reaches the bound, for every u, v and ε",
    function="tightrope.mechanisms.highest_leakage",
    test=f"{_TESTS}::test_proposition_16_the_bound_is_reached",
)
def _proposition_16() -> Found:
    worst = 0.0
    for u, v, epsilon in [(1, 2, "0.3"), (2, 3, _LN2), (4, 4, "2"), (1000, 5, "1")]:
        made = highest_leakage(u, v, epsilon)
        worst = max(worst, abs(min_entropy_leakage(made) - database_bound(u, v, epsilon).bits))
    private = is_private(highest_leakage(3, 3, _LN2), Databases(3, range(3)), _LN2)
    return Found(bool(worst < 1e-9 and private), "up to 1000 people with 5 values")


@book.claim(
    "Ex 17",
    "largest entry e^{2ε}/(2+e^ε)² for two people with three values, ε = ln 2",
    "1/4",
    function="tightrope.mechanisms.highest_leakage",
    test=f"{_TESTS}::test_example_17_eye_colours",
)
def _example_17() -> Found:
    return Found(float(highest_leakage(2, 3, _LN2).matrix().max()))


@book.claim(
    "Fig 9(b)",
    "entry α of the matrix stands for the maximum over e^{εα}, α the distance",
    function="tightrope.mechanisms.highest_leakage",
    test=f"{_TESTS}::test_example_17_eye_colours",
)
def _figure_9() -> Found:
    rows = highest_leakage(2, 3, _LN2).matrix()
    exponents = np.log2(rows.max() / rows).round(9)
    return Found(bool((exponents == Databases(2, range(3)).distance_matrix()).all()), "81 entries")


@book.claim(
    "Ex 18, leakage",
    "the leakage vanishes as the rare input gets rarer",
    function="tightrope.leakage.leakage_without_privacy",
    test=f"{_TESTS}::test_example_18_leakage_does_not_bound_epsilon",
)
def _example_18() -> Found:
    common = leakage_without_privacy(0.2, 0.9).leakage_bits
    rare = [leakage_without_privacy(1e-3, beta).leakage_bits for beta in (1e-9, 0.3, 0.9)]
    return Found(common > 0.1 and max(rare) < 1e-12, f"from {common:.3f} bits to 0, for 3 β")


@book.claim(
    "Ex 18, ε",
    "while ε grows without limit as β vanishes, by the formula with four logarithms",
    function="tightrope.leakage.leakage_without_privacy",
    test=f"{_TESTS}::test_example_18_leakage_does_not_bound_epsilon",
)
def _example_18_level() -> Found:
    worst = 0.0
    for beta in (1e-9, 0.05, 0.2, 0.95):
        shown = leakage_without_privacy(0.01, beta, inputs=4, outputs=5)
        formula = max(abs(math.log(5 * beta)), abs(math.log(5 * (1 - beta) / 4)))
        direct = smallest_epsilon(shown.channel, Clique(4)).value
        worst = max(worst, abs(shown.epsilon - formula), abs(direct - formula))
    return Found(worst < 1e-6, "for 4 values of β; 19.1 at β = 1e-9")


@book.claim(
    "Prop 20",
    "its bound holds for mechanisms with r outputs",
    function="tightrope.leakage.few_outputs_bound",
    test=f"{_TESTS}::test_proposition_20_holds_and_is_not_always_the_smaller_bound",
)
def _proposition_20() -> Found:
    graph = Databases(3, range(2))
    gap = min(
        _few_outputs_formula(3, 2, epsilon, outputs) - most_leakage(graph, epsilon, outputs).bits
        for epsilon in (0.3, 1.0, 2.5)
        for outputs in (2, 3, 4, 5)
    )
    return Found(gap > -1e-7, "against the exact maximum in 12 cases")


def _few_outputs_formula(u: int, v: int, epsilon: float, outputs: int) -> float:
    """Return the bound of Proposition 20 alone."""
    power = int(math.log(outputs, v) + 1e-12)
    grown = math.exp(epsilon)
    below = (v - 1 + grown) ** power - grown**power + grown**u
    return math.log2(outputs * grown**u / below)


@book.claim(
    "Prop 20, r = v",
    "with r = v it reads log2 v·e^{εu}/(v-1+e^{εu})",
    function="tightrope.leakage.few_outputs_bound",
    test=f"{_TESTS}::test_proposition_20_holds_and_is_not_always_the_smaller_bound",
)
def _proposition_20_values() -> Found:
    grown = math.exp(0.2 * 10)
    bits = few_outputs_bound(10, 3, 0.2, 3).bits
    bound = database_bound(10, 3, 0.2).bits
    same = abs(bits - math.log2(3 * grown / (2 + grown))) < 1e-12
    return Found(same and bits < bound, f"u = 10, v = 3: {bits:.4f} against {bound:.4f} bits")


@book.claim(
    "before Prop 20",
    "with r outputs its bound is better than that of Thm 15 (u = 3, v = 2, ε = 0.3, r = 3)",
    function="tightrope.leakage.few_outputs_bound",
    test=f"{_TESTS}::test_proposition_20_holds_and_is_not_always_the_smaller_bound",
    correction="Between powers of v it can be the looser of the two: take the smaller.",
)
def _not_always_better() -> Found:
    few, all_outputs = _few_outputs_formula(3, 2, 0.3, 3), database_bound(3, 2, 0.3).bits
    return Found(few < all_outputs, f"{few:.4f} bits against {all_outputs:.4f}")


@book.claim(
    "Prop 20, last step",
    "joining m of r outputs: leakage is at most that of the joined channel times r/v^ℓ",
    function="tightrope.leakage.min_entropy_leakage",
    correction="A sum of logarithms is meant: at most that of the joined channel plus log2(r/v^ℓ). "
    "The product fails for this channel with three outputs; the bound of the proposition stands.",
)
def _product_and_sum() -> Found:
    # Three of four databases each favour an output of their own, by a little.
    lift = 0.1
    rows = np.full((4, 3), (1 - lift) / 3) + np.vstack([lift * np.eye(3), np.full(3, lift / 3)])
    channel = DenseChannel(rows)
    joined = DenseChannel(np.column_stack([rows[:, 0] + rows[:, 2], rows[:, 1]]))
    bits, left = min_entropy_leakage(channel), min_entropy_leakage(joined)
    product, total = left * 3 / 2, left + math.log2(3 / 2)
    detail = f"{bits:.4f} bits; product {product:.4f}, sum {total:.4f}"
    return Found(bits <= product or bits > total, detail)


@book.claim(
    "§5.3, plain",
    "plain bound on one person's leakage at ε = 1.35",
    "1.95",
    function="tightrope.leakage.plain_individual_bound",
    test=f"{_TESTS}::test_proposition_21_one_individual",
)
def _plain() -> Found:
    return Found(plain_individual_bound(1.35).bits, "bits")


@book.claim(
    "Prop 21, correction",
    "additive correction for 3 values at ε = 1.35",
    "-0.97",
    function="tightrope.leakage.individual_bound",
    test=f"{_TESTS}::test_proposition_21_one_individual",
)
def _correction() -> Found:
    return Found(individual_bound(3, 1.35).bits - plain_individual_bound(1.35).bits, "bits")


@book.claim(
    "Prop 21, half",
    "which makes the bound about half (50 % tighter)",
    "0.50",
    function="tightrope.leakage.individual_bound",
    test=f"{_TESTS}::test_proposition_21_one_individual",
)
def _half() -> Found:
    return Found(individual_bound(3, 1.35).bits / plain_individual_bound(1.35).bits)


@book.claim(
    "Prop 21",
    "the bound holds for the person about whom most leaks",
    function="tightrope.leakage.individual_leakage",
    test=f"{_TESTS}::test_proposition_21_one_individual",
)
def _individual() -> Found:
    gap = 1.0
    for text in ("count(5)", "sum(4,3)", "count_mod(5,4)", "databases(3,3)"):
        asked = query(text)
        found = individual_leakage(exponential(asked.graph, 1), asked)
        gap = min(gap, individual_bound(len(asked.values or ()), 1).bits - found.bits)
    return Found(gap >= -1e-12, "for 4 queries")


@book.claim(
    "§7, two values",
    "with two values the bound is the u·log2(2e^ε/(e^ε+1)) of earlier work (u = 7, ε = 0.9)",
    f"{7 * math.log2(2 * math.exp(0.9) / (math.exp(0.9) + 1)):.9f}",
    function="tightrope.leakage.database_bound",
    test=f"{_TESTS}::test_theorem_15_and_figure_8",
)
def _two_values() -> Found:
    return Found(database_bound(7, 2, 0.9).bits)
