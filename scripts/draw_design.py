"""Draw the picture at the top of the README: a question, its best mechanism, and what others lose.

python scripts/draw_design.py
"""

from pathlib import Path

import matplotlib as mpl

import tightrope as tr
from tightrope.report import plot_channel, plot_graph
from tightrope.report.files import new_axes
from tightrope.report.palette import strokes

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "design.svg"


def main() -> None:
    # Identifiers that are the same at every run keep the file from changing without need.
    mpl.rcParams["svg.hashsalt"] = "tightrope"
    total = tr.query("sum(20,3)")
    reader = tr.Consumer.of(total.graph, prior="uniform", loss="binary")
    best = tr.design(total, epsilon=1, consumer=reader)
    first = new_axes(13, 3.9)
    figure = first.figure
    first.remove()
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1.1, 0.8])
    plot_graph(total.graph, left, centre=18, limit=19)
    left.set_title("the question: a sum of 20 values from 0 to 3")
    plot_channel(best.channel, middle, title="the best mechanism at ε = 1")
    shown = {"best": best.expected_loss, **best.baselines}
    names = list(shown)
    for place, (name, stroke) in enumerate(zip(names, strokes(len(names)), strict=True)):
        bar = right.bar(
            place, 1 - shown[name], color=stroke.colour, hatch=stroke.hatch, edgecolor="white"
        )
        right.bar_label(bar, fmt="%.3f")
    right.set_xticks(range(len(names)), names)
    right.axhline(1 - best.bound, color="black", linestyle="--", linewidth=1)
    right.annotate(
        "no private mechanism above", (len(names) - 0.5, 1 - best.bound), ha="right", va="bottom",
        fontsize=8, xytext=(0, 12), textcoords="offset points",
    )  # fmt: skip
    right.set_ylim(0, 1.3 * (1 - best.bound))
    right.set_ylabel("probability of a right guess")
    right.set_title("what the reader gets")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"drawn: {PICTURE.name}")


if __name__ == "__main__":
    main()
