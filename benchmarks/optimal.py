"""Optimal mechanisms by graph family, loss and size, against one plain linear program.

    python -m benchmarks.optimal [--quick] [--alone] [--row NAME]

The plain program is the one that anybody would write down first: a variable for each entry, a
constraint for each edge, direction and column. SciPy (HiGHS), OR-Tools (GLOP and PDLP) and qif
get it. Ours is rounded to integers, proved and verified; the others are read back as they come.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.child import Work
from benchmarks.harness import ROOT, Comparison, Row, main

LEVEL = "ln(2)"
#: Levels as the peers get them.
VALUES = {LEVEL: 0.6931471805599453, "0.9": 0.9}
#: What no peer can: their programs hold every entry of the matrix.
TOO_LARGE = "the program has a variable for each of n² entries: {} of them"


def _row(
    family: str, size: int, loss: str, ways: Mapping[str, float | str], prior: str = "random",
    *, quick: bool = False, series: bool = True,
) -> Row:  # fmt: skip
    kind = {
        "path": "path", "band": "answers at most 3 apart", "tree": "random tree",
        "cycle": "cycle", "counts": "two counts at once", "general": "random graph",
    }[family]  # fmt: skip
    return Row(
        f"{family}-{size}-{loss}" + ("" if prior == "random" else f"-{prior}"),
        f"{kind}, {size:,} answers, {loss} loss, {prior} prior",
        {"family": family, "size": size, "loss": loss, "prior": prior},
        {"tightrope": 120, **ways},
        series=f"{kind}, {loss} loss" if series and prior == "random" else "",
        size=size if series and prior == "random" else 0,
        quick=quick,
    )


def _each(
    linprog: float, glop: float, qif: float, pdlp: float = 0
) -> dict[str, float | str]:
    ways: dict[str, float | str] = {
        "linprog": linprog,
        "glop": glop,
        "pdlp": pdlp,
        "qif": qif,
    }
    return {way: limit for way, limit in ways.items() if limit}


def _none(size: int) -> dict[str, float | str]:
    return dict.fromkeys(
        ("linprog", "glop", "qif"), TOO_LARGE.format(f"{size * size:,}")
    )


#: Limits in seconds: for small programs, for those that take long, and for those that end, if
#: at all, after hours.
SMALL, LARGEST, HOPELESS = _each(30, 30, 30), _each(400, 30, 15), _each(10, 10, 10)

ROWS = (
    _row("path", 100, "absolute", SMALL, quick=True),
    _row("path", 1_000, "absolute", HOPELESS),
    _row("path", 10_000, "absolute", _none(10_000)),
    _row("path", 100_000, "absolute", _none(100_000)),
    _row("band", 20, "absolute", SMALL),
    _row("band", 40, "absolute", _each(30, 30, 30, pdlp=30), quick=True),
    _row("band", 80, "absolute", SMALL),
    _row("band", 160, "absolute", LARGEST),
    _row("band", 500, "absolute", HOPELESS),
    _row("band", 20, "binary", SMALL),
    _row("band", 40, "binary", _each(30, 30, 30, pdlp=30), quick=True),
    _row("band", 80, "binary", SMALL),
    _row("band", 160, "binary", LARGEST),
    _row("tree", 50, "binary", SMALL, quick=True),
    _row("tree", 200, "binary", HOPELESS),
    _row("tree", 50, "distance", SMALL),
    _row("cycle", 20, "binary", SMALL, quick=True),
    _row("cycle", 40, "binary", SMALL),
    _row("cycle", 80, "binary", SMALL),
    _row("cycle", 40, "distance", SMALL),
    _row("counts", 25, "binary", SMALL, quick=True),
    _row("counts", 49, "binary", SMALL),
    _row("counts", 121, "binary", HOPELESS),
    _row("counts", 121, "binary", HOPELESS, "uniform"),
    _row("counts", 121, "distance", HOPELESS),
    _row("counts", 121, "distance", HOPELESS, "uniform"),
    _row("general", 10, "binary", SMALL, quick=True),
    _row("general", 20, "binary", SMALL),
    _row("general", 40, "binary", SMALL),
    _row("general", 20, "distance", SMALL, series=False),
    Row(
        "sum-751-binary-uniform",
        "sum(150,5): 751 answers at most 5 apart, ε = 0.9, binary loss, uniform prior",
        {"family": "sum(150,5)", "size": 751, "loss": "binary", "prior": "uniform",
         "epsilon": "0.9"},
        {"tightrope": 120, **HOPELESS},
    ),
    Row(
        "regret-cycle-5",
        "one mechanism for the two consumers of [C, Claim 4.4] on a ring of 5: least worst regret",
        {"family": "cycle", "size": 5, "loss": "regret", "prior": "claim"},
        {"tightrope": 30, "qif": "knows one consumer at a time",
         "linprog": "no program for several consumers at once"},
        quick=True,
    ),
    Row(
        "regret-path-6",
        "one mechanism for ten random consumers on a path of 6: least worst regret",
        {"family": "path", "size": 6, "loss": "regret", "prior": "random"},
        {"tightrope": 30, "qif": "knows one consumer at a time",
         "linprog": "no program for several consumers at once"},
    ),
)  # fmt: skip

COMPARISON = Comparison(
    "optimal",
    "Optimal design",
    "The best mechanism for a consumer, with a certificate, at ε = ln 2 unless the row says "
    "otherwise. The peers solve the plain linear program: one variable for each entry of the "
    "matrix, one constraint for each edge, direction and column; `qif` gets the same constraints "
    "through `min_loss_given_d`. Times contain the making of the program. *Proved* means: "
    "rounded to integers, then privacy and optimality verified in exact arithmetic.",
    ROWS,
)


def tightrope(
    family: str, size: int, loss: str, prior: str, epsilon: str = LEVEL
) -> Work:
    from tightrope.optimize import design

    if loss == "regret":
        return _regret(family, size)
    consumer = _consumer(family, size, loss, prior)
    _compiled()
    # The work starts from the question: what a graph keeps between calls is not kept here.
    return Work(
        lambda: design(_graph(family, size), epsilon, consumer),
        lambda found: _proved(found, size),
    )


def _compiled() -> None:
    """Compile the loops, as the first design after an installation does, in another process.

    Loaded into this one they would count as memory of rows that do not use them.
    """
    ask = "from benchmarks.optimal import compile_loops; compile_loops()"
    subprocess.run([sys.executable, "-c", ask], check=True, cwd=ROOT)


def compile_loops() -> None:
    """Design once with the interior-point method, and keep its machine code on disk."""
    from tightrope.optimize import SolverSettings, design

    at_once = SolverSettings(interior_wait=0)
    design(
        "sum(5,2)",
        1,
        _consumer("band", 11, "absolute", "random"),
        "rays",
        settings=at_once,
    )


def _graph(family: str, size: int) -> Any:
    from benchmarks.problems import edges_of
    from tightrope.graphs import Cycle, ExplicitGraph, PathPower, StrongProduct

    if family == "sum(150,5)":
        return PathPower(size, 5)
    if family in ("path", "band"):
        return PathPower(size, 1 if family == "path" else 3)
    if family == "cycle":
        return Cycle(size)
    if family == "counts":
        return StrongProduct([PathPower(round(size**0.5))] * 2)
    return ExplicitGraph(edges_of(family, size))


def _consumer(family: str, size: int, loss: str, prior: str) -> Any:
    from benchmarks.problems import prior_of
    from tightrope.consumers import Consumer

    chosen = "uniform" if prior == "uniform" else prior_of(prior, size)
    return Consumer.of(_graph(family, size), prior=chosen, loss=loss)


def _proved(found: Any, size: int) -> dict[str, Any]:
    from tightrope.certify import verify
    from tightrope.errors import TightropeError
    from tightrope.proofs import prove

    facts = {
        "loss": found.expected_loss,
        "gap": found.gap,
        "certified": found.certified,
        "route": found.route,
    }
    note = f"loss {found.expected_loss:.9g}, gap {found.gap:.0e}, route {found.route}"
    try:
        verdict = verify(prove(found))
    except TightropeError as refused:
        return {**facts, "note": f"{note}; not proved: {refused}"}
    within = None if verdict.optimal_within is None else float(verdict.optimal_within)
    facts |= {"private": verdict.private, "optimal_within": within}
    bound = "privacy only" if within is None else f"optimal within {within:.0e}"
    return {
        **facts,
        "note": f"{note}; proved: {'ε kept' if verdict.private else 'NO'}, {bound}",
    }


def _regret(family: str, size: int) -> Work:
    import numpy as np

    from tightrope.consumers import Consumer
    from tightrope.optimize import design_many

    graph = _graph(family, size)
    if family == "cycle":
        three = [1 / 3] * 3 + [0.0] * (size - 3)
        priors, losses = ["uniform", three], ["binary"] * 2
    else:
        rng = np.random.default_rng(0)
        losses = ["binary", "absolute", "squared", "binary", "absolute"] * 2
        priors = [rng.dirichlet(np.ones(size)).tolist() for _ in losses]
    consumers = [
        Consumer.of(graph, prior=p, loss=x) for p, x in zip(priors, losses, strict=True)
    ]

    def facts(found: Any) -> dict[str, Any]:
        regret = float(found.worst_regret)
        return {"regret": regret, "certified": found.certified,
                "note": f"worst regret {regret:.6f}"}  # fmt: skip

    return Work(lambda: design_many(_graph(family, size), LEVEL, consumers), facts)


def _program(edges: Any, prior: Any, loss: Any, epsilon: str) -> tuple[Any, Any, Any]:
    """Return costs, the rows that must be at most 0, and those that must be 1."""
    import numpy as np
    from scipy.sparse import coo_array, eye_array, hstack, kron

    size = len(prior)
    one, other = np.concatenate([edges, edges[:, ::-1]]).T
    rows = np.tile(np.arange(len(one)), 2)
    values = np.concatenate(
        [np.full(len(one), np.exp(-VALUES[epsilon])), -np.ones(len(one))]
    )
    column = coo_array((values, (rows, np.concatenate([one, other]))), (len(one), size))
    costs = (prior[:, None] * loss).T.ravel()
    return (
        costs,
        kron(eye_array(size), column, format="csr"),
        hstack([eye_array(size)] * size),
    )


def _read_back(
    matrix: Any, family: str, size: int, loss: str, prior: str, epsilon: str
) -> dict[str, Any]:
    from benchmarks.problems import edges_of, kept, loss_of, prior_of

    edges = edges_of(family, size)
    lost = float(
        (prior_of(prior, size)[:, None] * matrix * loss_of(loss, edges, size)).sum()
    )
    found = kept(matrix, edges, VALUES[epsilon])
    return {"loss": lost, **found, "note": f"loss {lost:.9g}; {found['said']}"}


def linprog(
    family: str, size: int, loss: str, prior: str, epsilon: str = LEVEL
) -> Work:
    import numpy as np
    from scipy import optimize

    from benchmarks.problems import edges_of, loss_of, prior_of

    edges = edges_of(family, size)
    prices, beliefs = loss_of(loss, edges, size), prior_of(prior, size)

    def solve() -> Any:
        costs, at_most, equal = _program(edges, beliefs, prices, epsilon)
        found = optimize.linprog(
            costs, A_ub=at_most, b_ub=np.zeros(at_most.shape[0]), A_eq=equal, b_eq=np.ones(size),
            method="highs",
        )  # fmt: skip
        if found.status != 0:
            raise RuntimeError(found.message.strip())
        return found.x.reshape(size, size).T

    return Work(
        solve, lambda matrix: _read_back(matrix, family, size, loss, prior, epsilon)
    )


def _ortools(
    solver: str, family: str, size: int, loss: str, prior: str, epsilon: str = LEVEL
) -> Work:
    import numpy as np
    from ortools.linear_solver.python import model_builder
    from scipy.sparse import csr_matrix, vstack

    from benchmarks.problems import edges_of, loss_of, prior_of

    edges = edges_of(family, size)
    prices, beliefs = loss_of(loss, edges, size), prior_of(prior, size)

    def solve() -> Any:
        costs, at_most, equal = _program(edges, beliefs, prices, epsilon)
        rows = csr_matrix(vstack([at_most, equal]))
        ones, many = np.ones(size), at_most.shape[0]
        model = model_builder.Model()
        model.helper.fill_model_from_sparse_data(
            np.zeros(len(costs)), np.full(len(costs), np.inf), costs,
            np.concatenate([np.full(many, -np.inf), ones]),
            np.concatenate([np.zeros(many), ones]), rows,
        )  # fmt: skip
        runner = model_builder.Solver(solver)
        status = runner.solve(model)
        if status != model_builder.SolveStatus.OPTIMAL:
            raise RuntimeError(f"ended without an optimum, status {status.name}")
        return np.array(runner.values(model.get_variables())).reshape(size, size).T

    return Work(
        solve, lambda matrix: _read_back(matrix, family, size, loss, prior, epsilon)
    )


def glop(**problem: Any) -> Work:
    return _ortools("GLOP", **problem)


def pdlp(**problem: Any) -> Work:
    return _ortools("PDLP", **problem)


def qif(family: str, size: int, loss: str, prior: str, epsilon: str = LEVEL) -> Work:
    import numpy as np
    import qif

    from benchmarks.problems import edges_of, hops, loss_of, prior_of

    edges = edges_of(family, size)
    prices, beliefs, far = (
        loss_of(loss, edges, size),
        prior_of(prior, size),
        hops(edges, size),
    )

    def solve() -> Any:
        found = qif.mechanism.d_privacy.min_loss_given_d(
            beliefs,
            size,
            lambda i, j: VALUES[epsilon] * far[i, j],
            lambda i, j: prices[i, j],
            # Pairs that are not edges follow from those that are: the same program as the others.
            d_priv_ch=lambda i, j: bool(far[i, j] > 1),
        )
        if np.shape(found) != (size, size):
            raise RuntimeError("returned no mechanism")
        return found

    return Work(
        solve, lambda matrix: _read_back(matrix, family, size, loss, prior, epsilon)
    )


if __name__ == "__main__":
    main("benchmarks.optimal")
