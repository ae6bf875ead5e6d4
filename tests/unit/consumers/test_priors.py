from fractions import Fraction
from math import comb, exp, factorial

import numpy as np
import pytest

from tightrope.consumers import Prior, ProductPrior
from tightrope.consumers.priors import UniformPrior
from tightrope.errors import InputError, TooLarge


def test_a_prior_is_kept_read_only() -> None:
    given = np.array([0.25, 0.75])
    prior = Prior(given)
    given[0] = 0.5
    assert prior.probabilities.tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="read-only"):
        prior.probabilities[0] = 1


def test_facts_of_a_listed_prior() -> None:
    prior = Prior([0.5, 0, 0.25, 0.25])
    assert isinstance(prior, Prior)
    assert (prior.size, len(prior), prior.maximum, prior.minimum) == (4, 4, 0.5, 0.0)
    assert prior.support.tolist() == [0, 2, 3]
    assert len(prior.support) == 3
    assert prior.entropy == 1.5
    assert (prior[0], prior[-1]) == (0.5, 0.25)
    assert list(prior) == [0.5, 0, 0.25, 0.25] == np.asarray(prior).tolist()
    assert not prior.is_uniform
    assert repr(prior) == "<Prior over 4 answers: 0.5, 0, 0.25, 0.25>"
    with pytest.raises(IndexError):
        prior[4]


def test_fractions_and_texts_are_kept() -> None:
    third = Fraction(1, 3)
    assert Prior([third] * 3).exact == (third,) * 3
    assert Prior(["1/3", "1/3", third]).exact == (third,) * 3
    assert Prior(["1e-1", ".9"]).exact == (Fraction(1, 10), Fraction(9, 10))


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert Prior([0.1, 0.9]).exact == (Fraction(1, 10), Fraction(9, 10))
    assert Prior([0.1, 0.9]).exact[0] != Fraction(0.1)


def test_uniform_is_decided_on_the_numbers_given() -> None:
    assert Prior([Fraction(1, 3)] * 3).is_uniform
    almost = Fraction(1, 3) + Fraction(1, 10**30)
    assert not Prior([almost, Fraction(1, 3), Fraction(1, 3)]).is_uniform


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([0.5, 0.499], r"sum to 1 \(within 1e-09\), got the sum 0.999"),
        ([0.5, 0.5, 0.5], "got the sum 1.5"),
        ([0.5, 0.500000002], "got the sum"),
        ([0.7, -0.1, 0.4], "non-negative, got -0.1 at position 1"),
        ([0.5, float("nan"), 0.5], "got nan at position 1"),
        ([float("inf"), 0.0], "got inf at position 0"),
        ([], "at least one probability, .* got shape"),
        (
            [0.5, "half"],
            "expected a number such as 0.3 or 1/3, got 'half' at position 1",
        ),
        ([0.5, "1/0"], "divide by zero"),
        ([0.5, None], "got 'None' at position 1"),
        ([True, False], "got 'True' at position 0"),
        ([[0.5], [0.5]], "expected a number"),
        (np.eye(2), "one row of numbers, got shape"),
        ("uniform", r"use prior\(text, graph\)"),
        (1.0, "a list of numbers, got '1.0'"),
        (["nan", "1"], "got 'nan' at position 0"),
        (["1e9999999", "0"], "expected a number"),
        (["1" * 500, "0"], "expected a number"),
    ],
)
def test_what_is_no_distribution_is_refused(numbers: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Prior(numbers)
    assert "\n" not in str(caught.value)


def test_a_sum_within_the_tolerance_is_taken_as_it_is() -> None:
    assert Prior([0.5, 0.5000000005]).probabilities.sum() != 1


def test_uniform_holds_no_list() -> None:
    prior = Prior.uniform(4**20)
    assert isinstance(prior, UniformPrior)
    assert prior.maximum == prior.minimum == prior[4**20 - 1] == 4.0**-20
    assert (prior.entropy, prior.is_uniform) == (40.0, True)
    for name in ("probabilities", "support", "exact"):
        with pytest.raises(TooLarge, match="1099511627776 numbers"):
            getattr(prior, name)
    small = Prior.uniform(3)
    assert small.exact == (Fraction(1, 3),) * 3
    assert small.probabilities.tolist() == [1 / 3] * 3
    assert small.support.tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3"])
def test_a_size_is_a_whole_number(size: object) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        Prior.uniform(size)  # type: ignore[arg-type]


def test_point() -> None:
    assert Prior.point(3, 2).support.tolist() == [2]
    assert Prior.point(3, 2).entropy == 0
    for wrong in (3, 1.5, -1, "a"):
        with pytest.raises(
            InputError, match=f"node must be a whole number from 0 to 2, got {wrong!r}"
        ):
            Prior.point(3, wrong)


def test_families_follow_their_formulas() -> None:
    n, k = 9, range(9)
    assert Prior.binomial(n, 0.3).probabilities == pytest.approx(
        [comb(8, j) * 0.3**j * 0.7 ** (8 - j) for j in k], rel=1e-13
    )
    total = sum(0.4**j for j in k)
    assert Prior.geometric(n, 0.6).probabilities == pytest.approx(
        [0.4**j / total for j in k], rel=1e-13
    )
    weights = [exp(-4) * 4**j / factorial(j) for j in k]
    assert Prior.poisson(n, 4).probabilities == pytest.approx(
        [weight / sum(weights) for weight in weights], rel=1e-13
    )


@pytest.mark.parametrize("family", [Prior.binomial, Prior.geometric, Prior.poisson])
def test_families_are_exact(family: object) -> None:
    prior = family(40, "3/10")  # type: ignore[operator]
    assert sum(prior.exact) == 1
    assert prior.probabilities == pytest.approx(
        [float(x) for x in prior.exact], rel=1e-12
    )


def test_families_at_their_ends() -> None:
    assert (
        Prior.binomial(3, 0).support.tolist()
        == Prior.geometric(3, 1).support.tolist()
        == [0]
    )
    assert Prior.binomial(3, 1).support.tolist() == [2]
    assert Prior.poisson(3, 0).support.tolist() == [0]
    assert Prior.binomial(1, 0.3).exact == Prior.poisson(1, 4).exact == (1,)


def test_families_of_a_million_answers() -> None:
    prior = Prior.binomial(10**6, 0.3)
    assert abs(prior.probabilities.sum() - 1) < 1e-12
    assert int(prior.probabilities.argmax()) in (300_000, 299_999)
    with pytest.raises(TooLarge, match="at most 2048 answers"):
        _ = prior.exact


@pytest.mark.parametrize(
    ("family", "value", "message"),
    [
        (Prior.binomial, 1.5, r"binomial\(p\) needs 0 ≤ p ≤ 1, got 1.5"),
        (Prior.binomial, float("nan"), "got nan"),
        (Prior.geometric, 0, r"geometric\(p\) needs p > 0"),
        (Prior.poisson, -1, r"poisson\(mean\) needs 0 ≤ mean"),
        (Prior.poisson, float("inf"), "got inf"),
        (Prior.poisson, "four", "expected a number"),
    ],
)
def test_wrong_parameters_are_refused(
    family: object, value: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        family(5, value)  # type: ignore[operator]


def test_a_product_prior_by_rule_is_the_listed_one() -> None:
    factor = Prior(["0.5", "0.3", "0.2", "0"])
    product = ProductPrior([factor] * 3)
    listed = Prior(product.probabilities)
    assert product.size == listed.size == 64
    assert product.probabilities == pytest.approx(
        np.kron(np.kron(factor, factor), factor), abs=1e-17
    )
    assert [product[i] for i in range(64)] == pytest.approx(list(listed), abs=1e-17)
    assert product.maximum == pytest.approx(listed.maximum)
    assert product.minimum == listed.minimum == 0
    assert product.entropy == pytest.approx(listed.entropy)
    assert product.support.tolist() == listed.support.tolist()
    assert len(product.support) == 27
    assert product.support.tolist() == listed.support.tolist()
    assert sum(product.exact) == 1
    assert [float(x) for x in product.exact] == pytest.approx(list(listed))
    assert not product.is_uniform
    assert ProductPrior([Prior.uniform(4)] * 20).is_uniform
    assert "4^3 answers" in repr(product)


def test_a_large_product_prior_is_not_listed() -> None:
    product = ProductPrior([Prior([0.3, 0.27, 0.23, 0.2])] * 20)
    assert product.maximum == pytest.approx(0.3**20)
    assert product[0] == pytest.approx(0.3**20)
    assert product[4**20 - 1] == pytest.approx(0.2**20)
    with pytest.raises(TooLarge):
        _ = product.probabilities


def test_a_product_needs_a_prior_and_a_number() -> None:
    with pytest.raises(InputError, match="the factors must be priors"):
        ProductPrior([[0.5, 0.5]] * 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="number of draws"):
        ProductPrior([Prior.uniform(2)] * 0)


def test_parts_of_different_sizes() -> None:
    product = ProductPrior([Prior(["1/4", "3/4"]), Prior(["1/2", "1/3", "1/6"])])
    listed = Prior(product.exact)
    assert product.probabilities == pytest.approx(listed.probabilities, rel=1e-15)
    assert [product[i] for i in range(6)] == pytest.approx(list(listed), rel=1e-15)
    assert product.entropy == pytest.approx(listed.entropy)
    assert product.min_entropy == pytest.approx(listed.min_entropy)
    assert product.factors([2, 3]) == list(product.parts)
    assert product.factors([3, 2]) is None
    assert listed.factors([2, 3]) is None
    assert repr(product).startswith("<ProductPrior over 2×3 answers")


def test_chances_beyond_the_range_of_floats() -> None:
    rare, sure = Prior.binomial(3, "1e-400"), Prior.binomial(3, f"0.{'9' * 350}")
    assert rare.probabilities.tolist() == [1, 0, 0]
    assert sure.probabilities.tolist() == [0, 0, 1]
    assert rare.exact[1] > 0
    assert sum(sure.exact) == 1
    assert Prior.poisson(3, "1e-400").probabilities.tolist() == [1, 0, 0]
