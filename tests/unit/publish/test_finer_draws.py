"""Draws of a finer number after published ones: their law, and what is refused."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tightrope.certify import certify
from tightrope.channels import UnboundedNoise
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.facts import Facts, Table
from tightrope.publish.noise import Noise, checked_mechanism, sharpened
from tightrope.publish.releasing import Request
from tightrope.publish.sampler import FinerSampler
from tightrope.publish.shapes import Count
from tightrope.queries import query


def chain(people: int, *levels: str) -> list[Noise]:
    asked = query(f"count({people})")
    noises = [
        checked_mechanism(
            certify(UnboundedNoise(asked.graph, levels[0]), asked, levels[0])
        )
    ]
    for level in levels[1:]:
        noises.append(sharpened(noises[-1], Epsilon.of(level)))
    return noises


def drawn(noises: list[Noise], answers: list[int]) -> list[list[int]]:
    """The numbers of every level for each answer, drawn one level after the other."""
    published = [[number] for number in noises[0].draw_cells(answers)]
    for noise in noises[1:]:
        finer = noise.after(published).draw_cells(answers)
        published = [[*numbers, o] for numbers, o in zip(published, finer, strict=True)]
    return published


class EveryNumber:
    """In the place of random bytes: numbers that run evenly through all that there are."""

    def __init__(self, draws: int) -> None:
        self.draws, self.at = draws, 0

    def __call__(self, width: int) -> bytes:
        number = ((2 * self.at + 1) << 8 * width) // (2 * self.draws)
        self.at += 1
        return number.to_bytes(width, "little")


@pytest.mark.parametrize("published", [[3], [5, 4], [4, 4]])
def test_the_law_of_a_draw_is_that_of_the_theorem(published: list[int]) -> None:
    people, x, draws = 9, 4, 5000
    noises = chain(people, "0.5", "1", "2")[: len(published) + 1]
    step = noises[-1].file.noise
    source = EveryNumber(draws)
    sampler = FinerSampler(noises[-1].steps)
    outputs = [sampler.draw(x, published, source) for _ in range(draws)]
    # Of a history without repetition, what is left over of earlier steps is 0; of (4, 4) it is
    # less than 1e-12 of the rest.
    total = step.scale * step.coarse.levels[abs(x - published[-1])]
    for o in range(published[-1] - 6, published[-1] + 7):
        weight = step.levels[abs(x - o)] * step.kernel[abs(published[-1] - o)]
        if o == published[-1]:
            weight += step.rest[abs(x - o)]
        assert abs(Fraction(outputs.count(o), draws) - Fraction(weight, total)) < (
            Fraction(2, draws)
        )


@pytest.mark.parametrize("published", [[3], [5, 4], [4, 4], [4, 4, 4], [6, 5, 5]])
def test_the_weights_of_a_draw_add_up_exactly(
    published: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left over is about 1e-16 of the weights: too little to be noticed in draws."""
    people, x = 9, 4
    noises = chain(people, "0.5", "1", "2", "4")[: len(published) + 1]
    steps = [noise.file.noise for noise in noises[1:]]
    offered: list[int] = []

    def note(weights: list[int], bits: int, source: object) -> int:
        offered.extend(weights)
        return 0

    monkeypatch.setattr("tightrope.publish.sampler._draw_place", note)
    lowest = FinerSampler(noises[-1].steps).draw(x, published)

    def chances(history: list[int]) -> int:
        """The weight of a history, by the theorem's recursion from the first output."""
        kept = steps[0].coarse.levels[abs(x - history[0])]
        factor, left = 1, 0
        for step, (before, finer) in zip(steps, pairwise(history), strict=False):
            apart = abs(before - finer)
            rest = factor * step.rest[abs(x - before)] + step.scale * left
            left = rest if before == finer else 0
            factor *= step.kernel[apart] if apart < len(step.kernel) else 0
            kept = factor * step.levels[abs(x - finer)] + left
        return kept

    assert offered == [
        chances([*published, lowest + place]) for place in range(len(offered))
    ]
    assert sum(offered) == steps[len(published) - 1].scale * chances(published)


def test_mean_errors_and_coverage_of_ten_thousand_chains() -> None:
    """The errors of ε = .25, .5 and 1 as single answers would have them; intervals hold."""
    chains = 10_000
    noises = chain(1000, "0.25", "0.5", "1")
    numbers = np.array(drawn(noises, [400] * chains))
    errors = np.abs(numbers - 400)
    for place, (noise, mean) in enumerate(zip(noises, (3.96, 1.92, 0.85), strict=True)):
        mine = errors[:, place]
        assert abs(mine.mean() - mean) < 6 * mine.std() / chains**0.5 + 0.005
        (width,) = noise.error("0.95")
        # Coverage is above 95 % by the law: six standard deviations of 10,000 draws.
        assert (mine <= width).mean() > 0.95 - 6 * (0.05 * 0.95 / chains) ** 0.5
        assert np.array_equal(
            mine <= width,
            [
                low <= 400 <= high
                for low, high in (
                    noise.interval(int(o)).bounds[0] for o in numbers[:, place]
                )
            ],
        )


def test_the_error_of_a_finer_answer_counts_what_is_left_over() -> None:
    """P(|o₂ - x| > r), with everything that is left over outside, is at most 5 %."""
    coarse, fine = chain(1000, "0.5", "1")
    (width,) = fine.error("0.95")
    step = fine.file.noise
    inside = 2 * sum(step.levels[: width + 1]) - step.levels[0]
    assert Fraction(inside, step.total) * step.described >= Fraction(19, 20)
    narrower = 2 * sum(step.levels[:width]) - step.levels[0]
    assert Fraction(narrower, step.total) < Fraction(19, 20)
    assert coarse.error("0.95")[0] > width


def test_numbers_beyond_the_ends_are_shown_within_them() -> None:
    coarse, fine = chain(1000, "0.5", "1")
    for noise in (coarse, fine):
        (below,) = noise.estimates(-2, Fraction(19, 20))
        (above,) = noise.estimates(1002, Fraction(19, 20))
        assert (below.value, below.low) == (0, 0)
        assert (above.value, above.high) == (1000, 1000)
    with pytest.raises(InputError, match="not an output"):
        coarse.interval(10**9)
    with pytest.raises(InputError, match="not an output"):
        fine.interval("x")


def test_numbers_of_another_chain_are_refused_before_anything_is_drawn() -> None:
    _, fine, finer = chain(1000, "0.5", "1", "2")
    with pytest.raises(InputError, match="cannot follow each other"):
        finer.after([[400, 900]])
    with pytest.raises(InputError, match="follows as many numbers"):
        finer.after([[400]])
    with pytest.raises(InputError, match="must be above"):
        sharpened(fine, Epsilon.of("0.9"))


def test_a_finer_mechanism_is_not_released_alone() -> None:
    _, fine = chain(1000, "0.5", "1")
    table = Table("people", 1000, source="people.csv", budget=Fraction(1))
    with pytest.raises(InputError, match="after one that is published"):
        Request((fine,), Count(table), Facts({"people": table}))
