"""The unit of work."""

import pickle

import pytest

import tightrope
from tightrope import design
from tightrope.studies import Study, design_chunk, designing
from tightrope.studies.build import build


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
    [chunk] = Study.of("sum(5,3)", "0.5:2:0.5", priors="poisson(4)", losses="absolute").chunks()

    def numbers() -> list[dict]:
        return [row | {"seconds": 0} for row in design_chunk(pickle.loads(pickle.dumps(chunk)))[1]]

    assert numbers() == numbers()


def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise tightrope.InputError("two\nlines")

    monkeypatch.setattr(designing, "design", refuse)
    [chunk] = Study.of("path(4)", "1").chunks()
    [row] = design_chunk(chunk)[1]
    assert row["error"] == "two lines"
    assert row["route"] is None
    assert "expected_loss" not in row


def test_a_design_that_was_stopped_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object, **options: object) -> object:
        from dataclasses import replace

        return replace(design(*args, **options), stopped=True)

    monkeypatch.setattr(designing, "design", stopped)
    [chunk] = Study.of("path(4)", "1").chunks()
    with pytest.raises(KeyboardInterrupt):
        design_chunk(chunk)


def test_a_defect_is_not_taken_for_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(designing, "design", broken)
    [chunk] = Study.of("path(4)", "1").chunks()
    with pytest.raises(ZeroDivisionError):
        design_chunk(chunk)
