"""Graph files: what is read, what is written, and how hostile files are refused."""

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import tightrope as tr
from tightrope.arrays import LIMITS
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    StrongProduct,
    petersen,
)
from tightrope.graphs.files import read_graph, write_graph


def write(folder: Path, name: str, content: str | bytes) -> Path:
    place = folder / name
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="length" attr.type="double"/>
<graph edgedefault="undirected">{}</graph></graphml>"""


# -- what is read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "labels", "edges", "lengths"),
    [
        ("a.csv", "from,to\na,b\nb,c\n", ["a", "b", "c"], [[0, 1], [1, 2]], [1, 1]),
        ("a.csv", "a,b\nb,c", ["a", "b", "c"], [[0, 1], [1, 2]], [1, 1]),
        ("a.CSV", "FROM,To,Length\r\na,b,2.5\r\n", ["a", "b"], [[0, 1]], [2.5]),
        ("a.csv", "source,target\n5,7\n\n7,6\n", [5, 6, 7], [[0, 2], [1, 2]], [1, 1]),
        (
            "a.csv",
            "Source,Target,Length\n5,7,2\n7,6,3\n",
            [5, 6, 7],
            [[0, 2], [1, 2]],
            [2, 3],
        ),
        ("a.csv", "5,7\n7,06\n", ["5", "7", "06"], [[0, 1], [1, 2]], [1, 1]),
        ("a.csv", "from,to\nonly,\n", ["only"], [], []),
        ("a.csv", "\ufefffrom,to\né,ü\n", ["é", "ü"], [[0, 1]], [1]),
        ("a.csv", 'from,to\n"a,1","b ""q"""\n', ["a,1", 'b "q"'], [[0, 1]], [1]),
        ("a.csv", "from,to\nb,\na,\na,b\n", ["b", "a"], [[0, 1]], [1]),
        (
            "a.json",
            '{"edges": [["a", "b"], ["b", 3, 0.5]]}',
            ["a", "b", 3],
            [[0, 1], [1, 2]],
            [1, 0.5],
        ),
        (
            "a.json",
            '{"nodes": [[0, 1], null], "edges": [[null, [0, 1]]]}',
            [(0, 1), None],
            [[0, 1]],
            [1],
        ),
        ("a.json", '{"nodes": [7], "edges": [], "name": "x"}', [7], [], []),
        (
            "a.graphml",
            GRAPHML.format(
                '<node id="x"/><node id="y"/>'
                '<edge source="x" target="y"><data key="d0"> 2 </data></edge>'
            ),
            ["x", "y"],
            [[0, 1]],
            [2],
        ),
        (
            "a.graphml",
            GRAPHML.format('<edge source="2" target="1"/><node id="1"/><node id="2"/>'),
            [1, 2],
            [[0, 1]],
            [1],
        ),
    ],
    ids=range(15),
)
def test_read(
    tmp_path: Path, name: str, content: str, labels: list, edges: list, lengths: list
) -> None:
    graph = read_graph(write(tmp_path, name, content))
    assert graph.labels == labels
    assert graph.edge_array().tolist() == edges
    assert graph.edge_lengths().tolist() == lengths


def test_the_name_is_the_files_or_its_own(tmp_path: Path) -> None:
    assert read_graph(write(tmp_path, "towns.csv", "a,b\n")).name == "towns"
    assert (
        read_graph(write(tmp_path, "x.json", '{"name": "n", "edges": [[0, 1]]}')).name
        == "n"
    )


def _nodes_and_edges(
    ending: str, labels: list[int], pairs: list[tuple[int, int]]
) -> str:
    """Return a graph file that names its answers and edges in this order."""
    if ending == "csv":
        lines = [f"{label}," for label in labels] + [f"{a},{b}" for a, b in pairs]
        return "\n".join(["from,to", *lines, ""])
    if ending == "json":
        return json.dumps({"nodes": labels, "edges": pairs})
    nodes = [f'<node id="{label}"/>' for label in labels]
    edges = [f'<edge source="{a}" target="{b}"/>' for a, b in pairs]
    return GRAPHML.format("".join(nodes + edges))


@pytest.mark.parametrize("ending", ["csv", "graphml", "json"])
def test_the_order_of_the_lines_means_nothing_for_whole_numbers(
    tmp_path: Path, ending: str
) -> None:
    """One list as a prior has one optimum, however the file names the answers 0 to 10."""
    pairs = [(0, 2), (2, 10), (10, 3), (3, 2)]
    losses = []
    for labels in itertools.permutations([0, 2, 3, 10]):
        turned = [(b, a) if a < labels[0] else (a, b) for a, b in pairs]
        turned.sort(key=lambda pair: labels.index(pair[0]))
        text = _nodes_and_edges(ending, list(labels), turned)
        graph = read_graph(write(tmp_path, f"a.{ending}", text))
        assert graph.labels == [0, 2, 3, 10]
        assert {
            frozenset(map(graph.label, edge)) for edge in graph.edge_array().tolist()
        } == set(map(frozenset, pairs))
        if labels in ((0, 2, 3, 10), (10, 0, 3, 2)):
            consumer = tr.Consumer.of(graph, prior="0.6,0.1,0.1,0.2", loss="absolute")
            losses.append(tr.design(graph, "ln(2)", consumer).expected_loss)
    assert losses[0] == losses[1]


@pytest.mark.parametrize("ending", ["csv", "graphml", "json"])
def test_other_labels_keep_the_order_of_the_file(tmp_path: Path, ending: str) -> None:
    text = _nodes_and_edges(ending, ["b", "a"], [("b", "a")])  # type: ignore[list-item]
    assert read_graph(write(tmp_path, f"a.{ending}", text)).labels == ["b", "a"]


# -- there and back -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "graphml", "json"])
@pytest.mark.parametrize(
    "graph",
    [
        ExplicitGraph(petersen().edge_array()),
        Clique(1),
        PathPower(2),
        ExplicitGraph([(0, 2), (1, 2)], lengths=[0.1, 1e-9]),
        ExplicitGraph([(0, 1)], labels=["<&\"'>", "Ł, ö\u2028x"]),
        ExplicitGraph([(0, 2), (1, 2)], labels=[-5, 0, 10**15]),
    ],
    ids=range(6),
)
def test_there_and_back(tmp_path: Path, graph: ExplicitGraph, ending: str) -> None:
    place = tmp_path / f"g.{ending}"
    write_graph(graph, place)
    back = read_graph(place)
    assert back.labels == graph.labels
    assert np.array_equal(back.edge_array(), graph.explicit().edge_array())
    assert np.array_equal(back.edge_lengths(), graph.edge_lengths())


def test_tuples_go_through_json(tmp_path: Path) -> None:
    graph = StrongProduct([PathPower(2), PathPower(3)])
    write_graph(graph, tmp_path / "g.json")
    assert read_graph(tmp_path / "g.json").labels == graph.labels


def test_networkx_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    place = tmp_path / "g.graphml"
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[2, 3])
    write_graph(graph, place)
    other = nx.read_graphml(place)
    assert sorted(nx.get_edge_attributes(other, "length").values()) == [2.0, 3.0]
    nx.write_graphml(graph.to_networkx(), place)
    back = read_graph(place)
    assert back.labels == [0, 1, 2]
    assert back.edge_lengths().tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("labels", "ending", "says"),
    [
        ([(0, 1), (1, 0)], "csv", "a .json file keeps it"),
        (["1", "2"], "csv", "read back as another type"),
        ([1, "a"], "csv", "read back as another type"),
        ([1.5, 2.5], "csv", "neither text nor a whole number"),
        ([True, False], "graphml", "neither text nor a whole number"),
        ([" a", "b"], "csv", "begins or ends with a space"),
        (["", "b"], "graphml", "is empty"),
        (["a\x01", "b"], "graphml", "XML does not allow"),
        ([frozenset(), "b"], "json", "neither a text, a number nor a tuple"),
        ([float("inf"), "b"], "json", "NaN or infinite"),
        (["a", "b"], "txt", "end in .csv, .graphml or .json"),
    ],
)
def test_what_would_not_come_back_is_not_written(
    tmp_path: Path, labels: list, ending: str, says: str
) -> None:
    place = tmp_path / f"g.{ending}"
    with pytest.raises(InputError) as caught:
        write_graph(ExplicitGraph([(0, 1)], labels=labels), place)
    assert says in str(caught.value)
    assert not place.exists()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_graph(PathPower(2), tmp_path / "missing" / "g.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_graph(PathPower(2), tmp_path / "folder.csv")


# -- hostile files ------------------------------------------------------------------------

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    "]>\n<graphml>&b;</graphml>"
)
OUTSIDE = '<!DOCTYPE x SYSTEM "file:///etc/hostname"><graphml/>'
TWO = '<node id="x"/><node id="y"/>'

BAD = [
    ("a.csv", "", "lists no answers"),
    ("a.csv", "from,to\n", "lists no answers"),
    ("a.csv", "a\n", "a.csv:1: lines must read from,to"),
    ("a.csv", "a,b,1,2\n", "a.csv:1: lines must read from,to"),
    ("a.csv", "a,b\nb,c,3\n", "a.csv:2: expected 2 fields as above, got 3"),
    ("a.csv", "a,b\n\n\nc\n", "a.csv:4: expected 2 fields as above, got 1"),
    ("a.csv", "a,b\n,c\n", "a.csv:2: a field is empty"),
    ("a.csv", "a,b,1\nb,c,\n", "a.csv:2: a field is empty"),
    ("a.csv", "a,b,1\nb,c,x\n", "a.csv:2: a length must be a finite number, got 'x'"),
    (
        "a.csv",
        "a,b,1\nb,c,nan\n",
        "a.csv:2: a length must be a finite number, got 'nan'",
    ),
    ("a.csv", "a,b,inf\n", "a.csv:1: a length must be a finite number, got 'inf'"),
    ("a.csv", "a,b,1_0\n", "a.csv:1: a length must be a finite number, got '1_0'"),
    ("a.csv", "a,b,-1\n", "a.csv:1: a length must be positive and finite, got -1.0"),
    ("a.csv", "a,b,0\n", "a.csv:1: a length must be positive and finite, got 0.0"),
    (
        "a.csv",
        "a,b\na,a\n",
        "a.csv:2: an edge must join two different answers, got 'a' twice",
    ),
    ("a.csv", "a,b\nb,a\n", "a.csv:2: the edge 'b' – 'a' is given again (see "),
    ("a.csv", "a,b\nc,d\n", "a.csv: an answer graph must be connected, got 2 parts"),
    ("a.csv", "a, b\n", "a.csv:1: fields must not begin or end with a space, got ' b'"),
    ("a.csv", 'a,"b\nc,d\n', "a.csv:2: this is not CSV: unexpected end of data"),
    ("a.csv", "a,b\nc\0,d\n", "a.csv:2: text files do not hold NUL"),
    ("a.csv", b"a,b\nc,\xff\n", "a.csv:2: this is not UTF-8"),
    ("a.csv", "a," + "b" * 200_000, "a.csv:1: this is not CSV: field larger"),
    ("a.csv", b"\x89PNG\r\n\x1a\n", "a.csv:1: this is not UTF-8"),
    ("a.json", "", "a.json:1: this is not JSON"),
    ("a.json", '{"edges": [[0, 1],]}', "a.json:1: this is not JSON"),
    ("a.json", '{\n"edges": x}', "a.json:2: this is not JSON"),
    ("a.json", "[" * 200_000, "a.json: this JSON is nested too deeply"),
    (
        "a.json",
        '{"edges": [[' + "[" * 50 + "]" * 50 + ", 1]]}",
        "edge 1: a label must be",
    ),
    ("a.json", "[[0, 1]]", 'a.json: expected {"nodes"'),
    ("a.json", '{"edges": 3}', 'a.json: expected {"nodes"'),
    ("a.json", '{"edges": [], "links": []}', "unknown key 'links'"),
    ("a.json", '{"edges": [], "edges": []}', "a key of an object occurs twice"),
    ("a.json", '{"edges": []}', "lists no answers"),
    ("a.json", '{"nodes": 3, "edges": []}', "nodes must be a list"),
    (
        "a.json",
        '{"name": 3, "edges": []}',
        "nodes must be a list of labels and name a text",
    ),
    ("a.json", '{"nodes": [1, 1], "edges": []}', "the node 1 is given twice"),
    ("a.json", '{"nodes": [1, 1.0], "edges": []}', "the node 1.0 is given twice"),
    ("a.json", '{"nodes": [1], "edges": [[1, 2]]}', "edge 1: 2 is not among the nodes"),
    ("a.json", '{"edges": [[1, 2], 3]}', "edge 2 must be [from, to]"),
    ("a.json", '{"edges": [[1, 2, 3, 4]]}', "edge 1 must be [from, to]"),
    ("a.json", '{"edges": [[1, {}]]}', "edge 1: a label must be a text"),
    (
        "a.json",
        '{"edges": [[1, 2, "3"]]}',
        "edge 1: a length must be a number, got '3'",
    ),
    (
        "a.json",
        '{"edges": [[1, 2, true]]}',
        "edge 1: a length must be a number, got True",
    ),
    ("a.json", '{"edges": [[1, 2, NaN]]}', "numbers must be finite, got NaN"),
    (
        "a.json",
        '{"edges": [[1, 2, 1e999]]}',
        "a length must be a finite number, got 'inf'",
    ),
    ("a.json", '{"edges": [[1, 2, -3]]}', "a length must be positive and finite"),
    (
        "a.json",
        '{"edges": [[1, 2, 1' + "0" * 400 + "]]}",
        "edge 1: a length must be a finite number",
    ),
    ("a.json", '{"edges": [[1, 1' + "0" * 5000 + "]]}", "a.json: Exceeds the limit"),
    ("a.json", '{"edges": [[1, 1]]}', "edge 1: an edge must join two different"),
    ("a.json", '{"edges": [[1, 2], [2, 1]]}', "edge 2: the edge 2 – 1 is given again"),
    ("a.graphml", "", "a.graphml:1: this is not XML: no element found"),
    (
        "a.graphml",
        "<graphml>\n<graph>\n</graphml>",
        "a.graphml:3: this is not XML: mismatched tag",
    ),
    ("a.graphml", "<html/>", "this is not GraphML: file not successfully read"),
    ("a.graphml", "<graphml/>", "this is not GraphML: file not successfully read"),
    ("a.graphml", LAUGHS, "a.graphml:1: document types and entities are not accepted"),
    ("a.graphml", OUTSIDE, "a.graphml:1: document types and entities are not accepted"),
    (
        "a.graphml",
        "<graphml>&x;</graphml>",
        "a.graphml:1: this is not XML: undefined entity",
    ),
    ("a.graphml", "<graphml>" + "<g>" * 10_000, "nested deeper than 50"),
    ("a.graphml", GRAPHML.format(""), "lists no answers"),
    ("a.graphml", GRAPHML.format("<node/>"), "a node has no id"),
    (
        "a.graphml",
        GRAPHML.format('<node id="x"/><node id="x"/>'),
        "the node 'x' is given twice",
    ),
    (
        "a.graphml",
        GRAPHML.format(TWO + '<edge source="x"/>'),
        "an edge needs source and target",
    ),
    (
        "a.graphml",
        GRAPHML.format(TWO + '<edge source="x" target="z"/>'),
        "there is no node 'z'",
    ),
    ("a.graphml", GRAPHML.format(TWO), "must be connected"),
    ("a.graphml", GRAPHML.format("<graph/>"), "expected one graph"),
    (
        "a.graphml",
        GRAPHML.format("<hyperedge/>"),
        "hyperedge elements are not accepted",
    ),
    ("a.graphml", GRAPHML.replace("undirected", "directed"), "must be undirected"),
    (
        "a.graphml",
        GRAPHML.format(TWO + '<edge source="x" target="y" directed="true"/>'),
        "directed=true edge found in undirected graph",
    ),
    (
        "a.graphml",
        GRAPHML.format(
            TWO + '<edge source="x" target="y"><data key="d0">NaN</data></edge>'
        ),
        "a.graphml: edge 1: a length must be a finite number, got 'nan'",
    ),
    ("a.txt", "a,b", "a.txt: graph files end in .csv, .graphml or .json"),
    ("a", "a,b", "graph files end in"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD, ids=range(len(BAD)))
def test_refusals_are_one_line_with_the_place(
    tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    place = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        read_graph(place)
    message = str(caught.value)
    assert says in message
    assert str(place) in message
    assert "\n" not in message
    assert len(message) < len(str(place)) * 2 + 200


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_graph(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        read_graph(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not a regular file"):
        read_graph(tmp_path / "pipe.csv")


def test_large_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tightrope.files.FILE_LIMIT", 100)
    with pytest.raises(TooLarge, match="at most 100 bytes"):
        read_graph(write(tmp_path, "a.csv", "a,b\n" * 30))
    monkeypatch.setattr("tightrope.graphs.files.LIMITS", replace(LIMITS, read=3))
    with pytest.raises(TooLarge, match="at most 3 edges"):
        read_graph(write(tmp_path, "a.csv", "a,b\nb,c\nc,d\na,c\n"))
    with pytest.raises(TooLarge, match="at most 3 answers"):
        read_graph(write(tmp_path, "a.csv", "a,\nb,\nc,\nd,\ne,\nf,\n"))


def test_long_labels_do_not_make_long_messages(tmp_path: Path) -> None:
    label = "x" * 50_000
    with pytest.raises(InputError) as caught:
        read_graph(write(tmp_path, "a.json", json.dumps({"edges": [[label, label]]})))
    assert len(str(caught.value)) < 400


def test_a_ring_that_was_changed_on_disk_is_another_graph(tmp_path: Path) -> None:
    place = tmp_path / "ring.csv"
    write_graph(Cycle(5), place)
    assert read_graph(place).is_cycle
    place.write_text(place.read_text().replace("0,4\n", "1,4\n"))
    assert not read_graph(place).is_cycle
