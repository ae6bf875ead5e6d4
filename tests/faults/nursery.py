"""A process that raises releases and kills them: run as a program, it prints what it saw.

Everything is imported once and nothing is opened, so that a child made by fork is a fresh process
that starts its release within a millisecond.
"""

import contextlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tightrope.errors import TightropeError
from tightrope.publish import Ledger, OverBudget, release
from tightrope.publish.accounts import Charge, budget_of


def ask(plan: dict, key: str) -> object:
    """Make one release in this process, with reservations that expire soon."""
    return release(
        plan["mechanism"],
        data=plan["data"],
        sql="select count(*) from people",
        ledger=Ledger.create(plan["ledger"], exist_ok=True, hold=plan["hold"]),
        budget=plan["budget"],
        key=key,
    )


def raise_child(plan: dict, key: str) -> int:
    """Fork a process that releases one answer; what leaves it is a file named after the key."""
    child = os.fork()
    if child:
        return child
    code = 0
    if key[-1] in "13579":
        # Half of the requests wait between their reservation and their charge, so that many are
        # killed there.
        wait_before_the_charge(plan.get("longest", 0) / 2)
    try:
        answer = ask(plan, key).answer
        with Path(plan["left"], key).open("a") as file:
            file.write(f"{answer}\n")
    except OverBudget:
        code = 3
    except TightropeError as refused:
        Path(plan["left"], f"{key}.error").write_text(str(refused))
        code = 4
    except BaseException as wrong:
        Path(plan["left"], f"{key}.crash").write_text(repr(wrong))
        code = 5
    os._exit(code)


def work_on_series(plan: dict, told: int, first: int) -> None:
    """Take the places of a series, one after the other, and tell each one that is done."""
    ledger = Ledger(plan["ledger"])
    places = [Charge("table people", budget_of("ln(2)"), series="daily")]
    for number in range(first, plan["releases"]):
        ticket = ledger.reserve(f"key{number}", {"sql": "…"}, places)
        if not ticket.is_released:
            ledger.answer(ledger.charge(ticket), number)
            os.write(told, b".")


def kill_workers(plan: dict) -> list[int]:
    """Kill workers on a series, each after some releases and a random instant; let one finish."""
    chance = random.Random(plan["seed"])
    codes, done = [], 0
    for run in range(plan["kills"] + 1):
        hear, told = os.pipe()
        child = os.fork()
        if not child:
            try:
                work_on_series(plan, told, max(0, done - 3))  # some are asked for again
            except BaseException as wrong:
                Path(plan["left"], "worker.crash").write_text(repr(wrong))
            os._exit(0)
        os.close(told)
        if run < plan["kills"]:
            start, some = (
                time.monotonic(),
                chance.randint(1, plan["releases"] // plan["kills"] - 5),
            )
            done += sum(len(os.read(hear, 1)) for _ in range(some))
            time.sleep(chance.uniform(0, 1) * (time.monotonic() - start) / some)
            os.kill(child, signal.SIGKILL)
        codes.append(settle(child))
        os.close(hear)
    return codes


def wait_before_the_charge(seconds: float) -> None:
    charge = Ledger.charge

    def late(ledger: Ledger, ticket: object) -> object:
        time.sleep(seconds)
        return charge(ledger, ticket)

    Ledger.charge = late


def settle(child: int) -> int:
    """Wait for a child; return its exit code, or minus the number of the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_some(plan: dict) -> list[int]:
    """Raise ``kills`` children, a few at a time, and kill each after a random while."""
    chance = random.Random(plan["seed"])
    codes = []
    keys = [f"key{number}" for number in range(plan["kills"])]
    for start in range(0, len(keys), plan["together"]):
        now = time.monotonic()
        due = []
        for key in keys[start : start + plan["together"]]:
            due.append(
                (now + chance.uniform(0, plan["longest"]), raise_child(plan, key))
            )
        for moment, child in sorted(due):
            time.sleep(max(0.0, moment - time.monotonic()))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        codes += [settle(child) for _, child in due]
    return codes


def ask_again(plan: dict, numbers: range) -> dict[str, object]:
    """Ask with keys once more, in this process; over-budget requests answer ``None``."""
    found: dict[str, object] = {}
    for number in numbers:
        key = f"key{number}"
        try:
            found[key] = ask(plan, key).answer
        except OverBudget:
            found[key] = None
    return found


def main() -> None:
    plan = json.loads(sys.argv[1])
    # What every child would load, loaded once, by a release that has nothing to do with theirs.
    ask({**plan, "ledger": f"{plan['left']}/../warm.db"}, "warm")
    result: dict[str, object] = {}
    if plan["work"] == "race":
        children = [
            raise_child(plan, f"key{number}") for number in range(plan["racers"])
        ]
        result["codes"] = [settle(child) for child in children]
    elif plan["work"] == "series":
        result["codes"] = kill_workers(plan)
    else:
        # One release that is not killed, so that the children find the ledger and the time.
        settle(raise_child(plan, "first"))
        start = time.monotonic()
        settle(raise_child(plan, "second"))
        # Those that run together slow each other down: some are killed late, some finish.
        plan["longest"] = 2 * (time.monotonic() - start)
        result["codes"] = kill_some(plan)
        # What the dead had set aside and not charged comes back when its time is over.
        time.sleep(plan["hold"] + 0.01)
        result["again"] = ask_again(plan, range(plan["kills"]))
        result["twice"] = ask_again(plan, range(0, plan["kills"], 5))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
