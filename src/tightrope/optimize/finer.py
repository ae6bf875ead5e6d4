r"""The best finer answer after one that is published: a linear program for each published output.

The published mechanism :math:`X_1` is fixed. Among all pairs that are ε₂-private and have it for
their first output, the one with the least loss of the second output, which is a guess:

.. math:: \min \sum_{o,k} c_k \cdot x^{ok} \quad\text{with}\quad \sum_k x^{ok} = X_1[\cdot, o],\;
   x^{ok} \in \{x \ge 0 : \alpha_2^{|e|} x_i \le x_h \text{ on every edge } e\},

where :math:`c_k(i) = \pi_i\,\ell(i,k)`. Different published outputs o share no variable. Where
:math:`X_1` derives from a mechanism that is optimal at ε₂, the value is that of the optimum.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Floats
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph

#: Largest number of variables of one program: HiGHS takes a few seconds for it.
MOST_VARIABLES = 10_000


def best_finer(
    coarse: Floats, graph: AnswerGraph, epsilon: Epsilon, consumer: Consumer
) -> tuple[Floats, float]:
    """Return the probabilities of the best pair, and the loss of its finer output, in floats.

    Parameters
    ----------
    coarse
        The published mechanism, one row for each answer.
    graph
        The answer graph.
    epsilon
        The level of both outputs together.
    consumer
        Whose loss is least: one with a prior.

    Returns
    -------
    array
        The probability of each published output and each guess, by the answer.
    float
        The expected loss of the guess.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> line = PathPower(2)
    >>> consumer = Consumer.of(line, prior="uniform", loss="binary")
    >>> coarse = np.array([[2, 1], [1, 2]]) / 3
    >>> pair, loss = best_finer(coarse, line, Epsilon.of("ln(3)"), consumer)
    >>> pair.shape, round(loss, 9)
    ((2, 2, 2), 0.25)
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    if consumer.risk_averse:
        raise InputError("the best finer answer is for a consumer with a prior")
    answers = graph.size
    guesses = consumer.loss.guess_count
    if answers * guesses > MOST_VARIABLES:
        raise TooLarge(
            f"{answers} answers and {guesses} guesses are more than {MOST_VARIABLES} variables "
            "for each published output"
        )
    columns = [consumer.loss.column(k) for k in range(guesses)]
    losses = np.stack(columns, axis=1)
    costs = consumer.prior.probabilities[:, None] * losses
    edges = graph.edge_array()
    arcs = np.concatenate([edges, edges[:, ::-1]])
    alphas = float(epsilon.alpha) ** np.tile(graph.edge_lengths(), 2)
    # Variable (i, k) is number i·g + k. A row for each arc and guess: α·x_i − x_h ≤ 0.
    variables = arcs[:, :, None] * guesses + np.arange(guesses)
    rows = np.arange(len(arcs) * guesses)
    into = -np.ones(len(rows))
    entries = np.concatenate([np.repeat(alphas, guesses), into])
    start = variables[:, 0].ravel()
    end = variables[:, 1].ravel()
    places = np.concatenate([start, end])
    shape = (len(rows), answers * guesses)
    private = coo_array((entries, (np.tile(rows, 2), places)), shape).tocsr()
    of_answer = np.repeat(np.arange(answers), guesses)
    ones = np.ones(answers * guesses)
    sums = coo_array((ones, (of_answer, np.arange(len(ones))))).tocsr()
    pair = np.zeros((answers, coarse.shape[1], guesses))
    total = 0.0
    for o, column in enumerate(coarse.T):
        # In units of the largest entry, so that tolerances mean the same for every output.
        unit = float(column.max())
        found = linprog(
            costs.ravel(), private, np.zeros(len(rows)), sums, column / unit
        )
        if found.status != 0:
            # There is a solution, the published column itself: tolerances have hidden it.
            raise CheckFailed(
                f"the probabilities of the published output {o} are too small for the solver: "
                "take a smaller coarse ε or fewer answers"
            )
        # Negative probabilities are within the solver's tolerance.
        chances = np.maximum(found.x, 0).reshape(answers, guesses)
        pair[:, o] = chances * unit
        total += float(found.fun) * unit
    return pair, total
