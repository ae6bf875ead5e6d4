"""The register of families: parser, help, documentation and studio all read it.

A graph family is registered where it is written, once, by :func:`family`. Questions about people
(:mod:`tightrope.queries.families`) are registered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Builder = TypeVar("Builder", bound=Callable[..., Any])


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
    """What can be asked for by a text: its name, parameters, meaning and how to build it.

    Attributes
    ----------
    name
        The name in the text form.
    parameters
        What stands between the brackets.
    meaning
        What it is, or what the question asks.
    example
        A text that parses.
    build
        A graph family: from the parameters to the graph. A question: from its text, the
        neighbour relation and the parameters to the query.
    repeats
        Whether the last parameter may be given several times.
    is_graph
        Whether this is a graph alone, the same under every relation.
    distance
        The rule for the distance, in words, for the documentation.
    drawn
        A smaller example, for pictures.
    usual_loss
        The loss of a consumer who names none: the size of the error, where it has one.

    Examples
    --------
    >>> chang = FAMILIES["chang"]
    >>> chang.signature, chang.text(2), chang.text(1)
    ('chang[(k)]', 'chang(2)', 'chang')
    """

    name: str
    parameters: tuple[Parameter, ...]
    meaning: str
    example: str
    build: Callable[..., Any]
    repeats: bool = False
    is_graph: bool = True
    distance: str = ""
    drawn: str = ""
    usual_loss: str = "binary"

    @property
    def signature(self) -> str:
        """The name with its parameters, optional ones in square brackets."""
        if not self.parameters:
            return self.name
        letters = ",".join(p.name for p in self.parameters) + ",…" * self.repeats
        if self.fewest:
            return f"{self.name}({letters})"
        return f"{self.name}[({letters})]"

    @property
    def fewest(self) -> int:
        """The smallest number of parameters that must be given."""
        return sum(1 for p in self.parameters if p.default is None)

    @property
    def expectation(self) -> str:
        """What the parameters must be, for messages and help."""
        parameters = ", ".join(map(str, self.parameters))
        return f"{self.signature} with {parameters}"

    def text(self, *sizes: int) -> str:
        """Return the one text for these parameters, defaults left out."""
        given = list(sizes)
        # Defaults at the end are left out, so that equal graphs have one text.
        while given and len(given) <= len(self.parameters):
            if given[-1] != self.parameters[len(given) - 1].default:
                break
            given.pop()
        if not given:
            return self.name
        return f"{self.name}({','.join(map(str, given))})"


#: Every graph family by its name.
FAMILIES: dict[str, Family] = {}


def family(
    name: str, *parameters: Parameter, meaning: str, example: str, **more: Any
) -> Callable[[Builder], Builder]:
    """Register what follows, a class or a function from the parameters to a graph, under a name.

    Further keywords are fields of :class:`Family`.

    >>> FAMILIES["petersen"].build().size
    10
    """

    def register(builder: Builder) -> Builder:
        FAMILIES[name] = Family(name, parameters, meaning, example, builder, **more)
        return builder

    return register
