"""Work in processes: results, refusals, endings and stops."""

import asyncio
import multiprocessing
import os
import time

import pytest

from tightrope.progress import Progress
from tightrope.studio.asking import FieldError
from tightrope.studio.jobs import Ended, Slots, _work
from tightrope.studio.state import PageState
from tightrope.studio.work import question_facts


def sleep_long(told):
    """Work until asked to stop."""
    for number in range(10_000):
        if told(Progress("working", number)):
            return "stopped"
        time.sleep(0.01)
    return "done"


def die():
    os._exit(3)


def break_down():
    raise ZeroDivisionError("by nothing")


def test_results_and_refusals_come_back():
    async def work():
        slots = Slots()
        found = await slots.run("a", question_facts, PageState(question="cycle(4)"))
        with pytest.raises(FieldError, match="did you mean") as refused:
            await slots.run("a", question_facts, PageState(question="cicle(4)"))
        return found.json["nodes"], refused.value.field

    assert asyncio.run(work()) == (4, "question")


@pytest.mark.parametrize(
    ("function", "words"), [(die, "without a result"), (break_down, "defect")]
)
def test_a_broken_job_is_a_message(function, words):
    async def work():
        with pytest.raises(FieldError, match=words):
            await Slots().run("a", function)
        return True

    assert asyncio.run(work())


def test_new_work_in_a_slot_ends_the_old():
    async def work():
        slots = Slots()
        told = []
        old = asyncio.create_task(slots.run("a", sleep_long, progress=told.append))
        while not told:
            await asyncio.sleep(0.01)
        assert await slots.run("a", len, "abc") == 3
        with pytest.raises(Ended):
            await old
        other = asyncio.create_task(slots.run("b", sleep_long, progress=told.append))
        told.clear()
        while not told:
            await asyncio.sleep(0.01)
        slots.stop("b")
        return await other

    assert asyncio.run(work()) == "stopped"


@pytest.mark.parametrize("function", [sleep_long, break_down])
def test_work_that_nobody_waits_for_ends_without_a_traceback(function):
    here, there = multiprocessing.Pipe()
    here.close()
    _work(there, function, (), reports=function is sleep_long)
    there.close()
