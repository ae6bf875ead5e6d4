"""What a page shows, as a command for a shell and as a Python program.

Both run as they are: a drawn or uploaded graph and a list of consumers are written to files.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from tightrope.studio.asking import Refused, people_of, safe_name
from tightrope.studio.state import GRAPH_FILE, ConsumerText, State
from tightrope.studio.tables import TableAsked, facts_file

#: The panels, in the order of the work.
PANELS = ("table", "question", "privacy", "consumers", "mechanism", "proof")
#: The mechanism file that the commands write.
MECHANISM_FILE = "mechanism.tightrope"
#: The list of consumers that the commands write.
CONSUMERS_FILE = "consumers.json"


def as_command(state: State, panel: str, asked: TableAsked | None = None) -> str:
    """Return shell commands that print what a panel shows, as JSON.

    Parameters
    ----------
    state
        What the page was told.
    panel
        One of ``PANELS``.
    asked
        What the first panel asks for; without it nothing is released.

    Examples
    --------
    >>> print(as_command(State(question="sum(3,2)"), "question"))
    tightrope graph 'sum(3,2)' --json
    >>> print(as_command(State(), "mechanism"))
    tightrope design 'count(5)' --epsilon 'ln(2)' --prior uniform --loss absolute --json
    """
    if panel == "table":
        return _ask_command(_needed(asked))
    lines = [_line(words, state) for words in _commands(state, panel)]
    if panel == "consumers" and len(state.consumers) > 1:
        lines.insert(0, _written(CONSUMERS_FILE, json.dumps(_listed(state))))
    if state.graph:
        lines.insert(0, _written(GRAPH_FILE, state.graph))
    return "\n".join(lines)


def _needed(asked: TableAsked | None) -> TableAsked:
    if asked is None:
        raise Refused("table sql", "name a table and ask a question first")
    return asked


def _ask_words(asked: TableAsked) -> dict[str, str]:
    """Return the options of ``ask`` that were given, under the names of both languages."""
    names = ("epsilon", "delta", "ledger", "key", *(["data"] if asked.facts else []))
    return {name: text for name in names if (text := str(getattr(asked, name)))}


def _ask_command(asked: TableAsked) -> str:
    """Write the public facts to a file, unless they are in one, and ask."""
    file = asked.facts or safe_name(f"{asked.table}.toml", "tightrope.toml")
    words = [part for name, text in _ask_words(asked).items() for part in (f"--{name}", text)]
    line = shlex.join(["tightrope", "ask", asked.sql, "--facts", file, *words, "--json"])
    return line if asked.facts else f"{_written(shlex.quote(file), facts_file(asked))}\n{line}"


def _ask_program(asked: TableAsked) -> str:
    words = "".join(f", {name}={text!r}" for name, text in _ask_words(asked).items())
    known = repr(asked.facts) if asked.facts else f"parse_facts({facts_file(asked)!r})"
    return "\n".join([
        "import tightrope as tr",
        "from tightrope.publish import parse_facts",
        "",
        f"facts = {known}",
        f"print(tr.ask({asked.sql!r}, facts=facts{words}))",
    ])  # fmt: skip


def _written(file: str, text: str) -> str:
    """Write a file in the shell. A link may hold any text: quoted, none of it is a command."""
    return f"printf '%s\\n' {shlex.quote(text)} > {file}"


def _listed(state: State) -> list[dict[str, str]]:
    alike = len({consumer.name for consumer in state.consumers}) < len(state.consumers)
    return [
        {**({} if alike else {"name": one.name}), **_knows(one), "loss": state.loss_of(one)}
        for one in state.consumers
    ]


def _knows(consumer: ConsumerText) -> dict[str, str]:
    return {"support": consumer.support} if consumer.is_risk_averse else {"prior": consumer.prior}


def _commands(state: State, panel: str) -> list[list[str]]:
    level = ["--epsilon", state.epsilon]
    people = "--individuals {} --values {}".format(*people_of(state)).split()
    if panel == "question":
        return [["graph", state.asked]]
    if panel == "privacy":
        return [["exists", state.asked], ["explain", *level, *people]]
    if panel == "consumers":
        one = ["regular", state.asked, *level, "--prior", state.consumer.prior]
        many = ["design", state.asked, *level, "--consumers", CONSUMERS_FILE]
        return [one, many] if len(state.consumers) > 1 else [one]
    if panel == "mechanism":
        return [["design", state.asked, *level, *_consumer_words(state)]]
    return [
        ["design", state.asked, *level, *_consumer_words(state), "--out", MECHANISM_FILE],
        ["verify", MECHANISM_FILE],
    ]


def _consumer_words(state: State) -> list[str]:
    consumer = state.consumer
    knows = ["--prior", consumer.prior]
    if consumer.is_risk_averse:
        knows = ["--risk-averse", consumer.support]
    forced = ["--route", state.route] if state.route else []
    return [*knows, "--loss", state.loss_of(consumer), *forced]


def _line(words: Sequence[str], state: State) -> str:
    near = []
    if words[0] in {"graph", "exists", "regular", "design"} and state.neighbours != "change-one":
        near = ["--neighbours", state.neighbours]
    return shlex.join(["tightrope", *words, *near, "--json"])


def as_python(state: State, panel: str, asked: TableAsked | None = None) -> str:
    """Return a Python program that computes what a panel shows.

    Parameters
    ----------
    state
        What the page was told.
    panel
        One of ``PANELS``.
    asked
        What the first panel asks for; without it nothing is released.

    Examples
    --------
    >>> print(as_python(State(question="cycle(5)"), "question"))
    import tightrope as tr
    from tightrope.graphs.symmetry import graph_facts
    <BLANKLINE>
    query = tr.query('cycle(5)', neighbours='change-one')
    print(graph_facts(query.graph))
    """
    if panel == "table":
        return _ask_program(_needed(asked))
    imports, body = _program(state, panel)
    query = f"query = tr.query({state.asked!r}, neighbours={state.neighbours!r})"
    lines = ["import tightrope as tr", *imports, ""]
    if state.graph:
        lines.insert(0, "from pathlib import Path\n")
        lines.append(f"Path({GRAPH_FILE!r}).write_text({state.graph!r}, encoding='utf-8')")
    return "\n".join([*lines, query, *body])


def _program(state: State, panel: str) -> tuple[list[str], list[str]]:
    level = repr(state.epsilon)
    if panel == "question":
        line = "from tightrope.graphs.symmetry import graph_facts"
        return [line], ["print(graph_facts(query.graph))"]
    if panel == "privacy":
        people = "individuals={}, values={}".format(*people_of(state))
        return (
            ["from tightrope.leakage.choose import explain", "from tightrope.phi import exists"],
            ["print(exists(query.graph))", f"print(explain(epsilon={level}, {people}))"],
        )
    if panel == "consumers":
        return _consumers_program(state, level)
    forced = f", route={state.route!r}" if state.route else ""
    body = [
        f"consumer = {_consumer_text(state, state.consumer)}",
        f"found = tr.design(query, {level}, consumer{forced})",
        "print(found)",
    ]
    if panel == "mechanism":
        return [], body
    body[-1:] = [
        "mechanism = tr.prove(found, query)",
        f"print(tr.verify(write(mechanism, {MECHANISM_FILE!r})))",
    ]
    return ["from tightrope.certify import write"], body


def _consumer_text(state: State, consumer: ConsumerText, named: bool = False) -> str:
    told = {**_knows(consumer), "loss": state.loss_of(consumer)}
    told |= {"name": consumer.name} if named else {}
    return f"tr.Consumer.of(query.graph, {', '.join(f'{k}={v!r}' for k, v in told.items())})"


def _consumers_program(state: State, level: str) -> tuple[list[str], list[str]]:
    regular = f"print(regularity({state.consumer.prior!r}, query.graph, {level}))"
    if len(state.consumers) == 1:
        return ["from tightrope.consumers import regularity"], [regular]
    return (
        [
            "from tightrope.consumers import expected_loss, regularity",
            "from tightrope.optimize import design_many",
        ],
        [
            regular,
            "consumers = [",
            *(f"    {_consumer_text(state, one, named=True)}," for one in state.consumers),
            "]",
            f"print(design_many(query, {level}, consumers))",
            f"first = tr.design(query, {level}, consumers[0]).general",
            "print([expected_loss(first, consumer) for consumer in consumers])",
        ],
    )
