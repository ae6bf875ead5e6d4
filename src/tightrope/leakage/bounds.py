r"""How much an ε-private mechanism can leak at most, in bits.

Each bound names its theorem and its conditions, and refuses when they do not hold. All
logarithms are to base 2. Leakage is largest for the uniform prior, so a bound on leakage
holds for every prior [B, Rem 6]; a bound on the chance of a right guess does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tightrope.consumers import regularity
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, whole_number
from tightrope.graphs import AnswerGraph
from tightrope.leakage.entropy import PriorLike, as_prior


@dataclass(frozen=True)
class Bound:
    """A bound in bits with the theorem it comes from and what must hold for it.

    Examples
    --------
    >>> str(database_bound(100, 2, 5))
    '99.0312 bits [B, Thm 15]'
    """

    bits: float
    theorem: str
    conditions: str

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        return f"{self.bits:.6g} bits [{self.theorem}]"


def individual_bound(values: int, epsilon: Epsilon | float | str) -> Bound:
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
    v = _values(values)
    return Bound(
        _person_bits(v, float(Epsilon.of(epsilon))),
        "B, Prop 21",
        "ε-private for databases that differ in one person's value",
    )


def plain_individual_bound(epsilon: Epsilon | float | str) -> Bound:
    r"""Bound the leakage about one person by :math:`\log_2 e^ε`, whatever the values [B, (10)].

    >>> round(plain_individual_bound(1.35).bits, 4)
    1.9476
    """
    return Bound(float(Epsilon.of(epsilon)) / math.log(2), "B, (10)", "ε-private")


def database_bound(individuals: int, values: int, epsilon: Epsilon | float | str) -> Bound:
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
    u = _individuals(individuals)
    each = individual_bound(values, epsilon).bits
    return Bound(u * each, "B, Thm 15", "ε-private for databases that differ in one person's value")


def few_outputs_bound(
    individuals: int, values: int, epsilon: Epsilon | float | str, outputs: int
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
    u, v = _individuals(individuals), _values(values)
    r = whole_number(outputs, "the number of outputs")
    eps = float(Epsilon.of(epsilon))
    condition = f"ε-private, at most {r} outputs"
    found = [
        database_bound(u, v, epsilon),
        Bound(math.log2(r), "the number of outputs", condition),
    ]
    if r < v**u:
        found.append(Bound(_proposition_20(u, v, eps, r), "B, Prop 20", condition))
    return min(found, key=float)


def graph_bound(graph: AnswerGraph, epsilon: Epsilon | float | str) -> Bound:
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
        math.log2(graph.size) + math.log2(utility_bound(graph, epsilon)),
        "B, Thm 12",
        "ε-private on a graph whose ball sizes are the same at every node",
    )


def utility_bound(graph: AnswerGraph, epsilon: Epsilon | float | str) -> float:
    r"""Bound the utility under binary loss and the uniform prior: :math:`1/\sum_d n_d e^{-εd}`.

    The conditions are those of :func:`graph_bound` [B, Thm 27]; the exponential mechanism
    reaches it [B, Thm 28].

    >>> from tightrope.graphs import Clique, Cycle
    >>> round(utility_bound(Clique(6), "ln(2)") * 7, 9)
    2.0
    >>> round(utility_bound(Cycle(6), "ln(2)") * 21, 9)
    8.0
    """
    sizes = graph.constant_ball_sizes
    if sizes is None:
        raise InputError(
            f"this bound needs every answer to see the same ball sizes (as in distance-regular "
            f"and vertex-transitive graphs), which {graph.name} does not: add edges until it does, "
            "or use the bound for regular priors"
        )
    alpha = Epsilon.of(epsilon).alpha
    # Sizes can exceed what a float holds, so each term is built from logarithms.
    log_alpha = math.log(alpha)
    terms = [math.log(n) + d * log_alpha for d, n in enumerate(sizes) if n]
    top = max(terms)
    return math.exp(-top) / math.fsum(math.exp(t - top) for t in terms)


def regular_prior_bound(
    graph: AnswerGraph,
    prior: PriorLike,
    epsilon: Epsilon | float | str,
    *,
    tolerance: float = 0.0,
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
    found = regularity(known, graph, level)
    if not found.regular and not -tolerance <= found.margin < 0:
        raise InputError(
            f"this bound needs an ε-regular prior, but at ε = {level} a coordinate is "
            f"{found.margin:.3g}: use a larger ε or the bound for all priors"
        )
    # Factor by factor, in logarithms: the product over many people would underflow.
    bits = math.fsum(math.log2(math.fsum(y)) for y in found.y_factors) + known.min_entropy
    return Bound(bits, "A, Prop 6", f"ε-private, ε-regular prior (coordinates ≥ -{tolerance:g})")


def _person_bits(v: int, eps: float) -> float:
    """Return log2(v e^ε / (v-1+e^ε)) without overflow and without loss near ε = 0."""
    # v e^ε / (v-1+e^ε) = 1 + (v-1)(e^ε - 1)/(v-1+e^ε), divided through by e^ε.
    shrink = -math.expm1(-eps)
    return math.log1p((v - 1) * shrink / ((v - 1) * math.exp(-eps) + 1)) / math.log(2)


def _proposition_20(u: int, v: int, eps: float, r: int) -> float:
    power = floor_log(r, v)
    # Divide through by e^{εu}: 1 + e^{-ε(u-ℓ)} ((1 + (v-1)e^{-ε})^ℓ - 1).
    grown = math.expm1(power * math.log1p((v - 1) * math.exp(-eps)))
    return math.log2(r) - math.log1p(math.exp(-eps * (u - power)) * grown) / math.log(2)


def floor_log(number: int, base: int) -> int:
    """Return the largest exponent whose power of the base does not exceed the number.

    >>> floor_log(8, 2), floor_log(80, 3), floor_log(81, 3)
    (3, 3, 4)
    """
    power, reached = 0, base
    while reached <= number:
        power, reached = power + 1, reached * base
    return power


def _individuals(u: int) -> int:
    return whole_number(u, "the number of individuals")


def _values(v: int) -> int:
    return whole_number(v, "the number of values", 2)
