"""The page of benchmarks, its pictures and quoted numbers are what the results say."""

import copy
import re
from pathlib import Path

import pytest
from benchmarks import page, peers, plots
from benchmarks.harness import RESULTS, read_results

ROOT = Path(__file__).parents[2]
FOUND = read_results()
BELOW = page.PAGE.read_text(encoding="utf-8").partition(page.MARK)[2]


def test_the_page_is_what_the_results_say() -> None:
    assert page.page(FOUND, page.read_limits()) == BELOW, (
        "run python -m benchmarks.page"
    )


def test_other_results_give_another_page() -> None:
    other = copy.deepcopy(FOUND)
    first = other["leakage"]["rows"][0]["results"]["tightrope"]
    first["cpu"] = [2 * seconds for seconds in first["cpu"]]
    assert page.page(other, page.read_limits()) != BELOW


@pytest.mark.parametrize(("name", "way"), page.QUOTING.items())
def test_quoted_numbers_are_those_of_the_results(name: str, way: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert page.requoted(text, page.quoted(FOUND, way)) == text, (
        "run python -m benchmarks.page"
    )
    changed = re.sub(r"(\d)×", r"\g<1>1×", text)
    assert page.requoted(changed, page.quoted(FOUND, way)) != changed


def test_the_job_on_the_page_of_comparison_is_what_the_results_say() -> None:
    text = page.JOB_PAGE.read_text(encoding="utf-8")
    table = page.job_table(FOUND)
    assert page.requoted(text, table, (page.JOB_BEGIN, page.JOB_END)) == text
    assert "| lines of the script |" in table


def test_the_publication_on_the_page_of_comparison_is_what_the_results_say() -> None:
    text = page.JOB_PAGE.read_text(encoding="utf-8")
    table = page.tables_table(FOUND)
    assert page.requoted(text, table, (page.TABLES_BEGIN, page.TABLES_END)) == text
    row = next(one for one in FOUND["job"]["rows"] if one["name"] == "tables")
    facts = {way: one["facts"] for way, one in row["results"].items() if "facts" in one}
    ours = facts.pop("tightrope")
    assert ours["contradicted"] == 0
    for theirs in facts.values():
        assert ours["expected"] < 0.61 * theirs["expected"]
        assert ours["margin"] < 0.56 * theirs["margin"]
        assert theirs["contradicted"] > 0


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(SystemExit, match="must hold the lines"):
        page.requoted("no marks", "numbers")


@pytest.mark.parametrize("figure", plots.FIGURES, ids=lambda figure: figure.name)
def test_pictures_are_drawn_from_the_results(figure: plots.Figure) -> None:
    curves = plots.curves_of(figure, FOUND)
    assert curves
    drawn = plots.picture(figure).read_text(encoding="utf-8")
    assert plots.digest(curves) in drawn, "run python -m benchmarks.page"
    assert plots.digest(curves[1:]) not in drawn


def test_every_comparison_has_results_from_a_full_run() -> None:
    assert set(FOUND) == set(page.ORDER)
    for name, found in FOUND.items():
        module = __import__(f"benchmarks.{name}", fromlist=["COMPARISON"])
        assert [row["name"] for row in found["rows"]] == [
            r.name for r in module.COMPARISON.rows
        ]


def test_the_slowest_rows_say_what_limits_them() -> None:
    limits = page.read_limits()
    missing = [key for key, *_ in page.slowest(FOUND) if key not in limits]
    assert not missing, f"add to benchmarks/limits.toml: {missing}"


def test_results_name_no_machine() -> None:
    for path in RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'[" (\'](?:/[\w.-]+){2,}', text), path.name
        assert "hostname" not in text.lower()


@pytest.mark.parametrize("name", ["peers", *peers.ALONE])
def test_the_lock_of_the_peers_names_no_place(name: str) -> None:
    lock = (ROOT / "benchmarks" / f"{name}.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "--hash=sha256:" in lock
    listed = (ROOT / "benchmarks" / f"{name}.txt").read_text("utf-8")
    asked = [one.replace(".", "-") for one in re.findall(r"^([a-z.-]+)", listed, re.M)]
    assert asked
    assert set(asked) <= set(re.findall(r"^([a-z0-9-]+)(?:\[\w+\])?==", lock, re.M))
