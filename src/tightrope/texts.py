r"""Texts in and out: the one reader of texts such as ``sum(150,5)`` or ``file:a.csv``, and tables.

What is read::

    call       = name [ "(" [ arguments ] ")" ] | name ":" rest
    arguments  = argument { "," argument }
    name       = letter { letter | digit | "_" }

Blanks are allowed between the parts. Every error points at the first character that does not fit.
Numbers are read exactly: a float is the decimal that prints as it, so ``0.1`` is 1/10.
"""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from html import escape

from tightrope.errors import InputError, TextError

#: A decimal: ``.3``, ``1e-4``. The exponent is short, so that no text is a giant integer.
DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
#: A decimal or a fraction of two: ``1/3``.
NUMBER = re.compile(rf"[+-]?{DECIMAL}(?:\s*/\s*{DECIMAL})?")
#: Longest text that is read as one number or one answer.
LONGEST_TOKEN = 400


def read_exact(text: str) -> Fraction:
    """Return the rational number of a text.

    >>> read_exact(".3"), read_exact("1/3"), read_exact("1e-2")
    (Fraction(3, 10), Fraction(1, 3), Fraction(1, 100))
    """
    plain = text.strip()
    if len(plain) > LONGEST_TOKEN or not NUMBER.fullmatch(plain):
        raise InputError(f"expected a number such as 0.3 or 1/3, got {text[:40]!r}")
    above, _, below = plain.partition("/")
    divisor = Fraction(below.strip() or 1)
    if divisor == 0:
        raise InputError(f"a number must not divide by zero, got {text[:40]!r}")
    return Fraction(above.strip()) / divisor


def to_exact(value: object) -> Fraction:
    """Return a number exactly; a float is the decimal that prints as it, a text is read.

    >>> to_exact(0.1), to_exact("0.1"), to_exact(Fraction(1, 3))
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 3))
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, str):
        return read_exact(value)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(repr(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected a finite number, got {str(value)[:40]!r}") from None


@dataclass(frozen=True)
class Call:
    """What a text says: a name, and what is in brackets or after a colon.

    Attributes
    ----------
    text
        The whole text.
    name
        The name in front.
    args, places
        The arguments as they are written, and where each begins.
    rest
        What comes after the colon, without blanks at its ends; ``None`` without a colon.
    brackets
        Whether there were brackets.
    end
        Where the arguments end: the place of the closing bracket, or the end of the text.

    Examples
    --------
    >>> call = read_call("sum( 150, 5 )", "query", ["sum(u,v)", "graph:FILE"])
    >>> call.name, call.args, str(call)
    ('sum', ('150', '5'), 'sum(150,5)')
    """

    text: str
    name: str
    args: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    rest: str | None = None
    brackets: bool = False
    end: int = 0

    def error(self, message: str, argument: int | None = None) -> TextError:
        """Return the error that points at an argument, or behind the last one."""
        return TextError(
            message, self.text, self.end if argument is None else self.places[argument]
        )

    def __str__(self) -> str:
        if self.rest is not None:
            return f"{self.name}:{self.rest}"
        if not self.brackets:
            return self.name
        return f"{self.name}({','.join(self.args)})"


def read_call(
    text: str,
    kind: str,
    forms: Iterable[str],
    *,
    argument: re.Pattern[str] = NUMBER,
    wanted: str = "a number such as .3 or 1/3",
    longest: int = 10_000,
) -> Call:
    """Read a name with its arguments.

    Parameters
    ----------
    text
        The text.
    kind
        What the text describes, in messages: ``query``, ``prior``, ``loss``.
    forms
        The names that are known, each alone or in the form of its use. A colon in the form says
        that the name is followed by a colon and free text: ``file:FILE``.
    argument
        What one argument looks like.
    wanted
        What an argument must be, in messages.
    longest
        Largest number of characters of the text.

    Examples
    --------
    >>> read_call("file: a b.csv ", "prior", ["uniform", "binomial(p)", "file:FILE"]).rest
    'a b.csv'
    >>> read_call("binomal(1/2)", "prior", ["uniform", "binomial(p)", "file:FILE"])
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown prior 'binomal' (did you mean 'binomial(p)'?) at
    character 1 of 'binomal(1/2)': ▸binomal(1/2)
    """
    if len(text) > longest:
        raise InputError(
            f"a {kind} text has at most {longest} characters, got {len(text)}"
        )
    known = {re.split(r"\W", form)[0]: form for form in forms}
    start = _skip(text, 0)
    word = re.compile(r"[A-Za-z][A-Za-z0-9_]*").match(text, start)
    if word is None:
        example = next(
            (form for form in known.values() if "(" in form), next(iter(known.values()))
        )
        raise TextError(
            f"expected the name of a {kind}, such as {example},", text, start
        )
    name = word[0]
    place = _skip(text, word.end())
    if name not in known:
        raise TextError(
            f"unknown {kind} {name[:40]!r}{_suggestion(name, known)}", text, start
        )
    if ":" in known[name]:
        rest = text[place + 1 :].strip()
        if text[place : place + 1] != ":" or not rest:
            place = len(text) if text[place : place + 1] == ":" else place
            what = ", with the name of a file" if known[name].endswith("FILE") else ""
            raise TextError(f"expected {known[name]}{what}", text, place)
        return Call(text, name, rest=rest, end=len(text))
    args: list[tuple[str, int]] = []
    opened = text[place : place + 1] == "("
    end = place
    if opened:
        place = _skip(text, place + 1)
        if text[place : place + 1] != ")":
            wanted = f"{wanted} in {known[name]}"
            args, place = read_list(text, place, ")", argument=argument, wanted=wanted)
        end, place = place, _skip(text, place + 1)
    if place < len(text):
        raise TextError(
            "expected the end" if opened else "expected '(' or the end", text, place
        )
    return Call(
        text,
        name,
        tuple(a for a, _ in args),
        tuple(p for _, p in args),
        None,
        opened,
        end,
    )


def read_list(
    text: str,
    place: int = 0,
    closing: str = "",
    *,
    argument: re.Pattern[str] = NUMBER,
    wanted: str = "a number such as .3 or 1/3",
    longest: int = 400,
) -> tuple[list[tuple[str, int]], int]:
    """Read arguments with commas between them; return each with its place, and where they end.

    The list ends before the closing sign, or with the text where there is none.

    >>> read_list("(.3, 1/2)", 1, ")")
    ([('.3', 1), ('1/2', 5)], 8)
    """
    items: list[tuple[str, int]] = []
    while True:
        place = _skip(text, place)
        item = argument.match(text, place)
        if item is None or len(item[0]) > longest:
            raise TextError(f"expected {wanted}", text, place)
        if re.search(r"/\s*[0.]*(?:[eE]|$)", item[0]):
            raise TextError(
                "expected a number that does not divide by zero", text, place
            )
        items.append((item[0], place))
        place = _skip(text, item.end())
        sign = text[place : place + 1]
        if sign == closing:
            return items, place
        if sign != ",":
            raise TextError(
                f"expected ',' or {repr(closing) if closing else 'the end'}",
                text,
                place,
            )
        place += 1


def _skip(text: str, place: int) -> int:
    """Return the place of the next character that is not blank."""
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _suggestion(name: str, known: dict[str, str]) -> str:
    close = difflib.get_close_matches(name.lower()[:40], known, n=2)
    if not close:
        return f" (known: {', '.join(known.values())})"
    suggestions = " or ".join(repr(known[match]) for match in close)
    return f" (did you mean {suggestions}?)"


def bound_text(bound: Fraction | float, digits: int = 4) -> str:
    """Write a bound for people: rounded up to so many digits, without an exponent.

    >>> bound_text(599179), bound_text(Fraction(1, 3)), bound_text(Fraction(46000, 3))
    ('599,179', '0.3334', '15,334')
    >>> bound_text(0), bound_text(0.5)
    ('0', '0.5')
    """
    exact = Fraction(bound)
    if exact.denominator == 1:
        return f"{int(exact):,}"
    exponent = math.floor(math.log10(abs(exact)))
    places = max(digits - 1 - exponent, 0)
    # In whole units, so that no digit is lost to a float.
    units = math.ceil(exact * 10**places)
    text = f"{Decimal(units).scaleb(-places):,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def percent_text(share: Fraction | float, *, down: bool = False) -> str:
    """Write a probability in percent, with three digits: the nearest, or none above it.

    >>> percent_text(0.160018), percent_text(Fraction(2, 3)), percent_text(1)
    ('16 %', '66.7 %', '100 %')
    >>> percent_text(Fraction(2, 3), down=True)
    '66.6 %'
    """
    percent = 100 * Fraction(share)
    if percent == 0:
        return "0 %"
    places = max(2 - math.floor(math.log10(percent)), 0)
    scaled = percent * 10**places
    units = math.floor(scaled) if down else round(scaled)
    text = f"{Decimal(units).scaleb(-places):.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if places else text} %"


@dataclass(frozen=True)
class TextTable:
    """A table of texts with what a page needs to show it.

    Attributes
    ----------
    title
        What it is called.
    lines
        The titles of its columns, and below them its rows.
    notes
        What stands below it.
    heat
        For the cells of a heat map, by row and column: their share of the largest number.

    Examples
    --------
    >>> TextTable("", [["sex"], ["f"]], heat={(0, 0): 1.0}).html
    '<table><tr><th>sex</th></tr><tr><td style="--heat:100%">f</td></tr></table>'
    """

    title: str
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    heat: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def html(self) -> str:
        """The lines as a table of a page."""
        head, *rows = self.lines
        return html_table(rows, head, heat=self.heat)


def html_table(
    rows: Iterable[Sequence[object]],
    head: Sequence[str] = (),
    caption: str = "",
    heat: Mapping[tuple[int, int], float] | None = None,
) -> str:
    """Return a table for a page: below titles, or with the first of each row as its title.

    The style of the page decides how the share of the largest number (``heat``) colours a cell.

    >>> html_table([("answers", 5)]), html_table([("a", "<b>")], ["name", "text"])
    ('<table><tr><th>answers</th><td>5</td></tr></table>',
     '<table><tr><th>name</th><th>text</th></tr><tr><td>a</td><td>&lt;b&gt;</td></tr></table>')
    """
    shares = heat or {}

    def line(kinds: Iterable[str], cells: Sequence[object], row: int = -1) -> str:
        inside = []
        for place, (kind, cell) in enumerate(zip(kinds, cells, strict=False)):
            share = shares.get((row, place))
            style = "" if share is None else f' style="--heat:{100 * share:.3g}%"'
            inside.append(f"<{kind}{style}>{escape(str(cell))}</{kind}>")
        return f"<tr>{''.join(inside)}</tr>"

    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    above += line(itertools.repeat("th"), head) if head else ""
    first = "td" if head else "th"
    body = (
        line(itertools.chain([first], itertools.repeat("td")), row, number)
        for number, row in enumerate(rows)
    )
    return f"<table>{above}{''.join(body)}</table>"
