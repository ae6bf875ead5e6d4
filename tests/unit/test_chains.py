"""A pair of outputs as one mechanism file: what the judge accepts, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

import tightrope as tr
from tightrope.certify import Mechanism, certify, verify
from tightrope.certify.make import encode
from tightrope.chains import best_pair, prove_pair, sharpening
from tightrope.channels import GeometricChannel, IntegerChannel
from tightrope.channels.sharpen import RationalGeometric, distance_noise
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import ExplicitGraph, PathPower

BIPARTITE = ExplicitGraph([(i, j) for i in (0, 1) for j in (2, 3, 4)])


def count(people: int, level: str) -> Mechanism:
    return certify(GeometricChannel(people + 1, level), f"count({people})", level)


def weights(mechanism: Mechanism) -> np.ndarray:
    rows = [mechanism.row_weights(i) for i in range(mechanism.shape[0])]
    return np.array(rows, dtype=object)


def marginal(pair: Mechanism, place: int) -> dict[object, np.ndarray]:
    """The columns of one half of the pair, by its label."""
    columns: dict[object, np.ndarray] = {}
    for o, column in enumerate(weights(pair).T):
        label = pair.output_label(o)[place]
        columns[label] = columns.get(label, 0) + column
    return columns


def check_pair(
    coarse: Mechanism, fine: Mechanism, pair: Mechanism, distance: Fraction
) -> None:
    """The coarse marginal is the coarse file, the fine one within the distance, all private."""
    published = marginal(pair, 0)
    for o, column in enumerate(weights(coarse).T):
        assert (
            published[coarse.output_label(o)] * coarse.total == column * pair.total
        ).all()
    sharpened = marginal(pair, 1)
    apart = sum(
        abs(sharpened[fine.output_label(o)] * fine.total - column * pair.total)
        for o, column in enumerate(weights(fine).T)
    )
    assert max(Fraction(int(a), 2 * fine.total * pair.total) for a in apart) == distance
    found = verify(pair.to_bytes())
    assert found.private_for_question
    assert pair.ratio == fine.ratio
    matrix = weights(pair)
    for i, h in fine.question.graph.edges():
        for a, b in ((i, h), (h, i)):
            assert (matrix[a] <= matrix[b] * fine.ratio).all()


@pytest.mark.parametrize(
    ("low", "high"), [("0.5", "1"), ("ln(2)", "ln(3)"), ("0.25", "2")]
)
def test_the_pair_of_two_counts(low: str, high: str) -> None:
    coarse = count(6, low)
    fine = count(6, high)
    made = prove_pair(coarse, fine)
    assert made
    assert not made.up_to_rounding
    assert made.fine_distance < Fraction(1, 2**60)
    check_pair(coarse, fine, made.mechanism, made.fine_distance)


def test_a_chain_of_four_files() -> None:
    levels = [count(2, level) for level in ("0.25", "0.5", "1", "2")]
    published = levels[0]
    for finer in levels[1:]:
        made = prove_pair(published, finer)
        check_pair(published, finer, made.mechanism, made.fine_distance)
        published = made.mechanism
    first = {}
    for o, column in enumerate(weights(published).T):
        label = published.output_label(o)[0][0][0]
        first[label] = first.get(label, 0) + column
    shown = np.array([first[o] for o in range(3)]).T
    assert (shown * levels[0].total == weights(levels[0]) * published.total).all()
    assert verify(published).private
    assert published.ratio == levels[-1].ratio


def test_a_pair_up_to_rounding_pays_in_its_fine_marginal() -> None:
    """One unit moved in the coarse file: the remap would need a negative entry."""
    question = tr.query("path(3)")
    fine = certify(
        IntegerChannel([[20, 8, 4], [10, 12, 10], [4, 8, 20]]), question, "ln(3)"
    )
    joined = IntegerChannel(
        np.array([[28, 4], [22, 10], [12, 20]], dtype=object) * 2**60
        + np.array([[0, 0], [1, -1], [0, 0]], dtype=object)
    )
    coarse = certify(joined, question, "ln(5/2)")
    made = prove_pair(coarse, fine)
    assert made.up_to_rounding
    assert not made.sharpening
    assert 0 < made.fine_distance < Fraction(1, 2**30)
    check_pair(coarse, fine, made.mechanism, made.fine_distance)
    assert made.as_dict()["up_to_rounding"]


def test_a_pair_that_does_not_derive_is_refused_with_its_witness() -> None:
    coarse = certify(distance_noise(BIPARTITE, Fraction(7, 2)), BIPARTITE, "ln(3.5)")
    fine = certify(distance_noise(BIPARTITE, Fraction(4)), BIPARTITE, "ln(4)")
    made = prove_pair(coarse, fine)
    assert not made
    assert made.sharpening.witness.margin > 0
    assert "does not derive" in made.reason
    assert made.as_dict()["witness"]["gain"]


def test_the_judge_refuses_a_forced_pair() -> None:
    """Both marginals are right, and no coupling of them is private at the fine level."""
    coarse = distance_noise(BIPARTITE, Fraction(7, 2))
    fine = distance_noise(BIPARTITE, Fraction(4))
    forced = np.einsum(
        "xa,xb->xab", coarse.weights.astype(object), fine.weights.astype(object)
    ).reshape(5, -1)
    labels = [(a, b) for a in range(5) for b in range(5)]
    channel = IntegerChannel(forced, coarse.total * fine.total, outputs=labels)
    with pytest.raises(CheckFailed, match="not private"):
        certify(channel, BIPARTITE, "ln(4)")
    # The same weights in a file that claims the level.
    honest = prove_pair(count(2, "ln(2)"), count(2, "ln(3)")).mechanism
    header = dict(honest.header)
    header.pop("sections")
    assert verify(encode(header, {"weights": weights(honest).T}, 3)).private
    independent = np.einsum(
        "xa,xb->xab", weights(count(2, "ln(2)")), weights(count(2, "ln(3)"))
    ).reshape(3, -1)
    header["weights"] = dict(header["weights"], bits=124)
    found = verify(encode(header, {"weights": independent.T}, 3))
    assert not found.private
    assert "output" in found.reasons[0]


def test_a_fine_file_that_is_not_private_is_refused() -> None:
    honest = count(1, "ln(3)")
    header = dict(honest.header)
    header.pop("sections")
    sharper = np.array([[9, 1], [1, 9]], dtype=object) * honest.total // 10
    sharper[[0, 1], [0, 1]] += honest.total - sharper.sum(axis=1)
    false = Mechanism(encode(header, {"weights": sharper.T.astype(np.int64)}, 2))
    assert not verify(false).private
    with pytest.raises(CheckFailed, match="not private"):
        prove_pair(count(1, "ln(2)"), false)


def test_a_larger_coarse_level_names_the_level_that_derives() -> None:
    made = prove_pair(count(4, "1"), count(4, "0.5"))
    assert not made
    assert "level whose noise derives from the fine one is ε = 0.49" in made.reason


def test_mechanisms_paths_and_channels(tmp_path) -> None:
    coarse = count(3, "ln(2)")
    fine = count(3, "ln(3)")
    by_path = sharpening(
        coarse.save(tmp_path / "a.tightrope"), str(fine.save(tmp_path / "b.tightrope"))
    )
    assert by_path
    assert by_path.ratio <= 3
    rule = RationalGeometric(4, Fraction(1, 2))
    assert sharpening(rule, RationalGeometric(4, Fraction(1, 3)), PathPower(4))
    assert tr.sharpening is sharpening


def test_tails_below_the_rounding_of_files_are_refused() -> None:
    """At ε = 2 the 40th answer has e^-80 of the noise, and a file no less than about 2^-50."""
    made = prove_pair(count(40, "2"), count(40, "3"))
    assert not made
    assert "too small to cover the rounding errors" in made.reason
    assert 0 < made.fine_distance < 1e-12
    assert prove_pair(count(40, "0.5"), count(40, "3"))


@pytest.mark.parametrize("loss", ["binary", "distance"])
def test_the_best_finer_answer_where_no_pair_derives(loss: str) -> None:
    """Private, exactly the published first part, and between a single answer and no second one."""
    coarse = certify(distance_noise(BIPARTITE, Fraction(7, 2)), BIPARTITE, "ln(3.5)")
    consumer = Consumer.of(BIPARTITE, prior="uniform", loss=loss)
    best = best_pair(coarse, "ln(4)", consumer)
    pair = best.mechanism
    assert verify(pair.to_bytes()).private
    published = marginal(pair, 0)
    for o, column in enumerate(weights(coarse).T):
        assert (
            published[coarse.output_label(o)] * coarse.total == column * pair.total
        ).all()
    without = tr.design(BIPARTITE, "ln(3.5)", consumer).value
    assert best.single < best.bound <= float(best.loss) < without
    assert float(best.loss) - best.bound < 1e-7


def test_the_loss_of_the_best_pair_is_that_of_its_file() -> None:
    coarse = count(3, "0.5")
    consumer = Consumer.of(
        coarse.question.graph, prior="0.4,0.3,0.2,0.1", loss="absolute"
    )
    best = best_pair(coarse, "1", consumer)
    pair = best.mechanism
    prior = [Fraction(p, 10) for p in (4, 3, 2, 1)]
    exact = sum(
        prior[x] * abs(x - pair.output_label(o)[1]) * Fraction(int(w), pair.total)
        for x, row in enumerate(weights(pair))
        for o, w in enumerate(row)
    )
    assert exact == best.loss
    # It derives: nothing is lost beside a single answer.
    assert float(best.loss) == pytest.approx(best.single, abs=1e-7)


def test_what_the_best_pair_refuses() -> None:
    coarse = count(3, "1")
    graph = coarse.question.graph
    uniform = Consumer.of(graph, prior="uniform", loss="absolute")
    with pytest.raises(InputError, match="must be above ε = 1"):
        best_pair(coarse, "0.5", uniform)
    averse = Consumer.of(graph, support="all", loss="absolute")
    with pytest.raises(InputError, match="with a prior"):
        best_pair(coarse, 2, averse)
    long = Consumer.of(PathPower(31), prior="uniform", loss="absolute")
    coarse = count(30, "1")
    with pytest.raises(CheckFailed, match="too small"):
        best_pair(coarse, 2, long)


def test_what_is_refused() -> None:
    fine = count(3, "1")
    with pytest.raises(InputError, match="same question"):
        prove_pair(count(4, "0.5"), fine)
    with pytest.raises(InputError, match="give the graph"):
        sharpening(GeometricChannel(3, 1), GeometricChannel(3, 2))
    with pytest.raises(TooLarge, match="weights"):
        prove_pair(count(120, "0.5"), count(120, "1"))
    large = [tr.prove(tr.design("count(5000)", level)) for level in (0.5, 1)]
    with pytest.raises(TooLarge, match="without a list"):
        prove_pair(*large)
    kept = certify(
        IntegerChannel([[3, 1], [1, 3]]), "path(2)", "ln(3)", delta=Fraction(1, 4)
    )
    with pytest.raises(InputError, match="without δ"):
        prove_pair(kept, kept)
