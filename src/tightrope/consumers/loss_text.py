"""Losses from names, matrices, functions and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.consumers.grammar import file_path, named, skip_space
from tightrope.consumers.losses import Loss, MatrixLoss
from tightrope.consumers.named_losses import BinaryLoss, CoordinateLoss, DistanceLoss
from tightrope.consumers.numerals import to_float
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.files import is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph

#: Largest number of calls made to a loss that is a Python function.
CALL_LIMIT = 10_000_000
#: The names that a text may use for a loss.
LOSS_NAMES = ("binary", "absolute", "squared", "distance")


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
    >>> from tightrope.graphs import PathPower
    >>> loss("squared", PathPower(4)).row(0).tolist()
    [0.0, 1.0, 4.0, 9.0]
    >>> loss(lambda truth, guess: max(0, truth - guess), PathPower(3)).row(2).tolist()
    [2.0, 1.0, 0.0]
    >>> loss("cubic", PathPower(4))
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


def _loss_from_text(text: str, graph: AnswerGraph, folder: Path) -> Loss:
    start = skip_space(text, 0)
    name = text.strip()
    if name == "binary":
        return BinaryLoss(graph)
    if name == "distance":
        return DistanceLoss(graph)
    if name in ("absolute", "squared"):
        return CoordinateLoss(graph, 1 if name == "absolute" else 2)
    if not name.startswith("file:"):
        raise TextError(f"expected {', '.join(LOSS_NAMES)} or file:FILE", text, start)
    path = file_path(text[start + 5 :], text, start + 5, folder)
    rows = _json_matrix(path) if is_json(path) else [fields for _, fields in _csv_matrix(path)]
    return named(path, lambda: _matrix_loss(rows, graph, name))


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
                cost = function(truth, guess)
                # A function may well answer yes or no: wrong guesses then cost 1.
                values[i, k] = to_float(int(cost) if isinstance(cost, bool | np.bool_) else cost)
            except InputError as wrong:
                raise InputError(f"the loss at {truth!r}, {guess!r}: {wrong}") from None
    return _matrix_loss(values, graph, getattr(function, "__name__", "function"))
