"""The solver's settings: every tuned number of the search in one place.

``make ablate`` runs a fixed suite of questions with each field moved and writes what it is worth
into ``docs/ablation.md``. A field that shows nothing is deleted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

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
    #: Most entries of a program over whole columns.
    program_entries: int = 8_000_000
    #: Most answers for which column generation starts: it lists all distances.
    engine_answers: int = 4000
    #: Most answers for which the prices of a closed form are priced again, although a theorem
    #: says that they are feasible.
    checked_answers: int = 400
    #: Most answers times width for which the prices of staircases are priced over all columns:
    #: above it minimum cuts take far longer than the program itself, and staircases prove them.
    staircase_entries: int = 8_000
    #: Beyond this many answers the routes that list none are tried before all others.
    listed_answers: int = 50_000
    #: Up to this many answers a question is solved whole; beyond it a prior that lies in half of
    #: the answers is solved in its window. sum(43,9) with a Poisson prior and squared loss takes
    #: 38 s whole and 0.2 s in its window, sum(150,5) with binomial(.3) many minutes and 16 s.
    window_least: int = 100
    #: Of graphs with at most so many answers the engine closes whatever gap other routes leave,
    #: and searches for the least worst loss.
    window_answers: int = 1000
    #: Most entries of a simple mechanism that a design is compared with.
    baseline_entries: int = 20_000_000
    #: The same for a risk-averse consumer, whose best remap is a linear program.
    remapped_entries: int = 10_000

    #: Largest random remap, in outputs times guesses, that is looked for.
    remap_entries: int = 1_200_000

    # -- column generation ------------------------------------------------------------------
    #: When masters and pricing have taken this part of the time that the interior-point method
    #: would, the latter takes over: faces have grown too wide. 200 random questions take 162 s of
    #: a processor with 0.1, 165 with 0.03 and 174 with 0.3. With 0 priors on few answers suffer:
    #: sum(197,2) with a spiky one takes 8.4 s instead of 0.7.
    interior_wait: float = 0.1
    #: Most rounds, and rounds without progress after which the search ends where there is no other
    #: method left. With 4 of the latter six of 200 random questions ended uncertified: prices can
    #: need more rounds than that.
    most_rounds: int = 300
    patience: int = 12

    # -- column generation in a box ---------------------------------------------------------
    #: Half the width of the box, as a part of a price and of the mean price. With 0.2
    #: counts(8,3), absolute loss, ε = .5 takes 33 rounds and 2.5 s of a processor; with 0.4 64
    #: rounds, with 0.1 42, and with 0.8 no better bound comes for 40 rounds.
    box_width: float = 0.2
    #: Rounds without a better bound after which the search ends: counts(4,3), binary loss,
    #: ε = .7 has 22 in a row before it is solved.
    box_patience: int = 40
    #: Most rows, one for each orbit of answers.
    box_rows: int = 1000

    # -- prices by depth --------------------------------------------------------------------
    #: Most arcs of all balls together; each takes 16 bytes.
    ball_arcs: int = 60_000_000
    #: Most seconds for balls: three counts need all of them, two counts and three classes few.
    ball_seconds: float = 30.0

    # -- noise with guesses ------------------------------------------------------------------
    #: Most answers that have nearly all the probability.
    likely_answers: int = 10_000
    #: Most knots between which prices are interpolated, as a product over the coordinates. With 800
    #: counts(100,2), people(1/2,1/3), absolute loss, ε = 1 has a gap of 0.99 % instead of 1.08 %,
    #: after 18 s of a processor instead of 4.
    knots: int = 300
    #: Most pairs of a guess and a point of its ball: larger balls are made smaller.
    ball_pairs: int = 20_000_000

    # -- proofs in files --------------------------------------------------------------------
    #: Most guesses times edges for which the multipliers of every guess are listed.
    proof_multipliers: int = 4_000_000
    #: Most answers times guesses on a tree whose prices are proved by elimination.
    proof_tree_pairs: int = 1 << 24
    #: Most answers on a path whose prices are proved for all guesses at once.
    proof_line: int = 1 << 17

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value >= 0:
                raise InputError(
                    f"the setting {name!r} must be at least 0, got {value}"
                )
