"""Rounding to integers."""

import re
from fractions import Fraction

import numpy as np
import pytest

from tightrope.certify import certify
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.weights import (
    MOVED_LIMIT,
    _privacy_closure,
    _times,
    round_channel,
)
from tightrope.channels import Channel, GeometricChannel
from tightrope.errors import CheckFailed
from tightrope.graphs import ExplicitGraph, PathPower

LINE = Graph("box", 4, ((4, 1),))
LISTED = Graph("list", 4, (), np.array([[0, 1], [1, 2], [2, 3]]), np.zeros(3, np.int64))


@pytest.mark.parametrize(
    "ratio", ["2", "3/2", "28245729/10391023", "99999999999/77777777777"]
)
def test_times_rounds_up(ratio):
    ratio = Fraction(ratio)
    w = np.concatenate(
        [np.random.default_rng(0).integers(0, 1 << 62, 300), [0, 1, 2, (1 << 62) - 1]]
    )
    found = _times(w, ratio.numerator, ratio.denominator)
    wanted = [-(-int(x) * ratio.denominator // ratio.numerator) for x in w]
    assert found.tolist() == wanted


@pytest.mark.parametrize("graph", [LINE, LISTED], ids=["box", "listed"])
def test_the_smallest_private_columns_above(graph):
    weights = np.array([[8, 0], [0, 0], [0, 5], [0, 0]])
    _privacy_closure(weights, graph, [Fraction(2)])
    assert weights.T.tolist() == [[8, 4, 2, 1], [2, 3, 5, 3]]


@pytest.mark.parametrize("graph", [LINE, LISTED], ids=["box", "listed"])
def test_both_descriptions_of_a_graph_round_alike(graph):
    found = round_channel(GeometricChannel(4, "ln(2)"), graph, [Fraction(2)])
    other = round_channel(GeometricChannel(4, "ln(2)"), LINE, [Fraction(2)])
    weights = found.sections["weights"]
    assert weights.tolist() == other.sections["weights"].tolist()
    assert (weights.sum(axis=0) == 2**62).all()


@pytest.mark.parametrize(
    "graph", [PathPower(4), ExplicitGraph([(0, 1), (1, 2), (2, 3)])]
)
def test_the_violated_pair_is_named(graph):
    bad = np.full((4, 2), 0.5)
    bad[2] = [0.9, 0.1]
    with pytest.raises(
        CheckFailed, match=r"output 1 is 5 times as likely for row [13] as for row 2"
    ):
        certify(Channel(bad), graph, "ln(2)")


@pytest.mark.parametrize(
    ("outputs", "epsilon"), [(4, "1e-9"), (40, "1e-8"), (300, "1e-7")]
)
def test_a_refusal_says_what_is_more_than_the_limit(outputs, epsilon):
    """Rows of nearly equal weights may differ by so little that the rest must be large."""
    with pytest.raises(CheckFailed, match="rounding to integers would move") as refused:
        certify(GeometricChannel(outputs, epsilon), f"path({outputs})", epsilon)
    share, limit = map(float, re.findall(r"[0-9.]+e-[0-9]+", str(refused.value)))
    assert share > limit == MOVED_LIMIT
