"""Run every comparison, write results/*.json, then the page: `make bench`.

python -m benchmarks [--quick] [--only NAME] [--alone] [--out FOLDER]
"""

from __future__ import annotations

import importlib
import time

from benchmarks import harness, page, peers


def main() -> None:
    parser = harness.options("Measure Tightrope beside its peers.")
    parser.add_argument(
        "--only", action="append", choices=page.ORDER, help="may be repeated"
    )
    asked = parser.parse_args()
    # A table of parts is no table: what was run small or alone does not replace the results.
    folder = asked.out or (None if asked.quick or asked.alone else harness.RESULTS)
    start = time.perf_counter()
    if not asked.alone:
        peers.install()
    for name in asked.only or page.ORDER:
        module = f"benchmarks.{name}"
        comparison: harness.Comparison = importlib.import_module(module).COMPARISON
        found = harness.run_comparison(
            comparison, module, quick=asked.quick, alone=asked.alone
        )
        if folder is not None:
            harness.write_results(found, folder)
    print(f"\nall of it took {(time.perf_counter() - start) / 60:.1f} minutes")
    if folder == harness.RESULTS:
        page.write()
        print(f"written: {page.PAGE.relative_to(harness.ROOT)}")


if __name__ == "__main__":
    main()
