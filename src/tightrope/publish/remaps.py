"""Post-processing at the reader's side: a consumer's best guess from a released answer.

A remap knows the released answer and nothing else. It needs no data and costs no budget: what is
computed from a private answer is as private as the answer [C, §2.4].
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.labels import read_label
from tightrope.publish.receipts import read_receipt, verify_receipt
from tightrope.publish.releasing import Release

#: Random bits for a guess that is itself random.
GUESS_BITS = 64


def apply_remap(
    answer: Release | Mapping[str, Any] | Path | Hashable,
    remap: Channel | Mapping[Hashable, Hashable],
) -> Hashable:
    """Return the guess that a remap makes from a released answer.

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
    drawn = Fraction(secrets.randbits(GUESS_BITS), 2**GUESS_BITS)
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
