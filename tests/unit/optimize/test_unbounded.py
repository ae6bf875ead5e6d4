"""What noise on a lattice loses under a prior, held between the ends."""

import itertools

import numpy as np
import pytest

import tightrope as tr
from tightrope.channels import UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.optimize.unbounded import held_loss


def by_hand(noise: UnboundedNoise, consumer: Consumer, reach: int = 30) -> float:
    """Sum over all answers and all points of the lattice near 0."""
    lattice = noise.lattice
    places = itertools.product(range(-reach, reach + 1), repeat=lattice.parts)
    points = np.array(list(places))
    if lattice.form == "roots":
        points = points[points.sum(axis=1) == 0]
    up = np.maximum(points, 0).max(axis=1)
    down = np.maximum(-points, 0).max(axis=1)
    taxi = np.abs(points).sum(axis=1)
    away = {
        "cube": np.maximum(up, down),
        "range": up + down,
        "roots": taxi // 2,
        "cross": taxi,
    }
    law = noise.epsilon.alpha ** away[lattice.form].astype(float)
    law /= law.sum()
    total = 0.0
    for i, chance in enumerate(consumer.prior.probabilities):
        answer = np.array(noise.graph.label(i))
        held = np.clip(answer + points[:, : len(answer)], 0, lattice.people)
        errors = np.abs(held - answer)
        lost = {
            "absolute": errors.sum(axis=1),
            "squared": (errors**2).sum(axis=1),
            "distance": errors.max(axis=1),
            "binary": errors.max(axis=1) > 0,
        }
        total += chance * float(law @ lost[consumer.loss.name])
    return total


@pytest.mark.parametrize(
    ("text", "neighbours", "prior", "loss"),
    [
        ("counts(6,2)", "change-one", "uniform", "absolute"),
        ("counts(6,2)", "change-one", "uniform", "squared"),
        ("counts(6,2)", "change-one", "uniform", "distance"),
        ("counts(6,2)", "change-one", "uniform", "binary"),
        ("counts(6,2)", "change-one", "people(1/2,1/3)", "absolute"),
        ("counts(6,2)", "add-remove", "uniform", "squared"),
        ("histogram(6,3)", "change-one", "uniform", "absolute"),
        ("histogram(5,2)", "either", "uniform", "squared"),
        ("histogram(5,2)", "add-remove", "uniform", "absolute"),
    ],
)
def test_it_is_the_sum_over_answers_and_noise(text, neighbours, prior, loss):
    graph = tr.query(text, neighbours=neighbours).graph
    noise = UnboundedNoise(graph, 1)
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    held = held_loss(noise, consumer)
    assert held == pytest.approx(by_hand(noise, consumer), rel=1e-9)
    assert held < noise.worst(loss)


def test_without_a_rule_it_is_what_the_worst_answer_loses():
    graph = tr.query("histogram(6,3)").graph
    noise = UnboundedNoise(graph, 1)
    consumer = Consumer.of(graph, prior="uniform", loss="distance")
    assert held_loss(noise, consumer) == noise.worst("distance")
    assert by_hand(noise, consumer) < noise.worst("distance")
