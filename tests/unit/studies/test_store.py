"""The store: whole files only, one study only, the same bytes in any order."""

import errno
import json
from pathlib import Path

import pytest

from tightrope import InputError, __version__
from tightrope.errors import CheckFailed
from tightrope.studies import Study, described_in, read_rows, store
from tightrope.studies.store import StudyStore
from tightrope.studies.study import design_chunk

STUDY = Study.of(["path(4)", "cycle(5)"], "0.5:2:0.5", routes=[None, "tree"], chunk=2)
PARTS = {chunk.number: design_chunk(chunk)[1] for chunk in STUDY.chunks()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "study.parquet"


def fill(out: Path, order: list[int], study: Study = STUDY) -> None:
    with StudyStore(study, out) as kept:
        for number in order:
            kept.put(number, PARTS[number])


def finish(out: Path) -> bytes:
    with StudyStore(STUDY, out) as kept:
        kept.finish()
    return out.read_bytes()


def test_the_bytes_do_not_depend_on_order_or_timing(out: Path, tmp_path: Path) -> None:
    fill(out, sorted(PARTS))
    other = tmp_path / "other.parquet"
    slower = {n: [row | {"seconds": 1e3} for row in rows] for n, rows in PARTS.items()}
    with StudyStore(STUDY, other) as kept:
        for number in sorted(slower, reverse=True):
            kept.put(number, slower[number])
    assert finish(out) == finish(other)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other.parquet",
        "other.seconds.csv",
        "study.parquet",
        "study.seconds.csv",
    ]


def test_many_row_groups_hold_the_same_rows(out: Path) -> None:
    fill(out, sorted(PARTS))
    with StudyStore(STUDY, out, group=3) as kept:
        kept.finish()
    wanted = [row for number in sorted(PARTS) for row in PARTS[number]]
    assert list(read_rows(out)) == [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in wanted
    ]
    seconds = (out.parent / "study.seconds.csv").read_text().splitlines()
    assert seconds[0] == "place,seconds"
    assert len(seconds) == 1 + STUDY.size


def test_a_store_goes_on(out: Path) -> None:
    fill(out, [0, 3])
    with StudyStore(STUDY, out) as kept:
        assert kept.found() == {0, 3}
        assert not kept.complete
        with pytest.raises(CheckFailed, match="6 chunks of"):
            kept.finish()
    fill(out, [number for number in PARTS if number not in (0, 3)])
    finish(out)
    with StudyStore(STUDY, out) as kept:
        assert kept.complete
        assert kept.found() == set(PARTS)
    assert described_in(out) == STUDY.as_dict()


def test_parts_that_are_left_after_the_end_are_removed(out: Path) -> None:
    fill(out, sorted(PARTS))
    finished = finish(out)
    out.rename(out.with_suffix(".kept"))
    fill(out, [0])
    out.with_suffix(".kept").rename(out)
    with StudyStore(STUDY, out) as kept:
        assert kept.complete
    assert not kept.parts.exists()
    assert out.read_bytes() == finished


OTHER = Study.of(["path(4)", "cycle(5)"], "0.5:2:0.5", chunk=2)
ANOTHER = r"holds another study \(other routes\)"


def test_a_store_of_another_study_is_refused(out: Path) -> None:
    fill(out, [0])
    with pytest.raises(InputError, match=ANOTHER), StudyStore(OTHER, out):
        pass
    fill(out, sorted(PARTS))
    finish(out)
    with pytest.raises(InputError, match=ANOTHER), StudyStore(OTHER, out):
        pass


def test_a_store_of_other_code_is_refused(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same version, in a checkout that has moved on: old rows and new are not mixed."""
    fill(out, [0])
    monkeypatch.setattr("tightrope.studies.study.build", lambda: f"{__version__}+other")
    with (
        pytest.raises(InputError, match=rf"this is {__version__}\+other"),
        StudyStore(STUDY, out),
    ):
        pass


def test_a_store_of_another_version_is_refused(out: Path) -> None:
    fill(out, [0])
    path = Path(f"{out}.parts") / "study.json"
    path.write_text(json.dumps(STUDY.as_dict() | {"tightrope": "0.0.1"}))
    with pytest.raises(InputError, match=r"of version 0\.0\.1"), StudyStore(STUDY, out):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}'])
def test_a_damaged_description_is_refused(out: Path, text: str) -> None:
    fill(out, [0])
    (Path(f"{out}.parts") / "study.json").write_text(text)
    with pytest.raises(InputError, match="remove the folder"), StudyStore(STUDY, out):
        pass


def test_parts_without_a_description_are_refused(out: Path) -> None:
    fill(out, [0])
    (Path(f"{out}.parts") / "study.json").unlink()
    with pytest.raises(InputError, match="no description"), StudyStore(STUDY, out):
        pass


def test_a_file_that_is_no_study_is_not_overwritten(out: Path) -> None:
    out.write_text("precious")
    with (
        pytest.raises(InputError, match="is not a Parquet file of a study"),
        StudyStore(STUDY, out),
    ):
        pass
    assert out.read_text() == "precious"


@pytest.mark.parametrize("name", ["study.csv", "no/such/folder.parquet"])
def test_outputs_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        StudyStore(STUDY, tmp_path / name)


def test_two_processes_do_not_share_a_store(out: Path) -> None:
    message = "another process is at work"
    with (
        StudyStore(STUDY, out),
        pytest.raises(InputError, match=message),
        StudyStore(STUDY, out),
    ):
        pass
    with StudyStore(STUDY, out) as kept:
        assert kept.found() == set()


def part(out: Path, number: int) -> Path:
    return Path(f"{out}.parts") / f"{number:08d}.parquet"


@pytest.mark.parametrize("damage", ["empty", "cut", "renamed", "stranger"])
def test_a_damaged_part_is_computed_again(
    out: Path, damage: str, tmp_path: Path
) -> None:
    fill(out, sorted(PARTS))
    path = part(out, 2)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "renamed":
        part(out, 3).replace(path)
        fill(out, [3])
    else:
        fill(tmp_path / "stranger.parquet", [2], study=OTHER)
        part(tmp_path / "stranger.parquet", 2).replace(path)
    with StudyStore(STUDY, out) as kept:
        assert kept.found() == set(PARTS) - {2}
    assert not path.exists()


def test_a_flipped_bit_is_noticed_before_it_is_merged(out: Path) -> None:
    fill(out, sorted(PARTS))
    path = part(out, 2)
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckFailed, match="damaged and is removed: run again"):
        finish(out)
    assert not out.exists()
    fill(out, [2])
    assert finish(out)


def test_what_was_being_written_is_swept_away(out: Path) -> None:
    fill(out, [0])
    stray = Path(f"{out}.parts") / "00000001.parquet.unfinished"
    stray.write_bytes(b"half")
    fill(out, [])
    assert not stray.exists()


def test_a_full_disk_is_one_line_and_leaves_nothing_half(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(out, [0])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with StudyStore(STUDY, out) as kept:
        monkeypatch.setattr(store.os, "fsync", full)
        with pytest.raises(InputError, match="cannot be written: No space left"):
            kept.put(1, PARTS[1])
        monkeypatch.undo()
        assert kept.found() == {0}
        assert not list(kept.parts.glob("*.unfinished"))


def test_a_chunk_with_too_few_rows_is_not_kept(out: Path) -> None:
    with (
        StudyStore(STUDY, out) as kept,
        pytest.raises(CheckFailed, match="must have 2 rows, got 1"),
    ):
        kept.put(0, PARTS[0][:1])
