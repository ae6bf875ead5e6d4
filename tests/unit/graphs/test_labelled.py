"""Answers listed one by one: the same rules for every kind of graph that holds a list."""

from collections.abc import Callable

import pytest

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, ExplicitGraph, PointsGraph

KINDS: dict[str, Callable[..., AnswerGraph]] = {
    "edges": lambda labels: ExplicitGraph([(0, 1), (1, 2)], labels=labels),
    "points": lambda labels: PointsGraph([(0, 0), (1, 0), (0, 1)], labels=labels),
}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@kinds
def test_labels_lead_to_nodes_and_back(make: Callable[..., AnswerGraph]) -> None:
    graph = make(["low", ("a", 2), None])
    assert graph.labels == ["low", ("a", 2), None]
    assert [graph.index(label) for label in graph.labels] == [0, 1, 2]
    assert make(None).labels == [0, 1, 2]


@kinds
@pytest.mark.parametrize("label", ["high", 0, ["low"]])
def test_what_is_no_answer_is_refused(make: Callable[..., AnswerGraph], label: object) -> None:
    with pytest.raises(InputError, match="is not an answer of"):
        make(["low", ("a", 2), None]).index(label)


@kinds
@pytest.mark.parametrize(
    ("labels", "said"),
    [(["a", "b", "a"], "labels must be different, got 'a' twice"), (["a", [], "b"], "hashable")],
)
def test_lists_that_name_no_three_answers_are_refused(
    make: Callable[..., AnswerGraph], labels: list[object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make(labels)
