"""Draw the pictures of docs/concepts/tight-constraints.md into docs/concepts/img/."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import networkx
import numpy as np
from matplotlib import pyplot as plt

import tightrope as tr
from tightrope.consumers.regular import region_corners
from tightrope.graphs import Cycle, PathPower
from tightrope.mechanisms.tight import utility_curve
from tightrope.phi import Phi, exists

FOLDER = Path(__file__).resolve().parents[1] / "docs/concepts/img"
GAP = [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]
PLACES = {0: (-1, 0.6), 1: (-1, -0.6), 2: (0, 0.6), 3: (0, -0.6), 5: (-2.2, 0), 4: (1.2, 0)}


def gap() -> None:
    graph = tr.AnswerGraph.of(GAP)
    left, right = plt.subplots(1, 2, figsize=(8, 3), width_ratios=[2, 3])[1]
    drawn = networkx.Graph(GAP)
    networkx.draw_networkx(
        drawn, PLACES, ax=left, node_color="#cfe8e6", edgecolors="#00695c", edge_color="#00695c"
    )
    left.axis("off")
    levels = np.linspace(0.02, 1.2, 400)
    least = [Phi(graph, float(e)).solve_ones().values.min() for e in levels]
    right.plot(levels, least, color="#00695c")
    right.axhline(0, color="grey", linewidth=0.8)
    for start, end in exists(graph).intervals:
        right.axvspan(start, end or levels[-1], color="#cfe8e6", alpha=0.6)
    right.set(xlabel="ε", ylabel="smallest entry of z", ylim=(-0.3, 0.3), xlim=(0, 1.2))
    save("tight-gap.svg")


def utilities() -> None:
    axes = plt.subplots(1, 2, figsize=(8, 3))[1]
    for axis, text in zip(axes, ("sum(150,5)", "counts(30,2)"), strict=True):
        graph = tr.query(text).graph
        curve = utility_curve(graph, [round(0.8 + 0.02 * k, 2) for k in range(26)])
        axis.plot(curve.epsilons, curve.tight, color="#00695c", label="tight constraints")
        axis.plot(curve.epsilons, curve.geometric, "--", color="#8d6e63", label="geometric")
        axis.axvline(exists(graph).minimum, color="grey", linewidth=0.8)
        axis.set(title=text, xlabel="ε", ylabel="utility, uniform prior", xlim=(0.8, 1.3), ylim=0)
        axis.legend()
    save("tight-utility.svg")


def regions() -> None:
    axes = plt.subplots(1, 2, figsize=(7, 3))[1]
    corners = np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])
    for axis, graph in zip(axes, (PathPower(3), Cycle(3)), strict=True):
        axis.fill(*corners.T, facecolor="none", edgecolor="grey")
        for level, colour in (("ln(5)", "#cfe8e6"), ("ln(2)", "#4db6ac")):
            axis.fill(
                *(region_corners(graph, level) @ corners).T, color=colour, label=f"ε = {level}"
            )
        axis.set(title=graph.name, aspect="equal")
        axis.axis("off")
        axis.legend(loc="upper left", frameon=False)
    save("tight-regions.svg")


def save(name: str) -> None:
    plt.tight_layout()
    plt.savefig(FOLDER / name, metadata={"Date": None})
    plt.close()


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "tightrope"
    FOLDER.mkdir(exist_ok=True)
    gap()
    utilities()
    regions()
