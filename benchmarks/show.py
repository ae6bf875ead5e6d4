"""How seconds, ratios, spreads and limits are written, for the terminal and for the page."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from typing import Any

#: Steps of units of time, from the largest.
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))

#: Ways whose name is not what a reader calls them.
NAMES = {
    "tightrope": "Tightrope",
    "linprog": "SciPy linprog (HiGHS)",
    "glop": "OR-Tools GLOP",
    "pdlp": "OR-Tools PDLP",
    "numpy": "NumPy",
    "opendp": "OpenDP",
    "smartnoise": "SmartNoise SQL",
    "tumult": "Tumult Analytics",
}


def name(way: str) -> str:
    """Return what a reader calls a way."""
    return NAMES.get(way, way)


@dataclass(frozen=True)
class Times:
    """Seconds of one or several runs; with ``over`` only a lower bound is known.

    Examples
    --------
    >>> Times((2.0, 1.0, 4.0)).text, Times((300.0,), over=True).text
    ('2.00 s (1.00–4.00)', '> 300 s')
    """

    seconds: tuple[float, ...]
    over: bool = False

    @property
    def median(self) -> float:
        """The seconds that are compared."""
        return statistics.median(self.seconds)

    @property
    def text(self) -> str:
        """The median, and between brackets the least and the largest."""
        if self.over:
            return f"> {self.median:g} s"
        scale, unit = unit_of(self.median)
        shown = f"{digits(self.median / scale)} {unit}"
        if len(self.seconds) == 1:
            return shown
        low, high = min(self.seconds) / scale, max(self.seconds) / scale
        return f"{shown} ({digits(low)}–{digits(high)})"


@dataclass(frozen=True)
class Ratio:
    """How many times as long the others take, with the least and the largest that runs show.

    Examples
    --------
    >>> ratio_of(Times((1.0, 2.0, 4.0)), Times((100.0,))).text
    '50.0× (25.0–100)'
    >>> ratio_of(Times((2.0,)), Times((300.0,), over=True)).text
    '> 150×'
    """

    value: float
    low: float
    high: float
    #: A lower bound (+1, the other was stopped), an upper one (-1, ours was), or neither (0).
    bound: int = 0

    @property
    def text(self) -> str:
        """The ratio in words."""
        sign = {1: "> ", -1: "< ", 0: ""}[self.bound]
        shown = f"{sign}{digits(self.value)}×"
        if self.bound or self.low == self.high:
            return shown
        return f"{shown} ({digits(self.low)}–{digits(self.high)})"


def ratio_of(ours: Times, theirs: Times) -> Ratio | None:
    """Return how many times as long theirs took, or nothing when neither ended."""
    if ours.over and theirs.over:
        return None
    return Ratio(
        theirs.median / ours.median,
        min(theirs.seconds) / max(ours.seconds),
        max(theirs.seconds) / min(ours.seconds),
        bound=1 if theirs.over else -1 if ours.over else 0,
    )


def unit_of(seconds: float) -> tuple[float, str]:
    """Return the unit in which a time is one digit or more before the point."""
    for scale, unit in UNITS:
        if seconds >= scale:
            return scale, unit
    return UNITS[-1]


def digits(value: float) -> str:
    """Return three digits that matter, and never an exponent.

    >>> [digits(x) for x in (0.0123, 1.234, 56.78, 912.3, 12345.0)]
    ['0.0123', '1.23', '56.8', '912', '12,345']
    """
    if value >= 1000:
        return f"{value:,.0f}"
    value = float(f"{value:.3g}")
    if value >= 100:
        return f"{value:.0f}"
    if value >= 1:
        return f"{value:.{1 if value >= 10 else 2}f}"
    return f"{value:.3g}"


def memory(mib: float | None) -> str:
    """Return memory in MiB or GiB."""
    if mib is None:
        return ""
    return f"{mib / 1024:.1f} GiB" if mib >= 2048 else f"{mib:.0f} MiB"


def without_places(text: str) -> str:
    """Return a message without the folders of the machine it comes from.

    >>> without_places("cannot open '/usr/lib/x/y.so' (/tmp/a.py)")
    "cannot open 'y.so' (a.py)"
    """
    return re.sub(r"(?<![\w.])(?:/[\w.+-]+)+/([\w.+-]+)", r"\1", text)


def line(way: str, result: Any, ours: Any, by: str) -> str:
    """Return one line of progress: who, how long, how much memory, how many times ours."""
    if result.status == "no":
        return f"    {way:<12} no: {result.why}"
    times = result.times(by)
    ratio = ""
    if ours is not None and ours is not result and ours.status != "no":
        found = ratio_of(ours.times(by), times)
        ratio = "" if found is None else found.text
    note = result.facts.get("note", "")
    return f"    {way:<12} {times.text:<28} {memory(result.memory_mib):>9}  {ratio:<22} {note}"
