"""Many cells from the mechanism of one count: the law, the flat part, what is refused."""

import numpy as np
import pytest

from tightrope.certify import certify
from tightrope.channels import UnboundedNoise
from tightrope.errors import InputError
from tightrope.publish.sampler import CellSampler, LatticeSampler
from tightrope.queries import query


def lattice_noise(text, relation, epsilon="1"):
    asked = query(text, relation)
    return certify(UnboundedNoise(asked.graph, epsilon), asked, epsilon)


def words(mechanism, number):
    """Return a source that gives one random number, as the sampler asks for its limbs."""
    bits = mechanism.bits
    limbs = [number >> (64 * k) & (2**64 - 1) for k in range(bits // 64, -1, -1)]
    limbs[0] <<= 64 - bits % 64

    def source(count):
        return limbs.pop(0).to_bytes(8, "little") * (count // 8)

    return source


@pytest.mark.parametrize("text", ["count(1000000)", "sum(1000,3)"])
def test_each_value_has_the_weight_of_the_mechanism(text):
    mechanism = lattice_noise(text, "change-one")
    noise = mechanism.noise
    cells = CellSampler(mechanism)
    last = noise.levels[-1]
    width = mechanism.question.graph.unbounded.width
    start = 0
    # The first and the last number of each of the first values are drawn as that value.
    for value in (0, *range(-width, 0), *range(1, width + 1)):
        weight = (
            noise.levels[0 if value == 0 else 1]
            - last
            + (noise.odd if value == 0 else 0)
        )
        for number in (start, start + weight - 1):
            source = words(mechanism, number)
            assert cells.draw_cells(np.array([500]), source)[0] in range(
                500 - width, 501 + width
            )
        start += weight
    counts = np.zeros(20_000, np.int64)
    generator = np.random.default_rng(7)
    drawn = cells.draw_cells(counts, generator.bytes)
    for value in range(-2 * width, 2 * width + 1):
        layer = -(-abs(value) // width)
        share = noise.levels[layer] / mechanism.total
        assert np.mean(drawn == value) == pytest.approx(
            share, abs=5 * np.sqrt(share / 20_000)
        )


def test_the_flat_part_is_any_answer():
    mechanism = lattice_noise("count(1000)", "add-remove")
    source = words(mechanism, mechanism.total - 1)
    generator = np.random.default_rng(1)
    limbs = mechanism.bits // 64 + 1
    left = [source(8) for _ in range(limbs)]

    def first_words_then_any(count):
        return left.pop(0) if left else generator.bytes(count)

    (drawn,) = CellSampler(mechanism).draw_cells(np.array([3]), first_words_then_any)
    reach = mechanism.noise.reach
    assert -reach <= drawn <= 1000 + reach


@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_every_number_of_the_flat_part_has_its_point(relation):
    mechanism = lattice_noise("count(1000)", relation, "1/10")
    noise = mechanism.noise
    assert noise.levels[-1] == 10  # several numbers lead to one point
    lattice = mechanism.question.graph.unbounded
    size = noise.floor
    bits = size.bit_length()
    unused = -bits % 8
    points = size // noise.levels[-1]

    def point(*numbers):
        """Draw with random bytes whose first bits are these numbers, one after the other."""
        left = [
            (number << unused).to_bytes((bits + unused) // 8, "little")
            for number in numbers
        ]
        source = LatticeSampler(mechanism, 0)
        drawn = source.flat_point(lambda count: left.pop(0)[:count])
        return drawn, len(left)

    for place in (0, 1, points // 3, points - 1):
        (expected,) = lattice.point_around(noise.reach, place)
        for number in (place * noise.levels[-1], (place + 1) * noise.levels[-1] - 1):
            assert point(number) == (expected, 0)
    # Numbers beyond the part are drawn again.
    (last,) = lattice.point_around(noise.reach, points - 1)
    assert point((1 << bits) - 1, size, size - 1) == (last, 0)


def test_small_counts_get_negative_outputs_too():
    cells = CellSampler(lattice_noise("count(1000)", "add-remove"))
    drawn = cells.draw_cells(np.zeros(2000, np.int64))
    assert drawn.min() < 0


def test_a_mechanism_of_several_numbers_is_refused():
    with pytest.raises(InputError, match="no noise on one number"):
        CellSampler(lattice_noise("histogram(100,3)", "change-one"))
