"""The sealed room between charge and answer: the only place where rows are run.

Everything that can be refused is refused while a :class:`SealedQuery` is made, from the catalogue
and the declared facts alone. Once it runs, it ends in a node of the answer graph or in one and
the same sentence.

Every rule that privacy rests on is part of the SQL: see :mod:`tightrope.publish.sql_writer`.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tightrope.certify import Mechanism, ScoreMechanism
from tightrope.certify.make import encode_label
from tightrope.errors import TightropeError
from tightrope.publish.sampler import ScoreSampler, draw_output
from tightrope.publish.shapes import Kind, Shape, answer_of, answers_of, found_groups, mapped_text
from tightrope.publish.sources import Source, check_columns, quietly
from tightrope.queries import query

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism


class SourceFailed(TightropeError):
    """A source that broke off while it answered. What it said is not shown: it may tell of rows.

    >>> str(SourceFailed())
    'the source failed while it answered; what was charged stays charged and no answer was ...
    """

    def __init__(self, more: str = "") -> None:
        super().__init__(
            "the source failed while it answered; what was charged stays charged and no answer "
            f"was drawn: mend the source and ask again with the same key{more}"
        )


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn whatever goes wrong into the same words."""
    try:
        yield
    except Exception:
        raise SourceFailed from None


class SealedQuery:
    """A question about one open source, ready to run.

    Parameters
    ----------
    source
        The open source.
    shape
        The question.
    declared
        For a question with an answer graph of its own: the node of each result, as text, and the
        node for every other result.

    Examples
    --------
    >>> import pyarrow
    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.sources import open_source
    >>> people = Table("people", 5)
    >>> with open_source(pyarrow.table({"age": [31, 44]}), people) as source:
    ...     SealedQuery(source, Shape(Kind.COUNT, people)).node()
    2
    """

    def __init__(
        self, source: Source, shape: Shape, declared: tuple[Mapping[str, int], int] | None = None
    ) -> None:
        from tightrope.publish.sql_writer import compiled, person_columns

        self._source, self._shape, self._declared = source, shape, declared
        whose = itertools.chain(*person_columns(shape))
        self._columns = list(dict.fromkeys([*shape.columns, *whose]))
        found = check_columns(source, self._columns)
        self._sql = compiled(shape, source, found)
        if declared is None:
            self._graphs = [
                None if draw.by_score else query(draw.query, neighbours=draw.neighbours).graph
                for draw in shape.draws
            ]
        source.check(self._sql)

    def draw(self, mechanisms: Sequence[AnyMechanism]) -> Any:
        """Run the question and draw one output for each answer, as the ledger holds them.

        The mechanisms are those of the question's draws. One answer of one draw is recorded as
        it is, answers of several groups or draws as a list for each draw.
        """
        with _one_sentence():
            if self._shape.kind is Kind.FOUND:
                return self._found(*mechanisms)
            drawn = [
                [encode_label(self._drawn(mechanism, node)) for node in nodes]
                for mechanism, nodes in zip(mechanisms, self.nodes(), strict=True)
            ]
            return drawn[0][0] if len(drawn) == len(drawn[0]) == 1 else drawn

    def _found(self, choice: AnyMechanism, counting: AnyMechanism) -> list[list[Any]]:
        """Return the groups that are kept, each with a count; a larger one counts as the largest.

        They are in the order of their names: that of the database might tell of rows.
        """
        assert isinstance(choice, Mechanism)
        assert isinstance(counting, Mechanism)
        drawn = []
        for name, number in found_groups(self._rows()).items():
            if draw_output(choice, min(number, choice.shape[0] - 1)) == "keep":
                output = draw_output(counting, min(number, counting.shape[0] - 1))
                drawn.append([encode_label(name), encode_label(output)])
        return drawn

    def _drawn(self, mechanism: AnyMechanism, node: Any) -> Hashable:
        if not isinstance(mechanism, ScoreMechanism):
            return draw_output(mechanism, node)
        low = 0 if mechanism.rank is None else self._shape.bounds[0]
        return low + ScoreSampler(mechanism, node).draw_index()

    def node(self) -> Any:
        """Run the question and return the node of the true answer, where it is one."""
        return self.nodes()[0][0]

    def nodes(self) -> list[list[Any]]:
        """Run the question and return the nodes of the true answers of each draw.

        What is drawn by score has the counts of all values in the place of a node.
        """
        with _one_sentence():
            rows = self._rows()
            if self._declared is None:
                pairs = zip(self._graphs, answers_of(self._shape, rows), strict=True)
                return [
                    list(mine) if graph is None else [int(graph.index(answer)) for answer in mine]
                    for graph, mine in pairs
                ]
            nodes, otherwise = self._declared
            is_known = self._shape.kind is not Kind.DECLARED
            value = answer_of(self._shape, rows) if is_known else rows[0][0]
            return [[nodes.get(mapped_text(value), otherwise)]]

    def _rows(self) -> list[tuple[Any, ...]]:
        with quietly():
            self._source.prepare(self._columns)
            return [tuple(row) for row in self._source.fetch(self._sql)]
