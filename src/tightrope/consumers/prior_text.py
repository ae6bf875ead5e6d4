"""Priors from texts, files, arrays and tables.

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

from tightrope.consumers.grammar import expect_end, file_path, named, read_numbers, skip_space
from tightrope.consumers.line import on_a_line
from tightrope.consumers.numerals import find_answer, to_float
from tightrope.consumers.priors import Prior
from tightrope.consumers.product_prior import ProductPrior
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.files import is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import ROW_LIMIT

_FAMILIES = ("binomial", "geometric", "poisson", "product")
_FORMS = "uniform, binomial(p), geometric(p), poisson(mean), product(p,…), numbers or file:FILE"
_WORD = re.compile(r"[A-Za-z_]+")


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
    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique
    >>> prior("binomial(1/2)", PathPower(3)).exact
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    >>> prior({1: 0.75, 0: 0.25}, Clique(2)).probabilities.tolist()
    [0.25, 0.75]
    >>> prior("product(.3,.27,.23,.2)", CartesianProduct([Clique(4)] * 20)).size == 4**20
    True
    >>> prior("binomial(.3", PathPower(3))
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
        found = Prior(value)
    if found.size != graph.size:
        raise InputError(
            f"a prior over {graph.name} needs {graph.size} probabilities, got {found.size}"
        )
    return found


def _prior_from_text(text: str, graph: AnswerGraph, folder: Path) -> Prior:
    start = skip_space(text, 0)
    word = _WORD.match(text, start)
    if word is None:
        if start == len(text) or text[start] not in "+-.0123456789":
            raise TextError(f"expected {_FORMS}", text, start)
        numbers, end = read_numbers(text, start, closing="")
        return Prior(numbers)
    name, end = word[0], word.end()
    if name == "file" and text[end : end + 1] == ":":
        return _prior_from_file(file_path(text[end + 1 :], text, end + 1, folder), graph)
    if name == "uniform":
        expect_end(text, end)
        return Prior.uniform(graph.size)
    if name not in _FAMILIES:
        raise TextError(f"expected {_FORMS}", text, start)
    end = skip_space(text, end)
    if text[end : end + 1] != "(":
        raise TextError("expected '('", text, end)
    numbers, end = read_numbers(text, skip_space(text, end + 1), closing=")")
    expect_end(text, end)
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
    if not graph.product or len({f.size for f in graph.factors}) > 1:
        raise InputError(
            f"product(…) needs databases(u,v) or another product of equal graphs, got {graph.name}"
        )
    if len(numbers) != graph.factors[0].size:
        raise InputError(
            f"product(…) over {graph.name} needs {graph.factors[0].size} numbers, "
            f"got {len(numbers)}"
        )
    return ProductPrior(Prior(numbers), len(graph.factors))


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
        return named(path, lambda: Prior(data))
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
    return named(path, lambda: Prior([fields[0] for _, fields in rows]))


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
    return named(where, lambda: Prior([found[node] for node in range(graph.size)]))
