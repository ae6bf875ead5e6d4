"""From a design to a mechanism that carries its proofs.

The planner searches in floating point and the judge decides in integers; neither knows the
other. This is where the result of the one is handed to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tightrope.accounting import partition_selection
from tightrope.accounting.curves import delta_of
from tightrope.certify import Limited, Mechanism, Proof, certify
from tightrope.certify.weights import LISTED_WEIGHTS
from tightrope.channels import Channel, GeometricChannel, UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.consumers.evaluate import line_remap
from tightrope.consumers.losses import MatrixLoss
from tightrope.epsilon import Level
from tightrope.errors import InputError
from tightrope.optimize import Certificate, Design, LimitCertificate, SolverSettings
from tightrope.optimize.certificate import StretchedCertificate, UnboundedCertificate
from tightrope.optimize.closed_forms import line_prices
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Problem
from tightrope.optimize.staircases import proved_prices, tightest_cores
from tightrope.phi import Phi
from tightrope.queries import Query, query as query_of

Progress = Callable[[float], None] | None


def prove(
    design: Design,
    query: Query | None = None,
    progress: Progress = None,
    settings: SolverSettings | None = None,
) -> Mechanism:
    r"""Round a design to integers, make its certificate exact and check both.

    Privacy is proved as :math:`W[i,o]\,q \le W[h,o]\,p` on every edge, with
    :math:`p/q \le e^\varepsilon`. Optimality is proved by the design's prices, made exact: by a
    vector y with :math:`y\Phi \ge \pi` where binary loss allows it; by the prices alone on trees,
    and on paths for all guesses at once; else with one multiplier for each guess and arc. Where
    these would be more than ``settings.proof_multipliers`` the file proves privacy alone.

    Parameters
    ----------
    design
        What the planner found. One mechanism for many consumers is proved private; its outputs
        serve no single guess, so its file states no loss. One under a limit must have a privacy
        level; the limit and the proof under it are in the file.
    query
        The question, for the file's title; the name of the answer graph by default.
    progress
        Told the share of guesses whose multipliers are found.
    settings
        How large a proof may be.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> from tightrope.optimize import design
    >>> found = verify(prove(design("choice(3)", "ln(2)")))
    >>> found.private, float(found.optimal_within) < 1e-9
    (True, True)
    """
    if not isinstance(design, Design):
        raise InputError(f"a design is proved, got {type(design).__name__}")
    if design.epsilon is None:
        raise InputError("a mechanism file proves privacy: the design needs a privacy level")
    asked = query_of(design.graph) if query is None else query
    window = None
    if design.inner is not None:
        window, design = (design.start, design.inner.graph), design.inner
    channel, guess_of = _stored(design)
    return certify(
        channel,
        asked,
        design.level,
        consumer=None if design.many else design.consumer,
        guess_of=guess_of,
        certificate=_certificate(design, progress, settings or SolverSettings()),
        window=window,
    )


def prove_selection(
    people: int, epsilon: Level, delta: float | Fraction | str, *, neighbours: str = "add-remove"
) -> Mechanism:
    r"""Return the best private choice between keeping and dropping a group, as a mechanism.

    It answers how many people a group has, with ``drop`` or ``keep``, is
    :math:`(\varepsilon, \delta)`-private, and carries the proof that no other one keeps more.

    Parameters
    ----------
    people
        The largest possible group. Sizes from the first on that is always kept count as that one.
    epsilon, delta
        The privacy level for one person in one group.
    neighbours
        The neighbour relation.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> made = prove_selection(1000, "ln(2)", "1e-3")
    >>> found = verify(made)
    >>> made.query, found.private, float(found.optimal_within) < 1e-12
    ('count(18)', True, True)
    """
    chosen = partition_selection(people, epsilon, delta)
    n = chosen.channel.shape[0] - 1
    losses = np.zeros((n + 1, 2))
    losses[1:, 0], losses[0, 1] = 1, chosen.price
    asked = query_of(f"count({n})", neighbours)
    arcs = tuple(zip(*chosen.multipliers, strict=True))
    return certify(
        chosen.channel,
        asked,
        epsilon,
        consumer=Consumer.of(asked.graph, loss=MatrixLoss(losses, guesses=["drop", "keep"])),
        certificate=Proof("multipliers", np.array(chosen.prices, object), arcs),
        delta=delta_of(delta),
    )


def _stored(design: Design) -> tuple[Channel, NDArray[np.int64] | None]:
    """Return the channel that the file holds and the guess that each of its outputs serves.

    Geometric noise has a rule and its remap has none: where the remapped mechanism is too large
    to list, the file holds the noise and says what the consumer guesses.
    """
    if isinstance(design.channel, UnboundedNoise):
        return design.channel, design.guess
    if design.many:
        return design.channel, None
    rows, columns = design.channel.shape
    noise = isinstance(design.general, GeometricChannel) and design.guess is not None
    if noise and design.general is not design.channel and rows * columns > LISTED_WEIGHTS:
        return design.general, design.guess
    return design.channel, _guesses(design)


def _guesses(design: Design) -> NDArray[np.int64] | None:
    """Return the guess that each output serves, or nothing when output o serves guess o."""
    outputs, guesses = design.channel.outputs, design.consumer.loss.guesses
    if outputs == guesses:
        return None
    place = {label: k for k, label in enumerate(guesses)}
    return np.array([place[label] for label in outputs])


def _certificate(
    design: Design, progress: Progress, settings: SolverSettings
) -> Proof | Limited | None:
    """Return what the file proves: by a cover or by rule where that is enough, else in full."""
    proof = design.certificate
    if proof is None:
        return None
    if isinstance(proof, StretchedCertificate):
        layers, stride = proof.layers, proof.stride
        return Proof("stretched", proof.prices, places=proof.cores, layers=layers, stride=stride)
    if isinstance(proof, UnboundedCertificate):
        return Proof("unbounded", slope=proof.slope)
    if isinstance(proof, LimitCertificate):
        return _limited(design, proof, _prices(proof.plain(), progress, settings))
    found = _by_cover(design, proof) or _prices(proof, progress, settings)
    if found is None or not design.consumer.risk_averse:
        return found
    return replace(found, mix=proof.consumer.prior.probabilities)


def _by_cover(
    design: Design, proof: Certificate, *, negative: float = 1e-15, rounding: float = 1e-11
) -> Proof | None:
    """Return y with y Φ ≥ π for binary loss, but for rounding errors, or the envelope on trees."""
    graph, level = design.graph, design.level
    if not design.consumer.loss.is_binary or graph.has_lengths:
        return None
    if proof.cover is not None:
        return Proof("phi", proof.cover)
    # Guess k loses π except at k, so y = π - λ bounds the chance of a right guess.
    prior = proof.consumer.prior.probabilities
    cover = prior - proof.prices
    if cover.min() >= -negative:
        reached = Phi(graph, level).matvec(cover)
        if (reached >= prior * (1 - rounding)).all():
            return Proof("phi", cover)
    # Where geometric noise on a tree exists, its prices are those of the envelope.
    known = graph.is_tree and level.alpha * (graph.max_degree - 1) <= 1
    return Proof("envelope") if known else None


def _limited(design: Design, given: LimitCertificate, proof: Proof | None) -> Limited:
    """Return the limit, the attacker where he is one of his own, and the proof."""
    usual = np.array_equal(given.attack, np.diag(design.consumer.prior.probabilities))
    limited: Literal["loss", "vulnerability"]
    limited = "vulnerability" if given.minimised == "loss" else "loss"
    most, attack = Fraction(repr(float(given.limit))), None if usual else given.attack
    return Limited(limited, most, given.weight, given.choices, proof, attack)


def _prices(
    proof: Certificate, progress: Progress, settings: SolverSettings, *, rounding: float = 1e-10
) -> Proof | None:
    """Return the prices, alone on paths and trees, where they determine the multipliers.

    On powers of paths as well where staircases prove them but for ``rounding``.
    """
    graph, consumer, alpha = proof.graph, proof.consumer, proof.epsilon.alpha
    n, guesses = graph.size, consumer.loss.guess_count
    if graph.power == 1 and 1 < n <= settings.proof_line and consumer.loss.step_rule is not None:
        if proof.theorem:
            return Proof("line", proof.prices)
        remap = line_remap(consumer, alpha)
        if remap is not None:
            return Proof("line", line_prices(remap.values, alpha))
    if graph.is_tree and n * guesses <= settings.proof_tree_pairs:
        problem = Problem.of(graph, proof.epsilon, consumer)
        found = price(problem, Pricer(problem), proof.prices, problem.guesses)
        # Where its cheapest ray is highest, the rounding errors of a guess count least.
        return Proof("tree", found.prices, places=found.rays.places)
    many = guesses * graph.edge_count > settings.proof_multipliers
    if guesses * graph.edge_count > settings.proof_arcs and graph.power is not None:
        costs, every = Problem.of(graph, proof.epsilon, consumer).costs, np.arange(guesses)
        # Columns for a prior without a shape are no staircases, which then prove less.
        least = proof.bound - rounding * abs(proof.bound)
        if many or proved_prices(costs, proof.prices, graph.power, alpha).sum() >= least:
            cores, _ = tightest_cores(costs.T, proof.prices, graph.power, alpha, every)
            return Proof("stairs", proof.prices, places=cores)
    if many:
        return None
    return _listed(proof, guesses, progress)


def _listed(
    proof: Certificate, guesses: int, progress: Progress, *, negligible: float = 1e-15
) -> Proof:
    """List the multipliers of every guess as arcs, but for those that are negligible."""
    ends = proof.graph.edge_array()
    arcs = np.concatenate([ends, ends[:, ::-1]])
    found: list[tuple[NDArray[Any], ...]] = []
    for k in range(guesses):
        told = proof.multipliers(k)
        value = np.concatenate([told.forward, told.backward])
        used = np.flatnonzero(value > negligible)
        found.append((np.full(len(used), k), *arcs[used].T, value[used]))
        if progress is not None:
            progress((k + 1) / guesses)
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    return Proof("multipliers", proof.prices, columns)
