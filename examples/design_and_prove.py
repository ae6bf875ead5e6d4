"""Design a mechanism for a sum, write its report, make its proof exact and check the file.

python examples/design_and_prove.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import tightrope as tr
from tightrope.report.page import html_report


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    total = tr.query("sum(10,3)")
    consumer = tr.Consumer.of(total.graph, prior="binomial(.4)", loss="absolute")
    best = tr.design(total, epsilon="ln(2)", consumer=consumer)
    print(best)
    page = folder / "report.html"
    page.write_text(html_report(best), encoding="utf-8")
    file = tr.prove(best, total).save(folder / "sum.tightrope")
    check = tr.verify(file)
    print(f"private: {check.private}, optimal within {float(check.optimal_within):.1e}")
    print(f"report: {page.name}, mechanism: {Path(file).name}")


if __name__ == "__main__":
    main()
