"""Exact draws: every number drawn falls into the right interval, whatever the size."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tightrope as tr
from tightrope.certify import certify, make
from tightrope.channels import GeometricChannel, IntegerChannel
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import Clique, PathPower
from tightrope.publish import Sampler
from tightrope.publish.sampler import _draw_place


def exact(weights):
    return certify(IntegerChannel([weights, weights]), PathPower(2), "1")


def words(numbers, bits):
    """What the operating system would have to return for these numbers to be drawn."""
    limbs = []
    if bits % 64:
        limbs.append([x >> (bits - bits % 64) << (64 - bits % 64) for x in numbers])
    for k in range(bits // 64 - 1, -1, -1):
        limbs.append([x >> (64 * k) & (2**64 - 1) for x in numbers])
    return [np.array(limb, np.uint64).tobytes() for limb in limbs]


@pytest.mark.parametrize(
    "weights",
    [
        [4],
        [1, 1],
        [3, 1],
        [1, 0, 2, 0, 5],
        [1] * 8,
        [2**61, 2**60, 1, 2**60 - 1],
        [2**63, 2**63 - 1, 1],
        [2**64 - 2, 1, 0, 1],
        [2**100, 2**99, 2**99 - 3, 3],
        [2**127, 2**126, 2**126 - 1, 1],
        [2**128 - 1, 1],
    ],
    ids=str,
)
def test_every_interval_has_its_own_numbers(weights, monkeypatch):
    made = exact(weights)
    sampler = Sampler(made, 0)
    kept = [w for w in weights if w]
    ends = np.cumsum(np.array(kept, object)).tolist()
    total = ends[-1]
    assert total == 1 << sampler.bits
    numbers = sorted(
        {x for e in [0, *ends] for x in (e - 1, e, e + 1) if 0 <= x < total}
    )
    wanted = [next(o for o, end in enumerate(ends) if x < end) for x in numbers]
    queue = words(numbers, sampler.bits)
    found = sampler._look_up(len(numbers), lambda count: queue.pop(0))
    assert found.tolist() == wanted
    for x, o in zip(numbers, wanted, strict=True):
        single = words([x], sampler.bits)
        monkeypatch.setattr(os, "urandom", lambda count, single=single: single.pop(0))
        assert sampler.draw_index() == o
        monkeypatch.undo()


def test_work_does_not_depend_on_what_is_drawn():
    sampler = Sampler(certify(GeometricChannel(100, "1"), PathPower(100), "1"), 50)
    assert sampler.comparisons == 99
    assert sampler.rounds == 7
    assert sampler.bits == 62


def test_bits_come_from_the_operating_system(monkeypatch):
    asked = []
    sampler = Sampler(exact([3, 1]), 0)
    monkeypatch.setattr(
        os, "urandom", lambda count: asked.append(count) or bytes(count)
    )
    assert sampler.draw_index() == 0
    assert sampler.draw_indices(5).tolist() == [0] * 5
    assert asked == [8, 40]


def test_two_processes_do_not_draw_the_same():
    """After a fork there is nothing that both could share."""
    if not hasattr(os, "fork"):
        pytest.fail("this test is for systems with fork")
    code = (
        "import os\n"
        "from tightrope.certify import certify\n"
        "from tightrope.channels import GeometricChannel\n"
        "from tightrope.graphs import PathPower\n"
        "from tightrope.publish import Sampler\n"
        "s = Sampler(certify(GeometricChannel(100, '0.1'), PathPower(100), '0.1'), 50)\n"
        "s.draw()\n"
        "child = os.fork()\n"
        "print([s.draw() for _ in range(20)], flush=True)\n"
        "os._exit(0) if child == 0 else os.wait()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first != second


def test_labels_of_the_outputs():
    graph = tr.query("choice(3)").graph
    made = certify(IntegerChannel([[2, 1, 1]] * 3, outputs=["a", "b", "c"]), graph, "1")
    drawn = Sampler(made, 1).draws(200)
    assert set(drawn) == {"a", "b", "c"}
    assert Sampler(made, 1).draw() in {"a", "b", "c"}


def test_a_million_answers(monkeypatch):
    monkeypatch.setattr(make, "RULE_FROM", 2)
    made = certify(GeometricChannel(3001, "1", 2), "sum(1500,2)", "1")
    sampler = Sampler(made, 1500)
    assert sampler.bits > 64
    drawn = sampler.draw_indices(20_000)
    assert abs(drawn.mean() - 1500) < 0.5
    assert abs(sampler.draw_index() - 1500) < 200


def test_refusals():
    made = exact([3, 1])
    with pytest.raises(InputError, match="places are numbered"):
        Sampler(made, 2)
    for count in (-1, 1.5, True):
        with pytest.raises(InputError, match="whole number"):
            Sampler(made, 0).draw_indices(count)
    with pytest.raises(TooLarge, match="draw in parts"):
        Sampler(made, 0).draw_indices(10**9)


def test_no_seed_can_be_given():
    made = certify(IntegerChannel([[1, 1]] * 2), Clique(2), "1")
    with pytest.raises(TypeError):
        Sampler(made, 0, seed=1)


def test_a_place_starts_at_the_sum_of_the_weights_before_it():
    """The numbers 0, 1, 2, 3 that a source can give lie at the places of 1 + 2 + 1 weights."""
    bits = 8
    unit = (1 << bits) // 4
    places = [
        _draw_place(
            [1, 2, 1], bits, lambda width, n=n: (n * unit).to_bytes(width, "little")
        )
        for n in range(4)
    ]
    assert places == [0, 1, 1, 2]
