r"""The ε-private mechanism that leaks the most: how bad it can get."""

from __future__ import annotations

from fractions import Fraction

from tightrope.channels import KroneckerChannel
from tightrope.epsilon import Epsilon
from tightrope.errors import whole_number
from tightrope.mechanisms.response import randomized_response


def highest_leakage(
    individuals: int, values: int, epsilon: Epsilon | float | Fraction | str
) -> KroneckerChannel:
    r"""Return the mechanism on databases whose min-entropy leakage reaches the bound.

    :math:`K_{xz} = 2^{\mathrm{Bnd}(u,v,ε)} / (v^u e^{ε\,d(x,z)})` [B, Prop 16]: every person
    answers by randomized response. It is a Kronecker power, so neither its rows nor its
    leakage need the :math:`v^u` databases listed.

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
    >>> two = highest_leakage(2, 3, "ln(2)")          # largest entry e^2ε/(2+e^ε)² = 1/4
    >>> two.shape, round(float(two.column_maxima().max()), 9)
    ((9, 9), 0.25)
    >>> highest_leakage(20, 4, 1).shape[0] == 4**20
    True
    """
    people = whole_number(individuals, "the number of individuals")
    person = randomized_response(whole_number(values, "the number of values", 2), epsilon)
    return KroneckerChannel([person] * people)
