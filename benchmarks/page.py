"""Write docs/benchmarks.md, its pictures and the numbers quoted elsewhere, from results/*.json.

python -m benchmarks.page
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import plots, show
from benchmarks.harness import OURS, ROOT, Result, read_results
from benchmarks.targets import REACHED, TARGETS, judge

PAGE = ROOT / "docs" / "benchmarks.md"
LIMITS = ROOT / "benchmarks" / "limits.toml"
#: Pages that quote numbers, between these marks, and the way from them to the page.
QUOTING = {"docs/comparison.md": "benchmarks.md"}
#: The page with the job done by each library, between these marks.
JOB_PAGE = ROOT / "docs" / "comparison.md"
JOB_BEGIN = "<!-- job: written by python -m benchmarks.page -->\n"
JOB_END = "<!-- end of job -->\n"
TABLES_BEGIN = "<!-- tables: written by python -m benchmarks.page -->\n"
TABLES_END = "<!-- end of tables -->\n"
BEGIN = "<!-- numbers: written by python -m benchmarks.page -->\n"
END = "<!-- end of numbers -->\n"

#: Order of the sections.
ORDER = ("job", "noise", "existence", "optimal", "remap", "derive", "leakage", "verification",
         "draws", "cold_start", "release", "cluster")  # fmt: skip
#: Comparisons whose time is that of another program for the most part.
NOT_OURS = ("job", "release", "cluster", "cold_start")
SLOWEST = 5

#: Rows that other pages quote: what, comparison, row, way.
QUOTED = (
    (
        "optimal mechanism, 160 answers, absolute loss",
        "optimal",
        "band-160-absolute",
        "linprog",
    ),
    (
        "optimal mechanism, 160 answers, binary loss",
        "optimal",
        "band-160-binary",
        "linprog",
    ),
    ("Φz = 1 for `sum(150,5)`", "existence", "sum(150,5)", "qif"),
    (
        "smallest ε of a 1000×1000 channel on a path",
        "leakage",
        "smallest-epsilon",
        "qif",
    ),
    ("Shannon capacity of a 200×200 channel", "leakage", "capacity", "qif"),
    ("derivability, 60×60 from 60×120", "derive", "wide-yes", "qif"),
    ("one draw from a count", "draws", "single", "opendp"),
    ("one draw of 100,000 at once", "draws", "bulk", "opendp"),
)

MARK = "<!-- below: written by python -m benchmarks.page -->\n"


def page(results: Mapping[str, Mapping[str, Any]], limits: Mapping[str, str]) -> str:
    """Return everything below the mark."""
    parts = ["", machine_section(results), targets_section(results)]
    parts += [
        comparison_section(results[name], results) for name in ORDER if name in results
    ]
    parts.append(limits_section(results, limits))
    return "\n".join(parts)


def machine_section(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the machine and the versions; one line for each machine that was used."""
    lines = ["## Machine and versions\n"]
    seen: dict[str, list[str]] = {}
    for name in (name for name in ORDER if name in results):
        found = results[name]
        has = found["machine"]
        text = (
            f"{has['processor']}, {has['cores']} cores, {has['memory_gib']} GiB of memory, "
            f"{has['system']}, {has['python']}; {found['date']}"
        )
        seen.setdefault(text, []).append(found["title"])
    whole = len(seen) == 1
    lines += [
        f"- {text}" + ("" if whole else f" ({', '.join(of)})")
        for text, of in seen.items()
    ]
    versions: dict[str, set[str]] = {}
    for found in results.values():
        for name, version in found["versions"].items():
            versions.setdefault(name, set()).add(version)
    listed = ", ".join(
        f"{name} {'/'.join(sorted(v))}" for name, v in sorted(versions.items())
    )
    return "\n".join([*lines, f"- {listed}\n"])


def targets_section(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of targets."""
    verdicts = [judge(target, results) for target in TARGETS]
    reached = sum(one.verdict == REACHED for one in verdicts)
    lines = [
        "## Targets\n",
        f"Targets set for each part before it was built: {reached} of {len(verdicts)} reached. "
        "Ratios are those of the tables below; of several rows the worst counts.\n",
        "| subject | target | asked | measured | verdict |",
        "|---|---|---|---|---|",
    ]
    for one in verdicts:
        verdict = one.verdict if one.verdict == REACHED else f"**{one.verdict}**"
        lines.append(
            f"| {one.target.subject} | {_cell(one.target.what)} | {one.asked} | "
            f"{one.measured or '–'} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def comparison_section(
    found: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return text, table, reasons and pictures of one comparison."""
    ways = list(dict.fromkeys(way for row in found["rows"] for way in row["results"]))
    ways = [OURS, *(way for way in ways if way != OURS)]
    clock = " Wall-clock seconds." if found["by"] == "wall" else ""
    head = " | ".join(["problem", *(show.name(way) for way in ways), "what was found"])
    lines = [
        f"## {found['title']}\n",
        f"{found['text']}{clock}\n",
        f'`make bench ARGS="--only {found["comparison"]}"`\n',
        f"| {head} |",
        "|---" * (len(ways) + 2) + "|",
    ]
    reasons: dict[str, int] = {}
    for row in found["rows"]:
        of = {way: Result.read(one) for way, one in row["results"].items()}
        cells = [_cell(row["what"])]
        cells += [_result(way, of, found["by"], reasons) for way in ways]
        note = of[OURS].facts.get("note", "") if OURS in of else ""
        lines.append(f"| {' | '.join([*cells, _cell(note)])} |")
    lines.append("")
    lines += [f"{number}. {_cell(reason)}" for reason, number in reasons.items()]
    lines += [""] if reasons else []
    for figure in plots.FIGURES:
        if figure.comparison == found["comparison"] and plots.curves_of(
            figure, results
        ):
            kind = "Memory" if figure.memory else "Time"
            told = f"{kind} against the number of {found['unit']}, logarithmic scales: "
            told = "" if figure.fact else told
            lines.append(
                f"![{told}{figure.title}](assets/benchmarks/{figure.name}.svg)\n"
            )
    return "\n".join(lines)


def _result(
    way: str, of: Mapping[str, Result], by: str, reasons: dict[str, int]
) -> str:
    result = of.get(way)
    if result is None:
        return ""
    if result.status == "no":
        number = reasons.setdefault(result.why, len(reasons) + 1)
        return f"no ({number})"
    words = [result.times(by).text]
    if way != OURS and of[OURS].status != "no":
        ratio = show.ratio_of(of[OURS].times(by), result.times(by))
        words += [] if ratio is None else [f"**{ratio.text}**"]
    words.append(show.memory(result.memory_mib))
    if way != OURS and result.facts.get("private") is False:
        words.append(result.facts["said"])
    if result.facts.get("right") is False:
        words.append("**wrong**")
    return "<br>".join(words)


def slowest(results: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return our slowest rows: key, problem and time, the slowest first."""
    found = []
    for name, comparison in results.items():
        if name in NOT_OURS:
            continue
        for row in comparison["rows"]:
            ours = Result.read(row["results"].get(OURS, {"status": "no"}))
            if ours.status != "no":
                times = ours.times(comparison["by"])
                found.append(
                    (times.median, f"{name}/{row['name']}", row["what"], times.text)
                )
    found.sort(reverse=True)
    return [(key, what, text) for _, key, what, text in found[:SLOWEST]]


def limits_section(
    results: Mapping[str, Mapping[str, Any]], limits: Mapping[str, str]
) -> str:
    """Return our slowest rows, each with what limits it."""
    lines = [
        "## Where the limits are\n",
        "The five slowest rows of Tightrope, and what limits each.\n",
    ]
    for key, what, text in slowest(results):
        lines.append(f"- **{what}: {text}.** {limits.get(key, 'Not yet profiled.')}")
    return "\n".join(lines) + "\n"


def quoted(results: Mapping[str, Mapping[str, Any]], way_to_page: str) -> str:
    """Return the table that other pages quote."""
    lines = ["| task | Tightrope | other | times as long |", "|---|---|---|---|"]
    for what, comparison, name, way in QUOTED:
        found = results.get(comparison)
        row = (
            next((r for r in found["rows"] if r["name"] == name), None)
            if found
            else None
        )
        if found is None or row is None:
            continue
        of = {key: Result.read(one) for key, one in row["results"].items()}
        if "no" in (of[OURS].status, of[way].status):
            continue
        ours, theirs = of[OURS].times(found["by"]), of[way].times(found["by"])
        ratio = show.ratio_of(ours, theirs)
        said = "" if ratio is None else re.sub(r" \(.*", "", ratio.text)
        times = [re.sub(r" \(.*", "", one.text) for one in (ours, theirs)]
        lines.append(f"| {what} | {times[0]} | {show.name(way)}: {times[1]} | {said} |")
    verdicts = [judge(target, results) for target in TARGETS]
    reached = sum(one.verdict == REACHED for one in verdicts)
    lines.append(
        f"\nMedians; the machine, the spread, more rows and where others are faster are on the "
        f"[page of benchmarks]({way_to_page}). {reached} of {len(verdicts)} targets are reached.\n"
    )
    return "\n".join(lines)


def job_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the job done by each library: lines, seconds and errors side by side."""
    from benchmarks.job import QUESTIONS

    found = results["job"]
    of = {way: Result.read(one) for way, one in found["rows"][0]["results"].items()}
    done = {way: one for way, one in of.items() if one.status == "ok"}
    lines = [
        f"| task | {' | '.join(map(show.name, done))} |",
        "|---" * (len(done) + 1) + "|",
    ]
    told = {
        "lines of the script": (str(one.facts["lines"]) for one in done.values()),
        "processor seconds, from start to end": (
            one.times("cpu").text for one in done.values()
        ),
    }
    lines += [f"| {words} | {_cells(texts)} |" for words, texts in told.items()]
    for name, words in QUESTIONS.items():
        # Chance decides the errors of a few runs; they are shown only where there is no law.
        is_known = name in next(iter(done.values())).facts["expected"]
        kind = "expected" if is_known else "errors"
        errors = (r.facts[kind].get(name) for r in done.values())
        said = _cells(
            "not offered" if error is None else f"± {error:.3g}" for error in errors
        )
        where = "" if is_known else ", in the runs"
        lines.append(f"| mean error of {words}{where} | {said} |")
    missing = [
        f"Not run: {show.name(way)}, {one.why}."
        for way, one in of.items()
        if way not in done
    ]
    runs = ", ".join(f"{show.name(way)} {r.facts['runs']}" for way, r in done.items())
    versions = ", ".join(f"{name.removesuffix(' (peer)')} {version}" for name, version
                         in found["versions"].items() if name.endswith("(peer)"))  # fmt: skip
    lines.append(
        "\nErrors are expected values by the law of the noise, where it does not depend on the "
        f"data; runs: {runs}; {versions}; {found['date']}."
    )
    lines += missing or ["All of them could be installed and run."]
    return "\n".join([*lines, ""])


def tables_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the publication with each library: lines, seconds, errors and contradictions."""
    row = next(one for one in results["job"]["rows"] if one["name"] == "tables")
    of = {way: Result.read(one) for way, one in row["results"].items()}
    done = {way: one for way, one in of.items() if one.status == "ok"}
    told = {
        "lines of the script": [str(one.facts["lines"]) for one in done.values()],
        "processor seconds, from start to end": [
            one.times("cpu").text for one in done.values()
        ],
        "root mean square error, by the law of the noise": [
            f"{one.facts['expected']:.3g}" for one in done.values()
        ],
        "95 % margin, mean over the tables": [
            f"± {one.facts['margin']:.3g}" for one in done.values()
        ],
        "root mean square error in these runs (runs)": [
            f"{one.facts['error']:.3g} ({one.facts['runs']})" for one in done.values()
        ],
        "numbers of people that two tables state differently": [
            f"{one.facts['contradicted']} of {one.facts['numbers']}"
            for one in done.values()
        ],
    }
    lines = [
        f"| what | {' | '.join(map(show.name, done))} |",
        "|---" * (len(done) + 1) + "|",
        *(f"| {words} | {_cells(texts)} |" for words, texts in told.items()),
    ]
    missing = [
        f"\nNot run: {show.name(way)}, {one.why}."
        for way, one in of.items()
        if way not in done
    ]
    # A row that was measured by itself has its own date.
    lines.append(f"\nRun on {row.get('date', results['job']['date'])}.")
    return "\n".join([*lines, *missing, ""])


def _cells(texts: Iterable[str]) -> str:
    return " | ".join(texts)


def requoted(text: str, numbers: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """Return a page with the part between the marks replaced."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise SystemExit(f"the page must hold the lines {marks[0]!r} and {marks[1]!r}")
    return f"{before}{begin}\n{numbers}\n{end}{after}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def read_limits(path: Path = LIMITS) -> dict[str, str]:
    """Return what is said of each of the slowest rows."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write() -> None:
    """Write the page, the pictures and the quoted numbers."""
    results = read_results()
    above, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(above + mark + page(results, read_limits()), encoding="utf-8")
    for figure in plots.FIGURES:
        curves = plots.curves_of(figure, results)
        if curves:
            plots.draw(figure, curves, results[figure.comparison]["unit"])
    for name, way in QUOTING.items():
        path = ROOT / name
        text = requoted(path.read_text(encoding="utf-8"), quoted(results, way))
        path.write_text(text, encoding="utf-8")
    if "job" in results:
        text = JOB_PAGE.read_text(encoding="utf-8")
        text = requoted(text, job_table(results), (JOB_BEGIN, JOB_END))
        text = requoted(text, tables_table(results), (TABLES_BEGIN, TABLES_END))
        JOB_PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
