"""The algebra of margins."""

import itertools

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.tables import Domain, TableColumn

NESTED = Domain.of(
    {
        "sex": 2,
        "region": 3,
        "county": ("region", [0, 0, 1, 2, 2, 2]),
        "town": ("county", [0, 1, 1, 2, 3, 4, 5, 5]),
        "age": 4,
    }
)


def margins():
    return NESTED.closure([["sex", "town", "age"]])


def test_margins_form_a_lattice():
    every = margins()
    assert len(every) == 2 * 4 * 2
    for one, two in itertools.product(every, repeat=2):
        join = NESTED.join(one, two)
        meet = NESTED.meet(one, two)
        for margin in (one, two):
            assert NESTED.contains(join, margin)
            assert NESTED.contains(margin, meet)
        assert NESTED.contains(one, two) == (meet == two) == (join == one)


def test_adding_up_in_two_steps_is_adding_up_once():
    table = np.random.default_rng(1).integers(
        0, 99, NESTED.shape(["sex", "town", "age"])
    )
    full = ["sex", "town", "age"]
    for step in margins():
        part = NESTED.project(table, full, step)
        assert part.shape == NESTED.shape(step)
        for last in NESTED.closure([step]):
            assert (
                NESTED.project(part, step, last) == NESTED.project(table, full, last)
            ).all()


def test_a_finer_margin_cannot_be_had_from_a_coarser_one():
    with pytest.raises(InputError, match="is not a margin of"):
        NESTED.project(np.zeros(3, int), ["region"], ["county"])


def test_cover_and_closure_are_inverse_on_antichains():
    chosen = [("sex", "region"), ("town",), ("region", "age")]
    assert set(NESTED.cover(NESTED.closure(chosen))) == set(chosen)


def test_classes_are_divided_evenly_unless_parents_are_given():
    domain = Domain(
        (TableColumn("region", 2), TableColumn("county", 6, within="region"))
    )
    assert domain.axes[0].parents[1] == (0, 0, 0, 1, 1, 1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((TableColumn("a", 2), TableColumn("a", 3)), "named once"),
        ((TableColumn("a", 2, within="b"), TableColumn("b", 2)), "column before it"),
        (
            (
                TableColumn("a", 2),
                TableColumn("b", 2, within="a"),
                TableColumn("c", 2, within="a"),
            ),
            "form a chain",
        ),
        (
            (TableColumn("a", 2), TableColumn("b", 3, within="a")),
            "say the parent of each class",
        ),
        ((TableColumn("a", 2), TableColumn("b", 2, "a", (0, 0))), "all classes of a"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        Domain(columns)


def test_a_column_is_refused_whose_parents_are_too_few():
    with pytest.raises(InputError, match="for each of its 3 classes"):
        TableColumn("b", 3, "a", (0, 1))


def test_unknown_columns_are_refused():
    with pytest.raises(InputError, match="there is no column 'income'"):
        NESTED.margin(["income"])
