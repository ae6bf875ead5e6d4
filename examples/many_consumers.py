"""Three consumers of one answer: what each loses with a mechanism of its own and with a shared one.

python examples/many_consumers.py [PICTURE]
"""

import sys

import tightrope as tr
from tightrope.optimize import Design, design_many


def shared_mechanism() -> Design:
    graph = tr.query("choice(4)").graph
    consumers = [
        tr.Consumer.of(graph, prior=[0.5, 0.5, 0, 0], loss="binary", name="pollster"),
        tr.Consumer.of(graph, prior="uniform", loss="binary", name="public"),
        tr.Consumer.of(graph, prior=[0.7, 0.1, 0.1, 0.1], loss="binary", name="insider"),
    ]
    return design_many(graph, "ln(2)", consumers)


def main() -> None:
    many = shared_mechanism()
    for consumer in many.as_dict()["consumers"]:
        own, lost, regret = (consumer[key] for key in ("optimum", "expected_loss", "regret"))
        print(f"{consumer['name']:<9} own {own:.4f}  shared {lost:.4f}  regret {regret:.4f}")
    print(f"no private mechanism has a worst regret below {many.bound:.6f}")
    if len(sys.argv) > 1:
        from tightrope.report.plots import plot_regret, save_plot

        print(f"drawn into {save_plot(plot_regret, many, sys.argv[1])}")


if __name__ == "__main__":
    main()
