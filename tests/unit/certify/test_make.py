"""From designs to files: kinds, labels, lengths, refusals."""

from fractions import Fraction

import numpy as np
import pytest

import tightrope as tr
from tightrope.certify import Mechanism, Proof, certify, make, read, verify
from tightrope.certify.theorems.radial import sphere_sizes
from tightrope.channels import (
    Channel,
    GeometricChannel,
    IntegerChannel,
    ScaledPhi,
    rational,
)
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import Cycle, ExplicitGraph, PathPower, hypercube
from tightrope.mechanisms import tight_constraints

QUERIES = [
    "count(5)",
    "sum(4,3)",
    "counts(3,2)",
    "histogram(3,2)",
    "choice(6)",
    "databases(2,3)",
    "cycle(7)",
    "star(3)",
    "mean(3,2)",
    "median(3,2)",
    "tree(2,2)",
    "petersen",
]


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize("text", QUERIES)
def test_every_kind_of_query_under_every_relation(text, relation):
    query = tr.query(text, neighbours=relation)
    graph = query.graph
    far = np.exp(-0.5 * np.asarray(graph.distance_matrix(), float))
    channel = Channel(far / far.sum(axis=1, keepdims=True), outputs=graph.labels)
    made = certify(channel, query.text, "1", neighbours=relation)
    found = verify(made)
    assert found.reasons == ()
    assert found.private
    assert [made.input_label(i) for i in range(graph.size)] == graph.labels
    for i, label in enumerate(graph.labels):
        assert made.input_index(label) == i
        assert made.output_label(i) == label
    with pytest.raises(InputError, match="not an answer"):
        made.input_index("nobody")


def test_lengths_of_edges_have_their_own_ratios():
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 3], name="three")
    tight = rational(
        [["8/16", "4/16", "4/16"], ["4/16", "8/16", "4/16"], ["1/16", "1/16", "14/16"]]
    )
    made = certify(tight, graph, "ln(2)")
    assert made.header["ratios"] == ["2", "8"]
    assert made.header["graph"]["lengths"] == ["1", "3"]
    assert verify(made).private
    over = rational(
        [["8/16", "4/16", "4/16"], ["4/16", "8/16", "4/16"], ["1/32", "1/32", "30/32"]]
    )
    with pytest.raises(CheckFailed, match=r"not private .*row 1 as for row 2"):
        certify(over, graph, "ln(2)")


def test_integers_with_a_power_of_two_as_total_are_kept():
    made = certify(IntegerChannel([[3, 1], [1, 3]]), PathPower(2), "ln(3)")
    assert made.total == 4
    assert made.channel().weights.tolist() == [[3, 1], [1, 3]]
    wide = IntegerChannel([[3 << 100, 1 << 100], [1 << 100, 3 << 100]])
    assert certify(wide, PathPower(2), "ln(3)").row_weights(0).tolist() == [
        3 << 100,
        1 << 100,
    ]


def test_integers_with_another_total_are_rounded():
    made = certify(rational([["2/3", "1/3"], ["1/3", "2/3"]]), PathPower(2), "ln(2)")
    assert made.total == 2**62
    assert verify(made).private


def test_outputs_that_never_occur_are_left_out():
    never = Channel([[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]], outputs=["a", "b", "c"])
    made = certify(never, PathPower(2), "1")
    assert [made.output_label(o) for o in range(2)] == ["a", "c"]


def test_a_rule_from_a_thousand_answers_on():
    made = certify(GeometricChannel(10_001, "1", 5), "sum(2000,5)", "1")
    assert made.kind == "levels"
    assert len(made.to_bytes()) < 40_000
    assert verify(made).private
    wanted = GeometricChannel(10_001, "1", 5)
    for i in (0, 4321, 10_000):
        assert np.abs(made.channel().row(i) - wanted.row(i)).max() < 1e-12
    assert np.abs(made.channel().column(77) - wanted.column(77)).max() < 1e-12


def test_tight_constraints_by_rule_are_proved_optimal():
    graph = tr.query("sum(1000,3)").graph
    channel = tight_constraints(graph, "1.2")
    made = certify(
        channel,
        "sum(1000,3)",
        "1.2",
        consumer=Consumer.of(graph),
        certificate=Proof("phi", channel.scale / graph.size),
    )
    found = verify(made)
    assert found.reasons == ()
    assert found.optimal_within < 1e-10


def test_bundles_of_counts_by_rule(monkeypatch):
    monkeypatch.setattr(make, "RULE_FROM", 2)
    graph = tr.query("counts(9,2)").graph
    channel = tight_constraints(graph, "1.5")
    consumer = Consumer.of(graph)
    cover = Proof("phi", channel.scale / graph.size)
    made = certify(channel, "counts(9,2)", "1.5", consumer=consumer, certificate=cover)
    assert made.kind == "levels"
    assert made.input_label(37) == (3, 7)
    assert made.input_index((3, 7)) == 37
    assert verify(made).optimal_within < 1e-10


def test_large_graphs_without_a_rule_are_refused():
    size = 5001
    with pytest.raises(TooLarge, match="only mechanisms with a rule"):
        certify(GeometricChannel(size, "1", size - 1), Cycle(size), "1")


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("cycle(5001)", (1 - np.exp(-1)) / (1 + np.exp(-1))),
        ("cycle(1024)", (1 - np.exp(-1)) / (1 + np.exp(-1))),
        ("databases(5,4)", (1 / (1 + 3 * np.exp(-1))) ** 5),
        ("databases(6,4)", (1 / (1 + 3 * np.exp(-1))) ** 6),
    ],
)
def test_symmetric_graphs_by_rule(text, scale):
    """The exponential mechanism [B, (17)], proved optimal for the uniform prior."""
    graph = tr.query(text).graph
    made = certify(
        ScaledPhi(graph, "1", scale),
        text,
        "1",
        consumer=Consumer.of(graph),
        certificate=Proof("phi", np.full(graph.size, scale / graph.size)),
    )
    found = verify(made)
    assert made.kind == "radial"
    assert found.reasons == ()
    assert found.optimal_within < 1e-9
    assert len(made.to_bytes()) < 20_000
    for i in (0, 777):
        wanted = ScaledPhi(graph, "1", scale).row(i)
        assert np.abs(made.channel().row(i) - wanted).max() < 1e-12
        assert sum(made.row_weights(i).tolist()) == made.total
    assert made.input_index(graph.label(777)) == 777
    assert np.array_equal(made.graph.distances_from(77), graph.distances_from(77))
    assert tuple(sphere_sizes(made.graph)) == graph.ball_sizes(0)
    near = np.zeros(graph.size, bool)
    near[graph.neighbours(77)] = True
    nodes = np.arange(graph.size)
    assert np.array_equal(
        made.graph.ratio_of(np.full(graph.size, 77), nodes) >= 0, near
    )


def test_more_databases_than_can_be_listed():
    graph = tr.query("databases(20,4)").graph
    channel = ScaledPhi(graph, "ln(2)", 0.4**20)
    made = certify(channel, "databases(20,4)", "ln(2)")
    assert made.shape == (4**20, 4**20)
    assert verify(made).private
    assert len(made.to_bytes()) < 3_000
    with pytest.raises(InputError, match="too large"):
        made.row_weights(5)


def test_a_hypercube_is_listed():
    graph = hypercube(4)
    channel = ScaledPhi(graph, "ln(3)", (3 / 4) ** 4)
    assert verify(certify(channel, "hypercube(4)", "ln(3)")).private


def test_rows_and_answers_must_agree():
    with pytest.raises(InputError, match="one row for each of the 5 answers"):
        certify(GeometricChannel(4, 1), PathPower(5), 1)
    with pytest.raises(InputError, match="the consumer speaks of 3"):
        certify(
            GeometricChannel(4, 1), PathPower(4), 1, consumer=Consumer.of(PathPower(3))
        )


def test_a_query_that_means_another_graph_is_refused():
    with pytest.raises(InputError, match=r"10 answers of count\(9\)"):
        certify(GeometricChannel(4, 1), "count(9)", 1)


def test_the_same_design_has_the_same_bytes():
    first, second = (
        certify(GeometricChannel(6, "0.3"), PathPower(6), "0.3") for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.to_bytes() == second.to_bytes()


def test_files_are_written_whole_and_read_lazily(tmp_path):
    made = certify(GeometricChannel(6, "0.3"), "count(5)", "0.3")
    path = made.save(tmp_path / "count.tightrope")
    assert [p.name for p in tmp_path.iterdir()] == ["count.tightrope"]
    again = read(path)
    assert again.epsilon == tr.Epsilon.of("0.3")
    assert again.row_weights(2).tolist() == made.row_weights(2).tolist()
    assert tr.verify(path).private
    assert tr.verify(str(path)).digest == made.digest
    with pytest.raises(InputError, match="No such file"):
        made.save(tmp_path / "none" / "x.tightrope")
    with pytest.raises(InputError, match="0 … 5"):
        again.row_weights(6)


def test_a_damaged_file_is_refused_when_it_is_opened():
    with pytest.raises(InputError, match="not a mechanism file"):
        Mechanism(b"x" * 100)
    with pytest.raises(InputError, match="verify takes"):
        verify(5)


def test_small_epsilon_and_large_epsilon():
    for level in ("0.000001", "40"):
        made = certify(GeometricChannel(5, level), PathPower(5), level)
        assert verify(made).private
        assert made.moved < 1e-9


def test_the_gap_is_printed_as_a_float_that_is_not_too_small():
    found = verify(certify(GeometricChannel(3, 1), PathPower(3), 1))
    assert found.as_dict()["optimal_within"] is None
    assert "private: yes" in str(found)
    gap = Fraction(1, 3)
    shown = type(found)(True, optimal_within=gap).as_dict()["optimal_within"]
    assert gap <= Fraction(shown) < gap + Fraction(1, 10**15)
