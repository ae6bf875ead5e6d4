"""Growth of time and memory with size, on logarithmic scales, from the results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import show
from benchmarks.harness import OURS, ROOT, Result

PICTURES = ROOT / "docs" / "assets" / "benchmarks"
#: A curve needs so many points.
POINTS = 2


@dataclass(frozen=True)
class Figure:
    """One picture: some series of a comparison, by some ways; or a fact by ε, of every row."""

    name: str
    comparison: str
    title: str
    series: tuple[str, ...]
    ways: tuple[str, ...]
    memory: bool = False
    fact: str = ""


@dataclass(frozen=True)
class Curve:
    """Points of one way on one series; ``over`` marks those that are lower bounds."""

    label: str
    sizes: tuple[float, ...]
    values: tuple[float, ...]
    over: tuple[bool, ...]


_SOLVE = ("Φz = 1, sums, answers at most 5 apart", "Φz = 1, two counts at once")
_SEARCH = ("all ε, sums, answers at most 5 apart", "all ε, two counts at once")
_LP = (OURS, "linprog", "glop", "qif")

FIGURES = (
    Figure("solve", "existence", "Φz = 1", _SOLVE, (OURS, "numpy", "qif")),
    Figure("solve-memory", "existence", "Φz = 1: memory", _SOLVE, (OURS, "numpy", "qif"),
           memory=True),
    Figure("exists", "existence", "all ε at which the mechanism exists", _SEARCH, (OURS,)),
    Figure("band-absolute", "optimal", "optimal design, answers at most 3 apart, absolute loss",
           ("answers at most 3 apart, absolute loss",), _LP),
    Figure("band-binary", "optimal", "optimal design, answers at most 3 apart, binary loss",
           ("answers at most 3 apart, binary loss",), _LP),
    Figure("families", "optimal", "optimal design by Tightrope, random priors",
           ("path, absolute loss", "answers at most 3 apart, absolute loss",
            "answers at most 3 apart, binary loss", "cycle, binary loss",
            "two counts at once, binary loss", "random graph, binary loss"), (OURS,)),
    Figure("remap", "remap", "best remap of the geometric mechanism",
           ("dense, absolute loss", "by rule, absolute loss"), (OURS, "numpy", "qif")),
    Figure("verification", "verification", "verification of a mechanism file",
           ("with certificate, path", "with certificate, band",
            "by rule, tight constraints on sums"), (OURS,)),
    Figure("noise-error", "noise", "Absolute error of independent noise over ours, by ε", (), (),
           fact="error ratio"),
)  # fmt: skip


def curves_of(figure: Figure, results: Mapping[str, Mapping[str, Any]]) -> list[Curve]:
    """Return the curves that the results give for a figure."""
    found = results.get(figure.comparison, {"rows": (), "by": "cpu"})
    curves = []
    for row in found["rows"] if figure.fact else ():
        by_level = row["results"][OURS].get("facts", {}).get(figure.fact, {})
        if by_level:
            levels = tuple(map(float, by_level))
            name = row["what"].strip("`")
            curves.append(
                Curve(name, levels, tuple(by_level.values()), (False,) * len(levels))
            )
    for series in figure.series:
        rows = sorted(
            (row for row in found["rows"] if row.get("series") == series),
            key=lambda row: int(row["size"]),
        )
        for way in figure.ways:
            points = []
            for row in rows:
                result = Result.read(row["results"].get(way, {"status": "no"}))
                if result.status == "no":
                    continue
                value = (
                    result.memory_mib
                    if figure.memory
                    else result.times(found["by"]).median
                )
                if value is not None:
                    points.append(
                        (int(row["size"]), float(value), result.status == "over")
                    )
            if len(points) >= POINTS and not all(over for *_, over in points):
                curves.append(
                    Curve(_label(figure, series, way), *zip(*points, strict=True))
                )
    return curves


def _label(figure: Figure, series: str, way: str) -> str:
    if len(figure.series) == 1:
        return show.name(way)
    short = series.removeprefix("Φz = 1, ").removeprefix("all ε, ")
    return short if len(figure.ways) == 1 else f"{show.name(way)}: {short}"


def digest(curves: list[Curve]) -> str:
    """Return a mark by which a picture shows what it was drawn from."""
    text = json.dumps([(c.label, c.sizes, c.values, c.over) for c in curves])
    return hashlib.sha256(text.encode()).hexdigest()


def picture(figure: Figure, folder: Path = PICTURES) -> Path:
    """Return the file of a figure."""
    return folder / f"{figure.name}.svg"


def draw(
    figure: Figure, curves: list[Curve], unit: str, folder: Path = PICTURES
) -> Path:
    """Draw a figure into its file."""
    import matplotlib as mpl

    from tightrope.report.drawings import strokes
    from tightrope.report.plots import new_axes

    axes = new_axes(7.2, 4.6)
    for curve, stroke in zip(curves, strokes(len(curves)), strict=True):
        axes.plot(curve.sizes, curve.values, color=stroke.colour, linestyle=stroke.dash,
                  marker=stroke.marker, markersize=5, label=curve.label)  # fmt: skip
        stopped = [k for k, over in enumerate(curve.over) if over]
        axes.plot([curve.sizes[k] for k in stopped], [curve.values[k] for k in stopped],
                  color=stroke.colour, linestyle="none", marker=stroke.marker, markersize=9,
                  markerfacecolor="white")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("linear" if figure.fact else "log")
    sizes = sorted({size for curve in curves for size in curve.sizes})
    apart = [
        size for k, size in enumerate(sizes) if k == 0 or size > 1.3 * sizes[k - 1]
    ]
    axes.set_xticks(apart, [f"{size:,}" for size in apart])
    axes.minorticks_off()
    axes.set_xlabel("ε" if figure.fact else f"number of {unit}")
    axes.set_ylabel(
        figure.fact or ("peak memory (MiB)" if figure.memory else "time (s)")
    )
    axes.set_title(figure.title)
    axes.grid(alpha=0.3)
    if any(over for curve in curves for over in curve.over):
        axes.plot([], [], linestyle="none", marker="o", markersize=9, markerfacecolor="white",
                  color="0.3", label="hollow: stopped at its limit")  # fmt: skip
    axes.legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    target = picture(figure, folder)
    # The same results give the same bytes.
    with mpl.rc_context({"svg.hashsalt": figure.name}):
        axes.get_figure().savefig(  # type: ignore[union-attr]
            target,
            metadata={"Date": None, "Creator": None, "Description": digest(curves)},
        )
    return target
