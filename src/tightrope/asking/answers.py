"""Published numbers: each with its interval, as a table, in HTML, as a data frame, as a plot."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from tightrope.certify import ScoreMechanism
from tightrope.errors import InputError, TightropeError
from tightrope.publish.accounts import shown
from tightrope.publish.entries import read_record
from tightrope.publish.intervals import (
    Number,
    confidence_set,
    level_of,
    margin_text,
    score_error,
    whole,
)
from tightrope.publish.releasing import Release
from tightrope.publish.shapes import Kind, Reading, Shape, read_label
from tightrope.report.texts import label_text
from tightrope.texts import html_table

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism


@dataclass(frozen=True)
class Estimate:
    """A published number and the interval that holds the true one, or how near to it that is.

    >>> str(Estimate(432, 402, 462))
    '432 ± 30'
    """

    value: Any
    low: Number | None = None
    high: Number | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value}, {self.note}" if self.note else str(self.value)
        return margin_text(self.value, self.low, self.high)


#: In the place of a number that a group does not have: everybody else has a count only.
MISSING = Estimate("–")


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
        Whether all of the noise is proved to be the best; the notes say among which.

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
    def delta(self) -> Fraction:
        """The δ that was charged with ε: for groups that nobody declared."""
        paid = (release.receipt["charges"][0] for release in self.releases)
        return sum((Fraction(charge.get("delta", 0)) for charge in paid), Fraction(0))

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
        beside = ["" if x is None else f"± {float(x):.4g}" for x in self.usual] if usual else []
        more = [f"{title}, usual noise" for title in self.titles] if usual else []
        lines = [[*self.keys, *_woven(self.titles, more)]]
        return lines + [
            [*map(str, names), *_woven(map(str, told), beside)] for names, told in self.rows
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each group, with the ends of the intervals."""
        found = []
        for names, told in self.rows:
            line: dict[str, Any] = dict(zip(self.keys, names, strict=True))
            for title, one in zip(self.titles, told, strict=True):
                line[title] = None if one == MISSING else _plain(one.value)
                if one.low is not None:
                    line |= {f"{title} low": _plain(one.low), f"{title} high": _plain(one.high)}
                if one.note:
                    line[f"{title} error"] = one.note
            found.append(line)
        return found

    def to_pandas(self) -> Any:
        """Return the answer as a pandas data frame."""
        import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame(self.records())

    def to_polars(self) -> Any:
        """Return the answer as a Polars data frame."""
        import polars

        return polars.DataFrame(self.records(), infer_schema_length=None)

    def plot(self, title: str | None = None) -> Any:
        """Return a Matplotlib figure: each number as a point with its interval."""
        from matplotlib.figure import Figure

        some = [title] if title is not None else list(self.titles)
        names = [", ".join(map(str, names)) or self.name for names, _ in self.rows]
        height = max(1.6, 0.32 * len(names) + 0.8)
        figure = Figure(figsize=(4.2 * len(some), height), layout="constrained")
        for axes, word in zip(figure.subplots(1, len(some), squeeze=False)[0], some, strict=True):
            place = self.titles.index(word)
            for y, (_, told) in enumerate(self.rows):
                one = told[place]
                if one.low is not None and one.high is not None:
                    axes.plot([float(one.low), float(one.high)], [y, y], lw=2, color="0.6")
                    axes.plot([float(one.value)], [y], "o", color="C0")
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            axes.set_xlabel(f"{word} ({float(self.confidence) * 100:.4g} % intervals)")
        return figure

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope ask`` prints as JSON; a receipt for each draw, if several."""
        receipts = [release.receipt for release in self.releases]
        return {
            "name": self.name or None,
            "columns": [*self.keys, *self.titles],
            "rows": [
                {**dict(zip(self.keys, names, strict=True)), **_cells(self.titles, told)}
                for names, told in self.rows
            ],
            "confidence": float(self.confidence),
            "simultaneous": self.simultaneous,
            "epsilon": self.epsilon,
            "charged": str(self.charged),
            **({"delta": str(self.delta)} if self.delta else {}),
            "remaining": str(self.remaining),
            "receipt": receipts[0] if len(receipts) == 1 else receipts,
            "fresh": self.fresh,
            "releases": [_without_receipt(release) for release in self.releases],
            **told_noise(self.certified, self.notes, self.usual),
        }

    def facts(self) -> dict[str, str]:
        """Return how sure the numbers are, the cost and what is left, in words."""
        return told_costs([self])

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        head, *lines = self.table()
        told = "; ".join(f"{word}: {text}" for word, text in self.facts().items())
        under = " ".join([f"{told}.", *self.notes])
        return f"{html_table(lines, head)}<p>{escape(under)}</p>"


def told_costs(answers: Sequence[Answer]) -> dict[str, str]:
    """Say how sure the numbers are, what was paid for all of them, and what is left."""
    fresh, last = [one for one in answers if one.fresh], answers[-1]
    paid = sum((one.charged for one in fresh), Fraction(0))
    slack = sum((one.delta for one in fresh), Fraction(0))
    words = f"ε = {shown(paid)}" + (f", δ = {float(slack):g}" if slack else "")
    if len(fresh) < len(answers):
        words += " (the rest was answered before)"
    by = last.releases[-1]
    if by.series is not None:
        words = f"by the series {by.series}, in which {by.left} releases are left"
    return {
        "intervals": f"{float(last.confidence) * 100:.4g} % "
        + ("for all of an answer at once" if last.simultaneous else "each"),
        "paid": words if fresh else "nothing: answered before",
        "left": f"{shown(last.remaining)} of the budget of table {by.receipt['table']}",
        "key": _keys([release.key for one in answers for release in one.releases]),
    }


def _keys(keys: list[str]) -> str:
    """Say the keys of a job in short: its own, and the first and last number."""
    first, last = keys[0], keys[-1]
    job = first.rpartition("/")[0] or first.rpartition(".")[0]
    return f"{first} to {last.removeprefix(job)}" if len(keys) > 1 and job else ", ".join(keys)


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
    return {name: value for name, value in release.as_dict().items() if name != "receipt"}


def _cells(titles: Sequence[str], told: Sequence[Estimate]) -> dict[str, dict[str, Any]]:
    return {
        title: {"value": _plain(one.value), "low": _plain(one.low), "high": _plain(one.high)}
        | ({"note": one.note} if one.note else {})
        for title, one in zip(titles, told, strict=True)
    }


def _woven(texts: Iterable[str], more: Sequence[str]) -> list[str]:
    """Put each of the second texts behind one of the first, where there are second ones."""
    if not more:
        return list(texts)
    return [text for pair in zip(texts, more, strict=True) for text in pair]


def estimates(
    reading: Reading, mechanisms: Sequence[AnyMechanism | None], answer: Any, confidence: Any
) -> dict[tuple[Any, ...], tuple[Estimate, ...]]:
    """Return the numbers of one released question, by the names of the groups.

    Parameters
    ----------
    reading, mechanisms
        How outputs become numbers, and what they were drawn from; without it, one has no interval.
    answer
        What was released.
    confidence
        The level of the intervals.
    """
    found = _in_steps(reading, mechanisms, answer, level_of(confidence))
    if reading.step == 1:
        return found
    kinds = reading.shows if reading.kind == Kind.MEAN else (reading.kind,)
    scales = [reading.step if k in (Kind.SUM, Kind.MEAN, Kind.QUANTILE) else 1 for k in kinds]
    return {
        name: tuple(_scaled(one, 0, scale) for one, scale in zip(told, scales, strict=True))
        for name, told in found.items()
    }


def _in_steps(
    reading: Reading, mechanisms: Sequence[AnyMechanism | None], answer: Any, level: Fraction
) -> dict[tuple[Any, ...], tuple[Estimate, ...]]:
    made, names, kind = mechanisms[0], reading.names, reading.kind
    # Sums and values of several groups are a list; that of one group stands by itself.
    drawn = answer[0] if isinstance(answer, tuple) and answer else (answer,)
    if kind == Kind.FOUND:
        names = tuple((name,) for name, _ in answer)
        told = [tuple(_each(mechanisms[1], output, level)) for _, output in answer]
    elif kind == Kind.QUANTILE and len(mechanisms) == 2:  # the ends of an interval
        pairs = (sorted(pair) for pair in zip(*answer, strict=True))
        told = [(Estimate(whole(Fraction(low + high, 2)), low, high),) for low, high in pairs]
    elif kind in (Kind.MOST, Kind.QUANTILE):
        note = str(score_error(made, level)) if isinstance(made, ScoreMechanism) else ""
        told = [(Estimate(reading.values[x] if reading.values else x, note=note),) for x in drawn]
    elif kind == Kind.MODULO:
        told = [(Estimate(answer),)]
    elif kind in (Kind.COUNTS, Kind.DECLARED):
        told = [tuple(_each(made, answer, level))]
    elif kind == Kind.COUNT:
        told = [(one,) for one in _each(made, answer, level)]
    elif len(mechanisms) == 2:
        told = _quotients(reading, mechanisms, answer, level)
    else:
        shows = reading.shows if kind == Kind.MEAN else (Kind.SUM,)
        scales = [Fraction(1, reading.people) if one == Kind.MEAN else 1 for one in shows]
        found = [_each(made, output, level)[0] for output in drawn]
        told = [tuple(_scaled(one, reading.offset, scale) for scale in scales) for one in found]
    # Everybody else has a count only: without one, no line.
    return dict(zip(names[: len(told)], told, strict=True))


def _quotients(
    reading: Reading, mechanisms: Sequence[AnyMechanism | None], answer: Any, level: Fraction
) -> list[tuple[Estimate, ...]]:
    """Return the numbers that a sum and a count are drawn for: means, sums and counts."""
    if None in mechanisms:
        raise InputError("a mean without its mechanisms has no interval")
    made, offset, shows = mechanisms[0], reading.offset, reading.shows
    # Both the sum and the count are in their intervals with the level, by Bonferroni.
    each = 1 - (1 - level) / 2
    sums = [_scaled(_each(made, y, each)[0], offset, 1) for y in answer[0]]
    counts, alone = (_each(mechanisms[1], answer[1][0], one) for one in (each, level))
    offset += reading.centre * reading.people

    def numbers(place: int) -> Iterable[Estimate]:
        for kind in shows:
            if kind not in (Kind.SUM, Kind.MEAN):
                yield alone[place]
            elif place >= len(sums):
                yield MISSING
            elif kind == Kind.MEAN:
                yield _quotient(reading, sums[place], counts[place])
            elif reading.is_fixed:
                yield _scaled(_each(made, answer[0][place], level)[0], offset, 1)
            else:
                yield _whole_sum(reading, sums[place], counts[place])

    has_count = set(shows) - {Kind.SUM, Kind.MEAN}
    return [tuple(numbers(place)) for place in range(len(counts) if has_count else len(sums))]


@functools.lru_cache(maxsize=4096)
def _each(mechanism: AnyMechanism | None, answer: Any, level: Fraction) -> list[Estimate]:
    assert not isinstance(mechanism, ScoreMechanism)
    if mechanism is None:
        return [Estimate(value) for value in (answer if isinstance(answer, tuple) else (answer,))]
    found, guess = confidence_set(mechanism, answer, level), mechanism.guess(answer)
    if not found.bounds:
        return [Estimate(guess, note=str(found))]
    values = guess if isinstance(guess, tuple) else (guess,)
    return [Estimate(value, *ends) for value, ends in zip(values, found.bounds, strict=True)]


def _scaled(one: Estimate, offset: int, scale: Number) -> Estimate:
    if one.low is None or one.high is None:
        is_number = isinstance(one.value, int)
        return replace(one, value=whole((one.value + offset) * scale)) if is_number else one
    value, low, high = (whole((x + offset) * scale) for x in (one.value, one.low, one.high))
    return Estimate(value, low, high)


def _quotient(reading: Reading, total: Estimate, count: Estimate) -> Estimate:
    """Return a mean and its interval from those of a sum and a count; both within the bounds."""
    low, high = reading.bounds

    def mean(top: Any, bottom: Any) -> Number:
        return whole(
            min(max(reading.centre + Fraction(top) / bottom, Fraction(low)), Fraction(high))
        )

    value = mean(total.value, max(count.value, 1))
    if not count.low:  # it may be nobody at all: every mean within the bounds is possible
        return Estimate(value, low, high)
    ends = [mean(top, end) for top in (total.low, total.high) for end in (count.low, count.high)]
    return Estimate(value, min(ends), max(ends))


def _whole_sum(reading: Reading, total: Estimate, count: Estimate) -> Estimate:
    """Return a sum and its interval from those of the centred sum and of the count."""
    ends = (count.low, count.high) if reading.centre >= 0 else (count.high, count.low)
    pairs: Any = zip((total.value, total.low, total.high), (count.value, *ends), strict=True)
    value, low, high = (whole(x + reading.centre * n) for x, n in pairs)
    return Estimate(value, low, high)


def published_text(receipt: Mapping[str, Any], mechanisms: Sequence[AnyMechanism | None]) -> str:
    """Say what was published with a receipt: every number and its interval, by the groups.

    What cannot be computed, as without its mechanism, is told as it was drawn.

    >>> published_text({"answer": 3, "reading": {"kind": "sum", "offset": 20}}, [None])
    '23'
    """
    drawn, sure = receipt["answer"], Fraction(19, 20)
    reading = receipt.get("reading", {"kind": Kind.DECLARED.value})
    try:
        known = read_record(Reading, reading)
        rows = estimates(known, mechanisms, read_label(drawn), sure)
    except (TightropeError, LookupError, TypeError, ValueError):
        # An entry of another version may say what is not known here: no list fails on it.
        return label_text(tuple(drawn) if isinstance(drawn, list) else drawn)
    lines = (": ".join(filter(None, [label_text(name), ", ".join(map(str, told))]))
             for name, told in rows.items())  # fmt: skip
    numbers = [one for told in rows.values() for one in told]
    each = " each" if len(numbers) > 1 else ""
    level = f" ({float(sure * 100):g} %{each})" if any(x.low is not None for x in numbers) else ""
    return ", ".join(lines) + level if rows else "no group was large enough"


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def arranged(rows: Iterable[Any], shape: Shape, titles: Sequence[str]) -> tuple[Any, ...]:
    """Sort the lines of an answer, names as they were declared, and keep the first ones.

    >>> from tightrope.publish.facts import Table
    >>> rows = [((), (Estimate(3),)), ((), (Estimate("–"),)), ((), (Estimate(7),))]
    >>> shape = Shape(Kind.COUNT, Table("people", 9), order=(("n", True),), limit=2)
    >>> [told[0].value for _, told in arranged(rows, shape, ["n"])]
    [7, 3]
    """
    found = list(rows)
    for title, falling in reversed(shape.order):
        if title in shape.keys:
            at = shape.keys.index(title)
            names = list(dict.fromkeys(row[0][at] for row in rows))
            found = sorted(found, key=lambda row: names.index(row[0][at]), reverse=falling)
        else:
            at = titles.index(title)
            # Values of bins may be texts and numbers; what is not there comes last either way.
            found.sort(key=lambda row: _in_order(row[1][at].value), reverse=falling)
            found.sort(key=lambda row: row[1][at] == MISSING)
    return tuple(found[: shape.limit])


def _in_order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value
