"""The four papers: every claim that can be computed, and its reproduction.

A claim is written down once, with its printed value and its check; ``tightrope papers``, the pages
of the documents and the tests go through the same list.

>>> from tightrope.papers import all_claims
>>> [claim.row().computed for claim in all_claims("B") if claim.result == "Thm 15, bits"]
['99.0312 bits']
"""

from __future__ import annotations

from collections.abc import Iterable

from tightrope.errors import InputError
from tightrope.papers import paper_a, paper_b, paper_c, paper_d
from tightrope.papers.claims import PaperClaim, Row
from tightrope.progress import Progress, ProgressCallback

#: The papers by their letters.
PAPERS = {
    module.paper.letter: module.paper for module in (paper_a, paper_b, paper_c, paper_d)
}


def all_claims(papers: Iterable[str] | None = None) -> tuple[PaperClaim, ...]:
    """Return every claim, or those of some papers.

    Parameters
    ----------
    papers
        Letters, such as ``"AB"``; all by default.

    Examples
    --------
    >>> {claim.paper for claim in all_claims("CD")} == {"C", "D"}
    True
    """
    wanted = list(PAPERS) if papers is None else [letter.upper() for letter in papers]
    if not wanted or not set(wanted) <= set(PAPERS):
        raise InputError(
            f"papers must be some of A, B, C and D, got {''.join(wanted)!r}"
        )
    return tuple(
        claim
        for paper in PAPERS.values()
        if paper.letter in wanted
        for claim in paper.claims
    )


def reproduce(
    papers: Iterable[str] | None = None, progress: ProgressCallback | None = None
) -> tuple[Row, ...]:
    """Compute every claim and compare it with what is printed.

    Parameters
    ----------
    papers
        Letters, such as ``"AB"``; all by default.
    progress
        Called with the number of claims that are computed.
    """
    claims = all_claims(papers)
    rows = []
    for number, claim in enumerate(claims, start=1):
        rows.append(claim.row())
        if progress is not None:
            progress(Progress("computing", number, len(claims)))
    return tuple(rows)
