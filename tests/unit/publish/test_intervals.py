"""Confidence sets: coverage by exact enumeration, and no wider than coverage asks for."""

import functools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import tightrope as tr
from tightrope.certify import Mechanism, certify
from tightrope.channels import Channel, GeometricChannel, ScaledPhi, UnboundedNoise
from tightrope.errors import InputError
from tightrope.graphs import Clique, Cycle
from tightrope.mechanisms import geometric as geometric_channel
from tightrope.publish.intervals import (
    Estimate,
    level_of,
    margin_text,
    possible_ends,
)
from tightrope.publish.noise import confidence_set, noise_of, promised_error
from tightrope.publish.shapes.base import Reading
from tightrope.publish.shapes.cubes import SumTables
from tightrope.publish.shapes.mean import quotient
from tightrope.publish.shapes.tables import Tables


def geometric(text: str, epsilon: str) -> Mechanism:
    return certify(geometric_channel(tr.query(text).graph, epsilon), text, epsilon)


def designed(text: str, epsilon: str, **consumer: str) -> Mechanism:
    asked = tr.query(text)
    return tr.prove(tr.design(asked, epsilon, tr.Consumer.of(asked.graph, **consumer)))


MECHANISMS = {
    "geometric count": lambda: geometric("count(60)", "0.2"),
    "geometric sum": lambda: geometric("sum(20,3)", "0.5"),
    "a rule of more than a thousand answers": lambda: certify(
        GeometricChannel(1025, "0.1"), "count(1024)", "0.1"
    ),
    "count, absolute loss": lambda: designed("count(40)", "0.3", loss="absolute"),
    "count, biased to a prior": lambda: designed(
        "count(40)", "0.2", loss="squared", prior="binomial(.3)"
    ),
    "mean": lambda: designed("mean(5,4)", "1", loss="absolute"),
    "sum": lambda: designed("sum(8,3)", "0.7", loss="binary"),
    "histogram": lambda: designed("histogram(4,3)", "1", loss="absolute"),
    "counts": lambda: designed("counts(6,2)", "0.8", loss="binary"),
    "choice": lambda: certify(
        ScaledPhi(Clique(6), "ln(2)", 2 / 7), "choice(6)", "ln(2)"
    ),
    "cycle": lambda: certify(ScaledPhi(Cycle(6), "ln(2)", 8 / 21), "cycle(6)", "ln(2)"),
    "nothing is said": lambda: certify(Channel(np.ones((11, 1))), "count(10)", "1"),
}


def covers(found, label):
    parts = label if isinstance(label, tuple) else (label,)
    if not found.bounds:
        return label in found.members
    return [
        low <= x <= high for x, (low, high) in zip(parts, found.bounds, strict=True)
    ]


def coverage(made, sets):
    """Return the least probability, for each number, that its set holds the true one."""
    bounds = np.array([found.bounds for found in sets], object)
    worst = None
    for i in range(made.shape[0]):
        row = made.row_weights(i).astype(object)
        label = made.input_label(i)
        if bounds.size:
            low, high = np.moveaxis(bounds, 2, 0)
            inside = np.logical_and(low <= label, label <= high).astype(bool)
        else:
            inside = np.array([[label in found.members] for found in sets])
        mass = [int(row[column].sum()) for column in inside.T]
        worst = mass if worst is None else list(map(min, worst, mass))
    return [Fraction(mass, made.total) for mass in worst]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("level", ["0.5", "0.95"])
def test_every_true_answer_is_covered(name, level):
    made = MECHANISMS[name]()
    sets = [
        confidence_set(made, made.output_label(o), level) for o in range(made.shape[1])
    ]
    for share in coverage(made, sets):
        assert share >= Fraction(level)


@pytest.mark.parametrize(
    "name", ["geometric count", "geometric sum", "count, absolute loss"]
)
@pytest.mark.parametrize("side", [0, 1])
def test_one_step_narrower_loses_coverage(name, side):
    made = MECHANISMS[name]()
    narrow = []
    for o in range(made.shape[1]):
        found = confidence_set(made, made.output_label(o))
        ((low, high),) = found.bounds
        ends = ((low + 1, high) if side == 0 else (low, high - 1),)
        narrow.append(
            type(found)(found.answer, found.confidence, ends, (), found.exact)
        )
    assert coverage(made, narrow)[0] < Fraction("0.95")


def test_several_numbers_are_covered_at_once_on_request():
    made = MECHANISMS["histogram"]()
    answers = [made.output_label(o) for o in range(made.shape[1])]
    at_once, each = (
        [confidence_set(made, y, "0.8", simultaneous=s) for y in answers]
        for s in (True, False)
    )

    def joint(sets):
        return min(
            sum(int(w) for w, s in zip(made.row_weights(i), sets, strict=True)
                if all(covers(s, made.input_label(i))))
            for i in range(made.shape[0])
        )  # fmt: skip

    assert joint(at_once) >= Fraction("0.8") * made.total > joint(each)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
def test_geometric_noise_has_the_margin_that_its_tails_ask_for(epsilon):
    """The least r with P(|noise| > r) = 2α^(r+1)/(1+α) at most 5 %; a normal law is no guide."""
    alpha = math.exp(-epsilon)
    exact = next(r for r in range(9999) if 2 * alpha ** (r + 1) / (1 + alpha) <= 0.05)
    made = geometric("count(1000)", str(epsilon))
    assert confidence_set(made, 500).bounds == ((500 - exact, 500 + exact),)
    assert promised_error(made) == (exact,)
    normal = 1.96 * math.sqrt(2 * alpha) / (1 - alpha)
    assert exact > normal  # 95 % by a normal law would be too narrow for these tails


def test_a_large_rule_and_its_listed_twin_agree():
    large = certify(GeometricChannel(1400, "0.05"), "count(1399)", "0.05")
    assert large.kind == "levels"
    rows = np.stack([large.row_weights(i) for i in range(1400)])
    # Nearest first: the ball that is nearer to x than y must have less than 95 %.
    for y in (0, 7, 60, 700, 1390):
        ((low, high),) = confidence_set(large, y).bounds
        inside = [
            x for x in range(1400)
            if sum(rows[x][max(0, x - abs(x - y) + 1) : x + abs(x - y)]) * 20 < 19 * large.total
        ]  # fmt: skip
        assert (low, high) == (min(inside), max(inside)), y


def kept(made, place, most):
    """Return the least probability of an error of at most this much in one number."""

    def number(label):
        return label[place] if isinstance(label, tuple) else label

    outputs = [number(made.output_label(o)) for o in range(made.shape[1])]
    found = []
    for i in range(made.shape[0]):
        here = number(made.input_label(i))
        near = [abs(there - here) <= most for there in outputs]
        found.append(
            sum(int(w) for w, ok in zip(made.row_weights(i), near, strict=True) if ok)
        )
    return Fraction(min(found), made.total)


@pytest.mark.parametrize(
    "name", ["geometric sum", "count, biased to a prior", "histogram", "mean"]
)
def test_the_promised_error_is_kept_and_no_smaller_one_is(name):
    made = MECHANISMS[name]()
    for place, error in enumerate(promised_error(made)):
        smaller = error - Fraction(1, 1000)
        assert kept(made, place, error) >= Fraction("0.95") > kept(made, place, smaller)


def test_with_a_prior_the_posterior_decides():
    made = geometric("count(20)", "0.5")
    prior = [Fraction(k + 1, 231) for k in range(21)]
    found = confidence_set(made, 12, "0.9", prior=prior)
    joint = [p * int(made.row_weights(x)[12]) for x, p in enumerate(prior)]
    ((low, high),) = found.bounds
    assert sum(joint[low : high + 1]) >= Fraction("0.9") * sum(joint)
    for start in range(21):  # no shorter interval has as much
        assert sum(joint[start : start + high - low]) < Fraction("0.9") * sum(joint)
    assert found.exact == joint[12] / sum(joint)
    assert found.credible
    sure = [Fraction(x == 3) for x in range(21)]
    assert confidence_set(made, 12, prior=sure).bounds == ((3, 3),)


def test_a_prior_that_rules_the_answer_out_is_refused():
    made = certify(Channel(np.eye(2)[[0, 0, 0]] * 0.5 + 0.25), "path(3)", "1")
    with pytest.raises(InputError, match="one probability for each of 3"):
        confidence_set(made, 0, prior=[1])


def test_the_chance_to_be_exact_is_the_least_on_the_diagonal():
    for name in ("geometric count", "a rule of more than a thousand answers", "choice"):
        made = MECHANISMS[name]()
        least = min(int(made.row_weights(i)[i]) for i in range(made.shape[0]))
        assert noise_of(made).exact_chance() == Fraction(least, made.total)
    assert noise_of(MECHANISMS["nothing is said"]()).exact_chance() == 0


def test_categories_have_a_set_of_members():
    made = certify(ScaledPhi(Clique(3), "ln(99)", 99 / 101), "choice(3)", "ln(99)")
    found = confidence_set(made, 1)
    assert found.members == (1,)
    assert found.bounds == ()
    assert str(found) == "one of 1 (95 %)"
    assert found.as_dict()["members"] == [1]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((432, 402, 462), "432 ± 30"),
        ((432, 400, 432), "432 (400 to 432)"),
        ((12345, 12000, 12690), "12,345 ± 345"),
        ((5, 5, 5), "5 ± 0"),
        ((Fraction(1, 3), Fraction(0), Fraction(2, 3)), "0.33 ± 0.34"),
        ((Fraction(1, 3), Fraction(1, 3), Fraction(5, 2)), "0.3 (0.3 to 2.5)"),
    ],
)
def test_margins_are_rounded_to_what_is_meant(numbers, text):
    assert margin_text(*numbers) == text


@pytest.mark.parametrize(
    "wrong", ["0", "1", "95", "", "x", "-0.1", "1/0", "1e-999999999"]
)
def test_a_level_that_is_none_is_refused(wrong):
    with pytest.raises(InputError, match="above 0 and below 1"):
        level_of(wrong)


# -- noise on a lattice -------------------------------------------------------------------------


def law_of_noise(made):
    """Return the points of the layers and their weights; what is flat is left out."""
    noise = made.noise
    lattice = replace(made.question.graph.unbounded, core=noise.lattice.core)
    last = noise.levels[-1]
    for t, size in enumerate(noise.sizes):
        weight = noise.levels[t] - last
        if (
            weight * size * 10**6 < made.total
        ):  # with all layers beyond, too little to matter
            return
        points = lattice.points(t, range(size)).tolist()
        yield from ((z, weight + noise.odd * (t == 0 and not any(z))) for z in points)


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("histogram(5,3)", "change-one"),
        ("histogram(5,3)", "add-remove"),
        ("histogram(4,3)", "either"),
        ("counts(4,2)", "change-one"),
        ("counts(4,2)", "add-remove"),
        ("sum(4,3)", "change-one"),
    ],
)
def test_noise_on_a_lattice_is_covered_when_it_is_held_within_the_ends(
    question, relation
):
    asked = tr.query(question, neighbours=relation)
    made = certify(UnboundedNoise(asked.graph, 2), asked, 2)
    lattice, law, covered = asked.graph.unbounded, list(law_of_noise(made)), [[], []]
    ends = functools.cache(lambda output: confidence_set(made, output, "0.9").bounds[0])
    for label in (asked.graph.label(i) for i in range(asked.graph.size)):
        here, (first, *_) = lattice.coordinates(label), np.atleast_1d(label).tolist()
        outputs = Counter()
        for point, weight in law:
            outputs[
                lattice.clamped([x + z for x, z in zip(here, point, strict=True)])
            ] += weight
        for narrower in (0, 1):
            kept = [
                weight for output, weight in outputs.items()
                if ends(output)[0] + narrower <= first <= ends(output)[1]
            ]  # fmt: skip
            covered[narrower].append(Fraction(sum(kept), made.total))
    assert min(covered[0]) >= Fraction("0.9") > min(covered[1])


def test_large_questions_have_narrow_intervals_at_once():
    for text, relation, level, error in (
        ("count(100000)", "change-one", 0.1, 30),
        ("sum(6366,80)", "change-one", 0.5, 479),
        (
            "histogram(6000,8)",
            "add-remove",
            0.1,
            30,
        ),  # crosses: each class as a count alone
    ):
        asked = tr.query(text, neighbours=relation)
        made = certify(UnboundedNoise(asked.graph, level), asked, level)
        assert set(promised_error(made)) == {error}
        label = asked.graph.label(asked.graph.size // 3)
        assert confidence_set(made, label).answer == label


def test_answers_outside_a_window_are_covered_too():
    """They are drawn for as the nearest inside, so an output at its end may stand for all."""
    asked = tr.query("sum(60,10)")
    consumer = tr.Consumer.of(asked.graph, prior="binomial(.1)", loss="absolute")
    made = tr.prove(tr.design(asked, 1, consumer, route="window"))
    assert made.window is not None
    outputs = [made.output_label(o) for o in range(made.shape[1])]
    ends = [confidence_set(made, y).bounds[0] for y in outputs]
    (error,), far = promised_error(made), {0: [], 1: []}
    for x in range(asked.graph.size):
        row = made.row_weights(x).tolist()
        kept = [w for w, (low, high) in zip(row, ends, strict=True) if low <= x <= high]
        assert 20 * sum(kept) >= 19 * made.total, x
        for less, found in far.items():
            near = zip(row, outputs, strict=True)
            found.append(sum(w for w, y in near if abs(y - x) <= error - less))
    assert min(far[0]) * 20 >= 19 * made.total > min(far[1]) * 20
    assert noise_of(made).exact_chance() == 0
    middle = outputs[len(outputs) // 2]
    found = confidence_set(made, middle, prior=consumer.prior.exact)
    assert found.bounds[0][0] <= middle <= found.bounds[0][1]


@pytest.mark.parametrize(
    ("text", "most"), [("count(6)", 6), ("sum(3,5)", 15), ("counts(4,2)", 4)]
)
def test_noise_wider_than_all_answers_has_them_all_for_its_interval(text, most):
    asked = tr.query(text)
    made = certify(UnboundedNoise(asked.graph, "1/100"), asked, "1/100")
    answer = (1, 2) if text.startswith("counts") else 1
    assert set(confidence_set(made, answer).bounds) == {(0, most)}
    assert set(promised_error(made)) == {most}


def test_an_answer_that_was_paid_for_is_shown_however_wide_its_noise(
    tmp_path, monkeypatch
):
    """It was refused after the charge, and its key was not told."""
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    people = pyarrow.table({"sex": ["f", "m"], "age": [3, 4], "kind": ["a", "b"]})
    answer = tr.ask(
        "select sex, kind, avg(age) from people group by sex, kind",
        columns={"sex": "f,m", "kind": "a,b,c,d,e", "age": "0..5"}, epsilon="1/10", budget=1,
        population=6, data=people, ledger=tmp_path / "ledger.db", neighbours="either",
    )  # fmt: skip
    assert all(
        0 <= told.low <= told.value <= told.high <= 5 for _, (told,) in answer.rows
    )


def test_a_level_next_to_one_promises_every_answer_not_none():
    """No sum of floats is for certain so near to 1: the error was said to be 0."""
    made = certify(GeometricChannel(1024, "0.2"), "count(1023)", "0.2")
    assert made.kind == "levels"
    assert promised_error(made, "0.99999999999") >= promised_error(made, "0.999") > (0,)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("count(600)", 10**6), ("count(600)", "many"), ("count(600)", None), ("sum(9,90)", "1/2"),
     ("histogram(600,3)", (1, 2)), ("histogram(600,3)", (1, 2, 601)), ("counts(600,2)", 3)],
)  # fmt: skip
def test_noise_has_an_interval_for_its_own_outputs_only(text, wrong):
    asked = tr.query(text)
    made = certify(UnboundedNoise(asked.graph, 1), asked, 1)
    with pytest.raises(InputError, match="is not an output of this mechanism"):
        confidence_set(made, wrong)


BEYOND = [
    pytest.param(-40, (-46, -34), (0, 100), (0, 6), id="below"),
    pytest.param(-4, (-10, 2), (0, 100), (0, 6), id="partly below"),
    pytest.param(140, (134, 146), (0, 100), (94, 100), id="above"),
    pytest.param(50, (44, 56), (0, 100), (44, 56), id="inside"),
    pytest.param(-40, (-46, -34), (None, None), (-46, -34), id="no ends"),
]


@pytest.mark.parametrize(("number", "around", "possible", "ends"), BEYOND)
def test_a_number_beyond_what_is_possible_counts_as_the_nearest(
    number, around, possible, ends
):
    assert possible_ends(number, around, *possible) == ends


@pytest.mark.parametrize("number", range(-12, 23))
def test_nothing_possible_is_lost_and_no_interval_is_a_point(number):
    low, high = possible_ends(number, (number - 3, number + 2), 0, 10)
    lost = [
        x for x in range(11) if number - 3 <= x <= number + 2 and not low <= x <= high
    ]
    assert not lost
    assert high - low >= 2


def _lattice_number(number):
    asked = tr.query("count(90)")
    mechanism = certify(UnboundedNoise(asked.graph, "1"), asked, "1")
    return noise_of(mechanism).estimates(number, Fraction(19, 20))[0]


def _sum_of_a_table(number):
    reading = Reading("sum tables", bounds=(-5, 0))
    return SumTables.number_within(-number, 4, reading)


def _mean(number):
    reading = Reading("mean", bounds=(0, 9))
    total = Estimate(number * 30, number * 30 - 20, number * 30 + 20)
    return quotient(reading, total, Estimate(30, 26, 34))


@pytest.mark.parametrize(
    "estimated",
    [
        _lattice_number,
        lambda number: Tables.number_within(number, 4, Reading("tables")),
        _sum_of_a_table,
        _mean,
    ],
)
def test_no_number_beyond_its_ends_looks_certain(estimated):
    near = estimated(-3)
    far = estimated(-30)
    assert far.high - far.low >= near.high - near.low > 0
    assert not str(far).endswith("± 0")
