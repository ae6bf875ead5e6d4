"""The answer graph of a function."""

import itertools
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.errors import InputError, TooLarge
from tightrope.queries import derive
from tightrope.queries.derivation import multiset_rests, sums

derive_from_sum = partial(derive, kind="sum")
derive_from_multiset = partial(derive, kind="multiset")


def test_a_function_that_raises_names_the_database() -> None:
    with pytest.raises(InputError, match=r"\(0, 0\) raised ZeroDivisionError"):
        derive(lambda d: 1 // sum(d), 2, [0, 1])
    with pytest.raises(InputError, match=r"\(\) raised ValueError"):
        derive(max, 2, [0, 1], neighbours="add-remove")
    assert derive(max, 2, [0, 1], neighbours="add-remove", fewest=1).graph.size == 2


def test_answers_must_be_hashable() -> None:
    with pytest.raises(InputError, match=r"hashable, got list for \('a', 'a'\)"):
        derive(list, 2, "ab")


def test_disconnected_answers_are_refused() -> None:
    with pytest.raises(InputError, match="must be connected"):
        derive(sum, 1, range(3), neighbours="add-remove", fewest=1)


def test_the_limit_says_how_many_and_can_be_raised() -> None:
    with pytest.raises(
        TooLarge, match="1024 databases is more than limit=1000: raise limit"
    ):
        derive(sum, 5, range(4), limit=1000)
    assert derive(sum, 5, range(4), limit=1024).graph.size == 16
    with pytest.raises(TooLarge, match="multisets, more than 10"):
        derive_from_multiset(sum, 5, range(4), limit=10)
    with pytest.raises(TooLarge, match="more than 10 different sums"):
        derive_from_sum(int, 50, range(4), limit=10)
    with pytest.raises(TooLarge, match="moves between sums, more than 100"):
        derive_from_sum(int, 15, range(6), limit=100)


def test_limits_are_noticed_before_the_work() -> None:
    with pytest.raises(TooLarge, match=r"10\^30000 databases"):
        derive(sum, 10_000, range(1000))
    with pytest.raises(TooLarge, match=r"10\^\d+ multisets"):
        derive_from_multiset(sum, 10**12, range(1000))


@pytest.mark.parametrize("kind", ["exhaustive", "sum", "multiset"])
def test_progress_reaches_the_end(kind: Any) -> None:
    seen: list[tuple[int, int]] = []
    function = (lambda s: s) if kind == "sum" else sum
    derive(
        function,
        3,
        range(3),
        kind=kind,
        progress=lambda now: seen.append((now.done, now.total)),
    )
    assert seen
    assert seen[-1][0] == seen[-1][1]


def test_large_sums_without_databases() -> None:
    calls: list[int] = []

    def hundreds(total: int) -> int:
        calls.append(total)
        return total // 100

    derived = derive_from_sum(hundreds, 1000, range(6))
    assert derived.graph.size == 51
    assert derived.graph.is_path
    assert len(calls) == len(set(calls)) == 5001
    assert derived.answer([5] * 1000) == 50


def test_multisets_without_databases() -> None:
    calls: list[tuple[int, ...]] = []

    def spread(people: tuple[int, ...]) -> int:
        calls.append(people)
        return max(people) - min(people)

    derived = derive_from_multiset(spread, 12, range(4))
    assert len(calls) == 455
    assert derived.graph.size == 4
    assert derived.answer([3, 1] * 6) == 2


def test_negative_contributions() -> None:
    derived = derive_from_sum(
        abs, 4, ["down", "up"], contribution={"down": -1, "up": 1}.get
    )
    assert derived.graph.labels == [0, 2, 4]
    assert derived.answer(["up", "up", "up", "down"]) == 2


@pytest.mark.parametrize("contribution", [lambda v: 0.5, lambda v: None, lambda v: "x"])
def test_contributions_must_be_whole(contribution: Any) -> None:
    with pytest.raises(InputError, match="whole number or a tuple"):
        derive_from_sum(int, 3, [1, 2], contribution=contribution)


def test_contributions_must_be_alike() -> None:
    for mixed in ({1: 1, 2: (1, 1)}, {1: (1,), 2: (1, 1)}):
        with pytest.raises(InputError, match="all tuples of one length"):
            derive_from_sum(int, 3, [1, 2], contribution=mixed.get)


def test_answers_without_an_order_stay_as_they_came() -> None:
    derived = derive(lambda d: "many" if sum(d) > 1 else sum(d), 3, [0, 1])
    assert derived.graph.labels == [0, 1, "many"]
    assert derived.graph.is_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"individuals": 0}, "individuals must be"),
        ({"individuals": 2.0}, "individuals must be"),
        ({"values": []}, "values must be different"),
        ({"values": [1, 1]}, "values must be different"),
        ({"values": [1, None], "neighbours": "either"}, "absent person"),
        ({"neighbours": "swap"}, "neighbours must be"),
        ({"kind": "magic"}, "kind must be"),
        ({"fewest": 3}, "fewest must be at most"),
        ({"fewest": -1}, "fewest must be"),
        ({"limit": 0}, "limit must be"),
        ({"contribution": int}, "needs kind='sum'"),
        ({"kind": "sum", "sees_absent": True}, "needs kind='exhaustive'"),
    ],
)
def test_inputs_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"individuals": 2, "values": [0, 1], **change}
    with pytest.raises(InputError, match=message):
        derive(sum, **given)


@settings(max_examples=50)
@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=3, unique=True),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_sums_are_those_of_all_databases(
    steps: list[int], fewest: int, more: int
) -> None:
    most = fewest + more
    wanted = {
        (sum(chosen),)
        for people in range(fewest, most + 1)
        for chosen in itertools.product(steps, repeat=people)
    }
    assert sums([(step,) for step in steps], fewest, most, 10_000) == wanted


def test_rests_of_a_fixed_number_have_no_answer_of_their_own() -> None:
    assert list(multiset_rests("ab", 2, 0, False, 100)[0]) == [
        (("a",), False),
        (("b",), False),
    ]
    assert next(multiset_rests("ab", 2, 1, True, 100)[0]) == ((), False)


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("fewest", [0, 1, 2, 3])
@pytest.mark.parametrize("values", ["a", "ab", "abcd"])
def test_the_number_of_rests_is_the_announced_one(
    values: str, fewest: int, absent: bool
) -> None:
    rests, total = multiset_rests(values, 4, fewest, absent, 1000)
    assert len(list(rests)) == total
