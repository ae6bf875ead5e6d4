"""What a page shows, as a command for a shell and as a Python program.

Both run as they are: a drawn or uploaded graph and a list of consumers are written to files.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from tightrope.studio.asking import FieldError, people_of, safe_name
from tightrope.studio.state import GRAPH_FILE, ConsumerText, PageState
from tightrope.studio.tables import TableAsked, facts_file

#: The panel that publishes; all others study.
PUBLISH = "table"
#: The panels and their titles, in the order of the work.
PANELS = {
    PUBLISH: "Publish",
    "question": "Question",
    "privacy": "Privacy",
    "consumers": "Consumers",
    "mechanism": "Mechanism",
    "proof": "Proof",
}
#: The mechanism file that the commands write.
MECHANISM_FILE = "mechanism.tightrope"
#: The list of consumers that the commands write.
CONSUMERS_FILE = "consumers.json"


@dataclass(frozen=True)
class TakeawayStep:
    """One thing that a panel shows: the command that prints it, and the same in Python."""

    command: list[str]
    python: list[str]
    needs: str = ""


def as_command(state: PageState, panel: str, asked: TableAsked | None = None) -> str:
    """Return shell commands that print what a panel shows, as JSON.

    Parameters
    ----------
    state
        The values of the fields.
    panel
        One of ``PANELS``.
    asked
        What the first panel asks for; without it nothing is released.

    Examples
    --------
    >>> print(as_command(PageState(question="sum(3,2)"), "question"))
    tightrope graph 'sum(3,2)' --json
    >>> print(as_command(PageState(), "mechanism"))
    tightrope design 'count(5)' --epsilon 'ln(2)' --prior uniform --loss absolute --json
    """
    if panel == "table":
        return _ask_command(_needed(asked))
    files = {GRAPH_FILE: state.graph} if state.graph else {}
    if panel == "consumers" and len(state.consumers) > 1:
        files[CONSUMERS_FILE] = json.dumps(_listed(state))
    lines = [_written(file, text) for file, text in files.items()]
    near = (
        ["--neighbours", state.neighbours] if state.neighbours != "change-one" else []
    )
    for step in _steps(state, panel):
        # These two commands know no neighbour relation.
        about = near if step.command[0] not in ("explain", "verify") else []
        # Quoted for the shell: fields hold whatever was typed or linked.
        lines.append(shlex.join(["tightrope", *step.command, *about, "--json"]))
    return "\n".join(lines)


def as_python(state: PageState, panel: str, asked: TableAsked | None = None) -> str:
    """Return a Python program that computes what a panel shows.

    Parameters
    ----------
    state
        The values of the fields.
    panel
        One of ``PANELS``.
    asked
        What the first panel asks for; without it nothing is released.

    Examples
    --------
    >>> print(as_python(PageState(question="cycle(5)"), "question"))
    import tightrope as tr
    from tightrope.graphs.symmetry import graph_facts
    <BLANKLINE>
    query = tr.query('cycle(5)', neighbours='change-one')
    print(graph_facts(query.graph))
    """
    if panel == "table":
        return _ask_program(_needed(asked))
    steps = _steps(state, panel)
    lines = [
        "import tightrope as tr",
        *(f"from {step.needs}" for step in steps if step.needs),
        "",
    ]
    if state.graph:
        lines.insert(0, "from pathlib import Path\n")
        lines.append(
            # repr makes any text a valid Python literal.
            f"Path({GRAPH_FILE!r}).write_text({state.graph!r}, encoding='utf-8')"
        )
    lines.append(f"query = tr.query({state.asked!r}, neighbours={state.neighbours!r})")
    commands = (line for step in steps for line in step.python)
    return "\n".join([*lines, *commands])


def _steps(state: PageState, panel: str) -> list[TakeawayStep]:
    """Return what a panel shows, step by step, in both languages."""
    asked = state.asked
    level = state.epsilon
    prior = state.consumer.prior
    at = [asked, "--epsilon", level]
    if panel == "question":
        needs = "tightrope.graphs.symmetry import graph_facts"
        return [
            TakeawayStep(["graph", asked], ["print(graph_facts(query.graph))"], needs)
        ]
    if panel == "privacy":
        people, values = people_of(state)
        return [
            TakeawayStep(
                ["exists", asked],
                ["print(exists(query.graph))"],
                "tightrope.phi import exists",
            ),
            TakeawayStep(
                [
                    "explain",
                    *at[1:],
                    "--individuals",
                    str(people),
                    "--values",
                    str(values),
                ],
                [
                    f"print(explain(epsilon={level!r}, individuals={people}, values={values}))"
                ],
                "tightrope.leakage.bounds import explain",
            ),
        ]
    if panel == "consumers":
        regular = TakeawayStep(
            ["regular", *at, "--prior", prior],
            [f"print(regularity({prior!r}, query.graph, {level!r}))"],
            "tightrope.consumers import regularity",
        )
        everybody = [
            f"    {_consumer(state, one, name=one.name)}," for one in state.consumers
        ]
        common = TakeawayStep(
            ["design", *at, "--consumers", CONSUMERS_FILE],
            [
                *("consumers = [", *everybody, "]"),
                f"print(design_many(query, {level!r}, consumers))",
                f"first = tr.design(query, {level!r}, consumers[0]).general",
                "print([expected_loss(first, consumer) for consumer in consumers])",
            ],
            "tightrope.consumers import expected_loss\nfrom tightrope.optimize import design_many",
        )
        steps = [] if state.consumer.is_risk_averse else [regular]
        steps += [common] if len(state.consumers) > 1 else []
        if not steps:
            raise FieldError(
                "support", "nothing is computed for one consumer without a prior"
            )
        return steps
    words = {
        "risk-averse" if k == "support" else k: v
        for k, v in _consumer_words(state, state.consumer)
    }
    words |= {"route": state.route} if state.route else {}
    design = [
        "design",
        *at,
        *(part for k, v in words.items() for part in (f"--{k}", v)),
    ]
    forced = f", route={state.route!r}" if state.route else ""
    python = [
        f"consumer = {_consumer(state, state.consumer)}",
        # A route is only named when it was forced: the planner's choice may improve.
        f"found = tr.design(query, {level!r}, consumer{forced})",
    ]
    if panel == "mechanism":
        return [TakeawayStep(design, [*python, "print(found)"])]
    return [
        TakeawayStep(
            [*design, "--out", MECHANISM_FILE],
            [*python, "mechanism = tr.prove(found, query)"],
        ),
        TakeawayStep(
            ["verify", MECHANISM_FILE],
            [f"print(tr.verify(mechanism.save({MECHANISM_FILE!r})))"],
        ),
    ]


def _consumer_words(state: PageState, consumer: ConsumerText) -> list[tuple[str, str]]:
    known = "support" if consumer.is_risk_averse else "prior"
    return [(known, getattr(consumer, known)), ("loss", state.loss_of(consumer))]


def _consumer(state: PageState, consumer: ConsumerText, **more: str) -> str:
    words = {**dict(_consumer_words(state, consumer)), **more}
    given = ", ".join(f"{name}={text!r}" for name, text in words.items())
    return f"tr.Consumer.of(query.graph, {given})"


def _listed(state: PageState) -> list[dict[str, str]]:
    # Names must be unique in a list of consumers, so equal ones are left out.
    alike = len({consumer.name for consumer in state.consumers}) < len(state.consumers)
    return [
        {**({} if alike else {"name": one.name}), **dict(_consumer_words(state, one))}
        for one in state.consumers
    ]


def _written(file: str, text: str) -> str:
    """Write a file in the shell. A link may hold any text: quoted, none of it is a command."""
    return f"printf '%s\\n' {shlex.quote(text)} > {file}"


def _needed(asked: TableAsked | None) -> TableAsked:
    if asked is None:
        raise FieldError("table sql", "name a table and ask a question first")
    return asked


def _ask_words(asked: TableAsked) -> dict[str, str]:
    """Return the options of ``ask`` that were given, under the names of both languages."""
    # Facts name their own source; the option overrides it only beside a file.
    names = ("epsilon", "delta", "ledger", "key", *(["data"] if asked.facts else []))
    return {name: text for name in names if (text := str(getattr(asked, name)))}


def _ask_command(asked: TableAsked) -> str:
    """Write the public facts to a file, unless they are in one, and ask."""
    file = asked.facts or safe_name(f"{asked.table}.toml", "tightrope.toml")
    words = [
        part for name, text in _ask_words(asked).items() for part in (f"--{name}", text)
    ]
    line = shlex.join(
        ["tightrope", "ask", asked.sql, "--facts", file, *words, "--json"]
    )
    return (
        line
        if asked.facts
        # The facts are written by the script itself, so that it runs on its own.
        else f"{_written(shlex.quote(file), facts_file(asked))}\n{line}"
    )


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
