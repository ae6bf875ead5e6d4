"""Refutations by a shortest cycle [C, §4.1, 4.2]."""

from fractions import Fraction

import pytest

from tightrope.axioms import cycle_labelling
from tightrope.axioms.universality import neighbours_differ_by_one, refute_by_cycle
from tightrope.channels import is_private
from tightrope.consumers import expected_loss
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import Clique, Cycle, ExplicitGraph, petersen
from tightrope.graphs.shapes import shortest_cycle


@pytest.mark.parametrize("m", range(3, 9))
def test_both_mechanisms_reach_the_losses_claimed(m):
    graph = Cycle(m)
    proof = refute_by_cycle(graph, tuple(range(m)), "ln(2)")
    assert proof.exact
    for consumer, lost, mechanism in zip(
        proof.consumers(), proof.optimal_losses, proof.mechanisms, strict=True
    ):
        assert is_private(mechanism, graph, "ln(2)").exact
        assert expected_loss(mechanism, consumer) == pytest.approx(
            float(lost), abs=1e-12
        )
    assert not proof.derivation
    assert proof.derivation.exact
    assert proof.derivation.witness.margin > 0


def test_labels_reach_the_whole_graph():
    graph = petersen()
    cycle = shortest_cycle(graph)
    labels = cycle_labelling(graph, cycle)
    assert neighbours_differ_by_one(graph, labels, 5)
    assert [labels[i] for i in cycle] == [0, 1, 2, 3, 4]
    assert not neighbours_differ_by_one(graph, tuple(range(10)), 10)


def test_a_longer_cycle_is_noticed():
    # The cycle 0-1-2-3 has the chord 0-2: it is not a shortest one.
    graph = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    with pytest.raises(CheckFailed, match="not a shortest cycle"):
        refute_by_cycle(graph, (0, 1, 2, 3), "ln(2)")


def test_risk_averse_consumers_on_odd_cycles():
    proof = refute_by_cycle(Cycle(5), (0, 1, 2, 3, 4), "ln(2)", kind="risk-averse")
    assert proof.supports == ((0, 1, 2, 3, 4), (0, 1))
    assert proof.optimal_losses == (Fraction(3, 5), Fraction(1, 3))
    with pytest.raises(InputError, match="even cycle"):
        refute_by_cycle(Cycle(4), (0, 1, 2, 3), "ln(2)", kind="risk-averse")


def test_as_dict_is_readable():
    told = refute_by_cycle(Clique(3), (0, 1, 2), "ln(2)").as_dict()
    assert told["consumers"][0]["support"] == [0, 1, 2]
    assert told["consumers"][0]["optimal_loss"] == Fraction(1, 2)
    assert told["labellings"] == [[0, 1, 2], [0, 1, 1]]
    assert (
        told["failing_derivation"]["gain_first"]
        > told["failing_derivation"]["gain_second"]
    )


@pytest.mark.parametrize(("m", "level"), [(100_000, "ln(2)"), (5000, 0.5)])
def test_a_proof_that_would_take_hours_is_refused(m, level):
    with pytest.raises(TooLarge, match=f"cycle of {m} nodes"):
        refute_by_cycle(Cycle(m), tuple(range(m)), level)


def test_a_long_cycle_is_refuted_without_its_whole_mechanism():
    proof = refute_by_cycle(Cycle(1500), tuple(range(1500)), "ln(2)")
    assert (proof.mechanisms, proof.derivation.derivable) == ((), False)
