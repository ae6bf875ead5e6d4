"""Optimal mechanisms against one plain linear program, in one run.

The same problem for both: answers 0 … n-1, neighbours at most 3 apart, a random prior, ε = ln 2.
``linprog`` gets the program that anybody would write down first. Times are processor seconds
of this process, so that other work on the machine does not count; the wall clock is shown too.

    python benchmarks/optimal.py              # everything, some minutes
    python benchmarks/optimal.py --quick      # small sizes, seconds
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tightrope import query
from tightrope.channels import smallest_epsilon
from tightrope.consumers import Bayesian, Consumer
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph, Band
from tightrope.optimize import Design, design

LEVEL = "ln(2)"


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    processor, wall = time.process_time(), time.perf_counter()
    found = work()
    return found, time.process_time() - processor, time.perf_counter() - wall


def random_consumer(graph: AnswerGraph, loss: str, seed: int = 0) -> Bayesian:
    prior = np.random.default_rng(seed).dirichlet(np.ones(graph.size)).tolist()
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    assert isinstance(consumer, Bayesian)
    return consumer


def plain(graph: AnswerGraph, consumer: Bayesian, alpha: float) -> tuple[float, np.ndarray]:
    """Solve the whole problem as one program for scipy, with its default tolerances."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, kron

    n = graph.size
    edges = graph.edge_array()
    i, j = np.concatenate([edges, edges[:, ::-1]]).T
    rows = np.tile(np.arange(len(i)), 2)
    values = np.concatenate([np.full(len(i), alpha), -np.ones(len(i))])
    one = coo_array((values, (rows, np.concatenate([i, j]))), (len(i), n))
    costs = consumer.prior.probabilities[:, None] * consumer.loss.matrix()
    found = linprog(
        costs.T.ravel(),
        A_ub=kron(eye_array(n), one, format="csc"),
        b_ub=np.zeros(len(i) * n),
        A_eq=hstack([eye_array(n)] * n, format="csc"),
        b_eq=np.ones(n),
        method="highs",
    )
    return float(found.fun), found.x.reshape(n, n).T


def described(found: Design) -> str:
    return f"loss {found.expected_loss:.9f}, gap {found.gap:.0e}, route {found.route}"


def against_plain(size: int, loss: str, wanted: float | None) -> None:
    graph = Band(size, 3)
    consumer = random_consumer(graph, loss)
    ours, fast, wall = timed(lambda: design(graph, LEVEL, consumer))
    (value, matrix), slow, slow_wall = timed(lambda: plain(graph, consumer, 0.5))
    print(f"{loss} loss, n = {size}")
    print(f"  tightrope  {fast:8.2f} s ({wall:.2f} s wall)  {described(ours)}")
    print(f"  linprog    {slow:8.2f} s ({slow_wall:.2f} s wall)  loss {value:.9f}")
    aim = ""
    if wanted is not None:
        aim = f"   (aim {wanted:g}: {'reached' if slow / fast >= wanted else 'MISSED'})"
    print(f"  ratio      {slow / fast:8.1f}{aim}")
    print(f"  ε read back: tightrope {read_back(ours.channel, graph)}, ", end="")
    try:
        sums = matrix.sum(axis=1, keepdims=True)
        from tightrope import Channel

        print(f"linprog {read_back(Channel(np.maximum(matrix, 0) / sums), graph)}")
    except TightropeError as refused:
        print(f"linprog {refused}")


def read_back(channel: Any, graph: AnswerGraph) -> str:
    return f"{float(smallest_epsilon(channel, graph)):.9g}"


def alone(name: str, work: Callable[[], Design]) -> None:
    found, processor, wall = timed(work)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name}\n  {processor:8.2f} s ({wall:.2f} s wall), at most {memory:.0f} MiB so far")
    print(f"  {described(found)}, certified {found.certified}")
    for baseline, loss in found.baselines.items():
        print(f"  {baseline:<12} {loss:.9f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    quick = parser.parse_args().quick
    line = Band(10_000 if quick else 100_000)
    alone(
        f"path with {line.size} answers, random prior, absolute loss",
        lambda: design(line, LEVEL, random_consumer(line, "absolute")),
    )
    counts = query("counts(4,2)" if quick else "counts(10,2)")
    for loss in ("binary", "absolute"):
        alone(
            f"{counts.text}, uniform prior, {loss} loss",
            lambda loss=loss: design(
                counts, LEVEL, Consumer.of(counts.graph, prior="uniform", loss=loss)
            ),
        )
        alone(
            f"{counts.text}, random prior, {loss} loss",
            lambda loss=loss: design(counts, LEVEL, random_consumer(counts.graph, loss)),
        )
    large = query("sum(20,5)" if quick else "sum(150,5)")
    alone(f"{large.text}, ε = 0.9, uniform prior, binary loss", lambda: design(large, 0.9))
    wide = Band(120 if quick else 500, 3)
    alone(
        f"n = {wide.size}, neighbours up to 3 apart, random prior, absolute loss",
        lambda: design(wide, LEVEL, random_consumer(wide, "absolute")),
    )
    size = 60 if quick else 160
    against_plain(size, "absolute", None if quick else 50)
    against_plain(size, "binary", None if quick else 5)


if __name__ == "__main__":
    main()
