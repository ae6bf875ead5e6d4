"""Forty standard jobs beside the least error that is possible: `make bench ARGS="--only floor"`.

    python -m benchmarks.floor

Each row has the floor with the theorem that proves it, the error of what ``ask`` would publish, and
that of other libraries' noise at the same ε. All are laws: nothing is drawn, and no row of a table
is read. A second table has jobs on which others were more exact once. Both are written into
docs/floor.md.
"""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import floor_bounds, floor_peers
from benchmarks.harness import ROOT

PAGE = ROOT / "docs" / "floor.md"
RESULTS = ROOT / "benchmarks" / "floor.json"
MARK = "<!-- below: written by python -m benchmarks.floor -->\n"
#: A row above this many floors says why.
CLOSE = 1.1
#: Where others were more exact once, ours is at most this many times what is reachable.
REACHED = 1.05

PEOPLE = 10_000
#: Bounds of the column that is added up and averaged: 0 and this.
WIDTH = 100
#: How far a mean is from the bounds: at a bound the table has an end.
INSIDE = 1
VALUES = 1_500
DELTA = Fraction(1, 10**6)
AR, CO = "add-remove", "change-one"

FACTS = """
[tables.t]
population = {people}
neighbours = "{relation}"
budget = "100"
{extra}
[tables.t.columns]
p = {{ type = "text" }}
f = {{ type = "text" }}
a = {{ values = [0, 1], complete = true }}
b = {{ values = [0, 1], complete = true }}
g = {{ values = [1, 2, 3, 4, 5, 6, 7, 8], complete = true }}
h = {{ values = [1, 2, 3, 4], complete = true }}
k = {{ values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], complete = true }}
x = {{ bounds = [0, {width}], complete = true }}
v = {{ bounds = [1, {values}], complete = true }}
"""

#: What a floor is proved by.
THEOREMS = {
    "lattice": "least loss of noise on a lattice (`certify/theorems/unbounded.py`, theorem 3)",
    "sizes": "sizes of level sets, Brunn and Minkowski (`benchmarks/floor_bounds.py`, *Sizes*)",
    "window": "multipliers on a window, checked in fractions (*Window*, the same file)",
    "coarser": "window at m·ε for answers rounded to multiples of m (*Coarser*, the same file)",
    "job": "floor of a whole job (`tables/floors.py`)",
    "shown": "chance of being shown (`certify/theorems/shown.py`)",
    "packing": "packing of tables (`benchmarks/floor_bounds.py`, *Packing*)",
}

#: Why rows are more than `CLOSE` times their floor, by kind of job.
ABOVE = {
    "median": "the floor is loose: it packs tables s people apart whose medians are s/2 ranks off, "
    "so that chances may fall by e^2ε a rank; scores move apart by two ranks a change, so that "
    "permute-and-flip, which draws ours and OpenDP's, uses e^ε/2 a rank under change-one. On these "
    "tables the interval that ours draws with the value costs nothing",
    "groups nobody declared": "the floor is loose: it looks at one group, which may have all of ε; "
    "who changes leaves one group and enters another, and ours gives each half of ε. No bound for "
    "all pairs of groups at once is known to us",
    "mean": "the noise is improvable: under add-remove a sum and a count are drawn in units of "
    "half the width of the bounds, and at a large ε rounding to them is most of the error",
}


@dataclass(frozen=True)
class Job:
    """One row: a question, how its error is measured, and who has which error.

    Attributes
    ----------
    kind, words, measure
        What it is about, the question, and the error that is compared.
    relation, epsilon
        Who is a neighbour, and the privacy level.
    selects
        The SQL that ``ask`` gets.
    floor
        The floor and the theorem behind it.
    ours
        The error of a plan of ``ask``.
    others
        The errors of other libraries.
    extra
        More facts about the table.
    options
        More options of ``ask``.
    """

    kind: str
    words: str
    measure: str
    relation: str
    epsilon: str
    selects: tuple[str, ...]
    floor: Callable[[Job], tuple[float, str]]
    ours: Callable[[Job, Any], float]
    others: Callable[[Job], Mapping[str, float]]
    extra: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def level(self) -> float:
        """The privacy level as a number."""
        return float(self.epsilon)

    def plan(self) -> Any:
        """Return what ``ask`` would publish; nothing is read and nothing is paid."""
        from tightrope.asking.planning import plan

        text = FACTS.format(
            people=PEOPLE, relation=self.relation, extra=self.extra, width=WIDTH, values=VALUES
        )  # fmt: skip
        chosen: dict[str, Any] = {"epsilon": self.epsilon, **self.options}
        if "levels" in chosen:
            del chosen["epsilon"]
        with tempfile.TemporaryDirectory() as folder:
            facts = Path(folder) / "facts.toml"
            facts.write_text(text, encoding="utf-8")
            made = plan(
                self.selects,
                facts=facts,
                ledger=Path(folder) / "l.db",
                **chosen,
            )
        return made

    def row(self) -> dict[str, Any]:
        """Return what the results hold."""
        least, theorem = self.floor(self)
        return {
            "kind": self.kind,
            "job": self.words,
            "measure": self.measure,
            "relation": self.relation,
            "epsilon": self.epsilon,
            "floor": least,
            "theorem": theorem,
            "ours": self.ours(self, self.plan()),
            "others": dict(self.others(self)),
        }


# -- ours ---------------------------------------------------------------------------------


def last_noise(made: Any) -> Any:
    """Return the noise of the last draw of a plan with one question, or of its last level."""
    return made.questions[-1].parts[0].noises[-1]


def lattice_error(loss: str, numbers: int = 1) -> Callable[[Job, Any], float]:
    """Return the error of each of some numbers: absolute, or the root of the mean square."""

    def error(job: Job, made: Any) -> float:
        whole = float(last_noise(made).file.noise.worst(loss)) / numbers
        return whole if loss == "absolute" else math.sqrt(whole)

    return error


def margins_error(job: Job, made: Any) -> float:
    """Return the root mean square over the three tables of a plan."""
    from tightrope.tables import plan

    best = plan(_margins(job.relation), job.epsilon)
    shape = made.questions[0].parts[0].shape
    assert shape.shares == tuple(table.share for table in best.measured)
    return float(best.error)


def _margins(relation: str) -> Any:
    from tightrope.tables import Job as TableJob

    return TableJob.of({"a": 2, "b": 2}, [["a"], ["b"], ["a", "b"]], relation)


def mean_error(job: Job, made: Any) -> float:
    """Return the error of a mean next to a bound, where it is largest.

    A pair of a sum and a count is in units of half the width of the bounds, and the sum is rounded
    to a whole unit: half a unit off in the worst case.
    """
    noise = last_noise(made)
    if noise.pair_law is None:
        return float(noise.file.noise.worst("absolute")) / PEOPLE
    half = WIDTH / 2
    return half * pair_error(noise.pair_law.masses, 1 - INSIDE / half, 0.5) / PEOPLE


def pair_error(masses: Any, factor: float, rounded: float) -> float:
    r"""Return :math:`E|z_1 - f z_2 + r|` for noise that falls with the larger one of both.

    >>> round(pair_error(np.array([0.2, 0.1]), 1.0, 0.0), 6)
    0.8
    """
    total = 0.0
    for t, mass in enumerate(masses):
        side = np.arange(-t, t + 1, dtype=float)
        inner = side[1:-1]
        # The upper and the lower side of a square, and what is left of the other two.
        far = [side - factor * t, side + factor * t]
        far += [sign * t - factor * inner for sign in (-1, 1)]
        points = np.concatenate(far) if t else np.zeros(1)
        total += float(mass) * float(np.abs(points + rounded).sum())
    return total


def shown_from(job: Job, made: Any) -> float:
    """Return the least count that is shown at least as likely as not."""
    return float(last_noise(made).even_size)


def median_error(job: Job, made: Any) -> float:
    """Return the mean rank error on the worst of the tables behind the floor."""
    bracket = last_noise(made).file
    people = np.unique(np.geomspace(1, PEOPLE // 2, 60).astype(int))
    errors = [bracket_error(bracket, int(s)) for s in people]
    best = int(np.argmax(errors))
    near = people[max(best - 1, 0)], people[min(best + 1, len(people) - 1)]
    between = np.unique(np.linspace(*near, 12).astype(int))
    return max(bracket_error(bracket, int(s)) for s in between)


def bracket_error(bracket: Any, people: int) -> float:
    """Return the mean rank error of a median where so many people have one value in the middle.

    The others have the least or the largest value.
    """
    counts = [0] * bracket.values
    rest = PEOPLE - people
    counts[0] = rest // 2
    counts[bracket.values // 2] += people
    counts[-1] += rest - rest // 2
    return drawn_error(bracket, counts)


def drawn_error(bracket: Any, counts: Sequence[int]) -> float:
    """Return the mean rank error of a quantile that is drawn with its interval, in people.

    The value is drawn by permute-and-flip: see `accepted_chances`.
    """
    weights = bracket.gap_weights(counts)
    steps = bracket.value_steps(counts)
    shares = np.array([weight / weights[0] for weight in weights])
    gaps = bracket.gaps(counts)[1].astype(float)
    chances = accepted_chances(shares[steps])
    return float(chances @ gaps / chances.sum()) / int(bracket.question.denominator)


# -- floors -------------------------------------------------------------------------------


def lattice_floor(
    question: str, loss: str, numbers: int = 1
) -> Callable[[Job], tuple[float, str]]:
    """Return the judge's floor of a question, for each of its numbers."""

    def least(job: Job) -> tuple[float, str]:
        text = question.format(n=PEOPLE)
        level = Fraction(job.epsilon)
        whole = floor_bounds.lattice_floor(text, job.relation, loss, level) / numbers
        number = float(whole)
        return (number if loss == "absolute" else math.sqrt(number)), "lattice"

    return least


def counts_floor(numbers: int, reach: int) -> Callable[[Job], tuple[float, str]]:
    """Return the floor of several counts: by sizes, or under add-remove by a window."""

    def least(job: Job) -> tuple[float, str]:
        if job.relation == CO:
            square = floor_bounds.cube_floor(numbers, job.level)
            return math.sqrt(square / numbers), "sizes"
        level = Fraction(job.epsilon)
        text = f"counts({PEOPLE},{numbers})"
        single = floor_bounds.lattice_floor(text, AR, "squared", level), "lattice"

        def window(at: Fraction) -> Fraction:
            # Beyond some 11 times 1/ε there is next to nothing.
            far = min(reach, 5 + math.ceil(11 / at))
            return floor_bounds.counts_window_floor(numbers, at, far)

        # Each coordinate's unit vector loses 1.
        basis_loss = Fraction(numbers)
        whole, theorem = max(single, *_by_windows(window, basis_loss, level))
        return math.sqrt(whole / numbers), theorem

    return least


def _by_windows(
    window: Callable[[Fraction], Fraction], basis_loss: Fraction, level: Fraction
) -> Iterator[tuple[Fraction, str]]:
    """Yield the floor of a window, and below ε = 1 that of one for rounded answers.

    There a window large enough for ε itself would have too many points.
    """
    yield window(level), "window"
    if level < 1:
        times = math.ceil(1 / level)
        coarser = floor_bounds.coarser_floor(window, basis_loss, level, times)
        yield coarser, "coarser"


def margins_floor(job: Job) -> tuple[float, str]:
    """Return the floor of a table with its margins."""
    from tightrope.tables import job_floor

    least = job_floor(_margins(job.relation), job.epsilon)
    assert least is not None
    whole_job = least.error, "job"
    if job.relation == AR:
        return whole_job
    # Three steps within a row or a column are a basis, and each of them loses 1/2.
    basis_loss = Fraction(3, 2)
    squares = _by_windows(
        lambda level: floor_bounds.margins_window_floor(level, 16),
        basis_loss,
        Fraction(job.epsilon),
    )
    roots = ((math.sqrt(square), theorem) for square, theorem in squares)
    return max(whole_job, *roots)


def mean_floor(job: Job) -> tuple[float, str]:
    """Return the floor of a mean: that of a sum of all values less the mean, over the people.

    Under add-remove who comes with x moves the sum less t for each person by x - t: by all whole
    numbers up to the distance of t from the further bound.
    """
    widest = WIDTH if job.relation == CO else WIDTH - INSIDE
    text = f"sum({PEOPLE},{widest})"
    level = Fraction(job.epsilon)
    least = floor_bounds.lattice_floor(text, CO, "absolute", level)
    return float(least) / PEOPLE, "lattice"


def median_floor(job: Job) -> tuple[float, str]:
    """Return the floor of a median."""
    return floor_bounds.median_floor(VALUES, job.relation, job.level), "packing"


def shown_floor(job: Job) -> tuple[float, str]:
    """Return the floor of what is shown."""
    return float(floor_bounds.shown_floor(job.level, float(DELTA))), "shown"


# -- jobs ---------------------------------------------------------------------------------


def _numbers(
    by_relation: tuple[float, float], measure: str, *without: str
) -> Callable[[Job], Mapping[str, float]]:
    """Return the errors of others' noise at a sensitivity for each relation."""

    def errors(job: Job) -> Mapping[str, float]:
        sensitivity = by_relation[job.relation == CO]
        return floor_peers.number_errors(
            job.relation, job.level, sensitivity, measure, *without
        )

    return errors


def _each(
    relations: Sequence[str], *fields: Any, levels: Sequence[str] = (), **more: Any
) -> list[Job]:
    """Return a job at each ε, under the relation that is listed for it."""
    pairs = zip(relations, levels or ("0.1", "0.5", "1", "3"), strict=True)
    kind, words, measure, selects, *ways = fields
    return [
        Job(kind, words, measure, relation, level, selects, *ways, **more)
        for relation, level in pairs
    ]


ABSOLUTE = "mean absolute error"
ROOT_SQUARE = "root mean square error of a number"
ALTERNATE = (AR, CO, AR, CO)
REVERSED = (CO, AR, CO, AR)

JOBS = (
    *_each(
        ALTERNATE, "count", "people with a = 1", ABSOLUTE,
        ("SELECT count(*) FROM t WHERE a = 1",),
        lattice_floor("count({n})", "absolute"), lattice_error("absolute"),
        _numbers((1, 1), "absolute"),
    ),
    *_each(
        REVERSED, "table", "people in each of 8 groups", "mean absolute error of a cell",
        ("SELECT g, count(*) FROM t GROUP BY g",),
        lattice_floor("histogram({n},8)", "absolute", 8), lattice_error("absolute", 8),
        # Histograms of diffprivlib have the sensitivity of add-remove.
        lambda job: _numbers(
            (1, 2), "absolute", *(("diffprivlib",) if job.relation == CO else ())
        )(job),
    ),
    *_each(
        (CO, CO, AR, AR), "several counts", "3 conditions on the same people", ROOT_SQUARE,
        ("SELECT count(*) FILTER (WHERE x > 50), count(*) FILTER (WHERE v > 700), "
         "count(*) FILTER (WHERE x < 20 AND v > 7) FROM t",),
        counts_floor(3, 16), lattice_error("squared", 3), _numbers((3, 3), "squared"),
    ),
    *_each(
        (AR, AR, CO, CO), "margins", "a 2 × 2 table and both its margins",
        "root mean square error over the three tables",
        ("SELECT a, count(*) FROM t GROUP BY a", "SELECT b, count(*) FROM t GROUP BY b",
         "SELECT a, b, count(*) FROM t GROUP BY a, b"),
        margins_floor, margins_error,
        lambda job: _numbers(
            (3, 6), "squared", *(("diffprivlib",) if job.relation == CO else ())
        )(job),
    ),
    *_each(
        REVERSED, "sum", f"sum of a column from 0 to {WIDTH}", ABSOLUTE,
        ("SELECT sum(x) FROM t",),
        lattice_floor(f"sum({{n}},{WIDTH})", "absolute"), lattice_error("absolute"),
        _numbers((WIDTH, WIDTH), "absolute"),
    ),
    *_each(
        ALTERNATE, "mean", f"mean of a column from 0 to {WIDTH}",
        "mean absolute error, worst mean", ("SELECT avg(x) FROM t",), mean_floor, mean_error,
        lambda job: floor_peers.mean_errors(job.relation, job.level, WIDTH, PEOPLE, INSIDE),
    ),
    *_each(
        ALTERNATE, "median", f"median of {VALUES:,} values",
        "mean rank error, in people, worst table of two values and one between",
        ("SELECT median(v) FROM t",), median_floor, median_error,
        lambda job: floor_peers.median_errors(job.relation, job.level, VALUES),
    ),
    *_each(
        (AR, AR, CO, AR), "groups nobody declared", "one group each, δ = 1e-6",
        "least count that is shown half the time", ("SELECT f, count(*) FROM t GROUP BY f",),
        shown_floor, shown_from,
        lambda job: floor_peers.shown_counts(job.relation, job.level, float(DELTA)),
        options={"delta": DELTA},
    ),
    *_each(
        (AR, CO), "several rows each", f"sum of 0 to {WIDTH}, up to 4 rows each", ABSOLUTE,
        ("SELECT sum(x) FROM t",),
        lattice_floor(f"sum({{n}},{4 * WIDTH})", "absolute"), lattice_error("absolute"),
        _numbers((4 * WIDTH, 4 * WIDTH), "absolute", "diffprivlib"),
        levels=("0.1", "0.5"), extra='person = "p"\ncontributions = 4',
    ),
    *_each(
        (CO, AR), "several rows each", "different people in each of 4 groups, up to 8 rows each",
        ROOT_SQUARE, ("SELECT h, count(distinct p) FROM t GROUP BY h",),
        counts_floor(4, 12), lattice_error("squared", 4),
        _numbers((4, 4), "squared", "diffprivlib"),
        levels=("1", "3"), extra='person = "p"\ncontributions = 8',
    ),
    *(
        Job(
            "series", "a count published at ε/4, then at ε/2, then at ε in all",
            "root mean square error of the last", relation, level,
            ("SELECT count(*) FROM t WHERE a = 1",),
            lattice_floor("count({n})", "squared"), lattice_error("squared"),
            lambda job: floor_peers.series_errors(job.relation, job.level),
            extra="frozen = true",
            options={"levels": [str(Fraction(level) / part) for part in (4, 2, 1)]},
        )
        for relation, level in zip(REVERSED, ("0.1", "0.5", "1", "3"), strict=True)
    ),
)  # fmt: skip

#: The same jobs under the other relation: nobody shall say that relations were chosen.
MIRRORED = tuple(
    replace(job, relation=AR if job.relation == CO else CO) for job in JOBS
)


# -- beside others ------------------------------------------------------------------------

#: People of the quantiles beside others.
DRAWN_PEOPLE = 2_000
RANKS = "1/10,1/4,1/2,3/4,9/10"


@dataclass(frozen=True)
class Beside:
    """One job on which others were more exact once: what is reachable, and ours."""

    job: str
    measure: str
    relation: str
    epsilon: str
    source: str
    reachable: float
    ours: float

    def row(self) -> dict[str, Any]:
        """Return what the results hold."""
        return asdict(self)


def even_counts(people: int, values: int) -> list[int]:
    """Return the counts of people who are spread evenly over the values.

    >>> even_counts(4, 3)
    [1, 1, 2]
    """
    ends = [people * place // values for place in range(values + 1)]
    return [high - low for low, high in itertools.pairwise(ends)]


def joint_error(mechanism: Any, counts: Sequence[int]) -> float:
    """Return the mean rank error of several quantiles in one draw, in people, on average.

    People are put evenly into the places of their value. Blocks of quantiles a to e share a slot;
    what lies beyond them is the same sum from the other side, as the ranks are symmetric.
    """
    people = sum(counts)
    places = [
        [(2 * k + 1) * mechanism.places // (2 * many) for k in range(many)]
        for many in counts
    ]
    ends = mechanism.slot_ends(places)
    sizes = np.diff(ends).tolist()
    last = len(mechanism.ranks)
    weights = [[0] * len(sizes) for _ in range(last)]
    blocks = [*itertools.combinations_with_replacement(range(1, last + 1), 2)]
    # The spare weight of all tuples is 2^-64 of the others, and left out.
    for total in mechanism.totals(people):
        ways = mechanism.ways(sizes, total)
        back = mechanism.ways(sizes[::-1], total)
        for a, e in blocks:
            empty = math.prod(ways.cells[k][0] for k in range(a, e))
            for slot in range(len(sizes)):
                block = ways.arrive[a - 1][slot] * ways.multisets[e - a + 1][slot]
                block *= empty * back.arrive[last - e][people - slot]
                for j in range(a - 1, e):
                    weights[j][slot] += block
    upto = np.cumsum(counts)
    errors = []
    for rank, own in zip(mechanism.ranks, weights, strict=True):
        total = sum(own)
        wanted = float(rank) * people
        gaps = np.maximum(np.maximum(upto - counts - wanted, wanted - upto), 0)
        # A slot reaches over several values: its mean gap is by how much of it each has.
        over = np.concatenate([[0.0], np.cumsum(gaps)]) * 2 * mechanism.places
        inside = np.interp(ends, np.arange(len(over)) * 2 * mechanism.places, over)
        means = np.diff(inside) / np.array(sizes)
        errors.append(float(np.array([x / total for x in own]) @ means))
    return float(np.mean(errors))


def score_error(mechanism: Any, counts: Sequence[int]) -> float:
    """Return the mean rank error of a quantile that is drawn by itself, in people."""
    gaps = mechanism.gaps(counts)
    chances = accepted_chances(mechanism.weights(gaps) / mechanism.total)
    error = float(chances @ gaps / chances.sum())
    return error / int(mechanism.rank.denominator)


def flipped_error(epsilon: float, relation: str, counts: Sequence[int]) -> float:
    """Return the mean rank error of a median by permute-and-flip, in people."""
    upto = np.cumsum(counts)
    half = upto[-1] / 2
    gaps = np.maximum(np.maximum(upto - counts - half, half - upto), 0)
    gaps = gaps - gaps.min()
    rate = epsilon if relation == AR else epsilon / 2
    chances = accepted_chances(np.exp(-rate * gaps))
    return float(chances @ gaps / chances.sum())


def accepted_chances(accepted: Any) -> Any:
    r"""Return how likely each value is the first accepted one in a random order.

    A value with the chance f of being accepted is the output with probability
    :math:`f \int_0^1 \prod_{s \ne r} (1 - v f_s)\,dv`.
    """
    nodes, widths = np.polynomial.legendre.leggauss(200)
    v = (nodes + 1) / 2
    logs = np.log1p(-np.outer(v, accepted))
    products = np.exp(logs.sum(axis=1)[:, None] - logs)
    return accepted * (widths / 2 @ products)


def _asked(relation: str, sql: str, extra: str = "", **options: Any) -> Any:
    """Return the plan of a question at ε = 1."""
    unused: Any = None
    job = Job("", "", "", relation, "1", (sql,), unused, unused, unused, extra, options)
    return job.plan()


def _usual_margin(sensitivity: int) -> float:
    """Return the margin of two-sided geometric noise at ε = 1."""
    from tightrope.asking.planning import geometric_error
    from tightrope.epsilon import Epsilon

    return float(geometric_error(Fraction(sensitivity), Epsilon.of(1), "0.95"))


def _rows_each(many: int) -> str:
    return f'person = "p"\ncontributions = {many}'


MARGIN = "95 % margin"
SHOWN = "least count that is shown half the time"
EVEN_RANK = "mean rank error, in people, evenly spread values"


def found_beside() -> Iterator[Beside]:
    """Yield groups nobody declared, with one row each and with three."""
    for relation, delta in ((AR, "1e-6"), (CO, "1e-5")):
        for many in (1, 3):
            extra = _rows_each(many) if many > 1 else ""
            select = "SELECT f, count(*) FROM t GROUP BY f"
            noise = last_noise(_asked(relation, select, extra, delta=delta))
            # All rows of a person may be in one group; who changes leaves as many.
            steps = (1 + (relation == CO)) * many
            tail = float(Fraction(delta)) / steps
            least = floor_peers.least_count(math.exp(-1 / steps), tail, many + 1)
            rows = "1 row" if many == 1 else f"{many} rows"
            words = f"groups nobody declared, δ = {delta}, up to {rows} each"
            source = "OpenDP's noise and threshold"
            reached = _usual_margin(steps), float(least)
            own = float(noise.error("0.95")[0]), float(noise.even_size)
            for measure, other, ours in zip((MARGIN, SHOWN), reached, own, strict=True):
                yield Beside(words, measure, relation, "1", source, other, ours)


def people_beside() -> Iterator[Beside]:
    """Yield different people by group, where a person is in several groups."""
    four = "SELECT h, count(distinct p) FROM t GROUP BY h"
    ten = "SELECT k, count(distinct p) FROM t GROUP BY k"
    words = "different people in each of {} groups, up to {} rows each"
    for relation in (AR, CO):
        source = "one draw of all four"
        ours = max(_asked(relation, four, _rows_each(8)).questions[-1].parts[0].errors)
        yield Beside(
            words.format(4, 8), MARGIN, relation, "1", source, 6.0, float(ours)
        )
        source = "steps in few groups at once: 1.40 times better than equal shares of ε"
        ours = max(_asked(relation, ten, _rows_each(5)).questions[-1].parts[0].errors)
        # Who changes leaves five groups and enters five others.
        other = _usual_margin(5 if relation == AR else 10) / 1.4
        yield Beside(
            words.format(10, 5), MARGIN, relation, "1", source, other, float(ours)
        )


def mean_beside() -> Iterator[Beside]:
    """Yield a mean half-way between the middle of its bounds and a bound."""
    law = last_noise(_asked(AR, "SELECT avg(x) FROM t")).pair_law
    unit = WIDTH / 2 / PEOPLE
    # A radius of mean 3/ε times a uniform point of a square: E|u - v/2| = 1/2 + 1/24.
    joint = 3 * (1 / 2 + 1 / 24) * unit
    ours = pair_error(law.masses, 0.5, 0.5) * unit
    words = f"mean of a column from 0 to {WIDTH}, at {3 * WIDTH // 4}"
    source = "joint noise of sum and count (Kulesza, Suresh, Wang)"
    yield Beside(words, ABSOLUTE, AR, "1", source, joint, ours)
    # OpenDP and diffprivlib divide by the public number of people.
    ours = mean_error(JOBS[0], _asked(CO, "SELECT avg(x) FROM t"))
    other = floor_peers.mean_errors(CO, 1.0, WIDTH, PEOPLE, INSIDE)["opendp"]
    yield Beside(words, ABSOLUTE, CO, "1", "OpenDP's noise", other, ours)


def quantiles_beside() -> Iterator[Beside]:
    """Yield five quantiles in one draw, and a median with its interval."""
    from tightrope.certify import by_score

    counts = even_counts(DRAWN_PEOPLE, VALUES)
    about = f"of {DRAWN_PEOPLE:,} people, {VALUES:,} values"
    text = f"quantiles({RANKS},{VALUES},{DRAWN_PEOPLE})"
    source = "one draw of all five (Gillenwater, Joseph, Kulesza)"
    ranks = [float(Fraction(rank)) for rank in RANKS.split(",")]
    for level in ("1", "0.2"):
        for relation in (AR, CO):
            other = floor_peers.joint_error(relation, float(level), ranks, counts)
            ours = joint_error(by_score(text, level, relation), counts)
            words = f"five quantiles {about}"
            yield Beside(words, EVEN_RANK, relation, level, source, other, ours)
    median = "SELECT median(v) FROM t"
    source = "OpenDP's permute-and-flip, without an interval"
    for relation in (AR, CO):
        other = flipped_error(1.0, relation, counts)
        value = last_noise(_asked(relation, median, point=True)).file
        ours = score_error(value, counts)
        words = f"median {about}"
        yield Beside(words, EVEN_RANK, relation, "1", source, other, ours)
        bracket = last_noise(_asked(relation, median)).file
        ours = drawn_error(bracket, counts)
        words += ", with an interval"
        yield Beside(words, EVEN_RANK, relation, "1", source, other, ours)


def beside() -> list[Beside]:
    """Return all rows of the second table."""
    return [*found_beside(), *people_beside(), *mean_beside(), *quantiles_beside()]


# -- the page -----------------------------------------------------------------------------


def run(say: Callable[[str], None] = print) -> dict[str, Any]:
    """Compute all rows."""
    rows = []
    everything = (*JOBS, *MIRRORED)
    for number, job in enumerate(everything, 1):
        row = job.row()
        rows.append(row)
        ratio = row["ours"] / row["floor"]
        progress = f"{job.kind}, {job.relation}, ε = {job.epsilon}: {ratio:.4f} floors"
        say(f"[{number}/{len(everything)}] {progress}")
    many = len(JOBS)
    others = [row.row() for row in beside()]
    return {"jobs": rows[:many], "mirrored": rows[many:], "beside": others}


def _short(number: float | None) -> str:
    return "–" if number is None else f"{number:.4g}"


def page(results: Mapping[str, Any]) -> str:
    """Return everything below the mark."""
    jobs = results["jobs"]
    mirrored = results["mirrored"]
    lines = ["", "## Forty jobs\n", *job_lines(jobs), *notes(jobs)]
    lines += [
        "## The same under the other relation\n",
        *job_lines(mirrored),
        *reasons(mirrored),
    ]
    return "\n".join([*lines, *beside_section(results["beside"]), ""])


def job_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of jobs, and how many of them are near their floor."""
    titles = floor_peers.titles()
    ratios = [row["ours"] / row["floor"] for row in rows]
    close = sum(ratio <= CLOSE for ratio in ratios)
    head = ["job", "neighbours", "ε", "error", "floor", "by", "ours", "ours/floor"]
    lines = [
        f"Ours is at most {CLOSE} times the floor in {close} of {len(rows)} rows.\n",
        f"| {' | '.join([*head, *titles.values()])} |",
        "|---" * (len(head) + len(titles)) + "|",
    ]
    for row, ratio in zip(rows, ratios, strict=True):
        quotient = f"{ratio:.3f}" if ratio <= CLOSE else f"**{ratio:.3g}**"
        cells = [row[key] for key in ("relation", "epsilon", "measure")]
        cells = [f"{row['kind']}: {row['job']}", *cells]
        cells += [_short(row["floor"]), row["theorem"], _short(row["ours"]), quotient]
        cells += [_short(row["others"].get(key)) for key in titles]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def reasons(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return why rows are above their floor, by kind of job."""
    far = [row["kind"] for row in rows if row["ours"] > CLOSE * row["floor"]]
    lines = [
        f"- *{kind}*: {ABOVE.get(kind, 'not yet looked into')}."
        for kind in dict.fromkeys(far)
    ]
    return [f"Rows above {CLOSE}:\n", *lines, ""]


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what floors are proved by, what is above them, and whose laws these are."""
    proved = [f"- *{key}*: {words}." for key, words in THEOREMS.items()]
    known = floor_peers.LIBRARIES.values()
    laws = [f"- {library.title}: {library.pages}." for library in known]
    lines = ["The floors are proved by:\n", *proved, "", *reasons(rows)]
    return [*lines, "The laws of other libraries follow:\n", *laws, ""]


def beside_section(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the jobs on which others were more exact once."""
    ratios = [row["ours"] / row["reachable"] for row in rows]
    reached = sum(ratio <= REACHED for ratio in ratios)
    lines = [
        "## Where others were more exact\n",
        f"Ours is at most {REACHED} times what is reachable in {reached} of {len(rows)} rows.\n",
        "| job | neighbours | ε | error | reachable | by | ours | ours/reachable |",
        "|---" * 8 + "|",
    ]
    for row, ratio in zip(rows, ratios, strict=True):
        quotient = f"{ratio:.3f}" if ratio <= REACHED else f"**{ratio:.3f}**"
        cells = [row[key] for key in ("job", "relation", "epsilon", "measure")]
        cells += [
            _short(row["reachable"]),
            row["source"],
            _short(row["ours"]),
            quotient,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", NOT_REACHED]


#: What is said of the rows of the second table that are not reached.
NOT_REACHED = (
    "The law of the peers' draw of five quantiles is computed in floats, apart from ours. 2.8 was "
    "measured for it once at ε = 1, which is within what tables of random values have (three of "
    "them from 2.5 to 3.6). Under add-remove ours also draws how many people it counts on. "
    "A median comes with an interval from the same draw, unless it is asked for with `--point`. "
    "The further away ends may be, the less they disturb the median, and the wider is the "
    "interval: to cost 5 % they would have to be more than twice as far away."
)


def write(results: Mapping[str, Any]) -> None:
    """Write the results and the page."""
    text = json.dumps(results, ensure_ascii=False, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    above, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(above + mark + page(results), encoding="utf-8")


if __name__ == "__main__":
    write(run())
