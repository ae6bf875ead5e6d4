"""Whatever numbers a certificate holds: the judge takes no more from it than the optimum."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.forged import unpack

from tightrope.certify import certify, judge
from tightrope.certify.mechanism import judged_graph
from tightrope.certify.theorems.unbounded import ended_bound, unbounded_bound
from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.graphs import ExplicitGraph
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

BITS = 40
#: What a linear program may miss.
MISSED = 1e-6
#: Questions and losses of each kind of certificate; at large ε few answers are within reach.
KINDS = {
    "multipliers": (["cycle(5)", "sum(3,2)", "grid(2,3)"], ["distance", "binary"]),
    "tree": (["path(6)", "tree(2,2)", "star(4)"], ["distance", "binary"]),
    "line": (["path(7)", "path(12)"], ["absolute", "squared"]),
    "stairs": (
        ["sum(10,2)", "sum(7,3)", "path(20)"],
        ["absolute", "squared", "binary"],
    ),
    "phi": (
        ["cycle(6)", "databases(2,3)", "grid(2,3)", "sum(4,2)", "petersen"],
        ["binary"],
    ),
    "envelope": (["path(7)", "tree(2,2)", "star(3)"], ["binary"]),
}
LEVELS = ["0.1", "ln(2)", "3", "ln(16777216)"]


def numbers(kind, graph, random, guesses=None):
    """Header fields and sections of a certificate that nobody has thought about."""
    n, guesses = graph.size, guesses or graph.size
    if kind == "multipliers":
        arcs = np.concatenate([graph.edge_array(), graph.edge_array()[:, ::-1]])
        start, end = arcs[random.integers(len(arcs), size=3 * n)].T
        value = (random.exponential(0.2, 3 * n) * 2**BITS).astype(np.int64)
        sections = {
            "arc_guess": np.sort(random.integers(guesses, size=3 * n)),
            "arc_from": start,
        }
        return {"arcs": 3 * n, "weight": None}, sections | {
            "arc_to": end,
            "arc_value": value,
        }
    if kind == "tree":
        return {"weight": None}, {"places": random.integers(n, size=guesses)}
    if kind == "line":
        cuts = np.sort(
            np.clip(np.arange(n - 1) + random.integers(-2, 2, n - 1), -1, n - 1)
        )
        return {}, {"places": np.diff(cuts, prepend=-1)}
    if kind == "stairs":
        first = random.integers(
            n
        )  # the cores of all guesses lie together, or behind their guesses
        low = np.full(n, first) if random.random() < 0.5 else np.arange(n)
        return {}, {
            "places": np.stack([low, np.minimum(low + random.integers(4), n - 1)], 1)
        }
    return ({"constant": False} if kind == "phi" else {}), {}


def lowered(judged, prices):
    """Lower prices by what is owed for them, and by more where that does not end."""
    for attempt in range(60):
        short = prices * 0
        for _, places, debt in judge.repairs(judged, prices):
            np.maximum.at(short, places, debt)
        if not short.any():
            return prices
        prices = prices - (short << max(0, attempt - 20))
    raise AssertionError("prices that fall without an end")


def refused(judged, prices):
    """Whether the judge takes nothing from some prices."""
    try:
        short = judge.proof_of(judged).shortfalls(judged, prices)
        return any(len(places) for _, places, _ in short)
    except judge.Refused:
        return True


def check_prices(judged, prices, best):
    """No bound is above the optimum; prices that would prove more are refused."""
    prices = lowered(judged, prices)
    assert float(judge.proof_of(judged).price_bound(judged, prices)) <= best + MISSED
    while (
        bound := judge.proof_of(judged).price_bound(judged, prices)
    ) <= best + 10 * MISSED:
        prices = prices + int((best + 11 * MISSED - bound) * 2**BITS / len(prices)) + 1
    assert refused(judged, prices)


def dyadic(values):
    return np.array([int(x * 2**BITS) for x in values], object)


def one_output(question, level, consumer):
    """The file of a mechanism that always says the same."""
    graph = query(question).graph
    always = Channel(np.ones((graph.size, 1)), outputs=[graph.label(0)])
    return unpack(certify(always, question, level, consumer=consumer, guess_of=[0]))


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("kind", KINDS)
def test_no_certificate_proves_more_than_the_optimum(kind, seed):
    random = np.random.default_rng(seed)
    texts, losses = KINDS[kind]
    text, level = str(random.choice(texts)), str(random.choice(LEVELS))
    graph = query(text).graph
    prior = random.dirichlet(np.full(graph.size, 0.5))
    consumer = Consumer.of(graph, prior=prior.tolist(), loss=str(random.choice(losses)))
    best = design(graph, level, consumer, route="plain").expected_loss
    header, sections = one_output(text, level, consumer)
    fields, more = numbers(kind, graph, random)
    header |= {"certificate": {"kind": kind, "bits": BITS} | fields, "bound": "0"}
    contents = judge.Contents(header, sections | more)
    judged = judge.WEIGHTS["dense"](contents, judged_graph(graph)).consumer()
    if kind == "envelope":
        assert float(judge.proof_of(judged).lower_bound(judged)) <= best + MISSED
        return
    wanted = random.uniform(
        -1 if kind == "phi" else -0.2, 0 if kind == "phi" else 2, graph.size
    )
    check_prices(judged, dyadic(wanted * (best + 0.01)), best)


def least(graph, level, costs, *, weight=0.0, attack=(), delta=0.0, support=()):
    """Return the least Σ c_k·x_k of private columns x_k that sum to 1, by a linear program.

    ``weight`` times what an attacker gains is added. With δ the columns may exceed the ratio on
    each arc by e_k that sum to δ. With a support the costs are losses, and the worst is least.
    """
    guesses, n = costs.shape
    ends = graph.edge_array()
    arcs = np.concatenate([ends, ends[:, ::-1]])
    alphas = np.tile(float(Epsilon.of(level).alpha) ** graph.edge_lengths(), 2)
    first, many = (
        guesses * n,
        guesses * n + guesses + 1,
    )  # columns, gains, the worst loss
    size = many + guesses * len(arcs)
    rows, limits = [], []

    def below(limit, places, values):
        row = np.zeros(size)
        row[places] = values
        rows.append(row)
        limits.append(limit)

    own = np.arange(first).reshape(guesses, n)
    slack = np.arange(many, size).reshape(guesses, -1)
    for k in range(guesses):
        for at, (i, h) in enumerate(arcs.tolist()):
            below(
                0, [own[k, i], own[k, h], slack[k, at]], [alphas[at], -1, -alphas[at]]
            )
        for gains in attack:
            below(0, [*own[k], first + k], [*gains, -1])
    for at in range(len(arcs)):
        below(delta, slack[:, at], 1)
    for i in support:
        below(0, [*own[:, i], first + guesses], [*costs[:, i], -1])
    goal = np.zeros(size)
    goal[:first] = 0 if len(support) else costs.ravel()
    goal[first : first + guesses] = weight
    goal[first + guesses] = float(len(support) > 0)
    equal = np.zeros((n, size))
    for i in range(n):
        equal[i, i:first:n] = 1
    gains = (None, None) if len(attack) else (0, 0)
    bounds = [(0, None)] * first + [gains] * guesses + [(None, None)]
    bounds += [(0, None)] * (size - many)
    found = linprog(goal, np.array(rows), limits, equal, np.ones(n), bounds)
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "what", ["losses", "lengths", "delta", "support", "attacker", "guesser"]
)
def test_nor_under_any_condition(what, seed):
    """Any losses, edges of any length, a δ, a set of possible answers, limits."""
    random = np.random.default_rng(seed)
    level, kind = (
        str(random.choice(LEVELS[:3])),
        str(random.choice(["multipliers", "tree"])),
    )
    graph = query(
        "path(5)" if what == "delta" else str(random.choice(KINDS["tree"][0]))
    ).graph
    if what == "lengths":
        edges, lengths = (
            [(0, 1), (1, 2), (1, 3), (3, 4)],
            random.choice([0.5, 1, 2.25], 4),
        )
        graph = ExplicitGraph(edges, lengths=lengths.tolist())
    n, guesses = (
        graph.size,
        int(random.integers(2, 8)) if what == "losses" else graph.size,
    )
    prior = np.round(random.dirichlet(np.ones(n)) * 2**20) / 2**20
    prior[0] += 1 - prior.sum()
    loss = np.round(random.uniform(-1, 3, (n, guesses)) * 256) / 256
    consumer = Consumer.of(graph, prior=prior.tolist(), loss=loss.tolist())
    costs, conditions = loss.T * prior, {}
    header, sections = one_output(graph, level, consumer)
    kind = "multipliers" if what == "delta" else kind
    fields, more = numbers(kind, graph, random, guesses)
    proof = {"kind": kind, "bits": BITS} | fields
    header |= {"certificate": proof, "bound": "0"}
    if what == "delta":
        header["delta"], conditions["delta"] = "1/16", 1 / 16
    if what == "support":
        chosen = np.flatnonzero(prior)
        header["consumer"] |= {"support": {"kind": "listed", "count": len(chosen)}}
        sections["support"], costs, conditions["support"] = chosen, loss.T, chosen
    if what in ("attacker", "guesser"):
        attack = (
            random.integers(-20, 80, (3, n)) if what == "attacker" else np.diag(prior)
        )
        limited = str(random.choice(["loss", "vulnerability"]))
        weight = int(random.uniform(0, 2) * 2**BITS)
        share = weight if limited == "vulnerability" else 1 << BITS
        choices = (
            dyadic(random.dirichlet(np.ones(len(attack)), guesses).ravel()) * share
            >> BITS
        )
        choices = choices.reshape(guesses, -1)
        choices[:, 0] += share - choices.sum(axis=1)
        attacker = {"kind": "guesser"}
        if what == "attacker":
            attacker = {"kind": "listed", "actions": 3, "denominator": 64}
            sections["attack"], attack = attack.ravel(), attack / 64
        header["limit"] = {"limited": limited, "most": "1/2", "vulnerability": "0"}
        header["limit"]["attacker"], proof["weight"] = attacker, weight
        sections["choices"] = choices.ravel()
        conditions = {"attack": attack, "weight": share / 2**BITS}
        costs = costs * (1 if limited == "vulnerability" else weight / 2**BITS)
    contents = judge.Contents(header, sections | more)
    judged = judge.WEIGHTS["dense"](
        contents, judged_graph(graph, by_rule=False)
    ).consumer()
    if "attack" in conditions:
        judged = judge.LimitedCosts(judged)
        judged.weigh()
    best = least(graph, level, costs, **conditions)
    check_prices(judged, dyadic(random.uniform(-1, 1, n) * abs(best)), best)


@lru_cache
def known_loss(text, relation, loss, level, support):
    """The loss of a private mechanism; no bound may be above it."""
    asked = query(text, relation)
    knows = {"support": "all"} if support else {"prior": "uniform"}
    return design(
        asked, level, Consumer.of(asked.graph, loss=loss, **knows)
    ).expected_loss


SUMS = [
    ("sum(60,2)", "change-one"),
    ("sum(40,3)", "either"),
    ("sum(60,2)", "add-remove"),
]


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary", "distance"])
@pytest.mark.parametrize("seed", range(5))
def test_prices_for_the_ends_of_a_line_prove_no_more(seed, loss):
    random = np.random.default_rng(seed)
    text, relation = SUMS[seed % 3]
    asked, level = query(text, relation), str(random.choice(["ln(2)", "3"]))
    best = known_loss(text, relation, loss, level, False)
    consumer = Consumer.of(asked.graph, prior="uniform", loss=loss)
    made = prove(design(asked, level, consumer, route="stretched"), asked)
    header, sections = unpack(made)
    ends, layers = int(random.integers(1, 7)), int(random.integers(4, 7))
    stride = int(random.integers(1, 3))
    if loss == "distance":
        stride = 1 + (stride - 1) * (asked.graph.width - 1)  # a divisor of the width
    low = np.maximum(0, np.arange(ends) - random.integers(0, 3, ends))
    high = np.arange(ends) + random.integers(0, 3, ends)
    proof = {"bits": BITS, "ends": ends, "layers": layers, "stride": stride}
    header |= {"certificate": {"kind": "stretched"} | proof, "bound": "0"}
    header["consumer"] |= {"remapped": False}
    sections = {"places": np.stack([low, high], 1)}
    judged = judge.LatticeWeights(judge.Contents(header, sections)).consumer()
    far = np.array([layers * judged.row.width])
    most = int(judge.line_loss(loss, far, judged.row.width)[0]) << BITS
    steps = best / float(judged.row.units(loss))
    prices = np.minimum(dyadic(random.uniform(-0.2, 2, ends) * steps), most)
    check_prices(judged, prices, best)


LINES = [
    ("count(30)", "change-one"),
    ("sum(20,2)", "either"),
    ("mean(12,3)", "change-one"),
]


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(("text", "relation"), LINES)
def test_slopes_of_noise_without_ends_prove_no_more(text, relation, loss):
    """The bound by rule on the question itself, whatever slope a file names."""
    best = known_loss(text, relation, loss, "3", True)
    lattice = judge.question_lattice(text, relation)
    alpha = judge.level_bounds(Fraction(3), None, Fraction(1))[1]
    found = [
        float(ended_bound(lattice, loss, alpha, Fraction(k, 40)) * lattice.units(loss))
        for k in range(1, 40)
    ]
    assert 0 < max(found) <= best + MISSED


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("count(3)", "change-one"),
        ("sum(3,2)", "change-one"),
        ("mean(12,3)", "change-one"),
        ("sum(6,3)", "add-remove"),
        ("counts(4,2)", "add-remove"),
        ("histogram(6,2)", "add-remove"),
    ],
)
@pytest.mark.parametrize("level", ["1", "3"])
def test_flows_along_lines_prove_no_more(text, relation, loss, level):
    """The bound is below the optimum, which ends make smaller than it is without them."""
    best = known_loss(text, relation, loss, level, True)
    lattice = judge.question_lattice(text, relation)
    alpha = judge.level_bounds(Fraction(level), None, Fraction(1))[1]
    unit = lattice.units(loss)
    ended = lattice.lines_bound(loss, Fraction(alpha, 1 << 62)) * unit
    assert 0 < ended <= best + MISSED
    if text in ("count(3)", "sum(3,2)"):
        assert unbounded_bound(lattice, loss, alpha) * unit > 1.01 * best
