"""Conditions that choose the same rows, compared with what a database chooses."""

import itertools
import random

import duckdb
import pytest
import sqlglot

from tightrope.publish.sql_rows import rows_chosen

WHOLE = {"x"}


def demands(text):
    return rows_chosen(sqlglot.parse_one(text), WHOLE)


@pytest.mark.parametrize(
    "other",
    [
        "z AND (x <= 9 AND x >= 2)",
        "((x >= 2)) AND x <= 9 AND z AND z",
        "x BETWEEN 2 AND 9 AND z",
        "2 <= x AND 9 >= x AND z",
        "NOT (x < 2 OR x > 9) AND z",
        "NOT NOT x > 1 AND x < 10 AND z",
        "x IN (2, 3, 9, 4, 5, 6, 7, 8) AND z",
        "x >= 2 AND x <= 9 AND x > -4 AND NOT x IS NULL AND z",
    ],
)
def test_spellings_of_one_condition_are_the_same(other):
    assert demands(other) == demands("x >= 2 AND x <= 9 AND z")


@pytest.mark.parametrize(
    "other",
    [
        "x >= 2 AND x <= 9",
        "x >= 2 AND x <= 8 AND z",
        "x IN (2, 9) AND z",
        "(x >= 2 AND x <= 9) OR z",
        "NOT (x BETWEEN 2 AND 9) AND z",
        "x >= 2 AND x <= 9 AND NOT z",
        "x >= 2 AND x <= 9 AND z IS NULL",
    ],
)
def test_other_conditions_are_not(other):
    assert demands(other) != demands("x >= 2 AND x <= 9 AND z")


def test_only_numbers_known_to_be_whole_have_ranges():
    assert demands("y > 1") != demands("y >= 2")
    assert demands("y > 1 AND a = 'p'") == demands("a IN ('p') AND 1 < y")


def made(generator, depth=2):
    """Return a random condition."""
    if depth and generator.random() < 0.6:
        first = made(generator, depth - 1)
        second = made(generator, depth - 1)
        return generator.choice([
            f"({first}) AND ({second})", f"({first}) AND ({second})",
            f"({first}) OR ({second})", f"NOT ({first})",
        ])  # fmt: skip
    low, high = sorted(generator.choices(range(-1, 4), k=2))
    sign = generator.choice(["<", "<=", ">", ">=", "=", "<>"])
    return generator.choice([
        f"x {sign} {low}", f"{low} {sign} x", f"x BETWEEN {low} AND {high}",
        f"x IN ({low}, {high})", f"x IN ({low})", "x IS NULL", "NOT x IS NULL",
        "z = TRUE", f"y {sign} {low}", "a = 'p'", "a IN ('p', 'q')", "NOT a IS NULL",
    ])  # fmt: skip


def test_equal_demands_choose_equal_rows():
    rows = itertools.product(
        [None, -2, -1, 0, 1, 2, 3, 4], [None, 0.5, 2], [None, True, False], [None, "p", "q", "r"]
    )  # fmt: skip
    database = duckdb.connect()
    database.execute("CREATE TABLE t (x INTEGER, y DOUBLE, z BOOLEAN, a TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", list(rows))
    generator = random.Random(3)
    chosen = {}
    pairs = 0
    for _ in range(2000):
        text = made(generator)
        form = demands(text)
        found = database.execute(
            f"SELECT list(rowid ORDER BY rowid) FROM t WHERE {text}"
        ).fetchone()
        if form in chosen:
            pairs += chosen[form][0] != text
            assert chosen[form][1] == found, (text, chosen[form][0])
        chosen.setdefault(form, (text, found))
    assert pairs > 100
