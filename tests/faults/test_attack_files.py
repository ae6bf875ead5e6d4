"""Files that say what they are not: every attack ends in a refusal, within a minute and 2 GB."""

import io
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from tests.every_kind import FILES
from tests.forged import forged, nodes_of, unpack

from tightrope.certify import Mechanism, certify, judge, read, verify
from tightrope.certify.make import encode
from tightrope.certify.theorems.unbounded import unbounded_bound
from tightrope.channels import Channel, GeometricChannel, IntegerChannel, ScaledPhi
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import ExplicitGraph, PathPower
from tightrope.mechanisms import geometric
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.publish.facts import Facts, Table
from tightrope.publish.releasing import DeclaredQuestion, understand
from tightrope.queries import query


def own(nodes, edges, lengths=("1",), labels=None):
    return {"nodes": nodes, "labels": labels, "edges": edges, "lengths": list(lengths)}


@pytest.fixture(scope="module")
def count():
    return certify(GeometricChannel(51, "ln(2)"), "count(50)", "ln(2)")


@pytest.fixture(scope="module")
def proved():
    asked = query("count(6)")
    return prove(
        design(asked, "ln(2)", Consumer.of(asked.graph, loss="absolute")), asked
    )


# -- a file cannot name a question that it is not private for --------------------------------


def honest(nodes):
    """Weights that tell the truth nine times in ten."""
    return np.full((nodes, nodes), 1 << 50) + np.eye(nodes, dtype=np.int64) * (1 << 61)


def test_listed_edges_do_not_stand_beside_a_named_question(count):
    """Edges of length 60,000 made the truth private for count(50) at ε = 0.001."""
    edges = np.arange(50)[:, None] + [0, 1]
    found = verify(forged(count, {"graph": own(51, 50)}, edges=edges))
    assert found.reasons == (
        "a file names a question or holds a graph of its own, one of the two",
    )
    assert not found.private


def test_what_is_private_on_long_edges_names_no_question():
    edges = [(i, i + 1) for i in range(50)]
    graph = ExplicitGraph(edges, lengths=[60_000.0] * 50, name="count(50)")
    far = np.full((51, 51), 1e-12) + np.eye(51)
    made = certify(Channel(far / far.sum(axis=1, keepdims=True)), graph, "0.001")
    found = verify(made)
    assert (found.private, found.private_for_question) == (True, None)
    assert not made.is_named
    with pytest.raises(
        InputError,
        match=r"asks count\(50\) under change-one; the mechanism answers a graph",
    ):
        understand(
            made, "select count(*) from people", Facts({"people": Table("people", 50)})
        )
    assert verify(
        forged(
            made, {"query": "count(50)", "graph": None}, edges=None, edge_lengths=None
        )
    ).reasons


def test_a_graph_of_ones_own_is_that_of_a_declared_question(tmp_path):
    """By content: another file with the same graph will do, another graph will not."""
    told = {"query": tmp_path / "triangle.csv", "other": tmp_path / "path.csv"}
    told["query"].write_text("a,b\nb,c\na,c\n")
    told["other"].write_text("a,b\nb,c\n")
    asked = query(f"graph:{told['query']}")
    made = prove(design(asked, 1), asked)
    assert verify(made).private_for_question is None
    assert str(tmp_path).encode() not in made.to_bytes()
    facts = Facts({"people": Table("people", 9)})
    sql = "select count(*) from people"
    for name, sound in (("query", True), ("other", False)):
        declared = DeclaredQuestion(f"graph:{told[name]}", {"1": "a"}, "c")
        if sound:
            assert understand(made, sql, facts, declared=declared)
        else:
            with pytest.raises(
                InputError, match="the mechanism answers a graph of its own"
            ):
                understand(made, sql, facts, declared=declared)
    assert made.question.graph.index("c") == 2


@pytest.mark.parametrize(
    "text",
    [
        "count( 50)",
        "count(050)",
        "count(50 )",
        " count(50)",
        "COUNT(50)",
        "count(50)\n",
        "count(５0)",
        "sum(50,0000000001)",
        "points:/etc/group",
        "graph:/etc/group",
        "points:people.csv",
        "count",
        "nothing(50)",
        "count(99999999999999999999)",
        "x" * 5000,
    ],
)
def test_only_the_canonical_text_of_a_question_is_read(count, text, monkeypatch):
    def opened(name, *rest, **more):
        assert not str(name).endswith(("group", ".csv")), "a file was opened"
        return builtin(name, *rest, **more)

    builtin = io.open
    for place in ("builtins.open", "io.open"):
        monkeypatch.setattr(place, opened)
    data = forged(count, {"query": text})
    found = verify(data)
    assert not found.private
    assert found.reasons[0].startswith(("question", "header.query", "the section"))
    with pytest.raises(InputError):
        Mechanism(data)


@pytest.mark.parametrize(
    ("made_for", "relation", "told", "told_relation"),
    [
        ("path(51)", "change-one", "sum(10,5)", "change-one"),
        ("path(51)", "change-one", "sum(10,5)", "add-remove"),
        ("cycle(7)", "change-one", "sum(2,3)", "change-one"),
        ("count(5)", "change-one", "choice(6)", "change-one"),
        ("sum(10,5)", "add-remove", "sum(10,5)", "either"),
        ("histogram(3,3)", "add-remove", "histogram(3,3)", "either"),
        ("star(3)", "change-one", "clique(4)", "change-one"),
    ],
)
def test_a_question_with_more_neighbours_is_not_answered(
    made_for, relation, told, told_relation
):
    """The same answers, but weights that are private for fewer pairs."""
    asked = query(made_for, neighbours=relation)
    made = prove(design(asked, 2), asked)
    assert verify(made).private_for_question
    data = forged(made, {"query": told, "neighbours": told_relation})
    found = verify(data)
    assert not found.private
    assert found.private_for_question is False
    if asked.graph.size == query(told, neighbours=told_relation).graph.size:
        assert found.reasons[0].startswith(("privacy", "levels", "radial"))


def test_a_choice_called_a_count_is_not_optimal():
    """choice(6) as count(5), with the clique's edges in the file, was optimal at loss 0.714."""
    asked = query("choice(6)")
    made = prove(design(asked, "ln(2)"), asked)
    found = verify(forged(made, {"query": "count(5)"}))
    # Private for the clique is private for the path; nothing is optimal there at this loss.
    assert found.private_for_question
    assert found.optimal_within is None or found.optimal_within > Fraction(1, 10)


def test_labels_of_a_question_cannot_be_permuted(count):
    """Permuted labels let neighbours differ by 4 where 2 is allowed; now there is no such key."""
    for key, value in (("inputs", {"list": [0, 5, 1, 4, 2, 3]}), ("labels", [1, 0])):
        assert verify(forged(count, {key: value})).reasons == (
            f"header.{key} is unknown",
        )


def test_labels_of_ones_own_graph_are_different_answers():
    graph = ExplicitGraph([(0, 1), (1, 2)], labels=[4, "x", Fraction(1, 2)])
    made = certify(Channel(np.full((3, 3), 1 / 3)), graph, 1)
    for labels in (
        [4, {"fraction": "8/2"}, "x"],
        [1, True, 2],
        ["a", "a", "b"],
        [1, 1.0, 2],
        [1, 2],
    ):
        said = verify(forged(made, {"graph": own(3, 2, labels=labels)})).reasons[0]
        assert "labels" in said or said.startswith(
            "the header is not JSON of whole numbers"
        )


def test_sizes_beyond_all_bounds_are_refused():
    """2^62 answers had labels for 2^63."""
    made = certify(
        ScaledPhi(query("databases(20,4)").graph, "ln(2)", 0.4**20),
        "databases(20,4)",
        "ln(2)",
    )
    assert verify(made).private_for_question
    found = verify(forged(made, {"query": "databases(31,4)"}))
    assert found.reasons[0].startswith("total")
    assert verify(forged(made, {"query": "databases(999,4)"})).reasons


# -- no error prints the truth ---------------------------------------------------------------


def test_an_answer_outside_the_question_is_not_quoted(count):
    for truth in (51, -3, "north", (17,), 3.5):
        with pytest.raises(InputError) as failed:
            count.input_index(truth)
        assert str(failed.value) == "this is not an answer of count(50)"


def test_a_mechanism_file_does_not_open_other_files(count, tmp_path):
    for text in ("points:/etc/group", "graph:/etc/passwd"):
        path = tmp_path / "m.tightrope"
        path.write_bytes(forged(count, {"query": text}))
        with pytest.raises(InputError, match="question: ") as failed:
            read(path)
        assert "root:" not in str(failed.value)


# -- every word is checked -------------------------------------------------------------------


def changed(made, **changes):
    return {"consumer": made.header["consumer"] | changes}


def test_a_named_loss_has_no_list(proved):
    """An all-zero list was called absolute."""
    assert proved.header["consumer"]["loss"] == {"kind": "absolute"}
    zeros = np.zeros(49, np.int64)
    said = verify(forged(proved, loss=zeros)).reasons
    assert said == ("the section 'loss' has no meaning",)
    listed = {"kind": "listed", "denominator": 1, "guesses": 7}
    found = verify(forged(proved, changed(proved, loss=listed), loss=zeros))
    assert found.reasons[0].startswith("loss")
    assert found.consumer["loss"].startswith("listed: 49 numbers")


def test_what_was_judged_is_shown(proved):
    shown = verify(proved).as_dict()
    assert shown["question"] == {
        "query": "count(6)",
        "neighbours": "change-one",
        "epsilon": "ln(2)",
    }
    assert shown["consumer"] == {
        "kind": "Bayesian",
        "prior": "uniform",
        "support": None,
        "loss": "absolute",
        "guesses": 7,
    }
    asked = query("path(3)")
    for knows in ({"prior": [0.5, 0.25, 0.25]}, {"support": [0, 2]}):
        consumer = Consumer.of(asked.graph, loss=[[0, 1], [1, 0], [2, 2]], **knows)
        found = verify(prove(design(asked, 1, consumer), asked)).consumer
        assert found["loss"] == "listed: 0, 1, 2, 1, 0, 2"
        told = found["prior"] or found["support"]
        assert told == ("listed: 1/2, 1/4, 1/4" if "prior" in knows else "listed: 0, 2")


@pytest.mark.parametrize(
    "header",
    [
        {"format": "something else"},
        {"provenance": {}},
        {"sections_": []},
        {"consumer": None},
        {"expected_loss": None},
        {"bound": None},
        {"certificate": None},
        {"bound": "0.5"},
        {"bound": 0},
        {"expected_loss": "1.0"},
        {"expected_loss": "02"},
        {"certificate": {"kind": "line", "bits": 60, "by": "hand"}},
        {"certificate": {"kind": "line", "bits": None}},
        {"certificate": {"kind": "phi", "bits": 60, "constant": 1}},
        {"certificate": {"kind": "tree", "bits": 60, "weight": 3}},
    ],
    ids=str,
)
def test_nothing_is_said_that_is_not_checked(proved, header):
    found = verify(forged(proved, header))
    assert found.reasons
    assert found.optimal_within is None


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Bayesian"},
        {"loss_power": None},
        {"loss": {"kind": "cubic"}},
        {"loss": {"kind": "absolute", "power": 1}},
        {"loss": {"kind": "squared"}},
        {"loss": {"kind": "binary"}},
        {"loss": None},
        {"prior": None},
        {"prior": {"kind": "listed", "total": 7}},
        {"prior": {"kind": "binomial"}},
        {"support": {"kind": "all"}},
        {"remapped": None},
        {"remapped": True},
    ],
    ids=str,
)
def test_every_field_of_a_consumer_matters(proved, changes):
    found = verify(forged(proved, changed(proved, **changes)))
    assert found.reasons
    assert found.optimal_within is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a":NaN}',
        '{"a":1.5}',
        '{"a":1e3}',
        '{"a":Infinity}',
        '{"a":-Infinity}',
        '{"a":1,"a":1}',
    ],
)
def test_floats_and_keys_twice_are_refused(text):
    from tests.faults.test_hostile_mechanism_files import raw

    assert verify(raw(text)).reasons[0].startswith("the header is not")


@pytest.mark.parametrize(
    ("multiple", "base"),
    [
        ("1/1" + "0" * 100, None),
        ("501", None),
        ("1/3000000000", "100"),
        ("1" + "0" * 200, "1" + "0" * 200),
    ],
)
def test_levels_that_mean_nothing_end_in_a_report(count, multiple, base):
    found = verify(forged(count, {"epsilon": {"multiple": multiple, "base": base}}))
    assert found.reasons
    assert not found.private


def test_a_path_of_ones_own_is_read_back():
    graph = ExplicitGraph([(0, 1), (1, 2), (2, 3)], labels="abcd", name="letters")
    made = certify(GeometricChannel(4, 1), graph, 1)
    again = Mechanism(made.to_bytes())
    assert again.question.graph.agrees_with(graph)
    assert again.input_index("c") == 2
    assert again.answers(query(graph))


# -- no crash, and no work without a bound ---------------------------------------------------


def test_integers_of_the_wrong_width_are_refused(proved):
    """Sections of 16 bytes and more became indices and ended in a traceback."""
    graph = ExplicitGraph([(0, 1), (1, 2), (0, 2)], lengths=[1, 2, 2.5])
    consumer = Consumer.of(graph, support=[0, 2], loss=[[0, 1], [1, 0], [1, 1]])
    made = [proved, prove(design(graph, 1, consumer))]
    made.append(
        prove(
            design("cycle(5)", 1, Consumer.of(query("cycle(5)").graph, loss="distance"))
        )
    )
    three = Consumer.of(PathPower(2), loss=[[0, 1, 0.25], [1, 0, 0.25]])
    weights = IntegerChannel([[4, 2, 2], [2, 4, 2]])
    made.append(
        certify(weights, "path(2)", "ln(2)", consumer=three, guess_of=[1, 0, 2])
    )
    seen = set()
    for one in made:
        _, sections = unpack(one)
        for name, array in sections.items():
            wide = array.astype(object)
            wide[0] = int(wide[0]) + (1 << 200)
            found = verify(forged(one, **{name: wide}))
            assert found.reasons, name
            seen.add(name)
    assert {
        "edges",
        "edge_lengths",
        "support",
        "guess_of",
        "weights",
        "prior",
        "loss",
    } <= seen
    assert {"arc_from", "arc_to", "arc_guess", "arc_value", "prices", "places"} <= seen


@pytest.mark.parametrize("name", FILES)
def test_thousands_of_changed_fields_end_in_a_reason(name):
    """Every field replaced by every kind of value: a report, never an exception."""
    values = [
        None,
        True,
        0,
        -1,
        1 << 70,
        "",
        "x",
        "1/99999999977",  # a larger number may be a weaker statement that is true
        [],
        {},
        [1],
        {"kind": "binary"},
        1.5,
    ]
    made = FILES[name]()
    assert not verify(made).reasons
    nodes = nodes_of(made)
    header, sections = unpack(made)

    def places(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else ()
        for key, inner in items:
            yield from places(inner, (*path, key))

    # Whatever level is called no noise, the counts that are shown are as private.
    free = ("weights", "zero")
    tried = 0
    for path in places(header):
        for value in values if path else ():
            told = json.loads(json.dumps(header))
            inner = told
            for key in path[:-1]:
                inner = inner[key]
            if inner[path[-1]] == value or (path == free and value == 0):
                continue
            inner[path[-1]] = value
            assert verify(encode(told, sections, nodes)).reasons, (path, value)
            tried += 1
    assert tried > 150


BOUNDED = """
import resource, sys, time
import numpy as np
from contextlib import contextmanager
from fractions import Fraction
sys.path.insert(0, {root!r})
from tests.every_kind import FILES
from tests.forged import forged, nodes_of, unpack
from tightrope.certify import certify, verify
from tightrope.certify.kernel import verdict
from tightrope.certify.make import encode
from tightrope.channels import GeometricChannel

header, _ = unpack(certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)"))
{case}
blocks, opened = [], verdict.one_judgement
@contextmanager
def noted():
    with opened() as charged:
        blocks.append(charged)
        yield charged
verdict.one_judgement = noted
start = time.process_time()
found = verify(data)
seconds = time.process_time() - start
charged = sum(block[0] for block in blocks) / 1e9
print(len(data), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, charged)
print(found.reasons)
assert found.reasons or {sound}
"""

CASES = {
    "counts(1,20) by levels": (
        """
header["query"] = "counts(1,20)"
header["weights"] = {"kind": "levels", "bits": 62, "levels": [2, 1], "steps": [1] * 20, "rest": 0}
data = encode(header, {"factors": np.ones(1 << 20, np.int64)}, 1 << 20)
""",
        False,
    ),
    "ratios of 2,000 digits": (
        """
header["ratios"] = [str(Fraction(10**1999 + 1, 10**1999 - 1))]
header["epsilon"] = {"multiple": "1/64", "base": str(10**1999 + 1)}
data = encode(header, {"weights": np.zeros(36, np.int64)}, 6)
""",
        False,
    ),
    "ratios of 1,300 digits": (
        """
q, p = 10**1290 - 1, 10**1290 + 1
header["ratios"] = [str(Fraction(p, q))]
header["epsilon"] = {"multiple": "4095/64", "base": str(Fraction(10**209 + 1, 10**209))}
data = encode(header, {"weights": np.zeros(36, np.int64)}, 6)
""",
        False,
    ),
    "a graph of 600 with all but one edge and 65,536 outputs": (
        """
i, h = (part[1:] for part in np.triu_indices(600, 1))  # all but one edge
header |= {"query": None, "outputs": list(range(65536))}
header["graph"] = {"nodes": 600, "labels": None, "edges": len(i), "lengths": ["1"]}
header["weights"] = {"kind": "dense", "bits": 16, "outputs": 65536}
weights = np.ones(600 * 65536, np.int64)
data = encode(header, {"edges": np.stack([i, h], 1), "weights": weights}, 600)
""",
        False,
    ),
    "all distances of a path of 4,096": (
        """
n = 4096
edges = np.arange(n - 1)[:, None] + [0, 1]
edges = np.concatenate([edges, [[0, 2]]])
edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
header |= {"query": None, "outputs": ["x"]}
header["graph"] = {"nodes": n, "labels": None, "edges": n, "lengths": ["1"]}
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "binary"}, "remapped": False
}
header |= {"expected_loss": str(Fraction(n - 1, n)), "bound": "0"}
header["certificate"] = {"kind": "phi", "bits": 60, "constant": False}
prices = -(np.ones(n, np.int64) << 48)
data = encode(header, {"edges": edges, "weights": np.ones(n, np.int64), "prices": prices}, n)
""",
        False,
    ),
    "2^23 answers with absolute loss": (
        """
n = 1 << 23
header["query"] = f"count({n - 1})"
header["weights"] = {"kind": "levels", "bits": 62, "levels": [2, 1], "steps": [1], "rest": 0}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "absolute"}, "remapped": False
}
header["expected_loss"] = "1"
data = encode(header, {"factors": np.ones(n, np.int64)}, n)
""",
        False,
    ),
    "a tree of 4,096 answers": (
        """
n = 4096
header["query"] = f"path({n})"
header["weights"] = {"kind": "levels", "bits": 12, "levels": [1], "steps": [1], "rest": 0}
header["epsilon"], header["ratios"] = {"multiple": "40", "base": None}, ["1"]
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "absolute"}, "remapped": False
}
i = np.arange(n)
losses = i * (i + 1) // 2 + (n - 1 - i) * (n - i) // 2
header |= {"expected_loss": str(Fraction(int(losses.sum()), n * n)), "bound": "4"}
header["certificate"] = {"kind": "tree", "bits": 60, "weight": None}
prices = np.zeros(n, np.int64)
prices[0] = 1 << 62
sections = {"factors": np.ones(n, np.int64), "prices": prices, "places": np.full(n, n - 1)}
data = encode(header, sections, n)
""",
        False,
    ),
    "131,072 levels for a million answers": (
        """
n = 1 << 20
header["query"] = f"path({n})"
levels = [(1 << 20) - k for k in range(1 << 17)]
header["weights"] = {"kind": "levels", "bits": 100, "levels": levels, "steps": [1], "rest": 0}
data = encode(header, {"factors": np.ones(n, np.int64)}, n)
""",
        False,
    ),
    "16 million listed weights": (
        """
n = 4000
header["query"] = f"path({n})"
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 4000}
weights = np.zeros((n, n), np.int64)
weights[0] = 1
data = encode(header, {"weights": weights}, n)
""",
        True,
    ),
    "16 million listed weights and a wide ratio": (
        """
n = 4000
header["query"] = f"path({n})"
header["ratios"] = [str(Fraction(10**1200 + 1, 10**1200))]
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 4000}
weights = np.zeros((n, n), np.int64)
weights[0] = 1
data = encode(header, {"weights": weights}, n)
""",
        True,
    ),
    "distances on a ring of a million answers": (
        """
n = 1 << 20
edges = np.arange(n - 1)[:, None] + [0, 1]
edges = np.concatenate([edges[:1], [[0, n - 1]], edges[1:]])
header |= {"query": None, "outputs": [0]}
header["graph"] = {"nodes": n, "labels": None, "edges": n, "lengths": ["1"]}
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "distance"}, "remapped": False
}
header["expected_loss"] = "1"
data = encode(header, {"edges": edges, "weights": np.ones(n, np.int64)}, n)
""",
        False,
    ),
    "levels of 4,000 bits that hardly fall": (
        """
header["query"], header["ratios"] = "histogram(6000,8)", [str(Fraction(10001, 10000))]
header["weights"] = {"kind": "lattice", "bits": 4000, "start": 1 << 3990, "core": 0}
data = encode(header, {}, 1)
""",
        False,
    ),
    "labels and lengths of one hash": (
        """
n, prime = 1 << 17, (1 << 61) - 1
header |= {"query": None, "outputs": ["x"], "ratios": ["1"] * 20_001}
lengths = ["1", *(str(Fraction(3 * d + prime * 3, d)) for d in range(60_000, 40_000, -1))]
header["graph"] = {"nodes": n, "labels": [k * prime for k in range(n)], "edges": n - 1}
header["graph"]["lengths"] = lengths
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
edges, length = np.arange(1, n)[:, None] * [0, 1], np.arange(n - 1) % 20_001
data = encode(header, {"edges": edges, "edge_lengths": length, "weights": np.ones(n, np.int64)}, n)
""",
        False,
    ),
    "edge lengths without a common denominator": (
        """
n = 20_002
header |= {"query": None, "outputs": ["x"], "ratios": ["1"] * (n - 1)}
lengths = ["1", *(str(2 + Fraction(k, 10**50 + n - k)) for k in range(2, n))]
header["graph"] = {"nodes": n, "labels": None, "edges": n - 1, "lengths": lengths}
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "distance"}, "remapped": True
}
header["expected_loss"] = "1"
sections = {"edges": np.arange(1, n)[:, None] * [0, 1], "edge_lengths": np.arange(n - 1)}
data = encode(header, sections | {"weights": np.ones(n, int), "guess_of": np.zeros(1, int)}, n)
""",
        False,
    ),
    "squares on the lattice of 172 classes": (
        """
from tightrope.certify import Mechanism
from tightrope.consumers import Consumer
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query
asked = query("histogram(400,172)")
consumer = Consumer.of(asked.graph, support="all", loss="squared")
made = prove(design(asked, 1, consumer, route="unbounded"), asked)
header, _ = unpack(made)
header |= {"query": "histogram(20,172)", "expected_loss": "1"}
header["weights"] |= {"bits": 4000, "start": 1 << 3000}
data = encode(header, {}, 1)
""",
        False,
    ),
    "means of 920 people": (
        """
header |= {"query": "mean(920,4)", "neighbours": "either"}
data = encode(header, {"weights": np.ones(36, np.int64)}, 6)
""",
        False,
    ),
    "the gains of an attacker": (
        """
n, actions = 1 << 10, 1 << 14
header |= {"query": f"path({n})", "ratios": ["2"], "outputs": ["x"]}
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "binary"}, "remapped": True
}
attacker = {"kind": "listed", "actions": actions, "denominator": 1}
header["limit"] = {"limited": "loss", "most": "1", "vulnerability": "1", "attacker": attacker}
header["expected_loss"] = str(Fraction(n - 1, n))
sections = {"weights": np.ones(n, np.int64), "guess_of": np.zeros(1, np.int64)}
data = encode(header, sections | {"attack": np.ones(n * actions, np.int64)}, n)
""",
        False,
    ),
    "multipliers that are all 0": (
        """
arcs = 1 << 25
header["certificate"] = {"kind": "multipliers", "bits": 60, "arcs": arcs, "weight": None}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "binary"}, "remapped": False
}
header |= {"expected_loss": "1/3", "bound": "0"}
none = np.zeros(arcs, np.int64)
sections = {f"arc_{name}": none for name in ("guess", "from", "to", "value")}
weights = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)").row_weights
sections["weights"] = np.stack([weights(i) for i in range(6)], axis=1)
data = encode(header, sections | {"prices": np.zeros(6, np.int64)}, 6)
""",
        False,
    ),
    "sixteen counts of one person by 400 levels": (
        """
levels = [*range(400, 0, -1)]
header["query"] = "counts(1,16)"
header["weights"] = {"kind": "levels", "bits": 90, "levels": levels, "steps": [1] * 16, "rest": 0}
data = encode(header, {"factors": np.ones(1 << 16, np.int64)}, 1 << 16)
""",
        False,
    ),
    "the gains of an attacker on a tree": (
        """
n, actions, bits = 500, 530, 400
header |= {"query": f"path({n})", "ratios": ["2"], "outputs": ["x"], "bound": "0"}
header["weights"] = {"kind": "dense", "bits": 0, "outputs": 1}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "binary"}, "remapped": True
}
gain, unit = (1 << 510) - 3, (1 << 1023) - 1
attacker = {"kind": "listed", "actions": actions, "denominator": unit}
header["limit"] = {"limited": "loss", "most": "1", "attacker": attacker}
header["limit"]["vulnerability"] = str(Fraction(gain * n, unit))
header["expected_loss"] = str(Fraction(n - 1, n))
header["certificate"] = {"kind": "tree", "bits": bits, "weight": 0}
choices = np.full((n, actions), (1 << bits) // actions, object)
choices[:, 0] += (1 << bits) - choices.sum(axis=1)
sections = {"weights": np.ones(n, np.int64), "guess_of": np.zeros(1, np.int64)}
sections |= {"prices": np.zeros(n, np.int64), "places": np.zeros(n, np.int64)}
sections |= {"attack": np.full(n * actions, gain, object), "choices": choices.ravel()}
data = encode(header, sections, n)
""",
        False,
    ),
    "a clique of 200 with weights of 480 bits and a ratio of 1,290 digits": (
        """
n, outputs = 200, 550
header["query"], header["epsilon"] = f"clique({n})", {"multiple": "1", "base": None}
i, h = np.triu_indices(n, 1)
header |= {"query": None, "outputs": list(range(outputs))}
header["graph"] = {"nodes": n, "labels": None, "edges": len(i), "lengths": ["1", "2"]}
ratio = Fraction(10**1289 * 1001 // 1000 + 1, 10**1289 + 1)
header["ratios"] = [str(ratio)] * 2
header["weights"] = {"kind": "dense", "bits": 480, "outputs": outputs}
weights = np.full(n * outputs, (1 << 480) // outputs, object)
weights[:n] += (1 << 480) % outputs
length = np.arange(len(i)) % 2
sections = {"edges": np.stack([i, h], 1), "edge_lengths": length, "weights": weights}
data = encode(header, sections, n)
""",
        False,
    ),
    "what exceeds a ratio of 1,290 digits by δ": (
        """
n = 1000
ratio = Fraction(10**1289 * 1001 // 1000 + 1, 10**1289 + 1)
header |= {"query": f"path({n})", "ratios": [str(ratio)], "delta": "1/1000"}
header["epsilon"] = {"multiple": "1", "base": None}
header["weights"] = {"kind": "dense", "bits": 480, "outputs": n}
weights = np.full(n * n, (1 << 480) // n, object)
weights[:n] += (1 << 480) % n
data = encode(header, {"weights": weights}, n)
""",
        False,
    ),
    "two million levels of a ratio of 1,290 digits": (
        """
ratio = Fraction(10**1289 * 601 // 600 + 1, 10**1289 + 1)
layers = {"bits": 3960, "start": 1 << 3900}
header |= {"query": "count(10000000)", "ratios": [str(ratio)]}
header["epsilon"] = {"multiple": "1", "base": None}
header["weights"] = {"kind": "sharpened", "core": 0, "coarse": layers | {"ratio": str(ratio)}}
header["weights"] |= layers
data = encode(header, {}, 1)
""",
        False,
    ),
    "more answers than a machine can number": (
        """
header["query"] = "databases(31,4)"
header["weights"] = {"kind": "radial", "bits": 62, "levels": [1]}
header["consumer"] = {
    "prior": {"kind": "uniform"}, "support": None, "loss": {"kind": "distance"}, "remapped": False
}
header["expected_loss"] = "1"
data = encode(header, {}, 1)
""",
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_work_is_bounded_before_it_starts(name, request):
    """Files of up to a few MB that took minutes or gigabytes: 60 seconds of a core and 2 GB."""
    case, sound = CASES[name]
    code = BOUNDED.format(root=str(request.config.rootpath), case=case, sound=sound)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    size, seconds, memory, charged = map(float, done.stdout.split("\n")[0].split())
    assert size < 1 << 23
    assert seconds < 60, done.stdout
    assert memory < 2 << 20, done.stdout  # in KiB
    # Work that is not charged, or for too little, is what all such files were made of.
    assert seconds < 3 * charged + 3, done.stdout


def test_the_kernel_of_a_finer_draw_is_charged_by_the_length_of_its_ratio(count):
    """Squares of a ratio of 1,290 digits, 300,000 times."""
    ratio = str(Fraction(10**1289 * 1001 // 1000 + 1, 10**1289 + 1))
    layers = {"bits": 330, "start": 1 << 300}
    told = {"query": "count(10000000)", "ratios": [ratio], "outputs": None}
    told["epsilon"] = {"multiple": "1", "base": None}
    told["weights"] = {
        "kind": "sharpened",
        "core": 0,
        "coarse": layers | {"ratio": ratio},
    }
    told["weights"] |= layers
    said = verify(encode(unpack(count)[0] | told, {}, 1)).reasons
    assert said[0].startswith("too large: the kernel of a finer draw")


# -- certificates and windows where they mean nothing -------------------------------------------


@pytest.mark.parametrize(
    "proof",
    [
        {"kind": "unbounded", "slope": "1/2"},
        {"kind": "stretched", "bits": 10, "ends": 3, "layers": 2, "stride": 1},
    ],
)
def test_a_certificate_of_a_lattice_is_refused_elsewhere(proof):
    made = certify(
        GeometricChannel(6, 1), "count(5)", 1, consumer=Consumer.of(PathPower(6))
    )
    said = verify(forged(made, {"certificate": proof, "bound": "0"})).reasons
    assert said == ("noise on a lattice has certificates of its own",)


def test_a_window_on_a_lattice_is_refused():
    asked = query("count(100000)")
    made = prove(
        design(asked, 1, Consumer.of(asked.graph, support="all", loss="absolute")),
        asked,
    )
    assert made.kind == "lattice"
    said = verify(forged(made, {"window": {"start": 0, "size": 5}})).reasons
    assert said == (
        "a window is for weights of single answers, or for the prior of noise on a line",
    )


@pytest.mark.parametrize("text", ["count(1０0000)", "count(１00000)", "count(100000 )"])
def test_noise_on_a_lattice_names_the_canonical_text(text):
    """The lattice was read off digits of any alphabet."""
    asked = query("count(100000)")
    made = prove(
        design(asked, 1, Consumer.of(asked.graph, support="all", loss="absolute")),
        asked,
    )
    found = verify(forged(made, {"query": text}))
    assert not found.private
    assert found.reasons[0].startswith("question")


@pytest.mark.parametrize(
    "text", ["mean(0,5)", "cycle(1)", "cycle(2)", "cycle(0)", "count(0)"]
)
def test_questions_without_answers_end_in_a_reason(count, text):
    """Two of them ended in a traceback of the judge's own derivation."""
    header = unpack(count)[0] | {
        "query": text,
        "weights": {"kind": "dense", "bits": 0, "outputs": 1},
    }
    found = judge.check(encode(header, {"weights": np.ones(1, np.int64)}, 1))
    assert found.reasons[0].startswith("question")


def test_prices_out_of_reach_of_every_core_are_checked():
    """All cores at one end hid a price at the other: noise of loss 2.8 was optimal within 1e-15."""
    asked = query("sum(150,2)")
    noise, consumer = (
        geometric(asked.graph, "ln(2)"),
        Consumer.of(asked.graph, loss="absolute"),
    )
    made = certify(noise, asked, "ln(2)", consumer=consumer)
    prices = np.zeros(301, np.int64)
    prices[-1] = int(made.expected_loss * 2**50)
    told = {"certificate": {"kind": "stairs", "bits": 50}}
    told["bound"] = str(Fraction(int(prices[-1]), 1 << 50))
    found = verify(forged(made, told, prices=prices, places=np.zeros(602, np.int64)))
    assert found.reasons == ("certificate: guess 0 is not priced at answer 300",)
    assert found.optimal_within is None


def test_an_output_is_released_under_the_name_of_its_guess():
    """Outputs named in reverse had the loss of guesses that nobody would have made."""
    consumer = Consumer.of(PathPower(6), prior="binomial(.4)", loss="absolute")
    made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)", consumer=consumer)
    assert not made.header["consumer"]["remapped"]
    names = {"outputs": [5, 4, 3, 2, 1, 0]}
    said = verify(forged(made, names)).reasons
    assert said == ("labels: an output is its own guess and has another name",)
    told = forged(made, names | changed(made, remapped=True), guess_of=np.arange(6))
    assert not verify(told).reasons
    assert [Mechanism(told).guess(name) for name in names["outputs"]] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


def test_outputs_with_names_of_their_own_say_what_is_guessed():
    channel = Channel(
        GeometricChannel(3, 1).matrix(), outputs=["low", "middle", "high"]
    )
    made = certify(
        channel, "count(2)", 1, consumer=Consumer.of(PathPower(3), loss="absolute")
    )
    assert made.header["consumer"]["remapped"]
    assert [made.guess(name) for name in ("low", "middle", "high")] == [0, 1, 2]
    assert not verify(made).reasons


@pytest.mark.parametrize(
    "told", ["0x1p+9999", "0x1.0p+1024", "inf", "nan", "1.5", "", 5, None]
)
def test_labels_that_are_no_floats_end_in_a_reason(told):
    """A float beyond all bounds ended reading in a traceback."""
    graph = ExplicitGraph([(0, 1)], labels=[0.5, "x"])
    made = certify(Channel(np.full((2, 2), 1 / 2)), graph, 1)
    data = forged(made, {"graph": own(2, 1, labels=[{"float": told}, "x"])})
    assert verify(data).reasons == ("header.graph.labels[0] is no finite float",)
    with pytest.raises(InputError, match="no finite float"):
        Mechanism(data)


@pytest.mark.parametrize(
    "header", [{"query": "count(50)\nprivate: yes"}, {"x\nprivate: yes": 1}]
)
def test_a_file_writes_no_line_into_its_verdict(count, header):
    found = verify(forged(count, header))
    assert "private: yes" not in str(found).split("\n")
    assert str(found).split("\n").count("private: no") == 1


def test_a_lattice_of_more_points_than_can_be_printed():
    """What the layers lack had more digits than Python writes out."""
    made = prove(design("sum(2000,3)", 1))
    header = unpack(made)[0] | dict.fromkeys(
        ("consumer", "expected_loss", "certificate", "bound")
    )
    header |= {"query": "counts(99999999999999,1000)", "window": None}
    header["weights"] |= {"core": 0}
    said = verify(encode(header, {}, 1)).reasons
    assert said[0].startswith("total: the layers weigh more")


def test_ends_as_long_as_a_question_of_any_size():
    """Layers of 10^14 answers each ended in a traceback."""
    asked = query("sum(100000,5)")
    consumer = Consumer.of(asked.graph, prior="uniform", loss="absolute")
    header, sections = unpack(prove(design(asked, 1, consumer), asked))
    header |= {"query": "sum(99999999999999,99999999999999)"}
    header["certificate"] |= {"layers": 1 << 19}
    header["weights"] |= {"bits": 4000}
    contents = judge.Contents(header, sections)
    judged = judge.LatticeWeights(contents).consumer()
    with pytest.raises(judge.Refused, match="too large: the guesses near an end"):
        judge.proof_of(judged).lower_bound(judged)


@pytest.mark.parametrize(
    ("text", "relation"),
    [("histogram(2,1400)", "add-remove"), ("folded_cube(20)", "change-one")],
)
def test_questions_that_take_too_long_to_list_are_refused(count, text, relation):
    """They took minutes, or gigabytes, before anything else of the file was read."""
    found = verify(forged(count, {"query": text, "neighbours": relation}))
    assert found.reasons[0].startswith(("too large: listing", "question: the edges"))


@pytest.mark.parametrize("text", ["histogram(1,60000)", "histogram(8000000,8000000)"])
def test_the_judge_alone_lists_no_histogram_without_an_end(text):
    with pytest.raises(judge.Refused, match="too large"):
        judge.question_graph(text, "change-one")


def test_the_sizes_of_a_bound_on_many_counts_are_not_added_up_for_ever():
    lattice = judge.question_lattice("counts(99999999999999,100)", "change-one")
    with pytest.raises(judge.Refused, match="too large: the sizes of a bound"):
        unbounded_bound(lattice, "absolute", int(0.7 * 2**62))


def test_no_bound_is_above_what_the_weights_of_its_file_have(proved, monkeypatch):
    """Even if a kind of certificate were believed without a check."""
    told = proved.header["certificate"]
    prices = np.full(7, int(proved.expected_loss * 2 ** told["bits"]) // 7 + 1)
    bound = Fraction(int(prices.sum()), 1 << told["bits"])
    data = forged(proved, {"bound": str(bound)}, prices=prices)
    assert verify(data).reasons[0].startswith("certificate: guess")
    proof = judge.CERTIFICATES[told["kind"]]
    monkeypatch.setattr(proof, "shortfalls", lambda consumer, prices: iter(()))
    assert verify(data).reasons[0].endswith("is above what these weights have")
