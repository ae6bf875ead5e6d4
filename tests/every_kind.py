"""A mechanism file of every kind of weights and certificate."""

import numpy as np

from tightrope.certify import by_score, certify, certify_sharpened
from tightrope.channels import Channel, GeometricChannel, IntegerChannel, UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.graphs import Cycle, ExplicitGraph, PathPower
from tightrope.optimize import SolverSettings, design, design_limited
from tightrope.proofs import prove, prove_selection, prove_shown_count
from tightrope.queries import query


def finer():
    asked = query("count(1000)")
    coarse = certify(UnboundedNoise(asked.graph, "1/2"), asked, "1/2")
    return certify_sharpened(coarse, Epsilon.of(1))


def made_for(text, level=1, route=None, gap=1e-9, settings=None, **who):
    asked = query(text)
    consumer = Consumer.of(asked.graph, **who)
    best = design(asked, level, consumer, route=route, gap=gap, settings=settings)
    return prove(best, asked)


#: Settings by which every line counts as too long to be solved as a whole.
LONG = SolverSettings(staircase_entries=0)


#: By kind, how a file is made that the judge accepts.
FILES = {
    "line": lambda: made_for("count(6)", loss="absolute"),
    "tree": lambda: made_for("star(4)", loss="distance"),
    "multipliers": lambda: made_for("cycle(5)", loss="distance"),
    "phi": lambda: made_for("petersen", loss="binary"),
    "support": lambda: made_for("count(6)", support=[0, 3], loss="absolute"),
    "levels": lambda: made_for("count(1100)", loss="absolute"),
    "window": lambda: made_for("count(100000)", prior="poisson(30)", loss="absolute"),
    "unbounded": lambda: made_for("histogram(6000,4)", support="all", loss="absolute"),
    "stretched": lambda: made_for("sum(2000,3)", prior="uniform", loss="absolute"),
    "cosets": lambda: made_for(
        "median(4,48)",
        prior="uniform",
        loss="squared",
        route="cosets",
        gap=0.1,
        settings=LONG,
    ),
    "delta": lambda: prove_selection(1000, "ln(2)", "1e-3"),
    "shown": lambda: prove_shown_count(1000, 1, "1e-3"),
    "sharpened": finer,
    "limit": lambda: prove(
        design_limited(
            "cycle(6)", Consumer.of(Cycle(6)), epsilon=1, max_vulnerability=0.3
        )
    ),
    "radial": lambda: made_for("databases(6,4)", loss="binary"),
    "scores": lambda: by_score("quantile(1/2,121)", 1),
    "tuples": lambda: by_score("quantiles(1/4,3/4,121,999)", 1),
}


def three_outputs():
    consumer = Consumer.of(PathPower(2), loss=[[0, 1, 0.25], [1, 0, 0.25]])
    weights = IntegerChannel([[4, 2, 2], [2, 4, 2]])
    return certify(weights, "path(2)", "ln(2)", consumer=consumer, guess_of=[1, 0, 2])


def own_graph():
    graph = ExplicitGraph([(0, 1), (1, 2), (0, 2)], lengths=[1, 2, 2.5])
    consumer = Consumer.of(graph, loss="distance")
    return certify(Channel(np.full((3, 3), 1 / 3)), graph, 1, consumer=consumer)


def own_square():
    graph = ExplicitGraph(
        [(0, 1), (1, 2), (2, 3), (0, 3)], labels=[(0, 0), (0, 1), (1, 1), (1, 0)]
    )
    consumer = Consumer.of(graph, loss="absolute")
    return certify(Channel(np.full((4, 4), 1 / 4)), graph, 1, consumer=consumer)


def absolute():
    consumer = Consumer.of(PathPower(6), prior="binomial(.4)", loss="absolute")
    return certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)", consumer=consumer)


#: Files without a certificate: no consumer, a prior, a loss and a graph of one's own.
UNPROVED = {
    "plain": lambda: certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)"),
    "absolute": absolute,
    "three": three_outputs,
    "own": own_graph,
    "square": own_square,
}
