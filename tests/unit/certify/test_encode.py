"""Labels and bytes."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.certify.container import Container
from tightrope.certify.encode import decode_label, describe_labels, encode, encode_label
from tightrope.errors import InputError, TooLarge


@pytest.mark.parametrize("label", [0, -3, "x", None, True, Fraction(1, 3), 0.1, (1, ("a", None))])
def test_labels_come_back(label):
    assert decode_label(encode_label(label)) == label


@pytest.mark.parametrize(
    "value", [{"fraction": "1/0"}, {"float": "x"}, {"a": 1}, {"fraction": []}, 1.5]
)
def test_labels_that_cannot_be_read(value):
    with pytest.raises(InputError, match="cannot be read"):
        decode_label(value)


def test_labels_that_cannot_be_written():
    with pytest.raises(InputError, match="a label must be"):
        encode_label(frozenset())


def test_rules_of_labels():
    assert describe_labels(lambda i: i + 2, 3, None) == {"start": "2", "step": "1"}
    assert describe_labels(lambda i: divmod(i, 3), 6, [2, 3]) == {"sizes": [2, 3]}
    assert describe_labels(lambda i: [5, 7, 8][i], 3, None) == {"list": [5, 7, 8]}
    assert describe_labels(lambda i: i, 10**6, None) == {"start": "0", "step": "1"}
    with pytest.raises(TooLarge, match="follow no rule"):
        describe_labels(lambda i: f"x{i}", 10**6, None)


def test_integers_of_any_size_come_back():
    big = np.array([0, 1, -(2**200), 2**300], object)
    data = encode({}, {"big": big, "small": np.array([-5, 2**62])}, 1)
    file = Container(data)
    assert next(file.chunks("big")).tolist() == big.tolist()
    assert next(file.chunks("small")).tolist() == [-5, 2**62]


def test_the_same_content_has_the_same_bytes():
    first = encode({"a": 1, "b": 2}, {"x": np.arange(5)}, 1)
    assert first == encode({"b": 2, "a": 1}, {"x": np.arange(5)}, 1)
