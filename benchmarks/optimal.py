"""Optimal mechanisms, and one plain linear program for the same problem, in one run.

    python benchmarks/optimal.py                      # the table, some minutes
    python benchmarks/optimal.py --row binary-160     # one row; may be repeated
    python benchmarks/optimal.py --quick              # small sizes, seconds
    python benchmarks/optimal.py --alone              # without linprog

Rows with a peer: answers 0 … n-1, neighbours at most 3 apart, a random prior, ε = ln 2.
``linprog`` gets the program that anybody would write down first, and at most ``--limit`` seconds.
Where it does not finish, its time is shown as "> limit" and the ratio is a lower bound.

Every measurement has a process of its own, so memory is the peak of that row alone. The first
time is processor seconds, so that other work on the machine does not count, the second the wall
clock; the ratio is one of processor seconds. Losses are compared, each answer is read back for
the least ε that it keeps, and ours is rounded to integers, proved and verified.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tightrope import Channel
from tightrope.certify import verify
from tightrope.channels import smallest_epsilon
from tightrope.consumers import Bayesian, Consumer
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph, Band
from tightrope.optimize import design
from tightrope.optimize.planner import graph_of
from tightrope.proofs import prove

LEVEL = "ln(2)"
ALPHA = 0.5
#: The wall clock may run this many times the limit before a process is ended.
PATIENCE = 6
#: Seconds that a process may take before its work begins: no part of a lower bound.
START = 3.0


@dataclass(frozen=True)
class Row:
    """One problem: a band of some width or a query, and what is asked of it."""

    name: str
    question: tuple[int, int] | str
    loss: str
    prior: str = "random"
    peer: bool = False
    aim: float | None = None

    @property
    def graph(self) -> AnswerGraph:
        """The answer graph."""
        if isinstance(self.question, str):
            return graph_of(self.question)
        return Band(*self.question)

    @property
    def consumer(self) -> Bayesian:
        """The reader of the answers."""
        graph = self.graph
        prior: Any = self.prior
        if prior == "random":
            prior = np.random.default_rng(0).dirichlet(np.ones(graph.size)).tolist()
        consumer = Consumer.of(graph, prior=prior, loss=self.loss)
        assert isinstance(consumer, Bayesian)
        return consumer


FULL = (
    Row("absolute-160", (160, 3), "absolute", peer=True, aim=50),
    Row("binary-160", (160, 3), "binary", peer=True, aim=5),
    Row("absolute-500", (500, 3), "absolute"),
    Row("counts-uniform", "counts(10,2)", "binary", prior="uniform"),
    Row("counts-random", "counts(10,2)", "binary"),
    Row("counts-uniform-absolute", "counts(10,2)", "absolute", prior="uniform"),
    Row("counts-random-absolute", "counts(10,2)", "absolute"),
    Row("path-100000", (100_000, 1), "absolute"),
)
QUICK = (
    Row("absolute-40", (40, 3), "absolute", peer=True),
    Row("binary-40", (40, 3), "binary", peer=True),
    Row("absolute-120", (120, 3), "absolute"),
    Row("small-counts-uniform", "counts(4,2)", "binary", prior="uniform"),
    Row("small-counts-random", "counts(4,2)", "binary"),
    Row("path-10000", (10_000, 1), "absolute"),
)


@dataclass(frozen=True)
class Times:
    """Seconds of the processor, and of the clock on the wall."""

    processor: float
    wall: float


@dataclass(frozen=True)
class Measured:
    """What came of a row, with words on its answer; without words it did not finish."""

    times: Times
    memory: float = 0.0
    loss: float = 0.0
    words: tuple[str, ...] = ()


def timed(work: Callable[[], Any]) -> tuple[Any, Times]:
    processor, wall = time.process_time(), time.perf_counter()
    found = work()
    return found, Times(time.process_time() - processor, time.perf_counter() - wall)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ours(row: Row) -> Measured:
    graph, consumer = row.graph, row.consumer
    found, times = timed(lambda: design(graph, LEVEL, consumer))
    memory = peak()
    words = [
        f"route {found.route}, loss {found.expected_loss:.9f}, gap {found.gap:.0e}, "
        f"certified {found.certified}"
    ]
    words += [f"{name} noise: loss {loss:.9f}" for name, loss in found.baselines.items()]
    if row.peer:
        words.append(f"read back: {read_back(found.channel, graph)}")
        verdict, proving = timed(lambda: verify(prove(found)))
        within = verdict.optimal_within
        words.append(
            f"in integers: private {verdict.private}, optimal within "
            f"{'?' if within is None else format(float(within), '.1e')} ({proving.processor:.1f} s)"
        )
    return Measured(times, memory, found.expected_loss, tuple(words))


def plain(row: Row) -> Measured:
    """Solve the whole problem as one program for scipy, with its default tolerances."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, kron

    graph, consumer = row.graph, row.consumer

    def work() -> Any:
        n = graph.size
        edges = graph.edge_array()
        i, j = np.concatenate([edges, edges[:, ::-1]]).T
        rows = np.tile(np.arange(len(i)), 2)
        values = np.concatenate([np.full(len(i), ALPHA), -np.ones(len(i))])
        one = coo_array((values, (rows, np.concatenate([i, j]))), (len(i), n))
        costs = consumer.prior.probabilities[:, None] * consumer.loss.matrix()
        return linprog(
            costs.T.ravel(),
            A_ub=kron(eye_array(n), one, format="csc"),
            b_ub=np.zeros(len(i) * n),
            A_eq=hstack([eye_array(n)] * n, format="csc"),
            b_eq=np.ones(n),
            method="highs",
        )

    found, times = timed(work)
    if found.status != 0:
        return Measured(times, peak(), float("nan"), (found.message.strip(),))
    matrix = found.x.reshape(graph.size, graph.size).T
    words = (f"loss {found.fun:.9f}", f"read back: {as_channel(matrix, graph)}")
    return Measured(times, peak(), float(found.fun), words)


def as_channel(matrix: np.ndarray, graph: AnswerGraph) -> str:
    """Read a solver's matrix back, negative entries as 0 and rows divided by their sums."""
    matrix = np.maximum(matrix, 0)
    try:
        return read_back(Channel(matrix / matrix.sum(axis=1, keepdims=True)), graph)
    except TightropeError as refused:
        return str(refused)


def read_back(channel: Channel, graph: AnswerGraph) -> str:
    least = float(smallest_epsilon(channel, graph))
    over = least - float(-np.log(ALPHA))
    verdict = "kept up to rounding" if over <= 1e-12 else f"NOT kept, {over:.1e} above"
    return f"least ε {least:.12g}, ln 2 {verdict}"


def child(way: Connection, work: Callable[[Row], Measured], row: Row, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    way.send(work(row))


def apart(work: Callable[[Row], Measured], row: Row, limit: int) -> Measured:
    """Run the work in a process of its own that ends when its time is spent."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(there, work, row, limit))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    process.start()
    there.close()
    found: Measured | None = None
    try:
        if here.poll(PATIENCE * limit):
            found = here.recv()
    except EOFError:
        pass
    if found is None:
        process.kill()
    process.join()
    if found is not None:
        return found
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    clock = time.perf_counter() - wall
    return Measured(Times(max(spent - START, 0.0), max(clock - START, 0.0)))


def shown(found: Measured) -> str:
    over = "" if found.words else "> "
    return f"{over}{found.times.processor:.2f} s ({over}{found.times.wall:.2f} s)"


def report(row: Row, limit: int, alone: bool) -> None:
    mine = apart(ours, row, limit)
    line = f"{row.name:<24}{shown(mine):>22}{mine.memory:>7.0f} MiB"
    if alone or not row.peer:
        print(line)
        peer = None
    else:
        peer = apart(plain, row, limit)
        ratio = peer.times.processor / mine.times.processor
        over = "" if peer.words else "> "
        aim = ""
        if row.aim is not None:
            missed = "missed" if peer.words else "open"
            aim = f" (aim {row.aim:g}: {'reached' if ratio >= row.aim else missed})"
        print(f"{line}{shown(peer):>26}  {over}{ratio:.1f}{aim}")
    for word in mine.words or ("did not finish",):
        print(f"    {word}")
    for word in () if peer is None else peer.words or (f"stopped after {limit} s",):
        print(f"    linprog: {word}")
    if peer is not None and peer.words and mine.words:
        print(f"    losses differ by {abs(peer.loss - mine.loss):.1e}")


def main() -> None:
    names = {row.name: row for row in (*FULL, *QUICK)}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--row", action="append", choices=names, help="this row only")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parser.add_argument("--limit", type=int, default=900, help="seconds for each process")
    asked = parser.parse_args()
    rows = [names[name] for name in asked.row or ()] or (QUICK if asked.quick else FULL)
    print(f"{'':<24}{'tightrope (wall)':>22}{'peak':>11}{'linprog (wall)':>26}  ratio", flush=True)
    for row in rows:
        report(row, asked.limit, asked.alone)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
