"""Matrices from CSV files."""

import numpy as np
import pytest

from tightrope.channels import Channel, IntegerChannel, read_channel
from tightrope.errors import InputError


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "matrix.csv"
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return read_channel(path)


def test_plain_numbers(tmp_path):
    found = read(tmp_path, "0.75,0.25\n0.25,0.75\n")
    assert type(found) is Channel
    assert found.matrix().tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert found.outputs == [0, 1]


def test_fractions_are_exact(tmp_path):
    found = read(tmp_path, "1/3,2/3\n1,0\n")
    assert isinstance(found, IntegerChannel)
    assert found.weights.tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize(
    ("text", "inputs", "outputs"),
    [
        ("no,yes\n1/2,1/2\n1/4,3/4\n", [0, 1], ["no", "yes"]),
        (",no,yes\na,1/2,1/2\nb,1/4,3/4\n", ["a", "b"], ["no", "yes"]),
        ("answer,no,yes\na,1/2,1/2\nb,1/4,3/4\n", ["a", "b"], ["no", "yes"]),
        (",0,1\n0,0.5,0.5\n1,0.25,0.75\n", [0, 1], [0, 1]),
        (",nan,1\n1/2/3,0.5,0.5\ninf,0.25,0.75\n", ["1/2/3", "inf"], ["nan", "1"]),
        ("\ufeffa,0.5,0.5\nb,0.25,0.75\n", ["a", "b"], [0, 1]),
        ("0.5, 0.5\r\n\r\n0.25 ,0.75\r\n", [0, 1], [0, 1]),
    ],
)
def test_labels(tmp_path, text, inputs, outputs):
    found = read(tmp_path, text)
    assert found.inputs == inputs
    assert found.outputs == outputs
    assert np.allclose(found.row(0), 0.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "at least one row"),
        ("a,b\n", "no rows of numbers"),
        ("0.5,0.5\n0.5\n", "row 2 holds 1"),
        ("0.5,0.5\n0.5,x\n", "'x' in row 2, column 2"),
        ("0.5,0.5\n0.5,nan\n", "'nan'"),
        ("0.5,0.5\n0.5,1e999\n", "'1e999'"),
        ("0.5,0.5\n1/0,1/2\n", "'1/0' in row 2, column 1"),
        ("nan,0.5,0.5\ninf,0.25,0.75\n", "'nan' in row 1, column 1"),
        ("1/2/3,0.5,0.5\n1/2/4,0.25,0.75\n", "'1/2/3' in row 1, column 1"),
        ("nan,inf\n0.5,0.5\n0.25,0.75\n", "'nan' in row 1, column 1"),
        ("0.5,0.5\n0.5,0.4\n", "row 1 sums to 0.9"),
        ("1.5,-0.5\n0.5,0.5\n", "non-negative|negative"),
        ("1/2,1/3\n1/2,1/2\n", "row 0 sums to 5/6"),
        ("a,b,c\n0.5,0.5\n0.5,0.5\n", "3 outputs named"),
        ("0.5,0.5\n" + "9" * 5000 + ",0.5\n", "is not a number"),
        (b"\xff\xfe\x00\x01", "not UTF-8 text"),
    ],
)
def test_what_is_no_matrix_is_refused_in_one_line(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as refused:
        read(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_channel(tmp_path / "none.csv")
