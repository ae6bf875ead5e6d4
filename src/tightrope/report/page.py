"""One self-contained HTML page about a design: pictures, comparison, leakage, proofs."""

from __future__ import annotations

import contextlib
import io
import math
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.channels import UnboundedNoise
from tightrope.errors import TightropeError, TooLarge
from tightrope.leakage.bounds import explain
from tightrope.leakage.measures import analyse
from tightrope.optimize import Design
from tightrope.optimize.certificate import StretchedCertificate, UnboundedCertificate
from tightrope.report.plots import plot_channel, plot_graph
from tightrope.report.texts import design_rows
from tightrope.texts import html_table

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
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def published_report(
    tables: Sequence[tuple[str, Sequence[Sequence[str]], Sequence[str]]],
    facts: Mapping[str, str],
    pictures: Sequence[Any] = (),
) -> str:
    """Return a page that opens with published numbers and says how good and how sure they are.

    Parameters
    ----------
    tables
        For each question its name, its lines of texts (the first are the titles) and its notes.
    facts
        What was paid, what is left, and the like.
    pictures
        Matplotlib figures of the numbers with their intervals.

    Examples
    --------
    >>> page = published_report([("smokers", [["n"], ["17 ± 3"]], ["Proved best."])], {"paid": "1"})
    >>> "<td>17 ± 3</td>" in page, "src=" in page
    (True, False)
    """
    parts = ["<h1>Published numbers</h1>"]
    for name, (head, *lines), notes in tables:
        parts += [f"<h2>{escape(name)}</h2>" if name else "", html_table(lines, head)]
        parts += [f"<p>{escape(note)}</p>" for note in notes]
    parts += [_figure(picture, "Each number with its interval") for picture in pictures]
    parts.append(f"<h2>What was asked, and what it cost</h2>{html_table(facts.items())}")
    parts.append(
        "<p>An interval holds the true number with at least the probability that is stated, "
        "whatever the table holds. <em>Usual noise</em> is independent noise on each number, of "
        "the scale that the same ε demands. <em>Absolute loss</em> is the error itself, "
        "<em>distance loss</em> how many people would have to change to make the numbers true; "
        "<em>away from the ends</em>: not next to 0 or to everybody. <code>tightrope verify</code> "
        "checks the receipt.</p>"
    )
    return _page("Published numbers", parts)


def _head(design: Design) -> str:
    best = "certified: no ε-private mechanism loses less, by more than the gap below"
    return (
        f"<h1>Mechanism for {escape(design.graph.name)}</h1>"
        f"<p>Privacy level ε = {escape(str(design.epsilon))}: any output is at most "
        f"{_number(math.exp(float(design.level)))} times as likely under one answer as under a "
        f"neighbouring one. The mechanism is {best if design.certified else design.claim}.</p>"
    )


def _answer_graph(design: Design) -> str:
    graph = design.graph
    facts = [("answers", f"{graph.size:,}")]
    # Counting edges may need the whole graph: leave the facts out where that is refused.
    with contextlib.suppress(TightropeError):
        facts += [("edges", f"{graph.edge_count:,}"), ("diameter", _number(graph.diameter))]
    picture = _svg(lambda: plot_graph(graph), "Answers; an edge joins two that one person can swap")
    return f"<h2>The question</h2>{html_table(facts)}{picture}"


def _mechanism(design: Design) -> str:
    if isinstance(design.channel, UnboundedNoise):
        return "<h2>The mechanism</h2>" + _noise(design.channel)
    caption = "Rows are true answers, columns are reported outputs"
    return "<h2>The mechanism</h2>" + _svg(lambda: plot_channel(design.channel), caption)


def _noise(noise: UnboundedNoise, most: int = 8) -> str:
    """Say what noise on a lattice adds to one of the numbers of an answer."""
    rows, inside = [], 0.0
    for a in range(most + 1):
        inside += noise.coordinate(a) * (2 if a else 1)
        rows.append((f"within {a}", f"in {100 * inside:.4g} % of cases"))
    told = "A point of the lattice is added to the answer, and each number held between its ends."
    return f"<p>{told} Each number of the answer changes by noise that is</p>{html_table(rows)}"


def _consumer(design: Design) -> str:
    consumer = design.consumer
    if consumer.risk_averse:
        possible = design.nodes if consumer.all_answers else len(consumer.support)
        knows = f"{possible} of {design.nodes} answers that are possible"
    else:
        likely = consumer.prior.maximum
        knows = f"a prior over the {design.nodes} answers; the likeliest has {likely:.4g}"
    told = {"the consumer knows": knows, "counts as loss": consumer.loss.name}
    return f"<h2>What the consumer gets</h2>{html_table((told | design_rows(design)).items())}"


def _comparison(design: Design) -> str:
    values = [("this mechanism", design.expected_loss, "best")]
    values += [
        (f"{name} noise, with the best guess from it", loss, "")
        for name, loss in design.baselines.items()
    ]
    values.append(("no private mechanism that sees only the true answer", design.bound, ""))
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
        prior, level = design.consumer.prior, design.level
        try:
            lines += analyse(design.channel, design.graph, prior, epsilon=level).sentences
        except TooLarge as refused:
            lines.append(f"What it tells about the answer is not measured: {refused}.")
    return "<h2>What it leaks</h2>" + "".join(f"<p>{escape(line)}</p>" for line in lines)


def _proofs(design: Design) -> str:
    rows = [("proved", design.claim)]
    certificate = design.certificate
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
    return str(np.format_float_positional(0.0 + float(value), 9, fractional=False, trim="-"))


def _svg(draw: Callable[[], Axes], caption: str) -> str:
    """Return a drawing as inline SVG, or a sentence when it is too large to draw."""
    try:
        figure = draw().get_figure()
    except TightropeError as refused:
        return f"<p>Not drawn: {escape(str(refused))}.</p>"
    return _figure(figure, caption)


def _figure(figure: Any, caption: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    # The metadata holds the only URLs on the page: it must load nothing from elsewhere.
    picture = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    return f"<figure>{picture}<figcaption>{escape(caption)}.</figcaption></figure>"
