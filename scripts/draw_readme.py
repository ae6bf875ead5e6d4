"""Draw the picture of the README: a question, its best mechanism, and what others lose.

python scripts/draw_readme.py
"""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import tightrope as tr
from tightrope.report.plots import plot_channel, plot_graph
from tightrope.studies import Study, sweep

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "design.svg"
QUESTION = "sum(4,3)"
#: Okabe-Ito colours, with dashes and marks for readers without colour.
CURVES = [
    ("best mechanism", "#0072B2", "-", "o"),
    ("geometric noise", "#D55E00", "--", "s"),
    ("exponential noise", "#009E73", ":", "^"),
]


def main() -> None:
    figure = Figure(figsize=(15, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    question, best, curves = figure.subplots(1, 3, width_ratios=[1, 1.15, 1.1])
    graph = tr.query(QUESTION).graph
    plot_graph(graph, ax=question)
    question.set_title("the question: the sum of 4 values from 0 to 3")
    found = tr.design(graph, epsilon=1)
    plot_channel(found.channel, ax=best, title="its best mechanism at ε = 1")
    rows = list(sweep(Study.of(QUESTION, "0.2:2.6:0.2")))
    at = [row["epsilon"] for row in rows]
    losses = [
        [row["expected_loss"] for row in rows],
        [row["baselines"]["geometric"] for row in rows],
        [row["baselines"]["exponential"] for row in rows],
    ]
    for (name, colour, dash, mark), lost in zip(CURVES, losses, strict=True):
        right = 1 - np.array(lost)
        curves.plot(at, right, color=colour, linestyle=dash, marker=mark, markersize=4, label=name)
    curves.set_xlabel("privacy level ε")
    curves.set_ylabel("probability of the right answer")
    curves.set_title("what a reader gets (uniform prior)")
    curves.grid(alpha=0.3)
    curves.legend()
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
