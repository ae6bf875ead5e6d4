"""A random suite of natural questions: which are certified in time, and how fast.

python -m benchmarks.suite [--seed S] [--count N] [--limit SECONDS] [--workers W] [--only TEXT]

Each question runs in its own process and is ended at the limit of processor time. A line says
what came of it: the route, the seconds, the gap, and the longest time without a word of progress.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import ROOT, THREADS

#: Fields of ``SolverSettings`` that are moved.
Settings = Mapping[str, Any]
#: Relations between neighbours, losses and priors that questions are drawn from.
NEIGHBOURS = ("change-one", "add-remove", "either")
LOSSES = ("binary", "absolute", "squared", "distance")
PRIORS = (
    "uniform",
    "binomial",
    "poisson",
    "geometric",
    "dirichlet",
    "spiky",
    "zipf",
    "bell",
)


@dataclass(frozen=True)
class Question:
    """One natural question.

    Parameters
    ----------
    query
        Its text, or ``random(n,k,seed)`` for a random graph: 3-regular for k = 3, else a tree
        with k chords for each ten nodes.
    prior
        The kind of prior, its parameter and, where it is drawn, its seed.
    kind
        ``one`` consumer; ``averse``: a risk-averse one; ``many`` of them; under a ``limit``.
    """

    query: str
    neighbours: str
    prior: tuple[str, float, int]
    loss: str
    epsilon: str
    kind: str = "one"

    def __str__(self) -> str:
        prior, parameter, _ = self.prior
        kind = "" if self.kind == "one" else f" {self.kind}"
        known = f"{prior}({parameter:g})"
        return (
            f"{self.query} {self.neighbours} {known} {self.loss} ε={self.epsilon}{kind}"
        )


def draw(seed: int, count: int, most: int = 400, kind: str = "one") -> list[Question]:
    """Return so many random questions with at most so many answers; no two are alike."""
    rng = np.random.default_rng(seed)
    found: dict[Question, None] = {}
    while len(found) < count:
        one = replace(_drawn(rng), kind=kind)
        if size_of(one) <= most and one.loss in _losses(one):
            found[one] = None
    return list(found)


def _drawn(rng: np.random.Generator) -> Question:
    draws = {
        "sum": 8, "count": 2, "counts": 3, "histogram": 3, "cycle": 2, "count_mod": 1,
        "median": 2, "mean": 2, "star": 1, "choice": 1, "random": 1,
    }  # fmt: skip
    family = rng.choice(
        list(draws), p=np.array(list(draws.values())) / sum(draws.values())
    )
    level = np.exp(rng.uniform(np.log(0.05), np.log(5)))
    kind = str(rng.choice(PRIORS))
    parameter = {
        "binomial": rng.choice([0.05, 0.3, 0.4, 0.5, 0.9]),
        "poisson": rng.choice([1, 3, 8, 20]),
        "geometric": rng.choice([0.02, 0.1, 0.5]),
        "dirichlet": rng.choice([0.3, 1, 5]),
        "spiky": rng.choice([0.5, 0.9, 0.99]),
        "zipf": rng.choice([0.5, 1, 2]),
        "bell": rng.choice([0.05, 0.1, 0.2]),
    }.get(kind, 0)
    return Question(
        _query(str(family), rng),
        str(rng.choice(NEIGHBOURS, p=[0.6, 0.2, 0.2])),
        (kind, float(parameter), int(rng.integers(2**31))),
        str(rng.choice(LOSSES)),
        str(
            rng.choice(
                ["ln(2)", "1", "0.5", f"{level:.3g}", f"{level:.3g}", f"{level:.3g}"]
            )
        ),
    )


def _query(family: str, rng: np.random.Generator) -> str:
    def between(low: int, high: int) -> int:
        """Draw a size: half of them on a logarithmic scale, half evenly."""
        if rng.random() < 0.5:
            return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
        return int(rng.integers(low, high + 1))

    if family in ("sum", "mean"):
        v = between(2, 10)
        return f"{family}({max(2, between(6, 399) // v)},{v})"
    if family == "counts":
        return (
            f"counts({between(2, 16)},2)"
            if rng.random() < 0.8
            else f"counts({between(2, 6)},3)"
        )
    if family == "histogram":
        few = rng.random() < 0.8
        return (
            f"histogram({between(3, 21)},3)" if few else f"histogram({between(2, 9)},4)"
        )
    if family == "median":
        return f"median({between(2, 15)},{between(3, 60)})"
    if family == "count_mod":
        m = between(3, 60)
        return f"count_mod({m + between(1, 40)},{m})"
    if family == "random":
        n, k = 2 * between(4, 40), int(rng.choice([1, 3, 5]))
        return f"random({n},{k},{int(rng.integers(1000))})"
    return f"{family}({between(3, {'star': 60, 'choice': 80, 'cycle': 200}.get(family, 390))})"


def graph_of(question: Question) -> Any:
    """Return the answer graph."""
    import tightrope

    if not question.query.startswith("random("):
        return tightrope.query(question.query, neighbours=question.neighbours).graph
    import networkx

    n, k, seed = (int(part) for part in question.query[7:-1].split(","))
    if k == 3:
        listed = networkx.random_regular_graph(3, n, seed=seed).edges
        return tightrope.AnswerGraph.of(sorted((min(e), max(e)) for e in listed))
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(i)), i) for i in range(1, n)}
    chords = rng.integers(n, size=(k * n // 10, 2)).tolist()
    return tightrope.AnswerGraph.of(
        sorted(edges | {(min(e), max(e)) for e in chords if e[0] != e[1]})
    )


def size_of(question: Question) -> int:
    """Return the number of answers."""
    if question.query.startswith("random("):
        return int(question.query[7:].split(",")[0])
    return int(graph_of(question).size)


def _losses(question: Question) -> tuple[str, ...]:
    """Return the losses that suit the question: distances of numbers need answers with an order."""
    family = question.query.split("(")[0]
    unordered = family in ("choice", "star", "random", "cycle", "count_mod")
    return ("binary", "distance") if unordered else LOSSES


def prior_of(question: Question, graph: Any) -> NDArray[np.float64]:
    """Return the probabilities of a question's prior."""
    from tightrope import Prior

    kind, parameter, seed = question.prior
    n, rng = graph.size, np.random.default_rng(seed)
    if kind in ("uniform", "binomial", "poisson", "geometric"):
        made = getattr(Prior, kind)
        return np.asarray(
            (made(n) if kind == "uniform" else made(n, parameter)).probabilities
        )
    if kind == "dirichlet":
        weights = rng.dirichlet(np.full(n, parameter))
    elif kind == "spiky":
        weights = np.full(n, (1 - parameter) / n)
        peaks = rng.choice(n, size=min(n, 1 + int(rng.integers(3))), replace=False)
        weights[peaks] += parameter / len(peaks)
    elif kind == "zipf":
        weights = np.arange(1, n + 1, dtype=float) ** -parameter
    else:
        far = np.asarray(graph.distances_from(int(rng.integers(n))), dtype=float)
        weights = np.exp(-((far / max(parameter * n, 1)) ** 2) / 2)
    return np.asarray(weights / weights.sum(), dtype=float)


@dataclass(frozen=True)
class Outcome:
    """What came of a question: ``certified``, ``uncertified``, ``over`` the limit, ``failed``."""

    question: Question
    nodes: int
    status: str
    route: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    gap: float = 1.0
    silence: float = 0.0
    why: str = ""
    read: tuple[str, ...] = ()

    def __str__(self) -> str:
        taken = f"{self.seconds:7.2f} s  processor {self.cpu:6.2f} s"
        said = f"{self.status:<11} {taken}  gap {self.gap:7.1e}"
        return f"{said}  silent {self.silence:4.1f} s  {self.route:<9} {self.question} {self.why}"


def ask(
    question: Question, limit: float, variants: Sequence[Settings], rows: bool = False
) -> None:
    """Answer one question with several settings; say on standard output how far each is.

    Each answer has a process of its own, forked from this one once everything is loaded. Settings
    that move only fields which the first answer never read get its outcome: nothing would differ.
    """
    import tightrope
    from tightrope.consumers import Consumer
    from tightrope.graphs import Cycle
    from tightrope.optimize import SolverSettings

    work = _work(question, graph_of(question))
    # What is compiled once, or loaded when it is first used, is no part of the time.
    few = Consumer.of(Cycle(4), prior=[0.4, 0.3, 0.2, 0.1])
    for wait in (0, 1):
        known = SolverSettings(interior_wait=wait)
        tightrope.design("cycle(4)", 1, few, "rays", settings=known)
    read = {one.name for one in fields(SolverSettings)}
    for number, settings in enumerate(variants):
        same = number > 0 and not read & settings.keys()
        print(json.dumps({"variant": number, "same": same}), flush=True)
        if same:
            continue
        answers, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(told, 1)
            _answer(work, limit, settings, rows)
            os._exit(0)
        os.close(told)
        with open(answers) as lines:
            for line in lines:
                print(line, end="", flush=True)
                read = set(json.loads(line).get("read", read)) if number == 0 else read
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"status": status}), flush=True)


def _answer(
    work: Callable[..., Any], limit: float, settings: Settings, rows: bool
) -> None:
    """Answer the question in this process, which ends at the limit."""
    from tightrope.optimize import SolverSettings

    read: set[str] = set()

    class Watched(SolverSettings):
        def __getattribute__(self, name: str) -> Any:
            read.add(name)
            return super().__getattribute__(name)

    def say(**facts: Any) -> None:
        print(json.dumps(facts), flush=True)

    def told(now: Any) -> None:
        say(at=time.perf_counter() - clock, gap=now.gap)
        if rows:
            print(f"{time.perf_counter() - clock:7.2f} s  {now}", file=sys.stderr)

    clock, processor = time.perf_counter(), time.process_time()
    say(at=0.0, gap=1.0)
    # The default action of the signal ends the process, even inside a solver. Seconds are those
    # of processors, so that a busy machine changes little; one that waits for ever ends too.
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, 20 * limit)
    try:
        watched = Watched(**settings)
        read.clear()  # of what its own checks have read
        found = work(progress=told, settings=watched)
    except Exception as error:
        say(why=f"{type(error).__name__}: {error}"[:200])
        return
    seconds, cpu = time.perf_counter() - clock, time.process_time() - processor
    told(found)
    last = {"route": found.route, "gap": found.gap, "certified": found.certified}
    say(seconds=seconds, cpu=cpu, read=sorted(read), **last)


def _work(question: Question, graph: Any) -> Callable[..., Any]:
    """Return the call that answers the question."""
    import tightrope
    from tightrope.consumers import Consumer, loss as read_loss
    from tightrope.optimize import design_limited, design_many

    level = question.epsilon
    prior = prior_of(question, graph)
    if question.kind == "averse":
        support = list(range(-(-2 * graph.size // 3)))
        consumer = Consumer(support=support, loss=read_loss(question.loss, graph))
        return functools.partial(tightrope.design, graph, level, consumer)
    consumer = Consumer.of(graph, prior=prior, loss=question.loss)
    if question.kind == "many":
        rng = np.random.default_rng(question.prior[2])
        drawn = [rng.dirichlet(np.ones(graph.size)) for _ in range(4)]
        others = [Consumer.of(graph, prior=one, loss=question.loss) for one in drawn]
        return functools.partial(design_many, graph, level, [consumer, *others])
    if question.kind == "limit":
        limit = float(prior.max() + 0.1 * (1 - prior.max()))
        return functools.partial(
            design_limited, graph, consumer, epsilon=level, max_vulnerability=limit
        )
    return functools.partial(tightrope.design, graph, level, consumer)


def run(
    question: Question, limit: float, variants: Sequence[Settings]
) -> list[Outcome]:
    """Answer one question with each of the settings."""
    words = [sys.executable, "-W", "ignore", "-m", "benchmarks.suite", "--limit", str(limit),
             "--ask", json.dumps(asdict(question)), "--settings", json.dumps(variants)]  # fmt: skip
    done = subprocess.run(
        words,
        check=False,
        cwd=ROOT,
        env={**os.environ, **THREADS},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    lines: list[list[dict[str, Any]]] = []
    for line in map(json.loads, done.stdout.splitlines()):
        if "variant" in line:
            lines.append(lines[0] if line["same"] else [])
        else:
            lines[-1].append(line)
    return [_outcome(question, limit, said) for said in lines]


def _outcome(question: Question, limit: float, lines: list[dict[str, Any]]) -> Outcome:
    """Read what an answer said on its way."""
    *told, status = lines
    known = {key: value for line in told for key, value in line.items()}
    times = [line["at"] for line in told if "at" in line]
    nodes, gap = (
        size_of(question),
        min((line["gap"] for line in told if "gap" in line), default=1),
    )
    if "seconds" in known:
        ended = "certified" if known["certified"] else "uncertified"
        silence = float(np.diff(times).max())
        return Outcome(
            question, nodes, ended, known["route"], known["seconds"], known["cpu"], known["gap"],
            silence, read=tuple(known["read"]),
        )  # fmt: skip
    if status["status"] in (-signal.SIGPROF, -signal.SIGALRM):
        silence = float(np.diff([*times, limit]).max())
        return Outcome(question, nodes, "over", "", limit, limit, gap, silence)
    return Outcome(question, nodes, "failed", why=known.get("why", str(status)))


def run_all(
    questions: Iterable[Question],
    limit: float,
    workers: int,
    variants: Sequence[Settings],
) -> Iterator[list[Outcome]]:
    """Answer questions with each of the settings, so many at a time, in their order."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda one: run(one, limit, variants), questions)


def summary(outcomes: list[Outcome]) -> str:
    """Return one line about all of them."""
    by = {kind: sum(one.status == kind for one in outcomes)
          for kind in ("certified", "uncertified", "over", "failed")}  # fmt: skip
    seconds = [one.seconds for one in outcomes]
    counted = ", ".join(f"{number} {kind}" for kind, number in by.items())
    silence = max(one.silence for one in outcomes)
    return (
        f"{len(outcomes)} questions: {counted}; median {statistics.median(seconds):.3g} s, "
        f"total {sum(seconds):.4g} s, processor {sum(one.cpu for one in outcomes):.4g} s, "
        f"longest silence {silence:.3g} s"
    )


def options(description: str) -> argparse.ArgumentParser:
    """Return the options that the suite and the ablation share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--limit", type=float, default=30.0, help="processor seconds for each"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--out", type=Path, help="write the outcomes into this JSON file"
    )
    return parser


def main() -> None:
    parser = options("Ask a random suite of natural questions.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--most", type=int, default=400, help="answers at most")
    parser.add_argument(
        "--kind", default="one", choices=("one", "averse", "many", "limit")
    )
    parser.add_argument(
        "--only", default="", help="questions whose line contains this text"
    )
    parser.add_argument(
        "--settings",
        type=json.loads,
        default=[{}],
        help="JSON list of fields; --ask takes many",
    )
    parser.add_argument(
        "--ask", type=json.loads, help="one question as JSON, in this process"
    )
    parser.add_argument(
        "--rounds", action="store_true", help="with --ask: print every round"
    )
    asked = parser.parse_args()
    if asked.ask is not None:
        given = {**asked.ask, "prior": tuple(asked.ask["prior"])}
        ask(Question(**given), asked.limit, asked.settings, asked.rounds)
        return
    drawn = draw(asked.seed, asked.count, asked.most, asked.kind)
    questions = [one for one in drawn if asked.only in str(one)]
    outcomes = []
    answered = run_all(questions, asked.limit, asked.workers, asked.settings[:1])
    for number, (one,) in enumerate(answered):
        print(f"{number + 1:4} {one}", flush=True)
        outcomes.append(one)
    print(summary(outcomes))
    for one in outcomes:
        if one.status != "certified":
            print(f"  {one.status}: python -m benchmarks.suite --ask "
                  f"'{json.dumps(asdict(one.question), ensure_ascii=False)}'")  # fmt: skip
    if asked.out:
        asked.out.write_text(
            json.dumps([asdict(one) for one in outcomes], indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
