"""Two places, Publish and Study: ways between them, the browser's own buttons, and reloads."""

from playwright.sync_api import expect
from tests.browser.conftest import PATIENCE


def place(tab):
    """The place that the page says it is in."""
    return tab.page.locator('.tr-place [aria-pressed="true"]')


def test_back_and_reload_stay_in_their_place(tab):
    tab.open(panel=1)
    expect(place(tab)).to_have_text("Publish")
    assert not tab.page.get_by_role("tab", name="Privacy").is_visible()
    tab.press("Study")
    tab.wait("[data-facts] >> text=vertex-transitive")
    tab.page.get_by_role("tab", name="Privacy").click()
    tab.page.wait_for_function("location.hash == '#privacy'")
    tab.page.reload()
    tab.wait("[data-number=success]")
    expect(place(tab)).to_have_text("Study", timeout=PATIENCE)
    tab.page.go_back()
    tab.wait("[data-facts]")
    tab.press("Publish")
    tab.wait("[data-table]")
    expect(place(tab)).to_have_text("Publish", timeout=PATIENCE)
    # Back in Study it is the panel that was open there.
    tab.press("Study")
    tab.wait("[data-facts]")


def test_question_is_opened_in_theory(tab, tmp_path):
    path = tmp_path / "staff.csv"
    path.write_text("dept\n" + "it\n" * 40)
    tab.open(panel=1)
    tab.fill("Table", str(path))
    tab.wait(".tr-column-name >> text=dept")
    tab.fill("Ledger", str(tmp_path / "ledger.db"))
    tab.fill("Number of people", "40")
    tab.fill("Budget (sum of all ε)", "2")
    tab.holds("Name in SQL", "staff")
    tab.fill("The question as SQL", "select count(*) as n from staff")
    tab.wait("[data-forecast] >> text=±")
    tab.press("Open this question in theory")
    tab.holds("Query", "count(40)")
    expect(place(tab)).to_have_text("Study", timeout=PATIENCE)
    tab.turn(3)
    tab.holds("ε", "0.5")
    # Without a question there is no theory of it.
    tab.turn(1)
    tab.fill("The question as SQL", "")
    button = tab.page.get_by_role("button", name="Open this question in theory")
    expect(button).to_be_hidden(timeout=PATIENCE)
