r"""Mechanisms with a row of weights for each answer: errors and intervals from those rows.

For every true answer x the outputs are put in an order, and the first of them that together have
probability :math:`1-a` are the *acceptance region* :math:`A(x)`. The confidence set of an output
y is :math:`C(y) = \{x : y \in A(x)\}` [Neyman, 1937], so

.. math:: P_x(x \in C(Y)) = P_x(Y \in A(x)) \ge 1-a \quad\text{for every } x,

whatever the prior. Outputs come in the order of :math:`X[x,y] / \max_h X[h,y]` [Feldman and
Cousins, 1998]: for noise that falls with the distance this is the nearest output first, and the
set is as narrow as the noise allows; for a channel that is biased towards a prior it follows the
bias. Where answers are tuples, each number has its own set from the marginal law of its output,
the union over all true answers with that number; where they are numbers, a set is stated by its
smallest and largest member.

Listed weights are added up in integers. Of a rule, floats are added up, and a region is closed
only when their sum is above :math:`1-a` by more than the sum of :math:`2^{23}` positive floats
can be wrong: coverage is never lost, and nothing that can be seen is added.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.accounting import TradeOff, worst_curve
from tightrope.accounting.curves import lowest_curve
from tightrope.arrays import AnyArray, Floats
from tightrope.certify import is_by_score
from tightrope.channels import IntegerChannel
from tightrope.claims import Claim, claim_of_file, file_sentence
from tightrope.errors import InputError, TightropeError, TooLarge
from tightrope.publish.intervals import (
    ConfidenceSet,
    Estimate,
    Number,
    galloping_search,
    level_of,
    number_parts,
    whole,
)
from tightrope.publish.noise.base import Noise
from tightrope.publish.noise.laws import ROUND_OFF
from tightrope.publish.sampler import Sampler
from tightrope.queries import query

if TYPE_CHECKING:
    from tightrope.certify import Mechanism

#: Questions whose answers are numbers, or tuples of them, that may be put in order.
_NUMBERS = {"count", "counts", "grid", "histogram", "mean", "median", "path", "sum"}
#: What comes once in ten thousand times would make the rest of a picture too small to see.
SEEN = 1e-4
#: Weights that are looked at together.
_MOST_WEIGHTS = 1 << 26


class RowNoise(Noise):
    """A mechanism that is a matrix, listed or implicit: a row of weights for each true answer."""

    file: Mechanism

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether there are rows."""
        return file.kind in ("dense", "levels", "radial")

    @property
    def last_answer(self) -> int:
        """The number of the last true answer."""
        return self.file.shape[0] - 1

    def is_for(self, question: str, neighbours: str) -> bool:
        """Compare the graphs: one of the user's own is compared by its content."""
        if is_by_score(question):
            return False
        return self.file.answers(query(question, neighbours=neighbours))

    def node(self, answer: Hashable) -> int:
        """Return the row of a true answer."""
        return self.file.input_index(answer)

    def draw(self, answer: Any) -> Hashable:
        """Draw one output for a true answer."""
        return self.draw_node(self.node(answer))

    def draw_node(self, node: int) -> Hashable:
        """Draw one output for the true answer of a row."""
        return Sampler(self.file, node).draw()

    def guess(self, answer: Hashable) -> Hashable:
        """Return what the file's remap takes an answer for."""
        return self.file.guess(answer)

    def error(self, confidence: Fraction | float | str = "0.95") -> tuple[Number, ...]:
        """Return the least error that every true answer keeps with the probability."""
        level = level_of(confidence)
        if not _are_numbers(self.file):
            raise InputError(
                f"the answers of {self.query} are not numbers: they have no error"
            )
        return self._errors(level)

    def interval(
        self,
        answer: Hashable,
        confidence: Fraction | float | str = "0.95",
        *,
        prior: Sequence[Any] | None = None,
        simultaneous: bool = False,
    ) -> ConfidenceSet:
        """Return the confidence set of an answer, or with a prior the credible set."""
        level = level_of(confidence)
        numbers = len(answer) if isinstance(answer, tuple) else 1
        # All numbers are in their intervals at once if each misses with a/k [Bonferroni].
        of_each = 1 - (1 - level) / numbers if simultaneous else level
        self.check_output(answer)
        if prior is None:
            bounds, members = self._bounds(answer, of_each)
            exact = self.exact_chance()
        else:
            place = self.output_index(answer)
            bounds, members, exact = _credible(self.file, answer, place, of_each, prior)
        is_credible = prior is not None
        return ConfidenceSet(
            answer, level, bounds, members, exact, is_credible, simultaneous
        )

    def estimates(self, answer: Hashable, confidence: Fraction) -> tuple[Estimate, ...]:
        """Return each number with its interval; an answer without numbers with its set."""
        interval = self.interval(answer, confidence)
        guess = self.guess(answer)
        if not interval.bounds:
            return (Estimate(guess, note=str(interval)),)
        values = guess if isinstance(guess, tuple) else (guess,)
        pairs = zip(values, interval.bounds, strict=True)
        return tuple(Estimate(value, *ends) for value, ends in pairs)

    @functools.cached_property
    def proved(self) -> Claim | None:
        """What the judge proved of the loss of this very file."""
        return claim_of_file(self.file, self.verdict)

    def claim(self) -> str:
        """Say by which loss and for whom it is how near to the smallest possible."""
        return file_sentence(self.file, self.verdict)

    @property
    def is_optimal(self) -> bool:
        """Whether its loss is that of the bound."""
        return self.proved is not None and self.proved.is_optimal

    @property
    def is_bounded(self) -> bool:
        """Whether its loss has a bound that it is compared with."""
        return self.proved is not None and self.proved.is_bounded

    def curve(self, most: int = 1_000_000) -> TradeOff | None:
        """Return the worst curve; where symmetries exchange all answers, of the edges of one."""
        graph = self.file.question.graph
        # A vertex-transitive channel has the same rows around each node: one node shows every edge.
        is_symmetric = self.file.kind == "radial"
        if is_symmetric and graph.degree(0) * self.file.shape[1] <= most:
            own = tuple(self.file.row_weights(0).tolist())
            curves = []
            for neighbour in graph.neighbours(0):
                other = self.file.row_weights(int(neighbour)).tolist()
                curves.append(TradeOff(own, tuple(other)))
            return lowest_curve(curves)
        channel = self.file.channel()
        if graph.has_lengths or not isinstance(channel, IntegerChannel):
            return None
        try:
            return worst_curve(channel, graph, most=most)
        except TooLarge:
            return None

    def differences(self, most: int = 81) -> tuple[tuple[float, float], ...]:
        """Return the differences of the guesses in the row of the middle answer.

        >>> from tightrope.certify import certify
        >>> from tightrope.channels import GeometricChannel
        >>> mechanism = certify(GeometricChannel(41, "ln(3)"), "count(40)", "ln(3)")
        >>> shown = RowNoise(mechanism).differences()
        >>> [(by, round(share, 3)) for by, share in shown if abs(by) <= 1]
        [(-1.0, 0.167), (0.0, 0.5), (1.0, 0.167)]
        """
        rows, outputs = self.file.shape
        middle = rows // 2
        truth = self.file.input_label(middle)
        if isinstance(truth, bool) or not isinstance(truth, int | Fraction):
            return ()
        # A picture shows no more outputs than this, around the middle answer.
        first = max(0, middle - most // 2)
        last = min(outputs, middle + most // 2 + 1)
        shares: Counter[float] = Counter()
        try:
            weights = self.file.row_weights(middle)[first:last].tolist()
            for place, weight in enumerate(weights, first):
                guess: Any = self.guess(self.file.output_label(place))
                error = Fraction(guess) - truth
                shares[float(error)] += weight / self.file.total
        except TightropeError:
            return ()
        return tuple(
            (by, share) for by, share in sorted(shares.items()) if share > SEEN
        )

    # -- what lattices do by another rule -------------------------------------------------

    def check_output(self, answer: Hashable) -> None:
        """Refuse what the mechanism cannot have released."""
        self.output_index(answer)

    def output_index(self, answer: Hashable) -> int:
        """Return the number of an output."""
        if self.file.header["outputs"] is None and self.file.window is None:
            return self.file.input_index(answer)
        for place in range(self.file.shape[1]):
            if self.file.output_label(place) == answer:
                return place
        raise not_released(answer)

    def _bounds(self, answer: Hashable, level: Fraction) -> Any:
        """Return the ends of the set of each number, and the members where there are none."""
        place = self.output_index(answer)
        if _by_window(self.file):
            return (_window_bounds(self.file, place, level),), ()
        return _inverted(self.file, answer, place, level)

    def _errors(self, level: Fraction) -> tuple[Number, ...]:
        if not _by_window(self.file):
            return _listed_errors(self.file, level)
        line = self.file.graph.line
        step = line[1] if line else Fraction(1)
        widest = _widest(self.file, level, *_rule_floats(self.file))
        return (whole(widest * step),)

    def exact_chance(self) -> Fraction:
        """Return the least probability, over all true answers, with which it is the output."""
        weights = self.file.weights
        total = self.file.total
        if weights.kind == "radial":
            # The probability of the own output is the same in all rows.
            return Fraction(weights.levels[0], total)
        if weights.kind == "levels":
            # Row x has weight factor(x)·level(0) on its own output.
            least_weight = int(weights.factors.min()) * weights.levels[0]
            return Fraction(least_weight, total)
        outputs = range(self.file.shape[1])
        places = {self.file.output_label(o): o for o in outputs}
        labels = map(self.file.graph.label, range(self.file.graph.nodes))
        own_places = [places.get(label, -1) for label in labels]
        own_output = np.array(own_places)
        # An answer without an output of its own is never the output; a window merges the ends.
        never = (own_output < 0).any() or self.file.window is not None
        least = 0 if never else total
        for first, block in weights.columns():
            column = own_output - first
            is_inside = (column >= 0) & (column < block.shape[1])
            rows = np.flatnonzero(is_inside)
            own_weights = block[rows, column[rows]].tolist()
            least = min([least, *own_weights])
        return Fraction(least, total)


def not_released(answer: Hashable) -> InputError:
    """Return the refusal of an output that no draw has."""
    return InputError(
        f"{answer} is not an output of this mechanism: give an answer that it released"
    )


def _listed_errors(mechanism: Mechanism, level: Fraction) -> tuple[Number, ...]:
    """Return for each number the least distance that every row keeps with the level."""
    rows, total, slack = _weights(mechanism)
    errors: list[Number] = []
    for answers, values, marginal in _marginals(mechanism, rows):
        # In units of the common denominator all distances are whole numbers.
        denominators = (x.denominator for x in {*answers, *values})
        unit = math.lcm(*denominators)
        outputs = np.array([int(x * unit) for x in values], object)
        truths = list(zip(answers, marginal, strict=True))
        if mechanism.window is not None:
            # Answers outside the window count as the nearest inside.
            truths += zip(_ends(mechanism), marginal[[0, -1]], strict=True)
        worst = 0
        for truth, row in truths:
            distances = abs(outputs - int(truth * unit))
            order = np.argsort(distances, kind="stable")
            # All outputs together have probability 1, whatever the sum of floats says.
            # The last partial sum is omitted: it is 1 by definition.
            held = np.cumsum(row[order])[:-1]
            reached = _enough(held, level, total, slack).astype(bool)
            # The first output at which the level is reached: its distance is the error of this row.
            last = order[np.count_nonzero(~reached)]
            worst = max(worst, int(distances[last]))
        errors.append(whole(Fraction(worst, unit)))
    return tuple(errors)


def _are_numbers(mechanism: Mechanism) -> bool:
    """Whether answers are numbers and outputs are too, as many: keep and drop are not."""
    named = mechanism.is_named and mechanism.query.partition("(")[0] in _NUMBERS
    output = mechanism.output_label(0)
    answer = mechanism.graph.label(0)
    if not named or isinstance(output, str):
        return False
    return len(number_parts(output)) == len(number_parts(answer))


def _by_window(mechanism: Mechanism) -> bool:
    """Whether this is a rule on a line, of which a window around the output suffices."""
    # Quadratic work is affordable below this; above it only the outputs near the answer matter.
    large = mechanism.shape[0] ** 2 > _MOST_WEIGHTS // 64 and mechanism.window is None
    line = mechanism.kind == "levels" and len(mechanism.graph.sides) == 1
    return large and line and _are_numbers(mechanism)


def _weights(mechanism: Mechanism) -> tuple[AnyArray, Any, float]:
    """Return all rows, what each sums to, and the share that a sum in them may be wrong by."""
    inputs = mechanism.graph.nodes
    outputs = mechanism.shape[1]
    if inputs * outputs > _MOST_WEIGHTS:
        raise TooLarge(
            f"{inputs} × {outputs} weights are more than a confidence set is computed from"
        )
    if mechanism.kind == "dense":
        blocks = [block for _, block in mechanism.weights.columns()]
        return np.concatenate(blocks, axis=1), mechanism.total, 0.0
    channel = mechanism.channel()
    start = 0 if mechanism.window is None else mechanism.window[0]
    rows = [channel.row(start + i) for i in range(inputs)]
    return np.stack(rows), 1.0, ROUND_OFF


def _enough(sums: Any, level: Fraction, total: Any, slack: float) -> Any:
    """Whether sums of weights have reached a share of the total for certain."""
    if slack:
        # Round-off is held against the region: it closes later, never earlier.
        return sums * (1 - slack) >= float(level) * (1 + slack)
    # The exact ceiling of level·total in integers.
    least = -(-level.numerator * total // level.denominator)
    return sums >= least


def _marginals(
    mechanism: Mechanism, rows: AnyArray
) -> list[tuple[list[Fraction], list[Fraction], AnyArray]]:
    """Return for each number of the answer its true values, its outputs and their weights."""
    labels = map(mechanism.graph.label, range(mechanism.graph.nodes))
    inputs = list(map(number_parts, labels))
    labels = map(mechanism.output_label, range(mechanism.shape[1]))
    outputs = list(map(number_parts, labels))
    marginals = []
    for place in range(len(inputs[0])):
        answers = [parts[place] for parts in inputs]
        values = sorted({parts[place] for parts in outputs})
        number = {value: k for k, value in enumerate(values)}
        column = np.array([number[parts[place]] for parts in outputs])
        marginal = rows
        if not np.array_equal(column, np.arange(len(outputs))):
            # Outputs with the same number are brought together, and their weights added up.
            order = np.argsort(column, kind="stable")
            starts = np.searchsorted(column[order], np.arange(len(values)))
            marginal = np.add.reduceat(rows[:, order], starts, axis=1)
        marginals.append((answers, values, marginal))
    return marginals


def _accepted(
    marginal: AnyArray, y: int, level: Fraction, total: Any, slack: float
) -> Any:
    """Return the rows whose acceptance region holds output y; at least the likeliest one.

    An output is in the region of a row when those that come before it there have less than the
    wanted probability. Ties come together: the noise to both sides is then treated alike.
    """
    most = marginal.max(axis=0).astype(float)
    accepted = np.zeros(len(marginal), bool)
    likeliest = np.zeros(len(marginal))
    step = max(1, (1 << 21) // marginal.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(marginal), step):
            block = slice(start, start + step)
            weights = marginal[block]
            # X[x,y] / max_h X[h,y], compared by logarithms to a millionth: closer ones are ties.
            share = np.nan_to_num(weights.astype(float) / most)
            order = np.rint(np.log(share) * 1e6)
            is_before = order > order[:, [y]]
            before = np.where(is_before, weights, 0).sum(axis=1)
            accepted[block] = ~_enough(before, level, total, slack).astype(bool)
            likeliest[block] = share[:, y]
    # An empty set would be useless: the likeliest answer always belongs to it.
    accepted[likeliest.argmax()] = True
    return np.flatnonzero(accepted)


def _inverted(
    mechanism: Mechanism, answer: Hashable, place: int, level: Fraction
) -> tuple[tuple[tuple[Number, Number], ...], tuple[Hashable, ...]]:
    """Return C(y) = {x : y ∈ A(x)}: the ends of each number, or the members without numbers."""
    rows, total, slack = _weights(mechanism)
    if not _are_numbers(mechanism):
        accepted = _accepted(rows, place, level, total, slack)
        labels = (mechanism.graph.label(int(i)) for i in accepted)
        return (), tuple(labels)
    bounds = []
    marginals = _marginals(mechanism, rows)
    for (answers, values, marginal), y in zip(
        marginals, number_parts(answer), strict=True
    ):
        # Each number by its own marginal law: the set of a tuple is a box.
        accepted = _accepted(marginal, values.index(y), level, total, slack)
        members = [answers[i] for i in accepted]
        if mechanism.window is not None:
            # The first and the last row of the window are those of all answers beyond it too.
            low, high = _ends(mechanism)
            if 0 in accepted:
                members.append(low)
            if len(answers) - 1 in accepted:
                members.append(high)
        # A set with holes is stated by its hull, which covers it.
        bounds.append((whole(min(members)), whole(max(members))))
    return tuple(bounds), ()


def _ends(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest answer of a question on a line."""
    graph = mechanism.question.graph
    low = number_parts(graph.label(0))[0]
    high = number_parts(graph.label(graph.size - 1))[0]
    return low, high


def _window_bounds(
    mechanism: Mechanism, y: int, level: Fraction
) -> tuple[Number, Number]:
    """Invert a rule on a line: row x accepts y when what is nearer to x has less than the level."""
    count = mechanism.shape[0]
    levels, factors = _rule_floats(mechanism)
    widest = _widest(mechanism, level, levels, factors)
    near = _levels_near(mechanism, levels, widest)

    def accepts(x: int) -> bool:
        far = abs(x - y)
        right = factors[x : x + far]
        left = factors[max(0, x - far + 1) : x][::-1]
        # Σ factor(o)·level(|x − o|) over the outputs o that are nearer to x than y is
        on_right = right @ near[: len(right)]
        on_left = left @ near[1 : len(left) + 1]
        before = on_right + on_left
        return not _enough(before, level, 1.0, ROUND_OFF)

    # Scan from outside inwards: the first that accepts is the end of the set.
    from_left = range(max(0, y - widest), y)
    from_right = range(min(count - 1, y + widest), y, -1)
    low = next(filter(accepts, from_left), y)
    high = next(filter(accepts, from_right), y)
    start, step = mechanism.graph.line or (Fraction(0), Fraction(1))
    low_end = whole(start + low * step)
    high_end = whole(start + high * step)
    return low_end, high_end


def _levels_near(mechanism: Mechanism, levels: Floats, steps: int) -> Floats:
    """Return the levels of a rule at the distances 0 … steps, the last one beyond them all."""
    # ⌈d/steps⌉ is the layer of a distance d.
    step = mechanism.weights.steps[0]
    layers = -(-np.arange(steps + 1) // step)
    near: Floats = levels[np.minimum(layers, len(levels) - 1)]
    return near


def _widest(
    mechanism: Mechanism,
    level: Fraction,
    levels: Floats,
    factors: Floats,
) -> int:
    """Return the least number of steps within which every row has the wanted probability."""
    count = mechanism.shape[0]

    def suffices(steps: int) -> bool:
        near = _levels_near(mechanism, levels, steps)
        # A convolution in overlapping blocks. That of SciPy loads half of it: most of the time of
        # the first release of a process.
        length = max(4096, 1 << (4 * steps).bit_length())
        padded = np.pad(factors, (steps, length))
        windows = np.lib.stride_tricks.sliding_window_view(padded, length)
        blocks = windows[:: length - 2 * steps]
        kernel = np.concatenate([near[:0:-1], near])
        spectrum = np.fft.rfft(kernel, length)
        product = np.fft.rfft(blocks) * spectrum
        convolved = np.fft.irfft(product, length)
        # The first 2·steps places of a block are wrapped around.
        valid = convolved[:, 2 * steps :]
        mass = valid.ravel()[:count]
        # Fourier transforms are less accurate than a sum.
        return bool(_enough(mass.min(), level, 1.0, 8 * ROUND_OFF))

    return galloping_search(suffices, count - 1)


def _rule_floats(
    mechanism: Mechanism,
) -> tuple[Floats, Floats]:
    """Levels and factors of a rule so that their products are probabilities, but for the rest."""
    rule = mechanism.weights
    levels = np.array([level / rule.levels[0] for level in rule.levels])
    factors = rule.factors.astype(object) * rule.levels[0] / mechanism.total
    return levels, factors.astype(float)


def _credible(
    mechanism: Mechanism,
    answer: Hashable,
    place: int,
    level: Fraction,
    prior: Sequence[Any],
) -> tuple[tuple[tuple[Number, Number], ...], tuple[Hashable, ...], Fraction]:
    """Return the smallest sets of posterior probability, in exact fractions."""
    chances = [Fraction(value) for value in prior]
    if len(chances) != mechanism.shape[0]:
        raise InputError(
            f"a prior needs one probability for each of {mechanism.shape[0]} answers, got "
            f"{len(chances)}"
        )
    unit = math.lcm(*(chance.denominator for chance in chances))
    column = mechanism.column_weights(place).tolist()
    if mechanism.window is not None:
        start = mechanism.window[0]
        last = len(column) - 1
        # Rows outside the window are those of its ends.
        places = (min(max(i - start, 0), last) for i in range(len(chances)))
        column = [column[place] for place in places]
    # Integers: prior times the common denominator, times the weight.
    pairs = zip(chances, column, strict=True)
    joint = [int(p * unit) * int(w) for p, w in pairs]
    total = sum(joint)
    if not total:
        raise InputError(
            "under this prior the answer is impossible: give another prior"
        )
    labels = list(map(mechanism.input_label, range(len(joint))))
    of_answer = [
        mass for label, mass in zip(labels, joint, strict=True) if label == answer
    ]
    # Posterior of the released answer: prior · likelihood, over their sum.
    exact = Fraction(sum(of_answer), total)
    wanted = level * total
    if not _are_numbers(mechanism):
        # The likeliest answers first, until they have the level.
        order = sorted(range(len(joint)), key=lambda i: (-joint[i], i))
        falling = (joint[i] for i in order)
        held = list(itertools.accumulate(falling))
        chosen = order[: bisect.bisect_left(held, wanted) + 1]
        return (), tuple(labels[i] for i in sorted(chosen)), exact
    bounds = []
    for number in range(len(number_parts(labels[0]))):
        masses: Counter[Fraction] = Counter()
        for label, mass in zip(labels, joint, strict=True):
            masses[number_parts(label)[number]] += mass
        low, high = _shortest_run(sorted(masses.items()), wanted)
        bounds.append((whole(low), whole(high)))
    return tuple(bounds), (), exact


def _shortest_run(
    masses: list[tuple[Fraction, int]], wanted: Fraction
) -> tuple[Number, Number]:
    """Return the ends of the shortest interval with a mass; the heaviest of several."""
    best = None
    held = 0
    start = 0
    for value, mass in masses:
        held += mass
        # The shortest run that ends here starts as late as it can.
        while held - masses[start][1] >= wanted:
            held -= masses[start][1]
            start += 1
        if held >= wanted:
            first = masses[start][0]
            run = (value - first, -held, first, value)
            best = run if best is None else min(best, run)
    assert best is not None
    return best[2], best[3]
