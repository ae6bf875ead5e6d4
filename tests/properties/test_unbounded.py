"""Noise without ends: its loss and its bound enclose the engine's optimum on small questions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from tightrope.certify.kernel.exponentials import level_bounds
from tightrope.certify.theorems.unbounded import unbounded_bound
from tightrope.channels import UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.lattices import Lattice
from tightrope.optimize import design
from tightrope.queries import query

SMALL = [
    ("count(9)", "change-one"), ("sum(5,3)", "change-one"), ("sum(5,3)", "add-remove"),
    ("mean(4,3)", "change-one"), ("counts(4,2)", "change-one"), ("counts(3,2)", "add-remove"),
    ("counts(1,3)", "change-one"), ("histogram(5,3)", "change-one"), ("histogram(3,2)", "either"),
    ("histogram(3,4)", "change-one"), ("histogram(4,2)", "add-remove"),
    ("histogram(2,3)", "add-remove"),
]  # fmt: skip
LOSSES = ["binary", "absolute", "squared", "distance"]


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(SMALL),
    st.sampled_from(LOSSES),
    st.sampled_from(["1/4", "1/2", "1", "2", "3"]),
)
def test_loss_and_bound_enclose_the_optimum(
    asked: tuple[str, str], loss: str, epsilon: str
) -> None:
    question = query(*asked)
    consumer = Consumer.of(question.graph, support="all", loss=loss)
    best = design(question, epsilon, consumer, gap=1e-7)
    found = design(question, epsilon, consumer, route="unbounded")
    assert found.bound <= best.expected_loss * (1 + 1e-7)
    assert best.bound <= found.expected_loss * (1 + 1e-7)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("form", "parts", "width", "reach"),
    [
        ("line", 1, 3, 60),
        ("cube", 2, 1, 9),
        ("range", 2, 1, 9),
        ("cross", 2, 1, 9),
        ("roots", 3, 1, 9),
    ],
)
def test_no_private_noise_on_a_part_of_the_lattice_is_better(
    form: str, parts: int, width: int, reach: int, loss: str, epsilon: str
) -> None:
    """A linear program over all noise within some distance: it can only be as good or worse.

    Outside its part the noise is 0, which breaks privacy in its favour: the least ratio of loss
    and mass over all p that are private inside is below that of all private noise, and the bound
    of the judge must be below what the program finds up to that advantage, which falls with the
    part's size. The program is over p(z)·e^(ε·d(z)), so that its tolerances count alike.
    """
    lattice = Lattice(form, parts, 9, width)
    box = itertools.product(range(-reach, reach + 1), repeat=parts)
    steps = _steps(form, parts, width)
    points = [z for z in box if form != "roots" or sum(z) == 0]
    place = {z: i for i, z in enumerate(points)}
    cost = np.array([_loss(loss, form, width, z) for z in points], float)
    far = np.array([_loss("distance", form, width, z) for z in points])
    alpha = float(np.exp(-float(epsilon)))
    mass = alpha**far
    rows, columns, values, count = [], [], [], 0
    for z, i in place.items():
        for step in steps:
            j = place.get(tuple(a + b for a, b in zip(z, step, strict=True)))
            if j is not None:
                rows += [count, count]
                columns += [i, j]
                values += [alpha ** (1 + far[i] - far[j]), -1.0]
                count += 1
    matrix = coo_matrix((values, (rows, columns)), shape=(count, len(points)))
    found = linprog(
        cost * mass, A_ub=matrix, b_ub=np.zeros(count), A_eq=mass[None], b_eq=[1]
    )
    assert found.status == 0
    level = level_bounds(Fraction(epsilon), None, Fraction(1))[1]
    outside = (reach // width) ** 2 * alpha ** (reach // width) * len(points)
    assert (
        float(unbounded_bound(lattice, loss, level)) <= found.fun * (1 + 1e-6) + outside
    )


def _steps(form: str, parts: int, width: int) -> list[tuple[int, ...]]:
    if form == "line":
        return [(s,) for s in range(-width, width + 1) if s]
    some = [s for s in itertools.product((-1, 0, 1), repeat=parts) if any(s)]
    return [
        s
        for s in some
        if form == "cube"
        or (form == "range" and not {1, -1} <= set(s))
        or (form == "cross" and sum(map(abs, s)) == 1)
        or (form == "roots" and sum(s) == 0 and sum(map(abs, s)) == 2)
    ]


def _loss(loss: str, form: str, width: int, z: tuple[int, ...]) -> int:
    size = sum(map(abs, z))
    if loss == "binary":
        return int(size > 0)
    if loss == "absolute":
        return size
    if loss == "squared":
        return sum(x * x for x in z)
    return {
        "line": -(-size // width),
        "cube": max(map(abs, z)),
        "range": max(0, *z) - min(0, *z),
        "cross": size,
        "roots": size // 2,
    }[form]


@pytest.mark.parametrize(
    "text", ["counts(1000,2)", "counts(1000,3)", "histogram(9000,5)"]
)
def test_smaller_levels_lose_more(text: str) -> None:
    graph = query(text).graph
    for loss in LOSSES:
        losses = [
            UnboundedNoise(graph, level).expected(loss) for level in ("1/2", "1", "2")
        ]
        assert losses == sorted(losses, reverse=True)


def test_so_many_counts_that_their_sets_are_beyond_the_floats():
    asked = query("counts(1000000,100)")
    consumer = Consumer.of(asked.graph, loss="absolute", support="all")
    designed = design(asked, epsilon=1, consumer=consumer)
    # Each count alone has at least this loss, whatever else is published.
    alone = 2 * math.exp(-1) / (1 - math.exp(-2))
    assert designed.unbounded_bound >= 100 * alone
    assert 0 < designed.bound <= designed.expected_loss
