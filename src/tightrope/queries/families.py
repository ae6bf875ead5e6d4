"""The built-in queries as data: the parser, the help and the documentation all read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tightrope.queries import builders
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours


@dataclass(frozen=True)
class Parameter:
    """One parameter of a family: its letter, what it means and the least value.

    >>> str(Parameter("u", "number of people"))
    'u: number of people'
    """

    name: str
    meaning: str
    least: int = 1
    default: int | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.meaning}"


@dataclass(frozen=True)
class Family:
    """A built-in query: its name, parameters, meaning, an example and how to build it.

    Attributes
    ----------
    name
        The name in the text form.
    parameters
        What stands between the brackets.
    meaning
        What the query asks.
    example
        A text that parses.
    build
        From the relation and the parameters to the query.
    repeats
        Whether the last parameter may be given several times.
    is_graph
        Whether the family is a graph alone, the same under every relation.

    Examples
    --------
    >>> FAMILIES["sum"].signature, FAMILIES["sum"].example
    ('sum(u,v)', 'sum(150,5)')
    >>> FAMILIES["sum"].build(Neighbours.CHANGE_ONE, 2, 3).graph.size
    7
    """

    name: str
    parameters: tuple[Parameter, ...]
    meaning: str
    example: str
    build: Callable[..., Query]
    repeats: bool = False
    is_graph: bool = False

    @property
    def signature(self) -> str:
        """The name with its parameters, optional ones in square brackets."""
        if not self.parameters:
            return self.name
        letters = ",".join(p.name for p in self.parameters) + (",…" if self.repeats else "")
        return f"{self.name}[({letters})]" if self.fewest == 0 else f"{self.name}({letters})"

    @property
    def fewest(self) -> int:
        """The smallest number of parameters that must be given."""
        return sum(1 for p in self.parameters if p.default is None)

    @property
    def expectation(self) -> str:
        """What the parameters must be, for messages and help."""
        return f"{self.signature} with " + ", ".join(map(str, self.parameters))


def _graph(
    name: str,
    parameters: tuple[Parameter, ...],
    meaning: str,
    example: str,
    *,
    repeats: bool = False,
) -> Family:
    def build(near: Neighbours, *sizes: int) -> Query:
        return builders.plain(near, name, *sizes)

    return Family(name, parameters, meaning, example, build, repeats, is_graph=True)


_PEOPLE = Parameter("u", "number of people")
_MANY = Parameter("n", "number of people")
_TOP = Parameter("v", "largest value (values are 0 … v)")
_NODES = Parameter("n", "number of answers")

#: Every built-in query by its name.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("count", (_MANY,), "how many of n people are marked", "count(5)", builders.count),
        Family("sum", (_PEOPLE, _TOP), "sum of u values", "sum(150,5)", builders.total),
        Family("mean", (_PEOPLE, _TOP), "mean of u values", "mean(4,5)", builders.mean),
        Family(
            "median",
            (_PEOPLE, _TOP),
            "median of u values (average of the middle two)",
            "median(4,5)",
            builders.median,
        ),
        Family(
            "counts",
            (_MANY, Parameter("k", "number of properties")),
            "how many of n people have each of k independent properties",
            "counts(30,2)",
            builders.counts,
        ),
        Family(
            "histogram",
            (_MANY, Parameter("c", "number of classes")),
            "how many of n people fall into each of c classes",
            "histogram(10,3)",
            builders.histogram,
        ),
        Family(
            "count_mod",
            (_MANY, Parameter("m", "modulus")),
            "a count of n people, modulo m",
            "count_mod(9,4)",
            builders.count_mod,
        ),
        Family(
            "choice",
            (Parameter("c", "number of possible winners"),),
            "what most people chose, out of c",
            "choice(6)",
            builders.choice,
        ),
        Family(
            "star",
            (Parameter("k", "number of values"),),
            "the value (1 … k) on which all people agree, 0 when they do not",
            "star(3)",
            builders.star,
        ),
        Family(
            "databases",
            (_PEOPLE, Parameter("v", "number of values")),
            "the whole database: the values of u people",
            "databases(2,3)",
            builders.databases,
        ),
        _graph("path", (_NODES,), "answers in a row", "path(6)"),
        _graph("cycle", (Parameter("n", "number of answers", 3),), "answers in a ring", "cycle(8)"),
        _graph("clique", (_NODES,), "every two answers adjacent", "clique(4)"),
        _graph(
            "grid",
            (Parameter("a", "number of answers along one side"),),
            "a grid with any number of sides",
            "grid(3,4)",
            repeats=True,
        ),
        _graph(
            "tree",
            (Parameter("b", "children of each node"), Parameter("h", "height", 0)),
            "a balanced tree",
            "tree(2,3)",
        ),
        _graph("hypercube", (Parameter("d", "dimension"),), "tuples of bits", "hypercube(3)"),
        _graph(
            "folded_cube",
            (Parameter("d", "dimension", 3),),
            "a hypercube of dimension d-1 with its opposite corners joined",
            "folded_cube(4)",
        ),
        _graph("petersen", (), "the Petersen graph", "petersen"),
        _graph(
            "chang",
            (Parameter("k", "which of the three, 1 by default", 1, 1),),
            "a Chang graph: distance-regular, not vertex-transitive",
            "chang",
        ),
        _graph(
            "truncated_tetrahedron",
            (),
            "vertex-transitive, not distance-regular",
            "truncated_tetrahedron",
        ),
    )
}
