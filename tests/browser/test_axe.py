"""Accessibility by axe-core: the studio, and pages of every tab of the site."""

from pathlib import Path

import axe_playwright_python

SCRIPT = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()


def findings(page):
    """What axe-core finds on a page: each rule with the elements that break it."""
    page.evaluate(SCRIPT)
    found = page.evaluate("axe.run()")
    return {
        rule["id"]: [node["html"][:160] for node in rule["nodes"]]
        for rule in found["violations"]
    }


def test_studio_has_no_findings(tab):
    tab.open()
    tab.design()
    tab.wait("[data-heat-note] >> text=answers")
    for panel in range(1, 7):
        tab.turn(panel)
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            tab.wait(f"body.body--{scheme}")
            tab.rests()
            assert findings(tab.page) == {}, f"panel {panel}, {scheme}"
    # Something without a name is noticed.
    tab.page.evaluate("document.querySelector('h1').innerHTML = '<input>'")
    assert "label" in findings(tab.page)


def test_site_has_no_findings(chromium, site):
    page = chromium.new_page()
    for name in ("index", "tutorial", "how-to/ask", "how-to/studio", "claims", "floor",
                 "concepts/optimal", "corrections", "gallery", "glossary", "comparison",
                 "how-to/joins", "quality",
                 "reference/index", "reference/command-line", "reference/publish"):  # fmt: skip
        page.goto(f"file://{site}/{name}.html")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert findings(page) == {}, f"{name}, {scheme}"
    page.close()
