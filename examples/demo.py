"""The whole way on one example table: design, proof, leakage, release, and a report to open.

Run it with ``make demo``; what it writes lies in the folder ``demo`` afterwards.
"""

import os
import shutil
import sys
from pathlib import Path

from rich.console import Console

from tightrope.cli import main as tightrope

HERE = Path(__file__).parent
OUT = Path("demo")
FACTS = os.path.relpath(HERE / "data" / "tightrope.toml")
MECHANISM, REPORT = str(OUT / "work.tightrope"), str(OUT / "report.html")
RECEIPT, LEDGER = str(OUT / "receipt.json"), str(OUT / "ledger.db")
FILES = ["--neighbours", "add-remove", "--out", MECHANISM, "--report", REPORT]
PUBLIC = ["--facts", FACTS, "--ledger", LEDGER, "--receipt", RECEIPT]
PRIOR = "0.3,0.2,0.2,0.15,0.15"
MOST_COMMON = "select workclass from census group by workclass order by count(*) desc limit 1"

#: What is said before each command, and the command.
STEPS = [
    (
        "Which kind of work is the most common one in a table of up to 2,500 people? "
        "First: what would ε = 1 mean for them?",
        ["explain", "--epsilon", "1", "--individuals", "2500", "--values", "5"],
    ),
    (
        "The best mechanism for a consumer who thinks 'private' the likeliest answer.",
        ["design", "choice(5)", "--epsilon", "1", "--prior", PRIOR, *FILES],
    ),
    (
        "Is it private, and is it the best? Checked in integers, by code that knows no solver.",
        ["verify", MECHANISM],
    ),
    ("What does it leak?", ["analyse", MECHANISM, "--prior", PRIOR]),
    (
        "Now a real answer from a table. The ledger is charged before a row is read.",
        ["release", MECHANISM, "--sql", MOST_COMMON, "--user", "ann", *PUBLIC],
    ),
    ("Anybody can check the receipt …", ["verify", RECEIPT]),
    ("… and that nothing was taken out of the ledger.", ["ledger", "verify", LEDGER]),
]


def main() -> int:
    console = Console(highlight=False)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    for number, (says, words) in enumerate(STEPS, 1):
        console.rule(f"{number} of {len(STEPS)}", align="left")
        console.print(says, style="bold")
        shown = " ".join(f'"{word}"' if set(word) & set(" (,*") else word for word in words)
        console.print(f"$ tightrope {shown}\n", style="dim", markup=False, soft_wrap=True)
        code = tightrope(words)
        if code:
            return code
        console.print()
    console.print(f"Open {REPORT} in a browser: the design on one page.", style="bold")
    return 0


if __name__ == "__main__" and (failed := main()):
    sys.exit(failed)
