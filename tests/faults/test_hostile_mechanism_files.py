"""Files made to hurt: refused quickly, with bounded memory, and never with a traceback."""

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
import zlib
from fractions import Fraction

import numpy as np
import pytest
from tests.forged import forged, unpack as parts

from tightrope.certify import certify, verify
from tightrope.certify.kernel.format import MAGIC, VERSION
from tightrope.certify.make import encode
from tightrope.channels import GeometricChannel
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.queries import query

#: Most memory that a refusal may take, in bytes.
MEMORY = 100 << 20


@pytest.fixture(scope="module")
def made():
    return certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")


def raw(header_text, body=b""):
    """A file with any text as its header and a digest that fits."""
    text = header_text if isinstance(header_text, bytes) else header_text.encode()
    data = (
        MAGIC
        + VERSION.to_bytes(2, "little")
        + len(text).to_bytes(4, "little")
        + text
        + body
    )
    return data + hashlib.sha256(data).digest()


def refused(data):
    """Verify within bounded memory; the one reason is returned."""
    tracemalloc.start()
    try:
        found = verify(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY + len(data), f"{peak >> 20} MiB"
    assert found.private is False
    assert found.optimal_within is None
    assert len(found.reasons) >= 1
    assert "\n" not in found.reasons[0]
    return found.reasons[0]


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


HEADERS = {
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a huge number": '{"sections":' + "9" * 1_000_000 + "}",
    "not JSON": "{]",
    "not text": b"\xff\xfe\xff",
    "NaN": '{"sections":NaN}',
    "a key twice": '{"a":1,"a":2,"sections":[]}',
    "spaces": '{"sections": []}',
    "a list": "[]",
    "a number": "1",
    "nothing": "{}",
    "null sections": '{"sections":null}',
}


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_headers_that_are_not_sound(text):
    assert refused(raw(text))


def described(made, body, **changes):
    """The file with its section of weights described otherwise."""
    header, _ = parts(made)
    part = {"name": "weights", "width": 8, "count": 36, "bytes": [len(body)]}
    return raw(canonical({**header, "sections": [{**part, **changes}]}), body)


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 10**30},
        {"count": -1},
        {"count": 0},
        {"count": 1.5},
        {"count": True},
        {"count": 1 << 39},
        {"width": 7},
        {"width": 12},
        {"width": 16},
        {"width": 1 << 20},
        {"bytes": []},
        {"bytes": [-30]},
        {"bytes": [1 << 39]},
        {"bytes": [15, 15]},
        {"bytes": "30"},
        {"name": 5},
        {"name": None},
        {"name": "prices"},
        {"chunk": 36},
    ],
    ids=str,
)
def test_sections_of_absurd_size(made, changes):
    assert refused(described(made, b"x" * 30, **changes))


def test_a_compression_bomb_is_not_unpacked(made):
    """A gigabyte of zeros in a megabyte, said to be 36 numbers."""
    worker = zlib.compressobj(9)
    bomb = (
        b"".join(worker.compress(bytes(1 << 20)) for _ in range(1024)) + worker.flush()
    )
    assert "does not hold what it claims" in refused(described(made, bomb))


def test_a_claim_that_no_compression_can_keep(made):
    small = zlib.compress(bytes(1000))
    header, _ = parts(made)
    header["query"] = f"count({(1 << 20) - 1})"
    header["weights"] = {"kind": "dense", "bits": 62, "outputs": 1}
    header["outputs"] = ["x"]
    part = {"name": "weights", "width": 8, "count": 1 << 20, "bytes": [len(small)]}
    assert "cannot hold" in refused(
        raw(canonical({**header, "sections": [part]}), small)
    )


OWN = {"nodes": 6, "labels": None, "edges": 5, "lengths": ["1"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph", {"box": [[6, 1]]}),
        ("graph", OWN),
        ("graph", []),
        ("weights", {"kind": "dense", "bits": 10**9, "outputs": 6}),
        ("weights", {"kind": "dense", "bits": 62, "outputs": 10**18}),
        ("weights", {"kind": "dense", "bits": 62, "outputs": 0}),
        ("weights", {"kind": "../../etc/passwd", "bits": 62, "outputs": 6}),
        (
            "weights",
            {
                "kind": "levels",
                "bits": 62,
                "outputs": 6,
                "steps": [1],
                "levels": [1] * 10,
            },
        ),
        ("weights", None),
        ("epsilon", {"multiple": "9" * 5000, "base": None}),
        ("epsilon", {"multiple": "1/0", "base": None}),
        ("epsilon", {"multiple": "1e9", "base": None}),
        ("epsilon", {"multiple": "-1", "base": None}),
        ("epsilon", {"multiple": "1", "base": "1"}),
        ("epsilon", {"multiple": "1" + "0" * 1999, "base": "1" + "0" * 1999}),
        ("epsilon", "ln(2)"),
        ("ratios", []),
        ("ratios", ["9" * 5000]),
        ("ratios", ["2/0"]),
        ("ratios", ["4/2"]),
        ("ratios", ["1/2"]),
        ("ratios", ["3"]),
        ("ratios", ["2", "4"]),
        ("ratios", [["1", "2", "1"]]),
        ("ratios", [2]),
        ("inputs", {"start": "0", "step": "1"}),
        ("outputs", {"list": [0, 1, 2, 3, 4, 5]}),
        ("outputs", [0, 1, 2, 3, 4]),
        ("outputs", [0, 1, 2, 3, 4, 4]),
        ("outputs", [0, 1, 2, 3, 4, True]),
        ("outputs", "abcdef"),
        ("neighbours", "cousins"),
        ("neighbours", None),
        ("query", 5),
        ("query", None),
        ("query", "count(6)"),
        ("format", "tightrope mechanism"),
        ("expected_loss", "1/2"),
        ("bound", "0"),
        ("certificate", {"kind": "envelope", "bits": 60}),
        ("limit", {"limited": "loss"}),
        ("consumer", {}),
        ("consumer", []),
    ],
    ids=lambda value: str(value)[:40],
)
def test_fields_of_the_header_that_make_no_sense(made, name, value):
    header, sections = parts(made)
    header[name] = value
    data = encode(header, sections, 6)
    tracemalloc.start()
    found = verify(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEMORY
    assert found.reasons
    assert not found.private


def test_sums_that_wrap_around_are_not_mistaken(made):
    """Weights whose sum is right modulo 2^64 only."""
    header, sections = parts(made)
    weights = sections["weights"].reshape(6, 6).copy()
    weights[:4, 0] += 1 << 62
    said = verify(encode(header, {**sections, "weights": weights}, 6)).reasons[0]
    assert said == "the section 'weights' has numbers out of range"
    weights = np.full((6, 6), 1 << 62)
    weights[0] = 0
    assert "total" in verify(encode(header, {"weights": weights}, 6)).reasons[0]


def test_negative_weights_are_refused(made):
    header, sections = parts(made)
    weights = sections["weights"].reshape(6, 6).copy()
    weights[0] -= 1 << 61
    weights[1] += 1 << 61
    found = verify(encode(header, {"weights": weights}, 6))
    assert found.reasons[0] == "the section 'weights' has numbers out of range"


def test_names_of_sections_are_no_paths(made, tmp_path):
    """A section that the header does not call for is refused by its name."""
    header, sections = parts(made)
    target = tmp_path / "victim"
    sections[f"../../{target}"] = np.zeros(3, np.int64)
    assert not verify(encode(header, sections, 6)).private
    assert not target.exists()


def test_a_folder_and_a_device_are_not_mechanisms(tmp_path):
    for place in (tmp_path, os.devnull):
        with pytest.raises(InputError, match="not a regular file"):
            verify(place)


def test_thousands_of_random_damages_end_in_a_reason(made):
    """Random bytes over the file, with a digest made to fit: a report, never an exception."""
    rng = np.random.default_rng(3)
    data = made.to_bytes()
    reported = 0
    for _ in range(3_000):
        damaged = bytearray(data[:-32])
        for _ in range(int(rng.integers(1, 6))):
            at = int(rng.integers(10, len(damaged)))
            damaged[at] = int(rng.integers(256))
        whole = bytes(damaged)
        found = verify(whole + hashlib.sha256(whole).digest())
        reported += bool(found.reasons)
    assert reported > 2_900


def test_the_command_says_it_in_one_line_or_in_json(made, tmp_path):
    path = tmp_path / "bad.tightrope"
    path.write_bytes(made.to_bytes()[:-40])
    words = [sys.executable, "-m", "tightrope", "verify", str(path), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "truncated" in json.loads(done.stdout)["reasons"][0]
    path.unlink()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def proved(text, loss):
    asked = query(text)
    return prove(design(asked, 1, Consumer.of(asked.graph, loss=loss)), asked)


@pytest.mark.parametrize(
    ("text", "loss"), [("count(6)", "absolute"), ("star(4)", "distance")]
)
def test_random_damages_of_prices_end_in_a_reason_or_in_a_proof(text, loss):
    """Random numbers in the sections of a certificate: what passes claims no more than is true."""
    made = proved(text, loss)
    header, sections = parts(made)
    rng = np.random.default_rng(4)
    names = [n for n in ("prices", "places") if n in sections]
    reported = 0
    for _ in range(500):
        changed = {name: array.copy() for name, array in sections.items()}
        for _ in range(int(rng.integers(1, 4))):
            array = changed[names[int(rng.integers(len(names)))]]
            size = int(rng.choice([1, 3, 10, 1 << 20, 1 << 60]))
            array[int(rng.integers(len(array)))] += int(rng.choice([-1, 1])) * size
        total = sum(int(x) for x in changed["prices"])
        header["bound"] = str(Fraction(total, 1 << header["certificate"]["bits"]))
        found = verify(encode(header, changed, made.shape[0]))
        reported += bool(found.reasons)
        if not found.reasons:
            assert Fraction(header["bound"]) <= made.expected_loss
            assert found.optimal_within >= 0
    assert 100 < reported < 500


def test_numbers_too_wide_for_a_line_are_refused():
    made = proved("count(6)", "absolute")
    wide = np.array([1 << 500] * 7, object)
    assert "too wide" in verify(forged(made, {"bound": "1"}, prices=wide)).reasons[0]
