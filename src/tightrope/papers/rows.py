"""All claims of the four papers, computed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tightrope.errors import InputError
from tightrope.papers import (
    a_mechanism,
    a_priors,
    b_leakage,
    b_symmetry,
    b_utility,
    c_consumers,
    c_graphs,
    d_privacy,
    d_utility,
)
from tightrope.papers.claims import Claim, Row

_BOOKS = (
    a_priors.book,
    a_mechanism.book,
    b_symmetry.book,
    b_leakage.book,
    b_utility.book,
    c_consumers.book,
    c_graphs.book,
    d_privacy.book,
    d_utility.book,
)

#: The papers by their letters.
PAPERS = {
    "A": "ElSalamouny, Chatzikokolakis, Palamidessi: A differentially private mechanism of optimal "
    "utility for a region of priors (POST 2013)",
    "B": "Alvim, Andrés, Chatzikokolakis, Degano, Palamidessi: On the information leakage of "
    "differentially-private mechanisms (JCS 2015)",
    "C": "Brenner, Nissim: Impossibility of differentially private universally optimal mechanisms "
    "(FOCS 2010)",
    "D": "Kifer, Lin: Towards an axiomatization of statistical privacy and utility (PODS 2010)",
}


def all_claims(papers: Iterable[str] | None = None) -> tuple[Claim, ...]:
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
    unknown = [letter for letter in wanted if letter not in PAPERS]
    if unknown or not wanted:
        raise InputError(f"papers must be some of A, B, C and D, got {''.join(wanted)!r}")
    return tuple(claim for book in _BOOKS for claim in book.claims if claim.paper in wanted)


def reproduce(
    papers: Iterable[str] | None = None, progress: Callable[[float], None] | None = None
) -> tuple[Row, ...]:
    """Compute every claim and compare it with what is printed.

    Parameters
    ----------
    papers
        Letters, such as ``"AB"``; all by default.
    progress
        Called with the share that is done.

    Examples
    --------
    >>> rows = reproduce("D")
    >>> {row.verdict for row in rows} == {"match", "corrected"}
    True
    """
    claims = all_claims(papers)
    rows = []
    for number, claim in enumerate(claims, start=1):
        rows.append(claim.row())
        if progress is not None:
            progress(number / len(claims))
    return tuple(rows)
