import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel
from tightrope.errors import InputError
from tightrope.leakage import estimate_population
from tightrope.mechanisms import randomized_response


def test_exact_frequencies_give_the_true_distribution() -> None:
    channel = GeometricChannel(6, "ln(2)")
    truth = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    counts = np.round(truth @ channel.matrix() * 48_000).astype(int)
    found = estimate_population(channel, counts, resamples=0)
    assert found.converged
    assert found.gap <= 1e-10
    assert found.identifiable
    assert found.releases == counts.sum()
    assert found.distribution == pytest.approx(truth, abs=1e-3)


def test_the_truth_lies_in_the_intervals_mostly() -> None:
    channel = randomized_response(4, 1)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(20):
        counts = rng.multinomial(2000, truth @ channel.matrix())
        found = estimate_population(channel, counts, resamples=60)
        inside += int(((found.low <= truth) & (truth <= found.high)).sum())
    # 80 intervals at 95 %.
    assert 66 <= inside <= 80


def test_more_releases_make_it_narrower() -> None:
    channel = randomized_response(3, 1)
    few = estimate_population(channel, [30, 20, 10], resamples=80)
    many = estimate_population(channel, [3000, 2000, 1000], resamples=80)
    assert (many.high - many.low).max() < (few.high - few.low).max() / 3


def test_a_distribution_at_the_border() -> None:
    found = estimate_population(
        randomized_response(3, "ln(2)"), [50, 25, 20], resamples=0
    )
    assert found.converged
    assert found.distribution[2] == pytest.approx(0, abs=1e-6)


def test_a_channel_with_dependent_rows_says_so() -> None:
    channel = Channel([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    found = estimate_population(channel, [50, 50], resamples=0)
    assert not found.identifiable
    assert found.distribution @ channel.matrix() == pytest.approx([0.5, 0.5], abs=1e-4)


def test_it_is_repeatable() -> None:
    channel = randomized_response(3, 1)
    one, two = (
        estimate_population(channel, [5, 6, 7], resamples=20, seed=9) for _ in range(2)
    )
    assert np.array_equal(one.low, two.low)
    other = estimate_population(channel, [5, 6, 7], resamples=20, seed=10)
    assert not np.array_equal(one.low, other.low)


@pytest.mark.parametrize(
    "counts", [[1, 2], [1, 2, -1], [0.5, 1, 1], [0, 0, 0], [1, 2, np.inf], ["a", 1, 2]]
)
def test_wrong_counts_are_refused(counts: list[float]) -> None:
    with pytest.raises(InputError):
        estimate_population(randomized_response(3, 1), counts)


def test_an_impossible_output_is_refused() -> None:
    with pytest.raises(InputError, match="never reports"):
        estimate_population(Channel([[1.0, 0.0], [1.0, 0.0]]), [3, 1])


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match="confidence"):
        estimate_population(randomized_response(3, 1), [1, 1, 1], confidence=1.0)
