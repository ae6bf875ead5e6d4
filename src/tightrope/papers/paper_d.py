"""Paper D: axioms of privacy, generality, and the Dobrushin coefficient."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tightrope import axioms, channels
from tightrope.channels import Channel, IntegerChannel, equal, is_private, remap
from tightrope.channels.generality import dobrushin
from tightrope.consumers import Consumer, expected_loss
from tightrope.graphs import Clique, PathPower, petersen
from tightrope.mechanisms import exponential, geometric
from tightrope.optimize import design
from tightrope.papers.claims import Cases, Computed, Paper, near, scrambled, sharpened
from tightrope.queries import query

paper = Paper(
    "D",
    "Kifer, Lin: Towards an axiomatization of statistical privacy and utility (PODS 2010)",
)
claim = paper.claim
every = paper.every

# -- Axioms of privacy, predicates, generic differential privacy (section 2) ---------------


def _tried(seed: int, share: float) -> Channel:
    # Some of these channels break privacy, so that the tests can disagree.
    return sharpened(
        geometric(PathPower(5), "ln(2)"), share, np.random.default_rng(seed)
    )


@every("Axiom 2.1.1", "{} of 30 remaps", by=remap)
def _postprocessing() -> Cases:
    """ε-privacy survives post-processing"""
    random = np.random.default_rng(12)
    graph = query("sum(3,2)").graph
    noise = exponential(graph, "ln(2)")
    for _ in range(30):
        mechanism = scrambled(noise, random, 4, 1 / 3)
        yield is_private(mechanism, graph, "ln(2)").private


@every("Axiom 2.1.2", "for {} weights", by=channels.hidden_choice)
def _choice() -> Cases:
    """ε-privacy survives a random choice between mechanisms"""
    graph = query("path(6)").graph
    both = [geometric(graph, "ln(2)"), exponential(graph, "ln(2)")]
    for p in (0.0, 0.3, 0.5, 1.0):
        yield is_private(
            channels.hidden_choice(both, [p, 1 - p]), graph, "ln(2)"
        ).private


@claim("Def 2.1.3, ε", by=axioms.is_generic_private)
def _generic() -> Computed:
    """with M(a) = min(e^ε a, 1-e^{-ε}(1-a)) it is ε-privacy"""
    bound = axioms.PrivacyBound(
        lambda a: min(2 * a, 1 - (1 - a) / 2), "ε-privacy at ln 2"
    )
    agreed = 0
    private = 0
    for seed in range(20):
        channel = _tried(seed, (0.0, 0.01, 0.2)[seed % 3])
        # Definition by sets of outputs against definition by single outputs.
        plain = is_private(channel, PathPower(5), "ln(2)").private
        agreed += (
            plain == axioms.is_generic_private(channel, PathPower(5), bound).private
        )
        private += plain
    return (
        agreed == 20,
        f"both tests agree on {agreed} of 20 channels, {private} private",
    )


@every(
    "Def 2.1.3, (ε, δ)",
    "as by all 32 sets of outputs, {} of 20 channels",
    by=axioms.is_generic_private,
)
def _approximate() -> Cases:
    """with M(a) = min(1, e^ε a+δ, 1-e^{-ε}(1-a-δ)) it is (ε, δ)-privacy, over all sets"""
    delta = 0.05
    bound = axioms.PrivacyBound.approximate("ln(2)", delta)
    # All 2^5 sets: the definition itself, without Neyman and Pearson.
    sets = np.array(
        [[set_ >> o & 1 for o in range(5)] for set_ in range(32)], dtype=float
    )
    for seed in range(20):
        channel = _tried(seed, (0.01, 0.06, 0.2)[seed % 3])
        chance = channel.matrix() @ sets.T
        direct = (chance[:-1] <= 2 * chance[1:] + delta + 1e-12).all()
        # Both directions of every edge.
        direct &= (chance[1:] <= 2 * chance[:-1] + delta + 1e-12).all()
        yield direct == axioms.is_generic_private(channel, PathPower(5), bound).private


@claim("§2.1, M = 1", by=axioms.is_generic_private)
def _identity() -> Computed:
    """M = 1 allows the identity"""
    lax = axioms.PrivacyBound.table([(0, 1), (1, 1)])
    identity = Channel(np.eye(4))
    return bool(axioms.is_generic_private(identity, Clique(4), lax)), ""


@every("Prop 2.1.4", "in {} cases: 4 shifts, 4 pairs", by=axioms.log_odds_bound)
def _log_odds() -> Cases:
    """a' and a'' bound the probability that the log-odds move by at least t"""
    for t in (0.2, 0.4, math.log(2) - 1e-9, 0.7):
        bound = axioms.log_odds_bound(axioms.PrivacyBound.approximate("ln(2)"), t)
        channel = geometric(PathPower(5), "ln(2)")
        for i in range(4):
            moved = axioms.log_odds(channel, i, i + 1, t)
            # The bound must hold up to the accuracy of its bisection.
            least_towards = bound.towards - moved.towards
            least_away = bound.away - moved.away
            yield min(least_towards, least_away) >= -1e-9


@claim("Prop 2.2.2, a ≥ 1/2", by=axioms.check_axioms)
def _exchanged() -> Computed:
    """for a ≥ 1/2 all b' from b to (1-b)a/(1-a) are allowed; that end is a probability

    The two cases are exchanged: at a = 3/4, b = 1/2 the end is 3/2. The proof derives (1-b)a/(1-a)
    for a ≤ 1/2 and 1-b(1-a)/a for a ≥ 1/2, and so it must read.
    """
    a, b = Fraction(3, 4), Fraction(1, 2)
    # The end as printed exceeds 1, the one that the proof derives does not.
    printed = (1 - b) * a / (1 - a)
    proved = 1 - b * (1 - a) / a
    return (
        0 <= printed <= 1,
        f"at a = 3/4, b = 1/2: {printed} as printed, {proved} as proved",
    )


@every("Prop 2.2.2", "in {} cases with a ≤ 1/2, in fractions", by=remap)
def _interval() -> Cases:
    """by post-processing, all b' between the two ends are allowed with a"""
    points = ((Fraction(1, 4), Fraction(1, 2)), (Fraction(2, 5), Fraction(1, 10)))
    for a, b in points:
        end = (1 - b) * a / (1 - a)
        for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
            other = (1 - share) * a / (1 - a)
            low = share * a + other * (1 - a)
            # low = a: the remap keeps the first probability and moves the second.
            mixture = share * b + other * (1 - b)
            yield low == a and mixture == share * b + (1 - share) * end


@claim("Prop 2.2.3, Thm 2.2.5", by=axioms.check_axioms)
def _conditions() -> Computed:
    """the predicate of ε-privacy satisfies every condition"""
    report = axioms.check_axioms(
        lambda a, b: b <= 2 * a and 1 - a <= 2 * (1 - b), steps=24
    )
    return bool(report), f"{len(report.conditions)} conditions on a grid of 24 steps"


@claim("Thm 2.2.5 (iii)", by=axioms.check_axioms)
def _lower() -> Computed:
    """m(a) = 1 - M(1-a)"""
    report = axioms.check_axioms(
        lambda a, b: b <= 2 * a and 1 - a <= 2 * (1 - b), steps=24
    )
    upper = dict(report.upper)
    return all(low == 1 - upper[1 - a] for a, low in report.lower), "at 25 points"


@claim("Thm 2.2.5 (iv)", by=axioms.check_axioms)
def _concave() -> Computed:
    """a predicate whose M is not concave breaks the axiom of choice"""
    report = axioms.check_axioms(
        lambda a, b: (
            # A union of two definitions: M is the larger of two bounds, which is not concave.
            abs(a - b) <= Fraction(1, 4) or (b <= 4 * a and 1 - a <= 4 * (1 - b))
        ),
        steps=24,
    )
    breach = report.breach
    return (
        breach is not None and breach.axiom == "random choice",
        "shown by two mechanisms",
    )


@claim("Thm 2.2.5 (v)", by=axioms.check_axioms)
def _monotone() -> Computed:
    """m is nonincreasing

    m(a) = 1 - M(1-a) with M nondecreasing is nondecreasing; it increases strictly wherever m(a) >
    0. Two signs are exchanged.
    """
    bound = axioms.PrivacyBound.approximate("ln(2)")
    low = bound.lower(0.25)
    high = bound.lower(0.75)
    return high <= low, f"for ε = ln 2: m(1/4) = {low:.4g}, m(3/4) = {high:.4g}"


@every("Thm 2.3.1", "{} of 20 mixtures and remaps", by=axioms.is_generic_private)
def _sufficient() -> Cases:
    """a concave M makes a definition that keeps both axioms"""
    bound = axioms.PrivacyBound.table([(0, "1/20"), ("1/4", "1/2"), (1, 1)])
    rows = [[4, 3, 2], [3, 4, 2], [3, 3, 3]]
    first = IntegerChannel(rows)
    # Reversed outputs: the same rows, so the same privacy.
    second = IntegerChannel([row[::-1] for row in rows])
    graph = Clique(3)
    random = np.random.default_rng(13)
    checks = (axioms.is_generic_private(one, graph, bound) for one in (first, second))
    start = all(checks)
    for _ in range(20):
        share = float(random.uniform())
        mixed = channels.hidden_choice([first, second], [share, 1 - share])
        guesses = Channel(random.dirichlet(np.ones(3), size=3))
        processed = remap(mixed, guesses)
        yield start and axioms.is_generic_private(processed, graph, bound).private


# -- Generality, row graphs, the Dobrushin coefficient (section 3, appendices) -------------


@claim("Ex 3.2.1", by=expected_loss)
def _expected_loss() -> Computed:
    """negative expected loss without a remap can grow by post-processing"""
    graph = query("count(3)").graph
    noise = geometric(graph, "ln(2)")
    consumer = Consumer.of(graph, prior=[0.01, 0.49, 0.49, 0.01], loss="absolute")
    # eye: outputs are taken as guesses, without any remap.
    plain = expected_loss(noise, consumer, np.eye(4))
    best = expected_loss(noise, consumer)
    return best < plain, f"loss {plain:.4f} as reported, {best:.4f} after a remap"


@claim("§3, optimal from geometric", by=channels.derivable)
def _lossy() -> Computed:
    """an optimal mechanism for one consumer is derived from the geometric one, not the reverse"""
    graph = query("count(3)").graph
    consumer = Consumer.of(graph, prior=[0.01, 0.49, 0.49, 0.01], loss="absolute")
    found = design(graph, "ln(2)", consumer).channel
    noise = geometric(graph, "ln(2)")
    forth = channels.derivable(found, noise)
    back = channels.derivable(noise, found)
    return bool(forth) and not back, "count(3), absolute loss"


@claim("Ex 3.2.2", by=axioms.determinant_utility)
def _determinant() -> Computed:
    """|det| never grows by a square remap"""
    random = np.random.default_rng(14)
    noise = geometric(PathPower(4), "ln(2)")
    start = float(axioms.determinant_utility(noise))
    remapped = (scrambled(noise, random, 4, 1 / 4) for _ in range(50))
    # |det(X R)| = |det X| |det R|, and |det R| ≤ 1 for a stochastic R.
    after = [float(axioms.determinant_utility(channel)) for channel in remapped]
    return max(after) <= start, f"50 remaps, from {start:.4f}"


@claim("Ex 3.2.3, App A", by=dobrushin)
def _dobrushin_monotone() -> Computed:
    """nor does the negative Dobrushin coefficient by any remap"""
    random = np.random.default_rng(15)
    noise = geometric(PathPower(4), "ln(2)")
    start = dobrushin(noise)
    remaps = (scrambled(noise, random, 6, 1 / 4) for _ in range(50))
    after = [dobrushin(mechanism) for mechanism in remaps]
    return max(after) <= start + 1e-12, f"50 remaps, from {start:.4f}"


@claim("Def 3.3.1", by=geometric)
def _geometric() -> Computed:
    """noise proportional to e^{-ε|i-z|}, cut at both ends, is the truncated geometric mechanism"""
    n = 5
    # Far beyond the ends e^{-ε far} is below double precision.
    far = 80
    reach = np.arange(-far, n + far)
    distances = np.abs(np.arange(n)[:, None] - reach)
    rows = np.exp(-math.log(2) * distances)
    rows /= rows.sum(axis=1, keepdims=True)
    cut = np.zeros((n, n))
    # Everything beyond an end is reported as the end.
    reported = np.clip(reach, 0, n - 1)
    np.add.at(cut.T, reported, rows.T)
    return equal(
        Channel(cut), geometric(PathPower(n), "ln(2)"), tolerance=1e-12
    ).equal, "n = 5"


@claim("Thm 3.3.3, App B", by=channels.make_maximally_general)
def _generalise() -> Computed:
    """splitting outputs ends in a maximally general mechanism that derives the first"""
    graph = petersen()
    # Ten answers on three outputs: far from maximally general.
    thirds = Channel(np.eye(3)[np.arange(10) % 3])
    flat = remap(exponential(graph, "ln(2)"), thirds)
    split = channels.make_maximally_general(flat, graph, "ln(2)")
    maximal = channels.maximally_general(split.channel, graph, "ln(2)").maximal
    derived = equal(
        channels.cascade(split.channel, split.remap), flat, tolerance=1e-9
    ).equal
    private = is_private(split.channel, graph, "ln(2)").private
    shape = f"3 outputs become {split.channel.shape[1]}"
    return maximal and derived and private, f"{shape} on the Petersen graph"


@claim("after Def 3.3.2", "1", by=channels.maximally_general)
def _trees() -> Computed:
    """a maximally general mechanism on two answers has at most as many outputs as R has trees

    The direction of each tight edge counts: a tree with n-1 edges carries up to 2^(n-1) different
    outputs. Two answers have one spanning tree; randomised response has two outputs that are not
    proportional, and is maximally general.
    """
    response = IntegerChannel([[2, 1], [1, 2]])
    general = channels.maximally_general(response, PathPower(2), "ln(2)").maximal
    return response.shape[1] if general else 0, "outputs of randomised response at ln 2"


@claim("App B, share a", by=channels.make_maximally_general)
def _ratios() -> Computed:
    """with ρ over all pairs between the components, the share a of the split is a probability

    ρ1 and ρ2 must range over adjacent pairs only. On a line of three with e^ε = 2 the column (1, 2,
    3)/6 has the components {0, 1} and {2}. All pairs give ρ2 = 3, above e^ε, and a negative a;
    adjacent ones give ρ2 = 3/2.
    """
    column = [Fraction(k, 6) for k in (1, 2, 3)]

    def share(pairs: list[tuple[int, int]]) -> Fraction:
        up = max(column[s] / column[t] for s, t in pairs)
        down = max(column[t] / column[s] for s, t in pairs)
        # a = (e^ε/ρ2 - 1) / (e^ε/ρ1 · e^ε/ρ2 - 1) with e^ε = 2.
        return (2 / down - 1) / (2 / up * 2 / down - 1)

    everywhere = share([(0, 2), (1, 2)])
    adjacent = share([(1, 2)])
    channel = channels.rational([[x, 1 - x] for x in column])
    split = (
        channels.make_maximally_general(channel, PathPower(3), "ln(2)").steps[0].shares
    )
    detail = f"{everywhere} over all pairs, {adjacent} over adjacent ones"
    return 0 <= everywhere <= 1 or adjacent not in split, detail


@claim("Lemma 3.3.4, 3.3.5", ("-1/4", "-1/6"), by=axioms.dobrushin_optimum)
def _odd_and_even() -> Computed:
    """least Dobrushin value in a row of 5, -e^{-ε(n-1)/2}, and of 6, -2e^{-ε(n/2-1)}/(1+e^ε)"""
    return [
        axioms.dobrushin_optimum(PathPower(n), "ln(2)").exact for n in (5, 6)
    ], "at ε = ln 2"


@every("§3.3, geometric", "{} lengths, 2 to 8 answers", by=dobrushin)
def _geometric_optimal() -> Cases:
    """the geometric mechanism is optimal under the Dobrushin coefficient"""
    for graph in map(PathPower, range(2, 9)):
        best = axioms.dobrushin_optimum(graph, "ln(2)").value
        yield near(dobrushin(geometric(graph, "ln(2)")), best)


@every("Lemma 3.3.7", "{} graphs", by=axioms.dobrushin_optimum)
def _far_apart() -> Cases:
    """the two inputs that are distinguished best are as far apart as possible"""
    for text in ("petersen", "sum(4,2)", "star(3)", "cycle(7)"):
        graph = query(text).graph
        yield (
            graph.distance(*axioms.dobrushin_optimum(graph, "ln(2)").pair)
            == graph.diameter
        )


@claim("Lemma 3.3.8, even d", "-2/3", by=axioms.dobrushin_optimum)
def _length_and_nodes() -> Computed:
    """least value at diameter d = 2 when its conditions are read as in Lemma 3.3.5, ε = ln 2

    Lemma 3.3.5 counts the n = d+1 nodes of a path, Lemma 3.3.8 puts the length d into the same
    conditions. With lengths, even d gives -e^{-εd/2} and odd d gives -2e^{-ε(d-1)/2}/(1+e^ε).
    """
    return axioms.dobrushin_optimum(
        PathPower(3), "ln(2)"
    ).exact, "reached by geometric noise"


@claim("Lemma 3.3.8, odd d", by=dobrushin)
def _empty_conditions() -> Computed:
    """at d = 1 its conditions are empty, so that every mechanism on two answers is optimal

    Read with lengths, the conditions for d = 1 demand a tight edge. A mechanism that ignores its
    input meets the printed ones.
    """
    useless = dobrushin(Channel([[0.5, 0.5], [0.5, 0.5]]))
    best = axioms.dobrushin_optimum(Clique(2), "ln(3)").value
    return (
        useless >= best,
        f"ignoring the input {useless:g}, randomised response {best:g}",
    )


@claim("§3.3, after general", by=channels.make_maximally_general)
def _still_optimal() -> Computed:
    """making a mechanism maximally general leaves its Dobrushin value where it is optimal"""
    graph = query("sum(3,2)").graph
    best = axioms.dobrushin_optimum(graph, "ln(2)")
    general = channels.make_maximally_general(best.channel, graph, "ln(2)")
    value = dobrushin(general.channel)
    return abs(
        value - best.value
    ) < 1e-12, f"{value:.6f} with {general.channel.shape[1]} outputs"
