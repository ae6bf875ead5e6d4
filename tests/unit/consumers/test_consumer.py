from pathlib import Path

import pytest

from tightrope.consumers import Consumer, Loss, Prior, read_consumers, support
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    ExplicitGraph,
    PathPower,
    StrongProduct,
)

PAIRS = StrongProduct([PathPower(2), PathPower(2)])


def test_the_kind_follows_from_what_is_known() -> None:
    bayesian = Consumer(prior=[0.5, 0.5], loss=[[0, 1], [1, 0]], name="mayor")
    assert not bayesian.risk_averse
    assert isinstance(bayesian.prior, Prior)
    assert bayesian.loss.is_binary
    assert (
        repr(bayesian) == "<Bayesian consumer mayor: Prior over 2 answers, matrix loss>"
    )
    averse = Consumer(support=[2, 0], loss=Loss.binary(3))
    assert averse.risk_averse
    assert averse.support.tolist() == [0, 2]
    with pytest.raises(ValueError, match="read-only"):
        averse.support[0] = 1


@pytest.mark.parametrize(
    "words",
    [{"loss": [[0]]}, {"prior": [1.0], "support": [0], "loss": [[0]]}],
)
def test_a_consumer_needs_one_of_two(words: dict[str, object]) -> None:
    with pytest.raises(InputError, match="either a prior or a support"):
        Consumer(**words)


def test_prior_and_loss_must_fit() -> None:
    with pytest.raises(InputError, match="got 2 probabilities and 3 rows of losses"):
        Consumer(prior=[0.5, 0.5], loss=Loss.binary(3))
    with pytest.raises(
        InputError, match=r"'absolute' needs the answer graph: use Consumer\.of"
    ):
        Consumer(prior=[0.5, 0.5], loss="absolute")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "at least one possible answer"),
        ([3], "nodes 0 … 2, got 3"),
        ([-1], "got -1"),
        ([0.5], "got 0.5"),
        ([True], "got True"),
        ("02", "got '0'"),
        ([1, 0, 1], "each answer once, got 1 2 times"),
    ],
)
def test_wrong_supports(nodes: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Consumer(support=nodes, loss=Loss.binary(3))


def test_consumers_of_a_graph() -> None:
    uniform = Consumer.of(PathPower(4))
    assert not uniform.risk_averse
    assert uniform.prior.is_uniform
    assert uniform.loss.name == "binary"
    averse = Consumer.of(PathPower(4), support="1..2", loss="squared")
    assert averse.risk_averse
    assert averse.support.tolist() == [1, 2]
    with pytest.raises(InputError, match="a prior or a support, got both"):
        Consumer.of(PathPower(4), prior="uniform", support="all")


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("all", [0, 1, 2, 3]),
        ("2", [2]),
        ("0, 2..3", [0, 2, 3]),
        ("3,1", [3, 1]),
    ],
)
def test_supports_in_text(text: str, nodes: list[int]) -> None:
    assert list(support(text, PathPower(4))) == nodes


def test_supports_by_answers() -> None:
    assert support("(0,1),(1, 1)", PAIRS) == [1, 3]
    assert support([(1, 0), [0, 0]], PAIRS) == [2, 0]
    cities = ExplicitGraph([(0, 1), (1, 2)], labels=["Oslo", "Rome", "Lima"])
    assert support("Rome..Lima", cities) == [1, 2]
    many = Consumer.of(CartesianProduct([Clique(4)] * 20), support="all", loss="binary")
    assert many.all_answers
    with pytest.raises(TooLarge):
        _ = many.support


@pytest.mark.parametrize(
    ("text", "position"),
    [("", 0), ("0,,1", 2), ("0,9", 2), ("3..1", 0), ("0, x", 3), ("1..", 0)],
)
def test_support_errors_point_at_the_character(text: str, position: int) -> None:
    with pytest.raises(TextError) as caught:
        support(text, PathPower(4))
    assert caught.value.position == position


def test_a_support_is_a_list() -> None:
    with pytest.raises(InputError, match="a text or a list of answers, got 3"):
        support(3, PathPower(4))


LISTS = {
    "c.csv": 'name,prior,support,loss\nmayor,"0.5,0.5",,absolute\npress,,0..1,file:l.csv\n,,,\n',
    "c.json": """[{"name": "mayor", "prior": [0.5, "1/2"], "loss": "absolute"},
        {"name": "press", "support": [0, 1], "loss": [[0, 2], [1, 0]]}]""",
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_consumers(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LISTS[name])
    (tmp_path / "l.csv").write_text("0,2\n1,0\n")
    mayor, press = read_consumers(tmp_path / name, PathPower(2))
    assert not mayor.risk_averse
    assert press.risk_averse
    assert (mayor.name, mayor.loss.name, mayor.prior.maximum) == (
        "mayor",
        "absolute",
        0.5,
    )
    assert (press.name, press.support.tolist()) == ("press", [0, 1])
    assert press.loss.matrix().tolist() == [[0, 2], [1, 0]]


def test_defaults_in_lists(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[{}, {"prior": {"1": 1, "0": 0}, "name": null}]')
    first, second = read_consumers(tmp_path / "c.json", PathPower(2))
    assert not first.risk_averse
    assert not second.risk_averse
    assert (first.name, first.prior.is_uniform, first.loss.name) == (
        "consumer 1",
        True,
        "binary",
    )
    assert (second.name, second.prior.support.tolist()) == ("consumer 2", [1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.json", "[]", "at least one consumer, got none"),
        ("c.json", "{}", "must hold a list of objects"),
        ("c.json", '["mayor"]', "must hold a list of objects"),
        (
            "c.json",
            '[{"pior": "uniform"}]',
            "c.json, consumer 1: a consumer has .* got 'pior'",
        ),
        ("c.json", '[{"prior": "uniform", "support": "all"}]', "got both"),
        ("c.json", '[{"name": "a"}, {"name": "a"}]', "its own name, got 'a' again"),
        ("c.json", '[{"prior": "binomal(.3)"}]', "consumer 1: unknown prior"),
        ("c.json", '[{"prior": [0.5, 0.4]}]', "got the sum 0.9"),
        ("c.json", '[{"loss": [[0, 1], [2]]}]', "rectangular"),
        ("c.json", '[{"loss": {"a": 1}}]', "loss must be"),
        ("c.json", '[{"prior": true}]', "list of numbers, got 'True'"),
        (
            "c.csv",
            "mayor,uniform\n",
            "header of name, prior, support, loss, got 'mayor,uniform'",
        ),
        (
            "c.csv",
            "name,prior\nmayor,0.5,0.5\n",
            "c.csv:2: expected 2 fields as .* quotes",
        ),
        ("c.csv", "name,name\na,b\n", "header"),
        ("c.csv", "name,prior\n", "at least one consumer"),
        ("c.csv", "support\n0,\n", "expected 1 fields as above, got 2"),
    ],
)
def test_wrong_lists(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_consumers(tmp_path / name, PathPower(2))
    assert "\n" not in str(caught.value)
