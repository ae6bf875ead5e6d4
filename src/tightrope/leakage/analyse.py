r"""Everything that can be said about one mechanism for one prior, in one result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tightrope.channels import Channel, UnboundedNoise
from tightrope.channels.compare import dobrushin
from tightrope.channels.generality import TIGHT_TOLERANCE, maximally_general
from tightrope.channels.privacy import check_sizes, smallest_epsilon
from tightrope.epsilon import SMALLEST, Epsilon, Level
from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.leakage.measures import (
    PriorLike,
    as_prior,
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    posterior_vulnerability,
)


@dataclass(frozen=True)
class Analysis:
    """What a mechanism gives to its consumers and what it gives away.

    Attributes
    ----------
    utility
        The chance that a consumer who remaps well names the true answer [B, Prop 24].
    min_entropy_leakage_bits, min_capacity_bits
        How much easier one guess of the true answer becomes, for this prior and for the worst.
    shannon_leakage_bits
        Shannon's mutual information between the true answer and the output.
    maximally_general
        Whether no strictly more informative mechanism has the same privacy [D, Thm 3.3.3];
        ``None`` when the channel is not private at any level.
    dobrushin
        The Dobrushin utility [D, Ex 3.2.3]; ``None`` when there are too many pairs of rows.
    epsilon
        The smallest ε for which the channel is private; ``inf`` when there is none.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.mechanisms import geometric
    >>> found = analyse(geometric(PathPower(6), "ln(2)"), PathPower(6))
    >>> round(found.utility, 6), round(found.min_capacity_bits, 6), found.maximally_general
    (0.444444, 1.415037, True)
    """

    utility: float
    min_entropy_leakage_bits: float
    min_capacity_bits: float
    shannon_leakage_bits: float
    maximally_general: bool | None
    dobrushin: float | None
    epsilon: float

    def as_dict(self) -> dict[str, Any]:
        """Return the result under its public names, ready for JSON (no ε is ``null``)."""
        named = dict(vars(self))
        named["epsilon"] = self.epsilon if math.isfinite(self.epsilon) else None
        return named

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words."""
        level = f"{self.epsilon:.6g}" if math.isfinite(self.epsilon) else None
        general = {
            True: "It is maximally general: no mechanism with the same ε tells every consumer as "
            "much and some consumer more.",
            False: "It is not maximally general: with the same ε another mechanism tells everybody "
            "at least as much and somebody more. Whoever this one was designed for gains nothing "
            "by it, if the design is certified; for consumers whom you do not know, 'tightrope "
            "generalise' makes it.",
            None: "Generality is not defined for a mechanism without privacy.",
        }
        alike = (
            ()
            if self.dobrushin is None
            else (
                f"The two true answers that are told apart best still look alike in "
                f"{-100 * self.dobrushin:.4g} % of cases (the Dobrushin utility is that with a "
                "minus sign).",
            )
        )
        return (
            f"A consumer who makes the best guess from the output (the best remap) names the true "
            f"answer with probability {self.utility:.6g}.",
            f"One guess becomes 2^{self.min_entropy_leakage_bits:.6g} times better by the output, "
            f"at most 2^{self.min_capacity_bits:.6g} times whatever was known before.",
            f"The output carries {self.shannon_leakage_bits:.6g} bits about the true answer.",
            "Some output rules an answer out that its neighbour allows: no ε holds."
            if level is None
            else f"The smallest ε that holds is {level}.",
            *alike,
            general[self.maximally_general],
        )


def analyse(
    channel: Channel, graph: AnswerGraph, prior: PriorLike = None, *, epsilon: Level | None = None
) -> Analysis:
    r"""Measure a mechanism: utility, leakage, generality and its smallest ε.

    Parameters
    ----------
    channel
        The mechanism, one row for each answer.
    graph
        The answer graph.
    prior
        What a consumer knows about the answer; uniform by default.
    epsilon
        The level that tight constraints are judged at; the smallest ε that holds by default,
        since at any larger level no constraint is tight everywhere.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> from tightrope.mechanisms import randomized_response
    >>> found = analyse(randomized_response(6, "ln(2)"), Clique(6), [.1, .2, .2, .2, .2, .1])
    >>> round(found.utility, 6), round(found.epsilon, 6)
    (0.285714, 0.693147)
    """
    known = as_prior(prior, channel.shape[0])
    check_sizes(channel, graph)
    if isinstance(channel, UnboundedNoise):
        raise TooLarge(
            "noise without ends has no rows to measure: 'tightrope verify' says what is proved of "
            "it, 'tightrope interval' what error it has"
        )
    level = smallest_epsilon(channel, graph).value
    return Analysis(
        utility=posterior_vulnerability(channel, known),
        min_entropy_leakage_bits=min_entropy_leakage(channel, known),
        min_capacity_bits=min_capacity(channel),
        shannon_leakage_bits=mutual_information(channel, known),
        maximally_general=_general(channel, graph, level, epsilon),
        dobrushin=_dobrushin(channel),
        epsilon=level,
    )


def _general(
    channel: Channel, graph: AnswerGraph, level: float, wanted: Level | None
) -> bool | None:
    if not math.isfinite(level):
        return None
    own = getattr(channel, "epsilon", None)
    if wanted is not None:
        judged = Epsilon.of(wanted)
    elif isinstance(own, Epsilon) and abs(float(own) - level) <= TIGHT_TOLERANCE:
        judged = own
    elif level < SMALLEST:
        # Nothing is told at all; only a graph with one answer leaves no room for more.
        return graph.size == 1
    else:
        judged = Epsilon.of(level)
    # Rounded weights miss equality by a hair: here a constraint that close counts as tight.
    return maximally_general(channel, graph, judged, tolerance=TIGHT_TOLERANCE).maximal


def _dobrushin(channel: Channel) -> float | None:
    try:
        return dobrushin(channel).value
    except TooLarge:
        return None
