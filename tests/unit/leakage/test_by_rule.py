import numpy as np
import pytest

from tightrope.channels import Channel, KroneckerChannel
from tightrope.consumers import Prior, ProductPrior
from tightrope.consumers.evaluate import parts
from tightrope.graphs import Clique, Databases, PathPower, Star
from tightrope.leakage.measures import symmetric_information
from tightrope.mechanisms import exponential, geometric
from tightrope.phi import Phi


def test_parts_are_counted_once_for_each_object() -> None:
    one, two = Channel(np.eye(2)), Channel(np.eye(3))
    split = parts(KroneckerChannel([one, two, one, one]), Prior.uniform(24))
    assert split is not None
    assert [(p.channel is one, p.times) for p in split] == [(True, 3), (False, 1)]


def test_a_scaled_phi_on_databases_splits_too() -> None:
    split = parts(exponential(Databases(7, range(3)), 1), Prior.uniform(3**7))
    assert split is not None
    assert [(p.channel.shape, p.times) for p in split] == [((3, 3), 7)]
    assert np.allclose(split[0].channel.matrix().sum(axis=1), 1)


def test_what_does_not_split() -> None:
    crowd = KroneckerChannel([Channel(np.eye(2))] * 2)
    assert parts(crowd, Prior([0.7, 0.1, 0.1, 0.1])) is None
    assert parts(crowd, ProductPrior([Prior([0.4, 0.3, 0.2, 0.1])] * 1)) is None
    assert parts(geometric(PathPower(4), 1), Prior.uniform(4)) is None
    assert (
        parts(
            exponential(Databases(2, range(2), absent=True, change=False), 1),
            Prior.uniform(9),
        )
        is None
    )


def test_rules_say_none_where_they_do_not_apply() -> None:
    dense = Channel(np.eye(2))
    assert symmetric_information(dense) is None
    assert symmetric_information(geometric(Clique(3), 1)) is None


@pytest.mark.parametrize(
    "graph", [Star(5), Databases(3, range(2)), PathPower(9, 3)], ids=str
)
def test_the_reach_of_a_known_answer_falls_with_distance(graph: Star) -> None:
    reached = Phi(graph, 0.4).reach(Prior.point(graph.size, 1).probabilities)
    assert reached == pytest.approx(np.exp(-0.4 * graph.distances_from(1)))
