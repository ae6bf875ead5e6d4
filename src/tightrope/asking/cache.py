"""The on-disk cache of verified mechanisms: one is designed once and found by its question."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tightrope.certify import (
    AnyMechanism,
    Mechanism,
    by_score,
    certify_sharpened,
    is_by_score,
    read,
)
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TightropeError
from tightrope.optimize import design
from tightrope.progress import Progress, ProgressCallback
from tightrope.proofs import prove, prove_shown_count
from tightrope.publish.entries import digest
from tightrope.publish.noise import Noise, checked_mechanism, noise_of
from tightrope.publish.shapes import Draw
from tightrope.queries import Query, query as query_of, usual_loss

#: Part of the digest: a change of how mechanisms are designed here makes new ones.
_EDITION = 2


def cache_dir() -> Path:
    """Return the folder of verified mechanisms: ``TIGHTROPE_CACHE``, or the user's cache."""
    named = os.environ.get("TIGHTROPE_CACHE")
    # The convention for caches on Linux: they may be deleted at any time.
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(home) / "tightrope"


def mechanism_for(
    draw: Draw,
    level: Epsilon,
    progress: ProgressCallback | None = None,
    *,
    has_ends: bool = True,
) -> Noise:
    """Return a verified mechanism for one draw of a question; without ends if it may have none."""
    near = draw.neighbours
    # Scores need no design: the mechanism is a formula, verified in milliseconds.
    if draw.by_score:  # made in closed form, without a search
        return checked_mechanism(by_score(draw.query, level, near.value))
    question = query_of(draw.query, neighbours=near)
    if draw.delta:
        # Groups that nobody declared are shown above a threshold, which needs the δ.
        most = question.graph.size - 1
        return checked_mechanism(
            prove_shown_count(most, level, draw.delta, neighbours=near.value)
        )
    # listed = searched = 0 forces noise without ends, whatever the size of the question.
    if not has_ends:
        return proved(question, level, progress, listed=0, searched=0)
    return proved(question, level, progress)


def proved(
    query: Query,
    level: Epsilon,
    progress: ProgressCallback | None = None,
    *,
    listed: int = 200,
    searched: int = 60,
) -> Noise:
    """Return a mechanism for a question whose privacy is verified, from the cache or made now.

    A cached file is trusted with nothing: it is verified like any other, and must be for
    this question and this level.

    Parameters
    ----------
    query
        The question.
    level
        The privacy level.
    progress
        Called with what is being done, and how much of it is done.
    listed, searched
        With more answers on a path, or elsewhere, noise without ends is taken: the best of the
        unbounded question, at once and at any size.
    """
    loss = usual_loss(query)
    free = listed == 0
    # Noise without ends has a place of its own: one level may need both kinds.
    place = _place(query, level, free)
    # A file that somebody damaged is made anew.
    with contextlib.suppress(InputError, CheckFailed, OSError):
        cached = cached_mechanism(query, level, free)
        # The full verification again: the cache is a folder that anybody may write to.
        if cached is not None and _serves(noise := checked_mechanism(cached), loss):
            return noise

    def searching(now: Progress) -> None:
        if progress is not None:
            progress(replace(now, step=f"designing {query.text}: {now.step}"))

    def proving(now: Progress) -> None:
        if progress is not None:
            progress(replace(now, step=f"proving {query.text}"))

    graph = query.graph
    # Many answers: unbounded noise is as good away from the ends, and needs no search.
    if graph.unbounded is not None and graph.size > (
        listed if graph.power == 1 else searched
    ):
        # Without a prior the worst answer counts, which noise of one law treats alike.
        worst = Consumer.of(graph, support="all", loss=loss)
        best = design(query, level, worst, route="unbounded", progress=searching)
    else:
        consumer = Consumer.of(graph, prior="uniform", loss=loss)
        # After a minute the incumbent is taken with the gap that is proved for it.
        best = design(query, level, consumer, progress=searching, time_limit=60)
    # Proved in integers before it is trusted, whatever the search did in floats.
    made = prove(best, query, proving)
    noise = checked_mechanism(made)
    # Ignore an unwritable cache.
    with contextlib.suppress(InputError, OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        made.save(place)
    return noise


def _serves(noise: Noise, loss: str) -> bool:
    """Whether a cached file is for the consumers that designs here have, not any other."""
    consumer = noise.verdict.consumer or {}
    # A file of another consumer may have the same name only if somebody put it there.
    known = (consumer.get("prior"), consumer.get("support"))
    return consumer.get("loss") == loss and known in (("uniform", None), (None, "all"))


def cached_mechanism(
    query: Query, level: Epsilon, free: bool = False
) -> Mechanism | None:
    """Return what the cache has for a question, not verified; nothing where it has nothing."""
    with contextlib.suppress(InputError, OSError):
        found = read(_place(query, level, free))
        if (
            isinstance(found, Mechanism)
            and found.answers(query)
            and found.epsilon == level
            # Private for ε and a δ is less than private for ε, which is what was asked.
            and not found.delta
        ):
            return found
    return None


def drawn_from(
    receipt: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Noise | None]:
    """Return the mechanisms that a receipt names, made in closed form or found in the cache.

    Their digests are those of the receipt: they were verified when the answer was drawn. Others are
    receipts by their keys, among them the one that a sharpened answer follows: its noise is made
    from the noise of that one.
    """
    before = (others or {}).get(receipt.get("follows", {}).get("key", ""))
    earlier = [] if before is None else drawn_from(before, others)
    words = ("query", "neighbours", "epsilon", "mechanism")
    # Several draws of one answer are joined by commas in its entry.
    parts = [str(receipt.get(word, "")).split(", ") for word in words]
    deltas = str(receipt.get("step_delta", "0")).split(", ")
    noises: list[Noise | None] = []
    draws = zip(*parts, strict=False)
    for (text, near, level, number), delta, coarse in zip(
        draws,
        itertools.cycle(deltas),
        itertools.chain(earlier, itertools.repeat(None)),
        strict=False,
    ):
        made: AnyMechanism | None = None
        with contextlib.suppress(TightropeError):
            if coarse is not None:
                made = certify_sharpened(coarse.file, level)
            elif is_by_score(text):
                made = by_score(text, level, near)
            elif delta != "0":
                most = query_of(text).graph.size - 1
                made = prove_shown_count(most, level, delta, neighbours=near)
            else:
                asked = query_of(text, neighbours=near)
                # With and without ends.
                for free in (False, True):
                    cached = cached_mechanism(asked, Epsilon.of(level), free)
                    if cached is not None and cached.digest == number:
                        # The digest identifies the very file that was drawn from.
                        made = cached
        is_same = made is not None and made.digest == number
        noises.append(noise_of(made) if is_same else None)
    return noises


def _place(query: Query, level: Epsilon, free: bool = False) -> Path:
    about = [
        # Everything that determines the design; the edition changes when the designs change.
        *(["without ends"] if free else []),
        _EDITION,
        query.text,
        query.neighbours.value,
        str(level),
        usual_loss(query),
    ]
    return cache_dir() / f"{digest(about)}.tightrope"
