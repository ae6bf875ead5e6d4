"""What each setting of the solver is worth: `make ablate`.

python -m benchmarks.ablate [--field NAME ...] [--limit SECONDS] [--workers W] [--out FILE]

A fixed suite of questions is asked with the settings as they are, and then with each field of
``SolverSettings`` moved: a number divided and multiplied by ten, a fraction also set to zero. A
field whose rows look like the first one is worth nothing and should go.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import Field, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.harness import ROOT
from benchmarks.suite import Outcome, Question, draw, options, run_all
from tightrope.optimize import SolverSettings

#: The page that the table is written into.
PAGE = ROOT / "docs" / "ablation.md"
#: How many questions of each kind the fixed suite has, and how many answers at most.
SUITE = {"one": (110, 200), "averse": (10, 60), "many": (10, 16), "limit": (10, 40)}
#: Fields that say what is refused for its size: moving them changes no answer of the suite.
CAPS = (
    "engine_answers", "checked_answers", "baseline_entries", "remapped_entries", "remap_entries",
    "program_entries", "proof_multipliers", "proof_tree_pairs", "proof_line",
    "listed_answers", "most_rounds", "box_rows", "ball_arcs", "ball_seconds",
    "likely_answers", "knots", "ball_pairs",
)  # fmt: skip
#: The suite is drawn from this seed: it is the same for every state of the code.
SEED = 20260


@dataclass(frozen=True)
class Row:
    """One line of the table: which field, moved to what, and what came of it."""

    field: str
    value: str
    touched: int
    certified: int
    uncertified: int
    over: int
    failed: int
    total: float
    median: float

    @classmethod
    def of(cls, field: str, value: str, touched: int, outcomes: list[Outcome]) -> Row:
        """Count outcomes, so many of which may depend on the field."""
        seconds = [one.cpu for one in outcomes]
        kinds = ("certified", "uncertified", "over", "failed")
        counts = [sum(one.status == kind for one in outcomes) for kind in kinds]
        return cls(
            field, value, touched, *counts, sum(seconds), statistics.median(seconds)
        )

    def __str__(self) -> str:
        open_ = self.uncertified + self.over + self.failed
        return (
            f"| {self.field} | {self.value} | {self.touched} | {self.certified} | {open_} "
            f"| {self.total:.0f} | {1000 * self.median:.0f} |"
        )


def suite() -> list[Question]:
    """Return the fixed suite."""
    return [
        question
        for kind, (count, most) in SUITE.items()
        for question in draw(SEED, count, most, kind)
    ]


def moved(one: Field[Any]) -> list[Any]:
    """Return the values that a field is moved to."""
    default = one.default
    if isinstance(default, int):
        return [default // 10, default * 10]
    return [0.0, default / 10, default * 10]


def variations(names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield fields with the values they are moved to, all of them or those that are named."""
    for one in fields(SolverSettings):
        if one.name in names or (not names and one.name not in CAPS):
            yield from ((one.name, value) for value in moved(one))


def page(rows: list[Row], asked: int, limit: float) -> str:
    """Return the page with the table of so many questions."""
    whole = sum(count for count, _ in SUITE.values())
    where = ", ".join(f"{key}: {value}" for key, value in machine.describe().items())
    head = f"""# What each setting is worth

A fixed suite of {whole} questions for one consumer, for risk-averse and many consumers and under \
a limit, asked with one field of `SolverSettings` moved at a time: `make ablate`. The first line \
is the settings as they are. *Open* counts questions that were not certified within {limit:g} s; \
they count with the whole limit in the total. *Touched* counts the questions whose search reads \
the field at all; on the others nothing can differ, and fields that none reads are left out: they \
are for questions with more answers. Times are those of the processors. This table: {asked} of \
the questions, on {where}.

| field | moved to | touched | certified | open | total, s | median, ms |
|---|---|---|---|---|---|---|
"""
    return head.replace("\\\n", "") + "\n".join(str(row) for row in rows) + "\n"


def main() -> None:
    parser = options("Move each setting of the solver and measure what it is worth.")
    parser.add_argument(
        "--field", action="append", default=[], help="this field; may be repeated"
    )
    parser.add_argument("--count", type=int, help="so many questions of the suite only")
    parser.add_argument(
        "--details", type=Path, help="write every outcome into this JSON file"
    )
    asked = parser.parse_args()
    known = [one.name for one in fields(SolverSettings)]
    unknown = [name for name in asked.field if name not in known]
    if unknown:
        parser.error(f"no field {unknown[0]!r}; there are: {', '.join(known)}")
    questions = suite()
    if asked.count:  # spread over the kinds
        questions = questions[:: -(-len(questions) // asked.count)]
    tried = list(variations(asked.field))
    variants = [{}, *({field: value} for field, value in tried)]
    answered: list[list[Outcome]] = []
    for outcomes in run_all(questions, asked.limit, asked.workers, variants):
        answered.append(outcomes)
        print(f"{len(answered):4}/{len(questions)} {outcomes[0]}", flush=True)
    before, *columns = (list(column) for column in zip(*answered, strict=True))
    rows = [Row.of("as it is", "", len(questions), before)]
    for (field, value), outcomes in zip(tried, columns, strict=True):
        if touched := sum(field in one.read for one in before):
            rows.append(Row.of(field, f"{value:g}", touched, outcomes))
    print("\n".join(map(str, rows)))
    if asked.details is not None:
        found = [[asdict(one) for one in outcomes] for outcomes in answered]
        asked.details.write_text(
            json.dumps({"variants": variants, "outcomes": found}) + "\n"
        )
    out: Path | None = asked.out or (None if asked.field or asked.count else PAGE)
    if out is not None:
        out.write_text(page(rows, len(questions), asked.limit), encoding="utf-8")
        print(f"written: {out}")


if __name__ == "__main__":
    main()
