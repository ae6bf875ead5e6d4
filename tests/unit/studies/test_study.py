"""The description of a study: what it refuses, how it is cut, and its fingerprint."""

import itertools
import pickle
from pathlib import Path

import pytest

from tightrope import InputError
from tightrope.graphs import AnswerGraph
from tightrope.studies import Study
from tightrope.studies.study import Chunk, design_chunk

BASE = {"queries": ["path(4)", "cycle(5)"], "epsilons": "0.5:3:0.5"}


@pytest.mark.parametrize("size", [1, 2, 4, 6, 100])
def test_chunks_cover_every_combination_once_and_in_order(size: int) -> None:
    study = Study.of(
        **BASE, priors="uniform", losses=["binary", "distance"], chunk=size
    )
    chunks = list(study.chunks())
    assert [chunk.number for chunk in chunks] == list(range(study.chunk_count))
    seen = [
        (chunk.place + step, chunk.query, chunk.loss, str(level))
        for chunk in chunks
        for step, level in enumerate(chunk.epsilons)
    ]
    wanted = itertools.product(study.queries, study.losses, map(str, study.epsilons))
    assert seen == [(place, *rest) for place, rest in enumerate(wanted)]
    assert len(seen) == study.size
    assert [study.rows_in(n) for n in range(study.chunk_count)] == [
        len(chunk.epsilons) for chunk in chunks
    ]


def test_chunks_that_are_there_are_left_out() -> None:
    study = Study.of(**BASE, chunk=2)
    assert [chunk.number for chunk in study.chunks(without={0, 3})] == [1, 2, 4, 5]


@pytest.mark.parametrize(
    "change",
    [
        {"queries": ["path(4)"]},
        {"queries": ["cycle(5)", "path(4)"]},
        {"epsilons": "0.5:3.5:0.5"},
        {"priors": "0.25,0.25,0.25,0.25"},
        {"losses": "distance"},
        {"routes": "plain"},
        {"neighbours": "add-remove"},
        {"gap": 1e-6},
        {"chunk": 9},
    ],
)
def test_the_fingerprint_knows_every_part(change: dict) -> None:
    assert Study.of(**(BASE | change)).fingerprint != Study.of(**BASE).fingerprint


def test_the_fingerprint_does_not_depend_on_spelling() -> None:
    spelt = Study.of([" path( 4 )", "cycle(5)"], ["0.5", 1, "3/2", 2.0, "2.5", "3.0"])
    assert spelt.fingerprint == Study.of(**BASE).fingerprint
    assert spelt == Study.of(**BASE)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"queries": []}, "at least one query"),
        ({"epsilons": []}, "at least one"),
        ({"queries": "paht(4)"}, "character 1"),
        ({"queries": [4]}, "takes texts"),
        ({"priors": "unifrom"}, "did you mean .uniform"),
        ({"priors": "0.5,0.5"}, "probabilities"),
        ({"losses": "bnary"}, "did you mean .binary"),
        ({"routes": "shortcut"}, "route must be one of"),
        ({"gap": 0}, "gap"),
        ({"gap": float("nan")}, "gap"),
        ({"chunk": 0}, "chunk"),
        ({"neighbours": "far"}, "far"),
        (
            {"epsilons": "0.1:100:0.001", "losses": ["binary"] * 200},
            "at most 10,000,000",
        ),
        ({"losses": "file:no-such-file.csv"}, "no such file"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Study.of(**(BASE | change))


def test_a_prior_that_fits_one_question_is_refused_row_by_row_for_the_other() -> None:
    study = Study.of(["path(4)", "cycle(5)"], "1", priors=["uniform", "binomial(.3)"])
    rows = [row for chunk in study.chunks() for row in design_chunk(chunk)[1]]
    refused = [(row["query"], row["prior"]) for row in rows if "error" in row]
    assert refused == [("cycle(5)", "binomial(.3)")]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ring.csv").write_text("a,b\nb,c\nc,a\n")
    Path("known.csv").write_text("0.5\n0.25\n0.25\n")
    Path("cost.csv").write_text("0,1,1\n1,0,1\n2,2,0\n")
    return tmp_path


def from_files() -> Study:
    return Study.of(
        "graph:ring.csv", "1", priors="file:known.csv", losses="file:cost.csv"
    )


def test_files_travel_as_values(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [chunk] = pickle.loads(pickle.dumps(list(from_files().chunks())))
    assert isinstance(chunk.question, AnswerGraph)
    (files / "elsewhere").mkdir()
    monkeypatch.chdir(files / "elsewhere")
    [row] = design_chunk(chunk)[1]
    assert row["certified"]
    assert (row["query"], row["prior"]) == ("graph:ring.csv", "file:known.csv")


def test_a_file_that_changes_while_the_study_runs(files: Path) -> None:
    study = Study.of(["graph:ring.csv", "clique(3)"], "1", priors="file:known.csv")
    chunks = study.chunks()
    assert next(chunks).query == "graph:ring.csv"
    Path("known.csv").write_text("0.25\n0.25\n0.5\n")
    with pytest.raises(InputError, match=r"file:known\.csv has changed"):
        next(chunks)


@pytest.mark.parametrize("name", ["ring.csv", "known.csv", "cost.csv"])
def test_the_content_of_files_belongs_to_the_study(files: Path, name: str) -> None:
    before = from_files()
    Path(name).write_text(Path(name).read_text() + "\n")
    assert from_files().fingerprint != before.fingerprint
    with pytest.raises(InputError, match="has changed"):
        next(before.chunks())


def test_a_file_that_fits_one_question_only(files: Path) -> None:
    study = Study.of(["graph:ring.csv", "path(4)"], "1", priors="file:known.csv")
    first, second = (design_chunk(chunk)[1] for chunk in study.chunks())
    assert first[0]["certified"]
    assert "needs 4 probabilities" in second[0]["error"]


def test_a_chunk_is_small_to_send() -> None:
    [chunk] = Study.of("count(100000)", "1").chunks()
    assert isinstance(chunk, Chunk)
    assert len(pickle.dumps(chunk)) < 1000
