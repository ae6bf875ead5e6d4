"""Paper D: what the claims do not say. D transposes channels; rows are true answers here."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tightrope.axioms import (
    PrivacyBound,
    check_axioms,
    dobrushin_optimum,
    is_generic_private,
    log_odds,
    log_odds_bound,
)
from tightrope.channels import (
    IntegerChannel,
    cascade,
    is_private,
    make_maximally_general,
    maximally_general,
    rational,
)
from tightrope.channels.generality import dobrushin
from tightrope.graphs import Clique, Cycle, PathPower, Star, petersen

# -- section 2 ----------------------------------------------------------------------------


def test_section_2_1_bounds():
    """ε-privacy is M(a) = min(e^ε a, 1 - e^-ε (1-a)); (ε,δ) adds δ."""
    e = math.exp(0.7)
    pure, loose = PrivacyBound.approximate(0.7), PrivacyBound.approximate(0.7, "0.05")
    for a in np.linspace(0, 1, 11):
        assert pure(a) == pytest.approx(min(e * a, 1 - (1 - a) / e))
        assert loose(a) == pytest.approx(min(1, e * a + 0.05, 1 - (1 - a - 0.05) / e))


def test_identity_is_allowed_by_the_laxest_definition_only():
    identity = IntegerChannel([[1, 0], [0, 1]])
    assert is_generic_private(
        identity, PathPower(2), PrivacyBound.table([(0, 1), (1, 1)])
    )
    assert not is_generic_private(
        identity, PathPower(2), PrivacyBound.table([(0, "999/1000"), (1, 1)])
    )


def test_prop_2_1_4():
    """The bound on log-odds is met with equality by randomised response."""
    channel, shift = IntegerChannel([[2, 1], [1, 2]]), math.log(2) - 1e-12
    most, real = (
        log_odds_bound(PrivacyBound.approximate("ln(2)"), shift),
        log_odds(channel, 0, 1, shift),
    )
    assert real.towards == pytest.approx(most.towards, abs=1e-9)
    assert real.away == pytest.approx(most.away, abs=1e-9)


def test_prop_2_2_2_moves_towards_the_diagonal():
    """From (a, b) post-processing reaches every (a, b') with b' between b and a."""
    a, b = Fraction(1, 3), Fraction(3, 4)
    start = rational([[a, 1 - a], [b, 1 - b]])
    for wanted in (Fraction(1, 2), Fraction(2, 5), a):
        share = (wanted - a) / (b - a)
        remap = rational(
            [
                [share + (1 - share) * a, (1 - share) * (1 - a)],
                [(1 - share) * a, 1 - (1 - share) * a],
            ]
        )
        made = cascade(start, remap)
        assert (made.fraction(0, 0), made.fraction(1, 0)) == (a, wanted)


def test_thm_2_2_5_item_v_for_m():
    """The paper calls m nonincreasing; m(a) = 1 - M(1-a) with M nondecreasing is nondecreasing."""
    report = check_axioms(lambda a, b: b <= 2 * a and a <= 2 * b, steps=24)
    upper, lower = [b for _, b in report.upper], [b for _, b in report.lower]
    assert upper == sorted(upper)
    assert lower == sorted(lower)
    assert lower[0] < lower[-1]


def test_thm_2_3_1_any_concave_function_will_do():
    table = PrivacyBound.table([(0, "1/20"), ("1/4", "3/5"), ("3/4", "19/20"), (1, 1)])

    def predicate(a, b):
        return b <= table.exact(a) and 1 - b <= table.exact(1 - a)

    assert check_axioms(predicate, steps=20)


# -- section 3 ----------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", range(2, 9))
@pytest.mark.parametrize("growth", [1.5, 2.0, 4.0])
def test_lemma_3_3_5_values(nodes, growth):
    """The best two-output mechanism on n nodes: even n has odd length n-1."""
    rows, right = [], []
    for j in range(nodes - 1):
        for i, h in ((j, j + 1), (j + 1, j)):
            row = np.zeros(nodes)
            row[i], row[h] = 1, -growth
            # m_i ≤ e m_h and (1-m_i) ≤ e (1-m_h)
            rows += [row, -row]
            right += [0.0, growth - 1]
    cost = np.zeros(nodes)
    cost[0], cost[-1] = 1, -1
    solved = linprog(
        cost, A_ub=np.array(rows), b_ub=right, bounds=(0, 1), method="highs"
    )
    computed = -(solved.fun + 1)
    if nodes % 2:
        formula = -(growth ** (-(nodes - 1) / 2))
    else:
        formula = -2 * growth ** (-(nodes - 2) / 2) / (1 + growth)
    assert computed == pytest.approx(formula, abs=1e-9)
    assert dobrushin_optimum(PathPower(nodes), math.log(growth)).value == pytest.approx(
        formula
    )


def test_lemma_3_3_8_counts_nodes_as_length():
    """Its conditions for even d = 2, read literally, allow a mechanism that is not optimal."""
    e = Fraction(2)
    literal = rational([[1 / (1 + e), e / (1 + e)]] * 2 + [[e / (1 + e), 1 / (1 + e)]])
    assert is_private(literal, PathPower(3), "ln(2)")
    # j = 2 … d/2+1 is j = 2 alone: the last step is tight for both outputs, as the lemma asks.
    for o in range(2):
        assert literal.fraction(2, o) / literal.fraction(1, o) in (e, 1 / e)
    best = dobrushin_optimum(PathPower(3), "ln(2)")
    assert best.exact == Fraction(-1, 2)
    assert dobrushin(literal) == pytest.approx(-2 / 3)


@pytest.mark.parametrize("graph", [Clique(5), Cycle(6), Cycle(7), Star(4), petersen()])
def test_lemma_3_3_7_only_the_diameter_counts(graph):
    best = dobrushin_optimum(graph, "ln(3)")
    on_a_path = dobrushin_optimum(PathPower(int(graph.diameter) + 1), "ln(3)")
    assert best.exact == on_a_path.exact
    assert graph.distance(*best.pair) == graph.diameter


# -- appendix B ---------------------------------------------------------------------------


def test_appendix_b_splits_the_column_of_the_correction():
    """The column (1, 2, 3) of a line of three, where maxima over all pairs give no probability."""
    channel = rational([["1/6", "5/6"], ["2/6", "4/6"], ["3/6", "3/6"]])
    made = make_maximally_general(channel, PathPower(3), "ln(2)")
    assert maximally_general(made.channel, PathPower(3), "ln(2)")


def test_appendix_b_outputs_stay_below_the_number_of_spanning_trees():
    """A tree has one spanning tree with 2 directions for each edge: at most 2^(n-1) rays."""
    made = make_maximally_general(IntegerChannel([[1]] * 5), PathPower(5), "ln(2)")
    assert made.channel.shape[1] <= 2**4
