import numpy as np
import pytest

from tightrope.channels import Channel
from tightrope.channels.compose import reduced
from tightrope.errors import InputError
from tightrope.leakage.measures import hyper, posterior


def test_bayes() -> None:
    channel = Channel([[0.9, 0.1], [0.2, 0.8]])
    assert posterior(channel, 0, [0.1, 0.9]) == pytest.approx([1 / 3, 2 / 3])


def test_an_output_that_cannot_come() -> None:
    with pytest.raises(InputError, match="probability 0"):
        posterior(Channel([[1.0, 0.0], [0.5, 0.5]]), 1, [1.0, 0.0])


def test_a_hyper_distribution_is_as_long_as_the_reduced_channel() -> None:
    channel = Channel([[0.2, 0.1, 0.4, 0.3, 0], [0.4, 0.2, 0.1, 0.3, 0]])
    found = hyper(channel, [0.5, 0.5])
    assert len(found.outer) == reduced(channel).channel.shape[1] == 3
    assert sorted(found.outputs) == [(0, 1), (2,), (3,)]
    assert not found.outer.flags.writeable


def test_different_posteriors_are_kept_apart() -> None:
    found = hyper(Channel([[0.5, 0.5], [0.5 + 1e-6, 0.5 - 1e-6]]))
    assert len(found.outer) == 2


def test_secrets_of_probability_zero_stay_so() -> None:
    found = hyper(Channel(np.eye(3)), [0.5, 0.5, 0.0])
    assert found.posteriors.tolist() == [[1, 0, 0], [0, 1, 0]]
