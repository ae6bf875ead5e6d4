"""How the page looks: light and dark, and on narrow screens."""

import re

import pytest

from tightrope.studio.state import ConsumerText, PageState

TWO = PageState(
    question="choice(3)",
    consumers=(ConsumerText("mayor"), ConsumerText("press", loss="absolute")),
)

#: What can be seen but is cut off at the right or left edge of the window, by tag and text.
CUT_OFF = """() => {
  const width = document.documentElement.clientWidth, found = [];
  for (const part of document.querySelectorAll('header *, .q-tab-panel *')) {
    const box = part.getBoundingClientRect();
    const out = box.right > width + 1 || box.left < -1;
    if (box.width && out && part.checkVisibility()) {
      found.push(`${part.tagName} ${part.textContent.slice(0, 30)}`);
    }
  }
  return found;
}"""
SCROLLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
#: The smallest contrast of a text with the card below it.
CONTRAST = """() => {
  const PARTS = '.tr-title, .tr-note, .tr-facts > *, .tr-card .q-btn--outline';
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratios = [...document.querySelectorAll(PARTS)]
    .filter((part) => part.checkVisibility())
    .map((part) => {
      const card = getComputedStyle(part.closest('.tr-card')).backgroundColor;
      const pair = [light(getComputedStyle(part).color), light(card)].sort((a, b) => b - a);
      return (pair[0] + 0.05) / (pair[1] + 0.05);
    });
  return Math.min(...ratios);
}"""


@pytest.mark.parametrize("width", [900, 400])
def test_narrow_windows_cut_nothing_off(tab, width, picture):
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.open(TWO)
    tab.design()
    tab.wait("[data-heat-note] >> text=3 answers")
    tab.wait("[data-verdict] >> text=/^no/")
    for panel in range(1, 7):
        tab.turn(panel)
        tab.page.locator(".q-tab-panel").and_(
            tab.page.locator(":visible")
        ).first.wait_for()
        tab.page.wait_for_function(f"({CUT_OFF})().length == 0")
        assert tab.page.evaluate(SCROLLS) == 0
        picture(tab, f"narrow-{width}-{panel}", full=True)
    # Something too wide is noticed.
    tab.page.evaluate("document.querySelector('.tr-card').style.width = '1200px'")
    assert tab.page.evaluate(CUT_OFF)


def test_every_button_of_a_narrow_header_can_be_reached(tab):
    tab.page.set_viewport_size({"width": 400, "height": 800})
    tab.open(TWO)
    for name in ("Privacy", "Consumers", "Mechanism", "Proof"):
        tab.page.get_by_role("tab", name=name).click()
        tab.page.locator(".q-tab--active").get_by_text(name).wait_for()
    tab.press("Copy as")
    tab.wait('[data-kind="command"] >> text=tightrope verify')


def test_lights_are_turned_off_and_on(tab, picture):
    tab.open(TWO)
    light = tab.page.evaluate(PAPER)
    assert tab.page.evaluate(CONTRAST) > 4.5
    tab.press("Dark or light")
    tab.wait("body.body--dark")
    dark = tab.page.evaluate(PAPER)
    assert dark != light
    for panel in (2, 4):
        tab.turn(panel)
        assert tab.page.evaluate(CONTRAST) > 4.5
        picture(tab, f"dark-{panel}")
    tab.press("Dark or light")
    tab.wait("body.body--light")
    assert tab.page.evaluate(PAPER) == light


def test_report_of_numbers_prints_on_one_page(chromium):
    from matplotlib.figure import Figure

    from tightrope.report.page import Publication, published_report
    from tightrope.texts import TextTable

    figure = Figure(figsize=(4.2, 2.7))
    figure.subplots().plot([1, 2])
    lines = [["region", "sex", "n"], *(["north", "f", "468 ± 10"] for _ in range(10))]
    facts = dict.fromkeys(("asked", "intervals", "paid", "left", "key"), "a text " * 9)
    receipt = {"position": 7, "ledger": "a1", "hash": "f0" * 32, "text": "long " * 900}
    table = TextTable("", lines, ["Proved optimal."], {(0, 2): 1.0})
    sheet = {"privacy unit": "one person"}
    report = Publication(
        "People", [table], facts, facts, [figure], [receipt], sheet=sheet
    )
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(published_report(report))
    # A number is not broken on a telephone: its table scrolls.
    cell = page.get_by_text("468 ± 10").first
    line = "cell => cell.getClientRects()[0].height / parseFloat(getComputedStyle(cell).fontSize)"
    assert cell.evaluate(line) < 2.5
    assert page.evaluate(SCROLLS) == 0
    title = page.get_by_role("heading", name="NIST SP 800-226")
    assert title.is_visible()
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    # What cannot be opened on paper has no title there.
    page.emulate_media(media="print")
    assert not title.is_visible()
    page.close()


def test_report_of_a_job_of_three_tables_prints_on_one_page(chromium):
    """Tables and pictures stand beside each other, and what follows in two columns."""
    from matplotlib.figure import Figure

    from tightrope.report.page import Publication, published_report
    from tightrope.texts import TextTable

    def table(title, columns):
        lines = [["region", *columns]]
        lines += [
            [name, *("468 ± 10" for _ in columns)]
            for name in ("north", "south", "west")
        ]
        return TextTable(title, lines, ["What is proved is about the count. " * 5] * 2)

    tables = [
        table("region × sex", ("f", "m", "(all)")),
        table("region × age", ("0-17", "18-39", "40-64", "65+")),
        table("region", ("n", "n, usual noise")),
    ]
    figures = [Figure(figsize=(4.2, height)) for height in (2.7, 1.6, 4.5)]
    for figure in figures:
        figure.subplots().plot([1, 2])
    margins = TextTable(
        "", [["published", "margin"], *([x.title, "± 3"] for x in tables)]
    )
    facts = dict.fromkeys(
        ("asked", "intervals", "about", "paid", "left", "key"), "a text " * 9
    )
    about = {"table": "people", "protects": "what one person's row says", "ε": "1"}
    receipt = {"position": 7, "ledger": "a1", "hash": "f0" * 32, "text": "long " * 900}
    report = Publication(
        "People", tables, about, facts, figures, [receipt] * 3,
        [(margins, {"region": 0.25, "region × sex": 0.75})],
    )  # fmt: skip
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(published_report(report))
    assert page.evaluate(SCROLLS) == 0
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    # On a screen one table follows the other.
    tops = "[...document.querySelectorAll('section')].map(x => x.getBoundingClientRect().top)"
    assert len(set(page.evaluate(tops))) == 3
    page.close()


def test_reports_of_many_tables_or_of_a_long_one_fill_their_pages(chromium):
    from tightrope.report.page import Publication, published_report
    from tightrope.texts import TextTable

    facts = dict.fromkeys(("asked", "intervals", "about", "paid", "key"), "a text " * 9)
    receipt = {"position": 7, "ledger": "a1", "hash": "f0" * 32, "text": "long " * 900}
    sentences = ["What is proved is about the count. " * 5] * 4

    def pages(*tables):
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        shown = Publication("People", tables, facts, facts, [], [receipt])
        page.set_content(published_report(shown))
        printed = page.pdf(prefer_css_page_size=True)
        page.close()
        return len(re.findall(rb"/Type\s*/Page\b", printed))

    row = ["north", "yes", "468 ± 10", "468 ± 10"]
    some = [TextTable(f"table {k}", [row] * (8 - k)) for k in range(8)]
    some[-1] = TextTable("table 7", [row], sentences)
    assert pages(*some) == 1
    # A long table begins on the first page, with its second half beside it.
    assert pages(TextTable("", [row] * 74, sentences)) == 2


def test_report_is_dark_in_the_dark_and_light_on_paper(chromium):
    from tightrope.optimize import design
    from tightrope.report.page import html_report

    page = chromium.new_page(
        viewport={"width": 400, "height": 800}, color_scheme="dark"
    )
    page.set_content(html_report(design("sum(4,2)", "ln(2)")))
    assert page.evaluate(PAPER) == "rgb(16, 22, 28)"
    assert page.evaluate(SCROLLS) == 0
    page.emulate_media(media="print")
    assert page.evaluate(PAPER) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(17, 17, 17)"
    page.close()
