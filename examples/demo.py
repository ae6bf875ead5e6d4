"""A first look: questions, their answer graphs, and how large they may be."""

import time

from rich.console import Console
from rich.table import Table

import tightrope as tr

QUESTIONS = {
    "count(5)": "how many of 5 people say yes",
    "sum(150,5)": "the sum of 150 values from 0 to 5",
    "counts(30,2)": "two counts over the same 30 people",
    "databases(5,4)": "everything: 5 people, 4 values",
    "sum(200000,5)": "a million possible sums",
    "databases(20,4)": "4²⁰ databases, by rule",
}


def main() -> None:
    table = Table(title="Questions and their answer graphs")
    for heading in ("question", "asks for", "answers", "diameter", "seconds"):
        numeric = heading in {"answers", "diameter", "seconds"}
        table.add_column(heading, justify="right" if numeric else "left")
    tr.query("count(1)")  # the first question loads the libraries; do not blame it on count(5)
    for text, meaning in QUESTIONS.items():
        start = time.perf_counter()
        graph = tr.query(text).graph
        size, diameter = graph.size, graph.diameter
        seconds = time.perf_counter() - start
        table.add_row(text, meaning, f"{size:,}", f"{diameter:,}", f"{seconds:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
