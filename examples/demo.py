"""The whole way on a real table: facts, error before paying, publishing, checking, a report.

Run it with ``make demo``; what it writes lies in the folder ``demo`` afterwards. The table is
statsmodels' `fair`: 6,366 women asked in 1974 about their marriages.
"""

import json
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from statsmodels.datasets import fair

from tightrope.cli import main as tightrope

OUT = Path("demo")
TABLE, FACTS, REPORT = (
    str(OUT / "fair.csv"),
    str(OUT / "tightrope.toml"),
    str(OUT / "report.html"),
)
LEDGER, RECEIPT = str(OUT / "ledger.db"), str(OUT / "receipt.json")
#: Two counts of the same people at once: one person may be in both.
QUESTION = (
    "select count(*) filter (where affairs > 0) as affairs, "
    "count(*) filter (where religious >= 3) as religious from fair"
)
COLUMNS = ["--column", "affairs:number", "--column", "religious:1..4"]
ASK = ["ask", QUESTION, "--epsilon", "1", "--facts", FACTS, "--ledger", LEDGER]

#: What is said before each command, and the command.
STEPS = [
    (
        "A survey of 6,366 people. First: what is public about it, without looking at a row.",
        ["init", TABLE, "--population", "6366", "--budget", "2",
         *COLUMNS, "--out", FACTS],
    ),
    (
        "What would ε = 1 mean for one of them?",
        ["explain", "--epsilon", "1", "--individuals", "6366", "--values", "2"],
    ),
    (
        "How many had affairs, and how many are religious? The error is known before it is paid.",
        [*ASK, "--dry-run"],
    ),
    (
        "Publish. The noise is designed for both counts together, proved, and paid for once.",
        [*ASK, "--key", "demo", "--receipt", RECEIPT, "--report", REPORT],
    ),
    ("Anybody can check the receipt …", ["verify", RECEIPT]),
    ("… and that nothing was taken out of the ledger.", ["ledger", "verify", LEDGER]),
]  # fmt: skip


def show_numbers(console: Console) -> None:
    """Print the published numbers with their margins, beside those of independent noise."""
    from tightrope.asking.planning import usual_error

    receipt = json.loads(Path(RECEIPT).read_text(encoding="utf-8"))
    usual = usual_error(receipt["query"], receipt["neighbours"], receipt["epsilon"])
    table = Table(
        "", "published", "margin (95 %)", "margin with independent noise", box=None
    )
    ends = zip(receipt["answer"], receipt["interval"]["low"], receipt["interval"]["high"],
               strict=True)  # fmt: skip
    for name, (number, low, high) in zip(
        ("had affairs", "are religious"), ends, strict=True
    ):
        table.add_row(
            name, f"{number:,}", f"± {max(number - low, high - number)}", f"± {usual}"
        )
    console.print(table)


def main() -> int:
    console = Console(highlight=False)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    fair.load_pandas().data.to_csv(TABLE, index=False)
    for number, (says, words) in enumerate(STEPS, 1):
        console.rule(f"{number} of {len(STEPS)}", align="left")
        console.print(says, style="bold")
        shown = " ".join(
            f'"{word}"' if set(word) & set(" (,*") else word for word in words
        )
        console.print(
            f"$ tightrope {shown}\n", style="dim", markup=False, soft_wrap=True
        )
        code = tightrope(words)
        if code:
            return code
        console.print()
    console.rule("Published", align="left")
    show_numbers(console)
    console.print(
        f"\nOpen {REPORT} in a browser: it opens with this table.", style="bold"
    )
    return 0


if __name__ == "__main__" and (failed := main()):
    sys.exit(failed)
