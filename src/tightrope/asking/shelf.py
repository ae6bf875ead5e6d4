"""The shelf of proved mechanisms: what was designed once is found again by its question."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tightrope.certify import AnyMechanism, Mechanism, by_score, is_by_score, read
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TightropeError
from tightrope.optimize import design
from tightrope.optimize.progress import Progress
from tightrope.proofs import prove
from tightrope.publish.entries import digest
from tightrope.publish.releasing import checked_mechanism
from tightrope.publish.shapes import Draw
from tightrope.queries import Query, query as query_of, usual_loss

#: Part of the digest: a change of how mechanisms are designed here makes new ones.
_EDITION = 2

Told = Callable[[float | None, str], None]


def shelf() -> Path:
    """Return the folder of proved mechanisms: ``TIGHTROPE_CACHE``, or the user's cache."""
    named = os.environ.get("TIGHTROPE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(home) / "tightrope"


def mechanism_for(draw: Draw, level: Epsilon, told: Told | None = None) -> AnyMechanism:
    """Return a verified mechanism for one draw of a question."""
    if draw.by_score:  # made by rule, without a search
        return checked_mechanism(by_score(draw.query, level, draw.neighbours.value))
    return proved(query_of(draw.query, neighbours=draw.neighbours), level, told)


def proved(
    query: Query, level: Epsilon, told: Told | None = None, *, listed: int = 200, searched: int = 60
) -> Mechanism:
    """Return a mechanism for a question whose privacy is verified, from the shelf or made now.

    A file on the shelf is trusted with nothing: it is verified like any other, and must be for
    this question and this level.

    Parameters
    ----------
    query
        The question.
    level
        The privacy level.
    told
        Told the share that is done, and what is being done.
    listed, searched
        With more answers on a path, or elsewhere, noise without ends is taken: the best of the
        unbounded question, at once and at any size.
    """
    loss, place = usual_loss(query), _place(query, level)
    # A file that somebody damaged is made anew.
    with contextlib.suppress(InputError, CheckFailed, OSError):
        found_there = held(query, level)
        if found_there is not None:
            return checked_mechanism(found_there)
    say = told or (lambda share, step: None)

    def watched(now: Progress) -> None:
        say(None, f"designing {query.text}: {now.step}")

    graph = query.graph
    if graph.unbounded is not None and graph.size > (listed if graph.power == 1 else searched):
        worst = Consumer.of(graph, support="all", loss=loss)
        found = design(query, level, worst, route="unbounded", progress=watched)
    else:
        consumer = Consumer.of(graph, prior="uniform", loss=loss)
        found = design(query, level, consumer, progress=watched, time_limit=60)
    made = checked_mechanism(prove(found, query, lambda share: say(share, f"proving {query.text}")))
    with contextlib.suppress(InputError, OSError):  # a shelf that cannot be written is done without
        place.parent.mkdir(parents=True, exist_ok=True)
        made.save(place)
    return made


def held(query: Query, level: Epsilon) -> Mechanism | None:
    """Return what the shelf has for a question, not verified; nothing where it has nothing."""
    with contextlib.suppress(InputError, OSError):
        found = read(_place(query, level))
        if isinstance(found, Mechanism) and found.answers(query) and found.epsilon == level:
            return found
    return None


def drawn_from(receipt: Mapping[str, Any]) -> list[AnyMechanism | None]:
    """Return the mechanisms that a receipt names, made by rule or found on the shelf.

    Their digests are those of the receipt: they were verified when the answer was drawn.
    """
    words = ("query", "neighbours", "epsilon", "mechanism")
    parts = (str(receipt.get(word, "")).split(", ") for word in words)
    found: list[AnyMechanism | None] = []
    for text, near, level, number in zip(*parts, strict=False):
        made: AnyMechanism | None = None
        with contextlib.suppress(TightropeError):
            if is_by_score(text):
                made = by_score(text, level, near)
            else:
                made = held(query_of(text, neighbours=near), Epsilon.of(level))
        found.append(made if made is not None and made.digest == number else None)
    return found


def _place(query: Query, level: Epsilon) -> Path:
    about = [_EDITION, query.text, query.neighbours.value, str(level), usual_loss(query)]
    return shelf() / f"{digest(about)}.tightrope"
