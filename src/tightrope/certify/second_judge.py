"""Run the second judge, extracted from a proof in Coq: it shares no code with the first.

``make proofs`` builds it from ``proofs/`` in a source checkout; the package does not need it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.errors import CheckFailed, InputError

BUILT = Path(__file__).parents[3] / "proofs" / "build" / "judge"


@dataclass(frozen=True)
class SecondVerdict:
    """What the second judge says of a file, and why.

    ``holds``, ``refused`` or ``not covered``; ``private`` where it knows no proof of the bound.
    """

    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}" if self.reason else self.verdict


def second_judge() -> Path:
    """Return the program: the one that ``TIGHTROPE_SECOND_JUDGE`` names, or the built one."""
    program = Path(os.environ.get("TIGHTROPE_SECOND_JUDGE") or BUILT)
    if not program.is_file():
        raise InputError(
            f"the second judge is not built: there is no {program}; run 'make proofs' in a "
            "checkout of the sources, or name the program in TIGHTROPE_SECOND_JUDGE"
        )
    return program


def second_verdicts(files: Iterable[str | os.PathLike[str]]) -> Iterator[SecondVerdict]:
    """Yield the second judge's verdict on each file, all from one process.

    >>> [*second_verdicts([])]
    []
    """
    names = [os.fspath(file) for file in files]
    if not names:
        return
    # Names go to standard input, one per line.
    if any("\n" in name for name in names):
        raise InputError("the second judge takes names of files without line breaks")
    result = subprocess.run(
        [second_judge(), "-"],
        input="".join(f"{name}\n" for name in names),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = result.stdout.splitlines()
    if result.returncode or len(lines) != len(names):
        # An answer that is missing must not pass for a verdict.
        raise InputError(
            f"the second judge stopped after {len(lines)} of {len(names)} files: "
            f"{result.stderr.strip() or result.returncode}"
        )
    for line in lines:
        verdict, _, reason = line.partition(": ")
        yield SecondVerdict(verdict, reason)


def require_second_judge(mechanisms: Sequence[Any]) -> None:
    """Stop unless the second judge, too, finds every mechanism private.

    Parameters
    ----------
    mechanisms
        Verified mechanisms, which the first judge found private.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, mechanism in enumerate(mechanisms):
            name = Path(folder) / f"{number}.tightrope"
            name.write_bytes(mechanism.to_bytes())
            names.append(name)
        verdicts = list(second_verdicts(names))
    for mechanism, second in zip(mechanisms, verdicts, strict=True):
        if second.verdict == "not covered":
            raise InputError(
                f"the public facts require the second judge, which does not cover the mechanism "
                f"for {mechanism.query} ({second.reason}): ask for counts, sums, tables or modes, "
                "or take second_judge out of the facts"
            )
        if second.verdict not in ("holds", "private"):
            raise CheckFailed(
                f"the second judge does not find the mechanism for {mechanism.query} private: "
                f"{second.reason}"
            )
