"""Every registered loss and prior can be made from its example."""

import pytest

import tightrope as tr
from tightrope.consumers import Loss, Prior, loss, prior
from tightrope.kinds import LOSSES, PRIORS, RELATIONS
from tightrope.queries import Neighbours

FITTING = {"people": "sum(3,2)", "product": "databases(3,2)"}


@pytest.mark.parametrize("kind", LOSSES.values(), ids=lambda kind: kind.name)
def test_losses(kind) -> None:
    made = loss(kind.example or kind.form, tr.query("sum(3,2)").graph)
    assert isinstance(made, Loss)
    assert made.name == kind.name
    assert made.at(2, 2) == 0 < made.at(0, 3)
    assert kind.about


@pytest.mark.parametrize("kind", PRIORS.values(), ids=lambda kind: kind.name)
def test_priors(kind) -> None:
    graph = tr.query(FITTING.get(kind.name, "sum(3,2)")).graph
    made = prior(kind.example or kind.form, graph)
    assert isinstance(made, Prior)
    assert made.size == graph.size
    assert sum(made.exact) == 1
    assert kind.about


def test_the_relations_are_those_of_queries() -> None:
    assert list(RELATIONS) == [relation.value for relation in Neighbours]
