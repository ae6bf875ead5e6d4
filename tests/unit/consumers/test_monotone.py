from fractions import Fraction

import numpy as np
import pytest

from tightrope.consumers import Loss, MatrixLoss, is_monotone, loss
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    path_order,
)

SHUFFLED = ExplicitGraph([(0, 2), (2, 1), (1, 3)], name="shuffled")


def holds(made: Loss, order: list[int], witness: tuple[int, int, int]) -> bool:
    """Whether k lies between i and k' along the line, and still costs more."""
    i, k, far = (order.index(node) for node in witness)
    between = i <= k < far or far < k <= i
    return between and made.exact(witness[0], witness[1]) > made.exact(
        witness[0], witness[2]
    )


@pytest.mark.parametrize("name", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(
    "graph",
    [PathPower(1), PathPower(2), PathPower(6), PathPower(9, 3)],
    ids=lambda g: g.name,
)
def test_named_losses_are_monotone(name: str, graph: AnswerGraph) -> None:
    assert is_monotone(loss(name, graph), graph) == (True, None)
    assert is_monotone(MatrixLoss(loss(name, graph).matrix()), graph) == (True, None)


def test_a_rule_needs_no_matrix() -> None:
    graph = PathPower(20_000)
    assert is_monotone(loss("squared", graph), graph).result
    with pytest.raises(TooLarge):
        loss("squared", graph).matrix()


def test_thirds_are_compared_as_thirds() -> None:
    graph = PathPower(7, step=Fraction(1, 3))
    assert is_monotone(loss("absolute", graph), graph).result


def test_uneven_numbers_are_monotone() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], labels=[0, 1, 5])
    assert is_monotone(loss("absolute", graph), graph) == (True, None)
    assert is_monotone(MatrixLoss(loss("absolute", graph).matrix()), graph) == (
        True,
        None,
    )


@pytest.mark.parametrize(
    "labels", [[0, 2, 1], [0, 2, -5], [3, 0, 1], [3, 0, 9], [0, 1, 3, 2]]
)
@pytest.mark.parametrize("name", ["absolute", "squared"])
def test_numbers_that_turn_are_not_monotone(labels: list[int], name: str) -> None:
    graph = ExplicitGraph([(i, i + 1) for i in range(len(labels) - 1)], labels=labels)
    made = loss(name, graph)
    found = is_monotone(made, graph)
    assert not found.result
    assert found.witness is not None
    assert holds(made, list(range(len(labels))), found.witness)
    assert not is_monotone(MatrixLoss(made.matrix()), graph).result


def test_one_wrong_entry_is_found() -> None:
    graph = PathPower(5)
    matrix = loss("squared", graph).matrix()
    assert is_monotone(MatrixLoss(matrix), graph).result
    matrix[3, 0] = 3.999999
    found = is_monotone(MatrixLoss(matrix), graph)
    assert found.witness == (3, 1, 0)
    assert holds(MatrixLoss(matrix), list(range(5)), (3, 1, 0))
    matrix[3, 0] = 9
    matrix[3, 3] = 2
    assert is_monotone(MatrixLoss(matrix), graph).witness == (3, 3, 4)


def test_one_sided_losses_are_monotone() -> None:
    assert is_monotone(
        loss(lambda i, k: max(0, i - k), PathPower(4)), PathPower(4)
    ).result


def test_the_line_counts_and_not_the_numbering() -> None:
    order = [0, 2, 1, 3]
    assert path_order(SHUFFLED).tolist() == order
    assert is_monotone(loss("distance", SHUFFLED), SHUFFLED).result
    by_number = loss("absolute", SHUFFLED)
    found = is_monotone(by_number, SHUFFLED)
    assert found.witness is not None
    assert holds(by_number, order, found.witness)
    # A band's distances follow its own numbering, not the line of another graph.
    assert not is_monotone(loss("distance", PathPower(4)), SHUFFLED).result


def test_distances_are_compared_where_no_rule_holds() -> None:
    from tightrope.graphs.lines import CappedPathPower

    graph = CappedPathPower(3, 3)
    made = loss("distance", graph)
    found = is_monotone(made, graph)
    assert not found.result
    assert found.witness is not None
    assert holds(made, list(range(graph.size)), found.witness)


def test_a_line_and_the_same_guesses_are_needed() -> None:
    for graph in (Clique(3), Cycle(3), ExplicitGraph([(0, 1), (0, 2), (0, 3)])):
        with pytest.raises(InputError, match="answers on a line"):
            is_monotone(Loss.binary(graph.size), graph)
    with pytest.raises(InputError, match="as truths and as guesses, got 3 and 2"):
        is_monotone(MatrixLoss(np.zeros((3, 2))), PathPower(3))


def test_where_numbering_means_something() -> None:
    assert ExplicitGraph([(0, 1), (1, 2)], labels=[1, 2, 4]).is_line
    assert not ExplicitGraph([(0, 1), (1, 2)], labels=[1, 4, 2]).is_line
    assert not ExplicitGraph([(0, 1), (1, 2)], labels="abc").is_line
    assert not ExplicitGraph([(0, 1), (1, 2), (0, 3)]).is_line
    assert not SHUFFLED.is_line
