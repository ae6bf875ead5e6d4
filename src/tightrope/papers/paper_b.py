"""Paper B: symmetry and the transformation of channels, bounds on leakage, utility."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np

from tightrope import graphs, leakage
from tightrope.arrays import Floats
from tightrope.channels import (
    Channel,
    GeometricChannel,
    is_private,
    of_databases,
    smallest_epsilon,
)
from tightrope.consumers import Consumer, Prior, utility
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.leakage.bounds import proposition_20
from tightrope.mechanisms import (
    exponential,
    geometric,
    highest_leakage,
    randomized_response,
    ring,
)
from tightrope.optimize import design
from tightrope.papers.claims import (
    Cases,
    Computed,
    Paper,
    agrees,
    near,
    scrambled,
    sharpened,
)
from tightrope.queries import query

paper = Paper(
    "B",
    "Alvim, Andrés, Chatzikokolakis, Degano, Palamidessi: On the information leakage of "
    "differentially-private mechanisms (JCS 2015)",
)
claim = paper.claim
every = paper.every

# -- Symmetry of graphs and the transformation of channels (sections 2 to 4) ---------------


def _symmetric(graph: AnswerGraph) -> tuple[bool, bool]:
    return graphs.intersection_numbers(graph) is not None, graphs.is_vertex_transitive(
        graph
    )


def _graphs(*texts: str) -> list[AnswerGraph]:
    return [query(text).graph for text in texts]


def _noisy(graph: AnswerGraph, seed: int, outputs: int) -> Channel:
    # Noise after a random remap: private, but without any structure.
    noise = exponential(graph, "ln(2)")
    return scrambled(noise, np.random.default_rng(seed), outputs, 0.5)


@claim("§2.1", by=leakage.min_capacity)
def _capacity() -> Computed:
    """the min-capacity is log2 of the sum of the column maxima, reached by the uniform prior"""
    channel = _noisy(graphs.Cycle(6), 1, 7)
    # Σ_o max_i X_io, the closed form of the claim.
    capacity = math.log2(channel.matrix().max(axis=0).sum())
    random = np.random.default_rng(2)
    leakages = [
        leakage.min_entropy_leakage(channel, random.dirichlet(np.ones(6)))
        for _ in range(50)
    ]
    same = near(
        (leakage.min_capacity(channel), leakage.min_entropy_leakage(channel)), capacity
    )
    return bool(same and max(leakages) <= capacity), "against 50 other priors"


@every("Fig 1", "{} of 6 graphs", by=graphs.intersection_numbers)
def _figure_1() -> Cases:
    # The Heawood graph, the cage of degree 3 and girth 6.
    """tetrahedron, cube, Petersen graph, a cycle, a cage and a clique have both symmetries"""
    ring = [(i, (i + 1) % 14) for i in range(14)]
    # LCF [5, -5]^7.
    chords = [(i, (i + 5) % 14) for i in range(0, 14, 2)]
    cage = ExplicitGraph(ring + chords)
    for graph in (
        *_graphs("clique(4)", "hypercube(3)", "petersen", "cycle(8)", "clique(6)"),
        cage,
    ):
        yield _symmetric(graph) == (True, True)


@claim("Fig 1(a), 1(b)", by=graphs.Databases)
def _hamming() -> Computed:
    """two of them are the databases of 1 person with 4 values and of 3 with 2"""
    one = graphs.Databases(1, range(4))
    three = graphs.Databases(3, range(2))
    cube = graphs.hypercube(3)
    same = bool((three.distance_matrix() == cube.distance_matrix()).all())
    return one.is_clique and one.size == 4 and same, ""


@claim("Fig 2", by=graphs.is_vertex_transitive)
def _one_symmetry() -> Computed:
    """the Chang graph is only distance-regular, the truncated tetrahedron only vertex-transitive"""
    symmetries = [
        _symmetric(graph) for graph in (graphs.chang(), graphs.truncated_tetrahedron())
    ]
    return symmetries == [(True, False), (False, True)], ""


@claim("Prop 3, Prop 5", by=AnswerGraph)
def _balls() -> Computed:
    """either symmetry makes the ball sizes constant"""
    symmetric = _graphs("petersen", "chang", "truncated_tetrahedron", "databases(3,3)")
    constant = all(graph.constant_ball_sizes is not None for graph in symmetric)
    return constant and query(
        "path(6)"
    ).graph.constant_ball_sizes is None, "on 4 graphs"


@every(
    "Lemma 7", "for {} channels on the Petersen graph", by=leakage.maxima_on_diagonal
)
def _lemma_7() -> Cases:
    """outputs can be joined until column maxima lie on the diagonal, with equal leakage"""
    graph = graphs.petersen()
    for seed in range(8):
        before = _noisy(graph, seed, 14)
        after = leakage.maxima_on_diagonal(before)
        # Column maxima on the diagonal: X_kk = max_i X_ik.
        rows = after.matrix()
        diagonal = near(rows.diagonal(), rows.max(axis=0), 1e-15)
        same = near(
            leakage.posterior_min_entropy(after), leakage.posterior_min_entropy(before)
        )
        yield diagonal and same and is_private(after, graph, "ln(2)").private


@claim("Lemma 8", by=leakage.average_over_distances)
def _lemma_8() -> Computed:
    """on distance-regular graphs averaging makes the diagonal constant, with equal leakage"""
    graph = graphs.chang()
    before = leakage.maxima_on_diagonal(_noisy(graph, 3, 40))
    return _constant_diagonal(
        graph, before, leakage.average_over_distances(before, graph)
    )


@claim("Lemma 9", by=leakage.average_over_automorphisms)
def _lemma_9() -> Computed:
    """on vertex-transitive graphs so does averaging over automorphisms"""
    graph = graphs.truncated_tetrahedron()
    before = leakage.maxima_on_diagonal(_noisy(graph, 3, 20))
    return _constant_diagonal(
        graph, before, leakage.average_over_automorphisms(before, graph)
    )


def _constant_diagonal(graph: AnswerGraph, before: Channel, after: Channel) -> Computed:
    rows = after.matrix()
    # A constant diagonal that is also the largest entry.
    constant = near(rows.diagonal(), rows.max())
    same = near(
        leakage.posterior_min_entropy(after), leakage.posterior_min_entropy(before)
    )
    return constant and same and is_private(
        after, graph, "ln(2)"
    ).private, f"on {graph.name}"


@claim("Lemma 32", "12", by=graphs.automorphism_group)
def _lemma_32() -> Computed:
    """automorphisms of the Petersen graph that take one node to a given one: |Γ|/n"""
    graph = graphs.petersen()
    # Colouring one node fixes it: the stabiliser.
    colours = [int(i == 0) for i in range(10)]
    fixing = graphs.automorphism_group(graph, colours).order
    total = graphs.automorphism_group(graph).order
    return fixing, f"fix a node, of {total} in all"


@every("Prop 11, Thm 12", "for {} channels on 4 graphs", by=leakage.utility_bound)
def _theorem_12() -> Cases:
    """1/Σ n_d e^{-εd} bounds the posterior vulnerability on symmetric graphs"""
    for graph in _graphs("petersen", "chang", "truncated_tetrahedron", "cycle(7)"):
        bound = leakage.utility_bound(graph, "ln(2)")
        for seed in range(5):
            vulnerability = leakage.posterior_vulnerability(
                _noisy(graph, seed, graph.size + 3)
            )
            # V ≤ 1/Σ n_d e^{-εd} is the bound for the uniform prior.
            yield vulnerability <= bound + 1e-12


@claim(
    "Prop 13",
    (("9", "6", "3", "0"), ("0", "1", "2", "3")),
    by=graphs.intersection_numbers,
)
def _numbers() -> Computed:
    """intersection numbers of 3 people with 4 values: b_d = (u-d)(v-1), then c_d = d"""
    numbers = graphs.intersection_numbers(graphs.Databases(3, range(4)))
    return [numbers.b, numbers.c] if numbers else [], ""


@claim("Prop 14", by=graphs.automorphism_group)
def _transitive() -> Computed:
    """databases are vertex-transitive"""
    graph = graphs.Databases(3, range(4)).explicit()
    return graphs.automorphism_group(
        graph
    ).is_transitive, "3 people, 4 values, by search"


@claim("(7)", ("1", "8", "24", "32", "16"), by=graphs.Databases)
def _shells() -> Computed:
    """databases at distance d from one of 4 people with 3 values"""
    databases = graphs.Databases(4, range(3))
    return list(databases.constant_ball_sizes or ()), ""


# -- Bounds on leakage (section 5) ---------------------------------------------------------


@claim("Thm 15, bits", "99.03", by=leakage.database_bound)
def _theorem_15() -> Computed:
    """leakage bound for 100 people, 2 values, ε = 5"""
    return leakage.database_bound(100, 2, 5).bits, "bits"


@claim("Thm 15, success", by=leakage.database_bound)
def _success() -> Computed:
    """there the whole database is guessed with probability above 1/2"""
    # V after = 2^{leakage} · 2^{-100}.
    chance = 2 ** (leakage.database_bound(100, 2, 5).bits - 100)
    return chance > 0.5, f"{chance:.4f}"


@every("Fig 8", "for {} pairs u, v", by=leakage.database_bound)
def _figure_8() -> Cases:
    """the bound grows from 0 to u·log2 v"""
    sizes = [(1, 2), (10, 2), (10, 10), (100, 2), (100, 10)]
    for u, v in sizes:
        bits = [
            leakage.database_bound(u, v, e).bits for e in (1e-9, 0.5, 1, 2, 5, 10, 40)
        ]
        # Growth, and both ends: nothing at ε = 0, everything as ε grows.
        grows = all(low < high for low, high in pairwise(bits))
        yield (
            grows and near(bits[0], 0, 1e-6) and near(bits[-1], u * math.log2(v), 1e-6)
        )


@every("Prop 16", "{} cases, up to 1000 people with 5 values", by=highest_leakage)
def _proposition_16() -> Cases:
    """a private mechanism reaches the bound, for every u, v and ε"""
    cases = [(1, 2, "0.3"), (2, 3, "ln(2)"), (4, 4, "2"), (1000, 5, "1")]
    for u, v, epsilon in cases:
        bits = leakage.min_entropy_leakage(highest_leakage(u, v, epsilon))
        # The leakage of a product channel adds up, so 1000 people take no longer than one.
        yield near(bits, leakage.database_bound(u, v, epsilon).bits, 1e-9)
    people = graphs.Databases(3, range(3))
    yield is_private(highest_leakage(3, 3, "ln(2)"), people, "ln(2)").private


@claim("Ex 17", "1/4", by=highest_leakage)
def _example_17() -> Computed:
    """largest entry e^{2ε}/(2+e^ε)² for two people with three values, ε = ln 2"""
    return float(highest_leakage(2, 3, "ln(2)").matrix().max()), ""


@claim("Fig 9(b)", by=highest_leakage)
def _figure_9() -> Computed:
    """entry α of the matrix stands for the maximum over e^{εα}, α the distance"""
    rows = highest_leakage(2, 3, "ln(2)").matrix()
    # log_{e^ε} of max/entry is the distance.
    exponents = np.log2(rows.max() / rows).round(9)
    return bool(
        (exponents == graphs.Databases(2, range(3)).distance_matrix()).all()
    ), "81 entries"


@claim("Ex 18, leakage", by=leakage.leakage_without_privacy)
def _example_18() -> Computed:
    """the leakage vanishes as the rare input gets rarer"""
    common = leakage.leakage_without_privacy(0.2, 0.9).leakage_bits
    rare = [
        leakage.leakage_without_privacy(1e-3, beta).leakage_bits
        for beta in (1e-9, 0.3, 0.9)
    ]
    return common > 0.1 and max(rare) < 1e-12, f"from {common:.3f} bits to 0, for 3 β"


@every(
    "Ex 18, ε",
    "for {} values of β; 19.1 at β = 1e-9",
    by=leakage.leakage_without_privacy,
)
def _example_18_level() -> Cases:
    """while ε grows without limit as β vanishes, by the formula with four logarithms"""
    for beta in (1e-9, 0.05, 0.2, 0.95):
        shown = leakage.leakage_without_privacy(0.01, beta, inputs=4, outputs=5)
        first = abs(math.log(5 * beta))
        others = abs(math.log(5 * (1 - beta) / 4))
        formula = max(first, others)
        # The formula against a direct search over all edges.
        direct = smallest_epsilon(shown.channel, graphs.Clique(4)).value
        yield near((shown.epsilon, direct), formula, 1e-6)


@every("Prop 20", "against the exact maximum in {} cases", by=leakage.few_outputs_bound)
def _proposition_20() -> Cases:
    """its bound holds for mechanisms with r outputs"""
    graph = graphs.Databases(3, range(2))
    for epsilon, outputs in product((0.3, 1.0, 2.5), (2, 3, 4, 5)):
        most = leakage.most_leakage(graph, epsilon, outputs).bits
        # The linear program is accurate to about 1e-7.
        yield proposition_20(3, 2, epsilon, outputs) > most - 1e-7


@claim("Prop 20, r = v", by=leakage.few_outputs_bound)
def _proposition_20_values() -> Computed:
    """with r = v it reads log2 v·e^{εu}/(v-1+e^{εu})"""
    # For r = v: ℓ = 1.
    grown = math.exp(0.2 * 10)
    bits = leakage.few_outputs_bound(10, 3, 0.2, 3).bits
    bound = leakage.database_bound(10, 3, 0.2).bits
    expected = math.log2(3 * grown / (2 + grown))
    same = abs(bits - expected) < 1e-12
    return same and bits < bound, f"u = 10, v = 3: {bits:.4f} against {bound:.4f} bits"


@claim("before Prop 20", by=leakage.few_outputs_bound)
def _not_always_better() -> Computed:
    """with r outputs its bound is better than that of Thm 15 (u = 3, v = 2, ε = 0.3, r = 3)

    Between powers of v it can be the looser of the two: take the smaller.
    """
    few = proposition_20(3, 2, 0.3, 3)
    all_outputs = leakage.database_bound(3, 2, 0.3).bits
    return few < all_outputs, f"{few:.4f} bits against {all_outputs:.4f}"


@claim("Prop 20, last step", by=leakage.min_entropy_leakage)
def _product_and_sum() -> Computed:
    # Three of four databases each favour an output of their own, by a little.
    """joining m of r outputs: leakage is at most that of the joined channel times r/v^ℓ

    A sum of logarithms is meant: at most that of the joined channel plus log2(r/v^ℓ). The product
    fails for this channel with three outputs; the bound of the proposition holds.
    """
    lift = 0.1
    rows = np.full((4, 3), (1 - lift) / 3) + np.vstack(
        [lift * np.eye(3), np.full(3, lift / 3)]
    )
    channel = Channel(rows)
    first = rows[:, 0] + rows[:, 2]
    joined = Channel(np.column_stack([first, rows[:, 1]]))
    bits = leakage.min_entropy_leakage(channel)
    left = leakage.min_entropy_leakage(joined)
    product = left * 3 / 2
    total = left + math.log2(3 / 2)
    detail = f"{bits:.4f} bits; product {product:.4f}, sum {total:.4f}"
    # The printed product must fail and the sum must hold.
    return bits <= product or bits > total, detail


@claim("§5.3, plain", "1.95", by=leakage.plain_individual_bound)
def _plain() -> Computed:
    """plain bound on one person's leakage at ε = 1.35"""
    return leakage.plain_individual_bound(1.35).bits, "bits"


@claim("Prop 21, correction", "-0.97", by=leakage.individual_bound)
def _correction() -> Computed:
    """additive correction for 3 values at ε = 1.35"""
    plain = leakage.plain_individual_bound(1.35).bits
    return leakage.individual_bound(3, 1.35).bits - plain, "bits"


@claim("Prop 21, half", "0.50", by=leakage.individual_bound)
def _half() -> Computed:
    """which makes the bound about half (50 % tighter)"""
    return leakage.individual_bound(3, 1.35).bits / leakage.plain_individual_bound(
        1.35
    ).bits, ""


@every("Prop 21", "for {} queries", by=leakage.individual_leakage)
def _individual() -> Cases:
    """the bound holds for the person about whom most leaks"""
    for text in ("count(5)", "sum(4,3)", "count_mod(5,4)", "databases(3,3)"):
        asked = query(text)
        result = leakage.individual_leakage(exponential(asked.graph, 1), asked)
        yield (
            result.bits
            <= leakage.individual_bound(len(asked.values or ()), 1).bits + 1e-12
        )


@claim(
    "§7, two values",
    f"{7 * math.log2(2 * math.exp(0.9) / (math.exp(0.9) + 1)):.9f}",
    by=leakage.database_bound,
)
def _two_values() -> Computed:
    """with two values the bound is the u·log2(2e^ε/(e^ε+1)) of earlier work (u = 7, ε = 0.9)"""
    return leakage.database_bound(7, 2, 0.9).bits, ""


# -- Utility, the optimal mechanism on symmetric graphs, two tables (section 6) ------------


_UNEVEN = (0.1, 0.2, 0.2, 0.2, 0.2, 0.1)

TABLE_1A = """
0.534 0.060 0.053 0.046 0.040 0.267
0.465 0.069 0.060 0.053 0.046 0.307
0.405 0.060 0.069 0.060 0.053 0.353
0.353 0.053 0.060 0.069 0.060 0.405
0.307 0.046 0.053 0.060 0.069 0.465
0.267 0.040 0.046 0.053 0.060 0.534
"""
TABLE_2A = """
2/3 1/6 1/12 1/24 1/48 1/48
1/3 1/3 1/6 1/12 1/24 1/24
1/6 1/6 1/3 1/6 1/12 1/12
1/12 1/12 1/6 1/3 1/6 1/6
1/24 1/24 1/12 1/6 1/3 1/3
1/48 1/48 1/24 1/12 1/6 2/3
"""
TABLE_2B = """
8/21 4/21 2/21 1/21 2/21 4/21
4/21 8/21 4/21 2/21 1/21 2/21
2/21 4/21 8/21 4/21 2/21 1/21
1/21 2/21 4/21 8/21 4/21 2/21
2/21 1/21 2/21 4/21 8/21 4/21
4/21 2/21 1/21 2/21 4/21 8/21
"""
#: Eight answers, three neighbours each, two steps to the rest: equal balls and neither symmetry.
EQUAL_BALLS = (
    (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0),
    (0, 2), (1, 5), (3, 6), (4, 7),
)  # fmt: skip


def _agreeing(table: str, rows: Floats) -> int:
    return sum(map(agrees, table.split(), rows.ravel().tolist()))


def _cities() -> tuple[Channel, Channel]:
    graph = query("choice(6)").graph
    return geometric(graph, "ln(2)"), randomized_response(graph, "ln(2)")


def _votes() -> tuple[Channel, Channel]:
    graph = query("count(5)").graph
    return geometric(graph, "ln(2)"), ring(graph, "ln(2)")


@every("Prop 23, 24", "for {} channels", by=utility)
def _utility_and_entropy() -> Cases:
    """under identity gain and the best remap, utility is 2 to the minus posterior min-entropy"""
    graph = graphs.Clique(5)
    random = np.random.default_rng(7)
    for _ in range(20):
        channel = Channel(random.dirichlet(np.ones(7), size=5))
        prior = Prior(random.dirichlet(np.ones(5)))
        gained = utility(channel, Consumer.of(graph, prior=prior, loss="binary"))
        # Prop 24: U = V(π, X) = 2^{-H_∞}.
        yield near(gained, 2 ** -leakage.posterior_min_entropy(channel, prior))


@every("Prop 26", "the same smallest ε for {} of 20 channels", by=of_databases)
def _oblivious() -> Cases:
    """noise that is private on answers is private on databases, and the reverse"""
    asked = query("sum(3,2)")
    people = graphs.Databases(3, range(3))
    # A sum of three values; the channel of databases repeats rows of the answers.
    answers = [
        asked.graph.index(sum(int(str(value)) for value in people.label(i)))
        for i in range(people.size)
    ]
    random = np.random.default_rng(8)
    for _ in range(20):
        noise = exponential(asked.graph, "ln(2)")
        noise = sharpened(noise, random.choice([0.0, 0.03]), random)
        level_people = smallest_epsilon(of_databases(noise, answers), people).value
        # Equal smallest ε: edges of the answer graph are exactly the images of edges.
        yield near(smallest_epsilon(noise, asked.graph).value, level_people, 1e-9)


@every("Thm 27, 28", "in {} cases: 6 graphs, 3 levels", by=exponential)
def _theorem_28() -> Cases:
    """exponential noise with quality -d meets the bound on symmetric graphs"""
    one = _graphs("petersen", "chang", "truncated_tetrahedron")
    other = _graphs("hypercube(3)", "cycle(7)", "clique(4)")
    for graph, epsilon in product(one + other, ("0.2", "ln(2)", "2.5")):
        channel = exponential(graph, epsilon)
        bound = leakage.utility_bound(graph, epsilon)
        met = near(leakage.posterior_vulnerability(channel), bound)
        yield met and is_private(channel, graph, epsilon).private


@claim("after Thm 28", by=leakage.utility_bound)
def _equal_balls() -> Computed:
    """the construction needs distance-regularity or vertex-transitivity

    Equal ball sizes are enough: summing a column, Σ_i X[i,o] ≥ max_o·Σ_d n_d e^{-εd}, and over the
    outputs n ≥ n·U·Σ_d n_d e^{-εd}. A ring of eight with the chords 02 15 36 47 has neither
    symmetry and equal balls; there exponential noise meets the bound, and a linear program finds
    nothing better.
    """
    graph = ExplicitGraph(EQUAL_BALLS)
    neither = graphs.intersection_numbers(
        graph
    ) is None and not graphs.is_vertex_transitive(graph)
    bound = leakage.utility_bound(graph, "ln(2)")
    met = leakage.posterior_vulnerability(exponential(graph, "ln(2)"))
    best = design(graph, "ln(2)", route="plain").utility
    # Neither symmetry, and still the bound is met: the condition is not needed.
    is_met = abs(met - bound) < 1e-12 and abs(best - bound) < 1e-7
    enough = neither and is_met
    return not enough, f"8 answers without them: bound {bound:.6f}, reached {met:.6f}"


@claim("Remark 29", by=graphs.close_ring)
def _remark_29() -> Computed:
    """artificial adjacencies keep privacy, and the fewer the higher the utility"""
    graph = query("path(6)").graph
    mechanisms = [
        make(graph, "ln(2)") for make in (geometric, ring, randomized_response)
    ]
    # Private on the ring or the clique is private on the line: more constraints hold.
    private = all(is_private(channel, graph, "ln(2)") for channel in mechanisms)
    values = [leakage.posterior_vulnerability(channel) for channel in mechanisms]
    shown = " > ".join(f"{value:.4f}" for value in values)
    return bool(
        private and values[0] > values[1] > values[2]
    ), f"line, ring, clique: {shown}"


@claim("Ex 30, α", "1.5", by=GeometricChannel)
def _fifth_root() -> Computed:
    """fifth root of 2, the ratio of the adapted geometric mechanism

    2^(1/5) is 1.1487; the matrix of Table 1(a) is computed with that value. The six cities are the
    numbers 0 to 5, not 0 to 6.
    """
    channel = _cities()[0]
    if not isinstance(channel, GeometricChannel):
        return math.nan, ""
    # The ratio of the channel is α; the paper prints 1/α.
    return 1 / channel.ratio, "whose fifth power is 2"


@claim("Table 1(a)", "36", by=geometric)
def _table_1a() -> Computed:
    """entries of the adapted geometric mechanism that agree, of 36

    Digits of some entries are cut instead of rounded, .534 for .5346. Every entry is within one
    unit of its last digit.
    """
    rows = _cities()[0].matrix()
    # Cut digits differ by less than one unit, rounded ones by half.
    published = np.array(TABLE_1A.split(), dtype=float)
    off = np.abs(rows.ravel() - published).max()
    return _agreeing(TABLE_1A, rows), f"largest difference {off:.4f}"


@claim("Table 1(a), first entry", "0.534", by=geometric)
def _table_1a_first() -> Computed:
    """probability of reporting A when the truth is A

    The fourth digit is cut: .5346 rounds to .535.
    """
    return _cities()[0].entry(0, 0), ""


@claim("Table 1(b)", "36", by=randomized_response)
def _table_1b() -> Computed:
    """entries of the optimal mechanism that agree, of 36"""
    table = " ".join("2/7" if i == j else "1/7" for i in range(6) for j in range(6))
    return _agreeing(table, _cities()[1].matrix()), ""


@claim(
    "Ex 30, U(M1) and U(M2)", ("0.2243", "0.2857"), by=leakage.posterior_vulnerability
)
def _example_30() -> Computed:
    """utility of the adapted geometric and of the optimal mechanism"""
    return [
        leakage.posterior_vulnerability(mechanism) for mechanism in _cities()
    ], "= 2/7"


@claim("Ex 30, uneven prior", ("0.2415", "0.2857"), by=leakage.posterior_vulnerability)
def _example_30_uneven() -> Computed:
    """both utilities for the prior (.1, .2, .2, .2, .2, .1)"""
    return [
        leakage.posterior_vulnerability(mechanism, _UNEVEN) for mechanism in _cities()
    ], ""


@claim("Table 2(a)", "36", by=geometric)
def _table_2a() -> Computed:
    """entries of the truncated geometric mechanism that agree, of 36"""
    return _agreeing(TABLE_2A, _votes()[0].matrix()), ""


@claim("Table 2(b)", "36", by=ring)
def _table_2b() -> Computed:
    """entries of the ring mechanism that agree, of 36"""
    return _agreeing(TABLE_2B, _votes()[1].matrix()), ""


@claim("Ex 31, U(M1) and U(M2)", ("4/9", "8/21"), by=leakage.posterior_vulnerability)
def _example_31() -> Computed:
    """utility of the geometric and of the ring mechanism for 5 votes"""
    return [leakage.posterior_vulnerability(mechanism) for mechanism in _votes()], ""


@claim("Ex 31, ring", by=is_private)
def _example_31_ring() -> Computed:
    """were the first and last answer adjacent, the geometric mechanism would not be private"""
    closed = graphs.close_ring(query("count(5)").graph)
    first, second = _votes()
    # Its corner entries differ by 2^5, which the closing edge must bridge.
    level = smallest_epsilon(first, closed).value / math.log(2)
    broken = not is_private(first, closed, "ln(2)") and bool(
        is_private(second, closed, "ln(2)")
    )
    return broken, f"it needs ε = {level:.0f} ln 2 there"


@claim("Ex 31, optimal", "4/9", by=design)
def _example_31_optimal() -> Computed:
    """on a line the geometric mechanism is optimal"""
    return design("path(6)", "ln(2)", route="plain").utility, "by a linear program"
