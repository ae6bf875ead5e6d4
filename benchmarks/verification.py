"""Verification of a mechanism file: privacy in integers, and the certificate of optimality.

python -m benchmarks.verification [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

NO = {
    "qif": "checks float matrices with a tolerance; knows no files and no certificates",
    "opendp": "believes the ε that is claimed for a measurement of one's own",
}


def _row(name: str, what: str, kind: str, size: int, *, quick: bool = False) -> Row:
    words = {"tight": "by rule, tight constraints on sums", "geometric": "by rule, geometric",
             "path": "with certificate, path", "band": "with certificate, band"}  # fmt: skip
    return Row(
        name, what, {"kind": kind, "size": size}, {"tightrope": 200, **NO}, series=words[kind],
        size=size, quick=quick,
    )  # fmt: skip


ROWS = (
    *(
        _row(f"path-{n}", f"optimal for a path, {n:,} answers, absolute loss, with certificate",
             "path", n, quick=n == 100)
        for n in (100, 300, 1_000)
    ),
    *(
        _row(f"band-{n}", f"optimal, answers at most 3 apart, {n} answers, with certificate",
             "band", n)
        for n in (40, 80, 160)
    ),
    *(
        _row(f"tight-{n}", f"tight constraints by rule, answers at most 5 apart, {n:,} answers",
             "tight", n, quick=n == 1_000)
        for n in (1_000, 10_000, 100_000, 1_000_000)
    ),
    *(
        _row(f"geometric-{n}", f"geometric by rule, answers at most 5 apart, {n:,} answers",
             "geometric", n)
        for n in (100_000, 1_000_000)
    ),
)  # fmt: skip

COMPARISON = Comparison(
    "verification",
    "Verification",
    "`verify` reads a file and checks it in integers: privacy on every edge, totals, digest and, "
    "where there is one, the certificate that bounds every private mechanism.",
    ROWS,
)


def tightrope(kind: str, size: int) -> Work:
    import tightrope as tr
    from benchmarks.problems import prior_of
    from tightrope.certify import certify, verify
    from tightrope.mechanisms import geometric, tight_constraints

    width = {"path": 1, "band": 3}.get(kind, 5)
    graph = tr.query(f"sum({size // width},{width})").graph
    size = graph.size
    if kind in ("path", "band"):
        consumer = tr.Consumer.of(
            graph, prior=prior_of("random", size), loss="absolute"
        )
        made = tr.prove(tr.design(graph, "ln(2)", consumer))
    else:
        channel = (
            tight_constraints(graph, 1) if kind == "tight" else geometric(graph, 1)
        )
        made = certify(channel, graph, 1)
    data = made.to_bytes()

    def facts(found: Any) -> dict[str, Any]:
        within = None if found.optimal_within is None else float(found.optimal_within)
        said = "private" if found.private else "NOT private"
        bound = "" if within is None else f", optimal within {within:.0e}"
        return {
            "private": found.private,
            "optimal_within": within,
            "kib": len(data) / 1024,
            "note": f"{said}{bound}, file of {len(data) / 1024:,.0f} KiB",
        }

    return Work(lambda: verify(data), facts)


if __name__ == "__main__":
    main("benchmarks.verification")
