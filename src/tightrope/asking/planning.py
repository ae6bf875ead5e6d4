r"""From SQL, public facts and ε to a plan, and from a plan to published numbers.

A plan is made before anything is paid: every question is understood, every mechanism is designed,
proved and verified, and the errors are known. Only then is the ledger charged.

Several questions share one ε by weights, or by the errors that are wanted of them. A question
that needs several draws (a mean is a sum and a count) shares its part among them in the same way:
the parts add up, and draws about disjoint groups of people cost as much as one person can touch.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from tightrope.accounting.curves import delta_of
from tightrope.asking.answers import Answer, told_noise, whole_note
from tightrope.asking.cache import mechanism_for
from tightrope.asking.jobs import (
    QuestionSpec,
    Unplanned,
    View,
    in_jobs,
    planned_numbers,
)
from tightrope.asking.sharpening import (
    HALVINGS,
    Chain,
    are_near,
    check_can_sharpen,
    check_recorded,
    read_levels,
    read_share,
    recorded_answers,
    steps_to,
)
from tightrope.asking.writing import Microdata
from tightrope.certify.make import LARGEST_UNBOUNDED
from tightrope.claims import (
    frozen_sentence,
    post_processing_sentences,
    relative_sentence,
    stand_in_sentence,
    usual_sentence,
)
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, blamed
from tightrope.progress import ProgressCallback
from tightrope.publish.accounts import budget_of, charge_of, shown
from tightrope.publish.entries import Entry, digest, next_key
from tightrope.publish.facts import FACTS_FILE, Column, Facts, given_facts
from tightrope.publish.intervals import MISSING, Estimate, galloping_search, level_of
from tightrope.publish.ledger import Ledger, check_key
from tightrope.publish.noise import Noise, sharpened
from tightrope.publish.releasing import (
    Release,
    Request,
    carry_out,
    charges_of,
    likely_place,
    wording,
)
from tightrope.publish.scopes import Scope, scope_of
from tightrope.publish.shapes import Draw, PlannedTable, Shape, estimates
from tightrope.publish.sources import dialect_of
from tightrope.publish.store import Store
from tightrope.queries import Neighbours
from tightrope.tables import ErrorLaw
from tightrope.texts import TextTable, bound_text, to_exact


@dataclass(frozen=True)
class PlannedRelease:
    """One shape with its ε, its mechanisms, one for each draw, and the level of each number."""

    shape: Shape
    epsilon: Epsilon
    noises: tuple[Noise, ...]
    confidence: Fraction

    @property
    def cost(self) -> Fraction:
        """What it will cost."""
        # The table is charged first; users pay the same amount.
        return charges_of(self.noises, self.shape)[0].amount

    @cached_property
    def errors(self) -> tuple[Fraction, ...]:
        """The error of each number that is kept with the confidence, where it is known."""
        return self.shape.errors(self.noises, self.confidence)

    def sharpened(self, level: Epsilon) -> PlannedRelease:
        """Return what follows it at a larger level, drawn in the same way."""
        shape = self.shape.at_level(level)
        pairs = zip(self.noises, _split(shape, level), strict=True)
        # Each draw is sharpened by itself: finer noise is proved for one number.
        noises = tuple(sharpened(noise, each) for noise, each in pairs)
        return PlannedRelease(shape, level, noises, self.confidence)

    @property
    def groups(self) -> int | None:
        """How many groups have a number."""
        return self.shape.answered if self.shape.grouped_by else None

    @property
    def error_texts(self) -> dict[str, str]:
        """What error the numbers will have, by their titles."""
        return self.shape.error_texts(self.noises, self.confidence)

    @property
    def usual_errors(self) -> tuple[Fraction | None, ...]:
        """For each title the error that the usual noise would have, where ours is known."""
        usual = usual_spread(self.shape, self.epsilon, self.confidence)
        if usual is None:
            return (None,) * len(self.shape.titles)
        return self.shape.usual_errors(usual)


@dataclass(frozen=True)
class Question:
    """One SELECT, or several about the same rows, with their share of ε and their parts.

    ``simultaneous`` says whether all of its numbers are within their errors at once, not each;
    ``earlier`` are the levels of the answers that it sharpens.
    """

    views: tuple[View, ...]
    epsilon: Epsilon
    parts: tuple[PlannedRelease, ...]
    titles: tuple[str, ...]
    simultaneous: bool
    earlier: tuple[Epsilon, ...] = ()

    @property
    def step(self) -> int:
        """Its place in a chain of answers that sharpen each other."""
        return len(self.earlier) + 1

    @property
    def name(self) -> str:
        """What its SELECTs are called."""
        return ", ".join(view.spec.name for view in self.views if view.spec.name)

    def sharpened(self, level: Epsilon) -> Question:
        """Return the question that follows this one at a larger level."""
        # Columns share ε in the same way at every level of a chain.
        parts = tuple(
            part.sharpened(level.scaled(part.epsilon.multiple / self.epsilon.multiple))
            for part in self.parts
        )
        earlier = (*self.earlier, self.epsilon)
        return replace(self, epsilon=level, parts=parts, earlier=earlier)

    def requests(self, made: Plan, name: str, made_up: str) -> list[Request]:
        """Return the request of each part, under the name of the question in its job."""
        found = []
        for number, part in enumerate(self.parts, 1):
            # Each part is a request of its own, so a crash loses at most one.
            key = name + (f".{number}" if len(self.parts) > 1 else "")
            follows = ""
            # The key of step n follows from that of step 1: a chain needs no other memory.
            for _ in range(1, self.step):
                follows = key
                key = next_key(key)
            found.append(
                made.request(
                    part.noises, part.shape, key=key, made_up=made_up, follows=follows,
                    level=str(self.epsilon), asked=self.asked,
                )
            )  # fmt: skip
        return found

    @property
    def asked(self) -> str:
        """Its SELECTs as they were asked."""
        in_order = sorted(self.views, key=lambda view: view.place)
        # In the order of asking: planning may have sorted them otherwise.
        return wording(view.spec.sql for view in in_order)

    @property
    def shown_titles(self) -> tuple[str, ...]:
        """What the numbers of a SELECT are called; of a job, what is drawn."""
        (first, *more) = self.views
        return self.titles if more else first.shape.after.titles(self.titles)

    @property
    def errors(self) -> dict[str, str]:
        """What error the published numbers will have, by their titles."""
        found: dict[str, str] = {}
        for part in self.parts:
            groups = part.shape.groups_text
            found |= {title + groups: text for title, text in part.error_texts.items()}
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """How good the noise is, and what the usual noise would have had."""
        columns = len(self.parts)
        notes = [note for part in self.parts for note in _quality(part, columns)]
        if self.earlier:
            notes.append(frozen_sentence(self.earlier, self.epsilon))
        for view in self.views:
            notes += post_processing_sentences(
                [column.title for column in view.shape.after.computed],
                view.shape.after.selects,
            )
        return tuple(dict.fromkeys(notes))

    def error_law(
        self, terms: Mapping[tuple[tuple[Any, ...], str], Fraction]
    ) -> ErrorLaw | None:
        """Return the law of the error of a linear form of numbers, where all laws are known."""
        independent: list[ErrorLaw] = []
        for part in self.parts:
            own = {
                (names, title): weight
                for (names, title), weight in terms.items()
                if title in part.shape.titles
            }
            law = part.shape.error_law(own) if own else ErrorLaw(())
            if law is None:
                return None
            # Each part is drawn by itself, so their errors are independent.
            independent.append(law)
        return ErrorLaw(tuple(noise for law in independent for noise in law.parts))

    @property
    def certified(self) -> bool:
        """Whether its noise is proved to be optimal for this very question."""
        columns = len(self.parts)
        draws = [
            (noise, _stand_in_reasons(part.shape, draw, columns))
            for part in self.parts
            for draw, noise in zip(part.shape.draws, part.noises, strict=True)
        ]
        # Optimal for a stand-in is not optimal for the question.
        return all(noise.is_optimal and not reasons for noise, reasons in draws)

    @property
    def usual(self) -> tuple[Fraction | None, ...]:
        """For each title the error that the usual noise would have, where it is known."""
        known: dict[str, Fraction | None] = {}
        for part in self.parts:
            known |= zip(part.shape.titles, part.usual_errors, strict=True)
        return tuple(known[title] for title in self.titles)

    @property
    def about(self) -> tuple[Scope, ...]:
        """Which table its numbers are about, each column."""
        return tuple(dict.fromkeys(scope_of(part.shape) for part in self.parts))

    @property
    def measured(self) -> tuple[Mapping[str, Any], ...]:
        """Of several tables: which ones are measured, with their ε."""
        return tuple(
            table
            for part in self.parts
            for table in part.shape.plan_fields.get("plan", ())
        )

    @property
    def published(self) -> tuple[PlannedTable, ...]:
        """Of several tables: their margins, and what splitting ε would have had."""
        return tuple(
            table
            for part in self.parts
            for table in part.shape.published_tables(part.confidence)
        )

    def margins(self, confidence: Fraction) -> TextTable:
        """Return the margins of several tables, beside those that splitting ε would have had."""
        sure = f"{float(confidence) * 100:.4g} %"
        return TextTable(
            self.name,
            [
                ["published", f"margin ({sure})", "if ε were split"],
                *(
                    [
                        table.title,
                        f"± {bound_text(table.margin)}",
                        f"± {bound_text(table.split)}",
                    ]
                    for table in self.published
                ),
            ],
        )

    @property
    def shares(self) -> dict[str, float]:
        """Of several tables: which part of ε each measured one has."""
        several = len(self.parts) > 1
        return {
            # Several numbers may be measured by the same columns, each with its part of ε.
            (f"{part.shape.titles[0]}: " if several else "")
            + (" × ".join(table["table"]) or "in all"): table["share"]
            for part in self.parts
            for table in part.shape.plan_fields.get("plan", ())
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the plan of this question as JSON can hold it."""
        return {
            "about": [scope.as_dict() for scope in self.about],
            "name": self.name or None,
            "columns": [*self.parts[0].shape.keys, *self.shown_titles],
            "epsilon": str(self.epsilon),
            "cost": str(sum((part.cost for part in self.parts), Fraction(0))),
            "questions": [
                {
                    "titles": list(part.shape.titles),
                    "queries": [draw.query for draw in part.shape.draws],
                    "groups": part.groups,
                    "error": [float(x) for x in dict.fromkeys(part.errors)],
                    **part.shape.plan_fields,
                    "mechanisms": [noise.digest for noise in part.noises],
                }
                for part in self.parts
            ],
            **told_noise(self.certified, self.notes, self.usual),
        }


@dataclass(frozen=True)
class Plan:
    """What asking will cost and how exact the answers will be. Nothing is paid yet.

    Attributes
    ----------
    questions
        The questions with their mechanisms.
    confidence
        The probability with which errors are kept.
    ledger
        The ledger that will be charged.
    remaining
        What is left of the table's budget now, where the ledger or the facts know it.
    request
        Makes the request of a part from its mechanisms, its shape and a key.
    whole
        Whether whole numbers stand beside the unbiased ones.
    key
        The request key that the plan was made for.
    relative_error
        The share of the published numbers that their intervals shall keep, in as few of the
        questions as that takes.
    """

    questions: tuple[Question, ...]
    confidence: Fraction
    ledger: Ledger | str | Path
    remaining: Fraction | None = None
    request: Callable[..., Request] = field(default=Request, repr=False)
    whole: bool = False
    key: str | None = None
    relative_error: Fraction | None = None

    @property
    def cost(self) -> Fraction:
        """What all questions cost together, at most."""
        costs = (p.cost for one in self.questions for p in one.parts)
        return sum(costs, Fraction(0))

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope ask --dry-run`` prints as JSON."""
        described = [one.as_dict() for one in self.questions]
        # What the JSON of an answer will say too, where there is one question.
        same = ("columns", "epsilon", "certified", "statement", "usual_loss")
        alone = (
            {name: described[0][name] for name in same} if len(described) == 1 else {}
        )
        measured = [table for one in self.questions for table in one.measured]
        published = [
            {
                **({"number": table.number} if len(one.parts) > 1 else {}),
                "table": list(table.columns),
                "margin": float(table.margin),
                "split": float(table.split),
            }
            for one in self.questions
            for table in one.published
        ]
        return {
            "cost": str(self.cost),
            "remaining": None if self.remaining is None else str(self.remaining),
            "confidence": float(self.confidence),
            "simultaneous": all(one.simultaneous for one in self.questions),
            "questions": described,
            **({"plan": measured} if measured else {}),
            **({"published": published} if published else {}),
            **alone,
        }

    def __str__(self) -> str:
        lines = []
        for one in self.questions:
            lines += [
                *(f"{what}: {text}" for what, text in one.errors.items()),
                *one.notes,
            ]
        return "\n".join([*lines, f"cost: ε = {shown(self.cost)}"])


def ask(
    sql: Any,
    *,
    epsilon: Level | None = None,
    error: float | Fraction | None = None,
    confidence: float | Fraction | str = "0.95",
    data: Any = None,
    facts: Facts | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    budget: Fraction | float | str | None = None,
    columns: Mapping[str, Column | str] | None = None,
    population: int | None = None,
    neighbours: str | None = None,
    user: str | None = None,
    key: str | None = None,
    delta: float | Fraction | str = 0,
    series: str | None = None,
    simultaneous: bool = False,
    whole: bool = False,
    largest: bool = False,
    point: bool = False,
    relative_error: float | Fraction | str | None = None,
    progress: ProgressCallback | None = None,
) -> Answer:
    """Publish the answer to one SELECT: understand, design, prove, charge once, draw.

    Parameters
    ----------
    sql
        One SELECT, or an Ibis expression.
    epsilon
        The privacy level of the whole answer.
    error
        Instead of ε: the error that every number shall keep; the least ε for it is found.
    confidence
        The level of the intervals, and of the error.
    data
        Where the table is; the ``source`` of the facts by default.
    facts
        Public facts, or the path of ``tightrope.toml``; by default the one in this folder.
    ledger
        The ledger or its address; ``ledger.db`` beside the facts by default.
    budget
        The table's budget, for a table that the ledger does not know yet.
    columns, population, neighbours
        Where there are no facts: the columns, the number of people and the neighbour relation
        (``change-one``).
    user
        Who asks; charged as well as the table.
    key
        Names this request: asked again with the same key, the answer is the same and nothing
        more is charged. On a frozen table, asked again with a larger ε the answer is sharpened,
        and the difference is charged.
    delta
        For groups by a column without declared values: the probability with which one person may
        be revealed at all.
    series
        A declared series of the table's account, which has paid for the answer already.
    simultaneous
        Whether the intervals shall hold for all numbers of the answer at once, not for each.
    whole
        Whether whole numbers of at least 0 that agree across all tables shall stand beside the
        unbiased ones, for counts of rows.
    largest
        Whether tables of one job are planned for the smallest largest margin of a table, not for
        the smallest mean square error.
    point
        Whether a median or quantile is drawn without an interval, which makes it nearer.
    relative_error
        On a frozen table: sharpen the answer step by step until its intervals are within this share
        of the published numbers, such as ``"5%"``; ε is the limit, and what is not needed of it is
        not paid.
    progress
        Called with what is being done, and how much of it is done.

    Examples
    --------
    >>> import tempfile, pyarrow
    >>> people = pyarrow.table({"age": [31, 44, 27, 60, 18]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer = ask(
    ...         "select count(*) as n from people",
    ...         epsilon=2, data=people, population=5, ledger=f"{folder}/ledger.db", budget=3,
    ...     )
    >>> answer.value in range(6), answer.titles, answer.remaining
    (True, ('n',), Fraction(1, 1))
    """
    made = plan(
        [QuestionSpec(sql, error=None if error is None else positive(error, "an error"))],
        epsilon=epsilon, confidence=confidence, data=data, facts=facts, ledger=ledger,
        budget=budget, columns=columns, population=population, neighbours=neighbours, user=user,
        delta=delta, series=series, simultaneous=simultaneous, whole=whole, largest=largest,
        point=point, key=key, relative_error=relative_error, progress=progress,
    )  # fmt: skip
    return ask_all(made)[0]


def plan(
    wanted: Sequence[QuestionSpec | str],
    *,
    epsilon: Level | None = None,
    confidence: float | Fraction | str = "0.95",
    data: Any = None,
    facts: Facts | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    budget: Fraction | float | str | None = None,
    columns: Mapping[str, Column | str] | None = None,
    population: int | None = None,
    neighbours: str | None = None,
    user: str | None = None,
    delta: float | Fraction | str = 0,
    series: str | None = None,
    simultaneous: bool = False,
    whole: bool = False,
    largest: bool = False,
    point: bool = False,
    key: str | None = None,
    levels: Sequence[Level] = (),
    relative_error: float | Fraction | str | None = None,
    progress: ProgressCallback | None = None,
) -> Plan:
    """Make everything ready to publish the answers to several SELECTs; nothing is paid.

    The parameters are those of :func:`ask`; ε is for all questions together. Questions that want
    an error get the least ε for it, the others share what is left by their weights. Of a single
    question about a frozen table, ``levels`` asks for an answer at each of several increasing
    levels, which cost the largest one together.
    """
    from tightrope.publish.sql_reader import read_shapes

    asked = [
        one if isinstance(one, QuestionSpec) else QuestionSpec(one) for one in wanted
    ]
    if not asked:
        raise InputError("there must be at least one question, got none")
    level = level_of(confidence)
    share = None if relative_error is None else read_share(relative_error)
    # When to stop is decided by one answer; a job has no single one.
    if share is not None and (levels or epsilon is None or len(asked) > 1):
        raise InputError(
            "a relative error is for one SELECT and needs a limit: give --epsilon E, and neither "
            "--levels nor --file"
        )
    if levels and (epsilon is not None or len(asked) > 1):
        raise InputError(
            "give --levels or --epsilon, not both; levels are for one SELECT"
        )
    wanted_levels = read_levels(levels)
    if (
        # Facts beside the caller hold unless something else was declared.
        facts is None
        and not columns
        and population is None
        and Path(FACTS_FILE).exists()
    ):
        facts = FACTS_FILE
    known = given_facts(facts, asked[0].sql, data, columns, population, neighbours)
    place = likely_place(data, known)
    read = []
    for number, one in enumerate(asked, 1):
        which = one.name or f"question {number}"
        with blamed(which) if len(asked) > 1 else contextlib.nullcontext():
            read.append(read_shapes(one.sql, known, dialect_of(place)))
    # Everything below depends on the SQL and the facts alone: no row is read.
    shapes = _with_delta([_merged(found) for found in read], delta_of(delta))
    if point:
        shapes = _without_intervals(shapes)
    views = [
        View(k, spec, mine[0], tuple(title for one in read[k] for title in one.titles))
        for k, (spec, mine) in enumerate(zip(asked, shapes, strict=True))
    ]
    for view in views:
        # The error of a quotient depends on its divisor, which is not known yet.
        if view.spec.error is not None and view.shape.after.computed:
            raise InputError(
                f"the error of {view.shape.after.computed[0].title} depends on the data: give "
                "--epsilon, or see what an ε promises with --dry-run"
            )
    unplanned = in_jobs(views, shapes, whole, largest)
    # Of groups that are chosen by their numbers, the intervals of all must hold at once.
    at_once = [simultaneous or one.views[0].shape.after.selects for one in unplanned]
    # When to stop depends on what is published, so the intervals of all steps must hold.
    of_step = level if share is None else 1 - (1 - level) / (HALVINGS + 1)
    confidences = [
        _per_number_confidence(one.shapes, of_step) if all_hold else of_step
        for one, all_hold in zip(unplanned, at_once, strict=True)
    ]
    # Of a chain the last level is what all of it costs.
    shares = _shared(
        unplanned, wanted_levels[-1] if levels else epsilon, confidences, progress
    )
    if ledger is None:
        beside = Path(facts).parent if isinstance(facts, str | Path) else Path()
        ledger = beside / "ledger.db"

    def question_at(k: int, level: Epsilon) -> Question:
        job = unplanned[k]
        parts = tuple(
            _planned(shape, level.scaled(share), confidences[k], progress)
            for shape, share in planned_numbers(job, level)
        )
        return Question(job.views, level, parts, job.titles, at_once[k])

    request = partial(
        Request, facts=known, data=data, user=user, budget=budget, has_facts=facts is not None,
        series=series,
    )  # fmt: skip
    # For the plan only: the ledger decides again when it is charged.
    left = _remaining(ledger, shapes[0][0], budget)
    made = Plan((), level, ledger, left, request, whole, key, share)
    if len(unplanned) == 1:
        asked_for = wanted_levels or shares
        many = len(unplanned[0].shapes)
        questions = _chained(made, partial(question_at, 0), many, asked_for)
    else:
        questions = tuple(question_at(k, one) for k, one in enumerate(shares))
    return replace(made, questions=questions)


def _chained(
    made: Plan,
    question_at: Callable[[Epsilon], Question],
    many: int,
    asked: Sequence[Epsilon],
) -> tuple[Question, ...]:
    """Return a question of so many parts at each level that is asked for.

    What its key has answered already is followed.
    """
    # An answer of several parts has a key for each; the first stands for all.
    first = made.key if made.key is None or many == 1 else f"{made.key}.1"
    recorded = recorded_answers(made.ledger, first)
    known = [
        Epsilon.of(entry.body["level"]) for entry in recorded if "level" in entry.body
    ]
    if made.relative_error is not None:
        # A relative error asks for a whole chain of levels, up to the limit.
        asked = steps_to(asked[-1], known)
    if len(asked) == 1 and not known:
        questions = [question_at(asked[0])]
        if recorded:
            _check_earlier(made, questions[0], recorded[0], asked[-1])
        return tuple(questions)
    # Recorded levels come first: a chain only grows.
    chain = Chain.of(known, asked)
    questions = [question_at(chain.levels[0])]
    shapes = [part.shape for part in questions[0].parts]
    if len(chain.levels) > 1:
        check_can_sharpen(shapes, [entry.body for entry in recorded], asked[-1])
    for level in chain.levels[1:]:
        questions.append(questions[-1].sharpened(level))
    for question, entry in zip(questions, recorded, strict=False):
        # Recomputed requests must equal the recorded ones, or the chain is about something else.
        check_recorded(question.requests(made, made.key or "", "")[0], entry)
    return tuple(questions[place] for place in chain.asked)


def _check_earlier(
    made: Plan, question: Question, entry: Entry, price: Epsilon
) -> None:
    """Say why an answer to the same SQL at another level is not sharpened, and the price."""
    request = question.requests(made, made.key or "", "")[0]
    before = entry.body
    if before.get("sql") == request.body["sql"] and (
        # Same SQL, another mechanism: the user wants a finer answer that does not exist.
        before["mechanism"] != request.body["mechanism"]
    ):
        check_can_sharpen([part.shape for part in question.parts], [before], price)


def ask_all(made: Plan, *, key: str | None = None) -> list[Answer]:
    """Publish the answers of a plan: reserve for all questions, then charge and draw each.

    Parameters
    ----------
    made
        The plan.
    key
        Names this job. Asked again with it, what was answered is returned and not paid again,
        and what was not is answered now. By default that of the plan; without one a new one for a
        single question, and for several the digest of their texts and shares.

    Returns
    -------
    list of Answer
        One for each SELECT, and of a chain one for each level; with a relative error the last one,
        with the releases of all steps.
    """
    # What cannot be shown is refused before the charge.
    _ = [
        (one.notes, one.usual, [part.errors for part in one.parts])
        for one in made.questions
    ]
    first_step = made.questions[0].step
    # The levels of one question are a chain; several questions are a job.
    # Levels of one question follow each other; questions of a job are independent.
    job = [question for question in made.questions if question.step == first_step]
    selects = sum(len(question.views) for question in job)
    made_up = ""
    key = made.key if key is None else key
    if key is not None:
        check_key(key)
    else:
        # A job gets the digest of its content as key, so that a repetition is recognised.
        key = made_up = job_key(made) if selects > 1 else secrets.token_hex(16)
    requests: list[Request] = []
    for place, question in enumerate(made.questions, 1):
        name = key + (f"/{place}" if len(job) > 1 else "")
        requests += question.requests(made, name, made_up)
    if made.relative_error is not None:
        return [_nearing(made, requests)]
    # All are reserved before one is charged; see carry_out.
    done = iter(carry_out(requests, made.ledger))
    answers: dict[tuple[int, int], Answer] = {}
    for question in made.questions:
        mine = _answers(question, tuple(next(done) for _ in question.parts), made)
        answers |= {(question.step, place): one for place, one in mine.items()}
    # By level, then by the place of the SELECT.
    return [answers[place] for place in sorted(answers)]


def _nearing(made: Plan, requests: Sequence[Request]) -> Answer:
    """Publish one level after the other until the intervals are near enough to the numbers."""
    share = made.relative_error
    assert share is not None
    questions = made.questions
    # Several parts would be sharpened apart, and one might stop before the other.
    if len(questions[0].parts) > 1:
        raise InputError(
            "a relative error is for numbers that are drawn together: ask for each column apart"
        )

    def enough(place: int, answer: Any) -> bool:
        (part,) = questions[place].parts
        lines = estimates(part.shape.reading, part.noises, answer, part.confidence)
        # Sees published numbers only: stopping early reveals nothing more.
        return are_near((one for line in lines.values() for one in line), share)

    releases = carry_out(requests, made.ledger, enough)
    last = questions[len(releases) - 1]
    (answer,) = _answers(last, (releases[-1],), made).values()
    paid = sum((release.charged for release in releases), Fraction(0))
    # The limit may be reached before the intervals are narrow enough; then the note says so.
    is_near = enough(len(releases) - 1, releases[-1].answer)
    note = relative_sentence(share, last.epsilon, questions[-1].epsilon, near=is_near)
    return replace(
        answer, charged=paid, releases=tuple(releases), notes=(*answer.notes, note)
    )


def _answers(
    question: Question, releases: tuple[Release, ...], made: Plan
) -> dict[int, Answer]:
    """Return the answer to each SELECT of a question, by its place."""
    # Evaluated again for every number of intervals that must hold at once.
    rows_at = partial(_numbers, question, releases)
    rows = rows_at(1)
    drawn = question.parts[0].shape
    common = Answer(
        keys=drawn.keys,
        titles=question.titles,
        usual=question.usual,
        certified=question.certified,
        rows=(),
        confidence=made.confidence,
        simultaneous=question.simultaneous,
        epsilon=str(question.epsilon),
        charged=sum((release.charged for release in releases), Fraction(0)),
        remaining=releases[-1].remaining,
        notes=question.notes,
        about=question.about,
        neighbours=drawn.table.neighbours.value,
        releases=releases,
        plan=question.measured,
        job=drawn.job_numbers(releases[0].answer),
        curves=tuple(title for part in question.parts for title in part.shape.curves),
    )
    job = drawn.as_job() if made.whole else None
    if job is not None:
        table, people = job.whole_lines(releases[0].answer)
        made_of = [job.axes[int(column.name)] for column in table.domain.columns]
        common = replace(
            common,
            usual=(*common.usual, None),
            # The whole numbers are post-processing of the same draws: they cost nothing.
            notes=(*common.notes, whole_note(rows, people)),
            people=Microdata(
                tuple(axis.title for axis in made_of),
                tuple(axis.classes for axis in made_of),
                table,
            ),
        )
        rows = {
            name: (*unbiased, Estimate(people[name])) for name, unbiased in rows.items()
        }

    answers = {}
    for view in question.views:
        after = view.shape.after
        more = (f"{title} whole" for title in view.titles if made.whole)
        titles = (*view.titles, *more)

        def numbers_at(many: int, shape: Shape = view.shape) -> Any:
            numbers = rows if many == 1 else rows_at(many)
            # A SELECT sees its own lines of what was drawn for the whole job.
            return shape.shown_lines(drawn, numbers)

        # What its lines and numbers are called in what was drawn.
        line_names = view.shape.shown_lines(drawn, {name: name for name in rows})
        number_titles = dict(zip(view.titles, question.titles, strict=True))

        def margin_of(
            terms: Mapping[Any, Fraction],
            lines: Mapping[Any, Any] = line_names,
            called: Mapping[str, str] = number_titles,
        ) -> Fraction | None:
            # Where all intervals hold at once, one more law would need a share of what may fail.
            if question.simultaneous:
                return None
            drawn_terms = {
                (lines[name], called[title]): c for (name, title), c in terms.items()
            }
            law = question.error_law(drawn_terms)
            level = question.parts[0].confidence
            return None if law is None else law.margin(level)

        answers[view.place] = replace(
            common,
            name=view.spec.name,
            keys=view.shape.keys,
            titles=after.titles(titles),
            usual=after.beside(titles, common.usual),
            rows=after.rows(
                view.shape.keys,
                titles,
                numbers_at,
                at_once=question.simultaneous,
                margin_of=margin_of,
            ),
        )
    return answers


def _numbers(
    question: Question, releases: Sequence[Release], many: int
) -> dict[tuple[Any, ...], tuple[Estimate, ...]]:
    """Return the published numbers of each line, with intervals that ``many`` keep together.

    Each has its share of what may fail [Bonferroni].
    """
    lines: dict[tuple[Any, ...], dict[str, Estimate]] = {}
    for part, release in zip(question.parts, releases, strict=True):
        # Bonferroni over the numbers that an expression combines.
        each = 1 - (1 - _per_group_confidence(question, part, release)) / many
        published = estimates(part.shape.reading, part.noises, release.answer, each)
        for name, numbers in published.items():
            lines.setdefault(name, {}).update(
                zip(part.shape.titles, numbers, strict=True)
            )
    return {
        name: tuple(known.get(title, MISSING) for title in question.titles)
        for name, known in lines.items()
    }


def _per_group_confidence(
    question: Question, part: PlannedRelease, release: Release
) -> Fraction:
    """Return the confidence of each number of a release.

    How many groups were found is known only now, and the noise of their counts does not depend on
    it: it divides what may fail by the number of groups, where all must hold at once.
    """
    many = part.shape.groups_drawn(release.answer) if question.simultaneous else 1
    return 1 - (1 - part.confidence) / many


# -- sharing ε ----------------------------------------------------------------------------------


def _shared(
    wanted: Sequence[Unplanned],
    epsilon: Level | None,
    confidences: Sequence[Fraction],
    progress: ProgressCallback | None,
) -> list[Epsilon]:
    """Return the share of each question: the least for its error, or of the rest by weight."""
    found: list[Epsilon | None] = [
        # Wanted errors first: they are constraints, weights only share what is left.
        _least(one.shapes, one.errors, confidence, progress) if one.errors else None
        for one, confidence in zip(wanted, confidences, strict=True)
    ]
    open_weights = [
        one.weight for one, level in zip(wanted, found, strict=True) if level is None
    ]
    if epsilon is None:
        if open_weights:
            raise InputError(
                "a question needs a privacy level or an error: give --epsilon E, or --error R"
            )
        return [level for level in found if level is not None]
    whole = Epsilon.of(epsilon)
    if any(weight <= 0 for weight in open_weights):
        raise InputError("the weights of questions must be positive")
    charges = (charge_of(level) for level in found if level is not None)
    spent = sum(charges, Fraction(0))
    # Exact fractions: the shares must add up to ε and not exceed it.
    left = charge_of(whole) - spent
    if left < 0 or (open_weights and left == 0):
        raise InputError(
            f"the requested errors need ε = {shown(spent)}, more than {whole}: allow "
            "larger errors, or a larger ε"
        )
    # Unchanged where nothing was spent: a logarithm such as ln(2) stays exact.
    rest = whole if not spent else Epsilon.of(left)
    return [
        rest.scaled(one.weight / sum(open_weights)) if level is None else level
        for one, level in zip(wanted, found, strict=True)
    ]


def _split(shape: Shape, level: Epsilon) -> list[Epsilon]:
    """Return the level of each draw: its share of ε, divided among the steps of one person."""
    shares = zip(shape.draw_shares, shape.draw_widths, strict=True)
    # width steps of one person at ε/width each cost ε in all.
    return [level.scaled(share / width) for share, width in shares]


def _with_delta(
    shapes: Sequence[Sequence[Shape]], delta: Fraction
) -> list[list[Shape]]:
    """Return the shapes with δ shared among those that need one."""
    many = sum(shape.needs_delta for mine in shapes for shape in mine)
    if many and not delta:
        raise InputError(
            "a column without declared values makes groups that must be found: give --delta D, "
            "such as 1e-6, and a budget with a δ ('tightrope ledger budget … --delta D'); or "
            "declare the values"
        )
    if delta and not many:
        raise InputError(
            "--delta is for groups by a column without declared values: leave it out"
        )
    # Each of them gets an equal share of δ.
    return [
        [shape.with_delta(delta / max(many, 1)) for shape in mine] for mine in shapes
    ]


def _merged(shapes: Sequence[Shape]) -> list[Shape]:
    """Draw nothing twice: what a mean is made from gives the sum and the count as well."""
    merged: list[Shape] = []
    # Means first: they can absorb the sums and counts that they are made from.
    for shape in sorted(shapes, key=lambda shape: not shape.absorbs):
        joined = [known.absorb(shape) for known in merged]
        places = (k for k, joint in enumerate(joined) if joint is not None)
        place = next(places, None)
        if place is None:
            merged.append(shape.as_asked())
        else:
            merged[place] = joined[place] or shape
    return merged


def _without_intervals(shapes: Sequence[Sequence[Shape]]) -> list[list[Shape]]:
    """Return the shapes, those of one quantile drawn without its interval."""
    found = [[one.for_point() for one in mine] for mine in shapes]
    if not any(one is not None for mine in found for one in mine):
        raise InputError(
            "--point is for a median or a quantile by itself: leave it out"
        )
    return [
        [one or shape for one, shape in zip(mine, known, strict=True)]
        for mine, known in zip(found, shapes, strict=True)
    ]


def _per_number_confidence(shapes: Sequence[Shape], confidence: Fraction) -> Fraction:
    """Return the level of each number at which all of them hold at once [Bonferroni]."""
    # Every number of every group, of all columns.
    numbers = sum(len(shape.titles) * shape.answered for shape in shapes)
    return 1 - (1 - confidence) / max(numbers, 1)


def _planned(
    shape: Shape,
    level: Epsilon,
    confidence: Fraction,
    progress: ProgressCallback | None,
) -> PlannedRelease:
    """Return a shape with its mechanisms, drawn in the way that has the least error."""
    planned = []
    for way in shape.ways():
        drawn = way.planned(level, confidence)
        noises = tuple(
            mechanism_for(draw, each, progress, has_ends=not drawn.draws_freely)
            for draw, each in zip(drawn.draws, _split(drawn, level), strict=True)
        )
        planned.append(PlannedRelease(drawn, level, noises, confidence))
    first, *others = planned
    # Ways to draw the same numbers at the same ε: the smallest error wins.
    return min(planned, key=lambda part: max(part.errors)) if others else first


def _least(
    shapes: Sequence[Shape],
    wanted: Sequence[Fraction],
    confidence: Fraction,
    progress: ProgressCallback | None,
) -> Epsilon:
    """Return the least ε, to three digits, at which every number keeps its error.

    Wanted is one error for all numbers, or one for each table of a job.
    """
    error = min(wanted)
    for shape in shapes:
        if not shape.error_is_known:
            raise InputError(
                f"the error of {', '.join(shape.titles)} depends on the data: give --epsilon, or "
                "see what an ε promises with --dry-run"
            )

    @cache
    def excess(place: int) -> Fraction:
        """Return how many times larger than wanted the errors are, at most."""
        each = Epsilon.of(levels[place]).scaled(Fraction(1, len(shapes)))
        parts = (_planned(shape, each, confidence, progress) for shape in shapes)
        return max(
            x / most
            for part in parts
            for x, most in zip(part.errors, itertools.cycle(wanted), strict=False)
        )

    def usual_suffices(level: Fraction) -> bool:
        each = Epsilon.of(level).scaled(Fraction(1, len(shapes)))
        spreads = (usual_spread(shape, each, confidence) for shape in shapes)
        pairs = zip(shapes, spreads, strict=True)
        errors = [shape.usual_errors(spread or Fraction(0)) for shape, spread in pairs]
        return all(x <= error for mine in errors for x in mine)

    # All numbers of three digits; the usual noise tells where to look.
    digits = (Fraction(n, 10**k) for k in range(6, 0, -1) for n in range(100, 1000))
    levels = [level for level in digits if level <= LARGEST_UNBOUNDED]
    # Errors fall about as 1/ε: those at the level of the usual noise tell where to look.
    start = bisect.bisect_left(levels, True, key=usual_suffices)
    for _ in range(3):
        here = min(start, len(levels) - 1)
        start = bisect.bisect_left(levels, levels[here] * excess(here))
    found = galloping_search(lambda place: excess(place) <= 1, len(levels), start)
    if found == len(levels):
        raise InputError(
            f"no ε up to {LARGEST_UNBOUNDED} keeps an error of {float(error):g}: allow a larger one"
        )
    return Epsilon.of(levels[found])


# -- how good it is -----------------------------------------------------------------------------


def usual_error(
    question: str, neighbours: str, epsilon: Level, confidence: Any = "0.95"
) -> int:
    r"""Return the error that independent two-sided geometric noise would have.

    Everybody's tool adds noise of scale :math:`\Delta/\varepsilon` to each number, Δ being the
    sensitivity in the L1 norm: 1 for a count, v for a sum, k for k counts; for groups 1 where
    people come and go and 2 where they change.

    >>> usual_error("count(100)", "change-one", "ln(2)"), usual_error("counts(9,2)", "either", 1)
    (4, 6)
    """
    kind, _, rest = question.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(",")]
    # L1 sensitivity by the kind of question.
    spread = {"sum": sizes[-1], "counts": sizes[-1], "histogram": 2}.get(kind, 1)
    if kind == "histogram" and not Neighbours.of(neighbours).allows_change:
        spread = 1
    return geometric_error(Fraction(spread), Epsilon.of(epsilon), confidence)


def geometric_error(sensitivity: Fraction, epsilon: Epsilon, confidence: Any) -> int:
    """Return the error of two-sided geometric noise of scale sensitivity/ε."""
    # The logarithm of α, not that of its float: of a small ε that is 0.
    rate = float(epsilon) / float(sensitivity)
    outside = float(1 - level_of(confidence))
    # Two-sided geometric: P(|X| > k) = 2α^{k+1}/(1 + α), solved for k.
    tail = outside * (1 + math.exp(-rate)) / 2
    steps = -math.log(tail) / rate - 1
    return max(math.ceil(steps - 1e-9), 0)


def usual_spread(shape: Shape, epsilon: Epsilon, confidence: Any) -> Fraction | None:
    """Return the error that the usual noise would have at the ε of the whole question."""
    # Without a known error there is nothing to compare.
    if shape.sensitivity is None or not shape.error_is_known:
        return None
    in_steps = shape.sensitivity / shape.step
    return geometric_error(in_steps, epsilon, confidence) * shape.step


def _quality(part: PlannedRelease, columns: int) -> list[str]:
    """Say how good the noise of a release is, and what the usual noise would have."""
    shape = part.shape
    notes = []
    for draw, noise in zip(shape.draws, part.noises, strict=True):
        reasons = _stand_in_reasons(shape, draw, columns)
        note = noise.claim()
        # A comparison for a stand-in must not be read as one for the question.
        if reasons and noise.is_bounded and not draw.delta:
            why = ", and ".join(reasons)
            # First, so that nobody takes the claim for one about the question.
            note = f"{stand_in_sentence(draw.words, noise.epsilon, why)} {note}"
        notes.append(note)
    notes += shape.notes()
    usual = [error for error in part.usual_errors if error is not None]
    if usual and shape.sensitivity is not None:
        ours = max(part.errors)
        notes.append(usual_sentence(ours, max(usual), shape.sensitivity, part.epsilon))
    return notes


def _stand_in_reasons(shape: Shape, draw: Draw, columns: int) -> list[str]:
    """Return why a proof about a draw is not one about the question that was asked."""
    reasons = shape.stand_in_reasons()
    shares = {"columns": columns, "draws": len(shape.draws)}
    divided = [f"{many} {among}" for among, many in shares.items() if many > 1]
    if divided:
        # A divided ε is optimal for each draw, not for all of them together.
        reasons.append(f"ε is divided among {' and '.join(divided)}")
    if draw.width > 1:
        reasons.append(f"one person can make {draw.width} such steps, each paid for")
    elif draw.neighbours is not shape.table.neighbours:
        near = shape.table.neighbours.value
        reasons.append(f"the proof is for {draw.neighbours.value}, not for {near}")
    return reasons


# -- the ledger ---------------------------------------------------------------------------------


def _remaining(
    ledger: Ledger | str | Path, shape: Shape, budget: Fraction | float | str | None
) -> Fraction | None:
    """Return what is left of the table's budget, as far as that is known."""
    account = None
    if isinstance(ledger, Ledger) or Store(ledger).exists:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        account = book.account(shape.table.account)
    if account is not None:
        return account.remaining
    # A new table: the budget that was declared or given is what is left.
    return shape.table.budget if budget is None else budget_of(budget)


def job_key(made: Plan) -> str:
    """Return the key of a job: the digest of its texts and shares.

    Asked again, what was answered is found by it, and not paid again.
    """
    texts = [
        [
            *(str(view.spec.sql) for view in one.views),
            str(one.epsilon),
            # Mechanisms are part of the key: another design is another request.
            [noise.digest for part in one.parts for noise in part.noises],
        ]
        for one in made.questions
    ]
    table = made.questions[0].parts[0].shape.table.name
    return f"job {digest([table, texts])[:32]}"


# -- several questions in one text ----------------------------------------------------------------


def read_job(text: str) -> list[QuestionSpec]:
    """Read a file of SELECTs: comments before one name it, weigh it or state the error wanted.

    >>> job = '''
    ... -- name: people
    ... -- weight: 2
    ... select count(*) from people;
    ... -- error: 20
    ... select sex, count(*) from people group by sex;
    ... '''
    >>> [(one.name, one.weight, one.error) for one in read_job(job)]
    [('people', Fraction(2, 1), None), ('', Fraction(1, 1), Fraction(20, 1))]
    """
    from tightrope.publish.sql_reader import statements

    found: list[QuestionSpec] = []
    # Tokens, not a split at semicolons: texts may contain them.
    for before, sql in statements(text):
        now = QuestionSpec(sql)
        for line in before.splitlines():
            if line.strip().startswith("--"):
                now = _noted(now, line.strip()[2:])
        found.append(now)
    if not found:
        raise InputError("the job must hold at least one SELECT, got none")
    return found


def _noted(now: QuestionSpec, note: str) -> QuestionSpec:
    word, colon, rest = note.partition(":")
    word = word.strip().lower()
    rest = rest.strip()
    # Other comments are for people.
    if not colon or word not in ("name", "weight", "error"):
        return now
    if word == "name":
        return replace(now, name=rest[:100])
    number = positive(rest, f"-- {word}")
    return (
        replace(now, weight=number) if word == "weight" else replace(now, error=number)
    )


def positive(value: Any, what: str) -> Fraction:
    """Read a positive number.

    >>> positive("2.5", "an error")
    Fraction(5, 2)
    """
    with contextlib.suppress(InputError):
        number = to_exact(str(value))
        if number > 0:
            return number
    raise InputError(f"{what} must be a positive number, got {str(value)[:40]!r}")
