"""A studio in a process of its own, and a browser that looks at it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect, sync_playwright

from tightrope.studio.state import encode
from tightrope.studio.takeaway import PANELS

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
#: Patience for a busy machine; nothing waits that long on a quiet one.
PATIENCE = 60_000

#: A promise that is kept when the page has not changed for half a second.
RESTS = """() => new Promise(done => {
  let rest = setTimeout(done, 500);
  const seen = new MutationObserver(() => { clearTimeout(rest); rest = setTimeout(done, 500); });
  seen.observe(document.body, {subtree: true, childList: true, attributes: true});
})"""


def environment():
    """The environment of a child: the same package as here."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    """The address of a running studio."""
    folder = tmp_path_factory.mktemp("studio")
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tightrope", "studio", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env=environment(),
            text=True,
        )
        with process:
            try:
                url = json.loads(process.stdout.readline())["url"]
                # Who comes before the solvers are loaded waits at the socket.
                with urlopen(url, timeout=5 * PATIENCE / 1000) as answer:
                    answer.read()
                yield url
            finally:
                process.terminate()
                process.wait(PATIENCE / 1000)
    assert (folder / "errors").read_text() == ""


# Not for the session: Playwright holds an event loop open that other tests would run into.
@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


# One for all tests of a file: it keeps the files of the page between tabs, as browsers do.
@pytest.fixture(scope="module")
def context(chromium):
    return chromium.new_context(
        viewport={"width": 1280, "height": 720}, accept_downloads=True
    )


class Tab:
    """A browser tab on the studio, with the few words that the tests speak."""

    def __init__(self, context, studio):
        self.studio = studio
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors = []
        self.elsewhere = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)

    def _asked(self, request):
        place = urlsplit(request.url)
        if (
            place.scheme not in ("data", "blob")
            and place.netloc != urlsplit(self.studio).netloc
        ):
            self.elsewhere.append(request.url)

    def open(self, state=None, panel=2, wait=True):
        link = "" if state is None else f"&state={encode(state)}"
        self.page.goto(f"{self.studio}{link}")
        self.wait("[data-table]")
        # The server fills the form once more when the page is there: whoever types waits for that.
        self.rests()
        if panel > 1:
            self.turn(2)
            if wait:
                self.wait("[data-facts] >> text=vertex-transitive")
        if panel > 2:
            self.turn(panel)
        self.rests()  # panels slide in: what is clicked on the way is missed
        return self

    def turn(self, panel):
        """Open a panel, 1 to publish and the others to study, and wait until it is there."""
        self.page.keyboard.press(f"Alt+{panel}")
        name = list(PANELS)[panel - 1]
        self.page.wait_for_function(f"(location.hash.slice(1) || 'table') == '{name}'")

    def rests(self):
        """Wait until nothing on the page has changed for half a second."""
        self.page.evaluate(RESTS)

    def wait(self, selector):
        return self.page.wait_for_selector(selector)

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def fill(self, label, text):
        self.page.get_by_label(label, exact=True).first.fill(text)

    def holds(self, label, value):
        """Wait until a field holds a text."""
        field = self.page.get_by_label(label, exact=True).first
        expect(field).to_have_value(value, timeout=PATIENCE)

    def reads(self, selector, text):
        """Wait until an element reads so."""
        expect(self.page.locator(selector)).to_have_text(text, timeout=PATIENCE)

    def slide(self, name, key):
        """Press a key on the thumb of a slider."""
        slider = self.page.get_by_role("slider", name=name, exact=True)
        slider.locator("[tabindex='0']").press(key)

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def takeaway(self, kind):
        """The text of the dialog for the present panel."""
        self.page.keyboard.press("Alt+c")
        self.page.get_by_role("tab", name=kind, exact=True).click()
        shown = self.wait(f'[data-kind="{kind}"]')
        text = shown.inner_text()
        self.press("Close")
        shown.wait_for_element_state("hidden")
        return text

    def design(self):
        self.page.keyboard.press("Control+Enter")
        self.wait("[data-status] >> text=Done in")


@pytest.fixture
def tabs(context, studio):
    """Makes tabs; afterwards none of them had an error or asked another server for anything."""
    made = []

    def make():
        made.append(Tab(context, studio))
        return made[-1]

    yield make
    for tab in made:
        tab.page.close()
        assert tab.errors == []
        assert tab.elsewhere == []


@pytest.fixture
def tab(tabs):
    return tabs()


@pytest.fixture
def picture(tmp_path):
    """Takes a screenshot; into the folder of the documentation when TIGHTROPE_PICTURES names it."""

    def take(tab, name, full=False):
        from PIL import Image

        wanted = os.environ.get("TIGHTROPE_PICTURES")
        path = Path(wanted or tmp_path, f"{name}.png")
        tab.page.mouse.move(2, 718)
        tab.page.evaluate("window.scrollTo(0, 0)")
        tab.page.screenshot(path=path, full_page=full, animations="disabled")
        with Image.open(path) as shot:
            small = shot.convert("RGB").quantize(128)
        small.save(path, optimize=True)
        colours = len(small.getcolors())
        assert colours > 16, "the picture is empty"
        return path

    return take


@pytest.fixture
def python(tmp_path):
    """Runs a program in an empty folder; returns the lines that it prints."""

    def run(text):
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder
