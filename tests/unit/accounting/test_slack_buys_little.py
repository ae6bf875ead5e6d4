"""What δ does not buy: for one count the best mechanism hardly gets better."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

import tightrope as tr
from tightrope.consumers import Consumer


def least_loss(n: int, epsilon: float, delta: float) -> float:
    """The least mean absolute error of a count of n - 1 people, by a linear program.

    Beside the mechanism there is, for every arc and output, what it exceeds the ratio by; on each
    arc these sum to at most δ.
    """
    arcs = [(i, h) for i in range(n) for h in (i - 1, i + 1) if 0 <= h < n]
    cells, slack = n * n, len(arcs) * n
    costs = np.zeros(cells + slack)
    costs[:cells] = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).ravel() / n
    upper = lil_matrix((slack + len(arcs), cells + slack))
    for a, (i, h) in enumerate(arcs):
        for k in range(n):
            row = a * n + k
            upper[row, i * n + k], upper[row, h * n + k] = 1, -np.exp(epsilon)
            upper[row, cells + row] = -1
            upper[slack + a, cells + row] = 1
    right = np.concatenate([np.zeros(slack), np.full(len(arcs), delta)])
    sums = lil_matrix((n, cells + slack))
    for i in range(n):
        sums[i, i * n : (i + 1) * n] = 1
    found = linprog(
        costs, upper.tocsr(), right, sums.tocsr(), np.ones(n), method="highs-ds"
    )
    return float(found.fun)


def test_a_millionth_buys_a_hundred_thousandth():
    graph = tr.query("count(20)").graph
    pure = tr.design(graph, 0.5, Consumer.of(graph, loss="absolute")).expected_loss
    assert f"{pure:.6f}" == "1.654696"
    assert least_loss(21, 0.5, 0) == pytest.approx(pure, abs=1e-8)
    assert f"{least_loss(21, 0.5, 1e-6):.6f}" == "1.654673"
