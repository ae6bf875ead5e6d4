"""Tables and synthetic people as files: CSV, Parquet or a spreadsheet, by the ending of the name.

A spreadsheet is Office Open XML: a ZIP file with one XML file for each sheet. Of that standard
(ECMA-376, part 1) sheets of numbers and texts need six small files, so no library is needed.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tightrope.errors import InputError, TooLarge
from tightrope.files import FilePath, write_whole
from tightrope.tables import WholeTable

if TYPE_CHECKING:
    import pyarrow as pa

#: The ending of a spreadsheet.
SPREADSHEET = ".xlsx"
ENDINGS = (".csv", ".parquet", SPREADSHEET)
#: The most rows and columns of a sheet, and the longest name of one.
MOST_ROWS = 1 << 20
MOST_COLUMNS = 1 << 14
SHEET_NAME = 31
#: The standard's names for what a part of a spreadsheet is, and for how one belongs to another.
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'


@dataclass(frozen=True)
class Microdata:
    """Synthetic people who reproduce every whole number of a job.

    Attributes
    ----------
    titles, classes
        The columns, and the classes of each.
    table
        How many people are in each combination of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.tables import Domain
    >>> table = WholeTable(Domain.of({"sex": 2, "age": 2}), np.array([[1, 0], [0, 2]]))
    >>> people = Microdata(("sex", "age"), (("f", "m"), ("young", "old")), table)
    >>> people.columns()
    {'sex': ['f', 'm', 'm'], 'age': ['young', 'old', 'old']}
    """

    titles: tuple[str, ...]
    classes: tuple[tuple[Any, ...], ...]
    table: WholeTable

    def columns(self) -> dict[str, list[Any]]:
        """Return the value of every person in each column."""
        places = self.table.rows().T.tolist()
        return {
            title: [classes[place] for place in column]
            for title, classes, column in zip(
                self.titles, self.classes, places, strict=True
            )
        }

    def to_pandas(self) -> Any:
        """Return a pandas data frame with one row for each person."""
        import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame(self.columns())

    def write(self, path: FilePath) -> None:
        """Write one row for each person."""
        write_columns(path, self.columns())


def check_ending(path: FilePath | None) -> None:
    """Refuse a file whose name says nothing that is written here.

    >>> check_ending("people.xml")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: people.xml: tables are written as .csv, .parquet or .xlsx
    """
    if path is not None and Path(path).suffix not in ENDINGS:
        *first, last = ENDINGS
        raise InputError(f"{path}: tables are written as {', '.join(first)} or {last}")


def write_columns(path: FilePath, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of values as a CSV or Parquet file or a spreadsheet, by its ending."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    check_ending(path)
    place = Path(path)
    if place.suffix == SPREADSHEET:
        write_sheets(place, [(place.stem, columns)])
        return
    table = pa.table({title: _array(values) for title, values in columns.items()})
    is_csv = place.suffix == ".csv"
    write = pa.csv.write_csv if is_csv else pa.parquet.write_table
    # Written whole or not at all.
    write_whole(place, lambda file: write(table, file))


def _array(values: Sequence[Any]) -> pa.Array:
    """Return a column; one of numbers and texts, such as an age or "(other)", is of texts."""
    import pyarrow as pa

    # Arrow needs one type for a column: one text makes all of them texts.
    if any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)


# -- spreadsheets -------------------------------------------------------------------------------


def write_sheets(
    path: Path, sheets: Sequence[tuple[str, Mapping[str, Sequence[Any]]]]
) -> None:
    """Write a spreadsheet with one sheet for each name and its columns."""
    for name, columns in sheets:
        rows = max(map(len, columns.values()), default=0)
        # One row is for the titles.
        if rows >= MOST_ROWS or len(columns) > MOST_COLUMNS:
            raise TooLarge(
                f"the sheet {name!r} would have {rows} rows and {len(columns)} columns, and a "
                f"spreadsheet holds {MOST_ROWS - 1} and {MOST_COLUMNS}: write .parquet or .csv"
            )
    names = sheet_names([name for name, _ in sheets])

    def write(file: IO[bytes]) -> None:
        # A spreadsheet is a ZIP of XML parts; a library for it would be a dependency.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
            for part, text in _frame(names).items():
                package.writestr(part, _XML + text)
            for number, (_, columns) in enumerate(sheets, 1):
                with package.open(f"xl/worksheets/sheet{number}.xml", "w") as sheet:
                    # Streamed: a million rows as one text would take gigabytes.
                    for piece in _sheet(columns):
                        sheet.write(piece.encode())

    write_whole(path, write)


def sheet_names(names: Sequence[str]) -> list[str]:
    r"""Return names that sheets may have: 31 characters, none of []:*?/\, each only once.

    >>> sheet_names(["sex", "Sex", "a/b", ""])
    ['sex', 'Sex 2', 'a_b', 'table']
    """
    allowed: list[str] = []
    taken: set[str] = set()
    for name in names:
        # Excel refuses these characters, and quotes at the ends of a name.
        plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", name).strip("'") or "table"
        own = plain[:SHEET_NAME]
        number = 1
        while own.lower() in taken:  # names are compared without regard to case
            number += 1
            own = f"{plain[: SHEET_NAME - 1 - len(str(number))]} {number}"
        taken.add(own.lower())
        allowed.append(own)
    return allowed


def _frame(names: Sequence[str]) -> dict[str, str]:
    """Return the parts of a spreadsheet that say which sheets there are."""
    places = [(n, f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)]
    kinds = "".join(
        f'<Override PartName="/xl/{place}" ContentType="{_CONTENT}.worksheet+xml"/>'
        for _, place in places
    )
    sheets = "".join(
        f'<sheet name="{_text(name)}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(names, 1)
    )
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{_LINKS}/worksheet" Target="{place}"/>'
        for n, place in places
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT}.sheet.main+xml"/>'
        f"{kinds}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}">'
        f"<sheets>{sheets}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{links}</Relationships>",
    }


def _sheet(columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield the XML of a sheet: a row of titles, and the rows."""
    yield f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'
    yield _row(list(columns))
    for values in zip(*columns.values(), strict=True):
        yield _row(values)
    yield "</sheetData></worksheet>"


def _row(values: Sequence[Any]) -> str:
    return f"<row>{''.join(map(_cell, values))}</row>"


def _cell(value: Any) -> str:
    """Return a cell: a number, or a text that no program takes for a formula.

    >>> _cell(3.5), _cell("=1+1"), _cell(None)
    ('<c><v>3.5</v></c>', '<c t="inlineStr"><is><t>=1+1</t></is></c>', '<c/>')
    """
    if value is None:
        return "<c/>"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return f"<c><v>{value!r}</v></c>"
    # Inline text: a cell such as =1+1 is never run as a formula.
    return f'<c t="inlineStr"><is><t>{_text(str(value))}</t></is></c>'


def _text(text: str) -> str:
    """Return a text as XML; characters that XML cannot hold become blanks."""
    return escape(
        re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", " ", text)
    )
