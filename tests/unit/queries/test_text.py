"""The text form of a query, and errors that point at the character."""

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import ExplicitGraph, PathPower
from tightrope.graphs.registry import Family
from tightrope.queries import FAMILIES, Neighbours, query
from tightrope.queries.text import named


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_example_parses_to_its_own_text(family: object) -> None:
    text = family.example  # type: ignore[attr-defined]
    assert query(text).text == text
    assert query(query(text).text).graph.size == query(text).graph.size


@pytest.mark.parametrize("text", [" sum ( 150 , 5 ) ", "sum(0150,5)", "\tsum(150,5)\n"])
def test_blanks_do_not_matter(text: str) -> None:
    assert query(text).text == "sum(150,5)"


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected the name"),
        ("3(4)", 0, "expected the name"),
        ("summ(3,4)", 0, r"did you mean 'sum\(u,v\)'"),
        ("  Sum(3,4)", 2, r"did you mean 'sum\(u,v\)'"),
        ("grph(3)", 0, "'graph:FILE'"),
        ("xyzzy", 0, r"known: count\(n\), sum\(u,v\),"),
        ("sum", 3, r"expected sum\(u,v\) with u: number of people"),
        ("sum()", 4, r"expected sum\(u,v\) with u"),
        ("sum(3)", 5, r"expected sum\(u,v\)"),
        ("sum(3", 5, r"expected ',' or '\)'"),
        ("sum(3,", 6, "expected a whole number"),
        ("sum(3,)", 6, "expected a whole number"),
        ("sum(3;4)", 5, r"expected ',' or '\)'"),
        ("sum(3,-4)", 6, "expected a whole number"),
        ("sum(1.5,4)", 5, "expected ','"),
        ("sum(3,4)x", 8, "expected the end"),
        ("sum 3", 4, r"expected '\(' or the end"),
        ("sum(1,2,3)", 8, r"expected sum\(u,v\)"),
        ("sum(0,3)", 4, "must be at least 1"),
        ("cycle(2)", 6, "must be at least 3"),
        ("grid(3,0)", 7, "must be at least 1"),
        ("petersen(3)", 9, "without parameters"),
        ("count(1" + "0" * 1000 + ")", 6, "at most 10\\^15"),
        ("sum(2,1000000000000001)", 6, "at most 10\\^15"),
        ("count(٣)", 6, "expected a whole number"),
        ("graph:", 6, "name of a file"),
        ("points:  ", 9, "name of a file"),
        ("sum(3,\n\r\nx)", 9, "expected a whole number"),
    ],
)
def test_errors_point_at_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(TextError, match=message) as found:
        query(text)
    assert found.value.position == position
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "text",
    [
        "databases(1000000000000000,4)",
        "counts(10,1000000000)",
        "histogram(1000000000000000,1000000000000000)",
        "tree(2,1000000000)",
        "tree(1,1000000000000)",
        "hypercube(1000000000)",
        "grid(" + ",".join(["1000000"] * 500) + ")",
    ],
)
def test_sizes_that_cannot_be_written_down_are_refused_at_once(text: str) -> None:
    with pytest.raises(TooLarge, match=r"more than 10\^1000 answers"):
        query(text)


def test_a_text_longer_than_any_query() -> None:
    with pytest.raises(InputError, match="at most 10000 characters"):
        query("a" * 20_000)


@given(st.text(alphabet="sumcount(),0123456789 gridpath_-.", max_size=20))
def test_any_text_gives_a_query_or_a_clear_refusal(text: str) -> None:
    try:
        found = repr(query(text))
    except InputError as refused:
        found = str(refused)
    assert found
    assert "\n" not in found


def test_graphs_and_points_from_files(tmp_path: Path) -> None:
    ring = tmp_path / "a ring.csv"
    ring.write_text("0,1\n1,2\n2,0\n")
    found = query(f" graph: {ring} ", "either")
    assert found.graph.is_cycle
    assert found.text == f"graph:{ring}"
    places = tmp_path / "places.csv"
    places.write_text("0,0\n3,4\n")
    assert query(f"points:{places}").graph.distance(0, 1) == pytest.approx(5)
    with pytest.raises(InputError):
        query(f"graph:{tmp_path / 'nothing.csv'}")


def test_graphs_are_wrapped() -> None:
    assert query(PathPower(4)).graph.size == 4
    wrapped = query(nx.cycle_graph(5), "either")
    assert wrapped.graph.is_cycle
    assert wrapped.neighbours is Neighbours.EITHER
    with pytest.raises(InputError, match="undirected"):
        query(nx.DiGraph([(0, 1)]))


def test_a_query_stays_itself() -> None:
    made = query("sum(3,2)", "either")
    assert query(made) is made
    assert query(made, "either") is made
    with pytest.raises(InputError, match="was made for either"):
        query(made, "change-one")


@pytest.mark.parametrize("thing", [3, None, ["sum"], b"sum(3,4)"])
def test_other_things_are_no_queries(thing: object) -> None:
    with pytest.raises(InputError, match="a query must be a text"):
        query(thing)


def test_unknown_relation() -> None:
    with pytest.raises(
        InputError, match="'change-one', 'add-remove' or 'either', got 'swap'"
    ):
        query("count(3)", "swap")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("sum(10, 5)", "sum(10,5)"),
        ("sum(10,0000000005)", "sum(10,5)"),
        (" petersen ( ) ", "petersen"),
        ("chang(1)", "chang"),
        ("chang(02)", "chang(2)"),
        ("grid(3, 4,5)", "grid(3,4,5)"),
    ],
)
def test_every_question_has_one_spelling(text: str, canonical: str) -> None:
    for near in Neighbours:
        found = named(text, near)
        assert str(found) == found.text == canonical
        assert found.graph.agrees_with(named(canonical, near).graph)
        assert found.graph.name == canonical


@pytest.mark.parametrize(
    "text", ["points:/etc/group", " graph : x.csv", "graph:/dev/zero"]
)
def test_a_named_question_opens_no_file(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("a file was opened"))
    with pytest.raises(InputError, match="names a file"):
        named(text, "change-one")


@pytest.mark.parametrize("relation", [near.value for near in Neighbours])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_a_listed_graph_is_compared_with_the_questions(
    family: Family, relation: str
) -> None:
    asked = named(family.example, relation)
    listed = asked.graph.explicit()
    assert asked.graph.agrees_with(listed)
    swapped = listed.labels
    swapped[0], swapped[-1] = swapped[-1], swapped[0]
    other = ExplicitGraph(listed.edge_array(), labels=swapped)
    assert not asked.graph.agrees_with(other)
    if listed.edge_count:
        stretched = listed.edge_lengths().copy()
        stretched[-1] = 60_000
        far = ExplicitGraph(
            listed.edge_array(), lengths=stretched, labels=listed.labels
        )
        assert not asked.graph.agrees_with(far)


def test_other_questions_have_other_graphs() -> None:
    changed, added = (
        named("sum(10,5)", near).graph for near in ("change-one", "add-remove")
    )
    assert not changed.agrees_with(added)
    assert not named("choice(6)", "either").graph.agrees_with(
        named("count(5)", "either").graph
    )
    ring = ExplicitGraph([(i, (i + 1) % 7) for i in range(7)])
    assert not named("sum(2,3)", "change-one").graph.agrees_with(ring)
