"""Ten thousand damaged mechanisms, each with the right reason; privacy after rounding."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.forged import unpack

from tightrope.certify import Mechanism, Proof, certify, make, verify
from tightrope.certify.make import encode
from tightrope.channels import (
    Channel,
    GeometricChannel,
    ScaledPhi,
    is_private,
    rational,
)
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star, petersen
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query


def repack(header, sections, rows):
    return encode(header, sections, rows)


def prices_of_clique():
    """K3, uniform prior, binary loss: the loss 2α/(1+2α) [C, Obs 3.1] with its certificate."""
    graph = Clique(3)
    consumer = Consumer.of(graph)
    channel = rational(
        [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    )
    # λ = 1/6: guess k costs 1/3 away from k, so two arcs into k carry what k lacks.
    arcs = [(k, i, k, 1 / 6) for k in range(3) for i in range(3) if i != k]
    guess, start, end, value = (list(column) for column in zip(*arcs, strict=True))
    prices = Proof("multipliers", [1 / 6] * 3, (guess, end, start, value))
    return certify(channel, "choice(3)", "ln(2)", consumer=consumer, certificate=prices)


def by_rule(monkeypatch):
    monkeypatch.setattr(make, "RULE_FROM", 2)
    graph = query("counts(3,2)").graph
    consumer = Consumer.of(PathPower(9, 2))
    return [
        certify(GeometricChannel(9, "1", 2), "sum(4,2)", "1", consumer=consumer),
        certify(ScaledPhi(Clique(5), "ln(3)", 3 / 7), "clique(5)", "ln(3)"),
        certify(
            ScaledPhi(Clique(5), "ln(3)", 3 / 7),
            "choice(5)",
            "ln(3)",
            consumer=Consumer.of(Clique(5)),
            certificate=Proof("phi", [3 / 35] * 5),
        ),
        certify(
            ScaledPhi(graph, "3", _weighting(graph, 3.0)), graph, "3", consumer=None
        ),
    ]


def _weighting(graph, epsilon):
    phi = np.exp(-epsilon * graph.distance_matrix())
    return np.linalg.solve(phi, np.ones(graph.size))


def listed():
    lengths = ExplicitGraph([(0, 1), (1, 2), (2, 3)], lengths=[1, 2.5, 0.5])
    far = np.exp(-lengths.distance_matrix())
    return [
        certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)"),
        certify(
            GeometricChannel(6, "0.7"),
            "count(5)",
            "0.7",
            consumer=Consumer.of(PathPower(6), prior="binomial(.3)", loss="absolute"),
        ),
        certify(ScaledPhi(petersen(), "ln(2)", 1 / 4), petersen(), "ln(2)"),
        certify(
            ScaledPhi(petersen(), "ln(2)", 1 / 4),
            petersen(),
            "ln(2)",
            consumer=Consumer.of(petersen()),
            certificate=Proof("phi", [0.025] * 10),
        ),
        certify(Channel(far / far.sum(axis=1, keepdims=True)), lengths, "3"),
        prices_of_clique(),
    ]


@pytest.fixture(scope="module")
def mechanisms():
    with pytest.MonkeyPatch.context() as patch:
        return [*listed(), *by_rule(patch), *proved_by_prices(), *proved_by_prices()]


def proved_by_prices():
    """Certificates of prices alone: sums from both ends on a path, elimination on a tree."""
    path, star = PathPower(6), Star(3)
    return [
        prove(
            design(
                path, "ln(2)", Consumer.of(path, prior="binomial(.4)", loss="absolute")
            )
        ),
        prove(
            design(
                star, "1", Consumer.of(star, prior="0.1,0.2,0.3,0.4", loss="distance")
            )
        ),
    ]


def truly_private(made):
    """The definition, word for word, on every pair of neighbours."""
    weights = np.concatenate(
        [block for _, block in made.weights.columns()], axis=1
    ).tolist()
    told = made.header["ratios"]
    n = made.shape[0]
    if any(sum(row) != made.total or min(row) < 0 for row in weights):
        return False
    for i, h in itertools.permutations(range(n), 2):
        which = int(made.graph.ratio_of(np.array([i]), np.array([h]))[0])
        if which < 0:
            continue
        p, q = Fraction(told[which]).as_integer_ratio()
        if any(a * q > b * p for a, b in zip(weights[i], weights[h], strict=True)):
            return False
    return True


def test_all_of_them_are_sound(mechanisms):
    for made in mechanisms:
        assert verify(made).reasons == ()
        assert truly_private(made)
    within = [verify(made).optimal_within for made in mechanisms]
    assert [w is not None for w in within].count(True) == 7
    assert all(0 <= w < Fraction(1, 10**9) for w in within if w is not None)


class Mutation:
    """One change of a mechanism and the words that the first reason must start with."""

    def __init__(self, rng, made):
        self.rng, self.made = rng, made
        self.header, self.sections = unpack(made)

    def flip_a_byte(self):
        data = bytearray(self.made.to_bytes())
        at = int(self.rng.integers(len(data)))
        data[at] ^= int(self.rng.integers(1, 256))
        if at < 10:
            return bytes(data), ("not a mechanism",)
        if at < 12:
            return bytes(data), ("unknown version",)
        header = int.from_bytes(self.made.to_bytes()[12:16], "little")
        # In the header the damage may be found before the digest is looked at.
        said = (
            "the header",
            "digest",
            "header",
            "the section",
            "the file",
            "integers",
            "a ",
        )
        return bytes(data), said if at < 16 + header else ("digest",)

    def truncate(self):
        data = self.made.to_bytes()
        keep = int(self.rng.integers(len(data)))
        return data[:keep], (
            "the file is truncated",
            "not a mechanism",
            "the header is longer",
        )

    def append(self):
        return self.made.to_bytes() + bytes(int(self.rng.integers(1, 9))), (
            "the file has",
        )

    def change_a_weight(self):
        name = "weights" if self.made.kind == "dense" else "factors"
        array = self.sections[name].copy()
        at = int(self.rng.integers(len(array)))
        array[at] += int(self.rng.choice([-1, 1]))
        self.sections[name] = array
        if self.made.kind == "dense":
            return self.packed(), ("total", "weights", "privacy")
        # A rule with another factor is another sound mechanism; its loss is not the stated one.
        # The factor of the output that takes the rest makes no difference to the weights.
        same = at == self.header["weights"]["rest"]
        return self.packed(), ("loss",) if self.header[
            "consumer"
        ] and not same else None

    def move_a_unit(self):
        """Between two outputs of one row: the total stays right."""
        if self.made.kind != "dense":
            return self.change_a_weight()
        n = self.made.shape[0]
        array = self.sections["weights"].reshape(-1, n).copy()
        one, other = self.rng.choice(len(array), 2, replace=False)
        row = int(self.rng.integers(n))
        array[one, row] += 1 << 40 if self.made.bits > 40 else 1
        array[other, row] -= 1 << 40 if self.made.bits > 40 else 1
        self.sections["weights"] = array
        return self.packed(), None

    def swap_rows(self):
        if self.made.kind != "dense":
            return self.change_a_level()
        n = self.made.shape[0]
        array = self.sections["weights"].reshape(-1, n).copy()
        i, h = self.rng.choice(n, 2, replace=False)
        array[:, [i, h]] = array[:, [h, i]]
        self.sections["weights"] = array
        return self.packed(), None

    def change_a_level(self):
        if self.made.kind == "dense":
            return self.swap_rows()
        weights = dict(self.header["weights"])
        levels = list(weights["levels"])
        levels[int(self.rng.integers(len(levels)))] += (
            int(self.rng.choice([-1, 1])) << 30
        )
        weights["levels"] = levels
        self.header["weights"] = weights
        return self.packed(), None

    def raise_the_ratio(self):
        ratios = list(self.header["ratios"])
        at = int(self.rng.integers(len(ratios)))
        ratios[at] = str(Fraction(ratios[at]) * (1 + Fraction(1, 10**12)))
        self.header["ratios"] = ratios
        return self.packed(), ("ratio",)

    def lower_the_ratio(self):
        ratios = list(self.header["ratios"])
        p, q = Fraction(ratios[0]).as_integer_ratio()
        ratios[0] = str(Fraction(p, q + 1))
        self.header["ratios"] = ratios
        return self.packed(), None

    def edit_the_certificate(self):
        parts = ("prices", "arc_value", "prior", "places")
        names = [n for n in parts if n in self.sections]
        if not names:
            return self.state_another_query()
        name = names[int(self.rng.integers(len(names)))]
        array = self.sections[name].copy()
        array[int(self.rng.integers(len(array)))] += int(self.rng.choice([-1, 1]))
        self.sections[name] = array
        if name in ("arc_value", "places"):
            return self.packed(), None  # what has room to spare may change
        said = ("certificate", "bound", "the section", "the prior", "loss")
        return self.packed(), said

    def state_another_number(self):
        names = [n for n in ("expected_loss", "bound") if self.header[n] is not None]
        if not names:
            return self.state_another_query()
        name = names[int(self.rng.integers(len(names)))]
        step = Fraction(int(self.rng.choice([-1, 1])), 10**30)
        self.header[name] = str(Fraction(self.header[name]) + step)
        return self.packed(), (name.removeprefix("expected_"),)

    def state_another_query(self):
        """Of another size it has other sections; of this size it is another graph, or the same."""
        n = self.made.shape[0]
        other = f"count({n + int(self.rng.integers(0, 3))})"
        if other == f"count({n})" or self.header["query"] is None:
            self.header["query"] = f"cycle({max(n, 3)})"
            own = self.header["graph"] is not None
            return self.packed(), ("a file names",) if own else None
        self.header["query"] = other
        return self.packed(), ("the section", "outputs", "the output")

    def drop_a_label(self):
        self.header["outputs"] = [*range(self.made.shape[1] - 1), 0]
        return self.packed(), ("labels",)

    def packed(self):
        return repack(self.header, self.sections, self.made.shape[0])


KINDS = [
    name for name in vars(Mutation) if not name.startswith("_") and name != "packed"
]


@pytest.mark.parametrize("part", range(4))
def test_ten_thousand_mutations_are_noticed_for_the_right_reason(mechanisms, part):
    """Every other one keeps the old digest; the rest come with a digest made to fit."""
    rng = np.random.default_rng(part)
    sound = 0
    for number in range(2_500):
        made = mechanisms[number // 2 % len(mechanisms)]
        kind = KINDS[int(rng.integers(len(KINDS)))]
        data, reasons = getattr(Mutation(rng, made), kind)()
        fitted = number % 2 == 0
        if not fitted and kind not in ("flip_a_byte", "truncate", "append"):
            data, reasons = (
                data[:-32] + made.to_bytes()[-32:],
                ("digest", "a file names"),
            )
        found = verify(data)
        where = f"{number} {kind} {made} {found.reasons}"
        if reasons is None and not found.reasons:
            # What passes with a digest that fits is a private mechanism, by the definition.
            assert truly_private(Mechanism(data)), where
            sound += 1
        elif reasons is not None:
            assert found.reasons, where
            assert found.reasons[0].startswith(reasons), where
    assert sound < 180


@pytest.mark.parametrize("over", [0, 1])
def test_exactly_at_the_bound_passes_and_one_unit_over_fails(over):
    weights = np.array([[1 << 61, 1 << 61], [(1 << 61) + (1 << 60), 1 << 60]])
    weights[1, 1] -= over
    weights[1, 0] += over
    made = certify(rational([["1/2", "1/2"], ["3/4", "1/4"]]), "path(2)", "ln(2)")
    header, sections = unpack(made)
    header["weights"]["bits"] = 62
    sections["weights"] = weights.T
    found = verify(repack(header, sections, 2))
    assert found.private is (over == 0)
    if over:
        # q·W[0,1] - p·W[1,1] = 2^61 - 2·(2^60 - 1) = 2
        assert found.reasons[0].startswith("privacy: output 1")
        assert found.reasons[0].endswith("by 2")


graphs = st.sampled_from(
    [PathPower(5), PathPower(6, 2), Clique(4), Cycle(5), Star(3), petersen()]
)


@settings(max_examples=60)
@given(
    graph=graphs,
    level=st.sampled_from(["0.01", "0.5", "ln(2)", "2", "7"]),
    seed=st.integers(0, 10**6),
    columns=st.integers(1, 7),
)
def test_rounding_keeps_privacy_and_hardly_moves_probability(
    graph, level, seed, columns
):
    rng = np.random.default_rng(seed)
    # Random private columns: minima of a few cones; then rows are made to sum to 1.
    epsilon = float(Epsilon.of(level))
    far = np.asarray(graph.distance_matrix(), float)
    heights = (
        far[rng.integers(0, graph.size, columns)] * rng.choice([-1, 1], (columns, 1))
    ).T
    matrix = np.exp(epsilon * heights)
    matrix /= matrix.sum(axis=1).max() * 1.5
    rest = 1 - matrix.sum(axis=1, keepdims=True)
    channel = Channel(np.hstack([matrix, rest]))
    if not is_private(channel, graph, level, tolerance=1e-12):
        with pytest.raises(CheckFailed, match="not private"):
            certify(channel, graph, level)
        return
    made = certify(channel, graph, level)
    assert truly_private(made)
    assert made.moved <= 1e-9
    kept = made.channel().matrix()
    wanted = channel.matrix()[:, channel.matrix().max(axis=0) > 0]
    assert np.abs(kept - wanted).max() < 1e-9


def test_zeros_beside_non_zeros_of_a_solver_are_repaired_or_refused():
    """A solver's zeros far out on a line: the smallest private columns above them."""
    n, level = 40, 1.0
    true = GeometricChannel(n, level).matrix()
    cut = np.where(true < 1e-12, 0.0, true)
    cut[:, 0] += 1 - cut.sum(axis=1)
    assert not is_private(Channel(cut), PathPower(n), level)
    made = certify(Channel(cut), PathPower(n), level)
    assert verify(made).private
    assert truly_private(made)
    rough = np.where(true < 1e-6, 0.0, true)
    rough[:, 0] += 1 - rough.sum(axis=1)
    with pytest.raises(CheckFailed, match=r"not private .*output \d+ is"):
        certify(Channel(rough), PathPower(n), level)
