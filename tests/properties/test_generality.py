"""The generality order as an order, and what it must respect [D, §3; C, §2.4]."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st

from tightrope.axioms import determinant_utility
from tightrope.channels import (
    IntegerChannel,
    cascade,
    derivable,
    equal,
    hidden_choice,
    make_maximally_general,
    maximally_general,
    rational,
)
from tightrope.channels.generality import dobrushin
from tightrope.graphs import Clique, Cycle, PathPower, Star

GRAPHS = [
    PathPower(2),
    PathPower(3),
    PathPower(4),
    Clique(3),
    Cycle(4),
    Star(3),
    PathPower(4, 2),
]


FEW, SOME = st.integers(1, 4), st.integers(1, 5)


@st.composite
def channels(draw, rows=FEW, columns=SOME):
    n, m = draw(rows), draw(columns)
    weights = st.integers(0, 6)
    table = [[draw(weights) for _ in range(m)] for _ in range(n)]
    for row in table:
        row[draw(st.integers(0, m - 1))] += 1
    return rational([[Fraction(w, sum(row)) for w in row] for row in table])


@st.composite
def private_mechanisms(draw):
    """A graph and an exactly ln(2)-private mechanism on it: mixtures of remapped ones."""
    graph = draw(st.sampled_from(GRAPHS))
    n, outputs = graph.size, draw(st.integers(2, 3))
    distances = graph.distance_matrix()
    # A mechanism private for any graph: a constant row plus little of a response by distance.
    parts = []
    for _ in range(outputs):
        node = draw(st.integers(0, n - 1))
        share = draw(st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1)]))
        parts.append([share / 2 ** int(distances[i, node]) for i in range(n)])
    scale = max(sum(column[i] for column in parts) for i in range(n)) * 2
    parts = [[x / scale for x in column] for column in parts]
    rest = [1 - sum(column[i] for column in parts) for i in range(n)]
    channel = rational([list(row) for row in zip(*parts, rest, strict=True)])
    if draw(st.booleans()):
        channel = make_maximally_general(channel, graph, "ln(2)").channel
    return graph, channel


@given(channels(), st.data())
def test_post_processing_is_always_derivable(channel, data):
    remap = data.draw(channels(rows=st.just(channel.shape[1])))
    made = cascade(channel, remap)
    found = derivable(made, channel)
    assert found
    assert found.exact
    assert equal(cascade(channel, found.remap), made).difference == 0


@given(channels(), channels())
def test_yes_and_no_are_both_proved(first, second):
    if first.shape[0] != second.shape[0]:
        return
    found = derivable(first, second)
    if found:
        assert equal(cascade(second, found.remap), first)
    else:
        # The witness, computed anew: no remap of the second reaches what the first gives.
        prior, gain = found.witness.prior, found.witness.gain
        values = []
        for channel in (first, second):
            rows, columns = channel.shape
            values.append(
                sum(
                    max(
                        sum(
                            prior[i] * gain[i][w] * channel.fraction(i, o)
                            for i in range(rows)
                        )
                        for w in range(len(gain[0]))
                    )
                    for o in range(columns)
                )
            )
        assert values[0] > values[1]


@given(channels(), st.data())
def test_the_order_is_reflexive_and_transitive(channel, data):
    assert derivable(channel, channel)
    once = cascade(channel, data.draw(channels(rows=st.just(channel.shape[1]))))
    twice = cascade(once, data.draw(channels(rows=st.just(once.shape[1]))))
    assert derivable(twice, channel)


@given(channels(), st.data())
def test_dobrushin_and_determinant_respect_the_order(channel, data):
    size = channel.shape[1]
    remap = data.draw(channels(rows=st.just(size), columns=st.just(size)))
    made = cascade(channel, remap)
    assert dobrushin(made) <= dobrushin(channel) + 1e-12
    if channel.shape[0] == size:
        assert determinant_utility(made) <= determinant_utility(channel)


@settings(max_examples=60)
@given(private_mechanisms())
def test_connected_column_graphs_are_exactly_maximal_generality(case):
    """[D, Thm 3.3.3; C, Thm 2.6] in both directions on random mechanisms."""
    graph, channel = case
    made = make_maximally_general(channel, graph, "ln(2)")
    assert maximally_general(made.channel, graph, "ln(2)")
    assert derivable(channel, made.channel)
    if maximally_general(channel, graph, "ln(2)"):
        assert derivable(made.channel, channel)
    else:
        # Not connected: something private is strictly more general.
        assert not derivable(made.channel, channel)


@settings(max_examples=40)
@given(private_mechanisms(), private_mechanisms(), st.integers(0, 4))
def test_nothing_private_is_strictly_above_a_maximal_mechanism(one, two, fifths):
    graph, channel = one
    top = make_maximally_general(channel, graph, "ln(2)").channel
    rivals = [
        make_maximally_general(
            IntegerChannel([[1]] * graph.size), graph, "ln(2)"
        ).channel
    ]
    if two[0] is graph:
        other = two[1]
        if other.shape == channel.shape:
            share = Fraction(fifths, 5)
            mixed = hidden_choice([channel, other], [share, 1 - share])
            rivals.append(make_maximally_general(mixed, graph, "ln(2)").channel)
    for rival in rivals:
        if derivable(top, rival):
            assert derivable(rival, top)


def test_the_two_directions_are_both_met():
    """The properties above are not empty: some mechanisms are maximal and some are not."""
    maximal = rational([["2/3", "1/3"], ["1/3", "2/3"]])
    assert maximally_general(maximal, PathPower(2), "ln(2)")
    coarse = rational([["3/5", "2/5"], ["2/5", "3/5"]])
    assert not maximally_general(coarse, PathPower(2), "ln(2)")
    assert derivable(coarse, maximal)
    assert np.isclose(dobrushin(maximal), -2 / 3)
