"""Write docs/reference/command-line.md from the commands themselves.

python scripts/write_cli_reference.py
"""

import re
import textwrap
from pathlib import Path
from typing import Any

import typer.main

from tightrope.cli.app import app

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "command-line.md"

HEAD = """# Command line

Every command takes `--json` and then prints one JSON object. Errors are one line on standard
error. The exit code is 0 when all is well, 1 when a check that was asked for did not pass, 2 when
the input cannot be used, 70 for a defect of the program and 130 after an interrupt.
`tightrope --install-completion` sets up completion for your shell.
"""


def page() -> str:
    """Return the whole page."""
    group = typer.main.get_command(app)
    return HEAD + "".join(_section(f"tightrope {n}", c) for n, c in commands(group))


def commands(group: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return every command with its words, those of groups included."""
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        words = f"{prefix}{name}"
        nested = hasattr(command, "commands")
        found += commands(command, f"{words} ") if nested else [(words, command)]
    return found


def _section(words: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    shown = " ".join(_named(p) for p in arguments)
    lines = [f"\n## {words}\n", f"`{words} {shown} [options]`\n".replace("  ", " ")]
    for paragraph in (command.help or "").replace("\b\n", "").split("\n\n"):
        if paragraph.startswith("Examples:"):
            examples = textwrap.dedent("\n".join(paragraph.splitlines()[1:]))
            lines.append(f"```bash\n{examples}\n```\n")
        else:
            lines.append(_marked(" ".join(paragraph.split())) + "\n")
    lines.append("| word | meaning |\n|---|---|")
    lines += [f"| `{_named(p)}` | {_cell(p)} |" for p in arguments]
    lines += [f"| `{_flag(p)}` | {_cell(p)} |" for p in options if p.name != "help"]
    return "\n".join(lines) + "\n"


def _named(argument: Any) -> str:
    repeated = "..." if argument.nargs == -1 else ""
    return f"{argument.metavar or argument.name.upper()}{repeated}"


def _flag(option: Any) -> str:
    names = ", ".join(option.opts)
    return (
        names
        if option.is_flag
        else f"{names} {option.metavar or option.type.name.upper()}"
    )


#: What a terminal shows plainly: words in quotation marks (no apostrophes), and options.
TYPED = re.compile(r"(?<!\w)'([^']+)'(?!\w)|(?<![\w-])--[a-z][a-z-]*[a-z]")


def _marked(text: str) -> str:
    """Mark what one types as code."""
    return TYPED.sub(lambda found: f"`{found[1] or found[0]}`", text)


def _cell(parameter: Any) -> str:
    text = _marked((parameter.help or "").replace("|", "\\|"))
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    return f"{text} Default: `{default}`." if plain and default != "" else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
