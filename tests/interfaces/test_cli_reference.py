"""The page on the command line says what the commands say."""

import runpy
from pathlib import Path

import pytest
import typer.main

from tightrope.cli.app import app

ROOT = Path(__file__).parents[2]
WRITER = runpy.run_path(str(ROOT / "scripts" / "write_cli_reference.py"))
COMMANDS = WRITER["commands"](typer.main.get_command(app))


def test_the_page_is_what_the_commands_say():
    kept = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert kept == WRITER["page"](), "run scripts/write_cli_reference.py"


@pytest.mark.parametrize(
    ("words", "command"), COMMANDS, ids=[words for words, _ in COMMANDS]
)
def test_every_command_explains_itself(words, command):
    assert "Examples:" in command.help
    assert f"tightrope {words}" in command.help
    for parameter in command.params:
        assert parameter.help, f"{words} {parameter.name} has no help"
        assert parameter.name == "help" or parameter.help.endswith("."), parameter.help


@pytest.mark.parametrize(
    ("words", "command"), COMMANDS, ids=[words for words, _ in COMMANDS]
)
def test_every_command_takes_json(words, command):
    assert any("--json" in parameter.opts for parameter in command.params), words
