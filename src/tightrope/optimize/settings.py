"""The solver's settings: every tuned number of the search in one place.

``make ablate`` runs a fixed suite of questions with each field moved and writes what it is worth
into ``docs/ablation.md``. A field that shows nothing is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from tightrope.errors import InputError


@dataclass(frozen=True)
class SolverSettings:
    """What the search for a mechanism may do, and when it gives up.

    The defaults are those that finish the most questions; a caller changes one with
    ``design(…, settings=SolverSettings(dual_variables=0))``.

    Examples
    --------
    >>> SolverSettings(dual_variables=0).dual_variables
    0
    >>> SolverSettings(dual_variables=-1)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the setting 'dual_variables' must be at least 0, got -1
    """

    # -- the plan ---------------------------------------------------------------------------
    #: Largest dual linear program, in edge multipliers, that is solved whole; beyond it column
    #: generation is quicker.
    dual_variables: int = 10_000
    #: Most answers for which column generation starts: it lists all distances.
    engine_answers: int = 4000
    #: Most answers for which the prices of a closed form are priced again, although a theorem
    #: says that they are feasible.
    checked_answers: int = 1500
    #: Most entries of a simple mechanism that a design is compared with.
    baseline_entries: int = 4_000_000
    #: The same for a risk-averse consumer, whose best remap is a linear program.
    remapped_entries: int = 10_000

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not value >= 0:
                raise InputError(f"the setting {one.name!r} must be at least 0, got {value}")
