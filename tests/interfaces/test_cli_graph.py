"""``tightrope graph``: JSON equals the library, and the published facts."""

import pytest

from tightrope import query
from tightrope.graphs.symmetry import graph_facts

KEYS = {
    "nodes", "edges", "diameter", "max_degree", "is_path", "is_cycle", "is_tree", "is_clique",
    "distance_regular", "vertex_transitive", "ball_sizes",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("sum(150,5)", {"nodes": 751, "diameter": 150, "ball_sizes": None}),
        (
            "counts(30,2)",
            {"nodes": 961, "diameter": 30, "edges": 3660, "max_degree": 8},
        ),
        ("chang", {"nodes": 28, "distance_regular": True, "vertex_transitive": False}),
        (
            "truncated_tetrahedron",
            {"nodes": 12, "distance_regular": False, "vertex_transitive": True},
        ),
        (
            "databases(5,4)",
            {
                "nodes": 1024,
                "distance_regular": True,
                "vertex_transitive": True,
                "ball_sizes": [1, 15, 90, 270, 405, 243],
            },
        ),
        ("sum(200000,5)", {"nodes": 1_000_001, "diameter": 200_000, "max_degree": 10}),
        (
            "databases(20,4)",
            {"nodes": 4**20, "diameter": 20, "vertex_transitive": True},
        ),
        (
            "path(6)",
            {"is_path": True, "is_tree": True, "is_cycle": False, "is_clique": False},
        ),
        ("choice(6)", {"is_clique": True, "ball_sizes": [1, 5]}),
        ("count_mod(20,7)", {"nodes": 7, "is_cycle": True}),
        ("star(3)", {"nodes": 4, "is_tree": True, "is_path": False}),
    ],
)
def test_facts(run, text, facts):
    data = run("graph", text, "--json").data
    assert data.keys() >= KEYS
    assert {key: data[key] for key in facts} == facts


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
def test_json_is_the_library_result(run, relation):
    data = run("graph", "histogram(3,3)", "--neighbours", relation, "--json").data
    facts = graph_facts(query("histogram(3,3)", neighbours=relation).graph).as_dict()
    assert data["neighbours"] == relation
    assert data["nodes"] == facts["nodes"]
    assert data["edges"] == facts["edges"]


def test_the_table_is_readable(run):
    shown = run("graph", "petersen").out
    assert "distance-regular" in shown
    assert "vertex-transitive" in shown


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plot(run, tmp_path, ending):
    file = tmp_path / f"graph.{ending}"
    assert run("graph", "sum(4,3)", "--plot", str(file)).code == 0
    assert file.stat().st_size > 1000
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_the_order_of_a_listed_prior_is_printed_and_one_may_name_answers(run, tmp_path):
    """Two files that list the same edges otherwise, one optimum, by order and by name."""
    losses = set()
    for lines in ("from,to\n10,2\n2,0\n", "from,to\n0,2\n10,2\n"):
        path = tmp_path / "line.csv"
        path.write_text(lines)
        for prior in ("0.7,0.2,0.1", "10:0.1,0:0.7,2:0.2"):
            asked = ["design", f"graph:{path}", "--epsilon", "1", "--prior", prior]
            assert "order of answers    0, 2, 10" in run(*asked).out
            losses.add(run(*asked, "--json").data["expected_loss"])
    assert len(losses) == 1
    assert "order of answers" not in run("graph", "count(5)").out
