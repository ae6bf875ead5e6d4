import json
import math

import pytest

from tightrope.channels import Channel
from tightrope.consumers import Prior, ProductPrior
from tightrope.errors import InputError
from tightrope.graphs import Clique, Databases, PathPower
from tightrope.leakage import analyse, database_bound
from tightrope.mechanisms import (
    exponential,
    geometric,
    highest_leakage,
    randomized_response,
)


def test_the_keys_of_the_command() -> None:
    found = analyse(geometric(PathPower(6), "ln(2)"), PathPower(6))
    assert set(json.loads(json.dumps(found.as_dict()))) == {
        "utility",
        "min_entropy_leakage_bits",
        "min_capacity_bits",
        "shannon_leakage_bits",
        "maximally_general",
        "dobrushin",
        "epsilon",
    }
    assert found.epsilon == pytest.approx(math.log(2))
    assert len(found.sentences) == 6


def test_general_and_not() -> None:
    clique = Clique(4)
    assert analyse(randomized_response(4, 1), clique).maximally_general is True
    assert analyse(geometric(clique, 1), clique).maximally_general is False
    # At a level above its own no constraint is tight.
    looser = analyse(randomized_response(4, 1), clique, epsilon=2)
    assert looser.maximally_general is False
    assert looser.epsilon == pytest.approx(1)


def test_a_channel_without_privacy() -> None:
    found = analyse(Channel([[1.0, 0.0], [0.5, 0.5]]), PathPower(2))
    assert found.epsilon == math.inf
    assert found.as_dict()["epsilon"] is None
    assert found.maximally_general is None
    assert "no ε holds" in " ".join(found.sentences)


def test_a_channel_that_tells_nothing() -> None:
    found = analyse(Channel([[0.5, 0.5], [0.5, 0.5]]), PathPower(2))
    assert (found.epsilon, found.maximally_general, found.dobrushin) == (0, False, -1)
    assert found.min_capacity_bits == found.shannon_leakage_bits == 0


def test_databases_are_not_listed() -> None:
    graph = Databases(20, range(4))
    people = ProductPrior([Prior([0.3, 0.27, 0.23, 0.2])] * 20)
    for channel in (highest_leakage(20, 4, 1), exponential(graph, 1)):
        found = analyse(channel, graph, people)
        assert found.min_capacity_bits == pytest.approx(database_bound(20, 4, 1).bits)
        assert found.maximally_general is True
        assert found.dobrushin is None
        assert found.epsilon == pytest.approx(1)


def test_sizes_must_agree() -> None:
    with pytest.raises(InputError, match="one row for each of the 3 answers"):
        analyse(Channel([[1.0], [1.0]]), PathPower(3))
