import numpy as np
import pytest

from tightrope import query
from tightrope.channels import Channel, KroneckerChannel
from tightrope.errors import InputError, TooLarge
from tightrope.leakage import individual_bound, individual_leakage
from tightrope.leakage.measures import leakage_of_sets, reachable
from tightrope.mechanisms import (
    exponential,
    geometric,
    highest_leakage,
    randomized_response,
)


@pytest.mark.parametrize("text", ["count(4)", "sum(3,2)", "sum(2,3)", "sum(1,4)"])
def test_windows_by_rule_and_by_going_through_all_databases(text: str) -> None:
    question = query(text)
    for channel in (geometric(question.graph, 0.8), exponential(question.graph, 0.8)):
        found = individual_leakage(channel, question)
        dense = individual_leakage(Channel(channel.matrix()), question)
        slow = leakage_of_sets(channel, reachable(question))
        assert found.bits == pytest.approx(slow.bits)
        assert dense.bits == pytest.approx(slow.bits)
        assert len(found.answers) == len(question.values or ())
        assert found.exact


def test_databases_by_their_factors_and_by_lines() -> None:
    question = query("databases(3,2)")
    channel = highest_leakage(3, 2, 1)
    found = individual_leakage(channel, question)
    assert found.bits == pytest.approx(individual_bound(2, 1).bits)
    slow = leakage_of_sets(channel, reachable(question))
    assert found.bits == pytest.approx(slow.bits)
    assert leakage_of_sets(channel, [found.answers]).bits == pytest.approx(found.bits)


def test_the_worst_person_counts() -> None:
    loud, quiet = Channel(np.eye(2)), Channel(np.full((2, 2), 0.5))
    found = individual_leakage(
        KroneckerChannel([quiet, loud, quiet]), query("databases(3,2)")
    )
    assert found.bits == 1
    assert found.answers == (0, 2)


def test_a_graph_alone_gives_an_upper_bound_over_cliques() -> None:
    question = query("petersen")
    found = individual_leakage(exponential(question.graph, 1), question)
    assert not found.exact
    assert len(found.answers) == 2
    cities = query("choice(6)")
    everything = individual_leakage(randomized_response(6, 1), cities)
    assert everything.bits == pytest.approx(individual_bound(6, 1).bits)


def test_too_many_databases_give_an_upper_bound_by_adjacency() -> None:
    large, small = query("count_mod(60,5)"), query("count_mod(6,5)")
    channel = exponential(large.graph, 1)
    bound, exact = (
        individual_leakage(channel, large),
        individual_leakage(channel, small),
    )
    assert (bound.exact, exact.exact) == (False, True)
    assert bound.bits == pytest.approx(exact.bits)


def test_what_cannot_be_gone_through_is_refused() -> None:
    with pytest.raises(TooLarge, match="fewer people"):
        list(reachable(query("count_mod(60,5)")))
    coming = query("mean(9,8)", neighbours="add-remove")
    with pytest.raises(TooLarge, match="come and go"):
        individual_leakage(randomized_response(coming.graph, 1), coming)


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize("text", ["sum(3,2)", "count(3)", "counts(2,2)", "mean(2,2)"])
def test_absence_is_a_value_where_it_is_possible(text: str, relation: str) -> None:
    question = query(text, neighbours=relation)
    channel = exponential(question.graph, 1)
    found = individual_leakage(channel, question)
    sets = list(reachable(question))
    assert found.bits == pytest.approx(leakage_of_sets(channel, sets).bits)
    assert question.values is not None
    values = len(question.values) + (relation != "change-one")
    assert max(map(len, sets)) <= values
    if relation != "add-remove":
        assert found.bits <= individual_bound(values, 1).bits + 1e-12


def test_the_channel_must_fit_the_query() -> None:
    with pytest.raises(InputError, match="one row for each"):
        individual_leakage(randomized_response(3, 1), query("count(5)"))


def test_without_privacy_the_bound_is_broken() -> None:
    question = query("count(4)")
    found = individual_leakage(Channel(np.eye(5)), question)
    assert found.bits > individual_bound(2, 1).bits


def test_factors_that_are_not_the_people() -> None:
    """One person's four values as two bits: both factors tell about the person."""
    bit = randomized_response(2, 1)
    found = individual_leakage(KroneckerChannel([bit, bit]), query("databases(1,4)"))
    assert found.bits == pytest.approx(2 * individual_bound(2, 1).bits)
