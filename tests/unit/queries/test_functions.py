"""What the built-in queries compute."""

from fractions import Fraction
from statistics import median

from hypothesis import given, strategies as st

from tightrope.queries.families import histogram_of, median_of, most_frequent


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_median_is_the_statistical_one(database: list[int]) -> None:
    assert median_of(database) == Fraction(median(map(Fraction, database)))


@given(st.lists(st.integers(0, 4), max_size=8))
def test_most_frequent_has_the_highest_bar(database: list[int]) -> None:
    bars = histogram_of(database, 5)
    assert sum(bars) == len(database)
    assert most_frequent(database) == bars.index(max(bars))
