"""What was asked of each subject, and whether the results reach it: computed, never typed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import show
from benchmarks.harness import OURS, Result

Results = Mapping[str, Mapping[str, Any]]
REACHED, MISSED, OPEN, UNKNOWN = "reached", "not reached", "not decided", "not measured"


@dataclass(frozen=True)
class Target:
    """One aim: a measure of some rows that must be at least, or at most, a value.

    ``measure`` is ``seconds``, ``memory`` (MiB), ``growth`` (the exponent of the time over the
    sizes of the rows), ``ratio:WAY`` (how many times as long another way takes) or ``fact:NAME``.
    Of several rows the worst counts.
    """

    subject: str
    what: str
    comparison: str
    rows: tuple[str, ...]
    measure: str
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What a target asks, what was measured, and whether it is reached."""

    target: Target
    measured: str
    verdict: str

    @property
    def asked(self) -> str:
        """The aim in words."""
        least, most = self.target.least, self.target.most
        if self.target.measure.startswith("fact:") and least == 1:
            return "yes"
        sign, bound = ("at least", least) if least is not None else ("at most", most)
        assert bound is not None
        return f"{sign} {_text(self.target.measure, bound)}"


def judge(target: Target, results: Results) -> Verdict:
    """Return whether the results reach a target."""
    rows = {
        row["name"]: row for row in results.get(target.comparison, {}).get("rows", ())
    }
    if any(name not in rows for name in target.rows):
        return Verdict(target, "", UNKNOWN)
    by = results[target.comparison]["by"]
    if target.measure == "growth":
        found = [_growth([rows[name] for name in target.rows], by)]
    else:
        found = [_measured(target.measure, rows[name], by) for name in target.rows]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return Verdict(target, "", UNKNOWN)
    value, bound = (min if target.least is not None else max)(known)
    text = {1: "> ", -1: "< ", 0: ""}[bound] + _text(target.measure, value)
    at_least = target.least is not None
    good = value >= (target.least or 0.0) if at_least else value <= (target.most or 0.0)
    # A bound decides in one direction only.
    if bound and (bound > 0) != (good == at_least):
        return Verdict(target, text, OPEN)
    return Verdict(target, text, REACHED if good else MISSED)


def _measured(
    measure: str, row: Mapping[str, Any], by: str
) -> tuple[float, int] | None:
    """Return a value, and whether it is a lower (+1) or an upper bound (-1) only."""
    kind, _, name = measure.partition(":")
    results = {way: Result.read(found) for way, found in row["results"].items()}
    ours = results.get(OURS, Result("no"))
    if ours.status == "no":
        return None
    if kind == "ratio":
        theirs = results.get(name, Result("no"))
        ratio = (
            None
            if theirs.status == "no"
            else show.ratio_of(ours.times(by), theirs.times(by))
        )
        return None if ratio is None else (ratio.value, ratio.bound)
    if kind == "seconds":
        return ours.times(by).median, 1 if ours.status == "over" else 0
    if ours.status == "over":
        return None
    value = ours.memory_mib if kind == "memory" else ours.facts.get(name)
    return None if value is None else (float(value), 0)


def _growth(rows: list[Mapping[str, Any]], by: str) -> tuple[float, int] | None:
    """Return the slope of log time over log size."""
    points = []
    for row in rows:
        ours = Result.read(row["results"][OURS])
        if ours.status != "ok":
            return None
        points.append((math.log(row["size"]), math.log(ours.times(by).median)))
    slope, _ = statistics.linear_regression(*zip(*points, strict=True))
    return slope, 0


def _text(measure: str, value: float) -> str:
    kind, _, name = measure.partition(":")
    if kind == "seconds" or name.endswith("seconds"):
        return show.Times((value,)).text if value > 0 else f"{value:.3f} s"
    if kind == "memory":
        return show.memory(value)
    if kind == "ratio":
        return f"{show.digits(value)}× as long"
    if kind == "growth":
        return f"n^{value:.2f}"
    if name in YES_OR_NO:
        return "yes" if value else "no"
    return f"{value:.2g}" if abs(value) < 1e-3 else f"{value:.6g}"


#: Facts that are true or false.
YES_OR_NO = ("positive", "private", "certified", "right", "same_bytes")

_SUMS = tuple(f"solve-sum-{n}" for n in (10_000, 100_000, 1_000_000))
_COUNTS = tuple(f"solve-counts-{n}" for n in (10_000, 99_856, 1_000_000))
_GRID = tuple(f"counts-121-{loss}{prior}" for loss in ("binary", "distance")
              for prior in ("", "-uniform"))  # fmt: skip
_PROVED = ("band-160-absolute", "band-160-binary", *_GRID)
_LARGE_PAIRS = (
    "square-yes",
    "square-no",
    "wide-yes",
    "wide-joined",
    "wide-no",
    "tall-yes",
)
_BORDER = tuple(f"border-{power}-{side}" for power in (3, 6, 9, 12)
                for side in ("inside", "outside"))  # fmt: skip

TARGETS = (
    Target("Regular priors", "Φz = 1 for sum(150,5): the dense solve takes",
           "existence", ("sum(150,5)",), "ratio:numpy", least=1),
    Target("Regular priors", "Φz = 1 for counts(30,2): the dense solve takes",
           "existence", ("counts(30,2)",), "ratio:numpy", least=1),
    Target("Regular priors", "Φz = 1 for both: qif takes",
           "existence", ("sum(150,5)", "counts(30,2)"), "ratio:qif", least=1),
    Target("Regular priors", "1,000,000 answers, both families: memory",
           "existence", (_SUMS[-1], _COUNTS[-1]), "memory", most=1024),
    Target("Regular priors", "1,000,000 answers, both families: z > 0 proved",
           "existence", (_SUMS[-1], _COUNTS[-1]), "fact:positive", least=1),
    Target("Regular priors", "growth for sums, 10⁴ to 10⁶ answers: linear",
           "existence", _SUMS, "growth", most=1.1),
    Target("Regular priors", "growth for two counts, 10⁴ to 10⁶ answers: n log n",
           "existence", _COUNTS, "growth", most=1.2),
    Target("Leakage", "min-entropy leakage: one NumPy expression takes",
           "leakage", ("min-entropy",), "ratio:numpy", least=0.5),
    Target("Leakage", "g-vulnerability: one NumPy expression takes",
           "leakage", ("g-vulnerability",), "ratio:numpy", least=0.5),
    Target("Leakage", "smallest ε on a path: qif takes",
           "leakage", ("smallest-epsilon",), "ratio:qif", least=100),
    Target("Leakage", "Shannon capacity: qif takes",
           "leakage", ("capacity",), "ratio:qif", least=100),
    Target("Optimal design", "absolute loss, 160 answers at most 3 apart: linprog takes",
           "optimal", ("band-160-absolute",), "ratio:linprog", least=50),
    Target("Optimal design", "binary loss, 160 answers at most 3 apart: linprog takes",
           "optimal", ("band-160-binary",), "ratio:linprog", least=5),
    Target("Optimal design", "absolute loss, 500 answers at most 3 apart: time",
           "optimal", ("band-500-absolute",), "seconds", most=300),
    Target("Optimal design", "absolute loss, 500 answers at most 3 apart: memory",
           "optimal", ("band-500-absolute",), "memory", most=4096),
    Target("Optimal design", "absolute loss, 500 answers at most 3 apart: solved to 1e-9",
           "optimal", ("band-500-absolute",), "fact:certified", least=1),
    Target("Optimal design", "counts(10,2), uniform and random priors: solved to 1e-9",
           "optimal", _GRID, "fact:certified", least=1),
    Target("Optimal design", "private in integers after rounding, all of these",
           "optimal", _PROVED, "fact:private", least=1),
    Target("Optimal design", "path with 100,000 answers: time",
           "optimal", ("path-100000-absolute",), "seconds", most=2),
    Target("Optimal design", "path with 100,000 answers: memory",
           "optimal", ("path-100000-absolute",), "memory", most=200),
    Target("Optimal design", "sum(150,5) at ε = 0.9, uniform prior: solved to 1e-9",
           "optimal", ("sum-751-binary-uniform",), "fact:certified", least=1),
    Target("Optimal design", "worst regret on a ring of 5, two consumers: positive",
           "optimal", ("regret-cycle-5",), "fact:regret", least=1e-4),
    Target("Optimal design", "worst regret on a path of 6, ten consumers: zero",
           "optimal", ("regret-path-6",), "fact:regret", most=1e-9),
    Target("Generality", "derivability of 60×60 and 60×120 channels: time",
           "derive", _LARGE_PAIRS, "seconds", most=10),
    Target("Generality", "derivability of 60×60 and 60×120 channels: right",
           "derive", _LARGE_PAIRS, "fact:right", least=1),
    Target("Generality", "1e-3 to 1e-12 from the border: right",
           "derive", _BORDER, "fact:right", least=1),
    Target("Generality", "geometric(1) and geometric(½), 60 answers: right",
           "derive", ("geometric-yes", "geometric-no"), "fact:right", least=1),
    Target("Proof-carrying", "one draw: OpenDP takes",
           "draws", ("single",), "ratio:opendp", least=20),
    Target("Proof-carrying", "100,000 draws at once: OpenDP takes",
           "draws", ("bulk",), "ratio:opendp", least=1000),
    Target("Proof-carrying", "|ρ| of a draw's time with its output",
           "draws", ("single",), "fact:rho_output", most=0.03),
    Target("Proof-carrying", "|ρ| of a draw's time with its noise",
           "draws", ("single",), "fact:rho_noise", most=0.03),
    Target("Proof-carrying", "file of a mechanism with 1,000,000 answers, KiB",
           "verification", ("tight-1000000",), "fact:kib", most=4096),
    Target("Release", "added to DuckDB's own time, 100,000,000 rows",
           "release", ("rows-100000000",), "fact:added_seconds", most=0.3),
    Target("Cold start", "`import tightrope`", "cold_start", ("import",), "seconds", most=0.3),
    Target("Cold start", "`tightrope --help`", "cold_start", ("help",), "seconds", most=0.5),
    Target("Past one machine", "two workers against one, designs a second",
           "cluster", ("sweep-2000",), "fact:speedup", least=1.8),
    Target("Past one machine", "a study killed twice and resumed: the same bytes",
           "cluster", ("sweep-2000",), "fact:same_bytes", least=1),
)  # fmt: skip
