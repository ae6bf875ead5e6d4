"""Who uses the answer: a prior or a set of possible answers, a loss, and the expected loss."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.certify.kernel.format import Array, Contents, need, need_work, present

if TYPE_CHECKING:
    from tightrope.certify.kernel.weights import Weights


class StatedConsumer:
    """A prior (or a set of possible answers) and a loss, as the file says.

    A named loss has no list: it follows from the answers' labels and distances.
    """

    about = ""  # how the expected loss relates to the stated one
    unbounded: Fraction | None = None

    def __init__(self, weights: Weights) -> None:
        file = weights.file
        graph = weights.graph
        self.file = file
        self.graph = graph
        self.weights = weights
        self.given = file.header["consumer"]
        self.n = graph.nodes
        self.outputs = weights.outputs
        self.alphas = weights.alphas
        self.bits: int = (file.header["certificate"] or {}).get("bits", 0)
        loss = self.given["loss"]
        prior = self.given["prior"] or {}
        self.kind: str = loss["kind"]
        self.guesses: int = loss.get("guesses", self.n)
        self.binary = self.kind == "binary"
        # Where ``power`` is not 0, the loss is ``factor/unit`` times that power of the distance.
        self.power = 0
        self.unit = 1
        self.factor = 1
        self.effort = 1  # how much longer a loss takes than to look it up
        degree = {"absolute": 1, "squared": 2}.get(self.kind, 0)
        if self.kind == "listed":
            self.unit = loss["denominator"]
            need_work("the listed losses", 0, 0, 90 * self.n * self.guesses)
        elif self.kind == "distance":
            self.power = int(graph.is_path)
            self.unit = graph.unit
        elif degree and graph.line is not None:
            # Labels start + i·step: a loss of this degree is |step|^degree times |i - k|^degree.
            step = abs(graph.line[1]) ** degree
            self.power = degree
            self.factor = step.numerator
            self.unit = step.denominator
        elif degree:
            numbers, unit = graph.coordinates
            self.unit = unit**degree
            self.effort = 1 + numbers.shape[1]
        self.remapped: bool = self.given["remapped"]
        need(self.remapped or self.outputs <= self.guesses, "an output has no guess")
        self._check_names()
        self.uniform = prior.get("kind") == "uniform"
        self.prior_total = self.n if self.uniform else prior.get("total", 1 << 61)
        self.averse = self.given["support"] is not None
        if self.averse:
            self._check_support()

    def _check_names(self) -> None:
        # What is released is the name of an output; the guesses of a listed loss have no names.
        free = self.remapped or self.kind == "listed"
        names = () if free else self.file.header["outputs"] or ()
        # The released name must be that of the guess, or the reader would guess another answer.
        own = all(self.graph.label(o) == name for o, name in enumerate(names))
        need(own, "labels: an output is its own guess and has another name")

    def _check_support(self) -> None:
        inside = np.zeros(self.n, bool)
        inside[self.support] = True
        once = inside.sum() == len(self.support)
        need(once, "a possible answer is listed twice")
        if self.given["prior"] is not None:
            outside = self.prior[~inside].any()
            need(not outside, "the prior has weight on impossible answers")

    @cached_property
    def prior(self) -> Array:
        """The prior in units of its total, as Python integers."""
        need_work("the prior", 0, 0, 80 * self.n)
        if self.uniform:
            return np.full(self.n, 1, object)
        return read_prior(self.file, self.weights.answers)

    @cached_property
    def support(self) -> Array:
        """The possible answers of a risk-averse consumer."""
        need_work("the possible answers", 0, 0, 80 * self.n)
        listed = self.given["support"]["kind"] == "listed"
        return self.file.section("support") if listed else np.arange(self.n)

    @property
    def scale(self) -> int:
        """The denominator of prior times loss."""
        return self.prior_total * self.unit

    @cached_property
    def guess_of(self) -> Array:
        """The guess that the consumer makes for each output."""
        if self.remapped:
            return self.file.section("guess_of")
        return np.arange(self.outputs)

    @cached_property
    def _listed(self) -> Array:
        return self.file.section("loss").astype(object).reshape(self.guesses, self.n)

    def losses(self, guess: int) -> Array:
        """Return the losses of one guess under every answer, times the unit."""
        if self.kind == "listed":
            return np.asarray(self._listed[guess])
        if self.power:
            gaps = abs(np.arange(self.n) - guess) ** self.power  # of less than 2^62
            return np.asarray(gaps.astype(object) * self.factor)
        if self.binary:
            return np.asarray((np.arange(self.n) != guess) * 1, dtype=object)
        if self.kind == "distance":
            return self.graph.distances_from(guess).astype(object)
        numbers = self.graph.coordinates[0]
        gaps = abs(numbers - numbers[guess]) ** (1 if self.kind == "absolute" else 2)
        return np.asarray(gaps.sum(axis=1))

    def expected(self) -> Fraction:
        """Return the expected loss (the worst one over a set of possible answers), exactly."""
        weights = self.weights
        common = weights.common_loss(self)
        if common is not None:
            return common
        # Read before arrays of this size are made.
        counted = self.support if self.averse else self.prior
        each = weights.answer_losses(self)
        if self.averse:
            # A worst loss needs no prior, nor its denominator.
            return Fraction(max(each[counted].tolist()), weights.total * self.unit)
        return Fraction(sum((each * counted).tolist()), weights.total * self.scale)

    def words(self) -> dict[str, Any]:
        """Return in words whose loss was checked."""
        loss = self.kind
        if loss == "listed":
            loss = listed_words(self._listed.ravel(), self.unit)
        whose = {"kind": "Bayesian", "prior": None, "support": None}
        if self.averse:
            everyone = self.given["support"]["kind"] == "all"
            support = "all" if everyone else listed_words(self.support, 1)
            whose |= {"kind": "risk-averse", "support": support}
        else:
            whose["prior"] = self.prior_words()
        return whose | {"loss": loss, "guesses": self.guesses}

    def prior_words(self) -> str:
        """Return the prior in words: its name, or its numbers."""
        given = self.given["prior"]
        if given["kind"] == "uniform":
            return "uniform"
        if given["kind"] != "listed":
            return f"{given['kind']}({given['number']})"
        window = self.file.header["window"]
        place = "" if window is None else f" from answer {window['start']} on"
        return listed_words(self.file.section("prior"), given["total"]) + place


def read_prior(file: Contents, nodes: int) -> Array:
    """Return a prior in units of its total, where it lies among all answers of the question."""
    given = file.header["consumer"]["prior"]
    if given["kind"] != "listed":
        (named,) = (
            part for part in present(file.header) if hasattr(part, "named_prior")
        )
        return np.asarray(named.named_prior(file.header, nodes))
    numbers = file.section("prior").astype(object)
    need(sum(numbers.tolist()) == given["total"], "the prior does not sum to 1")
    return numbers


def listed_words(numbers: Array, unit: int) -> str:
    """Return a list of numbers in words: all of a short one, the digest of a long one."""
    if len(numbers) <= 12:
        exact = (str(Fraction(int(x), unit)) for x in numbers.tolist())
        return "listed: " + ", ".join(exact)
    every = " ".join([*map(str, numbers.tolist()), str(unit)])
    digest = hashlib.sha256(every.encode()).hexdigest()[:32]
    return f"listed: {len(numbers)} numbers over {unit} with digest {digest}"
