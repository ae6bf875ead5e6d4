"""Every refusal of the judge has a file, or a call, that makes it fire.

The sites are read off the syntax trees, and which of them fired is read off the stack when the
judge refuses: a check without its negative twin is named by the last tests of this file.
"""

import ast
import hashlib
import json
import re
import sys
import tempfile
import zlib
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.every_kind import FILES, UNPROVED, made_for
from tests.forged import nodes_of, unpack

from tightrope.certify import judge, verify
from tightrope.certify.kernel import format as file_format, verdict
from tightrope.certify.kernel.duals import MultiplierKind
from tightrope.certify.make import encode
from tightrope.certify.theorems import phi, unbounded, window
from tightrope.lattices import Lattice

# -- files that the judge accepts ----------------------------------------------------------


VALID = (
    FILES
    | UNPROVED
    | {
        "grid": lambda: made_for("grid(3,3)", loss="binary"),
        "envelope": lambda: made_for(
            "star(4)", "ln(3)", prior=[0.02, 0.47, 0.02, 0.47, 0.02]
        ),
        "cube": lambda: made_for("counts(6000,3)", support="all", loss="absolute"),
    }
)


@cache
def valid(name):
    """Return the mechanism, its header and its sections."""
    mechanism = VALID[name]()
    return mechanism, *unpack(mechanism)


def edited(name, fields=(), **sections):
    """Return how a valid file is made with fields, by their paths, and sections changed.

    A function is applied to what the valid file has; a section ``None`` is dropped.
    """

    def make():
        mechanism, header, arrays = valid(name)
        header = json.loads(json.dumps(header))
        for path, value in dict(fields).items():
            *outer, last = path.split(".")
            place = header
            for key in outer:
                place = place[key]
            place[last] = value(place[last]) if callable(value) else value
        parts = dict(arrays)
        for part, new in sections.items():
            parts[part] = new(arrays[part].copy()) if callable(new) else new
        parts = {
            part: np.asarray(new) for part, new in parts.items() if new is not None
        }
        return encode(header, parts, nodes_of(mechanism))

    return make


def entry(place, value):
    """Return a function that changes one number of a section."""

    def change(numbers):
        numbers = numbers.astype(object)
        numbers[place] = value
        return numbers

    return change


# -- bytes that are no file ----------------------------------------------------------------


def rewritten(change, body=None):
    """Return how the plain file is made with another header, or other bytes behind it."""

    def make():
        data = valid("plain")[0].to_bytes()
        start = 16 + int.from_bytes(data[12:16], "little")
        text = change(data[16:start])
        rest = data[start:-32] if body is None else body
        data = data[:12] + len(text).to_bytes(4, "little") + text + rest
        return data + hashlib.sha256(data).digest()

    return make


def described(body=None, times=1, fields=(), **changes):
    """Return how the plain file is made with its section of weights described otherwise."""

    def change(text):
        header = json.loads(text) | dict(fields)
        header["sections"] = [header["sections"][0] | changes] * times
        return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()

    return rewritten(change, body)


def cut(change):
    """Return how the bytes of the plain file are changed."""
    return lambda: change(valid("plain")[0].to_bytes())


SHORT = zlib.compress(bytes(1000))
WIDE_CLAIM = {
    "query": f"path({1 << 20})",
    "outputs": ["x"],
    "weights": {"kind": "dense", "bits": 62, "outputs": 1},
}

#: What the judge says, and how the bytes are made that it says it of.
BYTES = [
    ("it is only 4 bytes long", cut(lambda data: data[:4])),
    ("it does not start with its mark", cut(lambda data: b"x" + data[1:])),
    ("unknown version", cut(lambda data: data[:10] + b"xx" + data[12:])),
    (
        "the header is longer than the file allows",
        cut(lambda data: data[:12] + b"\xff" * 4 + data[16:]),
    ),
    ("truncated: 1 bytes are missing", cut(lambda data: data[:-1])),
    ("has 1 bytes too many", cut(lambda data: data + b"x")),
    ("digest: the bytes have", cut(lambda data: data[:-1] + bytes([data[-1] ^ 1]))),
    ("not JSON of whole numbers", rewritten(lambda text: b"{]")),
    ("not in canonical form", rewritten(lambda text: text + b" ")),
    ("integers have 8, 16, … 64 bytes", described(width=12)),
    ("'weights' comes twice", described(times=2)),
    ("'weights' is missing", edited("plain", weights=None)),
    ("'prior' has no meaning", edited("plain", prior=[1] * 6)),
    ("must have 36 numbers", edited("plain", weights=lambda old: old[:-1])),
    ("must have 36 numbers", edited("plain", weights=lambda old: np.append(old, 0))),
    ("integers of 'weights' have 8 bytes", edited("plain", weights=entry(0, 1 << 90))),
    ("too few or many chunks", described(b"x" * 30, bytes=[15, 15])),
    ("is damaged", described(b"x" * 30, bytes=[30])),
    ("does not hold what it claims", described(SHORT, bytes=[len(SHORT)])),
    ("has numbers out of range", edited("plain", weights=entry(0, -1))),
    (
        "cannot hold what it claims",
        described(SHORT, fields=WIDE_CLAIM, count=1 << 20, bytes=[len(SHORT)]),
    ),
]

OWN = {"nodes": 6, "labels": None, "edges": 5, "lengths": ["1"]}
BINARY = {"prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "binary"}}
BINARY |= {"remapped": False}
LINE = {"kind": "line", "bits": 60}


def outputs(*labels):
    return edited("plain", {"outputs": list(labels)})


HEADERS = [
    ("header.query must be a short text", edited("plain", {"query": 5})),
    ("must be an exact number such as", edited("plain", {"ratios": ["x"]})),
    ("header.ratios[0] must be in lowest terms", edited("plain", {"ratios": ["4/2"]})),
    ("must be larger than 0", edited("plain", {"epsilon.multiple": "-1"})),
    ("header.ratios must be a list of", edited("plain", {"ratios": []})),
    ("header.epsilon must be an object", edited("plain", {"epsilon": 1})),
    ("header.more is unknown", edited("plain", {"more": 1})),
    ("header.weights.kind is unknown", edited("plain", {"weights.kind": "x"})),
    ("is too deep or too long", outputs([[[[1]]]])),
    ("is a whole number: write it as one", outputs({"fraction": "2"})),
    ("is no finite float", outputs({"float": "inf"})),
    ("is too long, or no text", outputs("x" * 1001)),
    ("is no label", outputs({})),
    ("is too large", outputs(1 << 200)),
    ("one of the two", edited("plain", {"graph": OWN})),
    ("one ratio for each edge length", edited("plain", {"ratios": ["2", "2"]})),
    ("lengths are 1 and then", edited("own", {"graph.lengths": ["1", "3", "2"]})),
    ("lengths are 1 and then", edited("own", {"graph.lengths": ["2", "3", "5"]})),
    ("a loss belongs to a consumer", edited("plain", {"expected_loss": "1"})),
    ("a bound belongs to a certificate", edited("plain", {"bound": "1"})),
    (
        "needs the consumer whose loss it is about",
        edited("plain", {"certificate": LINE, "bound": "1"}),
    ),
    (
        "noise on a lattice has certificates of its own",
        edited(
            "absolute",
            {"certificate": {"kind": "unbounded", "slope": "1/2"}, "bound": "0"},
        ),
    ),
    ("the consumer needs a prior", edited("line", {"consumer.prior": None})),
    ("ε must be between", edited("plain", {"epsilon.multiple": "1000"})),
    ("ε must be between", edited("plain", {"epsilon.multiple": f"1/{10**13}"})),
    ("ratio: 3 is not in 1 … exp(ε·1)", edited("plain", {"ratios": ["3"]})),
    ("ratio: 1/2 is not in", edited("plain", {"ratios": ["1/2"]})),
]

GRAPHS = [
    (
        "an edge must be i < h",
        edited("own", edges=lambda old: old.reshape(3, 2)[:, ::-1]),
    ),
    ("in increasing order", edited("own", edges=lambda old: old.reshape(3, 2)[::-1])),
    (
        "the graph is not connected",
        edited("square", {"graph.edges": 2}, edges=[0, 1, 2, 3]),
    ),
    ("no edge has one of the lengths", edited("own", edge_lengths=[0, 1, 1])),
    (
        "too many digits to add up distances",
        edited("own", {"graph.lengths": ["1", f"{2**71 + 1}/{2**70}", "5/2"]}),
    ),
    (
        "too many digits to add up distances",
        edited("own", {"graph.lengths": ["1", "2", str(1 << 60)]}),
    ),
    ("are named, not 6", outputs(0, 1, 2)),
    ("two outputs have the same name", outputs(0, 1, 2, 3, 4, 4)),
    (
        "1000 outputs have one hash",
        edited(
            "plain",
            {
                "outputs": [k * ((1 << 61) - 1) for k in range(1000)],
                "weights.outputs": 1000,
            },
            weights=np.zeros(6000, np.int64),
        ),
    ),
    (
        "absolute and squared loss need answers that are numbers",
        edited("square", {"graph.labels": ["a", "b", "c", "d"]}),
    ),
    (
        "answers must be tuples of one length",
        edited("square", {"graph.labels": [[0, 0], [0, 1], [1, 1], 1]}),
    ),
    (
        "no common denominator of less than 512 bits",
        edited(
            "square",
            {
                "graph.labels": [
                    0,
                    *({"fraction": f"1/{3**200 + k}"} for k in (0, 1, 2)),
                ]
            },
        ),
    ),
    (
        "certificate: this is no tree",
        edited(
            "multipliers",
            {"certificate": {"kind": "tree", "bits": 60, "weight": None}},
            places=[0] * 5,
            arc_guess=None,
            arc_from=None,
            arc_to=None,
            arc_value=None,
        ),
    ),
]

CONSUMERS = [
    (
        "an output has no guess",
        edited(
            "three",
            {"consumer.loss": {"kind": "binary"}, "consumer.remapped": False},
            loss=None,
            guess_of=None,
        ),
    ),
    ("has another name", edited("absolute", {"outputs": [5, 4, 3, 2, 1, 0]})),
    ("a possible answer is listed twice", edited("support", support=[0, 0])),
    (
        "the prior has weight on impossible answers",
        edited("support", prior=lambda old: np.roll(old, 1)),
    ),
    ("the prior does not sum to 1", edited("absolute", prior=entry(0, 0))),
    (
        "loss: the weights have",
        edited("absolute", {"expected_loss": "1/2"}),
    ),
    ("bound: what is proved is", edited("line", {"bound": "1/2"})),
    ("outputs without names are the answers", edited("three", {"outputs": None})),
]

BARE = dict.fromkeys(("consumer", "expected_loss", "certificate", "bound"))


def levels(fields=(), **sections):
    """Return how weights by levels are made, without a consumer, and changed."""
    return edited("levels", BARE | dict(fields), prices=None, places=None, **sections)


def percent(share):
    """Return a function that scales a section, exactly."""
    return lambda numbers: numbers.astype(object) * share // 100


EVERYONE = {
    "prior": None,
    "support": {"kind": "all"},
    "loss": {"kind": "absolute"},
    "remapped": False,
}

ONE_COLUMN = {"outputs": ["x"], "weights.outputs": 1}
FLAT_CUBE = {"kind": "levels", "bits": 100, "levels": [1], "steps": [1, 1], "rest": 0}
WEIGHTS = [
    (
        "privacy: output 0 weighs",
        edited("plain", weights=np.eye(6, dtype=np.int64) << 62),
    ),
    (
        "total: row 0 sums to",
        edited("plain", weights=np.full(36, 1 << 59)),
    ),
    (
        "a sum of people who come and go needs a window here",
        edited(
            "plain",
            ONE_COLUMN | {"query": "sum(2000,3)", "neighbours": "add-remove"},
            weights=np.ones(6001, np.int64),
        ),
    ),
    ("the levels must not rise", levels({"weights.levels": lambda old: old[::-1]})),
    (
        "privacy: level 0 weighs",
        levels({"weights.levels": lambda old: [4 * old[0], *old[1:]]}),
    ),
    # Privacy of the column of the rest: every level is sound, half the factors are lowered 1 %.
    (
        "privacy: missing to 2^",
        levels(factors=lambda old: np.append(percent(99)(old[:550]), old[550:])),
    ),
    ("more than 2^", levels(factors=percent(101))),
    ("levels need a box", levels({"query": "cycle(1101)"})),
    ("one step for each side", levels({"weights.steps": [1, 1]})),
    ("the output of the rest does not exist", levels({"weights.rest": 1101})),
    (
        "levels must fall, each by less than 2^124",
        levels({"weights.levels": [1 << 130, 1]}),
    ),
    (
        "the factors are too large",
        levels(
            {"query": "counts(3,2)", "weights": FLAT_CUBE},
            factors=np.full(16, 1 << 61),
        ),
    ),
    ("a ring or a Hamming graph", edited("radial", {"query": "path(4096)"})),
    (
        "total: every row sums to",
        edited("radial", {"weights.bits": lambda old: old + 1}),
    ),
    ("neither lists nor a consumer", edited("scores", {"outputs": [1]})),
    ("is not known as a question by scores", edited("scores", {"query": "count(5)"})),
    ("one row each is not written out", edited("scores", {"query": "commonest(5,1)"})),
    ("values are more than 2^20", edited("scores", {"query": "commonest(2000000)"})),
    ("below 1 and in lowest terms", edited("scores", {"query": "quantile(2/4,5)"})),
    ("below 1 and in lowest terms", edited("scores", {"query": "quantile(3/2,5)"})),
    ("tuples have a question, and neither", edited("tuples", {"outputs": [1]})),
    ("a question about a tuple of values", edited("tuples", {"query": "count(5)"})),
    ("2000000 values are", edited("tuples", {"query": "bracket(1/2,2000000,1,1)"})),
    ("one row each is not", edited("tuples", {"query": "bracket(1/2,5,1,1,1)"})),
    ("rising and below 1", edited("tuples", {"query": "quantiles(1/2,1/4,5,9)"})),
    (
        "more than 20 ranks",
        edited(
            "tuples",
            {"query": f"quantiles({','.join(f'{k}/23' for k in range(1, 23))},5,9)"},
        ),
    ),
    (
        "multiples of 1/10000",
        edited("tuples", {"query": "quantiles(1/9973,1/9967,5,9)"}),
    ),
    ("δ < 1 goes with", edited("delta", {"delta": "1"})),
    ("δ < 1 goes with", edited("levels", {"delta": "1/2"})),
    ("δ is for answers in a row", edited("multipliers", {"delta": "1/1000"})),
    ("beyond δ", edited("delta", {"delta": f"1/{10**6}"})),
    ("a question and a δ, and no list", edited("shown", {"delta": None})),
    ("a question and a δ, and no list", edited("shown", {"outputs": [1]})),
    ("has answers in a row", edited("shown", {"query": "cycle(7)"})),
    ("the level of no noise does not exist", edited("shown", {"weights.zero": 99})),
    ("total: the levels sum to", edited("shown", {"weights.bits": lambda b: b + 1})),
    ("levels exceed by", edited("shown", {"delta": f"1/{10**6}"})),
    (
        "a pair of outputs has no consumer",
        edited("sharpened", {"consumer": EVERYONE, "expected_loss": "1"}),
    ),
    (
        "a line with steps of 1",
        edited(
            "sharpened", {"query": "sum(1000,3)", "weights.start": lambda w: w // 8}
        ),
    ),
    ("ratio must be larger than 1", edited("sharpened", {"weights.coarse.ratio": "1"})),
    ("at least the bits", edited("sharpened", {"weights.coarse.bits": 4000})),
    (
        "has too few bits",
        edited("sharpened", {"weights.coarse.bits": 30, "weights.coarse.start": 1}),
    ),
    ("has more than the coarse", edited("sharpened", {"weights.coarse.ratio": "3"})),
    # Just before the finer noise has more than the coarse one, hardly anything is left over.
    (
        "what is left over exceeds",
        edited(
            "sharpened",
            {
                "weights.coarse.start": lambda w: (
                    w * 501098313436923051 // 562949953421312000
                )
            },
        ),
    ),
]

POISSON = {"kind": "poisson", "number": "30"}
WINDOWS = [
    (
        "a window is for weights of single answers",
        edited("unbounded", {"window": {"start": 0, "size": 5}}),
    ),
    (
        "belongs to a question with a name",
        edited("own", {"window": {"start": 0, "size": 2}}),
    ),
    (
        "a prior of its own and a loss with a name",
        edited("line", {"window": {"start": 0, "size": 2}}),
    ),
    (
        "a prior by its name lies in a window",
        edited("absolute", {"consumer.prior": POISSON}, prior=None),
    ),
    (
        "a window must be a part of a line of answers",
        edited("window", {"window.start": 99_990}),
    ),
    (
        "a window of listed answers needs all edges of a line",
        edited(
            "window",
            {
                "query": "sum(40,3)",
                "neighbours": "add-remove",
                "window.start": 60,
            },
        ),
    ),
    (
        "the geometric prior needs a number between 0 and 1",
        edited("window", {"consumer.prior": {"kind": "geometric", "number": "2"}}),
    ),
    # Its largest value lies far behind the window; the window is too small for it.
    (
        "the prior does not lie in the window",
        edited("window", {"consumer.prior.number": str(10**18)}),
    ),
    (
        "the prior does not lie in the window",
        edited("window", {"consumer.prior.number": "50"}),
    ),
]

GUESSER = {"kind": "listed", "actions": 1, "denominator": 1}
LIMITS = [
    (
        "the weight of a limit belongs to a limit",
        edited("limit", {"certificate.weight": None}),
    ),
    ("a limit is for a prior", edited("limit", {"consumer.support": {"kind": "all"}})),
    (
        "an attacker who can gain nothing limits nothing",
        edited("limit", {"limit.attacker": GUESSER}, attack=[0] * 6, choices=[0] * 6),
    ),
    ("limit: an attacker gains", edited("limit", {"limit.vulnerability": "1/3"})),
    (
        "limit: the vulnerability passes it by",
        edited("limit", {"limit.most": "1/10"}),
    ),
    (
        "the choices at guess 0 do not sum to their weight",
        edited("limit", choices=entry(0, 1)),
    ),
]

NO_ARCS = dict.fromkeys(("arc_guess", "arc_from", "arc_to", "arc_value"))
STAIRS = {"certificate": {"kind": "stairs", "bits": 60}}
CERTIFICATES = [
    (
        "certificate: guess 1 is not priced at answer 0",
        edited("line", prices=entry(0, 1 << 60)),
    ),
    (
        "multipliers must be sorted by guess",
        edited("multipliers", arc_guess=lambda old: old[::-1]),
    ),
    (
        "a multiplier joins answers that are no neighbours",
        edited("multipliers", arc_to=lambda old: (old + 1) % 5),
    ),
    (
        "certificate: a multiplier joins answers that are no neighbours",
        edited("cosets", arc_to=lambda old: 96 - old),
    ),
    (
        "certificate: a multiplier leaves the coset of its guess",
        edited("cosets", arc_to=lambda old: np.maximum(old, 1) - 1),
    ),
    (
        "cosets are for numbers in even steps",
        edited(
            "multipliers",
            {
                "certificate": lambda old: (
                    {"kind": "cosets", "stride": 2}
                    | {key: old[key] for key in ("bits", "arcs")}
                )
            },
        ),
    ),
    ("too wide for a line", edited("line", prices=entry(0, 1 << 500))),
    ("a cut lies behind the last guess", edited("line", places=[7] * 6)),
    (
        "a line needs a path and a loss by distance",
        edited("tree", {"certificate": LINE}, places=[0] * 4),
    ),
    (
        "an envelope is for binary loss",
        edited(
            "line",
            {"certificate": {"kind": "envelope", "bits": 60}},
            prices=None,
            places=None,
        ),
    ),
    (
        "phi is for binary loss",
        edited(
            "line",
            {"certificate": {"kind": "phi", "bits": 60, "constant": True}},
            prices=[0],
            places=None,
        ),
    ),
    (
        "stairs are for answers on a line",
        edited("multipliers", STAIRS, places=[0] * 10, **NO_ARCS),
    ),
    (
        "a core has no answers",
        edited("absolute", STAIRS | {"bound": "0"}, prices=[0] * 6, places=[1, 0] * 6),
    ),
]


def worst(loss):
    """Return the stated loss of noise on the line, where outputs are their own guesses."""
    return lambda _: str(
        unbounded.LatticeWeights(valid("stretched")[0]._file).worst(loss)
    )


OWN_GUESSES = {"consumer.remapped": False}
ENDS = {"kind": "stretched", "bits": 50, "ends": 3, "layers": 2, "stride": 1}
LATTICES = [
    (
        "a lattice belongs to a named question",
        edited("unbounded", {"query": None, "graph": OWN}),
    ),
    ("the outputs of a lattice are the answers", edited("unbounded", {"outputs": [1]})),
    ("only a line has a core", edited("unbounded", {"weights.core": 1})),
    ("the core must be less than", edited("stretched", {"weights.core": 3})),
    (
        "total: the layers weigh more",
        edited("unbounded", {"weights.start": lambda old: old * 10**6}),
    ),
    (
        "privacy: the first layers weigh",
        edited("unbounded", {"weights.start": lambda old: old // 4}),
    ),
    (
        "noise on a lattice has a worst loss",
        edited(
            "unbounded",
            {"consumer.support": {"kind": "listed", "count": 1}},
            support=[0],
        ),
    ),
    ("the slope must be below 1", edited("unbounded", {"certificate.slope": "2"})),
    ("is not the text of a question", edited("unbounded", {"query": "Count(5)"})),
    ("has no lattice that is known here", edited("unbounded", {"query": "choice(5)"})),
    (
        "the stride is longer than the largest step",
        edited("stretched", {"certificate.stride": 4}),
    ),
    (
        "guesses near the ends are for a uniform prior",
        edited(
            "stretched",
            {"consumer.prior": POISSON, "window": {"start": 11, "size": 60}},
        ),
    ),
    (
        "the guesses of the two ends overlap",
        edited(
            "stretched",
            {"certificate.ends": 4000},
            prices=[0] * 4000,
            places=[0] * 8000,
            guess_of=[0] * 4000,
        ),
    ),
    (
        "the prior reaches answers between which edges are missing",
        edited(
            "stretched",
            OWN_GUESSES
            | {
                "consumer.prior": POISSON,
                "window": {"start": 5990, "size": 60},
                "expected_loss": worst("absolute"),
            },
            guess_of=None,
        ),
    ),
    (
        "ends are those of a line",
        edited(
            "unbounded",
            {
                "certificate": ENDS,
                "consumer.support": None,
                "consumer.prior": {"kind": "uniform"},
            },
            prices=[0] * 3,
            places=[0] * 6,
        ),
    ),
    (
        "the ends are too close to each other",
        edited("stretched", {"certificate.layers": 1000}),
    ),
    ("there are too few layers", edited("stretched", prices=entry(0, 1 << 60))),
    ("a core is empty or too far", edited("stretched", places=entry(0, 5))),
    ("the prices are too wide", edited("stretched", {"certificate.bits": 60})),
    (
        "the stride does not divide the largest step",
        edited(
            "stretched",
            OWN_GUESSES
            | {
                "consumer.loss.kind": "distance",
                "certificate.stride": 2,
                "expected_loss": worst("distance"),
            },
            guess_of=None,
        ),
    ),
    (
        "guesses near the ends are not for distances",
        edited("stretched", {"consumer.loss.kind": "distance"}),
    ),
]

#: The same for questions that only the judge alone derives.
QUESTIONS = [
    (reason, edited("plain", {"query": text}))
    for reason, text in (
        ("count(9000000) is too large", "count(9000000)"),
        ("star(2000000) is too large", "star(2000000)"),
        ("tree(2,20) is too large", "tree(2,20)"),
        ("tree(100,5) is too large", "tree(100,5)"),
        ("is not known here, but to tightrope verify", "petersen"),
        ("hypercube(70) is too large", "hypercube(70)"),
        ("this histogram is too large", "histogram(1000,50)"),
    )
]


# -- calls, where no file gets there -------------------------------------------------------


def negative_multiplier():
    """An expander is not trusted: it might send a negative amount. The present one does not."""

    class Wrong(MultiplierKind):
        @classmethod
        def arcs_of(cls, consumer, prices):
            for start, end, value in super().arcs_of(consumer, prices):
                yield start, end, -value

    file = judge.File(valid("multipliers")[0].to_bytes())
    weights = judge.WEIGHTS["dense"].read(file, judge.question_graph)
    Wrong.lower_bound(weights.consumer())


def bound_above_the_loss():
    """No sound certificate proves this; one that is believed unchecked would."""
    prices = [1 << 59] * 7
    data = edited("line", {"bound": str(Fraction(7, 2))}, prices=prices)()
    with pytest.MonkeyPatch.context() as patch:
        proof = judge.CERTIFICATES["line"]
        patch.setattr(proof, "shortfalls", lambda consumer, prices: iter(()))
        return verify(data)


def large_file():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tightrope"
        with path.open("wb") as stream:
            stream.truncate((1 << 30) + 1)  # no byte of it is written
        return verify(path)


def no_grid_of_wide_steps():
    """Products of questions are of paths and cliques."""
    graph = judge.Graph("product", 16, ((4, 2), (4, 2)))
    phi._product_sums(graph, 1 << 61, np.ones(16, np.int64))


def flow(least, thin=None):
    """Losses rise with the distance and weights fall by γ: then both conditions hold."""
    lattice = Lattice("roots", 3, 100)
    powers, sizes = unbounded._powers(lattice, 1 << 60)
    powers = [1 if t == thin else weight for t, weight in enumerate(powers)]
    losses = [least(t) for t in range(len(sizes))]
    unbounded._check_flow(lattice, 1 << 60, powers, sizes, losses)


CALLS = [
    ("a multiplier is negative", negative_multiplier),
    ("is above what these weights have", bound_above_the_loss),
    ("at most 2^30 bytes", large_file),
    ("phi is for paths and cliques in a product", no_grid_of_wide_steps),
    ("layer 0 is short by more than there is", lambda: flow(lambda t: -t)),
    ("the flow out of layer 3 is too large", lambda: flow(lambda t: t, thin=3)),
    # A window that is cut out of the answers first never reaches beyond them.
    (
        "the prior reaches beyond the answers",
        lambda: window.named_prior("poisson", Fraction(3), 5, 0, 9),
    ),
]


# -- every site ----------------------------------------------------------------------------

FILE_CASES = BYTES + HEADERS + GRAPHS + CONSUMERS + WEIGHTS + WINDOWS + LIMITS
FILE_CASES += CERTIFICATES + LATTICES
#: A reason, and what prepares the run that ends in it.
CASES = [
    (reason, lambda make=make: partial(verify, make())) for reason, make in FILE_CASES
]
CASES += [
    (reason, lambda make=make: partial(judge.check, make()))
    for reason, make in QUESTIONS
]
CASES += [(reason, lambda call=call: call) for reason, call in CALLS]

ROOT = Path(str(files("tightrope") / "certify"))
SOURCES = [
    *(
        path
        for room in ("kernel", "expanders", "theorems")
        for path in (ROOT / room).glob("*.py")
    ),
    ROOT / "standalone.py",
]


def site_of(frame):
    """Return file and line of a refusal: where ``need`` or ``need_work`` was called."""
    own = (file_format.need.__code__, file_format.need_work.__code__)
    while frame.f_code in own:
        frame = frame.f_back
    return Path(frame.f_code.co_filename).resolve(), frame.f_lineno


@cache
def outcome(number):
    """Run a case; return the reasons and the sites that they come from."""
    run = CASES[number][1]()
    sites = []

    def noted(self, *words):
        sites.append(site_of(sys._getframe(1)))
        ValueError.__init__(self, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge.Refused, "__init__", noted, raising=False)
        try:
            reasons = run().reasons
        except judge.Refused as refused:
            reasons = (str(refused),)
    return reasons, sites


@pytest.mark.parametrize("name", VALID)
def test_the_files_that_are_changed_are_valid(name):
    assert not verify(valid(name)[0].to_bytes()).reasons


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda number: CASES[number][0]
)
def test_one_change_ends_in_its_reason(number):
    reasons, sites = outcome(number)
    assert len(sites) <= 1
    assert reasons
    assert CASES[number][0] in reasons[0]


@cache
def calls_of(*names):
    """Return the calls of some functions in the judge's sources: file, first and last line."""
    calls = []
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        own = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name in ("need", "need_work")
        ]
        skipped = {id(inner) for node in own for inner in ast.walk(node)}
        for node in ast.walk(tree):
            called = getattr(getattr(node, "func", None), "id", None)
            if called in names and id(node) not in skipped:
                calls.append((path.resolve(), node.lineno, node.end_lineno))
    return calls


def is_at(site, call):
    return call[0] == site[0] and call[1] <= site[1] <= call[2]


def without(sites, *names):
    """Return the calls in the sources at which none of the sites is."""
    return [
        f"{call[0].relative_to(ROOT.resolve())}:{call[1]}"
        for call in calls_of(*names)
        if not any(is_at(site, call) for site in sites)
    ]


def reasons_without(number, site):
    """Run a case with one check left out; return the reasons."""
    run = CASES[number][1]()
    need = file_format.need

    def lenient(holds, message):
        if site_of(sys._getframe(1)) != site:
            need(holds, message)

    with pytest.MonkeyPatch.context() as patch:
        for module in [*sys.modules.values()]:
            if getattr(module, "need", None) is need:
                patch.setattr(module, "need", lenient)
        try:
            return run().reasons
        except Exception:  # what comes behind a check may rely on it
            return ()


def test_a_check_that_is_left_out_is_noticed():
    """No other check gives the same reason."""
    tried = []
    for number, (reason, _) in enumerate(CASES[: len(FILE_CASES)]):
        reasons, sites = outcome(number)
        checks = [s for s in sites for call in calls_of("need") if is_at(s, call)]
        if checks and len(reasons) == 1:
            left = reasons_without(number, checks[0])
            tried.append((reason, any(reason in other for other in left)))
    assert [reason for reason, again in tried if again] == []
    assert len(tried) > 100


def test_every_refusal_has_a_case():
    fired = {site for number in range(len(CASES)) for site in outcome(number)[1]}
    assert without(fired, "need", "Refused") == []
    assert len(fired) > 100


def sentences():
    """Yield patterns of what is yielded, and not raised, about privacy and totals."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) and isinstance(
                node.values[0], ast.Constant
            ):
                pattern = "".join(
                    re.escape(part.value) if isinstance(part, ast.Constant) else ".*"
                    for part in node.values
                )
                if pattern.startswith(("privacy:", "total:")):
                    yield pattern


def test_every_sentence_about_privacy_and_totals_has_a_case():
    said = [reason for number in range(len(CASES)) for reason in outcome(number)[0]]
    patterns = [*sentences()]
    assert len(patterns) >= 9
    assert [p for p in patterns if not any(re.fullmatch(p, r) for r in said)] == []


# -- every piece of work -------------------------------------------------------------------

FLAT_LINE = {"kind": "levels", "bits": 62, "levels": [2, 1], "steps": [1], "rest": 0}
#: Files that need work which no file above needs.
WORK = [
    levels({"weights": FLAT_LINE}, factors=np.ones(1101, np.int64)),
    edited("radial", {"consumer.loss.kind": "distance"}),
    edited("plain", {"query": "histogram(3,3)"}),
]


class Charges(list):
    """What a judgement is charged, with the sites that charge it; spent at one of them."""

    def __init__(self, last=None):
        super().__init__([0.0])
        self.last = last
        self.sites = []

    def __setitem__(self, place, nanoseconds):
        site = site_of(sys._getframe(1))
        self.sites.append(site)
        super().__setitem__(place, np.inf if site == self.last else nanoseconds)


def charged(run, last=None):
    """Judge a file; return the sites that charged work, and the verdict."""
    charges = Charges(last)

    @contextmanager
    def one_judgement():
        token = file_format._charged.set(charges)
        try:
            yield charges
        finally:
            file_format._charged.reset(token)

    window.named_prior.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "one_judgement", one_judgement)
        report = run()
    return charges.sites, report


def test_every_piece_of_work_is_charged_before_it_starts():
    """A judgement whose budget is spent ends at the very piece that spent it."""
    runs = [partial(verify, edited(name)()) for name in VALID]
    runs += [partial(judge.check, make()) for make in WORK]
    runs += [prepare() for _, prepare in CASES[: -len(CALLS)]]
    reached = {}
    for run in runs:
        for site in charged(run)[0]:
            reached.setdefault(site, run)
    assert without(reached, "need_work") == []
    for site, run in reached.items():
        sites, report = charged(run, site)
        assert sites[-1] == site
        assert report.reasons[-1].startswith("too large: "), report.reasons


def test_what_zlib_can_hold_is_accepted():
    """Equal numbers shrink a thousandfold: the bound on what a section may claim allows that."""
    fields = ONE_COLUMN | {"query": "path(200000)", "weights.bits": 0}
    data = edited("plain", fields, weights=np.ones(200_000, np.int64))()
    (part,) = judge.File(data).header["sections"]
    assert 8 * part["count"] > 200 * sum(part["bytes"])
    assert not verify(data).reasons
