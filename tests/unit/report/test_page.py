"""The HTML page about a design: whole, self-contained, safe."""

import json
import re
from html.parser import HTMLParser

import pytest

import tightrope as tr
from tightrope.consumers import Consumer
from tightrope.graphs import ExplicitGraph
from tightrope.optimize import design
from tightrope.report.page import (
    Publication,
    html_report,
    published_report,
    receipts_of,
)
from tightrope.texts import TextTable

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Collects headings and text, and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert name not in {"src", "srcset"}, "nothing from outside"
            if name in {"href", "xlink:href"}:
                assert value.startswith("#"), value

    def handle_startendtag(self, tag, attrs) -> None:
        """An element without content is closed at once."""

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if "style" in self.open:
            return
        self.text += data
        if self.open and self.open[-1] in {"h1", "h2"}:
            self.headings.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_the_page_has_every_part() -> None:
    page = html_report(design("sum(4,2)", "ln(2)"))
    reader = read(page)
    assert reader.headings == [
        "Mechanism for sum(4,2)",
        "The question",
        "The mechanism",
        "What the consumer gets",
        "Compared with others (loss: less is better)",
        "What it leaks",
        "Proofs, and how to check them",
    ]
    assert page.count("<svg") == 2
    assert "@media print" in page
    assert "tightrope verify" in reader.text


def test_numbers_are_those_of_the_design() -> None:
    found = design("choice(3)", "ln(2)")
    text = read(html_report(found)).text
    assert "nothing: each of the 3 answers is equally likely" in text
    assert "50 % of the time" in text
    assert found.claim in text
    assert "correctly at most 66.7 % of the time after" in text
    assert "at most 0.416 of 1 bit" in text


def test_numbers_are_short_enough_to_be_read() -> None:
    text = read(html_report(design("sum(4,2)", 1))).text
    # 2.7182… is rounded up, because it is a bound.
    assert "at most 2.72 times as likely" in text
    digits = [
        number.replace(".", "").lstrip("0") for number in re.findall(r"\d+\.\d+", text)
    ]
    assert 3 <= max(map(len, digits)) <= 6


def test_a_risk_averse_reader() -> None:
    graph = tr.query("choice(4)").graph
    found = design(graph, 1, Consumer.of(graph, support="0..2", loss="binary"))
    text = read(html_report(found)).text
    assert "3 of 4 answers" in text
    assert "loss, worst answer" in text


def test_a_large_design_is_not_drawn_whole() -> None:
    page = html_report(design("count(100000)", 1))
    assert len(page) < 1_000_000
    assert "100,001" in read(page).text


def test_labels_cannot_carry_markup() -> None:
    graph = ExplicitGraph(
        [(0, 1), (1, 2)],
        labels=["<script>alert(1)</script>", "b", "c"],
        name="<b>bad</b>",
    )
    page = html_report(design(graph, "ln(2)"))
    read(page)
    assert "<script" not in page
    assert "<b>" not in page


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = html_report(design("path(4)", 1))
    assert not re.search(r"(?:src|url)\s*[=(]\s*[\"']?https?:", page)
    assert "<link" not in page
    assert "@import" not in page


@pytest.mark.parametrize(
    "question", ["path(3)", "petersen", "star(4)", "databases(2,2)"]
)
def test_pages_of_other_graphs(question) -> None:
    assert question.split("(")[0] in read(html_report(design(question, 1))).text


def test_published_numbers_open_the_page_and_their_words_are_escaped():
    lines = [["town", "n", "n, usual noise"], ["<b>", "17 ± 3", "± 4"]]
    tables = [TextTable("people", lines, ["Proved optimal."])]
    receipt = {"position": 7, "ledger": "a1", "hash": "f0", "sql": "</script><b>"}
    page = published_report(
        Publication("<People>", tables, {"ε": "1"}, {"paid": "1"}, receipts=[receipt])
    )
    assert "<h1>&lt;People&gt;</h1>" in page
    assert "entry 7 of ledger a1, hash f0" in page
    assert [json.loads(text) for text in receipts_of(page)] == [receipt]
    assert "</script><b>" not in page
    assert page.index("17 ± 3") < page.index("what it cost")
    assert "<td>&lt;b&gt;</td>" in page
    assert "<td>± 4</td>" in page


def test_what_is_true_of_several_tables_is_said_once_behind_the_last_of_them():
    both = "All tables come from one estimate."
    tables = [
        TextTable("sex", [["n"], ["17"]], [both, "Of the first."]),
        TextTable("town", [["n"], ["18"]], [both]),
    ]
    page = published_report(Publication("People", tables, {}, {}))
    assert page.count(both) == 1
    places = [page.index(text) for text in ("<td>17", "Of the first.", "<td>18", both)]
    assert places == sorted(places)


def test_job_shows_its_shares_and_heat_maps():
    lines = [["sex", "yes", "no"], ["f", "1", "4"]]
    table = TextTable("sex × smokes", lines, heat={(0, 1): 0.25, (0, 2): 1.0})
    margins = TextTable("", [["published", "margin"], ["n by <sex>", "± 3"]])
    plans = [(margins, {"<sex>": 0.25, "sex × smokes": 0.75})]
    page = published_report(Publication("People", [table], {}, {}, plans=plans))
    assert '<td style="--heat:25%">1</td><td style="--heat:100%">4</td>' in page
    assert "<td>f</td>" in page
    assert '<i style="width:25%"></i><i style="width:75%"></i>' in page
    assert "<li>&lt;sex&gt;: 25 % of ε</li>" in page
    assert "<td>n by &lt;sex&gt;</td>" in page
    assert "How ε was shared" not in published_report(
        Publication("People", [table], {}, {})
    )
