"""An outside judge of the whole way of a release: it sees outcomes, and nothing else.

Two neighbouring tables are asked the same question many times. If the release is ε-private, every
set S of outcomes has P(S | one) ≤ e^ε · P(S | other), so what is seen bounds ε from below:
ε ≥ ln(lower bound of P(S | one) / upper bound of P(S | other)), by Clopper and Pearson (1934), for
all sets looked at together. Refusals are outcomes too. A sound release stays below its ε; each
planted fault must be found.
"""

import dataclasses
import math
from collections import Counter

import pyarrow as pa
import pytest
from scipy.stats import beta

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import TightropeError
from tightrope.publish import Ledger, parse_facts, release
from tightrope.publish.sampler import Sampler
from tightrope.publish.sources import Frame

PEOPLE = 12
EPSILON = math.log(2)
FACTS = parse_facts(
    f"""
[tables.people]
population = {PEOPLE}
neighbours = "add-remove"
budget = "500"
person = "id"
contributions = 1

[tables.people.columns]
age = {{ bounds = [0, 90] }}
"""
)
SQL = "select count(*) from people where age > 30"
#: Five people, and the same with somebody who has many rows, some of them strange.
HERE = [(k, 20 + 5 * k) for k in range(5)]
NEIGHBOUR = HERE + [
    (77, age) for age in (31, 90, 2**62, -5, None, 44, 45, 46, 47, 48, 49, 50)
]


@pytest.fixture(scope="module")
def counting():
    noise = GeometricChannel(PEOPLE + 1, "ln(2)")
    return certify(noise, f"count({PEOPLE})", "ln(2)", neighbours="add-remove")


def seen(mechanism, rows, ledger, times, facts=FACTS):
    """Return how often each outcome came."""
    ids, ages = zip(*rows, strict=True)
    table = pa.table({"id": ids, "age": pa.array(ages, pa.int64())})
    found = Counter()
    for _ in range(times):
        try:
            found[
                release(
                    mechanism, data=table, sql=SQL, ledger=ledger, facts=facts
                ).answer
            ] += 1
        except TightropeError as refused:
            found[type(refused).__name__] += 1
    return found


def least_epsilon(one, other, error=1e-6):
    """Return an ε below which the release is not, but for a chance of error."""
    outputs = sorted(o for o in {*one, *other} if isinstance(o, int))
    sets = [{o} for o in {*one, *other}]
    sets += [set(outputs[:k]) for k in range(1, len(outputs))]
    sets += [set(outputs[k:]) for k in range(1, len(outputs))]
    share = error / (4 * len(sets))
    bounds = [
        _lower(first, event, share) / _upper(second, event, share)
        for event in sets
        for first, second in ((one, other), (other, one))
    ]
    return math.log(max(bounds)) if max(bounds) > 0 else -math.inf


def _lower(counts, event, share):
    n, k = counts.total(), sum(counts[o] for o in event)
    return float(beta.ppf(share, k, n - k + 1)) if k else 0.0


def _upper(counts, event, share):
    n, k = counts.total(), sum(counts[o] for o in event)
    return float(beta.ppf(1 - share, k + 1, n - k)) if k < n else 1.0


def observed(counting, tmp_path, times, facts=FACTS, error=1e-6):
    book = Ledger.create(tmp_path / "ledger.db")
    both = [seen(counting, rows, book, times, facts) for rows in (HERE, NEIGHBOUR)]
    return least_epsilon(*both, error)


def test_the_whole_way_keeps_its_epsilon(counting, tmp_path):
    assert observed(counting, tmp_path, 150) <= EPSILON


def test_what_is_seen_grows_towards_epsilon():
    """The judge is not blind: with many draws of the mechanism alone its bound is close."""
    made = certify(GeometricChannel(13, "ln(2)"), "count(12)", "ln(2)")
    one, other = (Counter(Sampler(made, row).draws(100_000)) for row in (5, 6))
    assert 0.6 < least_epsilon(one, other) <= EPSILON


# -- faults that it must find -------------------------------------------------------------------

TIMES = 40


def test_an_answer_without_noise_is_found(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(Sampler, "draw", lambda self: self.row)
    assert observed(counting, tmp_path, TIMES, error=1e-3) > EPSILON


def test_a_row_that_ends_the_question_is_found(counting, tmp_path, monkeypatch):
    prepare = Frame.prepare

    def fails(self, columns):
        if 2**62 in self.data["age"].to_pylist():
            raise OverflowError
        prepare(self, columns)

    monkeypatch.setattr(Frame, "prepare", fails)
    assert observed(counting, tmp_path, TIMES, error=1e-3) > EPSILON


def test_rows_beyond_the_contributions_are_found(counting, tmp_path):
    table = dataclasses.replace(FACTS.table("people"), person=None)
    facts = dataclasses.replace(FACTS, tables={"people": table})
    assert observed(counting, tmp_path, TIMES, facts, error=1e-3) > EPSILON


def test_a_refusal_that_depends_on_rows_is_found(counting, tmp_path, monkeypatch):
    columns = Frame.columns

    def guessed(self):
        if None in self.data["age"].to_pylist():
            raise ValueError("column 'age' is float64")
        return columns(self)

    monkeypatch.setattr(Frame, "columns", guessed)
    assert observed(counting, tmp_path, TIMES, error=1e-3) > EPSILON


def test_noise_that_is_always_the_same_is_found(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(Sampler, "draw", lambda self: self.row + 1)
    assert observed(counting, tmp_path, TIMES, error=1e-3) > EPSILON
