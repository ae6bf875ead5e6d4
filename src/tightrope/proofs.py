"""From a design to a mechanism that carries its proofs.

The planner searches in floating point and the judge decides in integers; neither knows the
other. This is where the result of the one is handed to the other.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tightrope.accounting import partition_selection
from tightrope.accounting.curves import delta_of
from tightrope.accounting.powerful import check_delta, steepest_chances
from tightrope.certify import Limited, Mechanism, Proof, certify
from tightrope.certify.make import encode, plain_header
from tightrope.certify.mechanism import checked
from tightrope.certify.weights import LISTED_WEIGHTS
from tightrope.channels import Channel, GeometricChannel, UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.consumers.evaluate import line_remap
from tightrope.consumers.losses import MatrixLoss
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge
from tightrope.optimize import (
    Certificate,
    Design,
    LimitCertificate,
    SolverSettings,
    design as find_design,
)
from tightrope.optimize.certificate import StretchedCertificate, UnboundedCertificate
from tightrope.optimize.closed_forms import line_prices
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import COST_LIMIT, Problem
from tightrope.optimize.staircases import proved_prices, tightest_cores
from tightrope.phi import Phi
from tightrope.progress import Progress, ProgressCallback
from tightrope.queries import Neighbours, Query, query as query_of

#: On powers of paths the prices alone are proved beyond this many guesses times edges.
LISTED_ARCS = 100_000
#: The noise of a count that may not be shown has at most so many values: as many as a file holds.
LARGEST_LAW = 1 << 17


def prove(
    design: Design,
    query: Query | None = None,
    progress: ProgressCallback | None = None,
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
        Called with the number of guesses whose multipliers are found.
    settings
        How large a proof may be.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> from tightrope.optimize import design
    >>> verdict = verify(prove(design("choice(3)", "ln(2)")))
    >>> verdict.private, float(verdict.optimal_within) < 1e-9
    (True, True)
    """
    if not isinstance(design, Design):
        raise InputError(f"a design is proved, got {type(design).__name__}")
    if design.epsilon is None:
        raise InputError(
            "a mechanism file proves privacy: the design needs a privacy level"
        )
    asked = query_of(design.graph) if query is None else query
    window = None
    if design.inner is not None:
        window = (design.start, design.inner.graph)
        design = design.inner
    if design.is_floating:
        # Of noise on a lattice a file proves what follows in closed form, and no list of prices.
        design = find_design(design.graph, design.level, design.consumer, "unbounded")
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
    people: int,
    epsilon: Level,
    delta: float | Fraction | str,
    *,
    neighbours: str = "add-remove",
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
    >>> mechanism = prove_selection(1000, "ln(2)", "1e-3")
    >>> verdict = verify(mechanism)
    >>> mechanism.query, verdict.private, float(verdict.optimal_within) < 1e-12
    ('count(18)', True, True)
    """
    chosen = partition_selection(people, epsilon, delta)
    n = chosen.channel.shape[0] - 1
    losses = np.zeros((n + 1, 2))
    losses[1:, 0] = 1
    losses[0, 1] = chosen.price
    asked = query_of(f"count({n})", neighbours)
    arcs = tuple(zip(*chosen.multipliers, strict=True))
    return certify(
        chosen.channel,
        asked,
        epsilon,
        consumer=Consumer.of(
            asked.graph, loss=MatrixLoss(losses, guesses=["drop", "keep"])
        ),
        certificate=Proof("multipliers", np.array(chosen.prices, object), arcs),
        delta=delta_of(delta),
    )


def prove_shown_count(
    people: int,
    epsilon: Level,
    delta: float | Fraction | str,
    *,
    neighbours: str = "add-remove",
) -> Mechanism:
    r"""Return the best private way to show a count if it is large enough, as a mechanism.

    The output is the count plus noise, or 0 where the count is not shown. The law of the noise is
    the increments of the largest chances of being shown, so no
    :math:`(\varepsilon, \delta)`-private mechanism shows a count of any size more often.

    Parameters
    ----------
    people
        The largest possible count.
    epsilon, delta
        The privacy level for one step of the count.
    neighbours
        The neighbour relation.

    Examples
    --------
    >>> from tightrope.certify import verify
    >>> mechanism = prove_shown_count(1000, "ln(2)", "1e-3")
    >>> verdict = verify(mechanism)
    >>> mechanism.query, verdict.private, float(verdict.optimal_within) < 1e-9
    ('count(1000)', True, True)
    """
    level = Epsilon.of(epsilon)
    slack = delta_of(delta)
    check_delta(slack)
    # The integers round to within one unit a level. So much less δ, of which 2^160 units make
    # one, pays for 2^17 levels, and takes nothing from the chances that can be seen.
    bits = 160 + (slack.denominator // slack.numerator).bit_length()
    spared = slack * (1 - Fraction(1, 1 << 40))
    chances = steepest_chances(LARGEST_LAW + 1, level, spared, bits=bits)
    if chances[-1] < 1 << bits:
        raise TooLarge(
            f"counts above {LARGEST_LAW} would not be shown for certain at ε = {level}: take a "
            "larger ε, or a larger δ"
        )
    # A count i is shown with the i uppermost levels together.
    pairs = itertools.pairwise(chances)
    levels = [after - before for before, after in pairs][::-1]
    # The median: the mean absolute error is least around it.
    sums = list(itertools.accumulate(levels))
    zero = bisect.bisect_left(sums, 1 << bits - 1)
    near = Neighbours.of(neighbours).value
    header = plain_header(f"count({people})", near, level, [level.ratio])
    header["weights"] = {"kind": "shown", "bits": bits, "levels": levels, "zero": zero}
    header["delta"] = str(slack)
    return checked(Mechanism(encode(header, {}, 1)))


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
    is_remapped = design.guess is not None and design.general is not design.channel
    is_large = rows * columns > LISTED_WEIGHTS
    if is_remapped and is_large and isinstance(design.general, GeometricChannel):
        return design.general, design.guess
    return design.channel, _guesses(design)


def _guesses(design: Design) -> NDArray[np.int64] | None:
    """Return the guess that each output serves, or nothing when output o serves guess o."""
    outputs = design.channel.outputs
    guesses = design.consumer.loss.guesses
    if outputs == guesses:
        return None
    place = {label: k for k, label in enumerate(guesses)}
    return np.array([place[label] for label in outputs])


def _certificate(
    design: Design, progress: ProgressCallback | None, settings: SolverSettings
) -> Proof | Limited | None:
    """Return what the file proves: by a cover or by a theorem where possible, else in full."""
    proof = design.certificate
    if proof is None:
        return None
    if isinstance(proof, StretchedCertificate):
        return Proof(
            "stretched",
            proof.prices,
            places=proof.cores,
            layers=proof.layers,
            stride=proof.stride,
        )
    if isinstance(proof, UnboundedCertificate):
        return Proof("unbounded", slope=proof.slope)
    if isinstance(proof, LimitCertificate):
        return _limited(design, proof, _prices(proof.plain(), progress, settings))
    if proof.stride > 1:
        return _by_cosets(proof, progress, settings)
    exact = _by_cover(design, proof) or _prices(proof, progress, settings)
    if exact is None or not design.consumer.risk_averse:
        return exact
    # The bound of a risk-averse consumer is the Bayesian one at the worst prior.
    return replace(exact, mix=proof.consumer.prior.probabilities)


def _by_cover(
    design: Design,
    proof: Certificate,
    *,
    negative: float = 1e-15,
    rounding: float = 1e-11,
) -> Proof | None:
    """Return y with y Φ ≥ π for binary loss, but for rounding errors, or the envelope on trees."""
    graph = design.graph
    level = design.level
    if not design.consumer.loss.is_binary or graph.has_lengths:
        return None
    if proof.cover is not None:
        return Proof("phi", proof.cover)
    # Guess k loses π except at k, so y = π - λ bounds the probability of a correct guess.
    prior = proof.consumer.prior.probabilities
    cover = prior - proof.prices
    if cover.min() >= -negative:
        reached = Phi(graph, level).matvec(cover)
        if (reached >= prior * (1 - rounding)).all():
            return Proof("phi", cover)
    # Where geometric noise on a tree exists, its prices are those of the envelope.
    if graph.is_tree and level.alpha * (graph.max_degree - 1) <= 1:
        return Proof("envelope")
    return None


def _limited(design: Design, given: LimitCertificate, proof: Proof | None) -> Limited:
    """Return the limit, the attacker where he is one of his own, and the proof."""
    usual = np.array_equal(given.attack, np.diag(design.consumer.prior.probabilities))
    limited: Literal["loss", "vulnerability"]
    limited = "vulnerability" if given.minimised == "loss" else "loss"
    most = Fraction(repr(float(given.limit)))
    attack = None if usual else given.attack
    return Limited(limited, most, given.weight, given.choices, proof, attack)


def _prices(
    proof: Certificate,
    progress: ProgressCallback | None,
    settings: SolverSettings,
    *,
    rounding: float = 1e-10,
) -> Proof | None:
    """Return the prices, alone on paths and trees, where they determine the multipliers.

    On powers of paths as well where staircases prove them but for ``rounding``.
    """
    graph = proof.graph
    consumer = proof.consumer
    alpha = proof.epsilon.alpha
    n = graph.size
    guesses = consumer.loss.guess_count
    is_short_path = graph.power == 1 and 1 < n <= settings.proof_line
    if is_short_path and consumer.loss.step_rule is not None:
        if proof.theorem:
            return Proof("line", proof.prices)
        remap = line_remap(consumer, alpha)
        if remap is not None:
            return Proof("line", line_prices(remap.values, alpha))
    if graph.is_tree and n * guesses <= settings.proof_tree_pairs:
        problem = Problem.of(graph, proof.epsilon, consumer)
        priced = price(problem, Pricer(problem), proof.prices, problem.guesses)
        # Where its cheapest ray is highest, the rounding errors of a guess count least.
        return Proof("tree", priced.prices, places=priced.rays.places)
    many = guesses * graph.edge_count > settings.proof_multipliers
    costs_fit = n * guesses <= COST_LIMIT
    is_long = guesses * graph.edge_count > LISTED_ARCS and costs_fit
    if is_long and graph.power is not None:
        costs = Problem.of(graph, proof.epsilon, consumer).costs
        every = np.arange(guesses)
        # Columns for a prior without a shape are no staircases, which then prove less.
        least = proof.bound - rounding * abs(proof.bound)
        if (
            many
            or proved_prices(costs, proof.prices, graph.power, alpha).sum() >= least
        ):
            cores, _ = tightest_cores(costs.T, proof.prices, graph.power, alpha, every)
            return Proof("stairs", proof.prices, places=cores)
    if many:
        return None
    return Proof("multipliers", proof.prices, _listed(proof, progress))


def _by_cosets(
    proof: Certificate, progress: ProgressCallback | None, settings: SolverSettings
) -> Proof | None:
    """Return prices whose multipliers are listed inside each coset, unless they are too many."""
    edges = (len(mine) * part.graph.edge_count for mine, part in proof.cosets)
    count = sum(edges)
    if count > settings.proof_multipliers * proof.stride:
        return None
    prior = proof.consumer.prior.probabilities
    prices = proof.prices + proof.saved_between * prior
    return Proof("cosets", prices, _listed(proof, progress), stride=proof.stride)


def _listed(
    proof: Certificate,
    progress: ProgressCallback | None,
    *,
    negligible: float = 1e-15,
) -> list[NDArray[Any]]:
    """List the multipliers of every guess as arcs, but for those that are negligible.

    Guess, from, to and multiplier, each as one array over all guesses.
    """
    listed: list[tuple[NDArray[Any], ...]] = []
    guesses = proof.consumer.loss.guess_count
    for answers, part in proof.cosets:
        ends = answers[part.graph.edge_array()]
        arcs = np.concatenate([ends, ends[:, ::-1]])
        # A coset has its own guesses, a question all of them.
        own = answers if proof.stride > 1 else np.arange(guesses)
        for place, k in enumerate(own.tolist()):
            multipliers = part.multipliers(place)
            value = np.concatenate([multipliers.forward, multipliers.backward])
            used = np.flatnonzero(value > negligible)
            listed.append((np.full(len(used), k), *arcs[used].T, value[used]))
            if progress is not None:
                progress(Progress("proving", len(listed), guesses))
    return [np.concatenate(column) for column in zip(*listed, strict=True)]
