"""What was parsed and judged once travels with the mechanism."""

import pytest

from tightrope.certify import by_score, certify, judge, read, verify
from tightrope.certify.kernel import verdict
from tightrope.channels import GeometricChannel
from tightrope.optimize import design
from tightrope.proofs import prove
from tightrope.publish.noise import checked_mechanism, noise_of
from tightrope.queries import query


@pytest.fixture
def counted(monkeypatch):
    """Count how often files are parsed and judged."""
    counts = {"parsed": 0, "judged": 0}
    parse, judged = judge.File.__init__, verdict._check_privacy

    def counted_parse(self, source):
        counts["parsed"] += 1
        parse(self, source)

    def counted_judgement(*arguments):
        counts["judged"] += 1
        judged(*arguments)

    monkeypatch.setattr(judge.File, "__init__", counted_parse)
    monkeypatch.setattr(verdict, "_check_privacy", counted_judgement)
    return counts


def test_a_mechanism_that_is_made_is_parsed_and_judged_once(counted):
    asked = query("histogram(7,3)")
    made = prove(design(asked, "ln(2)"), asked)
    assert verify(made)
    assert checked_mechanism(made).verdict is made.verdict
    assert noise_of(made).verdict is verify(made)
    assert counted == {"parsed": 1, "judged": 1}


def test_the_same_bytes_are_judged_once(counted, tmp_path):
    made = by_score("commonest(7)", "ln(3)")
    path = made.save(tmp_path / "most.tightrope")
    assert read(path).verdict is made.verdict
    assert checked_mechanism(path).verdict is made.verdict
    assert counted == {"parsed": 3, "judged": 1}


def test_bytes_and_files_are_judged_anew(counted, tmp_path):
    """Who names a file asks what it holds now."""
    made = certify(GeometricChannel(9, "ln(5)"), "count(8)", "ln(5)")
    path = made.save(tmp_path / "count.tightrope")
    assert verify(path)
    path.write_bytes(made.to_bytes()[:-1])
    assert not verify(path)
    assert counted["judged"] == 2


def test_another_digest_is_another_verdict(counted):
    """The digest that a file states is part of what is remembered."""
    made = certify(GeometricChannel(10, "ln(5)"), "count(9)", "ln(5)")
    wrong = read(made.to_bytes()[:-32] + bytes(32))
    assert made.verdict
    assert wrong.verdict.reasons[0].startswith("digest:")
    assert counted["judged"] == 2
