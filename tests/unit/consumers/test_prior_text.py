from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tightrope import files
from tightrope.consumers import Prior, ProductPrior, prior
from tightrope.consumers.priors import UniformPrior
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
)

CITIES = ExplicitGraph([(0, 1), (1, 2)], labels=["Oslo", "Rome", "Lima"], name="cities")
PAIRS = StrongProduct([PathPower(2), PathPower(2)], name="pairs")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uniform", Prior.uniform(4).exact),
        ("  uniform ", Prior.uniform(4).exact),
        ("binomial(.3)", Prior.binomial(4, "3/10").exact),
        ("binomial( 3/10 )", Prior.binomial(4, "3/10").exact),
        ("geometric(.5)", Prior.geometric(4, "1/2").exact),
        ("poisson(4)", Prior.poisson(4, 4).exact),
        ("0.1, 0.2,0.3,.4", tuple(Fraction(k, 10) for k in (1, 2, 3, 4))),
        ("1/4,1/4,1/4,1/4", (Fraction(1, 4),) * 4),
    ],
)
def test_texts(text: str, expected: tuple[Fraction, ...]) -> None:
    assert prior(text, PathPower(4)).exact == expected


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected the name of a prior"),
        ("unifrom", 0, "did you mean 'uniform'"),
        ("uniform(1)", 9, "expected uniform, got 1 numbers"),
        ("binomial", 8, r"expected binomial\(p\), got 0 numbers"),
        ("binomial()", 9, r"expected binomial\(p\), got 0 numbers"),
        ("binomial(.3", 11, r"expected ',' or '\)'"),
        ("binomial(.3))", 12, "expected the end"),
        ("binomial(p)", 9, "expected a number"),
        ("0.1,,0.9", 4, "expected a number"),
        ("0.1,0.9,", 8, "expected a number"),
        ("0.1;0.9", 3, "expected ',' or the end"),
        ("0.1,nan,0.9,0", 4, "expected a number"),
        ("0.5,1/0,0,0", 4, "does not divide by zero"),
        ("(0.1,0.9)", 0, "expected the name of a prior"),
        ("file:", 5, "with the name of a file"),
        ("0.5,1e9999,0,0", 9, "expected ',' or the end"),
    ],
)
def test_text_errors_point_at_the_character(
    text: str, position: int, message: str
) -> None:
    with pytest.raises(TextError, match=message) as caught:
        prior(text, PathPower(4))
    assert caught.value.position == position
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "graph", "expected"),
    [
        ("1:0.7, 0:.1,2:1/5", PathPower(3), [0.1, 0.7, 0.2]),
        (" Rome :0.7,Lima:.2 , Oslo: .1", CITIES, [0.1, 0.7, 0.2]),
        ("(1,0):.7,(0, 0):.1,(1,1):.2,(0,1):0", PAIRS, [0.1, 0, 0.7, 0.2]),
    ],
)
def test_a_list_may_name_its_answers(
    text: str, graph: ExplicitGraph, expected: list[float]
) -> None:
    assert list(prior(text, graph)) == expected


def test_an_answer_with_a_comma_is_written_in_brackets() -> None:
    with pytest.raises(TextError, match="expected '\\(' or the end"):
        prior("uniform,x:.2", CITIES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Oslo:0.5,Rome:0.5", "must name all 3 answers of cities, got 2: 'Lima'"),
        ("Oslo:0.5,Oslo:0.5", "must name each answer once, got 'Oslo' again"),
        ("Oslo:0.5,Paris:0.5", "'Paris' is not an answer of cities"),
        ("Oslo:0.5,Rome", "expected answer:probability at character 10"),
        ("Oslo:0.5,", "expected answer:probability at character 10"),
        ("Oslo:0.5,Rome:0.1,Lima:0.1", "got the sum 0.7"),
        ("file:0.5", "0.5: there is no such file"),
    ],
)
def test_a_list_must_name_every_answer_once(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prior(text, CITIES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1,0.2,0.7", "path.4. needs 4 probabilities, got 3"),
        ("0.1,0.2,0.3,0.399", "got the sum 0.999"),
        ("0.5,0.6,-0.1,0", "got -0.1 at position 2"),
        ("binomial(.3,.4)", r"expected binomial\(p\), got 2 numbers"),
        ("binomial(1.5)", "needs 0 ≤ p ≤ 1, got 1.5"),
        ("product(.5,.5)", "needs databases"),
        ("file:no-such-file", "no-such-file: there is no such file"),
    ],
)
def test_wrong_values(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prior(text, PathPower(4))


@pytest.mark.parametrize(
    "graph",
    [Clique(4), Cycle(4), Star(3), PAIRS, CITIES, ExplicitGraph([(0, 2), (2, 1)])],
    ids=lambda graph: graph.name,
)
def test_families_need_a_line(graph: PathPower) -> None:
    with pytest.raises(InputError, match="needs answers on a line"):
        prior("binomial(.3)", graph)


def test_families_on_listed_lines() -> None:
    band = ExplicitGraph([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], labels=[0, 2, 5, 9])
    assert prior("poisson(2)", band).exact == Prior.poisson(4, 2).exact


def test_uniform_on_many_databases_is_not_listed() -> None:
    graph = CartesianProduct([Clique(4)] * 20, name="databases(20,4)")
    assert isinstance(prior("uniform", graph), UniformPrior)
    made = prior("product(.3,.27,.23,.2)", graph)
    assert isinstance(made, ProductPrior)
    assert (made.size, len(made.parts)) == (4**20, 20)
    with pytest.raises(TooLarge):
        prior({}, graph)


def test_product_numbers_must_fit() -> None:
    graph = CartesianProduct([Clique(3)] * 2, name="databases(2,3)")
    with pytest.raises(InputError, match=r"databases\(2,3\) needs 3 numbers, got 2"):
        prior("product(.5,.5)", graph)
    with pytest.raises(InputError, match="product of equal graphs"):
        prior("product(.5,.5)", CartesianProduct([Clique(2), Clique(3)]))
    with pytest.raises(InputError, match=r"got the sum 0\.9$"):
        prior("product(.3,.3,.3)", graph)


def test_values() -> None:
    graph = PathPower(2)
    given = Prior([0.25, 0.75])
    assert prior(given, graph) is given
    assert prior(np.array([0.25, 0.75]), graph)[1] == 0.75
    assert prior({1: "3/4", 0: 0.25}, graph).exact == (Fraction(1, 4), Fraction(3, 4))
    assert prior({"Lima": 0.5, "Oslo": 0.5, "Rome": 0}, CITIES).support.tolist() == [
        0,
        2,
    ]
    with pytest.raises(InputError, match=r"path\(2\) needs 2 probabilities, got 3"):
        prior(Prior.uniform(3), graph)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Oslo": 1}, "all 3 answers of cities, got 1: 'Rome' is missing"),
        ({"Oslo": 1, "Bonn": 0}, "'Bonn' is not an answer of cities"),
        ({"Oslo": 0.5, "Rome": 0.5, "Lima": "x"}, "expected a number such as 0.3"),
        ({"Oslo": 0.5, "Rome": 0.6, "Lima": 0}, "got the sum 1.1"),
        ({"Oslo": 0.5, " Oslo": 0.5}, "each answer once, got ' Oslo' again"),
    ],
)
def test_wrong_mappings(value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prior(value, CITIES)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "0.2\n0.3\n0.5\n"),
        ("a.csv", "\ufeffprobability\n0.2\n\n.3\n5e-1"),
        ("a.csv", "Lima,0.5\nOslo,1/5\nRome,0.3"),
        ("a.txt", "answer,probability\r\nLima, 0.5\r\nOslo, 0.2\r\nRome, 0.3\r\n"),
        ("a.json", "[0.2, 0.3, 0.5]"),
        ("a.json", '["1/5", 0.3, 0.5]'),
        ("a.json", '{"Rome": 0.3, "Oslo": 0.2, "Lima": 0.5}'),
        ("a.json", '[["Rome", 0.3], ["Oslo", 0.2], ["Lima", 0.5]]'),
    ],
)
def test_files(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    found = prior(f"file:{tmp_path / name}", CITIES)
    assert found.exact == (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))
    assert prior(f"file:{name}", CITIES, folder=tmp_path).exact == found.exact


def test_files_with_other_labels(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('"(0, 1)",0.4\n"0,0",0.3\n"[1,1]",0.2\n"1, 0",0.1\n')
    assert prior(f"file:{file}", PAIRS).probabilities.tolist() == [0.3, 0.4, 0.1, 0.2]
    halves = PathPower(3, name="mean", step=Fraction(1, 2))
    file.write_text("0.5,0.25\n1,0.25\n0,0.5\n")
    assert prior(f"file:{file}", halves).probabilities.tolist() == [0.5, 0.25, 0.25]
    places = ExplicitGraph([(0, 1)], labels=[0.1, 0.7])
    file.write_text("0.7,0.25\n0.1,0.75\n")
    assert prior(f"file:{file}", places).probabilities.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "at least one row is needed, got none"),
        ("a.csv", "probability\n", "at least one probability"),
        ("a.csv", "0.2,0.3,0.5", "got 3 fields"),
        ("a.csv", "0.2\n0.3,0.5\n", "a.csv:2: expected 1 fields as above, got 2"),
        ("a.csv", "0.2\nnan\n0.8", "got 'nan' at position 1"),
        ("a.csv", "0.2\n-0.2\n1", "got -0.2 at position 1"),
        ("a.csv", "Oslo,0.5\nRome,0.5\nOslo,0", "each answer once, got 'Oslo' again"),
        ("a.csv", "Oslo,0.5\nRome,0.5\nBonn,0", "'Bonn' is not an answer of cities"),
        ("a.csv", "0.5\n0.5\n", "needs 3 probabilities, got 2"),
        ("a.csv", "0.5\x000\n", "a.csv"),
        ("a.json", "[0.2, 0.3", ":1: this is not JSON: .* at column 10"),
        ("a.json", "[0.2, NaN, 0.8]", "numbers must be finite, got NaN"),
        ("a.json", "[0.2, -Infinity, 0.8]", "numbers must be finite, got -Infinity"),
        ("a.json", "0.5", "must hold a list or an object"),
        ("a.json", "null", "must hold a list or an object"),
        ("a.json", '[["Oslo", 1], 0.3]', "pairs .answer, probability. throughout"),
        ("a.json", "[0.2, [0.3], 0.5]", "expected a number"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", "[1" + "0" * 5000 + "]", "expected a number"),
        ("a.json", "[1e400, 0, 0]", "expected a number|finite"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        prior(f"file:{tmp_path / name}", CITIES)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="not a file"):
        prior(f"file:{tmp_path}", CITIES)
    with pytest.raises(InputError, match="cannot be read"):
        prior("file:a\0b", CITIES)
    (tmp_path / "a.csv").write_bytes(b"0.5\n\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        prior(f"file:{tmp_path / 'a.csv'}", CITIES)
    monkeypatch.setattr(files, "FILE_LIMIT", 5)
    with pytest.raises(TooLarge, match="at most 5 bytes"):
        prior(f"file:{tmp_path / 'a.csv'}", CITIES)


def test_a_listed_text_is_dense() -> None:
    assert isinstance(prior("1/2,1/2", Clique(2)), Prior)
