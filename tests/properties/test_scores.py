"""How far mechanisms by score are from the best one that sees the whole table.

For small tables the best mechanism is known: a design on the histogram graph, whose answers are
all the counts, with the loss of the answer that the counts have.
"""

import numpy as np
import pytest

import tightrope as tr
from tightrope.certify import by_score
from tightrope.consumers import MatrixLoss


def losses(question, counts):
    """What each output costs under each table: how much smaller its count, or how far in rank."""
    made = by_score(question, 1)
    part = 1 if made.rank is None else made.rank.denominator
    return np.array([made.gaps(row) for row in counts], float) / part


def compared(table, question, relation, epsilon):
    asked = tr.query(table, neighbours=relation)
    counts = [asked.graph.label(i) for i in range(asked.graph.size)]
    cost = losses(question, counts)
    consumer = tr.Consumer(prior=tr.Prior.uniform(len(counts)), loss=MatrixLoss(cost))
    best = tr.design(asked, epsilon, consumer)
    assert best.certified
    made = by_score(question, epsilon, relation)
    chances = np.array([[float(p) for p in made.chances(row)] for row in counts])
    by_scores = float((chances * cost).sum(axis=1).mean())
    # One that sees only the true answer: right with e^ε : 1 against each other one.
    values, odds = cost.shape[1], np.exp(float(tr.Epsilon.of(epsilon)))
    truth = cost.argmin(axis=1)
    answers = np.ones_like(cost)
    answers[np.arange(len(cost)), truth] = odds
    oblivious = float((answers * cost).sum(axis=1).mean() / (odds + values - 1))
    return best.expected_loss, by_scores, oblivious


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_of_two_values_permute_and_flip_is_best(epsilon):
    best, by_scores, oblivious = compared(
        "histogram(20,2)", "commonest(2)", "change-one", epsilon
    )
    assert by_scores == pytest.approx(best, rel=1e-9)
    assert oblivious > 5 * best


@pytest.mark.parametrize(
    ("table", "question", "relation", "within"),
    [
        ("histogram(12,3)", "commonest(3)", "change-one", 0.16),
        ("histogram(6,3)", "commonest(3)", "add-remove", 0.06),
        ("histogram(6,4)", "commonest(4)", "change-one", 0.22),
        # Ranks of few values are known to little less than one person's, which scores ignore.
        ("histogram(9,4)", "quantile(1/2,4)", "change-one", 1.9),
        ("histogram(5,4)", "quantile(1/2,4)", "add-remove", 2.1),
    ],
)
def test_how_far_from_the_best(table, question, relation, within):
    best, by_scores, oblivious = compared(table, question, relation, "1")
    assert best <= by_scores * (1 + 1e-9)
    assert by_scores <= (1 + within) * best
    assert oblivious > by_scores
