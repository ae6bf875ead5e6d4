"""``design --out`` never writes what ``verify`` refuses: all families, relations, consumers."""

import pytest

from tightrope.certify import verify
from tightrope.certify.make import encode_label
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import ExplicitGraph
from tightrope.kinds import LOSSES
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.publish.intervals import read_label
from tightrope.publish.noise import interval_of
from tightrope.queries import FAMILIES, query

#: The register's own small examples: a new family is here by itself.
SMALL = [family.drawn or family.example for family in FAMILIES.values()]
LEVELS = {"change-one": "0.02", "add-remove": "ln(4)", "either": 1}


def consumers(graph):
    """Every named loss and a listed one, for a prior, for lumps, and for those who fear."""
    lumps = [i % 3 for i in range(graph.size)]
    prior = [x / sum(lumps) for x in lumps] if sum(lumps) else None
    listed = [[abs(i - k) % 3 / 7 for k in range(2)] for i in range(graph.size)]
    ends = [graph.label(0), graph.label(graph.size - 1)]
    for loss in (*LOSSES, listed):
        for knows in ({}, {"prior": prior}, {"support": "all"}, {"support": ends}):
            try:
                yield Consumer.of(graph, loss=loss, **knows)
            except InputError:  # labels that are no numbers
                assert loss in ("absolute", "squared")
                break


def check_intervals(made):
    """After a charge every output, as the ledger holds it, has an interval: nothing may fail."""
    for place in (0, made.shape[1] // 2, made.shape[1] - 1):
        answer = read_label(encode_label(made.output_label(place)))
        found = interval_of(made, answer)
        assert found.bounds or found.members
        assert found.as_dict()["text"] == str(found)


@pytest.mark.parametrize("relation", LEVELS)
@pytest.mark.parametrize("text", SMALL)
def test_every_family_relation_and_consumer(text, relation):
    asked = query(text, neighbours=relation)
    for consumer in consumers(asked.graph):
        best = design(asked, LEVELS[relation], consumer)
        made = prove(best, asked)
        found = verify(made)
        assert found.reasons == ()
        assert found.private_for_question is True
        assert found.question["query"] == asked.text
        assert best.certified
        # The exact proof loses next to nothing of what the design has.
        assert 0 <= found.optimal_within < 1e-6 * max(1, best.expected_loss)
        assert found.consumer["kind"] == (
            "risk-averse" if consumer.risk_averse else "Bayesian"
        )
        check_intervals(made)


@pytest.mark.parametrize("loss", ["binary", "distance"])
@pytest.mark.parametrize(
    "edges", [[(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2)], [(0, 1), (0, 2)]]
)
def test_graphs_of_ones_own_with_lengths(edges, loss):
    graph = ExplicitGraph(
        edges, lengths=[1.0, 2.0, 2.5][: len(edges)], labels=["a", "b", (1, None)]
    )
    for knows in ({}, {"support": "all"}):
        found = verify(
            prove(design(graph, 0.7, Consumer.of(graph, loss=loss, **knows)))
        )
        assert (found.reasons, found.private, found.private_for_question) == (
            (),
            True,
            None,
        )
        assert found.optimal_within < 1e-9


@pytest.mark.parametrize(
    ("text", "level", "knows"),
    [
        ("cycle(1100)", 1, {}),
        ("databases(3,2)", 0.02, {"loss": "distance"}),
        ("count(1100)", "ln(4)", {"loss": "absolute"}),
        ("count(1200)", "0.1", {"loss": "squared"}),
        ("sum(300,5)", 2, {}),
        ("counts(40,2)", 2, {}),
        ("databases(5,4)", 1, {}),
        ("tree(2,9)", 1.5, {}),
        ("count(200)", "ln(4)", {"loss": "absolute", "support": "all"}),
    ],
)
def test_large_questions(text, level, knows):
    asked = query(text)
    made = prove(design(asked, level, Consumer.of(asked.graph, **knows)), asked)
    found = verify(made)
    assert (found.reasons, found.private_for_question) == ((), True)
    check_intervals(made)
    assert found.optimal_within is not None
    assert found.optimal_within < 1e-6 * max(1, made.expected_loss)
