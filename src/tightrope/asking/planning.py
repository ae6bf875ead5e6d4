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
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.accounting.curves import delta_of
from tightrope.asking.answers import MISSING, Answer, Estimate, arranged, estimates, told_noise
from tightrope.asking.shelf import Told, mechanism_for
from tightrope.certify import Mechanism, ScoreMechanism
from tightrope.certify.make import LARGEST_UNBOUNDED
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, blamed
from tightrope.proofs import prove_selection
from tightrope.publish.accounts import budget_of, charge_of, shown
from tightrope.publish.entries import digest
from tightrope.publish.facts import FACTS_FILE, Column, Facts, given_facts
from tightrope.publish.intervals import (
    ScoreError,
    least_that,
    level_of,
    promised_error,
    quantile_ends,
    score_error,
)
from tightrope.publish.ledger import Ledger, check_key
from tightrope.publish.releasing import (
    Release,
    Request,
    carry_out,
    charges_of,
    likely_place,
    verdict_of,
)
from tightrope.publish.shapes import Draw, Kind, Shape
from tightrope.publish.sources import dialect_of
from tightrope.publish.store import Store
from tightrope.queries import Neighbours, usual_loss
from tightrope.texts import to_exact

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism

#: A loss within this part of a bound is said to be the best.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Wanted:
    """One SELECT and the share of ε that it shall have.

    Attributes
    ----------
    sql
        The SELECT.
    name
        What it is called.
    weight
        Its weight among the questions that share ε.
    error
        The error that it shall keep; its share is then as small as that allows.
    """

    sql: Any
    name: str = ""
    weight: Fraction = Fraction(1)
    error: Fraction | None = None


def has_error(shape: Shape) -> bool:
    """Whether the error of a question's numbers is known before the data is read."""
    return shape.kind not in (Kind.MOST, Kind.MODULO, Kind.QUANTILE) and not (
        shape.kind is Kind.MEAN and shape.is_divided
    )


@dataclass(frozen=True)
class Part:
    """One question, its mechanisms, one for each draw, and how sure each number shall be."""

    shape: Shape
    mechanisms: tuple[AnyMechanism, ...]
    confidence: Fraction

    @property
    def cost(self) -> Fraction:
        """What it will cost."""
        return charges_of(self.mechanisms, self.shape)[0].amount

    @property
    def numbers(self) -> AnyMechanism:
        """The mechanism that the numbers come from; where groups are found, the second."""
        return self.mechanisms[self.shape.kind is Kind.FOUND]

    @cached_property
    def error(self) -> tuple[Any, ...]:
        """The error of each number that is kept with the confidence.

        That of a mean is for a group of as many people as :attr:`people` says.
        """
        shape, made, confidence = self.shape, self.numbers, self.confidence
        if isinstance(made, ScoreMechanism) or shape.kind is Kind.MODULO:
            return ()
        if shape.kind is not Kind.MEAN:
            return tuple(x * shape.step for x in promised_error(made, confidence))
        if not shape.is_divided:
            error = promised_error(made, confidence)[0] * shape.step
            return tuple(error if k is Kind.SUM else error / self.people for k in shape.shows)
        # Both the sum and the count keep their errors with the confidence, by Bonferroni.
        each = 1 - (1 - confidence) / 2
        counting = self.mechanisms[1]
        assert not isinstance(counting, ScoreMechanism)
        (total, *_), (count, *_) = promised_error(made, each), promised_error(counting, each)
        (low, high), left = shape.bounds, self.people - count
        # A mean is at most as far from the centre of the bounds as they are.
        far = max(high - shape.centre, shape.centre - low)
        mean = min((total + far * count) / left, high - low) if left > 0 else high - low
        alone = promised_error(made, confidence)[0]
        whole = alone if shape.is_fixed else total + abs(shape.centre) * count
        known = {Kind.MEAN: mean * shape.step, Kind.SUM: whole * shape.step}
        return tuple(known.get(k, promised_error(counting, confidence)[0]) for k in shape.shows)

    @property
    def groups(self) -> int | None:
        """How many groups have a number."""
        return self.shape.answered if self.shape.grouped_by else None

    @property
    def people(self) -> int:
        """The people in a group, if all groups are alike: what the error of a mean is for."""
        return max(self.shape.table.needed_population() // max(len(self.shape.cells), 1), 1)

    @property
    def usual(self) -> Fraction | None:
        """The largest error that the usual noise would have, where ours is known."""
        return max((x for x in self.usuals if x is not None), default=None)

    @property
    def usuals(self) -> tuple[Fraction | None, ...]:
        """For each title the error that the usual noise would have, where ours is known."""
        shape = self.shape
        if not has_error(shape):
            return (None,) * len(shape.titles)
        whole = _usual(shape, self.mechanisms[-1].epsilon, self.confidence)
        if shape.kind is not Kind.MEAN:
            return (whole,) * len(shape.titles)
        return tuple(whole if kind is Kind.SUM else whole / self.people for kind in shape.shows)


@dataclass(frozen=True)
class Question:
    """One SELECT, understood, with its share of ε and its parts.

    ``simultaneous`` says whether all of its numbers are within their errors at once, not each.
    """

    wanted: Wanted
    epsilon: Epsilon
    parts: tuple[Part, ...]
    titles: tuple[str, ...]
    simultaneous: bool

    @property
    def errors(self) -> dict[str, str]:
        """What error the numbers will have, by their titles."""
        found: dict[str, str] = {}
        for part in self.parts:
            groups = f" in {part.groups} groups" if part.groups else ""
            found |= {title + groups: text for title, text in error_texts(part).items()}
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """How good the noise is, and what the usual noise would have had."""
        notes = [note for part in self.parts for note in _quality(part)]
        if self.parts[0].shape.limit is not None:
            notes.append(
                "The intervals hold for all groups at once, so also for those that are shown."
            )
        return tuple(dict.fromkeys(notes))

    @property
    def certified(self) -> bool:
        """Whether all of its noise is proved to be the best."""
        gaps = [_gap(made) for part in self.parts for made in part.mechanisms]
        return all(gap is not None and gap <= NEGLIGIBLE for gap in gaps)

    @property
    def usual(self) -> tuple[Fraction | None, ...]:
        """For each title the error that the usual noise would have, where it is known."""
        known: dict[str, Fraction | None] = {}
        for part in self.parts:
            known |= zip(part.shape.titles, part.usuals, strict=True)
        return tuple(known[title] for title in self.titles)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan of this question as JSON can hold it."""
        return {
            "name": self.wanted.name or None,
            "columns": [*self.parts[0].shape.keys, *self.titles],
            "epsilon": str(self.epsilon),
            "cost": str(sum((part.cost for part in self.parts), Fraction(0))),
            "questions": [
                {
                    "titles": list(part.shape.titles),
                    "queries": [draw.query for draw in part.shape.draws],
                    "groups": part.groups,
                    "error": [float(x) for x in _few(part.error)],
                    **({"people": part.people} if part.shape.kind is Kind.MEAN else {}),
                    "mechanisms": [made.digest for made in part.mechanisms],
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
    """

    questions: tuple[Question, ...]
    confidence: Fraction
    ledger: Ledger | str | Path
    remaining: Fraction | None = None
    request: Callable[..., Request] = field(default=Request, repr=False)

    @property
    def cost(self) -> Fraction:
        """What all questions cost together."""
        return sum((p.cost for one in self.questions for p in one.parts), Fraction(0))

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope ask --dry-run`` prints as JSON."""
        told = [one.as_dict() for one in self.questions]
        # What the JSON of an answer will say too, where there is one question.
        same = ("columns", "epsilon", "certified", "statement", "usual_loss")
        alone = {name: told[0][name] for name in same} if len(told) == 1 else {}
        return {
            "cost": str(self.cost),
            "remaining": None if self.remaining is None else str(self.remaining),
            "confidence": float(self.confidence),
            "simultaneous": all(one.simultaneous for one in self.questions),
            "questions": told,
            **alone,
        }

    def __str__(self) -> str:
        lines = []
        for one in self.questions:
            lines += [*(f"{what}: {text}" for what, text in one.errors.items()), *one.notes]
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
    progress: Told | None = None,
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
        more is charged.
    delta
        For groups by a column without declared values: the probability with which one person may
        be told of at all.
    series
        A declared series of the table's account, which has paid for the answer already.
    simultaneous
        Whether the intervals shall hold for all numbers of the answer at once, not for each.
    progress
        Told the share that is done, and what is being done.

    Examples
    --------
    >>> import tempfile, pyarrow
    >>> people = pyarrow.table({"age": [31, 44, 27]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer = ask(
    ...         "select count(*) as n from people",
    ...         epsilon=2, data=people, population=5, ledger=f"{folder}/ledger.db", budget=3,
    ...     )
    >>> answer.value in range(6), answer.titles, answer.remaining
    (True, ('n',), Fraction(1, 1))
    """
    made = plan(
        [Wanted(sql, error=None if error is None else positive(error, "an error"))],
        epsilon=epsilon, confidence=confidence, data=data, facts=facts, ledger=ledger,
        budget=budget, columns=columns, population=population, neighbours=neighbours, user=user,
        delta=delta, series=series, simultaneous=simultaneous, progress=progress,
    )  # fmt: skip
    return ask_all(made, key=key)[0]


def plan(
    wanted: Sequence[Wanted | str],
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
    progress: Told | None = None,
) -> Plan:
    """Make everything ready to publish the answers to several SELECTs; nothing is paid.

    The parameters are those of :func:`ask`; ε is for all questions together. Questions that want
    an error get the least ε for it, the others share what is left by their weights.
    """
    from tightrope.publish.sql_reader import read_shapes

    asked = [one if isinstance(one, Wanted) else Wanted(one) for one in wanted]
    if not asked:
        raise InputError("there must be at least one question, got none")
    level = level_of(confidence)
    if facts is None and not columns and population is None and Path(FACTS_FILE).exists():
        facts = FACTS_FILE
    known = given_facts(facts, asked[0].sql, data, columns, population, neighbours)
    place = likely_place(data, known)
    read = []
    for number, one in enumerate(asked, 1):
        which = one.name or f"question {number}"
        with blamed(which) if len(asked) > 1 else contextlib.nullcontext():
            read.append(read_shapes(one.sql, known, dialect_of(place)))
    shapes = _with_delta([_merged(found) for found in read], delta_of(delta))
    # Of groups that are chosen by their numbers, the intervals of all must hold at once.
    at_once = [simultaneous or mine[0].limit is not None for mine in shapes]
    sure = [_each(mine, level) if x else level for mine, x in zip(shapes, at_once, strict=True)]
    levels = _shared(asked, shapes, epsilon, sure, progress)
    questions = []
    for k, (one, share, mine) in enumerate(zip(asked, levels, shapes, strict=True)):
        each = share.scaled(Fraction(1, len(mine)))
        parts = tuple(_part(shape, each, sure[k], progress) for shape in mine)
        titles = tuple(title for shape in read[k] for title in shape.titles)
        questions.append(Question(one, share, parts, titles, at_once[k]))
    if ledger is None:
        beside = Path(facts).parent if isinstance(facts, str | Path) else Path()
        ledger = beside / "ledger.db"
    request = partial(
        Request, facts=known, data=data, user=user, budget=budget, has_facts=facts is not None,
        series=series,
    )  # fmt: skip
    left = _remaining(ledger, shapes[0][0], budget)
    return Plan(tuple(questions), level, ledger, left, request)


def ask_all(made: Plan, *, key: str | None = None) -> list[Answer]:
    """Publish the answers of a plan: reserve for all questions, then charge and draw each.

    Parameters
    ----------
    made
        The plan.
    key
        Names this job. Asked again with it, what was answered is returned and not paid again,
        and what was not is answered now. By default a new one for a single question, and for
        several the digest of their texts and shares.

    Returns
    -------
    list of Answer
        One for each SELECT.
    """
    # What cannot be told is refused before the charge.
    _ = [(one.notes, one.usual, [part.error for part in one.parts]) for one in made.questions]
    several, made_up = len(made.questions) > 1, ""
    if key is not None:
        check_key(key)
    else:
        key = made_up = job_key(made) if several else secrets.token_hex(16)
    requests: list[Request] = []
    for place, one in enumerate(made.questions, 1):
        for number, part in enumerate(one.parts, 1):
            more = (f"/{place}" if several else "") + (f".{number}" if len(one.parts) > 1 else "")
            named = {"key": key + more, "made_up": made_up}
            requests.append(made.request(part.mechanisms, part.shape, **named))
    done = iter(carry_out(requests, made.ledger))
    return [_answer(one, tuple(next(done) for _ in one.parts), made) for one in made.questions]


def _answer(question: Question, releases: tuple[Release, ...], made: Plan) -> Answer:
    lines: dict[tuple[Any, ...], dict[str, Estimate]] = {}
    for part, one in zip(question.parts, releases, strict=True):
        sure = _sure(question, part, one)
        told = estimates(part.shape.reading, part.mechanisms, one.answer, sure)
        for name, numbers in told.items():
            lines.setdefault(name, {}).update(zip(part.shape.titles, numbers, strict=True))
    rows = [
        (name, tuple(known.get(title, MISSING) for title in question.titles))
        for name, known in lines.items()
    ]
    return Answer(
        keys=question.parts[0].shape.keys,
        titles=question.titles,
        usual=question.usual,
        certified=question.certified,
        rows=arranged(rows, question.parts[0].shape, question.titles),
        confidence=made.confidence,
        simultaneous=question.simultaneous,
        epsilon=str(question.epsilon),
        charged=sum((release.charged for release in releases), Fraction(0)),
        remaining=releases[-1].remaining,
        notes=question.notes,
        releases=releases,
        name=question.wanted.name,
    )


def _sure(question: Question, part: Part, release: Release) -> Fraction:
    """Return how sure each number of a release is.

    How many groups were found is known only now, and the noise of their counts does not depend on
    it: it divides what may fail by the number of groups, where all must hold at once.
    """
    answer: Any = release.answer
    many = len(answer) if question.simultaneous and part.shape.kind is Kind.FOUND else 1
    return 1 - (1 - part.confidence) / max(many, 1)


# -- sharing ε ----------------------------------------------------------------------------------


def _shared(
    wanted: Sequence[Wanted],
    shapes: Sequence[Sequence[Shape]],
    epsilon: Level | None,
    confidences: Sequence[Fraction],
    told: Told | None,
) -> list[Epsilon]:
    """Return the share of each question: the least for its error, or of the rest by weight."""
    found: list[Epsilon | None] = [
        None if one.error is None else _least(mine, one.error, sure, told)
        for one, mine, sure in zip(wanted, shapes, confidences, strict=True)
    ]
    open_weights = [one.weight for one, level in zip(wanted, found, strict=True) if level is None]
    if epsilon is None:
        if open_weights:
            raise InputError(
                "a question needs a privacy level or an error: give --epsilon E, or --error R"
            )
        return [level for level in found if level is not None]
    whole = Epsilon.of(epsilon)
    if any(weight <= 0 for weight in open_weights):
        raise InputError("the weights of questions must be positive")
    spent = sum((charge_of(level) for level in found if level is not None), Fraction(0))
    left = charge_of(whole) - spent
    if left < 0 or (open_weights and left == 0):
        raise InputError(
            f"the errors that are wanted need ε = {shown(spent)}, more than {whole}: allow "
            "larger errors, or a larger ε"
        )
    rest = whole if not spent else Epsilon.of(left)
    return [
        rest.scaled(one.weight / sum(open_weights)) if level is None else level
        for one, level in zip(wanted, found, strict=True)
    ]


def _split(shape: Shape, level: Epsilon) -> list[Epsilon]:
    """Return the level of each draw of a question.

    A mean's error is the sum's plus the count's times its distance from the centre of the bounds,
    which is about a quarter of their width: two thirds for the sum are near the best. Where the
    sum is shown too, and is not that of all, its error has the count's times the centre.
    """
    draws = shape.draws
    shares = [Fraction(1, len(draws))] * len(draws)
    by_count = Kind.SUM in shape.shows and not shape.is_fixed
    if len(draws) == 2 and shape.kind is Kind.MEAN and not by_count:
        shares = [Fraction(2, 3), Fraction(1, 3)]
    return [level.scaled(share / draw.width) for share, draw in zip(shares, draws, strict=True)]


def _with_delta(shapes: Sequence[Sequence[Shape]], delta: Fraction) -> list[list[Shape]]:
    """Return the shapes with δ shared among those that find groups."""
    many = sum(shape.kind is Kind.FOUND for mine in shapes for shape in mine)
    if many and not delta:
        raise InputError(
            "a column without declared values makes groups that must be found: give --delta D, "
            "such as 1e-6, and a budget with a δ ('tightrope ledger budget … --delta D'); or "
            "declare the values"
        )
    if delta and not many:
        raise InputError("--delta is for groups by a column without declared values: leave it out")
    share = delta / max(many, 1)
    return [[replace(x, delta=share * (x.kind is Kind.FOUND)) for x in mine] for mine in shapes]


def _merged(shapes: Sequence[Shape]) -> list[Shape]:
    """Draw nothing twice: what a mean is made from gives the sum and the count as well."""
    from tightrope.publish.sql_reader import all_of, present

    def is_told(mean: Shape, shape: Shape) -> bool:
        place = ("table", "axes", "part", "people")
        if mean.kind is not Kind.MEAN or any(getattr(mean, k) != getattr(shape, k) for k in place):
            return False
        if shape.kind in (Kind.SUM, Kind.MEAN):
            return mean.column == shape.column and mean.where == shape.where
        if shape.kind is not Kind.COUNT or not mean.is_divided:
            return False
        assert mean.column is not None
        among_them = all_of([mean.where, present(mean.column.name)]) == shape.where
        return among_them or (mean.column.complete and mean.where == shape.where)

    found: list[Shape] = []
    for shape in sorted(shapes, key=lambda shape: shape.kind is not Kind.MEAN):
        place = next((k for k, mean in enumerate(found) if is_told(mean, shape)), None)
        if place is None:
            ends = (0, 0) if shape.kind is Kind.QUANTILE else None
            found.append(replace(shape, by_score=shape.kind is Kind.MOST, ends=ends))
        else:
            titles, shows = found[place].titles + shape.titles, (*found[place].shows, shape.kind)
            found[place] = replace(found[place], titles=titles, shows=shows)
    return found


def _each(shapes: Sequence[Shape], confidence: Fraction) -> Fraction:
    """Return the level of each number at which all of them hold at once [Bonferroni]."""
    numbers = sum(len(shape.titles) * shape.answered for shape in shapes)
    return 1 - (1 - confidence) / max(numbers, 1)


def _part(shape: Shape, level: Epsilon, confidence: Fraction, told: Told | None) -> Part:
    made = _made(shape, level, told)
    if shape.kind is Kind.QUANTILE and isinstance(made[0], ScoreMechanism):
        shape = replace(shape, ends=quantile_ends(made[0], confidence))
    return Part(shape, made, confidence)


def _made(shape: Shape, level: Epsilon, told: Told | None) -> tuple[AnyMechanism, ...]:
    if shape.kind is Kind.FOUND:
        draw, (choice, counting) = shape.draws[0], _split(shape, level)
        chosen = prove_selection(
            shape.table.needed_population(), choice, shape.delta / draw.width,
            neighbours=draw.neighbours.value,
        )  # fmt: skip
        return chosen, mechanism_for(draw, counting, told)
    return tuple(
        mechanism_for(draw, each, told)
        for draw, each in zip(shape.draws, _split(shape, level), strict=True)
    )


def _least(
    shapes: Sequence[Shape], error: Fraction, confidence: Fraction, told: Told | None
) -> Epsilon:
    """Return the least ε, to three digits, at which every number keeps an error."""
    for shape in shapes:
        if not has_error(shape):
            raise InputError(
                f"the error of {', '.join(shape.titles)} depends on the data: give --epsilon, or "
                "see what an ε promises with --dry-run"
            )

    def suffices(level: Epsilon) -> bool:
        each = level.scaled(Fraction(1, len(shapes)))
        parts = (Part(shape, _made(shape, each, told), confidence) for shape in shapes)
        return all(x <= error for part in parts for x in part.error)

    def usual_suffices(level: Fraction) -> bool:
        each = Epsilon.of(level).scaled(Fraction(1, len(shapes)))
        for shape in shapes:
            is_mean = shape.kind is Kind.MEAN and Kind.SUM not in shape.shows
            people = shape.table.needed_population() if is_mean else 1
            if _usual(shape, _split(shape, each)[-1], confidence) > error * people:
                return False
        return True

    # All numbers of three digits; the usual noise tells where to look.
    digits = (Fraction(n, 10**k) for k in range(6, 0, -1) for n in range(100, 1000))
    levels = [level for level in digits if level <= LARGEST_UNBOUNDED]
    start = bisect.bisect_left(levels, True, key=usual_suffices)
    found = least_that(lambda place: suffices(Epsilon.of(levels[place])), len(levels), start)
    if found == len(levels):
        raise InputError(
            f"no ε up to {LARGEST_UNBOUNDED} keeps an error of {float(error):g}: allow a larger one"
        )
    return Epsilon.of(levels[found])


# -- how good it is -----------------------------------------------------------------------------


def usual_error(question: str, neighbours: str, epsilon: Level, confidence: Any = "0.95") -> int:
    r"""Return the error that independent two-sided geometric noise would have.

    Everybody's tool adds noise of scale :math:`\Delta/\varepsilon` to each number, Δ being the
    sensitivity in the L1 norm: 1 for a count, v for a sum, k for k counts; for groups 1 where
    people come and go and 2 where they change.

    >>> usual_error("count(100)", "change-one", "ln(2)"), usual_error("counts(9,2)", "either", 1)
    (4, 6)
    """
    kind, _, rest = question.partition("(")
    sizes = [int(size) for size in rest.rstrip(")").split(",")]
    spread = {"sum": sizes[-1], "counts": sizes[-1], "histogram": 2}.get(kind, 1)
    if kind == "histogram" and not Neighbours.of(neighbours).allows_change:
        spread = 1
    # The logarithm of α, not that of its float: of a small ε that is 0.
    rate, outside = float(Epsilon.of(epsilon)) / spread, float(1 - level_of(confidence))
    steps = -math.log(outside * (1 + math.exp(-rate)) / 2) / rate - 1
    return max(math.ceil(steps - 1e-9), 0)


def _usual(shape: Shape, epsilon: Epsilon, confidence: Any) -> Fraction:
    """Return the error of the usual noise, of a mean that of its sum, at its draw's ε."""
    draw = shape.draws[-1]
    found = usual_error(draw.query, draw.neighbours.value, epsilon, confidence)
    return found * shape.step


def error_texts(part: Part) -> dict[str, str]:
    """Say what error the numbers of a question will have, by their titles."""
    shape, made, errors = part.shape, part.mechanisms[0], part.error
    share = f"({float(part.confidence) * 100:.4g} %)"
    what = ", ".join(shape.titles)
    if isinstance(made, ScoreMechanism):
        return {what: str(_score_error(part))}
    if not errors:
        return {what: "a remainder"}
    if shape.kind is not Kind.MEAN:
        return {what: " and ".join(f"± {float(x):.4g}" for x in _few(errors)) + f" {share}"}
    about = f" for {part.people:,} people" if shape.is_divided else ""
    return {
        title: f"± {float(x):.4g}{about if kind is Kind.MEAN else ''} {share}"
        for title, kind, x in zip(shape.titles, shape.shows, errors, strict=True)
    }


def _score_error(part: Part) -> ScoreError:
    """Return the error of a number by scores; of an interval, that of both of its ends."""
    made, confidence = part.mechanisms[0], part.confidence
    assert isinstance(made, ScoreMechanism)
    if part.shape.ends is None:
        return score_error(made, confidence)
    # An end is as far from its own quantile as that is from the one that is asked for.
    found = score_error(made, 1 - (1 - confidence) / 2)
    return replace(found, confidence=confidence, gap=2 * (found.gap or 0) + 2)


def _few(errors: Sequence[Any]) -> Sequence[Any]:
    """Keep one error where all numbers have the same."""
    return tuple(dict.fromkeys(errors))


def _quality(part: Part) -> list[str]:
    notes = [_claim(*pair) for pair in zip(part.shape.draws, part.mechanisms, strict=True)]
    shape, sums = part.shape, (*part.shape.shows, part.shape.kind)
    if shape.table.person is not None and (shape.axes or not shape.people):
        what = f"{'groups' if shape.people else 'rows'} that count: {shape.rows_per_person}"
        notes.append(f"Of each person, {what} at most, the first in the order of their values.")
    if Kind.SUM in sums and shape.is_fixed and shape.column and not shape.column.complete:
        added = float(shape.missing * shape.step)
        notes.append(f"Whoever has no {shape.column.name} adds {added:g} to the sum.")
    theirs = part.usual
    if theirs is not None:
        mine = max(part.error)
        same = f"{float(theirs):.4g}" == f"{float(mine):.4g}"
        notes.append(
            "The usual noise has the same error here."
            if same
            else f"The usual noise would have ± {float(theirs):.4g} instead of ± {float(mine):.4g}."
        )
    return notes


def _choice_claim(made: Mechanism) -> str:
    """Say which groups a mechanism keeps."""
    last = made.shape[0] - 1
    keeps = next(k for k in range(last + 1) if k == last or made.row_weights(k)[1] * 2 > made.total)
    best = verdict_of(made).optimal_within is not None
    return (
        f"A group is shown if it is large enough: one of {keeps} people as likely as not, one of "
        f"{last} or more for certain, one person alone with probability {float(made.delta):.2g}."
        + (" No private choice shows more." if best else "")
    )


def _claim(draw: Draw, made: AnyMechanism) -> str:
    """Say what is proved of a mechanism's noise."""
    if isinstance(made, ScoreMechanism):
        what = "" if made.rank is None else "An interval of "
        return f"{what}{draw.query} is drawn by scores, from the counts of all: proved private."
    if made.delta:
        return _choice_claim(made)
    noise, gap = f"The noise of {draw.query}", _gap(made)
    if gap is None:
        return f"{noise} is proved private; how near to the best it is, is not."
    near = f"proved within {100 * float(gap):.2g} % of the best"
    best = "proved best" if gap <= NEGLIGIBLE else near
    if verdict_of(made).unbounded_within is None:
        return f"{noise} is {best}."
    loss = usual_loss(made.question)
    return f"{noise} is {best} by its {loss} loss: in the worst case, away from the ends."


def _gap(made: AnyMechanism) -> Fraction | None:
    """Return by what part of its loss a mechanism is proved to be near the best, or ``None``."""
    if isinstance(made, ScoreMechanism):
        return None
    verdict = verdict_of(made)
    known = [verdict.unbounded_within, verdict.optimal_within]
    within = next((x for x in known if x is not None), None)
    if within is None or not made.expected_loss:
        return None
    return Fraction(within) / made.expected_loss


# -- the ledger ---------------------------------------------------------------------------------


def _remaining(
    ledger: Ledger | str | Path, shape: Shape, budget: Fraction | float | str | None
) -> Fraction | None:
    """Return what is left of the table's budget, as far as that is known."""
    account = None
    if isinstance(ledger, Ledger) or Store(ledger).exists:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        account = book.account(f"table {shape.table.name}")
    if account is not None:
        return account.remaining
    return shape.table.budget if budget is None else budget_of(budget)


def job_key(made: Plan) -> str:
    """Return the key of a job: the digest of its texts and shares.

    Asked again, what was answered is found by it, and not paid again.
    """
    texts = [
        [str(one.wanted.sql), str(one.epsilon), [m.digest for p in one.parts for m in p.mechanisms]]
        + [p.shape.ends for p in one.parts if p.shape.ends]
        for one in made.questions
    ]
    table = made.questions[0].parts[0].shape.table.name
    return f"job {digest([table, texts])[:32]}"


# -- several questions in one text ----------------------------------------------------------------


def read_job(text: str) -> list[Wanted]:
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

    found: list[Wanted] = []
    for before, sql in statements(text):
        now = Wanted(sql)
        for line in before.splitlines():
            if line.strip().startswith("--"):
                now = _noted(now, line.strip()[2:])
        found.append(now)
    if not found:
        raise InputError("the job must hold at least one SELECT, got none")
    return found


def _noted(now: Wanted, note: str) -> Wanted:
    word, colon, rest = note.partition(":")
    word, rest = word.strip().lower(), rest.strip()
    if not colon or word not in ("name", "weight", "error"):
        return now
    if word == "name":
        return replace(now, name=rest[:100])
    number = positive(rest, f"-- {word}")
    return replace(now, weight=number) if word == "weight" else replace(now, error=number)


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
