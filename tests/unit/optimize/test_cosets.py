"""Every s-th answer of a line: distances, bounds and mechanisms."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tightrope as tr
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed
from tightrope.graphs import PathPower
from tightrope.graphs.lines import cosets_of, width_of_line
from tightrope.optimize import cosets
from tightrope.optimize.cosets import _with_stride, cosets_route
from tightrope.optimize.task import Task


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 12))
def test_a_coset_has_the_distances_of_the_line(size, width, stride):
    line = PathPower(size, width).distance_matrix()
    parts = cosets_of(size, width, stride)
    assert sorted(i for part in parts for i in part.answers.tolist()) == list(
        range(size)
    )
    for part in parts:
        inside = line[np.ix_(part.answers, part.answers)]
        assert np.array_equal(inside, part.graph.distance_matrix())


@pytest.mark.parametrize(
    ("size", "width", "loss", "level", "seed"),
    [
        (26, 9, "absolute", 0.2, 1),
        (31, 13, "absolute", 2.0, 2),
        (26, 17, "squared", 1.0, 3),
        (36, 19, "squared", 0.3, 4),
        (31, 9, "distance", 1.0, 5),
    ],
)
def test_cosets_bound_the_optimum_from_both_sides(size, width, loss, level, seed):
    graph = PathPower(size, width)
    prior = np.random.default_rng(seed).dirichlet(np.ones(size))
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    best = tr.design(graph, level, consumer, gap=1e-6)
    task = Task(graph, best.epsilon, consumer)
    rough = _with_stride(task, width, 2)
    rounding = 1e-6 * best.expected_loss
    assert rough.bound <= best.expected_loss + rounding
    assert rough.expected_loss >= best.bound - rounding
    assert is_private(rough.channel, graph, best.epsilon)
    # Pricing on each coset again proves the same.
    assert rough.certificate.checked_bound() >= rough.bound - rounding


@pytest.mark.parametrize("loss", ["absolute", "squared", "distance"])
def test_cosets_of_one_step_are_paths(loss):
    graph = PathPower(101, 4)
    consumer = Consumer.of(graph, prior="uniform", loss=loss)
    best = tr.design(graph, 0.2, consumer, gap=1e-6)
    rough = _with_stride(Task(graph, best.epsilon, consumer), 4, 4)
    assert best.bound * 0.9 < rough.bound <= best.expected_loss
    assert is_private(rough.channel, graph, best.epsilon)
    checked = rough.certificate.checked_bound()
    assert checked == pytest.approx(rough.bound, rel=1e-9)


def test_a_guess_between_answers_of_a_coset_is_no_nearer_than_the_next_above():
    line = PathPower(60, 7).distance_matrix()
    for part in cosets_of(60, 7, 3):
        for k in range(part.answers[-1]):
            above = part.answers[part.answers >= k][0]
            assert (line[part.answers, k] >= line[part.answers, above]).all()


def test_a_later_round_that_fails_leaves_the_first(monkeypatch):
    task = Task.of(PathPower(3000, 40), 0.2, prior="binomial(.3)", loss="absolute")
    first = cosets_route(task).solve
    real = cosets._with_stride
    rounds = []

    def once(*given):
        if rounds:
            raise CheckFailed("the linear program was not solved")
        rounds.append(given)
        return real(*given)

    monkeypatch.setattr(cosets, "_with_stride", once)
    assert first().gap < 0.05


@pytest.mark.parametrize(
    ("text", "prior", "loss", "stride"),
    [
        ("median(4,150)", "binomial(.3)", "absolute", 19),
        ("median(5,150)", "uniform", "absolute", 19),
        ("sum(30,8)", "binomial(.3)", "distance", 4),
        ("sum(30,8)", "uniform", "squared", 8),
    ],
)
def test_a_file_proves_what_the_design_says(text, prior, loss, stride):
    asked = tr.query(text)
    consumer = Consumer.of(asked.graph, prior=prior, loss=loss)
    task = Task(asked.graph, tr.Epsilon.of(0.5), consumer)
    rough = _with_stride(task, width_of_line(asked.graph), stride)
    verdict = tr.verify(tr.prove(rough, asked))
    assert verdict.private
    assert verdict.private_for_question
    missing = rough.expected_loss - rough.bound
    assert float(verdict.optimal_within) == pytest.approx(missing, rel=1e-6)


@pytest.mark.parametrize(
    ("graph", "who", "why"),
    [
        (tr.query("counts(3,2)").graph, {"loss": "absolute"}, "not a power of a path"),
        (PathPower(90, 40), {"loss": "binary"}, "absolute, a squared or a distance"),
        (PathPower(90, 40), {"loss": "absolute"}, "need no cosets"),
        (PathPower(9000, 2), {"loss": "absolute"}, "too near for cosets"),
    ],
)
def test_what_has_no_cosets_is_refused_with_the_reason(graph, who, why):
    assert why in cosets_route(Task.of(graph, 1, prior="uniform", **who))
