"""Points in CSV files, with labels and coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from tightrope.errors import InputError
from tightrope.graphs.fields import csv_rows, number, shortened, typed_labels
from tightrope.graphs.points import METRICS, PointsGraph

_LABEL_COLUMNS = ("label", "name", "id")
_DEGREES = {"lat": 0, "latitude": 0, "lon": 1, "lng": 1, "long": 1, "longitude": 1}


def read_points(path: str | Path, metric: str = "euclidean") -> PointsGraph:
    r"""Read points from a CSV file, one a line.

    A first line without numbers names the columns: one called ``label``, ``name`` or ``id``
    holds the labels, all others are coordinates (for ``haversine``: ``lat`` and ``lon``).
    Without such a line, a first field that is not a number is the label.

    Parameters
    ----------
    path
        The file; at most ``FILE_LIMIT`` bytes are read.
    metric
        As for :class:`PointsGraph`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "towns.csv")
    ...     _ = place.write_text("name,lon,lat\nParis,2.35,48.86\nBerlin,13.40,52.52\n")
    ...     towns = read_points(place, metric="haversine")
    >>> towns.labels, round(towns.diameter)
    (['Paris', 'Berlin'], 877)
    """
    if metric not in METRICS:
        raise InputError(f"the metric must be one of {', '.join(METRICS)}, got {metric!r}")
    rows: Iterator[tuple[int, list[str]]] = csv_rows(path)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path}: the file holds no points")
    line, fields = first
    names = fields if not any(map(_is_number, fields)) else None
    label_column = _label_column(fields, names)
    columns = _coordinate_columns(len(fields), names, label_column, metric, f"{path}:{line}")
    if not columns:
        raise InputError(f"{path}:{line}: a point needs at least one coordinate")
    points: list[list[float]] = []
    labels: list[str] = []
    seen: dict[str, int] = {}
    if names is None:
        rows = itertools.chain([first], rows)
    for line, row in rows:
        place = f"{path}:{line}"
        if len(row) != len(fields):
            raise InputError(f"{place}: expected {len(fields)} fields as above, got {len(row)}")
        points.append([number(row[k], place, "a coordinate") for k in columns])
        if label_column is not None:
            label = row[label_column]
            if not label:
                raise InputError(f"{place}: the label is empty")
            if label in seen:
                raise InputError(
                    f"{place}: the label {shortened(label)} is given again (see line {seen[label]})"
                )
            seen[label] = line
            labels.append(label)
    if not points:
        raise InputError(f"{path}: the file holds no points")
    try:
        return PointsGraph(
            points,
            metric=metric,
            labels=typed_labels(labels) if labels else None,
            name=Path(path).stem,
        )
    except InputError as refused:
        raise type(refused)(f"{path}: {refused}") from None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _label_column(fields: list[str], names: list[str] | None) -> int | None:
    if names is None:
        return None if _is_number(fields[0]) else 0
    found = [k for k, name in enumerate(names) if name.lower() in _LABEL_COLUMNS]
    return found[0] if found else None


def _coordinate_columns(
    width: int, names: list[str] | None, label: int | None, metric: str, place: str
) -> list[int]:
    columns = [k for k in range(width) if k != label]
    if metric != "haversine" or names is None:
        return columns
    degrees = [_DEGREES.get(names[k].lower(), -1) for k in columns]
    if sorted(degrees) != [0, 1]:
        raise InputError(f"{place}: haversine needs the columns lat and lon, got {','.join(names)}")
    return sorted(columns, key=lambda k: _DEGREES[names[k].lower()])
