r"""Universal optimality: one mechanism from which every consumer gets an optimal one by a remap.

For Bayesian and risk-averse consumers of a count there is: the geometric mechanism [C, Thm 2.7,
2.8]. Under binary loss trees are settled by one number, cycles exclude it [C, Thm 4.2, 4.3]. Every
answer comes with its proof.

*Cycles* [C, Thm 4.2]. On a shortest cycle :math:`C_m` two consumers with binary loss force
incompatible mechanisms. The first, uniform on the cycle, needs :math:`X_{io} = δα^{d(i,o)}`, which
is maximally general there. The second, uniform on three neighbours (two when m = 3), needs every
column tight along them. Whatever derives X is derived from X on the cycle, so it is enough that
the second mechanism, whose rows there are forced, is not derivable from X restricted to the same
rows.

*Stars* [C, Thm 4.3]. On a tree the tight-constraints mechanism exists and is optimal for every
prior iff :math:`α \le 1/(Δ-1)`; above, three or more consumers on a node and its neighbours show
that nothing is. The proof is on the page on universality.

*Rays of small graphs.* Every column of an ε-private mechanism is a sum of rays :math:`α^{h}` with
integer heights h that differ by at most 1 on edges and whose tight edges connect all nodes. A
mechanism is a choice of weights :math:`w_r \ge 0` with :math:`\sum_r w_r r = 1`, and a consumer who
sees ray r gains :math:`w_r \max_k \sum_i π_i g(i,k) r_i` from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb, inf
from typing import Any

import numpy as np

from tightrope.arrays import LIMITS, Floats, Nodes, Real
from tightrope.channels import Channel, IntegerChannel, ScaledPhi, is_private, rational
from tightrope.channels.derive import Derivation, derivable
from tightrope.consumers import Consumer, Loss, Prior, is_monotone, loss as read_loss
from tightrope.epsilon import Epsilon, Level, enclosed
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.graphs.shapes import components, shortest_cycle
from tightrope.mechanisms import geometric
from tightrope.phi import Phi
from tightrope.queries import Query, query


@dataclass(frozen=True)
class Verdict:
    """Whether a universally optimal mechanism exists, and why.

    Attributes
    ----------
    verdict
        ``"yes"``, ``"no"`` or ``"open"``.
    reason
        One sentence.
    witness
        The mechanism for a yes, the consumers and the proof for a no, ``None`` when open.
    theorem
        What was used.
    margin
        For rules with a threshold: ε less the threshold; ``None`` otherwise.

    Examples
    --------
    >>> universality("star(3)", "ln(2)").verdict, universality("star(3)", "ln(1.99)").verdict
    ('yes', 'no')
    """

    verdict: str
    reason: str
    witness: Universal | Refutation | None
    theorem: str
    margin: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict under its public names, ready for JSON."""
        return {
            **vars(self),
            "witness": None if self.witness is None else self.witness.as_dict(),
        }

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


def universality(
    question: Query | AnswerGraph | str,
    epsilon: Level,
    loss: Any = "binary",
    *,
    kind: str = "bayesian",
    search: bool = True,
) -> Verdict:
    """Decide whether one mechanism serves all consumers with this loss, with proof.

    Parameters
    ----------
    question
        A query, its text, or an answer graph.
    epsilon
        The privacy level.
    loss
        The loss that all consumers share, or ``"monotone"`` for all monotone losses at once.
    kind
        ``"bayesian"``: all priors; ``"risk-averse"``: all sets of possible answers.
    search
        Whether to look for a few consumers that decide an open case on a small graph.

    Examples
    --------
    >>> print(universality("count(5)", 1))
    yes: the answers form a path and the loss is monotone: the geometric mechanism serves all
    >>> print(universality("sum(3,2)", 1))
    no: the answers 1, 0 and 2 are pairwise neighbours: two consumers need incompatible mechanisms
    """
    if kind not in ("bayesian", "risk-averse"):
        raise InputError(f"consumers are 'bayesian' or 'risk-averse', got {kind!r}")
    asked = query(question) if isinstance(question, str) else question
    case = _Case(asked, epsilon, loss, kind)
    # At most one of the rules applies: a path, a graph with a cycle, or another tree.
    verdict = case.path() or case.cycle() or case.tree()
    if verdict is None and search:
        verdict = case.search()
    return verdict or case.open()


class _Case:
    """One question at one level with one loss; each rule returns a verdict or ``None``."""

    def __init__(
        self, asked: Query | AnswerGraph, epsilon: Level, loss: Any, kind: str
    ) -> None:
        self.graph = graph = asked.graph if isinstance(asked, Query) else asked
        self.text = asked.text if isinstance(asked, Query) else graph.name
        self.level = level = Epsilon.of(epsilon)
        self.everything = isinstance(loss, str) and loss == "monotone"
        self.loss = read_loss("binary" if self.everything else loss, graph)
        self.kind = kind
        # Edges of one length other than 1 are edges of length 1 at another level.
        lengths = np.unique(graph.edge_lengths()) if graph.has_lengths else np.ones(1)
        self.one_length = len(lengths) == 1
        self.edge_level = level.scaled(float(lengths[0])) if lengths[0] != 1 else level

    def path(self) -> Verdict | None:
        if not self.graph.is_path or not self.one_length:
            return None
        monotone = self.everything or self.loss.is_binary
        if not monotone and self.loss.guess_count == self.graph.size:
            # The geometric proof only needs losses that grow on either side of the truth.
            monotone = is_monotone(self.loss, self.graph).result
        if not monotone:
            return None
        # Out of node order the geometric mechanism is the tight-constraints one of the path as a
        # tree.
        in_order = self.graph.power == 1
        mechanism = geometric(self.graph, self.level) if in_order else self._tight()
        return Verdict(
            "yes",
            "the answers form a path and the loss is monotone: the geometric mechanism serves all",
            Universal("geometric", mechanism),
            "C, Thm 2.7" if self.kind == "bayesian" else "C, Thm 2.8",
        )

    def _tight(self) -> Channel:
        """Return the tight-constraints mechanism of a tree on which it is known to exist."""
        z = Phi(self.graph, self.level).solve_ones().values
        # z ≥ 0 is known here; round-off below 0 is cut.
        return ScaledPhi(self.graph, self.level, np.maximum(z, 0.0))

    def cycle(self) -> Verdict | None:
        if self.graph.is_tree or not self.one_length:
            return None
        cycle = shortest_cycle(self.graph)
        if cycle is None or not self._binary_on(cycle):
            return None
        m = len(cycle)
        reason = (
            f"the answers contain a shortest cycle of {m} nodes: a consumer uniform on it and one "
            "on neighbours in it need incompatible mechanisms"
        )
        theorem = "C, Thm 4.2" if self.kind == "bayesian" else "odd-cycle argument"
        if m == 3:
            first, second, third = (self.graph.label(i) for i in cycle)
            reason = (
                f"the answers {first}, {second} and {third} are pairwise neighbours: two "
                "consumers need incompatible mechanisms"
            )
            known = {"sum": "Thm 3.4", "histogram": "Thm 3.5", "counts": "Thm 3.6"}
            family = self.graph.question[0] if self.graph.question else ""
            theorem = f"C, {known.get(family, 'Claim 3.3')}"
        # Even cycles prove nothing for worst cases: the argument needs an odd one.
        elif self.kind == "risk-averse" and m % 2 == 0:
            return None
        proof = refute_by_cycle(
            self.graph, cycle, self.edge_level, kind=self.kind, loss=self.loss
        )
        return Verdict("no", reason, proof, theorem)

    def tree(self) -> Verdict | None:
        if not self.graph.is_tree or not self.loss.is_binary:
            return None
        margin: float | None = None
        where = "tight constraints exist"
        most = max(1, self.graph.max_degree - 1)
        if self.one_length:
            margin = margin_above(self.edge_level, most)
            exists = margin >= 0
            where = f"e^ε against Δ - 1 = {most}"
        else:
            # With edges of several lengths the threshold is replaced by the solution of Φz = 1.
            exists = bool(Phi(self.graph, self.level).solve_ones().positive)
        if exists and not self.everything:
            # A mechanism optimal for every prior is optimal for every worst case, by minimax
            # duality: the worst case of a set is a least favourable prior on it.
            duality = "" if self.kind == "bayesian" else " and minimax duality"
            return Verdict(
                "yes",
                f"the answers form a tree and ε allows it ({where}): the tight-constraints "
                "mechanism serves all",
                Universal("tight constraints", self._tight()),
                f"tree theorem{duality}",
                margin,
            )
        # Binary loss is monotone, so its "no" holds for all monotone losses; its "yes" does not.
        refutable = (
            self.one_length and self.kind == "bayesian" and self.edge_level.ratio < most
        )
        if exists or not refutable:
            return None
        return Verdict(
            "no",
            f"the answers form a tree but ε is too small ({where}): consumers on a node and two "
            "of its neighbours cannot all be served",
            refute_by_star(self.graph, self.edge_level, loss=self.loss),
            "C, Thm 4.3",
            margin,
        )

    def _binary_on(self, nodes: Nodes) -> bool:
        """Whether the loss is 0 or one s > 0 on these nodes, and at least s for other guesses."""
        if self.loss.is_binary:
            return True
        if self.loss.guess_count != self.graph.size:
            return False
        rows = np.stack([self.loss.row(i) for i in nodes])
        inside = rows[:, list(nodes)]
        # The scale of the loss: a multiple of binary loss has the same optima.
        s = inside[0, 1]
        others = np.delete(rows, list(nodes), axis=1)
        expected = s * (1 - np.eye(len(nodes)))
        is_binary = np.array_equal(inside, expected)
        return is_binary and bool(s > 0 and (others >= s).all())

    def search(
        self, *, nodes: int = 9, risk_nodes: int = 5, least: float = 1e-6
    ) -> Verdict | None:
        """Look for a few consumers who cannot all be served, on small graphs.

        The linear programs of risk-averse consumers are larger, so their graphs must have fewer
        nodes. A regret found in floats counts as a proof from this part of the largest loss on.
        """
        most_nodes = nodes if self.kind == "bayesian" else risk_nodes
        if self.graph.size > most_nodes or not self.one_length:
            return None
        rays = all_rays(
            ExplicitGraph(self.graph.edge_array(), size=self.graph.size),
            self.edge_level.alpha,
        )
        priors = self._candidates()
        margin = least * _largest(self.loss)

        def served(chosen_priors: list[int]) -> Together:
            return together(
                rays, list(self._proof([priors[k] for k in chosen_priors]).consumers())
            )

        outcome = served(list(range(len(priors))))
        # A regret within the solver's accuracy proves nothing.
        if outcome.regret <= margin:
            return None
        # By complementary slackness consumers with a positive multiplier suffice; then drop one
        # after the other if possible.
        chosen = list(outcome.active)
        for c in outcome.active:
            fewer = [k for k in chosen if k != c]
            if len(fewer) > 1 and served(fewer).regret > margin:
                chosen = fewer
        final = served(chosen)
        if final.regret <= margin:
            return None
        proof = replace(
            self._proof([priors[k] for k in chosen]),
            optimal_losses=final.own,
            # Gains are minus losses: together < apart exactly if the regret is positive.
            together=-(sum(final.own) + final.regret),
            apart=-sum(final.own),
        )
        return Verdict(
            "no",
            f"{len(chosen)} consumers were found of whom one must lose at least "
            f"{final.regret:.3g} more than with a mechanism of its own",
            proof,
            "linear program over rays",
            final.regret,
        )

    def _candidates(
        self, uniform: int = 120, unequal: int = 60
    ) -> list[tuple[Fraction, ...]]:
        """Return priors to try: so many uniform on small sets, then some with unequal weights."""
        n = self.graph.size
        priors = [
            tuple(Fraction(int(i in nodes), k) for i in range(n))
            for k in range(min(2, n), n + 1)
            for nodes in combinations(range(n), k)
        ][:uniform]
        if self.kind == "bayesian":
            # Seeded: the verdict must not change between runs.
            random = np.random.default_rng(0)
            weights = random.integers(0, 7, (unequal, n)) + 1
            for row in weights.tolist():
                total = sum(row)
                priors.append(tuple(Fraction(w, total) for w in row))
        return priors

    def _proof(self, priors: list[tuple[Fraction, ...]]) -> Refutation:
        possible = ([i for i, p in enumerate(prior) if p] for prior in priors)
        supports = tuple(map(tuple, possible))
        given_priors = tuple(priors) if self.kind == "bayesian" else ()
        return Refutation(
            self.graph,
            supports,
            self.kind,
            self.loss,
            (),
            exact=False,
            priors=given_priors,
        )

    def open(self) -> Verdict:
        return Verdict(
            "open",
            f"no rule settles {self.text} for {self.kind} consumers with {self.loss.name} loss, "
            "and no consumers that exclude a common mechanism were found",
            None,
            "none",
        )


def margin_above(epsilon: Epsilon, threshold: Fraction | int) -> float:
    r"""Return :math:`ε - \ln t` for a rational threshold t ≥ 1, with the right sign.

    For a rational ε > 0, :math:`e^ε` is never rational, so it cannot be at the threshold; for
    :math:`ε = m \ln b` the exact power decides. Else ball arithmetic in 320 bits.

    Examples
    --------
    >>> margin_above(Epsilon.of("ln(2)"), 2), margin_above(Epsilon.of("2*ln(3)"), 9)
    (0.0, 0.0)
    >>> margin_above(Epsilon.of("0.6931471805599453"), 2) < 0
    True
    """
    if epsilon.exact and epsilon.ratio == threshold:
        return 0.0
    # Only the lower ends are needed: the sign is certain at this precision.
    level = enclosed(epsilon.multiple, epsilon.base, power=False)[0]
    limit, _ = enclosed(Fraction(1), Fraction(threshold), power=False)
    return float(level - limit)


# -- proofs that there is none ------------------------------------------------------------


def all_rays(graph: AnswerGraph, alpha: float, *, most_nodes: int = 9) -> Floats:
    """Return every ray of a small graph as a row, its largest entry 1.

    Parameters
    ----------
    graph
        A small graph with edges of length 1.
    alpha
        α in (0, 1).
    most_nodes
        Largest number of nodes: the rays of more are too many.

    Examples
    --------
    >>> from tightrope.graphs import Clique, Star
    >>> all_rays(Star(3), 0.5).shape, all_rays(Clique(3), 0.5).shape
    ((8, 4), (6, 3))
    """
    from scipy.sparse.csgraph import breadth_first_order

    graph._check_unit("rays")
    if graph.size > most_nodes:
        raise TooLarge(
            f"the rays of {graph.size} answers are too many: at most {most_nodes} fit"
        )
    n = graph.size
    edges = graph.edge_array()
    order, parent = breadth_first_order(graph.explicit().adjacency, 0)
    # Heights along a breadth-first tree: each node is one step from its parent, and within one
    # step of all neighbours seen before.
    heights = np.zeros((1, n), dtype=np.int64)
    for place, node in enumerate(order[1:], start=1):
        # Each partial height splits in three: lower, equal or higher than its parent.
        change = np.tile([-1, 0, 1], len(heights))
        heights = np.repeat(heights, 3, axis=0)
        heights[:, node] = heights[:, parent[node]] + change
        for other in np.intersect1d(graph.neighbours(int(node)), order[:place]):
            change_to = np.abs(heights[:, node] - heights[:, other])
            heights = heights[change_to <= 1]
    is_tight = heights[:, edges[:, 0]] != heights[:, edges[:, 1]]
    # A column is extreme iff its tight edges connect all nodes.
    is_extreme = [not components(edges[tight].T, n).any() for tight in is_tight]
    heights = heights[is_extreme]
    return np.asarray(
        # Heights start at 0, so the largest entry of a ray is 1.
        alpha ** (heights - heights.min(axis=1, keepdims=True)).astype(float)
    )


@dataclass(frozen=True)
class Together:
    """What consumers lose under one mechanism chosen for all of them, and under their own.

    Attributes
    ----------
    own
        The least loss of each consumer under a mechanism of its own.
    regret
        The least possible largest regret under one mechanism.
    active
        The consumers whose constraints are tight there.

    Examples
    --------
    >>> Together((0.5, 0.25), 0.0, ()).regret
    0.0
    """

    own: tuple[float, ...]
    regret: float
    active: Nodes


def together(rays: Floats, consumers: list[Consumer]) -> Together:
    """Return the least largest regret of several consumers under one mechanism.

    Parameters
    ----------
    rays
        The rays of the graph.
    consumers
        Bayesian or risk-averse consumers.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> people = [Consumer.of(Clique(3)), Consumer.of(Clique(3), prior="0.5,0.5,0")]
    >>> round(together(all_rays(Clique(3), 0.5), people).regret, 6)
    0.02381
    """
    bests = (_least(rays, [consumer], None)[0] for consumer in consumers)
    own = tuple(bests)
    regret, active = _least(rays, consumers, own)
    # Regret below 0 is round-off: own optima are minima.
    return Together(own, max(0.0, regret), active)


def _least(
    rays: Floats,
    consumers: list[Consumer],
    own: tuple[float, ...] | None,
    positive: float = 1e-9,
) -> tuple[float, Nodes]:
    """Solve for the least t with loss_c ≤ own_c + t; without own losses, for the least loss.

    The variables are the weights of the rays, for each risk-averse consumer the shares of these
    weights among the guesses, and t. A multiplier above ``positive`` counts as positive.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, csr_array, eye_array, hstack, kron, vstack

    count, n = rays.shape
    # The solver's tolerances are absolute: scale losses to at most 1.
    unit = max(_largest(consumer.loss) for consumer in consumers)
    # Σ_r w_r r = 1, and for every risk-averse consumer the shares of ray r add up to w_r.
    on_rays = []
    on_shares = []
    owners = []
    weights = [csr_array(rays.T)]
    shares = [csr_array((n, 0))]
    for c, consumer in enumerate(consumers):
        losses = consumer.loss.matrix() / unit
        if consumer.risk_averse:
            # The risk-averse consumer's guess is randomised: shares of each ray among the guesses.
            products = [np.kron(rays[:, i], losses[i]) for i in consumer.support]
            rows = np.stack(products)
            weights.append(eye_array(count))
            ones = np.ones((1, losses.shape[1]))
            shares.append(-kron(eye_array(count), ones))
            on_rays.append(csr_array((len(rows), count)))
        else:
            # A Bayesian consumer makes the best guess: Σ_r w_r min_k Σ_i π_i ℓ(i,k) r_i.
            rows = np.zeros((1, 0))
            costs = consumer.prior.probabilities[:, None] * losses
            least = (rays @ costs).min(axis=1)
            on_rays.append(csr_array(least[None]))
        on_shares.append(csr_array(rows))
        owners += [c] * len(rows)
    limits = hstack(
        [vstack(on_rays), block_diag(on_shares), -np.ones((len(owners), 1))]
    )
    zeros = count * (len(weights) - 1)
    totals = np.repeat([1.0, 0.0], [n, zeros])
    sums = hstack([vstack(weights), block_diag(shares), csr_array((len(totals), 1))])
    solution = linprog(
        [0.0] * (limits.shape[1] - 1) + [1.0],
        A_ub=limits,
        # loss_c - t ≤ own_c; without own losses, t is the loss itself.
        b_ub=np.zeros(len(owners)) if own is None else np.array(own)[owners] / unit,
        A_eq=sums,
        b_eq=totals,
        bounds=[(0, None)] * (limits.shape[1] - 1) + [(None, None)],
    )
    if solution.status != 0:
        raise CheckFailed(
            f"the linear program over rays was not solved: {solution.message}"
        )
    # A positive multiplier marks a constraint that the optimum rests on.
    multipliers = np.abs(solution.ineqlin.marginals)
    active = np.array(owners)[multipliers > positive]
    places = np.unique(active).tolist()
    return float(solution.fun) * unit, tuple(places)


def _largest(loss: Loss) -> float:
    """Return the size of the largest loss, or 1 where all are 0."""
    return float(np.abs(loss.matrix()).max()) or 1.0


@dataclass(frozen=True)
class Refutation:
    """Consumers whose optimal mechanisms no single mechanism derives.

    Attributes
    ----------
    graph
        The answer graph.
    supports
        The nodes that each consumer believes possible: all equally likely for a Bayesian
        consumer, the worst of them for a risk-averse one.
    kind
        ``"bayesian"`` or ``"risk-averse"``.
    loss
        The loss of all consumers.
    optimal_losses
        What each consumer loses under a mechanism of its own.
    mechanisms
        An optimal mechanism for each consumer, one row for each of ``rows``; what it does
        there is forced. Empty when a linear program in floats found the losses.
    rows
        The rows that the mechanisms are given on: all nodes, or those that matter.
    labellings
        For each consumer a label for every node by which the mechanism extends to the whole
        graph: a node gets the row of the supported node with its label [C, Claim 4.5].
    derivation
        The derivation that fails: of what the last consumer needs from what the first forces.
    together, apart
        The most that the consumers' probabilities of a right guess (or their gains) can add up
        to under one mechanism, and what they add up to under their own: ``together < apart``.
    exact
        Whether all numbers are fractions and were checked as such.
    priors
        The prior of each Bayesian consumer where it is not uniform on its support.

    Examples
    --------
    >>> from tightrope.axioms import universality
    >>> universality("cycle(5)", "ln(2)").witness.supports
    ((0, 1, 2, 3, 4), (0, 1, 2))
    """

    graph: AnswerGraph
    supports: tuple[Nodes, ...]
    kind: str
    loss: Loss
    optimal_losses: tuple[Real, ...]
    mechanisms: tuple[IntegerChannel, ...] = ()
    rows: Nodes = ()
    labellings: tuple[Nodes, ...] = ()
    derivation: Derivation | None = None
    together: Real | None = None
    apart: Real | None = None
    exact: bool = True
    priors: tuple[tuple[Fraction, ...], ...] = ()

    def consumers(self) -> tuple[Consumer, ...]:
        """Return the consumers."""
        if self.kind == "risk-averse":
            return tuple(
                Consumer(support=nodes, loss=self.loss) for nodes in self.supports
            )
        # Uniform on the support, where no prior is given.
        uniform = (
            [Fraction(int(i in nodes), len(nodes)) for i in range(self.graph.size)]
            for nodes in map(set, self.supports)
        )
        return tuple(
            Consumer(prior=Prior(p), loss=self.loss) for p in self.priors or uniform
        )

    def as_dict(self, most_rows: int = 200) -> dict[str, Any]:
        """Return the proof under its public names, ready for JSON; long tables are left out."""
        data: dict[str, Any] = {
            "consumers": [
                {
                    "kind": self.kind,
                    "loss": self.loss.name,
                    "support": [self.graph.label(i) for i in support],
                    "optimal_loss": lost,
                }
                for support, lost in zip(
                    self.supports, self.optimal_losses, strict=True
                )
            ],
            "exact": self.exact,
        }
        if self.priors:
            for entry, prior in zip(data["consumers"], self.priors, strict=True):
                entry["prior"] = list(prior)
        if self.mechanisms and len(self.rows) <= most_rows:
            data["rows"] = [self.graph.label(i) for i in self.rows]
            data["mechanisms"] = [
                list(channel.exact_rows()) for channel in self.mechanisms
            ]
        if self.labellings and self.graph.size <= most_rows:
            data["labellings"] = [list(labels) for labels in self.labellings]
        if self.derivation is not None and self.derivation.witness is not None:
            data["failing_derivation"] = self.derivation.witness.as_dict()
        if self.together is not None:
            data["together"] = self.together
            data["apart"] = self.apart
        return data


@dataclass(frozen=True)
class Universal:
    """A mechanism from which every consumer gets an optimal one by a remap.

    Attributes
    ----------
    name
        Which mechanism.
    channel
        The mechanism itself.

    Examples
    --------
    >>> from tightrope.axioms import universality
    >>> universality("count(5)", 1).witness.name
    'geometric'
    """

    name: str
    channel: Channel

    def as_dict(self) -> dict[str, Any]:
        """Return the mechanism under its public names, ready for JSON; its matrix if small."""
        data: dict[str, Any] = {"mechanism": self.name}
        if max(self.channel.shape) <= 20:
            data["matrix"] = self.channel.matrix()
        return data


def cycle_labelling(graph: AnswerGraph, cycle: Nodes) -> Nodes:
    """Label all nodes so that neighbours differ by at most 1 modulo the length [C, Claim 4.5].

    Parameters
    ----------
    graph
        The answer graph.
    cycle
        The nodes of a shortest cycle in order; node k of it gets label k.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> kite = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5)])
    >>> cycle_labelling(kite, (0, 1, 2, 3))
    (0, 1, 2, 3, 1, 2)
    """
    length = len(cycle)
    labels = np.full(graph.size, -1)
    labels[list(cycle)] = range(length)
    layer = [cycle[0]]
    unlabelled = graph.size - length
    for label in range(1, length):
        if not unlabelled:
            break
        # Layers grow from the first node along the cycle, one label after the other.
        next_layer = {
            int(u) for node in layer for u in graph.neighbours(node) if labels[u] < 0
        }
        labels[list(next_layer)] = label
        unlabelled -= len(next_layer)
        layer = [cycle[label], *sorted(next_layer)]
    # What is further away than the cycle is long gets the last label.
    labels[labels < 0] = length - 1
    return tuple(labels.tolist())


def neighbours_differ_by_one(
    graph: AnswerGraph, labels: Nodes, modulus: float = inf
) -> bool:
    """Whether labels of neighbours differ by at most 1, modulo a number if one is given.

    >>> from tightrope.graphs import Cycle
    >>> neighbours_differ_by_one(Cycle(4), (0, 1, 2, 3), 4)
    True
    """
    edges = graph.edge_array()
    values = np.asarray(labels)
    begin = edges[:, 0]
    end = edges[:, 1]
    differences = np.abs(values[begin] - values[end])
    # Difference on a ring: the shorter way round.
    shorter = np.minimum(differences, modulus - differences)
    return bool((shorter <= 1).all())


def refute_by_cycle(
    graph: AnswerGraph,
    cycle: Nodes,
    epsilon: Level,
    *,
    kind: str = "bayesian",
    loss: Loss | None = None,
) -> Refutation:
    r"""Prove that no mechanism is universally optimal on a graph with this shortest cycle.

    Everything is computed in fractions for the rational ratio of ε and checked: the labels, the
    privacy of both extended mechanisms, and the derivation that fails.

    Parameters
    ----------
    graph
        The answer graph, with edges of one length.
    cycle
        The nodes of a shortest cycle in order.
    epsilon
        The privacy level of one edge.
    kind
        ``"bayesian"`` [C, Thm 4.2]; ``"risk-averse"`` needs an odd cycle [C, Thm 3.4-3.6 for
        triangles]: there two neighbours are enough for the second consumer.
    loss
        A loss that is binary on the cycle; binary by default.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> proof = refute_by_cycle(Cycle(4), (0, 1, 2, 3), "ln(2)")
    >>> proof.optimal_losses, proof.derivation.derivable
    ((Fraction(5, 9), Fraction(4, 9)), False)
    """
    level = Epsilon.of(epsilon)
    m = len(cycle)
    if kind == "risk-averse" and m % 2 == 0:
        raise InputError(
            f"an even cycle refutes nothing for risk-averse consumers, got {m} nodes"
        )
    alpha = 1 / level.ratio
    # The work grows with m² numbers of so many digits.
    bits = alpha.numerator.bit_length() + alpha.denominator.bit_length()
    if m * m * bits > 200_000_000:  # half a minute
        raise TooLarge(
            f"a proof in fractions on a shortest cycle of {m} nodes would take too long at ε = "
            f"{level}: ask for a shorter cycle, or a level such as ln(2)"
        )
    # Row i of the first mechanism is α^{d(i,o)} / Σ_d α^d around the cycle.
    ring = [min(k, m - k) for k in range(m)]
    powers = (alpha**d for d in ring)
    total = sum(powers, Fraction(0))
    ring_row = [alpha**d / total for d in ring]
    # Three neighbours for Bayesian consumers; two suffice on triangles and in the worst case.
    needed = 2 if m == 3 or kind == "risk-averse" else 3
    # The other rows are needed only where the mechanism is extended to the whole graph.
    rows_made = m if graph.size * m <= LIMITS.extended else needed
    first = [[ring_row[(o - i) % m] for o in range(m)] for i in range(rows_made)]
    second = _line_rows(alpha, needed)
    failed = derivable(rational(second), rational(first[:needed]))
    if failed:
        raise CheckFailed("the derivation that must fail succeeded: please report this")
    # Expected losses s·(1 − Pr[correct]); two neighbours lose the same, so their worst loss is
    # their average loss too.
    correct_chances = (second[i][i] for i in range(needed))
    correct = sum(correct_chances, Fraction(0))
    shared_loss = Loss.binary(graph.size) if loss is None else loss
    wrong = shared_loss.exact(cycle[0], cycle[1])
    cycle_loss = wrong * (1 - 1 / total)
    line_loss = wrong * (1 - correct / needed)
    losses = (cycle_loss, line_loss)
    rows, mechanisms, labellings = _extended(graph, cycle, level, first, second)
    return Refutation(
        graph,
        (cycle, cycle[:needed]),
        kind,
        shared_loss,
        losses,
        mechanisms,
        rows,
        labellings,
        failed,
    )


def _line_rows(alpha: Fraction, nodes: int) -> list[list[Fraction]]:
    """Return the truncated geometric mechanism on two or three answers, outputs as guesses."""
    # Diagonal 1/(1+α) at the ends and (1−α)/(1+α) inside; entries fall by α per step.
    outer = 1 / (1 + alpha)
    inner = (1 - alpha) / (1 + alpha)
    peaks = [outer, outer] if nodes == 2 else [outer, inner, outer]
    return [
        [peaks[o] * alpha ** abs(i - o) for o in range(nodes)] for i in range(nodes)
    ]


def _extended(
    graph: AnswerGraph,
    cycle: Nodes,
    level: Epsilon,
    first: list[list[Fraction]],
    second: list[list[Fraction]],
) -> tuple[Nodes, tuple[IntegerChannel, ...], tuple[Nodes, ...]]:
    """Extend both mechanisms to the whole graph by labels and check them there."""
    m = len(cycle)
    if graph.size > 200_000:  # the labellings alone would take seconds
        return (), (), ()
    cycle_labels = cycle_labelling(graph, cycle)
    # All nodes off the line get the label of the middle, or of the last of two.
    labels_on_line = np.full(graph.size, 1)
    on_line = list(cycle[: len(second)])
    labels_on_line[on_line] = range(len(second))
    line_labels = tuple(labels_on_line.tolist())
    valid = neighbours_differ_by_one(graph, cycle_labels, m)
    if not valid or not neighbours_differ_by_one(graph, line_labels):
        raise CheckFailed(f"the nodes {cycle} are not a shortest cycle of {graph.name}")
    labellings = (cycle_labels, line_labels)
    if graph.size * m > LIMITS.extended:
        return (), (), labellings
    # One level for an edge, whatever its length: the caller has scaled it.
    unit = ExplicitGraph(graph.edge_array(), size=graph.size)
    mechanisms = []
    for rows, labels in ((first, cycle_labels), (second, line_labels)):
        outputs = [graph.label(node) for node in cycle[: len(rows)]]
        mechanism = rational(
            [rows[k] for k in labels], inputs=graph.labels, outputs=outputs
        )
        if not is_private(mechanism, unit, level):
            raise CheckFailed(
                "an extended mechanism is not private: please report this"
            )
        mechanisms.append(mechanism)
    return tuple(range(graph.size)), tuple(mechanisms), labellings


def refute_by_star(
    graph: AnswerGraph, epsilon: Level, *, loss: Loss | None = None
) -> Refutation:
    r"""Prove that no mechanism is universally optimal where :math:`e^ε < Δ - 1` [C, Thm 4.3].

    Takes the fewest neighbours k of a node of largest degree with :math:`α > 1/(k-1)`. For each
    two of them one consumer is uniform on the node and the two. Their own optima are those of a
    path of three. What one mechanism gives all of them together is a linear program over the
    :math:`2^k` rays of the star, by symmetry over the number of raised leaves; it is solved in
    fractions and its optimum lies strictly below.

    Parameters
    ----------
    graph
        A tree with edges of length 1.
    epsilon
        The privacy level.
    loss
        A loss that is binary on the star; binary by default.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> proof = refute_by_star(Star(3), "ln(3/2)")
    >>> proof.supports, proof.together < proof.apart
    (((0, 1, 2), (0, 1, 3), (0, 2, 3)), True)
    """
    level = Epsilon.of(epsilon)
    alpha = 1 / level.ratio
    centre = int(graph.degrees.argmax())
    leaves = [int(i) for i in graph.neighbours(centre)]
    # The fewest leaves with α > 1/(k - 1), that is k > 1 + e^ε.
    k = int(level.ratio) + 2
    if k > len(leaves):
        raise InputError(
            f"a star refutes nothing where e^ε ≥ Δ - 1: here Δ = {len(leaves)} and ε = {level}"
        )
    # On a path of three the uniform consumer is right with probability (3−α)/(3(1+α)).
    own = (3 - alpha) / (3 * (1 + alpha))
    together = star_optimum(alpha, k)
    apart = comb(k, 2) * own
    if together >= apart:
        raise CheckFailed("the consumers can be served together: please report this")
    # The node is between its two neighbours on a line of three.
    rows = _line_rows(alpha, 3)
    order = (1, 0, 2)
    line = [[rows[i][o] for o in order] for i in order]
    pairs = list(combinations(leaves[:k], 2))
    return Refutation(
        graph,
        tuple((centre, *pair) for pair in pairs),
        "bayesian",
        Loss.binary(graph.size) if loss is None else loss,
        tuple([1 - own] * len(pairs)),
        # One mechanism for all: the rows of the node and the two neighbours of each consumer.
        (rational(line, outputs=["centre", "first", "second"]),),
        (centre, *pairs[0]),
        (),
        None,
        together,
        apart,
    )


def star_optimum(alpha: Fraction, leaves: int) -> Fraction:
    r"""Return what one mechanism gives all consumers on a star's centre and two leaves, in sum.

    A ray with j raised leaves is 1 at the centre, 1/α there and α at the other leaves. Weights
    :math:`w_j \ge 0` must satisfy :math:`\sum_j w_j = 1` and
    :math:`\sum_j w_j (j/α + (k-j)α) = k`; two of them are enough.

    Examples
    --------
    >>> star_optimum(Fraction(1, 2), 3), 3 * Fraction(5, 9)
    (Fraction(5, 3), Fraction(5, 3))
    """
    # With j raised leaves, C(k,2) − C(k−j,2) pairs hold a raised one: gain 1/α, otherwise 1, each
    # with prior 1/3.
    k = leaves
    gains = [
        ((comb(k, 2) - comb(k - j, 2)) / alpha + comb(k - j, 2)) / 3
        for j in range(k + 1)
    ]
    sums = [(j / alpha + (k - j) * alpha) for j in range(k + 1)]
    # Two equations: an optimum has at most two positive weights.
    best = Fraction(0)
    for i, j in combinations(range(k + 1), 2):
        # Weights share and 1 - share that satisfy both equations.
        share = (sums[j] - k) / (sums[j] - sums[i])
        if 0 <= share <= 1:
            mixed = share * gains[i] + (1 - share) * gains[j]
            best = max(best, mixed)
    return best
