"""Questions as analysts write them: which are answered, and how the others are refused.

``questions/questions.sql`` holds them, each behind its expected outcome: ``-- answered``, or
``-- refused:`` and words of the refusal. ``questions/tightrope.toml`` is the town that they ask
about.
"""

from pathlib import Path

import pytest

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.facts import read_facts
from tightrope.publish.sql_reader import read_shapes, statements

FOLDER = Path(__file__).parent / "questions"
FACTS = read_facts(FOLDER / "tightrope.toml")
TEXT = (FOLDER / "questions.sql").read_text(encoding="utf-8")
QUESTIONS = [(sql, before.strip().splitlines()[-1]) for before, sql in statements(TEXT)]


def planned_draws(sql):
    shapes = read_shapes(sql, FACTS)
    return [shape.as_asked().planned(Epsilon.of(1)).draws for shape in shapes]


@pytest.mark.parametrize(("sql", "outcome"), QUESTIONS)
def test_a_question_has_its_outcome(sql, outcome):
    if outcome == "-- answered":
        assert all(planned_draws(sql))
        return
    words = outcome.removeprefix("-- refused: ")
    assert words != outcome
    with pytest.raises(InputError) as refused:
        planned_draws(sql)
    message = str(refused.value)
    assert words in message
    assert "\n" not in message


def test_most_questions_are_answered():
    answered = [sql for sql, outcome in QUESTIONS if outcome == "-- answered"]
    assert len(QUESTIONS) >= 150
    assert len(answered) >= 200
