"""Draws of noise without ends: by layer, inside layers, at the ends, and in a release."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from tightrope.certify import Mechanism, certify
from tightrope.channels import GeometricChannel, UnboundedNoise
from tightrope.errors import InputError
from tightrope.graphs.unbounded import NoiseLattice
from tightrope.publish import release
from tightrope.publish.facts import Column
from tightrope.publish.noise import confidence_set, promised_error
from tightrope.publish.sampler import LatticeSampler
from tightrope.queries import query

FALSE_ALARM = 1e-6


def made(
    text: str, near: str = "change-one", core: int = 0, epsilon: str = "1"
) -> Mechanism:
    asked = query(text, near)
    return certify(UnboundedNoise(asked.graph, epsilon, core), asked, epsilon)


def beside(lattice: NoiseLattice, t: int, a: int) -> float:
    """Return how many points at distance t have a as their first coordinate."""
    if not a:
        return lattice.within(t, 0)
    return (lattice.within(t, abs(a)) - lattice.within(t, abs(a) - 1)) / 2


def fits(seen: list[int], chances: list[float]) -> bool:
    """Whether counts fit to chances; what is expected less than 20 times is pooled."""
    draws = sum(seen)
    pairs = [(x, draws * p) for x, p in zip(seen, chances, strict=True)]
    large = [pair for pair in pairs if pair[1] >= 20]
    rest = draws - sum(x for x, _ in large), draws - sum(e for _, e in large)
    cells = [*large, rest] if rest[1] >= 20 else large
    counts, expected = np.array(cells).T
    expected *= counts.sum() / expected.sum()
    return bool(chisquare(counts, expected).pvalue >= FALSE_ALARM)


@pytest.mark.parametrize("answer", [2**53 + 1, 10**17 + 1, 2**63 + 3, 10**19 - 5])
def test_large_sums_are_drawn_around_in_whole_numbers(answer: int) -> None:
    """As a float an answer moved by up to 1,024: neighbours came further apart than one step."""
    file = made("sum(10000000000,1000000000)")
    sampler = LatticeSampler(file, answer)
    assert sampler.centre == (answer,)
    points = sampler.draw_points(200).ravel().tolist()
    assert max(abs(point - answer) for point in points) < 10**13
    assert {point % 2 for point in points} == {0, 1}
    assert all(0 <= drawn <= 10**19 for drawn in sampler.draws(20))


def test_a_million_draws_are_right_by_layer_and_inside_layers() -> None:
    file = made("histogram(6000,8)")
    sampler = LatticeSampler(file, (750,) * 8)
    points = sampler.draw_points(1_000_000) - 750
    assert not points.sum(axis=1).any()
    layers = abs(points).sum(axis=1) // 2
    noise = file.noise
    assert noise is not None
    seen = np.bincount(layers, minlength=noise.reach)[: noise.reach].tolist()
    chances = [
        n * w / file.total for n, w in zip(noise.sizes, noise.levels, strict=False)
    ]
    assert fits(seen, chances)
    for t in (1, 2):
        inside = Counter(map(tuple, points[layers == t].tolist()))
        everything = sampler.lattice.points(t, range(noise.sizes[t])).tolist()
        assert fits(
            [inside[tuple(z)] for z in everything],
            [1 / noise.sizes[t]] * noise.sizes[t],
        )
    for t in (5, 9):
        # Further out, points are compared by their coordinates.
        mine = points[layers == t]
        first = [int((mine[:, 0] == a).sum()) for a in range(-t, t + 1)]
        assert fits(
            first,
            [beside(sampler.lattice, t, a) / noise.sizes[t] for a in range(-t, t + 1)],
        )
        last = [int((mine[:, 7] == a).sum()) for a in range(-t, t + 1)]
        assert fits(
            last,
            [beside(sampler.lattice, t, a) / noise.sizes[t] for a in range(-t, t + 1)],
        )


@pytest.mark.parametrize(
    ("text", "near", "core", "answer"),
    [
        ("sum(3000,5)", "change-one", 1, 4000),
        ("counts(9000,3)", "change-one", 0, (1, 4500, 9000)),
        ("counts(9000,2)", "add-remove", 0, (1, 4500)),
        ("histogram(900,4)", "add-remove", 0, (0, 1, 400, 400)),
        ("histogram(900,3)", "either", 0, (0, 1, 400)),
    ],
)
def test_other_lattices_are_right_by_layer_and_coordinate(
    text: str, near: str, core: int, answer: int | tuple[int, ...]
) -> None:
    file = made(text, near, core)
    sampler, noise = LatticeSampler(file, answer), file.noise
    assert noise is not None
    points = sampler.draw_points(60_000) - np.array(sampler.centre)
    for place in range(points.shape[1]):
        chances = [
            sum(
                beside(sampler.lattice, t, a) * w
                for t, w in enumerate(noise.levels[: noise.reach])
            )
            / file.total
            for a in range(-9, 10)
        ]
        near = [int((points[:, place] == a).sum()) for a in range(-9, 10)]
        assert fits([*near, len(points) - sum(near)], [*chances, 1 - sum(chances)])


def test_every_number_of_a_draw_has_its_own_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first and the last number of each layer give its first and last point, nothing else."""
    file = made("sum(3000,5)", core=1)
    sampler, noise = LatticeSampler(file, 4000), file.noise
    assert noise is not None
    starts = sampler._starts.tolist()
    assert starts[0] == 0
    for t, (first, last) in enumerate(pairwise(starts[1:6])):
        words = [n.to_bytes(-(-sampler.bits // 8), "little") for n in (first, last - 1)]
        low, high = sampler.draw_points(
            2, lambda _, words=words: b"".join(words)
        ).ravel()
        ends = sampler.lattice.points(t, [0, noise.sizes[t] - 1]).ravel() + 4000
        assert [low, high] == ends.tolist()
    flat = (file.total - 1).to_bytes(-(-sampler.bits // 8), "little")
    (last_one,) = sampler.draw_points(1, lambda _: flat)[0]
    assert last_one == 15000 + 1 + 5 * noise.reach


def test_outputs_are_held_between_the_ends() -> None:
    file = made("histogram(60,3)")
    for answer in ((60, 0, 0), (0, 0, 60), (1, 1, 58)):
        for output in LatticeSampler(file, answer).draws(300):
            assert isinstance(output, tuple)
            assert all(0 <= number <= 60 for number in output)
    with pytest.raises(InputError, match="no noise on a lattice"):
        LatticeSampler(certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)"), 0)


@pytest.mark.parametrize("answer", [(750,) * 8, (0, 0, 0, 1, 2, 3, 2994, 3000)])
def test_intervals_of_histograms_cover(answer: tuple[int, ...]) -> None:
    file = made("histogram(6000,8)")
    sampler, draws, level = LatticeSampler(file, answer), 400, Fraction(9, 10)
    hits = np.zeros(8)
    for output in sampler.draws(draws):
        bounds = confidence_set(file, output, level).bounds
        hits += [
            low <= x <= high for x, (low, high) in zip(answer, bounds, strict=True)
        ]
    # Each number misses with at most a tenth: six standard deviations more is an alarm.
    assert (hits / draws >= 0.9 - 6 * np.sqrt(0.09 / draws)).all()
    assert max(promised_error(file, level)) >= 3


def test_groups_of_a_large_table_are_released(tmp_path: Path) -> None:
    names = ["north", "south", "east", "west"]
    people = 200_000
    table = pa.table({"region": np.array(names)[np.arange(people) % 3].tolist()})
    file = made(f"histogram({people},5)")  # four regions, and all others
    found = release(
        file,
        data=table,
        sql="select region, count(*) from people group by region",
        columns={"region": Column("region", "text", values=tuple(names))},
        ledger=tmp_path / "ledger.db",
        budget=2,
    )
    assert isinstance(found.answer, tuple)
    truth = [66_667, 66_667, 66_666, 0, 0]
    assert all(abs(x - y) <= 40 for x, y in zip(found.answer, truth, strict=True))
    assert found.interval is not None
    assert len(found.interval.bounds) == 5
