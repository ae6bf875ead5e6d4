"""Every claim is computed, agrees or is explained, and stands on the pages as computed."""

import re
import runpy
from pathlib import Path

import pytest

from tightrope.errors import InputError
from tightrope.papers import PAPERS, all_claims, reproduce

ROOT = Path(__file__).parents[2]
WRITER = runpy.run_path(str(ROOT / "scripts" / "write_papers_pages.py"))
PAPERS_PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
CORRECTIONS_PAGE = (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8")
CLAIMS = all_claims()

CORRECTED = {
    "A Fig 1, f3",
    "A Ex 3, this prior",
    "A Ex 3, least ε",
    "A §5, threshold ε*",
    "A §6, sum, least ε",
    "A §6, sum, at 0.8",
    "A §6, 2-count, least ε",
    "A §6, 2-count, at 0.9",
    "A §7, closing remark",
    "B before Prop 20",
    "B Prop 20, last step",
    "B after Thm 28",
    "B Ex 30, α",
    "B Table 1(a)",
    "B Table 1(a), first entry",
    "C abstract",
    "D Prop 2.2.2, a ≥ 1/2",
    "D Thm 2.2.5 (v)",
    "D after Def 3.3.2",
    "D App B, share a",
    "D Lemma 3.3.8, even d",
    "D Lemma 3.3.8, odd d",
}


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.key for claim in CLAIMS])
def test_claim(claim) -> None:
    row = claim.row()
    assert row.verdict == ("corrected" if claim.key in CORRECTED else "match"), row
    assert row.claimed != row.computed or row.verdict == "match"
    assert WRITER["papers_line"](row) in PAPERS_PAGE, (
        "run scripts/write_papers_pages.py"
    )
    section = WRITER["corrections_section"](row)
    assert (section in CORRECTIONS_PAGE) == (row.verdict == "corrected")


@pytest.mark.parametrize(
    ("key", "start"),
    [
        ("A §6, sum, least ε", "0.968133"),
        ("A §6, 2-count, least ε", "1.13608"),
        ("A Ex 3, least ε", "0.693147"),
    ],
)
def test_the_three_thresholds_of_paper_a(key, start) -> None:
    claim = next(claim for claim in CLAIMS if claim.key == key)
    assert f"| {claim.claimed} | {start}" in PAPERS_PAGE


def test_the_page_has_every_claim_once_and_no_other() -> None:
    lines = re.findall(
        r"^\| \*\*(.*?)\*\*: .*\|$", PAPERS_PAGE.split(WRITER["MARK"])[1], re.M
    )
    assert lines == [WRITER["_cell"](claim.result) for claim in CLAIMS]


def test_every_claim_is_stated() -> None:
    assert all(len(claim.statement) > 5 for claim in CLAIMS)


def test_keys_are_different() -> None:
    keys = [claim.key for claim in CLAIMS]
    assert len(set(keys)) == len(keys)
    assert set(keys) >= CORRECTED


def test_only_corrected_claims_carry_an_explanation() -> None:
    assert {claim.key for claim in CLAIMS if claim.correction} == CORRECTED


def test_papers_are_chosen_by_letter() -> None:
    assert {claim.paper for claim in all_claims("bd")} == {"B", "D"}
    with pytest.raises(InputError, match="some of A, B, C and D"):
        all_claims("E")
    with pytest.raises(InputError, match="some of A, B, C and D"):
        all_claims("")


def test_every_paper_has_claims() -> None:
    assert {claim.paper for claim in CLAIMS} == set(PAPERS)


def test_progress_is_told() -> None:
    told: list[float] = []
    rows = reproduce("D", lambda now: told.append(now.share))
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) == len(rows)
