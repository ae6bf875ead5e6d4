"""Exchange with other libraries: a real OpenDP measurement."""

import math

import opendp.prelude as dp
import pytest

from tightrope.certify import Mechanism, certify
from tightrope.channels import GeometricChannel, ScaledPhi, rational
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import PathPower, petersen
from tightrope.publish import opendp_measurement
from tightrope.publish.sampler import privacy_map


@pytest.fixture(scope="module")
def sums():
    return certify(GeometricChannel(11, "0.5", 5), "sum(2,5)", "0.5")


@pytest.fixture
def features():
    """OpenDP asks for consent to what it cannot check itself."""
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("contrib", "honest-but-curious")


def test_the_privacy_map_counts_steps(sums):
    assert [privacy_map(sums, d) for d in (0, 1, 5, 6, 10, 1000)] == [
        0,
        0.5,
        0.5,
        1,
        1,
        1.5,
    ]
    logarithm = certify(GeometricChannel(6, "ln(3)"), "count(5)", "ln(3)")
    assert math.log(3) < privacy_map(logarithm, 1) < math.log(3) + 1e-14
    for wrong in (-1, math.nan):
        with pytest.raises(InputError, match="at least 0"):
            privacy_map(sums, wrong)


@pytest.mark.usefixtures("features")
def test_opendp_draws_and_maps(sums):
    measurement = opendp_measurement(sums)
    # The true answer is one of 0..10.
    assert measurement.input_domain == dp.atom_domain(bounds=(0, 10), T="i32")
    # There may be more outputs than answers.
    rows = rational([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]])
    bit = opendp_measurement(certify(rows, PathPower(2), "ln(2)"))
    assert bit.input_domain == dp.atom_domain(bounds=(0, 1), T="i32")
    assert {measurement(4) for _ in range(200)} <= set(range(11))
    assert measurement.map(d_in=1) == 0.5
    assert measurement.map(d_in=6) == 1.0
    assert measurement.check(d_in=5, d_out=0.5)
    assert not measurement.check(d_in=6, d_out=0.9)


@pytest.mark.usefixtures("features")
def test_only_a_sound_mechanism_on_a_line_becomes_a_measurement(sums):
    listed = certify(ScaledPhi(petersen(), "ln(2)", 1 / 4), petersen(), "ln(2)")
    with pytest.raises(InputError, match="no distances on a line"):
        opendp_measurement(listed)
    coin = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), PathPower(2), "ln(3)")
    data = bytearray(coin.to_bytes())
    data[-1] ^= 1
    with pytest.raises(CheckFailed, match="digest"):
        opendp_measurement(Mechanism(bytes(data)))
