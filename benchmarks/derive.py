"""Derivability with a checked remap or witness, against qif.

    python -m benchmarks.derive [--quick] [--alone] [--row NAME]

Ours decides in integers and checks what it returns; the peer gets the same matrices as floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

BORDER = tuple(
    (power, side) for power in (3, 6, 9, 12) for side in ("inside", "outside")
)


def _row(
    name: str, what: str, expected: bool, *, limit: float = 20, quick: bool = False
) -> Row:
    return Row(
        name, what, {"case": name, "expected": expected}, {"tightrope": 60, "qif": limit},
        quick=quick,
    )  # fmt: skip


ROWS = (
    _row("square-yes", "60×60 from 60×60, derivable", True, quick=True),
    _row("square-no", "60×60 from 60×60, not derivable", False),
    _row("wide-yes", "60×60 from 60×120, derivable", True),
    _row("wide-joined", "60×60 from 60×120, outputs joined", True),
    _row("wide-no", "60×60 from 60×120, not derivable", False),
    _row("tall-yes", "60×120 from 60×60, derivable", True),
    _row("geometric-yes", "geometric(½) from geometric(1), 60 answers", True),
    _row("geometric-no", "geometric(1) from geometric(½), 60 answers", False),
    *(
        _row(f"border-{power}-{side}", f"5×5, 1e-{power} {side} the border", side == "inside",
             quick=power == 3)
        for power, side in BORDER
    ),
)  # fmt: skip

COMPARISON = Comparison(
    "derive",
    "Derivability",
    "Whether one mechanism is the other followed by a remap: with the remap, or with a prior and "
    "a gain function under which the other wins. `qif` is called as `refined_by_witness`. "
    "*Wrong* marks an answer that exact arithmetic refutes.",
    ROWS,
)


def _weights(case: str) -> tuple[Any, Any]:
    """Return both matrices, not yet divided by the sums of their rows: X from Y."""
    import numpy as np

    from benchmarks.problems import random_weights

    rng = np.random.default_rng(1)
    square, wide = random_weights(rng, 60, 60), random_weights(rng, 60, 120)
    joined = np.zeros((120, 60), dtype=int)
    joined[np.arange(120), rng.integers(0, 60, 120)] = 1
    made = square @ random_weights(rng, 60, 60)
    if case.startswith("border"):
        _, power, side = case.split("-")
        step = Fraction(1, 10 ** int(power)) * (1 if side == "outside" else -1)
        small = random_weights(rng, 5, 5)
        return _sharper(small, step), small
    return {
        "square-yes": lambda: (made, square),
        "square-no": lambda: (square, made),
        "wide-yes": lambda: (wide @ random_weights(rng, 120, 60), wide),
        "wide-joined": lambda: (wide @ joined, wide),
        "wide-no": lambda: (random_weights(rng, 60, 60), wide),
        "tall-yes": lambda: (square @ random_weights(rng, 60, 120), square),
    }[case]()


def _sharper(weights: Any, step: Fraction) -> Any:
    """Move every row away from the mean row: derivable for step ≤ 0, not for step > 0."""
    import numpy as np

    rows = [[Fraction(int(w)) for w in row] for row in weights]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    moved = [
        [w * (1 + step) - step * m for w, m in zip(row, mean, strict=True)]
        for row in rows
    ]
    # 5 rows and a power of ten: the smallest common denominator of all entries.
    scale = 5 * abs(step.denominator)
    return np.array([[int(w * scale) for w in row] for row in moved], dtype=object)


def tightrope(case: str, expected: bool) -> Work:
    from tightrope.channels import GeometricChannel, IntegerChannel, derivable

    x: Any
    y: Any
    if case.startswith("geometric"):
        levels = ("1/2", 1) if expected else (1, "1/2")
        x, y = (GeometricChannel(60, level) for level in levels)
    else:
        x, y = (IntegerChannel(weights.tolist()) for weights in _weights(case))

    def facts(found: Any) -> dict[str, Any]:
        right = found.derivable == expected
        return {
            "right": right,
            "exact": found.exact,
            "note": f"{'right' if right else 'WRONG'}, decided in "
            f"{'integers' if found.exact else 'floats'}",
        }

    return Work(lambda: derivable(x, y), facts)


def qif(case: str, expected: bool) -> Work:
    from qif import refinement

    from benchmarks.problems import truncated_geometric

    if case.startswith("geometric"):
        x, y = (
            truncated_geometric(60, level)
            for level in ((0.5, 1) if expected else (1, 0.5))
        )
    else:
        x, y = (_floats(weights) for weights in _weights(case))

    def facts(found: Any) -> dict[str, Any]:
        right = bool(found[0]) == expected
        return {"right": right, "note": "right" if right else "WRONG"}

    return Work(lambda: refinement.refined_by_witness(y, x), facts)


def _floats(weights: Any) -> Any:
    import numpy as np

    # Divided in fractions first: integers of the border cases do not fit into floats.
    return np.array(
        [[float(Fraction(int(w), int(sum(row)))) for w in row] for row in weights]
    )


if __name__ == "__main__":
    main("benchmarks.derive")
