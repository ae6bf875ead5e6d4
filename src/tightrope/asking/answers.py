"""Published numbers: each with its interval, as a table, in HTML, as a data frame, as a plot."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any

from tightrope.asking.writing import (
    SPREADSHEET,
    Microdata,
    write_columns,
    write_sheets,
)
from tightrope.errors import InputError, TightropeError, whole_number
from tightrope.files import FilePath
from tightrope.kinds import protected
from tightrope.publish.accounts import shown
from tightrope.publish.entries import read_record
from tightrope.publish.intervals import MISSING, Estimate, read_label
from tightrope.publish.noise import noise_of
from tightrope.publish.releasing import Release
from tightrope.publish.scopes import Scope
from tightrope.publish.shapes import Declared, Reading, estimates
from tightrope.publish.shapes.tables import PLACE, JobNumbers
from tightrope.report.drawings import COLOURS
from tightrope.report.texts import label_text
from tightrope.texts import TextTable, bound_text, html_table

#: The most classes that go across: a wider table is a list, which needs no scrolling sideways.
MOST_ACROSS = 12
#: The most numbers that a picture shows below one another; more go along its lower edge.
MOST_BELOW = 40


@dataclass(frozen=True)
class Answer:
    """The published answer to one SELECT.

    Attributes
    ----------
    keys
        What the rows are grouped by.
    titles
        What the numbers are called.
    rows
        For each group its names and its numbers.
    confidence
        Whatever the truth is, each interval holds it with at least this probability.
    epsilon, charged
        The privacy level, and what the ledger was charged.
    remaining
        What is left of the table's budget.
    notes
        How good the noise is, in sentences.
    releases
        The releases behind it, with their keys and signed receipts.
    simultaneous
        Whether all intervals hold at once with the confidence, not each.
    usual
        For each title the error that the usual noise would have, where it is known.
    certified
        Whether the noise is proved to be optimal for this very question; the notes say for whom.
    about
        Which table the numbers are about: what becomes of values outside the public facts.
    neighbours
        The neighbour relation of the table.
    plan
        Of several tables: which ones were measured, with their ε.
    people
        With whole numbers: synthetic people who reproduce all of them.
    job
        Of tables of one job: their numbers, with the laws of their errors together.
    curves
        The titles whose numbers are drawn as a step curve with its band.

    Examples
    --------
    >>> made = Answer(("sex",), ("n",), ((("f",), (Estimate(432, 402, 462),)),), Fraction(19, 20))
    >>> print(made)
    sex  n
    f    432 ± 30
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], tuple[Estimate, ...]], ...]
    confidence: Fraction
    epsilon: str = ""
    charged: Fraction = Fraction(0)
    remaining: Fraction = Fraction(0)
    notes: tuple[str, ...] = ()
    releases: tuple[Release, ...] = field(default=(), repr=False)
    name: str = ""
    simultaneous: bool = False
    usual: tuple[Fraction | None, ...] = ()
    certified: bool = False
    about: tuple[Scope, ...] = ()
    neighbours: str = ""
    plan: tuple[Mapping[str, Any], ...] = ()
    people: Microdata | None = field(default=None, repr=False)
    job: JobNumbers | None = field(default=None, repr=False)
    curves: tuple[str, ...] = ()

    @property
    def value(self) -> Any:
        """The number, where the answer is one."""
        if len(self.rows) != 1 or len(self.titles) != 1:
            raise InputError(
                f"this answer has {len(self.rows)} × {len(self.titles)} numbers: take them from "
                "rows, or as to_pandas()"
            )
        return self.rows[0][1][0].value

    @property
    def tables(self) -> dict[tuple[str, ...], Answer]:
        """Each table of the answer by the columns that it is grouped by."""
        # Only a job of several tables has the column that names the table.
        if self.keys[:1] != (PLACE,):
            return {self.keys: self}
        rows: dict[tuple[str, ...], list[Any]] = {}
        for (_, *names), numbers in self.rows:
            known = {
                key: name
                for key, name in zip(self.keys[1:], names, strict=True)
                # A column that a table sums over has no name in its rows.
                if name is not None
            }
            rows.setdefault(tuple(known), []).append((tuple(known.values()), numbers))
        return {
            keys: replace(self, keys=keys, rows=tuple(mine))
            for keys, mine in rows.items()
        }

    def __getitem__(self, names: str | tuple[str, ...]) -> Answer:
        """Return the table by some columns, in any order; ``()`` is the total."""
        wanted = {names} if isinstance(names, str) else set(names)
        for keys, table in self.tables.items():
            if set(keys) == wanted:
                return table
        known = ", ".join(" × ".join(keys) or "()" for keys in self.tables)
        raise InputError(
            f"the table by {' × '.join(sorted(wanted)) or '()'} is not in this answer "
            f"(tables: {known})"
        )

    def difference(
        self, more: Mapping[str, Any], less: Mapping[str, Any], *, among: int = 1
    ) -> Estimate:
        """Return the difference of two cells of a job, with its interval.

        The interval comes from the law of both errors together: it is never wider than that of
        the sum of the two, and often narrower.

        Parameters
        ----------
        more, less
            The cells, as classes by columns; ``{}`` is the total.
        among
            Of how many numbers the intervals shall hold at once.
        """
        # 1·more - 1·less: the law of the combination knows that the two errors are dependent.
        cells = [(more, Fraction(1)), (less, Fraction(-1))]
        return self._job.combination(cells, self._level(among))

    def share(
        self, part: Mapping[str, Any], of: Mapping[str, Any], *, among: int = 1
    ) -> Estimate:
        """Return the share of a cell of a job in a larger one, with its interval.

        Parameters
        ----------
        part, of
            The cells, as classes by columns: ``share({"sex": "f", "smokes": "yes"}, {"sex": "f"})``
            is the share of smokers among women.
        among
            Of how many numbers the intervals shall hold at once.
        """
        return self._job.share(part, of, self._level(among))

    @property
    def _job(self) -> JobNumbers:
        if self.job is None:
            raise InputError(
                "differences and shares are of tables of one job: ask with GROUPING SETS, CUBE or "
                "ROLLUP, or for several tables about the same rows"
            )
        return self.job

    def _level(self, among: int) -> Fraction:
        # Bonferroni: among k intervals each may fail with (1 - confidence)/k.
        return 1 - (1 - self.confidence) / whole_number(
            among, "the number of intervals"
        )

    def crossed(self) -> list[list[str]]:
        """Return the answer as a table of texts: the last column of its groups goes across.

        Where the answer has its margins too, they stand at the end of the rows and below them.

        >>> cells = {("f", "yes"): 3, ("f", "no"): 5, ("m", "yes"): 2, ("m", "no"): 4}
        >>> rows = tuple((name, (Estimate(number),)) for name, number in cells.items())
        >>> Answer(("sex", "smokes"), ("n",), rows, Fraction(19, 20)).crossed()
        [['sex', 'yes', 'no'], ['f', '3', '5'], ['m', '2', '4']]
        """
        return [[*line] for line in _crossed(self, {}, "").lines]

    def layouts(self, *, usual: bool = True) -> list[TextTable]:
        """Return each table of the answer as a heat map, with its margins around it.

        Parameters
        ----------
        usual
            Put the error that the usual noise would have beside each number of a list.

        Examples
        --------
        >>> rows = ((("f",), (Estimate(3),)), (("m",), (Estimate(6),)))
        >>> Answer(("sex",), ("n",), rows, Fraction(19, 20)).layouts()[0].heat
        {(0, 1): 0.5, (1, 1): 1.0}
        """
        tables = self.tables
        shown = []
        for keys, table in tables.items():
            columns = " × ".join(keys) or "all" if len(tables) > 1 else ""
            title = ": ".join(filter(None, [self.name, columns]))
            is_narrow = len({names[-1:] for names, _ in table.rows}) <= MOST_ACROSS
            crosses = len(keys) > 1 and len(self.titles) == 1 and is_narrow
            shown.append(
                _crossed(table, tables, title)
                if crosses
                else table._listed(title, usual)
            )
        return shown

    def _listed(self, title: str, usual: bool) -> TextTable:
        """Return the answer as a list of groups, with the usual noise beside each number."""
        # A title whose usual error is known takes two columns.
        widths = [1 + len(cell) for cell in self._usual_cells(usual)]
        first = len(self.keys)
        places = [first + before for before in itertools.accumulate(widths, initial=0)]
        cells = {
            (row, place): number
            for row, (_, numbers) in enumerate(self.rows)
            for place, number in zip(places, numbers, strict=False)
        }
        # Numbers of different titles, as counts and means, have no scale in common.
        is_map = len(self.titles) == 1 and len(self.rows) > 1
        return TextTable(
            title,
            self.table(usual=usual),
            heat=_heat(cells) if is_map else {},
        )

    def write(self, path: FilePath) -> list[Path]:
        """Write the numbers as CSV, Parquet or a spreadsheet.

        Of several tables CSV and Parquet have one file for each: those of ``out.csv`` are called
        ``out-0-sex-region.csv``, ``out-1-sex.csv`` and ``out-2-all.csv``. A spreadsheet has one
        sheet for each.
        """
        return write_answers([self], path)

    @property
    def delta(self) -> Fraction:
        """The δ that was charged with ε: for groups that nobody declared."""
        return sum(map(_delta, self.releases), Fraction(0))

    @property
    def fresh(self) -> bool:
        """Whether something was drawn now, not found in the ledger."""
        return any(release.fresh for release in self.releases)

    def table(self, *, usual: bool = False) -> list[list[str]]:
        """Return the answer as texts: a line of titles, and one for each group.

        Parameters
        ----------
        usual
            Put the error that the usual noise would have beside each number.
        """
        beside = self._usual_cells(usual)
        titles = zip(self.titles, beside, strict=True)
        head = [
            [title, *[f"{title}, usual noise" for _ in cell]] for title, cell in titles
        ]
        lines = [[*self.keys, *itertools.chain.from_iterable(head)]]
        for names, cells in self.rows:
            numbers = zip(map(str, cells), beside, strict=True)
            woven = [[number, *cell] for number, cell in numbers]
            lines.append([*map(_name, names), *itertools.chain.from_iterable(woven)])
        return lines

    def _usual_cells(self, usual: bool) -> list[list[str]]:
        """Return for each title the cell with the error of the usual noise, where it is known."""
        errors = self.usual if usual and self.usual else [None] * len(self.titles)
        return [[] if x is None else [f"± {bound_text(x)}"] for x in errors]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each group, with the ends of the intervals."""
        found = []
        about = about_text(self.about)
        for names, cells in self.rows:
            line: dict[str, Any] = dict(zip(self.keys, names, strict=True))
            for title, one in zip(self.titles, cells, strict=True):
                # Missing is None, so that data frames read it as a missing number.
                line[title] = None if one == MISSING else _plain(one.value)
                if one.low is not None:
                    line |= {
                        f"{title} low": _plain(one.low),
                        f"{title} high": _plain(one.high),
                    }
                if one.note:
                    line[f"{title} error"] = one.note
            if self.about:
                # What the numbers are about travels with each row, unless a column has that name.
                line.setdefault("about", about)
            found.append(line)
        return found

    def columns(self) -> dict[str, list[Any]]:
        """Return the records as columns."""
        records = self.records()
        # Rows may lack a column, such as the ends of an interval: all titles are collected.
        titles = dict.fromkeys(title for line in records for title in line)
        return {title: [line.get(title) for line in records] for title in titles}

    def to_pandas(self) -> Any:
        """Return the answer as a pandas data frame."""
        import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame(self.records())

    def to_polars(self) -> Any:
        """Return the answer as a Polars data frame."""
        import polars

        # One schema for all rows: a late text must not fail after many numbers.
        return polars.DataFrame(self.records(), infer_schema_length=None)

    def plot(self, title: str | None = None) -> Any:
        """Return a Matplotlib figure: each number as a point with its interval."""
        from matplotlib.figure import Figure

        some = [title] if title is not None else self._with_intervals()
        names = [", ".join(map(_name, names)) or self.name for names, _ in self.rows]
        # Below one another, unless a curve goes along the lines or they would fill several pages.
        is_flat = bool(set(some) & set(self.curves)) or len(names) > MOST_BELOW
        height = 3.2 if is_flat else max(1.6, 0.32 * len(names) + 0.8)
        figure = Figure(figsize=(4.2 * len(some), height), layout="constrained")
        for axes, word in zip(
            figure.subplots(1, len(some), squeeze=False)[0], some, strict=True
        ):
            place = self.titles.index(word)
            if is_flat:
                self._draw_along(axes, place)
                continue
            for y, (_, cells) in enumerate(self.rows):
                one = cells[place]
                # An answer by scores has a note instead of an interval: nothing to draw.
                if one.low is not None and one.high is not None:
                    axes.plot(
                        [float(one.low), float(one.high)], [y, y], lw=2, color="0.6"
                    )
                    axes.plot([float(one.value)], [y], "o", color=COLOURS[0])
            axes.set_yticks(range(len(names)), names)
            # The first group is at the top, as in the table.
            axes.invert_yaxis()
            axes.set_xlabel(f"{word} ({float(self.confidence) * 100:.4g} % intervals)")
        return figure

    def _draw_along(self, axes: Any, place: int) -> None:
        """Draw one column along the lines: a step curve with its band, or points on intervals."""
        names = [", ".join(map(_name, names)) for names, _ in self.rows]
        column = [cells[place] for _, cells in self.rows]
        is_curve = self.titles[place] in self.curves
        drawn = [
            (x, float(one.value), float(one.low), float(one.high))
            for x, one in enumerate(column)
            # An answer by scores has a note instead of an interval: nothing to draw.
            if one.low is not None and one.high is not None
        ]
        x, values, lows, highs = zip(*drawn, strict=True)
        if is_curve:
            axes.fill_between(x, lows, highs, step="post", color="0.85")
            axes.step(x, values, where="post", color=COLOURS[0])
        else:
            axes.vlines(x, lows, highs, lw=2, color="0.6")
            axes.plot(x, values, "o", ms=3, color=COLOURS[0])
        # A label for every line would be a black bar.
        shown = range(0, len(names), -(-len(names) // 8))
        axes.set_xticks(shown, [names[k] for k in shown])
        axes.set_xlabel(", ".join(self.keys))
        kind = "band" if is_curve else "intervals"
        axes.set_ylabel(
            f"{self.titles[place]} ({float(self.confidence) * 100:.4g} % {kind})"
        )

    def _with_intervals(self) -> list[str]:
        """Return the titles that a picture shows: whole numbers have no interval."""
        columns = zip(*(cells for _, cells in self.rows), strict=True)
        return [
            title
            for title, column in zip(self.titles, columns, strict=True)
            if any(one.low is not None for one in column)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope ask`` prints as JSON; a receipt for each draw, if several."""
        receipts = [release.receipt for release in self.releases]
        return {
            "name": self.name or None,
            "columns": [*self.keys, *self.titles],
            "rows": [
                {
                    **dict(zip(self.keys, names, strict=True)),
                    **_cells(self.titles, cells),
                }
                for names, cells in self.rows
            ],
            "confidence": float(self.confidence),
            "simultaneous": self.simultaneous,
            "about": [scope.as_dict() for scope in self.about],
            "epsilon": self.epsilon,
            "charged": str(self.charged),
            **({"delta": str(self.delta)} if self.delta else {}),
            "remaining": str(self.remaining),
            # One receipt by itself keeps the JSON of a simple question simple.
            "receipt": receipts[0] if len(receipts) == 1 else receipts,
            "fresh": self.fresh,
            "releases": [_without_receipt(release) for release in self.releases],
            **told_noise(self.certified, self.notes, self.usual),
            **({"plan": list(self.plan)} if self.plan else {}),
        }

    def facts(self) -> dict[str, str]:
        """Return how sure the numbers are, the cost and what is left, in words."""
        return told_costs([self])

    def __str__(self) -> str:
        lines = self.table()
        columns = zip(*lines, strict=True)
        widths = [max(map(len, column)) for column in columns]
        return "\n".join(
            "  ".join(
                text.ljust(width) for text, width in zip(line, widths, strict=True)
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        head, *lines = self.table()
        stated = "; ".join(f"{word}: {text}" for word, text in self.facts().items())
        under = " ".join([f"{stated}.", *self.notes])
        return f"{html_table(lines, head)}<p>{escape(under)}</p>"


def write_answers(answers: Sequence[Answer], path: FilePath) -> list[Path]:
    """Write the tables of several answers: one spreadsheet, or one file for each table."""
    place = Path(path)
    if place.suffix == SPREADSHEET:
        sheets = []
        for answer in answers:
            for keys, table in answer.tables.items():
                columns = "-".join(keys) or "all"
                alone = answer.name if len(answer.tables) == 1 else ""
                name = " ".join(filter(None, [answer.name, columns]))
                sheets.append((alone or name, table.columns()))
        # Names of sheets are made unique when they are written.
        write_sheets(place, sheets)
        return [place]
    written = []
    for number, answer in enumerate(answers, 1):
        own = f"{place.stem}-{number}" if len(answers) > 1 else place.stem
        for at, (keys, table) in enumerate(answer.tables.items()):
            # Names of columns are the user's: only plain characters go into a file name.
            names = re.sub(r"[^\w.-]", "_", "-".join(keys) or "all")
            more = f"-{at}-{names}" if len(answer.tables) > 1 else ""
            file = place.with_name(f"{own}{more}{place.suffix}")
            write_columns(file, table.columns())
            written.append(file)
    return written


def _heat(cells: Mapping[tuple[int, int], Estimate]) -> dict[tuple[int, int], float]:
    """Return the share of each number in the largest; negative ones have the share 0."""
    values = {
        place: float(number.value)
        for place, number in cells.items()
        # A most common value is a text, and a group may have no number.
        if isinstance(number.value, Real)
    }
    largest = max(values.values(), default=0)
    if largest <= 0:
        return {}
    sizes = values.items()
    return {place: max(value, 0.0) / largest for place, value in sizes}


def _crossed(
    table: Answer, margins: Mapping[tuple[str, ...], Answer], title: str
) -> TextTable:
    """Return a table with its last column across, and what is known of its margins around it."""
    *before, across = table.keys
    texts = {names: ", ".join(map(str, cells)) for names, cells in table.rows}
    # Margins by the other columns, by the last one, and the total.
    for keys in (tuple(before), (across,), ()):
        for names, cells in margins[keys].rows if keys in margins else ():
            known = dict(zip(keys, names, strict=True))
            # None in a place marks what a margin sums over.
            place = tuple(known.get(key) for key in table.keys)
            texts[place] = ", ".join(map(str, cells))
    columns = list(dict.fromkeys(names[-1] for names in texts))
    lines = list(dict.fromkeys(names[:-1] for names in texts))
    # Margins are much larger than their cells: they would make all of these look empty.
    row_of = {line: number for number, line in enumerate(lines)}
    column_of = {name: number for number, name in enumerate(columns, len(before))}
    shaded = {
        (row_of[names[:-1]], column_of[names[-1]]): numbers[0]
        for names, numbers in table.rows
    }
    # What is summed over is last: the table itself comes first.
    return TextTable(
        title,
        [
            [*before, *map(_name, columns)],
            *(
                [*map(_name, line), *(texts.get((*line, at), "") for at in columns)]
                for line in lines
            ),
        ],
        heat=_heat(shaded),
    )


def told_costs(answers: Sequence[Answer]) -> dict[str, str]:
    """Say how sure the numbers are, what was paid for all of them, and what is left."""
    fresh = [one for one in answers if one.fresh]
    last = answers[-1]
    # Only what was drawn now was paid now.
    drawn = releases_of(fresh)
    paid = sum((release.charged for release in drawn), Fraction(0))
    slack = sum((_delta(release) for release in drawn), Fraction(0))
    words = f"ε = {shown(paid)}" + (f", δ = {float(slack):g}" if slack else "")
    # A finer answer costs the difference, but the chain as a whole is worth its last level.
    if fresh and any("follows" in release.receipt for release in drawn):
        words += f"; with all answers of the chain ε = {last.epsilon}"
    if len(fresh) < len(answers):
        words += " (the rest was answered before)"
    by = last.releases[-1]
    if by.series is not None:
        words = f"by the series {by.series}, in which {by.left} releases are left"
    return {
        "intervals": f"{float(last.confidence) * 100:.4g} % {_holding(last)}",
        "about": about_text([scope for one in answers for scope in one.about]),
        "protects": protected(last.neighbours),
        "paid": words if fresh else "nothing: answered before",
        "left": f"{shown(last.remaining)} of the budget of table {by.receipt['table']}",
        "key": _keys([release.key for release in releases_of(answers)]),
    }


def _holding(answer: Answer) -> str:
    """Say which intervals hold together."""
    if answer.simultaneous:
        return "for all of an answer at once"
    # A running count has one band for all its lines.
    bands = [title for title in answer.titles if title in answer.curves]
    if len(bands) == len(answer.titles):
        return "for all lines at once"
    return "each" + (f"; {', '.join(bands)} for all lines at once" if bands else "")


def releases_of(answers: Iterable[Answer]) -> list[Release]:
    """Return the releases behind answers, each once: tables of one job share theirs."""
    # Tables of one job share a release: its price must be counted once.
    found = {release.key: release for answer in answers for release in answer.releases}
    return list(found.values())


def _delta(release: Release) -> Fraction:
    return Fraction(release.receipt["charges"][0].get("delta", 0))


def whole_note(
    rows: Mapping[Any, Sequence[Estimate]], numbers: Mapping[Any, int]
) -> str:
    """Say that whole numbers are biased, and how far they are from the unbiased ones.

    >>> rows = {"f": (Estimate(Fraction(-5, 2)),), "m": (Estimate(7),)}
    >>> whole_note(rows, {"f": 0, "m": 5})[-64:]
    '1 of 2 is negative); here they differ by at most 2.5 from those.'
    """
    negative = sum(cells[0].value < 0 for cells in rows.values())
    # Distance in people between the consistent whole numbers and the unbiased ones.
    pairs = ((cells[0].value, numbers[name]) for name, cells in rows.items())
    furthest = max(abs(value - number) for value, number in pairs)
    many = f"{negative} of {len(rows)} {'is' if negative == 1 else 'are'} negative"
    return (
        "Whole numbers are margins of one table of people, so that all tables agree. They are "
        "biased: empty cells are raised and others lowered for it where unbiased ones are below 0 "
        f"({many}); here they differ by at most {bound_text(Fraction(furthest))} from those."
    )


def about_text(scopes: Iterable[Scope]) -> str:
    """Say which table numbers are about, each table and rule once.

    >>> about_text([Scope("t", ("9 people",)), Scope("t", ("9 people", "a left out"))])
    'table t: 9 people; a left out'
    """
    rules: dict[str, dict[str, None]] = {}
    for scope in scopes:
        # The same rule of several questions is stated once.
        rules.setdefault(scope.table, {}).update(dict.fromkeys(scope.rules))
    merged = (Scope(table, tuple(known)) for table, known in rules.items())
    return "; ".join(map(str, merged))


def _keys(keys: list[str]) -> str:
    """Say the keys of a job in short: its own, and the first and last number."""
    first = keys[0]
    last = keys[-1]
    # job/3 or request.2: the common part is said once.
    job = first.rpartition("/")[0] or first.rpartition(".")[0]
    return (
        f"{first} to {last.removeprefix(job)}"
        if len(keys) > 1 and job
        else ", ".join(keys)
    )


def told_noise(
    certified: bool, notes: Sequence[str], usual: Sequence[Fraction | None]
) -> dict[str, Any]:
    """Return how good the noise is, for JSON: one number where the usual errors are alike."""
    errors = [None if x is None else float(x) for x in usual]
    alike = len(set(errors)) == 1
    return {
        "certified": certified,
        "statement": " ".join(notes),
        "usual_loss": errors[0] if alike else errors,
    }


def _without_receipt(release: Release) -> dict[str, Any]:
    return {
        name: value for name, value in release.as_dict().items() if name != "receipt"
    }


def _cells(
    titles: Sequence[str], cells: Sequence[Estimate]
) -> dict[str, dict[str, Any]]:
    return {
        title: {
            "value": _plain(one.value),
            "low": _plain(one.low),
            "high": _plain(one.high),
        }
        | ({"note": one.note} if one.note else {})
        for title, one in zip(titles, cells, strict=True)
    }


def _name(name: Any) -> str:
    """Return the name of a group; a column that a table sums over has none."""
    return "(all)" if name is None else str(name)


@dataclass(frozen=True)
class PublishedNumbers:
    """The numbers of a receipt as texts.

    Attributes
    ----------
    tables
        For each table its lines: the name of a group, and its numbers with their margins.
    level
        The probability of the intervals; empty where there are none.
    heads
        For each table the names of both columns; none where the receipt does not say them.

    Examples
    --------
    >>> print(PublishedNumbers(((("f", "3 ± 1"), ("m", "5 ± 1")), (("all", "8 ± 1"),)), "95 %"))
    f: 3 ± 1, m: 5 ± 1; all: 8 ± 1 (95 %)
    """

    tables: tuple[tuple[tuple[str, str], ...], ...]
    level: str = ""
    heads: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        texts = (
            ", ".join(": ".join(filter(None, line)) for line in table)
            for table in self.tables
        )
        return "; ".join(texts) + (f" ({self.level})" if self.level else "")


def published_numbers(
    receipt: Mapping[str, Any], mechanisms: Sequence[Any]
) -> PublishedNumbers:
    """Return what was published with a receipt: every number and its interval, by the groups.

    What cannot be computed, as without its mechanism, is shown as it was drawn.

    >>> print(published_numbers({"answer": 3, "reading": {"kind": "sum", "offset": 20}}, [None]))
    23
    """
    drawn = receipt["answer"]
    confidence = Fraction(19, 20)
    reading = receipt.get("reading", {"kind": Declared.kind})
    try:
        known = read_record(Reading, reading)
        # Receipts of earlier versions do not name their columns.
        columns = read_record(tuple[str, ...], receipt.get("columns", []))
        # A receipt may be older than the cache: then there is no mechanism and no interval.
        noises = [None if made is None else noise_of(made) for made in mechanisms]
        rows = estimates(known, noises, read_label(drawn), confidence)
    except (TightropeError, LookupError, TypeError, ValueError):
        # An entry of another version may say what is not known here: no list fails on it.
        text = label_text(tuple(drawn) if isinstance(drawn, list) else drawn)
        return PublishedNumbers(((("", text),),))
    if not rows:
        return PublishedNumbers(((("", "no group was large enough"),),))

    job = known.job
    # Only lines of several tables begin with the place of their table; where a line has several
    # numbers, each from a table of its own, it begins with its group.
    is_job = job is not None and job.has_places
    tables: dict[Any, list[tuple[str, str]]] = {}
    heads: dict[Any, tuple[str, str]] = {}
    for names, cells in rows.items():
        place = names[0] if is_job else 0
        groups = names[1:] if is_job else names
        tables.setdefault(place, []).append((
            _group(groups) or ("all" if is_job else ""),
            ", ".join(map(str, cells)),
        ))  # fmt: skip
        # The last columns are numbers; a table has no column that it sums over.
        pairs = zip(columns, names, strict=False)
        grouped = [title for title, name in pairs if name is not None]
        own = _group(grouped[1:] if is_job else grouped)
        heads.setdefault(place, (own or "total", ", ".join(columns[len(names) :])))
    numbers = [number for cells in rows.values() for number in cells]
    each = " each" if len(numbers) > 1 else ""
    has_intervals = any(number.low is not None for number in numbers)
    return PublishedNumbers(
        tuple(map(tuple, tables.values())),
        f"{float(confidence * 100):g} %{each}" if has_intervals else "",
        tuple(heads.values()) if columns else (),
    )


def _group(names: Sequence[Any]) -> str:
    """Return the name of a group; columns that its table sums over are left out.

    >>> _group(("north", "f")), _group(("north", None))
    ('north × f', 'north')
    """
    return " × ".join(str(name) for name in names if name is not None)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value
