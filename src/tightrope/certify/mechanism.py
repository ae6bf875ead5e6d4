"""A mechanism: integer weights, labels and proofs, read from a file when they are needed.

A mechanism file for a named question holds no graph. Its text must be canonical, the one
spelling that ``query(text).text`` gives back; answers, labels and neighbours follow from it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Hashable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.arrays import LIMITS
from tightrope.certify import judge
from tightrope.channels import Channel, IntegerChannel, RuleChannel, UnboundedNoise
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.files import write_whole
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.graphs.lines import CappedPathPower
from tightrope.queries import Query, query
from tightrope.queries.text import named


def named_query(text: str, relation: str) -> Query:
    """Return the query of a canonical text; no file is ever opened.

    >>> named_query("sum(10, 5)", "change-one")
    Traceback (most recent call last):
    ...
    tightrope.certify.kernel.format.Refused: question: 'sum(10, 5)' is not the canonical text
    of a question
    """
    try:
        found = named(text, relation)
    except InputError as wrong:
        raise judge.Refused(f"question: {wrong}") from None
    other = f"question: {text[:60]!r} is not the canonical text of a question"
    judge.need(found.text == text, other)
    return found


def derived_graph(text: str, relation: str) -> judge.Graph:
    """Derive answers, labels and neighbours from the text of a question.

    >>> derived_graph("counts(30,2)", "change-one").sides
    ((31, 1), (31, 1))
    """
    return judged_graph(named_query(text, relation).graph)


def canonical_text(asked: Query) -> str | None:
    """Return the text of a question if it owns the graph of this query, else ``None``.

    >>> from tightrope.graphs import ExplicitGraph, PathPower
    >>> from tightrope.queries import query
    >>> canonical_text(query(PathPower(6))), canonical_text(query(ExplicitGraph([(0, 1)])))
    ('path(6)', None)
    """
    try:
        owner = named_query(asked.text, asked.neighbours.value)
    except judge.Refused:
        return None
    # A query may carry a known text but a graph of its own: the graphs must agree.
    return asked.text if owner.graph.agrees_with(asked.graph) else None


def judged_graph(graph: AnswerGraph, by_rule: bool = True) -> judge.Graph:
    """Return an answer graph as the judge reads it: implicit if allowed and possible, else listed.

    >>> from tightrope.graphs import CartesianProduct, Clique, Cycle
    >>> judged_graph(Cycle(7)).form, judged_graph(CartesianProduct([Clique(4)] * 2)).form
    ('ring', 'product')
    """
    label: Any = graph.label
    shape = graph_sides(graph) if by_rule else None
    if shape is not None:
        form, sides = shape
        found = judge.Graph(form, graph.size, sides, label=label)
        rule = graph.label_rule
        if rule is not None and rule[0] == "steps":
            found.line = Fraction(rule[1]), Fraction(rule[2])
        elif rule is None:
            found.line = judge.even_line(found)
        return found
    has = f"{graph.name} has {graph.size} answers"
    large = f"too large: {has} that no rule of the judge describes"
    judge.need(graph.size < 1 << 20, large)
    steps = graph.listing_steps
    judge.need_work(f"listing the edges of {graph.name}", steps, 400, 180 * steps)
    judge.need(graph.edge_count < 1 << 22, large)
    # A label that is a tuple costs one step for each entry.
    first = graph.label(0)
    steps *= len(first) if isinstance(first, tuple) else 1
    judge.need_work(f"listing the edges of {graph.name}", steps, 400)
    edges = np.sort(graph.edge_array(), axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    measured = graph.edge_lengths()[order].tolist()
    # Length 1 comes first, because ratios[0] is the ratio of ε itself.
    different = [1.0, *sorted(set(measured) - {1.0})]
    place = {length: number for number, length in enumerate(different)}
    which = np.array([place[length] for length in measured], np.int64)
    # The shortest decimal, not the binary expansion: a length 0.1 is 1/10.
    lengths = [Fraction(repr(float(length))) for length in different]
    return judge.simplest(
        judge.Graph("list", graph.size, (), edges[order], which, lengths, label)
    )


def graph_sides(graph: AnswerGraph) -> tuple[str, tuple[tuple[int, int], ...]] | None:
    """Return form and sides of a graph that the judge knows implicitly, else ``None``.

    >>> from tightrope.graphs import Clique, PathPower
    >>> graph_sides(PathPower(751, 5)), graph_sides(Clique(4))
    (('box', ((751, 5),)), ('box', ((4, 3),)))
    """
    if graph.box is not None:
        box = graph.box or ((1, 1),)
        # A width above size-1 adds no edge, so the smallest equivalent one is canonical.
        return "box", tuple((size, max(1, min(wide, size - 1))) for size, wide in box)
    if graph.is_ring:
        return "ring", ((graph.size, 1),)
    # More answers than that no solver lists: there a mechanism is for a window.
    if isinstance(graph, CappedPathPower) and graph.size > 1 << 12:
        return "capped", ((graph.size, graph.width),)
    if graph.product == "cartesian" and len(graph.factors) <= 64:
        boxes = [factor.box for factor in graph.factors]
        # The judge sums Φ up along paths and cliques; sides of one answer say nothing.
        if all(box is not None and len(box) <= 1 for box in boxes):
            sides = tuple(box[0] for box in boxes if box)
            if all(wide == 1 or wide >= size - 1 for size, wide in sides):
                return (
                    ("product", sides)
                    if len(sides) > 1
                    else ("box", sides or ((1, 1),))
                )
    return None


Made = TypeVar("Made", bound="MechanismFile")

#: Verdicts on the mechanisms of this process, by the digest of the bytes and the one they state.
_VERDICTS: dict[tuple[str, str], judge.Verification] = {}
_VERDICTS_KEPT = 256


class MechanismFile:
    """The bytes of a mechanism, of whatever kind.

    Parameters
    ----------
    source
        The path of a file, or its bytes.
    parsed
        What was read of it already.

    Attributes
    ----------
    neighbours
        The neighbour relation.
    epsilon, ratio, delta
        The privacy level, and the p/q that stands for it.
    kind, bits, total
        The kind of weights, and the sum :math:`2^{bits}` of every row.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        parsed: judge.File | None = None,
    ) -> None:
        try:
            self._file = parsed or judge.File(source)
            header = self._file.header
            self.kind, self.bits = (
                str(header["weights"]["kind"]),
                int(header["weights"]["bits"]),
            )
            self.neighbours, self.total = str(header["neighbours"]), 1 << self.bits
            self._read(header)
            self.epsilon = Epsilon(
                header["epsilon"]["multiple"], header["epsilon"]["base"]
            )
        except (judge.Refused, OSError) as wrong:
            name = "the mechanism" if isinstance(source, bytes) else str(source)
            said = wrong.strerror if isinstance(wrong, OSError) else wrong
            raise InputError(f"{name}: {said}") from None
        self.ratio: Fraction = header["ratios"][0]
        self.delta: Fraction = header["delta"] or Fraction(0)

    def _read(self, header: dict[str, Any]) -> None:
        """Read what a header says about this kind of mechanism."""
        raise NotImplementedError

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the bytes."""
        return self._file.digest()[0]

    @functools.cached_property
    def verdict(self) -> judge.Verification:
        """What the judge finds about these bytes: they are judged once in a process."""
        key = self._file.digest()
        if key not in _VERDICTS:
            # Dictionaries keep insertion order: evict the oldest verdict first.
            while len(_VERDICTS) >= _VERDICTS_KEPT:
                del _VERDICTS[next(iter(_VERDICTS))]
            _VERDICTS[key] = _judged(self._file)
        return _VERDICTS[key]

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return self._file.data

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the mechanism file, whole or not at all, and return its path."""
        goal = Path(path)
        write_whole(goal, lambda file: file.write(self.to_bytes()))
        return goal


class Mechanism(MechanismFile):
    """A proof-carrying mechanism: what a ``.tightrope`` file holds.

    Sections are unpacked when they are asked for. Reading is not checking: use
    :func:`~tightrope.certify.verify`.

    Attributes
    ----------
    header
        The header as it is in the file.
    is_named
        Whether the file names a question; else it holds a graph of its own.
    expected_loss, bound
        What the file states of its loss, and of the loss (or what else is least) of every such
        mechanism.
    graph
        Who is whose neighbour, as the judge reads it; the part in the window where one is.
    shape
        Number of answers and number of outputs.
    window
        The nodes that have rows of their own, where others count as the nearest of them.
    noise
        The layers of noise on a lattice, ``None`` for other mechanisms.
    moved
        The largest share of probability that rounding moved, where this was just made.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> response = rational([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> made = certify(response, "path(2)", "ln(3)")
    >>> made.shape, made.total, made.row_weights(0).tolist(), made.ratio
    ((2, 2), 4, [3, 1], Fraction(3, 1))
    >>> Mechanism("no-such-file.tightrope")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.tightrope: No such file or directory
    """

    noise: judge.LatticeWeights | None = None
    window: range | None = None
    moved: float | None = None
    _start = 0

    def _read(self, header: dict[str, Any]) -> None:
        whole = (
            "this mechanism answers from the scores of a whole table: it has no rows"
        )
        judge.need(self.kind not in ("scores", "tuples"), whole)
        self.header = self._file.raw_header
        self.is_named = header["query"] is not None
        self.expected_loss: Fraction | None = header["expected_loss"]
        self.bound: Fraction | None = header["bound"]
        weights = judge.WEIGHTS[self.kind].read(self._file, derived_graph)
        # Noise on a lattice is known by its layers: there is no matrix to read.
        if isinstance(weights, judge.LatticeWeights):
            named = named_query(header["query"], self.neighbours).graph
            self.noise, self.graph = (
                weights,
                judge.Graph("lattice", named.size, label=named.label),
            )
            self.shape = named.size, named.size
            return
        self._listed_weights = weights
        self.graph = weights.graph
        self.shape = weights.answers, weights.outputs
        if header["window"] is not None:
            self._start = header["window"]["start"]
            self.window = range(self._start, self._start + self.graph.nodes)

    # -- the question ---------------------------------------------------------------------

    @property
    def query(self) -> str:
        """The canonical text of the question, or what a graph of one's own is called."""
        return self.question.text

    @functools.cached_property
    def question(self) -> Query:
        """The question that the file names, or the graph that it holds."""
        if self.is_named:
            return named_query(self._file.header["query"], self.neighbours)
        graph = self.graph
        own = ExplicitGraph(
            graph.edges,
            lengths=[float(graph.lengths[which]) for which in graph.length.tolist()],
            labels=[graph.label(i) for i in range(graph.nodes)],
            name=f"a graph of its own with {graph.nodes} answers",
        )
        return query(own, neighbours=self.neighbours)

    def answers(self, question: Query) -> bool:
        """Whether this is a mechanism for a question: same relation, same graph, same labels.

        >>> from tightrope.certify import certify
        >>> from tightrope.channels import GeometricChannel
        >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
        >>> made.answers(query("count(5)")), made.answers(query("count(5)", "either"))
        (True, False)
        """
        if question.neighbours.value != self.neighbours:
            return False
        # If either side has a canonical text, both must have it, and the texts must agree.
        if self.is_named or canonical_text(question) is not None:
            return self.is_named and canonical_text(question) == self.query
        return self.question.graph.agrees_with(question.graph)

    # -- weights and labels ---------------------------------------------------------------

    @property
    def weights(self) -> Any:
        """Rows and columns of integers, in a window one row for each of its answers."""
        if self.noise is not None:
            noise = f"noise on the lattice of {self.query}"
            raise TooLarge(f"{noise} has layers, and neither rows nor columns")
        return self._listed_weights

    def row_weights(self, i: int) -> NDArray[Any]:
        """Return the integer weights of the outputs when the true answer is node i."""
        self._check_place(i, self.shape[0])
        row = int(self._rows([i])[0])
        try:
            if self._listed is None:
                return self._one_row(row)
            return np.concatenate([block[row] for block in self._listed])
        except judge.Refused as refused:
            raise InputError(f"the mechanism: {refused}") from None

    def _one_row(self, row: int) -> NDArray[Any]:
        """Return one row of weights that are not kept unpacked."""
        if self.kind != "dense":
            return np.asarray(self.weights.row(row))
        return np.concatenate([block[row] for _, block in self.weights.columns()])

    def column_weights(self, o: int) -> NDArray[Any]:
        """Return the integer weights of output o, in a window one for each of its answers."""
        if self.kind != "dense":
            return np.asarray(self.weights.column(o))
        blocks = self.weights.columns()
        return next(b[:, o - s] for s, b in blocks if s <= o < s + b.shape[1])

    def _rows(self, nodes: ArrayLike) -> NDArray[np.int64]:
        """Return the rows of some answers: those outside a window count as the nearest in it."""
        return np.asarray(
            np.clip(np.asarray(nodes) - self._start, 0, self.graph.nodes - 1)
        )

    @functools.cached_property
    def _listed(self) -> list[NDArray[Any]] | None:
        """Listed weights, unpacked once: a row crosses every block, so each would unpack all."""
        if self.kind != "dense":
            return None
        part = self._file.places["weights"][0]
        # Wider integers are Python objects, each with a header and a pointer to it.
        size = 8 if part["width"] == 8 else part["width"] + 40
        if part["count"] * size > 1 << 27:  # bytes that stay unpacked between questions
            return None
        return [block for _, block in self.weights.columns()]

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        self._check_place(i, self.shape[0])
        return self.graph.label(int(i) - self._start)

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for output o."""
        self._check_place(o, self.shape[1])
        listed: list[Hashable] | None = self._file.header["outputs"]
        return self.graph.label(int(o)) if listed is None else listed[int(o)]

    def guess(self, answer: Hashable) -> Hashable:
        """Return what the consumer for whom the file is made takes a released answer for.

        The loss that the file states is the loss of these guesses. Listed losses have guesses
        without names: there it is the answer itself.
        """
        guesses = self._guess_of
        outputs = self._file.header["outputs"]
        if guesses is None:
            return answer
        o = (
            self.input_index(answer) - self._start
            if outputs is None
            else outputs.index(answer)
        )
        last = self.shape[1] - 1
        k = int(guesses[o]) if o < len(guesses) else o
        if self.noise is not None and last - o < len(guesses):
            # Guesses on a lattice are listed for the outputs at one end, and mirrored at the other.
            k = last - int(guesses[last - o])
        guess = self.graph.label(k)
        return answer if guess == answer else guess  # 1 and 1/1 are one answer

    @functools.cached_property
    def _guess_of(self) -> NDArray[Any] | None:
        consumer = self._file.header["consumer"]
        if (
            consumer is None
            or not consumer["remapped"]
            or consumer["loss"]["kind"] == "listed"
        ):
            return None
        return self._file.section("guess_of")

    def input_index(self, label: Hashable) -> int:
        """Return the row of a true answer; an error never says which answer it was."""
        try:
            return self.question.graph.index(label)
        except InputError:
            raise InputError(f"this is not an answer of {self.query}") from None

    @staticmethod
    def _check_place(i: int, count: int) -> None:
        if not 0 <= i < count:
            raise InputError(f"places are numbered 0 … {count - 1}, got {i}")

    def channel(self) -> Channel:
        """Return the mechanism as a channel, with its exact weights where they fit."""
        if self.noise is not None:
            return UnboundedNoise(
                self.question.graph, self.epsilon, self.noise.lattice.core
            )
        # Rules have wide integers, which take their time in a matrix.
        most = LIMITS.entries // 10 if self.kind == "dense" else 1 << 16
        if self.window is not None or self.shape[0] * self.shape[1] > most:
            return _RuleChannel(self)
        weights = np.concatenate([block for _, block in self.weights.columns()], axis=1)
        inputs = [self.input_label(i) for i in range(self.shape[0])]
        outputs = [self.output_label(o) for o in range(self.shape[1])]
        return IntegerChannel(weights, self.total, inputs=inputs, outputs=outputs)

    def __repr__(self) -> str:
        size = f"{self.shape[0]} answers, {self.shape[1]} outputs, {self.kind}"
        return (
            f"<Mechanism {self.query} ({self.neighbours}), ε = {self.epsilon}: {size}>"
        )


class _RuleChannel(RuleChannel):
    """A large mechanism as a channel: rows and columns in floats, one at a time."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.shape = mechanism.shape
        self._inputs = mechanism.input_label
        self._outputs = mechanism.output_label

    def exact_rows(self) -> Iterator[list[Fraction]]:
        """Yield the rows in fractions."""
        own = self.mechanism
        for i in range(self.shape[0]):
            yield [Fraction(int(weight), own.total) for weight in own.row_weights(i)]

    @functools.cached_property
    def _rule(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Levels and factors of a rule, and what each row lacks, in floats."""
        rule = self.mechanism.weights
        total = self.mechanism.total
        # Python divides big integers with correct rounding; converting each first may overflow.
        levels = np.array([level / rule.levels[0] for level in rule.levels])
        factors = rule.factors.astype(object) * rule.levels[0] / total
        return levels, factors.astype(float), (rule.rest / total).astype(float)

    def _row(self, i: int) -> NDArray[np.float64]:
        rule = self.mechanism.weights
        own = self.mechanism
        if rule.kind != "levels":
            return (own.row_weights(i).astype(object) / own.total).astype(float)
        (levels, factors, rest), at = self._rule, int(own._rows([i])[0])
        row: NDArray[np.float64] = levels[rule.depths(at)] * factors
        row[rule.rest_at] += rest[at]
        return row

    def _column(self, o: int) -> NDArray[np.float64]:
        rule = self.mechanism.weights
        own = self.mechanism
        if rule.kind == "levels":
            levels, factors, rest = self._rule
            column = levels[rule.depths(int(o))] * factors[o]
            column = column + rest if o == rule.rest_at else column
        else:
            column = (own.column_weights(o).astype(object) / own.total).astype(float)
        # Answers outside a window share the row of the nearest answer inside it.
        return np.asarray(column[own._rows(np.arange(self.shape[0]))])


def verify(
    mechanism: str | os.PathLike[str] | bytes | judge.File | MechanismFile,
) -> judge.Verification:
    r"""Check a mechanism: question, privacy, row totals, digest, loss and optimality.

    Every decision is made in integers, by code that knows no solver and no planner. A weight is a
    witness: :math:`W[i,o]\,q \le W[h,o]\,p` on every edge [A, Lemma 1] with
    :math:`p/q \le e^\varepsilon`. The edges are those of the question that the file names.

    Parameters
    ----------
    mechanism
        The path of a ``.tightrope`` file, its bytes, or a mechanism.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> made = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), "path(2)", "ln(3)")
    >>> found = verify(made)
    >>> found.private, found.private_for_question, found.question["query"]
    (True, True, 'path(2)')
    >>> verify(made.to_bytes()[:-1]).reasons
    ('the file is truncated: 1 bytes are missing',)
    """
    if isinstance(mechanism, MechanismFile):
        return mechanism.verdict
    if not isinstance(mechanism, str | os.PathLike | bytes | judge.File):
        raise InputError(
            f"verify takes the path of a mechanism file or a mechanism, got {mechanism!r}"
        )
    try:
        return _judged(mechanism)
    except OSError as problem:
        raise InputError(f"{mechanism!s}: {problem.strerror}") from None


def _judged(source: str | os.PathLike[str] | bytes | judge.File) -> judge.Verification:
    """Ask the judge, and write the level as people do."""
    found = judge.check(source, derived_graph)
    if found.question:
        multiple = found.question["epsilon"]["multiple"]
        base = found.question["epsilon"]["base"]
        level = multiple if base is None else f"{multiple}*ln({base})"
        # A level that is written in an odd way stays as it is.
        with contextlib.suppress(InputError):
            level = str(
                Epsilon(Fraction(multiple), None if base is None else Fraction(base))
            )
        found.question["epsilon"] = level
    return found


def checked(made: Made) -> Made:
    """Return a mechanism that was just made, if the judge finds nothing wrong with it."""
    for reason in made.verdict.reasons[:1]:
        raise CheckFailed(reason)
    return made
