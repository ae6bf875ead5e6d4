import math

import numpy as np
import pytest

from tightrope.channels import Channel, KroneckerChannel
from tightrope.errors import InputError
from tightrope.graphs import Cycle
from tightrope.leakage import mutual_information, shannon_capacity
from tightrope.leakage.capacity import ConcaveFunction, maximise
from tightrope.mechanisms import exponential


def test_binary_symmetric_channel() -> None:
    p = 0.11
    known = 1 + p * math.log2(p) + (1 - p) * math.log2(1 - p)
    found = shannon_capacity(Channel([[1 - p, p], [p, 1 - p]]))
    assert found.bits == pytest.approx(known, abs=1e-9)
    assert found.bits <= known + 1e-12 <= found.upper_bits + 2e-12


def test_z_channel() -> None:
    # log2(1 + (1-p) p^{p/(1-p)}) for the Z-channel.
    p = 0.3
    known = math.log2(1 + (1 - p) * p ** (p / (1 - p)))
    found = shannon_capacity(Channel([[1, 0], [p, 1 - p]]))
    assert found.bits == pytest.approx(known, abs=1e-9)
    assert found.prior is not None
    assert found.prior[0] > 0.5


def test_an_input_that_is_a_mixture_gets_no_weight() -> None:
    found = shannon_capacity(Channel([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]))
    assert found.prior is not None
    assert found.prior == pytest.approx([0.5, 0.5, 0], abs=1e-6)
    assert found.gap <= 1e-9


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (7, 3), (3, 7), (40, 40)])
@pytest.mark.parametrize("sharpness", [0.05, 1.0])
def test_the_bounds_close(shape: tuple[int, int], sharpness: float) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(np.full(shape[1], sharpness), size=shape[0])
    found = shannon_capacity(Channel(matrix))
    assert found.converged
    assert 0 <= found.gap <= 1e-9
    if found.prior is not None:
        assert mutual_information(Channel(matrix), found.prior) == pytest.approx(
            found.bits, abs=1e-9
        )


def test_by_rule() -> None:
    ring = exponential(Cycle(6), 1)
    by_rule, by_matrix = (
        shannon_capacity(ring),
        shannon_capacity(Channel(ring.matrix())),
    )
    assert by_rule.steps == 0
    assert by_rule.bits == pytest.approx(by_matrix.bits, abs=1e-9)
    skew = Channel([[1, 0], [0.3, 0.7]])
    crowd = shannon_capacity(KroneckerChannel([skew] * 30))
    assert crowd.bits == pytest.approx(30 * shannon_capacity(skew).bits, abs=1e-7)
    assert crowd.gap <= 1e-9


def test_the_gap_must_be_positive() -> None:
    with pytest.raises(InputError, match="gap must be positive"):
        shannon_capacity(Channel([[1.0]]), gap=0)


def test_a_search_that_is_cut_short_says_so() -> None:
    rng = np.random.default_rng(0)
    linear = rng.random(50)
    steep = ConcaveFunction(
        value=lambda p: float(p @ linear),
        gradient=lambda p: linear,
        root=lambda p: np.full((50, 50), np.nan),
        growth=lambda p: np.ones(50),
    )
    found = maximise(steep, 50, gap=1e-12, limit=10)
    assert not found.converged
    assert found.gap == pytest.approx(linear.max() - linear.mean())
