"""The built pages, opened from a folder as files: search, copying, narrow windows, no network."""

import pytest
from tests.browser.conftest import PATIENCE

SCROLLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def page(chromium, site):
    """A page that asks no server for anything and has no errors."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    asked = []
    errors = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_search_works_from_a_folder(page, site):
    page.goto(f"file://{site}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("median")
    page.locator(".md-search-result__item").first.wait_for()
    assert "matching documents" in page.locator(".md-search-result__meta").inner_text()


def test_copied_session_has_no_prompts(page, site):
    page.goto(f"file://{site}/how-to/publish-a-count.html")
    page.locator("[data-clipboard-target]").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("tightrope ask ")
    assert "±" not in copied


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_narrow_window(page, site, scheme):
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme=scheme)
    for name in ("index", "how-to/ask", "concepts/optimal", "benchmarks", "gallery",
                 "comparison", "floor", "concepts/generality",
                 "reference/command-line", "reference/channels"):  # fmt: skip
        page.goto(f"file://{site}/{name}.html")
        assert page.evaluate(SCROLLS) == 0, name


def test_lines_of_code_fit_a_wide_window(page, site):
    page.set_viewport_size({"width": 1440, "height": 900})
    wide = """() => [...document.querySelectorAll('pre > code')]
      .filter((code) => code.scrollWidth > code.clientWidth).map((code) => code.innerText)"""
    for name in ("index", "tutorial", "gallery", "floor", "how-to/ask", "how-to/joins",
                 "how-to/check-a-mechanism", "concepts/optimal"):  # fmt: skip
        page.goto(f"file://{site}/{name}.html")
        assert page.evaluate(wide) == [], name
    # The results of a session are text, not code in colours.
    page.goto(f"file://{site}/index.html")
    assert page.locator(".language-pycon .go").count() > 0


@pytest.mark.parametrize("width", [390, 1440])
def test_tables_break_between_words(page, site, width):
    """Options stay in one piece, code breaks between words, and a sentence has room for three."""
    page.set_viewport_size({"width": width, "height": 900})
    broken = """() => [...document.querySelectorAll('.whole')]
      .filter((option) => option.getClientRects().length > 1).map((option) => option.innerText)"""
    # A word of the code that is wider than its cell would be cut in two.
    cut = """() => [...document.querySelectorAll('td code')]
      .filter((code) => getComputedStyle(code).wordBreak !== 'normal')"""
    narrow = """() => [...document.querySelectorAll('td.words:not(:first-child)')]
      .filter((cell) => cell.clientWidth < 150).length"""
    for name in ("how-to/ask", "reference/command-line", "floor", "comparison"):
        page.goto(f"file://{site}/{name}.html")
        assert page.locator("td.words").count() > 3
        assert page.evaluate(broken) == []
        assert page.evaluate(cut) == []
        assert page.evaluate(narrow) == 0
    page.goto(f"file://{site}/reference/command-line.html")
    assert page.locator(".whole", has_text="--data-is-public").count() > 0


def test_titles_stand_out_by_their_size(page, site):
    page.goto(f"file://{site}/comparison.html")
    weight = "getComputedStyle(document.querySelector('.md-typeset {}')).fontWeight"
    weights = [int(page.evaluate(weight.format(name))) for name in ("h1", "h2", "h3")]
    assert weights == sorted(weights, reverse=True)


def test_every_page_leads_on(page, site):
    page.goto(f"file://{site}/how-to/ask.html")
    following = page.locator(".md-footer__link--next")
    assert "A count" in following.inner_text()
    tabs = page.locator(".md-tabs__link").all_inner_texts()
    assert tabs[1:] == ["Publish", "Check", "Study", "Reference"]


def test_formulas_have_their_font_and_drawings_are_dark_in_the_dark(page, site):
    page.goto(f"file://{site}/concepts/tight-constraints.html")
    fonts = (
        "document.fonts.ready.then(all => [...all].map(f => f.family + ' ' + f.status))"
    )
    assert "Site Math loaded" in page.evaluate(fonts)
    picture = (
        "getComputedStyle(document.querySelector('.md-typeset img[src$=svg]')).filter"
    )
    page.emulate_media(color_scheme="light")
    page.goto(f"file://{site}/gallery.html")
    assert page.evaluate(picture) == "none"
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert "invert" in page.evaluate(picture)
