"""The sealed room between charge and answer: the only place where rows are run.

Everything that can be refused is refused while a :class:`SealedQuery` is made, from the catalogue,
the declared facts and, where that is public, the number of people. Once it runs, it ends in a
node of the answer graph or in one and the same sentence.

Every rule that privacy rests on is part of the SQL: see :mod:`tightrope.publish.sql_writer`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tightrope.certify.make import encode_label
from tightrope.errors import InputError, TightropeError, refusing
from tightrope.publish.facts import Column
from tightrope.publish.relations import person_cells
from tightrope.publish.sources import Source, check_columns, quietly
from tightrope.queries import Neighbours, query

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise
    from tightrope.publish.shapes import Shape


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
    except (KeyboardInterrupt, SystemExit):
        raise
    # An error text that depends on rows would be an unnoised answer: always the same sentence.
    # A panic in a compiled library is a BaseException.
    except BaseException:
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
    secret
        What the choice among the rows of one person depends on.

    Examples
    --------
    >>> import pyarrow
    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.shapes import Count
    >>> from tightrope.publish.sources import open_source
    >>> people = Table("people", 5)
    >>> with open_source(pyarrow.table({"age": [31, 44]}), people) as source:
    ...     SealedQuery(source, Count(people)).node()
    2
    """

    def __init__(
        self,
        source: Source | Mapping[str, Source],
        shape: Shape,
        declared: tuple[Mapping[str, int], int] | None = None,
        secret: str = "",
    ) -> None:
        from tightrope.publish.sql_writer import (
            Opened,
            compiled,
            read_columns,
            whose,
        )

        self._shape = shape
        self._declared = declared
        # The first table is the one that the question asks about; the others are joined to it.
        tables = read_columns(shape)
        first = tables[0][0]
        sources = source if isinstance(source, Mapping) else {first.name: source}
        self._source = sources[first.name]
        self._columns: dict[str, list[Column]] = {}
        opened: dict[str, Opened] = {}
        for number, (table, columns) in enumerate(tables):
            stored = itertools.chain(*(column.stored for column in columns))
            # The person's key is read only where rows per person are limited or counted.
            is_needed = whose(shape, table) is not None
            keys = person_cells(table) if is_needed else ()
            wanted = list(dict.fromkeys([*stored, *keys]))
            self._columns[table.name] = wanted
            place = sources[table.name]
            # The catalogue is compared before the charge: no row is run for it.
            types = check_columns(place, wanted)
            view = f"tightrope_rows{number or ''}"
            opened[table.name] = Opened(place, types, view)
        self._sources = {name: sources[name] for name in opened}
        # Compiled before the charge: SQL that cannot be written costs nothing.
        self._sql = compiled(shape, opened, secret)
        if declared is None:
            self._graphs = [
                None
                if draw.by_score
                else query(draw.query, neighbours=draw.neighbours).graph
                for draw in shape.draws
            ]
        # A server may refuse a constant or a function: find out before the charge.
        self._source.check(self._sql)
        self._people = shape.table.people or first
        self._counter = sources.get(self._people.name)

    def check_people(self) -> None:
        """Refuse a table that does not hold exactly the declared people.

        Under ``change-one`` all neighbours hold the same number of people: it is public, and is
        counted before the charge. What a view or a plan computes is run after the charge only.
        """
        from tightrope.publish.sql_writer import Opened, counted_people

        table = self._people
        source = self._counter
        is_public = table.neighbours is Neighbours.CHANGE_ONE
        # Under add-remove the number of people is confidential; a view may fail on a row.
        if (
            source is None
            or not is_public
            or table.population is None
            or source.is_computed
        ):
            return
        keys = [] if table.person is None else list(person_cells(table))
        sql = counted_people(table, Opened(source, check_columns(source, keys)))
        with (
            refusing(f"{source.shown}: the rows cannot be counted", Exception),
            quietly(),
        ):
            source.prepare(keys)
            ((people, *_), *_) = source.fetch(sql)
        # The message may state the true number only because all neighbours share it.
        if people != table.population:
            raise InputError(
                f"table {table.name} holds {people} people and is declared with population = "
                f"{table.population}: under change-one their number is public and must be right; "
                'correct the public facts, or declare neighbours = "add-remove", where the '
                "population is a limit"
            )

    def draw(self, noises: Sequence[Noise]) -> Any:
        """Run the question and draw one output for each answer, as the ledger holds them.

        The mechanisms are those of the question's draws.
        """
        with _one_sentence():
            # Drawing is inside too: its failure must not be distinguishable from one of the source.
            if self._declared is None:
                return self._shape.draw(noises, self._rows())
            return encode_label(noises[0].draw_node(self.node()))

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
                pairs = zip(self._graphs, self._shape.answers(rows), strict=True)
                return [
                    list(mine)
                    if graph is None
                    else [int(graph.index(answer)) for answer in mine]
                    for graph, mine in pairs
                ]
            from tightrope.publish.shapes.declared import mapped_text

            nodes, otherwise = self._declared
            return [[nodes.get(mapped_text(self._shape.answer(rows)), otherwise)]]

    def _rows(self) -> list[tuple[Any, ...]]:
        with quietly():
            for name, source in self._sources.items():
                # Prepared at the last moment: some sources read the whole file for it.
                source.prepare(self._columns[name])
            return [tuple(row) for row in self._source.fetch(self._sql)]
