"""The unit of work."""

import pickle

import pytest

import tightrope
from tightrope import design
from tightrope.studies import Study, study as study_module
from tightrope.studies.study import build, design_chunk


def test_rows_are_what_design_says() -> None:
    study = Study.of("sum(4,3)", "ln(2),1", priors="binomial(.3)", losses="absolute")
    [chunk] = study.chunks()
    version, rows = design_chunk(chunk)
    assert version == build()
    graph = tightrope.query("sum(4,3)").graph
    reader = tightrope.Consumer.of(graph, prior="binomial(.3)", loss="absolute")
    for row, level in zip(rows, ("ln(2)", "1"), strict=True):
        alone = design(graph, level, reader)
        assert row["expected_loss"] == pytest.approx(alone.expected_loss, rel=1e-9)
        assert row["certified"]
        assert row["baselines"] == alone.baselines
        assert row["epsilon_text"] == level


def test_a_chunk_gives_the_same_bits_each_time() -> None:
    [chunk] = Study.of(
        "sum(5,3)", "0.5:2:0.5", priors="poisson(4)", losses="absolute"
    ).chunks()

    def numbers() -> list[dict]:
        return [
            row | {"seconds": 0}
            for row in design_chunk(pickle.loads(pickle.dumps(chunk)))[1]
        ]

    assert numbers() == numbers()


def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise tightrope.InputError("two\nlines")

    monkeypatch.setattr(study_module, "design", refuse)
    [chunk] = Study.of("path(4)", "1").chunks()
    [row] = design_chunk(chunk)[1]
    assert row["error"] == "two lines"
    assert row["route"] is None
    assert "expected_loss" not in row


def test_a_design_that_was_stopped_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> object:
        from dataclasses import replace

        return replace(design(*args, **options), stopped=True)

    monkeypatch.setattr(study_module, "design", stopped)
    [chunk] = Study.of("path(4)", "1").chunks()
    with pytest.raises(KeyboardInterrupt):
        design_chunk(chunk)


def test_a_time_limit_leaves_a_row_with_the_gap_that_is_proved() -> None:
    [chunk] = Study.of(
        "sum(30,5)", "1", priors="binomial(.3)", losses="squared", time_limit=0.01
    ).chunks()
    [row] = design_chunk(chunk)[1]
    assert row["stopped"]
    assert not row["certified"]
    assert 0 <= row["bound"] < row["expected_loss"]
    with pytest.raises(tightrope.InputError, match="time limit"):
        Study.of("path(4)", "1", time_limit=0)


def test_a_defect_is_not_taken_for_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(study_module, "design", broken)
    [chunk] = Study.of("path(4)", "1").chunks()
    with pytest.raises(ZeroDivisionError):
        design_chunk(chunk)
