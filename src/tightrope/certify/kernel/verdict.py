"""The verdict: what holds of a file, and what does not."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.exponentials import check_ratios
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    OPTIONS,
    WEIGHTS,
    File,
    Refused,
    need,
    one_judgement,
    present,
)
from tightrope.certify.kernel.weights import Derive


@dataclass
class Verification:
    """What the checks of a mechanism found, and what it was that they checked.

    Attributes
    ----------
    private
        Whether the weights are private for ε on their graph, the rows are sound and the bytes
        untouched.
    named
        Whether the file answers a question with a name; else it holds a graph of its own.
    optimal_within
        The expected loss (or the vulnerability, where loss is limited) less the proved bound,
        exactly; ``None`` without a sound certificate.
    unbounded_within
        For noise on a lattice the same among all private mechanisms on the unbounded question.
    ratio
        The p/q that probabilities of neighbours may differ by.
    digest
        The SHA-256 digest of the bytes.
    under
        The limit that the mechanism keeps, in words; no mechanism that keeps it is below the bound.
    question
        The question, the neighbour relation and ε that the file names.
    consumer
        Whose loss was checked: kind, prior or support, loss, and the attacker of a limit.
    reasons
        What fails, where and by how much; empty when everything holds.
    checked
        What was found to hold.
    """

    private: bool = False
    named: bool | None = None
    optimal_within: Fraction | None = None
    unbounded_within: Fraction | None = None
    ratio: str | None = None
    digest: str | None = None
    under: str | None = None
    question: dict[str, Any] = field(default_factory=dict)
    consumer: dict[str, Any] | None = None
    reasons: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.reasons

    @property
    def private_for_question(self) -> bool | None:
        """Whether it is private for the question that the file names; ``None`` without a name."""
        return None if self.named is False else self.private

    def holds(self, line: str) -> None:
        """Note what was found to hold."""
        self.checked += (line,)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope verify --json`` prints; gaps as floats that are not below."""
        names = (
            "private private_for_question optimal_within unbounded_within consumer ratio "
            "reasons checked digest under question"
        )
        shown = {name: getattr(self, name) for name in names.split()}
        for name in ("optimal_within", "unbounded_within"):
            if (gap := shown[name]) is not None:
                near = float(gap)
                # Rounded up, so that the float printed is never below the proved gap.
                shown[name] = near if Fraction(near) >= gap else nextafter(near, inf)
        return shown | {"reasons": list(self.reasons), "checked": list(self.checked)}

    def __str__(self) -> str:
        gap = self.optimal_within
        within = "not known" if gap is None else f"{float(gap):.3g}"
        own = "a graph of its own, no question is named"
        known = self.question | (self.consumer or {})
        lines = [f"{name}: {value}" for name, value in known.items()]
        lines += [f"holds: {line}" for line in self.checked]
        lines += [f"FAILS: {line}" for line in self.reasons]
        lines += [
            f"private: {'yes' if self.private else 'no'}",
            f"on the graph of: {'its question' if self.named else own}",
            f"optimal within: {within}",
        ]
        lines += [f"among mechanisms with {self.under}"] if self.under else []
        return "\n".join(lines)


def judged(
    source: str | os.PathLike[str] | bytes | File, derive: Derive
) -> Verification:
    """Check a file, or its bytes; whatever is wrong becomes a reason.

    ``derive`` gives the graph of a question under a neighbour relation.
    """
    report = Verification()
    try:
        with one_judgement():
            file = source if isinstance(source, File) else File(source)
            _check_privacy(file, derive, report)
    except Refused as refused:
        report.reasons += (str(refused),)
    except OverflowError:
        report.reasons += ("a number of the file is too large to mean anything",)
    except MemoryError:
        report.reasons += ("too large: the memory of this machine does not suffice",)
    # A certificate proves nothing about weights that fail a check.
    if report.reasons:
        report.optimal_within = report.unbounded_within = report.under = None
    return report


def _check_privacy(file: File, derive: Derive, report: Verification) -> None:
    """Check digest, ratios, rows and privacy, and then the loss."""
    header = file.header
    # The digest first: damaged bytes need no further explanation.
    report.digest, stated = file.digest()
    differ = f"the bytes have {report.digest[:16]}…, the file states {stated[:16]}…"
    need(report.digest == stated, f"digest: {differ}")
    alphas = check_ratios(header)
    ratio = header["ratios"][0]
    report.ratio = f"{ratio.numerator}/{ratio.denominator}"
    report.named = header["query"] is not None
    shown = ["query", "neighbours", "epsilon"]
    shown += ["delta"] if header["delta"] is not None else []
    report.question = {name: file.raw_header[name] for name in shown}
    kind = WEIGHTS[header["weights"]["kind"]]
    report.holds(kind.ratio_words(header))
    # Where a question is named its graph is derived from the text, never read from the file.
    weights = kind.read(file, derive)
    weights.alphas = alphas
    for option in present(header):
        report.checked += option.restriction_words(header, weights)
    report.reasons += tuple(weights.faults())
    report.private = not report.reasons
    if report.private:
        question = f"{header['query']} under {header['neighbours']}"
        whose = question if report.named else "a graph of the file's own"
        report.holds(weights.proved_for(whose))
    proved = weights.own_gap()
    if proved is not None:
        report.optimal_within, words = proved
        report.holds(words)
    if header["consumer"] is not None:
        _check_loss(weights.consumer(), report)


def _check_loss(consumer: StatedConsumer, report: Verification) -> None:
    """Check the stated loss, limit and bound; report by how much the loss exceeds the bound."""
    header = consumer.file.header
    costs: Any = consumer
    report.consumer = consumer.words()
    value = consumer.expected()
    what = "worst loss" if consumer.averse else "expected loss"
    stated = agreed("loss: the weights have", value, header["expected_loss"])
    report.holds(f"the {what} is {consumer.about}{stated}")
    others = "no private mechanism that sees only the true answer"
    counted = Fraction(0)
    if header["limit"] is not None:
        costs = OPTIONS["limit"].costs(consumer)
        report.under, what, value = costs.check_limit(value)
        report.holds(f"the vulnerability is {float(costs.vulnerability):.12g}")
        report.consumer |= {"limit": report.under, "attacker": costs.attacker_words()}
        others += f" with {report.under}"
    if header["certificate"] is None:
        return
    if header["limit"] is not None:
        # By Lagrangian duality the limit is added to the costs, and θ·limit is subtracted again.
        counted = costs.weigh()
    proof = CERTIFICATES[header["certificate"]["kind"]]
    bound = proof.lower_bound(costs) - counted
    stated = agreed("bound: what is proved is", bound, header["bound"])
    # Whatever the proof: these weights are private, so no bound for all such is above theirs.
    sound = bound <= value or not report.private
    need(sound, f"bound: {stated} is above what these weights have")
    report.holds(f"the {what} of {others} is below {stated}")
    report.optimal_within = value - bound
    best = consumer.unbounded
    if best is not None:
        report.unbounded_within = value - best
        whose = "the worst loss of no private mechanism on the unbounded question"
        report.holds(f"{whose} is below {float(best):.12g}")


def agreed(what: str, computed: Fraction, stated: Fraction) -> str:
    """Stop unless a number is the stated one; return it in words."""
    number = f"{float(computed):.12g}"
    off = f"{float(computed - stated):+.3g} from the stated"
    need(computed == stated, f"{what} {number}, {off}")
    return number
