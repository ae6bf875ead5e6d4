"""Derivability: exact remaps and exact witnesses, both sides of the border."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import (
    Channel,
    DeterministicChannel,
    GeometricChannel,
    IntegerChannel,
    cascade,
    derivable,
    equal,
    rational,
)
from tightrope.channels.derive import nearest_remap, search_remap
from tightrope.errors import CheckFailed, InputError, TooLarge


def random_channel(rng, rows, columns, total=1000):
    return IntegerChannel(
        [
            rng.multinomial(total - columns, rng.dirichlet(np.ones(columns))) + 1
            for _ in range(rows)
        ]
    )


def sharper(channel, t):
    """Move every row away from the mean row: more than the channel tells for t > 0."""
    rows, columns = channel.shape
    mean = [
        Fraction(int(channel.weights[:, o].sum()), rows * channel.total)
        for o in range(columns)
    ]
    return rational(
        [[channel.fraction(i, o) * (1 + t) - t * mean[o] for o in range(columns)]
         for i in range(rows)]
    )  # fmt: skip


def exact_geometric(size, ratio):
    a = 1 / Fraction(ratio)
    tops = [
        1 / (1 + a) if o in (0, size - 1) else (1 - a) / (1 + a) for o in range(size)
    ]
    return rational(
        [[tops[o] * a ** abs(i - o) for o in range(size)] for i in range(size)]
    )


def gain_of(channel, witness):
    """The best expected gain, computed anew from the definition."""
    rows, columns = channel.shape
    guesses = range(len(witness.gain[0]))
    return sum(
        max(
            sum(
                witness.prior[i] * witness.gain[i][w] * channel.fraction(i, o)
                for i in range(rows)
            )
            for w in guesses
        )
        for o in range(columns)
    )


def check_witness(witness, x, y):
    assert sum(witness.prior) == 1
    assert all(0 <= value <= 1 for row in witness.gain for value in row)
    assert gain_of(x, witness) == witness.first
    assert gain_of(y, witness) == witness.second
    assert witness.first > witness.second


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (4, 6)])
@pytest.mark.parametrize("power", [3, 6, 9, 12, 40])
def test_the_border_is_decided_however_close(shape, power):
    rng = np.random.default_rng(power)
    y = random_channel(rng, *shape)
    step = Fraction(1, 10**power)
    inside, outside = sharper(y, -step), sharper(y, step)
    yes, no = derivable(inside, y), derivable(outside, y)
    assert yes
    assert yes.exact
    assert equal(cascade(y, yes.remap), inside).difference == 0
    assert not no
    assert no.exact
    check_witness(no.witness, outside, y)


def test_what_misses_by_one_unit_is_seen():
    y = IntegerChannel([[10**12, 0], [0, 10**12]])
    assert derivable(y, y)
    blurred = IntegerChannel([[10**12 - 1, 1], [0, 10**12]])
    assert derivable(blurred, y)
    back = derivable(y, blurred)
    assert not back
    check_witness(back.witness, y, blurred)


@pytest.mark.parametrize("size", [20, 40, 60])
def test_less_private_geometric_noise_yields_more_private(size):
    sharp, blurred = exact_geometric(size, 3), exact_geometric(size, 2)
    yes = derivable(blurred, sharp)
    assert yes
    assert equal(cascade(sharp, yes.remap), blurred)
    no = derivable(sharp, blurred)
    assert not no
    assert no.witness.margin > 0


@pytest.mark.parametrize("size", [20, 60])
def test_geometric_noise_in_floats(size):
    one, half = GeometricChannel(size, 1), GeometricChannel(size, "1/2")
    yes = derivable(half, one)
    assert yes
    assert not yes.exact
    assert yes.distance < 1e-12
    no = derivable(one, half)
    assert not no
    assert no.route.startswith("independent columns")
    assert no.distance >= no.witness.margin > 1e-3
    weights = np.array(no.witness.prior)[:, None] * np.array(no.witness.gain)
    gains = [
        (weights.T @ channel.matrix()).max(axis=0).sum() for channel in (one, half)
    ]
    assert gains == pytest.approx([no.witness.first, no.witness.second], abs=1e-12)


@pytest.mark.parametrize("deterministic", [True, False])
def test_many_outputs_are_completed_exactly(deterministic):
    rng = np.random.default_rng(5)
    y = random_channel(rng, 12, 24, 5000)
    if deterministic:
        weights = np.zeros((24, 12), dtype=int)
        weights[np.arange(24), np.r_[np.arange(12), rng.integers(0, 12, 12)]] = 1
        t = IntegerChannel(weights)
    else:
        t = random_channel(rng, 24, 12)
    x = cascade(y, t)
    found = derivable(x, y)
    assert found.route.startswith("interior-point")
    assert equal(cascade(y, found.remap), x)
    other = random_channel(rng, 12, 12, 5000)
    refused = derivable(other, y)
    assert not refused
    check_witness(refused.witness, other, y)


@pytest.mark.parametrize("power", [6, 9, 12, 30])
def test_many_outputs_at_the_border(power):
    rng = np.random.default_rng(3)
    y = random_channel(rng, 10, 20, 5000)
    step = Fraction(1, 10**power)
    inside, outside = sharper(y, -step), sharper(y, step)
    yes, no = derivable(inside, y), derivable(outside, y)
    assert yes.route.startswith("interior-point")
    assert equal(cascade(y, yes.remap), inside).difference == 0
    assert not no
    check_witness(no.witness, outside, y)


def test_what_cannot_be_decided_is_refused_not_guessed(monkeypatch):
    for name in ("completed_remap", "tableau_decision"):
        monkeypatch.setitem(derivable.__globals__, name, lambda *given: None)
    y = random_channel(np.random.default_rng(3), 4, 8)
    with pytest.raises(CheckFailed, match="border"):
        derivable(sharper(y, -Fraction(1, 10)), y)


def test_zero_and_proportional_columns_do_not_matter():
    y = IntegerChannel([[2, 4, 0, 6], [1, 2, 0, 9]])
    small = IntegerChannel([[2, 2], [1, 3]])
    forth, back = derivable(small, y), derivable(y, small)
    assert forth.remap.shape == (4, 2)
    assert back.remap.shape == (2, 4)
    assert equal(cascade(small, back.remap), y)
    assert not derivable(IntegerChannel([[1, 0], [0, 1]]), small)


def test_functions_and_labels():
    y = DeterministicChannel([0, 1, 1], 2)
    constant = IntegerChannel([[1], [1], [1]], outputs=["x"])
    found = derivable(constant, y)
    assert found
    assert found.remap.outputs == ["x"]
    assert not derivable(DeterministicChannel([0, 1, 2], 3), y)


def test_floats_within_the_tolerance():
    y = Channel([[0.75, 0.25], [0.25, 0.75]])
    nearly = Channel([[0.75 + 1e-10, 0.25 - 1e-10], [0.25, 0.75]])
    assert derivable(nearly, y)
    assert 0 < derivable(nearly, y).distance < 1e-9
    assert not derivable(nearly, y, tolerance=1e-12)
    assert not derivable(Channel([[0.76, 0.24], [0.25, 0.75]]), y)


def test_floats_with_more_outputs_than_inputs():
    rng = np.random.default_rng(0)
    y, t = rng.dirichlet(np.ones(9), 4), rng.dirichlet(np.ones(3), 9)
    found = derivable(Channel(y @ t), Channel(y))
    assert found
    assert np.abs(y @ found.remap.matrix() - y @ t).max() < 1e-8
    no = derivable(Channel(np.eye(4)), Channel(y))
    prior, gain = np.array(no.witness.prior), np.array(no.witness.gain)
    assert prior.sum() == pytest.approx(1)
    assert (prior[:, None] * gain).T.dot(y).max(axis=0).sum() == pytest.approx(
        no.witness.second
    )
    assert no.witness.first > no.witness.second


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([[1.0], [1.0]], [[0.25, 0.75], [0.5, 0.5]]),
        ([[1.0], [1.0]], [[0.2, 0.5, 0.3], [0.5, 0.25, 0.25]]),
        ([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]),
        ([[0.3, 0.7]], [[0.5, 0.25, 0.25]]),
        ([[0.25, 0.25, 0.5]] * 3, [[0.1, 0.0, 0.9], [0.1, 0.0, 0.9], [0.5, 0.0, 0.5]]),
    ],
)
def test_what_tells_nothing_is_derived_from_floats(x, y):
    found = derivable(Channel(x), Channel(y))
    assert found
    assert np.array(y) @ found.remap.matrix() == pytest.approx(np.array(x), abs=1e-8)


def test_floats_from_remaps_with_zeros_are_derivable():
    """The last step of the search must not leave the equations by more than it gains."""
    y = Channel([[0.25, 0.25, 0.25, 0.25], [0.2, 0.2, 0.0, 0.6], [0.0, 0.0, 0.0, 1.0]])
    assert derivable(Channel([[0.25, 0.75], [0.2, 0.8], [0.0, 1.0]]), y)
    rng = np.random.default_rng(11)
    for rows, many, few in [(5, 6, 4), (4, 6, 6), (8, 10, 3)] * 8:
        y = rng.integers(1, 9, (rows, many)) * (
            rng.random((rows, many)) < 0.7
        ) + np.eye(rows, many)
        y /= y.sum(axis=1, keepdims=True)
        joined = np.eye(few)[rng.integers(0, few, many)]
        assert derivable(Channel(y @ joined), Channel(y)), (rows, many, few)


@pytest.mark.parametrize("seed", [46, 817, 1413, 1586, 2930])
def test_outputs_of_many_sizes_do_not_hide_a_remap(seed):
    """Near its end the search couples outputs whose flows lie orders apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 9, (5, 9)) * (rng.random((5, 9)) < 0.7) + np.eye(5, 9)
    y /= y.sum(axis=1, keepdims=True)
    few = 2 + seed % 7
    found = derivable(Channel(y @ np.eye(few)[rng.integers(0, few, 9)]), Channel(y))
    assert found
    assert found.distance < 1e-9


def test_refusals():
    with pytest.raises(InputError, match="same inputs, got 2 and 3"):
        derivable(IntegerChannel([[1], [1]]), IntegerChannel([[1], [1], [1]]))
    wide = IntegerChannel(np.ones((1, 1001), dtype=int))
    with pytest.raises(TooLarge, match="remap"):
        derivable(wide, wide)


def test_the_search_has_no_gap():
    rng = np.random.default_rng(2)
    x, y = rng.dirichlet(np.ones(5), 6), rng.dirichlet(np.ones(9), 6)
    found = search_remap(x, y)
    gap = (found.gains * x).sum() - (found.gains.T @ y).max(axis=0).sum()
    assert gap == pytest.approx(found.value, rel=0.1)
    assert found.value > 0
    assert found.remap.sum(axis=1) == pytest.approx(np.ones(9), abs=1e-6)


def test_long_weights_are_decided():
    rng = np.random.default_rng(0)

    def channel():
        rows = [
            [int(v * 2**62) + 1 for v in rng.dirichlet(np.ones(16))] for _ in range(16)
        ]
        for row in rows:
            row[0] += 2**63 - sum(row)
        return IntegerChannel(np.array(rows, dtype=object))

    y = channel()
    x = cascade(y, channel())
    found = derivable(x, y)
    assert equal(cascade(y, found.remap), x).difference == 0
    assert not derivable(y, x)


def total_variation(x, y):
    rows, columns = x.shape
    return max(
        sum(abs(x.fraction(i, o) - y.fraction(i, o)) for o in range(columns)) / 2
        for i in range(rows)
    )


def test_the_nearest_remap_is_the_best_one():
    """Both bounds meet: the identity gains 1/4 more than what tells 3/4 of the truth."""
    sharp, blurred = IntegerChannel([[1, 0], [0, 1]]), IntegerChannel([[3, 1], [1, 3]])
    near = nearest_remap(sharp, blurred)
    assert near.distance == derivable(sharp, blurred).witness.margin == Fraction(1, 4)
    assert not near.is_rounding


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (4, 9), (14, 20)])
@pytest.mark.parametrize("power", [2, 15])
def test_how_near_a_remap_comes(shape, power):
    rng = np.random.default_rng(power)
    y = random_channel(rng, *shape)
    x = sharper(y, Fraction(1, 10**power))
    near, found = nearest_remap(x, y), derivable(x, y)
    assert near.distance == total_variation(x, cascade(y, near.remap))
    assert found.witness.margin <= near.distance <= total_variation(x, y)
    assert near.is_rounding == (power == 15)


def test_rounding_is_told_from_a_difference():
    """A remap whose entries were rounded to integers is one only up to the last bits."""
    rng = np.random.default_rng(1)
    y = IntegerChannel(random_channel(rng, 6, 9).weights.astype(object) * 10**15)
    exact = cascade(y, random_channel(rng, 9, 4))
    moved = exact.weights.astype(object) + rng.integers(-3, 4, exact.shape)
    moved[:, 0] += exact.total - moved.sum(axis=1)
    x = IntegerChannel(moved, exact.total)
    assert nearest_remap(x, y).is_rounding
    assert nearest_remap(x, y).distance < Fraction(1, 10**14)
    assert not nearest_remap(y, x).is_rounding


def test_the_nearest_remap_needs_integers():
    floats = Channel([[0.75, 0.25], [0.25, 0.75]])
    with pytest.raises(InputError, match="integer weights"):
        nearest_remap(floats, floats)
