"""Verdicts on universal optimality."""

import numpy as np
import pytest

from tightrope.axioms import Refutation, universality
from tightrope.axioms.universality import Universal
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import Clique, ExplicitGraph, PathPower, Star
from tightrope.queries import query


@pytest.mark.parametrize(
    ("question", "epsilon", "loss", "kind", "verdict", "theorem"),
    [
        ("count(5)", 1, "binary", "bayesian", "yes", "C, Thm 2.7"),
        ("count(5)", 1, "squared", "risk-averse", "yes", "C, Thm 2.8"),
        ("count(5)", 1, "monotone", "bayesian", "yes", "C, Thm 2.7"),
        ("sum(3,2)", 1, "binary", "bayesian", "no", "C, Thm 3.4"),
        ("sum(3,2)", 1, "binary", "risk-averse", "no", "C, Thm 3.4"),
        ("histogram(2,3)", "ln(2)", "binary", "risk-averse", "no", "C, Thm 3.5"),
        ("histogram(2,3)", "ln(2)", "distance", "bayesian", "no", "C, Thm 3.5"),
        ("counts(3,2)", 1, "binary", "bayesian", "no", "C, Thm 3.6"),
        ("choice(4)", 1, "binary", "bayesian", "no", "C, Claim 3.3"),
        ("cycle(4)", 1, "binary", "bayesian", "no", "C, Thm 4.2"),
        ("petersen", 1, "binary", "bayesian", "no", "C, Thm 4.2"),
        ("star(3)", "ln(2)", "binary", "bayesian", "yes", "tree theorem"),
        (
            "star(3)",
            "ln(2)",
            "binary",
            "risk-averse",
            "yes",
            "tree theorem and minimax duality",
        ),
        ("star(3)", "ln(1.99)", "binary", "bayesian", "no", "C, Thm 4.3"),
        ("star(3)", "ln(1.5)", "monotone", "bayesian", "no", "C, Thm 4.3"),
        ("star(5)", "ln(4)", "binary", "bayesian", "yes", "tree theorem"),
        ("star(5)", "ln(3.99)", "binary", "bayesian", "no", "C, Thm 4.3"),
        (
            "star(3)",
            "ln(1.5)",
            "binary",
            "risk-averse",
            "no",
            "linear program over rays",
        ),
        ("sum(2,2)", 1, "absolute", "bayesian", "no", "linear program over rays"),
        ("cycle(4)", 1, "binary", "risk-averse", "no", "linear program over rays"),
        ("star(3)", 1, "distance", "bayesian", "open", "none"),
    ],
)
def test_verdicts(question, epsilon, loss, kind, verdict, theorem):
    found = universality(question, epsilon, loss, kind=kind)
    assert (found.verdict, found.theorem) == (verdict, theorem)
    told = found.as_dict()
    assert {"verdict", "reason", "witness"} <= told.keys()
    assert str(found).startswith(verdict)
    if verdict == "yes":
        assert isinstance(found.witness, Universal)
        assert is_private(found.witness.channel, query(question).graph, epsilon)
    elif verdict == "no":
        assert isinstance(found.witness, Refutation)
        assert len(found.witness.consumers()) >= 2
    else:
        assert found.witness is None


def test_a_path_in_any_order_of_its_nodes():
    graph = ExplicitGraph([(2, 0), (0, 3), (3, 1)])
    found = universality(graph, "ln(2)")
    assert found.verdict == "yes"
    assert is_private(found.witness.channel, graph, "ln(2)")


def test_a_loss_that_is_not_monotone_is_not_served_on_a_path():
    loss = [[0, 2, 1], [1, 0, 1], [2, 1, 0]]
    found = universality(PathPower(3), "ln(2)", loss)
    assert found.theorem != "C, Thm 2.7"


def test_lengths():
    # Both edges of length 2: the same as ε doubled.
    even = ExplicitGraph([(0, 1), (0, 2), (0, 3)], lengths=[2.0, 2.0, 2.0])
    assert universality(even, "ln(2)").verdict == "yes"
    assert universality(even, "ln(1.4)").verdict == "no"
    uneven = ExplicitGraph([(0, 1), (0, 2), (0, 3)], lengths=[2.0, 1.0, 3.0])
    assert universality(uneven, "ln(2)").verdict == "yes"
    assert universality(uneven, "ln(1.1)").verdict == "open"
    ring = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0)], lengths=[1.0, 2.0, 1.0, 1.0])
    assert universality(ring, 1).verdict == "open"


def test_margins_are_told():
    close = universality(Star(3), "0.6931471805599453")
    assert close.verdict == "no"
    assert -1e-15 < close.margin < 0
    assert universality(Star(3), "ln(2)").margin == 0


def test_large_graphs_are_answered_by_rule():
    assert universality("count(1000000)", 1).verdict == "yes"
    found = universality("databases(20,4)", 1)
    assert found.verdict == "no"
    assert found.witness.labellings == ()


def test_without_a_search_a_case_stays_open():
    assert (
        universality("cycle(4)", 1, kind="risk-averse", search=False).verdict == "open"
    )


def test_found_consumers_really_conflict():
    found = universality(PathPower(5, 2), 1, "absolute")
    proof = found.witness
    assert not proof.exact
    assert proof.together < proof.apart
    assert all(isinstance(c, Consumer) for c in proof.consumers())
    assert np.isfinite(found.margin)


def test_refusals():
    with pytest.raises(InputError, match="risk-averse"):
        universality("count(5)", 1, kind="hopeful")
    with pytest.raises(InputError, match="unknown loss"):
        universality(Clique(3), 1, "nonsense")


def test_losses_in_other_units():
    five = 5 * (1 - np.eye(3))
    found = universality(Clique(3), "ln(2)", five)
    one = universality(Clique(3), "ln(2)")
    assert found.witness.optimal_losses == tuple(
        5 * lost for lost in one.witness.optimal_losses
    )
    # The solver's tolerance must not count as a regret, nor hide one.
    for unit in (1e9, 1e-9):
        assert universality(Star(3), "ln(2)", unit * (1 - np.eye(4))).verdict == "open"
        assert universality(Star(3), "ln(1.5)", unit * (1 - np.eye(4))).verdict == "no"


def test_a_single_answer():
    one = ExplicitGraph([], size=1)
    for kind in ("bayesian", "risk-averse"):
        assert universality(one, 1, kind=kind).verdict == "yes"
        assert universality(one, 1, [[0, 1]], kind=kind).verdict == "open"
