"""A first release: your table, a question by clicking, its price, one confirmed click."""

import json
import re

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import PATIENCE

from tightrope.publish import verify_receipt


@pytest.fixture(scope="module")
def fair(tmp_path_factory):
    """A real table: statsmodels' survey of 6,366 people."""
    from statsmodels.datasets import fair as survey

    path = tmp_path_factory.mktemp("table") / "fair.csv"
    data = survey.load_pandas().data
    whole = [name for name in data if (data[name] % 1 == 0).all()]
    data.astype(dict.fromkeys(whole, int)).to_csv(path, index=False)
    return path


def choose(tab, label, words):
    """Choose from a list."""
    tab.page.get_by_label(label, exact=True).first.click()
    tab.page.get_by_role("option", name=words, exact=True).click()


def fill_in(tab, path, ledger):
    """Name the table, wait for its columns, and say what is public."""
    tab.page.locator("[data-upload=people] input[type=file]").set_input_files(path)
    tab.holds("Name in SQL", "fair")
    tab.wait(".tr-column-name >> text=religious")
    tab.fill("People, at most", "6366")
    tab.fill("Budget (sum of all ε)", "2")
    tab.page.get_by_label("Ledger", exact=True).first.fill(str(ledger))
    choose(tab, "what is public about affairs", "any number")


def test_first_release_from_ones_own_table(tab, fair, tmp_path, picture):
    tab.open(panel=1)
    fill_in(tab, fair, "fair.db")
    # A question by clicking; the SQL is there to be read.
    choose(tab, "only where", "affairs")
    choose(tab, "is", ">")
    tab.fill("value", "0")
    tab.holds("The question as SQL", "SELECT COUNT(*) AS n FROM fair WHERE affairs > 0")
    # The error is known before anything is paid.
    tab.reads("[data-forecast]", re.compile(r"^± 6 \(95 %\)$"))
    tab.wait("[data-errors] .legendtext >> text=usual noise")
    tab.wait("[data-noise] .bars")
    points = tab.page.locator("[data-errors] .trace").nth(1).locator(".point")
    expect(points).to_have_count(5, timeout=PATIENCE)
    picture(tab, "table")
    tab.wait("[data-ledger] >> text=There is no ledger here yet")
    tab.press("Publish …")
    tab.wait("[data-price] >> text=ε = 0.5, paid from the budget of table fair")
    tab.page.get_by_role("button", name="Pay and release").dblclick()
    tab.wait("[data-published] >> text=/± 6$/")
    tab.wait("[data-paid] >> text=/± 6 \\(95 %\\)/")
    published = int(re.sub(r"\D", "", tab.text("[data-published] td").partition("±")[0]))
    assert abs(published - 2053) < 60
    # It is in the ledger once, with a receipt that anybody can check.
    tab.wait("[data-ledger] >> text=/^1.5$/")
    expect(tab.page.locator("[data-paid]")).to_have_count(1, timeout=PATIENCE)
    with tab.page.expect_download() as saved:
        tab.page.get_by_role("button", name=re.compile("^Receipt")).first.click()
    saved.value.save_as(tmp_path / "receipt.json")
    assert verify_receipt(tmp_path / "receipt.json").genuine
    assert json.loads(tab.takeaway("JSON"))["rows"][0]["n"]["value"] == published
    assert "tightrope ask 'SELECT COUNT(*)" in tab.takeaway("command")
    picture(tab, "published", full=True)
    # What costs more than is left is refused, and takes nothing away.
    tab.fill("ε of this answer", "1.6")
    tab.press("Publish …")
    tab.wait("[data-error='table publish'] >> text=too small")
    expect(tab.page.locator("[data-paid]")).to_have_count(1, timeout=PATIENCE)


@pytest.mark.parametrize("width", [1600, 400])
def test_table_fits_wide_and_narrow_windows_light_and_dark(tab, fair, tmp_path, picture, width):
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.open(panel=1)
    fill_in(tab, fair, tmp_path / "fair.db")
    choose(tab, "only where", "affairs")
    tab.fill("value", "0")
    tab.wait("[data-noise] .bars")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.page.evaluate(wide) == 0
    picture(tab, f"table-{width}", full=True)
    tab.press("Dark or light")
    tab.wait("body.body--dark")
    picture(tab, f"table-{width}-dark", full=True)


def test_hostile_headers_are_names_and_missing_facts_are_asked_for(tab, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('"a"" onclick=""alert(1)",<img src=x>,n\n1,2,3\n')
    tab.open(panel=1)
    tab.page.locator("[data-upload=people] input[type=file]").set_input_files(path)
    tab.wait(".tr-column-name >> text=<img src=x>")
    assert tab.page.locator("img[src=x]").count() == 0
    tab.fill("The question as SQL", "select count(*) from odd")
    tab.wait(".q-field__messages >> text=how many people can the table hold?")
    tab.fill("People, at most", "9")
    tab.wait(".q-field__messages >> text=give it a budget")
