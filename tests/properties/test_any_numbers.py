"""Whatever numbers a certificate holds: the judge takes no more from it than the optimum."""

import numpy as np
import pytest
from tests.forged import unpack

from tightrope.certify import certify, judge
from tightrope.certify.mechanism import judged_graph
from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.optimize import design
from tightrope.queries import query

BITS = 40
#: Questions and losses of each kind of certificate; at large ε few answers are within reach.
KINDS = {
    "multipliers": (["cycle(5)", "sum(3,2)", "grid(2,3)"], ["distance", "binary"]),
    "tree": (["path(6)", "tree(2,2)", "star(4)"], ["distance", "binary"]),
    "line": (["path(7)", "path(12)"], ["absolute", "squared"]),
    "stairs": (["sum(10,2)", "sum(7,3)", "path(20)"], ["absolute", "squared", "binary"]),
    "phi": (["cycle(6)", "databases(2,3)", "grid(2,3)", "sum(4,2)", "petersen"], ["binary"]),
    "envelope": (["path(7)", "tree(2,2)", "star(3)"], ["binary"]),
}
LEVELS = ["0.1", "ln(2)", "3", "ln(16777216)"]


def numbers(kind, graph, random):
    """Header fields and sections of a certificate that nobody has thought about."""
    n = graph.size
    if kind == "multipliers":
        arcs = np.concatenate([graph.edge_array(), graph.edge_array()[:, ::-1]])
        start, end = arcs[random.integers(len(arcs), size=3 * n)].T
        value = (random.exponential(0.2, 3 * n) * 2**BITS).astype(np.int64)
        sections = {"arc_guess": np.sort(random.integers(n, size=3 * n)), "arc_from": start}
        return {"arcs": 3 * n, "weight": None}, sections | {"arc_to": end, "arc_value": value}
    if kind == "tree":
        return {"weight": None}, {"places": random.integers(n, size=n)}
    if kind == "line":
        cuts = np.sort(np.clip(np.arange(n - 1) + random.integers(-2, 2, n - 1), -1, n - 1))
        return {}, {"places": np.diff(cuts, prepend=-1)}
    if kind == "stairs":
        first = random.integers(n)  # the cores of all guesses lie together, or behind their guesses
        low = np.full(n, first) if random.random() < 0.5 else np.arange(n)
        return {}, {"places": np.stack([low, np.minimum(low + random.integers(4), n - 1)], 1)}
    return ({"constant": False} if kind == "phi" else {}), {}


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
    always = Channel(np.ones((graph.size, 1)), outputs=[graph.label(0)])
    header, sections = unpack(certify(always, text, level, consumer=consumer, guess_of=[0]))
    fields, more = numbers(kind, graph, random)
    header |= {"certificate": {"kind": kind, "bits": BITS} | fields, "bound": "0"}
    contents = judge.Contents(header, sections | more)
    judged = judge.Consumer(judge.Weights(contents, judged_graph(graph)))
    if kind == "envelope":
        assert float(judge.lower_bound(judged)) <= best + 1e-6  # what a linear program may miss
        return
    wanted = random.uniform(-1 if kind == "phi" else -0.2, 0 if kind == "phi" else 2, graph.size)
    prices = np.array([int(x * (best + 0.01) * 2**BITS) for x in wanted], object)
    for attempt in range(60):  # lowered by what is owed, and more where that does not end
        short = prices * 0
        for _, places, debt in judge.debts(judged, prices):
            np.maximum.at(short, places, debt)
        if not short.any():
            break
        prices -= short << max(0, attempt - 20)
    assert not short.any()
    assert float(judged.price_bound(prices)) <= best + 1e-6  # what a linear program may miss
