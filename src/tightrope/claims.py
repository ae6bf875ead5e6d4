"""Claims of quality: the one place where every sentence about how good noise is is made.

A claim says what is proved of a mechanism: by which loss, for whom (a prior, or the worst case),
among which mechanisms, and how far from the smallest possible. It is made from what the judge
returned for this very file, or from the bound that a design has, and from nothing else.

Distances are divided by the bound: a loss of 1.02 where nothing below 1 is possible is 2 % above
the smallest possible. Percentages are rounded up, so that no sentence claims more than is proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.arrays import Real

#: What is above its bound by no more than this share of it is called optimal.
NEGLIGIBLE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Sentence:
    """A sentence about quality: its words, when it is printed, and what is behind it."""

    words: str
    when: str
    behind: str


#: Every sentence about quality that can be printed; the page on claims lists them.
SENTENCES = {
    "optimal": Sentence(
        "Proved optimal: no {private}{kind} for {subject} has a smaller {measure}{whom}{among}.",
        "the loss is within 10⁻⁶ of the bound",
        "the judge: dual multipliers, checked in integers, bound the loss of every such mechanism",
    ),
    "optimal inside": Sentence(
        "Proved optimal: no {private}noise for {subject} has a smaller {measure}{whom}, except "
        "very near {ends} ({ends_included}).",
        "noise on a lattice whose loss is within 10⁻⁶ of the bound on the unbounded question",
        "the theorem of the unbounded question; the number in brackets is the judge's bound on "
        "the question with its ends",
    ),
    "near": Sentence(
        "The {measure}{whom} is proved to be at most {percent} % above the smallest possible for "
        "{private}{kind} for {subject}{among}.",
        "there is a positive bound, and the loss is above it",
        "the judge's bound; the distance is divided by the bound",
    ),
    "near inside": Sentence(
        "The {measure}{whom} is proved to be at most {percent} % above the smallest possible for "
        "{private}noise for {subject}, except very near {ends} ({ends_included}).",
        "noise on a lattice whose loss is above the bound on the unbounded question",
        "the theorem of the unbounded question, and the judge's bound with the ends",
    ),
    "private": Sentence(
        "Proved private; how far the error is from the smallest possible is not known.",
        "there is no bound, or none above 0",
        "the judge: privacy of every pair of rows, in integers",
    ),
    "scores": Sentence(
        "Drawn by scores from the counts of all values: proved private; how far the error is from "
        "the smallest possible is not known.",
        "a most common value, or quantiles",
        "the theorem of permute-and-flip, or of tuples, and the judge's check of its levels",
    ),
    "selection": Sentence(
        "A group is shown if it is large enough: one of {even} people as likely as not, one of "
        "{certain} or more for certain, one person alone with probability {delta}.",
        "groups that nobody declared",
        "read off the levels of the noise, which the judge has checked",
    ),
    "selection optimal": Sentence(
        "No mechanism that is private for ε = {epsilon} and δ = {delta} for each group shows a "
        "group of any size more often; its count is drawn with it, so nothing of ε is spent on the "
        "choice. An interval is about a group that is shown, whatever its size.",
        "every size is shown within 10⁻⁶ of the largest probability that privacy allows",
        "the judge's theorem of counts that are shown if they are large enough",
    ),
    "sharpened": Sentence(
        "Follows the earlier answer: the two together are proved private at the ε of this one. It "
        "has the noise of a single answer at this ε, but for a share of {share} of its draws.",
        "an answer that was published at a smaller ε and is sharpened",
        "the judge: the pair of both outputs, and what is left over, in integers",
    ),
    "frozen": Sentence(
        "This rests on the public fact that the table is frozen, which nobody compares with rows: "
        "had they changed, all answers of the chain would cost at most ε = {most} together.",
        "an answer that was published at a smaller ε and is sharpened",
        "each finer draw depends on the rows and on what was published: ε of the last answer and "
        "twice that of each before it",
    ),
    "relative": Sentence(
        "Asked until every interval was within {share} % of its number: ε = {epsilon} was enough, "
        "of a limit of {limit}. The intervals of all steps hold at once.",
        "a relative error was asked for, and a level up to the limit has it",
        "the published numbers alone; each step has its share of what intervals may miss",
    ),
    "relative, not reached": Sentence(
        "The limit of ε = {limit} was not enough for every interval to be within {share} % of its "
        "number. The intervals of all steps hold at once.",
        "a relative error was asked for, and no level up to the limit has it",
        "the published numbers alone; each step has its share of what intervals may miss",
    ),
    "stand-in": Sentence(
        "What is proved is about {drawn} at ε = {epsilon}, not about the whole question: {why}.",
        "the proof is about one draw of several, or one step of several that a person can make",
        "the plan of the question: its draws and their widths",
    ),
    "floor": Sentence(
        "Over all tables, each by the mean of its cells, the worst-case root mean square error is "
        "{ours}: at most {factor} times the smallest possible for any ε-private mechanism, except "
        "very near the ends.",
        "several tables of counts of one job, planned within a factor of two of the floor",
        "the theorem of `tightrope.tables.floors`, its conditions checked in fractions; the error "
        "is that of the plan",
    ),
    "cells apart": Sentence(
        "Each of the {cells} cells of {table} has noise of its own: its root mean square error is "
        "at most {percent} % above that of noise which is drawn for all cells together. How far "
        "the latter is from the smallest possible is not known.",
        "a table of more than 100 cells is measured under `change-one`",
        "the theorem of `tightrope.tables.noise`",
    ),
    "computed": Sentence(
        "Computed from published numbers, at no cost: {computed}. Each of their intervals "
        "contains the true value, where there is one, with at least the confidence of the "
        "published numbers.",
        "arithmetic around published numbers, such as a ratio",
        "boxes of intervals that hold at once, or the exact law of the numbers together",
    ),
    "selected": Sentence(
        "The intervals hold for all groups at once, so also for those that are shown.",
        "HAVING, QUALIFY, LIMIT or a window chooses groups by published numbers",
        "each interval has its share of what intervals may miss",
    ),
    "usual, same": Sentence(
        "Independent geometric noise at ε = {epsilon} (as OpenDP adds it, for a sensitivity of "
        "{sensitivity}) has the same margin.",
        "the margins are equal",
        "the law of two-sided geometric noise, at the confidence of the answer",
    ),
    "usual, other": Sentence(
        "Independent geometric noise at ε = {epsilon} (as OpenDP adds it, for a sensitivity of "
        "{sensitivity}) would have ± {theirs} instead of ± {ours}.",
        "the margins differ, to whichever side",
        "the law of two-sided geometric noise, at the confidence of the answer",
    ),
}  # fmt: skip

#: A floor that is further away than this says nothing to go by.
FLOOR_FACTOR = 2

#: What a loss measures, in words; other losses are called by their names.
MEASURES = {
    "absolute": "mean error",
    "squared": "mean squared error",
    "distance": "mean error in people",
    "binary": "chance of a wrong answer",
}
#: Questions whose answers are numbers that noise is added to.
_NUMBERS = ("count", "counts", "sum", "histogram", "mean")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Claim:
    """What is proved of the quality of a mechanism.

    Attributes
    ----------
    question
        The name of the question and its numbers, such as ``("counts", (6366, 2))``; empty for a
        graph of one's own.
    value
        What the mechanism has of the quantity that is minimised.
    bound
        No such mechanism has less; ``None`` where nothing is proved.
    unbounded_bound
        The same among all private mechanisms on the unbounded question, for noise on a lattice.
    loss
        The name of the loss; or ``vulnerability``, ``regret``.
    prior, support
        For whom: the prior that is averaged over, or the answers of which the worst counts.
    among
        What else the mechanisms of the bound keep, in words.
    private
        The privacy that the mechanisms of the bound have; empty where there is no level.
    scale
        The size of losses: a value this near to its bound, in parts of it, is the bound.

    Examples
    --------
    >>> two = Claim(("counts", (6366, 2)), 1.9, 1.8, 1.9, "distance", support="all")
    >>> print(two)
    Proved optimal: no ε-private noise for these two counts has a smaller worst-case mean error in
    people, except very near 0 or 6,366 (ends included, at most 5.6 % above the smallest possible).
    >>> print(Claim(("sum", (5, 3)), 3.26, 1.0, loss="absolute", prior="uniform"))
    The mean error when all answers are equally likely is proved to be at most 226 % above the
    smallest possible for ε-private noise for this sum.
    """

    question: tuple[str, tuple[int, ...]] | tuple[()]
    value: Real
    bound: Real | None
    unbounded_bound: Real | None = None
    loss: str = ""
    prior: str | None = None
    support: str | None = None
    among: str = ""
    scale: float = 0.0
    private: str = "ε-private "

    @property
    def is_optimal(self) -> bool:
        """Whether the sentence says so: on the question, or but for its ends."""
        return self._reaches(self.bound) or self._reaches(self.unbounded_bound)

    @property
    def is_bounded(self) -> bool:
        """Whether the sentence says how far the loss is from the smallest possible."""
        return str(self) != SENTENCES["private"].words

    def excess(self, bound: Real | None) -> Fraction | None:
        """Return by which part of a bound the value is above it; ``None`` without one above 0."""
        if bound is None or not 0 < bound < math.inf:
            return None
        return max(Fraction(self.value) - Fraction(bound), Fraction(0)) / Fraction(
            bound
        )

    def _reaches(self, bound: Real | None) -> bool:
        if bound is None or not -math.inf < bound < math.inf:
            return False
        size = max(abs(Fraction(bound)), Fraction(self.scale))
        difference = Fraction(self.value) - Fraction(bound)
        return difference <= NEGLIGIBLE * size

    def __str__(self) -> str:
        bound = self.bound
        place = ""
        included = self.excess(bound)
        if self.unbounded_bound is not None and not self._reaches(bound):
            bound = self.unbounded_bound
            place = " inside"
        excess = self.excess(bound)
        words = {
            "subject": self.subject,
            "kind": self.kind,
            "private": self.private,
            "measure": self.measure,
            "whom": self.whom,
            "among": f", among those with {self.among}" if self.among else "",
            "ends": self.ends,
            "ends_included": "how far with the ends is not known"
            if included is None
            else f"ends included, at most {percent_above(included)} % above the smallest possible",
        }
        if self._reaches(bound):
            return SENTENCES[f"optimal{place}"].words.format(**words)
        if excess is None:
            return SENTENCES["private"].words
        words["percent"] = percent_above(excess)
        return SENTENCES[f"near{place}"].words.format(**words)

    @property
    def kind(self) -> str:
        """Noise for numbers, elsewhere a mechanism; it sees only the true answer."""
        return "noise" if self._name in _NUMBERS else "mechanism"

    @property
    def subject(self) -> str:
        """What the numbers are, in words."""
        name = self._name
        if name in ("count", "sum", "mean"):
            return f"this {name}"
        if name == "counts":
            many = self.question[1][-1]  # type: ignore[misc]
            number = _COUNTS[many] if many < len(_COUNTS) else many
            return f"these {number} counts"
        if name == "histogram":
            return f"this table of {self.question[1][-1]} groups"  # type: ignore[misc]
        return "this question that sees only the true answer"

    @property
    def measure(self) -> str:
        """What is minimised, in words; of the worst case where one counts."""
        named = {"vulnerability": "chance of an attacker", "regret": "largest regret"}
        own = (
            "mean loss by a table of its own" if self.loss.startswith("listed") else ""
        )
        known = MEASURES.get(self.loss) or named.get(self.loss) or own
        plain = known or f"mean {self.loss} loss"
        return f"worst-case {plain}" if self.support is not None else plain

    @property
    def whom(self) -> str:
        """For whom: whose prior, or which answers."""
        if self.prior == "uniform":
            return " when all answers are equally likely"
        if self.prior is not None:
            return f" for the prior {'of its file' if _is_listed(self.prior) else self.prior}"
        if self.support in (None, "all"):
            return ""
        return " over the answers that it was made for"

    @property
    def ends(self) -> str:
        """The smallest and the largest number, where they are numbers of people."""
        if self._name in ("count", "counts", "histogram"):
            return f"0 or {self.question[1][0]:,}"  # type: ignore[misc]
        return "the ends of its range"

    @property
    def _name(self) -> str:
        return self.question[0] if self.question else ""


def claim_of_file(file: Any, verdict: Any) -> Claim | None:
    """Return what the judge proved of a mechanism file; ``None`` without a checked loss."""
    consumer = verdict.consumer
    if consumer is None or verdict.optimal_within is None or file.bound is None:
        return None
    bound = Fraction(file.bound)
    value = bound + Fraction(verdict.optimal_within)
    far = verdict.unbounded_within
    # Under a limit on the loss, what is least is the chance of an attacker.
    is_loss = value == file.expected_loss
    return Claim(
        file.question.graph.question or (),
        value,
        bound,
        None if far is None else value - Fraction(far),
        consumer["loss"] if is_loss else "vulnerability",
        consumer["prior"],
        consumer["support"],
        verdict.under or "",
        private="(ε, δ)-private " if file.delta else "ε-private ",
    )


def claim_of_design(design: Any) -> Claim:
    """Return what a design has proved so far, in floats.

    Its file states the same exactly, but for noise whose bound stays in floats.
    """
    one = None if design.many else design.consumer
    prior = None if one is None or one.risk_averse else _prior_words(one.prior)
    if design.is_floating and prior == "listed":
        prior = "asked about"  # no file has it
    return Claim(
        design.graph.question or (),
        design.value,
        design.bound,
        design.unbounded_bound,
        design.minimised
        if design.minimised != "loss" or one is None
        else one.loss.name,
        prior,
        None if one is None or not one.risk_averse else _support_words(one),
        _limit_words(design),
        scale=design.scale,
        private="" if design.epsilon is None else "ε-private ",
    )


def _limit_words(design: Any) -> str:
    if design.limit is None:
        return ""
    held = "loss" if design.minimised == "vulnerability" else "vulnerability"
    return f"{held} at most {design.limit:.10g}"


def _prior_words(prior: Any) -> str:
    if prior.named is not None:
        name, number = prior.named
        return f"{name}({float(number):g})"
    return "uniform" if prior.is_uniform else "listed"


def _support_words(consumer: Any) -> str:
    return "all" if consumer.all_answers else "listed"


def _is_listed(words: str) -> bool:
    return words.startswith("listed")


def file_sentence(file: Any, verdict: Any) -> str:
    """Say what is proved of the quality of a mechanism file."""
    if file.kind in ("scores", "tuples"):
        return SENTENCES["scores"].words
    claim = claim_of_file(file, verdict)
    return SENTENCES["private"].words if claim is None else str(claim)


def selection_sentence(
    even: int, certain: int, epsilon: Any, delta: Any, *, optimal: bool
) -> str:
    """Say which groups a choice shows, and that no other shows more where that is proved."""
    words = {"even": even, "certain": certain, "epsilon": epsilon}
    chance = f"{float(delta):.2g}"
    kinds = ["selection", *(["selection optimal"] if optimal else [])]
    return " ".join(
        SENTENCES[kind].words.format(delta=chance, **words) for kind in kinds
    )


def sharpened_sentence(share: Fraction) -> str:
    """Say what a finer answer and the earlier one cost together, and which noise it has."""
    return SENTENCES["sharpened"].words.format(share=f"{float(share):.1g}")


def frozen_sentence(earlier: Sequence[Any], last: Any) -> str:
    """Say what a chain costs at most if its table has changed between its answers.

    >>> from tightrope.epsilon import Epsilon
    >>> frozen_sentence([Epsilon.of("0.25")], Epsilon.of(1))[-25:]
    'at most ε = 1.5 together.'
    """
    # o₁ costs ε₁; o₂ given o₁ is a ratio of two laws, and costs ε₂ + ε₁; and so on.
    most = float(last) + 2 * sum(map(float, earlier))
    return SENTENCES["frozen"].words.format(most=f"{most:.6g}")


def relative_sentence(share: Fraction, epsilon: Any, limit: Any, *, near: bool) -> str:
    """Say at which level a relative error was reached, or that the limit was not enough."""
    words = {
        "share": f"{float(share * 100):g}",
        "epsilon": epsilon,
        "limit": limit,
    }
    kind = "relative" if near else "relative, not reached"
    return SENTENCES[kind].words.format(**words)


def stand_in_sentence(drawn: str, epsilon: Any, why: str) -> str:
    """Say that a claim is about a draw and not about the question that was asked."""
    return SENTENCES["stand-in"].words.format(drawn=drawn, epsilon=epsilon, why=why)


def post_processing_sentences(computed: Sequence[str], selects: bool) -> list[str]:
    """Say what is computed from published numbers, and for which of them intervals hold.

    >>> post_processing_sentences(["share"], False)[0][:42]
    'Computed from published numbers, at no cos'
    """
    sentences = []
    if computed:
        names = ", ".join(computed)
        sentences.append(SENTENCES["computed"].words.format(computed=names))
    if selects:
        sentences.append(SENTENCES["selected"].words)
    return sentences


def floor_sentence(ours: float, floor: float) -> str | None:
    """Say how far the error of a job is from what is proved to be impossible, where it is near.

    >>> print(floor_sentence(2.714, 1.925))
    Over all tables, each by the mean of its cells, the worst-case root mean square error is
    2.714: at most 1.41 times the smallest possible for any ε-private mechanism, except very near
    the ends.
    >>> floor_sentence(2.714, 1.0) is None
    True
    """
    factor = Fraction(ours) / Fraction(floor)
    if factor > FLOOR_FACTOR:
        return None
    # Rounding must not turn a distance into none, or make it smaller.
    hundredths = math.ceil(factor * 100 - Fraction(1, 10**6))
    upward = hundredths / 100
    return SENTENCES["floor"].words.format(ours=f"{ours:.4g}", factor=f"{upward:.2f}")


def cells_apart_sentence(table: str, cells: int, excess: float) -> str:
    """Say how much is lost where the cells of a table are drawn one by one.

    >>> print(cells_apart_sentence("a × b", 400, 0.00339))
    Each of the 400 cells of a × b has noise of its own: its root mean square error is at most 0.34
    % above that of noise which is drawn for all cells together. How far the latter is from the
    smallest possible is not known.
    """
    percent = percent_above(Fraction(excess))
    words = SENTENCES["cells apart"].words
    return words.format(table=table, cells=f"{cells:,}", percent=percent)


def usual_sentence(
    ours: Fraction, theirs: Fraction, sensitivity: Fraction, epsilon: Any
) -> str:
    """Compare a margin with that of the usual noise, which is named.

    >>> print(usual_sentence(Fraction(4), Fraction(6), Fraction(2), 1))
    Independent geometric noise at ε = 1 (as OpenDP adds it, for a sensitivity of 2) would have
    ± 6 instead of ± 4.
    """
    words = {"epsilon": epsilon, "sensitivity": f"{float(sensitivity):,.6g}"}
    if ours == theirs:
        return SENTENCES["usual, same"].words.format(**words)
    # As many digits as tell them apart.
    shown = ((bound_text(theirs, n), bound_text(ours, n)) for n in range(4, 18))
    different = (pair for pair in shown if pair[0] != pair[1])
    usual, own = next(different, ("", ""))
    return SENTENCES["usual, other"].words.format(theirs=usual, ours=own, **words)


def percent_above(excess: Real) -> str:
    """Return a share in percent with two digits, rounded up.

    >>> percent_above(Fraction(1, 300)), percent_above(Fraction(326, 100))
    ('0.34', '326')
    """
    percent = 100 * Fraction(excess)
    if percent == 0:
        return "0"
    places = max(1 - math.floor(math.log10(percent)), 0)
    unit = Fraction(10) ** -places
    up = math.ceil(percent / unit) * unit
    return f"{float(up):.{places}f}"
