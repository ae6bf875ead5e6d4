"""Paper B, section 6: utility, the optimal mechanism on symmetric graphs, two tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import (
    Channel,
    DenseChannel,
    GeometricChannel,
    is_private,
    of_databases,
    smallest_epsilon,
)
from tightrope.consumers import Consumer, Prior, utility
from tightrope.graphs import (
    Clique,
    Cycle,
    Databases,
    ExplicitGraph,
    chang,
    close_ring,
    hypercube,
    intersection_numbers,
    is_vertex_transitive,
    petersen,
    truncated_tetrahedron,
)
from tightrope.leakage import posterior_min_entropy, posterior_vulnerability, utility_bound
from tightrope.mechanisms import exponential, geometric, randomized_response, ring
from tightrope.optimize import design
from tightrope.papers.claims import Book, Found, agrees
from tightrope.queries import query

book = Book("B")

_TESTS = "tests/papers/test_paper_b.py"
_LN2 = "ln(2)"
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


def _entries(table: str) -> list[str]:
    return table.split()


def _agreeing(table: str, rows: NDArray[np.float64]) -> int:
    return sum(map(agrees, _entries(table), rows.ravel().tolist()))


def _cities() -> tuple[Channel, Channel]:
    graph = query("choice(6)").graph
    return geometric(graph, _LN2), randomized_response(graph, _LN2)


def _votes() -> tuple[Channel, Channel]:
    graph = query("count(5)").graph
    return geometric(graph, _LN2), ring(graph, _LN2)


@book.claim(
    "Prop 23, 24",
    "under identity gain and the best remap, utility is 2 to the minus posterior min-entropy",
    function="tightrope.consumers.utility",
    test="tests/properties/test_leakage.py",
)
def _utility_and_entropy() -> Found:
    random = np.random.default_rng(7)
    graph, worst = Clique(5), 0.0
    for _ in range(20):
        channel = DenseChannel(random.dirichlet(np.ones(7), size=5))
        prior = Prior(random.dirichlet(np.ones(5)))
        gained = utility(channel, Consumer.of(graph, prior=prior, loss="binary"))
        worst = max(worst, abs(gained - 2 ** -posterior_min_entropy(channel, prior)))
    return Found(worst < 1e-12, "for 20 channels")


@book.claim(
    "Prop 26",
    "noise that is private on answers is private on databases, and the reverse",
    function="tightrope.channels.of_databases",
    test="tests/unit/channels/test_compose.py",
)
def _oblivious() -> Found:
    asked = query("sum(3,2)")
    people = Databases(3, range(3))
    answers = [
        asked.graph.index(sum(int(str(value)) for value in people.label(i)))
        for i in range(people.size)
    ]
    random, agreed = np.random.default_rng(8), 0
    for _ in range(20):
        share = random.choice([0.0, 0.03])
        rows = exponential(asked.graph, _LN2).matrix()
        rows = (1 - share) * rows + share * np.eye(7)[random.integers(7, size=7)]
        noise = DenseChannel(rows)
        whole = of_databases(noise, answers)
        level_answers = smallest_epsilon(noise, asked.graph).value
        level_people = smallest_epsilon(whole, people).value
        agreed += abs(level_answers - level_people) < 1e-9
    return Found(agreed == 20, f"the same smallest ε for {agreed} of 20 channels")


@book.claim(
    "Thm 27, 28",
    "exponential noise with quality -d meets the bound on symmetric graphs",
    function="tightrope.mechanisms.exponential",
    test=f"{_TESTS}::test_theorems_27_and_28_the_exponential_mechanism_meets_the_bound",
)
def _theorem_28() -> Found:
    graphs = (petersen(), chang(), truncated_tetrahedron(), hypercube(3), Cycle(7), Clique(4))
    worst = 0.0
    for graph in graphs:
        for epsilon in ("0.2", _LN2, "2.5"):
            channel = exponential(graph, epsilon)
            gap = abs(posterior_vulnerability(channel) - utility_bound(graph, epsilon))
            worst = max(worst, gap if is_private(channel, graph, epsilon) else math.inf)
    return Found(worst < 1e-12, "on 6 graphs at 3 levels")


@book.claim(
    "after Thm 28",
    "the construction needs distance-regularity or vertex-transitivity",
    function="tightrope.leakage.utility_bound",
    correction="Equal ball sizes are enough: summing a column, Σ_i X[i,o] ≥ max_o·Σ_d n_d e^{-εd}, "
    "and over the outputs n ≥ n·U·Σ_d n_d e^{-εd}. A ring of eight "
    "with the chords 02 15 36 47 has neither symmetry and equal balls; there exponential noise "
    "meets the bound, and a linear program finds nothing better.",
)
def _equal_balls() -> Found:
    graph = ExplicitGraph(EQUAL_BALLS)
    neither = intersection_numbers(graph) is None and not is_vertex_transitive(graph)
    bound = utility_bound(graph, _LN2)
    met = posterior_vulnerability(exponential(graph, _LN2))
    best = design(graph, _LN2, route="plain").utility
    enough = neither and abs(met - bound) < 1e-12 and abs(best - bound) < 1e-7
    return Found(not enough, f"8 answers without them: bound {bound:.6f}, reached {met:.6f}")


@book.claim(
    "Remark 29",
    "artificial adjacencies keep privacy, and the fewer the higher the utility",
    function="tightrope.graphs.close_ring",
    test=f"{_TESTS}::test_remark_29_the_smaller_the_added_set_the_better",
)
def _remark_29() -> Found:
    graph = query("path(6)").graph
    made = [make(graph, _LN2) for make in (geometric, ring, randomized_response)]
    private = all(is_private(channel, graph, _LN2) for channel in made)
    values = [posterior_vulnerability(channel) for channel in made]
    shown = " > ".join(f"{value:.4f}" for value in values)
    return Found(
        bool(private and values[0] > values[1] > values[2]), f"line, ring, clique: {shown}"
    )


@book.claim(
    "Ex 30, α",
    "fifth root of 2, the ratio of the adapted geometric mechanism",
    "1.5",
    function="tightrope.channels.GeometricChannel",
    test=f"{_TESTS}::test_table_1_and_example_30",
    correction="2^(1/5) is 1.1487; the matrix of Table 1(a) is computed with that value. The six "
    "cities are the numbers 0 to 5, not 0 to 6.",
)
def _fifth_root() -> Found:
    channel = _cities()[0]
    if not isinstance(channel, GeometricChannel):
        return Found(math.nan)
    return Found(1 / channel.ratio, "whose fifth power is 2")


@book.claim(
    "Table 1(a)",
    "entries of the adapted geometric mechanism that agree, of 36",
    "36",
    function="tightrope.mechanisms.geometric",
    test=f"{_TESTS}::test_table_1_and_example_30",
    correction="Digits of some entries are cut instead of rounded, .534 for .5346. Every entry is "
    "within one unit of its last digit.",
)
def _table_1a() -> Found:
    rows = _cities()[0].matrix()
    off = np.abs(rows.ravel() - np.array(_entries(TABLE_1A), dtype=float)).max()
    return Found(_agreeing(TABLE_1A, rows), f"largest difference {off:.4f}")


@book.claim(
    "Table 1(a), first entry",
    "probability of reporting A when the truth is A",
    "0.534",
    function="tightrope.mechanisms.geometric",
    test=f"{_TESTS}::test_table_1_and_example_30",
    correction="The fourth digit is cut: .5346 rounds to .535.",
)
def _table_1a_first() -> Found:
    return Found(_cities()[0].entry(0, 0))


@book.claim(
    "Table 1(b)",
    "entries of the optimal mechanism that agree, of 36",
    "36",
    function="tightrope.mechanisms.randomized_response",
    test=f"{_TESTS}::test_table_1_and_example_30",
)
def _table_1b() -> Found:
    table = " ".join("2/7" if i == j else "1/7" for i in range(6) for j in range(6))
    return Found(_agreeing(table, _cities()[1].matrix()))


@book.claim(
    "Ex 30, U(M1)",
    "utility of the adapted geometric mechanism",
    "0.2243",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_1_and_example_30",
)
def _example_30_m1() -> Found:
    return Found(posterior_vulnerability(_cities()[0]))


@book.claim(
    "Ex 30, U(M2)",
    "utility of the optimal mechanism",
    "0.2857",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_1_and_example_30",
)
def _example_30_m2() -> Found:
    return Found(posterior_vulnerability(_cities()[1]), "= 2/7")


@book.claim(
    "Ex 30, uneven prior, U(M1)",
    "utility for the prior (.1, .2, .2, .2, .2, .1)",
    "0.2415",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_1_and_example_30",
)
def _example_30_uneven_m1() -> Found:
    return Found(posterior_vulnerability(_cities()[0], _UNEVEN))


@book.claim(
    "Ex 30, uneven prior, U(M2)",
    "utility for the prior (.1, .2, .2, .2, .2, .1)",
    "0.2857",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_1_and_example_30",
)
def _example_30_uneven_m2() -> Found:
    return Found(posterior_vulnerability(_cities()[1], _UNEVEN))


@book.claim(
    "Table 2(a)",
    "entries of the truncated geometric mechanism that agree, of 36",
    "36",
    function="tightrope.mechanisms.geometric",
    test=f"{_TESTS}::test_table_2_and_example_31",
)
def _table_2a() -> Found:
    return Found(_agreeing(TABLE_2A, _votes()[0].matrix()))


@book.claim(
    "Table 2(b)",
    "entries of the ring mechanism that agree, of 36",
    "36",
    function="tightrope.mechanisms.ring",
    test=f"{_TESTS}::test_table_2_and_example_31",
)
def _table_2b() -> Found:
    return Found(_agreeing(TABLE_2B, _votes()[1].matrix()))


@book.claim(
    "Ex 31, U(M1)",
    "utility of the geometric mechanism for 5 votes",
    "4/9",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_2_and_example_31",
)
def _example_31_m1() -> Found:
    return Found(posterior_vulnerability(_votes()[0]))


@book.claim(
    "Ex 31, U(M2)",
    "utility of the ring mechanism for 5 votes",
    "8/21",
    function="tightrope.leakage.posterior_vulnerability",
    test=f"{_TESTS}::test_table_2_and_example_31",
)
def _example_31_m2() -> Found:
    return Found(posterior_vulnerability(_votes()[1]))


@book.claim(
    "Ex 31, ring",
    "were the first and last answer adjacent, the geometric mechanism would not be private",
    function="tightrope.channels.is_private",
    test=f"{_TESTS}::test_table_2_and_example_31",
)
def _example_31_ring() -> Found:
    closed = close_ring(query("count(5)").graph)
    first, second = _votes()
    level = smallest_epsilon(first, closed).value / math.log(2)
    broken = not is_private(first, closed, _LN2) and bool(is_private(second, closed, _LN2))
    return Found(broken, f"it needs ε = {level:.0f} ln 2 there")


@book.claim(
    "Ex 31, optimal",
    "on a line the geometric mechanism is optimal",
    str(Fraction(4, 9)),
    function="tightrope.optimize.design",
)
def _example_31_optimal() -> Found:
    return Found(design("count(5)", _LN2, route="plain").utility, "by a linear program")
