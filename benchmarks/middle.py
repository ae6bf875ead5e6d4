"""A random suite of the middle: questions with a thousand to two hundred thousand answers.

python -m benchmarks.middle [--seed S] [--count N] [--limit SECONDS] [--only TEXT]

Each question runs in a process of its own, one after the other, with a limit of time that it must
keep itself. A line says how close to the best the design is proved to be, and when.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT
from benchmarks.suite import LOSSES, NEIGHBOURS

#: Fewest and most answers of a question of the middle.
SIZES = 1_000, 200_000
#: Families of questions, and how often each is drawn.
FAMILIES = {
    "sum": 6, "counts2": 3, "counts3": 3, "histogram3": 2, "histogram4": 2, "mean": 3,
    "median": 3, "count": 2,
}  # fmt: skip
PRIORS = ("uniform", "binomial", "poisson", "geometric", "people")


@dataclass(frozen=True)
class MiddleQuestion:
    """One question, in the words of the command line."""

    query: str
    neighbours: str
    prior: str
    loss: str
    epsilon: str

    def __str__(self) -> str:
        return (
            f"{self.query} {self.neighbours} {self.prior} {self.loss} ε={self.epsilon}"
        )


@dataclass(frozen=True)
class MiddleOutcome:
    """What came of a question; ``why`` says what failed."""

    question: MiddleQuestion
    nodes: int = 0
    route: str = ""
    gap: float = 1.0
    seconds: float = 0.0
    cpu: float = 0.0
    silence: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        measured = (
            f"gap {self.gap:7.1e}  {self.seconds:6.1f} s  processor {self.cpu:6.1f} s"
        )
        silent = f"silent {self.silence:4.1f} s"
        return f"{measured}  {silent}  {self.route:<10} {self.nodes:>6} {self.question} {self.why}"


def draw(seed: int, count: int) -> list[MiddleQuestion]:
    """Return so many random questions of the middle; no two are alike."""
    from tightrope.consumers import Consumer
    from tightrope.errors import TightropeError
    from tightrope.queries import query

    rng = np.random.default_rng(seed)
    questions: dict[MiddleQuestion, None] = {}
    while len(questions) < count:
        drawn = _drawn(rng)
        graph = query(drawn.query, neighbours=drawn.neighbours).graph
        if not SIZES[0] <= graph.size <= SIZES[1]:
            continue
        try:
            Consumer.of(graph, prior=drawn.prior, loss=drawn.loss)
        except TightropeError:  # people(…) is computed up to some sizes
            continue
        questions[drawn] = None
    return list(questions)


def _drawn(rng: np.random.Generator) -> MiddleQuestion:
    """Return one question; its number of answers may be out of bounds."""
    weights = np.array(list(FAMILIES.values())) / sum(FAMILIES.values())
    family = str(rng.choice(list(FAMILIES), p=weights))
    near = str(rng.choice(NEIGHBOURS, p=[0.5, 0.25, 0.25]))
    level = np.exp(rng.uniform(np.log(0.05), np.log(3)))
    epsilon = str(rng.choice(["ln(2)", "1", f"{level:.2g}", f"{level:.2g}"]))
    text, values = _query(family, near, _log_scale(rng))
    prior = _prior(str(rng.choice(PRIORS)), values, rng)
    return MiddleQuestion(text, near, prior, str(rng.choice(LOSSES)), epsilon)


def _log_scale(rng: np.random.Generator) -> Callable[[float, float], int]:
    """Return a function that draws whole numbers between two, evenly on a logarithmic scale."""
    return lambda low, high: int(np.exp(rng.uniform(np.log(low), np.log(high))))


def _query(
    family: str, near: str, between: Callable[[float, float], int]
) -> tuple[str, int]:
    """Return a question's text, and how many probabilities ``people(…)`` needs for it."""
    size = between(*SIZES)
    if family == "count":
        return f"count({size})", 2
    if family in ("counts2", "counts3"):
        k = int(family[-1])
        return f"counts({round(size ** (1 / k))},{k})", k
    if family in ("histogram3", "histogram4"):
        c = int(family[-1])
        # About n^(c-1)/(c-1)! answers.
        people = (size * (2, 6)[c - 3]) ** (1 / (c - 1))
        return f"histogram({round(people)},{c})", c
    if family == "median":
        return f"median({between(2, 100)},{size // 2})", size // 2 + 1
    v = between(2, 101)
    if family == "mean" and near != "change-one":
        # About v·3u²/π² fractions.
        return f"mean({max(2, round((size / v * 3.3) ** 0.5))},{v})", v + 1
    return f"{family}({max(2, size // v)},{v})", v + 1


def _prior(kind: str, values: int, rng: np.random.Generator) -> str:
    """Return the text of a prior; ``people`` has so many probabilities."""
    if kind == "binomial":
        return f"binomial({rng.choice([0.05, 0.3, 0.5, 0.9])})"
    if kind == "poisson":
        return f"poisson({rng.choice([4, 30, 200])})"
    if kind == "geometric":
        return f"geometric({rng.choice([0.001, 0.01, 0.1])})"
    if kind == "people":
        weights = rng.integers(1, 6, size=values)
        return f"people({','.join(f'{w}/{weights.sum()}' for w in weights)})"
    return kind


def ask(question: MiddleQuestion, limit: float) -> None:
    """Answer one question in this process and say on standard output what came of it."""
    import tightrope
    from tightrope.errors import TightropeError

    began = time.perf_counter()
    last = began
    silence = 0.0

    def heard(_: Any) -> None:
        nonlocal last, silence
        now = time.perf_counter()
        silence = max(silence, now - last)
        last = now

    # A solver that does not look at the clock is ended, with nothing.
    signal.setitimer(signal.ITIMER_REAL, 1.5 * limit + 5)
    asked = tightrope.query(question.query, neighbours=question.neighbours)
    facts: dict[str, Any] = {"nodes": asked.graph.size}
    try:
        consumer = tightrope.Consumer.of(
            asked.graph, prior=question.prior, loss=question.loss
        )
        best = tightrope.design(
            asked, question.epsilon, consumer, progress=heard, time_limit=limit
        )
        facts |= {"route": best.route, "gap": best.gap}
    except TightropeError as error:
        facts["why"] = f"{type(error).__name__}: {error}"[:200]
    heard(None)
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts |= {
        "seconds": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "silence": silence,
    }
    print(json.dumps(facts), flush=True)


def run(question: MiddleQuestion, limit: float) -> MiddleOutcome:
    """Answer one question in a process of its own."""
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.middle",
        "--limit",
        str(limit),
    ]
    done = subprocess.run(
        [*words, "--ask", json.dumps(asdict(question))],
        check=False,
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["ended at the limit"]
        return MiddleOutcome(question, why=f"exit {done.returncode}: {last[0][:160]}")
    return MiddleOutcome(question, **json.loads(done.stdout.splitlines()[-1]))


def summary(outcomes: Sequence[MiddleOutcome]) -> str:
    """Return one line about all of them."""
    close = [sum(outcome.gap <= gap for outcome in outcomes) for gap in (1e-2, 1e-4)]
    failed = sum(bool(outcome.why) for outcome in outcomes)
    seconds = [outcome.seconds for outcome in outcomes]
    silence = max(outcome.silence for outcome in outcomes)
    return (
        f"{len(outcomes)} questions: {close[0]} within 1 %, {close[1]} within 1e-4, {failed} "
        f"failed; median {statistics.median(seconds):.3g} s, longest {max(seconds):.3g} s, "
        f"longest silence {silence:.3g} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask a random suite of the middle.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--only", default="", help="questions that contain this text")
    parser.add_argument("--out", type=Path, help="write the outcomes into a JSON file")
    parser.add_argument("--ask", type=json.loads, help="one question as JSON")
    asked = parser.parse_args()
    if asked.ask is not None:
        ask(MiddleQuestion(**asked.ask), asked.limit)
        return
    outcomes = []
    for question in draw(asked.seed, asked.count):
        if asked.only in str(question):
            outcomes.append(run(question, asked.limit))
            print(outcomes[-1], flush=True)
    print(summary(outcomes))
    if asked.out:
        listed = [asdict(outcome) for outcome in outcomes]
        asked.out.write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
