"""Long work: progress, cancel, two tabs, a large design; and what is taken away from a page."""

import json
import os
import subprocess
import sys

import pytest
from tests.browser.conftest import environment

from tightrope.studio.state import ConsumerText, PageState
from tightrope.studio.takeaway import PANELS


def uneven(size):
    """A prior without structure, so that a design takes many seconds."""
    shares = [37 * i % 97 + 1 for i in range(size)]
    return ConsumerText(prior=",".join(f"{share}/{sum(shares)}" for share in shares))


LONG = PageState(question="counts(19,2)", epsilon="0.5", consumers=(uneven(400),))


def test_design_is_cancelled(tab):
    tab.open(LONG, panel=5)
    tab.press("Design")
    tab.wait("[data-status] >> text=/designing|round/")
    tab.press("Cancel")
    tab.wait("[data-status] >> text=Cancelled")
    assert tab.page.get_by_role("button", name="Design", exact=True).is_enabled()
    assert not tab.page.get_by_role("button", name="Cancel").is_visible()


def test_best_so_far_is_kept(tab):
    tab.open(LONG, panel=5)
    tab.press("Design")
    # A bound above 0 needs the prices of one round.
    tab.wait("[data-status] >> text=/^round [1-9]/")
    tab.press("Keep best so far")
    tab.wait("[data-status] >> text=Done in")
    assert "certified" not in tab.text("[data-status]")
    assert not tab.page.get_by_role("button", name="Keep best so far").is_visible()
    kept = json.loads(tab.takeaway("JSON"))
    # Not the optimum, but a mechanism, with a bound that holds.
    assert not kept["certified"]
    assert 0 < kept["bound"] < kept["expected_loss"]
    tab.turn(6)
    tab.wait("[data-file] >> text=bytes")


def test_tabs_do_not_disturb_each_other(tabs):
    one, two = tabs(), tabs()
    one.open(LONG, panel=5)
    one.press("Design")
    one.wait("[data-status] >> text=/designing|round/")
    two.open(PageState(question="cycle(5)"))
    two.design()
    assert json.loads(two.takeaway("JSON"))["query"] == "cycle(5)"
    assert one.page.get_by_role("button", name="Cancel").is_visible()
    one.turn(2)
    one.holds("Query", LONG.question)
    one.turn(5)
    one.press("Cancel")
    one.wait("[data-status] >> text=Cancelled")
    assert json.loads(two.takeaway("JSON"))["query"] == "cycle(5)"


def test_thousand_answers_keep_the_page_alive(tab, picture):
    tab.open(PageState(question="count(999)", epsilon="1"), panel=5)
    tab.press("Design")
    tab.wait("[data-heat-note] >> text=1,000 answers")
    tab.page.locator("[data-heat] .hm image").wait_for()
    # The browser draws a picture of blocks, not of a million answers.
    assert "143 × 143 blocks" in tab.text("[data-heat-note]")
    # Single cells are too small to see: the noise around one answer is drawn as a curve.
    tab.wait("[data-noise-around] .bars")
    picture(tab, "thousand")
    box = tab.page.locator("[data-heat] .nsewdrag").bounding_box()
    tab.page.mouse.move(box["x"] + 5, box["y"] + 5)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 17, box["y"] + 17, steps=4)
    tab.page.mouse.up()
    tab.page.locator("[data-heat-note]").get_by_text("blocks").wait_for(
        state="detached"
    )
    tab.page.locator("[data-heat] .nsewdrag").hover()
    tab.wait("[data-heat] .hovertext >> text=/2\\^/")


def test_server_answers_while_a_design_runs(tabs):
    one = tabs().open(LONG, panel=5)
    one.press("Design")
    one.wait("[data-status] >> text=/designing|round/")
    one.turn(3)
    one.fill("ε", "ln(3)")
    one.wait("text=at most 3 times")
    one.turn(5)
    one.page.get_by_role("button", name="Cancel").wait_for()  # panels slide in
    one.press("Cancel")
    one.wait("[data-status] >> text=Cancelled")


# -- taking things away -------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path):
    """Runs a text in a shell where `tightrope` is this package; returns its JSON lines."""
    command = tmp_path / "bin" / "tightrope"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tightrope "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"

    def run(text):
        done = subprocess.run(
            ["sh", "-e", "-c", text],
            cwd=tmp_path,
            env={**environment(), "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def plain(lines):
    """Drop what differs between two runs, and where a file was written."""
    dropped = {"seconds", "out", "digest", "probabilities"}
    return [{k: v for k, v in line.items() if k not in dropped} for line in lines]


def test_commands_print_the_numbers_of_the_page(tab, shell):
    drawn = '{"name": "drawn", "nodes": [0, 1, 2, 3], "edges": [[0, 1], [1, 2], [2, 3], [0, 3]]}'
    who = ConsumerText(prior="2/5,1/5,1/5,1/5", loss="distance")
    tab.open(PageState(graph=drawn, epsilon="ln(3)", consumers=(who,)))
    tab.design()
    tab.turn(6)
    tab.press("Verify")
    tab.wait("[data-verified] >> text=everything holds")
    texts = []
    pages = []
    for number in range(2, 7):
        tab.turn(number)
        texts.append(tab.takeaway("command"))
        pages.append([json.loads(line) for line in tab.takeaway("JSON").splitlines()])
    printed = shell("\n".join(texts))
    shown = [line for lines in pages for line in lines]
    assert len(printed) == len(shown) == 7
    for mine, theirs in zip(plain(shown), plain(printed), strict=True):
        # The page shows a part of what `regular` prints, and all of everything else.
        assert {k: theirs[k] for k in mine} == mine
        assert "margin" in mine or mine.keys() == theirs.keys()


def test_python_runs_and_prints_the_same(tab, python):
    tab.open(PageState(question="choice(3)"))
    tab.design()
    programs = []
    for panel in range(2, len(PANELS) + 1):
        tab.turn(panel)
        programs.append(tab.takeaway("Python"))
    printed = "\n".join(python("\n".join(programs)))
    assert "GraphFacts(nodes=3" in printed
    assert "right guess   0.5" in printed
    assert "private: yes" in printed


def test_what_belongs_to_other_fields_is_not_taken_away(tab):
    tab.open(PageState(question="choice(3)"))
    tab.design()
    tab.turn(4)
    tab.wait("[data-regular] >> text=ε-regular")
    tab.press("fears the worst")
    tab.holds("Answers thought possible", "all")
    assert tab.takeaway("JSON") == "nothing computed yet"
    assert "without a prior" in tab.takeaway("command")
    tab.turn(5)
    tab.wait("[data-status] >> text=The fields have changed")
    assert tab.takeaway("JSON") == "nothing computed yet"
    tab.turn(2)
    assert json.loads(tab.takeaway("JSON"))["query"] == "choice(3)"
    tab.fill("Query", "choise(3)")
    tab.wait("text=did you mean 'choice")
    assert tab.takeaway("JSON") == "nothing computed yet"


def test_state_is_in_the_address(tabs):
    one, two = tabs().open(), tabs()
    one.fill("Query", "cycle(6)")
    one.wait("text=cycle(6): 6 answers")
    one.page.wait_for_function("location.search.includes('state=')")
    two.page.goto(one.page.url)
    two.wait("[data-table]")
    two.turn(2)
    two.wait("text=cycle(6): 6 answers")
    one.page.locator("body").click(position={"x": 640, "y": 700})
    one.page.keyboard.press("Control+z")
    one.wait("text=count(5): 6 answers")
    one.page.wait_for_function("!location.search.includes('state=')")
    two.holds("Query", "cycle(6)")


def test_regret_table_is_taken_away(tab, shell, python):
    nasty = ConsumerText("it's the 'press'", prior="1/2,1/4,1/8,1/8", loss="distance")
    tab.open(
        PageState(
            question="cycle(4)",
            epsilon="ln(3)",
            consumers=(ConsumerText("mayor"), nasty),
        ),
        panel=4,
    )
    tab.page.locator("[data-regret]").get_by_text(nasty.name, exact=True).wait_for()
    regular, common = (json.loads(line) for line in tab.takeaway("JSON").splitlines())
    printed = shell(tab.takeaway("command"))
    assert printed[0]["regular"] == regular["regular"]
    seconds = common.pop("seconds")
    assert seconds > 0
    assert {k: printed[1][k] for k in common} == common
    losses = json.loads(python(tab.takeaway("Python"))[-1])
    assert losses[0] == pytest.approx(common["consumers"][0]["optimum"])
