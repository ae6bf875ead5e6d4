"""Pictures for the page: what is written on them, and where."""

import pytest

from tightrope.studio.asking import query_in
from tightrope.studio.pictures import bars_picture, graph_picture, heat_picture
from tightrope.studio.state import ConsumerText, PageState
from tightrope.studio.work import Compared, drawing_of, heat_of, make


def names_on(figure):
    return next(trace for trace in figure["data"] if trace["mode"] == "markers+text")


def drawn(question):
    return drawing_of(query_in(PageState(question=question)).graph)


def test_names_stand_outside_a_circle_of_answers():
    sides = names_on(graph_picture(drawn("cycle(4)")))["textposition"]
    assert sides == ["top center", "middle right", "bottom center", "middle left"]
    assert set(names_on(graph_picture(drawn("counts(2,2)")))["textposition"]) == {
        "top center"
    }


def test_names_are_beyond_the_rings_and_not_below_them():
    figure = graph_picture(drawn("cycle(4)"), groups=[[0, 1], [1, 2]])
    rings = [
        trace
        for trace in figure["data"]
        if trace.get("name", "").startswith("consumer")
    ]
    room = names_on(figure)["marker"]["size"]
    assert len(rings) == 2
    assert room > max(ring["marker"]["size"] for ring in rings)


@pytest.mark.parametrize("question", ["sum(100,4)", "count(39)", "count(5)"])
def test_a_small_picture_has_few_names_and_those_of_marked_answers(question):
    figure = graph_picture(drawn(question), groups=[[1, 3]], most_names=20)
    written = names_on(figure)["text"]
    assert {"1", "3"} <= set(written)
    assert len(written) <= 20 + 2
    assert len(names_on(graph_picture(drawn(question)))["text"]) >= len(written)


def test_numbers_stand_in_the_cells_of_a_small_mechanism_only():
    small, large = (make(PageState(question=f"count({n})")) for n in (3, 20))
    cells = heat_picture(*heat_of(small.mechanism)[:2], logarithmic=True)["data"][0][
        "text"
    ]
    assert cells[0][0] == "0.667"
    assert "text" not in heat_picture(*heat_of(large.mechanism)[:2])["data"][0]
    ticks = heat_picture(*heat_of(large.mechanism)[:2])["layout"]["xaxis"]["tickvals"]
    assert len(ticks) <= 12


def test_every_bar_has_its_number_beside_it():
    consumer = ConsumerText(loss="absolute")
    made = make(PageState(question="count(3)", consumers=(consumer,)))
    figure = bars_picture(
        [*made.compared, Compared("hardly anything", 1e-9)], made.is_binary
    )
    assert figure["data"][0]["textposition"] == "outside"
    longest = max(figure["data"][0]["x"])
    assert figure["layout"]["xaxis"]["range"][1] > 1.1 * longest
