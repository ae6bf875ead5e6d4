"""One mechanism for many consumers."""

import numpy as np
import pytest

from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import Band, Cycle
from tightrope.optimize import design_many


def claim_4_4(graph: Cycle) -> list[Consumer]:
    """The two consumers of [C, Claim 4.4]: uniform on the cycle, uniform on three in a row."""
    three = [1 / 3] * 3 + [0.0] * (graph.size - 3)
    return [
        Consumer.of(graph, prior="uniform", loss="binary"),
        Consumer.of(graph, prior=three, loss="binary"),
    ]


@pytest.mark.parametrize("level", ["ln(2)", "1/2"])
def test_claim_4_4_has_a_positive_regret_on_the_cycle(level: str) -> None:
    graph = Cycle(5)
    found = design_many(graph, level, claim_4_4(graph))
    assert found.certified
    assert found.worst_regret > 1e-4
    assert found.bound == pytest.approx(found.worst_regret, abs=1e-8)
    assert found.regrets.max() == found.worst_regret
    assert is_private(found.channel, graph, level)


def test_regret_vanishes_on_a_path() -> None:
    rng = np.random.default_rng(0)
    graph = Band(6)
    consumers = [
        Consumer.of(graph, prior=rng.dirichlet(np.ones(6)).tolist(), loss=loss)
        for loss in ["binary", "absolute", "squared", "binary", "absolute"] * 2
    ]
    found = design_many(graph, "ln(2)", consumers)
    assert found.worst_regret <= 1e-12
    assert found.certified
    assert len(found.as_dict()["consumers"]) == 10


def test_one_consumer_has_no_regret() -> None:
    graph = Band(5, 2)
    found = design_many(graph, 1, [Consumer.of(graph, prior="0.1,0.3,0.2,0.3,0.1", loss="binary")])
    assert found.worst_regret <= 1e-9


def test_requests_without_sense_are_refused() -> None:
    graph = Band(4)
    with pytest.raises(InputError, match="at least one consumer"):
        design_many(graph, 1, [])
    with pytest.raises(InputError, match="consumers with priors"):
        design_many(graph, 1, [Consumer.of(graph, support="all", loss="binary")])
    with pytest.raises(InputError, match="4 answers"):
        design_many(graph, 1, [Consumer.of(Band(5), prior="uniform", loss="binary")])
