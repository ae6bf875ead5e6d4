"""Plans a job once and lets children carry it out, who are killed: prints what was seen."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tightrope.asking import ask, ask_all, plan
from tightrope.asking.planning import read_job
from tightrope.errors import InputError
from tightrope.publish import Ledger
from tightrope.publish.sealed import SealedQuery


def raise_child(job: object, out: Path, *, is_killed: bool = False) -> int:
    """Fork a process that asks all questions; what leaves it is a line of the file.

    One that is killed ends itself between its charge and its draw.
    """
    child = os.fork()
    if child:
        return child
    if is_killed:
        SealedQuery.draw = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    try:
        told = [[one.records(), one.fresh] for one in ask_all(job)]
        with out.open("a") as file:
            file.write(json.dumps(told) + "\n")
    except InputError as refused:
        with out.open("a") as file:
            file.write(json.dumps(str(refused)) + "\n")
        os._exit(2)
    except BaseException as wrong:
        Path(f"{out}.crash").write_text(repr(wrong))
        os._exit(5)
    os._exit(0)


def race(work: dict[str, object], text: str) -> None:
    """Let processes sharpen one answer at the same time, the first of them killed on its way."""
    asked = {"data": work["data"], "facts": work["facts"], "ledger": work["ledger"]}
    ask(text, epsilon="0.25", key="chain", **asked)
    jobs = [plan([text], epsilon=level, key="chain", **asked) for level in work["race"]]
    out = Path(work["out"])
    children = [
        raise_child(job, out, is_killed=place == 0) for place, job in enumerate(jobs)
    ]
    codes = [os.waitpid(child, 0)[1] for child in children]
    # Whoever was killed comes back, as do the others.
    for job in jobs:
        os.waitpid(raise_child(job, out), 0)
    print(json.dumps({"killed": codes.count(signal.SIGKILL)}))


def main() -> None:
    work = json.loads(sys.argv[1])
    text = Path(work["job"]).read_text()

    def job(ledger: str) -> object:
        asked = {"data": work["data"], "facts": work["facts"], "ledger": ledger}
        if "levels" in work:
            return plan([text], levels=work["levels"], key="chain", **asked)
        return plan(read_job(text), epsilon=1, **asked)

    if "race" in work:
        race(work, text)
        return
    started = time.perf_counter()
    os.waitpid(
        raise_child(job(work["ledger"] + ".trial"), Path(work["out"] + ".trial")), 0
    )
    longest = time.perf_counter() - started
    mine, dice, killed = job(work["ledger"]), random.Random(work["seed"]), 0
    Ledger.create(work["ledger"], exist_ok=True)
    for _ in range(work["kills"]):
        child = raise_child(mine, Path(work["out"]))
        time.sleep(dice.random() * longest / 4)
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
    os.waitpid(raise_child(mine, Path(work["out"])), 0)
    print(json.dumps({"killed": killed}))


if __name__ == "__main__":
    main()
