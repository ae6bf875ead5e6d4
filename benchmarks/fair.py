"""One day's job on a real table beside OpenDP: the error of each answer at the same ε.

    python -m benchmarks.fair [REPEATS]

Both get the same nine questions about statsmodels' table ``fair`` (6,366 women), ε = 1/9 each,
under change-one with a known number of people. OpenDP is used as its documents say: discrete
Laplace noise by the sensitivity in the L1 norm, noisy maximum for the commonest category, quantile
scores with noisy maximum for the median. Printed is the mean absolute error of a number over many
draws, computed against the true table, and in how many of them our 95 % interval held the true
number, for the number of a question where that was least; nothing is charged to any ledger.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.asking.planning import plan, read_job
from tightrope.publish.shapes import Count, Mode, Quantile, Shape, Sum, estimates
from tightrope.publish.sources import check_columns, open_source
from tightrope.publish.sql_writer import compiled

DATA = Path(__file__).resolve().parents[1] / "examples" / "data"
LEVEL = Fraction(1, 9)


def ours(frame: Any, repeats: int) -> dict[str, tuple[list[float], float]]:
    """Return the absolute errors of our answers, and the coverage of intervals, by question."""
    errors = {}
    for spec in read_job((DATA / "fair.sql").read_text(encoding="utf-8")):
        # Each by itself, as OpenDP answers it: together, tables would be planned as one job.
        job = plan([spec], epsilon=LEVEL, data=frame, facts=DATA / "fair.toml")
        ((part,),) = (question.parts for question in job.questions)
        truth = _truth(frame, part.shape)
        right = _numbers(part, truth)
        drawn = [_draw(part, truth) for _ in range(repeats)]
        mean = [
            float(np.mean(np.abs(np.subtract(_numbers(part, x), right)))) for x in drawn
        ]
        held = np.mean([_held(part, x, truth, right) for x in drawn], axis=0)
        errors[spec.name] = mean, float(np.min(held))
    return errors


def _held(
    part: Any, outputs: list[list[Any]], truth: list[list[Any]], right: list[float]
) -> Any:
    """Whether each published interval holds the true number."""
    shape, made = part.shape, part.noises
    if isinstance(shape, Mode):
        (counts,), (place,) = truth[0], outputs[0]
        return [
            max(counts) - counts[place] <= made[0].file.promised_gap(Fraction(19, 20))
        ]
    drawn: Any = tuple(tuple(map(shape.output, mine)) for mine in outputs)
    one = len(drawn) == len(drawn[0]) == 1
    answer = drawn[0][0] if one else drawn
    told = [x for (x,) in estimates(shape.reading, made, answer, "0.95").values()]
    # A mean of integers, computed in floats, may miss an end by its last digit.
    return [
        x.low - 1e-9 <= y <= x.high + 1e-9 for x, y in zip(told, right, strict=True)
    ]


def _truth(frame: Any, shape: Shape) -> list[list[Any]]:
    with open_source(frame, shape.table) as source:
        columns = shape.columns
        sql = compiled(shape, source, check_columns(source, columns))
        source.prepare(columns)
        return shape.answers(source.fetch(sql))


def _draw(part: Any, truth: list[list[Any]]) -> list[list[Any]]:
    return [
        [noise.draw(answer) for answer in answers]
        for noise, answers in zip(part.noises, truth, strict=True)
    ]


def _numbers(part: Any, outputs: list[list[Any]]) -> list[float]:
    """Return the published numbers: a category by its count's place, a mean by its quotient."""
    shape = part.shape
    if isinstance(shape, Mode):
        values = outputs[0][0]
        return [float(values if isinstance(values, int) else int(np.argmax(values)))]
    if isinstance(shape, Quantile):
        values, low = outputs[0][0], shape.bounds[0]
        if len(values) == 3:  # drawn: a quantile between both ends of its interval
            return [float(low + values[1])]
        reached = np.cumsum(values) >= sum(values) / 2
        return [float(low + int(np.argmax(reached)))]
    if isinstance(shape, Count):
        found = outputs[0][0]
        return [float(x) for x in (found if isinstance(found, tuple) else (found,))]
    offset, people = shape.draws[0].offset, shape.table.population
    sums = [x + offset for x in outputs[0]]
    if shape.kind == Sum.kind:
        return [float(x) for x in sums]
    if not shape.is_divided:
        return [float(x) / people for x in sums]
    return [
        min(max(shape.centre + x / max(n, 1), shape.bounds[0]), shape.bounds[1])
        for x, n in zip(sums, outputs[1][0], strict=False)
    ]


# -- the same with OpenDP -------------------------------------------------------------------------


def theirs(frame: Any, repeats: int) -> dict[str, list[float]]:
    """Return the absolute errors of OpenDP's answers, by question."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    level, people = float(LEVEL), len(frame)

    def noisy(counts: Sequence[int], spread: float) -> Callable[[], list[int]]:
        domain = dp.vector_domain(dp.atom_domain(T=int))
        noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=spread / level)
        return lambda: noise([int(x) for x in counts])

    def vector(counts: Sequence[int], spread: float) -> list[float]:
        draw = noisy(counts, spread)
        return [
            float(np.mean(np.abs(np.array(draw()) - np.array(counts))))
            for _ in range(repeats)
        ]

    def best(scores: Sequence[int], spread: float) -> Callable[[], int]:
        domain = dp.vector_domain(dp.atom_domain(T=int))
        pick = dp.m.make_noisy_max(
            domain, dp.linf_distance(T=int), dp.max_divergence(), scale=spread / level
        )
        return lambda: pick([int(x) for x in scores])

    educ = frame["educ"].astype(int)
    affair = frame["affairs"] > 0
    ages = np.digitize(frame["age"], [20, 30, 40])
    jobs = frame["occupation"].astype(int)
    two_way = [
        int(((frame["religious"] == r) & (affair == a)).sum())
        for r in range(1, 5)
        for a in (1, 0)
    ]
    most = best([int((jobs == j).sum()) for j in range(1, 7)], 2)
    truth = int(np.argmax([int((jobs == j).sum()) for j in range(1, 7)]))
    # How many people the two sides of a candidate differ by; one person moves that by 2.
    values = np.arange(9, 21)
    balance = [-abs(int((educ < v).sum()) - int((educ > v).sum())) for v in values]
    median = best(balance, 4)
    middle = float(np.sort(educ)[people // 2 - 1])
    found = {
        "women with an affair": vector([int(affair.sum())], 1),
        "religiousness and affairs": vector(two_way, 2),
        "age groups": vector(np.bincount(ages, minlength=4).tolist(), 2),
        "occupations": vector([int((jobs == j).sum()) for j in range(1, 7)], 2),
        "years of education, together": vector([int(educ.sum())], 11),
        "years of education, on average": [
            x / people for x in vector([int(educ.sum())], 11)
        ],
        "years of education, median": [
            abs(values[median()] - middle) for _ in range(repeats)
        ],
        "commonest occupation": [float(abs(most() - truth)) for _ in range(repeats)],
    }
    # Sums of educ - 14 by group (one person moves them by 12 together) and counts (by 2).
    groups = [educ[frame["religious"] == r] for r in range(1, 5)]
    sums = noisy([int((g - 14).sum()) for g in groups], 12 * 3 / 2)
    counts = noisy([len(g) for g in groups], 2 * 3)
    means = np.array([g.mean() for g in groups])
    found["years of education by religiousness"] = [
        float(np.mean(np.abs(14 + np.array(sums()) / np.maximum(counts(), 1) - means)))
        for _ in range(repeats)
    ]
    return found


def main() -> None:
    """Print the table of errors."""
    import statsmodels.api as sm

    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    frame = sm.datasets.fair.load_pandas().data
    results: list[Any] = []
    for run in (ours, theirs):
        started = time.perf_counter()
        results.append(run(frame, repeats))
        print(f"{run.__name__}: {time.perf_counter() - started:.1f} s", file=sys.stderr)
    print(
        "| question, ε = 1/9 | mean error here | OpenDP | OpenDP has | held by our interval |"
    )
    print("|---|---|---|---|---|")
    for name, (mine, held) in results[0].items():
        here, there = float(np.mean(mine)), float(np.mean(results[1][name]))
        more = f"{100 * (there / here - 1):+.0f} %" if here > 0 else "the same"
        print(f"| {name} | {here:.4g} | {there:.4g} | {more} | {100 * held:.1f} % |")


if __name__ == "__main__":
    main()
