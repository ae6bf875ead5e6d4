"""Exchange with others: a mechanism as a measurement of OpenDP."""

from __future__ import annotations

import math
from typing import Any

from tightrope.certify import Mechanism, verify
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.sampler import Sampler


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
