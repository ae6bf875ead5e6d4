r"""Trees: exactly when one mechanism is optimal for every prior under binary loss.

For an edge e let :math:`α_e = e^{-ε\ell_e}`. On a tree
:math:`z_j = 1 - \sum_{e \ni j} α_e/(1+α_e)` solves :math:`Φz = 1`, which is
:math:`(1-(\deg_j-1)α)/(1+α)` for unit lengths. Where z ≥ 0 the tight-constraints mechanism exists
and is optimal for every prior; where it is not, three or more consumers on a node and its
neighbours show that nothing is [C, Thm 4.3]. The proof stands in the page on universality.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.axioms.refutation import Refutation
from tightrope.channels import ScaledPhi, rational
from tightrope.consumers import Loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.shapes import tree_order

Floats = NDArray[np.float64]


def tree_weights(graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> Floats:
    r"""Return the solution of :math:`Φz = 1` on a tree, in O(n).

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> tree_weights(Star(3), "ln(2)").round(6).tolist()
    [0.0, 0.666667, 0.666667, 0.666667]
    """
    if not graph.is_tree:
        raise InputError(f"this rule needs a tree, but {graph.name} has a cycle")
    level = float(Epsilon.of(epsilon))
    # α/(1+α) without overflow or loss for either end of the range.
    share = 1 / (1 + np.exp(level * graph.edge_lengths()))
    z = np.ones(graph.size)
    np.subtract.at(z, graph.edge_array(), share[:, None])
    return z


def tree_mechanism(graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> ScaledPhi:
    r"""Return the tight-constraints mechanism of a tree, :math:`X_{io} = z_o α^{d(i,o)}`.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> tree_mechanism(Star(3), "ln(3)").row(0).round(4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    level = Epsilon.of(epsilon)
    z = tree_weights(graph, level)
    if z.min() < -1e-12:
        raise InputError(
            f"the tight-constraints mechanism of {graph.name} needs e^ε ≥ Δ - 1, got ε = {level}"
        )
    return ScaledPhi(graph, level, np.maximum(z, 0.0))


@dataclass(frozen=True)
class TreeCertificate:
    r"""A bound on every private mechanism for one prior, and what tight constraints reach.

    Attributes
    ----------
    multipliers
        λ with :math:`λ \cdot r \ge π_i r_i` for every privacy column r and node i.
    bound
        :math:`\sum_i λ_i`: no ε-private mechanism has a higher probability of a right guess.
    utility
        What the tight-constraints mechanism reaches; equal to the bound where it exists.
    exists
        Whether it exists, i.e. z ≥ 0.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> found = tree_certificate(Star(3), [0.7, 0.1, 0.1, 0.1], "ln(3)")
    >>> round(found.bound, 6), round(found.utility, 6), found.exists
    (0.7, 0.7, True)
    """

    multipliers: Floats
    bound: float
    utility: float
    exists: bool


def tree_certificate(
    graph: AnswerGraph, prior: ArrayLike, epsilon: Epsilon | float | Fraction | str
) -> TreeCertificate:
    r"""Prove the optimum of binary loss on a tree, for any prior, in O(n).

    With :math:`v_j = \max_i π_i α^{d(i,j)}` the multipliers are :math:`λ = Φ^{-1}v`; by the edges
    of the tree, for any root, :math:`v^TΦ^{-1}r = v_\text{root} r_\text{root} + \sum_{p \to c}
    (v_c-α_e v_p)(r_c-α_e r_p)/(1-α_e^2)`, and every term is non-negative.

    Parameters
    ----------
    graph
        A tree, with or without edge lengths.
    prior
        The probability of every node.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> round(tree_certificate(PathPower(3), [0.25, 0.5, 0.25], "ln(2)").bound, 6)
    0.5
    """
    level = float(Epsilon.of(epsilon))
    z = tree_weights(graph, epsilon)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (graph.size,):
        raise InputError(f"a prior needs {graph.size} probabilities, got shape {weights.shape}")
    order = tree_order(graph)
    children = order.order[1:]
    parents = order.parent[children]
    lengths = (
        np.array([graph.distance(int(c), int(p)) for c, p in zip(children, parents, strict=True)])
        if graph.has_lengths
        else np.ones(len(children))
    )
    alphas = np.exp(-level * lengths)
    v = weights.copy()
    for c, p, a in zip(children[::-1], parents[::-1], alphas[::-1], strict=True):
        v[p] = max(v[p], a * v[c])
    for c, p, a in zip(children, parents, alphas, strict=True):
        v[c] = max(v[c], a * v[p])
    multipliers = np.zeros(graph.size)
    multipliers[order.root] = v[order.root]
    flow = (v[children] - alphas * v[parents]) / -np.expm1(-2 * level * lengths)
    np.add.at(multipliers, children, flow)
    np.subtract.at(multipliers, parents, alphas * flow)
    return TreeCertificate(
        multipliers, float(multipliers.sum()), float(z @ v), bool(z.min() >= -1e-12)
    )


def refute_by_star(
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
    *,
    loss: Loss | None = None,
) -> Refutation:
    r"""Prove that no mechanism is universally optimal where :math:`e^ε < Δ - 1` [C, Thm 4.3].

    Takes the fewest neighbours k of a node of largest degree with :math:`α > 1/(k-1)`. For each
    two of them one consumer is uniform on the node and the two. Their own optima are those of a
    path of three. What one mechanism gives all of them together is a linear program over the
    :math:`2^k` rays of the star, by symmetry over the number of raised leaves; it is solved in
    fractions and its optimum lies strictly below.

    Parameters
    ----------
    graph
        A tree with edges of length 1.
    epsilon
        The privacy level.
    loss
        A loss that is binary on the star; binary by default.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> proof = refute_by_star(Star(3), "ln(3/2)")
    >>> proof.supports, proof.together < proof.apart
    (((0, 1, 2), (0, 1, 3), (0, 2, 3)), True)
    """
    level = Epsilon.of(epsilon)
    alpha = 1 / level.ratio
    centre = int(graph.degrees.argmax())
    leaves = [int(i) for i in graph.neighbours(centre)]
    k = int(level.ratio) + 2
    if k > len(leaves):
        raise InputError(
            f"a star refutes nothing where e^ε ≥ Δ - 1: here Δ = {len(leaves)} and ε = {level}"
        )
    own = (3 - alpha) / (3 * (1 + alpha))
    together, apart = star_optimum(alpha, k), comb(k, 2) * own
    if together >= apart:
        raise CheckFailed("the consumers can be served together: please report this")
    inner, outer = (1 - alpha) / (1 + alpha), 1 / (1 + alpha)
    line = [
        [inner, outer * alpha, outer * alpha],
        [inner * alpha, outer, outer * alpha**2],
        [inner * alpha, outer * alpha**2, outer],
    ]
    pairs = list(combinations(leaves[:k], 2))
    return Refutation(
        graph,
        tuple((centre, *pair) for pair in pairs),
        "bayesian",
        Loss.binary(graph.size) if loss is None else loss,
        tuple([1 - own] * len(pairs)),
        # One mechanism for all: the rows of the node and the two neighbours of each consumer.
        (rational(line, outputs=["centre", "first", "second"]),),
        (centre, *pairs[0]),
        (),
        None,
        together,
        apart,
    )


def star_optimum(alpha: Fraction, leaves: int) -> Fraction:
    r"""Return what one mechanism gives all consumers on a star's centre and two leaves, in sum.

    A ray with j raised leaves is 1 at the centre, 1/α there and α at the other leaves. Weights
    :math:`w_j \ge 0` must satisfy :math:`\sum_j w_j = 1` and
    :math:`\sum_j w_j (j/α + (k-j)α) = k`; two of them are enough.

    Examples
    --------
    >>> star_optimum(Fraction(1, 2), 3), 3 * Fraction(5, 9)
    (Fraction(5, 3), Fraction(5, 3))
    """
    k = leaves
    gains = [((comb(k, 2) - comb(k - j, 2)) / alpha + comb(k - j, 2)) / 3 for j in range(k + 1)]
    sums = [(j / alpha + (k - j) * alpha) for j in range(k + 1)]
    best = Fraction(0)
    for i, j in combinations(range(k + 1), 2):
        share = (sums[j] - k) / (sums[j] - sums[i])
        if 0 <= share <= 1:
            best = max(best, share * gains[i] + (1 - share) * gains[j])
    return best
