"""What a page shows, as a command for a shell and as a Python program.

Both run as they are: a drawn or uploaded graph is written to a file first.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tightrope.studio.state import GRAPH_FILE, State

#: The panels, in the order of the work.
PANELS = ("question", "privacy", "readers", "mechanism", "proof")
#: The mechanism file that the commands write.
MECHANISM_FILE = "mechanism.tightrope"


def as_command(state: State, panel: str) -> str:
    """Return shell commands that print what a panel shows, as JSON.

    Parameters
    ----------
    state
        What the page was told.
    panel
        One of ``PANELS``.

    Examples
    --------
    >>> print(as_command(State(question="sum(3,2)"), "question"))
    tightrope graph 'sum(3,2)' --json
    >>> print(as_command(State(), "mechanism"))
    tightrope design 'count(5)' --epsilon 'ln(2)' --prior uniform --loss binary --json
    """
    lines = [_line(words, state) for words in _commands(state, panel)]
    if state.graph:
        lines.insert(0, f"cat > {GRAPH_FILE} <<'END'\n{state.graph}\nEND")
    return "\n".join(lines)


def _commands(state: State, panel: str) -> list[list[str]]:
    level = ["--epsilon", state.epsilon]
    people = ["--individuals", str(state.individuals), "--values", str(state.values)]
    if panel == "question":
        return [["graph", state.asked]]
    if panel == "privacy":
        return [["exists", state.asked], ["explain", *level, *people]]
    if panel == "readers":
        return [["regular", state.asked, *level, "--prior", state.reader.prior]]
    if panel == "mechanism":
        return [["design", state.asked, *level, *_reader_words(state)]]
    return [
        ["design", state.asked, *level, *_reader_words(state), "--out", MECHANISM_FILE],
        ["verify", MECHANISM_FILE],
    ]


def _reader_words(state: State) -> list[str]:
    reader = state.reader
    knows = (
        ["--risk-averse", reader.support] if reader.is_risk_averse else ["--prior", reader.prior]
    )
    forced = ["--route", state.route] if state.route else []
    return [*knows, "--loss", reader.loss, *forced]


def _line(words: Sequence[str], state: State) -> str:
    near = []
    if words[0] in {"graph", "exists", "regular", "design"} and state.neighbours != "change-one":
        near = ["--neighbours", state.neighbours]
    return shlex.join(["tightrope", *words, *near, "--json"])


def as_python(state: State, panel: str) -> str:
    """Return a Python program that computes what a panel shows.

    Parameters
    ----------
    state
        What the page was told.
    panel
        One of ``PANELS``.

    Examples
    --------
    >>> print(as_python(State(question="cycle(5)"), "question"))
    import tightrope as tr
    from tightrope.graphs.facts import graph_facts
    <BLANKLINE>
    query = tr.query('cycle(5)', neighbours='change-one')
    print(graph_facts(query.graph))
    """
    imports, body = _program(state, panel)
    asked = f"query = tr.query({state.asked!r}, neighbours={state.neighbours!r})"
    lines = ["import tightrope as tr", *imports, ""]
    if state.graph:
        lines.insert(0, "from pathlib import Path\n")
        lines.append(f"Path({GRAPH_FILE!r}).write_text({state.graph!r}, encoding='utf-8')")
    return "\n".join([*lines, asked, *body])


def _program(state: State, panel: str) -> tuple[list[str], list[str]]:
    level = repr(state.epsilon)
    if panel == "question":
        return (
            ["from tightrope.graphs.facts import graph_facts"],
            ["print(graph_facts(query.graph))"],
        )
    if panel == "privacy":
        people = f"individuals={state.individuals}, values={state.values}"
        return (
            ["from tightrope.leakage.explain import explain", "from tightrope.phi import exists"],
            ["print(exists(query.graph))", f"print(explain(epsilon={level}, {people}))"],
        )
    if panel == "readers":
        return (
            ["from tightrope.consumers import regularity"],
            [f"print(regularity({state.reader.prior!r}, query.graph, {level}))"],
        )
    reader = state.reader
    knows = f"support={reader.support!r}" if reader.is_risk_averse else f"prior={reader.prior!r}"
    forced = f", route={state.route!r}" if state.route else ""
    body = [
        f"reader = tr.Consumer.of(query.graph, {knows}, loss={reader.loss!r})",
        f"found = tr.design(query, {level}, reader{forced})",
        "print(found)",
    ]
    if panel == "mechanism":
        return [], body
    body[-1:] = [
        "mechanism = tr.prove(found, query)",
        f"print(tr.verify(write(mechanism, {MECHANISM_FILE!r})))",
    ]
    return ["from tightrope.certify import write"], body
