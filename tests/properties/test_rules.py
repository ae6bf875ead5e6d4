"""What a family says by rule equals what a search through its listed edges finds."""

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    PathPower,
    Star,
    StrongProduct,
)
from tightrope.queries import Neighbours, query

TEXTS = [
    *(f"count({n})" for n in (1, 2, 6)),
    *(f"sum({u},{v})" for u in (1, 2, 3, 5) for v in (1, 2, 3, 4)),
    *(f"mean({u},{v})" for u in (2, 4) for v in (1, 3)),
    *(f"median({u},{v})" for u in (2, 3) for v in (1, 2, 3, 4, 5, 8, 11)),
    *(f"counts({n},{k})" for n in (1, 2, 4) for k in (1, 2, 3)),
    *(f"histogram({n},{c})" for n in (1, 2, 3, 5) for c in (1, 2, 3, 4)),
    "histogram(2,6)",
    *(f"count_mod({n},{m})" for n in (1, 2, 3, 6) for m in (1, 2, 3, 4)),
    *(f"databases({u},{v})" for u in (1, 2, 3) for v in (1, 2, 3)),
    *(
        f"{name}({n})"
        for name in ("choice", "star", "path", "clique")
        for n in (1, 2, 5)
    ),
    *(f"cycle({n})" for n in (3, 4, 7)),
    *("grid(1)", "grid(4)", "grid(3,4)", "grid(2,3,2)"),
    *(f"tree({b},{h})" for b in (1, 2, 3) for h in (0, 1, 2, 3)),
    *(f"hypercube({d})" for d in (1, 2, 4)),
    *(f"folded_cube({d})" for d in (3, 4, 5, 6)),
]


def agrees_with_search(graph: AnswerGraph) -> None:
    listed = graph.explicit()
    nodes = range(graph.size)
    assert (graph.distance_matrix() == listed.distance_matrix()).all()
    assert [
        [graph.distance(i, j) for j in nodes] for i in nodes
    ] == graph.distance_matrix().tolist()
    assert graph.diameter == listed.diameter
    assert graph.edge_count == listed.edge_count == len(graph.edge_array())
    assert graph.degrees.tolist() == listed.degrees.tolist()
    assert [graph.degree(i) for i in nodes] == listed.degrees.tolist()
    assert (graph.min_degree, graph.max_degree) == (
        listed.min_degree,
        listed.max_degree,
    )
    balls = [graph.ball_sizes(i) for i in nodes]
    assert balls == [listed.ball_sizes(i) for i in nodes]
    assert graph.constant_ball_sizes == (balls[0] if len(set(balls)) == 1 else None)
    assert [graph.index(graph.label(i)) for i in nodes] == list(nodes)
    for i in nodes:
        assert graph.neighbours(i).tolist() == listed.neighbours(i).tolist()
    assert (graph.is_path, graph.is_tree) == (listed.is_path, listed.is_tree)
    assert (graph.is_cycle, graph.is_clique) == (listed.is_cycle, listed.is_clique)


@pytest.mark.parametrize("relation", [near.value for near in Neighbours])
@pytest.mark.parametrize("text", TEXTS)
def test_rules_agree_with_search(text: str, relation: str) -> None:
    agrees_with_search(query(text, relation).graph)


factors = st.one_of(
    st.builds(PathPower, st.integers(1, 4), st.integers(1, 3)),
    st.builds(Clique, st.integers(1, 4)),
    st.builds(Star, st.integers(1, 3)),
)


@settings(max_examples=25)
@given(st.lists(factors, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_products_agree_with_search(
    chosen: list[AnswerGraph], strong: bool, repeat_first: bool
) -> None:
    if repeat_first:
        chosen = [chosen[0], *chosen[:2]]
    agrees_with_search((StrongProduct if strong else CartesianProduct)(chosen))


def test_a_wrong_rule_is_noticed() -> None:
    class Wrong(PathPower):
        def degree(self, i: int) -> int:
            """Forget the band's ends."""
            return 2 * self.width

    with pytest.raises(AssertionError):
        agrees_with_search(Wrong(6, 2))
