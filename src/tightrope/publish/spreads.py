"""Variances, covariances, correlations and slopes, as arithmetic on published sums of products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.publish.arithmetic import (
    Constant,
    Covariance,
    Expression,
    Held,
    Operation,
    Range,
    Rising,
)
from tightrope.publish.facts import Column
from tightrope.publish.shapes.moments import (
    Power,
    column_range,
    product_centre,
    product_range,
)


class Sums:
    """Variances and covariances of one or two columns, from sums of their products."""

    def __init__(
        self, columns: Sequence[Column], moment: Callable[[Power], Expression]
    ) -> None:
        self.columns = columns
        self.moment = moment
        self.count = moment((0, 0))

    def total(self, power: Power) -> Expression:
        """Return a sum of products: the published one and its centre for each row."""
        centre = Constant(Fraction(product_centre(self.columns, power)))
        return Operation("+", self.moment(power), Operation("*", centre, self.count))

    def mean(self, place: int) -> Expression:
        """Return the mean of a column."""
        column = self.columns[place]
        low, high = column_range(column)
        total = self.total((1 - place, place))
        mean = Operation("/", total, self.count)
        middle = Constant(Fraction((low + high) // 2))
        centred = Operation("+", mean, middle)
        scaled = Operation("*", centred, Constant(column.step))
        ends = Range(low * column.step, high * column.step)
        return Held(scaled, ends)

    def covariance(self, first: int, second: int) -> Expression:
        """Return the covariance of two columns, or the variance of one."""
        power = (2 - first - second, first + second)
        one = self.total((1 - first, first))
        other = self.total((1 - second, second))
        product = Covariance(self.count, one, other, self.total(power))
        unit = self.columns[first].step * self.columns[second].step
        reaches = (_reach(self.columns[k]) for k in (first, second))
        far = Fraction(math.prod(reaches))
        low = Fraction(0) if first == second else -far
        return Held(
            Operation("*", product, Constant(unit)), Range(low * unit, far * unit)
        )

    def sample(self, spread: Expression) -> Expression:
        """Return the estimate for a larger population: n / (n - 1) times as much."""
        fewer = Operation("-", self.count, Constant(Fraction(1)))
        return Operation("*", spread, Operation("/", self.count, fewer))

    def slope(self) -> Expression:
        """Return the slope of the first column by the second one."""
        return Operation("/", self.covariance(0, 1), self.covariance(1, 1))

    def correlation(self) -> Expression:
        """Return the correlation."""
        both = Operation("*", self.covariance(0, 0), self.covariance(1, 1))
        quotient = Operation("/", self.covariance(0, 1), Rising("sqrt", both))
        return Held(quotient, Range(Fraction(-1), Fraction(1)))

    def intercept(self) -> Expression:
        """Return where the line meets 0 of the second column."""
        rise = Operation("*", self.slope(), self.mean(1))
        return Operation("-", self.mean(0), rise)


def _reach(column: Column) -> int:
    """Return how far a value is from the centre of the bounds at most."""
    low, high = product_range([column], (1, 0))
    return max(-low, high)


#: Variances and what is made of them, by the function of SQL.
SPREADS: dict[type[Any], Callable[[Sums], Expression]] = {
    exp.Avg: lambda sums: sums.mean(0),
    exp.VariancePop: lambda sums: sums.covariance(0, 0),
    exp.Variance: lambda sums: sums.sample(sums.covariance(0, 0)),
    exp.StddevPop: lambda sums: Rising("sqrt", sums.covariance(0, 0)),
    exp.Stddev: lambda sums: Rising("sqrt", sums.sample(sums.covariance(0, 0))),
    exp.StddevSamp: lambda sums: Rising("sqrt", sums.sample(sums.covariance(0, 0))),
    exp.CovarPop: lambda sums: sums.covariance(0, 1),
    exp.CovarSamp: lambda sums: sums.sample(sums.covariance(0, 1)),
    exp.Corr: lambda sums: sums.correlation(),
    exp.RegrSlope: lambda sums: sums.slope(),
    exp.RegrIntercept: lambda sums: sums.intercept(),
    exp.RegrR2: lambda sums: Operation("*", sums.correlation(), sums.correlation()),
}


#: Those of one column.
VARIANCES = (exp.VariancePop, exp.Variance, exp.StddevPop, exp.Stddev, exp.StddevSamp)
