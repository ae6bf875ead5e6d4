"""Lists of consumers from a file: one mechanism may have to serve many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightrope.consumers.consumer import Bayesian, Consumer, RiskAverse
from tightrope.consumers.loss_text import loss
from tightrope.consumers.prior_text import prior
from tightrope.consumers.support_text import support
from tightrope.errors import InputError, TooLarge
from tightrope.files import is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph

_FIELDS = ("name", "prior", "support", "loss")


def read_consumers(path: str | Path, graph: AnswerGraph) -> tuple[Consumer, ...]:
    r"""Return the consumers that a file lists.

    Parameters
    ----------
    path
        JSON (by the ending ``.json``): a list of objects with ``loss`` (binary by default), and
        ``prior`` (uniform by default) or ``support``, and optionally ``name``. Otherwise CSV
        whose header has some of these words; an empty field is as if it were not there. Each
        value is written as :func:`~tightrope.consumers.prior`,
        :func:`~tightrope.consumers.loss` and :func:`~tightrope.consumers.support` read it;
        ``file:FILE`` starts from the folder of the list.
    graph
        The answer graph.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import PathPower
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("name,prior,support,loss\nmayor,binomial(.3),,absolute\n")
    ...     _ = file.write("press,,0..2,binary\n"), file.flush()
    ...     read_consumers(file.name, PathPower(6))
    (<Bayesian mayor: DensePrior over 6 answers, absolute loss>,
     <RiskAverse press: 3 of 6 answers, binary loss>)
    """
    listed = _from_json(path) if is_json(path) else _from_csv(path)
    if not listed:
        raise InputError(f"{path} must list at least one consumer, got none")
    found, names = [], set()
    for number, fields in enumerate(listed, start=1):
        name = str(fields.get("name") or f"consumer {number}")
        if name in names:
            raise InputError(f"{path} must give each consumer its own name, got {name!r} again")
        names.add(name)
        try:
            found.append(_consumer(fields, name, graph, Path(path).parent))
        except InputError as wrong:
            kind = TooLarge if isinstance(wrong, TooLarge) else InputError
            raise kind(f"{path}, {name}: {wrong}") from None
    return tuple(found)


def _consumer(fields: dict[str, Any], name: str, graph: AnswerGraph, folder: Path) -> Consumer:
    unknown = sorted(map(str, fields.keys() - set(_FIELDS)))
    if unknown:
        raise InputError(f"a consumer has {', '.join(_FIELDS)}, got {unknown[0][:40]!r}")
    cost = loss(fields.get("loss", "binary"), graph, folder=folder)
    if "support" not in fields:
        return Bayesian(
            prior(fields.get("prior", "uniform"), graph, folder=folder), cost, name=name
        )
    if "prior" in fields:
        raise InputError("a consumer has a prior or a support, got both")
    return RiskAverse(support(fields["support"], graph), cost, name=name)


def _from_json(path: str | Path) -> list[dict[str, Any]]:
    data = read_json(path)
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise InputError(f"{path} must hold a list of objects, one for each consumer")
    return [{key: value for key, value in item.items() if value is not None} for item in data]


def _from_csv(path: str | Path) -> list[dict[str, Any]]:
    (_, header), *rows = read_rows(path)
    header = [word.lower() for word in header]
    if not set(header) <= set(_FIELDS) or len(set(header)) < len(header):
        raise InputError(
            f"{path} must start with a header of {', '.join(_FIELDS)}, "
            f"got {','.join(header)[:60]!r}"
        )
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputError(
                f"{path} must have {len(header)} fields a line, got {len(fields)} at line {line}; "
                "put a value with commas in double quotes"
            )
    return [
        {word: value for word, value in zip(header, fields, strict=True) if value}
        for _, fields in rows
    ]
