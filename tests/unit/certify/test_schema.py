"""The limits of a header's fields, stated a second time: each is met, and not passed."""

import json
from functools import cache

import numpy as np
import pytest
from tests.every_kind import FILES, UNPROVED
from tests.forged import unpack

from tightrope.certify import judge
from tightrope.certify.kernel.consumer import listed_words
from tightrope.certify.kernel.format import header_schema

KINDS = FILES | UNPROVED


@cache
def header_of(kind):
    header, sections = unpack(KINDS[kind]())
    parts = [{"name": name, "width": 8, "count": 1, "bytes": [1]} for name in sections]
    return json.dumps(header | {"sections": parts})


def accepted(kind, path, value):
    """Whether the schema takes a value at a path; a refusal must name the place."""
    header = json.loads(header_of(kind))
    place = header
    *outer, last = path.split(".")
    for key in outer:
        place = place[int(key) if key.isdigit() else key]
    place[int(last) if last.isdigit() else last] = value
    refusal = ""
    try:
        header_schema()(header, "header")
    except judge.Refused as refused:
        refusal = str(refused)
    assert not refusal or refusal.startswith(f"header.{path.split('.')[0]}")
    return not refusal


WHOLE = [
    ("plain", "weights.bits", 0, 480),
    ("plain", "weights.outputs", 1, 2**31 - 1),
    ("own", "graph.nodes", 1, 2**20 - 1),
    ("own", "graph.edges", 0, 2**22 - 1),
    ("absolute", "consumer.prior.total", 1, 2**62 - 1),
    ("three", "consumer.loss.denominator", 1, 2**1024 - 1),
    ("three", "consumer.loss.guesses", 1, 2**24 - 1),
    ("support", "consumer.support.count", 1, 2**31 - 1),
    ("plain", "sections.0.width", 8, 64),
    ("plain", "sections.0.count", 1, 2**40 - 1),
    ("plain", "sections.0.bytes.0", 0, 2**40 - 1),
    ("levels", "weights.bits", 0, 480),
    ("levels", "weights.levels.0", 1, 2**480 - 1),
    ("levels", "weights.steps.0", 1, 2**40 - 1),
    ("levels", "weights.rest", 0, 2**40 - 1),
    ("scores", "weights.bits", 40, 62),
    ("unbounded", "weights.bits", 1, 4000),
    ("unbounded", "weights.start", 1, 2**4000 - 1),
    ("unbounded", "weights.core", 0, 2**60 - 1),
    ("line", "certificate.bits", 1, 400),
    ("limit", "certificate.weight", 0, 2**512 - 1),
    ("multipliers", "certificate.arcs", 0, 2**40 - 1),
    ("cosets", "certificate.arcs", 0, 2**40 - 1),
    ("cosets", "certificate.stride", 1, 2**40 - 1),
    ("stretched", "certificate.bits", 1, 60),
    ("stretched", "certificate.ends", 1, 2**20 - 1),
    ("stretched", "certificate.layers", 1, 2**20 - 1),
    ("stretched", "certificate.stride", 1, 2**40 - 1),
    ("window", "window.start", 0, 2**62 - 1),
    ("window", "window.size", 1, 2**31 - 1),
]


@pytest.mark.parametrize(("kind", "path", "least", "most"), WHOLE, ids=str)
def test_whole_numbers_keep_their_limits(kind, path, least, most):
    assert accepted(kind, path, least)
    assert accepted(kind, path, most)
    assert not accepted(kind, path, least - 1)
    assert not accepted(kind, path, most + 1)
    assert not accepted(kind, path, True)


PART = {"name": "x", "width": 8, "count": 1, "bytes": [1]}
LISTS = [
    ("plain", "sections", 0, 20, PART),
    ("plain", "sections.0.bytes", 1, 2**20, 1),
    ("own", "graph.lengths", 1, 2**17, "1"),
    ("own", "graph.labels", 1, 2**20, 1),
    ("plain", "ratios", 1, 2**17, "1"),
    ("plain", "outputs", 1, 2**20, 1),
    ("levels", "weights.levels", 1, 2**17, 1),
    ("levels", "weights.steps", 1, 64, 1),
]


@pytest.mark.parametrize(
    ("kind", "path", "least", "most", "item"), LISTS, ids=lambda value: str(value)[:20]
)
def test_lists_keep_their_limits(kind, path, least, most, item):
    assert accepted(kind, path, [item] * least)
    assert accepted(kind, path, [item] * most)
    assert not accepted(kind, path, [item] * (most + 1))
    if least:
        assert not accepted(kind, path, [])


@pytest.mark.parametrize(
    ("kind", "path", "digits"),
    [
        ("plain", "ratios.0", 1300),
        ("plain", "epsilon.multiple", 210),
        ("plain", "epsilon.base", 210),
        ("own", "graph.lengths.0", 60),
        ("delta", "delta", 210),
        ("unbounded", "certificate.slope", 30),
        ("window", "consumer.prior.number", 60),
        ("line", "expected_loss", 1300),
        ("line", "bound", 1300),
        ("limit", "limit.most", 1300),
    ],
)
def test_exact_numbers_have_at_most_so_many_digits(kind, path, digits):
    assert accepted(kind, path, "7" * digits)
    assert not accepted(kind, path, "7" * (digits + 1))
    assert accepted(kind, path, "7" * digits + "/" + "6" * (digits - 1) + "5")
    assert not accepted(kind, path, "1/" + "7" * (digits + 1))


@pytest.mark.parametrize(
    ("path", "least"),
    [("ratios.0", 0), ("epsilon.multiple", 0), ("epsilon.base", 1)],
)
def test_exact_numbers_are_above_their_least(path, least):
    assert not accepted("plain", path, str(least))
    assert not accepted("plain", path, "-1")
    assert accepted("plain", path, f"{1000 * least + 1}/1000")


def test_labels_keep_their_limits():
    def label(value):
        return accepted("plain", "outputs", [value])

    assert label([[[1]]])
    assert not label([[[[1]]]])
    assert label([1] * 1000)
    assert not label([1] * 1001)
    assert label("x" * 1000)
    assert not label("x" * 1001)
    assert label(2**200 - 1)
    assert label(1 - 2**200)
    assert not label(2**200)
    assert not label(-(2**200))


def test_texts_keep_their_limits():
    assert accepted("plain", "query", "x" * 1000)
    assert not accepted("plain", "query", "x" * 1001)
    assert not accepted("plain", "query", "")
    assert not accepted("plain", "query", "x\ny")


def test_short_lists_are_written_out_and_long_ones_have_a_digest():
    assert listed_words(np.arange(12), 2).endswith("5, 11/2")
    assert "13 numbers over 2 with digest" in listed_words(np.arange(13), 2)
