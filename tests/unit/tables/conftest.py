"""Simulated measurements of a plan, with a seed."""

import itertools
import math

import numpy as np
import pytest

from tightrope.tables import Estimates, JobPlan
from tightrope.tables.domain import Margin


def geometric_noise(generator, rate, shape):
    """Return two-sided geometric noise at a rate."""
    success = -math.expm1(-rate)
    return generator.geometric(success, shape) - generator.geometric(success, shape)


def joint_noise(generator, epsilon, cells, releases):
    """Return noise α^(|z|₁/2) on Σz = 0: the difference of two uniform compositions of N."""
    sizes = np.arange(20_000)
    logs = np.zeros(len(sizes))
    logs[1:] = np.cumsum(2 * np.log((sizes[:-1] + cells) / (sizes[:-1] + 1)) - epsilon)
    weights = np.exp(logs - logs.max())
    drawn = generator.choice(sizes, releases, p=weights / weights.sum())
    ones = np.ones(cells)
    parts = [
        generator.multinomial(drawn, generator.dirichlet(ones, releases)).T
        for _ in range(2)
    ]
    return parts[0] - parts[1]


@pytest.fixture
def simulate():
    """Return the noise of many releases of a plan: what estimates of an empty table would be."""

    def draws(plan: JobPlan, releases: int, seed: int) -> list[np.ndarray]:
        generator = np.random.default_rng(seed)
        job = plan.job
        found = []
        for table in plan.measured:
            shape = job.domain.shape(table.margin)
            cells = math.prod(shape)
            width = job.widths[table.measure]
            level = float(table.epsilon)
            if job.relation.is_joint(cells, width):
                noise = joint_noise(generator, level, cells, releases)
            else:
                rate = level / (job.relation.touched * width)
                noise = geometric_noise(generator, rate, (cells, releases))
            found.append(noise.reshape(*shape, releases))
        return found

    return draws


@pytest.fixture
def contradictions():
    """Return the pairs of published tables that differ on a margin they share."""

    def pairs(published: Estimates) -> list[tuple[Margin, Margin]]:
        domain = published.plan.job.domain
        found = []
        for (one, left), (other, right) in itertools.combinations(
            published.numerators, 2
        ):
            shared = domain.meet(left, right)
            own = domain.project(published.numerators[one, left], left, shared)
            others = domain.project(published.numerators[other, right], right, shared)
            # a/b = c/d exactly when a·d = c·b, in Python's integers
            own = own.astype(object) * published.denominators[other, right]
            others = others.astype(object) * published.denominators[one, left]
            if one == other and not np.array_equal(own, others):
                found.append((left, right))
        return found

    return pairs
