"""The problems themselves, in plain NumPy: the same numbers for Tightrope and for every peer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def edges_of(family: str, size: int) -> Integers:
    """Return the edges of an answer graph, each pair once.

    ``path``; ``band``: numbers at most 3 apart; ``tree`` and ``general``: drawn with a fixed
    seed; ``cycle``; ``counts``: pairs of counts, each at most 1 apart.
    """
    if family == "path":
        return _band(size, 1)
    if family == "band":
        return _band(size, 3)
    if family == "sum(150,5)":
        return _band(size, 5)
    if family == "cycle":
        return np.array([(i, (i + 1) % size) for i in range(size)])
    if family == "counts":
        side = round(size**0.5)
        at = np.array(np.divmod(np.arange(side * side), side)).T
        far = np.abs(at[:, None] - at[None]).max(axis=2)
        return np.argwhere(np.triu(far == 1))
    rng = np.random.default_rng(size)
    tree = np.array([(rng.integers(i), i) for i in range(1, size)])
    if family == "tree":
        return tree
    chords = rng.integers(size, size=(size, 2))
    both = np.sort(np.concatenate([tree, chords[chords[:, 0] != chords[:, 1]]]), axis=1)
    return np.unique(both, axis=0)


def _band(size: int, width: int) -> Integers:
    return np.concatenate([np.stack([np.arange(size - k), np.arange(k, size)], axis=1)
                           for k in range(1, width + 1)])  # fmt: skip


def prior_of(name: str, size: int) -> Floats:
    """Return the uniform prior, or one drawn with a fixed seed."""
    if name == "uniform":
        return np.full(size, 1 / size)
    return np.random.default_rng(0).dirichlet(np.ones(size))


def hops(edges: Integers, size: int) -> Floats:
    """Return all distances in a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    listed = coo_array((np.ones(len(edges)), edges.T), (size, size))
    found: Floats = shortest_path(listed.tocsr(), directed=False, unweighted=True)
    return found


def loss_of(name: str, edges: Integers, size: int) -> Floats:
    """Return the loss of each guess (columns) for each true answer (rows)."""
    if name == "binary":
        return 1 - np.eye(size)
    if name == "absolute":
        return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    return hops(edges, size)


def least_epsilon(matrix: Floats, edges: Integers) -> float:
    """Return the least ε that a solver's matrix keeps, negative entries read as 0."""
    kept = np.maximum(matrix, 0)
    kept = kept / kept.sum(axis=1, keepdims=True)
    one, other = kept[edges[:, 0]], kept[edges[:, 1]]
    if ((one == 0) != (other == 0)).any():
        return float("inf")
    both = (one > 0) & (other > 0)
    return float(np.abs(np.log(one[both] / other[both])).max())


def kept(matrix: Floats, edges: Integers, epsilon: float) -> dict[str, Any]:
    """Return what a reader of a peer's answer should know about its privacy."""
    least = least_epsilon(matrix, edges)
    over = least - epsilon
    private = over <= 1e-12
    above = "no ε at all" if least == float("inf") else f"ε passed by {over:.0e}"
    # JSON has no infinity, so the value is text.
    return {
        "private": private,
        "least_epsilon": f"{least:.12g}",
        "said": "ε kept up to rounding" if private else f"not private: {above}",
    }


def random_weights(rng: np.random.Generator, rows: int, columns: int) -> Integers:
    """Return a channel in integers: rows that sum to 10,000."""
    total = 10_000
    return np.array(
        [
            rng.multinomial(total - columns, rng.dirichlet(np.ones(columns))) + 1
            for _ in range(rows)
        ]
    )


def dense_channel(rows: int, seed: int = 1) -> Floats:
    """Return a square channel with rows drawn at random."""
    return np.random.default_rng(seed).dirichlet(np.ones(rows), size=rows)


def truncated_geometric(size: int, epsilon: float) -> Floats:
    """Return the geometric mechanism on 0 … size-1."""
    alpha = np.exp(-epsilon)
    matrix = alpha ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    scale = np.full(size, (1 - alpha) / (1 + alpha))
    scale[[0, -1]] = 1 / (1 + alpha)
    return np.asarray(matrix * scale, dtype=float)
