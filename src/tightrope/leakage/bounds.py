"""How much an ε-private mechanism can leak at most, in bits, and the ε that a limit allows.

Each bound names its theorem and its conditions, and refuses when they do not hold. All
logarithms are to base 2. Leakage is largest for the uniform prior, so a bound on leakage
holds for every prior [B, Rem 6]; a bound on the chance of a right guess does not. The converse
fails: a small leakage does not mean privacy [B, Ex 18].

The bounds for symmetric graphs are proved by transformations that keep privacy and leakage.
First the column maxima are brought to the diagonal [B, Lemma 7], then they are averaged until
all are equal: over pairs at equal distance where the graph is distance-regular [B, Lemma 8],
over pairs that an automorphism maps to each other where it is vertex-transitive [B, Lemma 9].
The vulnerability for the uniform prior stays the same throughout, and so does any ε that the
channel had.

The inverses of the bounds (the level that a limit allows or a utility needs) are found by bisection
among the levels with ``DECIMALS`` decimals: the bound itself decides, so that nothing is rounded to
the wrong side.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Nodes
from tightrope.channels import Channel
from tightrope.channels.structured import log_alpha_sum
from tightrope.consumers import Prior, regularity
from tightrope.epsilon import LARGEST, Epsilon, Level
from tightrope.errors import CheckFailed, InputError, TooLarge, whole_number
from tightrope.graphs import AnswerGraph
from tightrope.leakage.measures import PriorLike, as_prior, min_entropy_leakage


@dataclass(frozen=True)
class Bound:
    """A bound in bits with the theorem it comes from.

    Examples
    --------
    >>> str(database_bound(100, 2, 5))
    '99.0312 bits [B, Thm 15]'
    """

    bits: float
    theorem: str

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        return f"{self.bits:.6g} bits [{self.theorem}]"


def individual_bound(values: int, epsilon: Level) -> Bound:
    r"""Bound the leakage about one person by :math:`\log_2 \frac{v e^ε}{v-1+e^ε}` [B, Prop 21].

    The others' values are fixed and known to the attacker; changing one person's value moves
    between databases that are all adjacent: a clique of v nodes.

    Parameters
    ----------
    values
        How many values v one person can have, "absent" included.
    epsilon
        The privacy level.

    Examples
    --------
    >>> round(individual_bound(3, 1.35).bits, 4)
    0.9823
    """
    v = whole_number(values, "the number of values", 2)
    eps = float(Epsilon.of(epsilon))
    # v e^ε / (v-1+e^ε) = 1 + (v-1)(e^ε - 1)/(v-1+e^ε), divided by e^ε; log1p and expm1 keep the
    # digits of a bound near 0.
    # (v-1)(1 - e^-ε) / ((v-1)e^-ε + 1).
    growth = (v - 1) * math.exp(-eps) + 1
    excess = (v - 1) * -math.expm1(-eps) / growth
    return Bound(math.log1p(excess) / math.log(2), "B, Prop 21")


def plain_individual_bound(epsilon: Level) -> Bound:
    r"""Bound the leakage about one person by :math:`\log_2 e^ε`, whatever the values [B, (10)].

    >>> round(plain_individual_bound(1.35).bits, 4)
    1.9476
    """
    return Bound(float(Epsilon.of(epsilon)) / math.log(2), "B, (10)")


def database_bound(individuals: int, values: int, epsilon: Level) -> Bound:
    r"""Bound the leakage about the whole database by :math:`u\log_2\frac{v e^ε}{v-1+e^ε}`.

    It holds for every prior [B, Thm 15; A, Thm 2], and the mechanism of [B, Prop 16] reaches
    it.

    Parameters
    ----------
    individuals
        How many people u the database holds.
    values
        How many values v each of them can have, "absent" included.
    epsilon
        The privacy level.

    Examples
    --------
    >>> round(database_bound(100, 2, 5).bits, 2), round(database_bound(5, 4, 0.5).bits, 4)
    (99.03, 2.5226)
    """
    per_person = individual_bound(values, epsilon).bits
    return Bound(
        whole_number(individuals, "the number of individuals") * per_person, "B, Thm 15"
    )


def few_outputs_bound(
    individuals: int, values: int, epsilon: Level, outputs: int
) -> Bound:
    r"""Bound the leakage about the database by a mechanism with at most r outputs [B, Prop 20].

    With :math:`\ell = \lfloor \log_v r \rfloor`,

    .. math:: \log_2 \frac{r\,e^{εu}}{(v-1+e^ε)^\ell - e^{ε\ell} + e^{εu}}.

    The bound for any number of outputs [B, Thm 15] and the trivial :math:`\log_2 r` hold too
    and are sometimes smaller: the smallest of the three is returned, under its own name. (For
    r between two powers of v the proof adds :math:`\log_2 (r/v^\ell)` to the bound for
    :math:`v^\ell` outputs; the paper prints that sum of logarithms as a product.)

    Parameters
    ----------
    individuals, values, epsilon
        As in :func:`database_bound`.
    outputs
        How many different outputs the mechanism has.

    Examples
    --------
    >>> round(few_outputs_bound(10, 2, 0.5, 2).bits, 4), round(database_bound(10, 2, 0.5).bits, 4)
    (0.9903, 3.1605)
    """
    # All three hold: the smallest counts.
    r = whole_number(outputs, "the number of outputs")
    unlimited = database_bound(individuals, values, epsilon)
    bounds = [unlimited, Bound(math.log2(r), "the number of outputs")]
    # From v^u outputs on the proposition says nothing.
    if floor_log(r, values) < individuals:
        bits = proposition_20(individuals, values, float(Epsilon.of(epsilon)), r)
        bounds.append(Bound(bits, "B, Prop 20"))
    return min(bounds, key=float)


def graph_bound(graph: AnswerGraph, epsilon: Level) -> Bound:
    r"""Bound the leakage about the input of a channel by :math:`\log_2 n / \sum_d n_d e^{-εd}`.

    The theorem asks for a distance-regular or a vertex-transitive graph [B, Thm 12]. What it
    uses is that all nodes see the same ball sizes :math:`n_d` [B, Prop 5], and that is enough:
    then :math:`y = 1/(n \sum_d n_d e^{-εd})` shows the uniform prior to be ε-regular and the
    same bound follows [A, Thm 1, Cor 1].

    Parameters
    ----------
    graph
        The graph that the channel is ε-private on.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Clique
    >>> round(graph_bound(Clique(3), 1.35).bits, 4)
    0.9823
    >>> graph_bound(PathPower(6), 1)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: this bound needs every answer to see the same ball sizes (as in
    distance-regular and vertex-transitive graphs), which path(6) does not: add edges ...
    """
    return Bound(
        math.log2(graph.size) - _log_ball(graph, epsilon) / math.log(2), "B, Thm 12"
    )


def utility_bound(graph: AnswerGraph, epsilon: Level) -> float:
    r"""Bound the utility under binary loss and the uniform prior: :math:`1/\sum_d n_d e^{-εd}`.

    The conditions are those of :func:`graph_bound` [B, Thm 27]; the exponential mechanism
    reaches it [B, Thm 28].

    >>> from tightrope.graphs import Clique, Cycle
    >>> round(utility_bound(Clique(6), "ln(2)") * 7, 9)
    2.0
    >>> round(utility_bound(Cycle(6), "ln(2)") * 21, 9)
    8.0
    """
    return math.exp(-_log_ball(graph, epsilon))


def _log_ball(graph: AnswerGraph, epsilon: Level) -> float:
    """Return the logarithm of the sum: over many people the sum itself overflows."""
    sizes = graph.constant_ball_sizes
    if sizes is None:
        raise InputError(
            f"this bound needs every answer to see the same ball sizes (as in distance-regular "
            f"and vertex-transitive graphs), which {graph.name} does not: add edges until it does, "
            "or use the bound for regular priors"
        )
    return log_alpha_sum(Epsilon.of(epsilon), sizes)


def regular_prior_bound(
    graph: AnswerGraph, prior: PriorLike, epsilon: Level, *, tolerance: float = 0.0
) -> Bound:
    r"""Bound the leakage for one ε-regular prior by :math:`\log_2 \sum_j y_j / \max_i \pi_i`.

    The prior is ε-regular when :math:`\pi = y\Phi` with :math:`y \ge 0` [A, Def 5]; then the
    bound holds for every ε-private channel on the graph [A, Prop 6], and it is never above
    the one for all priors. A prior that is a product on a product of graphs is decided by its
    factor.

    Parameters
    ----------
    graph
        The graph that the channel is ε-private on.
    prior
        The prior over its nodes.
    epsilon
        The privacy level.
    tolerance
        How far below 0 an entry of y may be. The theorem asks for 0; published numbers for
        A's Example 3 let ``1e-4`` pass.

    Examples
    --------
    Five people who choose among four values with chances .3, .27, .23, .2 [A, Ex 3]:

    >>> from tightrope.consumers import Prior, ProductPrior
    >>> from tightrope.graphs import Databases
    >>> people = ProductPrior([Prior([0.3, 0.27, 0.23, 0.2])] * 5)
    >>> databases = Databases(5, range(4))
    >>> round(regular_prior_bound(databases, people, 0.7).bits, 4)
    2.1048
    >>> round(regular_prior_bound(databases, people, 0.5, tolerance=1e-4).bits, 4)
    1.2074
    >>> regular_prior_bound(databases, people, 0.5)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: this bound needs an ε-regular prior, but at ε = 0.5 a coordinate is
    -8.32e-05: use a larger ε or the bound for all priors
    """
    known = as_prior(prior, graph.size)
    level = Epsilon.of(epsilon)
    result = regularity(known, graph, level)
    # π = yΦ with y ≥ 0: then V(π, X) ≤ Σ_j y_j for every ε-private X [A, Prop 6].
    bits = result.y_bits
    # A tolerance admits entries of y slightly below 0, as the published numbers do.
    if bits is None or (not result.regular and not -tolerance <= result.margin < 0):
        raise InputError(
            f"this bound needs an ε-regular prior, but at ε = {level} a coordinate is "
            f"{result.margin:.3g}: use a larger ε or the bound for all priors"
        )
    return Bound(bits, "A, Prop 6")


def proposition_20(u: int, v: int, eps: float, r: int) -> float:
    r"""Return :math:`\log_2 r e^{εu} / ((v-1+e^ε)^ℓ - e^{εℓ} + e^{εu})` with ℓ = ⌊log_v r⌋."""
    # ⌊log_v r⌋ in integers: floating logarithms may be wrong at exact powers.
    power = floor_log(r, v)
    # Divide through by e^{εu}: 1 + e^{-ε(u-ℓ)} ((1 + (v-1)e^{-ε})^ℓ - 1).
    logarithm = math.log1p((v - 1) * math.exp(-eps))
    excess = math.expm1(power * logarithm)
    return math.log2(r) - math.log1p(math.exp(-eps * (u - power)) * excess) / math.log(
        2
    )


def floor_log(number: int, base: int) -> int:
    """Return the largest exponent whose power of the base does not exceed the number.

    >>> floor_log(8, 2), floor_log(80, 3), floor_log(81, 3)
    (3, 3, 4)
    """
    power = 0
    reached = base
    while reached <= number:
        power = power + 1
        reached = reached * base
    return power


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
    rows: Nodes
    channel: Channel
    programs: int


def most_leakage(
    graph: AnswerGraph, epsilon: Level, outputs: int, *, largest: int = 20_000
) -> FewOutputs:
    r"""Return :math:`\max \log_2 \sum_o \max_i X_{io}` over ε-private X with at most r outputs.

    The bound for few outputs [B, Prop 20] is not tight. On a small graph the truth can be
    computed: choose for each output the row that will hold its maximum; given the choice, the
    largest sum of these entries over ε-private channels is a linear program. Choices that an
    automorphism maps to each other have the same value, so one of each kind is enough.
    Two outputs with their maxima in the same row may be merged without loss [B, Lemma 7], so
    the rows are distinct, and more outputs than nodes add nothing.

    Parameters
    ----------
    graph
        The graph, small.
    epsilon
        The privacy level.
    outputs
        How many outputs r at most.
    largest
        Most unknowns of a linear program, and most choices of rows.

    Examples
    --------
    >>> from tightrope.graphs import Databases
    >>> exact = most_leakage(Databases(3, range(2)), "ln(2)", 2)
    >>> round(exact.bits, 6), round(few_outputs_bound(3, 2, "ln(2)", 2).bits, 6), exact.rows
    (0.736966, 0.830075, (0, 7))
    """
    # More outputs than answers add nothing: the maxima lie in distinct rows.
    r = min(whole_number(outputs, "the number of outputs"), graph.size)
    if graph.size * r > largest:
        raise TooLarge(
            f"{graph.name} with {r} outputs needs linear programs with {graph.size * r} unknowns, "
            f"more than {largest}: use few_outputs_bound"
        )
    level = Epsilon.of(epsilon)
    choices = _choices(graph, r, largest)
    solutions = [(*_program(graph, level, rows), rows) for rows in choices]
    total, matrix, rows = max(solutions, key=lambda item: item[0])
    return FewOutputs(math.log2(total), rows, Channel(matrix), len(choices))


def _program(graph: AnswerGraph, level: Epsilon, rows: Nodes) -> tuple[float, Floats]:
    """Maximise Σ_o X[rows[o], o] over ε-private channels with these outputs."""
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, eye_array, kron

    n = graph.size
    r = len(rows)
    ends = graph.edge_array()
    # α x_i ≤ x_h on edges both ways. Entries are numbered row by row.
    backwards = ends[:, ::-1]
    i, h = np.concatenate([ends, backwards]).T
    lengths = np.tile(graph.edge_lengths(), 2)
    alpha = np.exp(-float(level) * lengths)
    unit = eye_array(n).tocsr()
    difference = diags_array(alpha) @ unit[i] - unit[h]
    private = kron(difference, eye_array(r))
    sums = kron(eye_array(n), np.ones((1, r)))
    objective = np.zeros(n * r)
    # linprog minimises, so the entries of the maxima get -1.
    maxima = np.array(rows) * r + np.arange(r)
    objective[maxima] = -1
    zeros = np.zeros(private.shape[0])
    solution = linprog(
        objective, A_ub=private, b_ub=zeros, A_eq=sums, b_eq=np.ones(n), method="highs"
    )
    if solution.status != 0:
        raise CheckFailed(
            f"the linear program for rows {rows} was not solved: {solution.message}"
        )
    # Solver output may be negative by its tolerance; rows are brought back to sum 1.
    matrix = np.maximum(solution.x.reshape(n, r), 0)
    row_sums = matrix.sum(axis=1, keepdims=True)
    return -float(solution.fun), matrix / row_sums


def _choices(graph: AnswerGraph, r: int, largest: int) -> list[Nodes]:
    """Return one set of rows for each kind under the automorphisms of the graph."""
    from tightrope.graphs.symmetry import automorphism_group

    if math.comb(graph.size, r) > largest:
        raise TooLarge(
            f"{graph.name} has {math.comb(graph.size, r)} choices of {r} rows, more than "
            f"{largest}: use few_outputs_bound"
        )
    from scipy.cluster.hierarchy import DisjointSet

    # Orbits of sets under the generators are orbits under the whole group.
    sets = DisjointSet(itertools.combinations(range(graph.size), r))
    # Generators suffice: merging along them yields the orbits of the whole group.
    for permutation in automorphism_group(graph).generators:
        for rows in sets:
            image = sorted(permutation[list(rows)].tolist())
            sets.merge(rows, tuple(image))
    return [min(orbit) for orbit in sets.subsets()]


@dataclass(frozen=True)
class Demonstration:
    """A channel and a prior with their leakage and their smallest ε.

    Examples
    --------
    >>> found = leakage_without_privacy(0.001, 1e-6)
    >>> found.leakage_bits, round(found.epsilon, 2)
    (0.0, 12.21)
    """

    channel: Channel
    prior: Prior
    leakage_bits: float
    epsilon: float


def leakage_without_privacy(
    rare: float, beta: float, *, inputs: int = 5, outputs: int = 5
) -> Demonstration:
    r"""Return Example 18: hardly any leakage, and as little privacy as one likes [B, Ex 18].

    The first input has probability α and a row of its own,
    :math:`(β, \frac{1-β}{m-1}, …)`; all others share the rest and have uniform rows. As α goes
    to 0 so does the leakage, whatever β is, while the smallest ε is
    :math:`\max\{|\ln mβ|, |\ln \frac{m(1-β)}{m-1}|\}` and grows without limit as β goes to 0.

    Parameters
    ----------
    rare
        The probability α of the first input.
    beta
        The probability β of the first output for the first input.
    inputs, outputs
        How many inputs n and outputs m there are; all inputs are neighbours.

    Examples
    --------
    >>> [round(leakage_without_privacy(0.01, b).epsilon, 3) for b in (0.2, 0.02, 0.002)]
    [0.0, 2.303, 4.605]
    """
    if not (0 < rare < 1 and 0 < beta < 1):
        raise InputError(
            f"both probabilities must lie between 0 and 1, got {rare} and {beta}"
        )
    if inputs < 2 or outputs < 2:
        raise InputError(
            f"at least 2 inputs and outputs are needed, got {inputs} and {outputs}"
        )
    # First row (β, (1−β)/(m−1), …), all others uniform.
    matrix = np.full((inputs, outputs), 1 / outputs)
    matrix[0] = (1 - beta) / (outputs - 1)
    matrix[0, 0] = beta
    chance = (1 - rare) / (inputs - 1)
    weights = np.full(inputs, chance)
    weights[0] = rare
    channel = Channel(matrix)
    prior = Prior(weights)
    # ε = max{|ln mβ|, |ln m(1−β)/(m−1)|}.
    first = abs(math.log(outputs * beta))
    others = abs(math.log(outputs * (1 - beta) / (outputs - 1)))
    return Demonstration(
        channel, prior, min_entropy_leakage(channel, prior), max(first, others)
    )


def maxima_on_diagonal(channel: Channel) -> Channel:
    r"""Return the square channel whose column maxima lie on the diagonal [B, Lemma 7].

    Columns that have their maximum in row k (the first such row) are added up and become
    column k. It is a remap of the outputs, so every ε of the channel still holds; the sum of
    the column maxima, and with it the vulnerability for the uniform prior, is unchanged.

    Parameters
    ----------
    channel
        Any channel whose matrix fits, with any number of outputs.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> maxima_on_diagonal(Channel([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])).matrix().round(9).tolist()
    [[0.8, 0.2], [0.4, 0.6]]
    """
    matrix = channel.matrix()
    rows = matrix.shape[0]
    square = np.zeros((rows, rows))
    # argmax takes the first row of a tie, so every column is added exactly once.
    np.add.at(square.T, matrix.argmax(axis=0), matrix.T)
    return Channel(square)


def average_over_distances(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel that depends on the distance only, by averaging [B, Lemma 8].

    :math:`M''_{ij}` is the mean of :math:`M'_{hk}` over all pairs with
    :math:`d(h,k) = d(i,j)`. On a distance-regular graph every ε of the channel still holds.

    Parameters
    ----------
    channel
        A square channel whose column maxima lie on the diagonal.
    graph
        A distance-regular graph.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import Clique
    >>> square = Channel([[0.8, 0.2], [0.4, 0.6]])
    >>> average_over_distances(square, Clique(2)).matrix().round(9).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """
    from tightrope.graphs import intersection_numbers

    # Averaging keeps the leakage only if the maxima are on the diagonal.
    matrix = _diagonal_form(channel, graph)
    if intersection_numbers(graph) is None:
        raise InputError(
            f"averaging over distances keeps privacy on distance-regular graphs, which "
            f"{graph.name} is not: average over automorphisms if it is vertex-transitive"
        )
    return Channel(_averaged(matrix, graph.distance_matrix()))


def average_over_automorphisms(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel that all automorphisms of the graph leave as it is [B, Lemma 9].

    :math:`M''_{ij} = \frac{1}{|Γ|}\sum_{σ ∈ Γ} M'_{σ(i)σ(j)}` is the mean over the orbit of the
    pair (i, j), so the group itself is never listed. On a vertex-transitive graph the diagonal
    becomes constant.

    Parameters
    ----------
    channel
        A square channel whose column maxima lie on the diagonal.
    graph
        A vertex-transitive graph.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import Cycle
    >>> noisy = Channel([[.5, .25, .25], [.3, .4, .3], [.2, .2, .6]])
    >>> average_over_automorphisms(noisy, Cycle(3)).matrix().round(9).tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    """
    from tightrope.graphs.symmetry import automorphism_group, pair_orbits

    matrix = _diagonal_form(channel, graph)
    group = automorphism_group(graph)
    if not group.is_transitive:
        raise InputError(
            f"averaging over automorphisms makes the diagonal equal on vertex-transitive graphs, "
            f"which {graph.name} is not ({group.orbit_count} orbits of answers)"
        )
    # Mean over the orbit of (i, j) equals the mean over the group.
    return Channel(_averaged(matrix, pair_orbits(group)))


def equal_diagonal(channel: Channel, graph: AnswerGraph) -> Channel:
    r"""Return the channel of equal leakage with one number all along the diagonal [B, Fig 5].

    Lemma 7, then Lemma 8 or Lemma 9, whichever the graph allows. The vulnerability for the
    uniform prior is that number.

    Parameters
    ----------
    channel
        Any channel with one row for each node.
    graph
        A distance-regular or vertex-transitive graph.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import Cycle
    >>> from tightrope.leakage import posterior_vulnerability
    >>> before = GeometricChannel(6, "ln(2)")
    >>> after = equal_diagonal(before, Cycle(6))
    >>> [round(posterior_vulnerability(c), 9) for c in (before, after)], round(after.entry(3, 3), 9)
    ([0.444444444, 0.444444444], 0.444444444)
    """
    from tightrope.graphs import intersection_numbers

    square = maxima_on_diagonal(channel)
    if intersection_numbers(graph) is not None:
        return average_over_distances(square, graph)
    return average_over_automorphisms(square, graph)


def _diagonal_form(
    channel: Channel, graph: AnswerGraph, rounding: float = 1e-12
) -> Floats:
    n = graph.size
    if channel.shape != (n, n):
        raise InputError(
            f"the channel must be {n} × {n} for {graph.name}, got {channel.shape[0]} × "
            f"{channel.shape[1]}: bring its maxima to the diagonal first"
        )
    matrix = channel.matrix()
    # The diagonal must be maximal up to round-off.
    excess = matrix.max(axis=0) - matrix.diagonal()
    worst = int(excess.argmax())
    if excess[worst] > rounding:
        raise InputError(
            f"every column maximum must lie on the diagonal, but column {worst} exceeds it by "
            f"{excess[worst]:.3g}: bring the maxima to the diagonal first"
        )
    return matrix


def _averaged(matrix: Floats, classes: Ints) -> Floats:
    """Replace every entry by the mean of its class."""
    # Distances up to the diameter and numbers of orbits all occur; others would divide by 0.
    flat = classes.ravel()
    sums = np.bincount(flat, weights=matrix.ravel())
    counts = np.bincount(flat)
    means = sums / np.maximum(counts, 1)
    return np.asarray(means[classes])


# -- choosing ε ---------------------------------------------------------------------------

#: Decimals of a privacy level that was computed from a limit.
DECIMALS = 6


def epsilon_for_bits(max_bits: float, *, values: int, individuals: int = 1) -> Epsilon:
    r"""Return the largest ε whose leakage about the database is surely at most ``max_bits``.

    With :math:`b = 2^{\text{bits}/u}` it is :math:`\ln\frac{b(v-1)}{v-b}` [B, Thm 15], rounded
    down.

    Parameters
    ----------
    max_bits
        The limit in bits.
    values
        How many values v one person can have, "absent" included.
    individuals
        How many people u; 1 limits the leakage about a single person [B, Prop 21].

    Examples
    --------
    >>> str(epsilon_for_bits(0.5, values=3))
    '0.57864'
    """
    if not (max_bits > 0 and math.isfinite(max_bits)):
        raise InputError(f"a limit in bits must be positive and finite, got {max_bits}")
    # Refuses impossible numbers of people or values with its own message.
    database_bound(individuals, values, 1)  # checks both numbers
    per_person = max_bits / individuals
    # At log2 v bits per person the whole database is known: no ε is needed for the limit.
    if per_person >= math.log2(values):
        raise InputError(
            f"every ε keeps the leakage below {max_bits:g} bits: {individuals} × {values} values "
            f"are only {individuals * math.log2(values):.6g} bits; ask for a smaller limit"
        )
    # The bound grows with ε: bisect over the levels with six decimals, rounded down.
    largest = bisect_right(
        range(1, LARGEST * 10**DECIMALS + 1),
        max_bits,
        # Levels are multiples of 10^-6, so the returned one is decided by the bound itself.
        key=lambda steps: database_bound(individuals, values, _level(steps)).bits,
    )
    if not largest:
        raise InputError(
            f"only an ε below {_level(1)} would keep this limit; ask for a larger one"
        )
    return _level(largest)


def epsilon_for_success(max_success: float, *, values: int) -> Epsilon:
    r"""Return the largest ε at which a person's value is guessed with at most this chance.

    The attacker knows everybody else and finds this person's v values equally likely before
    the release: :math:`\ln\frac{p(v-1)}{1-p}` [B, Prop 21], rounded down.

    Parameters
    ----------
    max_success
        The limit p on the chance of a right guess, above :math:`1/v`.
    values
        How many values v one person can have, "absent" included.

    Examples
    --------
    >>> str(epsilon_for_success(0.75, values=2))
    '1.098612'
    >>> epsilon_for_success(0.3, values=3)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: without any release the guess is already right with
    probability 0.333333 (1 of 3 values): the limit must be above that and below 1, got 0.3
    """
    attacker_success(values, 1)
    if not 1 / values < max_success < 1:
        raise InputError(
            f"without any release the guess is already right with probability {1 / values:.6g} "
            f"(1 of {values} values): the limit must be above that and below 1, got {max_success}"
        )
    # p = V(π)·2^leakage with V = 1/v gives leakage = log2(p v).
    return epsilon_for_bits(math.log2(max_success * values), values=values)


def attacker_success(
    values: int, epsilon: Level, *, before: float | None = None
) -> float:
    r"""Return how often somebody who knows everyone else guesses a person's value, at most.

    :math:`p\,\frac{v e^ε}{v-1+e^ε}` and at most 1 where p is the chance before the release
    [B, Prop 21]; for :math:`p = 1/v` that is :math:`\frac{e^ε}{v-1+e^ε}`.

    >>> attacker_success(2, "ln(3)"), attacker_success(2, "ln(3)", before=0.6)
    (0.75, 0.9)
    """
    # p v e^ε / (v−1+e^ε) = p v / (1 + (v−1) α)
    e = Epsilon.of(epsilon)
    database_bound(1, values, e)
    if before is None:
        return 1 / (1 + (values - 1) * e.alpha)
    if not 1 / values <= before <= 1:
        raise InputError(
            f"the chance of a right guess among {values} values is at least {1 / values:.6g} and "
            f"at most 1, got {before}"
        )
    return min(1.0, before * values / (1 + (values - 1) * e.alpha))


def epsilon_for_utility(
    utility: float,
    graph: AnswerGraph,
    *,
    best: Callable[[Epsilon], float] | None = None,
) -> Epsilon:
    r"""Return the smallest ε at which the true answer can be reported this often.

    Utility here is the chance that the remapped output is the true answer, for the uniform
    prior. On graphs where every answer sees the same ball sizes it is
    :math:`1/\sum_d n_d e^{-εd}` [B, Thm 27, 28], on a path
    :math:`\frac{2 + (n-2)(1-α)}{n(1+α)}`: both are reached, and grow with ε. The result is
    rounded up.

    Parameters
    ----------
    utility
        The wanted chance, below 1.
    graph
        The answer graph.
    best
        The utility that can be reached at an ε, for other graphs; it must not fall as ε grows.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Clique
    >>> str(epsilon_for_utility(4 / 9, PathPower(6)))
    '0.693148'
    >>> str(epsilon_for_utility(2 / 7, Clique(6)))
    '0.693148'
    """
    reached = best_utility(graph) or best
    if reached is None:
        raise InputError(
            f"the best utility has a closed form on paths and where all ball sizes are equal, not "
            f"on {graph.name}: pass best=, for instance the utility of designs at an ε"
        )
    # Guessing without any release is right with probability 1/n.
    if not 1 / graph.size < utility < 1:
        raise InputError(
            f"a utility must be above 1/{graph.size} (reached without any release) and below 1, "
            f"got {utility}"
        )
    # Utility grows with ε: double until it is reached, then bisect, rounded up.
    high = 1
    while reached(Epsilon.of(high)) < utility:
        if high == LARGEST:
            raise InputError(f"no ε up to {LARGEST} reaches the utility {utility}")
        high = min(2 * high, LARGEST)
    below = range(1, high * 10**DECIMALS)
    return _level(
        bisect_left(below, utility, key=lambda steps: reached(_level(steps))) + 1
    )


def best_utility(graph: AnswerGraph) -> Callable[[Epsilon], float] | None:
    """Return the best utility at an ε as a closed form, or ``None`` where there is none.

    >>> from tightrope.graphs import PathPower, Star
    >>> best_utility(PathPower(6))(Epsilon.of("ln(2)")).__round__(6), best_utility(Star(3))
    (0.444444, None)
    """
    if graph.constant_ball_sizes is not None:
        return lambda epsilon: utility_bound(graph, epsilon)
    if not graph.is_path:
        return None
    # Geometric noise on a path: Σ_o max_i X_io / n.
    n = graph.size
    return lambda level: (2 + (n - 2) * (1 - level.alpha)) / (n * (1 + level.alpha))


def _level(steps: int) -> Epsilon:
    """Return the level that is so many units in the last decimal."""
    return Epsilon.of(Fraction(steps, 10**DECIMALS))


@dataclass(frozen=True)
class Explanation:
    """An ε with what an attacker gains by it at most.

    Attributes
    ----------
    epsilon
        The privacy level.
    individuals, values
        How many people, and how many values each of them can have.
    leakage_bound_bits
        Most bits that any ε-private release leaks about the whole table [B, Thm 15].
    individual_bits
        Most bits that it leaks about one person [B, Prop 21].
    success_before, attacker_success
        The chance that somebody who knows everyone else, and finds this person's values
        equally likely, guesses this person's value before the release, and at most after it.
    chosen_by
        Which limit ε was computed from; empty when ε was given.

    Examples
    --------
    >>> found = explain(epsilon="ln(3)", individuals=1000)
    >>> found.attacker_success, round(found.individual_bits, 6)
    (0.75, 0.584963)
    >>> print(found.sentences[1])
    Someone who knows everyone else in the table and would guess this person's value correctly
    50 % of the time (1 of 2) guesses correctly at most 75 % of the time after seeing the release.
    """

    epsilon: Epsilon
    individuals: int
    values: int
    leakage_bound_bits: float
    individual_bits: float
    success_before: float
    attacker_success: float
    chosen_by: str = ""

    @property
    def ratio(self) -> float:
        r""":math:`e^ε`: how much likelier any output can become when one person changes."""
        return float(self.epsilon.ratio)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The explanation for a person who never saw an ε before."""
        times = f"{rounded_up(self.ratio)} times"
        secret = self.individuals * math.log2(self.values)
        before = f"{100 * self.success_before:.3g} %"
        after = f"{_up(100 * self.attacker_success, 3)} %"
        lines = [
            f"ε = {self.epsilon}: any result is at most {times} as likely with one person's true "
            "value as with any other value in its place.",
            f"Someone who knows everyone else in the table and would guess this person's value "
            f"correctly {before} of the time (1 of {self.values}) guesses correctly at most "
            f"{after} of the time after seeing the release.",
            f"About one person the release tells at most {rounded_up(self.individual_bits)} of "
            f"{_bits(math.log2(self.values))}.",
        ]
        if self.individuals > 1:
            lines.append(
                f"About all {self.individuals} people together it tells at most "
                f"{rounded_up(self.leakage_bound_bits)} of {_bits(secret)}."
            )
        if self.chosen_by:
            lines.insert(0, self.chosen_by)
        return tuple(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the result under its public names, ready for JSON."""
        level = {"epsilon": float(self.epsilon), "epsilon_text": str(self.epsilon)}
        return {**level, **vars(self), **level, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain(
    *,
    epsilon: Level | None = None,
    individuals: int = 1,
    values: int = 2,
    max_bits: float | None = None,
    max_success: float | None = None,
    min_utility: float | None = None,
    graph: AnswerGraph | None = None,
    best: Callable[[Epsilon], float] | None = None,
) -> Explanation:
    r"""Say what an ε means, or find the ε that limits allow and say what it means.

    Exactly one way to fix ε must be given: ``epsilon`` itself; or limits ``max_bits`` and
    ``max_success``, of which the stricter one counts and ε is the largest that keeps both; or
    ``min_utility`` with an answer graph, where ε is the smallest that reaches it.

    Parameters
    ----------
    epsilon
        The privacy level to explain.
    individuals
        How many people the table holds.
    values
        How many values one person can have, "absent" included.
    max_bits
        Most bits about the whole table.
    max_success
        Largest chance that one person's value is guessed by somebody who knows the others.
    min_utility
        Chance wanted that the true answer is reported, for the uniform prior.
    graph
        The answer graph for ``min_utility``.
    best
        The utility that can be reached at an ε, where a graph has no closed form for it.

    Examples
    --------
    >>> str(explain(max_success=0.75).epsilon)
    '1.098612'
    >>> print(explain(epsilon=1.35, values=3).sentences[-1])
    About one person the release tells at most 0.983 of 1.585 bits.
    >>> explain()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: give one of: an ε (--epsilon); a limit (--max-bits, ...
    """
    limited = max_bits is not None or max_success is not None
    given = (epsilon is not None) + limited + (min_utility is not None)
    if given != 1:
        raise InputError(
            "give one of: an ε (--epsilon); a limit (--max-bits, --max-success); a wanted utility "
            f"with a question (--min-utility, --query); got {given or 'none'}"
        )
    if (min_utility is None) != (graph is None):
        raise InputError("a utility and its question go together: give both or neither")
    chosen_by = ""
    if epsilon is not None:
        level = Epsilon.of(epsilon)
    elif min_utility is not None and graph is not None:
        level = epsilon_for_utility(min_utility, graph, best=best)
        chosen_by = (
            f"The smallest ε at which the true answer of {graph.name} can be reported with "
            f"probability {min_utility:.6g} is {level}."
        )
    else:
        levels: dict[str, Epsilon] = {}
        if max_bits is not None:
            levels["bits"] = epsilon_for_bits(
                max_bits, values=values, individuals=individuals
            )
        if max_success is not None:
            levels["success"] = epsilon_for_success(max_success, values=values)
        # Both limits hold at the smaller ε.
        level = min(levels.values(), key=float)
        chosen_by = (
            f"The largest ε that keeps the limit on {' and '.join(levels)} is {level}."
        )
    return Explanation(
        level,
        individuals,
        values,
        database_bound(individuals, values, level).bits,
        individual_bound(values, level).bits,
        1 / values,
        attacker_success(values, level),
        chosen_by,
    )


def rounded_up(number: float) -> str:
    """Write a bound with three digits, or as a whole number, rounded up.

    >>> rounded_up(0.584963), rounded_up(584.963), rounded_up(100 * 0.75)
    ('0.585', '585', '75')
    """
    return _up(number, max(3, len(str(int(number)))))


def _bits(number: float) -> str:
    """Write an amount of information with its unit."""
    digits = max(4, len(str(int(number))))
    text = f"{number:.{digits}g}"
    return f"{text} bit" if text == "1" else f"{text} bits"


def _up(number: float, digits: int = 6, accuracy: float = 1e-12) -> str:
    """Write a bound with so many digits, rounded up: a bound must not shrink by being printed."""
    if number == 0:
        return "0"
    text = f"{number:.{digits}g}"
    # 0.75 computed with an error in the last place is still 0.75.
    if float(text) >= number * (1 - accuracy):
        return text
    # Half a unit upwards makes the nearest rounding an upward one.
    exponent = math.floor(math.log10(abs(number)))
    unit = 10.0 ** (exponent + 1 - digits)
    return f"{number + unit / 2:.{digits}g}"
