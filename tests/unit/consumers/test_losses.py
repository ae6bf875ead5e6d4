from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tightrope.consumers import Loss, MatrixLoss, loss
from tightrope.consumers.losses import BinaryLoss, DistanceLoss
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    StrongProduct,
)
from tightrope.kinds import LOSSES, forms

CITIES = ExplicitGraph([(0, 1), (1, 2)], labels=["Oslo", "Rome", "Lima"], name="cities")
PAIRS = StrongProduct([PathPower(3), PathPower(4)])
TRIPLES = ExplicitGraph(
    [(0, 1), (1, 2)], labels=[(0, 0, 3), (1, 1, 1), (2, 0, 1)], name="triples"
)
HUGE = CartesianProduct([Clique(4)] * 20, name="databases(20,4)")


def by_hand(name: str, graph: AnswerGraph) -> np.ndarray:
    def one(i: int, k: int) -> float:
        a, b = np.array(graph.label(i)), np.array(graph.label(k))
        return {
            "binary": float(i != k),
            "distance": float(graph.distance(i, k)),
            "absolute": float(np.abs(a - b).sum()),
            "squared": float(((a - b) ** 2).sum()),
        }[name]

    return np.array([[one(i, k) for k in range(graph.size)] for i in range(graph.size)])


@pytest.mark.parametrize("name", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(
    "graph",
    [
        PathPower(7, 2),
        PathPower(6, 9),
        PathPower(1),
        PathPower(2),
        Cycle(5),
        PAIRS,
        TRIPLES,
    ],
    ids=lambda graph: graph.name,
)
def test_named_losses_follow_their_definition(name: str, graph: AnswerGraph) -> None:
    made, expected = loss(name, graph), by_hand(name, graph)
    n = graph.size
    assert (made.name, made.size, made.guess_count) == (name, n, n)
    assert np.array_equal(made.matrix(), expected)
    assert all(np.array_equal(made.column(k), expected[:, k]) for k in range(n))
    assert np.array_equal(made.columns(np.array([n - 1, 0])), expected[:, [n - 1, 0]])
    assert all(
        made.at(i, k) == made.exact(i, k) == expected[i, k] for i, k in np.ndindex(n, n)
    )
    assert made.is_binary == bool((expected == 1 - np.eye(n)).all())
    assert made.guesses == graph.labels
    weights = np.random.default_rng(7).random((n, 5))
    assert made.expected(weights) == pytest.approx(expected.T @ weights)


def test_uneven_and_unordered_numbers() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], labels=[5, -1.5, Fraction(1, 2)])
    for name in ("absolute", "squared"):
        made = loss(name, graph)
        expected = np.abs(np.subtract.outer([5, -1.5, 0.5], [5, -1.5, 0.5]))
        expected = expected if name == "absolute" else expected**2
        assert np.array_equal(made.matrix(), expected)
        weights = np.random.default_rng(3).random((3, 4))
        assert made.expected(weights) == pytest.approx(expected.T @ weights)
    assert loss("absolute", graph).exact(0, 2) == Fraction(9, 2)


def test_losses_of_many_databases_by_rule() -> None:
    assert loss("binary", HUGE).at(0, 4**20 - 1) == 1
    assert loss("distance", HUGE).at(0, 4**20 - 1) == 20
    assert loss("absolute", HUGE).at(0, 4**20 - 1) == 60
    assert loss("squared", HUGE).at(0, 4**20 - 1) == 180
    for name in ("binary", "distance", "absolute"):
        with pytest.raises(TooLarge):
            loss(name, HUGE).row(0)
        with pytest.raises(TooLarge, match="more than 150000000"):
            loss(name, HUGE).matrix()


def test_numbers_are_needed_where_they_are_subtracted() -> None:
    for name in ("absolute", "squared"):
        with pytest.raises(
            InputError, match=f"{name} loss needs answers that are numbers"
        ):
            loss(name, CITIES)
    with pytest.raises(InputError, match="tuples of one length"):
        loss("absolute", ExplicitGraph([(0, 1)], labels=[(1, 2), (1,)])).row(0)
    with pytest.raises(InputError, match="finite, got inf at row 1"):
        loss("squared", ExplicitGraph([(0, 1)], labels=[0.0, float("inf")])).row(0)
    with pytest.raises(InputError, match="must be numbers"):
        loss("absolute", ExplicitGraph([(0, 1)], labels=[0, 10**400])).row(
            0
        )  # no float


def test_a_matrix_may_have_other_guesses() -> None:
    made = MatrixLoss(
        [[0, 1, 0.4], [1, 0, 0.4]], guesses=["no", "yes", "pass"], name="shy"
    )
    assert isinstance(made, MatrixLoss)
    assert (made.size, made.guess_count, made.is_binary) == (2, 3, False)
    assert made.guess_label(2) == "pass"
    assert made.exact(0, 2) == Fraction(2, 5)
    assert repr(made) == "<MatrixLoss shy: 2 answers, 3 guesses>"
    with pytest.raises(ValueError, match="read-only"):
        made.matrix()[0, 0] = 1
    with pytest.raises(InputError, match="guess must be in 0 … 2, got 3"):
        made.at(0, 3)
    with pytest.raises(InputError, match="node must be in 0 … 1, got -1"):
        made.row(-1)
    with pytest.raises(InputError, match="3 different labels, got 2"):
        MatrixLoss([[0, 1, 2]], guesses=["a", "b"])
    with pytest.raises(InputError, match="3 different labels"):
        MatrixLoss([[0, 1, 2]], guesses=["a", "b", "a"])


def test_binary_is_known_by_its_numbers() -> None:
    assert MatrixLoss(1 - np.eye(3)).is_binary
    assert not MatrixLoss(2 - 2 * np.eye(3)).is_binary
    assert not MatrixLoss(np.ones((3, 3))).is_binary
    assert isinstance(Loss.binary(3), BinaryLoss)
    assert DistanceLoss(Clique(4)).is_binary
    assert not DistanceLoss(ExplicitGraph([(0, 1)], lengths=[2.0])).is_binary


def test_a_gain_is_a_loss_below_zero() -> None:
    assert Loss.from_gain([[2, 0], [0, 1]]).matrix().tolist() == [[-2, 0], [0, -1]]
    with pytest.raises(InputError, match="got nan at row 0, column 1"):
        Loss.from_gain([[0, float("nan")]])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, float("nan")]], "finite, got nan at row 0, column 1"),
        ([[0, 1], [float("-inf"), 0]], "finite, got -inf at row 1, column 0"),
        ([[0, 1], [0]], "rectangular"),
        ([], "non-empty"),
        ([[]], "non-empty"),
        ([1, 2], "matrix of numbers, got shape"),
        ([[0, "x"]], "row 0, column 1: expected a number .*, got 'x'"),
        ([[0, None]], "finite|number"),
        (3, "non-empty"),
        (object(), "rectangular matrix of numbers"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        MatrixLoss(matrix)
    assert "\n" not in str(caught.value)


def test_functions() -> None:
    made = loss(
        lambda truth, guess: "1/2" if truth == "Rome" else guess == "Oslo", CITIES
    )
    assert made.matrix().tolist() == [[1, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0]]


def test_wrong_functions() -> None:
    with pytest.raises(InputError, match="finite, got nan at row 0, column 0"):
        loss(lambda truth, guess: float("nan"), CITIES)
    with pytest.raises(
        InputError, match="the loss at 'Oslo', 'Oslo': expected a number"
    ):
        loss(lambda truth, guess: "much", CITIES)
    with pytest.raises(TooLarge, match="called 100000² times"):
        loss(lambda truth, guess: 0, PathPower(100_000))


def test_values() -> None:
    given = Loss.binary(3)
    assert loss(given, CITIES) is given
    assert loss(np.zeros((3, 3)), CITIES).guesses == ["Oslo", "Rome", "Lima"]
    assert loss(np.zeros((3, 2)), CITIES).guesses == [0, 1]
    with pytest.raises(
        InputError, match="cities needs 3 rows, one for each answer, got 2"
    ):
        loss(np.zeros((2, 3)), CITIES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cubic", f"known: {', '.join(forms(LOSSES))}"),
        ("", "expected the name of a loss"),
        ("Binary", "did you mean 'binary'"),
        ("binary loss", "or the end"),
        ("binary(2)", "binary takes no numbers"),
        ("file", "expected file:FILE"),
    ],
)
def test_unknown_names(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        loss(text, PathPower(3))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "0, 1, 2\n1/2, 0, 3\n\n-1, 1e1, 0\n"),
        ("l.json", '[[0, 1, 2], ["1/2", 0, 3], [-1, 1e1, 0]]'),
    ],
)
def test_files(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    made = loss(f"file:{name}", CITIES, folder=tmp_path)
    assert made.matrix().tolist() == [[0, 1, 2], [0.5, 0, 3], [-1, 10, 0]]
    assert made.name == f"file:{name}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.csv", "0,1\n1,0\n", "needs 3 rows, one for each answer, got 2"),
        ("l.csv", "0,1\n1\n0,0", "l.csv:2: expected 2 fields as above, got 1"),
        ("l.csv", "0,x\n1,0\n0,0", "row 0, column 1: expected a number .*, got 'x'"),
        ("l.csv", "0,nan\n1,0\n0,0", "got nan at row 0, column 1"),
        ("l.json", "[[0, 1], [1]]", "got 2 in row 0 and 1 in row 1"),
        ("l.json", "{}", "rectangular matrix"),
        ("l.json", "[0, 1]", "non-empty"),
        ("l.json", "[]", "non-empty"),
        ("l.json", "[[{}], [0], [0]]", "expected a number|rectangular"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        loss(f"file:{tmp_path / name}", CITIES)
    assert "\n" not in str(caught.value)
