"""Spark answers like every other source."""

import sys

import pytest
from tests.data import test_sources as suite

from tightrope import InputError
from tightrope.release.facts import Table
from tightrope.release.sources import open_source


def test_spark(spark, counting, tmp_path):
    """One test, so that one worker starts one session, which costs more than all the questions."""
    suite.test_every_shape_has_its_true_answer(spark)
    suite.test_a_part_is_a_condition(spark)
    for name in ("released", "refused"):
        (tmp_path / name).mkdir()
    suite.test_one_release_path(spark, counting, tmp_path / "released")
    suite.test_wrong_columns_are_refused_before_anything_is_charged(
        spark, counting, tmp_path / "refused"
    )


def test_spark_connect_says_what_it_misses(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    address = "spark+remote://127.0.0.1:1"
    with pytest.raises(InputError, match=r"cannot be opened: .*grpcio"):
        open_source(address, Table("people", 2)).__enter__()
