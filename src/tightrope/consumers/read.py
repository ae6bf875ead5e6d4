"""Priors, losses and supports from texts, files, arrays and tables.

The text of a prior follows a small grammar::

    prior   = "uniform" | family "(" numbers ")" | numbers | "file:" FILE
    family  = "binomial" | "geometric" | "poisson" | "product"
    numbers = number { "," number }          number = .3 | 1e-4 | 1/3
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.consumers.files import is_json, read_json, read_rows
from tightrope.consumers.line import on_a_line
from tightrope.consumers.losses import Loss, MatrixLoss
from tightrope.consumers.named_losses import BinaryLoss, CoordinateLoss, DistanceLoss
from tightrope.consumers.numerals import LONGEST_TOKEN, NUMBER, find_answer, to_float
from tightrope.consumers.priors import DensePrior, Prior
from tightrope.consumers.product_prior import ProductPrior
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import AnswerGraph, ProductGraph
from tightrope.graphs.base import ROW_LIMIT

#: Largest number of calls made to a loss that is a Python function.
CALL_LIMIT = 10_000_000

#: The names that a text may use for a loss.
LOSS_NAMES = ("binary", "absolute", "squared", "distance")

_FAMILIES = ("binomial", "geometric", "poisson", "product")
_FORMS = "uniform, binomial(p), geometric(p), poisson(mean), product(p,…), numbers or file:FILE"
_WORD = re.compile(r"[A-Za-z_]+")
_SPACE = re.compile(r"\s*")


def prior(value: Any, graph: AnswerGraph, *, folder: str | Path = ".") -> Prior:
    r"""Return the prior over the answers of a graph that a text or a value stands for.

    Parameters
    ----------
    value
        - ``"uniform"``, which is never listed, however many answers there are;
        - ``"binomial(.3)"``, ``"geometric(.5)"``, ``"poisson(4)"``: over the number
          :math:`k = 0 … n-1` of the answer in its order, conditioned on :math:`k < n`. They are
          for answers on a line (counts, sums, means, paths), and refused elsewhere, where the
          numbering of the nodes means nothing;
        - ``"0.1,0.2,0.7"`` or ``"1/3,1/3,1/3"``: one number for each answer;
        - ``"product(.3,.27,.23,.2)"``: for ``databases(u,v)`` and other products of equal
          graphs, the same independent prior in every coordinate;
        - ``"file:FILE"``: JSON (by the ending ``.json``) with a list, an object from answers to
          probabilities, or a list of pairs; otherwise CSV with one number a line, or
          ``answer,probability`` lines in any order, with or without these words as a header;
        - an array, a mapping from every answer to its probability, or a :class:`Prior`.
    graph
        The answer graph.
    folder
        Where relative files are looked for.

    Examples
    --------
    >>> from tightrope.graphs import Band, CartesianProduct, Clique
    >>> prior("binomial(1/2)", Band(3)).exact
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    >>> prior({1: 0.75, 0: 0.25}, Clique(2)).probabilities.tolist()
    [0.25, 0.75]
    >>> prior("product(.3,.27,.23,.2)", CartesianProduct([Clique(4)] * 20)).size == 4**20
    True
    >>> prior("binomial(.3", Band(3))
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected ',' or ')' at character 12 of 'binomial(.3': binomial(.3▸
    """
    if isinstance(value, str):
        found = _prior_from_text(value, graph, Path(folder))
    elif isinstance(value, Prior):
        found = value
    elif isinstance(value, Mapping):
        found = _prior_from_pairs(value.items(), graph, "the mapping")
    else:
        found = DensePrior(value)
    if found.size != graph.size:
        raise InputError(
            f"a prior over {graph.name} needs {graph.size} probabilities, got {found.size}"
        )
    return found


def loss(value: Any, graph: AnswerGraph, *, folder: str | Path = ".") -> Loss:
    r"""Return the loss over the answers of a graph that a text or a value stands for.

    Parameters
    ----------
    value
        - ``"binary"``: 1 for every wrong guess;
        - ``"absolute"``, ``"squared"``: :math:`|i-k|` and :math:`(i-k)^2` of the answers as
          numbers; tuples of numbers are added up over their coordinates;
        - ``"distance"``: the distance in the answer graph;
        - ``"file:FILE"``: a matrix as CSV rows, or as JSON (by the ending ``.json``);
        - a matrix with one row for each answer and one column for each guess, a function of the
          true answer and the guessed answer, or a :class:`Loss`.
    graph
        The answer graph.
    folder
        Where relative files are looked for.

    Examples
    --------
    >>> from tightrope.graphs import Band
    >>> loss("squared", Band(4)).row(0).tolist()
    [0.0, 1.0, 4.0, 9.0]
    >>> loss(lambda truth, guess: max(0, truth - guess), Band(3)).row(2).tolist()
    [2.0, 1.0, 0.0]
    >>> loss("cubic", Band(4))
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected binary, absolute, squared, distance or file:FILE
    at character 1 of 'cubic': ▸cubic
    """
    if isinstance(value, str):
        found = _loss_from_text(value, graph, Path(folder))
    elif isinstance(value, Loss):
        found = value
    elif callable(value):
        found = _loss_from_function(value, graph)
    else:
        found = _matrix_loss(value, graph, "matrix")
    if found.size != graph.size:
        raise InputError(
            f"a loss over {graph.name} needs {graph.size} rows, one for each answer, "
            f"got {found.size}"
        )
    return found


def support(value: Any, graph: AnswerGraph) -> list[int]:
    """Return the nodes of the possible answers of a risk-averse consumer.

    Parameters
    ----------
    value
        ``"all"``, answers and ranges of answers such as ``"0,3,5..8"`` (ends included, in node
        order), or an iterable of answers. A tuple answer is written ``(2,0)``.
    graph
        The answer graph.

    Examples
    --------
    >>> from tightrope.graphs import Band
    >>> support("0,3..5", Band(8)), support([7], Band(8))
    ([0, 3, 4, 5], [7])
    """
    if isinstance(value, str):
        if value.strip() == "all":
            if graph.size > ROW_LIMIT:
                raise TooLarge(f"a support lists at most {ROW_LIMIT} answers, got {graph.size}")
            return list(range(graph.size))
        return [node for start, part in _parts(value) for node in _span(start, part, value, graph)]
    if not isinstance(value, Iterable):
        raise InputError(f"a support must be a text or a list of answers, got {value!r}")
    return [find_answer(graph, label) for label in value]


# -- priors -------------------------------------------------------------------------------


def _prior_from_text(text: str, graph: AnswerGraph, folder: Path) -> Prior:
    start = _skip(text, 0)
    word = _WORD.match(text, start)
    if word is None:
        if start == len(text) or text[start] not in "+-.0123456789":
            raise TextError(f"expected {_FORMS}", text, start)
        numbers, end = _numbers(text, start, closing="")
        return DensePrior(numbers)
    name, end = word[0], word.end()
    if name == "file" and text[end : end + 1] == ":":
        return _prior_from_file(_path(text[end + 1 :], text, end + 1, folder), graph)
    if name == "uniform":
        _expect_end(text, end)
        return Prior.uniform(graph.size)
    if name not in _FAMILIES:
        raise TextError(f"expected {_FORMS}", text, start)
    end = _skip(text, end)
    if text[end : end + 1] != "(":
        raise TextError("expected '('", text, end)
    numbers, end = _numbers(text, _skip(text, end + 1), closing=")")
    _expect_end(text, end)
    if name == "product":
        return _product(numbers, graph)
    if len(numbers) != 1:
        raise InputError(f"{name} takes one number, got {len(numbers)} in {text[:80]!r}")
    if not on_a_line(graph):
        raise InputError(
            f"{name} needs answers on a line, which {graph.name} does not have: "
            "give one number for each answer, or a file"
        )
    family: Callable[[int, str], Prior] = getattr(Prior, name)
    return family(graph.size, numbers[0])


def _product(numbers: list[str], graph: AnswerGraph) -> Prior:
    if not isinstance(graph, ProductGraph) or len({f.size for f in graph.factors}) > 1:
        raise InputError(
            f"product(…) needs databases(u,v) or another product of equal graphs, got {graph.name}"
        )
    if len(numbers) != graph.factors[0].size:
        raise InputError(
            f"product(…) over {graph.name} needs {graph.factors[0].size} numbers, "
            f"got {len(numbers)}"
        )
    return ProductPrior(DensePrior(numbers), len(graph.factors))


def _prior_from_file(path: Path, graph: AnswerGraph) -> Prior:
    if is_json(path):
        data = read_json(path)
        if isinstance(data, dict):
            return _prior_from_pairs(data.items(), graph, str(path))
        if not isinstance(data, list):
            raise InputError(f"{path} must hold a list or an object of probabilities")
        if data and isinstance(data[0], list):
            if any(not isinstance(pair, list) or len(pair) != 2 for pair in data):
                raise InputError(f"{path} must hold pairs [answer, probability] throughout")
            return _prior_from_pairs(((label, chance) for label, chance in data), graph, str(path))
        return _named(path, lambda: DensePrior(data))
    rows = read_rows(path)
    if rows[0][1][-1].lower() == "probability":
        rows = rows[1:]
    width = len(rows[0][1]) if rows else 0
    for line, fields in rows:
        if len(fields) != width or width not in (1, 2):
            raise InputError(
                f"{path} must hold one number a line, or answer,probability on every line, "
                f"got {len(fields)} fields at line {line}"
            )
    if width == 2:
        pairs = ((label, chance) for _, (label, chance) in rows)
        return _prior_from_pairs(pairs, graph, str(path))
    return _named(path, lambda: DensePrior([fields[0] for _, fields in rows]))


def _named(path: Path, make: Callable[[], Prior]) -> Prior:
    try:
        return make()
    except TooLarge:
        raise
    except InputError as wrong:
        raise InputError(f"{path}: {wrong}") from None


def _prior_from_pairs(pairs: Iterable[tuple[Any, Any]], graph: AnswerGraph, where: str) -> Prior:
    """Return the prior from answers and probabilities in any order, every answer once."""
    if graph.size > ROW_LIMIT:
        raise TooLarge(f"a listed prior has at most {ROW_LIMIT} answers, got {graph.size}")
    found: dict[int, Any] = {}
    for label, chance in pairs:
        try:
            node = find_answer(graph, label)
            to_float(chance)
        except InputError as wrong:
            raise InputError(f"{where}: {wrong}") from None
        if node in found:
            raise InputError(f"{where} must name each answer once, got {str(label)[:40]!r} again")
        found[node] = chance
    if len(found) < graph.size:
        missing = next(i for i in range(graph.size) if i not in found)
        raise InputError(
            f"{where} must name all {graph.size} answers of {graph.name}, got {len(found)}: "
            f"{graph.label(missing)!r} is missing"
        )
    return DensePrior([found[node] for node in range(graph.size)])


# -- losses -------------------------------------------------------------------------------


def _loss_from_text(text: str, graph: AnswerGraph, folder: Path) -> Loss:
    start = _skip(text, 0)
    name = text.strip()
    if name == "binary":
        return BinaryLoss(graph)
    if name == "distance":
        return DistanceLoss(graph)
    if name in ("absolute", "squared"):
        return CoordinateLoss(graph, 1 if name == "absolute" else 2)
    if not name.startswith("file:"):
        raise TextError(f"expected {', '.join(LOSS_NAMES)} or file:FILE", text, start)
    path = _path(text[start + 5 :], text, start + 5, folder)
    rows = _json_matrix(path) if is_json(path) else [fields for _, fields in _csv_matrix(path)]
    out = np.empty((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            try:
                out[i, k] = to_float(value)
            except InputError as wrong:
                raise InputError(f"{path}: {wrong} at row {i}, column {k}") from None
    return _matrix_loss(out, graph, name)


def _csv_matrix(path: Path) -> list[tuple[int, list[str]]]:
    rows = read_rows(path)
    for line, fields in rows:
        if len(fields) != len(rows[0][1]):
            raise InputError(
                f"{path} must hold rows of {len(rows[0][1])} losses, got {len(fields)} "
                f"at line {line}"
            )
    return rows


def _json_matrix(path: Path) -> list[list[Any]]:
    rows = read_json(path)
    good = isinstance(rows, list) and rows and all(isinstance(r, list) and r for r in rows)
    if not good or len({len(row) for row in rows}) > 1:
        raise InputError(f"{path} must hold a matrix: a list of rows of one length")
    return rows  # type: ignore[no-any-return]


def _matrix_loss(matrix: Any, graph: AnswerGraph, name: str) -> MatrixLoss:
    made = MatrixLoss(matrix, name=name)
    if made.size == made.guess_count == graph.size:
        return MatrixLoss(made.matrix(), guesses=graph.label, name=name)
    return made


def _loss_from_function(function: Callable[[Any, Any], Any], graph: AnswerGraph) -> Loss:
    if graph.size**2 > CALL_LIMIT:
        raise TooLarge(
            f"a loss function would be called {graph.size}² times, more than {CALL_LIMIT}: "
            "give a named loss or a matrix"
        )
    labels = graph.labels
    values = np.empty((graph.size, graph.size))
    for i, truth in enumerate(labels):
        for k, guess in enumerate(labels):
            try:
                values[i, k] = to_float(function(truth, guess))
            except InputError as wrong:
                raise InputError(f"the loss at {truth!r}, {guess!r}: {wrong}") from None
    return _matrix_loss(values, graph, getattr(function, "__name__", "function"))


# -- the grammar --------------------------------------------------------------------------


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return position if space is None else space.end()


def _expect_end(text: str, position: int) -> None:
    position = _skip(text, position)
    if position < len(text):
        raise TextError("expected the end", text, position)


def _numbers(text: str, position: int, closing: str) -> tuple[list[str], int]:
    """Read numbers up to the closing sign (or the end); return them and the place after it."""
    found: list[str] = []
    while True:
        number = NUMBER.match(text, position)
        if number is None or len(number[0]) > LONGEST_TOKEN:
            raise TextError("expected a number such as .3 or 1/3", text, position)
        if re.search(r"/\s*[0.]*(?:[eE]|$)", number[0]):
            raise TextError("expected a number that does not divide by zero", text, position)
        found.append(number[0])
        position = _skip(text, number.end())
        sign = text[position : position + 1]
        if sign == closing:
            return found, position + len(closing)
        if sign != ",":
            wanted = f"',' or {closing!r}" if closing else "',' or the end"
            raise TextError(f"expected {wanted}", text, position)
        position = _skip(text, position + 1)


def _path(name: str, text: str, position: int, folder: Path) -> Path:
    if not name.strip():
        raise TextError("expected the name of a file", text, position)
    return folder / name.strip()


def _parts(text: str) -> list[tuple[int, str]]:
    """Split at commas outside brackets; each part with the place where it starts."""
    found, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            found.append((start, text[start:place]))
            start = place + 1
    return [*found, (start, text[start:])]


def _span(start: int, part: str, text: str, graph: AnswerGraph) -> range:
    """Return the nodes of one answer or of one range of answers."""
    if not part.strip():
        raise TextError("expected an answer", text, start)
    first, dots, last = part.partition("..")
    try:
        low = find_answer(graph, first.strip())
        high = find_answer(graph, last.strip()) if dots else low
    except InputError as wrong:
        raise TextError(f"{wrong},", text, _skip(text, start)) from None
    if high < low:
        raise TextError("expected a range that rises", text, _skip(text, start))
    return range(low, high + 1)
