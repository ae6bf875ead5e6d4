"""Run every comparison, write results/*.json, then the pages: `make bench`.

python -m benchmarks [--quick] [--only NAME] [--alone] [--out FOLDER]
"""

from __future__ import annotations

import importlib
import time

from benchmarks import floor, harness, page, peers

#: What is computed, not measured: it needs no peers.
COMPUTED = "floor"


def main() -> None:
    parser = harness.options("Measure Tightrope beside its peers.")
    parser.add_argument(
        "--only",
        action="append",
        choices=(*page.ORDER, COMPUTED),
        help="may be repeated",
    )
    asked = parser.parse_args()
    # A table of parts is no table: what was run small or alone does not replace the results.
    folder = asked.out or (None if asked.quick or asked.alone else harness.RESULTS)
    start = time.perf_counter()
    names = asked.only or [*page.ORDER, COMPUTED]
    measured = [name for name in names if name != COMPUTED]
    if measured and not asked.alone:
        peers.install()
    for name in measured:
        module = f"benchmarks.{name}"
        comparison: harness.Comparison = importlib.import_module(module).COMPARISON
        found = harness.run_comparison(
            comparison, module, quick=asked.quick, alone=asked.alone
        )
        if folder is not None:
            harness.write_results(found, folder)
    if COMPUTED in names:
        computed = floor.run()
        if folder == harness.RESULTS:
            floor.write(computed)
            print(f"written: {floor.PAGE.relative_to(harness.ROOT)}")
    print(f"\nall of it took {(time.perf_counter() - start) / 60:.1f} minutes")
    if measured and folder == harness.RESULTS:
        page.write()
        print(f"written: {page.PAGE.relative_to(harness.ROOT)}")


if __name__ == "__main__":
    main()
