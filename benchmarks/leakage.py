"""Leakage of dense channels: against one NumPy expression and against qif.

python -m benchmarks.leakage [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main


def _row(
    name: str, what: str, measure: str, size: int, numpy: float | str, qif: float | str,
    quick: bool = False,
) -> Row:  # fmt: skip
    return Row(
        name,
        what,
        {"measure": measure, "size": size},
        {"tightrope": 60, "numpy": numpy, "qif": qif},
        quick=quick,
    )


SEVERAL = "no single expression: an iteration, not one pass over the matrix"

ROWS = (
    _row("min-entropy", "min-entropy leakage, 1000×1000, uniform prior", "min-entropy", 1000,
         60, 60, quick=True),
    _row("posterior", "posterior vulnerability, 1000×1000, random prior", "posterior", 1000,
         60, 60),
    _row("g-vulnerability", "posterior g-vulnerability, 1000×1000, 1000 guesses",
         "g-vulnerability", 1000, 60, 60),
    _row("mutual-information", "mutual information, 1000×1000, uniform prior",
         "mutual-information", 1000, 60, 60),
    _row("smallest-epsilon", "smallest ε on a path, 1000×1000", "smallest-epsilon", 1000, 60, 60,
         quick=True),
    _row("capacity", "Shannon capacity, 200×200", "capacity", 200, SEVERAL, 120),
)  # fmt: skip

COMPARISON = Comparison(
    "leakage",
    "Leakage",
    "Measures of a dense channel with random rows. The NumPy way is the shortest expression that "
    "reads the matrix once; it checks nothing. Capacity comes with a certified gap.",
    ROWS,
)


def _problem(measure: str, size: int) -> tuple[Any, Any, Any]:
    """Return the matrix, the prior and the gains."""
    import numpy as np

    from benchmarks.problems import dense_channel, truncated_geometric

    matrix = (
        truncated_geometric(size, 0.1) if "epsilon" in measure else dense_channel(size)
    )
    rng = np.random.default_rng(2)
    prior = (
        rng.dirichlet(np.ones(size))
        if measure == "posterior"
        else np.full(size, 1 / size)
    )
    return (
        matrix,
        prior,
        rng.random((size, size)) if measure == "g-vulnerability" else None,
    )


def _value(found: Any) -> dict[str, Any]:
    return {"value": float(found), "note": f"value {float(found):.9g}"}


def tightrope(measure: str, size: int) -> Work:
    from tightrope import leakage
    from tightrope.channels import Channel, smallest_epsilon
    from tightrope.graphs import PathPower
    from tightrope.leakage.measures import posterior_g_vulnerability

    matrix, prior, gains = _problem(measure, size)
    channel = Channel(matrix)
    if measure == "capacity":
        return Work(
            lambda: leakage.shannon_capacity(channel),
            lambda found: {
                "value": found.bits,
                "gap": found.gap,
                "note": f"value {found.bits:.9g}, certified gap {found.gap:.0e}",
            },
        )
    if measure == "smallest-epsilon":
        return Work(lambda: float(smallest_epsilon(channel, PathPower(size))), _value)
    calls = {
        "min-entropy": lambda: leakage.min_entropy_leakage(channel),
        "posterior": lambda: leakage.posterior_vulnerability(channel, prior),
        "g-vulnerability": lambda: posterior_g_vulnerability(channel, gains),
        "mutual-information": lambda: leakage.mutual_information(channel),
    }
    return Work(calls[measure], _value)


def numpy(measure: str, size: int) -> Work:
    import numpy as np

    matrix, prior, gains = _problem(measure, size)
    calls = {
        "min-entropy": lambda: np.log2(matrix.max(axis=0).sum()),
        "posterior": lambda: (matrix * prior[:, None]).max(axis=0).sum(),
        "g-vulnerability": lambda: ((gains.T * prior) @ matrix).max(axis=0).sum(),
        "mutual-information": lambda: (
            prior @ (matrix * np.log2(matrix / (prior @ matrix))).sum(axis=1)
        ),
        "smallest-epsilon": lambda: np.abs(np.log(matrix[1:] / matrix[:-1])).max(),
    }
    return Work(calls[measure], _value)


def qif(measure: str, size: int) -> Work:
    import numpy as np
    from qif import measure as of

    matrix, prior, gains = _problem(measure, size)
    calls = {
        "min-entropy": lambda: np.log2(of.bayes_vuln.mult_leakage(prior, matrix)),
        "posterior": lambda: of.bayes_vuln.posterior(prior, matrix),
        "g-vulnerability": lambda: of.g_vuln.posterior(gains.T, prior, matrix),
        "mutual-information": lambda: of.shannon.add_leakage(prior, matrix),
        "smallest-epsilon": lambda: of.d_privacy.smallest_epsilon(
            matrix, lambda i, j: abs(int(i) - int(j))
        ),
        "capacity": lambda: of.shannon.add_capacity(matrix)[0],
    }
    return Work(calls[measure], _value)


if __name__ == "__main__":
    main("benchmarks.leakage")
