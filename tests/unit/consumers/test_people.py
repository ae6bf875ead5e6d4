"""The law of the answer when people are independent and alike, against all databases."""

import itertools
import math
import pickle
from collections import defaultdict
from fractions import Fraction

import pytest

import tightrope as tr
from tightrope.consumers import Prior, ProductPrior, prior
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import ExplicitGraph, PathPower
from tightrope.queries import usual_loss

THIRDS = ("1/6", "1/3", "1/2")


def by_listing(query: tr.Query, chances: tuple[str, ...]) -> list[Fraction]:
    """Go through all databases and add up their probabilities by answer."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    assert query.values is not None
    assert query.individuals is not None
    each = list(zip(query.values, map(Fraction, chances), strict=True))
    for people in itertools.product(each, repeat=query.individuals):
        answer = query.answer([value for value, _ in people])
        found[query.graph.index(answer)] += math.prod(chance for _, chance in people)
    return [found[i] for i in range(query.graph.size)]


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize(
    ("text", "chances"),
    [
        ("count(4)", ("1/3", "2/3")),
        ("count_mod(5,3)", ("1/3", "2/3")),
        ("sum(4,2)", THIRDS),
        ("mean(3,2)", THIRDS),
        ("median(3,2)", THIRDS),
        ("median(4,2)", THIRDS),
        ("median(2,3)", ("1/8", "1/8", "1/4", "1/2")),
        ("histogram(4,3)", THIRDS),
        ("databases(3,3)", THIRDS),
    ],
)
def test_the_law_is_that_of_all_databases(
    text: str, chances: tuple[str, ...], relation: str
) -> None:
    query = tr.query(text, neighbours=relation)
    law = prior(f"people({','.join(chances)})", query.graph)
    assert list(law.exact) == by_listing(query, chances)
    assert law.probabilities == pytest.approx([float(p) for p in law.exact], rel=1e-12)


@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_independent_properties_are_counted_apart(relation: str) -> None:
    query = tr.query("counts(3,2)", neighbours=relation)
    chances = [
        math.prod(
            p if has else 1 - p for has, p in zip(value, (0.25, 0.5), strict=True)
        )
        for value in query.values or ()
    ]
    law = prior("people(1/4,1/2)", query.graph)
    assert isinstance(law, ProductPrior)
    texts = tuple(str(Fraction(chance)) for chance in chances)
    assert list(law.exact) == by_listing(query, texts)


def test_two_values_make_a_binomial() -> None:
    law = prior("people(.7,.3)", tr.query("count(40)").graph)
    assert law.probabilities == pytest.approx(
        Prior.binomial(41, 0.3).probabilities, rel=1e-10
    )
    assert prior("people(0,1)", tr.query("count(3)").graph).probabilities.tolist() == [
        0,
        0,
        0,
        1,
    ]
    assert pickle.loads(pickle.dumps(law)).exact == law.exact


@pytest.mark.parametrize(
    ("query", "text", "message"),
    [
        ("sum(20,3)", "people(.7,.2,.1)", "needs 4 probabilities, one for each value"),
        (
            "counts(3,2)",
            "people(.5,.4,.1)",
            "needs 2 probabilities, one for each property",
        ),
        ("count(5)", "people(.7,.7)", "must sum to 1"),
        ("counts(3,2)", "people(.5,1.5)", "0 ≤ p ≤ 1"),
        ("choice(3)", "people(.7,.2,.1)", "needs a question about people"),
        ("star(3)", "people(.7,.2,.1)", "needs a question about people"),
        ("path(5)", "people(.7,.3)", "needs a question about people"),
    ],
)
def test_refusals(query: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prior(text, tr.query(query).graph)


def test_a_graph_of_ones_own_has_no_people() -> None:
    with pytest.raises(InputError, match="needs a question about people"):
        prior("people(.5,.5)", ExplicitGraph([(0, 1)]))


def test_a_name_alone_is_no_question() -> None:
    """A graph that is called as a question does not get its law or its loss."""
    called = PathPower(5, 2, name="sum(2,2)")
    assert called.name == tr.query("sum(2,2)").graph.name
    with pytest.raises(InputError, match=r"got sum\(2,2\), a graph without a question"):
        prior("people(.5,.25,.25)", called)
    assert usual_loss(tr.query(called)) == "binary"
    assert usual_loss(tr.query("sum(2,2)")) == "absolute"


def test_a_window_of_a_large_sum_is_the_binomial_one() -> None:
    """Powers by Fourier transforms, and ratios outwards from the mode."""
    graph = tr.query("count(2000000)").graph
    (start, by_powers), (other, by_ratios) = (
        prior(text, graph).window for text in ("people(.7,.3)", "binomial(.3)")
    )
    shared = by_ratios[start - other : start - other + len(by_powers)]
    assert by_powers == pytest.approx(shared, rel=1e-9, abs=1e-16)
    with pytest.raises(TooLarge, match="a multinomial prior"):
        _ = prior("people(.5,.2,.2,.1)", tr.query("histogram(3000,4)").graph).window


def test_long_sums_whose_answers_are_not_numbered_by_them() -> None:
    """Fractions with all denominators are many more answers than sums, remainders far fewer."""
    graph = tr.query("mean(20,1700)", neighbours="add-remove").graph
    law = prior(f"people({'0,' * 1700}1)", graph)
    assert law[graph.index(1700)] == pytest.approx(1)
    few = prior("people(.5,.5)", tr.query("count_mod(40000,4)").graph)
    assert few.probabilities == pytest.approx([0.25] * 4)
    assert prior("people(0,1)", tr.query("count_mod(40001,4)").graph)[
        1
    ] == pytest.approx(1)
