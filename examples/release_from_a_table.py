"""Release a private count from a table until the budget is spent.

python examples/release_from_a_table.py
"""

import tempfile
from pathlib import Path

import tightrope as tr
from tightrope.publish import Column, OverBudget


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    table = folder / "people.csv"
    lines = [
        "name,smokes",
        *(f"p{i},{'yes' if i % 3 == 0 else 'no'}" for i in range(100)),
    ]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    count = tr.query("count(100)")
    consumer = tr.Consumer.of(count.graph, prior="uniform", loss="absolute")
    mechanism = tr.prove(tr.design(count, epsilon=0.5, consumer=consumer), count)
    for _ in range(3):
        try:
            released = tr.release(
                mechanism,
                data=str(table),
                sql="select count(*) from people where smokes = 'yes'",
                ledger=str(folder / "ledger.db"),
                budget=1,
                columns={"smokes": Column("smokes", "text", values=("yes", "no"))},
            )
        except OverBudget as refused:
            print(f"refused: {refused}")
        else:
            print(
                f"answer {released.answer} for ε = {released.epsilon}, left {released.remaining}"
            )


if __name__ == "__main__":
    main()
