r"""The exact maximum leakage of ε-private mechanisms with few outputs, on small graphs.

The bound for few outputs [B, Prop 20] is not tight. On a small graph the truth can be computed:
choose for each output the row that will hold its maximum; given the choice, the largest sum of
these entries over ε-private channels is a linear program. Choices that an automorphism maps to
each other have the same value, so one of each kind is enough.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, TooLarge, whole_number
from tightrope.graphs import AnswerGraph

#: Largest number of choices of rows that are told apart.
CHOICE_LIMIT = 20_000
#: Largest number of unknowns of one linear program.
UNKNOWN_LIMIT = 20_000


@dataclass(frozen=True)
class FewOutputs:
    """The maximum leakage with few outputs, and a channel that reaches it.

    Attributes
    ----------
    bits
        The maximum in bits (to the accuracy of the linear programs).
    rows
        Which row holds the maximum of each output.
    channel
        A channel that reaches it: the solver's, its rows rescaled to sum to 1, so private to
        the accuracy of the linear programs.
    programs
        How many linear programs were solved.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> round(most_leakage(Clique(3), 1, 2).bits, 6)
    0.548059
    """

    bits: float
    rows: tuple[int, ...]
    channel: Channel
    programs: int


def most_leakage(graph: AnswerGraph, epsilon: Epsilon | float | str, outputs: int) -> FewOutputs:
    r"""Return :math:`\max \log_2 \sum_o \max_i X_{io}` over ε-private X with at most r outputs.

    Two outputs with their maxima in the same row may be merged without loss [B, Lemma 7], so
    the rows are chosen different, and more outputs than nodes bring nothing.

    Parameters
    ----------
    graph
        The graph, small.
    epsilon
        The privacy level.
    outputs
        How many outputs r at most.

    Examples
    --------
    >>> from tightrope.graphs import Databases
    >>> from tightrope.leakage import few_outputs_bound
    >>> exact = most_leakage(Databases(3, range(2)), "ln(2)", 2)
    >>> round(exact.bits, 6), round(few_outputs_bound(3, 2, "ln(2)", 2).bits, 6), exact.rows
    (0.736966, 0.830075, (0, 7))
    """
    r = min(whole_number(outputs, "the number of outputs"), graph.size)
    if graph.size * r > UNKNOWN_LIMIT:
        raise TooLarge(
            f"{graph.name} with {r} outputs needs linear programs with {graph.size * r} unknowns, "
            f"more than {UNKNOWN_LIMIT}: use few_outputs_bound"
        )
    level = Epsilon.of(epsilon)
    choices = _choices(graph, r)
    found = [(*_program(graph, level, rows), rows) for rows in choices]
    total, matrix, rows = max(found, key=lambda item: item[0])
    return FewOutputs(math.log2(total), rows, Channel(matrix), len(choices))


def _program(
    graph: AnswerGraph, level: Epsilon, rows: tuple[int, ...]
) -> tuple[float, NDArray[np.float64]]:
    """Maximise Σ_o X[rows[o], o] over ε-private channels with these outputs."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, kron

    n, r = graph.size, len(rows)
    edges = graph.edge_array()
    both = np.concatenate([edges, edges[:, ::-1]])
    lengths = np.tile(graph.edge_lengths(), 2)
    count = len(both)
    # α^ℓ X[i,o] - X[h,o] ≤ 0 for every ordered edge; entries are numbered row by row.
    alpha = np.exp(-float(level) * lengths)
    one = coo_array(
        (
            np.concatenate([alpha, -np.ones(count)]),
            (np.tile(np.arange(count), 2), np.concatenate([both[:, 0], both[:, 1]])),
        ),
        shape=(count, n),
    )
    private = kron(one, eye_array(r))
    sums = kron(eye_array(n), np.ones((1, r)))
    goal = np.zeros(n * r)
    goal[np.array(rows) * r + np.arange(r)] = -1
    solved = linprog(
        goal, A_ub=private, b_ub=np.zeros(count * r), A_eq=sums, b_eq=np.ones(n), method="highs"
    )
    if solved.status != 0:
        raise CheckFailed(f"the linear program for rows {rows} was not solved: {solved.message}")
    matrix = np.maximum(solved.x.reshape(n, r), 0)
    return -float(solved.fun), matrix / matrix.sum(axis=1, keepdims=True)


def _choices(graph: AnswerGraph, r: int) -> list[tuple[int, ...]]:
    """Return one set of rows for each kind under the automorphisms of the graph."""
    from tightrope.graphs.automorphisms import automorphism_group

    if math.comb(graph.size, r) > CHOICE_LIMIT:
        raise TooLarge(
            f"{graph.name} has {math.comb(graph.size, r)} choices of {r} rows, more than "
            f"{CHOICE_LIMIT}: use few_outputs_bound"
        )
    moves = [list(map(int, move)) for move in automorphism_group(graph).generators]
    waiting = set(itertools.combinations(range(graph.size), r))
    kinds = []
    for rows in sorted(waiting):
        if rows not in waiting:
            continue
        kinds.append(rows)
        reached = [rows]
        waiting.discard(rows)
        while reached:
            here = reached.pop()
            for move in moves:
                there = tuple(sorted(move[i] for i in here))
                if there in waiting:
                    waiting.discard(there)
                    reached.append(there)
    return kinds
