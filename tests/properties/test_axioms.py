"""Both privacy axioms for every privacy definition of the package [D, Ax 2.1.1, 2.1.2]."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.axioms import PrivacyBound, is_generic_private
from tightrope.axioms.generic import likelihood_curve
from tightrope.axioms.predicates import _corners
from tightrope.channels import (
    cascade,
    hidden_choice,
    is_private,
    rational,
    smallest_epsilon,
)
from tightrope.epsilon import Epsilon
from tightrope.graphs import ExplicitGraph, PathPower

ROWS = 3
UNIT = PathPower(ROWS)
METRIC = ExplicitGraph([(0, 1), (1, 2), (0, 2)], lengths=[1.0, 2.0, 2.0])


@st.composite
def channels(draw, rows=ROWS, columns=4, least=0):
    table = [[draw(st.integers(least, 6)) for _ in range(columns)] for _ in range(rows)]
    for row in table:
        row[draw(st.integers(0, columns - 1))] += 1
    return rational([[Fraction(w, sum(row)) for w in row] for row in table])


def pure(channel, graph):
    """The smallest ε, exactly: the logarithm of a rational number."""
    ratio = max(
        Fraction(channel.fraction(a, o), channel.fraction(b, o))
        for i, h in graph.edges()
        for a, b in ((i, h), (h, i))
        for o in range(channel.shape[1])
    )
    return Epsilon(Fraction(1), max(ratio, Fraction(101, 100)))


def smallest_delta(channel, graph, growth):
    return max(
        sum(max(0, channel.fraction(b, o) - growth * channel.fraction(a, o))
            for o in range(channel.shape[1]))
        for i, h in graph.edges() for a, b in ((i, h), (h, i))
    )  # fmt: skip


def tightest_table(*made):
    """The smallest concave bound above the curves of some channels."""
    points = {Fraction(0): Fraction(0), Fraction(1): Fraction(1)}
    for channel in made:
        for i, h in UNIT.edges():
            for a, b in ((i, h), (h, i)):
                _, below, above = likelihood_curve(channel, a, b)
                for p, q in zip(below, above, strict=True):
                    points[p] = max(points.get(p, Fraction(0)), q)
    return PrivacyBound.table(_corners(sorted(points.items())))


remaps = channels(rows=4, columns=3)
shares = st.integers(0, 5).map(lambda k: Fraction(k, 5))


@given(channels(least=1), channels(least=1), remaps, shares)
def test_pure_privacy(one, two, remap, share):
    level = max((pure(one, UNIT), pure(two, UNIT)), key=lambda e: e.ratio)
    for made in (cascade(one, remap), hidden_choice([one, two], [share, 1 - share])):
        assert is_private(made, UNIT, level).exact
        assert is_private(made, UNIT, level)
        assert is_generic_private(made, UNIT, level)


@given(channels(least=1), channels(least=1), remaps, shares)
def test_metric_privacy(one, two, remap, share):
    level = max(smallest_epsilon(c, METRIC).value for c in (one, two)) + 1e-9
    for made in (cascade(one, remap), hidden_choice([one, two], [share, 1 - share])):
        assert is_private(made, METRIC, level)
        assert is_generic_private(
            made,
            METRIC,
            lambda i, h: PrivacyBound.approximate(level * METRIC.distance(i, h)),
        )


@given(channels(), channels(), remaps, shares)
def test_approximate_privacy(one, two, remap, share):
    delta = max(smallest_delta(c, UNIT, 2) for c in (one, two))
    bound = PrivacyBound.approximate("ln(2)", delta)
    for made in (
        one,
        cascade(one, remap),
        hidden_choice([one, two], [share, 1 - share]),
    ):
        found = is_generic_private(made, UNIT, bound)
        assert found.exact
        assert found


@settings(max_examples=60)
@given(channels(), channels(), remaps, shares)
def test_generic_privacy_with_the_tightest_bound(one, two, remap, share):
    bound = tightest_table(one, two)
    assert min(is_generic_private(c, UNIT, bound).margin for c in (one, two)) >= 0
    for made in (cascade(one, remap), hidden_choice([one, two], [share, 1 - share])):
        found = is_generic_private(made, UNIT, bound)
        assert found.exact
        assert found


@settings(max_examples=60)
@given(channels(), remaps)
def test_a_bound_for_each_pair(one, remap):
    bounds = {}
    for i, h in UNIT.edges():
        for a, b in ((i, h), (h, i)):
            _, below, above = likelihood_curve(one, a, b)
            points = {Fraction(0): Fraction(0), Fraction(1): Fraction(1)}
            for p, q in zip(below, above, strict=True):
                points[p] = max(points.get(p, Fraction(0)), q)
            bounds[a, b] = PrivacyBound.table(_corners(sorted(points.items())))
    assert is_generic_private(cascade(one, remap), UNIT, lambda a, b: bounds[a, b])


def single_outputs_only(channel, limit):
    """A definition that looks at single outputs: it breaks the first axiom."""
    return all(
        abs(channel.fraction(i, o) - channel.fraction(h, o)) <= limit
        for i, h in UNIT.edges()
        for o in range(channel.shape[1])
    )


def test_a_definition_that_breaks_post_processing_is_caught():
    spread = rational([["1/4"] * 4, ["1/2", "1/2", 0, 0], ["1/2", "1/2", 0, 0]])
    limit = Fraction(1, 4)
    assert single_outputs_only(spread, limit)
    joined = cascade(spread, rational([[1, 0], [1, 0], [0, 1], [0, 1]]))
    assert not single_outputs_only(joined, limit)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 20)])
def test_what_is_not_private_stays_found_out(delta):
    """The checks above can fail: a sharper channel breaks the same bounds."""
    sharp = rational([["9/10", "1/10"], ["1/10", "9/10"], ["1/10", "9/10"]])
    assert not is_generic_private(sharp, UNIT, PrivacyBound.approximate("ln(2)", delta))
    assert not is_private(sharp, UNIT, "ln(8)")
