"""The best remap: for each output the guess with the least expected loss.

python -m benchmarks.remap [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main


def _row(size: int, loss: str, *, rule: bool = False, quick: bool = False) -> Row:
    dense: float | str = 20
    if size > 10_000:
        dense = (
            f"needs the matrix of {size:,}² numbers, {8 * size * size / 2**30:,.0f} GiB"
        )
    kind = "by rule" if rule else "dense"
    return Row(
        f"{kind.replace(' ', '-')}-{loss}-{size}",
        f"geometric mechanism, {kind}, {size:,} answers, {loss} loss, random prior",
        {"size": size, "loss": loss, "rule": rule},
        {"tightrope": 60, "numpy": dense, "qif": dense},
        series=f"{kind}, {loss} loss",
        size=size,
        quick=quick,
    )  # fmt: skip


ROWS = (
    _row(100, "absolute", quick=True),
    _row(1_000, "absolute"),
    _row(100, "binary"),
    _row(1_000, "binary"),
    _row(1_000, "absolute", rule=True, quick=True),
    _row(10_000, "absolute", rule=True),
    _row(100_000, "absolute", rule=True),
    _row(1_000_000, "absolute", rule=True),
)

COMPARISON = Comparison(
    "remap",
    "Best remap",
    "For each output of the geometric mechanism at ε = ln 2, the guess that costs a consumer "
    "least. *By rule* the mechanism is never held as a matrix. The NumPy "
    "way multiplies prior, loss and matrix and takes the least entry of each column; `qif` is "
    "called as `l_risk.strategy`.",
    ROWS,
)


def tightrope(size: int, loss: str, rule: bool) -> Work:
    from benchmarks.problems import prior_of, truncated_geometric
    from tightrope.channels import Channel, GeometricChannel
    from tightrope.consumers import Consumer, best_remap
    from tightrope.graphs import PathPower

    graph = PathPower(size)
    consumer = Consumer.of(graph, prior=prior_of("random", size), loss=loss)
    channel = (
        GeometricChannel(size, "ln(2)")
        if rule
        else Channel(truncated_geometric(size, 0.6931472))
    )
    return Work(
        lambda: best_remap(channel, consumer),
        lambda found: {
            "loss": found.expected_loss,
            "note": f"loss {found.expected_loss:.9g}",
        },
    )


def _problem(size: int, loss: str) -> tuple[Any, Any, Any]:
    from benchmarks.problems import edges_of, loss_of, prior_of, truncated_geometric

    prices = loss_of(loss, edges_of("path", size), size)
    return truncated_geometric(size, 0.6931472), prior_of("random", size), prices


def numpy(size: int, loss: str, rule: bool) -> Work:
    matrix, prior, prices = _problem(size, loss)

    def solve() -> Any:
        costs = (prices.T * prior) @ matrix
        return costs.argmin(axis=0), costs.min(axis=0).sum()

    return Work(
        solve, lambda found: {"loss": float(found[1]), "note": f"loss {found[1]:.9g}"}
    )


def qif(size: int, loss: str, rule: bool) -> Work:
    from qif.measure import l_risk

    matrix, prior, prices = _problem(size, loss)

    def facts(_: Any) -> dict[str, Any]:
        lost = float(l_risk.posterior(prices.T, prior, matrix))
        return {"loss": lost, "note": f"loss {lost:.9g}"}

    return Work(lambda: l_risk.strategy(prices.T, prior, matrix), facts)


if __name__ == "__main__":
    main("benchmarks.remap")
