"""Spark answers like every other source."""

import json
import subprocess
import sys

import pytest
from tests.data import (
    test_hostile_neighbours as hostile,
    test_people_across_tables as across,
    test_sources as suite,
)
from tests.data.conftest import FACTS, Parquet

from tightrope import Epsilon, InputError
from tightrope.publish import Ledger
from tightrope.publish.accounts import charge_of
from tightrope.publish.facts import Table
from tightrope.publish.sources import open_source


def test_spark(spark, parquet, counting, tmp_path, capfd):
    """One test, so that one worker starts one session, which costs more than all the questions."""
    suite.test_every_shape_has_its_true_answer(spark)
    suite.test_a_part_is_a_condition(spark)
    for name in ("released", "refused"):
        (tmp_path / name).mkdir()
    suite.test_one_release_path(spark, counting, tmp_path / "released")
    suite.test_wrong_columns_are_refused_before_anything_is_charged(
        spark, counting, tmp_path / "refused"
    )
    hostile_neighbours(spark, tmp_path)
    (tmp_path / "joined").mkdir()
    across.walk("spark", tmp_path / "joined", "either", 1, spark)
    a_failing_row_is_not_logged(spark, capfd)
    a_release_by_spark_connect(spark, parquet, counting, tmp_path)


def hostile_neighbours(spark, folder):
    """A few steps only: each question takes Spark a second."""

    class Kept(Parquet):
        def write(self):
            super().write()
            spark.read.parquet(str(self.place)).createOrReplaceTempView("people")
            self.place = spark

    rows = hostile.hostile_rows()
    plain = (7000, *hostile.PLAIN[1:])
    hostile.walk(
        Kept(folder, hostile.FIRST + rows[2:]),
        [*rows[:2], plain],
        "add-remove",
        Kept.put,
    )


def a_failing_row_is_not_logged(spark, capfd):
    """A view may fail on a row, and Spark writes the value with the failure."""
    spark.sql(
        "create or replace temp view failing as select cast(x as int) as age "
        "from values ('31'), ('secret4711') as t(x)"
    )
    capfd.readouterr()
    with open_source(spark, Table("failing", 9)) as source, pytest.raises(Exception):  # noqa: B017, PT011
        source.fetch("select max(age) from failing")
    assert "secret4711" not in "".join(capfd.readouterr())
    with pytest.raises(Exception):  # noqa: B017, PT011 (the log is on again)
        spark.sql("select max(age) from failing").collect()
    assert "secret4711" in capfd.readouterr().err


def a_release_by_spark_connect(spark, parquet, counting, folder):
    """From a process of its own: one that has a session cannot have a remote one beside it."""
    port = spark.conf.get("spark.connect.grpc.binding.port")
    spark.sql(f"create table everybody using parquet location '{parquet}'")
    facts = FACTS.replace("[tables.people]", '[tables.people]\nrelation = "everybody"')
    (folder / "tightrope.toml").write_text(facts)
    (folder / "other.toml").write_text(facts.replace("tables.people", "tables.folk"))
    counting.save(folder / "count.tightrope")
    said = []
    for address, facts, name in (
        (f"127.0.0.1:{port}", "tightrope.toml", "people"),
        ("127.0.0.1:1/;token=hush", "tightrope.toml", "people"),
        (f"127.0.0.1:{port}/;user_id=ann", "other.toml", "folk"),
    ):
        sql = f"select count(*) from {name} where age > 20.5"
        words = [
            "release",
            "count.tightrope",
            "--data",
            f"spark+remote://{address}",
            "--json",
        ]
        words += ["--facts", facts]
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "tightrope",
                *words,
                "--sql",
                sql,
                "--ledger",
                "ledger.db",
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            timeout=120,
        )
        assert "hush" not in ran.stdout + ran.stderr
        said.append(ran)
    done, refused, again = said
    assert done.returncode == 0, done.stderr
    assert 0 <= json.loads(done.stdout)["answer"] <= 150
    assert refused.returncode == 2
    assert "no Spark Connect server answers there" in refused.stderr
    assert "has an account already: table people" in again.stderr
    assert Ledger(folder / "ledger.db").account("table people").spent == charge_of(
        Epsilon.of("ln(2)")
    )


def test_spark_connect_says_what_it_misses(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    address = "spark+remote://127.0.0.1:1"
    with pytest.raises(InputError, match=r"cannot be opened: .*grpcio"):
        open_source(address, Table("people", 2)).__enter__()
