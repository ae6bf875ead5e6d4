"""Plots: what is on the axes, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

import tightrope as tr
from tightrope.channels import Channel, GeometricChannel
from tightrope.consumers.regular import leakage_curves, regular_levels
from tightrope.errors import InputError
from tightrope.graphs import (
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    folded_cube,
    petersen,
)
from tightrope.mechanisms import exponential, geometric
from tightrope.mechanisms.tight import utility_curve
from tightrope.phi import exists
from tightrope.report.drawings import heat_map, layout, short_label, strokes
from tightrope.report.plots import (
    new_axes,
    plot_channel,
    plot_column_graph,
    plot_database_bound,
    plot_graph,
    plot_leakage,
    plot_region,
    plot_utility,
    shade_existence,
)


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def legend(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_small_channel_has_its_numbers_written() -> None:
    axes = plot_channel(GeometricChannel(3, "ln(2)"), fractions=True)
    assert texts(axes)[:3] == ["2/3", "1/6", "1/6"]
    assert axes.get_ylabel() == "true answer"
    assert axes.get_title() == "3 answers, 3 outputs"


def test_numbers_are_decimal_unless_asked() -> None:
    assert texts(plot_channel(GeometricChannel(3, "ln(2)")))[:2] == [".667", ".167"]


def test_a_large_channel_says_what_is_left_out() -> None:
    axes = plot_channel(GeometricChannel(2000, 1))
    assert axes.get_title() == "2,000 answers, 2,000 outputs; drawn as 154 × 154 blocks"
    assert texts(axes) == []


def test_cells_show_the_matrix() -> None:
    channel = exponential(petersen(), "ln(2)")
    drawn = plot_channel(channel).images[0].get_array()
    assert np.asarray(drawn) == pytest.approx(channel.matrix())


@pytest.mark.parametrize(
    "graph", [PathPower(3), Cycle(3), Clique(4), Cycle(4)], ids=str
)
def test_regions_of_three_and_four_answers(graph) -> None:
    axes = plot_region(
        graph, epsilons=("ln(2)", 1), prior=np.full(graph.size, 1 / graph.size)
    )
    assert legend(axes) == ["ε = ln(2)", "ε = 1", "this prior"]
    assert sum(text.startswith("surely") for text in texts(axes)) == graph.size


def test_five_answers_have_no_picture() -> None:
    with pytest.raises(InputError, match=r"3 or 4 answers, but path\(5\) has 5"):
        plot_region(PathPower(5))


def test_utility_with_the_levels_shaded() -> None:
    graph = PathPower(16, 3)
    axes = shade_existence(
        exists(graph), plot_utility(utility_curve(graph, [0.9, 1.1, 1.4]))
    )
    assert legend(axes) == ["tight constraints", "geometric noise", "mechanism exists"]
    assert axes.get_xlabel() == "privacy level ε"


def test_every_interval_is_shaded_once_in_the_legend() -> None:
    gap = ExplicitGraph(
        [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]
    )
    axes = new_axes()
    axes.set_xlim(0, 1)
    shade_existence(exists(gap), axes)
    assert len(axes.patches) == 2
    assert axes.get_legend_handles_labels()[1] == ["mechanism exists"]
    assert axes.get_xlim() == (0, 1)


def test_leakage_has_a_gap_where_the_prior_is_not_regular() -> None:
    people = tr.query("databases(5,4)").graph
    prior = "product(.3,.27,.23,.2)"
    curves = leakage_curves(prior, people, [0.5, 0.8, 0.9])
    axes = shade_existence(regular_levels(prior, people), plot_leakage(curves))
    this = axes.lines[1].get_ydata()
    assert np.isnan(this[0])
    assert not np.isnan(this[1:]).any()


def test_database_bounds() -> None:
    axes = plot_database_bound([(1, 2), (10, 4)])
    assert legend(axes) == ["1 person, 2 values", "10 people, 4 values"]
    assert axes.lines[1].get_ydata()[-1] < 20


@pytest.mark.parametrize(
    ("channel", "graph", "title"),
    [
        (geometric(PathPower(5), "ln(2)"), PathPower(5), "output 2: connected"),
        (
            exponential(PathPower(5), "ln(2)"),
            PathPower(5),
            "output 2: falls into 5 parts",
        ),
        (
            geometric(PathPower(7, 2), "ln(2)"),
            PathPower(7, 2),
            "output 2: falls into 3 parts",
        ),
    ],
    ids=["geometric", "exponential", "sum"],
)
def test_column_graphs(channel, graph, title) -> None:
    axes = plot_column_graph(channel, graph=graph, epsilon="ln(2)", output=2)
    assert axes.get_title() == title


def overlaps(axes, drawn) -> int:
    """Count the texts that cover one of their neighbours in the picture."""
    figure = axes.get_figure()
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in drawn if text.get_text()]
    assert len(boxes) > 4
    return sum(one.overlaps(two) for one, two in pairwise(boxes))


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(6),
        PathPower(31),
        PathPower(31, 3),
        PathPower(700, 5),
        PathPower(25, step=1000),
    ],
)
def test_names_of_answers_in_a_row_do_not_cover_each_other(graph) -> None:
    axes = plot_graph(graph)
    assert overlaps(axes, axes.texts) == 0
    assert min(text.get_fontsize() for text in axes.texts) >= 6.5


@pytest.mark.parametrize("size", [10, 25, 1000])
def test_ticks_of_a_heat_map_do_not_cover_each_other(size) -> None:
    axes = plot_channel(GeometricChannel(size, "ln(2)"))
    assert overlaps(axes, axes.get_xticklabels()) == 0
    assert overlaps(axes, axes.get_yticklabels()) == 0


def test_triples_of_counts_stand_apart() -> None:
    graph = tr.query("counts(2,3)").graph
    points = layout(graph, list(range(27)), [])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[
        ~np.eye(27, dtype=bool)
    ]
    assert gaps.min() > 0.12 * np.ptp(points[:, 0])


def test_given_places_are_kept() -> None:
    axes = plot_graph(Cycle(3), places=[[0, 0], [5, 0], [0, 5]])
    assert axes.collections[1].get_offsets().tolist() == [[0, 0], [5, 0], [0, 5]]


def test_a_cube_looks_like_a_cube() -> None:
    graph = folded_cube(4)
    points = layout(graph, list(range(8)), [])
    assert len(np.unique(points.round(9), axis=0)) == 8


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ((1, 2), "1,2"),
        ((0, 1, 0), "010"),
        ((10, 2, 3), "10,2,3"),
        ("x" * 30, "x" * 19 + "…"),
    ],
)
def test_labels_are_short(label, text) -> None:
    assert short_label(label) == text


def test_curves_differ_without_colour() -> None:
    drawn = strokes(6)
    assert len({str(stroke.dash) for stroke in drawn}) == 6
    assert len({stroke.marker for stroke in drawn}) == 6


def test_axes_of_the_caller_are_used() -> None:
    axes = new_axes()
    for draw in (
        lambda: plot_channel(GeometricChannel(3, 1), axes),
        lambda: plot_region(PathPower(3), axes),
        lambda: plot_graph(Cycle(4), axes),
    ):
        assert draw() is axes


def test_a_peak_inside_a_block_is_not_lost() -> None:
    rows = np.full((300, 300), 1e-3)
    rows[:, 151] += 0.7
    heat = heat_map(Channel(rows / rows.sum(axis=1, keepdims=True)))
    assert heat.is_reduced
    assert heat.values[:, 75] == pytest.approx(np.full(150, 0.701))
    whole = heat_map(GeometricChannel(5, 1))
    assert not whole.is_reduced
    assert whole.values == pytest.approx(GeometricChannel(5, 1).matrix())
