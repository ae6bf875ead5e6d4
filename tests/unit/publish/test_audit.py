"""An audit passes a sound sampler and catches those that are not."""

import numpy as np
import pytest

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.publish import audit as run_audit
from tightrope.publish.auditing import check_row, spearman
from tightrope.publish.sampler import Sampler


@pytest.fixture(scope="module")
def made():
    return certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")


def test_a_sound_sampler_has_the_right_frequencies(made):
    found = run_audit(made, draws=20_000, timed=500)
    assert [row.row for row in found.rows] == list(range(6))
    assert all(row.passed for row in found.rows)
    assert all(row.draws == 20_000 and row.freedom == 5 for row in found.rows)
    assert found.timed == 500
    assert found.nanoseconds > 0
    assert found.as_dict()["rows"][0]["row"] == 0


def test_a_biased_sampler_is_caught(made, monkeypatch):
    def biased(self, count):
        out = np.random.default_rng(0).choice(6, count, p=made.channel().row(self.row))
        out[: count // 50] = 0
        return out

    monkeypatch.setattr(Sampler, "draw_indices", biased)
    found = run_audit(made, draws=50_000, timed=200, rows=[3])
    assert not found.passed
    assert not found.rows[0].passed
    assert found.rows[0].p_value < 1e-9


def test_a_sampler_whose_time_tells_is_caught(made, monkeypatch):
    def telling(self):
        drawn = int(np.random.default_rng().integers(6))
        sum(range(3_000 * drawn))
        return drawn

    monkeypatch.setattr(Sampler, "draw_index", telling)
    found = run_audit(made, draws=1_000, timed=1_000, rows=[3])
    assert found.correlation > 0.5
    assert not found.passed


def test_an_output_that_cannot_occur_is_an_alarm():
    found = check_row(0, np.array([5, 1]), np.array([4, 0]), 4, 1e-6)
    assert not found.passed
    assert found.p_value == 0


def test_rare_outputs_are_pooled():
    weights = np.array([2**20 - 3, 1, 1, 1])
    found = check_row(0, np.array([1000, 0, 0, 0]), weights, 2**20, 1e-6)
    assert found.freedom == 0
    assert found.passed
    weights = np.array([2**19, 2**19 - 200, 100, 100])
    found = check_row(0, np.array([50_000, 50_000, 10, 10]), weights, 2**20, 1e-6)
    assert found.freedom == 1


def test_ranks_share_ties():
    assert spearman(np.array([1, 1, 2]), np.array([5, 5, 9])) == pytest.approx(1)
    assert spearman(np.array([1, 1, 1]), np.array([5, 6, 9])) == 0
    assert spearman(np.array([1, 2, 3]), np.array([3, 2, 1])) == pytest.approx(-1)


def test_refusals(made):
    with pytest.raises(InputError, match="false-alarm"):
        run_audit(made, false_alarm=0)
    with pytest.raises(InputError, match="at least 100 draws"):
        run_audit(made, draws=5)
    with pytest.raises(InputError, match="timed"):
        run_audit(made, timed=5)
