"""Plans a job once and lets children carry it out, who are killed: prints what was seen."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tightrope.asking import ask_all, plan
from tightrope.asking.planning import read_job
from tightrope.publish import Ledger


def raise_child(job: object, out: Path) -> int:
    """Fork a process that asks all questions; what leaves it is a line of the file."""
    child = os.fork()
    if child:
        return child
    try:
        told = [[one.records(), one.fresh] for one in ask_all(job)]
        with out.open("a") as file:
            file.write(json.dumps(told) + "\n")
    except BaseException as wrong:
        Path(f"{out}.crash").write_text(repr(wrong))
        os._exit(5)
    os._exit(0)


def main() -> None:
    work = json.loads(sys.argv[1])
    text = Path(work["job"]).read_text()

    def job(ledger: str) -> object:
        asked = {"data": work["data"], "facts": work["facts"], "ledger": ledger}
        if "levels" in work:
            return plan([text], levels=work["levels"], key="chain", **asked)
        return plan(read_job(text), epsilon=1, **asked)

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
