"""Answer graphs whose answers are listed one by one."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tightrope.errors import InputError
from tightrope.graphs.base import AnswerGraph


class LabelledGraph(AnswerGraph):
    """A graph that holds its answers in node order; without a list, the indices themselves.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> pair = ExplicitGraph([(0, 1)], labels=["no", "yes"])
    >>> isinstance(pair, LabelledGraph), pair.index("yes"), pair.label(0)
    (True, 1, 'no')
    """

    _labels: tuple[Hashable, ...] | None

    @property
    def label_rule(self) -> tuple[Any, ...] | None:
        """The indices themselves, or a list."""
        return super().label_rule if self._labels is None else None

    def label(self, i: int) -> Hashable:
        """Return the answer that a node stands for."""
        self._check_node(i)
        return int(i) if self._labels is None else self._labels[i]

    @functools.cached_property
    def _places(self) -> Mapping[Hashable, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Hashable) -> int:
        """Return the node that stands for an answer."""
        try:
            return self._places[label]
        except (KeyError, TypeError):
            raise InputError(f"{label!r} is not an answer of {self.name}") from None


def different_labels(labels: Sequence[Hashable] | None) -> tuple[Hashable, ...] | None:
    """Return the labels as a tuple; no two may be equal.

    >>> different_labels("aba")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: labels must be different, got 'a' twice
    """
    if labels is None:
        return None
    seen: set[Hashable] = set()
    for label in labels:
        try:
            known = label in seen
        except TypeError:
            raise InputError(f"labels must be hashable, got {label!r}") from None
        if known:
            raise InputError(f"labels must be different, got {label!r} twice")
        seen.add(label)
    return tuple(labels)
