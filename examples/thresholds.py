"""Where the tight-constraints mechanism exists: published thresholds, true ones, and a gap.

python examples/thresholds.py
"""

import tightrope as tr
from tightrope.mechanisms import NoTightConstraints, tight_constraints
from tightrope.phi import Phi, exists


def main() -> None:
    for text, published in (("sum(150,5)", 0.8), ("counts(30,2)", 0.9)):
        graph = tr.query(text).graph
        rough, true = exists(graph, tolerance=1e-4).minimum, exists(graph).minimum
        print(
            f"{text}: {rough} if entries down to -0.0001 are let through, {true:.6f} in truth"
        )
        near = (round(true + 1e-6, 6), true - 1e-6)
        proved = [Phi(graph, level).solve_ones().positive for level in near]
        print(f"  just above: {proved[0]}, just below: {proved[1]}, rounding included")
        try:
            tight_constraints(graph, published)
        except NoTightConstraints as refused:
            print(f"  at {published}: {refused}")
    gap = tr.AnswerGraph.of(
        [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]
    )
    print(f"six answers with a gap: {exists(gap).intervals}")


if __name__ == "__main__":
    main()
