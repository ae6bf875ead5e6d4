"""``tightrope derive``: whether one mechanism is another one with its outputs remapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.mechanisms import load
from tightrope.cli.output import AsJson, paragraphs, show

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.channels import Channel

_KINDS = (
    "A mechanism file (.tightrope), a CSV matrix, or a named mechanism such as 'geometric:count(5)'"
)


def derive(
    first: Annotated[str, typer.Argument(metavar="FILE1", help=f"What to derive. {_KINDS}.")],
    second: Annotated[str, typer.Argument(metavar="FILE2", help="What to derive it from.")],
    first_epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="E", help="The level of a named first mechanism."),
    ] = None,
    second_epsilon: Annotated[
        str | None,
        typer.Option(
            "--from-epsilon",
            metavar="E",
            help="The level of a named second mechanism; that of the first by default.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide whether FILE1 is FILE2 with its outputs remapped; show the remap or a counterexample.

    Mechanism files and CSV matrices of fractions are decided exactly. The counterexample is a
    prior and a gain function under which a reader of FILE1 gains strictly more.

    Examples:
      tightrope derive coarse.csv fine.csv
      tightrope derive "geometric:count(5)" "geometric:count(5)" --epsilon 0.5 --from-epsilon 1

    >>> words = ["geometric:count(1)"] * 2
    >>> derive(*words, first_epsilon="ln(2)", second_epsilon="ln(3)", as_json=True)
    {"derivable": true, "exact": false, "distance": ..., "route": ..., "remap": [[...
    """
    from tightrope.channels.derive import derivable

    channels = [_channel(first, first_epsilon), _channel(second, second_epsilon or first_epsilon)]
    found = derivable(*channels)
    data: dict[str, Any] = {
        "derivable": found.derivable,
        "exact": found.exact,
        "distance": found.distance,
        "route": found.route,
    }
    if found.remap is not None:
        data["remap"] = _matrix(found.remap)
    if found.witness is not None:
        data["witness"] = found.witness.as_dict()

    def draw(console: Console) -> None:
        how = "decided in integers" if found.exact else f"within {found.tolerance:g}"
        if found.remap is not None:
            paragraphs(console, [f"{first} is derivable from {second} ({how}) by this remap:"])
            console.print(found.remap.table(), markup=False)
        elif found.witness is not None:
            won = found.witness
            paragraphs(
                console,
                [
                    f"{first} is not derivable from {second} ({how}).",
                    f"A reader with the prior {_line(won.prior)} and {len(won.gain[0])} guesses "
                    f"gains {float(won.first):.9g} from the first and at most "
                    f"{float(won.second):.9g} from the second. --json shows the gains.",
                ],
            )

    show(as_json, data, draw)


def _channel(text: str, epsilon: str | None) -> Channel:
    if text.lower().endswith(".csv"):
        from tightrope.channels import read_channel

        return read_channel(Path(text))
    return load(text, epsilon).channel


def _matrix(channel: Channel) -> list[list[Any]]:
    from tightrope.channels import IntegerChannel

    if isinstance(channel, IntegerChannel):
        rows, columns = channel.shape
        return [[channel.fraction(i, o) for o in range(columns)] for i in range(rows)]
    matrix: list[list[Any]] = channel.matrix().tolist()
    return matrix


def _line(values: tuple[Any, ...]) -> str:
    shown = [f"{float(value):.4g}" for value in values[:8]]
    return "(" + ", ".join([*shown, "…"] if len(values) > 8 else shown) + ")"
