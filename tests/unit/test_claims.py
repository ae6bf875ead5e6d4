"""Every sentence about quality is what an independent computation gives, and no more."""

import ast
import itertools
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import tightrope as tr
from tightrope import claims
from tightrope.asking import plan
from tightrope.certify import by_score, certify, verify
from tightrope.channels import GeometricChannel
from tightrope.claims import (
    SENTENCES,
    Claim,
    claim_of_design,
    percent_above,
    usual_sentence,
)
from tightrope.consumers import Consumer
from tightrope.optimize import design, design_limited
from tightrope.proofs import prove, prove_shown_count
from tightrope.publish import parse_facts
from tightrope.publish.noise import noise_of

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"
BAYES = {"prior": "uniform"}
WORST = {"support": "all"}
FACTS = """
[tables.people]
population = 120
[tables.people.columns]
age = { bounds = [0, 3] }
region = { values = ["north", "south"] }
"""


def made(text, loss, known, route=None, near="change-one"):
    asked = tr.query(text, neighbours=near)
    consumer = Consumer.of(asked.graph, loss=loss, **known)
    return prove(design(asked, 1, consumer, route=route), asked)


def losses(graph, loss):
    """What each guess costs at each answer, from the definitions."""
    size = graph.size
    if loss == "binary":
        return 1 - np.eye(size)
    if loss == "distance":
        return np.array(
            [[graph.distance(i, k) for k in range(size)] for i in range(size)]
        )
    labels = [float(graph.label(i)) for i in range(size)]
    return np.abs(np.subtract.outer(labels, labels))


def least(graph, cost, worst):
    """The smallest loss of any 1-private matrix, by one linear program over all its entries."""
    size = graph.size
    entries = size * size
    rows = []
    for i, h in itertools.chain(graph.edges(), ((b, a) for a, b in graph.edges())):
        for o in range(size):
            row = np.zeros(entries + 1)
            row[i * size + o] = 1
            row[h * size + o] = -np.e
            rows.append(row)
    aim = np.zeros(entries + 1)
    for i in range(size):
        row = np.zeros(entries + 1)
        row[i * size : (i + 1) * size] = cost[i]
        row[-1] = -1
        if worst:
            rows.append(row)
        else:
            aim[:entries] += np.where(
                np.arange(entries) // size == i, np.tile(cost[i], size), 0
            )
    if worst:
        aim[-1] = 1
    else:
        aim /= size
    sums = np.kron(np.eye(size), np.ones(size))
    found = linprog(
        aim, A_ub=np.array(rows), b_ub=np.zeros(len(rows)),
        A_eq=np.hstack([sums, np.zeros((size, 1))]), b_eq=np.ones(size),
    )  # fmt: skip
    return found.fun


def own_loss(file, cost, worst):
    """The loss of the file's own rows and guesses."""
    graph = file.question.graph
    guesses = [
        graph.index(file.guess(file.output_label(o))) for o in range(file.shape[1])
    ]
    each = []
    for i in range(graph.size):
        weights = map(int, file.row_weights(i))
        pairs = zip(weights, guesses, strict=True)
        each.append(sum(weight / file.total * cost[i][k] for weight, k in pairs))
    return max(each) if worst else sum(each) / len(each)


@pytest.mark.parametrize(
    ("text", "loss", "known", "near"),
    [
        ("count(6)", "absolute", BAYES, "change-one"),
        ("count(6)", "absolute", WORST, "add-remove"),
        ("sum(3,2)", "absolute", BAYES, "change-one"),
        ("sum(3,2)", "absolute", WORST, "change-one"),
        ("counts(2,2)", "distance", WORST, "change-one"),
        ("histogram(3,3)", "distance", BAYES, "change-one"),
        ("choice(4)", "binary", BAYES, "change-one"),
    ],
)
def test_what_is_called_optimal_is_the_least_of_a_linear_program(
    text, loss, known, near
):
    file = made(text, loss, known, near=near)
    said = noise_of(file).claim()
    worst = "support" in known
    graph = file.question.graph
    cost = losses(graph, loss)
    assert said.startswith("Proved optimal: ")
    assert ("worst-case" in said) == worst
    assert ("equally likely" in said) == (not worst)
    assert own_loss(file, cost, worst) == pytest.approx(
        least(graph, cost, worst), abs=1e-7
    )


def test_a_bound_below_the_loss_is_a_distance_divided_by_the_bound():
    """Noise for ε = 1/4 sold at ε = 1: its distance is that from the true optimum, not its own."""
    asked = tr.query("count(6)")
    best = design(asked, 1, Consumer.of(asked.graph, loss="absolute", **BAYES))
    poor = design(asked, "1/4", Consumer.of(asked.graph, loss="absolute", **BAYES))
    claim = Claim(
        ("count", (6,)),
        poor.expected_loss,
        best.bound,
        loss="absolute",
        prior="uniform",
    )
    cost = losses(asked.graph, "absolute")
    true = poor.expected_loss / least(asked.graph, cost, False) - 1
    (percent,) = re.findall(r"at most ([\d.]+) % above", str(claim))
    assert not claim.is_optimal
    assert true <= float(percent) / 100 <= 1.06 * true
    assert true > 1  # divided by its own loss it would be below 100 %


def test_noise_without_ends_is_optimal_but_for_them():
    file = made("counts(8,2)", "distance", WORST, route="unbounded")
    said = noise_of(file).claim()
    graph = file.question.graph
    (percent,) = re.findall(r"ends included, at most ([\d.]+) % above", said)
    assert "except very near 0 or 8 (" in said
    # The bound of the file is below the optimum, so the sentence is never too kind.
    optimum = made("counts(8,2)", "distance", WORST).bound
    assert float(percent) / 100 >= float(file.expected_loss / optimum) - 1
    verdict = verify(file)
    exact = verdict.optimal_within / file.bound
    assert percent == percent_above(exact)
    assert graph.size == 81


def test_the_loss_and_the_consumer_are_those_of_the_file():
    """Whoever asks, the sentence is about the consumer that the judge found in the file."""
    asked = tr.query("count(6)")
    for prior, words in {"uniform": "equally likely", "binomial(.3)": "prior"}.items():
        consumer = Consumer.of(asked.graph, loss="squared", prior=prior)
        said = noise_of(prove(design(asked, 1, consumer), asked)).claim()
        assert "mean squared error" in said
        assert words in said


def test_a_file_without_a_bound_claims_privacy_only():
    file = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    assert noise_of(file).claim() == SENTENCES["private"].words
    assert not noise_of(file).is_optimal


def test_scores_and_choices_say_what_they_are():
    assert noise_of(by_score("commonest(5)", 1)).claim() == SENTENCES["scores"].words
    choice = prove_shown_count(1000, "ln(2)", "1e-3")
    said = noise_of(choice).claim()
    kept = [1 - int(choice.row_weights(k)[0]) / choice.total for k in range(100)]
    even = next(k for k, share in enumerate(kept) if share > 0.5)
    certain = next(k for k, share in enumerate(kept) if share == 1)
    assert f"one of {even} people as likely as not, one of {certain} or more" in said
    assert "private for ε = ln(2) and δ = 0.001 for each group" in said
    assert kept[1] == pytest.approx(1e-3)


def test_a_limit_is_part_of_the_claim():
    asked = tr.query("count(6)")
    consumer = Consumer.of(asked.graph, loss="absolute", **BAYES)
    limited = design_limited(asked, consumer, epsilon=1, max_vulnerability=0.3)
    said = noise_of(prove(limited, asked)).claim()
    assert "among those with vulnerability at most 0.3" in said


def test_a_design_and_its_file_say_the_same():
    asked = tr.query("sum(4,3)")
    found = design(asked, 1, Consumer.of(asked.graph, loss="absolute", **BAYES))
    assert str(claim_of_design(found)) == noise_of(prove(found, asked)).claim()


@pytest.mark.parametrize(
    ("excess", "percent"),
    [
        (Fraction(1, 3), "34"),
        (Fraction(1, 100), "1.0"),
        (0, "0"),
        (Fraction(326, 100), "326"),
    ],
)
def test_percentages_are_rounded_up(excess, percent):
    assert percent_above(excess) == percent
    assert Fraction(percent) >= 100 * Fraction(excess)


def test_a_stand_in_is_named_in_words_before_any_comparison(tmp_path, monkeypatch):
    """No query is named to whoever asked in SQL, and no bound of a draw is given unnamed."""
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    facts = parse_facts(FACTS)
    (asked,) = plan(
        [
            "select region, count(*) as n, sum(age) as s, count(*) filter (where age > 1) as k "
            "from people group by region"
        ],
        facts=facts,
        epsilon=1,
        ledger=tmp_path / "book.ledger",
    ).questions
    compared = [note for note in asked.notes if "smallest possible" in note]
    assert len(compared) >= 2
    for note in compared:
        assert re.match(
            r"What is proved is about the (count|sum of age) (by|in each)", note
        )
        assert not re.search(r"\b(count|sum|counts|histogram)\(", note)


def test_margins_are_called_the_same_only_where_they_are():
    same = usual_sentence(Fraction(4), Fraction(4), Fraction(1), 1)
    near = usual_sentence(Fraction(40001, 10000), Fraction(4), Fraction(1), 1)
    assert "the same margin" in same
    assert "± 4 instead of ± 4.001" in near


def test_every_sentence_is_of_the_table():
    """The code around the table fills in words; it has no sentence of its own, and uses all."""
    tree = ast.parse(Path(claims.__file__).read_text("utf-8"))
    table = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "SENTENCES"
    )
    texts = {id(node): node.value for node in ast.walk(tree) if is_text(node)}
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(node) for node in ast.walk(table)}
    around = [
        text
        for place, text in texts.items()
        if place not in inside and place not in docstrings
    ]
    assert [text for text in around if re.search(r"\w\.( |$)", text)] == []
    # A kind is named as it is, or is put together: "near" and " inside".
    named = {*around, *(f"{kind} inside" for kind in ("optimal", "near"))}
    assert set(SENTENCES) - named == set()


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_the_page_lists_every_sentence():
    """The page is the table of the code: words, when, and what is behind them."""
    page = PAGE.read_text()
    rows = [
        line
        for line in page.splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    listed = [
        tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows[1:]
    ]
    assert listed == [(s.words, s.when, s.behind) for s in SENTENCES.values()]
