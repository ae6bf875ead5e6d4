"""Files of designs under a limit: the limit is kept and the bound proved, in exact numbers."""

from fractions import Fraction

import numpy as np
import pytest
from tests.forged import forged, unpack

from tightrope.certify import Limited, Proof, certify, verify
from tightrope.channels import rational
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import Clique, PathPower
from tightrope.optimize import design_limited
from tightrope.proofs import prove
from tightrope.queries import query

HALVES = np.array([[2, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1.0]])
#: A graph that needs multipliers, one that needs none, and an attacker of his own.
ASKED = {
    "vulnerability": ("cycle(6)", {"max_vulnerability": 0.25}),
    "loss": ("cycle(6)", {"max_loss": 1.1}),
    "tree": ("path(6)", {"max_vulnerability": 0.22}),
    "attacker": ("cycle(6)", {"max_vulnerability": 0.7, "gain": HALVES}),
    "attacker, loss": ("cycle(6)", {"max_loss": 0.95, "gain": HALVES}),
}


def made_for(name):
    text, asked = ASKED[name]
    question = query(text)
    reader = Consumer.of(question.graph, prior="uniform", loss="distance")
    return design_limited(question, reader, epsilon="ln(2)", **asked), question


@pytest.fixture(scope="module", params=ASKED)
def made(request):
    found, question = made_for(request.param)
    return found, prove(found, question)


def changed(mechanism, header=(), sections=()):
    """The file with some fields and sections changed, and a digest that fits."""
    return forged(mechanism, header, **dict(sections))


def test_the_limit_is_kept_and_the_design_is_best_under_it(made):
    found, mechanism = made
    verdict = verify(mechanism)
    assert verdict.reasons == ()
    assert 0 <= verdict.optimal_within < Fraction(1, 10**10)
    told = mechanism.header["limit"]
    limit = Fraction(repr(found.limit))
    assert Fraction(told["most"]) == limit
    assert float(Fraction(told["vulnerability"])) == pytest.approx(
        found.vulnerability, abs=1e-11
    )
    kept = Fraction(told["vulnerability"])
    if found.minimised == "vulnerability":
        kept = mechanism.expected_loss
    assert limit * (1 - Fraction(1, 10**10)) < kept <= limit
    assert verdict.under == f"{told['limited']} at most {found.limit:.12g}"
    assert verdict.as_dict()["under"] == verdict.under
    assert f"with {verdict.under}" in str(verdict)
    # The limit binds: without it the same prices would prove too much.
    assert found.certificate.weight > 0.1


def test_every_changed_number_is_noticed(made):
    _, mechanism = made
    header, arrays = unpack(mechanism)
    limit, proof = header["limit"], header["certificate"]
    other = {"loss": "vulnerability", "vulnerability": "loss"}
    more = Fraction(1, 10**15)
    headers = [
        {"limit": {**limit, "limited": other[limit["limited"]]}},
        {"limit": {**limit, "limited": "privacy"}},
        {"limit": {**limit, "most": str(Fraction(limit["most"]) + more)}},
        {"limit": {**limit, "most": str(Fraction(limit["most"]) / 2)}},
        {
            "limit": {
                **limit,
                "vulnerability": str(Fraction(limit["vulnerability"]) + more),
            }
        },
        {"limit": {**limit, "vulnerability": "9" * 1999}},
        {"limit": []},
        {"limit": None},
        {"certificate": {**proof, "weight": proof["weight"] + 1}},
        {"certificate": {**proof, "weight": 0}},
        {"certificate": {**proof, "weight": -1}},
        {"certificate": {**proof, "weight": 0.5}},
        {"certificate": {**proof, "weight": 10**400}},
        {"certificate": {**proof, "bits": proof["bits"] - 1}},
        {"certificate": {**proof, "bits": 0}},
        {"certificate": {**proof, "kind": "phi"}},
        {"certificate": {**proof, "kind": "line"}},
        {"bound": str(Fraction(header["bound"]) + more)},
        {"expected_loss": str(Fraction(header["expected_loss"]) - more)},
        {"expected_loss": "9" * 1999},
    ]
    attacker = limit["attacker"]
    if attacker["kind"] == "listed":
        for key, number in (
            ("denominator", attacker["denominator"] + 1),
            ("actions", 3),
        ):
            headers.append({"limit": {**limit, "attacker": {**attacker, key: number}}})
        headers.append({"limit": {**limit, "attacker": {"kind": "guesser"}}})
    for one in filter(None, headers):
        verdict = verify(changed(mechanism, header=one))
        assert verdict.reasons, one
        assert (verdict.optimal_within, verdict.under) == (None, None)
    for name in set(arrays) & {"choices", "prices", "attack", "prior", "weights"}:
        for at in range(0, len(arrays[name]), 5):
            for step in (-1, 1):
                wrong = arrays[name].copy()
                wrong[at] += step
                assert verify(changed(mechanism, sections={name: wrong})).reasons, (
                    name,
                    at,
                )
    guesses = arrays["choices"].reshape(-1, len(arrays["choices"]) // 6)
    assert verify(
        changed(mechanism, sections={"choices": guesses[::-1].ravel()})
    ).reasons
    moved = guesses.copy()
    moved[0] = np.roll(moved[0], 1)
    assert verify(changed(mechanism, sections={"choices": moved.ravel()})).reasons
    negative = guesses.copy()
    negative[0, :2] += np.array([-(1 << 61), 1 << 61])
    assert verify(changed(mechanism, sections={"choices": negative.ravel()})).reasons
    for name in set(arrays) & {
        "arc_guess",
        "arc_from",
        "arc_to",
        "arc_value",
        "places",
    }:
        # Any root that works is a proof, so only one that does not exist is wrong.
        wrong = {"arc_value": arrays[name] // 2, "places": arrays[name] + 6}.get(
            name, 0 * arrays[name]
        )
        assert verify(changed(mechanism, sections={name: wrong})).reasons, name


def test_an_attacker_who_is_too_much_work_is_refused():
    mechanism = prove(*made_for("attacker"))
    header, _ = unpack(mechanism)
    attacker = {**header["limit"]["attacker"], "actions": 10**12}
    many = {"limit": {**header["limit"], "attacker": attacker}}
    said = verify(changed(mechanism, header=many)).reasons[0]
    assert said.startswith("header.limit.attacker.actions must be")


def test_an_attacker_who_can_gain_nothing_is_refused():
    """Under him every mechanism keeps every limit."""
    mechanism = prove(*made_for("attacker"))
    nothing = np.zeros(12, np.int64)
    said = verify(changed(mechanism, sections={"attack": nothing})).reasons
    assert said == ("limit: an attacker who can gain nothing limits nothing",)


def test_weights_that_pass_a_limit_state_what_they_have():
    response = rational(
        [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    )
    given = Limited(
        "vulnerability",
        Fraction(4, 10),
        0.0,
        np.eye(3),
        Proof("multipliers", [0.0] * 3),
    )
    reader = Consumer.of(Clique(3))
    made = certify(response, Clique(3), "ln(2)", consumer=reader, certificate=given)
    assert made.header["limit"]["most"] == "1/2"
    assert verify(made).under == "vulnerability at most 0.5"
    assert verify(made).optimal_within == Fraction(1, 2)
    # Every row has the same loss here, so that only the limit is out of place.
    averse = {**made.header["consumer"], "support": {"kind": "all"}}
    assert verify(changed(made, {"consumer": averse})).reasons == (
        "a limit is for a prior",
    )


def test_a_limit_without_a_proof_is_checked_and_claims_no_optimality():
    found, question = made_for("vulnerability")
    given = Limited("vulnerability", Fraction(1, 4), 0.0, found.certificate.choices)
    made = certify(
        found.channel,
        question.graph,
        "ln(2)",
        consumer=found.consumer,
        certificate=given,
    )
    verdict = verify(made)
    assert (verdict.reasons, verdict.optimal_within) == ((), None)
    assert verdict.under == "vulnerability at most 0.25"


def test_a_design_without_a_privacy_level_has_no_file():
    found = design_limited(PathPower(3), max_vulnerability=0.5)
    with pytest.raises(InputError, match="needs a privacy level"):
        prove(found)
    with pytest.raises(InputError, match="no plain certificate"):
        found.certificate.plain()
