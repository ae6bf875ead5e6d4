import pytest

from tightrope.channels.privacy import smallest_epsilon
from tightrope.errors import InputError
from tightrope.graphs import Clique
from tightrope.leakage import leakage_without_privacy, min_entropy_leakage


def test_hardly_any_leakage_and_no_privacy_to_speak_of() -> None:
    shown = leakage_without_privacy(1e-4, 1e-8, inputs=6, outputs=4)
    assert shown.leakage_bits == pytest.approx(0, abs=1e-12)
    assert shown.leakage_bits == min_entropy_leakage(shown.channel, shown.prior)
    assert shown.epsilon > 15
    assert smallest_epsilon(shown.channel, Clique(6)).value == pytest.approx(
        shown.epsilon
    )


def test_with_an_even_prior_the_same_channel_leaks() -> None:
    shown = leakage_without_privacy(0.5, 0.9, inputs=2, outputs=4)
    assert shown.leakage_bits > 0.1


@pytest.mark.parametrize("bad", [(0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1)])
def test_probabilities_are_checked(bad: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        leakage_without_privacy(*bad)
    with pytest.raises(InputError, match="at least 2"):
        leakage_without_privacy(0.5, 0.5, inputs=1)
