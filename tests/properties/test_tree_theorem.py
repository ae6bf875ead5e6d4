"""The tree theorem on thousands of random trees, priors and levels.

Claims tested, with v_j = max_i π_i α^d(i,j), λ = Φ⁻¹v and z = Φ⁻¹1:

1. λ·r ≥ π_i r_i for every privacy column r and node i, so no private mechanism has a higher
   probability of a right guess than Σλ. The minimum over all 2^(n-1) rays is taken exactly.
2. Where α ≤ 1/(Δ-1), z ≥ 0 and the tight-constraints mechanism reaches Σλ.
3. Above the threshold z has a negative entry, and consumers exist who cannot all be served.
"""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from tightrope.axioms.universality import all_rays, star_optimum
from tightrope.consumers import Consumer, utility
from tightrope.graphs import ExplicitGraph
from tightrope.mechanisms import tight_constraints
from tightrope.mechanisms.tight import candidate_prices
from tightrope.phi import Phi

BATCH = 700
SIZES = (3, 5, 8, 13, 21, 34)


def random_trees(rng, size):
    """Parents of random trees, one tree in each row; node 0 is the root."""
    kinds = rng.integers(0, 3, BATCH)
    parents = np.zeros((BATCH, size), dtype=int)
    for j in range(1, size):
        uniform = rng.integers(0, j, BATCH)
        near = np.maximum(j - 1 - rng.integers(0, 2, BATCH), 0)
        hub = np.where(rng.random(BATCH) < 0.5, 0, uniform)
        parents[:, j] = np.select([kinds == 0, kinds == 1], [uniform, near], hub)
    return parents


def degrees(parents):
    count, size = parents.shape
    found = np.zeros((count, size), dtype=int)
    rows = np.arange(count)
    for j in range(1, size):
        found[:, j] += 1
        found[rows, parents[:, j]] += 1
    return found


def random_priors(rng, size):
    """Smooth ones, spiky ones and ones that exclude most answers."""
    weights = (
        rng.gamma(rng.choice([0.05, 0.5, 5.0], (BATCH, 1)), 1.0, (BATCH, size)) + 1e-300
    )
    weights[rng.random((BATCH, size)) < rng.choice([0.0, 0.6], (BATCH, 1))] = 0
    weights[:, 0] += weights.sum(axis=1) == 0
    return weights / weights.sum(axis=1, keepdims=True)


def best_guess(parents, priors, alpha):
    """v_j = max_i π_i α^d(i,j), by one pass up and one down."""
    v, rows = priors.copy(), np.arange(len(parents))
    for j in range(parents.shape[1] - 1, 0, -1):
        p = parents[:, j]
        v[rows, p] = np.maximum(v[rows, p], alpha * v[:, j])
    for j in range(1, parents.shape[1]):
        v[:, j] = np.maximum(v[:, j], alpha * v[rows, parents[:, j]])
    return v


def inverse_phi(parents, v, alpha):
    """Φ⁻¹v by the edges of the tree."""
    out, rows = np.zeros_like(v), np.arange(len(v))
    out[:, 0] = v[:, 0]
    for j in range(1, v.shape[1]):
        p = parents[:, j]
        flow = (v[:, j] - alpha * v[rows, p]) / (1 - alpha**2)
        out[:, j] += flow
        out[rows, p] -= alpha * flow
    return out


def least_over_rays(parents, multipliers, alpha):
    """min of λ·r over all rays r with r_i = 1, for every node i: messages along the tree."""
    rows, size = np.arange(len(parents)), parents.shape[1]

    def sent(x):
        return np.minimum(alpha * x, x / alpha)

    up = multipliers.copy()
    for j in range(size - 1, 0, -1):
        up[rows, parents[:, j]] += sent(up[:, j])
    total = up.copy()
    for j in range(1, size):
        total[:, j] += sent(total[rows, parents[:, j]] - sent(up[:, j]))
    return total


def levels_below(rng, largest):
    """α up to the threshold, often exactly there."""
    wall = np.where(largest > 2, 1 / np.maximum(largest - 1, 1), 1.0)
    share = np.where(rng.random(len(wall)) < 0.3, 1.0, rng.random(len(wall)))
    return np.minimum(wall * np.maximum(share, 0.01), 0.98)


@pytest.mark.parametrize("size", SIZES)
def test_the_certificate_holds_and_is_reached(size):
    rng = np.random.default_rng(size)
    parents, priors = random_trees(rng, size), random_priors(rng, size)
    degree = degrees(parents)
    alpha = levels_below(rng, degree.max(axis=1))
    z = (1 - (degree - 1) * alpha[:, None]) / (1 + alpha[:, None])
    v = best_guess(parents, priors, alpha)
    multipliers = inverse_phi(parents, v, alpha)
    assert np.abs(inverse_phi(parents, np.ones_like(v), alpha) - z).max() < 1e-12
    assert z.min() >= -1e-12
    least = least_over_rays(parents, multipliers, alpha)
    assert (least >= priors - 1e-12).all()
    reached, bound = (z * v).sum(axis=1), multipliers.sum(axis=1)
    assert np.abs(reached - bound).max() < 1e-12


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_wrong_certificate_is_caught(size):
    """Without the maximum in v the same multipliers fail: the test above can fail."""
    rng = np.random.default_rng(size)
    parents, priors = random_trees(rng, size), random_priors(rng, size)
    alpha = levels_below(rng, degrees(parents).max(axis=1))
    least = least_over_rays(parents, inverse_phi(parents, priors, alpha), alpha)
    assert (least < priors - 1e-6).any(axis=1).mean() > 0.3


@pytest.mark.parametrize("size", SIZES[1:])
def test_above_the_threshold_the_mechanism_is_gone(size):
    rng = np.random.default_rng(size)
    parents = random_trees(rng, size)
    degree = degrees(parents)
    steep = degree.max(axis=1) >= 3
    wall = 1 / (degree.max(axis=1)[steep] - 1)
    alpha = wall + (1 - wall) * (0.01 + 0.98 * rng.random(steep.sum()))
    z = 1 - (degree[steep] - 1) * alpha[:, None]
    assert (z.min(axis=1) < 0).all()
    assert steep.sum() > 100


@pytest.mark.parametrize("k", range(3, 12))
def test_above_the_threshold_not_all_consumers_are_served(k):
    wall = Fraction(1, k - 1)
    for share in (Fraction(1, 10**9), Fraction(1, 10), Fraction(9, 10)):
        alpha = wall + (1 - wall) * share
        assert star_optimum(alpha, k) < comb(k, 2) * (3 - alpha) / (3 * (1 + alpha))
    assert star_optimum(wall, k) == comb(k, 2) * (3 - wall) / (3 * (1 + wall))


@pytest.mark.parametrize("seed", range(12))
def test_a_linear_program_agrees(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    parents = random_trees(rng, size)[seed]
    graph = ExplicitGraph([(int(parents[j]), j) for j in range(1, size)])
    prior = rng.dirichlet(np.full(size, 0.6))
    alpha = float(levels_below(rng, np.array([graph.max_degree]))[0])
    rays = all_rays(graph, alpha)
    solved = linprog(
        -(prior * rays).max(axis=1), A_eq=rays.T, b_eq=np.ones(size), method="highs"
    )
    mechanism = tight_constraints(graph, -np.log(alpha))
    bound = candidate_prices(Phi(graph, -np.log(alpha)), prior)[1].sum()
    assert bound == pytest.approx(-solved.fun, abs=1e-8)
    assert utility(mechanism, Consumer.of(graph, prior=prior)) == pytest.approx(
        bound, abs=1e-9
    )
