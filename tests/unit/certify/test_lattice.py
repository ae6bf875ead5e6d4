"""The judge on noise without ends: known optima, privacy, and files that lie."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from operator import add, mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.forged import unpack

from tightrope.certify import Mechanism, judge_script, verify
from tightrope.certify.kernel.exponentials import level_bounds
from tightrope.certify.kernel.format import Contents, Refused
from tightrope.certify.make import Sections, encode
from tightrope.certify.theorems.levels import falling_levels
from tightrope.certify.theorems.stretched import line_loss
from tightrope.certify.theorems.unbounded import (
    LatticeWeights,
    _size_bound,
    ended_bound,
    question_lattice,
    rounded_down,
    unbounded_bound,
)
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.lattices import Lattice, LineFlow
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

TWO, THREE = Lattice("cube", 2, 9), Lattice("cube", 3, 9)
#: Worst losses of the best noise on unbounded questions, found by linear programs.
BEST = [
    (TWO, "1", "distance", 1.905274), (THREE, "1", "distance", 2.921178),
    (Lattice("roots", 3, 9), "1", "distance", 1.832264),
    (Lattice("roots", 4, 9), "1", "distance", 2.802859),
    (Lattice("roots", 4, 9), "2", "distance", 1.121509),
    (Lattice("line", 1, 9, 5), "1", "absolute", 4.786284299),
    (Lattice("line", 1, 9, 5), "1", "squared", 48.033680),
    (Lattice("line", 1, 9, 5), "1", "binary", 0.853367),
    (Lattice("line", 1, 9, 5), "2", "absolute", 2.077815499),
    (Lattice("line", 1, 9, 5), "2", "squared", 10.517424),
    (Lattice("line", 1, 9, 5), "2", "binary", 0.610163),
    (Lattice("line", 1, 9, 5), "0.5", "absolute", 9.889076),
    (Lattice("line", 1, 9, 5), "3", "absolute", 1.121512),
]  # fmt: skip
#: The same for noise that is private and not yet proved to be the best.
LOSSES = [
    ("counts(1000,2)", "1", "absolute", 2.857911), ("counts(1000,2)", "1", "squared", 7.805619),
    ("counts(1000,3)", "1", "absolute", 5.879199), ("counts(1000,3)", "1", "squared", 19.768801),
    ("histogram(6000,4)", "1", "squared", 16.116775),
    ("counts(1000,2)", "2", "absolute", 1.165038), ("counts(1000,3)", "2", "absolute", 2.737731),
]  # fmt: skip
CASES = [
    ("count(1000000)", "change-one", "absolute"), ("sum(20000,5)", "change-one", "squared"),
    ("sum(20000,5)", "add-remove", "absolute"), ("mean(9000,4)", "change-one", "squared"),
    ("counts(1000,3)", "change-one", "distance"), ("counts(1000,3)", "add-remove", "absolute"),
    ("histogram(6000,8)", "change-one", "absolute"), ("histogram(900,4)", "either", "squared"),
    ("histogram(900,4)", "add-remove", "squared"), ("histogram(900,4)", "either", "distance"),
]  # fmt: skip


def alpha(epsilon: str) -> int:
    return level_bounds(Fraction(epsilon), None, Fraction(1))[1]


def made(
    text: str, near: str = "change-one", loss: str = "distance", epsilon: Any = 1
) -> Mechanism:
    asked = query(text, near)
    consumer = Consumer.of(asked.graph, support="all", loss=loss)
    return prove(design(asked, epsilon, consumer, route="unbounded"), asked)


@pytest.mark.parametrize("text", ["histogram(1000,4)", "sum(1000000,5)"])
def test_levels_beyond_the_digits_of_the_judge_are_refused_in_one_line(text) -> None:
    with pytest.raises(InputError, match="for ε up to 42, got 45"):
        prove(design(text, 45))
    assert verify(prove(design(text, 42))).private


def test_few_people_at_the_largest_level_have_a_proof() -> None:
    """The bound with the ends has α times a slope, which is less than the judge's last digit."""
    judged = verify(made("histogram(30,3)", epsilon=42))
    assert judged.private
    assert judged.optimal_within is not None


@pytest.mark.parametrize(("lattice", "epsilon", "loss", "value"), BEST)
def test_known_optima(lattice: Lattice, epsilon: str, loss: str, value: float) -> None:
    assert float(unbounded_bound(lattice, loss, alpha(epsilon))) == pytest.approx(
        value, abs=6e-7
    )


@pytest.mark.parametrize(("text", "epsilon", "loss", "value"), LOSSES)
def test_known_losses(text: str, epsilon: str, loss: str, value: float) -> None:
    assert float(
        made(text, loss=loss, epsilon=epsilon).expected_loss or 0
    ) == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize(
    "text",
    [
        "count(9)",
        "sum(4,3)",
        "mean(4,3)",
        "counts(5,3)",
        "histogram(5,4)",
        "histogram(5,2)",
    ],
)
def test_the_judge_derives_the_lattice_that_the_graph_has(
    text: str, relation: str
) -> None:
    graph = query(text, relation).graph
    if graph.unbounded is None:
        with pytest.raises(Refused):
            question_lattice(text, relation)
        return
    mine, theirs = graph.unbounded, question_lattice(text, relation)
    assert theirs.nodes == graph.size
    # A bundle of one count lacks no edge, but is derived like the others.
    assert vars(theirs) == vars(mine)
    assert theirs.layers(30) == [theirs.layer(t) for t in range(30)]


def exact_worst(file: Mechanism) -> Fraction:
    """Return the worst expected distance over the answers, point by point."""
    noise, graph = file.noise, file.question.graph
    assert noise is not None
    assert graph.unbounded is not None
    lattice = replace(graph.unbounded, core=noise.lattice.core)
    place = {label: i for i, label in enumerate(graph.labels)}
    points = []
    for t in range(noise.reach):
        weight = noise.levels[t] - noise.levels[-1]
        if weight * noise.sizes[t] << 20 < noise.total:  # a millionth of all at most
            break
        for z in lattice.points(t, range(noise.sizes[t])).tolist():
            points.append((z, weight + noise.odd * (not any(z))))
    losses = []
    for i, label in enumerate(graph.labels):
        at = lattice.coordinates(label)
        row = graph.distances_from(i)
        held = ((lattice.clamped([*map(add, at, z)]), w) for z, w in points)
        losses.append(sum(int(row[place[y]]) * w for y, w in held))
    return Fraction(max(losses), file.total)


@pytest.mark.parametrize(
    ("text", "near", "tight"),
    [
        ("sum(20,5)", "add-remove", True), ("sum(6,2)", "add-remove", True),
        ("sum(9,3)", "either", True), ("count(30)", "add-remove", True),
        ("counts(10,2)", "add-remove", False), ("counts(4,3)", "add-remove", False),
        ("counts(9,1)", "add-remove", True), ("counts(10,2)", "change-one", True),
    ],
)  # fmt: skip
def test_the_worst_distance_is_no_less_than_that_of_any_answer(
    text: str, near: str, tight: bool
) -> None:
    """At the ends of a question under add-remove distances are longer than in the lattice."""
    file = made(text, near, epsilon=2)
    assert file.expected_loss is not None
    worst = exact_worst(file)
    assert worst <= file.expected_loss
    assert not tight or file.expected_loss < worst * (1 + Fraction(1, 1000))


@pytest.mark.parametrize("text", ["sum(20,5)", "counts(10,2)", "counts(4,3)"])
def test_the_distance_of_the_lattice_is_refused_where_edges_are_missing(
    text: str,
) -> None:
    """The loss that files once claimed is below that of an answer near the ends."""
    file = made(text, "add-remove", epsilon=2)
    noise = file.noise
    assert noise is not None
    whole = replace(noise.lattice, ends=False)
    excess = [level - noise.levels[-1] for level in noise.levels]
    lost = sum(map(mul, whole.loss_sums("distance", noise.reach), excess))
    lost += noise.floor * whole.largest("distance", noise.reach)
    claimed = Fraction(lost, file.total)
    assert claimed < exact_worst(file)
    told = {name: part for name, part in file.header.items() if name != "sections"}
    verdict = verify(encode(told | {"expected_loss": str(claimed)}, Sections(), 1))
    assert verdict.reasons[0].startswith("loss: the weights have")


@pytest.mark.parametrize(("text", "near", "loss"), CASES)
def test_files_are_small_private_and_prove_what_the_design_claims(
    text: str, near: str, loss: str
) -> None:
    asked = query(text, near)
    consumer = Consumer.of(asked.graph, support="all", loss=loss)
    found = design(asked, 1, consumer, route="unbounded")
    file = prove(found, asked)
    verdict = verify(file)
    assert verdict
    assert verdict.private_for_question
    assert len(file.to_bytes()) < 2000
    assert verdict.optimal_within is not None
    assert verdict.unbounded_within is not None
    assert float(file.expected_loss or 0) == pytest.approx(
        found.expected_loss, rel=1e-9
    )
    assert float(file.bound or 0) == pytest.approx(found.bound, rel=1e-4)
    best = (file.expected_loss or 0) - verdict.unbounded_within
    assert float(best) == pytest.approx(found.unbounded_bound, rel=1e-9)
    assert 0 <= verdict.unbounded_within <= verdict.optimal_within


def test_the_script_of_the_sceptic_checks_the_file(tmp_path: Path) -> None:
    file = made("histogram(6000,8)").save(tmp_path / "groups.tightrope")
    script = tmp_path / "judge.py"
    script.write_text(judge_script(), encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-I", str(script), str(file)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "private: yes" in told
    assert "on the unbounded question is below 6.65025710145" in told


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda told: told["weights"].update(start=told["weights"]["start"] // 2),
            "privacy:",
        ),
        (lambda told: told["weights"].update(core=1), "only a line has a core"),
        (lambda told: told.update(expected_loss="6"), "loss:"),
        (lambda told: told.update(bound="6.7"), "exact number"),
        (lambda told: told.update(bound="67/10"), "bound:"),
        (lambda told: told["certificate"].update(slope="1"), "slope"),
        (lambda told: told.update(query="histogram(6000,9)"), ""),
        (lambda told: told.update(query="cycle(60)"), "no lattice"),
        (lambda told: told["consumer"].update(loss={"kind": "binary"}), "loss:"),
        (lambda told: told.update(ratios=["3"]), "ratio:"),
        (lambda told: told["consumer"].update(remapped=True), "'guess_of' is missing"),
        (
            lambda told: told["consumer"].update(
                support=None, prior={"kind": "uniform"}
            ),
            "has a worst loss",
        ),
    ],
)
def test_a_file_that_claims_more_is_found_out(change: Any, reason: str) -> None:
    told = dict(made("histogram(6000,8)").header)
    told["weights"], told["consumer"] = dict(told["weights"]), dict(told["consumer"])
    told["certificate"] = dict(told["certificate"])
    change(told)
    del told["sections"]
    verdict = verify(encode(told, Sections(), 1))
    assert verdict.reasons
    assert reason in verdict.reasons[0]
    assert verdict.optimal_within is None
    assert verdict.unbounded_within is None


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(9, 10)])
def test_a_flow_on_a_line_proves_the_loss_of_the_best_core(
    width: int, loss: str, alpha: Fraction
) -> None:
    """Σ α^t·loss over Σ α^t·points of the intervals around a core, for the best core."""
    ratios = []
    for core in range(width):
        line = replace(Lattice("line", 1, 9, width), core=core)
        many = range(900)
        lost = sum(float(alpha) ** t * line.ball_loss(loss, t) for t in many)
        points = sum(float(alpha) ** t * line.ball(t) for t in many)
        ratios.append(lost / points)
    found = LineFlow(width, loss, alpha).bound
    assert float(found) == pytest.approx(min(ratios), rel=1e-9)


def test_a_bound_with_the_ends_is_nearer_to_the_loss_by_lines_than_by_a_slope() -> None:
    """What the file states is what the flow proves, and not a step of rounding more."""
    header = dict(made("sum(30,5)", loss="absolute").header)
    del header["sections"]
    proved = Fraction(header["bound"])
    assert header["certificate"] == {"kind": "unbounded", "slope": None}
    assert float(proved) == pytest.approx(4.404329, abs=1e-6)
    assert verify(encode(header, Sections(), 1))
    more = header | {"bound": str(proved + Fraction(1, 1 << 80))}
    assert "bound:" in verify(encode(more, Sections(), 1)).reasons[0]
    # A slope is still a proof, of less.
    lattice = question_lattice("sum(30,5)", "change-one")
    alpha = level_bounds(Fraction(1), None, Fraction(1))[1]
    by_slope = rounded_down(ended_bound(lattice, "absolute", alpha, Fraction(7, 10)))
    assert 0 < by_slope < proved
    older = header | {"bound": str(by_slope)}
    older["certificate"] = {"kind": "unbounded", "slope": "7/10"}
    assert verify(encode(older, Sections(), 1))


def test_rows_of_noise_on_a_small_line_are_private_in_full() -> None:
    """Add up the weights of every point, moved back to the answers, and compare neighbours."""
    file = made("sum(4,3)", loss="absolute")
    noise = file.noise
    assert isinstance(noise, LatticeWeights)
    graph, core = query("sum(4,3)").graph, noise.lattice.core
    assert graph.unbounded is not None
    mine = replace(graph.unbounded, core=core)
    p, q = noise.ratio.numerator, noise.ratio.denominator
    rows = []
    for answer in range(graph.size):
        row: dict[Any, int] = dict.fromkeys(graph.labels, 0)
        for number in range(mine.around(noise.reach)):
            (point,) = mine.point_around(noise.reach, number)
            away = abs(point - answer)
            layer = -(-max(0, away - core) // mine.width)
            weight = noise.levels[min(layer, noise.reach)]
            row[mine.clamped((point,))] += weight + noise.odd * (away == 0)
        assert sum(row.values()) == file.total
        rows.append(row)
    for i, h in graph.edges():
        for output in graph.labels:
            assert rows[i][output] * q <= rows[h][output] * p
            assert rows[h][output] * q <= rows[i][output] * p


def test_levels_fall_to_one_that_stays() -> None:
    levels = falling_levels([10**9], Fraction(5, 4))
    assert -(-levels[-1] * 4 // 5) == levels[-1]
    assert all(a * 4 <= b * 5 < a * 5 for a, b in pairwise(levels))


def test_a_question_of_few_people_has_no_bound_of_its_own() -> None:
    assert (
        ended_bound(
            question_lattice("histogram(3,5)", "change-one"),
            "distance",
            1 << 60,
            Fraction(1, 2),
        )
        == 0
    )


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
@pytest.mark.parametrize("text", ["sum(4,3)", "count(20)", "mean(9,2)"])
def test_the_loss_of_guesses_near_the_ends_is_that_of_every_point(
    text: str, loss: str
) -> None:
    """Every point of the noise, held between the ends, under every answer: the sum by rule."""
    header, n = unpack(made(text, loss=loss, epsilon=2))[0], query(text).graph.size
    guesses, ends = [3, 1, 5, 4], 4
    header["consumer"] |= {
        "prior": {"kind": "uniform"},
        "support": None,
        "remapped": True,
    }
    proof = {"kind": "stretched", "bits": 40, "ends": ends, "layers": 4, "stride": 1}
    contents = Contents(
        header | {"certificate": proof}, {"guess_of": np.array(guesses)}
    )
    noise = LatticeWeights(contents)
    found = noise.consumer().expected()
    far = noise.lattice.core + noise.reach * noise.lattice.width
    lost = 0
    for answer in range(n):
        for point in range(-far, n + far):
            away = abs(point - answer)
            layer = -(-max(0, away - noise.lattice.core) // noise.lattice.width)
            weight = noise.levels[min(layer, noise.reach)] + noise.odd * (away == 0)
            o = min(max(point, 0), n - 1)
            guess = guesses[o] if o < ends else o
            guess = n - 1 - guesses[n - 1 - o] if n - 1 - o < ends else guess
            far_off = np.array([abs(answer - guess)])
            lost += weight * int(line_loss(loss, far_off, noise.lattice.width)[0])
    exact = Fraction(lost, noise.total * n) * noise.lattice.units(loss)
    assert exact <= found <= exact + Fraction(1, 1 << 50)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_set_of_one_point_loses_nothing(k: int) -> None:
    """Sets that need not grow may have one point: no larger bound holds."""
    assert _size_bound(k, [1]) == 0
    assert _size_bound(k, [2, 1]) > 0
