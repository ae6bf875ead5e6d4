"""Error beside what others would add, by question and ε; and draws beside OpenDP's.

    python -m benchmarks.noise [--quick] [--alone] [--row NAME]

The error is the absolute loss of a whole answer in its worst case, without ends: that of our noise,
and that of independent two-sided geometric noise in each number at its share of ε, which is what
is done without a design. Draws are of a histogram of 6,000 people in 8 classes at ε = 1, beside
OpenDP's discrete Laplace noise on a vector with the same privacy.
"""

from __future__ import annotations

from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

#: Single draws that are timed together.
SINGLE = 500
LEVELS = ("0.1", "0.2", "0.5", "1", "2", "3")
QUESTIONS = ("sum(1000000,5)", "sum(1000000,50)", "counts(1000000,2)", "counts(1000000,3)",
             "counts(1000000,10)", "histogram(1000000,3)", "histogram(1000000,8)",
             "histogram(1000000,50)")  # fmt: skip

ROWS = (
    *(Row(question, f"`{question}`", {"question": question}, {"tightrope": 60},
          quick=question == "counts(1000000,3)") for question in QUESTIONS),
    Row("draws", "one of 20,000 draws from `histogram(6000,8)` at ε = 1", {"draws": 20_000},
        {"tightrope": 60, "opendp": 60}),
    Row("draw", "a single draw from it", {"draws": 1}, {"tightrope": 60, "opendp": 60}, quick=True),
)  # fmt: skip

COMPARISON = Comparison(
    "noise",
    "Error beside what others would add",
    "What is done without a design is independent two-sided geometric noise in each number, at its "
    "share of ε. By how many times its absolute error, over the whole answer and in the worst "
    "case, is that of [noise without ends](concepts/optimal.md#without-ends), for ε = "
    f"{', '.join(LEVELS)}; and the time to design for all six. Then draws beside OpenDP's "
    "discrete Laplace noise on a vector.",
    ROWS,
)


def _ratio(question: str, epsilon: str) -> float:
    """Return how many times our error the usual noise has."""
    import tightrope as tr
    from tightrope.epsilon import Epsilon
    from tightrope.optimize.unbounded import usual_noise

    asked = tr.query(question)
    worst = tr.Consumer.of(asked.graph, support="all", loss="absolute")
    ours = tr.design(asked, epsilon, worst, route="unbounded").expected_loss
    (theirs,) = usual_noise(asked.graph, Epsilon.of(epsilon), "absolute").values()
    return theirs / ours


def tightrope(question: str = "", draws: int = 0) -> Work:
    import tightrope as tr
    from tightrope.certify import certify
    from tightrope.channels import UnboundedNoise
    from tightrope.publish.sampler import LatticeSampler

    if question:

        def facts(ratios: list[float]) -> dict[str, Any]:
            noted = ", ".join(f"{ratio:.3f}" for ratio in ratios)
            return {
                "error ratio": dict(zip(LEVELS, ratios, strict=True)),
                "note": f"{noted} times",
            }

        return Work(lambda: [_ratio(question, level) for level in LEVELS], facts)
    asked = tr.query("histogram(6000,8)")
    sampler = LatticeSampler(
        certify(UnboundedNoise(asked.graph, 1), asked, 1), (750,) * 8
    )
    if draws > 1:
        return Work(lambda: sampler.draws(draws), per=draws)
    return Work(lambda: [sampler.draw() for _ in range(SINGLE)], per=SINGLE)


def opendp(draws: int) -> Work:
    """Make the same with OpenDP: one person who moves changes the counts by 2 in the L1 norm."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    draw, truth = dp.m.make_laplace(*space, scale=2.0), [750] * 8
    many = max(draws, SINGLE)
    return Work(lambda: [draw(truth) for _ in range(many)], per=many)


if __name__ == "__main__":
    main("benchmarks.noise")
