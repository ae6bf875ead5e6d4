r"""The columns of a table, and its margins as a lattice with an algebra.

A *margin* is a table over some of the columns: how many rows have each combination of their
classes, all other columns summed over. Columns may be nested: a county lies *within* a region, so
a table by county says the table by region too. Nested columns share one *axis*, whose levels go
from "summed over" to the finest column. A margin is one level for each axis, margins are ordered
axis by axis, and

    meet(S, T) = the finest margin that both S and T contain,
    join(S, T) = the coarsest margin that contains both.

With no nested columns these are the intersection and the union of sets of columns.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, whole_number

#: A margin as people write it: the names of its columns. ``()`` is the total.
Margin = tuple[str, ...]
#: A margin as the algebra works with it: the level of each axis, 0 where it is summed over.
Levels = tuple[int, ...]


@dataclass(frozen=True)
class TableColumn:
    """A column with declared classes, perhaps within another one.

    Parameters
    ----------
    name
        Its name.
    classes
        The number of its classes.
    within
        The coarser column that it divides, such as the region of a county.
    parents
        For each class the number of the class of ``within`` that it belongs to. Left out, every
        class of ``within`` has the same number of classes, in order.

    Examples
    --------
    >>> TableColumn("county", 4, within="region", parents=(0, 0, 0, 1)).parents
    (0, 0, 0, 1)
    """

    name: str
    classes: int
    within: str | None = None
    parents: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        whole_number(self.classes, f"the number of classes of {self.name}")
        if self.parents and (self.within is None or len(self.parents) != self.classes):
            raise InputError(
                f"the parents of {self.name} must name one class of the column it is within "
                f"for each of its {self.classes} classes, got {len(self.parents)}"
            )


@dataclass(frozen=True)
class MarginAxis:
    """A column and those nested in it: classes level by level, from the total to the leaves.

    Attributes
    ----------
    names
        The columns, the coarsest first.
    parents
        For each level from 1 on, the class of the level above that each class belongs to.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    @property
    def depth(self) -> int:
        """The number of its columns, which is its finest level."""
        return len(self.names)

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of classes at each level; one at level 0."""
        return (1, *map(len, self.parents))

    @functools.cache  # noqa: B019  an axis is a small frozen value, and few are made
    def ancestors(self, level: int, above: int) -> NDArray[np.int64]:
        """For each class of a level, the class of a level above it that contains it."""
        classes = np.arange(self.sizes[level])
        for depth in range(level, above, -1):
            parents = np.array(self.parents[depth - 1], np.int64)
            classes = parents[classes]
        return classes

    @functools.cache  # noqa: B019
    def kinds(self, level: int) -> NDArray[np.int64]:
        """Return a number for each class of a level: equal where all ancestors divide alike."""
        # For each ancestor, its own level included: how many classes of each level lie in it.
        sizes = []
        for above in range(level + 1):
            owner = self.ancestors(level, above)
            for below in range(above, self.depth + 1):
                inside = np.bincount(self.ancestors(below, above))
                sizes.append(inside[owner])
        columns = np.array(sizes)
        _, kinds = np.unique(columns, axis=1, return_inverse=True)
        return kinds.astype(np.int64)

    @functools.cache  # noqa: B019
    def leaves(self, level: int) -> NDArray[np.int64]:
        """For each class of a level, the number of classes of the finest level within it."""
        owners = self.ancestors(self.depth, level)
        return np.bincount(owners, minlength=self.sizes[level])


@dataclass(frozen=True)
class Domain:
    """The columns that a job's tables are about, and the algebra of their margins.

    Parameters
    ----------
    columns
        The columns; one that is within another stands after it.

    Examples
    --------
    >>> towns = Domain.of({"sex": 2, "region": 2, "county": ("region", [0, 0, 0, 1])})
    >>> towns.cells(["sex", "county"]), towns.cells(["region"]), towns.cells([])
    (8, 2, 1)
    >>> towns.margin(["county", "sex", "region"])  # a county says its region
    ('sex', 'county')
    >>> towns.contains(["county"], ["region"]), towns.contains(["region"], ["sex"])
    (True, False)
    >>> towns.join(["sex"], ["region"]), towns.meet(["sex", "county"], ["region"])
    (('sex', 'region'), ('region',))
    """

    columns: tuple[TableColumn, ...]

    def __post_init__(self) -> None:
        seen: dict[str, TableColumn] = {}
        for column in self.columns:
            if column.name in seen:
                raise InputError(f"a column is named once, got {column.name!r} twice")
            if column.within is not None and column.within not in seen:
                raise InputError(
                    f"{column.name!r} is within {column.within!r}, which must be a column "
                    f"before it (columns: {', '.join(seen) or 'none'})"
                )
            seen[column.name] = column
        outer = [column.within for column in self.columns if column.within is not None]
        if len(set(outer)) < len(outer):
            twice = next(name for name in outer if outer.count(name) > 1)
            raise InputError(
                f"nested columns form a chain: two columns are within {twice!r}"
            )
        self.axes  # noqa: B018  refuses parents that do not fit

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Domain:
        """Make a domain from numbers of classes; a nested column gives (outer, parents)."""
        read = []
        for name, given in columns.items():
            if isinstance(given, tuple):
                outer, parents = given
                column = TableColumn(name, len(parents), outer, tuple(parents))
            else:
                column = TableColumn(name, given)
            read.append(column)
        return cls(tuple(read))

    @classmethod
    def numbered(
        cls,
        sizes: Sequence[int],
        within: Sequence[tuple[int, int, tuple[int, ...]]] = (),
    ) -> Domain:
        """Make a domain of columns that are called by their places.

        Parameters
        ----------
        sizes
            The number of classes of each column.
        within
            Each nested column with the place of its outer one, and the parents of its classes.

        Examples
        --------
        >>> Domain.numbered((4, 2), [(0, 1, (0, 0, 0, 1))]).margin(["1", "0"])
        ('0',)
        """
        outer = {place: above for place, above, _ in within}
        parents = {place: known for place, _, known in within}

        def depth(place: int) -> int:
            if place not in outer:
                return 0
            return 1 + depth(outer[place])

        columns = []
        # By depth: a column stands after the one that it is within.
        for place in sorted(range(len(sizes)), key=depth):
            above = str(outer[place]) if place in outer else None
            known = parents.get(place, ())
            columns.append(TableColumn(str(place), sizes[place], above, known))
        return cls(tuple(columns))

    @functools.cached_property
    def axes(self) -> tuple[MarginAxis, ...]:
        """The axes: each a column that lies within none, with those nested in it."""
        chains: dict[str, list[TableColumn]] = {}
        for column in self.columns:
            chain = [] if column.within is None else chains.pop(column.within)
            chains[column.name] = [*chain, column]
        # A chain moved to the end when it grew; axes come in the order of their first columns.
        order = {column.name: place for place, column in enumerate(self.columns)}
        ordered = sorted(chains.values(), key=lambda chain: order[chain[0].name])
        return tuple(map(_axis, ordered))

    @functools.cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The axis and the level of each column."""
        return {
            name: (place, level)
            for place, axis in enumerate(self.axes)
            for level, name in enumerate(axis.names, 1)
        }

    @functools.cached_property
    def finest(self) -> Levels:
        """The full table: every axis at its finest level."""
        return tuple(axis.depth for axis in self.axes)

    def levels(self, names: Iterable[str]) -> Levels:
        """Return the level of each axis in the margin over these columns.

        >>> Domain.of({"a": 2, "b": 3}).levels(["b"])
        (0, 1)
        """
        levels = [0] * len(self.axes)
        for name in names:
            if name not in self._places:
                raise InputError(
                    f"there is no column {name!r} (columns: {', '.join(self._places)})"
                )
            place, level = self._places[name]
            levels[place] = max(levels[place], level)
        return tuple(levels)

    def names(self, levels: Levels) -> Margin:
        """Return the finest column of each axis that a margin does not sum over."""
        return tuple(
            axis.names[level - 1]
            for axis, level in zip(self.axes, levels, strict=True)
            if level
        )

    def margin(self, names: Iterable[str]) -> Margin:
        """Return a margin in its one form: columns in order, none that another one says."""
        return self.names(self.levels(names))

    def sizes(self, levels: Levels) -> tuple[int, ...]:
        """Return the number of classes along every axis, 1 where it is summed over."""
        return tuple(
            axis.sizes[level] for axis, level in zip(self.axes, levels, strict=True)
        )

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the shape of a margin as an array: one length for each of its columns.

        >>> Domain.of({"a": 2, "b": 3, "c": 4}).shape(["c", "a"])
        (2, 4)
        """
        levels = self.levels(names)
        return tuple(
            axis.sizes[level]
            for axis, level in zip(self.axes, levels, strict=True)
            if level
        )

    def cells(self, names: Iterable[str]) -> int:
        """Return the number of cells of a margin."""
        return math.prod(self.shape(names))

    def combinations(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the classes of every possible cell: a row for each, a number for each column.

        Cells are in the order of the columns as they are named; of nested columns the finest one
        says the others.

        >>> towns = Domain.of({"sex": 2, "region": 2, "county": ("region", [0, 0, 1])})
        >>> towns.combinations(["region", "county"]).tolist()
        [[0, 0], [0, 1], [1, 2]]
        """
        own = self.in_order(names)
        sizes = [self.cells([name]) for name in own]
        size = math.prod(sizes)
        grid = np.indices(sizes).reshape(len(own), size)
        finest = {}
        for name, classes in zip(own, grid, strict=True):
            place, level = self._places[name]
            finest[place] = (level, classes)
        columns = np.empty((size, len(names)), np.int64)
        for number, name in enumerate(names):
            place, above = self._places[name]
            level, classes = finest[place]
            owner = self.axes[place].ancestors(level, above)
            columns[:, number] = owner[classes]
        return columns

    def kinds(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return a number for each cell of a margin: cells of one number have one law of errors.

        Two cells are of one kind if a renaming of classes takes one into the other, as far as
        numbers of classes tell: without nested columns all are.

        >>> towns = Domain.of({"sex": 2, "region": 3, "county": ("region", [0, 0, 1, 2, 2])})
        >>> towns.kinds(["sex", "county"]).tolist()
        [[1, 1, 0, 1, 1], [1, 1, 0, 1, 1]]
        """
        kinds = np.zeros((), np.int64)
        for axis, level in zip(self.axes, self.levels(names), strict=True):
            if level:
                own = axis.kinds(level)
                count = own.max() + 1
                kinds = kinds[..., None] * count + own
        return kinds

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a margin as they are named, without those that another one says."""
        margin = self.margin(names)
        return [name for name in dict.fromkeys(names) if name in margin]

    def contains(self, large: Iterable[str], small: Iterable[str]) -> bool:
        """Return whether a margin can be had from another one by adding up cells."""
        pairs = zip(self.levels(large), self.levels(small), strict=True)
        return all(fine >= coarse for fine, coarse in pairs)

    def join(self, left: Iterable[str], right: Iterable[str]) -> Margin:
        """Return the coarsest margin that contains both."""
        levels = map(max, self.levels(left), self.levels(right))
        return self.names(tuple(levels))

    def meet(self, left: Iterable[str], right: Iterable[str]) -> Margin:
        """Return the finest margin that both contain."""
        levels = map(min, self.levels(left), self.levels(right))
        return self.names(tuple(levels))

    def closure(self, margins: Iterable[Iterable[str]]) -> list[Margin]:
        """Return every margin that one of these contains, the coarsest first.

        >>> Domain.of({"a": 2, "b": 3}).closure([["a", "b"]])
        [(), ('a',), ('b',), ('a', 'b')]
        """
        below: set[Levels] = set()
        for margin in margins:
            ranges = (range(level + 1) for level in self.levels(margin))
            below.update(itertools.product(*ranges))
        ordered = sorted(below, key=lambda levels: (sum(levels), [-n for n in levels]))
        return [self.names(levels) for levels in ordered]

    def cover(self, margins: Iterable[Iterable[str]]) -> list[Margin]:
        """Return those margins that no other one of them contains, each once.

        >>> Domain.of({"a": 2, "b": 3, "c": 2}).cover([["a"], ["a", "b"], ["c"], ["b", "a"]])
        [('a', 'b'), ('c',)]
        """
        ordered = (self.margin(names) for names in margins)
        distinct = list(dict.fromkeys(ordered))
        maximal = []
        for margin in distinct:
            # Each contains itself: one that no other contains is contained once.
            above = [other for other in distinct if self.contains(other, margin)]
            if above == [margin]:
                maximal.append(margin)
        return maximal

    def project(
        self, table: NDArray[Any], names: Iterable[str], onto: Iterable[str]
    ) -> NDArray[Any]:
        """Add the cells of a margin up to a coarser one; axes behind its own stay as they are.

        >>> towns = Domain.of({"sex": 2, "region": 2, "county": ("region", [0, 0, 1])})
        >>> counts = np.array([[1, 2, 3], [4, 5, 6]])
        >>> towns.project(counts, ["sex", "county"], ["region"])
        array([12,  9])
        """
        fine = self.levels(names)
        coarse = self.levels(onto)
        if not all(map(int.__ge__, fine, coarse)):
            raise InputError(
                f"{self.names(coarse)} is not a margin of {self.names(fine)}"
            )
        array = np.asarray(table)
        behind = array.shape[len(self.shape(names)) :]
        full = array.reshape((*self.sizes(fine), *behind))
        total = self.add_up(full, fine, coarse)
        return total.reshape((*self.shape(onto), *behind))

    def add_up(self, table: NDArray[Any], fine: Levels, coarse: Levels) -> NDArray[Any]:
        """Add up cells, on arrays that keep every axis (of length 1 where summed over)."""
        for place, axis in enumerate(self.axes):
            if fine[place] == coarse[place]:
                continue
            if coarse[place] == 0:
                table = table.sum(axis=place, keepdims=True)
                continue
            owner = axis.ancestors(fine[place], coarse[place])
            shape = list(table.shape)
            shape[place] = axis.sizes[coarse[place]]
            total = np.zeros(shape, table.dtype)
            # total[owner[s]] += table[s] along this axis
            into = np.moveaxis(total, place, 0)
            np.add.at(into, owner, np.moveaxis(table, place, 0))
            table = total
        return table


def _axis(chain: list[TableColumn]) -> MarginAxis:
    """Return the axis of nested columns, the coarsest first."""
    parents = [(0,) * chain[0].classes]
    for outer, column in itertools.pairwise(chain):
        share, odd = divmod(column.classes, outer.classes)
        if not column.parents and odd:
            raise InputError(
                f"{column.name} has {column.classes} classes within {outer.classes} of "
                f"{outer.name}: say the parent of each class"
            )
        known = column.parents or tuple(n // share for n in range(column.classes))
        if set(known) != set(range(outer.classes)):
            raise InputError(
                f"the parents of {column.name} must be all classes of {outer.name}, "
                f"0 to {outer.classes - 1}"
            )
        parents.append(known)
    return MarginAxis(tuple(column.name for column in chain), tuple(parents))
