r"""Series: many releases under one :math:`(\varepsilon, \delta)`, declared in advance.

Levels that are chosen as one goes add up, and nothing better holds for them in general [1]_: what
is saved by composing well, an adaptive choice of levels may spend twice. So whoever wants more
than the sum says in advance how many releases of which level there will be. The questions, and
their order, may be chosen as one goes: each release can be made from an output of the worst pair
of rows of its level (or of its mechanism), and these outputs might all have been drawn in advance.
The account pays :math:`(\varepsilon, \delta)` for the whole series at once; a release in it takes
one place and nothing more. A level that was not declared is refused.

The entry of a series holds the statement and its proof: what each release is at most as bad as,
and the digest of their composition. Verifying a ledger computes it again.

References
----------
.. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan, "Privacy odometers and filters: pay-as-you-go
   composition", NIPS 2016.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.accounting import (
    PrivacyLoss,
    TradeOff,
    longest_series,
    optimal_composition,
)
from tightrope.accounting.curves import delta_of
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.publish.accounts import Series, Step, budget_of, charge_of, read_amount
from tightrope.publish.noise import checked_mechanism, noise_of

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism


def read_steps(
    texts: Sequence[str], epsilon: Level | None, delta: Fraction
) -> list[tuple[AnyMechanism | Level, int]]:
    r"""Read kinds of releases: ``100x0.1`` or ``20xcount.tightrope``.

    One level alone, without a number, means as many as :math:`(\varepsilon, \delta)` holds.

    >>> read_steps(["100x0.1", "5xln(2)"], None, Fraction(0))
    [('0.1', 100), ('ln(2)', 5)]
    >>> read_steps(["0.01"], 1, Fraction(1, 10**6))
    [('0.01', 562)]
    """
    found: list[tuple[AnyMechanism | Level, int]] = []
    for text in texts:
        number, _, kind = text.partition("x")
        # A file name may contain an x: only digits before it are a number of releases.
        if not re.fullmatch("[0-9]{1,9}", number):
            number = ""
            kind = text
        if kind.endswith(".tightrope"):
            found.append((checked_mechanism(kind).file, int(number or 1)))
        elif number:
            found.append((kind, int(number)))
        elif epsilon is not None and len(texts) == 1:
            # The most releases whose optimal composition stays within (ε, δ).
            held = longest_series(kind, epsilon, delta)
            if not held:
                raise InputError(
                    f"ε = {epsilon} holds no release of {kind}: give a larger one"
                )
            found.append((kind, held))
        else:
            raise InputError(
                f"say how many releases there are, such as 100x{Epsilon.of(kind)}; one level "
                "alone, with an ε for all, means as many as it holds"
            )
    return found


def series_entry(
    account: str,
    name: str,
    kinds: Sequence[tuple[AnyMechanism | Level, int]],
    delta: float | Fraction | str,
    epsilon: Level | None = None,
) -> dict[str, Any]:
    r"""Return the entry that declares a series, with its statement and proof.

    Parameters
    ----------
    account
        Who pays, such as ``table people``.
    name
        What the series is called.
    kinds
        Levels or mechanisms, and how many releases of each.
    delta, epsilon
        What the series costs; the least :math:`\varepsilon` that :math:`\delta` allows by default.

    Examples
    --------
    >>> found = series_entry("table people", "daily", [("0.1", 100)], "1e-6")
    >>> f"{float(Fraction(found['epsilon'])):.9f}"
    '4.774567588'
    """
    if not name.strip() or len(name) > 60 or not name.isprintable():
        raise InputError(
            f"a series is named by 1 to 60 printable characters, got {name!r:.80}"
        )
    # Names appear in entries and receipts, so they are short and printable.
    spare = delta_of(delta)
    steps = declared_steps(kinds)
    losses = composed(steps, spare)
    # The least ε with δ(ε) ≤ δ, unless the user wants to pay more for a smaller δ.
    cost = losses.epsilon(spare) if epsilon is None else budget_of(epsilon)
    if cost is None:
        raise InputError(
            f"no ε is enough for this series with δ = {delta}: give a larger δ"
        )
    return {
        "kind": "series",
        "account": account,
        "series": name,
        "steps": steps,
        "epsilon": str(cost),
        "delta": str(spare),
        "statement": statement(losses, cost, spare),
    }


def declared_steps(
    kinds: Sequence[tuple[AnyMechanism | Level, int]],
) -> list[dict[str, Any]]:
    """Return the kinds of releases of a series as its entry holds them.

    A mechanism brings its worst curve, unless that is too much work; then it counts by its level.
    """
    steps: list[dict[str, Any]] = []
    for kind, times in kinds:
        # Bounded, because every verification of the ledger composes them again.
        count = whole_number(times, "the number of releases", most=10**6)
        if isinstance(kind, Epsilon | float | int | str | Fraction):
            amount = str(charge_of(Epsilon.of(kind)))
            steps.append({"amount": amount, "times": count})
            continue
        noise = noise_of(kind)
        curve = noise.curve()
        steps.append({"amount": str(charge_of(kind.epsilon)), "times": count})
        if curve is not None:
            steps[-1] |= {
                # Composed by its own trade-off curve, the place is for this mechanism alone.
                "mechanism": kind.digest,
                "curve": [list(curve.null), list(curve.other)],
            }
        elif kind.delta:
            raise TooLarge(
                f"the mechanism for {kind.query} has a δ and is too large for a series"
            )
    return steps


def composed(steps: Sequence[Mapping[str, Any]], delta: Fraction) -> PrivacyLoss:
    """Return the composition of the steps of an entry that costs least.

    Curves cost no more than their levels, but between levels without a common measure they are
    rounded more: so where every mechanism is private for its level, the levels are composed too.
    """
    curves = [_curve(step["curve"]) if "curve" in step else None for step in steps]
    levels = [read_amount(step["amount"]) for step in steps]
    counts = [int(step["times"]) for step in steps]
    pairs = list(zip(curves, levels, strict=True))
    # A level alone stands for its worst case, randomized response with that ε.
    kinds = [level if curve is None else curve for curve, level in pairs]
    found = optimal_composition(zip(kinds, counts, strict=True))
    if any(curves) and all(_keeps(curve, level) for curve, level in pairs):
        other = optimal_composition(zip(levels, counts, strict=True))
        # Both compositions are valid bounds, so the smaller ε may be claimed.
        costs = [losses.epsilon(delta) for losses in (found, other)]
        if costs[0] is None or (costs[1] is not None and costs[1] < costs[0]):
            return other
    return found


def _keeps(curve: TradeOff | None, level: Fraction) -> bool:
    ratio = Fraction(1) if curve is None else curve.ratio(0)
    # The curve's largest likelihood ratio is at most e^ε: the mechanism is ε-private by itself.
    return ratio is not None and ratio <= Epsilon.of(level).ratio


def statement(
    losses: PrivacyLoss, epsilon: Fraction, delta: Fraction
) -> dict[str, Any]:
    r"""Return what a series is proved to cost, and the composition that proves it.

    ``delta`` is what :math:`\varepsilon` needs and ``epsilon`` what :math:`\delta` needs; the
    composition is named by its grid and its digest.
    """
    least = losses.epsilon(delta)
    # Exact integers: a verifier must reproduce the digest bit by bit.
    numbers = " ".join(map(str, (losses.infinite, *losses.masses)))
    return {
        "delta": str(losses.delta(epsilon)),
        "epsilon": None if least is None else str(least),
        "proof": {
            "unit": str(losses.unit),
            "low": str(losses.low),
            "places": len(losses.masses),
            "digest": hashlib.sha256(numbers.encode()).hexdigest(),
        },
    }


def series_of(
    steps: Sequence[Mapping[str, Any]], epsilon: Fraction, delta: Fraction
) -> Series:
    """Return a series as an account holds it, none of it used."""
    kept = []
    for step in steps:
        times = whole_number(step["times"], "the number of releases", most=10**6)
        amount = read_amount(step["amount"])
        # A curve without its mechanism could be claimed by any release of the series.
        if ("curve" in step) != isinstance(step.get("mechanism"), str):
            raise InputError(
                "a curve in a series belongs to a mechanism, and the other way round"
            )
        curve = curve_digest(_curve(step["curve"])) if "curve" in step else None
        kept.append(Step(amount, times, 0, step.get("mechanism"), curve))
    return Series(epsilon, delta, tuple(kept))


def curve_digest(curve: TradeOff) -> str:
    """Return the digest of a curve."""
    return hashlib.sha256(str((curve.null, curve.other)).encode()).hexdigest()


def _curve(rows: Any) -> TradeOff:
    null, other = (tuple(map(int, row)) for row in rows)
    return TradeOff(null, other)
