"""Labels and bytes."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.certify.kernel.format import Refused, label
from tightrope.certify.make import encode, encode_label
from tightrope.errors import InputError


@pytest.mark.parametrize(
    "value", [0, -3, "x", None, True, Fraction(1, 3), 0.1, (1, ("a", None))]
)
def test_labels_come_back(value):
    assert label(encode_label(value), "label") == value


@pytest.mark.parametrize(
    "value",
    [
        {"fraction": "1/0"},
        {"fraction": "2/4"},
        {"fraction": "8/2"},
        {"fraction": "3"},
        {"fraction": []},
        {"float": "x"},
        {"float": "nan"},
        {"float": "inf"},
        {"float": "0x1p+0"},
        {"float": 1.5},
        {"a": 1},
        1.5,
        [[[[1]]]],
        1 << 300,
        "x" * 2000,
    ],
    ids=lambda value: str(value)[:20],
)
def test_labels_that_cannot_be_read(value):
    with pytest.raises(Refused):
        label(value, "label")


@pytest.mark.parametrize("value", [frozenset(), float("nan"), float("inf")])
def test_labels_that_cannot_be_written(value):
    with pytest.raises(InputError, match="a label must be"):
        encode_label(value)


def test_the_same_content_has_the_same_bytes():
    first = encode({"a": 1, "b": 2}, {"x": np.arange(5)}, 1)
    assert first == encode({"b": 2, "a": 1}, {"x": np.arange(5)}, 1)
