"""Databases as a graph: one slot for each person."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any

from tightrope.errors import InputError, whole_number
from tightrope.graphs.complete import Clique
from tightrope.graphs.lines import Star
from tightrope.graphs.products import CartesianProduct


class Databases(CartesianProduct):
    r"""All databases of u people, adjacent when one person differs.

    A Cartesian product with one factor for each person: a clique of the values when a person's
    value may change (the Hamming graph, [B, Prop 14]), a star around "absent" when a person may
    come or go, a clique of the values and "absent" when all of this may happen.

    Parameters
    ----------
    people
        The number of slots u.
    values
        One person's possible values.
    change
        Whether a person's value may change in one step.
    absent
        Whether people may be absent; their label is ``None``.
    name
        Text that describes the graph.

    Examples
    --------
    >>> hamming = Databases(5, range(4))
    >>> hamming.size, hamming.ball_sizes(0)
    (1024, (1, 15, 90, 270, 405, 243))
    >>> slots = Databases(2, "ab", change=False, absent=True)
    >>> slots.label(0), slots.label(5), slots.distance(slots.index(("a", None)), 7)
    ((None, None), ('a', 'b'), 3)
    """

    def __init__(
        self,
        people: int,
        values: Sequence[Hashable],
        *,
        change: bool = True,
        absent: bool = False,
        name: str | None = None,
    ) -> None:
        count = whole_number(len(values), "the number of values")
        people = whole_number(people, "the number of people")
        if not (change or absent):
            raise InputError("neighbouring databases must differ: people change, or come and go")
        self.values = values
        self.absent = bool(absent)
        slot = Clique(count + int(self.absent)) if change else Star(count)
        super().__init__([slot] * people, name=name or f"databases({people},{count})")

    @property
    def label_rule(self) -> tuple[Any, ...] | None:
        """A grid where values are 0, 1, 2, … and nobody is absent."""
        plain = not self.absent and self.values == range(len(self.values))
        return ("grid", (len(self.values),) * len(self.factors)) if plain else None

    def label(self, i: int) -> tuple[Hashable, ...]:
        """Return the values of all people, ``None`` for the absent ones."""
        if not self.absent:
            return tuple(self.values[digit] for digit in self.digits(i))
        return tuple(self.values[d - 1] if d else None for d in self.digits(i))

    @functools.cached_property
    def _value_places(self) -> dict[Hashable, int]:
        return {value: place for place, value in enumerate(self.values)}

    def index(self, label: Hashable) -> int:
        """Return the node that stands for a tuple of values."""
        if not isinstance(label, tuple) or len(label) != len(self.factors):
            raise InputError(
                f"an answer of {self.name} is a tuple of {len(self.factors)}, got {label!r}"
            )
        return self.node([self._digit(value) for value in label])

    def _digit(self, value: Hashable) -> int:
        if self.absent and value is None:
            return 0
        try:
            if isinstance(self.values, range):
                place = self.values.index(value)  # type: ignore[arg-type]
            else:
                place = self._value_places[value]
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{value!r} is not one person's value in {self.name}") from None
        return place + int(self.absent)
