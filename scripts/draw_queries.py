"""Draw the answer graph of every built-in query and write the tables of docs/concepts/queries.md.

The pictures are written as plain SVG: small, the same on every machine, readable as text.
Colours are from the Okabe-Ito palette, which colour-blind readers can tell apart.

    python scripts/draw_queries.py
"""

import math
from collections.abc import Hashable
from pathlib import Path

from tightrope.graphs import AnswerGraph
from tightrope.graphs.registry import Family
from tightrope.queries import FAMILIES, Neighbours, query

PAGE = Path(__file__).parent.parent / "docs" / "concepts" / "queries.md"
PICTURES = PAGE.parent / "img"

NODE, EDGE, INK, PAPER = "#56B4E9", "#666666", "#000000", "#FFFFFF"
SIZE = 200

IN_A_ROW = {"count", "sum", "mean", "median", "path"}

Point = tuple[float, float]


def around(count: int, radius: float = 1.0, turn: float = -math.pi / 2) -> list[Point]:
    angles = [turn + 2 * math.pi * k / count for k in range(count)]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]


def slot(value: Hashable) -> int:
    return 0 if value is None else int(str(value)) + 1


def positions(name: str, graph: AnswerGraph) -> list[Point]:
    labels = graph.labels
    if name in IN_A_ROW:
        return [(float(label), 0.0) for label in labels]
    if name in ("counts", "grid"):
        return [(float(x), -float(y)) for y, x in labels]
    if name == "databases":
        return [(float(slot(x)), float(slot(y))) for y, x in labels]
    if name == "histogram":
        corners = around(3)
        centre = [
            tuple(
                sum(c * p[k] for c, p in zip(label, corners, strict=True))
                for k in (0, 1)
            )
            for label in labels
        ]
        return [(float(x), float(y)) for x, y in centre]
    if name == "star":
        return [(0.0, 0.0), *around(graph.size - 1)]
    if name == "petersen":
        outer = [(0, 1), (2, 3), (0, 4), (1, 2), (3, 4)]
        inner = [(2, 4), (1, 4), (1, 3), (0, 3), (0, 2)]
        places = dict(zip(outer, around(5), strict=True))
        places |= zip(inner, around(5, 0.5), strict=True)
        return [places[label] for label in labels]
    if name == "truncated_tetrahedron":
        hubs = dict(enumerate([(0.0, 0.0), *around(3)]))
        return [
            tuple(0.7 * a + 0.3 * b for a, b in zip(hubs[x], hubs[y], strict=True))
            for x, y in labels
        ]
    if name in ("hypercube", "folded_cube"):
        return [(x + 0.45 * z, -y - 0.35 * z) for x, y, z in labels]
    if name == "tree":
        depth = [int(math.log2(i + 1)) for i in range(graph.size)]
        return [((i + 1.5) / 2**d * 4 - 6, 1.3 * d) for i, d in enumerate(depth)]
    return around(graph.size)


def picture(name: str, graph: AnswerGraph, title: str) -> str:
    places = positions(name, graph)
    xs, ys = [x for x, _ in places], [y for _, y in places]
    wide, tall = max(xs) - min(xs), max(ys) - min(ys)
    row = name in IN_A_ROW
    margin, scale = 24, (SIZE * (1.4 if row else 1) - 48) / max(wide, tall)
    height = 120 if row else round(tall * scale) + 2 * margin
    width = round(wide * scale) + 2 * margin
    base = 55 if row else margin
    points = [
        (margin + (x - min(xs)) * scale, base + (y - min(ys)) * scale)
        for x, y in places
    ]
    small = graph.size > 12
    radius = 5 if small else 11
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>',
        f'<g fill="none" stroke="{EDGE}" stroke-width="1.2">',
        *(
            edge(points[i], points[j], bend(name, graph, i, j))
            for i, j in graph.edges()
        ),
        "</g>",
        f'<g fill="{NODE}" stroke="{INK}">',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in points),
        "</g>",
    ]
    if not small:
        lines.append(
            f'<g fill="{INK}" font-family="sans-serif" font-size="8" text-anchor="middle">'
        )
        for (x, y), label in zip(points, graph.labels, strict=True):
            lines.append(f'<text x="{x:.1f}" y="{y + 3:.1f}">{written(label)}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def bend(name: str, graph: AnswerGraph, i: int, j: int) -> float:
    """How far an edge swings out, as a share of its length, so that it passes other nodes by."""
    if name in IN_A_ROW:
        return 0.0 if j == i + 1 else (0.55 if i % 2 else -0.55)
    pairs = list(zip(written(graph.label(i)), written(graph.label(j)), strict=False))
    if name == "databases":
        return 0.28 if {"–", "1"} in map(set, pairs) else 0.0
    if name == "histogram":
        return 0.25 if {"0", "2"} in map(set, pairs) else 0.0
    return 0.0


def edge(a: Point, b: Point, swing: float) -> str:
    if not swing:
        return f'<path d="M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"/>'
    middle = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    out = middle[0] + swing * (b[1] - a[1]), middle[1] - swing * (b[0] - a[0])
    return f'<path d="M{a[0]:.1f} {a[1]:.1f}Q{out[0]:.1f} {out[1]:.1f} {b[0]:.1f} {b[1]:.1f}"/>'


def written(label: Hashable) -> str:
    if isinstance(label, tuple):
        return "".join("–" if part is None else str(part) for part in label)
    return str(label)


def same_everywhere(text: str) -> bool:
    edges = {tuple(query(text, near).graph.edges()) for near in Neighbours}
    return len(edges) == 1


def pictures() -> dict[str, str]:
    """Return the text of every picture by its file name."""
    found = {}
    for name, text in ((name, drawn(family)) for name, family in FAMILIES.items()):
        for near in list(Neighbours)[: 1 if same_everywhere(text) else 3]:
            graph = query(text, near).graph
            title = text if same_everywhere(text) else f"{text}, {near.value}"
            found[file_name(name, near)] = picture(name, graph, title)
    return found


def drawn(family: Family) -> str:
    """Return the text that is drawn: small enough to see every edge."""
    return family.drawn or family.example


def file_name(name: str, near: Neighbours) -> str:
    alone = same_everywhere(drawn(FAMILIES[name]))
    return f"{name}.svg" if alone else f"{name}-{near.value}.svg"


def shown(family: Family, near: Neighbours) -> str:
    text = drawn(family)
    where = "" if same_everywhere(text) else f" under {near.value}"
    return f"![The answer graph of {text}{where}](img/{file_name(family.name, near)})"


def tables() -> dict[str, str]:
    """Return the two tables of the page by the mark that they stand behind."""
    questions = [
        "| query | asks for | parameters | distance | change-one | add-remove | either |",
        "|---|---|---|---|---|---|---|",
    ]
    graphs = ["| graph | what it is | parameters | drawn |", "|---|---|---|---|"]
    for family in FAMILIES.values():
        parameters = (
            "; ".join(f"*{p.name}* {p.meaning}" for p in family.parameters) or "none"
        )
        asked = f"`{family.signature}`<br>e.g. `{family.example}`"
        head = f"| {asked} | {family.meaning} | {parameters}"
        if family.is_graph:
            graphs.append(f"{head} | {shown(family, Neighbours.CHANGE_ONE)} |")
        else:
            cells = [shown(family, near) for near in Neighbours]
            if len(set(cells)) == 1:
                cells = [cells[0], "the same", "the same"]
            questions.append(f"{head} | {family.distance} | {' | '.join(cells)} |")
    return {"questions": "\n".join(questions), "graphs": "\n".join(graphs)}


def page(old: str) -> str:
    """Return the page with its tables made anew."""
    for mark, table in tables().items():
        before, _, rest = old.partition(f"<!-- {mark} -->\n")
        _, _, after = rest.partition("<!-- end -->")
        old = f"{before}<!-- {mark} -->\n\n{table}\n\n<!-- end -->{after}"
    return old


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(pictures())} pictures and the tables of {PAGE.name}")


if __name__ == "__main__":
    main()
