"""Objects show themselves in a notebook: briefly, and safely."""

import pytest

import tightrope as tr
from tightrope.channels import Channel, GeometricChannel
from tightrope.consumers import Prior
from tightrope.graphs import Cycle, Databases, ExplicitGraph, PathPower
from tightrope.optimize import design

BAD = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    "thing",
    [
        Cycle(5),
        PathPower(10**6, 5),
        Databases(20, range(4)),
        GeometricChannel(3, 1),
        GeometricChannel(10**6, 1),
        Prior([0.2, 0.3, 0.5]),
        Prior.uniform(10**6),
        design("choice(3)", 1),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_display_is_a_small_table(thing) -> None:
    page = thing._repr_html_()
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    assert len(page) < 20_000


def test_labels_are_escaped() -> None:
    graph = ExplicitGraph([(0, 1)], labels=[BAD, "b"], name=BAD)
    channel = Channel([[0.5, 0.5], [0.5, 0.5]], inputs=[BAD, "b"], outputs=["a", BAD])
    for thing in (graph, channel, design(graph, 1)):
        page = thing._repr_html_()
        assert "<script" not in page
        assert "&lt;script&gt;" in page


def test_numbers_are_shown() -> None:
    assert "0.6667" in GeometricChannel(3, "ln(2)")._repr_html_()
    assert "0.5000" in Prior([0.5, 0.5])._repr_html_()
    assert "<td>150</td>" in tr.query("sum(150,5)").graph._repr_html_()


def test_what_is_left_out_is_said() -> None:
    assert "…" in GeometricChannel(30, 1)._repr_html_()
    assert "10 more" in Prior.uniform(30)._repr_html_()
    assert "…" not in GeometricChannel(3, 1)._repr_html_()
