"""Search small graphs for one on which existence is not an up-set in ε.

Goes through all connected graphs of at most seven nodes, decides each exactly, and prints those
where the tight-constraints mechanism exists, stops existing, and exists again as ε grows.
"""

from __future__ import annotations

import networkx
from networkx.generators.atlas import graph_atlas_g

from tightrope.graphs import ExplicitGraph
from tightrope.phi import exists


def main() -> None:
    seen, found, points = 0, 0, 0
    for number, graph in enumerate(graph_atlas_g()):
        if len(graph) < 2 or not networkx.is_connected(graph):
            continue
        seen += 1
        result = exists(ExplicitGraph.from_networkx(graph, name=f"atlas {number}"))
        if not result.exact:
            raise SystemExit(f"graph {number} was not decided exactly")
        if not result.is_up_set:
            found += 1
            points += sum(b is None or b > a for a, b in result.intervals) == 1
            ends = [(a, "∞" if b is None else f"{b:.6f}") for a, b in result.intervals]
            spans = ", ".join(f"[{a:.6f}, {b}]" for a, b in ends)
            size = f"{len(graph)} nodes, {graph.size()} edges"
            print(f"atlas {number}: {size} {sorted(graph.edges)}: {spans}")
    print(f"{seen} connected graphs of 2 to 7 nodes, {found} with a gap;")
    print(f"{points} of these because of a single ε where Φ is singular")


if __name__ == "__main__":
    main()
