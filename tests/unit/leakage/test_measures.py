import math

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel
from tightrope.consumers import Prior, ProductPrior
from tightrope.errors import InputError
from tightrope.graphs import Clique, Databases, PathPower
from tightrope.leakage import (
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    posterior_min_entropy,
    posterior_vulnerability,
)
from tightrope.leakage.measures import (
    g_leakage,
    posterior_g_vulnerability,
    posterior_guessing_entropy,
    posterior_shannon_entropy,
)
from tightrope.mechanisms import exponential, geometric, highest_leakage

IDENTITY = Channel(np.eye(3))
SILENT = Channel(np.full((3, 2), 0.5))


def test_a_channel_that_tells_all_and_one_that_tells_nothing() -> None:
    prior = [0.5, 0.25, 0.25]
    assert min_entropy_leakage(IDENTITY, prior) == 1
    assert mutual_information(IDENTITY, prior) == pytest.approx(1.5)
    assert posterior_guessing_entropy(IDENTITY, prior) == 1
    assert min_entropy_leakage(SILENT, prior) == 0
    assert mutual_information(SILENT, prior) == 0
    assert posterior_guessing_entropy(SILENT, prior) == pytest.approx(1.75)
    assert posterior_shannon_entropy(SILENT, prior) == pytest.approx(1.5)
    assert posterior_min_entropy(SILENT, prior) == 1


def test_streaming_in_blocks_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    # More entries than one block holds.
    matrix = rng.dirichlet(np.ones(3000), size=30)
    prior = rng.dirichlet(np.ones(30))
    gain = rng.random((30, 7))
    dense = Channel(matrix)

    class ByRows(Channel):
        """The same numbers, handed out seven rows at a time."""

        def row_blocks(self):  # type: ignore[no-untyped-def]
            for start in range(0, 30, 7):
                yield start, matrix[start : start + 7]

    blocks = ByRows(matrix)
    for channel in (dense, blocks):
        joint = matrix * prior[:, None]
        assert posterior_vulnerability(channel, prior) == pytest.approx(
            joint.max(axis=0).sum()
        )
        expected = (gain.T @ joint).max(axis=0).sum()
        assert posterior_g_vulnerability(channel, gain, prior) == pytest.approx(
            expected
        )
        output = joint.sum(axis=0)
        information = (joint * np.log2(matrix / output)).sum()
        assert mutual_information(channel, prior) == pytest.approx(information)


def test_large_lines_need_no_matrix() -> None:
    n = 1_000_001
    line = GeometricChannel(n, "ln(2)", width=5)
    a = 0.5 ** (1 / 5)
    assert min_capacity(line) == pytest.approx(
        math.log2((2 + (n - 2) * (1 - a)) / (1 + a))
    )
    prior = Prior.geometric(n, 0.1)
    found = posterior_vulnerability(line, prior)
    small = posterior_vulnerability(
        Channel(GeometricChannel(300, "ln(2)", width=5).matrix()),
        Prior.geometric(300, 0.1),
    )
    assert found == pytest.approx(small, abs=1e-9)
    assert found > 0.1


def test_large_databases_need_no_list() -> None:
    crowd = exponential(Databases(20, range(4)), 1)
    people = ProductPrior([Prior([0.3, 0.27, 0.23, 0.2])] * 20)
    person = exponential(Clique(4), 1)
    for measure in (min_entropy_leakage, mutual_information, posterior_min_entropy):
        assert measure(crowd) == pytest.approx(20 * measure(person))
        assert measure(crowd, people) == pytest.approx(
            20 * measure(person, people.parts[0])
        )
    assert min_capacity(highest_leakage(5000, 3, 2)) == pytest.approx(
        5000 * min_capacity(exponential(Clique(3), 2))
    )


def test_a_prior_that_is_no_product_falls_back_to_the_rows() -> None:
    small = exponential(Databases(2, range(2)), 1)
    prior = Prior([0.7, 0.1, 0.1, 0.1])
    dense = Channel(small.matrix())
    assert min_entropy_leakage(small, prior) == pytest.approx(
        min_entropy_leakage(dense, prior)
    )
    assert mutual_information(small, prior) == pytest.approx(
        mutual_information(dense, prior)
    )


def test_the_prior_must_fit() -> None:
    with pytest.raises(InputError, match="must have 6 probabilities"):
        posterior_vulnerability(geometric(PathPower(6), 1), [0.5, 0.5])


def test_a_ratio_of_gains_refuses_losses() -> None:
    with pytest.raises(InputError, match="non-negative gains"):
        g_leakage(SILENT, -np.eye(3))
    with pytest.raises(InputError, match="non-negative gains"):
        g_leakage(SILENT, np.zeros((3, 2)))
