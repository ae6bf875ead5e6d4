"""What each setting of the solver is worth: `make ablate`.

python -m benchmarks.ablate [--part NAME] [--field NAME ...] [--limit SECONDS] [--workers W]

Fixed questions are asked with the settings as they are, and then with each field of
``SolverSettings`` moved: a number divided and multiplied by ten, a fraction also set to zero, a cap
only divided. A field whose rows look like the first one is worth nothing and should go.
"""

from __future__ import annotations

import json
import re
import statistics
from argparse import Namespace
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
#: Questions with more answers, for fields that the suite's never read or that matter to few.
MIDDLE = (
    ("counts(10,3)", ("uniform", 0.0, 0), "absolute", "1"),
    ("counts(50,2)", ("uniform", 0.0, 0), "distance", "2"),
    ("sum(43,9)", ("poisson", 8.0, 0), "squared", "1"),
    ("sum(197,2)", ("spiky", 0.9, 1), "binary", "1"),
    ("sum(300,5)", ("binomial", 0.3, 0), "absolute", "1"),
    ("sum(12000,5)", ("binomial", 0.3, 0), "absolute", "1"),
)
#: Fields that say what is refused for its size: ten times as much may not fit into memory.
CAPS = (
    "engine_answers", "checked_answers", "baseline_entries", "remapped_entries", "remap_entries",
    "program_entries", "proof_multipliers", "proof_tree_pairs", "proof_line",
    "listed_answers", "box_rows", "ball_arcs", "likely_answers", "ball_pairs",
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
    gap: float

    @classmethod
    def of(cls, field: str, value: str, touched: int, outcomes: list[Outcome]) -> Row:
        """Count outcomes, so many of which may depend on the field."""
        seconds = [one.cpu for one in outcomes]
        kinds = ("certified", "uncertified", "over", "failed")
        counts = [sum(one.status == kind for one in outcomes) for kind in kinds]
        gap = statistics.fmean(one.gap for one in outcomes)
        median = statistics.median(seconds)
        return cls(field, value, touched, *counts, sum(seconds), median, gap)

    def __str__(self) -> str:
        open_ = self.uncertified + self.over + self.failed
        return (
            f"| {self.field} | {self.value} | {self.touched} | {self.certified} | {open_} "
            f"| {self.total:.0f} | {1000 * self.median:.0f} | {100 * self.gap:.2g} |"
        )


def suite() -> list[Question]:
    """Return the fixed suite."""
    return [
        question
        for kind, (count, most) in SUITE.items()
        for question in draw(SEED, count, most, kind)
    ]


def middle() -> list[Question]:
    """Return the questions with more answers."""
    return [
        Question(text, "change-one", prior, loss, epsilon)
        for text, prior, loss, epsilon in MIDDLE
    ]


#: Each part of the page: its questions, and its heading.
PARTS = {
    "suite": (suite, "Up to two hundred answers"),
    "middle": (middle, "More answers"),
}


def moved(one: Field[Any]) -> list[Any]:
    """Return the values that a field is moved to."""
    default: Any = one.default
    if one.name in CAPS:
        return [default // 10]
    if isinstance(default, int):
        return [default // 10, default * 10]
    return [0.0, default / 10, default * 10]


def variations(names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield fields with the values they are moved to, all of them or those that are named."""
    for one in fields(SolverSettings):
        if not names or one.name in names:
            yield from ((one.name, value) for value in moved(one))


HEAD = """# What each setting is worth

Fixed questions are asked with one field of `SolverSettings` moved at a time: `make ablate`. \
{suite} of them, for one consumer, for risk-averse and many consumers and under a limit, have up \
to two hundred answers; {middle} have more. The first line of each table is the settings as they \
are. *Open* counts questions that were not certified within the limit of time; they count with the \
whole limit in the total. *Touched* counts the questions whose search reads the field at all; on \
the others nothing can differ, and fields that none reads are left out. *Gap* is the mean of the \
proved relative gaps. A field that is a cap on sizes is divided only. Times are those of the \
processors, on {where}.
"""


def section(part: str, rows: list[Row], limit: float) -> str:
    """Return the section of the page with the table of a part."""
    return f"""## {PARTS[part][1]}

The limit is {limit:g} s.

| field | moved to | touched | certified | open | total, s | median, ms | gap, % |
|---|---|---|---|---|---|---|---|
""" + "".join(f"{row}\n" for row in rows)


def write(sections: dict[str, str]) -> None:
    """Write the page; a part that was not asked keeps its section."""
    _, *known = re.split(r"^(?=## )", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    kept = {
        part: text.rstrip() + "\n"
        for part, (_, heading) in PARTS.items()
        for text in known
        if text.startswith(f"## {heading}\n")
    }
    counts = {part: len(questions()) for part, (questions, _) in PARTS.items()}
    where = ", ".join(f"{key}: {value}" for key, value in machine.describe().items())
    head = HEAD.format(**counts, where=where)
    both = kept | sections
    PAGE.write_text(
        "\n".join([head, *(both[part] for part in PARTS if part in both)]), "utf-8"
    )
    print(f"written: {PAGE}")


def main() -> None:
    parser = options("Move each setting of the solver and measure what it is worth.")
    parser.add_argument("--part", choices=PARTS, help="this part of the page only")
    parser.add_argument(
        "--field", action="append", default=[], help="this field; may be repeated"
    )
    parser.add_argument(
        "--details", type=Path, help="write every outcome into this JSON file"
    )
    asked = parser.parse_args()
    known = [one.name for one in fields(SolverSettings)]
    unknown = [name for name in asked.field if name not in known]
    if unknown:
        parser.error(f"no field {unknown[0]!r}; there are: {', '.join(known)}")
    details = {}
    sections = {}
    for part in [asked.part] if asked.part else PARTS:
        rows, outcomes = measured(PARTS[part][0](), asked)
        sections[part] = section(part, rows, asked.limit)
        details[part] = [[asdict(one) for one in line] for line in outcomes]
        print(sections[part], flush=True)
    if asked.details is not None:
        asked.details.write_text(json.dumps(details) + "\n")
    if not asked.field:
        write(sections)


def measured(
    questions: list[Question], asked: Namespace
) -> tuple[list[Row], list[list[Outcome]]]:
    """Ask questions with each field moved; return the table, and all outcomes by question."""
    tried = list(variations(asked.field))
    variants = [{}, *({field: value} for field, value in tried)]
    answered = []
    for outcomes in run_all(questions, asked.limit, asked.workers, variants):
        answered.append(outcomes)
        print(f"{len(answered):4}/{len(questions)} {outcomes[0]}", flush=True)
    before, *columns = (list(column) for column in zip(*answered, strict=True))
    rows = [Row.of("as it is", "", len(questions), before)]
    for (field, value), outcomes in zip(tried, columns, strict=True):
        if touched := sum(field in one.read for one in before):
            rows.append(Row.of(field, f"{value:g}", touched, outcomes))
    return rows, answered


if __name__ == "__main__":
    main()
