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
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.accounting import PrivacyLoss, TradeOff, optimal_composition, worst_curve
from tightrope.accounting.curves import lowest_curve
from tightrope.channels import IntegerChannel
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import TooLarge, whole_number
from tightrope.publish.accounts import Series, Step, charge_of, read_amount

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism


def declared_steps(kinds: Sequence[tuple[AnyMechanism | Level, int]]) -> list[dict[str, Any]]:
    """Return the kinds of releases of a series as its entry holds them.

    A mechanism brings its worst curve, unless that is too much work; then it counts by its level.
    """
    steps: list[dict[str, Any]] = []
    for kind, times in kinds:
        count = whole_number(times, "the number of releases", most=10**6)
        if isinstance(kind, Epsilon | float | int | str | Fraction):
            steps.append({"amount": str(charge_of(Epsilon.of(kind))), "times": count})
            continue
        curve = curve_of(kind)
        steps.append({"amount": str(charge_of(kind.epsilon)), "times": count})
        if curve is not None:
            steps[-1] |= {"mechanism": kind.digest, "curve": [list(curve.null), list(curve.other)]}
        elif kind.delta:
            raise TooLarge(f"the mechanism for {kind.query} has a δ and is too large for a series")
    return steps


def curve_of(mechanism: AnyMechanism, *, most: int = 1_000_000) -> TradeOff | None:
    """Return the worst trade-off curve of a mechanism; ``None`` where that is too much work.

    Where all answers look alike, the edges of one answer stand for all. Mechanisms by scores, and
    noise without ends, count by their level.
    """
    from tightrope.certify import Mechanism

    if not isinstance(mechanism, Mechanism):
        return None
    graph = mechanism.question.graph
    if mechanism.kind == "radial" and graph.degree(0) * mechanism.shape[1] <= most:
        rows = [mechanism.row_weights(int(i)).tolist() for i in (0, *graph.neighbours(0))]
        return lowest_curve(TradeOff(tuple(rows[0]), tuple(row)) for row in rows[1:])
    channel = mechanism.channel()
    if graph.has_lengths or not isinstance(channel, IntegerChannel):
        return None
    try:
        return worst_curve(channel, graph, most=most)
    except TooLarge:
        return None


def composed(steps: Sequence[Mapping[str, Any]]) -> PrivacyLoss:
    """Return the composition of the steps of an entry."""
    return optimal_composition(
        (
            _curve(step["curve"]) if "curve" in step else read_amount(step["amount"]),
            int(step["times"]),
        )
        for step in steps
    )


def statement(losses: PrivacyLoss, epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    r"""Return what a series is proved to cost, and the composition that proves it.

    ``delta`` is what :math:`\varepsilon` needs and ``epsilon`` what :math:`\delta` needs; the
    composition is told by its grid and its digest.
    """
    least = losses.epsilon(delta)
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


def series_of(steps: Sequence[Mapping[str, Any]], epsilon: Fraction, delta: Fraction) -> Series:
    """Return a series as an account holds it, none of it used."""
    kept = []
    for step in steps:
        times = whole_number(step["times"], "the number of releases", most=10**6)
        amount = read_amount(step["amount"])
        curve = curve_digest(_curve(step["curve"])) if "curve" in step else None
        kept.append(Step(amount, times, step.get("mechanism"), curve))
    return Series(epsilon, delta, tuple(kept))


def curve_digest(curve: TradeOff) -> str:
    """Return the digest of a curve."""
    return hashlib.sha256(str((curve.null, curve.other)).encode()).hexdigest()


def _curve(rows: Any) -> TradeOff:
    null, other = (tuple(map(int, row)) for row in rows)
    return TradeOff(null, other)
