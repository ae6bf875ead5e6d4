"""Exchange with others: privacy-loss distributions, OpenDP measurements, a consumer's remap."""

from __future__ import annotations

import math
import secrets
from collections.abc import Hashable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.certify import Mechanism, verify
from tightrope.channels import Channel
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.receipts import read_receipt, verify_receipt
from tightrope.publish.releasing import Release
from tightrope.publish.sampler import Sampler
from tightrope.publish.shapes import read_label


def log_probabilities(mechanism: Mechanism, row: int) -> dict[Hashable, float]:
    """Return the logarithms of the probabilities of one row, by output.

    Two rows are what ``dp_accounting`` calls the probability mass functions of a privacy-loss
    distribution: ``from_two_probability_mass_functions(log_probabilities(m, i),
    log_probabilities(m, h))``. Outputs that never occur are left out.

    Parameters
    ----------
    mechanism
        The mechanism.
    row
        The node of the true answer.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> coin = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), PathPower(2), "ln(3)")
    >>> log_probabilities(coin, 0)
    {0: -0.28768207245178..., 1: -1.38629436111989...}
    """
    weights = mechanism.row_weights(row).tolist()
    return {
        mechanism.output_label(o): _log_share(weight, mechanism.bits)
        for o, weight in enumerate(weights)
        if weight
    }


def _log_share(weight: int, bits: int) -> float:
    # Close to 1 the difference of two logarithms has no digits left.
    missing = (1 << bits) - weight
    if missing < weight:
        return math.log1p(-(missing / (1 << bits)))
    return math.log(weight) - bits * math.log(2)


def privacy_map(mechanism: Mechanism, distance: float) -> float:
    r"""Return the ε that answers at most a distance apart are told apart by, never too small.

    On a line of whole answers with neighbours at most w apart it is
    :math:`\varepsilon \lceil d/w \rceil`; elsewhere any change may cross the whole graph.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(11, "0.5", 5), "sum(2,5)", "0.5")
    >>> privacy_map(made, 0), privacy_map(made, 6)
    (0.0, 1.0)
    """
    if not distance >= 0:
        raise InputError(f"a distance must be at least 0, got {distance}")
    if distance == 0:
        return 0.0
    box = mechanism.graph.sides if mechanism.graph.form == "box" else None
    if box is None or len(box) > 1:
        raise InputError(
            f"{mechanism.query} has no distances on a line: only such mechanisms become OpenDP "
            "measurements"
        )
    size, width = box[0]
    steps = -(-math.floor(min(distance, size)) // width)
    level = mechanism.epsilon
    if level.base is not None:
        # A logarithm in floats may lie a few units too low.
        return float(level) * steps * (1 + 2.0**-50)
    exact = level.multiple * steps
    found = float(exact)
    return math.nextafter(found, math.inf) if found < exact else found


def opendp_measurement(mechanism: Mechanism) -> Any:
    """Return an OpenDP measurement that draws from the mechanism, with a checked privacy map.

    The mechanism is verified first. The input is the number of the true answer, the metric the
    absolute distance of answers, the measure pure ε. OpenDP must have the features ``contrib``
    and ``honest-but-curious`` enabled, because it cannot check a function; here the integers
    were checked instead.

    Parameters
    ----------
    mechanism
        A mechanism whose answers stand on a line.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.graphs import Clique, petersen
    >>> from tightrope.channels import ScaledPhi
    >>> made = certify(ScaledPhi(petersen(), "ln(2)", 1 / 4), petersen(), "ln(2)")
    >>> opendp_measurement(made)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: petersen has no distances on a line: ...
    """
    privacy_map(mechanism, 1)
    found = verify(mechanism)
    if not found:
        raise CheckFailed(found.reasons[0])
    try:
        import opendp.prelude as dp
    except ImportError:
        raise InputError("an OpenDP measurement needs OpenDP: pip install opendp") from None
    samplers: dict[int, Sampler] = {}

    def function(answer: int) -> int:
        if answer not in samplers:
            samplers[answer] = Sampler(mechanism, answer)
        return samplers[answer].draw_index()

    return dp.m.make_user_measurement(
        dp.atom_domain(bounds=(0, mechanism.shape[0] - 1), T="i32"),
        dp.absolute_distance(T="i32"),
        dp.max_divergence(),
        function,
        lambda distance: privacy_map(mechanism, distance),
        TO="i32",
    )


def apply_remap(
    answer: Release | Mapping[str, Any] | Path | Hashable,
    remap: Channel | Mapping[Hashable, Hashable],
) -> Hashable:
    """Return the guess that a remap makes from a released answer.

    A remap knows the released answer and nothing else. It needs no data and costs no budget: what
    is computed from a private answer is as private as the answer [C, §2.4].

    Parameters
    ----------
    answer
        A release, a receipt, the path of a receipt, or the answer itself.
    remap
        From outputs to guesses: a mapping, or a channel whose inputs are the outputs of the
        mechanism. A random remap draws its guess.

    Examples
    --------
    >>> apply_remap(0, {0: 1, 1: 1, 2: 2})
    1
    >>> from tightrope.channels import DeterministicChannel
    >>> apply_remap(2, DeterministicChannel([1, 1, 2]))
    2
    """
    given = released_answer(answer)
    if isinstance(remap, Mapping):
        if given not in remap:
            raise InputError(f"the remap has no guess for the answer {given!r}")
        return remap[given]
    if not isinstance(remap, Channel):
        raise InputError(f"a remap is a mapping or a channel, got {type(remap).__name__}")
    inputs = [remap.input_label(i) for i in range(remap.shape[0])]
    if given not in inputs:
        raise InputError(f"the remap has no guess for the answer {given!r}")
    chances = np.asarray(remap.row(inputs.index(given)), float)
    # The guess may be random, the privacy does not depend on it: floats are fine here.
    drawn = Fraction(secrets.randbits(64), 2**64)
    place = int(np.searchsorted(np.cumsum(chances), float(drawn) * chances.sum(), side="right"))
    return remap.output_label(min(place, int(np.flatnonzero(chances)[-1])))


def released_answer(answer: Any) -> Hashable:
    """Return the answer that a release, a receipt or a file of one holds; receipts are checked.

    >>> released_answer((1, 2))
    (1, 2)
    """
    if isinstance(answer, Release):
        return answer.answer
    if isinstance(answer, Path):
        answer = read_receipt(answer)
    if isinstance(answer, Mapping):
        check = verify_receipt(answer)
        if not check.genuine:
            raise CheckFailed(f"the receipt is not genuine: {check.reasons[0]}")
        return read_label(answer["answer"])
    return answer  # type: ignore[no-any-return]
