"""What a page shows, as one frozen value: put into a link, taken back by undo, compared.

A link may come from anybody: it is read with bounded memory, every field is checked for its
kind, and what the fields mean is left to the library.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated

from annotated_types import Len

from tightrope.errors import InputError

#: Most consumers on a page.
MOST_CONSUMERS = 12
#: The name of the file in which commands find a drawn or uploaded graph.
GRAPH_FILE = "answers.json"


@dataclass(frozen=True)
class ConsumerText:
    """One consumer of the answer: a prior, or the answers thought possible, and a loss.

    Attributes
    ----------
    name
        What the consumer is called.
    prior
        The prior as text.
    support
        The answers thought possible, as text; not empty for a risk-averse consumer.
    loss
        The loss as text; empty for the usual one of the question.

    Examples
    --------
    >>> ConsumerText("press", support="0..2").is_risk_averse
    True
    """

    #: How pydantic reads one: every field of its own kind, and no other fields.
    __pydantic_config__ = {"strict": True, "extra": "forbid"}  # noqa: RUF012

    name: str = "consumer 1"
    prior: str = "uniform"
    support: str = ""
    loss: str = ""

    @property
    def is_risk_averse(self) -> bool:
        """Whether the worst case counts, and no prior."""
        return bool(self.support)


@dataclass(frozen=True)
class PageState:
    """The values of all fields of a page.

    Attributes
    ----------
    question
        The query as text; not used while a graph is given.
    graph
        A drawn or uploaded graph as the text of its JSON file, or nothing.
    neighbours
        The neighbour relation.
    epsilon
        The privacy level as text.
    individuals, values
        People, and values of one person, for the explanation of ε; 0 for what the question
        says.
    consumers
        Who reads the answer; the first one is designed for.
    route
        The route to force, or nothing.

    Examples
    --------
    >>> PageState().question, PageState().loss_of(PageState().consumer)
    ('count(5)', 'absolute')
    """

    __pydantic_config__ = ConsumerText.__pydantic_config__

    question: str = "count(5)"
    graph: str = ""
    neighbours: str = "change-one"
    epsilon: str = "ln(2)"
    individuals: int = 0
    values: int = 0
    consumers: Annotated[tuple[ConsumerText, ...], Len(1, MOST_CONSUMERS)] = (
        ConsumerText(),
    )
    route: str = ""

    @property
    def consumer(self) -> ConsumerText:
        """The consumer that the mechanism is designed for."""
        return self.consumers[0]

    @property
    def asked(self) -> str:
        """The query text as commands write it."""
        return f"graph:{GRAPH_FILE}" if self.graph else self.question

    def loss_of(self, consumer: ConsumerText) -> str:
        """Return the loss of a consumer: the one named, or the usual one of the question."""
        from tightrope.queries import usual_loss

        return consumer.loss or usual_loss(self.asked)

    def with_consumer(self, place: int, **changes: str) -> PageState:
        """Return the state with one consumer changed."""
        changed = replace(self.consumers[place], **changes)
        before = self.consumers[:place]
        consumers = (*before, changed, *self.consumers[place + 1 :])
        return replace(self, consumers=consumers)


def differences(old: PageState, new: PageState) -> frozenset[str]:
    """Return the names of the fields in which two states differ.

    >>> sorted(differences(PageState(), PageState(epsilon="1", route="plain")))
    ['epsilon', 'route']
    """
    names = (f.name for f in fields(PageState))
    return frozenset(name for name in names if getattr(old, name) != getattr(new, name))


def encode(state: PageState, longest: int = 6_000) -> str:
    """Return a state as text for a link; empty when it would be too long for one.

    Larger states (uploaded graphs) stay in their page.

    >>> decode(encode(PageState(question="sum(3,2)"))).question
    'sum(3,2)'
    """
    usual = asdict(PageState())
    # Defaults are left out, so that links stay short.
    plain = {
        name: value for name, value in asdict(state).items() if value != usual[name]
    }
    packed = zlib.compress(json.dumps(plain, separators=(",", ":")).encode(), 9)
    # Padding is restored when it is read; = would need escaping in a link.
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return text if len(text) <= longest else ""


def decode(text: str, longest: int = 2_000_000) -> PageState:
    """Return the state in a link's text, which may unfold to so many bytes.

    >>> decode("nonsense")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the link holds no state of the studio: it was cut or changed
    """
    from pydantic import TypeAdapter

    if not text:
        return PageState()
    try:
        packed = base64.b64decode(
            text + "=" * (-len(text) % 4), altchars=b"-_", validate=True
        )
        unpacker = zlib.decompressobj()
        # Bounded: a small link can unfold to gigabytes (a zip bomb).
        plain = unpacker.decompress(packed, longest)
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError("too long, or cut")
        # Strict validation: a link comes from anybody.
        return TypeAdapter(PageState).validate_json(plain)
    except (ValueError, zlib.error):
        raise InputError(
            "the link holds no state of the studio: it was cut or changed"
        ) from None


@dataclass(frozen=True)
class History:
    """The present state, those before it, and those that undo took back.

    Examples
    --------
    >>> steps = History().change(PageState(epsilon="1")).change(PageState(epsilon="2"))
    >>> steps.undo().present.epsilon, steps.undo().redo().present.epsilon
    ('1', '2')
    """

    present: PageState = PageState()
    past: tuple[PageState, ...] = ()
    future: tuple[PageState, ...] = ()

    def change(self, state: PageState, most: int = 100) -> History:
        """Return the history after a change, with so many steps back; no change is no step."""
        if state == self.present:
            return self
        # A new change discards what was undone, as in every editor.
        return History(state, (*self.past, self.present)[-most:], ())

    def undo(self) -> History:
        """Return the history one step back, or this one at its beginning."""
        if not self.past:
            return self
        future = (self.present, *self.future)
        return History(self.past[-1], self.past[:-1], future)

    def redo(self) -> History:
        """Return the history with the last undone step done again."""
        if not self.future:
            return self
        past = (*self.past, self.present)
        return History(self.future[0], past, self.future[1:])
