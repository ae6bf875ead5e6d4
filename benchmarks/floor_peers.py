"""The noise of other libraries, as a law: what each adds to a job at the same ε.

Nothing is run here. Each number follows from the mechanism that the named page of a library
describes, and its sensitivity for the job.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ADD_REMOVE = "add-remove"


@dataclass(frozen=True)
class Library:
    """A library, the version and pages that its laws follow, and what it offers.

    Attributes
    ----------
    title, pages
        Its name with a version, and where its noise is described.
    is_whole
        Whether it adds two-sided geometric noise to whole numbers; else Laplace noise.
    changes
        Whether it has sensitivities for ``change-one``.
    """

    title: str
    pages: str
    is_whole: bool = True
    changes: bool = False


LIBRARIES = {
    "opendp": Library(
        "OpenDP 0.16.0",
        "`make_laplace` on integers (discrete Laplace); `make_laplace_threshold` with the δ that "
        "it has (its own map reports less, opendp#2922); `make_noisy_max` (permute-and-flip); a "
        "mean is a sum over a count with half of ε each",
        changes=True,
    ),
    "smartnoise": Library(
        "SmartNoise SQL 1.0.10",
        "`snsql/sql/privacy.py` (discrete Laplace for counts and whole sums), the threshold of "
        "`_mechanisms/laplace.py`; AVG is SUM over COUNT",
    ),
    "tumult": Library(
        "Tumult Analytics 0.21.0",
        "`tmlt.core` 0.19.1, `measurements/aggregations.py`: two-sided geometric noise; a mean is "
        "the sum of deviations from the middle of the bounds over a count, half of ε each; "
        "geometric partition selection with half of ε",
    ),
    "google": Library(
        "Google's libraries 4.1.0",
        "`go/dpagg`: Laplace noise; `mean.go` (deviations from the middle, half of ε each), "
        "`select_partition.go` with half of ε",
        is_whole=False,
    ),
    "diffprivlib": Library(
        "diffprivlib 0.6.6",
        "`tools/utils.py` and `tools/histograms.py`: `GeometricTruncated` for counts and whole "
        "sums, `LaplaceTruncated` for means, with a public number of rows",
        changes=True,
    ),
}


@dataclass(frozen=True)
class Spread:
    """Noise of one number with a scale: two-sided geometric, or Laplace."""

    scale: float
    is_whole: bool

    @property
    def alpha(self) -> float:
        """The ratio of two-sided geometric noise."""
        return math.exp(-1 / self.scale)

    @property
    def absolute(self) -> float:
        """The mean absolute error."""
        return float(self.absolute_from(np.zeros(1))[0])

    @property
    def squared(self) -> float:
        """The mean squared error."""
        if self.is_whole:
            return 2 * self.alpha / (1 - self.alpha) ** 2
        return 2 * self.scale**2

    def absolute_from(self, points: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`E|X + c|` for some numbers c.

        It is \|c\| and twice what X has beyond it: for geometric noise
        :math:`\frac{\alpha^{m+1}}{1+\alpha} (m + 1 - |c| + \frac{\alpha}{1-\alpha})` with m the
        whole part of \|c\|, for Laplace noise :math:`\frac b2 e^{-|c|/b}`.
        """
        far = np.abs(points)
        if not self.is_whole:
            return np.asarray(far + self.scale * np.exp(-far / self.scale))
        a = self.alpha
        whole = np.floor(far)
        beyond = a ** (whole + 1) / (1 + a) * (whole + 1 - far + a / (1 - a))
        return np.asarray(far + 2 * beyond)

    def absolute_with(self, other: Spread, factor: float) -> float:
        r"""Return :math:`E|X + fY|` for two independent ones."""
        if not (self.is_whole or other.is_whole):
            b, c = self.scale, other.scale * factor
            return (b * b + b * c + c * c) / (b + c)
        far = np.arange(math.ceil(45 * other.scale) + 2)
        # P(Y = ±y) of geometric noise.
        chances = (1 - other.alpha) / (1 + other.alpha) * other.alpha**far
        chances[1:] *= 2
        return float(chances @ self.absolute_from(factor * far))


def offered(relation: str, *without: str) -> dict[str, Library]:
    """Return the libraries that have noise for a relation, but for some of them."""
    return {
        key: library
        for key, library in LIBRARIES.items()
        if key not in without and (relation == ADD_REMOVE or library.changes)
    }


def number_errors(
    relation: str, epsilon: float, sensitivity: float, measure: str, *without: str
) -> dict[str, float]:
    """Return the error of a number with noise of scale sensitivity/ε.

    >>> {k: round(x, 3) for k, x in number_errors("change-one", 1.0, 2, "absolute").items()}
    {'opendp': 1.919, 'diffprivlib': 1.919}
    """
    errors = {}
    for key, library in offered(relation, *without).items():
        spread = Spread(sensitivity / epsilon, library.is_whole)
        errors[key] = (
            spread.absolute if measure == "absolute" else math.sqrt(spread.squared)
        )
    return errors


def mean_errors(
    relation: str, epsilon: float, width: int, people: int, inside: float
) -> dict[str, float]:
    """Return the mean absolute error of a mean, in the worst case of means inside the bounds.

    ``inside`` is how far the mean is at least from the bounds 0 and ``width``.
    """
    if relation != ADD_REMOVE:
        # OpenDP and diffprivlib divide by the public number of people: Laplace noise.
        error = width / epsilon / people
        return {"opendp": error, "diffprivlib": error}
    half = epsilon / 2
    errors = {}
    for key, library in offered(relation, "diffprivlib").items():
        # From the middle of the bounds a value is at most half their width away.
        is_centred = key in ("tumult", "google")
        far = width / 2 if is_centred else width
        total, count = (
            Spread(sensitivity / half, library.is_whole) for sensitivity in (far, 1)
        )
        errors[key] = total.absolute_with(count, far - inside) / people
    return errors


def least_count(alpha: float, delta: float, first: int) -> int:
    """Return the least τ with ``P(first - 1 + Z >= τ) <= δ`` for two-sided geometric noise Z."""
    tail = math.log(delta * (1 + alpha)) / math.log(alpha)
    return first - 1 + math.ceil(tail - 1e-12)


def shown_counts(relation: str, epsilon: float, delta: float) -> dict[str, float]:
    """Return from which count a group that nobody declared is shown at least half the time.

    >>> shown_counts("add-remove", 1.0, 1e-6)
    {'opendp': 15, 'smartnoise': 15, 'tumult': 28, 'google': 26}
    """
    from benchmarks.floor_bounds import shown_floor

    if relation != ADD_REMOVE:
        # Who changes leaves a group and enters another one: half of ε and δ for each.
        return {"opendp": least_count(math.exp(-epsilon / 2), delta / 2, 2)}
    half = math.exp(-epsilon / 2)
    return {
        # P(1 + Z >= τ) <= δ; its own map leaves the threshold itself out of δ (opendp#2922).
        "opendp": least_count(math.exp(-epsilon), delta, 2),
        # A noisy count above 1 - ln(2δ)/ε.
        "smartnoise": math.floor(1 - math.log(2 * delta) / epsilon) + 1,
        # P(1 + Z >= τ) <= δ.
        "tumult": least_count(half, delta, 2),
        "google": shown_floor(epsilon / 2, delta),
    }


def median_errors(relation: str, epsilon: float, values: int) -> dict[str, float]:
    r"""Return the mean rank error of a median on the worst of the tables behind the floor.

    All values but one are s/2 ranks away, so permute-and-flip is wrong with probability
    :math:`1 - (1 - (1-f)^c)/(cf)`, where f is the chance that such a value is accepted. Others
    draw from intervals between the people, not from the values.
    """
    # One person moves two scores apart by one rank, or by two.
    rate = epsilon if relation == ADD_REMOVE else epsilon / 2
    worst = 0.0
    for people in itertools.count(1):
        f = math.exp(-rate * people / 2)
        wrong = 1 + math.expm1(values * math.log1p(-f)) / (values * f)
        worst = max(worst, people / 2 * wrong)
        if values * f < 1e-3:
            return {"opendp": worst}
    raise AssertionError("chances fall with the number of people")


def joint_error(
    relation: str, epsilon: float, ranks: Sequence[float], counts: Sequence[int]
) -> float:
    """Return the mean rank error of quantiles that are drawn together, in people, on average.

    That is the exponential mechanism of Gillenwater, Joseph and Kulesza (2021) with its own
    sensitivity: people of a value lie evenly in an interval of length 1, and points between
    person i and the next one all have one weight, so that b quantiles there have the volume
    M^b/b!. In floats, and in another order of sums than ours.
    """
    people = sum(counts)
    many = len(ranks)
    shares = np.diff([0.0, *ranks, 1.0])
    # What one person adds to the cells and takes from the wanted numbers, or moves between two.
    sensitivity = 2 * (1 - min(shares)) if relation == ADD_REMOVE else 2.0
    numbers = np.arange(people + 1)
    cells = [
        np.exp(-epsilon / (2 * sensitivity) * abs(numbers - share * people))
        for share in shares
    ]
    inside = [value + (k + 0.5) / n for value, n in enumerate(counts) for k in range(n)]
    ends = np.array([0.0, *inside, float(len(counts))])
    sizes = np.diff(ends)

    def reached(order: list[Any], widths: Any) -> list[Any]:
        """Return, for each number of quantiles so far, the sums up to the next cell's end."""
        arrive = [order[0]]
        for j in range(1, many + 1):
            leave = np.zeros(people + 1)
            for b in range(1, j + 1):
                empty = math.prod(cell[0] for cell in order[j - b + 1 : j])
                leave += arrive[j - b] * widths**b / math.factorial(b) * empty
            beyond = np.concatenate([[0.0], order[j][1:]])
            arrive.append(np.convolve(leave, beyond)[: people + 1])
        return arrive

    before = reached(cells, sizes)
    after = [sums[::-1] for sums in reached(cells[::-1], sizes[::-1])]
    upto = np.cumsum(counts)
    errors = []
    for j, rank in enumerate(ranks):
        # Quantiles a … e, with j among them, share a slot.
        weights = np.zeros(people + 1)
        for a in range(j + 1):
            for e in range(j, many):
                empty = math.prod(cell[0] for cell in cells[a + 1 : e + 1])
                volume = sizes ** (e - a + 1) / math.factorial(e - a + 1)
                weights += before[a] * volume * empty * after[many - 1 - e]
        wanted = rank * people
        gaps = np.maximum(np.maximum(upto - counts - wanted, wanted - upto), 0)
        over = np.interp(ends, np.arange(len(counts) + 1), [0.0, *np.cumsum(gaps)])
        errors.append(weights @ (np.diff(over) / sizes) / weights.sum())
    return float(np.mean(errors))


def series_errors(relation: str, epsilon: float) -> dict[str, float]:
    """Return the root mean square of the best average of counts at ε/4, ε/4 and ε/2."""
    errors = {}
    for key, library in offered(relation).items():
        shares = (4, 4, 2)
        squares = [Spread(x / epsilon, library.is_whole).squared for x in shares]
        errors[key] = math.sqrt(1 / sum(1 / square for square in squares))
    return errors


def titles() -> Mapping[str, str]:
    """Return the names of the libraries, without their versions."""
    return {key: library.title.split(" ")[0] for key, library in LIBRARIES.items()}
