"""Under a limit on loss or vulnerability: the bound holds for every mechanism, and is reached."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.properties.strategies import connected_graphs, priors, private_channels

from tightrope import Epsilon
from tightrope.certify import verify
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.optimize import design, design_limited
from tightrope.proofs import prove

LEVELS = (None, "ln(2)", "1/5", "2")


@st.composite
def requests(draw):
    """A graph, a reader, an attacker with actions of his own now and then, and a level."""
    graph = draw(connected_graphs(min_size=2, max_size=7, lengths=draw(st.booleans())))
    n = graph.size
    loss = draw(st.sampled_from(["binary", "distance", "absolute"]))
    consumer = Consumer.of(graph, prior=draw(priors(n)).tolist(), loss=loss)
    gain = None
    if draw(st.booleans()):
        rows = st.lists(st.integers(0, 3), min_size=n, max_size=n)
        # An attacker who can gain nothing limits nothing, and no file says so.
        gain = np.array(draw(st.lists(rows, min_size=1, max_size=4)), float)
        assume((gain * consumer.prior.probabilities).any())
    return graph, consumer, gain, draw(st.sampled_from(LEVELS))


def measured(matrix, consumer, gain):
    """Loss with the best guess for each output, and vulnerability."""
    prior = consumer.prior.probabilities
    joint = prior[:, None] * matrix
    loss = (joint.T @ consumer.loss.matrix()).min(axis=1).sum()
    table = np.eye(len(prior)) if gain is None else gain
    return loss, (table @ joint).max(axis=0).sum()


@settings(max_examples=25)
@given(requests(), st.data())
def test_the_bound_holds_for_every_mechanism_under_the_limit(asked, data) -> None:
    graph, consumer, gain, level = asked
    other = data.draw(private_channels(graph, Epsilon.of(level or 3)))
    loss, leak = measured(other, consumer, gain)
    by_leak = design_limited(
        graph, consumer, epsilon=level, max_vulnerability=leak + 1e-12, gain=gain
    )
    assert by_leak.bound <= loss + 1e-9
    by_loss = design_limited(
        graph, consumer, epsilon=level, max_loss=loss + 1e-12, gain=gain
    )
    assert by_loss.bound <= leak + 1e-9


@settings(max_examples=25)
@given(requests(), st.floats(0, 1), st.booleans())
def test_designs_under_a_limit_are_certified(asked, share, leaks) -> None:
    graph, consumer, gain, level = asked
    prior = consumer.prior.probabilities
    attack = (np.eye(graph.size) if gain is None else gain) * prior
    low, high = attack.sum(axis=1).max(), attack.max(axis=0).sum()
    limit = {"max_vulnerability": float(low + share * (high - low))}
    if not leaks:
        flat = (prior[:, None] * consumer.loss.matrix()).sum(axis=0).min()
        limit = {"max_loss": float(share * flat)}
        least = 0.0 if level is None else design(graph, level, consumer).expected_loss
        if limit["max_loss"] < least * (1 - 1e-9):
            with pytest.raises(InputError, match="at least"):
                design_limited(graph, consumer, epsilon=level, gain=gain, **limit)
            return
    found = design_limited(graph, consumer, epsilon=level, gain=gain, **limit)
    assert found.certified
    assert found.gap <= 1e-9
    proved = found.certificate.checked_bound()
    assert proved >= found.bound - 1e-15
    kept, value = found.vulnerability, found.expected_loss
    if not leaks:
        kept, value = value, kept
    assert kept <= found.limit + 1e-9 * max(found.limit, 1e-3)
    assert value >= found.bound
    matrix = found.channel.matrix()
    assert matrix.sum(axis=1) == pytest.approx(np.ones(graph.size), abs=1e-12)
    if level is None:
        return
    assert is_private(found.channel, graph, level)
    mechanism = prove(found)
    verdict = verify(mechanism)
    assert verdict.reasons == ()
    assert 0 <= float(verdict.optimal_within) <= 2e-9 * max(value, 1e-3)
    # Integer weights keep the limit, unless hardly any mechanism does.
    stated = float(Fraction(mechanism.header["limit"]["most"]))
    assert stated == pytest.approx(found.limit, rel=1e-9, abs=1e-12)
