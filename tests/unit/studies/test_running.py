"""Running a study in this process."""

from pathlib import Path

import pytest

from tightrope import InputError
from tightrope.studies import Study, read_rows, run_study, study as study_module

STUDY = Study.of(["path(4)", "cycle(5)"], "0.5:2:0.5", routes=[None, "tree"], chunk=3)


def without_seconds(rows: object) -> list[dict]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_all_ways_give_the_same_rows(tmp_path: Path) -> None:
    kept = run_study(STUDY, tmp_path / "study.parquet")
    inside = run_study(STUDY)
    assert without_seconds(inside.rows()) == list(kept.rows())
    assert list(read_rows(tmp_path / "study.parquet")) == list(kept.rows())
    assert (
        (kept.certified, kept.refused) == (inside.certified, inside.refused) == (12, 4)
    )


def test_progress_starts_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, calls = tmp_path / "study.parquet", []

    def interrupted(*args: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(*args, **options)

    real = study_module.design
    with monkeypatch.context() as patched:
        patched.setattr(study_module, "design", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(STUDY, out)
    told: list[tuple[int, int]] = []
    done = run_study(
        STUDY, out, progress=lambda now: told.append((now.done, now.total))
    )
    # Chunks hold three levels and one: the first two were whole, the third was under way.
    assert done.found == 4
    assert told == [(count, 16) for count in range(4, 17)]


def test_a_finished_study_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_study(STUDY, tmp_path / "study.parquet")
    monkeypatch.setattr(study_module, "design", None)
    again = run_study(STUDY, tmp_path / "study.parquet", workers=2, scheduler=None)
    assert again.found == STUDY.size
    assert list(again.rows()) == list(first.rows())


@pytest.mark.parametrize("workers", [0, -1, 10_000])
def test_numbers_of_workers(workers: int) -> None:
    with pytest.raises(InputError, match="workers must be between 1 and 1024"):
        run_study(STUDY, workers=workers)
