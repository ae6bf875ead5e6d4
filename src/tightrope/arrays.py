"""Names for types of arrays and tuples, and the sizes beyond which work is refused."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers that search.
Floats = NDArray[np.float64]
#: Node numbers, distances and counts.
Ints = NDArray[np.int64]
#: Exact integers: machine words where they fit, otherwise Python's.
Integers = NDArray[Any]
#: Numbers of any kind.
AnyArray = NDArray[Any]
#: Sizes of balls, or other counts in order; node numbers; two of either.
IntTuple = tuple[int, ...]
Nodes = tuple[int, ...]
Pair = tuple[int, int]
#: What determines the edges or the labels of a graph: a word, then numbers.
GraphRule = tuple[Any, ...]
#: A number that is exact where it can be.
Real = Fraction | float
#: What the places of an array mean, in order; ``None`` for the places themselves.
Labels = Sequence[Hashable] | None


@dataclass(frozen=True)
class Limits:
    """Sizes beyond which work is refused, with the size in the message.

    Attributes
    ----------
    row
        Entries of one array: a row, a column, a list of labels.
    address
        Nodes whose numbers fit into arrays.
    edges
        Edges that are listed.
    matrix
        Nodes for which an n × n matrix is made.
    entries
        Entries of the matrix of a channel or a loss that is made from a rule.
    block
        Entries of one block of rows.
    kept
        Nodes of a listed graph whose distances are all computed at once and kept (50 MB).
    searched
        Nodes in which automorphisms and shortest cycles are searched for.
    steps
        Arcs looked at in one search for automorphisms (a few minutes).
    pairs
        Nodes for which an automorphism may have to keep colours of pairs.
    compared
        Points between which all distances are compared.
    read
        Answers and edges that are read from a file.
    digits, parts
        Decimal digits of a number of answers; levels of a tree or factors of a product.
    window
        Probabilities of a family that are listed; beyond them only those that count.
    fractions
        Nodes for which the probabilities of a family are made as fractions.
    evaluated
        Entries of a channel that are looked at for one expected loss.
    programs
        Nodes for which a linear program decides the best bound of a regular prior.
    extended
        Entries of a mechanism that is extended from a cycle to its graph as fractions.
    databases
        Databases of a function whose leakage is measured one by one.
    """

    row: int = 20_000_000
    address: int = 2**62
    edges: int = 20_000_000
    matrix: int = 12_000
    entries: int = 150_000_000
    block: int = 4_000_000
    kept: int = 2_500
    searched: int = 20_000
    steps: int = 5_000_000_000
    pairs: int = 4_000
    compared: int = 30_000
    read: int = 1_000_000
    digits: int = 1000
    parts: int = 100_000
    window: int = 1 << 20
    fractions: int = 2048
    evaluated: int = 40_000_000_000
    programs: int = 400
    extended: int = 20_000
    databases: int = 300_000


LIMITS = Limits()
