"""A finer number after a published one, by rule: every pair of outputs of small counts."""

from fractions import Fraction
from itertools import pairwise, product as every

import pytest

from tightrope.certify import Mechanism, certify, certify_sharpened, verify
from tightrope.certify.make import encode
from tightrope.certify.theorems.sharpened import mirrored, product
from tightrope.chains import prove_pair
from tightrope.channels import UnboundedNoise
from tightrope.errors import InputError
from tightrope.queries import query


def count(people: int, level: str, relation: str = "change-one") -> Mechanism:
    asked = query(f"count({people})", relation)
    return certify(UnboundedNoise(asked.graph, level), asked, level)


def weight(levels: list[int], distance: int) -> int:
    return levels[min(abs(distance), len(levels) - 1)]


def columns(pair: Mechanism, people: int, first: int) -> dict[int, list[int]]:
    """The weights of all answers for each finer output after one published output."""
    noise = pair.noise
    reach = len(noise.kernel) - 1
    found = {}
    for finer in range(first - reach, first + reach + 1):
        kernel = noise.kernel[abs(first - finer)]
        found[finer] = [
            weight(noise.levels, x - finer) * kernel
            + (weight(noise.rest, x - first) if first == finer else 0)
            for x in range(people + 1)
        ]
    return found


@pytest.mark.parametrize(
    ("low", "high"), [("0.9", "1"), ("ln(2)", "ln(9)"), ("1", "3")]
)
def test_every_pair_of_outputs(low: str, high: str) -> None:
    """The first output has the law of its file, and every pair keeps the finer ratio."""
    people = 4
    coarse = count(people, low)
    pair = prove_pair(coarse, count(people, high)).mechanism
    noise = pair.noise
    ratio = pair.ratio
    reach = coarse.noise.reach
    for first in range(-reach, people + reach + 1):
        found = columns(pair, people, first)
        for x in range(people + 1):
            total = sum(column[x] for column in found.values())
            assert total == noise.scale * weight(coarse.noise.levels, x - first)
        for column in found.values():
            for x in range(people):
                assert column[x] <= column[x + 1] * ratio
                assert column[x + 1] <= column[x] * ratio
    assert 1 - noise.described < Fraction(1, 10**12)


def test_the_finer_output_has_geometric_noise() -> None:
    """Its law is that of the finer file up to what is left over: X₂·T, cell by cell."""
    people = 3
    coarse = count(people, "0.5")
    pair = prove_pair(coarse, count(people, "1")).mechanism
    noise = pair.noise
    reach = coarse.noise.reach
    x = 1
    law: dict[int, int] = {}
    for first in range(-reach, people + reach + 1):
        for finer, column in columns(pair, people, first).items():
            law[finer] = law.get(finer, 0) + column[x]
    total = noise.scale << noise.coarse_bits
    assert sum(law.values()) == total
    apart = sum(
        abs(Fraction(w, total) - Fraction(weight(noise.levels, x - o), noise.total))
        for o, w in law.items()
    )
    assert apart < Fraction(1, 10**12)


def chain_weight(files: list[Mechanism], history: tuple[int, ...], x: int) -> int:
    """C_h(x) by the rule of the theorem, from the first output on."""
    factor = 1
    left = 0
    steps = [file.noise for file in files[1:]]
    for noise, (before, finer) in zip(steps, pairwise(history), strict=False):
        rest = factor * weight(noise.rest, x - before) + noise.scale * left
        left = rest if before == finer else 0
        reach = len(noise.kernel) - 1
        distance = abs(before - finer)
        factor *= noise.kernel[distance] if distance <= reach else 0
    levels = files[len(history) - 1].noise.levels
    return factor * weight(levels, x - history[-1]) + left


def test_four_levels_are_one_chain() -> None:
    """Every triple and quadruple near the truth keeps the last ratio, and adds up to the others."""
    people = 2
    files = [count(people, "0.25")]
    for level in ("0.5", "1", "2"):
        files.append(certify_sharpened(files[-1], level))
    steps = [file.noise for file in files[1:]]
    near = range(-1, people + 2)

    def column(history: tuple[int, ...], x: int) -> int:
        return chain_weight(files, history, x)

    for length in (2, 3, 4):
        for history in every(near, repeat=length):
            values = [column(history, x) for x in range(people + 1)]
            for a, b in pairwise(values):
                assert max(a, b) <= min(a, b) * files[length - 1].ratio
    # Over all finer outputs a quadruple adds up to its triple.
    last = steps[-1]
    reach = len(last.kernel) - 1
    for history in every((0, 1), repeat=3):
        for x in range(people + 1):
            finer = range(history[-1] - reach, history[-1] + reach + 1)
            total = sum(column((*history, o), x) for o in finer)
            assert total == last.scale * column(history, x)


def test_any_size_and_relation() -> None:
    for relation in ("change-one", "add-remove", "either"):
        pair = certify_sharpened(count(10**9, "0.1", relation), "0.2")
        found = verify(pair.to_bytes())
        assert found.private_for_question
        assert "private together with the coarser output" in found.checked[-1]
    assert len(pair.to_bytes()) < 1000


def forged(pair: Mechanism, **weights: object) -> bytes:
    """The same file with other weights, and its own digest."""
    header = dict(pair.header)
    header.pop("sections")
    header["weights"] = {**header["weights"], **weights}
    return encode(header, {}, 1)


def test_a_coarse_law_that_does_not_derive_is_refused() -> None:
    """A coarser level that is finer than the fine one: what is left over is negative."""
    pair = certify_sharpened(count(100, "0.5"), "1")
    other = count(100, "2")
    named = {
        "ratio": str(other.ratio),
        "bits": other.bits,
        "start": other.noise.levels[1],
    }
    found = verify(forged(pair, coarse=named))
    assert not found.private
    assert "the finer noise has more than the coarse one" in found.reasons[0]


def test_a_forced_kernel_breaks_the_check() -> None:
    """With a kernel twice as large, or one entry of what is left over, the check fails."""
    pair = certify_sharpened(count(100, "0.5"), "1")
    noise = pair.noise
    assert not list(noise.faults())
    honest = list(noise.rest)
    noise.kernel = [2 * k for k in noise.kernel]
    noise.rest = noise._rest()
    assert "more than the coarse one" in next(noise.faults())
    noise.rest = [*honest[:7], 4 * honest[7], *honest[8:]]
    assert "what is left over exceeds" in next(noise.faults())


def test_what_is_left_over_may_use_the_whole_ratio() -> None:
    """Between neighbours it may rise or fall by exactly p/q, and by nothing more."""
    noise = certify_sharpened(count(100, "0.5"), "1").noise
    p = noise.ratio.numerator
    q = noise.ratio.denominator
    for allowed in ([p, q], [q, p]):
        noise.rest = allowed
        assert not list(noise.faults())
    for refused in ([p + 1, q], [q, p + 1]):
        noise.rest = refused
        assert "what is left over exceeds" in next(noise.faults())


def test_a_finer_law_of_its_own_that_is_too_steep_is_refused() -> None:
    pair = certify_sharpened(count(100, "0.5"), "1")
    found = verify(forged(pair, start=pair.noise.levels[1] * 9 // 10))
    assert not found.private
    wide = {**pair.header["weights"]["coarse"], "bits": pair.bits + 1}
    found = verify(forged(pair, coarse=wide))
    assert "needs at least the bits" in found.reasons[0]


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="must be above ε = 1"):
        certify_sharpened(count(9, "1"), "1")
    asked = query("sum(100,5)")
    stairs = certify(UnboundedNoise(asked.graph, 1), asked, 1)
    with pytest.raises(InputError, match="noise without ends on one count"):
        certify_sharpened(stairs, 2)
    header = {**count(9, "1").header["weights"], "kind": "sharpened"}
    assert "coarse is missing" in verify(forged(count(9, "1"), **header)).reasons[0]
    wrong = prove_pair(count(9, "1"), count(9, "0.5"))
    assert not wrong
    assert "does not derive" in wrong.reason
    assert wrong.sharpening.nearest is not None


def test_products_of_long_numbers() -> None:
    left = [1 << 70, 0, 3]
    right = [5, 1 << 80]
    plain = [0] * 4
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            plain[i + j] += a * b
    assert product(left, right) == plain
    assert mirrored([7]) == [7]


def test_stopping_by_what_was_published_costs_the_last_level_at_every_outcome() -> None:
    """Ex-post privacy, by enumeration: every history that ends at step m keeps the ratio of m.

    The rule stops when the published number is above 1, or at the third step.
    """
    people = 2
    files = [count(people, "0.5")]
    for level in ("1", "2"):
        files.append(certify_sharpened(files[-1], level))
    outcomes = {1: 0, 2: 0, 3: 0}
    for history in every(range(-2, people + 3), repeat=3):
        steps = next((m for m, o in enumerate(history, 1) if o > 1), 3)
        seen = history[:steps]
        weights = [chain_weight(files, seen, x) for x in range(people + 1)]
        for a, b in pairwise(weights):
            assert max(a, b) <= min(a, b) * files[steps - 1].ratio
        outcomes[steps] += 1
    assert all(outcomes.values())
    # The ratio of the level before is not kept: what is paid is not too much.
    tight = [chain_weight(files, (1, 2), x) for x in range(people + 1)]
    assert max(tight) > min(tight) * files[0].ratio
