"""The two judges say the same of designed files and of mutations with digests that fit."""

import random
import re
import runpy
import subprocess
import sys
import types
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from tests.every_kind import FILES

import tightrope as tr
from tightrope.certify import judge_script, verify
from tightrope.certify.second_judge import second_judge, second_verdicts
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.proofs import prove

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare_judges.py"
COMPARE = types.SimpleNamespace(**runpy.run_path(str(SCRIPT)))


@pytest.fixture(scope="module")
def files():
    return [data for _, data in islice(COMPARE.designs(), 90)]


@pytest.fixture(scope="module")
def mutations(files):
    rng = random.Random(1)
    made = [COMPARE.mutated(rng.choice(files), rng) for _ in range(2500)]
    # Of short files, whose headers alone say everything, only some changes matter.
    short = [*COMPARE.joint_designs(), *COMPARE.finer_designs()]
    made += [COMPARE.mutated(rng.choice(short)[1], rng) for _ in range(2500)]
    for _, data in COMPARE.joint_designs():
        header, sections = COMPARE.unpack(data)
        half = Fraction(header["epsilon"]["multiple"]) / 2
        header["epsilon"] |= {"multiple": str(half)}
        made.append(COMPARE.pack(header, sections))
    return list(zip(made, COMPARE.second_opinions(made), strict=True))


def test_no_judge_refuses_a_designed_file(files):
    verdicts = [second.verdict for second in COMPARE.second_opinions(files)]
    assert set(verdicts) <= {"holds", "private", "not covered"}
    assert verdicts.count("holds") > 25
    assert "private" in verdicts
    assert all(verify(data) for data in files)


def test_both_judges_agree_on_mutations(mutations):
    wrong = []
    for data, second in mutations:
        first = verify(data)
        if not COMPARE.agree(data, first, second):
            wrong.append((first.reasons, str(second)))
    assert wrong == []
    # A comparison in which one verdict never occurs compares nothing.
    verdicts = [second.verdict for _, second in mutations]
    assert min(verdicts.count("holds"), verdicts.count("refused")) > 150


#: What is changed in the text of the first judge, and into what.
PLANTED = {
    "the ratio of neighbours is not the stated one": (
        r"exceeds\(a, b, p, q\)\)\[:1\]",
        "exceeds(a, b, 2 * p, q))[:1]",
    ),
    "edges are compared in one direction": (
        r"in \(some, some\[:, ::-1\]\)",
        "in (some,)",
    ),
    "the window around an answer is too small": (
        r"reach = min\(width, size - 1\)",
        "reach = min(width, size - 1, 1)",
    ),
    "a row may lack something": (
        r"np\.flatnonzero\((\w+) != self\.total\)",
        r"np.flatnonzero(\1 > self.total)",
    ),
    "a number may be below its range": (
        r"(\w+)\.min\(\) >= low and",
        "True and",
    ),
    "the ratio is compared with twice exp(ε)": (
        r"return ratio <= (exp_bounds\(multiple \* below\)\[0\])",
        r"return ratio <= 2 * \1",
    ),
    "the conditions of a guess are not checked": (
        r"i = np\.flatnonzero\(room < 0\)",
        "i = np.flatnonzero(room < -(1 << 900))",
    ),
    "multipliers are not reduced by α": (
        r"value(\[mine\])? \* alphas?\[(mine|which)\]",
        r"value\1 * (1 << 62)",
    ),
    "multipliers join any two answers": (
        r"\(which >= 0\)\.all\(\)",
        "True",
    ),
    "a squared loss is an absolute one": (
        r"abs\(np\.arange\(self\.n\) - guess\) \*\* self\.power",
        "abs(np.arange(self.n) - guess) ** 1",
    ),
    "the prior need not sum to 1": (
        r"need\(sum\((\w+)\.tolist\(\)\) == (\w+)\[\"total\"\]",
        "need(True",
    ),
    "the first layer of noise may weigh anything": (
        r"not second <= first or \(first \+ self\.odd\) \* q > second \* p",
        "not second <= first",
    ),
    "layers of a cross are those of a cube": (
        r"return \[comb\(k, j\) for j in range\(k \+ 1\)\], k",
        "return [comb(k, j) ** 2 for j in range(k + 1)], k",
    ),
    "a person who changes moves one score": (
        r"values, rows \* \(2 if change else 1\)",
        "values, rows",
    ),
    "the worst loss is the least": (
        r"max\(each\[counted\]\.tolist\(\)\)",
        "min(each[counted].tolist())",
    ),
    "an interval moves by the rank alone": (
        r"max\(high - low for low, high in pairwise\(tops\)\)",
        "min(high - low for low, high in pairwise(tops))",
    ),
    "what a finer output leaves over is not checked": (
        r"enumerate\(pairwise\(self\.rest\)\)",
        "()",
    ),
    "distances at the end of a sum are those of the lattice": (
        r'if loss != "distance" or not self\.ends:',
        "if True:",
    ),
    "noise beyond its last layer loses nothing": (
        r"flat = self\.floor \* lattice\.largest\(loss, self\.reach\)",
        "flat = 0",
    ),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_the_comparison_finds_a_planted_mistake(mistake, files, mutations, monkeypatch):
    pattern, replacement = PLANTED[mistake]
    text, count = re.subn(pattern, replacement, judge_script())
    assert count == 1, f"the judge has {count} places like {pattern}"
    judge = types.ModuleType("planted")
    monkeypatch.setitem(sys.modules, "planted", judge)
    exec(compile(text, "planted", "exec"), judge.__dict__)
    cases = zip(files, COMPARE.second_opinions(files), strict=True)
    for data, second in [*cases, *mutations]:
        try:
            first = judge.check(data)
        except IndexError:
            return  # a number below its range leads outside a list
        unknown = any("not known here" in reason for reason in first.reasons)
        if not unknown and not COMPARE.agree(data, first, second):
            return
    pytest.fail("no file tells the two judges apart")


def test_a_judge_that_is_not_built_is_said_to_be_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("TIGHTROPE_SECOND_JUDGE", str(tmp_path / "judge"))
    with pytest.raises(InputError, match="run 'make proofs'"):
        second_judge()


def test_a_judge_that_stops_gives_no_verdict(monkeypatch, tmp_path):
    program = tmp_path / "judge"
    program.write_text("#!/bin/sh\necho holds\n")
    program.chmod(0o755)
    monkeypatch.setenv("TIGHTROPE_SECOND_JUDGE", str(program))
    with pytest.raises(InputError, match="stopped after 1 of 2 files"):
        list(second_verdicts(["a", "b"]))


def test_the_second_judge_refuses_what_is_no_file(tmp_path):
    """Truncated and damaged bytes end in a refusal, not in a crash."""
    whole = next(COMPARE.designs())[1]
    rng = random.Random(2)
    damaged = [whole[: rng.randrange(len(whole))] for _ in range(50)]
    for _ in range(200):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.append(bytes(data))
    assert {verdict.verdict for verdict in COMPARE.second_opinions(damaged)} == {
        "refused"
    }


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "private"),
        ({"delta": "1/1000000"}, "refused"),
        ({"ratios": ["3"]}, "refused"),
        ({"epsilon": {"base": None, "multiple": "1/2"}}, "refused"),
    ],
)
def test_counts_that_are_shown_are_private_for_both(change, verdict):
    header, sections = COMPARE.unpack(FILES["shown"]().to_bytes())
    data = COMPARE.pack(header | change, sections)
    (second,) = COMPARE.second_opinions([data])
    assert second.verdict == verdict
    assert bool(verify(data)) == (verdict == "private")


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_both_prove_one_bound_of_noise_on_a_line(loss, relation):
    """And neither accepts a bound that is larger by one unit."""
    files = []
    for text in ("count(250)", "sum(30,5)", "sum(60,300)"):
        asked = tr.query(text, neighbours=relation)
        worst = Consumer.of(asked.graph, support="all", loss=loss)
        best = tr.design(asked, 1, worst, route="unbounded")
        data = prove(best, asked).to_bytes()
        header, sections = COMPARE.unpack(data)
        unit = Fraction(1, 1 << 80)
        more = header | {"bound": str(Fraction(header["bound"]) + unit)}
        files += [data, COMPARE.pack(more, sections)]
    said = [second.verdict for second in COMPARE.second_opinions(files)]
    assert said == ["holds", "private"] * 3
    assert [bool(verify(data)) for data in files] == [True, False] * 3


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"ratios": ["2"]}, False),
        ({"epsilon": {"base": None, "multiple": "1/2"}}, False),
        ({"neighbours": "add-remove"}, True),
        ({"query": "quantile(1/3,121)"}, False),
        ({"query": "quantile(1/2,121,2)"}, False),
        ({"query": "quantile(2/4,121)"}, False),
        ({"query": "commonest(121)"}, True),
        ({"query": "commonest(121,1)"}, False),
        ({"delta": "1/1000"}, False),
    ],
)
def test_permute_and_flip_is_private_for_both(change, holds):
    header, sections = COMPARE.unpack(FILES["scores"]().to_bytes())
    data = COMPARE.pack(header | change, sections)
    (second,) = COMPARE.second_opinions([data])
    assert second.verdict == ("holds" if holds else "refused")
    assert bool(verify(data)) == holds


def test_the_program_says_how_it_is_used():
    found = subprocess.run(
        [second_judge()], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert found.stderr.startswith("usage: judge FILE")
