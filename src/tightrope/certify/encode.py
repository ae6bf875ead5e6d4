"""Write the bytes of a mechanism file.

The same design gives the same bytes: the header is canonical JSON, and nothing in it says when
or where it was written.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.container import MAGIC, VERSION
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph

#: Number of integers in one chunk of a section (rounded down to whole columns of weights).
CHUNK = 1 << 20
#: Up to this many labels are listed when no rule describes them.
LISTED_LABELS = 200_000


def encode(header: Mapping[str, Any], sections: Mapping[str, NDArray[Any]], rows: int) -> bytes:
    r"""Return the bytes of a file.

    Parameters
    ----------
    header
        Every field but ``sections``.
    sections
        Arrays of integers by name, flattened in their own order.
    rows
        The number of rows; a chunk of the section ``weights`` holds whole columns.

    Examples
    --------
    >>> data = encode({"query": "path(2)"}, {"prior": np.array([1, 1])}, 2)
    >>> data[:10], len(data[-32:])
    (b'\x89tightrope', 32)
    """
    described, body = [], []
    for name, array in sections.items():
        flat = np.asarray(array).ravel()
        chunk = max(1, CHUNK // rows) * rows if name == "weights" else CHUNK
        width = _width(flat)
        packed = []
        for start in range(0, len(flat), chunk):
            raw = _raw(flat[start : start + chunk], width)
            packed.append(zlib.compress(raw, 6))
        described.append(
            {
                "name": name,
                "width": width,
                "count": len(flat),
                "chunk": chunk,
                "bytes": [len(piece) for piece in packed],
            }
        )
        body += packed
    text = json.dumps(
        {**header, "sections": described}, sort_keys=True, separators=(",", ":")
    ).encode()
    head = MAGIC + VERSION.to_bytes(2, "little") + len(text).to_bytes(4, "little") + text
    data = b"".join([head, *body])
    return data + hashlib.sha256(data).digest()


def _width(flat: NDArray[Any]) -> int:
    if flat.dtype != object:
        return 8
    bits = max((abs(int(x)).bit_length() for x in flat), default=0)
    return -(-(bits + 1) // 64) * 8


def _raw(flat: NDArray[Any], width: int) -> bytes:
    if width == 8:
        return flat.astype("<i8").tobytes()
    return b"".join(int(x).to_bytes(width, "little", signed=True) for x in flat)


def box_of(graph: AnswerGraph) -> list[list[int]] | None:
    """Return sizes and widths when neighbours are those within a box, else ``None``.

    >>> from tightrope.graphs import Clique, PathPower, StrongProduct
    >>> box_of(PathPower(751, 5)), box_of(Clique(4)), box_of(StrongProduct([PathPower(31)] * 2))
    ([[751, 5]], [[4, 3]], [[31, 1], [31, 1]])
    """
    if graph.box is None:
        return None
    return [list(side) for side in graph.box] or [[1, 1]]


def describe_labels(labels: Any, count: int, sizes: list[int] | None) -> dict[str, Any]:
    """Return the labels as a rule where one describes them, else as a list.

    Parameters
    ----------
    labels
        Rule from an index to a label.
    count
        How many there are.
    sizes
        Sizes of the coordinates that tuples may run through.

    Examples
    --------
    >>> describe_labels(lambda i: Fraction(i, 2), 5, None)
    {'start': '0', 'step': '1/2'}
    >>> describe_labels(lambda i: "ab"[i], 2, None)
    {'list': ['a', 'b']}
    """
    sample = range(count) if count <= LISTED_LABELS else _spread(count)
    found = [labels(i) for i in sample]
    if all(isinstance(x, int | Fraction) and not isinstance(x, bool) for x in found):
        start, step = found[0], found[1] - found[0] if count > 1 else 1
        if step and all(start + i * step == x for i, x in zip(sample, found, strict=True)):
            return {"start": str(start), "step": str(step)}
    if sizes and all(x == _digits(i, sizes) for i, x in zip(sample, found, strict=True)):
        return {"sizes": sizes}
    if count > LISTED_LABELS:
        raise TooLarge(
            f"{count} labels that follow no rule do not fit into a mechanism file; "
            f"at most {LISTED_LABELS} do"
        )
    return {"list": [encode_label(x) for x in found]}


def _spread(count: int) -> list[int]:
    return sorted({0, 1, *np.linspace(0, count - 1, 4096).astype(int).tolist()})


def _digits(i: int, sizes: list[int]) -> tuple[int, ...]:
    found = []
    for size in reversed(sizes):
        i, digit = divmod(i, size)
        found.append(digit)
    return tuple(reversed(found))


def encode_label(label: Hashable) -> Any:
    """Return a label as JSON can say it; :func:`decode_label` takes it back.

    >>> decode_label(encode_label((1, Fraction(1, 2), "x", None)))
    (1, Fraction(1, 2), 'x', None)
    """
    if label is None or isinstance(label, str | bool):
        return label
    if isinstance(label, int | np.integer):
        return int(label)
    if isinstance(label, Fraction):
        return {"fraction": str(label)}
    if isinstance(label, float | np.floating):
        return {"float": float(label).hex()}
    if isinstance(label, tuple):
        return [encode_label(part) for part in label]
    raise InputError(f"a label must be a number, a text or a tuple of them, got {label!r}")


def decode_label(value: Any) -> Hashable:
    """Return the label that a mechanism file holds.

    >>> decode_label({"fraction": "3/2"})
    Fraction(3, 2)
    """
    if isinstance(value, list):
        return tuple(decode_label(part) for part in value)
    if isinstance(value, dict):
        try:
            if set(value) == {"fraction"}:
                return Fraction(value["fraction"])
            if set(value) == {"float"}:
                return float.fromhex(value["float"])
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            pass
        raise InputError(f"a label of the mechanism file cannot be read: {str(value)[:40]!r}")
    if value is None or isinstance(value, str | bool | int):
        return value
    raise InputError(f"a label of the mechanism file cannot be read: {value!r}")
