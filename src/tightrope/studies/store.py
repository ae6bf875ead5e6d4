"""Where a study is kept: one file for each finished chunk, and at the end one file for all.

The parts lie in a folder beside the output, ``FILE.parquet.parts``. A file appears there under its
name only when it is whole and on the disk, so that a kill at any instant leaves a store from which
the same study goes on. What is merged depends on the parts alone and not on their order of
arrival: the output has the same bytes however often the work was broken off.

Arrow is loaded by the functions that need it: describing a study does not.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tightrope.errors import CheckFailed, InputError, refusing
from tightrope.files import UNFINISHED, FilePath, write_whole
from tightrope.studies.study import Study, StudyRow

_FINGERPRINT = "tightrope.fingerprint"
_STUDY = "tightrope.study"
_CHUNK = "tightrope.chunk"


@dataclass(frozen=True)
class StudyColumn:
    """One column of the table.

    Attributes
    ----------
    name
        Its name.
    type
        ``string``, ``double``, ``int64`` or ``bool``, as Arrow calls them.
    meaning
        What it holds.
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
COLUMNS: tuple[StudyColumn, ...] = (
    StudyColumn("place", "int64", "number of the design in the study, from 0", True),
    StudyColumn("query", "string", "the question", True),
    StudyColumn("neighbours", "string", "its neighbour relation", True),
    StudyColumn("epsilon", "double", "the privacy level as a number", True),
    StudyColumn(
        "epsilon_text", "string", "the privacy level as it was written, exact", True
    ),
    StudyColumn("prior", "string", "what the consumer knows", True),
    StudyColumn("loss", "string", "what a wrong guess costs", True),
    StudyColumn(
        "route", "string", "how the design was found, or the route that was refused"
    ),
    StudyColumn("reason", "string", "why this route"),
    StudyColumn("expected_loss", "double", "the loss of the mechanism"),
    StudyColumn(
        "utility",
        "double",
        "probability of a correct guess (binary loss), else minus the loss",
    ),
    StudyColumn("bound", "double", "no private mechanism loses less"),
    StudyColumn("gap", "double", "(loss - bound) / loss"),
    StudyColumn("certified", "bool", "whether the gap is as small as was asked for"),
    StudyColumn("claim", "string", "what is proved, in words"),
    StudyColumn("stopped", "bool", "whether the time limit ended the search"),
    StudyColumn("nodes", "int64", "number of answers"),
    StudyColumn("outputs", "int64", "number of outputs of the mechanism"),
    StudyColumn(
        "baseline_geometric", "double", "loss of geometric noise, where there is one"
    ),
    StudyColumn(
        "baseline_independent", "double", "loss of independent noise in each number"
    ),
    StudyColumn(
        "baseline_exponential",
        "double",
        "loss of exponential noise, where there is one",
    ),
    StudyColumn("error", "string", "why the design was refused; empty for all others"),
)
#: Stands in the parts, for the file of timings, and never in the table.
SECONDS = StudyColumn("seconds", "double", "how long the design took")

_BASELINE = "baseline_"


def schema(
    columns: Iterable[StudyColumn] = COLUMNS, metadata: dict[str, str] | None = None
) -> Any:
    """Return the columns as an Arrow schema.

    >>> schema().field("gap").type
    DataType(double)
    """
    import pyarrow

    fields = [
        # Only what every row has is required; a refused design has no numbers.
        pyarrow.field(column.name, column.type, nullable=not column.always)
        for column in columns
    ]
    return pyarrow.schema(fields, metadata=metadata)


def table(rows: Iterable[StudyRow], metadata: dict[str, str] | None = None) -> Any:
    """Return rows as an Arrow table, with their seconds in the last column.

    >>> from tightrope.studies import Study, run_study
    >>> table(run_study(Study.of("path(4)", "ln(2)")).rows())["route"].to_pylist()
    ['geometric']
    """
    import pyarrow

    flat = [
        row
        | {
            # Nested baselines become flat columns, which every reader of Parquet knows.
            f"{_BASELINE}{name}": value
            for name, value in row.get("baselines", {}).items()
        }
        for row in rows
    ]
    return pyarrow.Table.from_pylist(flat, schema=schema((*COLUMNS, SECONDS), metadata))


def rows_from(batch: Any) -> Iterator[StudyRow]:
    """Yield the rows of an Arrow table or batch, as a study that is kept in memory has them.

    >>> from tightrope.studies import Study, run_study
    >>> study = Study.of(["path(4)", "cycle(5)"], "1", routes=[None, "tree"])
    >>> rows = list(run_study(study).rows())
    >>> list(rows_from(table(rows))) == rows
    True
    """
    for flat in batch.to_pylist():
        row: StudyRow = {
            name: value for name, value in flat.items() if value is not None
        }
        names = [name for name in row if name.startswith(_BASELINE)]
        baselines = {name.removeprefix(_BASELINE): row.pop(name) for name in names}
        # A refused row names the route that was asked for even when none was taken.
        yield row | (
            {"route": flat["route"]} if "error" in row else {"baselines": baselines}
        )


class StudyStore:
    """The store of one study, for one process at a time: use it in a ``with`` statement.

    Parameters
    ----------
    study
        What is computed.
    out
        The Parquet file that will hold it.
    group
        Rows in one row group of it.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.studies import Study
    >>> from tightrope.studies.study import design_chunk
    >>> study = Study.of("path(4)", "ln(2),1", chunk=1)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder, StudyStore(study, f"{folder.name}/a.parquet") as store:
    ...     for chunk in study.chunks():
    ...         store.put(chunk.number, design_chunk(chunk)[1])
    ...     found, out = sorted(store.found()), store.finish()
    ...     found, out.name, [row["place"] for row in read_rows(out)]
    ([0, 1], 'a.parquet', [0, 1])
    """

    written_with: ClassVar[dict[str, Any]] = {
        "compression": "zstd",
        # Page checksums detect damage that the footer does not show.
        "write_page_checksum": True,
    }

    def __init__(self, study: Study, out: FilePath, group: int = 50_000) -> None:
        self.study = study
        self.group = group
        self.out = Path(out)
        self.parts = self.out.with_name(self.out.name + ".parts")
        self._lock: int | None = None
        from pyarrow import parquet

        self._parquet = parquet
        if self.out.suffix.lower() not in (".parquet", ".pq"):
            raise InputError(
                f"the output must be a .parquet file, got {str(out)[:80]!r}"
            )
        if not self.out.parent.is_dir():
            raise InputError(f"{self.out.parent}: there is no such folder")

    def __enter__(self) -> StudyStore:
        if self.complete:
            # A finished file of another study must not be overwritten.
            self._check_same(described_in(self.out), self.out, "it")
        # Finished and cleaned up: no lock is needed to read.
        if self.complete and not self.parts.exists():
            return self
        try:
            self.parts.mkdir(exist_ok=True)
            self._hold()
            self._check_description()
        except BaseException as problem:
            # The lock is released on every way out.
            self.close()
            if isinstance(problem, OSError):
                raise InputError(
                    f"{self.parts} cannot be written: {problem.strerror}"
                ) from None
            raise
        if self.complete:
            # The work was broken off after its last step: only the parts had to go.
            self._remove_parts()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def complete(self) -> bool:
        """Whether the output is there."""
        return self.out.exists()

    @property
    def timings(self) -> Path:
        """The file of how long each design took, beside the output."""
        return self.out.with_suffix(".seconds.csv")

    def found(self) -> set[int]:
        """Return the chunks that are there; a damaged one is removed, to be computed again."""
        if self.complete:
            return set(range(self.study.chunk_count))
        present = set()
        # Presence of a file is not enough: a crash may have cut it.
        for path in self.parts.glob("*.parquet"):
            if self._is_whole(path):
                present.add(int(path.stem))
            else:
                path.unlink()
        return present

    def put(self, number: int, rows: list[StudyRow]) -> None:
        """Keep a finished chunk."""
        if len(rows) != self.study.rows_in(number):
            raise CheckFailed(
                f"chunk {number} must have {self.study.rows_in(number)} rows, got {len(rows)}"
            )
        metadata = {_FINGERPRINT: self.study.fingerprint, _CHUNK: str(number)}
        content = table(rows, metadata)
        # Written under another name and renamed, so that a part is whole or absent.
        write = partial(self._parquet.write_table, content, **self.written_with)
        write_whole(self._part(number), write)

    def finish(self) -> Path:
        """Merge all chunks, in the order of the study, into the output; remove the parts."""
        if not self.complete:
            missing = self.study.chunk_count - len(self.found())
            if missing:
                raise CheckFailed(
                    f"{missing} chunks of {self.out} are still to be computed"
                )
            # The output appears at once, after everything was written.
            write_whole(self.out, self._merge, self.parts)
            self._remove_parts()
        return self.out

    def tally(self) -> tuple[int, int]:
        """Return how many designs of the output are certified, and how many were refused."""
        with self._parquet.ParquetFile(self.out) as file:
            verdicts = file.read(columns=["certified", "error"])
        return sum(verdicts["certified"].drop_null().to_pylist()), len(
            verdicts["error"].drop_null()
        )

    def close(self) -> None:
        """Let another process use the store."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _part(self, number: int) -> Path:
        return self.parts / f"{number:08d}.parquet"

    def _table(self, number: int) -> Any:
        path = self._part(number)
        try:
            with self._parquet.ParquetFile(
                path, page_checksum_verification=True
            ) as file:
                return file.read(use_threads=False)
        except (OSError, ValueError):
            # Removed here, so that the next run computes it again.
            path.unlink(missing_ok=True)
            raise CheckFailed(
                f"{path} was damaged and is removed: run again to compute it once more"
            ) from None

    def _merge(self, file: Any) -> None:
        """Write the table, and beside it the timings: they are there before the table is."""
        import pyarrow

        described = {
            _FINGERPRINT: self.study.fingerprint,
            _STUDY: json.dumps(self.study.as_dict(), ensure_ascii=False),
        }
        shape = schema(COLUMNS, described)
        seconds = array("d")
        count = self.study.chunk_count
        # Ceiling: row groups of about `group` rows, in whole chunks.
        together = -(-self.group * count // self.study.size)  # chunks in a row group
        with self._parquet.ParquetWriter(file, shape, **self.written_with) as writer:
            for first in range(0, count, together):
                numbers = range(first, min(first + together, count))
                parts = pyarrow.concat_tables(
                    map(self._table, numbers)
                ).combine_chunks()
                # Timings go to another file: the table must be the same for every run.
                seconds.extend(parts[SECONDS.name].fill_null(math.nan).to_pylist())
                rows = parts.drop_columns([SECONDS.name]).replace_schema_metadata(
                    described
                )
                writer.write_table(rows, row_group_size=len(rows))

        def write_timings(file: Any) -> None:
            file.write(b"place,seconds\n")
            for place, value in enumerate(seconds):
                file.write(f"{place},{'' if math.isnan(value) else value}\n".encode())

        # Before the table, so that a table without its timings cannot be left behind.
        write_whole(self.timings, write_timings, self.parts)

    def _is_whole(self, path: Path) -> bool:
        try:
            number = int(path.stem)
            footer = self._parquet.read_metadata(path)
        except (OSError, ValueError):
            return False
        # Number, size, fingerprint and place must all fit: a part may be copied from elsewhere.
        known = footer.metadata or {}
        return (
            number < self.study.chunk_count
            and footer.num_rows == self.study.rows_in(number)
            and known.get(_FINGERPRINT.encode()) == self.study.fingerprint.encode()
            and known.get(_CHUNK.encode()) == str(number).encode()
        )

    def _check_description(self) -> None:
        path = self.parts / "study.json"
        # Left over from a crash during a write.
        for stray in self.parts.glob(f"*{UNFINISHED}"):
            stray.unlink()
        if not path.exists():
            # Parts without a description may belong to any study.
            if any(self.parts.glob("*.parquet")):
                raise InputError(
                    f"{self.parts} has parts but no description: remove the folder"
                )
            text = json.dumps(self.study.as_dict(), indent=1, ensure_ascii=False) + "\n"
            write_whole(path, lambda file: file.write(text.encode()))
            return
        with refusing(
            f"{path} is not a description of a study: remove the folder", ValueError
        ):
            study = json.loads(path.read_text(encoding="utf-8"))
        self._check_same(study, self.parts, "the folder")

    def _check_same(self, other: Any, where: Path, what: str) -> None:
        mine = self.study.as_dict()
        if other == mine:
            return
        other = other if isinstance(other, dict) else {}
        # Say what differs: the version first, as it is the usual reason.
        if mine["tightrope"] != other.get("tightrope"):
            how = f"of version {other.get('tightrope')}, this is {mine['tightrope']}"
        elif mine["files"] != other.get("files"):
            how = "other files, or their content has changed"
        else:
            how = (
                f"other {', '.join(key for key in mine if mine[key] != other.get(key))}"
            )
        raise InputError(
            f"{where} holds another study ({how}): choose another output, or remove {what}"
        )

    def _hold(self) -> None:
        """Take the lock of the folder, which the system gives back when this process ends."""
        self._lock = os.open(self.parts / "lock", os.O_CREAT | os.O_RDWR, 0o666)
        try:
            import fcntl
        except ImportError:  # no such lock on this system
            return
        try:
            # Non-blocking: two runs on one store would mix their parts.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise InputError(
                f"another process is at work on {self.out}: wait for it"
            ) from None

    def _remove_parts(self) -> None:
        # The description is removed last: without it, parts left over could not be identified.
        for path in self.parts.glob("*.parquet"):
            path.unlink()
        shutil.rmtree(self.parts)


def described_in(path: FilePath) -> dict[str, Any]:
    """Return the description of the study in a Parquet file.

    >>> described_in("no-such-file.parquet")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.parquet is not a Parquet file of a study
    """
    from pyarrow import parquet

    with refusing(
        f"{path} is not a Parquet file of a study", OSError, ValueError, KeyError
    ):
        known = parquet.read_metadata(path).metadata or {}
        study: dict[str, Any] = json.loads(known[_STUDY.encode()])
    return study


def read_rows(path: FilePath) -> Iterator[StudyRow]:
    """Yield the rows of a study's Parquet file, some at a time.

    >>> list(read_rows("no-such-file.parquet"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.parquet is not a Parquet file of a study
    """
    from pyarrow import parquet

    described_in(path)
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches():
            yield from rows_from(batch)
