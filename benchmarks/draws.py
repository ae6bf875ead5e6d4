"""Draws from a count: one at a time and 100,000 at once, against OpenDP and diffprivlib.

    python -m benchmarks.draws [--quick] [--alone] [--row NAME]

All draw from the same question: a count of 100 people, ε = 1, true answer 50, answers kept in
0 … 100.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

PEOPLE, TRUTH = 100, 50
FIXED = (
    "draws noise for one number; takes no mechanism of one's own that it has checked"
)

ROWS = (
    Row("single", "one draw", {"bulk": False},
        {"tightrope": 60, "opendp": 60, "diffprivlib": 60, "qif": 60},
        quick=True),
    Row("bulk", "one draw of 100,000 asked for at once", {"bulk": True},
        {"tightrope": 60, "opendp": 60, "diffprivlib": 60, "qif": 60},
        quick=True),
    Row("optimal", "one draw from the optimal mechanism for sum(20,3), binomial prior",
        {"bulk": False, "optimal": True},
        {"tightrope": 60, "opendp": FIXED, "diffprivlib": FIXED}),
)  # fmt: skip

COMPARISON = Comparison(
    "draws",
    "Draws",
    "A count of 100 people, ε = 1, true answer 50, answers kept in 0 … 100: OpenDP's "
    "`make_geometric` with bounds, diffprivlib's `GeometricTruncated`, `sample` of qif from a "
    "matrix of floats. Only Tightrope has a call for many draws; the bulk of the others is as "
    "many single ones. ρ is the rank correlation of a draw's time with its output, and with the "
    "size of its noise: what a stopwatch tells.",
    ROWS,
    by="wall",
)


def _correlations(draw: Callable[[], Any], draws: int) -> dict[str, Any]:
    """Time single draws and rank the times against outputs and noise."""
    if not draws:
        return {}
    import numpy as np
    from scipy.stats import rankdata

    times, outputs = np.empty(draws), np.empty(draws)
    for k in range(draws):
        start = time.perf_counter_ns()
        drawn = draw()
        times[k] = time.perf_counter_ns() - start
        outputs[k] = drawn
    rho = [abs(float(np.corrcoef(rankdata(x), rankdata(times))[0, 1]))
           for x in (outputs, np.abs(outputs - TRUTH))]  # fmt: skip
    return {
        "rho_output": rho[0],
        "rho_noise": rho[1],
        "note": f"|ρ| {rho[0]:.4f} with the output, {rho[1]:.4f} with the noise",
    }


def _loop(draw: Callable[[], Any], count: int, sampled: int) -> Work:
    def many() -> None:
        for _ in range(count):
            draw()

    return Work(many, lambda _: _correlations(draw, sampled), per=count)


def tightrope(bulk: bool, optimal: bool = False) -> Work:
    import tightrope as tr
    from tightrope.certify import certify
    from tightrope.channels import GeometricChannel
    from tightrope.publish import Sampler

    if optimal:
        graph = tr.query("sum(20,3)").graph
        consumer = tr.Consumer.of(graph, prior="binomial(.3)", loss="binary")
        sampler = Sampler(
            tr.prove(tr.design(graph, epsilon="ln(2)", consumer=consumer)), TRUTH
        )
    else:
        size = PEOPLE + 1
        made = certify(GeometricChannel(size, "1"), f"count({PEOPLE})", "1")
        sampler = Sampler(made, TRUTH)
    if bulk:
        many = 100_000
        return Work(lambda: sampler.draw_indices(many), per=many)
    return _loop(sampler.draw_index, 10_000, 100_000)


def opendp(bulk: bool) -> Work:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    draw = dp.m.make_geometric(*space, scale=1.0, bounds=(0, PEOPLE))
    return _loop(lambda: draw(TRUTH), 500, 0 if bulk else 10_000)


def diffprivlib(bulk: bool) -> Work:
    from diffprivlib.mechanisms import GeometricTruncated

    noise = GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=PEOPLE)
    return _loop(lambda: noise.randomise(TRUTH), 2_000, 0 if bulk else 20_000)


def qif(bulk: bool) -> Work:
    import numpy as np
    from qif import channel

    from benchmarks.problems import truncated_geometric

    matrix, truth = truncated_geometric(PEOPLE + 1, 1.0), np.eye(PEOPLE + 1)[TRUTH]
    return _loop(lambda: channel.sample(matrix, truth)[1], 2_000, 0 if bulk else 20_000)


if __name__ == "__main__":
    main("benchmarks.draws")
