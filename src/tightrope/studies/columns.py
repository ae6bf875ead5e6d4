"""The table of a study: which columns, of which types, and rows in and out of Arrow.

Arrow is loaded by the functions that need it: describing a study does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tightrope.errors import InputError
from tightrope.studies.designing import Row


@dataclass(frozen=True)
class Column:
    """One column of the table.

    Attributes
    ----------
    name
        Its name.
    type
        ``string``, ``double``, ``int64`` or ``bool``, as Arrow calls them.
    meaning
        What stands in it.
    always
        Whether it is filled for refused designs too.

    Examples
    --------
    >>> [column.name for column in COLUMNS if column.always]
    ['place', 'query', 'neighbours', 'epsilon', 'epsilon_text', 'prior', 'loss']
    """

    name: str
    type: str
    meaning: str
    always: bool = False


#: The columns of a study's Parquet file, in their order.
COLUMNS: tuple[Column, ...] = (
    Column("place", "int64", "number of the design in the study, from 0", True),
    Column("query", "string", "the question", True),
    Column("neighbours", "string", "its neighbour relation", True),
    Column("epsilon", "double", "the privacy level as a number", True),
    Column("epsilon_text", "string", "the privacy level as it was written, exact", True),
    Column("prior", "string", "what the reader knows", True),
    Column("loss", "string", "what a wrong guess costs", True),
    Column("route", "string", "how the design was found, or the route that was refused"),
    Column("reason", "string", "why this route"),
    Column("expected_loss", "double", "the loss of the mechanism"),
    Column("utility", "double", "chance of a right guess (binary loss), else minus the loss"),
    Column("bound", "double", "no private mechanism loses less"),
    Column("gap", "double", "(loss - bound) / loss"),
    Column("certified", "bool", "whether the gap is as small as was asked for"),
    Column("nodes", "int64", "number of answers"),
    Column("outputs", "int64", "number of outputs of the mechanism"),
    Column("baseline_geometric", "double", "loss of geometric noise, where there is one"),
    Column("baseline_exponential", "double", "loss of exponential noise, where there is one"),
    Column("error", "string", "why the design was refused; empty for all others"),
)
#: Stands in the parts, for the file of timings, and never in the table.
SECONDS = Column("seconds", "double", "how long the design took")

_BASELINE = "baseline_"


def arrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``, or say what to install.

    >>> arrow()[0].__name__
    'pyarrow'
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet needs pyarrow, which is not installed: pip install 'tightrope[cluster]'"
        ) from None
    return pyarrow, pyarrow.parquet


def schema(columns: Iterable[Column] = COLUMNS, metadata: dict[str, str] | None = None) -> Any:
    """Return the columns as an Arrow schema.

    >>> schema().field("gap").type
    DataType(double)
    """
    pyarrow, _ = arrow()
    fields = [
        pyarrow.field(column.name, column.type, nullable=not column.always) for column in columns
    ]
    return pyarrow.schema(fields, metadata=metadata)


def table(rows: Iterable[Row], metadata: dict[str, str] | None = None) -> Any:
    """Return rows as an Arrow table, with their seconds in the last column.

    >>> from tightrope.studies import Study, sweep
    >>> table(sweep(Study.of("path(4)", "ln(2)")))["route"].to_pylist()
    ['geometric']
    """
    pyarrow, _ = arrow()
    flat = []
    for row in rows:
        baselines = row.get("baselines", {})
        flat.append(row | {f"{_BASELINE}{name}": value for name, value in baselines.items()})
    return pyarrow.Table.from_pylist(flat, schema=schema((*COLUMNS, SECONDS), metadata))


def rows_from(batch: Any) -> Iterator[Row]:
    """Yield the rows of an Arrow table or batch, as :func:`sweep` would give them.

    >>> from tightrope.studies import Study, sweep
    >>> rows = list(sweep(Study.of(["path(4)", "cycle(5)"], "1", routes=[None, "tree"])))
    >>> list(rows_from(table(rows))) == rows
    True
    """
    for flat in batch.to_pylist():
        row: Row = {}
        baselines: dict[str, float] = {}
        for name, value in flat.items():
            if name.startswith(_BASELINE):
                if value is not None:
                    baselines[name.removeprefix(_BASELINE)] = value
            elif value is not None:
                row[name] = value
        if "error" in row:
            # The route that was asked for stands in the row even when none was.
            yield row | {"route": flat["route"]}
        else:
            yield row | {"baselines": baselines}
