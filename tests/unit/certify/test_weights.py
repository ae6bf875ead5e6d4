"""Comparison without rounding, rows by rule."""

import numpy as np
import pytest

from tightrope.certify import Mechanism, certify, make
from tightrope.certify.kernel.format import File
from tightrope.certify.kernel.weights import exceeds
from tightrope.channels import Channel, GeometricChannel
from tightrope.graphs import PathPower


@pytest.mark.parametrize("p", [2, 3, 2**31 - 1, 2**31, 2**200 + 1])
def test_exceeds_agrees_with_python_integers(p):
    rng = np.random.default_rng(5)
    q = max(1, int(p * 0.7))
    b = np.concatenate([rng.integers(0, 1 << 62, 200), [0, 1, (1 << 62) - 1]])
    near = np.array([min(int(x) * p // q, (1 << 62) - 1) for x in b])
    for a in (near, near + 1, np.maximum(near - 1, 0)):
        wanted = [int(x) * q > int(y) * p for x, y in zip(a, b, strict=True)]
        assert exceeds(a, b, p, q).tolist() == wanted


def test_rows_and_columns_by_rule_agree(monkeypatch):
    monkeypatch.setattr(make, "RULE_FROM", 2)
    made = certify(GeometricChannel(9, "1", 2), "sum(4,2)", "1")
    assert made.kind == "levels"
    columns = np.concatenate([block for _, block in made.weights.columns()], axis=1)
    for i in range(9):
        assert made.row_weights(i).tolist() == columns[i].tolist()
        assert sum(made.row_weights(i).tolist()) == made.total
    wanted = GeometricChannel(9, "1", 2).matrix()
    assert np.abs(made.channel().matrix() - wanted).max() < 1e-12


def test_rows_of_a_rule_in_a_window_are_those_of_the_nearest_answers_in_it():
    inside = PathPower(1200, start=100)
    made = certify(GeometricChannel(1200, 1), "count(5000)", 1, window=(100, inside))
    assert (made.kind, made.window) == ("levels", range(100, 1300))
    channel = made.channel()
    for i in (0, 100, 105, 3000):
        row = channel.row(i)
        assert (
            np.abs(row - (made.row_weights(i) / made.total).astype(float)).max() < 1e-12
        )
        assert [channel.column(o)[i] for o in (0, 7)] == row[[0, 7]].tolist()
    assert np.array_equal(channel.row(3000), channel.row(1299))


def test_listed_weights_are_unpacked_once(monkeypatch):
    matrix = GeometricChannel(9, "1").matrix()
    made = certify(Channel(matrix), "count(8)", "1")
    asked = []
    pieces = File.pieces
    monkeypatch.setattr(
        File,
        "pieces",
        lambda file, name, n=1: asked.append(name) or pieces(file, name, n),
    )
    again = Mechanism(made.to_bytes())
    rows = [again.row_weights(i) for i in range(9)]
    assert asked == ["weights"]
    assert np.abs(np.stack(rows) / made.total - matrix).max() < 1e-9
    rows[0][0] = 0
    assert again.row_weights(0)[0] > 0
