"""Sums and multisets that can occur."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.errors import InputError
from tightrope.queries.derivation import multiset_rests, plus, sums


@settings(max_examples=50)
@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=3, unique=True),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_sums_are_those_of_all_databases(steps: list[int], fewest: int, more: int) -> None:
    most = fewest + more
    wanted = {
        sum(chosen)
        for people in range(fewest, most + 1)
        for chosen in itertools.product(steps, repeat=people)
    }
    assert sums(steps, 0, fewest, most, 10_000) == wanted


def test_rests_of_a_fixed_number_have_no_answer_of_their_own() -> None:
    assert list(multiset_rests("ab", 2, 0, False, 100)[0]) == [(("a",), False), (("b",), False)]
    assert next(multiset_rests("ab", 2, 1, True, 100)[0]) == ((), False)


def test_numbers_and_tuples_do_not_add() -> None:
    with pytest.raises(InputError, match="all whole numbers or all tuples"):
        plus(1, (1,))


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("fewest", [0, 1, 2, 3])
@pytest.mark.parametrize("values", ["a", "ab", "abcd"])
def test_the_number_of_rests_is_the_announced_one(values: str, fewest: int, absent: bool) -> None:
    rests, total = multiset_rests(values, 4, fewest, absent, 1000)
    assert len(list(rests)) == total
