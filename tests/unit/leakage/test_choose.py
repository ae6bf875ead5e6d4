import math

import pytest
from hypothesis import given, strategies as st

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import Clique, Cycle, PathPower, Star
from tightrope.leakage import (
    attacker_success,
    database_bound,
    epsilon_for_utility,
    utility_bound,
)
from tightrope.leakage.bounds import epsilon_for_bits, epsilon_for_success

STEP = 1e-6


@given(st.integers(1, 500), st.integers(2, 50), st.floats(0.001, 0.99))
def test_the_limit_on_bits_is_kept_and_used(u: int, v: int, share: float) -> None:
    limit = share * u * math.log2(v)
    level = float(epsilon_for_bits(limit, values=v, individuals=u))
    assert database_bound(u, v, level).bits <= limit
    assert database_bound(u, v, level + 2.1 * STEP).bits > limit


@given(st.integers(2, 1000), st.floats(0.001, 0.999))
def test_the_limit_on_success_is_kept_and_used(v: int, share: float) -> None:
    limit = 1 / v + share * (1 - 1 / v)
    level = float(epsilon_for_success(limit, values=v))
    assert attacker_success(v, level) <= limit
    assert attacker_success(v, level + 2.1 * STEP) > limit


@pytest.mark.parametrize("graph", [PathPower(6), Clique(5), Cycle(9)], ids=str)
@pytest.mark.parametrize("wanted", [0.3, 0.5, 0.9])
def test_the_utility_is_reached_and_not_before(graph: PathPower, wanted: float) -> None:
    level = epsilon_for_utility(wanted, graph)
    n = graph.size

    def best(epsilon: float) -> float:
        alpha = math.exp(-epsilon)
        if graph.is_path:
            return (2 + (n - 2) * (1 - alpha)) / (n * (1 + alpha))
        return utility_bound(graph, epsilon)

    assert best(float(level)) >= wanted
    assert best(float(level) - 1.2 * STEP) < wanted


def test_another_utility_can_be_given() -> None:
    level = epsilon_for_utility(
        0.6, Star(3), best=lambda e: 1 - 0.75 * math.exp(-float(e))
    )
    assert float(level) == pytest.approx(math.log(0.75 / 0.4), abs=2 * STEP)


def test_success_with_side_information() -> None:
    assert attacker_success(2, "ln(3)", before=0.9) == 1
    assert attacker_success(4, 1, before=0.25) == pytest.approx(attacker_success(4, 1))
    with pytest.raises(InputError, match=r"at least 0\.25"):
        attacker_success(4, 1, before=0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: epsilon_for_bits(0, values=2),
        lambda: epsilon_for_bits(math.nan, values=2),
        lambda: epsilon_for_bits(1, values=2),
        lambda: epsilon_for_bits(1e-9, values=2),
        lambda: epsilon_for_success(0.5, values=2),
        lambda: epsilon_for_success(1, values=2),
        lambda: epsilon_for_success(math.nan, values=2),
        lambda: epsilon_for_utility(0.1, PathPower(5)),
        lambda: epsilon_for_utility(1, PathPower(5)),
        lambda: epsilon_for_utility(0.5, Star(3)),
        lambda: epsilon_for_utility(0.9, Star(3), best=lambda e: 0.5),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        call()


def test_levels_are_short_decimals() -> None:
    assert isinstance(epsilon_for_success(0.6, values=3), Epsilon)
    assert str(epsilon_for_success(0.6, values=3)) == "1.098612"
