"""Graphs and points in files: edge lists and points as CSV, GraphML and JSON.

The ending of the file name says which. Files may come from anybody: they are read with bounded
memory, and what does not fit is refused in one line that names the file and the place.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, NoReturn
from xml.parsers import expat

from tightrope.arrays import LIMITS
from tightrope.errors import InputError, TooLarge, blamed, refusing
from tightrope.files import FilePath, read_json, read_rows, read_text, write_text
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph, node_order
from tightrope.graphs.points import PointsGraph


def read_graph(path: FilePath) -> ExplicitGraph:
    """Read an answer graph from a ``.csv``, ``.graphml`` or ``.json`` file.

    - CSV: one edge a line, ``from,to`` or ``from,to,length``, with or without that header. A
      line with the first field alone names a node. Labels are integers if all of them are.
    - GraphML: an undirected graph; the edge attribute ``length`` and the node attribute
      ``label`` are used when present. Document types and entities are refused.
    - JSON: ``{"nodes": [label, …], "edges": [[label, label, length], …], "name": text}``, where
      ``length``, ``nodes`` and ``name`` may be left out; a list as a label becomes a tuple.

    Whole-number labels are sorted, so that the order of the lines means nothing; other labels
    keep the order in which the file first names them.

    Parameters
    ----------
    path
        The file; its size is limited.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import Cycle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(Cycle(5), f"{folder}/ring.csv")
    ...     read_graph(f"{folder}/ring.csv").is_cycle
    True
    """
    return _format(path)[0](path)


def write_graph(graph: AnswerGraph, path: FilePath) -> None:
    """Write a graph so that :func:`read_graph` gives back the same answers, edges and lengths.

    Nodes keep their numbers too, unless whole-number labels are not in increasing order.

    Parameters
    ----------
    graph
        The graph; CSV and GraphML take labels that are all integers or all texts.
    path
        The file, ending in ``.csv``, ``.graphml`` or ``.json``; it is replaced if it exists.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import PathPower
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(PathPower(3), f"{folder}/line.json")
    ...     print(Path(folder, "line.json").read_text())
    {"name": "path(3)", "nodes": [0, 1, 2], "edges": [[0, 1], [1, 2]]}
    """
    text = _format(path)[1]
    write_text(path, text(graph.explicit(), path))


def _format(
    path: FilePath,
) -> tuple[
    Callable[[FilePath], ExplicitGraph], Callable[[ExplicitGraph, FilePath], str]
]:
    """Return how files of this kind are read, and the text that is written to them."""
    formats = {
        ".csv": (_read_csv, _csv_text),
        ".graphml": (_read_graphml, _graphml_text),
        ".json": (_read_json, _json_text),
    }
    kind = Path(path).suffix.lower()
    if kind not in formats:
        raise InputError(f"{path}: graph files end in .csv, .graphml or .json")
    return formats[kind]


class Listing:
    """Collects labelled edges; refuses loops, repetitions and bad lengths with their place.

    Parameters
    ----------
    path
        The file, named in every message.
    name
        The name of the graph; the file's by default.
    closed
        Whether all nodes are named before the first edge.

    Examples
    --------
    >>> listing = Listing("edges.csv")
    >>> listing.edge("a", "b", 1.0, "edges.csv:1")
    >>> listing.edge("b", "a", 1.0, "edges.csv:2")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: edges.csv:2: the edge 'b' – 'a' is given again (see edges.csv:1)
    """

    def __init__(
        self, path: FilePath, *, name: str | None = None, closed: bool = False
    ) -> None:
        self._path = path
        self._name = Path(path).stem if name is None else name
        self._closed = closed
        self._places: dict[Hashable, int] = {}
        self._edges: dict[tuple[int, int], str] = {}
        self._lengths: list[float] = []

    def node(self, label: Hashable, *, once: bool = False) -> int:
        """Return the number of a label, a new one if it is new; with ``once`` it must be."""
        if once and label in self._places:
            raise InputError(
                f"{self._path}: the node {shortened(label)} is given twice"
            )
        # Checked while reading: memory stays bounded whatever the file holds.
        if len(self._places) > LIMITS.read:
            raise TooLarge(
                f"{self._path}: a file may list at most {LIMITS.read} answers"
            )
        return self._places.setdefault(label, len(self._places))

    def edge(self, one: Hashable, other: Hashable, length: float, place: str) -> None:
        """Add an edge, or say at which place it does not fit."""
        if len(self._edges) >= LIMITS.read:
            raise TooLarge(f"{place}: a file may list at most {LIMITS.read} edges")
        # A complete list of nodes makes every other label a mistake.
        for label in (one, other):
            if self._closed and label not in self._places:
                raise InputError(f"{place}: {shortened(label)} is not among the nodes")
        i = self.node(one)
        j = self.node(other)
        if i == j:
            raise InputError(
                f"{place}: an edge must join two different answers, got {shortened(one)} twice"
            )
        # Edges have no direction, so both spellings are one key.
        pair = (min(i, j), max(i, j))
        if pair in self._edges:
            edge = f"{shortened(one)} – {shortened(other)}"
            raise InputError(
                f"{place}: the edge {edge} is given again (see {self._edges[pair]})"
            )
        if not 0 < length < float("inf"):
            raise InputError(
                f"{place}: a length must be positive and finite, got {length!r}"
            )
        self._edges[pair] = place
        self._lengths.append(length)

    def graph(self, *, typed: bool) -> ExplicitGraph:
        """Return the graph; labels are texts to be turned into integers unless ``typed``."""
        if not self._places:
            raise InputError(f"{self._path}: the file lists no answers")
        labels: Sequence[Hashable] = list(self._places)
        if not typed:
            labels = typed_labels([str(label) for label in labels])
        order = node_order(labels)
        # Where each label moves to in node order.
        node = {place: number for number, place in enumerate(order)}
        with blamed(self._path):
            return ExplicitGraph(
                [(node[i], node[j]) for i, j in self._edges],
                lengths=self._lengths,
                labels=[labels[place] for place in order],
                name=self._name,
            )


# -- edge lists ---------------------------------------------------------------------------


def _read_csv(path: FilePath) -> ExplicitGraph:
    listing = Listing(path)
    width = 0
    for line, row in read_rows(path, strict=True):
        place = f"{path}:{line}"
        # The first line decides the number of fields, and may be a header.
        if not width:
            width = len(row)
            if width not in (2, 3):
                raise InputError(f"{place}: lines must read from,to or from,to,length")
            names = [field.lower() for field in row]
            ends = names[:2] in (["from", "to"], ["source", "target"])
            if ends and names[2:] in ([], ["length"]):
                continue
        if row[0] and not any(row[1:]):
            listing.node(row[0])
            continue
        if not all(row):
            raise InputError(f"{place}: a field is empty")
        length = number(row[2], place, "a length") if width == 3 else 1.0
        listing.edge(row[0], row[1], length, place)
    return listing.graph(typed=False)


def _csv_text(graph: ExplicitGraph, path: FilePath) -> str:
    names = label_texts(graph.labels, path)
    edges = graph.edge_array().tolist()
    columns = ["from", "to", "length"] if graph.has_lengths else ["from", "to"]
    buffer = io.StringIO()
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(columns)
    listed = (node for edge in edges for node in edge)
    seen = list(dict.fromkeys(listed))
    # Nodes are numbered in the order in which they come: name them first where edges do not.
    if seen != list(range(graph.size)):
        empty = [""] * (len(columns) - 1)
        rows.writerows([name, *empty] for name in names)
    for (i, j), length in zip(edges, graph.edge_lengths().tolist(), strict=True):
        # repr is the shortest decimal that reads back as the same float.
        row = [names[i], names[j], repr(length)]
        rows.writerow(row[: len(columns)])
    return buffer.getvalue()


# -- JSON ---------------------------------------------------------------------------------


def _read_json(path: FilePath) -> ExplicitGraph:
    data = read_json(path, typed=True)
    if not isinstance(data, dict) or not isinstance(data.get("edges"), list):
        raise InputError(
            f'{path}: expected {{"nodes": [...], "edges": [[from, to], ...]}}'
        )
    unknown = sorted(set(data) - {"name", "nodes", "edges"})
    if unknown:
        raise InputError(
            f"{path}: unknown key {shortened(unknown[0])}; known: name, nodes, edges"
        )
    nodes, name = data.get("nodes", []), data.get("name")
    if not isinstance(nodes, list) or not isinstance(name, str | None):
        raise InputError(f"{path}: nodes must be a list of labels and name a text")
    # Where nodes are listed, edges may name no other.
    listing = Listing(path, name=name, closed="nodes" in data)
    for label in nodes:
        listing.node(_json_label(label, path), once=True)
    for place, edge in (
        (f"{path}: edge {k}", edge) for k, edge in enumerate(data["edges"], 1)
    ):
        if not isinstance(edge, list) or len(edge) not in (2, 3):
            raise InputError(f"{place} must be [from, to] or [from, to, length]")
        length = edge[2] if len(edge) == 3 else 1.0
        # Python counts bool among the integers.
        if isinstance(length, bool) or not isinstance(length, int | float):
            raise InputError(
                f"{place}: a length must be a number, got {shortened(length)}"
            )
        begin = _json_label(edge[0], place)
        end = _json_label(edge[1], place)
        length = number(str(length), place, "a length")
        listing.edge(begin, end, length, place)
    return listing.graph(typed=True)


def _json_label(label: Any, place: FilePath, depth: int = 0) -> Hashable:
    if isinstance(label, list) and depth < 10:
        return tuple(_json_label(part, place, depth + 1) for part in label)
    if label is None or isinstance(label, str | int | float):
        return label
    raise InputError(
        f"{place}: a label must be a text, a number or a list, got {shortened(label)}"
    )


def _json_text(graph: ExplicitGraph, path: FilePath) -> str:
    def refuse(part: object) -> NoReturn:
        raise InputError(
            f"{path}: answer {shortened(part)} is neither a text, a number nor a tuple of these"
        )

    labels = graph.labels
    edge_list = graph.edge_array().tolist()
    edges: list[Any] = [[labels[i], labels[j]] for i, j in edge_list]
    if graph.has_lengths:
        for edge, length in zip(edges, graph.edge_lengths().tolist(), strict=True):
            edge.append(length)
    data = {"name": graph.name, "nodes": labels, "edges": edges}
    with refusing(f"{path}: labels must not be NaN or infinite", ValueError):
        return json.dumps(data, ensure_ascii=False, allow_nan=False, default=refuse)


# -- GraphML ------------------------------------------------------------------------------


def _read_graphml(path: FilePath) -> ExplicitGraph:
    """Read GraphML by NetworkX, after its dangers and what it would repair silently are refused."""
    import networkx

    text = read_text(path)
    _check_graphml(text.encode(), path)
    try:
        # With a key for each edge, one that is given twice is not lost.
        parsed = networkx.parse_graphml(text, force_multigraph=True)
    except (networkx.NetworkXError, KeyError, ValueError) as wrong:
        reason = str(wrong)[:100]
        raise InputError(f"{path}: this is not GraphML: {reason}") from None
    if parsed.is_directed():
        raise InputError(f"{path}: an answer graph must be undirected")
    labels = dict(parsed.nodes(data="label"))
    # Labels are used only if every node has one.
    if None in labels.values():
        labels = {node: node for node in parsed}
    listing = Listing(path)
    for label in labels.values():
        listing.node(label, once=True)
    for k, (end, other_end, length) in enumerate(
        parsed.edges(data="length", default=1), 1
    ):
        place = f"{path}: edge {k}"
        listing.edge(
            labels[end],
            labels[other_end],
            number(str(length).strip(), place, "a length"),
            place,
        )
    return listing.graph(typed=False)


def _check_graphml(data: bytes, path: FilePath, deepest: int = 50) -> None:
    """Refuse what is not XML, document types, depth, and elements that NetworkX passes over.

    A simple graph needs four levels. Nodes must have an id each, and edges join given nodes:
    NetworkX would make up the missing ones.
    """
    # Every declaration is refused before an entity could be expanded.
    parser = expat.ParserCreate("utf-8")
    depth = 0
    graphs = 0
    nodes: set[str] = set()
    ends: list[tuple[str, str]] = []

    def refuse(problem: str) -> NoReturn:
        raise InputError(f"{path}:{parser.CurrentLineNumber}: {problem}")

    def entity(*_: object) -> int:
        refuse("document types and entities are not accepted")

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal depth, graphs
        # Names may carry a namespace prefix.
        depth, tag = depth + 1, name.rpartition(":")[2]
        graphs += tag == "graph"
        if depth > deepest:
            refuse(f"elements are nested deeper than {deepest}")
        if graphs > 1 or tag in ("hyperedge", "port"):
            refuse(
                f"{tag} elements are not accepted"
                if graphs < 2
                else "expected one graph"
            )
        if tag == "node":
            if "id" not in given or given["id"] in nodes:
                again = f"the node {shortened(given.get('id'))} is given twice"
                refuse(again if "id" in given else "a node has no id")
            nodes.add(given["id"])
        elif tag == "edge":
            if not {"source", "target"} <= given.keys():
                refuse("an edge needs source and target")
            ends.append((given["source"], given["target"]))

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = entity
    parser.ExternalEntityRefHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as wrong:
        reason = expat.ErrorString(wrong.code)
        raise InputError(f"{path}:{wrong.lineno}: this is not XML: {reason}") from None
    # Edges may come before their nodes, so the ends are checked last.
    for k, pair in enumerate(ends, 1):
        for node in set(pair) - nodes:
            raise InputError(f"{path}: edge {k}: there is no node {shortened(node)}")


def _graphml_text(graph: ExplicitGraph, path: FilePath) -> str:
    import networkx

    names = label_texts(graph.labels, path)
    for name in names:
        # XML 1.0 allows neither surrogates, nor most control characters, nor U+FFFE and U+FFFF.
        if any(
            ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 or c in "\ufffe\uffff"
            for c in name
        ):
            raise _only_json(path, name, "holds a character that XML does not allow")
    drawn: networkx.Graph[str] = networkx.Graph()
    # Labels may not be valid ids, so nodes get ids of their own.
    named = enumerate(names)
    drawn.add_nodes_from((f"n{i}", {"label": name}) for i, name in named)
    lengths = (
        graph.edge_lengths().tolist()
        if graph.has_lengths
        else [None] * graph.edge_count
    )
    edges = graph.edge_array().tolist()
    for (i, j), length in zip(edges, lengths, strict=True):
        drawn.add_edge(
            f"n{i}", f"n{j}", **({} if length is None else {"length": length})
        )
    return "\n".join([*networkx.generate_graphml(drawn), ""])


# -- points -------------------------------------------------------------------------------


def read_points(path: FilePath, metric: str = "euclidean") -> PointsGraph:
    r"""Read points from a CSV file, one a line.

    A first line without numbers names the columns: one called ``label``, ``name`` or ``id``
    holds the labels, all others are coordinates (for ``haversine``: ``lat`` and ``lon``).
    Without such a line, a first field that is not a number is the label. Points with whole
    numbers as labels are sorted by them.

    Parameters
    ----------
    path
        The file; its size is limited.
    metric
        As for :class:`PointsGraph`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "towns.csv")
    ...     _ = place.write_text("name,lon,lat\nParis,2.35,48.86\nBerlin,13.40,52.52\n")
    ...     towns = read_points(place, metric="haversine")
    >>> towns.labels, round(towns.diameter)
    (['Paris', 'Berlin'], 877)
    """
    rows = read_rows(path, strict=True)
    if not rows:
        raise InputError(f"{path}: the file holds no points")
    line, fields = rows[0]
    names = fields if not any(map(_is_number, fields)) else None
    label_column = _label_column(fields, names)
    columns = _coordinate_columns(
        len(fields), names, label_column, metric, f"{path}:{line}"
    )
    if not columns:
        raise InputError(f"{path}:{line}: a point needs at least one coordinate")
    points: list[list[float]] = []
    seen: dict[str, int] = {}
    for line, row in rows if names is None else rows[1:]:
        place = f"{path}:{line}"
        coordinates = [number(row[k], place, "a coordinate") for k in columns]
        points.append(coordinates)
        if label_column is not None:
            label = row[label_column]
            if not label:
                raise InputError(f"{place}: the label is empty")
            if label in seen:
                raise InputError(
                    f"{place}: the label {shortened(label)} is given again (see line {seen[label]})"
                )
            seen[label] = line
    if not points:
        raise InputError(f"{path}: the file holds no points")
    labels = None
    if seen:
        # Whole-number labels are sorted: the order of the lines means nothing.
        named = typed_labels(list(seen))
        order = node_order(named)
        labels = [named[place] for place in order]
        points = [points[place] for place in order]
    with blamed(path):
        return PointsGraph(points, metric=metric, labels=labels, name=Path(path).stem)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _label_column(fields: list[str], names: list[str] | None) -> int | None:
    if names is None:
        return None if _is_number(fields[0]) else 0
    columns = [
        k for k, name in enumerate(names) if name.lower() in ("label", "name", "id")
    ]
    return columns[0] if columns else None


def _coordinate_columns(
    width: int, names: list[str] | None, label: int | None, metric: str, place: str
) -> list[int]:
    columns = [k for k in range(width) if k != label]
    if metric != "haversine" or names is None:
        return columns
    # Latitude comes first, whatever the order of the columns.
    kinds = {"lat": 0, "latitude": 0, "lon": 1, "lng": 1, "long": 1, "longitude": 1}
    degrees = {k: kinds.get(names[k].lower(), -1) for k in columns}
    if sorted(degrees.values()) != [0, 1]:
        raise InputError(
            f"{place}: haversine needs the columns lat and lon, got {','.join(names)}"
        )
    return sorted(columns, key=degrees.__getitem__)


# -- fields -------------------------------------------------------------------------------


def number(field: str, place: str, what: str) -> float:
    """Read a finite number from a field, or say where it is not one.

    Examples
    --------
    >>> number("nan", "edges.csv:3", "a length")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: edges.csv:3: a length must be a finite number, got 'nan'
    """
    try:
        # float() would read 1_000 as a number.
        value = float(field) if "_" not in field else float("nan")
    except ValueError:
        value = float("nan")
    if not -float("inf") < value < float("inf"):
        raise InputError(
            f"{place}: {what} must be a finite number, got {shortened(field)}"
        )
    return value


def typed_labels(texts: Sequence[str]) -> list[Hashable]:
    """Return labels from a format without types: integers where all of them are.

    Examples
    --------
    >>> typed_labels(["0", "10", "-3"]), typed_labels(["0", "10", "07"])
    ([0, 10, -3], ['0', '10', '07'])
    """
    # Up to 18 digits fit into 64 bits; leading zeros make a text.
    integer = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
    if texts and all(integer.fullmatch(text) and text != "-0" for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def label_texts(labels: Sequence[Hashable], path: FilePath) -> list[str]:
    """Return labels as texts that :func:`typed_labels` turns back into the same labels.

    Examples
    --------
    >>> label_texts([("a", 1)], "graph.csv")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: graph.csv: answer ('a', 1) is neither text nor ...
    """
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, int | str):
            raise _only_json(path, label, "is neither text nor a whole number")
        if isinstance(label, str) and (
            not label or label != label.strip() or "\0" in label
        ):
            problem = "is empty, begins or ends with a space or holds a NUL"
            raise _only_json(path, label, problem)
    # CSV and GraphML have no types: labels must survive the round trip.
    texts = [str(label) for label in labels]
    for label, back in zip(labels, typed_labels(texts), strict=True):
        if label != back:
            raise _only_json(path, label, "would be read back as another type")
    return texts


def _only_json(path: FilePath, label: Hashable, problem: str) -> InputError:
    return InputError(
        f"{path}: answer {shortened(label)} {problem}; a .json file keeps it"
    )
