"""The losses, priors and neighbour relations that have a name, registered once.

The parsers of the room ``consumers``, the help of the commands, the studio's choices and the
documents all take them from here. The table is light: the code behind an entry is imported when
somebody asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NamedKind:
    """One way to write a loss or a prior.

    Attributes
    ----------
    form
        How it is written: ``binary``, ``binomial(p)``.
    about
        What it means, in one line.
    made_by
        The function or class that makes it, as ``module:name`` in the room ``consumers``.
    example
        A text that reads; the form by default.

    Examples
    --------
    >>> PRIORS["binomial"].form, PRIORS["binomial"].example
    ('binomial(p)', 'binomial(.3)')
    """

    form: str
    about: str
    made_by: str
    example: str = ""

    @property
    def name(self) -> str:
        """The form up to the first bracket."""
        return self.form.partition("(")[0]

    @property
    def numbers(self) -> int | None:
        """How many numbers are in the brackets; ``None`` for any number."""
        inside = self.form.partition("(")[2]
        return None if "…" in inside else len(inside.split(",")) if inside else 0

    def make(self, *args: Any) -> Any:
        """Return the loss or prior for these arguments."""
        module, _, name = self.made_by.partition(":")
        return getattr(importlib.import_module(f"tightrope.consumers.{module}"), name)(
            *args
        )


def _table(*kinds: NamedKind) -> dict[str, NamedKind]:
    return {kind.name: kind for kind in kinds}


#: Losses by name; each is made from the answer graph.
LOSSES = _table(
    NamedKind("binary", "1 for every wrong guess", "losses:BinaryLoss"),
    NamedKind(
        "absolute", "the difference of the answers as numbers", "losses:AbsoluteLoss"
    ),
    NamedKind("squared", "the square of that difference", "losses:SquaredLoss"),
    NamedKind("distance", "the distance in the answer graph", "losses:DistanceLoss"),
)

#: Priors by name; each is made from the answer graph and the numbers in the brackets.
PRIORS = _table(
    NamedKind("uniform", "every answer equally likely", "priors:uniform"),
    NamedKind("binomial(p)", "the number of heads in n-1 tosses, over n answers on a line",
         "priors:binomial", "binomial(.3)"),
    NamedKind("geometric(p)", "the failures before the first success, for answers on a line",
         "priors:geometric", "geometric(.5)"),
    NamedKind("poisson(mean)", "arrivals, conditioned on the answers of a line",
         "priors:poisson", "poisson(4)"),
    NamedKind("people(p0,p1,…)", "each person independently has value j with probability pj",
         "priors:people", "people(.7,.2,.1)"),
    NamedKind("product(p,…)", "for databases(u,v): the same independent prior in every coordinate",
         "priors:product", "product(.3,.7)"),
)  # fmt: skip

#: Neighbour relations by name, with what each protects.
RELATIONS = {
    "change-one": "what one person's row says",
    "add-remove": "whether one person is in the table at all",
    "either": "what one person's row says, and whether it is there at all",
}


#: The relation of every command, function and page unless another is given.
DEFAULT_RELATION = "change-one"


def protected(relation: str) -> str:
    """Return what a neighbour relation protects, with its name.

    >>> protected("change-one")
    "what one person's row says (change-one)"
    """
    return f"{RELATIONS[relation]} ({relation})"


def forms(kinds: dict[str, NamedKind]) -> list[str]:
    """Return how the kinds are written; ``file:FILE`` covers all that have no name.

    >>> forms(_table(LOSSES["binary"], PRIORS["poisson"]))
    ['binary', 'poisson(mean)', 'file:FILE']
    """
    return [*(kind.form for kind in kinds.values()), "file:FILE"]


def listed(words: Iterable[str]) -> str:
    """Return the words as a choice.

    >>> listed(['binary', 'absolute', 'file:FILE'])
    'binary, absolute or file:FILE'
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
