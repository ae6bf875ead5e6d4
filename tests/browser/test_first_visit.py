"""What a first visitor does: types wrongly, presses the buttons in sight, uses the keyboard."""

from playwright.sync_api import expect
from tests.browser.conftest import PATIENCE

#: The element with the focus: what kind it is, its name in words, and whether a ring is drawn.
FOCUS = """() => {
  const part = document.activeElement, look = getComputedStyle(part);
  const named = part.closest('[aria-label]')?.getAttribute('aria-label') ?? '';
  return [part.tagName, `${named} ${part.innerText}`.trim(), look.outlineStyle];
}"""


def marked(tab):
    """The tabs that say that something below them is wrong."""
    return tab.page.locator(".q-tab.tr-wrong")


def test_typo_is_marked_and_leaves_no_numbers_of_another_question(tab):
    tab.open(panel=4)
    tab.wait("[data-regular] >> text=/^yes$/")
    tab.turn(2)
    tab.fill("Query", "summ(150,5)")
    tab.wait("[data-error=question] >> text=did you mean 'sum(u,v)'")
    expect(marked(tab)).to_have_text("Question")
    tab.turn(3)
    tab.wait("[data-exists] >> text=/^Not known .*did you mean/")
    tab.turn(4)
    tab.wait("[data-regular] >> text=did you mean")
    assert tab.page.get_by_text("no mechanism is right more often").count() == 0
    tab.turn(5)
    tab.wait("[data-plan] >> text=summ(150,5) at ε = ln(2)")
    tab.press("Design")
    tab.wait("[data-status].tr-error >> text=No mechanism: unknown query")
    # An empty field is an error of its own, and the old question is as good as it was.
    tab.turn(2)
    tab.fill("Query", "")
    tab.wait("[data-error=question] >> text=Write a query")
    tab.fill("Query", "count(5)")
    expect(marked(tab)).to_have_count(0, timeout=PATIENCE)
    tab.turn(4)
    tab.wait("[data-regular] >> text=/^yes$/")


def test_level_that_is_none_has_no_numbers(tab):
    tab.open(panel=3)
    tab.reads("[data-number=success]", "66.7 %")
    tab.wait("[data-exists] >> text=It exists at the chosen ε.")
    tab.fill("ε", "nan")
    tab.wait(".q-field__messages >> text=got 'nan'")
    tab.reads("[data-number=success]", "–")
    assert "chosen" not in tab.text("[data-exists]")
    expect(marked(tab)).to_have_text("Privacy")
    tab.fill("ε", "")
    tab.wait(".q-field__messages >> text=Write a level")
    tab.fill("ε", "ln(2)")
    tab.reads("[data-number=success]", "66.7 %")
    expect(marked(tab)).to_have_count(0, timeout=PATIENCE)


def test_button_of_a_prior_is_designed_for(tab):
    tab.open(panel=4)
    tab.press("binomial(.3)")
    tab.holds("Prior", "binomial(.3)")
    tab.design()
    # Few enough for a number in each cell.
    tab.reads("[data-heat-note]", "6 answers, 2 outputs")
    expect(tab.page.locator("[data-heat] .heatmap-label")).to_have_count(
        12, timeout=PATIENCE
    )
    assert not tab.page.locator("[data-plan]").is_visible()


def test_keyboard_reaches_everything_and_shows_where_it_is(tab):
    tab.open(panel=4)
    rings = set()
    for panel, names in ((4, ["Add a consumer", "Prior from a file (CSV or JSON)", "weight 5"]),
                         (6, ["Verify another mechanism file"]),
                         (1, ["Publish …", "Request key"])):  # fmt: skip
        tab.turn(panel)
        for name in names:
            tab.page.locator(f'[aria-label*="{name}"]').or_(
                tab.page.get_by_text(name)
            ).first.wait_for()
        # A part that is drawn anew while it has the focus loses it, and the walk would end there.
        tab.rests()
        tab.page.get_by_role("button", name="Publish", exact=True).focus()
        stops = []
        while len(stops) < 40:
            tab.page.keyboard.press("Tab")
            stop = tab.page.evaluate(FOCUS)
            if stop[0] == "BODY":
                break
            stops.append(stop)
        assert all(name for _, name, _ in stops)
        rings |= {(kind == "INPUT", ring) for kind, _, ring in stops}
        assert all(any(name in stop[1] for stop in stops) for name in names)
    # A field has a border of its own, which the focus thickens.
    assert rings == {(True, "none"), (False, "solid")}
