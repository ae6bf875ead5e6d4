"""A mechanism: integer weights, labels and proofs, read from a file when they are needed."""

from __future__ import annotations

import functools
import os
from collections.abc import Hashable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.container import Container, Damaged
from tightrope.certify.encode import decode_label
from tightrope.certify.neighbours import Graph, read_graph
from tightrope.certify.weights import Weights
from tightrope.channels import Channel, IntegerChannel, RuleChannel
from tightrope.channels.base import MATRIX_LIMIT
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

#: Most bytes of listed weights that stay unpacked between questions.
KEPT_BYTES = 1 << 27


class Mechanism:
    """A proof-carrying mechanism: what a ``.tightrope`` file holds.

    Nothing but the header is read before it is asked for. Reading is not checking: use
    :func:`~tightrope.certify.verify`.

    Parameters
    ----------
    source
        The path of a file, or its bytes.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> response = rational([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> made = certify(response, PathPower(2), "ln(3)", query="path(2)")
    >>> made.shape, made.total, made.row_weights(0).tolist(), made.ratio
    ((2, 2), 4, [3, 1], Fraction(3, 1))
    """

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        try:
            self._file = Container(source)
            self._graph = read_graph(self._file)
            ratios = [(int(p), int(q)) for _, p, q in self._file.get("ratios", list)]
            self._weights = Weights(self._file, self._graph, ratios)
            level = self._file.get("epsilon", dict)
            base = level.get("base")
            self.epsilon = Epsilon(
                Fraction(level["multiple"]), None if base is None else Fraction(base)
            )
            self.ratio = Fraction(*ratios[0])
        except Damaged as damage:
            name = "the mechanism" if isinstance(source, bytes) else str(source)
            raise InputError(f"{name}: {damage}") from None
        except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError):
            raise InputError("the header of the mechanism file is not sound: verify it") from None

    # -- what the header says -------------------------------------------------------------

    @property
    def header(self) -> dict[str, Any]:
        """The header as it stands in the file."""
        return self._file.header

    @property
    def query(self) -> str:
        """The text of the query."""
        return str(self.header.get("query"))

    @property
    def neighbours(self) -> str:
        """The neighbour relation."""
        return str(self.header.get("neighbours"))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of outputs."""
        return self._graph.nodes, self._weights.outputs

    @property
    def kind(self) -> str:
        """``dense`` when the weights are listed, ``levels`` when they follow a rule."""
        return self._weights.kind

    @property
    def bits(self) -> int:
        """Logarithm of the total of a row."""
        return self._weights.bits

    @property
    def total(self) -> int:
        """The sum of every row."""
        return int(self._weights.total)

    @property
    def expected_loss(self) -> Fraction | None:
        """The stated expected loss."""
        return self._number("expected_loss")

    @property
    def bound(self) -> Fraction | None:
        """The stated lower bound of the loss (or what else is least) of every such mechanism."""
        return self._number("bound")

    def _number(self, name: str) -> Fraction | None:
        return None if self.header.get(name) is None else Fraction(self.header[name])

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the bytes."""
        return self._file.digest()[0]

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return self._file.read(0, self._file.size)

    # -- weights and labels ---------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """Who is whose neighbour, as the checker reads it."""
        return self._graph

    def row_weights(self, i: int) -> NDArray[Any]:
        """Return the integer weights of the outputs when the true answer is node i."""
        if not 0 <= i < self.shape[0]:
            raise InputError(f"row must be in 0 … {self.shape[0] - 1}, got {i}")
        try:
            if self._listed is None:
                return self._weights.row(int(i))
            return np.concatenate([block[int(i)] for block in self._listed])
        except Damaged as damage:
            raise InputError(f"the mechanism: {damage}") from None

    @functools.cached_property
    def _listed(self) -> list[NDArray[Any]] | None:
        """Listed weights, unpacked once: a row crosses every block, so each would unpack all."""
        if self.kind != "dense":
            return None
        part = self._file.places["weights"][0]
        # Wider integers are Python objects, each with a header and a pointer to it.
        size = 8 if part["width"] == 8 else part["width"] + 40
        if part["count"] * size > KEPT_BYTES:
            return None
        return [block for _, block in self._weights.columns()]

    def column_blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield blocks of columns of weights, each with the number of its first output."""
        yield from self._weights.columns()

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self._label("inputs", i, self.shape[0])

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for output o."""
        return self._label("outputs", o, self.shape[1])

    def guess(self, answer: Hashable) -> Hashable:
        """Return what the reader for whom the file is made takes a released answer for.

        Listed weights are remapped already. A rule is noise alone, and the file says beside it
        what its reader guesses.
        """
        if self._guess_of is None:
            return answer
        return self.input_label(int(self._guess_of[self.input_index(answer)]))

    @functools.cached_property
    def _guess_of(self) -> NDArray[Any] | None:
        rows, outputs = self.shape
        if self.kind == "dense" or "guess_of" not in self._file.places or rows != outputs:
            return None
        return self._file.whole("guess_of", outputs, 0, rows)

    def input_index(self, label: Hashable) -> int:
        """Return the row of a true answer."""
        told = self.header["inputs"]
        if "list" in told:
            found = self._places.get(label)
        elif "sizes" in told:
            sizes = told["sizes"]
            found = None
            if isinstance(label, tuple) and len(label) == len(sizes):
                fits = all(0 <= x < size for x, size in zip(label, sizes, strict=True))
                found = int(np.ravel_multi_index(label, sizes)) if fits else None
        else:
            found = self._on_line(told, label)
        if found is None:
            raise InputError(f"{label!r} is not an answer of {self.query}")
        return found

    def _on_line(self, told: dict[str, Any], label: Any) -> int | None:
        try:
            place = (Fraction(label) - Fraction(told["start"])) / Fraction(told["step"])
        except (TypeError, ValueError, OverflowError):
            return None
        whole = place.denominator == 1 and 0 <= place < self.shape[0]
        return int(place) if whole else None

    @functools.cached_property
    def _places(self) -> dict[Hashable, int]:
        return {decode_label(x): i for i, x in enumerate(self.header["inputs"]["list"])}

    def _label(self, name: str, i: int, count: int) -> Hashable:
        if not 0 <= i < count:
            raise InputError(f"{name} are numbered 0 … {count - 1}, got {i}")
        told = self.header[name]
        if "list" in told:
            return decode_label(told["list"][i])
        if "sizes" in told:
            return tuple(map(int, np.unravel_index(int(i), told["sizes"])))
        value = Fraction(told["start"]) + int(i) * Fraction(told["step"])
        return int(value) if value.denominator == 1 else value

    def channel(self) -> Channel:
        """Return the mechanism as a channel, with its exact weights where they fit."""
        # Rules have wide integers, which take their time in a matrix.
        most = MATRIX_LIMIT // 10 if self.kind == "dense" else 1 << 16
        if self.shape[0] * self.shape[1] > most:
            return _RuleChannel(self)
        weights = np.concatenate([block for _, block in self.column_blocks()], axis=1)
        inputs = [self.input_label(i) for i in range(self.shape[0])]
        outputs = [self.output_label(o) for o in range(self.shape[1])]
        return IntegerChannel(weights, self.total, inputs=inputs, outputs=outputs)

    def __repr__(self) -> str:
        return (
            f"<Mechanism {self.query} ({self.neighbours}), ε = {self.epsilon}: "
            f"{self.shape[0]} answers, {self.shape[1]} outputs, {self.kind}>"
        )


class _RuleChannel(RuleChannel):
    """A large mechanism as a channel: rows and columns in floats, one at a time."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.shape = mechanism.shape

    @functools.cached_property
    def _rule(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Levels and factors of a rule, and what each row lacks, in floats."""
        rule, total = self.mechanism._weights, self.mechanism.total
        levels = np.array([level / rule.levels[0] for level in rule.levels])
        factors = rule.factors.astype(object) * rule.levels[0] / total
        return levels, factors.astype(float), (rule.rest / total).astype(float)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i in floats."""
        self._check_input(i)
        rule = self.mechanism._weights
        if rule.kind == "levels":
            levels, factors, rest = self._rule
            row = levels[rule.depths(int(i))] * factors
            row[rule.rest_at] += rest[i]
            return row
        return (self.mechanism.row_weights(i).astype(object) / self.mechanism.total).astype(float)

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o in floats."""
        self._check_output(o)
        weights = self.mechanism._weights
        if weights.kind == "levels":
            levels, factors, rest = self._rule
            column: NDArray[np.float64] = levels[weights.depths(int(o))] * factors[o]
            return column + rest if o == weights.rest_at else column
        blocks = self.mechanism.column_blocks()
        found = next(b[:, o - s] for s, b in blocks if s <= o < s + b.shape[1])
        return (found.astype(object) / self.mechanism.total).astype(float)

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self.mechanism.input_label(i)

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.mechanism.output_label(o)


def read(path: str | os.PathLike[str]) -> Mechanism:
    """Open a mechanism file; only its header is read.

    Examples
    --------
    >>> read("no-such-file.tightrope")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.tightrope: No such file or directory
    """
    try:
        return Mechanism(Path(path))
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror}") from None


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> Path:
    """Write a mechanism file, whole or not at all, and return its path.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.certify import certify, verify
    >>> from tightrope.graphs import Clique
    >>> from tightrope.channels import ScaledPhi
    >>> made = certify(ScaledPhi(Clique(6), "ln(2)", 2 / 7), Clique(6), "ln(2)", query="choice(6)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(made, Path(folder, "cities.tightrope"))
    ...     read(path).digest == made.digest, verify(path).private
    (True, True)
    """
    goal = Path(path)
    part = goal.with_name(goal.name + ".part")
    try:
        part.write_bytes(mechanism.to_bytes())
        os.replace(part, goal)
    except OSError as problem:
        raise InputError(f"{goal}: {problem.strerror}") from None
    return goal
