"""The tight-constraints mechanism: for which ε it exists, and the solution of Φz = 1.

python -m benchmarks.existence [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

#: ε at which the solution is asked for: the mechanism exists there.
EPSILON = {"sum": 1.0, "counts": 1.2}
WORDS = {"sum": "sums, answers at most 5 apart", "counts": "two counts at once"}
NO_SEARCH = "solves at one ε; has no search for the ε at which the mechanism exists"


def _too_large(size: int) -> str:
    return f"needs the matrix of {size:,}² numbers, {8 * size * size / 2**30:,.0f} GiB"


def _solve(
    kind: str, size: int, *, quick: bool = False, name: str = "", what: str = ""
) -> Row:
    dense: float | str = 60 if size <= 4_000 else _too_large(size)
    return Row(
        name or f"solve-{kind}-{size}",
        what or f"Φz = 1, {WORDS[kind]}, {size:,} answers",
        {"kind": kind, "size": size},
        {"tightrope": 120, "numpy": dense, "qif": 60 if size <= 1_000 else dense},
        series="" if name else f"Φz = 1, {WORDS[kind]}",
        size=0 if name else size,
        quick=quick,
    )


def _exists(
    kind: str, size: int, *, quick: bool = False, name: str = "", what: str = ""
) -> Row:
    return Row(
        name or f"exists-{kind}-{size}",
        what or f"all ε at which it exists, {WORDS[kind]}, {size:,} answers",
        {"kind": kind, "size": size, "search": True},
        {"tightrope": 200, "numpy": NO_SEARCH, "qif": NO_SEARCH},
        series="" if name else f"all ε, {WORDS[kind]}",
        size=0 if name else size,
        quick=quick,
    )


ROWS = (
    _solve("sum", 751, quick=True, name="sum(150,5)", what="Φz = 1, sum(150,5), 751 answers"),
    _solve("counts", 961, quick=True, name="counts(30,2)",
           what="Φz = 1, counts(30,2), 961 answers"),
    _solve("sum", 100),
    _solve("sum", 1_000),
    _solve("sum", 10_000),
    _solve("sum", 100_000),
    _solve("sum", 1_000_000),
    _solve("counts", 100),
    _solve("counts", 1_024),
    _solve("counts", 10_000),
    _solve("counts", 99_856),
    _solve("counts", 1_000_000),
    _exists("sum", 751, quick=True, name="exists sum(150,5)",
            what="all ε at which it exists, sum(150,5)"),
    _exists("counts", 961, name="exists counts(30,2)",
            what="all ε at which it exists, counts(30,2)"),
    _exists("sum", 100),
    _exists("sum", 1_000),
    _exists("sum", 10_000),
    _exists("sum", 100_000),
    _exists("sum", 1_000_000),
    _exists("counts", 100),
    _exists("counts", 1_024),
    _exists("counts", 10_000),
)  # fmt: skip

COMPARISON = Comparison(
    "existence",
    "Existence and the tight-constraints mechanism",
    "Φz = 1 gives the tight-constraints mechanism. Ours uses the structure of Φ and proves the "
    "sign of every entry of z; the dense way builds Φ and calls `numpy.linalg.solve`; `qif` is "
    "called as `tight_constraints`. Below, the search for all ε at which the mechanism exists.",
    ROWS,
)


def _graph(kind: str, size: int) -> Any:
    from tightrope.graphs import PathPower, StrongProduct

    return (
        PathPower(size, 5)
        if kind == "sum"
        else StrongProduct([PathPower(round(size**0.5))] * 2)
    )


def tightrope(kind: str, size: int, search: bool = False) -> Work:
    from tightrope.phi import Phi, exists

    if search:
        return Work(lambda: exists(_graph(kind, size)), _levels)
    # A small one first loads the solvers.
    Phi(_graph(kind, 100), EPSILON[kind] + 0.1).solve_ones()
    return Work(lambda: Phi(_graph(kind, size), EPSILON[kind]).solve_ones(), _solution)


def _levels(found: Any) -> dict[str, Any]:
    low, high = found.intervals[-1]
    end = "" if high is None else f" to {high:.6f}"
    return {
        "from": float(low),
        "accuracy": float(found.accuracy),
        "note": f"from ε = {low:.6f}{end}, accuracy {found.accuracy:.0e}, by {found.method}",
    }


def _solution(found: Any) -> dict[str, Any]:
    return {
        "positive": found.positive is True,
        "mean": float(found.values.mean()),
        "residual": float(found.residual),
        "note": f"mean of z {found.values.mean():.6f}, residual {found.residual:.0e}, "
        f"z > 0 {'proved' if found.positive else 'not proved'}",
    }


def numpy(kind: str, size: int) -> Work:
    import numpy as np

    def solve() -> Any:
        phi = np.exp(-EPSILON[kind] * _graph(kind, size).distance_matrix())
        return np.linalg.solve(phi, np.ones(size))

    return Work(solve, lambda z: {"note": f"mean of z {z.mean():.6f}"})


def qif(kind: str, size: int) -> Work:
    import qif

    epsilon, side = EPSILON[kind], round(size**0.5)

    def far(i: int, j: int) -> float:
        if kind == "sum":
            return epsilon * -(-abs(int(i) - int(j)) // 5)
        (a, b), (c, d) = divmod(int(i), side), divmod(int(j), side)
        return epsilon * max(abs(a - c), abs(b - d))

    def facts(channel: Any) -> dict[str, Any]:
        return {"note": f"mean of z {channel.diagonal().mean():.6f}"}

    return Work(lambda: qif.mechanism.d_privacy.tight_constraints(size, far), facts)


if __name__ == "__main__":
    main("benchmarks.existence")
