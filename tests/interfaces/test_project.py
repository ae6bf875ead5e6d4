"""The project keeps its own promises: its shape, its documents and their examples."""

import contextlib
import doctest
import io
import itertools
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tightrope
from tightrope.cli import main

ROOT = Path(__file__).resolve().parents[2]
LONGEST_MAP = 80

# A path on somebody's machine: at the start of a word, below one of these folders.
# Written with alternatives, so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:work|root|home|opt|Users)/\w")


def project_files() -> list[Path]:
    """Every file that is, or is about to be, under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [
        ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()
    ]


def lines_that_match(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    """The lines of text files that match, as ``file:line: text``."""
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


# -- shape --------------------------------------------------------------------------------


def test_no_drawer_for_odds_and_ends() -> None:
    drawers = {"utils.py", "helpers.py", "common.py", "util.py", "misc.py"}
    found = [
        str(path.relative_to(ROOT)) for path in project_files() if path.name in drawers
    ]
    assert not found, f"a function belongs to an idea: {found}"


def test_no_path_of_a_machine() -> None:
    assert not lines_that_match(MACHINE_PATH, project_files())


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("see /" + "root/notes", True),
        ("'/" + "work/x'", True),
        ("file:///" + "opt/x", False),
        ("https://example.org/" + "work/x", False),
        ("src/work/x", False),
    ],
)
def test_machine_paths_are_recognised(line: str, matches: bool) -> None:
    assert bool(MACHINE_PATH.search(line)) is matches


def test_lock_file_names_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert not re.search(
        r"^\s*(--index-url|--extra-index-url|--find-links|-[if] )", lock, re.M
    )
    assert "--hash=sha256:" in lock


def test_lock_file_pins_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = itertools.chain.from_iterable(project["optional-dependencies"].values())
    declared = [*project["dependencies"], *extras]
    names = {re.split(r"[\[<>=!~; ]", line)[0].lower() for line in declared} - {
        "tightrope"
    }
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.M))
    assert names <= pinned, (
        f"run make lock: {sorted(names - pinned)} not in requirements.lock"
    )


def test_the_package_is_typed() -> None:
    assert (ROOT / "src/tightrope/py.typed").is_file()


# -- documents ----------------------------------------------------------------------------


def test_architecture_is_one_page() -> None:
    assert (
        len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines())
        <= LONGEST_MAP
    )


def test_architecture_knows_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = [
        path.parent.name for path in (ROOT / "src/tightrope").glob("*/__init__.py")
    ]
    missing = [room for room in rooms if f"`{room}/`" not in text]
    assert not missing, f"add to the map: {missing}"


def test_architecture_names_functions_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+(?:\.[a-z_]+)+)`", text))
    named -= {name for name in named if name.endswith((".py", ".md", ".toml"))}
    assert len(named) >= 7
    for name in named:
        assert pkgutil.resolve_name(f"tightrope.{name}") is not None


def test_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(tightrope.__version__)}\b", text, re.M)


def test_readme_starts_with_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^```bash\n(.*?)^```", text, re.M | re.S)
    assert first is not None
    commands = [line.split("#")[0].strip() for line in first[1].splitlines()]
    assert commands[:2] == ["make demo", "make test"]


def test_readme_serves_a_table_of_ones_own(tmp_path, monkeypatch, capsys) -> None:
    """A reader who knows SQL does what the README says, with a CSV of their own."""
    monkeypatch.chdir(tmp_path)
    regions = "north\n" * 3000 + "south\n" * 2000
    Path("people.csv").write_text(f"region\n{regions}", encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install, *commands = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)[
        1
    ].splitlines()
    assert install.startswith("pip install .")
    assert [line.split()[1] for line in commands] == ["init", "ask"]
    for line in commands:
        name, *words = shlex.split(line)
        assert name == "tightrope"
        assert main(words) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert re.search(r"north +[23],\d{3} ± \d+", printed)
    assert "left       1.5 of the budget" in printed


def test_site_and_studio_have_one_mark() -> None:
    mark = ROOT / "docs" / "assets" / "site" / "mark.svg"
    studio = ROOT / "src" / "tightrope" / "studio" / "favicon.svg"
    assert mark.read_bytes() == studio.read_bytes()


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY:(.*)$", makefile, re.M)
    assert phony is not None
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    assert targets == set(phony[1].split()), "every target is declared .PHONY"
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        env={
            k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL"}
        },
    ).stdout
    listed = set(re.findall(r"^  make ([a-z-]+) +\S", shown, re.M))
    assert listed == targets


def test_pre_commit_runs_what_make_lint_runs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.M)
    assert recipe is not None
    linted = re.sub(r"^\t@\$\(BIN\)", ".venv/bin", recipe[1], flags=re.M).splitlines()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"entry: (.*)", hooks)
    # Ruff gets the changed files in place of the folder.
    assert entries == [line.removesuffix(" .") for line in linted]


def test_dist_finds_the_example_and_notices_other_bytes(tmp_path: Path) -> None:
    make_dist = runpy.run_path(str(ROOT / "scripts/make_dist.py"))
    command, margins = make_dist["example"]()
    assert command.startswith("tightrope ask ")
    assert "± 4" in margins
    for folder, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.whl").write_text(text)
    one, same, other = ([tmp_path / folder / "x.whl"] for folder in "abc")
    make_dist["check_same"](one, same)
    with pytest.raises(SystemExit, match="other bytes"):
        make_dist["check_same"](one, other)


@pytest.mark.parametrize("name", [".ci/run", "scripts/debian-packages"])
def test_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)


def test_missing_debian_packages_are_one_clear_line_or_none() -> None:
    script = ROOT / "scripts/debian-packages"
    called = subprocess.run([script], capture_output=True, text=True, check=False)
    assert called.returncode == 2
    assert called.stderr == "usage: scripts/debian-packages PACKAGE...\n"


# -- examples in the documents ------------------------------------------------------------


class Block(NamedTuple):
    """A fenced code block of a document."""

    path: Path
    line: int
    info: str
    code: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"


FENCE = re.compile(r"^( *)```+ *([^`\n]*)\n(.*?)^\1```+ *$", re.M | re.S)
CHECKS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks() -> list[Block]:
    """All fenced blocks of the README and the pages under docs/."""
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for fence in FENCE.finditer(text):
            indent, info, code = fence.groups()
            code = re.sub(rf"^{indent}", "", code, flags=re.M)
            found.append(
                Block(path, text.count("\n", 0, fence.start()) + 1, info.strip(), code)
            )
    return found


BLOCKS = blocks()
PYTHON = [block for block in BLOCKS if block.info in ("python run", "python run on")]
CONSOLE = [block for block in BLOCKS if block.info == "console"]
PAGES = sorted({block.path for block in CONSOLE})
SHOWN = [block for block in BLOCKS if block.info == "bash"]


def story(block: Block) -> list[Block]:
    """The blocks of a page up to this one that share its names: ``python run on`` goes on."""
    before = [
        one for one in PYTHON if one.path == block.path and one.line <= block.line
    ]
    first = max(k for k, one in enumerate(before) if one.info == "python run")
    return before[first:]


class Shown(doctest.OutputChecker):
    """Compares what is shown with what is printed, but not what is drawn or different each time.

    Published numbers stand before their margin: the margin is compared. Keys are random.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        random = re.compile(r"[\d,]+(?:\.\d+)?(?= ±|, at most)|\b[0-9a-f]{32}\b")
        want, got = (random.sub("#", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def run_python(code: str, name: str, names: dict[str, object] | None = None) -> None:
    """Run one block; as a doctest when it holds prompts."""
    names = {"__name__": "__main__"} if names is None else names
    if ">>>" not in code:
        exec(compile(code, name, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(code, names, name, name, 0)
    test.globs = names
    report = io.StringIO()
    runner = doctest.DocTestRunner(Shown(), optionflags=CHECKS, verbose=False)
    failed = runner.run(test, out=report.write, clear_globs=False)
    assert failed.failed == 0, report.getvalue()


def run_console(code: str) -> None:
    """Run each ``$ tightrope …`` line and compare what it prints with the lines below it.

    A command may go on in a line that starts with ``>``, and be followed by ``# exit 2`` when it
    is meant to fail. Lines with another command after the ``$`` are not run.
    """
    for step in re.split(r"^\$ ", re.sub(r"(?: \\)?\n> +", " ", code), flags=re.M)[1:]:
        command, _, expected = step.partition("\n")
        if command.split()[0] != "tightrope":
            continue
        meant = re.search(r"# exit (\d+)\s*$", command)
        status, printed = call(shlex.split(command, comments=True))
        assert status == (int(meant[1]) if meant else 0), (
            f"{command}: exit {status}\n{printed}"
        )
        if expected.strip():
            same = Shown().check_output(expected.strip(), printed.strip(), CHECKS)
            assert same, f"{command}\n-- shown\n{expected}\n-- printed\n{printed}"


def call(arguments: list[str]) -> tuple[int, str]:
    """Call the command line in this process; return its exit status and all that it printed."""

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main(arguments[1:])
    return status, printed.getvalue()


def parse(arguments: list[str]) -> None:
    """Read a command line as the program does, without running it."""
    import typer.main

    from tightrope.cli.app import app

    command: Any = typer.main.get_command(app)
    while True:
        context = command.make_context(
            arguments[0], arguments[1:], resilient_parsing=False
        )
        if not hasattr(command, "resolve_command"):
            return
        arguments = [*context._protected_args, *context.args]
        _, command, _ = command.resolve_command(context, arguments)


def commands(code: str) -> list[str]:
    """The ``tightrope`` commands of a block for a shell."""
    lines = re.sub(r"\\\n", " ", code).splitlines()
    return [line.partition(" > ")[0] for line in lines if line.startswith("tightrope ")]


@pytest.fixture
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder and a terminal without colour, 100 characters wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


def test_python_blocks_are_marked_to_run() -> None:
    loose = [
        str(block)
        for block in BLOCKS
        if block.info.startswith(("python", "py", "pycon"))
    ]
    assert loose == [str(block) for block in PYTHON], "write ```python run"


@pytest.mark.parametrize("block", PYTHON, ids=str)
@pytest.mark.usefixtures("plain_terminal")
def test_python_block_runs(block: Block) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for one in story(block):
        run_python(one.code, str(one), names)
    for drawn in Path().glob("*.svg"):
        kept = shown_picture(block.path, drawn.name)
        # What is published is drawn anew each time.
        same = "tr.ask(" in block.code or same_picture(read(drawn), read(kept))
        assert same, (
            f"{drawn} is not what {block.path.name} shows: run scripts/draw_gallery.py"
        )


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def shown_picture(page: Path, name: str) -> Path:
    """Return the file of the picture that a page shows under this name."""
    found = re.search(rf"!\[.*\]\((.*/{re.escape(name)})\)", read(page))
    assert found is not None, f"{page.name} does not show {name}"
    return page.parent / found[1]


def same_picture(one: str, other: str, tolerance: float = 0.1) -> bool:
    """Whether two drawings are alike but for the last digits: to a tenth of a point."""
    number = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
    told = []
    for text in (one, other):
        # Names are digests of what is drawn; a heat map is an image inside.
        plain = re.sub(r'(?:id="|#|url\(#)\w+|base64,[^"]+', "", text)
        told.append(
            (number.sub("", plain), [float(found) for found in number.findall(plain)])
        )
    (words, first), (same, second) = told
    return words == same and all(
        abs(a - b) <= tolerance for a, b in zip(first, second, strict=True)
    )


def test_other_pictures_are_noticed() -> None:
    kept = read(ROOT / "docs" / "assets" / "gallery" / "tradeoff.svg")
    assert same_picture(kept, kept)
    assert not same_picture(kept, kept.replace("L 1", "L 2"))
    assert not same_picture(kept, kept.replace("<g", "<b"))


def test_every_picture_of_the_gallery_is_drawn_by_a_program_above_it() -> None:
    page = ROOT / "docs" / "gallery.md"
    programs = "".join(block.code for block in PYTHON if block.path == page)
    shown = re.findall(r"\(assets/gallery/(.*)\)", read(page))
    assert len(shown) >= 8
    assert all(f'"{name}"' in programs for name in shown)


def test_every_picture_is_shown() -> None:
    pages = "".join(map(read, [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]))
    kept = [
        path.name
        for path in (ROOT / "docs").rglob("*.*")
        if path.suffix in (".svg", ".png")
    ]
    assert [name for name in kept if f"/{name})" not in pages] == []


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
@pytest.mark.usefixtures("plain_terminal")
def test_console_blocks_of_a_page_run(page: Path) -> None:
    from statsmodels.datasets import fair

    codes = [block.code for block in CONSOLE if block.path == page]
    for path in (ROOT / "examples" / "data").iterdir():
        shutil.copy(path, path.name)
    if any("tightrope init" in code for code in codes):
        Path("tightrope.toml").unlink()
    fair.load_pandas().data.to_csv("fair.csv", index=False)
    for code in codes:
        run_console(code)


@pytest.mark.parametrize("block", [one for one in SHOWN if commands(one.code)], ids=str)
def test_commands_that_are_only_shown_exist(block: Block) -> None:
    for command in commands(block.code):
        parse(shlex.split(command, comments=True))


def test_wrong_commands_are_noticed() -> None:
    for command in (
        "tightrope ask --no-such-option",
        "tightrope ledger nothing",
        "tightrope x",
    ):
        with pytest.raises(Exception, match="No such"):
            parse(command.split())


def test_wrong_python_blocks_are_noticed() -> None:
    run_python(">>> 1 + 1\n2\n", "good")
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", "bad")
    with pytest.raises(AssertionError):
        run_python("assert 1 + 1 == 3\n", "bad")


@pytest.mark.usefixtures("plain_terminal")
def test_wrong_console_blocks_are_noticed() -> None:
    run_console("$ tightrope --version\ntightrope ...\n")
    with pytest.raises(AssertionError):
        run_console("$ tightrope --version\nsomething else\n")
    with pytest.raises(AssertionError):
        run_console("$ tightrope no-such-command\n")
    assert Shown().check_output("1,904 ± 6", "12 ± 6", CHECKS)
    assert not Shown().check_output("1,904 ± 6", "1,904 ± 7", CHECKS)
    run_console("$ tightrope no-such-command  # exit 2\n")
