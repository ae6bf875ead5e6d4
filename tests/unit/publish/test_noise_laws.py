"""The noise of a sum and a count together: never narrower than its law, and hardly wider."""

from fractions import Fraction

import numpy as np
import pytest

import tightrope as tr
from tightrope.certify import certify
from tightrope.channels import Channel, GeometricChannel, UnboundedNoise
from tightrope.errors import InputError
from tightrope.publish.noise import noise_of
from tightrope.publish.noise.laws import NoiseLaw, PairLaw
from tightrope.publish.shapes.base import Reading, estimates
from tightrope.publish.shapes.mean import JointNoise

LEVEL = Fraction(19, 20)


def geometric(alpha, far):
    """Two-sided geometric noise as a law, and its probabilities from -far to far."""
    shares = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-far, far + 1))
    inside = np.array([shares[far - r : far + r + 1].sum() for r in range(far + 1)])
    return NoiseLaw(np.arange(far + 1), inside, (0, 10**6)), shares


def brute(first, second, factor):
    """P(|Z + f Z'| <= r) for r = 0, 1, …, by going through all pairs."""
    far = len(first) // 2
    far_2 = len(second) // 2
    x = np.arange(-far, far + 1)[:, None] + factor * np.arange(-far_2, far_2 + 1)[None]
    return np.cumsum(np.bincount(np.abs(x).ravel(), np.outer(first, second).ravel()))


@pytest.mark.parametrize("factor", [0, 1, 7, 45])
@pytest.mark.parametrize("alphas", [(0.9, 0.5), (0.99, 0.7), (0.5, 0.9)])
def test_the_joint_width_is_that_of_the_convolution(alphas, factor):
    one, first = geometric(alphas[0], 1500)
    two, second = geometric(alphas[1], 150)
    width = one.joint_width(two, Fraction(factor), LEVEL)
    least = int(np.searchsorted(brute(first, second, factor), float(LEVEL)))
    assert least <= width <= least + 1


def test_a_coarse_law_is_not_narrower():
    one, first = geometric(0.99, 1500)
    two, second = geometric(0.7, 150)
    coarse = NoiseLaw(one.edges[::5], one.inside[::5], one.ends)
    width = coarse.joint_width(two, Fraction(7), LEVEL)
    exact = brute(first, second, 7)
    assert exact[width] >= LEVEL
    assert one.joint_width(two, Fraction(7), LEVEL) <= width
    # The negative twin: bounds from above would promise too much.
    bold = NoiseLaw(one.edges, np.minimum(1.03 * one.inside, 1.0), one.ends)
    assert exact[bold.joint_width(two, Fraction(7), LEVEL)] < LEVEL


def test_adding_up_both_errors_is_half_as_wide_again():
    one, _ = geometric(0.995, 2500)
    two, _ = geometric(0.8, 150)
    joint = one.joint_width(two, Fraction(45), LEVEL)
    each = 1 - (1 - LEVEL) / 2
    apart = [int(np.searchsorted(law.inside, float(each))) for law in (one, two)]
    assert apart[0] + 45 * apart[1] > 1.4 * joint


def test_the_law_of_a_lattice_is_that_of_its_promised_error():
    asked = tr.query("sum(2000,90)", neighbours="either")
    noise = noise_of(certify(UnboundedNoise(asked.graph, "1/2"), asked, "1/2"))
    law = noise.law
    promised = noise.error(LEVEL)[0]
    upto = law.inside[np.searchsorted(law.edges, promised, side="right") - 1]
    beyond = law.inside[np.searchsorted(law.edges, promised)]
    assert upto <= float(LEVEL) + 0.01
    assert beyond >= float(LEVEL)
    assert noise_of(certify(GeometricChannel(6, 1), "count(5)", 1)).law is None


def test_an_output_at_an_end_leaves_that_side_open():
    one, _ = geometric(0.9, 300)
    two, _ = geometric(0.5, 60)
    joint = JointNoise(one, NoiseLaw(two.edges, two.inside, (0, 100)), LEVEL)
    reading = Reading("mean", centre=45, people=100, bounds=(0, 90))
    inner = joint.uncentred(reading, 500, Fraction(20))
    width = joint.width(45)
    assert (inner.low, inner.high) == (1400 - width, 1400 + width)
    empty = joint.uncentred(reading, 500, Fraction(0))
    assert (empty.low, empty.high) == (0, 500 + width)
    full = joint.uncentred(reading, 500, Fraction(100))
    assert full.high == 9000
    mean = joint.quotient(reading, 500, Fraction(0))
    assert (mean.low, mean.high) == (0, 90)


def pair_noise(level="1"):
    asked = tr.query("counts(4000,2)")
    return noise_of(certify(UnboundedNoise(asked.graph, level), asked, level))


def points_of(law):
    """Return both coordinates of all pairs, and their chances."""
    far = len(law.masses) - 1
    one, two = np.meshgrid(np.arange(-far, far + 1), np.arange(-far, far + 1))
    return one, two, law.masses[np.maximum(abs(one), abs(two))]


@pytest.mark.parametrize("rounded", ["0", "1/2"])
@pytest.mark.parametrize("factor", ["0", "1/3", "1", "7/2"])
def test_the_law_of_a_pair_is_that_of_all_its_points(factor, rounded):
    """Summed point by point; a narrower width does not keep the level."""
    law = pair_noise().pair_law
    one, two, chances = points_of(law)
    assert 1 - 1e-6 < chances.sum() <= 1
    sums = one + float(Fraction(factor)) * two
    width = float(law.width(Fraction(factor), LEVEL, Fraction(rounded)))
    shifts = np.linspace(0, float(Fraction(rounded)), 49)
    held = [chances[abs(sums + r) <= width + 1e-6].sum() for r in shifts]
    assert min(held) >= LEVEL
    # One window contains those of all shifts between two parts of a unit.
    less = 1 / 8 + 1 / 16
    held = [chances[abs(sums + r) <= width - less].sum() for r in shifts]
    assert min(held) < LEVEL
    assert noise_of(certify(GeometricChannel(6, 1), "count(5)", 1)).pair_law is None


@pytest.mark.parametrize("level", ["1", "2", "3"])
def test_the_widest_window_is_that_of_the_worst_factor(level):
    law = pair_noise(level).pair_law
    one, two, chances = points_of(law)
    half = Fraction(1, 2)
    alone = 0
    for factor in (Fraction(1, 4), Fraction(1, 2), Fraction(61, 64), Fraction(1)):
        width = float(law.widest(factor, LEVEL, half))
        for f in np.linspace(0, float(factor), 33):
            for r in np.linspace(0, 0.5, 9):
                inside = abs(one + f * two + r) <= width + 1e-6
                assert chances[inside].sum() >= LEVEL
        # Less than the noise alone and then half a unit for what was rounded.
        assert width <= law.width(factor, LEVEL, Fraction(0)) + half
        alone += law.width(factor, LEVEL, half) < width
    # A smaller factor may need more than the largest one does.
    assert alone or level != "2"


def test_wide_noise_is_measured_in_larger_parts_that_keep_the_level():
    wide = PairLaw(np.full(1 << 15, 2.0**-33), (0, 9))
    assert wide.part == Fraction(1, 2)
    law = pair_noise().pair_law
    assert law.part == Fraction(1, 16)
    one, two, chances = points_of(law)
    coarse = PairLaw(law.masses, law.ends)
    vars(coarse)["part"] = Fraction(3, 7)
    width = coarse.widest(Fraction(1), LEVEL, Fraction(1, 2))
    assert width / Fraction(3, 7) == int(width / Fraction(3, 7))
    assert law.widest(Fraction(1), LEVEL, Fraction(1, 2)) <= width
    for f in np.linspace(0, 1, 9):
        for r in np.linspace(0, 0.5, 9):
            inside = abs(one + f * two + r) <= float(width) + 1e-6
            assert chances[inside].sum() >= LEVEL


@pytest.mark.parametrize("factor", ["0", "1/4", "1", "10000000000000000003/7"])
def test_the_points_of_a_window_are_counted_one_by_one(factor):
    law = pair_noise().pair_law
    one, two, chances = points_of(law)
    exact = Fraction(factor)
    for low, high in ((-20, 31), (0, 0), (-7, -3), (5, 4), (-500, 90)):
        parts = 16 * (one.astype(object) * exact.denominator)
        parts = parts + 16 * (two.astype(object) * exact.numerator)
        ends = low * exact.denominator, high * exact.denominator
        inside = ((parts >= ends[0]) & (parts <= ends[1])).astype(bool)
        held = law.inside((exact, exact), low, high)
        assert held == pytest.approx(chances[inside].sum(), abs=1e-8)


def test_a_mean_of_a_pair_has_three_quarters_of_the_error_of_two_draws():
    """Exact mean errors of S - tN in half widths: one draw, and ε/2 for each of two."""
    law = pair_noise().pair_law
    far = len(law.masses) - 1
    one, two = np.meshgrid(np.arange(-far, far + 1), np.arange(-far, far + 1))
    chances = law.masses[np.maximum(abs(one), abs(two))]
    line = np.exp(-abs(np.arange(-60, 61)) / 2)
    line /= line.sum()
    apart = np.outer(line, line)
    first, second = np.meshgrid(np.arange(-60, 61), np.arange(-60, 61))
    for t in (0, 0.3, 1):
        joint = (chances * abs(one - t * two)).sum()
        assert joint < 0.76 * (apart * abs(first - t * second)).sum()


def test_a_pair_at_an_end_says_what_is_possible():
    reading = Reading(
        "mean", offset=-2000, bounds=(0, 90), shows=("mean", "sum", "count")
    )
    noise = pair_noise()
    inside = estimates(reading, [noise], (2000 + 40, 1000 + 500), LEVEL)[()]
    assert [float(x.value) for x in inside] == [48.6, 24300, 500]
    assert all(x.low < x.value < x.high for x in inside)
    held = estimates(reading, [noise], (4000, 1000 + 500), LEVEL)[()]
    assert [(x.low, x.high) for x in held] == [(0, 90), (0, 180000), (0, 2000)]
    nobody = estimates(reading, [noise], (2000, 1000 - 3), LEVEL)[()]
    assert (nobody[0].low, nobody[0].high) == (0, 90)
    with pytest.raises(InputError, match="without its mechanism"):
        estimates(reading, [None], (2000, 1500), LEVEL)


def test_the_last_answer_is_that_of_the_rows():
    """Of two answers and three outputs the last answer is 1."""
    channel = Channel([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    assert noise_of(certify(channel, "count(1)", "ln(2)")).last_answer == 1
