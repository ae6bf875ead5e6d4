"""Self-contained HTML pages: about a design, and about published numbers."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.channels import UnboundedNoise
from tightrope.errors import TightropeError, TooLarge
from tightrope.leakage.bounds import explain, rounded_up
from tightrope.leakage.measures import analyse
from tightrope.optimize import Design
from tightrope.optimize.certificate import StretchedCertificate, UnboundedCertificate
from tightrope.report.plots import plot_channel, plot_graph
from tightrope.report.texts import design_rows, share_bar
from tightrope.texts import TextTable, html_table, percent_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes


def html_report(design: Design) -> str:
    """Return a page about a design that needs nothing but itself and prints well.

    Parameters
    ----------
    design
        A design, as ``tightrope.optimize.design`` returns it.

    Examples
    --------
    >>> from tightrope.optimize import design
    >>> page = html_report(design("choice(3)", "ln(2)"))
    >>> page.startswith("<!doctype html>"), "<svg" in page, "src=" in page
    (True, True, False)
    """
    parts = [
        _head(design),
        _answer_graph(design),
        _mechanism(design),
        _consumer(design),
        _comparison(design),
        _leakage(design),
        _proofs(design),
    ]
    return _page(f"{design.graph.name} at ε = {design.epsilon}", parts)


def _page(title: str, parts: Sequence[str]) -> str:
    # The style is part of the page: it must open without any other file.
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


@dataclass(frozen=True)
class Publication:
    """Published numbers with all that somebody needs to cite and to check them.

    Attributes
    ----------
    title
        What the numbers are about.
    tables
        The numbers with their margins.
    about
        The table, the date, the population, what is protected and at which ε.
    facts
        What was asked, paid and left.
    pictures
        Matplotlib figures of the numbers with their intervals.
    receipts
        The signed receipts.
    plans
        Of each job of several tables: its margins, and the share of ε of what was measured.
    sheet
        What NIST SP 800-226 asks of a claim of differential privacy, and the answers.
    """

    title: str
    tables: Sequence[TextTable]
    about: Mapping[str, str]
    facts: Mapping[str, str]
    pictures: Sequence[Any] = ()
    receipts: Sequence[Mapping[str, Any]] = ()
    plans: Sequence[tuple[TextTable, Mapping[str, float]]] = ()
    sheet: Mapping[str, str] = field(default_factory=dict)


def published_report(publication: Publication) -> str:
    """Return a page that opens with published numbers, can be cited, and holds its receipts.

    Examples
    --------
    >>> tables = [TextTable("smokers", [["n"], ["17 ± 3"]], ["Proved optimal."])]
    >>> page = published_report(Publication("Smokers", tables, {"ε": "1"}, {"paid": "1"}))
    >>> "<td>17 ± 3</td>" in page, "src=" in page
    (True, False)
    """
    about = publication.about
    # Everything from outside is escaped: titles and names come from the user.
    parts = [f"<h1>{escape(publication.title)}</h1>", html_table(about.items())]
    for place, table in enumerate(publication.tables):
        later = publication.tables[place + 1 :]
        title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
        # A wide table scrolls by itself, not the page; the keyboard reaches all of it.
        scrolls = f'<div class="scrolls" tabindex="0">{table.html}</div>'
        parts.append(f"<section>{title}{scrolls}</section>")
        # What is true of several tables is said once, behind the last of them.
        own = [note for note in table.notes if not any(note in x.notes for x in later)]
        parts += [f"<p>{escape(note)}</p>" for note in own]
    parts += [
        _figure(picture, "Each number with its interval")
        for picture in publication.pictures
    ]
    parts.append('<div class="columns">')
    for margins, shares in publication.plans:
        parts += [
            "<h2>How ε was shared</h2><p>The numbers of all tables come from one estimate, so "
            "they add up. These tables were measured, each with its share of ε:</p>",
            share_bar(shares),
            margins.html,
        ]
    parts.append(
        "<h2>Method</h2><p>Each number is the true one plus random noise, drawn from a mechanism "
        "whose differential privacy was checked in integers before any row was read. An interval "
        "contains the true number with at least the stated probability, whatever the table "
        "holds.</p><p><em>Usual noise</em> is independent geometric noise on each number, with "
        "the scale that the same ε demands. An error <em>in people</em> is how many people would "
        "have to change to make the published numbers true.</p>"
    )
    parts.append(
        f"<h2>What was asked, and what it cost</h2>{html_table(publication.facts.items())}"
    )
    if publication.sheet:
        parts.append(
            "<h2>NIST SP 800-226, point by point</h2><details><summary>What the guidelines for "
            "evaluating differential privacy guarantees ask, and the answers for this "
            f"publication</summary>{html_table(publication.sheet.items())}</details>"
        )
    if publication.receipts:
        parts.append(_citation(publication) + _receipts(publication.receipts))
    parts.append("</div>")
    return _page(publication.title, parts)


def _citation(publication: Publication) -> str:
    last = publication.receipts[-1]
    date = publication.about.get("published", "")
    # Position and hash make the citation verifiable against the ledger.
    place = f"entry {last['position']} of ledger {last['ledger']}, hash {last['hash']}"
    return (
        f"<h2>Cite as</h2><p>{escape(publication.title)}. {escape(date)}. Differentially private "
        f"release, ε = {escape(publication.about.get('ε', ''))}; {escape(place)}.</p>"
    )


def _receipts(receipts: Sequence[Mapping[str, Any]]) -> str:
    """Return the receipts as texts to read and as data that :func:`receipts_of` finds again."""
    parts = [
        "<h2>Receipts</h2><p>A receipt states one draw and its place in the ledger, and is signed. "
        "Save this page and run <code>tightrope verify</code> on it: every receipt is checked, and "
        "what it states is printed beside.</p>"
    ]
    for receipt in receipts:
        text = json.dumps(receipt, ensure_ascii=False, indent=1)
        # A text that ends the element early would be read as markup.
        data = text.replace("<", "\\u003c")
        parts.append(
            f"<details><summary>Receipt {escape(str(receipt['position']))}</summary>"
            f"<pre>{escape(text)}</pre></details>{RECEIPT}{data}</script>"
        )
    return "".join(parts)


#: Opens the element in which a page holds a receipt.
RECEIPT = '<script type="application/json" class="receipt">'


def receipts_of(page: str) -> list[str]:
    """Return the texts of the receipts that a report holds.

    >>> receipt = {"position": 7, "ledger": "a1", "hash": "f0", "sql": "a < b"}
    >>> page = published_report(Publication("Smokers", [], {}, {}, receipts=[receipt]))
    >>> [json.loads(text) == receipt for text in receipts_of(page)]
    [True]
    """
    # The inverse of _receipts: the element cannot end early, as < is escaped in it.
    parts = page.split(RECEIPT)[1:]
    return [part.partition("</script>")[0] for part in parts]


def _head(design: Design) -> str:
    return (
        f"<h1>Mechanism for {escape(design.graph.name)}</h1>"
        f"<p>Privacy level ε = {escape(str(design.epsilon))}: any output is at most "
        f"{rounded_up(math.exp(float(design.level)))} times as likely under one answer as under a "
        f"neighbouring one.</p><p>{escape(design.claim)}</p>"
    )


def _answer_graph(design: Design) -> str:
    graph = design.graph
    facts = [("answers", f"{graph.size:,}")]
    # Counting edges may need the whole graph: leave the facts out where that is refused.
    with contextlib.suppress(TightropeError):
        facts += [
            ("edges", f"{graph.edge_count:,}"),
            ("diameter", _number(graph.diameter)),
        ]
    picture = _svg(
        lambda: plot_graph(graph), "Answers; an edge joins two that one person can swap"
    )
    return f"<h2>The question</h2>{html_table(facts)}{picture}"


def _mechanism(design: Design) -> str:
    if isinstance(design.channel, UnboundedNoise):
        return "<h2>The mechanism</h2>" + _noise(design.channel)
    caption = "Rows are true answers, columns are reported outputs"
    return "<h2>The mechanism</h2>" + _svg(
        lambda: plot_channel(design.channel), caption
    )


def _noise(noise: UnboundedNoise, most: int = 8) -> str:
    """Say what noise on a lattice adds to one of the numbers of an answer."""
    rows = []
    inside = 0.0
    for a in range(most + 1):
        # Both signs of a deviation, but 0 only once.
        inside += noise.coordinate(a) * (2 if a else 1)
        rows.append((f"within {a}", f"in {100 * inside:.4g} % of cases"))
    return (
        "<p>A point of the lattice is added to the answer, and each number is held between its "
        f"ends. The noise in each number is</p>{html_table(rows)}"
    )


def _consumer(design: Design) -> str:
    consumer = design.consumer
    if consumer.risk_averse:
        possible = design.nodes if consumer.all_answers else len(consumer.support)
        knows = f"{possible} of {design.nodes} answers that are possible"
    else:
        likely = percent_text(consumer.prior.maximum)
        knows = (
            f"nothing: each of the {design.nodes:,} answers is equally likely"
            if consumer.prior.is_uniform
            else f"a prior over the {design.nodes:,} answers; the likeliest has {likely}"
        )
    rows = {"the consumer knows": knows, "counts as loss": consumer.loss.name}
    rows |= design_rows(design)
    return f"<h2>What the consumer gets</h2>{html_table(rows.items())}"


def _comparison(design: Design) -> str:
    values = [("this mechanism", design.expected_loss, "own")]
    values += [
        (f"{name} noise, with the best guess from it", loss, "")
        for name, loss in design.baselines.items()
    ]
    values.append(
        # The bound is a row of its own: it shows how much could be gained at most.
        (
            "no private mechanism that sees only the true answer is below",
            design.bound,
            "",
        )
    )
    # Losses may be negative for gains: bars show their size.
    top = max(abs(value) for _, value, _ in values) or 1.0
    rows = "".join(
        f'<tr class="{kind}"><th>{escape(name)}</th><td class="n">{_number(value)}</td>'
        f'<td><span class="meter" style="width:{100 * abs(value) / top:.2f}%"></span></td></tr>'
        for name, value, kind in values
    )
    title = "Compared with others (loss: less is better)"
    return f'<h2>{title}</h2><table class="bars">{rows}</table>'


def _leakage(design: Design) -> str:
    # The page has said before what ε is.
    lines = [*explain(epsilon=design.level).sentences[1:]]
    if not design.consumer.risk_averse:
        prior = design.consumer.prior
        level = design.level
        try:
            # A channel may be too large to be measured; then the page says so.
            lines += analyse(
                design.channel, design.graph, prior, epsilon=level
            ).sentences
        except TooLarge as refused:
            lines.append(f"What it tells about the answer is not measured: {refused}.")
    return "<h2>What it leaks</h2>" + "".join(
        f"<p>{escape(line)}</p>" for line in lines
    )


def _proofs(design: Design) -> str:
    rows = [("proved", design.claim)]
    certificate = design.certificate
    # These certificates have no price for each answer.
    if certificate is not None and not isinstance(
        certificate, StretchedCertificate | UnboundedCertificate
    ):
        rows.append(("certificate", f"one number for each of the {design.nodes} answers, called "
                     "its price: no private mechanism loses less than their sum"))  # fmt: skip
        if certificate.theorem:
            rows.append(("why the prices are valid", certificate.theorem))
        if design.nodes <= 12:
            prices = ", ".join(_number(float(price)) for price in certificate.prices)
            rows.append(("prices", prices))
    check = (
        "<p>Privacy and optimality do not rest on this page. Write the mechanism into a file with "
        "<code>tightrope design … --out mechanism.tightrope</code> and check the file, in integers "
        "and without any solver, with</p><pre>tightrope verify mechanism.tightrope</pre>"
    )
    return f"<h2>Proofs, and how to check them</h2>{html_table(rows)}{check}"


def _number(value: Any) -> str:
    # Added to 0, minus zero is zero.
    return str(
        np.format_float_positional(0.0 + float(value), 6, fractional=False, trim="-")
    )


def _svg(draw: Callable[[], Axes], caption: str) -> str:
    """Return a drawing as inline SVG, or a sentence when it is too large to draw."""
    try:
        figure = draw().get_figure()
    except TightropeError as refused:
        return f"<p>Not drawn: {escape(str(refused))}.</p>"
    return _figure(figure, caption)


def _figure(figure: Any, caption: str) -> str:
    buffer = io.StringIO()
    # No date: the same figure must give the same bytes.
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    # The metadata holds the only URLs on the page: it must load nothing from elsewhere.
    picture = re.sub(
        r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S
    )
    return f"<figure>{picture}<figcaption>{escape(caption)}.</figcaption></figure>"
