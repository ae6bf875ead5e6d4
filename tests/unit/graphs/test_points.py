"""Points with a metric, and their files."""

import math
from pathlib import Path

import numpy as np
import pytest

from tightrope.arrays import LIMITS
from tightrope.channels.privacy import smallest_epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import read_points
from tightrope.graphs.points import EARTH_RADIUS_KM, METRICS, PointsGraph
from tightrope.graphs.symmetry import graph_facts, symmetry
from tightrope.mechanisms import exponential

PLACES = np.random.default_rng(3).uniform(-80, 80, (12, 2))


@pytest.mark.parametrize("metric", METRICS)
def test_the_graph_distance_is_the_metric(metric: str) -> None:
    graph = PointsGraph(PLACES, metric=metric)
    listed = graph.explicit()
    assert np.allclose(listed.distance_matrix(), graph.distance_matrix(), rtol=1e-12)
    assert np.allclose(graph.distance_matrix(), graph.distance_matrix().T, rtol=1e-12)
    assert listed.diameter == pytest.approx(graph.diameter, rel=1e-12)
    assert graph.distance(2, 5) == graph.distances_from(2)[5]
    assert np.array_equal(graph.edge_array(), listed.edge_array())
    assert np.allclose(graph.edge_lengths(), listed.edge_lengths())
    assert graph.is_clique
    assert graph.edge_count == 66
    assert graph.degree(0) == 11
    assert graph.neighbours(3).tolist() == [0, 1, 2, *range(4, 12)]


def test_metrics_by_hand() -> None:
    places = [(0, 0), (3, -4)]
    assert [
        PointsGraph(places, metric=m).distance(0, 1) for m in ("euclidean", "manhattan")
    ] == [
        5,
        7,
    ]
    assert PointsGraph(places, metric="chebyshev").distance(0, 1) == 4
    quarter = PointsGraph([(0, 0), (0, 90), (90, 17)], metric="haversine")
    assert quarter.distance(0, 1) == pytest.approx(EARTH_RADIUS_KM * math.pi / 2)
    assert quarter.distance(1, 2) == pytest.approx(EARTH_RADIUS_KM * math.pi / 2)
    apart = PointsGraph([(0, 179.5), (0, -179.5)], metric="haversine")
    assert apart.distance(0, 1) == pytest.approx(EARTH_RADIUS_KM * math.radians(1))


def test_a_metre_is_enough_to_be_apart() -> None:
    graph = PointsGraph([(52, 13), (52 + 1e-5, 13)], metric="haversine")
    assert graph.distance(0, 1) == pytest.approx(1.1e-3, rel=0.02)
    assert PointsGraph([(0, 0), (1e-100, 0)]).distance(0, 1) == 1e-100


def test_one_point_and_its_label() -> None:
    graph = PointsGraph([[1.0]], labels=["here"])
    assert (graph.size, graph.diameter, graph.has_lengths) == (1, 0.0, False)
    assert graph.index("here") == 0
    with pytest.raises(InputError, match="'there' is not an answer"):
        graph.index("there")


def test_many_points_need_no_matrix() -> None:
    line = PointsGraph(np.arange(100_000.0)[:, None])
    assert line.distances_from(5)[:3].tolist() == [5, 4, 3]
    with pytest.raises(TooLarge, match=f"at most {LIMITS.compared} points"):
        _ = line.diameter
    with pytest.raises(TooLarge, match="edge list"):
        line.edge_lengths()


@pytest.mark.parametrize("points", [[(1, 2)], [(0, 0), (3, 4), (0, 8)]])
def test_facts_and_exponential_noise_of_points(points: list) -> None:
    graph = PointsGraph(points)
    sizes = (1,) if len(points) == 1 else None
    assert graph.constant_ball_sizes == graph_facts(graph).ball_sizes == sizes
    noise = exponential(graph, 1)
    assert noise.row(0).sum() == pytest.approx(1)
    assert smallest_epsilon(noise, graph).value <= 1


def test_symmetry_of_points() -> None:
    square = PointsGraph([(0, 0), (0, 1), (1, 0), (1, 1)], metric="manhattan")
    assert symmetry(square).vertex_transitive
    assert not symmetry(PointsGraph([(0, 0), (0, 1), (5, 0)])).vertex_transitive


@pytest.mark.parametrize(
    ("points", "metric", "says"),
    [
        ([(0, 0), (1, 1), (0, 0)], "euclidean", "got 0 and 2 in the same one"),
        ([(0, 0), (1e-200, 0)], "euclidean", "in the same one"),
        ([(90, 0), (90, 120)], "haversine", "in the same one"),
        ([(5, -180), (5, 180)], "haversine", "in the same one"),
        (
            [(0, math.nan)],
            "euclidean",
            "coordinates must be finite, got nan at row 0, column 1",
        ),
        ([(0, math.inf)], "euclidean", "coordinates must be finite"),
        ([(0, 1e200)], "euclidean", "coordinates must be finite"),
        ([(91, 0)], "haversine", "latitude must be within ±90"),
        ([(0, 361)], "haversine", "longitude within ±360"),
        ([(0, 0, 0)], "haversine", "latitude and longitude, got 3 columns"),
        ([], "euclidean", "rows of coordinates"),
        ([1, 2], "euclidean", "rows of coordinates"),
        ([(1, 2), (3,)], "euclidean", "rows of coordinates"),
        ([("a", "b")], "euclidean", "rows of coordinates"),
        ([(0, 0)], "taxi", "the metric must be one of euclidean"),
    ],
    ids=range(15),
)
def test_refusals(points: list, metric: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        PointsGraph(points, metric=metric)
    assert says in str(caught.value)


def test_labels_are_checked() -> None:
    with pytest.raises(InputError, match="answers must be 2 different labels, got 1"):
        PointsGraph([(0, 0), (1, 1)], labels=["a"])
    with pytest.raises(InputError, match="different labels, got 'a' twice"):
        PointsGraph([(0, 0), (1, 1)], labels=["a", "a"])


# -- files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "metric", "labels", "points"),
    [
        ("0,1\n2,3\n", "euclidean", [0, 1], [[0, 1], [2, 3]]),
        ("x,y\n0,1\n2,3\n", "manhattan", [0, 1], [[0, 1], [2, 3]]),
        ("a,0,1\nb,2,3\n", "euclidean", ["a", "b"], [[0, 1], [2, 3]]),
        ("x,name,y\n0,a,1\n2,b,3\n", "chebyshev", ["a", "b"], [[0, 1], [2, 3]]),
        ("id,x\n10,0\n20,5\n", "euclidean", [10, 20], [[0], [5]]),
        ("x\n0\n5\n", "euclidean", [0, 1], [[0], [5]]),
        ("id,x\n7,0\n3,5\n", "euclidean", [3, 7], [[5], [0]]),
        ("lon,lat\n0,1\n2,3\n", "haversine", [0, 1], [[1, 0], [3, 2]]),
        ("Latitude,Longitude\n0,1\n2,3\n", "haversine", [0, 1], [[0, 1], [2, 3]]),
        ("0,1\n2,3\n", "haversine", [0, 1], [[0, 1], [2, 3]]),
    ],
    ids=range(10),
)
def test_read(
    tmp_path: Path, text: str, metric: str, labels: list, points: list
) -> None:
    place = tmp_path / "places.csv"
    place.write_text(text)
    graph = read_points(place, metric)
    assert graph.labels == labels
    assert graph.points.tolist() == points
    assert (graph.metric, graph.name) == (metric, "places")


@pytest.mark.parametrize(
    ("text", "metric", "says"),
    [
        ("", "euclidean", "p.csv: the file holds no points"),
        ("x,y\n", "euclidean", "p.csv: the file holds no points"),
        ("0,1\n2\n", "euclidean", "p.csv:2: expected 2 fields as above, got 1"),
        (
            "0,1\n2,x\n",
            "euclidean",
            "p.csv:2: a coordinate must be a finite number, got 'x'",
        ),
        ("0,1\n2,nan\n", "euclidean", "p.csv:2: a coordinate must be a finite number"),
        (
            "0,1\n2,\n",
            "euclidean",
            "p.csv:2: a coordinate must be a finite number, got ''",
        ),
        ("0,1\n0,1\n", "euclidean", "points must be in different places"),
        (
            "a,0\na,1\n",
            "euclidean",
            "p.csv:2: the label 'a' is given again (see line 1)",
        ),
        ("name,x\na,0\n,1\n", "euclidean", "p.csv:3: the label is empty"),
        ("name\na\n", "euclidean", "p.csv:1: a point needs at least one coordinate"),
        (
            "x,y\n0,1\n",
            "haversine",
            "p.csv:1: haversine needs the columns lat and lon, got x,y",
        ),
        ("95,1\n", "haversine", "latitude must be within ±90"),
        ("0,1\n", "taxi", "the metric must be one of"),
        ("0,1\0\n", "euclidean", "p.csv:1: text files do not hold NUL"),
    ],
    ids=range(14),
)
def test_bad_files(tmp_path: Path, text: str, metric: str, says: str) -> None:
    place = tmp_path / "p.csv"
    place.write_text(text)
    with pytest.raises(InputError) as caught:
        read_points(place, metric)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_points_at_distance_1_are_a_clique_without_lengths() -> None:
    graph = PointsGraph([(0.0,), (1.0,)])
    assert not graph.has_lengths
    assert graph.agrees_with(graph.explicit())
    assert graph.constant_ball_sizes == (1, 1)
