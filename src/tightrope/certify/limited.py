r"""Proofs under a limit on vulnerability or loss: from a solver's floats to exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.certificates import (
    BITS,
    Certificate,
    certificate_sections,
    dyadic,
    narrow,
)
from tightrope.certify.container import Container
from tightrope.certify.encode import encode
from tightrope.certify.limit import Limit
from tightrope.certify.neighbours import Graph
from tightrope.certify.optimality import Reader
from tightrope.certify.weights import Weights

#: Binary places of what a listed attacker gains.
ATTACK_BITS = 80


@dataclass(frozen=True)
class Limited:
    r"""A limit on vulnerability or loss, and the proof that nothing under it is better.

    Attributes
    ----------
    limited
        What is limited; the other is least.
    most
        The limit. Where the integer weights pass it, by a rounding error, what they have is
        stated in its place.
    weight
        :math:`\theta`, what the limit counts.
    choices
        For each guess a distribution over the attacker's actions.
    proof
        Prices for the costs with the limit counted in, or ``None``.
    attack
        :math:`a_w(i)`, one row for each action; by default the attacker knows the reader's prior
        and gains 1 by a right guess.

    Examples
    --------
    >>> Limited("vulnerability", Fraction(1, 2), 0.0, [[1, 0], [0, 1]]).proof is None
    True
    """

    limited: Literal["loss", "vulnerability"]
    most: Fraction
    weight: float
    choices: ArrayLike
    proof: Certificate | None = None
    attack: ArrayLike | None = None


def limited_sections(
    given: Limited,
    header: dict[str, Any],
    sections: dict[str, NDArray[Any]],
    read: tuple[Graph, Weights, Reader],
    alphas: list[int],
) -> None:
    """Write the limit, what the weights have of it, and the proof made exact.

    >>> limited_sections.__name__
    'limited_sections'
    """
    graph, weights, reader = read
    told: dict[str, Any] = {"limited": given.limited, "most": str(given.most)}
    header["limit"] = told
    if given.attack is not None:
        attack = np.ldexp(np.asarray(given.attack, np.float64), ATTACK_BITS)
        told |= {"actions": len(attack), "attack_denominator": 1 << ATTACK_BITS}
        sections["attack"] = np.array([round(x) for x in attack.ravel().tolist()], object)
    found = Limit(_so_far(header, sections, graph), reader).vulnerability(weights)
    told["vulnerability"] = str(found)
    has = found if given.limited == "vulnerability" else Fraction(header["expected_loss"])
    told["most"] = str(max(given.most, has))
    if given.proof is None:
        return
    weight = int(dyadic(given.weight, "the weight of a limit")[0])
    share = weight if given.limited == "vulnerability" else 1 << BITS
    choices = dyadic(given.choices, "choices").reshape(reader.guesses, -1)
    choices = choices * share // choices.sum(axis=1, keepdims=True)
    most = choices.argmax(axis=1)
    choices[np.arange(len(choices)), most] += share - choices.sum(axis=1)
    sections["choices"] = narrow(choices.ravel())
    header["certificate"] = {"bits": BITS, "weight": weight}
    file = _so_far(header, sections, graph)
    limit = Limit(file, reader)
    counted = limit.weigh(file)
    fields, more, bound = certificate_sections(given.proof, graph, limit, alphas)
    header["certificate"] |= fields
    header["bound"] = str(bound - counted)
    sections |= more


def _so_far(header: dict[str, Any], sections: dict[str, NDArray[Any]], graph: Graph) -> Container:
    """Return what is written so far as the checker reads it."""
    return Container(encode(header, sections, graph.nodes))
