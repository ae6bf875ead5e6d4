import json

import pytest

from tightrope.errors import InputError
from tightrope.graphs import PathPower
from tightrope.leakage import explain


def test_words_and_numbers_agree() -> None:
    found = explain(epsilon="ln(2)", individuals=10, values=3)
    assert found.attacker_success == pytest.approx(0.5)
    assert found.success_before == pytest.approx(1 / 3)
    text = str(found)
    assert "at most 2 times as likely" in text
    assert "correctly at most 50 % of the time after" in text
    assert "About all 10 people together it tells at most 5.85 of 15.85 bits" in text


def test_bounds_are_never_rounded_down_in_print() -> None:
    for epsilon in (0.1, 0.37, 1.0, 2.0, 7.3):
        found = explain(epsilon=epsilon, values=7)
        shown = float(found.sentences[-1].split("at most ")[1].split()[0])
        assert found.individual_bits <= shown * (1 + 1e-12)
        # Three digits: too much by less than a hundredth.
        assert shown <= found.individual_bits * 1.01


def test_a_percentage_is_never_rounded_down_in_print() -> None:
    found = explain(epsilon=1)
    assert "at most 2.72 times as likely" in found.sentences[0]
    # 0.7310585…: 73.1 % would be less than the truth.
    assert "at most 73.2 % of the time" in found.sentences[1]


def test_exact_numbers_print_exactly() -> None:
    for k in range(2, 12):
        found = explain(epsilon=f"ln({k})", values=k + 1)
        assert f"at most {k} times as likely" in found.sentences[0]
        assert "at most 50 % of the time after" in found.sentences[1]


def test_one_person_gets_no_sentence_about_all() -> None:
    assert not any("together" in line for line in explain(epsilon=1).sentences)
    assert any(
        "together" in line for line in explain(epsilon=1, individuals=2).sentences
    )


def test_the_stricter_limit_counts() -> None:
    bits = explain(max_bits=0.1, values=2).epsilon
    success = explain(max_success=0.9, values=2).epsilon
    both = explain(max_bits=0.1, max_success=0.9, values=2)
    assert both.epsilon == min(bits, success, key=float)
    assert "bits and success" in both.sentences[0]


def test_a_wanted_utility() -> None:
    found = explain(min_utility=0.5, graph=PathPower(21), individuals=20)
    assert "path(21)" in found.sentences[0]
    assert 0.8 < float(found.epsilon) < 1.2


def test_json() -> None:
    data = json.loads(json.dumps(explain(epsilon=1.35, values=3).as_dict()))
    keys = {"epsilon", "leakage_bound_bits", "individual_bits", "attacker_success"}
    assert keys <= set(data)
    assert data["individual_bits"] == pytest.approx(0.982334, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1, "max_bits": 1},
        {"min_utility": 0.5},
        {"epsilon": 1, "min_utility": 0.5, "graph": PathPower(3)},
        {"epsilon": 1, "values": 1},
        {"epsilon": 1, "individuals": 0},
        {"max_bits": 0},
    ],
)
def test_unclear_requests_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        explain(**options)  # type: ignore[arg-type]
