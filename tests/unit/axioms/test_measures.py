"""Utility measures that respect generality [D, §3.2, 3.3]."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tightrope.axioms import determinant_utility, dobrushin_optimum
from tightrope.channels import (
    Channel,
    GeometricChannel,
    IntegerChannel,
    is_private,
    make_maximally_general,
)
from tightrope.channels.generality import dobrushin
from tightrope.errors import InputError
from tightrope.graphs import (
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    hypercube,
    petersen,
)
from tightrope.graphs.products import grid


@pytest.mark.parametrize(
    "graph",
    [PathPower(2), PathPower(3), PathPower(6), PathPower(7), Clique(4), Cycle(5), Cycle(8), Star(4),
     petersen(), grid(3, 4), hypercube(3), PathPower(9, 2)],
)  # fmt: skip
@pytest.mark.parametrize("epsilon", ["ln(2)", "1/2"])
def test_the_optimum_is_reached_by_a_private_mechanism(graph, epsilon):
    best = dobrushin_optimum(graph, epsilon)
    assert is_private(best.channel, graph, epsilon).exact
    assert is_private(best.channel, graph, epsilon)
    assert dobrushin(best.channel) == pytest.approx(best.value, abs=1e-12)
    assert float(best.exact) == pytest.approx(best.value, abs=1e-12)
    d = graph.diameter
    level = math.log(2) if epsilon == "ln(2)" else 0.5
    formula = (
        -math.exp(-level * d / 2)
        if d % 2 == 0
        else -2 * math.exp(-level * (d - 1) / 2) / (1 + math.exp(level))
    )
    assert best.value == pytest.approx(formula, abs=1e-12)


def largest(nodes, alpha):
    """max of E_{1,n} over two-output mechanisms on a path, by a linear program."""
    rows, right = [], []
    for j in range(nodes - 1):
        for i, h in ((j, j + 1), (j + 1, j)):
            ahead = np.zeros(nodes)
            ahead[h], ahead[i] = alpha, -1
            rows += [ahead, -ahead]
            right += [0.0, 1 - alpha]
    cost = np.zeros(nodes)
    cost[0], cost[-1] = 1, -1
    solved = linprog(
        cost, A_ub=np.array(rows), b_ub=right, bounds=(0, 1), method="highs"
    )
    return -(solved.fun + 1)


@pytest.mark.parametrize("nodes", range(2, 10))
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.8])
def test_no_mechanism_on_a_path_is_better(nodes, alpha):
    best = dobrushin_optimum(PathPower(nodes), -math.log(alpha))
    assert largest(nodes, alpha) == pytest.approx(best.value, abs=1e-9)


def test_geometric_noise_reaches_it():
    for n in (4, 5, 9):
        best = dobrushin_optimum(PathPower(n), 1).value
        assert dobrushin(GeometricChannel(n, 1)) == pytest.approx(best, abs=1e-12)
        assert dobrushin(GeometricChannel(n, 0.9)) < best - 1e-3


def test_it_can_be_made_maximally_general_at_no_loss():
    best = dobrushin_optimum(Cycle(6), "ln(2)")
    made = make_maximally_general(best.channel, Cycle(6), "ln(2)")
    assert made.steps
    assert dobrushin(made.channel) == pytest.approx(best.value, abs=1e-12)


def test_determinants():
    assert determinant_utility(IntegerChannel([[1, 0], [0, 1]])) == 1
    assert determinant_utility(IntegerChannel([[1, 1], [1, 1]])) == 0
    response = IntegerChannel([[2, 1, 1], [1, 2, 1], [1, 1, 2]])
    assert determinant_utility(response) == Fraction(1, 16)
    assert determinant_utility(Channel(response.matrix())) == pytest.approx(1 / 16)
    with pytest.raises(InputError, match="square"):
        determinant_utility(IntegerChannel([[1, 2], [2, 1], [1, 2]]))


def test_lengths_are_refused_and_one_answer_is_trivial():
    with pytest.raises(InputError, match="length 1"):
        dobrushin_optimum(ExplicitGraph([(0, 1)], lengths=[2.0]), 1)
    assert dobrushin_optimum(ExplicitGraph([], size=1), 1).value == -1
