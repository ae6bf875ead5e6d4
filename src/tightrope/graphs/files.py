"""Graphs in files: edge-list CSV, GraphML and JSON.

The ending of the file name says which. Files may come from anybody: they are read with bounded
memory, and what does not fit is refused in one line that names the file and the place.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.files import read_text, write_text
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.fields import (
    csv_rows,
    label_texts,
    number,
    shortened,
    typed_labels,
)
from tightrope.graphs.graphml import graphml_text, parse_graphml
from tightrope.graphs.listing import Listing

#: How deeply lists in a label may be nested in a JSON file.
LABEL_DEPTH = 10
#: Names of the columns in the first line of an edge list.
_HEADERS = tuple(
    [*ends, *more] for ends in (("from", "to"), ("source", "target")) for more in ((), ("length",))
)


def read_graph(path: str | Path) -> ExplicitGraph:
    """Read an answer graph from a ``.csv``, ``.graphml`` or ``.json`` file.

    - CSV: one edge a line, ``from,to`` or ``from,to,length``, with or without that header. A
      line with the first field alone names a node. Labels are integers if all of them are.
    - GraphML: an undirected graph; the edge attribute ``length`` and the node attribute
      ``label`` are used when present. Document types and entities are refused.
    - JSON: ``{"nodes": [label, …], "edges": [[label, label, length], …], "name": text}``, where
      ``length``, ``nodes`` and ``name`` may be left out; a list as a label becomes a tuple.

    Parameters
    ----------
    path
        The file; at most ``FILE_LIMIT`` bytes are read.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import Cycle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(Cycle(5), f"{folder}/ring.csv")
    ...     read_graph(f"{folder}/ring.csv").is_cycle
    True
    """
    kind = _kind(path)
    if kind == ".csv":
        return _read_csv(path)
    if kind == ".graphml":
        return parse_graphml(read_text(path), path)
    return _read_json(path)


def write_graph(graph: AnswerGraph, path: str | Path) -> None:
    """Write a graph so that :func:`read_graph` gives back the same nodes, edges and lengths.

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
    kind = _kind(path)
    listed = graph.explicit()
    if kind == ".csv":
        text = _csv_text(listed, path)
    elif kind == ".graphml":
        text = graphml_text(listed, path)
    else:
        text = _json_text(listed, path)
    write_text(path, text)


def _kind(path: str | Path) -> str:
    kind = Path(path).suffix.lower()
    if kind not in (".csv", ".graphml", ".json"):
        raise InputError(f"{path}: graph files end in .csv, .graphml or .json")
    return kind


# -- edge lists ---------------------------------------------------------------------------


def _read_csv(path: str | Path) -> ExplicitGraph:
    listing = Listing(path)
    width = 0
    for line, row in csv_rows(path):
        place = f"{path}:{line}"
        if not width:
            width = len(row)
            if width not in (2, 3):
                raise InputError(f"{place}: lines must read from,to or from,to,length")
            if [field.lower() for field in row] in _HEADERS:
                continue
        if len(row) != width:
            raise InputError(f"{place}: expected {width} fields as above, got {len(row)}")
        if row[0] and not any(row[1:]):
            listing.node(row[0])
            continue
        if not all(row):
            raise InputError(f"{place}: a field is empty")
        length = number(row[2], place, "a length") if width == 3 else 1.0
        listing.edge(row[0], row[1], length, place)
    return listing.graph(retype=typed_labels)


def _csv_text(graph: ExplicitGraph, path: str | Path) -> str:
    names = label_texts(graph.labels, path)
    edges = graph.edge_array().tolist()
    columns = ["from", "to", "length"] if graph.has_lengths else ["from", "to"]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(columns)
    seen = list(dict.fromkeys(node for edge in edges for node in edge))
    # Nodes are numbered in the order in which they come: name them first where edges do not.
    if seen != list(range(graph.size)):
        rows.writerows([name, *[""] * (len(columns) - 1)] for name in names)
    for (i, j), length in zip(edges, graph.edge_lengths().tolist(), strict=True):
        rows.writerow([names[i], names[j], repr(length)][: len(columns)])
    return out.getvalue()


# -- JSON ---------------------------------------------------------------------------------


def _read_json(path: str | Path) -> ExplicitGraph:
    try:
        data = json.loads(
            read_text(path), parse_constant=_no_constant, object_pairs_hook=_no_repeats
        )
    except json.JSONDecodeError as wrong:
        raise InputError(f"{path}:{wrong.lineno}: this is not JSON: {wrong.msg}") from None
    except RecursionError:
        raise InputError(f"{path}: this JSON is nested too deeply") from None
    except ValueError as wrong:
        raise InputError(f"{path}: {str(wrong)[:100]}") from None
    if not isinstance(data, dict) or not isinstance(data.get("edges"), list):
        raise InputError(f'{path}: expected {{"nodes": [...], "edges": [[from, to], ...]}}')
    unknown = sorted(set(data) - {"name", "nodes", "edges"})
    if unknown:
        raise InputError(f"{path}: unknown key {shortened(unknown[0])}; known: name, nodes, edges")
    nodes, name = data.get("nodes", []), data.get("name")
    if not isinstance(nodes, list) or not isinstance(name, str | None):
        raise InputError(f"{path}: nodes must be a list of labels and name a text")
    listing = Listing(path, name=name, closed="nodes" in data)
    for label in nodes:
        listing.node(_json_label(label, path), once=True)
    for place, edge in ((f"{path}: edge {k}", edge) for k, edge in enumerate(data["edges"], 1)):
        if not isinstance(edge, list) or len(edge) not in (2, 3):
            raise InputError(f"{place} must be [from, to] or [from, to, length]")
        length = edge[2] if len(edge) == 3 else 1.0
        if isinstance(length, bool) or not isinstance(length, int | float):
            raise InputError(f"{place}: a length must be a number, got {shortened(length)}")
        ends = (_json_label(edge[0], place), _json_label(edge[1], place))
        listing.edge(*ends, _as_float(length, place), place)
    return listing.graph()


def _no_constant(text: str) -> float:
    raise ValueError(f"numbers must be finite, got {text}")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key of an object occurs twice")
    return found


def _as_float(value: int | float, place: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{place}: a length is too large") from None


def _json_label(label: Any, place: str | Path, depth: int = 0) -> Hashable:
    if isinstance(label, list) and depth < LABEL_DEPTH:
        return tuple(_json_label(part, place, depth + 1) for part in label)
    if label is None or isinstance(label, str | int | float):
        return label
    raise InputError(f"{place}: a label must be a text, a number or a list, got {shortened(label)}")


def _json_text(graph: ExplicitGraph, path: str | Path) -> str:
    labels = graph.labels
    for label in labels:
        _check_json_label(label, path)
    ends = [(labels[i], labels[j]) for i, j in graph.edge_array().tolist()]
    edges: list[Any] = [list(pair) for pair in ends]
    if graph.has_lengths:
        lengths = graph.edge_lengths().tolist()
        edges = [[*pair, length] for pair, length in zip(ends, lengths, strict=True)]
    data = {"name": graph.name, "nodes": labels, "edges": edges}
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InputError(f"{path}: labels must not be NaN or infinite") from None


def _check_json_label(label: Hashable, path: str | Path, depth: int = 0) -> None:
    if isinstance(label, tuple) and depth < LABEL_DEPTH:
        for part in label:
            _check_json_label(part, path, depth + 1)
    elif type(label) not in (str, int, float, bool, type(None)):
        raise InputError(
            f"{path}: answer {shortened(label)} is neither a text, a number nor a tuple of these"
        )
