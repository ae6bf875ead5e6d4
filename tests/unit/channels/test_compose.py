"""New channels from old, small ones as matrices and large ones row by row."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.arrays import Limits
from tightrope.channels import (
    Channel,
    DeterministicChannel,
    GeometricChannel,
    IntegerChannel,
    cascade,
    compose,
    hidden_choice,
    of_databases,
    remap,
    smallest_epsilon,
)
from tightrope.channels.compose import (
    CascadeChannel,
    parallel,
)
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import PathPower

X = Channel([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375]], inputs="ab")
R = Channel([[1, 0], [0.5, 0.5], [0.25, 0.75]], outputs="xy")
W = IntegerChannel([[2, 1, 1], [1, 1, 2]], inputs="ab")
V = IntegerChannel([[4, 0], [2, 2], [1, 3]], outputs="xy")
F = DeterministicChannel([0, 0, 1], "uv")


@pytest.fixture(params=["held", "row by row"])
def _size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "row by row":
        monkeypatch.setattr(compose, "LIMITS", Limits(block=0))


def check_views(channel: Channel, expected: np.ndarray) -> None:
    """Every way to look at a channel shows the same matrix."""
    rows, columns = channel.shape
    np.testing.assert_allclose(channel.matrix(), expected, rtol=1e-14)
    np.testing.assert_allclose(
        [channel.row(i) for i in range(rows)], expected, rtol=1e-14
    )
    by_column = np.stack([channel.column(o) for o in range(columns)], axis=1)
    np.testing.assert_allclose(by_column, expected, rtol=1e-14)
    each = [[channel.entry(i, o) for o in range(columns)] for i in range(rows)]
    np.testing.assert_allclose(each, expected, rtol=1e-14)
    np.testing.assert_allclose(
        channel.column_maxima(), expected.max(axis=0), rtol=1e-14
    )
    assert channel.column_maxima_sum() == pytest.approx(expected.max(axis=0).sum())


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("second", [R, F], ids=["stochastic", "function"])
def test_cascade_is_the_matrix_product(second: Channel) -> None:
    made = cascade(X, second)
    check_views(made, X.matrix() @ second.matrix())
    assert made.inputs == ["a", "b"]
    assert made.outputs == second.outputs
    assert type(made) is (Channel if compose.LIMITS.block else CascadeChannel)


def test_cascade_of_integers_is_exact() -> None:
    made = cascade(W, V)
    assert isinstance(made, IntegerChannel)
    assert made.weights.tolist() == [[11, 5], [8, 8]]
    assert (made.total, made.inputs, made.outputs) == (16, ["a", "b"], ["x", "y"])
    merged = cascade(W, F)
    assert isinstance(merged, IntegerChannel)
    assert merged.weights.tolist() == [[3, 1], [2, 2]]


def test_cascade_of_large_integers_does_not_overflow() -> None:
    big = IntegerChannel([[2**40, 2**41], [2**41, 2**40]])
    made = cascade(big, big)
    assert isinstance(made, IntegerChannel)
    assert made.fraction(0, 0) == Fraction(5, 9)
    both = parallel(big, big)
    assert isinstance(both, IntegerChannel)
    assert both.fraction(0, 3) == Fraction(4, 9)


def test_cascade_of_functions_is_a_function() -> None:
    made = cascade(DeterministicChannel([2, 1, 0, 2], 3), F)
    assert isinstance(made, DeterministicChannel)
    assert made.targets.tolist() == [1, 0, 0, 1]
    assert made.outputs == ["u", "v"]


def test_a_function_first_selects_rows() -> None:
    query = DeterministicChannel([1, 0, 1], 2, inputs="pqr")
    made = cascade(query, X)
    check_views(made, X.matrix()[[1, 0, 1]])
    assert made.inputs == ["p", "q", "r"]


def test_remap_takes_indices_or_a_channel() -> None:
    assert remap(W, [0, 0, 1]).matrix().tolist() == remap(W, F).matrix().tolist()
    np.testing.assert_array_equal(remap(X, R).matrix(), cascade(X, R).matrix())
    with pytest.raises(InputError, match="output of the first, 3, got 2"):
        remap(X, [0, 1])


def test_remap_of_a_million_answers() -> None:
    size = 1_000_000
    coarse = remap(GeometricChannel(size, "ln(2)"), np.arange(size) // 1000)
    assert isinstance(coarse, CascadeChannel)
    row = coarse.row(123_456)
    assert row.argmax() == 123
    assert abs(row.sum() - 1) < 1e-12


@pytest.mark.parametrize(
    "channel",
    [X, W, GeometricChannel(2, "ln(2)")],
    ids=["dense", "integer", "geometric"],
)
def test_databases_answer_through_the_query(channel: Channel) -> None:
    made = of_databases(channel, [0, 1, 1])
    check_views(made, channel.matrix()[[0, 1, 1]])
    assert made.inputs == [0, 1, 2]
    assert isinstance(made, IntegerChannel) == isinstance(channel, IntegerChannel)
    check_views(of_databases(channel, [1, 1]), channel.matrix()[[1, 1]])


def test_a_function_of_the_answer_is_one_of_the_database() -> None:
    made = of_databases(F, [2, 0, 0, 1])
    assert isinstance(made, DeterministicChannel)
    assert made.targets.tolist() == F.targets[[2, 0, 0, 1]].tolist()
    assert made.outputs == F.outputs


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([2], "0 … 1, got 2 at place 0"),
        ([], "non-empty"),
        ([0.5], "whole numbers"),
    ],
)
def test_bad_rows_are_refused(rows: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        of_databases(X, rows)


def test_a_hidden_choice_is_the_average() -> None:
    coin = Channel(np.full((2, 3), 1 / 3))
    made = hidden_choice([X, coin], [0.25, 0.75])
    check_views(made, 0.25 * X.matrix() + 0.25)
    assert made.inputs == ["a", "b"]
    assert type(made) is Channel


def test_a_choice_of_integers_is_exact_when_its_weights_are() -> None:
    other = IntegerChannel([[1, 1, 1], [1, 1, 1]])
    made = hidden_choice([W, other], ["1/3", Fraction(2, 3)])
    assert isinstance(made, IntegerChannel)
    assert made.fraction(0, 0) == Fraction(1, 3) * Fraction(1, 2) + Fraction(2, 9)
    assert type(hidden_choice([W, other], [0.5, 0.5])) is Channel


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5], "2 channels and 1 weights"),
        ([0.5, 0.6], "sum to 1, got 1.1"),
        ([1.5, -0.5], "got -0.5 at 1"),
        (["1/3", "1/3"], "sum to 1"),
        (["x", 1], "weight 0: .* got 'x'"),
        ([float("nan"), 1], "finite"),
    ],
)
def test_bad_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hidden_choice([X, X], weights)


def test_shapes_must_agree() -> None:
    with pytest.raises(InputError, match="one shape"):
        hidden_choice([X, R], [0.5, 0.5])
    with pytest.raises(InputError, match="got 2 and 3"):
        parallel(X, R)


def test_parallel_shows_both_outputs() -> None:
    made = parallel(X, GeometricChannel(2, "ln(2)"))
    expected = np.stack(
        [np.kron(X.row(i), GeometricChannel(2, "ln(2)").row(i)) for i in range(2)]
    )
    check_views(made, expected)
    assert made.outputs[3] == (1, 1)
    assert made.inputs == ["a", "b"]
    with pytest.raises(TooLarge, match="1000 × 1000000 numbers"):
        parallel(*[GeometricChannel(1000, 1), GeometricChannel(1000, 1, width=9)])


def test_the_level_of_both_is_at_most_the_sum_and_may_be_less() -> None:
    response = IntegerChannel([[2, 1], [1, 2]])
    assert smallest_epsilon(parallel(response, response), PathPower(2)).ratio == 4
    left = IntegerChannel([[2, 1, 3], [1, 1, 4], [1, 1, 4]])
    right = IntegerChannel([[1, 1, 4], [1, 1, 4], [2, 1, 3]])
    assert (
        smallest_epsilon(left, PathPower(3)).ratio
        == smallest_epsilon(right, PathPower(3)).ratio
        == 2
    )
    assert smallest_epsilon(parallel(left, right), PathPower(3)).ratio == 2
