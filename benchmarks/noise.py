"""Error beside what others would add, by question and ε; and draws beside OpenDP's.

    python -m benchmarks.noise [PICTURE]

The error is the absolute loss of a whole answer in its worst case, without ends: that of our noise,
and that of independent two-sided geometric noise in each number at its share of ε, which is what
is done without a design. Draws are of a histogram of 6,000 people in 8 classes at ε = 1, beside
OpenDP's discrete Laplace noise on a vector with the same privacy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tightrope as tr
from tightrope.certify import certify
from tightrope.channels import UnboundedNoise
from tightrope.epsilon import Epsilon
from tightrope.optimize.unbounded import usual_noise
from tightrope.publish.sampler import LatticeSampler

LEVELS = ("0.1", "0.2", "0.5", "1", "2", "3")
QUESTIONS = ("sum(1000000,5)", "sum(1000000,50)", "counts(1000000,2)", "counts(1000000,3)",
             "counts(1000000,10)", "histogram(1000000,3)", "histogram(1000000,8)",
             "histogram(1000000,50)")  # fmt: skip


def ratio(question: str, epsilon: str) -> float:
    """Return how many times our error the usual noise has."""
    asked = tr.query(question)
    worst = tr.Consumer.of(asked.graph, support="all", loss="absolute")
    ours = tr.design(asked, epsilon, worst, route="unbounded").expected_loss
    (theirs,) = usual_noise(asked.graph, Epsilon.of(epsilon), "absolute").values()
    return theirs / ours


def ours() -> tuple[Callable[[], Any], Callable[[int], Any]]:
    """Return a draw of a histogram, and many draws."""
    asked = tr.query("histogram(6000,8)")
    made = certify(UnboundedNoise(asked.graph, 1), asked, 1)
    sampler = LatticeSampler(made, (750,) * 8)
    return sampler.draw, sampler.draws


def opendp() -> tuple[Callable[[], Any], Callable[[int], Any]]:
    """Return the same with OpenDP: one person who moves changes the counts by 2 in the L1 norm."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    draw, truth = dp.m.make_laplace(*space, scale=2.0), [750] * 8
    return lambda: draw(truth), lambda many: [draw(truth) for _ in range(many)]


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(picture: Path | None) -> None:
    """Print both tables; draw the first one."""
    table = {question: [ratio(question, level) for level in LEVELS] for question in QUESTIONS}
    print("| error of independent noise over ours |", " | ".join(f"ε = {x}" for x in LEVELS), "|")
    print("|---" * (len(LEVELS) + 1) + "|")
    for question, values in table.items():
        print(f"| `{question}` |", " | ".join(f"{value:.3f}" for value in values), "|")
    for name, way in (("Tightrope", ours), ("OpenDP", opendp)):
        one, many = way()
        one()
        single = seconds(lambda one=one: [one() for _ in range(1000)]) / 1000  # type: ignore[misc]
        bulk = seconds(lambda many=many: many(20_000)) / 20_000  # type: ignore[misc]
        print(f"{name}: {1 / single:,.0f} draws a second one by one, {1 / bulk:,.0f} at once")
    if picture is None:
        return
    from tightrope.report.drawings import strokes
    from tightrope.report.plots import new_axes

    axes = new_axes(7.2, 4.6)
    levels = [float(level) for level in LEVELS]
    for (question, values), stroke in zip(table.items(), strokes(len(table)), strict=True):
        axes.plot(levels, values, color=stroke.colour, linestyle=stroke.dash,
                  marker=stroke.marker, markersize=5, label=question)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(levels, LEVELS)
    axes.minorticks_off()
    axes.set_xlabel("ε")
    axes.set_ylabel("absolute error of independent noise over ours")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    axes.get_figure().savefig(picture, metadata={"Date": None, "Creator": None})  # type: ignore[union-attr]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
