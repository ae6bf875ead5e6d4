"""GraphML without its dangers: no document types, no entities, bounded depth."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tightrope.errors import InputError
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.fields import label_texts, number, shortened, typed_labels
from tightrope.graphs.listing import Listing

#: Largest depth of elements; GraphML of a simple graph needs four.
XML_DEPTH = 50


def parse_graphml(text: str, path: str | Path) -> ExplicitGraph:
    """Return the graph that a GraphML text describes.

    Parameters
    ----------
    text
        The text of the file.
    path
        Its name, for messages.

    Examples
    --------
    >>> parse_graphml("<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "bomb.graphml")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: bomb.graphml:1: document types and entities are not accepted
    """
    parsing = _Parsing(path)
    try:
        parsing.parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as wrong:
        reason = expat.ErrorString(wrong.code)
        raise InputError(f"{path}:{wrong.lineno}: this is not XML: {reason}") from None
    except UnicodeEncodeError:
        raise InputError(f"{path}: this is not UTF-8 text") from None
    return parsing.graph()


class _Parsing:
    """One pass over the elements of a GraphML file."""

    def __init__(self, path: str | Path) -> None:
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_entities
        parser.EntityDeclHandler = self._refuse_entities
        parser.ExternalEntityRefHandler = self._refuse_entities
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._path = path
        self._listing = Listing(path)
        self._keys: dict[str, tuple[str, str]] = {}
        self._stack: list[str] = []
        self._graphs = 0
        self._at: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._collecting: list[str] | None = None
        self._current = ""
        self._labels: dict[str, str | None] = {}
        # Edges wait for the end: nodes may come after them, and so may the keys' names.
        self._edges: list[tuple[str, str, str | None, str]] = []

    @property
    def _place(self) -> str:
        return f"{self._path}:{self.parser.CurrentLineNumber}"

    def _refuse_entities(self, *_: object) -> int:
        raise InputError(f"{self._place}: document types and entities are not accepted")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._stack.append(tag)
        if len(self._stack) > XML_DEPTH:
            raise InputError(f"{self._place}: elements are nested deeper than {XML_DEPTH}")
        if len(self._stack) == 1 and tag != "graphml":
            raise InputError(f"{self._place}: expected a graphml element, got {shortened(tag)}")
        if tag == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise InputError(f"{self._place}: expected one graph, got another")
            if attributes.get("edgedefault", "undirected") != "undirected":
                raise InputError(f"{self._place}: an answer graph must be undirected")
        elif tag == "key":
            name = attributes.get("attr.name", "")
            self._keys[attributes.get("id", "")] = (attributes.get("for", "all"), name)
        elif tag in ("node", "edge"):
            self._at, self._data = attributes, {}
        elif tag in ("hyperedge", "port"):
            raise InputError(f"{self._place}: {tag} elements are not accepted")
        elif tag == "data" and len(self._stack) > 1 and self._stack[-2] in ("node", "edge"):
            self._collecting = []
            self._data[attributes.get("key", "")] = ""
            self._current = attributes.get("key", "")

    def _text(self, text: str) -> None:
        if self._collecting is not None and self._stack[-1] == "data":
            self._collecting.append(text)

    def _end(self, tag: str) -> None:
        tag = self._stack.pop()
        if tag == "data" and self._collecting is not None:
            self._data[self._current] = "".join(self._collecting)
            self._collecting = None
        elif tag == "node":
            self._node()
        elif tag == "edge":
            self._edge()

    def _value(self, element: str, wanted: str) -> str | None:
        for key, text in self._data.items():
            scope, name = self._keys.get(key, ("all", key))
            if name == wanted and scope in (element, "all"):
                return text
        return None

    def _node(self) -> None:
        if "id" not in self._at:
            raise InputError(f"{self._place}: a node has no id")
        identity = self._at["id"]
        if identity in self._labels:
            raise InputError(f"{self._place}: the node {shortened(identity)} is given twice")
        self._labels[identity] = self._value("node", "label")

    def _edge(self) -> None:
        place = self._place
        if not {"source", "target"} <= set(self._at):
            raise InputError(f"{place}: an edge needs source and target")
        if self._at.get("directed", "false") != "false":
            raise InputError(f"{place}: an answer graph must be undirected")
        length = self._value("edge", "length")
        self._edges.append((self._at["source"], self._at["target"], length, place))

    def graph(self) -> ExplicitGraph:
        """Return the graph once everything is read."""
        if not self._graphs:
            raise InputError(f"{self._path}: the file holds no graph")
        listing = self._listing
        # Labels count when every node has one; otherwise the ids do.
        labels = {key: label for key, label in self._labels.items() if label is not None}
        if len(labels) < len(self._labels):
            labels = {key: key for key in self._labels}
        for label in labels.values():
            listing.node(label, once=True)
        for source, target, length, place in self._edges:
            for end in (source, target):
                if end not in labels:
                    raise InputError(f"{place}: there is no node {shortened(end)}")
            far = 1.0 if length is None else number(length.strip(), place, "a length")
            listing.edge(labels[source], labels[target], far, place)
        return listing.graph(retype=typed_labels)


def graphml_text(graph: ExplicitGraph, path: str | Path) -> str:
    """Return a graph as GraphML, with the edge attribute ``length`` where edges have lengths.

    Parameters
    ----------
    graph
        The graph, whose labels are all integers or all texts.
    path
        The name of the file, for messages.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> parse_graphml(graphml_text(PathPower(4).explicit(), "line.graphml"), "line.graphml").is_path
    True
    """
    names = label_texts(graph.labels, path)
    for name in names:
        if any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 or c in "\ufffe\uffff" for c in name):
            raise InputError(
                f"{path}: answer {shortened(name)} holds a character that XML does not allow; "
                "a .json file keeps it"
            )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '<key id="label" for="node" attr.name="label" attr.type="string"/>',
        '<key id="length" for="edge" attr.name="length" attr.type="double"/>',
        f'<graph id={quoteattr(_printable(graph.name))} edgedefault="undirected">',
    ]
    for i, name in enumerate(names):
        lines.append(f'<node id="n{i}"><data key="label">{escape(name)}</data></node>')
    lengths = graph.edge_lengths().tolist()
    for (i, j), length in zip(graph.edge_array().tolist(), lengths, strict=True):
        data = f'<data key="length">{length!r}</data>' if graph.has_lengths else ""
        lines.append(f'<edge source="n{i}" target="n{j}">{data}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
