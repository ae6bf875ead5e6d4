"""Paper C: single consumers, and which questions have one mechanism for all of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from tightrope.axioms import cycle_labelling, universality
from tightrope.axioms.universality import Refutation
from tightrope.channels import Channel, IntegerChannel, equal, is_private, rational
from tightrope.channels.derive import derivable
from tightrope.channels.generality import maximally_general
from tightrope.consumers import Consumer, Loss, expected_loss, loss as read_loss
from tightrope.graphs import AnswerGraph, Clique, Cycle, ExplicitGraph, Star, petersen
from tightrope.graphs.shapes import shortest_cycle
from tightrope.mechanisms import (
    exponential,
    geometric,
    randomized_response,
    tight_constraints,
)
from tightrope.optimize import design, minimax_remap
from tightrope.papers.claims import Cases, Computed, Paper, near, sharpened
from tightrope.queries import query

paper = Paper(
    "C",
    "Brenner, Nissim: Impossibility of differentially private universally optimal mechanisms "
    "(FOCS 2010)",
)
claim = paper.claim
every = paper.every

# -- Single consumers, sums, histograms, bundles of counts (sections 2 and 3) --------------


def uniform_on(graph: AnswerGraph, nodes: range) -> Consumer:
    """Return the consumer with binary loss who finds some answers equally likely.

    >>> uniform_on(Clique(3), range(2)).prior.probabilities.tolist()
    [0.5, 0.5, 0.0]
    """
    prior = [
        Fraction(1, len(nodes)) if i in nodes else Fraction(0)
        for i in range(graph.size)
    ]
    return Consumer(prior=prior, loss=Loss.binary(graph.size))


def _second(q: Fraction, alpha: Fraction = Fraction(1, 2)) -> IntegerChannel:
    """Return Y of Observation 3.1 for one q in [α, 1]."""
    # Columns are tight along the two answers of the consumer; q is free in [α, 1].
    total = 1 + alpha
    return rational(
        [
            [1 / total, alpha / total, Fraction(0)],
            [alpha / total, 1 / total, Fraction(0)],
            [q / total, 1 - q / total, Fraction(0)],
        ]
    )


def _first(size: int, alpha: Fraction = Fraction(1, 2)) -> IntegerChannel:
    """Return X of (11) for ``size`` mutually adjacent answers."""
    # 1 on the diagonal and α elsewhere, over 1 + (size - 1)α.
    total = 1 + (size - 1) * alpha
    return rational(
        [[(1 if i == o else alpha) / total for o in range(size)] for i in range(size)]
    )


@claim("Obs 3.1, X", "1/2", by=design)
def _observation_x() -> Computed:
    """least loss of the uniform consumer on three adjacent answers: 2α/(1+2α), α = 1/2"""
    return design(
        Clique(3), "ln(2)", route="plain"
    ).expected_loss, "by a linear program"


@claim("Obs 3.1, matrix", by=design)
def _observation_matrix() -> Computed:
    """the optimal mechanism has 1 on the diagonal and α elsewhere, over 1+2α"""
    best = design(Clique(3), "ln(2)", route="plain").channel
    expected = Channel(_first(3).matrix())
    return equal(best, expected, tolerance=1e-7).equal, "at α = 1/2"


@claim("Obs 3.1, Y", "1/3", by=design)
def _observation_y() -> Computed:
    """least loss of the consumer who excludes the third answer: α/(1+α), α = 1/2"""
    graph = Clique(3)
    best = design(graph, "ln(2)", uniform_on(graph, range(2)), route="plain")
    return best.expected_loss, "by a linear program"


@claim("Obs 3.1, q", by=expected_loss)
def _observation_q() -> Computed:
    """every Y with q in [α, 1] is private and optimal, and no other q is"""
    graph = Clique(3)
    consumer = uniform_on(graph, range(2))
    inside = [_second(Fraction(k, 8)) for k in range(4, 9)]
    kept = [
        # One step outside of [1/2, 1] on either side must break privacy.
        is_private(_second(Fraction(k, 8)), graph, "ln(2)").private
        for k in range(3, 10)
    ]
    losses = [expected_loss(channel, consumer) for channel in inside]
    best = near(losses, 1 / 3)
    good = kept == [False, *[True] * 5, False]
    return best and good, "5 values inside, 2 outside, in integers"


@claim("Obs 3.2, X and Y", ("1/2", "1/3"), by=design)
def _risk() -> Computed:
    """least worst loss on three adjacent answers, and without the third, α = 1/2"""
    people = (Consumer(support=range(size), loss=Loss.binary(3)) for size in (3, 2))
    return [
        design(Clique(3), "ln(2)", consumer).expected_loss for consumer in people
    ], ""


@claim("Claim 3.3", by=derivable)
def _claim_33() -> Computed:
    """nothing derives both X and some Y"""
    first = _first(3)
    # X is maximally general, so whatever derives it is derived from it.
    general = maximally_general(first, Clique(3), "ln(2)").maximal
    mixtures = (_second(Fraction(k, 8)) for k in range(4, 9))
    derived = [derivable(mixture, first) for mixture in mixtures]
    witnessed = all(
        not derivation and derivation.exact and derivation.witness is not None
        for derivation in derived
    )
    return (
        general and witnessed,
        "X is maximally general; 5 values of q, each with a consumer",
    )


@claim("§3.2.1", "5/7", by=design)
def _larger_cliques() -> Computed:
    """least loss on m+1 adjacent answers: mα/(1+mα), for m = 5 and α = 1/2"""
    return design(
        Clique(6), "ln(2)", route="plain"
    ).expected_loss, "by a linear program"


@claim("§3.2.2", "1/2", by=design)
def _more_records() -> Computed:
    """for more records the consumer who believes in sums up to m loses the same 2α/(1+2α)"""
    graph = query("sum(4,2)").graph
    best = design(graph, "ln(2)", uniform_on(graph, range(3)), route="plain")
    return best.expected_loss, "on sum(4,2)"


def impossible(
    texts: tuple[str, ...], kinds: tuple[str, ...] = ("bayesian", "risk-averse")
) -> Computed:
    """Return whether all of some queries are proved to have no universally optimal mechanism.

    >>> impossible(("cycle(4)",), ("bayesian",))
    (True, '1 of 1 cases refuted in exact arithmetic')
    """
    proved = 0
    for text in texts:
        for kind in kinds:
            verdict = universality(text, "ln(2)", kind=kind)
            proof = verdict.witness
            # Only a refutation in fractions counts as a proof here.
            proved += (
                verdict.verdict == "no"
                and isinstance(proof, Refutation)
                and proof.exact
            )
    cases = len(texts) * len(kinds)
    return proved == cases, f"{proved} of {cases} cases refuted in exact arithmetic"


@claim("Thm 3.4", by=universality)
def _theorem_34() -> Computed:
    """no universally optimal mechanism for sums of values up to m ≥ 2"""
    return impossible(("sum(1,2)", "sum(3,2)", "sum(4,5)"))


@claim("Thm 3.5", by=universality)
def _theorem_35() -> Computed:
    """none for histograms of three or more categories"""
    return impossible(("histogram(1,3)", "histogram(3,3)", "histogram(2,4)"))


@claim("Thm 3.6", by=universality)
def _theorem_36() -> Computed:
    """none for bundles of two or more counts"""
    return impossible(("counts(1,2)", "counts(3,2)", "counts(2,3)"))


@claim("Thm 2.6", by=maximally_general)
def _theorem_26() -> Computed:
    """maximally general iff every column graph is connected"""
    path = query("path(6)").graph
    mechanism = geometric(path, "ln(2)")
    # Joining two outputs loses information, so it cannot be maximally general.
    joined = Channel(
        np.column_stack(
            [mechanism.matrix()[:, :2].sum(axis=1), mechanism.matrix()[:, 2:]]
        )
    )
    connected = maximally_general(mechanism, path, "ln(2)").maximal
    apart = maximally_general(joined, path, "ln(2)").maximal
    forwards = bool(derivable(joined, mechanism))
    derives = forwards and not derivable(mechanism, joined)
    return (
        connected and not apart and derives,
        "geometric noise, and two outputs joined",
    )


@every("Thm 2.7", "{} consumers, against a linear program", by=design)
def _theorem_27() -> Cases:
    """on a count the geometric mechanism serves every prior and monotone loss"""
    graph = query("count(6)").graph
    random = np.random.default_rng(9)
    noise = geometric(graph, "ln(2)")
    for loss in ("binary", "absolute", "squared"):
        for _ in range(3):
            consumer = Consumer.of(
                graph, prior=random.dirichlet(np.full(7, 0.5)), loss=loss
            )
            # The linear program has no structure: it is an independent judge.
            best = design(graph, "ln(2)", consumer, route="plain").expected_loss
            yield near(expected_loss(noise, consumer), best, 1e-7)


@every("Thm 2.8", "{} consumers, against a linear program", by=minimax_remap)
def _theorem_28() -> Cases:
    """and every risk-averse consumer, by a random remap"""
    graph = query("count(5)").graph
    noise = geometric(graph, "ln(2)")
    for loss in ("binary", "absolute", "squared"):
        for support in ((0, 1, 2), (1, 4), range(6)):
            consumer = Consumer(support=support, loss=read_loss(loss, graph))
            best = design(graph, "ln(2)", consumer).expected_loss
            yield near(minimax_remap(noise, consumer).worst_loss, best, 1e-7)


@every("§2.2.1", "both tests agree on {} of 30 channels", by=is_private)
def _constraints() -> Cases:
    """(2) to (5) describe the private mechanisms of a count"""
    graph = query("count(4)").graph
    random = np.random.default_rng(10)
    for _ in range(30):
        share = random.choice([0.0, 0.02, 0.2])
        noise = geometric(graph, "ln(2)")
        rows = sharpened(noise, share, random).matrix()
        pairs = (rows[:-1], rows[1:]), (rows[1:], rows[:-1])
        # (2) to (5): neighbouring rows within a factor of α, both ways.
        direct = all((one >= other / 2 - 1e-12).all() for one, other in pairs)
        yield direct == is_private(Channel(rows), graph, "ln(2)").private


@claim("Obs 3.1, response", by=randomized_response)
def _response() -> Computed:
    """X is k-ary randomised response"""
    mechanism = randomized_response(Clique(5), "ln(2)")
    expected = Channel(_first(5).matrix())
    return equal(mechanism, expected, tolerance=1e-12).equal, ""


# -- Which graphs have one mechanism for all consumers (section 4) -------------------------


@claim("fn. 5", by=query)
def _footnote_5() -> Computed:
    """a sum of bits modulo m ≤ n has a cycle of m answers"""
    questions = (query(f"count_mod({m + 1},{m})") for m in (3, 4, 7))
    return all(question.graph.is_cycle for question in questions), ""


@claim("fn. 7", by=query)
def _footnote_7() -> Computed:
    """which value do all records share, if any: a star"""
    graph = query("star(3)").graph
    return graph.is_tree and graph.max_degree == 3 and graph.size == 4, ""


@every("(13)", "for {} cycles, m = 4 to 7, by linear programs", by=design)
def _cycle_rows() -> Cases:
    """on a cycle the rows of X are shifts of δ(1, α, α², …, α², α)"""
    for m in (4, 5, 6, 7):
        best = design(Cycle(m), "ln(2)", route="plain").channel
        noise = exponential(Cycle(m), "ln(2)")
        yield near(best.matrix(), noise.matrix(), 1e-7)


@claim("(14)", "4/9", by=design)
def _cycle_second() -> Computed:
    """loss of the consumer on three neighbours of a cycle: that of a line of three, α = 1/2"""
    graph = Cycle(5)
    best = design(graph, "ln(2)", uniform_on(graph, range(3)), route="plain")
    return best.expected_loss, "on cycle(5)"


@claim("Claim 4.4", by=universality)
def _claim_44() -> Computed:
    """no universally optimal mechanism on a cycle"""
    return impossible(("cycle(3)", "cycle(4)", "cycle(5)", "cycle(8)"), ("bayesian",))


@every("Claim 4.5", "on {} graphs", by=cycle_labelling)
def _claim_45() -> Cases:
    """the labelling changes by at most 1 modulo m along every edge"""
    spiked = ExplicitGraph(
        [*pairwise(range(6)), (5, 0), (2, 6), (6, 7), (7, 8), (4, 8)]
    )
    graphs = (
        petersen(),
        query("grid(4,5)").graph,
        spiked,
        query("truncated_tetrahedron").graph,
    )
    for graph in graphs:
        cycle = shortest_cycle(graph) or ()
        labels = np.array(cycle_labelling(graph, cycle))
        m = len(cycle)
        steps = np.abs(
            labels[graph.edge_array()[:, 0]] - labels[graph.edge_array()[:, 1]]
        )
        # Differences on a ring of m labels.
        on_ring = np.minimum(steps, m - steps)
        yield bool((on_ring <= 1).all())


@claim("Thm 4.2", by=universality)
def _theorem_42() -> Computed:
    """none on any graph with a cycle"""
    return impossible(("petersen", "grid(3,3)", "hypercube(3)", "chang"), ("bayesian",))


@claim("Thm 4.3", by=universality)
def _theorem_43() -> Computed:
    """none on a tree with α > 1/(Δ-1)"""
    refuted = all(
        universality(f"star({k})", epsilon).verdict == "no"
        for k, epsilon in ((3, "ln(1.99)"), (4, "ln(2.99)"), (6, "1"))
    )
    # At α = 1/(Δ - 1) exactly the mechanism exists: the theorem is sharp.
    served = all(
        universality(f"star({k})", f"ln({k - 1})").verdict == "yes" for k in (3, 4, 6)
    )
    return refuted and served, "stars with 3, 4 and 6 rays; at α = 1/(Δ-1) there is one"


@claim("Thm 4.3, c_0 and c_i", ("1/5", "4/5"), by=tight_constraints)
def _star() -> Computed:
    """weights of the centre, (1-(k-1)α)/(1+α), and of a leaf, 1/(1+α): 4 rays, α = 1/4"""
    return tight_constraints(Star(4), "ln(4)").z[:2].tolist(), ""


@claim("abstract", by=universality)
def _only_counts() -> Computed:
    """essentially only a single count has a universally optimal mechanism

    True for α > 1/2. Below, under binary loss, every tree of degree up to 1 + 1/α has one as well:
    Theorem 4.3 is sharp. A tree that is not a line is no count.
    """
    verdict = universality("tree(2,3)", "ln(4)").verdict
    return verdict != "yes", "the balanced binary tree of height 3 has one at α = 1/4"
