"""The command line: parse, call one library function, render.

>>> from tightrope.cli import main
>>> main(["--version"])
tightrope ...
0
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Any

from tightrope.errors import CheckFailed, TightropeError, in_one_line

#: New objects after which the garbage collector looks at them.
COLLECT_AT = 100_000
#: Exit codes besides 0.
CHECK_FAILED = 1
BAD_INPUT = 2
BROKEN = 70
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error is one line on standard error.

    Parameters
    ----------
    arguments
        The words after ``tightrope``; those of the process by default.

    Examples
    --------
    >>> main(["graph", "cycle(5)", "--json"])
    {"query": "cycle(5)", ...}
    0
    """
    # A copy: the caller's list must stay as it is.
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # the process is ours
        # Libraries make objects by the hundred thousand that live to the end: looking for garbage
        # among them after each 700, as Python does, takes a seventh of the start of `ask`.
        gc.set_threshold(COLLECT_AT)
    if words in ([], ["ledger"]):  # no command: show the help
        words.append("--help")
    if hasattr(sys.stdout, "reconfigure"):
        # As on stderr: a character that cannot be encoded must not abort.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from tightrope.cli.app import app  # takes long enough to be interrupted

        # Not standalone: Click would print errors in its own way and exit the process.
        code = app(args=words, prog_name="tightrope", standalone_mode=False)
        # A closed pipe is noticed here, inside the try, not when the interpreter ends.
        print(end="", flush=True)
        if code == INTERRUPTED:  # the exit code with which Click reports Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # The pipe is closed: there is nowhere to print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CHECK_FAILED
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except CheckFailed as failed:
        return _complain(str(failed), CHECK_FAILED)
    except TightropeError as refused:
        return _complain(str(refused), BAD_INPUT)
    except Exception as problem:
        # A traceback may show values of a table, so it is only printed on demand.
        if "TIGHTROPE_DEBUG" in os.environ:
            raise
        if hasattr(problem, "format_message"):  # a usage error of Click
            return _complain(_usage(problem), BAD_INPUT)
        # Optional dependencies are imported late: say which extra brings them.
        missing = problem.name if isinstance(problem, ModuleNotFoundError) else None
        if missing and (extra := extra_of(missing)):
            return _complain(
                f"this needs {missing}, of the extra '{extra}': in a clone of the sources, "
                f"pip install '.[{extra}]'",
                BAD_INPUT,
            )
        if isinstance(problem, OSError | MemoryError):
            return _complain(in_one_line(problem), BAD_INPUT)
        # Whatever is left is a bug: its exit code (EX_SOFTWARE) differs from bad input.
        return _complain(
            f"{in_one_line(problem)}; TIGHTROPE_DEBUG=1 shows where", BROKEN
        )


def extra_of(module: str) -> str | None:
    """Return the extra of the package that brings a module.

    >>> extra_of("ibis.expr"), extra_of("nicegui"), extra_of("json")
    ('frames', 'studio', None)
    """
    extras = {
        "postgresql": "psycopg",
        "spark": "pyspark",
        "frames": "ibis pandas polars",
        "plot": "matplotlib",
        "studio": "nicegui plotly fastapi uvicorn starlette pydantic annotated_types",
        "cluster": "dask distributed",
    }
    name = module.partition(".")[0]
    return next(
        (extra for extra, names in extras.items() if name in names.split()), None
    )


def _usage(problem: Any) -> str:
    command = getattr(getattr(problem, "ctx", None), "command_path", "tightrope")
    return f"{problem.format_message().rstrip('.')} (see {command} --help)"


def _complain(message: str, code: int) -> int:
    # One line, whatever the message holds: scripts read standard error line by line.
    print(f"tightrope: {' '.join(message.split())}", file=sys.stderr)
    return code
