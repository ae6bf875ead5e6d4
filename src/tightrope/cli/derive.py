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
    prior and a gain function under which a consumer gains strictly more from FILE1. Files round
    probabilities to integers: where no more than that stands between FILE1 and a remap of FILE2,
    the answer says "derivable up to rounding", with the distance.

    Examples:
      tightrope derive coarse.csv fine.csv
      tightrope derive "geometric:count(5)" "geometric:count(5)" --epsilon 0.5 --from-epsilon 1

    >>> words = ["geometric:count(1)"] * 2
    >>> derive(*words, first_epsilon="ln(2)", second_epsilon="ln(3)", as_json=True)
    {"derivable": true, "exact": false, "up_to_rounding": false, "distance": ..., "remap": [[...
    """
    from tightrope.channels.derive import derivable, nearest_remap

    channels = [_channel(first, first_epsilon), _channel(second, second_epsilon or first_epsilon)]
    found = derivable(*channels)
    near = nearest_remap(*channels) if found.exact and not found.derivable else None
    rounding = near is not None and near.is_rounding
    data: dict[str, Any] = {
        "derivable": found.derivable,
        "exact": found.exact,
        "up_to_rounding": rounding,
        "distance": found.distance if near is None else float(near.distance),
        "route": found.route,
    }
    if found.remap is not None:
        data["remap"] = _matrix(found.remap)
    if near is not None:
        data["nearest_remap"] = _matrix(near.remap)
    if found.witness is not None:
        # No remap is nearer than the margin of a witness.
        data["distance_at_least"] = float(found.witness.margin)
        data["witness"] = found.witness.as_dict()

    def draw(console: Console) -> None:
        how = "decided in integers" if found.exact else f"within {found.tolerance:g}"
        if found.remap is not None:
            paragraphs(console, [f"{first} is derivable from {second} ({how}) by this remap:"])
            console.print(found.remap.table(), markup=False)
            return
        won = found.witness
        assert won is not None
        consumer = f"A consumer with the prior {_line(won.prior)} and {len(won.gain[0])} guesses"
        if near is not None and rounding:
            size = f"{float(near.distance):.1g}"
            paragraphs(
                console,
                [f"{first} is derivable from {second} up to rounding ({size}) by this remap:"],
            )
            console.print(near.remap.table(), markup=False)
            paragraphs(
                console,
                [
                    f"With the weights as they stand in the files it is not ({how}): "
                    f"{consumer[0].lower()}{consumer[1:]} gains {float(won.margin):.1g} more from "
                    "the first. --json shows the gains.",
                ],
            )
            return
        distance = found.distance if near is None else float(near.distance)
        paragraphs(
            console,
            [
                f"{first} is not derivable from {second} ({how}): some row differs by "
                f"{distance:.3g} in total variation from the nearest remap found, and by at "
                f"least {float(won.margin):.3g} from any.",
                f"{consumer} gains {float(won.first):.9g} from the first and at most "
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
