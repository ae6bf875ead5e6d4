r"""Universal optimality: one mechanism from which every consumer gets an optimal one by a remap.

For Bayesian and risk-averse consumers of a count there is: the geometric mechanism [C, Thm 2.7,
2.8]. Under binary loss trees are settled by one number, cycles exclude it [C, Thm 4.2, 4.3]. Every
answer comes with its proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tightrope.axioms.refutation import (
    Refutation,
    Universal,
    all_rays,
    refute_by_cycle,
    refute_by_star,
    together,
)
from tightrope.channels import Channel, ScaledPhi
from tightrope.consumers import Loss, is_monotone, loss as read_loss
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.graphs.shapes import shortest_cycle
from tightrope.mechanisms import geometric
from tightrope.phi import Phi
from tightrope.queries import Query, query


@dataclass(frozen=True)
class Search:
    """How consumers whom no common mechanism serves are looked for on small graphs.

    Attributes
    ----------
    nodes, risk_nodes
        Largest number of answers, for Bayesian consumers and for risk-averse ones, whose linear
        programs are larger.
    uniform, unequal
        Most consumers with a uniform prior (or a set of answers), and with another prior.
    margin
        A regret found in floats must be at least this large to count as a proof.
    """

    nodes: int = 9
    risk_nodes: int = 5
    uniform: int = 120
    unequal: int = 60
    margin: float = 1e-6


_USUAL_SEARCH = Search()


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
        return {**vars(self), "witness": None if self.witness is None else self.witness.as_dict()}

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


def universality(
    question: Query | AnswerGraph | str,
    epsilon: Level,
    loss: Any = "binary",
    *,
    kind: str = "bayesian",
    search: Search | None = _USUAL_SEARCH,
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
        How to look for a few consumers that decide an open case on a small graph; ``None`` not to.

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
    graph = asked.graph if isinstance(asked, Query) else asked
    level = Epsilon.of(epsilon)
    everything = loss == "monotone" if isinstance(loss, str) else False
    given = read_loss("binary" if everything else loss, graph)
    case = _Case(graph, level, given, kind, everything, asked)
    for rule in (case.path, case.cycle, case.tree):
        found = rule()
        if found is not None:
            return found
    found = case.search(search) if search else None
    return found or case.open()


class _Case:
    def __init__(
        self,
        graph: AnswerGraph,
        level: Epsilon,
        loss: Loss,
        kind: str,
        everything: bool,
        asked: Query | AnswerGraph,
    ) -> None:
        self.graph, self.level, self.loss, self.kind = graph, level, loss, kind
        self.everything = everything
        self.text = asked.text if isinstance(asked, Query) else graph.name
        # Edges of one length other than 1 are edges of length 1 at another level.
        lengths = np.unique(graph.edge_lengths()) if graph.has_lengths else np.ones(1)
        self.one_length = len(lengths) == 1
        self.edge_level = level.scaled(float(lengths[0])) if lengths[0] != 1 else level

    def path(self) -> Verdict | None:
        if not self.graph.is_path or not self.one_length:
            return None
        monotone = self.everything or self.loss.is_binary
        if not monotone and self.loss.guess_count == self.graph.size:
            # On either side of the truth alone is enough; so the geometric proof needs it.
            monotone = is_monotone(self.loss, self.graph).result
        if not monotone:
            return None
        return Verdict(
            "yes",
            "the answers form a path and the loss is monotone: the geometric mechanism serves all",
            Universal("geometric", self._geometric()),
            "C, Thm 2.7" if self.kind == "bayesian" else "C, Thm 2.8",
        )

    def _geometric(self) -> Channel:
        if self.graph.power == 1:
            return geometric(self.graph, self.level)
        return self._tight()

    def _tight(self) -> Channel:
        """Return the tight-constraints mechanism of a tree on which it is known to exist."""
        z = Phi(self.graph, self.level).solve_ones().values
        return ScaledPhi(self.graph, self.level, np.maximum(z, 0.0))

    def cycle(self) -> Verdict | None:
        cycle = shortest_cycle(self.graph) if self.one_length and not self.graph.is_tree else None
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
            theorem = f"C, {known.get(self.text.partition('(')[0], 'Claim 3.3')}"
        elif self.kind == "risk-averse" and m % 2 == 0:
            return None
        proof = refute_by_cycle(self.graph, cycle, self.edge_level, kind=self.kind, loss=self.loss)
        return Verdict("no", reason, proof, theorem)

    def tree(self) -> Verdict | None:
        if not self.graph.is_tree or not self.loss.is_binary:
            return None
        margin: float | None = None
        where, most = "tight constraints exist", max(1, self.graph.max_degree - 1)
        if self.one_length:
            side = side_of(self.edge_level, most)
            exists, margin, where = side.sign >= 0, side.margin, f"e^ε against Δ - 1 = {most}"
        else:
            exists = bool(Phi(self.graph, self.level).solve_ones().positive)
        if exists and not self.everything:
            # What is optimal for every prior is optimal for every worst case, by minimax duality.
            duality = "" if self.kind == "bayesian" else " and minimax duality"
            return Verdict(
                "yes",
                f"the answers form a tree and ε allows it ({where}): the tight-constraints "
                "mechanism serves all",
                Universal("tight constraints", self._tight()),
                f"tree theorem{duality}",
                margin,
            )
        # Binary loss is monotone, so its "no" is one for all monotone losses; not its "yes".
        if exists or not self.one_length:
            return None
        if self.kind == "risk-averse" or self.edge_level.ratio >= most:
            return None
        return Verdict(
            "no",
            f"the answers form a tree but ε is too small ({where}): consumers on a node and two "
            "of its neighbours cannot all be served",
            refute_by_star(self.graph, self.edge_level, loss=self.loss),
            "C, Thm 4.3",
            margin,
        )

    def _binary_on(self, nodes: tuple[int, ...]) -> bool:
        """Whether the loss is 0 or one s > 0 on these nodes, and at least s for other guesses."""
        if self.loss.is_binary:
            return True
        if self.loss.guess_count != self.graph.size:
            return False
        rows = np.stack([self.loss.row(i) for i in nodes])
        inside = rows[:, list(nodes)]
        away = inside[~np.eye(len(nodes), dtype=bool)]
        others = np.delete(rows, list(nodes), axis=1)
        same = bool((away == away[0]).all()) and bool((np.diag(inside) == 0).all())
        return same and away[0] > 0 and bool((others >= away[0]).all())

    def search(self, how: Search) -> Verdict | None:
        """Look for a few consumers who cannot all be served, on small graphs."""
        limit = how.nodes if self.kind == "bayesian" else how.risk_nodes
        if self.graph.size > limit or not self.one_length:
            return None
        rays = all_rays(
            ExplicitGraph(self.graph.edge_array(), size=self.graph.size), self.edge_level.alpha
        )
        priors = self._candidates(how)
        found = together(rays, list(self._proof(priors).consumers()))
        if found.regret <= how.margin:
            return None
        # Consumers with a positive multiplier suffice; then drop one after the other if possible.
        chosen = list(found.active)
        for c in found.active:
            fewer = [k for k in chosen if k != c]
            if len(fewer) < 2:
                break
            some = together(rays, list(self._proof([priors[k] for k in fewer]).consumers()))
            if some.regret > how.margin:
                chosen = fewer
        last = self._proof([priors[k] for k in chosen])
        final = together(rays, list(last.consumers()))
        if final.regret <= how.margin:
            return None
        proof = replace(
            last,
            optimal_losses=final.own,
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

    def _candidates(self, how: Search) -> list[tuple[Fraction, ...]]:
        """Return priors to try: uniform on small sets, then some with unequal weights."""
        n = self.graph.size
        made = [
            tuple(Fraction(int(i in nodes), k) for i in range(n))
            for k in range(2, n + 1)
            for nodes in combinations(range(n), k)
        ][: how.uniform]
        if self.kind == "bayesian":
            weights = np.random.default_rng(0).integers(0, 7, (how.unequal, n)) + 1
            for row in weights.tolist():
                made.append(tuple(Fraction(w, sum(row)) for w in row))
        return made

    def _proof(self, priors: list[tuple[Fraction, ...]]) -> Refutation:
        supports = tuple(tuple(i for i, p in enumerate(prior) if p) for prior in priors)
        known = tuple(priors) if self.kind == "bayesian" else ()
        return Refutation(self.graph, supports, self.kind, self.loss, (), exact=False, priors=known)

    def open(self) -> Verdict:
        return Verdict(
            "open",
            f"no rule settles {self.text} for {self.kind} consumers with {self.loss.name} loss, "
            "and no consumers that exclude a common mechanism were found",
            None,
            "none",
        )


class Side(NamedTuple):
    r"""On which side of a threshold :math:`e^ε` lies, and how far in ε.

    Attributes
    ----------
    sign
        1 above, 0 at, -1 below the threshold.
    margin
        ε less the logarithm of the threshold.

    Examples
    --------
    >>> Side(1, 0.5).sign
    1
    """

    sign: int
    margin: float


def side_of(epsilon: Epsilon, threshold: Fraction | int) -> Side:
    r"""Decide whether :math:`e^ε` is above, at or below a rational threshold ≥ 1.

    For a rational ε > 0, :math:`e^ε` is never rational, so it cannot be at the threshold; for
    :math:`ε = m \ln b` the exact power decides. Else ball arithmetic in 400 bits.

    Examples
    --------
    >>> side_of(Epsilon.of("ln(2)"), 2), side_of(Epsilon.of("2*ln(3)"), 9).sign
    (Side(sign=0, margin=0.0), 0)
    >>> side_of(Epsilon.of("0.6931471805599453"), 2).sign
    -1
    """
    from flint import arb, ctx, fmpq

    def number(value: Fraction | int) -> Any:
        return arb(fmpq(value.numerator, value.denominator))

    if epsilon.exact and epsilon.ratio == threshold:
        return Side(0, 0.0)
    with ctx.workprec(400):
        unit = 1 if epsilon.base is None else number(epsilon.base).log()
        margin = number(epsilon.multiple) * unit - number(threshold).log()
        return Side(1 if margin > 0 else -1, float(margin))
